"""Probes of `shopwright serve`: messages that are none, other clients' episodes, names that lead to files, tokens."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.security.probes.common import UP, refuse
from tests.security.probes.servers import SECRET, Probe, Server, find_free_port, name_command, start
from tests.security.probes.wire import Answer, ask, ask_socket

TOKEN = "token-of-the-probes"
PASSED = (
    "/etc/passwd",
    "../../etc/passwd",
    "..",
    ".",
    "/",
    "",
    " ",
    "a/b",
    "a\\b",
    "a\0b",
    "x" * 10_000,
    "con",
    "\u202e",
    "%2e%2e",
    "~root",
    "$HOME",
    "{{7*7}}",
    "a\nb",
)
TOOLS = (
    "__class__",
    "__init__",
    "_begin",
    "_run",
    "reset",
    "get_reward",
    "close",
    "task",
    "_earned",
    "",
    " ",
    "cart_add.__func__",
    "x" * 100_000,
    "\0",
)
MESSAGES = (
    "", "null", "[]", "1", '"x"', "{", "[" * 200_000, "{}", '{"type": null}', '{"type": "x"}', '{"type": "reset", "data": []}', '{"type": "reset", "data": {"index": -1}}',
    '{"type": "reset", "data": {"index": 1e99}}', '{"type": "reset", "data": {"index": "0"}}', '{"type": "reset", "data": {"index": ' + "9" * 5_000 + "}}",
    '{"type": "reset", "data": {"self": 1}}', '{"type": "reset", "data": {"extra_info": "x"}}', '{"type": "reset", "data": {"extra_info": {"task": "x"}}}',
    '{"type": "reset", "data": {"extra_info": {"task": {"env": "../../x", "difficulty": 0, "seed": 0}}}}', '{"type": "reset", "data": {"extra_info": {"task": {"env": "cart_building", "difficulty": 99999, "seed": -1}}}}',
    '{"type": "reset", "data": {"extra_info": {"task": {"training": "../../x", "number": 0}}}}', '{"type": "step", "data": {"tool_name": "cart_view", "arguments": "["}}',
    '{"type": "step", "data": {"tool_name": "cart_view", "arguments": "' + "[" * 100_000 + '"}}', '{"type": "step", "data": {"tool_name": 1, "arguments": {}}}', '{"type": "step", "data": {}}',
    '{"type": "reset_many", "data": {"a": 1}}', '{"type": "close_many", "data": [[]]}', '{"type": "close_many", "data": ["a", "b"]}', '{"type": "mcp", "data": {"method": "x"}}',
    '{"type": "mcp", "data": {"method": "tools/call", "params": []}}', '{"type": "mcp", "data": {"method": "tools/call", "params": {"name": "__class__"}}}', "NaN", '{"type": "reset", "data": {"index": NaN}}',
)  # fmt: skip


def start_serve(protocol: str, python: str) -> Callable[[Path, Path], Any]:
    @contextmanager
    def begin(run: Path, folder: Path) -> Iterator[Server]:
        port = str(find_free_port())
        words = name_command(
            "serve", "--run", str(run), "--protocol", protocol, "--port", port, "--curriculum", "C1", python=python
        )
        post, sockets = ("/episodes", ("/mcp",)) if protocol == "mcp" else ("/reset", ("/ws", "/mcp"))
        with start(protocol, words, run, folder, page="/health", post=post, sockets=sockets) as server:
            yield server

    return begin


def start_token_serve(protocol: str, python: str) -> Callable[[Path, Path], Any]:
    @contextmanager
    def begin(run: Path, folder: Path) -> Iterator[Server]:
        os.environ["SHOPWRIGHT_TOKEN"] = TOKEN
        words = name_command(
            "serve",
            "--run",
            str(run),
            "--protocol",
            protocol,
            "--port",
            str(find_free_port()),
            "--host",
            "0.0.0.0",
            python=python,
        )
        post, sockets = ("/episodes", ("/mcp",)) if protocol == "mcp" else ("/reset", ("/ws", "/mcp"))
        with start(f"{protocol}-token", words, run, folder, page="/health", post=post, sockets=sockets) as server:
            yield server

    return begin


def list_token_probes(server: Server) -> Iterator[Probe]:
    """Of one that others reach: it answers those who know the token alone."""
    wrong = (
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"bearer {TOKEN}",
        TOKEN,
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}, Bearer x",
        "Bearer \u00e9",
        "Bearer " + "x" * 10_000,
    )
    for given in wrong:
        more = {"Authorization": given}
        yield Probe(
            "token",
            f"{given[:40]!r}",
            lambda more=more: refuse(ask(server.port, server.post, "POST", b"{}", **more), 401, 400),
        )
        for path in server.sockets:
            yield Probe(
                "token",
                f"{path} {given[:40]!r}",
                lambda path=path, more=more: (
                    "it was opened" if ask_socket(server.port, path, **more).status == 101 else ""
                ),
            )
    for path in (
        "/metrics",
        "/docs",
        "/openapi.json",
        "/curriculum",
        "/mcp",
        "/schema",
        "/health/",
        "//health",
        "/health/../metrics",
        "/health%2f..%2fmetrics",
        "/HEALTH",
        f"/metrics?token={TOKEN}",
    ):
        yield Probe("token", f"{path} without one", lambda path=path: refuse(ask(server.port, path), 401, 400))


def list_openenv_probes(server: Server) -> Iterator[Probe]:
    for text in MESSAGES:
        yield Probe("message", text[:60], partial(find_message, server, text))
    for tool in TOOLS:
        yield Probe(
            "message",
            f"tool {tool[:20]!r}",
            partial(
                find_message, server, dump("step", tool_name=tool, arguments={}), dump("reset", split="envs", index=0)
            ),
        )
    for name in PASSED:
        for field in ("split", "environment", "training"):
            yield Probe("name", f"{field} {name[:20]!r}", partial(find_named, server, field, name))
        yield Probe("session", f"of {name[:20]!r}", partial(find_session, server, name))
    yield Probe("session", "of another's connection", lambda: find_other(server))
    yield Probe("session", "closed by another", lambda: find_closed(server))
    yield Probe("session", "keys of a batch", lambda: find_batch(server))
    yield Probe("size", "message of 64 MB", lambda: find_message(server, '"' + "x" * (64 << 20) + '"'))
    for up in UP:
        for under in ("/", "/curriculum/", "/web/", "/docs/"):
            target = f"{under}{f'{up}/' * 12}{str(server.secret).lstrip('/')}"
            yield Probe(
                "traversal", f"{under}{up}", lambda target=target: refuse(ask(server.port, target), *range(300, 500))
            )
    for path in ("/reset", "/step", "/mcp", "/state"):
        for body in (
            b"",
            b"null",
            b"[" * 100_000,
            b'{"action": {"tool_name": "__class__"}}',
            b'{"method": "openenv/session/close", "params": {"session_id": "x"}}',
        ):
            yield Probe(
                "call", f"{path} {body[:40].decode()}", lambda path=path, body=body: find_call(server, path, body)
            )


def list_mcp_probes(server: Server) -> Iterator[Probe]:
    for name in PASSED:
        for field in ("environment", "training"):
            body = json.dumps({field: name, "index": 0}).encode()
            yield Probe("name", f"{field} {name[:20]!r}", lambda body=body: find_call(server, "/episodes", body))
        from urllib.parse import quote

        key = quote(name)
        yield Probe(
            "session",
            f"reward of {name[:20]!r}",
            lambda key=key: refuse(ask(server.port, f"/episodes?episode={key}"), *range(400, 500)),
        )
        yield Probe(
            "session",
            f"end of {name[:20]!r}",
            lambda key=key: refuse(ask(server.port, f"/episodes?episode={key}", "DELETE"), *range(400, 500)),
        )
    for body in (
        b"",
        b"null",
        b"[]",
        b"[" * 100_000,
        b'{"index": -1}',
        b'{"index": 1e99}',
        b'{"self": 1}',
        b'{"extra_info": {"task": "x"}}',
    ):
        yield Probe("call", f"/episodes {body[:40].decode()}", lambda body=body: find_call(server, "/episodes", body))
        yield Probe("call", f"/mcp {body[:40].decode()}", lambda body=body: find_call(server, "/mcp", body))
    for up in UP:
        target = f"/{f'{up}/' * 12}{str(server.secret).lstrip('/')}"
        yield Probe("traversal", up, lambda target=target: refuse(ask(server.port, target), *range(300, 500)))


def find_call(server: Server, path: str, body: bytes) -> str:
    more = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    found = ask(server.port, path, "POST", body, **more)
    return refuse(found, 200, *range(400, 500)) or find_leak(found) or server.is_well()


def find_leak(found: Answer) -> str:
    return "a traceback" if "Traceback (most" in found.text or 'File "/' in found.text else ""


def dump(kind: str, **data: Any) -> str:
    return json.dumps({"type": kind, "data": data})


@contextmanager
def connect(server: Server, path: str = "/ws") -> Iterator[Any]:
    from websockets.sync.client import connect

    with connect(f"ws://127.0.0.1:{server.port}{path}", max_size=None, open_timeout=30, close_timeout=5) as line:
        yield line


def talk(line: Any, *texts: str) -> list[str]:
    found = []
    for text in texts:
        line.send(text)
        found.append(line.recv(timeout=60))
    return found


def find_message(server: Server, text: str, *before: str) -> str:
    """A message has an answer, or ends its own connection; and nothing else."""
    from websockets.exceptions import ConnectionClosed

    said = [""]
    with suppress(ConnectionClosed), connect(server) as line:
        talk(line, *before)
        said = talk(line, text)
    if SECRET in said[0] or "root:x:" in said[0] or "Traceback" in said[0]:
        return f"it told {said[0][:200]}"
    return server.is_well()


def find_named(server: Server, field: str, name: str) -> str:
    before = set(server.run.parent.rglob("*"))
    why = find_message(server, dump("reset", **{field: name}))
    made = {
        path
        for path in set(server.run.parent.rglob("*")) - before
        if server.run / "training" not in path.parents and "curricul" not in str(path)
    }
    return why or (f"it made {sorted(made)[:3]}" if made else "")


def find_session(server: Server, key: str) -> str:
    """A key that nobody was given opens no session; an empty one is none."""
    from urllib.parse import quote

    with suppress(Exception), connect(server, f"/ws?session_id={quote(key)}") as line:
        said = line.recv(timeout=5) if key else '"SESSION_ERROR"'
        return "" if "SESSION_ERROR" in said else f"it told {said[:200]}"
    return ""


def find_other(server: Server) -> str:
    """What one client does is not seen by another."""
    with connect(server) as mine, connect(server) as other:
        talk(mine, dump("reset", split="envs", index=0))
        said = talk(other, dump("step", tool_name="cart_view", arguments={}), dump("state"))
    return "" if "SESSION_ERROR" in said[0] and '"episode_id": null' in said[1] else f"another was told {said}"


def find_closed(server: Server) -> str:
    with connect(server) as mine:
        talk(mine, dump("reset", split="envs", index=0))
        with connect(server) as other:
            talk(other, json.dumps({"type": "close_many", "data": ["", "0", "envs-0"]}))
        said = talk(mine, dump("state"))[0]
    return "" if "envs-0" in said else f"the episode was ended: {said}"


def find_batch(server: Server) -> str:
    with connect(server) as mine, connect(server) as other:
        talk(mine, dump("reset_many", a={"split": "envs", "index": 0}))
        said = talk(other, dump("step_many", a={"tool_name": "cart_view", "arguments": {}}))[0]
    return "" if "SESSION_ERROR" in said else f"another was told {said[:200]}"
