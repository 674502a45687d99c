"""A shard that hangs, or whose process is killed, is made again by another process, and no other shard with it."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import forkserver
from pathlib import Path

import pytest

from shopwright.flows.build import worth_another_try
from shopwright.pipeline import forks as forks_module
from shopwright.pipeline import worker_pool as hands_module
from shopwright.pipeline.forks import Origin, Worker
from shopwright.pipeline.problem import STOPS, Ended, Problem, stop
from shopwright.pipeline.runners import end_fork_server, get_fork_server, list_orphans, open_process_pool
from shopwright.pipeline.worker_pool import (
    ShardTimeout,
    WorkerDied,
    WorkerPool,
    run_here,
    run_with_deadline,
    seconds_for,
)


def test_a_call_in_time_gives_what_it_made_and_its_clock_is_off():
    with open_process_pool(1) as executor:
        assert executor.submit(run_with_deadline, 0.5, sum, (1, 2)).result() == 3
        executor.submit(time.sleep, 1).result()


def test_workers_start_for_a_script_that_comes_through_a_pipe(tmp_path):
    code = """from shopwright import build
if __name__ == "__main__":
    print(len(build("catalog", "run", products=3200, workers=2)))
"""
    words, pipe = [sys.executable, "-"], {"input": code, "capture_output": True, "text": True}
    done = subprocess.run(words, cwd=tmp_path, check=False, **pipe)
    assert (done.returncode, done.stdout) == (0, "3200\n"), done.stderr


def test_a_process_whose_call_takes_too_long_ends_even_inside_a_library():
    with pytest.raises(Ended), open_process_pool(1) as executor:
        executor.submit(run_with_deadline, 0.3, time.sleep, 60).result()  # sleep gives Python nothing to interrupt


def test_limits_differ_by_stage_and_can_be_given():
    assert seconds_for("embeddings") > seconds_for("personas") == 3600
    assert seconds_for("embeddings", 0.5) == seconds_for("personas", 0.5) == 30


@contextlib.contextmanager
def a_pool(workers, learn=int, *given, seconds=60):
    with closing(Origin()) as origin, WorkerPool(origin).lend(workers, seconds, learn, *given) as pool:
        yield pool


def stop_myself():
    os.kill(os.getpid(), signal.SIGSTOP)


def kill_myself():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("seconds", "function", "given", "error", "said"),
    [
        (0.3, time.sleep, (60,), ShardTimeout, "toys 3 took longer than 0.005 minutes"),
        (0.3, stop_myself, (), ShardTimeout, "toys 3 took longer than 0.005 minutes"),
        (30, kill_myself, (), WorkerDied, "over toys 3"),
    ],
    ids=["hangs", "is stopped", "is killed"],
)
def test_a_process_that_does_not_come_back_is_replaced_and_takes_no_other_shard_with_it(
    seconds, function, given, error, said, monkeypatch
):
    monkeypatch.setattr(hands_module, "GRACE", 0.3)
    with ThreadPoolExecutor(1) as threads, a_pool(2) as found:
        other = threads.submit(found.make, "toys 4", 60, slowly, 1.2)
        while found.idle.qsize() == 2:
            time.sleep(0.01)
        with pytest.raises(error, match=said):
            found.make("toys 3", seconds, function, *given)
        assert found.make("toys 3", 60, sum, (1, 2)) == 3
        assert other.result() == 1.2
        assert found.idle.qsize() == 2


def slowly(seconds):
    time.sleep(seconds)
    return seconds


def tell_and_sleep(begun, seconds):
    begun.touch()
    time.sleep(seconds)


def fails():
    raise TimeoutError("of its own")


def test_what_a_shard_raises_is_raised_and_its_process_stays():
    with a_pool(1) as found:
        first = found.make("toys 0", 60, os.getpid)
        with pytest.raises(TimeoutError, match="of its own"):
            found.make("toys 0", 60, fails)
        assert found.make("toys 0", 60, os.getpid) == first


def test_a_stop_waits_for_processes_that_begin(monkeypatch):
    begun = []

    class Stopped(Origin):
        def fork(self):
            stop(signal.SIGTERM, None)
            begun.append(super().fork())
            return begun[-1]

    try:
        with pytest.raises(KeyboardInterrupt), closing(Stopped()) as origin, WorkerPool(origin).lend(2, 60, int):
            raise AssertionError("it went on")
    finally:
        STOPS.clear()
    assert len(begun) == 2


KNOWN = []


def learn_more(*what):
    KNOWN.extend(what)


def tell_known():
    return KNOWN


def test_workers_know_what_was_learnt_for_theirs_and_for_earlier_datasets_and_end_with_theirs():
    with closing(Origin()) as origin:
        pool = WorkerPool(origin)
        with pool.lend(2, 60, learn_more, "shop") as found:
            first = found.make("toys 0", 60, os.getpid)
            assert found.make("toys 1", 60, tell_known) == ["shop"]
        with pool.lend(1, 60, learn_more, "nothing: it is alone") as found:
            assert found.make("cars 0", 60, tell_known) == ["shop"]
        with pool.lend(2, 60, learn_more, "people") as found:
            assert found.make("dolls 0", 60, os.getpid) != first
            assert found.make("dolls 0", 60, tell_known) == ["shop", "people"]
    assert KNOWN == []
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


@pytest.mark.parametrize("learn", [fails, kill_myself, stop_myself, slowly], ids=lambda learn: learn.__name__)
def test_what_cannot_be_learnt_ends_no_build(learn, monkeypatch):
    monkeypatch.setattr(hands_module, "GRACE", 0.3)
    with a_pool(2, learn, *([60] if learn is slowly else []), seconds=0.3) as found:
        assert found.make("toys 0", 60, sum, (1, 2)) == 3


def test_an_origin_that_is_killed_takes_its_workers_along_and_others_make_their_shards(tmp_path):
    begun = tmp_path / "begun"
    with ThreadPoolExecutor(1) as threads, a_pool(4) as found:
        other = threads.submit(found.make, "toys 4", 60, tell_and_sleep, begun, 20)
        while not begun.exists():  # one that is lent and not called yet would be replaced, as if it had been idle
            time.sleep(0.01)
        found.origin.end()
        assert isinstance(other.exception(), WorkerDied)
        # Those that were idle are no fault of the shards that come next.
        wait_for_ends(found, 3)  # one was replaced
        assert [found.make("toys 1", 60, sum, (1, 2)) for _ in range(4)] == [3] * 4
        assert found.idle.qsize() == 4


def wait_for_ends(pool, count):
    """Of so many idle workers, of those that the kernel ends a little after what they were forked from."""
    idle = [pool.idle.get() for _ in range(pool.size)]
    while sum(worker.has_ended() for worker in idle) < count:
        time.sleep(0.01)
    for worker in idle:
        pool.idle.put(worker)


@pytest.mark.parametrize("stopped", ["origin", "server"])
def test_what_workers_are_forked_from_is_replaced_where_it_does_not_answer(stopped, monkeypatch):
    monkeypatch.setattr(forks_module, "TO_ANSWER", 10.0)  # on a busy machine one that is well answers late, too
    monkeypatch.setattr(forks_module, "TO_END", 0.3)
    with a_pool(2) as found:
        server = forkserver._forkserver._forkserver_pid
        os.kill(found.origin.itself.pid if stopped == "origin" else server, signal.SIGSTOP)
        if stopped == "server":
            os.kill(found.origin.itself.pid, signal.SIGKILL)
        with pytest.raises(WorkerDied):
            found.make("toys 0", 60, kill_myself)
        wait_for_ends(found, 1)
        assert found.make("toys 0", 60, sum, (1, 2)) == 3
        assert found.idle.qsize() == 2


@pytest.mark.parametrize("stopped", ["origin", "server"])
def test_what_is_stopped_when_all_is_done_is_not_waited_for(stopped, monkeypatch):
    monkeypatch.setattr(forks_module, "TO_END", 0.3)
    with a_pool(2) as found:
        process = found.origin.process
        os.kill(process.pid if stopped == "origin" else forkserver._forkserver._forkserver_pid, signal.SIGSTOP)
    assert not process.is_alive()
    with a_pool(1) as found:
        assert found.make("toys 0", 60, sum, (1, 2)) == 3


@pytest.mark.parametrize("stopped", ["origin", "server"])
def test_asked_to_stop_while_it_is_closed_it_waits_for_nothing(stopped, monkeypatch):
    with closing(Origin()) as origin:
        origin.fork().pipe.close()
        process, server = origin.process, forkserver._forkserver._forkserver_pid
        os.kill(process.pid if stopped == "origin" else server, signal.SIGSTOP)
        with monkeypatch.context() as patch:
            patch.setattr(process, "join", lambda seconds: stop(signal.SIGINT, None))
            with pytest.raises(KeyboardInterrupt):
                origin.close()
        STOPS.clear()
        process.join(60)
        assert not process.is_alive()


COMMAND = """
import os, signal, sys
from shopwright.pipeline.__main__ import main
from shopwright.pipeline.runners import forkserver, get_fork_server
get_fork_server()
print(forkserver._forkserver._forkserver_pid, flush=True)
os.kill(forkserver._forkserver._forkserver_pid, signal.SIGSTOP)
sys.exit(main(["list", "--run", sys.argv[1]]))
"""


def test_what_processes_are_forked_from_does_not_outlive_a_command_where_it_was_stopped(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, tmp_path], capture_output=True, text=True, check=False, timeout=60
    )
    place = Path(f"/proc/{done.stdout.split()[0]}/stat")
    assert not place.exists() or place.read_text().rpartition(")")[2].split()[0] == "Z"


class SlowPipe:
    """Counts how often it was really closed."""

    def __init__(self, pipe):
        self.pipe, self.closed = pipe, 0

    def close(self):
        if self.pipe:
            time.sleep(0.2)
            self.closed += 1
            self.pipe = self.pipe.close()


def test_it_may_be_closed_by_two_at_once_and_starts_nothing_afterwards(monkeypatch):
    monkeypatch.setattr(forks_module, "TO_END", 0.3)
    with closing(Origin()) as origin:
        origin.fork().pipe.close()
        process = origin.process
        pipe = origin.itself.pipe = SlowPipe(origin.itself.pipe)
        os.kill(process.pid, signal.SIGSTOP)  # so that both wait for it
        with ThreadPoolExecutor(2) as threads:
            assert [each.result() for each in [threads.submit(origin.close) for _ in range(2)]] == [None, None]
        assert pipe.closed == 1
        assert not process.is_alive()
        with pytest.raises(BrokenProcessPool):
            origin.fork()
        assert origin.process is None


def test_what_is_stopped_before_its_first_step_is_not_waited_for_and_does_not_stay(monkeypatch):
    monkeypatch.setattr(forks_module, "TO_ANSWER", 1.0)
    end_fork_server()  # the next one imports what stops all that it forks
    mark = f"SHOPWRIGHT_STOPPED={os.getpid()}"
    monkeypatch.setenv(*mark.split("="))
    with (
        closing(Origin(["tests.faults.stopped_at_once"])) as origin,
        pytest.raises(BrokenProcessPool, match="again and again"),
    ):
        origin.fork()
    end_fork_server()
    deadline = time.monotonic() + 10
    while (left := list_stopped(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


ASKED = """
import os, signal, time
from multiprocessing import resource_tracker
from shopwright.pipeline.runners import get_fork_server
get_fork_server()
for asked in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    os.kill(resource_tracker._resource_tracker._pid, asked)
time.sleep(0.3)
print(resource_tracker._resource_tracker._check_alive())
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_pythons_own_helper_is_deaf_to_what_asks_a_build_to_stop_and_the_build_is_not():
    """Else it would be there no more when the build ends, and a warning beside the line that says so."""
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\nset()\n", "")


