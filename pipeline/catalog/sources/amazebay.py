"""The two million products that EcomRLVE trains in (Amazon listings of 2023).

Confirmed from the loader in `owlgebra-ai/ShopRLVE-Gym` (src/ecom_rlve/data/catalog_loader.py), which lists the 16
columns: main_category, title, average_rating, rating_number, features, description (both lists of texts), price (text,
"None" where missing), images, videos, store, categories, details (JSON text), parent_asin, bought_together, subtitle,
author. Guessed: that `categories` is a list from broad to narrow. The card names no licence that could be found.
"""

import json

from shopwright.pipeline.catalog.repair.text import is_deep
from shopwright.pipeline.catalog.sources import locate_files
from shopwright.pipeline.catalog.sources.file import Catalog, Parquet, Row, is_fact

USED = (
    "parent_asin main_category title average_rating rating_number features description price store categories details"
    " author asin"
)


def amazebay(where: str) -> Catalog:
    files = locate_files(
        where or "owlgebra-ai/Amazebay-catalog-2M", (".parquet",), name="amazebay", patterns=["*.parquet"]
    )
    table = Parquet(files)
    table.columns = [name for name in table.columns if name in USED.split()]
    return Catalog("amazebay", "unknown", table, read_amazebay_product, currency="USD")


def read_amazebay_product(row: Row) -> Row:
    facts = parse_details(row.get("details"))
    categories = row.get("categories")
    brand = facts.pop("Brand", None) or row.get("store") or facts.pop("Manufacturer", None)
    color = facts.pop("Color", None) or facts.pop("Colour", None)
    if author := row.get("author"):
        facts.setdefault("Author", author)
    return {
        "id": row.get("parent_asin") or row.get("asin"),
        "title": row.get("title"),
        "brand": brand,
        "category_path": categories if categories not in (None, "", [], "None", "[]") else row.get("main_category"),
        "color": color,
        "price": row.get("price"),
        "attributes": {name: value for name, value in facts.items() if is_fact(name)},
        "description": row.get("description"),
        "bullets": row.get("features"),
        "rating": row.get("average_rating"),
        "review_count": row.get("rating_number"),
    }


def parse_details(text: object) -> Row:
    """
    >>> parse_details('{"Color": "Red"}'), parse_details("None"), parse_details({"Color": "Red"})
    ({'Color': 'Red'}, {}, {'Color': 'Red'})
    """
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return {}
    return dict(value) if isinstance(value, dict) and not is_deep(value) else {}
