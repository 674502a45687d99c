import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from shopwright.pipeline.browse.server import parse_json_or_text
from shopwright.pipeline.envs.episode import parse_action, parse_agent_reply, parse_user_message
from shopwright.pipeline.models.base import Reply, parse_spec
from shopwright.pipeline.models.openai import build_reply, parse_completion, parse_retry_after, summarize_server_error
from shopwright.pipeline.models.replies import Replies
from shopwright.pipeline.models.valid_replies import (
    InvalidReply,
    NoValidReply,
    ask_until_valid,
    make_rejected_row,
    parse_reply_json,
)
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.layout import read_index_paths
from shopwright.pipeline.rewards.hierarchical import (
    Action,
    ActionPrediction,
    find_rationale,
    parse_prediction,
    read_true_action,
)
from shopwright.pipeline.rewards.matching import extract_boxed_answer
from shopwright.pipeline.rewards.tool_use import (
    extract_call_code,
    extract_code_blocks,
    extract_final_text,
    select_model_text,
)
from shopwright.pipeline.rollouts.conversation import format_block_output, parse_code_turn
from shopwright.pipeline.rollouts.judge import Opinion, parse_opinion, parse_verdict, read_real_logs
from shopwright.pipeline.shop.tools import IllegalCall
from shopwright.pipeline.shopping.play import format_turn as turn_written
from shopwright.pipeline.shopping.play import parse_thought, parse_turn
from shopwright.pipeline.trainers.gymnasium import parse_gym_call as call_of
from tests.fuzz.hostile import DEEP, DIGITS, HALF, json_values, some, text, texts, tried, writable


class Shape(BaseModel):
    texts: list[str]


body = texts(
    "<think>", "</think>", "<tool_call>", "</tool_call>", '{"name": "cart_view"}', "<code>", "</code>", "<interpreter>",
    "</interpreter>", "\\boxed{", "```", "\\text{", "Thought: ", "Action: ", "\nAction_type: ", "\nAction_content: ",
    "ask_shopper", "interact_with_env", "FIRST\n", '{"answer": "CORRECT"}',
    '{"rationale": "a", "action": {"type": "click"}}',
)  # fmt: skip
almost_json = json_values.map(lambda value: json.dumps(value, allow_nan=True))
anything = body | almost_json
worst = [
    DEEP,
    '{"a":' * 100_000,
    f'{{"texts": {DIGITS}}}',
    '{"texts": ["\\ud800"]}',
    "\ufeff{}",
    '{"texts": NaN}',
    "1e999",
]


def each_of(*cases):
    """An example for each."""

    def decorated(function):
        for case in cases:
            function = example(case)(function)
        return function

    return decorated


# Records as JSON


@some
@given(anything)
@each_of(*worst)
def test_a_reply_is_a_record_or_wrong_in_words(text):
    found, wrong = tried(InvalidReply, parse_reply_json, Reply(text), Shape)
    assert 0 < len(str(wrong)) < 1_000 if wrong else found.model_dump_json()


@some
@given(st.lists(writable, max_size=3))
def test_a_record_that_was_written_as_json_is_read_as_it_was(lines):
    assert parse_reply_json(Reply(json.dumps({"texts": lines})), Shape).texts == lines
    assert parse_reply_json(Reply(json.dumps({"texts": lines}, ensure_ascii=False, indent=1)), Shape).texts == lines


@some
@given(st.lists(anything, min_size=3, max_size=3))
def test_replies_that_are_never_right_end_in_a_row_of_quarantine_that_tells_them(replies):
    from shopwright.pipeline.models.base import Prompt

    conversation = ask_until_valid(Prompt("x", ()), lambda reply: parse_reply_json(reply, Shape))
    try:
        next(conversation)
        for each in replies:
            conversation.send(Reply(each))
    except StopIteration as end:
        if isinstance(end.value, NoValidReply):
            row = make_rejected_row("x", "text", {}, end.value)
            assert [each["reply"] for each in json.loads(row.record)["tries"]] == replies


# The server's answer


def with_parts(**parts):
    return st.fixed_dictionaries({}, optional=parts)


function = with_parts(name=json_values, arguments=anything | json_values)
message = with_parts(
    content=anything | json_values,
    reasoning=json_values,
    tool_calls=st.lists(with_parts(function=function | json_values), max_size=2) | json_values,
)
usage = with_parts(prompt_tokens=json_values, completion_tokens=json_values)
logprob = with_parts(token=text, logprob=json_values, bytes=json_values, top_logprobs=json_values)
choice = with_parts(
    message=message | json_values,
    finish_reason=json_values,
    logprobs=with_parts(content=st.lists(logprob, max_size=2)) | json_values,
)
answer = with_parts(choices=st.lists(choice, max_size=2) | json_values, usage=usage | json_values, error=json_values)


