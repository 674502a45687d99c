"""How a shopper types: letters go wrong and words get short; facts have errors of their own (`shopwright.pipeline.shop.fact_typos`)."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import accumulate, chain
from pathlib import Path
from random import Random

from shopwright.pipeline.words import content_words

SLANG = Path(__file__).parents[2] / "data" / "reference" / "slang.txt"
TOKEN = re.compile(r"\S+")
# What is quoted is copied, not typed.
QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]*’|(?<!\w)'[^']*'(?!\w)")
PLAIN = re.compile(r"[A-Za-z]+")
# Words whose loss would turn a sentence into another.
PROTECTED_WORDS = frozenset(
    "a i no not never none without or and nor except only least most more less than under over".split()
)
# Letters, at most, of a word after a number that is taken for its unit.
UNIT = 3
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# The keys left and right of each.
NEIGHBOR_KEYS: dict[str, tuple[str, str]] = {}
for row in ROWS:
    mirrored = row[1] + row + row[-2]  # the key at an end of its row has the same neighbour twice
    for left, key, right in zip(mirrored, row, mirrored[2:], strict=False):
        NEIGHBOR_KEYS[key] = left, right
# Letters of the longest word that is mistyped throughout.
LONGEST = 100
# So often a word is typed until it is none that would be taken for a fact; then it stays as it was.
TRIES = 4


def add_typos(
    text: str,
    *,
    noise: float,
    random: Random,
    keep: Iterable[str] = (),
    avoid: Callable[[str], bool] | None = None,
) -> str:
    """The text with each letter mistyped and each word shortened by chance; numbers, names, quotations and `keep` stay.

    noise: chance of a letter, and of a word that people shorten. avoid: says of a word, in lower case, that nothing may become it: `red` would
    be a fact that nobody meant, out of "read".

    >>> add_typos("Please find me a lamp for $40", noise=0.0, random=Random(1))
    'Please find me a lamp for $40'
    """
    if noise <= 0:
        return text
    kept = [each for each in keep if each]
    parts, end = [], 0
    for start, word in find_typo_targets(text, kept) if kept else find_typo_targets_cached(text):
        parts += [text[end:start], mistype_harmlessly(word, noise, random, avoid)]
        end = start + len(word)
    return "".join([*parts, text[end:]])


@lru_cache(maxsize=2_000)
def find_typo_targets_cached(text: str) -> tuple[tuple[int, str], ...]:
    return tuple(find_typo_targets(text, []))


def find_typo_targets(text: str, keep: list[str]) -> Iterator[tuple[int, str]]:
    """The words that may go wrong, and where they begin."""
    spans = sorted([*(found.span() for found in QUOTED.finditer(text)), *find_text_spans(text, keep)])
    starts = [start for start, _ in spans]
    reach = list(accumulate((end for _, end in spans), max, initial=0))
    names = set(chain.from_iterable(map(content_words, keep)))
    sentence, number = True, False
    for found in TOKEN.finditer(text):
        token, start = found.group(), found.start()
        first, sentence = sentence, token[-1] in ".!?:"
        after, number = number, any(letter.isdigit() for letter in token)
        word = PLAIN.search(token)
        if word is None or number or not token.isascii() or "'" in token:
            continue
        plain = word.group()
        # A capital is a name's, but for the one at the beginning of a sentence.
        name = not plain.islower() and not (first and plain.capitalize() == plain)
        unit = after and len(plain) <= UNIT
        # Spans that begin before the word's end: the furthest of their ends says whether one reaches into it.
        furthest = reach[bisect_left(starts, found.end())]
        kept = furthest > start or not names.isdisjoint(content_words(plain))
        if not (name or unit or kept or plain.lower() in PROTECTED_WORDS):
            yield start + word.start(), plain


def find_text_spans(text: str, keep: list[str]) -> Iterator[tuple[int, int]]:
    """From where to where each of these stands in the text, as whole words."""
    low = text.lower()
    for each in keep:
        wanted = each.lower()
        at = low.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            if not (low[at - 1 : at].isalnum() and wanted[0].isalnum()) and not (
                low[end : end + 1].isalnum() and wanted[-1].isalnum()
            ):
                yield at, end
            at = low.find(wanted, at + 1)


def mistype_harmlessly(word: str, noise: float, random: Random, avoid: Callable[[str], bool] | None) -> str:
    for _ in range(TRIES):
        typed = mistype_word(word, noise, random)
        if typed == word or avoid is None or not avoid(typed.lower()):
            return typed
    return word


def mistype_word(word: str, noise: float, random: Random) -> str:
    """One word: short, if people write it so, or with letters left out, doubled, swapped, or hit beside the key."""
    short = load_slang().get(word.lower())
    if short is not None and random.random() < noise:
        return short.capitalize() if word[0].isupper() else short
    # One draw finds the next letter that goes wrong, instead of one for each letter.
    found, done, chances = "", 0, accumulate_typo_chances(noise)
    while (place := done + bisect_right(chances, random.random())) < len(word):
        wrong, more = mistype_letter(word[place], word[place + 1 : place + 2], random.random())
        found += word[done:place] + wrong
        done = place + more
    return found + word[done:] or word


def mistype_letter(letter: str, after: str, kind: float) -> tuple[str, int]:
    """What is typed instead, and of how many letters."""
    if kind < 0.3:
        return "", 1
    if kind < 0.6:
        return 2 * letter, 1
    if kind < 0.8 and after:
        return after + letter, 2
    return NEIGHBOR_KEYS[letter.lower()][kind < 0.9], 1


@cache
def accumulate_typo_chances(noise: float) -> list[float]:
    """The chance that one of the next n letters is mistyped, for n from 1; no word is longer."""
    return list(accumulate(range(1, LONGEST), lambda chance, _: chance + (1 - chance) * noise, initial=noise))


@cache
def load_slang() -> dict[str, str]:
    return dict(line.split() for line in SLANG.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
