"""What the parts of `benchmarks/learning.md` share: the run that they measure, how they are run alone or together, and the page."""

import argparse
import resource
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from benchmarks.trajectories import machine, write
from shopwright.pipeline.publish.learnt import KINDS, keep_learnt
from shopwright.pipeline.run import Run

PAGE = Path(__file__).with_name("learning.md")
SEED = 31
CUSTOMERS = {"trajectories.tokens": "32k", "personas.count": 460}
FEW = {**CUSTOMERS, "personas.count": 20}
FULL: dict[str, dict[str, Any]] = {
    "questions": {**CUSTOMERS, "per_trajectory": 80},
    "behaviors": {**CUSTOMERS, "sessions": 1_500},
    "shopping_episodes": {**CUSTOMERS, "shopping_tasks.count": 1_500, "shopping_tasks.personal": 200},
}
"""The datasets of the run, and what they are built with: some 30,000 questions to learn from."""
QUICK: dict[str, dict[str, Any]] = {
    "questions": {**FEW, "per_trajectory": 15},
    "behaviors": {**FEW, "sessions": 60},
    "shopping_episodes": {**FEW, "shopping_tasks.count": 100, "shopping_tasks.personal": 20},
}
T = TypeVar("T")


class Bench:
    """A run to measure on; what several parts read of it is read once."""

    def __init__(self, run: Run, *, quick: bool = False, say: Callable[[str], None] = print) -> None:
        self.run, self.quick, self.say = run, quick, say
        self.known: dict[Callable[[Run], Any], Any] = {}

    def read(self, reader: Callable[[Run], T]) -> T:
        if reader not in self.known:
            self.known[reader] = reader(self.run)
        return self.known[reader]


class Measured(NamedTuple):
    table: str
    about: str = "."
    """What follows the command on the page."""
    faults: Sequence[str] = ()
    """Gates that were not passed."""


class Part(NamedTuple):
    name: str
    """Its module."""
    section: str
    """Of the page."""
    datasets: tuple[str, ...]
    """Those of the run that it reads."""
    measure: Callable[[Bench], Measured]


def count_cpu_seconds() -> float:
    """Of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def build_datasets(run: Run, datasets: Sequence[str], *, quick: bool) -> None:
    for name, settings in (QUICK if quick else FULL).items():
        if name in datasets:
            run.build(name, **settings)


def measure_parts(
    parts: Sequence[Part], bench: Bench, keep: Callable[[Part, Measured], None]
) -> tuple[dict[str, float], list[str]]:
    """CPU seconds of each part, and what went wrong: a part that fails is named, and the others go on."""
    seconds, faults = {}, list[str]()
    for part in parts:
        begun = count_cpu_seconds()
        try:
            found = part.measure(bench)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the other parts can be measured
            traceback.print_exc()
            faults.append(f"{part.name} failed: {problem!r}")
        else:
            bench.say(f"\n{part.section}\n\n{found.table}\n")
            keep(part, found)
            faults += [f"{part.name}: {fault}" for fault in found.faults]
        seconds[part.name] = count_cpu_seconds() - begun
        bench.say(f"{part.name}: {seconds[part.name]:.0f} CPU seconds")
    return seconds, faults


def tabulate_seconds(seconds: dict[str, float]) -> str:
    rows = {**seconds, "all": sum(seconds.values())}
    return "\n".join(
        ["| part | CPU seconds |", "| --- | --- |", *(f"| `{name}` | {each:,.0f} |" for name, each in rows.items())]
    )


def run_command(name: str, about: str, parts: Sequence[Part]) -> None:
    """`python -m benchmarks.NAME`: builds a run unless one is given, measures the parts, and keeps their figures on the page."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="measure this run's datasets, and keep the tables for its card")
    parser.add_argument(
        "--quick", action="store_true", help="whether it runs: little of everything, and no figures are kept"
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the run that is built (default: {SEED})")
    options = parser.parse_args()
    command = f"python -m benchmarks.{name}" + (" --run RUN" if options.run else "")

    def keep(part: Part, found: Measured) -> None:
        if options.quick:
            return
        write(part.section, f"`{command}`{found.about}\n\n{found.table}\n\n{machine()}", PAGE)
        if options.run and part.section in KINDS:
            keep_learnt(bench.run, part.section, command, found.table, part.datasets)

    with TemporaryDirectory() as folder:
        run = Run(options.run or Path(folder), seed=None if options.run else options.seed, workers=1)
        bench = Bench(run, quick=options.quick, say=lambda line: print(line, flush=True))
        begun = count_cpu_seconds()
        if not options.run:
            build_datasets(run, [dataset for part in parts for dataset in part.datasets], quick=options.quick)
        built = count_cpu_seconds() - begun
        seconds, faults = measure_parts(parts, bench, keep)
    costs = tabulate_seconds({"the run": built, **seconds})
    bench.say(f"\n{costs}")
    if len(parts) > 1 and not options.quick:
        write("seconds", f"`{command}`\n\n{costs}\n\n{machine()}", PAGE)
    if faults:
        sys.exit("\n".join(faults))
