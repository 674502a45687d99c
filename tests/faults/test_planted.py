"""Mistakes planted on purpose, each of which a test must find: in a copy of the code, one at a time.

The slow tests plant each and run what should fail. The fast ones see to it that the list still fits the code.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

HOME = Path(__file__).parents[2]
CODE = ("pipeline", "schemas", "flows", "prompts", "data", "tests", "pyproject.toml")


class Planted(NamedTuple):
    mistake: str
    file: str
    code: str
    instead: str
    found_by: str
    """The file of tests, and words of their names."""
    hangs: bool = False
    """Whether the test then waits for ever."""


DAMAGE, KILLS, PROCESSES = (f"tests/faults/test_{name}.py" for name in ("damage", "kills", "processes"))
PLANTED = (
    Planted(
        "a check is left out",
        "pipeline/shards.py",
        "reasons = reasons_against(stage, batch, datasets, records)",
        "reasons = [[] for _ in range(batch.num_rows)]",
        "tests/test_run.py every_row_is_kept_or_held",
    ),
    Planted(
        "what is rejected is thrown away",
        "pipeline/shards.py",
        "        held.commit()\n        if roles:",
        "        held.discard()\n        if roles:",
        "tests/test_run.py every_row_is_kept_or_held",
    ),
    Planted(
        "a shard is written in its place instead of beside it",
        "pipeline/dataset.py",
        "self.beside = beside(path)",
        "self.beside = path",
        "tests/test_dataset.py not_there_before_it_is_whole",
    ),
    Planted(
        "a manifest is written in its place instead of beside it",
        "pipeline/files.py",
        '    first = path.with_name(f".{path.name}.tmp") if is_here(path) else beside(path)\n',
        "    first = path\n",
        "tests/test_dataset.py text_is_there_whole_or_as_it_was",
    ),
    Planted(
        "a dataset counts as whole before it was judged",
        "pipeline/shards.py",
        "    sweep(build)\n    if damaged := build.weed():",
        "    write_told(build.dataset.manifest_path, Manifest(dataset=build.name, about='', recipe=build.recipe, rows=0, rejected=0, "
        "rejects={}, seconds=0, workers=1, files={}))\n    sweep(build)\n    if damaged := build.weed():",
        "tests/test_run.py killed_between_any_two_steps",
    ),
    Planted(
        "a shard that was thinned out counts as whole",
        "pipeline/shards.py",
        "if not found or index in thinned]",
        "if not found]",
        "tests/test_run.py killed_while_rows_are_held_back",
    ),
    Planted(
        "what is finished is made again",
        "pipeline/run.py",
        "        if again or old is None:\n            self.clear(name)",
        "        if True:\n            self.clear(name)",
        f"{KILLS} fifty_times_at_random",
    ),
    Planted(
        "the lock is ignored",
        "pipeline/files.py",
        "            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        "            pass\n",
        f"{PROCESSES} lock",
    ),
    Planted(
        "the lock does not say whose it is",
        "pipeline/files.py",
        '            lock.write_text(json.dumps(mine), encoding="utf-8")\n',
        "            pass\n",
        f"{PROCESSES} lock",
    ),
    Planted(
        "the bytes of a finished dataset are not looked at",
        "pipeline/run.py",
        "        return hurt(self.folder, manifest.files)\n",
        "        return {}\n",
        f"{DAMAGE} whichever_file",
    ),
    Planted(
        "only the size of a file is looked at",
        "pipeline/dataset.py",
        '    if not is_here(path):\n        return ""\n    try:\n        found = sha256_of(path)',
        '    if True:\n        return ""\n    try:\n        found = sha256_of(path)',
        f"{DAMAGE} single_bit",
    ),
    Planted(
        "a damaged shard of a half-built dataset is believed",
        "pipeline/run.py",
        "            damaged = build.weed()\n        write_told",
        "            damaged = {}\n        write_told",
        f"{DAMAGE} half_built",
    ),
    Planted(
        "what was damaged is not told",
        "pipeline/run.py",
        "                    progress.damaged(build.name, build.damaged)\n",
        "                    pass\n",
        f"{DAMAGE} whichever_file",
    ),
    Planted(
        "a manifest of which a bit was flipped is believed",
        "pipeline/dataset.py",
        "        if known not in (None, sum_of(facts)):",
        "        if False:",
        f"{DAMAGE} bit_of_a_manifest",
    ),
    Planted(
        "a reply of which a bit was flipped is believed",
        "pipeline/models/replies.py",
        "    if not sign or rest != summed(body) + b'\"}\\n':",
        "    if not sign:",
        "tests/models/test_replies.py flipped",
    ),
    Planted(
        "a search index of which a bit was flipped is believed",
        "pipeline/catalog/search.py",
        "        wrong = [name for name, known in sums.items() if sha256_of(folder / name) != known]",
        "        wrong = []",
        "tests/catalog/test_search.py flipped",
    ),
    Planted(
        "a worker that was killed ends everything",
        "pipeline/run.py",
        "    for again in reversed(range(TRIES)):",
        "    for again in reversed(range(1)):",
        "tests/test_run.py worker_that_is_killed",
    ),
    Planted(
        "a worker that hangs is waited for",
        "pipeline/hands.py",
        "                os.kill(hand.pid, signal.SIGKILL)",
        "                pass",
        "tests/test_hands.py does_not_come_back",
        hangs=True,
    ),
    Planted(
        "a full disk is a traceback",
        "pipeline/files.py",
        "    if isinstance(error, OSError) and error.errno in WITHOUT_IT:",
        "    if False:",
        f"{PROCESSES} full_disk",
    ),
    Planted(
        "what is half written stays where there was no room for more",
        "pipeline/dataset.py",
        "        with suppress(OSError):  # it writes what is left, for which there may be no room",
        "        if True:",
        "tests/test_dataset.py want_of_room",
    ),
    Planted(
        "asked to stop, it goes on",
        "pipeline/__main__.py",
        "            signal.signal(asks, stop)",
        "            signal.signal(asks, signal.SIG_IGN)",
        f"{PROCESSES} moment or when_it_is_asked",
    ),
    Planted(
        "asked to stop, it throws away what is finished",
        "pipeline/run.py",
        "            if not STOPS:\n                self.clear(build.name)",
        "            self.clear(build.name)",
        f"{PROCESSES} library_makes",
    ),
)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.mistake)
def test_the_place_of_a_planted_mistake_is_still_there(planted):
    assert (HOME / planted.file).read_text(encoding="utf-8").count(planted.code) == 1
    assert (HOME / planted.found_by.split()[0]).exists()


def test_the_page_lists_them():
    page = (HOME / "docs" / "reliability.md").read_text(encoding="utf-8")
    listed = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if "| `tests/" in line]
    assert listed == [planted.mistake for planted in PLANTED]


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.mistake)
def test_a_planted_mistake_is_found(planted, tmp_path):
    for name in CODE:
        copy = shutil.copytree if (HOME / name).is_dir() else shutil.copy
        copy(HOME / name, tmp_path / name, **({"ignore": leaving_out} if (HOME / name).is_dir() else {}))
    place = tmp_path / planted.file
    place.write_text(place.read_text(encoding="utf-8").replace(planted.code, planted.instead), encoding="utf-8")
    file, _, words = planted.found_by.partition(" ")
    chosen = " or ".join(f"({' and '.join(part.split())})" for part in words.split(" or "))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
        file,
        "-k",
        chosen,
    ]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    try:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=120
        )
    except subprocess.TimeoutExpired:  # the test waits for what hangs
        assert planted.hangs
    else:
        assert done.returncode == 1, done.stdout[-3_000:]  # 5: no such test; 2: it could not begin


def leaving_out(_, names):
    return [name for name in names if name in ("runs", "__pycache__")]
