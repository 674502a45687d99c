"""The shop's policies: every rule as readable text, and the same rule as data from which answers are computed.

A topic is something that can be asked, such as the return window. Its rules stand in the order of their numbers; those that fit the
facts are gone through in this order, and each changes what the ones before it gave. So one outcome holds for any full set of facts.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from heapq import nsmallest
from itertools import pairwise, product
from math import log
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import Field, model_validator

from pipeline.shop.store import Customer, Item
from pipeline.words import words
from schemas.record import Part
from schemas.shop import Line, Order

FOLDER = Path(__file__).parents[2] / "data" / "reference" / "policies"
CHANGES = ("is", "plus", "minus", "times", "at_most", "at_least")
Value = str | int | Decimal
Facts = Mapping[str, Value]


class Fact(Part):
    """Something that a rule can depend on."""

    words: list[str]
    """Of a question about it."""
    said: str = "{value}"
    values: dict[str, str] = Field(default_factory=dict)
    """Each as the customer says it; none for a number."""
    low: int = 0
    high: int = 0
    """The range that a number is drawn from."""

    def say(self, value: Value) -> str:
        return self.said.format(value=self.values.get(str(value), value))


class Span(Part):
    """Numbers from `least` on, and below `below`."""

    least: int | None = None
    below: int | None = None

    def holds(self, value: Value) -> bool:
        if isinstance(value, str):
            return False
        return (self.least is None or value >= self.least) and (self.below is None or value < self.below)


class Clause(Part):
    """A rule as it is written down."""

    about: str = ""
    when: dict[str, str | list[str] | Span] = Field(default_factory=dict)
    text: str
    is_: int | str | None = Field(default=None, alias="is")
    plus: int | None = None
    minus: int | None = None
    times: int | None = None
    """Percent of what the rules before it gave."""
    at_most: int | None = None
    at_least: int | None = None

    @model_validator(mode="after")
    def changes_one_thing(self) -> "Clause":
        if len(self.changes) != 1:
            raise ValueError(f"{self.text!r} needs exactly one of {', '.join(CHANGES)}")
        return self

    @property
    def changes(self) -> list[tuple[str, int | str]]:
        found = [(name, getattr(self, "is_" if name == "is" else name)) for name in CHANGES]
        return [(name, value) for name, value in found if value is not None]


class Written(Part):
    """A topic as it is written down."""

    name: str
    kind: Literal["number", "category", "yes or no"] = "number"
    unit: str = ""
    of: str = ""
    """The rules' numbers are percent of this fact."""
    choices: list[str] = Field(default_factory=list)
    words: str
    """What people call it, beside its name."""
    questions: list[str] = Field(min_length=2)
    rules: list[Clause] = Field(min_length=2)


@dataclass(frozen=True)
class Rule:
    """One rule: what the agent reads, and what it does."""

    id: str
    title: str
    text: str
    topic: str
    number: int
    """Its place in the order; no two rules of a topic share it."""
    when: Mapping[str, frozenset[str] | Span]
    change: str
    """One of CHANGES."""
    value: Fraction | str

    def fits(self, facts: Facts) -> bool:
        return all(met(wanted, facts[name]) for name, wanted in self.when.items())

    def after(self, value: Fraction | str) -> Fraction | str:
        """What holds after this rule where `value` held before it."""
        if self.change == "is" or isinstance(value, str) or isinstance(self.value, str):
            return self.value
        if self.change in ("at_most", "at_least"):
            return (min if self.change == "at_most" else max)(value, self.value)
        if self.change == "times":
            return value * self.value / 100
        return value + self.value if self.change == "plus" else value - self.value


def met(wanted: frozenset[str] | Span, value: Value) -> bool:
    return wanted.holds(value) if isinstance(wanted, Span) else value in wanted


@dataclass(frozen=True)
class Outcome:
    """What the rules of a topic say to a full set of facts."""

    value: Fraction | str
    chain: tuple[Rule, ...]
    """The rules that fit, in order."""
    steps: tuple[Fraction | str, ...]
    """What held after each."""

    @property
    def every_step_counts(self) -> bool:
        return all(before != after for before, after in pairwise(self.steps))


Setting = dict[str, Value | Span]
"""A case as far as the rules can tell: for each fact a value or a range."""


