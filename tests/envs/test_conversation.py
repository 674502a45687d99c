"""A model plays an episode as a conversation, and what it earns comes with its uncertainty."""

import json

import pyarrow.parquet as pq
import pytest

from pipeline.envs import env_of
from pipeline.envs.audit import audit
from pipeline.envs.base import as_json
from pipeline.envs.conversation import (
    by_itself,
    conversation,
    evaluate,
    evaluated,
    is_broken,
    mean,
    said_by,
    talks,
    wilson,
    write_rows,
)
from pipeline.envs.episode import Episode, draw, parsed, played, solver
from pipeline.gym import world
from pipeline.models.base import Reply
from pipeline.models.role import Models, Role, alone
from pipeline.problem import Problem
from tests.models.server import Plan, Server


@pytest.fixture(scope="module")
def shop():
    return world()


def episode(shop, name="cart_building", level=6, seed=3):
    return Episode(env_of(name), shop, draw(env_of(name), shop, level, seed))


def actions(found):
    """The solver's, as they were said."""
    played(found, solver)
    return [as_json(parsed(turn.action).model_dump(exclude_defaults=True)) for turn in found.turns]


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
    prompts, record = led(conversation(found, "toy"), [Reply(text) for text in said])
    assert (record.reward, [turn.results for turn in record.turns]) == (wanted[0], [turn.results for turn in wanted[1]])
    assert record.policy == "toy"
    assert record.opening == found.task.opening
    assert len(prompts) == len(said)


def test_a_prompt_tells_tools_and_opening_and_then_what_happened(shop):
    found = episode(shop)
    said = actions(found)
    prompts, record = led(conversation(found, "toy"), [Reply(text) for text in said])
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
        prompts, _ = led(conversation(found, "toy"), [Reply('{"answer": {}}')])
        text = json.dumps(prompts[0].messages)
        assert found.task.goal not in text
        assert found.task.acceptable not in text
        assert "persona" not in text


def test_native_calls_are_understood_as_the_text_is(shop):
    found = episode(shop)
    said = actions(found)
    replies = []
    for text in said:
        action = json.loads(text)
        calls = tuple(
            {"name": each["name"], "arguments": each.get("args", {})} for each in action.get("tool_calls", ())
        )
        native = calls and "answer" not in action
        replies.append(Reply(action.get("assistant_message", ""), calls=calls) if native else Reply(text))
    prompts, record = led(conversation(found, "toy", native=True), replies)
    assert record.reward == found.reward
    assert record.reward.success
    assert len(prompts[0].tools) == 18


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
    _, record = led(conversation(episode(shop), "toy"), [reply])
    assert record.reward.total == -1
    assert is_broken(record.reward)
    assert len(record.turns) == 1


def test_a_silent_model_is_no_illegal_one(shop):
    _, record = led(conversation(episode(shop), "toy"), [Reply("{}")] * 2)
    assert record.reward.fault == "the shopper gave up"
    assert not is_broken(record.reward)


def test_offline_the_given_actions_are_said(shop):
    found = episode(shop, "journey", 4)
    said = actions(found)
    record = alone(conversation(found, "solver", offline=said))
    assert record.reward.success


def test_the_shoppers_words_may_be_a_models(shop):
    found = episode(shop, "cart_building", 9, 5)
    said = actions(found)
    plain = [turn.user for turn in found.turns]
    talk = by_itself("agent", conversation(found, "solver", words=True, offline=said))
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
    tasks = [draw(env_of("order_tracking"), shop, 6, seed) for seed in range(6)]
    said = {task.opening: actions(Episode(env_of(task.env), shop, task)) for task in tasks}

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
        talk = [conversation(Episode(env_of(task.env), shop, task), "agent", words=True) for task in tasks]
        found = list(talks(talk, agent, shopper))
        names = {body["model"] for body in server.bodies}
    assert [each.task_id for each in found] == [task.id for task in tasks]
    assert all(each.reward.success for each in found)
    assert names == {"agent", "shopper"}


