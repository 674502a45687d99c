"""Sessions of a server, without a server: places, what is freed, and what is answered."""

import asyncio
import gc
import json
import weakref

import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.env import ENVIRONMENTS, ShopEnv, get_env_task, list_tool_schemas
from shopwright.pipeline.trainers.openenv import Connection, Talk
from shopwright.pipeline.trainers.sessions import NOT_BEGUN, Refused, Sessions, find_owner, make_key


def open_sessions(small, **settings):
    return Sessions(str(small.folder), **settings)


def say(kind, **data):
    return json.dumps({"type": kind, "data": data})


async def tell(connection, kind, **data):
    return json.loads(await connection.answer(say(kind, **data)))


LOOK = {"tool_name": "cart_view", "arguments": {}}


def test_an_episode_says_what_it_says_in_process(small):
    async def play():
        connection = Connection(open_sessions(small).open())
        opened = await tell(connection, "reset", split="envs", index=3)
        return opened["data"], [(await tell(connection, "step", **call))["data"] for call in calls]

    calls = [LOOK, {"tool_name": "submit", "arguments": {"refusal": "sold_out"}}, LOOK]
    env = ShopEnv(small.folder)
    env.reset(extra_info={"task": get_env_task(small.folder, "envs", 3)})
    expected = [env.cart_view(), env.submit(refusal="sold_out"), env.cart_view()]
    opened, answers = asyncio.run(play())
    assert opened["metadata"] == {"prompt": env._prompt, "tools": list_tool_schemas(ShopEnv)}
    assert [answer["observation"]["result"] for answer in answers] == expected
    assert [answer["done"] for answer in answers] == [False, True, True]
    assert [answer["reward"] for answer in answers] == [0.0, env.get_reward(), 0.0]


def test_episodes_of_one_task_share_nothing_that_changes(small):
    """They begin as copies of one that is kept."""
    task = get_env_task(small.folder, "envs", 0)
    first, second = ShopEnv(small.folder), ShopEnv(small.folder)
    first.reset(extra_info={"task": task})
    first.datetime_now()
    first._prompt[0]["content"] = first._prompt[1]["content"] = "changed"
    second.reset(extra_info={"task": json.dumps(task)})
    fresh = json.loads(second.datetime_now())["calls_left"]
    assert json.loads(first.datetime_now())["calls_left"] == fresh - 1
    assert "changed" not in {message["content"] for message in second._prompt}
    assert first._episode.turns is not second._episode.turns


def test_tools_are_listed_before_the_first_reset(small):
    async def ask():
        connection = Connection(open_sessions(small).open())
        step = await tell(connection, "step", type="list_tools")
        rpc = await tell(connection, "mcp", jsonrpc="2.0", method="tools/list", id=1)
        await tell(connection, "reset", split="shopping", index=0)
        return step["data"]["observation"], rpc["data"]["result"], await tell(connection, "step", type="list_tools")

    first, rpc, later = asyncio.run(ask())
    names = [each["function"]["name"] for each in list_tool_schemas(ShopEnv)]
    assert [tool["name"] for tool in first["tools"]] == names == [tool["name"] for tool in rpc["tools"]]
    assert [tool["name"] for tool in later["data"]["observation"]["tools"]] == ["click", "search"]


def test_a_reset_waits_for_a_place_and_takes_it_as_soon_as_one_is_free(small):
    async def crowd():
        sessions = open_sessions(small, most=2)
        waiting = [sessions.open() for _ in range(40)]

        async def play(session):
            await session.reset(split="envs", index=0)
            assert len(sessions.live) <= 2
            await session.step("cart_view", {})
            session.close()

        await asyncio.gather(*map(play, waiting))
        return sessions.live

    assert asyncio.run(crowd()) == {}


def test_who_waits_too_long_is_refused_by_name(small):
    async def crowd():
        sessions = open_sessions(small, most=1, patience=0.05)
        first, second = Connection(sessions.open()), Connection(sessions.open())
        await tell(first, "reset", index=0)
        refused = await tell(second, "reset", index=0)
        first.leave(keep=False)
        return refused, await tell(second, "reset", index=0)

    refused, later = asyncio.run(crowd())
    assert refused["type"] == "error"
    assert refused["data"]["code"] == "CAPACITY_REACHED"
    assert later["type"] == "observation"


def test_a_closed_session_refuses_steps_and_gives_its_place_back_once(small):
    async def close():
        sessions = open_sessions(small, most=3)
        session = sessions.open()
        await session.reset(index=0)
        for _ in range(2):
            session.close()
        assert sessions.places._value == 3
        with pytest.raises(Refused, match="was closed"):
            await session.step("cart_view", {})

    asyncio.run(close())


def test_what_is_idle_is_freed_and_says_so(small):
    async def wait():
        sessions = open_sessions(small, idle=100)
        left, used = Connection(sessions.open()), Connection(sessions.open())
        for connection in (left, used):
            await tell(connection, "reset", index=0)
        env = weakref.ref(left.session.env)
        left.session.used -= 101
        await sessions.free_idle()
        gc.collect()
        assert env() is None
        return await tell(left, "step", **LOOK), await tell(used, "step", **LOOK), await tell(left, "reset", index=0)

    gone, kept, again = asyncio.run(wait())
    assert gone["data"] == {
        "message": "This session was idle for 100 seconds and has been freed. Reset it.",
        "code": "SESSION_ERROR",
    }
    assert kept["type"] == again["type"] == "observation"


