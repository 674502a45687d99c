"""The events of a shopping log, and what a question can name in it: brands, colors, categories and products."""

import re
from dataclasses import dataclass
from datetime import datetime
from math import isnan

from pandas import DataFrame


@dataclass(frozen=True)
class Event:
    time: datetime
    action: str
    asin: str
    name: str
    brand: str
    color: str
    category: str
    cents: int
    query: str


def one_of(texts: set[str]) -> str:
    """A pattern for any of some texts, the longest first, which matches nothing where there are none."""
    return "|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text))) or "(?!)"


# After the words for a product the sentence goes on with one of these.
AFTER_PRODUCT = r"(?=[.,;?]|$| \((?:none|negative|h:mm:ss)| (?:in|to|for|and|until|first|exceed|minus|above)\b)"


class Log:
    """All events in the order of time, and the patterns for what stands in them."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.categories = {event.category for event in events if event.category}
        self.names: dict[str, dict[str, str]] = {}
        for event in events:
            if event.brand:
                self.names.setdefault(event.brand, {})[event.asin] = event.name
        brand = one_of(set(self.names))
        color = one_of({event.color for event in events if event.color})
        word = r"[\w&'/%°+-]+(?:\.\w+)*"
        self.product = re.compile(
            rf"\bthe ({brand}) ({word}(?: {word}){{0,7}}?)"
            rf"((?: \((?!none|negative|h:mm)[^()]*\))?){AFTER_PRODUCT}"
        )
        self.product_set = re.compile(rf"\bproducts(?: in ({color}))? (?:by ({brand})(?!\w)|in the category @q)")
        self.brand_list = re.compile(rf"(?<=[:?] )(?:{brand})(?:; (?:{brand}))+(?=\?|$)")
        self.brand = re.compile(rf"(?<![\w@])(?:{brand})(?!\w)")


def rows(events: DataFrame) -> list[Event]:
    """The table as events in the order of time; a missing value is an empty text."""
    found: list[Event] = []
    for row in events.sort_values(["timestamp", "row_id"]).to_dict("records"):
        text = {str(key): value if isinstance(value, str) else "" for key, value in row.items()}
        price = float("nan") if row["price"] is None else float(row["price"])
        found.append(
            Event(
                time=row["timestamp"].to_pydatetime(),
                action=text["action_type"],
                asin=text["asin"],
                name=text["product_name"],
                brand=text["brand"],
                color=text["color"],
                category=text["product_types"],
                cents=0 if isnan(price) else round(price * 100),
                query=text["search_query"],
            )
        )
    return found
