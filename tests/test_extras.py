"""What needs a package of an extra says in one line how to install it, wherever the package is used; all else works without."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from shopwright.pipeline.extras import EXTRA_OF, explain_missing
from shopwright.pipeline.problem import Problem

HOME = Path(__file__).parents[1]
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = {"faiss": "faiss-cpu", "mcp_types": "mcp", "sentence_transformers": "sentence-transformers"}
"""Of modules that are called otherwise."""


@pytest.fixture
def without(monkeypatch):
    """As if a module were not installed."""
    return lambda module: monkeypatch.setitem(sys.modules, module, None)


def embed(name):
    from shopwright.pipeline.catalog.embed import open_embedder

    open_embedder(name)


def count_tokens(name):
    from shopwright.pipeline.tokens import tokenizer

    tokenizer(name)


def open_hub_source():
    from shopwright.pipeline.hub_files import download_from_hub

    download_from_hub("user/name", ["*.csv"], option="--source", copy="file:PATH")


def index_vectors():
    import numpy as np

    from shopwright.pipeline.catalog.nearest import build_faiss_index

    build_faiss_index(np.ones((2, 4), np.float16))


def open_hub():
    from shopwright.pipeline.publish.hub import Hub

    Hub("user/name")


def describe_columns():
    import pyarrow as pa

    from shopwright.pipeline.publish.exporters.forms import Config

    return Config("a", "", pa.schema([]), {}).features


def build_in_flow():
    from shopwright.flows.build import build_in_prefect

    build_in_prefect("catalog", "nowhere")


def open_pages():
    from shopwright.pipeline.playground.app import import_gradio

    import_gradio()


USES = [
    ("sentence_transformers", lambda: embed("sentence-transformers:x")),
    ("model2vec", lambda: embed("model2vec:x")),
    ("tokenizers", lambda: count_tokens("x")),
    ("huggingface_hub", open_hub_source),
    ("huggingface_hub", open_hub),
    ("datasets", describe_columns),
    ("faiss", index_vectors),
    ("prefect", build_in_flow),
    ("gradio", open_pages),
]


@pytest.mark.parametrize(("module", "use"), USES, ids=[f"{number} {module}" for number, (module, _) in enumerate(USES)])
def test_what_needs_a_package_says_how_to_install_it(without, module, use):
    without(module)
    with pytest.raises(Problem, match=re.escape(f"pip install 'shopwright[{EXTRA_OF[module]}]'")) as found:
        use()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("module", ["datasets", "huggingface_hub"])
def test_publishing_says_so_before_anything_is_checked(without, shopwright, small, tmp_path, module):
    without(module)
    code, out, err = shopwright("publish", small.folder, "--to", tmp_path / "hub")
    assert (code, out) == (2, "")
    assert err == f"shopwright: error: shopwright publish needs {module}. Install it: pip install 'shopwright[hub]'\n"


@pytest.mark.parametrize("module", ["build", "release", "serve", "deploy"])
def test_flows_say_so_in_one_line(tmp_path, module):
    words = {"build": ["catalog", "--run", f"{tmp_path}/run"], "release": ["everything", "--run", f"{tmp_path}/run"]}
    script = f"import sys; sys.modules['prefect'] = None; from shopwright.flows.{module} import main; sys.exit(main())"
    command = [sys.executable, "-c", script, *words.get(module, [])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.endswith("Install it: pip install 'shopwright[flows]'\n")


@pytest.mark.parametrize("module", sorted(EXTRA_OF))
def test_each_module_is_brought_by_its_extra_and_not_by_the_core(module):
    name = PACKAGES.get(module, module)
    assert name in {Requirement(line).name for line in PROJECT["optional-dependencies"][EXTRA_OF[module]]}
    assert name not in {Requirement(line).name for line in PROJECT["dependencies"]}


def test_every_file_that_imports_such_a_package_asks_for_it_first():
    """Or is only reached through one that does."""
    after = {  # file -> why nobody gets there without
        "pipeline/trainers/mcp.py": "serve.py asks",
        "pipeline/trainers/metrics.py": "nothing is counted where it is missing, and /metrics says what to install",
        "pipeline/trainers/openenv.py": "serve.py asks",
        **{f"flows/{name}.py": "build, deploy, deployed and serve ask" for name in ("artifacts", "limits")},
    }
    for path in [*(HOME / "pipeline").rglob("*.py"), *(HOME / "flows").rglob("*.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {name.partition(".")[0] for node in ast.walk(tree) for name in names_of(node)} & EXTRA_OF.keys()
        file = path.relative_to(HOME).as_posix()
        if imported and file not in after:
            calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "id")}
            assert calls & {"require", "prepare_prefect"} or file == "flows/prefect_settings.py", file


def names_of(node):
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) else []


def test_what_is_there_needs_nothing():
    assert explain_missing("packaging", "A test") == ""
