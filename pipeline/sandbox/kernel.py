"""The kernel's means to keep a process in: Landlock for files, seccomp for system calls, namespaces, limits of resources.

They are called through the C library, since Python has no names for them. Sources: the kernel's own pages on Landlock
(`userspace-api/landlock`), on seccomp filters (`userspace-api/seccomp_filter`) and unshare(2).
"""

import ctypes
import json
import mmap
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

# The variable that names means, with commas, that may be missing.
WITHOUT = "SHOPWRIGHT_SANDBOX_WITHOUT"
MEANS = ("landlock", "seccomp", "namespaces", "limits")

NEW_MOUNTS, NEW_NAME, NEW_IPC, NEW_USER = 0x00020000, 0x04000000, 0x08000000, 0x10000000
NEW_PROCESSES, NEW_NET = 0x20000000, 0x40000000
READ_ONLY, NO_SUID, NO_DEV, NO_EXEC = 1, 2, 4, 8
BOUND, RECURSIVE, PRIVATE = 1 << 12, 1 << 14, 1 << 18
HERE, DETACHED, BENEATH = -100, 2, 0x8000
PR_SET_PDEATHSIG, PR_SET_NAME, PR_GET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_VMA = 1, 15, 16, 38, 0x53564D41
MOUNT_SETATTR, LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 442, 444, 445, 446  # the same on every machine
PIVOT_ROOT, SECCOMP = (155, 41), (317, 277)

READ_FILE, READ_DIR = 1 << 2, 1 << 3
READ = READ_FILE | READ_DIR
WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
WRITE = WRITE_FILE | TRUNCATE | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8  # and make or remove files and folders
ALL_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}

ALLOW, ERRNO, KILL, NOTIFY = 0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000
FOR_ALL_THREADS, WITH_LISTENER = 1, 8
# Stands in the program where a process's own number will; no process can have it.
ANY_PROCESS = 0x50494421
EPERM, ENOSYS = 1, 38
# How seccomp names them, and their column below.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# System calls that a block of code may make, by their numbers on the two machines. Not among them: new processes and programs,
# sockets, signals to others, other processes' memory, mounts, namespaces, and what Landlock does not guard: locks on
# whole files, a file's owner, mode, times and attributes, and (in its first versions) its length.
CALLS: dict[str, tuple[int, int]] = {
    # files: which of them is for Landlock to say
    "read": (0, 63), "write": (1, 64), "open": (2, -1), "close": (3, 57), "stat": (4, -1), "fstat": (5, 80), "lstat": (6, -1),
    "poll": (7, -1), "lseek": (8, 62), "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66),
    "access": (21, -1), "pipe": (22, -1), "select": (23, -1), "dup": (32, 23), "dup2": (33, -1), "sendfile": (40, 71),
    "fsync": (74, 82), "fdatasync": (75, 83), "ftruncate": (77, 46),
    "getdents": (78, -1), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "rename": (82, -1), "mkdir": (83, -1),
    "rmdir": (84, -1), "creat": (85, -1), "link": (86, -1), "unlink": (87, -1), "symlink": (88, -1), "readlink": (89, -1),
    "umask": (95, 166), "statfs": (137, 43), "fstatfs": (138, 44), "getdents64": (217, 61), "fadvise64": (221, 223),
    "openat": (257, 56), "mkdirat": (258, 34), "newfstatat": (262, 79), "unlinkat": (263, 35), "renameat": (264, 38),
    "linkat": (265, 37), "symlinkat": (266, 36), "readlinkat": (267, 78), "faccessat": (269, 48), "pselect6": (270, 72),
    "ppoll": (271, 73), "fallocate": (285, 47), "dup3": (292, 24), "pipe2": (293, 59), "preadv": (295, 69), "pwritev": (296, 70),
    "renameat2": (316, 276), "statx": (332, 291), "close_range": (436, 436), "faccessat2": (439, 439),
    # memory
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216), "msync": (26, 227),
    "mincore": (27, 232), "madvise": (28, 233), "mlock": (149, 228), "munlock": (150, 229), "get_mempolicy": (239, 236),
    "membarrier": (324, 283),
    # itself: signals, threads, time, chance
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132), "pause": (34, -1), "alarm": (37, -1),
    "getitimer": (36, 102), "setitimer": (38, 103), "restart_syscall": (219, 128), "exit": (60, 93), "exit_group": (231, 94),
    "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126), "futex": (202, 98), "set_tid_address": (218, 96),
    "set_robust_list": (273, 99), "get_robust_list": (274, 100), "rseq": (334, 293), "arch_prctl": (158, -1), "getcpu": (309, 168),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "gettimeofday": (96, 169), "time": (201, -1), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "times": (100, 153), "getrandom": (318, 278), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, -1), "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    # what it may know of itself and the machine
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getpgrp": (111, -1), "getpgid": (121, 155),
    "getsid": (124, 156), "getuid": (102, 174), "getgid": (104, 176), "geteuid": (107, 175), "getegid": (108, 177),
    "getgroups": (115, 158), "getresuid": (118, 148), "getresgid": (120, 150), "uname": (63, 160), "sysinfo": (99, 179),
    "getrusage": (98, 165), "getrlimit": (97, 163), "getpriority": (140, 141), "capget": (125, 90),
}  # fmt: skip
GUARDED: dict[str, tuple[int, int]] = {
    "kill": (62, 129), "tgkill": (234, 131), "prctl": (157, 167), "ioctl": (16, 29), "fcntl": (72, 25), "prlimit64": (302, 261),
    "clone": (56, 220),
}  # fmt: skip
# With arguments in memory, which a filter cannot read. Said not to be there, so that the C library uses `clone`.
CLONE3 = 435
# A thread as the C libraries glibc and musl begin it: memory, files, signals and the process are shared. Nothing else may be cloned.
THREADS = (0x3D0F00, 0x7D0F00)
# Is it a terminal; close on exec or not; how much can be read; wait or not.
IOCTLS = (0x5401, 0x5450, 0x5451, 0x541B, 0x5421)
# Copies and flags of a descriptor, locks of parts of a file, a pipe's size. Not: whom to signal when there is something to read.
FCNTLS = (*range(8), 36, 37, 38, 1030, 1032)


