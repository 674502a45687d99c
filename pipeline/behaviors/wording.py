"""What a shopper says of its next step: from code's reason and what the pages show (`prompts/behaviors.offline.j2`), or held against them."""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from random import Random

from shopwright.pipeline.behaviors.reasons import PageFacts
from shopwright.pipeline.behaviors.sessions import CLICK, PURCHASE, SEARCH, Act
from shopwright.pipeline.prompts import render_phrases
from shopwright.schemas.behaviors import Reason

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# A rationale is said by the shopper.
FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself|I'm|I've|I'd|I'll)\b")
# How names of elements look; no shopper says them.
ELEMENT = re.compile(
    r"\b\w+\.\w+_\w+|\b\w+_\w+\b|\bnav\.|\bcart\.(?:add|buy|checkout)|\btabs\.|\boptions\.|\brefinements\."
)
# Letters of a rationale.
LONGEST = 400
# What a rationale may take from pages and searches, of its facts.
QUOTABLE_FACTS = (
    "title",
    "price",
    "rating",
    "query",
    "before",
    "limit",
    "brand",
    "other",
    "other_price",
    "color",
    "wanted",
    "value",
)


def phrase_rationale(reason: Reason, facts: PageFacts, random: Random) -> tuple[str, list[str]]:
    """One way to say it, and what in it was taken from the pages, word for word."""
    ways = render_phrases("behaviors", reason.replace(" ", "_"), facts)
    way = ways[int(random.random() * len(ways))]
    text = way[:1].upper() + way[1:]  # `capitalize` would make the other letters small
    return text, find_quoted_facts(text, facts)


def find_quoted_facts(text: str, facts: PageFacts) -> list[str]:
    """Which of the facts a rationale names.

    >>> find_quoted_facts("I like the Oak lamp.", PageFacts(title="Oak lamp", price="$9.00"))
    ['Oak lamp']
    """
    found = (facts[name].removeprefix("$") if name == "limit" else facts[name] for name in QUOTABLE_FACTS)
    return list(dict.fromkeys(each for each in found if each and each in text))


def describe_intent(errands: Iterable[Sequence[Act]]) -> str:
    """What somebody came for, errand after errand."""
    return " ".join(phrase_errand_goal(*find_errand_goal(errand)) for errand in errands)


def find_errand_goal(errand: Sequence[Act]) -> tuple[str, bool]:
    """What it searches for in the end, and whether it buys something that it did not look at."""
    looked = {act.product for act in errand if act.kind == CLICK}
    queries = [act.query for act in errand if act.kind == SEARCH]
    return (queries or [""])[-1], any(act.kind == PURCHASE and act.product not in looked for act in errand)


@lru_cache(4_096)
def phrase_errand_goal(query: str, bought: bool) -> str:
    return render_phrases("behaviors", "intent", query, bought)[0]


def find_rationale_fault(text: str, seen: Collection[str], name: str) -> str | None:
    """Why a rationale will not do, whoever wrote it: against the words of all pages seen by then and of what was typed.

    name: of the element that is acted on next.
    """
    if not text.strip() or text != " ".join(text.split()) or not text.isprintable():
        return "a rationale that is not one line of text"
    if len(text) > LONGEST:
        return "a rationale that is too long"
    if not FIRST_PERSON.search(text):
        return "a rationale that is not in the first person"
    own = drop_page_words(text, seen)
    if ("." in name and name in own) or ELEMENT.search(own):
        return "a rationale that names an element"
    strange = [number for number in NUMBER.findall(text) if number not in seen and number.replace(",", "") not in seen]
    return "a rationale with a number that no page shows" if strange else None


def drop_page_words(text: str, seen: Collection[str]) -> str:
    """Without the words that pages show: a title may look like an element's name."""
    return " ".join(word for word in text.split() if word.strip("\"'.,;:!?()") not in seen)


def collect_page_words(text: str) -> set[str]:
    """Words and numbers of what was seen, as `find_rationale_fault` looks them up."""
    return {word.strip("\"'.,;:!?()") for word in text.split()} | set(NUMBER.findall(text))


def find_model_rationale_fault(text: str, facts: PageFacts, name: str) -> str | None:
    """Why a model's rationale will not do: it may take from the pages only the facts of its step."""
    return find_rationale_fault(text, collect_page_words(" ".join(facts.values())), name)
