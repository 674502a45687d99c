"""The processes that make shards, each lent to one shard at a time: one that hangs, or is killed, takes no other shard with it.

A shard that takes too long has its process ended. The clock runs in that process, in a thread that Python's lock does not hold up, so
that a call into a library that never comes back is ended too, and where it hung is told on its standard error; a process that was
stopped altogether is ended from here. A build with one worker makes its shards itself, and has the same clock.
"""

import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from concurrent.futures import TimeoutError as Overdue
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Timer, current_thread, main_thread
from time import monotonic
from typing import Any, NamedTuple

from shopwright.pipeline.problem import Ended, finish_before_stopping

# A shard is cut to take half a minute to ten.
MINUTES = 60.0
# Of datasets whose shards may well take longer: a sentence embedder of one's own, on the CPU.
MINUTES_OF = {"embeddings": 240.0}
# Where a model is asked: each of its requests has a limit of its own.
MINUTES_ASKING = 7 * 24 * 60.0
# Seconds more before a process that does not end itself is ended from here.
GRACE = 2.0
STANDARD_ERROR = 2

Start = Callable[[], AbstractContextManager[Any]]


class ShardTimeout(Ended):
    """A shard took longer than it may."""

    def __init__(self, what: str, seconds: float, ended: str = "its process was ended, again and again") -> None:
        super().__init__(
            f"{what} took longer than {seconds / 60:g} minutes, so {ended}. What is finished is kept: "
            "run the same command again, or with more --minutes."
        )


class WorkerDied(Ended):
    """The process that made a shard was ended from outside."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"A worker process was ended from outside, most often because memory ran out: again and again over {what}. What is "
            "finished is kept: run the same command again, with fewer --workers."
        )


def seconds_for(dataset: str, minutes: float | None = None) -> float:
    """
    >>> seconds_for("personas"), seconds_for("embeddings"), seconds_for("embeddings", 2)
    (3600.0, 14400.0, 120)
    """
    return 60 * (minutes or MINUTES_OF.get(dataset, MINUTES))


def run_with_deadline(seconds: float, make: Callable[..., Any], *given: Any) -> Any:
    """What it makes; after so many seconds this process ends, whatever it is at."""
    # By its number: what stands in for standard error in notebooks and under tests may have none.
    faulthandler.dump_traceback_later(seconds, file=STANDARD_ERROR, exit=True)
    try:
        return make(*given)
    finally:
        faulthandler.cancel_dump_traceback_later()


def run_here(what: str, seconds: float, make: Callable[..., Any], *given: Any) -> Any:
    """The same in the process that builds, which is ended only where a library never comes back. Raises ShardTimeout."""
    late = ShardTimeout(what, seconds, "it was ended")
    heard: list[int] = []

    def hear(number: int, _: object) -> None:
        heard.append(number)
        raise late

    def end() -> None:
        print(f"shopwright: error: {late}", file=sys.stderr, flush=True)
        os._exit(3)

    backstop = Timer(seconds + GRACE, end)
    backstop.daemon = True
    backstop.start()
    alarm = hasattr(signal, "setitimer") and current_thread() is main_thread()
    before = signal.signal(signal.SIGALRM, hear) if alarm else None
    try:
        if alarm:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        return run_with_deadline(seconds + 2 * GRACE, make, *given)
    except Exception:
        if heard:  # a library may have turned it into an error of its own
            raise late from None
        raise
    finally:
        backstop.cancel()
        if alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


class PoolWorker(NamedTuple):
    executor: Any
    pid: int | None
    """Of its only process; none where it is a cluster's, which ends processes itself."""


class WorkerPool:
    """Executors that make shards, each lent to one at a time, and replaced when its process was ended.

    They live as long as what is built with them: each is started when a dataset has a shard for it, and kept for those after it.
    """

    def __init__(self, start: Start, *, here: bool = True) -> None:
        self.start, self.here = start, here
        self.stack = ExitStack()
        self.idle: SimpleQueue[PoolWorker] = SimpleQueue()
        self.size = 0
        self.closed = False

    @contextmanager
    def lend(self, at_once: int) -> Iterator["WorkerPool"]:
        """With workers for so many shards at once. An error ends them all: what they are at is not waited for."""
        try:
            with finish_before_stopping():  # a process that is stopped while it begins tells of it at length
                self.grow(at_once)
            yield self
        except BaseException:
            self.closed = True
            with self.stack.pop_all():
                raise

    def grow(self, at_once: int) -> None:
        while self.size < at_once:
            hand = self.start_worker()
            # A cluster's executor takes as many calls as there are.
            for _ in range(1 if self.here else at_once - self.size):
                self.idle.put(hand)
                self.size += 1

    def close(self) -> None:
        self.closed = True
        self.stack.close()

    def wait_until_idle(self, seconds: float) -> None:
        """Begins no shard more and waits for those that are being made, so long at most."""
        self.closed, end = True, monotonic() + seconds
        found: list[PoolWorker] = []
        with suppress(Empty):
            while len(found) < self.size:
                found.append(self.idle.get(timeout=max(0.0, end - monotonic())))
        for hand in found:
            self.idle.put(hand)  # calls that wait for one learn that they are not made

    def start_worker(self) -> PoolWorker:
        executor = self.stack.enter_context(self.start())
        return PoolWorker(executor, executor.submit(os.getpid).result() if self.here else None)

    def make(self, what: str, seconds: float, function: Callable[..., Any], *given: Any) -> Any:
        """What the function gives, and raises what it raises; Late or Lost where its process was ended."""
        hand, began = self.idle.get(), monotonic()
        try:
            if self.closed:
                raise CancelledError(f"{what} is not made: the build was stopped.")
            return run_on_worker(hand, seconds, function, *given)
        except BrokenExecutor:
            if self.closed:
                raise
            error = WorkerDied(what) if monotonic() - began < seconds else ShardTimeout(what, seconds)
            hand = self.start_worker()
            raise error from None
        finally:
            self.idle.put(hand)


def run_on_worker(hand: PoolWorker, seconds: float, function: Callable[..., Any], *given: Any) -> Any:
    future = hand.executor.submit(run_with_deadline, seconds, function, *given)
    try:
        return future.result(seconds + GRACE if hand.pid else None)
    except Overdue:
        if hand.pid and not future.done():
            with suppress(ProcessLookupError):
                os.kill(hand.pid, signal.SIGKILL)
        return future.result()
