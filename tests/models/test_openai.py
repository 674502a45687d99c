"""Everything that goes wrong with servers: tried again, or told; never taken for a reply."""

import asyncio
import socket
from itertools import pairwise

import pytest

from shopwright.pipeline.models.base import ServerUnreachable, UnansweredRequest
from shopwright.pipeline.models.openai import TRIES
from shopwright.pipeline.models.play import play
from shopwright.pipeline.models.valid_replies import NoValidReply, ask_until_valid, parse_reply_json, schema_of
from tests.models.asking import Toy, ask, client, once, prompt, role
from tests.models.server import ALWAYS, Plan, Server, constant


def waits(server):
    """Seconds between the times when a request came."""
    (times,) = server.came.values()
    return [after - before for before, after in pairwise(times)]


# What may pass


@pytest.mark.parametrize("fault", ["429", "408", "500", "502", "503", "504", "529"])
def test_what_may_pass_is_tried_again_after_a_pause(fault):
    with Server(Plan({fault: 1}, times=1)) as server:
        (reply,) = ask(server, [prompt(1)])
    assert reply.text.startswith("say 1 ")
    assert not reply.fault
    assert waits(server)[0] > 0.1


@pytest.mark.parametrize("fault", ["cut", "torn", "malformed", "empty", "parts"])
def test_an_answer_that_is_no_whole_one_is_tried_again(fault):
    with Server(Plan({fault: 1}, times=2, retry_after="0")) as server:
        (reply,) = ask(server, [prompt(1)])
    assert reply.text.startswith("say 1 ")
    assert server.count == 3


def test_a_server_that_says_how_long_to_wait_is_obeyed():
    with Server(Plan({"429": 1}, retry_after="1.2")) as server:
        (reply,) = ask(server, [prompt(1)])
    assert not reply.fault
    assert 1.2 <= waits(server)[0] < 3


@pytest.mark.parametrize("said", ["soon", "nan", "-5"])
def test_a_wait_that_says_nothing_is_passed_over(said):
    with Server(Plan({"429": 1}, retry_after=said)) as server:
        ask(server, [prompt(1)])
    assert 0.1 < waits(server)[0] < 3


def test_a_server_that_says_not_to_wait_is_not_overrun():
    with Server(Plan({"429": 1}, times=5, retry_after="0")) as server:
        ask(server, [prompt(1)])
    assert min(waits(server)) > 0.1


def test_pauses_grow():
    with Server(Plan({"500": 1}, times=4)) as server:
        ask(server, [prompt(1)])
    first, _, _, last = waits(server)
    assert last > 2 * first


def test_a_busy_server_is_asked_for_as_long_as_it_takes():
    with Server(Plan({"429": 1}, times=TRIES + 2, retry_after="0")) as server:
        (reply,) = ask(server, [prompt(1)])
    assert not reply.fault
    assert server.count == TRIES + 3


def test_a_request_that_hangs_is_asked_again_after_its_deadline():
    with Server(Plan({"hang": 1})) as server:
        (reply,) = ask(server, [prompt(1)], deadline=0.3)
    assert not reply.fault
    assert server.count == 2


def test_a_slow_trickle_is_read_to_its_end():
    with Server(Plan({"trickle": 1})) as server:
        (reply,) = ask(server, [prompt(1)])
    assert reply.text.startswith("say 1 ")
    assert server.count == 1


# What will not pass


@pytest.mark.parametrize("status", ["400", "403", "413", "422"])
def test_what_is_refused_is_not_tried_again_and_told_with_the_servers_words(status):
    with Server(Plan({status: 1}, times=ALWAYS)) as server:
        (reply,) = ask(server, [prompt(1)])
    assert reply.fault == f"HTTP {status}: this is what {status} means here"
    assert (reply.text, reply.finish, server.count) == ("", "refused", 1)


@pytest.mark.parametrize("fault", ["500", "malformed", "empty", "parts"])
def test_a_bad_answer_that_comes_each_time_is_a_fault(fault):
    with Server(Plan({fault: 1}, times=ALWAYS, retry_after="0")) as server:
        (lost,) = ask(server, [prompt(1)])
    assert isinstance(lost, UnansweredRequest)
    assert lost.why.endswith(f", {TRIES} times")
    assert server.count == TRIES


@pytest.mark.slow
def test_a_connection_that_is_cut_each_time_is_a_fault():
    with Server(Plan({"cut": 1}, times=ALWAYS)) as server:
        lost = ask(server, [prompt(number) for number in range(4)])
    assert all("Disconnected" in each.why and each.why.endswith(f", {TRIES} times") for each in lost)
    assert server.count == 4 * TRIES


