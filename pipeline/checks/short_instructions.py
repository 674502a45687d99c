"""A short instruction says what its task needs and nothing else: read back by a reader that shares nothing with the writer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pyarrow as pa

from shopwright.pipeline.catalog.chinese_shop import map_leaves
from shopwright.pipeline.checks.openings import list_nouns
from shopwright.pipeline.checks.shopping import (
    Catalog,
    Offers,
    Variants,
    begin_again,
    collect_task_word_grams,
    load_offers,
    map_product_titles,
)
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.reading.chinese_instructions import ChineseReader
from shopwright.pipeline.reading.kinds import list_forms, list_names_of
from shopwright.pipeline.reading.short_instructions import (
    CategoryFacts,
    ShortReader,
    list_misreadings,
    normalize_typing,
)
from shopwright.pipeline.shopping.expert import EXPERT
from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.pipeline.shopping.seen_words import list_unseen
from shopwright.pipeline.words import split_words
from shopwright.schemas.shopping import Need, Profile, ShoppingEpisode, ShoppingTask

READERS: dict[str, type[ShortReader] | type[ChineseReader]] = {"en": ShortReader, "zh": ChineseReader}
MEASURE = re.compile(r"\s*-?\d+(?:\.\d+)?\s*\D*")


@dataclass(frozen=True)
class ShortShop:
    """What short instructions can be about: the categories' names, and what their things have, from the catalog's Parquet by SQL."""

    offers: Offers

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        found = set[tuple[str, str]]()
        for leaf in self.offers.categories:
            found |= {(name, leaf) for name in list_category_names(leaf)}
        return sorted(found, key=lambda pair: (-len(pair[0]), pair))

    @cached_property
    def thing_words(self) -> frozenset[str]:
        """The words of all that things are called."""
        return frozenset(chain.from_iterable(split_words(name) for name, _ in self.names))

    @cached_property
    def facts(self) -> dict[str, CategoryFacts]:
        return {}

    def facts_of(self, category: str) -> CategoryFacts:
        if category not in self.facts:
            self.offers.load([category])
            rows = self.offers.connection.execute(
                "SELECT DISTINCT fact, value, amount, base FROM fact WHERE category = ? AND value IS NOT NULL ORDER BY ALL",
                [category],
            ).fetchall()
            values: dict[str, dict[str, tuple[float, str] | None]] = {}
            for fact, value, amount, base in rows:
                measured = amount is not None and MEASURE.fullmatch(value) is not None
                text = " ".join(value.split())
                values.setdefault(fact, {})[text] = (float(amount), base or "") if measured else None
            self.facts[category] = CategoryFacts(values)
        return self.facts[category]


def list_category_names(leaf: str) -> set[str]:
    """All that a thing of a category may be called, in lower case; signs other than a hyphen as people type them."""
    if known := map_leaves().get(leaf):
        return {leaf, *known.nouns}
    names = {*list_nouns(leaf), *list_names_of(leaf), leaf, leaf.removesuffix(" - General")}
    plain = {" ".join(re.sub(r"[^\w\s'-]+", " and ", name).lower().split()) for name in names}
    return plain.union(*map(list_forms, plain))


SHOPS: dict[int, ShortShop] = {}


def open_short_shop(catalog: Catalog, variants: Variants) -> ShortShop:
    """Made once in this process for what is there now."""
    offers = load_offers(catalog, variants)
    if id(offers) not in SHOPS:
        SHOPS.clear()
        SHOPS[id(offers)] = ShortShop(offers)
    return SHOPS[id(offers)]


def find_short_misreading(task: ShoppingTask, shop: ShortShop) -> str | None:
    """What of the instruction or of the opening is not read as the needs that it states."""
    stated = [need for need in task.needs if need.known == "stated"]
    first = [need for need in stated if need.fact in task.opening_facts]
    return find_misreading(task, task.instruction, stated, task.purpose, shop) or (
        find_misreading(task, task.simple_instruction, first, "", shop) if first else None
    )


def find_misreading(task: ShoppingTask, text: str, needs: Sequence[Need], purpose: str, shop: ShortShop) -> str | None:
    reader = READERS[task.language](text, shop.names, shop.facts_of)
    categories, read, strange = reader.read()
    if categories != [task.category]:
        return f"its thing is read as {' and '.join(categories) or 'nothing'}"
    expected = [(need.fact, need.op, " ".join(need.value.split())) for need in needs]
    wrong = list_misreadings(expected, read)
    if wrong:
        return f"it is read otherwise: {'; '.join(wrong)}"
    if reader.purpose != normalize_typing(purpose).strip():
        return f"its purpose is read as {reader.purpose or 'nothing'}"
    return f"it says more than its needs: {' '.join(strange)}" if strange else None


def find_title_run(instruction: str, title: str) -> str | None:
    """Three words in a row that the title has, too."""
    shared = collect_task_word_grams(instruction) & collect_task_word_grams(title)
    return "three words of its title in a row" if shared else None


def expert_uses_what_it_saw(
    episode: ShoppingEpisode,
    shopping_tasks: Dataset[ShoppingTask],
    profiles: Dataset[Profile],
    catalog: Catalog,
    variants: Variants,
) -> str | None:
    """Every word that the expert searches for, says and thinks, and everything that it clicks, was there before, or is plain."""
    play = begin_again(episode, shopping_tasks, profiles, catalog)
    if episode.policy != EXPERT or play is None:
        return None
    things = open_short_shop(catalog, variants).thing_words
    texts = [play.opening, describe_profile(play.profile, play.task.language) if play.profile else "", play.first.text]
    unseen = next(list_unseen(texts, play.first.clickables, episode.steps, things), "")
    return f"it uses what it has not seen: {unseen}" if unseen else None


def short_instruction_is_read_back(batch: pa.RecordBatch, catalog: Catalog, variants: Variants) -> Iterator[str | None]:
    """A short instruction is read as its stated needs, no less and no more, and has no three words in a row of its title."""
    titles: Mapping[str, str] = catalog.once(map_product_titles)
    for row in batch.to_pylist():
        task = ShoppingTask.model_validate(row)
        if task.wording != "short":
            yield None
        else:
            run = find_title_run(task.instruction, titles.get(task.product_id, ""))
            yield run or find_short_misreading(task, open_short_shop(catalog, variants))
