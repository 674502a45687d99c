import inspect
from fractions import Fraction
from importlib.util import find_spec

import pytest

from shopwright.pipeline.__main__ import parse_arguments
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers import serve

LEVELS = {"curriculum": "", "group": 8, "window": 5, "threshold": Fraction(9, 10), "rollouts": 32}
OPTIONS = {"host": "127.0.0.1", "port": 8000, "sessions": 64, **LEVELS}


def test_it_listens_to_its_own_machine_unless_told_otherwise():
    assert parse_arguments(["serve"]) == {"command": "serve", "run": "data/runs/demo", **OPTIONS}
    assert parse_arguments(["serve", "--port", "9", "--host", "0.0.0.0", "--sessions", "2", "--run", "x"])["port"] == 9


def test_the_commands_curriculum_is_the_papers():
    known = inspect.signature(serve.serve_environments).parameters
    assert {name: known[name].default for name in LEVELS} == LEVELS


@pytest.mark.skipif(find_spec("openenv") is not None, reason="openenv is installed here")
def test_what_is_not_installed_is_named(small):
    with pytest.raises(Problem, match=r"pip install 'shopwright\[openenv\]'"):
        serve.serve_environments(run=str(small.folder), **OPTIONS)


def test_a_run_without_tasks_is_told_how_to_get_some(tmp_path):
    with pytest.raises(Problem, match="shopwright build env_tasks"):
        serve.serve_environments(run=str(tmp_path), **OPTIONS)
