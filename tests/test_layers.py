"""Who may import whom. Imports point down:

__main__ · flows                            over everything
commands                                    what can be typed, and what it prints
playground                                  the situations as pages to be played in
publish · browse · verify · preview · recipe · gym · trainers   over a run
run · shards · worker_pool · forks · runners · progress
stages                                      never one another: they meet through datasets
checks · proofs · experts                   what must be true, of events and of questions; players that see only what an agent sees
envs                                        situations in the shop, and episodes of them
rollouts · shopping · behaviors             answering from files; finding the one product; what a shopper does next
rewards                                     what an attempt earned
questions                                   tree, SQL, answers, words, engines
sandbox
world · shop · catalog · render · models · evaluate (shares, tables, results kept: what every evaluation has in common)
words · languages · phrases · reading · budget_names · tokens · prompts · arrow · dataset · files · shop_cache · stage · extras · hub_files · problem · rubbish
schemas                                     imports pydantic only
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
FILES = [path for top in ("schemas", "pipeline", "flows") for path in (HOME / top).rglob("*.py")]
CODE = sorted(path for path in FILES if path.name != "__init__.py" or path.stat().st_size)
FOUNDATION = (
    "held_out",
    "words",
    "languages",
    "phrases",
    "reading",
    "budget_names",
    "tokens",
    "prompts",
    "arrow",
    "dataset",
    "files",
    "shop_cache",
    "schema_steps",
    "stage",
    "extras",
    "hub_files",
    "problem",
    "rubbish",
)
LAYERS = [
    ("shopwright.schemas",),
    tuple(f"shopwright.pipeline.{name}" for name in FOUNDATION),
    (
        "shopwright.pipeline.world",
        "shopwright.pipeline.shop",
        "shopwright.pipeline.catalog",
        "shopwright.pipeline.render",
        "shopwright.pipeline.models",
        "shopwright.pipeline.evaluate",
    ),
    ("shopwright.pipeline.sandbox",),
    ("shopwright.pipeline.questions",),
    ("shopwright.pipeline.rewards",),
    ("shopwright.pipeline.rollouts", "shopwright.pipeline.shopping", "shopwright.pipeline.behaviors"),
    ("shopwright.pipeline.envs",),
    ("shopwright.pipeline.checks", "shopwright.pipeline.proofs", "shopwright.pipeline.experts"),
    ("shopwright.pipeline.stages",),
    (
        "shopwright.pipeline.run",
        "shopwright.pipeline.code_digest",
        "shopwright.pipeline.migrations",
        "shopwright.pipeline.shards",
        "shopwright.pipeline.worker_pool",
        "shopwright.pipeline.forks",
        "shopwright.pipeline.runners",
        "shopwright.pipeline.progress",
    ),
    (
        "shopwright.pipeline.publish",
        "shopwright.pipeline.browse",
        "shopwright.pipeline.verify",
        "shopwright.pipeline.preview",
        "shopwright.pipeline.recipe",
        "shopwright.pipeline.gym",
        "shopwright.pipeline.trainers",
    ),
    ("shopwright.pipeline.playground",),
    ("shopwright.pipeline.commands",),
    ("shopwright.pipeline.__main__", "shopwright.flows"),
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


BLOCKS = (ast.ExceptHandler, ast.match_case)
"""What holds statements and is none."""


@cache
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def module(path):
    return ".".join(("shopwright", *path.relative_to(HOME).with_suffix("").parts)).removesuffix(".__init__")


@cache
def imports(path, *, at_the_top=False):
    """The modules that a file imports, as they are written; with `from shopwright.pipeline import stages` in full."""
    nodes, found = [parse(path)], set()
    while nodes:
        node = nodes.pop()
        if at_the_top and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        nodes += (each for each in ast.iter_child_nodes(node) if isinstance(each, (ast.stmt, *BLOCKS)))
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


def test_a_file_opens_with_a_sentence():
    for path in CODE:
        said = (ast.get_docstring(parse(path)) or "").partition("\n\n")[0]
        assert re.search(r"[.:]$", said), path
        assert said[0].isupper() or said[0] in "`", path


def test_every_file_has_its_place_in_the_picture():
    assert [path for path in CODE if layer(module(path)) is None] == []


def test_imports_point_down():
    for path in CODE:
        here = layer(module(path))
        up = [name for name in imports(path) if (layer(name) or 0) > here]
        assert not up, f"{module(path)} imports {up}"


@pytest.mark.parametrize("top", ["pipeline", "schemas", "flows", "tests", "benchmarks", "docs"])
def test_the_package_is_imported_by_its_name_alone(top):
    """A file imported as `pipeline.run` and as `shopwright.pipeline.run` would be two modules with two of every class."""
    for path in (HOME / top).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) (pipeline|schemas|flows)\b", text, re.MULTILINE), path


def test_stages_never_import_each_other():
    for path in (HOME / "pipeline" / "stages").glob("*.py"):
        assert not {name for name in imports(path) if name.startswith("shopwright.pipeline.stages")}


def test_records_know_nothing_but_pydantic():
    for path in (HOME / "schemas").glob("*.py"):
        outside = {name.partition(".")[0] for name in imports(path)} - sys.stdlib_module_names
        assert outside <= {"pydantic", "shopwright"}
        assert all(name.startswith("shopwright.schemas") for name in imports(path) if name.startswith("shopwright"))


def test_prefect_stays_in_flows():
    assert any(
        "prefect" in name for path in CODE for name in imports(path) if module(path).startswith("shopwright.flows")
    )
    for path in CODE:
        if not module(path).startswith("shopwright.flows"):
            assert not {name for name in imports(path) if name.partition(".")[0] == "prefect"}, path


def test_heavy_ones_wait_until_they_are_used():
    for path in CODE:
        assert not {name.partition(".")[0] for name in imports(path, at_the_top=True)} & HEAVY, path


@pytest.mark.parametrize("name", ["shopwright.pipeline.__main__", "shopwright.flows.build"])
def test_starting_loads_none_of_the_heavy_ones(name):
    """The parser needs every stage, and so do worker processes; measured, whoever imports them."""
    script = f"import {name}; from shopwright.pipeline.stages import all_stages; dict(all_stages())"
    words = [sys.executable, "-X", "importtime", "-c", script]
    told = subprocess.run(words, cwd=HOME, check=True, capture_output=True, text=True).stderr
    modules = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    loaded = {module.partition(".")[0] for module in modules}
    assert {"shopwright", "pydantic", "pyarrow"} <= loaded
    assert not loaded & HEAVY
    assert not modules & {"shopwright.pipeline.publish.command", "shopwright.pipeline.trainers.serve"}


def test_the_picture_sees_an_import_that_points_up(tmp_path):
    (tmp_path / "one.py").write_text(
        "def f():\n    from shopwright.pipeline import run\nimport shopwright.pipeline.stages.catalog\nimport duckdb\n"
    )
    assert imports(tmp_path / "one.py") == {"shopwright.pipeline.run", "shopwright.pipeline.stages.catalog", "duckdb"}
    assert imports(tmp_path / "one.py", at_the_top=True) == {"shopwright.pipeline.stages.catalog", "duckdb"}
    assert (
        layer("shopwright.pipeline.stages.catalog")
        > layer("shopwright.pipeline.checks.trajectories")
        > layer("shopwright.schemas.shop")
    )


def test_a_dataset_is_built_without_the_files_of_those_that_it_is_not_made_from():
    script = (
        "import sys; from shopwright.pipeline.__main__ import parse_arguments; "
        "parse_arguments(['build', 'personas', '--count', '2']); "
        "print(*(name for name in sys.modules if name.startswith('shopwright.pipeline.stages.')))"
    )
    told = subprocess.run([sys.executable, "-c", script], cwd=HOME, check=True, capture_output=True, text=True).stdout
    assert {name.rpartition(".")[2] for name in told.split()} == {"catalog", "personas"}
