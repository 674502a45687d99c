"""Every check again, from the Parquet files alone: what `shopwright verify` runs on a folder."""

from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
from pydantic import BaseModel, ValidationError

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.dataset import Dataset, Manifest, count_list_values, file_facts, read_row_groups
from shopwright.pipeline.files import parquet
from shopwright.pipeline.migrations import find_outdated, migrate
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Check, Stage, first_message, judge_batch, takes_batches
from shopwright.pipeline.stages import all_stages
from shopwright.schemas.record import Record


@dataclass
class Verdict:
    """What one check found in one dataset."""

    dataset: str
    check: str
    rows: int
    places: list[str] = field(default_factory=list)
    """Each row (or file) that fails it, by id and file, with the reason."""

    @property
    def failed(self) -> bool:
        return bool(self.places)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"failed": self.failed}


def verify(run: Run) -> list[Verdict]:
    """Recompute the checks of every dataset in the run's folder. Raises Problem where there is nothing to verify."""
    run.stands_alone()
    if find_outdated(run.folder):
        with run.lock():
            migrate(run.folder)
    whole = [name for name in all_stages() if run.read(name).manifest_path.exists()]
    if not whole:
        raise Problem(
            f"There is no finished dataset in {run.folder}. Build one: shopwright build DATASET --run {run.folder}"
        )
    return list(chain.from_iterable(verify_dataset(run, name) for name in whole))


def verify_dataset(run: Run, name: str) -> Iterator[Verdict]:
    dataset = run.read(name)
    manifest = dataset.read_manifest()
    assert manifest
    sound = Verdict(
        name, "files are those of the manifest", len(manifest.files), list(find_wrong_files(dataset, manifest))
    )
    yield sound
    if sound.failed:
        return
    assert dataset.manifest  # or it says why its columns are not today's
    yield Verdict(
        name, "manifest tells what the files hold", manifest.rows, list(find_wrong_counts(run, dataset, manifest))
    )
    stage = all_stages()[name]
    verdicts = {check.__name__: Verdict(name, name_check(check), manifest.rows) for check in stage.checks}
    columns = Verdict(name, "columns are the record's", manifest.rows)
    for found in judge_files(run, dataset):
        columns.places += found.pop("columns")
        for name_of_check, places in found.items():
            verdicts[name_of_check].places += places
    yield columns
    if not columns.failed:
        yield from verdicts.values()
        for check in stage.across:
            yield Verdict(name, name_check(check), manifest.rows, list(run_check(check, dataset)))


def run_check(check: Callable[..., Any], dataset: Dataset[Any]) -> Iterator[str]:
    try:
        for fault in check(dataset):
            yield f"{Path(fault.file).name} row {fault.row}: {fault.reason}"
    except Exception as error:  # noqa: BLE001 - what cannot be judged must not pass
        yield f"cannot be judged: {type(error).__name__}: {error}"


def name_check(check: Callable[..., Any]) -> str:
    return check.__name__.replace("_", " ")


def find_wrong_files(dataset: Dataset[Any], manifest: Manifest) -> Iterator[str]:
    """Files that are missing, are not what they were, or do not belong there."""
    for path, known in manifest.files.items():
        try:
            facts = file_facts(dataset.run / path)
        except FileNotFoundError:
            yield f"{path}: missing"
        except (pa.ArrowException, OSError):
            yield f"{path}: damaged, cannot be read as Parquet"
        else:
            if facts != known:
                yield f"{path}: changed since it was made (sha256 {known.sha256[:12]} -> {facts.sha256[:12]})"
    for folder in (dataset.folder, dataset.quarantine.folder):
        for stray in sorted(folder.iterdir()) if folder.is_dir() else []:
            if stray.relative_to(dataset.run).as_posix() not in manifest.files:
                yield f"{stray.relative_to(dataset.run)}: not in the manifest"


