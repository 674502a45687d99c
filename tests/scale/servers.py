"""Servers of the tests' own on this machine: object storage that speaks S3, and clusters of two workers."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
TOKEN = "0123456789abcdef" * 4
"""That a driver has to know, in RAY_AUTH_TOKEN."""
HOME = Path(__file__).parents[2]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def until_it_listens(port, process):
    for _ in range(600):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, "it ended before it listened"
        time.sleep(0.1)
    raise AssertionError(f"nobody listens on {port}")


def tool(name):
    return str(Path(sys.executable).with_name(name))


@contextmanager
def process(*words, **environment):
    """A command in a group of its own, which goes with the test."""
    started = subprocess.Popen(
        list(map(str, words)),
        cwd=HOME,
        env={**os.environ, "PYTHONPATH": str(HOME), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield started
    finally:
        kill(started)


def kill(process):
    """As `kill -9`, of all that it started too."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def storage():
    """What the environment needs for `s3://bucket/...` to be a server of this machine's memory."""
    port = free_port()
    with process(tool("moto_server"), "-H", "127.0.0.1", "-p", port) as server:
        until_it_listens(port, server)
        yield {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}


@contextmanager
def dask():
    """The runner's name, and the two workers; one that is killed is not started again."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with ExitStack() as stack:
        where = ("--host", "127.0.0.1", "--port", port, "--no-dashboard")
        scheduler = stack.enter_context(process(tool("dask"), "scheduler", *where))
        until_it_listens(port, scheduler)
        mine = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [stack.enter_context(process(tool("dask"), "worker", address, *mine)) for _ in range(2)]
        yield f"dask:{address}", workers


@contextmanager
def ray():
    """The runner's name, and the second of two nodes with one worker each."""
    port = free_port()
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    quiet = ("--num-cpus", "1", "--disable-usage-stats", "--block")
    with ExitStack() as stack:
        head = ("--head", f"--port={port}", "--include-dashboard=false", "--node-ip-address=127.0.0.1")
        first = stack.enter_context(process(tool("ray"), "start", *head, *quiet, **token))
        until_it_listens(port, first)
        node = stack.enter_context(process(tool("ray"), "start", f"--address=127.0.0.1:{port}", *quiet, **token))
        yield f"ray:127.0.0.1:{port}", [node]
