"""`shopwright serve --protocol mcp` as the official SDK's own client sees it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from importlib.util import find_spec

import aiohttp
import pytest

from shopwright.pipeline.trainers.env import ENVIRONMENTS, ShopEnv, get_env_task, list_tool_schemas, solve_env_task
from tests.trainers.test_front import until
from tests.trainers.test_openenv import list_workers, serve

pytestmark = pytest.mark.skipif(find_spec("mcp_types") is None, reason="mcp 2 is not installed")


@pytest.fixture(scope="module")
def served(small):
    with serve(small.folder, "--protocol", "mcp", "--workers", "2") as (_, address):
        yield address


async def ask(method, address, **body):
    async with aiohttp.ClientSession() as http, http.request(method, address, json=body or None) as reply:
        text = await reply.text()
        return reply.status, json.loads(text) if reply.content_type == "application/json" else text


@asynccontextmanager
async def begin(address, **asked):
    """An episode, and the SDK's client of it."""
    from mcp import Client

    status, begun = await ask("POST", f"{address}/episodes", **asked)
    assert status == 200, begun
    async with Client(address + begun["path"]) as client:
        yield begun, client


def read_score(result):
    """Done and reward."""
    return result.meta["shopwright/done"], result.meta["shopwright/reward"]


def read_text(result):
    (content,) = result.content
    return content.text


def test_a_scripted_client_solves_tasks_by_tools_alone(served, small):
    """Several at once, each by its key; they are scored as in process."""

    async def play(number, calls):
        async with begin(served, environment="envs", index=number) as (begun, client):
            for name, arguments in calls:
                last = await client.call_tool(name, arguments)
            (_, state), (_, gone) = (
                await ask("GET", f"{served}/episodes?episode={begun['episode']}"),
                await ask("DELETE", f"{served}/episodes?episode={begun['episode']}"),
            )
            assert state == gone
            return read_score(last), state

    async def play_all():
        return await asyncio.gather(*(play(number, calls) for number, (calls, _) in enumerate(expected)))

    expected, env = [], ShopEnv(small.folder)
    for number in range(6):
        calls = solve_env_task(env, get_env_task(small.folder, "envs", number))
        expected.append((calls, env.get_reward()))
    for (calls, reward), (meta, state) in zip(expected, asyncio.run(play_all()), strict=True):
        assert meta == (True, reward)
        assert state == {"done": True, "reward": reward, "steps": len(calls)}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_tools_and_words_are_those_of_the_environment(served, small, name):
    async def look():
        async with begin(served, environment=name, index=0) as (begun, client):
            return begun, (await client.list_tools()).tools, (await client.get_prompt("task")).messages

    env = ENVIRONMENTS[name](small.folder)
    env.reset(extra_info={"task": get_env_task(small.folder, name, 0)})
    begun, tools, told = asyncio.run(look())
    schemas = list_tool_schemas(ENVIRONMENTS[name])
    assert [
        {"name": tool.name, "description": tool.description, "parameters": tool.input_schema} for tool in tools
    ] == [each["function"] for each in schemas]
    assert begun["tools"] == schemas
    assert begun["prompt"] == env._prompt
    assert [message.content.text for message in told] == [message["content"] for message in env._prompt]


def test_a_call_without_a_key_is_refused_and_tools_are_listed_all_the_same(served):
    from mcp import Client
    from mcp.shared.exceptions import MCPError

    async def call():
        async with Client(f"{served}/mcp") as client:
            tools = await client.list_tools()
            with pytest.raises(MCPError, match="This call has no episode"):
                await client.call_tool("cart_view", {})
            return len(tools.tools)

    assert asyncio.run(call()) == len(list_tool_schemas(ShopEnv))


def test_a_key_that_is_none_any_more_is_refused_by_name(served):
    from mcp.shared.exceptions import MCPError

    async def call():
        async with begin(served, environment="envs") as (begun, client):
            address = f"{served}/episodes?episode={begun['episode']}"
            await ask("DELETE", address)
            with pytest.raises(MCPError, match=f"There is no episode {begun['episode']}"):
                await client.call_tool("cart_view", {})
            return await ask("GET", address)

    status, said = asyncio.run(call())
    assert status == 404
    assert "was ended" in said


