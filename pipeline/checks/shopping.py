"""What must be true of a shopping task, found out from the catalog's Parquet by DuckDB, and not by what drew it."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from pipeline.checks.nearby import Nearby
from pipeline.checks.unique import repeated
from pipeline.dataset import Dataset, as_it_stands
from pipeline.envs.world import beside
from pipeline.files import duck
from pipeline.shopping import wording
from pipeline.shopping.facts import UNITS, measured
from pipeline.shopping.play import UNHEARD, Play, Shop, scenarios_of, written
from pipeline.shopping.profile import told
from pipeline.stage import Fault
from schemas.shop import Product, Variant
from schemas.shopping import Profile, ShoppingEpisode, ShoppingTask, Step

GRAM = 3
Catalog = Dataset[Product]
Variants = Dataset[Variant]
Met = dict[int, list[tuple[str, str, tuple[str, ...]]]]
"""By task: product, variant and the facts that it breaks."""


class Offers:
    """Everything that can be bought, with each of its facts as a row: what a need is looked up in.

    A choice of the variant stands for the product's fact of the same name; a measure is in its base unit; prices are dollars.
    """

    def __init__(self, catalog: Catalog, variants: Variants) -> None:
        self.connection = connection = duck([*catalog.files, *variants.files])
        connection.execute("SET threads = 1")
        connection.execute("SET preserve_insertion_order = false")
        for name, dataset in (("product", catalog), ("variant", variants)):
            files = [as_it_stands(path) for path in dataset.files]
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({files!r})")
        units = [{"unit": unit, "base": base, "factor": factor} for unit, (base, factor) in UNITS.items()]
        connection.register("units", pa.Table.from_pylist(units))
        for statement in OFFERS:
            connection.execute(statement)

    def few(self, tasks: list[dict[str, Any]], most: int) -> Met:
        """For each task what breaks at most so many of its needs."""
        rows = [
            {"task": place, "category": task["category"], "place": number, **asked(need)}
            for place, task in enumerate(tasks)
            for number, need in enumerate(task["needs"])
        ]
        if not rows:
            return {}
        self.connection.register("need", pa.Table.from_pylist(rows, schema=NEEDS))
        found: Met = defaultdict(list)
        for task, product, variant, broken in self.connection.execute(BROKEN, {"most": most}).fetchall():
            found[task].append((product, variant, tuple(sorted(broken))))
        self.connection.unregister("need")
        return found


NEEDS = pa.schema(
    [
        ("task", pa.int32()), ("category", pa.string()), ("place", pa.int32()), ("fact", pa.string()), ("op", pa.string()),
        ("value", pa.string()), ("amount", pa.float64()), ("base", pa.string()),
    ]
)  # fmt: skip
OFFERS = (
    """CREATE TABLE offer AS
    SELECT ROW_NUMBER() OVER () AS offer, p.id AS product, COALESCE(v.id, '') AS variant, p.category,
      COALESCE(v.stock, 1) > 0 AS stocked
    FROM product p LEFT JOIN variant v ON v.product_id = p.id""",
    r"""CREATE TABLE said AS
    SELECT product, variant, fact, ARG_MAX(value, rank) AS value FROM (
      SELECT o.product, o.variant, LOWER(REPLACE(a.name, '_', ' ')) AS fact, a.value AS value, 1 AS rank
      FROM offer o JOIN (SELECT id, UNNEST(attributes) AS a FROM product) p ON p.id = o.product
      UNION ALL SELECT o.product, o.variant, 'brand', p.brand, 2 FROM offer o JOIN product p ON p.id = o.product
      UNION ALL SELECT o.product, o.variant, 'color', p.color, 2 FROM offer o JOIN product p ON p.id = o.product
      UNION ALL SELECT v.product_id, v.id, LOWER(REPLACE(c.name, '_', ' ')), c.value, 3
      FROM (SELECT product_id, id, UNNEST(choices) AS c FROM variant) v
    ) WHERE value IS NOT NULL GROUP BY ALL""",
    r"""CREATE TABLE fact AS
    SELECT o.offer, o.category, s.fact, LOWER(TRIM(s.value)) AS value,
      TRY_CAST(m[1] AS DOUBLE) * COALESCE(u.factor, 1) AS amount, COALESCE(u.base, TRIM(m[2])) AS base
    FROM (SELECT *, REGEXP_EXTRACT_ALL(value, '^\s*(-?\d+(?:\.\d+)?)\s*(\D.*)?$', 1) || REGEXP_EXTRACT_ALL(value,
      '^\s*(-?\d+(?:\.\d+)?)\s*(\D.*)?$', 2) AS m FROM said) s
    JOIN offer o ON o.product = s.product AND o.variant = s.variant LEFT JOIN units u ON u.unit = TRIM(s.m[2])
    UNION ALL SELECT o.offer, o.category, 'price', NULL, COALESCE(v.price, p.price)::DOUBLE, 'dollars'
    FROM offer o JOIN product p ON p.id = o.product LEFT JOIN variant v ON v.id = o.variant
    UNION ALL SELECT o.offer, o.category, f.fact, NULL, f.amount, ''
    FROM offer o JOIN (UNPIVOT (SELECT id, ROUND(rating, 2)::DOUBLE AS rating, shipping_days::DOUBLE AS "shipping days",
      review_count::DOUBLE AS "review count" FROM product) ON rating, "shipping days", "review count"
      INTO NAME fact VALUE amount) f ON f.id = o.product""",
)
BROKEN = """
    WITH size AS (SELECT task, ANY_VALUE(category) AS category, COUNT(*) AS needs FROM need GROUP BY task),
    met AS (
      SELECT n.task, f.offer, LIST(n.fact) AS facts FROM need n JOIN fact f ON f.category = n.category AND f.fact = n.fact AND (
        (n.op = 'is' AND (f.value = n.value OR (f.base = n.base AND ABS(f.amount - n.amount) <= 1e-6 * GREATEST(ABS(f.amount), ABS(n.amount)))))
        OR (n.op = 'at most' AND f.base = n.base AND f.amount <= n.amount + 1e-6 * ABS(n.amount))
        OR (n.op = 'at least' AND f.base = n.base AND f.amount >= n.amount - 1e-6 * ABS(n.amount)))
      GROUP BY ALL)
    SELECT s.task, o.product, o.variant,
      LIST_FILTER(all_of.facts, lambda fact: NOT LIST_CONTAINS(COALESCE(m.facts, []), fact)) AS broken
    FROM size s JOIN offer o ON o.category = s.category AND o.stocked
    LEFT JOIN met m ON m.task = s.task AND m.offer = o.offer
    JOIN (SELECT task, LIST(fact) AS facts FROM need GROUP BY task) all_of ON all_of.task = s.task
    WHERE s.needs - COALESCE(LEN(m.facts), 0) <= $most
