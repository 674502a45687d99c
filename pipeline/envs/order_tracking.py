"""One of the customer's orders is meant, and the agent says where it is; or there is no such order."""

from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from random import Random

from pipeline.envs.base import (
    INFEASIBLE,
    Drawn,
    Env,
    Goal,
    Score,
    Solution,
    Undrawable,
    World,
    ledger,
    needless_refusal,
    right_refusal,
)
from pipeline.envs.difficulty import Axes
from pipeline.envs.recall import (
    Clue,
    Memory,
    Span,
    asking,
    breaks_one,
    clue,
    common,
    fitting,
    history,
    indirect,
    meant,
    remembered,
    spoken,
    topics_of,
    wanted,
    with_topics,
    within,
)
from pipeline.shop.store import Store
from pipeline.shop.tools import Shop, status_at
from schemas.shop import Order
from schemas.tasks import Action, Answer, Call, Wish

EXACT = ("number", "date")
VAGUE = ("category", "when", "brand", "products", "total")
FALSE, BESIDE = ("category", "brand", "total"), ("when", "products")
"""Of an order that is not there: what is wrong about it, and what else is said of it."""
TRIES = 12
"""Orders that are looked at until one can be told from the others shown."""


class Tracked(Goal):
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
    Goal = Tracked

    def draw(self, world: World, axes: Axes, random: Random) -> Drawn:
        make = absent if random.random() < INFEASIBLE else present
        for _ in range(TRIES):
            found = make(world.store, axes, random)
            if found is not None:
                return found
        raise Undrawable(f"no customer has {axes.orders} orders of which one can be told from the others")

    def solve(self, goal: Tracked, shop: Shop, axes: Axes) -> Solution:
        calls = [Call(name="order_list")]
        if goal.feasible:
            calls.append(Call(name="order_get_status", args={"order_id": goal.order_id}))
        question = asking(goal.wishes)
        for first in range(0, len(calls), axes.tool_calls):
            observation = yield Action(assistant_message=question, tool_calls=calls[first : first + axes.tool_calls])
            question = ""
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

    def score(self, goal: Tracked, shop: Shop, answer: Answer | None) -> Score:
        """2 (.5 order + .5 status) - 1; the status counts with the order that it is of, and the arrival with the status."""
        if not goal.feasible:
            right = right_refusal(goal, answer)
            return Score(Fraction(1 if right else -1), right, "" if right else "there is no such order")
        if answer is None or needless_refusal(goal, answer):
            return Score(Fraction(-1), False, "no order where there is one")
        if answer.selected_order_id != goal.order_id:
            return Score(Fraction(-1), False, "another order was meant")
        right = answer.order_status.strip().lower() == goal.status
        if goal.asks_arrival:
            right = right and answer.arrival_date.strip() == goal.arrival
        return Score(
            Fraction(1 if right else 0), right, "" if right else "the order is elsewhere, or arrives on another day"
        )


def present(store: Store, axes: Axes, random: Random) -> Drawn | None:
    """A task about an order that is there; None where it cannot be told from the others."""
    customer, orders, shown = history(store, axes.orders, random)
    order = orders[random.randrange(len(orders))]
    # Each step as likely as the others: the longest by far is that of having arrived.
    now = within(random.choice(stretches(order, shown)), random)
    memories = remembered(orders, now, store, lines=False)
    it = next(each for each in memories if each.order is order)
    if random.random() < indirect(axes.difficulty):
        first, *more = random.sample(VAGUE, len(VAGUE))
        clues = meant(it, memories, first, more, random, count=axes.constraints)
    else:
        clues = meant(it, memories, random.choice(EXACT), (), random, count=1)
    if clues is None:
        return None
    # Of a single order nothing else is left to find out.
    asks = axes.orders == 1 or random.random() < 0.5
    goal = Tracked(
        persona_id=customer.id,
        now=now,
        wishes=wishes(clues, asks, axes, random),
        clues=clues,
        order_id=order.id,
        status=status_at(order, now),
        arrival=arrival(order),
        asks_arrival=asks,
    )
    right = {"selected_order_id": order.id, "order_status": goal.status} | (
        {"arrival_date": goal.arrival} if asks else {}
    )
    return Drawn(goal, said(goal), acceptable=[right], nearest_miss=near(goal, right, memories))


