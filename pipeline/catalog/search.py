"""Search in the catalog: words and nearness to find products, filters that are exact, the most popular first among equals.

Products stand by leaf category, in a leaf by popularity; that place is what everything here counts in. A word's list holds the
places of the products that have it. A score is the sum of the weights of the query's words that a product has (BM25 for texts
as short as titles: how often a word stands in one, and how long it is, say nothing). Where there are vectors, products near the
query join those with its words, and all are ranked by the share of the query's words that they have plus their cosine.

Words alone give the same order on any machine. Vectors do for one index; FAISS may train another one elsewhere.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import compress, pairwise
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from shopwright.pipeline.catalog.embed import join_product_texts, open_embedder
from shopwright.pipeline.catalog.nearest import Nearest, nearest_in, open_mapped_array, write_nearest
from shopwright.pipeline.dataset import Dataset, digest
from shopwright.pipeline.files import here, sha256_of
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.words import (
    PRICE_CAP,
    STOP,
    content_words,
    hash_word,
    hashed_words,
    list_single_edits,
    strip_plural,
)
from shopwright.schemas.shop import Embedding, Product

CAP = re.compile(PRICE_CAP)
# Words that may be corrected.
CORRECTABLE = re.compile(r"(?<![^\W_])[A-Za-z]{4,24}(?![^\W_])")
# Texts that are looked at together while the lists are made.
CHUNK = 50_000
# Places that are scored together.
BLOCK = 4_096
# Of a query, the rarest ones; more are not looked for.
MOST_WORDS = 16
# Of what `open_search` keeps; another one is made again.
FORMAT = 3
# Beside it: the SHA-256 of each file.
SUMS = "sums.json"
# Products near a query that join those with its words.
NEAR = 100
# Places that are looked up in a word's list one by one.
FEW = 512
# Words of which there is a bit for every product at hand.
WORDS_KEPT = 512
# Reviews of the usual rating that everybody is given, so that one good review makes nothing popular.
SURE = 20
# Hundredths: the rating of a product that nobody has rated.
USUAL = 350


# Searches by words that are remembered: other texts often come to the same words.
SEARCHES_KEPT = 120_000
WORDS_KNOWN = 200_000
# The words of a query: what each is worth, and the number of its list.
Terms = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class WordLists:
    """Which texts have a word: list k, of the word with hash `hashes[k]`, from `edges[k]` to `edges[k + 1]`, ascending."""

    hashes: np.ndarray
    edges: np.ndarray
    places: np.ndarray

    def number(self, hash: int) -> int:
        found = int(np.searchsorted(self.hashes, np.uint64(hash)))
        return found if found < len(self.hashes) and int(self.hashes[found]) == hash else -1

    def has(self, hashes: Sequence[int]) -> np.ndarray:
        """Which of these words there are."""
        wanted = np.array(hashes, np.uint64)
        found = np.searchsorted(self.hashes, wanted)
        known = found < len(self.hashes)
        known[known] = self.hashes[found[known]] == wanted[known]
        return known

    def of(self, number: int) -> np.ndarray:
        return self.places[self.edges[number] : self.edges[number + 1]]


def word_lists(chunks: Iterable[pa.Array]) -> WordLists:
    """The lists of these texts, which stand one after the other; each word of a text counts once."""
    parts, first = [(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int32))], 0
    for texts in chunks:
        text_of, found = hashed_words(texts)
        hashes, word = number_hashes(found)
        # Word and text in one number: sorting plain numbers is faster than sorting pairs.
        pairs = np.sort(word * np.int64(len(texts)) + text_of)
        word, text = np.divmod(pairs[np.flatnonzero(np.diff(pairs, prepend=-1))], len(texts))
        parts.append((hashes, np.bincount(word, minlength=len(hashes)), (text + first).astype(np.int32)))
        first += len(texts)
    known, _ = number_hashes(np.concatenate([hashes for hashes, _, _ in parts]))
    numbers = [np.searchsorted(known, hashes) for hashes, _, _ in parts]
    lengths = np.zeros(len(known), np.int64)
    for number, (_, counts, _) in zip(numbers, parts, strict=True):
        lengths[number] += counts
    edges = np.concatenate([[0], np.cumsum(lengths)])
    # `free`: where the next place of each word's list goes; chunks come in order, so lists are ascending.
    free, places = edges[:-1].copy(), np.zeros(edges[-1], np.int32)
    for number, (_, counts, found) in zip(numbers, parts, strict=True):
        before = np.cumsum(counts) - counts
        places[np.repeat(free[number] - before, counts) + np.arange(len(found))] = found
        free[number] += counts
    return WordLists(known, edges, places)


def number_hashes(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different ones in order, and the number of each; as `np.unique`, in a tenth of its time where they repeat.

    >>> [found.tolist() for found in number_hashes(np.array([7, 3, 7], np.uint64))]
    [[3, 7], [1, 0, 1]]
    """
    met = pa.array(hashes).dictionary_encode()
    different = met.dictionary.to_numpy()
    order = np.argsort(different)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return different[order], number[met.indices.to_numpy()]


