import inspect
import socket
from fractions import Fraction
from importlib.util import find_spec

import pytest

from shopwright.pipeline.__main__ import parse_arguments
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers import serve
from shopwright.pipeline.trainers.front import open_listener
from shopwright.pipeline.trainers.openenv import explain
from shopwright.pipeline.trainers.sessions import Refused

LEVELS = {"curriculum": "", "group": 8, "window": 5, "threshold": Fraction(9, 10), "rollouts": 32}
SIZES = {"sessions": 4096, "workers": 1, "idle": 600.0, "grace": 30.0, "per_client": 0}
TASK = {"protocol": "openenv", "environment": "envs", "index": 0}
OPTIONS = {"host": "127.0.0.1", "port": 8000, **TASK, **SIZES, **LEVELS}


def test_it_listens_to_its_own_machine_unless_told_otherwise():
    assert parse_arguments(["serve"]) == {
        "command": "serve",
        "run": "data/runs/demo",
        "space": None,
        **OPTIONS,
    }
    assert parse_arguments(["serve", "--port", "9", "--host", "0.0.0.0", "--sessions", "2", "--run", "x"])["port"] == 9


def test_the_commands_curriculum_is_the_papers():
    known = inspect.signature(serve.serve_environments).parameters
    assert {name: known[name].default for name in (*LEVELS, *SIZES, *TASK)} == {**LEVELS, **SIZES, **TASK}


@pytest.mark.parametrize(
    ("option", "value"), [("--workers", "0"), ("--idle", "0"), ("--grace", "x"), ("--sessions", "-1")]
)
def test_a_size_that_makes_no_sense_is_refused(shopwright, option, value):
    code, _, said = shopwright("serve", option, value)
    assert code == 2
    assert value in said


def test_a_port_that_is_taken_is_one_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(Problem, match=r"Cannot listen on .* Choose another --port\."):
            open_listener("127.0.0.1", taken.getsockname()[1])


@pytest.mark.skipif(find_spec("openenv") is not None, reason="openenv is installed here")
def test_what_is_not_installed_is_named(small):
    with pytest.raises(Problem, match=r"pip install 'shopwright\[openenv\]'"):
        serve.serve_environments(run=str(small.folder), **OPTIONS)


def test_a_run_without_tasks_is_told_how_to_get_some(tmp_path):
    with pytest.raises(Problem, match="shopwright build env_tasks"):
        serve.serve_environments(run=str(tmp_path), **OPTIONS)


def test_a_fault_of_the_server_is_told_whole_where_it_runs_and_one_of_the_client_is_not(caplog):
    assert explain(Refused("SESSION_ERROR", "It is over.")) == ("SESSION_ERROR", "It is over.")
    assert explain(Problem("There is no such task.")) == ("EXECUTION_ERROR", "There is no such task.")
    assert caplog.records == []
    assert explain(ZeroDivisionError("by zero")) == ("EXECUTION_ERROR", "by zero")
    assert [each.exc_info[0] for each in caplog.records] == [ZeroDivisionError]
