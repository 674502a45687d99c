"""The audit of dependencies, against a vulnerability service of our own."""

import json
import subprocess
import sys
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

from tests.security import audit

needs_pip_audit = pytest.mark.skipif(find_spec("pip_audit") is None, reason="no pip-audit here: make setup")
FAULT = {
    "id": "GHSA-aaaa-bbbb-cccc",
    "aliases": ["CVE-2026-0001"],
    "summary": "It leaks.",
    "affected": [
        {
            "package": {"name": "leaky", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
        }
    ],
}


@contextmanager
def service(answer):
    """What answers as OSV does; `answer` is given what is asked."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = answer(asked)
            self.send_response(200 if isinstance(body, dict) else body)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode() if isinstance(body, dict) else b"")

        def log_message(self, *given):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    server.server_close()


def knows(asked):
    """Of the release that is asked about first, and of a package of ours."""
    return {"vulns": [FAULT]} if asked["package"]["name"] in ("jinja2", "leaky") else {}


@pytest.fixture
def run(tmp_path, capfd):
    def run(osv, *more, pins="leaky==1.0\nsound==2.0\n", ignored="", today="2026-11-21"):
        (tmp_path / "pins.txt").write_text(pins)
        (tmp_path / "ignored.toml").write_text(ignored)
        words = [
            "--constraints",
            tmp_path / "pins.txt",
            "--ignored",
            tmp_path / "ignored.toml",
            "--osv",
            osv,
            "--today",
            today,
            *more,
        ]
        return audit.main(list(map(str, words))), *capfd.readouterr()

    return run


def entry(id="GHSA-aaaa-bbbb-cccc", why="nothing here calls it", until="2026-12-01"):
    return f'[[ignored]]\nid = "{id}"\nwhy = "{why}"\nuntil = {until}\n'


def test_where_nobody_answers_one_line_says_so_and_it_passes(run):
    code, out, err = run("http://127.0.0.1:9/v1/query")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert out.startswith("audit: not made, the vulnerability service could not be asked: ")


def test_where_nobody_answers_it_fails_if_it_is_required(run):
    code, out, _ = run("http://127.0.0.1:9/v1/query", "--required")
    assert (code, out.count("\n")) == (1, 1)


@pytest.mark.parametrize("answer", [{}, 404, 503])
def test_what_knows_no_vulnerability_at_all_is_no_service(run, answer):
    with service(lambda _: answer) as osv:
        code, out, _ = run(osv)
    assert (code, out.count("\n")) == (0, 1)
    assert "not made" in out


@needs_pip_audit
def test_a_known_vulnerability_fails_with_its_name_and_what_to_do(run):
    with service(knows) as osv:
        code, out, err = run(osv)
    assert code == 1
    assert err.startswith(
        "audit: leaky 1.0: CVE-2026-0001 (GHSA-aaaa-bbbb-cccc); mended in 1.1. Raise it in constraints.txt"
    )
    assert out == "audit: 2 of 2 packages known to the service, 1 to be mended\n"


@needs_pip_audit
def test_a_service_that_goes_in_the_midst_is_no_pass(run):
    with service(lambda asked: knows(asked) if asked["package"]["name"] == "jinja2" else 503) as osv:
        code, _, err = run(osv)
    assert code == 1
    assert "stopped in the midst" in err


FOUND = [
    {
        "name": "leaky",
        "version": "1.0",
        "vulns": [{"id": "PYSEC-1", "aliases": ["GHSA-aaaa-bbbb-cccc"], "fix_versions": []}],
    }
]


@pytest.mark.parametrize(("until", "left"), [("2026-11-21", 0), ("2026-11-20", 1)])
def test_what_is_ignored_is_told_again_after_its_day(tmp_path, until, left):
    (tmp_path / "ignored.toml").write_text(entry(until=until))
    ignored = audit.read_ignored(tmp_path / "ignored.toml")
    assert len(list(audit.complaints(FOUND, ignored, audit.date(2026, 11, 21)))) == left


@pytest.mark.parametrize(
    "wrong", [entry(why=""), entry(until='"soon"'), "[[ignored]]\nid = 'x'\n", "[[", entry() + "more = 1\n"]
)
def test_nothing_is_ignored_without_a_reason_and_an_end(run, wrong):
    code, _, err = run("http://127.0.0.1:9/v1/query", ignored=wrong)
    assert code == 1
    assert err.startswith("audit: error: ")


def test_what_is_ignored_now_has_a_reason_and_an_end():
    audit.read_ignored(audit.HERE / "ignored.toml")


def test_the_program_runs_by_its_name():
    words = [sys.executable, "-m", "tests.security.audit", "--help"]
    assert subprocess.run(words, cwd=Path(audit.HOME), check=True, capture_output=True, text=True).stdout
