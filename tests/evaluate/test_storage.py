"""What an evaluation leaves in a run is read again as it was, and each agent has a file of its own."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.evaluate.storage import (
    get_results_path,
    read_all_results,
    read_results,
    write_results,
)
from shopwright.pipeline.problem import Problem
from shopwright.schemas.record import Record


class Result(Record):
    policy: str
    reward: float


ROWS = [Result(id="a", policy="toy", reward=0.5), Result(id="b", policy="toy", reward=-1.0)]


def test_results_are_written_and_read_again(tmp_path):
    write_results(Result, ROWS, tmp_path / "a" / "b.parquet", {"split": "test"})
    assert read_results(Result, tmp_path / "a" / "b.parquet") == (ROWS, {"split": "test"})
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.parquet"]


def test_another_file_is_not_read(tmp_path):
    (tmp_path / "text.parquet").write_text("no")
    pq.write_table(pa.table({"id": ["x"]}), tmp_path / "other.parquet")
    for name in ("text.parquet", "other.parquet", "none.parquet"):
        assert read_results(Result, tmp_path / name) is None


def test_all_results_of_a_kind_are_read_and_other_files_passed_over(tmp_path):
    for what, policy in (("questions", "one"), ("questions", "two"), ("shopping", "one")):
        write_results(Result, ROWS, get_results_path(tmp_path, what, policy), {"who": policy})
    (tmp_path / "evaluations" / "questions-three.parquet").write_text("no")
    assert list(read_all_results(Result, tmp_path, "questions")) == [(ROWS, {"who": "one"}), (ROWS, {"who": "two"})]
    assert list(read_all_results(Result, tmp_path / "elsewhere", "questions")) == []


def test_two_agents_never_share_a_file(tmp_path):
    names = ["openai:a/b", "openai:a-b", "openai-a-b", "vllm:" + "x" * 300, "vllm:" + "x" * 301]
    files = [get_results_path(tmp_path, "questions", name) for name in names]
    assert len(set(files)) == len(names)
    assert max(len(file.name) for file in files) < 120


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match=r"Cannot write .*\. Choose another file\."):
        write_results(Result, ROWS, tmp_path / "file" / "x.parquet", {})
