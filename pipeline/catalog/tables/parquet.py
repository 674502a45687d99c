"""Parquet shards as one table, and what Parquet and Arrow files hold where they cannot be read in place."""

import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.catalog.sources import BadSource
from shopwright.pipeline.catalog.tables.files import File, head_of
from shopwright.pipeline.catalog.tables.table import STEP, Row, make_unreadable_row


class Parquet:
    """Parquet shards as one table; row groups before the wanted rows are not read."""

    def __init__(self, files: list[Path]):
        self.files = files
        self.groups: list[tuple[Path, int, int]] = []
        names: dict[str, None] = {}
        for path in files:
            with self.shard(path) as parquet:
                names |= dict.fromkeys(parquet.schema_arrow.names)
                meta = parquet.metadata
                self.groups += [(path, group, meta.row_group(group).num_rows) for group in range(meta.num_row_groups)]
        self.columns = list(names)

    def shard(self, path: Path) -> pq.ParquetFile:
        head_of(File(path))
        try:
            return pq.ParquetFile(path)
        except (pa.ArrowException, OSError):
            raise BadSource(f"{path} is not Parquet, or not all of it is there. Copy it again.") from None

    def __len__(self) -> int:
        return sum(rows for _, _, rows in self.groups)

    def read(self, start: int, stop: int) -> Iterator[Row]:
        seen = 0
        for path, group, rows in self.groups:
            if start < seen + rows and seen < stop:
                yield from self.slice(path, group, max(start - seen, 0), min(stop - seen, rows))
            seen += rows

    def slice(self, path: Path, group: int, start: int, stop: int) -> Iterator[Row]:
        seen = 0
        with self.shard(path) as parquet:
            wanted = [name for name in self.columns if name in parquet.schema_arrow.names]
            try:
                for batch in parquet.iter_batches(batch_size=STEP, row_groups=[group], columns=wanted):
                    yield from batch_to_rows(batch.slice(max(start - seen, 0), max(stop - max(seen, start), 0)))
                    seen += batch.num_rows
                    if seen >= stop:
                        return
            except (pa.ArrowException, OSError):
                raise BadSource(f"{path} is damaged in row group {group}. Copy it again.") from None


def batch_to_rows(batch: pa.RecordBatch) -> list[Row]:
    try:
        return cast(list[Row], batch.to_pylist())
    except UnicodeDecodeError as error:
        if batch.num_rows == 1:
            return [make_unreadable_row("not UTF-8", error.object.decode("utf-8", "replace"))]
        # row by row, so that only the one that cannot be read is lost
        return list(chain.from_iterable(batch_to_rows(batch.slice(i, 1)) for i in range(batch.num_rows)))


def read_parquet(binary: IO[bytes]) -> Iterator[Row]:
    """A Parquet file that is packed, or that lies elsewhere."""
    with tempfile.TemporaryFile() as whole:  # its footer stands at the end
        while chunk := binary.read(1 << 20):
            whole.write(chunk)
        for batch in pq.ParquetFile(whole).iter_batches(STEP):
            yield from batch_to_rows(batch)


def read_arrow(binary: IO[bytes]) -> Iterator[Row]:
    with tempfile.TemporaryFile() as whole:
        while chunk := binary.read(1 << 20):
            whole.write(chunk)
        whole.seek(0)
        try:
            file = pa.ipc.open_file(whole)
            batches: Iterable[pa.RecordBatch] = (file.get_batch(i) for i in range(file.num_record_batches))
        except pa.ArrowInvalid:
            whole.seek(0)
            batches = pa.ipc.open_stream(whole)
        for batch in batches:
            for start in range(0, batch.num_rows, STEP):
                yield from batch_to_rows(batch.slice(start, STEP))
