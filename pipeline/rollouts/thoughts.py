"""A thought in words: a meaning of the phrase bank with its facts, in the register of the episode, and none of it twice."""

from collections.abc import Iterable, Mapping
from datetime import date
from random import Random
from typing import NamedTuple

from shopwright.pipeline.phrases.bank import PhraseBank, Ref, Said, load_grammar_bank
from shopwright.pipeline.prompts import MONTHS
from shopwright.schemas.phrases import Use
from shopwright.schemas.questions import Split

FAMILY = "rollouts"
REGISTERS = ("plain", "plain", "terse", "terse", "chatty")
"""Drawn for each episode: full sentences, notes, or somebody who thinks aloud."""
USES: Mapping[Split, Use] = {"sft": "train", "rl": "train", "test": "test"}
DRAWS = 24
"""How often a phrasing is drawn again that was used before, or shares a part with one."""
PRIVATE = 0xE000
"""Facts stand as letters that no text has while their sentence is made, so that its tidying leaves them as they are."""
Slots = Mapping[str, "str | Ref"]


class Remark(NamedTuple):
    """Something to be said: a meaning of the bank, with its facts."""

    meaning: str
    slots: Slots


def remark(meaning: str, **slots: "str | Ref") -> Remark:
    return Remark(meaning, slots)


def noun(meaning: str, **slots: "str | Ref") -> Ref:
    """A part of a sentence that the bank says."""
    return Ref(meaning, slots)


class Speaker:
    """How one episode talks."""

    def __init__(self, split: Split, random: Random, bank: PhraseBank | None = None) -> None:
        self.random, self.use = random, USES[split]
        self.register = REGISTERS[int(random.random() * len(REGISTERS))]
        self.day_style = int(random.random() * 3)
        self.bank = bank or load_grammar_bank(FAMILY)
        self.used: set[str] = set()

    def say(self, remark: Remark) -> str:
        """One that was not used yet in this episode, as far as there are any; what it is made of differs too, if it can."""
        facts: dict[str, str] = {}
        slots = hide_facts(remark.slots, facts)
        best: tuple[tuple[bool, int], Said] | None = None
        for _ in range(DRAWS):
            register = self.choose_register(remark.meaning)
            said = self.bank.say(remark.meaning, slots, self.random, use=self.use, register=register)
            again = said.templates[0] in self.used, sum(each in self.used for each in said.templates)
            if best is None or again < best[0]:
                best = again, said
            if not again[1]:
                break
        assert best is not None
        self.used.update(best[1].templates)
        return show_facts(best[1].text, facts, self.register)

    def choose_register(self, meaning: str) -> str:
        """The episode's, where the meaning has it; who thinks aloud speaks plainly half of the time; who writes sentences takes no notes."""
        there = {each.register for each in self.bank.of(meaning, self.use)}
        if self.register == "terse":
            return "terse"
        wanted = (
            ("chatty", "plain") if self.register == "chatty" and self.random.random() < 0.5 else ("plain", "chatty")
        )
        return next((each for each in wanted if each in there), "terse")

    def join(self, parts: Iterable[str]) -> str:
        """One after the other: sentences as they are, notes with a mark between them."""
        text = ""
        for part in parts:
            mark = "; " if text and self.register == "terse" and text[-1] not in ".?!:" else " "
            text += mark * bool(text) + part
        return text

    def day(self, day: date) -> str:
        """
        >>> speaker = Speaker("sft", Random(1))
        >>> speaker.day_style = 1
        >>> speaker.day(date(2024, 5, 3))
        'May 3, 2024'
        """
        month = MONTHS[day.month - 1]
        return (day.isoformat(), f"{month} {day.day}, {day.year}", f"{day.day} {month} {day.year}")[self.day_style]


def show_facts(text: str, facts: Mapping[str, str], register: str) -> str:
    """A remark with its facts instead of their letters, as a sentence; notes stay as they are."""
    if register != "terse":
        text = text[0].upper() + text[1:] + "." * (text[-1] not in ".?!:")
    return "".join(facts.get(letter, letter) for letter in text)


def hide_facts(slots: Slots, facts: dict[str, str]) -> dict[str, "str | Ref"]:
    """The slots with a private letter for each fact; which stands for which goes into `facts`."""
    found: dict[str, str | Ref] = {}
    for name, value in slots.items():
        if isinstance(value, Ref):
            found[name] = Ref(value.meaning, hide_facts(value.slots, facts))
        else:
            letter = chr(PRIVATE + len(facts))
            facts[letter] = value
            found[name] = letter
    return found
