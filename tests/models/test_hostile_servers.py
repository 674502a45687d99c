"""Servers that send what no server should: each ends, in a refusal of the row or in a server that counts as away, and takes no more memory than is its due."""

import asyncio
import gzip
import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from itertools import count, repeat

import pytest

from shopwright.pipeline.models.base import ServerUnreachable
from tests.models.asking import ask, client, prompt

GOOD = json.dumps({"choices": [{"message": {"content": "said"}, "finish_reason": "stop"}]}).encode()
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MB = 1 << 20


def whole(body, *headers):
    return b"".join([OK, *headers, b"Content-Length: %d\r\n\r\n" % len(body), body])


def chunk(body):
    return b"%x\r\n%s\r\n" % (len(body), body)


def drip(content, seconds=0.05):
    for each in content:
        time.sleep(seconds)
        yield bytes([each])


def hang():
    yield b""
    time.sleep(60)


def then_hang(content):
    yield content
    yield from hang()


def many(piece, times):
    yield from repeat(piece, times)


def pack_zeros(size):
    """So many bytes as gzip, a thousandth as long."""
    return gzip.compress(bytes(size))


AWAY, REFUSED = "away", "refused"
TOO_LARGE = "an answer of more than 16 MB"
TOO_MANY = "an answer of far more parts than a chat completion has"
SERVERS = {
    "silent": (hang, AWAY),
    "closes at once": (list, AWAY),
    "closes after the headers": (lambda: [OK + b"Content-Length: 9\r\n\r\n"], AWAY),
    "silent after the status": (lambda: then_hang(b"HTTP/1.1 200 OK\r\n"), AWAY),
    "silent after the headers": (lambda: then_hang(CHUNKED), AWAY),
    "silent within the body": (lambda: then_hang(whole(GOOD)[:-5]), AWAY),
    "headers byte by byte": (lambda: drip(whole(GOOD), 0.1), AWAY),
    "body byte by byte": (lambda: [OK, b"Content-Length: 999\r\n\r\n", *drip(bytes(999), 0.01)], AWAY),
    "headers without end": (lambda: (b"X-%d: y\r\n" % n if n else OK for n in count()), AWAY),
    "one header without end": (lambda: (b"x" * MB if n else OK + b"X: " for n in count()), AWAY),
    "a body longer than it says": (lambda: [OK + b"Content-Length: 9\r\n\r\n" + GOOD], AWAY),
    "a body shorter than it says": (lambda: [OK + b"Content-Length: 9999\r\n\r\n" + GOOD], AWAY),
    "a length below nothing": (lambda: [OK + b"Content-Length: -1\r\n\r\n" + GOOD], AWAY),
    "a length in words": (lambda: [OK + b"Content-Length: long\r\n\r\n" + GOOD], AWAY),
    "two lengths": (lambda: [OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + GOOD], AWAY),
    "a chunk of no size": (lambda: [CHUNKED, b"zz\r\n", GOOD], AWAY),
    "a chunk of a huge size": (lambda: [CHUNKED, b"f" * 15 + b"\r\n", GOOD], AWAY),
    "chunks that break off": (lambda: [CHUNKED, chunk(GOOD)[:-7]], AWAY),
    "a gigabyte": (lambda: [OK + b"Content-Length: %d\r\n\r\n" % (1 << 30), *many(bytes(MB), 1024)], TOO_LARGE),
    "chunks without end": (lambda: (chunk(b" " * MB) if n else CHUNKED for n in count()), TOO_LARGE),
    "a packed gigabyte": (lambda: [whole(pack_zeros(64 * MB), b"Content-Encoding: gzip\r\n")], TOO_LARGE),
    "packed, and it is not": (lambda: [whole(GOOD, b"Content-Encoding: gzip\r\n")], AWAY),
    "packed, and torn": (lambda: [whole(gzip.compress(GOOD)[:-20], b"Content-Encoding: gzip\r\n")], AWAY),
    "packed in a strange way": (lambda: [whole(GOOD, b"Content-Encoding: br\r\n")], AWAY),
    "lists in lists": (lambda: [whole(b"[" * 300_000)], AWAY),
    "a million lists": (lambda: [whole(b"[" + b"[]," * 1_000_000 + b"0]")], TOO_MANY),
    "a million numbers": (lambda: [whole(b"[" + b"1.5," * 3_000_000 + b"0]")], TOO_MANY),
    "another protocol": (lambda: [b"SSH-2.0-OpenSSH_9.6\r\n"], AWAY),
    "sent in a circle": (
        lambda: [b"HTTP/1.1 307 Again\r\nLocation: /v1/chat/completions\r\nContent-Length: 0\r\n\r\n"],
        AWAY,
    ),
    "sent to a file": (
        lambda: [b"HTTP/1.1 307 There\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"],
        AWAY,
    ),
    "going on for ever": (lambda: repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), AWAY),
    "nothing, rightly": (lambda: [b"HTTP/1.1 204 No Content\r\n\r\n"], AWAY),
    "nothing but NULs": (lambda: [whole(bytes(9_999))], AWAY),
    "a page": (lambda: [whole(b"<html>Welcome</html>")], AWAY),
    "no text": (lambda: [whole(b'{"choices": [{"message": {"content": "\xff\xfe"}}')], AWAY),
}


