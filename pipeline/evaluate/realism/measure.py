"""All figures of some logs."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain

import numpy as np

from shopwright.pipeline.evaluate.realism.buying import measure_buying
from shopwright.pipeline.evaluate.realism.figures import GOALS, Curve, Figure, Realism
from shopwright.pipeline.evaluate.realism.logs import ACTIONS, Logs
from shopwright.pipeline.evaluate.realism.predicting import measure_predicting
from shopwright.pipeline.evaluate.realism.searching import Rank, measure_searching, measure_strings
from shopwright.pipeline.evaluate.realism.timing import measure_timing
from shopwright.pipeline.evaluate.realism.two_sample import compare_searches


def measure_logs(
    logs: Logs,
    *,
    rank: Rank | None = None,
    shop_titles: Sequence[str] = (),
    people: Sequence[str] = (),
    of: str = "",
    made: str = "",
) -> Realism:
    """
    Args:
        rank: The engine of the shop that the log is of; without it nothing is said of places on its pages.
        shop_titles: Of the shop's products, opened or not: words that are spelt rightly.
        people: Searches that people typed, to compare with.
    """
    parts = chain(
        measure_buying(logs), measure_searching(logs, rank, shop_titles), measure_timing(logs), measure_predicting(logs)
    )
    found = list(parts)
    figures = {each.key: each for each in found if isinstance(each, Figure)}
    figures["two_sample"] = Figure(key="two_sample", value=None, note="needs --against FILE")
    beside = list[Figure]()
    if people:
        figures["two_sample"] = compare_searches(logs.query_texts, people)
        beside = measure_strings(people, [*logs.titles, *shop_titles], [*logs.brand_names, *logs.kind_names])
    counts = np.bincount(np.asarray(logs.actions), minlength=len(ACTIONS))
    return Realism(
        customers=len(logs.names), actions=len(logs), first=format_day(logs.seconds.min()), last=format_day(logs.seconds.max()),
        mix=dict(zip(ACTIONS, (counts / counts.sum()).tolist(), strict=True)), kinds_from_titles=logs.kinds_from_titles, figures=[figures[key] for key in GOALS],
        people=tuple(beside), curves=tuple(each for each in found if isinstance(each, Curve)), made=made, of=of,
    )  # fmt: skip


def format_day(seconds: float) -> str:
    """
    >>> format_day(1714521600)
    '2024-05-01'
    """
    return f"{datetime.fromtimestamp(float(seconds), UTC):%Y-%m-%d}"
