"""The processes behind the sandbox: one that has everything imported, one for each trajectory in use, one for each block.

They are copies of each other. A process of a trajectory has read that trajectory and nothing else, and is copied for each block.
It sees neither the code nor the output, which go through pipes of the block's own: so there is nothing of others in a block's
memory. Each message is JSON, with the pipes beside it:

    {"load": 3} + events, socket      a process for this trajectory, to be talked to through that socket
    {"run": 7} + code, output         a block; when it has ended: {"run": 7, "ok": true, "why": ""}
    {"stop": 7}                       ends it
"""

import gc
import json
import mmap
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from shopwright.pipeline.sandbox import execute, kernel
from shopwright.pipeline.sandbox.threads import answer_thread, has_question

MOST_FILES = 4
# Bytes of a message.
LONGEST = 1 << 16
OK, NOT_OK = 0, 1
NEVER = float("inf")


@dataclass
class Running:
    number: int
    pid: int
    deadline: float
    talk: socket.socket
    """What its process sends the listener to its threads through; closed afterwards."""
    listener: int = -1
    threads: int = 0
    why: str = ""


class Server:
    """Copies itself for what it is told, and tells how each copy ended."""

    def __init__(self, talk: socket.socket, connection: Any, limits: execute.Limits, place: execute.BlockPlace) -> None:
        self.talk, self.connection, self.limits, self.place = talk, connection, limits, place
        self.loaded: execute.LoadedTrajectory | None = None
        self.running: dict[int, Running] = {}
        """By the descriptor that becomes readable when it has ended."""

    def serve(self) -> None:
        """Until nobody is there any more."""
        with selectors.DefaultSelector() as self.events:
            self.events.register(self.talk, selectors.EVENT_READ)
            while True:
                for key, _ in self.events.select(self.patience()):
                    if key.fileobj is not self.talk:
                        key.data()
                    elif not self.receive():
                        return
                self.stop_those_late()

    def patience(self) -> float | None:
        first = min((each.deadline for each in self.running.values()), default=NEVER)
        return None if first == NEVER else max(0.0, first - monotonic())

    def receive(self) -> bool:
        text, files, _, _ = socket.recv_fds(self.talk, LONGEST, MOST_FILES)
        if not text:
            return False
        asked = json.loads(text)
        if "stop" in asked:
            for each in self.running.values():
                if each.number == asked["stop"]:
                    self.stop(each, asked["why"])
            return True
        number = asked.get("run", -1)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            pid = os.fork()
            if pid == 0:
                self.serve_in_copy(asked, files, theirs)
        for file in files:
            os.close(file)
        deadline = monotonic() + self.limits.wall if number >= 0 else NEVER
        handle = os.pidfd_open(pid)
        self.running[handle] = Running(number, pid, deadline, ours)
        self.events.register(handle, selectors.EVENT_READ, lambda: self.report_end(handle))
        self.events.register(ours, selectors.EVENT_READ, lambda: self.receive_listener(handle))
        return True

    def receive_listener(self, handle: int) -> None:
        if (one := self.running.get(handle)) is None:  # it ended since the selector looked
            return
        _, files, _, _ = socket.recv_fds(one.talk, LONGEST, 1)
        self.stop_listening(one)
        if files:
            one.listener = files[0]
            self.events.register(one.listener, selectors.EVENT_READ, lambda: self.answer(handle))

    def answer(self, handle: int) -> None:
        if (one := self.running.get(handle)) is None:
            return
        if has_question(one.listener):
            one.threads += 1
            answer_thread(one.listener, one.threads <= self.limits.threads)
        else:
            self.stop_listening(one)

    def stop_listening(self, one: Running) -> None:
        if one.talk.fileno() >= 0:
            self.events.unregister(one.talk)
            one.talk.close()
        if one.listener >= 0:
            self.events.unregister(one.listener)
            os.close(one.listener)
            one.listener = -1

    def serve_in_copy(self, asked: dict[str, Any], files: list[int], threads: socket.socket) -> None:
        """In the copy; never returns."""
        code = NOT_OK
        try:
            kernel.die_with_parent()
            if "load" in asked:
                close_other_files(files)
                events, talk = files
                one = Server(socket.socket(fileno=talk), self.connection, self.limits, self.place)
                one.loaded = execute.LoadedTrajectory(asked["load"], read_events_table(events), self.connection)
                gc.collect()
                gc.freeze()
                one.serve()
                code = OK
            else:
                assert self.loaded is not None
                source, output = files
                os.dup2(output, 1)
                os.dup2(output, 2)
                with open(source, encoding="utf-8") as block:
                    text = block.read()
                close_other_files([threads.fileno()])
                ok = execute.run_block(text, self.loaded, self.limits, self.place, threads)
                with suppress(Exception):
                    sys.stdout.flush()
                    sys.stderr.flush()
                code = OK if ok else NOT_OK
        except BaseException as error:  # noqa: BLE001 - nobody above it could tell
            with suppress(Exception):
                print(f"{type(error).__name__}: {error}", flush=True)
        finally:
            os._exit(code)

    def report_end(self, handle: int) -> None:
        self.events.unregister(handle)
        os.close(handle)
        one = self.running.pop(handle)
        self.stop_listening(one)
        _, status, used = os.wait4(one.pid, 0)
        if one.number < 0:
            return
        why = one.why or self.why_it_ended(status, used.ru_utime + used.ru_stime)
        ok = not why and os.waitstatus_to_exitcode(status) == OK
        with suppress(OSError):  # who asked may have gone
            self.talk.send(json.dumps({"run": one.number, "ok": ok, "why": why}).encode())

    def why_it_ended(self, status: int, seconds: float) -> str:
        """Empty where it ended by itself."""
        if not os.WIFSIGNALED(status):
            return ""
        which = os.WTERMSIG(status)
        if which == signal.SIGKILL and seconds >= self.limits.cpu - 0.5:
            return f"more than {self.limits.cpu} seconds of processor time"
        return f"{signal.strsignal(which) or which}".lower()

    def stop_those_late(self) -> None:
        for each in self.running.values():
            if each.deadline <= monotonic():
                self.stop(each, f"more than {self.limits.wall:g} seconds")

    def stop(self, one: Running, why: str) -> None:
        one.why, one.deadline = one.why or why, NEVER
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)


def close_other_files(files: list[int]) -> None:
    """Closes every other file but the standard ones."""
    first = 3
    for each in [*sorted(files), 1 << 20]:
        os.closerange(first, each)
        first = each + 1


def read_events_table(file: int) -> Any:
    """The events of a trajectory, which lie in memory that others share and none can change."""
    import pyarrow as pa

    size = os.fstat(file).st_size
    held = mmap.mmap(file, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    with pa.ipc.open_stream(pa.py_buffer(held)) as stream:
        return stream.read_all()
