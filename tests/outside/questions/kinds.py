"""What the kinds of question share: a question about a log, the tokens of a kind, and the forms of answers."""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise

from .log import Event, Log
from .reading import Reading
from .things import ProductSet
from .times import DAY


class UnclearError(Exception):
    """The question leaves something open, or says something that is not understood."""


class OtherKindError(Exception):
    """The question is not of this kind."""


ACTIONS = {"CLICK": "click", "CART": "add to Cart", "BUY": "purchase", "SEARCH": "search", "ACTION": ""}


class Case:
    """One question about one log; it keeps track of which phrases an answer has made use of."""

    def __init__(self, reading: Reading, log: Log) -> None:
        self.reading = reading
        self.log = log
        self.tokens = Counter(reading.tokens)
        self.used: set[str] = {"form"}

    def has(self, *tokens: str) -> bool:
        return any(token in self.tokens for token in tokens)

    def action(self) -> str:
        """The one action that the question is about."""
        found = [ACTIONS[token] for token in self.tokens if token in ACTIONS]
        if len(found) != 1:
            raise OtherKindError("which action")
        return found[0]

    def settles_ties(self) -> bool:
        """Whether the question says that the first of equals counts."""
        self.used.add("tie")
        return "tie" in self.reading.notes

    def product_set(self) -> ProductSet:
        """The one set of products that the question names, which is of all where it names none."""
        self.used.add("sets")
        if len(self.reading.sets) > 1:
            raise UnclearError("more than one set of products")
        return self.reading.sets[0] if self.reading.sets else ProductSet()

    def in_time(self, event: Event) -> bool:
        self.used.add("time")
        period, day = self.reading.period, event.time.date()
        if period is None:
            return True
        return (period.first is None or day >= period.first) and (period.last is None or day <= period.last)

    def ever(self, action: str) -> list[Event]:
        """All events of an action ("" for any) in the whole log."""
        return [event for event in self.log.events if action in ("", event.action)]

    def in_period(self, action: str) -> list[Event]:
        return [event for event in self.ever(action) if self.in_time(event)]

    def acts(self, action: str) -> list[Event]:
        """The events of an action in the time, of the products and with the limits that the question names."""
        found = self.in_period(action)
        if action not in ("", "search"):
            wanted = self.product_set()
            found = [event for event in found if fits(event, wanted)]
        if self.reading.prices:
            self.used.add("prices")
            low, high = self.reading.prices
            found = [event for event in found if low <= event.cents <= high]
        if self.reading.clock:
            self.used.add("clock")
            first, last = self.reading.clock
            found = [event for event in found if first <= event.time.time() < last]
        return found

    def of_product(self, action: str, which: int = 0) -> list[Event]:
        """The events of an action of a single product that the question describes, in the whole log."""
        self.used.add(f"product {which}")
        asin = self.reading.products[which]
        return [event for event in self.ever(action) if event.asin == asin]

    def quote(self) -> str:
        self.used.add("quotes")
        return self.reading.quotes[0]

    def split_day(self) -> date:
        """The day from which on, and before which, the question looks."""
        self.used.add("time")
        period = self.reading.period
        if period and period.first and not period.last:
            return period.first
        if period and period.last and not period.first:
            return period.last + DAY
        raise UnclearError("no day between two times")

    def number(self) -> int:
        self.used.add("number")
        return self.reading.number

    def least(self) -> int:
        self.used.add("least")
        return self.reading.least

    def place(self) -> int:
        """Which in a row is meant: 1 is the first, -1 the last."""
        places = [*self.reading.places, *([1] if self.has("FIRST") else []), *([-1] if self.has("LAST") else [])]
        if len(places) != 1:
            raise OtherKindError("which place")
        self.used.add("places")
        return places[0]

    def nth(self, found: list[Event]) -> Event | None:
        place = self.place()
        if place > 0:
            return found[place - 1] if len(found) >= place else None
        return found[place] if len(found) >= -place else None

    def percent(self, part: int, whole: int) -> str:
        return rounded(Decimal(100 * part) / whole, 1) if whole else self.none()

    def span(self, length: timedelta | None) -> str:
        return self.none() if length is None else span(length)

    def moment(self, event: Event | None) -> str:
        return event.time.strftime("%Y-%m-%d %H:%M:%S") if event else self.none()

    def name(self, event: Event | None) -> str:
        return event.name if event else self.none()

    def none(self) -> str:
        """The answer where there is nothing, which the question has to name."""
        if "none" not in self.reading.notes:
            raise UnclearError("nothing there, and nothing said about it")
        self.used.add("tie")
        return "none"

    def listed(self, texts: Iterable[str]) -> str:
        """A set of texts, sorted."""
        return "; ".join(sorted(set(texts))) or self.none()

    def in_order(self, texts: list[str], number: int) -> str:
        """The first texts of a list."""
        if 0 < len(texts) < number:
            raise UnclearError("fewer than asked for")
        return "; ".join(texts) or self.none()

    def rank_keys(self, sums: dict[str, int], places: int) -> list[str]:
        """The keys with the highest values; the keys stand in the order in which equals rank."""
        keys = sorted(sums, key=lambda key: -sums[key])  # keeps equals as they stand
        rule = self.settles_ties()
        if not rule and any(sums[one] == sums[other] for one, other in pairwise(keys[: places + 1])):
            raise UnclearError("a tie without a rule")
        return keys[:places]

    def key_at_rank(self, sums: dict[str, int], place: int) -> str:
        """The key at a place, which may not be shared without a rule."""
        rule = self.settles_ties()
        if len(sums) < place:
            return self.none()
        key = sorted(sums, key=lambda key: -sums[key])[place - 1]
        if not rule and list(sums.values()).count(sums[key]) > 1:
            raise UnclearError("a tie without a rule")
        return key

    def best(self, found: list[Event], values: list[int]) -> Event | None:
        """The first event of the highest value; of another product with this value the question has to tell."""
        rule = self.settles_ties()
        if not found:
            return None
        best = [event for event, value in zip(found, values, strict=True) if value == max(values)]
        if not rule and len({(event.asin, event.action) for event in best}) > 1:
            raise UnclearError("a tie without a rule")
        return best[0]

    def unused(self) -> set[str]:
        """What the question says that the answer has made no use of."""
        reading = self.reading
        there = {f"product {i}" for i in range(len(reading.products))} | (reading.notes - {"none"})
        for name, said in (
            ("time", reading.period),
            ("clock", reading.clock),
            ("prices", reading.prices),
            ("sets", reading.sets),
            ("quotes", reading.quotes),
            ("brands", reading.brands),
            ("weekdays", reading.weekdays),
            ("gap", reading.gap_minutes),
            ("money", reading.money),
            ("number", reading.number),
            ("least", reading.least),
            ("places", reading.places),
        ):
            if said:
                there.add(name)
        return there - self.used


Kind = Callable[[Case], str]
KINDS: list[tuple[list[set[str]], set[str], Kind]] = []


def asks(*wordings: str) -> Callable[[Kind], Kind]:
    """Say by which tokens a kind of question is known: one of each A|B must be there, A? may, and no other."""

    def enter(kind: Kind) -> Kind:
        for wording in wordings:
            groups = [(set(group.rstrip("?").split("|")), group.endswith("?")) for group in wording.split()]
            needed = [tokens for tokens, optional in groups if not optional]
            KINDS.append((needed, set[str]().union(*(tokens for tokens, _ in groups)), kind))
        return kind

    return enter


def kinds_of(tokens: list[str]) -> list[Kind]:
    """All kinds of question that have these tokens."""
    there = set(tokens) - {"WHICH"}
    return [kind for needed, known, kind in KINDS if there <= known and all(there & group for group in needed)]


def fits(event: Event, wanted: ProductSet) -> bool:
    return (
        wanted.brand in ("", event.brand)
        and wanted.category in ("", event.category)
        and wanted.color in ("", event.color)
    )


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
    """The column of the brands or categories that a question asks for."""
    return "brand" if case.has("BRAND") else "category"
