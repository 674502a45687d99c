"""How the seconds and the memory of each stage grow when its work is four and sixteen times as much.

    python -m benchmarks.growth                          # every stage, some twenty minutes
    python -m benchmarks.growth --only questions         # one, and what it is made from, which is built but not told
    python -m benchmarks.growth --quick                  # a sixteenth of the work: whether it runs, no figures

Each stage is built by a process of its own with one worker, from inputs that are there. Work of the catalog's stages is its products;
that of the others what is asked for (customers, sessions, tasks) with a catalog that stays as it is. Seconds are those of the
processor, of all its processes but the sandbox's, which has a session of its own: other programs change them less than the time on the
clock. Figures go into benchmarks/README.md.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.steps import usage
from benchmarks.trajectories import machine, write
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages, upstream

FACTORS = (1, 4, 16)
LEAST = {
    "catalog.products": 4_000,
    "personas.count": 48,
    "behaviors.sessions": 75,
    "env_tasks.count": 1,
    "shopping_tasks.count": 60,
    "shopping_tasks.personal": 12,
}
"""The settings that are work, and how much of each is once the work."""
PRODUCTS = "catalog.products"
USUAL = 4
"""Times its least: the catalog that all but its own stages are built from."""
FIXED = {"trajectories.tokens": "64k", "questions.per_trajectory": 4, "catalog_fine.leaves": 1}
QUICK = 8
GOAL = 1.15
"""The exponent that asks for an explanation."""


@dataclass(frozen=True)
class Grown:
    """One build: how much work it was, and what it took."""

    work: float
    rows: int
    seconds: float
    clock: float
    peak_mb: float


def work_of(name: str) -> str:
    """The setting that is a dataset's work: its own, or that of the first that it reads which is not the catalog's.

    >>> work_of("personas"), work_of("orders"), work_of("variants"), work_of("behavior_steps")
    ('personas.count', 'personas.count', 'catalog.products', 'behaviors.sessions')
    """
    own = [f"{name}.{setting}" for setting in all_stages()[name].settings]
    found = [setting for setting in LEAST if setting in own] or [work_of(each) for each in all_stages()[name].reads]
    if not found:
        raise LookupError(f"{name} has no setting that is work: add it to LEAST in {__name__}.")
    return next((setting for setting in found if setting != PRODUCTS), found[0])


def settings_of(name: str, factor: float) -> dict[str, Any]:
    """What a dataset is built with when its work is so many times the least."""
    given = {key: max(1, round(most * factor)) for key, most in LEAST.items()} | FIXED
    return {key.partition(".")[2]: value for key, value in given.items() if key.partition(".")[0] == name}


def exponent(work: Sequence[float], seconds: Sequence[float]) -> float:
    """That of the seconds, by least squares on logarithms; not a number where the work does not grow.

    >>> round(exponent([1, 4, 16], [3, 24, 192]), 3), exponent([500, 500, 501], [3, 3, 4])
    (1.5, nan)
    """
    if max(work) < 2 * min(work):
        return float("nan")
    return float(np.polyfit(np.log(work), np.log(seconds), 1)[0])


def exponent_of_more(work: Sequence[float], seconds: Sequence[float]) -> float:
    """The same of what each step adds: a start that takes the same at every size is not in it.

    >>> round(exponent_of_more([1, 4, 16], [100 + 3, 100 + 24, 100 + 192]), 3)
    1.5
    """
    more, times = ([after - before for before, after in pairwise(each)] for each in (work, seconds))
    grows = isfinite(exponent(work, seconds)) and min(more) > 0 and min(times) > 0
    return exponent(more, times) if grows else float("nan")


# One build


def build(folder: str, name: str, settings: dict[str, Any]) -> dict[str, float]:
    """Builds one dataset in this process, with what was spent by it and those that it started."""
    all_stages()  # what is imported is no work
    own = os.getsid(0)
    began, before = perf_counter(), sum(seconds for _, _, seconds in usage(own))
    made = Run(folder, seed=1, workers=1).build(name, **settings)
    clock, (_, held, seconds) = perf_counter() - began, zip(*usage(own), strict=True)
    spent = {"clock": clock, "seconds": sum(seconds) - before, "peak_mb": max(held) / 1024}
    return {"rows": made.rows + made.rejected, **spent}


def measured(folder: Path, name: str, factor: float) -> Grown:
    """One build in a process of its own. Raises CalledProcessError."""
    settings = settings_of(name, factor)
    command = [sys.executable, "-m", "benchmarks.growth", "--build", str(folder), name, json.dumps(settings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, start_new_session=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    work = LEAST[PRODUCTS] * factor if work_of(name) == PRODUCTS else found["rows"]
    return Grown(work=work, **found)


# All of them


def wanted(only: Iterable[str]) -> list[str]:
    """These datasets and all that they are made from, each after what it reads; without names all there are.

    The catalog's come first: what they make for the usual catalog is what the others begin with.
    """
    found = dict.fromkeys(each for name in list(only) or all_stages() for each in upstream(name))
    return sorted(found, key=lambda name: work_of(name) != PRODUCTS)


def grown(place: Path, names: Sequence[str], share: float) -> Iterator[tuple[str, list[Grown] | str]]:
    """For each dataset what it took at each size, or why there is no telling; inputs are built once for each size."""
    broken: set[str] = set()
    for name in names:
        if lacking := broken.intersection(all_stages()[name].reads):
            broken.add(name)
            yield name, f"it reads {', '.join(sorted(lacking))}"
            continue
        try:
            yield name, [measured(folder_for(place, name, factor), name, factor * share) for factor in FACTORS]
        except subprocess.CalledProcessError as error:
            broken.add(name)
            yield name, f"its build ended with {error.returncode}"


def folder_for(place: Path, name: str, factor: int) -> Path:
    """The run in which a dataset is built at this size; one for all but the catalog's begins with the usual catalog."""
    if work_of(name) == PRODUCTS:
        return place / f"products-{factor}"
    folder, usual = place / f"work-{factor}", place / f"products-{USUAL}"
    if not folder.exists():
        shutil.copytree(usual, folder)
    return folder


