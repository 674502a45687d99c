"""How a customer means an order, or a line of one: by what is remembered of it, so that exactly one of those shown fits.

A clue holds strictly of what is meant, and of nothing else even when it is read loosely: `about 3 weeks ago` may be two or four.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from shopwright.pipeline.envs.base import CannotDraw
from shopwright.pipeline.envs.difficulty import compute_sigmoid
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
    said: str
    fact: str
    """What it is about: `category`, `when`, `total`."""
    value: str = ""
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

    @property
    def days(self) -> int:
        """Since it was ordered."""
        return (self.now.date() - self.order.placed.date()).days

    def values(self, fact: str) -> set[str]:
        """What holds of it; empty where there is nothing to say of this fact."""
        return FACTS[fact](self) - {""}

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
    """Chance that something is meant without its number, date or title (EcomRLVE-GYM, order tracking)."""
    return compute_sigmoid((difficulty - 2) / 1.5)


def list_memories(orders: Iterable[Order], now: datetime, store: Store, *, lines: bool) -> list[Memory]:
    """All orders, or all their lines, in the order in which they are shown."""
    found = []
    for order in orders:
        found += [Memory(store, order, line, now) for line in (order.lines if lines else [None])]
    return found


@cache
def load_clue_phrases() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


def phrase_side_slot(what: str, random: Random, value: str = "") -> str:
    """What the customer wants beside, in words."""
    ways: list[str] = load_clue_phrases()["wanted"][what]
    return random.choice(ways).format(value=value)


def make_clue(memory: Memory, fact: str, random: Random) -> Clue | None:
    """What may be said of it; None where there is nothing to say of this fact."""
    if fact == "when":
        said, days, loosely = random.choice(list_time_phrases(memory.order.placed.date(), memory.now.date()))
        return phrase_clue(fact, said, random, lines=memory.line is not None, days=days, loosely=loosely)
    values = sorted(memory.values(fact))
    return phrase_clue(fact, random.choice(values), random, lines=memory.line is not None) if values else None


def phrase_clue(fact: str, value: str, random: Random, *, lines: bool, **when: tuple[int, int]) -> Clue:
    """A clue in words, of an order or of a line."""
    about = load_clue_phrases()["facts"][fact]
    said = random.choice(about["line" if lines else "order"]).format(value=value)
    return Clue(name=about["slot"], said=said, fact=fact, value=value, **when)


def list_time_phrases(placed: date, today: date) -> list[tuple[str, tuple[int, int], tuple[int, int]]]:
    """Ways to say on which day it was, each with the days that it means strictly and loosely.

    >>> [said for said, _, _ in list_time_phrases(date(2024, 5, 13), date(2024, 6, 3))]
    ['21 days ago', 'about 3 weeks ago', 'last month']
    """
    say, days = load_clue_phrases()["when"], (today - placed).days
    if days < 2:
        return [(say["yesterday" if days else "today"], (days, days), (days, days))]
    found = [(say["days"].format(number=days), (days, days), (days - 1, days + 1))]
    week, weeks = today.weekday(), round(days / 7)
    if week < days <= week + 7:
        found.append((say["week"], (week + 1, week + 7), (1, week + 7)))
    if weeks > 1 and abs(days - 7 * weeks) <= 1:
        found.append(
            (say["weeks"].format(number=weeks), (7 * weeks - 1, 7 * weeks + 1), (7 * weeks - 7, 7 * weeks + 7))
        )
    if 12 * (today.year - placed.year) + today.month - placed.month == 1:
        last = today.day
        first = last - 1 + (today.replace(day=1) - timedelta(days=1)).day
        found.append((say["month"], (last, first), (min(last, 14), max(first, 45))))
    return found


def draw_referring_clues(
    it: Memory, shown: Sequence[Memory], first: str, more: Sequence[str], random: Random, *, count: int
) -> list[Clue] | None:
    """Clues that together fit nothing else that is shown: first the `first`, then of `more` those that tell more apart.

    So many at least where there is so much to remember; None where no clues tell it apart.
    """
    opening = make_clue(it, first, random)
    if opening is None:
        return None
    found, spare = [opening], list[Clue]()
    left = [each for each in shown if each is not it and each.fits(opening, loosely=True)]
    for fact in random.sample(more, len(more)):
        each = make_clue(it, fact, random)
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


def add_topics(slots: Iterable[Slot], topics: Mapping[str, Sequence[str]]) -> list[Slot]:
    """The disclosure with the words of a question about each slot."""
    return [slot.model_copy(update={"topics": list(topics.get(slot.name, ()))}) for slot in slots]


def list_clue_topics(clues: Iterable[Clue]) -> dict[str, list[str]]:
    return {clue.name: load_clue_phrases()["facts"][clue.fact]["topics"] for clue in clues}


def draw_order_history(store: Store, count: int, random: Random) -> tuple[Customer, list[Order], Span]:
    """A customer, so many orders in a row, the newest first, and the time in which they are the latest.

    Raises CannotDraw where no customer that was looked at has so many.
    """
    customers = store.customers
    for _ in range(LOOKED_AT if customers else 0):
        customer = customers[random.randrange(len(customers))]
        if len(customer.orders) < count:
            continue
        last = len(customer.orders) - 1
        if random.random() < 0.5:  # the other half after the last order, where a return window has time to end
            last = random.randrange(count - 1, len(customer.orders))
        begin = customer.orders[last].placed
        after = last + 1 < len(customer.orders)
        end = customer.orders[last + 1].placed if after else begin + AFTER_THE_LAST
        if customer.now:
            begin, end = max(begin, customer.now), min(end, customer.now + timedelta(seconds=1))
        if begin < end:
            return customer, list(reversed(customer.orders[last + 1 - count : last + 1])), (begin, end)
    raise CannotDraw(f"no customer has {count} order{'s' if count > 1 else ''}")


def intersect_spans(*spans: Span) -> Span | None:
    """The time that lies in all of them."""
    begin, end = max(span[0] for span in spans), min(span[1] for span in spans)
    return (begin, end) if begin < end else None


def draw_moment(span: Span, random: Random) -> datetime:
    """A whole second of it, or its beginning."""
    return span[0] + timedelta(seconds=random.randrange(max(1, int((span[1] - span[0]).total_seconds()))))


def ask_about_missing_slots(slots: Iterable[Slot]) -> str:
    """What an agent asks that has noticed what was left out; empty where nothing was."""
    return " ".join(f"What about the {slot.name}?" for slot in slots if slot.known == "asked")
