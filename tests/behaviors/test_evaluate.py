"""Agents that predict what shoppers do next: the figures are those of what they said, and nothing that they say stops it."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from math import log

import pytest

from shopwright.pipeline.behaviors import evaluate
from shopwright.pipeline.behaviors.evaluate import (
    POLICIES,
    NextActions,
    Plan,
    StepEpisode,
    StepPrediction,
    collect_page_contexts,
    f1_interval,
    list_clickable_names,
    make_prediction,
    measure_self_certainty,
    select_prediction_steps,
    summarize_agent_predictions,
    summarize_predictions,
)
from shopwright.pipeline.evaluate.situation import Trace
from shopwright.pipeline.evaluate.situation import evaluate as evaluate_agent
from shopwright.pipeline.evaluate.storage import get_results_path, read_results, write_results
from shopwright.pipeline.models.base import Chances, Reply
from shopwright.pipeline.models.openai import parse_completion
from shopwright.pipeline.models.replies import Replies
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.render import pages
from shopwright.pipeline.rewards.hierarchical import Action, Context, Rule, measure_policy_payoffs, reward_prediction
from tests.behaviors.by_hand import SESSIONS, session, steps_of, written
from tests.models.server import Plan as Says
from tests.models.server import Server

ROWS = [row for each in SESSIONS for row in steps_of(each)]
PLAIN = Plan()
MEASURED = Plan(vocabulary=4)
TOLD = [log(0.7), log(0.2)]
TESTED = [row for row in ROWS if row.split == "test"]
BUY = next(row for row in ROWS if json.loads(row.action).get("name") == "cart.buy_now")
SEARCH = ROWS[0]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Sessions and steps; tests look at them and change nothing."""
    return written(tmp_path_factory.mktemp("run"))


def situation_of(run, plan=PLAIN, limit=None):
    behaviors, steps = run
    asked = select_prediction_steps(steps, plan.split, limit)
    return NextActions(steps, asked, collect_page_contexts(behaviors, asked), plan)


def play_steps(run, agent, plan=PLAIN, limit=None):
    return evaluate_agent(situation_of(run, plan, limit), agent).rows


def score_step_prediction(row, reply, policy, plan):
    episode = StepEpisode(row, plan, Context())
    episode.step(reply)
    return make_prediction(Trace(policy, (), episode.score(), episode))


def answer(rationale="I want it.", **action):
    return json.dumps({"rationale": rationale, "action": action})


def score_reply(text, row=BUY, plan=PLAIN, **reply):
    return score_step_prediction(row, Reply(text, **reply), "toy", plan)


def right(row):
    return score_reply(answer(**json.loads(row.action)), row)


# Which steps


def test_the_steps_of_a_split_are_asked_in_their_order(run):
    for split in ("test", "train"):
        assert [each.id for each in select_prediction_steps(run[1], split)] == [
            row.id for row in ROWS if row.split == split
        ]


def test_a_larger_limit_holds_the_smaller_ones(run):
    taken = [{each.id for each in select_prediction_steps(run[1], "test", most)} for most in range(1, 23)]
    assert [len(each) for each in taken] == [*range(1, 22), 21]
    assert all(some < more for some, more in pairwise(taken[:21]))


def test_a_limit_is_drawn_from_all_over(run):
    found = select_prediction_steps(run[1], "test", 6)
    assert [each.id for each in found] == [row.id for row in TESTED if row.id in {one.id for one in found}]
    assert len({each.behavior_id for each in found}) > 2


def test_a_split_that_has_none_is_a_problem(run):
    with pytest.raises(Problem, match="There are no steps of the split nowhere here"):
        select_prediction_steps(run[1], "nowhere")


# What was seen


def test_everything_with_a_name_can_be_clicked_but_the_box():
    html = '<div name="a.b">x</div><input name="search_input"><a class="x" name="c &amp; d">name="no"</a><p>&lt;a name="e"&gt;</p>'
    assert list_clickable_names(html) == ("a.b", "c & d")


def test_on_the_shops_own_pages_it_is_what_they_say_themselves():
    lamps = [pages.ResultEntry(n, f"p{n}", 'A "lamp" & <more>', 999, 1299, 4.5, 12, False) for n in range(1, 4)]
    for page in (
        pages.build_shop_home_page(header=True),
        pages.build_results_page("lamp", 1, 3, lamps, header=True),
        pages.build_cart_page([]),
    ):
        assert list_clickable_names(pages.render_page_html(page)) == tuple(pages.map_names_to_labels(page))


