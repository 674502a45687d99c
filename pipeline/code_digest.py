"""What decides the rows of a dataset, in digests: the code that its stage reaches, the prompts and the reference data that this code names.

A comment, a docstring, the layout of a file, another stage and what only shows rows change nothing here, so that a run that was begun
before such a change goes on after it.
"""

import ast
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from shopwright.pipeline.dataset import digest
from shopwright.pipeline.files import write_whole
from shopwright.pipeline.stage import Stage

HOME = Path(__file__).parents[1]
PACKAGE = "shopwright"
# Files and folders that decide no row.
ONLY_SHOW = {
    *("__main__.py", "code_digest.py", "migrations.py", "progress.py", "schema_steps.py", "verify.py"),
    *("commands", "publish", "browse", "playground", "trainers"),
}
# Makes the shards of every dataset, whatever its stage imports.
MACHINERY = "pipeline/shards.py"
# Files whose docstrings are said in rows: the manual of the shop's tools, and what a shape of question asks.
SAID = ("pipeline/shop/tools.py", "pipeline/questions/")
NAME = re.compile(r"[\w-]+")
# What it leaves are the signs that take white space away.
COMMENT = re.compile(r"\{#([-+]?).*?([-+]?)#\}", re.DOTALL)
TAKEN_IN = re.compile(r"""["']([\w/.-]+\.j2)["']""")
# Reading the syntax of all files takes some seconds. This lies beside what Python keeps of them itself, or with the user's own.
BESIDE = Path(importlib.util.cache_from_source(__file__)).parent
# "~" where there is none, as in a container whose user is a number alone.
HOME_OF_USER = os.path.expanduser("~")
KEEP_BESIDE = os.access(BESIDE, os.W_OK) or HOME_OF_USER == "~"
CACHE = (BESIDE if KEEP_BESIDE else Path(HOME_OF_USER, ".cache", PACKAGE)) / "code_digest.json"


@dataclass(frozen=True)
class Source:
    """What a file of code is to a digest."""

    digest: str
    """Of its syntax, without docstrings where they only explain."""
    modules: list[str]
    """Of this package, that it may import; a name behind `from ... import` may be a module or not."""
    names: list[str]
    """Prompts and reference data that its strings may name: files, their stems, their folders."""
    lists_folder: bool
    """Whether it finds the modules beside it by looking, so that each of them is reached."""


@cache
def digest_code(stage: Stage) -> dict[str, str]:
    """What decides the rows of this stage, as a digest for each part of the project, `pipeline/world` for example."""
    sources, assets = read_sources(), list_assets()
    module = stage.function.__module__
    reached = reach_code([MACHINERY, *filter(None, [find_file(sources, module)])], sources)
    parts: dict[str, list[str]] = {}
    for path in sorted(reached):
        parts.setdefault(part_of(path), []).append(f"{path} {sources[path].digest}")
    named = {name for each in reached for name in sources[each].names}
    for path in sorted(reach_assets({stage.name} | named, sources, assets)):
        parts.setdefault(part_of(path), []).append(f"{path} {digest(read_asset(path))}")
    return {part: digest("\n".join(lines)) for part, lines in sorted(parts.items())}


def read_asset(path: str) -> str:
    """Its text, without what a comment of a template says: no prompt has it."""
    text = (HOME / path).read_text("utf-8")
    return COMMENT.sub(r"{#\1\2#}", text) if path.endswith(".j2") else text


def part_of(path: str) -> str:
    """
    >>> part_of("pipeline/world/lives.py"), part_of("pipeline/run.py"), part_of("data/reference/kinds.toml")
    ('pipeline/world', 'pipeline', 'data/reference')
    """
    parts = path.split("/")
    return "/".join(parts[: min(2, len(parts) - 1)])


def reach_code(roots: Iterable[str], sources: Mapping[str, Source]) -> set[str]:
    """The files that these import, and those import, and so on."""
    reached: set[str] = set()
    waiting = list(roots)
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += list_imported_files(path, sources)
    return reached


def list_imported_files(path: str, sources: Mapping[str, Source]) -> Iterator[str]:
    for module in sources[path].modules:
        parts = module.split(".")
        found = (find_file(sources, ".".join(parts[:count])) for count in range(2, len(parts) + 1))
        yield from filter(None, found)
    # A dataset is one file of `pipeline/stages`, and the others are other datasets.
    if sources[path].lists_folder and path != "pipeline/stages/__init__.py":
        yield from (each for each in sources if Path(each).parent == Path(path).parent)


