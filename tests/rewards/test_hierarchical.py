"""The reward of predicted actions: Table 1 by hand, what parses, how sure, and what policies earn that do not look."""

import json
import pickle
from collections import Counter
from dataclasses import fields, replace
from math import exp, isfinite, log

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.evaluate.statistics import compute_wilson_interval
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rewards.hierarchical import (
    DEEPEST,
    TYPES,
    Action,
    ActionPrediction,
    Context,
    Rule,
    bind_reward_rule,
    compute_rouge_l,
    compute_score,
    compute_self_certainty,
    find_rationale,
    hierarchical_reward,
    is_exact_action,
    is_same_text,
    measure_common_subsequence,
    measure_policy_payoffs,
    parse_prediction,
    parse_true_action,
    reward_action_parts,
    reward_prediction,
    score_action_prediction,
    score_predictions,
    tokenize_prediction,
)

LEAVE = {"type": "terminate"}
BUY = {"type": "click", "name": "add_to_cart.buy_now"}
SEARCH = {"type": "type_and_submit", "name": "search_input", "text": "steel table lamp with shade"}
GATED = Rule(gated=True)


def write_answer(action, rationale="I want a lamp."):
    return json.dumps({"rationale": rationale, "action": action})


def search(**changes):
    return {key: value for key, value in (SEARCH | changes).items() if value is not None}


