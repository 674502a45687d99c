"""Any file of products as rows: CSV, TSV, JSON Lines, JSON, Parquet, Arrow, XML or HTML pages, packed or not, here or elsewhere.

A table is read from its place: `read(5_000, 5_010)` does not read what stands before. Plain CSV, JSON and Parquet are read where they are;
what cannot be (packed files, other encodings, XML, several files) is written once as Parquet into a cache folder, row by row.
"""

import bz2
import codecs
import csv
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import tempfile
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from html.parser import HTMLParser
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, Protocol, cast
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq

from shopwright.pipeline.catalog.repair.text import is_deep
from shopwright.pipeline.catalog.sources import BadSource, describe_missing_source, exists, is_hidden
from shopwright.pipeline.files import is_here, path_of
from shopwright.pipeline.hub_files import HUB_ID, download_from_hub

Row = dict[str, Any]

STEP = 1000  # rows between two marks
LONGEST = 64 << 20  # bytes of one JSON row
LINES = 1000  # of one CSV row: beyond that a quote was opened and never closed
SHOWN = 10_000  # characters of a row that could not be read
BEGINNING = 1 << 16  # bytes by which a file's type is known
SAMPLE = 4 << 20  # bytes by which its encoding is known
# What a name ends in -> how it is read.
FORMATS = {
    **dict.fromkeys(("csv", "tsv", "txt", "tab"), "csv"),
    **dict.fromkeys(("jsonl", "ndjson", "jsonlines"), "jsonl"),
    "json": "json",
    **dict.fromkeys(("parquet", "pq"), "parquet"),
    **dict.fromkeys(("arrow", "feather", "ipc"), "arrow"),
    **dict.fromkeys(("xml", "rss", "atom"), "xml"),
    **dict.fromkeys(("html", "htm"), "html"),
}
PACKED = ("gz", "bz2", "xz", "zst", "zstd", "zip")
KNOWN = "csv, tsv, jsonl, json, parquet, arrow, xml or html, also with .gz, .zst, .bz2, .xz or .zip"
# Encodings in which shops export, beside UTF-8 and UTF-16.
ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "iso8859_2", "koi8_r", "mac_roman"),
    *("shift_jis", "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp949"),
]

csv.field_size_limit(LONGEST)


class Table(Protocol):
    """Rows as they stand in the files, under the files' own column names."""

    files: list[Path]
    columns: list[str]

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Iterator[Row]: ...


class File(NamedTuple):
    """A file, or one within a zip file."""

    path: Path
    member: str = ""

    @property
    def format(self) -> str:
        """How it is read; empty where its name does not say it.

        >>> File(Path("a.CSV.gz")).format, File(Path("a.zip"), "b.json").format, File(Path("a.xlsx")).format
        ('csv', 'json', '')
        """
        name = self.member or self.path.name
        return FORMATS.get(split_packing(name)[0].rpartition(".")[2].lower(), "")

    @property
    def packing(self) -> str:
        return "zip" if self.member else split_packing(self.path.name)[1]

    def __str__(self) -> str:
        return f"{self.path}:{self.member}" if self.member else str(self.path)


def split_packing(name: str) -> tuple[str, str]:
    """
    >>> split_packing("a.csv.GZ"), split_packing("a.csv")
    (('a.csv', 'gz'), ('a.csv', ''))
    """
    stem, _, last = name.rpartition(".")
    return (stem, last.lower()) if last.lower() in PACKED and stem else (name, "")


def open_table(where: str) -> Table:
    """The rows of a file, of a folder or a pattern of files, of an address that fsspec reaches, or of a dataset on the Hub."""
    files = locate_tables(where)
    if all(map(is_parquet_here, files)):
        return Parquet([file.path for file in files])
    tables = [open_file(file) for file in files]
    if len(tables) == 1 and isinstance(tables[0], Text) and tables[0].is_plain:
        return tables[0]
    return Spooled(files, lambda: chain.from_iterable(map(read_once, tables)))


def is_parquet_here(file: File) -> bool:
    is_plain = is_here(file.path) and not file.packing
    return is_plain and (file.format == "parquet" or head_of(file).startswith(b"PAR1"))


