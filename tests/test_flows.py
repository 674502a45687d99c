"""The flow makes the same datasets as a plain build, fails in one line, and leaves nothing running."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.problem import Problem
from pipeline.progress import Silent
from pipeline.run import Run, all_stages, upstream
from tests.folders import checksums, listing
from tests.processes import Build

HOME = Path(__file__).parents[1]
SMALL = ("questions", "--seed", "3", "--products", "1200", "--count", "20", "--tokens", "6k", "--per-trajectory", "4")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A Prefect server for as long as these tests run, with a home of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(tmp_path_factory.mktemp("prefect")))
        patch.setenv("DO_NOT_TRACK", "1")
        from prefect.settings import PREFECT_API_URL
        from prefect.testing.utilities import prefect_test_harness

        with prefect_test_harness(server_startup_timeout=90):
            patch.setenv("PREFECT_API_URL", PREFECT_API_URL.value())
            yield


def of_questions(paths):
    """Those of `questions` and of what it is made from."""
    others = set(all_stages()) - set(upstream("questions"))
    return {path: found for path, found in paths.items() if not others & set(re.split(r"[/.]", path))}


def test_a_flow_makes_what_a_build_makes(server, small, tmp_path):
    from flows.build import build_dataset

    given = {"products": 1_200, "count": 20, "tokens": "6k", "per_trajectory": 4}
    made = build_dataset("questions", str(tmp_path), seed=3, workers=2, **given)
    assert checksums(tmp_path) == of_questions(checksums(small.folder))
    assert listing(tmp_path) == set(of_questions(dict.fromkeys(listing(small.folder))))
    assert made.fingerprint == small.read("questions").manifest.fingerprint


def test_a_flow_of_what_is_there_makes_nothing_again(server, copy):
    from flows.build import build_dataset

    before = {path: path.stat().st_mtime_ns for path in copy.folder.rglob("*.*")}
    build_dataset("questions", str(copy.folder))
    assert {path: path.stat().st_mtime_ns for path in copy.folder.rglob("*.*")} == before


def test_what_has_changed_is_told_in_one_line(server, copy):
    words = [sys.executable, "-m", "flows.build", "trajectories", "--run", str(copy.folder), "--count", "30"]
    done = subprocess.run(words, cwd=HOME, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"shopwright: error: personas in {copy.folder} was made differently: count 20 -> 30.")
    assert done.stderr.count("\n") == 1


class Vandal(Silent):
    """Takes a file away once the work on it has been planned."""

    def __init__(self, path):
        self.path = path

    def start(self, *_):
        self.path.unlink()


def test_input_that_goes_bad_while_a_flow_is_at_work_leaves_nothing(server, tmp_path, capfd):
    from flows.build import build_dataset

    shop = tmp_path / "shop.csv"
    shop.write_text("title,price\nRed lamp,12\nBlue lamp,13\n")
    with pytest.raises(Problem, match=r"There is no file or folder .*shop\.csv"):
        build_dataset("catalog", str(tmp_path / "run"), workers=1, source=str(shop), progress=Vandal(shop))
    assert not listing(tmp_path)
    assert "Traceback" not in capfd.readouterr().err


WITHOUT_PREFECT = (
    "import sys; from flows.build import main; code = main(); sys.exit(99 if 'prefect' in sys.modules else code)"
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trajectories", "--count", "-1"), "--count -1: Input should be greater than or equal to 1."),
        (("trajectories", "--colour", "red"), "trajectories has no setting --colour red."),
        (("lamps",), "invalid choice: 'lamps'"),
    ],
)
def test_bad_input_is_told_before_prefect_starts(tmp_path, words, said):
    command = [sys.executable, "-c", WITHOUT_PREFECT, *words, *(["--run", str(tmp_path)] if len(words) > 1 else [])]
    done = subprocess.run(command, cwd=HOME, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("shopwright: error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not listing(tmp_path)


def test_a_killed_flow_leaves_no_process_and_a_build_goes_on_where_it_was(server, small, tmp_path):
    flow = Build("flows.build", tmp_path / "run", *SMALL)
    flow.until("trajectories:")
    flow.a_worker()
    flow.process.kill()
    assert flow.gone()
    Run(tmp_path / "run", workers=1).build("questions", per_trajectory=4)
    assert checksums(tmp_path / "run") == of_questions(checksums(small.folder))


def test_a_flow_whose_worker_is_killed_ends_in_one_line(server, tmp_path):
    flow = Build("flows.build", tmp_path / "run", *SMALL)
    flow.until("trajectories:")
    os.kill(flow.a_worker(), signal.SIGKILL)
    code, told = flow.ended()
    assert code == 3
    assert told.startswith("shopwright: error: A worker process was ended from outside")
    assert told.count("\n") == 2  # the second says what there is so far
    assert Run(tmp_path / "run").read("personas").manifest
