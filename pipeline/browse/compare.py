"""Two things side by side: what two agents did on one task, and what two runs hold."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from shopwright.pipeline.browse.rows import Shards, query_rows, read_row
from shopwright.pipeline.browse.search import quote_name, quote_text
from shopwright.pipeline.browse.sql import in_one_line
from shopwright.pipeline.dataset import Manifest, quote_paths
from shopwright.pipeline.evaluate.storage import FOLDER
from shopwright.pipeline.files import connect_duckdb, is_here
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages

# Datasets of episodes, each with the column that names the task.
EPISODES = {"env_episodes": "task_id", "shopping_episodes": "task_id", "rollouts": "question_id"}
# Files of evaluations whose rows are such episodes, by how their name begins.
EVALUATED = {"envs": "env_episodes"}
# Tasks on a page of agents, rows that differ on a page of two runs.
SHOWN = 100


class Played(NamedTuple):
    """One agent's way through a task."""

    table: str
    """A dataset, or the name of a file of an evaluation."""
    number: int
    agent: str
    reward: float


def find_tables(run: Run, shards: Mapping[str, Shards]) -> dict[str, tuple[str, Shards]]:
    """Name -> the dataset whose kind of episode it holds, and its files: datasets of episodes, and evaluations of a run on this machine."""
    found = {name: (name, shards[name]) for name in EPISODES if name in shards and shards[name].rows}
    for path in sorted(Path(str(run.folder), FOLDER).glob("*.parquet")):
        kind = EVALUATED.get(path.name.partition("-")[0])
        if kind:
            rows = pq.read_metadata(path).num_rows
            found[path.stem] = (kind, Shards([path], [0], rows))
    return found


def list_played(worker: Any, tables: Mapping[str, tuple[str, Shards]], kind: str) -> dict[str, list[Played]]:
    """Task -> how each agent fared, of one kind of episode: the tasks of several agents first, before all those where one did better."""
    found: dict[str, list[Played]] = defaultdict(list)
    reward = {"env_episodes": "reward.total", "shopping_episodes": "typed.strict", "rollouts": "reward"}[kind]
    agent = "concat_ws(', ', policy, scenario)" if kind == "shopping_episodes" else "policy"
    for table, (held, files) in tables.items():
        if held == kind:
            sql = f"SELECT n, {EPISODES[kind]}, {agent}, {reward} FROM rows ORDER BY n"
            for number, task, who, earned in query_rows(worker, files, sql, most=100_000).get("rows", []):
                found[task].append(Played(table, number, who, float(earned or 0)))
    return dict(sorted(found.items(), key=lambda item: rank_task(item[1])))


def rank_task(played: list[Played]) -> tuple[int, float]:
    rewards = [each.reward for each in played]
    return -min(2, len(played)), min(rewards) - max(rewards)


def read_episode(
    tables: Mapping[str, tuple[str, Shards]], table: str, number: int
) -> tuple[str, dict[str, Any]] | None:
    """Its kind and its row; None where there is none."""
    kind, files = tables.get(table, ("", None))
    batch = read_row(files, number) if files else None
    return (kind, batch.to_pylist()[0]) if batch is not None else None


# Two runs


class Difference(NamedTuple):
    """Of a dataset in two runs."""

    rows: tuple[int, int]
    rejected: tuple[int, int]
    settings: dict[str, tuple[Any, Any]]
    """What was asked for differently."""
    same_code: bool
    counts: dict[str, int]
    """Rows that are the same, changed, here only, there only."""
    changed: list[tuple[str, str]]
    """The first rows that differ: id, and here only, there only, or the columns."""
    error: str = ""


def compare_recipes(here: Manifest, there: Manifest) -> dict[str, tuple[Any, Any]]:
    """What two recipes ask for differently: seed, settings, models."""
    both = [
        {
            "seed": made.recipe.seed,
            **made.recipe.settings,
            **{f"model of {k}": v for k, v in made.recipe.models.items()},
        }
        for made in (here, there)
    ]
    return {
        key: (both[0].get(key), both[1].get(key)) for key in both[0] | both[1] if both[0].get(key) != both[1].get(key)
    }


def compare_datasets(here: Manifest, there: Manifest, mine: Shards, other: Shards) -> Difference:
    """Row by row, by id, in the columns that both have."""
    import duckdb

    counts: dict[str, int] = {}
    changed: list[tuple[str, str]] = []
    error = ""
    try:
        counts, changed = join_rows(mine, other, list(all_stages()[here.dataset].makes.model_fields))
    except duckdb.Error as why:
        error = in_one_line(str(why))
    rows, rejected = (here.rows, there.rows), (here.rejected, there.rejected)
    same = here.recipe.code == there.recipe.code
    return Difference(rows, rejected, compare_recipes(here, there), same, counts, changed, error)


def join_rows(mine: Shards, other: Shards, fields: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    # What is far away first: a connection reads the files of one place beside those of this machine.
    with connect_duckdb(sorted([*mine.paths, *other.paths], key=is_here)) as connection:
        connection.execute("SET memory_limit = '2GB'; SET threads = 2")
        for name, found in (("a", mine), ("b", other)):
            source = f"read_parquet([{quote_paths(found.paths)}])" if found.rows else "(SELECT '' AS id WHERE false)"
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")
        both = [
            {each[0] for each in connection.execute(f"SELECT * FROM {name} LIMIT 0").description} for name in ("a", "b")
        ]
        shared = [name for name in fields if name in both[0] & both[1] and name != "id"]
        differ = [
            f"CASE WHEN a.{quote_name(name)} IS DISTINCT FROM b.{quote_name(name)} THEN {quote_text(name)} END"
            for name in shared
        ]
        columns = f"concat_ws(', ', {', '.join(differ)})" if differ else "''"
        connection.execute(
            "CREATE TEMP TABLE found AS SELECT coalesce(a.id, b.id) AS id, CASE WHEN b.id IS NULL THEN 'here only' "
            f"WHEN a.id IS NULL THEN 'there only' ELSE {columns} END AS what FROM a FULL JOIN b ON a.id = b.id"
        )
        kinds = (
            "CASE WHEN what = '' THEN 'the same' WHEN what IN ('here only', 'there only') THEN what ELSE 'changed' END"
        )
        counts = dict(
            connection.execute(f"SELECT {kinds} AS kind, count(*) FROM found GROUP BY 1 ORDER BY 2 DESC").fetchall()
        )
        rows = connection.execute(
            f"SELECT id, what FROM found WHERE what <> '' ORDER BY what IN ('here only', 'there only'), id LIMIT {SHOWN}"
        ).fetchall()
    return counts, rows
