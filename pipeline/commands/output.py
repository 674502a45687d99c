"""What the commands have in common after parsing: a dataset that must be there, and how they print."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from pipeline.problem import Problem, harmless
from pipeline.run import Run

NOTHING: tuple[Any, ...] = (None, "", {}, False)
"""Defaults that need not be told."""


def whole(run: str, dataset: str) -> Any:
    """Raises Problem where it is not there."""
    found = Run(run).read(dataset)
    if found.manifest is None:
        raise Problem(f"There is no {dataset} dataset in {run}. Build it: shopwright build {dataset} --run {run}")
    return found


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def print_tables(tables: Sequence[Sequence[Sequence[str]]]) -> None:
    """Those that have rows."""
    from pipeline.envs.audit import aligned

    print("\n\n".join(aligned(table) for table in tables if len(table) > 1))


def print_json(value: Any) -> None:
    print(harmless(json.dumps(value, indent=2, ensure_ascii=False, default=str)))


def words(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
