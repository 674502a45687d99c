"""A rule of the shop's policies, and a topic: something that can be asked, with all its rules.

The rules of a topic stand in the order of their numbers; those that fit the facts are gone through in this order, and each changes
what the ones before it gave. So one outcome holds for any full set of facts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal

from shopwright.schemas.record import Part

CHANGES = ("is", "plus", "minus", "times", "at_most", "at_least")
Kind = Literal["number", "category", "yes or no"]
Value = str | int | Decimal
CaseFacts = Mapping[str, Value]


class Span(Part):
    """Numbers from `least` on, and below `below`."""

    least: int | None = None
    below: int | None = None

    def holds(self, value: Value) -> bool:
        if isinstance(value, str):
            return False
        return (self.least is None or value >= self.least) and (self.below is None or value < self.below)


Condition = frozenset[str] | Span


@dataclass(frozen=True)
class Rule:
    """One rule: what the agent reads, and what it does."""

    id: str
    title: str
    text: str
    topic: str
    number: int
    """Its place in the order; no two rules of a topic share it."""
    when: Mapping[str, Condition]
    change: str
    """One of CHANGES."""
    value: Fraction | str

    def fits(self, facts: CaseFacts) -> bool:
        return all(is_condition_met(wanted, facts[name]) for name, wanted in self.when.items())

    def after(self, value: Fraction | str) -> Fraction | str:
        """What holds after this rule where `value` held before it."""
        return apply_change(self.change, self.value, value)


def is_condition_met(wanted: Condition, value: Value) -> bool:
    return wanted.holds(value) if isinstance(wanted, Span) else value in wanted


def apply_change(change: str, by: Fraction | str, value: Fraction | str) -> Fraction | str:
    """
    >>> apply_change("times", Fraction(50), Fraction(30)), apply_change("at_most", Fraction(14), Fraction(30))
    (Fraction(15, 1), Fraction(14, 1))
    """
    if change == "is" or isinstance(value, str) or isinstance(by, str):
        return by
    if change in ("at_most", "at_least"):
        return (min if change == "at_most" else max)(value, by)
    if change == "times":
        return value * by / 100
    return value + by if change == "plus" else value - by


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


@dataclass(frozen=True)
class Topic:
    """Something that can be asked, with all its rules as one shop has them."""

    name: str
    kind: Kind
    unit: str
    of: str
    """The rules' numbers are percent of this fact."""
    choices: tuple[str, ...]
    rules: tuple[Rule, ...]

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """What an answer depends on, in the order of the rules."""
        found = chain.from_iterable(rule.when for rule in self.rules)
        return tuple(dict.fromkeys([*found, *filter(None, [self.of])]))

    def outcome(self, facts: CaseFacts) -> Outcome:
        """The one answer. `facts` has a value for each of `self.facts`."""
        fitting = tuple(rule for rule in self.rules if rule.fits(facts))
        steps: list[Fraction | str] = []
        for rule in fitting:
            steps.append(rule.after(steps[-1] if steps else Fraction(0)))
        value = steps[-1]
        if self.of and not isinstance(value, str):
            value = value * Fraction(facts[self.of]) / 100
        return Outcome(value, fitting, tuple(steps))

    def conditions(self, fact: str) -> list[Condition]:
        """What its rules ask of a fact."""
        return [rule.when[fact] for rule in self.rules if fact in rule.when]
