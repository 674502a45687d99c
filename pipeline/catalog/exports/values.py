"""What stands in a cell of an export: the value at the end of a way, as text, and whether it says anything."""

import re
from itertools import chain
from math import isnan
from typing import Any

from shopwright.pipeline.catalog.repair.lists import unpack_value
from shopwright.pipeline.catalog.repair.text import MISSING, value_to_text

Row = dict[str, Any]
# The names in a value, from the outermost in.
Way = tuple[str, ...]
ZERO = re.compile(r"[^\d.,]*0+(?:[.,]0+)?[^\d.,]*")


def simplify_name(name: str) -> str:
    """
    >>> simplify_name("Product Name"), simplify_name("averageRating"), simplify_name("list-price ")
    ('product_name', 'average_rating', 'list_price')
    """
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).strip("_").lower()


def follow(value: Any, way: Way) -> Any:
    """What stands at the end of the way; a list gives a list of what each of its things has.

    >>> follow({"a": [{"b": 1}, {"b": 2}, {}]}, ("a", "b")), follow({"a": '{"b": 3}'}, ("a", "b")), follow({"a": 1}, ("a", "b"))
    ([1, 2], 3, None)
    """
    for name in way:
        if isinstance(value, str):
            value = unpack_value(value)
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list | tuple):
            found = [each.get(name) for each in value if isinstance(each, dict)]
            flat = chain.from_iterable(each if isinstance(each, list) else [each] for each in found)
            value = [each for each in flat if each is not None] or None
        else:
            return None
    return value


def says_nothing(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) < 20 and value.strip().lower() in MISSING
    if isinstance(value, list | tuple | dict):
        return not value or (isinstance(value, list) and all(map(says_nothing, value)))
    return value is None or (isinstance(value, float) and isnan(value))


def is_zero(value: Any) -> bool:
    return (isinstance(value, str) and bool(ZERO.fullmatch(value.strip()))) or (
        isinstance(value, int | float) and value == 0
    )


def short_name(name: str) -> str:
    """
    >>> short_name("Color (product.metafields.shopify.color-pattern)"), short_name("fields.weight"), short_name("weight")
    ('Color', 'weight', 'weight')
    """
    name = name.partition(" (product.metafields")[0]
    return name.rpartition(".")[2] or name if re.fullmatch(r"[\w.]+", name) else name


def is_scalar(value: Any) -> bool:
    from datetime import date, time

    if isinstance(value, str):
        return len(value) <= 200 and "://" not in value
    return value is not None and not isinstance(value, dict | list | tuple | bytes | date | time)


def says(value: Any) -> str:
    return "" if says_nothing(value) else (value_to_text(value) or "").strip()


def simplify_option(name: str) -> str:
    return simplify_name(name).replace("_", " ")


def single(value: Any) -> Any:
    """The one that all of a list are; of different ones a text that is no currency."""
    if isinstance(value, list | tuple):
        different = list(dict.fromkeys(map(str, value)))
        return different[0] if len(different) == 1 else " / ".join(different) or None
    return value


def make_id(value: Any) -> str:
    """A product's number or handle as one word of at most 64 characters.

    >>> make_id("WP 12/b"), len(make_id("a" * 80)), make_id("a" * 80) == make_id("a" * 81)
    ('WP-12/b', 64, False)
    """
    import hashlib

    word = re.sub(r"\s+", "-", (value_to_text(value) or "").strip())
    return word if len(word) <= 64 else f"{word[:55]}-{hashlib.sha256(word.encode()).hexdigest()[:8]}"
