"""`shopwright doctor`: what it finds, what it says of it, and that it tells no secret and asks nobody elsewhere."""

import json
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from packaging.requirements import Requirement

from shopwright.pipeline.commands import doctor
from shopwright.pipeline.extras import EXTRA_OF

SECRET = "hf_neverToBeSeen"


def found(shopwright, *words):
    code, out, err = shopwright("doctor", "--json", *words)
    assert err == ""
    told = json.loads(out)
    return code, told, {each["name"]: each for group in ("machine", "packages", "extras") for each in told[group]}


def test_it_says_what_is_there_and_what_it_is_for(shopwright, tmp_path):
    code, out, err = shopwright("doctor", "--run", tmp_path)
    assert (code, err) == (0, "")
    assert "can build here." in out
    for name, asked in doctor.read_requirements().items():
        for each in asked if not name else []:
            (line,) = [line for line in out.splitlines() if f" {doctor.normalize_package_name(each.name)} " in line]
            assert line.endswith(doctor.ABOUT[doctor.normalize_package_name(each.name)])
        if name:
            assert any(f"  {name} " in line and line.endswith(doctor.EXTRAS[name][0]) for line in out.splitlines())
    assert max(map(len, out.splitlines())) < 150


def test_it_tells_scripts_in_json(shopwright, tmp_path):
    code, told, by_name = found(shopwright, "--run", tmp_path)
    assert code == 0
    assert told["works"] is True
    assert by_name["duckdb"]["state"] == "ok"
    assert by_name["cores"]["found"] == str(doctor.count_cores())
    states = {each["state"] for each in by_name.values()}
    assert states <= set(doctor.MARKS)


@pytest.mark.parametrize(
    ("asked", "state", "said", "remedy"),
    [
        ("pydantic>=2", "ok", "", False),
        ("pydantic>=1,<2", "look", ", not <2,>=1", True),
        ("no-such-package>=1", "bad", "not there", True),
        ("prefect>=99", "look", "not >=99", True),
    ],
)
def test_a_package_is_held_against_the_range(asked, state, said, remedy):
    one = doctor.check_package(Requirement(asked))
    assert one.state == state
    assert one.found.endswith(said)
    assert bool(one.remedy) == remedy
    assert not remedy or asked.partition(">")[0] in one.remedy


def test_what_only_an_extra_needs_stops_no_build(monkeypatch):
    monkeypatch.setattr(doctor, "version_of", lambda name: None)
    assert {each.state for each in doctor.check_packages()} == {"bad"}
    assert {each.state for each in doctor.check_extras()} == {"none"}
    assert set(EXTRA_OF.values()) <= {each.name for each in doctor.check_extras()}


def test_an_extra_is_whole_partly_there_or_not_and_says_how_to_get_it():
    whole = doctor.check_extra("ray", [Requirement("pydantic>=2")])
    partly = doctor.check_extra("ray", [Requirement("pydantic>=2"), Requirement("no-such-package")])
    none = doctor.check_extra("ray", [Requirement("no-such-package")])
    assert [whole.state, partly.state, none.state] == ["ok", "look", "none"]
    assert partly.found == "no-such-package not there"
    assert none.remedy == "pip install 'shopwright[ray]'"
    assert not whole.remedy


def test_the_installed_package_tells_the_ranges_and_each_extra_its_own():
    asked = doctor.read_requirements()
    assert {"duckdb", "pyarrow", "pydantic"} <= {each.name for each in asked[""]}
    assert {each.name for each in asked["flows"]} == {"prefect", "fastapi", "sqlalchemy"}
    assert {each.name for each in asked["gymnasium"]} == {"gymnasium"}
    assert not {each.name for each in asked["dev"]} & {each.name for each in asked[""]}


def test_it_fails_only_where_nothing_can_be_built(shopwright, tmp_path):
    (tmp_path / "file").write_text("")
    code, told, by_name = found(shopwright, "--run", tmp_path / "file" / "run")
    assert (code, told["works"]) == (1, False)
    assert by_name["disk"]["state"] == "bad"
    assert "cannot build here" in shopwright("doctor", "--run", tmp_path / "file" / "run")[1]


@pytest.mark.parametrize("variable", ["HF_TOKEN", "AWS_ACCESS_KEY_ID", "OPENAI_API_KEY"])
def test_a_key_is_named_and_never_shown(shopwright, tmp_path, monkeypatch, variable):
    monkeypatch.setenv(variable, SECRET)
    for words in ((), ("--json",)):
        out = shopwright("doctor", "--run", tmp_path, *words)[1]
        assert f"in {variable}" in out
        assert SECRET not in out


def test_a_token_in_a_file_is_found_and_never_shown(shopwright, tmp_path, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    assert doctor.check_key("Hub token", "", doctor.hub_places(), "HF_TOKEN").state == "none"
    (tmp_path / "token").write_text(SECRET)
    assert doctor.check_key("Hub token", "", doctor.hub_places(), "HF_TOKEN").found == f"in {tmp_path / 'token'}"
    assert SECRET not in shopwright("doctor", "--run", tmp_path)[1]


@pytest.fixture
def server():
    """Says that it is well, as Prefect's does."""

    class Well(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/api/health" else 404)
            self.end_headers()

        def log_message(self, *given):
            pass

    found = ThreadingHTTPServer(("127.0.0.1", 0), Well)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found.server_port
    found.shutdown()
    found.server_close()


def test_a_prefect_server_of_this_machine_is_asked(server, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server}/api")
    assert doctor.check_prefect().state == "ok"
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server}/nowhere")
    assert doctor.check_prefect().state == "none"


def test_nobody_elsewhere_is_asked(monkeypatch, tmp_path):
    monkeypatch.setenv("PREFECT_API_URL", f"https://me:{SECRET}@prefect.example/api")
    told = doctor.check_prefect()
    assert told.found == "prefect.example:443, not asked"

    def refused(*given, **named):
        raise AssertionError(f"asked {given}")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    assert doctor.check_machine(f"s3://bucket/{tmp_path.name}")


def test_a_sandbox_that_lacks_a_means_is_told_with_where_to_read():
    script = (
        "import json; from shopwright.pipeline.commands import doctor; print(json.dumps(vars(doctor.check_sandbox())))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["state"] == "ok" or (told["remedy"] == "docs/sandbox.md" and "no " in told["found"])


def test_what_cannot_run_is_found_missing(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert (doctor.check_gpu().state, doctor.check_gpu().found) == ("none", "none")
    assert doctor.check_chromium().state == "none"


def test_a_gpu_is_told_as_its_driver_says(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771 MiB'\necho 'NVIDIA H200, 143771 MiB'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.check_gpu().found == "2 x NVIDIA H200, 143771 MiB"
