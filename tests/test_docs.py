"""The pages of docs/: what they say can be typed and run, the datasets' are what schemas and stages say, links lead somewhere."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

import pytest

from docs.make import pages
from docs.picture import draw_picture
from shopwright.pipeline.__main__ import parse_arguments
from shopwright.pipeline.stages import all_stages
from tests.pages import blocks, commands

HOME = Path(__file__).parents[1]
DOCS = sorted((HOME / "docs").rglob("*.md"))
TARGETS = re.findall(r"^([a-z-]+):", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
FILE = re.compile(r"(?<![\w./-])(?:pipeline|schemas|flows|prompts|tests|docs|benchmarks|data/reference)/[\w/.-]*\w")
EXAMPLES_OF_FILES = {"tests/stages/test_bargains.py"}
"""What a page says to write, without its text."""
every_page = pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(HOME / "docs").as_posix())

read_by_people = pytest.mark.parametrize(
    "page", [*DOCS, HOME / "README.md", HOME / "CONTRIBUTING.md"], ids=lambda page: page.relative_to(HOME).as_posix()
)


@every_page
def test_what_is_typed_is_known(page):
    added = {name for _, name, _ in blocks(page) if name.startswith("pipeline/")}
    for words in [] if added else commands(page):  # what a page adds is known where it is followed, below
        tool = Path(words[0]).name
        if tool == "shopwright" and not {"--help", "-h"} & set(words):
            assert parse_arguments(words[1:])
        if tool == "make":
            assert {word for word in words[1:] if "=" not in word} <= set(TARGETS)


@every_page
def test_python_on_a_page_is_python(page):
    for language, _, text in blocks(page):
        if language == "python":
            compile(text, page.name, "exec")


@read_by_people
def test_files_that_a_page_names_exist(page):
    """But those that it adds, and places that depend on the reader (`NAME`)."""
    added = {name for _, name, _ in blocks(page) if name}
    named = set(FILE.findall(page.read_text(encoding="utf-8")))
    missing = {name for name in named - added if not re.search(r"[A-Z]{3}", name) and not (HOME / name).exists()}
    assert missing <= EXAMPLES_OF_FILES


def test_a_file_that_is_not_there_is_found(tmp_path):
    (tmp_path / "page.md").write_text("See `pipeline/hands.py`, `pipeline/run.py` and `prompts/NAME.j2`.")
    with pytest.raises(AssertionError, match="hands"):
        test_files_that_a_page_names_exist(tmp_path / "page.md")


@read_by_people
def test_what_a_page_imports_from_shopwright_is_there(page):
    added = {name.removesuffix(".py").replace("/", ".") for _, name, _ in blocks(page) if name}
    trees = [ast.parse(text) for language, _, text in blocks(page) if language == "python"]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module.startswith("shopwright.")]
    for node in ours:
        if node.module.removeprefix("shopwright.") not in added:
            assert all(hasattr(import_module(node.module), each.name) for each in node.names), ast.unparse(node)


def read_table(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    lines = text.partition(f"## {heading}\n")[2].strip().splitlines()
    rows = list(takewhile(lambda line: line.startswith("|"), lines))
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[2:]]


def test_each_line_of_the_promise_has_a_figure_and_a_command_and_each_event_a_test():
    text = (HOME / "docs" / "reliability.md").read_text(encoding="utf-8")
    promises, events = read_table(text, "The promise"), read_table(text, "What happens when something fails")
    assert len(promises) >= 12
    for event, _, tried, figure, command in promises:
        assert event
        assert tried, event
        assert re.search(r"\d|in each case", figure), event
        assert re.fullmatch(r"`(make|python -m|pytest) .+`", command), event
        for path in re.findall(r"tests/\S+\.py", command):
            assert (HOME / path).exists(), path
    assert [event for event, _, _, test in events if not re.search(r"\(\.\./tests/\S+\.py\)", test)] == []


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


def test_the_readmes_picture_is_of_a_question_of_the_run(small):
    assert (HOME / "docs" / "picture.svg").read_text() == draw_picture(small), "make it again: python -m docs.make"


def test_the_readmes_figures_of_a_release_are_those_of_the_benchmarks():
    said = re.search(
        r"\[([^]]*)\]\(benchmarks/README\.md#a-release\)", (HOME / "README.md").read_text(encoding="utf-8")
    )
    measured = (HOME / "benchmarks" / "README.md").read_text(encoding="utf-8")
    lines = measured.partition("<!-- release -->")[2].partition("<!-- end of release -->")[0].splitlines()
    configs = next(line.split("|")[2] for line in lines if line.startswith("| configs; rows in them |"))
    assert re.findall(r"[\d,]*\d", said[1]) == re.findall(r"[\d,]*\d", configs)[::-1]


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
    shutil.copytree(HOME, tmp_path / "copy", symlinks=True, copy_function=os.symlink, ignore=unwanted)
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
    assert re.search(r"^sft_bargains +train +\d", told, re.MULTILINE)
    assert re.search(r"^(\d+) of \1 checks passed", told, re.MULTILINE)


@pytest.mark.slow
def test_an_environment_is_added_as_its_page_says(follow):
    """Typed in with its commands: the audit finds nothing, rows come out and none is held back, the contract holds."""
    told = follow("add-an-environment.md")
    assert "orders are shown" in told
    assert re.search(r"^not solved: none$", told, re.MULTILINE)
    assert re.search(r"^cheated: none$", told, re.MULTILINE)
    assert re.search(r"^env_tasks +24 +- +0 ", told, re.MULTILINE)
    assert re.search(r"^\.{15,} +\[100%\]$", told, re.MULTILINE)


WRONG = (
    (
        "AnyOf(ends=[End(cart=[right])])",
        '["B01", "B02"]',
        "reorder.draw: acceptable expected AnyOf, OneOfEach, Parts or Infeasible, found a list of 2 str",
    ),
    (
        'Miss(breaks=["quantity"], end=End(cart=[wrong]))',
        '{"breaks": "quantity"}',
        "reorder.draw: nearest_miss expected Miss, found a dict with 'breaks'",
    ),
    (
        'refusals = ("sold_out",)',
        "refusals = ()",
        "reorder.draw: refusal expected one of [], its refusals, found 'sold_out'",
    ),
    ('name = "reorder"', 'name = "reorders"', "reorders.open: the phrase bank says nothing for …"),
    ("option.product_id,", "option.product,", "reorder.draw raised AttributeError: … object has no attribute …"),
    ("Counter(shop.cart)", "Counter(shop.carts)", "reorder.score raised AttributeError: … object has no attribute …"),
    (
        '"quantity": goal.quantity}',
        '"quantity": goal.quantity + 1}',
        "reorder.solve does not earn everything: the cart is not what was asked for",
    ),
    (
        "right = dict(held) == wanted",
        "right = sum(held.values()) == sum(wanted.values())",
        "its certificate lacks an end state that reorder.score calls a success",
    ),
    ("wrong = right.model_copy(", "wrong = right if right else right.model_copy(", "its nearest miss is a success"),
)
"""What is written instead of what the page says, and the reason for which a row is then held back."""
TRIED = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from shopwright.pipeline import gym
from shopwright.pipeline.checks import tasks as check
from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.stages.env_tasks import draw_solved_task
from shopwright.schemas.record import Rejected

world = gym.world()
shop = SimpleNamespace(cache={load_world_beside: world})
told = []
for number, (code, instead, _) in enumerate(json.loads(sys.argv[1])):
    text = Path("pipeline/envs/reorder.py").read_text()
    assert text.count(code) >= 1, code
    home = Path(f"reorder{number}.py")
    home.write_text(text.replace(code, instead))
    module = __import__(home.stem)
    all_envs()["reorder"] = module.Reorder()
    reasons = set()
    for seed in range(40):
        row = draw_solved_task(world, "reorder", 3, seed)
        if isinstance(row, Rejected):
            reasons |= set(row.reasons)
        else:
            checks = (check.acceptable_ends_are_successes, check.nearest_miss_fails, check.certificate_is_computed_twice)
            reasons |= {why for each in checks if (why := each(row, shop))}
    told.append(sorted(reasons))
print(json.dumps(told))
"""


@pytest.mark.slow
def test_an_environment_that_is_wrong_is_told_what_was_expected_and_what_was_found(follow, tmp_path):
    """Each of its methods in its own words, where a row of it is held back."""
    page = HOME / "docs" / "add-an-environment.md"
    for _, name, text in blocks(page):
        if name:
            (tmp_path / "copy" / name).write_text(text, encoding="utf-8")
    words = [sys.executable, "-c", TRIED, json.dumps(WRONG)]
    settings = {"PYTHONPATH": str(tmp_path / "copy")}
    done = subprocess.run(
        words, cwd=tmp_path / "copy", env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    for (code, _, reason), found in zip(WRONG, json.loads(done.stdout), strict=True):
        assert any(each.startswith(reason) for each in found), (code, found)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("trl") is None, reason="no trl here: `make test-trainers` installs it")
def test_the_tutorial_ends_with_a_trained_model(follow):
    told = follow("tutorial.md")
    first, last = re.search(r"loss ([\d.]+) -> ([\d.]+), model in build/tiny", told).groups()
    assert float(last) < float(first)
