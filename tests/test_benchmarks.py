"""What holds for the benchmarks, without measuring anything."""

import math
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import benchmarks
from benchmarks import cores, growth, taught_rows
from benchmarks.__main__ import ALL, Benchmark, main, measured, ratio, table, told, unwritten
from benchmarks.trajectories import README
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.stages import all_stages

SAYS = Benchmark("says", "a figure; another", r"ours: (\S+)", r"beside: (\S+)")
FAILS = Benchmark("fails", "nothing", r"(.)", "1")

NEEDS = {"learner": "torch", "paid_queries": "sklearn", "query_forms": "sklearn"}
"""Benchmarks of the extra `learn`, and what they cannot be imported without."""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def of_test(benchmark: Benchmark) -> list[str]:
    return python("print('ours: 6 beside: 4')" if benchmark.name == "says" else "raise SystemExit(3)")


@pytest.mark.parametrize("power", [0.5, 1.0, 1.3])
def test_the_exponent_of_figures_is_found(power):
    work = [10, 40, 160]
    seconds = [0.02 * each**power for each in work]
    assert growth.exponent(work, seconds) == pytest.approx(power)
    assert growth.exponent_of_more(work, seconds) == pytest.approx(power)


def test_a_start_that_takes_the_same_at_every_size_is_not_in_the_exponent_of_more():
    work, seconds = [1, 4, 16], [9 + 1.0, 9 + 4.0, 9 + 16.0]
    assert growth.exponent_of_more(work, seconds) == pytest.approx(1)
    assert growth.exponent(work, seconds) < 0.5


@pytest.mark.parametrize("seconds", [[2.0, 2.0, 2.0], [3.0, 2.0, 9.0]])
def test_where_more_work_takes_no_longer_no_exponent_is_told(seconds):
    assert math.isnan(growth.exponent_of_more([1, 4, 16], seconds))


@pytest.mark.parametrize("name", list(all_stages()))
def test_every_stage_has_a_setting_that_is_its_work(name):
    owner, _, setting = growth.work_of(name).partition(".")
    least, most = (growth.settings_of(owner, factor)[setting] for factor in (1, 16))
    assert most == 16 * least
    all_stages()[owner].settings[setting].parse(most)


@pytest.mark.parametrize("name", list(all_stages()))
def test_all_that_a_stage_is_built_with_are_settings_of_its_own(name):
    assert set(growth.settings_of(name, 1)) <= set(all_stages()[name].settings)


def test_fixed_settings_belong_to_stages_that_there_are():
    owners = {key.partition(".")[0] for key in (*growth.LEAST, *growth.FIXED)}
    assert owners <= set(all_stages())


def test_what_the_catalog_makes_is_built_before_what_begins_with_it():
    names = growth.wanted([])
    assert sorted(names) == sorted(all_stages())
    kinds = [growth.work_of(name) == growth.PRODUCTS for name in names]
    assert kinds == sorted(kinds, reverse=True)
    for place, name in enumerate(names):
        assert set(all_stages()[name].reads) <= set(names[:place])


def test_a_stage_above_the_goal_is_named():
    linear = [growth.Grown(each, each, 1.0 * each, 0.0, 100.0) for each in (1, 4, 16)]
    square = [growth.Grown(each, each, 1.0 * each**2, 0.0, 100.0) for each in (1, 4, 16)]
    said = growth.summed_up({"one": linear, "other": square})
    assert said == "The largest exponent of what more work adds is 2.00 (`other`). Above 1.15: `other`."


def test_a_dataset_that_cannot_be_built_is_named_and_so_is_what_reads_it(tmp_path):
    (tmp_path / "products-1").write_text("in the way of a run")
    found = dict(growth.grown(tmp_path, ["catalog", "queries"], 1 / 4_000))
    assert found == {"catalog": "its build ended with 1", "queries": "it reads catalog"}


def test_a_benchmark_that_fails_is_named_and_the_others_go_on(capsys):
    found = list(measured([FAILS, SAYS], of_test))
    assert [each.fault for each in found] == ["it ended with 3", ""]
    assert "1 of 2: fails" in capsys.readouterr().err
    text = table(found, "how")
    assert "FAILED: fails: it ended with 3" in text
    assert "| says | a figure; another | 6 | 4 | 1.5 |" in text


def test_a_figure_that_is_not_printed_is_a_failure():
    assert told(SAYS, "ours: 6").fault == r"it printed nothing like beside: (\S+)"


def test_a_ratio_without_figures_is_empty():
    assert (ratio("none", "4"), ratio("1,000", "4 ms"), ratio("1", "8")) == ("", "250", "0.12")


def test_the_exit_code_tells_of_a_failure_and_a_quick_run_keeps_no_figures(capfd):
    before = README.read_text(encoding="utf-8")
    assert main(["--quick"], (Benchmark("nothing_of_this_name", "nothing", "(.)", "1"),)) == 1
    assert "FAILED: nothing_of_this_name: it ended with 1" in capfd.readouterr().out
    assert README.read_text(encoding="utf-8") == before


