"""What people type when they look around in a category, before they know what they want."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from random import Random
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from shopwright.pipeline.checks.unique import find_repeated_rows, ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.languages import find_language
from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import (
    InvalidReply,
    ask_until_valid,
    make_rejected_row,
    parse_reply_json,
    schema_of,
)
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import render_messages, render_phrases
from shopwright.pipeline.stage import Fault, Plan, Section, Shard, Views, stage
from shopwright.pipeline.words import WORD, split_words
from shopwright.pipeline.world.catalog_columns import load_usual_searches
from shopwright.pipeline.world.category_terms import CategoryTermIndex, CategoryTerms, parse_price_limit
from shopwright.pipeline.world.market import Category, index_categories, summarize_categories
from shopwright.pipeline.world.searches import CAPS
from shopwright.schemas.record import Rejected
from shopwright.schemas.shop import Product, Query

# Of a search as people type it.
MOST_WORDS = 8
# Characters of a search.
LONGEST = 80
# Ways to ask that are tried for each that is wanted.
TRIES = 4
# Characters of a title that a model is shown.
SHOWN = 120
TOKEN = rf"(?:{WORD.pattern}(?:['.&/+-]{WORD.pattern})*['%]?|&)"
TYPED = re.compile(rf"{TOKEN}(?: {TOKEN})*(?: under \$\d+)?")
OTHER_PRICE = re.compile(
    r"\b(?:dollars?|bucks|usd)\b|\b(?:below|over|above|than|up to|max) \d+(?:\.\d+)?$|\bunder \d+\.\d+$"
)
# What speaks to a model and not to a shop: a search that holds it was no customer's.
ORDER = re.compile(
    r"\b(?:ignore|disregard|forget) (?:\w+ ){0,3}(?:instructions?|rules?|prompts?|above)\b|\b(?:system|user) prompt\b"
    r"|\bas an ai\b|\blanguage model\b|\bhttps?\b|\bwww\b|\.com\b"
)
NO_SEARCH = "a text that nobody types: not one to eight lower-case words"
ELSEWHERE = "a text without a word of the category or its products"
STRANGER = "a text with a brand that is not sold there"
PRICE = 'a text with a price that nothing there has, or not said as "under 40" at its end'
ALIKE = "two texts with the same words"

PerCategory = Annotated[int, Field(ge=1, le=100, description="searches for each category")]


def is_typed(text: str) -> bool:
    """Whether somebody may have typed it, whatever it is for: lower-case words, no marks and no orders to a machine.

    >>> is_typed("desk lamp under 40"), is_typed("<b>Lamp</b>"), is_typed("ignore all instructions")
    (True, False, False)
    """
    if len(text) > LONGEST or len(text.split()) > MOST_WORDS or text != text.lower():
        return False
    return bool(TYPED.fullmatch(text)) and not ORDER.search(text)


def find_search_fault(text: str, kind: CategoryTerms, kinds: CategoryTermIndex) -> str | None:
    """What is wrong with a search in this category."""
    if not is_typed(text):
        return NO_SEARCH
    if kind.words.isdisjoint(split_words(text)):
        return ELSEWHERE
    if any(brand not in kind.brands and not kind.titled.issuperset(brand) for brand in kinds.list_brands_in(text)):
        return STRANGER
    limit = parse_price_limit(text)
    return PRICE if OTHER_PRICE.search(text) or (limit is not None and limit < kind.cheapest) else None


def category_is_the_catalogs(query: Query, catalog: Dataset[Product]) -> str | None:
    found = catalog.once(index_categories).get(query.category)
    return None if found and found.group == query.group else "a category that the catalog does not have"


def texts_are_searches_there(query: Query, catalog: Dataset[Product]) -> str | None:
    """Each is typed by people, is for its category, and names only brands and prices that there are."""
    kinds = catalog.once(CategoryTermIndex)
    if query.category not in kinds.stock.place_of_leaf:
        return None  # said by the check of the category
    kind = kinds.of(query.category)
    return next((fault for text in query.texts if (fault := find_search_fault(text, kind, kinds))), None)


def texts_are_distinct(query: Query) -> str | None:
    if not query.texts:
        return "no texts"
    return ALIKE if len(set(map(search_key, query.texts))) < len(query.texts) else None


def search_key(text: str) -> tuple[str, ...]:
    """The same for two texts that differ in the order of their words or a plural."""
    return tuple(sorted(split_words(text)))


def categories_are_unique(queries: Dataset[Query]) -> Iterable[Fault]:
    return find_repeated_rows(queries, "category", "another row for the same category")


def plan_queries(catalog: Dataset[Product]) -> Plan:
    if not len(catalog):
        raise Problem("The catalog has no products, so there is nothing to look for. Look at why they were rejected.")
    return Plan(len(catalog.once(summarize_categories)))


VIEWS = Views(place=13, report=(Section("queries", "Searches", "publish.report_shop:gather_query_facts"),))


@stage(
    makes=Query,
    plan=plan_queries,
    checks=[category_is_the_catalogs, texts_are_searches_there, texts_are_distinct],
    across=[ids_are_unique, categories_are_unique],
    per_shard=(25, 100_000),
    views=VIEWS,
    languages=("en", "zh"),
)
def queries(
    catalog: Dataset[Product], shard: Shard, plan: Plan, writer: Role, *, per_category: PerCategory = 12
) -> Iterator[Query | Rejected]:
    """What people type when they look around in each category, before they know what they want."""
    known, kinds = catalog.once(summarize_categories), catalog.once(CategoryTermIndex)
    how: dict[str, Any] = {"by_model": writer.asks, "language": find_language(catalog).code}
    return writer.play(
        write_category_searches(number, shard.random(number), known[number], kinds, per_category, **how)
        for number in shard.of(plan.units)
    )


class Typed(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="forbid")
    texts: list[str]


def write_category_searches(
    number: int,
    random: Random,
    category: Category,
    kinds: CategoryTermIndex,
    count: int,
    *,
    by_model: bool,
    language: str = "en",
) -> Conversation[Query | Rejected]:
    """The searches of one category; the writer is told which of them do not fit its facts."""
    kind, name = kinds.of(category.name), f"query-{number:07d}"
    facts = {
        "count": count,
        "category": category.name,
        "group": category.group,
        "heads": kind.heads,
        "titles": [title[:SHOWN] for title in kind.titles],
        "brands": category.brands,
        "colors": kind.colors,
        "cheapest": f"{category.cheapest / 100:.2f}",
        "middle": f"{category.middle / 100:.2f}",
    }
    prompt = Prompt(
        "queries",
        tuple(render_messages("queries", **facts)),
        json.dumps({"texts": compose_searches(category, kind, kinds, random, count, language)}),
        schema_of(Typed),
        seed=number,
    )

    def read(reply: Reply) -> Query:
        texts = parse_reply_json(reply, Typed).texts[:count]
        if wrong := group_search_faults(texts, kind, kinds):
            raise InvalidReply(
                "; ".join(f"{fault}: {', '.join(map(json.dumps, found))}" for fault, found in wrong.items()) + "."
            )
        if by_model and len(texts) < count:
            raise InvalidReply(f"{count} texts are asked for.")
        return Query(
            id=name,
            category=category.name,
            group=category.group,
            texts=texts,
            written_by="model" if by_model else "code",
        )

    found = yield from ask_until_valid(prompt, read)
    return found if isinstance(found, Query) else make_rejected_row(name, "searches", facts, found)


def group_search_faults(texts: list[str], kind: CategoryTerms, kinds: CategoryTermIndex) -> dict[str, list[str]]:
    """What is wrong -> the texts with which it is; a row without texts is wrong, too."""
    found: dict[str, list[str]] = defaultdict(list)
    taken: set[tuple[str, ...]] = set()
    for text in texts:
        if fault := find_search_fault(text, kind, kinds) or (ALIKE if search_key(text) in taken else None):
            found[fault].append(text)
        taken.add(search_key(text))
    return found if texts else {"no texts": []}


def compose_searches(
    category: Category, kind: CategoryTerms, kinds: CategoryTermIndex, random: Random, count: int, language: str = "en"
) -> list[str]:
    """Searches from the facts: half of them the usual ones, where the reference knows some, the rest put together."""
    usual = load_usual_searches().get(category.name, [])
    usual = random.sample(usual, len(usual))
    half = (count + 1) // 2
    found: dict[tuple[str, ...], str] = {}
    for text in (*usual[:half], *form_searches(category, kind, random, TRIES * count, language), *usual[half:]):
        if len(found) < count and not find_search_fault(text, kind, kinds):
            found.setdefault(search_key(text), text)
    return list(found.values())


def form_searches(
    category: Category, kind: CategoryTerms, random: Random, count: int, language: str = "en"
) -> Iterator[str]:
    """The names of the kind of thing, then so many ways to ask for it with a color, a brand or a price."""
    names = [*kind.heads[:3], " ".join(WORD.findall(category.name.lower()))]
    yield from names
    low, high = category.quarter, 2 * category.middle
    caps = [cap for cap in CAPS if low <= cap * 100 <= high] or [cap for cap in CAPS if cap * 100 >= low][:1]
    brands = [brand.lower() for brand in category.brands]
    for _ in range(count):
        telling = (random.choice(some) if some else "" for some in (kind.colors, brands, caps))
        said = random.choice(render_phrases("queries", "searches", random.choice(names), *telling, language))
        yield " ".join(dict.fromkeys(said.split()))
