"""The flow makes the same datasets as a plain build, fails in one line, and leaves nothing running."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from shopwright.flows.release_options import ReleaseOptions
from shopwright.pipeline.models.role import read_model_options
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.progress import SilentProgress
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages, upstream
from tests.folders import checksums, listing
from tests.models.asking import described
from tests.models.server import Plan, Server
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
            yield PREFECT_API_URL.value()


def of_questions(paths):
    """Those of `questions` and of what it is made from."""
    others = set(all_stages()) - set(upstream("questions"))
    return {path: found for path, found in paths.items() if not others & set(re.split(r"[/.]", path))}


def test_a_flow_makes_what_a_build_makes(server, small, tmp_path):
    from shopwright.flows.build import build_in_prefect

    given = {"products": 1_200, "count": 20, "tokens": "6k", "per_trajectory": 4}
    made = build_in_prefect("questions", str(tmp_path), seed=3, workers=2, **given)
    assert checksums(tmp_path) == of_questions(checksums(small.folder))
    assert listing(tmp_path) == set(of_questions(dict.fromkeys(listing(small.folder))))
    assert made.fingerprint == small.read("questions").manifest.fingerprint


def test_a_flow_of_what_is_there_makes_nothing_again(server, copy):
    from shopwright.flows.build import build_in_prefect

    before = {path: path.stat().st_mtime_ns for path in copy.folder.rglob("*.*")}
    build_in_prefect("questions", str(copy.folder))
    assert {path: path.stat().st_mtime_ns for path in copy.folder.rglob("*.*")} == before


def test_what_has_changed_is_told_in_one_line(server, copy):
    words = [sys.executable, "-m", "shopwright.flows.build", "trajectories", "--run", str(copy.folder), "--count", "30"]
    done = subprocess.run(words, cwd=HOME, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"shopwright: error: personas in {copy.folder} was made differently: count 20 -> 30.")
    assert done.stderr.count("\n") == 1


def test_nothing_is_left_open_when_a_flow_has_ended(server, tmp_path):
    """DuckDB prints a page on leaks where a connection is still there when the interpreter ends."""
    words = ["personas", "--products", "60", "--count", "2", "--run", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "shopwright.flows.build", *words], cwd=HOME, check=True, capture_output=True, text=True
    )
    assert "leak" not in done.stderr


def test_tags_and_log_of_a_build_are_kept_by_prefect(server, tmp_path, capfd):
    from shopwright.flows.build import build_in_prefect

    build_in_prefect("catalog", str(tmp_path), workers=1, products=1_200)
    named = {"flow_runs": {"name": {"any_": [f"catalog in {tmp_path}"]}}}
    (run,) = api(server, "/flow_runs/filter", named)
    assert set(run["tags"]) == {"catalog", "local"}
    for said in ("catalog: 1 of 1 shards to make", "catalog: 1,200 rows, 0 rejected"):
        assert is_logged(server, run["id"], said)
    assert "Flow run" not in capfd.readouterr().err


def is_logged(server, run, said, seconds=15):
    """Whether Prefect keeps such a line of a run, soon: it gets them every few seconds."""
    asked, deadline = {"logs": {"flow_run_id": {"any_": [run]}}}, time.monotonic() + seconds
    while not (found := any(each["message"].startswith(said) for each in api(server, "/logs/filter", asked))):
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return found


class Vandal(SilentProgress):
    """Takes a file away once the work on it has been planned."""

    def __init__(self, path):
        self.path = path

    def start(self, *_, **__):
        self.path.unlink()


def test_input_that_goes_bad_while_a_flow_is_at_work_leaves_nothing(server, tmp_path, capfd):
    from shopwright.flows.build import build_in_prefect

    shop = tmp_path / "shop.csv"
    shop.write_text("title,price\nRed lamp,12\nBlue lamp,13\n")
    with pytest.raises(Problem, match=r"shop\.csv cannot be opened: No such file or directory"):
        build_in_prefect("catalog", str(tmp_path / "run"), workers=1, source=str(shop), progress=Vandal(shop))
    assert not listing(tmp_path)
    assert "Traceback" not in capfd.readouterr().err


WITHOUT_PREFECT = "import sys; from shopwright.flows.build import main; code = main(); sys.exit(99 if 'prefect' in sys.modules else code)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("trajectories", "--count", "-1"), "--count -1: Input should be greater than or equal to 1."),
        (("trajectories", "--colour", "red"), "trajectories has no setting --colour red."),
        (("lamps",), "There is no dataset lamps."),
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
    flow = Build("shopwright.flows.build", tmp_path / "run", *SMALL)
    flow.until("trajectories:")
    flow.a_worker()
    flow.process.kill()
    assert flow.gone()
    Run(tmp_path / "run", workers=1).build("questions", per_trajectory=4)
    assert checksums(tmp_path / "run") == of_questions(checksums(small.folder))


@pytest.mark.slow
def test_a_flow_whose_worker_is_killed_makes_its_shard_again(server, small, tmp_path):
    flow = Build("shopwright.flows.build", tmp_path / "run", *SMALL)
    flow.until("trajectories:")
    os.kill(flow.a_worker(), signal.SIGKILL)
    code, told = flow.ended()
    assert code == 0, told
    assert checksums(tmp_path / "run") == of_questions(checksums(small.folder))


def api(server, path, body=None):
    """What Prefect's server answers."""
    data = json.dumps(body).encode() if body is not None else None
    with urlopen(Request(server + path, data, {"Content-Type": "application/json"})) as reply:
        return json.load(reply)


