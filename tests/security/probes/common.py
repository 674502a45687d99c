"""Probes of any server: its name, other sites' pages, what is too long, too slow, or two requests in one."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from socket import create_connection

from tests.security.probes.servers import SECRET, Probe, Server
from tests.security.probes.wire import Answer, ask, ask_socket, exchange, make_opening, make_request

NAMES = (
    "shop.example", "shop.example:{port}", "127.0.0.1.shop.example:{port}", "localhost.shop.example:{port}", "0.0.0.0:{port}", "", "[::2]:{port}",
    "127.0.0.1:{port}@shop.example", "shop.example@127.0.0.1:{port}", "127.0.0.1:{port}/shop.example", "127.0.0.1:{port}, shop.example", "127.1:{port}",
    "2130706433:{port}", "localhost.:{port}", "[::ffff:127.0.0.1]:{port}", "localhost:port", "127.0.0.1:{port}#shop.example", "127.0.0.1:{port}?shop.example",
)  # fmt: skip
ORIGINS = (
    "https://shop.example", "null", "http://localhost:1", "http://127.0.0.1:{port}.shop.example", "http://127.0.0.1:{port}@shop.example", "",
    "https://127.0.0.1:{port}", "file://", "http://shop.example http://127.0.0.1:{port}", "chrome-extension://abcdef", "http://127.0.0.1:{port}, http://shop.example",
)  # fmt: skip
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json")
SITES = ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"sec-fetch-site": "cross-site"}, {"SEC-FETCH-SITE": "cross-site"},
         {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe"}, {"Sec-Fetch-Site": "same-origin, cross-site"})  # fmt: skip
METHODS = ("PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "MKCOL", "get", "SHOP")
UP = (
    "..",
    "%2e%2e",
    "%2E%2e",
    ".%2e",
    "..%2f",
    "..%5c",
    "..\\",
    "%252e%252e",
    "..%00",
    "..;",
    "....//",
    "%c0%ae%c0%ae",
    "%ef%bc%8e%ef%bc%8e",
    "%u002e%u002e",
)
# Seconds after which a request that has not come is ended, and bytes that a message of an honest client has at most.
SLOW, LONGEST = 60.0, 16 << 20
GROWTH = 96 << 20
"""Bytes by which a server may grow while it is sent 64 MB."""
CONNECTIONS = 200


def list_common_probes(server: Server) -> Iterator[Probe]:
    yield from list_name_probes(server)
    yield from list_site_probes(server)
    yield from list_socket_probes(server)
    yield from list_form_probes(server)


def refuse(answer: Answer, *statuses: int) -> str:
    """Nothing where the answer has one of these statuses, and no secret."""
    if SECRET in answer.text or "root:x:" in answer.text:
        return "it gave away a file"
    return "" if answer.status in statuses else f"it was answered {answer.status}"


def list_name_probes(server: Server) -> Iterator[Probe]:
    port = server.port
    for name in NAMES:
        host = name.format(port=port)
        yield Probe("Host", host or "(empty)", lambda host=host: refuse(ask(port, server.page, Host=host), 421, 400))
    none = make_request(server.page, Host=None)
    two = make_request(server.page, Host=f"127.0.0.1:{port}", HOST="shop.example")
    other = make_request(server.page, Host="shop.example", HOST=f"127.0.0.1:{port}")
    full = make_request(f"http://shop.example{server.page}", Host="shop.example")
    for what, sent in {"none": none, "two, ours first": two, "two, ours last": other, "in the address": full}.items():
        yield Probe("Host", what, lambda sent=sent: refuse(exchange(port, sent), 421, 400))


def list_site_probes(server: Server) -> Iterator[Probe]:
    port = server.port

    def find_allowance(origin: str, method: str, target: str) -> str:
        """Whether another site's page could read an answer: one that is told it may, and then is answered."""
        preflight = ask(port, target, "OPTIONS", Origin=origin, **asked)
        answer = ask(port, target, method, b"{}" if method == "POST" else b"", Origin=origin)
        allowed = "access-control-allow-origin" in preflight.headers | answer.headers
        return "it lets other sites read" if allowed and answer.status < 400 else ""

    for origin in ORIGINS:
        more = {"Origin": origin.format(port=port)}
        yield Probe(
            "Origin", more["Origin"] or "(empty)", lambda more=more: refuse(ask(port, server.post, "POST", b"{}", **more), 403, 405)
        )  # fmt: skip
    yield Probe(
        "Origin", "GET of another site", lambda: refuse(ask(port, server.page, Origin="https://shop.example"), 403)
    )
    for kind in FORMS:
        more = {"Origin": "https://shop.example", "Content-Type": kind}
        yield Probe(
            "Origin",
            f"form as {kind}",
            lambda more=more: refuse(ask(port, server.post, "POST", b"a=b", **more), 403, 405),
        )
    for site in SITES:
        yield Probe("Origin", str(site), lambda site=site: refuse(ask(port, server.page, **site), 403))
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Private-Network": "true"}
    for origin in ("https://shop.example", "null", "http://localhost:1"):
        for method, target in (("GET", server.page), ("POST", server.post)):
            yield Probe("CORS", f"{method} of {origin}", partial(find_allowance, origin, method, target))


