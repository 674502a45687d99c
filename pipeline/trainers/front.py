"""One port and several worker processes behind it, which share the memory of what was opened before they began.

The process that listens reads nothing but the first line of a connection: it hands the connection itself on to the worker that has the session
which that line names, or to the one with the fewest. It keeps a handle of each connection. So when a worker dies, its clients are told why by name,
connections that it had not looked at go to another, and a new worker takes its place.
"""

import contextlib
import errno
import gc
import os
import re
import resource
import selectors
import signal
import socket
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.metrics import Metrics
from shopwright.pipeline.trainers.sessions import find_owner

# The key of a session or an episode, in a request's first line.
KEY = re.compile(rb"^[A-Z]+ [^ ]*[?&](?:session_id|episode)=([^& ]+)")
DIED = "The worker that had this session died (its episode is lost). Connect again and reset."
# A close frame of a WebSocket has room for 123 bytes of reason; 1012 is "service restart".
RESTART = struct.pack("!BBH", 0x88, len(DIED) + 2, 1012) + DIED.encode()
# Seconds for a first line to come, and deaths within as many seconds after which the server gives up.
PATIENCE, DEATHS = 10.0, 5
NUMBER = struct.Struct("!q")
STOP = -1
# Handles that are not connections: of files, libraries, workers.
SPARE = 256


@dataclass
class Worker:
    """A worker as the front sees it."""

    index: int
    pid: int
    control: socket.socket
    held: set[int] = field(default_factory=set)
    """Connections that it has."""
    waiting: deque[int] = field(default_factory=deque)
    """Connections to be handed to it as soon as it takes them."""
    last: int = 0
    """The number of the connection that it got last."""


@dataclass
class Held:
    """A connection."""

    handle: socket.socket
    address: str
    since: float
    talks: bool = False
    """Whether it is a WebSocket's."""


