"""What decides a dataset's rows: changes that decide none let a run go on, the others are named; and no file that a build reads is left out."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shopwright.pipeline import code_digest
from shopwright.pipeline.code_digest import (
    MACHINERY,
    SAID,
    digest_code,
    list_assets,
    reach_assets,
    reach_code,
    read_source,
    read_sources,
)
from shopwright.pipeline.stages import all_stages

HOME = Path(__file__).parents[1]
BEFORE = '''
"""What this is."""
from shopwright.pipeline.files import write_whole

class Row:
    kind: str = "plain"
    """Its kind."""

def count(rows, *, least=2):
    """Counts."""
    return len([each for each in rows if each > least])
'''


def digest(text, path="pipeline/x.py"):
    return read_source(path, text, frozenset()).digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Counts."""', '"""Counts rows that\n    are more."""'),
        ('    """Counts."""\n', ""),
        ('    """Its kind."""\n', ""),
        ('"""What this is."""', "# What this is."),
        (
            "return len([each for each in rows if each > least])",
            "return len(\n        [each for each in rows if each > least]  # more\n    )",
        ),
        ('"plain"', "'plain'"),
    ],
)
def test_what_only_explains_changes_nothing(old, new):
    assert old in BEFORE
    assert digest(BEFORE.replace(old, new)) == digest(BEFORE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("least=2", "least=3"),
        ("each > least", "each >= least"),
        ('"plain"', '"plain "'),
        ("rows if", "row if"),
        ("files import", "shards import"),
        ("*, least", "least"),
    ],
)
def test_what_decides_changes_it(old, new):
    assert old in BEFORE
    assert digest(BEFORE.replace(old, new)) != digest(BEFORE)


@pytest.mark.parametrize(
    ("text", "same"),
    [("Ask.{# for\nlong #}\n", True), ("Ask.{##}\n", True), ("Ask.{#- for -#}\n", False), ("Say.{# for #}\n", False)],
)
def test_what_a_comment_of_a_template_says_changes_nothing(tmp_path, monkeypatch, text, same):
    monkeypatch.setattr(code_digest, "HOME", tmp_path)
    (tmp_path / "one.j2").write_text("Ask.{# for #}\n")
    (tmp_path / "other.j2").write_text(text)
    assert (code_digest.read_asset("one.j2") == code_digest.read_asset("other.j2")) == same


def test_docstrings_count_where_rows_say_them():
    changed = BEFORE.replace("Counts.", "Counts rows.")
    assert digest(changed, "pipeline/shop/tools.py") != digest(BEFORE, "pipeline/shop/tools.py")
    asking = {
        path
        for path, text in texts().items()
        if "getdoc(" in text or "__doc__" in text.replace("description=__doc__", "")
    }
    shown = {"pipeline/stage.py", "pipeline/code_digest.py"}  # the first shows what a dataset is about
    assert {path for path in asking - shown if not path.startswith(SAID)} == set()


def texts():
    return {path: (HOME / path).read_text("utf-8") for path in read_sources()}


def test_every_import_is_followed_and_none_is_relative():
    """The words of each file say so by themselves: `read_source` reads no dots."""
    for path, text in texts().items():
        assert "\nfrom ." not in text, path
    reached = reach_code(["pipeline/stages/env_tasks.py"], read_sources())
    assert {"pipeline/envs/cart_building.py", "schemas/samples.py", "pipeline/words.py"} <= reached
    assert "pipeline/stages/questions.py" not in reached


def test_each_dataset_has_its_own():
    """A change of one that nobody imports stays its own."""
    made = {name: digest_code(stage) for name, stage in all_stages().items()}
    assert made["catalog"].keys() < made["env_tasks"].keys()
    assert len({json.dumps(each) for each in made.values()}) > 15
    assert made["catalog"]["schemas"] != made["questions"]["schemas"]


