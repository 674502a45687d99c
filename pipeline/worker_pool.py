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
from contextlib import ExitStack, contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Timer, current_thread, main_thread
from time import monotonic
from typing import Any

from shopwright.pipeline.forks import Origin, Worker
from shopwright.pipeline.problem import Ended, finish_before_stopping
from shopwright.pipeline.rubbish import rarely_looked_for
from shopwright.pipeline.runners import Executor

# A shard is cut to take half a minute to ten.
MINUTES = 60.0
# Of datasets whose shards may well take longer: a sentence embedder of one's own, on the CPU.
MINUTES_OF = {"embeddings": 240.0}
# Where a model is asked: each of its requests has a limit of its own.
MINUTES_ASKING = 7 * 24 * 60.0
# Seconds more before a process that does not end itself is ended from here.
GRACE = 2.0
STANDARD_ERROR = 2
# Seconds: 0 would be never.
SOON = 0.001


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
    outer, began = signal.getitimer(signal.ITIMER_REAL)[0] if alarm else 0.0, monotonic()
    alarm = alarm and not 0 < outer < seconds  # somebody's own limit, as of a whole release, comes first
    before = signal.signal(signal.SIGALRM, hear) if alarm else None
    try:
        if alarm:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        with rarely_looked_for():
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
            if outer:
                signal.setitimer(signal.ITIMER_REAL, max(outer - (monotonic() - began), SOON))


class WorkerPool:
    """The processes that make a dataset's shards, each lent to one at a time, and replaced when it was ended.

    They are forked from one that has learnt what they need, and live as long as one dataset is built with them; that one goes on
    learning until all are built.
    """

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.stack = ExitStack()
        self.idle: SimpleQueue[Worker] = SimpleQueue()
        self.size = 0
        self.closed = False

    @contextmanager
    def lend(self, at_once: int, seconds: float, learn: Callable[..., Any], *given: Any) -> Iterator["WorkerPool"]:
        """With workers for so many shards at once, which, where they are several, know what this call learns in so many seconds at most. An error ends them all."""
        self.closed, self.size, self.idle = False, at_once, SimpleQueue()
        try:
            if at_once > 1:  # one alone learns while it works
                self.origin.learn(seconds + GRACE, run_with_deadline, seconds, learn, *given)
            with finish_before_stopping():  # a process that is stopped while it begins tells of it at length
                for _ in range(at_once):
                    self.idle.put(self.start_worker())
            yield self
            self.closed = True
            self.stack.close()
        except BaseException as error:
            self.closed = True
            self.origin.end()
            with self.stack.pop_all():
                if isinstance(error, BrokenExecutor):
                    raise WorkerDied("its start") from None
                raise

    def start_worker(self) -> Worker:
        worker = self.stack.enter_context(self.origin.start_worker())
        if self.closed:  # meanwhile, by another call's error: nobody else would end it
            worker.end()
        return worker

    def wait_until_idle(self, seconds: float) -> None:
        """Begins no shard more and waits for those that are being made, so long at most."""
        self.closed, end = True, monotonic() + seconds
        found: list[Worker] = []
        with suppress(Empty):
            while len(found) < self.size:
                found.append(self.idle.get(timeout=max(0.0, end - monotonic())))
        for worker in found:
            self.idle.put(worker)  # calls that wait for one learn that they are not made

    def make(self, what: str, seconds: float, function: Callable[..., Any], *given: Any) -> Any:
        """What the function gives, and raises what it raises; ShardTimeout or WorkerDied where its process was ended."""
        worker, began = self.idle.get(), monotonic()
        try:
            if self.closed:
                raise CancelledError(f"{what} is not made: the build was stopped.")
            if worker.has_ended():  # with what it was forked from, while it was idle: no fault of this shard
                worker = self.start_worker()
            return worker.call(seconds + GRACE, run_with_deadline, seconds, function, *given)
        except OSError:
            if self.closed:  # by another call's error, and with it the pipes
                raise CancelledError(f"{what} is not made: the build was stopped.") from None
            raise
        except BrokenExecutor:
            if self.closed:
                raise
            error = WorkerDied(what) if monotonic() - began < seconds else ShardTimeout(what, seconds)
            with suppress(BrokenExecutor):  # it was ended, too: the next call asks for another
                worker = self.start_worker()
            raise error from None
        finally:
            self.idle.put(worker)


class ClusterPool:
    """The same on a cluster, which deals shards out and replaces workers by itself."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def wait_until_idle(self, seconds: float) -> None:
        """Nothing to wait for here: a cluster ends by itself what it is at."""

    def make(self, what: str, seconds: float, function: Callable[..., Any], *given: Any) -> Any:
        return self.executor.submit(run_with_deadline, seconds, function, *given).result()