def test_the_page_shown_has_what_can_be_clicked_on_it(run):
    behaviors, steps = run
    found = collect_page_contexts(behaviors, select_prediction_steps(steps, "test"))
    assert list(found) == [row.id for row in TESTED]
    home, results = (found[f"session-0-{number}"][0] for number in (1, 2))
    assert home.clickable == ("nav.home", "search_button")
    assert results.clickable == ("nav.home", "search_button", "steel_lamp.view_product", "red_lamp.view_product")


def test_the_last_query_is_that_of_an_earlier_step():
    queries = ["lamp", "red lamp"]
    steps = [{"html": "", "action": answer_of_search(text)} for text in queries] + [{"html": "", "action": LEAVES}]
    contexts = [context for context, _ in evaluate.read_contexts_and_actions(steps)]
    assert [each.query for each in contexts] == ["lamp", "red lamp"]  # nobody is asked for the first move
    assert [each.box for each in contexts] == ["box", "box"]


LEAVES = json.dumps({"type": "terminate"})


def answer_of_search(text):
    return json.dumps({"type": "type_and_submit", "name": "box", "text": text})


def test_the_true_actions_are_those_of_the_steps(run):
    found = collect_page_contexts(run[0], select_prediction_steps(run[1], "test"))
    assert [found[row.id][1] for row in TESTED] == [Action(**json.loads(row.action)) for row in TESTED]


def test_a_step_whose_session_is_gone_is_a_problem(run, tmp_path):
    behaviors, _ = written(tmp_path, SESSIONS[1:])
    with pytest.raises(Problem, match="session-0 has no page here"):
        collect_page_contexts(behaviors, select_prediction_steps(run[1], "test"))


# Agents that are no model


def test_who_knows_the_truth_is_always_right(run):
    found = play_steps(run, "solver")
    assert [each.step_id for each in found] == [row.id for row in TESTED]
    assert all(each.exact and each.type_right and not each.fault for each in found)
    assert [json.loads(each.said)["rationale"] for each in found] == [row.rationale for row in TESTED]
    (got,) = summarize_predictions(found)
    assert (got.scores.exact.share, got.scores.type.share, got.scores.macro_f1) == (1, 1, 1)


@pytest.mark.parametrize("agent", ["terminate", "frequent-click", "echo"])
@pytest.mark.parametrize("gated", [False, True])
def test_a_policy_earns_what_the_pay_off_table_says(run, agent, gated):
    rule = Rule(gated=gated, dars=10)
    (got,) = summarize_predictions(play_steps(run, agent, Plan(rule=rule)))
    steps = list(collect_page_contexts(run[0], select_prediction_steps(run[1], "test")).values())
    (wanted,) = [each for each in measure_policy_payoffs(steps, rule=rule) if each.policy == POLICIES[agent]]
    assert got.reward == pytest.approx(wanted.reward)
    assert got.half == pytest.approx(wanted.half)
    assert got.gated == pytest.approx(wanted.gated)
    assert got.scores == wanted.scores


def test_a_policy_that_draws_clicks_on_what_is_there_and_always_on_the_same(run):
    found = play_steps(run, "random-click")
    seen_here = collect_page_contexts(run[0], select_prediction_steps(run[1], "test"))
    assert all(each.name in seen_here[each.step_id][0].clickable for each in found)
    assert {each.type for each in found} == {"click"}
    assert len({each.name for each in found}) > 2
    assert play_steps(run, "random-click") == found


def test_there_are_no_other_agents(run):
    with pytest.raises(
        Problem, match=r"There is no player lazy\. There are: solver, terminate, frequent-click, echo, "
    ):
        play_steps(run, "lazy")


# What it was worth


def test_a_row_has_what_was_said_and_what_it_earned_by_its_parts():
    found = score_reply(answer("So red.", type="click", name="cart.buy_later"), prompt_tokens=7, tokens=3, seconds=0.5)
    got = reward_prediction(found.said, BUY.action)
    assert (found.type, found.name, found.text) == ("click", "cart.buy_later", "")
    assert (found.exact, found.type_right, found.fault) == (False, True, "name is 'cart.buy_later', not 'cart.buy_now'")
    parts = (found.for_format, found.for_type, found.for_presence, found.for_value, found.for_rationale)
    assert parts == (got.format, got.type, got.presence, got.value, got.rationale) == (0.5, 0.3, 0.2, 0.0, 0.0)
    assert found.reward == got.total == 1.0
    assert (found.prompt_tokens, found.tokens, found.seconds) == (7, 3, 0.5)
    assert (found.step_id, found.true, found.true_type) == (BUY.id, BUY.action, "click")
    assert (found.session_tokens, found.page_tokens) == (BUY.session_tokens, BUY.page_tokens)
    assert found.session_tokens > found.page_tokens


