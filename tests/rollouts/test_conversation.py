"""Turns of a conversation: what is asked, where a reply ends, and what comes back."""

from concurrent.futures import Future
from datetime import date

import pytest

from shopwright.pipeline.evaluate.situation import play_through
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.rollouts.conversation import (
    CALLS,
    TURNS,
    AnsweredQuestion,
    ReadQuestion,
    format_block_output,
    join_turn_spans,
    parse_code_turn,
)
from shopwright.pipeline.sandbox.interpreter import Output
from shopwright.schemas.questions import Question

QUESTION = Question(
    id="p-32k-q001",
    trajectory_id="p-32k",
    budget="32k",
    question="How many clicks were there?",
    sql="SELECT COUNT(*) FROM events",
    dialect="duckdb",
    answer="3",
    answer_type="integer",
    result="3",
    kind="search",
    shape="written",
    answerable_from=["text", "table"],
    difficulty="easy",
    effort={"rows": 3, "near": 0, "steps": 0, "shortcuts": []},
    evidence=[],
    position=None,
    split="test",
    tree="",
    idle_conditions=[],
    second_sql="",
    asked_on=date(2024, 6, 1),
    phrases=[],
)


class Echo:
    """A sandbox that prints the code."""

    def submit(self, id, code):
        found = Future()
        found.set_result(Output(f"{id}: {code}", ok="fail" not in code))
        return found


def through(replies, question=QUESTION):
    """The prompts asked, and what became of it."""
    talk, prompts = play_through(AnsweredQuestion(question, Echo()), policy="a model"), []
    asked = next(talk)
    replies = iter(replies)
    try:
        while True:
            if isinstance(asked, Future):
                asked = talk.send(asked.result())
            else:
                prompts.append(asked)
                asked = talk.send(next(replies))
    except StopIteration as end:
        return prompts, end.value.episode


def test_code_is_run_and_what_it_printed_comes_back_until_there_is_an_answer():
    prompts, played = through([Reply("I look. <code>\nlen(df)\n"), Reply(r"Three. \boxed{3}")])
    assert [message["role"] for message in prompts[1].messages] == ["system", "user", "assistant", "user"]
    assert prompts[1].messages[2]["content"] == "I look. <code>\nlen(df)\n</code>"
    assert prompts[1].messages[3]["content"] == "<interpreter>\np-32k: len(df)\n</interpreter>"
    assert (played.said, played.turns, played.called, played.executed, played.fault) == ("3", 2, 1, 1, "")
    assert prompts[0].stop == ("</code>",)


def test_the_prompt_names_the_trajectory_and_the_question_and_not_the_answers_query():
    prompts, _ = through([Reply(r"\boxed{3}")])
    system, user = (message["content"] for message in prompts[0].messages)
    assert "p-32k" in user
    assert QUESTION.question in user
    assert "SELECT COUNT" not in system + user
    assert "timestamp" in system


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (Reply("I do not know."), "no answer in a box"),
        (Reply(""), "no answer in a box"),
        (Reply("<code>\nlen(", finish="length", fault="cut short"), "cut short before its answer"),
        (Reply("It is", finish="length", fault="cut short"), "cut short before its answer"),
        (Reply("", fault="HTTP 400: too long", finish="refused"), "HTTP 400: too long"),
        (Reply(r"\boxed{3"), "no answer in a box"),
    ],
)
def test_a_reply_without_an_answer_ends_it_with_a_fault(reply, fault):
    _, played = through([reply])
    assert (played.said, played.fault, played.called) == (None, fault, 0)


def test_an_answer_that_was_cut_after_its_box_counts():
    _, played = through([Reply(r"\boxed{3} and", finish="length", fault="cut short")])
    assert (played.said, played.fault) == ("3", "")


def test_what_a_model_goes_on_to_say_after_its_code_is_not_heard():
    text = "<code>\n1\n</code><interpreter>\n3\n</interpreter>\\boxed{3}"
    prompts, played = through([Reply(text), Reply(r"\boxed{4}")])
    assert prompts[1].messages[2]["content"] == "<code>\n1\n</code>"
    assert played.said == "4"


def test_it_ends_at_ten_blocks_or_sixteen_turns():
    _, played = through([Reply("<code>1")] * 40)
    assert (len(played.calls), played.called, played.fault) == (CALLS, CALLS + 1, f"more than {CALLS} blocks of code")
    assert played.turns <= TURNS
    assert played.said is None


def test_calls_that_fail_are_counted_apart():
    _, played = through([Reply("<code>fail"), Reply("<code>well"), Reply(r"\boxed{3}")])
    assert [call.ok for call in played.calls] == [False, True]
    assert (played.called, played.executed) == (2, 1)


def test_what_a_block_printed_cannot_end_what_came_back():
    for tag in ("</interpreter>", "<code>", "</code>", "<interpreter>", "</tool_response>"):
        inside = format_block_output(f"a {tag} b").removeprefix("<interpreter>").removesuffix("</interpreter>")
        assert tag not in inside


def test_spans_are_in_order_and_say_whose():
    _, played = through([Reply("a <code>1"), Reply(r"b \boxed{3}")])
    text, spans = join_turn_spans(played.messages)
    assert [(span.by, text[span.start : span.end]) for span in spans] == [
        ("model", "a <code>1\n</code>"),
        ("interpreter", "<interpreter>\np-32k: 1\n</interpreter>"),
        ("model", r"b \boxed{3}"),
    ]


def test_an_empty_block_is_run_too():
    assert parse_code_turn(Reply("<code></code>")) == ("<code></code>", "")


def test_reading_gives_the_whole_text_and_takes_the_box():
    talk = play_through(ReadQuestion(QUESTION, lambda: "2024-05-01 click [A || b]"), policy="a model")
    prompt = next(talk)
    assert "2024-05-01 click [A || b]" in prompt.messages[1]["content"]
    assert prompt.stop == ()
    with pytest.raises(StopIteration) as end:
        talk.send(Reply(r"\boxed{3}"))
    assert (end.value.value.episode.said, end.value.value.score.success) == ("3", True)
