"""Customers' months as columns: what they did, when, and what it cost on that day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.arrow import money
from pipeline.render.trajectory import lines
from pipeline.shop.calendar import DAY, sessions, times
from pipeline.shop.repertoire import Repertoire
from pipeline.shop.stock import Stock
from pipeline.shop.visits import ACTIONS, QUOTA, SEARCH, Visits, visits
from pipeline.tokens import estimate
from schemas.shop import Persona

STAMP = "2024-05-01 19:30:25"
# Tokens of what a line has beside its query, or beside its product's head and its price.
AROUND_SEARCH = estimate(f"{STAMP} search [Search Amazon || ]")
AROUND_PRODUCT = np.array([estimate(f"{STAMP} {action} )") for action in ACTIONS])
PRICE_DIGITS = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
USUAL_QUERY, USUAL_PRICE = 6, 5
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
    stock: Stock,
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
    blocks = [blocks_for(person, stock, tokens) for person in people]
    while True:
        found = visits(people, blocks, stock, repertoire, numbers)
        size = line_tokens(found.kind, found.product, found.query, prices(found, stock), stock, repertoire, count)
        short = np.add.reduceat(size, found.begins[:-1]) < tokens
        if not short.any():
            return dated(people, found, size, stock, repertoire, numbers, first_day, count)
        blocks = [int(n * MORE) + 1 if few else n for n, few in zip(blocks, short.tolist(), strict=True)]


def blocks_for(person: Persona, stock: Stock, tokens: int) -> int:
    """How many blocks of actions a customer needs for so many tokens, by what its tastes' titles are long."""
    weights = np.array([taste.weight for taste in person.tastes])
    heads = stock.leaf_tokens[[stock.place_of_leaf[taste.category] for taste in person.tastes]]
    head = weights @ heads + (1 - weights.sum()) * stock.leaf_tokens.mean()
    each = np.array([AROUND_SEARCH + USUAL_QUERY, *(AROUND_PRODUCT[1:] + head + USUAL_PRICE)])
    return int(tokens * SPARE / (each @ np.array(QUOTA))) + 1


def prices(found: Visits, stock: Stock) -> np.ndarray:
    return np.where(found.kind == SEARCH, 0, stock.cents[found.product])


def dated(
    people: list[Persona],
    found: Visits,
    size: np.ndarray,
    stock: Stock,
    repertoire: Repertoire,
    numbers: Numbers,
    first_day: date,
    count: Count | None,
) -> Histories:
    """The visits with their times, and the prices that held then."""
    upto = running(size, found.begins)
    plan = sessions(people, upto[found.begins[1:] - 1].tolist(), first_day, numbers)
    lengths = np.diff(found.begins)
    draws = np.concatenate([numbers(p.id, "seconds").random(n) for p, n in zip(people, lengths.tolist(), strict=True)])
    seconds = times(found.begins, found.kind, found.unit, upto - size, plan, draws)
    cents = prices(found, stock)
    promotions = promoted(found, seconds, stock)
    for place, (_, _, price, _) in promotions.items():
        cents[place] = price
    if promotions:
        size = line_tokens(found.kind, found.product, found.query, cents, stock, repertoire, count)
        upto = running(size, found.begins)
    met = {place: one[3] for place, one in promotions.items()}
    return Histories(found.begins, found.kind, found.product, found.query, seconds, cents, upto, met)


def running(size: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Each customer's tokens up to and with each event."""
    total = np.cumsum(size)
    return total - np.repeat(np.concatenate([[0], total])[begins[:-1]], np.diff(begins))


def line_tokens(
    kind: np.ndarray,
    product: np.ndarray,
    query: np.ndarray,
    cents: np.ndarray,
    stock: Stock,
    repertoire: Repertoire,
    count: Count | None,
) -> np.ndarray:
    """Tokens of every event's line; they do not depend on when it happens."""
    if count is not None:
        when = pa.array([datetime.fromisoformat(STAMP)] * len(kind), pa.timestamp("us"))
        text = written(when, kind, product, query, cents, stock, repertoire)
        return np.array(count([f"{line}\n" for line in text.to_pylist()]))
    shown = AROUND_PRODUCT[kind] + stock.head_tokens[product] + np.digitize(cents, PRICE_DIGITS) + 4
    return np.where(kind == SEARCH, AROUND_SEARCH + repertoire.sizes[query], shown)


def written(
    when: pa.Array,
    kind: np.ndarray,
    product: np.ndarray,
    query: np.ndarray,
    cents: np.ndarray,
    stock: Stock,
    repertoire: Repertoire,
) -> pa.Array:
    """The line of each event."""
    heads = stock.heads.take(pa.array(product, mask=kind == SEARCH))
    price = money(cents, kind == SEARCH)
    return lines(when, actions(kind), queries(query, repertoire), heads, price)


def actions(kind: np.ndarray) -> pa.Array:
    return pa.array(ACTIONS).take(pa.array(kind))


def queries(query: np.ndarray, repertoire: Repertoire) -> pa.Array:
    """The text of each search; null elsewhere."""
    texts = repertoire.texts
    return pa.array([texts[number] if number >= 0 else None for number in query.tolist()], pa.string())


def promoted(found: Visits, seconds: np.ndarray, stock: Stock) -> dict[int, tuple[int, int, int, Any]]:
    """Events whose product is on promotion that day."""
    dated = {}
    for place in np.flatnonzero((found.kind != SEARCH) & stock.promoted[found.product]).tolist():
        day = int(seconds[place]) // DAY
        for one in stock.promotions[int(found.product[place])]:
            if one[0] <= day <= one[1]:
                dated[place] = one
    return dated