class Stuck(SilentProgress):
    """Makes reading a file hang, once: it is a pipe that nobody writes to until a shard reads it."""

    def __init__(self, path):
        self.path, self.aside, self.tries = path, path.with_suffix(".aside"), 0

    def start(self, *_, **__):
        self.path.rename(self.aside)
        os.mkfifo(self.path)
        threading.Thread(target=self.let_the_next_one_read, daemon=True).start()

    def let_the_next_one_read(self):
        self.pipe = os.open(self.path, os.O_WRONLY)  # waits for a reader, which then hangs
        self.tries += 1
        self.aside.rename(self.path)


@pytest.mark.slow
def test_a_shard_that_hangs_is_ended_and_made_again(server, tmp_path):
    from shopwright.flows.build import build_in_prefect

    shop = tmp_path / "shop.csv"
    shop.write_text("title,price\nRed lamp,12\nBlue lamp,13\n")
    stuck = Stuck(shop)
    made = build_in_prefect(
        "catalog", str(tmp_path / "run"), workers=1, source=str(shop), progress=stuck, minutes=5 / 60
    )
    os.close(stuck.pipe)
    assert (made.rows, stuck.tries) == (2, 1)


def test_a_build_holds_a_place_at_the_model_server_while_it_asks(server, tmp_path):
    from shopwright.flows.build import build_in_prefect

    def places():
        return api(server, "/v2/concurrency_limits/model-server")["active_slots"]

    held = []

    def says(body):
        held.append(places())
        return described(body)

    with Server(Plan(says=says)) as asked:
        models = read_model_options({"model": f"openai:test@{asked.url}"})
        build_in_prefect("personas", str(tmp_path), workers=1, models=models, products=1_200, count=3)
    assert held
    assert set(held) == {1}
    assert places() == 0


def test_without_a_server_that_stays_one_build_at_a_time_asks_a_model(tmp_path, capsys):
    """A build that ends, however it ends, lets go of its file."""
    from prefect.settings import PREFECT_HOME, temporary_settings

    from shopwright.flows.limits import wait_for_file

    at_work = []

    def ask(number):
        with wait_for_file():
            at_work.append(number)
            time.sleep(0.2)
            assert at_work == [number]
            at_work.remove(number)

    with temporary_settings({PREFECT_HOME: tmp_path}), ThreadPoolExecutor(2) as both:
        for each in [both.submit(copy_context().run, ask, number) for number in range(2)]:
            each.result()
    assert "model-server: 1 at work already" in capsys.readouterr().err


OWN = """
datasets = ["personas", "variants"]
[sizes]
"personas.count" = 40
"catalog.products" = 1200
"""


