"""Probes of `shopwright play`: Gradio's routes for files and other servers, and hostile rows in a game."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.security.probes.common import UP, refuse
from tests.security.probes.servers import HOME, Probe, Server, find_free_port, name_command, start
from tests.security.probes.wire import ask

ACTS = {"script", "iframe", "object", "embed", "base", "meta", "link", "form", "style"}
FILES = (
    "/file=",
    "/gradio_api/file=",
    "/gradio_api/file/",
    "/static/",
    "/assets/",
    "/svelte/",
    "/gradio_api/custom_component/x/client/component/",
    "/gradio_api/deep_link?path=",
)


@contextmanager
def start_play(run: Path, folder: Path) -> Iterator[Server]:
    words = name_command("play", "--run", str(run), "--port", str(find_free_port()))
    facts = {"page": "/", "post": "/gradio_api/queue/join", "sockets": ("/", "/gradio_api/queue/join")}
    with start("play", words, run, folder, **facts) as server:
        yield server


def list_play_probes(server: Server) -> Iterator[Probe]:
    file = str(server.secret)
    for under in FILES:
        for up in UP[:8]:
            target = f"{under}{f'{up}/' * 12}{file.lstrip('/')}"
            yield Probe("traversal", f"{under}{up}", lambda target=target: find_file(server, target))
        for given in (
            file,
            quote(file, safe=""),
            f"{HOME}/pyproject.toml",
            f"{server.run}/manifests/catalog.json",
            "/etc/passwd",
            "/proc/self/environ",
        ):
            yield Probe("traversal", f"{under}{given[:30]}", lambda target=under + given: find_file(server, target))
    for target in ("/gradio_api/proxy=http://127.0.0.1:1/", "/proxy=http://shop.example/", "/gradio_api/file=http://127.0.0.1:1/", "/monitoring", "/gradio_api/monitoring/summary",
                   "/gradio_api/app_id/../../x", "/docs", "/redoc", "/gradio_api/docs"):  # fmt: skip
        yield Probe("route", target, lambda target=target: refuse(ask(server.port, target), *range(300, 500)))
    large = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n' + b"y" * 100_000 + b"\r\n--x--\r\n"
    )
    more = {"Content-Type": "multipart/form-data; boundary=x"}
    yield Probe(
        "route",
        "an upload",
        lambda: refuse(ask(server.port, "/gradio_api/upload", "POST", large, **more), *range(400, 501)),
    )
    for body in (b"", b"null", b"[]", b"[" * 50_000, b'{"fn_index": -1, "data": [], "session_hash": "a"}', b'{"fn_index": 10000, "data": [], "session_hash": "a"}',
                 b'{"fn_index": 0, "data": "x", "session_hash": "a"}', b'{"fn_index": 0, "data": [{"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}], "session_hash": "a"}'):  # fmt: skip
        yield Probe("call", body[:60].decode(), lambda body=body: find_call(server, body))
    for name, level in (("product_discovery", 0), ("cart_building", 3), ("substitution", 0), ("bundle_planning", 0)):
        for number in range(3):
            yield Probe(
                "page",
                f"a game of {name}, {number}",
                lambda name=name, level=level, number=number: find_active_game(server, name, level, number),
            )


def find_file(server: Server, target: str) -> str:
    found = ask(server.port, target)
    if '"sha256' in found.text or "[project]" in found.text or "PATH=" in found.text:
        return "it gave away a file"
    return refuse(found, *range(300, 500))


def find_call(server: Server, body: bytes) -> str:
    found = ask(server.port, "/gradio_api/queue/join", "POST", body, **{"Content-Type": "application/json"})
    return (
        refuse(found, 200, *range(400, 501)) or ("a traceback" if "Traceback" in found.text else "") or server.is_well()
    )


class Acting(HTMLParser):
    """What could act in a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wrong = [name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "").lower()]
        self.found += wrong + ([tag] if tag in ACTS or (tag == "img" and "src" in dict(attrs)) else [])


def find_active_game(server: Server, name: str, level: int, number: int) -> str:
    """Begins a game as the page does, and reads what it is sent to show."""
    known = json.loads(ask(server.port, "/config").text)
    begin = next(
        each for each in known["dependencies"] if each["api_name"] == "reset" or "reset" in str(each.get("api_name"))
    )
    call = {"fn_index": begin["id"], "session_hash": f"s{number}{name}", "data": [None, name, level, number]}
    joined = ask(
        server.port, "/gradio_api/queue/join", "POST", json.dumps(call).encode(), **{"Content-Type": "application/json"}
    )
    if joined.status != 200:
        return f"no game began: {joined.text[:200]}"
    said = ask(server.port, f"/gradio_api/queue/data?session_hash=s{number}{name}").text
    texts = [
        text for line in said.splitlines() if line.startswith("data: ") for text in list_texts(json.loads(line[6:]))
    ]
    shown = [text for text in texts if "<" in text]
    if not shown:
        return f"nothing was shown: {said[:300]}"
    return ", ".join(each for text in shown for each in Acting(text).found)


def list_texts(found: Any) -> list[str]:
    if isinstance(found, str):
        return [found]
    parts = found.values() if isinstance(found, dict) else found if isinstance(found, list) else []
    return [text for each in parts for text in list_texts(each)]
