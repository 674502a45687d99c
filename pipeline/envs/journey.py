"""Several things in one conversation: two to five of the other envs, with one customer in one shop."""

import re
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from random import Random
from typing import Any

from pipeline.envs.base import Drawn, Env, Goal, Notice, Score, Solution, Undrawable, World, as_json
from pipeline.envs.difficulty import Axes
from pipeline.shop.shopper import NEXT, opened, texts
from pipeline.shop.store import Customer, Store
from pipeline.shop.tools import Shop
from pipeline.shop.topics import asked, keys
from schemas.record import Part
from schemas.tasks import Action, Answer, Wish

CALLED = {
    "cart_building": "cart",
    "substitution": "substitute",
    "product_discovery": "search",
    "return_replacement": "return",
    "order_tracking": "tracking",
    "policy_qa": "policy",
    "bundle_planning": "bundle",
}
"""How a wish is told from one of the same name: `price of bundle`."""
PICKY = ("return_replacement", "order_tracking", "cart_building")
"""Envs that want a certain time; they are drawn first, in this order, and the others take theirs."""
TRIES = 12
"""Draws of a part until it goes with the others."""
GREETING = re.compile(r"^(?:hi|hello|hey)(?: there)?[,!.]?\s+", re.IGNORECASE)


class Errand(Part):
    """One part: its env, and what is wanted there."""

    env: str
    goal: str
    """JSON of the env's own goal."""
    most: int
    """Products that may be recommended in its answer."""


class Errands(Goal):
    """The parts, in the order in which they are asked and answered."""

    parts: list[Errand]
    later: str = ""
    """The last part in words, where the shopper brings it up only after the agent's first turn."""


class Journey(Env):
    """Cart, clock and returns are shared; every part is scored by its own env, and the whole is their mean."""

    name = "journey"
    Goal = Errands
    takes_asides = False  # what is brought up on the way is a part of it

    def draw(self, world: World, axes: Axes, random: Random) -> Drawn:
        parts = together(world, axes, random)
        goals = [drawn.goal for _, drawn in parts]
        late = random.random() < axes.switch
        said = [request(name, drawn, random) for name, drawn in parts]
        goal = Errands(
            persona_id=goals[0].persona_id,
            now=goals[0].now,
            wishes=[
                wish.model_copy(update={"known": "asked"}) if late and last and wish.known == "stated" else wish
                for number, wishes in enumerate(ledgers(parts), 1)
                for last in [number == len(parts)]
                for wish in wishes
            ],
            sold_out=[variant for each in goals for variant in each.sold_out],
            event=next((each.event for each in goals if each.event), None),
            parts=[errand(name, drawn.goal, axes) for name, drawn in parts],
            later=said[-1] if late else "",
        )
        if not all_can_be_asked(goal):
            raise Undrawable("wishes of different parts cannot be told apart in a question")
        names = [each for _, drawn in parts for each in texts(drawn.facts) if each[-1:] not in ".?!"]
        facts = {"requests": said[:-1] if late else said, "later": late, "names": names}
        acceptable = [{"env": name, "acceptable": drawn.acceptable} for name, drawn in parts]
        miss = {"part": 1, "env": parts[0][0], "nearest_miss": parts[0][1].nearest_miss}
        return Drawn(goal, facts, acceptable=acceptable, nearest_miss=miss)

    def solve(self, goal: Errands, shop: Shop, axes: Axes) -> Solution:
        answers = []
        for env, part in parts_of(goal):
            answers.append((yield from worked(env.solve(part, shop, axes))))
        yield Action(answer=Answer(env=self.name, parts=answers))

    def score(self, goal: Errands, shop: Shop, answer: Answer | None) -> Score:
        """The mean of the parts; a success is one in every part, with no answer too many."""
        given = answer.parts if answer else []
        scores = []
        for place, (env, part) in enumerate(parts_of(goal)):
            mine = given[place] if place < len(given) else None
            score = Score(Fraction(-1), False, "not answered")
            if mine and len(mine.recommended_product_ids) > goal.parts[place].most:
                score = replace(score, fault=f"more than {goal.parts[place].most} products recommended")
            elif mine:
                score = env.score(part, shop, mine)
            scores.append(score)
        faults = [f"part {number}: {score.fault}" for number, score in enumerate(scores, 1) if score.fault]
        if len(given) > len(scores):
            faults.append(f"{len(given)} parts answered, of {len(scores)}")
        task = sum((score.task for score in scores), Fraction(0)) / len(scores)
        success = all(score.success for score in scores) and len(given) == len(scores)
        return Score(task, success, "; ".join(faults))

    def notices(self, goal: Errands, shop: Shop) -> Iterable[Notice]:
        for env, part in parts_of(goal):
            yield from env.notices(part, shop)
        if goal.later:
            yield Notice(f"{NEXT} {len(goal.parts)}", goal.later)

    def turns(self, goal: Errands, axes: Axes) -> int:
        """As many as the parts have together."""
        return sum(env.turns(part, axes) for env, part in parts_of(goal))


