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
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.catalog.chinese_shop import map_leaves
from shopwright.pipeline.catalog.normalize import RESERVED
from shopwright.pipeline.catalog.reference import list_leaves
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.words import split_words
from shopwright.schemas.shop import Product

T = TypeVar("T")
REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "variants.toml"
# Of a product: its own and two others.
FEWEST = 3
# Variants that a product has, the common numbers more than once.
COUNTS = (3, 3, 4, 4, 5)
# Of an option in a leaf, the commonest first.
MOST_VALUES = 12
# Different values of an option in a leaf that are counted; those met later are not.
MOST_COUNTED = 2_000
# At most this share of products is sold out in all its variants.
SOLD_OUT_SHARE = 0.02
# A variant's price in percent of the product's, where no number in its option says more.
DEARER = (100, 100, 100, 100, 95, 105, 110)
# Of a variant that is in stock.
PIECES = range(5, 61)
# Cents, as many as the column of prices holds.
HIGHEST = 10**12 - 1
# The source of the embedded shop's products.
SAMPLE = "sample"
TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
# Of these the first is meant where nothing is said.
COUNT_OPTIONS = ("pack", "packaging")
UNITS = {
    **dict.fromkeys(("inch", "inches"), "in"),
    **dict.fromkeys(("feet", "foot"), "ft"),
    **dict.fromkeys(("ounce", "ounces"), "oz"),
    **dict.fromkeys(("lbs", "pound", "pounds"), "lb"),
    **dict.fromkeys(("liter", "litre", "liters", "litres"), "l"),
    **dict.fromkeys(("gallon", "gallons"), "gal"),
    **dict.fromkeys(("watt", "watts"), "w"),
    **dict.fromkeys(("volt", "volts"), "v"),
    **dict.fromkeys(("packs", "pk"), "pack"),
    **dict.fromkeys(("gigabyte", "gigabytes"), "gb"),
    **dict.fromkeys(("yard", "yards"), "yd"),
}
NUMBER = re.compile(r"(\d+(?:\.\d+)?) ?([^\W\d]*)(?!.*\d)")

# Leaf -> name of an option -> what its products come in.
Values = Mapping[str, Mapping[str, Sequence[str]]]


class Axis(NamedTuple):
    """An option of a product."""

    name: str
    own: str
    """What the product is by its title."""
    others: tuple[str, ...]
    """What else it comes in."""


class VariantOffer(NamedTuple):
    """A variant before it has an id."""

    choices: tuple[str, ...]
    """One value for each axis."""
    cents: int
    stock: int
    is_title: bool
    is_simulated: bool = True
    stock_is_simulated: bool = True


@cache
def load_variant_reference() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


@lru_cache(4_096)
def normalize_option_name(name: str) -> str:
    """An option's name as it is said.

    >>> normalize_option_name("Pack_Size")
    'pack size'
    """
    return " ".join(name.replace("_", " ").lower().split())


@lru_cache(4_096)
def normalize_option_value(text: str) -> str:
    """Its words and numbers, with spaces around each; a unit is written in one way.

    >>> normalize_option_value("12-inch, Stainless steel")
    ' 12 in stainless steel '
    """
    return f" {' '.join(UNITS.get(each, each) for each in TOKEN.findall(text.lower()))} "


def find_value_in_title(title: str, values: Iterable[str]) -> str | None:
    """The value that a title names, the longest if several.

    >>> find_value_in_title("Oak desk, light gray, 48 in", ["gray", "light gray", "8 in"])
    'light gray'
    """
    text = normalize_option_value.__wrapped__(title)
    found = [value for value in values if (plain := normalize_option_value(value)) != "  " and plain in text]
    return max(found, key=len, default=None)


def list_stated_values(product: Mapping[str, Any]) -> dict[str, str]:
    """What a product says of itself, by name; of several values the first."""
    found: dict[str, str] = {"color": product["color"]} if product["color"] else {}
    for each in product["attributes"]:
        found.setdefault(normalize_option_name(each["name"]), each["value"])
    return found


def list_page_options(product: Mapping[str, Any]) -> dict[str, list[str]]:
    """The options on a product's page, by name; those that would be taken for a price or an id are none."""
    found: dict[str, list[str]] = {}
    for option in product["options"]:
        if option["values"] and normalize_option_name(option["name"]) not in RESERVED:
            found.setdefault(normalize_option_name(option["name"]), option["values"])
    return found


