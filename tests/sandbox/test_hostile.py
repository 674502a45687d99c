"""Code that wants out, or wants all: each attack fails, and the next block runs as if it had never been."""

import os
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.sandbox.execute import Limits
from shopwright.pipeline.sandbox.interpreter import Sandbox
from shopwright.pipeline.sandbox.kernel import read_waived_means
from shopwright.schemas.samples import Event

in_namespaces = pytest.mark.skipif("namespaces" in read_waived_means(), reason="what only namespaces do")
BUSY = "[stopped: more than 3 seconds]"
"""Where other programs have the processor, a block that does not end reaches this limit first."""
LIMITS = Limits(cpu=1, wall=3.0, memory=512 << 20, scratch=8 << 20, printed=1 << 16)
SECRET = "nobody-must-read-this"
BEGIN = "from data_loader import load_trajectory\nconn, df = load_trajectory({id!r})\n"


def events(id):
    row = dict.fromkeys(arrow_schema(Event).names)
    when = datetime(2026, 1, 2)
    rows = [
        row | {"row_id": n, "timestamp": when, "action_type": "purchase", "brand": id, "price": Decimal(n)}
        for n in range(20)
    ]
    return pa.Table.from_pylist(rows, schema=arrow_schema(Event))


@pytest.fixture(scope="module")
def sandbox():
    os.environ["SHOPWRIGHT_TEST_SECRET"] = SECRET
    with Sandbox(events, limits=LIMITS, at_once=2) as box:
        try:
            box.run("one", "1")
        except Problem as problem:
            pytest.skip(str(problem))
        box.run("other", BEGIN.format(id="other") + f"mine = {SECRET!r}")
        yield box
    del os.environ["SHOPWRIGHT_TEST_SECRET"]


@pytest.fixture
def run(sandbox):
    """Runs a block; afterwards the next one is an ordinary one."""
    yield lambda code: sandbox.run("one", BEGIN.format(id="one") + code)
    after = sandbox.run(
        "one", BEGIN.format(id="one") + "len(df), conn.execute('SELECT SUM(price) FROM events').fetchone()"
    )
    assert after.text == "(20, (Decimal('190.00'),))"
    assert after.ok


CTYPES = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def refused(code):
    """Prints `no` for each expression that raises or gives less than 0, else what it gave."""
    lines = [
        "import ctypes, os, socket",
        "libc = ctypes.CDLL(None, use_errno=True)",
        "def tried(act):",
        "    try: value = act()",
        "    except BaseException: return 'no'",
        "    return 'no' if isinstance(value, int) and value < 0 else repr(value)",
        *(f"print(tried(lambda: {line}))" for line in code.strip().splitlines()),
    ]
    return "\n".join(lines)


# Files


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/environ", "/proc/{parent}/environ", "/proc/self/mem",
        "/proc/{parent}/mem", "/proc/{parent}/maps", "/proc/sysrq-trigger", "/dev/mem", "/sys/kernel", "/root", "/home", "/tmp", "/",
        "{here}", "../etc/passwd", "/proc/self/root/etc/passwd", "/proc/self/fd", "/dev/shm", "/run",
    ],
)  # fmt: skip
def test_no_file_outside_can_be_read_or_listed(run, path):
    path = path.format(parent=os.getpid(), here=__file__)
    found = run(
        refused(
            f"open({path!r}).read()\nos.listdir({path!r})\nlibc.open({path!r}.encode(), os.O_PATH | os.O_DIRECTORY) and open({path!r})"
        )
    )
    assert set(found.text.split()) == {"no"}


@in_namespaces
def test_nobody_else_s_files_can_even_be_seen(run):
    assert (
        run(f"import os\nos.path.exists('/etc/passwd'), os.path.exists({__file__!r}), os.path.exists('/proc')").text
        == "(False, False, False)"
    )


@pytest.fixture(scope="module")
def library():
    """A file among the libraries, made for these attacks: real ones may be links that other environments share."""
    with NamedTemporaryFile(dir=os.path.dirname(os.path.dirname(pa.__file__)), prefix="attacked-") as file:
        file.write(b"as it was")
        file.flush()
        yield file.name


