"""What each category costs and who makes it: what a shopper's taste and budget are drawn from."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.dataset import Dataset
from shopwright.schemas.shop import Product

# Of a category, the most frequent.
MOST_BRANDS = 12


@dataclass(frozen=True)
class Category:
    name: str
    group: str
    """The broadest category above it."""
    products: int
    cheapest: int
    """In cents, as are the others."""
    quarter: int
    """A quarter of its products cost at most this."""
    middle: int
    brands: list[str]
    """The makers with most products, at most twelve."""


class Pool:
    """Categories of which one is drawn, the more often the more products it has."""

    def __init__(self, categories: list[Category]) -> None:
        self.categories = categories
        self.weights = list(accumulate(category.products**0.5 for category in categories))
        self.groups: dict[str, Pool] = {}

    def of(self, group: str) -> "Pool":
        """Those of one group."""
        if group not in self.groups:
            self.groups[group] = Pool([category for category in self.categories if category.group == group])
        return self.groups[group]

    def draw(self, random: Random) -> Category:
        return random.choices(self.categories, cum_weights=self.weights)[0]


class Market:
    """The categories of a catalog; what a budget buys is looked up once."""

    def __init__(self, catalog: Dataset[Product]) -> None:
        self.categories = catalog.once(summarize_categories)
        self.quarters = sorted(category.quarter for category in self.categories)
        self.pools: dict[int, Pool] = {}

    def affordable(self, cents: int) -> Pool:
        """The categories of which so much buys a quarter; the three cheapest where it buys none."""
        many = bisect_right(self.quarters, cents)
        if many not in self.pools:
            found = [category for category in self.categories if category.quarter <= cents]
            self.pools[many] = Pool(found or sorted(self.categories, key=lambda category: category.quarter)[:3])
        return self.pools[many]


def summarize_categories(catalog: Dataset[Product]) -> list[Category]:
    """Every leaf category of a catalog, by name."""
    table = catalog.table(["category", "category_path", "brand", "price"])
    groups = pc.list_element(table["category_path"], 0) if len(table) else pa.array([], pa.string())
    codes = table["category"].combine_chunks().dictionary_encode()
    price, brand = decimal_to_cents(table["price"].combine_chunks()), table["brand"].combine_chunks()
    names, place = codes.dictionary.to_pylist(), codes.indices.to_numpy()
    order = np.lexsort((price, place))
    edges = np.searchsorted(place[order], np.arange(len(names) + 1))
    found = []
    for code, name in enumerate(names):
        rows = order[edges[code] : edges[code + 1]]
        costs = price[rows]
        brands = pc.value_counts(brand.take(pa.array(rows)).drop_null()).to_pylist()
        brands.sort(key=lambda each: (-each["counts"], each["values"]))
        found.append(
            Category(
                name=name,
                group=groups[int(rows[0])].as_py(),
                products=len(rows),
                cheapest=int(costs[0]),
                quarter=int(costs[len(costs) // 4]),
                middle=int(costs[len(costs) // 2]),
                brands=[each["values"] for each in brands[:MOST_BRANDS]],
            )
        )
    return sorted(found, key=lambda category: category.name)


def index_categories(catalog: Dataset[Product]) -> dict[str, Category]:
    return {category.name: category for category in catalog.once(summarize_categories)}
