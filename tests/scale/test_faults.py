"""Faults of clusters and of storage: killed again and again, hung, damaged; the same bytes in the end."""

import os
import shutil
import subprocess
import sys
import time
from random import Random

import pytest

from shopwright.pipeline.files import path_of
from shopwright.pipeline.progress import SilentProgress
from shopwright.pipeline.run import Run, upstream
from tests.processes import Build
from tests.scale import servers
from tests.scale.test_runners import CLUSTERS, SMALL

NAMES = upstream("trajectories")
KILLS = int(os.environ.get("KILLS", "6"))
"""Of each kind; `KILLS=50 make test-cluster` for as many as of a build here."""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("here"), seed=3)
    run.build("trajectories", products=1_200, count=96, tokens="6k")
    return sums(run)


@pytest.fixture(params=CLUSTERS)
def cluster(request):
    package, start = CLUSTERS[request.param]
    pytest.importorskip(package)
    with start() as found:
        yield found


def sums(run):
    return {path: f.sha256 for name in NAMES for path, f in run.read(name).manifest.files.items()}


def killed_at_random(kills, chance, begin, finished):
    """Begins it again and again, and kills it; in the end it is let be. One that was finished in between is looked at, and begun anew."""
    while kills:
        build = begin()
        if not any("to make" in line for line in build.process.stderr):
            assert build.process.wait() == 0
            finished()
            continue
        time.sleep(chance.uniform(0, 1.5))
        if build.process.poll() is None:
            os.killpg(build.process.pid, 9)
            kills -= 1
        build.process.wait()
    code, said = begin().ended()
    assert code == 0, said


@pytest.mark.slow
def test_killed_again_and_again_a_build_on_a_cluster_comes_out_as_here(cluster, here, tmp_path):
    runner, _ = cluster

    def begin():
        words = ("build", *SMALL, "--runner", runner)
        return Build("shopwright.pipeline", tmp_path / "run", *words, RAY_AUTH_TOKEN=servers.TOKEN)

    def finished():
        assert sums(Run(tmp_path / "run")) == here
        shutil.rmtree(tmp_path / "run")

    killed_at_random(KILLS, Random(runner.partition(":")[0]), begin, finished)
    assert sums(Run(tmp_path / "run")) == here
    assert not [path for path in (tmp_path / "run").rglob("*") if path.suffix == ".tmp" or ".building" in path.name]


HANGS = """
import os, sys
from pathlib import Path
from shopwright.pipeline.run import Run
from tests.test_flows import Stuck
folder = Path(sys.argv[2])
(folder / "shop.csv").write_text("title,price\\nRed lamp,12\\nBlue lamp,13\\n")
stuck = Stuck(folder / "shop.csv")
made = Run(folder / "run", runner=sys.argv[1], minutes=5 / 60).build("catalog", source=str(stuck.path), progress=stuck)
assert (made.rows, stuck.tries) == (2, 1)
"""


@pytest.mark.slow
def test_a_shard_that_hangs_in_a_worker_of_a_cluster_is_ended_and_made_again(cluster, tmp_path):
    runner, _ = cluster
    words = [sys.executable, "-c", HANGS, runner, str(tmp_path)]
    environment = {**os.environ, "RAY_AUTH_TOKEN": servers.TOKEN}
    done = subprocess.run(words, env=environment, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_killed_again_and_again_a_build_on_storage_comes_out_as_here(here, tmp_path, monkeypatch):
    pytest.importorskip("s3fs")
    import s3fs

    with servers.storage() as keys:
        for name, value in keys.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir("bucket")
        where = "s3://bucket/run"

        def finished():
            assert sums(Run(where)) == here
            s3fs.S3FileSystem(skip_instance_cache=True).rm("bucket/run", recursive=True)

        killed_at_random(
            KILLS, Random("storage"), lambda: Build("shopwright.pipeline", where, "build", *SMALL), finished
        )
        assert sums(Run(where)) == here
        cut_there(where)
        told = Damaged()
        Run(where, workers=1).build("trajectories", progress=told)
        assert list(told.of) == ["personas/part-00000.parquet", "trajectories/part-00001.parquet"]
        assert sums(Run(where)) == here


def cut_there(where):
    """The end of one file is missing, and another file is."""
    first, second = (
        path_of(f"{where}/{name}") for name in ("personas/part-00000.parquet", "trajectories/part-00001.parquet")
    )
    first.write_bytes(first.read_bytes()[:-100])
    second.unlink()


class Damaged(SilentProgress):
    """Progress that keeps what was damaged."""

    def __init__(self):
        self.of = {}

    def report_damage(self, name, files):
        self.of |= files
