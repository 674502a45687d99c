"""The shopper in an episode: says what is wanted, answers only what is asked, and keeps the disclosure of what was said.

Facts come from the task's slots; the words from the phrase bank, or from a model (`shopwright.pipeline.shop.rephrasing`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain
from random import Random
from typing import NamedTuple, Protocol

from shopwright.pipeline.phrases.speaker import Speaker, capitalize_first
from shopwright.pipeline.shop.mistype_words import add_typos
from shopwright.pipeline.shop.topics import (
    ParsedQuestion,
    SlotKeys,
    build_slot_keys,
    extract_questions,
    parse_user_question,
    stem_words,
)
from shopwright.pipeline.words import content_words
from shopwright.schemas.tasks import Slot

# How the key of a notice begins that is nobody's mistake: something was sold out on the way.
SOLD_OUT = "sold out"
# How the key of a notice begins by which the shopper brings up what else is wanted.
NEXT = "next"
# Poor turns in a row after which a shopper leaves, by temper; the first is always warned of.
PATIENCE = (2, 2, 2, 3, 3, 4)
# Topics that a shopper has patience for in one turn of the agent's.
TOPICS = 2
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
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
# Parts of which a weight is a whole number.
WHOLE = 2**20


class Notice(Protocol):
    """Something that the shopper sees to be wrong."""

    @property
    def key(self) -> str:
        """Said once; the name of the slot where it is about one."""

    @property
    def meaning(self) -> str:
        """In the phrase bank; empty where `said` is what is said."""

    @property
    def facts(self) -> Mapping[str, str]: ...

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

    Facts are said clean, also those that the opening has mistyped, so that a question recovers them. avoid: says what no other word may be
    mistyped to. aside: after which turn something else is asked, and what. patience: poor turns in a row after which the shopper leaves; the speaker's where none is given. A turn is
    poor in which the agent calls no tool, asks nothing and has nothing to say, or only asks again what it was told.
    Of more than TOPICS in a turn the shopper takes up the first alone: nobody fills in a form.
    """

    part = "shopper"
    """What its random numbers are drawn as."""

    def __init__(
        self,
        slots: Sequence[Slot],
        *,
        seed: str,
        noise: float = 0.0,
        avoid: Callable[[str], bool] | None = None,
        aside: tuple[int, str] | None = None,
        patience: int | None = None,
        speaker: Speaker | None = None,
    ) -> None:
        self.slots, self.seed, self.noise, self.aside = slots, seed, noise, aside
        self.avoid = avoid
        self.speaker = speaker or Speaker()
        self.patience = patience or PATIENCE[int(self.speaker.temper * len(PATIENCE))]
        # Places of the slots that the agent has heard.
        self.told = {place for place, slot in enumerate(slots) if slot.known == "stated"}
        self.answered: set[int] = set()
        self.questions: set[str] = set()
        self.messages: set[frozenset[str]] = set()
        self.noticed: set[str] = set()
        self.poor = self.taken_up = 0
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
        news, self.news, self.fresh, self.repeated, self.taken_up = self.news, False, False, False, 0
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
        said = self.speaker.phrase(notice.meaning, notice.facts, self.dice) if notice.meaning else notice.said
        if notice.key.startswith(SOLD_OUT):
            return self.say("elaborate", "remarks", said, caused=1)
        if notice.key.startswith(NEXT):
            return self.say("switch", "switches", said, caused=1)
        return self.say("correct", "corrects", said)

    def is_new(self, message: str) -> bool:
        """Whether a message says something that no message before has said."""
        said = frozenset(content_words(message)) if message else frozenset()
        new = bool(said) and said not in self.messages
        self.messages.add(said)
        return new

    def reply(self, question: str) -> SimulatorReply:
        """The slots that are asked for, and no other; to a general question one that was left out."""
        about = parse_user_question(question, self.keys)
        impatient = self.taken_up + about.count > TOPICS
        if impatient:
            about = pick_first_topic(about) if self.taken_up < TOPICS else ParsedQuestion([], [], [])
        self.taken_up += about.count
        said = question.lower()
        again = said in self.questions
        self.questions.add(said)
        extra = chain.from_iterable(
            [*self.find_mistyped(topic), *self.left_out(topic, about.slots)] for topic in about.more
        )
        told = list(dict.fromkeys([*about.slots, *extra]))
        repeated = again or (bool(told) and self.answered.issuperset(told))
        self.fresh, self.repeated = self.fresh or not repeated, self.repeated or repeated
        parts = [self.tell(told, general=not about.slots)] if told else []
        parts += [self.say("clarify", "does_not_mind", topic) for topic in about.others]
        if impatient:
            parts.append(self.say("clarify", "is_impatient"))
        if not parts and about.more:
            parts.append(self.say("done", "said_it_all"))
        if not parts and about.confirms:
            parts.append(self.say("confirm", "confirms"))
        if not parts:
            parts.append(self.say("clarify", "has_no_slot" if about.unknown else "does_not_understand"))
        return join_replies(parts)

    def find_mistyped(self, topic: frozenset[str]) -> list[int]:
        """The slots that a topic names, `item 2`, and that the opening has mistyped."""
        return [
            place for place, slot in enumerate(self.slots) if slot.typed and topic and topic <= self.keys[place].own
        ]

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
        fact = slots[0].said.rstrip(".") if only else self.string_together([self.name_owner(slot) for slot in slots])
        forms = {slot.form for slot in slots}
        how = "tells_again" if not new else "volunteers" if general else "tells"
        said = self.say(
            "elaborate" if general and new else "clarify", how, fact, form=min(forms) if len(forms) == 1 else "plain"
        )
        return said._replace(says=tuple(slot.said.rstrip(".") for slot in slots))

    def name_owner(self, slot: Slot) -> str:
        """What a slot says, with the thing that it is about where its words do not tell."""
        said, (_, of, owner) = slot.said.rstrip("."), slot.name.rpartition(" of ")
        first, _, number = owner.partition(" ")
        if not of or not self.speaker.knows(f"about {first}"):
            return said
        facts = {"fact": said, "n": number, "ordinal": name_place(number)}
        return self.speaker.phrase(f"about {first}", facts, self.dice)

    def string_together(self, parts: Sequence[str]) -> str:
        """Several things told at once: whole clauses are sentences of their own."""
        if any(slot.form not in ("trait", "thing") for slot in self.slots if slot.said.rstrip(".") in parts):
            return ". ".join([parts[0], *map(capitalize_first, parts[1:])])
        return self.speaker.list(parts, self.dice)

    def disclose(self, places: Iterable[int]) -> list[int]:
        """Enters these slots into the disclosure; those that are new."""
        new = [place for place in places if place not in self.told]
        self.news = self.news or any(self.slots[place].known == "asked" for place in new)
        self.told.update(places)
        self.answered.update(places)
        return new

    @property
    def dice(self) -> Random:
        if self.random is None:
            self.random = Random(f"{self.seed}/{self.part}")
        return self.random

    def say(self, act: str, how: str, *facts: str, caused: int = 0, form: str = "") -> SimulatorReply:
        line = self.word(how, facts, form)
        return SimulatorReply(line, act, caused, (line.rstrip("."),) if how in AS_IT_IS else facts)

    def word(self, how: str, facts: Sequence[str], form: str) -> str:
        """What is said of these facts, as this person says it; only the words around them are mistyped."""
        known = {"fact": facts[0]} if facts else {}
        said = self.speaker.sentence(self.find_meaning(how.replace("_", " "), form), known, self.dice)
        return said.fill(add_typos(said.text, noise=self.noise, random=self.dice, avoid=self.avoid))

    def find_meaning(self, how: str, form: str) -> str:
        """The phrases for facts of this form, where there are such; a clause's fit whatever stands alone."""
        names = (f"{how} {form}", f"{how} plain", f"{how} clause", how)
        return next(name for name in names if self.speaker.knows(name))


# What nobody may say in other words: a condition or a denial would be lost.
AS_IT_IS = ("does_not_mind", "has_no_slot", "confirms", "said_it_all", "is_impatient")
# Which act a turn is called by in which the shopper does several things.
RANK = ("give up", "switch", "correct", "elaborate", "clarify", "done", "confirm", "dissatisfied", "continue")


def pick_first_topic(about: ParsedQuestion) -> ParsedQuestion:
    """
    >>> pick_first_topic(ParsedQuestion([[3], [4]], ["brand"], []))
    ParsedQuestion(topics=[[3]], others=[], more=[], confirms=False, unknown=False)
    """
    if about.topics:
        return ParsedQuestion(about.topics[:1], [], [])
    return ParsedQuestion([], about.others[:1], [] if about.others else about.more[:1])


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


def name_place(number: str) -> str:
    """
    >>> name_place("2"), name_place("12"), name_place("")
    ('second', '12th', '')
    """
    if not number.isdigit():
        return ""
    return ORDINALS[int(number) - 1] if int(number) <= len(ORDINALS) else f"{number}th"
