"""Vectors of the products' texts, by which search finds what is near a query."""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from pipeline.arrow import arrow_schema
from pipeline.catalog.embed import HASHED, open_embedder, texts_of
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.stage import Plan, Shard, stage
from schemas.shop import Embedding, Product

COLUMNS = ["id", "title", "brand", "color", "category", "attributes"]
TOGETHER = 12_000
"""Products in one batch: a check looks each batch's products up in the whole catalog."""
ROUNDING = 0.01
"""How far from 1 the length of a vector may be that is kept in two bytes a number."""
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
    found = [np.asarray(vector, dtype=np.float64) for vector in batch["vector"].to_pylist()]
    size = len(found[0]) if found else 0
    return [
        RAGGED if len(vector) != size else None if abs(np.sqrt((vector**2).sum()) - 1) <= ROUNDING else LENGTH
        for vector in found
    ]


def products_are_the_catalogs(batch: pa.RecordBatch, catalog: Dataset[Product]) -> list[str | None]:
    known = pc.is_in(batch["id"], value_set=catalog.once(ids_of))
    return [None if found else STRANGER for found in known.to_pylist()]


def ids_of(catalog: Dataset[Product]) -> pa.ChunkedArray:
    return catalog.table(["id"])["id"]


def plan_embeddings(catalog: Dataset[Product], embedder: str) -> Plan:
    open_embedder(embedder)  # fails here if there is none such
    return Plan(len(catalog), rows=len(catalog))


@stage(
    makes=Embedding,
    plan=plan_embeddings,
    checks=[vectors_have_length_1, products_are_the_catalogs],
    across=[ids_are_unique],
    per_shard=(5_000, 100_000),
)
def embeddings(
    catalog: Dataset[Product], shard: Shard, plan: Plan, *, embedder: EmbedderName = HASHED
) -> Iterator[pa.RecordBatch]:
    """A vector of every product's text, by which search finds what is near a query."""
    model, schema = open_embedder(embedder), arrow_schema(Embedding)
    mine = shard.of(plan.units)
    for begin in range(mine.start, mine.stop, TOGETHER):
        batches = catalog.slices(range(begin, min(begin + TOGETHER, mine.stop)), COLUMNS)
        some = pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
        texts = texts_of(*(some[name] for name in COLUMNS[1:]))
        vectors = model.vectors(texts.to_pylist()).astype(np.float16)
        edges = np.arange(len(some) + 1, dtype=np.int32) * vectors.shape[1]
        column = pa.ListArray.from_arrays(edges, pa.array(vectors.ravel()))
        yield pa.RecordBatch.from_arrays([some["id"], column], schema=schema)
