"""What small learners learnt from a run, as the benchmarks measured it there: tables that its card shows while its rows are the same."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from shopwright.pipeline.evaluate.storage import FOLDER
from shopwright.pipeline.files import write_whole
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run

KINDS = {
    "questions": "Questions: right answers after so many rows",
    "next actions": "Next actions: taught, and paid for",
    "shopping policy": "Shopping: success after episodes that were taught, paid, and both",
    "shortcuts": "What is left of each without its input",
    "ceiling": "What can be learnt at most",
}
"""What a card says of each, in its order."""


class Learnt(BaseModel):
    """A table, and what it was measured on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str
    made: dict[str, str]
    """Of each dataset that it is about, which build of it."""
    head: list[str]
    rows: list[list[str]]


class LearntTable(NamedTuple):
    about: str
    learnt: Learnt


def get_learnt_path(folder: Path, name: str) -> Path:
    """
    >>> get_learnt_path(Path("run"), "next actions").as_posix()
    'run/evaluations/learnt-next-actions.json'
    """
    return folder / FOLDER / f"learnt-{name.replace(' ', '-')}.json"


def keep_learnt(run: Run, name: str, command: str, table: str, datasets: Sequence[str]) -> None:
    """Keeps a table, as Markdown has it, in the run; name: one of `KINDS`."""
    head, _, *rows = map(parse_cells, table.splitlines())
    found = Learnt(command=command, made=list_builds(run, datasets), head=head, rows=rows)
    write_whole(get_learnt_path(run.folder, name), found.model_dump_json())


def parse_cells(line: str) -> list[str]:
    """
    >>> parse_cells("| `questions` | **20.0%** |  |")
    ['questions', '20.0%', '']
    """
    return [cell.strip().replace("`", "").replace("**", "") for cell in line.split("|")[1:-1]]


def list_builds(run: Run, datasets: Sequence[str]) -> dict[str, str]:
    manifests = {name: run.read(name).manifest for name in datasets}
    return {name: manifest.fingerprint if manifest else "" for name, manifest in manifests.items()}


def read_learnt(run: Run) -> list[LearntTable]:
    """Those of the datasets as they are now. Raises Problem for a file that is none."""
    found = []
    for name, about in KINDS.items():
        path = get_learnt_path(run.folder, name)
        if not path.exists():
            continue
        try:
            learnt = Learnt.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, ValidationError):
            raise Problem(f"{path} is no table of what was learnt. Take it away, or measure it again.") from None
        if learnt.made == list_builds(run, list(learnt.made)):
            found.append(LearntTable(about, learnt))
    return found
