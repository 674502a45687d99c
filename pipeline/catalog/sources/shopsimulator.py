"""ShopSimulator's products: Chinese listings with their options, prices in yuan (a rate to dollars has to be given).

Confirmed from the environment's `load_products` and from code that reads the release: `wpei/ShopSimulator` holds
`fine_items_eval_train_all.jsonl` (23,421 products), its repository the same as `.json.gz`; fields asin, title,
shop_name, brand, category ("A›B›C"), domain_zh, attribute (a list of texts), pricing (a list of numbers),
customization_options (name -> list of {value, price, image}), images, instructions, user_persona, query (always empty).
Its card names no licence. Guessed: full_description and small_description, which the loader asks for and may not be there.
"""

from shopwright.pipeline.catalog.sources import locate_files
from shopwright.pipeline.catalog.sources.file import Catalog
from shopwright.pipeline.catalog.tables.opening import open_table
from shopwright.pipeline.catalog.tables.table import Row

ITEMS = ["fine_items_eval_train_all.jsonl", "*items*all.jsonl"]


def shopsimulator(where: str) -> Catalog:
    suffixes = ("items_eval_train_all.jsonl", "items_eval_train_all.json.gz", ".jsonl", ".json", ".json.gz")
    files = locate_files(where or "wpei/ShopSimulator", suffixes, name="shopsimulator", patterns=ITEMS)
    return Catalog("shopsimulator", "unknown", open_table(str(files[0])), read_shopsimulator_product, currency="CNY")


def read_shopsimulator_product(row: Row) -> Row:
    domain, path = row.get("domain_zh"), row.get("category") or row.get("product_category")
    return {
        "id": row.get("asin"),
        "title": row.get("title") or row.get("name"),
        "brand": row.get("brand") or row.get("shop_name"),
        "category_path": f"{domain}›{path}" if domain and path and not str(path).startswith(str(domain)) else path,
        "price": row.get("pricing"),
        "attributes": row.get("attribute") or row.get("attributes"),
        "options": row.get("customization_options"),
        "description": row.get("full_description"),
        "bullets": row.get("small_description"),
    }