@contextmanager
def serve(pieces):
    """The address of a server that sends this to each request, with its bodies unread but for what a request has."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(connection):
            with connection, suppress(OSError):
                connection.recv(MB)
                for piece in pieces():
                    connection.sendall(piece)

        def listen():
            with suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=server.accept()[:1], daemon=True).start()

        threading.Thread(target=listen, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_the_server_of_these_tests_can_be_a_good_one():
    for pieces in ([whole(GOOD)], [CHUNKED, chunk(GOOD), chunk(b"")], [*drip(whole(GOOD), 0.001)]):
        with serve(lambda pieces=pieces: pieces) as url:
            assert ask(url, [prompt(1)])[0].text == "said"
    for packed in (gzip.compress(GOOD), gzip.compress(GOOD + b" " * 3 * MB)):
        with serve(lambda packed=packed: [whole(packed, b"Content-Encoding: gzip\r\n")]) as url:
            assert ask(url, [prompt(1)])[0].text == "said"


@pytest.mark.parametrize("name", SERVERS)
def test_whatever_a_server_sends_a_request_ends(name):
    pieces, ends = SERVERS[name]

    async def request(url):
        model = client(url, patience=0.8 if ends == AWAY else 40)
        try:
            # The time is no measure: it only ends a test that would hang.
            return await asyncio.wait_for(model.reply(prompt(1)), 45)
        finally:
            await model.close()

    with serve(pieces) as url:
        if ends == AWAY:
            with pytest.raises(ServerUnreachable, match="no good answer"):
                asyncio.run(request(url))
        else:
            reply = asyncio.run(request(url))
            assert (reply.fault, reply.finish, reply.text) == (ends, REFUSED, "")


def test_what_one_request_meets_ends_that_one_alone():
    """Where others are answered well, a request that is not ends as its row's fault."""
    turn = count()

    def pieces():
        return [whole(b"[" + b"[]," * 1_000_000 + b"0]")] if next(turn) == 3 else [whole(GOOD)]

    with serve(pieces) as url:
        replies = ask(url, map(prompt, range(8)), at_once=1)
    assert [each.fault for each in replies].count(TOO_MANY) == 1
    assert [each.text for each in replies].count("said") == 7


ASKS = """
import asyncio, resource, sys
from tests.models.asking import client, prompt

async def run():
    model = client(sys.argv[1], at_once=64)
    try:
        return await asyncio.gather(*(model.reply(prompt(number)) for number in range(64)))
    finally:
        await model.close()

client("http://127.0.0.1:9/v1")
import aiohttp
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
replies = asyncio.run(run())
assert all(each.finish == "refused" for each in replies), replies[0]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(
    "name",
    [
        "a gigabyte",
        "a million lists",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("a packed gigabyte", "a million numbers")),
    ],
)
def test_sixty_four_at_once_stay_below_300_megabytes(name):
    with serve(SERVERS[name][0]) as url:
        ran = subprocess.run(
            [sys.executable, "-c", ASKS, url], capture_output=True, check=False, text=True, timeout=300
        )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert int(ran.stdout) < 300 * 1024
