"""How an export is read: which system wrote it, by its columns; which column is what; which rows are one product.

The systems are a table, `data/reference/exports.toml`; a mapping that `shopwright inspect --write` makes has the same keys.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from itertools import chain, groupby, product
from math import isnan
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from shopwright.pipeline.catalog.reference import FOLDER
from shopwright.pipeline.catalog.repair.lists import unpack_value
from shopwright.pipeline.catalog.repair.text import MISSING, value_to_text
from shopwright.pipeline.catalog.sources import BadSource
from shopwright.schemas.shop import Product

Row = dict[str, Any]
# The names in a value, from the outermost in.
Way = tuple[str, ...]

# Columns that tell about the record and not about the product.
NO_FACT = re.compile(
    r"url|link|image|img|picture|photo|video|thumb|date|time|created|updated|crawl|embedding|index$|_ids?$|^unnamed|^$"
)
# Around a product and within a value: `fields.price.amount` is a price.
WRAPPERS = frozenset(
    "fields product products item data node source record document payload general info properties".split()
)
VALUES = frozenset("amount value text raw default en en_us name label content".split())
NAME_VALUE = re.compile(r"Name=([^|]*)\|Value=(.*?)(?=Type=|Name=|[|;\[]|$)")
BRACKETS = re.compile(r"\[\w+\]([^=\[\]]+)=([^,\[]*)")
ZERO = re.compile(r"[^\d.,]*0+(?:[.,]0+)?[^\d.,]*")
AMOUNT = re.compile(r"(?:[A-Z]{3}|[$€£¥₹])?\s?\d[\d.,' ]*\s?(?:[A-Z]{3}|[$€£¥₹])?")
SALE = re.compile(r"sale|special|discount|offer")
# Values that a variation stands for which names none: any size.
MOST_VARIANTS = 250
FIELDS = (
    "id title brand category_path category color price currency attributes options description bullets rating review_count"
    " shipping_days queries stock variant_id sale_ends"
).split()


class Join(BaseModel):
    """Which rows are one product."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    by: list[str] = Field(default_factory=list)
    otherwise: list[str] = Field(default_factory=list, alias="else")
    parent: str = ""
    own: str | list[str] = ""
    below: list[str] = Field(default_factory=list)
    first: str = ""
    inside: str = Field("", alias="list")


class Options(BaseModel):
    """What a variant is chosen by."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    names: list[str] = Field(default_factory=list)
    values: list[str] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)
    text: list[str] = Field(default_factory=list)


class Nested(BaseModel):
    """Variants that stand within their product."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    inside: str = Field(alias="list")
    names: str = ""
    values: list[str] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)


class Listed(BaseModel):
    """A list of objects, each a fact with a name."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    inside: str = Field(alias="list")
    name: str
    value: str


class Paths(BaseModel):
    """How several categories of a product, each with those above it, are one text."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    between: str
    within: str
    drop: list[str] = Field(default_factory=list)
    """Names above all of the shop, which say nothing."""

    def deepest(self, text: Any) -> Any:
        """
        >>> Paths(between=",", within="/", drop=["Default"]).deepest("Default/Men,Default/Men/Tops")
        ['Men', 'Tops']
        """
        if not isinstance(text, str):
            return [name for name in text if name not in self.drop] if isinstance(text, list) else text
        paths = [[name.strip() for name in path.split(self.within)] for path in text.split(self.between)]
        return [name for name in max(paths, key=len) if name and name not in self.drop] or None


