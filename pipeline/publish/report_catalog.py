"""What the report says of the catalog: categories, prices, promotions."""

from collections.abc import Mapping
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.publish.chart_shapes import Histogram, histogram
from shopwright.pipeline.publish.report_sample import Rows
from shopwright.schemas.shop import Product

PRICES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def gather_catalog_facts(catalog: Dataset[Product]) -> dict[str, Any] | None:
    """None where there is nothing to show, as with all of these."""
    if catalog.manifest is None or not catalog.manifest.rows:
        return None
    found = catalog_facts(catalog)
    return found | {"total": catalog.manifest.rows, "histogram": price_histogram(dict(found["prices"]))}


def catalog_facts(rows: Rows) -> dict[str, Any]:
    steps = ", ".join(map(str, PRICES))
    return {
        "groups": rows.sql("select category_path[1], count(*) from rows group by 1 order by 2 desc, 1 limit 12"),
        "prices": rows.sql(
            f"select up, count(*) from (select [up for up in [{steps}] if price < up][1] as up from rows) "
            "group by 1 order by 1 nulls last"
        ),
        "counts": rows.sql(
            "select count(distinct category), count(distinct brand), count(*) filter (len(promotions) > 0), "
            "count(*) filter (price_is_simulated) from rows"
        )[0],
    }


def price_histogram(counts: Mapping[Any, int]) -> Histogram:
    """counts: of products below each of the prices; None: of the others."""
    edges: list[float | None] = [0, *PRICES, None]
    there = [place for place, up in enumerate(edges[1:]) if up in counts]
    first, last = min(there), max(there)
    shown = edges[first : last + 2]
    return histogram(shown, [counts.get(up, 0) for up in shown[1:]], " dollars")
