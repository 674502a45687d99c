"""The servers of this machine: whom they answer, under which names, and what no address reaches."""

import asyncio
import re
import socket
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from shopwright.pipeline.browse.guard import BodyLimit, Guard, find_request_violation, guard_app
from shopwright.pipeline.commands.browse import run as browse_run
from shopwright.pipeline.problem import Problem
from tests.browse.visitor import serve_run

HOME = Path(__file__).parents[2]
FOREIGN = [
    "shop.example",
    "shop.example:{port}",
    "127.0.0.1.shop.example:{port}",
    "localhost.shop.example:{port}",
    "0.0.0.0:{port}",
    "",
    "[::2]:{port}",
]
"""Names by which no page of this machine is known; to some of them a name server of somebody else could lead the browser."""


@pytest.fixture(scope="module")
def visitor(plain):
    with serve_run(plain) as found:
        yield found


UP = [
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
]


@pytest.mark.parametrize("up", UP)
@pytest.mark.parametrize("under", ["/", "/data/", "/data/catalog/", "/rejected/", "/style.css/", "//", "/./"])
def test_no_address_leads_up(visitor, up, under):
    for file in ("etc/passwd", "manifests/catalog.json", "server.py", "style.css"):
        target = under + f"{up}/" * 8 + file
        status, _, body = visitor.ask(target)
        assert status in (303, 400, 404)
        assert "root:" not in body
        assert "sha256" not in body


@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd", "//etc/passwd", "/%2fetc%2fpasswd", "/data/%2fetc%2fpasswd", "/data/catalog%00.parquet", "/data/catalog/0%00", "/server.py",
        "/base.html.j2", "/style.css%00.html", "/style.css/../server.py", "/%2e/style.css", "/data/..%2f..%2fcatalog", "file:///etc/passwd",
        "http://shop.example/data/catalog/%2e%2e", "/data/" + "a" * 8_000, "/" + "data/" * 4_000, "/data/catalog/id?is=" + "../" * 300, "/style.css?x=" + "y" * 9_000 + "/../server.py",
    ],
)  # fmt: skip
def test_nothing_but_pages_and_three_files_is_there(visitor, target):
    status, _, body = visitor.ask(target)
    assert status in (303, 400, 404, 414, 421)
    assert "root:" not in body
    assert "import " not in body


def test_a_line_of_an_address_without_end_is_refused(visitor):
    with socket.create_connection(("127.0.0.1", visitor.server.server_port), timeout=20) as line:
        line.sendall(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n")
        assert b" 414 " in line.recv(100)


def test_headers_without_end_are_refused(visitor):
    with socket.create_connection(("127.0.0.1", visitor.server.server_port), timeout=20) as line:
        line.sendall(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(200)) + b"\r\n")
        assert b" 431 " in line.recv(100)


def test_the_pages_of_a_run_listen_to_this_machine_alone(visitor):
    assert visitor.server.server_address[0] == "127.0.0.1"
    assert "host" not in browse_run.__annotations__, "there is no way to ask for more"


@pytest.mark.parametrize("name", FOREIGN)
def test_browse_answers_no_other_name(visitor, name):
    status, _, body = visitor.ask("/data/catalog", Host=name.format(port=visitor.server.server_port))
    assert status == 421
    assert "/data/catalog" not in body


@pytest.mark.parametrize(
    ("method", "status"),
    [("POST", 405), ("PUT", 405), ("DELETE", 405), ("OPTIONS", 405), ("TRACE", 501), ("CONNECT", 501)],
)
def test_browse_only_reads(visitor, method, status):
    assert visitor.ask("/", method)[0] == status


# --- those that are asked by other programs too: Prefect's, Gradio's, OpenEnv's ---