def list_socket_probes(server: Server) -> Iterator[Probe]:
    port = server.port

    def find_opening(path: str, more: dict[str, str]) -> str:
        return "the connection was opened" if ask_socket(port, path, **more).status == 101 else ""

    for path in server.sockets:
        for origin in ORIGINS:
            given = origin.format(port=port)
            yield Probe("WebSocket", f"{path} of {given or '(empty)'}", partial(find_opening, path, {"Origin": given}))
        for host in ("shop.example", f"shop.example:{port}", f"127.0.0.1.shop.example:{port}"):
            yield Probe("WebSocket", f"{path} of {host}", partial(find_opening, path, {"Host": host}))
        yield Probe("WebSocket", f"{path} cross-site", partial(find_opening, path, {"Sec-Fetch-Site": "cross-site"}))


def list_form_probes(server: Server) -> Iterator[Probe]:
    """Methods that are not offered, what is too long, and requests that can be read in two ways."""
    port, host = server.port, f"127.0.0.1:{server.port}"
    for method in METHODS:
        yield Probe("method", method, lambda method=method: refuse(ask(port, server.page, method), *range(400, 600)))
    yield Probe("method", "CONNECT", lambda: refuse(ask(port, "shop.example:443", "CONNECT"), 0, *range(400, 600)))
    marked = {"X-Mark": "8c1f4e"}
    yield Probe(
        "method",
        "TRACE tells nothing",
        lambda: "it echoes" if "8c1f4e" in ask(port, "/", "TRACE", **marked).text else "",
    )
    line = make_request("/" + "a" * 200_000, Host=host)
    header = make_request(server.page, Host=host, X_Long="a" * 200_000)
    many = make_request(server.page, Host=host, **{f"X-{n}": "y" * 100 for n in range(2_000)})
    for what, sent in {"address of 200 kB": line, "header of 200 kB": header, "2,000 headers": many}.items():
        yield Probe("size", what, lambda sent=sent: refuse(exchange(port, sent), 0, 400, 404, 413, 414, 431))
    yield Probe(
        "size",
        "headers without end",
        lambda: find_taken(port, make_request(server.page, Host=host)[:-2], b"X-A: b\r\n" * 8_192),
    )
    large = make_request(server.post, "POST", Host=host, Content_Length=str(1 << 40), Content_Type="application/json")
    chunks = make_request(server.post, "POST", Host=host, Transfer_Encoding="chunked", Content_Type="application/json")
    yield Probe("size", "body of 1 TB", lambda: find_taken(port, large, b" " * 65_536))
    yield Probe("size", "chunks without end", lambda: find_taken(port, chunks, b"10000\r\n" + b" " * 65_536 + b"\r\n"))
    yield Probe("size", "memory of these", lambda: find_growth(server, [large, chunks]))
    for what, sent in list_ambiguous(server.page, host).items():
        yield Probe("two in one", what, lambda sent=sent: find_second(port, sent))


def find_taken(port: int, first: bytes, piece: bytes) -> str:
    """How much is taken of what never ends."""
    with create_connection(("127.0.0.1", port), timeout=10) as line:
        sent = 0
        with suppress(ConnectionError, TimeoutError):
            line.sendall(first)
            while sent < 4 * LONGEST:
                line.sendall(piece)
                sent += len(piece)
    return f"it took {sent >> 20} MB and more" if sent >= 4 * LONGEST else ""


def find_growth(server: Server, requests: list[bytes]) -> str:
    before = server.memory
    for sent in requests:
        find_taken(server.port, sent, b"10000\r\n" + b" " * 65_536 + b"\r\n")
    grown = server.memory - before
    return f"it grew by {grown >> 20} MB" if grown > GROWTH else ""


