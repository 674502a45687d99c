"""Facts that are mistyped, misspelt, abbreviated, cased oddly or cut short: only where a proof says that what was meant can be told.

The proof of a word: nothing else that this shop or a shopper says is within one edit of what was typed, and no word of the same kind
within two. The proof of a title: the words of it that stand as they are belong to no other title of the shop.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.phrases.bank import FOLDER
from shopwright.pipeline.shop.mistype_words import load_slang, mistype_letter
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.words import STOP, list_single_edits

REFERENCE = Path(__file__).parents[2] / "data" / "reference"
ABBREVIATIONS, REAL_WORDS = REFERENCE / "abbreviations.txt", REFERENCE / "real_words.txt"
# Letters of the shortest word that is mistyped, and of what it becomes.
LEAST = 4
# Another word of the same kind is more than so many edits away from what was typed.
MARGIN = 2
# Tries at one fact until one of them can be told; then it stays clean.
TRIES = 4
# Characters of the longest value whose words count as values.
LONGEST_VALUE = 60
# Of a fact that goes wrong: how often in its case, and how often, of a title, by what is left out.
CASE, CUT = 0.15, 0.45
# Of a word that goes wrong: how often it is abbreviated where people do that, and how often misspelt.
SHORT, MISSPELT = 0.5, 0.35
# Words that a title is cut to, at least.
FEWEST_WORDS = 3
# How people misspell, each one edit: what is right, and what is written.
SPELLINGS = (
    *(("ee", "ea"), ("ie", "ei"), ("ei", "ie"), ("ance", "ence"), ("ence", "ance"), ("able", "ible"), ("ou", "o")),
    *((2 * letter, letter) for letter in "bcdfglmnprst"),
    *(("sc", "s"), ("ck", "k"), ("qu", "q"), ("ey", "y"), ("ai", "a"), ("amic", "ammic"), ("inen", "innen")),
    *(("ater", "atter"), ("iber", "ibre"), ("ilic", "illic"), ("otton", "oton"), ("ular", "uler"), ("ibble", "ible")),
)
WORD = re.compile(r"[a-z]+")
# A word of letters alone, which nothing joins to another.
MISTYPABLE = re.compile(rf"(?<![\w'’.&-])[A-Za-z]{{{LEAST},}}(?![\w'’&-]|\.\w)")
# Where the parts of a title begin that can be left out: each says more of the same thing.
PART = re.compile(r"(?=,? with |, | - |: | \| )")


@dataclass(frozen=True)
class ShopWords:
    """The words that a shop's facts are said with, and those that are no fact, all in lower case."""

    things: frozenset[str]
    brands: frozenset[str]
    values: frozenset[str]
    others: frozenset[str]
    """Of titles, and of all that people say around facts."""
    titles: pa.Array = field(compare=False)
    """In lower case, in the store's order."""

    def is_known(self, word: str) -> bool:
        return word in self.things or word in self.brands or word in self.values or word in self.others

    def is_fact(self, word: str) -> bool:
        return word in self.things or word in self.brands or word in self.values

    def could_be_fact(self, word: str) -> bool:
        """Whether it is a word of a fact, or would be taken for one that was mistyped."""
        if self.is_fact(word) or word in set(load_abbreviations().values()):
            return True
        return len(word) >= LEAST and word not in self.others and any(map(self.is_fact, list_single_edits(word)))


def split_letters(texts: Iterable[str | None]) -> frozenset[str]:
    return frozenset(chain.from_iterable(WORD.findall(text.lower()) for text in texts if text))


@lru_cache(4)
def load_shop_words(store: Store) -> ShopWords:
    values = store.facts.values.dictionary
    short = values.filter(pc.less_equal(pc.utf8_length(values), LONGEST_VALUE)).to_pylist()
    colors, brands = (column.unique().to_pylist() for column in (store.colors, store.brands))
    titles = pc.utf8_lower(store.titles)
    parts = pc.list_flatten(pc.split_pattern_regex(titles, pattern="[^a-z]+"))
    said = [file.read_text(encoding="utf-8") for file in sorted((FOLDER / "envs").glob("*.txt"))]
    return ShopWords(
        things=split_letters([*store.leaves, (FOLDER / "envs" / "things.txt").read_text(encoding="utf-8")]),
        brands=split_letters(brands),
        values=split_letters([*short, *colors]),
        others=split_letters(
            [*said, *load_slang(), *load_slang().values(), *parts.unique().to_pylist(), *store.groups]
        ),
        titles=titles,
    )


@lru_cache(256)
def list_value_words(store: Store, leaf: int) -> frozenset[str]:
    """The words of a category's values, whatever fact they are of."""
    return split_letters(chain.from_iterable(store.shelf(leaf).values.values()))


def would_be_taken_for_fact(store: Store, word: str) -> bool:
    """What an ordinary word must not be mistyped to."""
    return load_shop_words(store).could_be_fact(word)


