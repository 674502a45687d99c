"""A file of products, or one within a zip file: where it lies, how its name says it is read, its bytes unpacked, its encoding."""

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections import Counter
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast

import pyarrow as pa

from shopwright.pipeline.catalog.sources import BadSource, describe_missing_source, exists, is_hidden
from shopwright.pipeline.files import is_here, path_of
from shopwright.pipeline.hub_files import HUB_ID, download_from_hub

BEGINNING = 1 << 16  # bytes by which a file's type is known
SAMPLE = 4 << 20  # bytes by which its encoding is known
GROWTH, SMALL = 100, 64 << 20  # a packed file may grow so many times, or to so many bytes
UNTYPED = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f]")  # control characters that no shop exports, other than NUL
MOST_NULS = 0.05  # of the bytes of a text, in which a program left some
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
    if is_here(path) and path.exists() and not (path.is_file() or path.is_dir()):
        raise BadSource(
            f"{path} is neither a file nor a folder, and a pipe can be read only once. Write it to a file first."
        )
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


def head_of(file: File) -> bytes:
    """Its first bytes, unpacked; there must be some."""
    with stream(file) as binary:
        head = binary.read(BEGINNING)
    if not head.removeprefix(codecs.BOM_UTF8).strip():
        raise BadSource(f"{file} is empty. Give a file with at least one product.")
    if head.startswith(b"version https://git-lfs"):
        raise BadSource(f"{file} is a Git LFS pointer, not the data. Run `git lfs pull` where it came from.")
    return head


def refuse_bomb(file: File) -> None:
    """Unpacks a packed file once, without reading its rows. Raises BadSource where it grows as no catalog does."""
    if not file.packing:
        return
    most = max(SMALL, GROWTH * measure_packed(file))
    with stream(file) as binary:
        size = 0
        while piece := binary.read(1 << 20):
            size += len(piece)
            if size > most:
                raise BadSource(
                    f"{file} unpacks to more than {GROWTH} times its size, as no catalog does. If it is one, unpack it first."
                )


def measure_packed(file: File) -> int:
    """Bytes, packed."""
    if not file.member:
        return file.path.stat().st_size
    with file.path.open("rb") as binary, zipfile.ZipFile(binary) as packed:
        return packed.getinfo(file.member).compress_size


def find_encoding(file: File, head: bytes) -> str:
    """UTF-8 wherever most of what is not ASCII is that; a stray byte makes its row unreadable, and not the file another's.

    A few NULs make no text binary.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        if head[1::2].count(0) > len(head) // 3 or head[::2].count(0) > len(head) // 3:
            return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"
        if UNTYPED.search(head) or head.count(0) > MOST_NULS * len(head):
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
            binary = self.keep(self.file.path.open("rb"))
            if not is_here(self.file.path):  # where a line is not read by its greatest length
                binary = self.keep(io.BufferedReader(binary, 1 << 20))
            binary = self.unpack(binary)
        except OSError as error:
            raise BadSource(f"{self.file} cannot be opened: {error.strerror or error}.") from None
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
