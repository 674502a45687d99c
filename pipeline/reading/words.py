"""The words of the shop that stand for a value by themselves: days, hours, money, ordinals, and the names in a log."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

from shopwright.pipeline.reading.grammar import Terminal, make_regex_terminal

MONTHS = "January February March April May June July August September October November December".split()
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


class Names:
    """What a text can name: the brands, colors and products of a log.

    >>> names = Names([LogProduct("B1", "Norrvik", "white", "norrvik oak floor lamp"), LogProduct("B2", None, "blue", "stoneware mug")])
    >>> [(end, brand) for end, brand in names.brands_at("by Norrvik.", 3)]
    [(10, 'Norrvik')]
    """

    def __init__(self, items: Iterable[LogProduct]) -> None:
        self.items = list(items)
        self.brands = by_first_word(item.brand for item in self.items if item.brand)
        self.colors = by_first_word(item.color for item in self.items if item.color)
        titles = {(item.asin, item.title) for item in self.items}
        self.titles_differ = all(len({pair[side] for pair in titles}) == len(titles) for side in (0, 1))
        """Whether each product has one title, that no other has."""

    @cached_property
    def of_brand(self) -> dict[str | None, list[LogProduct]]:
        found: dict[str | None, list[LogProduct]] = {}
        for item in self.items:
            found.setdefault(item.brand, []).append(item)
        return found

    def products(self, brand: str | None, parts: Iterable[str]) -> list[str]:
        """The ids of those with this brand, if one is given, and all these texts in their titles."""
        items = self.items if brand is None else self.of_brand.get(brand, [])
        return sorted({item.asin for item in items if all(part in item.title for part in parts)})

    def brands_at(self, text: str, place: int) -> Iterator[tuple[int, str]]:
        return names_at(self.brands, text, place)

    def colors_at(self, text: str, place: int) -> Iterator[tuple[int, str]]:
        return names_at(self.colors, text, place)

    def mentions_at(self, text: str, place: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Products as "the BRAND what it is (what tells it apart, ...)"; a brand's name at the beginning is the brand."""
        if not text.startswith("the ", place):
            return
        place += 4
        end, brand = max(self.brands_at(text, place), default=(place, None))
        if brand is not None:
            if not text.startswith(" ", end):
                return
            place = end + 1
        items = self.items if brand is None else self.of_brand[brand]
        for end, found in match_titles(text, place, items):
            head = text[place:end].lower()
            yield end, {"brand": brand, "parts": [head]}
            for last, parts in match_title_details(text, end, found):
                yield last, {"brand": brand, "parts": [head, *parts]}


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


def read_day(month: str | None, day: str, year: str, day2: str, month2: str, year2: str, iso: str) -> date:
    if iso:
        return date.fromisoformat(iso)
    return date(int(year or year2), MONTHS.index(month or month2) + 1, int(day or day2))


def parse_ordinal(word: str, number: str | None, from_the_end: str | None) -> int:
    """
    >>> parse_ordinal("third", None, "-to-last"), parse_ordinal("last", None, None)
    (-3, -1)
    """
    if word == "last":
        return -1
    place = int(number) if number else ORDINAL_WORDS.index(word) + 1
    return -place if from_the_end else place


MONTH_PATTERN = "|".join(MONTHS)
DAY = rf"({MONTH_PATTERN}) (\d\d?), (\d{{4}})|(\d\d?) ({MONTH_PATTERN}) (\d{{4}})|(\d{{4}}-\d\d-\d\d)"
TERMINALS: dict[str, Terminal] = {
    "brand": lambda text, place, names: names.brands_at(text, place),
    "brands": read_brand_list,
    "color": lambda text, place, names: names.colors_at(text, place),
    "mention": lambda text, place, names: names.mentions_at(text, place),
    "quoted": read_quotation,
    "day": make_regex_terminal(DAY, read_day),
    "split": make_regex_terminal(
        DAY, lambda *parts: {"before": read_day(*parts) - timedelta(days=1), "since": read_day(*parts)}
    ),
    "money": make_regex_terminal(r"\$(\d+(?:\.\d\d)?)", Decimal),
    "hours": make_regex_terminal(
        r"(\d\d):00:00 (?:to|and) (\d\d):59:59", lambda first, last: (int(first), int(last) + 1)
    ),
    "minus": make_regex_terminal(r"\d+", lambda number: -int(number)),
    "number": make_regex_terminal(r"\d+", int),
    "number_word": make_regex_terminal("|".join(NUMBER_WORDS), lambda word: NUMBER_WORDS.index(word) + 1),
    "ordinal": make_regex_terminal(rf"(last|{'|'.join(ORDINAL_WORDS)}|(\d+)(?:st|nd|rd|th))(-to-last)?", parse_ordinal),
}
