"""Attacks on the sandbox, each with what it must find, and the means of which any one suffices to stop it.

python -m tests.sandbox.attacks [--user 65534] [--deny landlock,namespaces]

runs those that the remaining means must stop, as that user and with these means taken away, and prints what each found as JSON.
"""

import argparse
import json
import os
import re
import socket
import sys
import traceback
from dataclasses import dataclass
from tempfile import NamedTemporaryFile
from typing import NoReturn

import pyarrow as pa

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.sandbox.execute import Limits
from shopwright.pipeline.sandbox.interpreter import Sandbox
from shopwright.pipeline.sandbox.kernel import MEANS
from tests.sandbox.test_interpreter import BEGIN, DENIED, deny, events

LIMITS = Limits(cpu=1, wall=3.0, memory=512 << 20, scratch=8 << 20, printed=1 << 16)
EVERYWHERE = (*MEANS, "always")


@dataclass(frozen=True)
class Attack:
    name: str
    code: str
    by: tuple[str, ...]
    """Any of these means stops it."""
    finds: str = "no"
    """A pattern of all that it prints: of one expression, `no` where it was refused."""


FILES, CALLS, SPACES, LIMIT = ("landlock", "namespaces"), ("seccomp",), ("namespaces",), ("limits",)
LIBRARY = "'{library}'"
"""A file among the libraries, made for these attacks: real ones may be links that other environments share."""
# Numbers of system calls on x86-64; a refusal is EPERM or ENOSYS, and nothing else, which would be the kernel's own answer.
NUMBERS = {
    "ptrace": 101, "process_vm_readv": 310, "unshare": 272, "setns": 308, "bpf": 321, "io_uring_setup": 425, "keyctl": 250, "mount": 165,
    "chroot": 161, "pivot_root": 155, "open_by_handle_at": 304, "memfd_create": 319, "userfaultfd": 323, "perf_event_open": 298,
    "init_module": 175, "setuid": 105, "pidfd_open": 434, "pidfd_getfd": 438, "seccomp": 317, "mknod": 133, "shmget": 29, "clone3": 435,
    "setpriority": 141, "fsopen": 430, "setxattr": 188, "flock": 73, "execveat": 322,
}  # fmt: skip

READ = [
    Attack(f"read {path}", f"open({path!r}).read()", FILES)
    for path in ("/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/environ", "/proc/self/mem", "/proc/sysrq-trigger", "/dev/mem",
                 "../etc/passwd", "/proc/self/root/etc/passwd", __file__)
] + [
    # Without Landlock the parents of the libraries' folders can be listed, which have nothing else in them.
    Attack(f"list {path}", f"os.listdir({path!r})", ("landlock",))
    for path in ("/", "/root", "/home", "/tmp", "/sys/kernel", "/proc/self/fd", "/run")
]  # fmt: skip
WRITE = [
    Attack("new file in /", "open('/attacked', 'w')", FILES),
    Attack("new file in /usr/lib", "open('/usr/lib/attacked', 'w')", FILES),
    Attack("new folder in /tmp", "os.mkdir('/tmp/attacked')", FILES),
    Attack("append to a library", f"open({LIBRARY}, 'a')", FILES),
    Attack("remove a library", f"os.unlink({LIBRARY})", FILES),
    Attack("empty a library", f"os.truncate({LIBRARY}, 0)", (*FILES, *CALLS)),
    Attack("open a library to empty it", f"os.open({LIBRARY}, os.O_RDONLY | os.O_TRUNC)", FILES),
    Attack("another mode for a library", f"os.chmod({LIBRARY}, 0o777)", (*CALLS, *SPACES)),
    Attack("another owner for a library", f"os.chown({LIBRARY}, 1, 1)", (*CALLS, *SPACES)),
    Attack("a link to /etc", "os.symlink('/etc', 'x') or os.listdir('x')", ("landlock",)),
    Attack("a second name for a library", f"os.link({LIBRARY}, 'x')", FILES),
]
PROCESSES = [
    Attack("fork", "os.fork()", CALLS),
    Attack("vfork", "libc.vfork()", CALLS),
    Attack("clone as a fork", "libc.syscall(56, 0x11, 0, 0, 0, 0)", CALLS),
    Attack("clone as a thread with a process table of its own", "libc.syscall(56, 0x50F00, 0, 0, 0, 0)", CALLS),
    Attack("clone with a new user namespace", "libc.syscall(56, 0x10000011, 0, 0, 0, 0)", CALLS),
    Attack("a shell", "os.system('true') and -1", CALLS),
    Attack("a program", "__import__('subprocess').run(['true'])", CALLS),
    Attack("a program in this process's place", "os.execv('/usr/bin/true', ['true'])", (*CALLS, *FILES)),
    Attack("posix_spawn", "os.posix_spawn('/bin/true', ['true'], {})", CALLS),
    Attack("a process of multiprocessing", "__import__('multiprocessing').Process(target=print).start() or 'begun'", CALLS),
    Attack("a signal to the first process", "os.kill(1, 9) or 'sent'", CALLS),
    Attack("a signal to the parent", "os.kill(os.getppid(), 9) or 'sent'", CALLS),
    Attack("a signal to all", "os.kill(-1, 9) or 'sent'", CALLS),
    Attack("a signal by way of a pipe", "libc.fcntl(os.pipe()[0], 8, 1)", CALLS),
    Attack("typing into the terminal", "libc.ioctl(0, 0x5412, b'x')", CALLS),
    Attack("outliving the parent", "libc.prctl(1, 0)", CALLS),
]  # fmt: skip
NETWORK = [
    Attack(f"a socket of family {family}, kind {kind}", f"socket.socket({family}, {kind})", CALLS)
    for family, kind in ((1, 1), (2, 1), (2, 2), (10, 1), (16, 3), (17, 3), (38, 5))
] + [
    Attack("a server of this machine", "socket.create_connection(('127.0.0.1', {port}), 1)", (*CALLS, *SPACES)),
    Attack("an abstract socket of this machine", "socket.socket(1).connect('\\0shopwright-attack-{port}') or 'there'", (*CALLS, *SPACES)),
]  # fmt: skip
DOORS = [Attack(f"system call {name}", f"door({number})", CALLS) for name, number in NUMBERS.items()]
RAISED = [
    Attack(f"more of limit {which}", f"__import__('resource').setrlimit({which}, (-1, -1))", CALLS)
    for which in (0, 1, 7, 9)
]
REFUSED = [*READ, *WRITE, *PROCESSES, *NETWORK, *DOORS, *RAISED]

