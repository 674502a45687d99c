"""Frames: what is left of a text when its facts are masked; how varied the words of a data set are, and what the test has in common with training."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

NUMBER = re.compile(r"\$?\d+(?:\.\d+)?")
# A name with what stands before it, pointing included; a price with "at" or "from".
NAMED = re.compile(
    r"\b(?:the|this|that) (?:_|last one|one)(?!\w)|\b(?:at|from) (?=_)|\banother one(?!\w)", re.IGNORECASE
)
AGAIN = re.compile(r"_(?:\s+_)+")


def mask_facts(text: str, facts: Sequence[str]) -> str:
    """The frame of a text, by what it took from pages; without its letters' size and its last sign, which are no other words.

    >>> mask_facts('The oak lamp is $9.00, so I search for "lamp".', ["oak lamp", "$9.00", "lamp"])
    '_ is _, so i search for _'
    """
    text = text.lower()
    for fact in sorted(facts, key=len, reverse=True):
        text = mask_words(text, fact.lower())
    text = NAMED.sub(lambda found: "" if found[0].startswith(("at ", "from ")) else "_", NUMBER.sub("_", text))
    return " ".join(AGAIN.sub("_", text).replace('"_"', "_").rstrip(".!?").split())


def mask_words(text: str, words: str) -> str:
    """
    >>> mask_words("size 5 of 50", "5")
    'size _ of 50'
    """
    place = text.find(words)
    while place >= 0 and words:
        end = place + len(words)
        inside = (place > 0 and text[place - 1].isalnum()) or (end < len(text) and text[end].isalnum())
        if not inside:
            text, end = f"{text[:place]}_{text[end:]}", place + 1
        place = text.find(words, end)
    return text


class Frames(NamedTuple):
    """Of one family of texts."""

    name: str
    texts: int
    frames: int
    most: int
    """How many of the commonest cover 95 % of the texts."""
    test: int
    """Frames of the test."""
    unseen: int
    """Those of them that training has not."""


def count_frames(name: str, texts: Iterable[tuple[str, str]]) -> Frames:
    """texts: each frame with its split.

    >>> count_frames("a", [("_ is fine", "train"), ("_ is fine", "train"), ("i like _", "test")])
    Frames(name='a', texts=3, frames=2, most=2, test=1, unseen=1)
    """
    sides: dict[str, Counter[str]] = {}
    for frame, side in texts:
        sides.setdefault(side, Counter())[frame] += 1
    every = sum(sides.values(), Counter[str]())
    held, most = 0, 0
    for _, number in every.most_common():
        if held >= 0.95 * every.total():
            break
        held, most = held + number, most + 1
    test = set(sides.get("test", ()))
    return Frames(name, every.total(), len(every), most, len(test), len(test - set(sides.get("train", ()))))
