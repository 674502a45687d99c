"""What an audit found: whether all can be solved, and nothing be cheated."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

TITLES = {
    "unsolved": "not solved",
    "cheated": "cheated",
    "told": "told by the first words",
    "guessed": "guessed from the profile",
    "paid": "a cheap policy earns more than nothing",
    "undrawn": "the shop is too small for",
}


@dataclass(frozen=True)
class AuditVerdict:
    """In words, one line a case; None for what an audit does not look for."""

    unsolved: list[str]
    """Where the solver does not succeed every time: a release must not get out with one."""
    cheated: list[str]
    """Where a policy that does not look closely does too well: likewise."""
    told: list[str] | None = None
    """Where the first words tell too well what cannot be done: likewise."""
    guessed: list[str] | None = None
    """Where the profile alone finds the target more often than any of its siblings: likewise."""
    paid: list[str] | None = None
    """Where, from level 1 on, a cheap policy earns more than nothing."""
    undrawn: list[str] | None = None
    """What the shop is too small for."""

    @property
    def failed(self) -> bool:
        return bool(self.list_failures())

    def list_failures(self) -> list[str]:
        """
        >>> AuditVerdict([], ["level 3"], told=["policy_qa"], undrawn=["level 12"]).list_failures()
        ['level 3', 'policy_qa']
        """
        return [*self.unsolved, *self.cheated, *(self.told or ()), *(self.guessed or ())]

    def to_json(self) -> dict[str, Any]:
        """
        >>> AuditVerdict([], ["level 3"]).to_json()
        {'unsolved': [], 'cheated': ['level 3']}
        """
        return {name: found for name, found in asdict(self).items() if found is not None}

    def lines(self) -> Iterator[str]:
        """
        >>> list(AuditVerdict([], ["level 3", "level 4"]).lines())
        ['not solved: none', 'cheated: level 3, level 4']
        """
        for name, found in self.to_json().items():
            yield f"{TITLES[name]}: {', '.join(found) or 'none'}"


def parse_verdict(found: Mapping[str, Any]) -> AuditVerdict:
    """A verdict as it was kept beside other facts.

    >>> parse_verdict({"unsolved": [], "cheated": ["level 3"], "cells": []}).failed
    True
    """
    return AuditVerdict(**{each.name: found[each.name] for each in fields(AuditVerdict) if each.name in found})
