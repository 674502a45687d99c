"""Blocks of code from outside: what they print, how they are kept apart, and what happens when processes go away."""

import asyncio
import ctypes
import errno
import gc
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from ast import literal_eval
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.sandbox.execute import Limits
from shopwright.pipeline.sandbox.interpreter import MOST_PROCESSES, Block, Sandbox
from shopwright.schemas.samples import Event

LIMITS = Limits(cpu=2, wall=5.0, shown=200)
BEGIN = "from data_loader import load_trajectory\nconn, df = load_trajectory({id!r})\n"


def events(id):
    if id == "nobody":
        raise Problem("There is no trajectory nobody.")
    if id == "broken":
        raise ZeroDivisionError("no events today")
    row = dict.fromkeys(arrow_schema(Event).names) | {"timestamp": datetime(2026, 1, 2)}
    rows = [row | {"row_id": n, "action_type": "purchase", "brand": id, "price": Decimal(n)} for n in range(20)]
    return pa.Table.from_pylist(rows, schema=arrow_schema(Event))


def opened(**settings):
    box = Sandbox(events, **{"limits": LIMITS, **settings})
    try:
        box.run("one", "1")
    except Problem as problem:
        pytest.skip(str(problem))
    return box


@pytest.fixture(scope="module")
def sandbox():
    with opened(at_once=4) as box:
        yield box


@pytest.fixture
def run(sandbox):
    return lambda code: sandbox.run("one", code)


# What is printed


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("1 + 1", "2"),
        ("'text'", "text"),
        ("None", ""),
        ("x = 1", ""),
        ("", ""),
        ("   \n\n", ""),
        ("# only a comment", ""),
        ("1; 2;", "2"),
        ("x = 3\nx\n# the end", "3"),
        ("print(1)\n2", "1\n2"),
        ("if True:\n    5", ""),
        ("def f(): return 7\nf()", "7"),
        ("import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)", "1\n2\n3"),
        ("```python\n1 + 1\n```", "2"),
        ("```py\n1 + 1\n```\n", "2"),
        ("```\n1 + 1\n```", "2"),
        ("import pandas as pd\npd.DataFrame({'a': [1]})", "   a\n0  1"),
        ("```sql\nSELECT COUNT(*) AS n, MIN(brand) AS b FROM events;\n```", "n | b\n20 | one\n(1 rows)"),
        ("```SQL\nSELECT color FROM events LIMIT 1\n```", "color\nNULL\n(1 rows)"),
        (BEGIN.format(id="one") + "df['price'].sum(), conn.execute('SELECT SUM(price) FROM events').fetchall()",
         "(Decimal('190.00'), [(Decimal('190.00'),)])"),
        ("import os\nos.getcwd()", "/scratch"),
    ],
)  # fmt: skip
def test_what_is_printed_and_the_last_expression(run, code, text):
    found = run(code)
    assert (found.text, found.ok) == (text, True)


def test_of_long_output_the_beginning_and_the_end_are_shown(run):
    found = run("print('a' * 500 + 'z' * 500)")
    assert found.ok
    assert found.text.startswith("a" * 150 + "\n[... 801 of 1,001 characters are not shown ...]\n")
    assert found.text.endswith("z" * 49)


def test_a_traceback_has_the_lines_of_the_block_and_no_path(run):
    found = run("import pandas as pd\ndef f():\n    return pd.DataFrame()['nope']\nf()")
    assert not found.ok
    assert found.text.splitlines()[:5] == [
        "Traceback (most recent call last):",
        "  line 4, in <module>",
        "    f()",
        "  line 3, in f",
        "    return pd.DataFrame()['nope']",
    ]
    assert found.text.endswith("KeyError: 'nope'")
    assert "/" not in found.text
    assert "/" not in run("from pandas import nope").text.replace("pandas/__init__.py", "")


def test_a_syntax_error_shows_its_line(run):
    found = run("x = 1\ny = = 2")
    assert (found.ok, "y = = 2" in found.text, "SyntaxError: invalid syntax" in found.text) == (False, True, True)


