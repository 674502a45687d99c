"""From a record type to its Arrow schema, so that every shard of a dataset agrees."""

import types
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from shopwright.schemas.record import Half

MONEY = pa.decimal128(12, 2)
SCALARS: dict[object, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    Half: pa.float16(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us"),
    date: pa.date32(),
    Decimal: MONEY,
}


@cache
def arrow_schema(record: type[BaseModel]) -> pa.Schema:
    """
    >>> from shopwright.schemas.shop import Product
    >>> arrow_schema(Product).field("price").type
    Decimal128Type(decimal128(12, 2))
    """
    return pa.schema(arrow_fields(record))


def arrow_fields(record: type[BaseModel]) -> list[pa.Field]:
    return [pa.field(name, arrow_type(info.annotation)) for name, info in record.model_fields.items()]


def arrow_type(annotation: object) -> pa.DataType:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in SCALARS:
        return SCALARS[annotation]
    if origin is list:
        return pa.list_(arrow_type(args[0]))
    if origin is Literal:
        return arrow_type(type(args[0]))
    if origin in (Union, types.UnionType):
        (inner,) = [arg for arg in args if arg is not type(None)]
        return arrow_type(inner)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(arrow_fields(annotation))
    raise TypeError(f"no Arrow type for {annotation!r}")


def to_batch(record: type[BaseModel], rows: Iterable[BaseModel | Mapping[str, Any]]) -> pa.RecordBatch:
    """Records, or dictionaries of their fields, as one Arrow batch."""
    plain = [row.model_dump() if isinstance(row, BaseModel) else row for row in rows]
    return pa.RecordBatch.from_pylist(plain, schema=arrow_schema(record))


def cents_to_decimal(cents: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    """Whole cents as exact decimals.

    >>> import numpy as np
    >>> cents_to_decimal(np.array([1999, 5]), np.array([False, True])).to_pylist()
    [Decimal('19.99'), None]
    """
    words = np.zeros((len(cents), 2), dtype=np.int64)
    words[:, 0] = cents
    words[:, 1] = words[:, 0] >> 63
    valid = None
    if missing is not None:
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes())
    return pa.Array.from_buffers(MONEY, len(cents), [valid, pa.py_buffer(words)])


def decimal_to_cents(prices: pa.Array) -> np.ndarray:
    """Exact decimals as whole cents; 0 where there is none.

    >>> from decimal import Decimal
    >>> decimal_to_cents(pa.array([Decimal("19.99"), None], MONEY)).tolist()
    [1999, 0]
    """
    whole = prices.fill_null(0) if prices.null_count else prices
    data = whole.buffers()[1]
    return np.frombuffer(data, dtype=np.int64)[2 * whole.offset : 2 * (whole.offset + len(whole)) : 2].copy()
