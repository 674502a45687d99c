"""What people type when they look for a product, and which of its siblings they find then."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from random import Random

import numpy as np
import pyarrow as pa

from pipeline.dataset import Dataset
from pipeline.render.trajectory import search_bodies
from pipeline.shop.kinds import LIMIT, Kinds, limit_of
from pipeline.shop.stock import DEAREST, Speech
from pipeline.tokens import estimates
from pipeline.words import content_words, words
from schemas.shop import Query

ACCURATE = 4
"""Searches for exactly this product that are kept in mind."""
EXPLORATORY = 8
"""Searches for the kind of thing it is."""
USUAL = {"code": 2, "model": 5}
"""So many of these at most are of its category's row. What code composed there says no more than what is composed for a
product. A model has more to say, but a dozen texts are shared by all products of a category: with none but those, everybody
would type the same."""
OTHERS = 8
"""Siblings that an accurate search finds too."""
NEAR = 40
"""How far up and down in price a shopper looks for them."""
MORE_WORDS = (
    *("price", "top rated", "on sale", "compare", "online", "for me", "new", "to buy"),
    *("near me", "shop", "order", "again"),
)
KNOWN = 200_000
"""Products kept in mind; with more than these it starts anew."""
CAPS = (10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000)


@dataclass(frozen=True)
class Usual:
    """A search of a category's row, and what it asks for."""

    text: str
    words: frozenset[str]
    telling: frozenset[str]
    """Its words for a brand or a color."""
    limit: int | None
    """What it may cost at most, in cents."""


class Repertoire:
    """Searches and siblings of every product met so far, as columns; `slot` says where a product stands in them.

    What a product has depends on the catalog and the queries alone, not on who asked first.
    """

    def __init__(self, kinds: Kinds) -> None:
        self.kinds, self.stock = kinds, kinds.stock
        self.slot = np.full(len(self.stock), -1, dtype=np.int32)
        self.rows: Mapping[str, Query] = {}
        self.usual: dict[int, list[Usual]] = {}
        self.forget(1_024)

    def hear(self, rows: Mapping[str, Query]) -> None:
        """What people type in each category from now on; what was made of other rows is forgotten."""
        if rows is not self.rows:
            self.rows, self.usual = rows, {}
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
        usual = [query for query in self.usual_for(product, speech, random) if query not in accurate]
        taken = {*accurate, *usual}
        vague = usual + filled(
            EXPLORATORY - len(usual), lambda: self.vague(product, speech, random), speech.head, taken
        )
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

    def usual_for(self, product: int, speech: Speech, random: Callable[[], float]) -> list[str]:
        """Some of its category's searches that one who ends up with it may have begun with."""
        leaf = int(self.stock.leaf_of[product])
        row = self.rows.get(self.stock.leaves[leaf])
        if row is None:
            return []
        if leaf not in self.usual:
            self.usual[leaf] = heard(row, self.kinds)
        have, head, cents = self.stock.words(product), words(speech.head), int(self.stock.cents[product])
        fitting = [
            one.text
            for one in self.usual[leaf]
            if one.telling <= have and not one.words.isdisjoint(head) and (one.limit is None or one.limit >= cents)
        ]
        return [text for _, text in sorted((random(), text) for text in fitting)][: USUAL[row.written_by]]

    def vague(self, product: int, speech: Speech, random: Callable[[], float]) -> str:
        form, head = random(), speech.head
        if form < 0.17:
            return head
        if form < 0.34:
            cents = self.stock.cents[product]
            cap = next((cap for cap in CAPS if cap * 100 >= cents), None)
            return f"{head} under {cap}" if cap else f"{head} deals"
        if form < 0.49 and speech.color:
            return said(f"{speech.color} {head}")
        if form < 0.63 and speech.brand:
            return said(f"{speech.brand} {head}")
        if form < 0.75:
            return f"{('cheap', 'best')[int(random() * 2)]} {head}"
        if form < 0.85:
            return f"{head} {('reviews', 'on sale', 'deals')[int(random() * 3)]}"
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


def by_category(queries: Dataset[Query]) -> dict[str, Query]:
    return {query.category: query for query in queries}


def heard(row: Query, kinds: Kinds) -> list[Usual]:
    """A row's searches, each with what it asks for."""
    kind = kinds.of(row.category)
    found = []
    for text in row.texts:
        asked = frozenset(content_words(text))
        makers = {word for brand in kinds.named(text) if brand in kind.brands for word in brand}
        found.append(Usual(text, asked, frozenset(makers | (asked & kind.color_words)), limit_of(text)))
    return found


def said(query: str) -> str:
    """A search of these words, each once; nothing that sounds like a limit on the price.

    >>> said("koss  stereo headphones koss"), said("lamp under 3")
    ('koss stereo headphones', 'lamp 3')
    """
    query = " ".join(dict.fromkeys(query.split()))
    return query if not LIMIT.search(query) else query.replace("under ", "")
