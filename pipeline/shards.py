"""The shards of a dataset: each made alone and noted, then judged as a whole, which its manifest says."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from socket import gethostname
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.code_digest import digest_code
from shopwright.pipeline.dataset import (
    Dataset,
    FileFacts,
    Manifest,
    Recipe,
    ShardWriter,
    count_list_values,
    file_facts,
    find_damaged_files,
    read_row_groups,
    write_json_model,
)
from shopwright.pipeline.files import footer, is_here, is_readable_parquet, map_paths, read_lock, remove, write_whole
from shopwright.pipeline.models.replies import list_reply_places
from shopwright.pipeline.models.role import Models, PromptUsage, Role
from shopwright.pipeline.problem import Ended, Problem
from shopwright.pipeline.stage import ASKED_ONCE, Fault, Plan, Shard, Stage, reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.schemas.record import Record, Rejected

# Each batch becomes a row group.
ROWS_PER_BATCH = 1_000
# The only names that a build gives to files in a dataset's folders.
OURS = re.compile(r"\.?part-\d{5,}(-across)?\.parquet(\.[0-9a-f]{8}\.tmp)?")


@dataclass(frozen=True)
class Build:
    """The work on one dataset, decided: any process can make any of its shards from this alone."""

    run: Path
    recipe: Recipe
    shards: int
    plan: Plan
    models: Models = field(default_factory=Models)
    damaged: dict[str, str] = field(default_factory=dict)
    """Files of what was there that were not as they had been written, and how; their shards are made again."""
    key: str = ""
    """Of the lock that it is made under."""

    @property
    def name(self) -> str:
        return self.recipe.dataset

    @property
    def stage(self) -> Stage:
        return all_stages()[self.name]

    @property
    def dataset(self) -> Dataset[Any]:
        return Dataset(self.run, self.name, self.stage.makes)

    @property
    def asks(self) -> bool:
        """Whether a real model is asked: by processes of this machine then, which share its limits."""
        return self.models.asks(self.stage.asks(self.recipe.settings))

    @property
    def loads(self) -> bool:
        """Whether a model is run in the process that makes it, which is one alone then."""
        return self.models.loads(self.stage.asks(self.recipe.settings))

    @contextmanager
    def share(self) -> Iterator["Build"]:
        """The same with limits that several processes can share, where a model is asked."""
        if self.asks:
            with self.models.share() as models:
                yield replace(self, models=models)
        else:
            yield self

    @property
    def datasets(self) -> dict[str, Dataset[Any]]:
        return {name: Dataset(self.run, name, all_stages()[name].makes) for name in self.stage.reads}

    def shard_path(self, index: int) -> Path:
        return self.run / self.name / shard_name(index)

    def held_path(self, index: int, kind: str = "") -> Path:
        return self.run / "quarantine" / self.name / shard_name(index, kind)

    def role(self, name: str, index: int) -> Role:
        return Role(name, self.models, self.run, f"{self.name}-{name}-{index:05d}")

    def usage_path(self, index: int) -> Path:
        """What models were asked for one shard."""
        return self.run / "replies" / f"{self.name}-{index:05d}.asked.json"

    def note_path(self, index: int) -> Path:
        """What is known of a shard's files while the dataset is not whole; elsewhere than here nothing is noted."""
        return note_path(self.run, self.name, index)

    def missing(self) -> list[int]:
        """The shards still to be made, and those whose rows a judgement of the whole, since stopped, had thinned out."""
        if is_here(self.run):
            noted = {path.stem for path in self.note_path(0).parent.glob("part-*.json")}
            there = {path.stem for path in (self.run / self.name).glob("part-*.parquet")} & noted
            whole = [f"part-{index:05d}" in there for index in range(self.shards)]
        else:
            whole = map_paths(is_readable_parquet, map(self.shard_path, range(self.shards)))
        thinned = self.find_thinned_shards()
        return [index for index, found in enumerate(whole) if not found or index in thinned]

    def find_thinned_shards(self) -> set[int]:
        return {
            shard_index_of(path.name) for path in (self.run / "quarantine" / self.name).glob("part-*-across.parquet")
        }

    def read_note(self, index: int) -> dict[str, FileFacts]:
        """Path from the run's folder -> its facts; nothing where the note is damaged."""
        try:
            return NOTE.validate_json(self.note_path(index).read_bytes())
        except (ValueError, OSError):
            return {}

    def list_made(self) -> list[int]:
        missing = set(self.missing())
        return [index for index in range(self.shards) if index not in missing]

    def remove_damaged_shards(self) -> dict[str, str]:
        """Takes shards away that are not as they were written; their files, and how these differ. Elsewhere than here nothing is noted of them."""
        noted = {index: self.read_note(index) for index in (self.list_made() if is_here(self.run) else [])}
        found = {
            self.relative_path(self.note_path(index)): "cannot be read" for index, files in noted.items() if not files
        }
        written: dict[str, FileFacts] = {}
        for files in noted.values():
            written |= files
        found |= find_damaged_files(self.run, written)
        for index, files in noted.items():
            if not files or found.keys() & files.keys():
                remove(self.shard_path(index))
                remove(self.note_path(index))
        return found

    def relative_path(self, path: Path) -> str:
        return path.relative_to(self.run).as_posix()

    def still_ours(self) -> None:
        """Raises Ended where this build is no more: a cluster's worker goes on when the one who asked it was killed, and another build may have begun."""
        if self.key and read_lock(self.run / "manifests" / ".lock").get("key") != self.key:
            raise Ended(f"The build of {self.name} in {self.run} that this was for is no more. Nothing is written.")


