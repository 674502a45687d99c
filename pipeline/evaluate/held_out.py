"""How well an agent does on kinds of tasks that stand in tests alone, beside the rest of the test."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

from shopwright.pipeline.evaluate.statistics import Share, measure_share
from shopwright.pipeline.evaluate.table import Table


class KindResult(NamedTuple):
    """What came of a task of the test."""

    policy: str
    tasks: str
    """Which, such as those of an environment."""
    held_out: bool
    """Whether they are of a kind that nobody trains on."""
    success: bool


class KindScore(NamedTuple):
    """How often an agent succeeds on held-out kinds, and on the rest of the test."""

    policy: str
    tasks: str
    held_out: Share
    others: Share


def summarize_kinds(results: Iterable[KindResult]) -> list[KindScore]:
    """For each agent and sort of task."""
    found: dict[tuple[str, str], dict[bool, list[bool]]] = {}
    for each in results:
        found.setdefault((each.policy, each.tasks), {True: [], False: []})[each.held_out].append(each.success)
    return [
        KindScore(*names, *(measure_share(sum(by[held]), len(by[held])) for held in (True, False)))
        for names, by in found.items()
    ]


def summarize_kinds_in_json(results: Iterable[KindResult]) -> list[dict[str, Any]]:
    """
    >>> summarize_kinds_in_json([KindResult("a", "b", True, True)])[0]["held_out"]["count"]
    1
    """
    return [
        {**each._asdict(), "held_out": asdict(each.held_out), "others": asdict(each.others)}
        for each in summarize_kinds(results)
    ]


def tabulate_held_out_kinds(results: Iterable[KindResult]) -> Table:
    """
    >>> print(tabulate_held_out_kinds([KindResult("a", "b", True, True)]))
    agent  tasks  success on held-out kinds, %  on the rest of the test, %
    -----  -----  ----------------------------  --------------------------
    a      b      100.0 (20.7 - 100.0), of 1    –
    """
    lines = []
    for each in summarize_kinds(results):
        cells = [
            f"{share.format_interval()}, of {share.count:,}" if share.count else "–"
            for share in (each.held_out, each.others)
        ]
        lines.append([each.policy, each.tasks, *cells])
    return Table(["agent", "tasks", "success on held-out kinds, %", "on the rest of the test, %"], lines)
