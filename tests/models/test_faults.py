"""A whole build on a server with faults: what is wrong reaches no row, what may pass costs no row, and it is asked as much as it can bear."""

import asyncio
import json
import shutil
import threading
import time
from statistics import median

import pytest

from shopwright.pipeline.models.base import ServerUnreachable
from shopwright.pipeline.models.limits import Limits
from shopwright.pipeline.models.openai import TRIES, Lane
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.run import Run
from tests.models.asking import ask, client, described, hold_conversations, once, prompt
from tests.models.server import ALWAYS, Plan, Server, constant

COUNT = 300


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("catalog"), seed=3, workers=1)
    run.build("catalog", products=1_200)
    return run.folder


@pytest.fixture
def build(catalog, tmp_path):
    """Personas, described by the model on a server: the run, and what its manifest says."""

    def personas(server, name="run", count=COUNT, **options):
        folder = tmp_path / name
        if not folder.exists():
            shutil.copytree(catalog, folder)
        models = Models(model=f"openai:toy@{server.url}", at_once=16)
        run = Run(folder, seed=3, workers=1, models=models)
        return run, run.build("personas", count=count, **options)

    return personas


@pytest.fixture(scope="module")
def faultless(catalog, tmp_path_factory):
    """The rows that a server without faults gives, by id."""
    folder = shutil.copytree(catalog, tmp_path_factory.mktemp("faultless") / "run")
    with Server(Plan(says=described)) as server:
        run = Run(folder, seed=3, workers=1, models=Models(model=f"openai:toy@{server.url}"))
        assert run.build("personas", count=COUNT).rejected == 0
    return rows(run)


def rows(run):
    return {row["id"]: row for row in run.read("personas").table().to_pylist()}


def ids(numbers):
    return {f"persona-{number:07d}" for number in numbers}


def words(body):
    return json.loads(described(body)["content"])["description"]


# What is wrong reaches no row


@pytest.mark.parametrize("fault", ["length", "short", "filtered"])
def test_of_answers_that_were_cut_none_becomes_a_row(build, faultless, fault):
    plan = Plan({fault: 0.1}, times=ALWAYS, says=described)
    with Server(plan) as server:
        run, made = build(server)
    cut = [body for body in server.bodies if plan.fault(body, 1)]
    assert len(cut) == server.struck[fault] > 15
    said = {row["description"] for row in rows(run).values()}
    assert not said & set(map(words, cut))
    assert said == set(map(words, server.bodies)) - set(map(words, cut))
    assert set(rows(run)) | {row["id"] for row in run.read("personas").quarantine.table().to_pylist()} == set(faultless)
    assert made.rows + made.rejected == COUNT


def test_of_answers_that_are_always_cut_each_is_in_quarantine_with_its_tries(build):
    with Server(Plan({"length": 1}, times=ALWAYS, says=described)) as server:
        run, made = build(server, count=20)
    assert (made.rows, made.rejects) == (0, {"description: cut short at its limit of tokens": 20})
    held = [json.loads(row["record"]) for row in run.read("personas").quarantine.table().to_pylist()]
    assert all(len(record["tries"]) == 3 for record in held)


def test_exactly_what_the_server_refused_is_in_quarantine(build, faultless):
    plan = Plan({"400": 0.05}, times=ALWAYS, says=described)
    with Server(plan) as server:
        run, made = build(server)
    refused = ids(body["seed"] for body in server.bodies if plan.fault(body, 1))
    assert 5 <= len(refused) <= 30
    assert {row["id"] for row in run.read("personas").quarantine.table().to_pylist()} == refused
    assert made.rejects == {"description: HTTP 400: this is what 400 means here": len(refused)}
    assert rows(run) == {name: row for name, row in faultless.items() if name not in refused}
    assert server.count == COUNT


# What may pass costs no row


@pytest.mark.parametrize(
    ("faults", "retry_after"),
    [
        ({"500": 0.05}, None),
        ({"429": 0.05}, "1"),
        ({"500": 0.03, "429": 0.03, "503": 0.02, "cut": 0.03, "torn": 0.03, "malformed": 0.03}, None),
    ],
    ids=["500", "429", "many"],
)
def test_with_faults_that_pass_the_rows_are_those_without(build, faultless, faults, retry_after):
    with Server(Plan(faults, says=described, retry_after=retry_after)) as server:
        run, made = build(server)
    assert made.rejected == 0
    assert rows(run) == faultless
    struck = sum(server.struck[fault] for fault in faults)
    assert struck > 5
    assert server.count == COUNT + struck


