"""What a customer did in the shop, as rows to train on."""

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from schemas.record import Part, Record

Action = Literal["search", "click", "add to Cart", "purchase"]


class Event(Part):
    """One action, in the columns that ShopTrajQA's table form has (`spec/customer-agent.md`)."""

    row_id: int
    timestamp: datetime
    action_type: Action
    asin: str | None
    """The product's id; none for a search, as are the six product columns after it."""
    product_name: str | None
    brand: str | None
    color: str | None
    product_types: str | None
    """The leaf category."""
    price: Decimal | None
    """What the product cost on that day."""
    search_query: str | None


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
    start: datetime
    end: datetime
    text: str
    """One action a line; `pipeline.render.trajectory` writes and reads it."""
    events: list[Event]
    promotions: list[DatedPrice]
