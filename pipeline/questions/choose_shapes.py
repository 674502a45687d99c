"""Questions for one trajectory: shapes in an order of its own, each with what it finds there, until there are enough."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from random import Random
from typing import Any

from shopwright.pipeline.held_out import is_held_out
from shopwright.pipeline.phrases.bank import QUESTIONS, PhraseBank, load_grammar_bank
from shopwright.pipeline.questions.answers import Found, Undecided, answer_tree, is_tied, type_of
from shopwright.pipeline.questions.conditions import idle_conditions
from shopwright.pipeline.questions.draw_values import Draw, NothingToAsk
from shopwright.pipeline.questions.effort import effort_of, grade_difficulty
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.phrase import Phrased, name_tie_note, phrase_question
from shopwright.pipeline.questions.rating import (
    are_near_duplicate_questions,
    assign_split,
    collect_bag_of_words,
    gives_away,
    locate_evidence,
)
from shopwright.pipeline.questions.shapes import SHAPES, Shape
from shopwright.pipeline.questions.sources import sources_of
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.times import DAY
from shopwright.pipeline.questions.tree import Listed, Top, tree_to_json
from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.questions.values import value_to_json as as_json
from shopwright.schemas.questions import Split

# Splits that nobody trains on.
TESTS = ("test", "test_wording")
# Draws for one question, of which most belong to another split or say nothing.
TRIES = 40
# Draws after the first right one, where answers repeat: one of their answers is taken.
MORE = 16
# Share of questions whose answer may be none or zero.
EMPTY = 0.15
# Share of questions that may have an idle condition: were there none, an answer would tell what the others cannot be.
LOOSE = 0.05
# Share of questions whose time is left out where it says one: people ask of all their months more often than of a range of days.
ALL_DAYS = 0.3
# Days after the last event, at most, on which a question is asked.
ASKED_WITHIN = 3
# Values in a set or list, so that it can be said.
MOST_NAMES = 8
# How often a shape may come up for one trajectory before there is no more to ask.
ROUNDS = 5


@dataclass(frozen=True)
class DrawnQuestion:
    """A tree that asks something of this trajectory, and what is true."""

    shape: Shape
    tree: Any
    json: str
    found: Found
    split: Split
    asked_on: date
    notes: tuple[str, ...]
    """What must be said beside the question."""
    dice: float
    """Which of its phrasings."""
    bank: PhraseBank

    @cached_property
    def wording(self) -> Phrased:
        return phrase_question(
            self.shape.name, self.tree, self.asked_on, self.split, Random(repr(self.dice)), self.notes, self.bank
        )

    @property
    def question(self) -> str:
        return self.wording.question

    @cached_property
    def bag(self) -> frozenset[str]:
        return collect_bag_of_words(self.question)


def accept_any(shape: str, answer: str, question: str) -> bool:
    return True


def compose(
    log: Log,
    dice: Callable[..., Random],
    split: Split,
    fits: Callable[[str, str, str], bool] = accept_any,
    bank: PhraseBank | None = None,
) -> Iterator[dict[str, Any]]:
    """Questions over one trajectory, as columns, until there is no more to ask; `dice(*key)` gives fresh dice.

    `fits(shape, answer, question)` says whether one more like it is welcome.
    """
    if not log.events:
        return
    draw = Draw(log, dice("order"))
    bank = bank or load_grammar_bank(QUESTIONS)
    asked: list[DrawnQuestion] = []
    shapes = [shape for shape in SHAPES.values() if split in TESTS or not is_held_out("shapes", [shape.name])]
    for turn in range(ROUNDS):
        order = dice("order", turn)
        keys = {name: order.random() for name in SHAPES}
        for shape in sorted(shapes, key=lambda shape: keys[shape.name]):
            found = compose_one(draw, shape, dice(shape.name, turn), split, asked, bank)
            if found is not None and fits(shape.name, format_canonical(found.found.value), found.question):
                asked.append(found)
                yield build_question_columns(found, log, split)


def compose_one(
    draw: Draw, shape: Shape, dice: Random, split: Split, asked: list[DrawnQuestion], bank: PhraseBank
) -> DrawnQuestion | None:
    """A question of this shape that can be asked of this trajectory in this split.

    Where answers repeat it is one of several, so that none of them is right too often.
    """
    wants_empty, may_idle = dice.random() < EMPTY, dice.random() < LOOSE
    right: dict[str, DrawnQuestion] = {}
    tries = TRIES
    while tries:
        tries -= 1
        found = try_draw(draw.again(dice), shape, split, bank, elsewhere=wants_empty)
        if found is None or is_empty(found.found.value) != wants_empty:
            continue
        if not may_idle and any(idle_conditions(found.tree, draw.log, found.found.value)):
            continue  # first, for it turns more away than all that needs the words
        if not is_worth_asking(found, asked):
            continue
        if not right and type_of(found.tree) == "integer" and not wants_empty:
            tries = min(tries, MORE)
        elif not right:
            tries = 0
        right.setdefault(format_canonical(found.found.value), found)
    ranked = sorted(right.values(), key=lambda each: -dice.random() * weigh_value(each.found.value))
    return next((each for each in ranked if wants_empty or rests_on_evidence(each, draw.log)), None)


def weigh_value(value: Any) -> float:
    """Small numbers come up more often by themselves, so the larger ones are taken more often."""
    return float(abs(Decimal(value))) + 1 if isinstance(value, int | Decimal) else 1.0


def try_draw(
    draw: Draw, shape: Shape, split: Split, bank: PhraseBank, *, elsewhere: bool = False
) -> DrawnQuestion | None:
    try:
        tree = shape.draw(draw)
        if elsewhere:
            tree = draw.elsewhere(tree)
        elif draw.chance(ALL_DAYS):
            tree = draw.of_all_days(tree)
        json = tree_to_json(tree)
        if assign_split(json) != split:
            return None
        found = answer_tree(tree, draw.log)
        notes = [name_tie_note(tree)] if is_tied(tree, draw.log) else []
        if found.value is None:
            notes.append("none")
        asked_on = draw.log.events[-1].day + draw.number(1, ASKED_WITHIN) * DAY
        return DrawnQuestion(shape, tree, json, found, split, asked_on, tuple(notes), draw.random.random(), bank)
    except (NothingToAsk, Undecided):
        return None


def is_empty(value: Any) -> bool:
    """Whether the answer is none or zero."""
    return value is None or (isinstance(value, int | Decimal) and value == 0)


def is_worth_asking(asked: DrawnQuestion, before: list[DrawnQuestion]) -> bool:
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
    if gives_away(asked.question, format_canonical(value)):
        return False
    return not any(asked.json == each.json or are_near_duplicate_questions(asked.bag, each.bag) for each in before)


def rests_on_evidence(asked: DrawnQuestion, log: Log) -> bool:
    """Whether the answer is another without its evidence."""
    rows = {each.row for each in asked.found.evidence}
    try:
        return bool(rows) and answer_tree(asked.tree, log.without(rows)).value != asked.found.value
    except Undecided:
        return False


def build_question_columns(asked: DrawnQuestion, log: Log, split: Split) -> dict[str, Any]:
    sql, value = sql_of(asked.tree), asked.found.value
    evidence = [] if is_empty(value) else asked.found.rows
    effort = effort_of(asked.tree, log, value, sql)
    return {
        "question": asked.question,
        "asked_on": asked.asked_on,
        "phrases": asked.wording.templates,
        "sql": sql,
        "dialect": "duckdb",
        "answer": format_canonical(value),
        "answer_type": "none" if value is None else type_of(asked.tree),
        "result": as_json(value),
        "kind": asked.shape.kind,
        "shape": asked.shape.name,
        "answerable_from": sources_of(asked.tree),
        "difficulty": grade_difficulty(effort),
        "effort": effort,
        "evidence": evidence,
        "position": locate_evidence(evidence, len(log.events)),
        "split": split,
        "tree": asked.json,
        "idle_conditions": sorted(idle_conditions(asked.tree, log, value)),
    }
