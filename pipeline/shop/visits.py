"""What customers do in the shop: intents one after another, each a few searches, some clicks, now and then a cart.

The mix is ShopTrajQA's (arXiv 2606.07995, section 3): every block of 100 actions holds 55 searches, 35 clicks, 7
additions to the cart and 3 purchases; about two exploratory searches come before the accurate one. Many customers are
simulated side by side, as columns: a grid with a row for each block of 100 actions and a place for each intent in it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pipeline.shop.repertoire import EXPLORATORY, OTHERS, Repertoire
from pipeline.shop.stock import Stock
from schemas.shop import Persona

SEARCH, CLICK, CART, PURCHASE = range(4)
ACTIONS = ("search", "click", "add to Cart", "purchase")
QUOTA = (55, 35, 7, 3)
BLOCK = sum(QUOTA)
INTENTS = (14, 22)
"""Fewest and most in a block."""
MORE_SEARCHES = 5
"""After the first one of an intent, at most."""
MOST_CLICKS = 6
AGAIN_AFTER = 40
"""Intents, about six days, until something is bought again."""
AGAIN_BELOW = 8_000
"""Cents; what costs more is not bought again and again."""
WINDOW_SHOPPING = 1.5
"""What is only looked at may cost so many times the budget."""
OPEN_CARTS = 12
TRIES = 3
"""Categories tried until the budget buys something there; products looked at for one of a preferred brand."""
PER_INTENT = MORE_SEARCHES + MOST_CLICKS + 4 * TRIES + 9
PER_BLOCK = 16
Numbers = Callable[..., np.random.Generator]


@dataclass(frozen=True)
class Visits:
    """Events of all customers, one customer after the other."""

    begins: np.ndarray
    """Where each customer's events begin, and the end."""
    kind: np.ndarray
    product: np.ndarray
    """Row of the stock; -1 for a search."""
    query: np.ndarray
    """Number of the repertoire; -1 for any other event."""
    unit: np.ndarray
    """Number of the customer's intent; events of one stay together in time."""


def visits(people: list[Persona], blocks: list[int], repertoire: Repertoire, numbers: Numbers) -> Visits:
    """So many blocks of 100 actions for each customer; a customer's first n blocks are always the same."""
    grid, stock = Grid(people, blocks, numbers), repertoire.stock
    target, due = purchases(grid, stock, targets(grid, stock))
    return events(grid, target, due, repertoire)


class Grid:
    """The random numbers of every block, and what is decided by them alone: how many intents, searches, carts."""

    def __init__(self, people: list[Persona], blocks: list[int], numbers: Numbers) -> None:
        most = INTENTS[1]
        self.people = people
        self.customer = np.repeat(np.arange(len(people)), blocks)
        self.first_row = np.concatenate([[0], np.cumsum(blocks)])
        drawn = [
            numbers(person.id, "visits").random((rows, most * PER_INTENT + PER_BLOCK))
            for person, rows in zip(people, blocks, strict=True)
        ]
        draws = np.concatenate(drawn)
        self.block_draws = draws[:, most * PER_INTENT :]
        self.draws = draws[:, : most * PER_INTENT].reshape(len(draws), most, PER_INTENT)
        self.taken = 0
        explore = np.array([person.exploration for person in people])[self.customer]
        wanted = QUOTA[SEARCH] / (1 + explore) + self.block_draws[:, 0]
        self.intents = np.clip(wanted.astype(np.int64), *INTENTS)
        self.real = np.arange(most) < self.intents[:, None]
        extra = np.arange(MORE_SEARCHES) + 2.5 * self.take(MORE_SEARCHES)
        extra[~self.real] = np.inf
        self.searches = 1 + smallest(extra, QUOTA[SEARCH] - self.intents).sum(axis=2)
        cart = np.where(self.real, self.take(1)[..., 0], np.inf)
        self.carted = smallest(cart[..., None], np.full(len(cart), QUOTA[CART]))[..., 0]
        self.budget = np.array([int(person.budget * 100) for person in people])
        most_paid = self.budget[self.customer][:, None]
        self.limit = np.where(self.carted, most_paid, (most_paid * WINDOW_SHOPPING).astype(np.int64))

    def take(self, count: int) -> np.ndarray:
        """The next so many numbers of each intent."""
        self.taken += count
        assert self.taken <= PER_INTENT
        return self.draws[:, :, self.taken - count : self.taken]


