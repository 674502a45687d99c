"""Who comes to the shop, when, and what it has looked at until then."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

import numpy as np

from pipeline.shop.store import Store, moment

NOBODY = "nobody"
"""Who comes where the store knows no customer."""
SOMEDAY = datetime(2024, 6, 3, 12)
LOOKED_AT = 20
"""Customers of whom one may have looked at something."""
SOON = 12 * 3600
"""Seconds after its last visit, at most."""


@dataclass(frozen=True)
class Comer:
    """A customer at a time of its own."""

    id: str
    now: datetime
    rows: np.ndarray
    """Products that it looked at until now, the oldest first."""
    seconds: np.ndarray
    """When, since 1970."""


def comer(store: Store, random: Random) -> Comer:
    """A customer at the time that it has, or soon after one of its visits; somebody unknown where there is nobody."""
    for _ in range(LOOKED_AT if store.customers else 0):
        customer = store.customers[random.randrange(len(store.customers))]
        times = customer.visited_at
        if customer.now is None and not len(times):
            continue
        now = after_a_visit(times, random) if customer.now is None else int((customer.now - moment(0)).total_seconds())
        upto = int(np.searchsorted(times, now, side="right"))
        return Comer(customer.id, customer.now or moment(now), customer.visited[:upto], times[:upto])
    return Comer(NOBODY, SOMEDAY, np.zeros(0, np.int64), np.zeros(0, np.int64))


def after_a_visit(times: np.ndarray, random: Random) -> int:
    """A second after one of them and before the next, if that is not at the same time."""
    last = random.randrange(len(times))
    gap = int(times[last + 1] - times[last]) if last + 1 < len(times) else SOON
    return int(times[last]) + random.randrange(max(1, min(gap, SOON)))
