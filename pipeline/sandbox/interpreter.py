"""The sandbox from outside: hands blocks of code to warm processes and gives what each of them printed.

    with Sandbox(events_by_id) as sandbox:
        output = sandbox.run("persona-0000003-32k", "conn, df = load_trajectory('persona-0000003-32k')\\nlen(df)")

What it does not stop is said in `docs/sandbox.md`.
"""

import json
import multiprocessing
import os
import re
import selectors
import socket
import subprocess
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from time import monotonic
from typing import Any, Self

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.sandbox.execute import LIBRARIES, LONGEST, Limits
from shopwright.pipeline.sandbox.kernel import MEANS, WITHOUT, find_means_needed, read_waived_means

IDLE_SECONDS = 20.0
# Trajectories that are held ready.
MOST_PROCESSES = 8
LINES = 65_536
IN_LIBRARIES = re.compile("|".join(re.escape(f"{path}/") for path in sorted(LIBRARIES, key=len, reverse=True)))
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Seconds in which processes may end by themselves.
PATIENCE = 2.0
# How often a block is begun whose process went away without it.
TRIES = 2


@dataclass(frozen=True)
class Output:
    """What a block of code printed, and whether it ran to its end without an error."""

    text: str
    ok: bool
    seconds: float = field(default=0.0, compare=False)


@dataclass
class Block:
    """A block of code on its way."""

    id: str
    code: str
    future: "Future[Output]"
    number: int = 0
    begun: float = 0.0
    tries: int = 0
    text: bytearray = field(default_factory=bytearray)
    printed: int = 0
    pipe: int = -1


@dataclass
class Link:
    """The process of one trajectory."""

    id: str
    talk: socket.socket
    blocks: dict[int, Block] = field(default_factory=dict)