def test_another_type_is_not_right():
    found = score_reply(answer(type="terminate"))
    assert (found.type, found.type_right, found.reward) == ("terminate", False, 0.5)
    assert found.fault == "type is 'terminate', not 'click'"


def test_what_was_typed_is_kept_too():
    found = score_reply(answer(type="type_and_submit", name="search_input", text="Steel lamp, 0"), SEARCH)
    assert (found.name, found.text, found.exact) == ("search_input", "Steel lamp, 0", True)


def test_the_rule_decides_what_is_paid():
    wrong = answer(type="click", name="nav.home")
    assert score_reply(wrong).reward == 1.0
    assert score_reply(wrong, plan=Plan(rule=Rule(gated=True))).reward == 0.8
    assert score_reply(wrong).gated == 0.8
    assert right(BUY).for_value == 1000
    assert score_reply(answer(**json.loads(BUY.action)), plan=Plan(rule=Rule(dars=5))).for_value == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I leave.",
        "[]",
        "{" * 100_000,
        "\ud800",
        "null",
    ],
)
def test_a_bad_reply_is_no_answer_and_stops_nothing(text, tmp_path):
    found = score_reply(text)
    assert (found.type, found.action_type, found.exact, found.type_right) == ("", None, False, False)
    assert found.reward == 0
    assert found.fault
    assert len(found.said) <= evaluate.LONGEST
    write_results(StepPrediction, [found], tmp_path / "x.parquet", {})
    assert read_results(StepPrediction, tmp_path / "x.parquet")[0] == [found]


@pytest.mark.parametrize(
    "text",
    ['{"rationale": "\\ud800", "action": 1}', answer(type="scroll"), answer("\ud800", type="click", name="\ud800")],
)
def test_what_can_be_read_and_is_not_the_action_is_kept_with_what_it_earned(text, tmp_path):
    found = score_reply(text)
    assert (found.exact, found.for_format) == (False, 0.5)
    assert found.fault
    write_results(StepPrediction, [found], tmp_path / "x.parquet", {})
    assert read_results(StepPrediction, tmp_path / "x.parquet")[0] == [found]


def test_a_reply_with_a_fault_says_nothing_whatever_it_holds():
    found = score_reply(answer(**json.loads(BUY.action)), fault="cut short at its limit of tokens")
    assert (found.exact, found.reward, found.type) == (False, 0, "")
    assert found.fault == "cut short at its limit of tokens"


# How sure it was


def sure_reply(rationale="ab", logs=(TOLD,)):
    """An answer in which each letter is a token of its own; those of the rationale are as likely as said, the others never."""
    text = answer(rationale, **json.loads(BUY.action))
    first = text.index('": "') + 4
    inside = {first + number: logs[number % len(logs)] for number in range(len(rationale))}
    return Reply(text, chances=[Chances(n, 2, inside.get(n, [-9.0, -9.0])) for n in range(len(text))])


def test_only_the_tokens_of_the_rationale_count():
    found = measure_self_certainty(sure_reply(), MEASURED)
    assert (round(found.low, 3), round(found.high, 3)) == (0.515, 0.584)


def test_it_is_the_mean_over_the_tokens():
    one, other = TOLD, [log(0.5), log(0.25)]
    both = measure_self_certainty(sure_reply(logs=(one, other)), MEASURED)
    alone = [measure_self_certainty(sure_reply(logs=(logs,)), MEASURED) for logs in (one, other)]
    assert both.low == pytest.approx((alone[0].low + alone[1].low) / 2)
    assert both.high == pytest.approx((alone[0].high + alone[1].high) / 2)


def test_a_token_that_holds_more_than_the_rationale_counts_too():
    """`"I` may be one token."""
    whole = sure_reply("ab")
    begins = whole.text.index("ab")
    joined = [each for each in whole.chances if each.place not in (begins, begins + 1)]
    joined = [each._replace(logs=TOLD) if each.place == begins - 1 else each for each in joined]
    assert measure_self_certainty(replace(whole, chances=joined), MEASURED) == measure_self_certainty(whole, MEASURED)


