"""Questions about sessions, days and hours."""

from datetime import timedelta

from .kinds import Case, UnclearError, asks, counts
from .log import Event

# Sessions


def sessions(case: Case) -> list[list[Event]]:
    case.used.add("gap")
    if case.number() not in (0, 2):
        raise UnclearError("a number that is not that of two actions with a pause between them")
    parts: list[list[Event]] = []
    for event in case.acts(""):
        if parts and event.time - parts[-1][-1].time <= timedelta(minutes=case.reading.gap_minutes):
            parts[-1].append(event)
        else:
            parts.append([event])
    return parts


@asks("HOWMANY SESSION @gap ACTION? PAUSE? WHEN? BETWEEN? @number?")
def how_many_sessions(case: Case) -> str:
    return str(len(sessions(case)))


@asks("SESSION LONG @gap ACTION? PAUSE? HOWLONG? TIME? FIRST? LAST? BETWEEN? @number?")
def longest_session(case: Case) -> str:
    return case.span(max((part[-1].time - part[0].time for part in sessions(case)), default=None))


@asks("SESSION MOST @gap ACTION PAUSE? HOWMANY? BETWEEN? @number?", "SESSION LONG @gap ACTION HOWMANY PAUSE?")
def size_of_fullest_session(case: Case) -> str:
    return str(max((len(part) for part in sessions(case)), default=0))


@asks("SESSION MOST @gap ACTION WHEN|START PAUSE? START? HOWMANY? BETWEEN? @number?")
def start_of_fullest_session(case: Case) -> str:
    parts = sessions(case)
    sizes = [len(part) for part in parts]
    rule = case.settles_ties()
    if not sizes:
        return case.none()
    if not rule and sizes.count(max(sizes)) > 1:
        raise UnclearError("a tie without a rule")
    return case.moment(parts[sizes.index(max(sizes))][0])


# Days and hours

FORMS = {"DAY": "%Y-%m-%d", "WEEKDAY": "%A", "HOUR": "%H"}


@asks(
    "DAY MOST|HIGH CLICK|CART|BUY|SEARCH THING|@s? MORE? HOWMANY?",
    "WEEKDAY MOST CLICK|CART|BUY|SEARCH THING|@s? WHEN? SUM?",
    "HOUR MOST CLICK|CART|BUY|SEARCH SUM? DAY?",
)
def busiest(case: Case) -> str:
    form = "HOUR" if case.has("HOUR") else "WEEKDAY" if case.has("WEEKDAY") else "DAY"
    sums = counts(event.time.strftime(FORMS[form]) for event in case.acts(case.action()))
    best = case.rank_keys(sums, 1)
    if not best:
        return case.none()
    return str(int(best[0])) if form == "HOUR" else best[0]


@asks("DAY CONSECUTIVE CLICK|CART|BUY|SEARCH THING|@s? LONG? MOST? HOWLONG? HOWMANY?")
def longest_streak(case: Case) -> str:
    days = sorted({event.time.date() for event in case.acts(case.action())})
    longest = length = 0
    for i, day in enumerate(days):
        length = length + 1 if i and day - days[i - 1] == timedelta(days=1) else 1
        longest = max(longest, length)
    return str(longest)
