"""What an episode in the shop looks things up in: products, variants, customers and orders, as columns that nobody changes.

All episodes of a process share one store; what an episode changes it keeps for itself (`shopwright.pipeline.shop.tools`).
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.catalog.fits import Fits, by_kind, covers
from shopwright.pipeline.catalog.wishes import find_unwished_names
from shopwright.pipeline.held_out import is_held_out
from shopwright.pipeline.languages import ENGLISH, ShopLanguage
from shopwright.pipeline.shop.sellers import assign_sellers, draw_sellers
from shopwright.pipeline.words import hash_words, hashed_words
from shopwright.schemas.certificates import Constraint
from shopwright.schemas.shop import Attribute, Choice, Order

# Products and variants that are kept as objects; others are made again from their columns.
MOST_OBJECTS_KEPT = 20_000
# Categories whose columns are kept at hand.
SHELVES = 1_024
# Up to so many ids a dictionary is kept beside the column.
SMALL = 200_000
EPOCH = datetime(1970, 1, 1)
# Facts that every product can have as a number: cents, 1 to 5, days.
NUMBERS = ("price", "rating", "shipping days")
# Facts with a column of their own, whatever an attribute of the same name says.
OWN = ("brand", "color", "category", *NUMBERS)
# The nodes of a category path; no text of a catalog has it.
PATH_SEPARATOR = "\x1f"
INDEX_STEP = 64
# Share of a shop's products of which no task is trained on, at most: a shop of games alone keeps no games back.
MOST_HELD_OUT = 0.25
# Bytes of text that one Arrow array holds.
LARGE = 2**31 - 1


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
    fits: Fits = field(default_factory=dict)
    path: tuple[str, ...] = ()
    """Its categories, from the broadest to the leaf."""
    unwished: frozenset[str] = frozenset()
    """Names of attributes that nobody asks for."""

    @cached_property
    def facts(self) -> dict[str, str | float]:
        """Everything that a constraint can be about, by name."""
        named = [(each.name.replace("_", " "), each) for each in self.attributes]
        named = [(name, each) for name, each in named if name not in self.unwished]
        found: dict[str, str | float | None] = {name: each.value for name, each in named}
        found |= {f"{name} ({each.unit})": each.number for name, each in named if each.number is not None}
        found |= {"brand": self.brand, "color": self.color, "category": self.category, "price": float(self.cents)}
        found |= {"rating": self.rating, "shipping days": self.shipping_days}
        return {name: value for name, value in found.items() if value is not None}

    def meets(self, constraint: Constraint) -> bool:
        if constraint.op == "fits":
            return is_covered(constraint, self.fits)
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
    def label(self) -> str:
        """
        >>> Option("v", "p", (Choice(name="size", value="M"), Choice(name="color", value="red")), 1, 1, True).label
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
    fits: tuple[Fits, ...] = ()
    """Of each."""
    titles: pa.Array | None = None

    @cached_property
    def title_words(self) -> tuple[np.ndarray, np.ndarray]:
        """Each word of each title once, as the place of the product and the word's hash."""
        places, hashes = hashed_words(self.titles)
        words, numbers = np.unique(hashes, return_inverse=True)
        found = np.unique(np.stack([places, numbers]), axis=1)
        return found[0], words[found[1]]

    def count_shared_title_words(self, at: int) -> np.ndarray:
        """How many words the title of each has in common with this one's."""
        places, words = self.title_words
        return np.bincount(places[np.isin(words, words[places == at])], minlength=len(self.rows))

    def count_words_in_titles(self, text: str) -> np.ndarray:
        """How many words of a text the title of each has."""
        places, words = self.title_words
        return np.bincount(places[np.isin(words, hash_words(text))], minlength=len(self.rows))

    def where(self, constraints: Iterable[Constraint]) -> np.ndarray:
        """Which of them meet all constraints."""
        found = np.ones(len(self.rows), dtype=bool)
        for each in constraints:
            found &= self.meets(each)
        return found

    def meets(self, constraint: Constraint) -> np.ndarray:
        if constraint.op == "fits":
            return np.fromiter((is_covered(constraint, each) for each in self.fits), bool, len(self.rows))
        if constraint.op == "is":
            wanted = constraint.value.lower()
            known = self.values.get(constraint.fact, [])
            places = [place for place, value in enumerate(known) if value.lower() == wanted]
            column = self.codes.get(constraint.fact)
            if column is None or not places:
                return np.zeros(len(self.rows), dtype=bool)
            return column == places[0] if len(places) == 1 else np.isin(column, places)
        numbers = self.numbers.get(constraint.fact)
        if numbers is None or constraint.number is None:
            return np.zeros(len(self.rows), dtype=bool)
        return numbers <= constraint.number if constraint.op == "at most" else numbers >= constraint.number


