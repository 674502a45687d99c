"""A shop's own file, whoever wrote it; or a mapping of one, as `shopwright inspect --write` makes it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from shopwright.pipeline.catalog.exports.columns import guess_export, list_unused_prices
from shopwright.pipeline.catalog.exports.joining import join_rows
from shopwright.pipeline.catalog.exports.reader import Reader
from shopwright.pipeline.catalog.exports.systems import (
    FIELDS,
    Export,
    identify,
    join_column_names,
    read_mapping,
    resolve,
    suggestion,
)
from shopwright.pipeline.catalog.sources import BadSource
from shopwright.pipeline.catalog.tables.cache import Spooled
from shopwright.pipeline.catalog.tables.files import File
from shopwright.pipeline.catalog.tables.opening import open_table
from shopwright.pipeline.catalog.tables.parquet import Parquet
from shopwright.pipeline.catalog.tables.table import Row, Table

# Rows by which a file's columns are known.
SEEN = 200
# Of the cache: changes when rows that belong together would be found in another way.
JOINED = "joined 1"


@dataclass
class Catalog:
    """A table, and how a row of it becomes a raw product."""

    name: str
    licence: str
    table: Table
    product: Callable[[Row], Row]
    files: list[Path] = field(default_factory=list)
    currency: str = ""
    export: Export = field(default_factory=Export)
    rows: Table | None = None
    """The rows as they stand in the file, where several are one product."""
    unused_prices: list[str] = field(default_factory=list)
    """Columns that may be a price, and that nobody has said what to do with."""
    invent_prices: bool | None = None
    """What a mapping says of products without a price."""

    def __post_init__(self) -> None:
        self.files = self.files or self.table.files
        if next(self.read(0, 1), None) is None:
            raise BadSource(f"{self.table.files[0]} has no rows. Give a file with at least one product.")

    def __len__(self) -> int:
        return len(self.table)

    def read(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        for row in self.table.read(start, stop):
            yield row if row.keys() == {"unreadable", "raw"} else self.product(row)


def file(where: str, columns: dict[str, str] | None = None) -> Catalog:
    if where.endswith(".toml"):
        return open_mapped(Path(where).expanduser())
    table = open_table(where)
    seen = [row for row in table.read(0, SEEN) if "unreadable" not in row]
    export = identify(table.columns, seen) or guess_export(table.columns, seen)
    if export.name:
        export = resolve(export, table.columns)
    export = tell_columns(export, columns or {}, table.columns)
    unused = [] if columns and "price" in columns else list_unused_prices(export, table.columns, seen)
    found = read_by(table, export)
    found.unused_prices = unused
    return found


def open_mapped(path: Path) -> Catalog:
    """The source that a mapping is about; its own path counts from the mapping's folder."""
    export, (where,), more = read_mapping(path)
    beside = path.parent / where
    table = open_table(
        str(beside) if "://" not in where and (beside.exists() or not Path(where).is_absolute()) else where
    )
    missing = [
        name
        for name in chain.from_iterable(export.columns.values())
        if name.split(".")[0] not in table.columns and name not in table.columns
    ]
    if missing:
        raise BadSource(f"{path}: {where} has no column {missing[0]!r}.{suggestion(missing[0], table.columns)}")
    found = read_by(table, export)
    found.files, found.invent_prices = [path, *found.files], more.get("invent_prices")
    return found


def read_by(table: Table, export: Export) -> Catalog:
    """The products of a table."""
    names = table.columns
    if "title" not in export.columns:
        raise BadSource(
            f"No column looks like a title. Say which one is: --columns title=NAME. There are {join_column_names(names)}."
        )
    reader, rows = Reader(export, names), None
    if export.join is not None:
        rows = table
        what = f"{JOINED} {export.join.model_dump_json()} {export.columns['title']}"
        files = [File(path) for path in table.files]
        table = Spooled(files, partial(join_rows, partial(read_all, rows), export), what)
    elif isinstance(table, Parquet):
        heads = {way[0] for way in chain.from_iterable(reader.ways.values())} | {
            way[0] for way in reader.facts.values()
        }
        heads |= (
            {way[0] for way, *_ in reader.sold}
            | {way[0] for way, *_ in reader.lists}
            | {way[0] for _, way in reader.named}
        )
        heads |= {export.nested.inside.split(".")[0], export.nested.names.split(".")[0]} if export.nested else set()
        table.columns = [name for name in names if name in heads]
    return Catalog(
        export.name or "file",
        export.licence or "unknown",
        table,
        reader.product,
        currency=export.currency,
        export=export,
        rows=rows,
    )


def read_all(table: Table) -> Iterator[Row]:
    return table.read(0, 1 << 62)


def tell_columns(export: Export, columns: dict[str, str], names: list[str]) -> Export:
    """The export with the columns that are named on the command line in place of those that were guessed.

    >>> tell_columns(guess_export(["SKU", "Product Name", "Cost", "weight"], []), {"price": "weight"}, ["weight"]).columns
    {'id': ['SKU'], 'title': ['Product Name'], 'price': ['weight']}
    """
    for ours, theirs in columns.items():
        if ours not in FIELDS:
            raise BadSource(f"--columns: a product has no field {ours!r}.{suggestion(ours, list(FIELDS))}")
        if theirs not in names and theirs.split(".")[0] not in names:
            raise BadSource(f"--columns: there is no column {theirs!r}.{suggestion(theirs, names)}")
    rest = {
        ours: kept
        for ours, theirs in export.columns.items()
        if ours not in columns and (kept := [name for name in theirs if name not in columns.values()])
    }
    told = {ours: [theirs] for ours, theirs in columns.items()}
    order = sorted(rest | told, key=list(FIELDS).index)
    return export.model_copy(update={"columns": {ours: (told | rest)[ours] for ours in order}})
