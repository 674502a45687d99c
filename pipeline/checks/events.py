"""What must be true of a trajectory, found out from its row alone (and from the catalog and personas it names).

Each check looks at a batch: rows of trajectories, whose events are flattened once and judged as columns.
"""

from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.arrow import cents
from pipeline.budgets import tokens_of
from pipeline.checks.people import People
from pipeline.checks.told import Told, read
from pipeline.dataset import Dataset
from pipeline.shop.calendar import DAY, MONTH, MONTH_TOKENS
from pipeline.shop.stock import Stock
from pipeline.shop.visits import ACTIONS, BLOCK, CART, CLICK, PURCHASE, QUOTA, SEARCH
from pipeline.tokens import ESTIMATE, tokenizer
from pipeline.words import (
    PRICE_CAP,
    WordTable,
    hashed_content_words,
    hashed_words,
    in_common,
    joined,
)
from schemas.shop import Persona, Product

Reasons = list[str | None]
PRODUCT_TEXTS = ("product_name", "brand", "color", "product_types")
CONTENT, WORDS = WordTable(hashed_content_words), WordTable(hashed_words)
FULL = 0.9
"""A trajectory uses at least this share of its budget."""
EXPLORED = 0.66
"""So many of the things searched for are searched for more than once before a product is looked at."""
SEARCHES = (2.0, 4.0)
"""Searches for one thing in a row, on average: about two exploratory ones and the accurate one."""
CHANCE = 2.0
"""Of n things these figures may miss by so much divided by the root of n."""


