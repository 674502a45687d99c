"""What `make serve` does: a Prefect server and a worker on this machine, in the foreground, until Ctrl-C.

    python -m shopwright.flows.serve --port 4200 --limit 2

What it keeps is in `.prefect/` of the current folder, or where PREFECT_HOME says.
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

from shopwright.flows.build import is_server_up
from shopwright.flows.deploy import POOL
from shopwright.flows.prefect_settings import prepare_prefect
from shopwright.pipeline.browse.guard import BodyLimit, Guard
from shopwright.pipeline.problem import Problem

HOST = "127.0.0.1"
PROTOCOL = "shopwright.pipeline.browse.patience:PatientProtocol"
# Seconds for a server to answer: a new home is filled first.
PATIENCE = 120.0
# Seconds for each to end by itself; a worker ends the runs that it has at work.
GRACE = 20.0


def main(arguments: Sequence[str] | None = None) -> int:
    """130 when it was stopped, 2 where it cannot start, 1 when one of the two ended by itself."""
    parser = ArgumentParser("python -m shopwright.flows.serve", description=__doc__)
    parser.add_argument("--port", type=int, default=4200, help="of the server (default: 4200)")
    parser.add_argument("--limit", type=int, default=2, metavar="N", help="releases at a time (default: 2)")
    options = parser.parse_args(arguments)
    for each in (signal.SIGINT, signal.SIGTERM):  # also where this was started to ignore them, as with & in a script
        signal.signal(each, signal.default_int_handler)
    try:
        prepare_prefect("A Prefect server")
        serve(options.port, options.limit)
    except Problem as problem:
        print(f"serve: error: {problem}", file=sys.stderr)
        return 1 if isinstance(problem, ServiceDied) else 2
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    return 0


class ServiceDied(Problem):
    """One of the two ended by itself."""


def serve(port: int, limit: int) -> None:
    """Raises Problem where the port is taken, KeyboardInterrupt when it is stopped."""
    if is_port_taken(port):
        raise Problem(f"Port {port} is taken. Stop what listens there, or choose another: make serve PORT={port + 1}")
    url = f"http://{HOST}:{port}"
    os.environ |= {
        "PREFECT_API_URL": f"{url}/api",
        "PREFECT_SERVER_UI_API_URL": f"{url}/api",  # else the pages ask port 4200
    }
    place = ("--host", HOST, "--port", str(port), "--log-level", "warning", "--http", PROTOCOL)
    with run_module("uvicorn", "--factory", "shopwright.flows.serve:create_guarded_server", *place) as server:
        wait_for(f"{url}/api", server)
        words = ("--pool", POOL, "--type", "process", "--limit", str(limit))
        with run_module("prefect", "worker", "start", *words) as worker:
            print(f"server  {url}\nworker  of the pool {POOL}, {limit} releases at a time")
            where = "" if port == 4200 else f"PREFECT_API_URL={url}/api "
            print(f"deploy  {where}make deploy\nCtrl-C stops both.", flush=True)
            watch({"server": server, "worker": worker})


def create_guarded_server() -> Any:
    """Prefect's server, asked by this machine alone: by itself it answers every page of the web that asks it to run a command."""
    from prefect.server.api.server import create_app

    return BodyLimit(Guard(create_app(final=True)))


def is_port_taken(port: int) -> bool:
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, port))
        except OSError:
            return True
    return False


@contextmanager
def run_module(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A module at work; in a session of its own, so that a Ctrl-C is for this process, which ends them in order."""
    process = subprocess.Popen([sys.executable, "-m", *words], start_new_session=True)
    try:
        yield process
    finally:
        end_process(process)


def end_process(process: subprocess.Popen[bytes]) -> None:
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
    while not is_server_up(api, seconds=2):
        if server.poll() is not None or time.monotonic() - began > PATIENCE:
            raise ServiceDied(f"The Prefect server does not answer at {api}.")
        time.sleep(0.2)


def watch(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Raises Problem as soon as one of them has ended."""
    while True:
        for name, process in processes.items():
            if process.poll() is not None:
                raise ServiceDied(
                    f"The {name} ended by itself, with exit code {process.returncode}; the other one is stopped."
                )
        time.sleep(0.5)


if __name__ == "__main__":
    sys.exit(main())