def errand(name: str, goal: Goal, axes: Axes) -> Errand:
    from pipeline.envs import env_of

    return Errand(env=name, goal=goal.model_dump_json(), most=env_of(name).recommendations(goal, axes))


@lru_cache(4_096)
def read(name: str, goal: str) -> tuple[Env, Any]:
    from pipeline.envs import env_of

    env = env_of(name)
    return env, env.Goal.model_validate_json(goal)


def parts_of(goal: Errands) -> list[tuple[Env, Any]]:
    return [read(part.env, part.goal) for part in goal.parts]


def worked(solution: Solution) -> Generator[Action, dict[str, Any], Answer]:
    """One part's solution up to its answer, which is kept until all are there."""
    try:
        action = next(solution)
        while action.answer is None:
            action = solution.send((yield action))
        if action.tool_calls:
            yield action.model_copy(update={"answer": None})
    finally:
        solution.close()
    return action.answer


def all_can_be_asked(goal: Errands) -> bool:
    """Whether a question that names a wish is understood as one about it, beside all the others."""
    known = [keys(wish) for wish in goal.wishes]
    return all(
        place in asked(f"What about the {wish.name}?", known).wishes
        for place, wish in enumerate(goal.wishes)
        if wish.known == "asked" and wish.said not in goal.later
    )


def together(world: World, axes: Axes, random: Random) -> list[tuple[str, Drawn]]:
    """So many parts of different envs, in their order: one customer, one time, and none in another's way."""
    from pipeline.envs import all_envs

    count = min(5, 2 + axes.difficulty // 4)
    names = [name for name in all_envs() if name != Journey.name]
    chosen = random.sample(names, len(names))
    customers = world.store.customers
    one = customers[random.randrange(len(customers))] if customers else None
    found: dict[str, Drawn] = {}
    for name in sorted(chosen[:count], key=order) + chosen[count:]:
        if len(found) < count:
            took = fitting(name, world, one, axes, random, found, sells_out=name == chosen[0])
            if took is not None:
                found[name] = took
                one = one and replace(one, now=took.goal.now)
    if len(found) < count:
        raise Undrawable(f"no customer of it has {count} different things to ask at one time")
    last = [name for name, drawn in found.items() if drawn.goal.event]
    return [(name, found[name]) for name in [*(each for each in chosen if each in found and each not in last), *last]]


def order(name: str) -> int:
    return PICKY.index(name) if name in PICKY else len(PICKY)


def fitting(
    name: str,
    world: World,
    one: Customer | None,
    axes: Axes,
    random: Random,
    found: Mapping[str, Drawn],
    *,
    sells_out: bool,
) -> Drawn | None:
    """A part that goes with those there are; None where so many draws found none.

    Only one part may have something sold out on the way: a part that was answered before would not hold any more.
    """
    from pipeline.envs import all_envs

    mine = replace(world, store=alone(world.store, one))
    own = axes if sells_out else replace(axes, sells_out=0.0)
    for _ in range(TRIES):
        try:
            drawn = all_envs()[name].draw(mine, own, random)
        except Undrawable:
            continue
        if one and drawn.goal.persona_id != one.id:
            continue
        if all(goes_with(drawn, other, world.store) for other in found.values()):
            return drawn
    return None


def alone(store: Store, customer: Customer | None) -> Store:
    """The same store with this customer only."""
    view = object.__new__(Store)
    view.__dict__.update(store.__dict__)
    view.customers = (customer,) if customer else ()
    view.place_of_customer = {customer.id: 0} if customer else {}
    return view


def goes_with(one: Drawn, other: Drawn, store: Store) -> bool:
    """Whether they are set at one time, and neither sells out what the other speaks of."""
    if (one.goal.persona_id, one.goal.now) != (other.goal.persona_id, other.goal.now):
        return False
    return not any(
        product in as_json(b.acceptable) or product in b.goal.model_dump_json()
        for a, b in ((one, other), (other, one))
        for product in sold_out(a.goal, store)
    )


def sold_out(goal: Goal, store: Store) -> set[str]:
    """The products of which it sells out variants, from the start or on the way."""
    variants = [*goal.sold_out, *(goal.event.variants if goal.event else ())]
    options = [store.option_of(variant) for variant in variants]
    return {option.product_id for option in options if option}


def request(name: str, drawn: Drawn, random: Random) -> str:
    """A part's opening, without a greeting; typos come with the whole."""
    said = opened(name, drawn.goal.wishes, drawn.facts, noise=0.0, random=random)
    bare = GREETING.sub("", said)
    return bare[:1].upper() + bare[1:]


def ledgers(parts: list[tuple[str, Drawn]]) -> list[list[Wish]]:
    """The wishes of each part; those of one name say whose they are."""
    names = Counter(name for _, drawn in parts for name in {wish.name for wish in drawn.goal.wishes})
    return [
        [
            wish.model_copy(update={"name": f"{wish.name} of {CALLED.get(env, env)}"}) if names[wish.name] > 1 else wish
            for wish in drawn.goal.wishes
        ]
        for env, drawn in parts
    ]