TABLE_1 = [
    # what was said, the truth, the type, being there, being like it, being there of a gated rule
    (LEAVE, LEAVE, 0.3, 0.0, 0.0, 0.0),
    (BUY, BUY, 0.3, 0.2, 1000.0, 0.2),
    (BUY | {"name": "add_to_cart.add_now"}, BUY, 0.3, 0.2, 800.0, 0.0),  # 4 words of 5
    (BUY | {"name": "cart.view"}, BUY, 0.3, 0.2, 0.0, 0.0),
    (BUY | {"name": "ADD_TO_CART.BUY_NOW"}, BUY, 0.3, 0.2, 1000.0, 0.0),  # like it, and another name
    (BUY | {"name": ""}, BUY, 0.3, 0.0, 0.0, 0.0),
    (BUY | {"name": " "}, BUY, 0.3, 0.2, 0.0, 0.0),
    (BUY | {"name": None}, BUY, 0.3, 0.0, 0.0, 0.0),
    (BUY | {"name": 7}, BUY, 0.3, 0.2, 0.0, 0.0),  # it is there, and like nothing
    (BUY | {"name": [BUY["name"]], "text": "x"}, BUY, 0.3, 0.2, 0.0, 0.0),
    ({"type": "click"}, BUY, 0.3, 0.0, 0.0, 0.0),
    (SEARCH, SEARCH, 0.3, 0.2, 1000.1, 0.2),
    (search(text="Steel table-lamp, with shade!"), SEARCH, 0.3, 0.2, 1000.1, 0.2),
    (search(text="steel table lamp shade"), SEARCH, 0.3, 0.2, 0.1 + 8000 / 9, 0.1),  # 4 of 4 and 5 words
    (search(text="steel table lamp"), SEARCH, 0.3, 0.2, 0.1, 0.1),  # 6/8 is the threshold, not above it
    (search(text="garden hose"), SEARCH, 0.3, 0.2, 0.1, 0.1),
    (search(name="reviews.search_box"), SEARCH, 0.3, 0.2, 1000.0, 0.1),
    (search(name="search.input"), SEARCH, 0.3, 0.2, 1000.1, 0.1),
    (search(name=None), SEARCH, 0.3, 0.1, 1000.0, 0.1),
    (search(text=None), SEARCH, 0.3, 0.1, 0.1, 0.1),
    (search(name=None, text=None), SEARCH, 0.3, 0.0, 0.0, 0.0),
    (LEAVE, BUY, 0.0, 0.0, 0.0, 0.0),
    (LEAVE, SEARCH, 0.0, 0.0, 0.0, 0.0),
    (BUY, LEAVE, 0.0, 0.0, 0.0, 0.0),
    ({"type": "click", "name": "search_input"}, SEARCH, 0.0, 0.0, 0.0, 0.0),
    (SEARCH, LEAVE, 0.0, 0.0, 0.0, 0.0),
    (search(name="add_to_cart.buy_now"), BUY, 0.0, 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("action", "truth", "type", "presence", "value", "gated"), TABLE_1)
def test_the_reward_is_that_of_table_1(action, truth, type, presence, value, gated):
    got = reward_prediction(write_answer(action), truth, 10.0)
    assert (got.format, got.type, got.rationale) == (0.5, type, 0.05)
    assert (got.presence, got.value) == pytest.approx((presence, value), abs=1e-12)
    assert got.action == pytest.approx(type + presence + value)
    assert (
        got.total
        == score_action_prediction(write_answer(action), truth, 10.0)
        == pytest.approx(0.55 + type + presence + value)
    )
    assert reward_prediction(write_answer(action), truth, 10.0, rule=GATED) == replace(got, presence=gated)


def test_the_true_action_has_no_fault_and_another_says_what_is_wrong_first():
    for truth in (LEAVE, BUY, SEARCH):
        assert (
            reward_prediction(write_answer(truth), truth).exact,
            reward_prediction(write_answer(truth), truth).fault,
        ) == (True, "")
    assert reward_prediction(write_answer(LEAVE), BUY).fault == "type is 'terminate', not 'click'"
    assert (
        reward_prediction(write_answer(search(name="box", text="hose")), SEARCH).fault
        == "name is 'box', not 'search_input'"
    )
    assert (
        reward_prediction(write_answer(search(text="hose")), SEARCH).fault
        == "text is 'hose', not 'steel table lamp with shade'"
    )
    assert not reward_prediction(write_answer(search(text="hose")), SEARCH).exact
    assert not reward_prediction(write_answer(BUY | {"name": "ADD_TO_CART.BUY_NOW"}), BUY).exact


def test_a_rule_can_be_another():
    near = search(text="steel table lamp shade")
    assert reward_action_parts(parse_true_action(BUY), parse_true_action(BUY), Rule(dars=2)) == (0.3, 0.2, 2)
    assert reward_prediction(write_answer(near), SEARCH, rule={"threshold": 0.9}).value == 0.1
    assert reward_prediction(write_answer(near), SEARCH, rule={"form": "precision"}).value == 1000.1
    assert reward_prediction(write_answer(near), SEARCH, rule={"form": "recall"}).value == 800.1
    assert reward_prediction(write_answer(near), SEARCH, 10, rule={"alpha": 1}).rationale == 10
    with pytest.raises(Problem, match=r"no 'dar'\. It has: dars, threshold"):
        reward_prediction(write_answer(near), SEARCH, rule={"dar": 1})


# What parses.


@pytest.mark.parametrize("around", ["{}", " \n{}\t\r\n"])
def test_one_json_object_is_an_answer(around):
    text = around.replace(
        "{}", '{"action": {"name": "box", "text": "\\u00e9\\u0000", "type": "type_and_submit"}, "rationale": "Ok."}'
    )
    assert parse_prediction(text) == ActionPrediction("Ok.", Action("type_and_submit", "box", "é\0"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not one JSON object"),
        ("I leave.", "not one JSON object"),
        (write_answer(LEAVE) + ".", "not one JSON object: Extra data"),
        (write_answer(LEAVE) * 2, "not one JSON object: Extra data"),
        (f"```json\n{write_answer(LEAVE)}\n```", "not one JSON object"),
        (f"<think>Hm.</think>{write_answer(LEAVE)}", "not one JSON object"),
        ("\ufeff" + write_answer(LEAVE), "not one JSON object"),
        (write_answer(LEAVE)[:-1], "not one JSON object"),
        (write_answer(LEAVE).replace('"', "'"), "not one JSON object"),
        (write_answer(LEAVE, "a\0b").replace("\\u0000", "\0"), "not one JSON object: Invalid control character"),
        (f"[{write_answer(LEAVE)}]", "not an object with a rationale"),
        ("null", "not an object with a rationale"),
        ("NaN", "NaN is not JSON"),
        ("7" * 10_000, "not an object with a rationale"),
        ("[" * 100_000, "not one JSON object"),
        ('{"a":' * 100_000, "not one JSON object"),
        (json.dumps({"rationale": "I leave."}), "not an object with a rationale"),
        (json.dumps({"action": LEAVE}), "not an object with a rationale"),
        (json.dumps({"Rationale": "I leave.", "action": LEAVE}), "not an object with a rationale"),
        (json.dumps({"rationale": "I leave.", "action": LEAVE | {"sure": float("nan")}}), "NaN is not JSON"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_answer_says_why_and_earns_nothing(text, fault):
    assert fault in parse_prediction(text)
    got = reward_prediction(text, LEAVE, 10.0)
    assert (got.total, got.rationale, got.exact) == (0.0, 0.0, False)
    assert fault in got.fault
    assert len(got.fault) < 200
    assert find_rationale(text) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (write_answer("terminate"), "the action is no object"),
        (write_answer([LEAVE]), "the action is no object"),
        (write_answer({}), "there is no action a NoneType"),
        (write_answer({"type": "Click", "name": "x"}), "there is no action 'Click'"),
        (write_answer({"type": "x" * 10_000}), f"there is no action '{'x' * 30}…'"),
        (write_answer({"type": ["click"]}), "there is no action a list"),
        (write_answer({"type": {"type": LEAVE}}), "there is no action a dict"),
    ],
)  # fmt: skip
def test_an_action_that_is_none_is_paid_for_its_form_alone(text, fault):
    got = reward_prediction(text, LEAVE, 10.0)
    assert (got.format, got.action, got.rationale, got.exact, got.fault) == (0.5, 0.0, 0.05, False, fault)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"rationale": "I leave.", "action": LEAVE, "sure": 1}),
        *(write_answer(LEAVE, rationale) for rationale in ("", " \n", ["I leave."], None, "\ud800")),
        write_answer(LEAVE | {"name": "x"}),
        f'{{"rationale": "a", "rationale": "b", {write_answer(LEAVE)[1:]}',
        write_answer(LEAVE).replace('"type"', '"type": "click", "type"'),
        write_answer(LEAVE).replace("{", '{"n": ' + "7" * 10_000 + ", ", 1),
    ],
)
def test_valid_json_with_both_keys_is_paid_whatever_else_it_holds(text):
    got = reward_prediction(text, LEAVE)
    assert (got.format, got.action, got.exact) == (0.5, 0.3, True)


