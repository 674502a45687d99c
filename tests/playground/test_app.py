"""The server of the pages, and the command: what they bind, what they say, and what they need."""

import os
import re
import shutil
import signal
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.request import urlopen

import pytest

from shopwright.pipeline.playground.app import import_gradio
from shopwright.pipeline.playground.shop import PlaygroundShop
from shopwright.pipeline.playground.space import list_requirements, write_space
from shopwright.pipeline.problem import Problem

HOME = Path(__file__).parents[2]
needs_gradio = pytest.mark.skipif(find_spec("gradio") is None, reason="no gradio here: pip install 'shopwright[play]'")
SERVE = "import sys; from shopwright.pipeline.playground.app import launch_playground; launch_playground(sys.argv[1])"


def test_without_gradio_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(Problem, match=re.escape("pip install 'shopwright[play]'")):
        import_gradio()


def test_a_folder_that_holds_nothing_to_play_is_said_at_once(tmp_path):
    with pytest.raises(Problem, match=r"has no orders\. Build it: shopwright build orders"):
        PlaygroundShop(str(tmp_path)).open()


@pytest.fixture
def outside():
    """A proxy that every request to elsewhere would go through, and what came."""
    came = []

    class Refusing(BaseHTTPRequestHandler):
        def do_CONNECT(self):
            came.append(self.path)
            self.send_error(403)

        do_GET = do_POST = do_HEAD = do_CONNECT

        def log_message(self, *given):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", came
    server.shutdown()


def started(words, folder, proxy):
    env = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    env |= {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "http_proxy": proxy, "https_proxy": proxy}
    env |= {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "PYTHONPATH": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-u", *words], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = ""
    for line in process.stdout:
        said += line
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return process, found[0]
    raise AssertionError(said)


def ended(process):
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out


@needs_gradio
def test_it_serves_this_machine_alone_asks_nobody_and_ends_in_one_line(small, outside):
    proxy, came = outside
    process, url = started(["-c", SERVE, str(small.folder)], HOME, proxy)
    try:
        with urlopen(url) as page:
            html = page.read().decode()
        assert "Shopwright: you are the agent" in html
        assert not re.findall(r"""(?:<script[^>]+src|<link[^>]+href)=["'](?:https?:)?//""", html)
    finally:
        code, out = ended(process)
    assert (code, out.split("\n")[-2:], came) == (0, ["Ended.", ""], [])


@needs_gradio
@pytest.mark.slow
def test_a_space_runs_from_its_own_folder(small, outside, tmp_path):
    proxy, came = outside
    folder = write_space(tmp_path / "space", str(small.folder))
    process, url = started(["app.py"], folder, proxy)
    try:
        with urlopen(url) as page:
            assert page.status == 200
    finally:
        code, _ = ended(process)
    assert (code, came) == (0, [])


@needs_gradio
def test_a_space_holds_what_it_needs_and_says_so_in_its_header(tmp_path):
    folder = write_space(tmp_path / "space")
    assert {path.name for path in folder.iterdir()} == {
        *("app.py", "requirements.txt", "README.md"),
        "shopwright",
    }
    code = {path.name for path in (folder / "shopwright").iterdir()}
    assert code == {"__init__.py", "py.typed", "pipeline", "schemas", "prompts", "data"}
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    header = (folder / "README.md").read_text(encoding="utf-8").split("---\n")[1]
    facts = dict(line.split(": ", 1) for line in header.splitlines())
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert (facts["sdk"], facts["app_file"]) == ("gradio", "app.py")
    assert lines == [*list_requirements(), f"gradio=={facts['sdk_version']}"]
    assert len(facts["short_description"]) <= 60
    assert not list(folder.rglob("__pycache__"))
    with pytest.raises(Problem, match="holds something already"):
        write_space(folder)
    shutil.rmtree(folder)


@needs_gradio
def test_a_space_of_a_run_that_has_no_shop_is_refused(tmp_path):
    with pytest.raises(Problem, match="has no shop to play in"):
        write_space(tmp_path / "space", str(tmp_path / "run"))
