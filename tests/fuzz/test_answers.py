import json
from datetime import date, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.checks.question_words import DAY, parse_day_match
from shopwright.pipeline.checks.rollouts import list_constant_outputs, loads_trajectory
from shopwright.pipeline.playground.forms import ToolField
from shopwright.pipeline.playground.forms import parse_field as typed
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.questions.values import (
    Unfit,
    format_canonical,
    value_from_json,
    value_from_rows,
    value_to_json,
)
from shopwright.pipeline.rewards.matching import extract_boxed_answer, is_answer_shown, is_right_answer
from shopwright.pipeline.rollouts.expert import ExpertWork
from shopwright.pipeline.rollouts.expert_output import UnreadableOutput, parse_printed_literal, read_printed_answer
from shopwright.pipeline.rollouts.expert_written import infer_answer
from shopwright.pipeline.sandbox.interpreter import clean_output
from shopwright.pipeline.sandbox.interpreter import truncate_output as shortened
from shopwright.pipeline.shopping.error_taxonomy import ACTION
from shopwright.pipeline.shopping.facts import is_same_value, parse_measurement
from shopwright.pipeline.shopping.instruction_comparison import parse_instruction as instruction
from shopwright.pipeline.tokens import estimate, estimates
from tests.fuzz.hostile import DEEP, DIGITS, HALF, json_values, some, text, texts, tried, writable

ANSWERS = {
    "integer": "3", "decimal": "66.7", "money": "3.00", "date": "2024-05-12", "date-time": "2024-05-12 09:00:01",
    "duration": "26:04:59", "text": "Pell & Thatch", "set": "a; b", "ordered list": "b; a", "yes/no": "yes; no",
    "none": "none",
}  # fmt: skip
types = st.sampled_from(list(ANSWERS))
spoken = texts(
    *ANSWERS.values(), "1 day, 2:04:59", "['a', 'b']", "May 12, 2024", "at 9:00:01 PM", "3 hours", "%",
    "datetime.date(2024, 5, 12)",
    "datetime.timedelta(days=1)", "Decimal('3.00')", "\\text{", "}", "nan", "[]",
)  # fmt: skip
printed = texts(
    "Decimal('1e40')", "Decimal('sNaN')", "datetime.date(2024, 5, 12)", "datetime.datetime(1, 1, 1, 99**99)",
    "Timestamp('2024')",
    "1 days 00:00:05", "0 days 99:00:00", "np.int64(3)", "[('a',), ('b',)]", "-", "nan", "NaT", "<NA>",
    "\n0    Norrvik\nName: x",
)  # fmt: skip
MUCH = [DIGITS, "9" * 40, "1e309", "Decimal('1e999999999')", "datetime.date(99999999999999999999, 1, 1)", DEEP,
    "-" * 50_000 + "1",
        f"{DIGITS} days 00:00:00", "datetime.datetime(1, 1, 1, 1, 1, 1, 99999999999)", "1+" * 50_000 + "1", "f''",
        "-'a'"]  # fmt: skip


# What was said, beside the answer


@some
@given(spoken, types, st.booleans())
@example(HALF, "set", False)
@example("['\\ud800']", "set", False)
def test_what_was_said_is_right_or_not_and_the_answer_itself_is(said, answer_type, strict):
    answer = ANSWERS[answer_type]
    assert is_right_answer(said, answer, answer_type, strict=strict) in (True, False)
    assert is_right_answer(answer, answer, answer_type, strict=strict)
    assert is_answer_shown(said, answer, answer_type) in (True, False)
    found = extract_boxed_answer(f"\\boxed{{{said}}}")
    assert found is None or is_right_answer(found, answer, answer_type) in (True, False)


# What a block printed


@some
@given(
    printed | st.sampled_from(MUCH),
    st.sampled_from(["plain", "literal", "series", "table"]),
    types,
    st.sampled_from([None, 1, 2]),
)
@example("9" * 40, "plain", "decimal", 2)
@example(f"{DIGITS} days 00:00:00", "plain", "duration", None)
@example("datetime.date(99999999999999999999, 1, 1)", "literal", "date", None)
@example("Decimal('1e999999')", "literal", "integer", None)
def test_what_was_printed_is_a_value_that_can_be_told_or_unreadable(text, form, answer_type, digits):
    found, _ = tried(UnreadableOutput, read_printed_answer, text, form, answer_type, digits)
    assert found is None or isinstance(format_canonical(found), str)


@some
@given(printed)
def test_a_literal_is_a_value_or_unreadable(text):
    found, unreadable = tried(UnreadableOutput, parse_printed_literal, text)
    if not unreadable:
        tried(
            ArithmeticError, infer_answer, [[found]], "SELECT SUM(price) FROM events"
        )  # the teacher takes it for no answer


def test_a_number_that_cents_cannot_be_told_of_is_no_answer_to_the_teacher():
    question = SimpleNamespace(sql="SELECT SUM(price) FROM events", question="How much?")
    asked, printed = (
        SimpleNamespace(tree=None, question=question),
        SimpleNamespace(ok=True, text="[(Decimal('1e40'),)]"),
    )
    assert ExpertWork.known(asked, printed, None) is None


