"""What a product comes in: itself as its title says, and plausible others that differ in an option, each with price and stock.

After EcomRLVE-GYM's variant synthesis: a priority list says what varies most naturally in a kind of thing.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from math import prod, sqrt
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.catalog.reference import domains
from pipeline.dataset import Dataset
from pipeline.words import words
from schemas.shop import Product

T = TypeVar("T")
REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "variants.toml"
FEWEST = 3
"""Of a product: its own and two others."""
COUNTS = (3, 3, 4, 4, 5)
MOST_VALUES = 12
"""Of an option in a leaf, the commonest first."""
MOST_COUNTED = 2_000
"""Different values of an option in a leaf that are counted; those met later are not."""
RESERVED = frozenset(["product id", "variant id", "price", "stock", "quantity"])
"""What a shop's page says of a variant beside its options."""
WHOLLY = 0.02
"""At most this share of products is sold out in all its variants."""
DEARER = (100, 100, 100, 100, 95, 105, 110)
"""A variant's price in percent of the product's, where no number in its option says more."""
PIECES = range(5, 61)
"""Of a variant that is in stock."""
HIGHEST = 10**12 - 1
TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
NUMBER = re.compile(r"(\d+(?:\.\d+)?) ?([^\W\d]*)(?!.*\d)")

Values = Mapping[str, Mapping[str, Sequence[str]]]
"""Leaf -> name of an option -> what its products come in."""


class Axis(NamedTuple):
    """An option of a product."""

    name: str
    own: str
    """What the product is by its title."""
    others: tuple[str, ...]
    """What else it comes in."""


class Offer(NamedTuple):
    """A variant before it has an id."""

    choices: tuple[str, ...]
    """One value for each axis."""
    cents: int
    stock: int
    is_title: bool


@cache
def reference() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


@lru_cache(4_096)
def named(name: str) -> str:
    """An option's name as it is said.

    >>> named("Pack_Size")
    'pack size'
    """
    return " ".join(name.replace("_", " ").lower().split())


@lru_cache(4_096)
def spelled(text: str) -> str:
    """Its words and numbers, with spaces around each.

    >>> spelled("12-inch, Stainless steel")
    ' 12 inch stainless steel '
    """
    return f" {' '.join(TOKEN.findall(text.lower()))} "


def said_in(title: str, values: Iterable[str]) -> str | None:
    """The value that a title names, the longest if several.

    >>> said_in("Oak desk, light gray, 48 in", ["gray", "light gray", "8 in"])
    'light gray'
    """
    text = spelled.__wrapped__(title)
    found = [value for value in values if (plain := spelled(value)) != "  " and plain in text]
    return max(found, key=len, default=None)


def stated(product: Mapping[str, Any]) -> dict[str, str]:
    """What a product says of itself, by name; of several values the first."""
    found: dict[str, str] = {"color": product["color"]} if product["color"] else {}
    for each in product["attributes"]:
        found.setdefault(named(each["name"]), each["value"])
    return found


def listed(product: Mapping[str, Any]) -> dict[str, list[str]]:
    """The options on a product's page, by name; those that would be taken for a price or an id are none."""
    found: dict[str, list[str]] = {}
    for option in product["options"]:
        if option["values"] and named(option["name"]) not in RESERVED:
            found.setdefault(named(option["name"]), option["values"])
    return found


def values_by_leaf(catalog: Dataset[Product]) -> Values:
    """What the products of each leaf come in, by the name of the option, the commonest first."""
    wanted = pa.array([*reference()["values"], *(name for name in unsaid() if name not in reference()["values"])])
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for batch in catalog.batches(["category", "color", "attributes", "options"]):
        for leaf, name, value, count in counted(batch, wanted):
            known = counts[leaf, named(name)]
            if value in known or len(known) < MOST_COUNTED:
                known[value] += count
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for (leaf, name), known in counts.items():
        common = sorted(known, key=lambda value: (-known[value], value))
        found[leaf][name] = distinct([*common, *sample_values().get(leaf, {}).get(name, ())])[:MOST_VALUES]
    return dict(found)


