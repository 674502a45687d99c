"""What must be true of a trajectory, found out from its row alone (and from the catalog and personas it names).

Each check looks at a batch: rows of trajectories, whose events are flattened once and judged as columns.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.arrow import cents
from pipeline.budgets import tokens_of
from pipeline.dataset import Dataset, row_groups
from pipeline.render.trajectory import Told, told
from pipeline.shop.calendar import DAY, MONTH, MONTH_TOKENS
from pipeline.shop.stock import Stock
from pipeline.shop.visits import ACTIONS, BLOCK, CART, CLICK, PURCHASE, QUOTA, SEARCH
from pipeline.stage import Fault
from pipeline.tokens import ESTIMATE, estimate, estimates, tokenizer
from pipeline.words import (
    MIX,
    PRICE_CAP,
    REMEMBERED,
    WordTable,
    hashed_content_words,
    hashed_texts,
    hashed_words,
    in_common,
    joined,
)
from schemas.samples import Trajectory
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
ALIKE = 0.5
"""Two trajectories that share more than this of what they searched and clicked are near-duplicates."""
SKETCH = 16
IN_COMMON = 3
ASINS = "events.list.element.asin"


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
    def told(self) -> list["ToldText | None"]:
        """What each row's text says."""
        return [tell(text) for text in self.batch["text"].to_pylist()]

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


@dataclass(frozen=True)
class ToldText:
    """A text, read."""

    when: list[str]
    """The first 19 characters of each line, whatever they are."""
    what: list[Told]
    tokens: int


STAMP_TOKENS = estimate("\n2024-05-01 19:30:25")
_lines: dict[str, tuple[Told, int]] = {}


def tell(text: str) -> ToldText | None:
    """What a text tells, or None where a line is no action; what was read once is remembered."""
    if len(_lines) > REMEMBERED:
        _lines.clear()
    lines = text.split("\n")
    rests = [line[19:] for line in lines]
    known = list(map(_lines.get, rests))
    if None in known:
        try:
            remember([rest for rest, one in zip(rests, known, strict=True) if one is None])
        except ValueError:
            return None
        known = list(map(_lines.get, rests))
    found = cast("list[tuple[Told, int]]", known)
    return ToldText([line[:19] for line in lines], [one[0] for one in found], sum([one[1] for one in found]) - 1)