@pytest.mark.parametrize("answer_type", list(ANSWERS))
@pytest.mark.parametrize(
    "text", [DEEP, DIGITS, "1e999", "NaN", '"1e999999"', '{"a": 1}', '[["a"]]', '"\\ud800"', "[{}]"]
)
def test_json_that_is_no_result_is_unfit_or_a_value(answer_type, text):
    found, unfit = tried(Unfit, value_from_json, text, answer_type)
    assert str(unfit) if unfit else isinstance(format_canonical(found), str)


@some
@given(st.builds(json.dumps, json_values), types)
def test_any_json_is_a_result_or_unfit(text, answer_type):
    found, unfit = tried(Unfit, value_from_json, text, answer_type)
    assert unfit or value_from_json(value_to_json(found), answer_type) == found


@some
@given(
    st.lists(st.tuples(json_values | st.dates() | st.datetimes() | st.decimals()), max_size=3),
    types.filter(lambda each: each != "none"),
)
def test_any_rows_of_a_database_are_a_value_or_unfit(rows, answer_type):
    found, unfit = tried(Unfit, value_from_rows, rows, answer_type)
    assert str(unfit) if unfit else isinstance(format_canonical(found), str)


@some
@given(
    st.timedeltas(timedelta(days=-999_999), timedelta(days=999_999)).map(
        lambda each: timedelta(seconds=int(each.total_seconds()))
    )
)
def test_a_duration_reads_back_from_what_is_told_of_it(span):
    assert is_right_answer(format_canonical(span), format_canonical(span), "duration")
    assert value_from_json(value_to_json(span), "duration") == span
    assert is_right_answer(str(span), format_canonical(span), "duration")


@some
@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 1, 1)).map(lambda each: each.replace(microsecond=0)))
def test_a_day_and_a_time_are_understood_as_people_write_them(moment):
    day = f"{moment:%B} {moment.day}, {moment.year}"
    assert is_right_answer(day, str(moment.date()), "date")
    assert is_right_answer(f"{day} at {moment:%I:%M:%S %p}", str(moment), "date-time")
    assert [parse_day_match(found) for found in DAY.finditer(f"On {day} or {moment:%Y-%m-%d}?")] == [moment.date()] * 2


@some
@given(texts("May 12, 2024", "31 February 2024", "2024-13-01", "0000-01-01", " 99 June 9999"))
def test_a_day_in_a_question_is_one_or_there_is_none(text):
    for found in DAY.finditer(text):
        day, none = tried(ValueError, parse_day_match, found)
        assert none or isinstance(day, date)


# Code, output, and what people type


@some
@given(texts("load_trajectory('a')", "print('x')", "x = 'y'", "\n", "f'{", "lambda: ", "select 1"))
@example("-" * 100_000 + "1")
@example(DEEP)
@example("print('" + HALF + "')")
def test_any_code_loads_or_does_not(code):
    assert loads_trajectory(code, "a") in (True, False)
    assert all(isinstance(each, str) for each in list_constant_outputs(code))


@some
@given(texts("\x1b[2J", " at 0x7f", "/site-packages/"), st.integers(10, 90))
def test_output_that_was_made_plain_and_short_stays_so(text, most):
    once = clean_output(text)
    assert clean_output(once) == once
    assert not any(ord(each) < 32 and each not in "\t\n" for each in once)
    assert len(shortened(once, most)) <= max(most, len(once)) + 80
    assert shortened(once, len(once)) == once


@some
@given(
    text | st.integers() | st.floats() | st.none() | st.lists(text, max_size=2),
    st.sampled_from(["string", "integer", "number", "boolean"]),
)
def test_what_is_typed_into_a_form_is_a_value_or_a_problem(value, kind):
    found, problem = tried(Problem, typed, ToolField("max_price", kind, "", False, None), value)
    assert not problem or "Nothing was called" in str(problem)
    assert found is None or kind == "string" or not isinstance(found, str) or isinstance(value, list)


@some
@given(
    texts(
        "price lower than ",
        "at a price ",
        "$",
        "3x-large ",
        "color: ",
        "; ",
        "a pack of 6",
        "i am looking for ",
        "9 x 9 in",
    )
)
@example("at a price " * 999)
@example(DIGITS)
def test_any_instruction_is_understood_in_part(text):
    found = instruction(text)
    assert found.price is None or 0 <= found.price < float("inf")


@some
@given(text, text)
@example(DIGITS, DIGITS + "0")
@example("9" * 400, "9" * 401)
def test_two_values_are_the_same_or_not_and_a_measure_is_finite(one, other):
    assert is_same_value(one, one)
    assert is_same_value(one, other) == is_same_value(other, one)
    for each in (one, other):
        found = parse_measurement(each)
        assert found is None or abs(found[0]) < float("inf")


@some
@given(texts("search[", "click[", "ask[", "]", " "))
def test_an_action_of_the_pages_is_one_or_none(text):
    found = ACTION.fullmatch(text)
    assert found is None or found[1].lower() in ("search", "click", "ask")


@some
@given(st.lists(writable, max_size=4))
def test_tokens_are_counted_the_same_in_a_column_and_alone(lines):
    assert estimates(pa.array(lines, pa.string())).tolist() == [estimate(each) for each in lines]
