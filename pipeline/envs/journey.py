"""Several things in one conversation: two to five of the other seven envs of the paper, with one customer in one shop."""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain
from random import Random
from typing import Any

from shopwright.pipeline.envs.base import CannotDraw, DrawnTask, Env, Goal, GoalScore, Notice, Solution, World
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.mistyped_facts import mistype_facts, say_as_typed
from shopwright.pipeline.envs.wording import Opening, phrase_opening
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.fact_typos import would_be_taken_for_fact
from shopwright.pipeline.shop.store import Customer, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.pipeline.shop.topics import build_slot_keys, parse_user_question
from shopwright.pipeline.shop.user_simulator import NEXT
from shopwright.schemas.certificates import PartOf, Parts, certificate_to_text
from shopwright.schemas.record import Part
from shopwright.schemas.tasks import Action, Answer, Slot

# How a slot is told from one of the same name: `price of bundle`.
SLOT_PREFIXES = {
    "cart_building": "cart",
    "substitution": "substitute",
    "product_discovery": "search",
    "return_replacement": "return",
    "order_tracking": "tracking",
    "policy_qa": "policy",
    "bundle_planning": "bundle",
}
# Envs of which both speak of an order, or of one product: what is said later could be about either.
ALIKE = (frozenset({"return_replacement", "order_tracking"}), frozenset({"product_discovery", "substitution"}))
# Told by its name, which says whose it is.
NAMED = ("original",)
# Envs that want a certain time; they are drawn first, in this order, and the others take theirs.
PICKY = ("return_replacement", "order_tracking", "cart_building")
# Draws of a part until it goes with the others.
TRIES = 12


class JourneyPart(Part):
    """One part: its env, and what is wanted there."""

    env: str
    goal: str
    """JSON of the env's own goal."""
    most: int
    """Products that may be recommended in its answer."""


class JourneyGoal(Goal):
    """The parts, in the order in which they are asked and answered."""

    parts: list[JourneyPart]
    later: str = ""
    """The last part in words, where the shopper brings it up only after the agent's first turn."""


