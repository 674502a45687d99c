"""What was meant by a word that nobody spells so, and by a title of which a word is wrong or parts are missing.

A word is read as another one only where it is no word itself, and just one word of all that are known is a slip away. A title is read by
its words from the first on; the one with the most of them is meant, and none where two have as many.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

# How words of products are abbreviated: what is typed, and what it stands for.
SHORT_FORMS = {
    "alum": "aluminum",
    "blk": "black",
    "brn": "brown",
    "ctn": "cotton",
    "grn": "green",
    "lthr": "leather",
    "nvy": "navy",
    "orng": "orange",
    "plstc": "plastic",
    "prpl": "purple",
    "slvr": "silver",
    "stnls": "stainless",
    "temp": "temperature",
    "thrml": "thermal",
    "wht": "white",
    "ylw": "yellow",
}
# Letters of the shortest word that may have been mistyped.
LEAST = 4
# Words of a title that are heard, at least.
FEWEST = 3
SIGNS = "\"'(),.:;!?[]|-"
# What parts of a title are set apart by, beside this word.
ENDS, APART = (",", ":", "-", "|"), "with"
TYPED = re.compile(r"(?<![\w'’.$&-])[a-z]{3,}(?![\w'’&-]|\.\w)")


def is_one_slip(typed: str, word: str) -> bool:
    """Whether one letter is missing, too much, wrong, or swapped with its neighbor.

    >>> is_one_slip("navvy", "navy"), is_one_slip("gerne", "green"), is_one_slip("gren", "green"), is_one_slip("navy", "navy")
    (True, False, True, False)
    """
    shorter = min(len(typed), len(word))
    start = next((place for place in range(shorter) if typed[place] != word[place]), shorter)
    most = shorter - start
    end = next((place for place in range(most) if typed[-1 - place] != word[-1 - place]), most)
    one, other = typed[start : len(typed) - end], word[start : len(word) - end]
    if max(len(one), len(other)) == 1:
        return True
    return len(one) == len(other) == 2 and one == other[::-1]


class Speller:
    """The words that are rightly spelt."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(words)
        # One slip leaves the first letter or the last one.
        self.ends: dict[str, list[str]] = {}
        for word in sorted(self.words):
            self.ends.setdefault(f"{word[0]}-", []).append(word)
            self.ends.setdefault(f"-{word[-1]}", []).append(word)
        self.known: dict[str, tuple[str, ...]] = {}

    def find_neighbors(self, typed: str) -> tuple[str, ...]:
        """The words that are one slip away."""
        found = self.known.get(typed)
        if found is None:
            near = [*self.ends.get(f"{typed[0]}-", ()), *self.ends.get(f"-{typed[-1]}", ())]
            same = [word for word in near if abs(len(word) - len(typed)) <= 1 and is_one_slip(typed, word)]
            found = self.known[typed] = tuple(dict.fromkeys(same))
        return found

    def read_word(self, typed: str, wanted: Collection[str]) -> str:
        """The one of these words that was meant; what was typed where it is a word itself, or where there is a doubt."""
        if typed in self.words:
            return typed
        if SHORT_FORMS.get(typed) in wanted:
            return SHORT_FORMS[typed]
        near = self.find_neighbors(typed) if len(typed) >= LEAST else ()
        return near[0] if len(near) == 1 and near[0] in wanted else typed

    def read_text(self, text: str, wanted: Collection[str]) -> str:
        return TYPED.sub(lambda found: self.read_word(found[0], wanted), text)


@dataclass(frozen=True)
class Heard:
    """A word of a text, without signs, and where it stands."""

    word: str
    start: int
    end: int
    begins: bool
    """A part: what stands before it ends one."""


def split_heard(text: str) -> list[Heard]:
    """The words of a text as titles are compared by them.

    >>> [(each.word, each.begins) for each in split_heard("Arlo lamp - brass, 12 in.")]
    [('Arlo', True), ('lamp', False), ('brass', True), ('12', True), ('in', False)]
    """
    found, begins = [], True
    for each in re.finditer(r"\S+", text):
        start = each.end() - len(each[0].lstrip(SIGNS))
        word = each[0].strip(SIGNS)
        if word:
            found.append(Heard(word, start, start + len(word), begins or word == APART))
            begins = False
        begins = begins or each[0].endswith(ENDS)
    return found


@dataclass(frozen=True)
class TitleReader:
    """Reads titles of a shop of which something is wrong or missing."""

    titles: Collection[str]
    brands: Collection[str]
    nouns: Collection[str]
    speller: Speller

    @cached_property
    def by_first_word(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for title in self.titles:
            first = next(filter(None, (each.strip(SIGNS) for each in title.split())), "")
            found.setdefault(first, []).append(title)
        return found

    @cached_property
    def words_of(self) -> Callable[[str], list[Heard]]:
        return cache(split_heard)

    def read_title(self, heard: Sequence[Heard], first: int) -> tuple[str, int] | None:
        """The title that begins with this word, and how many words of it are said; None where none is, or two could be."""
        found: list[tuple[int, str]] = []
        for title in self.by_first_word.get(heard[first].word, ()):
            words = self.words_of(title)
            if len(words) < FEWEST:
                continue
            said = heard[first : first + len(words)]
            length = max(count_said_words(words, said), self.count_with_slip(words, said))
            if length >= FEWEST:
                found.append((length, title))
        found.sort(key=lambda each: (-each[0], each[1]))
        if not found or (len(found) > 1 and found[1][0] == found[0][0]):
            return None
        length, title = found[0]
        if self.says_only_a_thing([each.word for each in heard[first : first + length]]):
            return None
        return title, length

    def count_with_slip(self, words: Sequence[Heard], said: Sequence[Heard]) -> int:
        """All of its words, where all are said and one is mistyped; else 0."""
        wrong = [(one.word, other.word) for one, other in zip(words, said, strict=False) if one.word != other.word]
        whole = len(words) == len(said) and len(wrong) == 1
        return len(words) if whole and self.speller.read_word(wrong[0][1], [wrong[0][0]]) == wrong[0][0] else 0

    def says_only_a_thing(self, words: Sequence[str]) -> bool:
        """Whether it is a brand with the name of a thing, which many products are."""
        return any(
            " ".join(words[:length]) in self.brands and " ".join(words[length:]) in self.nouns
            for length in range(1, len(words))
        )


def count_said_words(words: Sequence[Heard], said: Sequence[Heard]) -> int:
    """How many words a text says of a title, of which whole parts may be missing.

    >>> title = split_heard("Arlo lamp - brass, 12 in, with shade")
    >>> [count_said_words(title, split_heard(text)) for text in ("Arlo lamp, 12 in", "Arlo lamp with dimmer", "Arlo brass")]
    [4, 3, 1]
    """
    place = count = 0
    for each in said:
        if place < len(words) and words[place].word != each.word and words[place].begins:
            later = range(place + 1, len(words))
            place = next((at for at in later if words[at].begins and words[at].word == each.word), len(words))
        if place >= len(words) or words[place].word != each.word:
            break
        place, count = place + 1, count + 1
    return count
