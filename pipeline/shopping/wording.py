"""A task in everyday words: what a thing is, what matters about it, and how much of its title that gives away.

The sample shop's words are in `data/reference/everyday/`. What stands there for no category, value or unit (another catalog's) is
said as the catalog writes it.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

from shopwright.pipeline.languages import LANGUAGES
from shopwright.pipeline.prompts import render_phrases
from shopwright.pipeline.shopping.facts import EVERYDAY, MEASURE, load_color_words, normalize_attribute_name
from shopwright.pipeline.words import content_words, separate_chinese_words
from shopwright.schemas.shopping import Language, Need

# Share of a title's words, at most, that an instruction may have.
MOST_TITLE_OVERLAP = 0.5
WORD = re.compile(r"[^\W_]+")
Words = dict[str, Any]


@cache
def load_everyday_words() -> dict[str, Words]:
    """By the name of a leaf category: what it is called, and its names, values and units."""
    found: dict[str, Words] = {}
    for path in sorted(EVERYDAY.glob("*.toml")):
        if path.stem != "colors":
            found |= tomllib.loads(path.read_text(encoding="utf-8"))["leaves"]
    return found


def draw_wording(ways: Sequence[str], random: Random) -> str:
    return ways[int(random.random() * len(ways))]


def phrase_category(category: str, random: Random, *, vague: bool = False) -> str:
    """What a thing is, without the shop's word for it; `vague` leaves open what exactly."""
    known = load_everyday_words().get(category, {})
    return draw_wording(known.get("vague" if vague else "said") or [category.lower()], random)


def phrase_fact_name(category: str, fact: str, language: Language) -> str:
    """How one asks about a fact; where there are no words for it, as the shop's pages name it."""
    known = load_everyday_words().get(category, {}).get("names", {})
    found: Words = next((known[name] for name in known if normalize_attribute_name(name) == fact), {})
    return str(found.get("said", LANGUAGES[language].pages.name(fact)))


PLAIN_FACTS = ("brand", "price", "rating", "shipping days", "review count")


def phrase_need(need: Need, category: str, random: Random) -> str:
    """A need in everyday words, as one says it when asked."""
    if need.fact in PLAIN_FACTS and need.op != "is not":
        return phrase_one("own", need, need.fact)
    if need.op == "kind of":
        return phrase_one("bound", need.value, "", need.op)
    text = phrase_value(need, category, random)
    if need.op in ("at most", "at least", "is not"):
        name = phrase_fact_name(category, need.fact, "en") if need.op != "is not" else ""
        return phrase_one("bound", text, name, need.op)
    if need.fact == "color":
        return text
    if MEASURE.match(need.value) or not find_known_value(need, category):
        return phrase_one("measure", text, phrase_fact_name(category, need.fact, "en"))
    return text


def phrase_one(name: str, *facts: Any) -> str:
    return render_phrases("shopping_tasks", name, *facts)[0]


def find_known_value(need: Need, category: str) -> Words:
    values = load_everyday_words().get(category, {}).get("values", {})
    found: Words = next((values[name] for name in values if normalize_attribute_name(name) == need.fact), {})
    return next((found[value] for value in found if value.lower() == need.value.lower()), {})


def phrase_value(need: Need, category: str, random: Random) -> str:
    known = find_known_value(need, category) or (load_color_words().get(need.value, {}) if need.fact == "color" else {})
    return draw_wording(known["said"], random) if known else need.value


def phrase_instruction(category: str, needs: Sequence[Need], random: Random, *, usual: bool = False) -> str:
    """All that is stated, in one go. usual: there is more, which the shop knows from the profile."""
    stated = [need.said for need in needs if need.known == "stated"]
    details, bounds = [each for each in stated if each not in list_plain_needs(needs)], list_plain_needs(needs)
    thing = phrase_category(category, random)
    return draw_wording(render_phrases("shopping_tasks", "instruction", thing, details, bounds, usual), random)


def list_plain_needs(needs: Sequence[Need]) -> list[str]:
    return [need.said for need in needs if need.known == "stated" and need.fact in PLAIN_FACTS]


def phrase_vague_opening(category: str, random: Random) -> str:
    """The first words of somebody who does not say much."""
    return draw_wording(
        render_phrases("shopping_tasks", "opening", phrase_category(category, random, vague=True)),
        random,
    )


def split_lowercase_words(text: str) -> list[str]:
    """In lower case, in their order, signs left out.

    >>> split_lowercase_words("Pell & Thatch, 12 in")
    ['pell', 'thatch', '12', 'in']
    """
    return WORD.findall(separate_chinese_words(text.lower(), parts=False))


def compute_copied_share(title: str, text: str) -> float:
    """Share of the title's content words that a text has too; numbers and their units aside, for which there are no other words.

    >>> compute_copied_share("Pellworth Basalt white coffee maker, 10 cup", "a maker of white coffee, 10 cup")
    0.6
    """
    said = split_lowercase_words(title)
    units = {word for number, word in pairwise(said) if number[0].isdigit()}
    words = {word for word in content_words(title) if not word[0].isdigit() and word not in units}
    return round(len(words & set(content_words(text))) / len(words), 3) if words else 0.0
