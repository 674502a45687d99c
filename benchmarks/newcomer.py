"""What a newcomer types and waits for, from a bare machine to data of their own shop.

    python -m benchmarks.newcomer                            # in a fresh clone of what is committed here, some minutes
    python -m benchmarks.newcomer --readme tau2=README.md    # words before the first command, of READMEs

The home folder is empty, so that nothing is kept from earlier. The two pieces of Python are those of README.md. A page counts as seen
when the server has answered with all of it.
"""

import argparse
import os
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple
from urllib.request import urlopen

from benchmarks.trajectories import machine, write

HOME = Path(__file__).parents[1]
LONGEST = 900
"""Seconds after which a step has failed."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Of Markdown: comments and tags, pictures and badges, addresses of links.
UNREAD = re.compile(r"<!--.*?-->|<[^>]+>|!\[[^\]]*\]\([^)]*\)|\[\s*\]\([^)]*\)|(?<=\])\([^)]*\)", re.DOTALL)
KINDS = ("Lamp", "Mug", "Rucksack", "Desk", "Kettle", "Blanket", "Scale", "Router", "Bottle", "Chair")


class Step(NamedTuple):
    """One thing that a newcomer wants, and what they type for it."""

    wish: str
    typed: str
    seconds: float
    seen: str
    """The last line that told them so."""


def write_shop(path: Path) -> None:
    """300 products as a spreadsheet would have them."""
    lines = ["name,price,category,color"]
    for number in range(300):
        kind, color = KINDS[number % 10], ("blue", "green", "black", "white")[number // 10 % 4]
        lines.append(f"{kind} No. {number},{5 + number % 90}.99,Home > {kind}s,{color}")
    path.write_text("\n".join(lines), encoding="utf-8")


def run_command(typed: str, folder: Path, environ: Mapping[str, str]) -> tuple[float, str]:
    """Its seconds and its last line. Raises RuntimeError where it fails."""
    began = perf_counter()
    found = subprocess.run(
        shlex.split(typed), check=False, cwd=folder, env=environ, capture_output=True, text=True, timeout=LONGEST
    )
    if found.returncode:
        raise RuntimeError(f"{typed}: exit {found.returncode}: {(found.stderr or found.stdout)[-500:]}")
    lines = [line.strip() for line in found.stdout.splitlines() if line.strip()]
    return perf_counter() - began, lines[-1] if lines else ""


def open_page(typed: str, port: int, folder: Path, environ: Mapping[str, str]) -> tuple[float, str]:
    """Seconds from the command to the whole page, and its title. Raises RuntimeError where the server ends or stays silent."""
    began = perf_counter()
    server = subprocess.Popen(
        shlex.split(typed),
        cwd=folder,
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while perf_counter() - began < LONGEST and server.poll() is None:
            try:
                with urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                    page = answer.read().decode()
            except OSError:
                sleep(0.05)
                continue
            found = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
            return perf_counter() - began, (found[1].strip() if found else "") or "a page"
        raise RuntimeError(f"{typed}: no page")
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def take_steps(folder: Path) -> list[Step]:
    place = folder / "shopwright"
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environ |= {
        name: os.environ[name]
        for name in ("PIP_INDEX_URL", "PIP_CONFIG_FILE", "UV_INDEX_URL", "LANG")
        if name in os.environ
    }
    loads, plays = (
        code for kind, code in FENCE.findall((HOME / "README.md").read_text(encoding="utf-8")) if kind == "python"
    )
    steps: list[Step] = []

    def take(wish: str, typed: str, do: Callable[[], tuple[float, str]], seen: str = "") -> None:
        seconds, told = do()
        steps.append(Step(wish, typed, seconds, " ".join((seen or told).split())))
        print(f"{wish}: {seconds:.0f} s, {told[:100]}", flush=True)

    def take_command(wish: str, typed: str, seen: str = "") -> None:
        take(wish, typed, lambda: run_command(typed, place, environ), seen)

    take("have it", "git clone", lambda: run_command(f"git clone -q {HOME} shopwright", folder, environ), "a folder")
    take_command("first dataset", "make trajectories")
    for name, code in (("loads.py", loads), ("plays.py", plays)):
        (place / name).write_text(code, encoding="utf-8")
    for wish, typed, port in (
        ("first look in the browser", ".venv/bin/shopwright browse data/runs/demo --port 8601", 8601),
        ("first game on its page", ".venv/bin/shopwright play --port 8602", 8602),
    ):
        take(wish, typed, lambda typed=typed, port=port: open_page(typed, port, place, environ))  # type: ignore[misc]
    take_command("first `load_dataset`", ".venv/bin/python loads.py")
    take_command("first environment from Python", ".venv/bin/python plays.py")
    write_shop(place / "my-shop.csv")
    take_command(
        "months in your own shop", ".venv/bin/shopwright build trajectories --run data/runs/own --source my-shop.csv"
    )
    return steps


def steps_table(steps: list[Step]) -> str:
    lines = [
        "`python -m benchmarks.newcomer`: an empty home folder, a fresh clone; one command after the other",
        "",
        "| you want | you type | seconds | you see |",
        "| --- | --- | ---: | --- |",
        *(
            f"| {each.wish} | `{each.typed}` | {each.seconds:.0f} | {each.seen[:90].replace('|', '/')} |"
            for each in steps
        ),
        f"| all of it | {sum(len(each.typed) for each in steps)} characters | {sum(each.seconds for each in steps):.0f} | |",
    ]
    return "\n".join([*lines, "", machine()])


def count_words_before_command(text: str) -> int:
    """Words that a reader of a README meets before the first block of commands or code.

    >>> count_words_before_command("# A tool\\n\\n[![badge](b.svg)](x) It [helps](y) you.\\n\\n```sh\\nmake\\n```\\n")
    5
    """
    before = text.partition("\n```")[0]
    while UNREAD.search(before):
        before = UNREAD.sub("", before)
    return len(re.findall(r"\w[\w'’.-]*", before))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--readme", nargs="+", metavar="NAME=FILE", help="count the words before the first command of these"
    )
    options = parser.parse_args()
    if options.readme:
        for each in options.readme:
            name, _, path = each.partition("=")
            print(f"{name}: {count_words_before_command(Path(path).read_text(encoding='utf-8'))}")
        return
    with tempfile.TemporaryDirectory() as name:
        text = steps_table(take_steps(Path(name)))
    print(text)
    write("newcomer", text)


if __name__ == "__main__":
    main()
