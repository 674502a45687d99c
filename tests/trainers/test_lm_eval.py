"""The task of lm-eval by its own command: a scripted model's replies are paid as they are here."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards.hierarchical import score_action_prediction
from shopwright.pipeline.trainers.lm_eval import TASK, write_lm_eval
from tests.trainers.scripted import serve_script

needs_lm_eval = pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm-eval is not installed")


def read_rows(folder):
    return [json.loads(line) for line in (folder / f"{TASK}.jsonl").read_text().splitlines()]


def test_its_rows_are_the_held_out_steps(small, tmp_path):
    write_lm_eval(str(small.folder), tmp_path)
    wanted = [step for step in small.read("behavior_steps") if step.split == "test"]
    rows = read_rows(tmp_path)
    assert [row["id"] for row in rows] == [f"{step.id}-rl" for step in wanted]
    assert [json.loads(row["action"]) for row in rows] == [json.loads(step.action) for step in wanted]
    for row, step in zip(rows, wanted, strict=True):
        assert row["system"] == step.prompt[0].content
        assert all(message.content in row["user"] for message in step.prompt[1:])


def test_a_run_without_steps_is_told_how_to_get_some(tmp_path):
    with pytest.raises(Problem, match="shopwright build behavior_steps"):
        write_lm_eval(str(tmp_path), tmp_path / "out")


@needs_lm_eval
@pytest.mark.slow
def test_replies_are_paid_as_they_are_here(small, tmp_path):
    """The first is right, the second leaves the shop, others say what is no answer."""
    write_lm_eval(str(small.folder), tmp_path)
    rows = read_rows(tmp_path)
    leave = json.dumps({"rationale": "No.", "action": {"type": "terminate"}})
    replies = [json.dumps({"rationale": "I see.", "action": json.loads(rows[0]["action"])}), leave]
    replies += ["I do not know."] * (len(rows) - 2)
    with serve_script({row["user"]: [said] for row, said in zip(rows, replies, strict=True)}) as (address, came):
        words = [
            "--model",
            "local-chat-completions",
            "--tasks",
            TASK,
            "--apply_chat_template",
            "--include_path",
            tmp_path,
        ]
        words += ["--model_args", f"model=scripted,base_url={address}/chat/completions,tokenized_requests=False"]
        done = subprocess.run(
            [Path(sys.executable).parent / "lm_eval", "run", *words, "--output_path", tmp_path / "out"],
            cwd=tmp_path,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "out").rglob("results*.json")
    found = json.loads(path.read_text())["results"][TASK]
    paid = [score_action_prediction(said, row["action"]) for row, said in zip(rows, replies, strict=True)]
    assert found["score,none"] == pytest.approx(sum(paid) / len(paid))
    assert found["exact,none"] == pytest.approx(
        sum(reply_is_right(*each) for each in zip(replies, rows, strict=True)) / len(rows)
    )
    assert {body["messages"][0]["content"] for body in came} == {row["system"] for row in rows}


def reply_is_right(said, row):
    return said.startswith("{") and json.loads(said)["action"] == json.loads(row["action"])
