"""One visitor's episode of an env: reset it, ask the shopper, call tools, hand in the answer, and see what it earned and why."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import urlencode

from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import dump_compact_json
from shopwright.pipeline.experts.play import CONFUSED, play
from shopwright.pipeline.experts.player import load_lexicon
from shopwright.pipeline.playground.forms import ASK, IDS, SEVERAL, SUBMIT, list_tool_forms, parse_form_arguments
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.env import Call, ShopEnv, call_env_tool, solve_env_task
from shopwright.schemas.certificates import Certificate, Infeasible, Parts, parse_certificate
from shopwright.schemas.tasks import Reward, Slot, Task

# How a link names env, difficulty and seed.
LINK = ("env", "level", "seed")
# Tools that only look something up.
LOOKING = ("catalog_", "order_", "user_")
NOT_BEGUN = "Begin an episode first: choose a situation and press Begin."
OVER = "The episode is over. Begin another."
# What is said beside an id, from what stands beside it in a result.
LABELS = {
    "product_id": ("title",),
    "variant_id": ("options", "price"),
    "order_id": ("placed", "status"),
    "line_id": ("title",),
}
# Games of which one can be done, where the shop has any.
LOOKED_AT = 50
PLAIN_FIELDS = ("variant_id", "product_id", "stock", "price")


@dataclass(frozen=True)
class Line:
    """Something that was said or done."""

    who: str
    """shopper, you or shop."""
    text: str = ""
    call: str = ""
    """The call as it would be written."""
    result: Any = None
    fault: str = ""
    """Why a call did nothing."""


@dataclass(frozen=True)
class Ending:
    """What is told when it is over."""

    reward: Reward
    slots: list[Slot]
    feasible: bool
    refusal: str
    """The right reason to refuse; empty where there is none."""
    acceptable: Any
    nearest_miss: Any
    goal: Any
    way: list[str]
    """The solver's calls, which knows the goal; empty where it found none."""
    expert: list[tuple[str, str]]
    """Thoughts and calls of the expert, who saw what the visitor could see."""
    expert_reward: float


