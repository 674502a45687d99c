"""Categories that group products: those of a shop that gives nearly each product its own do not, and the levels above them, or titles, stand for them."""

from collections.abc import Mapping
from typing import Any

from shopwright.pipeline.catalog.repair.category import ELSE, guess_category

# Products of a leaf on average, below which leaves are names of products: a leaf of two can still be compared.
FEWEST = 1.5
# Products from which on this can be known of a catalog.
ENOUGH = 20
REPAIR = "category of its own dropped"


def find_grouping_depth(paths: Mapping[tuple[str, ...], int]) -> int | None:
    """How many levels of these paths group products; None where all do. paths: how many products have each.

    >>> find_grouping_depth({("Toys", f"Item {number}"): 1 for number in range(40)}), find_grouping_depth({("Toys", "Kites"): 30})
    (1, None)
    >>> find_grouping_depth({(f"Item {number}",): 1 for number in range(40)})
    0
    """
    products, deepest = sum(paths.values()), max(map(len, paths), default=0)
    if products < ENOUGH:
        return None
    for depth in range(deepest, 0, -1):
        if len({path[:depth] for path in paths}) * FEWEST <= products:
            return None if depth == deepest else depth
    return 0


def regroup(row: dict[str, Any], depth: int | None) -> dict[str, Any]:
    """The row under the levels that group products, else under what its title says that it is."""
    path = row["category_path"]
    if depth is None or len(path) <= depth:
        return row
    path = path[:depth] or list(guess_category(row["title"]) or ELSE)
    return row | {"category_path": path, "category": path[-1], "repairs": sorted({*row["repairs"], REPAIR})}
