"""What a run is on the Hub: each finished dataset as it is, and the forms that trainers read.

A `Config` is one of them. Its rows come in batches of at most 500, so that no form of a large dataset is ever held in memory.
Exact decimals and times stay what they are in a dataset as it is; inside JSON an amount is text (`"38.00"`) and a time is ISO 8601.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.extras import require
from shopwright.pipeline.publish.exporters.rl import Side, side, side_of
from shopwright.pipeline.publish.exporters.rows import RL, ROWS, SFT, TEXT, Row, batch_rows, flatten_conversation
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Reference, name_of, resolve_reference
from shopwright.pipeline.stages import all_stages, tasks_of, views_in_place
from shopwright.schemas.record import Record

AS_TEXT = "In role and content alone: calls and tools as text."
# What a dataset is split by, where it has the column; the first of them.
GROUPS = ("persona_id", "trajectory_id", "product_id")
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
        require("datasets", "The column types of a dataset on the Hub")
        from datasets import Features

        return Features.from_arrow_schema(self.schema)


def configs(run: Run) -> list[Config]:
    """Every finished dataset of the run as it is, in the order in which they are made, then the training forms of them.

    Each form has the splits `train` and `test`; one of them may turn out to be empty.
    """
    whole = {name: run.read(name) for name in all_stages() if run.read(name).manifest}
    plain = [make_dataset_config(dataset, run) for dataset in whole.values()]
    return [*plain, *chain.from_iterable(make_form_configs(form, run) for form in list_forms(whole))]


def list_forms(made: Collection[str]) -> list[Reference]:
    """The training forms of finished datasets, conversations first; rows without a split need the tasks whose split is theirs."""
    forms: list[Reference] = []
    for name, views in views_in_place().items():
        if name in made and ("split" in all_stages()[name].makes.model_fields or tasks_of(name) in {"", *made}):
            forms += views.forms
    return sorted(forms, key=lambda form: name_of(form).startswith("rl_"))


# As they are.


def make_dataset_config(dataset: Dataset[Record], run: Run) -> Config:
    """A dataset in the splits that its rows name; tasks and episodes in those of their forms; else all in `train`."""
    schema, about = arrow_schema(dataset.makes), all_stages()[dataset.name].about
    names, group = splits_of(dataset), ""
    splits: dict[str, Batches] = {"train": partial(slice_dataset_rows, dataset, keep_all_rows)}
    if names:
        splits = {name: partial(slice_dataset_rows, dataset, partial(keep_split, name)) for name in names}
        group = next((name for name in GROUPS if name in schema.names), "")
    elif (tasks := tasks_of(dataset.name)) and find_side_column(all_stages()[tasks].makes):
        # Where the id of a row's task stands.
        column = next((name for name in all_stages()[tasks].views.named_by if name in schema.names), "id")
        known = run.read(tasks)
        group = next((name for name in GROUPS if name in schema.names), column)
        splits = {side: partial(slice_dataset_rows, dataset, partial(keep_side, column, known, side)) for side in SIDES}
    return Config(dataset.name, about, schema, splits, group)


def splits_of(dataset: Dataset[Record]) -> list[str]:
    """The splits that rows are in, as the record type orders them; none where it has no such field."""
    known = dataset.makes.model_fields.get("split")
    if known is None:
        return []
    found = set(pc.unique(dataset.table(["split"])["split"]).to_pylist())
    return [name for name in get_args(known.annotation) if name in found]


def slice_dataset_rows(
    dataset: Dataset[Record], kept: Callable[[pa.RecordBatch], pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """In pieces, those that are kept of each batch."""
    for batch in map(kept, dataset.batches()):
        yield from (batch.slice(start, ROWS) for start in range(0, batch.num_rows, ROWS))


def keep_all_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def keep_split(split: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pc.equal(batch["split"], split))


def keep_side(column: str, tasks: Dataset[Record], side: Side, batch: pa.RecordBatch) -> pa.RecordBatch:
    known = tasks.once(assign_sides)
    return batch.filter(pa.array([known.get(task, "train") == side for task in batch[column].to_pylist()], pa.bool_()))


def find_side_column(tasks: type[Record]) -> str:
    """What tells on which side a task is: its split, else its customer; empty where it has neither."""
    return next((name for name in ("split", "persona_id") if name in tasks.model_fields), "")


def assign_sides(tasks: Dataset[Record]) -> dict[str, Side]:
    column = find_side_column(tasks.makes)
    table, place = tasks.table(["id", column]), side if column == "split" else side_of
    pairs = zip(table["id"].to_pylist(), table[column].to_pylist(), strict=True)
    return {id: place(value or id) for id, value in pairs}


# Training forms.


def make_form_configs(form: Reference, run: Run) -> Iterator[Config]:
    """The form; of conversations also the one in plain text."""
    name, about = name_of(form), (inspect.getdoc(resolve_reference(form)) or "").partition("\n")[0]
    if name.startswith("rl_"):
        yield Config(name, about, RL, by_side(form, run, RL), "group")
        return
    yield Config(name, about, SFT, by_side(form, run, SFT), "group")
    yield Config(f"{name}_text", f"{about} {AS_TEXT}", TEXT, by_side(form, run, TEXT), "group")


def by_side(form: Reference, run: Run, schema: pa.Schema) -> dict[str, Batches]:
    return {side: partial(export_rows, form, run, side, schema) for side in SIDES}


def export_rows(form: Reference, run: Run, side: Side, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = run.call(form, split=side)
    return batch_rows(
        map(flatten_conversation, rows) if schema is TEXT else number_rows(rows) if schema is RL else rows, schema
    )


def number_rows(rows: Iterator[Row]) -> Iterator[Row]:
    """With the number that verl knows a row by, from 0 in each split."""
    for number, row in enumerate(rows):
        yield {**row, "extra_info": {"index": number, **row["extra_info"]}}