def find_wrong_counts(run: Run, dataset: Dataset[Any], manifest: Manifest) -> Iterator[str]:
    if len(dataset) != manifest.rows or len(dataset.quarantine) != manifest.rejected:
        yield f"{len(dataset)} rows and {len(dataset.quarantine)} rejects, not {manifest.rows} and {manifest.rejected}"
    if count_list_values(dataset.quarantine, "reasons") != manifest.rejects:
        yield "rejects by reason are not those in quarantine"
    for name, fingerprint in manifest.recipe.inputs.items():
        now = run.read(name).read_manifest()
        if now is None or now.fingerprint != fingerprint:
            yield f"made from another {name} than the one that is here"


def judge_files(run: Run, dataset: Dataset[Any]) -> Iterator[dict[str, list[str]]]:
    """What the checks say of each file, in the order of the files."""
    files = dataset.files
    if run.workers == 1 or len(files) <= 1:
        yield from (judge_file(run.folder, dataset.name, path) for path in files)
        return
    with run.executor(len(files)) as executor:
        waiting = {executor.submit(judge_file, run.folder, dataset.name, path): path for path in files}
        done = {waiting[future]: future.result() for future in as_completed(waiting)}
    yield from (done[path] for path in files)


def judge_file(folder: Path, name: str, path: Path) -> dict[str, list[str]]:
    """The rows of one file that fail a check, by the name of the check."""
    stage = all_stages()[name]
    datasets = {read: Dataset(folder, read, all_stages()[read].makes) for read in stage.reads}
    found: dict[str, list[str]] = {"columns": []}
    wanted = arrow_schema(stage.makes)
    if not parquet(path).schema_arrow.equals(wanted):
        found["columns"] = [f"{path.name}: columns are not those of {stage.makes.__name__}"]
        return found
    for batch in read_row_groups(path):
        found["columns"] += [f"{path.name}: {column} has nulls" for column in null_columns(stage.makes, batch)]
        records = None
        if not found["columns"] and not all(takes_batches(check) for check in stage.checks):
            records = list(as_records(stage, batch, path, found["columns"]))
        if found["columns"]:
            return found
        for check, reasons in judge_rows(stage, batch, records or [], datasets):
            places = found.setdefault(check.__name__, [])
            if isinstance(reasons, str):
                places.append(f"{path.name}: {reasons}")
            else:
                places += [
                    f"{batch['id'][row]} ({path.name}): {reason}" for row, reason in enumerate(reasons) if reason
                ]
    return found


def judge_rows(
    stage: Stage, batch: pa.RecordBatch, records: list[Record], datasets: dict[str, Any]
) -> Iterator[tuple[Check, list[str | None] | str]]:
    """What each check says of the rows; of a check that fails on them, how: what cannot be judged must not pass."""
    try:
        yield from zip(stage.checks, judge_batch(stage.checks, batch, records, datasets), strict=True)
    except Exception:  # noqa: BLE001 - one of them; asked one by one it can be named
        for check in stage.checks:
            try:
                yield check, judge_batch([check], batch, records, datasets)[0]
            except Exception as error:  # noqa: BLE001
                yield check, f"cannot be judged: {type(error).__name__}: {error}"


def as_records(stage: Stage, batch: pa.RecordBatch, path: Path, wrong: list[str]) -> Iterator[Record]:
    """The rows as records; what is wrong with those that are none goes to `wrong`."""
    for row in batch.to_pylist():
        try:
            yield stage.makes.model_validate(row)
        except ValidationError as error:
            field = ".".join(map(str, error.errors()[0]["loc"]))
            wrong.append(f"{row['id']} ({path.name}): {field}: {first_message(error)}")


def null_columns(record: type[BaseModel], batch: pa.RecordBatch, prefix: str = "") -> Iterator[str]:
    """Columns that have a null where the record must have a value, inside lists too."""
    for name, info in record.model_fields.items():
        column = batch[name]
        if column.null_count and type(None) not in get_args(info.annotation):
            yield prefix + name
        if pa.types.is_list(column.type) and pa.types.is_struct(column.type.value_type):
            (inner,) = [arg for arg in getattr(info.annotation, "__args__", ()) if isinstance(arg, type)]
            yield from null_columns(inner, pa.RecordBatch.from_struct_array(column.flatten()), f"{prefix}{name}.")
