"""What the source does not say about money: prices that are missing, and promotions."""

import math
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from hashlib import blake2b
from random import Random
from statistics import NormalDist, median
from typing import Any

from shopwright.pipeline.catalog.reference import list_leaves

# The shop's promotions are dated from here on.
OPENED = date(2024, 1, 1)
# Years for which promotions are drawn.
YEARS = 3
# Fewer known prices than these say nothing about a category.
ENOUGH = 5
# Median and spread where nothing at all is known.
UNKNOWN = (24.0, 0.6)
NORMAL = NormalDist()

# Median in dollars, and the standard deviation of the logarithm.
Level = tuple[float, float]


def compute_price_levels(known: Iterable[tuple[str, int]]) -> dict[str, Level]:
    """The price level of every category from (category, cents) pairs; under `""` that of the whole shop."""
    prices: dict[str, list[float]] = {}
    for category, cents in known:
        prices.setdefault(category, []).append(cents / 100)
        prices.setdefault("", []).append(cents / 100)
    return {category: compute_price_level(found) for category, found in prices.items() if len(found) >= ENOUGH}


def compute_price_level(dollars: list[float]) -> Level:
    """
    >>> compute_price_level([10.0, 10.0, 10.0])
    (10.0, 0.1)
    """
    middle = median(dollars)
    spread = median(abs(math.log(price / middle)) for price in dollars) * 1.48  # robust: real catalogs have outliers
    return middle, min(max(spread, 0.1), 1.0)


@cache
def load_reference_prices() -> dict[str, Level]:
    return {leaf.name: leaf.price for leaf in list_leaves()}


def simulate_price(seed: int, product: str, category: str, known: dict[str, Level], reference: dict[str, Level]) -> int:
    """A price in cents for a product without one: the same whenever and wherever it is asked."""
    middle, spread = known.get(category) or reference.get(category) or known.get("") or UNKNOWN
    place = min(max(Random(f"{seed}/price/{product}").random(), 0.02), 0.98)
    dollars = middle * math.exp(spread * NORMAL.inv_cdf(place))
    return max(99, round(dollars) * 100 - 1)


def promotions(seed: int, product: str, cents: int, share: float) -> list[dict[str, Any]]:
    """The dated promotions of a product, none overlapping; most products have none."""
    draw = int.from_bytes(blake2b(f"{seed}/promotions/{product}".encode(), digest_size=7).digest())
    if draw >= share * 2**56 or cents < 200:
        return []
    random, found, day = Random(draw), [], 0
    while (day := day + random.randint(20, 240)) < 365 * YEARS:
        days, price = random.randint(3, 10), round(cents * random.uniform(0.65, 0.92))
        first = OPENED + timedelta(day)
        last = first + timedelta(days - 1)
        found.append({"first_day": first, "last_day": last, "price": Decimal(price) / 100})
        day += days
    return found
