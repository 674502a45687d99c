"""The shopper in an episode: says what is wanted, answers only what is asked, and keeps the ledger of what was said.

Facts come from the task's wishes; the words from `prompts/shopper.offline.j2`, or from a model (`pipeline.shop.phrased`).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property
from random import Random
from typing import Any, NamedTuple, Protocol

from pipeline.prompts import TEMPLATES, phrases, template
from pipeline.shop.noise import mistyped
from pipeline.shop.topics import Keys, asked, keys, questions, stem, stems
from pipeline.words import content_words, words
from schemas.tasks import Wish

MARK = "\ue000"
"""Where a fact stands in a phrase; no keyboard has it."""
SOLD_OUT = "sold out"
"""How the key of a notice begins that is nobody's mistake: something was sold out on the way."""
NEXT = "next"
"""How the key of a notice begins by which the shopper brings up what else is wanted."""
UNFILLED = re.compile(r"[{}]|<[a-z_]+>|\bNone\b|\bUndefined\b|\[\]")
DIMENSIONS = {"price": 2, "rating": 2, "shipping": 1, "brand": 1, "similarity": 1}
"""What a shopper weighs, with its parameter of the Dirichlet distribution (EcomRLVE-GYM, simulated user)."""
TOUCHED = 3
"""Added to the parameter of a dimension that a stated wish is about."""
ABOUT = {
    "price": "price budget cost total",
    "rating": "rating star review",
    "shipping": "shipping delivery deadline",
    "brand": "brand maker manufacturer",
    "similarity": "similarity similar like reference",
}
WHOLE = 2**20
"""Parts of which a weight is a whole number."""


class Notice(Protocol):
    """Something that the shopper sees to be wrong."""

    @property
    def key(self) -> str:
        """Said once; the name of the wish where it is about one."""

    @property
    def said(self) -> str: ...


class Heard(NamedTuple):
    """What the shopper said, and did by it."""

    text: str
    act: str
    caused: int = 0
    """1 where the turn must not count against the agent."""
    says: tuple[str, ...] = ()
    """What in it a model may not put differently."""


def listed(values: Iterable[Any], last: str = "and") -> str:
    """
    >>> listed(["red", "under $40", "by Norrvik"])
    'red, under $40 and by Norrvik'
    """
    found = [str(each) for each in values]
    return f" {last} ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


TEMPLATES.filters["listed"] = listed
TEMPLATES.filters["sentence"] = lambda text: text[:1].upper() + text[1:]


def opened(name: str, wishes: Sequence[Wish], facts: Mapping[str, Any], *, noise: float, random: Random) -> str:
    """The shopper's first words: one line of `prompts/envs/NAME.offline.j2`, each of which is a way to say the same.

    The template is given the facts (texts, numbers, lists and mappings of them) and `stated`: what the shopper says of each stated
    wish, by name. A line says all of it word for word, which is asserted: what the ledger calls stated was said. `noise` is the
    chance of a letter to be mistyped.
    """
    facts = one_line(facts)
    wanted = {wish.name: one_line(wish.said) for wish in wishes if wish.known == "stated"}
    said = template(f"envs/{name}.offline").render({"stated": wanted, **facts})
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    assert lines, f"prompts/envs/{name}.offline.j2 says nothing"
    line = lines[int(random.random() * len(lines))]
    known = texts(facts)
    rest = line
    for each in (*wanted.values(), *known):
        rest = rest.replace(each, "") if UNFILLED.search(each) else rest
    assert not UNFILLED.search(rest), f"the opening of {name} has an unfilled place: {line}"
    for wish, fact in wanted.items():
        assert fact.rstrip(".").lower() in line.lower(), (
            f"the opening of {name} does not say {wish!r} as {fact!r}: {line}"
        )
    names = [each for each in known if each[-1:] not in ".?!"]  # the rest are sentences, not names
    return mistyped(line, noise=noise, random=random, keep=[*wanted.values(), *names])


def one_line(value: Any) -> Any:
    """The same without line breaks: a line of a template is a way to say it."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Mapping):
        return {name: one_line(each) for name, each in value.items()}
    return [one_line(each) for each in value] if isinstance(value, list | tuple) else value


def texts(value: Any) -> list[str]:
    """All text in a value, wherever it stands."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    return [found for each in value for found in texts(each)] if isinstance(value, list) else []


