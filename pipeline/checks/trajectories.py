"""What must be true of a trajectory, found out from its row alone (and from the catalog and personas it names).

Each check looks at a batch: rows of trajectories, whose events are flattened once and judged as columns.
"""

from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.budget_names import parse_budget
from shopwright.pipeline.checks.people import PersonaColumns
from shopwright.pipeline.checks.text_lines import TextLines, parse_texts
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.render.pages import PAGE
from shopwright.pipeline.tokens import ESTIMATE, tokenizer
from shopwright.pipeline.words import WordTable, hashed_content_words, in_common
from shopwright.pipeline.world.actions import ACTIONS, BLOCK, CART, CLICK, PURCHASE, QUOTA, SEARCH
from shopwright.pipeline.world.calendar import DAY, MONTH, MONTH_TOKENS
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.pipeline.world.pages import QUERY_LETTERS, TURNS, open_word_search
from shopwright.schemas.shop import Persona, Product

Reasons = list[str | None]
PRODUCT_TEXTS = ("product_name", "brand", "color", "product_types")
CONTENT = WordTable(hashed_content_words)
# A trajectory uses at least this share of its budget.
FULL = 0.9
# So many of the things searched for are searched for more than once before a product is looked at.
EXPLORED = 0.66
# A search is held against so many before it, of so many seconds at most.
LOOK_BACK, SESSION = 5, 1_800
# Searches for one thing, on average: about two exploratory ones and the accurate one.
SEARCHES = (2.0, 4.0)
# Of n things these figures may miss by so much divided by the root of n.
CHANCE = 2.0


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
        self._rows: tuple[CatalogColumns, pa.Array] | None = None
        self._promotions: tuple[CatalogColumns, dict[int, Any]] | None = None

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
        return decimal_to_cents(self.table["price"])

    def rows_of(self, stock: CatalogColumns) -> pa.Array:
        """The row of the stock of each event's product; null for a search, or where the stock has none such."""
        if self._rows is None or self._rows[0] is not stock:
            self._rows = stock, stock.index_of(self.asins.dictionary).take(self.asins.indices)
        return self._rows[1]

    def find_promotions(self, stock: CatalogColumns) -> dict[int, tuple[int, int, int, Any]]:
        """By place: the stock's promotion that holds for the event's product on its day."""
        if self._promotions is None or self._promotions[0] is not stock:
            rows = self.rows_of(stock)
            index = rows.fill_null(0).to_numpy()
            known = pc.is_valid(rows).to_numpy(zero_copy_only=False)
            places = np.flatnonzero(known & stock.promoted[index])
            self._promotions = stock, stock.on_promotion(places, index[places], self.seconds[places] // DAY)
        return self._promotions[1]

    @cached_property
    def text_lines(self) -> TextLines:
        """What the rows' texts say, line by line."""
        return parse_texts(self.batch["text"])

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

    def reasons(self, reason: str, wrong: np.ndarray) -> Reasons:
        """`reason` for each row with an event that is `wrong`."""
        rows = np.zeros(self.batch.num_rows, dtype=bool)
        rows[self.row[wrong]] = True
        return [reason if found else None for found in rows.tolist()]


_last: list[Events] = []


def read_batch_events(batch: pa.RecordBatch) -> Events:
    """The batch's events; the checks of one batch share them."""
    if not _last or _last[0].batch is not batch:
        _last[:] = [Events(batch)]
    return _last[0]


def time_goes_on(batch: pa.RecordBatch) -> Reasons:
    """Strictly later with each event, from `start` to `end`, within the months that the budget stands for."""
    found = read_batch_events(batch)
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
        months = -(-parse_budget_size(budget) // MONTH_TOKENS)  # rounded up
        if end - start > timedelta(MONTH * months):
            reasons[row] = "longer than its period"
    return reasons


def hours_are_the_personas(batch: pa.RecordBatch, personas: Dataset[Persona]) -> Reasons:
    known, found = personas.once(PersonaColumns), read_batch_events(batch)
    place = known.find(batch["persona_id"])
    allowed = known.hours[place][found.row] >> (found.seconds // 3600 % 24) & 1
    reasons = found.reasons("in the shop at an hour that is not its persona's", allowed == 0)
    for row in np.flatnonzero(place < 0).tolist():
        reasons[row] = "no such persona"
    return reasons


def purchases_fit_the_budget(batch: pa.RecordBatch, personas: Dataset[Persona]) -> Reasons:
    known, found = personas.once(PersonaColumns), read_batch_events(batch)
    dear = found.cents > known.budgets[known.find(batch["persona_id"])][found.row]
    return found.reasons("bought for more than its persona pays", (found.kind == PURCHASE) & dear)


def funnel_is_in_order(batch: pa.RecordBatch) -> Reasons:
    """A cart comes after a click on the same product, and each purchase after a cart of its own."""
    found = read_batch_events(batch)
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
    found = read_batch_events(batch)
    blocks = found.place // BLOCK
    first = np.concatenate([[0], np.cumsum(-(-found.lengths // BLOCK))])
    cell = (first[found.row] + blocks) * 4 + np.maximum(found.kind, 0)
    counts = np.bincount(cell, minlength=int(first[-1]) * 4).reshape(-1, 4)
    over = np.any(counts > np.array(QUOTA), axis=1)  # 100 actions that exceed no quota meet them all
    steered = pc.equal(batch["mix"], "paper").to_numpy(zero_copy_only=False)
    wrong = over[first[found.row] + blocks] & steered[found.row]
    return found.reasons("a block of 100 actions without its 55 / 35 / 7 / 3", wrong)


def searches_explore_first(batch: pa.RecordBatch) -> Reasons:
    """Most things are searched for more than once, about three times; nobody types on and on without looking.

    Searches of one session that share a content word with one of the five before are for one thing. Different words for one thing,
    typing errors and small words alone make some of them look like two.
    """
    found = read_batch_events(batch)
    row, seconds, words = found.row[found.searches], found.seconds[found.searches], found.search_words
    same = np.zeros(len(row), dtype=bool)
    for back in range(1, min(LOOK_BACK, len(row) - 1) + 1):
        near = (row[back:] == row[:-back]) & (seconds[back:] - seconds[:-back] < SESSION)
        same[back:] |= near & (in_common(words[:, back:], words[:, :-back]) > 0)
    things, mean, more = measure_runs(row, same, batch.num_rows)
    at_once = np.concatenate([[False], in_common(words[:, 1:], words[:, :-1]) > 0])[: len(row)]
    at_once &= np.diff(found.searches, prepend=-9) == 1
    _, typed_on, _ = measure_runs(row, at_once, batch.num_rows)
    chance = CHANCE / np.sqrt(np.maximum(things, 1))
    few, many = mean < SEARCHES[0] - chance, typed_on > SEARCHES[1] + 2 * chance
    wrong = (things > 0) & (few | many | (more < (EXPLORED - chance / 2)))
    return ["accurate searches without exploratory ones" if each else None for each in wrong.tolist()]


def measure_runs(row: np.ndarray, same: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each row how many runs it has, how long they are, and the share of those with more than one search."""
    begins = row[~same]
    runs = np.bincount(begins, minlength=rows)
    sizes = np.bincount(np.cumsum(~same) - 1, minlength=1)[: len(begins)]
    more = np.bincount(begins, weights=sizes > 1, minlength=rows)
    least = np.maximum(runs, 1)
    return runs, np.bincount(row, minlength=rows) / least, more / least


def facts_are_the_catalogs(batch: pa.RecordBatch, catalog: Dataset[Product]) -> Reasons:
    """Title, brand, color, category and price are those of the catalog, or of a promotion dated there."""
    stock, found = catalog.once(CatalogColumns), read_batch_events(batch)
    rows = found.rows_of(stock)
    wrong = (found.asin >= 0) & pc.is_null(rows).to_numpy(zero_copy_only=False)
    pairs = zip(PRODUCT_TEXTS, (stock.titles, stock.brands, stock.colors, stock.categories), strict=True)
    for name, column in pairs:
        wrong |= values_differ(found.table[name], column.take(rows))
    index = rows.fill_null(0).to_numpy()
    price = np.where(found.asin >= 0, stock.cents[index], 0)
    for place, promotion in found.find_promotions(stock).items():
        price[place] = promotion[2]
    other = ~wrong & (found.cents != price)
    return found.reasons("facts differ from the catalog's", wrong | other)


def values_differ(one: pa.Array, other: pa.Array) -> np.ndarray:
    found = pc.not_equal(one, other)
    if one.null_count or other.null_count:
        found = pc.or_(found.fill_null(False), pc.xor(pc.is_null(one), pc.is_null(other)))
    return found.to_numpy(zero_copy_only=False)


def clicks_were_on_their_page(batch: pa.RecordBatch, catalog: Dataset[Product]) -> Reasons:
    """What is clicked stood on the first two pages that its search gave: the shop's engine is asked again."""
    found, stock = read_batch_events(batch), catalog.once(CatalogColumns)
    engine = catalog.once(open_word_search)
    clicks = np.flatnonzero(found.kind == CLICK)
    before = np.searchsorted(found.searches, clicks) - 1
    bad = np.zeros(len(found.row), dtype=bool)
    orphan = np.ones(len(clicks), dtype=bool)
    if len(found.searches):
        orphan = (before < 0) | (found.row[found.searches[before]] != found.row[clicks])
    bad[clicks[orphan]] = True
    clicks, before = clicks[~orphan], before[~orphan]
    texts = found.queries.take(pa.array(before)).dictionary_encode()
    number, products = texts.indices.to_numpy(), found.rows_of(stock).take(pa.array(clicks)).fill_null(-1).to_numpy()
    # Clicks after one text stand together, so that each text is asked once.
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(len(texts.dictionary) + 1))
    for one, text in enumerate(texts.dictionary.to_pylist()):
        places = order[edges[one] : edges[one + 1]]
        page = engine.find(text.strip()[:QUERY_LETTERS], limit=TURNS * PAGE)
        bad[clicks[places]] = ~np.isin(products[places], page)
    return found.reasons("a click on what its search did not show", bad)


def prices_hold_for_a_day(batch: pa.RecordBatch) -> Reasons:
    """One price for a product on a day, whoever looks at it."""
    found = read_batch_events(batch)
    at = np.flatnonzero(found.asin >= 0)
    key = found.asin[at] * 100_000 + found.seconds[at] // DAY  # days since 1970 have five digits until 2243
    order = np.argsort(key, kind="stable")
    key, price = key[order], found.cents[at][order]
    differ = np.flatnonzero((np.diff(key) == 0) & (np.diff(price) != 0)) + 1
    bad = np.zeros(len(found.row), dtype=bool)
    bad[at[order][differ]] = True
    return found.reasons("two prices of one product on one day", bad)


def text_tells_the_events(batch: pa.RecordBatch) -> Reasons:
    """The text, parsed, gives exactly the table: every field of every event."""
    found, lines = read_batch_events(batch), read_batch_events(batch).text_lines
    reasons = found.reasons("rows are not numbered from 0", found.table["row_id"].to_numpy() != found.place)
    other = lines.lengths != found.lengths
    # The text has whole seconds: a part of a second in the table would be lost in it.
    parts = pc.cast(found.table["timestamp"], pa.int64()).to_numpy() % 1_000_000 != 0
    other[found.row[parts]] = True
    line, place = (np.flatnonzero((lines.lengths == found.lengths)[row]) for row in (lines.row, found.row))
    whole = len(line) == len(lines.row) and len(place) == len(found.row)
    when = pc.cast(pc.cast(found.table["timestamp"], pa.timestamp("s"), safe=False), pa.string())
    columns = [(lines.when, when.cast(pa.binary()))]
    columns += [(said, pc.cast(found.table[name], pa.string())) for name, said in lines.what.items()]
    for said, meant in columns:
        wrong = values_differ(said, meant) if whole else values_differ(said.take(line), meant.take(place))
        other[found.row[place[wrong]]] = True
    for row in np.flatnonzero(other).tolist():
        reasons[row] = "text and table differ"
    for row in np.flatnonzero(~lines.whole).tolist():
        reasons[row] = "text has a line that is no action"
    return reasons


def tokens_fill_the_budget(batch: pa.RecordBatch) -> Reasons:
    """`tokens` is the count of `text`, at most the budget and at least 90 % of it."""
    found = read_batch_events(batch)
    names = ("tokens", "budget", "tokenizer")
    read = zip(found.text_lines.whole.tolist(), found.text_lines.tokens.tolist(), strict=True)
    facts = zip(*(batch[name].to_pylist() for name in names), read, strict=True)
    reasons: Reasons = []
    for row, (said, budget, name, (whole, tokens)) in enumerate(facts):
        counted = tokens if whole and name == ESTIMATE else tokenizer(name)([batch["text"][row].as_py()])[0]
        if said != counted:
            reasons.append("tokens are not the count of its text")
        else:
            fits = FULL * parse_budget_size(budget) <= said <= parse_budget_size(budget)
            reasons.append(None if fits else "tokens outside 90 to 100 % of the budget")
    return reasons


def parse_budget_size(budget: str) -> int:
    """The tokens of a budget; 0, which nothing fits, for a malformed one."""
    try:
        return parse_budget(budget)
    except ValueError:
        return 0


def promotions_are_those_met(batch: pa.RecordBatch, catalog: Dataset[Product]) -> Reasons:
    """`promotions` holds each dated price of the catalog that an event of the row met, and nothing else."""
    stock, found = catalog.once(CatalogColumns), read_batch_events(batch)
    expected: list[set[tuple[object, ...]]] = [set() for _ in range(batch.num_rows)]
    products = found.rows_of(stock)
    for place, (_, _, _, one) in found.find_promotions(stock).items():
        product = products[place].as_py()
        facts = (stock.ids[product].as_py(), one["first_day"], one["last_day"], one["price"])
        expected[found.row[place]].add((*facts, Decimal(int(stock.cents[product])) / 100))
    pick = itemgetter("asin", "first_day", "last_day", "price", "list_price")
    reasons: Reasons = []
    for row, wanted in zip(batch["promotions"].to_pylist(), expected, strict=True):
        names = list(map(pick, row or []))
        is_same = len(set(names)) == len(names) and set(names) == wanted
        reasons.append(None if is_same else "promotions are not those that were met")
    return reasons


def shorter_is_a_prefix(batch: pa.RecordBatch) -> Reasons:
    """A persona's smaller budget is the beginning of its larger one."""
    texts, people = batch["text"].to_pylist(), batch["persona_id"].to_pylist()
    longest: dict[str, str] = {}
    for persona, text in zip(people, texts, strict=True):
        longest[persona] = max(longest.get(persona, ""), text, key=len)
    # with the break behind it, so that a prefix ends with a whole line
    same = (f"{longest[persona]}\n".startswith(f"{text}\n") for persona, text in zip(people, texts, strict=True))
    return [None if found else "not a prefix of the same persona's longer trajectory" for found in same]
