"""What a task needs, held against everything in the shop that can be bought, by typed equality.

A need is met by a variant: by its choice, where the product offers a choice of that name, else by the product's own fact. Texts are
equal but for case; numbers with a unit are equal in value, whatever unit they are written in (`UNITS`); a price is the variant's.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shopwright.pipeline.shop.store import Item, Option, Store
from shopwright.schemas.shop import Choice
from shopwright.schemas.shopping import Need

EVERYDAY = Path(__file__).parents[2] / "data" / "reference" / "everyday"
NUMBERS = {"rating": "rating", "shipping days": "shipping_days", "review count": "review_count"}
UNITS: dict[str, tuple[str, float]] = {
    # unit: the one it is measured in, and how many of that
    "mm": ("m", 0.001), "cm": ("m", 0.01), "m": ("m", 1.0), "in": ("m", 0.0254), "ft": ("m", 0.3048), "yd": ("m", 0.9144),
    "g": ("kg", 0.001), "kg": ("kg", 1.0), "oz": ("kg", 0.028349523125), "lb": ("kg", 0.45359237),
    "ml": ("L", 0.001), "L": ("L", 1.0), "qt": ("L", 0.946352946), "gal": ("L", 3.785411784), "pints": ("L", 0.473176473),
    "GB": ("GB", 1.0), "TB": ("GB", 1000.0), "W": ("W", 1.0), "kW": ("W", 1000.0),
    "s": ("min", 1 / 60), "sec": ("min", 1 / 60), "min": ("min", 1.0), "minutes": ("min", 1.0), "hours": ("min", 60.0),
    "毫米": ("m", 0.001), "厘米": ("m", 0.01), "米": ("m", 1.0), "英寸": ("m", 0.0254),
    "克": ("kg", 0.001), "千克": ("kg", 1.0), "公斤": ("kg", 1.0), "斤": ("kg", 0.5), "毫升": ("L", 0.001), "升": ("L", 1.0),
    "瓦": ("W", 1.0), "分钟": ("min", 1.0), "小时": ("min", 60.0),
    "sq in": ("sq m", 0.00064516), "sq ft": ("sq m", 0.09290304), "lm": ("lm", 1.0), "lumens": ("lm", 1.0),
}  # fmt: skip
# Numbers that differ by less than this share of them are the same: they were written in different units.
RELATIVE_TOLERANCE = 1e-6
# A price that is about so much differs from it by one part of so many, at most.
ABOUT = 10
MEASURE = re.compile(r"^\s*(?P<number>-?\d{1,15}(?:\.\d{1,15})?)\s*(?P<unit>\D.*)?$")


@cache
def load_color_words() -> dict[str, dict[str, Any]]:
    """By a color's name: its family, and how one says it."""
    return tomllib.loads((EVERYDAY / "colors.toml").read_text(encoding="utf-8"))


def find_color_family(color: str) -> str:
    """
    >>> find_color_family("Burgundy"), find_color_family("42")
    ('red', '')
    """
    family: str = load_color_words().get(color.strip().lower(), {}).get("family", "")
    return family


def parse_measurement(value: str, number: float | None = None, unit: str | None = None) -> tuple[float, str] | None:
    """A value as a number in its base unit; None for what is no measure.

    >>> parse_measurement("1.5 ft"), parse_measurement("18 in"), parse_measurement("glass")
    ((0.4572, 'm'), (0.4572, 'm'), None)
    """
    if number is None:
        found = MEASURE.match(value)
        if not found:
            return None
        number, unit = float(found["number"]), (found["unit"] or "").strip()
    base, factor = UNITS.get(unit or "", (unit or "", 1.0))
    return round(number * factor, 9), base


def is_same_value(value: str, other: str) -> bool:
    """
    >>> is_same_value("Oak wood", "oak wood"), is_same_value("1 ft", "12 in"), is_same_value("red", "redwood"), is_same_value("10", "10 in")
    (True, True, False, False)
    """
    if value.strip().lower() == other.strip().lower():
        return True
    one, two = parse_measurement(value), parse_measurement(other)
    return one is not None and two is not None and one[1] == two[1] and is_close(one[0], two[0])


def is_close(one: float, other: float) -> bool:
    return abs(one - other) <= RELATIVE_TOLERANCE * max(abs(one), abs(other))


