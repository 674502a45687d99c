"""The kernel's means: numbers as its own headers have them, and the filter's program."""

import re
import struct
from pathlib import Path

import pytest

from shopwright.pipeline.sandbox import kernel

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", 0, r"#define __NR_(\w+) (\d+)"),
    "aarch64": ("/usr/include/asm-generic/unistd.h", 1, r"#define __NR(?:3264)?_(\w+) (\d+)"),
}
OTHER_NAMES = {"newfstatat": "fstatat", "fadvise64": "fadvise64"}


def numbers(machine):
    path, _, pattern = HEADERS[machine]
    if not Path(path).exists():
        pytest.skip(f"no {path}")
    return {name: int(number) for name, number in re.findall(pattern, Path(path).read_text())}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_of_system_calls_are_those_of_the_kernel(machine):
    known, column = numbers(machine), HEADERS[machine][1]
    ours = kernel.CALLS | kernel.GUARDED | {"pivot_root": kernel.PIVOT_ROOT, "seccomp": kernel.SECCOMP}
    ours["clone3"] = (kernel.CLONE3, kernel.CLONE3)
    for name, each in ours.items():
        found = known.get(name, known.get(OTHER_NAMES.get(name, ""), -1))
        assert each[column] == found, name


@pytest.mark.parametrize("machine", HEADERS)
def test_what_is_the_same_everywhere_is_so(machine):
    known = numbers(machine)
    names = ("mount_setattr", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
    ours = (kernel.MOUNT_SETATTR, kernel.LANDLOCK_CREATE, kernel.LANDLOCK_ADD, kernel.LANDLOCK_RESTRICT)
    assert tuple(known[name] for name in names) == ours


def verdict(machine, number, *arguments, name=None):
    """What the program says, run as the kernel runs it."""
    column = kernel.MACHINES[machine][1]
    number = number if isinstance(number, int) else (kernel.CALLS | kernel.GUARDED)[number][column]
    data = struct.pack("<IIQ6Q", number, name or kernel.MACHINES[machine][0], 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    code = kernel.build_seccomp_filter(machine, 77)
    place = held = 0
    while True:
        what, then, other, value = struct.unpack_from("<HBBI", code, 8 * place)
        place += 1
        if what == 0x06:
            return value
        if what == 0x20:
            held = struct.unpack_from("<I", data, value)[0]
        else:
            true = held == value if what == 0x15 else held >= value
            place += then if true else other


DENIED = kernel.ERRNO | kernel.EPERM


@pytest.mark.parametrize("machine", HEADERS)
@pytest.mark.parametrize(
    ("call", "arguments", "found"),
    [
        ("read", (), kernel.ALLOW),
        ("openat", (), kernel.ALLOW),
        ("kill", (77, 9), kernel.ALLOW),
        ("kill", (1, 9), DENIED),
        ("kill", (2**32 - 1, 9), DENIED),
        ("tgkill", (78, 77, 9), DENIED),
        ("prlimit64", (0, 7), kernel.ALLOW),
        ("prlimit64", (77, 7), kernel.ALLOW),
        ("prlimit64", (1, 7), DENIED),
        ("prctl", (15,), kernel.ALLOW),
        ("prctl", (1,), DENIED),
        ("ioctl", (1, 0x5401), kernel.ALLOW),
        ("ioctl", (1, 0x5412), DENIED),
        ("ioctl", (0x5401, 0x5412), DENIED),
        ("fcntl", (1, 3), kernel.ALLOW),
        ("fcntl", (1, 8, 1), DENIED),
        ("fcntl", (1, 10, 9), DENIED),
        ("clone", (0x3D0F00,), kernel.ALLOW),
        ("clone", (0x7D0F00,), kernel.ALLOW),
        ("clone", (0x11,), DENIED),
        ("clone", (0x3D0F00 | 0x10000000,), DENIED),
        (kernel.CLONE3, (), kernel.ERRNO | kernel.ENOSYS),
        (1000, (), DENIED),
    ],
)
def test_the_filter_says(machine, call, arguments, found):
    assert verdict(machine, call, *arguments) == found


@pytest.mark.parametrize("machine", HEADERS)
def test_only_the_calls_of_the_list_pass(machine):
    column = kernel.MACHINES[machine][1]
    allowed = {numbers[column] for numbers in kernel.CALLS.values()}
    guarded = {numbers[column] for numbers in kernel.GUARDED.values()}
    passing = {number for number in range(600) if number not in guarded and verdict(machine, number) == kernel.ALLOW}
    assert passing == allowed - {-1}


def test_the_calls_of_another_machine_end_it():
    assert verdict("x86_64", 0, name=0x40000003) == kernel.KILL
    assert verdict("x86_64", 0x40000000) == kernel.KILL
    assert verdict("aarch64", 63, name=0x40000028) == kernel.KILL


def test_a_machine_without_a_list_is_told_so(monkeypatch):
    monkeypatch.setattr(kernel.platform, "machine", lambda: "riscv64")
    with pytest.raises(kernel.MeansMissing, match="riscv64"):
        kernel.get_machine_codes()


def test_what_may_be_missing_is_read_from_the_variable(monkeypatch):
    monkeypatch.setenv(kernel.WITHOUT, " landlock, ,seccomp")
    assert kernel.read_waived_means() == {"landlock", "seccomp"}


@pytest.mark.parametrize(
    ("lacking", "waived", "user", "version", "needed"),
    [
        ({"namespaces"}, (), 1000, 1, set()),
        ({"namespaces"}, (), 0, 3, set()),
        ({"namespaces"}, (), 0, 2, {"namespaces"}),
        ({"namespaces"}, ("namespaces",), 0, 2, set()),
        ({"namespaces", "seccomp"}, ("seccomp",), 1000, 5, {"namespaces"}),
        ({"landlock"}, (), 1000, 0, {"landlock"}),
    ],
)
def test_landlock_and_seccomp_do_without_namespaces_and_nothing_else_does(
    monkeypatch, lacking, waived, user, version, needed
):
    monkeypatch.setattr(kernel.os, "geteuid", lambda: user)
    monkeypatch.setattr(kernel, "read_landlock_version", lambda: version)
    assert kernel.find_means_needed(dict.fromkeys(lacking, "why"), waived).keys() == needed
