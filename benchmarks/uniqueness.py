"""Every task of `shopping_tasks --paper` proved again: exactly one product satisfies it, its certificate has just the variants that do, and
without any one of its needs a second product fits.

    python -m benchmarks.uniqueness                       # builds the 28,147 tasks first, the better part of an hour on one core
    python -m benchmarks.uniqueness --run data/runs/mine

The program in `tests/outside/shopping` reads the Parquet files of catalog, variants and tasks and evaluates needs in plain Python.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.trajectories import machine, write
from shopwright.pipeline.run import Run
from tests.outside.shopping.profiles import check_personal_tasks
from tests.outside.shopping.uniqueness import prove


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="prove the tasks of this run")
    parser.add_argument("--workers", type=int, default=1, help="to build with (default: 1)")
    parser.add_argument("--write", action="store_true", help="keep the figures of this run on the page")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        run = args.run or Path(folder)
        if not args.run:
            Run(run, seed=0, workers=args.workers).build("shopping_tasks", paper=True)
        began = perf_counter()
        findings, personal = prove(run), check_personal_tasks(run)
        seconds = perf_counter() - began
    table = {**findings.table, **personal.table, "seconds on one core": f"{seconds:.0f}"}
    rows = ["| what | figure |", "| --- | --- |", *(f"| {what} | {figure} |" for what, figure in table.items())]
    text = "\n".join(["`python -m benchmarks.uniqueness`", "", *rows, "", machine()])
    faults = [*findings.faults, *personal.faults]
    print(text, *faults[:40], f"{len(faults)} faults", sep="\n")
    if not faults and (args.write or not args.run):
        write("uniqueness", text)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
