"""A dataset is read as it was written, in order, and a shard is there whole or not at all."""

import gc
import json
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwright import __version__
from shopwright.pipeline.arrow import arrow_schema, to_batch
from shopwright.pipeline.dataset import (
    RUNS_KEPT,
    Dataset,
    Manifest,
    ShardWriter,
    compute_checksum,
    read_json_model,
    read_row_groups,
    write_json_model,
)
from shopwright.pipeline.files import is_readable_parquet, write_whole
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.words import content_words
from shopwright.schemas.record import Part, Record
from tests.folders import listing
from tests.rows import write_dataset


class Bid(Part):
    price: Decimal
    when: datetime


class Lot(Record):
    number: int
    bids: list[Bid]
    note: str | None


def lot(number):
    bids = [Bid(price=Decimal(number * 100 + bid) / 100, when=datetime(2024, 5, 1, bid)) for bid in range(number % 3)]
    return Lot(id=f"lot-{number}", number=number, bids=bids, note=None if number % 2 else "ünïcode\n")


LOTS = [lot(number) for number in range(12)]


@pytest.fixture
def lots(tmp_path):
    """Twelve rows in two shards of two row groups each, with one shard empty between them."""
    for shard, groups in enumerate([[LOTS[:2], LOTS[2:5]], [], [LOTS[5:6], LOTS[6:]]]):
        writer = ShardWriter(tmp_path / "lots" / f"part-{shard:05d}.parquet", Lot, always=True)
        for rows in groups:
            writer.write(to_batch(Lot, rows))
        writer.commit()
    return Dataset(tmp_path, "lots", Lot)


def test_records_come_back_as_they_were_written(lots):
    assert list(lots) == LOTS
    assert len(lots) == 12


def test_the_first_rows_are_the_first_rows(lots):
    for count in (1, 2, 3, 6, 12, 40):
        assert lots.head(count) == LOTS[:count]


@given(start=st.integers(0, 14), stop=st.integers(0, 14))
def test_any_range_of_rows_can_be_read_alone(start, stop, lots_once):
    assert list(lots_once.rows(range(start, stop))) == LOTS[start:stop]


@pytest.fixture(scope="module")
def lots_once(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("lots"), "lots", Lot, LOTS[:5], LOTS[5:], group=1)


def test_a_table_has_the_columns_that_were_asked_for_in_the_order_of_the_rows(lots):
    assert lots.table(["number"])["number"].to_pylist() == list(range(12))
    assert lots.table().schema.equals(arrow_schema(Lot))


def test_a_dataset_that_is_not_there_has_no_rows(tmp_path):
    nothing = Dataset(tmp_path, "nothing", Lot)
    assert (list(nothing), len(nothing), nothing.table().num_rows, nothing.head(3), nothing.sql("from rows")) == (
        [],
        0,
        0,
        [],
        [],
    )
    assert nothing.manifest is None


def test_sql_sees_the_rows_and_where_they_stand(lots):
    found = lots.sql("select id, parse_filename(filename), file_row_number from rows where number in (4, 6)")
    assert found == [("lot-4", "part-00000.parquet", 4), ("lot-6", "part-00002.parquet", 1)]


def test_sql_finds_a_folder_whose_name_has_a_quote(tmp_path):
    assert write_dataset(tmp_path / "it's", "lots", Lot, LOTS).sql("select count(*) from rows") == [(12,)]


def test_sql_sees_a_file_that_was_changed_in_place(tmp_path):
    there = write_dataset(tmp_path, "lots", Lot, LOTS)
    (path,) = there.files
    before = path.stat()
    assert there.sql("select max(number) from rows") == [(11,)]
    write_dataset(tmp_path, "lots", Lot, [lot(number + 1) for number in range(12)])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert Dataset(tmp_path, "lots", Lot).sql("select max(number) from rows") == [(12,)]


def test_queries_of_several_threads_each_see_their_own_rows(tmp_path):
    sizes = range(1, 9)
    kept = [write_dataset(tmp_path / str(size), "lots", Lot, LOTS[:size]) for size in sizes]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda each: each.sql("select count(*) from rows"), kept * 5))
    assert found == [[(size,)] for size in sizes] * 5


