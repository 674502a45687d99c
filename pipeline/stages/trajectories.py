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

from shopwright.pipeline.arrow import arrow_schema, cents_to_decimal
from shopwright.pipeline.budget_names import parse_budget, parse_budgets
from shopwright.pipeline.checks import trajectories as check
from shopwright.pipeline.checks.near_duplicates import trajectories_are_distinct
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import make_rejected_row
from shopwright.pipeline.stage import Plan, Section, Shard, Views, stage
from shopwright.pipeline.tokens import ESTIMATE
from shopwright.pipeline.tokens import tokenizer as counter
from shopwright.pipeline.world.actions import SEARCH
from shopwright.pipeline.world.catalog_columns import CatalogColumns
from shopwright.pipeline.world.history import (
    Count,
    Histories,
    TypedQueries,
    name_actions,
    render_event_lines,
    simulate_histories,
)
from shopwright.pipeline.world.lives import Mix, open_shop
from shopwright.pipeline.world.model_trajectories import ModelTrajectory, events_to_columns, generate_trajectory
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Persona, Product, Query

# Microseconds, in which timestamps are kept.
SECOND = 1_000_000
# Tokens in one batch of customers, which becomes one row group: some 2 MB of text.
TOGETHER = 1_024_000

Budgets = Annotated[
    list[str],
    BeforeValidator(parse_budgets),
    Field(description="budgets of tokens, a row for each: 32k,64k or 1000000"),
]
FirstDay = Annotated[date, Field(description="the first day of everybody's months")]
ActionMix = Annotated[
    Mix,
    Field(description="paper: of every 100 actions 55 searches, 35 clicks, 7 carts, 3 purchases; life: as it comes"),
]
WrittenBy = Annotated[
    Literal["code", "model"], Field(description="who decides what is searched, clicked and bought: code or model")
]


def make_token_counter(name: str) -> Count | None:
    return None if name == ESTIMATE else counter(name)


def validate_tokenizer(name: str) -> str:
    make_token_counter(name)
    return name


TokenizerName = Annotated[
    str,
    AfterValidator(validate_tokenizer),
    Field(description="a tokenizer.json or a name on the Hub for exact counts, else an estimate", min_length=1),
]


# At the most: some 10 MB, whether customers have 2,000 tokens or a million.
TOKENS_PER_SHARD = 256 * 64_000


