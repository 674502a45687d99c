"""What a dataset looks like on the Hub and in a folder: `data/<config>/<split>-00000-of-000NN.parquet`.

FOLDER/
  data/trajectories/train-00000-of-00001.parquet ...
  README.md, images/, croissant.json, recipe.toml     the card and what made it, by `finish`
  files.json                                          written last: every other file, with bytes and SHA-256
"""

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.dataset import FileFacts, file_facts
from shopwright.pipeline.files import move_into_place, sha256_of, write_whole
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.exporters.forms import Config

INDEX = "files.json"
NAME = re.compile(r"\w+")
# Of a row group in memory, at most: the Hub's viewer reads no more than 300 MB at a time.
GROUP_BYTES = 100_000_000
# Of a file, about at most.
SHARD_BYTES = 200_000_000
# Of pages cut by their content, so that rows that stay are not uploaded again; the defaults of `datasets`.
CHUNKING = {"min_chunk_size": 256 * 1024, "max_chunk_size": 1024 * 1024, "norm_level": 0}


@dataclass(frozen=True)
class LaidSplit:
    """The files of one split, by their paths from the folder."""

    name: str
    files: Mapping[str, FileFacts]
    unpacked: int
    """Bytes in memory, as Arrow counts them: the card's `num_bytes`."""

    @property
    def rows(self) -> int:
        return sum(facts.rows for facts in self.files.values())

    @property
    def bytes(self) -> int:
        return sum(facts.bytes for facts in self.files.values())


@dataclass(frozen=True)
class LaidConfig:
    """The splits of one config, those that have rows."""

    name: str
    about: str
    group: str
    features: Any
    splits: Mapping[str, LaidSplit]

    @property
    def rows(self) -> int:
        return sum(split.rows for split in self.splits.values())

    @property
    def bytes(self) -> int:
        return sum(split.bytes for split in self.splits.values())


@dataclass(frozen=True)
class Laid:
    """What was laid in a folder: its configs, those that have rows, in the order they were given."""

    folder: Path
    configs: Mapping[str, LaidConfig]

    @cached_property
    def files(self) -> dict[str, FileFacts]:
        """The Parquet files by their paths from the folder."""
        found: dict[str, FileFacts] = {}
        for config in self.configs.values():
            for split in config.splits.values():
                found |= split.files
        return found


def lay(configs: Sequence[Config], folder: Path, *, finish: Callable[[Laid], None] | None = None) -> Laid:
    """Writes the configs into a folder, which is put in its place when it is whole.

    `finish` is called with what is laid before that, to look at it or to add a card; what it raises leaves nothing.
    Raises Problem where the folder holds what was not laid there.
    """
    folder = folder.resolve()  # a link stays a link
    if stranger := next(find_foreign_files(folder), None):
        raise Problem(f"{stranger} was not put there by publish. Take it away, or choose another folder.")
    beside, old = (folder.with_name(f".{folder.name}.{kind}") for kind in ("laying", "old"))
    for left in (beside, old):
        shutil.rmtree(left, ignore_errors=True)
    try:
        laid = lay_in(beside, configs)
        if finish:
            finish(laid)
        write_index(beside)
        if folder.exists():
            folder.rename(old)
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    return replace(laid, folder=folder)


def lay_in(folder: Path, configs: Sequence[Config]) -> Laid:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise Problem(f"Cannot write to {folder.parent}: {error.strerror}. Choose another folder.") from None
    found = [lay_config(config, folder) for config in configs]
    return Laid(folder, {config.name: config for config in found if config.splits})


def lay_config(config: Config, folder: Path) -> LaidConfig:
    schema = config.features.arrow_schema
    splits = (lay_split(folder, config.name, name, schema, rows()) for name, rows in config.splits.items())
    return LaidConfig(
        config.name, config.about, config.group, config.features, {split.name: split for split in splits if split.files}
    )