def is_need_met(need: Need, item: Item, option: Option | None) -> bool:
    """Whether this variant (or the product, where it has none) is what the need says."""
    if need.fact == "price":
        return is_price_met(need, option.cents if option else item.cents)
    if need.fact in NUMBERS:
        value = getattr(item, NUMBERS[need.fact])
        return value is not None and need.number is not None and is_within_bound(float(value), need.op, need.number)
    found = find_variant_fact(need.fact, item, option)
    if found is None:
        return False
    if need.op == "kind of":
        return find_color_family(found) == need.value
    if need.op in ("is", "is not"):
        return is_same_value(found, need.value) == (need.op == "is")
    have, wanted = parse_measurement(found), parse_measurement(need.value)
    return (
        have is not None
        and wanted is not None
        and have[1] == wanted[1]
        and is_within_bound(have[0], need.op, wanted[0])
    )


def is_price_met(need: Need, cents: int) -> bool:
    """Whether a price in cents is at most the need's, or about it: a tenth more or less."""
    wanted = round((need.number or 0) * 100)
    return abs(cents - wanted) * ABOUT <= wanted if need.op == "about" else cents <= wanted


def compute_price_ceiling(need: Need) -> Decimal:
    """The most that it may cost, in dollars.

    >>> compute_price_ceiling(Need(fact="price", op="about", value="30.00", kind="price", known="stated", said=""))
    Decimal('33.00')
    """
    price = Decimal(need.value)
    return (price + price / ABOUT).quantize(Decimal("0.01")) if need.op == "about" else price


def is_within_bound(have: float, op: str, wanted: float) -> bool:
    return is_close(have, wanted) or (
        have < wanted if op == "at most" else have > wanted if op == "at least" else False
    )


def find_variant_fact(name: str, item: Item, option: Option | None) -> str | None:
    """What stands for it: the variant's choice, else the product's fact."""
    for choice in option.choices if option else ():
        if normalize_attribute_name(choice.name) == name:
            return choice.value
    if name in ("brand", "color"):
        found: str | None = getattr(item, name)
        return found
    return next((each.value for each in item.attributes if normalize_attribute_name(each.name) == name), None)


def normalize_attribute_name(name: str) -> str:
    return name.replace("_", " ").lower()


@dataclass(frozen=True, eq=False)
class VariantTable:
    """The variants of one leaf category as columns, for many needs against all of them at once."""

    group: str
    """The department."""
    leaf: str
    places: np.ndarray
    """Of the variants, in the store; -1 stands for a product without any."""
    rows: np.ndarray
    """The product of each."""
    cents: np.ndarray
    stocked: np.ndarray
    columns: dict[str, np.ndarray]
    """By fact: the number of its value in `values`, -1 where there is none."""
    values: dict[str, list[str]]
    numbers: dict[str, np.ndarray]
    language: str = "en"
    """The shop's."""

    @cached_property
    def known_masks(self) -> dict[tuple[str, str, str], int]:
        """What meets a need, by its fact, relation and value, as bits: filled by those who draw tasks."""
        return {}

    @cached_property
    def known_candidates(self) -> dict[tuple[str, str, str], Any]:
        """The same for what is made of a fact's value: its bound, what it is not."""
        return {}

    def where(self, needs: Iterable[Need]) -> np.ndarray:
        """Which can be bought and meet all."""
        found: np.ndarray = self.stocked.copy()
        for need in needs:
            found &= self.meets(need)
        return found

    def meets(self, need: Need) -> np.ndarray:
        if need.fact == "price":
            wanted = round((need.number or 0) * 100)
            near: np.ndarray = np.abs(self.cents - wanted) * ABOUT <= wanted
            return near if need.op == "about" else self.cents <= wanted
        if need.fact in NUMBERS:
            column = self.numbers[need.fact]
            if need.number is None:
                return np.zeros(len(self.rows), dtype=bool)
            return column <= need.number if need.op == "at most" else column >= need.number
        if need.fact not in self.columns:
            return np.zeros(len(self.rows), dtype=bool)
        good = np.array([*self.fitting(need), False])  # the last is that of -1, none
        found: np.ndarray = good[self.columns[need.fact]]
        return found

    def fitting(self, need: Need) -> list[bool]:
        if need.op == "kind of":
            return [find_color_family(value) == need.value for value in self.values[need.fact]]
        if need.op in ("is", "is not"):
            same = [is_same_value(value, need.value) for value in self.values[need.fact]]
            return same if need.op == "is" else [not each for each in same]
        wanted = parse_measurement(need.value)
        have = [parse_measurement(value) for value in self.values[need.fact]]
        return [
            one is not None
            and wanted is not None
            and one[1] == wanted[1]
            and is_within_bound(one[0], need.op, wanted[0])
            for one in have
        ]


