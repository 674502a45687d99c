"""A model plays an episode as a conversation, and what it earns comes with its uncertainty."""

import json

import pytest

from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import dump_compact_json
from shopwright.pipeline.envs.conversation import run_env_conversations
from shopwright.pipeline.envs.episode import (
    Episode,
    draw_task,
    parse_action,
    parse_agent_reply,
    play_episode,
    play_solution,
)
from shopwright.pipeline.envs.evaluate import EnvTasks, is_broken_off, make_episode_record, tabulate_env_scores
from shopwright.pipeline.evaluate.audit import audit
from shopwright.pipeline.evaluate.situation import evaluate, play_through
from shopwright.pipeline.evaluate.statistics import compute_wilson_interval, estimate_mean
from shopwright.pipeline.gym import world
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.models.role import Models, Role, run_offline
from shopwright.pipeline.problem import Problem
from tests.models.server import Plan, Server


@pytest.fixture(scope="module")
def shop():
    return world()


def episode(shop, name="cart_building", level=6, seed=3, **options):
    return Episode(get_env(name), shop, draw_task(get_env(name), shop, level, seed), **options)


def actions(found):
    """The solver's, as they were said."""
    play_episode(found, play_solution)
    return [dump_compact_json(parse_action(turn.action).model_dump(exclude_defaults=True)) for turn in found.turns]


def converse_in_episode(found, policy, player=None):
    """The episode as a model's conversation, and its row."""
    return make_episode_record((yield from play_through(found, player, policy)))


def evaluate_in_envs(shop, envs, levels, episodes, agent, **settings):
    """For each env and level how an agent did."""
    tasks = EnvTasks(shop, envs, levels, range(episodes), **settings)
    return tasks.scores(evaluate(tasks, agent).rows)


def say_all(said):
    """A player that says these, whatever it sees."""
    return lambda episode: (each for each in said)


def led(talk, replies):
    """The prompts of a conversation that is sent these replies, and what came of it."""
    prompts = [next(talk)]
    try:
        for reply in replies:
            prompts.append(talk.send(reply))
    except StopIteration as end:
        return prompts, end.value
    raise AssertionError("it goes on")


@pytest.mark.parametrize("name", ["cart_building", "policy_qa", "journey"])
def test_the_solvers_words_play_the_same_episode(shop, name):
    found = episode(shop, name)
    said = actions(found)
    wanted = found.reward, found.turns
    prompts, record = led(converse_in_episode(found, "toy"), [Reply(text) for text in said])
    assert (record.reward, [turn.results for turn in record.turns]) == (wanted[0], [turn.results for turn in wanted[1]])
    assert record.policy == "toy"
    assert record.opening == found.task.opening
    assert len(prompts) == len(said)


def test_a_prompt_tells_tools_and_opening_and_then_what_happened(shop):
    found = episode(shop)
    said = actions(found)
    prompts, record = led(converse_in_episode(found, "toy"), [Reply(text) for text in said])
    system, first = prompts[0].messages
    assert (system["role"], first["role"]) == ("system", "user")
    assert "catalog_search" in system["content"]
    assert "return_exchange" in system["content"]
    assert json.loads(first["content"])["shopper"] == found.task.opening
    for number, prompt in enumerate(prompts):
        assert prompt.messages[:2] == (system, first)  # the head never changes, so that servers keep it
        assert len(prompt.messages) == 2 + 2 * number
    assert [message["content"] for message in prompts[-1].messages[2::2]] == said[:-1]
    told = json.loads(prompts[1].messages[-1]["content"])
    assert told["results"] == json.loads(record.turns[0].results)


def test_no_prompt_holds_anything_of_the_goal(shop):
    for level in (3, 12):
        found = episode(shop, "product_discovery", level)
        prompts, _ = led(converse_in_episode(found, "toy"), [Reply('{"answer": {}}')])
        text = json.dumps(prompts[0].messages)
        assert found.task.goal not in text
        assert found.task.acceptable not in text
        assert "persona" not in text


