"""What a block printed, read as the value of an answer."""

import ast
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from pipeline.questions.values import SETS, Unfit, from_rows, one
from pipeline.rollouts.pandas_code import Form

NOTHING = frozenset({"None", "none", "nan", "NaN", "NaT", "<NA>"})
SPAN = re.compile(r"(?P<days>-?\d{1,9}) days?,? \+?(?P<hours>\d{1,9}):(?P<minutes>\d\d):(?P<seconds>\d\d)(\.0+)?")
ENTRY = re.compile(r"^\d+ +(?P<value>.*)$")
LARGEST = 20
"""Digits before a number's point, of which no answer has so many."""
NUMBERS = ("integer", "decimal", "money", "duration")


class Unreadable(ValueError):
    """What was printed is no answer of the type."""


def read(text: str, form: Form, answer_type: str, digits: int | None = None) -> Any:
    """The value that a block printed, decimals rounded to so many digits. Raises Unreadable.

    >>> read("[('b',), ('a',)]", "literal", "set") == frozenset({"a", "b"})
    True
    >>> read("1 days 02:04:59", "plain", "duration")
    datetime.timedelta(days=1, seconds=7499)
    >>> read("nan", "plain", "money")
    """
    found = printed(text, form)
    try:
        if answer_type == "yes/no":
            return from_rows([tuple(flat(found))], answer_type)
        if answer_type in SETS:
            return from_rows([(each,) for each in flat(found)], answer_type)
        return single(found, answer_type, digits)
    except (Unfit, TypeError) as error:
        raise Unreadable(str(error)) from None


def single(found: Any, answer_type: str, digits: int | None) -> Any:
    """The one value there is, or None."""
    all_of_them = flat(found)
    if len(all_of_them) > 1:
        raise Unreadable(f"{len(all_of_them)} values, and the answer is one {answer_type}")
    value = all_of_them[0] if all_of_them else None
    if value is None or (isinstance(value, str) and value in NOTHING):
        return None
    if answer_type in NUMBERS:
        value = amount(value, answer_type, digits)
    return one(value, answer_type)


def flat(found: Any) -> list[Any]:
    """
    >>> flat([("a",), ("b",)]), flat("a"), flat([])
    (['a', 'b'], ['a'], [])
    """
    if isinstance(found, list | tuple):
        return [value for each in found for value in flat(each)]
    return [found]


def amount(value: Any, answer_type: str, digits: int | None) -> Any:
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
        raise Unreadable(f"{value!r} is no {answer_type}") from None
    if not number.is_finite() or number.adjusted() >= LARGEST:
        raise Unreadable(f"{value!r} is no {answer_type}")
    if answer_type == "decimal" and digits is not None:
        return number.quantize(Decimal(1).scaleb(-digits))
    return number


def printed(text: str, form: Form) -> Any:
    """The Python value, the texts of a column, or the text itself. Raises Unreadable."""
    text = text.strip()
    lines = text.splitlines()
    match form:
        case "plain":
            return text
        case "literal":
            return literal(lines[-1] if lines else "")
        case "series":
            return [] if text.startswith("Series([]") else entries(lines[:-1])
    return [] if text.startswith("Empty DataFrame") else entries(lines[1:])


def entries(lines: list[str]) -> list[Any]:
    """What stands beside the index of a series or a table."""
    found = [ENTRY.match(line) for line in lines if line.strip()]
    if not found or not all(found):
        raise Unreadable("not one value a line")
    texts = [each["value"].strip() for each in found if each]
    return [None if text in NOTHING else text for text in texts]


def literal(text: str) -> Any:
    """
    >>> literal("(Decimal('2.50'), datetime.date(2024, 5, 1), nan, np.int64(3), -1)")
    [Decimal('2.50'), datetime.date(2024, 5, 1), None, 3, -1]
    """
    for spelled in (text, text.replace("<NA>", "None")):
        try:
            return spoken(ast.parse(spelled, mode="eval").body)
        except (SyntaxError, TypeError, ArithmeticError, ValueError, RecursionError, MemoryError):
            continue
    raise Unreadable(f"{text[:80]} is no value")


CALLS: dict[str, Callable[..., Any]] = {
    "Decimal": Decimal,
    "Timestamp": datetime.fromisoformat,
    "datetime": datetime,
    "date": date,
}


def spoken(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Tuple(parts) | ast.List(parts):
            return [spoken(each) for each in parts]
        case ast.UnaryOp(ast.USub(), operand):
            return -spoken(operand)
        case ast.Name("nan" | "NaT"):
            return None
        case ast.Call(ast.Attribute(ast.Name("np"), _), [value]):
            return spoken(value)
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), parts) if name in CALLS:
            return CALLS[name](*map(spoken, parts))
    raise ValueError(f"{ast.dump(node)[:80]} is no value")
