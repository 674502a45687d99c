"""Choosing a phrasing for a meaning, and putting facts into its slots."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple

from shopwright.pipeline.phrases.grammar import SLOT, Malformed, Meanings, Template, parse_phrase_files
from shopwright.pipeline.phrases.register_wording import fill_registers
from shopwright.pipeline.phrases.synonyms import load_synonyms
from shopwright.schemas.phrases import FamilyName, Use

QUESTIONS: FamilyName = "questions"
# The families of which a register speaks in all splits: of `behaviors` the shoppers write plain words in their own way themselves.
SPOKEN = ("envs", QUESTIONS)
FOLDER = Path(__file__).parents[2] / "data" / "reference" / "phrases"
SPACE_BEFORE = re.compile(r"\s+(?=[,.;:?!)])")
# What two pieces may both say where they meet: "clicked on on May 3", "in the cart and and", "pls pls".
TWICE = re.compile(r"\b(on|in|and|pls|please) (?=\1\b)|\bpls,? (?=please\b)|\bplease,? (?=pls\b)", re.IGNORECASE)
AGAIN = re.compile(r"([,.;:?!])(?=\s*[.?!])|,(?=\s*,)")
VOWEL = re.compile(r"(?:[aei]|o(?!n(?:e|ce)\b)|u(?!ni|s[abe]|ti|k)|8|11\b|18\b|hour|honest)", re.IGNORECASE)


class Said(NamedTuple):
    """A text with the templates that it is made of."""

    text: str
    templates: tuple[str, ...]


@dataclass(frozen=True)
class Ref:
    """A slot that is itself said by the bank: a meaning, with facts of its own."""

    meaning: str
    slots: "Mapping[str, str | Ref]"


Slot = str | Said | Ref


class PhraseBank:
    """Templates by meaning and use."""

    def __init__(self, templates: Iterable[Template] | Meanings) -> None:
        self.templates: Mapping[str, list[Template]]
        self.templates = templates if isinstance(templates, Meanings) else group_by_meaning(templates)
        self.known: dict[tuple[str, Use, str], list[Template]] = {}

    def of(self, meaning: str, use: Use, register: str = "plain") -> list[Template]:
        """The templates of a meaning for a use, of the register where there are any of it, else plain ones.

        A meaning with too few templates to share out is the same for every use. Raises Malformed where there is none.
        """
        key = meaning, use, register
        found = self.known.get(key)
        if found is None:
            every = self.templates.get(meaning, [])
            found = [each for each in every if each.use == use] or every
            own = [each for each in found if each.register == register]
            found = own or [each for each in found if each.register == "plain"] or found
            if not found:
                raise Malformed(f"the phrase bank says nothing for {meaning!r}")
            self.known[key] = found
        return found

    def draw(self, meaning: str, random: Random, *, use: Use = "train", register: str = "plain") -> Template:
        templates = self.of(meaning, use, register)
        return templates[int(random.random() * len(templates))]

    def say(
        self,
        meaning: str,
        slots: Mapping[str, Slot],
        random: Random,
        *,
        use: Use = "train",
        register: str = "plain",
    ) -> Said:
        """A meaning in words, with its facts. A slot that is no fact but a meaning of the bank is said by it, with the same facts.

        >>> bank = PhraseBank(parse_texts("greets\\n    [Hello|Hello there], {name}.\\n"))
        >>> bank.say("greets", {"name": "Ada"}, Random(1)).text
        'Hello there, Ada.'
        """
        template = self.draw(meaning, random, use=use, register=register)
        return self.fill(template, template.frame(random), slots, random, use=use, register=register)

    def fill(
        self,
        template: Template,
        frame: str,
        slots: Mapping[str, Slot],
        random: Random,
        *,
        use: Use = "train",
        register: str = "plain",
    ) -> Said:
        """A frame of a template with its facts. Raises Malformed where it has a slot that is not given."""
        used = [template.id]

        def put(found: re.Match[str]) -> str:
            name, _, argument = found[1].partition(":")
            value = slots[name] if name in slots or name not in self.templates else Ref(name, {})
            if isinstance(value, str):
                return value
            if isinstance(value, Ref):
                inner = {**slots, **value.slots}
                if argument:
                    inner["x"] = slots.get(argument, argument)
                value = self.say(value.meaning, inner, random, use=use, register=register)
            used.extend(value.templates)
            return value.text

        try:
            text = SLOT.sub(put, frame)
        except KeyError as error:
            raise Malformed(
                f"{template.pattern!r} of {template.meaning} has the slot {error}, which is not given"
            ) from None
        return Said(tidy_sentence(text), tuple(used))


def group_by_meaning(templates: Iterable[Template]) -> dict[str, list[Template]]:
    found: dict[str, list[Template]] = {}
    for template in templates:
        found.setdefault(template.meaning, []).append(template)
    return found


@lru_cache(16_384)
def tidy_sentence(text: str) -> str:
    """Spaces and signs as they are written; `a` before a vowel's sound is `an`.

    >>> tidy_sentence("a  apple , , please .")
    'an apple, please.'
    >>> tidy_sentence("put a one-piece suit in the cart and and a old hat pls pls")
    'put a one-piece suit in the cart and an old hat pls'
    >>> tidy_sentence("a clock, no oak please please")
    'a clock, no oak please'
    """
    text = AGAIN.sub("", SPACE_BEFORE.sub("", TWICE.sub("", " ".join(text.split()))))
    return re.sub(r"\b([Aa]) (?=(\S+))", lambda found: f"{found[1]}n " if VOWEL.match(found[2]) else found[0], text)


def parse_texts(*texts: str) -> list[Template]:
    """The templates of texts in the notation of phrase files."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        files = []
        for number, text in enumerate(texts):
            files.append(Path(folder, f"{number}.txt"))
            files[-1].write_text(text, encoding="utf-8")
        return list(chain.from_iterable(parse_phrase_files(files).values()))


@cache
def load_grammar_bank(family: str) -> PhraseBank:
    """The bank of one family of texts: the files of its folder, and those at the top that all share."""
    files = [*sorted(FOLDER.glob("*.txt")), *sorted(FOLDER.joinpath(family).glob("*.txt"))]
    # Small phrases of questions are exchanged for others when they are said.
    settle = load_synonyms().settle if family == QUESTIONS else str
    finish = partial(fill_registers, settle=settle) if family in SPOKEN else list
    return PhraseBank(parse_phrase_files(files, settle, finish))
