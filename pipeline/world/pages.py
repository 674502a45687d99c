"""What the shop's search shows for a text: the engine that agents and session replays meet, by words alone, asked once a text.

With vectors (`embeddings`) agents may meet another order; the customers' months are made and replayed by words, which rank alike on
every machine.
"""

from typing import NamedTuple

import numpy as np

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.render.pages import PAGE
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.shop import Product, Variant

# Pages of results that anybody looks through.
TURNS = 2
SHOWN = PAGE * TURNS
# As a visitor's browser cuts what is typed.
QUERY_LETTERS = 400
# Texts whose pages are kept, half a kB each; with more than these it starts anew.
MOST_KEPT = 200_000
COLUMNS = [
    "id",
    "title",
    "brand",
    "color",
    "category",
    "category_path",
    "attributes",
    "fits",
    "description",
    "price",
    "rating",
    "review_count",
    "shipping_days",
]


class Shown(NamedTuple):
    """What somebody sees of the first pages of one search."""

    rows: list[int]
    places: np.ndarray
    """The same as an array."""
    leaves: list[int]
    """The leaf of each."""


def open_word_search(catalog: Dataset[Product]) -> Search:
    """The shop's engine over a catalog, without vectors; for `catalog.once`."""
    return Search(Store(catalog.table(COLUMNS), arrow_schema(Variant).empty_table()))


class ResultPages:
    """Rows of the catalog that the first two pages of each search hold, the best first; for `catalog.once`."""

    def __init__(self, catalog: Dataset[Product]) -> None:
        self.search = catalog.once(open_word_search)
        self.kept: dict[str, np.ndarray] = {}

    def of(self, text: str) -> np.ndarray:
        """int32 [results]."""
        found = self.kept.get(text)
        if found is None:
            if len(self.kept) >= MOST_KEPT:
                self.kept.clear()
            rows = self.search.find(text.strip()[:QUERY_LETTERS], limit=SHOWN)
            found = self.kept[text] = rows.astype(np.int32, copy=False)
        return found
