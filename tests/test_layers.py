"""Who may import whom. Imports point down:

__main__ · flows                            over everything
commands                                    what can be typed, and what it prints
playground                                  the situations as pages to be played in
publish · browse · verify · preview · recipe · gym · trainers   over a run
run · shards · hands · runners · progress
stages                                      never one another: they meet through datasets
checks                                      what must be true, of events and of questions
envs                                        situations in the shop, and episodes of them
rollouts · shopping · behaviors             answering from files; finding the one product; what a shopper does next
rewards                                     what an attempt earned
questions                                   tree, SQL, answers, words, engines
sandbox
shop · catalog · render · models
words · budgets · tokens · prompts · arrow · dataset · files · stage · problem
schemas                                     imports pydantic only
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
FILES = [path for top in ("schemas", "pipeline", "flows") for path in (HOME / top).rglob("*.py")]
CODE = sorted(path for path in FILES if path.name != "__init__.py" or path.stat().st_size)
FOUNDATION = ("words", "budgets", "tokens", "prompts", "arrow", "dataset", "files", "stage", "problem")
LAYERS = [
    ("schemas",),
    tuple(f"pipeline.{name}" for name in FOUNDATION),
    ("pipeline.shop", "pipeline.catalog", "pipeline.render", "pipeline.models"),
    ("pipeline.sandbox",),
    ("pipeline.questions",),
    ("pipeline.rewards",),
    ("pipeline.rollouts", "pipeline.shopping", "pipeline.behaviors"),
    ("pipeline.envs",),
    ("pipeline.checks",),
    ("pipeline.stages",),
    ("pipeline.run", "pipeline.shards", "pipeline.hands", "pipeline.runners", "pipeline.progress"),
    (
        "pipeline.publish",
        "pipeline.browse",
        "pipeline.verify",
        "pipeline.preview",
        "pipeline.recipe",
        "pipeline.gym",
        "pipeline.trainers",
    ),
    ("pipeline.playground",),
    ("pipeline.commands",),
    ("pipeline.__main__", "flows"),
]
HEAVY = {
    "vllm",
    "aiohttp",
    "datasets",
    "faiss",
    "duckdb",
    "tokenizers",
    "huggingface_hub",
    "rich",
    "prefect",
    "pandas",
    "sqlglot",
    "gradio",
    "distributed",
    "ray",
    "upath",
    "playwright",
}
every_file = pytest.mark.parametrize("path", CODE, ids=lambda path: path.relative_to(HOME).as_posix())


def module(path):
    return ".".join(path.relative_to(HOME).with_suffix("").parts).removesuffix(".__init__")


def imports(path, *, at_the_top=False):
    """The modules that a file imports, as they are written; with `from pipeline import stages` in full."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for scope in ast.walk(tree)
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(scope)
    }
    found = set()
    for node in ast.walk(tree):
        if at_the_top and id(node) in inside:
            continue
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names = {f"{node.module}.{name.name}" for name in node.names}
            found |= {name for name in names if is_module(name)} or {node.module}
    return found


def is_module(name):
    path = HOME.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def layer(name):
    for height, packages in enumerate(LAYERS):
        if any(name == package or name.startswith(f"{package}.") for package in packages):
            return height
    return None


@every_file
def test_a_file_opens_with_a_sentence(path):
    said = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
    assert re.search(r"[.:]$", said), said
    assert said[0].isupper() or said[0] in "`"


@every_file
def test_every_file_has_its_place_in_the_picture(path):
    assert layer(module(path)) is not None


@every_file
def test_imports_point_down(path):
    here = layer(module(path))
    for name in imports(path):
        if name.partition(".")[0] in ("schemas", "pipeline", "flows") and layer(name) is not None:
            assert layer(name) <= here, f"{module(path)} imports {name}"


def test_stages_never_import_each_other():
    for path in (HOME / "pipeline" / "stages").glob("*.py"):
        assert not {name for name in imports(path) if name.startswith("pipeline.stages")}


def test_records_know_nothing_but_pydantic():
    for path in (HOME / "schemas").glob("*.py"):
        outside = {name.partition(".")[0] for name in imports(path)} - sys.stdlib_module_names
        assert outside <= {"pydantic", "schemas"}


def test_prefect_stays_in_flows():
    assert any("prefect" in name for path in CODE for name in imports(path) if module(path).startswith("flows"))
    for path in CODE:
        if not module(path).startswith("flows"):
            assert not {name for name in imports(path) if name.partition(".")[0] == "prefect"}, path


@every_file
def test_heavy_ones_wait_until_they_are_used(path):
    assert not {name.partition(".")[0] for name in imports(path, at_the_top=True)} & HEAVY


@pytest.mark.parametrize("name", ["pipeline.__main__", "flows.build"])
def test_starting_loads_none_of_the_heavy_ones(name):
    """The parser needs every stage, and so do worker processes; measured, whoever imports them."""
    script = f"import {name}; from pipeline.stages import all_stages; all_stages()"
    words = [sys.executable, "-X", "importtime", "-c", script]
    told = subprocess.run(words, cwd=HOME, check=True, capture_output=True, text=True).stderr
    modules = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    loaded = {module.partition(".")[0] for module in modules}
    assert {"pipeline", "pydantic", "pyarrow"} <= loaded
    assert not loaded & HEAVY
    assert not modules & {"pipeline.publish.command", "pipeline.trainers.serve"}


def test_the_picture_sees_an_import_that_points_up(tmp_path):
    (tmp_path / "one.py").write_text(
        "def f():\n    from pipeline import run\nimport pipeline.stages.catalog\nimport duckdb\n"
    )
    assert imports(tmp_path / "one.py") == {"pipeline.run", "pipeline.stages.catalog", "duckdb"}
    assert imports(tmp_path / "one.py", at_the_top=True) == {"pipeline.stages.catalog", "duckdb"}
    assert layer("pipeline.stages.catalog") > layer("pipeline.checks.events") > layer("schemas.shop")
