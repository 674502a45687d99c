"""The effort of a question measured from its SQL, in SQLite: of one that has no tree, and once more of one that has.

Shares nothing with `effort` and `weak`, which read the tree in plain Python, but what is counted.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import Any

from shopwright.pipeline.questions.engines import QueryFailed, Table, render_for_sqlite, transpile_to_sqlite
from shopwright.pipeline.questions.evidence import list_conditions
from shopwright.pipeline.questions.values import Unfit, value_from_rows
from shopwright.pipeline.sandbox.sql import parse_select
from shopwright.schemas.questions import Effort, Shortcut
from shopwright.schemas.samples import Event

# Rows that one who stops early has read.
FIT = 5
# Of five rows the one that is overlooked.
FIFTH = (5, 3)
BASE = frozenset(Event.model_fields)
HALF = Decimal("0.5")
# A day as the log writes it.
ISO = re.compile(r"\d{4}-\d\d-\d\d")
WHEN = r"(?:\w+\.)?timestamp"
TIME = (
    rf"(?:{WHEN}|DATE\({WHEN}\)|STRFTIME\('[^']*', {WHEN}\)|CAST\(STRFTIME\('[^']*', {WHEN}\) AS INTEGER\)"
    rf"|TRIM\(SUBSTR\('Sunday [^']*', CAST\(STRFTIME\('%w', {WHEN}\) AS INTEGER\) \* 9 \+ 1, 9\)\))"
)
TEXT = r"'(?:[^']|'')*'"
GIVEN = rf"(?:{TEXT}|DATE\({TEXT}\)|DATETIME\({TEXT}\)|\b\d+\b)"
SIGN = r"(?:=|<>|<=|>=|<|>)"
# A condition on time in SQLite's SQL, as `engines.in_sqlite` writes it: a time against what is given.
CONDITION = re.compile(
    rf"(?P<time>{TIME}) (?:BETWEEN (?P<low>{GIVEN}) AND (?P<high>{GIVEN})|IN \({GIVEN}(?:, {GIVEN})*\)|(?P<sign>{SIGN}) {GIVEN})"
    rf"|{GIVEN} (?P<mirrored>{SIGN}) {TIME}(?![\w(.])"
)
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# The way inwards from a bound.
WAYS = {">": 1, ">=": 1, "<": -1, "<=": -1}
WORDS = {"SELECT", "JOIN", "OVER", "GROUP_BY"}
COMPARISONS = {"EQ", "NEQ", "GT", "GTE", "LT", "LTE", "BETWEEN", "IN", "ILIKE"}
# A sqlglot expression.
Query = Any


def effort_of_sql(sql: str, answer_type: str, table: Table) -> Effort:
    """What it takes to come to the answer that SQLite gives. Raises QueryFailed, Unfit where it gives none."""
    value = table.sqlite_without(sql, answer_type)
    rows, near = find_sql_rows_to_read(parse_select(sql), table)
    query, shortcuts = transpile_to_sqlite(sql), []
    for name, other, gone in list_careless_queries(query, sorted(rows), table):
        reads_all = other == query and rows.isdisjoint(gone)
        if reads_all or query_gives_value(value, answer_type, other, gone, table):
            shortcuts.append(name)
    return Effort(rows=len(rows), near=len(near - rows), steps=count_sql_steps(sql), shortcuts=shortcuts)


def count_sql_steps(sql: str) -> int:
    """Counted from the words of the query."""
    from sqlglot import tokenize

    found = [each.token_type.name for each in tokenize(sql, dialect="duckdb")]
    return sum(each in WORDS for each in found) - 1 + max(0, sum(each in COMPARISONS for each in found) - 1)


# What each weak answerer says.


def list_careless_queries(query: str, rows: list[int], table: Table) -> Iterator[tuple[Shortcut, str, Iterable[int]]]:
    """What each asks of SQLite instead of the query, and the rows that it does not see."""
    events, last = len(table.events), max(table.row_ids, default=0)
    yield "ignores dates", CONDITION.sub("TRUE", query), ()
    yield "excludes the ends", CONDITION.sub(narrow_time_range, query), ()
    yield "first matches", query, rows[FIT:]
    yield "skims", query, range(FIFTH[1], last + 1, FIFTH[0])
    yield "reads the first half", query, range(events // 2, events)
    yield "skips the middle", query, range(events // 3, events - events // 3)
    yield "reads the last half", query, range(events // 2)


def query_gives_value(value: Any, answer_type: str, query: str, gone: Iterable[int], table: Table) -> bool:
    try:
        if value_from_rows(table.rows_of_sqlite(query, gone), answer_type) != value:
            return False
        return not any(is_halfway(*each) for each in table.rows_of_sqlite(unround_query(query), gone))
    except (QueryFailed, Unfit):
        return False


@lru_cache(1_024)
def unround_query(query: str) -> str:
    """The same figure with more digits, before the digits that it is rounded to.

    >>> unround_query("SELECT ROUND(AVG(price), 2) FROM events"), unround_query("SELECT COUNT(*) FROM events")
    ('SELECT 2, ROUND(AVG(price), 8) FROM events', 'SELECT 0, 0 WHERE FALSE')
    """
    from sqlglot import exp, parse_one

    found = parse_one(query, dialect="sqlite")
    figure = found.expressions[0] if isinstance(found, exp.Select) else None
    if not isinstance(figure, exp.Round) or figure.args.get("decimals") is None:
        return "SELECT 0, 0 WHERE FALSE"
    digits = figure.args["decimals"].copy()
    figure.set("decimals", exp.Literal.number(int(digits.name) + 6))
    found.set("expressions", [digits, figure])
    return found.sql(dialect="sqlite")


def is_halfway(digits: int, figure: float | None) -> bool:
    """Whether it lies between two roundings: databases round such a one differently, and a tree does not round it.

    >>> is_halfway(2, 1.575), is_halfway(2, 1.5750001), is_halfway(1, None)
    (True, False, False)
    """
    return figure is not None and Decimal(repr(figure)).scaleb(digits) % 1 == HALF


def narrow_time_range(condition: re.Match[str]) -> str:
    """A range of time whose bounds are moved inwards by a day; what is no range stays.

    >>> CONDITION.sub(narrow_time_range, "DATE(timestamp) BETWEEN '2024-05-01' AND '2024-05-31' AND timestamp = '2024-05-01'")
    "DATE(timestamp) BETWEEN '2024-05-02' AND '2024-05-30' AND timestamp = '2024-05-01'"
    """
    text = condition.group()
    sign = condition["sign"] or MIRRORED.get(condition["mirrored"] or "", "=")
    if condition["low"] is not None:
        return f"{condition['time']} BETWEEN {move_days(condition['low'], 1)} AND {move_days(condition['high'], -1)}"
    return move_days(text, WAYS.get(sign, 0))


def move_days(text: str, days: int) -> str:
    """With every day in it moved.

    >>> move_days("'2024-05-31 12:00:00'", 1)
    "'2024-06-01 12:00:00'"
    """

    def other(found: re.Match[str]) -> str:
        try:
            return str(date.fromisoformat(found.group()) + timedelta(days=days))
        except (ValueError, OverflowError):  # no day of the calendar
            return found.group()

    return ISO.sub(other, text)


# Rows that are picked, or nearly.


def find_sql_rows_to_read(query: Query, table: Table) -> tuple[set[int], set[int]]:
    """The rows that meet the conditions of any scan of `events`, and those that miss one of several; all, where it cannot be told."""
    rows: set[int] = set()
    near: set[int] = set()
    for name, conditions in find_event_scans(query):
        try:
            fit, missed = table.rows_of_sqlite(
                build_row_query(name, tuple(each.sql(dialect="duckdb") for each in conditions))
            )[0]
        except QueryFailed:
            return {*table.row_ids}, set()
        rows.update(json.loads(fit))
        near.update(json.loads(missed) if len(conditions) > 1 else ())
    return rows, near


def find_event_scans(query: Query) -> Iterator[tuple[str, list[Query]]]:
    """For each time that the events are read: what they are called there, and the conditions on them alone.

    Where nothing but filtered figures is asked for, those of each figure.
    """
    from sqlglot import exp

    for select in query.find_all(exp.Select):
        first, joins = select.args.get("from_"), select.args.get("joins") or []
        for source in (each.this for each in (first, *joins) if each is not None):
            if not isinstance(source, exp.Table) or source.name.lower() != "events":
                continue
            name = source.alias_or_name
            mine = {name.lower()} if joins else {name.lower(), ""}
            for conditions in group_row_conditions(select):
                yield name, [each for each in conditions if list_condition_tables(each) <= mine]


def group_row_conditions(select: Query) -> Iterator[list[Query]]:
    """The conditions that a row must meet to count."""
    from sqlglot import exp

    own = [each for each in list_conditions(select.args.get("where")) if is_event_condition(each)]
    filters = list(chain.from_iterable(one.find_all(exp.Filter) for one in select.expressions))
    figures = list(chain.from_iterable(one.find_all(exp.AggFunc) for one in select.expressions))
    if filters and len(filters) == len(figures):
        yield from ([*own, *filter(is_event_condition, list_conditions(each.expression))] for each in filters)
    else:
        yield own


def list_condition_tables(condition: Query) -> set[str]:
    from sqlglot import exp

    return {each.table.lower() for each in condition.find_all(exp.Column)}


@lru_cache(1_024)
def build_row_query(name: str, conditions: tuple[str, ...]) -> str:
    """A query for the rows that meet all of them, and for those that miss one; `base` is every event, whatever is removed."""
    missed = " + ".join(f"(({transpile_condition(each)}) IS NOT TRUE)" for each in conditions) or "0"
    return (
        "SELECT JSON_GROUP_ARRAY(row_id) FILTER (WHERE missed = 0), JSON_GROUP_ARRAY(row_id) FILTER (WHERE missed = 1) "
        f'FROM (SELECT row_id, {missed} AS missed FROM base AS "{name}")'
    )


@lru_cache(4_096)
def transpile_condition(condition: str) -> str:
    from sqlglot import parse_one

    return render_for_sqlite(parse_one(f"SELECT {condition}", dialect="duckdb")).removeprefix("SELECT ")


def is_event_condition(part: Query) -> bool:
    """Whether it holds columns of `events` against something given, and nothing else."""
    from sqlglot import exp

    columns = {each.name.lower() for each in part.find_all(exp.Column)}
    return bool(columns) and columns <= BASE and part.find(exp.Query) is None and part.find(exp.Literal) is not None
