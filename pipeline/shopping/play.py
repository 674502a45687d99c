"""A shopping task played: one action a turn in the shop's pages, or a question to the shopper, until something is bought.

ShopSimulator (arXiv 2601.18225, sections 2.1 and 3.1): at most 30 actions, 40 where the shopper is talked with.
"""

import json
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from zlib import crc32

from pipeline.models.base import Prompt
from pipeline.models.play import Conversation
from pipeline.prompts import messages
from pipeline.render import pages
from pipeline.shop.browser import Browser
from pipeline.shop.store import Store
from pipeline.shop.tools import Finder
from pipeline.shopping.blunders import Seen, blunders
from pipeline.shopping.buyer import Buyer, Heard
from pipeline.shopping.profile import told
from pipeline.shopping.score import by_formula, things, typed
from pipeline.shopping.wording import called
from schemas.rollouts import Message
from schemas.shop import Choice
from schemas.shopping import Profile, Scenario, ShoppingEpisode, ShoppingTask, Step

ACTIONS = {"single": 30, "single personal": 30, "multi": 40, "multi personal": 40}
UNHEARD = "no reply: "
"""How the fault of a last step begins after which the agent could not be heard: its prompt was refused, say."""
SCENARIOS: tuple[Scenario, ...] = ("single", "single personal", "multi", "multi personal")
LONGEST = 2_000
"""Letters of a turn that is not understood, as it is kept."""
FORM = {
    False: "Your turn has to be two lines: Thought: ... and Action: search[words] or click[thing].",
    True: "Your turn has to be three lines: Thought: ..., Action_type: interact_with_env or ask_shopper, and Action_content: ...",
}
LINE = r"^[^\S\n]*"
"""Where a line begins: no more than its own white space, or a reply of empty lines alone would take hours."""
THOUGHT = re.compile(rf"{LINE}Thought\s*[:：]", re.IGNORECASE | re.MULTILINE)
ACTS = re.compile(rf"{LINE}Action", re.IGNORECASE | re.MULTILINE)
ACTION = re.compile(rf"{LINE}Action\s*[:：]\s*(.*)", re.IGNORECASE | re.MULTILINE)
TYPE = re.compile(rf"{LINE}Action_type\s*[:：]\s*(\w+)\s*$", re.IGNORECASE | re.MULTILINE)
CONTENT = re.compile(rf"{LINE}Action_content\s*[:：](.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
Player = Generator[str, "Sight", None]
"""Says turn after turn, and is sent what it sees then."""


@dataclass(frozen=True)
class Shop:
    """What all episodes of a process share: nothing of it changes."""

    store: Store
    finder: Finder
    bullets: Callable[[int], Sequence[str]] = lambda row: ()


@dataclass(frozen=True)
class Sight:
    """What an agent sees: a page, or what the shopper said with the page that is still there."""

    text: str
    clickables: tuple[str, ...]
    can_search: bool
    left: int


def scenarios_of(task: ShoppingTask) -> tuple[Scenario, Scenario]:
    """A task without a profile is played in the first and third scenario, one with a profile in the others."""
    return ("single personal", "multi personal") if task.profile_id else ("single", "multi")


class Play:
    """One task in one scenario, from its opening to its end."""

    def __init__(self, shop: Shop, task: ShoppingTask, scenario: Scenario, profile: Profile | None = None) -> None:
        self.shop, self.task, self.scenario, self.profile = shop, task, scenario, profile
        self.multi = scenario.startswith("multi")
        self.browser = Browser(shop.store, shop.finder, bullets=shop.bullets)
        self.buyer = Buyer(task, scenario)
        self.limit = ACTIONS[scenario]
        self.opening = self.buyer.opening
        self.steps: list[Step] = []
        self.seen: list[Seen] = []
        self.stopped = False
        self.prompt = self.told()

    @property
    def done(self) -> bool:
        return self.stopped or bool(self.browser.bought) or len(self.steps) == self.limit

    def told(self) -> list[dict[str, str]]:
        """What the agent is told first."""
        language = self.task.language
        return messages(
            "shopping_episodes",
            multi=self.multi,
            personal=self.profile is not None,
            limit=self.limit,
            language=language,
            opening=self.opening,
            profile=told(self.profile, language, names=partial(called, language=language)) if self.profile else "",
            page=shown(self.sight()),
        )

    def sight(self, text: str | None = None) -> Sight:
        page = self.browser.page
        told = pages.text(page) if text is None else text
        return Sight(told, tuple(pages.clickables(page)), pages.can_search(page), self.limit - len(self.steps))

    def step(self, said: str) -> Sight:
        """A turn of the agent's: what it sees then. A turn that is not understood is one, too."""
        said = writable(said)
        thought, action = read(said, self.multi)
        heard, fault = None, ""
        if self.multi and action.startswith("ask["):
            heard = self.buyer.answer(action[4:-1])
        elif action:
            fault = self.browser.act(action)
        else:
            fault = FORM[self.multi]
        sight = self.sight(heard.text if heard else fault or None)
        self.seen.append(self.noticed(heard))
        self.steps.append(
            Step(
                thought=thought if action else "",
                action=action or kept(said, self.multi),
                observation=sight.text,
                clickables=list(sight.clickables),
                can_search=sight.can_search,
                fault=fault,
            )
        )
        return replace(sight, left=self.limit - len(self.steps))

    def stop(self, why: str) -> None:
        """The agent cannot be heard any more: a last step says why."""
        self.stopped = True
        sight = self.sight()
        self.seen.append(self.noticed(None))
        self.steps.append(
            Step(
                thought="",
                action="",
                observation=sight.text,
                clickables=list(sight.clickables),
                can_search=sight.can_search,
                fault=f"{UNHEARD}{why}",
            )
        )

    def noticed(self, heard: Heard | None) -> Seen:
        """What the taxonomy of errors reads of a step."""
        view, page, ids = self.browser.view, self.browser.page, self.shop.store.ids
        first = (view.number - 1) * pages.PAGE
        rows = view.rows[first : first + pages.PAGE] if page.kind == "results" and heard is None else ()
        return Seen(
            shown=tuple(ids[int(row)].as_py() for row in rows),
            product=ids[view.row].as_py() if view.row >= 0 and page.kind != "results" else "",
            details=page.kind in pages.TABS,
            chosen=tuple(Choice(name=name, value=value) for name, value in view.chosen.items()),
            asked=heard.asked if heard else (),
            told=heard.tells if heard else (),
            verdict=heard.verdict if heard else "",
        )

    def messages(self) -> list[Message]:
        """The conversation as a trainer takes it: what was not understood is told as it was said."""
        told = [Message.model_validate(each) for each in self.prompt]
        for place, step in enumerate(self.steps):
            said = step.action if step.fault == FORM[self.multi] else written(step.thought, step.action, self.multi)
            sight = Sight(step.observation, tuple(step.clickables), step.can_search, self.limit - place - 1)
            told += [Message(role="assistant", content=said), Message(role="user", content=shown(sight))]
        return told[:-1]

    def episode(self, policy: str) -> ShoppingEpisode:
        """What became of it."""
        task, store = self.task, self.shop.store
        product, variant = self.browser.bought or ("", "")
        bought = next((t for t in things(store, product) if not variant or (t.option and t.option.id == variant)), None)
        match = typed(task.needs, task.category, task.product_id, bought)
        gold = things(store, task.product_id)[0].item
        bullets = self.shop.bullets(bought.item.row) if bought else ()
        return ShoppingEpisode(
            id=f"{task.id}-{self.scenario.replace(' ', '-')}-{policy}",
            task_id=task.id,
            scenario=self.scenario,
            policy=policy,
            opening=self.opening,
            steps=self.steps,
            bought_product=product,
            bought_variant=variant,
            typed=match,
            literal=by_formula(task, gold, bought, bullets=bullets),
            blunders=blunders(
                task,
                self.scenario,
                self.steps,
                match,
                self.seen,
                look=partial(things, store),
                bought=bought,
                profile=self.profile,
            ),
            messages=self.messages() if match.success else [],
        )


def read(said: str, multi: bool) -> tuple[str, str]:
    """Thought and action of a turn; no action where there is none that can be understood.

    >>> read("Thought: I look.\\nAction: search[red mug]", False)
    ('I look.', 'search[red mug]')
    >>> read("Thought: ?\\nAction_type: ask_shopper\\nAction_content: Which color?", True)
    ('?', 'ask[Which color?]')
    """
    thought = thought_of(said)
    if not multi:
        action = ACTION.search(said)
        return thought, action[1].rstrip() if action else ""
    kind, content = TYPE.search(said), CONTENT.search(said)
    if not kind or not content:
        return thought, ""
    told = content[1].strip()
    if kind[1].lower() == "ask_shopper":
        return thought, f"ask[{told}]"
    acts = kind[1].lower() == "interact_with_env" and not told.startswith("ask[")
    return thought, told if acts else ""


def thought_of(said: str) -> str:
    """What stands between the first `Thought:` and the line of the action; all that is left where there is none."""
    found = THOUGHT.search(said)
    if not found:
        return ""
    acts = ACTS.search(said, found.end())
    return said[found.end() : acts.start() if acts else None].strip()


def kept(said: str, multi: bool) -> str:
    """What there is of a turn that is not understood; nothing where the part that is kept would be."""
    start = said[:LONGEST]
    return "" if read(start, multi)[1] else start


def writable(text: str) -> str:
    """Without halves of characters, which no record can hold.

    >>> writable("a\\ud800b")
    'a?b'
    """
    return text.encode(errors="replace").decode()


def written(thought: str, action: str, multi: bool) -> str:
    """A turn as an agent says it.

    >>> written("I ask.", "ask[Which color?]", True)
    'Thought: I ask.\\nAction_type: ask_shopper\\nAction_content: Which color?'
    """
    if not multi:
        return f"Thought: {thought}\nAction: {action}"
    kind, content = ("ask_shopper", action[4:-1]) if action.startswith("ask[") else ("interact_with_env", action)
    return f"Thought: {thought}\nAction_type: {kind}\nAction_content: {content}"


def shown(sight: Sight) -> str:
    """What an agent is told after its turn."""
    facts = {"clickable": list(sight.clickables), "search": sight.can_search, "actions left": sight.left}
    return f"{sight.text}\n{json.dumps(facts, ensure_ascii=False)}"


def conversation(play: Play, policy: str, *, player: Player | None = None) -> Conversation[ShoppingEpisode]:
    """The task from its opening to its end. `player`: what is said where no model is asked."""
    history = list(play.prompt)
    offline = next(player) if player else ""
    seed = crc32(play.task.id.encode())  # of its own: many conversations open alike
    while not play.done:
        reply = yield Prompt("shopping_episodes", tuple(history), offline, seed=seed + len(play.steps))
        if reply.finish in ("refused", "unanswered"):
            play.stop(reply.fault)
            break
        said = reply.fault if reply.fault and not reply.text else reply.text.strip()
        sight = play.step(said)
        history = [*history, {"role": "assistant", "content": said}, {"role": "user", "content": shown(sight)}]
        if player and not play.done:
            offline = player.send(sight)
    return play.episode(policy)