def test_a_query_leaves_nothing_open_at_the_end_of_a_process(tmp_path):
    write_dataset(tmp_path, "lots", Lot, LOTS)
    code = (
        "from pathlib import Path; from shopwright.pipeline.dataset import Dataset; from shopwright.schemas.record import Record; "
        f"print(Dataset(Path({str(tmp_path)!r}), 'lots', Record).sql('select count(*) from rows'))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[(12,)]\n", "")


def test_what_is_looked_up_is_made_once_and_again_when_the_files_change(lots):
    made = []

    def ids(dataset):
        made.append(dataset.name)
        return [row.id for row in dataset]

    assert lots.once(ids) is lots.once(ids) is Dataset(lots.run, "lots", Lot).once(ids)
    assert made == ["lots"]
    content_words("lamp")
    assert len(write_dataset(lots.run, "lots", Lot, LOTS[:1]).once(ids)) == 8
    assert made == ["lots", "lots"]
    assert content_words.cache_info().currsize == 0  # of words that may be the old files'


def test_of_many_runs_what_was_looked_up_of_the_last_few_is_kept(tmp_path):
    class Ids(list):
        """A list that can be watched."""

    def ids(dataset):
        return Ids(row.id for row in dataset)

    watched = []
    for number in range(RUNS_KEPT + 4):
        lots = write_dataset(tmp_path / str(number), "lots", Lot, LOTS)
        watched.append(weakref.ref(lots.once(ids)))
        known = content_words.cache_info().currsize
        content_words(f"lamp {number}")
        assert content_words.cache_info().currsize == (known if number < RUNS_KEPT else 0) + 1
    del lots
    gc.collect()
    assert [found() is not None for found in watched] == [False] * 4 + [True] * RUNS_KEPT
    assert Dataset(tmp_path / "0", "lots", Lot).once(ids) == [lot.id for lot in LOTS]


def test_each_batch_is_a_row_group_of_zstd(lots):
    path = lots.files[0]
    assert [batch.num_rows for batch in read_row_groups(path)] == [2, 3]
    meta = pq.read_metadata(path)
    assert {meta.row_group(0).column(n).compression for n in range(meta.num_columns)} == {"ZSTD"}


def test_a_shard_is_not_there_before_it_is_whole(tmp_path):
    path = tmp_path / "lots" / "part-00000.parquet"
    writer = ShardWriter(path, Lot)
    assert listing(tmp_path) == set()
    writer.write(to_batch(Lot, LOTS))
    assert not path.exists()
    writer.commit()
    assert listing(tmp_path) == {"lots", "lots/part-00000.parquet"}


def test_a_shard_that_was_given_up_leaves_nothing(tmp_path):
    writer = ShardWriter(tmp_path / "lots" / "part-00000.parquet", Lot)
    writer.write(to_batch(Lot, LOTS))
    writer.discard()
    assert listing(tmp_path) == {"lots"}


class Full:
    """A file on a disk without room for its end."""

    def close(self):
        raise OSError(28, "No space left on device")


def test_a_shard_that_was_given_up_for_want_of_room_leaves_nothing(tmp_path):
    writer = ShardWriter(tmp_path / "lots" / "part-00000.parquet", Lot)
    writer.write(to_batch(Lot, LOTS))
    writer.file.close()
    writer.file = Full()
    writer.discard()
    assert listing(tmp_path) == {"lots"}


def test_no_file_is_made_for_no_rows_unless_it_is_wanted(tmp_path):
    ShardWriter(tmp_path / "one" / "part-00000.parquet", Lot).commit()
    assert listing(tmp_path) == set()
    ShardWriter(tmp_path / "two" / "part-00000.parquet", Lot, always=True).commit()
    assert pq.read_table(tmp_path / "two" / "part-00000.parquet").schema.equals(arrow_schema(Lot))


