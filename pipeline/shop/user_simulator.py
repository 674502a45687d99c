"""The shopper in an episode: says what is wanted, answers only what is asked, and keeps the disclosure of what was said.

Facts come from the task's slots; the words from `prompts/shopper.offline.j2`, or from a model (`shopwright.pipeline.shop.rephrasing`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain
from random import Random
from typing import Any, NamedTuple, Protocol

from shopwright.pipeline.prompts import TEMPLATES, render_phrases, template
from shopwright.pipeline.shop.topics import (
    SlotKeys,
    build_slot_keys,
    extract_questions,
    parse_user_question,
    stem_word,
    stem_words,
)
from shopwright.pipeline.shop.typing_errors import add_typos
from shopwright.pipeline.words import content_words, split_words
from shopwright.schemas.tasks import Slot

# Where a fact stands in a phrase; no keyboard has it.
MARK = "\ue000"
# How the key of a notice begins that is nobody's mistake: something was sold out on the way.
SOLD_OUT = "sold out"
# How the key of a notice begins by which the shopper brings up what else is wanted.
NEXT = "next"
UNFILLED = re.compile(r"[{}]|<[a-z_]+>|\bNone\b|\bUndefined\b|\[\]")
# What a shopper weighs, with its parameter of the Dirichlet distribution (EcomRLVE-GYM, simulated user).
DIMENSIONS = {"price": 2, "rating": 2, "shipping": 1, "brand": 1, "similarity": 1}
# Added to the parameter of a dimension that a stated slot is about.
STATED_SLOT_BONUS = 3
ABOUT = {
    "price": "price budget cost total",
    "rating": "rating star review",
    "shipping": "shipping delivery deadline",
    "brand": "brand maker manufacturer",
    "similarity": "similarity similar like reference",
}
# Parts of which a weight is a whole number.
WHOLE = 2**20


class Notice(Protocol):
    """Something that the shopper sees to be wrong."""

    @property
    def key(self) -> str:
        """Said once; the name of the slot where it is about one."""

    @property
    def said(self) -> str: ...


class SimulatorReply(NamedTuple):
    """What the shopper said, and did by it."""

    text: str
    act: str
    caused: int = 0
    """1 where the turn must not count against the agent."""
    says: tuple[str, ...] = ()
    """What in it a model may not put differently."""
    tells: tuple[str, ...] = ()
    """Names of the slots that it tells."""
    asked: tuple[str, ...] = ()
    """Those of them that were asked for by name."""


def join_with_commas(values: Iterable[Any], last: str = "and") -> str:
    """
    >>> join_with_commas(["red", "under $40", "by Norrvik"])
    'red, under $40 and by Norrvik'
    """
    found = [str(each) for each in values]
    return f" {last} ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


TEMPLATES.filters["listed"] = join_with_commas
TEMPLATES.filters["sentence"] = lambda text: text[:1].upper() + text[1:]


def phrase_opening(name: str, slots: Sequence[Slot], facts: Mapping[str, Any], *, noise: float, random: Random) -> str:
    """The shopper's first words: one line of `prompts/envs/NAME.offline.j2`, each of which is a way to say the same.

    The template is given the facts (texts, numbers, lists and mappings of them) and `stated`: what the shopper says of each stated
    slot, by name. A line says all of it word for word, which is asserted: what the disclosure calls stated was said. `noise` is the
    chance of a letter to be mistyped.
    """
    facts = put_on_one_line(facts)
    wanted = {slot.name: put_on_one_line(slot.said) for slot in slots if slot.known == "stated"}
    said = template(f"envs/{name}.offline").render({"stated": wanted, **facts})
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    assert lines, f"prompts/envs/{name}.offline.j2 says nothing"
    line = lines[int(random.random() * len(lines))]
    known = collect_texts(facts)
    rest = line
    for each in (*wanted.values(), *known):
        rest = rest.replace(each, "") if UNFILLED.search(each) else rest
    assert not UNFILLED.search(rest), f"the opening of {name} has an unfilled place: {line}"
    for slot, fact in wanted.items():
        assert fact.rstrip(".").lower() in line.lower(), (
            f"the opening of {name} does not say {slot!r} as {fact!r}: {line}"
        )
    names = [each for each in known if each[-1:] not in ".?!"]  # the rest are sentences, not names
    return add_typos(line, noise=noise, random=random, keep=[*wanted.values(), *names])


def put_on_one_line(value: Any) -> Any:
    """The same without line breaks: a line of a template is a way to say it."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {name: put_on_one_line(each) for name, each in value.items()}
    return [put_on_one_line(each) for each in value] if isinstance(value, list | tuple) else value


