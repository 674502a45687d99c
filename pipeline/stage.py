"""A stage: one function that makes the records of one dataset.

    @stage(makes=Persona, checks=[budget_buys_the_taste])
    def personas(catalog: Dataset[Product], shard: Shard, *, count: int = 200) -> Iterator[Persona]:
        ...

The name of the function is the name of the dataset. Its positional parameters are what it needs: other
datasets by their names, and `shard`, `plan` or a model's role, which any stage may ask for. Its keyword-only parameters
are its settings; they reach the command line, the flow and the manifest with no second description.

What the dataset means to the rest (publishing, the report, browsing, the leak guard) are its `views`.

It yields records, or Arrow batches where volume asks for it; and `Rejected` for what it could not make.
A check looks at one record, or (when its first parameter is called `batch`) at a whole batch, and says why
a row must not ship. A check `across` looks at the whole dataset, once all its shards are there.
"""

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, get_args, get_origin

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from shopwright.pipeline.problem import Problem
from shopwright.schemas.record import Record

# `check(record, *datasets) -> reason or None`, or `check(batch, *datasets) -> one of these for each row`.
Check = Callable[..., Any]

# What a model may be asked to be; a stage that has such a parameter is given one (`shopwright.pipeline.models.role`).
ROLES = ("writer", "shopper", "agent", "judge")
GIVEN = ("shard", "plan", *ROLES)

SHARDS = 64
"""Into which a dataset is cut unless its shards would be too small or too large: as many as cores that it should keep busy."""


@dataclass(frozen=True)
class Fault:
    """A row that a check `across` a dataset wants out, by the place where it stands."""

    file: str
    row: int
    reason: str


ASKED_ONCE: set[Callable[..., Iterable[Fault]]] = set()


def compares_rows(check: Callable[..., Iterable[Fault]]) -> Callable[..., Iterable[Fault]]:
    """For a check `across` a dataset that holds rows against one another: it finds no more when some are taken out, and is asked once."""
    ASKED_ONCE.add(check)
    return check


@dataclass(frozen=True)
class Plan:
    """What a build will do, found out before the work is shared: it fails here if the input is bad."""

    units: int
    """How many pieces of work there are to share among shards."""
    files: tuple[Path, ...] = ()
    """Files outside the run that are read; their checksums go into the recipe."""
    facts: Any = None
    """What every shard needs to know of the whole."""
    at_most: int | None = None
    """Units of a shard, where they are larger or smaller than usual."""
    rows: int | None = None
    """How many are asked for, where that is known before: each of them is accepted or rejected in the end."""
    stats: Mapping[str, float] = field(default_factory=dict)
    """Figures of how it was planned, for the manifest."""


@dataclass(frozen=True)
class Shard:
    """One of `total` contiguous slices of the work. Row `i` is the same whatever `total` is."""

    index: int
    total: int
    seed: int

    def of(self, units: int) -> range:
        """
        >>> [list(Shard(index, 3, seed=0).of(7)) for index in range(3)]
        [[0, 1], [2, 3], [4, 5, 6]]
        """
        return range(units * self.index // self.total, units * (self.index + 1) // self.total)

    def random(self, *key: object) -> Random:
        """A generator of its own for each row, so that rows never depend on one another."""
        # Of a text `Random` takes the SHA-512, which is the same everywhere; `hash()` is not.
        return Random(f"{self.seed}/{key}")

    def numbers(self, *key: object) -> np.random.Generator:
        """The same for columns; only its bits are used (`random`), which NumPy promises not to change."""
        digest = hashlib.sha256(f"{self.seed}/{key}".encode()).digest()
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


@dataclass(frozen=True)
class Setting:
    name: str
    default: Any
    annotation: Any

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.annotation)

    @property
    def about(self) -> str:
        notes = [note for note in get_args(self.annotation) if isinstance(note, FieldInfo)]
        return next((note.description for note in notes if note.description), "")

    @property
    def kinds(self) -> tuple[Any, ...]:
        """What a value may be: the types of `bool | None`."""
        kind = get_args(self.annotation)[0] if get_args(self.annotation) else self.annotation
        return get_args(kind) or (kind,)

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be given again on the command line, for one more value beside a single one."""
        return isinstance(self.default, str) and any(get_origin(kind) is list for kind in self.kinds)

    def parse(self, value: Any) -> Any:
        """The value as JSON would hold it, so that it is the same in a recipe that was read back. Raises Problem."""
        try:
            found = self.adapter.dump_python(self.adapter.validate_python(value), mode="json")
            # The two ways in which a recipe could not be written.
            json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
            return found
        except ValidationError as error:
            fault = first_message(error)
        except ValueError:  # infinite, of thousands of digits, or no UTF-8
            fault = "a recipe cannot hold it"
        raise Problem(f"--{self.name.replace('_', '-')} {shorten_setting(value)}: {shorten_setting(fault)}.")


def shorten_setting(value: Any) -> str:
    """
    >>> shorten_setting("x" * 300) == "x" * 200 + "…", shorten_setting(16**5_000)
    (True, 'a number of very many digits')
    """
    try:
        text = str(value)
    except ValueError:  # Python writes no more than 4,300
        return "a number of very many digits"
    return text if len(text) <= 200 else f"{text[:200]}…"


def first_message(error: ValidationError) -> str:
    return error.errors()[0]["msg"].removeprefix("Value error, ")


# A function of a surface, as `module:function` from `shopwright.pipeline` on: a stage may not import what stands above it.
Reference = str | Callable[..., Any]


class Key(NamedTuple):
    """What two splits must not share: the column that tells it, and its value in SQL where it is not the column's."""

    column: str
    sql: str = ""


