"""Datasets of an earlier release get today's columns, in their place: nothing is made again, and what was made from them goes on.

A kill at any moment loses nothing. The new files are written beside the old ones, then a manifest of them (`NAME.migrating.json`), which
decides: from then on the next command ends what was begun.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.dataset import (
    Dataset,
    Manifest,
    Recipe,
    ShardWriter,
    file_facts,
    find_damaged_files,
    read_json_model,
    read_row_groups,
    write_json_model,
)
from shopwright.pipeline.files import is_here, move_into_place, remove
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.schema_steps import apply_steps, schema_number
from shopwright.pipeline.shards import draft_path
from shopwright.pipeline.stages import all_stages, order_names
from shopwright.schemas.record import Record


def find_outdated(run: Path) -> list[str]:
    """The whole datasets whose columns are those of an earlier release. Those that cannot be read are not among them."""
    there = [name for name in all_stages().list_names() if (run / "manifests" / f"{name}.json").exists()]
    return [name for name in order_names(there) if is_outdated(Dataset(run, name, all_stages()[name].makes))]


def is_outdated(dataset: Dataset[Any]) -> bool:
    try:
        made = dataset.read_manifest()
    except Problem:
        return False
    return made is not None and made.recipe.schema_number < schema_number(dataset.makes)


def migrate(run: Path) -> list[str]:
    """Gives these datasets today's columns, and names them; the caller holds the run's lock. What is damaged, or elsewhere, stays as it is."""
    return [name for name in find_outdated(run) if is_here(run) and migrate_dataset(run, name)]


def migrate_dataset(run: Path, name: str) -> bool:
    dataset = Dataset(run, name, all_stages()[name].makes)
    old = dataset.read_manifest()
    assert old
    plan = run / "manifests" / f"{name}.migrating.json"
    new = read_plan(plan)
    if new is None:
        if find_damaged_files(run, old.files):
            return False
        new = write_new_files(dataset, old, plan.with_suffix(""))
        write_json_model(plan, new)
    for path in sorted(plan.with_suffix("").glob("part-*.parquet")):
        move_into_place(path, dataset.folder / path.name)
    for each in all_stages():
        follow(run, each, name, old.fingerprint, new.fingerprint)
    write_json_model(dataset.manifest_path, new)
    remove(plan)
    plan.with_suffix("").rmdir()
    return True


def read_plan(path: Path) -> Manifest | None:
    try:
        return read_json_model(path, Manifest)
    except Problem:  # of no use: what was begun is begun again
        remove(path)
        return None


def write_new_files(dataset: Dataset[Any], old: Manifest, folder: Path) -> Manifest:
    """Beside the old ones, and their manifest."""
    makes: type[Record] = dataset.makes
    files, wanted = dict(old.files), arrow_schema(makes)
    for path in (each for each in old.files if not each.startswith("quarantine/")):
        writer = ShardWriter(folder / Path(path).name, makes, always=True)
        for batch in read_row_groups(dataset.run / path):
            table = apply_steps(pa.Table.from_batches([batch]), makes, old.recipe.schema_number)
            for moved in table.cast(wanted).combine_chunks().to_batches():
                writer.write(moved)
        writer.commit()
        files[path] = file_facts(folder / Path(path).name)
    recipe = old.recipe.model_copy(update={"schema_number": schema_number(makes)})
    return old.model_copy(update={"files": files, "recipe": recipe})


def follow(run: Path, name: str, read: str, before: str, after: str) -> None:
    """A dataset that was made, or is half-built, from the rows of another knows them by the fingerprint of their files."""
    dataset = Dataset(run, name, all_stages()[name].makes)
    try:
        made, draft = dataset.read_manifest(), read_json_model(draft_path(run, name), Recipe)
    except Problem:
        return  # whoever reads it hears why
    if made and made.recipe.inputs.get(read) == before:
        recipe = made.recipe.model_copy(update={"inputs": made.recipe.inputs | {read: after}})
        write_json_model(dataset.manifest_path, made.model_copy(update={"recipe": recipe}))
    if draft and draft.inputs.get(read) == before:
        write_json_model(draft_path(run, name), draft.model_copy(update={"inputs": draft.inputs | {read: after}}))
