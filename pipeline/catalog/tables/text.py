"""CSV, JSON Lines and JSON, read from any place: a mark every thousand rows says where to begin."""

import codecs
import csv
import json
import re
from collections import Counter, deque
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, islice
from typing import IO, Any, NamedTuple

from shopwright.pipeline.catalog.repair.text import is_deep
from shopwright.pipeline.catalog.sources import BadSource
from shopwright.pipeline.catalog.tables.files import BEGINNING, File, stream
from shopwright.pipeline.catalog.tables.table import SHOWN, STEP, Row, make_unreadable_row
from shopwright.pipeline.files import is_here

LONGEST = 16 << 20  # bytes of one row
TOO_LONG = f"more than {LONGEST >> 20} MB in one row"
LINES = 1000  # of one CSV row: beyond that a quote was opened and never closed
AGAIN, AGAIN_BYTES = (
    2_000_000,
    256 << 20,
)  # lines and bytes that quotes which are not closed may have read again, beside twice what was read
BROKEN = 100_000  # rows one after the other that cannot be read: the file is at fault, not its rows

csv.field_size_limit(LONGEST)


class TooLong(ValueError):
    """A row of more than LONGEST bytes."""


class Line(NamedTuple):
    text: bytes
    """All of it; of one that is too long the beginning."""
    size: int
    """Bytes in the file."""

    @property
    def is_too_long(self) -> bool:
        return self.size > LONGEST


def read_line(binary: IO[bytes]) -> Line:
    """Empty at the end. What is behind LONGEST bytes of a line is not kept."""
    text = binary.readline(LONGEST)
    size = len(text)
    if size == LONGEST and not text.endswith(b"\n"):
        while piece := binary.readline(BEGINNING):
            size += len(piece)
            if piece.endswith(b"\n"):
                break
    return Line(text[:SHOWN] if size > LONGEST else text, size)


def split_plain(line: Line, delimiter: str) -> list[str] | None:
    """The cells of a line as `csv` gives them, many times faster; None where `csv` has to look.

    >>> split_plain(Line(b"p1,A lamp,9\\r\\n", 13), ","), split_plain(Line(b'p1,"A lamp, oak",9', 18), ",")
    (['p1', 'A lamp', '9'], None)
    """
    bare = line.text.rstrip(b"\r\n")
    if b'"' in bare or b"\r" in bare or line.is_too_long:
        return None
    try:
        return bare.decode().split(delimiter) if bare else []
    except UnicodeDecodeError:
        return None


def is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


