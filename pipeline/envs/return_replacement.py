"""One line of an order goes back, perhaps with something else in its place; or it cannot be returned."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from random import Random
from typing import Any, Literal

import numpy as np
from pydantic import Field

from pipeline.envs.base import (
    INFEASIBLE,
    Drawn,
    Env,
    Goal,
    Score,
    SellOut,
    Solution,
    Undrawable,
    World,
    ledger,
    needless_refusal,
    right_refusal,
    said_of,
)
from pipeline.envs.difficulty import Axes, sigma
from pipeline.envs.recall import (
    Clue,
    Memory,
    Span,
    asking,
    breaks_one,
    common,
    history,
    indirect,
    meant,
    remembered,
    topics_of,
    wanted,
    with_topics,
    within,
)
from pipeline.shop.policies import return_verdict
from pipeline.shop.store import Constraint, Customer, Item, Shelf, Store
from pipeline.shop.tools import Shop
from schemas.shop import Line, Order
from schemas.tasks import Action, Answer, Call, Wish

SELECTED, RETURNED, REPLACED = Fraction(9, 20), Fraction(9, 20), Fraction(1, 10)
"""Weights of the right line, the right return and the right replacement (EcomRLVE-GYM, return + replacement)."""
TRIES = 40
"""Lines that are looked at until one is as the task wants it."""
ALONE = 0.1
"""Chance to take a line where no other is shown: whoever returns the first there is would be right."""
MORE = ("when", "brand", "price", "pieces", "products", "beside")
"""What is remembered of a line beside its title or category."""
DAY = timedelta(days=1)
LATE = 8
"""So many days after the last one a return is late beyond doubt."""
WANTS = ("nothing", "nothing", "product", "variant")
"""Half of the tasks want something in its place."""


class Returned(Goal):
    """Which line is meant, by which clues, and what is wanted in its place."""

    clues: list[Clue]
    order_id: str
    line_id: str
    product_id: str
    wants: Literal["nothing", "product", "variant"]
    category: str = ""
    constraints: list[Constraint] = Field(default_factory=list)
    """Of another product from this category."""
    replacement: str = ""
    """One product that is right, or the only variant."""
    query: str = ""
    """A search that finds the product."""


@dataclass(frozen=True)
class Instead:
    """What is wanted in place of a line."""

    wants: Literal["nothing", "product", "variant"]
    pairs: list[tuple[str, str]]
    """Wishes about it: name, and as it is said."""
    topics: dict[str, list[str]]
    goal: dict[str, Any]
    """Its fields of the goal."""
    right: dict[str, Any]
    """The part of the end state that it decides: `instead` of an exchange, `recommended` products."""
    miss: dict[str, Any] | None
    """The same so that it breaks exactly one constraint, and which."""
    spare: str = ""
    """A right product beside the one of the goal: what may sell out on the way."""


class ReturnReplacement(Env):
    """The agent finds the line that is meant, starts its return if the policies allow it, and finds the replacement."""

    name = "return_replacement"
    Goal = Returned

    def draw(self, world: World, axes: Axes, random: Random) -> Drawn:
        refuses = random.random() < INFEASIBLE
        tricky = random.random() < 0.7 * sigma((axes.difficulty - 4) / 1.5)
        wants = random.choice(WANTS)
        for _ in range(TRIES):
            found = attempt(world.store, axes, random, refuses=refuses, tricky=tricky, wants=wants)
            if found is not None:
                return found
        raise Undrawable(
            f"no customer has {axes.orders} orders with a line that can{'not' if refuses else ''} be returned"
            f"{' on the edge of the rules' if tricky else ''} and is told from the others"
        )

    def solve(self, goal: Returned, shop: Shop, axes: Axes) -> Solution:
        line = {"order_id": goal.order_id, "line_id": goal.line_id}
        calls = [Call(name="order_list")]
        if not goal.feasible:
            calls.append(Call(name="return_check_eligibility", args=dict(line)))
        if goal.feasible and goal.wants == "product":
            calls.append(Call(name="catalog_search", args={"query": goal.query, "category": goal.category}))
        if goal.feasible and goal.wants == "variant":
            calls.append(Call(name="catalog_get_variants", args={"product_id": goal.product_id}))
        question = asking(goal.wishes)
        for first in range(0, len(calls), axes.tool_calls):
            yield Action(assistant_message=question, tool_calls=calls[first : first + axes.tool_calls])
            question = ""
        if not goal.feasible:
            yield Action(answer=Answer(env=self.name, refusal=goal.refusal))
            return
        if goal.wants == "product" and goal.replacement not in shop.seen:
            yield Action(tool_calls=[Call(name="catalog_get_product", args={"product_id": goal.replacement})])
        back = Call(name="return_initiate", args=dict(line))
        if goal.wants == "variant":
            back = Call(name="return_exchange", args={**line, "variant_id": goal.replacement})
        answer = Answer(env=self.name, selected_order_id=goal.order_id, selected_line_id=goal.line_id)
        if goal.wants == "product":
            answer = answer.model_copy(update={"recommended_product_ids": [goal.replacement]})
        yield Action(tool_calls=[back], answer=answer)

    def score(self, goal: Returned, shop: Shop, answer: Answer | None) -> Score:
        """.45 selection + .45 return + .10 replacement, each from -1 to 1."""
        if not goal.feasible:
            right = right_refusal(goal, answer) and not shop.returns
            return Score(Fraction(1 if right else -1), right, "" if right else "this line cannot be returned")
        if answer is None or needless_refusal(goal, answer):
            return Score(Fraction(-1), False, "no return where one is possible")
        parts = {
            "another line was meant": (
                SELECTED,
                sign((answer.selected_order_id, answer.selected_line_id) == (goal.order_id, goal.line_id)),
            ),
            "the return that was wanted is not the only one started": (RETURNED, sign(only_return(goal, shop))),
            "the replacement is not what was wanted": (REPLACED, replaced(goal, shop, answer)),
        }
        faults = [fault for fault, (_, part) in parts.items() if part < 1]
        return Score(
            sum((weight * part for weight, part in parts.values()), Fraction(0)), not faults, "; ".join(faults)
        )


def sign(right: bool) -> Fraction:
    return Fraction(1 if right else -1)


def only_return(goal: Returned, shop: Shop) -> bool:
    """Whether what was asked to go back goes back, and nothing else; an exchange that nobody asked for is none."""
    if [(each["order_id"], each["line_id"]) for each in shop.returns] != [(goal.order_id, goal.line_id)]:
        return False
    return goal.wants != "nothing" or not shop.returns[0]["instead"]


def replaced(goal: Returned, shop: Shop, answer: Answer) -> Fraction:
    """Of other products the share that meets all constraints and is in stock at the end, from -1 to 1; of the rest all or nothing."""
    exchanged = [each["instead"] for each in shop.returns if each["instead"]]
    named = set(answer.recommended_product_ids)
    if goal.wants == "nothing":
        return sign(not named and not exchanged)
    if goal.wants == "variant":
        return sign(exchanged == [goal.replacement] and named <= {goal.product_id})
    named |= {option.product_id for each in exchanged if (option := shop.store.option_of(each)) is not None}
    right = sum(is_right(goal, shop, product) for product in named)
    return 2 * Fraction(right, len(named)) - 1 if named else Fraction(-1)


def is_right(goal: Returned, shop: Shop, product_id: str) -> bool:
    row = shop.store.row(product_id)
    if row is None or product_id == goal.product_id or not shop.is_in_stock(row):
        return False
    item = shop.store.item(row)
    return item.category == goal.category and all(item.meets(each) for each in goal.constraints)


def attempt(store: Store, axes: Axes, random: Random, *, refuses: bool, tricky: bool, wants: str) -> Drawn | None:
    """A task about one line; None where that line is not as the task wants it."""
    customer, orders, shown = history(store, axes.orders, random)
    order = orders[random.randrange(len(orders))]
    line = order.lines[random.randrange(len(order.lines))]
    row = store.row(line.product_id)
    if row is None:
        return None
    item = store.item(row)
    spans = [span for each in times(order, line, item, customer, refuses, tricky) if (span := common(each, shown))]
    if not spans:
        return None
    now = within(random.choice(spans), random)
    verdict = return_verdict(order, line, item, customer, now)
    if verdict["eligible"] == refuses:
        return None
    memories = remembered(orders, now, store, lines=True)
    if len(memories) == 1 and random.random() >= ALONE:
        return None
    it = next(each for each in memories if each.line is line)
    first = "category" if random.random() < indirect(axes.difficulty) else "title"
    clues = meant(it, memories, first, MORE, random, count=2)
    instead = replacement(store, item, line, wants, axes, random) if clues else None
    if clues is None or instead is None:
        return None
    event = sold_out(store, instead.spare, axes, random)
    goal = Returned(
        persona_id=customer.id,
        now=now,
        wishes=wishes(clues, instead, axes, random),
        refusal="not_eligible" if refuses else "",
        event=event,
        clues=clues,
        order_id=order.id,
        line_id=line.line_id,
        product_id=line.product_id,
        wants=instead.wants,
        **instead.goal,
    )
    end = end_state(order.id, line.line_id, **instead.right)
    if event is not None:
        end["sells out"] = {"product_id": instead.spare, "after": event.after}
    proof = {"now": now, "order_id": order.id, "line_id": line.line_id, **verdict}
    return Drawn(
        goal,
        said(goal, instead),
        acceptable={"refusal": "not_eligible", "returns": [], "proof": proof} if refuses else end,
        nearest_miss={**end, "breaks": "eligibility"} if refuses else near(order, line, clues, memories, instead),
    )


def end_state(order_id: str, line_id: str, instead: str = "", recommended: Any = ()) -> dict[str, Any]:
    """What was handed in, and what was returned."""
    return {
        "selected_order_id": order_id,
        "selected_line_id": line_id,
        "returns": [{"order_id": order_id, "line_id": line_id, "instead": instead}],
        "recommended_product_ids": recommended,
    }


def times(order: Order, line: Line, item: Item, customer: Customer, refuses: bool, tricky: bool) -> Iterator[Span]:
    """When a line can, or cannot, be returned: on the edge of the rules, or clearly.

    On the edge are the last day and the one before, the two days after it, and what is never taken back.
    """
    came = order.delivered
    if order.cancelled or not came:
        if refuses and not tricky:
            yield order.placed, order.placed + 30 * DAY
        return
    until = return_verdict(order, line, item, customer, came)["until"]
    if not until:
        if refuses and tricky:
            yield came, came + 14 * DAY
        return
    last = datetime.combine(date.fromisoformat(until), time())
    if refuses and tricky:
        yield last + DAY, last + 3 * DAY
    elif refuses:
        yield order.placed, came
        yield last + LATE * DAY, last + 40 * DAY
    elif tricky:
        yield max(came, last - DAY), last + DAY
    else:
        yield came, last - DAY


def replacement(store: Store, item: Item, line: Line, wants: str, axes: Axes, random: Random) -> Instead | None:
    """What is wanted in place of a product; None where the shop has nothing of the kind."""
    if wants == "product":
        return other_product(store, item, axes, random)
    if wants == "variant":
        return other_variant(store, item, line, random)
    pairs = [("replacement", wanted("nothing", random))]
    return Instead("nothing", pairs, {}, {}, {}, {"recommended": [item.id], "breaks": "replacement"})


def other_variant(store: Store, item: Item, line: Line, random: Random) -> Instead | None:
    """Another variant of the same product that is in stock and is told from all others by its options."""
    options = store.options(item.row)
    said = [option.said for option in options]
    fine = [
        option for option in options if option.stock and option.id != line.variant_id and said.count(option.said) == 1
    ]
    if not fine or not said[0]:
        return None
    it = random.choice(fine)
    miss = next((each for each in options if each.id not in (it.id, line.variant_id) and each.stock), None)
    return Instead(
        "variant",
        [("replacement", wanted("variant", random)), ("variant", it.said)],
        {"variant": [choice.name for choice in it.choices]},
        {"replacement": it.id},
        {"instead": it.id},
        {"instead": miss.id, "breaks": "variant"} if miss else None,
    )


def other_product(store: Store, item: Item, axes: Axes, random: Random) -> Instead | None:
    """Another product of the same category that meets one constraint less than the level has; the line is the one more."""
    shelf = store.shelf(int(store.leaf_of[item.row]))
    stocked = store.in_stock[shelf.rows] & (shelf.rows != item.row)
    places = np.flatnonzero(stocked)
    if not len(places):
        return None
    model = store.item(int(shelf.rows[places[random.randrange(len(places))]]))
    constraints = drawn_from(model, shelf, axes, random)
    masks = [shelf.meets(each) for each in constraints]
    met = np.sum(masks, axis=0)
    right = shelf.rows[stocked & (met == len(masks))]
    others = right[right != model.row]
    spare = store.ids[int(others[random.randrange(len(others))])].as_py() if len(others) else ""
    wrong = np.flatnonzero(stocked & (met == len(masks) - 1))
    miss = None
    if len(wrong):
        place = int(wrong[random.randrange(len(wrong))])
        broken = next(each for each, mask in zip(constraints, masks, strict=True) if not mask[place])
        miss = {"recommended": [store.ids[int(shelf.rows[place])].as_py()], "breaks": named(broken)}
    return Instead(
        "product",
        [
            ("replacement", wanted("product", random, item.category)),
            *((named(each), said_of(each)) for each in constraints),
        ],
        {},
        {"category": item.category, "constraints": constraints, "replacement": model.id, "query": model.title},
        {"recommended": {"any of": store.ids.take(right).to_pylist()}},
        miss,
        spare,
    )


def named(constraint: Constraint) -> str:
    """
    >>> named(Constraint(fact="price", op="at most", value="$40", number=4000))
    'price of replacement'
    """
    return f"{constraint.fact} of replacement"


def drawn_from(model: Item, shelf: Shelf, axes: Axes, random: Random) -> list[Constraint]:
    """What a product meets: as much as the level asks for beside the line, or as the product has; no fact is its alone."""
    dear = model.cents + int(model.cents * axes.slack * random.random())
    found = [Constraint(fact="price", op="at most", value=f"${dear / 100:.2f}", number=dear)]
    if model.rating is not None:
        least = max(1.0, int(10 * model.rating * (1 - axes.slack * random.random() / 2)) / 10)
        found.append(Constraint(fact="rating", op="at least", value=f"{least:.1f}", number=least))
    if model.shipping_days is not None:
        most = model.shipping_days + int(model.shipping_days * axes.slack * random.random())
        found.append(Constraint(fact="shipping days", op="at most", value=str(most), number=most))
    same = [
        Constraint(fact=fact, op="is", value=value)
        for fact, value in model.facts.items()
        if isinstance(value, str) and fact != "category"
    ]
    # A model number would name the product.
    found += [each for each in same if np.count_nonzero(shelf.meets(each)) > 1]
    return random.sample(found, min(len(found), max(1, axes.constraints - 1)))


def sold_out(store: Store, spare: str, axes: Axes, random: Random) -> SellOut | None:
    """Another right product that sells out while the agent is at work."""
    row = store.row(spare) if spare else None
    if row is None or random.random() >= axes.sells_out:
        return None
    return SellOut(after=random.randint(1, 2), variants=[each.id for each in store.options(row) if each.stock])


def wishes(clues: list[Clue], instead: Instead, axes: Axes, random: Random) -> list[Wish]:
    """The ledger; what the line is and that something is wanted in its place is stated always."""
    pairs = [(each.name, each.said) for each in clues] + instead.pairs
    always = [clues[0].name, *(["replacement"] if instead.wants != "nothing" else [])]
    return with_topics(ledger(pairs, axes, random, always=always), topics_of(clues) | instead.topics)


def said(goal: Returned, instead: Instead) -> dict[str, Any]:
    """What the opening is told."""
    stated = {wish.name: wish.said for wish in goal.wishes if wish.known == "stated"}
    names = [each.name for each in goal.clues]
    return {
        "clues": [stated[name] for name in names if name in stated],
        "instead": stated.get("replacement", ""),
        "needs": [stated[name] for name, _ in instead.pairs[1:] if name in stated],
    }


def near(order: Order, line: Line, clues: list[Clue], shown: list[Memory], instead: Instead) -> dict[str, Any]:
    """Another line that all clues but one fit; else a replacement that misses one constraint; else no return."""
    found = breaks_one(clues, shown)
    if found is not None and found[0].line is not None:
        return {**end_state(found[0].order.id, found[0].line.line_id, **instead.right), "breaks": found[1]}
    if instead.miss is not None:
        miss = dict(instead.miss)
        breaks = miss.pop("breaks")
        return {**end_state(order.id, line.line_id, **miss), "breaks": breaks}
    return {**end_state(order.id, line.line_id, **instead.right), "returns": [], "breaks": "return"}
