"""A shopping task played: one action a turn in the shop's pages, or a question to the shopper, until something is bought.

ShopSimulator (arXiv 2601.18225, sections 2.1 and 3.1): at most 30 actions, 40 where the shopper is talked with.
"""

import json
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from zlib import crc32

from shopwright.pipeline.evaluate import situation
from shopwright.pipeline.evaluate.situation import TRY_APART, Score, Step, Trace, add_try_number
from shopwright.pipeline.models.base import UNHEARD, Prompt, Reply
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.render import pages
from shopwright.pipeline.shop.browser import Browser
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shop.tools import Finder
from shopwright.pipeline.shop.user_simulator import SimulatorReply
from shopwright.pipeline.shopping.approving_user import ApprovingUser
from shopwright.pipeline.shopping.error_taxonomy import StepEffect, label_errors
from shopwright.pipeline.shopping.facts import ProductVariant
from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.pipeline.shopping.score import list_product_variants, score_by_formula, score_typed_match
from shopwright.pipeline.words import drop_surrogates
from shopwright.schemas.rollouts import Message
from shopwright.schemas.shop import Choice
from shopwright.schemas.shopping import Match, Profile, Scenario, ShoppingEpisode, ShoppingTask
from shopwright.schemas.shopping import Step as PageStep

ACTIONS = {"single": 30, "single personal": 30, "multi": 40, "multi personal": 40}
SCENARIOS: tuple[Scenario, ...] = ("single", "single personal", "multi", "multi personal")
# Of a score, each a field of `Match`.
PARTS = ("loose", "strict", "type", "attributes", "options", "price", "same_product")
# Letters of a turn that is not understood, as it is kept.
LONGEST = 2_000
FORM = {
    False: "Your turn has to be two lines: Thought: ... and Action: search[words] or click[thing].",
    True: "Your turn has to be three lines: Thought: ..., Action_type: interact_with_env or ask_shopper, and Action_content: ...",
}
# Where a line begins: no more than its own white space, or a reply of empty lines alone would take hours.
LINE = r"^[^\S\n]*"
# The turn of a single-turn task: a thought, then an action.
THOUGHT = re.compile(rf"{LINE}Thought\s*[:：]", re.IGNORECASE | re.MULTILINE)
ACTS = re.compile(rf"{LINE}Action", re.IGNORECASE | re.MULTILINE)
ACTION = re.compile(rf"{LINE}Action\s*[:：]\s*(.*)", re.IGNORECASE | re.MULTILINE)
# The turn of a conversation names the kind of its action apart from its content.
TYPE = re.compile(rf"{LINE}Action_type\s*[:：]\s*(\w+)\s*$", re.IGNORECASE | re.MULTILINE)
CONTENT = re.compile(rf"{LINE}Action_content\s*[:：](.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
# Says turn after turn, and is sent what it sees then.
TurnGenerator = Generator[str, "Observation", None]


@dataclass(frozen=True)
class ShopResources:
    """What all episodes of a process share: nothing of it changes."""

    store: Store
    finder: Finder
    bullets: Callable[[int], Sequence[str]] = lambda row: ()


@dataclass(frozen=True)
class Observation:
    """What an agent sees: a page, or what the shopper said with the page that is still there."""

    text: str
    clickables: tuple[str, ...]
    can_search: bool
    left: int


def list_scenarios(task: ShoppingTask) -> tuple[Scenario, Scenario]:
    """A task without a profile is played in the first and third scenario, one with a profile in the others."""
    return ("single personal", "multi personal") if task.profile_id else ("single", "multi")


class Play(situation.Episode):
    """One task in one scenario, from its opening to its end."""

    def __init__(
        self, shop: ShopResources, task: ShoppingTask, scenario: Scenario, profile: Profile | None = None
    ) -> None:
        self.shop, self.task, self.scenario, self.profile = shop, task, scenario, profile
        self.multi = scenario.startswith("multi")
        self.limit = ACTIONS[scenario]
        self.reset()

    def reset(self) -> Observation:
        self.browser = Browser(self.shop.store, self.shop.finder, bullets=self.shop.bullets)
        self.buyer = ApprovingUser(self.task, self.scenario)
        self.opening = self.buyer.opening
        self.steps: list[PageStep] = []
        self.seen: list[StepEffect] = []
        self.stopped = False
        self.history: list[dict[str, str]] = []
        self.first = self.sight()
        return self.first

    @property
    def task_id(self) -> str:
        return self.task.id

    @property
    def done(self) -> bool:
        return self.stopped or bool(self.browser.bought) or len(self.steps) == self.limit

    def told(self) -> list[dict[str, str]]:
        """What the agent is told first."""
        language = self.task.language
        return render_messages(
            "shopping_episodes",
            multi=self.multi,
            personal=self.profile is not None,
            limit=self.limit,
            language=language,
            opening=self.opening,
            profile=describe_profile(self.profile, language) if self.profile else "",
            page=format_observation(self.first),
        )

    def prompt(self) -> Prompt:
        if not self.history:
            self.history = self.told()
        seed = crc32(self.task.id.encode()) + TRY_APART * self.try_number  # of its own: many conversations open alike
        return Prompt("shopping_episodes", tuple(self.history), seed=seed + len(self.steps))

    def sight(self, text: str | None = None) -> Observation:
        page = self.browser.page
        told = pages.render_page_text(page) if text is None else text
        return Observation(
            told, tuple(pages.list_clickables(page)), pages.can_search(page), self.limit - len(self.steps)
        )

    def step(self, action: str | Reply) -> Step:
        """A turn of the agent's: what it sees then. A turn that is not understood is one, too."""
        if isinstance(action, Reply):
            if action.finish == "refused":
                self.stop(action.fault)
                return Step(self.sight(), self.score().parts["reward"], True, {})
            # Of a reply that was cut short before it said anything: why.
            action = action.fault if action.fault and not action.text else action.text.strip()
        seen = self.act(action)
        if self.history:
            told = {"role": "user", "content": format_observation(seen)}
            self.history += [{"role": "assistant", "content": action}, told]
        return Step(seen, self.score().parts["reward"] if self.done else 0.0, self.done, {})

    def act(self, said: str) -> Observation:
        said = drop_surrogates(said)
        thought, action = parse_turn(said, self.multi)
        heard, fault = None, ""
        if self.multi and action.startswith("ask["):
            heard = self.buyer.reply(action[4:-1])
        elif action:
            fault = self.browser.act(action)
        else:
            fault = FORM[self.multi]
        sight = self.sight(heard.text if heard else fault or None)
        self.seen.append(self.noticed(heard))
        self.steps.append(
            PageStep(
                thought=thought if action else "",
                action=action or clip_unreadable_turn(said, self.multi),
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
            PageStep(
                thought="",
                action="",
                observation=sight.text,
                clickables=list(sight.clickables),
                can_search=sight.can_search,
                fault=f"{UNHEARD}{why}",
            )
        )

    def noticed(self, heard: SimulatorReply | None) -> StepEffect:
        """What the taxonomy of errors reads of a step."""
        view, page, ids = self.browser.view, self.browser.page, self.shop.store.ids
        first = (view.number - 1) * pages.PAGE
        rows = view.rows[first : first + pages.PAGE] if page.kind == "results" and heard is None else ()
        verdict = heard.act if heard and heard.act in ("agreed", "refused") else ""
        return StepEffect(
            shown=tuple(ids[int(row)].as_py() for row in rows),
            product=ids[view.row].as_py() if view.row >= 0 and page.kind != "results" else "",
            details=page.kind in pages.TABS,
            chosen=tuple(Choice(name=name, value=value) for name, value in view.chosen.items()),
            asked=heard.asked if heard else (),
            told=heard.tells if heard else (),
            verdict=verdict,
            farewell=heard is not None and heard.act == "give up",
        )

    def messages(self) -> list[Message]:
        """The conversation as a trainer takes it: what was not understood is told as it was said."""
        told = [Message.model_validate(each) for each in self.told()]
        for place, step in enumerate(self.steps):
            said = step.action if step.fault == FORM[self.multi] else format_turn(step.thought, step.action, self.multi)
            sight = Observation(step.observation, tuple(step.clickables), step.can_search, self.limit - place - 1)
            told += [Message(role="assistant", content=said), Message(role="user", content=format_observation(sight))]
        return told[:-1]

    def bought(self) -> ProductVariant | None:
        """The variant that was bought."""
        product, variant = self.browser.bought or ("", "")
        found = list_product_variants(self.shop.store, product)
        return next((t for t in found if not variant or (t.option and t.option.id == variant)), None)

    def match(self) -> Match:
        """How well what was bought fits, by typed equality."""
        return score_typed_match(self.task.needs, self.task.category, self.task.product_id, self.bought())

    def literal_match(self) -> Match:
        """The same by the published formulas."""
        bought = self.bought()
        gold = list_product_variants(self.shop.store, self.task.product_id)[0].item
        bullets = self.shop.bullets(bought.item.row) if bought else ()
        return score_by_formula(self.task, gold, bought, bullets=bullets)

    def score(self) -> Score:
        match = self.match()
        parts = {name: float(getattr(match, name)) for name in PARTS}
        chance = 1 / count_siblings(self.shop, self.task)
        fault = self.steps[-1].fault if self.stopped else match.fault
        return Score({"reward": parts["strict"], **parts, "chance": chance}, match.success, fault)

    def episode(self, policy: str) -> ShoppingEpisode:
        """What became of it."""
        task, match = self.task, self.match()
        product, variant = self.browser.bought or ("", "")
        return ShoppingEpisode(
            id=build_episode_id(self, policy),
            task_id=task.id,
            scenario=self.scenario,
            policy=policy,
            opening=self.opening,
            steps=self.steps,
            bought_product=product,
            bought_variant=variant,
            typed=match,
            literal=self.literal_match(),
            errors=label_errors(
                task,
                self.scenario,
                self.steps,
                match,
                self.seen,
                look=partial(list_product_variants, self.shop.store),
                bought=self.bought(),
                profile=self.profile,
            ),
            messages=self.messages() if match.success else [],
        )


def count_siblings(shop: ShopResources, task: ShoppingTask) -> int:
    """Products of the target's leaf category, itself included; any of them is the target by a chance of one in so many."""
    return len(shop.store.shelf(shop.store.place_of_leaf[task.category]).rows)


def parse_turn(said: str, multi: bool) -> tuple[str, str]:
    """Thought and action of a turn; no action where there is none that can be understood.

    >>> parse_turn("Thought: I look.\\nAction: search[red mug]", False)
    ('I look.', 'search[red mug]')
    >>> parse_turn("Thought: ?\\nAction_type: ask_shopper\\nAction_content: Which color?", True)
    ('?', 'ask[Which color?]')
    """
    thought = parse_thought(said)
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


def parse_thought(said: str) -> str:
    """What stands between the first `Thought:` and the line of the action; all that is left where there is none."""
    found = THOUGHT.search(said)
    if not found:
        return ""
    acts = ACTS.search(said, found.end())
    return said[found.end() : acts.start() if acts else None].strip()


def clip_unreadable_turn(said: str, multi: bool) -> str:
    """What there is of a turn that is not understood; nothing where the part that is kept would be."""
    start = said[:LONGEST]
    return "" if parse_turn(start, multi)[1] else start


def build_episode_id(play: Play, policy: str) -> str:
    return add_try_number(f"{play.task.id}-{play.scenario.replace(' ', '-')}-{policy}", play.try_number)


def format_turn(thought: str, action: str, multi: bool) -> str:
    """A turn as an agent says it.

    >>> format_turn("I ask.", "ask[Which color?]", True)
    'Thought: I ask.\\nAction_type: ask_shopper\\nAction_content: Which color?'
    """
    if not multi:
        return f"Thought: {thought}\nAction: {action}"
    kind, content = ("ask_shopper", action[4:-1]) if action.startswith("ask[") else ("interact_with_env", action)
    return f"Thought: {thought}\nAction_type: {kind}\nAction_content: {content}"


def format_observation(sight: Observation) -> str:
    """What an agent is told after its turn."""
    facts = {"clickable": list(sight.clickables), "search": sight.can_search, "actions left": sight.left}
    return f"{sight.text}\n{json.dumps(facts, ensure_ascii=False)}"


def make_episode(trace: Trace[Play]) -> ShoppingEpisode:
    return trace.episode.episode(trace.policy)
