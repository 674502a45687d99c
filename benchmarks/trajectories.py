"""Tokens of verified 64k trajectories a second, memory, and the ratio to writing the same rows with pyarrow alone.

    python -m benchmarks.trajectories            # 2,000 customers, about 128 million tokens
    python -m benchmarks.trajectories --full     # 15,625 customers: one billion tokens
    python -m benchmarks.trajectories --growth   # 1, 4 and 16 times as many customers: seconds and memory
    python -m benchmarks.trajectories --compression   # what the shards could be stored with

The floor is what pyarrow needs to write the very rows that were made, already in memory as Arrow, with the same settings.
Both are CPU time, of all processes from their start to their end, so that other programs on the machine change little.
Figures go into benchmarks/README.md.
"""

import argparse
import json
import math
import os
import platform
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import steps
from shopwright.pipeline.dataset import ShardWriter
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages

README = Path(__file__).parent / "README.md"
ONE_BILLION = 15_625
FLOOR_ROWS = 512
ROUNDS = 3
TIMES = (1, 4, 16)
GROWTH = 500
"""Customers at once the work."""
ISSUE = 100_000
"""Trajectories of 64k tokens that are asked of us: 6.4 billion tokens."""
PACKED: dict[str, dict[str, Any]] = {
    "zstd 1": {"compression": "zstd", "compression_level": 1},
    "zstd 3": {"compression": "zstd", "compression_level": 3},
    "lz4": {"compression": "lz4"},
    "snappy": {"compression": "snappy"},
    "none": {"compression": "none"},
    "zstd 1, no dictionaries": {"compression": "zstd", "compression_level": 1, "use_dictionary": False},
    "zstd 1, row groups of 4": {"compression": "zstd", "compression_level": 1, "row_group_size": 4},
    "zstd 1, row groups of 64": {"compression": "zstd", "compression_level": 1, "row_group_size": 64},
    "zstd 1, row groups of 256": {"compression": "zstd", "compression_level": 1, "row_group_size": 256},
}
"""The first is what is used, with row groups of 16."""


def build(folder: str, count: int, workers: int) -> dict[str, float]:
    """Builds in this process and its workers; the seconds are of the trajectories alone."""
    run = Run(folder, seed=1, workers=workers)
    run.build("personas", count=count)
    run.build("queries")
    started = perf_counter()
    made = run.build("trajectories", tokens="64k")
    assert made.rejected == 0, made.rejects
    return {"rows": made.rows, "tokens": made.tokens or 0, "seconds": perf_counter() - started}


def measured(folder: str, count: int, workers: int) -> dict[str, float]:
    """`build` of the trajectories in processes of its own: the most memory that any held, and the CPU of all together."""
    prepared = Run(folder, seed=1, workers=workers)
    prepared.build("personas", count=count)
    prepared.build("queries")
    return steps.measured("benchmarks.trajectories", "--build", folder, str(count), str(workers))


def some(folder: str) -> list[pa.RecordBatch]:
    """The first batches of a build, as they were written."""
    batches, rows = [], 0
    for batch in Run(folder).read("trajectories").batches():
        batches.append(batch)
        rows += batch.num_rows
        if rows >= FLOOR_ROWS:
            break
    return batches


def floor(folder: str) -> float:
    """CPU seconds that pyarrow needs to write a row: the best of three."""
    batches = some(folder)

    def write_all() -> None:
        with tempfile.TemporaryDirectory() as place:
            writer = ShardWriter(Path(place) / "part-00000.parquet", all_stages()["trajectories"].makes)
            for batch in batches:
                writer.write(batch)
            writer.commit()

    return best(write_all, process_time) / sum(map(len, batches))


