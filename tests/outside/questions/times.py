"""When: the days that a phrase such as "last week", "since 3 May" or "over the weekend of May 4" means."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from .words import number_of

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December".split("|")
WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday".split("|")
MONTH, WEEKDAY = f"(?:{'|'.join(MONTHS)})", f"(?:{'|'.join(WEEKDAYS)})"
DATE = re.compile(
    rf"(?:(?P<weekday>{WEEKDAY}), )?\b(?:(?P<y1>\d{{4}})-(?P<m1>\d\d)-(?P<d1>\d\d)"
    rf"|(?<!\$)(?P<d2>\d\d?) (?P<m2>{MONTH})(?: (?P<y2>\d{{4}}))?"
    rf"|(?P<m3>{MONTH}) (?P<d3>\d\d?)(?:st|nd|rd|th)?(?:, (?P<y3>\d{{4}}))?)(?![\w])(?!-\d\d)"
)
TO = r"(?:-|–| - | to | through | thru | until | till | and | up to and including )"
SHORT = (
    (re.compile(rf"({MONTH}) (\d\d?)({TO})(\d\d?)(?!\d|:\d)"), r"\1 \2\3\1 \4"),
    (re.compile(rf"\b(\d\d?)({TO})(\d\d?) ({MONTH})"), r"\1 \4\2\3 \4"),
)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """From the first to the last day, both included; None where that side is open."""

    first: date | None = None
    last: date | None = None


def date_of(match: re.Match[str], asked_on: date) -> date | None:
    """The day that a text names; without a year the latest such day before the question was asked."""
    part = match.groupdict()
    form = next(form for form in "123" if part[f"d{form}"])
    month = int(part["m1"]) if form == "1" else MONTHS.index(part[f"m{form}"]) + 1
    day, year = int(part[f"d{form}"]), part[f"y{form}"]
    found = date(int(year) if year else asked_on.year, month, day)
    if not year and found > asked_on:
        found = found.replace(year=found.year - 1)
    return None if part["weekday"] not in (None, WEEKDAYS[found.weekday()]) else found


def mark_dates(text: str, asked_on: date) -> tuple[str, list[date]]:
    """Put @d0, @d1 and so on in the place of dates; one that contradicts its weekday is left as it is."""
    found: list[date] = []
    for pattern, whole in SHORT:  # "May 3-9", "from 3 to 9 May"
        text = pattern.sub(whole, text)

    def mark(match: re.Match[str]) -> str:
        day = date_of(match, asked_on)
        if day is None:
            return match[0]
        found.append(day)
        return f"@d{len(found) - 1}"

    return DATE.sub(mark, text), found


def monday(day: date) -> date:
    return day - day.weekday() * DAY


def week(day: date) -> Period:
    return Period(day, day + 6 * DAY)


def weekend(one: date, other: date | None = None) -> Period | None:
    """A weekend is named by its Saturday, and maybe by its Sunday too."""
    if one.weekday() != 5 or other not in (None, one + DAY):
        return None
    return Period(one, one + DAY)


def last_weekday(name: str, asked_on: date) -> Period:
    back = (asked_on.weekday() - WEEKDAYS.index(name.title())) % 7 or 7
    return Period(asked_on - back * DAY, asked_on - back * DAY)


def days_of_month(name: str, number: int, asked_on: date) -> Period:
    first = date(asked_on.year, MONTHS.index(name.title()) + 1, 1)
    if first > asked_on:
        first = first.replace(year=first.year - 1)
    return Period(first, first + (number - 1) * DAY)


Days = Callable[[int], date]
Meaning = Callable[[re.Match[str], Days, date], Period | None]
SINCE = r"(?:since|from|on or after|(?:starting|beginning)(?: with| on| from)?|no earlier than)"
UP_TO = r"(?:(?:until|by|through|up to) the end of|(?:up to|until) and including|(?:up )?through|thru|on or before|(?:no|not) later than)"
INCLUDED = r",? \(?(?:that day |both days |both )?included\)?"

# The first that fits is taken; the days of the groups are dates by their number.
PHRASES: list[tuple[str, Meaning]] = [
    (r"after @d(\d) and before @d(\d)", lambda m, d, _: Period(d(int(m[1])) + DAY, d(int(m[2])) - DAY)),
    (
        r"(?:on|over|during) the weekend of @d(\d) to @d(\d)",
        lambda m, d, _: weekend(d(int(m[1])), d(int(m[2]))),
    ),
    (
        r"(?:(?:on|over|during) )?(?:the )?(?:weekend of @d(\d)|@d(\d) weekend)",
        lambda m, d, _: weekend(d(int(m[1] or m[2]))),
    ),
    (
        r"(?:(?:in|over|during) )?(?:the )?week (?:of|starting|beginning|that began)(?: on)? @d(\d)",
        lambda m, d, _: week(d(int(m[1]))),
    ),
    (
        rf"(?:in the days )?(?:from )?@d(\d)(?:-|–| - | to | through | thru | up to and including )@d(\d)(?:{INCLUDED}| inclusive)?",
        lambda m, d, _: Period(d(int(m[1])), d(int(m[2]))),
    ),
    (
        rf"(?:from @d(\d) (?:until|till)|between @d(\d) and) @d(\d){INCLUDED}",
        lambda m, d, _: Period(d(int(m[1] or m[2])), d(int(m[3]))),
    ),
    (
        rf"{SINCE} @d(\d)(?: onwards?| on\b| forward| (?:until|till|up to) now)?(?:{INCLUDED})?",
        lambda m, d, _: Period(first=d(int(m[1]))),
    ),
    (
        r"(?:on )?@d(\d) (?:(?:or|and) (?:later|after)|onwards?|(?:until|till|up to) now)",
        lambda m, d, _: Period(first=d(int(m[1]))),
    ),
    (r"(?:on )?@d(\d) (?:or|and) (?:earlier|before)", lambda m, d, _: Period(last=d(int(m[1])))),
    (r"(?:any time )?after @d(\d)", lambda m, d, _: Period(first=d(int(m[1])) + DAY)),
    (
        rf"{UP_TO} @d(\d)|(?:until|up to) @d(\d) (?:\(that day included\)|inclusive)",
        lambda m, d, _: Period(last=d(int(m[1] or m[2]))),
    ),
    (
        r"(?:(?:at )?any time before|before|prior to|earlier than) @d(\d)",
        lambda m, d, _: Period(last=d(int(m[1])) - DAY),
    ),
    (r"on @d(\d)", lambda m, d, _: Period(d(int(m[1])), d(int(m[1])))),
    (r"yesterday", lambda m, d, asked: Period(asked - DAY, asked - DAY)),
    (
        r"last week(?:, Monday to Sunday)?|(?:(?:over|in) the )?last calendar week|(?:in )?the week before this one",
        lambda m, d, asked: week(monday(asked) - 7 * DAY),
    ),
    (rf"(?:on|last|this past) ({WEEKDAY})\b", lambda m, d, asked: last_weekday(m[1], asked)),
    (rf"(?:(?:in|during) )?(?:the )?first half of ({MONTH})", lambda m, d, asked: days_of_month(m[1], 15, asked)),
    (rf"in ({MONTH}), up to the (\d+)th", lambda m, d, asked: days_of_month(m[1], int(m[2]), asked)),
    (
        rf"(?:(?:in|on|over|during) )?(?:the )?first (\w+) days of ({MONTH})",
        lambda m, d, asked: days_of_month(m[2], number_of(m[1]), asked),
    ),
    (
        rf"(?:(?:in|over|during) )?(?:(?:the )?first week of ({MONTH})|({MONTH})'s first week)",
        lambda m, d, asked: days_of_month(m[1] or m[2], 7, asked),
    ),
]
RULES = [(re.compile(rf"(?<![\w@])(?:{phrase})", re.IGNORECASE), meaning) for phrase, meaning in PHRASES]


def take_period(text: str, days: list[date], asked_on: date) -> tuple[str, Period | None]:
    """Cut the first phrase for a time out of a text with marked dates."""
    for pattern, meaning in RULES:
        if found := pattern.search(text):
            period = meaning(found, days.__getitem__, asked_on)
            return (text[: found.start()] + " " + text[found.end() :], period) if period else (text, None)
    return text, None
