"""Proved questions a second and core, and what each check costs.

    python -m benchmarks.questions            # 3,200 questions on 128 trajectories
    python -m benchmarks.questions --full     # 100,000 questions on 2,000 trajectories

The questions are made by this process, and seconds are those of its processor: other programs change them less than the time on the
clock. The floor is one bare run of each question's SQL in DuckDB on a table that is there already. Figures go into benchmarks/README.md.
"""

import argparse
import gc
import os
import tempfile
from collections import defaultdict
from time import process_time
from typing import Any

from benchmarks.trajectories import machine, write
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import check_needs
from shopwright.pipeline.stages import all_stages
from shopwright.schemas.questions import Question

LOOKED_AT = 1_000


def build(folder: str, customers: int, each: int, workers: int) -> tuple[int, int, float]:
    """Rows, rejects and the processor's seconds of the questions alone; `workers` make what they are asked of."""
    Run(folder, seed=1, workers=workers).build("trajectories", count=customers)
    gc.freeze()  # as workers do: `runners.follow_the_parent`
    started = process_time()
    made = Run(folder, seed=1, workers=1).build("questions", per_trajectory=each)
    return made.rows, made.rejected, process_time() - started


def costs(folder: str) -> dict[str, float]:
    """Milliseconds a question of each check, of making the trajectory's tables ready, and of one bare run of its SQL."""
    run = Run(folder)
    trajectories: Dataset[Any] = run.read("trajectories")
    spent: defaultdict[str, float] = defaultdict(float)
    records: list[Question] = run.read("questions").head(LOOKED_AT)
    engines = trajectories.once(Engines)

    def timed(name: str, work: Any) -> None:
        started = process_time()
        work()
        spent[name] += process_time() - started

    for record in records:
        table = engines.of(record.trajectory_id)
        timed("tables in DuckDB (twice), SQLite and Python", lambda table=table: ready(table))
        timed("floor", lambda record=record, table=table: table.in_order.execute(record.sql).fetchall())
        for check in all_stages()["questions"].checks:
            others = [trajectories for _ in check_needs(check)]
            timed(
                check.__name__.replace("_", " "), lambda record=record, check=check, more=others: check(record, *more)
            )
    return {name: 1000 * seconds / len(records) for name, seconds in spent.items()}


def ready(table: Any) -> None:
    _ = table.log.by_action, table.in_order, table.reversed_duckdb, table.in_sqlite


def table(customers: int, each: int, workers: int, how: str) -> str:
    with tempfile.TemporaryDirectory() as place:
        rows, rejected, seconds = build(place, customers, each, workers)
        found = costs(place)
        started = process_time()
        for check in all_stages()["questions"].across:
            assert not list(check(Run(place).read("questions")))
        across = 1000 * (process_time() - started) / rows
    floor = found.pop("floor")
    ours = 1000 * seconds / (rows + rejected)
    checks = sum(found.values())
    lines = [
        f"`{how}`: {rows:,} questions proved, {rejected:,} rejected, {each} for each of {2 * customers:,} trajectories",
        "",
        "| what | figure |",
        "| --- | --- |",
        f"| proved questions a second of one core | {rows / seconds:.0f} |",
        f"| floor: one bare run of a question's SQL in DuckDB | {floor:.2f} ms |",
        f"| ours, per core: draw, phrase, check and write a question | {ours:.2f} ms |",
        f"| ratio to the floor | {ours / floor:.1f} |",
        f"| of it, checks | {checks:.2f} ms |",
        "",
        "| check | ms a question |",
        "| --- | --- |",
        *(f"| {name} | {cost:.3f} |" for name, cost in sorted(found.items(), key=lambda each: -each[1])),
        f"| all checks across the dataset | {across:.3f} |",
        "",
        machine(),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="100,000 questions")
    parser.add_argument("--customers", type=int, default=64, help="each with two trajectories (default: 64)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    options = parser.parse_args()
    how = "python -m benchmarks.questions" + (" --full" if options.full else "")
    how += f" --customers {options.customers}" if options.customers != 64 else ""
    text = table(1_000 if options.full else options.customers, 50 if options.full else 25, options.workers, how)
    print(text)
    write("questions --full" if options.full else "questions", text)


if __name__ == "__main__":
    main()
