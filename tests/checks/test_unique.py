"""Rows that are alike, found by hashes."""

import numpy as np
import pyarrow as pa
import pytest

from shopwright.pipeline.checks.near_duplicates import RUNS, find_similar_pairs, hash_runs_of_four
from shopwright.pipeline.checks.unique import find_repeated_rows, find_rows_alike_but_for_one
from tests.rows import write_dataset
from tests.toys import Toy


@pytest.fixture
def toys(tmp_path):
    """A dataset of these (id, number, color), two files of it."""

    def made(*given):
        rows = [dict(zip(("id", "number", "color"), row, strict=True)) for row in given]
        return write_dataset(tmp_path, "toys", Toy, rows[:3], rows[3:])

    return made


def where(faults):
    return [(fault.file.rpartition("/")[2][:10], fault.row) for fault in faults]


ROWS = [("a", 1, "red"), ("b", 2, "red"), ("a", 3, "blue"), ("c", 1, "red"), ("a", 5, "green"), ("b", 2, "blue")]


def test_all_but_the_first_with_the_same_value_are_found_in_their_files(toys):
    assert where(find_repeated_rows(toys(*ROWS), "id", "twice")) == [
        ("part-00000", 2),
        ("part-00001", 1),
        ("part-00001", 2),
    ]


def test_several_values_are_the_same_only_together(toys):
    assert where(find_repeated_rows(toys(*ROWS), "number, color", "twice")) == [("part-00001", 0)]


def test_no_value_is_the_same_as_no_value(toys):
    assert where(find_repeated_rows(toys(*ROWS), "nullif(color, 'red')", "twice")) == [
        ("part-00000", 1),
        ("part-00001", 0),
        ("part-00001", 2),
    ]


def test_rows_that_differ_in_one_of_three_are_found_whichever_it_is(toys):
    for other in [("z", 2, "red"), ("b", 9, "red"), ("b", 2, "pink"), ("b", 2, "red")]:
        data = toys(("a", 1, "blue"), ("b", 2, "red"), ("c", 3, "green"), ("d", 4, "white"), other)
        found = find_rows_alike_but_for_one(data, ("id", "number", "color"), "alike")
        assert set(where(found)) == {("part-00001", 1)}, other


def test_rows_that_differ_in_two_of_three_are_not_alike(toys):
    data = toys(("b", 2, "red"), ("b", 3, "blue"), ("c", 2, "white"), ("d", 4, "red"))
    assert list(find_rows_alike_but_for_one(data, ("id", "number", "color"), "alike")) == []


def test_equal_values_of_different_traits_are_no_likeness(toys):
    data = toys(("1", 2, "3"), ("3", 2, "1"))
    assert list(find_rows_alike_but_for_one(data, ("id", "number::varchar", "color"), "alike")) == []


def logs(*rows):
    """Trajectories' events; a dot is a search."""
    return pa.array([[{"asin": None if asin == "." else asin} for asin in row] for row in rows])


def runs(*rows):
    """How many runs of four products each row has."""
    owner, found = hash_runs_of_four(logs(*rows))
    assert all(np.all(np.diff(found[owner == row].astype(object)) > 0) for row in range(len(rows)))
    return np.bincount(owner, minlength=len(rows)).tolist()


def test_runs_are_of_products_of_one_row_and_each_counts_once():
    assert runs("abc", "defg", "", "abcab", "abcdabcda") == [0, 1, 0, 2, 4]


def test_searches_between_and_the_same_product_again_make_no_other_run():
    plain, other = (hash_runs_of_four(logs(row))[1].tolist() for row in ("abcde", "aa.b.bcc..de."))
    assert plain == other
    assert runs("aaab", "abc.", "abcc", "ab", "bcde") == [0, 0, 0, 0, 1]


def test_a_row_has_the_same_runs_alone_and_among_others():
    among = logs("wxyzabcd", "abcdefa", "abcdabcd", "x")
    alone = hash_runs_of_four(among.slice(1, 1))[1]
    owner, found = hash_runs_of_four(among)
    assert found[owner == 1].tolist() == alone.tolist() == hash_runs_of_four(logs("abcdefa"))[1].tolist()


def sketched(rows, batches=4):
    """Sixteen runs for each row, all different but for what is planted: 7 shares three with 3, 900 with 2, 901 two."""
    runs = np.random.default_rng(1).permutation(16 * rows).reshape(rows, 16).astype(np.uint64)
    runs[7, :3], runs[900, 4:], runs[901, :2] = runs[3, :3], runs[2, 4:], runs[2, :2]
    for some in np.array_split(np.arange(rows), batches):
        yield pa.record_batch([pa.array(runs[some].ravel()), pa.array(np.repeat(some, 16))], schema=RUNS)


def test_rows_that_share_three_runs_are_a_pair(tmp_path):
    assert find_similar_pairs(sketched(1_000)) == [(2, 900), (3, 7)]


def test_what_does_not_fit_into_memory_finds_the_same_pairs():
    assert find_similar_pairs(sketched(100_000), memory="24MB") == [(2, 900), (3, 7)]