def collect_values_by_leaf(catalog: Dataset[Product]) -> Values:
    """What the products of each leaf come in, by the name of the option, the commonest first."""
    wanted = pa.array(
        [
            *load_variant_reference()["values"],
            *(name for name in list_unsaid_options() if name not in load_variant_reference()["values"]),
        ]
    )
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for batch in catalog.batches(["category", "color", "attributes", "options"]):
        for leaf, name, value, count in count_option_values(batch, wanted):
            known = counts[leaf, normalize_option_name(name)]
            if value in known or len(known) < MOST_COUNTED:
                known[value] += count
    found: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for (leaf, name), known in counts.items():
        common = sorted(known, key=lambda value: (-known[value], value))
        found[leaf][name] = drop_duplicate_values([*common, *load_sample_values().get(leaf, {}).get(name, ())])[
            :MOST_VALUES
        ]
    return dict(found)


@cache
def load_sample_values() -> Values:
    """What the leaves of the sample shop come in, whether or not a catalog is large enough to show it."""
    values_of: dict[str, Mapping[str, Sequence[str]]] = {}
    for leaf in list_leaves():
        attributes = {normalize_option_name(name): values for name, values in leaf.attributes.items()}
        values_of[leaf.name] = {**attributes, "color": leaf.colors}
    for name, known in map_leaves().items():
        values_of[name] = {**known.facts, "color": known.colors}
    return values_of


def count_option_values(batch: pa.RecordBatch, wanted: pa.Array) -> Iterable[tuple[str, str, str, int]]:
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


def list_unsaid_options() -> list[str]:
    found: list[str] = load_variant_reference()["often_unsaid"]
    return found


def drop_duplicate_values(values: Iterable[str]) -> list[str]:
    """
    >>> drop_duplicate_values(["Red", "blue", "red"])
    ['Red', 'blue']
    """
    found: dict[str, str] = {}
    for value in values:
        found.setdefault(normalize_option_value(value), value)
    return list(found.values())


@lru_cache(4_096)
def list_varying_options(path: tuple[str, ...]) -> tuple[str, ...]:
    """What varies most naturally in a category, by its names.

    >>> list_varying_options(("Electronics", "HDMI Cables"))
    ('connector', 'length', 'color')
    """
    words = set(split_words(" ".join(path)))
    for kind in load_variant_reference()["kinds"]:
        if words.intersection(kind["words"]):
            return tuple(kind["attributes"])
    return ("color",)


def list_natural_options(path: Iterable[str]) -> tuple[str, ...]:
    """Options that a product of these categories may have beside those on its page, the most natural first."""
    return tuple(dict.fromkeys((*list_varying_options(tuple(path)), *list_unsaid_options())))


def choose_option_axes(product: Mapping[str, Any], known: Values, random: Random) -> list[Axis]:
    """The options of a product, so many that it comes in three variants at least."""
    says, title, fixed, free = list_stated_values(product), strip_brand(product), list[Axis](), list[Axis]()
    for name, values in list_page_options(product).items():
        if not is_stated_in_title(title, name, values, listed=True):
            own = says.get(name) or pick(random, values)
            free.append(Axis(name, own, list_alternatives(own, values)))
        elif (told := find_value_in_title(title, values)) and normalize_option_value(
            says.get(name, told)
        ) == normalize_option_value(told):
            fixed.append(Axis(name, told, ()))
    if free and count_combinations(free) < FEWEST:
        free = widen_axis(free, known.get(product["category"], {}), title)
    if count_combinations(free) < FEWEST:
        free.append(choose_natural_axis(product, says, known, random, but={axis.name for axis in (*fixed, *free)}))
    page = list(list_page_options(product))
    return sorted([*fixed, *free], key=lambda axis: page.index(axis.name) if axis.name in page else len(page))


def strip_brand(product: Mapping[str, Any]) -> str:
    """The title without its maker, whose name may be a color's.

    >>> strip_brand({"title": "Torquil Grey kettle, 1 L", "brand": "Torquil Grey"})
    ' kettle, 1 L'
    """
    title: str = product["title"]
    return title.replace(product["brand"], "", 1) if product["brand"] else title


def is_stated_in_title(title: str, name: str, values: Iterable[str], *, listed: bool = False) -> bool:
    """Whether a title says something of an option: then it is what the title says, and comes in nothing else.

    listed: these are the values on the product's page. A number of their unit in the title is then another measure (a tank of 12 oz), if
    it is none of them, and a material no color; elsewhere they count.

    >>> is_stated_in_title("Tea kettle, sage green", "color", ["cream"]), is_stated_in_title("SanDisk 16GB card", "capacity", ["32 GB"])
    (True, True)
    >>> is_stated_in_title("Tea kettle", "color", ["cream"]), is_stated_in_title("Women's shoes", "size", ["S", "M"])
    (False, False)
    """
    text, values = normalize_option_value.__wrapped__(title.replace("'s ", " ")), tuple(values)
    usual = list_title_cues(
        "told_beside" if listed else "told_by", name.rpartition(" ")[2].replace("colour", "color").removesuffix("s")
    )
    if not usual.isdisjoint(text.split()):
        return True
    if not listed and any(re.search(rf"\d {re.escape(unit)} ", text) for unit in find_value_units(values)):
        return True
    return any(normalize_option_value(value) in text for value in values if len(value.strip()) > 1)


