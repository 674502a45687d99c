"""The two million products that EcomRLVE trains in (Amazon listings of 2023).

Confirmed from the loader in `owlgebra-ai/ShopRLVE-Gym` (src/ecom_rlve/data/catalog_loader.py), which lists the 16
columns: main_category, title, average_rating, rating_number, features, description (both lists of texts), price (text,
"None" where missing), images, videos, store, categories, details (JSON text), parent_asin, bought_together, subtitle,
author. Guessed: that `categories` is a list from broad to narrow. The card names no licence that could be found.
"""

from shopwright.pipeline.catalog.exports.systems import list_systems, resolve
from shopwright.pipeline.catalog.sources import locate_files
from shopwright.pipeline.catalog.sources.file import Catalog, read_by
from shopwright.pipeline.catalog.tables.parquet import Parquet


def amazebay(where: str) -> Catalog:
    files = locate_files(
        where or "owlgebra-ai/Amazebay-catalog-2M", (".parquet",), name="amazebay", patterns=["*.parquet"]
    )
    table = Parquet(files)
    export = next(system for system in list_systems() if system.name == "amazon-2023")
    return read_by(table, resolve(export.model_copy(update={"name": "amazebay"}), table.columns))
