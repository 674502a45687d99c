"""An episode is what its actions bring about; the solver succeeds in every scenario, and errors are named for all others."""

import copy

import pytest

from pipeline.arrow import to_batch
from pipeline.checks.shopping import shop_of
from pipeline.models.role import Models
from pipeline.run import Run
from pipeline.shopping.play import Play, scenarios_of
from pipeline.shopping.wording import leaves
from pipeline.stage import reasons_against
from pipeline.stages import all_stages
from schemas.shopping import ShoppingEpisode
from tests.models.server import Plan, Server

STAGE = all_stages()["shopping_episodes"]
AGAIN = "played again it is another episode"


@pytest.fixture(scope="module")
def rows(small):
    return small.read("shopping_episodes").table().to_pylist()


@pytest.fixture(scope="module")
def told(small):
    have = {name: small.read(name) for name in STAGE.reads}
    return lambda row: set(reasons_against(STAGE, to_batch(ShoppingEpisode, [row]), have)[0])


@pytest.fixture
def row(rows):
    return copy.deepcopy(next(row for row in rows if row["scenario"] == "multi"))


def test_the_solver_succeeds_at_every_task_in_both_its_scenarios(small, rows):
    wanted = [(task.id, scenario) for task in small.read("shopping_tasks") for scenario in scenarios_of(task)]
    assert [(row["task_id"], row["scenario"]) for row in rows] == wanted
    assert small.read("shopping_episodes").manifest.rejected == 0
    for row in rows:
        for match in (row["typed"], row["literal"]):
            assert match["success"]
            assert match["same_product"]
            assert match["loose"] == match["strict"] == 1
        assert row["blunders"] == []
        assert not any(step["fault"] for step in row["steps"])


def test_a_success_can_be_trained_on(rows):
    for row in rows:
        roles = [message["role"] for message in row["messages"]]
        assert roles[:2] == ["system", "user"]
        assert roles[2:] == ["assistant", "user"] * (len(row["steps"]) - 1) + ["assistant"]


def test_no_message_to_the_agent_holds_what_only_the_judge_knows(small, rows):
    tasks = {task.id: task for task in small.read("shopping_tasks")}
    for row in rows:
        task, first = tasks[row["task_id"]], row["messages"][1]["content"]
        if row["scenario"].startswith("multi"):
            assert not any(need.said in first for need in task.needs)
        assert task.product_id.lower() not in first.lower()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row | {"task_id": "no-such-task"}, "a task that is not there"),
        (lambda row: row | {"scenario": "multi personal"}, "a scenario that its task is not for"),
        (lambda row: row | {"steps": row["steps"][:-1]}, "it does not end"),
        (lambda row: row | {"steps": [*row["steps"], row["steps"][0]]}, "actions after its end"),
        (lambda row: row | {"bought_variant": "another"}, AGAIN),
        (lambda row: row | {"typed": row["typed"] | {"loose": 0.5}}, AGAIN),
        (lambda row: row | {"typed": row["typed"] | {"loose": 0.5}}, "a strict reward above the loose one"),
        (lambda row: row | {"typed": row["typed"] | {"success": False}}, "the solver does not succeed"),
        (lambda row: row | {"blunders": [{"area": "ask", "name": "asked after farewell", "step": 0}]}, AGAIN),
        (lambda row: row | {"messages": []}, AGAIN),
    ],
)
def test_a_changed_row_is_found_and_the_reason_told(told, row, change, reason):
    assert told(row) == set()
    assert reason in told(change(row))


def test_a_page_or_a_word_that_was_not_there_is_found(told, row):
    row["steps"][0]["observation"] += " And it is free."
    assert told(row) == {AGAIN}


def test_a_models_nonsense_is_played_to_its_end_and_its_errors_are_named(copy):
    with Server(Plan(says=lambda body: {"content": "Thought: hm\nAction: click[no such thing]"})) as server:
        run = Run(copy.folder, workers=1, models=Models(roles={"agent": f"openai:small@{server.url}"}))
        made = run.build("shopping_episodes", rebuild=True, scenarios="single")
    found = copy.read("shopping_episodes").table().to_pylist()
    assert made.rejected == 0
    assert {row["policy"] for row in found} == {"openai:small"}
    for row in found:
        assert len(row["steps"]) == 30
        assert row["typed"]["fault"] == "nothing was bought"
        assert {"area": "click", "name": "nonexistent button", "step": 0} in row["blunders"]
        assert row["messages"] == []


def test_where_no_prompt_is_answered_the_episode_ends_and_says_why(copy):
    with Server(Plan({"400": 1.0}, times=1_000)) as server:
        run = Run(copy.folder, workers=1, models=Models(roles={"agent": f"openai:small@{server.url}"}))
        made = run.build("shopping_episodes", rebuild=True, scenarios="multi")
        assert server.count == made.rows
    for row in copy.read("shopping_episodes").table().to_pylist():
        (step,) = row["steps"]
        assert step["fault"].startswith("no reply: HTTP 400")
        assert not row["typed"]["success"]


def test_in_chinese_the_profile_calls_categories_and_colors_so(small):
    task = next(task for task in small.read("shopping_tasks") if task.profile_id)
    profile = next(each for each in small.read("profiles") if each.id == task.profile_id)
    play = Play(shop_of(small.read("catalog")), task.model_copy(update={"language": "zh"}), "single personal", profile)
    first = play.prompt[1]["content"]
    liked = profile.interests.categories[0].name
    assert liked not in first
    assert leaves()[liked]["zh"] in first
