"""Figures of time and of form: gaps between actions, days, how far a log can be packed."""

import zlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from shopwright.pipeline.evaluate.realism.buying import DAY, median_figure
from shopwright.pipeline.evaluate.realism.figures import Curve, Figure
from shopwright.pipeline.evaluate.realism.logs import CLICK, PURCHASE, Logs, split_customers
from shopwright.pipeline.evaluate.realism.searching import share_by_customer

GAPS = (
    0,
    5,
    10,
    20,
    30,
    60,
    120,
    300,
    600,
    1_200,
    2_400,
    3_600,
    7_200,
    21_600,
    43_200,
    DAY,
    2 * DAY,
    4 * DAY,
    7 * DAY,
    14 * DAY,
)
"""Edges of the picture, in seconds; the last column is without end."""
GAP_NAMES = (
    "0",
    "5 s",
    "10 s",
    "20 s",
    "30 s",
    "1 min",
    "2 min",
    "5 min",
    "10 min",
    "20 min",
    "40 min",
    "1 h",
    "2 h",
    "6 h",
    "12 h",
    "1 d",
    "2 d",
    "4 d",
    "7 d",
    "14 d",
)
FEWEST = 10
"""Gaps, or days with actions, of a customer that can be irregular."""


def measure_timing(logs: Logs) -> Iterator[Figure | Curve]:
    """All of them."""
    yield median_figure("zlib", np.array([measure_packing(text) for text in logs.texts]))
    owners = logs.owners
    gaps = np.diff(logs.seconds)
    inside = np.diff(owners) == 0
    gaps, whose = gaps[inside], owners[1:][inside]
    middle = (gaps >= 600) & (gaps <= 7_200)
    yield share_by_customer("middle_gaps", logs, whose, middle, "no customer has two actions")
    yield from measure_rhythm(logs)
    yield measure_carried(logs, owners)
    counts = np.histogram(gaps, [*GAPS, np.inf])[0]
    yield Curve(key="gaps", x=list(GAPS), y=(counts / max(len(gaps), 1)).tolist(), said=describe_gaps(counts))


def measure_packing(text: str) -> float:
    """
    >>> measure_packing("a" * 10_000) > 100
    True
    """
    content = text.encode("utf-8", "replace")
    return len(content) / len(zlib.compress(content, 9))


def measure_rhythm(logs: Logs) -> Iterator[Figure]:
    bursts, quiet, uneven = [], [], []
    for rows in split_customers(logs):
        seconds = logs.seconds[rows]
        gaps = np.diff(seconds)
        if len(gaps) >= FEWEST and gaps.any():
            bursts.append((gaps.std() - gaps.mean()) / (gaps.std() + gaps.mean()))
        days = np.bincount(seconds // DAY - seconds[0] // DAY)
        if len(days) >= FEWEST:
            quiet.append((days == 0).mean())
            active = days[days > 0]
            uneven.append(active.std() / active.mean())
    few = {
        "burstiness": f"no customer with {FEWEST} gaps",
        "quiet_days": f"no log of {FEWEST} days",
        "uneven_days": f"no log of {FEWEST} days",
    }
    for key, values in (("burstiness", bursts), ("quiet_days", quiet), ("uneven_days", uneven)):
        yield median_figure(key, np.array(values)) if values else Figure(key=key, value=None, note=few[key])


def measure_carried(logs: Logs, owners: np.ndarray) -> Figure:
    clicks, bought = logs.find(CLICK), logs.find(PURCHASE)
    size = len(logs.product_ids)
    key, first = np.unique(owners[clicks] * size + logs.products[clicks], return_index=True)
    wanted = owners[bought] * size + logs.products[bought]
    place = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    seen = key[place] == wanted if len(key) else np.zeros(len(bought), bool)
    early = np.zeros(len(bought), dtype=bool)
    early[seen] = logs.seconds[bought[seen]] - logs.seconds[clicks[first[place[seen]]]] >= DAY
    return share_by_customer("carried_on", logs, owners[bought], early, "no purchases")


def describe_gaps(counts: np.ndarray) -> str:
    names = [f"{low} to {high}" for low, high in pairwise(GAP_NAMES)] + [f"{GAP_NAMES[-1]} and more"]
    total = max(int(counts.sum()), 1)
    return "; ".join(f"{name}: {100 * count / total:.1f} %" for name, count in zip(names, counts.tolist(), strict=True))
