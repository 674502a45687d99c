"""A small catalog whose products are hard to tell apart, chosen from any catalog (ShopSimulator's Catalog-Fine, section 2.2)."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import log2
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.stage import Plan, Shard, Views, stage
from shopwright.schemas.shop import Product

Leaves = Annotated[int, Field(description="leaf categories that a first-level category has at least", ge=1)]
Siblings = Annotated[int, Field(description="products kept in a leaf, about; fewer where they are little alike", ge=2)]
# Below it there is nothing to tell apart.
Complexity = Annotated[
    float, Field(description="facts and options that the products of a group have on average, at least", ge=0)
]
# Bits of difference for each fact, below which a leaf gives half as many.
LOW_DIVERSITY = 0.25
COLUMNS = ["id", "category_path", "category", "attributes", "options", "color", "brand", "rating", "review_count"]


@dataclass(frozen=True)
class FineSelection:
    rows: np.ndarray
    """In the catalog's order."""
    steps: dict[str, float]


def plan_catalog_fine(catalog: Dataset[Product], leaves: int, siblings: int, complexity: float) -> Plan:
    found = choose_fine_products(catalog, leaves, siblings, complexity)
    if not len(found.rows):
        raise Problem(
            f"No product is left: {found.steps}. Lower --leaves, --siblings or --complexity for a catalog of few categories."
        )
    return Plan(len(found.rows), facts=found.rows.tolist(), stats=found.steps)


def choose_fine_products(catalog: Dataset[Product], leaves: int, siblings: int, complexity: float) -> FineSelection:
    """The rows that are kept, and how many each step left.

    First-level categories of fewer than `leaves` leaves are dropped, then those of low complexity (facts and options a product);
    leaves of low diversity (entropy of a fact's values) give half as many; of each leaf the products are kept that are most like
    its others and most often looked at, as their number of reviews tells.
    """
    table = catalog.table(COLUMNS)
    group = pa.array([path[0] if path else "" for path in table["category_path"].to_pylist()]).dictionary_encode()
    leaf = table["category"].combine_chunks().dictionary_encode()
    groups, kinds = group.indices.to_numpy(), leaf.indices.to_numpy()
    facts = [collect_row_facts(row) for row in table.select(COLUMNS[3:7]).to_pylist()]
    steps: dict[str, float] = {
        "products": len(facts),
        "first-level categories": len(group.dictionary),
        "leaves": len(leaf.dictionary),
    }
    sizes = np.array([len(each) for each in facts])
    many = np.array([len(np.unique(kinds[groups == place])) for place in range(len(group.dictionary))])
    rich = np.array([sizes[groups == place].mean() for place in range(len(many))])
    kept = (many >= leaves) & (rich >= complexity)
    steps |= {"categories of too few leaves": int((many < leaves).sum())}
    steps |= {"categories of low complexity": int(((many >= leaves) & (rich < complexity)).sum())}
    by_leaf: dict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero(kept[groups]).tolist():
        by_leaf[int(kinds[row])].append(row)
    reviews = pc.fill_null(table["review_count"].combine_chunks(), 0).to_numpy(zero_copy_only=False)
    rows, poor = [], 0
    for found in by_leaf.values():
        low = diversity([facts[row] for row in found]) < LOW_DIVERSITY
        poor += low
        rows += find_most_alike(found, facts, reviews, siblings // 2 if low else siblings)
    steps |= {"leaves kept": len(by_leaf), "leaves of low diversity": poor, "products kept": len(rows)}
    return FineSelection(np.array(sorted(rows), dtype=np.int64), steps)


def collect_row_facts(row: dict[str, Any]) -> dict[str, str]:
    found = {each["name"]: each["value"] for each in row["attributes"]}
    found |= {f"option {each['name']}": "/".join(each["values"]) for each in row["options"]}
    found |= {name: row[name] for name in ("color", "brand") if row[name]}
    return found


def diversity(rows: list[dict[str, str]]) -> float:
    """Bits of entropy of a fact's values among these products, on average over the facts.

    >>> diversity([{"a": "1", "b": "x"}, {"a": "2", "b": "x"}])
    0.5
    """
    values: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        for name, value in row.items():
            values[name][value] += 1
    bits = [entropy(list(counts.values())) for counts in values.values()]
    return sum(bits) / len(bits) if bits else 0.0


def entropy(counts: list[int]) -> float:
    total = sum(counts)
    return -sum(count / total * log2(count / total) for count in counts)


def find_most_alike(rows: list[int], facts: list[dict[str, str]], reviews: np.ndarray, most: int) -> list[int]:
    """Those that share most of their facts with the others; of equals the most reviewed."""
    if len(rows) <= most:
        return rows
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        for fact in facts[row].items():
            counts[fact] += 1

    def mean_share(row: int) -> float:
        return sum(counts[fact] for fact in facts[row].items()) / (len(facts[row]) or 1)

    return sorted(rows, key=lambda row: (-mean_share(row), -reviews[row], row))[:most]


def is_in_the_catalog(batch: pa.RecordBatch, catalog: Dataset[Product]) -> list[str | None]:
    """Just as it stands there."""
    known = catalog.once(index_catalog_rows)
    return [None if known.get(row["id"]) == repr(row) else "not the catalog's product" for row in batch.to_pylist()]


def index_catalog_rows(catalog: Dataset[Product]) -> dict[str, str]:
    rows = chain.from_iterable(batch.to_pylist() for batch in catalog.batches())
    return {row["id"]: repr(row) for row in rows}


VIEWS = Views(extends="catalog", columns=("title", "category", "price", "rating"))


@stage(makes=Product, plan=plan_catalog_fine, checks=[is_in_the_catalog], across=[ids_are_unique], views=VIEWS)
def catalog_fine(
    catalog: Dataset[Product],
    shard: Shard,
    plan: Plan,
    *,
    leaves: Leaves = 10,
    siblings: Siblings = 120,
    complexity: Complexity = 3.0,
) -> Iterator[pa.RecordBatch]:
    """Some 120 products of each leaf category that are like one another: what shopping tasks are about."""
    rows = np.array(plan.facts, dtype=np.int64)
    here = rows[shard.of(plan.units).start : shard.of(plan.units).stop]
    if len(here):
        span = range(int(here[0]), int(here[-1]) + 1)
        first = span.start
        for batch in catalog.slices(span):
            wanted = here[(here >= first) & (here < first + batch.num_rows)] - first
            first += batch.num_rows
            yield batch.take(pa.array(wanted))
