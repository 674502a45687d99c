"""How a value looks on a page: as a word, a text, a table, a conversation; and where it leads."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from pipeline.stages import all_stages
from schemas.record import Record

SHORT = 160
"""Characters of a text that needs no folding."""
MOST = 300
"""Items of a list that are shown; the row as JSON has them all."""
DEEP = 4
"""Values inside one another, after which JSON is read as easily as tables."""
CELL = 90
"""Characters in a cell of a list of rows."""
REFERS = {
    "persona_id": "personas", "trajectory_id": "trajectories", "question_id": "questions", "behavior_id": "behaviors",
    "product_id": "catalog", "asin": "catalog", "variant_id": "variants", "profile_id": "profiles",
    "bought_product": "catalog", "bought_variant": "variants",
}  # fmt: skip
"""Fields that hold the id of a row elsewhere, whatever the dataset."""
OWN = {
    ("env_episodes", "task_id"): "env_tasks",
    ("shopping_episodes", "task_id"): "shopping_tasks",
    ("profiles", "id"): "personas",
    ("embeddings", "id"): "catalog",
    ("catalog_fine", "id"): "catalog",
}
COLUMNS = {
    "catalog": ("title", "category", "price", "rating"),
    "catalog_fine": ("title", "category", "price", "rating"),
    "questions": ("question", "answer", "kind", "difficulty", "split"),
    "trajectories": ("persona_id", "budget", "tokens", "start", "end"),
    "rollouts": ("question_id", "kind", "answer", "turns", "reward"),
    "rl_prompts": ("question", "ground_truth", "kind", "difficulty"),
    "env_tasks": ("env", "difficulty", "opening", "feasible"),
    "env_episodes": ("env", "difficulty", "policy", "opening"),
    "shopping_tasks": ("category", "instruction", "price_limit", "split"),
    "shopping_episodes": ("task_id", "scenario", "policy", "opening"),
    "behaviors": ("persona_id", "intent", "outcome", "tokens", "split"),
    "behavior_steps": ("behavior_id", "step", "action", "rationale"),
    "personas": ("age_band", "household", "region", "budget", "description"),
}
"""What a list of rows shows beside the id, where it is not simply the first short fields."""
CODE = re.compile(r"<(code|interpreter)>\n(.*?)</\1>", re.DOTALL)
"""Where it is meant: a line of its own, not the words of an instruction."""


class Look(NamedTuple):
    """A value and the way it is shown."""

    kind: str
    """none, yes, word, id, text, code, words, table, talk, facts"""
    value: Any
    more: int = 0
    """Items that are left out."""


def look(value: Any, depth: int = 0) -> Look:
    """
    >>> look("blue").kind, look('{"a": 1}').kind, look([{"a": 1}, {"a": 2}]).kind, look(["a", "b"]).kind
    ('word', 'code', 'table', 'words')
    """
    if value is None or value in ("", [], {}):
        return Look("none", value)
    if isinstance(value, bool):
        return Look("yes", value)
    if isinstance(value, str):
        return look_of_text(value)
    if depth >= DEEP and isinstance(value, (list, dict)):
        return Look("code", as_json(value))
    if isinstance(value, Mapping):
        return Look("facts", value)
    if isinstance(value, (list, tuple)):
        return look_of_list(value)
    return Look("word", plain(value))


def look_of_text(value: str) -> Look:
    if value[0] in "{[" and value[-1] in "}]":
        try:
            return Look("code", as_json(json.loads(value)))
        except (ValueError, RecursionError):
            pass
    return Look("text" if len(value) > SHORT or "\n" in value else "word", value)


def look_of_list(value: Sequence[Any]) -> Look:
    some, more = value[:MOST], max(0, len(value) - MOST)
    if all(isinstance(each, Mapping) for each in some):
        if set(some[0]) == {"role", "content"}:
            return Look("talk", some, more)
        return Look("table", (list(dict.fromkeys(name for each in some for name in each)), some), more)
    if any(isinstance(each, (list, tuple, Mapping)) for each in some):
        return Look("code", as_json(value))
    return Look("words", [plain(each) for each in some], more)


def plain(value: Any) -> str:
    """A number, a time or a word as text.

    >>> from datetime import datetime
    >>> plain(0.1 + 0.2), plain(True), plain(datetime(2024, 5, 4, 20, 30, 1, 500_000))
    ('0.3', 'yes', '2024-05-04 20:30:01.5')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime) and value.microsecond:
        return str(value).rstrip("0")
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def cell(value: Any) -> str:
    """A value in one short line.

    >>> cell(None), cell(["a", "b"]), cell([{"a": 1}])
    ('', 'a, b', '1 item')
    """
    if isinstance(value, (list, tuple)) and any(isinstance(each, (list, dict)) for each in value):
        return f"{len(value):,} item{'' if len(value) == 1 else 's'}"
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(plain, value))
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    text = "" if value is None else " ".join(plain(value).split())
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def said(text: str) -> list[tuple[str, str]]:
    """A message in pieces: words, `code`, and what the `interpreter` printed.

    >>> said("Look.<code>\\nprint(1)</code>")
    [('words', 'Look.'), ('code', 'print(1)')]
    """
    pieces, end = [], 0
    for found in CODE.finditer(text):
        pieces += [("words", text[end : found.start()].strip()), (found[1], found[2].rstrip("\n"))]
        end = found.end()
    pieces.append(("words", text[end:].strip()))
    return [piece for piece in pieces if piece[1]]


def refers(dataset: str, field: str) -> str | None:
    """The dataset whose rows a field names.

    >>> refers("env_episodes", "task_id"), refers("catalog", "title")
    ('env_tasks', None)
    """
    return OWN.get((dataset, field)) or REFERS.get(field)


def referring(dataset: str) -> list[tuple[str, str]]:
    """Datasets, each with the field of its own that names rows of this one."""
    return [
        (name, field)
        for name, stage in all_stages().items()
        for field in stage.makes.model_fields
        if name != dataset and refers(name, field) == dataset
    ]


def columns_of(dataset: str, fields: Iterable[str]) -> list[str]:
    """What a list of rows shows of these fields."""
    return list(COLUMNS.get(dataset, ())) or [name for name in fields if name != "id"][:5]


@cache
def manual(record: type[Record]) -> dict[str, str]:
    """Field -> what stands under it in the schema."""
    found: dict[str, str] = {}
    for kind in reversed([kind for kind in record.__mro__ if issubclass(kind, Record)]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, under in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(under, ast.Expr):
                found[field.target.id] = " ".join(str(ast.literal_eval(under.value)).split())
    return found