def test_what_is_stopped_does_not_stay_where_what_forked_it_was_killed():
    end_fork_server()
    process = get_fork_server().Process(target=time.sleep, args=(600,))
    process.start()
    os.kill(process.pid, signal.SIGSTOP)
    server = forkserver._forkserver._forkserver_pid
    os.kill(server, signal.SIGKILL)
    os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)
    assert list_orphans() == [process.pid]
    end_fork_server()
    process.join(20)
    assert not process.is_alive()
    deadline = time.monotonic() + 10
    while (left := list_orphans()) and time.monotonic() < deadline:  # its pipe is closed a moment before it is gone
        time.sleep(0.01)
    assert left == []


def list_stopped(mark):
    """The processes that are stopped and have this in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark.encode() in (path / "environ").read_bytes() and "\nState:\tT" in (path / "status").read_text():
                found.append(int(path.name))
    return found


@pytest.mark.parametrize("idle", [False, True])
def test_a_worker_that_has_ended_is_not_killed_again_by_its_number(idle, monkeypatch):
    with a_pool(2) as found:
        worker = found.idle.get()
        if idle:
            os.kill(worker.pid, signal.SIGKILL)
            while not worker.has_ended():
                time.sleep(0.01)
        else:
            with pytest.raises(BrokenExecutor):
                worker.call(60, kill_myself)
        killed = []
        monkeypatch.setattr(os, "kill", lambda pid, how: killed.append(pid))
        worker.end()
        assert killed == []
        monkeypatch.undo()
        found.idle.put(worker)


def allow_no_process():
    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    os.fork = refuse


def test_a_machine_that_allows_no_process_more_is_told():
    with pytest.raises(Ended, match="allows no process more for another worker"), a_pool(2, allow_no_process):
        raise AssertionError("it went on")


class OfTwo(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} {other}")


def raise_what_cannot_be_read_back():
    raise OfTwo(1, 2)


def raise_what_cannot_be_passed_on():
    raise ValueError(lambda: None)


@pytest.mark.parametrize(
    "call",
    [(open, os.devnull), (raise_what_cannot_be_passed_on,), (raise_what_cannot_be_read_back,)],
    ids=["given", "raised", "raised and not read back"],
)
def test_what_cannot_be_passed_on_is_told(call):
    with a_pool(1) as found, pytest.raises(Ended, match="What a worker gave or raised cannot be passed on: "):
        found.make("toys 0", 60, *call)


def test_an_error_ends_what_the_others_are_at():
    with (
        ThreadPoolExecutor(1) as threads,
        contextlib.suppress(Problem),
        a_pool(2) as found,
    ):
        other = threads.submit(found.make, "toys 4", 600, slowly, 600)
        while found.idle.qsize() == 2:
            time.sleep(0.01)
        raise Problem("something else")
    assert isinstance(other.exception(), BrokenExecutor | CancelledError | Ended)


def test_a_worker_that_is_begun_while_another_error_ends_all_does_not_stay(monkeypatch):
    with a_pool(2) as found:

        def ended_meanwhile(worker):
            found.closed = True
            found.origin.end()
            found.stack.pop_all().close()
            return True

        monkeypatch.setattr(Worker, "has_ended", ended_meanwhile)
        with pytest.raises(BrokenExecutor):
            found.make("toys 0", 60, slowly, 3)


def test_a_build_by_one_process_looks_for_rubbish_rarely_and_then_as_before():
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    try:
        assert hands_module.run_here("toys 0", 60, gc.get_threshold)[0] == 100_000
        with pytest.raises(ZeroDivisionError):
            hands_module.run_here("toys 0", 60, divmod, 1, 0)
        assert gc.get_threshold() == (701, 11, 12)
    finally:
        gc.set_threshold(*before)


def test_nothing_is_begun_once_a_build_was_stopped():
    with a_pool(2) as found:
        assert found.idle.qsize() == 2
    with pytest.raises(CancelledError):
        found.make("toys 0", 60, sum, (1, 2))
    assert found.idle.qsize() == 2


class State:
    def __init__(self, result):
        self.found = result

    def result(self, raise_on_failure):
        return self.found


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ShardTimeout("toys 3", 60), True),
        (WorkerDied("toys 3"), True),
        (OSError(), True),
        (Problem(), False),
        (Ended(), False),
        (BrokenExecutor(), False),
        (CancelledError(), False),
    ],
)
def test_what_may_pass_is_tried_again(error, again):
    assert worth_another_try(None, None, State(error)) is again


def loop_for_ever():
    while True:
        pass


def hide_what_ends_it():
    try:
        loop_for_ever()
    except ShardTimeout:
        raise ValueError("an error of a library") from None


@pytest.mark.parametrize("function", [loop_for_ever, hide_what_ends_it])
def test_work_in_the_same_process_that_takes_too_long_is_an_error_that_keeps_what_is_done(function):
    with pytest.raises(
        ShardTimeout, match=r"^a shard took longer than 0\.005 minutes, so it was ended\. What is finished is kept"
    ):
        run_here("a shard", 0.3, function)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert run_here("a shard", 0.3, sum, (1, 2)) == 3
    time.sleep(0.4)  # its clock is off


HANGS = """
import ctypes, signal, sys
from shopwright.pipeline import worker_pool
worker_pool.GRACE = 0.2
def hang():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    libc = (ctypes.PyDLL if sys.argv[1] == "held" else ctypes.CDLL)(None)  # with Python's lock, or without
    libc.pause()