def row(name: str, found: Sequence[Grown]) -> str:
    """A line of the table; the exponents first of all seconds, then of those that more work adds."""
    work, seconds = [each.work for each in found], [each.seconds for each in found]
    most = found[-1]
    powers = exponent(work, seconds), exponent_of_more(work, seconds)
    both = " | ".join(f"{each:.2f}" if isfinite(each) else "–" for each in powers)
    times, memory = " | ".join(f"{each:.1f}" for each in seconds), " | ".join(f"{each.peak_mb:.0f}" for each in found)
    rate = f"{most.rows / most.seconds:,.0f} | {1000 * most.seconds / most.rows:.2f}"
    return f"| `{name}` | {work_of(name)} | {most.rows:,} | {times} | {both} | {rate} | {memory} |"


def summed_up(found: dict[str, list[Grown]]) -> str:
    """The largest exponent of what more work adds, and all that want a reason."""
    exponents = {
        name: exponent_of_more([each.work for each in sizes], [each.seconds for each in sizes])
        for name, sizes in found.items()
    }
    known = {name: value for name, value in exponents.items() if isfinite(value)}
    if not known:
        return "No exponent: all sizes took as long."
    worst = max(known, key=lambda name: known[name])
    above = ", ".join(f"`{name}`" for name, value in known.items() if value > GOAL)
    return f"The largest exponent of what more work adds is {known[worst]:.2f} (`{worst}`). Above {GOAL}: {above or 'none'}."


def table(found: dict[str, list[Grown]], how: str) -> str:
    sizes = " | ".join(f"{factor}x" for factor in FACTORS)
    lines = [
        f"`{how}`: one worker; seconds of the processor",
        "",
        f"| dataset | work | rows at {FACTORS[-1]}x | seconds {sizes} | exponent | of what more work adds | rows a second | ms a row | peak MB {sizes} |",
        "| --- | --- |" + " --- |" * (2 * len(FACTORS) + 5),
        *(row(name, each) for name, each in found.items()),
        "",
        summed_up(found),
        "",
        machine(),
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], choices=list(all_stages()), metavar="DATASET")
    parser.add_argument("--quick", action="store_true", help=f"a {QUICK}th of the work; figures are not kept")
    parser.add_argument(
        "--place", type=Path, help="where the runs are built (default: a folder that is taken away again)"
    )
    parser.add_argument("--build", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        folder, name, settings = options.build
        print(json.dumps(build(folder, name, json.loads(settings))))
        return 0
    found: dict[str, list[Grown]] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, sizes in grown(options.place or Path(place), wanted(options.only), 1 / QUICK if options.quick else 1):
            if isinstance(sizes, str):
                failed[name] = sizes
                print(f"{name}: no figures, {sizes}", file=sys.stderr, flush=True)
            else:
                found[name] = sizes
                print(row(name, sizes), file=sys.stderr, flush=True)
    told = {name: sizes for name, sizes in found.items() if not options.only or name in options.only}
    if told:
        text = table(told, "python -m benchmarks.growth")
        print(text)
        if not (options.quick or options.only or failed):
            write("growth", text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