def test_two_clients_of_the_protocol_without_sessions_are_apart(served):
    async def call():
        async with begin(served, index=0) as (_, first), begin(served, index=0) as (_, second):
            return [
                json.loads(read_text(await client.call_tool("datetime_now", {})))["calls_left"]
                for client in (first, first, second)
            ]

    left = asyncio.run(call())
    assert left == [left[0], left[0] - 1, left[0]]


def test_one_connection_may_carry_calls_for_episodes_of_several_workers(served):
    """As that of a pool does, which others than the SDK's client use."""

    async def call():
        keys = [(await ask("POST", f"{served}/episodes", index=0))[1]["episode"] for _ in range(8)]
        connector = aiohttp.TCPConnector(limit=1)
        async with aiohttp.ClientSession(connector=connector) as http:
            found = []
            for key in keys:
                async with http.get(f"{served}/episodes", params={"episode": key}) as reply:
                    found.append((reply.status, await reply.json()))
            return found

    assert asyncio.run(call()) == [(200, {"done": False, "reward": 0.0, "steps": 0})] * 8


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"environment": "moon"}, "There is no environment"),
        ({"index": -1}, "There is no task -1"),
        ({"index": "x"}, "whole number"),
    ],
)
def test_an_episode_that_cannot_be_begun_says_why_and_takes_no_place(served, body, said):
    async def call():
        found = await ask("POST", f"{served}/episodes", **body)
        return found, (await ask("GET", f"{served}/nowhere"))[0]

    (status, text), nowhere = asyncio.run(call())
    assert (status, nowhere) == (400, 404)
    assert said in text


def test_the_episodes_of_a_killed_worker_are_refused_by_name_and_the_others_go_on(small):
    async def kill(server, address):
        keys = [(await ask("POST", f"{address}/episodes", index=0))[1]["episode"] for _ in range(8)]
        victim, _ = list_workers(server)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: len(list_workers(server)) == 2 and victim not in list_workers(server))
        return [await ask("GET", f"{address}/episodes?episode={key}") for key in keys]

    with serve(small.folder, "--protocol", "mcp", "--workers", "2") as (server, address):
        found = asyncio.run(kill(server, address))
    assert {status for status, _ in found} == {200, 404}
    assert all("the worker that had it died" in said for status, said in found if status == 404)


def test_over_stdio_a_process_is_an_episode(small, tmp_path):
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    calls = solve_env_task(env := ShopEnv(small.folder), get_env_task(small.folder, "envs", 1))

    async def play():
        words = [
            "-m",
            "shopwright.pipeline",
            "serve",
            "--protocol",
            "stdio",
            "--run",
            str(small.folder),
            "--index",
            "1",
        ]
        command = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(stdio_client(command, errlog=said)) as client:
            (task,) = (await client.list_prompts()).prompts
            for name, arguments in calls:
                last = await client.call_tool(name, arguments)
        return task.name, *read_score(last)

    with (tmp_path / "said").open("w") as said:
        found = asyncio.run(play())
    assert found == ("task", True, env.get_reward())
    last = (tmp_path / "said").read_text().strip().splitlines()[-1]
    assert json.loads(last) == {"done": True, "reward": env.get_reward(), "steps": len(calls)}


def test_a_task_that_there_is_not_is_one_line(shopwright, small):
    code, out, said = shopwright("serve", "--protocol", "stdio", "--run", small.folder, "--index", "9999")
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert "has no task 9999 of envs" in said


def test_workers_begin_with_the_sdk_in_memory():
    asks = "import sys; from shopwright.pipeline.trainers.serve import import_server; import_server('mcp'); assert 'mcp.server' in sys.modules"
    subprocess.run([sys.executable, "-c", asks], check=True)
