"""Figures of time and of form: gaps between actions, days, how far a log can be packed."""

import zlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from shopwright.pipeline.evaluate.realism.buying import DAY, median_figure
from shopwright.pipeline.evaluate.realism.figures import Curve, Figure
from shopwright.pipeline.evaluate.realism.logs import CLICK, PURCHASE, Logs, split_customers
from shopwright.pipeline.evaluate.realism.searching import share_by_customer

# Edges of the picture, in seconds, with their names; the last column is without end.
GAPS = {
    0: "0", 5: "5 s", 10: "10 s", 20: "20 s", 30: "30 s",
    60: "1 min", 120: "2 min", 300: "5 min", 600: "10 min", 1_200: "20 min", 2_400: "40 min",
    3_600: "1 h", 7_200: "2 h", 21_600: "6 h", 43_200: "12 h",
    DAY: "1 d", 2 * DAY: "2 d", 4 * DAY: "4 d", 7 * DAY: "7 d", 14 * DAY: "14 d",
}  # fmt: skip
# Gaps, or days with actions, of a customer that can be irregular.
FEWEST = 10


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
    content = text.encode("utf-8", "replace")  # logs of others may hold halves of characters
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
    # What is beyond the last key is compared with that one, and differs.
    place = np.minimum(np.searchsorted(key, wanted), max(len(key) - 1, 0))
    seen = key[place] == wanted if len(key) else np.zeros(len(bought), bool)
    early = np.zeros(len(bought), dtype=bool)
    # `first` is where a customer first clicked on a product.
    early[seen] = logs.seconds[bought[seen]] - logs.seconds[clicks[first[place[seen]]]] >= DAY
    return share_by_customer("carried_on", logs, owners[bought], early, "no purchases")


def describe_gaps(counts: np.ndarray) -> str:
    edges = list(GAPS.values())
    names = [f"{low} to {high}" for low, high in pairwise(edges)] + [f"{edges[-1]} and more"]
    total = max(int(counts.sum()), 1)
    return "; ".join(f"{name}: {100 * count / total:.1f} %" for name, count in zip(names, counts.tolist(), strict=True))
