"""The process in which a visitor's SQL runs: it has so much memory, and is ended where a query does not end.

python -m shopwright.pipeline.browse.worker < one request a line, as JSON
"""

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from shopwright.pipeline.browse.sql import SECONDS, query_files

HOME = Path(__file__).parents[3]
# Bytes of addresses, where the kernel counts them.
MEMORY = 4 << 30
# Seconds beyond those of a query, to begin and to read.
PATIENCE = 5.0


class Worker:
    """Answers one query after the other, in a process that begins with the first one."""

    def __init__(self, *, patience: float = SECONDS + PATIENCE) -> None:
        self.patience = patience
        self.process: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def ask(self, files: Sequence[str], firsts: Sequence[int], sql: str, skip: int, most: int) -> dict[str, Any]:
        """What `shopwright.pipeline.browse.sql.query_files` gives, in any case."""
        line = json.dumps([list(files), list(firsts), sql, skip, most]).encode() + b"\n"
        with self.lock:
            process = self.process or start_worker_process()
            self.process = process
            assert process.stdin
            assert process.stdout
            end = threading.Timer(self.patience, process.kill)
            end.start()
            with suppress(BrokenPipeError):
                process.stdin.write(line)
                process.stdin.flush()
            reply = process.stdout.readline()
            in_time = end.is_alive()
            end.cancel()
            if not reply.endswith(b"\n"):
                self.stop()
                return {"error": "It needs too much memory." if in_time else "It takes too long. Ask for less."}
        found: dict[str, Any] = json.loads(reply)
        return found

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def start_worker_process() -> subprocess.Popen[bytes]:
    """A worker that is ready to import what it needs."""
    paths = os.pathsep.join(filter(None, [str(HOME), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "shopwright.pipeline.browse.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,  # Ctrl-C is for the server, which ends this one
    )


def main() -> None:
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        print(json.dumps(query_files(*json.loads(line)), default=str), flush=True)


if __name__ == "__main__":
    main()