@pytest.mark.parametrize("folder", ["/", "/tmp", "/usr/lib", "/dev", "{library}", "/scratch/.."])
def test_nothing_outside_its_folder_can_be_made_changed_or_removed(run, folder, library):
    place = folder.format(library=os.path.dirname(library))
    found = run(
        refused(
            f"open({place!r} + '/new', 'w')\nos.mkdir({place!r} + '/new')\nos.symlink('x', {place!r} + '/new')\nos.rename('/scratch', {place!r} + '/new')\n"
            f"os.link({library!r}, {place!r} + '/new')\nos.utime({place!r})\nos.chmod({library!r}, 0o777)\nos.chown({library!r}, 1, 1)\n"
            f"os.truncate({library!r}, 0)\nos.unlink({library!r})\nos.open({library!r}, os.O_RDONLY | os.O_TRUNC)\nopen({library!r}, 'a')"
        )
    )
    assert set(found.text.split()) == {"no"}
    assert Path(library).read_text() == "as it was"


def test_links_lead_nowhere(run):
    assert set(
        run(refused("os.symlink('/etc', 'x')\nos.link('/usr/lib/os-release', 'x')\nos.listdir('x')")).text.split()
    ) == {"no"}


def test_no_descriptor_is_inherited_but_the_standard_ones(run):
    code = "import os, stat\nfor n in range(64):\n    try: print(n, stat.filemode(os.fstat(n).st_mode)[0])\n    except OSError: pass"
    standard = ["0 c", "1 p", "2 p"]
    found = run(code).text.splitlines()
    assert found[:3] == standard
    assert {each.split()[1] for each in found[3:]} <= {"p"}  # Arrow's own, made in this very process


def test_it_knows_no_variable_of_the_machine(run):
    found = run("import os, ctypes\nprint(dict(os.environ), ctypes.CDLL(None).getenv(b'SHOPWRIGHT_TEST_SECRET'))")
    assert found.text == "{} 0"


# Others


def test_another_trajectory_is_not_to_be_had(run):
    assert "There is no trajectory 'other' here" in run("load_trajectory('other')").text
    assert run("import gc\n[x for x in gc.get_objects() if isinstance(x, str) and x == 'other']").text == "[]"


def test_what_another_block_held_is_in_nobody_s_memory(run):
    code = f"import gc\nwanted = {SECRET[:6]!r} + {SECRET[6:]!r}\n[x for x in gc.get_objects() if isinstance(x, dict) and wanted in map(str, list(x.values())) and x is not globals()]"
    assert run(code).text == "[]"


@pytest.mark.parametrize("who", ["1", "2", "-1", "0", "-os.getpgrp()", "os.getppid()", "{parent}"])
def test_no_other_process_can_be_signalled(run, who):
    who = who.format(parent=os.getpid())
    assert set(
        run(
            refused(
                f"os.kill({who}, 9) or 'sent'\nos.killpg(abs({who}), 9) or 'sent'\nlibc.syscall(200, {who}, 9)\nlibc.syscall(129, {who}, 9, 0)"
            )
        ).text.split()
    ) == {"no"}


def test_no_signal_by_way_of_a_pipe(run):
    assert set(
        run(refused("libc.fcntl(os.pipe()[0], 8, 1)\nlibc.fcntl(1, 15, 0)\nlibc.fcntl(1, 10, 9)")).text.split()
    ) == {"no"}


def test_no_network(run):
    lines = [f"socket.socket({family}, {kind})" for family in (1, 2, 10, 16, 17, 38) for kind in (1, 2, 3)]
    lines += [
        "socket.socketpair()",
        "__import__('urllib.request').request.urlopen('http://127.0.0.1:1')",
        "socket.getaddrinfo('example.org', 80)",
    ]
    assert set(run(refused("\n".join(lines))).text.split()) == {"no"}