def plan_trajectories(personas: Dataset[Persona], tokenizer: str, tokens: list[str]) -> Plan:
    files = (Path(tokenizer), Path(tokenizer) / "tokenizer.json")
    people = len(personas)
    at_most = max(1, TOKENS_PER_SHARD // sum(map(parse_budget, tokens)))
    return Plan(people, tuple(file for file in files if file.is_file()), at_most=at_most, rows=people * len(tokens))


VIEWS = Views(
    place=20,
    named_by=("trajectory_id",),
    columns=("persona_id", "budget", "tokens", "start", "end"),
    page="browse.evidence:gather_trajectory_page",
    report=(Section("customers", "Customers", "publish.report_customers:gather_customer_facts"),),
    sample=("text",),
    pictures={
        "actions": "publish.pictures:draw_actions",
        "tokens": "publish.pictures:draw_tokens",
        "hours": "publish.pictures:draw_hours",
    },
)


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
        check.clicks_were_on_their_page,
        check.promotions_are_those_met,
        check.prices_hold_for_a_day,
        check.purchases_fit_the_budget,
        check.text_tells_the_events,
        check.tokens_fill_the_budget,
        check.shorter_is_a_prefix,
    ],
    across=[ids_are_unique, trajectories_are_distinct],
    per_shard=(16, 256),
    views=VIEWS,
    languages=("en", "zh"),
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
    mix: ActionMix = "paper",
) -> Iterator[pa.RecordBatch | Rejected]:
    """Every persona's months of searches, clicks, carts and purchases, one row for each budget of tokens."""
    shop = open_shop(catalog, queries)
    count, longest = make_token_counter(tokenizer), parse_budget(tokens[-1])
    people, most = personas.rows(shard.of(plan.units)), max(1, TOGETHER // longest)
    if written_by == "model":
        asked = (
            generate_trajectory(one, shop, shard.numbers, first_day=start, tokens=longest, count=count)
            for one in people
        )
        for told in writer.play(asked):
            yield from build_model_written_rows(told, shop.stock, tokens, tokenizer)
        return
    while together := list(islice(people, most)):
        found, typed = simulate_histories(
            together, shop, shard.numbers, first_day=start, tokens=longest, mix=mix, count=count
        )
        yield to_rows(together, found, tokens, tokenizer, typed, mix)


def build_model_written_rows(
    told: ModelTrajectory, stock: CatalogColumns, budgets: list[str], tokenizer: str
) -> Iterator[pa.RecordBatch | Rejected]:
    """A row for each budget that a model's diary fills; for the others what it could not write."""
    full = [budget for budget in budgets if told.tokens >= parse_budget(budget)]
    if full:
        typed = TypedQueries(stock, [event.query for event in told.events])
        yield to_rows(
            [told.person],
            events_to_columns(told.events, stock, make_token_counter(tokenizer)),
            full,
            tokenizer,
            typed,
            "paper",
        )
    for budget in budgets[len(full) :]:
        assert told.unwritten
        facts = {"persona_id": told.person.id, "actions before": len(told.events), **told.section}
        yield make_rejected_row(f"{told.person.id}-{budget}", "section", facts, told.unwritten)


def to_rows(
    people: list[Persona], found: Histories, budgets: list[str], tokenizer: str, known: TypedQueries, mix: Mix
) -> pa.RecordBatch:
    """One row for each person and budget; a person's budgets stand side by side, the smallest first."""
    wanted = [parse_budget(budget) for budget in budgets]
    lengths = [found.upto(person, wanted[-1]) for person in range(len(people))]
    begins = [0, *accumulate(lengths)]
    kept = np.concatenate(
        [np.arange(first, first + n) for first, n in zip(found.begins.tolist(), lengths, strict=False)]
    )
    table, told = build_event_table(found, kept, known)
    whole = pc.binary_join(pa.ListArray.from_arrays(pa.array(begins, pa.int32()), told), "\n").to_pylist()
    ends = np.cumsum(pc.utf8_length(told).to_numpy() + 1)
    rows: list[dict[str, Any]] = []
    places: list[np.ndarray] = []
    for number, (person, begin, text) in enumerate(zip(people, begins, whole, strict=False)):
        first = int(found.begins[number])
        for budget, most in zip(budgets, wanted, strict=True):
            count = found.upto(number, most)
            # All lines are one text: a budget is cut off at the end of its last line, without the line break.
            shown = text[: int(ends[begin + count - 1]) - (int(ends[begin - 1]) if begin else 0) - 1]
            shown, count, size = fit_to_budget(shown, count, int(found.tokens[first + count - 1]), most, tokenizer)
            rows.append(
                {
                    "id": f"{person.id}-{budget}",
                    "persona_id": person.id,
                    "budget": budget,
                    "tokens": size,
                    "tokenizer": tokenizer,
                    "mix": mix,
                    "start": int(found.seconds[first]) * SECOND,
                    "end": int(found.seconds[first + count - 1]) * SECOND,
                    "text": shown,
                    "promotions": list_met_promotions(found, first, first + count, known.stock),
                }
            )
            places.append(np.arange(begin, begin + count))
    schema = arrow_schema(Trajectory)
    columns: list[pa.Array] = []
    for field in schema:
        if field.name == "events":
            columns.append(nest_events(table, places))
        else:
            columns.append(pa.array([row[field.name] for row in rows], field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def fit_to_budget(text: str, count: int, estimated: int, most: int, tokenizer: str) -> tuple[str, int, int]:
    """The text, its actions and its tokens; where a tokenizer finds too many in the whole, without the last actions."""
    if tokenizer == ESTIMATE:
        return text, count, estimated
    # Lines were counted alone, and a tokenizer may need more for the whole.
    while (size := counter(tokenizer)([text])[0]) > most:
        text, count = text.rpartition("\n")[0], count - 1
    return text, count, size


def build_event_table(found: Histories, kept: np.ndarray, known: TypedQueries) -> tuple[pa.RecordBatch, pa.Array]:
    """These events in the table form's columns, and the line of each."""
    kind, product, query, cents = found.kind[kept], found.product[kept], found.query[kept], found.cents[kept]
    stock, is_search = known.stock, kind == SEARCH
    rows = pa.array(product, mask=is_search)
    when = pa.array(found.seconds[kept] * SECOND, pa.timestamp("us"))
    columns = {
        "row_id": pa.nulls(len(kind), pa.int64()),
        "timestamp": when,
        "action_type": name_actions(kind),
        "asin": stock.ids.take(rows),
        "product_name": stock.titles.take(rows),
        "brand": stock.brands.take(rows),
        "color": stock.colors.take(rows),
        "product_types": stock.categories.take(rows),
        "price": cents_to_decimal(cents, is_search),
        "search_query": known.queries.take(pa.array(query, mask=~is_search)),
    }
    return pa.RecordBatch.from_pydict(columns), render_event_lines(when, kind, product, query, cents, known)


def nest_events(table: pa.RecordBatch, places: list[np.ndarray]) -> pa.ListArray:
    """The events at these places as one list for each row, numbered from 0."""
    offsets = pa.array([0, *accumulate(map(len, places))], pa.int32())
    chosen = np.concatenate(places)
    # One budget takes all events in their order: nothing needs to be copied.
    columns = (table if np.array_equal(chosen, np.arange(len(table))) else table.take(pa.array(chosen))).columns
    columns[0] = pa.array(np.concatenate([np.arange(len(place)) for place in places]))
    item = arrow_schema(Trajectory).field("events").type.value_type
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(columns, fields=list(item)))


def list_met_promotions(found: Histories, begin: int, end: int, stock: CatalogColumns) -> list[dict[str, Any]]:
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
