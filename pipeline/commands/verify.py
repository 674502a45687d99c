"""`shopwright verify`: every check of a run again, from its files alone."""

from typing import Any

from shopwright.pipeline.commands.options import RUN, Parser, add_listed_command, parse_positive
from shopwright.pipeline.commands.output import print_json
from shopwright.pipeline.problem import harmless
from shopwright.pipeline.run import Run


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "verify", [as_json])
    options.add_argument("folder", nargs="?", default=RUN, help=f"the run's folder (default: {RUN})")
    options.add_argument(
        "--workers", type=parse_positive, metavar="N", help="number of processes (default: one for each core)"
    )


def run(folder: str, json: bool, workers: int | None) -> int:
    from shopwright.pipeline.verify import verify

    verdicts = verify(Run(folder, workers=workers))
    failed = [verdict for verdict in verdicts if verdict.failed]
    if json:
        print_json([verdict.as_dict() for verdict in verdicts])
        return 1 if failed else 0
    for verdict in verdicts:
        mark = "FAILED" if verdict.failed else "ok"
        print(f"{verdict.dataset:14} {verdict.check:44} {verdict.rows:>10,} rows  {mark}")
        for place in verdict.places[:10]:
            print(f"    {harmless(place)}")
        if len(verdict.places) > 10:
            print(f"    … and {len(verdict.places) - 10:,} more")
    print(f"\n{len(verdicts) - len(failed)} of {len(verdicts)} checks passed in {folder}")
    return 1 if failed else 0