STOPPED = r"(?s).*\[stopped: (more than 1 seconds of processor time|more than 3 seconds)\]"
ALONE = [
    Attack("100 GiB of memory", "len(bytes(100 << 30))", LIMIT, "(?s).*MemoryError.*"),
    Attack("100 GiB of numbers", "import numpy\nnumpy.ones(100 << 27).sum()", LIMIT, "(?s).*(MemoryError|Unable to allocate).*"),
    Attack("memory piece by piece", "x = []\nwhile True: x.append(bytes(1 << 20))", LIMIT, "(?s).*MemoryError.*"),
    Attack("memory through SQL", "conn.execute(\"SELECT LENGTH(REPEAT('x', 4000000000))\").fetchall()", LIMIT, "(?s).*Exception.*"),
    Attack("time without end", "while True: pass", EVERYWHERE, STOPPED),
    Attack("time without end, deaf to signals",
           "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass",
           EVERYWHERE, STOPPED),
    Attack("a pattern without end", "import re\nre.match('(a+)+$', 'a' * 64 + 'b')", EVERYWHERE, STOPPED),
    Attack("sleep", "import time\ntime.sleep(1000)", EVERYWHERE, STOPPED),
    Attack("output without end", "import os\nwhile True: os.write(2, b'x' * 65536)", EVERYWHERE, r"(?s).*\[stopped: more than 65,536 bytes of output\]"),
    Attack("files without end", "n = 0\ntry:\n    while n < 1000: open(str(n), 'w').close(); n += 1\nexcept OSError: pass\nprint(n < 700)", FILES, "True"),
    Attack("a full folder", "n = 0\ntry:\n    for k in range(64):\n        with open('x', 'ab') as file: n += file.write(bytes(1 << 20))\nexcept OSError: pass\nprint(n >> 20 <= 8)",
           FILES, "True"),
    Attack("open files without end", "import os\nn = 0\ntry:\n    while n < 5000: n += len(os.pipe())\nexcept OSError: pass\nprint(n <= 64)", LIMIT, "True"),
    Attack("threads without end",
           "import threading\nn = 0\ntry:\n    while n < 5000:\n        one = threading.Thread(target=int)\n        one.start()\n        one.join()\n        n += 1\n"
           "except RuntimeError as error: print(error, n)",
           CALLS, "can't start new thread 256"),
    Attack("threads that stay", "import threading\nn, held = 0, threading.Event()\ntry:\n    while n < 5000:\n        threading.Thread(target=held.wait, daemon=True).start()\n        n += 1\n"
           "except (RuntimeError, MemoryError): print(n <= 256)", CALLS, "True"),
    Attack("depth without end", "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()", LIMIT, r"(?s).*(MemoryError|\[stopped: .*\])"),
    Attack("a wrong address", "import ctypes\nctypes.string_at(0)", EVERYWHERE, r"\[stopped: segmentation fault\]"),
    Attack("a call of a 32-bit program", "import ctypes\nctypes.CDLL(None).syscall(0x40000000 + 39)", CALLS, r"\[stopped: bad system call\]"),
    Attack("another trajectory", "load_trajectory('other')", EVERYWHERE, "(?s).*There is no trajectory 'other' here.*"),
    Attack("variables of the machine", "import os\nprint(dict(os.environ))", EVERYWHERE, r"\{\}"),
    Attack("what another block held", "import gc\nwanted = 'nobody-must' + '-read-this'\nprint([x for x in gc.get_objects() if isinstance(x, dict) and wanted in map(str, list(x.values())) and x is not globals()])",
           EVERYWHERE, r"\[\]"),
]  # fmt: skip
ATTACKS = [*REFUSED, *ALONE]

