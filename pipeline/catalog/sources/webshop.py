"""WebShop's products (`items_shuffle.json`, `items_shuffle_1000.json`), from a local copy.

Confirmed from `load_products` in princeton-nlp/WebShop (web_agent_site/engine/engine.py): asin, name, full_description,
small_description (a list or a text), pricing ("$10.00 to $20.00", or numbers once loaded), customization_options (name ->
a list of {value, image}, or null), category, product_category, query, brand, product_information, total_reviews,
list_price. Guessed: that product_category is "A › B › C", product_information a flat dictionary, and average_rating.
`query` is what the crawler searched for, which no person judged a product for, so it is no judged query here.
"""

from shopwright.pipeline.catalog.exports.columns import is_fact
from shopwright.pipeline.catalog.exports.values import is_scalar
from shopwright.pipeline.catalog.sources import BadSource, locate_files
from shopwright.pipeline.catalog.sources.file import Catalog
from shopwright.pipeline.catalog.tables.opening import open_table
from shopwright.pipeline.catalog.tables.table import Row


def webshop(where: str) -> Catalog:
    if not where:
        raise BadSource("WebShop's items are not on the Hub. Give your copy: --source webshop:PATH")
    suffixes = ("items_shuffle.json", "items_shuffle_1000.json", ".json", ".jsonl", ".json.gz")
    files = locate_files(where, suffixes, name="webshop", patterns=[])
    return Catalog("webshop", "MIT", open_table(str(files[0])), read_webshop_product, currency="USD")


def read_webshop_product(row: Row) -> Row:
    facts = row.get("product_information")
    facts = facts if isinstance(facts, dict) else {}
    features = row.get("Attributes")
    return {
        "id": row.get("asin"),
        "title": row.get("name") or row.get("Title"),
        "brand": row.get("brand"),
        "category_path": row.get("product_category") or row.get("category"),
        "color": facts.get("Color"),
        "price": row.get("pricing") or row.get("Price") or row.get("list_price"),
        "attributes": [
            {name: value for name, value in facts.items() if name != "Color" and is_fact(name) and is_scalar(value)},
            *[name for name in (features if isinstance(features, list) else []) if name != "DUMMY_ATTR"],
        ],
        "options": row.get("customization_options") or row.get("options"),
        "description": row.get("full_description") or row.get("Description"),
        "bullets": row.get("small_description") or row.get("BulletPoints"),
        "rating": row.get("average_rating") or row.get("Rating"),
        "review_count": row.get("total_reviews"),
    }
