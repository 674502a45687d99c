"""A step of a benchmark in processes of its own: what it says, its seconds, and the most memory that one of them held."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from benchmarks.trajectories import peaks


def measured(module: str, *arguments: str) -> dict[str, Any]:
    """What a module prints as its last line, as JSON; with seconds, processor seconds of all processes, and MB."""
    began, most = perf_counter(), 0
    spent: dict[str, float] = {}
    with tempfile.TemporaryFile("w+") as out:
        command = [sys.executable, "-m", module, *arguments]
        process = subprocess.Popen(command, stdout=out, start_new_session=True)
        while process.poll() is None:
            most = max([most, *peaks(process.pid)])
            spent |= processor_seconds(process.pid)
            sleep(0.2)
        assert process.returncode == 0
        out.seek(0)
        found: dict[str, Any] = json.loads(out.read().splitlines()[-1])
    return {**found, "seconds": perf_counter() - began, "cpu": sum(spent.values()), "mb": most / 1024}


def processor_seconds(session: int) -> dict[str, float]:
    """By process of a session, so far (Linux)."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session:
                numbers = (folder / "stat").read_text().rpartition(")")[2].split()
                found[folder.name] = (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return found


def on_disk(folder: Path) -> float:
    """GB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9