worker_pool.run_here("a shard", 0.3, hang)
"""


def work_for_a_minute(limit):
    run_here("toys 3", limit, time.sleep, min(60, limit / 2))
    time.sleep(60)


@pytest.mark.parametrize("limit", [0.5, 120])
def test_work_in_the_same_process_lets_an_earlier_limit_be_heard(limit):
    """That of a whole release, say, whether it strikes in the work or after it."""

    def hear(*_):
        raise TimeoutError("the whole took too long")

    before = signal.signal(signal.SIGALRM, hear)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1)
        with pytest.raises(TimeoutError, match="the whole"):
            work_for_a_minute(limit)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("lock", "code", "said"), [("free", 3, "a shard took longer"), ("held", 1, "Timeout (")])
def test_a_library_that_never_comes_back_ends_a_build_with_one_worker(lock, code, said):
    done = subprocess.run([sys.executable, "-c", HANGS, lock], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert lock == "held" or done.stderr.count("\n") == 1


def test_a_build_with_one_worker_has_a_clock_and_goes_on_later(tmp_path, monkeypatch, shopwright):
    words = ["build", "personas", "--products", "300", "--count", "12", "--workers", "1", "--run", str(tmp_path)]
    with monkeypatch.context() as patched:
        patched.setattr("shopwright.pipeline.run.make_shard", lambda build, index: loop_for_ever())
        code, _, said = shopwright(*words, "--minutes", "0.005")
    assert code == 3
    assert "error: catalog 0 took longer than 0.005 minutes, so it was ended. What is finished is kept" in said
    assert shopwright(*words)[0] == 0
