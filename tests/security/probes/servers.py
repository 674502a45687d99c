"""The servers as a user starts them: a command, a process of its own, a port of this machine."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.security.probes.wire import ask

HOME = Path(__file__).parents[3]
# Seconds for a server to answer first; Prefect fills a new home before.
PATIENCE = 300.0
SECRET = "The secret of the probes, 8c1f4e."


class Probe(NamedTuple):
    """What is tried, and what finds out what got through: a sentence, or nothing."""

    group: str
    name: str
    find: Callable[[], str]


@dataclass(frozen=True)
class Server:
    """One that is at work. page: what it answers; post: what it takes; sockets: its WebSockets; secret: a file that no address may lead to."""

    name: str
    port: int
    group: int
    """Of processes."""
    run: Path
    secret: Path
    page: str
    post: str
    sockets: tuple[str, ...] = ()

    @property
    def memory(self) -> int:
        """Bytes that its processes hold."""
        found = 0
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError, IndexError):
                if os.getsid(int(path.name)) == self.group or self.group in list_ancestors(int(path.name)):
                    found += int((path / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return found

    def is_well(self) -> str:
        """Nothing, where it answers an honest request."""
        status = ask(self.port, self.page).status
        return "" if status == 200 else f"an honest request was answered {status}"


def list_ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1 and len(found) < 20:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


@contextmanager
def start(name: str, words: Sequence[str], run: Path, folder: Path, **facts: object) -> Iterator[Server]:
    """A server, until the end of the block. words: the command, which prints the address; folder: of the secret and of what it prints."""
    secret = folder / "secret.txt"
    secret.write_text(SECRET, encoding="utf-8")
    log = folder / f"{name}.log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            words, stdout=file, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(HOME)}
        )  # fmt: skip
    try:
        port = wait_for_port(process, log, str(facts["page"]))
        yield Server(name, port, process.pid, run, secret, **facts)  # type: ignore[arg-type]
    finally:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for_port(process: subprocess.Popen[bytes], log: Path, page: str) -> int:
    """Raises RuntimeError where the server ends before it answers."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"http://(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)", log.read_text(encoding="utf-8")):
            with suppress(OSError):
                if ask(int(found[1]), page).status == 200:
                    return int(found[1])
        time.sleep(0.2)
    raise RuntimeError(f"{log.name}: the server does not answer:\n{log.read_text(encoding='utf-8')[-2_000:]}")


def find_free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def name_command(*words: str, python: str = sys.executable) -> list[str]:
    """`shopwright ...`, by this Python or one that has other packages."""
    return [python, "-m", "shopwright.pipeline", *words]
