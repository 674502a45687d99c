"""Figures of what was bought and opened: repeated purchases, durables, categories, the spread of clicks over products."""

from collections.abc import Iterator

import numpy as np

from shopwright.pipeline.evaluate.realism.figures import Curve, Figure, make_figure
from shopwright.pipeline.evaluate.realism.kinds import classify_use
from shopwright.pipeline.evaluate.realism.logs import CLICK, PURCHASE, Logs
from shopwright.pipeline.evaluate.statistics import estimate_median, measure_clustered_share

DAY = 86_400
# Purchases of a customer whose share counts.
FEWEST = 5
NO_PURCHASES = "no purchases"
Found = Iterator[Figure | Curve]


def measure_buying(logs: Logs) -> Found:
    """All of them."""
    uses = np.array([classify_use(name) for name in logs.kind_names])
    owners, bought = logs.owners, logs.find(PURCHASE)
    use = uses[logs.kinds[bought]] if len(bought) else np.zeros(0, "<U10")
    yield measure_repeats("repeat_purchases", logs, owners, bought[use != "consumable"])
    yield measure_repeats("repeat_purchases_all", logs, owners, bought)
    yield measure_pace(logs, owners, bought[use == "consumable"])
    durable = bought[use == "durable"]
    yield from measure_durables(logs, owners, durable)
    yield measure_clicks_after(logs, owners, durable)
    yield from measure_categories(logs, owners)
    yield from measure_popularity(logs)