@cache
def sample_values() -> Values:
    """What the leaves of the sample shop come in, whether or not a catalog is large enough to show it."""
    return {
        leaf.name: {named(name): values for name, values in leaf.attributes.items()} | {"color": leaf.colors}
        for domain in domains()
        for leaf in domain.leaves
    }


def counted(batch: pa.RecordBatch, wanted: pa.Array) -> Iterable[tuple[str, str, str, int]]:
    """Leaf, option, value, and in how many products of the batch."""
    leaves = batch["category"]
    parents, options = pc.list_parent_indices(batch["options"]), pc.list_flatten(batch["options"])
    values = options.field("values")
    inner = pc.list_parent_indices(values)
    tables = [
        (leaves.take(parents.take(inner)), options.field("name").take(inner), pc.list_flatten(values)),
        (leaves, pa.repeat("color", len(leaves)), batch["color"]),
    ]
    parents, attributes = pc.list_parent_indices(batch["attributes"]), pc.list_flatten(batch["attributes"])
    kept = pc.is_in(pc.utf8_lower(attributes.field("name")), value_set=wanted)
    tables.append(
        (leaves.take(parents.filter(kept)), *(attributes.field(name).filter(kept) for name in ("name", "value")))
    )
    for columns in tables:
        table = pa.table(list(columns), names=["leaf", "name", "value"]).drop_null()
        groups = table.group_by(["leaf", "name", "value"], use_threads=False).aggregate([([], "count_all")])
        yield from zip(*(groups[name].to_pylist() for name in ("leaf", "name", "value", "count_all")), strict=True)


def unsaid() -> list[str]:
    found: list[str] = reference()["often_unsaid"]
    return found


def distinct(values: Iterable[str]) -> list[str]:
    """
    >>> distinct(["Red", "blue", "red"])
    ['Red', 'blue']
    """
    found: dict[str, str] = {}
    for value in values:
        found.setdefault(spelled(value), value)
    return list(found.values())


@lru_cache(4_096)
def priorities(path: tuple[str, ...]) -> tuple[str, ...]:
    """What varies most naturally in a category, by its names.

    >>> priorities(("Electronics", "HDMI Cables"))
    ('connector', 'length', 'color')
    """
    told = set(words(" ".join(path)))
    for kind in reference()["kinds"]:
        if told.intersection(kind["words"]):
            return tuple(kind["attributes"])
    return ("color",)


def natural_names(path: Iterable[str]) -> tuple[str, ...]:
    """Options that a product of these categories may have beside those on its page, the most natural first."""
    return tuple(dict.fromkeys((*priorities(tuple(path)), *unsaid())))


def options_of(product: Mapping[str, Any], known: Values, random: Random) -> list[Axis]:
    """The options of a product, so many that it comes in three variants at least."""
    says, found = stated(product), []
    for name, values in listed(product).items():
        own = says.get(name) or said_in(product["title"], values) or pick(random, values)
        found.append(Axis(name, own, others(own, values)))
    if not found:
        return [natural(product, says, known, random)]
    if grid(found) < FEWEST:
        found = widened(found, known.get(product["category"], {}))
    if grid(found) < FEWEST:
        found.append(natural(product, says, known, random, but={axis.name for axis in found}))
    return found


def others(own: str, values: Iterable[str]) -> tuple[str, ...]:
    return tuple(distinct([own, *values])[1:])


def grid(axes: Iterable[Axis]) -> int:
    """How many variants there could be."""
    return prod(1 + len(axis.others) for axis in axes)


def widened(axes: list[Axis], known: Mapping[str, Sequence[str]]) -> list[Axis]:
    """The axis that varies most, or of those alike the one that can, with all that its leaf comes in."""
    wider = [axis._replace(others=others(axis.own, (*axis.others, *plausible(axis.name, known)))) for axis in axes]
    place = max(range(len(axes)), key=lambda at: (len(axes[at].others), len(wider[at].others), at))
    return [*axes[:place], wider[place], *axes[place + 1 :]]