def locate_tables(where: str) -> list[File]:
    """The files that hold the rows, in the order of their names."""
    path = path_of(where) if "://" in where else Path(where).expanduser()
    if "://" not in where and not exists(where):
        if found := sorted(path.parent.glob(path.name)) if set(path.name) & set("*?[") else []:
            return list(chain.from_iterable(map(unpack_names, found)))
        if not HUB_ID.fullmatch(where) or PurePosixPath(where).suffix:
            raise BadSource(describe_missing_source(where))
        kinds = [f"*.{kind}{packed}" for kind in FORMATS for packed in ("", *(f".{each}" for each in PACKED))]
        path = download_from_hub(where, kinds, option="--source", copy="PATH", failure=BadSource)
    if not path.is_dir():
        if not is_here(path) and not path.exists():
            raise BadSource(describe_missing_source(where))
        return unpack_names(path)
    inside = sorted(each for each in path.rglob("*") if each.is_file() and not is_hidden(each, path))
    files = [file for file in chain.from_iterable(map(unpack_names, inside)) if file.format]
    formats = Counter(file.format for file in files)
    if not files:
        raise BadSource(f"The folder {path} holds no .parquet file, and no other that is read: {KNOWN}.")
    # Notes about the data often lie beside it, as JSON or text.
    main = "parquet" if "parquet" in formats else max(formats, key=lambda each: (formats[each], each))
    return [file for file in files if file.format == main]


def unpack_names(path: Path) -> list[File]:
    if not path.name.lower().endswith(".zip"):
        return [File(path)]
    try:
        with path.open("rb") as binary, zipfile.ZipFile(binary) as packed:
            names = sorted(name for name in packed.namelist() if File(path, name).format and "__MACOSX" not in name)
    except (OSError, zipfile.BadZipFile):
        raise BadSource(f"{path} ends too early or is no zip file. Copy it again.") from None
    if not names:
        raise BadSource(f"{path} holds no file of a type that is known here: {KNOWN}.")
    return [File(path, name) for name in names]


def read_once(table: Any) -> Iterator[Row]:
    """All rows, without looking where each begins."""
    yield from table if isinstance(table, Rows) else table.read(0, 1 << 62)


def open_file(file: File) -> "Text | Parquet | Rows":
    head = head_of(file)
    if head.startswith(b"PAR1") or file.format == "parquet":
        return Parquet([file.path]) if is_here(file.path) and not file.packing else Rows(file, read_parquet)
    if file.format == "arrow" or head.startswith(b"ARROW1"):
        return Rows(file, read_arrow)
    encoding = find_encoding(file, head)
    if file.format in ("xml", "html"):
        return Rows(file, read_xml if file.format == "xml" else read_html, encoding)
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


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def head_of(file: File) -> bytes:
    """Its first bytes, unpacked; there must be some."""
    with stream(file) as binary:
        head = binary.read(BEGINNING)
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise BadSource(f"{file} is empty. Give a file with at least one product.")
    if head.startswith(b"version https://git-lfs"):
        raise BadSource(f"{file} is a Git LFS pointer, not the data. Run `git lfs pull` where it came from.")
    return head


