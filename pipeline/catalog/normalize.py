"""One clean product from one dirty row: what was mended is named in `repairs`, what cannot be mended is rejected."""

import re
from decimal import Decimal
from typing import Any

from shopwright.pipeline.catalog.repair.category import category_of
from shopwright.pipeline.catalog.repair.color import brand_of, find_color
from shopwright.pipeline.catalog.repair.lists import (
    parse_count,
    repair_attributes,
    repair_bullets,
    repair_options,
    repair_queries,
    repair_rating,
)
from shopwright.pipeline.catalog.repair.money import SHOP, PriceRules, convert_to_cents, read_price
from shopwright.pipeline.catalog.repair.text import (
    LETTER,
    MARKUP,
    MISSING,
    clean_text,
    drop_missing,
    to_plain_text,
    value_to_text,
)

Row = dict[str, Any]
# Characters.
LONGEST_TITLE = 2000
LONGEST_PRICE = 200
NO_ID = "id missing"
RULES = PriceRules()


def normalize(raw: Row, *, source: str, licence: str, number: int, rules: PriceRules = RULES) -> Row | list[str]:
    """The fields of a `Product` with its price in the shop's cents, or why the row is rejected.

    >>> row = {"id": "B01", "title": "Koss <b>Portapro</b> Headphones", "brand": "Koss", "category": "headphones", "price": "$1,299.00"}
    >>> product = normalize(row, source="file", licence="unknown", number=7)
    >>> product["title"], product["category_path"], product["price"], product["repairs"]
    ('Koss Portapro Headphones', ['Headphones'], 129900, ['category case', 'html entities or tags removed'])
    >>> normalize({"title": "12", "price": "-3"}, source="file", licence="unknown", number=7)
    ['title has no letters', 'absurd price']
    """
    if "unreadable" in raw:
        return ["unreadable row"]
    get = raw.get
    repairs: set[str] = set()
    reasons: list[str] = []

    title = clean_text(get("title"), repairs)
    if title is None or title.lower() in MISSING:
        reasons.append("title missing")
        title = ""
    elif not LETTER.search(title):
        reasons.append("title has no letters")
    elif len(title) > LONGEST_TITLE:
        reasons.append("title longer than 2000 characters")

    if "refused" in raw:
        reasons.append(raw["refused"])
    offers: list[Row] = []
    written = get("price"), get("currency")
    price = None
    try:
        if "offers" in raw:
            offers, written = read_offers(raw["offers"], rules, repairs)
        price, notes = convert_to_cents(read_price(*written, rules), rules.rates)
        repairs |= notes
    except ValueError as error:
        reasons.append(str(error))

    name = value_to_text(get("id"))
    name = drop_missing(name.strip()) if name else None
    if name is None:
        repairs.add(NO_ID)
        name = f"{re.sub(r'[^A-Za-z0-9.-]+', '-', source)[:40]}-{number}"
    elif len(name) > 64 or " " in name or not name.isprintable():
        reasons.append("id is not one word")
    elif has_markup(name):
        reasons.append("id has markup")

    brand = brand_of(get("brand"), repairs)
    color = find_color(get("color"), title, brand, repairs)
    if reasons:
        return reasons

    path = category_of(get("category_path"), get("category"), title, repairs)
    attributes, options, bullets, queries = get("attributes"), get("options"), get("bullets"), get("queries")
    description = get("description")
    rating, review_count, shipping_days = get("rating"), get("review_count"), get("shipping_days")
    return {
        "id": name,
        "title": title,
        "brand": brand,
        "category_path": list(path),
        "category": path[-1],
        "color": color,
        "price": price,
        "currency": SHOP,
        "price_written": join_price_text(*written),
        "price_is_simulated": False,
        "promotions": [],
        "attributes": repair_attributes(attributes, repairs) if attributes else [],
        "options": list_offered_options(offers) or (repair_options(options, repairs) if options else []),
        "variants": offers,
        "description": drop_missing(clean_text(to_plain_text(description), repairs))
        if description is not None
        else None,
        "bullets": repair_bullets(bullets, repairs) if bullets else [],
        "rating": repair_rating(rating) if rating is not None else None,
        "review_count": parse_count(review_count, 10**9) if review_count is not None else None,
        "shipping_days": parse_count(shipping_days, 365) if shipping_days is not None else None,
        "queries": repair_queries(queries, repairs) if queries else [],
        "repairs": sorted(repairs),
        "source": source,
        "source_licence": licence,
    }