@dataclass(repr=False)
class Game:
    """One visitor's episode; `run` is the folder of a run, empty for the shop in memory. A lock is not needed: who plays takes turns."""

    run: str = ""
    env: ShopEnv | None = None
    lines: list[Line] = field(default_factory=list)
    seen: dict[str, dict[str, str]] = field(default_factory=dict)
    """Ids that tools have shown, by kind, each with what it is."""
    fault: str = ""
    """What was wrong with the last thing that was tried."""
    way: list[Call] = field(default_factory=list)
    """The solver's calls, found when they are first wanted."""
    done: list[Call] = field(default_factory=list)

    # What is to be known

    @property
    def hint(self) -> str:
        """Whether something is right in this game, as far as one may know; empty where every task of its env can be done."""
        env = get_env(self.task.env)
        if not env.refusals and self.task.env != "journey":
            return ""
        if self.task.difficulty == 0 and self.task.seed == find_first_feasible_seed(self.run, self.task.env):
            return "This first game can be done."
        return "It may be that this cannot be done: then hand in a refusal, with its reason."

    @property
    def has_begun(self) -> bool:
        return self.env is not None

    @property
    def task(self) -> Task:
        return self.playing._episode.task

    @property
    def playing(self) -> ShopEnv:
        if self.env is None:
            raise Problem(NOT_BEGUN)
        return self.env

    @property
    def over(self) -> bool:
        return self.env is not None and self.env._done

    @property
    def reward(self) -> Reward | None:
        return self.env._episode.reward if self.env is not None else None

    @property
    def calls_left(self) -> int:
        """Calls until the shopper leaves."""
        episode = self.playing._episode
        return episode.most - len(episode.turns)

    def choices(self, kind: str) -> list[tuple[str, str]]:
        """Ids that were shown, each with how it is offered."""
        return [(f"{id} · {label}" if label else id, id) for id, label in self.seen.get(kind, {}).items()]

    def suggest(self) -> str:
        """The next step of a way that earns everything: the first that was not done yet."""
        if not self.has_begun or self.over:
            return OVER if self.over else NOT_BEGUN
        self.way = self.way or solve_env_task(ShopEnv(self.run), self.facts)
        return describe_step(*self.next_call())

    def next_call(self) -> Call:
        """The first of the solver's calls that is not made yet. What was only to be looked up is not wanted once its ids are seen."""
        made = [list_given(*call) for call in self.done]
        seen = set(chain.from_iterable(self.seen.values()))
        for number, (name, given) in enumerate(self.way):
            later = {id for call in self.way[number + 1 :] for id in list_ids(call[1])}
            known = name.startswith(LOOKING) and later and later <= seen
            asked = name == ASK and sum(each == ASK for each, _ in self.way[: number + 1]) <= sum(
                each == ASK for each, _ in self.done
            )
            if not known and not asked and list_given(name, given) not in made:
                return name, given
        return SUBMIT, {}

    @property
    def facts(self) -> dict[str, Any]:
        """What names this game."""
        return {"env": self.task.env, "difficulty": self.task.difficulty, "seed": self.task.seed}

    @property
    def link(self) -> str:
        """What stands behind the page's address to begin this game.

        >>> game = Game(); _ = game.reset("policy_qa", 0, 3); game.link
        '?env=policy_qa&level=0&seed=3'
        """
        return "?" + urlencode(dict(zip(LINK, self.facts.values(), strict=True)))

    # What can be done

    def reset(self, env: str, difficulty: int, seed: int) -> str:
        """Begins an episode; gives why it could not, and then the one before goes on."""
        begun = ShopEnv(self.run)
        try:
            begun.reset(extra_info={"task": {"env": env, "difficulty": difficulty, "seed": seed}})
        except Problem as problem:
            self.fault = str(problem)
            return self.fault
        self.env, self.seen, self.fault, self.way, self.done = begun, {}, "", [], []
        self.lines = [Line("shopper", self.task.opening)]
        return ""

    def say(self, words: str) -> str:
        """A question to the shopper, who answers at once; gives why it could not be asked."""
        return self.call(ASK, [words])

    def call(self, name: str, typed: Sequence[Any]) -> str:
        """A tool with what was typed into its form; gives what was wrong, empty where nothing was."""
        self.fault = self.call_tool(name, typed)
        return self.fault

    def finish(self, typed: Sequence[Any]) -> str:
        """Hands in the answer."""
        return self.call(SUBMIT, typed)

    def call_tool(self, name: str, typed: Sequence[Any]) -> str:
        if not self.has_begun or self.over:
            return OVER if self.over else NOT_BEGUN
        try:
            given = parse_form_arguments(list_tool_forms()[name], typed)
        except Problem as problem:
            return str(problem)
        turns = len(self.playing._episode.turns)
        self.done.append((name, given))
        result = json.loads(call_env_tool(self.playing, name, given)) if name == SUBMIT else self.full(name, given)
        self.lines += self.narrate(name, given, result, turns)
        return str(result.get("error", "")) if isinstance(result, Mapping) else ""

    def full(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a tool said, whole: what a model is told is cut where it is very long."""
        episode = self.playing._episode
        call_env_tool(self.playing, name, given)
        results = json.loads(episode.turns[-1].results)
        return dict(results[0]) if results else {"error": episode.reward.fault if episode.reward else OVER}

    def narrate(self, name: str, given: Mapping[str, Any], result: Mapping[str, Any], before: int) -> Iterator[Line]:
        fault = str(result.get("error", ""))
        if name == ASK and not fault:
            yield Line("you", given["question"])
            yield Line("shopper", str(result["answer"]))
        else:
            yield Line("you", call=format_call(name, given))
            if name != SUBMIT or fault or "noted" in result:
                yield Line("shop", result=result, fault=fault)
            self.keep(result)
        yield from (Line("shopper", turn.user) for turn in self.playing._episode.turns[before:] if turn.user)

    def keep(self, value: Any) -> None:
        """Notes the ids of a result, wherever they stand."""
        if isinstance(value, Mapping):
            for kind in (*LABELS, "category", "brand"):
                if isinstance(value.get(kind), str) and value[kind]:
                    label = describe_id(kind, value)
                    found = self.seen.setdefault(kind, {})
                    found[value[kind]] = label or found.get(value[kind], "")
            value = list(value.values())
        for each in value if isinstance(value, list) else ():
            self.keep(each)

    # What is told at the end

    def ending(self) -> Ending | None:
        """None until it is over."""
        if self.reward is None:
            return None
        task = self.task
        goal = json.loads(task.goal)
        expert, expert_reward = play_expert(self.run, self.facts)
        return Ending(
            reward=self.reward,
            slots=task.slots,
            feasible=task.feasible,
            refusal=goal.get("refusal", ""),
            acceptable=json.loads(task.acceptable),
            nearest_miss=json.loads(task.nearest_miss),
            goal={name: value for name, value in goal.items() if name != "slots"},
            way=[format_call(*call) for call in self.way or solve_env_task(ShopEnv(self.run), self.facts)],
            expert=expert,
            expert_reward=expert_reward,
        )


def play_expert(run: str, facts: Mapping[str, Any]) -> tuple[list[tuple[str, str]], float]:
    """What the expert thought and called in the same task, and what it earned."""
    env = ShopEnv(run)
    env.reset(extra_info={"task": facts})
    episode, steps, text = env._episode, list[tuple[str, str]](), None
    assert episode.shop is not None
    plan = play(episode.task.opening, episode.most, load_lexicon(episode.shop.store))
    with suppress(StopIteration, *CONFUSED):
        while not env._done:
            step = plan.send(text) if text is not None else next(plan)
            steps.append((step.thought, format_call(step.name, step.arguments)))
            text = call_env_tool(env, step.name, step.arguments)
    return steps, episode.reward.total if episode.reward else 0.0


@cache
def find_first_feasible_seed(run: str, env: str) -> int:
    """The number of the first of an env's easiest games that can be done: a beginner need not find out that nothing is right."""
    game = Game(run)
    for number in range(1, LOOKED_AT):
        if not game.reset(env, 0, number) and is_feasible_task(parse_certificate(game.task.acceptable)):
            return number
    return 1


def is_feasible_task(found: Certificate) -> bool:
    """Whether nothing of it is to be refused."""
    if isinstance(found, Parts):
        return all(is_feasible_task(each.certificate) for each in found.parts)
    return not isinstance(found, Infeasible)


def describe_id(kind: str, found: Mapping[str, Any]) -> str:
    """What is said beside an id.

    >>> describe_id("variant_id", {"variant_id": "B01-2", "color": "red", "size": "M", "price": 9.5, "stock": 3})
    'red, M, 9.5'
    """
    if kind == "variant_id" and "options" not in found:
        found = {**found, "options": ", ".join(str(value) for name, value in found.items() if name not in PLAIN_FIELDS)}
    parts = [str(found[name]) for name in LABELS.get(kind, ()) if found.get(name) not in (None, "")]
    return ", ".join(parts)[:90]


def list_given(name: str, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """A call without what is so by default.

    >>> list_given("catalog_search", {"query": "lamp", "page": 1, "brand": ""})
    ('catalog_search', ('query', 'lamp'))
    """
    return name, *((key, value) for key, value in sorted(given.items()) if value not in ("", None, False, 0, 1))


def list_ids(given: Mapping[str, Any]) -> set[str]:
    """
    >>> sorted(list_ids({"product_ids": "B01,B02", "quantity": 2}))
    ['B01', 'B02']
    """
    named = [str(value).split(",") for key, value in given.items() if key in IDS and key not in ("category", "brand")]
    return {id for id in chain.from_iterable(named) if id}


def describe_step(name: str, given: Mapping[str, Any]) -> str:
    """A call as one would tell somebody who sees the forms.

    >>> describe_step("cart_add", {"product_id": "B01", "quantity": 2})
    'Choose the tool cart_add. product id: B01; quantity: 2.'
    >>> describe_step("ask_user", {"question": "Which color?"})
    'Ask the shopper: Which color?'
    """
    if name == ASK:
        return f"Ask the shopper: {given['question']}"
    parts = {key: str(value).replace(",", ", ") if key in SEVERAL else value for key, value in given.items()}
    fields = "; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in parts.items() if value not in ("", False))
    do = "Open “Hand in the answer”." if name == SUBMIT else f"Choose the tool {name}."
    return f"{do} {fields}." if fields else f"{do} Leave its fields as they are, and press the button."


def format_call(name: str, given: Mapping[str, Any]) -> str:
    """
    >>> format_call("cart_add", {"product_id": "B01", "quantity": 2})
    'cart_add(product_id="B01", quantity=2)'
    """
    return f"{name}({', '.join(f'{key}={dump_compact_json(value)}' for key, value in given.items())})"
