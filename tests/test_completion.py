"""`shopwright completion`: what a shell offers, asked of the shells that are here."""

import os
import pty
import re
import shlex
import shutil
import subprocess

import pytest

from shopwright.pipeline.__main__ import make_parser
from shopwright.pipeline.commands.completion import SHELLS, list_completion_places, script

PLACES = {tuple(place.path.split()): place for place in list_completion_places(make_parser())}
TYPED = [
    (("bui",), ["build"]),
    (("build", "shopping_t"), ["shopping_tasks"]),
    (("build", "personas", "--cou"), ["--count"]),
    (("build", "personas", "--catalog.promo"), ["--catalog.promoted"]),
    (("build", "questions", "--written-by", ""), ["code", "model"]),
    (("build", "questions", "--run", "data", "--runner", "d"), ["dask"]),
    (("build", "questions", "--run", ""), []),  # a folder, which the shell knows
    (("show", "person"), ["personas"]),
    (("evaluate", "quest"), ["questions"]),
    (("evaluate", "questions", "--mode", "t"), ["text", "tool"]),
    (("completion", ""), ["bash", "fish", "zsh"]),
]
"""What stands on the line, the cursor behind its last word, and what it may become."""


@pytest.fixture(scope="module", params=SHELLS)
def completed(request, tmp_path_factory):
    """What a shell offers for some words."""
    shell = shutil.which(request.param)
    if shell is None:
        pytest.skip(f"no {request.param} here")
    path = tmp_path_factory.mktemp("shell") / "script"
    path.write_text(script(request.param, list(PLACES.values())))

    def offered(words):
        line = shlex.join(["shopwright", *words])
        last = len(words)
        asks = {
            "bash": f'. {path}; COMP_WORDS=({line}); COMP_CWORD={last}; _shopwright; printf "%s\n" "${{COMPREPLY[@]}}"',
            "zsh": f"compdef() {{ }}; _files() {{ }}; compadd() {{ print -l -- ${{@:2}} }};"
            "_describe() { print -l -- ${(P)4} };"
            f". {path}; words=({line}); CURRENT={last + 1}; _shopwright",
            "fish": f"function __fish_complete_path; end; source {path}; complete -C {shlex.quote(' '.join(['shopwright', *words]))}",
        }
        flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[request.param]
        done = subprocess.run([shell, *flags, "-c", asks[request.param]], capture_output=True, text=True, check=False)
        assert not done.stderr
        found = {re.split(r"[\t:]", each)[0] for each in done.stdout.split("\n") if each}
        return sorted(each for each in found if each.startswith(words[-1]))

    return offered


@pytest.mark.parametrize(("words", "said"), TYPED, ids=[" ".join(words) for words, _ in TYPED])
def test_a_shell_offers_what_can_be_typed(completed, words, said):
    assert completed(words) == said


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_every_command_dataset_and_setting(shell, shopwright):
    code, out, _ = shopwright("completion", shell)
    assert code == 0
    for path, place in PLACES.items():
        assert not path or f" {' '.join(path)}" in out
        assert all(option in out for option in place.options)


def test_tab_completes_in_a_real_bash(tmp_path):
    (tmp_path / "script").write_text(script("bash", list(PLACES.values())))
    ours, theirs = pty.openpty()
    words = ["bash", "--norc", "--noprofile", "-i"]
    settings = {**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null", "PS1": "> ", "HISTFILE": ""}
    shell = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=settings, start_new_session=True)
    os.close(theirs)
    os.write(ours, f". {tmp_path}/script; shopwright() {{ echo 'was' 'typed:' $*; }}\n".encode())
    os.write(ours, b"shopwright bui\tpers\t--cou\t5 --runner d\t\n")
    assert "was typed: build personas --count 5 --runner dask" in read_until(ours, "was typed: ")
    os.write(ours, b"exit\n")
    shell.wait()
    os.close(ours)


def read_until(terminal, mark):
    """All that was written up to the end of the line with this mark."""
    told = ""
    while mark not in told or "\n" not in told.rpartition(mark)[2]:
        told += os.read(terminal, 4096).decode()
    return told
