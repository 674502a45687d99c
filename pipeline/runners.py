"""Where the shards of a build are made: in processes of this machine, or as tasks on a cluster of Dask or Ray.

`local`, `connect_dask`, `connect_ray` start what they need here; `dask:tcp://host:8786` and `ray:host:6379` use a cluster that is there. Its workers
need the same code, and the run's folder under the same name: a disk that all share, or `s3://` and the like.
"""

import atexit
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, Protocol

from shopwright.pipeline.problem import ASKING, Ended, Problem
from shopwright.pipeline.rubbish import look_rarely

KINDS = ("local", "dask", "ray")
# How often a shard is begun again elsewhere because its worker was lost, before the build gives up.
TRIES = 3
LOST = (
    "A worker was lost {times} times in the same shard, most often because memory ran out. What is finished is kept: "
    "run the same command again, with more memory for each worker."
)
GIVEN_UP = "The cluster gave the work up. What is finished is kept: run the same command again."
# Ray's errors of a worker that ended, whatever it did.
RAY_LOSSES = {"WorkerCrashedError", "NodeDiedError", "OutOfMemoryError", "ActorDiedError", "LocalRayletDiedError"}
ALONE = threading.Lock()


class Executor(Protocol):
    """What takes a call and gives a future of its result."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]": ...


def check_runner(text: str) -> str:
    """
    >>> check_runner("dask:tcp://10.0.0.5:8786")
    'dask:tcp://10.0.0.5:8786'

    Raises ValueError for another kind.
    """
    kind, colon, address = text.partition(":")
    if kind not in KINDS or (colon and not address) or (kind == "local" and colon):
        raise ValueError(f"{text} is not local, dask, ray, dask:ADDRESS or ray:ADDRESS")
    return text


@contextmanager
def open_executor(runner: str, workers: int) -> Iterator[Executor]:
    """Takes the calls of a build for as long as it is open; `workers` counts for what is started here alone."""
    kind, _, address = runner.partition(":")
    if kind == "local":
        with open_process_pool(workers) as executor:
            yield executor
    else:
        yield {"dask": connect_dask, "ray": connect_ray}[kind](address, workers)


@cache
def connect_dask(address: str, workers: int) -> Executor:
    """A client for as long as this process lives. Raises Problem where Dask is not installed or no scheduler answers."""
    try:
        from distributed import Client, KilledWorker, LocalCluster
    except ImportError:
        raise explain_missing_runner("dask") from None
    for name in (
        "distributed",
        "distributed.client",
        "asyncio",
        "tornado",
        "tornado.application",
    ):  # each has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what ends a build is told once, by us
    if address and (error := probe_address(address)):
        raise explain_unreachable("Dask scheduler", address, error)
    try:
        mine = None if address else LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        client = Client(mine or address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise explain_unreachable("Dask scheduler", address, error) from None
    atexit.register(mine.close if mine else client.close)
    return Tasks(partial(client.get_executor(pure=False).submit, call_alone), KilledWorker)


@cache
def connect_ray(address: str, workers: int) -> Executor:
    """A driver for as long as this process lives. Raises Problem where Ray is not installed or no head node answers."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address and ("RAY_AUTH_TOKEN" in os.environ or (Path.home() / ".ray" / "auth_token").exists()):
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # read when ray is imported
    try:
        import ray as engine
    except ImportError:
        raise explain_missing_runner("ray") from None
    if address and (error := probe_address(address)):
        raise explain_unreachable("Ray head node", address, error)
    where: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": workers}
    try:
        engine.init(**where, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise explain_unreachable("Ray head node", address, error) from None
    task = engine.remote(max_retries=TRIES, num_cpus=1)(call_alone)
    return Tasks(lambda *given: task.remote(*given).future(), engine.exceptions.RaySystemError)


def probe_address(address: str) -> Exception | None:
    """Why nobody listens there; Ray itself would go on asking for minutes.

    >>> type(probe_address("nowhere"))
    <class 'ValueError'>
    """
    host, _, port = address.rpartition("/")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, ValueError) as error:
        return error
    return None


class Tasks:
    """An executor over a cluster's: its errors become ours, and in a worker one call is at work at a time."""

    def __init__(self, submit: Callable[..., "Future[Any]"], lost: type[Exception]) -> None:
        self.theirs, self.lost = submit, lost

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":
        found: Future[Any] = Future()
        found.set_running_or_notify_cancel()
        self.theirs(function, *arguments).add_done_callback(lambda theirs: self.pass_on(theirs, found))
        return found

    def pass_on(self, theirs: "Future[Any]", found: "Future[Any]") -> None:
        error = theirs.exception() if not theirs.cancelled() else Ended(GIVEN_UP)
        if error is None:
            found.set_result(theirs.result())
        elif isinstance(error, self.lost) or type(error).__name__ in RAY_LOSSES:
            found.set_exception(Ended(LOST.format(times=TRIES)))
        else:
            found.set_exception(getattr(error, "cause", None) or error)


