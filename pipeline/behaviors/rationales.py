"""What a shopper says of its next step: a phrasing of the bank for code's reason with what the pages show, or a model's, held against them."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from shopwright.pipeline.behaviors.meanings import list_meanings
from shopwright.pipeline.behaviors.mention import name_product
from shopwright.pipeline.behaviors.reasons import PageFacts
from shopwright.pipeline.behaviors.session_replay import Move
from shopwright.pipeline.behaviors.sessions import CLICK, PURCHASE, SEARCH, Act
from shopwright.pipeline.behaviors.voices import write_in_register, writes_small
from shopwright.pipeline.evaluate.frames import mask_facts
from shopwright.pipeline.phrases.bank import PhraseBank, load_grammar_bank, tidy_sentence
from shopwright.pipeline.phrases.grammar import SLOT, Template
from shopwright.pipeline.prompts import render_phrases
from shopwright.pipeline.questions.nouns import is_plural
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.behaviors import Reason, Side
from shopwright.schemas.phrases import Register, Use

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# A rationale is said by the shopper.
FIRST_PERSON = re.compile(r"\b(?:[Ii]|[Mm]e|[Mm]y|mine|myself|[Ll]emme)\b")
# How names of elements look; no shopper says them.
ELEMENT = re.compile(
    r"\b\w+\.\w+_\w+|\b\w+_\w+\b|\bnav\.|\bcart\.(?:add|buy|checkout)|\btabs\.|\boptions\.|\brefinements\."
)
# The test has no split for wordings alone, so both parts that training never sees are the test's.
USES_OF_SIDE: dict[Side, tuple[Use, ...]] = {"train": ("train",), "test": ("test", "test_wording")}
# How often a register's own phrasing is taken where there is a plain one too, and the one thing on a page is pointed at.
OWN, POINTED = 0.5, 0.4
# Facts that are said as they are.
PLAIN_SLOTS = ("price", "at", "rating", "limit", "brand", "other_price", "color", "wanted", "option", "value", "number")
# Where what is spoken of does not stand on the page.
FAR: tuple[Reason, ...] = ("gives up", "decides later", "look into the cart")
# What of a step is no text of a page.
OWN_WORDS = frozenset(("number",))
POINTERS = ("one", "last one", "another one")
ARTICLE = re.compile(r"^(?:the|these|this|that) (?=.)")
ASIDE = re.compile(r" (?:with|for|in|of|\().*")
VERB = re.compile(r"(?P<before>\{(?P<slot>product|other)\} )(?P<verb>[a-z']+)")
PLURAL_VERBS = {
    "is": "are", "isn't": "aren't", "was": "were", "wasn't": "weren't", "has": "have", "hasn't": "haven't", "does": "do", "doesn't": "don't",
    "goes": "go", "matches": "match", "catches": "catch", "stays": "stay", "costs": "cost", "looks": "look", "suits": "suit", "seems": "seem",
    "fits": "fit", "comes": "come", "waits": "wait", "speaks": "speak", "sounds": "sound", "saves": "save", "offers": "offer", "lets": "let",
    "holds": "hold", "compares": "compare", "asks": "ask",
}  # fmt: skip
BARE_SEARCH = re.compile(r"[a-z]+(?: [a-z]+){0,3}")
# Letters of a rationale.
LONGEST = 400
# What a rationale may take from pages and searches, of its facts.
QUOTABLE_FACTS = (
    "product",
    "price",
    "rating",
    "query",
    "before",
    "limit",
    "brand",
    "other",
    "other_price",
    "color",
    "wanted",
    "value",
)


class Rationale(NamedTuple):
    """What is said of a step."""

    text: str
    said: list[str]
    """What in it was taken from the pages: prices, searches and values word for word, products by their short names."""


class NothingLeftToSay(Exception):
    """A session with more steps of one kind than the bank has phrasings for them."""


class Speaker:
    """One shopper through one session: its register, and which templates it has used up."""

    def __init__(
        self, register: Register, side: Side, store: Store, random: Random, bank: PhraseBank | None = None
    ) -> None:
        self.register, self.uses, self.store, self.random = register, USES_OF_SIDE[side], store, random
        self.used: set[str] = set()
        self.frames: set[str] = set()
        self.bank = bank or load_grammar_bank("behaviors")

    def say(self, move: Move) -> Rationale:
        """A phrasing that the session has not had yet. Raises NothingLeftToSay."""
        slots = self.fill_slots(move)
        for meaning in list_meanings(move.reason, move.facts, self.random):
            templates = self.list_templates(meaning, slots)
            for template in self.random.sample(templates, len(templates)):
                if found := self.say_once(template, slots):
                    return found
        raise NothingLeftToSay(move.reason)

    def say_once(self, template: Template, slots: Mapping[str, str]) -> Rationale | None:
        """None where another template has said the same before."""
        own = template.register == self.register
        frame = write_in_register(template.frame(self.random), own, self.register, self.random)
        found = put_facts(frame, slots, small=writes_small(self.register))
        masked = mask_facts(found.text, found.said)
        if masked in self.frames:
            return None
        self.used.add(template.id)
        self.frames.add(masked)
        return found

    def list_templates(self, meaning: str, slots: Mapping[str, str]) -> list[Template]:
        """Of this side, not used yet, with no slot that is not known: the register's own as often as the plain ones."""
        found = [
            each
            for each in self.bank.templates[meaning]
            if each.use in self.uses and each.id not in self.used and each.slots <= slots.keys()
        ]
        own = [each for each in found if each.register == self.register]
        plain = [each for each in found if each.register == "plain"]
        return own if own and (not plain or self.random.random() < OWN) else plain

    def fill_slots(self, move: Move) -> dict[str, str]:
        facts = move.facts
        slots = {name.replace("_", " "): facts[name] for name in PLAIN_SLOTS if facts[name]}
        if facts["price"]:
            slots["asks"] = facts["from"] + facts["price"]
        for name in ("query", "before"):
            if facts[name]:
                slots[name] = self.quote(facts[name])
        if facts["option"].lower() in facts["value"].lower().split():
            del slots["option"]
        if facts["row"]:
            slots["product"] = self.name(int(facts["row"]), move) or name_by_pointing(move)
        if facts["other_row"]:
            unnamed = "the last one" if move.reason == "opens" else "another one"
            slots["other"] = self.name(int(facts["other_row"]), move) or unnamed
        return slots

    def name(self, row: int, move: Move) -> str:
        """A product in a few words, with its article; empty where no few words mean it alone."""
        others = [self.store.item(each).title for each in move.in_view if each != row]
        name = name_product(self.store.item(row), others, self.store, self.random)
        pointing = "these" if is_plural(ASIDE.sub("", name)) else "this"
        return f"{pointing if not others and self.random.random() < POINTED else 'the'} {name}" if name else ""

    def quote(self, words: str) -> str:
        """A search with its marks; who is in a hurry leaves them out where it is a few plain words."""
        is_bare = writes_small(self.register) and BARE_SEARCH.fullmatch(words) is not None
        return words if is_bare and self.random.random() < 1 / 2 else f'"{words}"'


