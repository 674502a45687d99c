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
from itertools import chain, pairwise, product
from math import log
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import Field, model_validator

from shopwright.pipeline.shop.store import Customer, Item
from shopwright.pipeline.words import split_words
from shopwright.schemas.record import Part
from shopwright.schemas.shop import Line, Order

FOLDER = Path(__file__).parents[2] / "data" / "reference" / "policies"
CHANGES = ("is", "plus", "minus", "times", "at_most", "at_least")
Value = str | int | Decimal
CaseFacts = Mapping[str, Value]


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


class TopicSource(Part):
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

    def fits(self, facts: CaseFacts) -> bool:
        return all(is_condition_met(wanted, facts[name]) for name, wanted in self.when.items())

    def after(self, value: Fraction | str) -> Fraction | str:
        """What holds after this rule where `value` held before it."""
        if self.change == "is" or isinstance(value, str) or isinstance(self.value, str):
            return self.value
        if self.change in ("at_most", "at_least"):
            return (min if self.change == "at_most" else max)(value, self.value)
        if self.change == "times":
            return value * self.value / 100
        return value + self.value if self.change == "plus" else value - self.value


def is_condition_met(wanted: frozenset[str] | Span, value: Value) -> bool:
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


# A case as far as the rules can tell: for each fact a value or a range.
Setting = dict[str, Value | Span]


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
        found = chain.from_iterable(rule.when for rule in self.rules)
        return tuple(dict.fromkeys([*found, *filter(None, [self.of])]))

    def outcome(self, facts: CaseFacts) -> Outcome:
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
        about = load_policy_facts()[fact]
        if about.high:
            spans = [each for each in wanted if isinstance(each, Span)]
            ends = chain.from_iterable((each.least, each.below) for each in spans)
            edges = {edge for edge in ends if edge is not None}
            return [Span(least=low, below=high) for low, high in pairwise(sorted({about.low, about.high + 1} | edges))]
        if fact != "group":
            return list(about.values)
        named = sorted(set(chain.from_iterable(each for each in wanted if isinstance(each, frozenset))))
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
            outcome = self.outcome({name: pick_setting_value(value) for name, value in setting.items()})
            if outcome.every_step_counts:
                found.setdefault(tuple(rule.number for rule in outcome.chain), []).append(setting)
        depths: dict[int, list[list[Setting]]] = {}
        for numbers, settings in found.items():
            depths.setdefault(len(numbers), []).append(settings)
            if len(numbers) == 2 and self.rules[numbers[-1] - 1].change == "is":
                depths.setdefault(1, []).append(settings)
        return depths


def pick_setting_value(setting: Value | Span) -> Value:
    return setting.least or 0 if isinstance(setting, Span) else setting


@cache
def load_policy_facts() -> dict[str, Fact]:
    """Every fact that a rule can depend on, by name."""
    return {name: Fact.model_validate(each) for name, each in read_policy_file("facts")["facts"].items()}


