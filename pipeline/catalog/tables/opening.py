"""Any file of products as a table: CSV, TSV, JSON Lines, JSON, Parquet, Arrow, XML or HTML pages, packed or not, here or elsewhere.

A table is read from its place: `read(5_000, 5_010)` does not read what stands before. Plain CSV, JSON and Parquet are read where they are;
what cannot be (packed files, other encodings, XML, several files) is written once as Parquet into a cache folder, row by row.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import IO, Any

from shopwright.pipeline.catalog.sources import BadSource
from shopwright.pipeline.catalog.tables.cache import Spooled
from shopwright.pipeline.catalog.tables.files import File, find_encoding, head_of, locate_tables, refuse_bomb, stream
from shopwright.pipeline.catalog.tables.markup import read_html, read_xml
from shopwright.pipeline.catalog.tables.parquet import Parquet, read_arrow, read_parquet
from shopwright.pipeline.catalog.tables.table import Row, Table
from shopwright.pipeline.catalog.tables.text import Csv, JsonArray, JsonLines, Text, is_json
from shopwright.pipeline.files import is_here

# A shop's export has some hundred at most.
MOST_COLUMNS = 2_000


def open_table(where: str) -> Table:
    """The rows of a file, of a folder or a pattern of files, of an address that fsspec reaches, or of a dataset on the Hub."""
    table = open_files(locate_tables(where))
    if len(table.columns) > MOST_COLUMNS:
        raise BadSource(
            f"{where} has {len(table.columns):,} columns, and at most {MOST_COLUMNS:,} are read. Keep those that say something of a product."
        )
    return table


def open_files(files: list[File]) -> Table:
    if all(map(is_parquet_here, files)):
        return Parquet([file.path for file in files])
    tables = [open_file(file) for file in files]
    if len(tables) == 1 and isinstance(tables[0], Text) and tables[0].is_plain:
        return tables[0]
    return Spooled(files, lambda: chain.from_iterable(map(read_once, tables)))


def is_parquet_here(file: File) -> bool:
    is_plain = is_here(file.path) and not file.packing
    return is_plain and (file.format == "parquet" or head_of(file).startswith(b"PAR1"))


def read_once(table: Any) -> Iterator[Row]:
    """All rows, without looking where each begins."""
    yield from table if isinstance(table, StreamedRows) else table.read(0, 1 << 62)


def open_file(file: File) -> "Text | Parquet | StreamedRows":
    head = head_of(file)
    refuse_bomb(file)
    if head.startswith(b"PAR1") or file.format == "parquet":
        return Parquet([file.path]) if is_here(file.path) and not file.packing else StreamedRows(file, read_parquet)
    if file.format == "arrow" or head.startswith(b"ARROW1"):
        return StreamedRows(file, read_arrow)
    encoding = find_encoding(file, head)
    if file.format in ("xml", "html"):
        return StreamedRows(file, read_xml if file.format == "xml" else read_html, encoding)
    text = head.decode(encoding, "replace")
    match file.format:
        case "csv":
            return Csv(file, encoding)
        case "jsonl":
            return JsonLines(file, encoding)
        case "json":
            begun = text.lstrip("\ufeff \t\r\n")
            is_whole = begun.startswith("{") and not is_json(begun.splitlines()[0])
            return JsonArray(file, encoding) if begun.startswith("[") or is_whole else JsonLines(file, encoding)
    raise BadSource(
        f"{file} has no type that is known here. Name it .csv, .tsv, .jsonl, .json, .parquet, .arrow or .xml."
    )


class StreamedRows:
    """Rows that can only be read from the first on."""

    def __init__(self, file: File, read: Callable[[IO[bytes]], Iterable[Row]], encoding: str = "utf-8"):
        self.file, self.how, self.encoding = file, read, encoding

    def __iter__(self) -> Iterator[Row]:
        with stream(self.file, self.encoding) as binary:
            yield from self.how(binary)
