"""Days in English read as dates: written out, by a name of the calendar, or seen from the day on which something is asked."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

MONTHS = "January February March April May June July August September October November December".split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NUMBER_WORDS = "one two three four five six seven eight nine ten".split()
ONE = timedelta(days=1)
MONTH, WEEKDAY = "|".join(MONTHS), "|".join(WEEKDAYS)
DATE = re.compile(
    rf"(?P<iso>\d{{4}}-\d\d-\d\d)"
    rf"|(?:(?P<weekday>{WEEKDAY}), )?(?P<month>{MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:, (?P<year>\d{{4}}))?"
    rf"|(?P<day2>\d{{1,2}}) (?P<month2>{MONTH})(?: (?P<year2>\d{{4}}))?"
)
Span = tuple[date, date]


def find_last(month: int, day: int, asked_on: date | None) -> date:
    """The last such day that is not after the day of asking. Raises ValueError where there is none in the calendar, or no day of asking."""
    if asked_on is None:
        raise ValueError("a date without a year, and nobody says when it is asked")
    found = date(asked_on.year, month, day)
    return found if found <= asked_on else date(asked_on.year - 1, month, day)


def parse_date(found: re.Match[str], asked_on: date | None) -> date:
    """Raises ValueError for a date that is not in the calendar, or not of its weekday."""
    if found["iso"]:
        return date.fromisoformat(found["iso"])
    month = MONTHS.index(found["month"] or found["month2"]) + 1
    day, year = int(found["day"] or found["day2"]), found["year"] or found["year2"]
    when = date(int(year), month, day) if year else find_last(month, day, asked_on)
    if found["weekday"] and WEEKDAYS[when.weekday()] != found["weekday"]:
        raise ValueError(f"{when} is no {found['weekday']}")
    return when


def read_date(text: str, place: int, names: Any) -> Iterator[tuple[int, date]]:
    """A date, at its end with or without what may follow it."""
    found = DATE.match(text, place)
    if found and not text[found.end() : found.end() + 1].isalnum():
        try:
            yield found.end(), parse_date(found, names.asked_on)
        except ValueError:
            return


def shift_date(days: int) -> Callable[[str, int, Any], Iterator[tuple[int, date]]]:
    """A reader of the day so many days from the date that is written."""

    def read(text: str, place: int, names: Any) -> Iterator[tuple[int, date]]:
        for end, day in read_date(text, place, names):
            yield end, day + days * ONE

    return read


def find_month(name: str, asked_on: date) -> Span:
    first = find_last(MONTHS.index(name.capitalize()) + 1, 1, asked_on)
    return first, first.replace(day=monthrange(first.year, first.month)[1])


def find_days_of_month(name: str, first: str, last: str, asked_on: date) -> Span:
    start, _ = find_month(name, asked_on)
    return start.replace(day=int(first)), start.replace(day=int(last))


def take_first_days(month: Span, days: int) -> Span:
    return month[0], month[0] + (days - 1) * ONE


def parse_count(text: str) -> int:
    return int(text) if text.isdigit() else NUMBER_WORDS.index(text.lower()) + 1


def find_week_before(asked_on: date) -> Span:
    monday = asked_on - (asked_on.weekday() + 7) * ONE
    return monday, monday + 6 * ONE


def find_weekday_before(name: str, asked_on: date) -> Span:
    """The last such weekday before the day of asking."""
    back = (asked_on.weekday() - WEEKDAYS.index(name.capitalize())) % 7 or 7
    return asked_on - back * ONE, asked_on - back * ONE


def find_week_of(day: date) -> Span:
    if day.weekday():
        raise ValueError(f"{day} is no Monday")
    return day, day + 6 * ONE


def find_weekend_of(day: date) -> Span:
    if day.weekday() != 5:
        raise ValueError(f"{day} is no Saturday")
    return day, day + ONE


SECOND_HALF = 16
TO = "(?: to | through | thru | up to and including |-| - )"
# A name of the calendar, and the first and last day that it stands for, by its groups and the day of asking.
NAMES: tuple[tuple[str, Callable[..., Span]], ...] = (
    (r"yesterday", lambda on: (on - ONE, on - ONE)),
    (rf"({WEEKDAY})", find_weekday_before),
    (r"last week(?:, Monday to Sunday)?|the week before this one|(?:the last|last) calendar week", find_week_before),
    (rf"(?:the month of |all of )?({MONTH})", find_month),
    (rf"({MONTH}) (\d\d?){TO}(\d\d?)(?! {MONTH})(?: inclusive)?", find_days_of_month),
    (rf"(\d\d?){TO}(\d\d?) ({MONTH})", lambda first, last, name, on: find_days_of_month(name, first, last, on)),
    (rf"(?:the )?first week of ({MONTH})|the first seven days of ({MONTH})|({MONTH})'s first week", lambda *parts: take_first_days(find_month(one_of(parts), parts[-1]), 7)),
    (rf"(?:the )?first half of ({MONTH})|({MONTH}), up to the 15th", lambda *parts: take_first_days(find_month(one_of(parts), parts[-1]), 15)),
    (rf"(?:the )?first (\w+) days of ({MONTH})", lambda count, name, on: take_first_days(find_month(name, on), parse_count(count))),
    (rf"(?:the )?second half of ({MONTH})|the 16th to the end of ({MONTH})|({MONTH}), from the 16th on", lambda *parts: take_second_half(find_month(one_of(parts), parts[-1]))),
)  # fmt: skip
# Names that hold a date: the date's place is `@`.
DATED: tuple[tuple[str, Callable[..., Span]], ...] = (
    (r"the week of @|week of @|the week that began on @|the week starting @", find_week_of),
    (r"the weekend of @|the @ weekend|@ weekend", find_weekend_of),
)


def one_of(parts: tuple[Any, ...]) -> str:
    return str(next(part for part in parts[:-1] if part))


def take_second_half(month: Span) -> Span:
    return month[0].replace(day=SECOND_HALF), month[1]


PATTERNS = [(re.compile(pattern, re.IGNORECASE), span) for pattern, span in NAMES]
OUTER = [
    (before, after, span)
    for pattern, span in DATED
    for before, _, after in (way.partition("@") for way in pattern.split("|"))
]


def read_calendar(text: str, place: int, names: Any) -> Iterator[tuple[int, dict[str, date]]]:
    """A time by its name, as its first and its last day."""
    if names.asked_on is None:
        return
    for pattern, span in PATTERNS:
        found = pattern.match(text, place)
        if found and not text[found.end() : found.end() + 1].isalnum():
            yield from give_span(found.end(), span, *found.groups(), names.asked_on)
    for before, after, span in OUTER:
        if text[place : place + len(before)].lower() == before:
            for end, day in read_date(text, place + len(before), names):
                if text.startswith(after, end):
                    yield from give_span(end + len(after), span, day)


def give_span(end: int, span: Callable[..., Span], *parts: Any) -> Iterator[tuple[int, dict[str, date]]]:
    try:
        first, last = span(*parts)
    except (ValueError, IndexError):
        return
    yield end, {"first_day": first, "last_day": last}
