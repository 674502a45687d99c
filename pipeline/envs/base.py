"""An env: a situation in the shop. It draws tasks, knows a perfect way through each, and scores any way."""

import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from random import Random
from typing import Any, ClassVar

from pydantic import Field

from shopwright.pipeline.envs.customers import assign_task_split
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.wording import Opening, list_said, make_plain_slot, pick_stated, word_slots
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.policies import USUAL, ShopPolicies, load_policies, name_policies
from shopwright.pipeline.shop.store import Customer, Store
from shopwright.pipeline.shop.tools import Finder, Shop
from shopwright.pipeline.shop.user_simulator import TOPICS
from shopwright.schemas.behaviors import Side
from shopwright.schemas.certificates import Certificate, Miss
from shopwright.schemas.record import Part
from shopwright.schemas.tasks import Action, Answer, Slot

REFUSALS = ("not_found", "sold_out", "not_eligible", "contradiction", "over_budget", "not_covered")
# Share of tasks whose right answer is to refuse, in every env where that makes sense: who always refuses is right no more often.
INFEASIBLE = 0.12
# Turns that are left for acting when everything that was left out is asked for.
ACTING = 3
# Yields actions and is sent what the shop said to each.
Solution = Generator[Action, dict[str, Any], None]


@dataclass(frozen=True)
class World:
    """What every episode of a process shares."""

    store: Store
    finder: Finder
    task_id: str = field(default="", kw_only=True)
    """Of the task that is drawn."""
    policy_number: int = field(default=0, kw_only=True)
    """Which policies the shop has in that task."""
    side: Side | None = field(default=None, kw_only=True)
    """The split of that task; None where it is its customer's."""

    def split_of(self, persona_id: str) -> Side:
        """The split of the task, were it of this customer."""
        return self.side or assign_task_split(persona_id, self.task_id)

    def policies_for(self, persona_id: str) -> ShopPolicies:
        """What the shop's policies are in the task, were it of this customer; those of a task held out are held out, too."""
        return load_policies(name_policies(self.split_of(persona_id), self.policy_number))


class SellOut(Part):
    """Variants that are sold out after a turn of the agent's."""

    after: int
    variants: list[str]


class SideQuestion(Part):
    """Something else that the shopper brings up after a turn of the agent's, and every answer that is right."""

    after: int
    question: str
    answers: list[str]


class Goal(Part):
    """What the shopper wants; each env adds what it scores. Nothing of it is ever shown to an agent."""

    persona_id: str
    now: datetime
    slots: list[Slot]
    refusal: str = ""
    """The right reason where it cannot be done, one of REFUSALS; empty where it can."""
    sold_out: list[str] = Field(default_factory=list)
    """Variants that are sold out from the start, beside those of the store."""
    policies: str = USUAL
    """Which policies the shop has in this episode: its texts, its tools and the score go by them."""
    contrast: list[Slot] = Field(default_factory=list)
    """What the opening says beside it of something else, which is not what is wanted."""
    event: SellOut | None = None
    aside: SideQuestion | None = None

    @property
    def feasible(self) -> bool:
        return not self.refusal


@dataclass(frozen=True)
class DrawnTask:
    """A task before it has words."""

    goal: Goal
    facts: dict[str, Any]
    """What the opening is told beside the stated slots: `{"most": "3"}`."""
    acceptable: Certificate
    """The full set of end states that earn everything; of an infeasible one the proof (`shopwright.schemas.certificates`)."""
    nearest_miss: Miss


@dataclass(frozen=True)
class Notice:
    """Something that the shopper sees to be wrong with the cart, said once."""

    key: str
    meaning: str = ""
    """In the phrase bank: `is another variant`; empty where it is said as it is."""
    facts: Mapping[str, str] = field(default_factory=dict)
    said: str = ""


@dataclass(frozen=True)
class GoalScore:
    """How well a goal was reached, from -1 to 1; a success is exactly an acceptable end state."""

    task: Fraction
    success: bool
    fault: str = ""


class InvalidDraw(Problem):
    """An env drew something else than it has to; the message says what was expected and what was found."""


class CannotDraw(Exception):
    """The store has nothing to draw such a task from; the message says what is missing."""


