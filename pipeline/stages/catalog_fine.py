"""A small catalog whose products are hard to tell apart, chosen from any catalog (ShopSimulator's Catalog-Fine, section 2.2)."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from statistics import mean
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from shopwright.pipeline.catalog.grouping import is_department
from shopwright.pipeline.catalog.repair.category import ELSE
from shopwright.pipeline.catalog.wishes import find_unwished_names
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.problem import Lacking
from shopwright.pipeline.stage import Plan, Section, Shard, Views, stage
from shopwright.schemas.shop import Product

Leaves = Annotated[
    int | None,
    Field(
        description="leaf categories that a first-level category has at least; else 10, or fewer, so that nine in ten products stay",
        ge=1,
    ),
]
Siblings = Annotated[int, Field(description="products kept in a leaf, about; fewer where they are little alike", ge=2)]
# Below it there is nothing to tell apart.
Complexity = Annotated[
    float | None,
    Field(
        description="facts and options, beside the maker, that a leaf's products have on average, at least; else 3.5, or less, so that "
        "nine in ten of what is left stay",
        ge=0,
    ),
]
# The paper's, for a catalog of a marketplace; a smaller shop gets what keeps nine tenths of it.
PAPER_LEAVES, PAPER_COMPLEXITY = 10, 3.5
# Two products of a leaf differ in half of their facts at least, the maker apart; if in fewer, the leaf gives half as many.
LOW_DIVERSITY = 0.5
# Of leaves that were dropped or reduced, how many are named.
NAMED = 40
COLUMNS = ["id", "category_path", "category", "attributes", "options", "color", "brand", "rating", "review_count"]


@dataclass(frozen=True)
class FineSelection:
    rows: np.ndarray
    """In the catalog's order."""
    steps: dict[str, float]
    reasons: dict[str, float]
    """Of categories and leaves that were dropped or give fewer products: what they have too little of."""


def plan_catalog_fine(catalog: Dataset[Product], leaves: int | None, siblings: int, complexity: float | None) -> Plan:
    found = choose_fine_products(catalog, leaves, siblings, complexity)
    if not len(found.rows):
        raise Lacking(
            f"No product is left: {found.steps}. Lower --leaves or --complexity, or leave them out: then they fit themselves to the catalog."
        )
    named = dict(islice(found.reasons.items(), NAMED))
    return Plan(len(found.rows), facts=found.rows.tolist(), stats=found.steps | named)


