"""What the report says of the rest of the shop, every row counted: variants, searches, orders and the small catalog."""

from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.schemas.shop import Order, Product, Query, Variant

Row = tuple[Any, ...]
# Groups that are named; the others are counted together.
NAMED = 12
# Of what was left out of the small catalog, how many reasons are told.
TOLD = 15


def gather_variant_facts(variants: Dataset[Variant]) -> dict[str, list[Row]] | None:
    """None where there is nothing to show, as with all of these."""
    if variants.manifest is None or not variants.manifest.rows:
        return None
    each = "(select count(*) as n, max(price) / min(price) as spread from rows group by product_id)"
    sizes = variants.sql(
        f"select case when n >= 10 then '10 and more' else n::varchar end, count(*) from {each} group by 1 order by min(n)"
    )
    spread = variants.sql(
        f"select count(*) filter (spread > 1), median(spread) filter (spread > 1), max(spread) from {each} where n > 1"
    )[0]
    sold_out, invented, stock = variants.sql(
        "select avg((stock = 0)::int), avg(is_simulated::int), avg(stock_is_simulated::int) from rows"
    )[0]
    return {
        "How many variants a product has": [("variants", "products"), *sizes],
        "Their prices": [
            ("products whose variants differ in price", "dearest over cheapest, in the middle", "at most"),
            (spread[0], *(format_ratio(one) for one in spread[1:])),
        ],
        "Stock": [
            ("sold out", "variants that the source does not have", "stock that the source does not tell"),
            (format_share(sold_out), format_share(invented), format_share(stock)),
        ],
    }


def gather_query_facts(queries: Dataset[Query]) -> dict[str, list[Row]] | None:
    if queries.manifest is None or not queries.manifest.rows:
        return None
    searches = "(select *, unnest(texts) as said from rows)"
    words = queries.sql(
        f"select len(string_split(said, ' ')) as words, count(*), arg_min(said, md5(said)) from {searches} group by 1 order by 1"
    )
    groups = queries.sql('select "group", count(*), sum(len(texts))::bigint from rows group by 1 order by 2 desc, 1')
    return {
        "How long searches are": [("words", "searches", "one of them"), *words],
        "Where people look": [("department", "categories", "searches"), *join_others(groups)],
    }


def gather_order_facts(orders: Dataset[Order]) -> dict[str, list[Row]] | None:
    if orders.manifest is None or not orders.manifest.rows:
        return None
    fates = orders.sql(
        "select case when cancelled is not null then 'cancelled before it was sent' when delivered is null then 'lost on its way' "
        "else 'delivered' end as fate, count(*), quantile_disc(date_diff('day', placed, delivered), .5), "
        "max(date_diff('day', placed, delivered)) from rows group by 1 order by 2 desc"
    )
    lines = orders.sql("select len(lines), count(*) from rows group by 1 order by 1")
    totals = orders.sql(
        "select count(distinct persona_id), median(total)::decimal(18, 2), max(total), sum(total) from rows"
    )
    return {
        "What became of them": [
            ("orders", "count", "days until delivery, in the middle", "at most"),
            *(tuple("" if cell is None else cell for cell in row) for row in fates),
        ],
        "How many products an order has": [("lines", "orders"), *lines],
        "What was paid": [("customers", "an order, in the middle", "at most", "all"), *totals],
    }


def gather_fine_facts(catalog_fine: Dataset[Product]) -> dict[str, list[Row]] | None:
    """How the selection went, from the manifest, and what is left."""
    made = catalog_fine.manifest
    if made is None or not made.rows:
        return None
    steps: list[Row] = [(what, f"{figure:,.10g}") for what, figure in made.stats.items()]
    rest = len(steps) - TOLD
    groups = catalog_fine.sql(
        "select category_path[1], count(distinct category), count(*) from rows group by 1 order by 3 desc, 1"
    )
    return {
        "How they were selected": [
            ("step, or what was left out", "figure"),
            *steps[:TOLD],
            *([(f"{rest:,} more", "")] if rest > 0 else []),
        ],
        "What is left": [("department", "leaves", "products"), *join_others(groups)],
    }


def join_others(groups: list[Row]) -> list[Row]:
    """The first groups, and one row that sums up the others.

    >>> join_others([("a", 2, 9)] + [("b", 1, 1)] * 13)[-1]
    ('2 others', 2, 2)
    """
    shown, rest = groups[:NAMED], groups[NAMED:]
    if len(rest) < 2:  # one is named as well
        return groups
    return [*shown, (f"{len(rest)} others", *map(sum, zip(*(row[1:] for row in rest), strict=True)))]


def format_share(share: float) -> str:
    return f"{100 * share:.1f} %"


def format_ratio(ratio: float | None) -> str:
    return f"{ratio:.2f}" if ratio is not None else ""