@pytest.mark.parametrize("depth", [DEEPEST - 1, DEEPEST, 900, 2_000])
def test_json_nests_so_deep_and_no_deeper(depth):
    deep = "[" * depth + "]" * depth
    assert isinstance(
        parse_prediction(write_answer("DEEP").replace('"DEEP"', deep)), ActionPrediction if depth < DEEPEST else str
    )
    assert isinstance(parse_prediction(write_answer("[" * depth)), ActionPrediction)  # in a text


def test_reasoning_may_stand_before_where_the_rule_says_so():
    for before in ("<think>\n{Hm}\n</think>\n\n", "Hm.</think>", "", "\n"):
        text = before + write_answer(BUY, "a </think> b")
        assert parse_prediction(text, thinking=True) == ActionPrediction("a </think> b", parse_true_action(BUY))
        assert text[find_rationale(text, thinking=True)] == "a </think> b"
        assert score_action_prediction(text, BUY, rule=Rule(thinking=True)) == 1001
    for text in (f"<think>{write_answer(BUY)}", f"<think></think>So: {write_answer(BUY)}", "<think></think>"):
        assert isinstance(parse_prediction(text, thinking=True), str)


def test_the_rationale_is_found_where_it_stands():
    rationale = 'I said "rationale": "x" \\ é'
    first = {"action": BUY | {"name": '"rationale": "no'}, "rationale": rationale}
    thought = f'{{"rationale": "no"}}</think>{json.dumps(first)}'
    for text in (write_answer(BUY, rationale), json.dumps(first, indent=1), json.dumps(first, separators=(",", ":"))):
        assert json.loads(f'"{text[find_rationale(text)]}"') == rationale
    escaped = write_answer(BUY, rationale).replace("rationale", "r\\u0061tionale", 1)
    assert json.loads(f'"{escaped[find_rationale(escaped)]}"') == rationale
    deeper = json.dumps(
        {"action": BUY | {"rationale": "no", "n": [{"rationale": "no"}]}, "rationale": rationale, "": {}}
    )
    twice = f'{{"rationale": "no", {write_answer(BUY, rationale)[1:]}'
    for text in (deeper, twice):
        assert json.loads(f'"{text[find_rationale(text)]}"') == rationale
    assert find_rationale(write_answer(BUY, ["no"])) is None
    assert find_rationale(thought, thinking=True) is None
    thought = f'So {{"rationale": "no"}}</think>{json.dumps(first)}'
    assert json.loads(f'"{thought[find_rationale(thought, thinking=True)]}"') == rationale


@given(st.text(), st.text(), st.text())
def test_texts_of_any_letters_go_through(rationale, name, text):
    action = {"type": "type_and_submit", "name": name, "text": text}
    got = parse_prediction(write_answer(action, rationale))
    assert got == ActionPrediction(rationale, Action(**action))


PIECES = [
    '{"rationale": "a", ',
    '"action": ',
    "{",
    "}",
    '"type": ',
    '"click"',
    '"name": "x"',
    ",",
    "NaN",
    "\0",
    "é",
    write_answer(BUY),
]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_text_is_paid(text):
    got = reward_prediction(text, BUY)
    assert 0 <= got.total <= 1001
    assert isfinite(got.total)
    assert (got.total >= 0.5) == isinstance(parse_prediction(text), ActionPrediction)


