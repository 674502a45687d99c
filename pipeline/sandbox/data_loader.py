"""The one typed loader of a trajectory's events, for gold and for agents.

    from data_loader import load_trajectory
    conn, df = load_trajectory("persona-0000003-32k")
    conn.execute("SELECT COUNT(*) FROM events WHERE action_type = 'purchase'").fetchone()

Price is DECIMAL(12,2) or NULL, timestamp TIMESTAMP, `add to Cart` an action type of its own.
"""

import os
from pathlib import Path
from typing import Any

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.dataset import escape_glob
from shopwright.pipeline.files import connect_duckdb, parquet, path_of
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.sandbox.sql import connect_confined
from shopwright.schemas.samples import Event

# The variable that names the folder of the trajectories' Parquet files, where no other is given.
HOME = "SHOPWRIGHT_TRAJECTORIES"
FOLDER = "data/runs/demo/trajectories"


def load_trajectory(id: str, folder: str | Path | None = None) -> tuple[Any, Any]:
    """A DuckDB connection with the table `events`, and the same events as a data frame.

    Raises Problem for an unknown trajectory, or files that hold no trajectories.
    """
    connection = connect_confined()
    table = query_trajectory_events(path_of(folder or os.environ.get(HOME, FOLDER)), id)
    fill_events_table(connection, table)
    return connection, make_exact_frame(table)


def make_exact_frame(table: Any) -> Any:
    """As a pandas data frame in which prices stay exact and a missing one compares as missing."""
    import pandas as pd
    import pyarrow as pa

    return table.to_pandas(types_mapper=lambda kind: pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else None)


def fill_events_table(connection: Any, table: Any) -> None:
    """Puts these events into the connection's table `events`."""
    connection.register("incoming", table)
    connection.execute(f"CREATE OR REPLACE TABLE events ({declare_event_columns()})")
    connection.execute("INSERT INTO events BY NAME FROM incoming")
    connection.unregister("incoming")


def query_trajectory_events(folder: Path, id: str) -> Any:
    """The events of one trajectory as an Arrow table, read by DuckDB."""
    if not isinstance(id, str):
        raise Problem(f"{id!r} is no trajectory's id: ids are texts like persona-0000003-32k.")
    files = find_trajectory_files(folder)
    with connect_duckdb(files) as reader:
        found = reader.sql(
            "SELECT UNNEST(events, recursive := true) FROM read_parquet($files) WHERE id = $id",
            params={"files": [escape_glob(file) for file in files], "id": id},
        ).to_arrow_table()
    if not found.num_rows:
        raise Problem(f"There is no trajectory {id} in {folder}.")
    return found


def find_trajectory_files(folder: Path) -> list[Path]:
    """The Parquet files of a folder of trajectories. Raises Problem where a column is missing."""
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise Problem(f"There are no trajectories in {folder}. Build them: shopwright build trajectories")
    for file in files:
        check_trajectories_file(file)
    return files


def check_trajectories_file(file: Path) -> None:
    """Raises Problem where a file holds no trajectories, or their events are not as they should be."""
    import pyarrow as pa

    try:
        schema = parquet(file).schema_arrow
    except (pa.ArrowInvalid, OSError):
        raise Problem(f"{file} cannot be read as Parquet.") from None
    wanted = arrow_schema(Event)
    if not {"id", "budget", "events"} <= set(schema.names):
        raise Problem(f"{file} holds no trajectories: it has the columns {', '.join(schema.names)}.")
    if schema.field("id").type != pa.string():
        raise Problem(f"{file}: its id is {schema.field('id').type}, not string.")
    item = getattr(schema.field("events").type, "value_type", None)
    have = {field.name: field.type for field in item} if item is not None and pa.types.is_struct(item) else {}
    for field in wanted:
        if field.name not in have:
            raise Problem(f"{file}: its events have no column {field.name}.")
        if have[field.name] != field.type:
            raise Problem(f"{file}: its events' {field.name} is {have[field.name]}, not {field.type}.")


SQL_TYPES = {
    "int64": "BIGINT",
    "string": "VARCHAR",
    "timestamp[us]": "TIMESTAMP",
    "decimal128(12, 2)": "DECIMAL(12,2)",
}


def list_event_columns() -> list[tuple[str, str, str]]:
    """Name, SQL type and meaning of each column of `events`."""
    about = {name: " ".join((info.description or "").split()) for name, info in Event.model_fields.items()}
    return [(field.name, SQL_TYPES[str(field.type)], about[field.name]) for field in arrow_schema(Event)]


def declare_event_columns() -> str:
    return ", ".join(f"{name} {kind}" for name, kind, _ in list_event_columns())


def describe_events_table() -> str:
    """The table `events` as every prompt shows it: one line for each column, with its type and meaning."""
    lines = [f"  {name:13} {kind:14} -- {about}" for name, kind, about in list_event_columns()]
    return "\n".join(["events (", *lines, ")"])