def ask_app(app, kind="http", **headers):
    """The first thing that an ASGI application sends."""
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": f"{kind}.request"}

    scope = {
        "type": kind,
        "method": "POST",
        "path": "/",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(app(scope, receive, send))
    return sent[0]


async def welcome(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_request_by_another_name_is_refused(name, kind):
    first = ask_app(Guard(welcome), kind, host=name.format(port=8000))
    assert first.get("status", first.get("code")) in (421, 1008)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://shop.example"}, {"origin": "null"}, {"origin": "http://localhost:9000"}, {"origin": "http://127.0.0.1:8000.shop.example"},
        {"origin": "http://127.0.0.1:8000@shop.example"}, {"origin": ""}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
        {"origin": "https://127.0.0.1:8000"}, {"origin": "http://shop.example", "sec-fetch-site": "same-origin"}, {"origin": "http://127.0.0.1:8000/x"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_request_of_another_sites_page_is_refused(headers, kind):
    first = ask_app(Guard(welcome), kind, host="127.0.0.1:8000", **headers)
    assert first.get("status", first.get("code")) in (403, 1008)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8000"}, {"host": "localhost:8000"}, {"host": "[::1]:8000"}, {"host": "LOCALHOST:8000"}, {"host": "localhost"},
        {"host": "127.0.0.1:8000", "origin": "http://127.0.0.1:8000"}, {"host": "127.0.0.1:4200", "origin": "http://localhost:4200", "sec-fetch-site": "cross-site"},
        {"host": "127.0.0.1:8000", "sec-fetch-site": "none"}, {"host": "127.0.0.1:8000", "sec-fetch-site": "same-origin"},
    ],
)  # fmt: skip
def test_this_machines_own_pages_and_programs_are_answered(headers):
    assert ask_app(Guard(welcome), **headers)["status"] == 200


def test_two_names_in_one_request_are_none():
    scope = {"type": "http", "headers": [(b"host", b"127.0.0.1:8000"), (b"Host", b"shop.example")]}
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(welcome)(scope, None, send))
    assert sent[0]["status"] == 421


def test_what_was_asked_to_listen_to_others_answers_others():
    assert guard_app(welcome, "0.0.0.0") is welcome
    assert isinstance(guard_app(welcome, "127.0.0.1"), Guard)
    assert isinstance(guard_app(welcome, "localhost"), Guard)


def test_a_name_without_a_port_is_that_of_port_80():
    assert find_request_violation({"host": "localhost", "origin": "http://localhost"}) is None
    assert find_request_violation({"host": "localhost", "origin": "http://localhost:8000"}) is not None


