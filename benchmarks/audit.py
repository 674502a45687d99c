"""The audit of the environments as a table: how the best of the cheap players does, over all levels that have bounds and at some of them.

    shopwright audit envs --levels 0-12 --episodes 200 --json > all.json
    python -m benchmarks.audit "the sample shop" all.json --keep

The environments may be audited one by one, each into a file of its own.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.trajectories import write
from shopwright.pipeline.envs.evaluate import PAID_FROM, measure_over_levels
from shopwright.pipeline.evaluate.audit import AuditCell, parse_audit_cell
from shopwright.pipeline.evaluate.situation import SOLVER
from shopwright.pipeline.evaluate.verdict import parse_verdict

SHOWN = (3, 6, 12)
"""Levels of which each has a figure of its own."""
HEADS = (
    "env",
    "tasks of a level",
    f"best player over the levels from {PAID_FROM} on, %",
    f"best at {', '.join(map(str, SHOWN))}, %",
    "highest mean reward",
    "solver, %",
)


def tabulate_audits(audits: Sequence[dict[str, Any]]) -> str:
    """A line for each env; below it what fails."""
    lines = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}"]
    cells = [parse_audit_cell(each) for audit in audits for each in audit["cells"]]
    for env in dict.fromkeys(cell.group["env"] for cell in cells):
        lines.append(f"| {' | '.join(describe_env([cell for cell in cells if cell.group['env'] == env]))} |")
    failed = [line for audit in audits for line in parse_verdict(audit).list_failures()]
    over_levels = [line for line in failed if " level " not in line]
    at_levels = f"{len(failed) - len(over_levels)} bounds at single levels" if len(failed) > len(over_levels) else ""
    return "\n".join([*lines, "", f"Fails: {'; '.join(filter(None, [*over_levels, at_levels])) or 'nothing'}."])


def describe_env(cells: Sequence[AuditCell]) -> list[str]:
    played = [cell for cell in cells if cell.episodes and cell.policy != SOLVER]
    bounded = [cell for cell in played if cell.group["level"] >= PAID_FROM]
    solver = [cell for cell in cells if cell.policy == SOLVER]
    counts = {cell.episodes for cell in solver}
    over = measure_over_levels(bounded)
    env, player = max(over, key=lambda each: over[each].share)
    return [
        f"`{env}`",
        f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}",
        f"{player} {over[env, player].format_interval()}",
        " / ".join(f"{find_best(bounded, level):.1f}" for level in SHOWN),
        f"{max(cell.parts['reward'] for cell in bounded):+.2f}",
        f"{100 * min(cell.success.share for cell in solver if cell.episodes):.0f}",
    ]


def find_best(cells: Iterable[AuditCell], level: int) -> float:
    """The success of the best player at a level, in percent; not a number where none was played."""
    return 100 * max((cell.success.share for cell in cells if cell.group["level"] == level), default=float("nan"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shop", help="as the table's marks in benchmarks/README.md call it")
    parser.add_argument("files", nargs="+", help="what `shopwright audit envs --json` printed")
    parser.add_argument("--keep", action="store_true", help="write the table to benchmarks/README.md")
    given = parser.parse_args(arguments)
    text = tabulate_audits([json.loads(Path(each).read_text(encoding="utf-8")) for each in given.files])
    print(text)
    if given.keep:
        write(f"audit of {given.shop}", text)


if __name__ == "__main__":
    main()
