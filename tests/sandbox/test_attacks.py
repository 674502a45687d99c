"""The table of attacks as root, as nobody, without namespaces, and with each means taken away: each finds what it must."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from shopwright.pipeline.sandbox.kernel import MEANS, WITHOUT, read_waived_means
from tests.sandbox.attacks import ATTACKS, choose_attacks, find_failures

HOME = Path(__file__).parents[2]
NOBODY = 65534


def make_environment(waived):
    paths = [str(HOME), *(path for path in sys.path if "site-packages" in path)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), WITHOUT: waived, "PYTHONDONTWRITEBYTECODE": "1"}


@cache
def find_python_for_nobody():
    """One that a user without rights may start; this one may lie in a folder of root's."""
    name = f"python3.{sys.version_info.minor}"
    for python in filter(None, (sys.executable, shutil.which(name, path="/usr/local/bin:/usr/bin"))):
        code = f"import duckdb, pandas, pyarrow; open({__file__!r})"
        try:
            done = subprocess.run(
                [python, "-c", code], env=make_environment(""), user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False
            )  # fmt: skip
        except PermissionError:
            continue
        if done.returncode == 0:
            return python
    return None


def attack(user, denied, waived=""):
    if os.uname().machine != "x86_64" or read_waived_means():
        pytest.skip("system calls by number, and all means")
    python = sys.executable
    if user != os.getuid():
        python = os.getuid() == 0 and find_python_for_nobody()
        if not python:
            pytest.skip("no Python that nobody may start")
    words = [python, "-m", "tests.sandbox.attacks", "--user", str(user), "--deny", denied]
    return subprocess.run(words, cwd=HOME, env=make_environment(waived), capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("user", [pytest.param(os.getuid(), id="this user"), pytest.param(NOBODY, id="nobody")])
@pytest.mark.parametrize("denied", ["", "namespaces", "landlock", "seccomp", "limits"])
def test_each_attack_finds_what_it_must(user, denied):
    done = attack(user, denied, "" if denied == "namespaces" else denied)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == {}
    assert found["attacks"] == len(choose_attacks({*MEANS} - {denied}))
    assert (found["user"], found["after"]) == (user, "20")
    holds = ", ".join(name for name in MEANS if name != denied)
    assert (
        f"The sandbox holds by {holds}; {f'it goes without {denied}: ' if denied else 'no means is missing.'}"
        in done.stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize("denied", ["landlock", "seccomp", "limits", "landlock,namespaces"])
def test_where_too_little_holds_it_says_so_and_runs_nothing(denied):
    done = attack(os.getuid(), denied)
    assert (done.stdout, done.returncode) == ("", 1)
    said = done.stderr.splitlines()[-1]
    assert "This machine cannot keep foreign code in: it lacks " in said
    assert all(f"{name} (" in said for name in denied.split(","))
    assert f"{WITHOUT}={denied}" in said


def test_there_are_at_least_sixty_attacks_for_each_means_that_holds_alone_with_another():
    assert len({each.name for each in ATTACKS}) == len(ATTACKS) >= 100
    assert len(choose_attacks({"landlock", "seccomp", "limits"})) == len(ATTACKS)
    assert {name: len(choose_attacks({name})) >= 9 for name in MEANS} == dict.fromkeys(MEANS, True)


def test_an_attack_that_finds_more_than_it_must_or_nothing_is_named():
    said = {each.name: "no" for each in ATTACKS} | {"fork": "4711"}
    del said["vfork"]
    failures = find_failures({"seccomp"}, said)
    assert (failures["fork"], failures["vfork"]) == ("4711", "did not run")
    assert "a shell" not in failures
