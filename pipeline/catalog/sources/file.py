"""A shop's own file: CSV, TSV, JSON Lines, a JSON array (each also gzipped), Parquet, or a folder of Parquet shards."""

import codecs
import csv
import gzip
import json
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, time
from difflib import get_close_matches
from functools import cache, cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Protocol, cast

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.catalog.repair.text import is_deep
from shopwright.pipeline.catalog.sources import BadSource, describe_missing_source, exists, is_hidden
from shopwright.schemas.shop import Product

Row = dict[str, Any]

SYNONYMS = {
    "id": "id product_id asin parent_asin sku item_id uniq_id product_code",
    "title": "title name product_name product_title item_name item_title",
    "brand": "brand brand_name product_brand manufacturer maker vendor",
    "category_path": "category_path categories breadcrumbs",
    "category": "category product_category category_name product_type sub_category subcategory main_category department",
    "color": "color colour product_color colour_name color_name",
    "price": "price sale_price selling_price final_price current_price discounted_price price_usd cost list_price retail_price unit_price actual_price pricing",
    "currency": "currency currency_code price_currency price_currency_code currency_iso iso_currency",
    "attributes": "attributes details specifications specs product_specifications",
    "options": "options variants customization_options",
    "description": "description product_description full_description long_description desc",
    "bullets": "bullets bullet_points features product_bullet_point about_product small_description",
    "rating": "rating average_rating product_rating stars avg_rating",
    "review_count": "review_count rating_number rating_count reviews_count number_of_reviews num_reviews total_reviews",
    "shipping_days": "shipping_days ship_days delivery_days",
    "queries": "queries",
}
# Columns that tell about the record and not about the product.
NO_FACT = re.compile(
    r"url|link|image|img|picture|photo|video|thumb|date|time|created|updated|crawl|embedding|index$|_ids?$|^unnamed|^$"
)
STEP = 1000  # rows between two marks
LONGEST = 64 << 20  # bytes of one JSON row
LINES = 1000  # of one CSV row: beyond that a quote was opened and never closed
SHOWN = 10_000  # characters of a row that could not be read

csv.field_size_limit(LONGEST)


class Table(Protocol):
    """Rows as they stand in the files, under the files' own column names."""

    files: list[Path]
    columns: list[str]

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Iterator[Row]: ...


@dataclass
class Catalog:
    """A table, and how a row of it becomes a raw product."""

    name: str
    licence: str
    table: Table
    product: Callable[[Row], Row]
    files: list[Path] = field(default_factory=list)
    currency: str = ""

    def __post_init__(self) -> None:
        self.files = self.files or self.table.files
        if next(self.read(0, 1), None) is None:
            raise BadSource(f"{self.table.files[0]} has no rows. Give a file with at least one product.")

    def __len__(self) -> int:
        return len(self.table)

    def read(self, start: int, stop: int) -> Iterator[Row]:
        for row in self.table.read(start, stop):
            yield row if row.keys() == {"unreadable", "raw"} else self.product(row)


def file(where: str, columns: dict[str, str] | None = None) -> Catalog:
    table = open_table(where)
    fields = map_columns(table.columns, columns or {})
    if isinstance(table, Parquet):
        table.columns = [name for name in table.columns if name in fields.values() or is_fact(name)]
    currency = "USD" if simplify_name(fields.get("price", "")).endswith("_usd") else ""
    return Catalog("file", "unknown", table, partial(read_file_product, fields=fields), currency=currency)


def read_file_product(row: Row, fields: dict[str, str]) -> Row:
    """Our fields, and the columns that we have no field for as attributes."""
    facts = {name: value for name, value in row.items() if is_fact(name) and is_scalar(value)}
    facts = {name: value for name, value in facts.items() if name not in fields.values()}
    raw = {ours: row.get(theirs) for ours, theirs in fields.items()}
    if facts:
        raw["attributes"] = [raw["attributes"], facts] if raw.get("attributes") else facts
    return raw


