"""The customers as the shop knows them: figures of the longest log and its orders, beside the persona's own facts."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import chain
from math import ceil, floor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import decimal_to_cents
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset, quote_paths
from shopwright.pipeline.envs.load_world import is_drawn_member
from shopwright.pipeline.files import connect_duckdb
from shopwright.pipeline.shop.store import TextIndex
from shopwright.pipeline.shopping import profile as about
from shopwright.pipeline.shopping.facts import normalize_attribute_name
from shopwright.pipeline.shopping.profile import Act, Fact, Log
from shopwright.pipeline.stage import Plan, Shard, Views, stage
from shopwright.pipeline.world.orders import find_largest_trajectories
from shopwright.schemas.samples import DatedPrice, Trajectory
from shopwright.schemas.shop import Choice, Order, Persona, Product, Variant
from shopwright.schemas.shopping import Profile

# A trajectory's id, its persona's, what happened and the promotions that were met.
Acts = tuple[str, str, list[Act], list[DatedPrice]]

OTHER_PERSON = "facts that are not the persona's"
NOT_DRAWN = "payment, gender or registration that was not drawn for it"
NO_LOG = "a customer without a log"
OTHER_TRANSACTION = "transaction figures that are not those of the log"
OTHER_INTERESTS = "interests that are not those of the log"
OTHER_HABITS = "habits that are not those of the log"
UNORDERED = "likings that are repeated, too many or not the most liked first"
HOURS = "hours that are not those of a day"
TYPED = "words that the customer typed"

# Of a kind of liking; more than are told, since those that repeat a search are left out.
MOST_COMPARED = 40
# What the rest is counted from: the events of these customers' longest logs. The bounds spare most row groups.
ACTS = """
create temp table act as
select who, u.row_id as n, u."timestamp" as t, u.action_type as a, u.asin, u.product_types as category, u.brand,
    u.color, u.price, u.search_query as typed, ended
from (
    select persona_id as who, unnest(events) as u, events[-1]."timestamp" as ended from trajectories
    where persona_id between $first and $last and id in (
        select id from trajectories where persona_id in (select unnest($ids))
        qualify row_number() over (partition by persona_id order by tokens desc, filename, file_row_number) = 1
    )
)
"""
# What each of these customers typed, and the names of the categories that it came upon.
WORDS = """
select who, list(distinct u.search_query) filter (u.search_query is not null),
    list(distinct u.product_types) filter (u.product_types is not null)
from (
    select persona_id as who, unnest(events) as u from trajectories
    where persona_id between $first and $last and persona_id in (select unnest($ids))
)
group by who
"""
# The same figures as `shopwright.pipeline.shopping.profile` has, counted another way.
SQL = {
    "transaction": """
with promotion as (
    select persona_id as who, unnest(promotions) as p from trajectories
    where persona_id between $first and $last and persona_id in (select who from act)
),
bought as (
    select who, price, t > ended - interval 30 day as lately,
        exists (
            from promotion where promotion.who = act.who and p.asin = act.asin
            and act.t::date between p.first_day and p.last_day and act.price < p.list_price
        ) as below,
        row_number() over (partition by who, asin order by n) > 1
            or brand is not null and row_number() over (partition by who, category, brand order by n) > 1 as again
    from act where a = 'purchase'
),
paid as (
    select who, avg(below::int) as below, avg(again::int) as again, sum(price) filter (lately) as spent
    from bought group by who
),
ordered as (
    select persona_id as who, avg(total) as mean, count(*) filter (placed > ended - interval 90 day) as orders
    from orders join (select distinct who, ended from act) on who = persona_id
    where persona_id between $first and $last group by persona_id
)
select who, coalesce(below, 0), coalesce(again, 0), coalesce(mean, 0), coalesce(spent, 0)::double, coalesce(orders, 0),
    least(30, days), least(90, days)
from (select who, max(t)::date - min(t)::date + 1 as days from act group by who) left join paid using (who)
left join ordered using (who)
""",
    "habits": """
