"""Ways to say a meaning, each proved by being read back: the phrase bank as rows."""

from datetime import date
from typing import Literal

from shopwright.schemas.record import Record

Register = Literal["plain", "terse", "chatty", "polite", "hurried", "elderly", "teenager", "non-native"]
Use = Literal["train", "test", "test_wording"]


class Phrase(Record):
    """A way to say a meaning, with slots for facts."""

    family: Literal["questions"]
    """The texts that draw from it."""
    meaning: str
    """What it says: the shape, with what else decides how it is asked (`repeat_brands/counted`)."""
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
    example_of: str
    """The trajectory whose facts those are."""
    asked_on: date
    proof: str
    """What a parser that shares nothing with the writer reads in the example, as JSON: the tree of a question."""
