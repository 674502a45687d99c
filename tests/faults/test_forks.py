"""What is done to the processes that workers are forked from: a build ends, leaves nothing running, and its bytes are those of an undisturbed one.

command -- starts --> server (Python's own) -- forks --> origin -- forks --> worker, worker
"""

import os
import re
import signal
import time
from contextlib import suppress
from random import Random

import pytest

from shopwright.pipeline.run import Run
from tests.folders import checksums
from tests.processes import Build

SMALL = ("build", "trajectories", "--products", "1200", "--count", "96", "--tokens", "6k")
WHO = ("server", "origin", "worker")
QUICKEST = ("server", signal.SIGINT)
QUICK = ((1, signal.SIGKILL, "server"), (1, signal.SIGKILL, "worker"))
ONE_LINE = re.compile(r"shopwright: error: A worker process was ended from outside.*\n(?:\d+ of .*\n)?", re.MULTILINE)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("undisturbed") / "run", workers=1)
    run.build("trajectories", products=1_200, count=96, tokens="6k")
    return checksums(run.folder)


def begin(folder):
    return Build("tests.faults.impatient", folder, *SMALL, "--minutes", "0.4")


def goes_on(folder, undisturbed):
    again = Build("tests.faults.impatient", folder, *SMALL)
    code, said = again.ended()
    assert code == 0, said
    assert again.gone()
    assert checksums(folder) == undisturbed


def send(build, who, how):
    """Sends a signal to the first of these, as soon as it is there; whether there was one."""
    while not (found := build.list_forked(who)):
        if build.process.poll() is not None:
            return False
        time.sleep(0.002)
    with suppress(ProcessLookupError):
        os.kill(found[0], how)
    return True


def check_end(build, undisturbed, codes=(0, 3)):
    code, said = build.ended(most=100)
    assert build.gone(), f"something is left of it, which said: {said}"
    assert code in codes, f"{code}: {said}"
    assert "Traceback" not in said, said
    if code == 3:
        assert ONE_LINE.search(said), said
    goes_on(build.folder, undisturbed)


@pytest.mark.parametrize(
    ("who", "how", "seed"),
    [
        pytest.param(
            who,
            how,
            seed,
            id=f"{who}-{how.name}-{seed}",
            marks=[] if (seed, how, who) in QUICK else pytest.mark.slow,
        )
        for who in WHO
        for how in (signal.SIGKILL, signal.SIGSTOP)
        for seed in range(1, 11)
    ],
)
def test_killed_or_stopped_it_is_replaced(tmp_path, undisturbed, who, how, seed):
    chance = Random(f"{who} {how} {seed}")
    build = begin(tmp_path / "run")
    for _ in range(chance.randrange(1, 4)):
        time.sleep(chance.uniform(0, 2))
        send(build, who, how)
    check_end(build, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("who", WHO)
def test_stopped_as_soon_as_it_is_there_it_is_replaced(tmp_path, undisturbed, who):
    build = begin(tmp_path / "run")
    assert send(build, who, signal.SIGSTOP)
    check_end(build, undisturbed)


@pytest.mark.parametrize("who", ["origin", pytest.param("worker", marks=pytest.mark.slow)])
def test_a_command_that_is_killed_leaves_nothing_even_where_one_was_stopped_at_work(tmp_path, undisturbed, who):
    build = begin(tmp_path / "run")
    build.until("trajectories:")
    build.a_worker()
    assert send(build, who, signal.SIGSTOP)
    build.process.kill()
    check_end(build, undisturbed, codes=(-9,))


@pytest.mark.parametrize(
    ("who", "how"),
    [
        pytest.param(who, how, id=f"{who}-{how.name}", marks=[] if (who, how) == QUICKEST else pytest.mark.slow)
        for who in WHO
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    ],
)
def test_with_one_stopped_it_ends_when_it_is_asked_to(tmp_path, undisturbed, who, how):
    build = begin(tmp_path / "run")
    build.until("trajectories:")
    assert send(build, who, signal.SIGSTOP)
    os.killpg(build.process.pid, how)
    check_end(build, undisturbed, codes=(130,))


@pytest.mark.slow
def test_killed_again_and_again_everything_ends(tmp_path, undisturbed):
    chance = Random(31)
    for _ in range(30):
        build = begin(tmp_path / "run")
        while build.process.poll() is None:
            time.sleep(chance.uniform(0, 0.3))
            send(build, chance.choice(WHO), chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP]))
        code, said = build.ended()
        assert build.gone(), said
        assert code in (0, 3), said
        assert "Traceback" not in said, said
    goes_on(tmp_path / "run", undisturbed)
