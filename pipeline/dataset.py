"""A dataset: a folder of Parquet shards of one record type, and the manifest of how it was made.

data/runs/demo/
  catalog/part-00000.parquet ...      nothing else, so that any Parquet reader takes the folder as it is
  quarantine/catalog/part-...         what did not pass, with reasons
  manifests/catalog.json              written last: a dataset is whole when it is there
"""

import atexit
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import _lru_cache_wrapper, cache
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, field_validator

from shopwright import __version__
from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.files import (
    AT_ONCE,
    compute_stamp,
    connect_duckdb,
    footer,
    is_here,
    map_paths,
    move_into_place,
    parquet,
    path_of,
    sha256_of,
    temporary_path,
    write_whole,
)
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.schema_steps import schema_number
from shopwright.schemas.record import Record, Rejected

RecordT = TypeVar("RecordT", bound=Record)
JsonModelT = TypeVar("JsonModelT", bound="JsonModel")
T = TypeVar("T")

# Of memory for a query over a whole dataset; what needs more goes to the folder for temporary files.
DUCKDB_MEMORY = "2GB"
SHARD = re.compile(r"part-\d{5,}(-across)?\.parquet")
# The part of the code that a manifest of 0.1.0 names.
ALL_CODE = "all"
# What `Dataset.once` made in this process, by folder, state of the files and function; of as many runs.
VIEWS: dict[tuple[Any, ...], Any] = {}
RUNS_KEPT = 4


class JsonModel(BaseModel):
    """Part of a manifest; a field that this version does not know makes it unreadable, not half read."""

    model_config = ConfigDict(extra="forbid")


class FileFacts(JsonModel):
    rows: int
    bytes: int
    sha256: str


class Recipe(JsonModel):
    """All that decides which rows a dataset has."""

    dataset: str
    settings: dict[str, Any]
    seed: int
    inputs: dict[str, str]
    """The datasets it was made from, each with the fingerprint of its content."""
    files: dict[str, str]
    """Files outside the run that it was made from, with their SHA-256."""
    models: dict[str, str] = {}
    """Which model played each role."""
    code: dict[str, str]
    """What decides the rows beside all this: part of the project -> digest of what the dataset uses of it (`pipeline.code_digest`)."""
    version: str
    schema_number: int = 1
    """Of its rows' columns (`pipeline.schema_steps`)."""

    @field_validator("code", mode="before")
    @classmethod
    def take_code_of_before(cls, found: object) -> object:
        """A manifest of 0.1.0 has one digest, of all files together."""
        return {ALL_CODE: found} if isinstance(found, str) else found


class Manifest(JsonModel):
    """How a dataset was made and what came out. Written last: its presence means the dataset is whole."""

    dataset: str
    about: str
    recipe: Recipe
    rows: int
    rejected: int
    rejects: dict[str, int]
    """Reason -> rows in quarantine with it (a row can have several)."""
    requested: int | None = None
    """Rows asked for, where that was known before: all of them accepted or rejected."""
    stats: dict[str, float] = {}
    """Figures of how it was planned: what each step of a selection left."""
    usage: dict[str, Any] = {}
    """Template -> what models were asked with it (`shopwright.pipeline.models.role.PromptUsage`)."""
    tokens: int | None = None
    """In all rows, where the record type counts them."""
    repairs: dict[str, int] = {}
    """What was mended in rows that passed -> how often, where the record type keeps it."""
    seconds: float
    """Of the session that finished it, on `workers` processes."""
    workers: int
    files: dict[str, FileFacts]
    """Path from the run's folder -> its facts; quarantine files too."""

    @property
    def fingerprint(self) -> str:
        """Of the content: two builds with the same rows have the same."""
        kept = {path: facts.sha256 for path, facts in self.files.items() if not path.startswith("quarantine/")}
        return digest(json.dumps(kept, sort_keys=True))


def list_counted_reasons(manifests: Iterable[Manifest], kind: str = "rejects") -> Iterator[tuple[str, str, int]]:
    """Dataset, reason and how often; `kind` may be `repairs`, too."""
    for made in manifests:
        for reason, count in getattr(made, kind).items():
            yield made.dataset, reason, count


