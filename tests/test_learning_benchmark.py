"""The parts of the learning benchmark are measured on one run, and none of them keeps the others from being measured."""

import sys

import pytest

from benchmarks import learning_parts
from benchmarks.learning_parts import Bench, Measured, Part, measure_parts, run_command

TABLE = "| a |\n| --- |\n| 1 |"


@pytest.fixture(autouse=True)
def page(tmp_path, monkeypatch):
    """Figures of tests are kept here."""
    path = tmp_path / "learning.md"
    path.write_text("<!-- one -->\nold\n<!-- end of one -->\n<!-- seconds -->\n<!-- end of seconds -->\n")
    monkeypatch.setattr(learning_parts, "PAGE", path)
    return path


def make_part(name, measure):
    return Part(name, name, (), measure)


def fail(bench):
    raise ValueError("there is nothing to learn")


def measure_fine(bench):
    return Measured(TABLE)


def measure_shortcut(bench):
    return Measured(TABLE, faults=["solved unread"])


def test_a_part_that_fails_is_named_and_the_others_go_on(small, capsys):
    kept = []
    parts = [make_part("broken", fail), make_part("fine", measure_fine)]
    seconds, faults = measure_parts(parts, Bench(small), lambda part, found: kept.append(part.name))
    assert kept == ["fine"]
    assert list(seconds) == ["broken", "fine"]
    assert len(faults) == 1
    assert "broken" in faults[0]
    assert "nothing to learn" in faults[0]


def test_what_several_parts_read_of_a_run_is_read_once(small):
    reads = []

    def read_rows(run):
        reads.append(run)
        return "rows"

    bench = Bench(small)
    assert [bench.read(read_rows), bench.read(read_rows)] == ["rows", "rows"]
    assert reads == [small]


@pytest.mark.parametrize(("measure", "ends"), [(measure_fine, 0), (measure_shortcut, 1), (fail, 1)])
def test_the_command_ends_with_1_where_a_gate_is_not_passed_or_a_part_fails(measure, ends, small, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--run", str(small.folder), "--quick"])
    status = 0
    try:
        run_command("learning", "about", [make_part("one", measure), make_part("other", measure_fine)])
    except SystemExit as end:
        status = 1 if isinstance(end.code, str) else end.code
    assert status == ends


@pytest.mark.parametrize("quick", [True, False])
def test_figures_are_kept_but_of_a_quick_run(quick, small, page, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--run", str(small.folder), *(["--quick"] if quick else [])])
    run_command("learning", "about", [make_part("one", measure_fine), make_part("two", measure_fine)])
    assert (TABLE in page.read_text()) != quick
    assert ("`python -m benchmarks.learning --run RUN`" in page.read_text()) != quick