def call_alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """One at a time in a process, even where its cluster gave it threads: a stage keeps what it knows for itself."""
    with ALONE:
        return function(*arguments)


def explain_missing_runner(kind: str) -> Problem:
    return Problem(
        f"--runner {kind} needs {kind}, which is not installed. Install it: pip install 'shopwright[{kind}]'."
    )


def explain_unreachable(what: str, address: str, error: Exception) -> Problem:
    why = " ".join(str(error).split())[:200]
    return Problem(f"No {what} answers at {address or 'this machine'}: {why}")


def get_fork_server(modules: Iterable[str] = ()) -> ForkServerContext:
    """What starts processes forked from one that has imported what builds need, and these modules where it is not running yet."""
    context = multiprocessing.get_context("forkserver")
    # Where pandas is, pyarrow imports it for the first list that it makes an array of.
    context.set_forkserver_preload(["shopwright.pipeline.run", "pandas", *modules])
    forget_file_of_piped_script()
    start_deaf_to_stops()
    return context


def end_fork_server() -> None:
    """At once, and with it what it forked: one stopped before it could ask to end with its parent would stay. It is started again when it is needed."""
    pid = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    if pid is not None:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGSTOP)  # from here on it forks none
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            for each in (*list_children(pid), pid):
                os.kill(each, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # who starts it again asks whether it has ended
        for each in list_orphans():
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        start_deaf_to_stops.cache_clear()


def list_children(pid: int) -> list[int]:
    """The processes that another one has started; none where the system does not tell."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def list_orphans() -> list[int]:
    """What a server of forks has begun that was itself killed from outside: they hold the pipe by which it lives. None where the system does not tell."""
    found = []
    with suppress(OSError, TypeError):
        pipe = os.readlink(f"/proc/self/fd/{forkserver._forkserver._forkserver_alive_fd}")  # type: ignore[attr-defined]
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # another's, or gone
                if b"multiprocessing.forkserver" in (each / "cmdline").read_bytes():
                    found += [int(each.name)] * (pipe in map(os.readlink, (each / "fd").iterdir()))
    return found


@contextmanager
def open_process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that end with this one, whatever ends it."""
    others = multiprocessing.active_children()
    try:
        executor = ProcessPoolExecutor(workers, mp_context=get_fork_server(), initializer=follow_the_parent)
        with executor:
            try:
                yield executor
            except BaseException:
                executor.shutdown(wait=False, cancel_futures=True)  # from now on it starts no other
                while left := [process for process in multiprocessing.active_children() if process not in others]:
                    for process in left:
                        process.kill()  # one that was stopped would not hear anything milder
                        process.join(0.1)
                raise
            executor.shutdown(cancel_futures=True)
    except BrokenProcessPool:
        raise Ended(
            "A worker process was ended from outside, most often because memory ran out. What is finished is kept: "
            "run the same command again, with fewer --workers."
        ) from None


def forget_file_of_piped_script() -> None:
    """Python says that a script from a pipe (`python - <<END`) is the file "<stdin>", which each worker would try to read and end."""
    main = sys.modules["__main__"]
    if getattr(main, "__file__", None) == "<stdin>":
        del main.__file__


@cache
def start_deaf_to_stops() -> None:
    """Starts the process that workers are forked from, and waits for it; it is this process that a stop is for, and that then ends what was forked."""
    context = multiprocessing.get_context("forkserver")
    signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
    try:
        # Python's own helper would be started in between; it lets some of the signals through again, here and to itself.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKING)
    first = context.Process(target=int)  # ends well even if this process does not live to see it, as no worker would
    try:
        first.start()
        first.join()
        if first.exitcode != 0:
            raise BrokenProcessPool("What processes are forked from was ended as it began.")
    except BaseException:
        end_fork_server()  # else what was stopped would stay so
        raise


def follow_the_parent() -> None:
    """Begins a worker's life: it ends with its parent, and seldom looks for rubbish, of which millions of rows make none."""
    gc.freeze()
    look_rarely()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=lambda: wait([parent.sentinel]) and os._exit(1), daemon=True).start()
