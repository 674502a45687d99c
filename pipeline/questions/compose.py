"""Questions for one trajectory: shapes in an order of its own, each with what it finds there, until there are enough."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from random import Random
from typing import Any

from pipeline.questions.answers import Found, Undecided, answer, type_of
from pipeline.questions.log import Log
from pipeline.questions.phrase import phrasings
from pipeline.questions.rating import alike, bag, difficulty, gives_away, position, split_of
from pipeline.questions.shapes import SHAPES, Draw, Nothing, Shape
from pipeline.questions.sql import sql_of
from pipeline.questions.tree import Listed, Pick, Top, to_json
from pipeline.questions.values import canonical
from pipeline.questions.values import to_json as as_json
from pipeline.sandbox.sql import parsed
from schemas.questions import Split

TRIES = 40
"""Draws for one question, of which most belong to another split or say nothing."""
MORE = 6
"""Draws after the first right one, where answers repeat: one of their answers is taken."""
EMPTY = 0.15
"""Share of questions whose answer may be none or zero."""
MOST_NAMES = 8
"""Values in a set or list, so that it can be said."""
ROUNDS = 3
"""How often a shape may come up for one trajectory before there is no more to ask."""


@dataclass(frozen=True)
class Asked:
    """A tree that asks something of this trajectory, and what is true."""

    shape: Shape
    tree: Any
    json: str
    found: Found
    dice: float
    """Which of its phrasings: a share of them."""

    @cached_property
    def question(self) -> str:
        said = phrasings(self.shape.name, self.tree)
        return said[int(self.dice * len(said))]

    @cached_property
    def bag(self) -> frozenset[str]:
        return bag(self.question)


def anything(shape: str, answer: str, question: str) -> bool:
    return True


def compose(
    log: Log, dice: Callable[..., Random], split: Split, fits: Callable[[str, str, str], bool] = anything
) -> Iterator[dict[str, Any]]:
    """Questions over one trajectory, as columns, until there is no more to ask; `dice(*key)` gives fresh dice.

    `fits(shape, answer, question)` says whether one more like it is welcome.
    """
    if not log.events:
        return
    draw = Draw(log, dice("order"))
    asked: list[Asked] = []
    for turn in range(ROUNDS):
        for shape in shuffled(list(SHAPES.values()), dice("order", turn)):
            found = one(draw, shape, dice(shape.name, turn), split, asked)
            if found is not None and fits(shape.name, canonical(found.found.value), found.question):
                asked.append(found)
                yield columns(found, log, split)


def shuffled(shapes: list[Shape], dice: Random) -> list[Shape]:
    keys = {shape.name: dice.random() for shape in shapes}
    return sorted(shapes, key=lambda shape: keys[shape.name])


def one(draw: Draw, shape: Shape, dice: Random, split: Split, asked: list[Asked]) -> Asked | None:
    """A question of this shape that can be asked of this trajectory in this split.

    Where answers repeat it is one of several, so that none of them is right too often.
    """
    wants_empty = dice.random() < EMPTY
    right: dict[str, Asked] = {}
    tries = TRIES
    while tries:
        tries -= 1
        found = drawn(draw.again(dice), shape, split, elsewhere=wants_empty)
        if found is None or is_empty(found.found.value) != wants_empty or not is_worth_asking(found, asked):
            continue
        if not right and type_of(found.tree) == "integer" and not wants_empty:
            tries = min(tries, MORE)
        elif not right:
            tries = 0
        right.setdefault(canonical(found.found.value), found)
    ranked = sorted(right.values(), key=lambda each: -dice.random() * size(each.found.value))
    return next((each for each in ranked if wants_empty or rests_on_evidence(each, draw.log)), None)


def size(value: Any) -> float:
    """Small numbers come up more often by themselves, so the larger ones are taken more often."""
    return float(abs(Decimal(value))) + 1 if isinstance(value, int | Decimal) else 1.0


def drawn(draw: Draw, shape: Shape, split: Split, *, elsewhere: bool = False) -> Asked | None:
    try:
        tree = shape.draw(draw)
        if elsewhere and isinstance(getattr(tree, "of", None), Pick):
            tree = tree.model_copy(update={"of": draw.elsewhere(tree.of)})
        json = to_json(tree)
        if split_of(json) != split:
            return None
        found = answer(tree, draw.log)
        return Asked(shape, tree, json, found, draw.random.random())
    except (Nothing, Undecided):
        return None


def is_empty(value: Any) -> bool:
    """Whether the answer is none or zero."""
    return value is None or (isinstance(value, int | Decimal) and value == 0)


def is_worth_asking(asked: Asked, before: list[Asked]) -> bool:
    """What would make a poor question: an answer too long, or told; one asked already."""
    tree, value = asked.tree, asked.found.value
    if isinstance(value, frozenset | list) and len(value) > MOST_NAMES:
        return False
    if isinstance(tree, Top) and tree.k > 1 and len(value or []) < tree.k:
        return False
    if isinstance(tree, Listed) and len(value or []) < 2:
        return False
    if isinstance(tree, Top) and tree.k == 1 and len(asked.found.evidence) == 1:
        return False
    if isinstance(value, timedelta) and value <= timedelta(0):
        return False
    if gives_away(asked.question, canonical(value)):
        return False
    return not any(asked.json == each.json or alike(asked.bag, each.bag) for each in before)


def rests_on_evidence(asked: Asked, log: Log) -> bool:
    """Whether the answer is another without its evidence."""
    rows = {each.row for each in asked.found.evidence}
    try:
        return bool(rows) and answer(asked.tree, log.without(rows)).value != asked.found.value
    except Undecided:
        return False


def columns(asked: Asked, log: Log, split: Split) -> dict[str, Any]:
    sql, value = sql_of(asked.tree), asked.found.value
    evidence = [] if is_empty(value) else asked.found.rows
    return {
        "question": asked.question,
        "sql": sql,
        "dialect": "duckdb",
        "answer": canonical(value),
        "answer_type": "none" if value is None else type_of(asked.tree),
        "result": as_json(value),
        "kind": asked.shape.kind,
        "shape": asked.shape.name,
        "difficulty": difficulty(parsed(sql), len(evidence)),
        "evidence": evidence,
        "position": position(evidence, len(log.events)),
        "split": split,
        "tree": asked.json,
    }