def test_there_is_no_state_between_blocks(run):
    assert run("x = 1\nimport json\njson.x = 2\nopen('f', 'w').close()").ok
    assert "NameError" in run("x").text
    assert run("import json, os\nhasattr(json, 'x'), os.listdir('.')").text == "(False, [])"


def test_a_block_says_the_same_each_time_and_everywhere(run):
    code = BEGIN.format(id="one") + (
        "import random\nprint({'a', 'b', 'c', 'd'}, hash('a'), conn, object())\n"
        "print(random.random(), df.sample(3)['row_id'].tolist(), conn.execute('SELECT random()').fetchone())"
    )
    first = run(code)
    assert first.ok
    assert run(code) == first
    with opened() as other:
        assert other.run("one", code) == first


def test_what_was_printed_before_the_end_is_kept(run):
    assert run("print('begun')\nimport ctypes\nctypes.string_at(0)").text == "begun\n[stopped: segmentation fault]"
    whiles = run("print('begun')\nwhile True: pass").text
    assert whiles in (f"begun\n[stopped: more than {why}]" for why in ("2 seconds of processor time", "5 seconds"))


def test_a_wrong_id_is_a_mistake_of_the_block(run):
    assert (
        "FileNotFoundError: There is no trajectory 'two' here. This question is about 'one'."
        in run(BEGIN.format(id="two")).text
    )


def test_a_block_too_long_is_not_run(run):
    assert run("#" * 32_000).ok
    assert run("#" * 32_001).text == "Error: a block of more than 32,000 characters."


# Threads


def test_threads_and_pools_work_and_what_still_runs_is_waited_for(run):
    code = """
        import threading, time
        from concurrent.futures import ThreadPoolExecutor
        found, local = [], threading.local()
        threads = [threading.Thread(target=found.append, args=(n,)) for n in range(8)]
        for each in threads: each.start()
        for each in threads: each.join()
        with ThreadPoolExecutor(4) as pool: print(sorted(found), list(pool.map(abs, [-1, -2, -3])))
        ThreadPoolExecutor(1).submit(lambda: (time.sleep(0.1), print("late")))
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    """
    found = run(textwrap.dedent(code))
    assert (found.text, found.ok) == ("[0, 1, 2, 3, 4, 5, 6, 7] [1, 2, 3]\nlate", True)


def test_an_error_of_a_thread_is_printed_and_the_block_goes_on(run):
    code = "import threading\ndef bad(): 1 / 0\nfor act in (bad, exit):\n    one = threading.Thread(target=act)\n    one.start()\n    one.join()\n7"
    found = run(code)
    assert (found.text.splitlines()[-2:], found.ok) == (["ZeroDivisionError: division by zero", "7"], True)
    assert "/" not in found.text.replace("1 / 0", "")


def test_no_more_threads_begin_than_it_may(sandbox):
    code = "import threading\nn = 0\nwhile True:\n    one = threading.Thread(target=int)\n    one.start()\n    one.join()\n    n += 1"
    with Sandbox(events, limits=Limits(threads=3)) as box:
        assert box.run("one", code.replace("n += 1", "n += 1; print(n)")).text.startswith("1\n2\n3\nTraceback")
        assert "RuntimeError: can't start new thread" in box.run("one", code).text
        assert box.run("one", "1").text == "1"


def test_where_something_else_listens_to_system_calls_there_are_no_threads(x86, sandbox):
    """As in a container whose runtime watches some of them; the kernel allows one listener."""
    with script(
        """
        from shopwright.pipeline.sandbox import kernel
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        kernel.install_filter(struct.pack("<HBBI", 0x06, 0, 0, kernel.ALLOW), kernel.WITH_LISTENER)
        with Sandbox(events) as box:
            print(box.run("one", "import threading\\nthreading.Thread(target=int).start()").text.splitlines()[-1])
            print(box.run("one", BEGIN.format(id="one") + "len(df)").text)
        """
    ) as process:
        assert process.stdout.read().splitlines() == ["RuntimeError: can't start new thread", "20"]


