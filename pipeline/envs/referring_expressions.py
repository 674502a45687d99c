"""How a customer means an order, or a line of one: by what is remembered of it, so that exactly one of those shown fits.

A clue holds strictly of what is meant, and of nothing else even when it is read loosely: `about 3 weeks ago` may be two or four.
"""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from shopwright.pipeline.envs.base import CannotDraw
from shopwright.pipeline.envs.difficulty import Axes, compute_sigmoid
from shopwright.pipeline.envs.wording import make_slot
from shopwright.pipeline.shop.store import Customer, Store
from shopwright.schemas.record import Part
from shopwright.schemas.shop import Line, Order
from shopwright.schemas.tasks import Slot

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "recall.toml"
# Customers of whom one may have enough orders.
LOOKED_AT = 60
# How long after a customer's last order there are still tasks.
AFTER_THE_LAST = timedelta(days=90)
# From a time on, and before another.
Span = tuple[datetime, datetime]


class Clue(Part):
    """Something that the customer remembers."""

    name: str
    """Of the slot that says it."""
    fact: str
    """What it is about: `category`, `when`, `total`."""
    value: str
    """As the shop has it; of `when` a span of time: `days 21`, `week`."""
    days: tuple[int, int] = (0, 0)
    """Of `when`: so many days ago, from the fewest to the most."""
    loosely: tuple[int, int] = (0, 0)
    """The same as generously as one may take it."""


@dataclass(frozen=True)
class Memory:
    """An order that is shown, or a line of one, as the customer remembers it at this time."""

    store: Store
    order: Order
    line: Line | None
    now: datetime

    @property
    def lines(self) -> list[Line]:
        """What it is about."""
        return self.order.lines if self.line is None else [self.line]

    @cached_property
    def days(self) -> int:
        """Since it was ordered."""
        return (self.now.date() - self.order.placed.date()).days

    @cached_property
    def values_so_far(self) -> dict[str, frozenset[str]]:
        """What holds of it, of each fact that was asked for so far."""
        return {}

    def values(self, fact: str) -> frozenset[str]:
        """What holds of it; empty where there is nothing to say of this fact."""
        found = self.values_so_far.get(fact)
        if found is None:
            found = self.values_so_far[fact] = frozenset(FACTS[fact](self) - {""})
        return found

    def fits(self, clue: Clue, *, loosely: bool = False) -> bool:
        if clue.fact == "when":
            least, most = clue.loosely if loosely else clue.days
            return least <= self.days <= most
        return clue.value in self.values(clue.fact)


def get_line_category(line: Line, store: Store) -> str:
    """The leaf category of a line; empty where the shop has the product no more."""
    row = store.row(line.product_id)
    return "" if row is None else store.leaves[int(store.leaf_of[row])]


def get_line_brand(line: Line, store: Store) -> str:
    row = store.row(line.product_id)
    return "" if row is None else store.brands[row].as_py() or ""


def list_other_categories(it: Memory) -> set[str]:
    """The categories of the other lines of its order, but for its own."""
    others = {get_line_category(line, it.store) for line in it.order.lines if line is not it.line}
    return others - {get_line_category(line, it.store) for line in it.lines} if it.line is not None else set()


# What can be remembered, beside how long ago it was.
FACTS: dict[str, Callable[[Memory], set[str]]] = {
    "number": lambda it: {it.order.id},
    "date": lambda it: {f"{it.order.placed:%Y-%m-%d}"},
    "title": lambda it: {line.title for line in it.lines},
    "category": lambda it: {get_line_category(line, it.store) for line in it.lines},
    "brand": lambda it: {get_line_brand(line, it.store) for line in it.lines},
    "price": lambda it: {f"{line.price:.2f}" for line in it.lines},
    "pieces": lambda it: {str(line.quantity) for line in it.lines if line.quantity > 1},
    "products": lambda it: {str(count)} if (count := len({line.product_id for line in it.order.lines})) > 1 else set(),
    "total": lambda it: {f"{it.order.total:.2f}"},
    "beside": list_other_categories,
}


def compute_indirect_chance(difficulty: int) -> float:
    """Chance that something is meant without its number, date or title.

    As published (EcomRLVE-GYM, order tracking) a half at level 2, but three times as steep: a number or a title is found without reading.

    >>> [round(compute_indirect_chance(level), 2) for level in (0, 2, 3, 6)]
    [0.02, 0.5, 0.88, 1.0]
    """
    return compute_sigmoid((difficulty - 2) / 0.5)


