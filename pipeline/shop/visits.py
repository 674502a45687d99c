"""What a customer does in the shop: intents one after another, each a few searches, some clicks, now and then a cart.

The mix is ShopTrajQA's (arXiv 2606.07995, section 3): every block of 100 actions holds 55 searches, 35 clicks, 7
additions to the cart and 3 purchases; about two exploratory searches come before the accurate one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from pipeline.shop.stock import Speech, Stock, usual_searches
from pipeline.words import content_words, words
from schemas.shop import Persona

SEARCH, CLICK, CART, PURCHASE = range(4)
ACTIONS = ("search", "click", "add to Cart", "purchase")
QUOTA = (55, 35, 7, 3)
BLOCK = sum(QUOTA)
AGAIN_AFTER = 40
"""Intents, about six days, until something is bought again."""
WINDOW_SHOPPING = 1.5
"""What is only looked at may cost so many times the budget."""
CAPS = (10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000)


@dataclass
class Visits:
    """Events as columns; `unit` numbers the intents, and what belongs to one stays together in time."""

    kind: list[int] = field(default_factory=list)
    product: list[int] = field(default_factory=list)
    query: list[str | None] = field(default_factory=list)
    unit: list[int] = field(default_factory=list)

    def add(self, kind: int, product: int, query: str | None, unit: int) -> None:
        self.kind.append(kind)
        self.product.append(product)
        self.query.append(query)
        self.unit.append(unit)


def uniform(numbers: np.random.Generator) -> Callable[[], float]:
    """A cheap source of numbers in [0, 1): drawn in bulk."""

    def draws() -> Iterator[float]:
        while True:
            yield from numbers.random(4096).tolist()

    return draws().__next__


class Customer:
    """A persona at large in a stock. `visit` goes on where it stopped: the first n blocks are always the same."""

    def __init__(self, persona: Persona, stock: Stock, numbers: np.random.Generator) -> None:
        self.persona, self.stock, self.u = persona, stock, uniform(numbers)
        self.leaves = [stock.place_of_leaf[taste.category] for taste in persona.tastes]
        self.weights = list(accumulate(taste.weight for taste in persona.tastes))
        self.brands = frozenset(brand.lower() for brand in persona.brands)
        self.budget = int(persona.budget * 100)
        self.bias = 1 + 1.5 * persona.price_sensitivity
        self.thrifty = persona.price_sensitivity > 0.6
        self.intents = QUOTA[SEARCH] / (1 + persona.exploration)
        self.unit = 0
        self.open_carts: list[int] = []
        self.bought: list[tuple[int, int]] = []
        self.visits = Visits()

    def visit(self, blocks: int) -> None:
        """Adds so many blocks of 100 actions to `visits`."""
        for _ in range(blocks):
            self.block()

    def block(self) -> None:
        u = self.u
        intents = int(self.intents + u())
        searches = spread(QUOTA[SEARCH], intents, u)
        carted = self.sample(intents, QUOTA[CART])
        clicks = [1 if place in carted else 0 for place in range(intents)]
        for _ in range(QUOTA[CLICK] - len(carted)):
            clicks[min(int(u() * intents), int(u() * intents) + 2)] += 1
        due: list[list[int]] = [[] for _ in range(intents)]
        to_buy = self.choose_purchases(intents, carted, due)
        spare = 0
        for place in range(intents):
            last = place == intents - 1
            product, spare = self.intent(searches[place], clicks[place] + spare, place in carted, place in to_buy, last)
            if place in to_buy:
                delay = 0 if u() < 0.6 else int(u() * min(4, intents - place))
                due[place + delay].append(product)
            elif place in carted:
                self.open_carts = [*self.open_carts[-11:], product]
            for bought in due[place]:
                self.visits.add(PURCHASE, bought, None, self.unit)
                self.bought.append((bought, self.unit))
            self.unit += 1

    def choose_purchases(self, intents: int, carted: list[int], due: list[list[int]]) -> list[int]:
        """Which of the carted intents end in a purchase; some purchases are of carts left in earlier blocks."""
        u, free = self.u, list(carted)
        chosen: list[int] = []
        for _ in range(QUOTA[PURCHASE]):
            affordable = [product for product in self.open_carts if self.stock.cents[product] <= self.budget]
            if affordable and u() < 0.2:
                late = affordable[int(u() * len(affordable))]
                self.open_carts.remove(late)
                due[int(u() * intents)].append(late)
            else:
                chosen.append(free.pop(int(u() * len(free))))
        return chosen

    def sample(self, below: int, count: int) -> list[int]:
        places, u = list(range(below)), self.u
        return [places.pop(int(u() * len(places))) for _ in range(count)]

    def intent(self, searches: int, clicks: int, cart: bool, buy: bool, last: bool) -> tuple[int, int]:
        """One thing looked for: searches from vague to accurate, clicks, perhaps the cart.

        Returns the product, and the clicks for which there was nothing new to see, unless it is the `last` intent.
        """
        add, unit = self.visits.add, self.unit
        limit = self.budget if cart else int(self.budget * WINDOW_SHOPPING)
        target = self.bought_before() if buy else -1
        if target < 0:
            target = self.pick(limit)
        queries = self.queries(target, searches)
        wanted = content_words(queries[-1])
        looked = self.compared(target, clicks, wanted, limit, must_end=cart, fill=last) if clicks else []
        spare = clicks - len(looked)
        early = -1
        if len(looked) > 1 and searches > 1 and self.u() < 0.35 and self.found_by(looked[0], queries[-2]):
            early = searches - 2
        for place, query in enumerate(queries):
            add(SEARCH, -1, query, unit)
            if place == early:
                add(CLICK, looked.pop(0), None, unit)
        for product in looked:
            add(CLICK, product, None, unit)
        if cart:
            add(CART, target, None, unit)
        return target, spare

    def bought_before(self) -> int:
        old = [product for product, unit in self.bought if unit + AGAIN_AFTER <= self.unit]
        if old and self.u() < 0.15:
            again = old[int(self.u() * len(old))]
            if self.stock.cents[again] <= min(self.budget, 8_000):
                return again
        return -1

    def pick(self, limit: int) -> int:
        """A product that taste and purse allow."""
        u, stock = self.u, self.stock
        for _ in range(6):
            place = bisect_right(self.weights, u())
            leaf = self.leaves[place] if place < len(self.leaves) else int(u() * len(stock.leaves))
            first, last = stock.edges[leaf], stock.edges[leaf + 1]
            last = bisect_right(stock.sorted_cents, limit, first, last)
            if last > first:
                return self.liked(first, last)
        return stock.places[stock.edges[self.leaves[0]]]  # its cheapest, which the budget buys: a check of personas

    def liked(self, first: int, last: int) -> int:
        u, stock = self.u, self.stock
        product = -1
        for _ in range(3 if self.brands and u() < 0.5 else 1):
            product = stock.places[first + int((last - first) * u() ** self.bias)]
            if stock.speech(product).brand in self.brands:
                break
        return product

    def compared(
        self, target: int, clicks: int, wanted: list[str], limit: int, *, must_end: bool, fill: bool
    ) -> list[int]:
        """What is clicked: the target and siblings that the query fits too; one of several is looked at again."""
        others = self.siblings(target, min(clicks - 1, 4), wanted, limit) if clicks > 1 else []
        looked = [*others, target]
        most = clicks if fill else min(clicks, len(looked) + (len(looked) > 2))
        while len(looked) < most:
            looked.insert(int(self.u() * len(looked)), looked[int(self.u() * len(looked))])
        if not must_end and self.u() < 0.3:
            looked.reverse()
        return looked

    def siblings(self, target: int, count: int, wanted: list[str], limit: int) -> list[int]:
        u, stock = self.u, self.stock
        leaf = int(stock.leaf_of[target])
        first, last = stock.edges[leaf], stock.edges[leaf + 1]
        rank = bisect_right(stock.sorted_cents, int(stock.cents[target]), first, last) - 1
        found: list[int] = []
        for _ in range(4 * count):
            place = rank + int((u() - 0.5) * 60)
            if first <= place < last and stock.sorted_cents[place] <= limit:
                other = stock.places[place]
                if other != target and other not in found and self.fits(other, wanted):
                    found.append(other)
                    if len(found) == count:
                        break
        return found

    def found_by(self, product: int, query: str) -> bool:
        return " under " not in query and self.fits(product, content_words(query))

    def fits(self, product: int, wanted: list[str]) -> bool:
        have = self.stock.words(product)
        return 2 * sum(word in have for word in wanted) >= len(wanted)

    def queries(self, target: int, count: int) -> list[str]:
        """So many searches for the same thing, the accurate one last, no two alike."""
        speech, u = self.stock.speech(target), self.u
        found = [self.accurate(target, speech)]
        for _ in range(6 * count):
            if len(found) == count:
                break
            query = self.exploratory(target, speech, u())
            if query not in found:
                found.append(query)
        while len(found) < count:
            found.append(f"{found[-1]} {('new', 'again', 'deals', 'online')[len(found) % 4]}")
        return found[::-1]

    def accurate(self, target: int, speech: Speech) -> str:
        u = self.u
        typed = self.stock.queries.get(target)
        if typed and u() < 0.8:
            return typed[int(u() * len(typed))]
        detail = speech.details[int(u() * len(speech.details))] if speech.details else speech.color
        form = u()
        if form < 0.45:
            query = f"{speech.brand} {speech.head} {detail}"
        elif form < 0.65:
            query = f"{detail} {speech.head} {speech.color}"
        elif form < 0.8:
            query = f"{speech.start} {speech.head}"
        else:
            query = f"{speech.brand} {detail} {speech.head}"
        return once_each(query) or speech.head

    def exploratory(self, target: int, speech: Speech, form: float) -> str:
        u, head = self.u, speech.head
        if form < 0.18:
            leaf = self.stock.leaves[int(self.stock.leaf_of[target])]
            usual = [text for text in usual_searches().get(leaf, ()) if shares(text, head)]
            return usual[int(u() * len(usual))] if usual else once_each(f"{head} {leaf.lower()}")
        if form < 0.32:
            return head
        if form < 0.46:
            cents = self.stock.cents[target]
            cap = next((cap for cap in CAPS if cap * 100 >= cents), None)
            return f"{head} under {cap}" if cap else f"{head} deals"
        if form < 0.58 and speech.color:
            return once_each(f"{speech.color} {head}")
        if form < 0.7 and speech.brand:
            return once_each(f"{speech.brand} {head}")
        if form < 0.8:
            return f"{'cheap' if self.thrifty else 'best'} {head}"
        if form < 0.88:
            return f"{head} {('reviews', 'sale', 'gift', 'deals')[int(u() * 4)]}"
        if speech.details:
            return once_each(f"{speech.details[int(u() * len(speech.details))]} {head}")
        return f"good {head}"


def spread(total: int, parts: int, u: Callable[[], float]) -> list[int]:
    """`total` as so many numbers of at least one, near their mean."""
    counts = [total // parts] * parts
    for _ in range(total - sum(counts)):
        counts[int(u() * parts)] += 1
    for _ in range(parts // 2):
        giver, taker = int(u() * parts), int(u() * parts)
        if counts[giver] > 2:
            counts[giver] -= 1
            counts[taker] += 1
    return counts


def once_each(query: str) -> str:
    """
    >>> once_each("koss  stereo headphones koss")
    'koss stereo headphones'
    """
    return " ".join(dict.fromkeys(query.split()))


def shares(text: str, head: str) -> bool:
    """Whether both name the same kind of thing by some word."""
    return not set(content_words(text)).isdisjoint(words(head))
