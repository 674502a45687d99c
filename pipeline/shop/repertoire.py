"""What people type when they look for a product, and which of its siblings they find then."""

import re
from collections.abc import Callable
from functools import cache
from itertools import islice
from random import Random

import numpy as np
import pyarrow as pa

from pipeline.render.trajectory import search_bodies
from pipeline.shop.stock import DEAREST, Speech, Stock, usual_searches
from pipeline.tokens import estimates
from pipeline.words import PRICE_CAP, content_words, words

ACCURATE = 4
"""Searches for exactly this product that are kept in mind."""
EXPLORATORY = 8
"""Searches for the kind of thing it is."""
OTHERS = 8
"""Siblings that an accurate search finds too."""
NEAR = 40
"""How far up and down in price a shopper looks for them."""
LIMIT = re.compile(PRICE_CAP)
MORE_WORDS = (
    *("price", "top rated", "on sale", "compare", "online", "for me", "new", "to buy"),
    *("near me", "shop", "order", "again"),
)
KNOWN = 200_000
"""Products kept in mind; with more than these it starts anew."""
CAPS = (10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000)


class Repertoire:
    """Searches and siblings of every product met so far, as columns; `slot` says where a product stands in them.

    What a product has depends on the catalog alone, not on who asked first.
    """

    def __init__(self, stock: Stock) -> None:
        self.stock = stock
        self.slot = np.full(len(stock), -1, dtype=np.int32)
        self.forget(1_024)

    def forget(self, room: int) -> None:
        self.slot[:] = -1
        self.known = 0
        self.texts: list[str] = []
        self.queries, self.bodies = pa.array([], pa.string()), pa.array([], pa.string())
        """The searches, and each as a line shows it."""
        self.body_tokens = np.zeros(0, dtype=np.int64)
        self.accurate = np.zeros((room, ACCURATE), dtype=np.int32)
        self.exploratory = np.zeros((room, EXPLORATORY), dtype=np.int32)
        self.others = np.zeros((room, ACCURATE, OTHERS), dtype=np.int64)
        self.finds_all = np.zeros((room, EXPLORATORY), dtype=bool)
        """Whether an exploratory search finds the product and all its `others`."""

    def learn(self, products: np.ndarray) -> None:
        """Makes sure that each of these products has a slot."""
        new = np.unique(products[self.slot[products] < 0])
        if self.known + len(new) > KNOWN:
            self.forget(1_024)
            new = np.unique(products)
        while self.known + len(new) > len(self.accurate):
            for name in ("accurate", "exploratory", "others", "finds_all"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
        if not len(new):
            return
        spoken = len(self.texts)
        for product in new.tolist():
            self.slot[product] = self.known
            self.add(product, self.known)
            self.known += 1
        texts = pa.array(self.texts[spoken:], pa.string())
        bodies = search_bodies(texts)
        self.queries = pa.concat_arrays([self.queries, texts])
        self.bodies = pa.concat_arrays([self.bodies, bodies])
        self.body_tokens = np.concatenate([self.body_tokens, estimates(bodies)])

    def add(self, product: int, slot: int) -> None:
        speech, random = self.stock.speech(product), Random(product).random
        accurate = filled(ACCURATE, lambda: self.exact(product, speech, random), speech.head, set())
        vague = filled(EXPLORATORY, lambda: self.vague(product, speech, random), speech.head, set(accurate))
        near = {other: self.stock.words(other) for other in self.near(product, random)}
        all_found: set[int] = set()
        for place, query in enumerate(accurate):
            wanted = content_words(query)
            fitting = (other for other, have in near.items() if fits(have, wanted))
            found = list(islice(fitting, OTHERS)) if " under " not in query else []
            self.others[slot, place] = found + [-1] * (OTHERS - len(found))
            all_found.update(found)
        shared = self.stock.words(product).intersection(*(near[other] for other in all_found))
        first = len(self.texts)
        self.texts += accurate
        self.texts += vague
        self.accurate[slot] = range(first, first + ACCURATE)
        self.exploratory[slot] = range(first + ACCURATE, len(self.texts))
        self.finds_all[slot] = [" under " not in query and fits(shared, content_words(query)) for query in vague]

    def near(self, product: int, random: Callable[[], float]) -> list[int]:
        """Siblings of about its price, in the order in which they are looked at."""
        stock = self.stock
        leaf = int(stock.leaf_of[product])
        first, last = int(stock.edges[leaf]), int(stock.edges[leaf + 1])
        rank = int(np.searchsorted(stock.steps, leaf * DEAREST + int(stock.cents[product])))
        first, last = max(first, rank - NEAR), min(last, rank + NEAR)
        step = max(1, (last - first) // (2 * OTHERS))
        found = stock.by_price[first + int(random() * step) : last : step].tolist()
        return [other for _, other in sorted((random(), other) for other in found) if other != product]

    def exact(self, product: int, speech: Speech, random: Callable[[], float]) -> str:
        typed = self.stock.queries.get(product)
        if typed and random() < 0.8:
            return typed[int(random() * len(typed))]
        detail = speech.details[int(random() * len(speech.details))] if speech.details else speech.color
        form = random()
        if form < 0.45:
            return said(f"{speech.brand} {speech.head} {detail}")
        if form < 0.65:
            return said(f"{detail} {speech.head} {speech.color}")
        if form < 0.8:
            return said(f"{speech.start} {speech.head}")
        return said(f"{speech.brand} {detail} {speech.head}")

    def vague(self, product: int, speech: Speech, random: Callable[[], float]) -> str:
        form, head = random(), speech.head
        if form < 0.18:
            leaf = self.stock.leaves[int(self.stock.leaf_of[product])]
            usual = usual_for(leaf, head)
            return usual[int(random() * len(usual))] if usual else said(f"{head} {leaf.lower()}")
        if form < 0.32:
            return head
        if form < 0.46:
            cents = self.stock.cents[product]
            cap = next((cap for cap in CAPS if cap * 100 >= cents), None)
            return f"{head} under {cap}" if cap else f"{head} deals"
        if form < 0.58 and speech.color:
            return said(f"{speech.color} {head}")
        if form < 0.7 and speech.brand:
            return said(f"{speech.brand} {head}")
        if form < 0.8:
            return f"{('cheap', 'best')[int(random() * 2)]} {head}"
        if form < 0.88:
            return f"{head} {('reviews', 'sale', 'gift', 'deals')[int(random() * 4)]}"
        if speech.details:
            return said(f"{speech.details[int(random() * len(speech.details))]} {head}")
        return f"good {head}"


def fits(have: frozenset[str], wanted: tuple[str, ...]) -> bool:
    """Whether a product with these words is found by a search for those: at least half of them are its."""
    return 2 * len(have.intersection(wanted)) >= len(wanted)


def filled(count: int, say: Callable[[], str], head: str, taken: set[str]) -> list[str]:
    """So many different searches, none of them taken."""
    found: dict[str, None] = {}
    for _ in range(3 * count):
        if (query := say() or head) not in taken:
            found.setdefault(query)
            if len(found) == count:
                return list(found)
    for more in MORE_WORDS:
        if len(found) < count and f"{head} {more}" not in taken:
            found.setdefault(f"{head} {more}")
    return list(found)


@cache
def usual_for(leaf: str, head: str) -> list[str]:
    return [text for text in usual_searches().get(leaf, ()) if shares(text, head)]


def said(query: str) -> str:
    """A search of these words, each once; nothing that sounds like a limit on the price.

    >>> said("koss  stereo headphones koss"), said("lamp under 3")
    ('koss stereo headphones', 'lamp 3')
    """
    query = " ".join(dict.fromkeys(query.split()))
    return query if not LIMIT.search(query) else query.replace("under ", "")


def shares(text: str, head: str) -> bool:
    """Whether both name the same kind of thing by some word."""
    return not set(content_words(text)).isdisjoint(words(head))
