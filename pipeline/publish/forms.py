"""What a run is on the Hub: each finished dataset as it is, and the forms that trainers read.

A `Config` is one of them. Its rows come in batches of at most 500, so that no form of a large dataset is ever held in memory.
Exact decimals and times stay what they are in a dataset as it is; inside JSON an amount is text (`"38.00"`) and a time is ISO 8601.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.arrow import arrow_schema
from pipeline.dataset import Dataset
from pipeline.publish.forms_rl import Side, rl_behaviors, rl_envs, rl_questions, rl_shopping, side_of
from pipeline.publish.forms_rows import RL, ROWS, SFT, TEXT, Row, batches, flat
from pipeline.publish.forms_sft import sft_behaviors, sft_envs, sft_rollouts, sft_shopping
from pipeline.run import Run
from pipeline.stages import all_stages
from schemas.record import Record

AS_TEXT = "In role and content alone: calls and tools as text."
GROUPS = ("persona_id", "trajectory_id", "product_id")
"""What a dataset is split by, where it has the column; the first of them."""
SIDES: tuple[Side, ...] = get_args(Side)
Batches = Callable[[], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Config:
    """A table on the Hub, in one or more splits."""

    name: str
    about: str
    """One line for the card."""
    schema: pa.Schema
    """JSON columns have the type `arrow.json`, which `datasets` reads back as objects."""
    splits: Mapping[str, Batches] = field(repr=False)
    """Split -> its rows as Arrow batches, in order, the same at every call."""
    group: str = ""
    """The column whose values are never in two splits; empty: there is but one."""

    @property
    def features(self) -> Any:
        """The same as `datasets` says it; its `arrow_schema` is `schema` with the metadata that it reads."""
        from datasets import Features

        return Features.from_arrow_schema(self.schema)


def configs(run: Run) -> list[Config]:
    """Every finished dataset of the run as it is, in the order in which they are made, then the training forms of them.

    Each form has the splits `train` and `test`; one of them may turn out to be empty.
    """
    whole = {name: run.read(name) for name in all_stages() if run.read(name).manifest}
    plain = [as_it_is(dataset, run) for dataset in whole.values()]
    return plain + [config for form in FORMS if whole.keys() >= set(form.reads) for config in formed(form, run)]


# As they are.


def as_it_is(dataset: Dataset[Record], run: Run) -> Config:
    """A dataset in the splits that its rows name; tasks and episodes in those of their forms; else all in `train`."""
    schema, about = arrow_schema(dataset.makes), all_stages()[dataset.name].about
    names, group = splits_of(dataset), ""
    splits: dict[str, Batches] = {"train": partial(rows_of, dataset, all_of)}
    if names:
        splits = {name: partial(rows_of, dataset, partial(those_named, name)) for name in names}
        group = next((name for name in GROUPS if name in schema.names), "")
    elif dataset.name in HELD_OUT:
        column, group, sides = HELD_OUT[dataset.name]
        splits = {side: partial(rows_of, dataset, partial(those_of, run, column, sides, side)) for side in SIDES}
    return Config(dataset.name, about, schema, splits, group)


def splits_of(dataset: Dataset[Record]) -> list[str]:
    """The splits that rows are in, as the record type orders them; none where it has no such field."""
    known = dataset.makes.model_fields.get("split")
    if known is None:
        return []
    found = set(pc.unique(dataset.table(["split"])["split"]).to_pylist())
    return [name for name in get_args(known.annotation) if name in found]


def rows_of(dataset: Dataset[Record], kept: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In pieces, those that are kept of each batch."""
    for batch in map(kept, dataset.batches()):
        yield from (batch.slice(start, ROWS) for start in range(0, batch.num_rows, ROWS))


def all_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def those_named(split: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pc.equal(batch["split"], split))


Sides = Callable[[Run], dict[str, Side]]
"""On which side each task is."""


def those_of(run: Run, column: str, sides: Sides, side: Side, batch: pa.RecordBatch) -> pa.RecordBatch:
    known = sides(run)
    return batch.filter(pa.array([known.get(task, "train") == side for task in batch[column].to_pylist()], pa.bool_()))


def env_sides(run: Run) -> dict[str, Side]:
    """By customer."""
    return run.read("env_tasks").once(customer_sides)


def customer_sides(tasks: Dataset[Record]) -> dict[str, Side]:
    table = tasks.table(["id", "persona_id"])
    pairs = zip(table["id"].to_pylist(), table["persona_id"].to_pylist(), strict=True)
    return {id: side_of(customer or id) for id, customer in pairs}


def shopping_sides(run: Run) -> dict[str, Side]:
    return run.read("shopping_tasks").once(named_sides)


def named_sides(tasks: Dataset[Record]) -> dict[str, Side]:
    table = tasks.table(["id", "split"])
    return dict(zip(table["id"].to_pylist(), table["split"].to_pylist(), strict=True))


HELD_OUT: dict[str, tuple[str, str, Sides]] = {
    "env_tasks": ("id", "persona_id", env_sides),
    "env_episodes": ("task_id", "task_id", env_sides),
    "shopping_episodes": ("task_id", "task_id", shopping_sides),
}
"""Where the task's id stands, the group, and the sides."""


# Training forms.


@dataclass(frozen=True)
class Form:
    """How a training form is made; its name is the function's, and the first of its docstring what it is."""

    rows: Callable[[Run, Side], Iterator[Row]]
    reads: tuple[str, ...]
    """It is there where these are."""

    @property
    def name(self) -> str:
        return self.rows.__name__

    @property
    def about(self) -> str:
        return (inspect.getdoc(self.rows) or "").partition("\n")[0]


FORMS = (
    Form(sft_rollouts, ("rollouts",)),
    Form(sft_envs, ("env_tasks", "env_episodes")),
    Form(sft_shopping, ("shopping_tasks", "shopping_episodes")),
    Form(sft_behaviors, ("behaviors",)),
    Form(rl_questions, ("rl_prompts",)),
    Form(rl_envs, ("env_tasks",)),
    Form(rl_shopping, ("shopping_tasks",)),
    Form(rl_behaviors, ("behavior_steps",)),
)


def formed(form: Form, run: Run) -> Iterator[Config]:
    """The form; of conversations also the one in plain text."""
    if form.name.startswith("rl_"):
        yield Config(form.name, form.about, RL, by_side(form, run, RL), "group")
        return
    yield Config(form.name, form.about, SFT, by_side(form, run, SFT), "group")
    flattened = by_side(form, run, TEXT)
    yield Config(f"{form.name}_text", f"{form.about} {AS_TEXT}", TEXT, flattened, "group")


def by_side(form: Form, run: Run, schema: pa.Schema) -> dict[str, Batches]:
    return {side: partial(rows_of_form, form, run, side, schema) for side in SIDES}


def rows_of_form(form: Form, run: Run, side: Side, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = form.rows(run, side)
    return batches(map(flat, rows) if schema is TEXT else numbered(rows) if schema is RL else rows, schema)


def numbered(rows: Iterator[Row]) -> Iterator[Row]:
    """With the number that verl knows a row by, from 0 in each split."""
    for number, row in enumerate(rows):
        yield {**row, "extra_info": {"index": number, **row["extra_info"]}}
