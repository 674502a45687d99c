"""An episode's row is what its actions bring about, whoever played it."""

import copy
import json
import shutil

import pytest

from shopwright.pipeline.envs.base import dump_compact_json
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from tests.models.server import Plan, Server

STAGE = all_stages()["env_episodes"]
SMALL = {"products": 2_400, "tokens": "64k", "levels": "0,6", "personas.count": 12, "env_tasks.count": 2}
RESULTS = "other results when played again"
WORDS = "the shopper says something else when played again"
REWARD = "another reward when played again"


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("episodes"), seed=5, workers=1)
    found.build("env_episodes", **SMALL)
    return found


@pytest.fixture
def episode(rows):
    """Of several turns, in which the shopper said something."""
    return copy.deepcopy(next(row for row in rows if len(row["turns"]) > 2 and any(t["user"] for t in row["turns"])))


def test_the_expert_plays_every_task_and_what_it_fails_is_kept_with_its_reason(run, rows):
    assert run.read("env_episodes").manifest.rejected == 0
    assert [row["task_id"] for row in rows] == [task.id for task in run.read("env_tasks")]
    assert all(row["policy"] == "expert" for row in rows)
    assert sum(row["reward"]["success"] for row in rows) >= 0.6 * len(rows)
    assert all(row["reward"]["success"] or row["reward"]["fault"] for row in rows)


def use_unseen(row, **facts):
    """With an id, a brand, a limit or a word that nothing showed, in its first call."""
    call = {"name": "catalog_search", "args": {"query": "", **facts}}
    row["turns"][0]["action"] = dump_compact_json({"tool_calls": [call]})
    return row


@pytest.mark.parametrize(
    ("facts", "value"),
    [
        ({"query": "zzyzx"}, "word 'zzyzx'"),
        ({"brand": "Ghostbrand"}, "text 'Ghostbrand'"),
        ({"category": "Ghost Lamps"}, "text 'Ghost Lamps'"),
        ({"max_price": 7_654.32}, "number '7654.32'"),
    ],
)
def test_an_expert_that_uses_what_it_did_not_see_is_rejected(find_reasons, episode, facts, value):
    (reasons,) = find_reasons(use_unseen(episode, **facts))
    assert f"it uses what it has not seen: turn 1: {value}" in reasons


def test_each_step_of_the_expert_says_why(rows):
    for row in rows:
        for turn in row["turns"]:
            action = json.loads(turn["action"])
            assert len(action["thoughts"]) == len(action.get("tool_calls", [])) or action.get("answer") is not None
            assert all(action["thoughts"])


def test_every_call_and_what_it_returned_is_kept(rows):
    for row in rows:
        for turn in row["turns"]:
            action = json.loads(turn["action"])
            assert len(action.get("tool_calls", [])) == len(json.loads(turn["results"]))


def changed(row, place, **facts):
    row["turns"][place] |= facts
    return row


def find_spoken_turn(row):
    """The place of the turn to which the shopper said something."""
    return next(place for place, turn in enumerate(row["turns"]) if turn["user"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row | {"task_id": "none"}, "an unknown task"),
        (lambda row: row | {"opening": "Hi."}, "its task is another one"),
        (lambda row: row | {"difficulty": 1}, "its task is another one"),
        (lambda row: changed(row, 0, results="[]"), RESULTS),
        (lambda row: changed(row, 0, action="{}"), RESULTS),
        (lambda row: changed(row, find_spoken_turn(row), user="I want 17 red ones."), WORDS),
        (lambda row: changed(row, find_spoken_turn(row), user=""), WORDS),
        (lambda row: changed(row, 0, user_act="give up"), WORDS),
        (lambda row: row | {"turns": row["turns"][:-1]}, "it ends elsewhere when played again"),
        (lambda row: row | {"turns": row["turns"] + row["turns"][-1:]}, "it ends elsewhere when played again"),
        (lambda row: row | {"turns": []}, "an episode without a turn"),
        (lambda row: row | {"reward": row["reward"] | {"total": 0.5}}, REWARD),
        (lambda row: row | {"reward": row["reward"] | {"success": False}}, REWARD),
        (lambda row: row | {"reward": row["reward"] | {"fault": "none"}}, REWARD),
        (lambda row: row | {"reward": row["reward"] | {"task": 0.25}}, REWARD),
    ],
)
def test_an_episode_of_which_one_thing_is_wrong_is_rejected(find_reasons, episode, change, reason):
    assert find_reasons(episode) == [set()]
    assert reason in find_reasons(change(episode))[0]


def test_a_shopper_that_says_something_wrong_is_found(find_reasons, episode):
    said = changed(episode, find_spoken_turn(episode), user="And it must not cost more than $4,321.")
    assert any(each.startswith("the shopper says something wrong: turn ") for each in find_reasons(said)[0])


def test_a_model_plays_only_where_there_is_one(run):
    with pytest.raises(Problem, match="needs a model for the agent"):
        Run(run.folder, workers=1).build("env_episodes", rebuild=True, played_by="model")


def replies(run, *, wrong):
    """A server that plays as the solver does, but for every third task, and that repeats the shopper's words."""
    solutions = {task.opening: json.loads(task.solution) for task in run.read("env_tasks")}
    openings = list(solutions)

    def says(body):
        heard = json.loads(body["messages"][1]["content"])
        if "plain words" in heard:
            return {"content": json.dumps({"words": heard["plain words"] + (" I want 9999 of them." if wrong else "")})}
        actions = solutions[heard["shopper"]]
        number = (len(body["messages"]) - 2) // 2
        if openings.index(heard["shopper"]) % 3 == 2:
            return {"content": "I do not know."}
        return {"content": dump_compact_json(actions[number])}

    return Plan(says=says)


@pytest.mark.parametrize("wrong", [pytest.param(False, marks=pytest.mark.slow), True])
def test_both_play_each_task_and_models_speak_for_both_sides(run, tmp_path, wrong):
    """Words of a model's that say something else are not used."""
    other = Run(shutil.copytree(run.folder, tmp_path / "run"), workers=1)
    with Server(replies(other, wrong=wrong)) as server:
        other.models = Models(model=f"openai:toy@{server.url}")
        manifest = other.build("env_episodes", rebuild=True, played_by="both")
    assert manifest.rejected == 0, manifest.rejects
    rows = other.read("env_episodes").table().to_pylist()
    assert [row["policy"] for row in rows] == ["expert", "openai:toy"] * (len(rows) // 2)
    assert len(rows) == 2 * len(other.read("env_tasks")) == manifest.requested
    theirs = [row["reward"] for row in rows if row["policy"] != "expert"]
    assert [reward["success"] for reward in theirs] == [number % 3 != 2 for number in range(len(theirs))]
    assert all(reward["total"] == -1 for reward in theirs[2::3])
    words = " ".join(turn["user"] for row in rows for turn in row["turns"])
    assert words
    assert "9999" not in words