@pytest.mark.parametrize(
    "code",
    [
        "os.fork()", "libc.vfork()", "libc.syscall(56, 0x11, 0, 0, 0, 0)", "libc.syscall(56, 0x50f00, 0, 0, 0, 0)", "libc.syscall(435, 0, 0)",
        "os.system('true') and -1", "__import__('subprocess').run(['true'])", "__import__('os').execv('/usr/bin/true', ['true'])", "os.posix_spawn('/bin/true', ['true'], {})",
        "__import__('multiprocessing').Process(target=print).start()", "libc.syscall(56, 0x3D0F00 | 0x2000000, 0, 0, 0, 0)",
        "__import__('pickle').loads(b'cos\\nsystem\\n(S\"true\"\\ntR.') and -1", "__import__('pty').fork()",
    ],
)  # fmt: skip
def test_there_is_one_process(run, code):
    assert run(refused("\n".join([code] * 3))).text.split() == ["no"] * 3


def test_ten_thousand_forks_are_ten_thousand_refusals(run):
    assert (
        run("import os\nno = 0\nfor _ in range(10_000):\n    try: os.fork()\n    except OSError: no += 1\nno").text
        == "10000"
    )


def test_the_kernel_s_doors_are_shut(run):
    numbers = {
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "unshare": 272, "setns": 308, "bpf": 321, "io_uring_setup": 425, "keyctl": 250,
        "personality": 135, "mount": 165, "umount2": 166, "chroot": 161, "pivot_root": 155, "open_by_handle_at": 304, "memfd_create": 319, "userfaultfd": 323,
        "perf_event_open": 298, "init_module": 175, "kexec_load": 246, "reboot": 169, "sethostname": 170, "setuid": 105, "capset": 126, "pidfd_open": 434,
        "pidfd_getfd": 438, "seccomp": 317, "mknod": 133, "inotify_init": 253, "fanotify_init": 300, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
        "timer_create": 222, "setpriority": 141, "sched_setaffinity": 203, "splice": 275, "vmsplice": 278, "quotactl": 179, "swapon": 167, "acct": 163, "syslog": 103,
        "settimeofday": 164, "setrlimit": 160, "mount_setattr": 442, "fsopen": 430, "open_tree": 428, "setxattr": 188, "utimensat": 280, "fchmodat": 268, "fchownat": 260,
        "flock": 73, "sync": 162, "execve": 59, "execveat": 322,
    }  # fmt: skip
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of another machine")
    found = run(
        refused("\n".join(f"libc.syscall({number}, 0, 0, 0, 0, 0)" for number in numbers.values()))
    ).text.split()
    assert [name for name, said in zip(numbers, found, strict=True) if said != "no"] == []


def test_death_with_a_parent_and_other_traits_cannot_be_changed(run):
    assert set(
        run(
            refused("libc.prctl(1, 0)\nlibc.prctl(22, 0)\nlibc.prctl(4, 1)\nlibc.prctl(36, 1)\nlibc.prctl(35, 1)")
        ).text.split()
    ) == {"no"}


def test_limits_cannot_be_raised(run):
    lines = [f"__import__('resource').setrlimit({which}, (-1, -1))" for which in (0, 1, 7, 9)]
    assert set(run(refused("\n".join([*lines, f"__import__('resource').prlimit({os.getpid()}, 0)"]))).text.split()) == {
        "no"
    }


def test_calls_of_a_32_bit_program_end_it(run):
    if os.uname().machine != "x86_64":
        pytest.skip("only there")
    code = (
        CTYPES
        + "import mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(b'\\xb8\\x02\\x00\\x00\\x00\\xcd\\x80\\xc3')\nctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()"
    )
    assert "bad system call" in run(code).text
    assert "bad system call" in run(CTYPES + "libc.syscall(0x40000000 + 39)").text


# More than there is


