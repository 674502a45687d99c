"""The catalog that every other dataset is about."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field

from pipeline.arrow import arrow_schema, money
from pipeline.catalog import prices
from pipeline.catalog.normalize import normalize
from pipeline.catalog.queries import RealQueries, read_queries
from pipeline.catalog.sources import open_source, sample
from pipeline.checks.unique import ids_are_unique, repeated
from pipeline.dataset import Dataset
from pipeline.stage import Fault, Plan, Shard, stage
from schemas.record import Rejected
from schemas.shop import Product

BATCH = 1_200
UNCLEAN = r"^$|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^[\s\pZ]|[\s\pZ]$"


def read_columns(value: Any) -> Any:
    """
    >>> read_columns("title=name,price=cost")
    {'title': 'name', 'price': 'cost'}
    """
    if not isinstance(value, str):
        return value
    pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
    if any(not sign or not theirs.strip() for _, sign, theirs in pairs):
        raise ValueError("write it as ours=theirs, as in title=name,price=cost")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


Columns = Annotated[
    dict[str, str], BeforeValidator(read_columns), Field(description="our=their column names, for a file of your own")
]
SourceName = Annotated[
    str,
    Field(
        description="sample, esci, amazebay, webshop, shopsimulator (each :PATH or :HUB_ID), or a file", min_length=1
    ),
]
Products = Annotated[int | None, Field(ge=1, le=100_000_000, description="how many at most; the sample makes 24,000")]
QueryFile = Annotated[str, Field(description="a file of real queries, led to the products that they fit")]
Share = Annotated[float, Field(ge=0, le=1, description="share of products that have promotions")]


def price_is_positive(batch: pa.RecordBatch) -> list[str | None]:
    return said("price is not positive", pc.less_equal(batch["price"], pa.scalar(Decimal(0), pa.decimal128(12, 2))))


def texts_are_clean(batch: pa.RecordBatch) -> list[str | None]:
    dirty = pc.match_substring_regex(pc.coalesce(batch["title"], ""), UNCLEAN)
    return said("title is empty or has control characters", dirty)


def category_is_the_leaf(batch: pa.RecordBatch) -> list[str | None]:
    paths = batch["category_path"]
    flat, lengths = pc.list_flatten(paths), pc.list_value_length(paths).fill_null(0)
    last = pc.if_else(pc.greater(lengths, 0), pc.subtract(pc.cumulative_sum(lengths), 1), None)
    return said("category is not the last of its path", pc.not_equal(flat.take(last), batch["category"]))


def promotions_lower_the_price(batch: pa.RecordBatch) -> list[str | None]:
    reasons: list[str | None] = [None] * batch.num_rows
    lengths = pc.list_value_length(batch["promotions"]).fill_null(0)
    for row in pc.indices_nonzero(lengths).to_pylist():
        dated, last = batch["promotions"][row].as_py(), None
        for one in dated:
            if not 0 < one["price"] < batch["price"][row].as_py() or one["last_day"] < one["first_day"]:
                reasons[row] = "promotion does not lower the price"
            if last is not None and one["first_day"] <= last:
                reasons[row] = "promotions overlap"
            last = one["last_day"]
    return reasons


def said(reason: str, wrong: Any) -> list[str | None]:
    if not pc.any(wrong.fill_null(True), min_count=0).as_py():
        return [None] * len(wrong)
    return [reason if found or found is None else None for found in wrong.to_pylist()]


def titles_are_unique(products: Dataset[Product]) -> Iterable[Fault]:
    return repeated(products, "lower(title)", "duplicate title")


@dataclass(frozen=True)
class Facts:
    """What every shard knows of the whole source."""

    levels: dict[str, prices.Level]
    queries: RealQueries | None


def plan_catalog(source: str, columns: dict[str, str], products: int | None, queries: str) -> Plan:
    real = read_queries(Path(queries)) if queries else None
    files = (Path(queries),) if queries else ()
    if source == "sample":
        return Plan(products or sample.PRODUCTS, files, Facts({}, real))
    opened = open_source(source, columns)
    units = min(len(opened), products or len(opened))
    known = ((row["category"], row["price"]) for row in cleaned(opened, range(units)) if isinstance(row, dict))
    levels = prices.levels((category, price) for category, price in known if price is not None)
    return Plan(units, (*files, *opened.files), Facts(levels, real))


def cleaned(opened: Any, numbers: range) -> Iterator[dict[str, Any] | Rejected]:
    for number, raw in zip(numbers, opened.read(numbers.start, numbers.stop), strict=True):
        found = normalize(raw, source=opened.name, licence=opened.licence, number=number)
        yield found if isinstance(found, dict) else rejected(raw, found, f"{opened.name}-row-{number}")


def rejected(raw: dict[str, Any], reasons: list[str], name: str) -> Rejected:
    """Half a surrogate pair, which UTF-8 cannot hold, stands in it as JSON escapes it."""
    record = json.dumps(raw, default=str, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return Rejected(id=name, reasons=reasons, record=record)


@stage(
    makes=Product,
    plan=plan_catalog,
    checks=[price_is_positive, texts_are_clean, category_is_the_leaf, promotions_lower_the_price],
    across=[ids_are_unique, titles_are_unique],
    per_shard=(1_200, 60_000),
)
def catalog(
    shard: Shard,
    plan: Plan,
    *,
    source: SourceName = "sample",
    columns: Columns = {},  # noqa: B006  (a setting's default, never changed)
    products: Products = None,
    queries: QueryFile = "",
    promoted: Share = 0.06,
) -> Iterator[pa.RecordBatch | Rejected]:
    """Products in one normal form, from the embedded sample or a real catalog, with their promotions."""
    numbers = shard.of(plan.units)
    rows = (
        sample.products(shard.seed, numbers) if source == "sample" else cleaned(open_source(source, columns), numbers)
    )
    while chunk := list(islice(rows, BATCH)):
        yield from (row for row in chunk if isinstance(row, Rejected))
        kept = [priced(row, shard.seed, plan.facts, promoted) for row in chunk if isinstance(row, dict)]
        if kept:
            yield to_columns(kept)


def priced(row: dict[str, Any], seed: int, facts: Facts, promoted: float) -> dict[str, Any]:
    """The row with a price, its promotions and the real queries that lead to it."""
    price, is_simulated = row["price"], row["price"] is None
    if is_simulated:
        price = prices.simulated(seed, row["id"], row["category"], facts.levels, reference_levels())
    found = prices.promotions(seed, row["id"], price, promoted)
    queries = row["queries"] or (facts.queries.of(row) if facts.queries else [])
    return {**row, "price": price, "price_is_simulated": is_simulated, "promotions": found, "queries": queries}


@cache
def reference_levels() -> dict[str, prices.Level]:
    return prices.reference_levels()


def to_columns(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    schema = arrow_schema(Product)
    plain = {field.name: [row[field.name] for row in rows] for field in schema if field.name != "price"}
    columns = {name: pa.array(values, schema.field(name).type) for name, values in plain.items()}
    columns["price"] = money(pa.array([row["price"] for row in rows], pa.int64()).to_numpy())
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
