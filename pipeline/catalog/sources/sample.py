"""The embedded shop: products composed from the facts in `data/reference/catalog`, at any size.

Product i depends on the seed and on i alone. Products come in blocks of 120 of one leaf category: twelve makers with two lines each.
The products of a line differ from another of it in exactly one thing, and some lines have all that another maker's have. What the
shopper picks on the page (`options`) is in no text of a product: it is its variants'. Everything here is invented; no text is taken
from a real shop.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from math import prod
from random import Random
from statistics import NormalDist
from typing import Any

from shopwright.pipeline.catalog.listing import Manner
from shopwright.pipeline.catalog.reference import FOLDER, Brand, Leaf, domains, make_attribute
from shopwright.pipeline.catalog.siblings import Facts, Leanings, draw_siblings

LICENCE = "Apache-2.0"
# Products of one leaf, no two of a maker with the same facts.
SIBLINGS = 120
# What is made when no number is given: about 120 in each leaf.
PRODUCTS = 24_000
# Brands of a leaf that take turns.
MAKERS = 12
# Of each maker in a block.
LINES = 2
# Shares no factor with the number of series, so that all are met before one comes again.
SERIES_STEP = 97
# Of an option, in which a line comes at least.
FEWEST_VALUES = 3
ASIN_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ASINS = 36**8
# Cents in which prices end, the common ones more than once.
ENDINGS = (99, 99, 99, 95, 49, 0)
NORMAL = NormalDist()


@dataclass(frozen=True)
class Shelf:
    """A leaf category with its domain."""

    domain: str
    brands: list[Brand]
    leaf: Leaf


@cache
def list_shelves() -> list[Shelf]:
    """All leaves, domains taking turns, so that a small catalog has something of each."""
    columns = []
    for domain in domains():
        columns.append([Shelf(domain.name, domain.brands, leaf) for leaf in domain.leaves])
    turns = chain.from_iterable(zip_longest(*columns))
    return [shelf for shelf in turns if shelf]


@cache
def series_words() -> list[str]:
    return (FOLDER.parent / "series.txt").read_text(encoding="utf-8").split()


def generate_products(seed: int, numbers: range) -> Iterator[dict[str, Any]]:
    """The products of these numbers, with prices in cents."""
    for block in range(numbers.start // SIBLINGS, -(-numbers.stop // SIBLINGS)):
        first = block * SIBLINGS
        inside = range(max(numbers.start, first) - first, min(numbers.stop, first + SIBLINGS) - first)
        yield from generate_siblings(seed, block, inside)


def generate_siblings(seed: int, block: int, inside: range) -> Iterator[dict[str, Any]]:
    shelf = list_shelves()[block % len(list_shelves())]
    leaf, random = shelf.leaf, Random(f"{seed}/sample/{block}")
    base = leaf.price[0] * 2.718281828459045 ** (0.6 * leaf.price[1] * draw_normal(random))
    makers = makers_of(seed, block, shelf)
    siblings = draw_siblings(random, find_leanings(seed, leaf.name), [brand.name for brand, _ in makers], SIBLINGS)
    members: list[list[Facts]] = [[] for _ in makers]
    for each in siblings:
        members[each.line].append(each.facts)
    lines = [Line(random, leaf, *maker, facts) for maker, facts in zip(makers, members, strict=True)]
    for place in inside:
        line, own = lines[siblings[place].line], Random(f"{seed}/sample/{block}/{place}")
        told = siblings[place].facts
        facts = told | {option["name"]: own.choice(option["values"]) for option in line.options}
        fill = {**facts, "brand": line.brand.name, "series": line.series, "noun": line.manner.noun}
        words = line.manner.write(own, fill, told)
        factor = prod(leaf.dearer.get(value, 1.0) for value in facts.values())
        price = choose_retail_price(own, base * line.price * factor * (0.97 + 0.06 * own.random()))
        rating = round(min(5.0, max(1.0, line.quality + 0.3 * draw_normal(own))), 1)
        reviews = int(10 ** (3.6 * own.random() ** 1.5)) - 1
        yield {
            "id": make_asin(seed, block * SIBLINGS + place),
            "title": words.title,
            "brand": line.brand.name,
            "category_path": [shelf.domain, *leaf.path, leaf.name],
            "category": leaf.name,
            "color": facts.pop("color", None),
            "price": price,
            "currency": "USD",
            "price_written": None,
            "attributes": [measured(name, value) for name, value in facts.items()],
            "options": line.options,
            "description": words.description,
            "bullets": words.bullets,
            "rating": rating if reviews else None,
            "review_count": reviews,
            "shipping_days": own.randint(*leaf.shipping_days),
            "queries": [],
            "repairs": [],
            "variants": [],
            "source": "sample",
            "source_licence": LICENCE,
        }


# Few values, asked for with every product; nobody changes what it gives.
measured = cache(make_attribute)


class Line:
    """What a maker offers under one name: how it is written of, what it can be had in, and how dear and good it is."""

    def __init__(self, random: Random, leaf: Leaf, brand: Brand, series: str, members: Sequence[Facts]) -> None:
        """members: the facts of its products."""
        self.brand, self.series = brand, series
        self.manner = Manner(random, leaf, members)
        self.options: list[dict[str, Any]] = [
            {"name": name, "values": draw_some(random, leaf.list_values()[name])} for name in leaf.options
        ]
        self.price = brand.price * 2.718281828459045 ** (0.4 * leaf.price[1] * draw_normal(random))
        self.quality = 4.1 + 0.25 * draw_normal(random)


def draw_some(random: Random, values: list[str]) -> list[str]:
    """
    >>> draw_some(Random(3), ["S", "M", "L", "XL"])
    ['M', 'L', 'XL']
    """
    count = random.randint(min(FEWEST_VALUES, len(values)), len(values))
    return [values[place] for place in sorted(random.sample(range(len(values)), count))]


@cache
def find_leanings(seed: int, name: str) -> Leanings:
    leaf = next(shelf.leaf for shelf in list_shelves() if shelf.leaf.name == name)
    told = {name: values for name, values in leaf.list_values().items() if name not in leaf.options}
    return Leanings(seed, name, told, leaf.ordinary)


def makers_of(seed: int, block: int, shelf: Shelf) -> list[tuple[Brand, str]]:
    """Twelve makers with two series each; a leaf meets a pair of brand and series only once in all its blocks."""
    series = series_words()
    visit = block // len(list_shelves())
    random = Random(f"{seed}/makers/{shelf.leaf.name}")
    brands = random.sample(shelf.brands, len(shelf.brands))
    starts = [random.randrange(len(series)) for _ in brands]
    found = []
    for turn in range(visit * MAKERS, (visit + 1) * MAKERS):
        before, place = divmod(turn, len(brands))
        for number in range(before * LINES, (before + 1) * LINES):
            again = number // len(series)  # after all words: a second generation of each series
            name = series[(starts[place] + number * SERIES_STEP) % len(series)] + (f" {again + 1}" if again else "")
            found.append((brands[place], name))
    return found


def choose_retail_price(random: Random, dollars: float) -> int:
    """A price in cents as shops write it.

    >>> choose_retail_price(Random(1), 37.2) % 100 in ENDINGS
    True
    """
    if dollars < 4:
        return max(49, round(dollars * 20) * 5 - 1)
    return (
        max(1, round(dollars)) * 100 - 100 + random.choice(ENDINGS[:-1]) if dollars < 200 else round(dollars) * 100 - 1
    )


def draw_normal(random: Random) -> float:
    return NORMAL.inv_cdf(min(max(random.random(), 1e-6), 1 - 1e-6))


def make_asin(seed: int, number: int) -> str:
    """Ten characters, another for every number."""
    place = (number * 1_283_918_464_549 + first_asin(seed)) % ASINS
    letters = ""
    for _ in range(8):
        place, letter = divmod(place, 36)
        letters = ASIN_LETTERS[letter] + letters
    return "B0" + letters


@cache
def first_asin(seed: int) -> int:
    return Random(f"{seed}/asin").randrange(ASINS)