class Export(BaseModel):
    """How a kind of file is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = ""
    about: str = ""
    needs: list[list[str]] = Field(default_factory=list)
    licence: str = ""
    currency: str = ""
    columns: dict[str, list[str]] = Field(default_factory=dict)
    other: list[str] = Field(default_factory=list)
    attributes: list[str] | None = None
    ignore: list[str] = Field(default_factory=list)
    sold: dict[str, list[str]] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
    paths: Paths | None = None
    pairs: list[str] = Field(default_factory=list)
    lists: list[Listed] = Field(default_factory=list)
    join: Join | None = None
    options: Options | None = None
    nested: Nested | None = None

    @field_validator("columns")
    @classmethod
    def are_fields(cls, columns: dict[str, list[str]]) -> dict[str, list[str]]:
        for ours in columns:
            if ours not in FIELDS:
                raise ValueError(f"a product has no field {ours!r}.{suggestion(ours, FIELDS)}")
        return columns


@cache
def load_exports() -> dict[str, Any]:
    return tomllib.loads((FOLDER.parent / "exports.toml").read_text(encoding="utf-8"))


@cache
def list_systems() -> list[Export]:
    """
    >>> [system.name for system in list_systems()][:3]
    ['shopify', 'shopify-json', 'woocommerce']
    """
    return [Export.model_validate(each) for each in load_exports()["systems"]]


@cache
def list_names() -> dict[str, list[str]]:
    """Our field -> the names that its column may have."""
    prices = load_exports()["prices"]
    found = {ours: names.split() for ours, names in load_exports()["names"].items()}
    return found | {"price": [*prices["paid"].split(), *prices["usual"].split()]}


def identify(columns: Iterable[str], rows: Iterable[Row]) -> Export | None:
    """The system whose columns these are."""
    known = {column.strip().lower() for column in columns}
    first = next(iter(rows), {})
    for system in list_systems():
        for needed in system.needs:
            if all(
                name.lower() in known or ("." in name and follow(first, tuple(name.split("."))) is not None)
                for name in needed
            ):
                return system
    return None


def resolve(export: Export, columns: list[str]) -> Export:
    """The same with the names that the file's columns have, whatever their case; `#` becomes each number that there is."""
    real = {name.strip().lower(): name for name in reversed(columns)}

    def find(name: str) -> list[str]:
        if "#" in name:
            return list(
                chain.from_iterable(
                    find(name.replace("#", str(number)))
                    for number in range(1, 100)
                    if name.replace("#", str(number)).lower() in real
                )
            )
        if name.lower() in real:
            return [real[name.lower()]]
        head, dot, rest = name.partition(".")
        if dot and head.lower() in real:
            return [f"{real[head.lower()]}.{rest}"]
        return []

    def all_of(names: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(chain.from_iterable(map(find, names))))

    fields = {ours: all_of(names) for ours, names in export.columns.items()}
    options, join = export.options, export.join
    if options is not None:
        parts = {part: all_of(names) for part, names in options.model_dump().items()}
        options = Options(**parts) if any(parts.values()) else None
    if join is not None:
        told = {
            "by": all_of(join.by),
            "else": all_of(join.otherwise),
            "below": all_of(join.below),
            "parent": "".join(find(join.parent)[:1]),
            "list": "".join(find(join.inside)[:1]),
        }
        has_rows = told["by"] or told["below"] or told["parent"] or told["list"]
        join = Join.model_validate(told | {"own": join.own, "first": join.first}) if has_rows else None
    changed = {
        "columns": {ours: names for ours, names in fields.items() if names},
        "sold": {found: values for name, values in export.sold.items() for found in find(name)},
        "options": options,
        "join": join,
    }
    return export.model_copy(update=changed)


def guess_export(columns: list[str], rows: list[Row]) -> Export:
    """What the columns of a file of no known system are, by their names.

    >>> guess_export(["SKU", "Product Name", "list price", "sale price", "weight"], []).columns
    {'id': ['SKU'], 'title': ['Product Name'], 'price': ['sale price', 'list price']}
    """
    ways = list_ways(columns, rows)
    objects = {way for way in ways if any(isinstance(follow(row, tuple(way.split("."))), dict) for row in rows)}
    plain: dict[str, str] = {}
    inner: dict[str, str] = {}
    for way in ways:
        (inner if way in objects else plain).setdefault(simplify_way(way), way)
    fields: dict[str, list[str]] = {}
    for ours, names in list_names().items():
        known = inner | plain if ours in ("attributes", "options") else plain
        if found := [known[name] for name in names if name in known]:
            fields[ours] = found
    single = {ours: names[:1] if ours != "price" else names for ours, names in fields.items()}
    taken = {names[0] for ours, names in single.items() if ours != "price"}
    if "price" in single:
        single["price"] = [name for name in single["price"] if name not in taken]
    price = single.get("price", [])
    if price and "currency" not in single and price[0].endswith(".amount"):  # { amount, currency }
        beside = price[0].removesuffix("amount") + "currency"
        single |= {"currency": [beside]} if beside in ways else {}
    currency = "USD" if price and simplify_name(price[0]).endswith("_usd") else ""
    fields = {ours: names for ours, names in single.items() if names}
    return Export(columns=fields, currency=currency, attributes=list_nested_facts(fields, columns, ways))


