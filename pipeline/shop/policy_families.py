"""Families of rules, of which a seed draws one shop's policies: other windows, fees, thresholds, conditions, orders.

A family is a topic of `data/reference/policies/*.toml`. `base` and `first` are the values and the texts of the rule that holds for
everybody; each of `branches` is a rule that a shop may have:

    on, also      the facts that it depends on; `also` asks for one more, by its only value
    value         values of the fact of which one is drawn; `among`: groups, of which one or two are drawn
    least, below  thresholds of a number
    is, plus, minus, times, at_most, at_least
                  alternatives of what it changes; first which of these is drawn, then the number. Of `yes or no` nothing is said: it is drawn
    many          at most so many rules of it, each with a value of its own
    share         how many shops have it
    last          it stands behind the others
    text          how it says its change, where `wording.toml` does not do

What is drawn decides which side a topic is of: a shop of the test has in no topic the conditions and numbers of a shop of training.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import Field

from shopwright.pipeline.shop.policy_rules import CHANGES, Condition, Kind, Rule, Span, Topic, apply_change
from shopwright.schemas.record import Part

FOLDER = Path(__file__).parents[2] / "data" / "reference" / "policies"
Side = Literal["train", "test"]
# Of what can be drawn, one in so many is kept for shops of the test.
TEST_ONE_IN = 6
# Draws of a topic until one is of the side and sound; a family that needs more is too small.
TRIES = 2_000
# Fewer rules beside the first make no policy.
FEWEST_BRANCHES = 3
# Of conditions on groups: how often a rule names two.
TWO_GROUPS = 0.25


class Fact(Part):
    """Something that a rule can depend on."""

    words: list[str]
    """Of a question about it, its name first."""
    values: list[str] = Field(default_factory=list)
    """None for a number."""
    low: int = 0
    high: int = 0
    """The range that a number is drawn from."""
    about: dict[str, str] = Field(default_factory=dict)
    """What a rule with such a condition is called."""
    rule: dict[str, list[str]]
    """How rules say a condition: by value, by `least` or `below`, or `is` for any value."""


class Branch(Part):
    """A rule that a shop may have."""

    on: str
    also: str = ""
    value: list[str] = Field(default_factory=list)
    among: list[str] = Field(default_factory=list)
    least: list[int] = Field(default_factory=list)
    below: list[int] = Field(default_factory=list)
    is_: list[int | str] = Field(default_factory=list, alias="is")
    plus: list[int] = Field(default_factory=list)
    minus: list[int] = Field(default_factory=list)
    times: list[int] = Field(default_factory=list)
    at_most: list[int] = Field(default_factory=list)
    at_least: list[int] = Field(default_factory=list)
    many: int = 1
    share: float = 0.8
    last: bool = False
    text: list[str] = Field(default_factory=list)

    @cached_property
    def effects(self) -> dict[str, list[int | str]]:
        found = {name: getattr(self, "is_" if name == "is" else name) for name in CHANGES}
        return {name: values for name, values in found.items() if values}


class Family(Part):
    """A topic with all that a shop may have of it."""

    name: str
    kind: Kind = "number"
    unit: str = ""
    of: str = ""
    always: bool = False
    """Whether every shop has it."""
    called: str = Field(default="", alias="as")
    """As rules call it; empty: by its name."""
    choices: list[str] = Field(default_factory=list)
    words: str
    """What people call it, for the search."""
    base: list[int | str]
    first: list[str]
    yes: list[str] = Field(default_factory=list)
    no: list[str] = Field(default_factory=list)
    branches: list[Branch]


@dataclass(frozen=True)
class Clause:
    """A rule before it has words."""

    when: Mapping[str, Condition]
    change: str
    value: int | str
    text: tuple[str, ...] = ()
    stage: int = 1
    """Rules of a later stage stand behind."""

    @cached_property
    def key(self) -> str:
        """The same for the same condition and change."""
        asked = {
            name: str(each) if isinstance(each, Span) else sorted(each) for name, each in sorted(self.when.items())
        }
        return f"{asked} {self.change} {self.value}"


def read_policy_file(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def load_policy_facts() -> dict[str, Fact]:
    """Every fact that a rule can depend on, by name."""
    return {name: Fact.model_validate(each) for name, each in read_policy_file("facts")["facts"].items()}


@cache
def load_impossible_cases() -> list[dict[str, str]]:
    """Facts that cannot be of one case."""
    found: list[dict[str, str]] = read_policy_file("facts")["impossible"]
    return found


@cache
def load_families() -> dict[str, Family]:
    """Every family by the name of its topic, in the order of the files."""
    files = sorted(path.stem for path in FOLDER.glob("*.toml"))
    written = chain.from_iterable(read_policy_file(file).get("topics", ()) for file in files)
    found = [Family.model_validate(each) for each in written]
    return {family.name: family for family in found}


@cache
def load_wording() -> dict[str, Any]:
    return read_policy_file("wording")


def draw_rules(family: Family, side: Side, random: Random) -> list[Clause]:
    """One shop's rules of a family, of the combinations that this side may have, before `phrase_topic` gives them words, which takes as long again."""
    for _ in range(TRIES):
        first, *rest = draw_clauses(family, random)
        for base in random.sample(family.base, len(family.base)):
            clauses = [replace(first, value=base), *rest]
            if len(rest) >= FEWEST_BRANCHES and side_of_clauses(family, clauses) == side and is_sound(family, clauses):
                return clauses
    raise ValueError(f"{family.name} has no rules for {side}: give it more alternatives")