@lru_cache(4_096)
def list_title_cues(way: str, name: str) -> frozenset[str]:
    """The words by which a title says something of such an option."""
    return frozenset(
        normalize_option_value(word).strip() for word in load_variant_reference()[way].get(name, "").split()
    )


@lru_cache(4_096)
def find_value_units(values: tuple[str, ...]) -> frozenset[str]:
    """Of the numbers among these values.

    >>> sorted(find_value_units(("12-inch", "16GB", "large")))
    ['gb', 'in']
    """
    found = (normalize_option_value(value).split() for value in values)
    return frozenset(each[1] for each in found if len(each) == 2 and each[0][0].isdigit())


def list_alternatives(own: str, values: Iterable[str]) -> tuple[str, ...]:
    return tuple(drop_duplicate_values([own, *values])[1:])


def count_combinations(axes: Iterable[Axis]) -> int:
    """How many variants there could be."""
    return prod(1 + len(axis.others) for axis in axes)


def widen_axis(axes: list[Axis], known: Mapping[str, Sequence[str]], title: str) -> list[Axis]:
    """The axis that varies most, or of those alike the one that can, with all that its leaf comes in."""
    more = [list_plausible_values(axis.name, known) for axis in axes]
    wider = [
        axis
        if is_stated_in_title(title, axis.name, here)
        else axis._replace(others=list_alternatives(axis.own, (*axis.others, *here)))
        for axis, here in zip(axes, more, strict=True)
    ]
    place = max(range(len(axes)), key=lambda at: (len(axes[at].others), len(wider[at].others), at))
    return [*axes[:place], wider[place], *axes[place + 1 :]]


def choose_natural_axis(
    product: Mapping[str, Any], says: Mapping[str, str], known: Values, random: Random, but: Iterable[str] = ()
) -> Axis:
    """The attribute that varies most naturally in the product's kind of thing, and does not contradict it."""
    here = known.get(product["category"], {})
    names = [*list_varying_options(tuple(product["category_path"])), *load_variant_reference()["with_everything"]]
    for name in names:
        values, own = list_plausible_values(name, here), says.get(name)
        if (
            name in but
            or is_stated_in_title(strip_brand(product), name, values)
            or not (own or name in list_unsaid_options())
        ):
            continue
        own = own or (values[0] if name in COUNT_OPTIONS else pick(random, values))
        return Axis(name, own, list_alternatives(own, values))
    name = next(name for name in reversed(names) if name not in but)
    own, *others = list_plausible_values(name, here)
    return Axis(name, own, tuple(others))


def list_plausible_values(name: str, known: Mapping[str, Sequence[str]]) -> list[str]:
    """What a kind of thing comes in: as its leaf shows; where that is too little, as the reference says, too.

    >>> list_plausible_values("color", {"color": ["teal", "Red"]})[:4]
    ['teal', 'Red', 'black', 'white']
    """
    here = known.get(name, ())
    return (
        list(here)
        if len(here) >= FEWEST
        else drop_duplicate_values([*here, *load_variant_reference()["values"].get(name, ())])
    )


def draw_variant_offers(
    product: Mapping[str, Any], known: Values, random: Random, sold_out: float
) -> tuple[list[str], list[VariantOffer]]:
    """
    product: id, title, category, category_path, color, attributes, options, and cents; sold_out: share of variants.

    Returns the options' names and the variants, in no telling order. Only some combinations of values exist; the title's
    does, one that differs from it in a single option does, and if they vary one for each option.
    """
    if product.get("variants"):
        return list_source_variants(product, random, sold_out)
    if not has_options(product):
        pieces = draw_stock_counts(1, sold_out, random)
        return [], [VariantOffer((), product["cents"], pieces[0], is_title=True, is_simulated=False)]
    axes = choose_option_axes(product, known, random)
    combinations = draw_combinations(axes, min(count_combinations(axes), pick(random, COUNTS)), random)
    factors = []
    dearer = load_sample_factors().get(product["category"], {})
    for axis in axes:
        factors.append({value: draw_price_factor(axis.own, value, random, dearer) for value in axis.others})
    pieces = draw_stock_counts(len(combinations), sold_out, random)
    found = []
    for number, (combination, stock) in enumerate(zip(combinations, pieces, strict=True)):
        percents = [one[value] for one, value in zip(factors, combination, strict=True) if value in one]
        found.append(VariantOffer(combination, scale_variant_price(product["cents"], percents), stock, number == 0))
    found.sort(key=lambda offer: random.random())
    return [axis.name for axis in axes], found


