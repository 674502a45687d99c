"""`shopwright evaluate` and `shopwright audit` of whatever is a situation.

A module of a kind says what is its own: `ABOUT` and `EXAMPLE` (for an audit `AUDIT_ABOUT` and `AUDIT` too), `ROLES` and where the `SAMPLING`
of each is, options of both commands (`add_selection`) and, where it has some, of an evaluation alone (`add_options`), and how it is opened (`open_situation`).
"""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from shopwright.pipeline.commands.models import add_players, choose_agent
from shopwright.pipeline.commands.options import Parser, add_command, parse_positive
from shopwright.pipeline.commands.output import print_json, print_tables, print_to_stderr
from shopwright.pipeline.evaluate.audit import audit, tabulate_audit, write_audit
from shopwright.pipeline.evaluate.situation import SOLVER, evaluate
from shopwright.pipeline.evaluate.storage import get_results_path, write_results
from shopwright.pipeline.files import path_of
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import resolve_reference

# Where replies are kept when there is no run.
NO_RUN = "data/runs/evaluations"


def add_evaluation(kind: Any, kinds: Any, name: str, as_json: Parser) -> None:
    options = add_command(kinds, name, kind.ABOUT, [as_json], kind.EXAMPLE)
    kind.add_selection(options)
    if hasattr(kind, "add_options"):
        kind.add_options(options)
    add_players(options, *kind.ROLES)
    options.add_argument(
        "--to", metavar="FILE", help="write a row for each try as Parquet (default: into RUN/evaluations, replaced)"
    )


def add_audit(kind: Any, kinds: Any, name: str, as_json: Parser) -> None:
    options = add_command(kinds, name, kind.AUDIT_ABOUT, [as_json], kind.AUDIT)
    kind.add_selection(options)
    options.add_argument(
        "--workers", type=parse_positive, metavar="N", help="number of processes (default: one for each core)"
    )


def run_evaluation(
    kind: Any, what: str, run: str | None, to: str | None, recipe: str | None, json: bool, **given: Any
) -> int:
    """Plays all, keeps the rows in the run or in another file, writes the run's report again, and prints the figures."""
    sampling: dict[str, Any] = {role: resolve_reference(where) for role, where in kind.SAMPLING.items()}
    agent, models = choose_agent(given, recipe, run or NO_RUN, what, sampling)
    situation, dataset = kind.open_situation(run, what, agent, models, **given)
    answered = evaluate(situation, agent, print_to_stderr)
    rows, lines = answered.rows, [str(answered)]
    if run is not None or to:
        path = Path(to) if to else get_results_path(path_of(run or ""), situation.name, rows[0].policy)
        write_results(situation.makes, rows, path, tell_made(dataset, given) | situation.facts())
        lines.append(f"rows       {path}")
    if run is not None:
        lines.append(f"report     {write_report_again(run)}")
    if json:
        print_json(situation.figures(rows) | {"answered": len(rows), "asked": answered.asked})
    else:
        print_tables(situation.tables(rows))
        print("\n" + "\n".join([*situation.notes(rows), *lines]))
    return 0


def run_audit(kind: Any, what: str, run: str | None, workers: int | None, json: bool, **given: Any) -> int:
    """Every player on all, kept in the run and in its report; 1 where something is wrong."""
    from shopwright.pipeline.run import count_cores
    from shopwright.pipeline.runners import open_process_pool

    situation, dataset = kind.open_situation(run, what, SOLVER, Models(), **given)
    situation = situation.for_audit()
    pieces, count = situation.pieces(), workers or count_cores()
    with open_process_pool(count) if min(count, len(pieces)) > 1 else nullcontext() as executor:
        cells = audit(pieces, executor=executor)
    verdict = situation.judge(cells)
    found = tell_made(dataset, given) | verdict.to_json() | {"cells": [cell.to_json() for cell in cells]}
    if run is not None:
        write_audit(path_of(run), situation.name, found)
        write_report_again(run)
    if json:
        print_json(found)
    else:
        print_tables([tabulate_audit(cells, situation.audited)])
        print("".join(f"\n{line}\n" for line in verdict.lines()), end="")
    return 1 if verdict.failed else 0


def tell_made(dataset: Any, given: dict[str, Any]) -> dict[str, str]:
    """Of which rows of a dataset results are; of environments the last dataset of their shop."""
    split = {"split": given["split"]} if given.get("split") else {}
    return {**split, "made": dataset.manifest.fingerprint} if dataset else {}


def write_report_again(run: str) -> Path:
    from shopwright.pipeline.publish.report import write_report

    return write_report(Run(run))
