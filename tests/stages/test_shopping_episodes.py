"""An episode is what its actions bring about; the expert plays it by what it sees, and errors are named where it fails."""

import copy
from operator import itemgetter

import pytest

from shopwright.pipeline.checks import shopping as check
from shopwright.pipeline.checks.shopping import shop_of, text_contains_value
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.play import list_scenarios
from shopwright.pipeline.shopping.players import PLAYERS
from shopwright.pipeline.stages import all_stages
from tests.models.server import Plan, Server

STAGE = all_stages()["shopping_episodes"]
UNSEEN = "it uses what it has not seen"
AGAIN = "played again it is another episode"


@pytest.fixture
def row(rows):
    return copy.deepcopy(next(row for row in rows if row["scenario"] == "multi" and row["typed"]["same_product"]))


def test_the_expert_plays_every_task_in_both_its_scenarios(small, rows):
    wanted = [(task.id, scenario) for task in small.read("shopping_tasks") for scenario in list_scenarios(task)]
    assert [(row["task_id"], row["scenario"]) for row in rows] == wanted
    assert small.read("shopping_episodes").manifest.rejected == 0
    assert {row["policy"] for row in rows} == {"expert"}
    assert sum(row["typed"]["success"] for row in rows) >= 0.8 * len(rows)
    for row in rows:
        if row["typed"]["success"]:
            assert row["typed"]["loose"] == row["typed"]["strict"] == 1
            assert row["errors"] == []
            assert not any(step["fault"] for step in row["steps"])


def test_a_success_can_be_trained_on_and_nothing_else(rows):
    for row in rows:
        assert bool(row["messages"]) == row["typed"]["success"]
    for row in filter(itemgetter("messages"), rows):
        roles = [message["role"] for message in row["messages"]]
        assert roles[:2] == ["system", "user"]
        assert roles[2:] == ["assistant", "user"] * (len(row["steps"]) - 1) + ["assistant"]


def test_no_message_to_the_agent_holds_what_only_the_judge_knows(small, rows):
    tasks = {task.id: task for task in small.read("shopping_tasks")}
    for row in rows:
        if not row["messages"]:
            continue
        task, first = tasks[row["task_id"]], row["messages"][1]["content"]
        if row["scenario"].startswith("multi"):
            # What the profile carries stands there plainly, and in no word of the shopper's.
            told = set(task.opening_facts)
            stated = [need.said for need in task.needs if need.known == "stated" and need.fact not in told]
            request = first.partition("\nProfile:")[0]
            assert not any(text_contains_value(said, request) for said in stated)
            silent = [need.said for need in task.needs if need.fact not in told]
            assert not any(text_contains_value(said, row["opening"]) for said in silent)
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
        (lambda row: row | {"typed": row["typed"] | {"success": False}}, AGAIN),
        (lambda row: row | {"errors": [{"area": "ask", "name": "asked after farewell", "step": 0}]}, AGAIN),
        (lambda row: row | {"messages": []}, AGAIN),
    ],
)
def test_a_changed_row_is_found_and_the_reason_told(find_row_reasons, row, change, reason):
    assert find_row_reasons(row) == set()
    assert reason in find_row_reasons(change(row))


def test_a_page_or_a_word_that_was_not_there_is_found(find_row_reasons, row):
    row["steps"][0]["observation"] += " And it is free."
    assert find_row_reasons(row) == {AGAIN}


def test_what_the_expert_has_not_seen_and_uses_is_found(find_row_reasons, row):
    search = next(place for place, step in enumerate(row["steps"]) if step["action"].startswith("search["))
    for action in ("search[Ghostbrand 77 oz]", "click[b0nowhere00]"):
        row["steps"][search]["action"] = action
        assert any(reason.startswith(UNSEEN) for reason in find_row_reasons(row))
    row["policy"] = "openai:small"
    assert not any(reason.startswith(UNSEEN) for reason in find_row_reasons(row))


def test_a_task_that_the_solver_cannot_solve_is_found(find_row_reasons, row, monkeypatch):
    monkeypatch.setattr(check, "play_solver", PLAYERS["nothing"])
    assert find_row_reasons(row) == {"the solver does not succeed"}


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
        assert {"area": "click", "name": "nonexistent button", "step": 0} in row["errors"]
        assert row["messages"] == []


def test_where_no_prompt_is_answered_no_episode_ships(copy):
    with Server(Plan({"400": 1.0}, times=1_000)) as server:
        run = Run(copy.folder, workers=1, models=Models(roles={"agent": f"openai:small@{server.url}"}))
        made = run.build("shopping_episodes", rebuild=True, scenarios="multi")
        assert server.count == made.rejected
    assert not made.rows


def test_two_shared_nodes_of_the_catalogs_path_and_another_type_are_found(find_row_reasons, row):
    row["literal"] |= {"type": 0.5}
    assert "two shared category nodes and another type" in find_row_reasons(row)


def test_a_product_has_the_whole_path_of_the_catalog(small):
    store = small.read("catalog").once(shop_of).store
    paths = {product.id: tuple(product.category_path) for product in small.read("catalog")}
    assert max(map(len, paths.values())) > 2
    assert [store.item(row).path for row in range(len(store))] == [
        paths[store.ids[row].as_py()] for row in range(len(store))
    ]