def list_nested_facts(fields: dict[str, list[str]], columns: list[str], ways: list[str]) -> list[str] | None:
    """Beside a title that stands within an object its other facts stand, too; None where the title is a column."""
    around, dot, _ = next(iter(fields.get("title", [])), "").rpartition(".")
    if not dot:
        return None
    used = set(chain.from_iterable(fields.values()))
    inner = [way for way in ways if way.startswith(f"{around}.") and "." not in way[len(around) + 1 :]]
    heads = {way.split(".")[0] for way in used}
    return [way for way in [*columns, *inner] if way not in used and way not in heads and is_fact(way)]


def list_ways(columns: list[str], rows: list[Row], deepest: int = 6) -> list[str]:
    """The columns, and the ways into those that hold objects; the less deep first."""
    found = dict.fromkeys(columns)
    inside: dict[str, None] = {}

    def enter(prefix: str, value: Any, depth: int) -> None:
        if isinstance(value, dict) and depth < deepest:
            for name, each in value.items():
                inside.setdefault(f"{prefix}.{name}")
                enter(f"{prefix}.{name}", each, depth + 1)

    for row in rows:
        for name, value in row.items():
            enter(name, value, 0)
    return [*found, *sorted(inside, key=lambda way: way.count("."))]


def simplify_way(way: str) -> str:
    """
    >>> simplify_way("fields.price.amount"), simplify_way("price.currency"), simplify_way("Product Name"), simplify_way("brand.name")
    ('price', 'price_currency', 'product_name', 'brand')
    """
    parts = [simplify_name(part) for part in way.split(".")]
    while len(parts) > 1 and parts[0] in WRAPPERS:
        parts = parts[1:]
    while len(parts) > 1 and parts[-1] in VALUES:
        parts = parts[:-1]
    return "_".join(parts)


def simplify_name(name: str) -> str:
    """
    >>> simplify_name("Product Name"), simplify_name("averageRating"), simplify_name("list-price ")
    ('product_name', 'average_rating', 'list_price')
    """
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).strip("_").lower()


@cache
def is_fact(name: str) -> bool:
    """Whether a column that we have no field for may be an attribute.

    >>> is_fact("modelno"), is_fact("imageUrl"), is_fact("release_date"), is_fact("list_price"), is_fact("manufacturer")
    (True, False, False, False, True)
    """
    plain = simplify_name(name.rpartition(".")[2])
    prices = load_exports()["prices"]
    known = {*chain.from_iterable(list_names().values()), *prices["never"].split(), *Product.model_fields}
    return plain == "manufacturer" or (plain not in known and not NO_FACT.search(plain))


def suggestion(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, n=3)
    return (f" Did you mean {' or '.join(near)}?" if near else "") + f" There are {join_column_names(names)}."


def join_column_names(names: list[str]) -> str:
    return ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")


# Values


def follow(value: Any, way: Way) -> Any:
    """What stands at the end of the way; a list gives a list of what each of its things has.

    >>> follow({"a": [{"b": 1}, {"b": 2}, {}]}, ("a", "b")), follow({"a": '{"b": 3}'}, ("a", "b")), follow({"a": 1}, ("a", "b"))
    ([1, 2], 3, None)
    """
    for name in way:
        if isinstance(value, str):
            value = unpack_value(value)
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list | tuple):
            found = [each.get(name) for each in value if isinstance(each, dict)]
            flat = chain.from_iterable(each if isinstance(each, list) else [each] for each in found)
            value = [each for each in flat if each is not None] or None
        else:
            return None
    return value


def says_nothing(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) < 20 and value.strip().lower() in MISSING
    if isinstance(value, list | tuple | dict):
        return not value or (isinstance(value, list) and all(map(says_nothing, value)))
    return value is None or (isinstance(value, float) and isnan(value))


