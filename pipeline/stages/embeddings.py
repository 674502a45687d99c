"""Vectors of the products' texts, by which search finds what is near a query."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.catalog.embed import HASHED, join_product_texts, open_embedder, take_attribute_values
from shopwright.pipeline.catalog.rows import index_product_ids
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.stage import Plan, Shard, Views, stage
from shopwright.schemas.shop import Embedding, Product

COLUMNS = ["id", "title", "brand", "color", "category", "attributes"]
# Products in one batch.
TOGETHER = 12_000
# How far from 1 the length of a vector may be that is kept in two bytes a number.
ROUNDING = 0.01
STRANGER = "no such product in the catalog"
LENGTH = "a vector that is not of length 1"
RAGGED = "a vector of another size than the first one beside it"

EmbedderName = Annotated[
    str,
    Field(
        min_length=1,
        description="hashed, sentence-transformers:NAME or model2vec:FOLDER",
    ),
]


def vectors_have_length_1(batch: pa.RecordBatch) -> list[str | None]:
    vectors = batch["vector"]
    sizes = pc.list_value_length(vectors).fill_null(0).to_numpy()
    squares = pc.list_flatten(vectors).to_numpy(zero_copy_only=False).astype(np.float64) ** 2
    lengths = np.sqrt(np.bincount(pc.list_parent_indices(vectors).to_numpy(), squares, len(sizes)))
    ragged, short = sizes != sizes[:1], ~(np.abs(lengths - 1) <= ROUNDING)
    return [RAGGED if other else LENGTH if wrong else None for other, wrong in zip(ragged, short, strict=True)]


def products_are_the_catalogs(batch: pa.RecordBatch, catalog: Dataset[Product]) -> list[str | None]:
    rows = catalog.once(index_product_ids).of(batch["id"])
    return [None if row >= 0 else STRANGER for row in rows.tolist()]


def plan_embeddings(catalog: Dataset[Product], embedder: str) -> Plan:
    open_embedder(embedder)  # an unknown embedder fails here, before any work is shared
    return Plan(len(catalog), rows=len(catalog))


VIEWS = Views(extends="catalog")


@stage(
    makes=Embedding,
    plan=plan_embeddings,
    checks=[vectors_have_length_1, products_are_the_catalogs],
    across=[ids_are_unique],
    per_shard=(5_000, 100_000),
    views=VIEWS,
    languages=("en", "zh"),
)
def embeddings(
    catalog: Dataset[Product], shard: Shard, plan: Plan, *, embedder: EmbedderName = HASHED
) -> Iterator[pa.RecordBatch]:
    """A vector of every product's text, by which search finds what is near a query."""
    model, schema = open_embedder(embedder), arrow_schema(Embedding)
    for some in regroup_batches(catalog.slices(shard.of(plan.units), COLUMNS)):
        titles, brands, colors, kinds, attributes = (some[name] for name in COLUMNS[1:])
        texts = join_product_texts(titles, brands, colors, kinds, take_attribute_values(attributes))
        vectors = model.vectors(texts.to_pylist()).astype(np.float16)
        edges = np.arange(len(some) + 1, dtype=np.int32) * vectors.shape[1]
        column = pa.ListArray.from_arrays(edges, pa.array(vectors.ravel()))
        yield pa.RecordBatch.from_arrays([some["id"], column], schema=schema)


def regroup_batches(batches: Iterable[pa.RecordBatch], count: int = TOGETHER) -> Iterator[pa.RecordBatch]:
    """The same rows, so many at a time."""
    waiting = arrow_schema(Product).empty_table().select(COLUMNS)
    for batch in batches:
        waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch])])
        while len(waiting) >= count:
            yield waiting.slice(0, count).combine_chunks().to_batches()[0]
            waiting = waiting.slice(count)
    if len(waiting):
        yield waiting.combine_chunks().to_batches()[0]
