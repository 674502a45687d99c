"""Who may ask a server of this machine: its own browser and programs, and no other site's page.

Any page can make a browser ask 127.0.0.1, and one whose name is changed to lead there (DNS rebinding) can read what comes back. Both say whose
page it was, in headers that a page cannot change. Who forwards a port keeps a name of this machine, so any port will do.
"""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

NAMES = ("127.0.0.1", "localhost", "::1")
# What a browser says of where a request comes from: it does not say, the person, or one of these pages.
OWN = ("", "none", "same-origin")
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
    return port if found.hostname in NAMES and found.scheme in ("", "http") else None


class Guard:
    """An ASGI application that passes on what `find_request_violation` has nothing against."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[str, str] = {}
        for name, value in scope.get("headers", ()):
            key = name.decode("latin-1").lower()
            headers[key] = f"{headers[key]}, {value.decode('latin-1')}" if key in headers else value.decode("latin-1")
        why = find_request_violation(headers) if scope["type"] in ("http", "websocket") else None
        if why is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": why[1]})
        else:
            body = why[1].encode()
            told = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
            await send({"type": "http.response.start", "status": why[0], "headers": told})
            await send({"type": "http.response.body", "body": body})


def guard_app(app: App, host: str) -> App:
    """For a server of this machine alone; one that was asked to listen to others answers them."""
    return Guard(app) if is_loopback(host) else app
