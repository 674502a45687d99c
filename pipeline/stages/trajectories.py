"""Customers' months in the shop: long shopping trajectories, as text and as table (ShopTrajQA, arXiv 2606.07995)."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import accumulate, islice
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field

from pipeline.arrow import arrow_schema, money
from pipeline.budgets import budgets, tokens_of
from pipeline.checks import events as check
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.render.trajectory import lines
from pipeline.shop.history import SECOND, Count, History, heads, history
from pipeline.shop.stock import Stock
from pipeline.shop.visits import ACTIONS, SEARCH
from pipeline.stage import Plan, Shard, stage
from pipeline.tokens import ESTIMATE
from pipeline.tokens import tokenizer as counter
from schemas.samples import Trajectory
from schemas.shop import Persona, Product

TOGETHER = 16
"""Customers in one batch, which becomes one row group: some 5 MB of text."""

Budgets = Annotated[
    list[str], BeforeValidator(budgets), Field(description="budgets of tokens, a row for each: 32k,64k or 1000000")
]
FirstDay = Annotated[date, Field(description="the first day of everybody's months")]
TokenizerName = Annotated[
    str, Field(description="a tokenizer.json or a name on the Hub for exact counts, else an estimate", min_length=1)
]


def plan_trajectories(personas: Dataset[Persona], tokenizer: str) -> Plan:
    count_with(tokenizer)
    return Plan(len(personas))


def count_with(name: str) -> Count | None:
    return None if name == ESTIMATE else counter(name)


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
        check.prices_hold_for_a_day,
        check.purchases_fit_the_budget,
        check.text_tells_the_events,
        check.tokens_fill_the_budget,
        check.shorter_is_a_prefix,
    ],
    across=[ids_are_unique, check.trajectories_are_distinct],
    per_shard=(16, 256),
)
def trajectories(
    catalog: Dataset[Product],
    personas: Dataset[Persona],
    shard: Shard,
    plan: Plan,
    *,
    tokens: Budgets = ["32k", "64k"],  # noqa: B006  (a setting's default, never changed)
    start: FirstDay = date(2024, 5, 1),
    tokenizer: TokenizerName = ESTIMATE,
) -> Iterator[pa.RecordBatch]:
    """Every persona's months of searches, clicks, carts and purchases, one row for each budget of tokens."""
    stock, count = catalog.once(Stock), count_with(tokenizer)
    people = personas.rows(shard.of(plan.units))
    while together := list(islice(people, TOGETHER)):
        longest = tokens_of(tokens[-1])
        histories = [history(p, stock, shard.numbers, first_day=start, tokens=longest, count=count) for p in together]
        yield to_rows(together, histories, tokens, tokenizer, stock)


def to_rows(
    people: list[Persona], histories: list[History], budgets: list[str], tokenizer: str, stock: Stock
) -> pa.RecordBatch:
    """One row for each person and budget; a person's budgets stand side by side, the smallest first."""
    lengths = [found.upto(tokens_of(budgets[-1])) for found in histories]
    table, written = as_table(histories, lengths, stock)
    begins = [0, *accumulate(lengths)]
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array(begins, pa.int32()), written), "\n").to_pylist()
    ends = np.cumsum(pc.utf8_length(written).to_numpy() + 1)
    rows: list[dict[str, Any]] = []
    places: list[np.ndarray] = []
    for person, found, begin, text in zip(people, histories, begins, whole, strict=False):
        before = int(ends[begin - 1]) if begin else 0
        for budget in budgets:
            kept = found.upto(tokens_of(budget))
            row, kept = fitted(text[: int(ends[begin + kept - 1]) - before - 1], kept, found, budget, tokenizer)
            rows.append({"id": f"{person.id}-{budget}", "persona_id": person.id, "budget": budget, **row})
            rows[-1] |= {"start": int(found.seconds[0]) * SECOND, "end": int(found.seconds[kept - 1]) * SECOND}
            rows[-1] |= {"promotions": met(found, kept, stock)}
            places.append(np.arange(begin, begin + kept))
    schema = arrow_schema(Trajectory)
    events = table.take(pa.array(np.concatenate(places))).set_column(
        0, "row_id", pa.array(np.concatenate([place - place[0] for place in places]))
    )
    offsets = pa.array(np.concatenate([[0], np.cumsum([len(place) for place in places])]), pa.int32())
    item = schema.field("events").type.value_type
    nested = pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(events.columns, fields=list(item)))
    columns = [
        nested if name == "events" else pa.array([row[name] for row in rows], schema.field(name).type)
        for name in schema.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def fitted(text: str, kept: int, found: History, budget: str, tokenizer: str) -> tuple[dict[str, Any], int]:
    """The text with its token count; a tokenizer that joins lines may find one too many and lose the last action."""
    if tokenizer == ESTIMATE:
        return {"text": text, "tokens": int(found.tokens[kept - 1]), "tokenizer": ESTIMATE}, kept
    while (size := counter(tokenizer)([text])[0]) > tokens_of(budget):
        text, kept = text.rpartition("\n")[0], kept - 1
    return {"text": text, "tokens": size, "tokenizer": tokenizer}, kept


def as_table(histories: list[History], lengths: list[int], stock: Stock) -> tuple[pa.RecordBatch, pa.Array]:
    """The histories' events one after the other in the table form's columns, and the line of each."""

    def together(name: str) -> np.ndarray:
        return np.concatenate([getattr(h, name)[:length] for h, length in zip(histories, lengths, strict=True)])

    kind, product = together("kind"), together("product")
    is_search = kind == SEARCH
    rows = pa.array(product, mask=is_search)
    when = pa.array(together("seconds") * SECOND, pa.timestamp("us"))
    action = pa.array(ACTIONS).take(pa.array(kind))
    price = money(together("cents"), is_search)
    query = pa.concat_arrays([h.queries.slice(0, length) for h, length in zip(histories, lengths, strict=True)])
    columns = {
        "row_id": pa.nulls(len(kind), pa.int64()),
        "timestamp": when,
        "action_type": action,
        "asin": stock.ids.take(rows),
        "product_name": stock.titles.take(rows),
        "brand": stock.brands.take(rows),
        "color": stock.colors.take(rows),
        "product_types": stock.categories.take(rows),
        "price": price,
        "search_query": query,
    }
    return pa.RecordBatch.from_pydict(columns), lines(when, action, query, heads(stock, kind, product), price)


def met(found: History, kept: int, stock: Stock) -> list[dict[str, Any]]:
    """The promotions behind the prices of the first events, each once, in the order in which they were met."""
    dated = {
        (int(found.product[place]), one["first_day"]): one for place, one in found.promotions.items() if place < kept
    }
    return [
        {
            "asin": stock.ids[product].as_py(),
            "first_day": one["first_day"],
            "last_day": one["last_day"],
            "price": one["price"],
            "list_price": Decimal(int(stock.cents[product])) / 100,
        }
        for (product, _), one in dated.items()
    ]
