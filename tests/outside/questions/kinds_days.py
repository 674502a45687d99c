"""Questions about sessions, days and hours."""

from datetime import timedelta

from .kinds import Case, UnclearError, asks, counts
from .log import Event

# Sessions


def sessions(case: Case) -> list[list[Event]]:
    if not case.reading.gap_minutes:
        raise UnclearError("what a session is")
    case.used.add("gap")
    case.note("alone")
    parts: list[list[Event]] = []
    for event in case.acts(""):
        if parts and event.time - parts[-1][-1].time <= timedelta(minutes=case.reading.gap_minutes):
            parts[-1].append(event)
        else:
            parts.append([event])
    return parts


@asks(
    "count the sessions among the actions alone, splitting",
    "how many shopping sessions did i have",
    "splitting my actions, how many sessions are there",
)
def how_many_sessions(case: Case) -> str:
    return str(len(sessions(case)))


@asks(
    "how long was my longest shopping session, from its first to its last action",
    "splitting my actions, how much time lies between the first and last action of the longest session",
    "taking only the actions, and splitting them, give the time from first to last action of the longest session",
)
def longest_session(case: Case) -> str:
    return case.span(max((part[-1].time - part[0].time for part in sessions(case)), default=None))


@asks(
    "how many actions did my fullest session have",
    "splitting my actions, how many actions are in the session that has the most",
    "taking only the actions and splitting them, give the number of actions in the largest session",
)
def size_of_fullest_session(case: Case) -> str:
    return str(max((len(part) for part in sessions(case)), default=0))


@asks(
    "splitting my actions, at what date and time did the session with the most actions start",
    "taking only the actions and splitting them, give the timestamp at which the session with the most actions starts",
    "when did my session with the most actions begin",
)
def start_of_fullest_session(case: Case) -> str:
    parts = sessions(case)
    sizes = [len(part) for part in parts]
    rule = case.tied("session")
    if not sizes:
        return case.none()
    if not rule and sizes.count(max(sizes)) > 1:
        raise UnclearError("a tie without a rule")
    return case.moment(parts[sizes.index(max(sizes))][0])


# Days and hours


FORMS = {
    "date": ("day", "%Y-%m-%d"),
    "day": ("day", "%Y-%m-%d"),
    "weekday": ("weekday", "%A"),
    "day of the week": ("weekday", "%A"),
    "hour of day": ("hour", "%H"),
    "hour of the day": ("hour", "%H"),
}


@asks(
    "give the (?P<unit>date|hour of day) with the most ACTS(?: (?:on|of) @n)?",
    "name the (?P<unit>weekday) with the most ACTS(?: (?:on|of) @n)?",
    "(?:in|on) which (?P<unit>hour of the day|day of the week|day) did i (?:have|make) the most ACTS(?: (?:on|of) @n)?",
    "which (?P<unit>day|weekday) had my highest number of ACTS(?: (?:on|of) @n)?",
    "taking all days together, at which (?P<unit>hour of the day) were my ACTS most frequent",
)
def busiest(case: Case) -> str:
    subject, form = FORMS[case["unit"]]
    case.note("hour" if subject == "hour" else "a date")
    sums = counts(event.time.strftime(form) for event in case.acts(case.action()))
    best = case.ranked(subject, sums, 1)
    if not best:
        return case.none()
    return str(int(best[0])) if subject == "hour" else best[0]


@asks(
    "looking only at my ACTS(?: (?:on|of) @n)?, (?:how many days long was the longest streak of consecutive "
    "days|what is the largest number of days in a row) with at least one",
    "taking only the ACTS(?: (?:on|of) @n)?, give the length in days of the longest run of consecutive dates "
    "that each have at least one",
)
def longest_streak(case: Case) -> str:
    days = sorted({event.time.date() for event in case.acts(case.action())})
    longest = length = 0
    for i, day in enumerate(days):
        length = length + 1 if i and day - days[i - 1] == timedelta(days=1) else 1
        longest = max(longest, length)
    return str(longest)