@pytest.mark.slow
def test_make_serve_guards_prefects_server(tmp_path):
    """By itself it answers all: a page in the browser could have its worker run a command."""
    script = (
        "import asyncio, httpx\nfrom shopwright.flows.serve import create_guarded_server\napp = create_guarded_server()\n"
        "async def ask(**headers):\n"
        "    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url='http://127.0.0.1:4200') as client:\n"
        "        return (await client.get('/api/hello', headers=headers)).status_code\n"
        "print(*[asyncio.run(ask(**each)) for each in ({}, {'Host': 'shop.example:4200'}, {'Origin': 'http://shop.example'})])\n"
    )
    env = {"PREFECT_HOME": str(tmp_path), "DO_NOT_TRACK": "1", "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], cwd=HOME, env=env, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["200", "421", "403"]


def test_make_serve_starts_the_guarded_one_on_this_machine_alone():
    text = (HOME / "flows" / "serve.py").read_text(encoding="utf-8")
    assert re.search(r'^HOST = "127\.0\.0\.1"$', text, re.MULTILINE)
    assert 'run_module("uvicorn", "--factory", "shopwright.flows.serve:create_guarded_server"' in text
    assert '"server", "start"' not in text


@pytest.mark.slow
@pytest.mark.skipif(find_spec("gradio") is None, reason="no gradio here: pip install 'shopwright[play]'")
def test_play_answers_this_machine_alone_and_takes_no_files(plain):
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    from shopwright.pipeline.playground.app import import_gradio, list_request_guards

    gr = import_gradio()
    assert len(list_request_guards("0.0.0.0")) == 1, "only the limit of a body"
    with gr.Blocks(analytics_enabled=False) as pages:
        gr.Markdown("here")
    pages.launch(
        server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, ssr_mode=False, max_file_size=1, app_kwargs={"middleware": list_request_guards("127.0.0.1")}
    )  # fmt: skip

    def status(path="", data=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urlopen(Request(f"{pages.local_url}{path}", data, named), timeout=20) as reply:
                return reply.status
        except HTTPError as error:
            return error.code

    try:
        assert status() == 200
        assert status(Host="shop.example:7860") == 421
        assert status(Origin="https://shop.example") == 403
        for up in UP:
            for path in (
                f"gradio_api/file={up}/{up}/etc/passwd",
                f"static/{up}/{up}/etc/passwd",
                f"assets/{up}/{up}/routes.py",
            ):
                assert status(path) in (400, 403, 404, 405, 422)
        assert status(f"gradio_api/file={HOME}/pyproject.toml") == 403
        body = (
            b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
            + b"y" * 1_000
            + b"\r\n--x--\r\n"
        )
        assert status("gradio_api/upload", body, Content_Type="multipart/form-data; boundary=x") in (413, 500, 400)
    finally:
        pages.close(verbose=False)


def test_play_hands_the_guard_and_the_limit_to_gradio():
    text = (HOME / "pipeline" / "playground" / "app.py").read_text(encoding="utf-8")
    for words in (
        'app_kwargs={"middleware": list_request_guards(host)}',
        "max_file_size=1,",
        "share=False",
        'host: str = "127.0.0.1"',
        "analytics_enabled=False",
    ):
        assert words in text


def test_the_environments_are_served_through_the_guard_or_a_token(monkeypatch, tmp_path):
    """With OpenEnv and the front in their places: the first is not installed everywhere."""
    from shopwright.pipeline.trainers import serve
    from shopwright.pipeline.trainers.worker import TokenGuard

    services = []
    monkeypatch.setattr(
        serve,
        "Front",
        lambda listener, workers, work, **more: SimpleNamespace(run=partial(services.append, work.__self__)),
    )
    monkeypatch.setattr(serve, "open_listener", lambda host, port: None)
    monkeypatch.setattr(serve, "open_shop", lambda run, counts: None)
    monkeypatch.setattr(serve, "open_metrics", lambda folder: None)
    monkeypatch.setattr(serve, "import_server", lambda protocol: None)
    monkeypatch.setattr(serve, "count_env_tasks", lambda run, name: 1)
    monkeypatch.setattr(serve, "require", lambda module, purpose: None)
    monkeypatch.delenv("SHOPWRIGHT_TOKEN", raising=False)
    for host in ("127.0.0.1", "0.0.0.0", "0.0.0.0"):
        serve.serve_environments(run="x", host=host, port=1)
    monkeypatch.setenv("SHOPWRIGHT_TOKEN", "mine")
    serve.serve_environments(run="x", host="0.0.0.0", port=1)
    kinds = [(type(service.protect(welcome)), type(service.protect(welcome).app)) for service in services]
    assert kinds == [(BodyLimit, Guard), *3 * [(BodyLimit, TokenGuard)]]
    invented = [service.token for service in services[1:3]]
    assert len(set(invented)) == 2
    assert all(len(token) >= 32 for token in invented)
    assert services[3].token == "mine"


@pytest.mark.parametrize("command", ["play", "serve"])
def test_who_wants_others_to_be_answered_has_to_say_so(command):
    from shopwright.pipeline.__main__ import parse_arguments

    assert parse_arguments([command])["host"] == "127.0.0.1"


def test_browse_refuses_a_folder_with_links_that_lead_out(theirs):
    (theirs / "catalog" / "part-00001.parquet").symlink_to("/etc/passwd")
    with pytest.raises(Problem, match="leads out of"):
        browse_run(str(theirs), 0, False)
