"""What a leaf category holds, in the words that people have for it."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.words import PRICE_CAP, content_words, split_words
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.schemas.shop import Product

LIMIT = re.compile(PRICE_CAP)
# Products of a leaf that are listened to, from its cheapest to its dearest.
EXAMPLES = 60
# Names for the kind of thing, colors and titles that are kept.
MOST = 6
# Words of a brand's name that are looked for.
LONGEST = 5
# The content words of a brand's name.
Brand = tuple[str, ...]


@dataclass(frozen=True)
class CategoryTerms:
    heads: tuple[str, ...]
    """What its products are called, the commonest first."""
    colors: tuple[str, ...]
    titles: tuple[str, ...]
    words: frozenset[str]
    """A search with none of these is for something else."""
    titled: frozenset[str]
    """Words of its titles: they are ordinary there, even where a brand is called so."""
    brands: frozenset[Brand]
    color_words: frozenset[str]
    cheapest: int
    """In cents."""


class CategoryTermIndex:
    """Every leaf of a catalog; one is looked at when it is asked for."""

    def __init__(self, catalog: Dataset[Product]) -> None:
        self.stock = catalog.once(CatalogColumns)
        named = {name: content_words(brand) for brand, name in self.stock.place_of_brand.items()}
        self.brand_words: list[Brand] = [named[place] for place in range(len(named))]
        self.brands = {brand for brand in self.brand_words if not "".join(brand).isdigit()} - {()}
        self.known: dict[str, CategoryTerms] = {}

    def of(self, category: str) -> CategoryTerms:
        found = self.known.get(category)
        if found is None:
            found = self.known[category] = self.look(self.stock.place_of_leaf[category])
        return found

    def look(self, leaf: int) -> CategoryTerms:
        stock = self.stock
        rows = stock.by_price[stock.edges[leaf] : stock.edges[leaf + 1]]
        some = rows[:: -(-len(rows) // EXAMPLES)]
        heads = find_product_names(stock.leaves[leaf], Counter(map(stock.head, some.tolist())))
        shown = pc.value_counts(pc.utf8_lower(stock.colors.take(pa.array(rows)).drop_null())).to_pylist()
        colors = [one["values"] for one in sorted(shown, key=lambda one: (-one["counts"], one["values"]))]
        titles: list[str] = stock.titles.take(pa.array(some)).to_pylist()
        own = " ".join([stock.leaves[leaf], *heads])
        makers = np.unique(stock.brand_of[rows]).tolist()
        return CategoryTerms(
            heads=heads,
            colors=tuple(colors[:MOST]),
            titles=tuple(titles[:: -(-len(titles) // MOST)]),
            words=frozenset(content_words(own) or split_words(own)),
            titled=frozenset(split_words(" ".join([*titles, stock.leaves[leaf]]))),
            brands=frozenset(self.brand_words[place] for place in makers if place >= 0) - {()},
            color_words=frozenset(split_words(" ".join(colors))),
            cheapest=int(stock.cents[rows[0]]),
        )

    def list_brands_in(self, text: str) -> Iterator[Brand]:
        """The brands of the catalog whose words stand in a text, one after the other."""
        said = content_words(text)
        for first in range(len(said)):
            for last in range(first + 1, min(first + LONGEST, len(said)) + 1):
                if said[first:last] in self.brands:
                    yield said[first:last]


def find_product_names(category: str, heads: Counter[str]) -> tuple[str, ...]:
    """What products are called as a rule: like their category, or most of them something else.

    Of the category's words its last says what they are; `power` alone is no power adapter.

    >>> find_product_names("Power Adapters", Counter({"power adapter": 9, "power": 8, "wall adapter": 4, "size pack": 1}))
    ('power adapter', 'wall adapter')
    >>> find_product_names("9V", Counter({"alkaline batteries": 5, "size pack": 1}))
    ('alkaline batteries',)
    """
    own = content_words(category)
    found = sorted(heads.items(), key=lambda one: (-one[1], one[0]))
    most, names = found[0][1], []
    for head, count in found:
        said = set(split_words(head))
        alike = own[-1] in said or (not said.isdisjoint(own) and not said <= set(own)) if own else True
        often = count > 1 and 2 * count > heads.total()
        if 4 * count >= most and ((often and not said < set(own)) or alike):
            names.append(head)
    return tuple(names[:MOST])


def parse_price_limit(text: str) -> int | None:
    """What a search says that it may cost at most, in cents.

    >>> parse_price_limit("desk lamp under $40"), parse_price_limit("under desk lamp")
    (4000, None)
    """
    found = LIMIT.search(text)
    return int(found["cap"]) * 100 if found else None
