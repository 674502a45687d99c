"""The catalog as columns, arranged for a shopper to walk through."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.catalog.chinese_shop import map_leaves
from shopwright.pipeline.catalog.reference import list_leaves
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.render.trajectory import product_bodies, product_heads
from shopwright.pipeline.tokens import estimates
from shopwright.pipeline.words import STOP, WORD, split_words, strip_plural
from shopwright.schemas.shop import Product

EPOCH = date(1970, 1, 1)
# Products whose words are remembered; more than these are looked at again.
MOST_SPEECHES_KEPT = 100_000
# A word in so many of a leaf's titles says what kind of thing they are.
SHARED = 0.3
# Titles of a leaf that are looked at.
EXAMPLES = 200
# Cents above every price, so that leaf and price make one number that sorts by both.
DEAREST = 10**12
# Characters of an attribute that people say.
LONGEST_VALUE = 24
LETTERS = re.compile(r"[^\W\d_]{2,}")
TOKEN = re.compile(rf"\d+\.\d+|{WORD.pattern}")
# Words that stand in titles of every kind of thing, and in no name for one.
SAY_LITTLE = frozenset(
    "pack packs count inch inches feet wide long tall high series compatible capacity holds retail packaging each".split()
)
MODEL = re.compile(r"(?=\w*\d)(?=\w*[a-z])\w{4,}|\d{4,}")


@dataclass(frozen=True)
class ProductWords:
    """The words that people have for a product."""

    brand: str
    head: str
    """What it is: `table lamp`."""
    details: tuple[str, ...]
    """What tells it from others of its kind: `oak`, `12 in`."""
    color: str
    start: str
    """The first words of its title."""
    uses: tuple[str, ...] = ()
    """What it is for, where its title says so: `busy mornings`."""


class CatalogColumns:
    """Columns of a catalog: product i stands in row i of each."""

    def __init__(self, catalog: Dataset[Product]) -> None:
        names = ["id", "title", "brand", "color", "category", "price", "promotions", "queries", "attributes"]
        table = catalog.table(names).combine_chunks()
        column = {
            name: table[name].chunk(0) if table[name].num_chunks else table[name].combine_chunks() for name in names
        }
        self.ids, self.titles, self.brands, self.colors = (column[n] for n in ("id", "title", "brand", "color"))
        self.categories = column["category"]
        self.cents = decimal_to_cents(column["price"])
        self.heads = product_heads(self.ids, self.titles, self.brands, self.colors)
        # As a line shows each product at its list price.
        self.bodies = product_bodies(self.heads, column["price"])
        self.body_tokens = estimates(self.bodies)
        coded = self.categories.dictionary_encode()
        self.leaves: list[str] = coded.dictionary.to_pylist()
        self.leaf_of = coded.indices.to_numpy().astype(np.int64)
        makers = self.brands.dictionary_encode()
        self.place_of_brand = {brand: place for place, brand in enumerate(makers.dictionary.to_pylist())}
        self.brand_of = makers.indices.fill_null(-1).to_numpy().astype(np.int64)
        # Products by leaf, in a leaf by price; leaf k from `edges[k]` to `edges[k + 1]`.
        self.by_price = np.lexsort((self.cents, self.leaf_of))
        self.edges = np.searchsorted(self.leaf_of[self.by_price], np.arange(len(self.leaves) + 1))
        self.steps = self.leaf_of[self.by_price] * DEAREST + self.cents[self.by_price]
        self.leaf_tokens = np.bincount(self.leaf_of, self.body_tokens) / np.maximum(np.bincount(self.leaf_of), 1)
        self.place_of_leaf = {leaf: place for place, leaf in enumerate(self.leaves)}
        self.promotions = index_promotions(column["promotions"])
        self.promoted = np.zeros(len(table), dtype=bool)
        self.promoted[list(self.promotions)] = True
        self.queries = collect_real_queries(column["queries"])
        self.attributes = column["attributes"]
        self.word_sets: dict[int, frozenset[str]] = {}
        self.speeches: dict[int, ProductWords] = {}
        self.shared: dict[int, dict[str, float]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def affordable(self, leaf: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Where in `by_price` the products of a leaf end that cost at most `limit` cents."""
        return np.searchsorted(self.steps, leaf * DEAREST + limit, side="right")

    def index_of(self, ids: pa.Array) -> pa.Array:
        """The row of each id; null where the catalog has none such."""
        return pc.index_in(ids, value_set=self.ids)

    def on_promotion(
        self, places: np.ndarray, products: np.ndarray, days: np.ndarray
    ) -> dict[int, tuple[int, int, int, Any]]:
        """By place: the promotion that holds for that product on that day (days since 1970)."""
        found = {}
        for place, product, day in zip(places.tolist(), products.tolist(), days.tolist(), strict=True):
            for one in self.promotions[product]:
                if one[0] <= day <= one[1]:
                    found[place] = one
        return found

    def words(self, product: int) -> frozenset[str]:
        """All words by which a search can find a product."""
        found = self.word_sets.get(product)
        if found is None:
            if len(self.word_sets) >= MOST_SPEECHES_KEPT:
                self.word_sets.clear()
            parts = (
                column[product].as_py() or "" for column in (self.titles, self.brands, self.colors, self.categories)
            )
            found = self.word_sets[product] = frozenset(split_words(" ".join(parts)))
        return found

    def speech(self, product: int) -> ProductWords:
        found = self.speeches.get(product)
        if found is None:
            if len(self.speeches) >= MOST_SPEECHES_KEPT:
                self.speeches.clear()
            found = self.speeches[product] = self.listen(product)
        return found

    def listen(self, product: int) -> ProductWords:
        leaf = self.leaves[int(self.leaf_of[product])]
        if leaf in map_leaves():
            return self.listen_in_chinese(product, leaf)
        brand, color = ((column[product].as_py() or "").lower() for column in (self.brands, self.colors))
        title = self.split_title(product)
        head = self.find_head(product, title, leaf)
        in_title = self.values_in_title(product, {*split_words(brand), *head})
        details = [value for name, value in in_title if name != "use"] or join_units(
            [word for word in self.list_own_words(product, title) if word not in head]
        )
        details = [word for word in details if len(word) > 1 and word not in SAY_LITTLE]
        start = [word for word in title[:5] if word not in STOP]
        uses = tuple(value for name, value in in_title if name == "use")
        return ProductWords(brand, " ".join(head), tuple(details), color, " ".join(start), uses)

    def head(self, product: int) -> str:
        """The head of its speech alone, which takes half of the time."""
        leaf = self.leaves[int(self.leaf_of[product])]
        if leaf in map_leaves():
            return self.listen_in_chinese(product, leaf).head
        return " ".join(self.find_head(product, self.split_title(product), leaf))

    def split_title(self, product: int) -> list[str]:
        found: list[str] = TOKEN.findall(self.titles[product].as_py().lower())
        return found

    def find_head(self, product: int, title: list[str], leaf: str) -> list[str]:
        return (
            find_reference_noun(title, leaf)
            or self.kind_in(self.list_own_words(product, title), int(self.leaf_of[product]))
            or split_words(leaf)[:2]
            or title[:2]
        )

    def list_own_words(self, product: int, title: list[str]) -> list[str]:
        """The words of a title without little ones, the brand, the color, and numbers of models."""
        brand, color = ((column[product].as_py() or "").lower() for column in (self.brands, self.colors))
        named, colors = set(split_words(brand)), color.split()
        return [
            word
            for before, word in pairwise(["", *title])
            if (word not in STOP or is_plain_number(before))
            and strip_plural(word) not in named
            and not MODEL.fullmatch(word)
            and word not in colors
        ]

    def listen_in_chinese(self, product: int, leaf: str) -> ProductWords:
        """The same of a title without spaces between its words: what the reference knows of its leaf stands in it."""
        title, known = self.titles[product].as_py(), map_leaves()[leaf]
        brand, color = (column[product].as_py() or "" for column in (self.brands, self.colors))
        nouns = [noun for noun in known.nouns if noun in title]
        values = [one["value"] for one in self.attributes[product].as_py() or ()]
        details = tuple(value for value in values if value in title and len(value) <= LONGEST_VALUE)
        return ProductWords(brand, max(nouns, key=len, default=leaf), details, color, " ".join(title.split()[:2]))

    def values_in_title(self, product: int, taken: set[str]) -> list[tuple[str, str]]:
        """The attributes that a product's title names, with their values in the shop's words: `24-hour timer`."""
        title = self.titles[product].as_py().lower()
        found = [(one["name"], one["value"].lower()) for one in self.attributes[product].as_py() or ()]
        return [
            (name, value)
            for name, value in found
            if name != "color"
            and 2 < len(value) <= LONGEST_VALUE
            and value in title
            and taken.isdisjoint(value.split())
        ]

    def kind_in(self, said: list[str], leaf: int) -> list[str]:
        """The words of a title that say what kind of thing it is: its leaf's name, else what its leaf's titles share."""
        letters = [word for word in said if LETTERS.fullmatch(word) and word not in STOP and word not in SAY_LITTLE]
        letters = list({strip_plural(word): word for word in reversed(letters)}.values())[
            ::-1
        ]  # frames are a frame again
        name = set(split_words(self.leaves[leaf]))
        name |= {f"{word[:-2]}y" for word in name if word.endswith("ie")}  # supplies are a supply
        if found := [word for word in letters if strip_plural(word) in name]:
            return found
        shared = self.shared_words(leaf)
        common = sorted(letters, key=lambda word: -shared.get(strip_plural(word), 0.0))[:2]
        found = [word for word in letters if word in common and strip_plural(word) in shared]
        return found or letters[-2:]

    def shared_words(self, leaf: int) -> dict[str, float]:
        """The words that say what kind of thing a leaf holds, with the share of its titles that have them."""
        found = self.shared.get(leaf)
        if found is None:
            first, last = self.edges[leaf], self.edges[leaf + 1]
            step = max(1, (last - first) // EXAMPLES)
            rows = self.by_price[first:last:step]
            titles = self.titles.take(pa.array(rows)).to_pylist()
            counts = Counter(chain.from_iterable(set(split_words(title)) for title in titles))
            found = {word: n / len(rows) for word, n in counts.items() if n >= SHARED * len(rows) and n > 1}
            found = self.shared[leaf] = {word: share for word, share in found.items() if word not in STOP}
        return found


def join_units(details: Sequence[str]) -> list[str]:
    """
    >>> join_units(["oak", "12.5", "in", "e26", "3"])
    ['oak', '12.5 in', 'e26']
    """
    found: list[str] = []
    for word in details:
        if found and is_plain_number(found[-1]) and word.isalpha() and len(word) <= 5:
            found[-1] += f" {word}"
        else:
            found.append(word)
    return [word for word in found if not is_plain_number(word)]


def is_plain_number(word: str) -> bool:
    return word.replace(".", "", 1).isdigit()


def index_promotions(column: pa.Array) -> dict[int, list[tuple[int, int, int, Any]]]:
    """Promotions by product: first and last day (days since 1970), cents, and the promotion itself."""
    rows = pc.indices_nonzero(pc.list_value_length(column).fill_null(0)).to_pylist()

    def with_numbers(one: dict[str, Any]) -> tuple[int, int, int, Any]:
        return (one["first_day"] - EPOCH).days, (one["last_day"] - EPOCH).days, int(one["price"] * 100), one

    return {row: list(map(with_numbers, column[row].as_py())) for row in rows}


def collect_real_queries(column: pa.Array) -> dict[int, list[str]]:
    """What people really typed for a product and were right to."""
    rows = pc.indices_nonzero(pc.list_value_length(column).fill_null(0)).to_pylist()
    found: dict[int, list[str]] = {}
    for row in rows:
        # ESCI's grade E is an exact match; a query without a grade was not judged, but typed
        if texts := [query["text"] for query in column[row].as_py() if query["grade"] in ("E", None)]:
            found[row] = texts
    return found


def find_reference_noun(title: list[str], leaf: str) -> list[str]:
    """The noun of the reference facts that a title has, the longest first."""
    plain = [strip_plural(word) for word in title]
    for noun in load_reference_nouns().get(leaf, ()):
        for place in range(len(plain) - len(noun) + 1):
            if plain[place : place + len(noun)] == noun:
                return title[place : place + len(noun)]
    return []


@cache
def load_reference_nouns() -> dict[str, list[list[str]]]:
    """Of a Chinese noun, which has no spaces, all is one word."""
    chinese = {name: [[noun] for noun in leaf.nouns] for name, leaf in map_leaves().items()}
    return chinese | {leaf.name: sorted(map(split_words, leaf.nouns), key=len, reverse=True) for leaf in list_leaves()}


@cache
def load_usual_searches() -> dict[str, list[str]]:
    """What people type in a leaf before they know what they want, where the reference facts say it."""
    usual: dict[str, list[str]] = {}
    for name, leaf in map_leaves().items():
        # The thing, and what it is for.
        uses = zip(leaf.nouns * 2, leaf.uses, strict=False)
        usual[name] = [*leaf.nouns, *(f"{noun} {use}" for noun, use in uses)]
    return usual | {leaf.name: leaf.searches for leaf in list_leaves()}
