"""How long a shard may take, and how many builds may ask a model server at once.

A shard that takes longer has its process ended, and is made again by another. The clock runs in the process that makes the
shard, in a thread that Python's lock does not hold up, so that a call into a library that never comes back is ended too. Where
the process hung is then told on its standard error.
"""

import faulthandler
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any

from pipeline.run import Build, Run, ShardMade, make_shard

MINUTES = 60.0
"""A shard is cut to take half a minute to ten."""
MINUTES_OF = {"embeddings": 240.0}
"""Of datasets whose shards may well take longer: a sentence embedder of one's own, on the CPU."""

MODEL_SERVER = "model-server"
"""The name of Prefect's limit on builds that ask a model at the same time, whichever it is."""
LEASE = 60.0
"""Seconds after which the place of a build that was killed is free again."""

Start = Callable[[], AbstractContextManager[Any]]


class Late(Exception):
    """A shard took longer than it may."""


def seconds_for(dataset: str, minutes: float | None = None) -> float:
    """
    >>> seconds_for("personas"), seconds_for("embeddings"), seconds_for("embeddings", 2)
    (3600.0, 14400.0, 120)
    """
    return 60 * (minutes or MINUTES_OF.get(dataset, MINUTES))


def in_time(seconds: float, make: Callable[..., Any], *given: Any) -> Any:
    """What it makes; after so many seconds this process ends, whatever it is at."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        return make(*given)
    finally:
        faulthandler.cancel_dump_traceback_later()


class Hands:
    """Executors that make shards, each lent to one at a time, and replaced when a shard that took too long broke it."""

    def __init__(self, start: Start, stack: ExitStack, minutes: float | None) -> None:
        self.start, self.stack, self.minutes = start, stack, minutes
        self.idle: SimpleQueue[Any] = SimpleQueue()
        self.closed = False

    def make(self, build: Build, index: int) -> ShardMade:
        """Raises Late, BrokenExecutor where the process was ended by something else, and what the stage raises."""
        executor, began, seconds = self.idle.get(), monotonic(), seconds_for(build.name, self.minutes)
        try:
            if self.closed:
                raise CancelledError(f"{build.name} {index} is not made: the build was stopped.")
            made: ShardMade = executor.submit(in_time, seconds, make_shard, build, index).result()
            return made
        except BrokenExecutor:
            if self.closed or monotonic() - began < seconds:
                raise
            executor = self.stack.enter_context(self.start())
            raise Late(
                f"{build.name} {index} took longer than {seconds / 60:g} minutes, so its process was ended."
            ) from None
        finally:
            self.idle.put(executor)


@contextmanager
def hands(run: Run, calls: int, minutes: float | None = None) -> Iterator[Hands]:
    """What makes so many shards: here a process alone for each that is at work, so that one that hangs is ended alone; or the cluster."""
    here = run.runner == "local"
    start = partial(run.executor, 1 if here else calls)
    at_once = max(1, min(run.workers, calls))
    with ExitStack() as stack:
        found = Hands(start, stack, minutes)
        executors = [stack.enter_context(start()) for _ in range(at_once if here else 1)]
        for executor in executors if here else executors * at_once:
            found.idle.put(executor)
        try:
            yield found
        finally:
            found.closed = True


@contextmanager
def a_turn() -> Iterator[None]:
    """Held while a model is asked; waits until there is a place."""
    from prefect.client.orchestration import get_client
    from prefect.concurrency.sync import concurrency

    with get_client(sync_client=True) as client:
        limit = ensure_limit(client)
    if limit.active_slots >= limit.limit:
        print(f"{MODEL_SERVER}: {limit.limit} at work already; waiting for a place.", file=sys.stderr, flush=True)
    with concurrency(MODEL_SERVER, lease_duration=LEASE):
        yield


def ensure_limit(client: Any) -> Any:
    """The limit as it is, made where it is missing."""
    from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
    from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

    try:
        return client.read_global_concurrency_limit_by_name(MODEL_SERVER)
    except ObjectNotFound:
        with suppress(ObjectAlreadyExists):
            client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=MODEL_SERVER, limit=1))
        return client.read_global_concurrency_limit_by_name(MODEL_SERVER)
