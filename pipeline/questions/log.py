"""A trajectory's events as plain Python objects, for the second opinion on every answer."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Self

import pyarrow as pa

from shopwright.pipeline.questions.tree import Mention, Moment, Pick

# Letters and digits of any script.
WORD = re.compile(r"[^\W_]+")
DAY, WHEN = attrgetter("day"), attrgetter("timestamp")
# The day on which days are counted from, 1 January 1970.
THURSDAY = 3
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Event(NamedTuple):
    """One action; `day`, `weekday` and `hour` are of its timestamp, `lower` is its product's name in lower case."""

    row: int
    timestamp: datetime
    action: str
    asin: str | None
    product_name: str | None
    brand: str | None
    color: str | None
    product_types: str | None
    price: Decimal | None
    search_query: str | None
    day: date
    weekday: str
    hour: int
    lower: str


COLUMNS = "row_id timestamp action_type asin product_name brand color product_types price search_query".split()
# The place of the product's name after row and timestamp.
NAME = 2
PRODUCT = slice(Event._fields.index("asin"), Event._fields.index("price"))
ACTION, ASIN, BRAND, CATEGORY = (Event._fields.index(name) for name in ("action", "asin", "brand", "product_types"))


class Log:
    """The events of one trajectory in order of time, with what is looked up often."""

    def __init__(self, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self.events = sorted(map(parse_event_row, rows), key=WHEN)

    @classmethod
    def of(cls, events: pa.Table | pa.StructArray) -> Self:
        """The log of these events, made from their columns."""
        found = cls()
        found.events = sorted(convert_events(events), key=WHEN)
        return found

    def without(self, rows: Container[int]) -> "Log":
        """The same without these rows."""
        return FilteredLog(self, rows)

    @cached_property
    def by_action(self) -> dict[str, list[Event]]:
        return group_events(self.events, ACTION)

    @cached_property
    def by_asin(self) -> dict[Any, list[Event]]:
        return group_events(self.events, ASIN)

    @cached_property
    def by_brand(self) -> dict[Any, list[Event]]:
        """By brand, and by brand and action."""
        return group_events(self.events, BRAND) | group_events(self.events, BRAND, ACTION)

    @cached_property
    def by_category(self) -> dict[Any, list[Event]]:
        """By category, and by category and action."""
        return group_events(self.events, CATEGORY) | group_events(self.events, CATEGORY, ACTION)

    @cached_property
    def mention_matches(self) -> dict[Mention, dict[Any, bool]]:
        """Whether words mean a product, by what events tell of it."""
        return {}

    @cached_property
    def products(self) -> dict[str, Event]:
        """An event of each product."""
        return {each.asin: each for each in self.events if each.asin is not None}

    @cached_property
    def products_of(self) -> dict[str | None, list[Event]]:
        """The same by brand."""
        return group_events(list(self.products.values()), BRAND)

    @cached_property
    def actions_of(self) -> dict[Any, set[str]]:
        actions: dict[Any, set[str]] = {}
        for asin, found in self.by_asin.items():
            if asin is not None:
                actions[asin] = {each.action for each in found}
        return actions

    def pick(self, pick: Pick) -> list[Event]:
        """The events that a pick means, in order of time."""
        found = self.candidates(pick)
        if pick.first_day is not None:
            found = found[bisect_left(found, pick.first_day, key=DAY) :]
        if pick.last_day is not None:
            found = found[: bisect_right(found, pick.last_day, key=DAY)]
        for test in self.tests(pick):
            found = [each for each in found if test(each)]
        return found

    def candidates(self, pick: Pick) -> list[Event]:
        """Of the action, and of the brand or else the category."""
        brand = pick.brand if pick.product is None or pick.brand is not None else pick.product.brand
        for value, groups in ((brand, self.by_brand), (pick.category, self.by_category)):
            if value is not None:
                return groups.get(value if pick.action is None else (value, pick.action), [])
        return self.events if pick.action is None else self.by_action.get(pick.action, [])

    def tests(self, pick: Pick) -> Iterator[Callable[[Event], bool]]:
        """What a candidate must be, one condition after the other."""
        category, color = pick.category, pick.color
        low, high, product, hours = pick.at_least, pick.at_most, pick.product, pick.hours
        if category is not None and (pick.brand is not None or product is not None):
            yield lambda each: each.product_types == category
        if color is not None:
            yield lambda each: each.color == color
        if product is not None:
            known = self.mention_matches.setdefault(product, {})
            yield lambda each: is_known_mentioned(known, each, product)
        if pick.query is not None:
            yield lambda each: each.search_query == pick.query
        if pick.word is not None:
            yield lambda each: pick.word in split_query_words(each.search_query)
        if low is not None:
            yield lambda each: each.price is not None and each.price >= low
        if high is not None:
            yield lambda each: each.price is not None and each.price <= high
        if pick.weekday is not None:
            days = ("Saturday", "Sunday") if pick.weekday == "weekend" else (pick.weekday,)
            yield lambda each: each.weekday in days
        if hours is not None:
            yield lambda each: hours[0] <= each.hour < hours[1]
        if pick.ever is not None:
            yield lambda each: pick.ever in self.actions_of.get(each.asin, ())
        if pick.never is not None:
            yield lambda each: each.asin is not None and pick.never not in self.actions_of[each.asin]

    def moment(self, moment: Moment) -> Event | None:
        found = self.pick(moment.of)
        place = moment.n - 1 if moment.n > 0 else len(found) + moment.n
        return found[place] if 0 <= place < len(found) else None


class FilteredLog(Log):
    """A log without some of its rows, which groups again only what is asked for."""

    def __init__(self, log: Log, rows: Container[int]) -> None:
        self.log, self.rows = log, rows

    @cached_property
    def events(self) -> list[Event]:  # type: ignore[override]
        return self.remaining(self.log.events)

    def remaining(self, events: list[Event]) -> list[Event]:
        return [each for each in events if each.row not in self.rows]

    def candidates(self, pick: Pick) -> list[Event]:
        return self.remaining(self.log.candidates(pick))


def parse_event_row(row: Mapping[str, Any]) -> Event:
    when, lower = row["timestamp"], (row["product_name"] or "").lower()
    facts = (row[name] for name in COLUMNS)
    return Event._make((*facts, when.date(), WEEKDAYS[when.weekday()], when.hour, lower))


def convert_events(events: pa.Table | pa.StructArray) -> Iterator[Event]:
    """As they stand there, made column by column, which takes a third of the time of rows."""
    column = events.column if isinstance(events, pa.Table) else events.field
    values = {name: column(name) for name in COLUMNS}
    times = values.pop("timestamp").to_numpy(zero_copy_only=False).astype("datetime64[us]")
    days = times.astype("datetime64[D]")
    weekdays = [WEEKDAYS[day] for day in ((days.astype(int) + THURSDAY) % 7).tolist()]
    hours = (times - days).astype("timedelta64[h]").astype(int).tolist()
    row, *facts = (each.to_pylist() for each in values.values())
    lower = [(name or "").lower() for name in facts[NAME]]
    return map(Event, row, times.tolist(), *facts, days.tolist(), weekdays, hours, lower)


def group_events(events: list[Event], *fields: int) -> dict[Any, list[Event]]:
    found = defaultdict(list)
    key = itemgetter(*fields)
    for each in events:
        found[key(each)].append(each)
    return dict(found)


def is_mentioned(each: Event, mention: Mention) -> bool:
    """Whether the event's product is the one that the shopper's words mean."""
    wanted = (mention.brand, each.brand), (mention.category, each.product_types), (mention.color, each.color)
    if any(value is not None and value != its for value, its in wanted):
        return False
    return each.asin is not None and all(part in each.lower for part in mention.parts)


def is_known_mentioned(known: dict[Any, bool], each: Event, mention: Mention) -> bool:
    facts = each[PRODUCT]
    if facts not in known:
        known[facts] = is_mentioned(each, mention)
    return known[facts]


@lru_cache(4_096)
def split_query_words(query: str | None) -> tuple[str, ...]:
    return tuple(WORD.findall(query.lower())) if query else ()
