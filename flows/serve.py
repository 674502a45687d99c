"""What `make serve` does: a Prefect server and a worker on this machine, in the foreground, until Ctrl-C.

    python -m flows.serve --port 4200 --limit 2

What it keeps is in Prefect's home, which `prefect.toml` names.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from flows.build import answers
from flows.deploy import POOL
from pipeline.browse.guard import Guard
from pipeline.problem import Problem

HOST = "127.0.0.1"
PATIENCE = 120.0
"""Seconds for a server to answer: a new home is filled first."""
GRACE = 20.0
"""Seconds for each to end by itself; a worker ends the runs that it has at work."""


def main(arguments: Sequence[str] | None = None) -> int:
    """130 when it was stopped, 2 where it cannot start, 1 when one of the two ended by itself."""
    options = parser().parse_args(arguments)
    for each in (signal.SIGINT, signal.SIGTERM):  # also where this was started to ignore them, as with & in a script
        signal.signal(each, signal.default_int_handler)
    try:
        serve(options.port, options.limit)
    except Problem as problem:
        print(f"serve: error: {problem}", file=sys.stderr)
        return 1 if isinstance(problem, Fallen) else 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    return 0


class Fallen(Problem):
    """One of the two ended by itself."""


def parser() -> ArgumentParser:
    found = ArgumentParser("python -m flows.serve", description=__doc__)
    found.add_argument("--port", type=int, default=4200, help="of the server (default: 4200)")
    found.add_argument("--limit", type=int, default=2, metavar="N", help="releases at a time (default: 2)")
    return found


def serve(port: int, limit: int) -> None:
    """Raises Problem where the port is taken, KeyboardInterrupt when it is stopped."""
    if taken(port):
        raise Problem(f"Port {port} is taken. Stop what listens there, or choose another: make serve PORT={port + 1}")
    url = f"http://{HOST}:{port}"
    os.environ |= {
        "PREFECT_API_URL": f"{url}/api",
        "PREFECT_SERVER_UI_API_URL": f"{url}/api",  # else the pages ask port 4200
        "DO_NOT_TRACK": "1",
    }
    place = ("--host", HOST, "--port", str(port), "--log-level", "warning")
    with running("uvicorn", "--factory", "flows.serve:guarded", *place) as server:
        wait_for(f"{url}/api", server)
        words = ("--pool", POOL, "--type", "process", "--limit", str(limit))
        with running("prefect", "worker", "start", *words) as worker:
            print(f"server  {url}\nworker  of the pool {POOL}, {limit} releases at a time")
            where = "" if port == 4200 else f"PREFECT_API_URL={url}/api "
            print(f"deploy  {where}make deploy\nCtrl-C stops both.", flush=True)
            watch({"server": server, "worker": worker})


def guarded() -> Any:
    """Prefect's server, asked by this machine alone: by itself it answers every page of the web that asks it to run a command."""
    from prefect.server.api.server import create_app

    return Guard(create_app(final=True))


def taken(port: int) -> bool:
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
        except OSError:
            return True
    return False


@contextmanager
def running(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A module at work; in a session of its own, so that a Ctrl-C is for this process, which ends them in order."""
    process = subprocess.Popen([sys.executable, "-m", *words], start_new_session=True)
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Asked first; then all that it started."""
    try:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(api: str, server: subprocess.Popen[bytes]) -> None:
    began = time.monotonic()
    while not answers(api, seconds=2):
        if server.poll() is not None or time.monotonic() - began > PATIENCE:
            raise Fallen(f"The Prefect server does not answer at {api}.")
        time.sleep(0.2)


def watch(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Raises Problem as soon as one of them has ended."""
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                raise Fallen(
                    f"The {name} ended by itself, with exit code {process.returncode}; the other one is stopped."
                )
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