class VariantTables:
    """The counters of a store, those used last at hand."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.of = lru_cache(256)(self.make)

    def make(self, leaf: int) -> VariantTable:
        store = self.store
        shelf = store.shelf(leaf)
        edges = store.variant_edges
        sizes = edges[shelf.rows + 1] - edges[shelf.rows]
        owners = np.repeat(np.arange(len(shelf.rows)), np.maximum(sizes, 1))
        first = np.repeat(np.append(0, np.cumsum(np.maximum(sizes, 1)))[:-1], np.maximum(sizes, 1))
        places = edges[shelf.rows][owners] + np.arange(len(owners)) - first
        places[np.repeat(sizes == 0, np.maximum(sizes, 1))] = -1
        bought = places >= 0
        rows = shelf.rows[owners]
        # The products' facts, once for each variant.
        columns = {normalize_attribute_name(name): column[owners] for name, column in shelf.codes.items()}
        values = {normalize_attribute_name(name): list(found) for name, found in shelf.values.items()}
        apply_variant_choices(store, places, columns, values)
        return VariantTable(
            group=store.groups[leaf],
            leaf=store.leaves[leaf],
            places=places,
            rows=rows,
            cents=np.where(bought, store.variant_cents[places], store.cents[rows]),
            stocked=np.where(bought, store.variant_stock[places] > 0, True),
            columns=columns,
            values=values,
            numbers={
                "rating": shelf.numbers["rating"][owners],
                "shipping days": shelf.numbers["shipping days"][owners],
                "review count": store.reviews[rows],
            },
            language=store.language.code,
        )


def apply_variant_choices(
    store: Store, places: np.ndarray, columns: dict[str, np.ndarray], values: dict[str, list[str]]
) -> None:
    """Each variant's choices take the place of its product's facts."""
    bought = places >= 0
    if not bought.any():
        return
    codes: dict[str, np.ndarray] = {}
    known: dict[str, list[str]] = {}
    store.choices.arrange(places[bought], codes, known, {}, but=store.unwished)
    add_reserved_choices(store, places[bought], codes, known)
    for name, chosen in codes.items():
        name = normalize_attribute_name(name)
        have = values.setdefault(name, [])
        column = columns.setdefault(name, np.full(len(places), -1, dtype=np.int32))
        number = {value: place for place, value in enumerate(have)}
        for value in known[name]:
            if value not in number:
                number[value] = len(have)
                have.append(value)
        to = np.array([number[value] for value in known[name]] + [-1])[chosen]
        here = np.flatnonzero(bought)[chosen >= 0]
        column[here] = to[chosen >= 0]


def add_reserved_choices(
    store: Store, places: np.ndarray, codes: dict[str, np.ndarray], known: dict[str, list[str]]
) -> None:
    """Choices of a name that products have a column of their own for, which `arrange` leaves out."""
    for name in ("color", "brand"):
        found = [find_choice_value(store.option(int(place)), name) for place in places]
        if any(value is not None for value in found):
            known[name] = sorted({value for value in found if value is not None})
            # -1: the variant has no such choice
            number: dict[str | None, int] = {value: place for place, value in enumerate(known[name])}
            codes[name] = np.array([number.get(value, -1) for value in found], np.int32)


def find_choice_value(option: Option, name: str) -> str | None:
    return next((each.value for each in option.choices if normalize_attribute_name(each.name) == name), None)


@dataclass(frozen=True)
class ProductVariant:
    """A variant, with everything about it that a task could need."""

    item: Item
    option: Option | None

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        return self.option.choices if self.option else ()

    @cached_property
    def cents(self) -> int:
        return self.option.cents if self.option else self.item.cents


def build_need(fact: str, thing: ProductVariant, **more: Any) -> Need | None:
    """The need for just what this variant is; None where it says nothing of it."""
    value = find_variant_fact(fact, thing.item, thing.option)
    if value is None:
        return None
    chosen = {normalize_attribute_name(choice.name) for choice in thing.choices}
    kind: Literal["option", "attribute"] = "option" if fact in chosen else "attribute"
    found = parse_measurement(value)
    unit = MEASURE.match(value)
    told = (unit["unit"] or "").strip() or None if found and unit else None
    number = float(unit["number"]) if found and unit else None
    return Need(fact=fact, op="is", value=value, number=number, unit=told, kind=kind, **more)
