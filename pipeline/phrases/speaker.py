"""Somebody who speaks: one register for all that is said, an own temper, and the words of one side of the split."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from shopwright.pipeline.phrases.bank import PhraseBank, Ref, load_grammar_bank
from shopwright.pipeline.phrases.grammar import REGISTERS
from shopwright.schemas.phrases import Register, Use

# Nobody is marked more often than not: a third are plain, the others share the rest.
PLAIN = 0.3
# Where a fact stands until the sentence around it is done; no keyboard has these.
FIRST_MARK = 0xE000
MARK = re.compile(r"(?P<mark>[\ue000-\uf8ff])(?P<sign>[.,;:]?)")
AUXILIARY = re.compile(
    r"(?:^|(?<=[.?!:] ))((?:can|could|would|will|do|have|is|might|may|has|did|are) (?:you|u|I|it|there|one|we)\b[^.?!]*)\.",
    re.IGNORECASE,
)
SENTENCE_START = re.compile(r"(?:^|(?<=[.?!] ))[a-z]")
SMALL = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@dataclass(frozen=True)
class Speaker:
    """How somebody speaks; what is said is drawn elsewhere."""

    register: Register = "plain"
    temper: float = 0.0
    """From 0 to 1: how much somebody bears."""
    use: Use = "train"
    key: str = ""
    """Whose words these are, such as a task's id: what this person always calls alike hangs on it."""
    given: PhraseBank | None = None
    """The bank that the words are from; where none is given, the package's."""

    @property
    def bank(self) -> PhraseBank:
        return self.given or load_grammar_bank("envs")

    def knows(self, meaning: str) -> bool:
        return meaning in self.bank.templates

    def phrase(self, meaning: str, facts: Mapping[str, str], random: Random) -> str:
        """Some words that say a meaning: no sentence yet."""
        return self.bank.say(meaning, facts, random, use=self.use, register=self.register).text

    def phrase_around(self, meaning: str, texts: Mapping[str, str], random: Random) -> str:
        """Some words that say a meaning around texts that stay as they are, such as titles."""
        marked = {name: chr(FIRST_MARK + place) for place, name in enumerate(texts)}
        found = self.phrase(meaning, marked, random)
        for name, mark in marked.items():
            found = found.replace(mark, texts[name])
        return found

    def sentence(
        self, meaning: str, facts: Mapping[str, str], random: Random, *, parts: Mapping[str, str] | None = None
    ) -> "Sentences":
        """Whole sentences, in which facts are still marks. `parts`: meanings that slots of the template are said by; empty: by nothing."""
        marked = {name: chr(FIRST_MARK + place) if text else "" for place, (name, text) in enumerate(facts.items())}
        values = {mark: text for mark, text in zip(marked.values(), facts.values(), strict=True) if mark}
        inner = {name: Ref(part, marked) if part else "" for name, part in (parts or {}).items()}
        said = self.bank.say(meaning, {**marked, **inner}, random, use=self.use, register=self.register)
        return Sentences(AUXILIARY.sub(r"\1?", said.text), values, capitals=self.register != "teenager")

    def list(self, parts: Sequence[str], random: Random) -> str:
        """Several parts in a row, as this person strings them together."""
        if len(parts) < 2:
            return "".join(parts)
        return self.phrase_around("pair", {"first": ", ".join(parts[:-1]), "last": parts[-1]}, random)


@dataclass(frozen=True)
class Sentences:
    """A text whose facts are marks, so that what is done to its words does nothing to them."""

    text: str
    values: Mapping[str, str]
    capitals: bool

    def fill(self, words: str = "") -> str:
        """The text, or what became of it, with its facts."""
        text = words or self.text
        if self.capitals:
            text = SENTENCE_START.sub(lambda found: found[0].upper(), text)
        starts = {found.end() for found in re.finditer(r"^|[.?!] ", text)}

        def fact(found: re.Match[str]) -> str:
            value, sign = self.values[found["mark"]], found["sign"]
            opens = self.capitals and found.start() in starts
            ends = "" if value[-1:] in (".", "?", "!") else sign  # a question needs no full stop
            return (capitalize_first(value) if opens else value) + ends

        return " ".join(MARK.sub(fact, text).split())


def capitalize_first(text: str) -> str:
    """The text as it begins a sentence; a name such as iPhone or x3 is left as it is.

    >>> capitalize_first("under $40"), capitalize_first("iPhone case")
    ('Under $40', 'iPhone case')
    """
    first = text.split(" ", 1)[0]
    return text[:1].upper() + text[1:] if first.islower() or first[1:].startswith("'") else text


def draw_speaker(key: str, *, use: Use = "train", bank: PhraseBank | None = None) -> Speaker:
    """Who it is that a key, such as a task's id, belongs to."""
    random = Random(f"{key}/speaker")
    plain = random.random() < PLAIN
    register = "plain" if plain else REGISTERS[1 + int(random.random() * (len(REGISTERS) - 1))]
    return Speaker(register, random.random(), use, key, bank)


def spell_dollars(cents: int) -> dict[str, str]:
    """An amount as it can be said: as a sign and a number, in dollars, in bucks.

    >>> spell_dollars(4_000), spell_dollars(1_995)["dollars"]
    ({'limit': '$40', 'dollars': '40 dollars', 'bucks': 'forty bucks'}, '19.95 dollars')
    """
    whole = cents % 100 == 0
    number = f"{cents // 100}" if whole else f"{cents / 100:.2f}"
    tens = cents // 1_000
    spelled = SMALL[tens - 2] if whole and cents % 1_000 == 0 and 2 <= tens <= 9 else number
    return {"limit": f"${number}", "dollars": f"{number} dollars", "bucks": f"{spelled} bucks"}


def drop_article(thing: str) -> str:
    """
    >>> drop_article("a pair of jeans"), drop_article("something from Covers & Skins")
    ('pair of jeans', 'something from Covers & Skins')
    """
    first, _, rest = thing.partition(" ")
    return rest if first.lower() in ("a", "an", "some", "the") else thing


def order_parts(parts: Iterable[str], random: Random) -> list[str]:
    found = list(parts)
    return random.sample(found, len(found))