def list_memories(orders: Iterable[Order], now: datetime, store: Store, *, lines: bool) -> list[Memory]:
    """All orders, or all their lines, in the order in which they are shown."""
    found = []
    for order in orders:
        found += [Memory(store, order, line, now) for line in (order.lines if lines else [None])]
    return found


@cache
def load_clue_facts() -> dict[str, dict[str, Any]]:
    """What customers remember: the name of its slot, and words of a question about it."""
    found: dict[str, dict[str, Any]] = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))["facts"]
    return found


def make_clue(memory: Memory, fact: str, random: Random) -> Clue | None:
    """What may be said of it; None where there is nothing to say of this fact."""
    if fact == "when":
        span = random.choice(list_time_spans(memory.order.placed.date(), memory.now.date()))
        value = f"{span.kind} {span.number}".strip()
        return name_clue(fact, value, days=span.days, loosely=span.loosely)
    values = sorted(memory.values(fact))
    return name_clue(fact, random.choice(values)) if values else None


def name_clue(fact: str, value: str, **when: tuple[int, int]) -> Clue:
    return Clue(name=load_clue_facts()[fact]["slot"], fact=fact, value=value, **when)


def slot_of_clue(clue: Clue, today: date, *, lines: bool) -> Slot:
    """A clue as a slot: of an order, or of a line of one."""
    about, fact, value = "line" if lines else "order", clue.fact, clue.value
    facts = {"value": value}
    if fact == "when":
        span, _, number = value.partition(" ")
        facts = {"span": span, "number": number}
    elif fact == "date":
        facts = {"day": value, "asked": today.isoformat()}
    elif fact in ("category", "beside"):
        facts = {"category": value}
    elif fact in ("price", "total"):
        facts = {"price": f"${value}"}
    form = "thing" if lines and fact in ("title", "category") else "clause"
    slot = make_slot(clue.name, f"{about} {fact}", facts, form, "" if fact == "when" else value)
    return slot.model_copy(update={"topics": load_clue_facts()[fact]["topics"]})


class TimeSpan(NamedTuple):
    """A way to say on which day it was: with the days that it means strictly and loosely."""

    kind: str
    """`today`, `yesterday`, `days`, `week`, `weeks` or `month`: how the phrase bank calls it."""
    number: str
    days: tuple[int, int]
    loosely: tuple[int, int]


def list_time_spans(placed: date, today: date) -> list[TimeSpan]:
    """
    >>> [(span.kind, span.number) for span in list_time_spans(date(2024, 5, 13), date(2024, 6, 3))]
    [('days', '21'), ('weeks', '3'), ('month', '')]
    """
    days = (today - placed).days
    if days < 2:
        return [TimeSpan("yesterday" if days else "today", "", (days, days), (days, days))]
    found = [TimeSpan("days", f"{days}", (days, days), (days - 1, days + 1))]
    week, weeks = today.weekday(), round(days / 7)
    if week < days <= week + 7:
        found.append(TimeSpan("week", "", (week + 1, week + 7), (1, week + 7)))
    if weeks > 1 and abs(days - 7 * weeks) <= 1:
        found.append(TimeSpan("weeks", f"{weeks}", (7 * weeks - 1, 7 * weeks + 1), (7 * weeks - 7, 7 * weeks + 7)))
    if 12 * (today.year - placed.year) + today.month - placed.month == 1:
        last = today.day
        first = last - 1 + (today.replace(day=1) - timedelta(days=1)).day
        found.append(TimeSpan("month", "", (last, first), (min(last, 14), max(first, 45))))
    return found


