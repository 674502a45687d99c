"""Rows of a run by their number or id: from the row groups that hold them, and no more."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shopwright.pipeline.browse.sql import query_files
from shopwright.pipeline.browse.worker import Worker
from shopwright.pipeline.dataset import Manifest
from shopwright.pipeline.files import parquet
from shopwright.pipeline.run import Run

# Rows unpacked together.
AT_ONCE = 16


class Shards(NamedTuple):
    """The files of a dataset in order, and the number of the first row of each."""

    paths: list[Path]
    firsts: list[int]
    rows: int


def shards(run: Run, made: Manifest, *, rejected: bool = False) -> Shards:
    """By the manifest, so that no file is opened that is not asked."""
    kept = {path: facts.rows for path, facts in sorted(made.files.items())}
    mine = {path: rows for path, rows in kept.items() if path.startswith("quarantine/") == rejected}
    ends = [0, *accumulate(mine.values())]
    return Shards([run.folder / path for path in mine], ends[:-1], ends[-1])


def read_row_batches(found: Shards, numbers: range, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of these row numbers."""
    place = max(0, bisect_right(found.firsts, numbers.start) - 1)
    for path, first in zip(found.paths[place:], found.firsts[place:], strict=True):
        if first >= numbers.stop:
            return
        yield from read_file_rows(path, range(max(0, numbers.start - first), numbers.stop - first), columns)


def read_file_rows(path: Path, numbers: range, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """A few rows of the row groups at a time: one may hold long texts."""
    file = parquet(path)
    first = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if first < numbers.stop and first + rows > numbers.start:
            begin = first
            for batch in file.iter_batches(AT_ONCE, row_groups=[group], columns=columns and list(columns)):
                inside = range(max(begin, numbers.start), min(begin + len(batch), numbers.stop))
                if inside:
                    yield batch.slice(inside.start - begin, len(inside))
                begin += len(batch)
                if begin >= numbers.stop:
                    return
        first += rows


def read_row(found: Shards, number: int) -> pa.RecordBatch | None:
    """One row as a batch; None where there are not so many."""
    return next(read_row_batches(found, range(number, number + 1)), None)


def read_row_dicts(found: Shards, numbers: range, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Rows with their numbers as `n`, shortened by nothing."""
    batches = read_row_batches(found, numbers, columns)
    rows = list(chain.from_iterable(batch.to_pylist() for batch in batches))
    return [{"n": number} | each for number, each in zip(numbers, rows, strict=False)]


def query_rows(worker: Worker, found: Shards, sql: str, *, skip: int = 0, most: int = 1) -> Mapping[str, Any]:
    """What a query gives over a dataset's rows."""
    if not found.rows:
        return {"columns": [], "rows": []}
    return worker.ask([str(path) for path in found.paths], found.firsts, sql, skip, most)


def find_row_number(found: Shards, id: str) -> int | None:
    """The number of the row with this id."""
    if not found.rows or len(id) > 1_000:
        return None
    words = "SELECT n FROM rows WHERE id = '" + id.replace("'", "''") + "'"
    rows = query_files([str(path) for path in found.paths], found.firsts, words, 0, 1).get("rows", [])
    return int(rows[0][0]) if rows else None
