"""Shards made on a cluster are those made here, also when a worker is killed."""

import subprocess
import sys
import threading

import pytest

from shopwright.pipeline.problem import Ended, Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.runners import GIVEN_UP, Tasks, call_alone, check_runner
from shopwright.pipeline.stages import upstream
from tests.processes import Build
from tests.scale import servers

SMALL = ("trajectories", "--seed", "3", "--products", "1200", "--count", "96", "--tokens", "6k")
CLUSTERS = {"dask": ("distributed", servers.dask), "ray": ("ray", servers.ray)}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The same datasets, made in processes of this machine."""
    run = Run(tmp_path_factory.mktemp("here"), seed=3)
    run.build("trajectories", products=1_200, count=96, tokens="6k")
    return sums(run)


def sums(run):
    """Of every file that the manifests tell of."""
    return {path: f.sha256 for name in upstream("trajectories") for path, f in run.read(name).manifest.files.items()}


@pytest.fixture(params=CLUSTERS)
def cluster(request):
    package, start = CLUSTERS[request.param]
    pytest.importorskip(package)
    with start() as found:
        yield found


@pytest.mark.slow
def test_a_cluster_of_two_makes_what_is_made_here_and_again_when_one_is_killed(cluster, here, tmp_path):
    runner, workers = cluster
    build = Build(
        "shopwright.pipeline", tmp_path / "run", "build", *SMALL, "--runner", runner, RAY_AUTH_TOKEN=servers.TOKEN
    )
    build.until("trajectories:")
    folder = tmp_path / "run" / "trajectories"
    while not list(folder.glob(".part-*.tmp")):
        assert build.process.poll() is None, build.process.stderr.read()
    servers.kill(workers[-1])
    code, said = build.ended()
    assert code == 0, said
    assert sums(Run(tmp_path / "run")) == here
    assert not list((tmp_path / "run").rglob("*.tmp"))


@pytest.mark.slow
def test_a_cluster_that_is_gone_ends_the_build_in_one_line(tmp_path):
    pytest.importorskip("distributed")
    with servers.dask() as (runner, _):
        build = Build("shopwright.pipeline", tmp_path / "run", "build", *SMALL, "--runner", runner)
        build.until("trajectories:")
    code, said = build.ended()
    assert code == 3, said
    assert "Traceback" not in said
    assert said.startswith(f"shopwright: error: {GIVEN_UP}\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLUSTERS)
def test_a_cluster_is_started_where_none_is_named(kind, here, tmp_path):
    pytest.importorskip(CLUSTERS[kind][0])
    words = [
        sys.executable,
        "-m",
        "shopwright.pipeline",
        "build",
        *SMALL,
        "--run",
        tmp_path,
        "--runner",
        kind,
        "--workers",
        "2",
    ]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sums(Run(tmp_path)) == here


@pytest.mark.slow
def test_workers_of_a_cluster_write_to_storage(here):
    pytest.importorskip("distributed")
    pytest.importorskip("s3fs")
    import s3fs

    with pytest.MonkeyPatch.context() as patch, servers.storage() as keys:
        for name, value in keys.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir("bucket")
        with servers.dask() as (runner, workers):
            build = Build("shopwright.pipeline", "s3://bucket/run", "build", *SMALL, "--runner", runner)
            build.until("trajectories:")
            servers.kill(workers[0])
            code, said = build.ended()
        assert code == 0, said
        assert sums(Run("s3://bucket/run")) == here


@pytest.mark.parametrize("kind", CLUSTERS)
def test_a_cluster_that_is_not_there_is_told_in_one_line(kind, shopwright, tmp_path):
    pytest.importorskip(CLUSTERS[kind][0])
    address = f"127.0.0.1:{servers.free_port()}"
    runner = f"{kind}:tcp://{address}" if kind == "dask" else f"{kind}:{address}"
    code, out, err = shopwright("build", "catalog", "--products", "20", "--run", tmp_path, "--runner", runner)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"shopwright: error: No {kind.title()}")


@pytest.mark.parametrize("runner", ["spark", "local:8", "dask:", "ray:", ""])
def test_a_runner_that_there_is_not_is_told(runner, tmp_path):
    with pytest.raises(Problem, match="is not local, dask, ray"):
        Run(tmp_path, runner=runner)
    with pytest.raises(ValueError, match="is not local"):
        check_runner(runner)


def test_a_worker_with_other_code_is_refused(tmp_path, toys):
    from dataclasses import replace

    from shopwright.pipeline.shards import make_shard

    run = Run(tmp_path, workers=1)
    with run.lock():
        build = run.prepare("toys", {})
        other = replace(build, recipe=build.recipe.model_copy(update={"code": "another"}))
        with pytest.raises(Problem, match="The code has changed"):
            make_shard(other, 0)
    assert not list((tmp_path / "toys").glob("*"))


class Cluster:
    """A cluster of one thread that ends every call as it is told to."""

    def __init__(self, error=None):
        self.error = error

    def submit(self, function, *arguments):
        from concurrent.futures import Future

        found = Future()
        if self.error:
            found.set_exception(self.error)
        else:
            found.set_result(function(*arguments))
        return found


class Lost(Exception):
    pass


def test_a_lost_worker_ends_the_build_and_keeps_what_is_finished():
    tasks = Tasks(Cluster(Lost()).submit, Lost)
    with pytest.raises(Ended, match="What is finished is kept"):
        tasks.submit(int).result()


def test_bad_input_stays_what_it_is_also_from_afar():
    problem = Problem("no such file")
    wrapped = RuntimeError("in a worker")
    wrapped.cause = problem
    for error in (problem, wrapped):
        with pytest.raises(Problem, match="no such file"):
            Tasks(Cluster(error).submit, Lost).submit(int).result()
    assert Tasks(Cluster().submit, Lost).submit(max, 1, 2).result() == 2


def test_in_a_worker_with_threads_one_call_is_at_work_at_a_time():
    at_work, most = [], []

    def work():
        at_work.append(1)
        most.append(len(at_work))
        threading.Event().wait(0.01)
        at_work.pop()

    threads = [threading.Thread(target=call_alone, args=(work,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8