def replace_surrogates(text: str) -> str:
    """Without halves of characters, which JSON can hold and nothing else."""
    return text.encode("utf-8", "replace").decode()


def weight(have: int, total: int) -> int:
    """Of a word that so many of all texts have, in thousandths; whole, so that no order of adding matters.

    >>> weight(1, 1_000), weight(1_000, 1_000)
    (6503, 1)
    """
    return max(1, round(1000 * log(1 + (total - have + 0.5) / (have + 0.5))))


def popularity(ratings: np.ndarray, reviews: np.ndarray) -> np.ndarray:
    """Mean rating in hundredths, drawn to the usual one where reviews are few."""
    count = np.where(np.isnan(ratings) | np.isnan(reviews), 0, reviews)
    rated = np.where(np.isnan(ratings), USUAL, 100 * ratings)
    return np.round((rated * count + USUAL * SURE) / (count + SURE)).astype(np.int32)


@dataclass(frozen=True)
class Limits:
    """What is asked of a product's numbers and seller; None: nothing."""

    least: int | None
    most: int | None
    rating: float | None
    days: int | None
    seller: int | None = None
    """Its place among the store's sellers."""

    @property
    def any(self) -> bool:
        return any(each is not None for each in (self.least, self.most, self.rating, self.days, self.seller))