def pair(logs: Logs, owners: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A number for each pair of customer and kind."""
    return owners[rows] * len(logs.kind_names) + logs.kinds[rows]


def measure_repeats(key: str, logs: Logs, owners: np.ndarray, bought: np.ndarray) -> Figure:
    again = np.ones(len(bought), dtype=bool)
    again[np.unique(pair(logs, owners, bought), return_index=True)[1]] = False
    counts = np.bincount(owners[bought], minlength=len(logs.names))
    repeated = np.bincount(owners[bought], again, minlength=len(logs.names))
    enough = counts >= FEWEST
    if not enough.any():
        return Figure(key=key, value=None, note=f"no customer with {FEWEST} such purchases")
    return median_figure(key, repeated[enough] / counts[enough])


def median_figure(key: str, values: np.ndarray) -> Figure:
    middle, low, high = estimate_median(values.tolist())
    return Figure(key=key, value=middle, low=low, high=high, count=len(values))


def measure_pace(logs: Logs, owners: np.ndarray, bought: np.ndarray) -> Figure:
    key = pair(logs, owners, bought)
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    if not len(same):
        return Figure(key="consumable_pace", value=None, note="nothing consumable was bought twice")
    return median_figure("consumable_pace", np.diff(logs.seconds[bought[order]])[same] / DAY)


def measure_durables(logs: Logs, owners: np.ndarray, bought: np.ndarray) -> Found:
    """How many of a kind one customer bought in 30 days, at most, and how often it is more than one."""
    if not len(bought):
        yield Figure(key="same_durable", value=None, note=NO_PURCHASES)
        yield Figure(key="same_durable_again", value=None, note=NO_PURCHASES)
        return
    key = pair(logs, owners, bought)
    order = np.lexsort((logs.seconds[bought], key))
    key, rows = key[order], bought[order]
    when = count_time(key, logs.seconds[rows], 30 * DAY)
    within = np.arange(len(when)) - np.searchsorted(when, when - 30 * DAY) + 1  # how many the 30 days up to each hold
    most = int(np.argmax(within))
    note = f"{logs.kind_names[logs.kinds[rows[most]]]}, {logs.names[owners[rows[most]]]}"
    yield Figure(key="same_durable", value=float(within[most]), count=len(bought), note=note)
    first = np.flatnonzero(np.diff(key, prepend=-1))
    twice = np.maximum.reduceat(within, first) > 1
    customer = owners[rows[first]]
    size = len(logs.names)
    yield make_figure(
        "same_durable_again",
        measure_clustered_share(
            np.bincount(customer, twice, size).tolist(), np.bincount(customer, minlength=size).tolist()
        ),
    )


def count_time(key: np.ndarray, seconds: np.ndarray, apart: int) -> np.ndarray:
    """Times on one line on which what has different keys is further apart than `apart`: so that a window never holds two keys."""
    if not len(key):
        return seconds
    start = seconds.min()
    key = np.unique(key, return_inverse=True)[1]  # small numbers: years of seconds times keys must fit
    return key * (int(seconds.max() - start) + 2 * apart) + seconds - start


def measure_clicks_after(logs: Logs, owners: np.ndarray, bought: np.ndarray) -> Figure:
    week = 7 * DAY
    ends = logs.seconds[logs.edges[1:] - 1]
    bought = bought[ends[owners[bought]] - logs.seconds[bought] >= week]
    if not len(bought):
        return Figure(key="clicks_after_buying", value=None, note="no durable was bought a week before a log's end")
    clicks = logs.find(CLICK)
    rows = np.concatenate([clicks, bought])
    size = len(logs.product_ids)
    same_kind = count_time(pair(logs, owners, rows), logs.seconds[rows], week)
    same_product = count_time(owners[rows] * size + logs.products[rows], logs.seconds[rows], week)
    # Clicks on others of the kind: without those on the very product.
    found = count_within(same_kind, len(clicks), week) - count_within(same_product, len(clicks), week)
    customers = owners[bought]
    right = np.bincount(customers, found > 0, len(logs.names))
    return make_figure(
        "clicks_after_buying",
        measure_clustered_share(right.tolist(), np.bincount(customers, minlength=len(logs.names)).tolist()),
    )


def count_within(times: np.ndarray, clicks: int, window: int) -> np.ndarray:
    """For each of the later times how many of the first `clicks` follow within the window."""
    known, asked = np.sort(times[:clicks]), times[clicks:]
    return np.searchsorted(known, asked + window, "right") - np.searchsorted(known, asked, "right")


def measure_categories(logs: Logs, owners: np.ndarray) -> Found:
    clicks = logs.find(CLICK)
    if not len(clicks):
        yield from (Figure(key=key, value=None, note="no clicks") for key in ("categories_seen", "categories_even"))
        return
    pairs, times = np.unique(pair(logs, owners, clicks), return_counts=True)
    customers = pairs // len(logs.kind_names)
    size = len(logs.names)
    counts, sums = np.bincount(customers, minlength=size), np.bincount(customers, times, size)
    shares = times / sums[customers]
    even = np.exp(np.bincount(customers, -shares * np.log(shares), size))
    yield median_figure("categories_seen", counts)
    yield median_figure("categories_even", even[sums > 0])
    values, many = np.unique(counts, return_counts=True)
    yield Curve(key="categories", x=values.tolist(), y=many.tolist())


def measure_popularity(logs: Logs) -> Found:
    clicks = np.bincount(logs.products[logs.find(CLICK)], minlength=len(logs.product_ids))
    ranks, means = group_ranks(clicks)
    if len(ranks) < 3:
        yield Figure(key="zipf_slope", value=None, note="too few products were clicked on twice")
        return
    slope, height = np.polyfit(np.log(ranks), np.log(means), 1)
    yield Figure(key="zipf_slope", value=float(slope), count=int((clicks > 1).sum()))
    line = np.exp(height + slope * np.log(ranks))
    yield Curve(key="zipf", x=ranks.tolist(), y=means.tolist(), reference=tuple(line.tolist()))


def group_ranks(clicks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean rank (geometric) and mean clicks of each half octave of ranks, of products with two clicks or more.

    Plain least squares over ranks is ruled by the thousands of ties at the end, and finds -0.4 where all products are equal.

    >>> [each.round(2).tolist() for each in group_ranks(np.array([8, 4, 4, 2, 1]))]
    [[1.0, 2.0, 3.0, 4.0], [8.0, 4.0, 4.0, 2.0]]
    """
    ordered = np.sort(clicks[clicks >= 2])[::-1]
    if not len(ordered):
        return np.zeros(0), np.zeros(0)
    ranks = np.arange(1, len(ordered) + 1)
    groups = np.floor(2 * np.log2(ranks)).astype(int)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    sizes = np.diff(np.append(starts, len(ranks)))
    return np.exp(np.add.reduceat(np.log(ranks), starts) / sizes), np.add.reduceat(ordered, starts) / sizes
