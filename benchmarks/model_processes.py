"""Records a second from a model by 1, 2 and 4 processes that share one budget and one limit of requests at once.

    python -m benchmarks.model_processes
    python -m benchmarks.model_processes --count 4000 --rounds 3

A server of its own process answers at once (`benchmarks.models`); it needs the same cores. Its CPU is told, and the limit that it sets: all cores, over what
a record takes of client and server together. Questions are written beforehand: their replies are kept, so that only what is done
with them is measured. All are taken in turn, and a ratio is of figures of the same turn. Figures go into benchmarks/README.md.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from benchmarks.models import AT_ONCE, Note, Served, described
from benchmarks.trajectories import machine, write
from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.dataset import ShardWriter
from shopwright.pipeline.forks import Origin
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.run import Run, count_cores
from shopwright.pipeline.stage import Shard
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.worker_pool import WorkerPool
from tests.models.server import Plan, Server
from tests.questions import scribes

PROCESSES = (1, 2, 4)
SHARDS = 16
TRAJECTORIES, PER_SHARD = 32, 8


def ask(models: Models, place: Path, shard: Shard, units: int) -> float:
    """Ask, check, keep each reply, and write the records of a shard; the CPU that it took."""
    began = process_time()
    role = Role("writer", models, place, f"notes-{shard.index:05d}")
    made = [note for note in role.play(map(described, shard.of(units))) if isinstance(note, Note)]
    writer = ShardWriter(place / f"part-{shard.index:05d}.parquet", Note)
    writer.write(to_batch(Note, made))
    writer.commit()
    assert writer.rows == len(shard.of(units)), writer.rows
    return process_time() - began


@contextmanager
def open_processes(count: int) -> Iterator[WorkerPool]:
    with closing(Origin()) as origin, WorkerPool(origin).lend(count, 60, int) as pool:
        yield pool


def ask_by(processes: int, server: Served, units: int) -> dict[str, float]:
    """Records a second, and CPU of the clients for each, in ms."""
    with (
        tempfile.TemporaryDirectory() as place,
        Models(server.model, at_once=AT_ONCE).share() as models,
        open_processes(processes) as pool,
        ThreadPoolExecutor(processes) as threads,
    ):

        def make(index: int) -> float:
            found: float = pool.make("notes", 3_600, ask, models, Path(place), Shard(index, SHARDS, 0), units)
            return found

        def warm(index: int) -> None:
            pool.make("warm", 600, ask, models, Path(place), Shard(0, 1, index), 1)

        list(threads.map(warm, range(processes)))  # each imports what it needs
        began = perf_counter()
        cpu = sum(threads.map(make, range(SHARDS)))
        return {"rate": units / (perf_counter() - began), "cpu": 1_000 * cpu / units}


@contextmanager
def open_questions() -> Iterator[Path]:
    """A run whose questions a model has written, so that their replies are kept; in shards so small that four processes have work."""
    stages = all_stages()
    whole = stages["questions"]
    stages["questions"] = replace(whole, per_shard=(1, PER_SHARD))
    try:
        with tempfile.TemporaryDirectory() as place:
            run = Run(f"{place}/run", seed=1)
            run.build("trajectories", tokens=["2k"], **{"personas.count": TRAJECTORIES})
            with Server(Plan(says=scribes.says)) as server:
                prove_questions(run.folder, 2, server.url)
            yield run.folder
    finally:
        stages["questions"] = whole


def prove_questions(folder: Path, workers: int, url: str = "http://127.0.0.1:1/v1") -> dict[str, float]:
    """Questions a second, from replies that are kept."""
    run = Run(folder, workers=workers, models=Models(f"openai:some/model@{url}"))
    began = perf_counter()
    made = run.build("questions", rebuild=True, written_by="model")
    return {"rate": made.rows / (perf_counter() - began), "rows": made.rows}


def write_table(count: int, rounds: int) -> str:
    asked: list[dict[int, dict[str, float]]] = []
    proved: list[dict[int, dict[str, float]]] = []
    with Served(0) as server, open_questions() as folder:
        for _ in range(rounds):
            asked.append({each: ask_by(each, server, count) for each in PROCESSES})
            proved.append({each: prove_questions(folder, each) for each in PROCESSES})
            print(describe_turn(asked[-1]), describe_turn(proved[-1]), os.getloadavg()[0], file=sys.stderr, flush=True)
        server_cpu = 1_000 * cpu_of(server.process.pid) / (rounds * len(PROCESSES) * count)
    client_cpu = median(each[1]["cpu"] for each in asked)
    limit = count_cores() * client_cpu / (client_cpu + server_cpu)
    rows = int(proved[0][1]["rows"])
    lines = [
        f"`python -m benchmarks.model_processes`: {count:,} records of 0 ms, {AT_ONCE} requests at once in all, and {rows:,} questions written by a model, of",
        f"kept replies, with the start of the processes. Medians of {rounds} turns; ratios are of the same turn.",
        "",
        "| processes | records a second | ratio to one | least and most | ms of CPU a record | questions a second | ratio to one | least and most |",
        "| ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |",
    ]
    for each in PROCESSES:
        cpu = median(turn[each]["cpu"] for turn in asked)
        cells = [str(each), *describe_rates(asked, each), f"{cpu:.2f}", *describe_rates(proved, each)]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"The server takes {server_cpu:.2f} ms of CPU a record of the same {count_cores()} cores, so that no number of processes could be more than {limit:.2f} times",
        f"as fast as one. {machine()} Load average {os.getloadavg()[0]:.1f}, this benchmark included.",
    ]
    return "\n".join(lines)


def describe_turn(turn: dict[int, dict[str, float]]) -> str:
    return " ".join(f"{each}: {found['rate']:,.0f}/s" for each, found in turn.items())


def describe_rates(turns: list[dict[int, dict[str, float]]], processes: int) -> list[str]:
    """The median rate, and of the ratios to one process the median, the least and the most."""
    ratios = sorted(turn[processes]["rate"] / turn[1]["rate"] for turn in turns)
    rate = median(turn[processes]["rate"] for turn in turns)
    return [f"{rate:,.0f}", f"{median(ratios):.2f}", f"{ratios[0]:.2f} - {ratios[-1]:.2f}"]


def cpu_of(process: int) -> float:
    """Seconds that a process has had of the cores."""
    facts: list[Any] = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, facts[11:13])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="records (default: 20,000)")
    parser.add_argument("--rounds", type=int, default=5, help="turns (default: 5)")
    options = parser.parse_args()
    text = write_table(options.count, options.rounds)
    print(text)
    write("model_processes", text)


if __name__ == "__main__":
    main()