def collect_texts(value: Any) -> list[str]:
    """All text in a value, wherever it stands."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return list(chain.from_iterable(map(collect_texts, value))) if isinstance(value, list) else []


def draw_preferences(slots: Iterable[Slot], random: Random) -> dict[str, Fraction]:
    """How much a shopper weighs price, rating, shipping, brand and similarity: a Dirichlet draw, exact, with sum 1.

    The gaps between n - 1 uniform numbers are Dirichlet(1, ..., 1), and sums of a of them have the parameter a.
    """
    said = set(chain.from_iterable(stem_words(slot.name) for slot in slots if slot.known == "stated"))
    sizes = {
        name: least + STATED_SLOT_BONUS * bool(said & set(stem_words(ABOUT[name])))
        for name, least in DIMENSIONS.items()
    }
    cuts = sorted(random.randrange(WHOLE + 1) for _ in range(sum(sizes.values()) - 1))
    edges, place, found = [0, *cuts, WHOLE], 0, {}
    for name, size in sizes.items():
        found[name] = Fraction(edges[place + size] - edges[place], WHOLE)
        place += size
    return found


class UserSimulator:
    """Somebody who wants something: `answer` is the tool `ask_user`, `hear` what is said at the end of an agent's turn.

    aside: after which turn something else is asked, and what. patience: poor turns in a row after which the shopper leaves. A turn is
    poor in which the agent calls no tool, asks nothing and has nothing to say, or only asks again what it was told.
    """

    part = "shopper"
    """What its random numbers are drawn as."""

    def __init__(
        self,
        slots: Sequence[Slot],
        *,
        seed: str,
        noise: float = 0.0,
        aside: tuple[int, str] | None = None,
        patience: int = 2,
    ) -> None:
        self.slots, self.seed, self.noise, self.aside, self.patience = slots, seed, noise, aside, patience
        # Places of the slots that the agent has heard.
        self.told = {place for place, slot in enumerate(slots) if slot.known == "stated"}
        self.answered: set[int] = set()
        self.questions: set[str] = set()
        self.messages: set[frozenset[str]] = set()
        self.noticed: set[str] = set()
        self.poor = 0
        self.news = self.fresh = self.repeated = False
        # Everything, in its order.
        self.said: list[SimulatorReply] = []
        self.random: Random | None = None

    @property
    def untold(self) -> list[Slot]:
        """What the agent has neither been told nor can look up."""
        return [slot for place, slot in enumerate(self.slots) if slot.known == "asked" and place not in self.told]

    @property
    def disclosure(self) -> dict[str, str]:
        """Of each slot: stated, told, inferable, or untold."""
        return {
            slot.name: slot.known
            if slot.known == "stated" or (slot.known == "inferable" and place not in self.told)
            else "told"
            if place in self.told
            else "untold"
            for place, slot in enumerate(self.slots)
        }

    @cached_property
    def keys(self) -> list[SlotKeys]:
        return [build_slot_keys(slot) for slot in self.slots]

    def answer(self, question: str) -> str:
        """What the shopper says to a question of the tool `ask_user`."""
        heard = self.reply(extract_questions(question) or question)
        self.said.append(heard)
        return heard.text

    def hear(self, message: str, notices: Iterable[Notice], *, turn: int, worked: bool) -> SimulatorReply:
        """What the shopper says after the agent's turn of this number, in which it called tools or not."""
        asked_again, question = self.repeated, extract_questions(message) if message else ""
        parts = [self.reply(question)] if question else []
        stuck = asked_again and not self.fresh
        idle = not (worked or self.fresh or (not question and self.is_new(message)))
        news, self.news, self.fresh, self.repeated = self.news, False, False, False
        self.poor = self.poor + 1 if stuck or idle else 0
        if self.poor >= self.patience:
            parts = [self.say("give up", "gives_up")]
        else:
            parts += [self.correct_mistake(each) for each in notices if each.key not in self.noticed]
            parts += self.other_matters(turn)
            if not parts and idle:
                parts = [self.say("dissatisfied", "is_dissatisfied")]
            elif not parts and message and not worked:
                parts = [self.say("continue", "goes_on")]
        heard = join_replies(parts, caused=int(news))
        if heard.text:
            self.said.append(heard)
        return heard

    def other_matters(self, turn: int) -> list[SimulatorReply]:
        """What comes to the shopper's mind after this turn."""
        if self.aside is None or self.aside[0] != turn:
            return []
        return [self.say("switch", "switches", self.aside[1], caused=1)]

    def correct_mistake(self, notice: Notice) -> SimulatorReply:
        self.noticed.add(notice.key)
        self.told |= {place for place, slot in enumerate(self.slots) if slot.name == notice.key}
        if notice.key.startswith(SOLD_OUT):
            return self.say("elaborate", "remarks", notice.said, caused=1)
        if notice.key.startswith(NEXT):
            return self.say("switch", "switches", notice.said, caused=1)
        return self.say("correct", "corrects", notice.said)

    def is_new(self, message: str) -> bool:
        """Whether a message says something that no message before has said."""
        said = frozenset(content_words(message)) if message else frozenset()
        new = bool(said) and said not in self.messages
        self.messages.add(said)
        return new

    def reply(self, question: str) -> SimulatorReply:
        """The slots that are asked for, and no other; to a general question one that was left out."""
        about = parse_user_question(question, self.keys)
        said = question.lower()
        again = said in self.questions
        self.questions.add(said)
        extra = chain.from_iterable(self.left_out(topic, about.slots) for topic in about.more)
        told = list(dict.fromkeys([*about.slots, *extra]))
        repeated = again or (bool(told) and self.answered.issuperset(told))
        self.fresh, self.repeated = self.fresh or not repeated, self.repeated or repeated
        parts = [self.tell(told, general=not about.slots)] if told else []
        parts += [self.say("clarify", "does_not_mind", topic) for topic in about.others]
        if not parts and about.more:
            parts.append(self.say("done", "said_it_all"))
        if not parts and about.confirms:
            parts.append(self.say("confirm", "confirms"))
        if not parts:
            parts.append(self.say("clarify", "has_no_slot" if about.unknown else "does_not_understand"))
        return join_replies(parts)

    def left_out(self, topic: frozenset[str], but: Sequence[int]) -> list[int]:
        """One slot that was left out and never told; of a topic, where the question has one, if need be one told before."""
        fitting = [place for place in range(len(self.slots)) if topic <= self.keys[place].about]
        untold = [
            place
            for place in fitting
            if self.slots[place].known == "asked" and place not in self.told and place not in but
        ]
        return untold[:1] or (fitting[:1] if topic else [])

    def tell(self, places: list[int], *, general: bool) -> SimulatorReply:
        """Says these slots, and enters them into the disclosure."""
        new = self.disclose(places)
        slots = [self.slots[place] for place in places]
        only = not general and len(slots) == 1
        fact = slots[0].said if only else "; ".join(map(name_slot, slots))
        how = "tells_again" if not new else "volunteers" if general else "tells"
        found = self.say("elaborate" if general and new else "clarify", how, fact.rstrip("."))
        several = len(slots) > 1
        return found._replace(
            says=tuple(name_slot(w) if several and " of " in w.name else w.said.rstrip(".") for w in slots)
        )

    def disclose(self, places: Iterable[int]) -> list[int]:
        """Enters these slots into the disclosure; those that are new."""
        new = [place for place in places if place not in self.told]
        self.news = self.news or any(self.slots[place].known == "asked" for place in new)
        self.told.update(places)
        self.answered.update(places)
        return new

    def list_frames(self, how: str, facts: Sequence[str]) -> tuple[str, ...]:
        """The ways to say something of these facts, with a mark for each."""
        ways = load_reply_frames(how, len(facts))
        if facts and CLAUSE.match(facts[0]):
            return tuple(way for way in ways if OPEN.search(way.partition(MARK)[0])) or ways
        return ways

    def say(self, act: str, how: str, *facts: str, caused: int = 0) -> SimulatorReply:
        if self.random is None:
            self.random = Random(f"{self.seed}/{self.part}")
        ways = self.list_frames(how, facts)
        line = add_typos(ways[int(self.random.random() * len(ways))], noise=self.noise, random=self.random)
        for fact in facts:
            line = line.replace(MARK, fact, 1)
        return SimulatorReply(line, act, caused, (line.rstrip("."),) if how in AS_IT_IS else facts)