def is_zero(value: Any) -> bool:
    return (isinstance(value, str) and bool(ZERO.fullmatch(value.strip()))) or (
        isinstance(value, int | float) and value == 0
    )


class Reader:
    """Rows of one table as raw products."""

    def __init__(self, export: Export, columns: list[str]):
        self.export = export
        self.known = frozenset(columns)
        self.ways = {ours: [self.way(name) for name in names] for ours, names in export.columns.items()}
        self.regular = [way for way in self.ways.get("price", []) if not SALE.search(way[-1].lower())]
        options = export.options or Options()
        self.pairs = [
            (self.way(name), self.way(value)) for name, value in zip(options.names, options.values, strict=False)
        ]
        self.axes = [(simplify_option(name), self.way(name)) for name in options.columns]
        self.texts = [self.way(name) for name in options.text]
        self.sold = [
            (self.way(name), name, frozenset(value.lower() for value in values)) for name, values in export.sold.items()
        ]
        used = {
            *chain.from_iterable(export.columns.values()),
            *options.names,
            *options.values,
            *options.columns,
            *options.text,
        }
        used |= {way.split(".")[0] for way in used if way not in columns}
        self.used = frozenset(used | set(export.sold))
        self.facts = {name: self.way(name) for name in list_fact_columns(export, columns, self.used)}
        # Names within an object whose other things are attributes: `details.Brand`.
        self.inner = frozenset(way[-1] for ways in self.ways.values() for way in ways if len(way) > 1)
        self.named = [(ours, self.way(theirs)) for ours, theirs in export.facts.items()]
        self.lists = [(self.way(each.inside), self.way(each.name), self.way(each.value)) for each in export.lists]

    def way(self, name: str) -> Way:
        return (name,) if name in self.known else tuple(name.split("."))

    def first(self, row: Row, ours: str) -> Any:
        """The first of a field's columns that says something."""
        for way in self.ways.get(ours, ()):
            value = row.get(way[0]) if len(way) == 1 else follow(row, way)
            if not says_nothing(value):
                return value
        return None

    def price(self, row: Row) -> Any:
        """What a shopper pays: the first of the price's columns, but no price of a sale that ends on a day."""
        ways = self.regular if self.regular and self.first(row, "sale_ends") is not None else self.ways.get("price", ())
        found = None
        for way in ways:
            value = row.get(way[0]) if len(way) == 1 else follow(row, way)
            if not says_nothing(value):
                if not is_zero(value):
                    return value
                found = value if found is None else found
        return found

    def product(self, row: Row) -> Row:
        """A raw product, with its variants where the file has them."""
        if "unreadable" in row:
            return row
        parts: list[Row] = []
        if self.export.join is not None:
            row, parts = row["main"], row["parts"]
            if "unreadable" in row:
                return row
        raw = {ours: self.first(row, ours) for ours in self.ways}
        raw["price"] = self.price(row)
        raw |= {"currency": single(raw["currency"])} if raw.get("currency") is not None else {}
        if self.export.name and isinstance(named := unpack_value(raw.get("attributes")), dict):
            raw["attributes"] = {
                name: value for name, value in named.items() if name not in self.inner and is_fact(name)
            }
        if self.export.paths is not None and raw.get("category_path") is not None:
            raw["category_path"] = self.export.paths.deepest(raw["category_path"])
        if facts := self.read_facts(row):
            raw["attributes"] = [raw["attributes"], facts] if raw.get("attributes") else facts
        for way, name, values in self.sold:
            value = (value_to_text(follow(row, way)) or "").strip()
            if value and value.lower() not in values:
                raw["refused"] = f"not for sale: {name} is {value[:40]}"
        if self.export.name and self.export.join is not None:
            raw |= {"id": make_id(raw["id"])} if raw.get("id") is not None else {}
        offers = self.offers(row, parts, raw)
        if offers is not None:
            raw["offers"] = offers
        for plumbing in ("stock", "variant_id", "sale_ends"):
            raw.pop(plumbing, None)
        return raw

    def read_facts(self, row: Row) -> Row:
        found = {name: value for name, way in self.facts.items() if is_scalar(value := follow(row, way))}
        found |= {ours: value for ours, way in self.named if is_scalar(value := follow(row, way))}
        for listed, name, value in self.lists:
            things = follow(row, listed)
            for each in things if isinstance(things, list) else [things]:
                said = follow(each, name)
                if isinstance(said, str) and is_scalar(follow(each, value)):
                    found[said] = follow(each, value)
        for column in self.export.pairs:
            pairs = (pair.partition("=") for pair in re.split(r",(?=[\w-]+=)", says(row.get(column))))
            found |= {name: value for name, sign, value in pairs if sign and is_scalar(value)}
        return {short_name(name): value for name, value in found.items()}

    def offers(self, main: Row, parts: list[Row], raw: Row) -> list[Row] | None:
        """What can be bought of the product as the file has it; None where the file says nothing of it."""
        if (nested := self.export.nested) is not None and (things := follow(main, tuple(nested.inside.split(".")))):
            return self.nested_offers(things, main, raw)
        if self.export.join is None and raw.get("stock") is None:
            return None
        rows, listed = [main, *parts], self.read_choice_lists(main)
        names = {way: follow(main, way) for way, _ in self.pairs}
        if self.export.join is not None and (self.export.join.parent or self.export.join.inside) and parts:
            rows = parts  # the parent cannot be bought itself
        if self.export.join is not None and self.export.join.below and parts:
            rows = [part for part in parts if self.choices(part, names, listed)] or [main]
        shown = self.choices(main, names, listed) if rows == parts else []
        facts = dict(self.choices(main, names, listed))
        found = []
        for row in rows:
            if row is not main and not self.is_variant(row, names, listed):
                continue
            if any(not self.is_sold(row, way, values) for way, _, values in self.sold):
                continue
            price = self.price(row)
            found.append(
                {
                    "choices": self.choices(row, names, listed),
                    "price": price if not says_nothing(price) else raw["price"],
                    "currency": single(self.first(row, "currency")) or raw.get("currency"),
                    "stock": self.first(row, "stock"),
                    "id": self.first(row, "variant_id"),
                }
            )
        found = fill_any(found, dict(shown))
        used = (
            {name for offer in found for name, _ in offer["choices"]}
            if len(found) > 1 or self.export.name == "shopify"
            else set()
        )
        if self.axes:
            found, used = keep_varying(found)
        if len(found) == 1 and self.export.name != "shopify":
            found[0]["choices"] = []
        rest = {
            name: value for name, value in facts.items() if name not in used and not (self.axes and name == "color")
        }
        if rest and (self.export.name != "shopify"):
            raw["attributes"] = [raw["attributes"], rest] if raw.get("attributes") else rest
        if "color" in used:
            raw.pop("color", None)
        return found

    def nested_offers(self, things: Any, main: Row, raw: Row) -> list[Row]:
        nested = self.export.nested
        assert nested is not None
        names = follow(main, tuple(nested.names.split("."))) if nested.names else None
        found = []
        for thing in things if isinstance(things, list) else [things]:
            if not isinstance(thing, dict):
                continue
            if names:
                pairs = zip(names if isinstance(names, list) else [names], range(1, 10), strict=False)
                choices = [(str(name), thing.get(nested.values[0].replace("#", str(number)))) for name, number in pairs]
            else:
                choices = [(name, follow(thing, tuple(name.split(".")))) for name in nested.columns]
            found.append(
                {
                    "choices": clean_choices(choices),
                    "price": self.price(thing) if not says_nothing(self.price(thing)) else raw["price"],
                    "currency": single(self.first(thing, "currency")) or raw.get("currency"),
                    "stock": self.first(thing, "stock"),
                    "id": thing.get("sku") or thing.get("id"),
                }
            )
        if not names:
            found, used = keep_varying(found)
            if "color" in used:
                raw.pop("color", None)
        return found

    def read_choice_lists(self, main: Row) -> dict[str, list[tuple[str, str]]]:
        """The choices of a configurable product's parts, by their keys."""
        join = self.export.join
        if join is None or not join.inside:
            return {}
        return dict(read_configurations(main.get(join.inside), str(join.own)))

    def choices(
        self, row: Row, names: Mapping[Way, Any], listed: Mapping[str, list[tuple[str, str]]]
    ) -> list[tuple[str, str]]:
        join = self.export.join
        if listed and join is not None:
            return listed.get(str(row.get(str(join.own))), [])
        found = [(says(follow(row, name)) or says(names.get(name)), follow(row, value)) for name, value in self.pairs]
        found += [(name, follow(row, way)) for name, way in self.axes]
        for way in self.texts:
            text = follow(row, way)
            if isinstance(text, str):
                found += NAME_VALUE.findall(text) or BRACKETS.findall(text)
        return clean_choices(found)

    def is_variant(self, row: Row, names: Mapping[Way, Any], listed: Mapping[str, list[tuple[str, str]]]) -> bool:
        """Not a row that is only a picture, or a text in another language."""
        join = self.export.join
        if join is not None and (join.parent or join.by):
            return not says_nothing(self.price(row)) or bool(self.choices(row, names, listed))
        return bool(self.choices(row, names, listed))

    def is_sold(self, row: Row, way: Way, values: frozenset[str]) -> bool:
        value = (value_to_text(follow(row, way)) or "").strip().lower()
        return not value or value in values


