"""Keys and tokens are sent to whom they are for, and stand nowhere else: in no file, no output, no error, no list of processes."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shopwright.pipeline.__main__ import main, parse_arguments
from shopwright.pipeline.models.base import Prompt, Sampling, ServerUnreachable, parse_spec
from shopwright.pipeline.models.openai import OpenAI
from shopwright.pipeline.models.replies import Replies
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish import command
from tests.models.server import Plan, Server
from tests.publish.hub import TOKEN, LocalHub

HOME = Path(__file__).parents[2]
KEY = "sk-canary-7f3e9d21"
SECRETS = {
    "OPENAI_API_KEY": KEY,
    "HF_TOKEN": "hf_canary_5b1c",
    "AWS_ACCESS_KEY_ID": "AKIACANARY77",
    "AWS_SECRET_ACCESS_KEY": "aws-canary-2a9f",
    "AWS_SESSION_TOKEN": "aws-canary-token-88",
}


def holding(folder, *secrets):
    """The files that hold one of these, in whatever they are packed as far as we pack it."""
    found = []
    for path in Path(folder).rglob("*"):
        if path.is_file() and any(secret.encode() in content_of(path) for secret in secrets):
            found.append(path)
    return found


def content_of(path):
    if path.suffix != ".parquet":
        return path.read_bytes()
    import pyarrow.parquet as pq

    return path.read_bytes() + json.dumps(pq.read_table(path).to_pylist(), default=str).encode()


def describes(body):
    facts = json.loads(body["messages"][1]["content"])
    words = f"Looks for {facts['looks for'][0]} and pays at most ${facts['pays at most for one thing, in dollars']}."
    return {"content": json.dumps({"description": words})}


@contextmanager
def watched(secrets):
    """What stands in the command line of any process meanwhile that has one of these in it."""
    seen, over = [], threading.Event()

    def watch():
        while not over.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    words = path.read_bytes()
                except OSError:
                    continue
                if any(secret.encode() in words for secret in secrets):
                    seen.append(words)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield seen
    over.set()
    thread.join()


def build_personas(folder, server, *command, **environment):
    """By a model, in a process whose environment has the keys."""
    model = f"openai:toy@{server.url}"
    words = ["personas", "--run", str(folder), "--products", "300", "--count", "12", "--model", model]
    return subprocess.run(
        [sys.executable, "-m", *command, *words],
        cwd=HOME,
        env={**os.environ, **SECRETS, **environment},
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_build_by_a_model_leaves_no_key_anywhere(tmp_path):
    with (
        Server(Plan(faults={"400": 0.3, "429": 0.2}, retry_after="0", says=describes)) as server,
        watched(SECRETS.values()) as seen,
    ):
        done = build_personas(tmp_path / "run", server, "shopwright.pipeline", "build")
        assert server.count > 10
    assert (tmp_path / "run" / "manifests" / "personas.json").exists(), done.stderr
    assert list((tmp_path / "run" / "replies").iterdir())
    assert (holding(tmp_path, *SECRETS.values()), seen) == ([], [])
    assert not any(secret in done.stdout + done.stderr for secret in SECRETS.values())


def test_the_look_into_files_sees_a_key(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "a.json").write_text(f'{{"key": "{KEY}"}}')
    pq.write_table(pa.table({"x": [KEY * 100]}), tmp_path / "b.parquet", compression="zstd")
    assert len(holding(tmp_path, KEY)) == 2


def test_a_publish_leaves_no_token_anywhere_but_with_the_hub(plain, tmp_path, monkeypatch, capfd):
    import shutil

    run = shutil.copytree(plain.folder, tmp_path / "run")
    with LocalHub(tmp_path / "hub") as hub, watched([TOKEN]) as seen:
        for name, value in hub.environment(tmp_path / "home", HF_HUB_DISABLE_XET="1").items():
            if name.startswith("HF_"):
                monkeypatch.setenv(name, value)
        options = parse_arguments(["publish", str(run), "--repo", "user/shop", "--to", str(tmp_path / "laid")])
        options.pop("command")
        assert command.publish_run(**options, endpoint=hub.url) == 0
        assert hub.count("POST", "/commit/") == 1
        assert (holding(tmp_path, TOKEN), seen) == ([], [])
        hub.fault("POST", "/commit/", times=9, status=403)
        with pytest.raises(Problem) as problem:
            command.publish_run(**{**options, "only": None, "repo": "user/other"}, endpoint=hub.url)
    out, err = capfd.readouterr()
    assert TOKEN not in out + err + str(problem.value)


# --- what a server does with what it was given ---


class Echo(BaseHTTPRequestHandler):
    """Repeats the key that it is given, as some servers do where it is wrong; or sends it on."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.heard.append(self.headers.get("Authorization"))
        status, body = self.server.answer(self.headers.get("Authorization") or "")
        self.send_response(status)
        if status in (301, 302, 303, 307, 308):
            self.send_header("Location", body)
            body = ""
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    do_GET = do_POST

    def log_message(self, *given):
        pass