@dataclass(frozen=True)
class Topic:
    """Something that can be asked, with all its rules."""

    name: str
    kind: str
    unit: str
    of: str
    choices: tuple[str, ...]
    questions: tuple[str, ...]
    called: str
    """What people call it, beside its name."""
    rules: tuple[Rule, ...]

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """What an answer depends on, in the order of the rules."""
        found = [name for rule in self.rules for name in rule.when] + ([self.of] if self.of else [])
        return tuple(dict.fromkeys(found))

    def outcome(self, facts: Facts) -> Outcome:
        """The one answer. `facts` has a value for each of `self.facts`."""
        chain = tuple(rule for rule in self.rules if rule.fits(facts))
        steps: list[Fraction | str] = []
        for rule in chain:
            steps.append(rule.after(steps[-1] if steps else Fraction(0)))
        value = steps[-1]
        if self.of and not isinstance(value, str):
            value = value * Fraction(facts[self.of]) / 100
        return Outcome(value, chain, tuple(steps))

    def settings(self, fact: str) -> list[Value | Span]:
        """What the rules tell apart of a fact: its values, a number's ranges; of a group also what no rule names."""
        wanted = [rule.when[fact] for rule in self.rules if fact in rule.when]
        about = facts_known()[fact]
        if about.high:
            spans = [each for each in wanted if isinstance(each, Span)]
            edges = {edge for each in spans for edge in (each.least, each.below) if edge is not None}
            return [Span(least=low, below=high) for low, high in pairwise(sorted({about.low, about.high + 1} | edges))]
        if fact != "group":
            return list(about.values)
        named = sorted({group for each in wanted if isinstance(each, frozenset) for group in each})
        return [*named, ""]

    @cached_property
    def by_depth(self) -> dict[int, list[list[Setting]]]:
        """For each number of rules that a case must go through: for each chain of them the settings that lead to it.

        Every rule of a chain changes the answer. An exception that replaces the first rule's answer is a chain of one, too: it
        decides alone.
        """
        found: dict[tuple[int, ...], list[Setting]] = {}
        for values in product(*(self.settings(fact) for fact in self.facts)):
            setting = dict(zip(self.facts, values, strict=True))
            outcome = self.outcome({name: one_of(value) for name, value in setting.items()})
            if outcome.every_step_counts:
                found.setdefault(tuple(rule.number for rule in outcome.chain), []).append(setting)
        depths: dict[int, list[list[Setting]]] = {}
        for chain, settings in found.items():
            depths.setdefault(len(chain), []).append(settings)
            if len(chain) == 2 and self.rules[chain[-1] - 1].change == "is":
                depths.setdefault(1, []).append(settings)
        return depths


def one_of(setting: Value | Span) -> Value:
    return setting.least or 0 if isinstance(setting, Span) else setting


@cache
def facts_known() -> dict[str, Fact]:
    """Every fact that a rule can depend on, by name."""
    return {name: Fact.model_validate(each) for name, each in read("facts")["facts"].items()}


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def topics() -> dict[str, Topic]:
    """Every topic by name, in the order of the files."""
    order: str = read("facts")["order"]
    files = sorted(path.stem for path in FOLDER.glob("*.toml"))
    found = [made(Written.model_validate(each), order) for file in files for each in read(file).get("topics", ())]
    return {topic.name: topic for topic in found}


def made(written: Written, order: str) -> Topic:
    rules = [rule_of(written, number, clause) for number, clause in enumerate(written.rules, 1)]
    first = rules[0]
    rules[0] = Rule(**{**vars(first), "text": f"{first.text} {order.format(topic=written.name)}"})
    return Topic(
        written.name,
        written.kind,
        written.unit,
        written.of,
        tuple(written.choices),
        tuple(written.questions),
        written.words,
        tuple(rules),
    )


def rule_of(topic: Written, number: int, clause: Clause) -> Rule:
    ((change, value),) = clause.changes
    when = {
        name: wanted if isinstance(wanted, Span) else frozenset([wanted] if isinstance(wanted, str) else wanted)
        for name, wanted in clause.when.items()
    }
    shown = {name: in_words(clause.when[name]) for name in when}
    title = f"{topic.name.capitalize()}, rule {number}" + (f": {clause.about}" if clause.about else "")
    return Rule(
        id=f"{topic.name.replace(' ', '-')}-{number}",
        title=title,
        text=clause.text.format(value=value, **shown),
        topic=topic.name,
        number=number,
        when=when,
        change=change,
        value=value if isinstance(value, str) else Fraction(value),
    )


