"""A trajectory's events as a table and as a data frame: typed, complete, and the same as in the dataset."""

from datetime import datetime
from decimal import Decimal

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.sandbox.data_loader import (
    declare_event_columns,
    describe_events_table,
    list_event_columns,
    load_trajectory,
)
from shopwright.schemas.samples import Event


@pytest.fixture(scope="module")
def rows(small):
    return small.read("trajectories").table().to_pylist()


@pytest.fixture(scope="module")
def last(rows):
    """The last trajectory, which is in the last file."""
    return rows[-1]


@pytest.fixture(scope="module")
def loaded(small, last):
    return load_trajectory(last["id"], small.folder / "trajectories")


@pytest.fixture
def write_file(small, tmp_path):
    """A folder with one file of trajectories, whose table a test changes before it is written."""

    def write(change=lambda table: table, name="part-00000.parquet"):
        tmp_path.mkdir(exist_ok=True)
        pq.write_table(change(small.read("trajectories").table()), tmp_path / name)
        return tmp_path

    return write


def test_the_rows_are_those_of_the_dataset_in_their_order(small, rows):
    for row in rows:
        connection, frame = load_trajectory(row["id"], small.folder / "trajectories")
        found = connection.execute("SELECT * FROM events")
        names = [column[0] for column in found.description]
        assert [dict(zip(names, each, strict=True)) for each in found.fetchall()] == row["events"]
        assert frame["row_id"].tolist() == [event["row_id"] for event in row["events"]]


def test_the_data_frame_says_the_same_as_the_table(loaded, last):
    _, frame = loaded
    assert list(frame.columns) == list(Event.model_fields)
    plain = frame.astype(object).where(frame.notna(), None)
    found = [row | {"timestamp": row["timestamp"].to_pydatetime()} for row in plain.to_dict("records")]
    assert found == last["events"]


def test_prices_are_exact_and_times_are_times(loaded, last):
    connection, frame = loaded
    price, when = connection.execute("SELECT price, timestamp FROM events WHERE action_type = 'purchase'").fetchone()
    assert isinstance(price, Decimal)
    assert isinstance(when, datetime)
    prices = [event["price"] for event in last["events"] if event["price"] is not None]
    assert connection.execute("SELECT SUM(price), TYPEOF(MIN(price)) FROM events").fetchone() == (
        sum(prices),
        "DECIMAL(12,2)",
    )
    assert frame["price"].sum() == sum(prices)
    assert set(frame["price"].dropna()) == set(prices)
    assert pd.api.types.is_datetime64_any_dtype(frame["timestamp"])
    assert pd.api.types.is_integer_dtype(frame["row_id"])


def test_a_search_has_no_price_and_is_in_no_comparison_of_prices(loaded, last):
    connection, frame = loaded
    searches = sum(event["action_type"] == "search" for event in last["events"])
    assert searches
    missing = "SELECT COUNT(*) FROM events WHERE price IS NULL AND asin IS NULL AND action_type = 'search'"
    assert connection.execute(missing).fetchone() == (searches,)
    assert frame[frame["action_type"] == "search"]["price"].isna().all()
    assert (frame["price"] > 5).isna().sum() == searches
    for one, other in ((frame["price"] >= 0, "price >= 0"), (frame["price"] < 10**6, "price < 1000000")):
        rest = frame[one.fillna(False)]
        assert len(rest) == len(frame) - searches
        assert connection.execute(f"SELECT COUNT(*) FROM events WHERE {other}").fetchone() == (len(rest),)


def test_putting_in_the_cart_is_an_action_of_its_own(loaded, last):
    connection, frame = loaded
    carts = [event["row_id"] for event in last["events"] if event["action_type"] == "add to Cart"]
    assert carts
    found = connection.execute("SELECT row_id FROM events WHERE action_type = 'add to Cart' ORDER BY row_id").fetchall()
    assert [row for (row,) in found] == carts
    assert frame[frame["action_type"] == "add to Cart"]["row_id"].tolist() == carts


