"""One trajectory in DuckDB, in SQLite and as plain objects, so that each can be asked the same.

The events are read from the Parquet files by DuckDB's own reader (`pipeline.sandbox.data_loader`), not as the stage that drew
the questions read them.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.dataset import Dataset, as_it_stands
from pipeline.files import duck, parquet
from pipeline.problem import Problem
from pipeline.questions.answers import Found, answer
from pipeline.questions.log import Log
from pipeline.questions.tree import from_json
from pipeline.questions.values import from_rows
from pipeline.sandbox.data_loader import declared, fill, why_not_trajectories
from pipeline.sandbox.sql import MOST_ROWS, connect, parsed
from schemas.samples import Trajectory

TOGETHER = 64
"""Trajectories read at once."""
STEPS = 50_000_000
"""Of SQLite's machine, after which a query is given up."""


class Failed(ValueError):
    """An engine could not run the query."""


class Shelf:
    """The trajectories of a run by their ids, some of them at hand."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        self.places: dict[str, tuple[Path, int]] = {}
        for file in trajectories.files:
            why_not_trajectories(file)
            ids = parquet(file).read(["id"])["id"].to_pylist()
            self.places |= {id: (file, row) for row, id in enumerate(ids)}
        self.chunk: tuple[Path, int, list[pa.Table]] | None = None

    def __contains__(self, id: str) -> bool:
        return id in self.places

    def events(self, id: str) -> pa.Table:
        """The events of a trajectory. Raises Problem where it is not there."""
        if id not in self.places:
            raise Problem(f"There is no trajectory {id} here.")
        file, row = self.places[id]
        first = row - row % TOGETHER
        if self.chunk is None or self.chunk[:2] != (file, first):
            self.chunk = file, first, read(file, first)
        return self.chunk[2][row - first]

    def text(self, id: str) -> str:
        """A trajectory's text. Raises Problem where it is not there."""
        if id not in self.places:
            raise Problem(f"There is no trajectory {id} here.")
        file, row = self.places[id]
        with duck([file]) as reader:
            query = "SELECT text FROM read_parquet($file, file_row_number = true) WHERE file_row_number = $row"
            found = reader.execute(query, {"file": as_it_stands(file), "row": row}).fetchone()
        assert found
        text: str = found[0]
        return text


class Engines(Shelf):
    """The trajectories of a run, one at a time in each engine."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        super().__init__(trajectories)
        self.duckdbs = (connect(as_written=True), connect())
        self.sqlite = sqlite()
        self.table: tuple[str, Table] | None = None

    def of(self, id: str) -> "Table":
        if self.table is None or self.table[0] != id:
            self.table = id, Table(self.events(id), self.duckdbs, self.sqlite)
        return self.table[1]


def read(file: Path, first: int) -> list[pa.Table]:
    """The events of some trajectories of a file, one table for each."""
    with duck([file]) as reader:
        reader.execute("SET threads = 1")
        lengths = reader.execute(
            "SELECT LEN(events) FROM read_parquet($file, file_row_number = true) "
            "WHERE file_row_number BETWEEN $first AND $last ORDER BY file_row_number",
            {"file": as_it_stands(file), "first": first, "last": first + TOGETHER - 1},
        ).fetchall()
        found = reader.sql(
            "SELECT * EXCLUDE (trajectory) FROM (SELECT file_row_number AS trajectory, UNNEST(events, recursive := true) "
            "FROM read_parquet($file, file_row_number = true) WHERE file_row_number BETWEEN $first AND $last) "
            "ORDER BY trajectory, row_id",
            params={"file": as_it_stands(file), "first": first, "last": first + TOGETHER - 1},
        ).to_arrow_table()
    tables = []
    begin = 0
    for (length,) in lengths:
        tables.append(found.slice(begin, length))
        begin += length
    return tables


class Table:
    """The events of one trajectory, loaded into each engine when it is first asked."""

    def __init__(self, events: pa.Table, duckdbs: tuple[Any, Any], sqlite: sqlite3.Connection) -> None:
        self.events, self.duckdbs, self.connection = events, duckdbs, sqlite
        self.guard: Callable[[str], str | None] | None = None
        """Why a query that others wrote must not run here, if anything; asked once for each."""
        self.allowed: set[str] = set()
        self.removed: set[int] = set()
        self.found: dict[str, Found] = {}

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.events.to_pylist()
        return found

    @cached_property
    def log(self) -> Log:
        return Log.of(self.events)

    def told(self, tree: str) -> Found:
        """What plain Python finds for a tree. Raises ValueError."""
        if tree not in self.found:
            self.found[tree] = answer(from_json(tree), self.log)
        return self.found[tree]

    @cached_property
    def in_order(self) -> Any:
        fill(self.duckdbs[0], self.events)
        return self.duckdbs[0]

    @cached_property
    def shuffled(self) -> Any:
        backwards = pa.array(range(len(self.events) - 1, -1, -1), pa.int64())
        fill(self.duckdbs[1], self.events.take(backwards))  # turns every tie of two around
        return self.duckdbs[1]

    def duckdb(self, sql: str, answer_type: str, *, shuffled: bool = False) -> Any:
        """The answer that DuckDB gives. Raises Failed, Unfit."""
        import duckdb

        self.let_in(sql)
        connection = self.shuffled if shuffled else self.in_order
        try:
            rows = connection.execute(sql).fetchmany(MOST_ROWS + 1)
        except duckdb.Error as error:
            raise Failed(f"DuckDB cannot run it: {str(error).partition(chr(10))[0]}") from None
        return from_rows(rows, answer_type)

    def let_in(self, sql: str) -> None:
        if self.guard is not None and sql not in self.allowed:
            if why := self.guard(sql):
                raise Failed(why)
            self.allowed.add(sql)

    @cached_property
    def in_sqlite(self) -> sqlite3.Connection:
        self.connection.execute("BEGIN")  # one for all: each row would be a transaction of its own
        self.connection.execute("DELETE FROM base")
        self.connection.execute("DELETE FROM removed")
        places = ", ".join("?" * len(self.events.column_names))
        columns = [plain(self.events[name]).to_pylist() for name in self.events.column_names]
        self.connection.executemany(f"INSERT INTO base VALUES ({places})", zip(*columns, strict=True))
        self.connection.execute("COMMIT")
        return self.connection

    def sqlite_without(self, sql: str, answer_type: str, without: Iterable[int] = ()) -> Any:
        """The answer that SQLite gives when these rows are not there. Raises Failed, Unfit."""
        self.let_in(sql)
        connection, gone = self.in_sqlite, set(without)
        if gone != self.removed:
            connection.execute("DELETE FROM removed")
            connection.execute("INSERT INTO removed SELECT value FROM JSON_EACH(?)", (json.dumps(sorted(gone)),))
            self.removed = gone
        connection.set_progress_handler(patience(), STEPS)
        try:
            rows = connection.execute(in_sqlite(sql)).fetchmany(MOST_ROWS + 1)
        except sqlite3.Error as error:
            raise Failed(f"SQLite cannot run it: {error}") from None
        return from_rows(rows, answer_type)


def sqlite() -> sqlite3.Connection:
    """An empty `events` in SQLite: a view on `base` without the rows in `removed`."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(
        f"CREATE TABLE base ({declared().replace('DECIMAL(12,2)', 'REAL').replace('TIMESTAMP', 'TEXT')})"
    )
    connection.execute("CREATE TABLE removed (row_id INTEGER PRIMARY KEY)")
    connection.execute("CREATE VIEW events AS SELECT * FROM base WHERE row_id NOT IN (SELECT row_id FROM removed)")
    return connection