def list_fact_columns(export: Export, columns: list[str], used: Iterable[str]) -> list[str]:
    """The columns that are facts of the product, where nothing else names them."""
    if export.attributes is not None:
        real = {name.lower(): name for name in columns}
        return [real.get(name.lower(), name) for name in export.attributes if name.lower() in real or "." in name]
    ignored = [*export.ignore, *export.other]
    return [name for name in columns if name not in used and is_fact(name) and not is_listed(name, ignored)]


def is_listed(name: str, patterns: Iterable[str]) -> bool:
    """
    >>> is_listed("Attribute 2 visible", ["Attribute # *"]), is_listed("In stock?", ["In stock?"])
    (True, True)
    """
    plain = name.lower()
    return any(
        plain == pattern.lower()
        or fnmatchcase(plain, pattern.lower().replace("[", "[[]").replace("?", "[?]").replace("#", "[0-9]*"))
        for pattern in patterns
    )


def short_name(name: str) -> str:
    """
    >>> short_name("Color (product.metafields.shopify.color-pattern)"), short_name("fields.weight"), short_name("weight")
    ('Color', 'weight', 'weight')
    """
    name = name.partition(" (product.metafields")[0]
    return name.rpartition(".")[2] or name if re.fullmatch(r"[\w.]+", name) else name


