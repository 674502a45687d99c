"""Whether a call uses only what was seen: ids, names and words of products that no text before it has are invented."""

from collections.abc import Iterable, Mapping
from typing import Any

from shopwright.pipeline.experts.beliefs import find_words

IDS = (
    *("product_id", "variant_id", "order_id", "line_id", "product_ids", "recommended_product_ids"),
    *("selected_order_id", "selected_line_id", "arrival_date", "order_status"),
)
NAMES = ("category", "brand", "seller")


def list_unseen(name: str, arguments: Mapping[str, Any], texts: Iterable[str]) -> list[str]:
    """Of a call the ids, days, states, names and words of a search that none of the texts before it has.

    Prices and numbers of pieces are not looked at, as an agent may work them out: a share of a budget, a cent less than the cheapest.

    >>> list_unseen("catalog_search", {"query": "oak lamp", "category": "Table Lamps"}, ['{"shopper":"a lamp"}'])
    ['oak', 'Table Lamps']
    >>> list_unseen("order_get_status", {"order_id": "order-2"}, ['{"order_id":"order-1"}'])
    ['order-2']
    """
    seen = "\n".join(texts).lower()
    found: list[str] = []
    if name == "catalog_search":
        known = set(find_words(seen))
        found += [word for word in find_words(str(arguments.get("query", ""))) if word not in known]
    for key in NAMES:
        value = str(arguments.get(key, ""))
        found += [value] if value and value.lower() not in seen else []
    for key in IDS:
        values = filter(None, str(arguments.get(key, "")).split(","))
        found += [value for value in values if f'"{value.lower()}"' not in seen and value.lower() not in seen.split()]
    return found
