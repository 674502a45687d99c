import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]
MINUTE = 60
needs_atheris = pytest.mark.skipif(
    find_spec("atheris") is None, reason="atheris is not there: it has wheels for Linux on x86-64 alone"
)
PLANTED = {
    "text": (
        "pipeline/render/trajectory.py",
        'ESCAPED = {"\\\\n": "\\n", "\\\\r": "\\r", ',
        'ESCAPED = {"\\\\n": "\\n", "\\\\r": "\\n", ',
    ),
    "reply": (
        "pipeline/rollouts/judge.py",
        "except (IndexError, ValueError, RecursionError):",
        "except (ValueError, RecursionError):",
    ),
}
"""For each target a line of what it reads, and that line with a mistake."""


def run(home, *arguments):
    command = [sys.executable, "-m", "tests.fuzz.targets", *map(str, arguments)]
    return subprocess.run(
        command, check=False, cwd=home, capture_output=True, text=True, errors="replace", timeout=10 * MINUTE
    )


@needs_atheris
@pytest.mark.parametrize("target", ["text", pytest.param("reply", marks=pytest.mark.slow)])
def test_nothing_that_is_tried_in_seconds_breaks_a_parser(target):
    done = run(HOME, target, "--seconds", 2)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"([\d,]+) inputs", done.stdout)[1].replace(",", "")) > 100


@needs_atheris
@pytest.mark.slow
@pytest.mark.parametrize("target", ["text", "reply"])
def test_nothing_that_is_tried_in_a_minute_breaks_a_parser(target):
    done = run(HOME, target, "--seconds", MINUTE, "--seed", 2)
    assert done.returncode == 0, done.stdout


@needs_atheris
@pytest.mark.parametrize("target", ["text", pytest.param("reply", marks=pytest.mark.slow)])
def test_a_planted_mistake_is_found_and_its_input_shows_it_again(tmp_path, target):
    for part in ("shopwright", "pipeline", "schemas", "prompts", "data/reference", "tests/fuzz"):
        leaving_out = shutil.ignore_patterns("__pycache__", "runs")
        shutil.copytree(HOME / part, tmp_path / part, symlinks=True, ignore=leaving_out)
    file, line, wrong = PLANTED[target]
    source = (tmp_path / file).read_text(encoding="utf-8")
    assert source.count(line) == 1, "the line to be spoilt is there"
    (tmp_path / file).write_text(source.replace(line, wrong), encoding="utf-8")
    done = run(tmp_path, target, "--seconds", MINUTE)
    assert done.returncode == 1, done.stdout
    assert "--again" in done.stdout, done.stdout + done.stderr
    path = re.search(r"--again (\S+)", done.stdout)[1]
    assert run(tmp_path, target, "--again", path).returncode == 1, "with the mistake"
    assert run(HOME, target, "--again", path).returncode == 0, "without it"
    shutil.rmtree(Path(path).parent)


@pytest.mark.parametrize("target", ["text", "reply"])
def test_every_sample_passes(target):
    from tests.fuzz.targets import TARGETS, samples

    for sample in samples(target):
        TARGETS[target](sample)