class Dataset(Generic[RecordT]):
    """The rows of one dataset, read in order.

    It iterates over records; `table`, `batches` and `sql` give columns, which is what volume wants.
    """

    def __init__(self, run: Path, name: str, makes: type[RecordT]) -> None:
        self.run = path_of(run)
        self.name = name
        self.makes = makes
        self.folder = self.run / name
        self.cache: dict[Any, Any] = {}

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    @property
    def manifest_path(self) -> Path:
        return self.run / "manifests" / f"{self.name}.json"

    @property
    def manifest(self) -> Manifest | None:
        """None while the dataset is not whole. Raises Problem where its columns are those of another release."""
        found = self.read_manifest()
        if found and (number := found.recipe.schema_number) != (ours := schema_number(self.makes)):
            release = f"version {found.recipe.version} (schema {number}, here {ours})"
            advice = f"Run: shopwright verify {self.run}" if number < ours else "Use that version"
            raise Problem(
                f"{self.name} in {self.run} has the columns of {release}. {advice}, or build it with --rebuild."
            )
        return found

    def read_manifest(self) -> Manifest | None:
        """The same, whichever columns the rows have."""
        found = read_json_model(self.manifest_path, Manifest)
        if found and not (found.dataset == found.recipe.dataset == self.name and all(map(self.owns, found.files))):
            raise Problem(
                f"{self.manifest_path} tells of what is not {self.name}. Use another --run folder, or build that dataset with --rebuild."
            )
        return found

    @property
    def catalog_settings(self) -> Mapping[str, Any]:
        """Those of the catalog in its run."""
        made = read_json_model(self.run / "manifests" / "catalog.json", Manifest)
        return made.recipe.settings if made else {}

    def owns(self, path: str) -> bool:
        """Whether a path from the run's folder, as a manifest names it, is that of a shard of this dataset."""
        folder, _, name = path.removeprefix("quarantine/").rpartition("/")
        return folder == self.name and bool(SHARD.fullmatch(name))

    @property
    def quarantine(self) -> "Dataset[Rejected]":
        return Dataset(self.run / "quarantine", self.name, Rejected)

    def __len__(self) -> int:
        return sum(map_paths(count_file_rows, self.files))

    def __iter__(self) -> Iterator[RecordT]:
        for batch in self.batches():
            for row in batch.to_pylist():
                yield self.makes.model_validate(row)

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """One batch for each row group, as the stage yielded it."""
        for path in self.files:
            yield from read_row_groups(path, columns)

    def table(self, columns: list[str] | None = None) -> pa.Table:
        empty = arrow_schema(self.makes)
        wanted = pa.schema([empty.field(name) for name in columns]) if columns else empty
        tables = [parquet(path).read(columns) for path in self.files]
        return pa.concat_tables([wanted.empty_table(), *tables])

    def head(self, count: int = 5) -> list[RecordT]:
        found: list[RecordT] = []
        for batch in self.batches():
            found += [self.makes.model_validate(row) for row in batch.slice(0, count - len(found)).to_pylist()]
            if len(found) == count:
                break
        return found

    def rows(self, numbers: range) -> Iterator[RecordT]:
        """The records of these row numbers."""
        for batch in self.slices(numbers):
            yield from (self.makes.model_validate(row) for row in batch.to_pylist())

    def slices(self, numbers: range, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of these row numbers, reading no row group that has none of them."""
        first = 0
        for path, meta in self.footers():
            for group in range(meta.num_row_groups):
                last = first + meta.row_group(group).num_rows
                inside = range(max(first, numbers.start), min(last, numbers.stop))
                if inside:
                    table = parquet(path).read_row_group(group, columns=columns).combine_chunks()
                    yield from table.slice(inside.start - first, len(inside)).to_batches()
                first = last

    def footers(self) -> list[tuple[Path, Any]]:
        """Of every file, read once for this `Dataset`."""
        if "footers" not in self.cache:
            files = self.files
            self.cache["footers"] = list(zip(files, map_paths(footer, files), strict=True))
        found: list[tuple[Path, Any]] = self.cache["footers"]
        return found

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """Query the rows with DuckDB, as a view named `rows` that knows `filename` and `file_row_number`."""
        files = self.files
        if not files:
            return []
        shared = is_here(files[0])
        with open_duckdb(os.getpid()).cursor() if shared else limit_duckdb(connect_duckdb(files)) as connection:
            connection.execute(
                "create temp view rows as select *, filename, file_row_number "
                f"from read_parquet([{quote_paths(files)}], filename = true, file_row_number = true)"
            )
            return connection.execute(query).fetchall()

    def once(self, make: Callable[["Dataset[RecordT]"], T]) -> T:
        """`make(self)`, made once in this process: what every row of a stage looks things up in.

        Files that changed are noticed by the next `Dataset` on them, not by this one.
        """
        if make in self.cache:
            kept: T = self.cache[make]
            return kept
        key = (str(self.folder.resolve()), compute_stamp(self.files), make)
        if key not in VIEWS:
            forget_views(*key)
            VIEWS[key] = make(self)
        found: T = VIEWS[key]
        self.cache[make] = found
        return found


def forget_views(folder: str, _: Any, make: Callable[..., Any]) -> None:
    """Lets go of what was made of files that have changed since, and of all runs but the last few: a process may see a hundred of them."""
    runs = dict.fromkeys(os.path.dirname(each) for each in (folder, *(old[0] for old in reversed(VIEWS))))
    kept = {*list(runs)[:RUNS_KEPT]}
    gone = [old for old in VIEWS if (old[0] == folder and old[2] == make) or os.path.dirname(old[0]) not in kept]
    for old in gone:
        del VIEWS[old]
    if gone:
        forget_results()


def forget_results() -> None:
    """Empties what functions keep of texts: those of a shop that is let go of are asked for no more. Caches of a few hold whole shops, and stay."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("shopwright.pipeline.")]
    for each in chain.from_iterable(list(vars(module).values()) for module in modules):
        if isinstance(each, _lru_cache_wrapper) and (each.cache_parameters()["maxsize"] or 0) > 4:
            each.cache_clear()


def escape_glob(path: str | Path) -> str:
    """A path in which DuckDB finds no wildcard.

    >>> escape_glob("a*b")
    'a[*]b'
    """
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def quote_paths(paths: Iterable[Path]) -> str:
    """Paths as SQL has a list of texts."""
    return ", ".join("'" + escape_glob(path).replace("'", "''") + "'" for path in paths)


def read_row_groups(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    file = parquet(path)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=columns).combine_chunks()
        yield from table.to_batches()


class ShardWriter:
    """Writes beside the target and renames at the end, so that a shard is either whole or absent.

    Each batch becomes one row group. Nothing is made on disk before the first batch, or when there was none
    and `always` is not set.
    """

    def __init__(self, path: Path, makes: type[Record], *, always: bool = False) -> None:
        self.path = path
        self.beside = temporary_path(path)
        self.schema = arrow_schema(makes)
        self.always = always
        self.rows = 0
        self.file: pq.ParquetWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self.open().write_table(pa.Table.from_batches([batch]), row_group_size=batch.num_rows)
            self.rows += batch.num_rows

    def open(self) -> pq.ParquetWriter:
        if self.file is None:
            self.beside.parent.mkdir(parents=True, exist_ok=True)
            self.file = pq.ParquetWriter(
                self.beside, self.schema, compression="zstd", compression_level=1, use_dictionary=True
            )
        return self.file

    def close(self) -> bool:
        """Whether there is something to commit: its file is finished then, beside its place."""
        if self.always:
            self.open()
        if self.file is not None:
            self.file.close()
        return self.file is not None

    def facts(self) -> FileFacts:
        """Of the file that was closed."""
        return file_facts(self.beside)

    def commit(self) -> None:
        if self.close():
            move_into_place(self.beside, self.path)

    def discard(self) -> None:
        with suppress(OSError):  # it writes what is left, for which there may be no room
            if self.file is not None:
                self.file.close()
        self.beside.unlink(missing_ok=True)


def write_json_model(path: Path, model: JsonModel) -> None:
    """Either whole or as it was before, and with a checksum of what it says."""
    facts = model.model_dump(mode="json")
    write_whole(path, json.dumps(facts | {"sum": compute_checksum(facts)}, indent=2, ensure_ascii=False))


def read_json_model(path: Path, kind: type[JsonModelT]) -> JsonModelT | None:
    """What `write_json_model` wrote; None if it is not there. Raises Problem where it is damaged, or of another version."""
    try:
        facts = json.loads(path.read_bytes())
        known = facts.pop("sum", None)
        if known not in (None, compute_checksum(facts)):
            raise ValueError("not as it was written")
        return kind.model_validate_json(json.dumps(facts))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError, OSError, TypeError, AttributeError) as error:
        raise Problem(
            f"{path} cannot be read as a {kind.__name__.lower()} of this version{explain_error(path, error)}. Use another --run "
            f"folder, or build that dataset with --rebuild."
        ) from None


