"""What a shopper asks for, down to one product, and how an agent found it or did not (ShopSimulator, arXiv 2601.18225)."""

from datetime import date
from decimal import Decimal
from typing import Literal

from pydantic import Field

from shopwright.schemas.record import Part, Record
from shopwright.schemas.rollouts import Message
from shopwright.schemas.shop import Choice

# Everything said at once or revealed when asked; with the shopper's profile at hand or without.
Scenario = Literal["single", "single personal", "multi", "multi personal"]
Language = Literal["en", "zh"]
# In a few words, as people type them, or with each need spelled out in words that are not the catalog's.
Wording = Literal["short", "descriptive"]
# Whether the needs come to one product alone, or to a few of which any will do.
Right = Literal["one product", "any of several"]
Level = Literal["low", "medium", "high"]


class Need(Part):
    """One typed requirement of a task: `carafe is glass carafe`, `capacity at least 10 cup`, `price at most 40.00`."""

    fact: str
    """An attribute's or option's name, or brand, color, price, rating, shipping days, review count."""
    op: Literal["is", "is not", "kind of", "at most", "at least", "about"]
    """`is not`: it says something else, and not nothing. `kind of`: a color of this family. `about`: within a tenth, which only prices are."""
    value: str
    """As the catalog writes it: `glass carafe`, `10 cup`, `40.00`."""
    number: float | None = None
    """For numbers; a price in dollars."""
    unit: str | None = None
    kind: Literal["attribute", "option", "price"]
    """Which part of the reward it belongs to. An option is chosen on the product's page."""
    known: Literal["stated", "profile"]
    """In the instruction, or in the profile and therefore not in the instruction."""
    said: str
    """In everyday words, in the task's language; what the shopper says when asked."""


class Weighted(Part):
    """Something liked, and how much."""

    name: str
    level: Level


class Transaction(Part):
    """What the customer's purchases add up to; figures from its longest log, see `shopwright.pipeline.shopping.profile`."""

    coupon_use: float
    """Share of purchases below the list price."""
    repurchase_rate: float
    """Share of purchases of a product, or of its brand in its category, bought before."""
    mean_order_value: Decimal
    payment: Literal["card", "wallet", "instalments", "bank transfer"]
    promotion_sensitivity: Level
    spend: Decimal
    """In the last `spend_days`."""
    spend_days: int
    """30, or as many as the log has, where these are fewer."""
    orders: int
    """In the last `orders_days`."""
    orders_days: int
    """90, or as many as the log has."""


class Demographics(Part):
    member_level: Literal["none", "silver", "gold", "platinum"]
    age_band: str
    gender: Literal["female", "male", "not told"]
    spend_tier: Literal["low", "middle", "high"]


class Interests(Part):
    """What it likes, as its purchases, carts and clicks show."""

    brands: list[Weighted]
    categories: list[Weighted]
    price_range: str
    """`20-60`: the middle half of what it put in the cart, in dollars."""
    colors: list[Weighted]
    sizes: list[Choice]
    """Of a kind of thing and its size: `Running Shoes`, `9`."""
    materials: list[Weighted]
    styles: list[Weighted]
    functions: list[Weighted]


class Habits(Part):
    """How it uses the shop: carts, searches, favourites, visits and minutes in its last `days`, the rest in all of its log."""

    device: str
    days: int
    """14, or as many as the log has, where these are fewer."""
    daily_minutes: float
    followed_shops: int
    carts: int
    searches: list[str]
    """Categories it searched in, not the words that it typed."""
    favourites: int
    active_hours: list[int]
    visits: int


class Profile(Record):
    """A customer as the shop knows it: everything computed from its log, or drawn once for it. The id is the persona's."""

    transaction: Transaction
    demographics: Demographics
    interests: Interests
    region: str
    registered: date
    habits: Habits


class ShoppingTask(Record):
    """An instruction that just the products of its certificate satisfy, of the whole catalog: most often one."""

    product_id: str
    """The one that it was drawn for."""
    variant_id: str
    """One that satisfies it; others of the product may too."""
    category: str
    """The leaf, which is required as well."""
    language: Language
    instruction: str
    """Everything that is needed and is not in the profile, in everyday words."""
    simple_instruction: str
    """The opening of a conversation: vague, or with some of the needs."""
    opening_facts: list[str] = Field(default_factory=list)
    """The facts of the needs that the opening tells. Never all of them: several products fit it, and the dialogue settles which."""
    purpose: str = ""
    """For whom or for what, as the instruction says it where that narrows nothing: `for my dad`; empty where it says no such thing."""
    options: list[Choice]
    """Those that must be chosen."""
    attributes: list[str]
    """The required attributes as the catalog writes them."""
    price_limit: Decimal | None
    """The most that it may cost: of a price that is about something a tenth more."""
    needs: list[Need]
    """All of it, typed: what the reward reads. Without any one of them another product would do."""
    grade: int
    """1 with up to three needs, 2 with four or five, 3 with six and more."""
    wording: Wording
    phrases: list[str]
    """The templates of the phrase bank that a short instruction is made of."""
    profile_id: str
    """Whose profile goes with it; empty for a standard task."""
    reason_keys: list[str]
    """What the profile carries: the facts that were taken out of the instruction."""
    right: Right = "one product"
    """Whether one product alone is right, or any of the few that these words fit."""
    acceptable: str
    """JSON of the certificate (`shopwright.schemas.certificates`): `AnyOf` with an end for each product that is right, in every variant that satisfies it."""
    nearest_miss: str
    """JSON: another product and variant, and the needs that it breaks, of which there are fewest; without any where there is no other."""
    title_overlap: float
    """Share of the title's words that the instruction has too."""
    split: Literal["train", "test"]
    """By product: no target is in both."""


class Step(Part):
    """One action of an agent, and what it saw then."""

    thought: str
    action: str
    """`search[...]`, `click[...]` or `ask[...]`."""
    observation: str
    """The page's text, or what the shopper said."""
    clickables: list[str]
    can_search: bool
    fault: str
    """Why the action did nothing; empty where it did."""


class Match(Part):
    """How well what was bought fits, by its parts (ShopSimulator, section 2.3)."""

    type: float
    attributes: float
    options: float
    price: float
    loose: float
    strict: float
    success: bool
    same_product: bool
    fault: str
    """The first need that was not met, or why nothing was bought."""


class ErrorLabel(Part):
    """An error of the paper's taxonomy, and the step that shows it."""

    area: Literal["search", "click", "buy", "ask", "personalisation", "shopper"]
    name: str
    step: int


class ShoppingEpisode(Record):
    """A task played to its end."""

    task_id: str
    scenario: Scenario
    policy: str
    opening: str
    """What the shopper said first: the instruction, or the vague opening of a conversation."""
    steps: list[Step]
    bought_product: str
    bought_variant: str
    """Empty where nothing was bought."""
    typed: Match
    """By our own typed equality, which decides success."""
    literal: Match
    """By the formulas of WebShop and ShopSimulator as they are."""
    errors: list[ErrorLabel]
    messages: list[Message]
    """To train on, where it was a success; else empty."""
