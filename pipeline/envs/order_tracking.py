"""One of the customer's orders is meant, and the agent says where it is; or there is no such order."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

from shopwright.pipeline.envs.base import (
    INFEASIBLE,
    CannotDraw,
    DrawnTask,
    Env,
    Goal,
    GoalScore,
    Solution,
    World,
    draw_disclosure,
    is_needless_refusal,
    is_right_refusal,
)
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.referring_expressions import (
    Clue,
    Memory,
    Span,
    compute_indirect_chance,
    draw_contrast,
    draw_moment,
    draw_order_history,
    draw_referring_clues,
    find_fitting_memories,
    find_near_memory,
    intersect_spans,
    list_memories,
    make_clue,
    slot_of_clue,
)
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shop.tools import Shop, status_at
from shopwright.schemas.certificates import AnyOf, End, Infeasible, Miss, NoOrder
from shopwright.schemas.shop import Order
from shopwright.schemas.tasks import Action, Answer, Call, Slot

EXACT = ("number", "date")
# The last one is another order's hardly ever: of many it would tell one alone.
VAGUE = ("category", "when", "brand", "products", "total")
# Orders that are looked at until one can be told from the others shown.
TRIES = 400
# Orders of others that are looked at for something that none of the customer's has.
OTHERS_LOOKED_AT = 20


class OrderTrackingGoal(Goal):
    """Which order is meant, by which clues, and what is to be said of it."""

    clues: list[Clue]
    order_id: str = ""
    """Empty where there is no such order."""
    status: str = ""
    arrival: str = ""
    """The day on which it arrived or is expected; empty where none is known."""
    asks_arrival: bool = False


class OrderTracking(Env):
    """The agent finds the order among those shown, by what the customer remembers, and reports its status and arrival."""

    name = "order_tracking"
    Goal = OrderTrackingGoal
    refusals = ("not_found",)

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        # Drawn once: of the tries those that name a number come about more easily.
        indirect = random.random() < compute_indirect_chance(axes.difficulty)
        make = draw_missing_order if random.random() < INFEASIBLE else draw_existing_order
        for _ in range(TRIES):
            found = make(world.store, axes, random, indirect=indirect)
            if found is not None:
                return found
        raise CannotDraw(f"no customer has {axes.orders} orders of which one can be told from the others")

    def solve(self, goal: OrderTrackingGoal, shop: Shop, axes: Axes) -> Solution:
        calls = [Call(name="order_list")]
        if goal.feasible:
            calls.append(Call(name="order_get_status", args={"order_id": goal.order_id}))
        for first in range(0, len(calls), axes.tool_calls):
            observation = yield Action(tool_calls=calls[first : first + axes.tool_calls])
        if not goal.feasible:
            yield Action(answer=Answer(env=self.name, refusal=goal.refusal))
            return
        told = observation["results"][-1]
        arrival = told.get("delivered", told.get("expected", ""))
        yield Action(
            assistant_message=" ".join(f"{name}: {value}." for name, value in told.items()),
            answer=Answer(
                env=self.name, selected_order_id=goal.order_id, order_status=told["status"], arrival_date=arrival
            ),
        )

    def open(self, goal: OrderTrackingGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        arrival = stated.pop("arrival", None)
        said = {"clues": list_said(stated.values(), speaker, random), "wants arrival": arrival.said if arrival else ""}
        meaning = "order_tracking" if stated else "order_tracking bare"
        return Opening(meaning, said, {"arrival": "arrival too" if arrival else ""})

    def score(self, goal: OrderTrackingGoal, shop: Shop, answer: Answer | None) -> GoalScore:
        """2 (.5 order + .5 status) - 1; the status counts with the order that it is of, and the arrival with the status."""
        if not goal.feasible:
            right = is_right_refusal(goal, answer)
            return GoalScore(Fraction(1 if right else -1), right, "" if right else "there is no such order")
        if answer is None or is_needless_refusal(goal, answer):
            return GoalScore(Fraction(-1), False, "no order where there is one")
        if answer.selected_order_id != goal.order_id:
            return GoalScore(Fraction(-1), False, "another order was meant")
        right = answer.order_status.strip().lower() == goal.status
        if goal.asks_arrival:
            right = right and answer.arrival_date.strip() == goal.arrival
        return GoalScore(
            Fraction(1 if right else 0), right, "" if right else "the order is elsewhere, or arrives on another day"
        )


def draw_existing_order(store: Store, axes: Axes, random: Random, *, indirect: bool) -> DrawnTask | None:
    """A task about an order that is there; None where it cannot be told from the others."""
    customer, orders, shown = draw_order_history(store, axes, random)
    order = pick_order(orders, random)
    now = draw_tracking_moment(order, shown, random)
    memories = list_memories(orders, now, store, lines=False)
    it = next(each for each in memories if each.order is order)
    clues = draw_order_clues(it, memories, axes, random, indirect=indirect)
    if clues is None:
        return None
    # Of a single order nothing else is left to find out.
    asks = len(orders) == 1 or random.random() < 0.5
    goal = OrderTrackingGoal(
        persona_id=customer.id,
        now=now,
        slots=list_tracking_slots(clues, now, asks, axes, random),
        clues=clues,
        order_id=order.id,
        status=status_at(order, now),
        arrival=find_arrival_day(order),
        asks_arrival=asks,
        contrast=contrast_orders(it, memories, clues, axes, random),
    )
    right = Answer(selected_order_id=order.id, order_status=goal.status, arrival_date=goal.arrival if asks else "")
    miss = find_nearest_order(goal, right, memories)
    return DrawnTask(goal, {}, AnyOf(ends=[End(answer=right)]), miss)


def pick_order(orders: list[Order], random: Random) -> Order:
    """One of them, half the time of the newer ones, which are not all delivered."""
    return random.choice(orders[: len(orders) // 4 + 1] if random.random() < 0.5 else orders)


def draw_tracking_moment(order: Order, shown: Span, random: Random) -> datetime:
    """A time of one of its steps, each as likely, but mostly before the last: of several orders most have arrived."""
    spans = list_status_spans(order, shown)
    return draw_moment(random.choice(spans[:-1] or spans if random.random() < 0.75 else spans), random)


def list_status_spans(order: Order, shown: Span) -> list[Span]:
    """The times between the steps of an order's way, as far as they lie in the one given."""
    steps = sorted(when for when in (order.placed, order.shipped, order.delivered, order.cancelled) if when)
    return [span for edges in pairwise([*steps, datetime.max]) if (span := intersect_spans(edges, shown))]