def test_a_model_is_evaluated_through_its_role(shop, tmp_path):
    with Server(Plan(says=lambda body: {"content": '{"answer": {"refusal": "not_found"}}'})) as server:
        role = Role("agent", Models(model=f"openai:toy@{server.url}"), tmp_path)
        rows = evaluate(shop, ["order_tracking"], (0, 6), 20, role)
    assert [(row.env, row.level, row.episodes, row.policy) for row in rows] == [
        ("order_tracking", 0, 20, "openai:toy"),
        ("order_tracking", 6, 20, "openai:toy"),
    ]
    assert all(0 <= row.success < 0.4 for row in rows)
    assert all(row.turns == 1 and row.turns_margin == 0 for row in rows)


# Figures


def test_a_player_is_evaluated_on_the_tasks_of_the_audit(shop):
    rows = evaluate(shop, ["policy_qa"], (1, 5), 30, "first_result")
    cells = audit(shop, ["policy_qa"], (1, 5), 30, players=["first_result"])
    assert [round(row.reward, 6) for row in rows] == pytest.approx([cell.reward for cell in cells], abs=2e-6)
    assert [row.success for row in rows] == [cell.success for cell in cells]


def test_the_parts_add_up_to_the_reward(shop):
    for row in evaluate(shop, ["cart_building", "journey"], (2, 8), 20, "solver"):
        assert row.success == row.task == 1
        assert row.reward == pytest.approx(0.75 * row.task + 0.15 * row.efficiency + 0.1 * row.hallucination)
        assert row.illegal == 0
        assert row.success_low < 1 == row.success_high


@pytest.mark.parametrize("successes", [0, 1, 15, 29, 30])
def test_wilsons_interval_holds_the_share_and_stays_within_0_and_1(successes):
    low, high = wilson(successes, 30)
    assert 0 <= low <= successes / 30 <= high <= 1
    assert high - low > 0.05


def test_more_episodes_make_an_interval_narrower():
    widths = [wilson(count // 2, count)[1] - wilson(count // 2, count)[0] for count in (10, 100, 1_000)]
    assert widths == sorted(widths, reverse=True)
    margins = [mean([0.0, 1.0] * count)[1] for count in (5, 50, 500)]
    assert margins == sorted(margins, reverse=True)


def test_the_table_and_the_parquet_say_the_same(shop, tmp_path):
    rows = evaluate(shop, ["policy_qa"], (0, 3), 8, "echo_the_query")
    write_rows(rows, tmp_path / "new" / "rows.parquet")
    kept = pq.read_table(tmp_path / "new" / "rows.parquet").to_pylist()
    assert [(row["env"], row["level"], row["reward"]) for row in kept] == [(r.env, r.level, r.reward) for r in rows]
    lines = evaluated(rows).splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("policy")


def test_a_file_that_cannot_be_written_says_so(shop, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="Choose another file"):
        write_rows(evaluate(shop, ["policy_qa"], (0,), 1, "solver"), tmp_path / "file" / "rows.parquet")


def test_evaluating_no_model_says_what_to_do(shop, tmp_path):
    with pytest.raises(Problem, match="--player solver"):
        evaluate(shop, ["policy_qa"], (0,), 1, Role("agent", Models(), tmp_path))


@pytest.mark.parametrize(
    ("envs", "levels", "episodes"), [([], [0], 1), (["policy_qa"], [], 1), (["policy_qa"], [0], 0)]
)
def test_nothing_to_evaluate_says_so(shop, envs, levels, episodes):
    with pytest.raises(Problem, match="nothing to evaluate"):
        evaluate(shop, envs, levels, episodes, "solver")


def test_native_calls_and_text_become_one_action():
    reply = Reply("Let me look.", calls=({"name": "order_list", "arguments": {}},))
    action = parsed(said_by(reply))
    assert action.assistant_message == "Let me look."
    assert [call.name for call in action.tool_calls] == ["order_list"]
