"""One clean product from one dirty row: what was mended is named in `repairs`, what cannot be mended is rejected."""

import re
from typing import Any

from pipeline.catalog.mend.category import category_of
from pipeline.catalog.mend.color import brand_of, color_of
from pipeline.catalog.mend.lists import attributes_of, bullets_of, options_of, queries_of, rating_of, whole
from pipeline.catalog.mend.money import ABSURD, amount
from pipeline.catalog.mend.text import LETTER, MARKUP, MISSING, as_text, known, text

Row = dict[str, Any]
LONGEST_TITLE = 2000
NO_ID = "id missing"
NO_PRICE = "price unreadable"
RANGE = "price range: lowest taken"


def normalize(raw: Row, *, source: str, licence: str, number: int) -> Row | list[str]:
    """The fields of a `Product` with its price in cents, or why the row is rejected.

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

    title = text(get("title"), repairs)
    if title is None or title.lower() in MISSING:
        reasons.append("title missing")
        title = ""
    elif not LETTER.search(title):
        reasons.append("title has no letters")
    elif len(title) > LONGEST_TITLE:
        reasons.append("title longer than 2000 characters")

    price = None
    try:
        price, ranged = amount(get("price"))
        if ranged:
            repairs.add(RANGE)
    except ValueError as error:
        if error.args == (ABSURD,):
            reasons.append(ABSURD)
        else:
            repairs.add(NO_PRICE)

    name = as_text(get("id"))
    name = known(name.strip()) if name else None
    if name is None:
        repairs.add(NO_ID)
        name = f"{re.sub(r'[^A-Za-z0-9.-]+', '-', source)[:40]}-{number}"
    elif len(name) > 64 or " " in name or not name.isprintable():
        reasons.append("id is not one word")
    elif has_markup(name):
        reasons.append("id has markup")

    brand = brand_of(get("brand"), repairs)
    color = color_of(get("color"), title, brand, repairs)
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
        "price_is_simulated": False,
        "promotions": [],
        "attributes": attributes_of(attributes, repairs) if attributes else [],
        "options": options_of(options, repairs) if options else [],
        "description": known(text(description, repairs)) if description is not None else None,
        "bullets": bullets_of(bullets, repairs) if bullets else [],
        "rating": rating_of(rating) if rating is not None else None,
        "review_count": whole(review_count, 10**9) if review_count is not None else None,
        "shipping_days": whole(shipping_days, 365) if shipping_days is not None else None,
        "queries": queries_of(queries, repairs) if queries else [],
        "repairs": sorted(repairs),
        "source": source,
        "source_licence": licence,
    }


def has_markup(name: str) -> bool:
    """
    >>> has_markup("B0<b>"), has_markup("<|im_end|>"), has_markup("a<b&c")
    (True, True, False)
    """
    found: set[str] = set()
    return text(name, found) != name and MARKUP in found