with recent as (
    select *, epoch(t) - epoch(lag(t) over (partition by who order by n)) as gap from act
    where t > ended - interval 14 day
),
length as (select who, least(14, max(t)::date - min(t)::date + 1) as days from act group by who),
used as (
    select who, sum(gap) filter (gap <= 1800) / 60 as minutes, count(*) filter (a = 'add to Cart') as carts,
        1 + count(*) filter (gap > 1800) as visits
    from recent group by who
),
shop as (select who, brand from act where a = 'click' and brand is not null group by who, brand having count(*) >= 5),
kept as (
    select who, asin from recent where asin is not null group by who, asin
    having count(distinct t::date) filter (a = 'click') > 1 and count(*) filter (a = 'purchase') = 0
),
clock as (
    select who, hour(t) as hour, 24 * count(*) >= sum(count(*)) over (partition by who) as fair
    from act group by who, hour(t)
)
select who, days, coalesce(minutes, 0) / days, (select count(*) from shop where shop.who = length.who), carts,
    (select count(*) from kept where kept.who = length.who), visits,
    (select list(hour order by hour) from clock where clock.who = length.who and fair)
from length join used using (who)
""",
    "searches": """
with pair as (
    select who, n, a, lead(a) over after as next, lead(category) over after as category from act
    where t > ended - interval 14 day window after as (partition by who order by n)
)
select who, category from pair where a = 'search' and next = 'click' and category is not null
group by who, category order by who, max(n) desc
""",
    "likings": """
with weighed as (
    select who, asin, brand, category, color, (a <> 'click')::int as taken,
        case a when 'purchase' then 5 when 'add to Cart' then 3 else 1 end as weight
    from act where asin is not null
),
fact as (select id as asin, unnest(attributes) as x from catalog where id in (select asin from act)),
told as (
    select who, x.value as name, weight, lower(replace(x.name, '_', ' ')) as attribute
    from weighed join fact using (asin) where x.number is null
),
one as (
    select who, 'brands' as kind, brand as name, weight, taken from weighed
    union all select who, 'categories', category, weight, 0 from weighed
    union all select who, 'colors', color, weight, 0 from weighed
    union all select who, 'materials', name, weight, 0 from told where attribute in $materials
    union all select who, 'styles', name, weight, 0 from told where attribute in $styles
    union all select who, 'functions', name, weight, 0 from told where attribute in $functions
),
liked as (
    select who, kind, name, sum(weight) as weight, sum(sum(weight)) over (partition by who, kind) as total,
        kind = 'brands' and sum(taken) > 1
            and exists (from personas where personas.id = who and list_contains(personas.brands, name)) as sure
    from one where name <> '' group by who, kind, name
)
select who, kind, name, case
    when sure or kind <> 'brands' and 4 * weight >= total then 'high'
    when 10 * weight >= total then 'medium'
    else 'low' end
from liked
qualify row_number() over (partition by who, kind order by sure desc, weight desc, name) <= $most
order by who, kind, sure desc, weight desc, name
""",
    "prices": """
select who, list(price order by price)::double[] from act where a = 'add to Cart' group by who
""",
    "sizes": """
with line as (
    select persona_id as who, placed, unnest(lines) as x, generate_subscripts(lines, 1) as place from orders
    where persona_id between $first and $last and persona_id in (select who from act)
),
choice as (
    select line.*, unnest(choices) as y, generate_subscripts(choices, 1) as spot
    from line join variants on variants.id = x.variant_id
),
bought as (select distinct who, asin, category from act where a = 'purchase')
select who, category, y.name, y.value
from choice join bought using (who) where asin = x.product_id and lower(replace(y.name, '_', ' ')) in $sizes
order by who, placed desc, place desc, spot
""",
    "typed": "select who, list(distinct typed) from act where typed is not null group by who",
}


def person_is_the_personas(
    batch: pa.RecordBatch, personas: Dataset[Persona], trajectories: Dataset[Trajectory]
) -> list[str | None]:
    """What does not come from the log is the persona's, or what its own dice say."""
    ids = batch["id"].to_pylist()
    people = {one.id: one for one in read_matching_records(personas, "id", ids)}
    begun = trajectories.once(map_first_days)
    return [other_person(row, people.get(row["id"]), begun.get(row["id"])) for row in batch.to_pylist()]


