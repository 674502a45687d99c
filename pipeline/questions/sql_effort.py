"""The effort of a question measured from its SQL, in SQLite: of one that has no tree, and once more of one that has.

Shares nothing with `effort` and `weak`, which read the tree in plain Python, but what is counted.
"""

import json
import re
from collections.abc import Container, Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from itertools import chain
from typing import Any

from shopwright.pipeline.questions.engines import FEW, QueryFailed, Table, render_for_sqlite, transpile_to_sqlite
from shopwright.pipeline.questions.evidence import list_conditions
from shopwright.pipeline.questions.values import Unfit, value_from_rows
from shopwright.pipeline.sandbox.sql import parse_select
from shopwright.pipeline.sandbox.sql_templates import once_per_template
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
    rows, near = find_sql_rows_to_read(sql, table)
    query, few = transpile_to_sqlite(sql), transpile_to_sqlite(sql, FEW)

    @cache
    def gives_value(other: str, chosen: frozenset[int]) -> bool:
        whole = other == query or (other == few and chosen == rows)  # the rows not read make no difference
        return whole or query_gives_value(value, answer_type, other, chosen, table)

    shortcuts: list[Shortcut] = [
        name for name, other in list_careless_queries(query) if gives_value(other, frozenset())
    ]
    for name, unseen in list_unseen_rows(sorted(rows), table):
        if gives_value(few, frozenset(row for row in rows if row not in unseen)):
            shortcuts.append(name)
    return Effort(rows=len(rows), near=len(near - rows), steps=count_sql_steps(sql), shortcuts=shortcuts)


@once_per_template
def count_sql_steps(sql: str) -> int:
    """Counted from the words of the query."""
    from sqlglot import tokenize

    found = [each.token_type.name for each in tokenize(sql, dialect="duckdb")]
    return sum(each in WORDS for each in found) - 1 + max(0, sum(each in COMPARISONS for each in found) - 1)


# What each weak answerer says.


def list_careless_queries(query: str) -> Iterator[tuple[Shortcut, str]]:
    """What some ask of SQLite instead of the query."""
    yield "ignores dates", CONDITION.sub("TRUE", query)
    yield "excludes the ends", CONDITION.sub(narrow_time_range, query)


def list_unseen_rows(rows: list[int], table: Table) -> Iterator[tuple[Shortcut, Container[int]]]:
    """The rows that the others do not see; `rows` are those that the query reads."""
    events, last = len(table.events), max(table.row_ids, default=0)
    yield "first matches", {*rows[FIT:]}
    yield "skims", range(FIFTH[1], last + 1, FIFTH[0])
    yield "reads the first half", range(events // 2, events)
    yield "skips the middle", range(events // 3, events - events // 3)
    yield "reads the last half", range(events // 2)


def query_gives_value(value: Any, answer_type: str, query: str, chosen: Iterable[int], table: Table) -> bool:
    try:
        if value_from_rows(table.rows_of_sqlite(query, chosen=chosen), answer_type) != value:
            return False
        exactly = unround_query(query)
        return exactly is None or not any(is_halfway(*each) for each in table.rows_of_sqlite(exactly, chosen=chosen))
    except (QueryFailed, Unfit):
        return False


@once_per_template
def unround_query(query: str) -> str | None:
    """The same figure with more digits, before the digits that it is rounded to; none where it is not rounded.

    >>> unround_query("SELECT ROUND(AVG(price), 2) FROM events"), unround_query("SELECT COUNT(*) FROM events")
    ('SELECT 2, ROUND(AVG(price), 8) FROM events', None)
    """
    from sqlglot import exp, parse_one

    found = parse_one(query, dialect="sqlite")
    figure = found.expressions[0] if isinstance(found, exp.Select) else None
    if not isinstance(figure, exp.Round) or figure.args.get("decimals") is None:
        return None
    digits = figure.args["decimals"].copy()
    figure.set("decimals", exp.Literal.number(int(digits.name) + 6))
    found.set("expressions", [digits, figure])
    text: str = found.sql(dialect="sqlite")
    return text


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


def find_sql_rows_to_read(sql: str, table: Table) -> tuple[set[int], set[int]]:
    """The rows that meet the conditions of any scan of `events`, and those that miss one of several; all, where it cannot be told."""
    rows: set[int] = set()
    near: set[int] = set()
    for query in list_row_queries(sql):
        try:
            fit, missed = table.rows_of_sqlite(query)[0]
        except QueryFailed:
            return {*table.row_ids}, set()
        rows.update(json.loads(fit))
        near.update(json.loads(missed))
    return rows, near


@once_per_template
def list_row_queries(sql: str) -> tuple[str, ...]:
    """For each time that the events are read: a query for the rows that are looked at, and for those nearly so."""
    return tuple(build_row_query(name, conditions) for name, conditions in find_event_scans(parse_select(sql)))


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


def build_row_query(name: str, conditions: list[Query]) -> str:
    """A query for the rows that meet all of them, and for those that miss one of several; `base` is every event, whatever is removed."""
    missed = " + ".join(f"(({transpile_condition(each)}) IS NOT TRUE)" for each in conditions) or "0"
    near = 1 if len(conditions) > 1 else -1
    return (
        f"SELECT JSON_GROUP_ARRAY(row_id) FILTER (WHERE missed = 0), JSON_GROUP_ARRAY(row_id) FILTER (WHERE missed = {near}) "
        f'FROM (SELECT row_id, {missed} AS missed FROM base AS "{name}") WHERE missed <= 1'
    )


def transpile_condition(condition: Query) -> str:
    from sqlglot import exp

    return render_for_sqlite(exp.select(condition.copy())).removeprefix("SELECT ")


def is_event_condition(part: Query) -> bool:
    """Whether it holds columns of `events` against something given, and nothing else."""
    from sqlglot import exp

    columns = {each.name.lower() for each in part.find_all(exp.Column)}
    return bool(columns) and columns <= BASE and part.find(exp.Query) is None and part.find(exp.Literal) is not None