def read_policy_file(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def load_topics() -> dict[str, Topic]:
    """Every topic by name, in the order of the files."""
    order: str = read_policy_file("facts")["order"]
    files = sorted(path.stem for path in FOLDER.glob("*.toml"))
    sources = chain.from_iterable(read_policy_file(file).get("topics", ()) for file in files)
    found = [build_topic(TopicSource.model_validate(each), order) for each in sources]
    return {topic.name: topic for topic in found}


def build_topic(written: TopicSource, order: str) -> Topic:
    rules = [build_rule(written, number, clause) for number, clause in enumerate(written.rules, 1)]
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


def build_rule(topic: TopicSource, number: int, clause: Clause) -> Rule:
    ((change, value),) = clause.changes
    when = {
        name: wanted if isinstance(wanted, Span) else frozenset([wanted] if isinstance(wanted, str) else wanted)
        for name, wanted in clause.when.items()
    }
    shown = {name: describe_condition(clause.when[name]) for name in when}
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


def describe_condition(wanted: str | list[str] | Span) -> str:
    """What a rule asks of a fact, as its text shows it.

    >>> describe_condition(["Clothing", "Kids"]), describe_condition(Span(least=500))
    ('Clothing and Kids', '500')
    """
    if isinstance(wanted, Span):
        return " to ".join(str(edge) for edge in (wanted.least, wanted.below) if edge is not None)
    return wanted if isinstance(wanted, str) else " and ".join(wanted)


@cache
def list_rules() -> tuple[Rule, ...]:
    """All rules, topic by topic."""
    return tuple(chain.from_iterable(topic.rules for topic in load_topics().values()))


class Subject(Part):
    """Something that the policies say nothing about."""

    words: list[str]
    """No rule has any of them."""
    facts: list[str]
    """What a customer tells beside it."""
    asked: list[str]


@cache
def load_uncovered_subjects() -> tuple[Subject, ...]:
    return tuple(Subject.model_validate(each) for each in read_policy_file("open")["questions"])


def find_rules_naming(subject: Sequence[str]) -> list[Rule]:
    """The rules that have any of these words."""
    wanted = set(subject)
    return [rule for rule, said in list_rule_words() if not wanted.isdisjoint(said)]


@cache
def list_rule_words() -> tuple[tuple[Rule, frozenset[str]], ...]:
    return tuple((rule, frozenset(split_words(f"{rule.title} {rule.text}"))) for rule in list_rules())


# Search


STOP = frozenset(
    "a an and any are as at be been but by can come could do does first for from get goes had has have how i if in is it item its"
    " least like live long many me more most much my no not of on one or our out so take than that the their then there they"
    " this to up was we what when which who will with would you your".split()
)
# Letters by which words are told apart: `delivered` and `delivery` are one, `member` and `membership` are not.
STEM = 7
# How much more a word counts in the name of a topic than in the text of a rule.
TOPIC_BOOST = 4
# How much more the first rule of a topic counts, since it holds for everybody.
GENERAL_RULE_BOOST = 1.4


def stem_policy_text(text: str) -> list[str]:
    """What a text says, for the search.

    >>> stem_policy_text("How many days is the return window for members?")
    ['day', 'return', 'window', 'member']
    """
    return [word[:STEM] for word in split_words(text) if word not in STOP and not word.isdigit()]


@cache
def index_rule_stems() -> dict[str, list[tuple[int, float]]]:
    """For each stem the rules that have it and what it counts there: more where few topics have it."""
    having: dict[str, list[tuple[int, float]]] = {}
    for place, rule in enumerate(list_rules()):
        for stem, counts in weigh_rule_stems(rule).items():
            having.setdefault(stem, []).append((place, counts))
    found = {}
    for stem, places in having.items():
        rare = log(1 + len(load_topics()) / len({list_rules()[place].topic for place, _ in places}))
        found[stem] = [(place, rare * counts) for place, counts in places]
    return found


def weigh_rule_stems(rule: Rule) -> dict[str, float]:
    first = rule.number == 1
    named = set(stem_policy_text(rule.topic))
    said = {
        *stem_policy_text(f"{rule.title} {rule.text}"),
        *(stem_policy_text(load_topics()[rule.topic].called) if first else ()),
    }
    return {stem: (TOPIC_BOOST if stem in named else 1) * (GENERAL_RULE_BOOST if first else 1) for stem in sorted(said)}


def search_policies(query: str, k: int = 5) -> list[Rule]:
    """The rules that fit a question, the best first."""
    known = index_rule_stems()
    scores: dict[int, float] = {}
    for stem in dict.fromkeys(stem_policy_text(query)):
        for place, score in known.get(stem, ()):
            scores[place] = scores.get(place, 0.0) + score
    best = nsmallest(k, scores, key=lambda place: (-scores[place], place))
    return [list_rules()[place] for place in best]


# What the tools say


def return_verdict(order: Order, line: Line, item: Item | None, customer: Customer, now: datetime) -> dict[str, Any]:
    """Whether a line can be returned at this time, by the rules on the return window; its box counts as sealed.

    Returns `eligible`, `reason`, `policy_id` of the last rule that counted, and `until`, the last day (empty: there is none).
    """
    topic = load_topics()["return window"]
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
    facts = {"policy_id": outcome.chain[-1].id, "until": ""}
    if order.cancelled is not None and order.cancelled <= now:
        return {"eligible": False, "reason": "the order was cancelled", **facts}
    if order.delivered is None or order.delivered > now:
        return {"eligible": False, "reason": "it has not been delivered", **facts}
    if not days:
        return {"eligible": False, "reason": outcome.chain[-1].text.rstrip("."), **facts}
    last = compute_return_deadline(order.delivered, days)
    facts["until"] = last.isoformat()
    ended = last < now.date()
    return {
        "eligible": not ended,
        "reason": f"the return window of {days} days {'ended' if ended else 'ends'} on {last}",
        **facts,
    }


def compute_return_deadline(delivered: datetime, days: int) -> date:
    return delivered.date() + timedelta(days=days)


# Questions


def draw_case(topic: Topic, depth: int, random: Random, other: str = "") -> dict[str, Value] | None:
    """A case that must go through `depth` rules; None where this draw found none.

    `other` is a group beside those that the rules know.
    """
    chains = topic.by_depth.get(depth)
    if not chains:
        return None
    settings = chains[random.randrange(len(chains))]
    setting = settings[random.randrange(len(settings))]
    facts = {name: draw_fact_value(topic, name, value, random, other) for name, value in setting.items()}
    outcome = topic.outcome(facts)
    whole = 100 if topic.unit == "dollars" else 1
    fine = isinstance(outcome.value, str) or (outcome.value * whole).denominator == 1
    return facts if fine else None


def draw_fact_value(topic: Topic, name: str, value: Value | Span, random: Random, other: str) -> Value:
    if isinstance(value, Span):
        low, high = value.least or 0, (value.below or 1) - 1
        # Every fourth number lies on the edge, where a rule begins or ends to hold.
        return random.choice((low, high)) if random.random() < 0.25 else random.randint(low, high)
    if name != "group" or value:
        return value
    named = topic.settings(name)
    plain = [group for group in load_policy_facts()["group"].values if group not in named]
    return random.choice(plain) if not other or other in named or random.random() < 0.7 else other


def list_other_settings(topic: Topic, name: str, value: Value) -> list[Value]:
    """One value from each other setting that the rules tell apart."""
    found: list[Value] = []
    for setting in topic.settings(name):
        if isinstance(setting, Span):
            found.append((setting.least or 0) if not setting.holds(value) else pick_other_value(setting, value))
        elif setting != value:
            found.append(setting)
    return [each for each in found if each != value]


def pick_other_value(span: Span, value: Value) -> Value:
    least = span.least or 0
    return least + 1 if value == least else least


def draw_any_value(name: str, random: Random) -> Value:
    """A value of a fact, whatever the rules say about it."""
    about = load_policy_facts()[name]
    return random.randint(about.low, about.high) if about.high else random.choice(list(about.values))


def format_policy_answer(value: Fraction | str) -> str:
    """An answer as it is handed in.

    >>> format_policy_answer(Fraction(25, 2)), format_policy_answer(Fraction(30)), format_policy_answer("yes")
    ('12.50', '30', 'yes')
    """
    if isinstance(value, str) or value.denominator == 1:
        return str(value)
    return f"{Decimal(value.numerator) / Decimal(value.denominator):.2f}"


NUMBER = re.compile(r"\$? ?(\d{1,3}(?:,\d{3}){1,2}|\d{1,9})(\.\d{1,4})?(?: ?([a-z]+|%))?")


def parse_policy_answer(answer: str, topic: Topic) -> Fraction | str | None:
    """What an answer means, None where it means nothing to this topic: `14 days`, `$12.50`, `Yes.`, `the courier`."""
    text = " ".join(answer.lower().split()).rstrip(".")
    if topic.kind == "number":
        return parse_policy_number(text, topic.unit)
    text = text.removeprefix("the ").removeprefix("a ").removeprefix("an ")
    return text if text in (topic.choices or ("yes", "no")) else None


def parse_policy_number(text: str, unit: str) -> Fraction | None:
    """
    >>> parse_policy_number("$1,200.50", "dollars"), parse_policy_number("14 days", "days"), parse_policy_number("2 weeks", "days"), parse_policy_number("$3", "days")
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


def draw_quick_question(random: Random) -> tuple[str, list[str]]:
    """A short question about the policies with everything that it needs in it, and every answer that is right."""
    short = [topic for topic in load_topics().values() if topic.kind == "number" and len(topic.facts) <= 4]
    while True:
        topic = random.choice(short)
        facts = draw_case(topic, random.choice((1, 2)), random)
        if facts is not None:
            value = topic.outcome(facts).value
            return phrase_policy_question(topic, facts, random.choice(topic.questions)), list_accepted_answers(
                value, topic.unit
            )


def phrase_policy_question(topic: Topic, facts: CaseFacts, question: str) -> str:
    """A question with its facts: `I am a member, and it is from Home. How many days ...?`"""
    clauses = [load_policy_facts()[name].say(facts[name]) for name in topic.facts]
    story = " and ".join([", ".join(clauses[:-1]), clauses[-1]] if len(clauses) > 1 else clauses)
    return f"{story[0].upper()}{story[1:]}. {question}"


def list_accepted_answers(value: Fraction | str, unit: str) -> list[str]:
    """How one may write it, the plainest first."""
    said = format_policy_answer(value)
    if isinstance(value, str):
        return [said]
    longer = [f"{float(value):.2f}"] if unit == "dollars" else []
    plain = list(dict.fromkeys([said, *longer]))
    marked = [f"${each}" for each in plain] if unit == "dollars" else []
    return [*plain, *marked, *(f"{each} {unit.removesuffix('s') if value == 1 else unit}" for each in plain)]
