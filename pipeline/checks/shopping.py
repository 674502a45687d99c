"""What must be true of a shopping task, found out from the catalog's Parquet by DuckDB, and not by what drew it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.checks.record_cache import RecordCache
from shopwright.pipeline.checks.unique import find_repeated_rows, find_rows_in_two_splits
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.evaluate.situation import play_offline
from shopwright.pipeline.files import connect_duckdb
from shopwright.pipeline.languages import find_language
from shopwright.pipeline.shopping import wording
from shopwright.pipeline.shopping.facts import UNITS, load_color_words, parse_measurement
from shopwright.pipeline.shopping.play import Play, ShopResources, format_turn, list_scenarios
from shopwright.pipeline.shopping.players import play_solver
from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.pipeline.stage import Fault
from shopwright.schemas.certificates import AnyOf, Lines, Malformed, describe, parse_certificate, parse_miss
from shopwright.schemas.shop import Product, Variant
from shopwright.schemas.shopping import Profile, ShoppingEpisode, ShoppingTask

# Words in a row that no profile may share with its target's title.
GRAM = 3
Catalog = Dataset[Product]
Variants = Dataset[Variant]
# By task: product, variant and the facts that it breaks.
Met = dict[int, list[tuple[str, str, tuple[str, ...]]]]


class Offers:
    """Everything that can be bought, with each of its facts as a row: what a need is looked up in.

    A choice of the variant stands for the product's fact of the same name; a measure is in its base unit; prices are dollars.
    A category's facts become rows when it is asked for, so that a catalog of a million products is open in seconds.
    """

    def __init__(self, catalog: Catalog, variants: Variants) -> None:
        self.products, self.variants = catalog.table(PRODUCT_COLUMNS), variants.table(VARIANT_COLUMNS)
        coded = pc.dictionary_encode(self.products["category"]).combine_chunks()
        self.categories: list[str] = coded.dictionary.to_pylist()
        self.category_of = coded.indices.to_numpy()
        self.owner_of = pc.index_in(self.variants["product_id"], self.products["id"].combine_chunks()).to_numpy()
        self.loaded = set[str]()
        self.connection = connection = connect_duckdb()
        connection.execute("SET threads = 1")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute("CREATE SEQUENCE offers")
        units = [{"unit": unit, "base": base, "factor": factor} for unit, (base, factor) in UNITS.items()]
        connection.register("units", pa.Table.from_pylist(units))
        families = [{"color": color, "family": each["family"]} for color, each in load_color_words().items()]
        connection.register("families", pa.Table.from_pylist(families))
        self.fill(self.products.slice(0, 0), self.variants.slice(0, 0), "CREATE OR REPLACE TABLE {} AS {}")

    def load(self, categories: Iterable[str]) -> None:
        """Makes rows of all that these categories sell."""
        wanted = {*categories}.intersection(self.categories)
        if wanted <= self.loaded:
            return
        ((held,),) = self.connection.execute("SELECT COUNT(*) FROM offer").fetchall()
        how = "INSERT INTO {} {}"
        if held > MOST_OFFERS:
            how = "CREATE OR REPLACE TABLE {} AS {}"
            self.loaded.clear()
        codes = [code for code, leaf in enumerate(self.categories) if leaf in wanted - self.loaded]
        chosen = np.isin(self.category_of, codes)
        self.fill(self.products.filter(pa.array(chosen)), self.variants.filter(pa.array(chosen[self.owner_of])), how)
        self.loaded |= wanted

    def fill(self, products: pa.Table, variants: pa.Table, how: str) -> None:
        self.connection.register("product", products)
        self.connection.register("variant", variants)
        for name, query in OFFERS.items():
            self.connection.execute(how.format(name, query))
        self.connection.unregister("product")
        self.connection.unregister("variant")

    def few(self, tasks: list[dict[str, Any]], most: int) -> Met:
        """For each task what breaks at most so many of its needs."""
        rows = []
        for place, task in enumerate(tasks):
            for number, need in enumerate(task["needs"]):
                about = {"task": place, "category": task["category"], "place": number}
                rows.append({**about, **convert_need_to_row(need)})
        if not rows:
            return {}
        self.load(task["category"] for task in tasks)
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
PRODUCT_COLUMNS = ["id", "category", "brand", "color", "price", "rating", "shipping_days", "review_count", "attributes"]
VARIANT_COLUMNS = ["id", "product_id", "choices", "stock", "price"]
# Offers that are kept as rows beside those that are asked for: half a gigabyte.
MOST_OFFERS = 200_000
OFFERS = {
    "offer": """SELECT NEXTVAL('offers') AS offer, p.id AS product,
      COALESCE(v.id, '') AS variant, p.category, COALESCE(v.stock, 1) > 0 AS stocked
    FROM product p LEFT JOIN variant v ON v.product_id = p.id""",
    "fact": r"""WITH said AS (
      SELECT product, variant, fact, ARG_MAX(value, rank) AS value FROM (
        SELECT o.product, o.variant, LOWER(REPLACE(a.name, '_', ' ')) AS fact, a.value AS value, 1 AS rank
        FROM offer o JOIN (SELECT id, UNNEST(attributes) AS a FROM product) p ON p.id = o.product
        UNION ALL SELECT o.product, o.variant, 'brand', p.brand, 2 FROM offer o JOIN product p ON p.id = o.product
        UNION ALL SELECT o.product, o.variant, 'color', p.color, 2 FROM offer o JOIN product p ON p.id = o.product
        UNION ALL SELECT v.product_id, v.id, LOWER(REPLACE(c.name, '_', ' ')), c.value, 3
        FROM (SELECT product_id, id, UNNEST(choices) AS c FROM variant) v
      ) WHERE value IS NOT NULL GROUP BY ALL)
    SELECT o.offer, o.category, s.fact, LOWER(TRIM(s.value)) AS value, c.family,
      TRY_CAST(m[1] AS DOUBLE) * COALESCE(u.factor, 1) AS amount, COALESCE(u.base, TRIM(m[2])) AS base
    FROM (SELECT *, REGEXP_EXTRACT_ALL(value, '^\s*(-?\d+(?:\.\d+)?)\s*(\D.*)?$', 1) || REGEXP_EXTRACT_ALL(value,
      '^\s*(-?\d+(?:\.\d+)?)\s*(\D.*)?$', 2) AS m FROM said) s
    JOIN offer o ON o.product = s.product AND o.variant = s.variant LEFT JOIN units u ON u.unit = TRIM(s.m[2])
    LEFT JOIN families c ON s.fact = 'color' AND c.color = LOWER(TRIM(s.value))
    UNION ALL SELECT o.offer, o.category, 'price', NULL, NULL, COALESCE(v.price, p.price)::DOUBLE, 'dollars'
    FROM offer o JOIN product p ON p.id = o.product LEFT JOIN variant v ON v.id = o.variant
    UNION ALL SELECT o.offer, o.category, f.fact, NULL, NULL, f.amount, ''
    FROM offer o JOIN (UNPIVOT (SELECT id, ROUND(rating, 2)::DOUBLE AS rating, shipping_days::DOUBLE AS "shipping days",
      review_count::DOUBLE AS "review count" FROM product) ON rating, "shipping days", "review count"
      INTO NAME fact VALUE amount) f ON f.id = o.product""",
}
BROKEN = """
    WITH size AS (SELECT task, ANY_VALUE(category) AS category, COUNT(*) AS needs FROM need GROUP BY task),
    met AS (
      SELECT n.task, f.offer, LIST(n.fact) AS facts FROM need n JOIN fact f ON f.category = n.category AND f.fact = n.fact AND (
        (n.op = 'is' AND (f.value = n.value OR (f.base = n.base AND ABS(f.amount - n.amount) <= 1e-6 * GREATEST(ABS(f.amount), ABS(n.amount)))))
        OR (n.op = 'is not' AND f.value <> n.value
          AND NOT COALESCE(f.base = n.base AND ABS(f.amount - n.amount) <= 1e-6 * GREATEST(ABS(f.amount), ABS(n.amount)), FALSE))
        OR (n.op = 'kind of' AND f.family = n.value)
        OR (n.op = 'about' AND f.base = n.base AND ABS(f.amount - n.amount) <= 0.1 * n.amount + 1e-6)
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


def convert_need_to_row(need: dict[str, Any]) -> dict[str, Any]:
    """A need as a row: its value in lower case, and as a measure."""
    if need["fact"] == "price":
        return {"fact": "price", "op": need["op"], "value": None, "amount": float(need["value"]), "base": "dollars"}
    found = parse_measurement(need["value"])
    amount, base = found or (None, None)
    return {
        "fact": need["fact"],
        "op": need["op"],
        "value": need["value"].strip().lower(),
        "amount": amount,
        "base": base,
    }


OFFERS_CACHE: dict[str, tuple[tuple[str, str], Offers]] = {}


def load_offers(catalog: Catalog, variants: Variants) -> Offers:
    """Made once in this process for what is there now."""
    prints = tuple(found.manifest.fingerprint if found.manifest else "" for found in (catalog, variants))
    key = str(catalog.run)
    if key not in OFFERS_CACHE or OFFERS_CACHE[key][0] != prints:
        OFFERS_CACHE.clear()
        OFFERS_CACHE[key] = (prints[0], prints[1]), Offers(catalog, variants)
    return OFFERS_CACHE[key][1]


def just_its_products_satisfy_it(batch: pa.RecordBatch, catalog: Catalog, variants: Variants) -> Iterator[str | None]:
    """Of everything in the whole catalog that can be bought just the products of its certificate meet every need, in just those variants."""
    tasks = batch.to_pylist()
    met = load_offers(catalog, variants).few(tasks, 0)
    for place, task in enumerate(tasks):
        found = [(product, variant) for product, variant, _ in met.get(place, [])]
        products = {product for product, _ in found}
        if (task["product_id"], task["variant_id"]) not in found:
            yield "its target does not satisfy it"
        elif len(products) > 1 and task["right"] == "one product":
            yield "another product satisfies it too"
        elif len(products) == 1 and task["right"] != "one product":
            yield "one product alone satisfies it"
        else:
            yield wrong_certificate(task["acceptable"], found)


def no_need_is_idle(batch: pa.RecordBatch, catalog: Catalog, variants: Variants) -> Iterator[str | None]:
    """Without any one of its needs another product would satisfy it: something breaks just that one."""
    tasks = batch.to_pylist()
    near = load_offers(catalog, variants).few(tasks, 1)
    for place, task in enumerate(tasks):
        found = near.get(place, [])
        right = {product for product, _, broken in found if not broken}
        decisive = {broken[0] for product, _, broken in found if product not in right}
        idle = [need["fact"] for need in task["needs"] if need["fact"] not in decisive]
        yield "a need without which the same products satisfy it" if idle else None


def wrong_certificate(text: str, found: Sequence[tuple[str, str]]) -> str | None:
    """Whether the certificate says that any of these products is to be bought, in these variants and no other; found: pairs of both."""
    try:
        certified = parse_certificate(text)
    except Malformed as error:
        return f"its certificate: {error}"
    if not isinstance(certified, AnyOf) or any(len(end.bought) != 1 for end in certified.ends):
        return f"its certificate: expected AnyOf with 1 product in each end, found {describe(certified)}"
    lines = [end.bought[0] for end in certified.ends]
    if sorted(line.product_id for line in lines) != sorted({product for product, _ in found}):
        return "its certificate has other products than those that satisfy it"
    if any(line.quantity != 1 for line in lines):
        return "its certificate has more than one piece"
    for line in lines:
        variants = {variant for product, variant in found if product == line.product_id} - {""}
        if variants - set(line.variants):
            return "its certificate lacks a variant that satisfies it"
        if set(line.variants) - variants:
            return "its certificate has a variant that does not satisfy it"
    return None


def nearest_miss_misses(batch: pa.RecordBatch, catalog: Catalog, variants: Variants) -> Iterator[str | None]:
    """It is a product that is not right and can be bought, and breaks just the needs that are said, of which there are fewest."""
    tasks = batch.to_pylist()
    misses: list[tuple[str, str, tuple[str, ...]] | Malformed] = []
    for task in tasks:
        try:
            found_miss = parse_miss(task["nearest_miss"])
        except Malformed as error:
            misses.append(error)
            continue
        # Product and variant are empty where there is none.
        line = found_miss.end.bought[0] if found_miss.end.bought else Lines(product_id="")
        variant = line.variants[0] if line.variants else ""
        misses.append((line.product_id, variant, tuple(sorted(found_miss.breaks))))
    most = [
        len(task["needs"] if isinstance(miss, Malformed) else miss[2] or task["needs"])
        for miss, task in zip(misses, tasks, strict=True)
    ]
    found = load_offers(catalog, variants).few(tasks, max(most, default=0))
    for place, miss in enumerate(misses):
        if isinstance(miss, Malformed):
            yield f"its nearest miss: {miss}"
            continue
        product, variant, breaks = miss
        right = {one for one, _, broken in found.get(place, []) if not broken}
        others = {(one, other): broken for one, other, broken in found.get(place, []) if one not in right}
        if not product:
            yield None if not others else "there is a nearer miss"
        elif others.get((product, variant)) != breaks:
            yield "a nearest miss that breaks something else"
        else:
            nearer = any(len(broken) < len(breaks) for broken in others.values())
            yield "there is a nearer miss" if nearer else None


def row_agrees_with_its_needs(task: ShoppingTask) -> str | None:
    """Options, attributes, limit, grade and what the profile carries are those of the needs."""
    options = [need for need in task.needs if need.kind == "option"]
    attributes = [need for need in task.needs if need.kind == "attribute"]
    prices = [need for need in task.needs if need.kind == "price"]
    limit = [] if task.price_limit is None else [f"{task.price_limit:.2f}"]
    most = [Decimal(need.value) * (11 if need.op == "about" else 10) / 10 for need in prices]
    same = (
        [(each.name, each.value) for each in task.options] == [(need.fact, need.value) for need in options]
        and task.attributes == [need.value for need in attributes]
        and limit == [f"{each:.2f}" for each in most]
        and task.reason_keys == [need.fact for need in task.needs if need.known == "profile"]
        and bool(task.profile_id) == bool(task.reason_keys)
        and len({need.fact for need in task.needs}) == len(task.needs)
        and task.grade == (1 if len(task.needs) <= 3 else 2 if len(task.needs) <= 5 else 3)
    )
    return None if same else "the row and its needs differ"


def instruction_says_what_is_stated(task: ShoppingTask) -> str | None:
    """Every stated need is in the instruction, in its words, and none that the profile carries; the opening tells those that it should."""
    for need in task.needs:
        if need.known == "stated" and need.said not in task.instruction:
            return "a need that the instruction does not say"
        if need.known == "profile" and (
            text_contains_value(need.said, task.instruction) or text_contains_value(need.value, task.instruction)
        ):
            return "the instruction says what the profile carries"
        if need.fact not in task.opening_facts and text_contains_value(need.said, task.simple_instruction):
            return "the opening tells a need"
        if need.fact in task.opening_facts and need.said not in task.simple_instruction:
            return "a need that the opening does not tell"
    stated = {need.fact for need in task.needs if need.known == "stated"}
    return (
        None if not task.opening_facts or set(task.opening_facts) < stated else "the opening leaves nothing to ask for"
    )


def text_contains_value(value: str, text: str) -> bool:
    """Whether a value stands there as words of its own, of whatever length.

    >>> text_contains_value("red", "likes Red, blue"), text_contains_value("red", "hundred"), text_contains_value("Semi-Gloss", "a semi-gloss finish")
    (True, False, True)
    """
    said = " ".join(wording.split_lowercase_words(value))
    return bool(said) and f" {said} " in f" {' '.join(wording.split_lowercase_words(text))} "


def title_is_not_copied(batch: pa.RecordBatch, catalog: Catalog) -> Iterator[str | None]:
    known = catalog.once(map_product_titles)
    for task in batch.select(["product_id", "instruction", "title_overlap"]).to_pylist():
        share = wording.compute_copied_share(known.get(task["product_id"], ""), task["instruction"])
        if share != task["title_overlap"]:
            yield "another overlap with the title"
        else:
            yield "too many of the title's words" if share > wording.MOST_TITLE_OVERLAP else None


def map_product_titles(catalog: Catalog) -> dict[str, str]:
    table = catalog.table(["id", "title"])
    return dict(zip(table["id"].to_pylist(), table["title"].to_pylist(), strict=True))


def profile_gives_nothing_away(task: ShoppingTask, profiles: Dataset[Profile], catalog: Catalog) -> str | None:
    """The profile is there; it holds no value of a stated need, and no three words of the target's title."""
    if not task.profile_id:
        return None
    text = profiles.once(render_profile_texts).get(task.profile_id)
    if text is None:
        return "a profile that is not there"
    return find_profile_leak(task, text, catalog.once(map_product_titles).get(task.product_id, ""))


def find_profile_leak(task: ShoppingTask, text: str, title: str) -> str | None:
    """What a profile, as it is told, says of a target that it should not."""
    for need in task.needs:
        # An hour or a price of the profile may be the same bare number.
        named = any(letter.isalpha() for letter in need.value)
        if need.known == "stated" and need.kind != "price" and named and text_contains_value(need.value, text):
            return "the profile tells what the instruction states"
    carried = [task.category, *(need.value for need in task.needs if need.known == "profile")]
    own = set(chain.from_iterable(map(wording.split_lowercase_words, carried)))
    shared = collect_task_word_grams(title) & collect_task_word_grams(text)
    return "the profile holds words of its target" if any(not own.issuperset(gram) for gram in shared) else None


def collect_task_word_grams(text: str) -> set[tuple[str, ...]]:
    said = wording.split_lowercase_words(text)
    return {tuple(said[n : n + GRAM]) for n in range(len(said) - GRAM + 1)}


def render_profile_texts(profiles: Dataset[Profile]) -> dict[str, str]:
    language = find_language(profiles).code
    return {profile.id: describe_profile(profile, language) for profile in profiles}


# Episodes


def shop_of(catalog: Catalog) -> ShopResources:
    """The run's shop, for `catalog.once`."""
    world = load_world_beside(catalog)
    bullets = catalog.table(["bullets"])["bullets"].combine_chunks()
    return ShopResources(world.store, world.finder, lambda row: bullets[row].as_py() or ())


def index_profile_records(rows: Dataset[Any]) -> dict[str, Any]:
    return {row.id: row for row in rows}


def actions_bring_it_about(
    episode: ShoppingEpisode, shopping_tasks: Dataset[ShoppingTask], profiles: Dataset[Profile], catalog: Catalog
) -> str | None:
    """Played again action by action, it is the same: every page, every word of the shopper's, both rewards, the errors."""
    if shopping_tasks.once(RecordCache).of(episode.task_id) is None:
        return "a task that is not there"
    play = begin_again(episode, shopping_tasks, profiles, catalog)
    if play is None:
        return "a scenario that its task is not for"
    for step in episode.steps:
        if play.done:
            return "actions after its end"
        # What could not be read was kept as it came, thought and all.
        malformed = step.fault.startswith("Your turn has to be")
        play.step(step.action if malformed else format_turn(step.thought, step.action, play.multi))
    if not play.done:
        return "it does not end"
    again = play.episode(episode.policy)
    return None if again == episode else "played again it is another episode"


def solver_buys_what_is_wanted(
    episode: ShoppingEpisode, shopping_tasks: Dataset[ShoppingTask], profiles: Dataset[Profile], catalog: Catalog
) -> str | None:
    """Whoever played it: the scripted solver, who knows the goal, succeeds with the product that the task is about."""
    play = begin_again(episode, shopping_tasks, profiles, catalog)
    if play is None:
        return None
    match = play_offline(play, play_solver).episode.match()
    return None if match.success and match.same_product else "the solver does not succeed"


def begin_again(
    episode: ShoppingEpisode, shopping_tasks: Dataset[ShoppingTask], profiles: Dataset[Profile], catalog: Catalog
) -> Play | None:
    """The beginning of an episode; None where its task is not there, or not for its scenario."""
    task = shopping_tasks.once(RecordCache).of(episode.task_id)
    if task is None or episode.scenario not in list_scenarios(task):
        return None
    profile = profiles.once(index_profile_records).get(task.profile_id)
    return Play(catalog.once(shop_of), task, episode.scenario, profile)


def shared_nodes_are_one_type(
    episode: ShoppingEpisode, shopping_tasks: Dataset[ShoppingTask], catalog: Catalog
) -> str | None:
    """By the published formula what shares two nodes of the catalog's category paths with the target is of its type."""
    task, known = shopping_tasks.once(RecordCache).of(episode.task_id), catalog.once(map_category_paths)
    if task is None or not episode.bought_product:
        return None
    shared = set(known.get(episode.bought_product, ())) & set(known.get(task.product_id, ()))
    return "two shared category nodes and another type" if len(shared) >= 2 and episode.literal.type < 1 else None


def map_category_paths(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    table = catalog.table(["id", "category_path"])
    once: dict[tuple[str, ...], tuple[str, ...]] = {}  # thousands of products share a path
    rows = (tuple(path) for path in table["category_path"].to_pylist())
    return {id: once.setdefault(path, path) for id, path in zip(table["id"].to_pylist(), rows, strict=True)}


def strict_is_never_above_loose(episode: ShoppingEpisode) -> str | None:
    for match in (episode.typed, episode.literal):
        if match.strict > match.loose + 1e-9:
            return "a strict reward above the loose one"
    return None


def splits_share_no_product(shopping_tasks: Dataset[ShoppingTask]) -> Iterable[Fault]:
    """A target is in one split alone."""
    return find_rows_in_two_splits(shopping_tasks, "product_id", "its target is held out too")


def instructions_differ(shopping_tasks: Dataset[ShoppingTask]) -> Iterable[Fault]:
    """No two tasks are said alike for the same customer."""
    return find_repeated_rows(shopping_tasks, "instruction || '|' || profile_id", "said like another task")
