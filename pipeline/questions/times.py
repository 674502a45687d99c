"""Days as people say them: by the calendar, by the day of asking, or as dates; and ranges of days that have a name."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Literal

from shopwright.pipeline.phrases.bank import Ref
from shopwright.pipeline.prompts import MONTHS

Style = Literal["us", "eu", "iso", "weekday", "short"]
# How somebody writes dates; most as Americans do, for the shop is one.
STYLES: tuple[Style, ...] = ("us", "us", "us", "eu", "iso", "weekday", "short")
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
DAY = timedelta(days=1)
# Share of times that are said by a name of theirs, where they have one.
NAMED = 0.85
# Share of dates that have their year where they need none.
WITH_YEAR = 0.06
# A date without a year means the last such day before the day of asking.
YEAR = timedelta(days=330)


def name_day(day: date, style: Style, *, with_year: bool) -> str:
    """
    >>> [name_day(date(2024, 5, 3), style, with_year=False) for style in ("us", "eu", "weekday", "short")]
    ['May 3', '3 May', 'Friday, May 3', 'May 3rd']
    """
    month, year = MONTHS[day.month - 1], f" {day.year}" if with_year else ""
    comma = f",{year}" if with_year else ""
    match style:
        case "iso":
            return day.isoformat()
        case "eu":
            return f"{day.day} {month}{year}"
        case "weekday":
            return f"{WEEKDAYS[day.weekday()]}, {month} {day.day}{comma}"
        case "short":
            return f"{month} {name_ordinal_day(day.day)}{comma}"
    return f"{month} {day.day}{comma}"


def name_ordinal_day(day: int) -> str:
    """
    >>> name_ordinal_day(1), name_ordinal_day(12), name_ordinal_day(23)
    ('1st', '12th', '23rd')
    """
    ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def phrase_days(first: date | None, last: date | None, asked_on: date, random: Random, style: Style) -> "str | Ref":
    """A range of days, a beginning or an end in words, as the bank says them; nothing where there is neither."""
    if first is None and last is None:
        return ""
    with_year = random.random() < WITH_YEAR or any(day is not None and asked_on - day > YEAR for day in (first, last))
    names = list(list_day_names(first, last, asked_on))
    if names and random.random() < NAMED:
        return names[int(random.random() * len(names))]
    said = {
        name: name_day(day, style, with_year=with_year)
        for name, day in (
            ("first", first),
            ("last", last),
            ("before", last and last + DAY),
            ("after", first and first - DAY),
        )
        if day is not None
    }
    if first is not None and first == last:
        return Ref("time/day", {"day": said["first"]})
    kind = "range" if first and last else "since" if first else "until"
    return Ref(f"time/{kind}", said)


def list_day_names(first: date | None, last: date | None, asked_on: date) -> "Iterator[Ref]":
    """What a time is called by the calendar, or seen from the day of asking."""
    if first is None or last is None:
        return
    month = {"month": MONTHS[first.month - 1]}
    if first == last:
        if asked_on - first == DAY:
            yield Ref("time/yesterday", {})
        elif DAY < asked_on - first < timedelta(days=7):
            yield Ref("time/weekday", {"weekday": WEEKDAYS[first.weekday()]})
        return
    days = (last - first).days + 1
    monday = asked_on - timedelta(days=asked_on.weekday())
    if first == monday - timedelta(days=7) and days == 7:
        yield Ref("time/last week", {})
    if (first.month, first.year) != (last.month, last.year) or asked_on - first > YEAR:
        return
    yield Ref("time/days of a month", {**month, "n": str(first.day), "m": str(last.day)})
    if first.weekday() == 5 and days == 2:
        yield Ref("time/weekend", {"first": f"{month['month']} {first.day}", "last": f"{month['month']} {last.day}"})
    if first.weekday() == 0 and days == 7:
        yield Ref("time/week of", {"monday": f"{month['month']} {first.day}"})
    if first.day == 1:
        named = {7: "first week", 15: "first half"}.get(days)
        if days == monthrange(first.year, first.month)[1]:
            yield Ref("time/month", month)
        elif named:
            yield Ref(f"time/{named}", month)
        elif days <= 10:
            yield Ref("time/first days", {**month, "n": str(days)})
    elif first.day == 16 and last == month_end(first):
        yield Ref("time/second half", month)


def month_end(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])


def list_named_ranges(day: date) -> list[tuple[date, date]]:
    """Ranges with a name that hold this day.

    >>> [(a.day, b.day) for a, b in list_named_ranges(date(2024, 5, 4))]
    [(1, 31), (1, 15), (29, 5), (4, 5), (1, 7), (1, 5), (1, 10)]
    """
    monday, start = day - timedelta(days=day.weekday()), day.replace(day=1)
    found = [(start, month_end(day))]
    found.append((start, start + 14 * DAY) if day.day <= 15 else (start + 15 * DAY, month_end(day)))
    found.append((monday, monday + 6 * DAY))
    if day.weekday() >= 5:
        found.append((monday + 5 * DAY, monday + 6 * DAY))
    found += [(start, start + (n - 1) * DAY) for n in (7, 5, 10) if day.day <= n]
    return found