"""


def asked(need: dict[str, Any]) -> dict[str, Any]:
    """A need as a row: its value in lower case, and as a measure."""
    if need["fact"] == "price":
        return {"fact": "price", "op": need["op"], "value": None, "amount": float(need["value"]), "base": "dollars"}
    found = measured(need["value"])
    amount, base = found or (None, None)
    return {
        "fact": need["fact"],
        "op": need["op"],
        "value": need["value"].strip().lower(),
        "amount": amount,
        "base": base,
    }


OFFERED: dict[str, tuple[tuple[str, str], Offers]] = {}


def offers(catalog: Catalog, variants: Variants) -> Offers:
    """Made once in this process for what is there now."""
    prints = tuple(found.manifest.fingerprint if found.manifest else "" for found in (catalog, variants))
    key = str(catalog.run)
    if key not in OFFERED or OFFERED[key][0] != prints:
        OFFERED.clear()
        OFFERED[key] = (prints[0], prints[1]), Offers(catalog, variants)
    return OFFERED[key][1]


def no_other_product_satisfies_it(batch: pa.RecordBatch, catalog: Catalog, variants: Variants) -> Iterator[str | None]:
    """Of everything in the whole catalog that can be bought only its target meets every need, and its variant does."""
    tasks = batch.to_pylist()
    met = offers(catalog, variants).few(tasks, 0)
    for place, task in enumerate(tasks):
        found = met.get(place, [])
        if (task["product_id"], task["variant_id"]) not in {(product, variant) for product, variant, _ in found}:
            yield "its target does not satisfy it"
        elif {product for product, _, _ in found} != {task["product_id"]}:
            yield "another product satisfies it too"
        else:
            yield None


def nearest_miss_misses(batch: pa.RecordBatch, catalog: Catalog, variants: Variants) -> Iterator[str | None]:
    """It is another product that can be bought, and breaks just the needs that are said, of which there are fewest."""
    tasks = batch.to_pylist()
    misses = [json.loads(task["nearest_miss"]) for task in tasks]
    most = [len(miss["breaks"] or task["needs"]) for miss, task in zip(misses, tasks, strict=True)]
    found = offers(catalog, variants).few(tasks, max(most, default=0))
    for place, (task, miss) in enumerate(zip(tasks, misses, strict=True)):
        others = {
            (product, variant): broken
            for product, variant, broken in found.get(place, [])
            if product != task["product_id"]
        }
        if not miss["product_id"]:
            yield None if not others else "there is a nearer miss"
        elif others.get((miss["product_id"], miss["variant_id"])) != tuple(sorted(miss["breaks"])):
            yield "a nearest miss that breaks something else"
        else:
            nearer = any(len(broken) < len(miss["breaks"]) for broken in others.values())
            yield "there is a nearer miss" if nearer else None


def row_agrees_with_its_needs(task: ShoppingTask) -> str | None:
    """Options, attributes, limit and what the profile carries are those of the needs."""
    of = {kind: [need for need in task.needs if need.kind == kind] for kind in ("option", "attribute", "price")}
    same = (
        [(each.name, each.value) for each in task.options] == [(need.fact, need.value) for need in of["option"]]
        and task.attributes == [need.value for need in of["attribute"]]
        and ([] if task.price_limit is None else [f"{task.price_limit:.2f}"]) == [need.value for need in of["price"]]
        and task.reason_keys == [need.fact for need in task.needs if need.known == "profile"]
        and bool(task.profile_id) == bool(task.reason_keys)
        and len({need.fact for need in task.needs}) == len(task.needs)
    )
    return None if same else "the row and its needs differ"


def instruction_says_what_is_stated(task: ShoppingTask) -> str | None:
    """Every stated need is in the instruction, in its words, and none that the profile carries; the opening tells none."""
    for need in task.needs:
        if need.known == "stated" and need.said not in task.instruction:
            return "a need that the instruction does not say"
        if need.known == "profile" and (need.said in task.instruction or stands(need.value, task.instruction)):
            return "the instruction says what the profile carries"
        if need.said in task.simple_instruction:
            return "the opening tells a need"
    return None


def stands(value: str, text: str) -> bool:
    """Whether a value stands there as words of its own."""
    return f" {value.lower()} " in f" {' '.join(wording.words_of(text))} "


def title_is_not_copied(batch: pa.RecordBatch, catalog: Catalog) -> Iterator[str | None]:
    known = catalog.once(titles)
    for task in batch.select(["product_id", "instruction", "title_overlap"]).to_pylist():
        share = wording.overlap(known.get(task["product_id"], ""), task["instruction"])
        if share != task["title_overlap"]:
            yield "another overlap with the title"
        else:
            yield "too many of the title's words" if share > wording.COPIED else None


def titles(catalog: Catalog) -> dict[str, str]:
    table = catalog.table(["id", "title"])
    return dict(zip(table["id"].to_pylist(), table["title"].to_pylist(), strict=True))


def profile_gives_nothing_away(task: ShoppingTask, profiles: Dataset[Profile], catalog: Catalog) -> str | None:
    """The profile is there; it holds no value of a stated need, and no three words of the target's title."""
    if not task.profile_id:
        return None
    text = profiles.once(texts).get(task.profile_id)
    if text is None:
        return "a profile that is not there"
    return leak(task, text, catalog.once(titles).get(task.product_id, ""))


