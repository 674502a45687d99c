"""Customers' months in the shop: long shopping trajectories, as text and as table (ShopTrajQA, arXiv 2606.07995)."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import accumulate, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import AfterValidator, BeforeValidator, Field

from pipeline.arrow import arrow_schema, money
from pipeline.budgets import budgets, tokens_of
from pipeline.checks import events as check
from pipeline.checks.alike import trajectories_are_distinct
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.models.role import Role
from pipeline.models.written import refused
from pipeline.shop.diary import Diary, Typed, as_columns, diary
from pipeline.shop.history import Count, Histories, actions, histories, written
from pipeline.shop.kinds import Kinds
from pipeline.shop.repertoire import Repertoire, by_category
from pipeline.shop.stock import Stock
from pipeline.shop.visits import SEARCH
from pipeline.stage import Plan, Shard, stage
from pipeline.tokens import ESTIMATE
from pipeline.tokens import tokenizer as counter
from schemas.record import Rejected
from schemas.samples import Trajectory
from schemas.shop import Persona, Product, Query

SECOND = 1_000_000
TOGETHER = 1_024_000
"""Tokens in one batch of customers, which becomes one row group: some 2 MB of text."""

Budgets = Annotated[
    list[str], BeforeValidator(budgets), Field(description="budgets of tokens, a row for each: 32k,64k or 1000000")
]
FirstDay = Annotated[date, Field(description="the first day of everybody's months")]
WrittenBy = Annotated[
    Literal["code", "model"], Field(description="who decides what is searched, clicked and bought: code or model")
]


def count_with(name: str) -> Count | None:
    return None if name == ESTIMATE else counter(name)


def a_tokenizer(name: str) -> str:
    count_with(name)
    return name


TokenizerName = Annotated[
    str,
    AfterValidator(a_tokenizer),
    Field(description="a tokenizer.json or a name on the Hub for exact counts, else an estimate", min_length=1),
]


def plan_trajectories(personas: Dataset[Persona], tokenizer: str, tokens: list[str]) -> Plan:
    files = (Path(tokenizer), Path(tokenizer) / "tokenizer.json")
    people = len(personas)
    return Plan(people, tuple(file for file in files if file.is_file()), rows=people * len(tokens))


@stage(
    makes=Trajectory,
    plan=plan_trajectories,
    checks=[
        check.time_goes_on,
        check.hours_are_the_personas,
        check.funnel_is_in_order,
        check.blocks_hold_the_quota,
        check.searches_explore_first,
        check.facts_are_the_catalogs,
        check.clicks_fit_their_query,
        check.promotions_are_those_met,
        check.prices_hold_for_a_day,
        check.purchases_fit_the_budget,
        check.text_tells_the_events,
        check.tokens_fill_the_budget,
        check.shorter_is_a_prefix,
    ],
    across=[ids_are_unique, trajectories_are_distinct],
    per_shard=(16, 256),
)
def trajectories(
    catalog: Dataset[Product],
    personas: Dataset[Persona],
    queries: Dataset[Query],
    shard: Shard,
    plan: Plan,
    writer: Role,
    *,
    tokens: Budgets = ["32k", "64k"],  # noqa: B006  (a setting's default, never changed)
    start: FirstDay = date(2024, 5, 1),
    tokenizer: TokenizerName = ESTIMATE,
    written_by: WrittenBy = "code",
) -> Iterator[pa.RecordBatch | Rejected]:
    """Every persona's months of searches, clicks, carts and purchases, one row for each budget of tokens."""
    known = repertoire(catalog, queries)
    count, longest = count_with(tokenizer), tokens_of(tokens[-1])
    people, most = personas.rows(shard.of(plan.units)), max(1, TOGETHER // longest)
    if written_by == "model":
        asked = (diary(one, known, shard.numbers, first_day=start, tokens=longest, count=count) for one in people)
        for told in writer.play(asked):
            yield from as_told(told, known.stock, tokens, tokenizer)
        return
    while together := list(islice(people, most)):
        found = histories(together, known, shard.numbers, first_day=start, tokens=longest, count=count)
        yield to_rows(together, found, tokens, tokenizer, known)


def as_told(told: Diary, stock: Stock, budgets: list[str], tokenizer: str) -> Iterator[pa.RecordBatch | Rejected]:
    """A row for each budget that a model's diary fills; for the others what it could not write."""
    full = [budget for budget in budgets if told.tokens >= tokens_of(budget)]
    if full:
        typed = Typed(stock, [event.query for event in told.events])
        yield to_rows([told.person], as_columns(told.events, stock, count_with(tokenizer)), full, tokenizer, typed)
    for budget in budgets[len(full) :]:
        assert told.unwritten
        facts = {"persona_id": told.person.id, "actions before": len(told.events), **told.section}
        yield refused(f"{told.person.id}-{budget}", "section", facts, told.unwritten)


def repertoire(catalog: Dataset[Product], queries: Dataset[Query]) -> Repertoire:
    """This process's, which knows what was met in earlier shards."""
    known = catalog.once(speechless)
    known.hear(queries.once(by_category))
    return known


def speechless(catalog: Dataset[Product]) -> Repertoire:
    return Repertoire(catalog.once(Kinds))


def to_rows(
    people: list[Persona], found: Histories, budgets: list[str], tokenizer: str, known: Repertoire
) -> pa.RecordBatch:
    """One row for each person and budget; a person's budgets stand side by side, the smallest first."""
    wanted = [tokens_of(budget) for budget in budgets]
    lengths = [found.upto(person, wanted[-1]) for person in range(len(people))]
    begins = [0, *accumulate(lengths)]
    kept = np.concatenate(
        [np.arange(first, first + n) for first, n in zip(found.begins.tolist(), lengths, strict=False)]
    )
    table, told = as_table(found, kept, known)
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array(begins, pa.int32()), told), "\n").to_pylist()
    ends = np.cumsum(pc.utf8_length(told).to_numpy() + 1)
    rows: list[dict[str, Any]] = []
    places: list[np.ndarray] = []
    for number, (person, begin, text) in enumerate(zip(people, begins, whole, strict=False)):
        first = int(found.begins[number])
        for budget, most in zip(budgets, wanted, strict=True):
            count = found.upto(number, most)
            shown = text[: int(ends[begin + count - 1]) - (int(ends[begin - 1]) if begin else 0) - 1]
            shown, count, size = fitted(shown, count, int(found.tokens[first + count - 1]), most, tokenizer)
            rows.append(
                {
                    "id": f"{person.id}-{budget}",
                    "persona_id": person.id,
                    "budget": budget,
                    "tokens": size,
                    "tokenizer": tokenizer,
                    "start": int(found.seconds[first]) * SECOND,
                    "end": int(found.seconds[first + count - 1]) * SECOND,
                    "text": shown,
                    "promotions": met(found, first, first + count, known.stock),
                }
            )
            places.append(np.arange(begin, begin + count))
    schema = arrow_schema(Trajectory)
    plain = {name: pa.array([row[name] for row in rows], schema.field(name).type) for name in rows[0]}
    columns = {**plain, "events": nested(table, places)}
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def fitted(text: str, count: int, estimated: int, most: int, tokenizer: str) -> tuple[str, int, int]:
    """The text, its actions and its tokens; where a tokenizer finds too many in the whole, without the last actions."""
    if tokenizer == ESTIMATE:
        return text, count, estimated
    while (size := counter(tokenizer)([text])[0]) > most:
        text, count = text.rpartition("\n")[0], count - 1
    return text, count, size


