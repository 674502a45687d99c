"""The events of a shopping log, in the order of time."""

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


class Log:
    """All events in the order of time, and what a question can name of them."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.products = list({event.asin: event for event in events if event.asin}.values())
        self.brands = {event.brand for event in events if event.brand}
        self.colors = {event.color for event in events if event.color}
        self.categories = {event.category for event in events if event.category}


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