class Env(ABC):
    """One file per env; a class of it with these five is all that it takes."""

    name: ClassVar[str]
    Goal: ClassVar[type[Any]]
    refusals: ClassVar[tuple[str, ...]] = ()
    """The reasons for which refusing can be right here; none where every task can be done."""
    takes_asides: ClassVar[bool] = True
    """Whether the shopper may ask something else on the way."""
    mistypes_parts: ClassVar[bool] = False
    """Whether `word` has mistyped facts already, part by part."""

    @abstractmethod
    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        """A task. Raises CannotDraw where the store cannot give one."""

    @abstractmethod
    def solve(self, goal: Any, shop: Shop, axes: Axes) -> Solution:
        """A perfect agent, who knows the goal and acts through the tools; it earns everything."""

    @abstractmethod
    def score(self, goal: Any, shop: Shop, answer: Answer | None) -> GoalScore:
        """By the facts alone: what the shop holds at the end, and what was handed in."""

    def word(self, drawn: DrawnTask, speaker: Speaker, random: Random) -> DrawnTask:
        """The same task with its slots in words, as this person says them."""
        slots = word_slots(drawn.goal.slots, speaker, random)
        return replace(drawn, goal=drawn.goal.model_copy(update={"slots": slots}))

    def open(self, goal: Any, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        """What begins the conversation: a meaning of `data/reference/phrases/envs`, and what stands in its slots.

        As it is here, the meaning has the env's name, and its one slot, {facts}, all that is stated.
        """
        return Opening(self.name, {"facts": list_said(pick_stated(goal.slots).values(), speaker, random)})

    def notices(self, goal: Any, shop: Shop) -> Iterable[Notice]:
        """What the shopper sees to be wrong at this moment."""
        return ()

    def turns(self, goal: Any, axes: Axes) -> int:
        """After so many of the agent's turns the shopper leaves."""
        return axes.turns

    def recommendations(self, goal: Any, axes: Axes) -> int:
        """So many products may be named in an answer, at most."""
        return axes.recommendations

    def shop(self, world: World, goal: Any, axes: Axes, seed: str) -> Shop:
        """The shop as an episode of this goal begins."""
        store = world.store
        place = store.place_of_customer.get(goal.persona_id)
        customer = store.customers[place] if place is not None else make_unknown_customer(goal.persona_id)
        return Shop(
            store=store,
            finder=world.finder,
            customer=customer,
            now=goal.now,
            depth=axes.depth,
            distractors=axes.distractors,
            orders_shown=axes.orders_shown,
            seed=seed,
            gone=set(goal.sold_out),
            policies=load_policies(goal.policies),
        )


def make_unknown_customer(id: str) -> Customer:
    import numpy as np

    return Customer(id, np.zeros(0, np.int64), np.zeros(0, np.int64), ())


def draw_disclosure(
    constraints: Iterable[Slot | tuple[str, str]], axes: Axes, random: Random, *, always: Iterable[str] = ()
) -> list[Slot]:
    """Who learns what how: each slot is left out of the opening by chance, but for those `always` stated.

    What is no meaning of the phrase bank may be given as (name, as it is said). One at least is stated, so that there is something to
    begin with. No more is left out than can be asked for, two things a turn, with turns left to act.
    """
    named = [each if isinstance(each, Slot) else make_plain_slot(*each) for each in constraints]
    kept = set(always)
    drawn = [each.name in kept or random.random() >= axes.omission for each in named]
    if named and not any(drawn):
        drawn[0] = True
    untold = [place for place, stated in enumerate(drawn) if not stated]
    for place in untold[TOPICS * (axes.turns - ACTING) :]:
        drawn[place] = True
    return [
        each.model_copy(update={"known": "stated" if stated else "asked"})
        for each, stated in zip(named, drawn, strict=True)
    ]


def list_untold(slots: Iterable[Slot], later: str = "") -> list[Slot]:
    """The slots that were left out, in their order; later: what will be said anyway."""
    return [slot for slot in slots if slot.known == "asked" and slot.said not in later]


def ask_about(slots: Iterable[Slot]) -> str:
    """What an agent asks that has noticed that these were left out; a shopper answers TOPICS of them at once."""
    return " ".join(f"What about the {slot.name}?" for slot in slots)


def is_right_refusal(goal: Goal, answer: Answer | None) -> bool:
    return answer is not None and bool(goal.refusal) and answer.refusal == goal.refusal


def is_needless_refusal(goal: Goal, answer: Answer | None) -> bool:
    return answer is not None and bool(answer.refusal) and goal.feasible


def dump_compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str, sort_keys=True)


# Of a goal what is words, or drawn after them.
SAID = ("said", "typed", "question", "after", "later")


def drop_said(value: Any) -> Any:
    """Goals and slots without what is said of them, nor when somebody says something else, which is drawn after the words.

    >>> drop_said({"goal": '{"slots": [{"name": "a", "said": "b", "typed": "bb"}]}'})
    {'goal': {'slots': [{'name': 'a'}]}}
    """
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, dict):
        return {name: drop_said(each) for name, each in value.items() if name not in SAID}
    return [drop_said(each) for each in value] if isinstance(value, list) else value