def in_words(wanted: str | list[str] | Span) -> str:
    """What a rule asks of a fact, as its text shows it.

    >>> in_words(["Clothing", "Kids"]), in_words(Span(least=500))
    ('Clothing and Kids', '500')
    """
    if isinstance(wanted, Span):
        return " to ".join(str(edge) for edge in (wanted.least, wanted.below) if edge is not None)
    return wanted if isinstance(wanted, str) else " and ".join(wanted)


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, topic by topic."""
    return tuple(rule for topic in topics().values() for rule in topic.rules)


class Subject(Part):
    """Something that the policies say nothing about."""

    words: list[str]
    """No rule has any of them."""
    facts: list[str]
    """What a customer tells beside it."""
    asked: list[str]


@cache
def not_covered() -> tuple[Subject, ...]:
    return tuple(Subject.model_validate(each) for each in read("open")["questions"])


def naming(subject: Sequence[str]) -> list[Rule]:
    """The rules that have any of these words."""
    wanted = set(subject)
    return [rule for rule, said in all_words() if not wanted.isdisjoint(said)]


@cache
def all_words() -> tuple[tuple[Rule, frozenset[str]], ...]:
    return tuple((rule, frozenset(words(f"{rule.title} {rule.text}"))) for rule in rules())


# Search


STOP = frozenset(
    "a an and any are as at be been but by can come could do does first for from get goes had has have how i if in is it item its"
    " least like live long many me more most much my no not of on one or our out so take than that the their then there they"
    " this to up was we what when which who will with would you your".split()
)
STEM = 7
"""Letters by which words are told apart: `delivered` and `delivery` are one, `member` and `membership` are not."""
TOPIC = 4
"""How much more a word counts in the name of a topic than in the text of a rule."""
GENERAL = 1.4
"""How much more the first rule of a topic counts, since it holds for everybody."""


def stems(text: str) -> list[str]:
    """What a text says, for the search.

    >>> stems("How many days is the return window for members?")
    ['day', 'return', 'window', 'member']
    """
    return [word[:STEM] for word in words(text) if word not in STOP and not word.isdigit()]


@cache
def index() -> dict[str, list[tuple[int, float]]]:
    """For each stem the rules that have it and what it counts there: more where few topics have it."""
    having: dict[str, list[tuple[int, float]]] = {}
    for place, rule in enumerate(rules()):
        for stem, counts in weights(rule).items():
            having.setdefault(stem, []).append((place, counts))
    found = {}
    for stem, places in having.items():
        rare = log(1 + len(topics()) / len({rules()[place].topic for place, _ in places}))
        found[stem] = [(place, rare * counts) for place, counts in places]
    return found


def weights(rule: Rule) -> dict[str, float]:
    first = rule.number == 1
    named = set(stems(rule.topic))
    said = {*stems(f"{rule.title} {rule.text}"), *(stems(topics()[rule.topic].called) if first else ())}
    return {stem: (TOPIC if stem in named else 1) * (GENERAL if first else 1) for stem in sorted(said)}


def search(query: str, k: int = 5) -> list[Rule]:
    """The rules that fit a question, the best first."""
    known = index()
    scores: dict[int, float] = {}
    for stem in dict.fromkeys(stems(query)):
        for place, score in known.get(stem, ()):
            scores[place] = scores.get(place, 0.0) + score
    best = nsmallest(k, scores, key=lambda place: (-scores[place], place))
    return [rules()[place] for place in best]


# What the tools say


def return_verdict(order: Order, line: Line, item: Item | None, customer: Customer, now: datetime) -> dict[str, Any]:
    """Whether a line can be returned at this time, by the rules on the return window; its box counts as sealed.

    Returns `eligible`, `reason`, `policy_id` of the last rule that counted, and `until`, the last day (empty: there is none).
    """
    topic = topics()["return window"]
    outcome = topic.outcome(
        {
            "group": item.group if item else "",
            "price": line.price,
            "member": "yes" if customer.member else "no",
            "holiday": "yes" if order.placed.month in (11, 12) else "no",
            "opened": "no",
            "clearance": "no",
        }
    )
    days = int(Fraction(outcome.value))
    told = {"policy_id": outcome.chain[-1].id, "until": ""}
    if order.cancelled is not None and order.cancelled <= now:
        return {"eligible": False, "reason": "the order was cancelled", **told}
    if order.delivered is None or order.delivered > now:
        return {"eligible": False, "reason": "it has not been delivered", **told}
    if not days:
        return {"eligible": False, "reason": outcome.chain[-1].text.rstrip("."), **told}
    last = last_day(order.delivered, days)
    told["until"] = last.isoformat()
    ended = last < now.date()
    return {
        "eligible": not ended,
        "reason": f"the return window of {days} days {'ended' if ended else 'ends'} on {last}",
        **told,
    }


def last_day(delivered: datetime, days: int) -> date:
    return delivered.date() + timedelta(days=days)


# Questions


def drawn(topic: Topic, depth: int, random: Random, other: str = "") -> dict[str, Value] | None:
    """A case that must go through `depth` rules; None where this draw found none.

    `other` is a group beside those that the rules know.
    """
    chains = topic.by_depth.get(depth)
    if not chains:
        return None
    settings = chains[random.randrange(len(chains))]
    setting = settings[random.randrange(len(settings))]
    facts = {name: filled(topic, name, value, random, other) for name, value in setting.items()}
    outcome = topic.outcome(facts)
    whole = 100 if topic.unit == "dollars" else 1
    fine = isinstance(outcome.value, str) or (outcome.value * whole).denominator == 1
    return facts if fine else None


def filled(topic: Topic, name: str, value: Value | Span, random: Random, other: str) -> Value:
    if isinstance(value, Span):
        low, high = value.least or 0, (value.below or 1) - 1
        # Every fourth number lies on the edge, where a rule begins or ends to hold.
        return random.choice((low, high)) if random.random() < 0.25 else random.randint(low, high)
    if name != "group" or value:
        return value
    named = topic.settings(name)
    plain = [group for group in facts_known()["group"].values if group not in named]
    return random.choice(plain) if not other or other in named or random.random() < 0.7 else other


def others(topic: Topic, name: str, value: Value) -> list[Value]:
    """One value from each other setting that the rules tell apart."""
    found: list[Value] = []
    for setting in topic.settings(name):
        if isinstance(setting, Span):
            found.append((setting.least or 0) if not setting.holds(value) else any_other(setting, value))
        elif setting != value:
            found.append(setting)
    return [each for each in found if each != value]


def any_other(span: Span, value: Value) -> Value:
    least = span.least or 0
    return least + 1 if value == least else least


def any_value(name: str, random: Random) -> Value:
    """A value of a fact, whatever the rules say about it."""
    about = facts_known()[name]
    return random.randint(about.low, about.high) if about.high else random.choice(list(about.values))


def number_said(value: Fraction | str) -> str:
    """An answer as it is handed in.

    >>> number_said(Fraction(25, 2)), number_said(Fraction(30)), number_said("yes")
    ('12.50', '30', 'yes')
    """
    if isinstance(value, str) or value.denominator == 1:
        return str(value)
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.2f}"


NUMBER = re.compile(r"\$? ?(\d{1,3}(?:,\d{3}){1,2}|\d{1,9})(\.\d{1,4})?(?: ?([a-z]+|%))?")


def understood(answer: str, topic: Topic) -> Fraction | str | None:
    """What an answer means, None where it means nothing to this topic: `14 days`, `$12.50`, `Yes.`, `the courier`."""
    text = " ".join(answer.lower().split()).rstrip(".")
    if topic.kind == "number":
        return number_of(text, topic.unit)
    text = text.removeprefix("the ").removeprefix("a ").removeprefix("an ")
    return text if text in (topic.choices or ("yes", "no")) else None


def number_of(text: str, unit: str) -> Fraction | None:
    """
    >>> number_of("$1,200.50", "dollars"), number_of("14 days", "days"), number_of("2 weeks", "days"), number_of("$3", "days")
    (Fraction(2401, 2), Fraction(14, 1), None, None)
    """
    found = NUMBER.fullmatch(text)
    if (
        found is None
        or (found[3] and found[3] not in (unit, unit.removesuffix("s")))
        or ("$" in text and unit != "dollars")
    ):
        return None
    return Fraction(found[1].replace(",", "") + (found[2] or ""))


def quick_question(random: Random) -> tuple[str, list[str]]:
    """A short question about the policies with everything that it needs in it, and every answer that is right."""
    short = [topic for topic in topics().values() if topic.kind == "number" and len(topic.facts) <= 4]
    while True:
        topic = random.choice(short)
        facts = drawn(topic, random.choice((1, 2)), random)
        if facts is not None:
            value = topic.outcome(facts).value
            return asked(topic, facts, random.choice(topic.questions)), answers(value, topic.unit)


def asked(topic: Topic, facts: Facts, question: str) -> str:
    """A question with its facts: `I am a member, and it is from Home. How many days ...?`"""
    clauses = [facts_known()[name].say(facts[name]) for name in topic.facts]
    told = " and ".join([", ".join(clauses[:-1]), clauses[-1]] if len(clauses) > 1 else clauses)
    return f"{told[0].upper()}{told[1:]}. {question}"


def answers(value: Fraction | str, unit: str) -> list[str]:
    """How one may write it, the plainest first."""
    said = number_said(value)
    if isinstance(value, str):
        return [said]
    longer = [f"{float(value):.2f}"] if unit == "dollars" else []
    plain = list(dict.fromkeys([said, *longer]))
    marked = [f"${each}" for each in plain] if unit == "dollars" else []
    return [*plain, *marked, *(f"{each} {unit.removesuffix('s') if value == 1 else unit}" for each in plain)]