class MeansMissing(OSError):
    """The kernel, or this container, does not offer a means."""


@cache
def load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def check_result(what: str, result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise MeansMissing(code, f"{what}: {os.strerror(code)}")
    return result


def system_call(what: str, number: int, *arguments: object) -> int:
    return check_result(what, int(load_libc().syscall(ctypes.c_long(number), *arguments)))


def prctl(what: int, *arguments: int) -> None:
    check_result("prctl", load_libc().prctl(what, *(ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:4])))


def die_with_parent() -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def unshare_namespaces(flags: int) -> None:
    check_result("unshare", load_libc().unshare(ctypes.c_int(flags)))


def enter_namespaces() -> None:
    """Users, network, mounts, messages, a host's name and (for its copies) processes of its own. For a process with one thread."""
    user, group = os.getuid(), os.getgid()
    unshare_namespaces(NEW_USER | NEW_NET | NEW_IPC | NEW_MOUNTS | NEW_NAME | NEW_PROCESSES)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text)
    mount_filesystem(None, "/", PRIVATE | RECURSIVE)
    check_result("sethostname", load_libc().sethostname(b"sandbox", ctypes.c_size_t(7)))


def enter_process_namespace() -> None:
    """Goes on in a copy that sees no process but its own copies; none of them outlives the first of them, nor it this one."""
    for _ in range(2):
        if pid := os.fork():
            while os.wait()[0] != pid:
                pass
            os._exit(0)
        die_with_parent()