def test_long_texts_take_no_time():
    long = "steel lamp " * 10_000
    quotes = write_answer(LEAVE, '"' * 50_000)
    for text in (
        long,
        write_answer(search(text=long)),
        write_answer(search(text=long, name=long)),
        quotes,
        '"\\' * 50_000,
    ):
        assert reward_prediction(text, SEARCH).value <= 0.1
    assert find_rationale(quotes) == slice(15, 100_015)
    assert compute_rouge_l(long, long) == 1


# The truth.


def test_a_truth_may_be_json_an_object_with_nulls_or_an_action():
    whole = Action("type_and_submit", "search_input", "steel table lamp with shade")
    assert parse_true_action(SEARCH) == parse_true_action(json.dumps(SEARCH)) == parse_true_action(whole) == whole
    assert parse_true_action({"type": "click", "name": "a", "text": None}) == Action("click", "a")


@pytest.mark.parametrize(
    "truth",
    ["", "terminate", "[]", "null", "[" * 100_000, "{}", {}, None, {"type": "click"}, {"type": "click", "name": " "},
     {"type": "terminate", "name": "x"}, search(text=""), search(name=None), Action("click"), {"type": "scroll"}],
)  # fmt: skip
def test_a_truth_that_is_no_whole_action_is_a_problem(truth):
    with pytest.raises(Problem, match="The true action cannot be"):
        score_action_prediction(write_answer(LEAVE), truth)
    with pytest.raises(Problem, match="The true action cannot be"):
        score_predictions([None], [truth])
    with pytest.raises(Problem, match="The true action cannot be"):
        measure_policy_payoffs([(Context(), truth)])


# ROUGE-L.


@pytest.mark.parametrize(
    ("one", "other", "shared", "f", "precision", "recall"),
    [
        ("police killed the gunman", "police kill the gunman", 3, 3 / 4, 3 / 4, 3 / 4),  # Lin 2004, section 3.1
        ("police killed the gunman", "the gunman kill police", 2, 2 / 4, 2 / 4, 2 / 4),
        ("the cat was under the bed", "the tiny little cat was found under the big funny bed", 6, 12 / 17, 1, 6 / 11),
        ("a b a b", "b a", 2, 4 / 6, 2 / 4, 1),
        ("Steel LAMP", "steel_lamp", 2, 1, 1, 1),
        ("lamp", "hose", 0, 0, 0, 0),
        ("", "lamp", 0, 0, 0, 0),
        ("lamp", "", 0, 0, 0, 0),
        ("!?", "!?", 0, 0, 0, 0),
        ("蓝色的灯", "蓝灯", 2, 4 / 6, 2 / 4, 1),
    ],
)  # fmt: skip
def test_rouge_l_is_the_longest_common_subsequence_by_words(one, other, shared, f, precision, recall):
    assert measure_common_subsequence(tokenize_prediction(one), tokenize_prediction(other)) == shared
    forms = [compute_rouge_l(one, other, form=form) for form in ("f", "precision", "recall")]
    assert forms == pytest.approx([f, precision, recall])
    assert compute_rouge_l(one, other) == forms[0]


def longest(some, others):
    """By the textbook's table."""
    row = [0] * (len(others) + 1)
    for word in some:
        before = row
        row = [0]
        for place, other in enumerate(others):
            row.append(before[place] + 1 if word == other else max(before[place + 1], row[-1]))
    return row[-1]


@given(st.text("abcd", max_size=90), st.text("abcd", max_size=90))
def test_the_common_subsequence_is_that_of_the_table(one, other):
    assert measure_common_subsequence(one, other) == longest(one, other)


@given(st.text(), st.text())
def test_rouge_l_is_a_share_and_the_same_both_ways(one, other):
    assert 0 <= compute_rouge_l(one, other) == compute_rouge_l(other, one) <= 1
    assert compute_rouge_l(one, other, form="precision") == compute_rouge_l(other, one, form="recall")
    assert (compute_rouge_l(one, other) == 1) == (tokenize_prediction(one) == tokenize_prediction(other) != ())


def test_texts_mean_the_same_in_the_same_words():
    assert is_same_text("Steel-lamp", "steel lamp")
    assert is_same_text("?!", "?!")
    for one, other in (("lamp steel", "steel lamp"), ("lamp", "lamps"), ("?", "!"), ("", "?"), ("", "lamp")):
        assert not is_same_text(one, other)


# Properties of the reward.