def has_options(product: Mapping[str, Any]) -> bool:
    """Whether such a thing comes in several: as its page says, or its kind. The embedded shop's things all do."""
    if product.get("source", SAMPLE) == SAMPLE or list_page_options(product):
        return True
    words = set(split_words(" ".join(product["category_path"])))
    return any(words.intersection(kind["words"]) for kind in load_variant_reference()["kinds"])


def list_source_variants(
    product: Mapping[str, Any], random: Random, sold_out: float
) -> tuple[list[str], list[VariantOffer]]:
    """The variants that the source has; pieces are drawn where it does not count them."""
    offers = product["variants"]
    drawn = draw_stock_counts(len(offers), sold_out, random)
    cents = [int(offer["price"] * 100) for offer in offers]
    found = []
    for place, offer in enumerate(offers):
        is_counted = offer["stock"] is not None
        found.append(
            VariantOffer(
                tuple(choice["value"] for choice in offer["choices"]),
                cents[place],
                offer["stock"] if is_counted else drawn[place],
                is_title=place == cents.index(min(cents)),
                is_simulated=False,
                stock_is_simulated=not is_counted,
            )
        )
    return [normalize_option_name(choice["name"]) for choice in offers[0]["choices"]], found


def pick(random: Random, several: Sequence[T]) -> T:
    """As `random.choice`, at a third of its time."""
    return several[int(random.random() * len(several))]


def draw_combinations(axes: Sequence[Axis], count: int, random: Random) -> list[tuple[str, ...]]:
    """Different combinations of values: the title's first."""
    own = tuple(axis.own for axis in axes)
    varying = [place for place, axis in enumerate(axes) if axis.others]
    found = {own: None}
    for place in random.sample(varying, min(len(varying), count - 1)):
        found[*own[:place], pick(random, axes[place].others), *own[place + 1 :]] = None
    while len(found) < count:
        found[tuple(pick(random, (axis.own, *axis.others)) for axis in axes)] = None
    return list(found)


@cache
def load_sample_factors() -> Mapping[str, Mapping[str, float]]:
    """By how much some values of the sample shop's leaves make a thing dearer."""
    return {leaf.name: leaf.dearer for leaf in list_leaves()}


def draw_price_factor(own: str, value: str, random: Random, dearer: Mapping[str, float] = MappingProxyType({})) -> int:
    """What a variant costs, in percent of the product: as its leaf's values differ, else by the square root of sizes, else nearly the same.

    >>> draw_price_factor("64 GB", "256 GB", Random(0)), draw_price_factor("4 pack", "2 pack", Random(0))
    (170, 70)
    >>> draw_price_factor("oak", "marble", Random(0), {"marble": 1.5})
    150
    """
    dice = pick(random, DEARER)
    one, other = parse_size(own), parse_size(value)
    if own in dearer or value in dearer:
        share = dearer.get(value, 1.0) / dearer.get(own, 1.0)
    elif one is None or other is None or one[1] != other[1]:
        return dice
    else:
        share = sqrt(other[0] / one[0])
    return min(170, max(60, int(100 * share)))


@lru_cache(4_096)
def parse_size(value: str) -> tuple[float, str] | None:
    found = NUMBER.fullmatch(value.lower())
    return (float(found[1]), found[2]) if found and float(found[1]) > 0 and found[2] else None


def scale_variant_price(cents: int, percents: Iterable[int]) -> int:
    """A price in cents with the ending of the product's.

    >>> scale_variant_price(2495, [110]), scale_variant_price(2495, []), scale_variant_price(99, [60])
    (2695, 2495, 59)
    """
    found = cents
    for percent in percents:
        found = found * percent // 100
    if found == cents or cents < 400:
        return max(1, found)
    return min(HIGHEST, max(1, (found + 50) // 100 * 100 + cents % 100 - (100 if cents % 100 > 50 else 0)))


def draw_stock_counts(count: int, sold_out: float, random: Random) -> list[int]:
    """Pieces of each variant; some products are sold out wholly, of the others never the last variant."""
    wholly = min(SOLD_OUT_SHARE, sold_out / 4)
    if random.random() < wholly:
        return [0] * count
    apart = (sold_out - wholly) / (1 - wholly)
    found = [0 if random.random() < apart else pick(random, PIECES) for _ in range(count)]
    if not any(found):
        found[int(random.random() * count)] = pick(random, PIECES)
    return found
