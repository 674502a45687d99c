"""Plain answers over HTTP: what is read of a request, JSON or text back, and the pages that every server of episodes has."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from shopwright.pipeline.browse.guard import Receive, Scope, Send
from shopwright.pipeline.extras import explain_missing
from shopwright.pipeline.trainers.metrics import render_metrics
from shopwright.pipeline.trainers.sessions import Sessions

# Status, kind of content, body.
Reply = tuple[int, str, bytes]
# Passes a request on to the worker of this number, which has its session.
Forward = Callable[[int, Scope, bytes], Awaitable[Reply]]


def make_json_reply(found: Any, status: int = 200) -> Reply:
    return status, "application/json", json.dumps(found).encode()


def make_text_reply(text: str, status: int = 200) -> Reply:
    return status, "text/plain; charset=utf-8", f"{text}\n".encode()


async def read_body(receive: Receive) -> bytes:
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body


async def send_reply(send: Send, reply: Reply) -> None:
    status, kind, body = reply
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def read_query(scope: Mapping[str, Any], name: str) -> str:
    (found,) = parse_qs(scope["query_string"].decode("latin-1")).get(name, [""])[:1]
    return found


def render_state_page(sessions: Sessions, path: str) -> Reply | None:
    """Whether the server takes episodes, and what Prometheus reads; None where the path is neither."""
    if path == "/ready":
        known = {"ready": not sessions.stopping, "sessions": len(sessions.live), "places": sessions.most}
        return make_json_reply(known, 503 if sessions.stopping else 200)
    if path != "/metrics":
        return None
    if (found := render_metrics()) is None:
        why = explain_missing("prometheus_client", "/metrics") or "Nothing is counted outside of shopwright serve."
        return make_text_reply(why, 501)
    return 200, "text/plain; version=0.0.4; charset=utf-8", found