def count_facts(family: Family, clauses: list[Clause]) -> int:
    """On how many facts an answer depends."""
    return len({*chain.from_iterable(each.when for each in clauses), *filter(None, [family.of])})


def side_of_clauses(family: Family, clauses: list[Clause]) -> Side:
    """By a digest of all conditions and numbers in their order."""
    text = f"{family.name}: " + "; ".join(clause.key for clause in clauses)
    return "test" if int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % TEST_ONE_IN == 0 else "train"


def is_sound(family: Family, clauses: list[Clause]) -> bool:
    """Whether no case comes to less than nothing."""
    if family.kind != "number":
        return True
    lowest = min(Fraction(each.value) for each in clauses if each.change in ("is", "at_most") and each.stage < 2)
    for each in clauses:
        if each.change in ("minus", "times") and not (each.change == "times" and int(each.value) > 100):
            lowest = Fraction(apply_change(each.change, Fraction(each.value), lowest))
    return lowest >= 0


def draw_clauses(family: Family, random: Random) -> list[Clause]:
    """The first rule, and those that this shop has beside it in the order in which they are gone through."""
    first = Clause({}, "is", family.base[0], stage=0)
    rest: list[Clause] = []
    taken: set[str] = set()
    for branch in family.branches:
        for _ in range(random.randint(1, branch.many) if random.random() < branch.share else 0):
            clause = draw_clause(family, branch, taken, random)
            if clause is not None:
                rest.append(clause)
    random.shuffle(rest)
    if family.kind == "number":  # what replaces a number stands before what changes it
        rest.sort(key=lambda each: each.stage)
        return [first, *rest]
    return [first, *vary_answers(family, str(first.value), rest, random)]


def draw_clause(family: Family, branch: Branch, taken: set[str], random: Random) -> Clause | None:
    """A rule of a branch; None where its conditions are taken by another."""
    found = draw_condition(branch, taken, random)
    if found is None:
        return None
    when = {branch.on: found}
    if branch.also:
        when[branch.also] = frozenset({pick_rule_value(branch.also)})
    effects = branch.effects or {"is": ["yes", "no"]}
    change = random.choice(list(effects))
    return Clause(
        when,
        change,
        random.choice(effects[change]),
        tuple(branch.text),
        stage=2 if branch.last else 0 if change == "is" else 1,
    )


def draw_condition(branch: Branch, taken: set[str], random: Random) -> Condition | None:
    """What a rule asks of its fact; adds it to what is taken."""
    fact = load_policy_facts()[branch.on]
    if fact.high:
        low = random.choice(branch.least) if branch.least else None
        return Span(least=low, below=random.choice(branch.below) if branch.below else None)
    values = branch.among or branch.value or [pick_rule_value(branch.on)]
    free = [each for each in values if f"{branch.on}={branch.also}={each}" not in taken]
    if not free:
        return None
    count = 2 if branch.among and len(free) > 1 and random.random() < TWO_GROUPS else 1
    drawn = random.sample(free, count)
    taken.update(f"{branch.on}={branch.also}={each}" for each in drawn)
    return frozenset(drawn)


def pick_rule_value(fact: str) -> str:
    """The value that rules speak of where a branch names none: `yes`, `island`."""
    return next(value for value in load_policy_facts()[fact].rule)


def vary_answers(family: Family, first: str, rest: list[Clause], random: Random) -> Iterator[Clause]:
    """Each rule with an answer that is mostly another than that before it, so that it decides something."""
    before = first
    for clause, branch in ((each, find_branch(family, each)) for each in rest):
        options = [str(each) for each in branch.is_ or ("yes", "no")]
        others = [each for each in options if each != before] or options
        before = random.choice(others if random.random() < 0.9 else options)
        yield Clause(clause.when, "is", before, clause.text)


