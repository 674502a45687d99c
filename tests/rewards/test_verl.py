"""One reward function for rows of every source, as verl and TRL call it."""

import json
from functools import partial

import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards.hierarchical import Rule
from shopwright.pipeline.rewards.tool_use import bind_executor
from shopwright.pipeline.rewards.trl import reward
from shopwright.pipeline.rewards.verl import KEYS, RULES, compute_score

TRUTH = json.dumps({"answer": "3", "answer_type": "integer"})
BUY = '{"type": "click", "name": "cart.buy_now"}'
ANSWER = f'{{"rationale": "I want it.", "action": {BUY}}}'
score_answer = partial(compute_score, "shoptrajqa", ground_truth=TRUTH)


def calling(output, last):
    """A rollout as verl decodes it: turns, calls and what tools said in one text."""
    call = '<tool_call>\n{"name": "code_interpreter", "arguments": {"code": "f()"}}\n</tool_call>'
    return f"Let me see.\n{call}\nuser\n<tool_response>\n{output}\n</tool_response>\nassistant\n{last}"


def test_every_source_gives_the_same_keys_and_numbers_alone():
    found = [
        compute_score("shoptrajqa", r"\boxed{3}", TRUTH, {"executed": 1}),
        compute_score("shop_r1", ANSWER, BUY),
        compute_score("ecomrlve", "", "{}", {"reward": 0.5}),
        compute_score("shopsimulator", "", "{}", {"reward": {"strict": 1.0, "loose": 1.0, "success": True}}),
    ]
    assert len(found) == len(RULES)
    assert {tuple(each) for each in found} == {KEYS}
    assert all(type(value) is float for each in found for value in each.values())


def test_a_truth_that_a_tool_printed_is_no_answer():
    assert score_answer(calling(r"\boxed{3}", "I do not know."), extra_info={"executed": 1})["score"] == -0.9
    assert score_answer(calling("3", r"So it is \boxed{3}."), extra_info={"executed": 1})["score"] == 1.0
    assert score_answer(calling("3", r"So it is \boxed{4}."), extra_info={"executed": 1})["correct"] == 0.0


def test_a_truth_in_a_call_that_was_cut_off_is_no_answer():
    cut = calling("2", r'<tool_call>{"name": "code_interpreter", "arguments": {"code": "\boxed{3}"}}')
    assert score_answer(cut, extra_info={"executed": 1})["correct"] == 0.0
    assert score_answer(cut.partition("user")[0], extra_info={"executed": 1})["correct"] == 0.0


def test_calls_that_nobody_counted_earn_nothing():
    assert score_answer(calling("2", r"\boxed{4}"))["score"] == -1.0
    assert score_answer(calling("2", r"\boxed{4}"), extra_info={"executed": None})["score"] == -1.0
    assert score_answer(calling("2", r"\boxed{4}"), extra_info={"executed": 3})["score"] == -0.7


def test_blocks_are_run_again_where_there_is_a_way_to():
    said = r"<code>f()</code><interpreter>1</interpreter>\boxed{4}"
    got = score_answer(said, extra_info={"trajectory_id": "t"}, execute=lambda trajectory, code: trajectory == "t")
    assert (got["executed"], got["score"]) == (1.0, -0.9)


def test_a_next_action_is_scored_by_its_parts_and_the_rule_that_is_given():
    assert compute_score("shop_r1", ANSWER, BUY, {"self_certainty": 10.0})["score"] == 1001.05
    assert compute_score("shop_r1", ANSWER, BUY, rule=Rule(dars=1.0))["score"] == 2.0
    assert compute_score("shop_r1", "I buy it.", BUY)["score"] == 0.0


def test_an_episode_earns_what_its_environment_says():
    parts = {"task": 1.0, "efficiency": 0.0, "hallucination": 0.0, "total": 0.75, "success": True, "fault": ""}
    got = compute_score("ecomrlve", "anything", "{}", {"reward": parts})
    assert (got["score"], got["task"], got["success"]) == (0.75, 1.0, 1.0)
    bought = {"type": 1.0, "loose": 0.75, "strict": 0.5}
    assert compute_score("shopsimulator", "", "{}", {"reward": bought})["score"] == 0.5
    assert compute_score("shopsimulator", "", "{}", {"reward": bought}, which="loose")["score"] == 0.75
    assert compute_score("shopsimulator", "", "{}", {"reward": 0})["score"] == 0.0


@pytest.mark.parametrize("source", ["ecomrlve", "shopsimulator"])
def test_an_episode_that_nobody_judged_is_an_error_with_a_way_out(source):
    with pytest.raises(Problem, match=r"agent_name.*extra_info"):
        compute_score(source, r"\boxed{3}", "{}", {})


def test_a_source_that_is_not_known_is_an_error():
    with pytest.raises(Problem, match=r"'gsm8k'.*shoptrajqa, shop_r1"):
        compute_score("gsm8k", "", "")


def test_trl_gets_one_reward_for_each_completion_and_none_for_episodes():
    chat = [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "c", "arguments": {"code": "f()"}}}]},
        {"role": "tool", "content": r"\boxed{3}"},
        {"role": "assistant", "content": r"\boxed{4}"},
    ]
    rows = {
        "completions": [chat, ANSWER, chat, r"\boxed{3}"],
        "data_source": ["shoptrajqa", "shop_r1", "ecomrlve", "shoptrajqa"],
        "reward_model": [{"ground_truth": each} for each in (TRUTH, BUY, "{}", TRUTH)],
        "extra_info": [{"executed": 2, "trajectory_id": "t"}, None, {}, {"trajectory_id": "t"}],
    }
    assert reward(["a prompt"] * 4, **rows, trainer_state=None, rule={"dars": 1.0}) == [-0.8, 2.0, None, 1.0]
    counting = bind_executor(lambda trajectory, code: code == "f()", reward)
    assert counting.__name__ == "reward"
    assert counting(**rows | {"extra_info": [{"trajectory_id": "t"}] * 4})[0] == -0.9
