"""Records a second, and CPU for each, of ours and of datatrove, Curator and Data Designer, asking the same server by turns.

    python -m benchmarks.peers           # installs each into an environment of its own in build/peers, then some minutes
    python -m benchmarks.peers --quick   # a tenth of the requests: whether it runs, no figures

All send the same messages, 64 at once, to a server that answers after 50 ms, or at once. Ours checks each reply against its schema,
keeps it in a journal and writes Parquet; the others write what they write by default: none of them checks. Each is a process of its own
in every round; the seconds are of its work, without imports. Figures go into benchmarks/README.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from benchmarks import models
from benchmarks.models import AT_ONCE, REQUESTS, WAIT, Served, prompt
from benchmarks.trajectories import machine, write

HERE = Path(__file__).parent
PLACE = HERE.parents[1] / "build" / "peers"
PEERS = {
    "datatrove": "datatrove[inference,io]>=0.10,<0.11",
    "curator": "bespokelabs-curator>=0.1.26,<0.2",
    "data_designer": "data-designer>=0.9,<0.10",
}
OURS = "ours"
ROUNDS = 3
PATIENCE = 600
"""Seconds for one tool and one round."""


def install(name: str) -> Path:
    """The Python of an environment that has this tool; made where it is not there."""
    python = PLACE / name / "bin" / "python"
    if not python.exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", python.parents[1]], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, PEERS[name]], check=True)
    return python


def ask(name: str, url: str, prompts: Path) -> dict[str, float]:
    """Seconds on the clock and of the processor, of one tool's work with one file of prompts."""
    with tempfile.TemporaryDirectory() as place:
        if name == OURS:
            command = [sys.executable, "-m", "benchmarks.peers", "--ask", url, str(count_lines(prompts))]
        else:
            command = [str(install(name)), str(HERE / f"ask_{name}.py"), url, str(prompts), str(AT_ONCE), place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed: {done.stderr.strip()[-2_000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def ask_by_ours(url: str, requests: int) -> dict[str, float]:
    models.REQUESTS = requests
    began = perf_counter(), process_time()
    models.ours(f"openai:some/model@{url}")
    return {"wall": perf_counter() - began[0], "cpu": process_time() - began[1]}


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def measure(requests: int, rounds: int) -> dict[tuple[str, float], dict[str, float]]:
    """Of each tool and wait the median of its rounds, which go by turns."""
    found: dict[tuple[str, float], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as place:
        prompts = Path(place) / "prompts.jsonl"
        prompts.write_text("".join(f"{json.dumps(prompt(number).messages)}\n" for number in range(requests)))
        for name in PEERS:
            install(name)
        for wait in (WAIT, 0.0):
            with Served(wait) as server:
                for _ in range(rounds):
                    for name in (OURS, *PEERS):
                        found.setdefault((name, wait), []).append(ask(name, server.url, prompts))
                        asked = server.told()["requests"]
                        assert asked >= requests, f"{name} asked {asked} of {requests}"
    return {key: {of: median(each[of] for each in took) for of in ("wall", "cpu")} for key, took in found.items()}


def table(found: dict[tuple[str, float], dict[str, float]], requests: int, rounds: int) -> str:
    lines = [
        (
            f"`python -m benchmarks.peers`: {requests:,} requests, {AT_ONCE} at once; median of {rounds} rounds by turns; ideal at 50 ms: "
            f"{AT_ONCE / WAIT:,.0f} records a second"
        ),
        "",
        "| tool | records a second at 50 ms | CPU, ms a record | times ours | records a second at 0 ms | CPU, ms a record | times ours |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in (OURS, *PEERS):
        cells = [name.replace("_", " ")]
        for wait in (WAIT, 0.0):
            took, own = found[name, wait], found[OURS, wait]
            cells += [
                f"{requests / took['wall']:,.0f}",
                f"{1000 * took['cpu'] / requests:.2f}",
                f"{took['cpu'] / own['cpu']:.1f}",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"{machine()} Load average {os.getloadavg()[0]:.1f}, this benchmark included."])


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ask", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.ask:
        print(json.dumps(ask_by_ours(options.ask[0], int(options.ask[1]))))
        return 0
    requests, rounds = (REQUESTS // 10, 1) if options.quick else (REQUESTS, ROUNDS)
    text = table(measure(requests, rounds), requests, rounds)
    print(text)
    if not options.quick:
        write("peers", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
