import hashlib
import json
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish import layout
from shopwright.pipeline.publish.exporters.forms import Config
from shopwright.pipeline.publish.layout import lay
from tests.folders import listing

ROWS = pa.schema([("id", pa.string()), ("said", pa.json_()), ("paid", pa.decimal128(12, 2))])


def batch(rows, name="row"):
    said = [json.dumps({"n": row, "none": None}) for row in rows]
    plain = pa.schema([ROWS.field("id"), ("said", pa.string()), ROWS.field("paid")])
    columns = {"id": [f"{name}-{row}" for row in rows], "said": said, "paid": [None] * len(said)}
    return pa.record_batch(columns, schema=plain)


def config(name="toys", **splits):
    """`splits`: name -> how many rows; 500 to a batch."""
    made = {
        split: lambda count=count: (batch(range(n, min(n + 500, count))) for n in range(0, count, 500))
        for split, count in (splits or {"train": 10}).items()
    }
    return Config(name, f"Rows of {name}.", ROWS, made)


def shards(folder, rows, *, most, each=10_000):
    made = layout.SplitWriter(folder, "train", ROWS, most=most)
    for first in range(0, rows, each):
        made.write(pa.Table.from_batches([batch(range(first, first + each))]).cast(ROWS))
    made.close()
    return made.name_files()


def test_every_split_of_every_config_has_its_files(tmp_path):
    laid = lay([config("toys", train=10, test=3), config("boxes", train=5)], tmp_path / "hub")
    assert list(laid.files) == [
        "data/toys/train-00000-of-00001.parquet",
        "data/toys/test-00000-of-00001.parquet",
        "data/boxes/train-00000-of-00001.parquet",
    ]
    assert [laid.configs["toys"].splits["test"].rows, laid.configs["toys"].rows] == [3, 13]
    assert laid.configs["toys"].bytes == sum((laid.folder / path).stat().st_size for path in list(laid.files)[:2])
    assert pq.read_table(tmp_path / "hub" / "data" / "toys" / "test-00000-of-00001.parquet").num_rows == 3


def test_what_has_no_rows_is_left_out(tmp_path):
    laid = lay([config("toys", train=2, test=0), config("boxes", train=0)], tmp_path / "hub")
    assert [*laid.configs] == ["toys"]
    assert [*laid.configs["toys"].splits] == ["train"]
    assert not (tmp_path / "hub" / "data" / "boxes").exists()


def test_datasets_reads_the_features_from_the_file_alone(tmp_path):
    from datasets import Dataset

    laid = lay([config(train=3)], tmp_path / "hub")
    found = Dataset.from_parquet(str(tmp_path / "hub" / next(iter(laid.files))), cache_dir=str(tmp_path / "cache"))
    assert found.features == laid.configs["toys"].features
    assert found[2] == {"id": "row-2", "said": {"n": 2, "none": None}, "paid": None}


def test_the_same_rows_give_the_same_bytes(tmp_path):
    first, second = (lay([config(train=3_000, test=20)], tmp_path / name) for name in ("one", "two"))
    assert first.files == second.files
    assert (first.folder / layout.INDEX).read_bytes() == (second.folder / layout.INDEX).read_bytes()


def test_no_row_group_is_larger_than_it_may_be_however_large_the_batches():
    large = batch(range(4_000))
    most = large.nbytes // 7
    tables = list(layout.group_rows([large, batch(range(4_000, 4_010))], most))
    assert max(table.nbytes for table in tables) <= most * 1.1
    assert len(tables) == 8
    assert pa.concat_tables(tables).column("id").to_pylist() == [f"row-{n}" for n in range(4_010)]


def test_small_batches_share_a_row_group():
    tables = list(layout.group_rows(batch(range(n, n + 10)) for n in range(0, 1_000, 10)))
    assert [table.num_rows for table in tables] == [1_000]


def test_a_file_that_would_get_too_large_is_followed_by_another(tmp_path):
    one = shards(tmp_path / "one", 10_000, most=10**9)[0].stat().st_size
    found = shards(tmp_path / "many", 90_000, most=4 * one)
    assert [path.name for path in found] == [f"train-{n:05d}-of-{len(found):05d}.parquet" for n in range(len(found))]
    assert len(found) in (3, 4)
    assert all(path.stat().st_size <= 4 * one for path in found)
    rows = [row for path in found for row in pq.read_table(path).column("id").to_pylist()]
    assert rows == [f"row-{n}" for n in range(90_000)]
    assert sorted(listing(tmp_path / "many")) == [path.name for path in found]


def test_a_reader_finds_single_pages(tmp_path):
    laid = lay([config(train=2_000)], tmp_path / "hub")
    meta = pq.read_metadata(tmp_path / "hub" / next(iter(laid.files)))
    group = meta.row_group(0)
    assert meta.num_row_groups == 1
    assert all(group.column(n).has_offset_index for n in range(meta.num_columns))
    assert b"content_defined_chunking" in meta.metadata