WORDS = st.lists(st.sampled_from("steel table lamp with shade red Hose !".split()), min_size=1, max_size=7).map(
    " ".join
)
NAMES = st.sampled_from(["search_input", "add_to_cart.buy_now", "add_to_cart.add_now", "cart.view"])
ACTIONS = st.one_of(
    st.just(Action("terminate")),
    st.builds(Action, st.just("click"), NAMES),
    st.builds(Action, st.just("type_and_submit"), NAMES, WORDS),
)
PARTIAL = ACTIONS | st.sampled_from(
    [Action("click"), Action("type_and_submit"), Action("type_and_submit", text="lamp")]
)


@given(WORDS, WORDS, WORDS, st.sampled_from(["f", "precision", "recall"]))
@example("steel table lamp shade", "steel table lamp", "steel table lamp with shade", "f")
def test_a_text_that_is_more_like_the_true_one_never_earns_less(one, other, true, form):
    truth, rule = Action("type_and_submit", "search_input", true), Rule(form=form)
    less, more = sorted((one, other), key=lambda text: compute_rouge_l(text, true, form=form))
    low, high = (
        reward_action_parts(Action("type_and_submit", "search_input", text), truth, rule)[2] for text in (less, more)
    )
    assert low <= high
    if compute_rouge_l(more, true, form=form) > max(0.75, compute_rouge_l(less, true, form=form)):
        assert low < high


@given(PARTIAL, ACTIONS)
def test_a_wrong_type_earns_nothing_for_the_action(action, truth):
    got = reward_action_parts(action, truth)
    assert (got == (0, 0, 0)) == (action.type != truth.type)
    assert got[0] == 0.3 * (action.type == truth.type)


@given(PARTIAL, ACTIONS)
def test_gating_never_raises_the_reward_and_costs_the_true_action_nothing(action, truth):
    plain, gated = reward_action_parts(action, truth), reward_action_parts(action, truth, GATED)
    assert gated[::2] == plain[::2]
    assert gated[1] <= plain[1]
    assert reward_action_parts(truth, truth, GATED) == reward_action_parts(truth, truth)


@given(PARTIAL, ACTIONS)
def test_no_action_earns_more_than_the_true_one(action, truth):
    best = sum(reward_action_parts(truth, truth))
    assert sum(reward_action_parts(action, truth)) <= best
    if is_exact_action(action, truth):
        assert sum(reward_action_parts(action, truth)) == best


# Trainers.


def test_verl_gets_the_same_keys_always_and_never_none():
    texts = [write_answer(LEAVE), write_answer(BUY), write_answer(search(text="hose")), "I leave.", ""]
    rows = [
        compute_score("", text, json.dumps(BUY), info)
        for text in texts
        for info in (None, {}, {"self_certainty": None})
    ]
    assert {tuple(row) for row in rows} == {("score", "format", "type", "presence", "value", "rationale", "exact")}
    assert all(type(value) is float for row in rows for value in row.values())
    for row in rows:
        assert row["score"] == pytest.approx(sum(row.values()) - row["score"] - row["exact"])
    sure = compute_score(
        "", write_answer(BUY), json.dumps(BUY), {"self_certainty": 8}, rule={"gated": True}, reward_router=None
    )
    assert sure == {
        "score": 1001.04,
        "format": 0.5,
        "type": 0.3,
        "presence": 0.2,
        "value": 1000,
        "rationale": 0.04,
        "exact": 1,
    }


def test_trl_gets_a_list():
    texts = [write_answer(BUY), [{"role": "assistant", "content": write_answer(SEARCH)}], "no"]
    truths = [BUY, json.dumps(SEARCH), parse_true_action(LEAVE)]
    assert hierarchical_reward(["?"] * 3, texts, action=truths, completion_ids=[]) == [1001, pytest.approx(1001.1), 0]
    known = hierarchical_reward(completions=texts, action=truths, self_certainty=[2, None, 2.0])
    assert known == pytest.approx([1001.01, 1001.1, 0])
    with pytest.raises(ValueError, match="shorter"):
        hierarchical_reward(completions=texts, action=truths[:2])


def test_a_function_with_another_rule_keeps_its_name():
    near = write_answer(BUY | {"name": "cart.view"})
    for function in (hierarchical_reward, compute_score):
        ruled = pickle.loads(pickle.dumps(bind_reward_rule(GATED, function)))
        assert ruled.__name__ == function.__name__
    assert bind_reward_rule(GATED)(completions=[near], action=[BUY]) == [0.8]
    assert bind_reward_rule(GATED, compute_score)("", near, json.dumps(BUY))["score"] == 0.8


@pytest.mark.parametrize("unknown", [float("nan"), float("inf")])
def test_a_self_certainty_that_is_no_number_is_a_problem(unknown):
    with pytest.raises(Problem, match="The self-certainty is"):
        score_action_prediction(write_answer(LEAVE), LEAVE, unknown)
    with pytest.raises(Problem, match="The self-certainty is"):
        score_action_prediction("no answer", LEAVE, unknown)


