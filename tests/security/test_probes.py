"""Attempts to get through to the servers, each started as a user starts it; and the limits of a request, by themselves."""

import asyncio
import socket
import time
from importlib.util import find_spec
from threading import Thread

import pytest

from shopwright.pipeline.browse import patience, server
from shopwright.pipeline.browse.guard import BodyLimit, Guard
from tests.browse.visitor import serve_run
from tests.security.probes.__main__ import main
from tests.security.probes.browse import start_browse
from tests.security.probes.common import (
    find_held,
    list_name_probes,
    list_site_probes,
    list_socket_probes,
    try_probe,
)
from tests.security.probes.wire import ask, exchange, make_opening, make_request


def test_nothing_gets_through_to_browse_as_it_is_started(plain, tmp_path):
    with start_browse(plain.folder, tmp_path) as found:
        probes = [*list_name_probes(found), *list_site_probes(found), *list_socket_probes(found)]
        through = {f"{probe.group}: {probe.name}": why for probe in probes if (why := try_probe(probe))}
        assert found.is_well() == ""
    assert (through, len(probes)) == ({}, 65)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["browse", "play", "prefect", "openenv", "mcp"])
def test_nothing_gets_through_to_any_server(name, capsys):
    package = {"play": "gradio", "openenv": "openenv", "mcp": "mcp_types"}.get(name, "prefect")
    if find_spec(package) is None:
        pytest.skip(f"no {package} here")
    assert main([name]) == 0, capsys.readouterr().out


def test_connections_whose_request_does_not_come_are_ended(plain, monkeypatch):
    monkeypatch.setattr(server, "SILENCE", 0.2)
    with serve_run(plain) as visitor:
        port = visitor.server.server_port
        half = make_request("/")[:-2]
        assert find_held(port, half, b"X") == ""
        assert find_held(port, b"", b"") == ""
        assert visitor.ask("/")[0] == 200
        assert visitor.server.unread == {}


def test_the_oldest_of_many_connections_that_say_nothing_is_ended(plain, monkeypatch):
    monkeypatch.setattr(server, "MOST_UNREAD", 4)
    with serve_run(plain) as visitor:
        port = visitor.server.server_port
        held = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(6)]
        assert [line.recv(1) for line in held[:2]] == [b"", b""]
        assert visitor.ask("/")[0] == 200
        held[5].sendall(make_request("/", Host=f"127.0.0.1:{port}"))
        assert held[5].recv(12) == b"HTTP/1.0 200"
        for line in held:
            line.close()


# --- servers of uvicorn: a body's length and time, and a request that does not come ---


async def echo(scope, receive, send):
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def ask_limited(app, pieces, **headers):
    """All that is sent back. pieces: of the body; after the last one nothing comes."""
    sent, waiting = [], list(pieces)

    async def receive():
        if not waiting:
            await asyncio.sleep(60)
        return {
            "type": "http.request",
            "body": waiting.pop(0),
            "more_body": bool(waiting) or not headers.get("ends", True),
        }

    async def send(message):
        sent.append(message)

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items() if name != "ends"]
    asyncio.run(app({"type": "http", "method": "POST", "path": "/", "headers": named}, receive, send))
    return sent


def test_a_body_within_its_limits_is_passed_on():
    first, last = ask_limited(BodyLimit(echo, most=10), [b"abc", b"def"], content_length="6")
    assert (first["status"], last["body"]) == (200, b"abcdef")
    assert first["headers"] == []


@pytest.mark.parametrize(
    ("pieces", "headers", "status"),
    [
        ([b"abc"], {"content_length": "11"}, 413),
        ([b"abc"], {"content_length": "9" * 5_000}, 413),
        ([b"abcdef", b"ghijkl", b""], {"transfer_encoding": "chunked"}, 413),
        ([b"abc"], {"transfer_encoding": "chunked", "ends": False}, 408),
        ([b"abc"], {"content_length": "6", "ends": False}, 408),
    ],
)
def test_a_body_too_long_or_too_slow_is_refused_and_ends_its_connection(pieces, headers, status):
    first, _ = ask_limited(BodyLimit(echo, most=10, seconds=0.05), pieces, **headers)
    assert first["status"] == status
    assert (b"connection", b"close") in first["headers"]


def test_who_is_refused_is_not_read_further():
    first, _ = ask_limited(BodyLimit(Guard(echo)), [b"abc"], host="shop.example", content_length="6")
    assert first["status"] == 421
    assert (b"connection", b"close") in first["headers"]


@pytest.fixture
def patient(monkeypatch):
    """The port of a server whose patience is short."""
    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setattr(patience, "SECONDS", 0.2)
    config = uvicorn.Config(
        BodyLimit(echo, seconds=0.2), http=patience.PatientProtocol, log_level="error", port=0, lifespan="off"
    )
    found = uvicorn.Server(config)
    thread = Thread(target=found.run, daemon=True)
    thread.start()
    while not found.started:
        time.sleep(0.01)
    yield found.servers[0].sockets[0].getsockname()[1]
    found.should_exit = True
    thread.join()


def test_a_request_that_does_not_come_ends_its_connection(patient):
    half = make_request("/", Connection="keep-alive")[:-2]
    whole = make_request("/", Connection="keep-alive")
    slow = make_request("/", "POST", Content_Length="9")
    opening = make_opening(patient, "/" + "x" * 10_000)  # too long for what reads it then
    for first, piece in ((b"", b""), (opening, b""), (half, b""), (half, b"X"), (whole + half, b"X"), (slow, b" ")):
        assert find_held(patient, first, piece) == ""
    assert ask(patient, "/", "POST", b"abc").body.split()[1] == b"abc"


def test_a_connection_in_use_is_kept(patient):
    def several():
        for _ in range(8):
            yield make_request("/", Connection="keep-alive")
            time.sleep(0.08)
        yield make_request("/")

    assert exchange(patient, several(), wait=0.5).raw.count(b"200 OK") == 9
