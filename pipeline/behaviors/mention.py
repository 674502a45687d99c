"""A product in a few words: what it is, and what tells it apart from what else is in view. Nobody says a whole title."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random

from shopwright.pipeline.questions.product_nouns import ProductNouns, drop_brand_words, find_noun_runs, has_doubled_word
from shopwright.pipeline.render.pages import sanitize_text
from shopwright.pipeline.shop.store import Item, Store
from shopwright.pipeline.words import STOP

# Products of a shop from which its words for things are learned, at most.
SAMPLE = 4_000
# Words of a mention, at most.
WORDS = 8
# How often the maker is named where nobody need.
NAMED = 0.3
SEGMENT = re.compile(r"[,;|()\[\]–—:]|\s-\s")
# Where a title begins to tell what comes with a thing.
WITH = re.compile(r"(?<!\d)\s(?=(?:with|for|in)\s)")
# A measure that is said before a name: "the 900 W kettle", "the 1970s camera".
MEASURE = re.compile(r"\d[\w./-]*(?: \w{1,4})?(?<!s)|\d{4}s")
PLAIN = re.compile(r"[\w][\w .&'/+-]*")


@lru_cache(2)
def learn_nouns(store: Store) -> ProductNouns:
    """The shop's words for things, from products that lie evenly among all."""
    every = max(1, len(store) // SAMPLE)
    items = (store.item(row) for row in range(0, len(store), every))
    return ProductNouns((item.title, item.brand, item.category, item.color) for item in items)


@lru_cache(50_000)
def list_words(title: str) -> frozenset[str]:
    """
    >>> sorted(list_words("Oak Lamp (12 in), red"))
    ['12', 'in', 'lamp', 'oak', 'red']
    """
    return frozenset(word.strip(".,;:!?()[]\"'").lower() for word in sanitize_text(title).split()) - {""}


def name_product(item: Item, among: Sequence[str], store: Store, random: Random) -> str:
    """Its shortest name that no other title fits, without an article; empty where there is none.

    among: titles of all other products that could be meant.
    """
    noun = find_noun(item, store)
    if not noun:
        return ""
    found = compose_name(noun, (), ())
    others = [title for title in among if is_named_by(title, found)]
    before, after = list[str](), list[str]()
    details = list(list_details(item, noun))
    if details and item.brand and random.random() < NAMED:
        details.sort(key=lambda detail: detail[1] != sanitize_text(item.brand or ""))
        take_detail(details[0], item.title, before, after)
    while others := [title for title in others if is_named_by(title, compose_name(noun, before, after))]:
        fresh = [each for each in details if each[1] not in (*before, *after)]
        if not fresh:
            return ""
        best = min(fresh, key=lambda each: (count_left(each, others), len(each[1])))
        if count_left(best, others) == len(others):
            return ""
        take_detail(best, item.title, before, after)
    name = compose_name(noun, before, after)
    return name if is_sayable(name, item) else ""


def count_left(detail: tuple[str, str], others: Sequence[str]) -> int:
    return sum(list_words(detail[1]) <= list_words(title) for title in others)


def take_detail(detail: tuple[str, str], title: str, before: list[str], after: list[str]) -> None:
    """Puts it where it is said: words before the noun in the title's order, measures last of them."""
    place, text = detail
    if place == "after":
        after.append(text)
    else:
        before.append(text)
        before.sort(key=lambda each: (each[0].isdigit(), title.lower().find(each.lower())))


def compose_name(noun: str, before: Sequence[str], after: Sequence[str]) -> str:
    """
    >>> compose_name("desk lamp", ["Osko", "gray"], ["with cord", "steel"])
    'Osko gray desk lamp with cord (steel)'
    """
    joined = [text for text in after if WITH.match(f" {text}")]
    rest = [text for text in after if text not in joined]
    aside = f" ({', '.join(rest)})" if rest else ""
    return " ".join([*before, noun, *joined]) + aside


def is_named_by(title: str, name: str) -> bool:
    return list_words(name) <= list_words(title)


def is_sayable(name: str, item: Item) -> bool:
    words = name.split()
    return (
        len(words) <= WORDS and not has_doubled_word(word.lower() for word in words) and is_named_by(item.title, name)
    )


def find_noun(item: Item, store: Store) -> str:
    return find_title_noun(sanitize_text(item.title), item.brand, item.category, store)


@lru_cache(50_000)
def find_title_noun(title: str, brand: str | None, category: str, store: Store) -> str:
    """What a title says that the thing is, in at most two words; empty where it does not tell."""
    nouns = learn_nouns(store)
    for run in (*nouns.names_of(title, brand, category), *guess_runs(title, brand, nouns)):
        own = max((place for place, word in enumerate(run[:-1]) if word not in nouns.shared), default=-1)
        words = run[own + 1 :][-2:]
        if words and STOP.isdisjoint(words) and set(words) <= list_words(title):
            return " ".join(words)
    return ""


def guess_runs(title: str, brand: str | None, nouns: ProductNouns) -> Iterator[tuple[str, ...]]:
    """How a title begins, where nothing vouches for a word of it: two plain words or more, the last of which other makers use."""
    run = next((run for run in find_noun_runs(title, nouns.colors) if not run.counted), None)
    if run and run.place == 0 and not run.numbered:
        words = drop_brand_words(set((brand or "").lower().split()), run.words)
        if len(words) > 1 and words[-1] in nouns.shared:
            yield words


def list_details(item: Item, noun: str) -> Iterator[tuple[str, str]]:
    """What is said before its name or after it: its maker, its color, words before the noun, what comes with it, its measures."""
    said, title = set(noun.lower().split()), sanitize_text(item.title)
    if item.brand and list_words(item.brand) <= list_words(title) and said.isdisjoint(list_words(item.brand)):
        yield "brand", sanitize_text(item.brand)
    if item.color and list_words(item.color) <= list_words(title) and said.isdisjoint(list_words(item.color)):
        yield "before", item.color.lower()
    for number, segment in enumerate(SEGMENT.split(title)):
        for part, text in enumerate(WITH.split(segment.strip())):
            aside = text.strip()
            if not number and not part:
                yield from list_adjectives(text, noun, item)
            elif PLAIN.fullmatch(aside) and len(aside.split()) <= 4 and said.isdisjoint(list_words(aside)):
                yield ("before" if MEASURE.fullmatch(aside) else "after"), aside


def list_adjectives(text: str, noun: str, item: Item) -> Iterator[tuple[str, str]]:
    """What stands before the noun: how it is, in two words, and the name of its line, which comes after the maker's."""
    head, found, _ = text.lower().partition(noun)
    own = list_words(item.brand or "") | list_words(item.color or "") | STOP
    words = [word for word in text[: len(head)].split() if word.lower() not in own] if found else []
    words = [word for word in words if re.fullmatch(r"[\w'-]{2,}", word)]
    if words:
        yield "before", words[0]
    if len(words) > 1:
        yield "before", " ".join(words[1:][-2:])
