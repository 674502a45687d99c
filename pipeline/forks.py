"""Workers forked from a process that has learnt what they need, which they share with it in memory instead of learning it each.

    this process  -- asks -->  origin  -- forks -->  worker, worker, ...
                  -- calls, a pipe for each worker -->

The origin has one thread, since what other threads hold is not there any more in a process that was forked.
"""

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.pool import ExceptionWithTraceback  # type: ignore[attr-defined]
from multiprocessing.reduction import recv_handle, send_handle
from threading import Lock
from time import monotonic
from typing import Any

from shopwright.pipeline.problem import STOPS, Ended, finish_before_stopping
from shopwright.pipeline.rubbish import look_rarely
from shopwright.pipeline.runners import TRIES, end_fork_server, get_fork_server
from shopwright.pipeline.sandbox.kernel import die_with_parent

# What an origin is sent to fork, in place of a call.
FORK = None
# Seconds that a system can wait for.
LONGEST = 2_000_000.0
# Seconds that what forks has to answer: at first it imports all that builds need, from a slow disk of a busy machine.
TO_ANSWER = 120.0
# Seconds from a look at it to the next.
TO_LOOK = 0.1
# Seconds that workers whose pipe is closed have to end by themselves.
TO_END = 5.0


class Worker:
    """A process that makes what it is called for, one call after the other."""

    def __init__(self, pipe: Connection, pid: int) -> None:
        self.pipe, self.pid, self.ended = pipe, pid, False

    def call(self, seconds: float, function: Callable[..., Any], *given: Any) -> Any:
        """What the function gives, and raises what it raises; BrokenProcessPool where the process ended, which it does after so many seconds."""
        try:
            self.pipe.send((function, given))
            if not self.pipe.poll(min(seconds, LONGEST)):
                self.end()
            good, found = self.pipe.recv()
        except (EOFError, OSError):
            self.ended = True
            raise BrokenProcessPool(f"Process {self.pid} was ended.") from None
        except Exception as error:  # noqa: BLE001  (what cannot be read back raises many)
            raise cannot_pass(error) from None
        if good:
            return found
        raise found

    def has_ended(self) -> bool:
        """While it is not called: what is there to be read then is the end of its pipe."""
        self.ended = self.ended or self.pipe.poll()
        return self.ended

    def end(self) -> None:
        if not self.ended:  # else its number may be another process's by now
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Origin:
    """The process that workers are forked from; it starts when it is first needed, and again where it was ended from outside."""

    def __init__(self, modules: Iterable[str] = ()) -> None:
        self.modules = modules
        self.process: Any = None
        self.itself: Worker
        self.closed = False
        self.lock, self.hanging_up = Lock(), Lock()

    def learn(self, seconds: float, function: Callable[..., Any], *given: Any) -> None:
        """Calls this there. What it raises, or is ended by, the workers' own calls will tell."""
        with self.lock, suppress(Exception):
            self.start()
            self.itself.call(seconds, function, *given)

    @contextmanager
    def start_worker(self) -> Iterator[Worker]:
        """A worker for as long as this is entered; where it is left by an error, what the worker is at is not waited for."""
        worker = self.fork()
        try:
            yield worker
        except BaseException:
            worker.end()
            raise
        finally:
            worker.pipe.close()

    def fork(self) -> Worker:
        """Raises Ended where no process more is allowed, OSError where memory lacks, and BrokenProcessPool where something ends them all."""
        with self.lock:
            for _ in range(TRIES):
                try:
                    self.start()
                    return self.ask_for_worker()
                except (EOFError, ConnectionError, BrokenProcessPool):  # it has just been ended
                    self.wait_for_end()
        raise BrokenProcessPool("The process that workers are forked from was ended, again and again.")

    def ask_for_worker(self) -> Worker:
        mine, theirs = multiprocessing.Pipe()
        with theirs:
            self.itself.pipe.send(FORK)
            send_handle(self.itself.pipe, theirs.fileno(), self.itself.pid)
            if not self.itself.pipe.poll(TO_ANSWER):
                self.itself.end()
            pid = self.itself.pipe.recv()
        if isinstance(pid, BlockingIOError):  # so many that a user may have (ulimit -u), or a container
            raise Ended(
                "This machine allows no process more for another worker. What is finished is kept: run the same command again, "
                "with fewer --workers."
            )
        if isinstance(pid, OSError):
            raise pid
        return Worker(mine, pid)

    def start(self) -> None:
        if not self.closed and (self.process is None or not self.process.is_alive()):
            self.wait_for_end()
            mine, theirs = multiprocessing.Pipe()
            with theirs:
                with end_when_silent():
                    server = get_fork_server(self.modules)
                with end_when_silent():
                    process: Any = server.Process(target=serve_forks, args=(theirs,))
                    process.start()
            self.process, self.itself = process, Worker(mine, process.pid)
        if self.closed:  # by another thread, maybe while it was being started
            raise BrokenProcessPool("What processes are forked from is not needed any more.")

    def end(self) -> None:
        """At once, and with it what was forked."""
        process = self.process  # another thread may wait for its end, too
        if process is not None and process.is_alive():
            self.itself.end()

    def close(self) -> None:
        """From now on it starts no more, whichever thread may still ask."""
        self.closed = True
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Of it, and of what was forked; it is ended where it was stopped, and so is what should tell of its end."""
        process = self.process  # another thread may do the same
        if process is not None:
            with self.hanging_up:  # two at once would close its number twice, by then maybe another file's
                self.itself.pipe.close()
            try:
                process.join(2 * TO_END)
                for end in (self.end, end_fork_server):
                    if process.is_alive():
                        end()
                        process.join(TO_END)
            except BaseException:  # asked to stop meanwhile: Python would wait for it in the end, without a limit
                self.itself.end()
                end_fork_server()
                raise
            self.process = None


@contextmanager
def end_when_silent() -> Iterator[None]:
    """Ends the server of forks where it does not answer for so long, where it may not because of a stop, and at an error: Python waits for it without a limit."""
    done = threading.Event()

    def watch() -> None:
        end = monotonic() + TO_ANSWER
        while not done.wait(TO_LOOK):
            if STOPS or monotonic() > end:
                end_fork_server()

    threading.Thread(target=watch, daemon=True).start()
    try:
        with finish_before_stopping():  # else what is being started is not known yet, and would stay
            yield
    except BaseException:
        end_fork_server()  # one that was stopped would stay so
        raise
    finally:
        done.set()


def serve_forks(control: Connection) -> None:
    """The life of an origin: it learns, and forks, until nobody can ask any more."""
    look_rarely()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The server of forks ends with the last process that holds this: with who asks, and then ends all, even what was stopped.
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    end_with_parent()
    parent = multiprocessing.parent_process()
    fork = multiprocessing.get_context("fork")
    with suppress(EOFError, OSError):
        while True:
            if asked := control.recv():
                answer(control, *asked)
                gc.collect()
                continue
            with Connection(recv_handle(control)) as pipe:
                gc.freeze()  # else looking for rubbish would write to, and so copy, each page
                process = fork.Process(target=work, args=(pipe, control, parent and parent.sentinel))
                try:
                    process.start()
                except OSError as error:
                    control.send(error)
                else:
                    control.send(process.pid)
    end = monotonic() + TO_END
    for child in multiprocessing.active_children():
        child.join(max(0.0, end - monotonic()))
        child.kill()


def work(pipe: Connection, control: Connection, parent: int | None) -> None:
    """The life of a worker: it ends with those who call it."""
    control.close()
    end_with_parent()
    origin = multiprocessing.parent_process()
    ends = [end for end in (parent, origin.sentinel if origin else None) if end is not None]
    threading.Thread(target=lambda: wait(ends) and os._exit(1), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            answer(pipe, *pipe.recv())


def end_with_parent() -> None:
    """Where the kernel can; elsewhere a process that was stopped has to be continued before it ends."""
    with suppress(OSError, AttributeError):
        die_with_parent()


def answer(pipe: Connection, function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Sends whether the call was good, and what it gave or raised."""
    reply: tuple[bool, Any]
    try:
        reply = True, function(*given)
    except BaseException as error:  # noqa: BLE001  (whatever it is, the caller is told)
        reply = False, ExceptionWithTraceback(error, error.__traceback__)
    try:
        pipe.send(reply)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001  (what cannot be pickled raises many)
        pipe.send((False, cannot_pass(error)))


def cannot_pass(error: Exception) -> Ended:
    return Ended(f"What a worker gave or raised cannot be passed on: {error}")
