"""What the kinds of question share: a question about a log, its wordings, and the forms of answers."""

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise

from .log import Event, Log
from .reading import ProductSet, Reading


class UnclearError(Exception):
    """The question leaves something open, or says something that is not understood."""


ACTIONS = {
    "click": "click",
    "clicks": "click",
    "clicked": "click",
    "clicked on": "click",
    "click on": "click",
    "cart": "add to Cart",
    "carts": "add to Cart",
    "put": "add to Cart",
    "put in the cart": "add to Cart",
    "added to the cart": "add to Cart",
    "purchase": "purchase",
    "purchases": "purchase",
    "bought": "purchase",
    "buy": "purchase",
    "purchased": "purchase",
    "search": "search",
    "searches": "search",
    "actions": "",
    "actions of any kind": "",
}
ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "last": -1,
    "second-to-last": -2,
    "third-to-last": -3,
    "fourth-to-last": -4,
    "fifth-to-last": -5,
}

# What the wording of a kind may name in capitals.
PARTS = {
    "PRODUCTS": r"(?:@n|products)",
    "ACTS": r"(?P<act>actions of any kind|actions|clicks|carts|purchases|searches)",
    "ACT": r"(?P<act>click|cart|purchase|search)",
    "DONE": r"(?P<act>clicked on|clicked|put in the cart|added to the cart|bought|purchased)",
    "NTH": r"(?P<nth>(?:second|third|fourth|fifth)-to-last|first|second|third|fourth|fifth|last)",
    "NUMBER": r"(?P<number>\d+)",
    "MONEY": r"\$(?P<money>[\d,]+(?:\.\d\d)?)",
    "MOST": r"(?P<most>most expensive|cheapest|highest|lowest|longest|shortest)",
    "THING": r"(?P<thing>brands|categories)",
    "WHICH": r"(?:which|(?P<count>how many))",
    "LIST": r"(?:list|(?P<count>count))",
}


