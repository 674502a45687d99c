"""Characteristics named by their effect: which measures have one, and the bound that it comes to among the things of a category."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from shopwright.pipeline.languages import LANGUAGES
from shopwright.pipeline.shopping.facts import parse_measurement
from shopwright.schemas.shopping import Language

# Values that a measure has in a category, at least, or there is neither much nor little of it.
FEWEST = 3
Bound = Literal["at most", "at least"]


@dataclass(frozen=True)
class Effect:
    """One end of a measure, with the name of its meaning in the phrase bank."""

    name: str
    op: Bound
    facts: tuple[str, ...]
    units: tuple[str, ...]
    """Base units, as `parse_measurement` gives them."""
    groups: tuple[str, ...]
    leaves: tuple[str, ...]

    def is_for(self, group: str, leaf: str) -> bool:
        anywhere = not self.groups and not self.leaves
        return anywhere or group in self.groups or leaf in self.leaves


@cache
def load_effects(language: Language = "en") -> tuple[Effect, ...]:
    found = LANGUAGES[language].load("effects.toml")["effects"]
    return tuple(
        Effect(
            name=each["name"],
            op=each["op"],
            facts=tuple(each["facts"]),
            units=tuple(parse_measurement("", 1.0, unit)[1] for unit in each["units"]),  # type: ignore[index]
            groups=tuple(each.get("groups", ())),
            leaves=tuple(each.get("leaves", ())),
        )
        for each in found
    )


def find_effect(group: str, leaf: str, fact: str, op: str, unit: str) -> Effect | None:
    """What one calls this end of a measure; unit: its base unit."""
    return next(
        (
            each
            for each in (*load_effects(), *load_effects("zh"))  # the names of facts tell which language it is
            if each.op == op and fact in each.facts and unit in each.units and each.is_for(group, leaf)
        ),
        None,
    )


def find_effect_bounds(values: Iterable[str], op: Bound) -> tuple[str, str] | None:
    """The value at which an effect begins, and where it would for one who takes it less strictly; None where there are too few values.

    The less strict one counts the middle value of an odd number, too.

    >>> find_effect_bounds(["5 cup", "8 cup", "10 cup", "12 cup", "14 cup"], "at least")
    ('12 cup', '10 cup')
    >>> find_effect_bounds(["900 W", "1.2 kW", "1 kW", "1100 W"], "at most")
    ('1 kW', '1 kW')
    """
    known = [(parse_measurement(value), value) for value in values]
    measured = [(found, value) for found, value in known if found]
    if len({found[1] for found, _ in measured}) != 1 or len(measured) < len(known):
        return None
    by_amount = {found[0]: value for found, value in sorted(measured)}  # one of each, whatever unit it is written in
    order = sorted(by_amount, reverse=op == "at least")
    if len(order) < FEWEST:
        return None
    half = len(order) // 2
    return by_amount[order[half - 1]], by_amount[order[-half - 1]]
