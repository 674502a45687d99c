"""Who comes to the shop, when, and what it has looked at until then."""

from dataclasses import dataclass
from datetime import datetime
from random import Random

import numpy as np

from shopwright.pipeline.behaviors.sessions import assign_customer_split
from shopwright.pipeline.shop.store import Store, seconds_to_shop_time
from shopwright.schemas.behaviors import Side

# Who comes where the store knows no customer, and who asks about policies where no customer is as the question says.
NOBODY, VISITOR = "nobody", "visitor"
# For a shop without customers.
DEFAULT_NOW = datetime(2024, 6, 3, 12)
# Customers of whom one may have looked at something.
LOOKED_AT = 20
# Seconds after its last visit, at most.
SOON = 12 * 3600


def assign_task_split(persona_id: str, task_id: str) -> Side:
    """The side of a task: its customer's, or its own where it is nobody's."""
    return assign_customer_split(task_id if persona_id in (NOBODY, VISITOR) else persona_id)


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