def preferences(wishes: Iterable[Wish], random: Random) -> dict[str, Fraction]:
    """How much a shopper weighs price, rating, shipping, brand and similarity: a Dirichlet draw, exact, with sum 1.

    The gaps between n - 1 uniform numbers are Dirichlet(1, ..., 1), and sums of a of them have the parameter a.
    """
    said = {each for wish in wishes if wish.known == "stated" for each in stems(wish.name)}
    sizes = {name: least + TOUCHED * bool(said & set(stems(ABOUT[name]))) for name, least in DIMENSIONS.items()}
    cuts = sorted(random.randrange(WHOLE + 1) for _ in range(sum(sizes.values()) - 1))
    edges, place, found = [0, *cuts, WHOLE], 0, {}
    for name, size in sizes.items():
        found[name] = Fraction(edges[place + size] - edges[place], WHOLE)
        place += size
    return found


class Shopper:
    """Somebody who wants something: `answer` is the tool `ask_user`, `hear` what is said at the end of an agent's turn.

    aside: after which turn something else is asked, and what. patience: poor turns in a row after which the shopper leaves. A turn is
    poor in which the agent calls no tool, asks nothing and has nothing to say, or only asks again what it was told.
    """

    def __init__(
        self,
        wishes: Sequence[Wish],
        *,
        seed: str,
        noise: float = 0.0,
        aside: tuple[int, str] | None = None,
        patience: int = 2,
    ) -> None:
        self.wishes, self.seed, self.noise, self.aside, self.patience = wishes, seed, noise, aside, patience
        self.told = {place for place, wish in enumerate(wishes) if wish.known == "stated"}
        """Places of the wishes that the agent has heard."""
        self.answered: set[int] = set()
        self.questions: set[str] = set()
        self.messages: set[frozenset[str]] = set()
        self.noticed: set[str] = set()
        self.poor = 0
        self.news = self.fresh = self.repeated = False
        self.said: list[Heard] = []
        """Everything, in its order."""
        self.random: Random | None = None

    @property
    def ledger(self) -> dict[str, str]:
        """Of each wish: stated, told, inferable, or untold."""
        return {
            wish.name: wish.known
            if wish.known == "stated" or (wish.known == "inferable" and place not in self.told)
            else "told"
            if place in self.told
            else "untold"
            for place, wish in enumerate(self.wishes)
        }

    @cached_property
    def keys(self) -> list[Keys]:
        return [keys(wish) for wish in self.wishes]

    def answer(self, question: str) -> str:
        """What the shopper says to a question of the tool `ask_user`."""
        heard = self.reply(questions(question) or question)
        self.said.append(heard)
        return heard.text

    def hear(self, message: str, notices: Iterable[Notice], *, turn: int, worked: bool) -> Heard:
        """What the shopper says after the agent's turn of this number, in which it called tools or not."""
        asked_again, question = self.repeated, questions(message) if message else ""
        parts = [self.reply(question)] if question else []
        stuck = asked_again and not self.fresh
        idle = not (worked or self.fresh or (not question and self.is_new(message)))
        news, self.news, self.fresh, self.repeated = self.news, False, False, False
        self.poor = self.poor + 1 if stuck or idle else 0
        if self.poor >= self.patience:
            parts = [self.say("give up", "gives_up")]
        else:
            parts += [self.corrected(each) for each in notices if each.key not in self.noticed]
            parts += self.other_matters(turn)
            if not parts and idle:
                parts = [self.say("dissatisfied", "is_dissatisfied")]
            elif not parts and message and not worked:
                parts = [self.say("continue", "goes_on")]
        heard = joined(parts, caused=int(news))
        if heard.text:
            self.said.append(heard)
        return heard

    def other_matters(self, turn: int) -> list[Heard]:
        """What comes to the shopper's mind after this turn."""
        if self.aside is None or self.aside[0] != turn:
            return []
        return [self.say("switch", "switches", self.aside[1], caused=1)]

    def corrected(self, notice: Notice) -> Heard:
        self.noticed.add(notice.key)
        self.told |= {place for place, wish in enumerate(self.wishes) if wish.name == notice.key}
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

    def reply(self, question: str) -> Heard:
        """The wishes that are asked for, and no other; to a general question one that was left out."""
        about = asked(question, self.keys)
        said = question.lower()
        again = said in self.questions
        self.questions.add(said)
        extra = [place for topic in about.more for place in self.left_out(topic, about.wishes)]
        told = list(dict.fromkeys([*about.wishes, *extra]))
        repeated = again or (bool(told) and self.answered.issuperset(told))
        self.fresh, self.repeated = self.fresh or not repeated, self.repeated or repeated
        parts = [self.tell(told, general=not about.wishes)] if told else []
        parts += [self.say("clarify", "does_not_mind", topic) for topic in about.others]
        if not parts and about.more:
            parts.append(self.say("done", "said_it_all"))
        if not parts and about.confirms:
            parts.append(self.say("confirm", "confirms"))
        if not parts:
            parts.append(self.say("clarify", "has_no_wish" if about.unknown else "does_not_understand"))
        return joined(parts)

    def left_out(self, topic: frozenset[str], but: Sequence[int]) -> list[int]:
        """One wish that was left out and never told; of a topic, where the question has one, if need be one told before."""
        fitting = [place for place in range(len(self.wishes)) if topic <= self.keys[place].about]
        untold = [
            place
            for place in fitting
            if self.wishes[place].known == "asked" and place not in self.told and place not in but
        ]
        return untold[:1] or (fitting[:1] if topic else [])

    def tell(self, places: list[int], *, general: bool) -> Heard:
        """Says these wishes, and enters them into the ledger."""
        new = [place for place in places if place not in self.told]
        self.news = self.news or any(self.wishes[place].known == "asked" for place in new)
        self.told.update(places)
        self.answered.update(places)
        wishes = [self.wishes[place] for place in places]
        only = not general and len(wishes) == 1
        fact = wishes[0].said if only else "; ".join(map(named, wishes))
        how = "tells_again" if not new else "volunteers" if general else "tells"
        found = self.say("elaborate" if general and new else "clarify", how, fact.rstrip("."))
        several = len(wishes) > 1
        return found._replace(
            says=tuple(named(w) if several and " of " in w.name else w.said.rstrip(".") for w in wishes)
        )

    def say(self, act: str, how: str, *facts: str, caused: int = 0) -> Heard:
        if self.random is None:
            self.random = Random(f"{self.seed}/shopper")
        ways = frames(how, len(facts))
        if facts and CLAUSE.match(facts[0]):
            ways = tuple(way for way in ways if OPEN.search(way.partition(MARK)[0])) or ways
        line = mistyped(ways[int(self.random.random() * len(ways))], noise=self.noise, random=self.random)
        for fact in facts:
            line = line.replace(MARK, fact, 1)
        return Heard(line, act, caused, (line.rstrip("."),) if how in AS_IT_IS else facts)


