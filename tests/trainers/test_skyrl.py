"""The environment as SkyRL-gym makes it by its name, and its own loop of turns plays it."""

import json
from importlib.util import find_spec

import pytest

from shopwright.pipeline.trainers.env import ENVIRONMENTS, get_env_task, list_tool_schemas
from tests.trainers.scripted import begin, write_scripts

pytestmark = pytest.mark.skipif(find_spec("skyrl_gym") is None, reason="skyrl-gym is not installed")


@pytest.fixture(scope="module")
def gym():
    import skyrl_gym

    skyrl_gym.register(id="shopwright", entry_point="shopwright.pipeline.trainers.skyrl:SkyEnv")
    return skyrl_gym


def make(gym, run, environment, index, **more):
    row = {"environment": environment, "extra_info": {"task": get_env_task(run, environment, index)}, **more}
    return gym.make("shopwright", env_config={"run": run}, extras=row)


def write_turn(turn):
    if isinstance(turn, str):
        return turn
    return f"I act.\n<tool_call>\n{json.dumps({'name': turn[0], 'arguments': turn[1]})}\n</tool_call>"


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_rollouts_score_as_in_process(gym, small, environment):
    run = str(small.folder)
    scripts, earned = write_scripts(run, environment)
    for (first, script), (index, wanted) in zip(scripts.items(), earned.items(), strict=True):
        env = make(gym, run, environment, index)
        messages, _ = env.init([])
        assert messages[-1]["content"] == first
        for tool in list_tool_schemas(ENVIRONMENTS[environment]):
            assert json.dumps(tool["function"]["name"]) in messages[0]["content"]
        turns = [*map(write_turn, script), "Done."]
        while not (step := env.step(turns.pop(0)))["done"]:
            assert step["reward"] == 0
            assert step["observations"][0]["role"] == "user"
        assert {"reward": step["reward"], "success": float(step["metadata"]["success"])} == wanted
        assert env.get_metrics() == {"success": wanted["success"]}
        env.close()


def test_a_model_is_told_what_a_tool_says_and_cut_off_after_its_turns(gym, small):
    run = str(small.folder)
    env = make(gym, run, "envs", 0, max_turns=2)
    env.init([])
    told = env.step(write_turn(("cart_view", {})))
    assert told["observations"] == [
        {"role": "user", "content": f"<tool_response>\n{begin(run, 'envs', 0).cart_view()}\n</tool_response>"}
    ]
    assert not told["done"]
    assert env.step(write_turn(("cart_view", {})))["done"]