class Sandbox:
    """Runs blocks of Python (or SQL, fenced as such) over one trajectory each, `at_once` of them at a time.

    `events` gives a trajectory's events by its id; it is called in the sandbox's own thread, and raises Problem for what there is
    not. Any thread may call `run` and `submit`. After `rest` seconds without work its processes and its thread end, until there is some again.
    """

    def __init__(
        self,
        events: Callable[[str], Any],
        *,
        limits: Limits | None = None,
        at_once: int | None = None,
        rest: float = IDLE_SECONDS,
    ) -> None:
        self.events, self.limits, self.pause = events, limits or Limits(), rest
        self.at_once = at_once or max(2, os.cpu_count() or 1)
        self.waiting: deque[Block] = deque()
        self.links: OrderedDict[str, Link] = OrderedDict()
        self.root: socket.socket | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.number = 0
        self.closed = False
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None
        self.wake: tuple[int, int] = (-1, -1)

    def run(self, id: str, code: str) -> Output:
        """What the block printed. Raises Problem for an unknown trajectory, or where this machine cannot confine code."""
        return self.submit(id, code).result()

    def submit(self, id: str, code: str) -> "Future[Output]":
        """The same, without waiting; the future can be awaited through `asyncio.wrap_future`."""
        found: Future[Output] = Future()
        if len(code) > LONGEST:
            found.set_result(Output(f"Error: a block of more than {LONGEST:,} characters.", ok=False))
            return found
        with self.lock:
            if self.closed:
                raise RuntimeError("the sandbox is closed")
            self.waiting.append(Block(id, code, found))
            if self.thread is None:
                self.wake = os.pipe()
                self.thread = threading.Thread(target=self.work, daemon=True, name="sandbox")
                self.thread.start()
            os.write(self.wake[1], b".")
        return found

    def close(self) -> None:
        """Ends all processes; blocks that were not done are cancelled."""
        with self.lock:
            busy = self.thread is not None and not self.closed
            self.closed = True  # before it is woken
            if busy:
                os.write(self.wake[1], b".")
        if self.thread not in (None, threading.current_thread()):
            self.thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # what follows runs in the sandbox's own thread

    def work(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.wake[0], selectors.EVENT_READ, self.drain_wakeup)
        try:
            while not self.closed:
                self.begin()
                found = self.selector.select(None if self.running() else self.pause)
                for key, _ in found:
                    key.data()
                if not found and self.let_go():
                    return
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self.fail(error)
        self.end()

    def running(self) -> int:
        return sum(len(link.blocks) for link in self.links.values())

    def let_go(self) -> bool:
        """Its processes end, and so does its thread, which would keep it and all that it knows; they are begun again when there is work."""
        with self.lock:
            if self.waiting or self.closed:
                return False
            self.end_all()
            self.thread = None
        return True

    def drain_wakeup(self) -> None:
        os.read(self.wake[0], 4096)

    def begin(self) -> None:
        """As many blocks as may be at a time."""
        while self.waiting and self.running() < self.at_once:
            one = self.waiting.popleft()
            if one.tries == 0 and not one.future.set_running_or_notify_cancel():
                continue
            try:
                self.start_block(one)
            except BaseException as error:  # noqa: BLE001 - it is of this block alone, and told to who waits for it
                one.future.set_exception(error)

    def start_block(self, one: Block) -> None:
        link = self.link(one.id)
        self.number += 1
        one.number, one.begun, one.tries = self.number, monotonic(), one.tries + 1
        one.text, one.printed = bytearray(), 0
        code = make_memory_file("code", one.code.encode(errors="replace"))
        try:
            one.pipe, theirs = os.pipe()
        except OSError:
            os.close(code)
            raise
        os.set_blocking(one.pipe, False)
        link.blocks[one.number] = one
        self.selector.register(one.pipe, selectors.EVENT_READ, lambda: self.read(link, one))
        try:
            send_message(link.talk, {"run": one.number}, [code, theirs])
        except OSError:
            self.handle_end(link)
        finally:
            os.close(code)
            os.close(theirs)

    def link(self, id: str) -> Link:
        """The process of a trajectory; of those without work the one that was used longest ago makes room."""
        if id in self.links:
            self.links.move_to_end(id)
            return self.links[id]
        events = make_memory_file("events", serialize_events(self.events(id)))
        try:
            ours = self.start_process(id, events)
        finally:
            os.close(events)
        link = self.links[id] = Link(id, ours)
        self.selector.register(ours, selectors.EVENT_READ, lambda: self.receive(link))
        for old in [each for each in self.links.values() if not each.blocks and each is not link]:
            if len(self.links) > MOST_PROCESSES:
                self.drop(old)
        return link

    def start_process(self, id: str, events: int) -> socket.socket:
        """What a new process for this trajectory listens to."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            for left in reversed(range(TRIES)):
                try:
                    send_message(self.start_root(), {"load": id}, [events, theirs.fileno()])
                    return ours
                except (OSError, Problem):  # it ended since it was last used, or as it began
                    self.stop_root()
                    if not left:
                        ours.close()
                        raise
        raise AssertionError

    def start_root(self) -> socket.socket:
        """The process that all others are copies of. Raises Problem where the machine lacks what it needs."""
        if self.root is not None:
            return self.root
        self.root, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = ["-m", "shopwright.pipeline.sandbox.worker", self.limits.to_json(), ",".join(read_waived_means())]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=make_child_environment(),
                cwd="/",
                start_new_session=True,
            )
        report = self.root.recv(LINES)
        told = json.loads(report) if report else {}
        needed = told.get("needed")
        if needed or not report:
            self.stop_root()
        if not report:
            raise Problem("The sandbox's process did not start, or was killed; if it said why, that stands above.")
        refuse_without(needed)
        tell_lacking(tuple(told["lacking"].items()))
        return self.root

    def read(self, link: Link, one: Block) -> None:
        before = one.printed
        if one.pipe >= 0:  # else shut since the selector saw it
            self.read_pipe(one)
        if before <= self.limits.printed < one.printed:
            with suppress(OSError):
                send_message(link.talk, {"stop": one.number, "why": ""}, [])

    def read_pipe(self, one: Block) -> bool:
        """Reads once; whether there was anything."""
        try:
            found = os.read(one.pipe, LINES)
        except BlockingIOError:
            return False
        one.printed += len(found)
        one.text += found[: max(0, self.limits.printed - len(one.text))]
        if not found:
            self.shut(one)
        return bool(found)

    def receive(self, link: Link) -> None:
        try:
            text = link.talk.recv(LINES)
        except OSError:
            text = b""
        if not text:
            self.handle_end(link)
            return
        report = json.loads(text)
        one = link.blocks.pop(report["run"], None)
        if one is not None:
            self.settle(one, report["ok"], report["why"])

    def settle(self, one: Block, ok: bool, why: str) -> None:
        """It has ended: all that it printed lies in its pipe."""
        while one.pipe >= 0 and self.read_pipe(one):
            pass
        self.shut(one)
        if one.printed > self.limits.printed:
            why = f"more than {self.limits.printed:,} bytes of output"
        text = truncate_output(clean_output(one.text.decode(errors="replace")), self.limits.shown)
        if why:
            text = f"{text.rstrip()}\n[stopped: {why}]".lstrip()
        one.future.set_result(Output(text.rstrip(), ok and not why, monotonic() - one.begun))

    def handle_end(self, link: Link) -> None:
        """Its process is not there any more: its blocks begin again, or are given up."""
        blocks = list(link.blocks.values())
        self.drop(link)
        for one in blocks:
            self.shut(one)
            if one.tries < TRIES:
                self.waiting.appendleft(one)
            else:
                one.future.set_result(Output("[stopped: the sandbox's process ended]", False, monotonic() - one.begun))

    def shut(self, one: Block) -> None:
        if one.pipe >= 0:
            self.selector.unregister(one.pipe)
            os.close(one.pipe)
            one.pipe = -1

    def drop(self, link: Link) -> None:
        if self.links.get(link.id) is link:
            del self.links[link.id]
            self.selector.unregister(link.talk)
            link.talk.close()
        link.blocks.clear()

    def fail(self, error: BaseException) -> None:
        running = chain.from_iterable(link.blocks.values() for link in self.links.values())
        for one in [*self.waiting, *running]:
            with suppress(InvalidStateError):  # done, or cancelled by who waited for it
                one.future.set_exception(error)

    def end(self) -> None:
        with self.lock:
            self.closed = True
        for link in self.links.values():
            self.waiting.extend(link.blocks.values())
        for one in self.waiting:
            self.shut(one)
            if not one.future.done() and not one.future.cancel():
                one.future.set_exception(CancelledError("the sandbox was closed"))
        self.end_all()

    def end_all(self) -> None:
        for link in list(self.links.values()):
            self.drop(link)
        self.stop_root()
        self.selector.close()
        for each in self.wake:
            os.close(each)

    def stop_root(self) -> None:
        """All of its copies end with it; it has ended when they have."""
        if self.root is not None:
            self.root.close()
            self.root = None
        if self.process is not None:
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None


def send_message(talk: socket.socket, message: dict[str, Any], files: list[int]) -> None:
    socket.send_fds(talk, [json.dumps(message).encode()], files)


@cache
def require_means() -> None:
    """For what asks a model before it runs its code. Raises Problem, naming each means that this machine needs and lacks."""
    refuse_without(find_means_needed(ask_missing_means(), read_waived_means()))


def ask_missing_means() -> dict[str, str]:
    """The means that this machine lacks, each with why: tried in a process of its own, as the first one has threads."""
    words = [sys.executable, "-m", "shopwright.pipeline.sandbox.kernel"]
    done = subprocess.run(words, capture_output=True, text=True, env=make_child_environment(), check=False)
    found: dict[str, str] = json.loads(done.stdout) if done.returncode == 0 else dict.fromkeys(MEANS, "not tried")
    return found


def refuse_without(needed: Mapping[str, str] | None) -> None:
    if needed:
        reasons = "; ".join(f"{name} ({why})" for name, why in needed.items())
        raise Problem(
            f"This machine cannot keep foreign code in: it lacks {reasons}. Use another one, or say that the rest is enough for "
            f"code that you trust: {WITHOUT}={','.join(needed)}"
        )


@cache
def tell_lacking(lacking: tuple[tuple[str, str], ...]) -> None:
    """Once, which means hold and which do not."""
    holds = ", ".join(name for name in MEANS if name not in dict(lacking)) or "nothing"
    reasons = "; ".join(f"{name}: {why}" for name, why in lacking)
    without = f"it goes without {reasons}. See docs/sandbox.md." if lacking else "no means is missing."
    if lacking or multiprocessing.parent_process() is None:  # a build's workers only say what is not as it should be
        print(f"The sandbox holds by {holds}; {without}", file=sys.stderr, flush=True)


def make_child_environment() -> dict[str, str]:
    """Of this process's variables none; text and chance are the same everywhere, and each library has one thread."""
    alone = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "ARROW_IO", "NUMEXPR")}
    path = os.pathsep.join(os.path.abspath(each) for each in sys.path if each)
    return {
        "PYTHONPATH": path,
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TZ": "UTC",
        "MALLOC_ARENA_MAX": "2",  # else each thread takes 64 MiB of addresses for its memory
        **alone,
    }


