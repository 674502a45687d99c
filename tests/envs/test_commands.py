"""`shopwright audit envs` and `shopwright evaluate envs`, as they are typed."""

import json
import re
from collections import Counter
from functools import lru_cache

import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.envs import evaluate as evaluate_envs
from shopwright.pipeline.envs import learnt_words, readers
from shopwright.pipeline.envs.evaluate import PLAYERS, EnvTasks, PlayedEpisode, tabulate_env_passes
from shopwright.pipeline.envs.learnt_words import LearntWords, draw_training_tasks
from shopwright.pipeline.evaluate.audit import AuditCell, read_audit
from shopwright.pipeline.evaluate.situation import evaluate
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.evaluate.storage import read_results
from shopwright.pipeline.gym import world
from tests.models.server import Plan, Server


@lru_cache(2)
def learn_from_few(world):
    return LearntWords(list(draw_training_tasks(world, ["policy_qa", "cart_building"])))


@pytest.fixture(autouse=True)
def few_training_tasks(monkeypatch):
    """What players that read have learnt is learnt from few tasks: how well they do is a matter of `test_audit_mutants`."""
    monkeypatch.setattr(learnt_words, "TASKS", 4)
    for module in (evaluate_envs, readers):
        monkeypatch.setattr(module, "learn_words", learn_from_few)


def test_an_audit_prints_a_table_and_what_it_found(shopwright):
    code, out, _ = shopwright(
        "audit", "envs", "--envs", "policy_qa,C1", "--levels", "0,6", "--episodes", 2, "--workers", 1
    )
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if " solver " in line] == [
        ["policy_qa", "solver"],
        ["cart_building", "solver"],
    ]
    assert "\nnot solved: none\n" in out
    assert "\ncheated: none\n" in out


def test_an_audit_for_scripts_has_its_verdict_and_its_cells(shopwright):
    code, out, _ = shopwright(
        "audit", "envs", "--envs", "C1", "--levels", "3", "--episodes", 2, "--workers", 1, "--json"
    )
    found = json.loads(out)
    cells = found["cells"]
    assert code == 0
    assert found["unsolved"] == found["cheated"] == []
    assert {cell["policy"] for cell in cells} >= {"solver", "do-nothing", "terminate-at-once"}
    assert all(cell.keys() == {"env", "level", "policy", "episodes", "success", "parts"} for cell in cells)
    assert all(cell["parts"].keys() == {"reward", "task", "efficiency", "hallucination"} for cell in cells)
    (solver,) = [cell for cell in cells if cell["policy"] == "solver"]
    assert (solver["success"]["share"], solver["episodes"]) == (1.0, 2)


def test_an_audit_of_a_run_is_in_its_report(shopwright, copy):
    options = ("--run", copy.folder, "--envs", "policy_qa", "--levels", "0,3", "--episodes", 2, "--workers", 1)
    assert shopwright("audit", "envs", *options)[0] == 0
    assert {cell.where for cell in read_audit(copy.folder, "envs")[1]} == {"policy_qa level 0", "policy_qa level 3"}
    page = (copy.folder / "report.html").read_text()
    assert "can it be cheated?" in page
    assert "<b>solver</b>" in page
    assert "terminate at once" in page
    assert "cart_building, level" in page


def test_an_audit_that_finds_a_fault_says_so_with_its_exit_code(shopwright, monkeypatch):
    group, half = {"env": "policy_qa", "level": 1}, measure_share(1, 2)
    wrong = [AuditCell(group, "solver", half, {"reward": 0.1}), AuditCell(group, "do-nothing", half, {"reward": 0.2})]
    monkeypatch.setattr("shopwright.pipeline.commands.situations.audit", lambda *_, **__: wrong)
    code, out, _ = shopwright("audit", "envs", "--envs", "policy_qa", "--workers", 1)
    assert code == 1
    assert "not solved: policy_qa level 1" in out
    assert "cheated: policy_qa level 1: do-nothing earns +0.200, the solver +0.100" in out


def test_a_player_is_evaluated_and_written_as_parquet(shopwright, tmp_path):
    options = ("--envs", "cart_building", "--levels", "0-1", "--episodes", 3, "--agent", "solver")
    code, out, _ = shopwright("evaluate", "envs", *options, "--to", tmp_path / "rows.parquet")
    assert code == 0
    assert "100.0% (43.9% - 100.0%)" in out
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [(row["env"], row["difficulty"], row["reward"]["success"]) for row in rows] == [
        ("cart_building", level, True) for level in (0, 0, 0, 1, 1, 1)
    ]


def test_what_an_agent_did_in_a_run_is_kept_with_it(shopwright, copy):
    options = ("--run", copy.folder, "--envs", "policy_qa", "--levels", "0", "--episodes", 2, "--agent", "first_result")
    code, out, _ = shopwright("evaluate", "envs", *options)
    path = copy.folder / "evaluations" / "envs-first-result.parquet"
    assert code == 0
    assert str(path) in out
    found, facts = read_results(PlayedEpisode, path)
    assert [each.policy for each in found] == ["first-result"] * 2
    made = copy.read("orders").manifest.fingerprint
    assert facts == {"made": made, "envs": "policy_qa", "levels": "0", "episodes": "2"}
    assert "How well agents do in the environments" in (copy.folder / "report.html").read_text()


