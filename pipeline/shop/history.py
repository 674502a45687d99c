"""Customers' months as columns: what they did, when, and what it cost on that day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.arrow import money
from pipeline.render.trajectory import lines, product_bodies
from pipeline.shop.calendar import DAY, sessions, times
from pipeline.shop.repertoire import Repertoire
from pipeline.shop.stock import Stock
from pipeline.shop.visits import ACTIONS, QUOTA, SEARCH, Visits, visits
from pipeline.tokens import estimate
from schemas.shop import Persona

STAMP = "2024-05-01 19:30:25"
AROUND = np.array([estimate(f"\n{STAMP} {action} ") for action in ACTIONS])
"""Tokens of a line before its body, with the line break before it."""
PRICE_DIGITS = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
USUAL_SEARCH = estimate("[Search Amazon || norrvik table lamp 12 in]")
SPARE = 1.06
"""So much more than the expected number of actions is made, so that the budget is seldom missed."""
MORE = 1.15
Numbers = Callable[..., np.random.Generator]
Count = Callable[[list[str]], list[int]]


@dataclass(frozen=True)
class Histories:
    """Events of all customers in order, one customer after the other; `product` is a row of the stock, -1 for a search."""

    begins: np.ndarray
    kind: np.ndarray
    product: np.ndarray
    query: np.ndarray
    """Number of the repertoire, -1 where the event is no search."""
    seconds: np.ndarray
    cents: np.ndarray
    tokens: np.ndarray
    """Of the customer's text up to and with each event."""
    promotions: dict[int, Any]
    """By place: the promotion that set the price of this event."""

    def upto(self, customer: int, budget: int) -> int:
        """How many events of a customer fit into so many tokens."""
        begin, end = self.begins[customer : customer + 2]
        return int(np.searchsorted(self.tokens[begin:end], budget, side="right"))


def histories(
    people: list[Persona],
    repertoire: Repertoire,
    numbers: Numbers,
    *,
    first_day: date,
    tokens: int,
    count: Count | None = None,
) -> Histories:
    """Each customer's events from the first day on, a little more than `tokens` of text.

    `count` counts the tokens of lines exactly; without it they are estimated (`pipeline.tokens`).
    """
    stock = repertoire.stock
    blocks = [blocks_for(person, stock, tokens) for person in people]
    while True:
        found = visits(people, blocks, repertoire, numbers)
        size = line_tokens(found.kind, found.product, found.query, prices(found, stock), repertoire, count)
        short = np.add.reduceat(size, found.begins[:-1]) < tokens
        if not short.any():
            return dated(people, found, size, repertoire, numbers, first_day, count)
        blocks = [int(n * MORE) + 1 if few else n for n, few in zip(blocks, short.tolist(), strict=True)]


def blocks_for(person: Persona, stock: Stock, tokens: int) -> int:
    """How many blocks of actions a customer needs for so many tokens, by what its tastes' titles are long."""
    weights = np.array([taste.weight for taste in person.tastes])
    bodies = stock.leaf_tokens[[stock.place_of_leaf[taste.category] for taste in person.tastes]]
    body = weights @ bodies + (1 - weights.sum()) * stock.leaf_tokens.mean()
    each = AROUND + np.array([USUAL_SEARCH, body, body, body])
    return int(tokens * SPARE / (each @ np.array(QUOTA))) + 1


def prices(found: Visits, stock: Stock) -> np.ndarray:
    return np.where(found.kind == SEARCH, 0, stock.cents[found.product])


def dated(
    people: list[Persona],
    found: Visits,
    size: np.ndarray,
    repertoire: Repertoire,
    numbers: Numbers,
    first_day: date,
    count: Count | None,
) -> Histories:
    """The visits with their times, and the prices that held then."""
    stock = repertoire.stock
    upto = running(size, found.begins)
    plan = sessions(people, upto[found.begins[1:] - 1].tolist(), first_day, numbers)
    lengths = np.diff(found.begins)
    draws = np.concatenate([numbers(p.id, "seconds").random(n) for p, n in zip(people, lengths.tolist(), strict=True)])
    seconds = times(found.begins, found.kind, found.unit, np.maximum(upto - size, 0), plan, draws)
    cents = prices(found, stock)
    shown = np.flatnonzero((found.kind != SEARCH) & stock.promoted[found.product])
    promotions = stock.on_promotion(shown, found.product[shown], seconds[shown] // DAY)
    for place, (_, _, price, _) in promotions.items():
        cents[place] = price
    if promotions:
        size = line_tokens(found.kind, found.product, found.query, cents, repertoire, count)
        upto = running(size, found.begins)
    met = {place: one[3] for place, one in promotions.items()}
    return Histories(found.begins, found.kind, found.product, found.query, seconds, cents, upto, met)


def running(size: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Each customer's tokens up to and with each event; before the first line there is no break."""
    total = np.cumsum(size)
    return total - np.repeat(np.concatenate([[0], total])[begins[:-1]], np.diff(begins)) - 1


def line_tokens(
    kind: np.ndarray,
    product: np.ndarray,
    query: np.ndarray,
    cents: np.ndarray,
    repertoire: Repertoire,
    count: Count | None,
) -> np.ndarray:
    """Tokens of every event's line; they do not depend on when it happens."""
    stock = repertoire.stock
    if count is not None:
        when = pa.array([datetime.fromisoformat(STAMP)] * len(kind), pa.timestamp("us"))
        text = written(when, kind, product, query, cents, repertoire)
        return np.array(count([f"{line}\n" for line in text.to_pylist()]))
    digits = np.digitize(cents, PRICE_DIGITS) - np.digitize(stock.cents[product], PRICE_DIGITS)
    shown = stock.body_tokens[product] + digits
    return AROUND[kind] + np.where(kind == SEARCH, repertoire.body_tokens[query], shown)


def written(
    when: pa.Array,
    kind: np.ndarray,
    product: np.ndarray,
    query: np.ndarray,
    cents: np.ndarray,
    repertoire: Repertoire,
) -> pa.Array:
    """The line of each event."""
    stock = repertoire.stock
    is_search = kind == SEARCH
    shown = stock.bodies.take(pa.array(product, mask=is_search))
    dated = ~is_search & (cents != stock.cents[product])
    if dated.any():
        heads = stock.heads.take(pa.array(product[dated]))
        shown = pc.replace_with_mask(shown, pa.array(dated), product_bodies(heads, money(cents[dated])))
    return lines(when, actions(kind), pc.coalesce(shown, repertoire.bodies.take(pa.array(query, mask=~is_search))))


def actions(kind: np.ndarray) -> pa.Array:
    return pa.array(ACTIONS).take(pa.array(kind))
