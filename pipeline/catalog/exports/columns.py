"""What the columns of a file are that no known system wrote, and which of them may be a price that nobody has named."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Any

from shopwright.pipeline.catalog.exports.systems import Export, is_listed, list_names, load_exports
from shopwright.pipeline.catalog.exports.values import Row, follow, says, says_nothing, simplify_name
from shopwright.schemas.shop import Product

# Columns that tell about the record and not about the product.
NO_FACT = re.compile(
    r"url|link|image|img|picture|photo|video|thumb|date|time|created|updated|crawl|embedding|index$|_ids?$|^unnamed|^$"
)
# Around a product and within a value: `fields.price.amount` is a price.
WRAPPERS = frozenset(
    "fields product products item data node source record document payload general info properties".split()
)
VALUES = frozenset("amount value text raw default en en_us name label content".split())
AMOUNT = re.compile(r"(?:[A-Z]{3}|[$€£¥₹])?\s?\d[\d.,' ]*\s?(?:[A-Z]{3}|[$€£¥₹])?")


def guess_export(columns: list[str], rows: list[Row]) -> Export:
    """What the columns of a file of no known system are, by their names.

    >>> guess_export(["SKU", "Product Name", "list price", "sale price", "weight"], []).columns
    {'id': ['SKU'], 'title': ['Product Name'], 'price': ['sale price', 'list price']}
    """
    ways = list_ways(columns, rows)
    objects = {way for way in ways if holds_objects([follow(row, tuple(way.split("."))) for row in rows])}
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


def holds_objects(values: list[Any]) -> bool:
    """Whether most of those that say something are objects: one bad cell does not change what a column is.

    >>> holds_objects(["5.00", {"a": 1}, "7.00"]), holds_objects([{"amount": 5}, None, {"amount": 7}, "free"])
    (False, True)
    """
    told = [value for value in values if not says_nothing(value)]
    return 2 * sum(isinstance(value, dict) for value in told) > len(told)


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


@lru_cache(4_096)
def is_fact(name: str) -> bool:
    """Whether a column that we have no field for may be an attribute.

    >>> is_fact("modelno"), is_fact("imageUrl"), is_fact("release_date"), is_fact("list_price"), is_fact("manufacturer")
    (True, False, False, False, True)
    """
    plain = simplify_name(name.rpartition(".")[2])
    prices = load_exports()["prices"]
    known = {*chain.from_iterable(list_names().values()), *prices["never"].split(), *Product.model_fields}
    return plain == "manufacturer" or (plain not in known and not NO_FACT.search(plain))


def list_fact_columns(export: Export, columns: list[str], used: Iterable[str]) -> list[str]:
    """The columns that are facts of the product, where nothing else names them."""
    if export.attributes is not None:
        real = {name.lower(): name for name in columns}
        return [real.get(name.lower(), name) for name in export.attributes if name.lower() in real or "." in name]
    ignored = [*export.ignore, *export.other]
    return [name for name in columns if name not in used and is_fact(name) and not is_listed(name, ignored)]


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