def map_columns(names: list[str], columns: dict[str, str]) -> dict[str, str]:
    """Our field -> their column: as told, else guessed.

    >>> map_columns(["SKU", "Product Name", "Cost", "weight"], {"price": "weight"})
    {'id': 'SKU', 'title': 'Product Name', 'price': 'weight'}
    """
    for ours, theirs in columns.items():
        if ours not in SYNONYMS:
            raise BadSource(f"--columns: a product has no field {ours!r}.{suggestion(ours, list(SYNONYMS))}")
        if theirs not in names:
            raise BadSource(f"--columns: there is no column {theirs!r}.{suggestion(theirs, names)}")
    plain = {simplify_name(name): name for name in reversed(names)}
    guesses: dict[str, str] = {}
    for ours, words in SYNONYMS.items():
        if known := [plain[word] for word in words.split() if word in plain]:
            guesses[ours] = known[0]
    fields = guesses | columns
    fields = {ours: theirs for ours, theirs in fields.items() if ours in columns or theirs not in columns.values()}
    if "title" not in fields:
        raise BadSource(
            f"No column looks like a title. Say which one is: --columns title=NAME. There are {join_column_names(names)}."
        )
    return fields


def suggestion(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=3)
    return (f" Did you mean {' or '.join(near)}?" if near else "") + f" There are {join_column_names(names)}."


def join_column_names(names: list[str]) -> str:
    return ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def simplify_name(name: str) -> str:
    """
    >>> simplify_name("Product Name"), simplify_name("averageRating"), simplify_name("list-price ")
    ('product_name', 'average_rating', 'list_price')
    """
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).strip("_").lower()


@cache
def is_fact(name: str) -> bool:
    """Whether a column that we have no field for may be an attribute.

    >>> is_fact("modelno"), is_fact("imageUrl"), is_fact("release_date"), is_fact("list_price"), is_fact("manufacturer")
    (True, False, False, False, True)
    """
    plain = simplify_name(name)
    known = {*" ".join(SYNONYMS.values()).split(), *Product.model_fields}
    return plain == "manufacturer" or (plain not in known and not NO_FACT.search(plain))


def is_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= 200 and "://" not in value
    return value is not None and not isinstance(value, dict | list | tuple | bytes | date | time)


def open_table(where: str) -> Table:
    """The table in a file or in a folder of Parquet shards, by its name and its first bytes."""
    path = Path(where).expanduser()
    if not exists(where):
        raise BadSource(describe_missing_source(where))
    if path.is_dir():
        shards = sorted(shard for shard in path.rglob("*.parquet") if not is_hidden(shard, path))
        if not shards:
            raise BadSource(f"The folder {path} holds no .parquet file. Give the file itself if it is of another type.")
        return Parquet(shards)
    head = read_beginning(path)
    if head.startswith(b"PAR1") or path.name.endswith(".parquet"):
        return Parquet([path])
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head:
        raise BadSource(f"{path} is binary or UTF-16, not UTF-8 text. Save it as UTF-8.")
    if head.decode("utf-8", "replace").count("\ufffd") > len(head) / 10:
        raise BadSource(f"{path} is not text. Give a CSV, TSV, JSON Lines, JSON or Parquet file.")
    match path.name.lower().removesuffix(".gz").rpartition(".")[2]:
        case "csv" | "tsv" | "txt":
            return Csv(path)
        case "jsonl" | "ndjson":
            return JsonLines(path)
        case "json":
            return JsonArray(path) if head.lstrip(codecs.BOM_UTF8 + b" \t\r\n").startswith(b"[") else JsonLines(path)
    raise BadSource(f"{path} has no type that is known here. Name it .csv, .tsv, .jsonl, .json or .parquet.")


def read_beginning(path: Path) -> bytes:
    with stream(path) as binary:
        head = binary.read(1 << 16)
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise BadSource(f"{path} is empty. Give a file with at least one product.")
    if head.startswith(b"version https://git-lfs"):
        raise BadSource(f"{path} is a Git LFS pointer, not the data. Run `git lfs pull` where it came from.")
    return head


