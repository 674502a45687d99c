"""The shop that a log is of: its engine by words, which places products on pages, and what its catalog says."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog.search import Search
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.realism.searching import Rank
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.shop import Product, Variant

FACTS = ("id", "title", "brand", "color", "category", "category_path", "attributes", "description", "price", "rating")
NUMBERS = ("review_count", "shipping_days")


@dataclass(frozen=True)
class ShopFacts:
    rank: Rank
    titles: list[str]
    kinds: dict[str, str]
    """Categories by product id."""


def open_shop(run: Path) -> ShopFacts:
    """Of a run's catalog. Raises Problem where there is none."""
    catalog = Dataset(run, "catalog", Product)
    if catalog.manifest is None:
        raise Problem(f"There is no catalog in {run}. Build it: shopwright build catalog --run {run}")
    facts = catalog.table([*FACTS, *NUMBERS]).combine_chunks()
    search = Search(Store(facts, make_plain_variants(facts)))

    def rank(query: str, count: int) -> Sequence[str]:
        found: list[str] = search.store.ids.take(pa.array(search.find(query, limit=count))).to_pylist()
        return found

    kinds = dict(zip(facts["id"].to_pylist(), facts["category"].to_pylist(), strict=True))
    return ShopFacts(rank, facts["title"].to_pylist(), kinds)


def make_plain_variants(catalog: pa.Table) -> pa.Table:
    """One of each product, in stock: for a shop in which is only searched."""
    count = len(catalog)
    columns = {
        "id": pc.binary_join_element_wise(catalog["id"], pa.scalar("v"), "-"),
        "product_id": catalog["id"],
        "choices": pa.array([[]] * count, arrow_schema(Variant).field("choices").type),
        "price": catalog["price"],
        "stock": pa.array(np.ones(count, np.int64)),
        "is_title": pa.array(np.ones(count, bool)),
    }
    return pa.table(columns)
