"""A customer's months as columns: what it did, when, and what it cost on that day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.arrow import money
from pipeline.render.trajectory import escaped, lines
from pipeline.shop.calendar import sessions, times
from pipeline.shop.stock import Stock
from pipeline.shop.visits import ACTIONS, BLOCK, SEARCH, Customer
from pipeline.tokens import estimate, estimates
from schemas.shop import Persona

SECOND = 1_000_000
STAMP = "2024-05-01 19:30:25"
# Tokens of what a line has beside its query, or beside its product's head and price.
AROUND_SEARCH = estimate(f"{STAMP} search [Search Amazon || ]")
AROUND_PRODUCT = np.array([estimate(f"{STAMP} {action} )") for action in ACTIONS])
Numbers = Callable[..., np.random.Generator]
Count = Callable[[list[str]], list[int]]


@dataclass(frozen=True)
class History:
    """Events in order; `product` is a row of the stock, -1 for a search."""

    kind: np.ndarray
    product: np.ndarray
    queries: pa.Array
    """Null where the event is no search."""
    seconds: np.ndarray
    cents: np.ndarray
    tokens: np.ndarray
    """Of the text up to and with each event."""
    promotions: dict[int, Any]
    """By place: the promotion that set the price of this event."""

    def upto(self, budget: int) -> int:
        """How many events fit into so many tokens."""
        return int(np.searchsorted(self.tokens, budget, side="right"))


def history(
    persona: Persona, stock: Stock, numbers: Numbers, *, first_day: date, tokens: int, count: Count | None = None
) -> History:
    """A customer's events from the first day on, a little more than `tokens` of text.

    `count` counts the tokens of lines exactly; without it they are estimated (`pipeline.tokens`).
    """
    customer = Customer(persona, stock, numbers(persona.id, "visits"))
    per_block = BLOCK * (AROUND_SEARCH + 6)
    blocks, found = 1 + tokens // (2 * per_block), None
    while found is None:
        customer.visit(blocks)
        found = dated(customer, stock, numbers, first_day, tokens, count)
        done = len(customer.visits.kind) // BLOCK
        blocks = max(1, done // 8)
    return found


def dated(
    customer: Customer, stock: Stock, numbers: Numbers, first_day: date, tokens: int, count: Count | None
) -> History | None:
    """The visits so far with times and prices, or None when they are not yet enough tokens."""
    visits, name = customer.visits, customer.persona.id
    kind, product, unit = (np.array(column) for column in (visits.kind, visits.product, visits.unit))
    queries = pa.array(visits.query, pa.string())
    written = escaped(queries)
    cents = np.where(kind == SEARCH, 0, stock.cents[product])
    size = line_tokens(kind, product, written, cents, stock, count)
    if size.sum() < tokens + 2_000:
        return None
    plan = sessions(customer.persona, numbers(name, "calendar"), first_day, int(size.sum()))
    seconds = times(kind, unit, np.cumsum(size) - size, plan, numbers(name, "seconds").random(len(kind)))
    promotions = promoted(kind, product, seconds, stock)
    for place, (_, _, price, _) in promotions.items():
        cents[place] = price
    if promotions:
        size = line_tokens(kind, product, written, cents, stock, count)
    return History(
        kind, product, queries, seconds, cents, np.cumsum(size), {place: one[3] for place, one in promotions.items()}
    )


def line_tokens(
    kind: np.ndarray, product: np.ndarray, queries: pa.Array, cents: np.ndarray, stock: Stock, count: Count | None
) -> np.ndarray:
    """Tokens of every event's line; they do not depend on when it happens."""
    if count is not None:
        when = pa.array(np.zeros(len(kind), np.int64), pa.timestamp("us"))
        query = pa.array(queries.to_pylist(), mask=kind != SEARCH)
        text = lines(when, pa.array(ACTIONS).take(pa.array(kind)), query, heads(stock, kind, product), money(cents))
        return np.array(count([f"{line}\n" for line in text.to_pylist()]))
    digits = 3 + np.digitize(cents, [1_000, 10_000, 100_000, 1_000_000, 10_000_000])
    shown = AROUND_PRODUCT[kind] + stock.head_tokens[product] + digits + 1
    return np.where(kind == SEARCH, AROUND_SEARCH + estimates(queries), shown)


def heads(stock: Stock, kind: np.ndarray, product: np.ndarray) -> pa.Array:
    return stock.heads.take(pa.array(product, mask=kind == SEARCH))


def promoted(
    kind: np.ndarray, product: np.ndarray, seconds: np.ndarray, stock: Stock
) -> dict[int, tuple[int, int, int, Any]]:
    """Events whose product is on promotion that day."""
    found = {}
    for place in np.flatnonzero((kind != SEARCH) & stock.promoted[product]).tolist():
        day = int(seconds[place]) // 86_400
        for one in stock.promotions[int(product[place])]:
            if one[0] <= day <= one[1]:
                found[place] = one
    return found