CLAUSE = re.compile(
    r"(I|it|they|there|you|my|the|we)\b.* (am|is|are|was|were|have|has|had|did|want|paid|bought|costs?|came) ",
    re.IGNORECASE,
)
"""A wish that is a whole clause: it stands by itself, not after `I need`."""
OPEN = re.compile(r"^$|[:.,;!] $")
AS_IT_IS = ("does_not_mind", "has_no_wish", "confirms", "said_it_all")
"""What nobody may say in other words: a condition or a denial would be lost."""
RANK = ("give up", "switch", "correct", "elaborate", "clarify", "done", "confirm", "dissatisfied", "continue")
"""Which act a turn is called by in which the shopper does several things."""


def joined(parts: Sequence[Heard], *, caused: int = 0) -> Heard:
    """Several things said at once."""
    if len(parts) == 1 and not caused:
        return parts[0]
    if not parts:
        return Heard("", "continue", caused)
    act = min((part.act for part in parts), key=RANK.index)
    says = tuple(each for part in parts for each in part.says)
    return Heard(" ".join(part.text for part in parts), act, max(caused, *(part.caused for part in parts)), says)


def named(wish: Wish) -> str:
    """A wish with what it is about, unless its words tell.

    >>> named(Wish(name="color", said="red", known="asked")), named(Wish(name="brand", said="brand Norrvik", known="asked"))
    ('color: red', 'brand Norrvik')
    """
    said = wish.said.rstrip(".")
    tells = len(said.split()) >= 4 or stem(words(wish.name)[0]) in stems(said)
    return said if tells and " of " not in wish.name else f"{wish.name}: {said}"


@cache
def frames(how: str, facts: int) -> tuple[str, ...]:
    """The ways to say something, with marks where the facts go."""
    return tuple(phrases("shopper", how, *[MARK] * facts))