def find_encoding(file: File, head: bytes) -> str:
    """UTF-8 wherever most of what is not ASCII is that; a stray byte makes its row unreadable, and not the file another's."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        if head[1::2].count(0) > len(head) // 3 or head[::2].count(0) > len(head) // 3:
            return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
        raise BadSource(f"{file} is binary, and not text. Give a {KNOWN}.")
    declared = re.match(rb"<\?xml[^>]*encoding=[\"']([\w-]+)", head)
    if declared:
        try:
            return codecs.lookup(declared[1].decode()).name
        except LookupError:
            return "utf-8"
    with stream(file) as binary:
        sample = binary.read(SAMPLE)
    text = sample.decode("utf-8", "surrogateescape")
    wrong = len(re.findall("[\udc80-\udcff]", text))
    right = 0 if text.isascii() else len(re.findall("[^\x00-\x7f\udc80-\udcff]", text))
    if wrong < 3 or wrong < 4 * right:
        return "utf-8"
    if wrong > len(sample) / 3 and not re.search(rb"[,;\t|{]", head.splitlines()[0]):
        raise BadSource(f"{file} is not text. Give a {KNOWN}.")
    return guess_encoding(sample) or refuse_encoding(file)


def guess_encoding(sample: bytes) -> str:
    from charset_normalizer import from_bytes  # a tenth of a second, and only where it is not UTF-8

    # Lines with other letters decide; those of ASCII alone say nothing and would outvote them.
    telling = b"\n".join(line for line in sample.splitlines() if not line.isascii())[: 1 << 16]
    best = from_bytes(telling, cp_isolation=ENCODINGS).best()
    return "" if best is None else str(best.encoding)


def refuse_encoding(file: File) -> str:
    raise BadSource(f"{file} is not text, or in no encoding that is known here. Save it as UTF-8.")


class stream:
    """A file's bytes, unpacked, and as UTF-8 whatever they are; what goes wrong on the way becomes a BadSource."""

    def __init__(self, file: File, encoding: str = "utf-8"):
        self.file, self.encoding = file, encoding
        self.opened: list[Any] = []

    def __enter__(self) -> IO[bytes]:
        try:
            binary = self.unpack(self.keep(self.file.path.open("rb")))
        except OSError as error:
            raise BadSource(f"{self.file} cannot be opened: {error.strerror}.") from None
        except (zipfile.BadZipFile, KeyError):
            raise BadSource(f"{self.file} ends too early or is no zip file. Copy it again.") from None
        if self.encoding in ("utf-8", "utf8", "ascii"):
            return cast(IO[bytes], binary)
        text = io.TextIOWrapper(binary, self.encoding, errors="replace", newline="")
        return cast(IO[bytes], self.keep(io.BufferedReader(Recoded(text))))

    def keep(self, binary: Any) -> Any:
        self.opened.append(binary)
        return binary

    def unpack(self, binary: Any) -> Any:
        match self.file.packing:
            case "gz":
                return self.keep(gzip.open(binary))
            case "bz2":
                return self.keep(bz2.open(binary))
            case "xz":
                return self.keep(lzma.open(binary))
            case "zst" | "zstd":
                return self.keep(io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(binary), "zstd"), 1 << 20))
            case "zip" if self.file.member:
                return self.keep(self.keep(zipfile.ZipFile(binary)).open(self.file.member))
        return binary

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for binary in reversed(self.opened):
            binary.close()
        broken = EOFError | zlib.error | gzip.BadGzipFile | lzma.LZMAError | zipfile.BadZipFile
        is_packed = bool(self.file.packing) and isinstance(error, OSError) and error.errno is None
        if isinstance(error, broken) or is_packed:
            kind_of = {"gz": "gzip", "zst": "zstd"}.get(self.file.packing, self.file.packing)
            raise BadSource(f"{self.file} ends too early or is no {kind_of} file. Copy it again.") from None


class Recoded(io.RawIOBase):
    """The UTF-8 bytes of a text."""

    def __init__(self, text: io.TextIOWrapper):
        self.text, self.rest = text, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.rest:
            self.rest = self.text.read(1 << 16).encode("utf-8", "replace")
        count = min(len(buffer), len(self.rest))
        buffer[:count], self.rest = self.rest[:count], self.rest[count:]
        return count


def find_cache_folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "shopwright"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:  # a home that cannot be written to
        return Path(tempfile.gettempdir())


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


def make_unreadable_row(reason: str, raw: str) -> Row:
    return {"unreadable": reason, "raw": raw[:SHOWN]}


class Text:
    """Rows in a text file, with a mark every thousand rows so that reading can begin in the middle."""

    first = 0
    """Where the first row begins."""

    def __init__(self, file: File, encoding: str = "utf-8"):
        self.file, self.encoding = file, encoding
        self.files = [file.path]
        self.columns: list[str] = []
        self.first = len(codecs.BOM_UTF8) if self.beginning().startswith(codecs.BOM_UTF8) else 0

    @property
    def is_plain(self) -> bool:
        """Whether reading can begin at any byte."""
        return self.encoding == "utf-8" and not self.file.packing and is_here(self.file.path)

    def beginning(self) -> bytes:
        with self.stream() as binary:
            return binary.read(BEGINNING)

    @property
    def end(self) -> int:
        """A byte behind the last."""
        return self.file.path.stat().st_size << 10

    def stream(self) -> stream:
        return stream(self.file, self.encoding)

    def go_to(self, binary: IO[bytes], offset: int) -> None:
        if self.is_plain:
            binary.seek(offset)
        while not self.is_plain and offset > 0 and (chunk := binary.read(min(offset, 1 << 20))):
            offset -= len(chunk)

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
                f"No row of {self.file} can be read as a JSON object. Write one object a line, or an array of them."
            )


