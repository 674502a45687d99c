"""What evaluations leave in a run's folder: a Parquet file for each agent, with facts about it."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.selection import digest_text
from shopwright.pipeline.files import is_here, move_into_place
from shopwright.pipeline.problem import Problem
from shopwright.schemas.record import Record

RowT = TypeVar("RowT", bound=Record)

# In a run, beside its datasets.
FOLDER = "evaluations"


def get_results_path(run: Path, what: str, policy: str) -> Path:
    """Two policies never share a file.

    >>> get_results_path(Path("run"), "behaviors", "solver").as_posix()
    'run/evaluations/behaviors-solver.parquet'
    >>> get_results_path(Path("run"), "shopping", "openai:a/b").name
    'shopping-openai-a-b-f510dc.parquet'
    """
    plain = re.sub(r"[^\w.-]+", "-", policy)[:80]
    own = plain if plain == policy else f"{plain}-{digest_text(policy).hex()[:6]}"  # two names may look alike now
    return run / FOLDER / f"{what}-{own}.parquet"


def write_results(makes: type[RowT], found: Iterable[RowT], path: Path, facts: Mapping[str, str]) -> None:
    """Rows with these facts about them. Raises Problem where the file cannot be written."""
    import pyarrow as pa

    write_parquet(pa.Table.from_batches([to_batch(makes, found)]).replace_schema_metadata(dict(facts)), path)


def write_parquet(table: Any, path: Path) -> None:
    """Whole or not at all. Raises Problem where it cannot be written."""
    import pyarrow.parquet as pq

    beside = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, beside, compression="zstd")
        move_into_place(beside, path)
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror or error}. Choose another file.") from None


def read_results(makes: type[RowT], path: Path) -> tuple[list[RowT], dict[str, str]] | None:
    """The rows and the facts; None where the file holds something else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        rows = [makes.model_validate(row) for row in table.to_pylist()]
    except (pa.ArrowException, OSError, ValueError):
        return None
    facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    return (rows, facts) if rows else None


def is_current(facts: Mapping[str, Any], dataset: Dataset[Any]) -> bool:
    """Whether results are of the rows that a dataset has now: their fact `made` is its fingerprint."""
    now = dataset.manifest
    return now is not None and facts.get("made") == now.fingerprint


def read_all_results(makes: type[RowT], run: Path, what: str) -> Iterator[tuple[list[RowT], dict[str, str]]]:
    """Those of every agent, as far as they can be read; from elsewhere by a copy."""
    for path in sorted((run / FOLDER).glob(f"{what}-*.parquet")):
        if is_here(path):
            found = read_results(makes, path)
        else:
            with tempfile.NamedTemporaryFile(suffix=".parquet") as copy:
                copy.write(path.read_bytes())
                copy.flush()
                found = read_results(makes, Path(copy.name))
        if found:
            yield found