def draw_referring_clues(
    it: Memory, shown: Sequence[Memory], first: str, more: Sequence[str], random: Random, *, count: int, alone: bool
) -> list[Clue] | None:
    """Clues that together fit nothing else that is shown: first the `first`, then of `more` those that tell more apart.

    So many at least where there is so much to remember; None where no clues tell it apart. alone: one may tell it by itself, as a total
    does; else two have to be understood, where there is something else to take for it.
    """

    def make(fact: str) -> Clue | None:
        clue = make_clue(it, fact, random)
        if clue is None or alone or len(shown) < 3:
            return clue
        return clue if len(find_fitting_memories([clue], shown, loosely=True)) > 1 else None

    opening = make(first)
    if opening is None:
        return None
    found, spare = [opening], list[Clue]()
    left = [each for each in shown if each is not it and each.fits(opening, loosely=True)]
    for fact in random.sample(more, len(more)):
        each = make(fact)
        if each is None:
            continue
        still = [other for other in left if other.fits(each, loosely=True)]
        (found if len(still) < len(left) else spare).append(each)
        left = still
    return None if left else found + spare[: max(0, count - len(found))]


def find_fitting_memories(clues: Sequence[Clue], shown: Iterable[Memory], *, loosely: bool = False) -> list[Memory]:
    """What all clues fit."""
    found = list(shown)
    for clue in clues:
        found = [each for each in found if each.fits(clue, loosely=loosely)]
    return found


def find_near_memory(clues: Sequence[Clue], shown: Iterable[Memory]) -> tuple[Memory, str] | None:
    """The first that all clues but one fit, and the slot that this one says."""
    for each in shown:
        wrong = [clue.name for clue in clues if not each.fits(clue)]
        if len(wrong) == 1:
            return each, wrong[0]
    return None


def draw_contrast(
    it: Memory, shown: Sequence[Memory], clues: Sequence[Clue], facts: Sequence[str], random: Random, *, lines: bool
) -> list[Slot]:
    """What is said of what is shown and most easily taken for it, and does not hold of it; empty where nothing is left."""
    others = [each for each in shown if each is not it]
    # In the one most easily taken for it, who counts what fits finds the most: what is said of both, and of it alone.
    best, most = list[Clue](), 0
    for other in random.sample(others, len(others)):
        told = list_unlike_clues(it, other, clues, facts, random)
        count = sum(map(other.fits, clues)) + len(told)
        if told and count > most:
            best, most = told, count
    return [slot_of_clue(each, it.now.date(), lines=lines) for each in best]


def list_unlike_clues(
    it: Memory, other: Memory, clues: Sequence[Clue], facts: Sequence[str], random: Random
) -> list[Clue]:
    """Of the same facts where that can be, and of these others, and one more than there are clues; none holds of what is meant."""
    own = [each.fact for each in clues]
    rest = [fact for fact in random.sample(facts, len(facts)) if fact not in own]
    made = [make_clue(other, fact, random) for fact in (*own, *rest)]
    found = [each for each in made if each and not it.fits(each, loosely=True) and each not in clues]
    return found[: len(clues) + 1]


def draw_order_history(store: Store, axes: Axes, random: Random) -> tuple[Customer, list[Order], Span]:
    """A customer, its orders that are shown, the newest first, and the time in which they are the latest.

    Raises CannotDraw where no customer that was looked at has as many as the level asks for.
    """
    count = axes.orders
    customers = store.customers
    for _ in range(LOOKED_AT if customers else 0):
        customer = customers[random.randrange(len(customers))]
        if len(customer.orders) < count:
            continue
        last = len(customer.orders) - 1
        first = min(axes.orders_shown, len(customer.orders)) - 1
        if random.random() < 0.5:  # the other half after the last order, where a return window has time to end
            last = random.randrange(first, len(customer.orders))
        begin = customer.orders[last].placed
        after = last + 1 < len(customer.orders)
        end = customer.orders[last + 1].placed if after else begin + AFTER_THE_LAST
        if customer.now:
            begin, end = max(begin, customer.now), min(end, customer.now + timedelta(seconds=1))
        if begin < end:
            return (
                customer,
                list(reversed(customer.orders[max(0, last + 1 - axes.orders_shown) : last + 1])),
                (begin, end),
            )
    raise CannotDraw(f"no customer has {count} order{'s' if count > 1 else ''}")


def intersect_spans(*spans: Span) -> Span | None:
    """The time that lies in all of them."""
    begin, end = max(span[0] for span in spans), min(span[1] for span in spans)
    return (begin, end) if begin < end else None


def draw_moment(span: Span, random: Random) -> datetime:
    """A whole second of it, or its beginning."""
    return span[0] + timedelta(seconds=random.randrange(max(1, int((span[1] - span[0]).total_seconds()))))