# A slot that is a whole clause: it stands by itself, not after `I need`.
CLAUSE = re.compile(
    r"(I|it|they|there|you|my|the|we)\b.* (am|is|are|was|were|have|has|had|did|want|paid|bought|costs?|came) ",
    re.IGNORECASE,
)
OPEN = re.compile(r"^$|[:.,;!] $")
# What nobody may say in other words: a condition or a denial would be lost.
AS_IT_IS = ("does_not_mind", "has_no_slot", "confirms", "said_it_all")
# Which act a turn is called by in which the shopper does several things.
RANK = ("give up", "switch", "correct", "elaborate", "clarify", "done", "confirm", "dissatisfied", "continue")


def join_replies(parts: Sequence[SimulatorReply], *, caused: int = 0) -> SimulatorReply:
    """Several things said at once."""
    if len(parts) == 1 and not caused:
        return parts[0]
    if not parts:
        return SimulatorReply("", "continue", caused)
    act = min((part.act for part in parts), key=RANK.index)
    says = tuple(chain.from_iterable(part.says for part in parts))
    return SimulatorReply(
        " ".join(part.text for part in parts), act, max(caused, *(part.caused for part in parts)), says
    )


def name_slot(slot: Slot) -> str:
    """A slot with what it is about, unless its words tell.

    >>> name_slot(Slot(name="color", said="red", known="asked")), name_slot(Slot(name="brand", said="brand Norrvik", known="asked"))
    ('color: red', 'brand Norrvik')
    """
    said = slot.said.rstrip(".")
    tells = len(said.split()) >= 4 or stem_word(split_words(slot.name)[0]) in stem_words(said)
    return said if tells and " of " not in slot.name else f"{slot.name}: {said}"


@cache
def load_reply_frames(how: str, facts: int, template: str = "shopper", *options: str) -> tuple[str, ...]:
    """The ways to say something, with marks where the facts go."""
    return tuple(render_phrases(template, how, *[MARK] * facts, *options))
