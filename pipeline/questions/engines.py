"""One trajectory in DuckDB, in SQLite and as plain objects, so that each can be asked the same.

The events are read from the Parquet files by DuckDB's own reader (`shopwright.pipeline.sandbox.data_loader`), not as the stage that drew
the questions read them.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.dataset import Dataset, escape_glob
from shopwright.pipeline.files import connect_duckdb, parquet
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.questions.answers import Found, answer_tree
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.tree import tree_from_json
from shopwright.pipeline.questions.values import value_from_rows
from shopwright.pipeline.reading.words import LogProduct, Names
from shopwright.pipeline.sandbox.data_loader import check_trajectories_file, declare_event_columns, fill_events_table
from shopwright.pipeline.sandbox.sql import MOST_ROWS, connect_confined, parse_select
from shopwright.pipeline.sandbox.sql_templates import bind_values, once_per_template
from shopwright.schemas.samples import Trajectory

# Trajectories read at once.
TOGETHER = 64
# Bytes of a text in SQLite: what a query puts together stays bounded.
LONGEST = 64 * 2**20
# Of SQLite's machine, after which a query is given up.
STEPS = 50_000_000
# Plans of queries that a connection of SQLite keeps.
PLANS = 512
# The name of those events in SQLite that were chosen.
FEW = "few"


class QueryFailed(ValueError):
    """An engine could not run the query."""


class TrajectoryReader:
    """The trajectories of a run by their ids, some of them at hand."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        self.places: dict[str, tuple[Path, int]] = {}
        for file in trajectories.files:
            check_trajectories_file(file)
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
            self.chunk = file, first, read_event_tables(file, first)
        return self.chunk[2][row - first]

    def text(self, id: str) -> str:
        """A trajectory's text. Raises Problem where it is not there."""
        if id not in self.places:
            raise Problem(f"There is no trajectory {id} here.")
        file, row = self.places[id]
        with connect_duckdb([file]) as reader:
            query = "SELECT text FROM read_parquet($file, file_row_number = true) WHERE file_row_number = $row"
            found = reader.execute(query, {"file": escape_glob(file), "row": row}).fetchone()
        assert found
        text: str = found[0]
        return text