# Self-certainty.


def drawn(seed, count, vocabulary):
    """Distributions of all kinds, sharp to flat, some with zeros."""
    numbers = np.random.default_rng(seed)
    chances = numbers.gamma(10.0 ** numbers.uniform(-2, 2), size=(count, vocabulary)) + 1e-300
    chances[numbers.random(chances.shape) < 0.1] = 0
    chances[:, 0] += 1e-6
    return chances / chances.sum(axis=1, keepdims=True)


def divergences(chances):
    terms = np.where(chances > 0, chances * np.log(np.where(chances > 0, chances, 1) * chances.shape[1]), 0)
    return terms.sum(axis=1)


def logs(chances):
    with np.errstate(divide="ignore"):
        return np.log(chances)


@given(st.integers(0, 10**9), st.integers(1, 9), st.integers(1, 200))
def test_with_the_whole_vocabulary_it_is_the_mean_divergence_from_uniform(seed, count, vocabulary):
    chances = drawn(seed, count, vocabulary)
    low, high = compute_self_certainty(logs(chances), vocabulary)
    assert low == high == pytest.approx(divergences(chances).mean(), abs=1e-9)
    assert 0 <= low <= log(vocabulary) + 1e-9


def test_it_is_nought_for_a_uniform_one_and_log_v_for_a_sure_one():
    for vocabulary in (1, 2, 1_000, 151_936):
        sure = np.full(vocabulary, -np.inf)
        sure[-1] = 0
        assert compute_self_certainty([[-log(vocabulary)] * vocabulary], vocabulary) == pytest.approx((0, 0), abs=1e-9)
        assert compute_self_certainty([sure], vocabulary) == pytest.approx((log(vocabulary),) * 2)
        assert compute_self_certainty([[0.0]], vocabulary) == pytest.approx((log(vocabulary),) * 2)
    assert compute_self_certainty([], 9) == (0, 0)


