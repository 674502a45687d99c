"""What a list shows: rows that hold some words, have some values and meet a visitor's SQL; and how often each value is there."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.browse.rows import Shards, query_rows
from shopwright.pipeline.browse.sql import as_query, is_where_condition
from shopwright.pipeline.browse.worker import Worker
from shopwright.pipeline.files import parquet
from shopwright.schemas.record import Record

# A column is offered as a choice where it has at most so many values.
CHOICES = 12
# Columns that are offered so.
FACETS = 8
# Rows that are looked at to find those columns.
LOOKED_AT = 20_000
# Bytes a row, above which a column holds texts and no choices.
SHORT = 40
# Words that are looked for.
WORDS = 8
# Letters around the first of them.
BEFORE, AROUND = 40, 120
CHOSEN = "is."


class Choice(NamedTuple):
    value: str
    rows: int
    chosen: bool


class Filter(NamedTuple):
    """What an address asks for of a dataset's rows."""

    find: str
    """Words, each of which stands somewhere in the row's texts."""
    chosen: dict[str, str]
    """Column -> value."""
    sql: str
    """A condition, or a whole SELECT, to which the others do not apply."""

    @property
    def words(self) -> list[str]:
        return self.find.lower().split()[:WORDS]

    @property
    def is_select(self) -> bool:
        return bool(self.sql) and not is_where_condition(self.sql)

    def __bool__(self) -> bool:
        return bool(self.find or self.chosen or self.sql)

    def to_address(self) -> dict[str, str]:
        """Its part of an address."""
        return {"find": self.find, "sql": self.sql, **{CHOSEN + key: value for key, value in self.chosen.items()}}


def read_filter(record: type[Record], given: Mapping[str, str]) -> Filter:
    """Of the words of an address; columns that there are not are left out."""
    chosen = {key.removeprefix(CHOSEN): value for key, value in given.items() if key.startswith(CHOSEN)}
    known = {name: value for name, value in chosen.items() if name in record.model_fields}
    return Filter(given.get("find", "").strip()[:200], known, given.get("sql", "").strip())


def quote_text(value: str) -> str:
    """
    >>> quote_text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def holds_text(kind: pa.DataType) -> bool:
    """
    >>> holds_text(pa.list_(pa.struct([("name", pa.string())]))), holds_text(pa.list_(pa.float16()))
    (True, False)
    """
    if pa.types.is_list(kind):
        return holds_text(kind.value_type)
    return pa.types.is_string(kind) or (pa.types.is_struct(kind) and any(holds_text(field.type) for field in kind))


def select_found(record: type[Record], asked: Filter) -> str:
    """The SELECT of the rows with the words and values. Its column `words` is the row's text, where words are looked for."""
    texts = [field.name for field in arrow_schema(record) if holds_text(field.type)]
    joined = ", ".join(f"CAST({quote_name(name)} AS VARCHAR)" for name in texts)
    source = f"(SELECT *, concat_ws(' · ', {joined}) AS words FROM rows)" if asked.words else "rows"
    parts = [f"contains(lower(words), {quote_text(word)})" for word in asked.words]
    parts += [f"CAST({quote_name(name)} AS VARCHAR) = {quote_text(value)}" for name, value in asked.chosen.items()]
    return f"SELECT * FROM {source}" + (f" WHERE {' AND '.join(parts)}" if parts else "")


def select_rows(record: type[Record], asked: Filter, columns: Sequence[str]) -> str:
    """The query of a list; a row's text around the first word is its column `found`."""
    more = ""
    if asked.words:
        place = f"strpos(lower(words), {quote_text(asked.words[0])})"
        more = f", substr(words, greatest(1, {place} - {BEFORE}), {AROUND}) AS found"
    source = f"({select_found(record, asked)}) AS rows" if asked.words or asked.chosen else "rows"
    return as_query(asked.sql, columns, source, more)


def count_rows(worker: Worker, found: Shards, query: str) -> int | None:
    """Of a query; None where it gives none, or takes too long."""
    reply = query_rows(worker, found, f"SELECT count(*) FROM ({query}\n)")
    return int(reply["rows"][0][0]) if reply.get("rows") else None


def list_choice_columns(worker: Worker, found: Shards, record: type[Record], first: Sequence[str]) -> list[str]:
    """The columns with few values, those of `first` before others."""
    scalar = {
        field.name
        for field in arrow_schema(record)
        if pa.types.is_string(field.type) or pa.types.is_boolean(field.type) or pa.types.is_integer(field.type)
    }
    short = sorted(scalar & list_short_columns(found), key=lambda name: (name not in first, name))
    if not short:
        return []
    counts = ", ".join(f"count(DISTINCT {quote_name(name)})" for name in short)
    looked = f"SELECT count(*), {counts} FROM (SELECT * FROM rows LIMIT {LOOKED_AT})"
    rows = query_rows(worker, found, looked).get("rows", [])
    many, *values = rows[0] if rows else [0]
    return [name for name, each in zip(short, values, strict=False) if 2 <= each <= min(CHOICES, many / 3)][:FACETS]


def list_short_columns(found: Shards) -> set[str]:
    """Columns that take few bytes a row in the first file that has rows, as choices do."""
    metadata = next((each for path in found.paths if (each := parquet(path).metadata).num_row_groups), None)
    if metadata is None:
        return set()
    group = metadata.row_group(0)
    parts = [group.column(number) for number in range(group.num_columns)]
    return {part.path_in_schema for part in parts if part.total_uncompressed_size <= SHORT * group.num_rows + 1_000}


def count_choices(
    worker: Worker, found: Shards, record: type[Record], asked: Filter, columns: Sequence[str]
) -> dict[str, list[Choice]]:
    """Of the rows with the words, values and condition: each value of these columns and how many rows have it."""
    if not columns or asked.is_select:
        return {}
    query = select_rows(record, asked, ["n", *columns])
    parts = [
        f"SELECT {quote_text(name)}, CAST({quote_name(name)} AS VARCHAR), count(*) FROM found GROUP BY 2"
        for name in columns
    ]
    union = " UNION ALL ".join(parts)
    rows = query_rows(worker, found, f"WITH found AS ({query}\n) {union}", most=1_000).get("rows", [])
    counts: dict[str, list[Choice]] = {name: [] for name in columns}
    for name, value, count in rows:
        if value is not None:
            counts[name].append(Choice(value, count, asked.chosen.get(name) == value))
    return {name: sorted(each, key=rank_choice)[:CHOICES] for name, each in counts.items() if each}


def rank_choice(choice: Choice) -> tuple[Any, ...]:
    """Numbers by size, words by how many rows have them."""
    return (0, int(choice.value)) if choice.value.isdecimal() else (1, -choice.rows, choice.value)
