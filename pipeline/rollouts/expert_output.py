"""What a block printed, read as the value of an answer."""

import ast
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

from shopwright.pipeline.questions.values import SETS, Unfit, convert_value, value_from_rows
from shopwright.pipeline.rollouts.pandas_code import Form

NOTHING = frozenset({"None", "none", "nan", "NaN", "NaT", "<NA>"})
SPAN = re.compile(r"(?P<days>-?\d{1,9}) days?,? \+?(?P<hours>\d{1,9}):(?P<minutes>\d\d):(?P<seconds>\d\d)(\.0+)?")
ENTRY = re.compile(r"^\d+ +(?P<value>.*)$")
# Digits before a number's point, of which no answer has so many.
LARGEST = 20
NUMBERS = ("integer", "decimal", "money", "duration")
ERROR = re.compile(r"^(?:\w+\.)*(\w+)(?::|$)")


class UnreadableOutput(ValueError):
    """What was printed is no answer of the type."""


def read_printed_answer(text: str, form: Form, answer_type: str, digits: int | None = None) -> Any:
    """The value that a block printed, decimals rounded to so many digits. Raises Unreadable.

    >>> read_printed_answer("[('b',), ('a',)]", "literal", "set") == frozenset({"a", "b"})
    True
    >>> read_printed_answer("1 days 02:04:59", "plain", "duration")
    datetime.timedelta(days=1, seconds=7499)
    >>> read_printed_answer("nan", "plain", "money")
    """
    found = parse_printed(text, form)
    try:
        if answer_type == "yes/no":
            return value_from_rows([tuple(flatten_values(found))], answer_type)
        if answer_type in SETS:
            return value_from_rows([(each,) for each in flatten_values(found)], answer_type)
        return read_single_value(found, answer_type, digits)
    except (Unfit, TypeError) as error:
        raise UnreadableOutput(str(error)) from None


def read_single_value(found: Any, answer_type: str, digits: int | None) -> Any:
    """The one value there is, or None."""
    all_of_them = flatten_values(found)
    if len(all_of_them) > 1:
        raise UnreadableOutput(f"{len(all_of_them)} values, and the answer is one {answer_type}")
    value = all_of_them[0] if all_of_them else None
    if value is None or (isinstance(value, str) and value in NOTHING):
        return None
    if answer_type in NUMBERS:
        value = parse_printed_number(value, answer_type, digits)
    return convert_value(value, answer_type)


def flatten_values(found: Any) -> list[Any]:
    """
    >>> flatten_values([("a",), ("b",)]), flatten_values("a"), flatten_values([])
    (['a', 'b'], ['a'], [])
    """
    if isinstance(found, list | tuple):
        return list(chain.from_iterable(map(flatten_values, found)))
    return [found]


def parse_printed_number(value: Any, answer_type: str, digits: int | None) -> Any:
    """A number as Decimal, a span of time in whole seconds. Raises Unreadable."""
    span = SPAN.fullmatch(value) if isinstance(value, str) else None
    if span:
        days, hours, minutes, seconds = (int(span[name]) for name in ("days", "hours", "minutes", "seconds"))
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if isinstance(value, timedelta):
        return int(value.total_seconds())
    try:
        number = value if isinstance(value, Decimal) else Decimal(str(value))
    except InvalidOperation:
        raise UnreadableOutput(f"{value!r} is no {answer_type}") from None
    # A printed 1e999999999 would take all memory as an integer.
    if not number.is_finite() or number.adjusted() >= LARGEST:
        raise UnreadableOutput(f"{value!r} is no {answer_type}")
    if answer_type == "decimal" and digits is not None:
        return number.quantize(Decimal(1).scaleb(-digits))
    return number


def parse_printed(text: str, form: Form) -> Any:
    """The Python value, the texts of a column, or the text itself. Raises Unreadable."""
    text = text.strip()
    lines = text.splitlines()
    match form:
        case "plain":
            return text
        case "literal":
            return parse_printed_literal(lines[-1] if lines else "")
        case "series":
            return [] if text.startswith("Series([]") else parse_index_entries(lines[:-1])
    return [] if text.startswith("Empty DataFrame") else parse_index_entries(lines[1:])


def parse_index_entries(lines: list[str]) -> list[Any]:
    """What stands beside the index of a series or a table."""
    found = [ENTRY.match(line) for line in lines if line.strip()]
    if not found or not all(found):
        raise UnreadableOutput("not one value a line")
    texts = [each["value"].strip() for each in found if each]
    return [None if text in NOTHING else text for text in texts]


def parse_printed_literal(text: str) -> Any:
    """
    >>> parse_printed_literal("(Decimal('2.50'), datetime.date(2024, 5, 1), nan, np.int64(3), -1)")
    [Decimal('2.50'), datetime.date(2024, 5, 1), None, 3, -1]
    """
    # pandas writes a missing value in a way that is no Python.
    for spelled in (text, text.replace("<NA>", "None")):
        try:
            return evaluate_node(ast.parse(spelled, mode="eval").body)
        except (SyntaxError, TypeError, ArithmeticError, ValueError, RecursionError, MemoryError):
            continue
    raise UnreadableOutput(f"{text[:80]} is no value")


CALLS: dict[str, Callable[..., Any]] = {
    "Decimal": Decimal,
    "Timestamp": datetime.fromisoformat,
    "datetime": datetime,
    "date": date,
}


def evaluate_node(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Tuple(parts) | ast.List(parts):
            return [evaluate_node(each) for each in parts]
        case ast.UnaryOp(ast.USub(), operand):
            return -evaluate_node(operand)
        case ast.Name("nan" | "NaT"):
            return None
        case ast.Call(ast.Attribute(ast.Name("np"), _), [value]):
            return evaluate_node(value)
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), parts) if name in CALLS:
            return CALLS[name](*map(evaluate_node, parts))
    raise ValueError(f"{ast.dump(node)[:80]} is no value")


def parse_error_name(text: str) -> str:
    """The name of the error that a traceback ends with; empty where there is none.

    >>> parse_error_name("Traceback ...\\nKeyError: 'title'"), parse_error_name("some output")
    ('KeyError', '')
    """
    names = [found[1] for line in text.splitlines() if (found := ERROR.match(line))]
    return names[-1] if names else ""