def map_first_days(trajectories: Dataset[Trajectory]) -> dict[str, date]:
    """The day on which each customer's log begins."""
    found: dict[str, date] = {}
    for batch in trajectories.batches(["persona_id", "start"]):
        found |= zip(batch["persona_id"].to_pylist(), batch["start"].cast(pa.date32()).to_pylist(), strict=True)
    return found


def other_person(row: dict[str, Any], person: Persona | None, begun: date | None) -> str | None:
    if person is None or begun is None:
        return NO_LOG
    who, deal = row["demographics"], row["transaction"]
    same = (row["region"], row["habits"]["device"], who["age_band"], who["spend_tier"])
    level = about.member_level(is_drawn_member(person), int(deal["spend"] * 100))
    keen = about.promotion_sensitivity(person.price_sensitivity, deal["coupon_use"])
    claimed = (who["member_level"], deal["promotion_sensitivity"])
    if same != (person.region, person.device, person.age_band, person.spend_tier) or claimed != (level, keen):
        return OTHER_PERSON
    dice = (about.draw_payment(person.id), about.draw_gender(person.id), about.draw_registration_day(person.id, begun))
    return None if dice == (deal["payment"], who["gender"], row["registered"]) else NOT_DRAWN


def figures_are_the_logs(
    batch: pa.RecordBatch,
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    trajectories: Dataset[Trajectory],
    orders: Dataset[Order],
) -> list[str | None]:
    """Whatever is counted, counted again in SQL."""
    ids = batch["id"].to_pylist()
    counted = ProfileFigures(query_profile_figures([catalog, variants, personas, trajectories, orders], ids))
    return [counted.against(row) for row in batch.to_pylist()]


def query_profile_figures(datasets: Iterable[Dataset[Any]], ids: list[str]) -> dict[str, list[tuple[Any, ...]]]:
    """The answers to `SQL` for these customers."""
    kinds = {name: sorted(names) for name, names in about.KINDS.items()}
    given = {"sizes": sorted(about.SIZES), "most": MOST_COMPARED, "first": min(ids), "last": max(ids), **kinds}
    with connect_datasets(datasets) as connection:
        connection.execute(ACTS, build_id_parameters(ids))
        answers = {}
        for name, sql in SQL.items():
            # DuckDB refuses values for parameters that a query does not have
            asked = {key: value for key, value in given.items() if f"${key}" in sql}
            answers[name] = connection.execute(sql, asked).fetchall()
        return answers


def build_id_parameters(ids: list[str]) -> dict[str, Any]:
    return {"ids": ids, "first": min(ids), "last": max(ids)}


