"""What a shopper did next, and why, page by page (Shop-R1, arXiv 2507.17842)."""

from datetime import datetime
from typing import Literal

from shopwright.schemas.record import Part, Record
from shopwright.schemas.rollouts import Message

ActionType = Literal["type_and_submit", "click", "terminate"]
# Why a step was taken, as code knows it: of searches, of results, of leaving a product, of a product's page, of the cart, of the end.
Reason = Literal[
    "look around", "look closer", "set a limit",
    "opens", "looks again", "next page", "page before", "narrow down", "widen again",
    "too dear", "poorly rated", "other color", "sold out", "compare", "seen enough", "go on",
    "read more", "read enough", "choose",
    "put in the cart", "look into the cart", "buy",
    "gives up", "decides later",
]  # fmt: skip
Outcome = Literal["bought", "left in the cart", "gave up"]
Side = Literal["train", "test"]


class BehaviorStep(Part):
    """A page, what the shopper did there, and why."""

    at: datetime
    html: str
    """The page that was seen, simplified: everything that can be acted on has a name of its own."""
    action: str
    """JSON as the paper has it: `{"type": "click", "name": "cart.add_to_cart"}`."""
    rationale: str
    """In the first person."""
    reason: Reason
    said: list[str]
    """What the rationale takes from the pages, word for word: titles, prices, ratings."""
    row: int | None
    """The event of the trajectory, by row_id; none for a move between two of them."""


class Behavior(Record):
    """One of a customer's sessions, page by page, from the home page to its end."""

    persona_id: str
    trajectory_id: str
    persona: str
    """Who it is, in words."""
    intent: str
    """What it came for, in words; several things one after the other."""
    start: datetime
    end: datetime
    rows: list[int]
    """Its events in the trajectory, by row_id."""
    outcome: Outcome
    steps: list[BehaviorStep]
    tokens: int
    """Of all pages, rationales and actions, by `shopwright.pipeline.tokens.estimate`."""
    split: Side
    """By customer."""
    written_by: Literal["code", "model"]
    """Who phrased the rationales; what they say is code's either way."""


class NextAction(Record):
    """One step to be predicted: what was seen and done before, and what the shopper did next."""

    behavior_id: str
    persona_id: str
    step: int
    """Its place in the session, from 0."""
    prompt: list[Message]
    """What a model is told; with `context` the whole session or only its latest page."""
    action: str
    """The true one, as JSON."""
    rationale: str
    action_type: ActionType
    session_tokens: int
    """Of the prompt with every page of the session so far, by `shopwright.pipeline.tokens.estimate`."""
    page_tokens: int
    """Of the prompt with the latest page alone."""
    in_rl: bool
    """In the subset to learn on by trying, where `click` and `type_and_submit` are 10 % more frequent than `terminate`."""
    split: Side
