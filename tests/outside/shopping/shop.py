"""A run's catalog as rows of its Parquet, and what of it meets the needs of a task: plain Python that shares nothing with the package.

A need is met by the variant's choice where the product offers one of that name, else by the product's own fact.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = Mapping[str, Any]
# A unit: what it measures, and how much of it one is (NIST Handbook 44; a TB is a thousand GB).
UNITS = {
    "mm": ("length", "0.001"), "cm": ("length", "0.01"), "m": ("length", "1"), "in": ("length", "0.0254"), "ft": ("length", "0.3048"),
    "yd": ("length", "0.9144"), "g": ("mass", "0.001"), "kg": ("mass", "1"), "oz": ("mass", "0.028349523125"), "lb": ("mass", "0.45359237"),
    "ml": ("volume", "0.001"), "L": ("volume", "1"), "qt": ("volume", "0.946352946"), "gal": ("volume", "3.785411784"),
    "pints": ("volume", "0.473176473"), "GB": ("bytes", "1"), "TB": ("bytes", "1000"), "W": ("power", "1"), "kW": ("power", "1000"),
    "s": ("time", "1"), "sec": ("time", "1"), "min": ("time", "60"), "minutes": ("time", "60"), "hours": ("time", "3600"),
    "sq in": ("area", "0.00064516"), "sq ft": ("area", "0.09290304"), "sq m": ("area", "1"), "lm": ("light", "1"), "lumens": ("light", "1"),
}  # fmt: skip
QUANTITY = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)[ \t]*([^0-9].*)?")
# Of numbers that were written in different units, the share by which equal ones may differ.
ROUNDING = Fraction(1, 1_000_000)
COLUMNS = [
    "id",
    "title",
    "brand",
    "color",
    "category",
    "price",
    "attributes",
    "rating",
    "shipping_days",
    "review_count",
]


@dataclass(frozen=True)
class Variant:
    """What can be bought: a variant, or a product that has none."""

    product: str
    id: str
    """Empty for a product without variants."""
    cents: int
    stock: int
    choices: Mapping[str, str]
    """By the option's name as the shop writes it."""
    facts: Mapping[str, str]
    """By name in lower case with spaces; the choices stand for facts of the same name."""


@dataclass(frozen=True)
class Product:
    id: str
    title: str
    category: str
    facts: Mapping[str, str]
    """Its own, whatever is chosen."""
    variants: list[Variant] = field(default_factory=list)
    """In the order of the shop; sold-out ones too."""


def read_rows(folder: Path, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.parquet")):
        yield from pq.read_table(path, columns=columns).to_pylist()


def read_shop(run: Path) -> dict[str, Product]:
    """All products of a run, by id."""
    offered: dict[str, list[Row]] = defaultdict(list)
    for row in read_rows(run / "variants"):
        offered[row["product_id"]].append(row)
    return {row["id"]: make_product(row, offered[row["id"]]) for row in read_rows(run / "catalog", COLUMNS)}


def make_product(row: Row, offered: Iterable[Row]) -> Product:
    facts = {write_name(each["name"]): str(each["value"]) for each in reversed(row["attributes"] or [])}
    facts |= {name: row[name] for name in ("brand", "color") if row[name] is not None}
    numbers = {"rating": row["rating"], "shipping days": row["shipping_days"], "review count": row["review_count"]}
    facts |= {name: str(value) for name, value in numbers.items() if value is not None}
    product = Product(row["id"], row["title"], row["category"], facts)
    for each in offered:
        choices = {choice["name"]: choice["value"] for choice in each["choices"]}
        own = {write_name(name): value for name, value in choices.items()}
        cents = to_cents(each["price"])
        product.variants.append(Variant(row["id"], each["id"], cents, each["stock"], choices, facts | own))
    if not product.variants:
        product.variants.append(Variant(row["id"], "", to_cents(row["price"]), 1, {}, facts))
    return product


def to_cents(price: Any) -> int:
    return int(Fraction(str(price)) * 100)


def write_name(name: str) -> str:
    return name.replace("_", " ").lower()


@lru_cache(100_000)
def read_quantity(text: str) -> tuple[Fraction, str] | None:
    """A number in the base of its kind of unit, and that kind; an unknown unit is a kind of its own.

    >>> read_quantity("1 ft") == read_quantity("12 in"), read_quantity("glass"), read_quantity("10") == read_quantity("10 in")
    (True, None, False)
    """
    match = QUANTITY.fullmatch(text.strip())
    if not match:
        return None
    unit = (match[2] or "").strip()
    kind, factor = UNITS.get(unit, (unit, "1"))
    return Fraction(match[1]) * Fraction(factor), kind


FAMILIES = tomllib.loads(
    (Path(__file__).parents[3] / "data" / "reference" / "everyday" / "colors.toml").read_text(encoding="utf-8")
)


def are_equal(one: str, other: str) -> bool:
    """Whether two values are the same, but for case and the unit."""
    if one.strip().lower() == other.strip().lower():
        return True
    first, second = read_quantity(one), read_quantity(other)
    return bool(first and second and first[1] == second[1] and is_near(first[0], second[0]))


def is_near(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))


COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "at most": lambda have, wanted: have <= wanted or is_near(have, wanted),
    "at least": lambda have, wanted: have >= wanted or is_near(have, wanted),
    "about": lambda have, wanted: abs(have - wanted) * 10 <= wanted,
}


def meets(need: Row, variant: Variant) -> bool:
    """Whether a variant is what a need says."""
    if need["fact"] == "price":
        return COMPARE[need["op"]](Fraction(variant.cents, 100), Fraction(need["value"]))
    have = variant.facts.get(need["fact"])
    if have is None:
        return False
    if need["op"] == "kind of":
        return FAMILIES.get(have.strip().lower(), {}).get("family") == need["value"]
    if need["op"] in ("is", "is not"):
        return are_equal(have, need["value"]) == (need["op"] == "is")
    found, wanted = read_quantity(have), read_quantity(need["value"])
    return bool(found and wanted and found[1] == wanted[1] and COMPARE[need["op"]](found[0], wanted[0]))


def meets_all(needs: Iterable[Row], variant: Variant) -> bool:
    return all(meets(need, variant) for need in needs)