def test_a_model_is_evaluated_and_what_it_replied_is_kept(shopwright, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ("--envs", "policy_qa", "--levels", "2", "--episodes", 4, "--run", tmp_path / "none", "--json")
    with Server(Plan(says=lambda _: {"content": "I would rather talk about the weather."})) as server:
        model = f"openai:toy@{server.url}"
        code, _, err = shopwright("evaluate", "envs", *options, "--agent", model)
        assert code == 2  # that folder holds no shop
        assert "has no catalog" in err
        options = (*options[:6], "--json")
        for _ in range(2):
            code, out, _ = shopwright("evaluate", "envs", *options, "--agent", model)
        assert server.count == 4
    told = json.loads(out)
    (row,) = told["rows"]
    assert (told["answered"], told["asked"]) == (4, 4)
    assert code == 0
    assert (row["policy"], row["episodes"], row["success"], row["illegal"]) == ("openai:toy", 4, 0.0, 1.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "envs", "--envs", "C9"), "There is no env C9."),
        (("audit", "envs", "--levels", "0-"), "There are no levels '0-'."),
        (("audit", "envs", "--episodes", "0"), "0 is not a whole number from 1 on"),
        (("audit", "shoes"), "There is no shoes to audit."),
        (("evaluate", "envs", "--agent", "wizard"), "There is no player wizard. There are: solver, do-nothing,"),
        (("evaluate", "envs", "--agent", "gpt:4"), "There is no model 'gpt:4'."),
    ],
)
def test_bad_input_is_told_in_one_line(shopwright, words, said):
    code, out, err = shopwright(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_several_tries_give_passes_by_level_in_table_figures_and_report(shopwright, copy):
    options = ("--run", copy.folder, "--envs", "policy_qa,C1", "--levels", "0,3", "--episodes", 3, "--k", 4)
    with Server(Plan(says=lambda body: {"content": json.dumps({"thought": body["seed"]})})) as server:
        options = (*options, "--agent", f"openai:toy@{server.url}")
        code, out, err = shopwright("evaluate", "envs", *options)
        assert code == 0
        first = [body["seed"] for body in server.bodies if len(body["messages"]) == 2]
        assert sorted(Counter(first).values()) == [4] * 12  # of 2 envs and 2 levels each seed, in 4 tries of 3 tasks
        asked = server.count
        told = json.loads(shopwright("evaluate", "envs", *options, "--json")[1])
        assert server.count == asked
    assert "envs: 48 of 48" in err
    assert re.search(r"pass@1, % +pass@2, % +pass@4, % +pass\^2, % +pass\^4, %", out)
    lines = [line.split()[:4] for line in out.splitlines() if line.startswith("openai:toy ")]
    assert lines[4:] == [
        ["openai:toy", env, level, str(tasks)]
        for env, tasks in (("policy_qa", 3), ("cart_building", 3), ("all", 6))
        for level in "03"
    ]
    assert [row["passes"]["tasks"] for row in told["rows"]] == [3] * 4
    assert all(list(row["passes"]["pass_all"]) == ["1", "2", "4"] for row in told["rows"])
    assert [row["episodes"] for row in told["rows"]] == [row["asked"] for row in told["rows"]] == [12] * 4
    found, _ = read_results(PlayedEpisode, next((copy.folder / "evaluations").glob("envs-openai*.parquet")))
    assert len({each.id for each in found}) == 48
    assert "pass^4, %" in (copy.folder / "report.html").read_text()


def test_a_player_that_knows_some_tries_has_the_passes_of_those(monkeypatch):
    """Of task 0 each try, of task 1 half of them, of task 2 none; the interval is of three tasks and not of 24 episodes."""

    def know_some(episode):
        knows = episode.task.seed < 2 and episode.try_number % 2 >= episode.task.seed
        return PLAYERS["solver" if knows else "do-nothing"](episode)

    monkeypatch.setitem(EnvTasks.players, "knows-some", know_some)
    situation = EnvTasks(world(), ["policy_qa"], [0], range(3), tries=8)
    rows = evaluate(situation, "knows-some").rows
    (score,) = situation.scores(rows)
    assert (score.episodes, score.asked, score.passes.tasks, score.passes.tries) == (24, 24, 3, 8)
    assert (score.success, score.success_low) == (0.5, measure_share(1.5, 3).low)
    assert score.passes.pass_at[8] == measure_share(2, 3)
    assert score.passes.pass_all[8] == measure_share(1, 3)
    assert score.passes.pass_all[2].share == pytest.approx((1 + 6 / 28) / 3)
    (line,) = tabulate_env_passes(rows).rows
    assert line[:4] == ["knows-some", "policy_qa", "0", "3"]