def list_ambiguous(page: str, host: str) -> dict[str, bytes]:
    """Requests of what is not there, in which one reader sees one and another two; the second is of a page that is there."""
    hidden = f"GET {page} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    head = f"POST /none-8c1f4e HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\n"

    def with_headers(*lines: str, body: bytes = b"0\r\n\r\n") -> bytes:
        return (head + "\r\n".join([*lines, "", ""])).encode("latin-1") + body + hidden

    return {
        "length and chunks": with_headers("Content-Length: 5", "Transfer-Encoding: chunked"),
        "chunks and length": with_headers("Transfer-Encoding: chunked", "Content-Length: 5"),
        "two lengths": with_headers("Content-Length: 0", f"Content-Length: {len(hidden)}", body=b""),
        "a list of lengths": with_headers(f"Content-Length: 0, {len(hidden)}", body=b""),
        "negative length": with_headers("Content-Length: -1", body=b""),
        "length with a sign": with_headers("Content-Length: +0", body=b""),
        "length in hex": with_headers("Content-Length: 0x0", body=b""),
        "chunks with a tab": with_headers("Transfer-Encoding:\tchunked", "Content-Length: 5"),
        "unknown coding": with_headers("Transfer-Encoding: xchunked"),
        "two codings": with_headers("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        "space before the colon": with_headers("Transfer-Encoding : chunked", "Content-Length: 5"),
        "chunk of no number": with_headers("Transfer-Encoding: chunked", body=b"zz\r\n"),
        "chunk longer than numbers": with_headers("Transfer-Encoding: chunked", body=b"f" * 40 + b"\r\n"),
        "NUL in a header": with_headers("X-A: b\0c", "Content-Length: 0", body=b""),
        "CR in a header": with_headers("X-A: b\rContent-Length: 0", body=b""),
        "header without a name": with_headers(": b", "Content-Length: 0", body=b""),
        "a body of a GET": f"GET /none-8c1f4e HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode() + hidden,
        "HTTP/0.9": b"GET /none-8c1f4e\r\n" + hidden,
        "a prior HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hidden,
        "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + hidden,
    }  # fmt: skip


def find_second(port: int, sent: bytes) -> str:
    found = exchange(port, sent, seconds=5, wait=0.3)
    return "the second request was answered" if b"HTTP/1.1 200" in found.raw or b"HTTP/1.0 200" in found.raw else ""


# What takes its time. These wait, so all of a server are tried at once.


def list_slow_probes(server: Server) -> Iterator[Probe]:
    port, host = server.port, f"127.0.0.1:{server.port}"
    whole = make_request(server.page, Host=host, Connection="keep-alive")
    body = make_request(server.post, "POST", Host=host, Content_Length="100000", Content_Type="application/json")
    chunks = make_request(server.post, "POST", Host=host, Transfer_Encoding="chunked", Content_Type="application/json")
    silent = {
        "nothing is said": (b"", b""), "one byte, then nothing": (b"G", b""), "half a header": (whole[:-2], b""),
        "a header by the byte": (whole[:-2], b"X"), "a body by the byte": (body, b" "), "chunks by the byte": (chunks, b"1\r\n \r\n"),
        "half a body": (body + b" ", b""), "half the second header": (whole + whole[:-2], b""), "the second header by the byte": (whole + whole[:-2], b"X"),
    }  # fmt: skip
    for path in server.sockets[:1]:  # longer than what reads a WebSocket's opening takes
        silent[f"an opening of {path}?{'x' * 10}..."] = (make_opening(port, f"{path}?a={'x' * 10_000}"), b"")
    for what, (first, piece) in silent.items():
        yield Probe("slow", what, lambda first=first, piece=piece: find_held(port, first, piece))
    yield Probe("slow", f"{CONNECTIONS} that say nothing", lambda: find_hindrance(server, b""))
    yield Probe("slow", f"{CONNECTIONS} with half a header", lambda: find_hindrance(server, whole[:-2]))
    yield Probe("slow", f"{CONNECTIONS} with half a body", lambda: find_hindrance(server, body))
    yield Probe("slow", f"{CONNECTIONS} that do not read", lambda: find_hindrance(server, whole * 3))


def find_held(port: int, first: bytes, piece: bytes) -> str:
    """Whether a connection is kept on which a request never comes to its end."""
    end = time.monotonic() + SLOW
    with create_connection(("127.0.0.1", port), timeout=SLOW) as line, suppress(ConnectionError):
        line.sendall(first)
        line.settimeout(1)
        while time.monotonic() < end:
            with suppress(TimeoutError):
                if not line.recv(1 << 16):
                    return ""
            line.sendall(piece)
        return f"it was held for {SLOW:g} seconds"
    return ""


def find_hindrance(server: Server, first: bytes) -> str:
    """Whether others are answered while many are slow."""
    with ExitStack() as held:
        for _ in range(CONNECTIONS):
            line = held.enter_context(create_connection(("127.0.0.1", server.port), timeout=10))
            with suppress(ConnectionError, TimeoutError):
                line.sendall(first)
        return server.is_well()


def run_at_once(probes: list[Probe]) -> Iterator[tuple[Probe, str]]:
    with ThreadPoolExecutor(len(probes) or 1) as pool:
        yield from zip(probes, pool.map(try_probe, probes), strict=True)


def try_probe(probe: Probe) -> str:
    try:
        return probe.find()
    except OSError as error:
        return f"the server could not be asked: {error}"


Lister = Callable[[Server], Iterator[Probe]]
