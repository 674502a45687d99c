"""The rows that the answer to any query rests on, found by running it: for questions that have no tree to tell them."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

from shopwright.pipeline.questions.engines import Table
from shopwright.pipeline.questions.values import Unfit
from shopwright.pipeline.sandbox.sql import parse_select

# Runs of the query in which the deciding rows must be found; else all that it touches count.
RUNS = 64


def find_touched_rows(table: Table, sql: str) -> list[int]:
    """Rows that pass FROM, JOIN and WHERE of any SELECT over `events`, in order; all, where this cannot be told.

    Without the others the answer is the same. What follows WHERE (groups, windows, LIMIT) is not looked at.
    """
    import duckdb

    found: set[int] = set()
    for query in build_scan_queries(parse_select(sql)):
        try:
            found |= {row for (row,) in table.in_order.execute(query).fetchall() if row is not None}
        except duckdb.Error:
            return [row["row_id"] for row in table.rows]
    return sorted(found)


def build_scan_queries(expression: Any) -> Iterator[str]:
    """For each time that a query reads `events`: a query for the rows that it looks at there."""
    from sqlglot import exp

    for read in expression.find_all(exp.Table):
        select = read.find_ancestor(exp.Select)
        if read.name.lower() == "events" and select is not None:
            name = exp.to_identifier(read.alias_or_name, quoted=True)
            query = exp.Select(expressions=[exp.column("row_id", table=name)])
            for part in ("from_", "joins", "laterals"):
                query.set(part, copy_sql_part(select.args.get(part)))
            conditions = list_conditions(select.args.get("where"))
            if own := [each.copy() for each in conditions if stands_alone(each, select)]:
                query.set("where", exp.Where(this=exp.and_(*own)))
            if ctes := list_visible_ctes(select):
                query.set("with_", exp.With(expressions=ctes, recursive=any(is_recursive(select))))
            yield query.sql(dialect="duckdb")


def copy_sql_part(part: Any) -> Any:
    return [each.copy() for each in part] if isinstance(part, list) else part and part.copy()


def list_conditions(where: Any | None) -> list[Any]:
    """The parts of a WHERE that must hold together."""
    from sqlglot import exp

    if where is None:
        return []
    return list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]


def stands_alone(condition: Any, select: Any) -> bool:
    """Whether a condition names no table of the query around this one; without it more rows are looked at, never fewer."""
    from sqlglot import exp

    own = {each.alias_or_name.lower() for each in select.find_all(exp.Table, exp.Subquery)}
    return all(not each.table or each.table.lower() in own for each in condition.find_all(exp.Column))


def list_visible_ctes(select: Any) -> list[Any]:
    """The common tables that a SELECT may read, in their order."""
    from sqlglot import exp

    found: list[Any] = []
    inside, scope = select, select
    while scope is not None:
        ctes = scope.args.get("with_") if isinstance(scope, exp.Query) else None
        if ctes is not None:
            here = ctes.expressions
            place = next((n for n, each in enumerate(here) if each is inside), len(here))
            found = [each.copy() for each in here[:place]] + found
        inside = scope if isinstance(scope, exp.CTE) else inside
        scope = scope.parent
    return found


def is_recursive(select: Any) -> Iterator[bool]:
    from sqlglot import exp

    scope = select
    while scope is not None:
        if isinstance(scope, exp.Query) and (ctes := scope.args.get("with_")) is not None:
            yield bool(ctes.recursive)
        scope = scope.parent


def evidence_of(table: Table, sql: str, answer_type: str) -> list[int]:
    """The rows that decide the answer of a query.

    Of the rows touched, those without which the answer is another, where they alone give the same one: found by taking
    away halves, quarters and so on, in two orders, since rows taken away together can make up for one another. Where there
    are no such rows, or too many to be found (a ranking, a set, a sum of much), all the rows touched. Raises QueryFailed, Unfit
    where the query itself fails.
    """
    rows = find_touched_rows(table, sql)
    value = table.sqlite_without(sql, answer_type)

    def same_without(gone: Collection[int]) -> bool:
        try:
            return bool(table.sqlite_without(sql, answer_type, gone) == value)
        except Unfit:
            return False

    one, other = (find_deciding_rows(order, same_without) for order in (rows, interleave_rows(rows)))
    if one and one == other and not same_without(one) and same_without(set(rows) - one):
        return sorted(one)
    return rows


def find_deciding_rows(rows: list[int], same_without: Callable[[list[int]], bool]) -> set[int]:
    """Rows that make a difference one by one, found in `RUNS` runs; none, where these are too few."""
    found: set[int] = set()
    blocks = [rows]
    for _ in range(RUNS):
        if not blocks:
            return found
        block = blocks.pop()
        half = len(block) // 2
        if not block or same_without(block):
            continue
        if half:
            blocks += [block[half:], block[:half]]
        else:
            found |= {*block}
    return set() if blocks else found


def interleave_rows(rows: list[int]) -> list[int]:
    """The same rows in an order in which no neighbours stay together, nor those that are two or four apart.

    >>> interleave_rows([0, 1, 2, 3, 4, 5, 6, 7])
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    return interleave_rows(rows[::2]) + interleave_rows(rows[1::2]) if len(rows) > 2 else rows
