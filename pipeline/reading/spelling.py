"""What was meant by a word that nobody spells so, and by a title of which a word is wrong or the end is missing.

A word is read as another one only where it is no word itself, and just one word of all that are known is a slip away. A title is read by
its words from the first on; the one with the most of them is meant, and none where two have as many.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

# How words of products are abbreviated: what is typed, and what it stands for.
SHORT_FORMS = {
    **{"alum": "aluminum", "blk": "black", "brn": "brown", "ctn": "cotton", "grn": "green", "lthr": "leather", "nvy": "navy"},
    **{"orng": "orange", "plstc": "plastic", "prpl": "purple", "slvr": "silver", "stnls": "stainless"},
    **{"temp": "temperature", "thrml": "thermal", "wht": "white", "ylw": "yellow"},
}
# Letters of the shortest word that may have been mistyped.
LEAST = 4
# Words of a title that are heard, at least.
FEWEST = 3
SIGNS = "\"'(),.:;!?[]"
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


def split_heard(text: str) -> list[Heard]:
    """The words of a text as titles are compared by them.

    >>> [each.word for each in split_heard("Arlo lamp - brass, 12 in.")]
    ['Arlo', 'lamp', '-', 'brass', '12', 'in']
    """
    found = []
    for each in re.finditer(r"\S+", text):
        start = each.end() - len(each[0].lstrip(SIGNS))
        word = each[0].strip(SIGNS)
        if word:
            found.append(Heard(word, start, start + len(word)))
    return found


@dataclass(frozen=True)
class TitleReader:
    """Reads titles of a shop of which something is wrong or missing."""

    titles: Collection[str]
    brands: Collection[str]
    nouns: Collection[str]
    speller: Speller

    @cached_property
    def by_first_word(self) -> Mapping[str, list[tuple[tuple[str, ...], str]]]:
        found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for title in self.titles:
            words = tuple(each.word for each in split_heard(title))
            if len(words) >= FEWEST:
                found.setdefault(words[0], []).append((words, title))
        return found

    def read_title(self, heard: Sequence[Heard], first: int) -> tuple[str, int] | None:
        """The title that begins with this word, and how many words of it are said; None where none is, or two could be."""
        found: list[tuple[int, int, str]] = []
        for words, title in self.by_first_word.get(heard[first].word, ()):
            clean, length = self.count_words(words, heard[first : first + len(words)])
            if clean >= FEWEST:
                found.append((clean, length, title))
        found.sort(key=lambda each: (-each[0], each[2]))
        if not found or (len(found) > 1 and found[1][0] == found[0][0]):
            return None
        _, length, title = found[0]
        if self.says_only_a_thing([each.word for each in heard[first : first + length]]):
            return None
        return title, length

    def count_words(self, words: Sequence[str], heard: Sequence[Heard]) -> tuple[int, int]:
        """How many words from the first on are the title's, and how many are covered; one may be mistyped if all others are there."""
        wrong: list[int] = []
        for place, (word, each) in enumerate(zip(words, heard, strict=False)):
            if word == each.word:
                continue
            wrong.append(place)
            slipped = len(wrong) == 1 and self.speller.read_word(each.word, [word]) == word
            if not slipped:
                break
        else:
            if len(heard) == len(words):
                return len(words) - len(wrong), len(words)
        return (wrong[0], wrong[0]) if wrong else (len(heard), len(heard))

    def says_only_a_thing(self, words: Sequence[str]) -> bool:
        """Whether it is a brand with the name of a thing, which many products are."""
        return any(
            " ".join(words[:length]) in self.brands and " ".join(words[length:]) in self.nouns
            for length in range(1, len(words))
        )