def lay_split(folder: Path, config: str, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> LaidSplit:
    """The rows of one split in as few files as may be: none where there are no rows."""
    if not NAME.fullmatch(config) or not NAME.fullmatch(name):
        raise ValueError(f"{config!r} and {name!r} become names of files: letters, digits and _ only")
    shards = SplitWriter(folder / "data" / config, name, schema)
    try:
        for group in group_rows(batches):
            shards.write(group.cast(schema))
    finally:
        shards.close()
    files = {path.relative_to(folder).as_posix(): file_facts(path) for path in shards.name_files()}
    return LaidSplit(name, files, shards.unpacked)


def group_rows(batches: Iterable[pa.RecordBatch], most: int = GROUP_BYTES) -> Iterator[pa.Table]:
    """The rows in tables of about `most` bytes at most, as large as may be: that is what deduplication wants."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for piece in chain.from_iterable(split_batch(batch, most) for batch in batches):
        if waiting and held + piece.nbytes > most:
            yield pa.Table.from_batches(waiting)
            waiting, held = [], 0
        waiting.append(piece)
        held += piece.nbytes
    if waiting:
        yield pa.Table.from_batches(waiting)


def split_batch(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """
    >>> [len(piece) for piece in split_batch(pa.record_batch({"n": list(range(100))}), most=400)]
    [50, 50]
    """
    rows = -(-batch.num_rows // max(1, -(-batch.nbytes // most)))
    for first in range(0, batch.num_rows, max(1, rows)):
        yield batch.slice(first, rows)


class SplitWriter:
    """Parquet files in a folder, a new one where the next row group would make one too large."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema, *, most: int = SHARD_BYTES) -> None:
        self.folder, self.name, self.schema, self.most = folder, name, schema, most
        self.paths: list[Path] = []
        self.writer: pq.ParquetWriter | None = None
        self.sink: Any = None
        self.unpacked = self.largest = 0

    def write(self, table: pa.Table) -> None:
        if self.writer is None or self.sink.tell() + self.largest > self.most:
            self.open()
        assert self.writer
        before = self.sink.tell()
        self.writer.write_table(table, row_group_size=table.num_rows)
        self.largest = max(self.largest, self.sink.tell() - before)
        self.unpacked += table.nbytes

    def open(self) -> None:
        self.close()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.paths.append(self.folder / f".{self.name}-{len(self.paths):05d}.tmp")
        self.sink = pa.OSFile(str(self.paths[-1]), "wb")
        self.writer = pq.ParquetWriter(
            self.sink,
            self.schema,
            compression="zstd",
            compression_level=3,
            use_content_defined_chunking=CHUNKING,
            write_page_index=True,
        )

    def close(self) -> None:
        if self.writer is not None:
            self.writer.add_key_value_metadata({"content_defined_chunking": json.dumps(CHUNKING)})
            self.writer.close()
            self.sink.close()
            self.writer = None

    def name_files(self) -> list[Path]:
        """The files under their names for good, which say how many there are."""
        names = [f"{self.name}-{n:05d}-of-{len(self.paths):05d}.parquet" for n in range(len(self.paths))]
        found = [path.with_name(name) for path, name in zip(self.paths, names, strict=True)]
        for path, named in zip(self.paths, found, strict=True):
            move_into_place(path, named)
        return found


def write_index(folder: Path) -> None:
    facts = {
        path: {"bytes": (folder / path).stat().st_size, "sha256": sha256_of(folder / path)}
        for path in list_laid_paths(folder)
    }
    write_whole(folder / INDEX, json.dumps(facts, indent=2) + "\n")


def list_laid_paths(folder: Path) -> list[str]:
    """Every file of a folder but its index, by its path from there, in order."""
    return sorted(path.relative_to(folder).as_posix() for path in files_in(folder) if path != folder / INDEX)


def files_in(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def read_index_paths(text: str) -> set[str]:
    """The paths that an index names; none where it is not one of ours.

    >>> sorted(read_index_paths('{"data/a/train-00000-of-00001.parquet": {"bytes": 1}}')), read_index_paths("[1]"), read_index_paths("no")
    (['data/a/train-00000-of-00001.parquet'], set(), set())
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    return set(found) if isinstance(found, dict) else set()


def find_foreign_files(folder: Path) -> Iterator[Path]:
    """Files of a folder that its index does not know; the folder itself, where it is none."""
    if folder.exists() and not folder.is_dir():
        yield folder
    index = folder / INDEX
    known = read_index_paths(index.read_text(encoding="utf-8")) if index.is_file() else set()
    for path in files_in(folder):
        if path != index and path.relative_to(folder).as_posix() not in known:
            yield path
