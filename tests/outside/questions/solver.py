"""Answers questions about a customer's shopping log from their English and the log alone.

A question is read in two steps. First what it names is marked: times, products, sets of products, numbers, limits and
remarks on form. Then each word that is left is a token that decides what is asked, a small word, or not understood; a
kind of question is known by its tokens. A question of which a word has not been understood, which could be of two kinds
with two answers, or of which the answer has made no use of something said, has no answer.
"""

from datetime import date

from pandas import DataFrame

from . import kinds_counts, kinds_days, kinds_money, kinds_names, kinds_time
from .kinds import Case, OtherKindError, UnclearError, kinds_of
from .log import Log, rows
from .reading import Reading, read
from .things import Namer

SUBJECTS = (kinds_counts, kinds_days, kinds_money, kinds_names, kinds_time)  # each enters its kinds


def answer(question: str, asked_on: date, namer: Namer) -> str | None:
    """The answer that a log gives to a question, or None where the question is not understood."""
    found = answer_reading(read(question, asked_on, namer), namer.log)
    # "the kettle" is a product where the log has one kettle, and the question makes no sense for a set of them
    return found or answer_reading(read(question, asked_on, namer, bare=True), namer.log)


def answer_reading(reading: Reading, log: Log) -> str | None:
    answers: set[str] = set()
    for kind in kinds_of(reading.tokens):
        case = Case(reading, log)
        try:
            found = kind(case)
        except OtherKindError:
            continue
        except UnclearError:
            return None
        if not case.unused():
            answers.add(found)
    return answers.pop() if len(answers) == 1 else None


def solve(question: str, asked_on: date, events: DataFrame) -> str | None:
    """The answer that a table of events gives to a question, or None where the question is not understood."""
    return answer(question, asked_on, Namer(Log(rows(events))))