def test_what_a_quick_run_writes_is_taken_back(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text("figures")
    with unwritten(readme):
        readme.write_text("other figures")
    assert readme.read_text() == "figures"


@pytest.mark.parametrize("benchmark", ALL, ids=lambda each: each.title)
def test_each_benchmark_prints_the_figures_of_the_table(benchmark):
    sections = README.read_text(encoding="utf-8").split("<!-- end of ")
    mine = [text.partition(f"<!-- {benchmark.title}")[2] for text in sections]
    written = next((text for text in mine if "|" in text), "")
    if not written:
        pytest.skip("it has not been measured yet")
    assert not told(benchmark, written).fault


@pytest.mark.parametrize("benchmark", ALL, ids=lambda each: each.title)
def test_each_benchmark_is_a_command_of_its_own(benchmark):
    assert find_spec(f"benchmarks.{benchmark.name}")


@pytest.mark.parametrize(("right", "found"), [(59, 0), (61, 1)])
def test_questions_that_are_answered_unread_end_the_learning_benchmark(right, found):
    hidden = taught_rows.Result("linear", 3_000, "none", {"test": (right, 600)})
    read = taught_rows.Result("linear", 3_000, "all", {"test": (590, 600)})
    assert len(taught_rows.find_shortcuts([read, hidden])) == found


def test_the_table_of_learning_tells_each_learner_and_size_once_with_all_its_seeds():
    splits = (*taught_rows.SPLITS, taught_rows.HAND)
    made = (
        ("linear", 300, "all", 40),
        ("linear", 300, "all", 60),
        ("linear", 1_000, "all", 80),
        ("transformer", 1_000, "all", 90),
        ("linear", 300, "none", 2),
    )
    results = [taught_rows.Result(*each, dict.fromkeys(splits, (right, 100))) for *each, right in made]
    lines = taught_rows.tabulate(results).splitlines()[2:]
    assert [line.split(" | ")[:4] for line in lines] == [
        ["| linear", "the question", "300", "2"],
        ["| linear", "the question", "1,000", "1"],
        ["| transformer", "the question", "1,000", "1"],
        ["| linear", "nothing of it", "300", "1"],
    ]
    assert "50.0%" in lines[0]
    assert "40.0% to 60.0% by seed" in lines[0]


def test_a_split_without_questions_is_asked_nothing(small, monkeypatch):
    pytest.importorskip("torch")  # the tokens of questions are those of the transformer

    def write_all(rows):
        assert rows
        return ["SELECT 1" for _ in rows]

    monkeypatch.setitem(taught_rows.LEARNERS, "linear", lambda *_: write_all)
    trial = taught_rows.Trial(small)
    trial.asked["test_wording"] = []
    right = trial.teach("linear", 20, 0, most=5).right
    assert right["test_wording"] == (0, 0)
    assert right["test"][1] == min(5, len(trial.asked["test"]))


def test_what_was_written_by_hand_can_be_asked_of_any_customer(small):
    rows = [row for row in small.read("questions") if row.split == "test"]
    asked = list(taught_rows.fill_by_hand(small, Engines(small.read("trajectories")), rows))
    customers = {row.trajectory_id for row in asked}
    assert len(customers) == min(taught_rows.CUSTOMERS, len({row.trajectory_id for row in rows}))
    assert len({row.question for row in asked}) > 60
    assert sum(row.result not in ("null", "0", '"0.00"', "[false]") for row in asked) > 0.7 * len(asked)


@pytest.mark.parametrize("path", sorted(Path(benchmarks.__file__).parent.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_every_benchmark_has_what_it_imports(path):
    """They are not run by the tests, so a name that was changed in the project would be missed until then."""
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    import_module(f"benchmarks.{path.stem}")


def costs(parent, worker, work, each_mb=0):
    """Of one process and of two, four and eight, where a worker costs so much and the parent so much."""
    alone = cores.Cost(rows=100, parent=parent + worker + work, server=0, workers=0, shared_mb=0)
    return {1: alone} | {
        count: cores.Cost(100, parent, 0, work + count * worker, 100 + count * each_mb) for count in (2, 4, 8)
    }


def test_what_workers_share_alone_limits_64_cores():
    free = cores.Table("questions", costs(0, 0, 100), cores.Cost(1600, 0, 0, 1600, 0), 10)
    assert free.limit(1) == free.limit(10) == pytest.approx(64)
    held = cores.Table("questions", costs(1, 0.5, 100, each_mb=50), cores.Cost(1600, 16, 0, 1601, 0), 10)
    assert held.worker == pytest.approx(0.5)
    assert held.parent(10) == pytest.approx(10)
    assert held.limit(10) == pytest.approx((10 + 0.5 + 1000) / (10 + 0.5 + 1000 / 64))
    most_is_done_once = cores.Table("questions", costs(0, 0, 100), cores.Cost(1600, 0, 0, 115, 0), 10)
    assert most_is_done_once.work(10) == pytest.approx(109)
    assert held.memory == pytest.approx((100 + 64 * 50) / 1024)
