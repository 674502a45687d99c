"""Tokens of verified 64k trajectories a second, memory, and the ratio to writing the same rows with pyarrow alone.

    python -m benchmarks.trajectories            # 2,000 customers, about 128 million tokens
    python -m benchmarks.trajectories --full     # 15,625 customers: one billion tokens

The floor is what pyarrow needs to write the very rows that were made, already in memory as Arrow, with the same settings,
on one core. Figures go into benchmarks/README.md.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from pipeline.dataset import ShardWriter
from pipeline.run import Run, all_stages

README = Path(__file__).parent / "README.md"
ONE_BILLION = 15_625
FLOOR_ROWS = 512
ROUNDS = 3


def build(folder: str, count: int, workers: int) -> dict[str, float]:
    """Builds in this process and its workers; the seconds are of the trajectories alone."""
    run = Run(folder, seed=1, workers=workers)
    run.build("personas", count=count)
    started = perf_counter()
    made = run.build("trajectories", tokens="64k")
    assert made.rejected == 0, made.rejects
    return {"rows": made.rows, "tokens": made.tokens or 0, "seconds": perf_counter() - started}


def measured(folder: str, count: int, workers: int) -> dict[str, float]:
    """`build` in a process group of its own, with the most memory that any of its processes held."""
    command = [sys.executable, "-m", "benchmarks.trajectories", "--build", folder, str(count), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        most = 0
        while process.poll() is None:
            most = max(most, *peaks(process.pid), 0)
            sleep(0.2)
        assert process.returncode == 0
        assert process.stdout
        found: dict[str, float] = json.loads(process.stdout.read().splitlines()[-1])
    return {**found, "peak_mb": most / 1024}


def peaks(session: int) -> list[int]:
    """The most kB that each process of a session has held so far (Linux)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session:
                status = (folder / "status").read_text()
                found += [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
        except OSError:
            continue
    return found


def floor(folder: str) -> float:
    """Seconds that pyarrow needs to write a row: the best of three."""
    batches, rows = [], 0
    for batch in Run(folder).read("trajectories").batches():
        batches.append(batch)
        rows += batch.num_rows
        if rows >= FLOOR_ROWS:
            break
    best = float("inf")
    for _ in range(3):
        with tempfile.TemporaryDirectory() as place:
            writer = ShardWriter(Path(place) / "part-00000.parquet", all_stages()["trajectories"].makes)
            started = perf_counter()
            for batch in batches:
                writer.write(batch)
            writer.commit()
            best = min(best, perf_counter() - started)
    return best / rows


def table(count: int, workers: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        small = measured(f"{place}/small", max(count // 4, 64), workers)
        large = measured(f"{place}/large", count, workers)
        least = floor(f"{place}/large")
    each = large["seconds"] * workers / large["rows"]
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
        f"| peak memory of a process, {small['rows']:,.0f} rows | {small['peak_mb']:.0f} MB |",
        f"| peak memory of a process, {large['rows']:,.0f} rows | {large['peak_mb']:.0f} MB |",
        f"| floor: pyarrow writes a row in | {least * 1000:.2f} ms |",
        f"| ours, per core: simulate, render, count, check ({checks} checks) and write a row in | {each * 1000:.2f} ms |",
        f"| ratio to the floor | {each / least:.1f} |",
        "",
        f"{machine()}",
    ]
    return "\n".join(lines)


def best(work: Any) -> float:
    """Seconds of the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return min(times)


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyarrow", "numpy", "duckdb"))
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, {packages}."


def write(section: str, text: str) -> None:
    """Replaces what stands between the section's marks."""
    begin, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    old = README.read_text(encoding="utf-8")
    before, _, rest = old.partition(begin)
    README.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2_000, help="customers (default: 2,000)")
    parser.add_argument("--full", action="store_true", help="one billion tokens")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="default: the cores")
    parser.add_argument("--build", nargs=3, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.build:
        folder, count, workers = options.build
        print(json.dumps(build(folder, int(count), int(workers))))
        return
    text = table(ONE_BILLION if options.full else options.count, options.workers)
    print(text)
    write("trajectories --full" if options.full else "trajectories", text)


if __name__ == "__main__":
    main()
