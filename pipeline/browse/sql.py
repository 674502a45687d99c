"""What a visitor's SQL over `rows` may say, and the DuckDB that answers it.

A text is a condition (`price > 20`, with or without `where`) or a whole SELECT. It may call the functions of the sandbox's
list and a few more for lists and JSON, and read `rows` alone. What this does not stop, a query that eats memory inside one
call, the process does in which it runs (`shopwright.pipeline.browse.worker`).
"""

import re
from collections.abc import Sequence
from typing import Any

from shopwright.pipeline.dataset import quote_paths
from shopwright.pipeline.files import filesystem_of, is_here, path_in_filesystem, path_of
from shopwright.pipeline.sandbox.sql import FUNCTIONS, LIMITS, LONGEST, get_function_name, is_identifier, parse_select

# Of a query; the process ends a little later.
SECONDS = 10
# Of one value of a result.
MOST_LETTERS = 2_000
# Of a list in a result.
MOST_ITEMS = 20
ALLOWED = FUNCTIONS | frozenset(
    "array array_max array_min array_overlaps array_to_string explode filter flatten json_extract json_extract_scalar "
    "list_contains list_distinct list_position list_sum strlen struct struct_extract transform unnest".split()
)
QUERY = re.compile(r"\s*(select|with|from)\b", re.IGNORECASE)
WHERE = re.compile(r"\s*where\b", re.IGNORECASE)
CLASS = re.compile(r" for <class [^>]*>")


def is_where_condition(text: str) -> bool:
    """
    >>> is_where_condition("where price > 20"), is_where_condition("select id from rows")
    (True, False)
    """
    return not QUERY.match(text)


def as_query(text: str, columns: Sequence[str], source: str = "rows", more: str = "") -> str:
    """A visitor's text as one query; a condition, or none, gives these columns of a source, and more of the engine's words.

    >>> as_query("where price > 20", ["n", "id"])
    'SELECT "n", "id" FROM rows WHERE  price > 20'
    """
    if text and not is_where_condition(text):
        return text
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    where = f" WHERE {WHERE.sub('', text, count=1)}" if text else ""
    return f"SELECT {names}{more} FROM {source}{where}"


def find_sql_violation(sql: str) -> str | None:
    """Why this must not run, if anything.

    >>> find_sql_violation("select id from rows where brand = 'Brooks'")
    >>> find_sql_violation("select * from read_csv('/etc/passwd')")
    'It reads read_csv; the only table is rows.'
    """
    from sqlglot import exp

    if len(sql) > LONGEST:
        return f"It is longer than {LONGEST:,} characters."
    try:
        found = parse_select(sql)
    except ValueError as error:
        return f"{CLASS.sub('', str(error)).rstrip('.')}."
    if not isinstance(found, exp.Select | exp.SetOperation):
        return "It is not a query. Write a condition, or SELECT ... FROM rows."
    known = {"rows", *(each.alias_or_name.lower() for each in found.find_all(exp.CTE))}
    return next((why for each in found.walk() if (why := find_part_violation(each, known))), None)


def find_part_violation(part: Any, known: set[str]) -> str | None:
    """Why a part of a query must not be in it. known: the tables that may be read."""
    from sqlglot import exp

    if isinstance(part, exp.Table) and (part.db or not is_identifier(part.this) or part.name.lower() not in known):
        what = part.name or (get_function_name(part.this) if isinstance(part.this, exp.Func) else part.this.sql())
        return f"It reads {what}; the only table is rows."
    if isinstance(part, exp.Func) and get_function_name(part) not in ALLOWED:
        return f"It calls {get_function_name(part)}, which is not among the functions allowed."
    if isinstance(part, exp.With) and part.recursive:
        return "It is recursive."
    if isinstance(part, exp.DML | exp.DDL | exp.Command) and not isinstance(part, exp.Select | exp.SetOperation):
        return f"It is not a query: {type(part).__name__.upper()}."
    if isinstance(part, exp.Parameter | exp.Placeholder | exp.Into):
        return "It leaves a place open."
    return None


def query_files(
    files: Sequence[str], firsts: Sequence[int], sql: str, skip: int, most: int, *, seconds: float = SECONDS
) -> dict[str, Any]:
    """The columns and rows of a query over Parquet files, or an error in one line.

    firsts: the number of the first row of each file; `rows` has the number of each row as `n`.
    """
    import duckdb

    if why := find_sql_violation(sql):
        return {"error": why}
    try:
        with connect_to_files(files, firsts, seconds) as connection:
            found = connection.execute(f"SELECT * FROM ({sql}\n) LIMIT {most} OFFSET {skip}")
            columns = [column[0] for column in found.description]
            return {"columns": columns, "rows": [list(map(shorten_cell, row)) for row in found.fetchall()]}
    except (duckdb.Error, MemoryError, ValueError) as error:
        return {"error": in_one_line(str(error) or "it needs too much memory")}


def connect_to_files(files: Sequence[str], firsts: Sequence[int], seconds: float) -> Any:
    """A DuckDB in memory that reaches these files alone, with the view `rows` on them."""
    import duckdb

    connection = duckdb.connect(config=LIMITS | {"enable_external_access": "true", "memory_limit": "1GB"})
    paths = [path_of(file) for file in files]
    if not is_here(paths[0]):
        connection.register_filesystem(filesystem_of(paths[0]))
    names = [
        str(path) if is_here(path) else filesystem_of(path).unstrip_protocol(path_in_filesystem(path)) for path in paths
    ]
    allowed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    connection.execute(f"SET allowed_paths = [{allowed}, {quote_paths(paths)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute(f"SET max_execution_time = {int(1_000 * seconds)}")
    connection.execute(
        f"CREATE VIEW rows AS SELECT * EXCLUDE (file_row_number), {list(firsts)}[file_index::BIGINT + 1] + file_row_number AS n "
        f"FROM read_parquet([{quote_paths(paths)}], file_row_number = true)"
    )
    connection.execute("SET lock_configuration = true")
    return connection


def shorten_cell(value: Any) -> Any:
    """A value as far as a cell shows it."""
    if isinstance(value, str):
        return value if len(value) <= MOST_LETTERS else value[: MOST_LETTERS - 1] + "…"
    if isinstance(value, (list, tuple)):
        return [shorten_cell(each) for each in value[:MOST_ITEMS]] + (["…"] if len(value) > MOST_ITEMS else [])
    if isinstance(value, dict):
        return {str(name): shorten_cell(each) for name, each in value.items()}
    return value if isinstance(value, (int, float, bool)) or value is None else str(value)


def in_one_line(error: str) -> str:
    """
    >>> in_one_line("Binder Error: No such column: 'x'\\n\\nLINE 1: ...")
    "No such column: 'x'."
    """
    if "INTERRUPT" in error or "max_execution_time" in error:
        return f"It takes longer than {SECONDS} seconds. Narrow it, or ask for fewer rows."
    first, *more = error.split("\n")
    line = re.sub(r"^[A-Z][\w ]* Error: ", "", first).strip().rstrip(".!")
    near = next((each.strip() for each in more if each.startswith("Candidate bindings: ")), "")
    return f"{line}. {near.replace('Candidate bindings', 'Near it')}".strip()
