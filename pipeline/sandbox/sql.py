"""What SQL over `events` may say, and a DuckDB that can do no more than answer it.

What this does not stop: a query that eats memory inside one function call (DuckDB's limit does not see it). So the functions
are a list of those known to be harmless, and text is bounded in length.
"""

from functools import lru_cache
from typing import Any

from shopwright.pipeline.sandbox.sql_templates import once_per_template

# Characters of SQL.
LONGEST = 4_000
MOST_ROWS = 1_000
MILLISECONDS = 5_000
LIMITS = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "memory_limit": "512MB",
    "max_temp_directory_size": "0B",
    "temp_directory": "",
    "threads": "1",
    "async_threads": "0",  # eight by default, for files, which it reaches none of
}
# As sqlglot names them. None makes a longer text, or more rows, than it is given together.
FUNCTIONS = frozenset(
    "abs and any_value arg_max arg_min array_agg array_contains array_distinct array_size array_sort avg case "
    "cast ceil ceiling char_length coalesce concat concat_ws contains corr count count_if cume_dist date date_add "
    "date_diff date_from_parts date_part date_sub date_trunc datediff datepart datetrunc day day_of_month "
    "day_of_week day_of_week_iso day_of_year dayname dayofmonth dayofweek dayofweek_iso dayofweekiso dayofyear "
    "dense_rank ends_with epoch exists extract first first_value floor greatest group_concat hour if iif ilike "
    "initcap instr is_null isodow lag last last_day last_value lead least left len length like list logical_and "
    "logical_or lower ltrim max mean median min minute mod mode month monthname nth_value ntile nullif or "
    "percent_rank percentile_cont percentile_disc pow power prefix quantile quantile_cont quantile_disc quarter "
    "rank regexp_extract regexp_full_match regexp_ilike regexp_like regexp_matches reverse right round row_number "
    "rtrim second sign split_part sqrt starts_with stddev stddev_pop stddev_samp str_position str_to_time "
    "strftime string_agg strip strpos substr substring suffix sum time_to_str time_to_unix timestamp_diff "
    "timestamp_trunc trim trunc try_cast ts_or_ds_to_date unix_to_time upper variance variance_pop week "
    "week_of_year weekofyear xor year".split()
)


@lru_cache(maxsize=4_096)
def parse_select(sql: str) -> Any:
    """The one statement of a text. Raises ValueError."""
    from sqlglot import ParseError, TokenError, parse

    try:
        found = [each for each in parse(sql, dialect="duckdb") if each is not None]
    except (ParseError, TokenError, RecursionError, TypeError, AttributeError, LookupError, ValueError) as error:
        # the last four where the parser itself stumbles, as over `->` alone
        first = error.errors[0]["description"] if isinstance(error, ParseError) and error.errors else "unreadable"
        raise ValueError(f"SQL does not parse: {first}") from None
    if len(found) != 1:
        raise ValueError(f"{len(found)} statements, not one")
    return unwrap_query(found[0])


def unwrap_query(query: Any) -> Any:
    """A query in brackets without them, which SQLite does not read; what is more than brackets stays as it is."""
    from sqlglot import exp

    while isinstance(query, exp.Subquery) and query.is_wrapper:
        query = query.this
    return query


def explain_refusal(sql: str) -> str | None:
    """Why this must not run: it reads anything but `events`, writes, or calls what we do not know.

    >>> explain_refusal("select count(*) from events where brand = 'Brooks'")
    >>> explain_refusal("select * from read_csv('/etc/passwd')")
    'reads read_csv, not events'
    """
    return f"SQL of more than {LONGEST:,} characters" if len(sql) > LONGEST else explain_template_refusal(sql)


@once_per_template
def explain_template_refusal(sql: str) -> str | None:
    from sqlglot import exp

    try:
        found = parse_select(sql)
    except ValueError as error:
        return str(error)
    if not isinstance(found, exp.Select | exp.SetOperation):
        return f"SQL that is no query but {type(found).__name__.upper()}"
    for each in found.walk():
        if isinstance(each, exp.Table) and (each.db or not is_identifier(each.this) or not is_known_table(each)):
            what = each.name or (get_function_name(each.this) if isinstance(each.this, exp.Func) else each.this.sql())
            return f"reads {what}, not events"
        if isinstance(each, exp.CTE) and each.alias_or_name.lower() == "events":
            return "calls something else events"
        if isinstance(each, exp.TableSample):
            return "reads a sample of events"
        if isinstance(each, exp.Column) and each.name.lower() == "rowid":
            return "reads rowid, which is no column of events"
        if isinstance(each, exp.Func) and get_function_name(each) not in FUNCTIONS:
            return f"calls {get_function_name(each)}, which is not among the functions allowed"
        if isinstance(each, exp.DML | exp.DDL | exp.Command) and not isinstance(each, exp.Select | exp.SetOperation):
            return f"SQL that is no query: {type(each).__name__.upper()} inside it"
        if isinstance(each, exp.Parameter | exp.Placeholder | exp.Into):
            return "SQL with a place left open"
    if not any(each.name.lower() == "events" for each in found.find_all(exp.Table)):
        return "SQL that does not read events"
    return None


def is_known_table(table: Any) -> bool:
    """Whether it is `events`, or a common table that stands before it in the query, or in one around that.

    Its own name means itself only in a recursive one.
    """
    from sqlglot import exp

    name = table.name.lower()
    inside, scope = table, table.parent
    while scope is not None and name != "events":
        ctes = scope.args.get("with_") if isinstance(scope, exp.Query) else None
        if ctes is not None:
            names = [each.alias_or_name.lower() for each in ctes.expressions]
            place = next((n for n, each in enumerate(ctes.expressions) if each is inside), len(names))
            if name in names[: place + bool(ctes.recursive)]:
                return True
        inside = scope if isinstance(scope, exp.CTE) else inside
        scope = scope.parent
    return bool(name == "events")


def is_identifier(part: Any) -> bool:
    from sqlglot import exp

    return isinstance(part, exp.Identifier)


def get_function_name(function: Any) -> str:
    from sqlglot import exp

    return str(function.name if isinstance(function, exp.Anonymous) else function.sql_name()).lower()


def connect_confined(*, as_written: bool = False) -> Any:
    """A DuckDB in memory that reaches no file, no network and no setting, and gives up after some seconds.

    `as_written`: it runs queries without rewriting them for speed.
    """
    import duckdb

    connection = duckdb.connect(config=LIMITS)
    if as_written:
        connection.execute("PRAGMA disable_optimizer")
    connection.execute(f"SET max_execution_time = {MILLISECONDS}")
    connection.execute("SET lock_configuration = true")
    return connection
