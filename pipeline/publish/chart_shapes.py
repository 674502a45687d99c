"""Figures as shapes: where each bar, square, dot and line of a picture stands, and the picture in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

# Of the room for the columns of a histogram.
WIDE, HIGH = 360, 120
TICKS = 7
MONTH = 31
# Of the room for a time line, and of one of its lines.
LONG, LINE, TALLEST = 300, 17, 900
# For a search, a click, a cart, a purchase.
ROOM = (5.5, 7.5, 15.0, 15.0)
FOR_HOUR = 32
# After it another visit begins.
PAUSE = timedelta(minutes=30)
# Of the room for the lines of an audit.
SMALL, LOW = 150, 84


@dataclass(frozen=True)
class Column:
    x: float
    y: float
    width: float
    height: float
    said: str


@dataclass(frozen=True)
class Tick:
    x: float
    text: str


@dataclass(frozen=True)
class Histogram:
    columns: list[Column]
    ticks: list[Tick]
    said: str


def histogram(edges: Sequence[float | None], counts: Sequence[int], unit: str = "") -> Histogram:
    """
    edges: one more than counts; None at the end: without bound.

    >>> drawn = histogram([0, 5, 10], [3, 1], " tokens")
    >>> drawn.said, [(one.x, one.height) for one in drawn.columns], [tick.text for tick in drawn.ticks]
    ('0 to 5 tokens: 3; 5 to 10 tokens: 1', [(0.0, 120.0), (180.0, 40.0)], ['0', '5', '10'])
    """
    wide, most = WIDE / max(len(counts), 1), max(counts, default=0) or 1
    said = []
    for low, up, count in zip(edges, edges[1:], counts, strict=False):
        span = f"from {low:,}" if up is None else f"{low:,} to {up:,}"
        said.append(f"{span}{unit}: {count:,}")
    columns = [
        Column(place * wide, HIGH * (1 - count / most), wide, HIGH * count / most, words)
        for place, (count, words) in enumerate(zip(counts, said, strict=True))
    ]
    every = -(-len(edges) // TICKS)
    ticks = [Tick(place * wide, format_compact(edge)) for place, edge in enumerate(edges) if edge is not None][::every]
    return Histogram(columns, ticks, "; ".join(words for words, count in zip(said, counts, strict=True) if count))


def bin_values(values: Mapping[int, int], bins: int = 16) -> tuple[list[int], list[int]]:
    """Edges at round numbers, and how many stand between each two; of each value is said how many there are.

    >>> bin_values({5: 1, 12: 2, 31: 1}, 3)
    ([0, 10, 20, 30, 40], [1, 2, 0, 1])
    """
    if not values:
        return [0], []
    step = nice((max(values) - min(values)) / bins)
    first = min(values) // step
    counts = [0] * (max(values) // step - first + 1)
    for value, count in values.items():
        counts[value // step - first] += count
    return [(first + place) * step for place in range(len(counts) + 1)], counts


def nice(step: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50 ...

    >>> nice(437), nice(0.2), nice(5_100)
    (500, 1, 10000)
    """
    ten = 1
    while ten * 10 < step:
        ten *= 10
    return next(ten * each for each in (1, 2, 5, 10) if ten * each >= step)


