"""What is in each column of a dataset: how many values, how large, how they are spread."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.browse.rows import Shards, query_rows
from shopwright.pipeline.browse.search import CHOICES, quote_name, quote_text
from shopwright.pipeline.browse.worker import Worker
from shopwright.schemas.record import Record

BINS = 20


class Bar(NamedTuple):
    label: str
    rows: int
    height: int
    """In twentieths of the longest; 0 where there is no row."""
    sql: str
    """The condition that gives these rows."""


class ColumnFacts(NamedTuple):
    name: str
    measure: str
    """What is measured: the value, characters of a text, items of a list."""
    filled: int
    distinct: int | None
    facts: dict[str, str]
    bars: list[Bar]
    """Of values where there are few, else of ranges from the least to the largest."""
    by_value: bool
    error: str = ""


def list_measures(record: type[Record]) -> list[tuple[str, str, str, str]]:
    """Name, SQL, what is measured and the SQL of that, of each column and each part of one that is a single value."""
    found = []
    for field in arrow_schema(record):
        own = quote_name(field.name)
        if pa.types.is_struct(field.type):
            parts = [(f"{field.name}.{part.name}", f"{own}.{quote_name(part.name)}", part.type) for part in field.type]
        else:
            parts = [(field.name, own, field.type)]
        found += [(name, sql, *choose_measure(sql, kind)) for name, sql, kind in parts]
    return found


def choose_measure(sql: str, kind: pa.DataType) -> tuple[str, str]:
    if pa.types.is_list(kind):
        return "items", f"len({sql})"
    if pa.types.is_string(kind):
        return "characters", f"length({sql})"
    if pa.types.is_temporal(kind):
        return "time", f"epoch({sql})"
    if pa.types.is_boolean(kind) or pa.types.is_struct(kind):
        return "", ""
    return "value", f"CAST({sql} AS DOUBLE)"


def describe_columns(worker: Worker, found: Shards, record: type[Record]) -> list[ColumnFacts]:
    """Over all rows; a column that takes too long says so."""
    return [describe_column(worker, found, *each) for each in list_measures(record)]


def describe_column(worker: Worker, found: Shards, name: str, sql: str, measure: str, measured: str) -> ColumnFacts:
    single = measure != "items"
    values = f"count(DISTINCT {sql})" if single else "NULL"
    ends = f"min({sql}), max({sql})" if measure == "time" else "NULL, NULL"
    figures = f"min({measured}), max({measured}), avg({measured}), median({measured})" if measured else "0, 0, 0, 0"
    reply = query_rows(worker, found, f"SELECT count({sql}), {values}, {ends}, {figures} FROM rows")
    if reply.get("error") or not reply["rows"]:
        return ColumnFacts(name, measure, 0, None, {}, [], False, reply.get("error", ""))
    filled, distinct, begin, end, low, high, mean, middle = reply["rows"][0]
    if single and distinct is not None and distinct <= CHOICES:
        return ColumnFacts(name, measure, filled, distinct, {}, count_values(worker, found, sql), True)
    if measure == "time":
        facts = {"first": str(begin), "last": str(end)}
    else:
        figured = {"least": low, "median": middle, "mean": mean, "largest": high}
        facts = {key: format_number(value) for key, value in figured.items() if value is not None}
    bars = count_ranges(worker, found, measured, low, high, measure) if low is not None and low < high else []
    return ColumnFacts(name, measure, filled, distinct, facts, bars, False)


def count_values(worker: Worker, found: Shards, sql: str) -> list[Bar]:
    query = f"SELECT CAST({sql} AS VARCHAR), count(*) FROM rows WHERE {sql} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
    rows = query_rows(worker, found, query, most=CHOICES).get("rows", [])
    most = max((count for _, count in rows), default=1)
    return [
        Bar(value, count, scale_height(count, most), f"CAST({sql} AS VARCHAR) = {quote_text(value)}")
        for value, count in rows
    ]


def count_ranges(worker: Worker, found: Shards, measured: str, low: float, high: float, measure: str) -> list[Bar]:
    """Of equal width between the least and the largest; of whole numbers no narrower than 1."""
    whole = measure in ("items", "characters")
    bins = max(1, min(BINS, int(high - low) + 1)) if whole else BINS
    width = (high - low + whole) / bins or 1.0
    place = f"least({bins - 1}, floor(({measured} - {low!r}) / {width!r}))"
    rows = query_rows(
        worker, found, f"SELECT {place}, count(*) FROM rows WHERE {measured} IS NOT NULL GROUP BY 1", most=bins
    ).get("rows", [])
    counts = {int(number): count for number, count in rows}
    most = max(counts.values(), default=1)
    bars = []
    for number in range(bins):
        begin, end = low + number * width, low + (number + 1) * width
        upper = f"{measured} < {end!r}" if number + 1 < bins else f"{measured} <= {high!r}"
        label = (
            format_time_range(begin, end) if measure == "time" else f"{format_number(begin)} to {format_number(end)}"
        )
        bars.append(
            Bar(
                label,
                counts.get(number, 0),
                scale_height(counts.get(number, 0), most),
                f"{measured} >= {begin!r} and {upper}",
            )
        )
    return bars


def scale_height(count: int, most: int) -> int:
    """
    >>> scale_height(0, 90), scale_height(1, 90), scale_height(90, 90)
    (0, 1, 20)
    """
    return max(1, round(20 * count / most)) if count else 0


def format_number(value: Any) -> str:
    """
    >>> format_number(1234567.0), format_number(0.125), format_number(12.3456)
    ('1,234,567', '0.125', '12.35')
    """
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 1_000 or number == int(number) else f"{number:.4g}"


def format_time_range(begin: float, end: float) -> str:
    from datetime import UTC, datetime

    first, last = (datetime.fromtimestamp(each, UTC) for each in (begin, end))
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def list_labels(bars: Sequence[Bar]) -> tuple[str, str]:
    """What stands under the first and the last bar of ranges."""
    return (bars[0].label.split(" to ")[0], bars[-1].label.split(" to ")[-1]) if bars else ("", "")