class BrokenRun:
    """How many rows, one after the other, could not be read: where they are too many, the file is at fault."""

    def __init__(self, file: File):
        self.file, self.count, self.began, self.reason = file, 0, 0, ""

    def add(self, offset: int, row: Any, many: int = 1) -> None:
        """Raises BadSource."""
        if not isinstance(row, dict) or row.keys() != {"unreadable", "raw"}:
            self.count = 0
            return
        if not self.count:
            self.began, self.reason = offset, row["unreadable"]
        self.count += many
        if self.count > BROKEN:
            raise BadSource(
                f"{self.file}: {BROKEN:,} rows one after the other cannot be read, from byte {self.began:,} on, where the reason is: {self.reason}. "
                "Mend it there, or cut it off."
            )


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
        if self.is_plain and binary.seekable():  # a file may have become a pipe since
            binary.seek(offset)
            return
        while offset > 0 and (chunk := binary.read(min(offset, 1 << 20))):
            offset -= len(chunk)

    def spans(self, offset: int) -> Iterator[tuple[int, Any]]:
        """From that byte on, each row's place and what stands there."""
        raise NotImplementedError

    def row(self, span: Any) -> Row:
        raise NotImplementedError

    @cached_property
    def marks(self) -> tuple[int, list[int]]:
        """The number of rows, and where rows 0, 1000, 2000 ... begin: one pass over the file."""
        count, marks, run = 0, [], BrokenRun(self.file)
        for offset, span in self.spans(self.first):
            if count % STEP == 0:
                marks.append(offset)
                run.add(
                    offset, self.row(span), STEP if isinstance(span, Line) else 1
                )  # a line of JSON is not read in this pass, but here
            elif not isinstance(span, Line):
                run.add(offset, span)
            count += 1
        return count, marks

    def __len__(self) -> int:
        return self.marks[0]

    def read(self, start: int, stop: int) -> Iterator[Row]:
        skip = start % STEP
        if start >= STEP and start >= len(self):
            return
        offset = self.marks[1][start // STEP] if start >= STEP else self.first
        run = BrokenRun(self.file)
        for place, span in islice(self.spans(offset), skip, max(skip, skip + stop - start)):
            row = self.row(span)
            run.add(place, row)
            yield row

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
        counts = Counter(filter(None, names))
        if twice := next((name for name in counts if counts[name] > 1), None):
            raise BadSource(f"{file} has two columns named {twice!r}. Rename one.")
        self.columns = names
        self.first = next(islice(self.spans(self.first), 1, None), (self.end, None))[0]

    def spans(self, offset: int) -> Iterator[tuple[int, Any]]:
        again: deque[Line] = deque()  # lines that a stray quote had swallowed
        used: list[Line] = []
        foreign, taken = False, 0
        begun, passed, lines_again, bytes_again = offset, 0, 0, 0

        def lines() -> Iterator[str]:
            nonlocal foreign, taken
            while len(used) < LINES and taken <= LONGEST:
                line = again.popleft() if again else read_line(binary)
                if not line.text:
                    return
                used.append(line)
                taken += line.size
                if line.is_too_long:
                    raise TooLong
                try:
                    yield line.text.decode()
                except UnicodeDecodeError:
                    foreign = True
                    yield line.text.decode("utf-8", "replace")

        with self.stream() as binary:
            self.go_to(binary, offset)
            while True:
                line = again.popleft() if again else read_line(binary)
                cells, reason = split_plain(line, self.delimiter), ""
                used[:], foreign, taken = [line], False, line.size
                if cells is None:
                    again.appendleft(line)
                    used.clear()
                    taken = 0
                    source = lines()
                    try:
                        cells = next(csv.reader(source, delimiter=self.delimiter), None)
                    except TooLong:
                        cells, reason = ["?"], TOO_LONG if used[0].is_too_long else "a quote is not closed"
                    except csv.Error:
                        cells, reason = ["?"], "no CSV"
                    if not reason and source.gi_frame is None:  # type: ignore[attr-defined]  # it went on to the end and found no quote
                        reason = "a quote is not closed"
                if not line.text or cells is None:
                    return
                if not reason and cells and self.columns and len(cells) != len(self.columns):
                    reason = "wrong number of fields"
                if reason:
                    again.extendleft(reversed(used[1:]))
                    lines_again += len(used) - 1
                    bytes_again += taken
                    del used[1:]
                    if lines_again > AGAIN + 2 * passed or bytes_again > AGAIN_BYTES + 2 * (offset - begun):
                        raise BadSource(
                            f"{self.file} has too many quotes that are not closed, the last at byte {offset:,}. Close or remove them."
                        )
                elif foreign:
                    reason = "not UTF-8"
                if cells:
                    raw = b"".join(line.text for line in used)
                    yield (
                        offset,
                        make_unreadable_row(reason, raw.decode("utf-8", "replace").rstrip("\r\n")) if reason else cells,
                    )
                passed += len(used)
                offset += sum(line.size for line in used)

    def row(self, span: Any) -> Row:
        return span if isinstance(span, dict) else dict(zip(self.columns, span, strict=True))


class JsonLines(Text):
    def __init__(self, file: File, encoding: str = "utf-8"):
        super().__init__(file, encoding)
        self.peek()

    def spans(self, offset: int) -> Iterator[tuple[int, Line]]:
        with self.stream() as binary:
            self.go_to(binary, offset)
            while (line := read_line(binary)).text:
                if not line.text.isspace():
                    yield offset, line
                offset += line.size

    def row(self, span: Line) -> Row:
        if span.is_too_long:
            return make_unreadable_row(TOO_LONG, span.text.decode("utf-8", "replace"))
        try:
            row = json.loads(span.text.decode())
        except (ValueError, RecursionError) as error:
            reason = "not UTF-8" if isinstance(error, UnicodeDecodeError) else "no JSON"
            return make_unreadable_row(reason, span.text.decode("utf-8", "replace").strip())
        why = "" if isinstance(row, dict) else "no JSON object"
        return make_unreadable_row(why or "nested too deep", span.text.decode().strip()) if why or is_deep(row) else row


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
                chunk = binary.read(
                    max(1 << 16, len(text) - place)
                )  # small: an error of json counts the lines before it
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
