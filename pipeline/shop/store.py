"""What an episode in the shop looks things up in: products, variants, customers and orders, as columns that nobody changes.

All episodes of a process share one store; what an episode changes it keeps for itself (`pipeline.shop.tools`).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from math import isnan
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.arrow import cents
from schemas.record import Part
from schemas.shop import Attribute, Choice, Order

KEPT = 20_000
"""Products and variants that are kept as objects; others are made again from their columns."""
SHELVES = 64
SMALL = 200_000
"""Up to so many ids a dictionary is kept beside the column."""
EPOCH = datetime(1970, 1, 1)
NUMBERS = ("price", "rating", "shipping days")
"""Facts that every product can have as a number: cents, 1 to 5, days."""


class Constraint(Part):
    """Something that a product must be: `brand is Norrvik`, `price at most 40.00`."""

    fact: str
    op: Literal["is", "at most", "at least"]
    value: str
    """As a shopper says it: `Norrvik`, `$40`, `12 in`."""
    number: float | None = None
    """For `at most` and `at least`; a price in cents."""


@dataclass(frozen=True)
class Item:
    """A product, as the shop's tools show it."""

    row: int
    id: str
    title: str
    brand: str | None
    color: str | None
    category: str
    group: str
    cents: int
    rating: float | None
    review_count: int | None
    shipping_days: int | None
    description: str
    attributes: tuple[Attribute, ...]

    @cached_property
    def facts(self) -> dict[str, str | float]:
        """Everything that a constraint can be about, by name."""
        found: dict[str, str | float | None] = {a.name.replace("_", " "): a.value for a in self.attributes}
        found |= {f"{a.name.replace('_', ' ')} ({a.unit})": a.number for a in self.attributes if a.number is not None}
        found |= {"brand": self.brand, "color": self.color, "category": self.category, "price": float(self.cents)}
        found |= {"rating": self.rating, "shipping days": self.shipping_days}
        return {name: value for name, value in found.items() if value is not None}

    def meets(self, constraint: Constraint) -> bool:
        value = self.facts.get(constraint.fact)
        if value is None:
            return False
        if constraint.op == "is":
            return str(value).lower() == constraint.value.lower()
        if isinstance(value, str) or constraint.number is None:
            return False
        return value <= constraint.number if constraint.op == "at most" else value >= constraint.number


@dataclass(frozen=True)
class Option:
    """A variant of a product: what can be put into a cart."""

    id: str
    product_id: str
    choices: tuple[Choice, ...]
    cents: int
    stock: int
    is_title: bool

    @property
    def said(self) -> str:
        """
        >>> Option("v", "p", (Choice(name="size", value="M"), Choice(name="color", value="red")), 1, 1, True).said
        'size M, color red'
        """
        return ", ".join(f"{each.name} {each.value}" for each in self.choices)


@dataclass(frozen=True)
class Shelf:
    """The products of one leaf category, each fact a column; row i of each is product `rows[i]`."""

    rows: np.ndarray
    codes: dict[str, np.ndarray]
    """By fact: the number of its value in `values`, -1 where there is none."""
    values: dict[str, list[str]]
    numbers: dict[str, np.ndarray]
    """By fact: the number itself, NaN where there is none."""

    def where(self, constraints: Iterable[Constraint]) -> np.ndarray:
        """Which of them meet all constraints."""
        found = np.ones(len(self.rows), dtype=bool)
        for each in constraints:
            found &= self.meets(each)
        return found

    def meets(self, constraint: Constraint) -> np.ndarray:
        if constraint.op == "is":
            wanted = constraint.value.lower()
            known = self.values.get(constraint.fact, [])
            places = [place for place, value in enumerate(known) if value.lower() == wanted]
            column = self.codes.get(constraint.fact)
            return np.zeros(len(self.rows), dtype=bool) if column is None else np.isin(column, places)
        numbers = self.numbers.get(constraint.fact)
        if numbers is None or constraint.number is None:
            return np.zeros(len(self.rows), dtype=bool)
        return numbers <= constraint.number if constraint.op == "at most" else numbers >= constraint.number