def test_when_all_have_left_what_nobody_refers_to_is_freed(small):
    """By the sweeper, as a server at rest makes nothing new that would set the collector off."""

    class Loop:
        pass

    async def leave():
        sessions = open_sessions(small, idle=2)
        session = sessions.open()
        await session.reset(index=0)
        left = Loop()
        left.itself = left
        seen = weakref.ref(left)
        del left
        session.close()
        for _ in range(200):
            if seen() is None:
                return True
            await asyncio.sleep(0.05)
        return False

    gc.disable()
    try:
        assert asyncio.run(leave())
    finally:
        gc.enable()


def test_a_session_that_is_at_work_is_not_idle(small):
    async def wait():
        sessions = open_sessions(small, idle=100)
        session = sessions.open()
        await session.reset(index=0)
        session.used, session.busy = session.used - 101, True
        await sessions.free_idle()
        return (await session.step("cart_view", {})).done

    assert asyncio.run(wait()) is False


def test_clients_that_vanish_leave_nothing(small):
    async def vanish():
        sessions = open_sessions(small)
        talk = Talk(None, sessions)
        kept = weakref.WeakSet()
        for number in range(10_000):
            said = iter(
                [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": say("reset", index=number % 2)}]
            )

            async def receive(said=said):
                return next(said, {"type": "websocket.disconnect", "code": 1006})

            async def send(message):
                if message["type"] == "websocket.send":
                    kept.update(session.env for session in sessions.live.values())

            scope = {"type": "websocket", "path": "/ws", "query_string": b""}
            await talk(scope, receive, send)
        gc.collect()
        return len(sessions.live), sessions.places._value == sessions.most, len(kept)

    assert asyncio.run(vanish()) == (0, True, 0)


def test_many_are_reset_and_stepped_at_once_as_each_alone(small):
    async def play():
        sessions = open_sessions(small)
        many, one = Connection(sessions.open()), Connection(sessions.open())
        opened = await tell(
            many, "reset_many", **{str(n): {"split": "envs", "index": n} for n in range(5)}, x={"index": -1}, y=3
        )
        assert opened["type"] == "observations"
        stepped = (await tell(many, "step_many", **{str(n): LOOK for n in range(5)}, none=LOOK))["data"]
        for number in range(5):
            assert opened["data"][str(number)] == (await tell(one, "reset", split="envs", index=number))["data"]
            assert stepped[str(number)] == (await tell(one, "step", **LOOK))["data"]
        assert "no task -1" in opened["data"]["x"]["error"]["message"]
        assert opened["data"]["y"]["error"]["code"] == "VALIDATION_ERROR"
        assert stepped["none"]["error"]["message"] == NOT_BEGUN
        taken = len(sessions.live)
        await many.answer(json.dumps({"type": "close_many", "data": ["0", "1"]}))
        assert len(sessions.live) == taken - 2
        many.leave(keep=False)
        one.leave(keep=False)
        return sessions.live

    assert asyncio.run(play()) == {}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "INVALID_JSON"),
        ("[]", "VALIDATION_ERROR"),
        ('{"type": "dance"}', "UNKNOWN_TYPE"),
        ('{"type": "step"}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"tool_name": 3}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"tool_name": "x", "arguments": []}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"tool_name": "x", "more": 1}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"tool_name": "x"}}', "SESSION_ERROR"),
        ('{"type": "reset", "data": {"split": "moon"}}', "EXECUTION_ERROR"),
        ('{"type": "reset", "data": {"split": ["moon"]}}', "EXECUTION_ERROR"),
        ('{"type": "reset", "data": {"index": "1"}}', "EXECUTION_ERROR"),
        ('{"type": "reset", "data": {"index": 1e9}}', "EXECUTION_ERROR"),
        ('{"type": "reset", "data": {"training": "first"}}', "EXECUTION_ERROR"),
        ('{"type": "reset_many", "data": []}', "VALIDATION_ERROR"),
    ],
)
def test_what_is_said_wrongly_is_answered_by_name_and_the_connection_goes_on(small, text, code):
    async def talk():
        connection = Connection(open_sessions(small).open())
        wrong = json.loads(await connection.answer(text))
        return wrong, await tell(connection, "reset", index=0)

    wrong, right = asyncio.run(talk())
    assert (wrong["type"], wrong["data"]["code"]) == ("error", code)
    assert "\n" not in wrong["data"]["message"]
    assert right["type"] == "observation"


def test_a_server_that_stops_begins_nothing_and_waits_for_what_is_under_way(small):
    async def stop():
        sessions = open_sessions(small)
        session, late = sessions.open(), sessions.open()
        await session.reset(index=0)
        stopping = asyncio.create_task(sessions.drain(grace=60))
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="is being stopped"):
            await late.reset(index=0)
        assert not stopping.done()
        await session.step("submit", {})
        await stopping

    asyncio.run(stop())


def test_every_environment_with_tasks_is_played(small):
    async def play(name):
        session = open_sessions(small).open()
        opened = await session.reset(environment=name, index=0)
        tool = json.loads(opened.metadata)["tools"][0]["function"]
        return (await session.step(tool["name"], {})).text

    for name in ENVIRONMENTS:
        assert "needs" in asyncio.run(play(name)), name


def test_a_key_has_one_owner(small):
    assert {find_owner(make_key(owner, 3), 3) for owner in range(3)} == {0, 1, 2}
    assert find_owner("any", 1) == 0


def test_an_unknown_environment_is_named(small):
    with pytest.raises(Problem, match="There is no environment 'moon'"):
        asyncio.run(open_sessions(small).open().reset(environment="moon"))
