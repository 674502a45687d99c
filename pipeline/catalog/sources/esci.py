"""Amazon's shopping queries: products with the real queries that people judged them for, Exact to Irrelevant.

Confirmed: the columns and splits of `tasksource/esci` (its Hub card; labels are whole words there) and of the original
two files `shopping_queries_dataset_products.parquet` and `..._examples.parquet` (amazon-science/esci-data and code that
reads it; labels are letters there). There are no prices and no categories: normalisation and the stage fill them.
"""

import os
import tempfile
from itertools import chain
from pathlib import Path

from shopwright.pipeline.catalog.sources import BadSource, locate_files
from shopwright.pipeline.catalog.sources.file import Catalog
from shopwright.pipeline.catalog.tables.cache import name_cached
from shopwright.pipeline.catalog.tables.parquet import Parquet
from shopwright.pipeline.catalog.tables.table import Row

JUDGED = """
    SELECT product_id, list({{'text': query, 'grade': {label}}} ORDER BY file_index, file_row_number) AS queries
    FROM read_parquet({judgements}) WHERE {locale} = '{country}' AND query IS NOT NULL GROUP BY product_id
"""
BY_PRODUCT = """
    COPY (
        WITH judged AS ({judged}),
        place AS (
            SELECT product_id, min(file_index * 10000000000 + file_row_number) AS place
            FROM read_parquet({texts}) WHERE product_locale = '{country}' GROUP BY product_id
        )
        SELECT product_id AS id, product_title AS title, product_brand AS brand, product_color AS color,
            product_description AS description, product_bullet_point AS bullets, coalesce(queries, []) AS queries
        FROM read_parquet({texts}) AS texts
        JOIN place USING (product_id) LEFT JOIN judged USING (product_id)
        WHERE file_index * 10000000000 + file_row_number = place
        ORDER BY place
    ) TO '{target}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20000)
"""


def esci(where: str, *, country: str = "us") -> Catalog:
    files = locate_files(where or "tasksource/esci", (".parquet",), name="esci", patterns=["*.parquet"])
    return Catalog("esci", "Apache-2.0", Parquet([by_product(files, country)]), keep_row, files)


def keep_row(row: Row) -> Row:
    return row


def by_product(files: list[Path], country: str) -> Path:
    """The judgements put to their products, in the order in which the products first come; made once and kept."""
    target = name_cached(files, f"esci {country} {BY_PRODUCT}")
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:  # beside it, so that the rename is atomic
            join(files, country, Path(folder) / "new.parquet")
            os.replace(Path(folder) / "new.parquet", target)
    return target


def join(files: list[Path], country: str, target: Path) -> None:
    import duckdb

    columns = {file: Parquet([file]).columns for file in files}
    texts = [file for file in files if {"product_id", "product_title", "product_locale"} <= set(columns[file])]
    judgements = [file for file in files if {"product_id", "query"} <= set(columns[file])]
    if not texts:
        raise BadSource(
            f"{files[0].parent} holds no ESCI products (columns product_id, product_title, product_locale). Give the "
            "folder with shopping_queries_dataset_products.parquet, or a copy of tasksource/esci."
        )
    judged = "SELECT NULL AS product_id, NULL AS queries LIMIT 0"
    if judgements:
        has = set(chain.from_iterable(columns[file] for file in judgements))
        label = next((name for name in ("esci_label", "label", "gain") if name in has), "NULL")
        locale = next((name for name in ("product_locale", "query_locale", "locale") if name in has), f"'{country}'")
        judged = JUDGED.format(label=label, locale=locale, country=country, judgements=quote_files(judgements))
    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(target.parent)}) as sql:
        try:
            sql.execute(
                BY_PRODUCT.format(
                    judged=judged, texts=quote_files(texts), country=country, target=escape_sql_path(target)
                )
            )
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise BadSource(f"{files[0].parent} is not ESCI as it was published: {reason}") from None


def quote_files(files: list[Path]) -> str:
    return "[" + ", ".join(f"'{escape_sql_path(file)}'" for file in files) + "], union_by_name = true"


def escape_sql_path(path: Path) -> str:
    return str(path).replace("'", "''")