def test_all_likeliest_tokens_of_a_place_are_not_always_told():
    """Of two, of which one was drawn from anywhere, the others may be likelier than it."""
    full = sure_reply(logs=([log(0.5), log(0.05)],))
    drawn = replace(full, chances=[each._replace(top=1) for each in full.chances])
    assert (
        measure_self_certainty(drawn, Plan(vocabulary=20)).high > measure_self_certainty(full, Plan(vocabulary=20)).high
    )


def test_what_was_kept_is_read_as_lists():
    kept = replace(sure_reply(), chances=json.loads(json.dumps(sure_reply().chances)))
    assert measure_self_certainty(kept, MEASURED) == measure_self_certainty(sure_reply(), MEASURED)


def test_the_least_that_it_can_be_is_paid():
    reply = sure_reply()
    found = score_step_prediction(BUY, reply, "toy", MEASURED)
    assert found.sure == measure_self_certainty(reply, MEASURED)
    assert found.for_rationale == pytest.approx(0.005 * found.sure_low)
    assert found.reward == pytest.approx(1001 + found.for_rationale)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(answer(**json.loads(BUY.action))),
        replace(sure_reply(), fault="cut short"),
        replace(sure_reply(), text=sure_reply().text[:-1]),
        sure_reply(logs=([log(0.9), log(0.9)],)),
        sure_reply(logs=([float("nan")],)),
        sure_reply(logs=([-1.0] * 5,)),
    ],
)
def test_where_it_is_not_told_or_makes_no_sense_it_is_not_known(reply):
    found = score_step_prediction(BUY, reply, "toy", MEASURED)
    assert found.sure is None
    assert found.for_rationale == 0
    assert summarize_agent_predictions("toy", [found]).sure is None


def completion(pieces, thoughts=(), **more):
    """What a server answers that tells of each of these tokens how likely it and another were."""
    content = [
        {"token": piece, "logprob": log(0.7), "top_logprobs": [{"token": piece, "logprob": log(0.7)}, OTHER]} | more
        for piece in [*thoughts, *pieces, "<|end|>"]
    ]
    choice = {"finish_reason": "stop", "message": {"content": "".join(pieces)}, "logprobs": {"content": content}}
    return parse_completion(json.dumps({"choices": [choice]}))


OTHER = {"token": "other", "logprob": log(0.2)}
PIECES = ['{"', 'rationale": "', "I ", "wänt", ' it.", ', f'"action": {BUY.action}', "}"]


def test_the_tokens_of_a_servers_answer_are_found_in_its_text():
    found = completion(PIECES)
    assert [each.place for each in found.chances] == [sum(map(len, PIECES[:n])) for n in range(len(PIECES))]
    assert {(each.top, *each.logs) for each in found.chances} == {(2, -0.3567, -1.6094)}
    assert score_step_prediction(BUY, found, "toy", MEASURED).sure_low == pytest.approx(0.515, abs=1e-3)


def test_what_was_thought_before_is_left_out():
    found = completion(PIECES, ["I ", "wänt", " ", "</think>"])
    assert found.chances == completion(PIECES).chances


def test_thoughts_that_are_the_very_answer_are_left_out_too():
    found = completion(PIECES, ["".join(PIECES), "</think>"])
    assert found.chances == completion(PIECES).chances


def test_bytes_tell_where_a_token_ends_inside_a_character():
    """Of `ä`, which has two, each is a token of its own here."""
    halves = [{"token": "?", "bytes": [byte], "logprob": -1.0, "top_logprobs": [OTHER]} for byte in "ä".encode()]
    choice = {"finish_reason": "stop", "message": {"content": "ä"}, "logprobs": {"content": halves}}
    found = parse_completion(json.dumps({"choices": [choice]}))
    assert [(each.place, each.top, each.logs) for each in found.chances] == [(0, 1, [-1.6094, -1.0])] * 2


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        7,
        [],
        {},
        {"content": None},
        {"content": [7]},
        {"content": [{"token": "{"}]},
        {"content": [{"token": "{", "logprob": None}]},
        {"content": [{"token": "{", "logprob": 10**400}]},
        {"content": [{"token": "{", "logprob": -1, "bytes": 10**12}]},
        {"content": [{"token": "{", "logprob": -1, "bytes": [999]}]},
        {"content": [{"token": "no such thing", "logprob": -1}]},
        {"content": [{"token": "{", "logprob": -1, "top_logprobs": [{}]}]},
    ],
)
def test_a_server_that_tells_nonsense_of_its_tokens_is_still_heard(logprobs):
    text = answer(**json.loads(BUY.action))
    found = parse_completion(json.dumps({"choices": [{"message": {"content": text}, "logprobs": logprobs}]}))
    assert (found.text, found.fault, list(found.chances)) == (text, "", [])
    assert score_step_prediction(BUY, found, "toy", MEASURED).exact