def test_rows_put_in_front_leave_most_of_a_file_as_it_was(tmp_path):
    drawn = random.Random(7)
    texts = [drawn.randbytes(60).hex() for _ in range(60_000)]

    def written(name, rows):
        schema = pa.schema([("text", pa.string())])
        made = Config("texts", "", schema, {"train": lambda: iter([pa.record_batch({"text": rows}, schema=schema)])})
        return (tmp_path / name / next(iter(lay([made], tmp_path / name).files))).read_bytes()

    before, after = written("before", texts), written("after", ["new"] * 17 + texts)
    places = [drawn.randrange(len(before) - 64) for _ in range(60)]
    assert sum(before[place : place + 64] in after for place in places) > 45


def test_the_index_names_every_other_file(tmp_path):
    def finish(laid):
        (laid.folder / "README.md").write_text("a card")

    lay([config()], tmp_path / "hub", finish=finish)
    index = json.loads((tmp_path / "hub" / layout.INDEX).read_text())
    assert set(index) == {"README.md", "data/toys/train-00000-of-00001.parquet"}
    assert index["README.md"] == {"bytes": 6, "sha256": hashlib.sha256(b"a card").hexdigest()}


def test_a_lay_that_fails_leaves_what_was_there(tmp_path):
    def finish(laid):
        assert (laid.folder / "data" / "toys" / "train-00000-of-00001.parquet").exists()
        raise Problem("not fit")

    with pytest.raises(Problem, match="not fit"):
        lay([config()], tmp_path / "hub", finish=finish)
    assert not listing(tmp_path)
    lay([config(train=4)], tmp_path / "hub")
    before = listing(tmp_path)
    with pytest.raises(Problem, match="not fit"):
        lay([config(train=5)], tmp_path / "hub", finish=finish)
    assert listing(tmp_path) == before
    assert pq.read_metadata(tmp_path / "hub" / "data" / "toys" / "train-00000-of-00001.parquet").num_rows == 4


def test_rows_that_cannot_be_read_to_the_end_leave_nothing(tmp_path):
    def rows():
        yield batch(range(10))
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        lay([Config("toys", "", ROWS, {"train": rows})], tmp_path / "hub")
    assert not listing(tmp_path)


def test_what_a_killed_lay_left_behind_is_taken_away(tmp_path):
    left = tmp_path / ".hub.laying" / "data" / "toys"
    left.mkdir(parents=True)
    (left / "train-00000-of-00001.parquet").write_text("half")
    (tmp_path / ".hub.old").mkdir()
    laid = lay([config(train=4)], tmp_path / "hub")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hub"]
    assert laid.configs["toys"].rows == 4


def test_laying_again_takes_away_what_is_no_longer_there(tmp_path):
    lay([config("toys"), config("boxes")], tmp_path / "hub")
    laid = lay([config("boxes")], tmp_path / "hub")
    files = {path for path in listing(tmp_path / "hub") if (tmp_path / "hub" / path).is_file()}
    assert files == {*laid.files, layout.INDEX}


@pytest.mark.parametrize("stranger", ["notes.txt", "data/toys/mine.parquet", ".git/HEAD"])
def test_a_folder_with_other_things_is_left_alone(tmp_path, stranger):
    lay([config()], tmp_path / "hub")
    path = tmp_path / "hub" / stranger
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")
    with pytest.raises(Problem, match=path.name):
        lay([config()], tmp_path / "hub")
    assert path.read_text() == "mine"


def test_a_file_of_ones_own_called_like_the_index_opens_no_door(tmp_path):
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / layout.INDEX).write_text("[1, 2]")
    (tmp_path / "hub" / "notes.txt").write_text("mine")
    with pytest.raises(Problem, match=r"notes\.txt"):
        lay([config()], tmp_path / "hub")


def test_a_file_where_the_folder_should_be_is_left_alone(tmp_path):
    (tmp_path / "hub").write_text("mine")
    with pytest.raises(Problem, match="hub"):
        lay([config()], tmp_path / "hub")
    assert (tmp_path / "hub").read_text() == "mine"


def test_a_link_to_a_folder_stays_one(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "hub").symlink_to(tmp_path / "far")
    lay([config()], tmp_path / "hub")
    assert (tmp_path / "hub").is_symlink()
    assert (tmp_path / "far" / layout.INDEX).is_file()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_cannot_be_written_to_is_told(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(Problem, match="Cannot write"):
        lay([config()], tmp_path / "hub")


def test_a_place_below_a_file_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="Cannot write"):
        lay([config()], tmp_path / "file" / "hub")


@pytest.mark.parametrize("name", ["a/b", "..", "", "a b"])
def test_a_name_that_makes_no_file_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="letters"):
        lay([config(name)], tmp_path / "hub")
    with pytest.raises(ValueError, match="letters"):
        lay([config("toys", **{name: 1})], tmp_path / "hub")