@cache
def load_abbreviations() -> dict[str, str]:
    lines = ABBREVIATIONS.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


@cache
def load_real_words() -> frozenset[str]:
    """Words of the language that no file of phrases has, and that a fact must not become: "steal" out of "steel"."""
    lines = REAL_WORDS.read_text(encoding="utf-8").splitlines()
    return split_letters(line for line in lines if not line.startswith("#"))


# Words


def mistype_fact(said: str, near: Collection[str], words: ShopWords, random: Random) -> str:
    """A fact as it was typed; as it is where no try at one of its words can be told.

    near: the words of its kind, in lower case. Facts with a number stay clean.
    """
    places = list(MISTYPABLE.finditer(said))
    if not places or any(letter.isdigit() for letter in said):
        return said
    found = places[random.randrange(len(places))]
    word = found[0]
    for _ in range(TRIES):
        typed = mistype_one_word(word, random)
        if is_recoverable(typed.lower(), word.lower(), near, words):
            return said[: found.start()] + typed + said[found.end() :]
    return said


def mistype_one_word(word: str, random: Random) -> str:
    """A word with one error; its first letter stays."""
    short = load_abbreviations().get(word.lower())
    if short and random.random() < SHORT:
        return short
    if random.random() < MISSPELT and (typed := misspell_word(word, random)):
        return typed
    place = random.randrange(1, len(word))
    wrong, more = mistype_letter(word[place], word[place + 1 : place + 2], random.random())
    return word[:place] + wrong + word[place + more :]


def misspell_word(word: str, random: Random) -> str:
    """As people spell it who do not know how; empty where nobody would err."""
    fitting = [(right, wrong) for right, wrong in SPELLINGS if right in word[1:]]
    if not fitting:
        return ""
    right, wrong = fitting[random.randrange(len(fitting))]
    return word[0] + word[1:].replace(right, wrong, 1)


def is_recoverable(typed: str, word: str, near: Collection[str], words: ShopWords) -> bool:
    """Whether what was typed can be nothing but this word."""
    if words.is_known(typed) or typed in load_real_words():
        return False
    if typed == load_abbreviations().get(word):
        return True
    edits = set(list_single_edits(typed)) if len(typed) >= LEAST else ()
    if word not in edits or any(other != word and words.is_known(other) for other in edits):
        return False
    return all(other == word or count_edits(typed, other) > MARGIN for other in near)


@lru_cache(20_000)
def count_edits(one: str, other: str) -> int:
    """Letters too much, too few, wrong, or swapped with the next (optimal string alignment); where it is more than MARGIN, any number above.

    >>> count_edits("navvy", "navy"), count_edits("grene", "green"), count_edits("oak", "walnut") > MARGIN
    (1, 1, True)
    """
    # An edit takes one letter of another kind away, at most.
    if abs(len(one) - len(other)) > MARGIN or len(set(one).difference(other)) > MARGIN:
        return MARGIN + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, wanted in enumerate(other, 1):
            edits = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                edits = min(edits, before[column - 2] + 1)
            line.append(edits)
        before, last = last, line
    return last[-1]


# Titles


def mistype_title(title: str, words: ShopWords, random: Random) -> str:
    """A title as it was typed: cut, in small letters, or with one wrong word; as it is where its other words leave a doubt."""
    dice = random.random()
    if dice < CUT and (cut := cut_title(title, words, random)):
        return cut
    if CUT <= dice < CUT + CASE:
        return title.lower()
    places = [found for found in MISTYPABLE.finditer(title) if found.start() and found[0].lower() not in STOP]
    if not places:
        return title
    found = places[random.randrange(len(places))]
    if not is_only_title([title[: found.start()], title[found.end() :]], words):
        return title
    for _ in range(TRIES):
        typed = mistype_one_word(found[0], random)
        if is_recoverable(typed.lower(), found[0].lower(), (), words):
            return title[: found.start()] + typed + title[found.end() :]
    return title


def cut_title(title: str, words: ShopWords, random: Random) -> str:
    """The title without parts that are not needed to tell it from all others; empty where all are."""
    first, *more = PART.split(title)
    kept = list(more)
    for part in random.sample(more, len(more)):
        less = [each for each in kept if each is not part]
        if is_only_title([first, *less], words):
            kept = less
    short = first + "".join(kept)
    return short if short != title and len(short.split()) >= FEWEST_WORDS else ""


def is_only_title(parts: Iterable[str], words: ShopWords) -> bool:
    """Whether one title of the shop, and no other, has all words of these parts."""
    found = words.titles
    for word in sorted(set(chain.from_iterable(part.lower().split() for part in parts)), key=lambda each: -len(each)):
        found = found.filter(pc.match_substring(found, word.strip("(),:;")))
    return len(found.unique()) == 1