class Section(NamedTuple):
    """A part of the report: `report_<key>.j2` shows its facts, or, where there is no such file, a table for each."""

    key: str
    title: str
    """What the contents call it; empty for facts that stand in another section."""
    facts: Reference
    """Gives nothing where there is nothing to show."""


@dataclass(frozen=True)
class Views:
    """What a dataset means to the rest: how it is published, reported, browsed and kept from leaking.

    Functions are given what their parameters name, as stages are: datasets, or `run` (`Run.call`).
    """

    place: int = 1_000
    """Where its forms, sections and pictures stand among those of others."""
    apart: Mapping[str, Key] = field(default_factory=dict)
    """What splits must not share, of this dataset and of those made from it; the first is what a form's `group` is of."""
    named_by: tuple[str, ...] = ()
    """Columns of other datasets that hold the id of one of its rows."""
    extends: str = ""
    """The dataset whose ids its rows have."""
    forms: tuple[Reference, ...] = ()
    """Training forms: functions of a split (`sft_...` or `rl_...`) that yield rows."""
    purposes: tuple[str, ...] = ()
    """What it is for, in the Hub's words."""
    sample: tuple[str, ...] = ()
    """Fields of a row that the card shows."""
    card: Mapping[str, Reference] = field(default_factory=dict)
    """Facts that the card's template knows by these names."""
    pictures: Mapping[str, Reference] = field(default_factory=dict)
    """Drawings on the card."""
    report: tuple[Section, ...] = ()
    columns: tuple[str, ...] = ()
    """What a list of its rows shows beside the id; else the first fields."""
    page: Reference = ""
    """Facts of a row's page beyond its fields, of `(browse, dataset, batch, given)`; `<dataset>.html.j2` shows them where there is such a file."""
    command: str = ""
    """The module of `shopwright evaluate <dataset>`, and of its audit where it has one, from `shopwright.pipeline` on."""
    environments: Mapping[str, Reference] = field(default_factory=dict)
    """What plays its rows as tasks: classes of `shopwright.pipeline.trainers.env`, by the names in a row's column `environment`."""
    words: Mapping[str, Reference] = field(default_factory=dict)
    """What is said in its rows, by the name of a family: functions that yield `commands.words:Text`s, for `shopwright evaluate words`."""
    proof: str = ""
    """The column of the trajectory that its `evidence` stands in."""


def resolve_reference(reference: Reference) -> Callable[..., Any]:
    """
    >>> resolve_reference("stage:first_message").__name__
    'first_message'
    """
    if not isinstance(reference, str):
        return reference
    module, _, name = reference.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"shopwright.pipeline.{module}"), name)
    return found


def name_of(reference: Reference) -> str:
    """The function's name, without importing it."""
    return reference.rpartition(":")[2] if isinstance(reference, str) else reference.__name__


