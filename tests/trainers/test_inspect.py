"""The task as `inspect eval` runs it, against a scripted model."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from shopwright.pipeline.trainers.env import ENVIRONMENTS, call_env_tool, list_tool_schemas
from tests.trainers.scripted import begin, serve_script, write_scripts

pytestmark = pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect-ai is not installed")


def evaluate(folder, run, environment, limit, address):
    """The samples of its log, and what it says of all."""
    words = ["-T", f"run={run}", "-T", f"environment={environment}", "--model", "openai-api/scripted/scripted"]
    words += ["--limit", str(limit), "--log-dir", str(folder), "--log-format", "json", "--display", "plain"]
    done = subprocess.run(
        [Path(sys.executable).parent / "inspect", "eval", "shopwright/shop", *words],
        cwd=folder,
        env={**os.environ, "SCRIPTED_API_KEY": "x", "SCRIPTED_BASE_URL": address, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = folder.glob("*.json")
    found = json.loads(log.read_text())
    assert found["status"] == "success", found
    return found["samples"], found["results"]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_rollouts_score_as_in_process(small, tmp_path, environment):
    run = str(small.folder)
    scripts, earned = write_scripts(run, environment)
    with serve_script(scripts) as (address, came):
        samples, results = evaluate(tmp_path, run, environment, len(earned), address)
    assert {each["metadata"]["index"]: each["scores"]["episode"]["value"] for each in samples} == earned
    means = {score["name"]: score["metrics"]["mean"]["value"] for score in results["scores"]}
    assert means == {
        name: pytest.approx(sum(each[name] for each in earned.values()) / len(earned)) for name in ("reward", "success")
    }
    told = {each["function"]["name"]: each["function"] for each in list_tool_schemas(ENVIRONMENTS[environment])}
    for body in came:
        tools = {each["function"]["name"]: each["function"] for each in body["tools"]}
        assert tools.keys() == told.keys()
        for name, tool in tools.items():
            assert tool["description"] == told[name]["description"]
            assert tool["parameters"]["properties"] == told[name]["parameters"]["properties"]
            assert tool["parameters"]["required"] == told[name]["parameters"].get("required", [])


def test_what_tools_say_reaches_the_model_whole(small, tmp_path):
    run = str(small.folder)
    env = begin(run, "envs", 0)
    call = ("catalog_search", {"query": "lamp"})
    said = call_env_tool(env, *call)
    with serve_script({env._prompt[1]["content"]: [call]}) as (address, came):
        evaluate(tmp_path, run, "envs", 1, address)
    assert [each["content"] for each in came[-1]["messages"] if each["role"] == "tool"] == [said]