PREFIX = """import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def door(number):
    value = libc.syscall(number, 0, 0, 0, 0, 0)
    return value if value >= 0 else -1 if ctypes.get_errno() in (1, 38) else f"the kernel answered {ctypes.get_errno()}"
def attempt(act):
    try: value = act()
    except BaseException: return "no"
    return "no" if isinstance(value, int) and value < 0 else repr(value)
"""


def choose_attacks(holds: set[str]) -> list[Attack]:
    """Those that these means must stop."""
    return [each for each in ATTACKS if {*holds, "always"} & set(each.by)]


def run_attacks(box: Sandbox, attacks: list[Attack], places: dict[str, str]) -> dict[str, str]:
    """What each found, by its name; `places` are what its code names in braces."""
    together = [each for each in attacks if each in REFUSED]
    code = PREFIX + "\n".join(f"print(attempt(lambda: {each.code}))" for each in together)
    for name, value in places.items():
        code = code.replace(f"{{{name}}}", value)
    found = box.run("one", code).text.splitlines()
    said = dict(zip((each.name for each in together), [*found, *["nothing"] * len(together)], strict=False))
    box.run("other", BEGIN.format(id="other") + "mine = 'nobody-must-read-this'")
    for each in attacks:
        if each in ALONE:
            said[each.name] = box.run("one", BEGIN.format(id="one") + each.code).text
    return said


def find_failures(holds: set[str], said: dict[str, str]) -> dict[str, str]:
    """Attacks that found something else than they must, or did not run."""
    wrong = (each for each in choose_attacks(holds) if not re.fullmatch(each.finds, said.get(each.name, "did not run")))
    return {each.name: said.get(each.name, "did not run") for each in wrong}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--user", type=int, default=os.getuid())
    parser.add_argument("--deny", default="")
    asked = parser.parse_args()
    denied = {each for each in asked.deny.split(",") if each}
    libraries = os.path.dirname(os.path.dirname(pa.__file__))
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as abstract,
        NamedTemporaryFile(dir=libraries, prefix="attacked-") as library,
    ):
        os.chown(library.name, asked.user, asked.user)
        port = server.getsockname()[1]
        abstract.bind(f"\0shopwright-attack-{port}")
        abstract.listen()
        if (pid := os.fork()) == 0:  # the other one removes the file, which nobody may
            attack_as(asked.user, denied, {"port": str(port), "library": library.name})
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def attack_as(user: int, denied: set[str], places: dict[str, str]) -> NoReturn:
    """Prints what came of it, and ends this process."""
    code = 1
    try:
        if user != os.getuid():
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        deny(*(call for name in sorted(denied) for call in DENIED[name]))
        holds = {*MEANS} - denied
        with Sandbox(events, limits=LIMITS, at_once=2) as box:
            said = run_attacks(box, choose_attacks(holds), places)
            after = box.run("one", BEGIN.format(id="one") + "len(df)").text
        failures = find_failures(holds, said)
        print(json.dumps({"attacks": len(said), "failures": failures, "after": after, "user": os.getuid()}), flush=True)
        code = 0
    except Problem as problem:
        print(problem, file=sys.stderr, flush=True)
    except Exception:  # noqa: BLE001 - this process goes no further
        traceback.print_exc()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
