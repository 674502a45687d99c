"""What all processes that ask models for a build keep to together: one budget, and so many requests on their way.

They are numbers in a small file that each process maps. Each writes its own line, and what is everybody's under a lock. The requests of a process that
was killed count until another one looks for room.
"""

import fcntl
import mmap
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any, Self

from shopwright.pipeline.stage import ROLES

# Seconds that replies on their way are waited for at the end.
PATIENCE = 15.0
# Lanes at a time, over all processes.
LANES = 1_024
# Seconds after which one that waits is taken to do so no longer, unless it has said so again.
STALE = 0.25
# Seconds after which processes are looked at again, whether they live.
SWEPT = 0.5
# Numbers of eight bytes: what is everybody's, then a line for each lane.
TOKENS, DOLLARS, STOPPED, LINES = range(4)
WIDTHS = 4
FIRST = WIDTHS + len(ROLES)
PID, ROLE, INSIDE, WAITING, GOOD, LINE = range(6)
SIZE = 8 * (FIRST + LANES * LINE)


class Limits:
    """In a file that other processes map (`share_limits`), or without a path in this process alone.

    Entered, it lets nobody else change what is everybody's.
    """

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.file = open(path, "r+b") if path else None  # noqa: SIM115  (held as long as this is)
        held: Any = mmap.mmap(self.file.fileno(), SIZE) if self.file else bytearray(SIZE)
        self.numbers = memoryview(held).cast("d")
        self.thread = threading.Lock()
        self.swept = monotonic()
        self.places: dict[Path, dict[str, tuple[Path, int]]] = {}
        """Of the replies that this process has found when it opened them first (`Replies`)."""

    def __reduce__(self) -> Any:
        return open_limits, (self.path,)

    def __enter__(self) -> Self:
        self.thread.acquire()
        if self.file:
            fcntl.flock(self.file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        if self.file:
            fcntl.flock(self.file, fcntl.LOCK_UN)
        self.thread.release()

    @property
    def spent_tokens(self) -> int:
        return int(self.numbers[TOKENS])

    @property
    def spent_dollars(self) -> float:
        return self.numbers[DOLLARS]

    def spend(self, tokens: int, dollars: float) -> None:
        with self:
            self.numbers[TOKENS] += tokens
            self.numbers[DOLLARS] += dollars

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is to be asked."""
        return bool(self.numbers[STOPPED])

    def stop(self) -> None:
        self.numbers[STOPPED] = 1

    # Lanes

    def lines(self) -> range:
        """Where the lines begin that lanes have had."""
        return range(FIRST, FIRST + LINE * int(self.numbers[LINES]), LINE)

    def take_line(self, role: int) -> int:
        """Where the line of a new lane begins."""
        with self:
            self.sweep()
            free = next((line for line in self.lines() if not self.numbers[line + PID]), None)
            if free is None:
                free = FIRST + LINE * int(self.numbers[LINES])
                self.numbers[LINES] += 1
            for place, value in enumerate((os.getpid(), role, 0, 0, monotonic())):
                self.numbers[free + place] = value
            return free

    def drop_line(self, line: int) -> None:
        for place in range(LINE):
            self.numbers[line + place] = 0

    def sweep(self) -> None:
        """Takes the lines of processes away that are no more."""
        self.swept = monotonic()
        for line in self.lines():
            if (pid := int(self.numbers[line + PID])) and not is_alive(pid):
                self.drop_line(line)

    def others(self, line: int) -> list[int]:
        """The lines of all other lanes of its role."""
        found = self.numbers
        return [
            each
            for each in self.lines()
            if each != line and found[each + PID] and found[each + ROLE] == found[line + ROLE]
        ]

    def room(self, line: int, width: int, *, leaving: bool) -> int:
        """How many requests more a lane may begin, of `width` in all: where others wait too, all get the same share."""
        found, others = self.numbers, self.others(line)
        free = width - int(found[line + INSIDE])
        if not others:
            return free
        free -= int(sum(found[each + INSIDE] for each in others))
        since = monotonic() - STALE
        waiting = [each for each in others if found[each + WAITING] > since]
        # Who ends one would always be there before those who have none: these look for room only now and then.
        if leaving and any(not found[each + INSIDE] for each in waiting):
            return 0
        return min(free, ceil(width / (1 + len(waiting))) - int(found[line + INSIDE]))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def open_limits(path: str) -> Limits:
    """The same for all shards that a process makes of a build; never those that it was forked with, whose lock it would share."""
    return map_limits(path, os.getpid())


@lru_cache(maxsize=1)
def map_limits(path: str, process: int) -> Limits:
    """`process` is what it is kept by."""
    return Limits(path)


@contextmanager
def share_limits(limits: Limits) -> Iterator[Limits]:
    """The same in a file, for as long as this is entered; what was spent meanwhile counts afterwards."""
    with tempfile.NamedTemporaryFile(prefix="shopwright-limits-") as file:
        file.truncate(SIZE)
        found = Limits(file.name)
        before = limits.spent_tokens, limits.spent_dollars
        found.spend(*before)
        try:
            yield found
        finally:
            limits.spend(found.spent_tokens - before[0], found.spent_dollars - before[1])


@contextmanager
def wait_for_replies(limits: Limits, wait_until_idle: Callable[[float], object]) -> Iterator[None]:
    """Where processes that share limits are left early, they ask nothing more and are waited for a little: what is on its way is paid for."""
    try:
        yield
    except BaseException:
        if limits.path:
            limits.stop()
            wait_until_idle(PATIENCE + 1)
        raise