def mount_readonly_root(readable: Iterable[str], folder: str) -> None:
    """A root with nothing in it but these files and folders, which nothing can change, and this empty folder."""
    base = next(each for each in ("/dev/shm", "/tmp", "/mnt") if os.path.isdir(each))
    mount_filesystem("tmpfs", base, NO_SUID | NO_DEV, "size=1m,mode=755")
    for path in drop_nested_paths(readable):
        place = Path(base + path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir() if os.path.isdir(path) else place.touch()
        mount_filesystem(path, str(place), BOUND | RECURSIVE)
    Path(base + folder).mkdir(parents=True)
    os.chdir(base)
    _, column = get_machine_codes()
    system_call("pivot_root", PIVOT_ROOT[column], b".", b".")
    check_result("umount", load_libc().umount2(b".", DETACHED))
    os.chdir("/")
    attributes = struct.pack("QQQQ", READ_ONLY | NO_SUID, 0, 0, 0)
    system_call("mount_setattr", MOUNT_SETATTR, ctypes.c_int(HERE), b"/", BENEATH, attributes, ctypes.c_size_t(32))


def drop_nested_paths(paths: Iterable[str]) -> list[str]:
    """Those there are, without what lies in another of them.

    >>> drop_nested_paths(["/usr/lib/python3", "/usr/lib", "/nowhere"])
    ['/usr/lib']
    """
    found: list[str] = []
    for path in sorted(path.rstrip("/") for path in paths if os.path.exists(path)):
        if not any(path == each or path.startswith(f"{each}/") for each in found):
            found.append(path)
    return found


def mount_scratch(folder: str, size: int, files: int) -> None:
    """A file system in memory that only this process sees, and that is gone with it."""
    unshare_namespaces(NEW_MOUNTS)
    mount_filesystem("tmpfs", folder, NO_SUID | NO_DEV | NO_EXEC, f"size={size},nr_inodes={files},mode=700")


def mount_filesystem(what: str | None, folder: str, flags: int, options: str = "") -> None:
    name = what.encode() if what else None
    result = load_libc().mount(name, folder.encode(), name, ctypes.c_ulong(flags), options.encode() or None)
    check_result(f"mount {what or ''}".rstrip(), result)


def drop_privileges() -> None:
    """No capabilities, in this process and whatever it becomes."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    check_result("capset", load_libc().capset(ctypes.c_char_p(header), ctypes.c_char_p(nothing)))


def set_resource_limits(limits: dict[int, int]) -> None:
    """Each of these resources, soft and hard; never above what it was."""
    for which, most in limits.items():
        _, hard = resource.getrlimit(which)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (most, most))


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> None:
    """Opens no other file for reading or writing, nor runs, makes or removes one. Existing paths that it names stay."""
    version = read_landlock_version()
    if not version:
        raise MeansMissing(ENOSYS, "landlock: not in this kernel")
    known = ALL_OF_ABI[min(version, 5)]
    # from version 4 on network ports too, from 6 on signals and abstract sockets: all of them closed
    rules = struct.pack("QQQ", known, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    rules = rules[: 8 if version < 4 else 16 if version < 6 else 24]
    made = system_call("landlock", LANDLOCK_CREATE, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    try:
        for paths, rights in ((readable, READ), (writable, READ | WRITE)):
            for path in paths:
                allow_path(made, path, rights & known)
        system_call("landlock", LANDLOCK_RESTRICT, ctypes.c_int(made), ctypes.c_uint(0))
    finally:
        os.close(made)


def read_landlock_version() -> int:
    """0 where the kernel has none: it answers with an error below 0."""
    return max(0, int(load_libc().syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))))


def allow_path(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        rights &= READ_FILE | WRITE_FILE | TRUNCATE
    try:
        beneath = ctypes.c_char_p(struct.pack("=Qi", rights, place))
        system_call("landlock", LANDLOCK_ADD, ctypes.c_int(rules), ctypes.c_int(1), beneath, ctypes.c_uint(0))
    finally:
        os.close(place)


def restrict_system_calls() -> None:
    """System calls that are not in `CALLS` are refused from here on, to all of this process's threads. Raises MeansMissing."""
    code = build_seccomp_filter(platform.machine(), ANY_PROCESS).replace(
        struct.pack("<I", ANY_PROCESS), struct.pack("<I", os.getpid())
    )
    install_filter(code, FOR_ALL_THREADS)


def install_filter(code: bytes, flags: int) -> int:
    """A filter of system calls. Returns 0, or its listener's descriptor where the flags ask for one. Raises MeansMissing."""
    _, column = get_machine_codes()
    held = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
    return system_call("seccomp", SECCOMP[column], ctypes.c_uint(1), ctypes.c_uint(flags), program)


def get_machine_codes() -> tuple[int, int]:
    name = platform.machine()
    if name not in MACHINES or sys.byteorder != "little":
        raise MeansMissing(ENOSYS, f"no list of system calls for {name}")
    return MACHINES[name]


@cache
def build_seccomp_filter(machine: str, pid: int) -> bytes:
    """The filter, in the kernel's small language: `{u16 what, u8 jump if true, u8 if false, u32 value}`, one after another."""
    name, column = MACHINES[machine]

    def load(field: int) -> bytes:
        return struct.pack("<HBBI", 0x20, 0, 0, field)

    def equal(value: int, then: int, other: int) -> bytes:
        return struct.pack("<HBBI", 0x15, then, other, value)

    def give(value: int) -> bytes:
        return struct.pack("<HBBI", 0x06, 0, 0, value)

    number, low = load(0), [load(16 + 8 * place) for place in range(2)]
    denied = give(ERRNO | EPERM)
    lines = [load(4), equal(name, 1, 0), give(KILL), number]
    if column == 0:  # the other numbers of this machine, for 32-bit pointers
        lines += [struct.pack("<HBBI", 0x35, 0, 1, 0x40000000), give(KILL)]
    for each in sorted(numbers[column] for numbers in CALLS.values() if numbers[column] >= 0):
        lines += [equal(each, 0, 1), give(ALLOW)]

    def guarded(call: str, test: list[bytes]) -> None:
        """`test` ends with ALLOW or an error for the call of this name."""
        lines.append(equal(GUARDED[call][column], 0, len(test)))
        lines.extend(test)

    for call in ("kill", "tgkill"):
        guarded(call, [low[0], equal(pid, 0, 1), give(ALLOW), denied])
    guarded("prlimit64", [low[0], equal(0, 1, 0), equal(pid, 0, 1), give(ALLOW), denied])
    lines += [equal(CLONE3, 0, 1), give(ERRNO | ENOSYS)]
    names = (PR_SET_NAME, PR_GET_NAME, PR_SET_VMA)
    choices = {"prctl": (0, names), "ioctl": (1, IOCTLS), "fcntl": (1, FCNTLS), "clone": (0, THREADS)}
    for call, (place, values) in choices.items():
        tests: list[bytes] = []
        for value in values:
            tests += [equal(value, 0, 1), give(ALLOW)]
        guarded(call, [low[place], *tests, denied])
    return b"".join([*lines, denied])


def read_waived_means() -> set[str]:
    """What the variable says."""
    return {each.strip() for each in os.environ.get(WITHOUT, "").split(",") if each.strip()}


def find_missing_means() -> dict[str, str]:
    """The means that this machine lacks, each with why. For a process with one thread: it tries them in copies of itself."""
    return {name: why for name in MEANS if (why := try_means(name))}


def find_means_needed(lacking: Mapping[str, str], waived: Collection[str]) -> dict[str, str]:
    """Those of the missing means without which it refuses to run, as nobody has waived them.

    Landlock and seccomp keep code in without namespaces, as in a container; but before Landlock's third version root could empty files that it may
    only read.
    """
    if set(lacking) == {"namespaces"} and (os.geteuid() or read_landlock_version() >= 3):
        return {}
    return {name: why for name, why in lacking.items() if name not in waived}


def try_means(name: str) -> str:
    """Why a means cannot be had; empty if it can."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            why = attempt_means(name)
            os.write(write, why.encode()[:500])
        finally:
            os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        why = pipe.read()
    os.waitpid(pid, 0)
    return why


def attempt_means(name: str) -> str:
    try:
        if name == "namespaces":
            enter_namespaces()
            mount_readonly_root(["/usr/lib", "/dev/null"], "/scratch")
            mount_scratch("/scratch", 1 << 20, 10)
            if (pid := os.fork()) == 0:
                os._exit(0)
            os.waitpid(pid, 0)
        elif name == "landlock":
            prctl(PR_SET_NO_NEW_PRIVS, 1)
            restrict_files(["/usr"], [])
            if can_open("/etc/passwd"):
                return "it was allowed to open /etc/passwd"
        elif name == "limits":
            set_resource_limits({resource.RLIMIT_CPU: 60, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NOFILE: 64})
            set_resource_limits({resource.RLIMIT_AS: 1 << 30})
            if can_map(2 << 30):
                return "it was given more memory than its limit"
        else:
            prctl(PR_SET_NO_NEW_PRIVS, 1)
            restrict_system_calls()
    except (OSError, KeyError) as error:
        return str(error) or type(error).__name__
    return ""


def can_open(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError:
        return False
    return True


def can_map(size: int) -> bool:
    try:
        mmap.mmap(-1, size).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    print(json.dumps(find_missing_means()))
