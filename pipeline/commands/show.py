"""`shopwright show`: a dataset's first rows."""

from json import dumps
from typing import Any

from shopwright.pipeline.commands.options import Parser, add_listed_command, parse_positive
from shopwright.pipeline.commands.output import print_json
from shopwright.pipeline.problem import Problem, harmless
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "show", [folder, as_json])
    options.add_argument("dataset", help=f"one of: {', '.join(all_stages())}")
    options.add_argument("-n", type=parse_positive, default=3, metavar="ROWS", help="how many rows (default: 3)")
    options.add_argument(
        "--rejected", action="store_true", help="print the rows in quarantine with their reasons instead"
    )


def run(dataset: str, run: str, n: int, json: bool, rejected: bool) -> int:
    found = Run(run).read(dataset)
    if found.manifest is None:
        raise Problem(f"There is no {dataset} in {run}. Build it: shopwright build {dataset} --run {run}")
    records = [record.model_dump(mode="json") for record in (found.quarantine if rejected else found).head(n)]
    if json:
        print_json(records)
        return 0
    for record in records:
        print_record(record)
    if not records:
        print(f"No rows of {dataset} {'are in quarantine' if rejected else 'passed'}.")
    return 0


def print_record(record: dict[str, Any]) -> None:
    for name, value in record.items():
        text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
        lines = text.split("\n")
        shown = [line if len(line) <= 200 else line[:199] + "…" for line in lines[:12]]
        more = [f"… {len(lines) - 12:,} more lines"] if len(lines) > 12 else []
        print(harmless(f"{name:18} " + f"\n{'':18} ".join(shown + more)))
    print()