def compression(count: int, workers: int) -> str:
    """What each way to store the same rows takes, on disk and in time."""
    with tempfile.TemporaryDirectory() as place:
        build(place, count, workers)
        batches = some(place)
        figures = {name: packed(batches, Path(place) / "one.parquet", **how) for name, how in PACKED.items()}
    size, wrote, read, _ = next(iter(figures.values()))
    rows = sum(map(len, batches))
    lines = [
        f"`python -m benchmarks.trajectories --compression`: {rows} verified 64k trajectories; CPU time of one core, the best of",
        f"{ROUNDS} rounds; ratios are to the first line, which is what is used. Reading text alone is what a trainer does.",
        "",
        "| stored with | kB a row | ms to write a row | to read | to read the text | size | write | read |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, (bytes_, *seconds) in figures.items():
        ms = " | ".join(f"{each / rows * 1000:.2f}" for each in seconds)
        ratios = f"{bytes_ / size:.2f} | {seconds[0] / wrote:.2f} | {seconds[1] / read:.2f}"
        lines.append(f"| {name} | {bytes_ / rows / 1000:.1f} | {ms} | {ratios} |")
    return "\n".join([*lines, "", machine()])


def packed(
    batches: list[pa.RecordBatch], path: Path, row_group_size: int | None = None, **how: Any
) -> tuple[float, float, float, float]:
    """Bytes, and the CPU seconds to write, to read and to read the text of the same rows stored so."""
    table = pa.Table.from_batches(batches).combine_chunks()
    size = row_group_size or len(batches[0])

    def write_all() -> None:
        with pq.ParquetWriter(path, table.schema, **how) as writer:
            writer.write_table(table, row_group_size=size)

    wrote = best(write_all, process_time)
    read = best(lambda: pq.read_table(path, use_threads=False), process_time)
    text = best(lambda: pq.read_table(path, columns=["text"], use_threads=False), process_time)
    return path.stat().st_size, wrote, read, text


def growth(count: int, workers: int) -> str:
    """Seconds and memory of more and more work, and what the issue's size would take if it goes on so."""
    found = []
    for times in TIMES:
        with tempfile.TemporaryDirectory() as place:
            found.append(measured(place, count * times, workers))
    sizes = [math.log(one["rows"]) for one in found]
    wall, cpu = (line(sizes, [math.log(one[name]) for one in found])[0] for name in ("seconds", "cpu"))
    last = found[-1]["seconds"] * (ISSUE / found[-1]["rows"]) ** max(wall, 1.0)
    lines = [
        f"`python -m benchmarks.trajectories --growth`: verified 64k trajectories, {workers} workers",
        "",
        "| customers | million tokens | seconds | million tokens a second | CPU seconds | peak memory of a process |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one['rows']:,.0f} | {one['tokens'] / 1e6:,.0f} | {one['seconds']:.1f} "
        f"| {one['tokens'] / one['seconds'] / 1e6:.2f} | {one['cpu']:.1f} | {one['mb']:.0f} MB |"
        for one in found
    ]
    lines += [
        "",
        f"Exponents by least squares on logarithms: seconds {wall:.2f}, CPU seconds {cpu:.2f} (1 is in proportion; less where",
        "each process first learns what people type for each product). If it goes on from the largest in proportion or, where the",
        f"exponent is above 1, by it, {ISSUE:,} of them, 6.4 billion tokens, take {last / 60:.1f} minutes.",
        "",
        f"{machine()} Load average {os.getloadavg()[1]:.1f}, this benchmark included.",
    ]
    return "\n".join(lines)


def line(x: list[float], y: list[float]) -> tuple[float, float]:
    """Slope and height at 0 of the line through these points by least squares.

    >>> line([0, 1, 2], [1, 3, 5])
    (2.0, 1.0)
    """
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    return slope, mean_y - slope * mean_x


def table(count: int, workers: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        small = measured(f"{place}/small", max(count // 4, 64), workers)
        large = measured(f"{place}/large", count, workers)
        least = floor(f"{place}/large")
    each = large["cpu"] / large["rows"]
    checks = len(all_stages()["trajectories"].checks) + len(all_stages()["trajectories"].across)
    how = "python -m benchmarks.trajectories" + (" --full" if count == ONE_BILLION else "")
    made = f"{large['rows']:,.0f} verified 64k trajectories, {large['tokens'] / 1e6:,.0f} million tokens"
    lines = [
        f"`{how}`: {made}, {workers} workers",
        "",
        "| what | figure |",
        "| --- | --- |",
        f"| tokens a second | {large['tokens'] / large['seconds'] / 1e6:.2f} million |",
        f"| tokens a second and core | {large['tokens'] / large['seconds'] / workers / 1e6:.2f} million |",
        f"| seconds in all | {large['seconds']:.1f} |",
        f"| one billion tokens would take, at this rate | {1e9 / large['tokens'] * large['seconds'] / 60:.1f} minutes |",
        f"| peak memory of a process, {small['rows']:,.0f} rows | {small['mb']:.0f} MB |",
        f"| peak memory of a process, {large['rows']:,.0f} rows | {large['mb']:.0f} MB |",
        f"| CPU time of the floor: pyarrow writes a row in | {least * 1000:.2f} ms |",
        f"| CPU time of ours: start, simulate, render, count, check ({checks} checks) and write a row in | {each * 1000:.2f} ms |",
        f"| ratio to the floor | {each / least:.1f} |",
        "",
        f"{machine()} Load average {os.getloadavg()[1]:.1f}, this benchmark included.",
    ]
    return "\n".join(lines)


def best(work: Any, clock: Callable[[], float] = perf_counter) -> float:
    """Seconds of the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "numpy", "duckdb"))
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, {packages}."


def write(section: str, text: str, page: Path = README) -> None:
    """Replaces what stands between the section's marks."""
    begin, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    old = page.read_text(encoding="utf-8")
    before, _, rest = old.partition(begin)
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2_000, help="customers (default: 2,000)")
    parser.add_argument("--full", action="store_true", help="one billion tokens")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument(
        "--growth", action="store_true", help=f"{GROWTH:,}, {GROWTH * 4:,} and {GROWTH * 16:,} customers"
    )
    parser.add_argument("--compression", action="store_true", help="what the shards could be stored with")
    parser.add_argument("--build", nargs=3, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.build:
        folder, count, workers = options.build
        print(json.dumps(build(folder, int(count), int(workers))))
        return
    section, text = "trajectories", ""
    if options.growth:
        section, text = "trajectories --growth", growth(GROWTH, options.workers)
    elif options.compression:
        section, text = "trajectories --compression", compression(FLOOR_ROWS, options.workers)
    elif options.full:
        section, text = "trajectories --full", table(ONE_BILLION, options.workers)
    else:
        text = table(options.count, options.workers)
    print(text)
    write(section, text)


if __name__ == "__main__":
    main()