def compute_checksum(facts: dict[str, Any]) -> str:
    return digest(json.dumps(facts, sort_keys=True))


def explain_error(path: Path, error: Exception) -> str:
    """What the machine says, where it could not be read at all; that another version wrote it; else that it is damaged."""
    if isinstance(error, OSError):
        return f" ({error.strerror})" if error.strerror else ""
    try:
        found = json.loads(path.read_bytes())
        is_whole = found.pop("sum", None) in (None, compute_checksum(found))
        by = found.get("recipe", found)["version"]
    except (ValueError, RecursionError, OSError, KeyError, TypeError, AttributeError):
        return " (it is damaged)"
    if not isinstance(by, str) or len(by) > 40:  # a longer text is no version
        return " (it is damaged)"
    if by != __version__:
        return f" (it was written by version {by})"
    # Nothing is wrong with it but its fields: the code changes before the number of its version does.
    return f" (it was made by an older version, also called {by})" if is_whole else " (it is damaged)"


def find_file_difference(path: Path, known: FileFacts) -> str:
    """How a file is not what it was when it was written; empty where it is. Of one elsewhere only the size is looked at: its store guards the rest."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if size != known.bytes:
        return f"{size:,} bytes instead of {known.bytes:,}"
    if not is_here(path):
        return ""
    try:
        found = sha256_of(path)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return (
        "" if found == known.sha256 else f"not the bytes that were written (sha256 {known.sha256[:12]} -> {found[:12]})"
    )


def find_damaged_files(run: Path, files: Mapping[str, FileFacts]) -> dict[str, str]:
    """Of these files, by their path from the run's folder, those that are not what they were, and how."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = threads.map(lambda name: find_file_difference(run / name, files[name]), files)
        return {name: how for name, how in zip(files, found, strict=True) if how}


@cache
def open_duckdb(process: int) -> Any:
    """The one that all queries of a process share, each by a cursor of its own: opening one takes longer than most queries."""
    connection = limit_duckdb(connect_duckdb())
    # One that is still there when the interpreter ends has DuckDB print a page on what it takes for leaks.
    atexit.register(open_duckdb.cache_clear)
    return connection


def limit_duckdb(connection: Any) -> Any:
    connection.execute("set preserve_insertion_order = true")
    connection.execute(f"set memory_limit = '{DUCKDB_MEMORY}'")
    return connection


def count_file_rows(path: Path) -> int:
    return int(footer(path).num_rows)


def file_facts(path: Path) -> FileFacts:
    return FileFacts(rows=count_file_rows(path), bytes=path.stat().st_size, sha256=sha256_of(path))


def count_list_values(dataset: Dataset[Any], column: str) -> dict[str, int]:
    """How often each text stands in a column of lists of texts."""
    counts: Counter[str] = Counter()
    for batch in dataset.batches([column]):
        for found in pc.value_counts(batch.column(0).flatten()).to_pylist():
            counts[found["values"]] += found["counts"]
    return dict(sorted(counts.items()))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