def read_offers(offers: list[Row], rules: PriceRules, repairs: set[str]) -> tuple[list[Row], tuple[Any, Any]]:
    """The variants that have a price of their own or the product's, and how the lowest is written, which is the product's.

    >>> offers = [{"choices": [("Size", "S")], "price": "9.50", "stock": "3"}, {"choices": [("Size", "M")], "price": "8", "stock": ""}]
    >>> found, written = read_offers(offers, PriceRules(), set())
    >>> [(offer["price"], offer["stock"]) for offer in found], written
    ([(Decimal('9.5'), 3), (Decimal('8'), None)], ('8', None))
    """
    found: dict[tuple[tuple[str, str], ...], tuple[Row, Any, Any]] = {}
    faults: list[ValueError] = []
    for offer in offers:
        pairs = [(clean_text(name, repairs), clean_text(value, repairs)) for name, value in offer["choices"]]
        choices = tuple((free_option_name(name), value) for name, value in pairs if name and value)
        key = tuple((name.lower(), value.lower()) for name, value in choices)
        try:
            cents, _ = convert_to_cents(read_price(offer["price"], offer.get("currency"), rules), rules.rates)
        except ValueError as error:
            faults.append(error)
            repairs.add("variant without a readable price left out")
            continue
        if key in found:
            repairs.add("variant given twice: the first taken")
            continue
        row = {
            "choices": [{"name": name, "value": value} for name, value in choices],
            "price": None if cents is None else Decimal(cents) / 100,
            "stock": read_stock(offer.get("stock")),
        }
        found[key] = row, offer["price"], offer.get("currency")
    if faults and not found:
        raise faults[0]
    named = [tuple(choice["name"].lower() for choice in row["choices"]) for row, *_ in found.values()]
    widest = max(named, key=len, default=())
    whole = [
        each
        for each, names in zip(found.values(), named, strict=True)
        if names == widest and each[0]["price"] is not None
    ]
    if 0 < len(whole) < len(found):
        repairs.add("variant without all choices or a price left out")
    if not whole:
        return [], next(((written, currency) for _, written, currency in found.values()), (None, None))
    _, written, currency = min(whole, key=lambda each: each[0]["price"])
    return [row for row, *_ in whole], (written, currency)


# What a shop's page says of a variant beside its options.
RESERVED = frozenset(["product id", "variant id", "price", "stock", "quantity"])
OUT_OF_STOCK = ("outofstock", "soldout", "discontinued", "no", "false", "out", "preorder", "backorder", "unavailable")


def free_option_name(name: str) -> str:
    """An option's name that a page does not use for something else.

    >>> free_option_name("Size"), free_option_name("Price")
    ('Size', 'Price choice')
    """
    return f"{name} choice" if " ".join(name.lower().replace("_", " ").split()) in RESERVED else name


def read_stock(value: Any) -> int | None:
    """Pieces; none where it is only said that there are some.

    >>> read_stock("12"), read_stock("-2"), read_stock("https://schema.org/OutOfStock"), read_stock("in stock"), read_stock(False), read_stock("")
    (12, 0, 0, None, 0, None)
    """
    if isinstance(value, bool):
        return None if value else 0
    text = re.sub(r"[\s_-]+(?=[a-z])", "", (value_to_text(value) or "").strip().lower().rpartition("/")[2])
    if text.startswith("-") and text[1:].replace(".", "").isdigit():
        return 0  # sold more than there were
    if re.fullmatch(r"\d{1,9}(?:\.0+)?", text):
        return int(float(text))
    return 0 if text in OUT_OF_STOCK else None


def list_offered_options(offers: list[Row]) -> list[Row]:
    """The options of a product's variants, with the values that there are."""
    found: dict[str, dict[str, None]] = {}
    for offer in offers:
        for choice in offer["choices"]:
            found.setdefault(choice["name"], {})[choice["value"]] = None
    return [{"name": name, "values": list(values)} for name, values in found.items()]


def join_price_text(price: Any, currency: Any) -> str | None:
    """The price in the source's own words, with the currency that stands beside it.

    >>> join_price_text("1.299,00&nbsp;€", None), join_price_text([10.0, 20.0], "EUR"), join_price_text(None, "EUR")
    ('1.299,00 €', '10 - 20 EUR', None)
    """
    if isinstance(price, list | tuple):
        found = " - ".join(filter(None, (join_price_text(each, None) for each in price)))
    else:
        found = drop_missing(clean_text(price, set())) or ""
    said = drop_missing(clean_text(currency, set())) if found else None
    return " ".join(filter(None, [found, said if said != SHOP else None]))[:LONGEST_PRICE] or None


def has_markup(name: str) -> bool:
    """
    >>> has_markup("B0<b>"), has_markup("<|im_end|>"), has_markup("a<b&c")
    (True, True, False)
    """
    found: set[str] = set()
    return clean_text(name, found) != name and MARKUP in found