class Case:
    """One question about one log; it keeps track of which phrases an answer has made use of."""

    def __init__(self, reading: Reading, log: Log, said: dict[str, str | None]) -> None:
        self.reading = reading
        self.log = log
        self.said = said
        self.used: set[str] = set()

    def __getitem__(self, part: str) -> str:
        return self.said.get(part) or ""

    def action(self) -> str:
        return ACTIONS[self["act"]]

    def note(self, *names: str) -> bool:
        """Whether the question makes one of some remarks."""
        self.used.update(names)
        return not self.reading.notes.isdisjoint(names)

    def tied(self, subject: str) -> bool:
        """Whether the question says which of equals counts; a rule about anything else is not understood."""
        rule = self.reading.tie
        if not rule:
            return False
        self.used.add("tie")
        if subject not in rule.subjects or (rule.acts and ACTIONS[rule.acts] != self.action()):
            raise UnclearError("a tie rule about something else")
        return True

    def fits_set(self, event: Event) -> bool:
        self.used.add("product set")
        wanted = self.reading.product_set
        return (
            wanted.brand in ("", event.brand)
            and wanted.category in ("", event.category)
            and wanted.color in ("", event.color)
        )

    def in_time(self, event: Event) -> bool:
        self.used.add("time")
        start, end, day = self.reading.start, self.reading.end, event.time.date()
        return (start is None or day >= start) and (end is None or day <= end)

    def ever(self, action: str) -> list[Event]:
        """All events of an action ("" for any) in the whole log."""
        return [event for event in self.log.events if action in ("", event.action)]

    def in_period(self, action: str) -> list[Event]:
        return [event for event in self.ever(action) if self.in_time(event)]

    def acts(self, action: str) -> list[Event]:
        """The events of an action in the time, of the products and with the limits that the question names."""
        found = self.in_period(action)
        if action not in ("", "search"):
            found = [event for event in found if self.fits_set(event)]
            if self.reading.prices:
                self.used.add("prices")
                low, high = self.reading.prices
                found = [event for event in found if low <= event.cents <= high]
        if self.reading.clock:
            self.used.add("clock")
            first, last = self.reading.clock
            found = [event for event in found if first <= event.time.time() <= last]
        return found

    def of_product(self, action: str, which: int = 0) -> list[Event]:
        """The events of an action of a single product that the question describes, in the whole log."""
        if which >= len(self.reading.products):
            raise UnclearError("no product")
        self.used.add(f"product {which}")
        asin = self.reading.products[which]
        return [event for event in self.ever(action) if event.asin == asin]

    def quote(self) -> str:
        if len(self.reading.quotes) != 1:
            raise UnclearError("no text in quotes")
        self.used.add("quote")
        return self.reading.quotes[0]

    def brand(self) -> str:
        if len(self.reading.brands) != 1:
            raise UnclearError("no brand")
        self.used.add("brand")
        return self.reading.brands[0]

    def split_date(self) -> date:
        return self.reading.dates[int(self["date"])]

    def nth(self, found: list[Event]) -> Event | None:
        place = ORDINALS[self["nth"]]
        if place > 0:
            return found[place - 1] if len(found) >= place else None
        return found[place] if len(found) >= -place else None

    def rounded(self, value: Decimal) -> str:
        if self.reading.decimals is None:
            raise UnclearError("how many decimals")
        self.used.add("decimals")
        return rounded(value, self.reading.decimals)

    def percent(self, part: int, whole: int) -> str:
        return self.rounded(Decimal(100 * part) / whole) if whole else self.none()

    def span(self, length: timedelta | None) -> str:
        self.note("h:mm:ss")
        return self.none() if length is None else span(length)

    def moment(self, event: Event | None) -> str:
        self.note("a moment")
        return event.time.strftime("%Y-%m-%d %H:%M:%S") if event else self.none()

    def name(self, event: Event | None) -> str:
        self.note("a name")
        return event.name if event else self.none()

    def none(self) -> str:
        """The answer where there is nothing, which the question has to name."""
        if not self.note("none"):
            raise UnclearError("nothing there, and nothing said about it")
        self.note("h:mm:ss", "a moment", "a name", "a search", "a date", "hour", "decimals", "cents")
        return "none"

    def listed(self, texts: Iterable[str]) -> str:
        """A set of texts, sorted."""
        self.note("a name")
        return "; ".join(sorted(set(texts))) or self.none()

    def in_order(self, texts: list[str], number: int) -> str:
        """The first texts of a list, which may be fewer than asked for only if the question says so."""
        self.note("a name")
        if not self.note("fewer") and len(texts) < number:
            raise UnclearError("fewer than asked for")
        return "; ".join(texts) or self.none()

    def ranked(self, subject: str, sums: dict[str, int], places: int) -> list[str]:
        """The keys with the highest values; the keys stand in the order in which equals rank."""
        keys = sorted(sums, key=lambda key: -sums[key])  # keeps equals as they stand
        rule = self.tied(subject)
        if not rule and any(sums[one] == sums[other] for one, other in pairwise(keys[: places + 1])):
            raise UnclearError("a tie without a rule")
        return keys[:places]

    def unused(self) -> set[str]:
        """What the question says that the answer has made no use of."""
        reading = self.reading
        there = {f"product {i}" for i in range(len(reading.products))} | (reading.notes - {"none"})
        for name, said in (
            ("time", reading.timed),
            ("clock", reading.clock),
            ("prices", reading.prices),
            ("product set", reading.product_set != ProductSet()),
            ("quote", reading.quotes),
            ("brand", reading.brands),
            ("weekday", reading.weekdays),
            ("gap", reading.gap_minutes),
            ("decimals", reading.decimals),
            ("tie", reading.tie),
        ):
            if said:
                there.add(name)
        return there - self.used


Kind = Callable[[Case], str]
KINDS: list[tuple[re.Pattern[str], Kind]] = []


def asks(*patterns: str) -> Callable[[Kind], Kind]:
    """Say which wordings a kind of question has."""

    def enter(kind: Kind) -> Kind:
        for pattern in patterns:
            for name, part in PARTS.items():
                pattern = re.sub(rf"\b{name}\b", part.replace("\\", r"\\"), pattern)
            KINDS.append((re.compile(pattern), kind))
        return kind

    return enter


def money(cents: int, of: int = 1) -> str:
    return rounded(Decimal(cents) / of / 100, 2)


def rounded(value: Decimal, places: int) -> str:
    value = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)
    return str(abs(value) if value == 0 else value)


def span(length: timedelta) -> str:
    seconds = int(length.total_seconds())
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def distinct(found: list[Event], what: str) -> list[str]:
    """The different values of a column, in the order of their first row; missing ones left out."""
    return [value for value in dict.fromkeys(getattr(event, what) for event in found) if value]


def first_of_each(found: list[Event]) -> dict[str, Event]:
    """The first event of each product."""
    firsts: dict[str, Event] = {}
    for event in found:
        firsts.setdefault(event.asin, event)
    return firsts


def counts(values: Iterable[str]) -> dict[str, int]:
    """How often each value occurs, in the order of their first; missing ones left out."""
    sums: dict[str, int] = {}
    for value in values:
        if value:
            sums[value] = sums.get(value, 0) + 1
    return sums


def column(case: Case) -> str:
    """The column of the brands or categories that a question names."""
    return "brand" if case["thing"] == "brands" else "category"
