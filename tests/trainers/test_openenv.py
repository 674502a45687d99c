"""`shopwright serve` as OpenEnv's own clients and models see it."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import pytest

from shopwright.pipeline.trainers.env import ShopEnv, list_tool_schemas
from shopwright.pipeline.trainers.openenv import Connection, dump_answer, dump_opened
from shopwright.pipeline.trainers.sessions import Answer, Opened, Sessions
from tests.trainers.test_front import is_alive, until

HOME = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(find_spec("openenv") is None, reason="openenv is not installed")
LOOK = {"tool_name": "cart_view", "arguments": {}}


@contextmanager
def serve(run, *words, **variables):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "shopwright.pipeline", "serve", "--run", str(run), "--port", str(port), *words]
    server = subprocess.Popen(command, cwd=HOME, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})
    try:
        assert server.stdout.readline().startswith("Serving ")
        yield server, f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def served(small):
    with serve(small.folder, "--workers", "2", "--sessions", "20") as (_, address):
        yield address


def list_workers(server):
    return list(map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()))


def test_our_messages_are_those_of_its_models():
    from openenv.core.env_server.mcp_types import CallToolObservation, ListToolsObservation
    from openenv.core.env_server.serialization import serialize_observation
    from openenv.core.env_server.types import Observation

    prompt = [{"role": "user", "content": 'A "lamp" 😀'}]
    tools = list_tool_schemas(ShopEnv)
    theirs = serialize_observation(Observation(metadata={"prompt": prompt, "tools": tools}))
    assert json.loads(dump_opened(Opened("x", prompt, "envs", None))) == theirs
    said = CallToolObservation(tool_name="x", result="é\n", done=True, reward=-0.25)
    assert json.loads(dump_answer("x", Answer("é\n", -0.25, True))) == serialize_observation(said)
    session = Sessions("").open()
    listed = json.loads(asyncio.run(Connection(session).answer('{"type": "step", "data": {"type": "list_tools"}}')))[
        "data"
    ]
    assert serialize_observation(ListToolsObservation(tools=listed["observation"]["tools"])) == listed


def test_clients_of_tools_find_them_before_the_reset_and_reach_their_session_by_every_way(served):
    from openenv.core.mcp_client import MCPToolClient

    async def play():
        async with MCPToolClient(base_url=served) as client:
            tools = await client.list_tools()
            await client.reset(split="envs", index=1)
            first = await client.call_tool("datetime_now")
            await (
                client._http_client.aclose()
            )  # its next request comes on a new connection, perhaps to the other worker
            client._http_client = None
            second = await client.call_tool("datetime_now")
            return {tool.name for tool in tools}, first, second

    async def many():
        return await asyncio.gather(*(play() for _ in range(6)))

    for names, first, second in asyncio.run(many()):
        assert names == {each["function"]["name"] for each in list_tool_schemas(ShopEnv)}
        left = [json.loads(said["result"])["calls_left"] for said in (first, second)]
        assert left[1] == left[0] - 1


def test_more_sessions_than_places_are_opened_at_once_and_none_is_lost(served):
    from openenv import GenericEnvClient

    async def play(number):
        async with GenericEnvClient(base_url=served) as client:
            await client.reset(split="envs", index=number % 3)
            return (await client.step(LOOK)).done

    async def crowd():
        return await asyncio.gather(*map(play, range(200)))

    assert asyncio.run(crowd()) == [False] * 200
    asyncio.run(until(lambda: json.load(urlopen(f"{served}/ready"))["sessions"] == 0))


def test_a_client_of_a_killed_worker_is_told_by_name(small):
    from openenv import GenericEnvClient

    async def kill(server, address):
        clients = [GenericEnvClient(base_url=address) for _ in range(4)]
        for client in clients:
            await client.connect()
            await client.reset(split="envs", index=0)
        victim, other = list_workers(server)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: len(list_workers(server)) == 2 and victim not in list_workers(server))
        found = await asyncio.gather(*(client.step(LOOK) for client in clients), return_exceptions=True)
        assert is_alive(other)
        again = await asyncio.gather(*(client.reset(split="envs", index=0) for client in clients))
        for client in clients:
            await client.close()
        return [str(error) for error in found if isinstance(error, Exception)], found, again

    with serve(small.folder, "--workers", "2") as (server, address):
        said, found, again = asyncio.run(kill(server, address))
    assert len(said) == 2
    # A client that had a call under way reads the reason of the close; one that calls later has connected again by itself.
    assert all("worker that had" in text for text in said)
    assert sum(not isinstance(one, Exception) and not one.done for one in found) == 2
    assert all("prompt" in opened.metadata for opened in again)


def test_what_prometheus_reads_counts_all_workers(small):
    pytest.importorskip("prometheus_client")
    from openenv import GenericEnvClient

    async def play(address):
        for number in range(6):
            async with GenericEnvClient(base_url=address) as client:
                await client.reset(split="envs", index=number % 2)
                await client.step({"tool_name": "submit", "arguments": {}})

    with serve(small.folder, "--workers", "2") as (_, address):
        asyncio.run(play(address))
        lines = [line.split() for line in urlopen(f"{address}/metrics").read().decode().splitlines()]
    counts = {name: sum(float(line[-1]) for line in lines if line[0].startswith(name)) for name in COUNTED}
    assert counts == dict.fromkeys(COUNTED, 6.0)


COUNTED = ("shopwright_reset_seconds_count", "shopwright_step_seconds_count", "shopwright_reward_count")


def test_a_batch_comes_over_one_connection(served):
    from openenv import GenericEnvClient

    async def play():
        async with GenericEnvClient(base_url=served) as client:
            data = {str(number): {"split": "envs", "index": number % 3} for number in range(10)}
            opened = await client._send_and_receive({"type": "reset_many", "data": data})
            stepped = await client._send_and_receive({"type": "step_many", "data": dict.fromkeys(data, LOOK)})
            return opened["data"], stepped["data"]

    opened, stepped = asyncio.run(play())
    assert len(opened) == len(stepped) == 10
    assert all("observation" in each for each in [*opened.values(), *stepped.values()])