def find_branch(family: Family, clause: Clause) -> Branch:
    """The branch of a category's rule."""
    names = list(clause.when)
    return next(
        each for each in family.branches if [each.on, *filter(None, [each.also])] == names and fits_branch(each, clause)
    )


def fits_branch(branch: Branch, clause: Clause) -> bool:
    wanted = clause.when[branch.on]
    return isinstance(wanted, Span) or wanted <= {*(branch.among or branch.value or [pick_rule_value(branch.on)])}


# Words


def phrase_topic(family: Family, clauses: list[Clause], random: Random) -> Topic:
    """A topic of these rules; `random` goes on where it drew them."""
    rules = [phrase_rule(family, number, clause, random) for number, clause in enumerate(clauses, 1)]
    order: str = random.choice(load_wording()["order"])
    first = rules[0]
    rules[0] = Rule(**{**vars(first), "text": f"{first.text} {order}"})
    return Topic(family.name, family.kind, family.unit, family.of, tuple(family.choices), tuple(rules))


def phrase_rule(family: Family, number: int, clause: Clause, random: Random) -> Rule:
    if clause.when:
        asked = ", ".join(phrase_condition(name, wanted, random) for name, wanted in clause.when.items())
        text = f"{asked}, {phrase_change(family, clause, random)}."
    else:
        text = random.choice(family.first).format(amount=phrase_amount(family, clause.value, random))
    title = f"{family.name.capitalize()}, rule {number}"
    about = " and ".join(title_condition(name, wanted) for name, wanted in clause.when.items())
    return Rule(
        id=f"{family.name.replace(' ', '-')}-{number}",
        title=f"{title}: {about}" if about else title,
        text=text[0].upper() + text[1:],
        topic=family.name,
        number=number,
        when=clause.when,
        change=clause.change,
        value=clause.value if isinstance(clause.value, str) else Fraction(clause.value),
    )


def phrase_condition(name: str, wanted: Condition, random: Random) -> str:
    said = load_policy_facts()[name].rule
    if isinstance(wanted, Span):
        key = "least" if wanted.least is not None else "below"
        return random.choice(said[key]).format(value=getattr(wanted, key))
    values = sorted(wanted)
    return random.choice(said.get(values[0]) or said["is"]).format(value=" and ".join(values))


def title_condition(name: str, wanted: Condition) -> str:
    about = load_policy_facts()[name].about
    if isinstance(wanted, Span):
        return about["least" if wanted.least is not None else "below"]
    return " and ".join(about.get(value, value) for value in sorted(wanted))


def phrase_amount(family: Family, value: int | str, random: Random) -> str:
    """A number with its unit, a choice as it is, or what yes and no mean here."""
    if family.kind == "yes or no":
        return f"{random.choice(family.yes if value == 'yes' else family.no)}: {value}"
    return (
        str(value) if isinstance(value, str) else phrase_unit("share" if family.of else family.unit, value, family.of)
    )


def phrase_unit(unit: str, value: int, of: str = "") -> str:
    found = load_wording()["units"][unit]
    said: str = found["one" if value == 1 else "many"]
    return said.format(value=value, of=load_wording()["of"].get(of, ""))


def phrase_change(family: Family, clause: Clause, random: Random) -> str:
    if family.kind == "yes or no":
        return phrase_amount(family, clause.value, random)
    # A change of percents is counted in percentage points.
    unit = "percentage" if family.of or family.unit == "percent" else family.unit
    change = "" if isinstance(clause.value, str) else phrase_unit(unit, clause.value)
    return random.choice(clause.text or list_effect_texts(family, clause)).format(
        topic=family.called or f"the {family.name}",
        value=clause.value,
        amount=f"the {clause.value}" if family.kind == "category" else phrase_amount(family, clause.value, random),
        change=change,
    )


def list_effect_texts(family: Family, clause: Clause) -> list[str]:
    effects = load_wording()["effects"]
    if family.kind == "category":
        return effects["is"][:1]
    if clause.change == "times":
        exact = effects.get(f"times_{clause.value}")
        return exact or effects["times_less" if int(clause.value) < 100 else "times_more"]
    if clause.change in ("plus", "minus"):
        kind = load_wording()["units"]["share" if family.of else family.unit]["kind"]
        return effects[kind][clause.change]
    return effects[clause.change]
