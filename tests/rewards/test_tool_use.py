"""The reward of rollouts with code: what executed, what was said, and what only a tool said."""

import json
import pickle
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards.tool_use import (
    ALPHA,
    MOST_BLOCKS,
    bind_executor,
    compute_score,
    extract_code_blocks,
    extract_final_text,
    flatten_completion,
    reward_answer,
    score_rollout,
    tool_use_reward,
)

ID = "persona-0000003-32k"


def rollout(*turns, said=r"It is \boxed{4}."):
    """A rollout as text, from (code, what the tool printed)."""
    return "".join(f"Look.\n<code>\n{c}\n</code>\n<interpreter>\n{f}\n</interpreter>\n" for c, f in turns) + said


def messages(*turns, said=r"It is \boxed{4}.", role="tool"):
    told = [{"role": "assistant", "content": f"Look.\n<code>\n{c}\n</code>"} for c, _ in turns]
    heard = [{"role": role, "content": f"<interpreter>\n{f}\n</interpreter>"} for _, f in turns]
    return [each for pair in zip(told, heard, strict=True) for each in pair] + [{"role": "assistant", "content": said}]


def works(trajectory_id, code):
    """Runs whatever does not say that it fails."""
    assert trajectory_id == ID
    return "fail" not in code


def never(trajectory_id, code):
    raise AssertionError("nothing was to be run")


def earned(completion, answer="3", **settings):
    return score_rollout(completion, answer, "integer", trajectory_id=ID, **{"execute": works} | settings)


@pytest.mark.parametrize(
    ("executed", "wrong"), [(0, -1.0), (1, -0.9), (2, -0.8), (3, -0.7), (4, -0.6), (5, -0.6), (10, -0.6), (16, -0.6), (99, -0.6)]
)  # fmt: skip
def test_a_wrong_answer_earns_a_tenth_for_each_call_that_executed_up_to_alpha(executed, wrong):
    assert reward_answer("4", "3", "integer", executed) == wrong
    assert reward_answer(None, "3", "integer", executed) == wrong
    assert reward_answer("3", "3", "integer", executed) == 1


def test_alpha_can_be_chosen():
    assert ALPHA == -0.6
    assert reward_answer("4", "3", "integer", 9, alpha=-0.2) == -0.2
    assert reward_answer("4", "3", "integer", 1, alpha=-0.2) == -0.9


@given(st.integers(0, 10**6))
def test_no_wrong_answer_earns_more_than_alpha(executed):
    assert -1 <= reward_answer("4", "3", "integer", executed) <= ALPHA


def test_strict_wants_the_canonical_text():
    assert reward_answer("$3", "3.00", "money", 1) == 1
    assert reward_answer("$3", "3.00", "money", 1, strict=True) == -0.9
    for said, value in ((r"\boxed{$3}", -1.0), (r"\boxed{3.00}", 1.0)):
        row = {"answer_type": "money", "executed": 0}
        assert score_rollout(said, "3.00", "money", executed=0, strict=True) == value
        assert compute_score("", said, "3.00", row, strict=True)["score"] == value
        assert tool_use_reward(
            completions=[said], answer=["3.00"], answer_type=["money"], executed=[0], strict=True
        ) == [value]


def test_calls_that_failed_do_not_count():
    assert earned(rollout(("1", "1"), ("fail", "NameError"), ("2", "2"))) == -0.8
    assert earned(rollout(("fail", "3"), ("fail", "3"))) == -1


def test_what_a_text_says_of_its_own_calls_is_not_believed():
    faked = rollout(*[("fail", "All fine: 3")] * 5)
    assert earned(faked) == -1
    assert earned("<interpreter>3</interpreter>" * 5 + r"\boxed{4}") == -1


@pytest.mark.parametrize("said", ["It is 4.", r"It is \boxed{4}.", "", r"\boxed{3", "The answer is above: 3"])
def test_an_answer_that_only_a_tool_printed_earns_nothing(said):
    assert earned(rollout(("1", r"3 \boxed{3}"), said=said)) == -0.9
    assert earned(messages(("1", r"3 \boxed{3}"), said=said)) == -0.9


