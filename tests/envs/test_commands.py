"""`shopwright audit envs` and `shopwright evaluate envs`, as they are typed."""

import json

import pyarrow.parquet as pq
import pytest

from pipeline.envs.audit import Cell
from pipeline.publish.report import write_report
from tests.models.server import Plan, Server


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


def test_an_audit_for_scripts_is_a_list_of_cells(shopwright):
    code, out, _ = shopwright(
        "audit", "envs", "--envs", "C1", "--levels", "3", "--episodes", 2, "--workers", 1, "--json"
    )
    cells = json.loads(out)
    assert code == 0
    assert {cell["policy"] for cell in cells} >= {"solver", "do_nothing", "terminate_at_once"}
    assert all(cell.keys() == {"env", "level", "policy", "episodes", "success", "reward"} for cell in cells)
    (solver,) = [cell for cell in cells if cell["policy"] == "solver"]
    assert (solver["success"], solver["episodes"]) == (1.0, 2)


def test_an_audit_of_a_run_is_in_its_report(shopwright, copy):
    options = ("--run", copy.folder, "--envs", "policy_qa", "--levels", "0,3", "--episodes", 2, "--workers", 1)
    assert shopwright("audit", "envs", *options)[0] == 0
    write_report(copy)
    page = (copy.folder / "report.html").read_text()
    assert "can it be cheated?" in page
    assert "<b>solver</b>" in page
    assert "terminate at once" in page
    assert "cart_building, level" in page


def test_an_audit_that_finds_a_fault_says_so_with_its_exit_code(shopwright, monkeypatch):
    wrong = [Cell("policy_qa", 1, "solver", 2, 0.5, 0.1), Cell("policy_qa", 1, "do_nothing", 2, 0.5, 0.2)]
    monkeypatch.setattr("pipeline.envs.audit.audit", lambda *_, **__: wrong)
    code, out, _ = shopwright("audit", "envs", "--workers", 1)
    assert code == 1
    assert "not solved: policy_qa level 1" in out
    assert "cheated: policy_qa level 1: do_nothing earns +0.200, the solver +0.100" in out


def test_a_player_is_evaluated_and_written_as_parquet(shopwright, tmp_path):
    options = ("--envs", "cart_building", "--levels", "0-1", "--episodes", 3, "--player", "solver")
    code, out, _ = shopwright("evaluate", "envs", *options, "--to", tmp_path / "rows.parquet")
    assert code == 0
    assert "100.0% (43.9% - 100.0%)" in out
    rows = pq.read_table(tmp_path / "rows.parquet").to_pylist()
    assert [(row["env"], row["level"], row["success"]) for row in rows] == [
        ("cart_building", 0, 1.0),
        ("cart_building", 1, 1.0),
    ]


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
    (row,) = json.loads(out)
    assert code == 0
    assert (row["policy"], row["episodes"], row["success"], row["illegal"]) == ("openai:toy", 4, 0.0, 1.0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "envs", "--envs", "C9"), "There is no env C9."),
        (("audit", "envs", "--levels", "0-"), "There are no levels '0-'."),
        (("audit", "envs", "--episodes", "0"), "0 is not a whole number from 1 on"),
        (("audit", "shoes"), "There is no shoes to audit."),
        (("evaluate", "envs", "--player", "wizard"), "There is no player wizard."),
        (("evaluate", "envs", "--agent", "gpt"), "There is no model 'gpt'."),
        (("evaluate", "envs"), "Say --agent openai:NAME@http://HOST:PORT/v1, or --player solver."),
    ],
)
def test_bad_input_is_told_in_one_line(shopwright, words, said):
    code, out, err = shopwright(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
