"""What a task needs, held against everything in the shop that can be bought, by typed equality.

A need is met by a variant: by its choice, where the product offers a choice of that name, else by the product's own fact. Texts are
equal but for case; numbers with a unit are equal in value, whatever unit they are written in (`UNITS`); a color is what a
need says, or of its family; a price is the variant's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from pipeline.shop.store import Item, Option, Shelf, Store
from schemas.shop import Choice
from schemas.shopping import Need

NUMBERS = {"rating": "rating", "shipping days": "shipping_days", "review count": "review_count"}
UNITS: dict[str, tuple[str, float]] = {
    # unit: the one it is measured in, and how many of that
    "mm": ("m", 0.001), "cm": ("m", 0.01), "m": ("m", 1.0), "in": ("m", 0.0254), "ft": ("m", 0.3048), "yd": ("m", 0.9144),
    "g": ("kg", 0.001), "kg": ("kg", 1.0), "oz": ("kg", 0.028349523125), "lb": ("kg", 0.45359237),
    "ml": ("L", 0.001), "L": ("L", 1.0), "qt": ("L", 0.946352946), "gal": ("L", 3.785411784), "pints": ("L", 0.473176473),
    "GB": ("GB", 1.0), "TB": ("GB", 1000.0), "W": ("W", 1.0), "kW": ("W", 1000.0),
    "s": ("min", 1 / 60), "sec": ("min", 1 / 60), "min": ("min", 1.0), "minutes": ("min", 1.0), "hours": ("min", 60.0),
    "sq in": ("sq m", 0.00064516), "sq ft": ("sq m", 0.09290304), "lm": ("lm", 1.0), "lumens": ("lm", 1.0),
}  # fmt: skip
SAME = 1e-6
"""Numbers that differ by less than this share of them are the same: they were written in different units."""
MEASURE = re.compile(r"^\s*(?P<number>-?\d{1,15}(?:\.\d{1,15})?)\s*(?P<unit>\D.*)?$")


def measured(value: str, number: float | None = None, unit: str | None = None) -> tuple[float, str] | None:
    """A value as a number in its base unit; None for what is no measure.

    >>> measured("1.5 ft"), measured("18 in"), measured("glass")
    ((0.4572, 'm'), (0.4572, 'm'), None)
    """
    if number is None:
        found = MEASURE.match(value)
        if not found:
            return None
        number, unit = float(found["number"]), (found["unit"] or "").strip()
    base, factor = UNITS.get(unit or "", (unit or "", 1.0))
    return round(number * factor, 9), base


def is_same(value: str, other: str) -> bool:
    """
    >>> is_same("Oak wood", "oak wood"), is_same("1 ft", "12 in"), is_same("red", "redwood"), is_same("10", "10 in")
    (True, True, False, False)
    """
    if value.strip().lower() == other.strip().lower():
        return True
    one, two = measured(value), measured(other)
    return one is not None and two is not None and one[1] == two[1] and close(one[0], two[0])


def close(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(abs(one), abs(other))


def is_met(need: Need, item: Item, option: Option | None) -> bool:
    """Whether this variant (or the product, where it has none) is what the need says."""
    if need.fact == "price":
        return (option.cents if option else item.cents) <= round((need.number or 0) * 100)
    if need.fact in NUMBERS:
        value = getattr(item, NUMBERS[need.fact])
        return value is not None and need.number is not None and compared(float(value), need.op, need.number)
    found = fact_of(need.fact, item, option)
    if found is None:
        return False
    if need.op == "is":
        return is_same(found, need.value)
    have, wanted = measured(found), measured(need.value)
    return have is not None and wanted is not None and have[1] == wanted[1] and compared(have[0], need.op, wanted[0])


def compared(have: float, op: str, wanted: float) -> bool:
    return close(have, wanted) or (have < wanted if op == "at most" else have > wanted if op == "at least" else False)


def fact_of(name: str, item: Item, option: Option | None) -> str | None:
    """What stands for it: the variant's choice, else the product's fact."""
    for choice in option.choices if option else ():
        if plain(choice.name) == name:
            return choice.value
    if name in ("brand", "color"):
        found: str | None = getattr(item, name)
        return found
    return next((each.value for each in item.attributes if plain(each.name) == name), None)


def plain(name: str) -> str:
    return name.replace("_", " ").lower()


@dataclass(frozen=True)
class Counter:
    """The variants of one leaf category as columns, for many needs against all of them at once."""

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

    def where(self, needs: Iterable[Need]) -> np.ndarray:
        """Which can be bought and meet all."""
        found: np.ndarray = self.stocked.copy()
        for need in needs:
            found &= self.meets(need)
        return found

    def meets(self, need: Need) -> np.ndarray:
        if need.fact == "price":
            return self.cents <= round((need.number or 0) * 100)
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
        if need.op == "is":
            return [is_same(value, need.value) for value in self.values[need.fact]]
        wanted = measured(need.value)
        have = [measured(value) for value in self.values[need.fact]]
        return [
            one is not None and wanted is not None and one[1] == wanted[1] and compared(one[0], need.op, wanted[0])
            for one in have
        ]


class Counters:
    """The counters of a store, those used last at hand."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.of = lru_cache(256)(self.make)

    def make(self, leaf: int) -> Counter:
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
        columns, values = spread(shelf, owners)
        choose(store, places, columns, values)
        return Counter(
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
        )


