"""A family of texts of the phrase bank: the facts that its phrasings are tried with, and the reader that says what they mean."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from random import Random
from typing import ClassVar, Generic, NamedTuple, TypeVar

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank
from shopwright.pipeline.phrases.grammar import SLOT, Malformed, Template
from shopwright.schemas.phrases import FamilyName, Register
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Persona, Product

# Characters of a phrasing.
LONGEST = 300
# Readings that wait for their check: more than are written before it.
MOST_KEPT = 5_000
# What no customer types: markup, addresses, what speaks to a machine, signs that cannot be seen.
STRANGE = re.compile(
    r"[<>`*#|\\\n]|https?:|www\.|\b(?:ignore|disregard) (?:\w+ ){0,3}(?:instructions?|rules?)\b|\bsystem prompt\b",
    re.IGNORECASE,
)
# What facts do to the words around them: two articles, a sign and a word for dollars, a number and a noun that disagree.
SLIPS = (
    (re.compile(r"\b(?:an?|the) (?:an?|the|this) ", re.IGNORECASE), "two articles in a row"),
    (re.compile(r"\b(for|of|at|in|to|with|is|are|than) \1\b", re.IGNORECASE), "a word twice"),
    (re.compile(r"\$[\d.,]+ (?:dollars|bucks)\b"), "a unit twice"),
    (re.compile(r"(?<![\d.,])1 (?:days|weeks|months|years|pieces|dollars)\b"), "one of several"),
    (
        re.compile(
            r"(?<![\d.,])(?:[2-9]|[1-9]\d+) (?:day|week|month|year|piece|dollar)\b(?=[.,;!?]|$| (?:to|of|for|at|and)\b)"
        ),
        "several of one",
    ),
    (re.compile(r"\ban? (?:[2-9]|[1-9]\d+) (?!lens|glass)[a-z]+s\b"), "an article before several"),
    (re.compile(r"[{}]"), "an empty place"),
)


class Unproved(ValueError):
    """Why a phrasing is not taken, in words that its writer can act on."""


class Sources(NamedTuple):
    """What facts are taken from."""

    trajectories: Dataset[Trajectory]
    catalog: Dataset[Product]
    personas: Dataset[Persona]


@dataclass(frozen=True)
class Example:
    """Something that can be said of this run; each family adds what it says it with."""

    about: str
    """What it means, in words for a writer."""
    of: str
    """Whose facts those are: a trajectory, a category."""
    asked_on: date
    slots: Sequence[str]
    """What may stand in braces."""


class Filled(NamedTuple):
    """Words with facts in them, and these facts as JSON: what a reader may know of them."""

    text: str
    facts: str


class Claim(NamedTuple):
    """That a text has a meaning: what a row says, and what a reader holds against the text."""

    meaning: str
    words: str
    """With its slots."""
    text: str
    facts: str
    of: str
    on: date


E = TypeVar("E", bound=Example)


class Family(ABC, Generic[E]):
    """One file a family: what can be said of a run, putting it into words, and reading these back with other code."""

    name: ClassVar[FamilyName]
    strange: ClassVar[re.Pattern[str]] = STRANGE
    """What none of its texts has."""

    @property
    def bank(self) -> PhraseBank:
        return load_grammar_bank(self.name)

    @abstractmethod
    def list_units(self) -> list[str]:
        """Parts of the family that are worked on apart; no meaning is in two of them."""

    @abstractmethod
    def find_examples(self, unit: str, sources: Sources, random: Random) -> dict[str, list[E]]:
        """By meaning, examples in which it is so, the best first."""

    @abstractmethod
    def fill(self, template: Template, frame: str, example: E, random: Random) -> Filled:
        """The frame with the facts. Raises Unproved, or Malformed, where they cannot stand in it."""

    @abstractmethod
    def read(self, claim: Claim, sources: Sources) -> str:
        """What is read in the text, as JSON. Raises Unproved where that is not the meaning with these facts, and it alone."""


class Readings(dict[tuple[FamilyName, Claim], str]):
    """What was read in texts that were written and not yet checked, for `dataset.once`."""

    def __init__(self, trajectories: Dataset[Trajectory]) -> None:
        super().__init__()


def read_to_check(family: Family[E], claim: Claim, sources: Sources) -> str:
    """What `family.read` reads. Where this very text was read a moment ago, to be written, it is not read again; any later check reads it anew."""
    return sources.trajectories.once(Readings).pop((family.name, claim), None) or family.read(claim, sources)


def prove_phrase(
    family: Family[E], template: Template, frame: str, examples: Iterable[E], sources: Sources, random: Random
) -> tuple[E, Filled, str]:
    """The first example that has the frame's slots, the frame filled with it, and what is read there. Raises Unproved."""
    if not frame or len(frame) > LONGEST or not frame.isprintable() or family.strange.search(frame):
        raise Unproved("not a line of plain text that a customer would type")
    used = set(SLOT.findall(frame))
    example = next((each for each in examples if used <= set(each.slots)), None)
    if example is None:
        strange = min(used - set().union(*(each.slots for each in examples)), default="together with these")
        raise Unproved(f"there is no slot {{{strange}}}")
    try:
        filled = family.fill(template, frame, example, random)
    except Malformed as error:
        raise Unproved(str(error)) from None
    if slip := find_slip(filled.text):
        raise Unproved(f"{slip}: {filled.text}")
    claim = Claim(template.meaning, frame, filled.text, filled.facts, example.of, example.asked_on)
    proof = family.read(claim, sources)
    waiting = sources.trajectories.once(Readings)
    if len(waiting) >= MOST_KEPT:
        waiting.clear()
    waiting[family.name, claim] = proof
    return example, filled, proof


def replace_meaning(bank: PhraseBank, template: Template, frame: str) -> PhraseBank:
    """The bank, in which a meaning is said by one frame alone."""
    found = PhraseBank(())
    found.templates = {**bank.templates, template.meaning: [replace(template, pieces=((frame,),))]}
    return found


def find_slip(text: str) -> str | None:
    """What is wrong with the grammar around facts.

    >>> find_slip("a the lamp"), find_slip("for $40 dollars"), find_slip("within 1 days"), find_slip("a lamp for $40")
    ('two articles in a row', 'a unit twice', 'one of several', None)
    """
    return next((slip for pattern, slip in SLIPS if pattern.search(text)), None)


def list_registers(templates: Iterable[Template], every: Sequence[Register]) -> Sequence[Register]:
    """Those that a meaning can be said in: what is said plainly alone, such as the name of a thing, has no tone."""
    return every if len({each.register for each in templates}) > 1 else every[:1]
