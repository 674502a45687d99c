"""Other programs read a dataset's folder as it is, with every type and value."""

import json
import os
import subprocess
import sys
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.run import Run
from shopwright.pipeline.shards import Build, finish, make_shard
from shopwright.pipeline.stages import all_stages

NAMES = list(all_stages())
EVENT = {
    "row_id": pa.int64(),
    "timestamp": pa.timestamp("us"),
    "action_type": pa.string(),
    "asin": pa.string(),
    "product_name": pa.string(),
    "brand": pa.string(),
    "color": pa.string(),
    "product_types": pa.string(),
    "price": pa.decimal128(12, 2),
    "search_query": pa.string(),
}


@pytest.fixture(scope="session")
def expected(small):
    return {name: pq.read_table(small.folder / name).to_pylist() for name in NAMES}


def test_the_types_are_those_of_the_papers_table_form(small):
    events = pq.read_schema(small.read("trajectories").files[0]).field("events").type.value_type
    assert {field.name: field.type for field in events} == EVENT
    assert pq.read_schema(small.read("catalog").files[0]).field("price").type == pa.decimal128(12, 2)


@pytest.mark.parametrize("name", NAMES)
def test_every_shard_has_the_records_columns(small, name):
    for path in small.read(name).files:
        assert pq.read_schema(path).equals(arrow_schema(all_stages()[name].makes))


LOAD = """
import json, sys
from datasets import load_dataset
for folder in sys.argv[1:]:
    found = load_dataset("parquet", data_dir=folder, split="train")
    features = {name: str(kind) for name, kind in found.features.items()}
    print(json.dumps({"features": features, "rows": found.to_list()}, default=str))
"""


def test_datasets_loads_each_folder(small, expected, tmp_path):
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "HF_DATASETS_CACHE": str(tmp_path / "cache")}
    words = [sys.executable, "-c", LOAD, *(str(small.folder / name) for name in NAMES)]
    done = subprocess.run(words, env={**os.environ, **offline}, check=True, capture_output=True, text=True)
    loaded = dict(zip(NAMES, map(json.loads, done.stdout.splitlines()), strict=True))
    for name in NAMES:
        assert loaded[name]["rows"] == json.loads(json.dumps(expected[name], default=str))
    events = loaded["trajectories"]["features"]["events"]
    assert "'timestamp': Value('timestamp[us]')" in events
    assert "'price': Value('decimal128(12, 2)')" in events
    assert "'row_id': Value('int64')" in events


@pytest.mark.parametrize("name", NAMES)
def test_pandas_reads_each_folder(small, expected, name):
    import pandas

    found = pandas.read_parquet(small.folder / name, dtype_backend="pyarrow")
    assert pa.Table.from_pandas(found, arrow_schema(all_stages()[name].makes)).to_pylist() == expected[name]


@pytest.mark.parametrize("name", NAMES)
def test_duckdb_reads_each_folder(small, expected, name):
    import duckdb

    found = duckdb.sql(f"from read_parquet('{small.folder / name}/*.parquet') order by filename, file_row_number")
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    assert rows == expected[name]


def test_duckdb_sees_money_as_decimals_and_time_as_time(small):
    import duckdb

    files = f"{small.folder}/trajectories/*.parquet"
    found = duckdb.sql(
        "select distinct typeof(timestamp), typeof(price), typeof(row_id), typeof(asin) from "
        f"(select unnest(events, recursive := true) from '{files}')"
    ).fetchall()
    assert found == [("TIMESTAMP", "DECIMAL(12,2)", "BIGINT", "VARCHAR")]


def test_values_keep_their_python_types(expected):
    event = next(one for one in expected["trajectories"][0]["events"] if one["action_type"] == "click")
    assert (type(event["timestamp"]), type(event["price"]), type(event["row_id"])) == (datetime, Decimal, int)
    assert event["search_query"] is None
    search = next(one for one in expected["trajectories"][0]["events"] if one["action_type"] == "search")
    assert search["asin"] is search["price"] is None


@pytest.mark.parametrize("name", NAMES)
def test_parquet_is_zstd_throughout(small, name):
    for path in small.read(name).files:
        meta = pq.read_metadata(path)
        groups = [meta.row_group(group) for group in range(meta.num_row_groups)]
        assert {group.column(n).compression for group in groups for n in range(meta.num_columns)} == {"ZSTD"}


def test_a_row_group_holds_whole_customers_and_some_megabytes_of_text_at_most(undivided):
    for path in undivided.read("trajectories").files:
        file = pq.ParquetFile(path)
        assert file.num_row_groups > 1
        people = [file.read_row_group(n, ["persona_id"])["persona_id"].to_pylist() for n in range(file.num_row_groups)]
        assert all(len(set(group)) <= 16 for group in people)
        assert len({person for group in people for person in group}) == sum(len(set(group)) for group in people)
        assert all(file.metadata.row_group(n).total_byte_size < 64 << 20 for n in range(file.num_row_groups))


@pytest.fixture(scope="module")
def undivided(small, tmp_path_factory):
    """Two budgets for each customer, all in one shard."""
    folder = tmp_path_factory.mktemp("undivided")
    for name in ("catalog", "personas"):
        (folder / name).symlink_to(small.folder / name)
    stage, recipe = all_stages()["trajectories"], small.read("trajectories").manifest.recipe
    settings = {**recipe.settings, "tokens": ["32k", "64k"]}
    plan = stage.plan({name: small.read(name) for name in stage.reads}, settings)
    build = Build(folder, recipe.model_copy(update={"settings": settings}), 1, plan)
    make_shard(build, 0)
    finish(build)
    return Run(folder)
