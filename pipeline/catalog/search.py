"""Search in the catalog: words and nearness to find products, filters that are exact, the most popular first among equals.

Products stand by leaf category, in a leaf by popularity; that place is what everything here counts in. A word's list holds the
places of the products that have it. A score is the sum of the weights of the query's words that a product has (BM25 for texts
as short as titles: how often a word stands in one, and how long it is, say nothing).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.shop.store import Store
from pipeline.words import PRICE_CAP, content_words, hashed_words, joined

CAP = re.compile(PRICE_CAP)
CHUNK = 50_000
"""Texts that are looked at together while the lists are made."""
BLOCK = 4_096
"""Places that are scored together."""
MOST_WORDS = 16
"""Of a query, the rarest ones; more are not looked for."""
SURE = 20
"""Reviews of the usual rating that everybody is given, so that one good review makes nothing popular."""
USUAL = 350
"""Hundredths: the rating of a product that nobody has rated."""


@dataclass(frozen=True)
class WordLists:
    """Which texts have a word: list k, of the word with hash `hashes[k]`, from `edges[k]` to `edges[k + 1]`, ascending."""

    hashes: np.ndarray
    edges: np.ndarray
    places: np.ndarray

    def number(self, hash: int) -> int:
        found = int(np.searchsorted(self.hashes, np.uint64(hash)))
        return found if found < len(self.hashes) and int(self.hashes[found]) == hash else -1

    def of(self, number: int) -> np.ndarray:
        return self.places[self.edges[number] : self.edges[number + 1]]


def word_lists(chunks: Iterable[pa.Array]) -> WordLists:
    """The lists of these texts, which stand one after the other; each word of a text counts once."""
    hashes, places, first = [np.zeros(0, np.uint64)], [np.zeros(0, np.int32)], 0
    for texts in chunks:
        text_of, found = hashed_words(texts)
        order = np.lexsort((found, text_of))
        text_of, found = text_of[order], found[order]
        new = np.ones(len(found), dtype=bool)
        new[1:] = (found[1:] != found[:-1]) | (text_of[1:] != text_of[:-1])
        hashes.append(found[new])
        places.append((text_of[new] + first).astype(np.int32))
        first += len(texts)
    known, number = np.unique(np.concatenate(hashes), return_inverse=True)
    del hashes
    order = np.argsort(number.astype(np.int32), kind="stable")
    edges = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(known)))]).astype(np.int64)
    return WordLists(known, edges, np.concatenate(places)[order])


@lru_cache(maxsize=100_000)
def hash_of(word: str) -> int:
    return int(hashed_words(pa.array([word]))[1][0])


def weight(have: int, total: int) -> int:
    """Of a word that so many of all texts have, in thousandths; whole, so that no order of adding matters.

    >>> weight(1, 1_000), weight(1_000, 1_000)
    (6502, 1)
    """
    return max(1, round(1000 * log(1 + (total - have + 0.5) / (have + 0.5))))


def popularity(ratings: np.ndarray, reviews: np.ndarray) -> np.ndarray:
    """Mean rating in hundredths, drawn to the usual one where reviews are few."""
    count = np.where(np.isnan(ratings) | np.isnan(reviews), 0, reviews)
    rated = np.where(np.isnan(ratings), USUAL, 100 * ratings)
    return np.round((rated * count + USUAL * SURE) / (count + SURE)).astype(np.int32)


@dataclass(frozen=True)
class Limits:
    """What is asked of a product's numbers; None: nothing."""

    least: int | None
    most: int | None
    rating: float | None
    days: int | None

    @property
    def any(self) -> bool:
        return any(each is not None for each in (self.least, self.most, self.rating, self.days))


