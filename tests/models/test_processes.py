"""What a model writes is made by several processes: the rows of one, one budget, one limit of requests at once, and nothing is asked twice."""

import fcntl
import json
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from shopwright.pipeline.forks import Origin
from shopwright.pipeline.models.base import BudgetExceeded, Price, Reply, ServerUnreachable
from shopwright.pipeline.models.limits import INSIDE, PID, WAITING, Limits, open_limits, share_limits
from shopwright.pipeline.models.openai import Lane
from shopwright.pipeline.models.role import Models, PromptUsage
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import ROLES
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.worker_pool import WorkerDied, WorkerPool
from tests.models.asking import described, once, prompt, role
from tests.models.server import Plan, Server, constant, drawn
from tests.models.small_shards import UNITS, small_personas
from tests.processes import Build

COUNT = 4 * UNITS
AT_ONCE = 8


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("catalog"), seed=3, workers=1)
    run.build("catalog", products=1_200)
    return run.folder


@pytest.fixture
def folder(catalog, tmp_path):
    return shutil.copytree(catalog, tmp_path / "run")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setitem(all_stages(), "personas", small_personas())


@pytest.fixture
def server():
    with Server(Plan(says=described, latency=constant(0.03))) as started:
        yield started


def errs_once(body):
    first = len(body["messages"]) == 2
    return {"content": "Sure! Here it is:"} if first and drawn(body, "errs") < 0.3 else described(body)


def make(folder, server, workers, **options):
    models = Models(model=f"openai:toy@{server.url}", **{"at_once": AT_ONCE, **options})
    return Run(folder, workers=workers, models=models).build("personas", count=COUNT)


def asked_again(server):
    return server.count - len(server.came)


def replies(folder):
    return [line for path in (folder / "replies").glob("*.jsonl") for line in path.read_bytes().splitlines()]


def test_rows_and_figures_are_the_same_for_any_number_of_processes(catalog, tmp_path):
    prices = {"toy": Price(prompt=0.1, reply=0.7)}
    found = []
    for workers in 1, 2, 4:
        folder = shutil.copytree(catalog, tmp_path / str(workers))
        with Server(Plan(says=errs_once, latency=constant(0.005))) as server:
            made = make(folder, server, workers, prices=prices)
        assert server.most <= AT_ONCE
        assert asked_again(server) == 0
        assert len(list((folder / "replies").glob("*.jsonl"))) == 4
        found.append((made.fingerprint, made.files, made.usage, made.rows, server.count))
    assert found[0] == found[1] == found[2]
    assert COUNT == found[0][3] < found[0][4]


def test_one_request_at_once_is_one_in_all_processes(folder):
    with Server(Plan(says=described)) as server:
        make(folder, server, 2, at_once=1)
    assert (server.most, server.count) == (1, COUNT)


def test_processes_keep_to_one_budget_and_the_next_command_goes_on(folder):
    with Server(Plan(says=described, latency=constant(0.005))) as server:
        with pytest.raises(BudgetExceeded, match="--max-tokens 400 are used up") as ended:
            make(folder, server, 2, max_tokens=400)
        assert 40 <= server.count < 40 + AT_ONCE
        assert len(replies(folder)) == server.count
        (told,) = ended.value.__notes__
        assert f"({server.count} replies are kept)" in told
        make(folder, server, 2)
    assert (server.count, asked_again(server)) == (COUNT, 0)


def test_a_server_that_dies_ends_all_processes_with_one_error_and_the_next_command_goes_on(folder):
    class Dies(Plan):
        def fault(self, body, times):
            return "401" if server.answered >= 30 else ""

    with Server(Dies(says=described, latency=constant(0.005))) as server:
        with pytest.raises(ServerUnreachable, match="answers no request for toy: HTTP 401"):
            make(folder, server, 2)
        good = server.struck[""]
        assert len(replies(folder)) == good < COUNT
        server.plan = Plan(says=described)
        before = server.count
        make(folder, server, 2)
    assert server.count - before == COUNT - good


def test_a_request_that_waited_for_room_is_not_sent_when_the_budget_is_used_up(tmp_path):
    with Server() as server:
        asks = role(server.url, tmp_path, at_once=8, max_tokens=100)
        limits = asks.models.limits
        limits.numbers[limits.take_line(ROLES.index("writer")) + INSIDE] = 7  # of another process
        with pytest.raises(BudgetExceeded):
            list(asks.play(once(prompt(number)) for number in range(40)))
        assert (server.count, server.most) == (10, 1)


