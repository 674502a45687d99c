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
from pipeline.publish.forms_rl import Side, rl_behaviors, rl_envs, rl_questions, rl_shopping
from pipeline.publish.forms_rows import RL, ROWS, SFT, TEXT, Row, batches, flat
from pipeline.publish.forms_sft import sft_behaviors, sft_envs, sft_rollouts, sft_shopping
from pipeline.run import Run, all_stages
from schemas.record import Record

AS_TEXT = "In role and content alone: calls and tools as text."
GROUPS = ("persona_id", "trajectory_id", "product_id")
"""What a dataset is split by, where it has the column; the first of them."""
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
    plain = [as_it_is(dataset) for dataset in whole.values()]
    return plain + [config for form in FORMS if whole.keys() >= set(form.reads) for config in formed(form, run)]


# As they are.


def as_it_is(dataset: Dataset[Record]) -> Config:
    """A dataset in the splits that its rows name, else all in `train`."""
    schema = arrow_schema(dataset.makes)
    names = splits_of(dataset)
    splits: dict[str, Batches] = {name: partial(rows_of, dataset, name) for name in names}
    group = next((name for name in GROUPS if name in schema.names), "") if names else ""
    about = all_stages()[dataset.name].about
    return Config(dataset.name, about, schema, splits or {"train": partial(rows_of, dataset)}, group)


def splits_of(dataset: Dataset[Record]) -> list[str]:
    """The splits that rows are in, as the record type orders them; none where it has no such field."""
    known = dataset.makes.model_fields.get("split")
    if known is None:
        return []
    found = set(pc.unique(dataset.table(["split"])["split"]).to_pylist())
    return [name for name in get_args(known.annotation) if name in found]


def rows_of(dataset: Dataset[Record], split: str = "") -> Iterator[pa.RecordBatch]:
    """Its rows in pieces; `split`: those of this one."""
    for batch in dataset.batches():
        if split:
            batch = batch.filter(pc.equal(batch["split"], split))
        yield from (batch.slice(start, ROWS) for start in range(0, batch.num_rows, ROWS))


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
SIDES: tuple[Side, ...] = get_args(Side)


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
