"""On a system that lacks what builds need that is said in a sentence, before anything is done."""

import subprocess
import sys

import pytest

SENTENCE = "Shopwright works on Linux, and on macOS with Python 3.13 or later. On Windows use it inside WSL (Windows Subsystem for Linux)."
WITHOUT = {
    "Windows": "import sys; sys.modules |= dict.fromkeys(['fcntl', 'resource', 'pwd', 'grp', 'termios'])",
    "an older macOS": "import os; del os.waitid",
}
"""Takes away what that system lacks."""
COMMAND = "import sys; from shopwright.pipeline.__main__ import main; sys.exit(main())"


@pytest.fixture(params=WITHOUT)
def python(request):
    """Runs this Python as on such a system; gives its exit code and what it wrote."""

    def run(script, *arguments):
        script = f"import sys; {WITHOUT[request.param]}; {script}"
        done = subprocess.run(
            [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize("words", [["build", "catalog"], ["publish"], ["browse"], ["serve", "openenv"], ["verify"]])
def test_a_command_says_where_it_works_before_it_does_anything(python, words, tmp_path):
    code, out, error = python(COMMAND, *words, "--run", tmp_path / "run")
    assert (code, out, error) == (4, "", f"shopwright: error: {SENTENCE}\n")
    assert not [*tmp_path.iterdir()]


def test_version_and_help_are_told_anywhere(python):
    for flag in ("--version", "--help"):
        code, out, error = python(COMMAND, flag)
        assert (code, error) == (0, "")
        assert out


@pytest.mark.parametrize(
    "script",
    [
        "from shopwright import build; build('catalog', sys.argv[1])",
        "from shopwright import load; load('catalog', sys.argv[1])",
        "from shopwright import verify; verify(sys.argv[1])",
        "from shopwright import evaluate; evaluate('envs', sys.argv[1])",
        "from shopwright import make; make('policy_qa')",
    ],
)
def test_python_is_told_the_same(python, script, tmp_path):
    code, out, error = python(script, tmp_path / "run")
    assert (code, out) == (1, "")
    assert error.endswith(f"\nshopwright.pipeline.problem.Lacking: {SENTENCE}\n")
    assert not [*tmp_path.iterdir()]