NOTE = TypeAdapter(dict[str, FileFacts])


def note_path(run: Path, name: str, index: int) -> Path:
    return run / "manifests" / f"{name}.building" / f"part-{index:05d}.json"


def note(run: Path, name: str, index: int, files: dict[str, FileFacts]) -> None:
    """Says what a shard's files are, before they take their places."""
    if is_here(run):
        write_whole(note_path(run, name, index), NOTE.dump_json(files).decode())


def shard_name(index: int, kind: str = "") -> str:
    return f"part-{index:05d}{kind}.parquet"


def shard_index_of(path: str) -> int:
    """Of the shard that a file belongs to; -1 where it is of none.

    >>> shard_index_of("quarantine/toys/part-00012-across.parquet"), shard_index_of("notes.txt")
    (12, -1)
    """
    found = re.search(r"part-(\d{5,})(-across)?\.parquet$", path)
    return int(found[1]) if found else -1


@dataclass(frozen=True)
class ShardMade:
    index: int
    rows: int
    rejected: int


def draft_path(run: Path, name: str) -> Path:
    """How a dataset that is not whole yet is being made."""
    return run / "manifests" / f"{name}.building.json"


def forget(run: Path, name: str) -> None:
    """Takes away what was known of a dataset while it was not whole."""
    notes = draft_path(run, name).with_suffix("")
    for path in notes.glob("*") if is_here(notes) else ():
        remove(path)
    if is_here(notes) and notes.is_dir():
        notes.rmdir()
    remove(draft_path(run, name))


def make_shard(build: Build, index: int) -> ShardMade:
    """Makes one shard: the rows that pass into it, the others into quarantine with their reasons."""
    stage, datasets = build.stage, build.datasets
    if build.recipe.code != digest_code(stage):
        raise Problem(
            f"The code has changed since this build began, or {gethostname()} has another. Use the same one everywhere."
        )
    build.still_ours()
    remove(build.held_path(index))
    kept = ShardWriter(build.shard_path(index), stage.makes, always=True)
    held = ShardWriter(build.held_path(index), Rejected)
    roles = {role: build.role(role, index) for role in stage.roles}
    try:
        for batch, records, rejected in run_stage(build, Shard(index, build.shards, build.recipe.seed), roles):
            reasons = reasons_against(stage, batch, datasets, records)
            kept.write(drop_rows(batch, [row for row, found in enumerate(reasons) if found]))
            rejected += [reject(batch, row, found) for row, found in enumerate(reasons) if found]
            held.write(to_batch(Rejected, rejected))
        files = {build.relative_path(writer.path): writer.facts() for writer in (held, kept) if writer.close()}
        build.still_ours()
        note(build.run, build.name, index, files)  # before they take their places: a file without a note is made again
        held.commit()
        if roles:
            note_asked(build, index, roles.values())
        kept.commit()
        remove(build.held_path(index, "-across"))  # last: until then it says that rows are missing
    except BaseException:  # an interrupt, too, leaves nothing half written
        kept.discard()
        held.discard()
        raise
    return ShardMade(index, kept.rows, held.rows)