class Search:
    """
    search = Search(store)
    rows = search.find("oak desk lamp", limit=200, most=4_000)
    """

    def __init__(self, store: Store, lists: WordLists | None = None, nearest: Nearest | None = None) -> None:
        """
        Args:
            lists: Of the products' words; None: they are made now, which takes half a minute for a million products.
            nearest: By place; None: words alone.
        """
        self.store, self.nearest = store, nearest
        # What makes the same in another process.
        self.origin: tuple[Any, ...] = (Search, (store,))
        fame = popularity(store.ratings, store.reviews)
        # The row at each place.
        self.rows = np.lexsort((np.arange(len(store)), -fame, store.leaf_of)).astype(np.int32)
        self.place_of = np.empty_like(self.rows)
        self.place_of[self.rows] = np.arange(len(self.rows), dtype=np.int32)
        self.fame = fame[self.rows]
        self.cents = store.cents[self.rows]
        self.ratings = np.round(store.ratings[self.rows], 2)
        self.days = store.shipping[self.rows].astype(np.float32)
        self.leaf_of_name = {leaf.lower(): place for place, leaf in enumerate(store.leaves)}
        brands = store.brands.dictionary_encode()
        made = brands.dictionary.to_pylist()
        different = dict.fromkeys(brand.lower() for brand in made)
        lower = {brand: place for place, brand in enumerate(different)}
        # The last one is for products without a brand: place -1 of the list.
        number = np.array([lower[brand.lower()] for brand in made] + [-1], np.int32)
        maker = number[brands.indices.fill_null(-1).to_numpy()][self.rows]
        self.number_of_brand = lower
        self.number_of_seller = {name.lower(): place for place, name in enumerate(store.seller_names)}
        # All places, the most popular first.
        self.famous = np.argsort(-self.fame, kind="stable").astype(np.int32)
        self.by_brand = self.famous[np.argsort(maker[self.famous], kind="stable")]
        self.brand_edges = np.searchsorted(maker[self.by_brand], np.arange(len(lower) + 1))
        self.lists = lists or word_lists(self.texts())
        self.has = lru_cache(WORDS_KEPT)(self.make_has)
        self.term = lru_cache(WORDS_KNOWN)(self.make_term)
        self.spelling = lru_cache(WORDS_KNOWN)(self.make_spelling)
        self.fitting = lru_cache(SEARCHES_KEPT)(self.make_fitting)
        self.blocks = blocks_of(store.leaf_edges)
        self.widest = int(np.diff(self.blocks).max(initial=1))
        starts = self.blocks[:-1]
        self.cheapest, self.dearest = (of.reduceat(self.cents, starts) for of in (np.minimum, np.maximum))
        self.best_rating, self.fewest_days = np.fmax.reduceat(self.ratings, starts), np.fmin.reduceat(self.days, starts)

    @cached_property
    def sellers(self) -> np.ndarray:
        """The seller at each place; found when it is first asked for, which takes seconds for a million products."""
        return self.store.sellers[self.rows]

    def texts(self) -> Iterator[pa.Array]:
        """What a product is found by, in the order of the places."""
        store = self.store
        leaves = pa.array(store.leaves, pa.string())
        for begin in range(0, len(self.rows), CHUNK):
            rows = pa.array(self.rows[begin : begin + CHUNK])
            kinds = leaves.take(pa.array(store.leaf_of[rows.to_numpy()]))
            titles, brands, colors = (each.take(rows) for each in (store.titles, store.brands, store.colors))
            yield join_product_texts(titles, brands, colors, kinds, store.facts.texts(rows.to_numpy()))

    def terms(self, text: str) -> Terms:
        """The known words of a query as (weight, number of the list), the rarest first."""
        found = {term for word in content_words(text) if (term := self.term(word))}
        return tuple(sorted(found, key=lambda term: (-term[0], term[1]))[:MOST_WORDS])

    def make_term(self, word: str) -> tuple[int, int] | None:
        number = self.lists.number(hash_word(word))
        if number < 0:
            return None
        return weight(int(self.lists.edges[number + 1] - self.lists.edges[number]), len(self.rows)), number

    def correct(self, text: str) -> str:
        """The text with each word that no product has as the word one edit away that most products have; other words stay.

        A query all of whose words are known stays as it is, and so does what it finds.
        """
        return CORRECTABLE.sub(lambda found: self.spelling(found[0].lower()) or found[0], text)

    def make_spelling(self, word: str) -> str:
        """What a word is corrected to; empty where products have it, or nothing near. People get the first letter right."""
        if word in STOP or self.term(strip_plural(word)):
            return ""
        edits = sorted({edit for edit in list_single_edits(word) if edit[:1] == word[0] and edit not in STOP})
        there = self.lists.has([hash_word(strip_plural(edit)) for edit in edits])
        known = [(term[0], edit) for edit in compress(edits, there) if (term := self.term(strip_plural(edit)))]
        return min(known)[1] if known else ""

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
        seller: str = "",
    ) -> np.ndarray:
        """Rows of products, the best first.

        With a category or brand all of its products within the limits are found, those that fit the query first; without, those
        with one of its words, or near it; without words the most popular ones. Prices in cents; "under 40" at the end of a query
        is a limit, too. An unknown category, brand or seller finds nothing.
        """
        text = replace_surrogates(text)
        capped = CAP.search(text)
        if capped:
            text, cap = text[: capped.start()], 100 * int(capped["cap"][:12])  # cents; more digits are no price
            most = cap if most is None else min(most, cap)
        if seller and seller.lower() not in self.number_of_seller:
            return np.zeros(0, np.int64)
        limits = Limits(least, most, rating, days, self.number_of_seller[seller.lower()] if seller else None)
        terms = self.terms(text)
        among = self.within(category.lower(), brand.lower(), limits) if category or brand else None
        if among is not None:
            best = among[best_of(self.scores(among, terms), limit)]
        elif terms:
            best = self.fitting(terms, limits, limit)
        elif content_words(text):
            best = np.zeros(0, np.int64)
        else:
            return self.rows[self.popular(limits, limit)]
        return self.rows[self.with_near(text, terms, best, among, limits, limit) if self.nearest else best]

    def with_near(
        self, text: str, terms: Terms, best: np.ndarray, among: np.ndarray | None, limits: Limits, limit: int
    ) -> np.ndarray:
        """The best by words and those nearest to the text, both ranked by both; `among`: none but these places may be."""
        assert self.nearest is not None
        vector = self.nearest.vector(text)
        if not vector.any():
            return best
        near = self.filter(self.near(vector, among), limits)
        # Limits that few of the nearest meet: look again among those alone that meet them.
        if len(near) < NEAR // 4 and len(best) < limit and among is None and limits.any:
            near = self.near(vector, self.filter(np.arange(len(self.rows)), limits))
        places = np.sort(np.concatenate([best, near]))
        places = places[np.flatnonzero(np.diff(places, prepend=-1))]
        most = max(1, sum(worth for worth, _ in terms))
        fit = self.scores(places, terms) / most + self.nearest.cosines(vector, places)
        order: np.ndarray = np.argsort(-fit, kind="stable")[:limit]
        return places[order]

    def near(self, vector: np.ndarray, among: np.ndarray | None) -> np.ndarray:
        """The places nearest to a vector, of all or among these; where these are few, all of them."""
        assert self.nearest is not None
        if among is None:
            return self.nearest.find(vector, NEAR)
        if len(among) <= FEW:
            return among
        has = np.zeros(len(self.rows), dtype=bool)
        has[among] = True
        return self.nearest.find(vector, NEAR, np.packbits(has, bitorder="little"))

    def within(self, category: str, brand: str, limits: Limits) -> np.ndarray:
        """All places of a category, a brand or both, within the limits."""
        leaf, maker = self.leaf_of_name.get(category), self.number_of_brand.get(brand)
        if (category and leaf is None) or (brand and maker is None):
            return np.zeros(0, np.int64)
        first, last = self.store.leaf_edges[leaf : leaf + 2].tolist() if leaf is not None else (0, len(self.rows))
        if maker is None:
            return self.filter(np.arange(first, last), limits)
        places = self.by_brand[self.brand_edges[maker] : self.brand_edges[maker + 1]]
        if leaf is not None:
            places = places[(places >= first) & (places < last)]
        return self.filter(places, limits)

    def filter(self, places: np.ndarray, limits: Limits) -> np.ndarray:
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
        if limits.seller is not None:
            good &= self.sellers[places] == limits.seller
        return places[good] if limits.any else places

    def scores(self, places: np.ndarray, terms: Terms) -> np.ndarray:
        """Of any places."""
        found = np.zeros(len(places), np.int32)
        if len(places) <= FEW:
            for worth, number in terms:
                have = self.lists.of(number)
                at = np.minimum(have.searchsorted(places), len(have) - 1)
                found += worth * (have[at] == places)
            return found
        # `packbits` puts the first place into the highest bit.
        byte, bit = places >> 3, np.right_shift(128, places & 7, dtype=np.uint8, casting="unsafe")
        for worth, number in terms:
            found += worth * ((self.has(number)[byte] & bit) > 0)
        return found

    def make_has(self, number: int) -> np.ndarray:
        """A bit for each place: whether it has the word."""
        has = np.zeros(len(self.rows), dtype=bool)
        has[self.lists.of(number)] = True
        return np.packbits(has)

    def make_fitting(self, terms: Terms, limits: Limits, limit: int) -> np.ndarray:
        """The places with the best scores above 0: the blocks that can hold them first, until no other block can."""
        lists = [self.lists.of(number) for _, number in terms]
        cuts = [have.searchsorted(self.blocks) for have in lists]
        most = np.zeros(len(self.blocks) - 1, np.int32)
        for (worth, _), cut in zip(terms, cuts, strict=True):
            most += worth * (cut[1:] > cut[:-1])
        most *= self.can_hold(limits)
        board = np.zeros(self.widest, np.int32)
        best, scores, bar = np.zeros(0, np.int64), np.zeros(0, np.int32), 0
        for block in np.argsort(-most, kind="stable").tolist():
            if most[block] <= bar:
                break
            begin = int(self.blocks[block])
            board.fill(0)
            for (worth, _), have, cut in zip(terms, lists, cuts, strict=True):
                board[have[cut[block] : cut[block + 1]] - begin] += worth
            found = np.flatnonzero(board > bar)
            if limits.any:
                found = self.filter(found + begin, limits) - begin
            if len(found):
                best, scores = np.concatenate([best, found + begin]), np.concatenate([scores, board[found]])
                if len(best) >= limit:
                    order = best_of(scores, limit)
                    best, scores = best[order], scores[order]
                    bar = int(scores[-1])
        found = best[best_of(scores, limit)].astype(np.int32)
        found.flags.writeable = False  # it is remembered
        return found

    def can_hold(self, limits: Limits) -> np.ndarray:
        """For each block whether its cheapest, dearest, best rated and first shipped are within the limits."""
        good = np.ones(len(self.cheapest), dtype=bool)
        for wanted, have, turn in (
            (limits.least, self.dearest, 1),
            (limits.most, self.cheapest, -1),
            (limits.rating, self.best_rating, 1),
            (limits.days, self.fewest_days, -1),
        ):
            if wanted is not None:
                good &= turn * have >= turn * wanted
        return good

    def popular(self, limits: Limits, limit: int) -> np.ndarray:
        """The most popular places within the limits."""
        found, count, begin, step = [], 0, 0, max(limit, BLOCK)
        while begin < len(self.famous) and count < limit:
            found.append(self.filter(self.famous[begin : begin + step], limits))
            count, begin, step = count + len(found[-1]), begin + step, 4 * step
        return np.concatenate([np.zeros(0, np.int64), *found])[:limit]

    def rank(self, text: str, rows: np.ndarray) -> np.ndarray:
        """The same rows, those that fit the text best first; among equals as they came."""
        text = replace_surrogates(text)
        places, terms = self.place_of[rows], self.terms(text)
        if self.nearest is None:
            return rows[best_of(self.scores(places, terms), len(rows))]
        share = self.scores(places, terms) / max(1, sum(worth for worth, _ in terms))
        return rows[best_of(share + self.nearest.cosines(self.nearest.vector(text), places), len(rows))]

    def __reduce__(self) -> tuple[Any, ...]:
        return self.origin


