"""The image, built by its own instructions and started: see tests/images/namespace.py."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.images.namespace import TOKEN
from tests.images.test_images import HOME
from tests.scale.servers import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which("unshare") or os.geteuid() != 0, reason="namespaces with mounts need Linux and root"
    ),
]


@pytest.fixture(scope="module")
def open_image():
    """The ports of its server and of its playground."""
    ports = [free_port(), free_port()]
    enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    command = [*enter, sys.executable, "-m", "tests.images.namespace", *map(str, ports)]
    with subprocess.Popen(command, cwd=HOME) as running:
        for port, path in zip(ports, ("/health", "/"), strict=True):
            wait_for(f"http://127.0.0.1:{port}{path}", running)
        yield ports
        running.kill()


def wait_for(address, running):
    end = time.monotonic() + 1_200
    while running.poll() is None and time.monotonic() < end:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(1)
    raise AssertionError(f"{address} never answered.")


def test_it_serves_those_who_know_the_token(open_image):
    import aiohttp

    address = f"http://127.0.0.1:{open_image[0]}"
    with pytest.raises(HTTPError, match="401"):
        urlopen(f"{address}/metrics")
    with urlopen(Request(f"{address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})) as reply:
        assert b"shopwright" in reply.read()

    async def play():
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.ClientSession(headers=headers) as http, http.ws_connect(f"{address}/ws") as line:
            for kind, data in (("reset", {"index": 0}), ("step", {"tool_name": "cart_view", "arguments": {}})):
                await line.send_json({"type": kind, "data": data})
                answer = await line.receive_json()
            return answer

    answer = asyncio.run(play())
    assert answer["type"] == "observation"
    assert json.loads(answer["data"]["observation"]["result"])


def test_it_is_played_in_a_browser(open_image):
    with urlopen(f"http://127.0.0.1:{open_image[1]}/") as reply:
        assert b"Shopwright" in reply.read()
