"""The questions of a run, answered from their English and the events by a program that shares nothing with the package."""

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.run import Run
from tests.outside.questions.__main__ import compare


def test_an_outsider_understands_the_questions_and_agrees_with_every_answer(small):
    tally = compare(small.folder)
    assert not tally.disagreements
    assert tally.agreeing > 0.95 * tally.asked.total() > 40


def test_an_outsider_finds_an_answer_that_is_wrong(copy):
    for path in sorted((copy.folder / "questions").glob("*.parquet")):
        table = pq.read_table(path)
        wrong = pc.if_else(pc.equal(table["answer_type"], "integer"), "1000003", table["answer"])
        pq.write_table(table.set_column(table.column_names.index("answer"), "answer", wrong), path)
    found = compare(copy.folder).disagreements
    assert found
    assert all("1000003" in each for each in found)


@pytest.mark.slow
def test_an_outsider_agrees_with_every_answer_of_another_shop_and_seed(tmp_path):
    run = Run(tmp_path / "run", seed=2024, workers=2)
    run.build("questions", count=40, per_trajectory=50)
    tally = compare(run.folder)
    assert not tally.disagreements
    assert tally.agreeing > 0.95 * tally.asked.total() > 2_000
