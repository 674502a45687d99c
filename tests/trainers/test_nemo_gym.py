"""The resources server by NeMo Gym's own commands: its settings validated, and rollouts of its own agent against a scripted model."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.env import ENVIRONMENTS, list_tool_schemas
from shopwright.pipeline.trainers.nemo_gym import EXAMPLES, PLACE, write_nemo_gym
from tests.trainers.scripted import begin, serve_script, write_scripts

BIN = Path(sys.executable).parent
GYM = BIN / "gym"
needs_gym = pytest.mark.skipif(find_spec("nemo_gym") is None, reason="nemo-gym is not installed")
KINDS = {
    "resources_servers": "shopwright",
    "responses_api_agents": "simple_agent",
    "responses_api_models": "vllm_model",
}


def list_flags(folder, address):
    config = str(folder / PLACE / "configs" / "shopwright.yaml")
    return [
        "--config",
        config,
        "--model-type",
        "vllm_model",
        "--model",
        "scripted",
        "--model-url",
        address,
        "--model-api-key",
        "x",
    ]


def test_the_folder_has_five_tasks_of_each_environment_as_they_are_told_everywhere(small, tmp_path):
    run = str(small.folder)
    home = write_nemo_gym(run, tmp_path)
    settings = json.loads((home / "configs" / "shopwright.yaml").read_text())
    (agent,) = settings["shopwright_simple_agent"]["responses_api_agents"].values()
    assert [each["name"] for each in agent["datasets"]] == list(ENVIRONMENTS)
    for each in agent["datasets"]:
        rows = [json.loads(line) for line in (tmp_path / each["jsonl_fpath"]).read_text().splitlines()]
        assert len(rows) == EXAMPLES
        told = [tool["function"] for tool in list_tool_schemas(ENVIRONMENTS[each["name"]])]
        for index, row in enumerate(rows):
            asked = row["responses_create_params"]
            assert asked["input"] == begin(run, each["name"], index)._prompt
            assert [
                {name: tool[name] for name in ("name", "description", "parameters")} for tool in asked["tools"]
            ] == told


def test_a_run_without_tasks_is_told_how_to_get_some(tmp_path):
    with pytest.raises(Problem, match="shopwright build env_tasks"):
        write_nemo_gym(str(tmp_path), tmp_path / "out")


@contextmanager
def start(folder, flags):
    """All servers of NeMo Gym, in the environment that runs these tests: else each would make one of its own."""
    for kind, name in KINDS.items():
        link = folder / "venvs" / kind / name / ".venv"
        link.parent.mkdir(parents=True)
        link.symlink_to(sys.prefix)
    words = ["env", "start", *flags, "++skip_venv_if_present=true", f"++uv_venv_dir={folder / 'venvs'}"]
    said = folder / "servers.log"
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    with said.open("w") as log:
        servers = subprocess.Popen(
            [GYM, *words],
            cwd=folder,
            stdout=log,
            stderr=log,
            env={**os.environ, "PATH": path, "RAY_ADDRESS": "local", "RAY_USAGE_STATS_ENABLED": "0"},
            start_new_session=True,
        )
    try:
        end = time.monotonic() + 400
        while "servers ready!" not in said.read_text().lower():
            assert servers.poll() is None, said.read_text()
            assert time.monotonic() < end, said.read_text()
            time.sleep(0.5)
        yield
    finally:
        os.killpg(servers.pid, signal.SIGINT)
        try:
            servers.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(servers.pid, signal.SIGKILL)


@needs_gym
@pytest.mark.slow
def test_its_settings_are_valid_and_rollouts_of_its_own_agent_score_as_in_process(small, tmp_path):
    run = str(small.folder)
    write_nemo_gym(run, tmp_path)
    scripts = {}
    with serve_script(scripts) as (address, _):
        flags = list_flags(tmp_path, address)
        valid = subprocess.run(
            [GYM, "env", "validate", *flags], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert valid.returncode == 0, valid.stdout + valid.stderr
        with start(tmp_path, flags):
            for environment in ENVIRONMENTS:
                said, wanted = write_scripts(run, environment)
                scripts.clear()  # both kinds of questions begin with the same words
                scripts.update(said)
                assert evaluate(tmp_path, environment, len(wanted)) == wanted, environment


def evaluate(folder, environment, count):
    """What each of the first tasks earned."""
    out = folder / f"{environment}.out.jsonl"
    words = ["--agent", "shopwright_simple_agent", "--input", str(folder / PLACE / "data" / f"{environment}.jsonl")]
    done = subprocess.run(
        [GYM, "eval", "run", "--no-serve", *words, "--output", str(out), "--limit", str(count)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {row["_ng_task_index"]: {"reward": row["reward"], "success": row["success"]} for row in rows}