def is_scalar(value: Any) -> bool:
    from datetime import date, time

    if isinstance(value, str):
        return len(value) <= 200 and "://" not in value
    return value is not None and not isinstance(value, dict | list | tuple | bytes | date | time)


def says(value: Any) -> str:
    return "" if says_nothing(value) else (value_to_text(value) or "").strip()


def clean_choices(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, str]]:
    """Without what a shop writes for a product that comes in one form."""
    found = [(says(name), says(value)) for name, value in pairs]
    return [
        (name, value)
        for name, value in found
        if name and value and (name.lower(), value.lower()) != ("title", "default title")
    ]


def simplify_option(name: str) -> str:
    return simplify_name(name).replace("_", " ")


def single(value: Any) -> Any:
    """The one that all of a list are; of different ones a text that is no currency."""
    if isinstance(value, list | tuple):
        different = list(dict.fromkeys(map(str, value)))
        return different[0] if len(different) == 1 else " / ".join(different) or None
    return value


def make_id(value: Any) -> str:
    """A product's number or handle as one word of at most 64 characters.

    >>> make_id("WP 12/b"), len(make_id("a" * 80)), make_id("a" * 80) == make_id("a" * 81)
    ('WP-12/b', 64, False)
    """
    import hashlib

    word = re.sub(r"\s+", "-", (value_to_text(value) or "").strip())
    return word if len(word) <= 64 else f"{word[:55]}-{hashlib.sha256(word.encode()).hexdigest()[:8]}"


def keep_varying(offers: list[Row]) -> tuple[list[Row], set[str]]:
    """Choices of what differs between the variants."""
    values: dict[str, set[str]] = {}
    for offer in offers:
        for name, value in offer["choices"]:
            values.setdefault(name, set()).add(value)
    varying = {name for name, several in values.items() if len(several) > 1}
    return [offer | {"choices": [pair for pair in offer["choices"] if pair[0] in varying]} for offer in offers], varying