@dataclass(frozen=True)
class Customer:
    """Somebody who shops, with what the shop knows of it; places, not products, so that a store of millions stays small."""

    id: str
    visited: np.ndarray
    """Rows of products clicked, the oldest first."""
    visited_at: np.ndarray
    """When, in seconds since 1970."""
    orders: tuple[Order, ...]
    """The oldest first."""
    member: bool = False
    """Of the shop's membership, to which some policies are kinder."""


class Store:
    """
    catalog: Product columns; variants: Variant columns, those of a product side by side, products in the catalog's order.

    `origin` says how another process gets the same store: a function and its arguments.
    """

    def __init__(
        self,
        catalog: pa.Table,
        variants: pa.Table,
        customers: Sequence[Customer] = (),
        *,
        origin: tuple[Callable[..., "Store"], tuple[Any, ...]] | None = None,
    ) -> None:
        self.origin = origin
        names = ("id", "title", "brand", "color", "category", "attributes", "description")
        columns = {name: whole(catalog, name) for name in names}
        self.ids, self.titles, self.brands = columns["id"], columns["title"], columns["brand"]
        self.colors, self.attributes = columns["color"], columns["attributes"]
        self.descriptions = columns["description"]
        self.cents = cents(whole(catalog, "price"))
        self.ratings = whole(catalog, "rating").cast(pa.float64()).to_numpy(zero_copy_only=False)
        self.reviews = whole(catalog, "review_count").cast(pa.float64()).to_numpy(zero_copy_only=False)
        self.shipping = whole(catalog, "shipping_days").cast(pa.float64()).to_numpy(zero_copy_only=False)
        coded = columns["category"].dictionary_encode()
        self.leaves: list[str] = coded.dictionary.to_pylist()
        self.leaf_of = coded.indices.to_numpy().astype(np.int32)
        self.by_leaf = np.argsort(self.leaf_of, kind="stable").astype(np.int64)
        self.leaf_edges = np.searchsorted(self.leaf_of[self.by_leaf], np.arange(len(self.leaves) + 1))
        self.place_of_leaf = {leaf: place for place, leaf in enumerate(self.leaves)}
        first = self.by_leaf[self.leaf_edges[:-1]]
        paths = whole(catalog, "category_path").take(pa.array(first)).to_pylist()
        self.groups = [path[0] for path in paths]
        """The broadest category above each leaf."""
        self.rows_by_id = Places(self.ids)
        self.variant_ids, self.choices = whole(variants, "id"), whole(variants, "choices")
        self.variant_cents = cents(whole(variants, "price"))
        self.variant_stock = whole(variants, "stock").to_numpy().astype(np.int32)
        self.variant_is_title = whole(variants, "is_title").to_numpy(zero_copy_only=False)
        owners = pc.index_in(whole(variants, "product_id"), value_set=self.ids).to_numpy()
        self.variant_edges = np.searchsorted(owners, np.arange(len(self.ids) + 1)).astype(np.int64)
        self.variants_by_id = Places(self.variant_ids)
        stocked = np.add.reduceat(np.append(self.variant_stock > 0, 0), self.variant_edges[:-1])
        self.in_stock = (stocked > 0) & (np.diff(self.variant_edges) > 0)
        """Whether any variant of a product is."""
        self.customers = tuple(customers)
        self.place_of_customer = {customer.id: place for place, customer in enumerate(self.customers)}
        self.item = lru_cache(KEPT)(self.make_item)
        self.options = lru_cache(KEPT)(self.make_options)
        self.shelf = lru_cache(SHELVES)(self.make_shelf)

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> Any:
        """Another process makes the same store again instead of receiving it."""
        if self.origin is None:
            raise TypeError("This store was made by hand and cannot be sent to another process.")
        return self.origin

    def row(self, product_id: str) -> int | None:
        """Where a product stands; None where there is none such."""
        return self.rows_by_id.of(product_id)

    def make_item(self, row: int) -> Item:
        leaf = int(self.leaf_of[row])
        rating, reviews, days = (float(column[row]) for column in (self.ratings, self.reviews, self.shipping))
        return Item(
            row=row,
            id=self.ids[row].as_py(),
            title=self.titles[row].as_py(),
            brand=self.brands[row].as_py(),
            color=self.colors[row].as_py(),
            category=self.leaves[leaf],
            group=self.groups[leaf],
            cents=int(self.cents[row]),
            rating=None if isnan(rating) else round(rating, 2),
            review_count=None if isnan(reviews) else int(reviews),
            shipping_days=None if isnan(days) else int(days),
            description=self.descriptions[row].as_py() or "",
            attributes=tuple(Attribute(**each) for each in self.attributes[row].as_py()),
        )

    def make_options(self, row: int) -> tuple[Option, ...]:
        """The variants of a product."""
        begin, end = self.variant_edges[row : row + 2].tolist()
        return tuple(self.option(place) for place in range(begin, end))

    def option(self, place: int) -> Option:
        row = int(np.searchsorted(self.variant_edges, place, side="right")) - 1
        return Option(
            id=self.variant_ids[place].as_py(),
            product_id=self.ids[row].as_py(),
            choices=tuple(Choice(**each) for each in self.choices[place].as_py()),
            cents=int(self.variant_cents[place]),
            stock=int(self.variant_stock[place]),
            is_title=bool(self.variant_is_title[place]),
        )

    def option_of(self, variant_id: str) -> Option | None:
        place = self.variants_by_id.of(variant_id)
        return None if place is None else self.option(place)

    def rows_of(self, leaf: int) -> np.ndarray:
        """The products of a leaf, in the catalog's order."""
        return self.by_leaf[self.leaf_edges[leaf] : self.leaf_edges[leaf + 1]]

    def make_shelf(self, leaf: int) -> Shelf:
        rows = self.rows_of(leaf)
        codes: dict[str, np.ndarray] = {}
        values: dict[str, list[str]] = {}
        numbers: dict[str, np.ndarray] = {"price": self.cents[rows].astype(np.float64)}
        numbers |= {"rating": np.round(self.ratings[rows], 2), "shipping days": self.shipping[rows]}
        for name, column in (("brand", self.brands), ("color", self.colors)):
            coded = column.take(pa.array(rows)).dictionary_encode()
            codes[name] = coded.indices.fill_null(-1).to_numpy().astype(np.int32)
            values[name] = coded.dictionary.to_pylist()
        places: dict[str, dict[str, int]] = {}
        for at, found in enumerate(self.attributes.take(pa.array(rows)).to_pylist()):
            for each in found or ():
                name = each["name"].replace("_", " ")
                if name not in codes:
                    codes[name], places[name] = np.full(len(rows), -1, dtype=np.int32), {}
                if name in places:
                    codes[name][at] = places[name].setdefault(each["value"], len(places[name]))
                if each["number"] is not None:
                    sized = f"{name} ({each['unit']})"
                    numbers.setdefault(sized, np.full(len(rows), np.nan))[at] = each["number"]
        return Shelf(rows, codes, values | {name: list(found) for name, found in places.items()}, numbers)


class Places:
    """Where each of many texts stands in a column, in the memory of the texts themselves."""

    def __init__(self, column: pa.StringArray) -> None:
        self.column = column
        self.order = pc.sort_indices(column).to_numpy().astype(np.int64)
        few = column.to_pylist() if len(column) <= SMALL else None
        self.known = {text: place for place, text in enumerate(few)} if few is not None else None

    def of(self, text: str) -> int | None:
        if self.known is not None:
            return self.known.get(text)
        low, high = 0, len(self.order)
        while low < high:
            middle = (low + high) // 2
            if self.column[int(self.order[middle])].as_py() < text:
                low = middle + 1
            else:
                high = middle
        found = int(self.order[low]) if low < len(self.order) else -1
        return found if found >= 0 and self.column[found].as_py() == text else None


def whole(table: pa.Table, name: str) -> Any:
    """A column as one array."""
    return pa.concat_arrays(column.chunks) if len((column := table[name]).chunks) else table[name].combine_chunks()


def moment(seconds: float) -> datetime:
    """A time of the shop's own clock, which has no zone.

    >>> moment(86_400)
    datetime.datetime(1970, 1, 2, 0, 0)
    """
    return EPOCH + timedelta(seconds=int(seconds))