def test_what_got_no_answer_is_asked_again_by_the_next_build_and_nothing_else_is(build, faultless):
    plan = Plan({"500": 0.05}, times=ALWAYS, says=described, retry_after="0")
    with Server(plan) as server:
        run, made = build(server)
        missing = ids(body["seed"] for body in server.bodies if plan.fault(body, 1))
        assert made.rejects == {f"unanswered: description: HTTP 500, {TRIES} times": len(missing)}
        assert set(faultless) - set(rows(run)) == missing
        server.plan, before = Plan(says=described), server.count
        run, made = build(server, rebuild=True)
    assert rows(run) == faultless
    assert server.count - before == len(missing)


# A server that is away


def until(true):
    while not true():
        time.sleep(0.002)


def test_a_server_that_stays_away_ends_the_command_in_one_line_and_the_next_goes_on(
    catalog, tmp_path, shopwright, faultless
):
    folder = shutil.copytree(catalog, tmp_path / "run")

    def command(server):
        given = (
            "--seed",
            3,
            "--run",
            folder,
            "--at-once",
            16,
            "--patience",
            5,
            "--model",
            f"openai:toy@{server.url}",
        )
        return shopwright("build", "personas", "--count", COUNT, *given)

    server = Server(Plan(says=described, latency=constant(0.01))).__enter__()
    leaves = threading.Thread(target=lambda: (until(lambda: server.answered > 100), server.__exit__()))
    leaves.start()
    code, _, said = command(server)
    leaves.join()
    asked = {body["seed"] for body in server.bodies}
    assert code == 3
    assert "Traceback" not in said
    (error,) = [line for line in said.splitlines() if line.startswith("shopwright: error: ")]
    assert error.startswith(f"shopwright: error: {server.url} gave no good answer for 5 seconds (last: Cannot connect")
    assert error.endswith("What is done is kept: run the same command again to go on.")
    with Server(Plan(says=described)) as elsewhere:
        assert command(elsewhere)[0] == 0
    assert rows(Run(folder)) == faultless
    again = {body["seed"] for body in elsewhere.bodies} & asked
    assert len(again) <= 16
    assert elsewhere.count == COUNT - len(asked) + len(again)


def test_a_server_that_comes_back_soon_is_waited_for(build, faultless):
    first = Server(Plan(says=described, latency=constant(0.01))).__enter__()
    later = Server(Plan(says=described), first.port)

    def restart():
        until(lambda: first.answered > 100)
        first.__exit__()
        time.sleep(0.5)
        later.__enter__()

    restarts = threading.Thread(target=restart)
    restarts.start()
    run, made = build(first)
    restarts.join()
    later.__exit__()
    assert made.rejected == 0
    assert rows(run) == faultless
    assert later.count >= COUNT - first.count > 0


def test_a_slow_server_with_one_fault_is_not_away():
    class Hangs(Plan):
        def fault(self, body, times):
            return "hang" if body["messages"][0]["content"] == "say 1" and times == 1 else ""

    with Server(Hangs(latency=constant(0.3))) as server:
        asks = client(server, patience=2.0, deadline=1.0)
        replies = hold_conversations(map(once, map(prompt, (1, 2))), lambda: asks, at_once=2)
    assert not any(reply.fault for reply in replies)
    assert server.count == 3


def test_faults_with_good_answers_between_them_are_never_a_server_that_is_away():
    with Server(Plan({"500": 1}, retry_after="0")) as server:
        replies = ask(server, map(prompt, range(24)), at_once=1, patience=2.0)
    assert not any(reply.fault for reply in replies)
    times = [moment for came in server.came.values() for moment in came]
    assert max(times) - min(times) > 2.0


def test_bad_answers_are_counted_across_requests():
    async def run():
        model = client(server, patience=2.2)
        try:
            for number in range(50):
                assert (await model.reply(prompt(number))).fault
        except ServerUnreachable:
            return number
        finally:
            await model.close()

    with Server(Plan({"malformed": 1}, times=ALWAYS, retry_after="0")) as server:
        assert 1 <= asyncio.run(run()) <= 4


