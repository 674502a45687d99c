"""What a reader of the log's text is shown, and when what it writes is right."""

from collections import Counter

import pytest

from benchmarks import tool_against_text as benchmark
from shopwright.pipeline.evaluate.statistics import measure_share


@pytest.fixture
def log(small):
    return benchmark.open_log(small)


def test_the_reader_is_shown_the_lines_that_share_most_words_in_their_order(log):
    events = next(iter(log.events.values()))
    things = Counter((each.brand, each.product_types) for each in events if each.brand)
    rare = [each for each in events if things[each.brand, each.product_types] == 1][-1]
    lines = benchmark.choose_lines(f"When did I see the {rare.brand} {rare.product_types}?", events, 3)
    assert len(lines) == 3
    assert rare in lines
    assert [each.row_id for each in lines] == sorted(each.row_id for each in lines)
    assert benchmark.choose_lines("anything", events, 0) == []


def test_a_question_to_be_read_has_its_answer_in_place_of_its_query(log):
    row = next(row for row in log.questions if row.answer_type == "text")
    reading = benchmark.turn_into_reading(row, log, 2)
    assert reading.question.startswith(row.question)
    assert len(reading.question) > len(row.question)
    assert row.sql not in (reading.question, reading.sql)
    assert benchmark.is_answer(reading, reading.sql)
    assert benchmark.is_answer(reading, reading.sql.upper())
    assert not benchmark.is_answer(reading, "'something else'")
    assert benchmark.turn_into_reading(row, log, 0).question == row.question


def test_what_decides_the_answer_is_there_or_not(log):
    row = next(row for row in log.questions if len(row.evidence) == 1)
    shown = benchmark.choose_lines(row.question, log.events[row.trajectory_id], benchmark.LINES)
    for id, there in ((shown[0].row_id, True), (10**6, False)):
        assert benchmark.has_evidence(row.model_copy(update={"evidence": [id]}), log) == there


def test_a_line_for_each_way_and_a_column_for_each_length():
    results = [
        benchmark.Result(budget, how, seed, measure_share(right, 100))
        for budget in ("8k", "32k")
        for how, right in ((benchmark.TOOL, 40), (benchmark.READER, 10))
        for seed in range(3)
    ]
    lines = benchmark.tabulate(results).splitlines()
    assert len(lines) == 4
    assert lines[0] == "| how | 8k, % | 32k, % |"
    assert lines[2].count("40.0 (") == 2
