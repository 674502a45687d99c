"""Rows that cannot be read in place, written once as Parquet into a cache folder."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.catalog.tables.files import File
from shopwright.pipeline.catalog.tables.parquet import Parquet
from shopwright.pipeline.catalog.tables.table import STEP, Row
from shopwright.pipeline.files import find_cache_folder


def name_cached(files: Iterable[Path], what: str) -> Path:
    """Where something made from these files is kept: another place as soon as one of them changes."""
    facts = []
    for file in files:
        about = file.stat()
        changed = getattr(about, "st_mtime_ns", None) or getattr(about, "st_mtime", "")
        facts.append(f"{file if '://' in str(file) else file.resolve()} {about.st_size} {changed}")
    digest = hashlib.sha256("|".join([*facts, what]).encode()).hexdigest()[:16]
    return find_cache_folder() / f"table-{digest}.parquet"


def write_rows(rows: Iterable[Row], target: Path) -> None:
    """A column of JSON texts, ten thousand rows at a time; whole or not there."""
    schema = pa.schema([("row", pa.string())])
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:  # beside it, so that the rename is atomic
        new = Path(folder) / "new.parquet"
        with pq.ParquetWriter(new, schema, compression="zstd") as writer:
            rows = iter(rows)
            while chunk := [json.dumps(row, default=str) for row in islice(rows, 10 * STEP)]:
                writer.write_table(pa.table({"row": chunk}, schema=schema))
        os.replace(new, target)


class Spooled:
    """Rows that were written once into the cache folder, in their order; any of them is read from its place."""

    def __init__(self, files: list[File], rows: Callable[[], Iterable[Row]], what: str = "rows"):
        self.files = list(dict.fromkeys(file.path for file in files))
        self.path = name_cached(self.files, what)
        if not self.path.exists():
            write_rows(rows(), self.path)
        self.table = Parquet([self.path])
        self.columns = list(
            dict.fromkeys(chain.from_iterable(row for row in self.read(0, 200) if "unreadable" not in row))
        )

    def __len__(self) -> int:
        return len(self.table)

    def read(self, start: int, stop: int) -> Iterator[Row]:
        for row in self.table.read(start, stop):
            yield json.loads(row["row"])
