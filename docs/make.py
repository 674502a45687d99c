"""Writes the pages of the datasets, `docs/datasets/`, from schemas and stages, and the README's picture: `python -m docs.make`.

It builds a small run for their rows, some 30 s; a test holds that the pages are what is made here.
"""

import ast
import inspect
import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from types import NoneType, UnionType
from typing import Any, Literal, NewType, Union, get_args, get_origin

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import BaseModel

from docs.picture import draw_picture
from shopwright.pipeline.code_digest import HOME
from shopwright.pipeline.commands.build import build_example
from shopwright.pipeline.commands.output import format_option_value
from shopwright.pipeline.evaluate.realism.figures import GOALS
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Check
from shopwright.pipeline.stages import all_stages

FOLDER = Path(__file__).parent
SMALL: dict[str, Any] = {"products": 1_200, "count": 20, "tokens": "6k", "per_trajectory": 4}
# Of datasets that a small run holds beside questions.
FEW: dict[str, dict[str, Any]] = {
    "env_tasks": {"count": 1, "levels": "0,3"},
    "catalog_fine": {"leaves": 1},
    "shopping_tasks": {"count": 24, "personal": 14},
    "behaviors": {"sessions": 60},
    # All four families take a minute; the tests of the stage make them.
    "phrases": {"families": "behaviors,rollouts", "per_template": 1},
}
PLAIN = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Decimal: "decimal",
    date: "day",
    datetime: "time",
    NoneType: "none",
    Any: "anything",
}
LONGEST, MOST, DEEPEST = 140, 2, 3
"""Characters of a text, items of a list, and lists inside one another, that are shown of a row."""


def fill_figures(page: str) -> str:
    """The page on realism with what the code says of each figure."""
    begin, end = "<!-- figures: made by python -m docs.make -->", "<!-- end of figures -->"
    head, tail = page.partition(begin)[0], page.partition(end)[2]
    rows = [
        f"| {goal.name.strip()} | {goal.definition} | {goal.goal} | {goal.source if goal.goal else ''} |"
        for goal in GOALS.values()
    ]
    return "\n".join(
        [
            head + begin,
            "",
            "| figure | what it is | goal | source |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
            end + tail,
        ]
    )


def main() -> None:
    with TemporaryDirectory() as folder:
        run = small_run(folder)
        made, picture = pages(run), draw_picture(run)
    (FOLDER / "picture.svg").write_text(picture, encoding="utf-8")
    for name, page in made.items():
        (FOLDER / "datasets" / f"{name}.md").write_text(page, encoding="utf-8")
    realism = FOLDER / "realism.md"
    realism.write_text(fill_figures(realism.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{len(made)} pages in {FOLDER / 'datasets'}")


def small_run(folder: str | Path, workers: int | None = None) -> Run:
    """Some rows of every dataset; the tests look at the same."""
    run = Run(folder, seed=3, workers=workers)
    run.build("questions", **SMALL)
    for name in all_stages():
        if run.read(name).manifest is None:
            run.build(name, **FEW.get(name, {}))
    return run


def pages(run: Run) -> dict[str, str]:
    """The text of each dataset's page, with a row of this run."""
    return {name: page(name, run.read(name).head(1)[0]) for name in all_stages()}


def page(name: str, row: BaseModel) -> str:
    stage = all_stages()[name]
    found = Environment(
        loader=FileSystemLoader(FOLDER), trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    text = found.get_template("dataset.md.j2").render(
        name=name,
        stage=stage,
        readers=[other for other, found in all_stages().items() if name in found.reads],
        code=place(stage.function),
        schema=place(stage.makes),
        example=build_example(name),
        kinds=[described(kind) for kind in dict.fromkeys(kinds(stage.makes))],
        settings=[setting(each) for each in stage.settings.values()],
        checks=[check(each) for each in stage.checks],
        across=[check(each) for each in stage.across],
        sample=json.dumps(shortened(row.model_dump(mode="json")), indent=2, ensure_ascii=False),
    )
    return "\n".join(line.rstrip() for line in tidy(text.splitlines())) + "\n"


def tidy(lines: list[str]) -> Iterator[str]:
    """No two empty lines after one another, and none at the end."""
    last = max(place for place, line in enumerate(lines) if line.strip())
    for place, line in enumerate(lines[: last + 1]):
        if line.strip() or (place and lines[place - 1].strip()):
            yield line


def place(found: Any) -> str:
    return Path(inspect.getfile(found)).relative_to(HOME).as_posix()


def setting(found: Any) -> dict[str, str]:
    default = format_option_value(found.default)
    return {
        "flag": f"--{found.name.replace('_', '-')}",
        "default": f"`{default}`" if default not in ("", "{}", "None") else "",
        "about": cell(found.about),
    }


def check(found: Check) -> dict[str, str]:
    """A check may be one that was made with some of its arguments."""
    plain = inspect.unwrap(getattr(found, "func", found))
    return {"name": plain.__name__, "about": first_sentence(plain)}


def first_sentence(found: Any) -> str:
    return cell((inspect.getdoc(found) or "").partition("\n")[0])


def kinds(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A record, and the parts that it holds."""
    yield kind
    for field in kind.model_fields.values():
        for part in parts(field.annotation):
            yield from kinds(part)


def parts(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from parts(inner)


def described(kind: type[BaseModel]) -> dict[str, Any]:
    told = manual(kind)
    rows = [
        {"name": name, "type": type_said(field.annotation), "manual": cell(told.get(name, ""))}
        for name, field in kind.model_fields.items()
    ]
    return {"name": kind.__name__, "about": " ".join((kind.__doc__ or "").split()), "fields": rows}


def manual(kind: type[BaseModel]) -> dict[str, str]:
    """What stands under each field, in this class and those above it."""
    found: dict[str, str] = {}
    for each in reversed([each for each in kind.__mro__ if issubclass(each, BaseModel) and each is not BaseModel]):
        (body,) = (
            node.body for node in ast.parse(dedent(inspect.getsource(each))).body if isinstance(node, ast.ClassDef)
        )
        for line, after in pairwise(body):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and is_text(after):
                found[line.target.id] = " ".join(inspect.cleandoc(after.value.value).split())  # type: ignore[attr-defined]
    return found


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def type_said(annotation: Any) -> str:
    """
    >>> type_said(list[int | None])
    'list of whole number or none'
    >>> type_said(Literal["a", "b"])
    '`a`, `b`'
    """
    inner = get_args(annotation)
    if isinstance(annotation, NewType):
        return type_said(annotation.__supertype__)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if get_origin(annotation) in (list, tuple):
        return f"list of {type_said(inner[0])}"
    if get_origin(annotation) is dict:
        return f"{type_said(inner[1])} by {type_said(inner[0])}"
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(type_said(each) for each in inner)
    return PLAIN[annotation] if annotation in PLAIN else type_said(inner[0])


def cell(text: str) -> str:
    """As a table takes it."""
    return text.replace("|", "\\|").strip()


def shortened(value: Any, depth: int = 0) -> Any:
    """
    >>> shortened({"a": [1, 2, 3, 4], "b": "x" * 200})["a"]
    [1, 2, '… 2 more']
    """
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]} … {len(value) - LONGEST:,} characters more"
    if isinstance(value, dict):
        return {name: shortened(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        most = MOST if depth < DEEPEST else 1
        more = [f"… {len(value) - most:,} more"] if len(value) > most else []
        return [shortened(each, depth + 1) for each in value[:most]] + more
    return value


if __name__ == "__main__":
    main()
