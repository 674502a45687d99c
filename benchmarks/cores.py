"""What a build costs with one, two, four and eight processes, and how far that would carry on sixty-four cores.

    python -m benchmarks.cores                     # four datasets, an hour or so
    python -m benchmarks.cores --only questions
    python -m benchmarks.cores --quick             # half of the work, four workers at most: whether it runs, no figures

Each dataset is built by a process of its own from inputs that are there: with each number of workers, and with sixteen times the work.
Told are the seconds of the processor of the parent, of the processes that import and learn what workers are then forked with (fork server),
and of the workers; and the memory that all these hold together but the parent, where what they share counts once (PSS, Linux). From these
figures follow, for 64 cores, by Amdahl:

    work(N workers)  = rows' work + N x what a worker costs           fitted to all N
    rows' work       = once + what each time more of it adds          from two sizes
    time on 64 cores = parent + fork server + one worker's cost + rows' work / 64
    limit            = time of one process / time on 64 cores

Nothing of the parent's work is taken as done while workers work, though most of it is. Figures go into benchmarks/README.md.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from multiprocessing import forkserver
from pathlib import Path
from threading import Event, Thread
from time import thread_time
from typing import Any

import numpy as np

from benchmarks.trajectories import machine, write
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import upstream

WORKERS = (1, 2, 4, 8)
CORES = 64
GOAL = 45
"""Times faster that 64 cores should be."""
TIMES = 16
"""How much more work it is in the second size."""
SIZES: dict[str, tuple[dict[str, Any], str, int]] = {
    "trajectories": ({"personas.count": 128, "tokens": "64k"}, "personas.count", 1_000),
    "questions": ({"per_trajectory": 2}, "per_trajectory", 80),
    "env_tasks": ({"env_tasks.count": 4}, "env_tasks.count", 200),
    "shopping_tasks": ({"shopping_tasks.count": 32}, "shopping_tasks.count", 6_000),
}
"""Of each dataset: how it is made, the setting that is its work, and how much of it a release makes."""
CUSTOMERS = 160
"""That the questions and tasks are about."""
EVERY = 0.25
"""Seconds between two looks at the memory."""


@dataclass(frozen=True)
class Cost:
    """Seconds of the processor, and MB that the workers held together at most."""

    rows: int
    parent: float
    server: float
    workers: float
    shared_mb: float

    @property
    def total(self) -> float:
        return self.parent + self.server + self.workers


def build(folder: str, dataset: str, workers: int, settings: dict[str, Any]) -> Cost:
    """Builds in this process and its workers, and says what each cost."""
    over, held, watching = Event(), [0.0], [0.0]
    origins: dict[int, float] = {}

    def watch() -> None:
        while not over.wait(EVERY):
            found = children_of(server_pid())
            origins.update({pid: times_of(pid)[0] for pid in found})
            held.append(sum(map(share_of, [*found, *chain.from_iterable(map(children_of, found))])))
        watching.append(thread_time())

    watcher = Thread(target=watch)
    watcher.start()
    run = Run(folder, seed=1, workers=workers)
    try:
        made = run.build(dataset, **settings)
    finally:
        over.set()
        watcher.join()
    # Else some of the workers had nothing to do, and cost nothing.
    assert len(run.read(dataset).files) >= workers, f"{dataset} has too few shards for {workers} workers"
    own = resource.getrusage(resource.RUSAGE_SELF)
    server, theirs = times_of(server_pid())
    learning = sum(origins.values())
    return Cost(made.rows, own.ru_utime + own.ru_stime - max(watching), server + learning, theirs - learning, max(held))


def server_pid() -> int | None:
    return getattr(forkserver._forkserver, "_forkserver_pid", None)  # type: ignore[attr-defined]


def times_of(pid: int | None) -> tuple[float, float]:
    """Of a process, and of its children that have ended."""
    with suppress(OSError):
        ticks = list(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
        unit = os.sysconf("SC_CLK_TCK")
        return sum(ticks[:2]) / unit, sum(ticks[2:]) / unit
    return 0.0, 0.0


def children_of(pid: int | None) -> list[int]:
    with suppress(OSError):
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    return []


def share_of(pid: int) -> float:
    """MB of its memory, each page divided by those who share it."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return 0.0