def fill_any(offers: list[Row], shown: Mapping[str, str]) -> list[Row]:
    """A variant without a value for an option of the others stands for each value that the parent lists."""
    names = list(dict.fromkeys(name for offer in offers for name, _ in offer["choices"]))
    if len(offers) > 1 or (offers and shown):
        names = list(
            dict.fromkeys(
                [*names, *(name for name in shown if any(n == name for o in offers for n, _ in o["choices"]))]
            )
        )
    found = []
    for offer in offers:
        has = dict(offer["choices"])
        lists = [
            [(name, has[name])] if name in has else [(name, value) for value in split_values(shown.get(name, ""))]
            for name in names
        ]
        several = list(product(*lists)) if all(lists) else [tuple(offer["choices"])]
        found += [offer | {"choices": list(each)} for each in several[:MOST_VARIANTS]]
    return found


def split_values(text: str) -> list[str]:
    """
    >>> split_values("S, M, L"), split_values("")
    (['S', 'M', 'L'], [])
    """
    return [value for part in re.split(r"\s*[,|]\s*", text) if (value := part.strip())]


def read_configurations(text: Any, own: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """
    >>> list(read_configurations("sku=A-S,size=S,color=Red|sku=A-M,size=M,color=Red", "sku"))
    [('A-S', [('size', 'S'), ('color', 'Red')]), ('A-M', [('size', 'M'), ('color', 'Red')])]
    """
    for one in str(text or "").split("|"):
        pairs = [pair.partition("=") for pair in re.split(r",(?=[\w-]+=)", one) if "=" in pair]
        named = [(name.strip(), value.strip()) for name, _, value in pairs]
        key = next((value for name, value in named if name == own), "")
        if key:
            yield key, [(name, value) for name, value in named if name != own]


# Prices that are not used


def list_unused_prices(export: Export, columns: list[str], rows: list[Row]) -> list[str]:
    """Columns that may be a price, and of which nothing says what they are."""
    used = {name.split(".")[0] for name in chain.from_iterable(export.columns.values())}
    prices = load_exports()["prices"]
    known = [*export.other, *prices["never"].split()]
    return [
        name
        for name in columns
        if name not in used
        and not is_listed(name, export.other)
        and simplify_name(name) not in known
        and may_be_price(name, [row.get(name) for row in rows])
    ]


def may_be_price(name: str, values: list[Any]) -> bool:
    """Whether most values are amounts, and the name or a mark of a currency speaks of money.

    >>> may_be_price("member_price", ["12.50", ""]), may_be_price("weight", ["12.50"]), may_be_price("extra", ["$12.50"])
    (True, False, True)
    """
    texts = [text for value in values if (text := says(value))]
    amounts = [text for text in texts if AMOUNT.fullmatch(text)]
    if not texts or 2 * len(amounts) <= len(texts):
        return False
    words = set(simplify_name(name).split("_"))
    marked = [text for text in amounts if re.search(r"[$€£¥₹]|\b[A-Z]{3}\b", text)]
    return bool(words & set(load_exports()["prices"]["words"].split())) or 2 * len(marked) > len(texts)


# Rows that are one product


def join_rows(rows: Any, export: Export) -> Iterator[Row]:
    """`{main, parts}` for each product, in the order in which the first row of each comes; `rows` begins anew whenever it is called."""
    import json
    import tempfile

    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("key", pa.string()), ("number", pa.int64()), ("is_main", pa.bool_()), ("row", pa.string())])
    with tempfile.TemporaryDirectory() as folder:
        keyed = Path(folder) / "rows.parquet"
        with pq.ParquetWriter(keyed, schema, compression="zstd") as writer:
            waiting: list[tuple[str, int, bool, str]] = []
            for number, (key, is_main, row) in enumerate(key_rows(rows, export)):
                waiting.append((key, number, is_main, json.dumps(row, default=str)))
                if len(waiting) >= 10_000:
                    writer.write_table(pa.table(list(zip(*waiting, strict=True)), schema=schema))
                    waiting = []
            if waiting:
                writer.write_table(pa.table([list(column) for column in zip(*waiting, strict=True)], schema=schema))
        with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": folder, "threads": 2}) as sql:
            found = sql.execute(
                "SELECT first, is_main, row FROM read_parquet(?) JOIN (SELECT key, min(number) AS first FROM read_parquet(?) GROUP BY key) "
                "USING (key) ORDER BY first, number",
                [str(keyed), str(keyed)],
            )
            while_there = iter(lambda: found.fetchmany(10_000), [])
            for _, group in groupby(chain.from_iterable(while_there), key=lambda each: each[0]):
                yield assemble([(is_main, json.loads(row)) for _, is_main, row in group])