def is_covered(constraint: Constraint, fits: Fits) -> bool:
    """
    >>> wanted = Constraint(fact="device", op="fits", value="iphone 7 and iphone 8")
    >>> is_covered(wanted, {"device": frozenset(["iphone 8", "iphone 7"])}), is_covered(wanted, {"device": frozenset(["iphone 7"])})
    (True, False)
    """
    wanted = frozenset(constraint.value.split(" and "))
    return covers(constraint.fact, fits.get(constraint.fact, frozenset()), wanted)


NO_FITS: Fits = {}


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
    now: datetime | None = None
    """The one moment at which tasks may be set; None: any."""

    def at(self, now: datetime) -> "Customer":
        """The same customer, of whom tasks may be set at this moment alone."""
        return Customer(self.id, self.visited, self.visited_at, self.orders, self.member, now)


class Store:
    """
    catalog: Product columns; variants: Variant columns, those of a product side by side, products in the catalog's order.

    `origin` says how another process gets the same store: a function and its arguments; `seed` decides who sells what.
    """

    def __init__(
        self,
        catalog: pa.Table,
        variants: pa.Table,
        customers: Sequence[Customer] = (),
        *,
        origin: tuple[Callable[..., "Store"], tuple[Any, ...]] | None = None,
        seed: int = 0,
        language: ShopLanguage = ENGLISH,
    ) -> None:
        self.origin, self.seed, self.language = origin, seed, language
        self.ids, self.titles, self.brands, self.colors = (
            merge_column_chunks(catalog, name) for name in ("id", "title", "brand", "color")
        )
        self.facts = FactColumns(catalog["attributes"])
        self.unwished = find_unwished_names(catalog["attributes"])
        # By row, of those that are made for something.
        self.fits = index_product_fits(catalog["fits"]) if "fits" in catalog.column_names else {}
        self.descriptions = catalog["description"]
        self.cents = convert_prices_to_cents(catalog["price"])
        self.ratings, self.reviews, self.shipping = (
            catalog[name].cast(pa.float64()).to_numpy() for name in ("rating", "review_count", "shipping_days")
        )
        coded = encode_dictionary(catalog["category"])
        self.leaves: list[str] = coded.dictionary.to_pylist()
        self.leaf_of = coded.indices.to_numpy().astype(np.int32)
        self.by_leaf = np.argsort(self.leaf_of, kind="stable").astype(np.int64)
        self.leaf_edges = np.searchsorted(self.leaf_of[self.by_leaf], np.arange(len(self.leaves) + 1))
        self.place_of_leaf = {leaf: place for place, leaf in enumerate(self.leaves)}
        first = self.by_leaf[self.leaf_edges[:-1]]
        paths = [catalog["category_path"][row].as_py() for row in first.tolist()]
        # The broadest category above each leaf.
        self.groups = [path[0] if path else leaf for path, leaf in zip(paths, self.leaves, strict=True)]
        nodes = encode_dictionary(pc.binary_join(catalog["category_path"], PATH_SEPARATOR))
        self.paths = [tuple(path.split(PATH_SEPARATOR)) if path else () for path in nodes.dictionary.to_pylist()]
        self.path_of = nodes.indices.to_numpy().astype(np.int32)
        self.held_out_leaves = pick_held_out_leaves(self.leaves, paths, np.diff(self.leaf_edges).tolist())
        self.rows_by_id = TextIndex(self.ids)
        variants, owners = sort_variants(variants, self.ids)
        self.variant_ids = merge_column_chunks(variants, "id")
        self.choices = FactColumns(variants["choices"])
        self.variant_cents = convert_prices_to_cents(variants["price"])
        self.variant_stock = variants["stock"].to_numpy().astype(np.int32)
        self.variant_is_title = variants["is_title"].to_numpy()
        self.variant_edges = np.searchsorted(owners, np.arange(len(self.ids) + 1)).astype(np.int64)
        self.variants_by_id = TextIndex(self.variant_ids)
        stocked = np.append(0, np.cumsum(self.variant_stock > 0))[self.variant_edges]
        # Whether any variant of a product is.
        self.in_stock = np.diff(stocked) > 0
        self.customers = tuple(customers)
        self.place_of_customer = {customer.id: place for place, customer in enumerate(self.customers)}
        self.item = lru_cache(MOST_OBJECTS_KEPT)(self.make_item)
        self.options = lru_cache(MOST_OBJECTS_KEPT)(self.make_options)
        self.brief = lru_cache(MOST_OBJECTS_KEPT)(self.make_brief)
        self.option = lru_cache(MOST_OBJECTS_KEPT)(self.make_option)
        self.shelf = lru_cache(SHELVES)(self.make_shelf)

    def __len__(self) -> int:
        return len(self.ids)

    def __reduce__(self) -> Any:
        """Another process makes the same store again instead of receiving it."""
        if self.origin is None:
            raise TypeError("This store was made by hand and cannot be sent to another process.")
        return self.origin

    def row(self, product_id: str) -> int | None:
        """Where a product stands; None for an unknown id."""
        return self.rows_by_id.of(product_id)

    @property
    def seller_names(self) -> tuple[str, ...]:
        """The marketplace's sellers, the largest first."""
        return draw_sellers(self.seed)

    @cached_property
    def sellers(self) -> np.ndarray:
        """For each product the place of its seller among their names."""
        brands = encode_dictionary(self.brands)
        makers = brands.indices.fill_null(-1).to_numpy()
        titles = (title.as_py() for title in self.titles)
        return assign_sellers(self.seed, titles, makers, brands.dictionary.to_pylist(), self.leaf_of, self.leaves)

    def seller_of(self, row: int) -> str:
        return self.seller_names[int(self.sellers[row])]

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
            attributes=tuple(
                Attribute(name=name, value=value, number=number, unit=unit)
                for name, value, number, unit in self.facts.of(row)
            ),
            fits=self.fits.get(row, NO_FITS),
            path=self.paths[self.path_of[row]],
            unwished=self.unwished,
        )

    def make_brief(self, row: int) -> dict[str, Any]:
        """What lists show of a product."""
        rating, days = float(self.ratings[row]), float(self.shipping[row])
        return {
            "product_id": self.ids[row].as_py(),
            "title": self.titles[row].as_py(),
            "brand": self.brands[row].as_py(),
            "seller": self.seller_of(row),
            "category": self.leaves[int(self.leaf_of[row])],
            "price": int(self.cents[row]) / 100,
            "rating": None if isnan(rating) else round(rating, 2),
            "shipping_days": None if isnan(days) else int(days),
        }

    def make_options(self, row: int) -> tuple[Option, ...]:
        """The variants of a product."""
        begin, end = self.variant_edges[row : row + 2].tolist()
        return tuple(self.option(place) for place in range(begin, end))

    def make_option(self, place: int) -> Option:
        row = int(np.searchsorted(self.variant_edges, place, side="right")) - 1
        return Option(
            id=self.variant_ids[place].as_py(),
            product_id=self.ids[row].as_py(),
            choices=tuple(Choice(name=name, value=value) for name, value, _, _ in self.choices.of(place)),
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
        self.facts.arrange(rows, codes, values, numbers, but=self.unwished)
        fits = tuple(self.fits.get(row, NO_FITS) for row in rows.tolist())
        return Shelf(rows, codes, values, numbers, fits, self.titles.take(pa.array(rows)))


def index_product_fits(lists: pa.ChunkedArray) -> dict[int, Fits]:
    """What each product fits, by its row."""
    found: dict[int, Fits] = {}
    sizes = pc.list_value_length(lists).fill_null(0)
    for row in pc.indices_nonzero(sizes).to_pylist():
        found[row] = by_kind((each["kind"], each["value"]) for each in lists[row].as_py())
    return found


class FactColumns:
    """Named values of many things (attributes of products, choices of variants), as columns; those of thing i from `edges[i]`."""

    def __init__(self, lists: pa.ListArray | pa.ChunkedArray) -> None:
        self.edges = shrink_integers(np.append(0, np.cumsum(pc.list_value_length(lists).fill_null(0).to_numpy())))
        flat = pc.list_flatten(lists)
        names = encode_dictionary(pc.struct_field(flat, "name"))
        self.names: list[str] = names.dictionary.to_pylist()
        self.name_of = shrink_integers(names.indices.to_numpy())
        self.values = encode_dictionary(pc.struct_field(flat, "value"))
        self.value_of = self.values.indices.to_numpy()
        few = len(self.values.dictionary) <= SMALL
        self.words: list[str] | None = self.values.dictionary.to_pylist() if few else None
        self.numbers, self.unit_of = None, None
        self.units: list[str | None] = [None]
        if flat.type.get_field_index("number") >= 0:
            self.numbers = np.asarray(pc.struct_field(flat, "number"), np.float64)
            units = encode_dictionary(pc.struct_field(flat, "unit"))
            self.units = [*merge_plurals(units.dictionary.to_pylist()), None]
            self.unit_of = shrink_integers(units.indices.fill_null(len(units.dictionary)).to_numpy())

    def value(self, code: int) -> str:
        found: str = self.words[code] if self.words else self.values.dictionary[code].as_py()
        return found

    def of(self, thing: int) -> list[tuple[str, str, float | None, str | None]]:
        """Name, value, number and unit of each."""
        begin, end = self.edges[thing : thing + 2].tolist()
        span = slice(begin, end)
        names = [self.names[code] for code in self.name_of[span].tolist()]
        values = [self.value(code) for code in self.value_of[span].tolist()]
        if self.numbers is None or self.unit_of is None:
            return [(name, value, None, None) for name, value in zip(names, values, strict=True)]
        numbers = [None if isnan(number) else number for number in self.numbers[span].tolist()]
        units = [self.units[code] for code in self.unit_of[span].tolist()]
        return list(zip(names, values, numbers, units, strict=True))

    def places(self, things: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where all facts of these things stand, and where in that list those of each begin, and the end."""
        begins = self.edges[things].astype(np.int64)
        edges = np.append(0, np.cumsum(self.edges[things + 1] - begins))
        return np.repeat(begins - edges[:-1], np.diff(edges)) + np.arange(edges[-1]), edges

    def texts(self, things: np.ndarray) -> pa.ListArray:
        """The values of each."""
        places, edges = self.places(things)
        return pa.ListArray.from_arrays(edges.astype(np.int32), self.values.dictionary.take(self.value_of[places]))

    def arrange(
        self,
        things: np.ndarray,
        codes: dict[str, np.ndarray],
        values: dict[str, list[str]],
        numbers: dict[str, np.ndarray],
        but: Collection[str] = (),
    ) -> None:
        """Adds a column for each name, `but` for these, to those of a shelf; where a thing has several of one name, the last counts."""
        places, edges = self.places(things)
        owners = np.repeat(np.arange(len(things)), np.diff(edges))
        named = self.name_of[places]
        by_name: dict[str, list[int]] = {}
        for code in np.unique(named).tolist():
            by_name.setdefault(self.names[code].replace("_", " "), []).append(code)
        for name, alike in by_name.items():
            if name in but:
                continue
            here = np.isin(named, alike) if len(alike) > 1 else named == alike[0]
            if name not in OWN:
                known, local = np.unique(self.value_of[places[here]], return_inverse=True)
                codes[name] = np.full(len(things), -1, dtype=np.int32)
                codes[name][owners[here]] = local
                values[name] = [self.value(code) for code in known.tolist()]
            self.measure(name, places[here], owners[here], len(things), numbers)

    def measure(
        self, name: str, places: np.ndarray, owners: np.ndarray, count: int, numbers: dict[str, np.ndarray]
    ) -> None:
        if self.numbers is None or self.unit_of is None:
            return
        measured = ~np.isnan(self.numbers[places])
        places, owners = places[measured], owners[measured]
        for unit in np.unique(self.unit_of[places]).tolist():
            here = self.unit_of[places] == unit
            column = numbers.setdefault(f"{name} ({self.units[unit]})", np.full(count, np.nan))
            column[owners[here]] = self.numbers[places[here]]


def merge_plurals(units: Sequence[str]) -> list[str]:
    """One unit for what is counted, whether there is one of it or more: 1 worker can be held against 3 workers.

    >>> merge_plurals(["worker", "workers", "in", "person", "oz"])
    ['workers', 'workers', 'in', 'person', 'oz']
    """
    return [f"{each}s" if len(each) > 2 and f"{each}s" in units else each for each in units]


def shrink_integers(numbers: np.ndarray) -> np.ndarray:
    """The same from 0 on in as few bytes as hold them.

    >>> shrink_integers(np.array([0, 300])).dtype
    dtype('uint16')
    """
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


class TextIndex:
    """Where each of many texts stands in a column, in the memory of the texts themselves."""

    def __init__(self, column: pa.StringArray) -> None:
        self.column = column
        few = column.to_pylist() if len(column) <= SMALL else None
        self.known = {text: place for place, text in enumerate(few)} if few is not None else None
        many = pc.sort_indices(column).to_numpy() if few is None else np.zeros(0)
        self.order = many.astype(np.int32 if len(many) < 2**31 else np.int64)
        # Every so many-th text, in order, so that few are looked at in the column.
        self.marks: list[str] = column.take(pa.array(self.order[::INDEX_STEP])).to_pylist()

    def of(self, text: str) -> int | None:
        if self.known is not None:
            return self.known.get(text)
        mark = bisect_left(self.marks, text)
        low, high = max(0, (mark - 1) * INDEX_STEP), min(mark * INDEX_STEP, len(self.order) - 1)
        while low < high:
            middle = (low + high) // 2
            if self.column[int(self.order[middle])].as_py() < text:
                low = middle + 1
            else:
                high = middle
        found = int(self.order[low]) if low < len(self.order) else -1
        return found if found >= 0 and self.column[found].as_py() == text else None


def merge_column_chunks(table: pa.Table, name: str) -> Any:
    """A column as one array."""
    column = table[name]
    if pa.types.is_string(column.type) and column.nbytes > LARGE:
        column = column.cast(pa.large_string())
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [column.combine_chunks()])


def pick_held_out_leaves(
    leaves: Sequence[str], paths: Sequence[Sequence[str] | None], sizes: Sequence[int]
) -> frozenset[str]:
    """The categories of which tasks stand in tests alone; none where they are too much of the shop to be missed in training.

    >>> pick_held_out_leaves(["Puzzles", "Mugs"], [["Games & Puzzles", "Puzzles"], ["Kitchen", "Mugs"]], [10, 90])
    frozenset({'Puzzles'})
    """
    held = [is_held_out("categories", path or ()) for path in paths]
    count = sum(size for size, out in zip(sizes, held, strict=True) if out)
    if count > MOST_HELD_OUT * sum(sizes):
        return frozenset()
    return frozenset(leaf for leaf, out in zip(leaves, held, strict=True) if out)


def encode_dictionary(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """As numbers of its different texts; the texts themselves are not copied."""
    found = column.dictionary_encode()
    return found if isinstance(found, pa.Array) else found.combine_chunks()


def convert_prices_to_cents(prices: pa.ChunkedArray) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *map(decimal_to_cents, prices.chunks)])


def sort_variants(variants: pa.Table, ids: pa.Array) -> tuple[pa.Table, np.ndarray]:
    """The variants of these products, side by side and as the products stand, and the row of each one's product."""
    owners = pc.index_in(variants["product_id"], value_set=ids).fill_null(-1).to_numpy()
    if len(owners) and (owners.min() < 0 or (np.diff(owners) < 0).any()):
        order = np.argsort(owners, kind="stable")
        order = order[owners[order] >= 0]
        return variants.take(pa.array(order)), owners[order]
    return variants, owners


def seconds_to_shop_time(seconds: float) -> datetime:
    """A time of the shop's own clock, which has no zone.

    >>> seconds_to_shop_time(86_400)
    datetime.datetime(1970, 1, 2, 0, 0)
    """
    return EPOCH + timedelta(seconds=int(seconds))