class stream:
    """A file's bytes, unpacked if it is gzipped; what goes wrong on the way becomes a BadSource."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> IO[bytes]:
        try:
            gzipped = self.path.name.endswith(".gz")
            self.binary = cast(IO[bytes], gzip.open(self.path) if gzipped else self.path.open("rb"))
        except OSError as error:
            raise BadSource(f"{self.path} cannot be opened: {error.strerror}.") from None
        return self.binary

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.binary.close()
        if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
            raise BadSource(f"{self.path} ends too early or is no gzip file. Copy it again.") from None


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
        read_beginning(path)
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


def make_unreadable_row(reason: str, raw: str) -> Row:
    return {"unreadable": reason, "raw": raw[:SHOWN]}


class Text:
    """Rows in a text file, with a mark every thousand rows so that reading can begin in the middle."""

    first = 0
    """Where the first row begins."""

    def __init__(self, path: Path):
        self.path = path
        self.files = [path]
        self.columns: list[str] = []
        self.first = len(codecs.BOM_UTF8) if read_beginning(path).startswith(codecs.BOM_UTF8) else 0

    def spans(self, offset: int) -> Iterator[tuple[int, Any]]:
        """From that byte on, each row's place and what stands there."""
        raise NotImplementedError

    def row(self, span: Any) -> Row:
        raise NotImplementedError

    @cached_property
    def marks(self) -> tuple[int, list[int]]:
        """The number of rows, and where rows 0, 1000, 2000 ... begin: one pass over the file."""
        count, marks = 0, []
        for offset, _ in self.spans(self.first):
            if count % STEP == 0:
                marks.append(offset)
            count += 1
        return count, marks

    def __len__(self) -> int:
        return self.marks[0]

    def read(self, start: int, stop: int) -> Iterator[Row]:
        skip = start % STEP
        if start >= STEP and start >= len(self):
            return
        offset = self.marks[1][start // STEP] if start >= STEP else self.first
        for _, span in islice(self.spans(offset), skip, max(skip, skip + stop - start)):
            yield self.row(span)

    def peek(self) -> None:
        """The columns of the first rows; there must be one that can be read."""
        rows = [row for row in self.read(0, 200) if "unreadable" not in row]
        self.columns = list(dict.fromkeys(chain.from_iterable(rows)))
        if not rows:
            raise BadSource(
                f"No row of {self.path} can be read as a JSON object. Write one object a line, or an array of them."
            )


class Csv(Text):
    """A row is an unreadable one if its fields are not as many as the header's; a quote that was opened and never
    closed costs its own line and not those after it."""

    def __init__(self, path: Path):
        super().__init__(path)
        head = read_beginning(path)[self.first :].decode("utf-8", "replace").lstrip("\r\n").splitlines()[0]
        self.delimiter = max(",\t;|", key=head.count)
        header: Any = next((span for _, span in self.spans(self.first) if span), [])
        if isinstance(header, dict):
            raise BadSource(f"The first line of {path} is no list of column names. Is it a CSV file, saved as UTF-8?")
        if len(header) < 2:
            raise BadSource(
                f"{path} has only one column, {header[0][:60]!r}; a product needs at least a title and something else. "
                "Put commas, tabs, semicolons or | between columns, and if needed say which is which: "
                "--columns title=NAME,price=NAME"
            )
        names = [name.strip() for name in header]
        if twice := next((name for name in names if name and names.count(name) > 1), None):
            raise BadSource(f"{path} has two columns named {twice!r}. Rename one.")
        self.columns = names
        self.first = next(islice(self.spans(self.first), 1, None), (path.stat().st_size << 10, None))[0]

    def spans(self, offset: int) -> Iterator[tuple[int, Any]]:
        again: deque[bytes] = deque()  # lines that a stray quote had swallowed
        used: list[bytes] = []
        foreign = False

        def lines() -> Iterator[str]:
            nonlocal foreign
            while len(used) < LINES:
                line = again.popleft() if again else binary.readline(LONGEST)
                if not line:
                    return
                used.append(line)
                try:
                    yield line.decode()
                except UnicodeDecodeError:
                    foreign = True
                    yield line.decode("utf-8", "replace")

        with stream(self.path) as binary:
            binary.seek(offset)
            while True:
                used.clear()
                foreign = False
                source = lines()
                try:
                    cells, reason = next(csv.reader(source, delimiter=self.delimiter), None), ""
                except csv.Error:
                    cells, reason = ["?"], "no CSV"
                if cells is None:
                    return
                if source.gi_frame is None:  # type: ignore[attr-defined]  # it went on to the end and found no quote
                    reason = "a quote is not closed"
                elif not reason and cells and self.columns and len(cells) != len(self.columns):
                    reason = "wrong number of fields"
                if reason:
                    again.extendleft(reversed(used[1:]))
                    del used[1:]
                elif foreign:
                    reason = "not UTF-8"
                if cells:
                    raw = b"".join(used)
                    yield (
                        offset,
                        make_unreadable_row(reason, raw.decode("utf-8", "replace").rstrip("\r\n")) if reason else cells,
                    )
                offset += sum(map(len, used))

    def row(self, span: Any) -> Row:
        return span if isinstance(span, dict) else dict(zip(self.columns, span, strict=True))


class JsonLines(Text):
    def __init__(self, path: Path):
        super().__init__(path)
        self.peek()

    def spans(self, offset: int) -> Iterator[tuple[int, bytes]]:
        with stream(self.path) as binary:
            binary.seek(offset)
            while line := binary.readline(LONGEST):
                if not line.isspace():
                    yield offset, line
                offset += len(line)

    def row(self, span: bytes) -> Row:
        try:
            row = json.loads(span.decode())
        except (ValueError, RecursionError) as error:
            reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else "no JSON"
            return make_unreadable_row(reason, span.decode("utf-8", "replace").strip())
        why = "" if isinstance(row, dict) else "no JSON object"
        return make_unreadable_row(why or "nested too deep", span.decode().strip()) if why or is_deep(row) else row


class JsonArray(Text):
    """The objects of one long array, one at a time."""

    SPACE = re.compile(r"[\s,]*")
    NEXT = re.compile(r"\}\s*,\s*(?=\{)")
    """Where to go on after an object that cannot be read."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.first += read_beginning(path)[self.first :].index(b"[") + 1
        self.peek()

    def spans(self, offset: int) -> Iterator[tuple[int, Row]]:
        decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        text, place, ended = "", 0, False
        with stream(self.path) as binary:
            binary.seek(offset)

            def more() -> str:
                nonlocal ended, place
                chunk = binary.read(max(1 << 20, len(text) - place))
                ended = not chunk
                rest, place = text[place:], 0
                return rest + decode(chunk, ended)

            while True:
                end = self.SPACE.match(text, place).end()  # type: ignore[union-attr]
                offset += count_bytes(text[place:end])
                place = end
                if place == len(text) and not ended:
                    text = more()
                    continue
                if text[place : place + 1] in ("]", ""):
                    return
                row, end = self.value(text, place)
                if row is None and not ended and (end >= len(text) and len(text) - place < LONGEST):
                    text = more()
                    continue
                while row is None and (found := self.NEXT.search(text, place)) is None and not ended:
                    text = more()
                if row is None:
                    end = found.end() if found else len(text)
                    row = make_unreadable_row("no JSON", text[place:end].encode("utf-8", "replace").decode())
                elif is_deep(row):
                    row = make_unreadable_row("nested too deep", text[place:end].encode("utf-8", "replace").decode())
                elif not text[place:end].isascii() and re.search("[\udc80-\udcff]", text[place:end]):
                    row = make_unreadable_row("not UTF-8", text[place:end].encode("utf-8", "replace").decode())
                yield offset, row
                offset += count_bytes(text[place:end])
                place = end

    def value(self, text: str, place: int) -> tuple[Row | None, int]:
        """What stands there and where it ends; None if it cannot be read, with the end of the text if it may go on."""
        try:
            value, end = json.JSONDecoder().raw_decode(text, place)
        except json.JSONDecodeError as error:
            unfinished = error.msg.startswith("Unterminated string") or error.pos > len(text) - 16
            return None, len(text) if unfinished else place
        except (ValueError, RecursionError):
            return None, place
        if not isinstance(value, dict):
            return (None, end) if end == len(text) else (make_unreadable_row("no JSON object", text[place:end]), end)
        return value, end

    def row(self, span: Row) -> Row:
        return span


def count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))