def make_memory_file(name: str, content: bytes) -> int:
    """A file that is in no folder, to be read and never written again."""
    written = os.memfd_create(name, os.MFD_CLOEXEC)
    with open(written, "wb", closefd=True) as file:
        file.write(content)
        file.flush()
        return os.open(f"/proc/self/fd/{written}", os.O_RDONLY | os.O_CLOEXEC)


def serialize_events(events: Any) -> bytes:
    """A table as an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, events.schema) as stream:
        stream.write_table(events)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def clean_output(text: str) -> str:
    r"""Without what differs between machines (paths of libraries, addresses), and what would move a terminal's cursor.

    >>> clean_output("<object at 0x7f854a279040>\x1b[2J\r\n")
    '<object at 0x0>\ufffd[2J\n'
    """
    text = IN_LIBRARIES.sub("", text.replace("\r\n", "\n"))
    return CONTROL.sub("\ufffd", ADDRESS.sub(" at 0x0", text))


def truncate_output(text: str, most: int) -> str:
    """Not more than so many characters of it, with a note of what is left out.

    >>> truncate_output("abcdefghij" * 3, 8)
    'abcdef\\n[... 22 of 30 characters are not shown ...]\\nij'
    """
    if len(text) <= most:
        return text
    head, tail = most - most // 4, most // 4
    return f"{text[:head]}\n[... {len(text) - most:,} of {len(text):,} characters are not shown ...]\n{text[-tail:]}"
