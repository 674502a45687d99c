"""A run on object storage: the same bytes as here, gone on with after a kill, one build at a time."""

import asyncio
import gc
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec

import pytest

from shopwright.pipeline import files
from shopwright.pipeline.__main__ import explain_exit
from shopwright.pipeline.files import filesystem_of, path_of, send, write_whole
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.models.replies import Replies
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import upstream
from shopwright.pipeline.verify import verify
from tests.faults.elsewhere import WHERE, Storage
from tests.processes import Build
from tests.publish.hub import LocalHub
from tests.scale import servers

pytestmark = pytest.mark.skipif(not (find_spec("s3fs") and find_spec("moto")), reason="needs s3fs and moto")
"""Looked for and not imported, which takes seconds in each process that collects these tests."""
SMALL = {"products": 1_200, "count": 20, "tokens": "6k"}
WORDS = ("build", "trajectories", "--seed", "3", "--products", "1200", "--count", "48", "--tokens", "6k")


@pytest.fixture(scope="module")
def keys():
    with servers.storage() as found:
        yield found


@pytest.fixture
def bucket(keys, monkeypatch, tmp_path):
    """The address of an empty folder on the server."""
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()  # they know the server of an earlier test
    name = f"b{time.monotonic_ns()}"
    s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True).mkdir(name)
    return f"s3://{name}/runs/one"


def sums(run, names):
    """Of every file that the manifests tell of."""
    return {path: facts.sha256 for name in names for path, facts in run.read(name).manifest.files.items()}


@pytest.mark.slow
def test_a_run_on_storage_has_the_same_bytes_as_one_here_and_can_be_verified(bucket, small):
    there = Run(bucket, seed=3, workers=1)
    there.build("trajectories", **SMALL)
    assert sums(there, upstream("trajectories")) == sums(small, upstream("trajectories"))
    assert not [str(verdict) for verdict in verify(there) if verdict.failed]
    left = {path.name for path in there.folder.rglob("*") if path.name.startswith(".")}
    assert not left


def test_rows_are_read_there_as_they_are_here(bucket, small):
    there = Run(bucket, seed=3, workers=1)
    there.build("personas", products=1_200, count=20)
    mine, theirs = small.read("personas"), there.read("personas")
    assert len(theirs) == len(mine) == 20
    assert list(theirs) == list(mine)
    assert theirs.table(["id"]) == mine.table(["id"])
    assert list(theirs.rows(range(3, 7))) == list(mine.rows(range(3, 7)))
    query = "select id, file_row_number from rows where budget > 100 order by 1"
    assert theirs.sql(query) == mine.sql(query)


