"""A step of a benchmark in processes of its own: what it says, its seconds, and the most memory that one of them held."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep
from typing import Any


def measured(module: str, *arguments: str) -> dict[str, Any]:
    """What a module prints as its last line, as JSON; with seconds, processor seconds of all processes, and MB."""
    began = perf_counter()
    most: dict[int, int] = {}
    spent: dict[int, float] = {}
    with tempfile.TemporaryFile("w+") as out:
        command = [sys.executable, "-m", module, *arguments]
        process = subprocess.Popen(command, stdout=out, start_new_session=True)
        while process.poll() is None:
            for each, memory, seconds in usage(process.pid):
                most[each], spent[each] = memory, seconds
            sleep(0.2)
        assert process.returncode == 0
        out.seek(0)
        found: dict[str, Any] = json.loads(out.read().splitlines()[-1])
    facts = {"seconds": perf_counter() - began, "cpu": sum(spent.values()), "mb": max(most.values()) / 1024}
    return {**facts, **found}


def usage(session: int) -> Iterator[tuple[int, int, float]]:
    """Each process of a session: the most kB that it has held so far, and its seconds of CPU (Linux)."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session:
                status = (folder / "status").read_text().splitlines()
                held = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
                ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
                yield int(folder.name), held, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        except (OSError, StopIteration):
            continue


def on_disk(folder: Path) -> float:
    """GB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9