def test_two_trajectories_have_connections_of_their_own(small, rows):
    folder = small.folder / "trajectories"
    (one, _), (other, _) = (load_trajectory(row["id"], folder) for row in rows[:2])
    one.execute("DELETE FROM events")
    assert other.execute("SELECT COUNT(*) FROM events").fetchone() == (len(rows[1]["events"]),)


def test_the_connection_reaches_no_file(loaded, small):
    with pytest.raises(duckdb.Error):
        loaded[0].execute(f"SELECT * FROM '{small.folder}/trajectories/part-00000.parquet'")


def test_the_schema_names_every_column_with_its_type_and_meaning(loaded):
    described = {name: kind for name, kind, *_ in loaded[0].execute("DESCRIBE events").fetchall()}
    assert [(name, kind) for name, kind, _ in list_event_columns()] == list(described.items())
    assert list(described) == list(Event.model_fields)
    lines = describe_events_table().splitlines()
    assert (lines[0], lines[-1]) == ("events (", ")")
    for line, (name, kind) in zip(lines[1:-1], described.items(), strict=True):
        words, _, about = line.partition(" -- ")
        assert words.split() == [name, kind]
        assert len(about) > 10
    assert declare_event_columns() == ", ".join(f"{name} {kind}" for name, kind in described.items())


# Where they lie


def test_without_a_folder_it_is_the_one_that_the_variable_names(small, last, monkeypatch):
    monkeypatch.setenv("SHOPWRIGHT_TRAJECTORIES", str(small.folder / "trajectories"))
    assert len(load_trajectory(last["id"])[1]) == len(last["events"])


def test_a_folder_that_is_given_comes_before_the_variable(small, last, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOPWRIGHT_TRAJECTORIES", str(tmp_path / "nowhere"))
    assert len(load_trajectory(last["id"], str(small.folder / "trajectories"))[1]) == len(last["events"])
    with pytest.raises(Problem, match="nowhere"):
        load_trajectory(last["id"])


def test_without_folder_and_variable_it_is_the_demo_run(small, last, tmp_path, monkeypatch):
    monkeypatch.delenv("SHOPWRIGHT_TRAJECTORIES", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "runs").mkdir(parents=True)
    (tmp_path / "data" / "runs" / "demo").symlink_to(small.folder)
    assert len(load_trajectory(last["id"])[1]) == len(last["events"])


@pytest.mark.parametrize("name", ["it's", "a b", "ünïcode", "run [1]", "100%"])
def test_the_folder_may_have_any_name(write_file, last, tmp_path, name):
    write_file()
    (tmp_path / name).mkdir()
    (tmp_path / "part-00000.parquet").rename(tmp_path / name / "part-00000.parquet")
    assert len(load_trajectory(last["id"], tmp_path / name)[1]) == len(last["events"])


def test_a_wildcard_in_a_folders_name_means_no_other_folder(write_file, last, tmp_path):
    write_file()
    for name in ("run-?", "run-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part-00000.parquet").write_bytes((tmp_path / "part-00000.parquet").read_bytes())
    assert len(load_trajectory(last["id"], tmp_path / "run-?")[1]) == len(last["events"])


# What is no trajectory


@pytest.mark.parametrize("id", ["persona-9999999-6k", "", "persona-0000000-6K", "' OR '1' = '1"])
def test_an_id_that_is_not_there_is_a_problem(small, id):
    with pytest.raises(Problem, match="There is no trajectory "):
        load_trajectory(id, small.folder / "trajectories")


def test_a_folder_without_trajectories_is_a_problem_that_says_how_to_build_them(small, last, tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere", small.folder):
        with pytest.raises(Problem, match="shopwright build trajectories"):
            load_trajectory(last["id"], folder)


@pytest.mark.parametrize("column", ["id", "budget", "events"])
def test_a_file_without_these_columns_is_a_problem(write_file, last, column):
    folder = write_file(lambda table: table.drop_columns([column]))
    with pytest.raises(Problem, match=r"part-00000.parquet holds no trajectories: it has the columns "):
        load_trajectory(last["id"], folder)


def test_one_bad_file_among_good_ones_is_a_problem(write_file, last):
    write_file()
    folder = write_file(lambda table: table.drop_columns(["events"]), "part-00001.parquet")
    with pytest.raises(Problem, match=r"part-00001.parquet holds no trajectories"):
        load_trajectory(last["id"], folder)


def trajectory_of(folder, fields):
    """A trajectory without events, which would have these fields."""
    events = pa.array([[]], pa.list_(pa.struct(fields)))
    pq.write_table(pa.table({"id": ["a"], "budget": ["6k"], "events": events}), folder / "part-00000.parquet")


@pytest.mark.parametrize("name", list(Event.model_fields))
def test_events_without_a_column_are_a_problem_that_names_it(tmp_path, name):
    trajectory_of(tmp_path, [field for field in arrow_schema(Event) if field.name != name])
    with pytest.raises(Problem, match=f"part-00000.parquet: its events have no column {name}"):
        load_trajectory("a", tmp_path)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("row_id", pa.int32(), "row_id is int32, not int64"),
        ("timestamp", pa.string(), r"timestamp is string, not timestamp\[us\]"),
        ("timestamp", pa.timestamp("ns"), r"timestamp is timestamp\[ns\], not timestamp\[us\]"),
        ("timestamp", pa.timestamp("us", "UTC"), r"timestamp is timestamp\[us, tz=UTC\], not timestamp\[us\]"),
        ("price", pa.float64(), r"price is double, not decimal128\(12, 2\)"),
        ("price", pa.decimal128(12, 3), r"price is decimal128\(12, 3\), not decimal128\(12, 2\)"),
        ("search_query", pa.list_(pa.string()), "search_query is list<.*>, not string"),
    ],
)
def test_events_with_a_column_of_another_type_are_a_problem_that_names_both(tmp_path, name, kind, said):
    trajectory_of(tmp_path, [pa.field(name, kind) if field.name == name else field for field in arrow_schema(Event)])
    with pytest.raises(Problem, match=f"its events' {said}"):
        load_trajectory("a", tmp_path)


