"""The embedded Chinese shop: products composed from the facts in `data/reference/chinese/catalog`, at any size.

Product i depends on the seed and on i alone. A title is what such shops write, a row of words that people search for and a model number;
it leaves out most facts, which stand in bullets, the table of parameters, the description or the options. Everything is invented.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pydantic import Field, model_validator

from shopwright.pipeline.catalog.reference import Brand, list_pattern_fields
from shopwright.pipeline.catalog.sources.sample import LICENCE, draw_normal, make_asin
from shopwright.schemas.record import Part

FOLDER = Path(__file__).parents[2] / "data" / "reference" / "chinese" / "catalog"
# Products of one leaf that follow each other, and what is made when no number is given: 300 of each leaf.
BLOCK = 100
PRODUCTS = 24_000
# Makers of a leaf, of those of its domain.
MAKERS = 7
# The first model number.
FIRST_MODEL = 1001
MEASURE = re.compile(
    r"(?P<number>\d+(?:\.\d+)?)(?P<unit>毫米|厘米|米|英寸|毫升|升|克|千克|瓦|毫安时|小时|天|GB|[个件片粒册盒包杯键支瓶人袋])"
)
# How a title is put: the shown facts, the noun, the use and the model.
TITLES = (
    "{brand} {first}{noun} {second} {use} {model}",
    "{brand}{noun} {use} {first} {second} {model}",
    "{brand} {second} {first}{noun}{use} {model}",
)


class ChineseBrand(Brand):
    code: str
    """What its model numbers begin with."""


class ChineseLeaf(Part):
    """A leaf category with what its products can be; see `data/reference/chinese/README.md`."""

    name: str
    path: list[str] = Field(min_length=1, max_length=2)
    nouns: list[str] = Field(min_length=2)
    price: tuple[float, float]
    """Median in yuan, and the standard deviation of its natural logarithm."""
    days: tuple[int, int]
    colors: list[str]
    shown: list[str] = Field(min_length=2, max_length=2)
    """The facts that titles show."""
    options: list[str] = Field(min_length=1)
    uses: list[str] = Field(min_length=3)
    bullets: list[str] = Field(min_length=3)
    about: str
    why: list[str] = Field(min_length=3)
    """Why somebody looks for it; nothing in it is a fact of a product."""
    vague: list[str] = Field(min_length=1)
    facts: dict[str, list[str]] = Field(min_length=3, max_length=6)

    @model_validator(mode="after")
    def hangs_together(self) -> "ChineseLeaf":
        for pattern in (*self.bullets, self.about):
            fields = list_pattern_fields(pattern) - {"brand", "noun", "use"}
            if wrong := (fields - self.facts.keys()) | (fields & set(self.options)):
                raise ValueError(
                    f"{self.name}: {pattern!r} names {sorted(wrong)}, which it does not have or leaves open"
                )
        if wrong := set(self.shown) - (self.facts.keys() - set(self.options)):
            raise ValueError(f"{self.name}: titles show {sorted(wrong)}, which it does not have or leaves open")
        if wrong := set(self.options) - {"color", *self.facts}:
            raise ValueError(f"{self.name}: options {sorted(wrong)} are no facts")
        values = [*self.colors, *chain.from_iterable(self.facts.values())]
        if wrong := {value for value in values if values.count(value) > 1}:
            raise ValueError(f"{self.name}: {sorted(wrong)} are values of two facts")
        if "color" in self.options and len(self.colors) < 3:
            raise ValueError(f"{self.name}: the option color needs three colors")
        return self


class ChineseDomain(Part):
    name: str
    brands: list[ChineseBrand] = Field(min_length=MAKERS)
    leaves: list[ChineseLeaf] = Field(min_length=10)


class Shelf(NamedTuple):
    domain: ChineseDomain
    leaf: ChineseLeaf


@cache
def load_domains() -> list[ChineseDomain]:
    files = sorted(FOLDER.glob("*.toml"))
    return [ChineseDomain.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))) for path in files]


@cache
def list_shelves() -> list[Shelf]:
    """All leaves, domains taking turns."""
    columns = []
    for domain in load_domains():
        columns.append([Shelf(domain, leaf) for leaf in domain.leaves])
    return [shelf for shelf in chain.from_iterable(zip_longest(*columns)) if shelf]


@cache
def map_leaves() -> dict[str, ChineseLeaf]:
    return {shelf.leaf.name: shelf.leaf for shelf in list_shelves()}


def generate_chinese_products(seed: int, numbers: range) -> Iterator[dict[str, Any]]:
    """The products of these numbers, with prices in cents."""
    for number in numbers:
        block = number // BLOCK
        yield generate_product(seed, number, list_shelves()[block % len(list_shelves())])


def generate_product(seed: int, number: int, shelf: Shelf) -> dict[str, Any]:
    leaf, random = shelf.leaf, Random(f"{seed}/chinese/{number}")
    maker = random.choice(list_makers(seed, leaf.name))
    facts = {name: random.choice(values) for name, values in leaf.facts.items()}
    color = random.choice(leaf.colors) if leaf.colors else None
    fill = {**facts, "brand": maker.name, "noun": random.choice(leaf.nouns), "use": random.choice(leaf.uses)}
    fill |= {
        "first": facts[leaf.shown[0]],
        "second": facts[leaf.shown[1]],
        "model": f"{maker.code}{FIRST_MODEL + number}",
    }
    reviews = int(10 ** (3.9 * random.random() ** 1.4)) - 1
    rating = round(min(5.0, max(3.0, 4.7 + 0.2 * draw_normal(random))), 1)
    return {
        "id": make_asin(seed, number),
        "title": random.choice(TITLES).format_map(fill),
        "brand": maker.name,
        "category_path": [shelf.domain.name, *leaf.path, leaf.name],
        "category": leaf.name,
        "color": color,
        "price": draw_price(random, leaf.price[0] * maker.price, leaf.price[1]),
        "currency": "CNY",
        "price_written": None,
        "attributes": [make_attribute(name, value) for name, value in facts.items()],
        "options": [
            {"name": name, "values": leaf.colors if name == "color" else leaf.facts[name]} for name in leaf.options
        ],
        "description": leaf.about.format_map(fill),
        "bullets": [bullet.format_map(fill) for bullet in leaf.bullets],
        "rating": rating if reviews else None,
        "review_count": reviews,
        "shipping_days": random.randint(*leaf.days),
        "queries": [],
        "repairs": [],
        "variants": [],
        "source": "sample",
        "source_licence": LICENCE,
    }


@cache
def list_makers(seed: int, leaf: str) -> list[ChineseBrand]:
    """Those of its domain that make it."""
    domain = next(shelf.domain for shelf in list_shelves() if shelf.leaf.name == leaf)
    return Random(f"{seed}/chinese/{leaf}").sample(domain.brands, MAKERS)


def draw_price(random: Random, median: float, spread: float) -> int:
    """In fen, as such shops write it: 39.9, 128, 1299.

    >>> draw_price(Random(1), 120.0, 0.4) % 100
    0
    """
    yuan = median * 2.718281828459045 ** (0.7 * spread * draw_normal(random))
    if yuan < 60:
        return max(3, round(yuan)) * 100 - random.choice((10, 10, 20, 100))
    step = 10 if yuan < 1_000 else 100
    return (round(yuan / step) * step - random.choice((1, 1, 2, 2, 0 if step == 10 else 1))) * 100


def make_attribute(name: str, value: str) -> dict[str, str | float | None]:
    """
    >>> make_attribute("容量", "500毫升")["unit"], make_attribute("内胆材质", "316不锈钢")["unit"]
    ('毫升', None)
    """
    found = MEASURE.fullmatch(value)
    number, unit = (float(found["number"]), found["unit"]) if found else (None, None)
    return {"name": name, "value": value, "number": number, "unit": unit}