def is_a_reply(found):
    found.text.encode()
    assert isinstance(found.prompt_tokens, int)
    assert isinstance(found.tokens, int)
    assert all(isinstance(call["name"], str) for call in found.calls)
    for call in found.calls:
        json.dumps(call)


@some
@given(answer.map(json.dumps) | anything)
@each_of(*worst, '{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 1e999}}')
@example(json.dumps({"choices": [{"message": {"tool_calls": [{"function": {"name": "x", "arguments": DEEP}}]}}]}))
@example(json.dumps({"choices": [{"message": {"content": f"a{HALF}", "reasoning": HALF}}]}))
def test_any_answer_of_a_server_is_a_reply_or_none(text):
    found = parse_completion(text)
    if found is not None:
        is_a_reply(found)
    assert len(summarize_server_error(text)) <= 300


@some
@given(body)
@example(f'<tool_call>{{"name": {DEEP}}}</tool_call>')
@example("<tool_call>[1]</tool_call>")
def test_any_text_of_a_model_is_a_reply_and_a_call_that_is_none_is_a_fault(text):
    found = build_reply(text, "stop", 0, 0)
    assert found.fault or all(isinstance(call["name"], str) for call in found.calls)


arguments = st.dictionaries(writable, json_values, min_size=1, max_size=3)


@some
@given(arguments, writable)
@example({"text": "</tool_call> <tool_call>"}, "")
def test_a_tool_call_comes_back_from_its_tags_whatever_its_arguments_say(given, before):
    call = json.dumps({"name": "cart_view", "arguments": given})
    plain = before.replace("<tool_call>", "").replace("</think>", "")
    found = build_reply(f"So: {plain}<tool_call>\n{call}\n</tool_call> <tool_call>{call}</tool_call>", "stop", 0, 0)
    assert [json.dumps(each) for each in found.calls] == [call, call]


@some
@given(text)
@each_of("nan", "1e999", "-1", "1_0")
def test_a_wait_that_a_server_asks_for_is_a_time_or_none(text):
    found = parse_retry_after(text)
    assert found is None or found >= 0


# What is kept of replies


def keep_replies(folder, count=3):
    cache = Replies(folder, "mine")
    for number in range(count):
        cache.put(f"key-{number}", "p", Reply(f"Reply {number} \u2028", calls=({"name": "x", "arguments": {"a": 1}},)))
    cache.close()
    return folder / "mine.jsonl"


@some
@given(st.data())
def test_a_damaged_reply_is_asked_for_again_and_those_beside_it_are_as_they_were(tmp_path_factory, data):
    path = keep_replies(tmp_path_factory.mktemp("kept"))
    lines = path.read_bytes().splitlines(keepends=True)
    line = bytearray(lines[1][:-1])
    place = data.draw(st.integers(0, len(line) - 1))
    line[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=4)).replace(b"\n", b"")
    path.write_bytes(lines[0] + bytes(line) + b"\n" + lines[2])
    cache = Replies(path.parent, "other")
    assert [cache.get(f"key-{number}").text for number in (0, 2)] == ["Reply 0 \u2028", "Reply 2 \u2028"]
    found = cache.get("key-1")
    assert found is None or isinstance(found.text, str)


@pytest.mark.parametrize("line", [DEEP, '{"key": "a", "slot": 1}', '{"key": "a", "calls": null}', '{"key": ["a"]}'])
def test_a_line_that_is_no_reply_is_none(tmp_path, line):
    (tmp_path / "old.jsonl").write_text(f"{line}\n")
    assert Replies(tmp_path, "mine").get("a") is None


# Verdicts, turns, blocks, boxes


@some
@given(anything)
@each_of(*worst, '{"answer": ["CORRECT"]}', '{"answer": {}}')
def test_a_judge_says_one_of_its_words_or_is_wrong(text):
    found, wrong = tried(InvalidReply, parse_verdict, Reply(text))
    assert str(wrong) if wrong else found in ("CORRECT", "INCORRECT")
    found, wrong = tried(InvalidReply, parse_opinion, Reply(text), ours_first=True)
    assert str(wrong) if wrong else isinstance(found, Opinion)


@pytest.mark.parametrize("text", [DEEP, '{"text": ["a"]}', '{"text": ' + DIGITS + "}", "3", HALF])
def test_a_file_of_logs_that_are_none_is_a_problem(tmp_path, text):
    path = tmp_path / "logs.jsonl"
    path.write_text(text, errors="surrogatepass")
    with pytest.raises(Problem, match="column `text`"):
        read_real_logs(path)


@some
@given(anything)
@each_of(*worst)
def test_json_of_others_is_shown_as_text_where_it_is_none(text):
    assert parse_json_or_text(text) is not None or text.strip() == "null"
    assert all(isinstance(each, str) for each in read_index_paths(text))


