"""`shopwright evaluate behaviors`: what it prints, writes and says of bad input."""

import json
import re

import pytest

from shopwright.pipeline.behaviors.evaluate import StepPrediction
from shopwright.pipeline.evaluate.storage import read_results
from tests.behaviors.by_hand import SESSIONS, session, written
from tests.models.server import Plan, Server

BUY = '{"rationale": "I want it.", "action": {"type": "click", "name": "cart.buy_now"}}'


def test_who_knows_the_truth_is_evaluated_and_in_the_report(shopwright, tmp_path):
    _, steps = written(tmp_path)
    code, out, err = shopwright("evaluate", "behaviors", "--run", tmp_path)
    assert code == 0, err
    assert re.search(r"^solver +21 +100\.0 .*100\.0 .*100\.0 ", out, re.MULTILINE)
    assert re.search(r"^always terminate +21 ", out, re.MULTILINE)
    assert "self-certainty not measured, so it pays 0" in out
    found, facts = read_results(StepPrediction, tmp_path / "evaluations" / "behaviors-solver.parquet")
    assert (facts["split"], facts["made"]) == ("test", steps.manifest.fingerprint)
    assert all(each.exact for each in found)
    page = (tmp_path / "report.html").read_text()
    assert "How well the next step is predicted" in page
    assert "on earlier steps" not in page


def test_a_model_is_asked_and_a_second_command_asks_nothing(shopwright, tmp_path):
    written(tmp_path)
    with Server(Plan(says=lambda body: {"content": BUY})) as server:
        options = ("--run", tmp_path, "--agent", f"openai:toy@{server.url}", "--vocabulary", 100, "--split", "train")
        first = shopwright("evaluate", "behaviors", *options)
        again = shopwright("evaluate", "behaviors", *options)
        bodies = server.bodies
    assert first[0] == again[0] == 0
    assert first[1] == again[1]
    assert len(bodies) == 14
    assert {body["temperature"] for body in bodies} == {0.6}
    assert {body["top_logprobs"] for body in bodies} == {20}
    assert re.search(r"^openai:toy +14 +14\.3 ", first[1], re.MULTILINE)
    assert "at least and at most, from the 20 likeliest of 100 tokens" in first[1]


def test_a_policy_for_scripts_and_for_another_file(shopwright, tmp_path):
    written(tmp_path / "run")
    options = (
        "--agent",
        "frequent-click",
        "--limit",
        9,
        "--gated",
        "--dars",
        10,
        "--json",
        "--to",
        tmp_path / "x.parquet",
    )
    code, out, _ = shopwright("evaluate", "behaviors", "--run", tmp_path / "run", *options)
    told = json.loads(out)
    assert code == 0
    assert [(row["policy"], row["steps"]) for row in told["rows"]] == [("frequent-click", 9)]
    assert (told["rule"]["gated"], told["rule"]["dars"]) == (True, 10)
    paid = {each["policy"]: each for each in told["payoffs"]}
    assert told["rows"][0]["reward"] == pytest.approx(paid["most frequent click"]["reward"])
    assert len(read_results(StepPrediction, tmp_path / "x.parquet")[0]) == 9
    assert not (tmp_path / "run" / "evaluations").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--agent", "lazy"), "There is no player lazy"),
        (("--split", "nowhere"), "nowhere"),
        (("--dars", "0"), "0 is not a number above 0"),
        (("--vocabulary", "0"), "0 is not a whole number from 1 on"),
    ],
)
def test_what_there_is_not_is_said(shopwright, tmp_path, options, said):
    written(tmp_path)
    code, _, err = shopwright("evaluate", "behaviors", "--run", tmp_path, *options)
    assert code == 2
    assert said in err


def test_a_split_without_steps_is_said(shopwright, tmp_path):
    written(tmp_path, [session(0, split="train")])
    code, _, err = shopwright("evaluate", "behaviors", "--run", tmp_path)
    assert code == 2
    assert "There are no steps of the split test here" in err


def test_a_run_without_steps_says_what_to_build(shopwright, tmp_path):
    code, _, err = shopwright("evaluate", "behaviors", "--run", tmp_path)
    assert code == 2
    assert f"shopwright build behavior_steps --run {tmp_path}" in err


def test_sessions_alone_are_in_the_report(tmp_path):
    from shopwright.pipeline.publish.report import write_report
    from shopwright.pipeline.run import Run

    written(tmp_path, SESSIONS)
    page = write_report(Run(tmp_path)).read_text()
    assert "Sessions, page by page" in page
    assert "I like it &amp; buy &lt;it&gt;." in page
