"""Who comes to the shop, when, and what it has looked at until then."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

import numpy as np

from shopwright.pipeline.shop.store import Store, seconds_to_shop_time

# Who comes where the store knows no customer.
NOBODY = "nobody"
# For a shop without customers.
DEFAULT_NOW = datetime(2024, 6, 3, 12)
# Customers of whom one may have looked at something.
LOOKED_AT = 20
# Seconds after its last visit, at most.
SOON = 12 * 3600


@dataclass(frozen=True)
class VisitingCustomer:
    """A customer at a time of its own."""

    id: str
    now: datetime
    rows: np.ndarray
    """Products that it looked at until now, the oldest first."""
    seconds: np.ndarray
    """When, since 1970."""


def draw_customer(store: Store, random: Random) -> VisitingCustomer:
    """A customer at the time that it has, or soon after one of its visits; somebody unknown where there is nobody."""
    for _ in range(LOOKED_AT if store.customers else 0):
        customer = store.customers[random.randrange(len(store.customers))]
        times = customer.visited_at
        if customer.now is None and not len(times):
            continue
        now = (
            draw_time_after_visit(times, random)
            if customer.now is None
            else int((customer.now - seconds_to_shop_time(0)).total_seconds())
        )
        upto = int(np.searchsorted(times, now, side="right"))
        return VisitingCustomer(
            customer.id, customer.now or seconds_to_shop_time(now), customer.visited[:upto], times[:upto]
        )
    return VisitingCustomer(NOBODY, DEFAULT_NOW, np.zeros(0, np.int64), np.zeros(0, np.int64))


def draw_time_after_visit(times: np.ndarray, random: Random) -> int:
    """A second after one of them and before the next, if that is not at the same time."""
    last = random.randrange(len(times))
    gap = int(times[last + 1] - times[last]) if last + 1 < len(times) else SOON
    return int(times[last]) + random.randrange(max(1, min(gap, SOON)))