def test_native_calls_are_understood_as_the_text_is(shop):
    found = episode(shop, native=True)
    said = actions(found)
    replies = []
    for text in said:
        action = json.loads(text)
        calls = tuple(
            {"name": each["name"], "arguments": each.get("args", {})} for each in action.get("tool_calls", ())
        )
        native = calls and "answer" not in action
        replies.append(Reply(action.get("assistant_message", ""), calls=calls) if native else Reply(text))
    prompts, record = led(converse_in_episode(found, "toy"), replies)
    assert record.reward == found.reward
    assert record.reward.success
    assert len(prompts[0].tools) == 19


@pytest.mark.parametrize(
    "reply",
    [
        Reply("I will look for it."),
        Reply("```json\n{}\n```"),
        Reply('{"tool_calls": [{"name": "no_such_tool"}]}'),
        Reply("", calls=({"name": "cart_view", "arguments": {"page": 1}},)),
        Reply("", calls=({"name": "cart_view", "arguments": ["a"]},)),
        Reply('{"assistant_message": "half', fault="the reply was cut short"),
    ],
    ids=["words", "a fence", "no such tool", "native and illegal", "native and no object", "cut short"],
)
def test_what_is_no_legal_action_ends_it_with_minus_one(shop, reply):
    _, record = led(converse_in_episode(episode(shop), "toy"), [reply])
    assert record.reward.total == -1
    assert is_broken_off(record.reward)
    assert len(record.turns) == 1


def test_a_silent_model_is_no_illegal_one(shop):
    _, record = led(converse_in_episode(episode(shop), "toy"), [Reply("{}")] * 2)
    assert record.reward.fault == "the shopper gave up"
    assert not is_broken_off(record.reward)


def test_offline_the_given_actions_are_said(shop):
    found = episode(shop, "journey", 4)
    said = actions(found)
    record = run_offline(converse_in_episode(found, "solver", say_all(said)))
    assert record.reward.success


def test_the_shoppers_words_may_be_a_models(shop):
    found = episode(shop, "cart_building", 9, 5)
    said = actions(found)
    plain = [turn.user for turn in found.turns]
    found = episode(shop, "cart_building", 9, 5, words=True)
    talk = converse_in_episode(found, "solver", say_all(said))
    prompts, texts = [], []
    try:
        prompt = next(talk)
        while True:
            prompts.append(prompt.name)
            heard = json.loads(prompt.messages[1]["content"])
            texts.append(heard["plain words"])
            prompt = talk.send(Reply(json.dumps({"words": heard["plain words"].replace("  ", " ")})))
    except StopIteration as end:
        record = end.value
    assert set(prompts) == {"shopper"}
    assert texts == [text for text in plain if text]
    assert record.reward == found.reward


# Two roles at once, with a real server