def search_with_vectors(store: Store, embedder: str) -> Search:
    """A search by words and vectors, all made now in memory."""
    found, model = Search(store), open_embedder(embedder)
    vectors = [np.float16(model.vectors(texts.to_pylist())) for texts in found.texts()]
    found.nearest = nearest_in(np.concatenate(vectors), model) if vectors else None
    found.origin = (search_with_vectors, (store, embedder))
    return found


def open_search(run: Path, store: Store) -> Search:
    """The search of a run's catalog: with the vectors of its `embeddings` where it has them, else by words alone.

    What takes long to make is kept in the run's folder `search`, by the content that it was made of, and mapped into memory.
    Raises Problem where the embeddings are of another catalog.
    """
    catalog, embeddings = Dataset(run, "catalog", Product), Dataset(run, "embeddings", Embedding)
    made, known = catalog.manifest, embeddings.manifest
    if made is None:
        raise Problem(f"{run} has no catalog. Build it: shopwright build catalog --run {run}")
    if known and known.recipe.inputs.get("catalog") != made.fingerprint:
        raise Problem(f"The embeddings in {run} are of another catalog. Build them again, with --rebuild.")
    folder = here(run) / "search" / digest(f"{FORMAT} {made.fingerprint} {known.fingerprint if known else ''}")
    if not is_index_intact(folder):
        write_search(folder, Search(store), embeddings if known else None)
    lists = WordLists(*(open_mapped_array(folder / f"{name}.npy") for name in ("hashes", "edges", "places")))
    nearest = Nearest.read(folder, open_embedder(known.recipe.settings["embedder"])) if known else None
    found = Search(store, lists, nearest)
    found.origin = (open_search, (run, store))
    return found


