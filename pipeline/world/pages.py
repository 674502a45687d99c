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
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.schemas.shop import Product, Variant

# Pages of results that anybody looks through.
TURNS = 2
SHOWN = PAGE * TURNS
# As a visitor's browser cuts what is typed.
QUERY_LETTERS = 400
# Texts whose pages are kept; with more than these it starts anew.
MOST_KEPT = 400_000
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
    """The first pages of one search."""

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
        self.search, self.leaf_of = catalog.once(open_word_search), catalog.once(CatalogColumns).leaf_of
        self.kept: dict[str, Shown] = {}

    def of(self, text: str) -> Shown:
        found = self.kept.get(text)
        if found is None:
            if len(self.kept) >= MOST_KEPT:
                self.kept.clear()
            rows = self.search.find(text.strip()[:QUERY_LETTERS], limit=SHOWN).astype(np.int64)
            found = self.kept[text] = Shown(rows.tolist(), rows, self.leaf_of[rows].tolist())
        return found