def test_nothing_is_asked_of_a_user_without_a_home():
    """As in a container with a user of a number alone; nor is a folder `~` made in the one that is current."""
    words = "import os, pathlib; del os.environ['HOME']; os.getuid = lambda: 54321; import shopwright.pipeline.code_digest as each; print(each.CACHE)"
    done = subprocess.run([sys.executable, "-c", words], cwd=HOME, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_absolute()


# --- a run goes on after a change ---------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path):
    """A copy of the project that can be changed."""
    for name in ("pipeline", "schemas", "prompts", "data/reference", "flows", "shopwright"):
        shutil.copytree(HOME / name, tmp_path / "copy" / name, symlinks=True)
    return tmp_path / "copy"


def build(project, *words):
    command = [sys.executable, "-m", "shopwright.pipeline", "build", *map(str, words)]
    environment = os.environ | {"PYTHONPATH": str(project)}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def change(project, path, old, new):
    text = (project / path).read_text("utf-8")
    assert text.count(old) >= 1, f"{path} has changed: choose another line"
    (project / path).write_text(text.replace(old, new, 1), "utf-8")


def test_a_half_built_run_goes_on_after_a_comment_and_stops_at_a_decision(project):
    small = ("personas", "--products", "300", "--count", "40", "--workers", "1", "--run", project / "run")
    assert build(project, *small).returncode == 0
    manifest = project / "run" / "manifests" / "personas.json"
    recipe = json.loads(manifest.read_text())["recipe"]
    # As a kill leaves it: the recipe of what is being made, and some of its shards.
    manifest.unlink()
    draft(project, recipe)
    change(project, "pipeline/world/kinds.py", '"""', '"""Something more of it. ')
    change(project, "pipeline/stages/questions.py", "per_shard=(20, 1_000)", "per_shard=(10, 1_000)")
    change(project, "pipeline/publish/report.py", '"""', 'ANOTHER = "report"\n"""')
    (project / "prompts/questions.j2").write_text("Ask something else.\n")
    again = build(project, *small)
    assert again.returncode == 0, again.stderr
    manifest.unlink()
    draft(project, recipe)
    change(project, "data/reference/people.toml", "\n", "\n# another reference\n")
    stopped = build(project, *small)
    assert stopped.returncode == 2
    assert "personas in" in stopped.stderr
    assert "is half-built differently: the code in data/reference. Build with --rebuild" in stopped.stderr
    assert "Traceback" not in stopped.stderr


def draft(project, recipe):
    (project / "run" / "manifests" / "personas.building.json").write_text(json.dumps(recipe))


# --- nothing that a build reads is left out -----------------------------------------------------------------------------


WATCH = """
import sys
opened = set()

def note(event, given):
    if event == "open":
        frame, importing = sys._getframe(1), ""
        while frame:
            if "/publish/" in frame.f_code.co_filename:
                return
            if frame.f_code.co_name == "<module>":
                importing = importing or frame.f_code.co_filename
            frame = frame.f_back
        opened.add(f"{given[0]}\t{importing}")

sys.addaudithook(note)
from shopwright.pipeline.__main__ import main
code = main(sys.argv[2:])
open(sys.argv[1], "w").write("\\n".join(sorted(opened)))
sys.exit(code)
"""
"""Notes each file that is opened but for the report, which shows other datasets, too; and the module that is being imported then, as the
others are imported with the one that is made."""


@pytest.mark.slow
@pytest.mark.parametrize("name", list(all_stages()))
def test_every_prompt_and_reference_file_that_a_build_opens_is_in_its_digest(name, small, tmp_path):
    """Python itself says what was opened, in a process that makes this dataset alone."""
    run = shutil.copytree(small.folder, tmp_path / "run")
    words = ["build", name, "--run", run, "--workers", "1", "--rebuild"]
    words = [sys.executable, "-c", WATCH, tmp_path / "opened.txt", *words]
    done = subprocess.run(list(map(str, words)), cwd=HOME, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sources, assets = read_sources(), list_assets()
    reached = reach_code([MACHINERY, f"pipeline/stages/{name}.py"], sources)
    named = {name} | {word for path in reached for word in sources[path].names}
    inside = set(reach_assets(named, sources, assets))
    data = set()
    for line in (tmp_path / "opened.txt").read_text().splitlines():
        path, importing = map(place, line.split("\t"))
        if path.startswith(("prompts/", "data/reference/")) and (importing in reached or importing not in sources):
            data.add(path)
    assert data <= set(assets), "a kind of file that digests do not know"
    assert data <= inside


def place(path):
    """In the project, or nothing."""
    found = Path(os.path.realpath(path))
    return found.relative_to(HOME).as_posix() if path and found.is_relative_to(HOME) else ""
