"""All benchmarks, one after the other, and one table of them: ours, a peer or a limit beside it, and their ratio.

    python -m benchmarks                                  # all, an hour or more
    python -m benchmarks --quick                          # whether all of them run: minutes, and no figures are kept
    python -m benchmarks --only questions behaviors

Each is a command of its own that writes its section of benchmarks/README.md; the table goes there too. One that fails is named, the
others go on, and the exit code is 1.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.trajectories import README, machine, write

STILL = 60
"""Seconds after which it is said that a benchmark is still at work."""
FIGURE = re.compile(r"-?[\d,]*\.?\d+")


class Benchmark(NamedTuple):
    """A command, and which of the figures that it prints stand in the table: patterns with one group each."""

    name: str
    what: str
    ours: str
    beside: str
    """Of the peer or the limit; text without a group stands as it is."""
    arguments: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return " ".join((self.name, *self.arguments))


ALL = (
    Benchmark(
        "trajectories",
        "make, check and write a row; pyarrow writes it",
        r"\|[^|]*simulate, render[^|]*\| ([^|]+) \|",
        r"\|[^|]*floor: pyarrow[^|]*\| ([^|]+) \|",
        quick=("--count", "64"),
    ),
    Benchmark(
        "questions",
        "draw, prove and write a question; one bare run of its SQL",
        r"\| ours, per core[^|]*\| ([^|]+) \|",
        r"\| floor: one bare run[^|]*\| ([^|]+) \|",
        quick=("--customers", "8"),
    ),
    Benchmark(
        "cores",
        "times as fast questions are on 64 cores, by what two to eight processes cost; cores",
        r"\| questions \|(?: [^|]+ \|){3} ([^|]+) \|",
        "64",
        quick=("--quick", "--only", "questions"),
    ),
    Benchmark(
        "models",
        "2,000 replies of 50 ms, 64 at once; the ideal",
        r"\| ours: ask[^|]*\| ([^|]+) \|",
        r"\| ideal \| ([^|]+) \|",
        quick=("--conversations", "64"),
    ),
    Benchmark(
        "models",
        "the same with 5 % HTTP 429; without faults",
        r"\| HTTP 429 \| ([^|]+) \|",
        r"\| no fault \| ([^|]+) \|",
        arguments=("--faults",),
    ),
    Benchmark(
        "peers",
        "CPU of 2,000 replies of 50 ms, checked, kept and written; datatrove asks for as many",
        r"\| ours \| [^|]+ \| ([^|]+) \|",
        r"\| datatrove \| [^|]+ \| ([^|]+) \|",
        quick=("--quick",),
    ),
    Benchmark(
        "search",
        "a search by words and vectors, 200 results; a scan of all vectors, 10 results",
        r"\| words and vectors \| ([\d.]+)",
        r"\| peer: a scan[^|]*\| ([\d.]+)",
        quick=("--products", "2000"),
    ),
    Benchmark(
        "envs",
        "a reset; the public release's",
        r"\| `cart_building` \| [^|]+ \| ([^|]+) \|",
        r"([\d.]+ ms) a reset",
        quick=("--products", "2000"),
    ),
    Benchmark(
        "sandbox",
        "blocks of pandas a second, 8 at once; a fresh interpreter each",
        r"\| 8 \| ([^|]+) \|",
        r"\| 8 \| [^|]+ \| ([^|]+) \|",
        quick=("--events", "500"),
    ),
    Benchmark(
        "shopping",
        "proof over the whole catalog, by a query; a plain loop over the task's category",
        r"\| the query, [^|]*\| ([^|]+) \|",
        r"\| peer: a plain loop[^|]*\| ([^|]+) \|",
        quick=("--products", "6000"),
    ),
    Benchmark(
        "behaviors",
        "walk, write, check and store a step; html.parser reads its page",
        r"\| ours, per core[^|]*\| ([^|]+) \|",
        r"\| peer: html.parser[^|]*\| ([^|]+) \|",
        quick=("--sessions", "200", "--customers", "20"),
    ),
    Benchmark(
        "growth",
        "the largest exponent of all stages' seconds; that of twice the time for twice the work",
        r"more work adds is ([\d.]+)",
        "1.00",
        quick=("--quick",),
    ),
    Benchmark(
        "money",
        "a price read; price-parser reads it",
        r"\| ours \|.*\| ([^|]+) \|",
        r"\| price-parser \|.*\| ([^|]+) \|",
    ),
    Benchmark(
        "own_shop",
        "CPU seconds of building a catalog from a CSV; pyarrow reads it and writes Parquet",
        r"\| `build catalog`[^|]*\| [^|]+ \| ([^|]+) \|",
        r"\| peer: pyarrow reads it and writes Parquet \| \| ([^|]+) \|",
        arguments=("--only", "csv"),
        quick=("--rows", "20000"),
    ),
)


class Outcome(NamedTuple):
    """What came of one benchmark."""

    benchmark: Benchmark
    ours: str = ""
    beside: str = ""
    fault: str = ""

    @property
    def row(self) -> str:
        told = (self.benchmark.what, self.ours, self.beside, ratio(self.ours, self.beside))
        return f"| {self.benchmark.title} | {' | '.join(told)} |"


def ratio(ours: str, beside: str) -> str:
    """The first figure of one over that of the other.

    >>> ratio("8.16 ms", "1.15 ms"), ratio("1,094", "2.26 blocks"), ratio("8 ms", "0 ms")
    ('7.1', '484', '')
    """
    one, other = (FIGURE.search(text) for text in (ours, beside))
    parts = [float(found[0].replace(",", "")) for found in (one, other) if found]
    if len(parts) < 2 or not parts[1]:
        return ""
    found = parts[0] / parts[1]
    return f"{found:,.0f}" if found >= 100 else f"{found:.2g}" if found < 1 else f"{found:.1f}"


def told(benchmark: Benchmark, printed: str) -> Outcome:
    """The benchmark's two figures in what it printed, or which of them is not there."""
    found = []
    for pattern in (benchmark.ours, benchmark.beside):
        match = re.search(pattern, printed) if "(" in pattern else None
        if "(" in pattern and match is None:
            return Outcome(benchmark, fault=f"it printed nothing like {pattern}")
        found.append(match[1].strip() if match else pattern)
    return Outcome(benchmark, *found)