class Front:
    """Listens, hands on, replaces workers.

    work: what a worker does with its number and its end of the line to the front; it returns when it was told to stop and is ready.
    """

    def __init__(
        self,
        listener: socket.socket,
        workers: int,
        work: Callable[[int, socket.socket], None],
        *,
        grace: float,
        per_client: int = 0,
        metrics: Metrics | None = None,
    ) -> None:
        self.listener, self.count, self.work = listener, workers, work
        self.grace, self.per_client, self.metrics = grace, per_client, metrics or Metrics()
        self.selector = selectors.DefaultSelector()
        self.workers: dict[int, Worker] = {}
        self.held: dict[int, Held] = {}
        self.new: set[int] = set()
        """Connections whose first line has not come yet."""
        self.clients: Counter[str] = Counter()
        self.numbers = 0
        self.most = raise_file_limit() - SPARE
        self.deaths: deque[float] = deque(maxlen=DEATHS)
        self.stops = 0
        self.failed = False

    def run(self) -> int:
        """Until it is told to stop (0), or workers die as soon as they begin (1)."""
        self.listener.setblocking(False)
        # What stands in memory now is shared by the workers; a collector that writes to it would copy it.
        gc.collect()
        gc.freeze()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self.hear_signal)
        for index in range(self.count):
            self.start_worker(index)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        told = False
        while self.workers:
            for key, events in self.selector.select(0.1):
                key.data(key.fileobj, events)
            self.drop_silent()
            self.bury_the_dead()
            if self.stops and not told:
                told = True
                self.begin_stop()
            if self.stops > 1:
                self.kill_all()
        for held in self.held.values():
            held.handle.close()
        return 1 if self.failed else 0

    # Connections

    def accept(self, listener: Any, events: int) -> None:
        for _ in range(256):
            try:
                handle, address = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    time.sleep(0.01)  # those that wait are taken as soon as others have left
                return
            if len(self.held) >= self.most:
                handle.close()
                continue
            self.numbers += 1
            number = self.numbers
            handle.setblocking(False)
            self.held[number] = Held(handle, address[0], time.monotonic())
            self.clients[address[0]] += 1
            self.new.add(number)
            self.selector.register(
                handle, selectors.EVENT_READ, lambda handle, events, number=number: self.route(number)
            )

    def route(self, number: int) -> None:
        """As its first bytes are there: chooses the worker. They are only looked at, and the worker reads them again."""
        held = self.held[number]
        self.selector.unregister(held.handle)
        self.new.discard(number)
        try:
            first = held.handle.recv(4_096, socket.MSG_PEEK)
        except OSError:
            first = b""
        if not first:
            self.forget(number)
        elif self.per_client and self.clients[held.address] > self.per_client:
            self.refuse(number)
        else:
            held.talks = b"\r\nupgrade: websocket" in first.lower()
            self.hand_to(self.choose_worker(first), number)

    def choose_worker(self, first: bytes) -> Worker:
        named = KEY.match(first)
        if named:
            owner = find_owner(named[1].decode("latin-1"), self.count)
            if owner in self.workers:
                return self.workers[owner]
        # Of equals in turn: connections that are closed after each request leave all workers with none.
        return min(self.workers.values(), key=lambda worker: (len(worker.held), worker.last))

    def refuse(self, number: int) -> None:
        held = self.held[number]
        why = f"This address has {self.per_client} connections already.\n".encode()
        head = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        with contextlib.suppress(OSError):
            held.handle.recv(65_536)
            held.handle.send(head % len(why) + why)
        self.forget(number)

    def hand_to(self, worker: Worker, number: int) -> None:
        worker.held.add(number)
        worker.last = number
        worker.waiting.append(number)
        self.flush(worker)

    def flush(self, worker: Worker) -> None:
        """Hands on as many connections as the worker takes now."""
        while worker.waiting:
            number = worker.waiting[0]
            try:
                socket.send_fds(worker.control, [NUMBER.pack(number)], [self.held[number].handle.fileno()])
            except BlockingIOError:
                break
            except OSError:
                return  # it has died, and is buried next
            worker.waiting.popleft()
        self.listen_to(worker)

    def listen_to(self, worker: Worker) -> None:
        """To what it says; and, while connections wait for it, to its being able to take them."""
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.waiting else 0)
        known = self.selector.get_map().get(worker.control)
        if known is None:
            self.selector.register(worker.control, wanted, lambda control, events: self.hear(worker, events))
        elif known.events != wanted:
            self.selector.modify(worker.control, wanted, known.data)

    def hear(self, worker: Worker, events: int) -> None:
        """A worker tells of connections that are closed; or it has ended."""
        while True:
            try:
                said = worker.control.recv(NUMBER.size)
            except BlockingIOError:
                break
            except OSError:
                said = b""
            if not said:
                self.selector.unregister(worker.control)
                return
            (number,) = NUMBER.unpack(said)
            worker.held.discard(number)
            self.forget(number)
        if events & selectors.EVENT_WRITE:
            self.flush(worker)

    def forget(self, number: int) -> None:
        held = self.held.pop(number, None)
        if held is None:
            return
        held.handle.close()
        self.clients[held.address] -= 1
        if not self.clients[held.address]:
            del self.clients[held.address]

    def drop_silent(self) -> None:
        """Connections on which nothing was said keep no place."""
        now = time.monotonic()
        for number in [number for number in self.new if now - self.held[number].since > PATIENCE]:
            self.selector.unregister(self.held[number].handle)
            self.new.discard(number)
            self.forget(number)

    # Workers

    def start_worker(self, index: int) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self.become_worker(index, ours, theirs)
        theirs.close()
        self.workers[index] = Worker(index, pid, ours)
        self.listen_to(self.workers[index])

    def become_worker(self, index: int, ours: socket.socket, theirs: socket.socket) -> None:
        """Never returns. What the front holds is none of a worker's: a connection ends when nobody has a handle of it."""
        code = 1
        try:
            for name in (signal.SIGINT, signal.SIGTERM):
                signal.signal(name, signal.SIG_IGN)
            ours.close()
            self.selector.close()
            self.listener.close()
            for held in self.held.values():
                held.handle.close()
            for other in self.workers.values():
                other.control.close()
            self.work(index, theirs)
            code = 0
        except BaseException as error:  # noqa: BLE001 - a forked process must not go on as its parent
            print(f"shopwright: a worker failed: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)

    def bury_the_dead(self) -> None:
        for worker in list(self.workers.values()):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self.bury(worker, os.waitstatus_to_exitcode(status))

    def bury(self, worker: Worker, code: int) -> None:
        """What is left of a worker that has ended: told, handed to others, replaced."""
        if worker.control in self.selector.get_map():
            self.hear(worker, 0)  # of connections that it has closed before
        if worker.control in self.selector.get_map():
            self.selector.unregister(worker.control)
        worker.control.close()
        del self.workers[worker.index]
        unread = []
        for number in worker.held:
            if number in worker.waiting or self.is_unread(number):
                unread.append(number)
            else:
                self.tell_lost(number)
        if self.stops:
            return
        self.metrics.count_replaced(worker.pid)
        self.deaths.append(time.monotonic())
        if len(self.deaths) == DEATHS and self.deaths[-1] - self.deaths[0] < DEATHS:
            print(f"shopwright: {DEATHS} workers died within {DEATHS} seconds. The server stops.", file=sys.stderr)
            self.failed, self.stops = True, self.stops + 1
            return
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        lost = len(worker.held) - len(unread)
        print(f"A worker died ({how}) with {lost} connections. Another takes its place.", file=sys.stderr, flush=True)
        self.start_worker(worker.index)
        for number in unread:
            self.hand_to(self.workers[worker.index], number)

    def is_unread(self, number: int) -> bool:
        """Whether nobody has read its request yet, so that another worker can answer it."""
        try:
            return bool(re.match(rb"[A-Z]+ /", self.held[number].handle.recv(16, socket.MSG_PEEK)))
        except OSError:
            return False

    def tell_lost(self, number: int) -> None:
        held = self.held[number]
        if held.talks:
            with contextlib.suppress(OSError):
                held.handle.send(RESTART)
        with contextlib.suppress(OSError):
            held.handle.shutdown(socket.SHUT_WR)
            while held.handle.recv(65_536):  # what is unread would turn the end into a reset, and the reason be lost
                pass
        self.forget(number)

    # The end

    def hear_signal(self, number: int, frame: FrameType | None) -> None:
        self.stops += 1

    def begin_stop(self) -> None:
        """No new connections; the workers end the episodes that are under way, at most for the grace."""
        self.selector.unregister(self.listener)
        self.listener.close()
        for number in list(self.new):
            self.selector.unregister(self.held[number].handle)
            self.forget(number)
        self.new.clear()
        for worker in self.workers.values():
            with contextlib.suppress(OSError):
                worker.control.send(NUMBER.pack(STOP))
        signal.signal(signal.SIGALRM, self.hear_signal)
        signal.setitimer(signal.ITIMER_REAL, self.grace + 10)

    def kill_all(self) -> None:
        for worker in self.workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)


def open_listener(host: str, port: int, backlog: int = 4_096) -> socket.socket:
    """Raises Problem where the address cannot be listened on."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        raise Problem(
            f"Cannot listen on {host}:{port}: {getattr(error, 'strerror', None) or error}. Choose another --port."
        ) from None
    found.listen(backlog)
    return found


def raise_file_limit() -> int:
    """As many open files as this machine allows; each connection takes one here and one in a worker."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1_000_000
