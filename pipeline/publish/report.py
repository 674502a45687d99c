"""The run as one page that needs no network: what was made, how it looks, and what was turned away."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.dataset import Manifest
from pipeline.files import write_whole
from pipeline.models.role import Asked
from pipeline.problem import Problem
from pipeline.publish import behaviors, report_envs, report_questions, report_search, report_world, shopping
from pipeline.publish.pictures import TURNED, UNSEEN, visible
from pipeline.publish.report_charts import audits
from pipeline.publish.report_envs import audited
from pipeline.run import Run
from pipeline.stages import all_stages

LONGEST = 400
"""Letters of a text that stands in a line; some catalogs have titles of thousands."""
TALLEST = 20_000
"""Of one that has lines of its own."""
REASONS = 20
PEOPLE = 4
SECTIONS = {
    "made": "What was made",
    "catalog": "Catalog",
    "customers": "Customers",
    "questions": "Questions",
    "answers": "Answers",
    "environments": "Environments",
    "audit": "Audit",
    "tasks": "Shopping tasks",
    "sessions": "Sessions",
    "rejected": "Turned away",
    "models": "Models",
}
"""Of the page, in order: what the contents call each."""


def line_of(text: object, longest: int = LONGEST) -> str:
    """On one line, and no longer than fits.

    >>> line_of("a\\n" + 500 * "b")[:4], len(line_of(500 * "b"))
    ('a bb', 400)
    """
    found = visible(text)
    return found if len(found) <= longest else found[: longest - 1] + "…"


def block_of(text: object) -> str:
    """On its own lines, and not without end."""
    return TURNED.sub("", UNSEEN.sub("", str(text)))[:TALLEST]


PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["line"] = line_of
PAGES.filters["block"] = block_of
PAGES.filters["number"] = lambda number: f"{number:,}"


def write_report(run: Run) -> Path:
    """Writes `report.html` into the run's folder and returns where it is."""
    path = run.folder / "report.html"
    page = report(run)
    try:
        write_whole(path, page)
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror or error}. Copy the run to where you may write.") from None
    return path


def report(run: Run) -> str:
    """The page. Raises Problem where nothing is finished."""
    manifests = [found for name in all_stages() if (found := run.read(name).manifest)]
    if not manifests:
        raise Problem(f"There is no finished dataset in {run.folder}. Build one first: shopwright build --help")
    parts = parts_of(run, manifests)
    there = {key: title for key, title in SECTIONS.items() if parts[key]}
    return PAGES.get_template("report.html.j2").render(
        folder=run.folder.name, manifests=manifests, sections=there, days=report_world.DAYS, **parts
    )


def parts_of(run: Run, manifests: list[Manifest]) -> dict[str, Any]:
    """What each section says; empty where the run has nothing of it."""
    audit = audited(run.folder / "audit.json")
    return {
        "made": {made.dataset: changed_settings(made) for made in manifests},
        "catalog": report_world.facts_of_catalog(run),
        "search": report_search.facts(run),
        "customers": report_world.customers(run),
        "people": [person.description for person in run.read("personas").head(PEOPLE)],
        "questions": report_questions.facts(run),
        "answers": report_questions.evaluated(run),
        "environments": report_envs.facts(run),
        "audit": audit and audit | {"drawn": audits(audit)},
        "tasks": shopping.facts(run),
        "sessions": behaviors.facts(run.folder),
        "rejected": {kind: tallied(manifests, kind) for kind in ("rejects", "repairs") if tallied(manifests, kind)},
        "models": [
            (made.dataset, prompt, asked_in(made, asked)) for made in manifests for prompt, asked in made.asked.items()
        ],
    }


def asked_in(made: Manifest, told: Any) -> Asked:
    try:
        return Asked.model_validate(told)
    except ValueError:
        raise Problem(
            f"The manifest of {made.dataset} does not tell what models were asked. Build it with --rebuild."
        ) from None


def tallied(manifests: Iterable[Manifest], kind: str) -> list[tuple[str, str, int]]:
    """Dataset, reason and how often, the commonest first; the rarest of many as one."""
    found = [(made.dataset, reason, count) for made in manifests for reason, count in getattr(made, kind).items()]
    found.sort(key=lambda row: (-row[2], row))
    rest = found[REASONS:]
    return found[:REASONS] + ([("others", f"{len(rest):,} reasons", sum(row[2] for row in rest))] if rest else [])


def changed_settings(manifest: Manifest) -> dict[str, Any]:
    """The settings that are not the stage's defaults."""
    known = all_stages()[manifest.dataset].settings
    return {
        name: value
        for name, value in manifest.recipe.settings.items()
        if name in known and known[name].parse(known[name].default) != value
    }