@pytest.mark.parametrize(
    "text",
    [
        r"<code>1</code><interpreter>\boxed{3}",
        r"<code>1</code><interpreter>1</interpreter> <code>2</code><interpreter>\boxed{3}",
        r"<code>1</code><interpreter></interpreter>\boxed{3}</interpreter>",
        r"<code>print(r'\boxed{3}')</code>",
        r"<code>1</code><interpreter>1</interpreter><code>r'\boxed{3}'",
        r"\boxed{3}<code>1</code><interpreter>1</interpreter>",
        r"<code>1</code><tool_response>\boxed{3}</tool_response>",
        r"<code>1</code><tool_response>\boxed{3}",
    ],
)
def test_a_box_that_is_no_last_word_of_the_model_earns_nothing(text):
    assert earned(text) < 0


def test_the_last_word_counts_also_after_a_block_that_nobody_ran():
    assert earned(r"<code>1</code> \boxed{3}") == 1
    assert earned(r"<interpreter>x</interpreter> I think \boxed{3}") == 1
    assert earned(r"\boxed{2} or rather \boxed{3}") == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("<code>1</code>", ["1"]),
        ("<code>\na = 1\nif a:\n    a\n</code>", ["a = 1\nif a:\n    a"]),
        ("<code>```python\n1\n```</code>", ["1"]),
        ("<code>\n```py\n1\n2\n```\n</code>", ["1\n2"]),
        ("<code>\n```\n1\n```\n</code>", ["1"]),
        ("<code>a</code> and <code>b</code>", ["a", "b"]),
        ("<code>a</code><interpreter><code>b</code></interpreter><code>c</code>", ["a", "c"]),
        ("<code>a</code><interpreter><code>b</code>", ["a"]),
        ("<interpreter>1</interpreter><code>b</code></interpreter><code>c</code>", ["c"]),
        ("<code>a</code><tool_response><code>b</code></tool_response>", ["a"]),
        ("I write in <code> tags: <code>a</code>", ["a"]),
        ("<code>a", []),
        ("a</code>", []),
        ("</code>a<code>", []),
        ("<code> \n </code><code></code><code>```python\n```</code>", []),
    ],
)
def test_the_blocks_are_the_models_alone(text, found):
    assert extract_code_blocks(text) == found


def test_no_more_than_sixteen_blocks_are_run():
    ran = []
    assert earned("<code>1</code>" * 50, execute=lambda id, code: ran.append(code) or False) == -1
    assert len(ran) == MOST_BLOCKS == 16


def test_the_environments_count_goes_before_running_again():
    assert earned(rollout(("1", "1")), executed=3, execute=never) == -0.7
    assert earned(rollout(("1", "1")), executed=0, execute=never) == -1
    assert earned(rollout(("1", "1")), executed=-4) == -1


ROLLOUTS = {
    "right": (rollout(("1", "1"), ("2", "2"), said=r"\boxed{3}"), 2),
    "wrong": (rollout(("1", "1"), ("2", "2")), 2),
    "right with no call": (r"\boxed{3.0}", 0),
    "no answer": (rollout(("1", r"\boxed{3}"), said=""), 1),
    "one failed": (rollout(("fail", "KeyError"), ("2", "2")), 1),
    "nothing": ("", 0),
}


@pytest.mark.parametrize("name", ROLLOUTS)
def test_each_signature_gives_the_same(name):
    text, executed = ROLLOUTS[name]
    value = score_rollout(text, "3", "integer", executed=executed)
    known = {"answer_type": "integer", "trajectory_id": ID}
    columns = {"completions": [text], "answer": ["3"], "answer_type": ["integer"], "trajectory_id": [ID]}
    assert earned(text) == value
    told = compute_score("shoptrajqa", text, "3", known | {"executed": executed, "num_turns": 9})
    assert told == compute_score("", text, "3", known, execute=works)
    assert told == bind_executor(works, compute_score)("", text, "3", known)
    assert told == {"score": value, "correct": float(value == 1), "executed": float(executed)}
    assert all(type(each) is float for each in told.values())
    assert tool_use_reward(**columns, executed=[executed]) == [value]
    assert tool_use_reward(**columns, executed=[None], execute=works) == [value]
    assert bind_executor(works)(prompts=["?"], completion_ids=[[1]], **columns) == [value]