class Engines(TrajectoryReader):
    """The trajectories of a run, one at a time in each engine."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        super().__init__(trajectories)
        self.duckdbs = (connect_confined(as_written=True), connect_confined())
        self.sqlite = open_question_sqlite()
        self.table: tuple[str, Table] | None = None

    def of(self, id: str) -> "Table":
        if self.table is None or self.table[0] != id:
            self.table = id, Table(self.events(id), self.duckdbs, self.sqlite)
        return self.table[1]


def read_event_tables(file: Path, first: int) -> list[pa.Table]:
    """The events of some trajectories of a file, one table for each."""
    with connect_duckdb([file]) as reader:
        reader.execute("SET threads = 1")
        lengths = reader.execute(
            "SELECT LEN(events) FROM read_parquet($file, file_row_number = true) "
            "WHERE file_row_number BETWEEN $first AND $last ORDER BY file_row_number",
            {"file": escape_glob(file), "first": first, "last": first + TOGETHER - 1},
        ).fetchall()
        found = reader.sql(
            "SELECT * EXCLUDE (trajectory) FROM (SELECT file_row_number AS trajectory, UNNEST(events, recursive := true) "
            "FROM read_parquet($file, file_row_number = true) WHERE file_row_number BETWEEN $first AND $last) "
            "ORDER BY trajectory, row_id",
            params={"file": escape_glob(file), "first": first, "last": first + TOGETHER - 1},
        ).to_arrow_table()
    tables = []
    begin = 0
    for (length,) in lengths:
        tables.append(found.slice(begin, length))
        begin += length
    return tables


def collect_names(log: Log) -> Names:
    """What the text of a trajectory can name."""
    events = (each for each in log.events if each.asin is not None)
    return Names(
        dict.fromkeys(
            LogProduct(str(each.asin), each.brand, each.color, each.lower, each.product_types) for each in events
        )
    )


class Table:
    """The events of one trajectory, loaded into each engine when it is first asked."""

    def __init__(self, events: pa.Table, duckdbs: tuple[Any, Any], sqlite: sqlite3.Connection) -> None:
        self.events, self.duckdbs, self.connection = events, duckdbs, sqlite
        # Why a query that others wrote must not run here, if anything; asked once for each.
        self.guard: Callable[[str], str | None] | None = None
        self.allowed: set[str] = set()
        # The rows in SQLite's tables `removed` and `chosen`.
        self.listed: dict[str, set[int]] = {"removed": set(), "chosen": set()}
        self.found: dict[str, Found] = {}
        # What SQLite gave for a query over all the events: several checks ask it.
        self.whole: dict[str, list[tuple[Any, ...]]] = {}

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.events.to_pylist()
        return found

    @cached_property
    def row_ids(self) -> list[int]:
        found: list[int] = self.events["row_id"].to_pylist()
        return found

    @cached_property
    def log(self) -> Log:
        return Log.of(self.events)

    @cached_property
    def names(self) -> Names:
        return collect_names(self.log)

    def answer(self, tree: str) -> Found:
        """What plain Python finds for a tree. Raises ValueError."""
        if tree not in self.found:
            self.found[tree] = answer_tree(tree_from_json(tree), self.log)
        return self.found[tree]

    @cached_property
    def in_order(self) -> Any:
        fill_events_table(self.duckdbs[0], self.events)
        return self.duckdbs[0]

    @cached_property
    def reversed_duckdb(self) -> Any:
        backwards = pa.array(range(len(self.events) - 1, -1, -1), pa.int64())
        fill_events_table(self.duckdbs[1], self.events.take(backwards))  # turns every tie of two around
        return self.duckdbs[1]

    def duckdb(self, sql: str, answer_type: str, *, shuffled: bool = False) -> Any:
        """The answer that DuckDB gives. Raises QueryFailed, Unfit."""
        import duckdb

        self.let_in(sql)
        connection = self.reversed_duckdb if shuffled else self.in_order
        try:
            rows = connection.execute(sql).fetchmany(MOST_ROWS + 1)
        except duckdb.Error as error:
            raise QueryFailed(f"DuckDB cannot run it: {str(error).partition(chr(10))[0]}") from None
        finally:
            connection.abort()  # rows that are left would keep the next trajectory out
        return value_from_rows(rows, answer_type)

    def let_in(self, sql: str) -> None:
        if self.guard is not None and sql not in self.allowed:
            if why := self.guard(sql):
                raise QueryFailed(why)
            self.allowed.add(sql)

    @cached_property
    def in_sqlite(self) -> sqlite3.Connection:
        self.connection.execute("BEGIN")  # one for all: each row would be a transaction of its own
        self.connection.execute("DELETE FROM base")
        for name in self.listed:
            self.connection.execute(f"DELETE FROM {name}")
        places = ", ".join("?" * len(self.events.column_names))
        columns = [convert_for_sqlite(self.events[name]).to_pylist() for name in self.events.column_names]
        self.connection.executemany(f"INSERT INTO base VALUES ({places})", zip(*columns, strict=True))
        self.connection.execute("COMMIT")
        return self.connection

    def sqlite_without(self, sql: str, answer_type: str, without: Collection[int] = ()) -> Any:
        """The answer that SQLite gives when these rows are not there. Raises QueryFailed, Unfit."""
        self.let_in(sql)
        if without:
            return value_from_rows(self.rows_of_sqlite(transpile_to_sqlite(sql), removed=without), answer_type)
        if sql not in self.whole:
            self.whole[sql] = self.rows_of_sqlite(transpile_to_sqlite(sql))
        return value_from_rows(self.whole[sql], answer_type)

    def sqlite_among(self, sql: str, answer_type: str, rows: Iterable[int]) -> Any:
        """The answer that SQLite gives when there are no rows but these. Raises QueryFailed, Unfit."""
        self.let_in(sql)
        return value_from_rows(self.rows_of_sqlite(transpile_to_sqlite(sql, FEW), chosen=rows), answer_type)

    def rows_of_sqlite(
        self, query: str, *, removed: Iterable[int] = (), chosen: Iterable[int] = ()
    ) -> list[tuple[Any, ...]]:
        """What a query of SQLite's own gives when of `events` some rows are removed, of `few` some chosen. Raises QueryFailed."""
        connection = self.in_sqlite
        for name, rows in (("removed", {*removed}), ("chosen", {*chosen})):
            if rows != self.listed[name]:
                connection.execute(f"DELETE FROM {name}")
                connection.execute(f"INSERT INTO {name} SELECT value FROM JSON_EACH(?)", (json.dumps(sorted(rows)),))
                self.listed[name] = rows
        connection.set_progress_handler(make_step_limit(), STEPS)
        try:
            return connection.execute(*bind_values(query)).fetchmany(MOST_ROWS + 1)
        except sqlite3.Error as error:
            raise QueryFailed(f"SQLite cannot run it: {error}") from None