@pytest.mark.parametrize("fault", ["429", "503", "500"])
def test_what_is_tried_again_is_not_sent_when_the_budget_is_used_up(tmp_path, fault):
    with Server(Plan({fault: 1})) as server:
        asks = role(server.url, tmp_path, at_once=2, max_tokens=10)
        with pytest.raises(BudgetExceeded):
            list(asks.play(once(prompt(number)) for number in range(8)))
        assert 1 <= server.struck[""] <= 2


def test_what_is_paid_does_not_depend_on_the_order_of_replies():
    replies = [Reply("", prompt_tokens=number, tokens=number) for number in (1, 2, 3)]
    sums = []
    for order in replies, replies[::-1]:
        usage = PromptUsage(role="writer", model="toy")
        for reply in order:
            usage.add(prompt(1), reply, Price(prompt=0, reply=1e5))
        sums.append(usage.dollars)
    assert sums[0] == sums[1]


# Killed and stopped


@pytest.fixture
def begin(folder, server):
    """Begins the same command each time."""

    def begin():
        given = ("--count", str(COUNT), "--model", f"openai:toy@{server.url}", "--at-once", str(AT_ONCE))
        return Build("tests.models.small_shards", folder, "build", "personas", *given)

    return begin


def wait_until(build, true):
    while not true():
        assert build.process.poll() is None, build.process.stderr.read()
        time.sleep(0.001)


def assert_whole(folder):
    found = Run(folder).read("personas")
    assert [row["id"] for row in found.table(["id"]).to_pylist()] == [f"persona-{n:07d}" for n in range(COUNT)]
    keys = [json.loads(line)["key"] for line in replies(folder)]
    assert len(keys) == len(set(keys)) == COUNT


def test_of_a_worker_that_is_killed_only_what_was_on_its_way_is_asked_again(begin, server, folder):
    build = begin()
    worker = build.a_worker()
    wait_until(build, lambda: len(list((folder / "replies").glob("*.jsonl"))) > 1)  # both have asked
    os.kill(worker, signal.SIGKILL)
    code, told = build.ended()
    assert code == 0, told
    assert server.most <= 2 * AT_ONCE  # the server does not see that nobody waits for some
    assert asked_again(server) <= AT_ONCE
    assert_whole(folder)


@pytest.mark.parametrize(
    ("how", "lost"),
    [
        (signal.SIGKILL, AT_ONCE),
        *(pytest.param(how, 0, marks=pytest.mark.slow) for how in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_of_a_build_that_is_ended_what_was_answered_is_not_asked_again(begin, server, folder, how, lost):
    build = begin()
    wait_until(build, lambda: server.count >= 40)
    os.kill(build.process.pid, how)
    build.process.wait()
    assert build.gone()
    while server.now:
        time.sleep(0.005)
    assert server.count - lost <= len(replies(folder)) <= server.count < COUNT
    code, told = begin().ended()
    assert code == 0, told
    assert asked_again(server) <= lost
    assert_whole(folder)


# Who may ask


def test_where_several_wait_each_gets_its_share_and_alone_all_of_it():
    with share_limits(Limits()) as limits:
        first, second = (Lane(8, limits, "writer") for _ in range(2))
        other = Lane(8, limits, "judge")
        limits.numbers[first.line + INSIDE] = 6
        assert limits.room(first.line, 8, leaving=True) == 2
        assert limits.room(other.line, 8, leaving=False) == 8
        limits.numbers[second.line + INSIDE] = 1
        limits.numbers[second.line + WAITING] = time.monotonic()
        assert limits.room(first.line, 8, leaving=True) == -2
        assert limits.room(second.line, 8, leaving=True) == 1


def test_of_a_process_that_is_no_more_nothing_is_on_its_way():
    with share_limits(Limits()) as limits:
        lane, lost = (Lane(8, limits, "writer") for _ in range(2))
        limits.numbers[lost.line + INSIDE] = 8
        assert limits.room(lane.line, 8, leaving=False) == 0
        limits.numbers[lost.line + PID] = 2**22 + 1  # more than Linux gives
        limits.sweep()
        assert limits.room(lane.line, 8, leaving=False) == 8


def hold(path, seconds):
    with open_limits(path):
        time.sleep(seconds)


def could_lock(path):
    file = open_limits(path).file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(file, fcntl.LOCK_UN)
    return True


def test_processes_forked_from_one_that_has_opened_the_limits_wait_for_one_another():
    with (
        share_limits(Limits()) as limits,
        ThreadPoolExecutor(1) as threads,
        closing(Origin()) as origin,
        WorkerPool(origin).lend(2, 60, open_limits, limits.path) as pool,
    ):
        holds = threads.submit(pool.make, "toys 0", 60, hold, limits.path, 20)
        while pool.make("toys 1", 60, could_lock, limits.path):
            assert not holds.done()
            time.sleep(0.01)
        pool.origin.end()
        assert isinstance(holds.exception(), WorkerDied)
