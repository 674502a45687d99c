"""Figures of the code's names and density: `make metrics`, or `python -m tests.metrics` with options.

| row | what is counted |
| --- | --- |
| homonyms | module functions whose name another file's module function has too, in percent of all module functions |
| participles | functions named by one bare participle (`told`, `kept`, `merged`), in percent of all functions |
| comments | lines with a comment, in percent of lines of code |
| density | statements and expressions for each line of code |
| nested | comprehensions that hold another one or have two `for`, for each 1,000 lines of code |
| called once | module functions of five lines or fewer that are named in one place, where they are called |
| names DATASET | files that hold the dataset's name as a quoted word |
"""

import argparse
import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

HOME = Path(__file__).parents[1]
ROOTS = [HOME / name for name in ("pipeline", "flows", "schemas")]
DATASETS = ("questions", "shopping_tasks", "behavior_steps")
HOOKS = frozenset({"add", "run", "main", "__getattr__"})
"""Names that a caller expects of many modules, so they are shared on purpose."""
SHORT = 5  # lines of a function that is better read where it is called
IRREGULAR = frozenset(
    "begun bent bought broken brought built caught chosen come dealt done drawn driven due fallen felt fought found given gone "
    "grown heard held hidden kept known laid left lent lost made meant met paid read said seen sent shown slept sold sought "
    "spent spoken taught thought told torn tried understood worn written".split()
)
VERBS = frozenset({"embed", "feed", "need", "read", "seed", "speed", "come"})
"""Verbs and nouns that look like a participle."""
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Source:
    """A Python file."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def module_functions(self) -> list[Function]:
        return [node for node in self.tree.body if isinstance(node, Function)]

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))

    def count_lines_of(self, *, comments: bool) -> int:
        """Lines that hold a comment, or those that hold code."""
        if comments:
            return len({each.start[0] for each in self.tokens if each.type == tokenize.COMMENT})
        return len({each.start[0] for each in self.tokens if each.type not in NO_CODE})


def read_sources(*roots: Path) -> list[Source]:
    paths = [path for root in roots for path in sorted(root.rglob("*.py"))]
    return [Source(path, path.read_text(encoding="utf-8")) for path in paths]


def list_homonyms(sources: Sequence[Source], ignore: frozenset[str] = HOOKS) -> dict[str, int]:
    """Names of module functions that more than one file has, with the number of files."""
    files = Counter(name for source in sources for name in {each.name for each in source.module_functions})
    return {name: count for name, count in files.most_common() if count > 1 and name not in ignore}


def homonym_share(sources: Sequence[Source], ignore: frozenset[str] = HOOKS) -> float:
    names = [{each.name for each in source.module_functions} for source in sources]
    return percent(sum(list_homonyms(sources, ignore).values()), sum(map(len, names)))


def is_participle(name: str) -> bool:
    """
    >>> [name for name in ("told", "_kept", "merged", "feed", "read", "is_sold", "sold_out") if is_participle(name)]
    ['told', '_kept', 'merged']
    """
    word = name.strip("_")
    return word not in VERBS and "_" not in word and (word in IRREGULAR or word.endswith("ed"))


def list_functions(sources: Sequence[Source]) -> list[str]:
    """Names of all functions and methods but the double-underscored ones."""
    found = [node.name for source in sources for node in source.nodes if isinstance(node, Function)]
    return [name for name in found if not name.startswith("__")]


def participle_share(sources: Sequence[Source]) -> float:
    names = list_functions(sources)
    return percent(sum(map(is_participle, names)), len(names))


def list_called_once(sources: Sequence[Source]) -> list[str]:
    """Short module functions whose name stands in one place only, as the function of a call; `path:line name`."""
    nodes = [node for source in sources for node in source.nodes]
    named = Counter(name for node in nodes if (name := name_of(node)))
    called = Counter(name for node in nodes if isinstance(node, ast.Call) and (name := name_of(node.func)))
    return [
        f"{source.path}:{each.lineno} {each.name}"
        for source in sources
        for each in source.module_functions
        if named[each.name] == called[each.name] == 1 and count_lines(each) <= SHORT and not each.decorator_list
    ]


def name_of(node: ast.AST) -> str:
    """The name that an expression uses: `f` of `f` and of `module.f`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def count_lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def is_nested(node: ast.AST) -> bool:
    """A comprehension that takes a second reading: one with another inside, or with two `for`."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    inner = (each for each in ast.walk(node) if each is not node)
    return len(node.generators) > 1 or any(isinstance(each, COMPREHENSIONS) for each in inner)


def names_dataset(source: Source, dataset: str) -> bool:
    return re.search(rf"""["']{dataset}["']""", source.text) is not None


def percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def measure(roots: Sequence[Path], tests: Path) -> Iterator[tuple[str, str, str]]:
    """The table: what, the figure, the goal."""
    sources = read_sources(*roots)
    nodes = [node for source in sources for node in source.nodes]
    code = sum(source.count_lines_of(comments=False) for source in sources) or 1
    comments = sum(source.count_lines_of(comments=True) for source in sources)
    yield "homonyms", f"{homonym_share(sources, frozenset()):.1f} %", ""
    yield "homonyms outside protocol hooks", f"{homonym_share(sources):.1f} %", "<= 10 %"
    yield "participles", f"{participle_share(sources):.1f} %", "<= 3 %"
    yield "comments / code", f"{percent(comments, code):.1f} %", ">= 3 %"
    yield "density", f"{sum(isinstance(node, (ast.expr, ast.stmt)) for node in nodes) / code:.2f}", "<= 5"
    yield "nested comprehensions / 1,000 lines", f"{1000 * sum(map(is_nested, nodes)) / code:.1f}", "<= 2"
    yield f"called once, {SHORT} lines or fewer", f"{len(list_called_once(sources)):,}", "<= 82"
    yield "lines", f"{count_file_lines(sources):,}", "<= 40,000"
    yield "lines of tests", f"{count_file_lines(read_sources(tests)):,}", "<= 35,000"
    for name in DATASETS:
        yield f"files that name {name}", f"{sum(names_dataset(source, name) for source in sources)}", "<= 4"


def count_file_lines(sources: Sequence[Source]) -> int:
    return sum(source.text.count("\n") for source in sources)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--list", action="store_true", help="list homonyms and short functions called once as well")
    wanted = options.parse_args()
    for what, figure, goal in measure(ROOTS, HOME / "tests"):
        print(f"{what:38} {figure:>8}   {goal}")
    if wanted.list:
        sources = read_sources(*ROOTS)
        print("\nhomonyms:", ", ".join(f"{name} {count}" for name, count in list_homonyms(sources).items()))
        print("\n".join(["", "called once:", *list_called_once(sources)]).replace(f"{HOME}/", ""))


if __name__ == "__main__":
    main()
