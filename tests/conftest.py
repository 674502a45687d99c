import fcntl
import gc
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from functools import cache, partial
from importlib import metadata
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from docs.make import small_run
from shopwright.pipeline.__main__ import main
from shopwright.pipeline.rubbish import look_rarely
from shopwright.pipeline.run import Run
from shopwright.pipeline.sandbox.kernel import WITHOUT
from shopwright.pipeline.stages import all_stages
from tests import toys as toy_stages

if "PYTEST_XDIST_WORKER" not in os.environ:  # else the process that began this one has found it out
    LACKING = json.loads(subprocess.check_output([sys.executable, "-m", "shopwright.pipeline.sandbox.kernel"]))
    """What this machine cannot keep foreign code in with; tests of that skip, and the others trust their own code."""
    os.environ[WITHOUT] = ",".join(LACKING)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
"""Where it is forbidden, each of some hundred processes that these tests start compiles again all that it imports."""
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""Else what tests start would be deaf to them where these run in the background of a script, or under `nohup`."""
LONGEST = """
    test_forks.py test_flows.py test_contract.py test_phrases.py test_look.py test_run.py test_docs.py test_storage.py test_kills.py test_app.py test_model_server.py
    test_reading.py test_policy_qa.py test_shop.py test_play.py test_stage.py test_processes.py test_evaluate.py test_questions.py
    test_feasibility.py test_substitution.py test_verify.py test_realism.py test_certificates.py test_trajectories.py test_asked.py
    test_text_alone.py test_cli.py test_report.py test_audit.py test_browse.py test_any_catalog.py test_unanswered.py
""".split()
"""Begun first where several processes share the files: one that is begun last keeps the others waiting. One of the first three builds what most look at."""
HOME = Path(__file__).parents[1]
KEPT = HOME / ".pytest_cache" / "runs"
settings.register_profile("shopwright", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("shopwright")


def pytest_configure(config):
    config.option.loadscopereorder = False  # xdist would begin with the files of most tests, which take seconds
    gc.disable()  # what is imported and collected stays to the end, and looking through it takes a fifth of the time


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Looking for examples takes longer than looking for tests, and few files have any."""
    found = yield
    if file_path.suffix == ".py" and ">>> " not in file_path.read_text(encoding="utf-8"):
        return [each for each in found if not isinstance(each, DoctestModule)]
    return found


def pytest_collection_finish():
    gc.freeze()
    gc.enable()
    look_rarely()  # as commands do


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items):
    for item in items:
        if {"small", "untuned"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("built")
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A small finished run; tests look at it and change nothing. Each process of the tests has a copy of one."""
    return copy_of("small", partial(small_run, workers=1), tmp_path_factory)


@pytest.fixture(scope="session")
def untuned(tmp_path_factory):
    """A run with many questions, on customers on whom no threshold was tuned; tests look at it and change nothing."""
    return copy_of("untuned", build_untuned, tmp_path_factory)


def build_untuned(folder):
    run = Run(folder, seed=77, workers=1)
    run.build("trajectories", products=3_000, count=16, tokens="16k")
    run.build("questions", per_trajectory=40)


def copy_of(name, make, tmp_path_factory):
    """A copy of a run that is made by the first of several processes that ask for it, while the others wait; and that is there for the
    next tests of the same project, those of the trainers for example.
    """
    folder = KEPT / digest_project() / name
    for old in sorted(KEPT.glob("*"), key=os.path.getmtime)[:-8]:
        shutil.rmtree(old, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            shutil.rmtree(folder.with_suffix(".begun"), ignore_errors=True)
            make(folder.with_suffix(".begun"))
            folder.with_suffix(".begun").rename(folder)
    return Run(shutil.copytree(folder, tmp_path_factory.getbasetemp() / name), workers=1)


@cache
def digest_project():
    """Of all that may decide a byte of a run: the code, its data, this file, and the libraries that write."""
    versions = [
        sys.version,
        *(metadata.version(name) for name in ("duckdb", "numpy", "pyarrow", "pydantic", "sqlglot")),
    ]
    found = hashlib.sha256(repr(versions).encode())
    files = (path for top in ("pipeline", "schemas", "prompts", "data/reference") for path in (HOME / top).rglob("*.*"))
    for path in sorted([*files, HOME / "docs" / "make.py", Path(__file__)]):
        if path.is_file() and "__pycache__" not in path.parts:
            found.update(f"{path.relative_to(HOME)} {hashlib.sha256(path.read_bytes()).hexdigest()}".encode())
    return found.hexdigest()[:16]


@pytest.fixture
def copy(small, tmp_path):
    """The same run to be changed."""
    return Run(shutil.copytree(small.folder, tmp_path / "copy"), workers=1)


@pytest.fixture
def shopwright(capfd):
    """The command line in this process: `shopwright("list")` gives the exit code and what was printed."""

    def command(*arguments):
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return code, out, err

    return command


@pytest.fixture
def toys(monkeypatch):
    """Two stages more, `toys` and `boxes`, small enough to see through."""
    for stage in (toy_stages.toys, toy_stages.boxes):
        monkeypatch.setitem(all_stages(), stage.name, stage)
