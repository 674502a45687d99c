"""The port and its workers, with a small application instead of the environments."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import pytest

from shopwright.pipeline.trainers.sessions import find_owner

HOME = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    find_spec("uvicorn") is None or find_spec("websockets") is None, reason="uvicorn and websockets are not installed"
)
SERVER = """
import asyncio, os, sys, tempfile
from pathlib import Path
from shopwright.pipeline.trainers.front import Front, open_listener
from shopwright.pipeline.trainers.worker import TokenGuard, answer_connections, place_of

port, workers, per_client, how = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
folder = Path(sys.argv[5])

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": str(os.getpid())})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message["text"]})
    else:
        body = str(os.getpid()).encode()
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

async def drain():
    (folder / "draining").touch()
    while not (folder / "drained").exists():
        await asyncio.sleep(0.02)

def work(index, control):
    if how == "fails":
        sys.exit(3)
    given = TokenGuard(app, "secret") if how == "token" else app
    asyncio.run(answer_connections(given, control, place_of(folder, index), drain))

front = Front(open_listener("127.0.0.1", port), workers, work, grace=30, per_client=per_client)
print("listening", flush=True)
sys.exit(front.run())
"""


@contextmanager
def serve(tmp_path, workers=2, per_client=0, how="answers"):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [
        sys.executable,
        "-c",
        textwrap.dedent(SERVER),
        str(port),
        str(workers),
        str(per_client),
        how,
        str(tmp_path),
    ]
    front = subprocess.Popen(words, cwd=HOME, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert front.stdout.readline() == "listening\n"
        yield front, f"http://127.0.0.1:{port}"
    finally:
        front.kill()
        front.wait()


def is_alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


async def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


async def connect(client, address, count):
    """So many connections, each with the process that has it."""
    lines = [await client.ws_connect(address) for _ in range(count)]
    return [(line, int(await line.receive_str())) for line in lines]


def test_connections_are_shared_out_evenly(tmp_path):
    async def count():
        async with aiohttp.ClientSession() as client:
            found = [worker for _, worker in await connect(client, address, 20)]
            return sorted(map(found.count, set(found)))

    with serve(tmp_path) as (_, address):
        assert asyncio.run(count()) == [10, 10]


def test_connections_that_end_after_each_request_are_dealt_in_turn(tmp_path):
    """All workers have none then, and the first is not always the one with the fewest."""

    async def ask_one_by_one():
        found = []
        for _ in range(8):
            async with aiohttp.ClientSession() as client:
                ((line, worker),) = await connect(client, address, 1)
                await line.close()
            found.append(worker)
            await asyncio.sleep(0.1)  # until the front has heard of it
        return sorted(map(found.count, set(found)))

    with serve(tmp_path) as (_, address):
        assert asyncio.run(ask_one_by_one()) == [4, 4]


def test_who_names_a_session_reaches_the_worker_that_has_it(tmp_path):
    keys = [f"key-{number}" for number in range(12)]

    async def ask():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as client:
            found = {}
            for _ in range(2):
                for key in keys:
                    async with client.get(f"{address}/mcp", params={"x": "1", "episode": key}) as reply:
                        found.setdefault(key, set()).add(await reply.text())
            return found

    with serve(tmp_path, workers=3) as (_, address):
        found = asyncio.run(ask())
    assert all(len(workers) == 1 for workers in found.values())
    by_owner = {find_owner(key, 3): found[key] for key in keys}
    assert all(found[key] == by_owner[find_owner(key, 3)] for key in keys)
    assert len({worker for workers in found.values() for worker in workers}) == 3


def test_the_sessions_of_a_killed_worker_are_told_why_and_the_others_go_on(tmp_path):
    async def kill():
        async with aiohttp.ClientSession() as client:
            lines = await connect(client, address, 8)
            victim = lines[0][1]
            os.kill(victim, signal.SIGKILL)
            for line, worker in lines:
                if worker == victim:
                    told = await line.receive()
                    assert (told.type, told.data) == (aiohttp.WSMsgType.CLOSE, 1012)
                    assert told.extra.startswith("The worker that had this session died")
                else:
                    await line.send_str("still there")
                    assert await line.receive_str() == "still there"
            later = {worker for _, worker in await connect(client, address, 8)}
            assert len(later) == 2
            assert victim not in later

    with serve(tmp_path) as (front, address):
        asyncio.run(kill())
        front.kill()
        assert "A worker died (signal 9) with 4 connections. Another takes its place." in front.stderr.read()


def test_workers_end_with_the_process_that_listens(tmp_path):
    async def kill():
        async with aiohttp.ClientSession() as client:
            workers = {worker for _, worker in await connect(client, address, 4)}
            front.kill()
            front.wait()
            await until(lambda: not any(map(is_alive, workers)))

    with serve(tmp_path) as (front, address):
        asyncio.run(kill())


def test_a_stop_takes_no_connection_and_waits_for_what_is_under_way(tmp_path):
    async def stop():
        async with aiohttp.ClientSession() as client:
            [(line, _)] = await connect(client, address, 1)
            front.send_signal(signal.SIGTERM)
            await until(lambda: (tmp_path / "draining").exists())
            await line.send_str("under way")
            assert await line.receive_str() == "under way"
            with pytest.raises(aiohttp.ClientConnectionError):
                await client.get(address)
            (tmp_path / "drained").touch()
            assert (await line.receive()).type is aiohttp.WSMsgType.CLOSE
            await until(lambda: front.poll() is not None)
        return front.returncode

    with serve(tmp_path) as (front, address):
        assert asyncio.run(stop()) == 0


def test_a_second_stop_waits_for_nothing(tmp_path):
    async def stop():
        async with aiohttp.ClientSession() as client:
            await connect(client, address, 1)
            front.send_signal(signal.SIGINT)
            await until(lambda: (tmp_path / "draining").exists())
            front.send_signal(signal.SIGINT)
            await until(lambda: front.poll() is not None)

    with serve(tmp_path) as (front, address):
        asyncio.run(stop())


def test_one_address_has_so_many_connections_and_no_more(tmp_path):
    async def crowd():
        async with aiohttp.ClientSession() as client:
            lines = await connect(client, address, 3)
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(address)
            assert refused.value.status == 429
            await lines[0][0].close()
            for _ in range(100):
                async with client.get(address) as reply:
                    if reply.status == 200:
                        return
                    assert await reply.text() == "This address has 3 connections already.\n"
                await asyncio.sleep(0.05)
            raise AssertionError("the place did not become free")

    with serve(tmp_path, per_client=3) as (_, address):
        asyncio.run(crowd())


def test_workers_that_die_as_they_begin_end_the_server(tmp_path):
    with serve(tmp_path, how="fails") as (front, _):
        _, said = front.communicate(timeout=60)
    assert front.returncode == 1
    assert "5 workers died within 5 seconds. The server stops." in said


@pytest.mark.parametrize("given", [{}, {"Authorization": "secret"}, {"Authorization": "Bearer wrong"}])
def test_without_the_token_only_health_is_answered(tmp_path, given):
    async def ask():
        async with aiohttp.ClientSession(headers=given) as client:
            found = []
            for path in ("", "/ws", "/metrics", "/health", "/ready"):
                async with client.get(address + path) as reply:
                    found.append(reply.status)
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(f"{address}/ws")
            return found, refused.value.status

    with serve(tmp_path, how="token") as (_, address):
        assert asyncio.run(ask()) == ([401, 401, 401, 200, 200], 401)


def test_with_the_token_all_is_answered(tmp_path):
    async def ask():
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer secret"}) as client:
            [(_, worker)] = await connect(client, f"{address}/ws", 1)
            async with client.get(f"{address}/metrics") as reply:
                return worker, reply.status

    with serve(tmp_path, how="token") as (_, address):
        assert asyncio.run(ask())[1] == 200


def test_a_connection_on_which_nothing_is_said_is_dropped(tmp_path, monkeypatch):
    """With a shorter patience, in this process: nothing is forked."""
    from shopwright.pipeline.trainers import front as module

    monkeypatch.setattr(module, "PATIENCE", -1.0)
    listener = module.open_listener("127.0.0.1", 0)
    listener.setblocking(False)
    front = module.Front(listener, 1, lambda index, control: None, grace=1)
    with socket.create_connection(listener.getsockname()) as silent:
        while not front.held:
            front.accept(listener, 0)
        front.drop_silent()
        assert silent.recv(1) == b""
    assert not front.held
    assert not front.clients
    listener.close()