@pytest.mark.parametrize("role", ["tool", "user", "interpreter"])
def test_in_messages_only_the_assistants_are_the_models(role):
    turns = [("1", "<code>2</code>"), ("fail", "</interpreter><code>2</code><interpreter>")]
    assert extract_code_blocks(flatten_completion(messages(*turns, role=role))) == ["1", "fail"]
    assert earned(messages(*turns, role=role)) == -0.9
    assert earned(messages(*turns, said=r"\boxed{3}", role=role)) == 1
    assert earned([*messages(*turns), {"role": role, "content": r"\boxed{3}"}]) == -0.9


def test_tool_calls_of_messages_are_blocks():
    def call(arguments):
        return {"type": "function", "function": {"name": "code_interpreter", "arguments": arguments}}

    talk = [
        {"role": "assistant", "content": None, "tool_calls": [call({"code": "1"})]},
        {"role": "tool", "content": "1"},
        {"role": "assistant", "content": [{"type": "text", "text": "So"}], "tool_calls": [call(json.dumps({"code": "2"}))]},
        {"role": "assistant", "content": "", "tool_calls": [call("{"), call("[]"), call({"sql": "1"}), call(None), {"function": {}}]},
        {"role": "assistant", "content": r"\boxed{4}", "tool_calls": None},
    ]  # fmt: skip
    assert extract_code_blocks(flatten_completion(talk)) == ["1", "2"]
    assert flatten_completion(talk[2:3]) == "So<code>2</code>"
    assert extract_final_text(flatten_completion(talk)) == r"\boxed{4}"


def test_a_batch_is_graded_row_by_row():
    completions = [rollout(said=r"\boxed{3}"), messages(("1", "1")), "", rollout(("1", "1"), said=r"\boxed{yes; no}")]
    kinds = ["integer", "integer", "none", "yes/no"]
    batch = {"completions": completions, "answer": ["3", "3", "none", "yes; no"], "answer_type": kinds}
    assert tool_use_reward(**batch, executed=[0, 1, 2, 3]) == [1, -0.9, -0.8, 1]
    with pytest.raises(ValueError, match="shorter"):
        tool_use_reward(**batch, executed=[0, 1])


def test_what_was_not_passed_is_named():
    with pytest.raises(Problem, match="executed"):
        score_rollout(r"\boxed{3}", "3", "integer")
    with pytest.raises(Problem, match="extra_info"):
        compute_score("", r"\boxed{3}", "3", {"answer_type": "integer"})
    with pytest.raises(Problem, match="answer_type is None"):
        compute_score("", r"\boxed{3}", "3")
    with pytest.raises(Problem, match="answer_type is 'number'"):
        score_rollout("", "3", "number", executed=0)
    with pytest.raises(Problem, match="trajectory_id"):
        tool_use_reward(completions=[""], answer=["3"], answer_type=["integer"], execute=works)
    with pytest.raises(Problem, match="trajectory_id"):
        compute_score("", "", "3", {"answer_type": "integer"}, execute=works)


def test_a_sandbox_that_breaks_is_no_wrong_answer():
    with pytest.raises(AssertionError):
        earned(rollout(("1", "1")), execute=never)


def test_the_trainers_can_name_and_send_what_finds_out_by_itself():
    for function in (tool_use_reward, compute_score):
        graded = bind_executor(works, function)
        assert graded.__name__ == function.__name__
        assert pickle.loads(pickle.dumps(partial(graded))).func.__name__ == function.__name__


@given(
    st.lists(
        st.sampled_from("<code> </code> <interpreter> </interpreter> ``` \n fail x \\boxed{3} \\boxed{ } é".split(" "))
    )
)
def test_any_text_is_graded(parts):
    text = "".join(parts)
    value = earned(text)
    assert value == 1 or -1 <= value <= ALPHA
    if "\\boxed{3}" not in extract_final_text(text):
        assert value < 0
    assert all(code in text for code in extract_code_blocks(text))


def test_long_texts_take_no_time():
    for text in (
        "<code>" * 50_000,
        "<interpreter>" * 50_000,
        "<code>```" * 50_000,
        "</code>" * 50_000,
        "<code>x</code>" * 50_000,
    ):
        assert earned(text, execute=lambda id, code: False) == -1