def open_question_sqlite() -> sqlite3.Connection:
    """An empty `events` in SQLite: a view on `base` without the rows in `removed`; and `few`, with those in `chosen` alone."""
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=PLANS)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    connection.execute(
        f"CREATE TABLE base ({declare_event_columns().replace('DECIMAL(12,2)', 'REAL').replace('TIMESTAMP', 'TEXT')})"
    )
    connection.execute("CREATE INDEX base_rows ON base (row_id)")
    for view, rows in (("events", "NOT IN (SELECT row_id FROM removed)"), (FEW, "IN (SELECT row_id FROM chosen)")):
        connection.execute(f"CREATE TABLE {rows.split()[-1].strip(')')} (row_id INTEGER PRIMARY KEY)")
        connection.execute(f"CREATE VIEW {view} AS SELECT * FROM base WHERE row_id {rows}")
    return connection


def make_step_limit() -> Callable[[], int]:
    """Gives a query up after a second call: it has taken all its steps by then."""
    asked = count()
    return lambda: next(asked)


def convert_for_sqlite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """As SQLite holds it: decimals as numbers, times as text."""
    if pa.types.is_decimal(column.type):
        return pc.cast(column, pa.float64())
    if pa.types.is_timestamp(column.type):
        return pc.cast(pc.cast(column, pa.timestamp("s")), pa.string())
    return column


@once_per_template
def transpile_to_sqlite(sql: str, source: str = "events") -> str:
    """The same query for SQLite, over `events` or what stands in for it there. What it lacks (HOUR, DAYNAME, DATE_DIFF in seconds) is said with what it has.

    >>> transpile_to_sqlite("SELECT HOUR(timestamp) FROM events WHERE brand ILIKE '%a%'")
    "SELECT CAST(STRFTIME('%H', timestamp) AS INTEGER) FROM events WHERE LOWER(brand) LIKE LOWER('%a%')"
    """
    from sqlglot import exp

    found = parse_select(sql).copy()
    for each in found.find_all(exp.Table) if source != "events" else ():
        if each.name.lower() == "events":
            name = each.args.get("alias") or exp.TableAlias(this=each.this.copy())  # it is called what it was
            each.set("this", exp.to_identifier(source))
            each.set("alias", name)
    return render_for_sqlite(found)


def render_for_sqlite(found: Any) -> str:
    """The text for SQLite of an expression, which is changed on the way."""
    for node in reversed(list(found.walk())):  # those inside first
        other = rewrite_for_sqlite(node)
        if other is not node:
            node.replace(other)
    text: str = found.sql(dialect="sqlite", copy=False)
    return text


def rewrite_for_sqlite(node: Any) -> Any:
    from sqlglot import exp

    if isinstance(node, exp.DateDiff) and node.text("unit").upper() == "SECOND":
        return exp.Paren(
            this=exp.Sub(
                this=make_strftime_number("%s", node.this), expression=make_strftime_number("%s", node.expression)
            )
        )
    if isinstance(node, exp.Hour):
        return make_strftime_number("%H", node.this)
    if isinstance(node, exp.Dayname):
        place = exp.Add(
            this=exp.Mul(this=make_strftime_number("%w", node.this), expression=exp.Literal.number(9)),
            expression=exp.Literal.number(1),
        )
        names = "Sunday   Monday   Tuesday  WednesdayThursday Friday   Saturday "
        cut = exp.Anonymous(this="SUBSTR", expressions=[exp.Literal.string(names), place, exp.Literal.number(9)])
        return exp.Anonymous(this="TRIM", expressions=[cut])
    return node


def make_strftime_number(format: str, when: Any) -> Any:
    from sqlglot import exp

    text = exp.Anonymous(this="STRFTIME", expressions=[exp.Literal.string(format), when])
    return exp.cast(text, exp.DataType.Type.INT)