def assemble(group: list[tuple[bool, Row]]) -> Row:
    place = next((place for place, (is_main, _) in enumerate(group) if is_main), 0)
    return {"main": group[place][1], "parts": [row for at, (_, row) in enumerate(group) if at != place]}


def key_rows(rows: Any, export: Export) -> Iterator[tuple[str, bool, Row]]:
    """Each row with the key that its product's rows share, and whether it is the one that tells of the product."""
    join = export.join
    assert join is not None
    titles = export.columns.get("title", [])
    if join.parent:
        yield from key_by_parent(rows, join)
    elif join.inside:
        yield from key_by_list(rows, join)
    elif join.below:
        yield from key_below(rows, join)
    else:
        for number, row in enumerate(rows()):
            key = (
                ""
                if "unreadable" in row
                else next((says(row.get(name)) for name in [*join.by, *join.otherwise] if says(row.get(name))), "")
            )
            yield key or f"\0{number}", any(says(row.get(name)) for name in titles), row


def key_by_parent(rows: Any, join: Join) -> Iterator[tuple[str, bool, Row]]:
    forms = [join.own] if isinstance(join.own, str) else join.own
    wanted = {says(row.get(join.parent)) for row in rows()} - {""}
    same: dict[str, str] = {}  # a parent may be named by its number here and by its SKU there
    for number, row in enumerate(rows()):
        if not says(row.get(join.parent)):
            same |= {name: f"\0{number}" for form in forms if (name := fill_name(form, row)) in wanted}
    for number, row in enumerate(rows()):
        parent = says(row.get(join.parent))
        yield same.get(parent, parent) or f"\0{number}", not parent, row


def fill_name(form: str, row: Row) -> str:
    """
    >>> fill_name("id:{ID}", {"ID": "7"}), fill_name("SKU", {"SKU": "a"})
    ('id:7', 'a')
    """
    if "{" not in form:
        return says(row.get(form))
    return re.sub(r"\{(\w+)\}", lambda name: says(row.get(name[1])), form)


def key_by_list(rows: Any, join: Join) -> Iterator[tuple[str, bool, Row]]:
    own, parent_of = str(join.own), dict[str, str]()
    for row in rows():
        for key, _ in read_configurations(row.get(join.inside), own):
            parent_of.setdefault(key, says(row.get(own)))
    for number, row in enumerate(rows()):
        name = says(row.get(own))
        is_main = name not in parent_of and not says(row.get("store_view_code"))
        yield parent_of.get(name, name) or f"\0{number}", is_main, row


def key_below(rows: Any, join: Join) -> Iterator[tuple[str, bool, Row]]:
    key = ""
    for number, row in enumerate(rows()):
        kind = next((says(row.get(name)) for name in join.below if says(row.get(name))), "")
        is_first = kind.lower().startswith(join.first.lower()) or "unreadable" in row or not key
        key = f"\0{number}" if is_first else key
        yield key, is_first, row


def read_mapping(path: Path) -> tuple[Export, list[str], Row]:
    """The mapping in a file of one's own, the sources that it names, and what else it says."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSource(f"{path} cannot be read as TOML: {error}.") from None
    files = found.pop("source", None)
    if not files:
        raise BadSource(f'{path} names no source. Write the file that it is about: source = "my-shop.csv".')
    more = {key: found.pop(key) for key in ("invent_prices",) if key in found}
    try:
        export = Export.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadSource(f"{path}: {place}: {first['msg'].removeprefix('Value error, ').rstrip('.')}.") from None
    return export, [files] if isinstance(files, str) else list(files), more