@pytest.mark.parametrize("fault", ["length", "filtered"])
def test_what_was_cut_short_is_a_fault_and_is_not_asked_again(fault):
    with Server(Plan({fault: 1})) as server:
        (reply,) = ask(server, [prompt(1)])
    assert reply.fault.startswith("cut short ")
    assert server.count == 1


@pytest.mark.parametrize("status", ["401", "402", "404"])
def test_a_server_that_answers_no_request_ends_the_work(status):
    with (
        Server(Plan({status: 1}, times=ALWAYS)) as server,
        pytest.raises(ServerUnreachable, match=f"what {status} means here"),
    ):
        ask(server, map(prompt, range(50)), at_once=4)
    assert server.count <= 8


# A server that is away


def nobody():
    """The address of a server that there is not."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def test_a_server_that_is_not_there_ends_the_work_with_what_to_do():
    url = nobody()
    with pytest.raises(ServerUnreachable, match="run the same command again to go on") as raised:
        ask(url, map(prompt, range(10)), patience=0.6)
    assert str(raised.value).startswith(f"{url} gave no good answer for 1 seconds")
    assert "Cannot connect" in str(raised.value)


@pytest.mark.parametrize("fault", ["429", "503", "500", "malformed"])
def test_a_server_that_gives_no_good_answer_for_long_is_away(fault):
    with Server(Plan({fault: 1}, times=ALWAYS)) as server, pytest.raises(ServerUnreachable, match="no good answer"):
        ask(server, map(prompt, range(10)), patience=0.5)


def test_a_server_that_asks_to_wait_for_a_day_is_away():
    with Server(Plan({"429": 1}, times=ALWAYS, retry_after="86400")) as server, pytest.raises(ServerUnreachable):
        ask(server, [prompt(1)], patience=0.3)


def test_a_server_that_goes_in_the_midst_is_away():
    async def run(server):
        model = client(server, patience=3, at_once=4)
        got = []
        try:
            async for reply in play(map(once, map(prompt, range(500))), model, at_once=4):
                got.append(reply)
                if len(got) == 20:
                    await asyncio.to_thread(server.__exit__)
        except ServerUnreachable:
            return got
        finally:
            await model.close()

    server = Server(Plan(latency=constant(0.005))).__enter__()
    got = asyncio.run(run(server))
    assert 20 <= len(got) < 100
    assert not any(reply.fault for reply in got)


def test_time_in_which_nothing_is_asked_is_not_held_against_the_server():
    async def run():
        model = client(server, patience=2.0)
        try:
            await model.reply(prompt(1))
            await asyncio.sleep(2.2)
            return await model.reply(prompt(2))
        finally:
            await model.close()

    with Server(Plan({"500": 1})) as server:
        assert not asyncio.run(run()).fault


# Through all of it


def test_of_replies_cut_short_none_is_accepted(tmp_path):
    asked = [prompt(number, schema=schema_of(Toy)) for number in range(300)]
    with Server(Plan({"length": 0.1}, times=ALWAYS)) as server:
        found = list(role(server.url, tmp_path).play(ask_until_valid(each, toy, tries=1) for each in asked))
    unwritten = [each for each in found if isinstance(each, NoValidReply)]
    assert len(unwritten) == server.struck["length"]
    assert 15 <= len(unwritten) <= 45
    assert {each.reasons for each in unwritten} == {("cut short at its limit of tokens",)}


def toy(reply):
    return parse_reply_json(reply, Toy)


def test_of_requests_that_are_refused_exactly_those_are_faults():
    plan = Plan({"400": 0.05}, times=ALWAYS)
    with Server(plan) as server:
        replies = ask(server, map(prompt, range(400)), at_once=16)
    refused = {body["messages"][0]["content"] for body in server.bodies if plan.fault(body, 1)}
    assert {f"say {number}" for number, reply in enumerate(replies) if reply.fault} == refused
    assert 8 <= len(refused) <= 35
    assert server.count == 400


def test_a_server_at_its_worst_loses_nothing_and_passes_nothing_bad(tmp_path):
    kinds = ("429", "500", "cut", "torn", "malformed", "empty", "length", "wrong", "trickle")
    asked = [prompt(number, schema=schema_of(Toy)) for number in range(300)]
    with Server(Plan(dict.fromkeys(kinds, 0.03))) as server:
        found = list(role(server.url, tmp_path, at_once=32).play(ask_until_valid(each, toy) for each in asked))
    assert all(isinstance(each, Toy) for each in found)
    assert all(server.struck[kind] for kind in kinds)