# Several at a time


def test_a_trajectory_that_is_not_there_is_a_problem_of_its_own(sandbox, run):
    other = sandbox.submit("broken", "1")
    with pytest.raises(Problem, match="nobody"):
        sandbox.run("nobody", "1")
    with pytest.raises(ZeroDivisionError):
        other.result()
    assert run("1").text == "1"


def test_many_threads_get_their_own_answers(sandbox):
    found = {}

    def ask(n):
        found[n] = sandbox.run(f"t{n % 3}", BEGIN.format(id=f"t{n % 3}") + f"df['brand'][0], {n}").text

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {n: f"('t{n % 3}', {n})" for n in range(16)}


def test_blocks_run_at_the_same_time(sandbox):
    sandbox.run("one", "1")
    block = "import time\nbegan = time.monotonic()\ntime.sleep(0.5)\nbegan, time.monotonic()"
    futures = [sandbox.submit("one", block) for _ in range(4)]
    spans = sorted(literal_eval(future.result().text) for future in futures)
    assert any(later < end for (_, end), (later, _) in pairwise(spans)), "one after the other"


def test_blocks_at_the_same_time_have_folders_of_their_own(sandbox):
    slow = "import os, time\nopen('mine', 'w').close()\ntime.sleep(0.4)\nos.listdir('/scratch')"
    first = sandbox.submit("one", slow)
    time.sleep(0.15)
    assert sandbox.run("one", "import os\nopen('other', 'w').close()\nos.listdir('/scratch')").text == "['other']"
    assert first.result().text == "['mine']"


def test_blocks_can_be_awaited_and_given_up(sandbox):
    async def ask():
        slow = asyncio.wrap_future(sandbox.submit("one", "import time\ntime.sleep(0.3)"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow, 0.05)
        several = [asyncio.wrap_future(sandbox.submit("one", str(n))) for n in range(8)]
        several[5].cancel()
        return await asyncio.gather(*several, return_exceptions=True)

    found = asyncio.run(ask())
    assert [each.text for n, each in enumerate(found) if n != 5] == [str(n) for n in range(8) if n != 5]
    assert isinstance(found[5], CancelledError | asyncio.CancelledError)


def test_more_trajectories_than_are_held_ready(sandbox):
    for _ in range(2):
        for n in range(MOST_PROCESSES + 3):
            assert sandbox.run(f"many{n}", BEGIN.format(id=f"many{n}") + "df['brand'][0]").text == f"many{n}"
    assert len(sandbox.links) <= MOST_PROCESSES


# Processes that go away


def children(pid):
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def family(pid):
    return [pid, *(each for child in children(pid) for each in family(child))]


def gone(pids, seconds=5.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
        time.sleep(0.02)
    return [pid for pid in pids if Path(f"/proc/{pid}/exe").exists()]


@pytest.mark.parametrize(
    "which", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow), 3]
)
def test_after_any_of_its_processes_is_killed_the_next_call_works(which):
    with opened() as box:
        waiting = box.submit("one", "import time\ntime.sleep(0.4)\n'done'")
        time.sleep(0.15)
        os.kill(family(box.process.pid)[which], signal.SIGKILL)
        assert waiting.result(10).text in ("done", "[stopped: the sandbox's process ended]")
        assert box.run("one", "1").text == "1"
        assert box.run("two", "2").text == "2"


def test_a_block_ends_with_the_process_of_its_trajectory():
    with opened(limits=replace(LIMITS, wall=3_600)) as box:
        waiting = box.submit("one", "import time\ntime.sleep(3_600)")
        time.sleep(0.3)
        *_, trajectory, block = family(box.process.pid)
        os.kill(trajectory, signal.SIGKILL)
        assert gone([block], 60) == []
        waiting.cancel()


