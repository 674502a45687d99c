"""What the source never does with data, what it depends on, and what its pages load; each exception stands here with its reason."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HOME = Path(__file__).parents[2]
CODE = sorted(path for top in ("pipeline", "flows", "schemas") for path in (HOME / top).rglob("*.py"))
PAGES = sorted(
    path
    for top in ("pipeline", "prompts")
    for kind in ("*.j2", "*.css", "*.js", "*.svg")
    for path in (HOME / top).rglob(kind)
)
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]

RUNS_DATA = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "extractall",
    "unpack_archive",
    "unsafe_load",
    "full_load",
    "from_string",
}
"""Names of functions that can turn data into doing, by whatever module they are reached."""
RUNS_DATA_OF = {
    ("os", "system"),
    ("os", "popen"),
    ("yaml", "load"),
    ("torch", "load"),
    ("pickle", "load"),
    ("pickle", "loads"),
    ("marshal", "loads"),
    ("tempfile", "mktemp"),
}
READS_CODE = {
    "pickle",
    "_pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "torch",
    "yaml",
    "tarfile",
    "zipfile",
    "code",
}
"""Modules whose reading runs or places what the data say."""
LOADS = {"import_module", "load_dataset", "from_pretrained", "SentenceTransformer", "snapshot_download"}
"""What loads code, or things from elsewhere, by name."""
ALLOWED = {
    ("pipeline/sandbox/execute.py", "exec"): "code of a model, in the process that docs/sandbox.md is about",
    ("pipeline/sandbox/execute.py", "eval"): "the same: the last expression of a block",
    ("pipeline/sandbox/execute.py", "compile"): "the same",
    ("pipeline/__main__.py", "import_module"): "only a command of its own list",
    ("pipeline/commands/evaluate.py", "import_module"): "only a command that the views of a stage name",
    ("pipeline/stage.py", "import_module"): "only a function that a stage's own file refers to",
    ("pipeline/stages/__init__.py", "import_module"): "the files of pipeline/stages, as they lie there",
    ("pipeline/prompts.py", "from_string"): "the halves of a file of prompts/, cut before any fact is in it",
    ("pipeline/envs/__init__.py", "import_module"): "the files of pipeline/envs, as they lie there",
    ("pipeline/catalog/sources/__init__.py", "import_module"): "only a name that is a file of pipeline/catalog/sources",
    ("pipeline/trainers/serve.py", "import_module"): "only the modules of the file's own table",
    ("pipeline/hub_files.py", "snapshot_download"): "data files of a catalog that was named, by their patterns",
    (
        "pipeline/catalog/tables/files.py",
        "zipfile",
    ): "one table of an archive is read as a stream, and nothing is unpacked by a name in it",
    ("pipeline/catalog/embed.py", "from_pretrained"): "an embedder that was named; model2vec reads safetensors",
    ("pipeline/tokens.py", "from_pretrained"): "a tokenizer that was named, which is JSON",
    ("pipeline/catalog/embed.py", "SentenceTransformer"): "an embedder that was named; no code of the Hub is run",
}


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            of = (
                node.func.value.id
                if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
                else ""
            )
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield of, name, {each.arg: getattr(each.value, "value", ...) for each in node.keywords}
        elif isinstance(node, ast.Name | ast.Attribute):  # handed on to be called elsewhere
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in LOADS:
                yield "", name, {}


def risks(text):
    """What stands in a source that could run data, load code, or switch a guard off."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.partition(".")[0] in READS_CODE)
    for of, name, given in calls(tree):
        if (name in RUNS_DATA and of != "re") or name in LOADS or (of, name) in RUNS_DATA_OF:
            yield name
        yield from (
            flag for flag in ("shell", "trust_remote_code", "allow_pickle") if given.get(flag) not in (None, False)
        )
        if given.get("verify") is False or given.get("ssl") is False:
            yield "verify"


def test_no_data_is_run_and_no_code_is_loaded_by_name():
    found = {
        (path.relative_to(HOME).as_posix(), risk) for path in CODE for risk in risks(path.read_text(encoding="utf-8"))
    }
    assert found == set(ALLOWED), "more: say why here; fewer: take it away here"


@pytest.mark.parametrize(
    "text",
    [
        "import pickle", "from yaml import load", "import torch.nn", "import numpy as np\nnp.load(x, allow_pickle=True)", "eval(x)",
        "import os\nos.system(x)", "import subprocess\nsubprocess.run(x, shell=True)", "datasets.load_dataset(x)", "zipped.extractall()",
        "load(SentenceTransformer, name)", "environment.from_string(row)", "requests.get(x, verify=False)",
        "AutoModel.from_pretrained(x, trust_remote_code=flag)",
    ],
)  # fmt: skip
def test_the_look_at_the_source_sees_each_of_these(text):
    assert list(risks(text))


def test_a_regular_expression_is_not_taken_for_code():
    assert not list(risks("import re\nre.compile(x)"))