class Journey(Env):
    """Cart, clock and returns are shared; every part is scored by its own env, and the whole is their mean."""

    name = "journey"
    Goal = JourneyGoal
    takes_asides = False  # what is brought up on the way is a part of it
    mistypes_parts = True

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        parts = draw_journey_parts(world, axes, random)
        policies = world.policies_for(parts[0][1].goal.persona_id).id
        parts = [
            (name, replace(drawn, goal=drawn.goal.model_copy(update={"policies": policies}))) for name, drawn in parts
        ]
        goals = [drawn.goal for _, drawn in parts]
        late = random.random() < axes.switch
        goal = JourneyGoal(
            persona_id=goals[0].persona_id,
            now=goals[0].now,
            slots=[],
            sold_out=list(chain.from_iterable(each.sold_out for each in goals)),
            event=next((each.event for each in goals if each.event), None),
            parts=[make_journey_part(name, drawn.goal, axes) for name, drawn in parts],
        )
        facts = {"parts": parts, "late": late, "axes": axes, "store": world.store}
        right = Parts(parts=[PartOf(env=name, certificate=drawn.acceptable) for name, drawn in parts])
        return DrawnTask(goal, facts, right, parts[0][1].nearest_miss.model_copy(update={"part": 1}))

    def word(self, drawn: DrawnTask, speaker: Speaker, random: Random) -> DrawnTask:
        """Each part in words. Raises CannotDraw where a question that names a slot could be about another part's."""
        from shopwright.pipeline.envs import get_env

        parts = [(name, get_env(name).word(part, speaker, random)) for name, part in drawn.facts["parts"]]
        axes, late, store = drawn.facts["axes"], drawn.facts["late"], drawn.facts["store"]
        stated = len(parts) - late  # what comes up later is said clean: no row would tell how it was typed
        for place, (name, part) in enumerate(parts[:stated]):
            dice = Random(f"{speaker.key}/{name}/typed facts")
            parts[place] = name, mistype_facts(part, store, speaker, dice, noise=axes.noise)
        slots = list_journey_slots(parts)
        requests = [phrase_part_request(name, part, store, speaker, axes.noise, random) for name, part in parts]
        if late:
            # the last part comes up in mid-conversation: nothing of it is in the opening
            slots[-1] = [withhold_stated_slot(slot) for slot in slots[-1]]
        made = [make_journey_part(name, part.goal, axes) for name, part in parts]
        worded = {"slots": list(chain.from_iterable(slots)), "parts": made, "later": requests[-1] if late else ""}
        goal = JourneyGoal.model_validate(drawn.goal.model_copy(update=worded))
        if not can_ask_all_slots(goal):
            raise CannotDraw("slots of different parts cannot be told apart in a question")
        return replace(drawn, goal=goal, facts={"requests": requests[:-1] if late else requests, "late": late})

    def open(self, goal: JourneyGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        said = {f"r{number}": request for number, request in enumerate(facts["requests"], 1)}
        begins = "begins journey" if len(said) > 1 else "begins alone"
        parts = {"begins": begins, "goes": "goes on with", "more": "more to come" if facts["late"] else ""}
        return Opening(f"journey {len(said)}", said, parts)

    def solve(self, goal: JourneyGoal, shop: Shop, axes: Axes) -> Solution:
        answers = []
        for env, part in load_parts(goal):
            answers.append((yield from solve_part(env.solve(part, shop, axes))))
        yield Action(answer=Answer(env=self.name, parts=answers))

    def score(self, goal: JourneyGoal, shop: Shop, answer: Answer | None) -> GoalScore:
        """The mean of the parts; a success is one in every part, with no answer too many."""
        given = answer.parts if answer else []
        scores = []
        for place, (env, part) in enumerate(load_parts(goal)):
            mine = given[place] if place < len(given) else None
            score = GoalScore(Fraction(-1), False, "not answered")
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
        return GoalScore(task, success, "; ".join(faults))

    def notices(self, goal: JourneyGoal, shop: Shop) -> Iterable[Notice]:
        for env, part in load_parts(goal):
            yield from env.notices(part, shop)
        if goal.later:
            yield Notice(f"{NEXT} {len(goal.parts)}", said=goal.later)

    def turns(self, goal: JourneyGoal, axes: Axes) -> int:
        """As many as the parts have together."""
        return sum(env.turns(part, axes) for env, part in load_parts(goal))


def make_journey_part(name: str, goal: Goal, axes: Axes) -> JourneyPart:
    from shopwright.pipeline.envs import get_env

    return JourneyPart(env=name, goal=goal.model_dump_json(), most=get_env(name).recommendations(goal, axes))


@lru_cache(4_096)
def load_part_goal(name: str, goal: str) -> tuple[Env, Any]:
    from shopwright.pipeline.envs import get_env

    env = get_env(name)
    return env, env.Goal.model_validate_json(goal)


def load_parts(goal: JourneyGoal) -> list[tuple[Env, Any]]:
    return [load_part_goal(part.env, part.goal) for part in goal.parts]


def solve_part(solution: Solution) -> Generator[Action, dict[str, Any], Answer]:
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


def can_ask_all_slots(goal: JourneyGoal) -> bool:
    """Whether a question that names a slot is understood as one about it, beside all the others."""
    known = [build_slot_keys(slot) for slot in goal.slots]
    return all(
        place in parse_user_question(f"What about the {slot.name}?", known).slots
        for place, slot in enumerate(goal.slots)
        if slot.known == "asked" and slot.said not in goal.later
    )


def draw_journey_parts(world: World, axes: Axes, random: Random) -> list[tuple[str, DrawnTask]]:
    """So many parts of different envs, in their order: one customer, one time, and none in another's way."""
    from shopwright.pipeline.envs import ENV_ORDER

    count = min(5, 2 + axes.difficulty // 4)
    names = [name for name in ENV_ORDER if name != Journey.name]
    chosen = random.sample(names, len(names))
    customers = world.store.customers
    one = customers[random.randrange(len(customers))] if customers else None
    found: dict[str, DrawnTask] = {}
    for name in sorted(chosen[:count], key=rank_part) + chosen[count:]:
        if len(found) < count:
            took = draw_fitting_part(name, world, one, axes, random, found, sells_out=name == chosen[0])
            if took is not None:
                found[name] = took
                one = one and one.at(took.goal.now)
    if len(found) < count:
        raise CannotDraw(f"no customer of it has {count} different things to ask at one time")
    last = [name for name, drawn in found.items() if drawn.goal.event]
    first = [name for name in chosen if name in found and name not in last]
    return [(name, found[name]) for name in [*first, *last]]


def rank_part(name: str) -> int:
    return PICKY.index(name) if name in PICKY else len(PICKY)


def draw_fitting_part(
    name: str,
    world: World,
    one: Customer | None,
    axes: Axes,
    random: Random,
    found: Mapping[str, DrawnTask],
    *,
    sells_out: bool,
) -> DrawnTask | None:
    """A part that goes with those there are; None where so many draws found none.

    Only one part may have something sold out on the way: a part that was answered before would not hold any more.
    """
    from shopwright.pipeline.envs import all_envs

    mine = replace(world, store=keep_one_customer(world.store, one))
    own = axes if sells_out else replace(axes, sells_out=0.0)
    for _ in range(TRIES):
        try:
            drawn = all_envs()[name].draw(mine, own, random)
        except CannotDraw:
            continue
        if one and drawn.goal.persona_id != one.id:
            continue
        if all(is_compatible_part(drawn, other, world.store) for other in found.values()):
            return drawn
    return None


def keep_one_customer(store: Store, customer: Customer | None) -> Store:
    """The same store with this customer only."""
    view = object.__new__(Store)
    view.__dict__.update(store.__dict__)
    view.customers = (customer,) if customer else ()
    view.place_of_customer = {customer.id: 0} if customer else {}
    return view


def is_compatible_part(one: DrawnTask, other: DrawnTask, store: Store) -> bool:
    """Whether they are set at one time, and neither sells out what the other speaks of."""
    if (one.goal.persona_id, one.goal.now) != (other.goal.persona_id, other.goal.now):
        return False
    return not (sells_out_what_is_named(one, other, store) or sells_out_what_is_named(other, one, store))


def sells_out_what_is_named(one: DrawnTask, other: DrawnTask, store: Store) -> bool:
    gone = list_sold_out_products(one.goal, store)
    text = f"{certificate_to_text(other.acceptable)} {other.goal.model_dump_json()}" if gone else ""
    return any(product in text for product in gone)


def list_sold_out_products(goal: Goal, store: Store) -> set[str]:
    """The products of which it sells out variants, from the start or on the way."""
    variants = [*goal.sold_out, *(goal.event.variants if goal.event else ())]
    options = [store.option_of(variant) for variant in variants]
    return {option.product_id for option in options if option}


def phrase_part_request(
    name: str, drawn: DrawnTask, store: Store, speaker: Speaker, noise: float, random: Random
) -> str:
    """A part's opening, which neither greets nor says goodbye."""
    from shopwright.pipeline.envs import get_env

    typed, avoid = say_as_typed(drawn.goal), partial(would_be_taken_for_fact, store)
    opening = get_env(name).open(typed, drawn.facts, speaker, random)
    return phrase_opening(opening, typed.slots, speaker, noise=noise, random=random, greets=False, avoid=avoid)


def list_journey_slots(parts: list[tuple[str, DrawnTask]]) -> list[list[Slot]]:
    """The slots of each part; those of one name say whose they are, and so do all of two parts that are told of alike."""
    names: Counter[str] = Counter()
    for _, drawn in parts:
        names.update({slot.name for slot in drawn.goal.slots})
    there = {env for env, _ in parts}
    alike = set().union(*(pair for pair in ALIKE if pair <= there))
    slots = []
    for env, drawn in parts:
        owner = SLOT_PREFIXES.get(env, env)
        shared = {
            slot.name
            for slot in drawn.goal.slots
            if names[slot.name] > 1 or (env in alike and slot.name not in NAMED and " of " not in slot.name)
        }
        slots.append([name_owner(slot, owner) if slot.name in shared else slot for slot in drawn.goal.slots])
    return slots


def name_owner(slot: Slot, owner: str) -> Slot:
    return slot.model_copy(update={"name": f"{slot.name} of {owner}"})


def withhold_stated_slot(slot: Slot) -> Slot:
    return slot.model_copy(update={"known": "asked"}) if slot.known == "stated" else slot
