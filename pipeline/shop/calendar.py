"""When a customer is in the shop: days and sessions by the persona's rhythm, and the seconds between actions."""

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from schemas.shop import Persona

MONTH = 31
MONTH_TOKENS = 64_000
"""A month of shopping is as much as ShopTrajQA's: 64k tokens in May 2024."""
BETWEEN_SESSIONS = 600
"""Seconds at least from one session to the next."""
SEARCH, CLICK, CART, PURCHASE = range(4)
# Seconds from one action (row) to the next (column): the least, and how much more it may be.
LEAST = np.array([[8, 6, 20, 20], [12, 14, 18, 30], [12, 15, 15, 12], [20, 25, 20, 15]])
MORE = np.array([[60, 45, 60, 120], [110, 160, 170, 200], [130, 100, 80, 110], [240, 160, 120, 90]])
NEXT_INTENT = (15, 240)


@dataclass(frozen=True)
class Sessions:
    """Sessions in order; session k is for the tokens up to `tokens[k]`."""

    starts: np.ndarray
    """Seconds since 1970."""
    room: np.ndarray
    """Seconds until the shopper has to leave."""
    tokens: np.ndarray


def sessions(persona: Persona, numbers: np.random.Generator, first_day: date, tokens: int) -> Sessions:
    """The sessions in which a shopper goes through so many tokens of shop, about 64k in 31 days."""
    starts: list[int] = []
    room: list[int] = []
    ends: list[float] = []
    before = 0.0
    while before < tokens:
        draws = numbers.random((MONTH, 16)).tolist()
        weights = [weight(persona, first_day + timedelta(day), draw) for day, draw in enumerate(draws)]
        scale = MONTH_TOKENS / sum(weights)
        for day, (share, draw) in enumerate(zip(weights, draws, strict=True)):
            if share == 0:
                continue
            visits = hours_of_visits(persona, draw)
            parts = [0.4 + draw[12 + place] for place in range(len(visits))]
            midnight = seconds(first_day + timedelta(day))
            for place, hour in enumerate(visits):
                start = hour * 3600 + int(draw[9 + place] * 1500)
                until = visits[place + 1] * 3600 - BETWEEN_SESSIONS if place + 1 < len(visits) else 86_400
                starts.append(midnight + start)
                room.append(min(until, end_of_stretch(persona.active_hours, hour) * 3600) - start - 1)
                before += share * scale * parts[place] / sum(parts)
                ends.append(before)
        first_day += timedelta(MONTH)
    return Sessions(np.array(starts), np.array(room), np.array(ends))


def weight(persona: Persona, day: date, draw: list[float]) -> float:
    """How much of the month's shopping is done on a day; 0 on a day off."""
    if draw[0] < 0.08:
        return 0.0
    return (persona.weekend_factor if day.weekday() >= 5 else 1.0) * (0.4 + 1.2 * draw[1])


def hours_of_visits(persona: Persona, draw: list[float]) -> list[int]:
    """One to three hours at which a session begins, at least two hours apart."""
    found: list[int] = []
    for place in range(1 + int(draw[2] * 2.6)):
        hour = persona.active_hours[int(draw[3 + place] * len(persona.active_hours))]
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
    return (day - date(1970, 1, 1)).days * 86_400


def times(kinds: np.ndarray, units: np.ndarray, before: np.ndarray, plan: Sessions, draws: np.ndarray) -> np.ndarray:
    """When each event happens, in seconds since 1970: strictly later than the one before.

    `before` is the number of tokens before each event, `draws` one number in [0, 1) for each. Events of one intent
    (`units`) are in one session; a session that does not fit its room goes faster.
    """
    first_of_unit = np.flatnonzero(np.diff(units, prepend=-1))
    session_of_unit = np.searchsorted(plan.tokens, before[first_of_unit], side="right")
    session = session_of_unit[np.searchsorted(first_of_unit, np.arange(len(kinds)), side="right") - 1]
    last = np.concatenate([[SEARCH], kinds[:-1]])
    gaps = LEAST[last, kinds] + (MORE[last, kinds] * draws * draws).astype(np.int64)
    gaps[first_of_unit] += NEXT_INTENT[0] + ((NEXT_INTENT[1] - NEXT_INTENT[0]) * draws[first_of_unit]).astype(np.int64)
    first_of_session = np.flatnonzero(np.diff(session, prepend=-1))
    gaps[first_of_session] = 0
    since = within(gaps, first_of_session)
    ends = since[np.append(first_of_session[1:], len(kinds)) - 1]
    used = session[first_of_session]
    tight = ends > plan.room[used]
    if tight.any():
        speed = np.where(tight, plan.room[used] / np.maximum(ends, 1), 1.0)
        length = np.diff(np.append(first_of_session, len(kinds)))
        gaps = np.maximum((gaps * np.repeat(speed, length)).astype(np.int64), 2)
        gaps[first_of_session] = 0
        since = within(gaps, first_of_session)
    return plan.starts[session] + since


def within(gaps: np.ndarray, first_of_session: np.ndarray) -> np.ndarray:
    """Seconds since the session began."""
    total = np.cumsum(gaps)
    length = np.diff(np.append(first_of_session, len(gaps)))
    return total - np.repeat(total[first_of_session], length)
