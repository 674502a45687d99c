"""The local web server: addresses to pages, for this machine's own browser alone.

It answers GET requests that name it as 127.0.0.1 or localhost, and none that another site's page makes. Pages load nothing from
elsewhere and run no script but `browse.js`, and could not if a row told them to: the Content-Security-Policy forbids it. All but
copying and keys works without that script.
"""

import json
import re
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from shopwright.pipeline.browse import display
from shopwright.pipeline.browse.evidence import EVENTS, at_event
from shopwright.pipeline.browse.guard import find_request_violation, join_headers
from shopwright.pipeline.browse.pages import PAGE, open_page
from shopwright.pipeline.browse.search import Filter
from shopwright.pipeline.browse.visited import Browse, NotFound, Page, Redirect, address
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import find_reference

HERE = Path(__file__).parent
ADDRESS = "127.0.0.1"
# All that is served beside pages, by name.
FILES = {
    "style.css": "text/css",
    "frame.css": "text/css",
    "icon.svg": "image/svg+xml",
    "browse.js": "text/javascript",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# The report is one file with its style in it, which its digest allows; it has no script.
REPORT_POLICY = (
    "default-src 'none'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
MOST_WORDS = 20
# Seconds after which a connection that says nothing is closed, or one whose request has not come; and the most of the latter.
SILENCE = 30.0
MOST_UNREAD = 256


class Reply(NamedTuple):
    """What goes back: a status, a body, and what it is or where it is instead."""

    status: int
    body: str
    kind: str = "text/html"
    to: str = ""
    policy: str = HEADERS["Content-Security-Policy"]


class Server(ThreadingHTTPServer):
    """The pages of a run. A free port is taken where `port` is 0. Raises Problem where that port is taken."""

    daemon_threads = True

    def __init__(self, run: Run, port: int = 0, other: Run | None = None) -> None:
        self.browse = Browse(run, other=other)
        self.unread: dict[socket, float] = {}
        """Since when each connection is there whose request has not come."""
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError):
            raise Problem(f"Port {port} cannot be used. Say another with --port, or none for a free one.") from None

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        self.unread[request] = monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Ends connections whose request does not come, the oldest first where they are many. Each has a thread."""
        waiting = list(self.unread.items())
        for number, (connection, since) in enumerate(waiting):
            if number < len(waiting) - MOST_UNREAD or monotonic() - since > SILENCE:
                self.unread.pop(connection, None)
                with suppress(OSError):  # it has gone by itself
                    connection.shutdown(SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self.unread.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tells on the terminal what went wrong, but for a visitor who has gone."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        self.browse.worker.stop()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    server_version = "shopwright"
    sys_version = ""
    timeout = SILENCE

    def parse_request(self) -> bool:
        found = super().parse_request()
        self.server.unread.pop(self.connection, None)
        return found

    def do_GET(self) -> None:
        try:
            found = reply(self.server, self.path, join_headers(self.headers.items()))
        except Exception as error:
            self.send(
                make_error_reply(500, f"This page cannot be shown: {type(error).__name__}. The terminal says more.")
            )
            raise
        self.send(found)

    def refuse(self) -> None:
        self.send(make_error_reply(405, "Only GET is answered here."))

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = refuse

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self.send(make_error_reply(code, "That request is not understood."))

    def send(self, found: Reply) -> None:
        body = found.body.encode("utf-8", "replace")
        self.send_response(found.status)
        headers = {"Content-Type": f"{found.kind}; charset=utf-8", "Content-Length": str(len(body)), **HEADERS}
        headers["Content-Security-Policy"] = found.policy
        headers |= {"Location": found.to} if found.to else {}
        headers |= {"Allow": "GET"} if found.status == 405 else {}
        # A page of a row is shown in a frame without an origin, to which even our style is foreign.
        headers |= {"Cross-Origin-Resource-Policy": "cross-origin"} if found.kind in FILES.values() else {}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":  # whose reply has no body, also where it is refused
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for the address."""


def reply(server: Server, target: str, headers: Mapping[str, str]) -> Reply:
    """The answer to a GET request. headers: their names in small letters."""
    status, why = find_request_violation(headers) or (0, "")
    if target.lstrip("/") in FILES and status != 421:  # to a frame that is kept apart they are another site's
        return Reply(200, (HERE / target.lstrip("/")).read_text(encoding="utf-8"), FILES[target.lstrip("/")])
    if status:
        return make_error_reply(status, why)
    try:
        split = urlsplit(target)
        parts = [unquote(part, errors="strict") for part in split.path.strip("/").split("/") if part]
        given = dict(parse_qsl(split.query, keep_blank_values=True, max_num_fields=MOST_WORDS))
    except ValueError:
        return make_error_reply(400, "That address is not understood.")
    return route_request(server.browse, parts, given)


def route_request(browse: Browse, parts: list[str], given: Mapping[str, str]) -> Reply:
    try:
        found = open_page(browse, parts, given)
    except NotFound as missing:
        return make_error_reply(404, str(missing))
    except Problem as problem:
        return make_error_reply(500, str(problem))
    except FileNotFoundError:
        return make_error_reply(
            503, "Its files have just changed or gone: is it being built again? Try again when that is done."
        )
    if isinstance(found, Redirect):
        return Reply(303, "", to=found.to)
    if found.template == "json":
        return Reply(
            found.status, json.dumps(found.facts, indent=2, ensure_ascii=False, default=str), "application/json"
        )
    if found.template == "report":
        return make_report_reply(found.facts["page"])
    return Reply(found.status, render_browse_page(found, browse))


def make_report_reply(page: str) -> Reply:
    style = STYLE.search(page)
    digest = b64encode(sha256(style[1].encode() if style else b"").digest()).decode()
    return Reply(200, page, policy=REPORT_POLICY.format(f"sha256-{digest}"))


def make_error_reply(status: int, what: str) -> Reply:
    """A page that says what is the matter."""
    return Reply(status, render_browse_page(Page("said.html.j2", {"what": what, "status": status})))


def render_browse_page(found: Page, browse: Browse | None = None) -> str:
    folder, other = (str(browse.run.folder), browse.other) if browse else ("", None)
    return templates().get_template(found.template).render(found.facts, folder=folder, two_runs=bool(other))


@cache
def templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "cell": display.format_cell,
        "plain": display.format_scalar,
        "number": "{:,}".format,
        "pieces": display.split_message,
    }
    made.globals |= {
        "look": display.choose_display,
        "refers": find_reference,
        "address": address,
        "at_event": at_event,
        "read_json": parse_json_or_text,
        "mark": mark_words,
        "narrow": narrow_address,
        "PAGE": PAGE,
        "EVENTS": EVENTS,
    }
    return made


def mark_words(text: str | None, words: Sequence[str]) -> Markup:
    """A text with the words marked, wherever they stand.

    >>> mark_words("A Lamp & a lamp", ["lamp"])
    Markup('A <mark class="word">Lamp</mark> &amp; a <mark class="word">lamp</mark>')
    """
    pieces = re.split("(" + "|".join(map(re.escape, words)) + ")", text or "", flags=re.IGNORECASE)
    marked = [
        Markup('<mark class="word">{}</mark>').format(each) if n % 2 else escape(each) for n, each in enumerate(pieces)
    ]
    return Markup("").join(marked)


def narrow_address(name: str, asked: Filter, column: str, value: str) -> str:
    """The list with this value chosen; an empty one takes the choice away."""
    chosen = {key: each for key, each in asked.chosen.items() if key != column} | ({column: value} if value else {})
    return address("data", name, **asked._replace(chosen=chosen).to_address())


def parse_json_or_text(text: str) -> Any:
    """What a text of JSON says; the text where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
