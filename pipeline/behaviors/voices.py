"""How a shopper writes: one register for all that it says, and what that does to a sentence (`data/reference/voices.toml`)."""

import re
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast

from shopwright.pipeline.phrases.grammar import SLOT
from shopwright.schemas.phrases import Register

FILE = Path(__file__).parents[2] / "data" / "reference" / "voices.toml"
WORD = re.compile(r"\{[^}]*\}|[\w']+")
ARTICLES = frozenset(("a", "an", "the"))
# How often a register that leaves out articles does.
BARE = 0.5


@cache
def load_voices() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def draw_register(age_band: str, random: Random) -> Register:
    """
    >>> draw_register("65+", Random(2))
    'elderly'
    """
    weights: dict[str, int] = load_voices()["ages"][age_band]
    return cast(Register, random.choices(list(weights), list(weights.values()))[0])


def write_in_register(frame: str, own: bool, register: Register, random: Random) -> str:
    """A frame as this register writes it; facts are not in it yet, so none is changed.

    own: whether the frame is one of the register's own, which needs no more than its letters.

    >>> write_in_register("I'll open {product}.", False, "polite", Random(1)), write_in_register("I'll open it.", False, "teenager", Random(1))
    ('I will open {product}.', "i'll open it")
    """
    voices = load_voices()
    ways = voices["registers"][register]
    instead: dict[str, str] = voices["instead"].get(register, {})
    if "long" in ways:
        frame = replace_words(frame, voices["long"])
    if "bare" in ways and not own and random.random() < BARE:
        frame = " ".join(word for word in frame.split(" ") if word.lower() not in ARTICLES)
    frame = replace_words(frame, instead)
    if "open" in ways:
        frame = frame.removesuffix(".")
    return lower_first(frame) if "small" in ways else frame


def replace_words(frame: str, table: dict[str, str]) -> str:
    return WORD.sub(lambda found: table.get(found[0], found[0]), frame)


def lower_first(frame: str) -> str:
    return frame if SLOT.match(frame) else frame[:1].lower() + frame[1:]


def writes_small(register: Register) -> bool:
    """Whether its sentences begin with a small letter."""
    return "small" in load_voices()["registers"][register]
