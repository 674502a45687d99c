"""A reader that has only the text of a trajectory: it reads the lines by rules of its own, and answers from what stands in them.

It shares nothing with `shopwright.pipeline.render.trajectory`, which wrote the text, nor with `shopwright.pipeline.questions.sources`, which says what the
text can answer.
"""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shopwright.pipeline.dataset import Dataset, escape_glob
from shopwright.pipeline.files import connect_duckdb, parquet
from shopwright.pipeline.questions.engines import PLANS, STEPS, QueryFailed, make_step_limit, transpile_to_sqlite
from shopwright.pipeline.questions.values import value_from_rows
from shopwright.pipeline.sandbox.sql import MOST_ROWS
from shopwright.pipeline.sandbox.sql_templates import bind_values
from shopwright.schemas.samples import Trajectory

# Texts read at once.
TOGETHER = 64
# All that a line tells; its number is that of the row.
COLUMNS = "row_id, timestamp, action_type, asin, product_name, brand, color, price, search_query"
# As ShopTrajQA writes a search; the 19 characters are the time.
SEARCH_LINE = re.compile(r"(.{19}) (search) \[Search Amazon \|\| (.*)\]")
# As ShopTrajQA writes the three actions on a product.
PRODUCT_LINE = re.compile(
    r"(.{19}) (click|add to Cart|purchase) \[(\S+) \|\| (.*)\] \(brand: (.*), color: (.*), price: (\d+\.\d\d)\)"
)
ESCAPE = re.compile(r"\\(.)")
# What a letter after a backslash means; any other sign means itself.
ESCAPED_CHARACTERS = {"n": "\n", "r": "\r"}
Line = tuple[Any, ...]


class Unreadable(ValueError):
    """A line that tells no action."""


def parse_text_lines(text: str) -> Iterator[Line]:
    """What each line tells, as `COLUMNS`. Raises Unreadable.

    >>> list(parse_text_lines("2024-05-01 19:30:25 search [Search Amazon || desk lamp]"))
    [(0, '2024-05-01 19:30:25', 'search', None, None, None, None, None, 'desk lamp')]
    """
    for number, line in enumerate(text.split("\n") if text else ()):
        if found := PRODUCT_LINE.fullmatch(line):
            when, action, asin, title, brand, color, price = found.groups()
            named = (unescape_text_field(title), unescape_text_field(brand) or None, unescape_text_field(color) or None)
            yield (number, when, action, asin, *named, float(price), None)
        elif found := SEARCH_LINE.fullmatch(line):
            yield (number, found[1], found[2], None, None, None, None, None, unescape_text_field(found[3]))
        else:
            raise Unreadable(f"line {number} tells no action")


def unescape_text_field(field: str) -> str:
    """A field without the backslashes that keep it apart from others."""
    return ESCAPE.sub(lambda found: ESCAPED_CHARACTERS.get(found[1], found[1]), field) if "\\" in field else field


class TextReader:
    """Answers from the texts of a run's trajectories, one at a time; for `trajectories.once`."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        self.places: dict[str, tuple[Path, int]] = {}
        for file in trajectories.files:
            ids = parquet(file).read(["id"])["id"].to_pylist()
            self.places |= {id: (file, row) for row, id in enumerate(ids)}
        self.chunk: tuple[Path, int, list[str]] | None = None
        self.at: str | None = None
        self.connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=PLANS)
        self.connection.execute(f"CREATE TABLE events ({COLUMNS.replace('price', 'price REAL')})")

    def answer(self, id: str, sql: str, answer_type: str) -> Any:
        """What a query gives over the lines. Raises Unreadable, Failed (where it asks for what they do not tell), Unfit."""
        if self.at != id:
            self.read(id)
        self.connection.set_progress_handler(make_step_limit(), STEPS)
        try:
            rows = self.connection.execute(*bind_values(transpile_to_sqlite(sql))).fetchmany(MOST_ROWS + 1)
        except sqlite3.Error as error:
            raise QueryFailed(f"the lines do not tell it: {error}") from None
        return value_from_rows(rows, answer_type)

    def read(self, id: str) -> None:
        lines = list(parse_text_lines(self.text(id)))
        self.at = None
        self.connection.execute("BEGIN")  # one for all: each row would be a transaction of its own
        self.connection.execute("DELETE FROM events")
        self.connection.executemany(f"INSERT INTO events VALUES ({', '.join('?' * 9)})", lines)
        self.connection.execute("COMMIT")
        self.at = id

    def text(self, id: str) -> str:
        file, row = self.places[id]
        first = row - row % TOGETHER
        if self.chunk is None or self.chunk[:2] != (file, first):
            self.chunk = file, first, read_trajectory_texts(file, first)
        return self.chunk[2][row - first]


def read_trajectory_texts(file: Path, first: int) -> list[str]:
    """The texts of some trajectories of a file."""
    # much like `questions.engines`, and apart from it on purpose: each proves what the other read
    with connect_duckdb([file]) as reader:
        reader.execute("SET threads = 1")
        found = reader.execute(
            "SELECT text FROM read_parquet($file, file_row_number = true) "
            "WHERE file_row_number BETWEEN $first AND $last ORDER BY file_row_number",
            {"file": escape_glob(file), "first": first, "last": first + TOGETHER - 1},
        ).fetchall()
    return [text for (text,) in found]