def patience() -> Callable[[], int]:
    """Gives a query up after a second call: it has taken all its steps by then."""
    asked = count()
    return lambda: next(asked)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """As SQLite holds it: decimals as numbers, times as text."""
    if pa.types.is_decimal(column.type):
        return pc.cast(column, pa.float64())
    if pa.types.is_timestamp(column.type):
        return pc.cast(pc.cast(column, pa.timestamp("s")), pa.string())
    return column


@lru_cache(maxsize=1_024)
def in_sqlite(sql: str) -> str:
    """The same query for SQLite. What it lacks (HOUR, DAYNAME, DATE_DIFF in seconds) is said with what it has.

    >>> in_sqlite("SELECT HOUR(timestamp) FROM events WHERE brand ILIKE '%a%'")
    "SELECT CAST(STRFTIME('%H', timestamp) AS INTEGER) FROM events WHERE LOWER(brand) LIKE LOWER('%a%')"
    """
    found = parsed(sql).copy()
    for node in reversed(list(found.walk())):  # those inside first
        other = rewritten(node)
        if other is not node:
            node.replace(other)
    text: str = found.sql(dialect="sqlite", copy=False)
    return text


def rewritten(node: Any) -> Any:
    from sqlglot import exp

    if isinstance(node, exp.DateDiff) and node.text("unit").upper() == "SECOND":
        return exp.Paren(this=exp.Sub(this=number_of("%s", node.this), expression=number_of("%s", node.expression)))
    if isinstance(node, exp.Hour):
        return number_of("%H", node.this)
    if isinstance(node, exp.Dayname):
        place = exp.Add(
            this=exp.Mul(this=number_of("%w", node.this), expression=exp.Literal.number(9)), expression=one()
        )
        names = "Sunday   Monday   Tuesday  WednesdayThursday Friday   Saturday "
        cut = exp.Anonymous(this="SUBSTR", expressions=[exp.Literal.string(names), place, exp.Literal.number(9)])
        return exp.Anonymous(this="TRIM", expressions=[cut])
    return node


def one() -> Any:
    from sqlglot import exp

    return exp.Literal.number(1)


def number_of(format: str, when: Any) -> Any:
    from sqlglot import exp

    text = exp.Anonymous(this="STRFTIME", expressions=[exp.Literal.string(format), when])
    return exp.cast(text, exp.DataType.Type.INT)
