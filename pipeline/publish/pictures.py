"""What a run looks like, as SVG files that the dataset's card shows."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.publish.report_charts import nice
from pipeline.publish.report_world import DAYS, catalog_facts, trajectory_facts
from pipeline.run import Run

UNSEEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML does not allow."""
TURNED = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of what follows."""
BINS = 16
DRAWN = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True)
class Bar:
    label: str
    share: float
    """Of the room that there is."""
    shown: str
    target: float | None = None


@dataclass(frozen=True)
class Square:
    day: int
    hour: int
    share: float
    shown: str


def visible(text: object) -> str:
    r"""On one line, without what no XML file may hold and what turns the direction of letters.

    >>> visible("a\x00b\nc\u202ed")
    'ab cd'
    """
    return " ".join(TURNED.sub("", UNSEEN.sub("", str(text))).split())


DRAWN.filters["visible"] = visible


def pictures(run: Run) -> dict[str, str]:
    """Name -> SVG, for those datasets that are there."""
    found = {name: draw(run) for name, (dataset, draw) in DRAWINGS.items() if run.read(dataset).manifest}
    return {name: text for name, text in found.items() if text}


def actions(run: Run) -> str:
    facts = trajectory_facts(run)
    mix = facts["mix"]
    most = max([share for _, share, _ in mix] + [wanted for _, _, wanted in mix])
    bars = [Bar(action, share / most, f"{share:.2f} % of {wanted} %", wanted / most) for action, share, wanted in mix]
    return drawn("actions", bars, looked_at=facts["looked_at"])


def tokens(run: Run) -> str:
    trajectories = run.read("trajectories")
    top = trajectories.sql("select max(tokens) from rows")[0][0] or 1
    step = nice(top / BINS)
    counts = dict(trajectories.sql(f"select tokens // {step}, count(*) from rows group by 1"))
    places = range(min(counts, default=0), top // step + 1)
    bars = ((f"{place * step:,} – {(place + 1) * step:,}", counts.get(place, 0)) for place in places)
    return drawn("tokens", bars_of(bars))


def hours(run: Run) -> str:
    facts = trajectory_facts(run)
    squares = [
        Square(day, hour, count / facts["busiest"], f"{DAYS[day]} {hour}:00, {count:,}")
        for day in range(7)
        for hour in range(24)
        for count in [facts["hours"].get((day, hour), 0)]
    ]
    return drawn("hours", squares=squares, looked_at=facts["looked_at"])


def prices(run: Run) -> str:
    found = catalog_facts(run.read("catalog"))["prices"]
    return drawn("prices", bars_of((f"< {up:,}" if up is not None else "≥ 5,000", count) for up, count in found))


def categories(run: Run) -> str:
    return drawn("categories", bars_of(catalog_facts(run.read("catalog"))["groups"]))


def difficulty(run: Run) -> str:
    order = "['easy', 'medium', 'hard']"
    found = run.read("questions").sql(
        f"select difficulty, count(*) from rows group by 1 order by list_position({order}, difficulty)"
    )
    return drawn("difficulty", bars_of(found))


def levels(run: Run) -> str:
    found = run.read("env_tasks").sql("select difficulty, count(*) from rows group by 1 order by 1")
    return drawn("levels", bars_of((str(level), count) for level, count in found))


def needs(run: Run) -> str:
    found = run.read("shopping_tasks").sql("select len(needs), count(*) from rows group by 1 order by 1")
    return drawn("needs", bars_of((str(number), count) for number, count in found))


DRAWINGS: dict[str, tuple[str, Callable[[Run], str]]] = {
    "actions": ("trajectories", actions),
    "tokens": ("trajectories", tokens),
    "hours": ("trajectories", hours),
    "prices": ("catalog", prices),
    "categories": ("catalog", categories),
    "difficulty": ("questions", difficulty),
    "levels": ("env_tasks", levels),
    "needs": ("shopping_tasks", needs),
}
"""Name -> the dataset that it is of, and how it is drawn."""


def bars_of(counts: Iterable[tuple[Any, int]]) -> list[Bar]:
    found = list(counts)
    most = max([count for _, count in found], default=0) or 1
    return [Bar(str(name), count / most, f"{count:,}") for name, count in found]


def drawn(name: str, bars: Sequence[Bar] = (), *, squares: Sequence[Square] = (), looked_at: int = 0) -> str:
    """Empty where there is nothing to show."""
    if not bars and not squares:
        return ""
    title, note = told(name, looked_at)
    return DRAWN.get_template("picture.svg.j2").render(
        title=title,
        note=note,
        height=(40 + 24 * len(bars) if bars else 200) + 30 * bool(note),
        bars=bars,
        squares=squares,
        days=DAYS,
    )


def told(name: str, looked_at: int) -> tuple[str, str]:
    """What stands above and below a picture, as its template says it."""
    said = getattr(DRAWN.get_template("pictures.j2").module, name)(f"{looked_at:,}").split("\n")
    title, note, *_ = [*(" ".join(line.split()) for line in said if line.strip()), ""]
    return title, note
