"""The README's picture: what one customer of a small run did, and a question about it with its answer and the rows that decide it."""

from dataclasses import dataclass
from pathlib import Path

from jinja2 import FileSystemLoader

from shopwright.pipeline.publish.chart_shapes import Dot, time_line
from shopwright.pipeline.publish.pictures import PICTURE_TEMPLATES
from shopwright.pipeline.publish.report_customers import ACTIONS
from shopwright.pipeline.run import Run
from shopwright.schemas.questions import Question
from shopwright.schemas.samples import Trajectory

ROWS, LETTERS = range(2, 5), 110
"""Rows of evidence, and letters of a query, that fit below the time line."""


@dataclass(frozen=True)
class Mark:
    dot: Dot
    decides: bool


def draw_picture(run: Run) -> str:
    """SVG, of the first question of the run that fits and whose rows lie far apart."""
    months = {month.id: month for month in run.read("trajectories")}
    for question in run.read("questions"):
        month = months[question.trajectory_id]
        if fits_picture(question, len(month.events)):
            return render_picture(question, month)
    raise LookupError("No question of this run fits the picture.")


def fits_picture(question: Question, events: int) -> bool:
    rows = question.evidence
    return len(rows) in ROWS and 2 * (max(rows) - min(rows)) > events and len(question.sql) <= LETTERS


def render_picture(question: Question, month: Trajectory) -> str:
    line = time_line([event.model_dump() for event in month.events], ACTIONS)
    assert line, month.id
    pages = PICTURE_TEMPLATES.overlay(loader=FileSystemLoader(Path(__file__).parent))
    return pages.get_template("picture.svg.j2").render(
        line=line,
        marks=[Mark(dot, row in question.evidence) for row, dot in enumerate(line.dots)],
        kinds=ACTIONS,
        question=question,
        events=[month.events[row] for row in question.evidence],
    )