def index_by_customer(rows: list[tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Rows of an answer, whose first column is the customer."""
    return {row[0]: row[1:] for row in rows}


def connect_datasets(datasets: Iterable[Dataset[Any]]) -> Any:
    """DuckDB, with a view for each of them."""
    datasets = list(datasets)
    connection = connect_duckdb(chain.from_iterable(each.files for each in datasets))
    for each in datasets:
        source = f"read_parquet([{quote_paths(each.files)}], filename = true, file_row_number = true)"
        connection.execute(f"create view {each.name} as select * from {source}")
    return connection


class ProfileFigures:
    """The figures of some customers, as `SQL` has them."""

    def __init__(self, found: dict[str, list[tuple[Any, ...]]]) -> None:
        self.transactions = index_by_customer(found["transaction"])
        self.habits = index_by_customer(found["habits"])
        self.prices = index_by_customer(found["prices"])
        self.typed = {who: about.long_searches(texts) for who, texts in found["typed"]}
        self.searches: dict[str, list[str]] = {}
        for who, category in found["searches"]:
            self.searches.setdefault(who, []).append(category)
        self.likings: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for who, kind, name, level in found["likings"]:
            if kind == "categories" or not self.repeats(who, name):
                self.likings.setdefault((who, kind), []).append((name, level))
        self.sizes: dict[str, dict[tuple[str, str], str]] = {}
        for who, category, name, value in found["sizes"]:
            if not self.repeats(who, f"{name}: {value}"):
                self.sizes.setdefault(who, {}).setdefault((category, name), f"{name}: {value}")

    def repeats(self, who: str, text: str) -> bool:
        return about.is_search_repeated(text, self.typed.get(who, frozenset()))

    def against(self, row: dict[str, Any]) -> str | None:
        who = row["id"]
        if who not in self.transactions:
            return NO_LOG
        if not self.is_transaction(who, row["transaction"]):
            return OTHER_TRANSACTION
        if not self.are_interests(who, row["interests"]):
            return OTHER_INTERESTS
        return None if self.are_habits(who, row["habits"]) else OTHER_HABITS

    def is_transaction(self, who: str, claimed: dict[str, Any]) -> bool:
        names = ("coupon_use", "repurchase_rate", "mean_order_value", "spend", "orders", "spend_days", "orders_days")
        return are_near([claimed[name] for name in names], self.transactions[who], (0.0005, 0.0005, 0.005, 0, 0, 0, 0))

    def are_interests(self, who: str, claimed: dict[str, Any]) -> bool:
        kinds = ("brands", "categories", "colors", *about.KINDS)
        for kind in kinds:
            liked = [(one["name"], one["level"]) for one in claimed[kind]]
            if liked != self.likings.get((who, kind), [])[:5]:
                return False
        sizes = [(category, said) for (category, _), said in self.sizes.get(who, {}).items()][:6]
        if sizes != [(one["name"], one["value"]) for one in claimed["sizes"]]:
            return False
        (prices,) = self.prices.get(who, ([],))
        return bool(claimed["price_range"] == middle_half_of_prices(prices))

    def are_habits(self, who: str, claimed: dict[str, Any]) -> bool:
        names = ("days", "daily_minutes", "followed_shops", "carts", "favourites", "visits")
        *figures, hours = self.habits[who]
        near = are_near([claimed[name] for name in names], figures, (0, 0.05, 0, 0, 0, 0))
        return near and claimed["active_hours"] == hours and claimed["searches"] == self.searches.get(who, [])[:10]


def are_near(claimed: Sequence[Any], counted: Sequence[Any], slack: Sequence[float]) -> bool:
    """Whether figures agree but for their rounding."""
    pairs = zip(claimed, counted, slack, strict=True)
    # The millionth is for binary fractions: 0.05 apart is just more than 0.05.
    return all(abs(float(one) - float(other)) <= most + 1e-6 for one, other, most in pairs)


def middle_half_of_prices(prices: Sequence[float]) -> str:
    """The prices, ascending, of which a quarter of all is below and a quarter above.

    >>> middle_half_of_prices([1.0, 19.5, 22.1, 99.0]), middle_half_of_prices([19.5, 22.1]), middle_half_of_prices([])
    ('1-23', '20', '')
    """
    if len(prices) < 4:
        return str(ceil(prices[(len(prices) - 1) // 2])) if prices else ""
    below = sum(4 * place < len(prices) for place in range(len(prices)))
    above = sum(4 * place < 3 * len(prices) for place in range(len(prices)))
    return f"{floor(prices[below - 1])}-{ceil(prices[above - 1])}"


def levels_are_ordered(profile: Profile) -> str | None:
    """The most liked first, few, and each once."""
    likes = profile.interests
    for liked in (likes.brands, likes.categories, likes.colors, likes.materials, likes.styles, likes.functions):
        heights = [about.LEVELS.index(one.level) for one in liked]
        names = {one.name for one in liked}
        if heights != sorted(heights, reverse=True) or len(names) != len(liked) or len(liked) > about.MOST_LIKED:
            return UNORDERED
    return None


def hours_are_a_days(profile: Profile) -> str | None:
    hours = profile.habits.active_hours
    right = hours and hours == sorted(set(hours)) and hours[0] >= 0 and hours[-1] <= 23
    return None if right and profile.habits.daily_minutes <= 24 * 60 else HOURS


def words_typed_are_not_told(batch: pa.RecordBatch, trajectories: Dataset[Trajectory]) -> list[str | None]:
    """No search of three words or more, of any log of the customer, stands in its profile.

    The name of a category that it came upon is the shop's, whoever types it.
    """
    with connect_datasets([trajectories]) as connection:
        rows = connection.execute(WORDS, build_id_parameters(batch["id"].to_pylist())).fetchall()
    found = {who: (about.long_searches(typed or ()), frozenset(named or ())) for who, typed, named in rows}
    said = []
    for row in batch.to_pylist():
        typed, named = found.get(row["id"], (frozenset(), frozenset()))
        texts = (text for text in about.find_texts(row) if text not in named)
        said.append(TYPED if any(about.is_search_repeated(text, typed) for text in texts) else None)
    return said


class Facts:
    """The materials, styles and functions of the catalog's products."""

    def __init__(self, catalog: Dataset[Product]) -> None:
        ids, owners, named, values, first = [], [], [], [], 0
        for batch in catalog.batches(["id", "attributes"]):
            facts = pc.list_flatten(batch["attributes"])
            names = facts.field("name").dictionary_encode()
            kinds = pa.array(
                [about.KIND_OF.get(normalize_attribute_name(name)) for name in names.dictionary.to_pylist()],
                pa.string(),
            )
            kind = kinds.take(names.indices)
            kept = pc.and_(pc.is_valid(kind), pc.is_null(facts.field("number"))).to_numpy(zero_copy_only=False)
            sizes = pc.list_value_length(batch["attributes"]).fill_null(0).to_numpy()
            owners.append(np.repeat(np.arange(first, first + len(batch)), sizes)[kept])
            named.append(kind.filter(pa.array(kept)))
            values.append(facts.field("value").filter(pa.array(kept)))
            ids.append(batch["id"])
            first += len(batch)
        self.places = TextIndex(concat_text_arrays(ids))
        # Owners ascend: product k has the facts from `edges[k]` to `edges[k + 1]`.
        self.edges = np.searchsorted(np.concatenate([np.zeros(0, np.int64), *owners]), np.arange(first + 1))
        self.kinds, self.values = concat_text_arrays(named), concat_text_arrays(values)

    def of(self, product: str) -> list[Fact]:
        place = self.places.of(product)
        if place is None:
            return []
        low, high = self.edges[place : place + 2].tolist()
        pairs = zip(self.kinds[low:high].to_pylist(), self.values[low:high].to_pylist(), strict=True)
        return [Fact(kind, value) for kind, value in pairs]


def concat_text_arrays(arrays: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], pa.string())


def plan_profiles(trajectories: Dataset[Trajectory]) -> Plan:
    return Plan(len(trajectories.once(find_largest_trajectories)))


VIEWS = Views(named_by=("profile_id",), extends="personas")


@stage(
    makes=Profile,
    plan=plan_profiles,
    checks=[
        person_is_the_personas,
        figures_are_the_logs,
        levels_are_ordered,
        hours_are_a_days,
        words_typed_are_not_told,
    ],
    across=[ids_are_unique],
    per_shard=(64, 1_024),
    views=VIEWS,
    languages=("en", "zh"),
)
def profiles(
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    trajectories: Dataset[Trajectory],
    orders: Dataset[Order],
    shard: Shard,
    plan: Plan,
) -> Iterator[Profile]:
    """The customers as the shop knows them, each counted from its longest log and its orders."""
    units = shard.of(plan.units)
    mine = trajectories.once(find_largest_trajectories)[units.start : units.stop]
    customers = [batch["persona_id"].to_pylist() for batch in read_chosen_rows(trajectories, mine, ["persona_id"])]
    people = {one.id: one for one in read_matching_records(personas, "id", list(chain.from_iterable(customers)))}
    ordered: dict[str, list[Order]] = {}
    for order in read_matching_records(orders, "persona_id", list(people)):
        ordered.setdefault(order.trajectory_id, []).append(order)
    lines = chain.from_iterable(order.lines for order in chain.from_iterable(ordered.values()))
    chosen = read_variant_choices(variants, {line.variant_id for line in lines})
    known = catalog.once(Facts)
    for log, person, acts, promotions in read_customer_logs(trajectories, mine):
        yield about.build_profile(
            people[person],
            Log(
                acts,
                promotions,
                sorted(ordered.get(log, []), key=lambda order: order.placed),
                {act.product: known.of(act.product) for act in acts if act.product},
                chosen,
            ),
            member=is_drawn_member(people[person]),
        )


def read_chosen_rows(
    dataset: Dataset[Any], rows: np.ndarray, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """These rows, ascending, without reading a row group that has none of them."""
    if not len(rows):
        return
    first = int(rows[0])
    for batch in dataset.slices(range(first, int(rows[-1]) + 1), columns):
        here = rows[(rows >= first) & (rows < first + len(batch))] - first
        first += len(batch)
        yield batch.take(pa.array(here))


def read_matching_records(dataset: Dataset[Any], column: str, wanted: Sequence[str]) -> Iterator[Any]:
    """The records with one of these texts in a column, which is read before the others are."""
    texts = pa.array(wanted, pa.string())
    found = [
        pc.is_in(batch[column], value_set=texts).to_numpy(zero_copy_only=False) for batch in dataset.batches([column])
    ]
    rows = np.flatnonzero(np.concatenate([np.zeros(0, bool), *found]))
    for batch in read_chosen_rows(dataset, rows):
        yield from (dataset.makes.model_validate(row) for row in batch.to_pylist())


def read_variant_choices(variants: Dataset[Variant], wanted: Iterable[str]) -> dict[str, list[Choice]]:
    ids, found = pa.array(sorted(wanted), pa.string()), {}
    for batch in variants.batches(["id", "choices"]):
        for row in batch.filter(pc.is_in(batch["id"], value_set=ids)).to_pylist():
            found[row["id"]] = [Choice(**choice) for choice in row["choices"]]
    return found


def read_customer_logs(trajectories: Dataset[Trajectory], rows: np.ndarray) -> Iterator[Acts]:
    for batch in read_chosen_rows(trajectories, rows, ["id", "persona_id", "events", "promotions"]):
        # Events of all rows are converted at once, and cut where each log ends.
        ends = np.cumsum(pc.list_value_length(batch["events"]).to_numpy()).tolist()
        acts, low = convert_to_acts(pc.list_flatten(batch["events"])), 0
        plain_columns = (batch[name].to_pylist() for name in ("id", "persona_id", "promotions"))
        for log, person, promotions, high in zip(*plain_columns, ends, strict=True):
            yield log, person, acts[low:high], [DatedPrice(**each) for each in promotions]
            low = high


def convert_to_acts(events: pa.StructArray) -> list[Act]:
    names = ("action_type", "asin", "product_types", "brand", "color")
    seconds = (events.field("timestamp").cast(pa.int64()).to_numpy() // 1_000_000).tolist()
    texts = (events.field(name).to_pylist() for name in names)
    paid, typed = decimal_to_cents(events.field("price")).tolist(), events.field("search_query").to_pylist()
    return [Act(*each) for each in zip(seconds, *texts, paid, typed, strict=True)]
