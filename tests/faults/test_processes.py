"""Builds that meet one another, that are asked to stop, that hang: one line says so, and the rows are the same."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from random import Random
from socket import gethostname

import pytest

from shopwright.pipeline import run as run_module
from shopwright.pipeline.files import describe_machine_error, lock_run
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from tests.folders import checksums, listing
from tests.processes import Build

SMALL = ("build", "trajectories", "--products", "1200", "--count", "96", "--tokens", "6k")
STOPPED = "Stopped. What is finished is kept: run the same command again to go on.\n"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("undisturbed") / "run", workers=1)
    run.build("trajectories", products=1_200, count=96, tokens="6k")
    return run.folder


def assert_same(folder, undisturbed):
    assert checksums(folder) == checksums(undisturbed)
    assert listing(folder) - {"report.html"} == listing(undisturbed)


# --- two in one folder -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_of_several_builds_begun_at_once_in_one_folder_one_works_and_the_others_name_it(tmp_path, undisturbed):
    builds = [Build("shopwright.pipeline", tmp_path / "run", *SMALL) for _ in range(3)]
    ends = [build.ended() for build in builds]
    worked = [build.process.pid for build, (code, _) in zip(builds, ends, strict=True) if code == 0]
    assert len(worked) == 1, ends
    for code, said in ends:
        if code:
            assert code == 2
            told = re.search(rf"Another build is at work in {tmp_path}/run \(process (\d+) on (\S+) since 2\d+-", said)
            assert told, said
            assert (int(told[1]), told[2]) == (worked[0], gethostname())
    assert_same(tmp_path / "run", undisturbed)


def test_a_lock_goes_with_the_process_that_held_it(tmp_path):
    held = (
        "from pathlib import Path; from time import sleep; from shopwright.pipeline.files import lock_run; import sys\n"
    )
    held += "folder = Path(sys.argv[1])\nwith lock_run(folder, folder): print('held', flush=True); sleep(600)"
    other = subprocess.Popen([sys.executable, "-c", held, tmp_path], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    with pytest.raises(Problem, match=rf"\(process {other.pid} on {gethostname()} since"), lock_run(tmp_path, tmp_path):
        pass
    other.kill()
    other.wait()
    assert (tmp_path / ".lock").exists()
    with lock_run(tmp_path, tmp_path):
        assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    assert not listing(tmp_path)


def test_who_looks_at_a_lock_leaves_it(tmp_path):
    with lock_run(tmp_path, tmp_path):
        for _ in range(3):
            with pytest.raises(Problem, match="Another build is at work"), lock_run(tmp_path, tmp_path):
                pass
        assert (tmp_path / ".lock").exists()


@pytest.mark.parametrize("said", ["", "{", "[]", '{"pid": "x"}', "\0"])
def test_a_lock_that_says_nothing_still_locks(tmp_path, said):
    with lock_run(tmp_path, tmp_path):
        (tmp_path / ".lock").write_text(said)
        with pytest.raises(Problem, match="Another build is at work"), lock_run(tmp_path, tmp_path):
            pass


# --- asked to stop -----------------------------------------------------------------------------------------------------


@pytest.mark.slow  # once in `test_run.py`
@pytest.mark.parametrize("moments", [2, 20])
def test_asked_to_stop_at_any_moment_it_does_and_goes_on_later(tmp_path, undisturbed, moments):
    chance = Random(moments)
    for number in range(moments):
        how = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)[number % 3]
        build = Build("shopwright.pipeline", tmp_path / "run", *SMALL)
        build.until(chance.choice(["catalog:", "trajectories:"]) if not number else "trajectories:")
        time.sleep(chance.uniform(0, 0.5))
        os.killpg(build.process.pid, how)
        code, said = build.ended()
        assert build.gone()
        assert (code, said) == (130, STOPPED) or code == 0
        if code == 0:  # it was faster than the signal: there is nothing left to stop
            break
    assert Build("shopwright.pipeline", tmp_path / "run", *SMALL).ended()[0] == 0
    assert_same(tmp_path / "run", undisturbed)


def test_what_a_library_makes_of_being_stopped_is_no_error_and_what_is_finished_is_kept(
    shopwright, tmp_path, monkeypatch
):
    make_shard = run_module.make_shard

    def query_interrupted(build, index):
        if index < 2:
            return make_shard(build, index)
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        raise Problem("The file cannot be read: Query interrupted")

    monkeypatch.setattr(run_module, "make_shard", query_interrupted)
    code, _, err = shopwright("build", "catalog", "--products", "24000", "--run", tmp_path, "--workers", "1")
    assert code == 130, err
    assert err.endswith(STOPPED)
    assert len(list((tmp_path / "catalog").glob("part-*.parquet"))) == 2


class Cleared:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stop_that_comes_while_an_object_is_cleared_away_is_heard_after_the_shard(shopwright, tmp_path, monkeypatch):
    make_shard = run_module.make_shard

    def clear_one_away(build, index):
        if index == 1:
            Cleared()
        return make_shard(build, index)

    monkeypatch.setattr(run_module, "make_shard", clear_one_away)
    code, _, err = shopwright("build", "catalog", "--products", "4800", "--run", tmp_path, "--workers", "1")
    assert code == 130, err
    assert err.endswith(STOPPED)
    assert len(list((tmp_path / "catalog").glob("part-*.parquet"))) == 2
    monkeypatch.undo()
    assert Run(tmp_path, workers=1).build("catalog", products=4_800).rows == 4_800  # the stop was of the command alone


def test_what_nohup_has_begun_outlives_its_terminal(tmp_path):
    words = [
        "nohup",
        sys.executable,
        "-m",
        "shopwright.pipeline",
        "build",
        "catalog",
        "--products",
        "60",
        "--run",
        tmp_path / "run",
    ]
    build = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in build.stderr:
        if "catalog:" in line:
            break
    build.send_signal(signal.SIGHUP)
    assert build.wait() == 0, build.stderr.read()
    build.stderr.close()


# --- workers that hang -------------------------------------------------------------------------------------------------


@pytest.mark.slow  # in one process in `test_worker_pool.py`
def test_a_worker_that_is_stopped_is_replaced_and_one_may_still_ask_it_all_to_stop(tmp_path, undisturbed):
    build = Build("shopwright.pipeline", tmp_path / "run", *SMALL, "--minutes", "0.4")
    build.until("trajectories:")
    os.kill(build.a_worker(), signal.SIGSTOP)
    code, said = build.ended()
    assert code == 0, said
    assert build.gone()
    assert_same(tmp_path / "run", undisturbed)


def test_with_a_worker_that_is_stopped_it_ends_when_it_is_asked_to(tmp_path):
    build = Build("shopwright.pipeline", tmp_path / "run", *SMALL)
    build.until("trajectories:")
    os.kill(build.a_worker(), signal.SIGSTOP)
    os.kill(build.process.pid, signal.SIGTERM)
    assert build.ended() == (130, STOPPED)
    assert build.gone()


@pytest.mark.parametrize("megabytes", [1, pytest.param(64, marks=pytest.mark.slow)])
def test_a_worker_that_memory_runs_out_for_loses_nothing(tmp_path, undisturbed, megabytes):
    import resource

    # A library that cannot start its threads may wait for ever: its worker is ended, and its shard made again.
    build = Build("shopwright.pipeline", tmp_path / "run", *SMALL, "--minutes", "0.5")
    build.until("trajectories:")
    worker = build.a_worker()
    with contextlib.suppress(ProcessLookupError):
        pages = int(open(f"/proc/{worker}/statm").read().split()[0])  # noqa: SIM115
        most = pages * os.sysconf("SC_PAGE_SIZE") + (megabytes << 20)
        resource.prlimit(worker, resource.RLIMIT_AS, (most, most))
    code, said = build.ended()
    assert code in (0, 3), said
    if "Process ForkServerProcess" not in said:  # where memory runs out inside of it, Python tells of its worker itself
        assert "Traceback" not in said
    if code:
        assert "memory ran out" in said
        assert Build("shopwright.pipeline", tmp_path / "run", *SMALL).ended()[0] == 0
    assert build.gone()
    assert_same(tmp_path / "run", undisturbed)


# --- what a machine says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "a.parquet"), "a.parquet: No space left on device"),
        (OSError(5, "Input/output error"), "[Errno 5] Input/output error"),
        (
            OSError("[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"),
            "No space left",
        ),
        (MemoryError(), "memory ran out"),
        (OSError(12, "Cannot allocate memory"), "memory ran out"),
        (RuntimeError("can't start new thread"), "memory ran out"),
        (ImportError("a.so: failed to map segment from shared object"), "memory ran out"),
        (RuntimeError("could not write: No space left on device"), "No space left on device"),
        (RuntimeError("dictionary changed size"), ""),
        (ValueError("No space left on device"), ""),
        (FileNotFoundError(2, "No such file or directory", "a"), ""),
    ],
    ids=repr,
)
def test_what_the_machine_lacks_is_told_and_what_is_a_fault_of_ours_is_not_hidden(error, said):
    assert said in describe_machine_error(error)
    assert bool(said) == bool(describe_machine_error(error))


def test_a_run_on_a_full_disk_is_one_line_on_the_command_line(shopwright, tmp_path, monkeypatch):
    from shopwright.pipeline import run

    def full(*_):
        raise OSError(28, "No space left on device", "part-00000.parquet")

    monkeypatch.setattr(run, "make_shard", full)
    code, out, err = shopwright("build", "catalog", "--products", "60", "--run", tmp_path / "run", "--workers", "1")
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == (
        "shopwright: error: part-00000.parquet: No space left on device. What is finished is kept: run the same command again."
    )
