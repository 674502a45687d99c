"""Kinds of tasks that stand in tests alone: category trees, topics of policies, shapes of questions (`data/reference/held_out.toml`)."""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

FILE = Path(__file__).parents[1] / "data" / "reference" / "held_out.toml"
Kind = Literal["categories", "topics", "shapes"]


@cache
def load_held_out_kinds() -> dict[Kind, frozenset[str]]:
    found: dict[Kind, list[str]] = tomllib.loads(FILE.read_text(encoding="utf-8"))  # type: ignore[assignment]
    return {kind: frozenset(names) for kind, names in found.items()}


def is_held_out(kind: Kind, names: Iterable[str]) -> bool:
    """Whether one of these names is of a kind that nobody trains on; of a category the nodes of its path.

    >>> is_held_out("categories", ["Leisure", "Games & Puzzles", "Puzzles"]), is_held_out("topics", ["warranty"])
    (True, False)
    """
    return not load_held_out_kinds()[kind].isdisjoint(names)
