"""What each category's things are to a household: used up, worn out or kept, for whom, and what goes with them.

The reference (`data/reference/kinds.toml`) knows words of categories, so that any catalog can be read; a category with none of
them is judged by its middle price.
"""

import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.languages import LANGUAGES, load_reference_file
from shopwright.pipeline.words import WORD
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.pipeline.world.market import index_categories
from shopwright.schemas.shop import Product

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "kinds.toml"
# Names of categories tell the language: no two languages share one.
CHINESE_KINDS = LANGUAGES["zh"].folder / "kinds.toml"
PROJECTS = REFERENCE.with_name("projects.toml")
# Categories that go with one, at most.
MOST_COMPANIONS = 8
# The deviation of the logarithm of how much kinds are looked for.
DEMAND_DIFFERS = 0.5
# Where a name's words say nothing, these of its path are looked at.
PATH_DEPTH = 2

Use = Literal["consumable", "wears", "durable", "service", "several"]


@dataclass(frozen=True)
class Kind:
    use: Use
    days: int
    """Until it is used up or worn out, or another one is due."""
    who: str
    gift: int
    """How often it is given away, 0 to 3."""
    months: frozenset[int]
    """When it is looked for; empty: always."""
    companions: tuple[int, ...]
    """Leaves that go with it."""
    purposes: tuple[str, ...]
    """What people say that it is for; empty: what they say of anything for this `who`."""
    known: bool
    """Whether the reference has words for it."""


@dataclass(frozen=True)
class LeafPrices:
    """In cents."""

    cheapest: int
    quarter: int
    middle: int


class Kinds:
    """The kind of every leaf of a catalog; for `catalog.once`."""

    def __init__(self, catalog: Dataset[Product]) -> None:
        stock = catalog.once(CatalogColumns)
        facts = catalog.once(index_categories)
        self.leaves = stock.leaves
        self.names = [frozenset(name_words(leaf)) for leaf in stock.leaves]
        self.groups = [facts[leaf].group for leaf in stock.leaves]
        self.sizes = [facts[leaf].products for leaf in stock.leaves]
        self.prices = [
            LeafPrices(facts[leaf].cheapest, facts[leaf].quarter, facts[leaf].middle) for leaf in stock.leaves
        ]
        self.paths = read_leaf_paths(catalog, stock)
        entries = [find_entry(stock.leaves[leaf], self.paths[leaf]) for leaf in range(len(stock.leaves))]
        self.of = [self.make_kind(leaf, entry) for leaf, entry in enumerate(entries)]
        self.of_group: dict[str, list[int]] = defaultdict(list)
        for leaf, group in enumerate(self.groups):
            self.of_group[group].append(leaf)
        self.projects = self.find_projects(stock)
        # How much each is looked for by everybody: a few kinds far more than most, whatever the seed.
        self.demand = np.array([draw_demand(leaf) for leaf in self.leaves])

    def make_kind(self, leaf: int, entry: dict[str, Any] | None) -> Kind:
        if entry is None:
            fallback = load_kinds_reference()["fallback"]
            cheap = self.prices[leaf].middle < fallback["cheap"]
            use: Use = "wears" if cheap else "durable"
            return Kind(
                use, fallback["cheap_days"] if cheap else fallback["days"], "home", 0, frozenset(), (), (), False
            )
        return Kind(
            entry["use"],
            entry["days"],
            entry.get("who", "home"),
            entry.get("gift", 0),
            frozenset(entry.get("months", [])),
            self.find_companions(leaf, entry.get("with", [])),
            tuple(entry.get("for", [])),
            True,
        )

    def find_companions(self, leaf: int, wanted: list[str]) -> tuple[int, ...]:
        """The leaves whose names have the words of what goes with it."""
        found: dict[int, None] = {}
        for words in wanted:
            asked = frozenset(name_words(words))
            fitting = [other for other, name in enumerate(self.names) if asked <= name and other != leaf]
            found.update(dict.fromkeys(sorted(fitting, key=lambda other: (len(self.names[other]), other))[:2]))
        return tuple(found)[:MOST_COMPANIONS]

    def find_projects(self, stock: CatalogColumns) -> list[tuple[int, ...]]:
        """What people buy a whole list for; where the reference names too little of this catalog, what stands in one group."""
        chinese = load_reference_file(CHINESE_KINDS)["projects"]
        named = [*tomllib.loads(PROJECTS.read_text(encoding="utf-8"))["projects"], *chinese]
        found = []
        for one in named:
            leaves = tuple(stock.place_of_leaf[name] for name in one["categories"] if name in stock.place_of_leaf)
            if len(leaves) >= 4:  # fewer are an errand, not a project
                found.append(leaves)
        return (
            found
            or [tuple(leaves) for leaves in self.of_group.values() if len(leaves) >= 3]
            or [tuple(range(len(self.leaves)))]
        )


def draw_demand(leaf: str) -> float:
    """Log-normal, by the leaf's name.

    >>> draw_demand("Coffee Pods") == draw_demand("Coffee Pods"), draw_demand("Coffee Pods") > 0
    (True, True)
    """
    return Random(leaf).lognormvariate(0.0, DEMAND_DIFFERS)


def name_words(name: str) -> list[str]:
    """The words of a category's name in the singular.

    >>> name_words("Kids Lunch Boxes"), name_words("Batteries"), name_words("Midi Dresses")
    (['kid', 'lunch', 'box'], ['battery'], ['midi', 'dress'])
    """
    return [singular(word) for word in WORD.findall(name.lower())]


# Plurals without a rule.
ODD = {"mice": "mouse", "knives": "knife", "shelves": "shelf", "scarves": "scarf"}


def singular(word: str) -> str:
    if word in ODD:
        return ODD[word]
    if len(word) > 4 and word.endswith(("ies", "ie")):
        return f"{word.removesuffix('s')[:-2]}y"  # a hoodie is a hoody, so that hoodies are some
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word


@cache
def load_kinds_reference() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


@cache
def list_entries() -> list[tuple[frozenset[str], str, dict[str, Any]]]:
    """Words, the last of them (what the thing is), and the entry they stand in."""
    found = []
    for entry in (*load_kinds_reference()["kinds"], *load_reference_file(CHINESE_KINDS)["kinds"]):
        for words in entry["words"]:
            split = name_words(words)
            found.append((frozenset(split), split[-1], entry))
    return found


def find_entry(leaf: str, path: tuple[str, ...]) -> dict[str, Any] | None:
    """What the reference says of a leaf: of its name, else of the categories above it."""
    for name in (leaf, *reversed(path[-1 - PATH_DEPTH : -1])):
        words = name_words(name)
        known = [(words_of, entry) for words_of, last, entry in list_entries() if words_of <= set(words)]
        if known:
            # More words first; then those that end as the name does, as `bag` says what a `gym bag` is.
            best = max(len(words_of) for words_of, _ in known)
            top = [(words_of, entry) for words_of, entry in known if len(words_of) == best]
            return next((entry for words_of, entry in top if words[-1] in words_of), top[0][1])
    return None


def read_leaf_paths(catalog: Dataset[Product], stock: CatalogColumns) -> list[tuple[str, ...]]:
    """The category path of each leaf's first product."""
    found: list[tuple[str, ...]] = [()] * len(stock.leaves)
    paths = catalog.table(["category_path"])["category_path"]
    for leaf in range(len(stock.leaves)):
        found[leaf] = tuple(paths[int(stock.by_price[stock.edges[leaf]])].as_py() or ())
    return found


@cache
def load_households() -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = load_kinds_reference()["households"]
    return found