def outcome(benchmark: Benchmark, command: Sequence[str]) -> Outcome:
    """Runs one benchmark and reads its figures; what goes wrong is told and not raised."""
    began = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while True:
            try:
                printed, _ = process.communicate(timeout=STILL)
                break
            except subprocess.TimeoutExpired:
                say(f"{benchmark.title}: {perf_counter() - began:.0f} seconds so far")
    if process.returncode:
        return Outcome(benchmark, fault=f"it ended with {process.returncode}")
    return told(benchmark, printed)


def command_of(benchmark: Benchmark, quick: bool) -> list[str]:
    more = benchmark.quick if quick else ()
    return [sys.executable, "-m", f"benchmarks.{benchmark.name}", *benchmark.arguments, *more]


def measured(chosen: Sequence[Benchmark], command: Callable[[Benchmark], Sequence[str]]) -> Iterator[Outcome]:
    """One after the other, each told of when it begins and ends."""
    for number, benchmark in enumerate(chosen, 1):
        say(f"{number} of {len(chosen)}: {benchmark.title}")
        began = perf_counter()
        found = outcome(benchmark, command(benchmark))
        say(f"{benchmark.title}: {found.fault or 'done'}, {perf_counter() - began:.0f} seconds")
        yield found


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def table(found: Sequence[Outcome], how: str) -> str:
    """All figures; those that failed by name below them."""
    lines = [f"`{how}`", "", "| benchmark | what; what stands beside it | ours | peer or limit | ratio |"]
    lines += ["| --- | --- | --- | --- | --- |", *(each.row for each in found if not each.fault)]
    lines += ["", *(f"FAILED: {each.benchmark.title}: {each.fault}" for each in found if each.fault)]
    return "\n".join([*lines, machine()])


@contextmanager
def unwritten(readme: Path = README) -> Iterator[None]:
    """Leaves benchmarks/README.md as it was: the figures of a quick run tell nothing."""
    before = readme.read_bytes()
    try:
        yield
    finally:
        if readme.read_bytes() != before:
            readme.write_bytes(before)


def main(words: Sequence[str] | None = None, benchmarks: Sequence[Benchmark] = ALL) -> int:
    names = list(dict.fromkeys(each.name for each in benchmarks))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="small, to see that they run; nothing is kept of it")
    options = parser.parse_args(words)
    chosen = [each for each in benchmarks if not options.only or each.name in options.only]
    if options.quick:
        with unwritten():
            found = list(measured(chosen, lambda each: command_of(each, quick=True)))
    else:
        found = list(measured(chosen, lambda each: command_of(each, quick=False)))
    text = table(found, "python -m benchmarks")
    print(text)
    failed = any(each.fault for each in found)
    if not (options.quick or options.only or failed):
        write("all", text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
