"""What is sold, and to whom."""

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from pydantic import Field

from shopwright.schemas.record import Half, Part, Record


class Voucher(Part):
    """A discount that a customer holds: an amount, or a share of what counts, off an order that meets its terms."""

    off: int = 0
    """The amount, in cents; 0 for a share."""
    percent: int = 0
    """The share."""
    most: int = 0
    """The most that a share comes to, in cents."""
    least: int = 0
    """What all things together must cost at least, in cents."""
    seller: str = ""
    """Only what this seller sells counts, and there must be two different things of it; empty: everything counts."""


class Attribute(Part):
    """One fact about a product, as its page shows it."""

    name: str
    value: str
    number: float | None = None
    """The number in the value, where it has a unit."""
    unit: str | None = None


class Fit(Part):
    """Something that a product is made for, or a size in which it must agree with what it goes with."""

    kind: Literal[
        "device",
        "vehicle",
        "year",
        "cartridge",
        "battery",
        "cell",
        "memory",
        "screen",
        "voltage",
        "bulb",
        "bed",
        "size",
        "thread",
        "paper",
        "media",
    ]
    value: str
    """As the shop writes it: `iphone 7 plus`, `tn360`, `aa`, `32-55` (inches)."""


class Option(Part):
    """Something that the shopper picks on a product's page."""

    name: str
    values: list[str]


class Choice(Part):
    """One option as a variant has it: size M."""

    name: str
    value: str


class Offer(Part):
    """A variant of a product as its source has it."""

    choices: list[Choice]
    """One for each option; none where the product comes in one form only."""
    price: Decimal
    stock: int | None
    """Pieces; none where the source does not count them."""


class Promotion(Part):
    """A price that holds from the first to the last day, both included."""

    first_day: date
    last_day: date
    price: Decimal


class JudgedQuery(Part):
    """Something that people really typed and that leads to this product."""

    text: str
    grade: Literal["E", "S", "C", "I"] | None
    """Exact, substitute, complement, irrelevant, as people judged it (ESCI, Reddy et al. 2022); none where nobody
    did, and the title holds all that the query asks for."""


class Product(Record):
    """One item of the normalised catalog."""

    title: str
    brand: str | None
    category_path: list[str]
    """From the broadest category to the leaf, which is the last."""
    category: str
    """The leaf category: everything in it is the same kind of thing."""
    color: str | None
    price: Decimal
    """List price in the shop's currency; what a promotion changes for some days."""
    currency: str = "USD"
    """Of `price`, as ISO 4217 names it: the shop's, which is the same for all of its products."""
    price_written: str | None = None
    """As the source writes it: what `price` was read from."""
    price_is_simulated: bool
    """The source had no price: this one was drawn once from its category's prices."""
    promotions: list[Promotion]
    attributes: list[Attribute]
    fits: list[Fit] = Field(default_factory=list)
    """Read from the title, where it says so; another product does in its place if it fits all of that."""
    options: list[Option]
    variants: list[Offer] = Field(default_factory=list)
    """What can be bought of it, as the source has it; empty where the source says nothing of variants and stock."""
    description: str | None
    bullets: list[str]
    rating: float | None
    """Mean of the reviews, 1 to 5."""
    review_count: int | None
    shipping_days: int | None
    queries: list[JudgedQuery]
    repairs: list[str]
    """What was wrong in the source and how it was mended."""
    source: str
    source_licence: str


class Query(Record):
    """What people type when they look for a kind of thing, and not yet for one product."""

    category: str
    """The leaf category that they look in."""
    group: str
    """The broadest category above it."""
    texts: list[str]
    """Different searches, each of one to eight lower-case words."""
    written_by: Literal["code", "model"]
    """Composed from the facts, or phrased by a model and held against them."""


class Taste(Part):
    category: str
    weight: float
    """Share of this shopper's intents; the rest is spread over the whole shop."""


class Persona(Record):
    """A shopper: who it is, what it likes, what it can spend and when it shops."""

    age_band: Literal["18-24", "25-34", "35-44", "45-54", "55-64", "65+"]
    household: str
    region: str
    income: str
    """Of the household, in US dollars a year."""
    spend_tier: Literal["low", "middle", "high"]
    budget: Decimal
    """The most it pays for one item."""
    price_sensitivity: float
    """0: never looks at the price; 1: always takes the cheapest."""
    tastes: list[Taste]
    brands: list[str]
    """Makers it prefers, among those of its tastes; empty where the catalog names none."""
    active_hours: list[int]
    """Hours of the day in which it shops, its own time."""
    weekend_factor: float
    """How much more it shops on a Saturday or Sunday than on another day."""
    device: Literal["phone", "desktop", "tablet"]
    exploration: float
    """Exploratory searches before the accurate one, on average."""
    description: str
    """The same facts in words."""


class Variant(Record):
    """What can be bought of a product: one choice for each of its options, with a price and a stock of its own."""

    product_id: str
    choices: list[Choice]
    """One for each option, in the product's order; what a shopper has to tell apart."""
    price: Decimal
    stock: int
    """Pieces; 0: sold out."""
    is_title: bool
    """It is the one that the product's title and price describe."""
    is_simulated: bool = False
    """The source has no such variant: its choices and price are invented."""
    stock_is_simulated: bool = True
    """The source does not say how many pieces there are: the number is invented."""


class Line(Part):
    """Some pieces of one variant in an order."""

    line_id: str
    product_id: str
    variant_id: str
    title: str
    quantity: int
    price: Decimal
    """Of one piece, on that day."""


class Order(Record):
    """What a customer bought together, and how it travelled; its status on a day follows from the times."""

    persona_id: str
    trajectory_id: str
    """The log that it was read from."""
    rows: list[int]
    """The purchases there, by row_id."""
    lines: list[Line]
    placed: datetime
    shipped: datetime | None
    """None: it was cancelled before."""
    delivered: datetime | None
    """None: it was cancelled, or lost on its way."""
    cancelled: datetime | None
    total: Decimal


class Embedding(Record):
    """Where a product stands among all others: near those that its text is like. The id is the product's."""

    vector: list[Half]
    """Of length 1; as long as the embedder makes them."""