@pytest.mark.parametrize(
    "code",
    [
        "len(bytes(100 << 30))", "len('x' * (100 << 30))", "import numpy\nnumpy.ones(100 << 27).sum()", "import mmap\nlen(mmap.mmap(-1, 100 << 30))",
        "import os\nos.memfd_create('x')", "x = []\nwhile True: x.append(bytes(1 << 20))", "x = 'x'\nwhile True: x += x",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()", "conn.execute(\"SELECT LENGTH(REPEAT('x', 4000000000))\").fetchall()",
        "conn.execute(\"SELECT LPAD('x', 2000000000, 'y')\").fetchall()", "conn.execute('SELECT LIST(range) FROM range(10000000000)').fetchall()",
        "conn.execute(\"WITH RECURSIVE t AS (SELECT 'xxxxxxxx' x UNION ALL SELECT x || x FROM t) SELECT COUNT(*) FROM t\").fetchall()",
        "import ctypes\nctypes.string_at(0)", "def f(): return f()\nf()", "import os\nos.abort()", "eval('(' * 100000)", "int('9' * 5000)",
    ],
)  # fmt: skip
def test_more_memory_than_its_own_is_not_given(run, code):
    assert not run(code).ok


def test_who_catches_the_lack_of_memory_goes_on_with_what_there_is(run):
    assert run("try: bytes(100 << 30)\nexcept MemoryError: print('none')\nlen(bytes(1 << 20))").text == "none\n1048576"


MANY = "n = 0\ntry:\n    for k in range(200):\n        with open({name}, 'ab') as file: n += file.write(bytes(1 << 20))\nexcept OSError as error: print(type(error).__name__)\nn >> 20"


@pytest.mark.parametrize("name", ["'one'", "f'{k}'", "'/dev/shm/x'", "'/tmp/x'", "'/x'"])
def test_no_more_is_written_than_its_folder_holds(run, name):
    assert int(run(MANY.format(name=name)).text.split()[-1]) <= 8


def test_no_more_files_are_made_than_it_may(run):
    assert (
        int(run("n = 0\ntry:\n    while n < 5000: open(str(n), 'w').close(); n += 1\nexcept OSError: pass\nn").text)
        < 700
    )


@in_namespaces
def test_what_it_writes_the_next_does_not_find(run):
    assert run("open('x', 'w').write('a')").ok
    assert run("import os\nos.listdir('.')").text == "[]"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass", "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
        "import re\nre.match('(a+)+$', 'a' * 64 + 'b')", "10 ** (10 ** 8)", "conn.execute('SELECT COUNT(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3').fetchall()",
    ],
)  # fmt: skip
def test_what_does_not_end_is_ended(run, code):
    found = run(code)
    assert not found.ok
    assert found.text in ("[stopped: more than 1 seconds of processor time]", BUSY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    ["import time\ntime.sleep(1000)", "import os\nos.kill(os.getpid(), 19)", "import signal\nsignal.pause()", "import os\nos.read(os.pipe()[0], 1)",
     "import ctypes\nctypes.CDLL(None).syscall(60, 0)"],
)  # fmt: skip
def test_what_sleeps_is_ended(run, code):
    assert run(code).text == "[stopped: more than 3 seconds]"


@pytest.mark.parametrize(
    "code",
    ["while True: print('x' * 1000)", "import os\nwhile True: os.write(2, b'x' * 65536)", "print('x' * (1 << 17))"],
)
def test_output_without_end_is_ended(run, code):
    found = run(code)
    assert found.text.endswith("[stopped: more than 65,536 bytes of output]")
    assert len(found.text) < 9_000
    assert not found.ok


@pytest.mark.parametrize(
    ("code", "ok"),
    [("exit()", True), ("quit()", True), ("raise SystemExit(3)", False), ("import os\nos._exit(0)", True), ("import os\nos._exit(7)", False), ("raise KeyboardInterrupt", False),
     ("import atexit\natexit.register(lambda: 1 / 0)", True), ("import sys\nsys.stdout.close()", True), ("import os\nos.close(1); os.close(2)", True),
     ("class A:\n    def __del__(self): raise MemoryError\nA()\nNone", True), ("import sys\nsys.stdout = sys.stderr = None", True), ("import sys\nsys.settrace(print)", True)],
)  # fmt: skip
def test_any_end_is_an_end(run, code, ok):
    assert run(code).ok == ok