def smallest(keys: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Marks in each row (all axes but the first) its `counts` smallest keys."""
    flat = keys.reshape(len(keys), -1)
    order = np.argsort(flat, axis=1, kind="stable")
    marked = np.zeros(flat.shape, dtype=bool)
    np.put_along_axis(marked, order, np.arange(flat.shape[1]) < counts[:, None], axis=1)
    return marked.reshape(keys.shape)


def targets(grid: Grid, stock: Stock) -> np.ndarray:
    """For each intent a product that taste and purse allow."""
    people, who = grid.people, grid.customer[:, None]
    most = max(len(person.tastes) for person in people)
    shares = np.full((len(people), most), 2.0)
    leaves = np.zeros((len(people), most + 1), dtype=np.int64)
    for row, person in enumerate(people):
        shares[row, : len(person.tastes)] = np.cumsum([taste.weight for taste in person.tastes])
        leaves[row, : len(person.tastes)] = [stock.place_of_leaf[taste.category] for taste in person.tastes]
    kinds = np.array([len(person.tastes) for person in people])
    draws = grid.take(2 * TRIES)
    fallback = leaves[:, 0][who] + np.zeros_like(grid.limit)
    first, last = stock.edges[fallback], stock.edges[fallback] + 1  # its cheapest, which the budget buys: a check
    for attempt in reversed(range(TRIES)):
        place = (draws[..., attempt, None] >= shares[who]).sum(axis=2)
        anywhere = (draws[..., TRIES + attempt] * len(stock.leaves)).astype(np.int64)
        leaf = np.where(place < kinds[who], leaves[who, place], anywhere)
        begin, end = stock.edges[leaf], stock.affordable(leaf, grid.limit)
        first, last = np.where(end > begin, begin, first), np.where(end > begin, end, last)
    return liked(grid, stock, first, last)


def liked(grid: Grid, stock: Stock, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """A product of each range of the price order: the more often a cheap one, the more the shopper looks at prices."""
    draws, loyal = grid.take(2 * TRIES), grid.take(2)
    sensitivity = np.array([person.price_sensitivity for person in grid.people])[grid.customer][:, None]
    brands = [stock.place_of_brand[brand] for p in grid.people for brand in p.brands if brand in stock.place_of_brand]
    owners = [row for row, p in enumerate(grid.people) for brand in p.brands if brand in stock.place_of_brand]
    wanted = np.array(owners, dtype=np.int64) * len(stock.place_of_brand) + np.array(brands, dtype=np.int64)
    chosen, settled = np.zeros_like(first), np.zeros(first.shape, dtype=bool)
    for attempt in range(TRIES):
        thrifty = loyal[..., 1] < sensitivity
        share = draws[..., attempt] * np.where(thrifty, draws[..., TRIES + attempt], 1.0)
        product = stock.by_price[first + ((last - first) * share).astype(np.int64)]
        chosen = np.where(settled, chosen, product)
        known = grid.customer[:, None] * len(stock.place_of_brand) + stock.brand_of[product]
        settled |= (loyal[..., 0] >= 0.5) | (np.isin(known, wanted) & (stock.brand_of[product] >= 0))
    return chosen


def purchases(grid: Grid, stock: Stock, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which carts are bought, and when: three in each block, some of carts left in earlier blocks.

    Returns the targets, some of them now something bought before, and (row, intent, product) of each purchase.
    """
    due: list[tuple[int, int, int]] = []
    chosen: list[list[int]] = target.tolist()  # numbers one by one are faster in lists
    intents, draws = grid.intents.tolist(), grid.block_draws[:, 1:].reshape(-1, QUOTA[PURCHASE], 5).tolist()
    carts = np.nonzero(grid.carted)[1].reshape(-1, QUOTA[CART]).tolist()
    for who in range(len(grid.people)):
        left: list[int] = []
        bought: list[tuple[int, int]] = []
        limit, unit = min(int(grid.budget[who]), AGAIN_BELOW), 0
        for row in range(grid.first_row[who], grid.first_row[who + 1]):
            meant, free, new = chosen[row], carts[row], []
            for late, which, again, wait, old in draws[row]:
                if left and late < 0.2:
                    new.append((int(which * intents[row]), left.pop(int(again * len(left)))))
                    continue
                place = free.pop(int(which * len(free)))
                before = [product for product, when in bought if when + AGAIN_AFTER <= unit] if again < 0.15 else []
                if before and stock.cents[repeat := before[int(old * len(before))]] <= limit:
                    meant[place] = repeat
                later = 0 if wait < 0.6 else int((wait - 0.6) / 0.4 * min(4, intents[row] - place))
                new.append((place + later, meant[place]))
            left = [*left, *(meant[place] for place in free)][-OPEN_CARTS:]
            due += [(row, place, product) for place, product in sorted(new)]
            bought += [(product, unit + place) for place, product in new]
            unit += intents[row]
    return np.array(chosen), np.array(due)


def events(grid: Grid, target: np.ndarray, due: np.ndarray, repertoire: Repertoire) -> Visits:
    """Puts every intent's searches, clicks, cart and purchases in order."""
    repertoire.learn(target[grid.real])
    draws = grid.take(6)
    slot = np.where(grid.real, repertoire.slot[target], 0)
    exact = (draws[..., 0] * repertoire.accurate.shape[1]).astype(np.int64)
    others = repertoire.others[slot, exact]
    shown = (others >= 0) & (repertoire.stock.cents[others] <= grid.limit[..., None])
    turn = (np.arange(OTHERS) + (draws[..., 1, None] * OTHERS).astype(np.int64)) % OTHERS
    others = np.take_along_axis(others, np.argsort(np.where(shown, turn, turn + OTHERS), axis=2), axis=2)
    siblings = shown.sum(axis=2)

    keys = np.arange(MOST_CLICKS) + 4.0 * grid.take(MOST_CLICKS)
    keys[grid.carted, 0] = -1.0
    seen = 1 + siblings + (siblings >= 2)  # the target, its siblings, and one of several again
    keys[np.arange(MOST_CLICKS) >= seen[..., None]] += 100.0
    keys[~grid.real] = np.inf
    clicks = smallest(keys, np.full(len(keys), QUOTA[CLICK])).sum(axis=2)

    real, intents = grid.real, int(grid.real.sum())
    number = np.cumsum(real).reshape(real.shape) - 1
    bought_in = number[due[:, 0], due[:, 1]]
    s, c, cart = grid.searches[real], clicks[real], grid.carted[real]
    counts = s + c + cart + np.bincount(bought_in, minlength=intents)
    owner = np.repeat(np.arange(intents), counts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    start, step = (
        (draws[..., 2][real] * EXPLORATORY).astype(np.int64),
        2 * (draws[..., 3][real] * 4).astype(np.int64) + 1,
    )
    slot, exact, target, others, siblings = slot[real], exact[real], target[real], others[real], siblings[real]
    before_last = (start + (s - 2) * step) % EXPLORATORY
    early = (draws[..., 4][real] < 0.35) & (c >= 2) & (s >= 2) & repertoire.finds_all[slot, before_last]
    turned = (draws[..., 5][real] < 0.3) & ~cart

    S, C = s[owner], c[owner]
    swap = early[owner] & ((place == S - 1) | (place == S))  # a first look before the accurate search
    place = np.where(swap, 2 * S - 1 - place, place)
    kind = np.where(
        place < S, SEARCH, np.where(place < S + C, CLICK, np.where(cart[owner] & (place == S + C), CART, PURCHASE))
    )
    searching = np.flatnonzero(kind == SEARCH)
    query = np.full(len(owner), -1)
    of, turn_of = owner[searching], place[searching]
    vague = repertoire.exploratory[slot[of], (start[of] + turn_of * step[of]) % EXPLORATORY]
    query[searching] = np.where(turn_of == s[of] - 1, repertoire.accurate[slot[of], exact[of]], vague)

    product = target[owner]
    product[searching] = -1
    product[kind == PURCHASE] = due[:, 2]
    clicking = np.flatnonzero(kind == CLICK)
    of, look = owner[clicking], place[clicking] - s[owner[clicking]]
    look = np.where(turned[of], c[of] - 1 - look, look)
    alternatives = np.minimum(c[of] - 1, siblings[of])
    sibling = others[of, look % np.maximum(alternatives, 1)]
    product[clicking] = np.where((look == c[of] - 1) | (alternatives == 0), target[of], sibling)

    rows = grid.first_row * BLOCK
    first_unit = number[grid.first_row[:-1], 0]
    customer = np.repeat(np.arange(len(grid.people)), np.diff(rows))
    return Visits(rows, kind, product, query, owner - first_unit[customer])
