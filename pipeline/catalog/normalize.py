"""One clean product from one dirty row: what was mended is named in `repairs`, what cannot be mended is rejected."""

import re
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
from shopwright.pipeline.catalog.repair.text import LETTER, MARKUP, MISSING, clean_text, drop_missing, value_to_text

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

    price = None
    try:
        price, notes = convert_to_cents(read_price(get("price"), get("currency"), rules), rules.rates)
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
        "price_written": join_price_text(get("price"), get("currency")),
        "price_is_simulated": False,
        "promotions": [],
        "attributes": repair_attributes(attributes, repairs) if attributes else [],
        "options": repair_options(options, repairs) if options else [],
        "description": drop_missing(clean_text(description, repairs)) if description is not None else None,
        "bullets": repair_bullets(bullets, repairs) if bullets else [],
        "rating": repair_rating(rating) if rating is not None else None,
        "review_count": parse_count(review_count, 10**9) if review_count is not None else None,
        "shipping_days": parse_count(shipping_days, 365) if shipping_days is not None else None,
        "queries": repair_queries(queries, repairs) if queries else [],
        "repairs": sorted(repairs),
        "source": source,
        "source_licence": licence,
    }


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
