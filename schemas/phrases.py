"""Ways to say a meaning, each proved by being read back: the phrase bank as rows."""

from datetime import date
from typing import Literal

from shopwright.schemas.record import Record

Register = Literal["plain", "terse", "chatty", "polite", "hurried", "elderly", "teenager", "non-native"]
Use = Literal["train", "test", "test_wording"]
FamilyName = Literal["questions", "envs", "behaviors", "rollouts"]


class Phrase(Record):
    """A way to say a meaning, with slots for facts."""

    family: FamilyName
    """The texts that draw from it: questions of a log, what shoppers say in environments, rationales of sessions, thoughts of rollouts."""
    meaning: str
    """What it says: a kind of question (`repeat_brands/counted`), a wish (`price at most`), an opening (`cart_building`), a reason (`opens/cheapest`), a remark (`mind midnight`)."""
    tone: Register
    language: Literal["en"]
    words: str
    """With slots in braces: `How often did {I} click on {product} {when}?`"""
    slots: list[str]
    split: Use
    """What may be made of it: training, the test, or the test of wordings alone. All frames of a template have the same."""
    template: str
    """The template that it comes from; what a row of another dataset names in `phrases`."""
    written_by: str
    """`grammar`, or the model that wrote it."""
    example: str
    """The words with facts in their slots."""
    facts: str
    """These facts, as JSON: the tree of a question, the slots of a task, what a page showed and what was typed, the slots of a remark."""
    example_of: str
    """Whose they are: a trajectory, a task, a category; empty where they are the shop's."""
    asked_on: date
    proof: str
    """What a reader that shares nothing with the writer finds in the example, as JSON: the same tree, wishes, reasons and claims, or remark."""
