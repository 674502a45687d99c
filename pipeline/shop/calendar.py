"""When a customer is in the shop: days and sessions by the persona's rhythm, and the seconds between actions."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import numpy as np

from schemas.shop import Persona

MONTH = 31
MONTH_TOKENS = 64_000
"""A month of shopping is as much as ShopTrajQA's: 64k tokens in May 2024."""
BETWEEN_SESSIONS = 600
"""Seconds at least from one session to the next."""
DAY = 86_400
THURSDAY = 3
"""The weekday of day 0, 1970-01-01, Monday being 0."""
DAYS_OFF = 0.08
DRAWS = 12
"""Numbers drawn for a day."""
SEARCH = 0
Numbers = Callable[..., np.random.Generator]
# Seconds from one action (row) to the next (column): the least, and how much more it may be.
LEAST = np.array([[8, 6, 20, 20], [12, 14, 18, 30], [12, 15, 15, 12], [20, 25, 20, 15]])
MORE = np.array([[60, 45, 60, 120], [110, 160, 170, 200], [130, 100, 80, 110], [240, 160, 120, 90]])
NEXT_INTENT = (15, 240)


@dataclass(frozen=True)
class Sessions:
    """Sessions of all customers, one customer after the other; session k is for the tokens up to `tokens[k]`."""

    begins: np.ndarray
    """Where each customer's sessions begin, and the end."""
    starts: np.ndarray
    """Seconds since 1970."""
    room: np.ndarray
    """Seconds until the shopper has to leave."""
    tokens: np.ndarray


def sessions(people: list[Persona], tokens: list[int], first_day: date, numbers: Numbers) -> Sessions:
    """The sessions in which each shopper goes through so many tokens of shop, about 64k in 31 days."""
    plans = [plan(person, size, first_day, numbers) for person, size in zip(people, tokens, strict=True)]
    starts, room, ends = (np.concatenate(column) for column in zip(*plans, strict=True))
    return Sessions(np.concatenate([[0], np.cumsum([len(p[0]) for p in plans])]), starts, room, ends)


def plan(person: Persona, tokens: int, first_day: date, numbers: Numbers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, room and running tokens of one shopper's sessions."""
    random = numbers(person.id, "calendar")
    active = person.active_hours
    until = {hour: end_of_stretch(active, hour) * 3600 for hour in active}
    starts: list[int] = []
    room: list[int] = []
    ends: list[float] = []
    midnight, before = seconds(first_day), 0.0
    while before < tokens:
        draws = random.random((MONTH, DRAWS))
        weekend = (midnight // DAY + THURSDAY + np.arange(MONTH)) % 7 >= 5
        weights = np.where(weekend, person.weekend_factor, 1.0) * (0.4 + 1.2 * draws[:, 1])
        weights[draws[:, 0] < DAYS_OFF] = 0.0
        weights *= MONTH_TOKENS / weights.sum()
        for share, draw in zip(weights.tolist(), draws.tolist(), strict=True):
            if share and before < tokens:
                visits = hours_of_visits(active, draw)
                parts = [0.4 + extra for extra in draw[9 : 9 + len(visits)]]
                scale = share / sum(parts)
                for place, hour in enumerate(visits):
                    start = hour * 3600 + int(draw[6 + place] * 1500)
                    leave = visits[place + 1] * 3600 - BETWEEN_SESSIONS if place + 1 < len(visits) else DAY
                    starts.append(midnight + start)
                    room.append(min(leave, until[hour]) - start - 1)
                    before += scale * parts[place]
                    ends.append(before)
            midnight += DAY
    return np.array(starts), np.array(room), np.array(ends)


def hours_of_visits(active: list[int], draw: list[float]) -> list[int]:
    """One to three hours at which a session begins, at least two hours apart."""
    found = [active[int(draw[3] * len(active))]]
    for place in range(int(draw[2] * 2.6)):
        hour = active[int(draw[4 + place] * len(active))]
        if all(abs(hour - other) >= 2 for other in found):
            found.append(hour)
    return sorted(found)


def end_of_stretch(hours: list[int], hour: int) -> int:
    """
    >>> end_of_stretch([7, 18, 19, 20], 18)
    21
    """
    while hour + 1 in hours:
        hour += 1
    return hour + 1


def seconds(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY


def times(
    begins: np.ndarray, kinds: np.ndarray, units: np.ndarray, before: np.ndarray, plan: Sessions, draws: np.ndarray
) -> np.ndarray:
    """When each event happens, in seconds since 1970: for each customer strictly later than the one before.

    `begins` says where a customer's events begin, `before` how many tokens it had before each event, `draws` is one
    number in [0, 1) for each. Events of one intent (`units`) are in one session; a session that does not fit its room
    goes faster.
    """
    assert before.min() >= 0, "a customer's tokens would reach into the sessions of the one before"
    customer = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    fresh = np.diff(units, prepend=-1) != 0
    fresh[begins[:-1]] = True
    first_of_unit = np.flatnonzero(fresh)
    # Customers' tokens are set so far apart that one search finds the session of each.
    apart = float(max(plan.tokens.max(), before.max()) + 1)
    owner = np.repeat(np.arange(len(begins) - 1), np.diff(plan.begins))
    session_of_unit = np.searchsorted(
        plan.tokens + owner * apart, before[first_of_unit] + customer[first_of_unit] * apart, side="right"
    )
    session = np.repeat(session_of_unit, np.diff(np.append(first_of_unit, len(kinds))))
    last = np.concatenate([[SEARCH], kinds[:-1]])
    gaps = LEAST[last, kinds] + (MORE[last, kinds] * draws * draws).astype(np.int64)
    gaps[first_of_unit] += NEXT_INTENT[0] + ((NEXT_INTENT[1] - NEXT_INTENT[0]) * draws[first_of_unit]).astype(np.int64)
    first_of_session = np.flatnonzero(np.diff(session, prepend=-1))
    length = np.diff(np.append(first_of_session, len(kinds)))
    gaps[first_of_session] = 0
    since = within(gaps, first_of_session, length)
    ends, used = since[first_of_session + length - 1], session[first_of_session]
    tight = ends > plan.room[used]
    if tight.any():
        speed = np.where(tight, plan.room[used] / np.maximum(ends, 1), 1.0)
        gaps = np.maximum((gaps * np.repeat(speed, length)).astype(np.int64), 2)
        gaps[first_of_session] = 0
        since = within(gaps, first_of_session, length)
    return plan.starts[session] + since


def within(gaps: np.ndarray, first_of_session: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Seconds since the session began."""
    total = np.cumsum(gaps)
    return total - np.repeat(total[first_of_session], length)