def test_agent_and_shopper_can_be_two_models(shop, tmp_path):
    tasks = [draw_task(get_env("order_tracking"), shop, 6, seed) for seed in range(6)]
    said = {task.opening: actions(Episode(get_env(task.env), shop, task)) for task in tasks}

    def says(body):
        if body["model"] == "shopper":
            heard = json.loads(body["messages"][1]["content"])
            return {"content": json.dumps({"words": heard["plain words"]})}
        opening = json.loads(body["messages"][1]["content"])["shopper"]
        return {"content": said[opening][(len(body["messages"]) - 2) // 2]}

    with Server(Plan(says=says)) as server:
        roles = {role: f"openai:{role}@{server.url}" for role in ("agent", "shopper")}
        models = Models(roles=roles)
        agent, shopper = (Role(name, models, tmp_path, name) for name in roles)
        episodes = [Episode(get_env(task.env), shop, task, words=True) for task in tasks]
        talk = [converse_in_episode(each, "agent") for each in episodes]
        found = list(run_env_conversations(talk, agent, shopper))
        names = {body["model"] for body in server.bodies}
    assert [each.task_id for each in found] == [task.id for task in tasks]
    assert all(each.reward.success for each in found)
    assert names == {"agent", "shopper"}


def test_a_model_is_evaluated_through_its_role(shop, tmp_path):
    with Server(Plan(says=lambda body: {"content": '{"answer": {"refusal": "not_found"}}'})) as server:
        role = Role("agent", Models(model=f"openai:toy@{server.url}"), tmp_path)
        rows = evaluate_in_envs(shop, ["order_tracking"], (0, 6), 20, role)
    assert [(row.env, row.level, row.episodes, row.policy) for row in rows] == [
        ("order_tracking", 0, 20, "openai:toy"),
        ("order_tracking", 6, 20, "openai:toy"),
    ]
    assert all(0 <= row.success < 0.4 for row in rows)
    assert all(row.turns == 1 and row.turns_margin == 0 for row in rows)


# Figures


def test_a_player_is_evaluated_on_the_tasks_of_the_audit(shop):
    rows = evaluate_in_envs(shop, ["policy_qa"], (1, 5), 30, "first-result")
    cells = audit([EnvTasks(shop, ["policy_qa"], (1, 5), range(30))], ["first-result"])
    rewards = [cell.parts["reward"] for cell in cells]
    assert [round(row.reward, 6) for row in rows] == pytest.approx(rewards, abs=2e-6)
    assert [row.success for row in rows] == [cell.success.share for cell in cells]


def test_the_parts_add_up_to_the_published_reward(shop):
    for row in evaluate_in_envs(shop, ["cart_building", "journey"], (2, 8), 20, "solver", rule="published"):
        assert row.success == row.task == 1
        assert row.reward == pytest.approx(0.75 * row.task + 0.15 * row.efficiency + 0.1 * row.hallucination)
        assert row.illegal == 0
        assert row.success_low < 1 == row.success_high


@pytest.mark.parametrize("successes", [0, 1, 15, 29, 30])
def test_wilsons_interval_holds_the_share_and_stays_within_0_and_1(successes):
    low, high = compute_wilson_interval(successes, 30)
    assert 0 <= low <= successes / 30 <= high <= 1
    assert high - low > 0.05


def test_more_episodes_make_an_interval_narrower():
    widths = [
        compute_wilson_interval(count // 2, count)[1] - compute_wilson_interval(count // 2, count)[0]
        for count in (10, 100, 1_000)
    ]
    assert widths == sorted(widths, reverse=True)
    margins = [estimate_mean([0.0, 1.0] * count)[1] for count in (5, 50, 500)]
    assert margins == sorted(margins, reverse=True)


def test_the_table_has_a_line_for_each_env_and_level(shop):
    lines = str(tabulate_env_scores(evaluate_in_envs(shop, ["policy_qa"], (0, 3), 8, "echo-the-query"))).splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("policy")


def test_without_a_model_the_solver_plays(shop, tmp_path):
    (row,) = evaluate_in_envs(shop, ["policy_qa"], (0,), 1, Role("agent", Models(), tmp_path))
    assert (row.policy, row.success) == ("solver", 1.0)


@pytest.mark.parametrize(
    ("envs", "levels", "episodes"), [([], [0], 1), (["policy_qa"], [], 1), (["policy_qa"], [0], 0)]
)
def test_nothing_to_evaluate_says_so(shop, envs, levels, episodes):
    with pytest.raises(Problem, match="nothing to evaluate"):
        evaluate_in_envs(shop, envs, levels, episodes, "solver")


def test_native_calls_and_text_become_one_action():
    reply = Reply("Let me look.", calls=({"name": "order_list", "arguments": {}},))
    action = parse_action(parse_agent_reply(reply))
    assert action.assistant_message == "Let me look."
    assert [call.name for call in action.tool_calls] == ["order_list"]
