"""A build at work in processes of its own, to be stopped or killed."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Timer

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

    def ended(self, most=300):
        """Its exit code, and what it said since. Raises AssertionError where it, or what it left, still can say something after so many seconds."""
        late = []
        alarm = Timer(most, lambda: late.append(self.processes()) or self.kill_all())
        alarm.start()
        try:
            told = self.process.stderr.read()
            code = self.process.wait()
        finally:
            alarm.cancel()
        assert not late, f"{late[0]} had not ended after {most} seconds; it said: {told}"
        return code, told

    def kill_all(self):
        for process in self.processes():
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)

    def processes(self):
        """All that are left of it, workers and their helpers."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.folder}\0".encode() in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def list_forked(self, who):
        """The server of processes that the command starts, the origin that learns and is forked from it, or the workers that are forked from that."""
        found = [self.process.pid]
        parents = {}
        for process in self.processes():
            with contextlib.suppress(OSError):
                parents[process] = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        for _ in range(1 + ("server", "origin", "worker").index(who)):
            found = [each for each, parent in parents.items() if parent in found and is_forked_or_server(each)]
        return found

    def a_worker(self):
        """One of two that are at work."""
        while len(workers := self.list_forked("worker")) < 2:
            assert self.process.poll() is None, "it ended before it had two workers"
            time.sleep(0.01)
        return workers[0]

    def gone(self, seconds=10):
        """Whether nothing is left of it, soon; what is left is ended then."""
        deadline = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.kill_all()
        return not left


def is_forked_or_server(process):
    """Not the tracker of resources, which the command starts, too."""
    with contextlib.suppress(OSError):
        return b"multiprocessing.forkserver" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False