def test_without_work_for_a_while_its_processes_end_and_begin_again_with_it():
    with opened(rest=0.3) as box:
        there = family(box.process.pid)
        assert gone(there) == []
        assert box.run("one", "1").text == "1"


@pytest.mark.parametrize("error", [SystemExit, CancelledError, Problem])
def test_whatever_a_trajectorys_events_raise_is_told_to_who_waits_for_it(error):
    def raises(id):
        if id == "bad":
            raise error
        return events(id)

    with opened() as box:
        box.events = raises
        with pytest.raises(error):
            box.submit("bad", "1").result(60)
        assert box.submit("two", "1").result(60).text == "1"


def test_an_error_of_the_sandbox_itself_is_told_to_all_that_wait_but_for_those_that_gave_up():
    with opened(rest=0.1) as box:
        while box.thread is not None:
            time.sleep(0.01)
        gave_up, waits = Future(), Future()
        gave_up.cancel()
        box.waiting.extend(Block("one", "1", each) for each in (gave_up, waits))
        box.fail(OSError("no memory"))
        box.waiting.clear()
    assert gave_up.cancelled()
    with pytest.raises(OSError, match="no memory"):
        waits.result(0)


def test_a_process_that_is_killed_as_it_begins_is_begun_again(monkeypatch):
    begun = []

    class Killed(subprocess.Popen):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            begun.append(self)
            if len(begun) == 1:
                self.kill()

    with opened(rest=0.1) as box:
        while box.thread is not None:
            time.sleep(0.01)
        monkeypatch.setattr(subprocess, "Popen", Killed)
        assert box.run("one", "1").text == "1"
    assert len(begun) == 2


def test_what_the_machine_lacks_to_begin_it_is_told_as_it_is_and_leaves_nothing_open(monkeypatch):
    with opened(rest=0.1) as box:
        while box.thread is not None:
            time.sleep(0.01)
        box.pause = 60

        def lacks(*_, **__):
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(subprocess, "Popen", lacks)
        there = set()
        for _ in range(3):
            with pytest.raises(OSError, match="Too many open files"):
                box.run("one", "1")
            there.add(len(os.listdir("/proc/self/fd")))
        assert len(there) == 1


def test_without_work_it_can_be_forgotten_with_all_that_it_knows():
    """A process that builds run after run has one of each run."""
    box = opened(rest=0.1)
    for _ in range(2):
        assert box.run("one", "1").text == "1"
        while box.thread is not None:
            time.sleep(0.01)
    there, box = weakref.ref(box), None
    gc.collect()
    assert there() is None


def test_while_a_block_runs_nothing_rests():
    with opened(rest=0.1) as box:
        assert box.run("one", "import time\ntime.sleep(0.6)\n'done'").text == "done"


def test_closing_ends_all_processes_and_says_so_to_who_waits():
    box = opened(at_once=2, limits=replace(LIMITS, wall=3_600))
    futures = [box.submit("one", "import time\ntime.sleep(3_600)") for _ in range(4)]
    while len(pids := family(box.process.pid)) < 6:
        time.sleep(0.02)
    box.close()
    for future in futures:
        with pytest.raises(CancelledError):
            future.result(0)
    assert gone(pids, 0) == []
    box.close()
    with pytest.raises(RuntimeError):
        box.run("one", "1")


def test_closing_at_once_never_waits():
    for _ in range(200):
        box = Sandbox(events)
        future = box.submit("nobody", "1")
        with pytest.raises(Problem):
            future.result()
        box.close()


def script(code, **settings):
    text = "from tests.sandbox.test_interpreter import *\n" + textwrap.dedent(code)
    here = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", text], cwd=here, stdout=subprocess.PIPE, text=True, env=os.environ | settings
    )


def test_when_its_parent_is_killed_nothing_is_left(sandbox):
    with script(
        """
        box = Sandbox(events)
        box.run("one", "1")
        for _ in range(2): box.submit("one", "while True: pass")
        time.sleep(0.2)
        print(*family(box.process.pid), flush=True)
        time.sleep(60)
        """
    ) as process:
        pids = [int(each) for each in process.stdout.readline().split()]
        process.kill()
        assert len(pids) == 6
        assert gone(pids) == []