def as_table(found: Histories, kept: np.ndarray, known: Repertoire) -> tuple[pa.RecordBatch, pa.Array]:
    """These events in the table form's columns, and the line of each."""
    kind, product, query, cents = found.kind[kept], found.product[kept], found.query[kept], found.cents[kept]
    stock, is_search = known.stock, kind == SEARCH
    rows = pa.array(product, mask=is_search)
    when = pa.array(found.seconds[kept] * SECOND, pa.timestamp("us"))
    columns = {
        "row_id": pa.nulls(len(kind), pa.int64()),
        "timestamp": when,
        "action_type": actions(kind),
        "asin": stock.ids.take(rows),
        "product_name": stock.titles.take(rows),
        "brand": stock.brands.take(rows),
        "color": stock.colors.take(rows),
        "product_types": stock.categories.take(rows),
        "price": money(cents, is_search),
        "search_query": known.queries.take(pa.array(query, mask=~is_search)),
    }
    return pa.RecordBatch.from_pydict(columns), written(when, kind, product, query, cents, known)


def nested(table: pa.RecordBatch, places: list[np.ndarray]) -> pa.ListArray:
    """The events at these places as one list for each row, numbered from 0."""
    offsets = pa.array([0, *accumulate(map(len, places))], pa.int32())
    chosen = np.concatenate(places)
    columns = (table if np.array_equal(chosen, np.arange(len(table))) else table.take(pa.array(chosen))).columns
    columns[0] = pa.array(np.concatenate([np.arange(len(place)) for place in places]))
    item = arrow_schema(Trajectory).field("events").type.value_type
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=list(item)))


def met(found: Histories, begin: int, end: int, stock: Stock) -> list[dict[str, Any]]:
    """The promotions behind the prices of these events, each once, in the order in which they were met."""
    dated = {
        (int(found.product[place]), one["first_day"]): one
        for place, one in found.promotions.items()
        if begin <= place < end
    }
    return [
        {
            "asin": stock.ids[product].as_py(),
            **one,
            "list_price": Decimal(int(stock.cents[product])) / 100,
        }
        for (product, _), one in dated.items()
    ]
