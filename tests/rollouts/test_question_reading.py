"""The expert of questions is told the words of a question, and works from what it reads in them."""

from random import Random

import pytest

from shopwright.pipeline.questions.tree import Count, Pick, tree_to_json
from shopwright.pipeline.rollouts.baselines import NOT_UNDERSTOOD, play_reader
from shopwright.pipeline.rollouts.conversation import AnsweredQuestion
from shopwright.pipeline.rollouts.question_reading import read_question
from shopwright.pipeline.sandbox.data_loader import query_trajectory_events
from tests.rollouts.sandboxed import Blocks, play_rollout

NONSENSE = {
    "tree": tree_to_json(Count(of=Pick(action="purchase", brand="Nobody's"))),
    "answer": "nonsense",
    "result": '"nonsense"',
    "answer_type": "text",
    "sql": "SELECT 1",
    "evidence": [],
}


class EventsAlone:
    """As much of a sandbox as the reading of a question needs."""

    def __init__(self, table):
        self.table = table

    def events(self, id):
        return self.table


@pytest.fixture(scope="module")
def asked(small):
    """The small run's questions, each with the events of its trajectory."""
    folder = small.folder / "trajectories"
    questions = list(small.read("questions"))
    tables = {id: query_trajectory_events(folder, id) for id in {each.trajectory_id for each in questions}}
    return [(each, tables[each.trajectory_id]) for each in questions]


def play(question, table):
    reader = play_reader(AnsweredQuestion(question, EventsAlone(table)), Random(0))
    return play_rollout(reader, Blocks(table))[0]


def test_its_code_and_answer_do_not_depend_on_the_tree_answer_and_evidence_that_the_row_holds(asked):
    for question, table in asked[:12]:
        assert play(question.model_copy(update=NONSENSE), table) == play(question, table), question.question


def test_its_code_follows_other_words(asked):
    question, table = asked[0]
    other = question.model_copy(update={"question": "How much money did I spend from 3 May 2024 on?"})
    assert "price" in play(other, table)[-2]
    assert play(other, table) != play(question, table)


def test_every_question_of_a_run_is_read_without_its_answer(asked):
    for question, table in asked:
        read = read_question(question, table)
        assert read is not None, question.question
        assert (read.answer, read.sql, read.evidence) == ("", "", [])


def test_words_that_it_cannot_read_get_no_answer(asked):
    question, table = asked[0]
    unread = question.model_copy(update={"question": "Colorless green ideas, how furiously do they sleep?"})
    assert next(play_reader(AnsweredQuestion(unread, EventsAlone(table)), Random(0))) == NOT_UNDERSTOOD
    assert "\\boxed" not in NOT_UNDERSTOOD
