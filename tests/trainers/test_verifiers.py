"""The taskset as the framework's own commands see it: `vf-validate` on gold, `vf-eval` against a scripted model."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

from shopwright.pipeline.trainers.env import ShopEnv, count_env_tasks, get_env_task, list_tool_schemas, solve_env_task
from tests.trainers.scripted import serve_script

HOME = Path(__file__).parents[2]
COMMANDS = Path(sys.executable).parent
PATH = os.pathsep.join([str(COMMANDS), os.environ["PATH"]])
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("verifiers") is None, reason="verifiers is not installed: `make test-trainers` does it"
    ),
    pytest.mark.skipif(
        which("uv", path=PATH) is None, reason="uv is not there, by which verifiers starts its chat program"
    ),
]


def run(command, *words, folder, **more):
    """In a folder of its own, with the taskset of this checkout."""
    paths = os.pathsep.join(
        [str(HOME), str(HOME / "shopwright-taskset"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    done = subprocess.run(
        [COMMANDS / command, "shopwright-taskset", *map(str, words)],
        cwd=folder,
        env={**os.environ, "PATH": PATH, "PYTHONPATH": paths, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def read_lines(folder, name):
    (path,) = folder.rglob(name)
    return [json.loads(line) for line in path.read_text().splitlines()]


def begin(run, number):
    env = ShopEnv(run)
    env.reset(extra_info={"task": get_env_task(run, "envs", number)})
    return env


def test_every_task_is_valid_on_gold_and_earns_less_untouched(small, tmp_path):
    """The rewards of untouched tasks are those in process."""
    folder = str(small.folder)
    run("vf-validate", "--taskset.run", folder, "--runtime.type", "subprocess", "--rich", "False", folder=tmp_path)
    found = read_lines(tmp_path, "results.jsonl")
    assert len(found) == count_env_tasks(folder, "envs")
    assert {row["reason"] for row in found} == {"valid"}
    untouched = {row["task_position"]: row["noop"]["rewards"]["score_episode"] for row in found}
    assert untouched == {number: begin(folder, number).get_reward() for number in untouched}


def test_rollouts_by_its_own_loop_score_as_in_process(small, tmp_path):
    """Even tasks are solved; of odd ones a call is made and no more, so that they are scored as they stand."""
    folder, count = str(small.folder), 4
    scripts, rewards = {}, {}
    for number in range(count):
        env, task = ShopEnv(folder), get_env_task(folder, "envs", number)
        calls = solve_env_task(env, task) if number % 2 == 0 else [("datetime_now", {})]
        if number % 2:
            env = begin(folder, number)
            env.datetime_now()
        scripts[env._prompt[1]["content"]] = calls
        rewards[number] = env.get_reward()
    with serve_script(scripts) as (address, came):
        words = ["-m", "scripted", "-n", count, "-r", 2, "--no-push", "--no-rich", "--env.taskset.run", folder]
        words += ["--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess"]
        words += ["--client.base-url", address, "--client.api-key-var", "SCRIPTED_KEY"]
        run("vf-eval", *words, folder=tmp_path, SCRIPTED_KEY="x")
    schemas = list_tool_schemas(ShopEnv)
    for body in came:
        assert [each["function"]["parameters"] for each in body["tools"]] == [
            each["function"]["parameters"] for each in schemas
        ]
    found = [trace for line in read_lines(tmp_path, "traces.jsonl") for trace in line.get("traces", [line])]
    assert len(found) == 2 * count
    for trace in found:
        number = trace["task"]["data"]["number"]
        assert trace["rewards"]["score_episode"]["score"] == rewards[number], trace["errors"]
        assert (trace["stop_condition"] == "over") == (number % 2 == 0)
