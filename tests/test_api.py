"""`from shopwright import make, build, load, verify, evaluate`: what the README says of it, and nothing heavy before it is asked for."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import shopwright
from shopwright.pipeline.problem import Problem

HOME = Path(__file__).parents[1]
STARTS = "import sys; import shopwright; print(sorted(name for name in sys.modules if name.startswith('shopwright.')))"


def test_importing_it_imports_nothing_else():
    assert subprocess.check_output([sys.executable, "-c", STARTS], text=True) == "[]\n"


def test_all_that_is_offered_is_there():
    assert all(getattr(shopwright, name) for name in shopwright.__all__)
    assert shopwright.__version__ == version("shopwright")
    assert yaml.safe_load((HOME / "CITATION.cff").read_text())["version"] == shopwright.__version__
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = shopwright.nothing


def test_make_is_that_of_the_gym():
    from shopwright.pipeline import gym

    assert shopwright.make is gym.make


def test_a_dataset_is_built_and_loaded_as_its_records(tmp_path):
    made = shopwright.build("personas", tmp_path, products=1_200, count=5)
    there = shopwright.load("personas", tmp_path)
    assert len(made) == 5
    assert [row.id for row in there] == [row.id for row in made]
    assert not [each for each in shopwright.verify(tmp_path) if each.failed]


def test_what_is_not_there_is_said_with_what_to_type(tmp_path):
    with pytest.raises(Problem, match=r"There is no personas dataset in .* Build it: shopwright build personas"):
        shopwright.load("personas", tmp_path)


def test_an_evaluation_gives_what_the_command_prints_as_json(copy, capfd):
    found = shopwright.evaluate("behaviors", copy.folder, agent="terminate", limit=10)
    assert found["asked"] == 10
    assert capfd.readouterr().out == ""
    with pytest.raises(Problem, match="evaluate does not take --colour=red"):
        shopwright.evaluate("behaviors", copy.folder, colour="red")


def test_a_script_needs_no_guard(tmp_path):
    """Worker processes would run it again."""
    script = tmp_path / "script.py"
    script.write_text("from shopwright import build\nprint(len(build('catalog', 'run', products=1_200)))\n")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1200\n", "")
