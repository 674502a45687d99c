"""What is killed at any moment goes on: no row is lost, none is there twice, and only what was on its way is asked again."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from shopwright.pipeline.models.role import Models
from shopwright.pipeline.run import Run
from tests.models import asking
from tests.models.asking import described, role, turns
from tests.models.server import Plan, Server, constant
from tests.processes import Build

AT_ONCE = 64
COUNT = 700


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("catalog"), seed=3, workers=1)
    run.build("catalog", products=6_000)
    return run.folder


@pytest.fixture
def server():
    with Server(Plan(says=described, latency=constant(0.05))) as started:
        yield started


@pytest.fixture
def begun(catalog, server, tmp_path):
    """Begins the same command each time."""
    shutil.copytree(catalog, tmp_path / "run")

    def begin(module="shopwright.pipeline", words=("build", "personas"), count=COUNT, **environment):
        given = ("--count", str(count), "--model", f"openai:toy@{server.url}", "--at-once", str(AT_ONCE))
        return Build(module, tmp_path / "run", *words, *given, **environment)

    return begin


def killed(build, server, requests, how=signal.SIGKILL):
    """Once the server was asked so often; how often it was asked when all of it had ended."""
    while server.count < requests:
        assert build.process.poll() is None, build.process.stderr.read()
        time.sleep(0.001)
    os.kill(build.process.pid, how)
    build.process.wait()
    assert build.gone()
    while server.now:
        time.sleep(0.005)
    return server.count


def asked_again(server):
    return server.count - len(server.came)


def replies(folder):
    return [
        json.loads(line) for path in (folder / "replies").glob("*.jsonl") for line in path.read_bytes().splitlines()
    ]


def assert_whole(folder, rows=COUNT):
    """Each shopper is there once, and what came of its reply is what the same build without a kill makes of it."""
    run = Run(folder, workers=1, models=Models(model="openai:toy@http://127.0.0.1:1/v1", patience=0.1))
    found = run.read("personas")
    ids = [row["id"] for part in (found, found.quarantine) for row in part.table().to_pylist()]
    assert sorted(ids) == [f"persona-{number:07d}" for number in range(rows)]
    kept = [reply["key"] for reply in replies(folder)]
    assert len(kept) == len(set(kept)) == rows
    before = found.manifest.fingerprint
    assert run.build("personas", rebuild=True).fingerprint == before  # from the replies that are kept, with no server


@pytest.mark.slow
def test_a_build_that_is_killed_twice_asks_again_only_what_was_on_its_way(begun, server, tmp_path):
    first = killed(begun(), server, 200)
    kept = len(replies(tmp_path / "run"))
    assert first - AT_ONCE <= kept <= first < COUNT
    second = killed(begun(), server, 450)
    assert asked_again(server) <= AT_ONCE
    assert second < COUNT
    path = next((tmp_path / "run" / "replies").iterdir())
    path.write_bytes(path.read_bytes() + b'{"key": "0123", "text": "torn')
    code, told = begun().ended()
    assert code == 0, told
    assert asked_again(server) <= 2 * AT_ONCE
    assert set(Counter(map(len, server.came.values()))) <= {1, 2, 3}
    assert_whole(tmp_path / "run")


@pytest.mark.slow
def test_a_build_that_is_stopped_asks_nothing_again(begun, server, tmp_path):
    for how, requests in (signal.SIGINT, 200), (signal.SIGTERM, 400):
        build = begun(count=700)
        killed(build, server, requests, how)
        assert build.process.returncode == 130
        assert len(replies(tmp_path / "run")) == server.count < 700
    code, told = begun(count=700).ended()
    assert code == 0, told
    assert asked_again(server) == 0
    assert_whole(tmp_path / "run", 700)


def test_of_a_conversation_that_is_killed_at_most_one_turn_is_asked_again(tmp_path):
    with Server(Plan(latency=constant(0.02))) as server:
        for _ in range(2):
            words = [sys.executable, "-m", asking.__name__, server.url, str(tmp_path), "150", "16", "6"]
            process = subprocess.Popen(words)
            until = server.count + 250
            while server.count < until:
                assert process.poll() is None, "it ended before it could be killed"
                time.sleep(0.001)
            process.kill()
            process.wait()
            while server.now:
                time.sleep(0.005)
        asked = role(server.url, tmp_path, at_once=16)
        said = list(asked.play(turns(number, 6) for number in range(150)))
    again = Counter()
    for body, times in server.came.items():
        again[json.loads(body)["messages"][0]["content"]] += len(times) - 1
    assert len(server.came) == 6 * 150
    assert set(again.values()) <= {0, 1, 2}  # one for each kill
    assert sum(again.values()) <= 2 * 16
    assert len(said) == len(set(said)) == 150


@pytest.mark.slow
def test_a_flow_that_is_killed_asks_again_only_what_was_on_its_way(begun, server, tmp_path, tmp_path_factory):
    quiet = {"PREFECT_HOME": str(tmp_path_factory.mktemp("prefect")), "DO_NOT_TRACK": "1"}
    flow = {"module": "shopwright.flows.build", "words": ("personas",)}
    try:
        build = begun(**flow, **quiet)
        while server.count < 400:
            assert build.process.poll() is None, build.process.stderr.read()
            time.sleep(0.001)
        build.process.kill()
        build.process.wait()
        count = -1
        while server.now or server.count > count:
            count = server.count
            time.sleep(0.5)
        assert server.count < COUNT
        code, told = begun(**flow, **quiet).ended()
        assert code == 0, told
    finally:
        build.gone(0)
    assert asked_again(server) <= AT_ONCE
    assert_whole(tmp_path / "run")
