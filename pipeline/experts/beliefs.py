"""What an expert holds to be so: what the shopper said is wanted, with its place in the words, and what tools showed of products."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, NamedTuple

from shopwright.pipeline.reading.short_instructions import UNIT_WORDS
from shopwright.pipeline.reading.wishes import COMMON, ShopVocabulary, Wish, WishReader
from shopwright.pipeline.words import content_words

WORD = re.compile(r"\d+(?:\.\d+)+|\w+")
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ABOUT_PRODUCTS = (*("value", "at most", "at least", "price at most", "price between", "rating", "shipping days"),)
"""Kinds of wishes that a product meets or does not meet."""


def find_words(text: str) -> list[str]:
    """
    >>> find_words("Women's 0.7 mm, black")
    ['women', 's', '0.7', 'mm', 'black']
    """
    return WORD.findall(text.lower())


@dataclass(frozen=True)
class Said:
    """A wish, and where in the text it was read."""

    wish: Wish
    start: int
    end: int


class PlacedReader(WishReader):
    """Reads a text as the checks do, and keeps the places, which are those of the text as it was typed."""

    def __init__(self, text: str, shop: ShopVocabulary, today: date) -> None:
        super().__init__(text, shop, today)
        self.places = list(range(len(self.text) + 1))
        """Of each letter of the text as it is now, where it stood."""
        self.placed: list[Said] = []

    def take(self, start: int, end: int, *wishes: Wish) -> None:
        super().take(start, end, *wishes)
        self.placed += [Said(wish, self.places[start], self.places[end]) for wish in wishes]

    def respell(self, wanted: Collection[str]) -> None:
        before = self.text
        super().respell(wanted)
        if self.text != before:
            self.places = realign(before, self.text, self.places)


def realign(before: str, after: str, places: Sequence[int]) -> list[int]:
    """Where each letter of a text stood before some of its words were spelt otherwise.

    >>> realign("in prpl, 2", "in purple, 2", range(11))
    [0, 1, 2, 3, 4, 5, 6, 6, 6, 7, 8, 9, 10]
    """
    found: list[int] = []
    at = 0
    for old, new in zip(re.split(r"(\s)", before), re.split(r"(\s)", after), strict=True):
        tail = next((length for length in range(len(new)) if old[-1 - length :] != new[-1 - length :]), len(new))
        head = len(new) - tail
        most = max(0, len(old) - tail - 1)
        found += [places[at + min(place, most)] for place in range(head)]
        found += [places[at + len(old) - tail + place] for place in range(tail)]
        at += len(old)
    return [*found, places[at]]


def read_placed(
    text: str, shop: ShopVocabulary, today: date, *, categories: Iterable[str] = (), case: bool = False
) -> list[Said]:
    """The wishes of a text in the order in which they are said; those without a place come first, at -1."""
    reader = PlacedReader(text, shop, today)
    wishes = reader.read(case=case, mixed=False, categories=categories)
    placed = [each.wish for each in reader.placed]
    loose = [Said(wish, -1, -1) for wish in wishes if wish not in placed]
    return sorted([*loose, *reader.placed], key=lambda each: each.start)


@dataclass
class Product:
    """What tools showed of a product so far."""

    id: str
    lexicon: ShopVocabulary
    shown: dict[str, Any] = field(default_factory=dict)
    gone: bool = False
    """Sold out since, as the shopper said."""

    @property
    def title(self) -> str:
        return str(self.shown.get("title", ""))

    @property
    def category(self) -> str:
        return str(self.shown.get("category", ""))

    @property
    def cents(self) -> int:
        return round(100 * float(self.shown.get("price") or 0))

    @property
    def in_stock(self) -> bool:
        return bool(self.shown.get("in_stock", True)) and not self.gone

    @property
    def words(self) -> frozenset[str]:
        """By which a search finds it, as far as they were seen."""
        named = [self.shown.get(name) for name in ("title", "brand", "color", "category")]
        return frozenset(
            content_words(" ".join(map(str, filter(None, [*named, *self.shown.get("attributes", {}).values()]))))
        )

    @property
    def is_read(self) -> bool:
        """Whether its own page was read."""
        return "attributes" in self.shown

    def meets(self, wish: Wish) -> bool | None:
        """Whether it does what is wished; None where that was not seen yet."""
        if wish.kind == "price at most":
            return self.cents <= int(wish.value)
        if wish.kind == "price between":
            low, high = map(int, wish.value.split())
            return low <= self.cents <= high
        if wish.kind == "rating":
            return float(self.shown.get("rating") or 0) >= float(wish.value)
        if wish.kind == "shipping days":
            days = self.shown.get("shipping_days")
            return days is not None and int(days) <= int(wish.value)
        if wish.kind in ("at most", "at least"):
            return self.meets_bound(wish)
        return self.has_value(wish)

    def meets_bound(self, wish: Wish) -> bool | None:
        for fact in wish.facts:
            said = [self.facts.get(fact.partition(" (")[0], "")] if self.is_read else self.list_titled(fact)
            found = [value for value in said if NUMBER.search(value)]
            if found:
                held, limit = compare_measures(found[0], wish.value)
                return held <= limit if wish.kind == "at most" else held >= limit
        return False if self.is_read else None

    @property
    def facts(self) -> Mapping[str, str]:
        """By name, in lower case."""
        named = {name: self.shown.get(name) for name in ("brand", "color", "seller")}
        found = {**self.shown.get("attributes", {}), **{name: value for name, value in named.items() if value}}
        return {name: str(value).lower() for name, value in found.items()}

    def has_value(self, wish: Wish) -> bool | None:
        held = [value for fact, value in self.facts.items() if fact in wish.facts or not wish.facts]
        if wish.value in held:
            return True
        if "brand" in wish.facts and len(wish.facts) == 1:
            return False
        if not self.is_read:
            if has_words(self.title, wish.value):
                return True if len(wish.value) > 4 else None
            return False if wish.facts and all(map(self.list_titled, wish.facts)) else None
        return has_words(self.title, wish.value)

    def list_titled(self, fact: str) -> list[str]:
        """The values of a fact that its title says, but for words that mean anything."""
        values = self.lexicon.values(self.category).get(fact, ())
        told = [value.lower() for value in values if len(value) > 3 and value.lower() not in COMMON]
        return [value for value in told if has_words(self.title, value)]


def compare_measures(one: str, other: str) -> tuple[float, float]:
    """Two measures as numbers of one unit, or as they stand.

    >>> compare_measures("12 oz", "1 lb"), compare_measures("8 cup", "10 cup")
    ((0.340194278, 0.45359237), (8.0, 10.0))
    """
    numbers = [float(NUMBER.findall(each)[0]) for each in (one, other)]
    units = [UNIT_WORDS.get(NUMBER.sub("", each, count=1).strip().lower(), ("", 1.0)) for each in (one, other)]
    if units[0][0] == units[1][0]:
        numbers = [round(number * size, 9) for number, (_, size) in zip(numbers, units, strict=True)]
    return numbers[0], numbers[1]


def has_words(text: str, words: str) -> bool:
    """
    >>> has_words("Arlo lamp, 12 in", "12 in"), has_words("Arlo lamp, 2.12 inch", "12 in"), has_words("Men's tee", "s")
    (True, False, False)
    """
    return re.search(rf"(?<![\w.'’-]){re.escape(words)}(?![\w-]|\.\d)", text.lower()) is not None


class Ranking(NamedTuple):
    """A search: its words, and what it showed, the best first."""

    words: frozenset[str]
    ids: tuple[str, ...]


@dataclass
class Memory:
    """All that was said and seen, and the words that are understood."""

    lexicon: ShopVocabulary
    """Categories with their nouns, facts with their values: how things are called. It knows no product."""
    heard: list[str] = field(default_factory=list)
    products: dict[str, Product] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    """What tools returned, in lower case."""
    rankings: list[Ranking] = field(default_factory=list)
    today: date = date(2000, 1, 1)

    def see(self, found: Any) -> None:
        """Keeps what a tool showed of products."""
        if isinstance(found, list):
            for each in found:
                self.see(each)
        elif isinstance(found, dict):
            if "product_id" in found and "title" in found and "variant_id" not in found:
                product = self.products.setdefault(found["product_id"], Product(found["product_id"], self.lexicon))
                product.shown.update(found)
            for each in found.values():
                if isinstance(each, list | dict):
                    self.see(each)

    @property
    def categories(self) -> set[str]:
        """Those that a search or a page has shown."""
        return {product.category for product in self.products.values() if "in_stock" in product.shown}

    def is_outranked(self, product: Product, wishes: Iterable[Wish]) -> bool:
        """Whether it would stand before another product of a search if it did all that is wished.

        A search puts first what has more of its words. A page tells all words of a product: what stands below it, and has those too and
        would have more with the wishes, cannot do what is wished.
        """
        wished = " ".join(wish.value for wish in wishes if wish.kind == "value")
        words = product.words | frozenset(content_words(wished))
        for ranking in self.rankings:
            place = ranking.ids.index(product.id) if product.id in ranking.ids else 0
            above = [self.products[id] for id in ranking.ids[:place]]
            if any(other.is_read and other.words & ranking.words < words & ranking.words for other in above):
                return True
        return False

    def know_titles(self) -> ShopVocabulary:
        """The words with the titles that were seen."""
        return replace(self.lexicon, titles={each.title.lower(): each.category for each in self.products.values()})

    def keep_seen_words(self, text: str) -> str:
        """The words of a search that somebody said or a tool showed: what was only understood in spite of its spelling is left out."""
        known = set(find_words(" ".join([*self.heard, *self.seen])))
        return " ".join(word for word in text.split() if known.issuperset(find_words(word)))

    def note_sold_out(self, text: str) -> None:
        """Products of which the shopper says the title are gone."""
        said = " ".join(text.lower().split())
        for product in self.products.values():
            if product.title and product.title.lower() in said:
                product.gone = True


def pick_product_wishes(said: Iterable[Said]) -> list[Wish]:
    """Those that a product can meet, each once; what is only liked is no wish."""
    said = list(said)
    if any(each.wish.kind == "likes" for each in said):
        said = [each for each in said if each.wish.kind != "value"]
    return list(dict.fromkeys(each.wish for each in said if each.wish.kind in ABOUT_PRODUCTS))
