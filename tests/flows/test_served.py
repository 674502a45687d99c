"""What `make serve` and `make deploy` do, and what a schedule then does without anybody."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from shopwright.flows import deploy
from shopwright.pipeline.run import Run
from tests.processes import MARK

HOME = Path(__file__).parents[2]


def a_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_a_port_that_is_taken_is_told_in_one_line():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        words = [sys.executable, "-m", "shopwright.flows.serve", "--port", str(port)]
        done = subprocess.run(words, cwd=HOME, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    said = (
        f"serve: error: Port {port} is taken. Stop what listens there, or choose another: make serve PORT={port + 1}\n"
    )
    assert done.stderr == said


def test_a_server_that_is_not_there_is_told_in_one_line(monkeypatch, capfd):
    url = f"http://127.0.0.1:{a_port()}/api"
    monkeypatch.setenv("PREFECT_API_URL", url)
    assert deploy.main([]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"deploy: error: No Prefect server answers at {url}. Start one: make serve")


class Served:
    """A server and a worker, with a home of their own."""

    def __init__(self, home):
        self.mark, self.url = str(home), f"http://127.0.0.1:{(port := a_port())}/api"
        self.environment = {**os.environ, "PREFECT_HOME": str(home), "PREFECT_API_URL": self.url, MARK: self.mark}
        words = [sys.executable, "-m", "shopwright.flows.serve", "--port", str(port)]
        self.process = subprocess.Popen(words, cwd=HOME, env=self.environment, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("Ctrl-C"):
                return
        raise AssertionError("it ended before it served")

    def deploy(self, *words):
        command = [sys.executable, "-m", "shopwright.flows.deploy", *words]
        subprocess.run(command, cwd=HOME, env=self.environment, check=True, stdout=subprocess.DEVNULL)

    def runs(self):
        """The runs of releases, the first ones first."""
        asked = {"flows": {"name": {"any_": ["release"]}}, "sort": "EXPECTED_START_TIME_ASC"}
        request = Request(
            f"{self.url}/flow_runs/filter", json.dumps(asked).encode(), {"Content-Type": "application/json"}
        )
        with urlopen(request) as reply:
            return json.load(reply)

    def until(self, state, *, less=(), seconds=420):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for run in self.runs():
                if run["state_name"] == state and run["id"] not in less:
                    return run
            time.sleep(0.5)
        raise AssertionError([(run["name"], run["state"]) for run in self.runs() if run["state_name"] != "Scheduled"])

    def processes(self, words=b""):
        """Those that it started, and that these words started."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                ours = f"{MARK}={self.mark}\0".encode() in (path / "environ").read_bytes()
                if ours and words in (path / "cmdline").read_bytes().replace(b"\0", b" "):
                    found.append(int(path.name))
        return found

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(90)


@pytest.fixture
def served(tmp_path):
    found = Served(tmp_path / "prefect")
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.stop()
        for process in found.processes():
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)


@pytest.mark.slow
def test_a_schedule_fires_a_killed_run_has_crashed_and_a_stop_leaves_nothing(served, tmp_path):
    served.deploy()
    wanted = {"recipe": "shop_r1", "scale": 0.0005, "run": f"{tmp_path}/runs/{{time}}", "workers": 1}
    served.deploy("--name", "nightly", "--cron", "* * * * *", "--params", json.dumps({"wanted": wanted}))
    done = served.until("Completed")
    run = Path(tmp_path, "runs", done["expected_start_time"].replace("-", "").replace("T", "-").replace(":", "")[:13])
    assert Run(run).read("behavior_steps").manifest

    running = served.until("Running", less=[done["id"]])
    for process in served.processes(b"-m prefect.engine"):
        os.kill(process, signal.SIGKILL)
    crashed = served.until("Crashed", seconds=60)
    assert crashed["id"] == running["id"]

    assert served.stop() == 130
    assert not served.processes()