def test_rounding_takes_it_neither_below_nought_nor_the_bounds_past_each_other():
    for vocabulary in range(1, 300):
        for count in {1, vocabulary // 2, vocabulary - 1, vocabulary}:
            low, high = compute_self_certainty([[-log(vocabulary)] * count], vocabulary)
            assert 0 <= low <= high <= 1e-9


@given(st.integers(0, 10**9), st.integers(1, 5), st.integers(1, 60), st.data())
def test_the_bounds_of_the_likeliest_hold_the_whole(seed, count, vocabulary, data):
    chances = -np.sort(-drawn(seed, count, vocabulary), axis=1)
    whole = divergences(chances).mean()
    top = data.draw(st.integers(0, vocabulary))
    told = [chances[:, :top], top]
    if top < vocabulary and data.draw(st.booleans()):  # and the one that was drawn, in any place
        told[0] = np.roll(np.c_[told[0], chances[:, data.draw(st.integers(top, vocabulary - 1))]], 1, axis=1)
    low, high = compute_self_certainty(logs(told[0]), vocabulary, top=told[1])
    assert 0 <= low <= whole + 1e-9
    assert whole - 1e-9 <= high <= log(vocabulary) + 1e-9


@given(st.integers(0, 10**9), st.integers(2, 60), st.data())
def test_more_of_the_likeliest_never_say_less(seed, vocabulary, data):
    chances = -np.sort(-drawn(seed, 1, vocabulary), axis=1)
    few, many = sorted(data.draw(st.tuples(st.integers(0, vocabulary), st.integers(0, vocabulary))))
    wide, narrow = (compute_self_certainty(logs(chances[:, :top]), vocabulary) for top in (few, many))
    assert wide.low <= narrow.low + 1e-9
    assert narrow.high <= wide.high + 1e-9


def negentropy(vocabulary, *chances):
    return log(vocabulary) + sum(chance * log(chance) for chance in chances)


@pytest.mark.parametrize(
    ("told", "vocabulary", "top", "least", "most"),
    [
        ((0.5, 0.3), 4, None, (0.5, 0.3, 0.1, 0.1), (0.5, 0.3, 0.2)),
        ((0.3, 0.2), 6, None, (0.3, 0.2, *[0.125] * 4), (0.3, 0.2, 0.2, 0.2, 0.1)),
        ((0.2, 0.3), 6, None, (0.3, 0.2, *[0.125] * 4), (0.3, 0.2, 0.2, 0.2, 0.1)),
        ((0.1, 0.5), 5, 1, (0.5, 0.1, *[0.4 / 3] * 3), (0.5, 0.1, 0.4)),
        ((0.1, 0.3), 5, 1, (0.3, 0.1, *[0.2] * 3), (0.3, 0.1, 0.3, 0.3)),
        ((0.1,), 5, 0, (0.1, *[0.225] * 4), (0.1, 0.9)),
        ((), 4, None, [0.25] * 4, (1.0,)),
    ],
)  # fmt: skip
def test_the_bounds_are_met_by_a_distribution_each(told, vocabulary, top, least, most):
    for row in (told, told[::-1]):
        bounds = compute_self_certainty([[log(chance) for chance in row]], vocabulary, top=top)
        assert bounds == pytest.approx((negentropy(vocabulary, *least), negentropy(vocabulary, *most)))


def test_rows_may_have_different_lengths():
    rows = [[log(0.5), log(0.3)], [log(0.5), log(0.3), log(0.1)]]
    ends = np.array([compute_self_certainty([row], 9, top=2) for row in rows])
    assert compute_self_certainty(rows, 9, top=2) == pytest.approx(ends.mean(axis=0))


def test_numbers_of_two_bytes_are_close_enough():
    chances = drawn(5, 20, 5_000)
    halves = logs(chances).astype(np.float16)
    assert compute_self_certainty(halves, 5_000).low == pytest.approx(divergences(chances).mean(), abs=0.01)
    for total in (0.995, 1.005):
        assert compute_self_certainty([[log(total / 4)] * 4], 4) == pytest.approx((0, 0), abs=1e-9)
        bounds = compute_self_certainty([[log(total)]], 4)
        assert bounds == pytest.approx((log(4), log(4)), abs=0.05)


@pytest.mark.parametrize(
    ("row", "vocabulary", "top"),
    [
        ([2.0, 1.0], 2, None),  # logits
        ([0.5, 0.5], 9, None),  # chances
        ([log(0.6), log(0.6)], 9, None),
        ([log(0.5), log(0.3)], 2, None),  # not all of two
        ([log(0.5), log(0.1)], 5, None),  # 0.4 is left for three that are less likely than 0.1
        ([log(0.5)] * 2, 1, None),
        ([log(0.5)], 9, 2),
        ([log(0.5)], 9, -1),
        ([float("nan"), 0.0], 2, None),
        ([], 0, None),
    ],
)  # fmt: skip
def test_rows_that_are_no_log_probabilities_are_a_problem(row, vocabulary, top):
    with pytest.raises(Problem):
        compute_self_certainty([row], vocabulary, top=top)


# Scores.


def plain(action):
    """Names as they are, the words of texts."""
    return action.name, action.text.lower().replace("!", "").split() or action.text


@given(st.lists(st.tuples(PARTIAL | st.none(), ACTIONS)))
def test_scores_are_those_of_counting(pairs):
    got = score_predictions(*([each[side] for each in pairs] for side in (0, 1)))
    typed = [a is not None and a.type == b.type for a, b in pairs]
    whole = [same and plain(a) == plain(b) for same, (a, b) in zip(typed, pairs, strict=True)]
    for kind in (None, *TYPES):
        rows = [at for at, (_, true) in enumerate(pairs) if kind in (None, true.type)]
        for hits, found in ((whole, got.exact if kind is None else got.exact_by_type[kind]),
                            (typed, got.type if kind is None else got.type_by_type[kind])):  # fmt: skip
            right = sum(hits[at] for at in rows)
            assert found.count == len(rows)
            assert found.share == (right / len(rows) if rows else 0)
            assert (found.low, found.high) == (compute_wilson_interval(right, len(rows)) if rows else (0, 1))
    assert got.macro_f1 == pytest.approx(f1(pairs))


def f1(pairs):
    """As scikit-learn does it, over the labels that occur; an answer that does not parse is no label."""
    found = []
    for kind in {each.type for pair in pairs for each in pair if each}:
        hits = sum(a is not None and a.type == b.type == kind for a, b in pairs)
        made = sum(a is not None and a.type == kind for a, _ in pairs)
        there = sum(b.type == kind for _, b in pairs)
        precision, recall = hits / made if made else 0, hits / there if there else 0
        found.append(2 * precision * recall / (precision + recall) if hits else 0)
    return sum(found) / len(found) if found else 0


def test_predictions_and_truths_are_as_many():
    with pytest.raises(ValueError, match="shorter"):
        score_predictions([None], [])


# Policies that do not look.

PAGE = Context(("add_to_cart.buy_now", "cart.view"), "steel lamp")
STEPS = [
    (Context(("search_button",)), Action("type_and_submit", "search_input", "steel lamp")),
    (PAGE, Action("click", "cart.view")),
    (PAGE, Action("click", "cart.view")),
    (PAGE, Action("click", "add_to_cart.buy_now")),
    (PAGE, Action("type_and_submit", "search_input", "Steel lamp")),
    (Context(), Action("terminate")),
]


def test_the_payoffs_of_constant_policies_by_hand():
    got = {each.policy: each for each in measure_policy_payoffs(STEPS)}
    assert list(got) == ["always terminate", "most frequent click", "echo the last query", "random clickable"]
    sums = {name: (6 * each.reward, 6 * each.gated) for name, each in got.items()}
    assert sums == {
        "always terminate": pytest.approx((3.3, 3.3)),
        "most frequent click": pytest.approx((3 + 3 * 0.5 + 2000, 3 + 3 * 0.3 + 2 * 0.2 + 2000)),
        "echo the last query": pytest.approx((3 + 0.6 + 0.1 + 0.2 + 0.2 + 1000, 3 + 0.6 + 0.1 + 0.2 + 0.2 + 1000)),
        "random clickable": pytest.approx((3 + 3 * 0.5 + 1500, 3 + 3 * 0.3 + 3 * 0.1 + 1500)),
    }
    shares = {name: (6 * each.scores.exact.share, 6 * each.scores.type.share) for name, each in got.items()}
    assert shares == {
        "always terminate": pytest.approx((1, 1)),
        "most frequent click": pytest.approx((2, 3)),
        "echo the last query": pytest.approx((1, 2)),
        "random clickable": pytest.approx((1.5, 3)),
    }
    assert got["always terminate"].scores.macro_f1 == pytest.approx(2 / 7 / 3)
    assert got["random clickable"].scores.macro_f1 == pytest.approx(2 / 3 / 3)
    assert got["random clickable"].scores.exact_by_type["click"].share == 0.5
    assert got["always terminate"].half == pytest.approx(1.959964 * np.std([0, 0, 0, 0, 0, 0.3], ddof=1) / 6**0.5)


def test_a_drawn_click_earns_what_drawing_it_many_times_does():
    numbers = np.random.default_rng(1)
    total = Counter()
    for _ in range(500):
        for seen, true in STEPS:
            action = Action("click", str(numbers.choice(seen.clickable or [""])))
            total["reward"] += reward_prediction(write_answer({"type": "click", "name": action.name}), true).total
            total["exact"] += is_exact_action(action, true)
    got = measure_policy_payoffs(STEPS)[-1]
    assert total["reward"] / 3_000 == pytest.approx(got.reward, rel=0.1)
    assert total["exact"] / 3_000 == pytest.approx(got.scores.exact.share, rel=0.1)


def test_a_rule_pays_policies_too():
    steps = [(PAGE, Action("click", "b")), (PAGE, Action("click", "a"))]
    assert measure_policy_payoffs(steps, rule=Rule(dars=1, threshold=0.5))[1].reward == pytest.approx(1.5)
    assert measure_policy_payoffs(steps)[1].gated == pytest.approx(500.9)
    assert measure_policy_payoffs([(PAGE, Action("terminate"))])[1].reward == 0.5


def test_of_clicks_as_frequent_the_first_by_name_is_taken():
    steps = [(PAGE, Action("click", "lamp.view")), (PAGE, Action("click", "lamp"))]
    for each in (steps, steps[::-1]):  # `lamp.view` has all the words of `lamp`, and would be paid twice
        assert measure_policy_payoffs(each, rule=Rule(form="recall"))[1].reward == pytest.approx(501)


def test_policies_need_steps():
    with pytest.raises(Problem, match="no steps"):
        measure_policy_payoffs([])


def test_the_papers_headline_is_the_share_of_terminate():
    """From the 3B model's row in Tables 2 and 3: the types' shares that give its exact match and type accuracy."""
    exacts, types = (7.39, 7.53, 81.84), (10.29, 28.66, 81.84)
    click, search, leave = np.linalg.solve([exacts, types, (1, 1, 1)], (27.72, 36.40, 1))
    count = [round(1000 * each) for each in (click, search, leave)]
    kinds = [Action("click", "a"), Action("type_and_submit", "b", "c"), Action("terminate")]
    got = measure_policy_payoffs(
        [(Context(), kind) for kind, times in zip(kinds, count, strict=True) for _ in range(times)]
    )[0]
    assert got.scores.exact.share == pytest.approx(0.2772, abs=0.01)


def test_settings_of_the_paper():
    assert Rule() == Rule(dars=1000, threshold=0.75, alpha=0.005, gated=False, form="f", thinking=False)
    assert len(fields(Rule)) == 6
    assert exp(compute_self_certainty([[0.0]], 7).low) == pytest.approx(7)