def measure(prepared: Path, dataset: str, workers: int, settings: dict[str, Any]) -> Cost:
    """The same in a process of its own, from a copy of the inputs."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        (folder / "manifests").mkdir(parents=True)
        for name in list_inputs(dataset):
            for part in (name, f"quarantine/{name}"):  # a shard without its rejected rows would be made again
                if (prepared / part).exists():
                    shutil.copytree(prepared / part, folder / part)
            shutil.copy(prepared / "manifests" / f"{name}.json", folder / "manifests")
        words = ["--build", str(folder), dataset, str(workers), json.dumps(settings)]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.cores", *words], stdout=subprocess.PIPE, text=True, check=True
        )
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def fit(found: dict[int, float]) -> tuple[float, float]:
    """What is there without a worker, and what each adds, by least squares."""
    each, nothing = np.polyfit(list(found), list(found.values()), 1)
    return float(nothing), float(each)


@dataclass(frozen=True)
class Table:
    dataset: str
    costs: dict[int, Cost]
    more: Cost
    """With two workers and four times the work."""
    wanted: float
    """Times the work that a release makes."""

    def list_shared(self) -> dict[int, Cost]:
        return {count: cost for count, cost in self.costs.items() if count > 1}

    @property
    def worker(self) -> float:
        return max(0.0, fit({count: cost.workers for count, cost in self.list_shared().items()})[1])

    def parent(self, times: float) -> float:
        """Seconds of the parent and the fork server with so many times the work: some for every build, the rest by the row."""
        once = self.costs[2]
        growth = max(0.0, self.more.parent - once.parent) / (TIMES - 1)
        return once.parent + once.server + growth * (times - 1)

    def work(self, times: float) -> float:
        """Seconds of the rows alone with so many times the work."""
        once = max(0.0, self.costs[1].total - self.parent(1) - self.worker)
        growth = max(0.0, self.more.workers - self.costs[2].workers) / (TIMES - 1)
        return once + growth * (times - 1)

    def alone(self, times: float) -> float:
        """Seconds of one process that does all."""
        return self.parent(times) + self.worker + self.work(times)

    def limit(self, times: float) -> float:
        """How many times faster 64 cores would be than one."""
        return self.alone(times) / (self.parent(times) + self.worker + self.work(times) / CORES)

    def rows_for(self, limit: float) -> str:
        """How many rows it takes until 64 cores would be so many times faster."""
        for times in np.geomspace(1, 100_000, 1_000):
            if self.limit(times) >= limit:
                return f"{float(f'{times * self.costs[2].rows:.2g}'):,.0f}"
        return "never"

    @property
    def memory(self) -> float:
        """GB of 64 workers together."""
        nothing, each = fit({count: cost.shared_mb for count, cost in self.list_shared().items()})
        return (nothing + CORES * each) / 1024

    def lines(self) -> list[str]:
        rows = [
            f"| {count} | {cost.rows:,} | {cost.parent:.2f} | {cost.server:.2f} | {cost.workers:.1f} | {cost.shared_mb:.0f} |"
            for count, cost in self.costs.items()
        ]
        rows.append(
            f"| 2, {TIMES} times the work | {self.more.rows:,} | {self.more.parent:.2f} | {self.more.server:.2f} | {self.more.workers:.1f} "
            f"| {self.more.shared_mb:.0f} |"
        )
        return [
            f"`{self.dataset}`",
            "",
            "| workers | rows | parent, s | fork server, s | workers, s | MB together |",
            "| --- | --- | --- | --- | --- | --- |",
            *rows,
            "",
        ]

    def row(self) -> str:
        return (
            f"| {self.dataset} | {self.worker:.2f} | {self.memory:.1f} | {self.limit(1):.0f} | {self.limit(self.wanted):.0f} "
            f"| {self.parent(self.wanted) / self.alone(self.wanted):.1%} | {self.rows_for(GOAL)} |"
        )


def table(dataset: str, prepared: Path, *, quick: bool) -> Table:
    settings, work, most = SIZES[dataset]
    once = {**settings, work: settings[work] // 2} if quick else settings
    costs = {count: measure(prepared, dataset, count, once) for count in (WORKERS[:3] if quick else WORKERS)}
    more = measure(prepared, dataset, 2, {**once, work: once[work] * TIMES})
    return Table(dataset, costs, more, most / once[work])


def list_inputs(dataset: str) -> list[str]:
    """All that a dataset is made from, but what its work is the size of, and what is made from that."""
    work = SIZES[dataset][1].partition(".")[0]
    return [name for name in upstream(dataset)[:-1] if work not in upstream(name)]


def prepare(folder: Path, datasets: Sequence[str]) -> None:
    run = Run(folder, seed=1)
    for name in dict.fromkeys(chain.from_iterable(map(list_inputs, datasets))):
        run.build(name, **({"personas.count": CUSTOMERS} if name == "personas" else {}))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SIZES, default=list(SIZES), metavar="DATASET")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--build", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.build:
        folder, dataset, workers, settings = options.build
        print(json.dumps(build(folder, dataset, int(workers), json.loads(settings)).__dict__))
        return 0
    found = []
    with tempfile.TemporaryDirectory() as place:
        prepare(Path(place), options.only)
        for dataset in options.only:
            found.append(table(dataset, Path(place), quick=options.quick))
            print("\n".join(found[-1].lines()), flush=True)
    text = "\n".join(
        [
            "`python -m benchmarks.cores`",
            "",
            (
                "| dataset | a worker costs, s | GB of 64 workers | limit on 64 cores | with a release's work | parent's share of that "
                f"| rows for {GOAL} times |"
            ),
            "| --- | --- | --- | --- | --- | --- | --- |",
            *(each.row() for each in found),
            "",
            *(line for each in found for line in each.lines()),
            machine(),
        ]
    )
    print(text)
    if not options.quick and options.only == list(SIZES):
        write("cores", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
