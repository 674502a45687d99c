"""The embedded shop: products composed from the facts in `data/reference/catalog`, at any size.

Product i depends on the seed and on i alone. Products come in blocks of 120 siblings of one leaf category: five makers
times three attributes (4 x 3 x 2 values), every combination once, so that each has siblings that differ from it in
exactly one thing. What the shopper picks on the page (`options`) is in no text of a product: it is its variants'. Everything here is invented; no text is taken from a real shop.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from itertools import product as combinations
from math import gcd, prod
from random import Random
from statistics import NormalDist
from typing import Any

from shopwright.pipeline.catalog.reference import (
    FOLDER,
    Brand,
    Domain,
    Leaf,
    domains,
    list_pattern_fields,
    make_attribute,
)

LICENCE = "Apache-2.0"
# Products of one leaf, no two of them with the same facts.
SIBLINGS = 120
# What is made when no number is given: about 120 in each leaf.
PRODUCTS = 24_000
# Brands of a leaf that take turns.
MAKERS = 5
# Values of three facts that a block goes through: with its makers 5 * 4 * 3 * 2 = 120 siblings.
VALUES = (4, 3, 2)
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
    columns = [list_domain_shelves(domain) for domain in domains()]
    turns = chain.from_iterable(zip_longest(*columns))
    return [shelf for shelf in turns if shelf]


def list_domain_shelves(domain: Domain) -> list[Shelf]:
    return [Shelf(domain.name, domain.brands, leaf) for leaf in domain.leaves]


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
    makers = [Maker(random, leaf, brand, series) for brand, series in makers_of(seed, block, shelf)]
    lists = {**leaf.attributes, **({"color": leaf.colors} if leaf.colors else {})}
    common = {name: random.choice(values) for name, values in lists.items() if name not in leaf.options}
    axes = choose_axes(random, {name: values for name, values in lists.items() if name not in leaf.options})
    noun, use, title = random.choice(leaf.nouns), random.choice(leaf.uses), random.choice(leaf.titles)
    description, bullets = Phrase(random.choice(leaf.description)), [Phrase(bullet) for bullet in leaf.bullets]
    base = leaf.price[0] * 2.718281828459045 ** (0.6 * leaf.price[1] * draw_normal(random))
    options = [{"name": name, "values": lists[name]} for name in leaf.options]
    grid = list(combinations(makers, list(combinations(*(values for _, values in axes)))))
    for place in inside:
        maker, values = grid[place]
        own = Random(f"{seed}/sample/{block}/{place}")
        facts = {name: own.choice(lists[name]) for name in leaf.options} | common
        facts |= dict(zip((name for name, _ in axes), values, strict=True))
        color = facts.pop("color", None)
        fill = {**facts, "brand": maker.brand.name, "series": maker.series, "noun": noun, "use": use, "color": color}
        number = block * SIBLINGS + place
        factor = prod(leaf.dearer.get(value, 1.0) for value in facts.values())
        price = choose_retail_price(own, base * maker.price * factor * (0.97 + 0.06 * own.random()))
        rating = round(min(5.0, max(1.0, maker.quality + 0.3 * draw_normal(own))), 1)
        reviews = int(10 ** (3.6 * own.random() ** 1.5)) - 1
        yield {
            "id": make_asin(seed, number),
            "title": collapse_spaces(title.format_map(fill)),
            "brand": maker.brand.name,
            "category_path": [shelf.domain, *leaf.path, leaf.name],
            "category": leaf.name,
            "color": color,
            "price": price,
            "currency": "USD",
            "price_written": None,
            "attributes": [measured(name, value) for name, value in facts.items()],
            "options": options,
            "description": description.fill(fill),
            "bullets": [bullet.fill(fill) for bullet in bullets],
            "rating": rating if reviews else None,
            "review_count": reviews,
            "shipping_days": own.randint(*leaf.shipping_days),
            "queries": [],
            "repairs": [],
            "source": "sample",
            "source_licence": LICENCE,
        }


class Phrase:
    """A pattern that many siblings fill with the same words."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.names = pattern, names_in(pattern)
        self.said: dict[tuple[str | None, ...], str] = {}

    def fill(self, fill: dict[str, str | None]) -> str:
        key = tuple(map(fill.__getitem__, self.names))
        if key not in self.said:
            self.said[key] = collapse_spaces(self.pattern.format_map(fill))
        return self.said[key]


# Few patterns and values, asked for every product; nobody changes what they give.
names_in, measured = cache(list_pattern_fields), cache(make_attribute)


class Maker:
    """A brand's line in one block of siblings."""

    def __init__(self, random: Random, leaf: Leaf, brand: Brand, series: str) -> None:
        self.brand, self.series = brand, series
        self.price = brand.price * 2.718281828459045 ** (0.4 * leaf.price[1] * draw_normal(random))
        self.quality = 4.1 + 0.25 * draw_normal(random)


def makers_of(seed: int, block: int, shelf: Shelf) -> list[tuple[Brand, str]]:
    """Five makers with a series each; a leaf meets a pair of brand and series only once in all its blocks."""
    series = series_words()
    pairs = len(shelf.brands) * len(series)
    visit = block // len(list_shelves())
    # A step that shares no factor with the number of pairs walks through all of them before one comes again.
    random = Random(f"{seed}/makers/{shelf.leaf.name}")
    start, step = random.randrange(pairs), coprime_step(random, pairs, len(shelf.brands))
    found = []
    for turn in range(visit * MAKERS, (visit + 1) * MAKERS):
        place = (start + turn * step) % pairs
        again = turn // pairs  # after all pairs: a second generation of each series
        name = series[place // len(shelf.brands)] + (f" {again + 1}" if again else "")
        found.append((shelf.brands[place % len(shelf.brands)], name))
    return found


def coprime_step(random: Random, pairs: int, brands: int) -> int:
    """A step that visits every pair, and five different brands in a row."""
    while True:
        step = random.randrange(pairs)
        if gcd(step, pairs) == 1 and len({turn * step % brands for turn in range(MAKERS)}) == MAKERS:
            return step


def choose_axes(random: Random, lists: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    """The three attributes in which the siblings of a block differ, and the values that are there."""
    names = random.sample(sorted(lists), len(lists))
    chosen: list[tuple[str, list[str]]] = []
    for size in VALUES:
        name = next(name for name in names if len(lists[name]) >= size)
        names.remove(name)
        kept = set(random.sample(lists[name], size))
        chosen.append((name, [value for value in lists[name] if value in kept]))
    return chosen


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


def collapse_spaces(text: str) -> str:
    """
    >>> collapse_spaces("a  small lamp")
    'a small lamp'
    """
    return " ".join(text.split())
