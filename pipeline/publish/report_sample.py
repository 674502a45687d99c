"""Rows of a dataset, spread evenly over it: what a report looks at, so that one of millions of rows takes seconds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.files import connect_duckdb, footer, map_paths, parquet

T = TypeVar("T")
FILES = 64
ROWS = 20_000
# Unpacked, of the columns that are read.
BYTES = 48_000_000
# Row groups, at most, in which a row is looked for whose id they may hold.
NEAR = 4


class Rows(Protocol):
    """A dataset, or some of it."""

    def sql(self, query: str) -> list[tuple[Any, ...]]: ...

    def batches(self) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class Sample:
    """Some rows of a dataset; all where these are few."""

    table: pa.Table
    total: int
    """Rows of the dataset."""

    def __len__(self) -> int:
        return len(self.table)

    @property
    def describe_size(self) -> str:
        """How much was looked at.

        >>> Sample(pa.table({"id": ["a"]}), 2_000).describe_size, Sample(pa.table({"id": ["a"]}), 1).describe_size
        ('1 of 2,000 rows, spread evenly', 'all 1 rows')
        """
        few = len(self) < self.total
        return f"{len(self):,} of {self.total:,} rows, spread evenly" if few else f"all {len(self):,} rows"

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """As `Dataset.sql`, over these rows."""
        with connect_duckdb() as connection:
            connection.register("rows", self.table)
            found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
        return found

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self.table.to_batches()

    def of(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        """Its rows with these ids."""
        known = pa.array(sorted(ids), pa.string())
        found: list[dict[str, Any]] = self.table.filter(pc.is_in(self.table["id"], value_set=known)).to_pylist()
        return found


@dataclass(frozen=True)
class Group:
    """A row group of a file."""

    path: Path
    number: int
    rows: int
    bytes: int

    def read(self, columns: Sequence[str]) -> pa.Table:
        return parquet(self.path).read_row_group(self.number, columns=list(columns))


def sample(dataset: Dataset[Any], columns: Sequence[str], *, rows: int = ROWS, bytes: int = BYTES) -> Sample:
    """So many rows at most, from row groups spread evenly; one group is read even if it is larger than `bytes`."""
    files = spread_evenly(dataset.files, FILES)
    groups = list(chain.from_iterable(map_paths(lambda path: groups_of(path, columns), files)))
    chosen = spread_evenly(groups, count_fitting_groups(groups, rows, bytes))
    left = -(-rows // max(len(chosen), 1))
    makes: Any = dataset.makes
    schema = arrow_schema(makes)
    empty = pa.schema([schema.field(name) for name in columns]).empty_table()
    tables = [group.read(columns).slice(0, left if len(chosen) < len(groups) else rows) for group in chosen]
    total = dataset.manifest.rows if dataset.manifest else len(dataset)
    return Sample(pa.concat_tables([empty, *tables]).slice(0, rows).combine_chunks(), total)


def groups_of(path: Path, columns: Sequence[str]) -> list[Group]:
    """Those of a file that have rows, with the size of these columns."""
    facts = footer(path)
    found = []
    for number in range(facts.num_row_groups):
        group = facts.row_group(number)
        parts = [group.column(place) for place in range(group.num_columns)]
        size = sum(p.total_uncompressed_size for p in parts if p.path_in_schema.partition(".")[0] in columns)
        found.append(Group(path, number, group.num_rows, size))
    return [group for group in found if group.rows]


def count_fitting_groups(groups: Sequence[Group], rows: int, bytes: int) -> int:
    """How many groups, of the usual size, make at most so many rows and bytes; at least one.

    >>> groups = [Group(Path("x"), number, 100, 1_000) for number in range(9)]
    >>> count_fitting_groups(groups, 350, 10**9), count_fitting_groups(groups, 10**9, 2_500), count_fitting_groups(groups, 10**9, 10), count_fitting_groups([], 1, 1)
    (3, 2, 1, 0)
    """
    held, size = sum(group.rows for group in groups), sum(group.bytes for group in groups)
    if held <= rows and size <= bytes:
        return len(groups)
    by_rows = len(groups) * rows // max(held, 1)
    by_bytes = len(groups) * bytes // max(size, 1)
    return max(1, min(by_rows, by_bytes))


def spread_evenly(items: Sequence[T], count: int) -> list[T]:
    """
    >>> spread_evenly("abcdefgh", 3), spread_evenly("ab", 3)
    (['a', 'c', 'f'], ['a', 'b'])
    """
    return [items[place * len(items) // count] for place in range(count)] if count < len(items) else list(items)


def rows_at(dataset: Dataset[Any], ranges: Sequence[range], columns: Sequence[str]) -> pa.Table:
    """The rows of these numbers, in order: as `Dataset.slices` of each, but every footer is read once."""
    files, first, found = dataset.files, 0, []
    for path, facts in zip(files, map_paths(footer, files), strict=True):
        for number in range(facts.num_row_groups):
            last = first + facts.row_group(number).num_rows
            inside = [range(max(first, rows.start), min(last, rows.stop)) for rows in ranges]
            if any(inside):
                table = parquet(path).read_row_group(number, columns=list(columns))
                found += [table.slice(rows.start - first, len(rows)) for rows in inside if rows]
            first = last
    return pa.concat_tables(found)


def with_ids(dataset: Dataset[Any], ids: Iterable[str], columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Rows by their ids, looked for only in row groups that may hold them: for datasets in the order of their ids."""
    wanted, files = sorted(set(ids)), dataset.files
    facts = dict(zip(files, map_paths(footer, files), strict=True))
    near: dict[tuple[Path, int], None] = {}
    for id in wanted:
        holding = chain.from_iterable(groups_with(path, facts[path], id) for path in files)
        near |= dict.fromkeys(place for place, _ in zip(holding, range(NEAR), strict=False))
    value_set, names = pa.array(wanted, pa.string()), ["id", *columns]
    tables = [parquet(path).read_row_group(group, columns=names) for path, group in near]
    found: dict[str, dict[str, Any]] = {}
    for table in tables:
        rows = table.filter(pc.is_in(table["id"], value_set=value_set)).to_pylist()
        found |= {row["id"]: row for row in rows}
    return found


def groups_with(path: Path, facts: Any, id: str) -> Iterator[tuple[Path, int]]:
    place = facts.schema.names.index("id")
    for number in range(facts.num_row_groups):
        known = facts.row_group(number).column(place).statistics
        if known is None or not known.has_min_max or known.min <= id <= known.max:
            yield path, number


def find_titles(catalog: Dataset[Any], ids: Iterable[str]) -> dict[str, str]:
    """Of products, wherever they stand in the catalog."""
    texts = ", ".join("'" + id.replace("'", "''") + "'" for id in sorted(set(ids)))
    return dict(catalog.sql(f"select id, title from rows where id in ({texts})")) if texts else {}
