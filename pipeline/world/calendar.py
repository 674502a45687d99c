"""When a customer is in the shop: days and visits, quiet ones and busy ones, and the seconds between actions.

At which hours is the persona's, from the rhythms in `data/reference/people.toml`.
"""

from collections.abc import Callable, Iterator
from datetime import date
from random import Random

import numpy as np

from shopwright.schemas.shop import Persona

# Days, as May 2024 has.
MONTH = 31
# A month of shopping is as much as ShopTrajQA's: 64k tokens in May 2024.
MONTH_TOKENS = 64_000
# A month's visits are for a little more, so that its tokens are there when it ends.
AHEAD = 1.04
# Seconds at least from one visit to the next.
BETWEEN_VISITS = 2_400
# Seconds.
DAY, HOUR = 86_400, 3_600
# The weekday of day 0, 1970-01-01, Monday being 0.
THURSDAY = 3
# Share of days without a visit.
DAYS_OFF = 0.12
# How much days and visits differ: the deviation of their logarithms.
DAYS_DIFFER, VISITS_DIFFER = 0.75, 0.8
# The most that a day takes of a month.
BUSIEST = 0.16
# Chances of one, two, three and four visits a day.
VISITS = (0.42, 0.31, 0.18, 0.09)
Numbers = Callable[..., np.random.Generator]
# Seconds from one action (row) to the next (column): search, click, cart, purchase. Half of all gaps are shorter.
USUAL = ((21, 16, 30, 60), (34, 38, 30, 75), (45, 40, 40, 55), (80, 70, 60, 40))
SPREAD = 0.85
LEAST, MOST = 4, 1_500
# What comes between: the phone, the children, dinner. Minutes; the tail is that of a power law.
PAUSES, PAUSE, PAUSE_TAIL = 0.079, 6.5, 1.1


class Visit:
    """From `start` on, until `leave` at the latest, for the tokens up to `tokens`."""

    __slots__ = ("leave", "start", "tokens")

    def __init__(self, start: int, leave: int, tokens: float) -> None:
        self.start, self.leave, self.tokens = start, leave, tokens


def plan_visits(person: Persona, first_day: date, numbers: Numbers) -> Iterator[Visit]:
    """A customer's visits, month after month without an end."""
    random = numbers(person.id, "calendar")
    active = person.active_hours
    until = {hour: find_end_of_stretch(active, hour) * HOUR for hour in active}
    midnight, month = date_to_seconds(first_day), 0
    while True:
        weekday = (midnight // DAY + THURSDAY + np.arange(MONTH)) % 7
        weights = np.where(weekday >= 5, person.weekend_factor, 1.0) * np.exp(random.normal(0.0, DAYS_DIFFER, MONTH))
        off = random.random(MONTH) < DAYS_OFF
        off[[0, -1]] = False  # a month begins and ends in its days
        weights[off] = 0.0
        weights = np.minimum(weights / weights.sum(), BUSIEST)
        ends = AHEAD * MONTH_TOKENS * (month + np.cumsum(weights) / weights.sum())
        for day in range(MONTH):
            if not off[day]:
                before = float(ends[day - 1]) if day else AHEAD * MONTH_TOKENS * month
                size = float(ends[day]) - before
                yield from plan_day(random, active, until, midnight + day * DAY, before, size, last=day == MONTH - 1)
        midnight, month = midnight + MONTH * DAY, month + 1


def plan_day(
    random: np.random.Generator,
    active: list[int],
    until: dict[int, int],
    midnight: int,
    before: float,
    size: float,
    *,
    last: bool,
) -> Iterator[Visit]:
    """The visits of a day; on the last one of a month every hour is there for what is still to be done."""
    count = int(np.searchsorted(np.cumsum(VISITS), random.random()) + 1)
    hours = sorted(active if last else set(random.choice(active, min(count, len(VISITS))).tolist()))
    starts = [hour * HOUR + int(random.random() * 1_500) for hour in hours]
    parts = np.exp(random.normal(0.0, VISITS_DIFFER, len(hours)))
    ends = before + size * np.cumsum(parts) / parts.sum()
    for place, (hour, start) in enumerate(zip(hours, starts, strict=True)):
        leave = min(until[hour], starts[place + 1] - BETWEEN_VISITS if place + 1 < len(hours) else DAY)
        if leave - start > 600:
            yield Visit(midnight + start, midnight + leave - 1, float(ends[place]))


def plan_customer_visits(
    person: Persona, tokens: int, first_day: date, numbers: Numbers
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, room and running tokens of a shopper's visits for so many tokens, about 64k in 31 days."""
    found: list[Visit] = []
    for visit in plan_visits(person, first_day, numbers):
        if not found or visit.tokens > found[-1].tokens:
            found.append(visit)
        if visit.tokens >= tokens:
            break
    columns = zip(*((each.start, each.leave - each.start, each.tokens) for each in found), strict=True)
    starts, room, ends = (np.array(column) for column in columns)
    return starts, room, ends


def draw_gap(random: Random, last: int, kind: int) -> int:
    """Seconds from an action to the next: most short, some long."""
    seconds = USUAL[last][kind] * random.lognormvariate(0.0, SPREAD)
    return LEAST + min(int(seconds), MOST)


def draw_pause(random: Random) -> int:
    """Seconds of an interruption; 0 where there is none."""
    if random.random() > PAUSES:
        return 0
    return int(60 * PAUSE * (1.0 - random.random()) ** (-1.0 / PAUSE_TAIL))


def find_end_of_stretch(hours: list[int], hour: int) -> int:
    """
    >>> find_end_of_stretch([7, 18, 19, 20], 18)
    21
    """
    while hour + 1 in hours:
        hour += 1
    return hour + 1


def date_to_seconds(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY
