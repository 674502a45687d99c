"""What a customer did in the shop, as rows to train on."""

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from pydantic import ConfigDict

from shopwright.schemas.record import Part, Record

Action = Literal["search", "click", "add to Cart", "purchase"]


class Event(Part):
    """One action, in the columns that ShopTrajQA's table form has (`spec/customer-agent.md`)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    row_id: int
    """Number of the action in the trajectory, from 0, in order of time."""
    timestamp: datetime
    """When it happened, to the second; strictly increasing."""
    action_type: Action
    """'search', 'click', 'add to Cart' or 'purchase'."""
    asin: str | None
    """The product's id; NULL for a search, as are the five product columns after it."""
    product_name: str | None
    """The product's title."""
    brand: str | None
    """NULL where the product names none."""
    color: str | None
    """NULL where the product names none."""
    product_types: str | None
    """The product's category."""
    price: Decimal | None
    """What the product cost on that day, in dollars."""
    search_query: str | None
    """What was typed; NULL for all but a search."""


class DatedPrice(Part):
    """A promotion that this customer met: why a price is not the list price on those days."""

    asin: str
    first_day: date
    last_day: date
    price: Decimal
    list_price: Decimal


class Trajectory(Record):
    """A customer's months in the shop up to a budget of tokens, as text and as table."""

    persona_id: str
    budget: str
    """`32k`, `64k`, `1m`, ...: at most so many tokens, k = 1,000."""
    tokens: int
    """Of `text`, as `tokenizer` counts them."""
    tokenizer: str
    mix: Literal["paper", "life"] = "paper"
    """`paper`: every 100 actions are 55 searches, 35 clicks, 7 carts and 3 purchases; `life`: as it came."""
    start: datetime
    end: datetime
    text: str
    """One action a line; `shopwright.pipeline.render.trajectory` writes and reads it."""
    events: list[Event]
    promotions: list[DatedPrice]