@pytest.fixture(scope="module")
def released(server, tmp_path_factory):
    """A release of two datasets, laid out in a folder: what was wanted, and the state of its run."""
    from shopwright.flows.deployed import release

    folder = tmp_path_factory.mktemp("released")
    (folder / "own.toml").write_text(OWN)
    wanted = ReleaseOptions().model_copy(
        update={"recipe": str(folder / "own.toml"), "run": f"{folder}/run", "to": f"{folder}/hub", "workers": 1}
    )
    return wanted, release(wanted, return_state=True)


def artifact(server, key):
    return api(server, f"/artifacts/{key}/latest")


def test_a_release_is_one_flow_that_makes_checks_and_publishes(released, server):
    wanted, state = released
    assert state.is_completed()
    assert len(Run(wanted.run).read("personas")) == 40
    assert Path(wanted.to, "README.md").exists()
    of_it = api(server, "/flow_runs/filter", {"flow_runs": {"id": {"any_": [str(state.state_details.flow_run_id)]}}})[0]
    under = {"flow_runs": {"parent_flow_run_id": {"any_": [of_it["id"]]}}}
    assert len(api(server, "/flow_runs/filter", under)) == 2
    assert of_it["name"] == f"{wanted.recipe} at 1.0"


def test_a_release_shows_its_datasets_its_rejects_and_where_it_lies(released, server):
    from shopwright.flows.artifacts import make_artifact_key

    wanted, _ = released
    rows = json.loads(artifact(server, make_artifact_key(wanted.recipe, "datasets"))["data"])
    assert {row["dataset"]: row["rows"] for row in rows}["personas"] == 40
    assert artifact(server, make_artifact_key(wanted.recipe, "rejects"))["type"] == "table"
    assert f"`{wanted.to}`" in artifact(server, make_artifact_key(wanted.recipe, "links"))["data"]


def test_shards_are_shown_as_a_bar_that_reaches_its_end(released, server):
    bars = api(server, "/artifacts/filter", {"artifacts": {"type": {"any_": ["progress"]}}})
    assert {bar["data"] for bar in bars if bar["description"].startswith("personas")} == {100.0}


@pytest.mark.parametrize("to", ["hub", pytest.param("", marks=pytest.mark.slow)])
def test_a_check_that_fails_stops_a_release_and_says_why(released, server, tmp_path, to):
    from shopwright.flows.artifacts import make_artifact_key
    from shopwright.flows.deployed import release

    good, _ = released
    run = shutil.copytree(good.run, tmp_path / "run")
    manifest = run / "manifests" / "personas.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "rejects": {"never": 7}, "sum": None}))
    where = str(tmp_path / to) if to else ""
    state = release(good.model_copy(update={"run": str(run), "to": where}), return_state=True)
    assert state.is_failed()
    assert "checks fail, first personas" in state.message
    assert not (tmp_path / "hub").exists()
    told = artifact(server, make_artifact_key(good.recipe, "links"))["data"]
    assert told.startswith("**Failed, nothing was published:**")


def test_what_cannot_be_made_of_a_catalog_does_not_stop_the_rest_of_a_release(released, tmp_path):
    from shopwright.flows.deployed import release

    good, _ = released
    text = OWN.replace('"personas", "variants"', '"catalog_fine", "variants"') + '"catalog_fine.leaves" = 500\n'
    (tmp_path / "own.toml").write_text(text)
    places = {"recipe": str(tmp_path / "own.toml"), "run": str(tmp_path / "run"), "to": str(tmp_path / "hub")}
    state = release(good.model_copy(update=places), return_state=True)
    assert state.is_failed()
    assert state.message.count("Not made of this catalog: catalog_fine: ") == 1
    assert "Lower --leaves" in state.message
    assert len(Run(places["run"]).read("variants"))
    assert not (tmp_path / "hub").exists()


@pytest.mark.slow
def test_a_release_that_takes_too_long_is_ended_and_goes_on_later(released, tmp_path):
    from shopwright.flows.deployed import release

    good, _ = released
    wanted = good.model_copy(update={"run": str(tmp_path / "run"), "to": "", "hours": 1 / 3600})
    state = release(wanted, return_state=True)
    assert state.is_failed()
    assert "took longer than" in state.message
    assert not Run(wanted.run).read("variants").manifest
    assert release(wanted.model_copy(update={"hours": 1}), return_state=True).is_completed()
    assert checksums(Path(wanted.run)) == checksums(Path(good.run))