class Search:
    """
    search = Search(store)
    rows = search.find("oak desk lamp", limit=200, most=4_000)
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        fame = popularity(store.ratings, store.reviews)
        self.rows = np.lexsort((np.arange(len(store)), -fame, store.leaf_of)).astype(np.int32)
        """The row at each place."""
        self.fame = fame[self.rows]
        self.cents = store.cents[self.rows]
        self.ratings = np.round(store.ratings[self.rows], 2)
        self.days = store.shipping[self.rows].astype(np.float32)
        self.leaf_of_name = {leaf.lower(): place for place, leaf in enumerate(store.leaves)}
        brands = store.brands.dictionary_encode()
        made = brands.dictionary.to_pylist()
        lower = {brand: place for place, brand in enumerate(dict.fromkeys(brand.lower() for brand in made))}
        number = np.array([lower[brand.lower()] for brand in made] + [-1], np.int32)
        brand_at = number[brands.indices.fill_null(-1).to_numpy()][self.rows]
        self.brand_number = lower
        self.by_brand = np.argsort(brand_at, kind="stable").astype(np.int32)
        self.brand_edges = np.searchsorted(brand_at[self.by_brand], np.arange(len(lower) + 1))
        self.famous = np.lexsort((np.arange(len(self.rows)), -self.fame)).astype(np.int32)
        self.lists = word_lists(self.texts())
        self.blocks = np.append(np.arange(0, len(self.rows), BLOCK), len(self.rows))

    def texts(self) -> Iterator[pa.Array]:
        """What a product is found by, in the order of the places."""
        store = self.store
        leaves = pa.array(store.leaves, pa.string())
        for begin in range(0, len(self.rows), CHUNK):
            rows = pa.array(self.rows[begin : begin + CHUNK])
            said = pc.binary_join(values_of(store.attributes.take(rows)), " ")
            kinds = leaves.take(pa.array(store.leaf_of[rows.to_numpy()]))
            yield joined(store.titles.take(rows), store.brands.take(rows), store.colors.take(rows), kinds, said)

    def terms(self, text: str) -> list[tuple[int, int]]:
        """The known words of a query as (weight, number of the list), the rarest first."""
        numbers = {self.lists.number(hash_of(word)) for word in content_words(text)} - {-1}
        edges, total = self.lists.edges, len(self.rows)
        found = [(weight(int(edges[number + 1] - edges[number]), total), number) for number in numbers]
        return sorted(found, key=lambda term: (-term[0], term[1]))[:MOST_WORDS]

    def find(
        self,
        text: str,
        *,
        limit: int,
        category: str = "",
        brand: str = "",
        least: int | None = None,
        most: int | None = None,
        rating: float | None = None,
        days: int | None = None,
    ) -> np.ndarray:
        """Rows of products, the best first.

        With a category or brand all of its products within the limits are found, those with the query's words first; without,
        those with one word at least, or without words the most popular ones. Prices in cents; "under 40" at the end of a query
        is a limit, too. A category or brand that there is not finds nothing.
        """
        capped = CAP.search(text)
        if capped:
            text, cap = text[: capped.start()], 100 * int(capped["cap"])
            most = cap if most is None else min(most, cap)
        limits, terms = Limits(least, most, rating, days), self.terms(text)
        if brand or category:
            places = self.within(category.lower(), brand.lower(), limits)
            scores = self.scores(places, terms)
            best = np.lexsort((places, -self.fame[places], -scores))[:limit]
            return self.rows[places[best]]
        return self.rows[self.fitting(terms, limits, limit) if terms else self.popular(limits, limit)]

    def within(self, category: str, brand: str, limits: Limits) -> np.ndarray:
        """All places of a category, a brand or both, within the limits."""
        leaf, maker = self.leaf_of_name.get(category), self.brand_number.get(brand)
        if (category and leaf is None) or (brand and maker is None):
            return np.zeros(0, np.int64)
        first, last = self.store.leaf_edges[leaf : leaf + 2] if leaf is not None else (0, len(self.rows))
        if maker is None:
            return self.kept(np.arange(first, last), limits)
        places = self.by_brand[self.brand_edges[maker] : self.brand_edges[maker + 1]]
        return self.kept(places[np.searchsorted(places, first) : np.searchsorted(places, last)], limits)

    def kept(self, places: np.ndarray, limits: Limits) -> np.ndarray:
        """Those of the places that are within the limits; a number that is not known is within none."""
        good = np.ones(len(places), dtype=bool)
        if limits.least is not None:
            good &= self.cents[places] >= limits.least
        if limits.most is not None:
            good &= self.cents[places] <= limits.most
        if limits.rating is not None:
            good &= self.ratings[places] >= limits.rating
        if limits.days is not None:
            good &= self.days[places] <= limits.days
        return places[good] if limits.any else places

    def scores(self, places: np.ndarray, terms: list[tuple[int, int]]) -> np.ndarray:
        """Of these ascending places, which need not be in one block."""
        found = np.zeros(len(places), np.int32)
        if not len(places):
            return found
        first, last = int(places[0]), int(places[-1]) + 1
        has = np.zeros(last - first, dtype=bool)
        for worth, number in terms:
            have = self.lists.of(number)
            have = have[have.searchsorted(first) : have.searchsorted(last)] - first
            has[have] = True
            found += worth * has[places - first]
            has[have] = False
        return found

    def fitting(self, terms: list[tuple[int, int]], limits: Limits, limit: int) -> np.ndarray:
        """The places with the best scores above 0: the blocks that can hold them first, until no other block can."""
        lists = [self.lists.of(number) for _, number in terms]
        cuts = [have.searchsorted(self.blocks) for have in lists]
        most = np.zeros(len(self.blocks) - 1, np.int32)
        for (worth, _), cut in zip(terms, cuts, strict=True):
            most += worth * (cut[1:] > cut[:-1])
        board = np.zeros(BLOCK, np.int32)
        best, scores, bar = np.zeros(0, np.int64), np.zeros(0, np.int32), 0
        for block in np.argsort(-most, kind="stable").tolist():
            if most[block] <= bar:
                break
            begin = block * BLOCK
            board.fill(0)
            for (worth, _), have, cut in zip(terms, lists, cuts, strict=True):
                board[have[cut[block] : cut[block + 1]] - begin] += worth
            found = np.flatnonzero(board > bar)
            if limits.any:
                found = self.kept(found + begin, limits) - begin
            best, scores = np.concatenate([best, found + begin]), np.concatenate([scores, board[found]])
            if len(best) >= limit:
                order = np.argsort(-scores, kind="stable")[:limit]
                best, scores = best[order], scores[order]
                bar = int(scores[-1])
        return best[np.argsort(-scores, kind="stable")]

    def popular(self, limits: Limits, limit: int) -> np.ndarray:
        """The most popular places within the limits."""
        found, count, begin, step = [], 0, 0, max(limit, BLOCK)
        while begin < len(self.famous) and count < limit:
            found.append(self.kept(self.famous[begin : begin + step], limits))
            count, begin, step = count + len(found[-1]), begin + step, 4 * step
        return np.concatenate([np.zeros(0, np.int64), *found])[:limit]

    def rank(self, text: str, rows: np.ndarray) -> np.ndarray:
        """The same rows, those that fit the text best first; among equals as they came."""
        places = self.place_of(rows)
        order = np.argsort(places, kind="stable")
        scores = np.zeros(len(rows), np.int32)
        scores[order] = self.scores(places[order], self.terms(text))
        return rows[np.argsort(-scores, kind="stable")]


def values_of(attributes: pa.ListArray) -> pa.ListArray:
    """The values of lists of attributes, as lists of texts.

    >>> values_of(pa.array([[{"name": "size", "value": "M"}], []])).to_pylist()
    [['M'], []]
    """
    edges = attributes.offsets
    return pa.ListArray.from_arrays(edges, attributes.values.field("value"))
