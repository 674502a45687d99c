"""Customers' months as columns: what they did, when, and what it cost on that day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import cents_to_decimal
from shopwright.pipeline.render.trajectory import join_event_lines, product_bodies, search_bodies
from shopwright.pipeline.tokens import estimates
from shopwright.pipeline.world.actions import ACTIONS, SEARCH
from shopwright.pipeline.world.calendar import DAY, MONTH_TOKENS, Numbers
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.pipeline.world.lives import AROUND, PRICE_DIGITS, STAMP, Life, Mix, Shop
from shopwright.schemas.shop import Persona

# Tokens beyond what is asked for, so that the last line is there.
MARGIN = 200
Count = Callable[[list[str]], list[int]]


@dataclass(frozen=True)
class Histories:
    """Events of all customers in order, one customer after the other; `product` is a row of the stock, -1 for a search."""

    begins: np.ndarray
    kind: np.ndarray
    product: np.ndarray
    query: np.ndarray
    """Number of the typed, -1 where the event is no search."""
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


class TypedQueries:
    """The columns that lines are written from: the catalog's, and what was typed."""

    def __init__(self, stock: CatalogColumns, queries: list[str]) -> None:
        self.stock = stock
        self.queries = pa.array(queries, pa.string())
        self.bodies = search_bodies(self.queries)
        self.body_tokens = estimates(self.bodies)


def simulate_histories(
    people: list[Persona],
    shop: Shop,
    numbers: Numbers,
    *,
    first_day: date,
    tokens: int,
    mix: Mix = "paper",
    count: Count | None = None,
) -> tuple[Histories, TypedQueries]:
    """Each customer's events from the first day on, a little more than `tokens` of text, and what they typed.

    `count` counts the tokens of lines exactly; without it they are estimated (`shopwright.pipeline.tokens`).
    """
    lives = [live(person, shop, numbers, first_day, tokens, mix, count) for person in people]
    texts = list(dict.fromkeys(chain.from_iterable(life.texts for life in lives)))
    number = {text: place for place, text in enumerate(texts)}
    typed = TypedQueries(shop.stock, texts)
    begins = np.cumsum([0, *(len(life.kinds) for life in lives)])
    kind, product, seconds, cents = (
        np.array(list(chain.from_iterable(getattr(life, name) for life in lives)), dtype=np.int64)
        for name in ("kinds", "products", "seconds", "cents")
    )
    every_text = chain.from_iterable(life.texts for life in lives)
    query = np.array([number[text] for text in every_text], dtype=np.int64)
    query[kind != SEARCH] = -1
    size = count_line_tokens(kind, product, query, cents, typed, count)
    met = find_met_promotions(kind, product, seconds, shop.stock)
    return Histories(begins, kind, product, query, seconds, cents, accumulate_tokens(size, begins), met), typed


def live(
    person: Persona, shop: Shop, numbers: Numbers, first_day: date, tokens: int, mix: Mix, count: Count | None
) -> Life:
    """One customer's life for so many tokens; a month of it is as long as its text says, whoever counts."""
    life = Life(person, shop, numbers, first_day, mix)
    if count is None:
        life.go(tokens + MARGIN)
        return life
    life.go(MONTH_TOKENS)
    # How many tokens an estimated one is: of the first month, so that it does not depend on how much is asked for.
    life = Life(person, shop, numbers, first_day, mix, scale=count_life(life, count) / life.tokens)
    wanted = tokens + MARGIN
    life.go(wanted)
    while (short := tokens - count_life(life, count)) > 0:
        wanted += short + MARGIN
        life.go(wanted)
    return life


def count_life(life: Life, count: Count) -> int:
    typed = TypedQueries(life.shop.stock, life.texts)
    kind, product, cents = (np.array(column) for column in (life.kinds, life.products, life.cents))
    query = np.where(kind == SEARCH, np.arange(len(kind)), -1)
    return int(count_line_tokens(kind, product, query, cents, typed, count).sum())


def find_met_promotions(
    kind: np.ndarray, product: np.ndarray, seconds: np.ndarray, stock: CatalogColumns
) -> dict[int, Any]:
    """By place: the promotion that set the price of an event."""
    shown = np.flatnonzero((kind != SEARCH) & stock.promoted[product])
    return {place: one[3] for place, one in stock.on_promotion(shown, product[shown], seconds[shown] // DAY).items()}


def accumulate_tokens(size: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Each customer's tokens up to and with each event; before the first line there is no break."""
    total = np.cumsum(size)
    return total - np.repeat(np.concatenate([[0], total])[begins[:-1]], np.diff(begins)) - 1


def count_line_tokens(
    kind: np.ndarray,
    product: np.ndarray,
    query: np.ndarray,
    cents: np.ndarray,
    typed: TypedQueries,
    count: Count | None,
) -> np.ndarray:
    """Tokens of every event's line; they do not depend on when it happens."""
    stock = typed.stock
    if count is not None:
        # Any time will do: all are written with as many characters.
        when = pa.array([datetime.fromisoformat(STAMP)] * len(kind), pa.timestamp("us"))
        text = render_event_lines(when, kind, product, query, cents, typed)
        return np.array(count([f"{line}\n" for line in text.to_pylist()]))
    # Tokens of a line are known for the usual price; a lower one may have fewer digits.
    digits = np.digitize(cents, PRICE_DIGITS) - np.digitize(stock.cents[product], PRICE_DIGITS)
    shown = stock.body_tokens[product] + digits
    return np.array(AROUND)[kind] + np.where(kind == SEARCH, typed.body_tokens[query], shown)


def render_event_lines(
    when: pa.Array,
    kind: np.ndarray,
    product: np.ndarray,
    query: np.ndarray,
    cents: np.ndarray,
    typed: TypedQueries,
) -> pa.Array:
    """The line of each event."""
    stock = typed.stock
    is_search = kind == SEARCH
    shown = stock.bodies.take(pa.array(product, mask=is_search))
    dated = ~is_search & (cents != stock.cents[product])
    if dated.any():
        heads = stock.heads.take(pa.array(product[dated]))
        shown = pc.replace_with_mask(shown, pa.array(dated), product_bodies(heads, cents_to_decimal(cents[dated])))
    return join_event_lines(
        when, name_actions(kind), pc.coalesce(shown, typed.bodies.take(pa.array(query, mask=~is_search)))
    )


def name_actions(kind: np.ndarray) -> pa.Array:
    return pa.array(ACTIONS).take(pa.array(kind))