def remember(rests: list[str]) -> None:
    """What each line tells after its time, and how many tokens it has with the break before it."""
    if any(not rest.startswith(" ") for rest in rests):
        raise ValueError("no space after the time")
    sizes = (estimates(pa.array(rests, pa.string())) + STAMP_TOKENS).tolist()
    _lines.update((rest, (told(rest[1:]), size)) for rest, size in zip(rests, sizes, strict=True))


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
    known = personas.once(hours_by_id)
    found = events(batch)
    allowed = np.zeros((batch.num_rows, 24), dtype=bool)
    missing = []
    for row, persona in enumerate(batch["persona_id"].to_pylist()):
        if persona in known:
            allowed[row, known[persona]] = True
        else:
            missing.append(row)
    reasons = found.reasons(
        "in the shop at an hour that is not its persona's", ~allowed[found.row, found.seconds // 3600 % 24]
    )
    for row in missing:
        reasons[row] = "no such persona"
    return reasons


def hours_by_id(personas: Dataset[Persona]) -> dict[str, list[int]]:
    table = personas.table(["id", "active_hours"])
    return dict(zip(table["id"].to_pylist(), table["active_hours"].to_pylist(), strict=True))


def budget_by_id(personas: Dataset[Persona]) -> dict[str, int]:
    table = personas.table(["id", "budget"]).combine_chunks()
    return dict(zip(table["id"].to_pylist(), cents(pa.array(table["budget"].combine_chunks())).tolist(), strict=True))


def purchases_fit_the_budget(batch: pa.RecordBatch, personas: Dataset[Persona]) -> Reasons:
    known = personas.once(budget_by_id)
    found = events(batch)
    limit = np.array([known.get(persona, 0) for persona in batch["persona_id"].to_pylist()], dtype=np.int64)
    return found.reasons(
        "bought for more than its persona pays", (found.kind == PURCHASE) & (found.cents > limit[found.row])
    )


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
    same = pc.equal(one, other).fill_null(False)
    both_null = pc.and_(pc.is_null(one), pc.is_null(other))
    return ~pc.or_(same, both_null).to_numpy(zero_copy_only=False)


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
    found = events(batch)
    when = pc.cast(pc.cast(found.table["timestamp"], pa.timestamp("s"), safe=False), pa.string()).to_pylist()
    names = ("action_type", "asin", "product_name", "brand", "color")
    columns = [*(found.table[name] for name in names), pc.cast(found.table["price"], pa.string())]
    table = list(zip(*(column.to_pylist() for column in [*columns, found.table["search_query"]]), strict=True))
    reasons = found.reasons("rows are not numbered from 0", found.table["row_id"].to_numpy() != found.place)
    parts = pc.cast(found.table["timestamp"], pa.int64()).to_numpy() % 1_000_000 != 0
    for row in np.unique(found.row[parts]).tolist():
        reasons[row] = "text and table differ"
    for row, text in enumerate(found.told):
        here = slice(found.begins[row], found.begins[row + 1])
        if text is None:
            reasons[row] = "text has a line that is no action"
        elif text.when != when[here] or text.what != table[here]:
            reasons[row] = "text and table differ"
    return reasons


def tokens_fill_the_budget(batch: pa.RecordBatch) -> Reasons:
    """`tokens` is the count of `text`, at most the budget and at least 90 % of it."""
    found = events(batch)
    names = ("tokens", "budget", "tokenizer")
    facts = zip(*(batch[name].to_pylist() for name in names), found.told, strict=True)
    reasons: Reasons = []
    for row, (said, budget, name, text) in enumerate(facts):
        counted = text.tokens if text and name == ESTIMATE else tokenizer(name)([batch["text"][row].as_py()])[0]
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


def trajectories_are_distinct(trajectories: Dataset[Trajectory]) -> Iterable[Fault]:
    """No two trajectories of one budget share most of their runs of four products.

    Candidates have three of their sixteen smallest run hashes in common (a bottom-k sketch); the share is then counted
    over all runs of both. Only the column of product ids is read, and the same product twice in a row counts once.
    """
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(sketches_of, trajectories.files))
    places = [(str(path), row, budget) for path, (names, _) in found for row, budget in enumerate(names)]
    sketches = [sketch for _, (_, some) in found for sketch in some]
    owner = np.repeat(np.arange(len(sketches)), [len(sketch) for sketch in sketches])
    keys = np.concatenate([np.zeros(0, np.uint64), *sketches])
    kinds = {budget: number for number, budget in enumerate(dict.fromkeys(place[2] for place in places))}
    kind = np.array([kinds[places[row][2]] for row in range(len(places))], dtype=np.int64)[owner]
    order = np.lexsort((owner, keys, kind))
    keys, owner, kind = keys[order], owner[order], kind[order]
    fresh = np.flatnonzero((np.diff(keys, prepend=keys[:1]) != 0) | (np.diff(kind, prepend=-1) != 0))
    heads = np.repeat(owner[fresh], np.diff(np.append(fresh, len(owner))))  # the first of that budget with the same run
    shared = Counter(zip(heads[heads != owner].tolist(), owner[heads != owner].tolist(), strict=True))
    pairs = [pair for pair, runs in shared.items() if runs >= IN_COMMON]
    for first, later in sorted(pairs):
        one, other = (stored_runs(*places[place][:2]) for place in (first, later))
        if len(np.intersect1d(one, other)) > ALIKE * min(len(one), len(other)):
            yield Fault(places[later][0], places[later][1], "near-duplicate of another trajectory")


def sketches_of(path: Path) -> tuple[Path, tuple[list[str], list[np.ndarray]]]:
    """The budgets of a file's trajectories and the smallest run hashes of each."""
    names: list[str] = []
    sketches: list[np.ndarray] = []
    for batch in row_groups(path, ["budget", ASINS]):
        names += batch["budget"].to_pylist()
        sketches += [runs[:SKETCH] for runs in runs_of_four(batch["events"])]
    return path, (names, sketches)


def runs_of_four(lists: pa.Array) -> Iterator[np.ndarray]:
    """For each trajectory the hashes of four products in a row, sorted and distinct."""
    asins = lists.flatten().field("asin").dictionary_encode()
    begins = lists.offsets.to_numpy() - lists.offsets[0].as_py()
    number = asins.indices.fill_null(-1).to_numpy()
    shown = np.flatnonzero(number >= 0)
    again = np.diff(number[shown], prepend=-1) == 0
    places = np.searchsorted(shown[~again], begins)
    keys = hashed_texts(asins.dictionary)[number[shown[~again]]]
    for begin, end in itertools.pairwise(places.tolist()):
        mine = keys[begin:end]
        runs = mine[: max(0, len(mine) - 3)].copy()
        for ahead in range(1, 4):
            runs = runs * MIX[2 * ahead] ^ mine[ahead : ahead + len(runs)]
        yield np.unique(runs)


def stored_runs(path: str, row: int) -> np.ndarray:
    """The runs of one stored trajectory."""
    first = 0
    for batch in row_groups(Path(path), ["budget", ASINS]):
        if row < first + batch.num_rows:
            return next(runs_of_four(batch["events"].slice(row - first, 1)))
        first += batch.num_rows
    raise IndexError(f"{path} has no row {row}")
