"""What the report says of how far a run's logs are from a life, and the same as a page of its own for any log."""

from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import Any

from shopwright.pipeline.evaluate.realism.figures import Curve, Realism
from shopwright.pipeline.evaluate.realism.timing import GAPS
from shopwright.pipeline.evaluate.storage import FOLDER
from shopwright.pipeline.files import write_whole
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.chart_shapes import HIGH, WIDE, Column, Tick, bin_values, format_compact, histogram
from shopwright.pipeline.run import Run

KEPT = "realism.json"


@dataclass(frozen=True)
class Drawing:
    """Columns, dots or both, with a line to compare with."""

    name: str
    said: str
    caption: str
    columns: list[Column]
    ticks: list[Tick]
    dots: list[tuple[float, float]]
    line: list[tuple[float, float]]
    heights: list[tuple[float, str]]
    """Of the axis at the left."""

    @property
    def path(self) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.line)


def keep_realism(run: Path, found: Realism) -> None:
    """Keeps the figures in the run, for its report. Raises Problem where the folder cannot be written."""
    path = run / FOLDER / KEPT
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, found.model_dump_json(indent=1))
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror or error}. Copy the run to where you may write.") from None


def gather_realism_facts(run: Run) -> dict[str, Any] | None:
    """None where nothing was measured, or where the trajectories are others now. Raises Problem for another file."""
    path, manifest = run.folder / FOLDER / KEPT, run.read("trajectories").manifest
    if manifest is None or not path.exists():
        return None
    try:
        found = Realism.model_validate_json(path.read_text(encoding="utf-8"))
    except ValueError:
        raise Problem(
            f"{path} holds no figures. Take it away, or make it again: shopwright evaluate realism --run {run.folder}"
        ) from None
    return describe_realism(found) if found.made == manifest.fingerprint else None


def describe_realism(found: Realism) -> dict[str, Any]:
    """What the section shows."""
    people = {figure.key: figure.format_value() for figure in found.people}
    return {"found": found, "people": people, "drawings": draw_curves(found)}


def write_realism_page(path: Path, found: Realism) -> Path:
    """The section alone, as a page that needs no network. Raises Problem where it cannot be written."""
    from shopwright.pipeline.publish.report import PAGES

    page = PAGES.get_template("realism.html.j2").render(realism=describe_realism(found))
    try:
        write_whole(path, page)
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror or error}. Choose another file.") from None
    return path


def draw_curves(found: Realism) -> list[Drawing]:
    drawn = {
        "gaps": draw_gaps,
        "categories": draw_categories,
        "zipf": draw_zipf,
        "lengths": draw_lengths,
        "places": draw_places,
    }
    return [draw(curve) for key, draw in drawn.items() if (curve := found.find_curve(key)) and curve.x]


def draw_shares(curve: Curve, names: list[str], every: int, name: str, caption: str) -> Drawing:
    """A column for each share; the reference as a line through the middle of the columns."""
    wide, most = WIDE / len(curve.y), max([*curve.y, *curve.reference, 1e-9])
    said = [f"{label}: {100 * share:.1f} %" for label, share in zip(names, curve.y, strict=True)]
    columns = [
        Column(place * wide, HIGH * (1 - share / most), wide, HIGH * share / most, words)
        for place, (share, words) in enumerate(zip(curve.y, said, strict=True))
    ]
    line = [((place + 0.5) * wide, HIGH * (1 - share / most)) for place, share in enumerate(curve.reference)]
    ticks = [Tick((place + 0.5) * wide, label) for place, label in enumerate(names)][::every]
    return Drawing(name, "; ".join(said), caption, columns, ticks, [], line, [(0, f"{100 * most:.0f} %")])


def draw_gaps(curve: Curve) -> Drawing:
    caption = "Gaps between two actions of a customer; a column begins at the time under it. People pause for a minute, an hour and a day."
    return draw_shares(curve, list(GAPS.values()), 3, "Gaps between actions", caption)


def draw_lengths(curve: Curve) -> Drawing:
    names = [f"{length:g}" for length in curve.x]
    return draw_shares(
        curve,
        names,
        1,
        "Words of a search",
        "Share of searches with so many words; the last column holds the longer ones.",
    )


def draw_places(curve: Curve) -> Drawing:
    caption = "Where on the first two pages the clicked product stands. The line: one over the place, as in published click models."
    return draw_shares(curve, [f"{place:g}" for place in curve.x], 5, "Clicks by place on the page", caption)


def draw_categories(curve: Curve) -> Drawing:
    counts = {int(categories): int(customers) for categories, customers in zip(curve.x, curve.y, strict=True)}
    drawn = histogram(*bin_values(counts), " categories")
    caption = "How many customers clicked on products of so many categories."
    return Drawing("Categories that a customer looks at", drawn.said, caption, drawn.columns, drawn.ticks, [], [], [])


def draw_zipf(curve: Curve) -> Drawing:
    """Both axes by powers of ten."""
    wide = max(log10(max(curve.x)), 1e-9)
    high = max(log10(max([*curve.y, *curve.reference])), 1e-9)

    def place(rank: float, clicks: float) -> tuple[float, float]:
        return WIDE * log10(rank) / wide, HIGH * (1 - log10(max(clicks, 1)) / high)

    dots = [place(*each) for each in zip(curve.x, curve.y, strict=True)]
    line = [place(*each) for each in zip(curve.x, curve.reference, strict=True)]
    ticks = [Tick(WIDE * power / wide, format_compact(10**power)) for power in range(int(wide) + 1)]
    heights = [(HIGH * (1 - power / high), format_compact(10**power)) for power in range(int(high) + 1)]
    said = "; ".join(f"rank {rank:.0f}: {clicks:.1f} clicks" for rank, clicks in zip(curve.x, curve.y, strict=True))
    caption = "Clicks of a product by its rank, by powers of ten, and the line through them whose slope is the figure."
    return Drawing("Clicks over products", said, caption, [], ticks, dots, line, heights)