def leak(task: ShoppingTask, text: str, title: str) -> str | None:
    """What a profile, as it is told, says of a target that it should not."""
    for need in task.needs:
        if need.known == "stated" and need.kind != "price" and len(need.value) > 3 and stands(need.value, text):
            return "the profile tells what the instruction states"
    carried = [task.category, *(need.value for need in task.needs if need.known == "profile")]
    own = {word for each in carried for word in wording.words_of(each)}
    shared = grams(title) & grams(text)
    return "the profile holds words of its target" if any(not own.issuperset(gram) for gram in shared) else None


def grams(text: str) -> set[tuple[str, ...]]:
    said = wording.words_of(text)
    return {tuple(said[n : n + GRAM]) for n in range(len(said) - GRAM + 1)}


def texts(profiles: Dataset[Profile]) -> dict[str, str]:
    return {profile.id: told(profile) for profile in profiles}


# Episodes


def shop_of(catalog: Catalog) -> Shop:
    """The run's shop, for `catalog.once`."""
    world = beside(catalog)
    bullets = catalog.table(["bullets"])["bullets"].combine_chunks()
    return Shop(world.store, world.finder, lambda row: bullets[row].as_py() or ())


def by_id(rows: Dataset[Any]) -> dict[str, Any]:
    return {row.id: row for row in rows}