def make_first_row(build: Build) -> None:
    """Makes the first piece of work and keeps nothing of it: what it learnt on the way is known where others are made."""
    digest_code(build.stage)
    if not build.asks:
        roles = {role: build.role(role, 0) for role in build.stage.roles}
        for batch, records, _ in run_stage(build, Shard(0, max(1, build.plan.units), build.recipe.seed), roles):
            reasons_against(build.stage, batch, build.datasets, records)


def run_stage(
    build: Build, shard: Shard, roles: dict[str, Role]
) -> Iterator[tuple[pa.RecordBatch, list[Record] | None, list[Rejected]]]:
    """What the stage makes for a shard, unjudged: batches, each with the rejects that came before it."""
    stage = build.stage
    given = {**build.datasets, **roles, "shard": shard, "plan": build.plan}
    settings = {name: stage.settings[name].adapter.validate_python(v) for name, v in build.recipe.settings.items()}
    return in_batches(stage, stage.function(*map(given.get, stage.needs), **settings))


def read_tries(record: str) -> list[dict[str, Any]]:
    """The tries in a rejected row's record, where models wrote it."""
    try:
        found = json.loads(record)
    except ValueError:
        return []
    tries = found.get("tries", []) if isinstance(found, dict) else []
    return [one for one in tries if isinstance(one, dict)] if isinstance(tries, list) else []


def note_asked(build: Build, index: int, roles: Iterable[Role]) -> None:
    asked: dict[str, Any] = {}
    for role in roles:
        if role.asks:
            asked |= {name: found.model_dump() for name, found in role.asked.items()}
    if asked:
        write_whole(build.usage_path(index), json.dumps(asked))
    else:
        remove(build.usage_path(index))


def sum_usage(build: Build) -> dict[str, PromptUsage]:
    """What was asked for the whole dataset, by template."""
    found: dict[str, PromptUsage] = {}
    for usage in map_paths(read_usage, map(build.usage_path, range(build.shards))) if build.stage.roles else []:
        for name, facts in usage.items():
            asked = PromptUsage.model_validate(facts)
            found[name] = found[name].merge(asked) if name in found else asked
    return found