def write_search(folder: Path, search: Search, embeddings: Dataset[Embedding] | None) -> None:
    """Writes the folder in one step, so that an interrupted one is never half there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".") as name:
        beside = Path(name) / folder.name
        beside.mkdir()
        for column in ("hashes", "edges", "places"):
            np.save(beside / f"{column}.npy", getattr(search.lists, column))
        if embeddings:
            write_nearest(beside, embeddings, search.store.ids, search.place_of)
        sums = {path.name: sha256_of(path) for path in sorted(beside.iterdir())}
        (beside / SUMS).write_text(json.dumps(sums), encoding="utf-8")
        with suppress(OSError):  # another process was first
            beside.rename(folder)


def is_index_intact(folder: Path) -> bool:
    """Whether an index is there as it was written; a damaged one is removed, and a line on stderr says so."""
    if not folder.exists():
        return False
    try:
        sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        wrong = [name for name, known in sums.items() if sha256_of(folder / name) != known]
    except (OSError, ValueError, AttributeError):
        wrong = [SUMS]
    if wrong:
        print(f"{folder}: {', '.join(wrong)} was damaged. The index is made again.", file=sys.stderr, flush=True)
        # renamed first: nobody may open a folder that is being removed
        aside = folder.with_name(f".{folder.name}.{uuid4().hex[:8]}")
        with suppress(OSError):  # another process was first
            folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    return not wrong


def blocks_of(edges: np.ndarray) -> np.ndarray:
    """Where blocks of at most BLOCK places begin, and the end: a large leaf is cut up, small ones are put together.

    >>> blocks_of(np.array([0, 9_000, 9_100, 9_200])).tolist()
    [0, 4096, 8192, 9200]
    """
    found = [0]
    for first, last in pairwise(edges.tolist()):
        if last - found[-1] > BLOCK and first > found[-1]:
            found.append(first)
        found.extend(range(found[-1] + BLOCK, last, BLOCK))
    return np.array([*found, int(edges[-1])] if edges[-1] > found[-1] else found)


def best_of(scores: np.ndarray, limit: int) -> np.ndarray:
    """Where the best scores stand, in their order; among equals the first.

    >>> best_of(np.array([1, 5, 5, 0, 9]), 3).tolist()
    [4, 1, 2]
    """
    if len(scores) <= limit:
        return np.argsort(-scores, kind="stable")
    bar = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    over = np.flatnonzero(scores > bar)
    chosen = np.concatenate([over, np.flatnonzero(scores == bar)[: limit - len(over)]])
    return chosen[np.argsort(-scores[chosen], kind="stable")]
