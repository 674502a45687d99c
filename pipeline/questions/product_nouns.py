"""What a product is, in a word of its title: the lamp, the power supply. Found in any shop's titles, without a list of things.

A title names its thing at the end of a run of plain words: "480 w power supply, black", "wheel mouse with cable". Of the words
that stand so, those are trusted that something else vouches for: the shop's own categories ("Power Supplies"), other products
of the same category, by other makers, whose runs end so too.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from shopwright.pipeline.words import STOP

# Where a title begins to speak of something else.
BREAK = re.compile(r"[,;|()\[\]–—:/]|\s-\s")
PLAIN = re.compile(r"[a-z]+(?:['-][a-z]+)*")
# After one of these a title tells about the thing, or what it is for.
TURN = frozenset("with for in by of from to w without up at on that as via per".split())
JOINS = frozenset("and or plus &".split())
UNITS = frozenset(
    "inch inches foot feet watt watts volt volts pack piece pieces count port channel mega quart cup".split()
)
NUMBER = re.compile(r"\d[\d.]*")
# Words that say nothing of what a thing is, alone.
GENERAL = frozenset(
    "accessory supply product material equipment component item part other misc general everything else good goods stuff thing "
    "gear merchandise department category all new pack series edition version style size color colour design model "
    "packaging retail box bulk warranty piece pair count star pro plus mini".split()
)
# How words end that say how a thing is; a thing may end so too (a medal), and then something else must vouch for it.
OF_A_KIND = re.compile(r"(less|able|ible|proof|resistant|ful|est|ed|ing|ish|ly|ic|al|ous|ive)$")
ODD = {
    "mice": "mouse",
    "knives": "knife",
    "shelves": "shelf",
    "scarves": "scarf",
    "men": "man",
    "women": "woman",
    "feet": "foot",
    "lens": "lens",
    "series": "series",
}
# Products, or searches, that vouch for a word.
LEAST = 3
# This share of the products whose runs end with a word is in one category, if it is what that sells.
MOST_OF = 0.6


class Run(NamedTuple):
    """Plain words in a row, in lower case as the title has them."""

    words: tuple[str, ...]
    place: int
    """Of its piece of the title, from 0."""
    counted: bool
    """Whether it is a word after a number: "20 sheets"."""
    numbered: bool
    """Whether a number comes after it: of "class 10" the word is no thing, of "wheel mouse 3500" it is."""

    @property
    def end(self) -> str:
        return singularize_title_word(self.words[-1])


@lru_cache(65_536)
def singularize_title_word(word: str) -> str:
    """
    >>> [singularize_title_word(word) for word in ("switches", "batteries", "mice", "lenses", "glass", "cases", "gps")]
    ['switch', 'battery', 'mouse', 'lens', 'glass', 'case', 'gps']
    """
    if word in ODD:
        return ODD[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("ches", "shes", "xes", "sses", "zes", "enses")):
        return word[:-2]
    return word[:-1]


def find_noun_runs(title: str, colors: frozenset[str]) -> Iterator[Run]:
    """The runs of a title that can name a thing; whole colors at their ends are left out.

    >>> [" ".join(run.words) for run in find_noun_runs("kinamax 3-button wheel mouse black with cable, glass", frozenset({"black"}))]
    ['kinamax', 'wheel mouse', 'glass']
    >>> [" ".join(run.words) for run in find_noun_runs("night light, desk lamp light blue", frozenset({"light blue"}))]
    ['night light', 'desk lamp']
    """
    for place, piece in enumerate(BREAK.split(title.lower())):
        run: list[str] = []
        counted = False
        for word in [*piece.split(), ""]:
            if PLAIN.fullmatch(word) and word not in TURN and word not in JOINS:
                run.append(word)
                continue
            number = NUMBER.fullmatch(word) is not None
            while run and (ending := next((n for n in (3, 2, 1) if " ".join(run[-n:]) in colors), 0)):
                del run[-ending:]
            if run:
                of_number = counted and len(run) > 1 and (len(run[0]) < 4 or run[0] in UNITS)  # "10000 mah power bank"
                yield Run(tuple(run[of_number:]), place, counted and len(run) == 1, number)
            run, counted = [], number
            if word in TURN:
                break


@lru_cache(4_096)
def list_category_nouns(category: str) -> frozenset[str]:
    """The things that a category's name says: what is in the plural, and its last word.

    >>> sorted(list_category_nouns("USB Flash Drives")), sorted(list_category_nouns("Covers & Skins")), sorted(list_category_nouns("inkjet printer ink"))
    (['drive'], ['cover', 'skin'], ['ink'])
    """
    words = re.findall(r"[a-z]+", category.lower())
    found = {singularize_title_word(word) for word in words if singularize_title_word(word) != word} | {
        singularize_title_word(word) for word in words[-1:]
    }
    return frozenset(word for word in found if word not in GENERAL and len(word) > 2)


def list_color_names(color: str) -> list[str]:
    """
    >>> list_color_names("Light Blue/white and navy")
    ['light blue', 'white', 'navy']
    """
    return [" ".join(name.split()) for name in re.split(r"[/,&+]|\band\b", color.lower()) if name.strip()]


Row = tuple[str, str | None, str | None, str | None]


class ProductNouns:
    """The words for things among some products, each with its title, its brand, its category and its color."""

    def __init__(self, products: Iterable[Row]) -> None:
        rows = sorted(set(products), key=str)
        # Whole names: of "light blue" the word "light" alone is no color, and a night light is a thing.
        self.colors = frozenset(chain.from_iterable(map(list_color_names, {color for *_, color in rows if color})))
        self.makers = frozenset(" ".join(brand or "" for _, brand, *_ in rows).lower().split())
        makers: dict[str, set[str | None]] = defaultdict(set)
        for title, brand, *_ in rows:
            for word in set(title.lower().split()):
                makers[word].add(brand)
        kinds = set(re.findall("[a-z]+", " ".join(category or "" for *_, category, _ in rows).lower()))
        # Words that more than one maker uses, or a category: no names of a model.
        self.shared = (
            frozenset(word for word, found in makers.items() if len(found) > 1)
            | kinds
            | set(map(singularize_title_word, kinds))
        )
        self.of_category = {category: list_category_nouns(category) for _, _, category, _ in rows if category}
        self.known = {*chain.from_iterable(self.of_category.values()), *self.vouched_for(rows)}

    def vouched_for(self, rows: list[Row]) -> Iterator[str]:
        """Words that titles of one category have at the end of a run, hardly any of another, and hardly any elsewhere in a run."""
        where: dict[str, Counter[str | None]] = defaultdict(Counter)
        makers: dict[str, set[str | None]] = defaultdict(set)
        inside: Counter[str] = Counter()
        for title, brand, category, _ in rows:
            runs = [run for run in find_noun_runs(title, self.colors) if run.place == 0]
            trusted = [run for run in runs if not run.counted and not run.numbered]
            for end in {run.end for run in trusted}:
                where[end][category] += 1
                makers[end].add(brand)
            words = set(map(singularize_title_word, chain.from_iterable(run.words for run in runs)))
            inside.update(words - {run.end for run in trusted})
        for end, found in where.items():
            ends = found.total()
            enough = ends >= LEAST and len(makers[end]) > 1 and self.can_be_a_thing(end)
            if enough and max(found.values()) >= MOST_OF * ends and ends >= MOST_OF * (ends + inside[end]):
                yield end

    def can_be_a_thing(self, word: str) -> bool:
        no_name = any(word.startswith(maker) for maker in self.makers if len(maker) > 2)
        return len(word) > 2 and not (
            no_name or word in GENERAL or word in STOP or word in self.colors or OF_A_KIND.search(word)
        )

    def names_of(self, title: str, brand: str | None, category: str | None) -> list[tuple[str, ...]]:
        """Runs of the title that end with a word for the thing, the likeliest first, without the maker's name.

        What its own category sells may stand anywhere; for what others sell a title has to begin with it.
        """
        mine = self.of_category.get(category or "", frozenset())
        runs = [run for run in find_noun_runs(title, self.colors) if not run.counted and run.end not in self.makers]
        first = [run for run in runs if run.end in mine]
        others = [run for run in runs if run.end in self.known and run.end not in mine and run.place == 0]
        maker = set((brand or "").lower().split())
        return [drop_brand_words(maker, run.words) for run in [*first, *others]]


def drop_brand_words(maker: set[str], words: tuple[str, ...]) -> tuple[str, ...]:
    """The words after the last one that is part of the brand."""
    last = max((place for place, word in enumerate(words) if word in maker), default=-1)
    return words[last + 1 :]


def has_doubled_word(words: Iterable[str]) -> bool:
    """Whether a word comes twice in a row.

    >>> has_doubled_word("silver silver case".split())
    True
    """
    return any(one == other for one, other in pairwise(words))