def name_by_pointing(move: Move) -> str:
    """
    >>> from shopwright.pipeline.render.pages import build_shop_home_page
    >>> name_by_pointing(Move(build_shop_home_page(), {"type": "click"}, "decides later", PageFacts()))
    'that one'
    """
    return "that one" if move.reason in FAR else "this one"


def put_facts(frame: str, slots: Mapping[str, str], *, small: bool) -> Rationale:
    """A frame with its facts, which stay as they are but for the first letter of the sentence."""
    said: list[str] = []

    def fill(found: re.Match[str]) -> str:
        text = slots[found[1]]
        if found[1] == "limit":
            said.append(text.removeprefix("$"))
        elif found[1] not in OWN_WORDS:
            said.append(ARTICLE.sub("", text).strip('"'))
        return text

    text = tidy_sentence(SLOT.sub(fill, agree_in_number(frame, slots)))
    if not small:
        text = text[:1].upper() + text[1:]
    kept = (part.removeprefix("from ").removeprefix("at ") for part in said)
    return Rationale(text, [part for part in dict.fromkeys(kept) if part in text and part not in POINTERS])


def agree_in_number(frame: str, slots: Mapping[str, str]) -> str:
    """A frame whose verbs behind a product fit its name.

    >>> agree_in_number("{product} has a handle, {other} is dearer.", {"product": "the hiking boots (waxed)", "other": "the clog"})
    '{product} have a handle, {other} is dearer.'
    """

    def agree(found: re.Match[str]) -> str:
        name = ASIDE.sub("", slots[found["slot"]])
        return found["before"] + (PLURAL_VERBS.get(found["verb"], found["verb"]) if is_plural(name) else found["verb"])

    return VERB.sub(agree, frame)


def find_quoted_facts(text: str, facts: PageFacts) -> list[str]:
    """Which of the facts a rationale names.

    >>> find_quoted_facts("I like the Oak lamp.", PageFacts(product="Oak lamp", price="$9.00"))
    ['Oak lamp']
    """
    found = (facts[name].removeprefix("$") if name == "limit" else facts[name] for name in QUOTABLE_FACTS)
    return list(dict.fromkeys(each for each in found if each and each in text))


def describe_intent(errands: Iterable[Sequence[Act]]) -> str:
    """What somebody came for, errand after errand."""
    goals = []
    for errand in errands:
        looked = {act.product for act in errand if act.kind == CLICK}
        unseen = any(act.kind == PURCHASE and act.product not in looked for act in errand)
        queries = [act.query for act in errand if act.kind == SEARCH]
        goals.append(phrase_errand_goal(queries[-1] if queries else "", unseen))
    return " ".join(goals)


@lru_cache(4_096)
def phrase_errand_goal(query: str, bought: bool) -> str:
    return render_phrases("behaviors", "intent", query, bought)[0]


def find_rationale_fault(text: str, seen: Collection[str], name: str) -> str | None:
    """Why a rationale will not do, whoever wrote it: against the words of all pages seen by then and of what was typed.

    name: of the element that is acted on next.
    """
    if not text.strip() or text != " ".join(text.split()) or not text.isprintable():
        return "a rationale that is not one line of text"
    if len(text) > LONGEST:
        return "a rationale that is too long"
    if not FIRST_PERSON.search(text):
        return "a rationale that is not in the first person"
    # A title may look like an element's name.
    own = " ".join(word for word in text.split() if word.strip("\"'.,;:!?()") not in seen)
    if ("." in name and name in own) or ELEMENT.search(own):
        return "a rationale that names an element"
    strange = [number for number in NUMBER.findall(text) if number not in seen and number.replace(",", "") not in seen]
    return "a rationale with a number that no page shows" if strange else None


def collect_page_words(text: str) -> set[str]:
    """Words and numbers of what was seen, as `find_rationale_fault` looks them up."""
    return {word.strip("\"'.,;:!?()") for word in text.split()} | set(NUMBER.findall(text))


def find_model_rationale_fault(text: str, facts: PageFacts, name: str) -> str | None:
    """Why a model's rationale will not do: it may take from the pages only the facts of its step."""
    return find_rationale_fault(text, collect_page_words(" ".join(facts.values())), name)
