"""A build at work in processes of its own, to be stopped or killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

MARK = "SHOPWRIGHT_TEST"
"""In the environment of a build and of every process that it starts."""


class Build:
    """A command at work in a process group of its own."""

    def __init__(self, module, folder, *words, **environment):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *words, "--run", str(folder), "--workers", "2"],
            env={**os.environ, **environment, MARK: str(folder)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def until(self, said):
        for line in self.process.stderr:
            if said in line:
                return
        raise AssertionError(f"ended without saying {said!r}")

    def ended(self):
        """Its exit code, and what it said since."""
        told = self.process.stderr.read()
        return self.process.wait(), told

    def processes(self):
        """All that are left of it, workers and their helpers."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.folder}\0".encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def workers(self):
        """Those that were forked from the one that learns, which a server of processes forked, which is a child of the command itself."""
        parents = {}
        for process in self.processes():
            with contextlib.suppress(OSError):
                parents[process] = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        return [process for process, parent in parents.items() if parents.get(parents.get(parent)) == self.process.pid]

    def a_worker(self):
        """One of two that are at work."""
        while len(workers := self.workers()) < 2:
            assert self.process.poll() is None, "it ended before it had two workers"
            time.sleep(0.01)
        return workers[0]

    def gone(self, seconds=10):
        """Whether nothing is left of it, soon; what is left is ended then."""
        deadline = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        return not left
