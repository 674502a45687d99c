"""What the thoughts of a rollout say, remark by remark: each is read by code that shares nothing with the writer, and fits its question.

A thought is several remarks one after the other, and a remark may have several sentences: it is cut in every way in which each part is read
as one remark. `shopwright.pipeline.checks.thoughts` proves the facts; this, that nothing is said that is no remark on such a question.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from shopwright.pipeline.checks.thoughts import split_thoughts
from shopwright.pipeline.phrases.bank import Ref
from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.reading.thoughts import Facts, Reading, fold_fact, list_log_names, read_thought
from shopwright.pipeline.rollouts.considerations import (
    find_main_pick,
    list_considerations,
    name_goal,
    name_row,
    name_rows,
)
from shopwright.pipeline.rollouts.thoughts import Slots, Speaker, remark
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import Rollout

PIECE = re.compile(r"(?<=[.?!;:])\s+")
LONGEST = 5
"""Sentences of a remark, at most."""


def find_unread_remark(rollout: Rollout, question: Question, events: Any) -> str | None:
    """The first thought that is no row of remarks on this question."""
    names = list_log_names(events)
    judge = QuestionRemarks(question, rollout.answer)
    for thought in split_thoughts(rollout):
        pieces = cut_thought(thought, rollout.answer)
        if not is_read(pieces, names, judge):
            return f"a thought that is no remark on this question: {thought}"
    return None


def cut_thought(thought: str, answer: str) -> list[str]:
    """Its sentences and notes; an answer of several names is never cut.

    >>> cut_thought("only clicks; so I find: coral; mauve.", "coral; mauve")
    ['only clicks;', 'so I find:', 'coral; mauve.']
    """
    place = thought.rfind(answer) if answer else -1
    inside = range(place + 1, place + len(answer)) if place >= 0 else range(0)
    cuts = [found for found in PIECE.finditer(thought) if found.start() not in inside]
    begins, ends = [0, *(found.end() for found in cuts)], [*(found.start() for found in cuts), len(thought)]
    return [thought[begin:end] for begin, end in zip(begins, ends, strict=True) if end > begin]


def is_read(pieces: Sequence[str], names: tuple[str, ...], judge: "QuestionRemarks") -> bool:
    """Whether the pieces can be joined so that each group of them is a remark."""
    reached = {0}
    for end in range(1, len(pieces) + 1):
        for start in range(max(0, end - LONGEST), end):
            if start in reached and judge.has_remark(read_once(" ".join(pieces[start:end]), names)):
                reached.add(end)
                break
    return len(pieces) in reached


@lru_cache(20_000)
def read_once(text: str, names: tuple[str, ...]) -> tuple[Reading, ...]:
    return tuple(read_thought(text, names))


class QuestionRemarks:
    """What can be remarked on a question."""

    def __init__(self, question: Question, answer: str) -> None:
        self.answer = answer
        self.tree = t.tree_from_json(question.tree) if question.tree else None
        self.goal = name_goal(self.tree)
        minded = list_considerations(self.tree, Speaker(question.split, Random(0)), first=False)
        self.minded: dict[str, list[Slots]] = {}
        for each in [*minded, *self.list_later()]:
            self.minded.setdefault(each.meaning, []).append(each.slots)

    def list_later(self) -> Iterator[Any]:
        """What is minded only after a look at the products."""
        pick = None if self.tree is None else find_main_pick(self.tree)
        if pick is not None and pick.product is not None and pick.product.brand is not None:
            yield remark("mind brand decides", value=pick.product.brand)

    def has_remark(self, readings: Sequence[Reading]) -> bool:
        return any(map(self.fits, readings))

    def fits(self, reading: Reading) -> bool:
        """Whether a reading is a remark on this question, with its facts."""
        facts = reading.facts
        if reading.goals and not any(self.is_goal(goal, inner) for goal, inner in reading.goals):
            return False
        if reading.meaning.startswith("mind "):
            return any(are_facts(facts, slots) for slots in self.minded.get(reading.meaning, ()))
        if reading.meaning.startswith("say "):
            return all(fold_fact(values[0]) == fold_fact(self.answer) for name, values in facts if name == "said") and (
                (reading.meaning == "say none") == (self.answer == "none")
            )
        if self.tree is None:
            return True
        pick = find_main_pick(self.tree)
        said = tuple(each for each in facts if each[0] in ("rows", "row"))
        if reading.meaning == "why action":
            said = facts
        return are_facts(
            tuple(each for each in said if each[0] != "wrong"),
            {"rows": name_rows(pick), "row": name_row(pick), "right": str(pick.action)},
        )

    def is_goal(self, meaning: str, facts: Facts) -> bool:
        return meaning == self.goal.meaning and are_facts(facts, self.goal.slots)


def are_facts(facts: Facts, slots: Mapping[str, str | Ref]) -> bool:
    """Whether what was read is what these slots hold."""
    return all(name in slots and is_fact(values, slots[name]) for name, values in facts)


def is_fact(values: Sequence[str], fact: str | Ref) -> bool:
    return fact.meaning in values if isinstance(fact, Ref) else fold_fact(fact) == fold_fact(values[0])