def test_the_columns_of_events_may_come_in_any_order(write_file, last):
    def color_before_brand(table):
        named = {field.name: field for field in arrow_schema(Event)}
        order = [{"brand": "color", "color": "brand"}.get(name, name) for name in named]
        events = pa.array(table["events"].to_pylist(), pa.list_(pa.struct([named[name] for name in order])))
        return table.set_column(table.schema.get_field_index("events"), "events", events)

    connection, _ = load_trajectory(last["id"], write_file(color_before_brand))
    found = connection.execute("SELECT brand, color FROM events").fetchall()
    assert found == [(event["brand"], event["color"]) for event in last["events"]]


@pytest.mark.parametrize(
    "events", [pa.array([7]), pa.array(["search"]), pa.array([{"price": 3}]), pa.array([[{"price": 3}]])]
)
def test_events_that_are_none_are_a_problem(tmp_path, events):
    pq.write_table(pa.table({"id": ["a"], "budget": ["6k"], "events": events}), tmp_path / "part-00000.parquet")
    with pytest.raises(Problem, match="its events have no column row_id"):
        load_trajectory("a", tmp_path)


def test_events_that_are_a_list_of_numbers_are_a_problem(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "budget": ["6k"], "events": [[7]]}), tmp_path / "part-00000.parquet")
    with pytest.raises(Problem, match="its events"):
        load_trajectory("a", tmp_path)


@pytest.mark.parametrize("content", [b"", b"id,budget,events\n"])
def test_a_file_that_is_not_parquet_is_a_problem(tmp_path, content):
    (tmp_path / "part-00000.parquet").write_bytes(content)
    with pytest.raises(Problem, match=r"part-00000.parquet"):
        load_trajectory("a", tmp_path)