def find_arrival_day(order: Order) -> str:
    """The day on which it arrived or is expected; empty for what was cancelled, or was lost on its way."""
    return f"{order.delivered:%Y-%m-%d}" if order.delivered else ""


def draw_missing_order(store: Store, axes: Axes, random: Random, *, indirect: bool) -> DrawnTask | None:
    """A task about an order that the customer does not have; None where nothing that is remembered shows it.

    All is drawn as of an order that is there, and one clue spoilt then, so that neither the facts nor the words tell.
    """
    customer, orders, shown = draw_order_history(store, axes, random)
    nearest = pick_order(orders, random)
    now = draw_tracking_moment(nearest, shown, random)
    memories = list_memories(orders, now, store, lines=False)
    it = next(each for each in memories if each.order is nearest)
    fitting = draw_order_clues(it, memories, axes, random, indirect=indirect)
    wrong = fitting and spoil_clue(fitting, it, list_memories(customer.orders, now, store, lines=False), random)
    if not fitting or not wrong:
        return None
    clues = [wrong if each.name == wrong.name else each for each in fitting]
    asks = len(orders) == 1 or random.random() < 0.5
    goal = OrderTrackingGoal(
        persona_id=customer.id,
        now=now,
        slots=list_tracking_slots(clues, now, asks, axes, random),
        refusal="not_found",
        clues=clues,
        asks_arrival=asks,
        contrast=contrast_orders(it, memories, fitting, axes, random),
    )
    ids = [each.order.id for each in memories]
    proof = NoOrder(orders=ids, fact=wrong.fact, value=wrong.value)
    other = Answer(selected_order_id=nearest.id, order_status=status_at(nearest, now))
    miss = Miss(breaks=[wrong.name], end=End(answer=other))
    return DrawnTask(goal, {}, Infeasible(refusal=goal.refusal, proof=proof), miss)


def spoil_clue(clues: list[Clue], it: Memory, everything: list[Memory], random: Random) -> Clue | None:
    """One of the clues as it holds of somebody else's order, and of nothing that the customer ordered; None where that fails."""
    known = [each.fact for each in clues if each.fact != "when"]
    fact = random.choice(known) if known else ""
    for _ in range(OTHERS_LOOKED_AT if fact else 0):
        other = imagine_order(it.order, it.now, it.store, random)
        found = other and make_clue(other, fact, random)
        if found and not find_fitting_memories([found], everything):
            return found
    return None


def imagine_order(nearest: Order, now: datetime, store: Store, random: Random) -> Memory | None:
    """An order of somebody else, placed some days beside one that is shown; None where that customer has none."""
    others = store.customers[random.randrange(len(store.customers))].orders
    if not others:
        return None
    placed = min(nearest.placed + timedelta(days=random.choice((-3, -2, -1, 1, 2, 3))), now)
    return Memory(store, random.choice(others).model_copy(update={"placed": placed}), None, now)


def draw_order_clues(
    it: Memory, memories: list[Memory], axes: Axes, random: Random, *, indirect: bool
) -> list[Clue] | None:
    """What is remembered of an order; None where it cannot be told from those that are shown."""
    if indirect:
        vague = list_vague_facts(memories)
        first, *more = random.sample(vague, len(vague))
        return draw_referring_clues(it, memories, first, more, random, count=axes.constraints, alone=False)
    return draw_referring_clues(it, memories, random.choice(EXACT), (), random, count=1, alone=True)


def list_vague_facts(shown: list[Memory]) -> tuple[str, ...]:
    return VAGUE[:-1] if len(shown) > 2 else VAGUE


def contrast_orders(it: Memory, shown: list[Memory], clues: list[Clue], axes: Axes, random: Random) -> list[Slot]:
    """By chance something of an order that is not meant."""
    if random.random() >= axes.contrast:
        return []
    return draw_contrast(it, shown, clues, list_vague_facts(shown), random, lines=False)


def list_tracking_slots(clues: list[Clue], now: datetime, asks: bool, axes: Axes, random: Random) -> list[Slot]:
    found = [slot_of_clue(each, now.date(), lines=False) for each in clues]
    if asks:
        found.append(make_slot("arrival", "wants arrival", {}, "clause"))
    return draw_disclosure(found, axes, random, always=["arrival"])


def find_nearest_order(goal: OrderTrackingGoal, right: Answer, shown: list[Memory]) -> Miss:
    """Another order that all clues but one fit, where there is one, or the right one with a wrong status."""
    found = find_near_memory(goal.clues, shown)
    if found is None:
        elsewhere = "shipped" if goal.status != "shipped" else "delivered"
        return Miss(breaks=["status"], end=End(answer=right.model_copy(update={"order_status": elsewhere})))
    other = found[0].order
    wrong = Answer(
        selected_order_id=other.id,
        order_status=status_at(other, goal.now),
        arrival_date=find_arrival_day(other) if goal.asks_arrival else "",
    )
    return Miss(breaks=[found[1]], end=End(answer=wrong))
