"""A request that a real server never answers: nothing is made of it, its row says why, it is asked for again, and no score falls."""

import json
from contextlib import suppress

import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.evaluate import EnvTasks, tabulate_env_scores
from shopwright.pipeline.evaluate.progress import collect_answered
from shopwright.pipeline.evaluate.situation import evaluate, play_through
from shopwright.pipeline.models.base import Reply, UnansweredRequest
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.models.valid_replies import catch_unanswered, reject_if_unanswered
from shopwright.pipeline.run import Run
from shopwright.schemas.record import Rejected
from tests.models.asking import described
from tests.models.server import ALWAYS, Plan, Server

ENV, LEVEL, COUNT = "order_tracking", 0, 24
NEVER = {"times": ALWAYS, "retry_after": "0"}


@pytest.fixture(scope="module")
def shop():
    return gym.world()


@pytest.fixture(scope="module")
def says(shop):
    """What an agent says that solves every task."""
    known = {}
    for seed in range(COUNT):
        episode = Episode(get_env(ENV), shop, draw_task(get_env(ENV), shop, LEVEL, seed))
        play_episode(episode, play_solution)
        talk = begun(shop, seed)
        asked = next(talk)
        for turn in episode.turns:
            known[json.dumps(asked.messages)] = turn.action
            with suppress(StopIteration):
                asked = talk.send(Reply(turn.action))

    def said(body):
        return {"content": known[json.dumps(body["messages"])]}

    return said


def begun(shop, seed=0):
    return play_through(Episode(get_env(ENV), shop, draw_task(get_env(ENV), shop, LEVEL, seed)), policy="toy")


def evaluate_in_envs(shop, agent, episodes):
    tasks = EnvTasks(shop, [ENV], [LEVEL], range(episodes))
    return tasks.scores(evaluate(tasks, agent).rows)


def role_of(server, folder):
    return Role("agent", Models(model=f"openai:toy@{server.url}"), folder)


def test_a_conversation_that_nobody_answers_ends_the_work_or_becomes_a_row(shop, tmp_path):
    with Server(Plan({"500": 1}, **NEVER)) as server:
        agent = role_of(server, tmp_path)
        with pytest.raises(UnansweredRequest, match="HTTP 500, 8 times"):
            list(agent.play([begun(shop)]))
        (row,) = agent.play([reject_if_unanswered("a row", {"task_id": "a task"}, begun(shop))])
        (why,) = agent.play([catch_unanswered(begun(shop))])
    assert row == Rejected(id="a row", reasons=["unanswered: HTTP 500, 8 times"], record='{"task_id": "a task"}')
    assert isinstance(why, UnansweredRequest)


def test_rows_that_nobody_answered_are_asked_for_again_and_no_others(tmp_path):
    with Server(Plan({"500": 0.3}, says=described, **NEVER)) as server:
        run = Run(tmp_path, seed=1, workers=1, models=Models(model=f"openai:toy@{server.url}"))
        made = run.build("personas", products=240, count=30)
        assert made.rejects == {"unanswered: description: HTTP 500, 8 times": made.rejected}
        assert made.rejected == 30 - made.rows > 2
        server.plan, before = Plan(says=described), server.count
        again = run.build("personas")
        assert (again.rows, again.rejects) == (30, {})
        assert server.count - before == made.rejected
        assert run.build("personas") == again


@pytest.mark.slow
def test_what_was_not_answered_is_no_low_score(shop, says, tmp_path):
    with Server(Plan({"500": 0.2}, says=says, **NEVER)) as server:
        (row,) = evaluate_in_envs(shop, role_of(server, tmp_path), COUNT)
    assert row.asked == COUNT
    assert 0 < row.episodes < COUNT
    assert (row.success, row.illegal) == (1.0, 0.0)
    assert f"{row.episodes} of {COUNT}" in str(tabulate_env_scores([row]))


def test_where_nothing_was_answered_there_is_no_score(shop, tmp_path):
    with (
        Server(Plan({"500": 1}, **NEVER)) as server,
        pytest.raises(UnansweredRequest, match="run the same command again"),
    ):
        evaluate_in_envs(shop, role_of(server, tmp_path), 3)


def test_figures_are_of_what_was_answered_and_both_are_told():
    lines = []
    found = collect_answered([1, UnansweredRequest("HTTP 500, 8 times"), 2], 3, lines.append, "tries")
    assert (found.rows, found.asked) == ([1, 2], 3)
    assert str(found) == "answered   2 of 3"
    assert lines[-1].startswith("tries: 3 of 3, 1 not answered")
    with pytest.raises(UnansweredRequest):
        collect_answered([UnansweredRequest("HTTP 500, 8 times")], 1, lines.append, "tries")