def natural(
    product: Mapping[str, Any], says: Mapping[str, str], known: Values, random: Random, but: Iterable[str] = ()
) -> Axis:
    """The attribute that varies most naturally in the product's kind of thing, and does not contradict it."""
    here = known.get(product["category"], {})
    for name in natural_names(product["category_path"]):
        values = plausible(name, here)
        own = says.get(name) or said_in(product["title"], values)
        if name not in but and (own or name in unsaid()):
            own = own or pick(random, values)
            return Axis(name, own, others(own, values))
    raise AssertionError("options named color and size that do not vary")


def plausible(name: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """What a kind of thing comes in: as its leaf shows; where that is too little, as the reference says, too.

    >>> plausible("color", {"color": ["teal", "Red"]})[:4]
    ['teal', 'Red', 'black', 'white']
    """
    here = known.get(name, ())
    return list(here) if len(here) >= FEWEST else distinct([*here, *reference()["values"].get(name, ())])


def offers(product: Mapping[str, Any], known: Values, random: Random, sold_out: float) -> tuple[list[str], list[Offer]]:
    """
    product: id, title, category, category_path, color, attributes, options, and cents; sold_out: share of variants.

    Returns the options' names and the variants, in no telling order. Only some combinations of values exist; the title's
    does, one that differs from it in a single option does, and if they vary one for each option.
    """
    axes = options_of(product, known, random)
    combinations = combined(axes, min(grid(axes), pick(random, COUNTS)), random)
    factors = [{value: factor(axis.own, value, random) for value in axis.others} for axis in axes]
    pieces = stocks(len(combinations), sold_out, random)
    found = []
    for number, (combination, stock) in enumerate(zip(combinations, pieces, strict=True)):
        percents = [one[value] for one, value in zip(factors, combination, strict=True) if value in one]
        found.append(Offer(combination, priced(product["cents"], percents), stock, number == 0))
    found.sort(key=lambda offer: random.random())
    return [axis.name for axis in axes], found


def pick(random: Random, several: Sequence[T]) -> T:
    """As `random.choice`, at a third of its time."""
    return several[int(random.random() * len(several))]


def combined(axes: Sequence[Axis], count: int, random: Random) -> list[tuple[str, ...]]:
    """Different combinations of values: the title's first."""
    own = tuple(axis.own for axis in axes)
    varying = [place for place, axis in enumerate(axes) if axis.others]
    found = {own: None}
    for place in random.sample(varying, min(len(varying), count - 1)):
        found[*own[:place], pick(random, axes[place].others), *own[place + 1 :]] = None
    while len(found) < count:
        found[tuple(pick(random, (axis.own, *axis.others)) for axis in axes)] = None
    return list(found)


def factor(own: str, value: str, random: Random) -> int:
    """What a variant costs, in percent of the product: by the square root of sizes in the same unit, else nearly the same.

    >>> factor("64 GB", "256 GB", Random(0)), factor("4 pack", "2 pack", Random(0))
    (170, 70)
    """
    dice = pick(random, DEARER)
    one, other = measure(own), measure(value)
    if one is None or other is None or one[1] != other[1]:
        return dice
    return min(170, max(60, int(100 * sqrt(other[0] / one[0]))))


@lru_cache(4_096)
def measure(value: str) -> tuple[float, str] | None:
    found = NUMBER.fullmatch(value.lower())
    return (float(found[1]), found[2]) if found and float(found[1]) > 0 and found[2] else None


def priced(cents: int, percents: Iterable[int]) -> int:
    """A price in cents with the ending of the product's.

    >>> priced(2495, [110]), priced(2495, []), priced(99, [60])
    (2695, 2495, 59)
    """
    found = cents
    for percent in percents:
        found = found * percent // 100
    if found == cents or cents < 400:
        return max(1, found)
    return min(HIGHEST, max(1, (found + 50) // 100 * 100 + cents % 100 - (100 if cents % 100 > 50 else 0)))


def stocks(count: int, sold_out: float, random: Random) -> list[int]:
    """Pieces of each variant; some products are sold out wholly, of the others never the last variant."""
    wholly = min(WHOLLY, sold_out / 4)
    if random.random() < wholly:
        return [0] * count
    apart = (sold_out - wholly) / (1 - wholly)
    found = [0 if random.random() < apart else pick(random, PIECES) for _ in range(count)]
    if not any(found):
        found[int(random.random() * count)] = pick(random, PIECES)
    return found