def test_the_name_of_a_source_is_no_name_of_a_module(tmp_path, monkeypatch):
    from shopwright.pipeline.catalog.sources import BadSource, open_source

    monkeypatch.chdir(tmp_path)
    for name in ("os", "..file", "__init__", "file.os", "../../evil:x", "evil:x"):
        with pytest.raises(BadSource):
            open_source(name)


REMOTE = re.compile(
    r"""(?:src|href|action|srcset|poster|data)\s*=\s*["']?\s*(?:https?:)?//|url\(\s*["']?(?:https?:)?//|@import|import\s*\(|fetch\s*\(|XMLHttpRequest|WebSocket|sendBeacon""",
    re.IGNORECASE,
)


def test_no_page_loads_anything_from_elsewhere():
    """The card is a README on the Hub, and its links are for people; a row is copied by the address of its own link."""
    shown = [path for path in PAGES if path.name != "card.md.j2"]
    assert len(shown) > 20
    found = {path.relative_to(HOME).as_posix(): REMOTE.findall(path.read_text(encoding="utf-8")) for path in shown}
    assert {name: what for name, what in found.items() if what} == {"pipeline/browse/browse.js": ["fetch("]}
    assert "fetch(json.href)" in (HOME / "pipeline/browse/browse.js").read_text(encoding="utf-8")


def test_no_template_of_a_page_lets_text_through_as_it_is():
    safe = re.compile(r"\|\s*safe\b|\{%-?\s*autoescape")
    found = {path.relative_to(HOME).as_posix(): len(safe.findall(path.read_text(encoding="utf-8"))) for path in PAGES}
    assert {name: count for name, count in found.items() if count} == {}


UNBOUNDED = {"packaging": "its major number is the year, and everything else here bounds it"}


def requirements():
    asked = [
        *PROJECT["project"]["dependencies"],
        *(each for lines in EXTRAS.values() for each in lines),
        *PROJECT["build-system"]["requires"],
    ]
    found = [Requirement(each) for each in asked]
    return [each for each in found if each.name != "shopwright"]


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_dependency_has_an_upper_bound():
    open_ended = {
        each.name
        for each in requirements()
        if not any(part.operator in ("<", "<=", "==", "~=") for part in each.specifier)
    }
    assert open_ended == set(UNBOUNDED)


def test_no_dependency_comes_from_an_address():
    assert [each.name for each in requirements() if each.url] == []


ELSEWHERE = {
    *("vllm", "embedders", "train", "openenv", "mcp", "verifiers", "gymnasium", "ray", "learn"),
    *("inspect", "lm-eval", "nemo-gym", "skyrl"),
}
"""Extras that one environment cannot hold together with the others: their ranges are all there is."""


def pins():
    lines = (HOME / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def test_what_is_installed_by_default_is_pinned_within_its_range():
    asked = [
        *PROJECT["project"]["dependencies"],
        *(each for name, lines in EXTRAS.items() if name not in ELSEWHERE for each in lines),
    ]
    pinned = {}
    for pin in pins():
        (exact,) = pin.specifier
        assert exact.operator == "=="
        pinned.setdefault(plain(pin.name), []).append(exact.version)
    for wanted in map(Requirement, asked):
        if wanted.name != "shopwright":
            assert plain(wanted.name) in pinned, wanted.name
            assert all(wanted.specifier.contains(version) for version in pinned[plain(wanted.name)]), wanted.name


def test_every_extra_is_pinned_or_said_to_be_elsewhere():
    assert set(EXTRAS) >= ELSEWHERE
    assert set(EXTRAS) - ELSEWHERE == {"flows", "hub", "search", "play", "metrics", "dask", "s3", "dev"}


def test_what_make_setup_installs_is_bound_by_hashes_of_the_pinned_releases():
    found = {
        name: (HOME / name).read_text(encoding="utf-8").replace("\\\n", " ") for name in ("hashes.txt", "tools.txt")
    }
    for name, whole in found.items():
        assert all("--hash=sha256:" in line for line in whole.splitlines()), name
    release = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    hashed = {(plain(name), version) for name, version in release.findall(found["hashes.txt"])}
    assert {(plain(each.name), next(iter(each.specifier)).version) for each in pins()} <= hashed
    assert {name for name, _ in release.findall(found["tools.txt"])} == {"pip", "setuptools", "uv"}
    setup = (HOME / "Makefile").read_text(encoding="utf-8").partition("$(READY): ")[2].partition("\n\n")[0]
    for line in setup.splitlines():
        assert "pip install" not in line or "--require-hashes" in line or "--no-deps --no-build-isolation" in line, line


def test_the_targets_of_make_install_by_the_pins():
    for line in (HOME / "Makefile").read_text(encoding="utf-8").splitlines():
        # The trainers stand in an environment of their own, because transformers wants an older tokenizers than our pin.
        if "pip install" in line and "'.[" in line and ".venv-trainers" not in line:
            assert "--constraint constraints.txt" in line, line