@pytest.mark.slow
def test_a_build_there_that_is_killed_goes_on_and_makes_no_finished_shard_again(bucket, keys, tmp_path):
    build = Build("shopwright.pipeline", bucket, *WORDS, **keys, XDG_CACHE_HOME=str(tmp_path))
    build.until("trajectories:")
    folder = path_of(f"{bucket}/trajectories")
    while not (kept := times(folder)):
        time.sleep(0.05)
    os.killpg(build.process.pid, 9)
    build.process.wait()
    kept = times(folder)
    words = [sys.executable, "-m", "shopwright.pipeline", *WORDS, "--run"]
    again = subprocess.run([*words, bucket], env={**os.environ, **keys}, check=False, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert times(folder) | kept == times(folder)
    Run(tmp_path / "here", seed=3, workers=2).build("trajectories", products=1_200, count=48, tokens="6k")
    assert sums(Run(bucket), upstream("trajectories")) == sums(Run(tmp_path / "here"), upstream("trajectories"))


def times(folder):
    return {path.name: path.stat().st_mtime for path in folder.glob("part-*.parquet")}


def test_a_second_build_is_told_who_is_at_work(bucket):
    first = Run(bucket, workers=1)
    with first.lock(), pytest.raises(Problem, match=rf"Another build .* \(process {os.getpid()} on "):
        Run(bucket).build("catalog", products=20)
    assert not list(first.folder.rglob("*"))
    Run(bucket).build("catalog", products=20)


@pytest.mark.parametrize(
    ("holder", "taken"),
    [
        ({"host": socket.gethostname(), "pid": 2**22 + 1, "key": "x", "beat": 3600}, True),
        ({"host": "elsewhere", "pid": 1, "key": "x", "beat": -files.SILENT - 10}, True),
        ({"host": "elsewhere", "pid": 1, "key": "x", "beat": 3600}, True),
        ({"host": "elsewhere", "pid": 1, "key": "x", "beat": -10}, False),
        ("torn", True),
    ],
    ids=["its process is gone", "silent for long", "silent, its clock ahead", "at work elsewhere", "unreadable"],
)
def test_a_lock_is_taken_over_only_from_the_dead(bucket, holder, taken, monkeypatch):
    monkeypatch.setattr(files, "BEAT", 0.1)
    run = Run(bucket, workers=1)
    lock = run.folder / "manifests" / ".lock"
    if holder != "torn":
        holder = {**holder, "beat": time.time() + holder["beat"]}
    lock.write_text("{" if holder == "torn" else json.dumps(holder))
    if taken:
        run.build("catalog", products=20)
        assert run.read("catalog").manifest
    else:
        with pytest.raises(Problem, match="process 1 on elsewhere"):
            run.build("catalog", products=20)
        assert json.loads(lock.read_text()) == holder


@pytest.mark.parametrize("set_by", [-3600, 3600])
def test_whose_clock_was_set_keeps_its_lock_as_long_as_it_is_at_work(bucket, monkeypatch, set_by):
    monkeypatch.setattr(files, "BEAT", 0.2)
    with Run(bucket).lock(), monkeypatch.context() as patch:
        patch.setattr(files.socket, "gethostname", lambda: "another")
        patch.setattr(files, "time", lambda: time.time() + set_by)
        with pytest.raises(Problem, match="Another build is at work"):
            Run(bucket).build("catalog", products=20)


def test_of_many_that_come_for_a_lock_at_once_one_gets_it(bucket):
    lock = Run(bucket, workers=1).folder / "manifests" / ".lock"
    together = threading.Barrier(8)

    def come(number):
        together.wait()
        return files.create_lock_file(lock, {"host": "here", "pid": number, "key": str(number)})

    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(come, range(8)))
    assert sum(got) == 1
    assert json.loads(lock.read_text())["pid"] == got.index(True)


def test_who_holds_a_lock_says_so_again_and_again(bucket, monkeypatch):
    monkeypatch.setattr(files, "BEAT", 0.05)
    run = Run(bucket, workers=1)
    lock = run.folder / "manifests" / ".lock"
    with run.lock():
        first = files.read_lock(lock)["beat"]
        for _ in range(200):
            if files.read_lock(lock)["beat"] > first:  # one request: between two the lock may be another
                break
            time.sleep(0.05)
        else:
            raise AssertionError("it was silent")
    assert not lock.exists()