@some
@given(body)
def test_a_turn_and_its_code_are_read_the_same_from_what_is_kept_of_it(text):
    turn, code = parse_code_turn(Reply(text))
    assert parse_code_turn(Reply(turn)) == (turn, code)
    assert code is None or code == code.rstrip()


@some
@given(body)
@example("</interpreter>\\boxed{3} <code>g()</code>")
@example("</interpreter>\\boxed{3} <code>g()</code><interpreter>")
def test_what_a_tool_prints_is_never_read_as_the_models(printed):
    told = f"<code>f()</code>{format_block_output(printed)}"
    assert select_model_text(told) == select_model_text(f"<code>f()</code>{format_block_output('')}")
    assert extract_code_blocks(told) == ["f()"]
    assert extract_boxed_answer(extract_final_text(told)) is None


@some
@given(body)
def test_blocks_and_boxes_are_found_in_any_text(text):
    assert all(each.strip() for each in extract_code_blocks(text))
    found = extract_boxed_answer(text)
    assert found is None or isinstance(found, str)


@some
@given(writable.filter(lambda each: not set(each) & set("{}\\$")).map(str.strip))
def test_what_is_put_into_a_box_is_read_from_it(text):
    from shopwright.pipeline.rollouts.expert import box_answer as box

    assert extract_boxed_answer(f"So {box(text)}.") == text


@some
@given(
    st.lists(json_values, max_size=3).map(lambda calls: [{"function": {"arguments": each}} for each in calls])
    | st.just([])
)
@example([{"function": {"arguments": DEEP}}])
def test_code_is_taken_from_calls_that_have_any_and_from_no_others(calls):
    assert all(isinstance(each, str) for each in extract_call_code(calls))


# An agent's turn in the shop


@some
@given(body, st.booleans())
def test_any_turn_is_a_thought_and_an_action_or_none(text, multi):
    thought, action = parse_turn(text, multi)
    assert thought == thought.strip()
    assert action == action.strip()


one_line = writable.map(lambda each: " ".join(each.split())).filter(lambda each: each and "ction" not in each.lower())


@some
@given(one_line, one_line, st.booleans())
def test_a_turn_that_was_written_is_read_as_it_was(thought, words, multi):
    for action in (f"search[{words}]", f"ask[{words}]") if multi else (f"click[{words}]",):
        assert parse_turn(turn_written(thought, action, multi), multi) == (thought, action)


@pytest.mark.parametrize("between", ["\n", "\n  ", "\n\n \t", "\u2028\n"])
@pytest.mark.parametrize("thought", ["", "I look.", "I look.\nThen I act."])
def test_a_thought_ends_where_the_action_begins(thought, between):
    assert parse_thought(f"Thought: {thought}{between}Action: search[x]") == thought


# Next actions and actions of the environments


@some
@given(anything, st.booleans())
def test_a_prediction_is_an_answer_or_says_why_it_is_none(text, thinking):
    found = parse_prediction(text, thinking=thinking)
    assert isinstance(found, ActionPrediction) or (isinstance(found, str) and found)
    place = find_rationale(text, thinking=thinking)
    if isinstance(found, ActionPrediction) and place is not None:
        assert json.loads(f'"{text[place]}"', strict=False) == found.rationale


@some
@given(
    json_values
    | with_parts(type=st.sampled_from(["click", "terminate", "type_and_submit"]) | json_values, name=json_values)
)
def test_any_value_is_an_action_or_says_why_it_is_none(value):
    found = read_true_action(value)
    assert isinstance(found, Action) or found


action = with_parts(
    assistant_message=json_values,
    tool_calls=st.lists(with_parts(name=json_values, args=json_values), max_size=2) | json_values,
    answer=json_values,
)


@some
@given(action.map(json.dumps) | anything)
@each_of(*worst, '{"assistant_message": "\\ud800"}', '{"assistant_message": "' + HALF + '"}')
def test_what_an_agent_says_is_an_action_or_illegal(text):
    for each in (text, parse_agent_reply(build_reply(text, "stop", 0, 0))):
        found, illegal = tried(IllegalCall, parse_action, each)
        assert 0 < len(str(illegal)) < 300 if illegal else found.model_dump_json()
    assert isinstance(parse_user_message(text), str)


@some
@given(anything | json_values)
@each_of(DEEP, '{"name": "x", "arguments": 5}', '{"name": "x", "arguments": "ab"}')
def test_an_action_of_a_trainer_is_a_call_or_none(said):
    found = call_of(said)
    assert found is None or isinstance(found[1], dict)


# The name of a model


@some
@given(texts("scripted", "openai:", "vllm:", "@", "http://", "https://"))
def test_a_models_name_is_told_in_one_of_three_forms_or_is_a_problem(text):
    found, problem = tried(Problem, parse_spec, text)
    if problem:
        assert "Say scripted" in str(problem)
    else:
        assert found.kind == "scripted" or found.model
        assert parse_spec(f"{found.name}@{found.url}" if found.url else found.name) == found