def format_compact(number: float) -> str:
    """
    >>> [format_compact(each) for each in (5, 1_000, 1_500, 64_000, 2_000_000)]
    ['5', '1k', '1.5k', '64k', '2m']
    """
    for size, letter in ((1_000_000, "m"), (1_000, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    kind: str
    said: str
    number: int
    """Of a cart or a purchase, in the list beside the picture; 0 for the others."""


@dataclass(frozen=True)
class Word:
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class TimeLine:
    dots: list[Dot]
    days: list[Word]
    hours: list[Word]
    """When a visit begins."""
    bought: list[dict[str, Any]]
    """Carts and purchases, numbered from 1."""
    counts: dict[str, int]
    first: datetime
    last: datetime
    height: float


def time_line(events: Sequence[dict[str, Any]], kinds: Sequence[str]) -> TimeLine | None:
    """A month at most of a customer's events in their order: a line or more for each day, the visits of a day apart.

    kinds: a search, a click, a cart and a purchase; a line that has no room left goes on in the next.
    """
    if not events:
        return None
    end = events[0]["timestamp"] + timedelta(days=MONTH)
    shown = [event for event in events if event["timestamp"] < end]
    room = dict(zip(kinds, ROOM, strict=True))
    dots, days, hours, bought = list[Dot](), list[Word](), list[Word](), list[dict[str, Any]]()
    x, y, before = 0.0, -LINE / 2, None
    for place, event in enumerate(shown):
        at, kind = event["timestamp"], event["action_type"]
        first = before is None or at.date() != before.date()
        visit = first or at - before > PAUSE
        if first or x + room[kind] + FOR_HOUR * visit > LONG:
            if y + LINE > TALLEST:
                shown = shown[:place]
                break
            x, y = 0.0, y + LINE
        days += [Word(0, y, f"{at:%b} {at.day}")] if first else []
        hours += [Word(x, y, f"{at:%H:%M}")] if visit else []
        bought += [event | {"number": len(bought) + 1}] if kind in kinds[2:] else []
        x += FOR_HOUR * visit + room[kind] / 2
        what = event["search_query"] if kind == kinds[0] else event["product_name"]
        dots.append(Dot(x, y, kind, f"{at:%Y-%m-%d %H:%M} {kind}: {what}", len(bought) if kind in kinds[2:] else 0))
        x, before = x + room[kind] / 2, at
    done = Counter(event["action_type"] for event in shown)
    counts = {kind: done[kind] for kind in kinds}
    return TimeLine(dots, days, hours, bought, counts, shown[0]["timestamp"], shown[-1]["timestamp"], y + LINE / 2)


@dataclass(frozen=True)
class Line:
    policy: str
    points: list[tuple[float, float]]

    @property
    def path(self) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


@dataclass(frozen=True)
class Audit:
    """One environment: rewards from -1 below to 1 above, levels from left to right."""

    env: str
    solver: Line | None
    others: list[Line]
    ticks: list[Tick]
    said: str


def audits(found: dict[str, Any], solver: str = "solver") -> list[Audit]:
    """Of what `report_envs.read_env_audit` gives, one for each environment."""
    levels = found["levels"]
    step = SMALL / max(len(levels) - 1, 1)
    places = [place * step if len(levels) > 1 else SMALL / 2 for place in range(len(levels))]
    ticks = [Tick(x, str(level)) for x, level in zip(places, levels, strict=True)]
    drawn = []
    for env in dict.fromkeys(env for env, _, _ in found["rows"]):
        rows = {policy: cells for name, policy, cells in found["rows"] if name == env}
        lines = {policy: Line(policy, points(cells, places)) for policy, cells in rows.items()}
        others = [line for policy, line in lines.items() if policy != solver]
        said = "; ".join(describe_level(level, rows, place, solver) for place, level in enumerate(levels))
        drawn.append(Audit(env, lines.get(solver), others, ticks, said))
    return drawn


def points(cells: Sequence[Any], places: Sequence[float]) -> list[tuple[float, float]]:
    """What was not played has none."""
    return [
        (x, LOW * (1 - cell.parts["reward"]) / 2)
        for x, cell in zip(places, cells, strict=True)
        if cell and cell.episodes
    ]


def describe_level(level: int, rows: dict[str, Any], place: int, solver: str) -> str:
    """What the solver earned at a level, and the best of the others."""
    played = {policy: cell for policy, cells in rows.items() if (cell := cells[place]) and cell.episodes}
    earned = {policy: cell.parts["reward"] for policy, cell in played.items()}
    best = max((policy for policy in earned if policy != solver), key=lambda policy: earned[policy], default="")
    own = f"solver {earned[solver]:+.2f}" if solver in earned else "no solver"
    return f"level {level}: {own}" + (f", best other {best.replace('-', ' ')} {earned[best]:+.2f}" if best else "")
