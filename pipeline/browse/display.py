"""How a value looks on a page: as a word, a text, a table, a conversation; and where it leads."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

from shopwright.pipeline.stages import all_stages, find_reference
from shopwright.schemas.record import Record

# Characters of a text that needs no folding.
SHORT = 160
# Items of a list that are shown; the row as JSON has them all.
MOST = 300
# Values inside one another, after which JSON is read as easily as tables.
DEEP = 4
# Characters in a cell of a list of rows.
CELL = 90
# Where it is meant: a line of its own, not the words of an instruction.
CODE = re.compile(r"<(code|interpreter)>\n(.*?)</\1>", re.DOTALL)


class Display(NamedTuple):
    """A value and the way it is shown."""

    kind: str
    """none, yes, word, id, text, code, words, table, talk, facts"""
    value: Any
    more: int = 0
    """Items that are left out."""


def choose_display(value: Any, depth: int = 0) -> Display:
    """
    >>> choose_display("blue").kind, choose_display('{"a": 1}').kind, choose_display([{"a": 1}, {"a": 2}]).kind, choose_display(["a", "b"]).kind
    ('word', 'code', 'table', 'words')
    """
    if value is None or value in ("", [], {}):
        return Display("none", value)
    if isinstance(value, bool):
        return Display("yes", value)
    if isinstance(value, str):
        return choose_text_display(value)
    if depth >= DEEP and isinstance(value, (list, dict)):
        return Display("code", indent_json(value))
    if isinstance(value, Mapping):
        return Display("facts", value)
    if isinstance(value, (list, tuple)):
        return choose_list_display(value)
    return Display("word", format_scalar(value))


def choose_text_display(value: str) -> Display:
    if value[0] in "{[" and value[-1] in "}]":
        try:
            return Display("code", indent_json(json.loads(value)))
        except (ValueError, RecursionError):
            pass
    return Display("text" if len(value) > SHORT or "\n" in value else "word", value)


def choose_list_display(value: Sequence[Any]) -> Display:
    some, more = value[:MOST], max(0, len(value) - MOST)
    if all(isinstance(each, Mapping) for each in some):
        if set(some[0]) == {"role", "content"}:
            return Display("talk", some, more)
        names = list(dict.fromkeys(chain.from_iterable(some)))
        return Display("table", (names, some), more)
    if any(isinstance(each, (list, tuple, Mapping)) for each in some):
        return Display("code", indent_json(value))
    return Display("words", [format_scalar(each) for each in some], more)


def format_scalar(value: Any) -> str:
    """A number, a time or a word as text.

    >>> from datetime import datetime
    >>> format_scalar(0.1 + 0.2), format_scalar(True), format_scalar(datetime(2024, 5, 4, 20, 30, 1, 500_000))
    ('0.3', 'yes', '2024-05-04 20:30:01.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime) and value.microsecond:
        return str(value).rstrip("0")
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def indent_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def format_cell(value: Any) -> str:
    """A value in one short line.

    >>> format_cell(None), format_cell(["a", "b"]), format_cell([{"a": 1}])
    ('', 'a, b', '1 item')
    """
    if isinstance(value, (list, tuple)) and any(isinstance(each, (list, dict)) for each in value):
        return f"{len(value):,} item{'' if len(value) == 1 else 's'}"
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(format_scalar, value))
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = "" if value is None else " ".join(format_scalar(value).split())
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def split_message(text: str) -> list[tuple[str, str]]:
    """A message in pieces: words, `code`, and what the `interpreter` printed.

    >>> split_message("Look.<code>\\nprint(1)</code>")
    [('words', 'Look.'), ('code', 'print(1)')]
    """
    pieces, end = [], 0
    for found in CODE.finditer(text):
        pieces += [("words", text[end : found.start()].strip()), (found[1], found[2].rstrip("\n"))]
        end = found.end()
    pieces.append(("words", text[end:].strip()))
    return [piece for piece in pieces if piece[1]]


def list_references_to(dataset: str) -> list[tuple[str, str]]:
    """Datasets, each with the field of its own that names rows of this one."""
    found: list[tuple[str, str]] = []
    for name, stage in all_stages().items():
        if name != dataset:
            fields = stage.makes.model_fields
            found += [(name, field) for field in fields if find_reference(name, field) == dataset]
    return found


@cache
def read_field_docs(record: type[Record]) -> dict[str, str]:
    """Field -> what stands under it in the schema."""
    found: dict[str, str] = {}
    for kind in reversed([kind for kind in record.__mro__ if issubclass(kind, Record)]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, under in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(under, ast.Expr):
                found[field.target.id] = " ".join(str(ast.literal_eval(under.value)).split())
    return found
