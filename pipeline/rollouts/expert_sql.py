"""A tree as a query in a block of code: laid out in one of several manners, its rows fetched in one of several ways."""

from random import Random
from typing import Any

from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import type_of
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.values import SETS
from shopwright.pipeline.rollouts.pandas_code import Code, quote_python

ALIASES = {
    "integer": ("n", "how_many"),
    "money": ("amount", "total"),
    "decimal": ("figure",),
    "duration": ("seconds",),
    "date-time": ("moment",),
    "date": ("that_day",),
}
# Characters of a query that stands in the line of its call.
ONE_LINE = 90
# Characters of a query that is written in one line.
LONGEST_LINE = 200
# One row, whose value may be NULL.
MAY_BE_NONE = (t.Fold, t.Share, t.Ratio, t.Difference, t.Wait, t.Pause)


def sql_code(tree: Any, random: Random, renamed: dict[str, str] | None = None) -> Code:
    """Code whose last line shows the answer; `renamed` puts wrong names in the place of columns.

    >>> print(*sql_code(t.Count(of=t.Pick(action="click")), Random(1)).lines, sep="\\n")
    conn.execute("SELECT COUNT(*) AS how_many FROM events WHERE action_type = 'click'").fetchone()[0]
    """
    kind = type_of(tree)
    query = parse_duckdb(sql_of(tree))
    if kind == "set":
        query = query.order_by("1")
    elif random.random() < 0.4:
        query = add_alias(query, kind, random)
    return emit_fetch(tree, kind, lay_out_query(misname_columns(query, renamed or {}), random), random)


def parse_duckdb(sql: str) -> Any:
    from sqlglot import parse_one

    return parse_one(sql, dialect="duckdb")


def add_alias(query: Any, kind: str, random: Random) -> Any:
    """With a name for the one thing selected, where it has none."""
    from sqlglot import exp

    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return query
    (shown,) = query.expressions
    if isinstance(shown, exp.Alias | exp.Column):
        return query
    names = ALIASES.get(kind, ("answer", "result"))
    return query.select(exp.alias_(shown, names[int(random.random() * len(names))]), append=False)


def misname_columns(query: Any, renamed: dict[str, str]) -> Any:
    """With wrong names in the place of columns."""
    from sqlglot import exp

    def other(node: Any) -> Any:
        return exp.column(renamed[node.name]) if isinstance(node, exp.Column) and node.name in renamed else node

    return query.transform(other) if renamed else query


def lay_out_query(query: Any, random: Random) -> str:
    """In one line, if it is not too long for that, or over several."""
    text: str = query.sql(dialect="duckdb")
    if len(text) > LONGEST_LINE or random.random() < 0.4:
        text = query.sql(dialect="duckdb", pretty=True)
    return text


def emit_fetch(tree: Any, kind: str, sql: str, random: Random) -> Code:
    """Rows in a way that shows an answer of this type, and shows it if there is none."""
    lines, call = write_query_call(sql, random)
    drawn = random.random()
    if kind == "yes/no":
        return Code((*lines, f"{call}.{'fetchone' if drawn < 0.6 else 'fetchall'}()"), "literal")
    if kind in SETS:
        ways: tuple[tuple[str, Any], ...] = (
            (f"{call}.fetchall()", "literal"),
            (f"[row[0] for row in {call}.fetchall()]", "literal"),
            (f"{call}.df()", "table"),
        )
    elif is_always_value(tree):
        ways = ((f"{call}.fetchone()[0]", "plain"), (f"{call}.fetchone()", "literal"), (f"{call}.df()", "table"))
    elif isinstance(tree, MAY_BE_NONE) and not (isinstance(tree, t.Pause) and tree.what == "start"):
        ways = ((f"print({call}.fetchone()[0])", "plain"), (f"{call}.fetchone()", "literal"), (f"{call}.df()", "table"))
    else:
        ways = ((f"print({call}.fetchone())", "literal"), (f"{call}.fetchall()", "literal"), (f"{call}.df()", "table"))
    last, form = ways[int(drawn * len(ways))]
    return Code((*lines, last), form)


def is_always_value(tree: Any) -> bool:
    """Whether the query gives one value, and never NULL."""
    if isinstance(tree, t.Count | t.Amid | t.Directly | t.Switches):
        return True
    if isinstance(tree, t.Sets | t.Often):
        return tree.counted
    return (isinstance(tree, t.Fold) and tree.how == "sum") or (isinstance(tree, t.Sessions) and tree.what == "count")


def write_query_call(sql: str, random: Random) -> tuple[tuple[str, ...], str]:
    """Lines before the call, and the call."""
    if "\n" not in sql and len(sql) <= ONE_LINE:
        return (), f"conn.execute({quote_python(sql)})"
    if any(part in sql for part in ("\\", '"""', "</code")) or sql.endswith('"'):
        return (f"query = {quote_python(sql)}",), "conn.execute(query)"
    if random.random() < 0.5:
        return (f'query = """\n{sql}\n"""',), "conn.execute(query)"
    return (), f'conn.execute("""\n{sql}\n""")'


def write_plain_query(sql: str) -> Code:
    """A query that somebody wrote, all of whose rows are shown."""
    lines, call = write_query_call(sql, Random(0))
    return Code((*lines, f"{call}.fetchall()"), "literal")