def actions_bring_it_about(
    episode: ShoppingEpisode, shopping_tasks: Dataset[ShoppingTask], profiles: Dataset[Profile], catalog: Catalog
) -> str | None:
    """Played again action by action, it is the same: every page, every word of the shopper's, both rewards, the errors."""
    task = shopping_tasks.once(Nearby).of(episode.task_id)
    if task is None:
        return "a task that is not there"
    if episode.scenario not in scenarios_of(task):
        return "a scenario that its task is not for"
    play = Play(catalog.once(shop_of), task, episode.scenario, profiles.once(by_id).get(task.profile_id))
    for step in episode.steps:
        if play.done:
            return "actions after its end"
        if step.fault.startswith(UNHEARD):
            play.stop(step.fault.removeprefix(UNHEARD))
        else:
            play.step(written(step.thought, step.action, play.multi) if is_action(step) else step.action)
    if not play.done:
        return "it does not end"
    again = play.episode(episode.policy)
    return None if again == episode else "played again it is another episode"


def is_action(step: Step) -> bool:
    return not step.fault.startswith("Your turn has to be")


def solver_buys_what_is_wanted(episode: ShoppingEpisode) -> str | None:
    """The scripted solver succeeds, with the product that the task is about."""
    if episode.policy != "solver":
        return None
    return None if episode.typed.success and episode.typed.same_product else "the solver does not succeed"


def strict_is_never_above_loose(episode: ShoppingEpisode) -> str | None:
    for match in (episode.typed, episode.literal):
        if match.strict > match.loose + 1e-9:
            return "a strict reward above the loose one"
    return None


def splits_share_no_product(shopping_tasks: Dataset[ShoppingTask]) -> Iterable[Fault]:
    """A target is in one split alone."""
    found = shopping_tasks.sql(
        "select filename, file_row_number from (select *, count(distinct split) over (partition by product_id) as splits from rows) "
        "where splits > 1 and split = 'train' order by all"
    )
    return [Fault(file, row, "its target is held out too") for file, row in found]


def instructions_differ(shopping_tasks: Dataset[ShoppingTask]) -> Iterable[Fault]:
    """No two tasks are said alike for the same customer."""
    return repeated(shopping_tasks, "instruction || '|' || profile_id", "said like another task")
