"""How far an evaluation is while models answer, and what came of it."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from shopwright.pipeline.models.base import UnansweredRequest

T = TypeVar("T")
# Seconds between two lines that say how far it is.
REPORT_INTERVAL = 5.0


@contextmanager
def report_progress(
    line: Callable[[], str], say: Callable[[str], None], *, every: float = REPORT_INTERVAL
) -> Iterator[None]:
    """Says how far it is every few seconds, whether anything has come or not, and once at the end."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.wait(every):
            say(line())

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        yield
    finally:
        stopped.set()
        worker.join()
        say(line())


@dataclass(frozen=True)
class AnsweredRows(Generic[T]):
    """What was answered, of all that was asked: figures are of these rows."""

    rows: list[T]
    asked: int

    def __str__(self) -> str:
        """
        >>> str(AnsweredRows(["a"], 2))
        'answered   1 of 2'
        """
        return f"answered   {len(self.rows):,} of {self.asked:,}"


def collect_answered(
    found: Iterable[T | UnansweredRequest],
    total: int,
    say: Callable[[str], None],
    what: str,
    *,
    every: float = REPORT_INTERVAL,
) -> AnsweredRows[T]:
    """All that were answered, with word of how far it is meanwhile. Raises Unanswered where none was."""
    rows: list[T] = []
    lost: list[UnansweredRequest] = []
    began = monotonic()

    def line() -> str:
        spent, done = monotonic() - began, len(rows) + len(lost)
        left = f", about {spent / done * (total - done):,.0f} s left" if 0 < done < total else ""
        missing = f", {len(lost):,} not answered" if lost else ""
        return f"{what}: {done:,} of {total:,}{missing}, {spent:,.0f} s{left}"

    with report_progress(line, say, every=every):
        for each in found:
            if isinstance(each, UnansweredRequest):
                lost.append(each)
            else:
                rows.append(each)
    if lost and not rows:
        raise lost[0]
    return AnsweredRows(rows, len(rows) + len(lost))