# Machines that lack something


def deny(*calls):
    """From here on these system calls of this process are refused: pairs of a number and a first argument or None."""
    lines = [struct.pack("<HBBI", 0x20, 0, 0, 0)]
    for number, first in calls:
        test = [struct.pack("<HBBI", 0x06, 0, 0, 0x00050001)]
        if first is not None:
            test = [struct.pack("<HBBI", 0x20, 0, 0, 16), struct.pack("<HBBI", 0x15, 0, 1, first), *test]
            test += [struct.pack("<HBBI", 0x20, 0, 0, 0)]
        lines += [struct.pack("<HBBI", 0x15, 0, len(test), number), *test]
    code = b"".join([*lines, struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)])
    held = ctypes.create_string_buffer(code)
    told = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.c_char_p(told), 0, 0) == 0


DENIED = {
    "namespaces": ((272, None),),
    "landlock": ((444, None),),
    "seccomp": ((317, 1),),
    "limits": ((302, None), (160, None)),
}


@pytest.fixture
def x86():
    if os.uname().machine != "x86_64":
        pytest.skip("system calls by number")


@pytest.mark.parametrize("means", ["landlock", "seccomp", "limits"])
def test_where_a_means_is_missing_it_refuses_and_says_what_to_do(x86, sandbox, means):
    with script(
        f"""
        deny(*{DENIED[means]})
        from shopwright.pipeline.sandbox.interpreter import require_means
        for act in (require_means, lambda: Sandbox(events).run("one", "1")):
            try: act()
            except Problem as problem: print(problem)
        """
    ) as process:
        said = process.stdout.read()
    first, second = said.splitlines()
    assert first == second
    assert f"it lacks {means} (" in said
    assert "Operation not permitted" in said or "not in this kernel" in said
    assert f"SHOPWRIGHT_SANDBOX_WITHOUT={means}" in said


@pytest.mark.parametrize(
    "means", ["namespaces", *(pytest.param(each, marks=pytest.mark.slow) for each in ("landlock", "seccomp"))]
)
def test_where_it_goes_without_the_other_walls_stand(x86, sandbox, means):
    """Namespaces need not be waived."""
    with script(
        f"""
        deny(*{DENIED[means]})
        tried = '''
        import os, socket
        def no(act):
            try: act()
            except OSError: return True
            return False
        print(no(lambda: open("/etc/passwd")), no(lambda: socket.create_connection(("127.0.0.1", 1))), no(lambda: open("/x", "w").write("a")))
        print({means!r} == "seccomp" or no(os.fork), open("x", "w").write("a") if {means!r} != "namespaces" else no(lambda: open("x", "w")))
        '''
        import textwrap
        with Sandbox(events, limits=LIMITS) as box:
            print(box.run("one", textwrap.dedent(tried)).text)
            print(box.run("one", BEGIN.format(id="one") + "len(df)").text)
            pids = family(box.process.pid)
        print(gone(pids))
        """,
        SHOPWRIGHT_SANDBOX_WITHOUT="" if means == "namespaces" else means,
    ) as process:
        last = "True" if means == "namespaces" else "1"
        assert process.stdout.read().splitlines() == ["True True True", f"True {last}", "20", "[]"]


@pytest.mark.slow
def test_the_attacks_find_nothing_more_where_there_are_no_namespaces(x86, sandbox):
    code = f"""
    deny(*{DENIED["namespaces"]})
    os.environ.pop("PYTEST_XDIST_WORKER", None)  # so that it looks anew for what is missing
    sys.exit(pytest.main(["-p", "no:cacheprovider", "-m", "not slow", "tests/sandbox/test_hostile.py"]))
    """
    with script(code) as process:
        said = process.stdout.read()
    assert process.returncode == 0, said
    assert re.search(r"\b1\d\d passed, 3 skipped", said), said