def find_file(sources: Mapping[str, Source], module: str) -> str:
    """
    >>> find_file(read_sources(), "shopwright.pipeline.world"), find_file(read_sources(), "json")
    ('pipeline/world/__init__.py', '')
    """
    path = module.removeprefix(f"{PACKAGE}.").replace(".", "/")
    return next((each for each in (f"{path}.py", f"{path}/__init__.py") if each in sources), "")


# --- prompts and reference data ------------------------------------------------------------------------------------------


@cache
def list_assets() -> dict[str, frozenset[str]]:
    """Each file of the prompts and the reference data, with the names that code may know it by."""
    found = {}
    for folder, pattern in (("prompts", "*.j2"), ("data/reference", "*.*")):
        for path in sorted((HOME / folder).rglob(pattern)):
            if path.is_file():
                inside = path.relative_to(HOME / folder).parts
                stem = path.name.partition(".")[0]
                found[path.relative_to(HOME).as_posix()] = frozenset({*inside[:-1], stem})
    return found


def reach_assets(named: set[str], sources: Mapping[str, Source], assets: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """The files that one of these names is of, and those whose names stand nowhere: somebody may read them by looking.

    A template takes in others under their names.
    """
    everywhere = {name for source in sources.values() for name in source.names}
    waiting = [path for path, names in assets.items() if names & named]
    while waiting:
        path = waiting.pop()
        for taken_in in TAKEN_IN.findall((HOME / path).read_text("utf-8")) if path.endswith(".j2") else ():
            name = Path(taken_in).name.partition(".")[0]
            waiting += [each for each, names in assets.items() if name in names and not names & named]
            named = named | {name}
    return (path for path, names in assets.items() if names & named or not names & everywhere)


# --- files of code -------------------------------------------------------------------------------------------------------


@cache
def read_sources() -> dict[str, Source]:
    """Every file of code that may decide a row."""
    names = frozenset().union(*list_assets().values())
    salt = digest(Path(__file__).read_text("utf-8") + "\n".join(sorted(names)))
    known = read_cache()
    found, keys = {}, {}
    for folder in ("pipeline", "schemas"):
        for path in sorted((HOME / folder).rglob("*.py")):
            inside = path.relative_to(HOME)
            if not ONLY_SHOW & {*inside.parts}:
                text = path.read_text("utf-8")
                key = keys[inside.as_posix()] = f"{inside.as_posix()} {salt} {digest(text)}"
                found[inside.as_posix()] = known.get(key) or read_source(inside.as_posix(), text, names)
    if not set(keys.values()) <= known.keys():
        with suppress(OSError):  # nobody may write in either: it is only slower
            write_whole(CACHE, json.dumps({keys[path]: asdict(source) for path, source in found.items()}))
    return found


def read_cache() -> dict[str, Source]:
    try:
        return {key: Source(**source) for key, source in json.loads(CACHE.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def read_source(path: str, text: str, names: frozenset[str]) -> Source:
    """
    >>> read_source("pipeline/x.py", "from shopwright.pipeline import files  # a comment", frozenset()).modules
    ['shopwright.pipeline', 'shopwright.pipeline.files']
    """
    tree = ast.parse(text)
    if not path.startswith(SAID):
        drop_docstrings(tree)
    strings = list(list_strings(tree))
    words = {name for each in strings for name in NAME.findall(each)}
    return Source(
        digest(repr(outline(tree))),
        sorted({*list_imports(tree), *(each for each in strings if each.startswith(f"{PACKAGE}."))}),
        sorted(words & names),
        any(isinstance(node, ast.Attribute) and node.attr == "iter_modules" for node in ast.walk(tree)),
    )


def list_strings(tree: ast.AST) -> Iterator[str]:
    """Those that may be names or paths: without spaces, or lists that the code splits at spaces."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not re.search(r"\s", node.value):
            yield node.value
        elif isinstance(node, ast.Attribute) and node.attr in ("split", "splitlines"):
            yield from (
                each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )


def list_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.startswith(f"{PACKAGE}."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{PACKAGE}."):
            yield node.module or ""
            yield from (f"{node.module}.{each.name}" for each in node.names)


def drop_docstrings(tree: ast.AST) -> None:
    """Texts that stand alone go: docstrings of modules, classes and functions, and those behind a field."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, field, [each for each in value if not is_lone_text(each)])


def is_lone_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def outline(node: object) -> object:
    """The syntax as nested tuples, the same in every version of Python: those differ in which empty fields they have."""
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return (type(node).__name__, *((name, outline(value)) for name, value in fields))
    return tuple(map(outline, node)) if isinstance(node, list) else node
