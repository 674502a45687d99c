"""The run as one page that needs no network: what was made, how it looks, and what was rejected."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shopwright.pipeline.dataset import Manifest, list_counted_reasons
from shopwright.pipeline.files import write_whole
from shopwright.pipeline.models.role import PromptUsage
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.pictures import TURNED, UNSEEN, clean_for_xml
from shopwright.pipeline.publish.report_customers import DAYS
from shopwright.pipeline.publish.report_first import list_findings
from shopwright.pipeline.publish.report_realism import gather_realism_facts
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages, views_in_place

# Letters of a text that stands in a line; some catalogs have titles of thousands.
LONGEST = 400
# Of one that has lines of its own.
TALLEST = 20_000
REASONS = 20


def shorten_line(text: object, longest: int = LONGEST) -> str:
    """On one line, and no longer than fits.

    >>> shorten_line("a\\n" + 500 * "b")[:4], len(shorten_line(500 * "b"))
    ('a bb', 400)
    """
    found = clean_for_xml(text)
    return found if len(found) <= longest else found[: longest - 1] + "…"


def clean_block(text: object) -> str:
    """On its own lines, and not without end."""
    return TURNED.sub("", UNSEEN.sub("", str(text)))[:TALLEST]


PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["line"] = shorten_line
PAGES.filters["block"] = clean_block
PAGES.filters["number"] = lambda number: f"{number:,}"


def write_report(run: Run) -> Path:
    """Writes `report.html` into the run's folder and returns where it is."""
    path = run.folder / "report.html"
    page = render_report(run)
    try:
        write_whole(path, page)
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror or error}. Copy the run to where you may write.") from None
    return path


def render_report(run: Run, home: str = "") -> str:
    """The page; home: the address that its title leads to, if any. Raises Problem where nothing is finished."""
    manifests = run.manifests()
    if not manifests:
        raise Problem(f"There is no finished dataset in {run.folder}. Build one first: shopwright build --help")
    parts = gather_sections(run, manifests)
    parts["first"] = list_findings(run, manifests, parts)
    there = {key: title for key, title in list_sections().items() if parts[key]}
    return PAGES.get_template("report.html.j2").render(
        folder=run.folder.name, home=home, manifests=manifests, sections=there, days=DAYS, facts=parts, **parts
    )


def list_sections() -> dict[str, str]:
    """Of the page, in order: what the contents call each."""
    sections = list(chain.from_iterable(views.report for views in views_in_place().values()))
    named = {section.key: section.title for section in sections if section.title}
    return (
        {"first": "What to look at first", "made": "What was made"}
        | named
        | {"realism": "Realism", "rejected": "Rejected", "models": "Models"}
    )


def gather_sections(run: Run, manifests: list[Manifest]) -> dict[str, Any]:
    """What each section says; empty where the run has nothing of it."""
    sections = list(chain.from_iterable(views.report for views in views_in_place().values()))
    reasons = {kind: rank_reasons(manifests, kind) for kind in ("rejects", "repairs")}
    return {
        "made": {made.dataset: changed_settings(made) for made in manifests},
        **{section.key: run.call(section.facts) for section in sections},
        "realism": gather_realism_facts(run),
        "rejected": {kind: rows for kind, rows in reasons.items() if rows},
        "models": list(chain.from_iterable(map(list_model_usage, manifests))),
    }


def list_model_usage(made: Manifest) -> Iterator[tuple[str, str, PromptUsage]]:
    """Dataset, prompt and what models were asked with it."""
    for prompt, asked in made.usage.items():
        yield made.dataset, prompt, validate_usage(made, asked)


def validate_usage(made: Manifest, facts: Any) -> PromptUsage:
    try:
        return PromptUsage.model_validate(facts)
    except ValueError:
        raise Problem(
            f"The manifest of {made.dataset} does not tell what models were asked. Build it with --rebuild."
        ) from None


def rank_reasons(manifests: Iterable[Manifest], kind: str) -> list[tuple[str, str, int]]:
    """Dataset, reason and how often, the commonest first; the rarest of many as one."""
    found = sorted(list_counted_reasons(manifests, kind), key=lambda row: (-row[2], row))
    rest = found[REASONS:]
    if not rest:
        return found
    others = sum(count for _, _, count in rest)
    return [*found[:REASONS], ("others", f"{len(rest):,} reasons", others)]


def changed_settings(manifest: Manifest) -> dict[str, Any]:
    """The settings that are not the stage's defaults."""
    known = all_stages()[manifest.dataset].settings
    return {
        name: value
        for name, value in manifest.recipe.settings.items()
        if name in known and known[name].parse(known[name].default) != value
    }