@dataclass(frozen=True)
class Stage:
    makes: type[Record]
    function: Callable[..., Iterator[Any]]
    checks: tuple[Check, ...] = ()
    across: tuple[Check, ...] = ()
    planner: Callable[..., Plan] | None = None
    per_shard: tuple[int, int] = (1_000, 100_000)
    """Fewest and most units in a shard; between them there are `SHARDS`."""
    views: Views = field(default=Views(), compare=False)
    languages: tuple[str, ...] = ("en",)
    """Those that its shop can be in."""

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def about(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self.function).parameters)

    @property
    def needs(self) -> list[str]:
        """Everything it takes before its settings: datasets, and what it is given."""
        return [name for name, found in self.parameters.items() if found.kind != found.KEYWORD_ONLY]

    @property
    def roles(self) -> list[str]:
        """The roles that a model can play for it."""
        return [name for name in self.needs if name in ROLES]

    def asks(self, settings: dict[str, Any]) -> list[str]:
        """The roles that a model plays with these settings: where rows can be `written_by` code, none then."""
        return self.roles if settings.get("written_by", "model") == "model" else []

    @cached_property
    def reads(self) -> list[str]:
        """The datasets it needs, by name; those that only its checks look at come after."""
        named = [*self.needs, *chain.from_iterable(map(check_needs, self.checks))]
        return [name for name in dict.fromkeys(named) if name not in GIVEN]

    @cached_property
    def settings(self) -> dict[str, Setting]:
        return {
            name: Setting(name, found.default, found.annotation)
            for name, found in self.parameters.items()
            if found.kind == found.KEYWORD_ONLY
        }

    def plan(self, datasets: dict[str, Any], settings: dict[str, Any]) -> Plan:
        if self.planner:
            wanted = inspect.signature(self.planner).parameters
            return self.planner(**{name: have for name, have in (datasets | settings).items() if name in wanted})
        if "count" in settings:
            return Plan(settings["count"], rows=settings["count"])
        return Plan(len(datasets[self.reads[0]]))

    def shards(self, units: int, *, at_least: int = 1, at_most: int | None = None) -> int:
        """`at_least`: units of a shard, as far as it may have so many; `at_most`: how many these are here."""
        fewest, most = self.per_shard
        most = at_most or most
        size = min(max(-(-units // SHARDS), fewest, at_least), most)  # -(-a // b) rounds up
        return max(1, -(-units // size))


def check_needs(check: Check) -> list[str]:
    """
    >>> check_needs(lambda batch, catalog: [])
    ['catalog']
    """
    return list(inspect.signature(check).parameters)[1:]


def takes_batches(check: Check) -> bool:
    return next(iter(inspect.signature(check).parameters)) == "batch"


def stage(
    *,
    makes: type[Record],
    checks: Iterable[Check] = (),
    across: Iterable[Check] = (),
    plan: Callable[..., Plan] | None = None,
    per_shard: tuple[int, int] = (1_000, 100_000),
    views: Views | None = None,
    languages: tuple[str, ...] = ("en",),
) -> Callable[[Callable[..., Iterator[Any]]], Stage]:
    return lambda function: Stage(
        makes, function, tuple(checks), tuple(across), plan, per_shard, views or Views(), languages
    )


def judge_batch(
    checks: Sequence[Check], batch: Any, records: Sequence[Record], datasets: dict[str, Any]
) -> list[list[str | None]]:
    """For each check, what it says of each row of a batch, whose records are at hand where a check wants them.

    A record is shown to all its checks before the next one is: they look the same things up.
    """
    others = [list(map(datasets.__getitem__, check_needs(check))) for check in checks]
    found = [
        list(check(batch, *more)) if takes_batches(check) else [] for check, more in zip(checks, others, strict=True)
    ]
    each = [
        (check, more, said) for check, more, said in zip(checks, others, found, strict=True) if not takes_batches(check)
    ]
    for record in records if each else ():
        for check, more, said in each:
            said.append(check(record, *more))
    return found


def reasons_against(
    stage: Stage, batch: Any, datasets: dict[str, Any], records: Sequence[Record] | None = None
) -> list[list[str]]:
    """For each row of a batch, what its checks have against it; `records` are its rows, where they are at hand."""
    if records is None and not all(map(takes_batches, stage.checks)):
        records = [stage.makes.model_validate(row) for row in batch.to_pylist()]
    said = judge_batch(stage.checks, batch, records or [], datasets)
    # Without checks `zip` gives no rows at all.
    return [list(filter(None, row)) for row in zip(*said, strict=True)] or [[] for _ in range(batch.num_rows)]
