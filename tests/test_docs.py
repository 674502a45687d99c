"""The pages of docs/: what they say can be typed and run, the datasets' are what schemas and stages say, links lead somewhere."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.make import pages
from pipeline.__main__ import parsed
from pipeline.stages import all_stages
from tests.pages import blocks, commands

HOME = Path(__file__).parents[1]
DOCS = sorted((HOME / "docs").rglob("*.md"))
TARGETS = re.findall(r"^([a-z-]+):", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
every_page = pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(HOME / "docs").as_posix())


@every_page
def test_what_is_typed_is_known(page):
    added = {name for _, name, _ in blocks(page) if name.startswith("pipeline/")}
    for words in [] if added else commands(page):  # what a page adds is known where it is followed, below
        tool = Path(words[0]).name
        if tool == "shopwright" and not {"--help", "-h"} & set(words):
            assert parsed(words[1:])
        if tool == "make":
            assert {word for word in words[1:] if "=" not in word} <= set(TARGETS)


@every_page
def test_python_on_a_page_is_python(page):
    for language, _, text in blocks(page):
        if language == "python":
            compile(text, page.name, "exec")


@every_page
def test_links_lead_to_pages(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        assert ":" in link or (page.parent / link).exists(), link


def test_the_index_leads_to_every_page():
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", (HOME / "docs" / "README.md").read_text(encoding="utf-8")))
    assert linked == {page.relative_to(HOME / "docs").as_posix() for page in DOCS} - {"README.md"}


# --- the datasets' pages -----------------------------------------------------------------------------------------------


def test_each_dataset_has_its_page_and_it_is_what_schema_and_stage_say(small):
    made = pages(small)
    assert {page.stem for page in DOCS if page.parent.name == "datasets"} == set(made) == set(all_stages())
    changed = [name for name, page in made.items() if (HOME / "docs" / "datasets" / f"{name}.md").read_text() != page]
    assert not changed, "make them again: python -m docs.make"


def test_a_dataset_is_loaded_as_its_page_says(small, tmp_path):
    found = [block for name in all_stages() for block in blocks(HOME / "docs" / "datasets" / f"{name}.md")]
    code = "".join(text for language, _, text in found if language == "python")
    code = code.replace("data/runs/mine", str(small.folder))
    assert code.count("load_dataset(") == len(all_stages())
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "PYTHONPATH": str(HOME)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("{'") >= len(all_stages())


# --- pages that are followed from top to bottom ------------------------------------------------------------------------


@pytest.fixture
def follow(tmp_path):
    """Does what a page says in a copy of the project, and gives what was printed."""
    unwanted = shutil.ignore_patterns(".*", "runs", "build", "__pycache__")
    shutil.copytree(HOME, tmp_path / "copy", copy_function=os.symlink, ignore=unwanted)
    paths = os.pathsep.join(filter(None, [str(tmp_path / "copy"), os.environ.get("PYTHONPATH")]))
    settings = {"PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}

    def followed(page):
        words = [sys.executable, "-P", "tests/pages.py", f"docs/{page}"]
        done = subprocess.run(
            words, cwd=tmp_path / "copy", env=os.environ | settings, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr
        return done.stdout

    return followed


def test_a_catalog_of_ones_own_works_as_its_page_says(follow):
    told = follow("bring-your-catalog.md")
    assert re.search(r"^catalog +6 +- +2 ", told, re.MULTILINE)
    assert "title missing" in told
    assert "Norrvik desk lamp" in told
    assert re.search(r"^(\d+) of \1 checks passed", told, re.MULTILINE)


def test_a_dataset_is_added_as_its_page_says(follow):
    told = follow("add-a-dataset.md")
    assert re.search(r"^bargains +- ", told, re.MULTILINE)
    assert "cheaper_than" in told
    assert re.search(r"^bargains +share is true .* ok$", told, re.MULTILINE)
    assert re.search(r"^(\d+) of \1 checks passed", told, re.MULTILINE)


@pytest.mark.slow
def test_an_environment_is_added_as_its_page_says(follow):
    told = follow("add-an-environment.md")
    assert "products on the first page" in told
    assert re.search(r"^cheated: none$", told, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("trl") is None, reason="no trl here: `make test-trainers` installs it")
def test_the_tutorial_ends_with_a_trained_model(follow):
    told = follow("tutorial.md")
    first, last = re.search(r"loss ([\d.]+) -> ([\d.]+), model in build/tiny", told).groups()
    assert float(last) < float(first)
