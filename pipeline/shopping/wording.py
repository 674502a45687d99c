"""A task in everyday words, English or Chinese: what a thing is, what matters about it, and how much of its title that gives away.

The sample shop's words are in `data/reference/everyday/`. What stands there for no category, value or unit (another catalog's) is
said as the catalog writes it.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from pipeline.prompts import phrases
from pipeline.shopping.facts import MEASURE, plain
from pipeline.words import content_words
from schemas.shopping import Language, Need

FOLDER = Path(__file__).parents[2] / "data" / "reference" / "everyday"
COPIED = 0.5
"""Share of a title's words, at most, that an instruction may have."""
WORD = re.compile(r"[^\W_]+")
Words = dict[str, Any]


@cache
def leaves() -> dict[str, Words]:
    """By the name of a leaf category: what it is called, and its names, values and units."""
    found: dict[str, Words] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        if path.stem != "colors":
            found |= tomllib.loads(path.read_text(encoding="utf-8"))["leaves"]
    return found


@cache
def colors() -> dict[str, Words]:
    """By a color's name: its family, how one says it, and its Chinese."""
    path = FOLDER / "colors.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def one_of(ways: Sequence[str], random: Random) -> str:
    return ways[int(random.random() * len(ways))]


def kind_of(category: str, language: Language, random: Random, *, vague: bool = False) -> str:
    """What a thing is, without the shop's word for it; `vague` leaves open what exactly."""
    known = leaves().get(category, {})
    key = ("vague" if vague else "said") if language == "en" else ("zh_vague" if vague else "zh_said")
    return one_of(known.get(key) or [category.lower()], random)


def called(name: str, language: Language) -> str:
    """A category or a color in that language, where there is a word for it; any other name as it is."""
    known = leaves().get(name) or colors().get(name) or {}
    return str(known.get("zh", name)) if language == "zh" else name


def name_of(category: str, fact: str, language: Language) -> str:
    """How one asks about a fact."""
    known = leaves().get(category, {}).get("names", {})
    found: Words = next((known[name] for name in known if plain(name) == fact), {})
    usual = {"en": fact, "zh": OWN_NAMES.get(fact, fact)}
    return str(found.get("said" if language == "en" else "zh", usual[language]))


OWN_NAMES = {
    "brand": "品牌", "color": "颜色", "price": "价格", "rating": "评分", "shipping days": "送达时间", "review count": "评价数量",
    "size": "尺码",
}  # fmt: skip
OWN = ("brand", "price", "rating", "shipping days", "review count")


def said(need: Need, category: str, language: Language, random: Random) -> str:
    """A need in everyday words, as one says it when asked."""
    if need.fact in OWN:
        return macro("own", need, need.fact, language)
    text = value_of(need, category, language, random)
    if need.fact == "color":
        return text
    if MEASURE.match(need.value) or not known_value(need, category):
        return macro("measure", text, name_of(category, need.fact, language), language)
    return text


def macro(name: str, *facts: Any) -> str:
    return phrases("shopping_tasks", name, *facts)[0]


def known_value(need: Need, category: str) -> Words:
    values = leaves().get(category, {}).get("values", {})
    found: Words = next((values[name] for name in values if plain(name) == need.fact), {})
    return next((found[value] for value in found if value.lower() == need.value.lower()), {})


def value_of(need: Need, category: str, language: Language, random: Random) -> str:
    known = known_value(need, category) or (colors().get(need.value, {}) if need.fact == "color" else {})
    if known:
        return one_of(known["said"], random) if language == "en" else str(known["zh"])
    found = MEASURE.match(need.value)
    units = leaves().get(category, {}).get("units", {})
    if language == "zh" and found and (unit := (found["unit"] or "").strip()) in units:
        return str(units[unit]).replace("{n}", found["number"])
    return need.value


def instruction(
    category: str, needs: Sequence[Need], language: Language, random: Random, *, usual: bool = False
) -> str:
    """All that is stated, in one go. usual: there is more, which the shop knows from the profile."""
    stated = [need.said for need in needs if need.known == "stated"]
    details, bounds = [each for each in stated if each not in own(needs)], own(needs)
    thing = kind_of(category, language, random)
    return one_of(phrases("shopping_tasks", "instruction", thing, details, bounds, usual, language), random)


def own(needs: Sequence[Need]) -> list[str]:
    return [need.said for need in needs if need.known == "stated" and need.fact in OWN]


def opening(category: str, language: Language, random: Random) -> str:
    """The first words of somebody who does not say much."""
    return one_of(
        phrases("shopping_tasks", "opening", kind_of(category, language, random, vague=True), language), random
    )


def words_of(text: str) -> list[str]:
    """In lower case, in their order, signs left out.

    >>> words_of("Pell & Thatch, 12 in")
    ['pell', 'thatch', '12', 'in']
    """
    return WORD.findall(text.lower())


def overlap(title: str, text: str) -> float:
    """Share of the title's content words that a text has too; numbers and their units aside, for which there are no other words.

    >>> overlap("Pellworth Basalt white coffee maker, 10 cup", "a maker of white coffee, 10 cup")
    0.6
    """
    said = words_of(title)
    units = {word for number, word in pairwise(said) if number[0].isdigit()}
    words = {word for word in content_words(title) if not word[0].isdigit() and word not in units}
    return round(len(words & set(content_words(text))) / len(words), 3) if words else 0.0
