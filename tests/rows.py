"""Rows as a dataset, and what a stage's checks say of them together, for tests that make rows on purpose."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.dataset import Dataset, ShardWriter
from shopwright.pipeline.stage import Stage
from shopwright.schemas.record import Record


def write_dataset(
    folder: Path, name: str, makes: type[Record], *shards: Sequence[Any], group: int = 1_000
) -> Dataset[Any]:
    """Without a manifest; each list of rows is a shard, in row groups of so many rows."""
    for number, rows in enumerate(shards):
        writer = ShardWriter(folder / name / f"part-{number:05d}.parquet", makes, always=True)
        for begin in range(0, len(rows), group):
            writer.write(to_batch(makes, rows[begin : begin + group]))
        writer.commit()
    return Dataset(folder, name, makes)


def list_faults(stage: Stage, folder: Path, *shards: Sequence[Any], group: int = 1_000) -> list[tuple[int, int, str]]:
    """What the checks across the dataset want out: shard, row, reason."""
    data = write_dataset(folder, stage.name, stage.makes, *shards, group=group)
    found = [fault for check in stage.across for fault in check(data)]
    return [(int(Path(fault.file).stem.removeprefix("part-")), fault.row, fault.reason) for fault in found]
