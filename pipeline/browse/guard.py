"""Who may ask a server of this machine: its own browser and programs, and no other site's page; and how long a request may be, and take to come.

Any page can make a browser ask 127.0.0.1, and one whose name is changed to lead there (DNS rebinding) can read what comes back. Both say whose
page it was, in headers that a page cannot change. Who forwards a port keeps a name of this machine, so any port will do.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

NAMES = ("127.0.0.1", "localhost", "::1")
# What a browser says of where a request comes from: it does not say, the person, or one of these pages.
OWN = ("", "none", "same-origin")
# Bytes of a request's body, and seconds in which all of it has to come.
LONGEST, SECONDS = 16 << 20, 30.0
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host in NAMES


def find_request_violation(headers: Mapping[str, str]) -> tuple[int, str] | None:
    """The status and the words for a request that is not to be answered. headers: their names in small letters.

    >>> find_request_violation({"host": "localhost:8000", "origin": "http://127.0.0.1:8000"})
    >>> find_request_violation({"host": "shop.example:8000"})[0], find_request_violation({"host": "localhost:8000", "origin": "http://localhost:9000"})[0]
    (421, 403)
    """
    host = port_of(f"//{headers.get('host', '')}")
    if host is None:
        return 421, "This is not the server of that name. Ask for it as 127.0.0.1 or localhost."
    origin = headers.get("origin")
    mine = headers.get("sec-fetch-site", "") in OWN if origin is None else port_of(origin) == host
    return None if mine else (403, "Another site's page asked for this. Type the address, or start at the first page.")


def port_of(address: str) -> int | None:
    """The port of an address on this machine, by whichever of its names; None where it is none.

    >>> port_of("//localhost:8000"), port_of("http://[::1]:8000"), port_of("//127.0.0.1:8000@shop.example"), port_of("null")
    (8000, 8000, None, None)
    """
    try:
        found = urlsplit(address)
        port = found.port or 80
    except ValueError:
        return None
    bare = found.username is None and not (found.path or found.query or found.fragment)
    return port if bare and found.hostname in NAMES and found.scheme in ("", "http") else None


def join_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By their names in small letters; what is given twice stands in one, so that no reader takes the one that another leaves out.

    >>> join_headers([("Host", "localhost"), ("host", "shop.example")])
    {'host': 'localhost, shop.example'}
    """
    found: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


class Guard:
    """An ASGI application that passes on what `find_request_violation` has nothing against."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = read_headers(scope)
        why = find_request_violation(headers) if scope["type"] in ("http", "websocket") else None
        if why is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": why[1]})
        else:
            await send_text(send, *why)


async def send_text(send: Send, status: int, text: str) -> None:
    body = text.encode()
    told = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})


def read_headers(scope: Scope) -> dict[str, str]:
    return join_headers((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope.get("headers", ()))


class BodyRefused(Exception):
    """A body is too long, or too slow: status and words."""


class BodyLimit:
    """An ASGI application that passes on a request while its body is short enough and comes in time; the connection ends with one that is not read."""

    def __init__(self, app: App, most: int = LONGEST, seconds: float = SECONDS) -> None:
        self.app, self.most, self.seconds = app, most, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, end = read_headers(scope), monotonic() + self.seconds
        length = headers.get("content-length", "")
        taken, begun = 0, False
        whole = length in ("", "0") and "transfer-encoding" not in headers

        async def take() -> MutableMapping[str, Any]:
            nonlocal taken, whole
            if whole:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), end - monotonic())
            except TimeoutError:
                raise BodyRefused(408, f"The body did not come within {self.seconds:g} seconds.") from None
            taken += len(message.get("body", b""))
            whole = not message.get("more_body")
            if taken > self.most:
                raise BodyRefused(413, f"The body is longer than {self.most:,} bytes.")
            return message

        async def answer(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and not whole:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            begun = True
            await send(message)

        try:
            if length.isdecimal() and int(length[:20]) > self.most:
                raise BodyRefused(413, f"The body is longer than {self.most:,} bytes.")
            await self.app(scope, take, answer)
        except BodyRefused as refused:
            whole = False
            if not begun:
                await send_text(answer, *refused.args)


def guard_app(app: App, host: str) -> App:
    """For a server of this machine alone; one that was asked to listen to others answers them."""
    return Guard(app) if is_loopback(host) else app