def choose_fine_products(
    catalog: Dataset[Product], leaves: int | None, siblings: int, complexity: float | None
) -> FineSelection:
    """The rows that are kept, how many each step left, and why; what was chosen for `leaves` and `complexity` stands in the steps.

    First-level categories of fewer than `leaves` leaves are dropped, then leaves of low complexity (facts and options a product); leaves of
    low diversity (share of the facts in which two products differ) give half as many; of each leaf the products are kept that are most like its others
    and most often looked at, as their number of reviews tells.
    """
    table = catalog.table(COLUMNS)
    groups = [path[0] if path else "" for path in table["category_path"].to_pylist()]
    kinds = table["category"].to_pylist()
    unwished = find_unwished_names(table["attributes"])
    told = [collect_row_facts(row, unwished) for row in table.select(COLUMNS[3:7]).to_pylist()]
    facts, sizes = zip(*told, strict=True)
    steps: dict[str, float] = {
        "products": len(facts),
        "first-level categories": len(set(groups)),
        "leaves": len(set(kinds)),
    }
    no_kinds = {leaf for leaf in set(kinds) if leaf == ELSE[-1] or is_department(leaf)}
    loose = sum(leaf in no_kinds for leaf in kinds)
    no_kinds = no_kinds if 2 * loose < len(kinds) else set()
    leaves_of: dict[str, set[str]] = defaultdict(set)
    by_leaf: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, (group, leaf) in enumerate(zip(groups, kinds, strict=True)):
        if leaf in no_kinds:  # where most products are of some kind
            continue
        leaves_of[group].add(leaf)
        by_leaf[group, leaf].append(row)
    if leaves is None:
        leaves = int(fit_threshold(PAPER_LEAVES, [len(leaves_of[group]) for group in groups if group in leaves_of]))
    few = {group: len(known) for group, known in leaves_of.items() if len(known) < leaves}
    left = {leaf: rows for leaf, rows in by_leaf.items() if leaf[0] not in few}
    complexities = {leaf: mean(map(sizes.__getitem__, rows)) for leaf, rows in left.items()}
    if complexity is None:
        each = chain.from_iterable([complexities[leaf]] * len(rows) for leaf, rows in left.items())
        complexity = fit_threshold(PAPER_COMPLEXITY, list(each))
    simple = {leaf: size for leaf, size in complexities.items() if size < complexity}
    left = {leaf: rows for leaf, rows in left.items() if leaf not in simple}
    apart = {leaf: diversity(list(map(facts.__getitem__, rows))) for leaf, rows in left.items()}
    poor = {leaf: share for leaf, share in apart.items() if share < LOW_DIVERSITY}
    reviews = pc.fill_null(table["review_count"].combine_chunks(), 0).to_numpy(zero_copy_only=False)
    chosen = [
        find_most_alike(rows, facts, reviews, siblings // 2 if leaf in poor else siblings)
        for leaf, rows in left.items()
    ]
    kept = np.array(sorted(chain.from_iterable(chosen)), dtype=np.int64)
    steps |= {
        "leaves that a category has at least": leaves,
        "facts and options that a product has at least": round(complexity, 2),
        "products of departments that are no kind of thing": loose,
        "categories of too few leaves": len(few),
        "products of categories of too few leaves": sum(group in few for group in groups),
        "leaves of low complexity": len(simple),
        "products of leaves of low complexity": sum(len(by_leaf[leaf]) for leaf in simple),
        "leaves of low diversity": len(poor),
        "products left out of leaves of low diversity": sum(max(0, len(left[leaf]) - siblings // 2) for leaf in poor),
        "products left out of larger leaves": sum(max(0, len(rows) - siblings) for leaf, rows in left.items() if leaf not in poor),
        "leaves kept": len(left),
        "products kept": len(kept),
    }  # fmt: skip
    reasons: dict[str, float] = {f"{group}: leaves": count for group, count in few.items()}
    reasons |= {f"{' > '.join(leaf)}: facts and options": round(size, 2) for leaf, size in simple.items()}
    reasons |= {
        f"{' > '.join(leaf)}: share of facts in which two products differ": round(apart, 2)
        for leaf, apart in poor.items()
    }
    return FineSelection(kept, steps, reasons)


def fit_threshold(most: float, sizes: Sequence[float]) -> float:
    """The highest threshold, up to `most`, that nine in ten of these reach.

    >>> fit_threshold(10, [1] + 9 * [6]), fit_threshold(10, [1] + 10 * [6]), fit_threshold(10, [12, 12, 40]), fit_threshold(10, [])
    (6, 6, 10, 10)
    """
    return min(most, sorted(sizes)[len(sizes) // 10]) if sizes else most


def collect_row_facts(row: dict[str, Any], unwished: Collection[str] = ()) -> tuple[dict[str, str], int]:
    """What tells a product from others: color, maker and attributes but those that nobody asks for; and how many facts and options it has
    beside the maker.

    What is picked among options is no fact of the product.
    """
    picked = {each["name"] for each in row["options"]}
    found = {each["name"]: each["value"] for each in row["attributes"]} | (
        {"color": row["color"]} if row["color"] else {}
    )
    found = {
        name: value for name, value in found.items() if name not in picked and name.replace("_", " ") not in unwished
    }
    return found | ({"brand": row["brand"]} if row["brand"] else {}), len(found) + len(picked)


def diversity(rows: list[dict[str, str]]) -> float:
    """In what share of the facts two of these products differ on average, the maker apart.

    >>> diversity([{"a": "1", "b": "x"}, {"a": "2", "b": "x"}, {"a": "2", "b": "x"}])
    0.33333333333333337
    """
    values: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        for name, value in row.items():
            values[name][value] += 1
    values.pop("brand", None)
    shares, pairs = [], len(rows) * (len(rows) - 1)
    for counts in values.values():
        # Several that lack the fact are alike.
        sizes = [*counts.values(), len(rows) - sum(counts.values())]
        alike = sum(size * (size - 1) for size in sizes)
        shares.append(1 - alike / pairs if pairs else 0.0)
    return mean(shares) if shares else 0.0


def find_most_alike(rows: list[int], facts: Sequence[dict[str, str]], reviews: np.ndarray, most: int) -> list[int]:
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


VIEWS = Views(
    place=12,
    extends="catalog",
    columns=("title", "category", "price", "rating"),
    report=(Section("fine", "Small catalog", "publish.report_shop:gather_fine_facts"),),
)


@stage(
    makes=Product,
    plan=plan_catalog_fine,
    checks=[is_in_the_catalog],
    across=[ids_are_unique],
    views=VIEWS,
    languages=("en", "zh"),
)
def catalog_fine(
    catalog: Dataset[Product],
    shard: Shard,
    plan: Plan,
    *,
    leaves: Leaves = None,
    siblings: Siblings = 120,
    complexity: Complexity = None,
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