@contextmanager
def echo(answer):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    server.answer, server.heard = answer, []
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield server
    server.shutdown()
    server.server_close()


def reply(url, patience=1.0):
    async def one():
        model = OpenAI(parse_spec(f"openai:toy@{url}"), Sampling(), patience=patience)
        try:
            return await model.reply(Prompt("x", ({"role": "user", "content": "hello"},)))
        finally:
            await model.close()

    return asyncio.run(one())


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


def error(words):
    return json.dumps({"error": {"message": f"Incorrect API key provided: {words}"}})


def test_a_server_that_repeats_the_key_in_a_refusal_does_not_bring_it_into_a_reply(key, tmp_path):
    with echo(lambda told: (400, error(told))) as server:
        found = reply(server.url)
        assert server.heard == [f"Bearer {KEY}"]
    assert found.fault == "HTTP 400: Incorrect API key provided: Bearer …"
    replies = Replies(tmp_path, "mine")
    replies.put("a", "x", found)
    replies.close()
    assert holding(tmp_path, KEY) == []


def test_nor_into_the_error_that_ends_the_work(key):
    with echo(lambda told: (401, error(told))) as server, pytest.raises(ServerUnreachable) as away:
        reply(server.url)
    assert KEY not in str(away.value)
    assert "Incorrect API key provided: Bearer …" in str(away.value)


def test_nor_into_the_words_of_a_good_answer(key):
    def good(told):
        return 200, json.dumps({"choices": [{"message": {"content": f"your key is {told}"}, "finish_reason": "stop"}]})

    with echo(good) as server:
        assert reply(server.url).text == "your key is Bearer …"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_key_does_not_follow_to_another_server(key, status):
    with echo(lambda told: (400, error("none"))) as other, echo(lambda told: (status, other.url)) as server:
        reply(server.url)
        assert server.heard == [f"Bearer {KEY}"]
        assert KEY not in str(other.heard)


def test_the_recipe_does_not_hold_the_address_of_a_server():
    assert parse_spec("openai:toy@http://127.0.0.1:1/v1?key=x").name == "openai:toy"


def test_an_address_with_a_name_and_a_password_is_refused_and_not_repeated(shopwright, tmp_path):
    code, out, err = shopwright(
        "build", "personas", "--run", tmp_path / "run", "--model", "openai:toy@http://me:canary-pass@127.0.0.1:1/v1"
    )
    assert code == 2
    assert "canary-pass" not in out + err


def test_doctor_and_list_show_no_secret(shopwright, tmp_path, monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PREFECT_API_URL", "http://me:canary-pass@127.0.0.1:9/api")
    for words in (("doctor", "--run", tmp_path), ("doctor", "--json", "--run", tmp_path), ("list", "--run", tmp_path)):
        code, out, err = shopwright(*words)
        assert code == 0
        assert not any(secret in out + err for secret in (*SECRETS.values(), "canary-pass"))


@pytest.mark.slow
def test_a_flow_leaves_no_key_in_prefects_home(tmp_path):
    with Server(Plan(says=describes)) as server:
        prefect = {"PREFECT_HOME": str(tmp_path / "prefect"), "DO_NOT_TRACK": "1", "PREFECT_API_URL": ""}
        done = build_personas(tmp_path / "run", server, "shopwright.flows.build", **prefect)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "prefect").glob("*.db"))
    assert holding(tmp_path, *SECRETS.values()) == []
    assert not any(secret in done.stdout + done.stderr for secret in SECRETS.values())


def test_what_runs_sql_for_the_pages_is_started_without_a_secret_in_its_words(plain):
    from shopwright.pipeline.browse.worker import start_worker_process

    process = start_worker_process()
    try:
        assert process.args == [sys.executable, "-m", "shopwright.pipeline.browse.worker"]
    finally:
        process.kill()
        process.communicate()


def test_the_command_line_takes_no_key():
    """What is typed stands in the shell's history, and in the list of processes for all to see."""
    import contextlib
    import io

    for command_name in ("build", "publish", "play", "serve", "doctor"):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            main([command_name, *(["personas"] if command_name == "build" else []), "-h"])
        assert not any(word in said.getvalue() for word in ("--token", "--api-key", "--key", "--password", "--secret"))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/api", "http://[::1/api", "http://me:canary-pass@127.0.0.1:abc/api"]
)
def test_an_address_of_prefect_that_is_none_is_told_and_not_repeated(monkeypatch, url):
    from shopwright.pipeline.commands.doctor import check_prefect

    monkeypatch.setenv("PREFECT_API_URL", url)
    assert (check_prefect().state, check_prefect().found) == ("look", "PREFECT_API_URL is no address")