def test_rows_of_another_kind_are_refused(tmp_path):
    writer = ShardWriter(tmp_path / "lots" / "part-00000.parquet", Lot)
    with pytest.raises(ValueError, match="schema"):
        writer.write(pa.RecordBatch.from_pydict({"id": ["a"]}))


def test_a_truncated_shard_is_not_whole(lots):
    path = lots.files[0]
    assert is_readable_parquet(path)
    path.write_bytes(path.read_bytes()[:-9])
    assert not is_readable_parquet(path)
    assert not is_readable_parquet(path.with_name("part-00009.parquet"))


MANIFEST = {
    "dataset": "lots",
    "about": "Lots.",
    "recipe": {
        "dataset": "lots",
        "settings": {"count": 3},
        "seed": 0,
        "inputs": {},
        "files": {},
        "code": "abc",
        "version": "1",
    },
    "rows": 3,
    "rejected": 1,
    "rejects": {"broken": 1},
    "seconds": 1.5,
    "workers": 2,
    "files": {
        "lots/part-00000.parquet": {"rows": 3, "bytes": 9, "sha256": "a" * 64},
        "quarantine/lots/part-00000.parquet": {"rows": 1, "bytes": 9, "sha256": "b" * 64},
    },
}


def test_a_manifest_comes_back_as_it_was_written(tmp_path):
    manifest = Manifest.model_validate(MANIFEST)
    write_whole(tmp_path / "manifests" / "lots.json", manifest.model_dump_json())
    assert Dataset(tmp_path, "lots", Lot).manifest == manifest
    assert listing(tmp_path) == {"manifests", "manifests/lots.json"}


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"dataset": "lots"}', "\x00"])
def test_a_manifest_that_cannot_be_read_is_a_problem_that_names_the_file(tmp_path, broken):
    (tmp_path / "lots.json").write_text(broken)
    with pytest.raises(
        Problem, match=r"lots\.json cannot be read as a manifest of this version \(it is damaged\)\. Use another --run"
    ):
        read_json_model(tmp_path / "lots.json", Manifest)


def test_a_manifest_that_an_older_version_of_the_same_number_made_is_not_called_damaged(tmp_path):
    path = tmp_path / "lots.json"
    write_json_model(
        path, Manifest.model_validate(MANIFEST | {"recipe": MANIFEST["recipe"] | {"version": __version__}})
    )
    facts = {name: value for name, value in json.loads(path.read_text()).items() if name not in ("rejects", "sum")}
    path.write_text(json.dumps(facts | {"sum": compute_checksum(facts)}))
    with pytest.raises(
        Problem, match=r"\(it was made by an older version, also called .*\)\. Use another --run .* --rebuild"
    ):
        read_json_model(path, Manifest)
    path.write_text(json.dumps(facts | {"sum": compute_checksum(facts | {"rows": 4})}))
    with pytest.raises(Problem, match="it is damaged"):
        read_json_model(path, Manifest)


def test_a_manifest_with_a_field_of_the_future_is_not_half_read():
    with pytest.raises(ValueError, match="not permitted"):
        Manifest.model_validate({**MANIFEST, "moon": "full"})
    with pytest.raises(ValueError, match="not permitted"):
        Manifest.model_validate({**MANIFEST, "recipe": {**MANIFEST["recipe"], "model": "gpt"}})


def test_a_text_is_there_whole_or_as_it_was(tmp_path):
    write_whole(tmp_path / "a.json", "before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "a.json", "after \ud800")
    assert (tmp_path / "a.json").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_fingerprint_is_that_of_the_rows_that_passed():
    one = Manifest.model_validate(MANIFEST)
    files = dict(MANIFEST["files"])
    held, kept = reversed(files)
    slower = one.model_copy(update={"seconds": 9.0, "workers": 8})
    other_rejects = Manifest.model_validate({**MANIFEST, "files": {kept: files[kept]}})
    other_rows = Manifest.model_validate({**MANIFEST, "files": {kept: {**files[kept], "sha256": "c" * 64}}})
    assert one.fingerprint == slower.fingerprint == other_rejects.fingerprint != other_rows.fingerprint
    assert held in one.files