def test_what_was_told_of_the_tokens_is_kept_with_the_reply(tmp_path):
    replies = Replies(tmp_path, "toy")
    replies.put("key", "behavior_steps", completion(PIECES))
    assert score_step_prediction(BUY, replies.get("key"), "toy", MEASURED).sure == measure_self_certainty(
        completion(PIECES), MEASURED
    )
    replies.close()


# A model


def model(server, folder, **options):
    return Role("agent", Models(model=f"openai:toy@{server.url}", at_once=4, **options), folder, "evaluate-behaviors")


def test_a_model_is_asked_each_step_once_and_what_it_said_is_kept(run, tmp_path):
    with Server(Says(says=lambda body: {"content": answer(**json.loads(BUY.action))})) as server:
        first = play_steps(run, model(server, tmp_path))
        again = play_steps(run, model(server, tmp_path))
        asked = server.bodies
    assert len(asked) == len(TESTED)
    assert first == again
    assert sorted(body["messages"][1]["content"] for body in asked) == sorted(row.prompt[1].content for row in TESTED)
    assert {body["messages"][0]["role"] for body in asked} == {"system"}
    assert len({body["seed"] for body in asked}) == len(TESTED)
    assert not any("logprobs" in body for body in asked)
    assert {each.policy for each in first} == {"openai:toy"}
    assert [each.exact for each in first] == [row.action == BUY.action for row in TESTED]


def test_how_likely_tokens_were_is_asked_where_the_vocabulary_is_known(run, tmp_path):
    with Server(Says(says=lambda body: {"content": "No."})) as server:
        play_steps(run, model(server, tmp_path), PLAIN, 2)
        play_steps(run, model(server, tmp_path), Plan(vocabulary=100, likeliest=5), 2)
        plain, told = server.bodies[:2], server.bodies[2:]
    assert len(told) == 2  # what was asked without them is asked again
    assert [(body["logprobs"], body["top_logprobs"]) for body in told] == [(True, 5)] * 2
    for body in told:
        del body["logprobs"], body["top_logprobs"]
    assert sorted(plain, key=str) == sorted(told, key=str)


def test_bad_replies_and_refusals_stop_nothing(run, tmp_path):
    with Server(Says({"400": 0.3, "length": 0.3}, times=99, says=lambda body: {"content": "No."})) as server:
        found = play_steps(run, model(server, tmp_path))
    assert len(found) == len(TESTED)
    (got,) = summarize_predictions(found)
    assert got.reward == 0
    assert set(got.faults) == {"HTTP 400", "cut short at its limit of tokens", "it is not one JSON object"}
    assert sum(got.faults.values()) == len(TESTED)


# Figures


SOME = [
    right(BUY),
    score_reply(answer(type="click", name="nav.home")),
    score_reply(answer(type="terminate")),
    score_reply("No."),
    right(SEARCH),
]


def test_the_figures_are_those_of_what_was_said():
    got = summarize_agent_predictions("toy", SOME)
    assert (got.steps, got.scores.exact.share, got.scores.type.share) == (5, 0.4, 0.6)
    assert (got.scores.exact.count, got.scores.exact_by_type["click"].share) == (5, 0.25)
    assert got.reward == pytest.approx(sum(each.reward for each in SOME) / 5) == pytest.approx(sum(got.parts.values()))
    assert got.said["click"] == {"type_and_submit": 0, "click": 0.5, "terminate": 0.25, "none": 0.25}
    assert "terminate" not in got.said
    assert got.faults == {"another name": 1, "another type": 1, "it is not one JSON object": 1}


