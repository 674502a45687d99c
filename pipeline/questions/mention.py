"""A product in the shopper's own words: what it is, and as few details as mean exactly one product of the trajectory."""

import re
from collections.abc import Iterator
from itertools import pairwise
from random import Random

from shopwright.pipeline.questions.log import Event, Log, is_mentioned, split_query_words
from shopwright.pipeline.questions.nouns import is_plain_kind, lower_title, make_singular
from shopwright.pipeline.questions.product_nouns import JOINS, TURN, ProductNouns, has_doubled_word
from shopwright.pipeline.questions.rating import stands_in
from shopwright.pipeline.questions.tree import Mention
from shopwright.pipeline.words import STOP

# What a database matches in the same way as we do: no letters with two cases of their own, no wildcards.
PART = re.compile(r"[a-z0-9](?:[a-z0-9 .&'/-]*[a-z0-9])?")
# Where a title begins to speak of something else.
SEGMENT = re.compile(r"[,;|()\[\]–—:]|\s-\s")
# A letter whose lower case is a plain k for some databases, and itself for others.
KELVIN = "\u212a"
# A model number: letters and digits in one.
CODE = re.compile(r"(?=.*\d)(?=.*[a-z])[a-z0-9.-]+")
NUMBER = re.compile(r"\d[\d./-]*")
# Parts of a name, at most, that are added until it names one product alone.
DETAILS = 3
# Words of a longest part.
WORDS = 4
# Words of what it is, at most.
NAME = 3


def collect_product_nouns(log: Log) -> ProductNouns:
    """The words for things in a trajectory."""
    products = log.products.values()
    return ProductNouns((each.product_name or "", each.brand, each.product_types, each.color) for each in products)


def mention_product(log: Log, things: ProductNouns, asin: str) -> Mention | None:
    """What it is, as the shopper typed it where that says it too, and details until it is unique.

    None where its name does not tell what it is.
    """
    first = next((each for each in log.by_asin.get(asin, []) if each.action == "click"), None)
    if first is None:
        return None
    typed = read_words_of_last_search(log, first)
    thing = choose_product_noun(first, things, typed)
    if thing is None:
        return None
    found = Mention(brand=first.brand, parts=(thing,))
    alike = log.products.values() if first.brand is None else log.products_of[first.brand]
    pieces = list_name_details(first, things, thing)
    for _ in range(DETAILS + 1):
        others = [each for each in alike if each.asin != asin and is_mentioned(each, found)]
        if not others:
            return found
        details = [each for each in dict.fromkeys(pieces) if says_something_new(each, found)]
        if not details:
            return None
        left = {each: count_products_with(each, others) for each in details}
        # the part that leaves the fewest others; of equals the shortest
        best = min(details, key=lambda text: (left[text], len(text)))
        if left[best] == len(others):
            return None
        found = found.model_copy(update={"parts": (*found.parts, best)})
    return None


def describe_product(log: Log, things: ProductNouns, asin: str, random: Random) -> Mention | None:
    """What it is by its category, with its color, its brand or details of its name, as few as mean it alone.

    None where its category says no more than other products' names do.
    """
    first = next((each for each in log.by_asin.get(asin, []) if each.action == "click"), None)
    if first is None or first.product_types is None or not is_plain_kind(first.product_types):
        return None
    noun = make_singular(lower_title(first.product_types))
    kin = [each for each in log.products.values() if each.product_types == first.product_types and each.asin != asin]
    sides = [{"brand": first.brand}, {"color": first.color}]
    if random.random() < 0.5:
        sides.reverse()
    for said in ({}, *sides, {"brand": first.brand, "color": first.color}):
        found = Mention(**{"brand": None, "color": None, **said}, category=first.product_types, parts=())
        if None not in said.values() and not any(is_mentioned(each, found) for each in kin):
            return found
    whole = Mention(brand=first.brand, category=first.product_types, parts=())
    others = [each for each in kin if is_mentioned(each, whole)]
    details = [text for text in list_name_details(first, things, noun) if not set(text.split()) & set(noun.split())]
    alone = [text for text in dict.fromkeys(details) if not count_products_with(text, others)]
    return whole.model_copy(update={"parts": (min(alone, key=len),)}) if alone else None


def choose_product_noun(click: Event, things: ProductNouns, typed: frozenset[str]) -> str | None:
    """The end of a run that says what it is: as much of it as was typed, else two words; none that one maker alone uses."""
    for run in things.names_of(click.product_name or "", click.brand, click.product_types):
        most = next(
            (n for n, word in enumerate(reversed(run)) if not typed.issuperset(split_query_words(word))), len(run)
        )
        said = run[-most:] if 1 < most <= NAME else run[-2:]
        own = max((place for place, word in enumerate(said[:-1]) if word not in things.shared), default=-1)
        text = " ".join(said[own + 1 :])
        if is_usable_part(text, click) and not has_doubled_word(said) and not STOP.intersection(said):
            return text
    return None


def count_products_with(text: str, products: list[Event]) -> int:
    return sum(text in each.lower for each in products)


def says_something_new(text: str, found: Mention) -> bool:
    """Whether it says something new: none of its words is said already."""
    said = set(" ".join(found.parts).split())
    return said.isdisjoint(text.split()) and not any(text in part for part in found.parts)


def read_words_of_last_search(log: Log, click: Event) -> frozenset[str]:
    """The words of the search before its click."""
    before = [each for each in log.by_action.get("search", []) if each.timestamp < click.timestamp]
    return frozenset(split_query_words(before[-1].search_query if before else None))


def is_usable_part(text: str, click: Event) -> bool:
    """Whether it stands in the name as words of its own, and reads the same everywhere."""
    return (
        PART.fullmatch(text) is not None and stands_in(text, click.lower) and KELVIN not in (click.product_name or "")
    )


def list_name_details(click: Event, things: ProductNouns, thing: str) -> list[str]:
    """What tells it apart: the pieces of its name between commas, dashes and little words where they are short.

    Of longer ones what stands for itself: its color, a measure with its unit, a number of the model, and how the thing is.
    """
    maker, color = set(split_query_words(click.brand)), (click.color or "").lower()
    found: list[str] = [color] if color in click.lower else []
    for piece in split_product_name(click.lower):
        if len(piece) <= WORDS:
            found += [" ".join(piece)] if not maker.intersection(piece) else []
            continue
        found += [word for word in piece if CODE.fullmatch(word)]
        for one, two in pairwise(piece):
            if NUMBER.fullmatch(one) and two.isalpha() and len(two) > 1 and two not in JOINS:
                found.append(f"{one} {two}")
            if thing.split()[0] == two and one in things.shared and one.isalpha():
                found.append(one)
    return [
        text
        for text in found
        if is_usable_part(text, click) and not NUMBER.fullmatch(text) and not set(text.split()) <= STOP
    ]


def split_product_name(name: str) -> Iterator[list[str]]:
    for segment in SEGMENT.split(name):
        piece: list[str] = []
        for word in segment.split():
            if word in TURN and piece:
                yield piece
                piece = []
            elif word not in TURN:
                piece.append(word)
        if piece:
            yield piece
