"""A prompt to learn on holds the truth, never a way to it, and pass rates that were measured."""

import copy

import pytest

from shopwright.pipeline.models.role import Models
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from tests.models.server import Plan, Server

STAGE = all_stages()["rl_prompts"]


@pytest.fixture
def row(rows):
    return copy.deepcopy(rows[0])


def test_there_is_one_for_each_question_to_learn_on(small, rows):
    asked = {question.id: question for question in small.read("questions") if question.split == "rl"}
    assert [row["question_id"] for row in rows] == list(asked)
    assert all(row["ground_truth"] == asked[row["question_id"]].answer for row in rows)


def test_no_prompt_holds_its_truth_or_its_query(small, rows):
    known = {question.id: question for question in small.read("questions")}
    for row in rows:
        prompt = "".join(message["content"] for message in row["prompt"])
        assert known[row["question_id"]].sql not in prompt
        assert row["question"] in row["prompt"][1]["content"] or '"' in row["question"]
        assert [message["role"] for message in row["prompt"]] == ["system", "user"]


def test_the_system_message_is_the_same_for_all(rows):
    assert len({row["prompt"][0]["content"] for row in rows}) == 1


def test_the_teacher_is_always_right_and_guessing_seldom(rows):
    rates = [{each["policy"]: each["right"] / each["tries"] for each in row["pass_rates"]} for row in rows]
    assert all(list(each) == ["scripted", "random", "majority"] for each in rates)
    assert all(each["scripted"] == 1 for each in rates)
    assert sum(each["majority"] for each in rates) < 0.35 * len(rates)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row | {"question_id": "no-such-question"}, "a question that is not there"),
        (lambda row: row | {"ground_truth": "something else"}, "the row and its question differ"),
        (
            lambda row: row | {"difficulty": "hard" if row["difficulty"] != "hard" else "easy"},
            "the row and its question differ",
        ),
        (lambda row: row | {"prompt": row["prompt"][::-1]}, "not the prompt of an agent"),
        (
            lambda row: row | {"pass_rates": [{"policy": "scripted", "tries": 1, "right": 0}]},
            "tried again, scripted is right another number of times",
        ),
        (
            lambda row: row | {"pass_rates": [{"policy": "random", "tries": 3, "right": 3}]},
            "tried again, random is right another number of times",
        ),
        (
            lambda row: row | {"pass_rates": [{"policy": "a model", "tries": 2, "right": 3}]},
            "pass rates that cannot be",
        ),
        (lambda row: row | {"pass_rates": [{"policy": "a", "tries": 2, "right": 1}] * 2}, "pass rates that cannot be"),
    ],
)
def test_a_changed_row_is_found_and_the_reason_told(find_row_reasons, row, change, reason):
    assert find_row_reasons(row) == set()
    assert reason in find_row_reasons(change(row))


def test_a_model_is_tried_and_its_rate_kept(copy, rows):
    truth = {row["prompt"][1]["content"]: row["ground_truth"] for row in rows}
    hard = rows[1]["prompt"][1]["content"]

    def says(body):
        asked = body["messages"][1]["content"]
        right = body["seed"] % 2 == 0 and asked != hard
        return {"content": rf"\boxed{{{truth[asked] if right else 'no idea'}}}"}

    with Server(Plan(says=says)) as server:
        models = Models(roles={"agent": f"openai:small@{server.url}"})
        Run(copy.folder, workers=1, models=models).build("rl_prompts", rebuild=True, tries=2)
    for row in copy.read("rl_prompts").table().to_pylist():
        right = int(row["prompt"][1]["content"] != hard)
        assert row["pass_rates"][-1] == {"policy": "openai:small", "tries": 2, "right": right}
