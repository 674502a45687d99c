"""The answer to a written question, by what its query looks like: there is no tree that would tell the type."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from shopwright.pipeline.questions.values import CENT

SPANS = ("DATE_DIFF('SECOND'", "DATEDIFF('SECOND'", "EPOCH(")

# How a question asks for a span of time.
AS_SPAN = "h:mm:ss"


def infer_answer(rows: Any, sql: str, question: str = "") -> Any:
    """Rows as a value: several are a list if they are ordered and else a set; seconds are a span of time.

    >>> infer_answer([["b"], ["a"]], "SELECT DISTINCT brand FROM events") == frozenset({"a", "b"})
    True
    >>> infer_answer([[65]], "SELECT DATE_DIFF('second', MIN(timestamp), MAX(timestamp)) FROM events")
    datetime.timedelta(seconds=65)
    """
    from shopwright.pipeline.rollouts.expert_sql import parse_duckdb

    if not rows:
        return None
    if len(rows) == 1 and all(isinstance(each, bool) for each in rows[0]):
        return rows[0]
    values = [row[0] for row in rows]
    if len(values) > 1:
        texts = [str(each) for each in values]
        return texts if parse_duckdb(sql).args.get("order") else frozenset(texts)
    return format_query_value(values[0], get_select_expression(sql), as_span=AS_SPAN in question)


def format_query_value(value: Any, shown: str, *, as_span: bool) -> Any:
    """One value, by the expression that gave it."""
    if isinstance(value, int) and (as_span or any(span in shown for span in SPANS)):
        return timedelta(seconds=value)
    if isinstance(value, float | Decimal):
        exact = Decimal(str(value))
        return exact.quantize(CENT) if "PRICE" in shown and "COUNT(" not in shown else exact
    return value


def get_select_expression(sql: str) -> str:
    """The expression that a query selects, in capitals."""
    from shopwright.pipeline.rollouts.expert_sql import parse_duckdb

    found = parse_duckdb(sql).selects
    text: str = found[0].sql(dialect="duckdb").upper() if found else ""
    return text
