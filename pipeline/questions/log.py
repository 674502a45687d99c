"""A trajectory's events as plain Python objects, for the second opinion on every answer."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from pipeline.questions.tree import Mention, Moment, Pick

WORD = re.compile(r"[^\W_]+")
DAY = attrgetter("day")
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


class Log:
    """The events of one trajectory in order of time, with what is looked up often."""

    def __init__(self, rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self.events = sorted(map(event, rows), key=lambda each: each.timestamp)

    def without(self, rows: Container[int]) -> "Log":
        found = Log()
        found.events = [each for each in self.events if each.row not in rows]
        return found

    @cached_property
    def by_action(self) -> dict[str, list[Event]]:
        return grouped(self.events, 2)

    @cached_property
    def by_brand(self) -> dict[Any, list[Event]]:
        return grouped(self.events, 5)

    @cached_property
    def by_category(self) -> dict[Any, list[Event]]:
        return grouped(self.events, 7)

    @cached_property
    def by_asin(self) -> dict[Any, list[Event]]:
        return grouped(self.events, 3)

    @cached_property
    def actions_of(self) -> dict[Any, set[str]]:
        return {asin: {each.action for each in found} for asin, found in self.by_asin.items() if asin is not None}

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
        if pick.brand is not None:
            return self.by_brand.get(pick.brand, [])
        if pick.product is not None and pick.product.brand is not None:
            return self.by_brand.get(pick.product.brand, [])
        if pick.category is not None:
            return self.by_category.get(pick.category, [])
        if pick.action is not None:
            return self.by_action.get(pick.action, [])
        return self.events

    def tests(self, pick: Pick) -> Iterator[Callable[[Event], bool]]:
        """What an event must be, one condition after the other."""
        action, brand, category, color = pick.action, pick.brand, pick.category, pick.color
        low, high, product, hours = pick.at_least, pick.at_most, pick.product, pick.hours
        if action is not None:
            yield lambda each: each.action == action
        if brand is not None:
            yield lambda each: each.brand == brand
        if category is not None:
            yield lambda each: each.product_types == category
        if color is not None:
            yield lambda each: each.color == color
        if product is not None:
            yield lambda each: names(each, product)
        if pick.query is not None:
            yield lambda each: each.search_query == pick.query
        if pick.word is not None:
            yield lambda each: pick.word in words_of(each.search_query)
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


def event(row: Mapping[str, Any]) -> Event:
    when = row["timestamp"]
    day, weekday = when.date(), WEEKDAYS[when.weekday()]
    facts = (row["asin"], row["product_name"], row["brand"], row["color"], row["product_types"], row["price"])
    lower = (row["product_name"] or "").lower()
    return Event(row["row_id"], when, row["action_type"], *facts, row["search_query"], day, weekday, when.hour, lower)


def grouped(events: list[Event], field: int) -> dict[Any, list[Event]]:
    found = defaultdict(list)
    for each in events:
        found[each[field]].append(each)
    return dict(found)


def names(each: Event, mention: Mention) -> bool:
    """Whether the event's product is the one that the shopper's words mean."""
    if mention.brand is not None and each.brand != mention.brand:
        return False
    return each.asin is not None and all(part in each.lower for part in mention.parts)


def words_of(query: str | None) -> list[str]:
    return WORD.findall(query.lower()) if query else []
