"""What comes of tasks that are tried several times: whether any of k tries succeeds, and whether all of them do."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from shopwright.pipeline.evaluate.statistics import (
    Share,
    average_shares,
    estimate_mean,
    estimate_pass_all,
    estimate_pass_at,
    measure_share,
)
from shopwright.pipeline.evaluate.table import Table

# The k of pass@k and pass^k, as far as there are so many tries.
TRIED = (1, 2, 4, 8)
RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Passes:
    """Shares of tasks, with Wilson's intervals at as many tasks: more tries at one task do not make them narrower."""

    tasks: int
    tries: int
    """Of a task, at most."""
    pass_at: dict[int, Share]
    """By k: of tasks of which one of k tries is right."""
    pass_all: dict[int, Share]
    """By k: of tasks of which all of k tries are (pass^k of tau-bench, Yao et al. 2024, arXiv 2406.12045)."""


def group_by_task(rows: Iterable[RowT], task: Callable[[RowT], str]) -> list[list[RowT]]:
    """The tries of each task, in the order of their first."""
    found: dict[str, list[RowT]] = defaultdict(list)
    for row in rows:
        found[task(row)].append(row)
    return list(found.values())


def average_by_task(tasks: Iterable[list[RowT]], value: Callable[[RowT], float]) -> list[float]:
    """
    >>> average_by_task([[1, 0], [1, 1]], float)
    [0.5, 1.0]
    """
    return [estimate_mean(list(map(value, rows)))[0] for rows in tasks]


def measure_passes(tasks: Iterable[list[RowT]], is_right: Callable[[RowT], bool]) -> Passes:
    """Each k is of the tasks that were tried so often: a try that no server answered is none.

    >>> found = measure_passes([[True, False], [True, True]], bool)
    >>> {k: share.share for k, share in found.pass_at.items()}, {k: share.share for k, share in found.pass_all.items()}
    ({1: 0.75, 2: 1.0}, {1: 0.75, 2: 0.5})
    """
    counts = [(len(rows), sum(map(is_right, rows))) for rows in tasks]
    most = max((tries for tries, _ in counts), default=0)
    pass_at, pass_all = {}, {}
    for k in sorted({*(k for k in TRIED if k < most), most} - {0}):
        enough = [each for each in counts if each[0] >= k]
        pass_at[k] = measure_share(sum(estimate_pass_at(k, *each) for each in enough), len(enough))
        pass_all[k] = measure_share(sum(estimate_pass_all(k, *each) for each in enough), len(enough))
    return Passes(len(counts), most, pass_at, pass_all)


def average_passes(found: Sequence[Passes]) -> Passes:
    """The mean of some that have nothing to do with one another, of each k that all have."""
    return Passes(
        sum(each.tasks for each in found),
        max(each.tries for each in found),
        average_each([each.pass_at for each in found]),
        average_each([each.pass_all for each in found]),
    )


def average_each(found: Sequence[Mapping[int, Share]]) -> dict[int, Share]:
    shared = set(found[0]).intersection(*found)
    return {k: average_shares([each[k] for each in found]) for k in sorted(shared)}


def tabulate_passes(names: Sequence[str], groups: Mapping[tuple[str, ...], Passes]) -> Table:
    """In percent with intervals, a line for each group; no rows where each task was tried once."""
    tried = sorted(set().union(*(each.pass_at for each in groups.values())))
    more = [k for k in tried if k > 1]  # pass^1 is pass@1
    lines = []
    for group, each in groups.items() if more else ():
        shares = [*(each.pass_at.get(k) for k in tried), *(each.pass_all.get(k) for k in more)]
        lines.append([*group, f"{each.tasks:,}", *(share.format_interval() if share else "–" for share in shares)])
    return Table([*names, "tasks", *(f"pass@{k}, %" for k in tried), *(f"pass^{k}, %" for k in more)], lines)