class Csv(Text):
    """A row is an unreadable one if its fields are not as many as the header's; a quote that was opened and never
    closed costs its own line and not those after it."""

    def __init__(self, file: File, encoding: str = "utf-8"):
        super().__init__(file, encoding)
        head = self.beginning()[self.first :].decode("utf-8", "replace").lstrip("\r\n").splitlines()[0]
        self.delimiter = max(",\t;|", key=head.count)
        header: Any = next((span for _, span in self.spans(self.first) if span), [])
        if isinstance(header, dict):
            raise BadSource(f"The first line of {file} is no list of column names. Is it a CSV file, saved as UTF-8?")
        if len(header) < 2:
            raise BadSource(
                f"{file} has only one column, {header[0][:60]!r}; a product needs at least a title and something else. "
                "Put commas, tabs, semicolons or | between columns, and if needed say which is which: "
                "--columns title=NAME,price=NAME"
            )
        names = [name.strip() for name in header]
        if twice := next((name for name in names if name and names.count(name) > 1), None):
            raise BadSource(f"{file} has two columns named {twice!r}. Rename one.")
        self.columns = names
        self.first = next(islice(self.spans(self.first), 1, None), (self.end, None))[0]

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

        with self.stream() as binary:
            self.go_to(binary, offset)
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
    def __init__(self, file: File, encoding: str = "utf-8"):
        super().__init__(file, encoding)
        self.peek()

    def spans(self, offset: int) -> Iterator[tuple[int, bytes]]:
        with self.stream() as binary:
            self.go_to(binary, offset)
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

    def __init__(self, file: File, encoding: str = "utf-8"):
        super().__init__(file, encoding)
        self.first += find_list(self.beginning()[self.first :], file)
        self.peek()

    def spans(self, offset: int) -> Iterator[tuple[int, Row]]:
        decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        text, place, ended = "", 0, False
        with self.stream() as binary:
            self.go_to(binary, offset)

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


def find_list(head: bytes, file: File) -> int:
    """Where the first list of objects begins: the file's own, or one that a field of its only object holds."""
    found = re.match(rb"\s*\[", head) or re.search(rb":\s*\[(?=\s*\{)", head)
    if not found:
        raise BadSource(f"No row of {file} can be read as a JSON object. Write one object a line, or an array of them.")
    return found.end()


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


class Rows:
    """Rows that can only be read from the first on."""

    def __init__(self, file: File, read: Callable[[IO[bytes]], Iterable[Row]], encoding: str = "utf-8"):
        self.file, self.how, self.encoding = file, read, encoding

    def __iter__(self) -> Iterator[Row]:
        with stream(self.file, self.encoding) as binary:
            yield from self.how(binary)


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


# What holds one product in a feed, an export or a page of them.
ELEMENTS = ("item", "entry", "product", "offer", "row", "record")


def read_xml(binary: IO[bytes]) -> Iterator[Row]:
    """The elements of an RSS or Atom feed, or whatever else is called a product, without their namespaces."""
    depth, begun = 0, 0
    try:
        for event, element in ElementTree.iterparse(binary, ("start", "end")):
            name = element.tag.rpartition("}")[2].lower()
            depth += 1 if event == "start" else -1
            if event == "start" and name in ELEMENTS and not begun and depth > 1:
                begun = depth
            if event == "end" and begun and depth < begun:
                row = element_to_value(element)
                yield row if isinstance(row, dict) else {name: row}
                begun = 0
                element.clear()
    except ElementTree.ParseError as error:
        yield make_unreadable_row(f"no XML from here on: {error}", "")


def element_to_value(element: ElementTree.Element) -> Any:
    """A text, or a dictionary of what stands in it; what stands there several times is a list."""
    found: Row = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
    for child in element:
        name, value = child.tag.rpartition("}")[2], element_to_value(child)
        if name in found:
            found[name] = [*(found[name] if isinstance(found[name], list) else [found[name]]), value]
        else:
            found[name] = value
    text = (element.text or "").strip()
    return text if not found or (text and not len(element)) else found


class Page(HTMLParser):
    """What a page says of its product to machines: JSON-LD, and Open Graph."""

    def __init__(self) -> None:
        super().__init__()
        self.data: list[str] = []
        self.graph: Row = {}
        self.is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.is_inside = tag == "script" and "ld+json" in (said.get("type") or "")
        name = said.get("property") or said.get("name") or ""
        if tag == "meta" and name.startswith(("og:", "product:")):
            self.graph.setdefault(name, said.get("content") or "")

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.data.append(data)
            self.is_inside = False


def read_html(binary: IO[bytes]) -> Iterator[Row]:
    page = Page()
    text = binary.read().decode("utf-8", "replace")
    page.feed(text)
    found = [row for data in page.data for row in list_things(data)]
    yield from found or ([page.graph] if page.graph else [make_unreadable_row("page without a product", text)])


def list_things(data: str) -> list[Row]:
    """The products of a text of JSON-LD."""
    try:
        value = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return []
    things = value if isinstance(value, list) else value.get("@graph", [value]) if isinstance(value, dict) else []
    return [
        each for each in things if isinstance(each, dict) and "Product" in str(each.get("@type")) and not is_deep(each)
    ]
