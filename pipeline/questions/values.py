"""An answer's value, by its type: from a database's rows, as JSON, and as the text that an agent should give.

| type | value | canonical text |
| --- | --- | --- |
| integer | int | 3 |
| decimal, money | Decimal | 66.7, 129.90 |
| date, date-time | date, datetime | 2024-05-12, 2024-05-12 09:00:01 |
| duration | timedelta | 26:04:59 |
| text | str | as it stands in the event |
| set | frozenset of str | a; b; c, sorted |
| ordered list | list of str | b; a |
| yes/no | list of bool | yes; no; yes |
| none | None | none |
"""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

CENT = Decimal("0.01")
SETS = ("set", "ordered list")


class Unfit(ValueError):
    """Rows that are no answer of the type."""


def value_from_rows(rows: list[tuple[Any, ...]], answer_type: str) -> Any:
    """What a query gave, as a value. Raises Unfit.

    >>> value_from_rows([(1299.0,)], "money")
    Decimal('1299.00')
    >>> value_from_rows([("b",), ("a",)], "text")
    Traceback (most recent call last):
    shopwright.pipeline.questions.values.Unfit: 2 rows of result, and the answer is one text
    """
    if answer_type == "yes/no":
        if len(rows) != 1:
            raise Unfit(f"{len(rows)} rows of result, and the answer is one row of yes and no")
        return [bool(each) for each in rows[0]]
    if any(len(row) != 1 for row in rows):
        raise Unfit(f"{len(rows[0])} columns of result")
    found = [row[0] for row in rows]
    if answer_type in SETS:
        names = [str(each) for each in found]
        if answer_type == "set" and len(set(names)) < len(names):
            raise Unfit("a set with the same value twice")
        return (frozenset(names) if answer_type == "set" else names) or None
    if len(found) > 1:
        raise Unfit(f"{len(found)} rows of result, and the answer is one {answer_type}")
    return convert_value(found[0], answer_type) if found and found[0] is not None else None


def convert_value(found: Any, answer_type: str) -> Any:
    """One value of a database as ours: SQLite gives times as text and decimals as floats."""
    try:
        match answer_type:
            case "integer":
                whole = int(found)
                if whole != found:
                    raise Unfit(f"{found} is no integer")
                return whole
            case "money":
                return Decimal(repr(found) if isinstance(found, float) else found).quantize(CENT)
            case "decimal":
                number = Decimal(repr(found) if isinstance(found, float) else found)
                if not number.is_finite():
                    raise Unfit(f"{found} is no number")
                return number
            case "date":
                return found if type(found) is date else date.fromisoformat(found)
            case "date-time":
                return found if isinstance(found, datetime) else datetime.fromisoformat(found)
            case "duration":
                return timedelta(seconds=int(found))
            case "text":
                return str(found)
    except (TypeError, ValueError, ArithmeticError):
        raise Unfit(f"{found!r} is no {answer_type}") from None
    raise Unfit(f"{found!r}, and the answer is {answer_type}")


def value_to_json(value: Any) -> str:
    """
    >>> value_to_json(frozenset(["b", "a"])), value_to_json(timedelta(minutes=1)), value_to_json(Decimal("1.50"))
    ('["a", "b"]', '60', '"1.50"')
    """
    match value:
        case timedelta():
            value = int(value.total_seconds())
        case frozenset():
            value = sorted(value)
        case Decimal() | date():
            value = str(value)
    return json.dumps(value, ensure_ascii=False)


def value_from_json(text: str, answer_type: str) -> Any:
    """What `value_to_json` wrote. Raises Unfit for what it never writes."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unfit(f"{text} is no JSON") from None
    if value is None:
        return None
    if answer_type == "yes/no":
        if not isinstance(value, list) or not value or not all(isinstance(each, bool) for each in value):
            raise Unfit(f"{text} is no list of true and false")
        return value
    if answer_type in SETS:
        if not isinstance(value, list):
            raise Unfit(f"{text} is no list")
        return value_from_rows([(each,) for each in value], answer_type)
    return convert_value(value, answer_type)


def format_canonical(value: Any) -> str:
    """
    >>> format_canonical(timedelta(days=1, seconds=5)), format_canonical([True, False]), format_canonical(None)
    ('24:00:05', 'yes; no', 'none')
    """
    match value:
        case None:
            return "none"
        case timedelta():
            seconds = int(value.total_seconds())
            minutes = abs(seconds) // 60
            return f"{'-' if seconds < 0 else ''}{minutes // 60}:{minutes % 60:02d}:{abs(seconds) % 60:02d}"
        case frozenset():
            return "; ".join(sorted(value))
        case list():
            return "; ".join(("yes" if each else "no") if isinstance(each, bool) else each for each in value)
    return str(value)