def stretches(order: Order, shown: Span) -> list[Span]:
    """The times between the steps of an order's way, as far as they lie in the one given."""
    steps = sorted(when for when in (order.placed, order.shipped, order.delivered, order.cancelled) if when)
    return [span for edges in pairwise([*steps, datetime.max]) if (span := common(edges, shown))]


def arrival(order: Order) -> str:
    """The day on which it arrived or is expected; empty for what was cancelled, or was lost on its way."""
    return f"{order.delivered:%Y-%m-%d}" if order.delivered else ""


def absent(store: Store, axes: Axes, random: Random) -> Drawn | None:
    """A task about an order that the customer does not have; None where the draw found no clue that none fits."""
    customer, orders, shown = history(store, axes.orders, random)
    now = within(shown, random)
    memories = remembered(orders, now, store, lines=False)
    nearest = memories[random.randrange(len(memories))]
    vague = random.random() < indirect(axes.difficulty)
    wrong = false_clue(random.choice(FALSE if vague else EXACT), nearest, store, random)
    if wrong is None or fitting([wrong], remembered(customer.orders, now, store, lines=False)):
        return None
    facts = random.sample(BESIDE, len(BESIDE))[: axes.constraints - 1] if vague else []
    true = [each for fact in facts if (each := clue(nearest, fact, random)) is not None]
    clues = [wrong, *true]
    asks = axes.orders == 1 or random.random() < 0.5
    goal = Tracked(
        persona_id=customer.id,
        now=now,
        wishes=wishes(clues, asks, axes, random, always=[wrong.name]),
        refusal="not_found",
        clues=clues,
        asks_arrival=asks,
    )
    proof = {"no order shown fits": wrong.said, "orders": [each.order.id for each in memories]}
    miss = {"selected_order_id": nearest.order.id, "order_status": status_at(nearest.order, now), "breaks": wrong.name}
    return Drawn(goal, said(goal), acceptable={"refusal": "not_found", "proof": proof}, nearest_miss=miss)


def false_clue(fact: str, nearest: Memory, store: Store, random: Random) -> Clue | None:
    """Something of another customer's order, or a day beside; whether it fits none of this customer's is not yet said."""
    if fact == "date":
        day = min(
            nearest.order.placed.date() + timedelta(days=random.choice((-3, -2, -1, 1, 2, 3))), nearest.now.date()
        )
        return spoken(fact, day.isoformat(), random, lines=False)
    others = store.customers[random.randrange(len(store.customers))].orders
    if not others:
        return None
    other = remembered([random.choice(others)], nearest.now, store, lines=False)[0]
    return clue(other, fact, random)


def wishes(clues: list[Clue], asks: bool, axes: Axes, random: Random, *, always: list[str] | None = None) -> list[Wish]:
    pairs = [(each.name, each.said) for each in clues]
    if asks:
        pairs.append(("arrival", wanted("arrival", random)))
    return with_topics(ledger(pairs, axes, random, always=["arrival", *(always or ())]), topics_of(clues))


def said(goal: Tracked) -> dict[str, object]:
    """What the opening is told."""
    stated = {wish.name: wish.said for wish in goal.wishes if wish.known == "stated"}
    return {"arrival": stated.pop("arrival", ""), "clues": list(stated.values())}


def near(goal: Tracked, right: dict[str, str], shown: list[Memory]) -> dict[str, str]:
    """Another order that all clues but one fit, where there is one, or the right one with a wrong status."""
    found = breaks_one(goal.clues, shown)
    if found is None:
        return {**right, "order_status": "shipped" if goal.status != "shipped" else "delivered", "breaks": "status"}
    other = found[0].order
    dated = {"arrival_date": arrival(other)} if goal.asks_arrival else {}
    return {
        "selected_order_id": other.id,
        "order_status": status_at(other, goal.now),
        **dated,
        "breaks": found[1],
    }