class Events:
    """The events of all rows of a batch, one after the other."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        lists = batch["events"]
        self.table = pa.RecordBatch.from_struct_array(lists.flatten())
        self.lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
        self.begins = np.concatenate([[0], np.cumsum(self.lengths)])
        self.row = np.repeat(np.arange(batch.num_rows), self.lengths)
        self.place = np.arange(len(self.row)) - self.begins[self.row]
        self._rows: tuple[Stock, pa.Array] | None = None
        self._dated: tuple[Stock, dict[int, Any]] | None = None

    @cached_property
    def kind(self) -> np.ndarray:
        found = pc.index_in(self.table["action_type"], value_set=pa.array(ACTIONS))
        return found.fill_null(-1).to_numpy()

    @cached_property
    def seconds(self) -> np.ndarray:
        return pc.cast(self.table["timestamp"], pa.int64()).to_numpy() // 1_000_000

    @cached_property
    def asins(self) -> pa.DictionaryArray:
        return self.table["asin"].dictionary_encode()

    @cached_property
    def asin(self) -> np.ndarray:
        """A number for each product of the batch; -1 for a search."""
        return self.asins.indices.fill_null(-1).to_numpy().astype(np.int64)

    @cached_property
    def cents(self) -> np.ndarray:
        return cents(self.table["price"])

    def rows_of(self, stock: Stock) -> pa.Array:
        """The row of the stock of each event's product; null for a search, or where the stock has none such."""
        if self._rows is None or self._rows[0] is not stock:
            self._rows = stock, stock.index_of(self.asins.dictionary).take(self.asins.indices)
        return self._rows[1]

    def dated(self, stock: Stock) -> dict[int, tuple[int, int, int, Any]]:
        """By place: the stock's promotion that holds for the event's product on its day."""
        if self._dated is None or self._dated[0] is not stock:
            rows = self.rows_of(stock)
            index = rows.fill_null(0).to_numpy()
            known = pc.is_valid(rows).to_numpy(zero_copy_only=False)
            places = np.flatnonzero(known & stock.promoted[index])
            self._dated = stock, stock.on_promotion(places, index[places], self.seconds[places] // DAY)
        return self._dated[1]

    @cached_property
    def told(self) -> Told:
        """What the rows' texts say, line by line."""
        return read(self.batch["text"])

    @cached_property
    def searches(self) -> np.ndarray:
        """The places of the searches."""
        return np.flatnonzero(self.kind == SEARCH)

    @cached_property
    def queries(self) -> pa.Array:
        return self.table["search_query"].take(pa.array(self.searches)).fill_null("")

    @cached_property
    def search_words(self) -> np.ndarray:
        """The content words of each search, see `WordTable.columns`."""
        return CONTENT.columns(self.queries.to_pylist())

    @cached_property
    def product_words(self) -> np.ndarray:
        """The words of each product of the batch, from its first event."""
        shown = np.flatnonzero(self.asin >= 0)[::-1]
        first = np.zeros(len(self.asins.dictionary), dtype=np.int64)
        first[self.asin[shown]] = shown
        columns = (self.table[name].take(pa.array(first)) for name in PRODUCT_TEXTS)
        return WORDS.columns(joined(*columns).to_pylist())

    def reasons(self, reason: str, wrong: np.ndarray) -> Reasons:
        """`reason` for each row with an event that is `wrong`."""
        rows = np.zeros(self.batch.num_rows, dtype=bool)
        rows[self.row[wrong]] = True
        return [reason if found else None for found in rows.tolist()]


_last: list[Events] = []


def events(batch: pa.RecordBatch) -> Events:
    """The batch's events; the checks of one batch share them."""
    if not _last or _last[0].batch is not batch:
        _last[:] = [Events(batch)]
    return _last[0]


def time_goes_on(batch: pa.RecordBatch) -> Reasons:
    """Strictly later with each event, from `start` to `end`, within the months that the budget stands for."""
    found = events(batch)
    later = np.concatenate([[True], np.diff(found.seconds) > 0])
    reasons = found.reasons("time does not strictly increase", ~later & (found.place > 0))
    facts = zip(batch["budget"].to_pylist(), batch["start"].to_pylist(), batch["end"].to_pylist(), strict=True)
    for row, (budget, start, end) in enumerate(facts):
        if not found.lengths[row]:
            reasons[row] = "no events"
            continue
        first, last = (found.table["timestamp"][int(found.begins[row + one]) - one].as_py() for one in (0, 1))
        if (first, last) != (start, end):
            reasons[row] = "start and end are not those of its events"
        months = -(-size_of(budget) // MONTH_TOKENS)
        if end - start > timedelta(MONTH * months):
            reasons[row] = "longer than its period"
    return reasons


def hours_are_the_personas(batch: pa.RecordBatch, personas: Dataset[Persona]) -> Reasons:
    known, found = personas.once(People), events(batch)
    place = known.find(batch["persona_id"])
    allowed = known.hours[place][found.row] >> (found.seconds // 3600 % 24) & 1
    reasons = found.reasons("in the shop at an hour that is not its persona's", allowed == 0)
    for row in np.flatnonzero(place < 0).tolist():
        reasons[row] = "no such persona"
    return reasons


def purchases_fit_the_budget(batch: pa.RecordBatch, personas: Dataset[Persona]) -> Reasons:
    known, found = personas.once(People), events(batch)
    dear = found.cents > known.budgets[known.find(batch["persona_id"])][found.row]
    return found.reasons("bought for more than its persona pays", (found.kind == PURCHASE) & dear)


def funnel_is_in_order(batch: pa.RecordBatch) -> Reasons:
    """A cart comes after a click on the same product, and each purchase after a cart of its own."""
    found = events(batch)
    at = np.flatnonzero(found.asin >= 0)
    at = at[np.lexsort((at, found.asin[at], found.row[at]))]
    starts = np.flatnonzero(np.diff(found.row[at], prepend=-1) | np.diff(found.asin[at], prepend=-1))
    group = np.searchsorted(starts, np.arange(len(at)), side="right") - 1

    def so_far(kind: int) -> np.ndarray:
        total = np.cumsum(found.kind[at] == kind)
        return total - np.concatenate([[0], total])[starts[group]]

    clicks, carts, purchases = so_far(CLICK), so_far(CART), so_far(PURCHASE)
    wrong = ((found.kind[at] == CART) & (clicks == 0)) | ((found.kind[at] == PURCHASE) & (purchases > carts))
    bad = np.zeros(len(found.row), dtype=bool)
    bad[at[wrong]] = True
    bad |= (found.kind < 0) | ((found.kind == SEARCH) != (found.asin < 0))
    return found.reasons("cart without click, or purchase without its cart", bad)


def blocks_hold_the_quota(batch: pa.RecordBatch) -> Reasons:
    """Every 100 actions hold 55 searches, 35 clicks, 7 carts and 3 purchases; the last, shorter block no more."""
    found = events(batch)
    blocks = found.place // BLOCK
    first = np.concatenate([[0], np.cumsum(-(-found.lengths // BLOCK))])
    cell = (first[found.row] + blocks) * 4 + np.maximum(found.kind, 0)
    counts = np.bincount(cell, minlength=int(first[-1]) * 4).reshape(-1, 4)
    over = np.any(counts > np.array(QUOTA), axis=1)  # 100 actions that exceed no quota meet them all
    return found.reasons("a block of 100 actions without its 55 / 35 / 7 / 3", over[first[found.row] + blocks])


def searches_explore_first(batch: pa.RecordBatch) -> Reasons:
    """Searches one after the other that share a content word are for one thing; most things take about three."""
    found = events(batch)
    row = found.row[found.searches]
    words = found.search_words
    same = np.concatenate([[False], in_common(words[:, 1:], words[:, :-1]) > 0])[: len(row)]
    same &= np.diff(found.searches, prepend=-9) == 1
    sizes = np.bincount(np.cumsum(~same) - 1, minlength=1)
    things = np.bincount(row[~same], minlength=batch.num_rows)
    more = np.bincount(row[~same], weights=sizes[: len(row[~same])] > 1, minlength=batch.num_rows)
    mean = np.bincount(row, minlength=batch.num_rows) / np.maximum(things, 1)
    chance = CHANCE / np.sqrt(np.maximum(things, 1))
    few, many = mean < SEARCHES[0] - chance, mean > SEARCHES[1] + 2 * chance
    wrong = (things > 0) & (few | many | (more < (EXPLORED - chance / 2) * things))
    return ["accurate searches without exploratory ones" if each else None for each in wrong.tolist()]


def facts_are_the_catalogs(batch: pa.RecordBatch, catalog: Dataset[Product]) -> Reasons:
    """Title, brand, color, category and price are those of the catalog, or of a promotion dated there."""
    stock, found = catalog.once(Stock), events(batch)
    rows = found.rows_of(stock)
    wrong = (found.asin >= 0) & pc.is_null(rows).to_numpy(zero_copy_only=False)
    pairs = zip(PRODUCT_TEXTS, (stock.titles, stock.brands, stock.colors, stock.categories), strict=True)
    for name, column in pairs:
        wrong |= differs(found.table[name], column.take(rows))
    index = rows.fill_null(0).to_numpy()
    price = np.where(found.asin >= 0, stock.cents[index], 0)
    for place, promotion in found.dated(stock).items():
        price[place] = promotion[2]
    other = ~wrong & (found.cents != price)
    return found.reasons("facts differ from the catalog's", wrong | other)


def differs(one: pa.Array, other: pa.Array) -> np.ndarray:
    found = pc.not_equal(one, other)
    if one.null_count or other.null_count:
        found = pc.or_(found.fill_null(False), pc.xor(pc.is_null(one), pc.is_null(other)))
    return found.to_numpy(zero_copy_only=False)


def clicks_fit_their_query(batch: pa.RecordBatch, catalog: Dataset[Product]) -> Reasons:
    """At least half of the content words of the last search are the product's, and it costs what "under" allows.

    Or people really typed that query for this product (the catalog says so).
    """
    found, stock = events(batch), catalog.once(Stock)
    clicks = np.flatnonzero(found.kind == CLICK)
    before = np.searchsorted(found.searches, clicks) - 1
    if not len(found.searches):
        return found.reasons("a click that does not fit its query", np.isin(np.arange(len(found.row)), clicks))
    orphan = (before < 0) | (found.row[found.searches[before]] != found.row[clicks])
    wanted, have = found.search_words[:, before], found.product_words[:, found.asin[clicks]]
    missing = 2 * in_common(wanted, have) < (wanted != 0).sum(axis=0)
    wrong = orphan | missing | too_dear(found.queries, before, found.cents[clicks])
    for place in np.flatnonzero(wrong & ~orphan).tolist():
        known = stock.index_of(found.table["asin"].slice(int(clicks[place]), 1))[0].as_py()
        wrong[place] = found.queries[int(before[place])].as_py() not in stock.queries.get(known, [])
    bad = np.zeros(len(found.row), dtype=bool)
    bad[clicks[wrong]] = True
    return found.reasons("a click that does not fit its query", bad)


def too_dear(queries: pa.Array, of_click: np.ndarray, cents: np.ndarray) -> np.ndarray:
    """Whether a click costs more than its search says."""
    capped = pc.indices_nonzero(pc.match_substring(queries, "under "))
    found = pc.extract_regex(queries.take(capped), PRICE_CAP)
    said = pc.is_valid(found)
    caps = pc.cast(pc.utf8_slice_codeunits(found.filter(said).field("cap"), 0, 9), pa.int64())
    most = np.full(len(queries), np.iinfo(np.int64).max)
    most[capped.filter(said).to_numpy()] = caps.to_numpy() * 100
    return cents > most[of_click]


def prices_hold_for_a_day(batch: pa.RecordBatch) -> Reasons:
    """One price for a product on a day, whoever looks at it."""
    found = events(batch)
    at = np.flatnonzero(found.asin >= 0)
    key = found.asin[at] * 100_000 + found.seconds[at] // DAY
    order = np.argsort(key, kind="stable")
    key, price = key[order], found.cents[at][order]
    differ = np.flatnonzero((np.diff(key) == 0) & (np.diff(price) != 0)) + 1
    bad = np.zeros(len(found.row), dtype=bool)
    bad[at[order][differ]] = True
    return found.reasons("two prices of one product on one day", bad)


def text_tells_the_events(batch: pa.RecordBatch) -> Reasons:
    """The text, parsed, gives exactly the table: every field of every event."""
    found, told = events(batch), events(batch).told
    reasons = found.reasons("rows are not numbered from 0", found.table["row_id"].to_numpy() != found.place)
    other = told.lengths != found.lengths
    parts = pc.cast(found.table["timestamp"], pa.int64()).to_numpy() % 1_000_000 != 0
    other[found.row[parts]] = True
    line, place = (np.flatnonzero((told.lengths == found.lengths)[row]) for row in (told.row, found.row))
    whole = len(line) == len(told.row) and len(place) == len(found.row)
    when = pc.cast(pc.cast(found.table["timestamp"], pa.timestamp("s"), safe=False), pa.string())
    columns = [(told.when, when.cast(pa.binary()))]
    columns += [(said, pc.cast(found.table[name], pa.string())) for name, said in told.what.items()]
    for said, meant in columns:
        wrong = differs(said, meant) if whole else differs(said.take(line), meant.take(place))
        other[found.row[place[wrong]]] = True
    for row in np.flatnonzero(other).tolist():
        reasons[row] = "text and table differ"
    for row in np.flatnonzero(~told.whole).tolist():
        reasons[row] = "text has a line that is no action"
    return reasons


def tokens_fill_the_budget(batch: pa.RecordBatch) -> Reasons:
    """`tokens` is the count of `text`, at most the budget and at least 90 % of it."""
    found = events(batch)
    names = ("tokens", "budget", "tokenizer")
    told = zip(found.told.whole.tolist(), found.told.tokens.tolist(), strict=True)
    facts = zip(*(batch[name].to_pylist() for name in names), told, strict=True)
    reasons: Reasons = []
    for row, (said, budget, name, (whole, tokens)) in enumerate(facts):
        counted = tokens if whole and name == ESTIMATE else tokenizer(name)([batch["text"][row].as_py()])[0]
        if said != counted:
            reasons.append("tokens are not the count of its text")
        else:
            fits = FULL * size_of(budget) <= said <= size_of(budget)
            reasons.append(None if fits else "tokens outside 90 to 100 % of the budget")
    return reasons


def size_of(budget: str) -> int:
    """The tokens of a budget; 0, which nothing fits, for what is none."""
    try:
        return tokens_of(budget)
    except ValueError:
        return 0


def promotions_are_those_met(batch: pa.RecordBatch, catalog: Dataset[Product]) -> Reasons:
    """`promotions` holds each dated price of the catalog that an event of the row met, and nothing else."""
    stock, found = catalog.once(Stock), events(batch)
    expected: list[set[tuple[object, ...]]] = [set() for _ in range(batch.num_rows)]
    products = found.rows_of(stock)
    for place, (_, _, _, one) in found.dated(stock).items():
        product = products[place].as_py()
        facts = (stock.ids[product].as_py(), one["first_day"], one["last_day"], one["price"])
        expected[found.row[place]].add((*facts, Decimal(int(stock.cents[product])) / 100))
    names = ("asin", "first_day", "last_day", "price", "list_price")
    told = [[tuple(one[name] for name in names) for one in row or []] for row in batch["promotions"].to_pylist()]
    same = (len(set(row)) == len(row) and set(row) == wanted for row, wanted in zip(told, expected, strict=True))
    return [None if each else "promotions are not those that were met" for each in same]


def shorter_is_a_prefix(batch: pa.RecordBatch) -> Reasons:
    """A persona's smaller budget is the beginning of its larger one."""
    texts, people = batch["text"].to_pylist(), batch["persona_id"].to_pylist()
    longest: dict[str, str] = {}
    for persona, text in zip(people, texts, strict=True):
        longest[persona] = max(longest.get(persona, ""), text, key=len)
    same = (f"{longest[persona]}\n".startswith(f"{text}\n") for persona, text in zip(people, texts, strict=True))
    return [None if found else "not a prefix of the same persona's longer trajectory" for found in same]
