"""Rows of an export as raw products, with their variants where the file has them."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain, product
from typing import Any

from shopwright.pipeline.catalog.exports.columns import is_fact, list_fact_columns
from shopwright.pipeline.catalog.exports.joining import read_configurations
from shopwright.pipeline.catalog.exports.systems import Export, Options
from shopwright.pipeline.catalog.exports.values import (
    Row,
    Way,
    follow,
    is_scalar,
    is_zero,
    make_id,
    says,
    says_nothing,
    short_name,
    simplify_option,
    single,
)
from shopwright.pipeline.catalog.repair.lists import unpack_value
from shopwright.pipeline.catalog.repair.text import value_to_text

NAME_VALUE = re.compile(r"Name=([^|]*)\|Value=(.*?)(?=Type=|Name=|[|;\[]|$)")
BRACKETS = re.compile(r"\[\w+\]([^=\[\]]+)=([^,\[]*)")
SALE = re.compile(r"sale|special|discount|offer")
# Values that a variation stands for which names none: any size.
MOST_VARIANTS = 250


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


def clean_choices(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[str, str]]:
    """Without what a shop writes for a product that comes in one form."""
    found = [(says(name), says(value)) for name, value in pairs]
    return [
        (name, value)
        for name, value in found
        if name and value and (name.lower(), value.lower()) != ("title", "default title")
    ]


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
