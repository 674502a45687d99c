"""Answers questions about a customer's shopping log from their English and the log alone.

A question is read in two steps. First the phrases that can stand in any question are cut out and what they say is
kept; then what is left must be, from its first word to its last, one of the wordings of a kind of question. A question
of which anything has not been understood, or of which the answer has made no use of something said, has no answer.
"""

from pandas import DataFrame

from . import kinds_counts, kinds_days, kinds_money, kinds_names, kinds_time
from .kinds import KINDS, Case, UnclearError
from .log import Log, rows
from .reading import read

SUBJECTS = (kinds_counts, kinds_days, kinds_money, kinds_names, kinds_time)  # each enters its wordings in KINDS


def answer(question: str, log: Log) -> str | None:
    """The answer that a log gives to a question, or None where the question is not understood."""
    reading = read(question, log)
    if reading.timed > 1:
        return None
    answers: set[str] = set()
    for pattern, kind in KINDS:
        if found := pattern.fullmatch(reading.text):
            case = Case(reading, log, found.groupdict())
            try:
                answers.add(kind(case))
            except UnclearError:
                return None
            if case.unused():
                return None
    return answers.pop() if len(answers) == 1 else None


def solve(question: str, events: DataFrame) -> str | None:
    """The answer that a table of events gives to a question, or None where the question is not understood."""
    return answer(question, Log(rows(events)))
