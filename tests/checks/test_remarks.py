"""A thought that is no remark on its question is found, however it came there."""

import re

import pytest

from shopwright.pipeline.checks.remarks import QuestionRemarks, find_unread_remark
from shopwright.pipeline.checks.thoughts import split_thoughts
from shopwright.pipeline.questions.engines import TrajectoryReader
from shopwright.pipeline.reading.thoughts import Reading
from shopwright.schemas.rollouts import Message


@pytest.fixture(scope="module")
def read_rollouts(small):
    """Each rollout with its question and its events."""
    reader = small.read("trajectories").once(TrajectoryReader)
    questions = {each.id: each for each in small.read("questions")}
    rows = list(small.read("rollouts"))
    return [(row, questions[row.question_id], reader.events(row.trajectory_id)) for row in rows]


def change_thought(row, place, change):
    messages, at = list(row.messages), 2 + 2 * place
    thought = split_thoughts(row)[place]
    content = messages[at].content.replace(thought, change(thought), 1)
    messages[at] = Message(role="assistant", content=content)
    return row.model_copy(update={"messages": messages})


def count_found(read_rollouts, change):
    """Of the rollouts in which a thought can be changed so: how many there are, and in how many it is found."""
    tried = found = 0
    for row, question, events in read_rollouts:
        for place, thought in enumerate(split_thoughts(row)):
            if change(thought) != thought:
                tried += 1
                found += find_unread_remark(change_thought(row, place, change), question, events) is not None
                break
    return tried, found


def test_every_thought_of_the_teacher_is_a_remark_on_its_question(read_rollouts):
    assert [fault for row in read_rollouts if (fault := find_unread_remark(*row))] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda thought: f"{thought} I like cake.",
        lambda thought: f"{thought} The query gives the number of clowns.",
        lambda thought: re.sub(
            r"\b(?:earliest|smallest|largest|lowest|highest|longest|shortest|most)\b", "latest", thought
        ),
        lambda thought: re.sub(r"\bfirst\b", "last", thought),
        lambda thought: re.sub(r"\b(?:both|all)\b", "none", thought),
        lambda thought: re.sub(r" (?:not|no|never)\b", "", thought, count=1),
        lambda thought: re.sub(r"\bpurchase(s?)\b", r"search\1", thought),
        lambda thought: re.sub(r"\bclick(s?)\b", r"purchase\1", thought),
    ],
)
def test_a_thought_that_says_something_else_is_found(read_rollouts, change):
    tried, found = count_found(read_rollouts, change)
    assert tried == found > 0


def test_a_remark_on_another_question_is_found(read_rollouts):
    tried = 0
    for row, question, events in read_rollouts:
        minded = QuestionRemarks(question, row.answer).minded
        if "mind weekend" in minded:
            continue
        tried += 1
        wrong = change_thought(row, 0, lambda thought: f"{thought} Weekend means Saturday and Sunday by the timestamp.")
        assert "no remark on this question" in find_unread_remark(wrong, question, events)
    assert tried


def test_what_is_asked_for_has_to_be_what_the_question_asks_for(read_rollouts):
    row, question, events = next(
        each for each in read_rollouts if each[1].kind != "ratio" and split_thoughts(each[0])[0]
    )
    other = change_thought(row, 0, lambda thought: "A query on `events` gives the longest pause.")
    goal = QuestionRemarks(question, row.answer).goal.meaning
    assert (find_unread_remark(other, question, events) is None) == (goal == "goal pause length")


def test_who_says_none_has_none_as_the_answer(read_rollouts):
    _, question, _ = read_rollouts[0]
    said = Reading("say none", ())
    assert QuestionRemarks(question, "none").fits(said)
    assert not QuestionRemarks(question, "7").fits(said)