# As much as it can bear


def test_fewer_are_asked_at_once_while_the_server_takes_fewer_and_as_many_as_before_after():
    with Server(Plan(most=8, latency=constant(0.04))) as server:
        model = client(server, at_once=32)
        widths, counts = [], []

        def noted(number):
            if number == 500:
                server.plan = Plan(most=32, latency=constant(0.04))
                counts.append(server.count)
            reply = yield prompt(number)
            widths.append(model.lane.width)
            return reply

        replies = hold_conversations(map(noted, range(1_700)), lambda: model, at_once=32)
    assert len(replies) == 1_700
    assert not any(reply.fault for reply in replies)
    (swapped,) = counts
    few, many = server.crowds[swapped // 2 : swapped], server.crowds[-400:-40]
    assert 6.5 <= median(widths[200:450]) <= 10
    assert median(few) >= 5
    assert sum(crowd > 8 for crowd in few) < len(few) / 4
    assert max(many) >= 20
    assert median(widths[-300:]) >= 28


def test_a_server_that_refuses_one_in_twenty_by_chance_is_asked_as_much_at_once(tmp_path):
    with Server(Plan({"429": 0.05}, latency=constant(0.02))) as server:
        model = client(server, at_once=32)
        widths = []

        def noted(number):
            reply = yield prompt(number)
            widths.append(model.lane.width)
            return reply

        replies = hold_conversations(map(noted, range(1_500)), lambda: model, at_once=32)
    assert not any(reply.fault for reply in replies)
    assert server.struck["429"] > 40
    assert median(widths) > 29


def test_a_server_that_refuses_all_for_a_while_is_asked_little_and_then_again_as_much(tmp_path):
    async def run(server):
        model = client(server, at_once=32)
        numbers = iter(range(10_000))
        stopped = False

        async def work():
            while not stopped:
                await model.reply(prompt(next(numbers)))

        crew = [asyncio.create_task(work()) for _ in range(32)]
        await asyncio.sleep(0.3)
        server.plan = Plan({"503": 1}, times=ALWAYS, retry_after="0")
        while model.lane.width > 1:
            await asyncio.sleep(0.01)
        server.plan = Plan(latency=constant(0.01))
        while model.lane.width < 32:
            await asyncio.sleep(0.01)
        stopped = True
        await asyncio.gather(*crew)
        await model.close()

    with Server(Plan(latency=constant(0.01))) as server:
        asyncio.run(asyncio.wait_for(run(server), 30))


def test_who_came_first_is_asked_first():
    order = []

    async def one(model, number):
        await model.reply(prompt(number))
        order.append(number)
        await model.reply(prompt(number + 100))
        order.append(number + 100)

    async def run(server):
        model = client(server, at_once=1)
        await asyncio.gather(*(one(model, number) for number in range(5)))
        await model.close()

    with Server(Plan(latency=constant(0.01))) as server:
        asyncio.run(run(server))
    assert order == [*range(5), *range(100, 105)]


@pytest.mark.parametrize("wait", [0.0, 0.035, 0.1])
def test_who_stops_waiting_takes_no_place_with_it(wait):
    async def run(server):
        model = client(server, at_once=2)
        gone = [asyncio.create_task(model.reply(prompt(number))) for number in range(8)]
        await asyncio.sleep(wait)
        for task in gone:
            task.cancel()
        await asyncio.gather(*gone, return_exceptions=True)
        assert (model.lane.inside, [turn for turn in model.lane.waiting if not turn.done()]) == (0, [])
        found = await asyncio.gather(*(model.reply(prompt(number)) for number in range(10, 14)))
        await model.close()
        return found

    with Server(Plan(latency=constant(0.03))) as server:
        assert len(asyncio.run(asyncio.wait_for(run(server), 10))) == 4


def test_who_stops_waiting_when_it_is_let_in_gives_its_place_back():
    async def enter(lane):
        async with lane:
            await asyncio.sleep(0)

    async def run():
        lane = Lane(1, Limits(), "writer")
        await lane.__aenter__()
        waits = asyncio.create_task(enter(lane))
        await asyncio.sleep(0)
        await lane.__aexit__()  # lets it in
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        assert waits.cancelled()
        await enter(lane)

    asyncio.run(asyncio.wait_for(run(), 5))