def test_self_certainty_is_the_mean_of_those_that_are_known():
    known = score_step_prediction(BUY, sure_reply(), "toy", MEASURED)
    got = summarize_agent_predictions("toy", [known, known, right(BUY)])
    assert (got.sure, got.sure_of) == (known.sure, 2)
    assert evaluate.format_self_certainty(got) == f"{known.sure_low:.2f} - {known.sure_high:.2f}, of 2 steps"
    assert (
        evaluate.format_self_certainty(summarize_agent_predictions("toy", [known]))
        == f"{known.sure_low:.2f} - {known.sure_high:.2f}"
    )
    assert evaluate.format_self_certainty(summarize_agent_predictions("toy", [right(BUY)])) == "not known"


def test_agents_are_not_mixed():
    other = right(BUY).model_copy(update={"policy": "other"})
    assert [(got.policy, got.steps) for got in summarize_predictions([right(BUY), other, right(SEARCH)])] == [
        ("toy", 2),
        ("other", 1),
    ]


def test_the_interval_of_the_macro_f1_holds_it_and_narrows_with_steps():
    few = [("click", "click", 1.0), ("click", "terminate", 0.0), (None, "click", 0.0), ("terminate", "terminate", 1.0)]
    widths = []
    for times in (5, 50, 500):
        low, high = f1_interval(few * times)
        assert low < evaluate.tally_predictions(few * times).macro_f1 < high
        widths.append(high - low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]
    assert f1_interval([("click", "click", 1.0)] * 9) == (1, 1)


def test_an_answer_that_is_none_is_no_type_of_its_own():
    """Else the mean would be over four."""
    low, high = f1_interval([(None, "click", 0.0), ("click", "click", 1.0)] * 2_000)
    assert low < 2 / 3 < high
    assert high - low < 0.05


# Tables


def shown():
    steps = [(Context(("cart.buy_now", "nav.home"), "lamp"), Action(**json.loads(row.action))) for row in TESTED]
    return evaluate.tabulate_predictions(summarize_predictions(SOME), measure_policy_payoffs(steps))


def test_every_line_of_a_table_has_a_cell_for_each_column():
    assert len(shown()) == 5
    for table in shown():
        assert {len(line) for line in table.rows} == {len(table.columns)}


def test_beside_an_agent_stands_what_those_earn_that_do_not_look():
    for table in shown()[:3]:
        assert [line[0] for line in table.rows] == ["toy", *POLICIES.values()]


def test_the_table_has_the_papers_figures_with_intervals():
    table = shown()[0]
    line = table.rows[0]
    assert table.columns == ["agent", "steps", "exact, %", "type, %", "macro F1, %", "reward"]
    assert line[:3] == ["toy", "5", "40.0 (11.8 - 76.9)"]
    assert re.fullmatch(r"\d+\.\d \(\d+\.\d - \d+\.\d\)", line[4])
    assert re.fullmatch(r"\d+\.\d\d ±\d+\.\d\d", line[5])


def test_a_type_that_was_never_true_has_a_dash():
    table = shown()[1]
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["terminate, exact %"] == cells["terminate, type %"] == "–"
    assert cells["type_and_submit, exact %"].startswith("100.0 ")
    assert cells["click, type %"].startswith("50.0 ")


def test_what_is_for_scripts_says_the_rule_and_the_form(run):
    plan = Plan(rule=Rule(dars=7), vocabulary=100)
    told = json.loads(json.dumps(situation_of(run, plan).figures(SOME)))
    assert told["rule"]["dars"] == 7
    assert told["self_certainty"] == "at least and at most, from the 20 likeliest of 100 tokens"
    assert told["rows"][0]["scores"]["exact"] == {"share": 0.4, "low": pytest.approx(0.1176, abs=1e-4)} | {
        "high": pytest.approx(0.7693, abs=1e-4),
        "count": 5,
    }


# Files


def test_the_rule_and_the_form_are_kept_with_predictions(run):
    facts = situation_of(run, Plan(rule=Rule(gated=True))).facts()
    assert json.loads(facts["rule"])["gated"]
    assert facts["self_certainty"] == "not measured, so it pays 0"


def test_each_agent_has_a_file_of_its_own(tmp_path):
    names = ["solver", *POLICIES, "openai:a/b", "openai:a-b"]
    files = [get_results_path(tmp_path, "behaviors", name) for name in names]
    assert len(set(files)) == len(names)
    assert all(re.fullmatch(r"behaviors-[\w.-]+\.parquet", file.name) for file in files)


def test_a_session_by_hand_has_its_own_steps():
    assert [row.action_type for row in steps_of(session(1, bought=False))] == ["type_and_submit", "click", "terminate"]
