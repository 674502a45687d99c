"""The facts that the sample catalog is made from: what kinds of things a shop sells, and how they differ."""

import re
import tomllib
from functools import cache
from itertools import chain
from math import prod
from pathlib import Path
from string import Formatter

from pydantic import Field, model_validator

from shopwright.schemas.record import Part

FOLDER = Path(__file__).parents[2] / "data" / "reference" / "catalog"
# Products of a block that a maker has at most, each with other facts.
MOST_OF_A_MAKER = 40
QUANTITY = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z%\"°][\w%\"°./ -]*)")


class Brand(Part):
    """An invented maker."""

    name: str
    price: float = Field(gt=0.3, lt=4)
    """Its prices relative to the leaf's."""


class Leaf(Part):
    """A leaf category: everything in it is the same kind of thing and differs in its attributes."""

    name: str
    """Plural, in title case, unique in the whole shop."""
    path: list[str] = Field(min_length=1, max_length=2)
    """The categories between the domain and this leaf."""
    nouns: list[str] = Field(min_length=2, max_length=5)
    """What one of them is called, lower case, the commonest first."""
    price: tuple[float, float]
    """Median in US dollars, and the standard deviation of its natural logarithm."""
    shipping_days: tuple[int, int]
    colors: list[str] = Field(max_length=12)
    """Colors it comes in; none where a color makes no sense."""
    attributes: dict[str, list[str]] = Field(min_length=2, max_length=6)
    """Name -> values, all of which go together; a number with its unit is written `12 in`."""
    dearer: dict[str, float] = Field(default_factory=dict)
    """Attribute value -> factor on the price."""
    options: list[str] = Field(min_length=1)
    """What the shopper picks on the page: names of attributes, or `color`. No text names them: they are facts of a variant."""
    titles: list[str] = Field(min_length=2)
    bullets: list[str] = Field(min_length=3)
    description: list[str] = Field(min_length=1)
    searches: list[str] = Field(min_length=5)
    """What people type before they know what they want."""
    uses: list[str] = Field(min_length=3)
    """Completes "a {noun} for ...": who or what it is for; the fact `use` of a product."""

    ordinary: float = Field(default=0.0, ge=0, le=1)
    """How many of its facts a line has as most of the leaf have them: high where all makers make much the same."""

    @model_validator(mode="after")
    def hangs_together(self) -> "Leaf":
        known = {"brand", "series", "noun", "use", *self.attributes} | ({"color"} if self.colors else set())
        for pattern in [*self.titles, *self.bullets, *self.description]:
            if unknown := list_pattern_fields(pattern) - known:
                raise ValueError(f"{self.name}: {pattern!r} names {sorted(unknown)}, which it does not have")
            if chosen := list_pattern_fields(pattern) & set(self.options):
                raise ValueError(f"{self.name}: {pattern!r} names {sorted(chosen)}, which is the shopper's to choose")
        if set(self.uses) & set(chain(*self.attributes.values(), self.colors)):
            raise ValueError(f"{self.name}: a use is another fact's value")
        for title in self.titles:
            if missing := known - {"use", *self.options} - list_pattern_fields(title):
                raise ValueError(f"{self.name}: title {title!r} leaves out {sorted(missing)}")
        if unknown := set(self.options) - known:
            raise ValueError(f"{self.name}: options {sorted(unknown)} are not attributes")
        if stray := set(self.dearer).difference(*self.attributes.values()):
            raise ValueError(f"{self.name}: dearer names {sorted(stray)}, which no attribute has")
        for name, values in self.attributes.items():
            if not re.fullmatch(r"[a-z][a-z_]*", name) or name in ("brand", "series", "noun", "use", "color"):
                raise ValueError(f"{self.name}: {name!r} cannot name an attribute")
            if not 3 <= len(values) <= 10 or len(set(values)) != len(values):
                raise ValueError(f"{self.name}: {name} needs 3 to 10 distinct values")
        if (
            prod(len(values) for name, values in self.list_values().items() if name not in self.options)
            < MOST_OF_A_MAKER
        ):
            raise ValueError(f"{self.name}: too few values to tell a maker's products apart")
        return self

    def list_values(self) -> dict[str, list[str]]:
        """What its products can be, by the name of each fact; the brand is the domain's."""
        return {**self.attributes, **({"color": self.colors} if self.colors else {}), "use": self.uses}


class Domain(Part):
    name: str
    brands: list[Brand] = Field(min_length=26)
    leaves: list[Leaf] = Field(min_length=3)
    """Those of most are 17 and more; a department of fewer is there to be left out of `catalog_fine`."""


def list_pattern_fields(pattern: str) -> set[str]:
    """
    >>> sorted(list_pattern_fields("{brand} {noun}, 3 pack"))
    ['brand', 'noun']
    """
    return {name for _, name, _, _ in Formatter().parse(pattern) if name is not None}


@cache
def domains() -> list[Domain]:
    """Every domain, in the order of the file names."""
    return [
        Domain.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))) for path in sorted(FOLDER.glob("*.toml"))
    ]


def list_leaves() -> list[Leaf]:
    return list(chain.from_iterable(domain.leaves for domain in domains()))


def make_attribute(name: str, value: str) -> dict[str, str | float | None]:
    """An attribute's columns, with the number and the unit where the value has them.

    >>> make_attribute("height", "12 in")
    {'name': 'height', 'value': '12 in', 'number': 12.0, 'unit': 'in'}
    """
    found = QUANTITY.fullmatch(value)
    number, unit = (float(found[1]), found[2]) if found else (None, None)
    return {"name": name, "value": value, "number": number, "unit": unit}
