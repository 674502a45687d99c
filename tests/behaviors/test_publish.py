"""What the report says of sessions seen page by page: the figures are the rows', and what somebody wrote stays text."""

import json
import re

import pytest

from shopwright.pipeline.behaviors import evaluate
from shopwright.pipeline.behaviors.evaluate import NextActions, Plan, collect_page_contexts, select_prediction_steps
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.situation import evaluate as evaluate_agent
from shopwright.pipeline.evaluate.storage import get_results_path, write_results
from shopwright.pipeline.publish import report_behaviors
from shopwright.pipeline.publish.report import PAGES
from shopwright.pipeline.rewards.hierarchical import Rule, measure_policy_payoffs
from shopwright.pipeline.run import Run
from shopwright.schemas.behaviors import Behavior, NextAction
from tests.behaviors.by_hand import SESSIONS, dataset, session, steps_of, written

PART = (
    '{% macro bar(label, share, shown) %}<b>{{ label }}: {{ shown }}</b>{% endmacro %}{% include "behaviors.html.j2" %}'
)
"""As the report holds it, which has the bars."""
ROWS = [row for each in SESSIONS for row in steps_of(each)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run with sessions; tests look at it and change nothing."""
    place = tmp_path_factory.mktemp("run")
    written(place)
    return place


@pytest.fixture(scope="module")
def facts(folder):
    return Run(folder).call(report_behaviors.gather_behavior_facts)


def shown(facts):
    return PAGES.from_string(PART).render(behaviors=facts)


def evaluated(folder, agent, plan=Plan(), made=None):  # noqa: B008
    sessions, steps = (Dataset(folder, each.name, each.makes) for each in written(folder))
    asked = select_prediction_steps(steps, plan.split)
    situation = NextActions(steps, asked, collect_page_contexts(sessions, asked), plan)
    rows = evaluate_agent(situation, agent).rows
    facts = {"split": plan.split, "made": made or steps.manifest.fingerprint, **situation.facts()}
    write_results(evaluate.StepPrediction, rows, get_results_path(folder, "behaviors", agent), facts)
    return rows


# Facts


def test_a_run_without_sessions_has_nothing_to_say(tmp_path):
    assert Run(tmp_path).call(report_behaviors.gather_behavior_facts) is None
    written(tmp_path, [])
    assert Run(tmp_path).call(report_behaviors.gather_behavior_facts) is None


def test_splits_are_counted(facts):
    assert facts["counts"] == [("train", 4, 2, 18, 2, 0, 2), ("test", 6, 3, 27, 3, 0, 3)]


def test_the_mix_is_that_of_the_steps_to_be_predicted_and_stands_beside_the_papers(facts):
    kinds = [row.action_type for row in ROWS]
    assert [kind for kind, _, _ in facts["mix"]] == ["type_and_submit", "click", "terminate"]
    for kind, share, _ in facts["mix"]:
        assert share == pytest.approx(100 * kinds.count(kind) / len(kinds))
    assert sum(paper for _, _, paper in facts["mix"]) == pytest.approx(100)


def test_steps_to_be_predicted_are_counted_by_split_and_for_rl(facts, tmp_path):
    assert facts["prompts"] == [("train", 14, 4, 6, 4), ("test", 21, 6, 9, 6), ("of train, for RL", 14, 4, 6, 4)]
    assert "<td>of train, for RL</td>" in shown(facts)
    none = [row.model_copy(update={"in_rl": False}) for row in ROWS]
    steps = dataset(tmp_path, "behavior_steps", NextAction, none)
    assert [part for part, *_ in report_behaviors.count_prompts(steps)] == ["train", "test"]


@pytest.mark.parametrize(
    ("exact", "type", "whole"),
    [
        ((7.39, 7.53, 81.84), (10.29, 28.66, 81.84), (27.72, 36.40)),
        ((4.93, 3.84, 49.80), (8.55, 15.36, 49.80), (16.76, 22.25)),
    ],
)
def test_by_the_papers_mix_its_third_table_gives_its_second(exact, type, whole):
    """Of click, type_and_submit and terminate, for its 3B model after both trainings and after the first."""
    paper = dict(zip(report_behaviors.TYPES, report_behaviors.PAPER, strict=True))
    mix = [paper[kind] for kind in ("click", "type_and_submit", "terminate")]
    for by_type, figure in zip((exact, type), whole, strict=True):
        got = sum(share * each for share, each in zip(mix, by_type, strict=True)) / sum(mix)
        assert got == pytest.approx(figure, abs=0.1)


def test_reasons_come_by_how_often_they_are(facts):
    assert facts["reasons"] == [("look around", 20), ("opens", 10), ("buy", 5), ("gives up", 5), ("seen enough", 5)]


def test_bytes_are_of_pages(facts):
    sizes = sorted(len(step.html.encode()) for each in SESSIONS for step in each.steps)
    average, middle, *_, most = facts["bytes"]
    assert average == pytest.approx(sum(sizes) / len(sizes))
    assert middle == sizes[len(sizes) // 2]
    assert most == sizes[-1]
    assert list(facts["bytes"][1:]) == sorted(facts["bytes"][1:])


def test_letters_that_take_several_bytes_count_so(tmp_path):
    one = session(0)
    wide = one.model_copy(update={"steps": [one.steps[0].model_copy(update={"html": "ä" * 10})]})
    assert report_behaviors.page_bytes(written(tmp_path, [wide])[0]) == (20,) * 5


def test_each_prompt_is_in_one_bin_of_either_kind(facts):
    for place, name in ((1, "session_tokens"), (2, "page_tokens")):
        for low, high in [(line[0] // 2, line[0]) for line in facts["tokens"]]:
            (count,) = [line[place] for line in facts["tokens"] if line[0] == high]
            assert count == sum(low < getattr(row, name) <= high for row in ROWS)
        assert sum(line[place] for line in facts["tokens"]) == len(ROWS)


def test_pay_offs_are_those_of_the_steps(facts):
    steps = [
        step
        for each in SESSIONS
        for step in evaluate.read_contexts_and_actions([one.model_dump() for one in each.steps])
    ]
    wanted = {each.policy: each for each in measure_policy_payoffs(steps)}
    assert [each.policy for each in facts["payoffs"]] == list(wanted)
    for each in facts["payoffs"]:
        assert each.reward == pytest.approx(wanted[each.policy].reward)
        assert each.scores == wanted[each.policy].scores
    assert facts["paid"] == len(SESSIONS)


def test_pay_offs_of_many_sessions_are_of_some(folder):
    found = report_behaviors.payoff_rows(Dataset(folder, "behaviors", Behavior), 3)
    assert 9 <= found[0].scores.exact.count <= 12


def test_the_session_that_is_shown_is_one_of_a_purchase(facts):
    assert facts["one"]["outcome"] == "bought"
    assert [step["title"] for step in facts["one"]["steps"]] == ["", "", "Results", "Steel lamp & <b>", "Thank you"]


def test_of_many_sessions_the_only_purchase_is_shown(tmp_path):
    others = [session(number, bought=False) for number in range(1, 20)]
    longer = [each.model_copy(update={"steps": [each.steps[0], *each.steps]}) for each in others]
    written(tmp_path, [*longer, session(20)])
    assert Run(tmp_path).call(report_behaviors.gather_behavior_facts)["one"]["id"] == "session-20"


def test_where_nothing_was_bought_another_session_is_shown(tmp_path):
    written(tmp_path, [session(1, bought=False)])
    assert Run(tmp_path).call(report_behaviors.gather_behavior_facts)["one"]["id"] == "session-1"


def test_sessions_whose_steps_are_not_made_yet_are_shown_without_them(tmp_path):
    _, steps = written(tmp_path)
    steps.manifest_path.unlink()
    found = Run(tmp_path).call(report_behaviors.gather_behavior_facts)
    assert found["tokens"] == []
    assert "Tokens of a prompt" not in shown(found)


# Agents


def test_what_was_evaluated_has_a_line_for_each_agent(tmp_path):
    for agent in ("solver", "terminate"):
        evaluated(tmp_path, agent)
    evaluated(tmp_path, "echo", Plan(rule=Rule(gated=True)), made="other")
    lines = Run(tmp_path).call(report_behaviors.gather_behavior_facts)["agents"]
    assert [(line["got"].policy, line["current"], line["rule"]) for line in lines] == [
        ("echo", False, {"gated": True}),
        ("solver", True, {}),
        ("terminate", True, {}),
    ]
    page = shown(Run(tmp_path).call(report_behaviors.gather_behavior_facts))
    assert len(re.findall(r"<td>solver", page)) == 2
    assert "gated True, on earlier steps" in page
    assert page.count("on earlier steps") == 1
    assert "100.0 <small>(84.5–100.0)</small>" in page


def test_a_file_that_is_none_of_ours_is_passed_over(tmp_path):
    written(tmp_path)
    (tmp_path / "evaluations").mkdir()
    (tmp_path / "evaluations" / "behaviors-x.parquet").write_text("no")
    assert Run(tmp_path).call(report_behaviors.gather_behavior_facts)["agents"] == []


# The page


def test_everything_is_on_the_page(facts):
    page = shown(facts)
    for each in SESSIONS[:1]:
        assert each.intent in page
    for kind, share, paper in facts["mix"]:
        assert f"<b>{kind}: {share:.1f} % (paper {paper:.0f} %)</b>" in page
    for reason, count in facts["reasons"]:
        assert f"<b>{reason}: {count}</b>" in page
    for each in facts["payoffs"]:
        assert each.policy in page
    assert "How well the next step is predicted" not in page


def test_the_session_stands_page_by_page_and_its_html_is_text(facts):
    page = shown(facts)
    for step in facts["one"]["steps"]:
        assert json.loads(step["action"])["type"] in page
    assert page.count("<details>") == len(facts["one"]["steps"])
    assert "&lt;button name=&#34;cart.buy_now&#34;&gt;Buy Now&lt;/button&gt;" in page
    assert "I like it &amp; buy &lt;it&gt;." in page
    assert "<button" not in page
    assert "<input" not in page


def test_nothing_that_a_page_or_a_shopper_says_becomes_markup(tmp_path):
    one, evil = session(0), "</pre></summary><script>alert(1)</script>"
    steps = [
        each.model_copy(
            update={"html": f"<h1>{evil}</h1>", "rationale": evil, "action": json.dumps({"type": "terminate"})}
        )
        for each in one.steps
    ]
    written(tmp_path, [one.model_copy(update={"steps": steps, "persona": evil, "intent": evil})])
    assert "<script" not in shown(Run(tmp_path).call(report_behaviors.gather_behavior_facts))
