"""Which seller of the marketplace sells what: one for each product, simulated.

No catalog says it. A shop has a few dozen sellers, drawn by its seed; large ones have more brands and more categories than small ones. A
brand has up to three sellers, a category eight more, and a product goes to one of either. Which one hangs on its brand, its category and
its title alone: not on its id, nor on what else the shop has.
"""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import numpy as np

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "sellers.toml"
# By an even number: whose turn it is among the sellers of a brand, and among those of a category.
OF_BRAND = np.array((0, 0, 0, 1, 1, 2))
OF_CATEGORY = np.array((0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7))
# The larger the share of a seller, the more brands and categories it has: as 1 / (place + 3).
FLATTENS = 3


@cache
def load_sellers_reference() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


@cache
def draw_sellers(seed: int) -> tuple[str, ...]:
    """The names of a shop's sellers, the largest first.

    >>> len(draw_sellers(0)), draw_sellers(0) == draw_sellers(1)
    (36, False)
    """
    known = load_sellers_reference()
    return tuple(Random(f"{seed}/sellers").sample(known["names"], known["count"]))


def assign_sellers(
    seed: int,
    titles: Iterable[str | None],
    brands: np.ndarray,
    makers: Sequence[str],
    leaves: np.ndarray,
    kinds: Sequence[str],
) -> np.ndarray:
    """For each product the place of its seller among `draw_sellers`.

    brands: for each product its place among the makers, -1 where it has none; leaves: its place among the kinds, its category's names.
    """
    start = crc32(f"{seed}/seller".encode())
    sums = np.fromiter((crc32((title or "").encode(), start) for title in titles), np.uint64)
    dice = mix_bits(sums)
    by_brand = draw_carriers(seed, "brand", makers, int(OF_BRAND.max()) + 1)
    by_leaf = draw_carriers(seed, "category", kinds, int(OF_CATEGORY.max()) + 1)
    of_leaf = by_leaf[leaves, OF_CATEGORY[(dice >> np.uint64(8)) % np.uint64(len(OF_CATEGORY))]]
    if not len(makers):
        return of_leaf
    of_brand = by_brand[brands, OF_BRAND[(dice >> np.uint64(32)) % np.uint64(len(OF_BRAND))]]
    return np.where((brands >= 0) & (dice % np.uint64(2) == 0), of_brand, of_leaf)


def draw_carriers(seed: int, kind: str, names: Sequence[str], count: int) -> np.ndarray:
    """For each name so many different sellers, the main one first."""
    found = np.zeros((len(names), count), np.int16)
    shares = [1 / (place + FLATTENS) for place in range(len(draw_sellers(seed)))]
    for number, name in enumerate(names):
        random = Random(f"{seed}/{kind}/{name.lower()}")
        # The largest of u ** (1 / share) is a draw by shares, the next one a draw of what is left.
        keys = [random.random() ** (1 / share) for share in shares]
        found[number] = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)[:count]
    return found


def mix_bits(numbers: np.ndarray) -> np.ndarray:
    """Each number spread over 64 bits (the last steps of splitmix64).

    >>> mix_bits(np.array([1, 2], np.uint64)).tolist()
    [6238072747940578789, 15839785061582574730]
    """
    found = numbers.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))