def test_the_output_is_text_whatever_is_written(run):
    found = run("import os\nos.write(1, b'a\\x00\\xff\\xc3b\\x1b[2J\\rc\\r\\n\\td\\n')\nNone")
    assert found.text == "a\ufffd\ufffd\ufffdb\ufffd[2J\ufffdc\n\td"
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", found.text)


@pytest.mark.parametrize("code", ["\0", "x = '\0'", "def f(:", "  x", "\ud800", "`", "x" * 32_001, "await x", "return"])
def test_what_is_no_code_is_said_to_be_none(sandbox, code):
    found = sandbox.run("one", code)
    assert not found.ok
    assert "Error" in found.text


def test_changes_of_modules_and_tables_are_gone_in_the_next_block(run):
    assert run(
        "import data_loader, pandas, builtins\nconn.execute('DROP TABLE events')\ndf['price'] = 0\ndata_loader.load_trajectory = None\npandas.DataFrame.__len__ = builtins.len = lambda x: 7"
    ).ok


# SQL

WRONG = [
    "COPY events TO 'x.csv'", "COPY (SELECT 1) TO '/tmp/x'", "ATTACH '/tmp/x.db' AS x", "INSTALL httpfs", "LOAD httpfs", "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/usr/lib/os-release')", "SELECT * FROM glob('/*')", "SELECT * FROM '/etc/passwd'", "PRAGMA database_list", "SET memory_limit = '100GB'",
    "SET enable_external_access = true", "SELECT getenv('HOME') FROM events", "EXPORT DATABASE '/tmp/x'", "CREATE TABLE x AS SELECT * FROM read_csv('/etc/passwd')",
]  # fmt: skip


@pytest.mark.parametrize("sql", WRONG)
def test_sql_reaches_nothing_but_events(run, sandbox, sql):
    assert not sandbox.run("one", f"```sql\n{sql}\n```").ok
    harmless = sql.startswith("PRAGMA")
    assert run(f"conn.execute({sql!r}).fetchall()").ok == harmless


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM events; SELECT 2 FROM events", "INSERT INTO events SELECT * FROM events", "UPDATE events SET price = 0", "DELETE FROM events", "CREATE TABLE x (y INT)", "DROP TABLE events",
        "WITH a AS (INSERT INTO events SELECT * FROM events RETURNING *) SELECT * FROM a", "SELECT REPEAT(brand, 1000000000) FROM events", "SELECT LPAD(brand, 2000000000, 'x') FROM events",
        "SELECT * FROM range(10)", "SELECT 1", "", ";", "DROP TABLE events; SELECT * FROM events",
    ],
)  # fmt: skip
def test_a_block_of_sql_is_one_query_over_events(run, sandbox, sql):
    assert not sandbox.run("one", f"```sql\n{sql}\n```").ok


TEN = ", ".join(f"events e{n}" for n in range(10))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) FROM {TEN} WHERE e1.price + e2.price * e3.price > e9.price",
        "WITH RECURSIVE t AS (SELECT row_id x FROM events UNION ALL SELECT x + 1 FROM t) SELECT COUNT(*) FROM t",
    ],
)
def test_a_query_without_end_is_ended(run, sandbox, sql):
    assert not sandbox.run("one", f"```sql\n{sql}\n```").ok


@in_namespaces
def test_afterwards_no_process_and_no_file_is_left(sandbox, run):
    """Behind all the others: what is there are the process of the beginning and those of two trajectories."""
    run("1")
    left = [int(each.name) for each in Path("/proc").glob("[0-9]*") if session(each) == sandbox.process.pid]
    assert len(left) == 5
    assert not list(Path("/dev/shm").glob("new*"))
    assert not Path("/scratch").exists()


def session(process):
    try:
        return os.getsid(int(process.name))
    except OSError:
        return -1