def spread(shelf: Shelf, owners: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, list[str]]]:
    """The products' facts, once for each variant."""
    return {plain(name): column[owners] for name, column in shelf.codes.items()}, {
        plain(name): list(found) for name, found in shelf.values.items()
    }


def choose(store: Store, places: np.ndarray, columns: dict[str, np.ndarray], values: dict[str, list[str]]) -> None:
    """Each variant's choices take the place of its product's facts."""
    bought = places >= 0
    if not bought.any():
        return
    codes: dict[str, np.ndarray] = {}
    known: dict[str, list[str]] = {}
    store.choices.arrange(places[bought], codes, known, {})
    colors(store, places[bought], codes, known)
    for name, chosen in codes.items():
        name = plain(name)
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


def colors(store: Store, places: np.ndarray, codes: dict[str, np.ndarray], known: dict[str, list[str]]) -> None:
    """Choices of a name that products have a column of their own for, which `arrange` leaves out."""
    for name in ("color", "brand"):
        found = [
            next((each.value for each in store.option(int(place)).choices if plain(each.name) == name), None)
            for place in places
        ]
        if any(value is not None for value in found):
            known[name] = sorted({value for value in found if value is not None})
            number = {value: place for place, value in enumerate(known[name])}
            codes[name] = np.array(
                [number.get(value or "", -1) if value is not None else -1 for value in found], np.int32
            )


@dataclass(frozen=True)
class Thing:
    """A variant, with everything about it that a task could need."""

    item: Item
    option: Option | None

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        return self.option.choices if self.option else ()

    @cached_property
    def cents(self) -> int:
        return self.option.cents if self.option else self.item.cents


def options_named(thing: Thing) -> set[str]:
    """The facts that are chosen on the product's page."""
    return {plain(choice.name) for choice in thing.choices}


def as_need(fact: str, thing: Thing, **more: Any) -> Need | None:
    """The need for just what this variant is; None where it says nothing of it."""
    value = fact_of(fact, thing.item, thing.option)
    if value is None:
        return None
    kind: Literal["option", "attribute"] = "option" if fact in options_named(thing) else "attribute"
    found = measured(value)
    unit = MEASURE.match(value)
    told = (unit["unit"] or "").strip() or None if found and unit else None
    number = float(unit["number"]) if found and unit else None
    return Need(fact=fact, op="is", value=value, number=number, unit=told, kind=kind, **more)
