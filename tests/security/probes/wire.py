"""Requests as bytes: what no HTTP library would send, and what comes back."""

import base64
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

# Bytes of a reply that are read, and seconds that one is waited for.
MOST = 16 << 20
SECONDS = 60.0
# Seconds in which a second reply would have come.
AFTER = 0.3


class Answer(NamedTuple):
    """The first reply on a connection. status: 0 where none came. raw: all that came."""

    status: int
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


def make_request(target: str, method: str = "GET", body: bytes = b"", **headers: str | None) -> bytes:
    """A request; `_` in a name stands for `-`; None leaves a header out."""
    given: dict[str, str | None] = {"Host": "127.0.0.1", "Connection": "close"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    if body and "Content-Length" not in given and "Transfer-Encoding" not in given:
        given["Content-Length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items() if value is not None)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body


def exchange(port: int, sent: bytes | Iterable[bytes], *, seconds: float = SECONDS, wait: float = 0.0) -> Answer:
    """Sends bytes, and reads until the server ends the connection or the first reply is whole; then `wait` seconds more."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as line:
        with suppress(ConnectionError, TimeoutError):  # a server may answer and close before it has all
            for piece in [sent] if isinstance(sent, bytes) else sent:
                line.sendall(piece)
        return read_answer(line, seconds, wait)


def read_answer(line: socket.socket, seconds: float, wait: float = 0.0) -> Answer:
    raw, end = b"", time.monotonic() + seconds
    while len(raw) < MOST and (left := end - time.monotonic()) > 0:
        line.settimeout(left)
        try:
            piece = line.recv(1 << 16)
        except (ConnectionError, TimeoutError):
            break
        if not piece:
            break
        raw += piece
        if is_whole(raw):
            end = min(end, time.monotonic() + wait)
    return parse_answer(raw)


def parse_answer(raw: bytes) -> Answer:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(":")[::2] for line in lines]
    words = first.split(" ")
    status = int(words[1]) if raw.startswith(b"HTTP/") and len(words) > 1 and words[1].isdecimal() else 0
    return Answer(status, {name.lower(): value.strip() for name, value in pairs}, body, raw)


def is_whole(raw: bytes) -> bool:
    """Whether a reply with a length, or in chunks, has all come."""
    if b"\r\n\r\n" not in raw:
        return False
    found = parse_answer(raw)
    if found.status == 101:
        return True
    if "chunked" in found.headers.get("transfer-encoding", ""):
        return found.body.endswith(b"0\r\n\r\n")
    return len(found.body) >= int(found.headers.get("content-length", MOST))


def ask(port: int, target: str, method: str = "GET", body: bytes = b"", **headers: str | None) -> Answer:
    """One request by the server's right name, unless `Host` says another."""
    return exchange(port, make_request(target, method, body, **{"Host": f"127.0.0.1:{port}", **headers}))


def make_opening(port: int, path: str, **headers: str | None) -> bytes:
    """Of a WebSocket."""
    key = base64.b64encode(b"0123456789abcdef").decode()
    opening = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
    return make_request(path, **{"Host": f"127.0.0.1:{port}", **opening, **headers})


def ask_socket(port: int, path: str, **headers: str | None) -> Answer:
    """The answer to a WebSocket's opening."""
    return exchange(port, make_opening(port, path, **headers), seconds=20, wait=0.05)
