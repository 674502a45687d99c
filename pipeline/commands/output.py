"""What the commands have in common after parsing: a dataset that must be there, and how they print."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.problem import Problem, harmless
from shopwright.pipeline.run import Run

# Defaults that say nothing, so `list` leaves them out.
NOTHING: tuple[Any, ...] = (None, "", {}, False)


def open_finished_dataset(run: str, dataset: str) -> Any:
    """Raises Problem where it is not there."""
    found = Run(run).read(dataset)
    if found.manifest is None:
        raise Problem(f"There is no {dataset} dataset in {run}. Build it: shopwright build {dataset} --run {run}")
    return found


def print_to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def print_tables(tables: Sequence[Table]) -> None:
    """Those that have rows."""
    print("\n\n".join(str(table) for table in tables if table.rows))


def print_json(value: Any) -> None:
    print(harmless(json.dumps(value, indent=2, ensure_ascii=False, default=str)))


def format_option_value(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