def test_replies_are_kept_there_too_and_come_back_on_another_machine(bucket, monkeypatch, tmp_path):
    there = path_of(bucket) / "replies"
    mine = Replies(there, "personas-writer-00000")
    mine.put("a key", "a prompt", Reply("hello"))
    mine.close()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another machine"))
    assert Replies(there, "other").get("a key").text == "hello"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://there-is-none/run", "bucket does not exist"),
        ("gs://bucket/run", "pip install gcsfs"),
        ("nonsense://bucket/run", "nonsense"),
    ],
)
def test_a_folder_that_cannot_be_used_is_told_in_one_line(bucket, shopwright, address, said):
    code, out, err = shopwright("build", "catalog", "--run", address)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_keys_that_are_missing_are_told_in_one_line(bucket, shopwright, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    code, _, err = shopwright("show", "catalog", "--run", bucket)
    assert code == 2
    assert "credentials" in err
    assert err.count("\n") == 1
    s3fs.S3FileSystem.clear_instance_cache()


def test_where_a_file_shows_before_it_is_whole_it_is_sent_under_another_name_first(tmp_path):
    """Of a disk that is reached by fsspec, say by SFTP."""
    from fsspec.implementations.local import LocalFileSystem

    steps = []

    class Slow(LocalFileSystem):
        protocol = "slow"

        def put_file(self, here, there, **_):
            steps.append(("put", there))
            super().put_file(here, there)

        def mv(self, here, there, **_):
            steps.append(("mv", there))
            super().mv(here, there)

    class There:
        """What `send` knows of a path."""

        def __init__(self, path):
            self.fs, self.path, self.name = Slow(), str(path), path.name

        @property
        def parent(self):
            from pathlib import Path

            return There(Path(self.path).parent)

    (tmp_path / "file").write_text("whole")
    send(tmp_path / "file", There(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").read_text() == "whole"
    assert [step for step, _ in steps] == ["put", "mv"]
    assert steps[0][1] != steps[1][1] == str(tmp_path / "a" / "b")


@pytest.mark.slow
def test_a_run_may_be_in_a_dataset_on_the_hub(small, tmp_path):
    with LocalHub(tmp_path / "hub") as hub:
        environment = {**os.environ, **hub.environment(tmp_path / "home", HF_HUB_DISABLE_XET="1")}
        make = "from huggingface_hub import create_repo; create_repo('user/runs', repo_type='dataset')"
        subprocess.run([sys.executable, "-c", make], env=environment, check=True)
        words = ("build", "personas", "--seed", "3", "--products", "1200", "--count", "20", "--workers", "1")
        for command in (words, ("verify", "--workers", "1")):
            where = "hf://datasets/user/runs/one"
            run = [where] if command[0] == "verify" else ["--run", where]
            done = subprocess.run(
                [sys.executable, "-m", "shopwright.pipeline", *command, *run],
                env=environment,
                check=False,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
        there = hub.files("user/runs")
    mine = sums(small, ["catalog", "personas"])
    assert {f"one/{path}" for path in mine} < set(there)
    assert not [path for path in there if "/." in path]


@pytest.mark.slow
def test_storage_that_falls_silent_ends_a_build_in_one_line(tmp_path):
    with servers.storage() as keys:
        import s3fs

        endpoint = {"endpoint_url": keys["AWS_ENDPOINT_URL"]}
        known = {"key": "test", "secret": "test", "client_kwargs": endpoint, "skip_instance_cache": True}
        s3fs.S3FileSystem(**known).mkdir("bucket")
        environment = {**os.environ, **keys, "AWS_MAX_ATTEMPTS": "1"}
        build = Build("shopwright.pipeline", "s3://bucket/run", *WORDS, **environment)
        build.until("trajectories:")
    code, said = build.ended()
    assert code == 3, said
    assert said.splitlines()[-1].endswith("What is finished is kept: run the same command again.")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("refuses", "Could not connect to the endpoint|Connection was closed"),
        ("cuts", "Response payload is not completed"),
    ],
)
def test_storage_that_fails_while_duckdb_reads_is_told_in_one_line(tmp_path, monkeypatch, how, said):
    import s3fs

    with closing(Storage(tmp_path)) as storage:
        for name, value in storage.environment.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        Run(WHERE, seed=3, workers=1).build("catalog", products=200)
        (file,) = Run(WHERE).read("catalog").files
        with files.connect_duckdb([file]) as connection:
            storage.door.close(for_good=False)
            if how == "cuts":
                storage.open()
                storage.door.most = 3_000
            with pytest.raises(Exception, match=said) as raised:
                connection.execute("SELECT title FROM read_parquet($file)", {"file": str(file)}).fetchall()
    code, words = explain_exit(raised.value)
    assert (code, words.count("\n")) == (3, 0)
    assert re.match(f"shopwright: error: (?:{said})", words)
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(("error", "told"), [(ConnectionResetError, False), (ValueError, True)])
def test_a_connection_that_is_lost_is_told_by_who_asked_alone(bucket, caplog, error, told):
    """An HTTP library may leave the end of a connection in a task that nobody waits for."""
    from fsspec.asyn import get_loop

    async def leave():
        async def fail():
            raise error("nobody waits for this")

        await asyncio.wait([asyncio.create_task(fail())])

    filesystem_of(path_of(bucket))
    asyncio.run_coroutine_threadsafe(leave(), get_loop()).result(10)
    gc.collect()
    deadline = time.monotonic() + (10 if told else 0)
    while "nobody waits for this" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ("nobody waits for this" in caplog.text) == told


def test_a_text_is_there_whole_or_as_it_was(bucket):
    path = path_of(bucket) / "manifests" / "x.json"
    write_whole(path, "one")
    write_whole(path, "two")
    assert path.read_text() == "two"
    assert [one.name for one in path.parent.iterdir()] == ["x.json"]
