"""What a run looks like, as SVG files that the dataset's card shows."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.publish.chart_shapes import nice
from shopwright.pipeline.publish.report_catalog import catalog_facts
from shopwright.pipeline.publish.report_customers import DAYS, gather_trajectory_facts
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import views_in_place
from shopwright.schemas.questions import Question
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Product
from shopwright.schemas.shopping import ShoppingTask
from shopwright.schemas.tasks import Task

# What XML does not allow.
UNSEEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Marks that turn the direction of what follows.
TURNED = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
BINS = 16
PICTURE_TEMPLATES = Environment(
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


def clean_for_xml(text: object) -> str:
    r"""On one line, without what no XML file may hold and what turns the direction of letters.

    >>> clean_for_xml("a\x00b\nc\u202ed")
    'ab cd'
    """
    return " ".join(TURNED.sub("", UNSEEN.sub("", str(text))).split())


PICTURE_TEMPLATES.filters["visible"] = clean_for_xml


def draw_pictures(run: Run) -> dict[str, str]:
    """Name -> SVG, for those datasets that are there."""
    found: dict[str, str] = {}
    for dataset, views in views_in_place().items():
        if run.read(dataset).manifest:
            found |= {name: run.call(draw) for name, draw in views.pictures.items()}
    return {name: text for name, text in found.items() if text}


def draw_actions(trajectories: Dataset[Trajectory]) -> str:
    facts = gather_trajectory_facts(trajectories)
    mix = facts["mix"]
    most = max([share for _, share, _ in mix] + [wanted for _, _, wanted in mix])
    bars = [Bar(action, share / most, f"{share:.2f} % of {wanted} %", wanted / most) for action, share, wanted in mix]
    return render_picture("actions", bars, counted=facts["total"])


def draw_tokens(trajectories: Dataset[Trajectory]) -> str:
    top = trajectories.sql("select max(tokens) from rows")[0][0] or 1
    step = nice(top / BINS)
    counts = dict(trajectories.sql(f"select tokens // {step}, count(*) from rows group by 1"))
    places = range(min(counts, default=0), top // step + 1)
    bars = ((f"{place * step:,} – {(place + 1) * step:,}", counts.get(place, 0)) for place in places)
    return render_picture("tokens", bars_of(bars))


def draw_hours(trajectories: Dataset[Trajectory]) -> str:
    facts = gather_trajectory_facts(trajectories)
    squares = []
    for day, hour in product(range(7), range(24)):
        count = facts["hours"].get((day, hour), 0)
        squares.append(Square(day, hour, count / facts["busiest"], f"{DAYS[day]} {hour}:00, {count:,}"))
    return render_picture("hours", squares=squares, counted=facts["total"])


def draw_prices(catalog: Dataset[Product]) -> str:
    found = catalog_facts(catalog)["prices"]
    return render_picture(
        "prices", bars_of((f"< {up:,}" if up is not None else "≥ 5,000", count) for up, count in found)
    )


def draw_categories(catalog: Dataset[Product]) -> str:
    return render_picture("categories", bars_of(catalog_facts(catalog)["groups"]))


def draw_difficulty(questions: Dataset[Question]) -> str:
    order = "['easy', 'medium', 'hard']"
    found = questions.sql(
        f"select difficulty, count(*) from rows group by 1 order by list_position({order}, difficulty)"
    )
    return render_picture("difficulty", bars_of(found))


def draw_levels(env_tasks: Dataset[Task]) -> str:
    found = env_tasks.sql("select difficulty, count(*) from rows group by 1 order by 1")
    return render_picture("levels", bars_of((str(level), count) for level, count in found))


def draw_needs(shopping_tasks: Dataset[ShoppingTask]) -> str:
    found = shopping_tasks.sql("select len(needs), count(*) from rows group by 1 order by 1")
    return render_picture("needs", bars_of((str(number), count) for number, count in found))


def bars_of(counts: Iterable[tuple[Any, int]]) -> list[Bar]:
    found = list(counts)
    most = max([count for _, count in found], default=0) or 1
    return [Bar(str(name), count / most, f"{count:,}") for name, count in found]


def render_picture(name: str, bars: Sequence[Bar] = (), *, squares: Sequence[Square] = (), counted: int = 0) -> str:
    """Empty where there is nothing to show."""
    if not bars and not squares:
        return ""
    # The template says in a macro for each picture what stands above it and, in a second line, below.
    said = getattr(PICTURE_TEMPLATES.get_template("pictures.j2").module, name)(f"{counted:,}").split("\n")
    title, note, *_ = [*(" ".join(line.split()) for line in said if line.strip()), ""]
    return PICTURE_TEMPLATES.get_template("picture.svg.j2").render(
        title=title,
        note=note,
        height=(40 + 24 * len(bars) if bars else 200) + 30 * bool(note),
        bars=bars,
        squares=squares,
        days=DAYS,
    )