def read_usage(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def so_far(build: Build) -> str:
    """What was asked for and what there is of it, in words."""
    made = build.list_made()
    rows = sum(found.num_rows for found in map_paths(footer, map(build.shard_path, made)))
    held = [path for path in build.dataset.quarantine.files if path.name in set(map(shard_name, made))]
    rejected = sum(found.num_rows for found in map_paths(footer, held))
    kept = sum(1 for _ in list_reply_places(build.run / "replies")) if build.asks else 0
    requested = build.plan.rows
    pending = f"{requested - rows - rejected:,} pending" if requested is not None else "others pending"
    of = f"{requested:,} requested = " if requested is not None else ""
    return f"{build.name}: {of}{rows:,} accepted + {rejected:,} rejected + {pending}" + (
        f" ({kept:,} replies are kept)." if kept else "."
    )


def in_batches(
    stage: Stage, items: Iterator[Any]
) -> Iterator[tuple[pa.RecordBatch, list[Record] | None, list[Rejected]]]:
    """What a stage yields (records, batches, rejects) as batches, each with the rejects that came before it."""
    records: list[Record] = []
    rejected: list[Rejected] = []
    for item in items:
        if isinstance(item, Rejected):
            rejected.append(item)
        elif isinstance(item, Record):
            records.append(item)
        else:
            yield item, None, rejected
            rejected = []
        if len(records) + len(rejected) >= ROWS_PER_BATCH:
            yield to_batch(stage.makes, records), records, rejected
            records, rejected = [], []
    if records or rejected:
        yield to_batch(stage.makes, records), records, rejected


def drop_rows(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    if not rows:
        return batch
    keep = pc.invert(pc.is_in(pa.array(range(batch.num_rows)), value_set=pa.array(rows, pa.int64())))
    return batch.filter(keep)


def reject(batch: pa.RecordBatch, row: int, reasons: list[str]) -> Rejected:
    record = batch.slice(row, 1).to_pylist()[0]
    return Rejected(id=record["id"], reasons=reasons, record=json.dumps(record, default=str, ensure_ascii=False))


def finish(build: Build, *, seconds: float = 0.0, workers: int = 1) -> Manifest:
    """Judges the dataset as a whole and writes its manifest, which makes it whole."""
    sweep(build)
    if damaged := build.remove_damaged_shards():
        raise Ended(
            f"{describe_damage(damaged)}: not as it was written a moment ago; the disk may be failing. Its shard is taken away: run the "
            "same command again."
        )
    waiting = list(build.stage.across)
    while waiting:
        check = waiting.pop(0)
        if faults := list(check(build.dataset)):
            quarantine_faults(build, faults)
            # Without these rows a share that was small enough for the others may be too large.
            others = set(build.stage.across) - ASKED_ONCE - {check, *waiting}
            waiting += [each for each in build.stage.across if each in others]
    dataset, quarantine = build.dataset, build.dataset.quarantine
    files = [*dataset.files, *quarantine.files]
    names = [path.relative_to(build.run).as_posix() for path in files]
    known: dict[str, FileFacts] = {}
    for index in build.list_made() if is_here(build.run) else ():
        known |= build.read_note(index)
    new = [path for path, name in zip(files, names, strict=True) if name not in known]
    known |= dict(zip(map(build.relative_path, new), map_paths(file_facts, new), strict=True))
    tokens = None
    if "tokens" in build.stage.makes.model_fields:
        tokens = sum(pc.sum(batch.column(0)).as_py() or 0 for batch in dataset.batches(["tokens"]))
    manifest = Manifest(
        dataset=build.name,
        about=build.stage.about,
        recipe=build.recipe,
        rows=len(dataset),
        rejected=len(quarantine),
        rejects=count_list_values(quarantine, "reasons"),
        requested=build.plan.rows,
        stats=dict(build.plan.stats),
        usage=sum_usage(build),
        repairs=count_list_values(dataset, "repairs") if "repairs" in build.stage.makes.model_fields else {},
        tokens=tokens,
        seconds=round(seconds, 3),
        workers=workers,
        files={name: known[name] for name in names},
    )
    write_json_model(dataset.manifest_path, manifest)
    forget(build.run, build.name)
    return manifest


def describe_damage(damaged: dict[str, str], most: int = 3) -> str:
    """
    >>> describe_damage({"toys/part-00000.parquet": "missing"})
    'toys/part-00000.parquet: missing'
    """
    lines = [f"{name}: {how}" for name, how in list(damaged.items())[:most]]
    return "; ".join(lines) + (f"; and {len(damaged) - most} more" if len(damaged) > most else "")


def sweep(build: Build) -> None:
    """Takes away what workers that were killed had begun."""
    for folder in (build.dataset.folder, build.dataset.quarantine.folder):
        for path in folder.glob(".part-*.tmp"):
            remove(path)


def quarantine_faults(build: Build, faults: list[Fault]) -> None:
    """Moves rows from their shards to quarantine, a shard's rejects first: with them there, and no manifest, the
    shard counts as missing, so that a judgement that was stopped begins anew."""
    by_file: dict[str, dict[int, list[str]]] = {}
    for fault in faults:
        reasons = by_file.setdefault(Path(fault.file).name, {}).setdefault(fault.row, [])
        if fault.reason not in reasons:
            reasons.append(fault.reason)
    for name, rows in by_file.items():
        path = build.dataset.folder / name
        index = int(name.removeprefix("part-").removesuffix(".parquet"))
        kept = ShardWriter(path, build.stage.makes, always=True)
        held = ShardWriter(build.held_path(index, "-across"), Rejected)
        before = held.path if held.path.exists() else None
        for batch in read_row_groups(before) if before else []:
            held.write(batch)
        first = 0
        for batch in read_row_groups(path):
            here = {row - first: found for row, found in rows.items() if first <= row < first + batch.num_rows}
            held.write(to_batch(Rejected, [reject(batch, row, found) for row, found in sorted(here.items())]))
            kept.write(drop_rows(batch, list(here)))
            first += batch.num_rows
        held.commit()
        kept.commit()
