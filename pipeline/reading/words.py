"""The words of the shop that stand for a value by themselves: days, hours, money, ordinals, and the names in a log."""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from shopwright.pipeline.reading.calendar import read_calendar, read_date, shift_date
from shopwright.pipeline.reading.grammar import Terminal, make_regex_terminal
from shopwright.pipeline.reading.kinds import list_names_of

ORDINAL_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
NUMBER_WORDS = "one two three four five six seven eight nine ten".split()
FIRST_WORD = re.compile(r"\w+|\S")
# Where a name can end.
BREAK = re.compile(r"(?<=\w)(?!\w)|(?<=[^\w\s])")


class LogProduct(NamedTuple):
    """A product that can be meant."""

    asin: str
    brand: str | None
    color: str | None
    title: str
    """In lower case."""
    category: str | None = None


class Names:
    """What a text can name: the brands, colors and products of a log.

    >>> names = Names([LogProduct("B1", "Norrvik", "white", "norrvik oak floor lamp"), LogProduct("B2", None, "blue", "stoneware mug")])
    >>> [(end, brand) for end, brand in names.brands_at("by Norrvik.", 3)]
    [(10, 'Norrvik')]
    """

    def __init__(self, items: Iterable[LogProduct], asked_on: date | None = None) -> None:
        self.items, self.asked_on = list(items), asked_on
        self.brands = by_first_word(item.brand for item in self.items if item.brand)
        self.colors = by_first_word(item.color for item in self.items if item.color)
        lower = {color.lower(): color for color in chain.from_iterable(self.colors.values())}
        self.colors = {word.lower(): [] for word in self.colors} | by_first_word(lower)
        self.color_of = lower
        titles = {(item.asin, item.title) for item in self.items}
        self.titles_differ = all(len({pair[side] for pair in titles}) == len(titles) for side in (0, 1))
        """Whether each product has one title, that no other has."""

    def on(self, day: date) -> "Names":
        """The same, asked on this day."""
        found = copy(self)
        found.asked_on = day
        return found

    @cached_property
    def of_brand(self) -> dict[str | None, list[LogProduct]]:
        found: dict[str | None, list[LogProduct]] = {}
        for item in self.items:
            found.setdefault(item.brand, []).append(item)
        return found

    def products(self, mention: Mapping[str, Any]) -> list[str]:
        """The ids of those with the brand, color and category of a mention, where it says them, and all its texts in their titles."""
        brand = mention.get("brand")
        items = self.items if brand is None else self.of_brand.get(brand, [])
        return sorted(
            {
                item.asin
                for item in items
                if mention.get("color") in (None, item.color)
                and mention.get("category") in (None, item.category)
                and all(part in item.title for part in mention["parts"])
            }
        )

    @cached_property
    def kinds(self) -> dict[str, list[tuple[str, str]]]:
        """What things of the categories are called, by the first word: name and category."""
        found: dict[str, list[tuple[str, str]]] = {}
        for category in dict.fromkeys(item.category for item in self.items if item.category):
            for name in sorted(list_names_of(category)):
                found.setdefault(first_word(name, 0), []).append((name, category))
        return found

    def kinds_at(self, text: str, place: int) -> Iterator[tuple[int, str]]:
        """Categories by what one of their things, or several, are called; the longest name counts."""
        here = [
            (place + len(name), category)
            for name, category in self.kinds.get(first_word(text, place).lower(), ())
            if text[place : place + len(name)].lower() == name
            and not text[place + len(name) : place + len(name) + 1].isalnum()
        ]
        longest = max((end for end, _ in here), default=0)
        yield from dict.fromkeys(each for each in here if each[0] == longest)

    def brands_at(self, text: str, place: int) -> Iterator[tuple[int, str]]:
        """Brands as they are written; one with a small letter has a large one where it begins the text.

        >>> [brand for _, brand in Names([LogProduct("B1", "belkin", None, "hub")]).brands_at("Belkin products", 0)]
        ['belkin']
        """
        begins = () if place or not text[:1].isupper() else names_at(self.brands, text[0].lower() + text[1:], 0)
        return chain(names_at(self.brands, text, place), begins)

    def colors_at(self, text: str, place: int) -> Iterator[tuple[int, str]]:
        """Colors, with small letters as with large ones."""
        return ((end, self.color_of[name]) for end, name in names_at(self.colors, text.lower(), place))

    def mentions_at(self, text: str, place: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Products as "the COLOR BRAND what it is by BRAND in COLOR (what tells it apart, ...)", of which all but what it is may be missing."""
        if text[place : place + 4].lower() != "the ":
            return
        colors = [*self.skip_space(self.colors_at(text, place + 4), text)]
        for start, color in ((place + 4, None), *colors):
            brands = sorted(self.skip_space(self.brands_at(text, start), text))
            whole: list[tuple[int, str | None]] = [*brands[-1:]] or [(start, None)]
            for middle, brand in whole:  # a brand's name at the beginning is the brand
                said: dict[str, Any] = {"brand": brand} | ({} if color is None else {"color": color})
                for end, category in self.kinds_at(text, middle):
                    yield from self.finish_mention(text, end, {**said, "category": category, "parts": []})
                items = [each for each in self.items if brand in (None, each.brand) and color in (None, each.color)]
                for end, _ in match_titles(text, middle, items):
                    yield from self.finish_mention(text, end, {**said, "parts": [text[middle:end].lower()]})

    def finish_mention(self, text: str, place: int, said: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
        """What is said behind what it is: whose, in which color, and in brackets what tells it apart."""
        ways = [(place, said)]
        for key, words, names_at_place in (
            ("brand", (" by ", " from "), self.brands_at),
            ("color", (" in ",), self.colors_at),
        ):
            ways += [
                (end, {**so_far, key: name})
                for at, so_far in ways
                if so_far.get(key) is None
                for word in words
                if text.startswith(word, at)
                for end, name in names_at_place(text, at + len(word))
            ]
        for at, so_far in ways:
            meant = set(self.products(so_far))
            items = [item for item in self.items if item.asin in meant]
            if items:
                yield at, so_far
            for end, parts in match_title_details(text, at, items):
                yield end, {**so_far, "parts": [*so_far["parts"], *parts]}

    def skip_space(self, found: Iterable[tuple[int, str]], text: str) -> Iterator[tuple[int, str]]:
        return ((end + 1, name) for end, name in found if text.startswith(" ", end))


def by_first_word(names: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        found.setdefault(first_word(name, 0), []).append(name)
    return found


def first_word(text: str, place: int) -> str:
    found = FIRST_WORD.match(text, place)
    return found[0] if found else ""


def names_at(names: dict[str, list[str]], text: str, place: int) -> Iterator[tuple[int, str]]:
    for name in names.get(first_word(text, place), ()):
        end = place + len(name)
        if text.startswith(name, place) and not (name[-1].isalnum() and text[end : end + 1].isalnum()):
            yield end, name


def match_titles(text: str, place: int, items: list[LogProduct]) -> Iterator[tuple[int, list[LogProduct]]]:
    """Every end up to which the text stands in titles, with the products of these."""
    for found in BREAK.finditer(text, place + 1):
        words = text[place : found.start()].lower()
        items = [item for item in items if words in item.title]
        if not items:
            return
        yield found.start(), items


def match_title_details(text: str, place: int, items: list[LogProduct]) -> Iterator[tuple[int, list[str]]]:
    """Texts in brackets that all stand in the title of one of these products."""
    if not text.startswith(" (", place):
        return
    end = place
    while (end := text.find(")", end + 1)) > 0:
        parts = text[place + 2 : end].lower().split(", ")
        if any(all(part in item.title for part in parts) for item in items):
            yield end + 1, parts


def read_quotation(text: str, place: int, names: Any) -> Iterator[tuple[int, str]]:
    """A text in quotes; it may hold quotes itself, and so end at any of them."""
    if text.startswith('"', place):
        end = place
        while (end := text.find('"', end + 1)) > 0:
            yield end + 1, text[place + 1 : end]


def read_brand_list(text: str, place: int, names: Names) -> Iterator[tuple[int, list[str]]]:
    """Brands in a row, with semicolons between them."""
    for end, name in names.brands_at(text, place):
        yield end, [name]
        if text.startswith("; ", end):
            yield from ((last, [name, *more]) for last, more in read_brand_list(text, end + 2, names))


def parse_ordinal(word: str, number: str | None, from_the_end: str | None) -> int:
    """
    >>> parse_ordinal("third", None, "-to-last"), parse_ordinal("last", None, None)
    (-3, -1)
    """
    if word == "last":
        return -1
    place = int(number) if number else ORDINAL_WORDS.index(word) + 1
    return -place if from_the_end else place


TERMINALS: dict[str, Terminal] = {
    "brand": lambda text, place, names: names.brands_at(text, place),
    "brands": read_brand_list,
    "color": lambda text, place, names: names.colors_at(text, place),
    "mention": lambda text, place, names: names.mentions_at(text, place),
    "quoted": read_quotation,
    "kinds": lambda text, place, names: names.kinds_at(text, place),
    "day": read_date,
    "day_before": shift_date(-1),
    "day_after": shift_date(1),
    "calendar": read_calendar,
    "split": lambda text, place, names: (
        (end, {"before": day - timedelta(days=1), "since": day}) for end, day in read_date(text, place, names)
    ),
    "money": make_regex_terminal(r"\$(\d+(?:\.\d\d)?)", Decimal),
    "hours": make_regex_terminal(
        r"(\d\d):00:00 (?:to|and) (\d\d):59:59", lambda first, last: (int(first), int(last) + 1)
    ),
    "hour_span": make_regex_terminal(
        r"(\d\d):00 (?:(?:and|to|until|till|up to) (?:just |right )?before|and just before|up to but not including|to) (?:(\d\d):00|(midnight))",
        lambda first, last, midnight: (int(first), 24 if midnight else int(last)),
    ),
    "minus": make_regex_terminal(r"\d+", lambda number: -int(number)),
    "number": make_regex_terminal(r"\d+", int),
    "number_word": make_regex_terminal("|".join(NUMBER_WORDS), lambda word: NUMBER_WORDS.index(word) + 1),
    "ordinal": make_regex_terminal(rf"(last|{'|'.join(ORDINAL_WORDS)}|(\d+)(?:st|nd|rd|th))(-to-last)?", parse_ordinal),
}
