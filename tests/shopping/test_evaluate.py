"""Agents on shopping tasks: the figures are those of the episodes, and nothing bad gets through the audit."""

import json
import re
from itertools import pairwise

import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.evaluate.audit import AuditCell, audit, read_audit, tabulate_audit
from shopwright.pipeline.evaluate.selection import limit_evenly
from shopwright.pipeline.evaluate.situation import evaluate as evaluate_agent
from shopwright.pipeline.evaluate.statistics import Share, compute_wilson_interval, measure_share
from shopwright.pipeline.evaluate.storage import get_results_path, read_results
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.report import write_report
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping import evaluate
from shopwright.pipeline.shopping.evaluate import (
    ShoppingTasks,
    count_errors,
    parse_scenario_names,
    select_shopping_tasks,
    summarize_outcomes,
)
from shopwright.pipeline.shopping.expert import EXPERT
from shopwright.pipeline.shopping.play import SCENARIOS
from shopwright.pipeline.shopping.players import PLAYERS
from shopwright.pipeline.stages import all_stages, upstream
from shopwright.schemas.shopping import ErrorLabel, Match
from tests.models.server import Plan, Server
from tests.shopping.shops import play_task, profile_of, shop, tasks

NOTHING = {"type": 0, "attributes": 0, "options": 0, "price": 0, "loose": 0, "strict": 0}
ALL = dict.fromkeys(NOTHING, 1)


def for_both():
    """Tasks of people with and without a profile."""
    return (*tasks(4), *tasks(2, personal=True))


def make_outcome(
    number=0, scenario="single", policy="toy", *, success=False, same=False, errors=(), literal=None, grade=1, **match
):
    """An outcome, with nothing bought unless said otherwise."""
    parts = {**(ALL if success else NOTHING), **match}
    typed = Match(**parts, success=success, same_product=same or success, fault="")
    return evaluate.Outcome(
        id=f"{number}-{scenario}-{policy}",
        task_id=str(number),
        scenario=scenario,
        policy=policy,
        category="Kettles",
        language="en",
        grade=grade,
        siblings=50,
        actions=4,
        asked=1,
        idle=2,
        bought_product="k" if success else "",
        bought_variant="",
        typed=typed,
        literal=literal or typed,
        errors=[ErrorLabel(area=area, name=name, step=0) for area, name in errors],
    )


@pytest.fixture
def copy(copy):
    """With no more than shopping tasks are made from: each command writes the report, and that of all takes seconds."""
    for name in set(all_stages()) - set(upstream("shopping_tasks")):
        copy.clear(name)
    return copy


def people(found):
    return {one.profile_id: profile_of(one) for one in found if one.profile_id}


def done(agent, found=None, scenarios=SCENARIOS):
    return evaluate_agent(situation_of(found or for_both(), scenarios), agent).rows


def situation_of(found, scenarios=SCENARIOS):
    return ShoppingTasks(shop(), found, people(found), scenarios)


def row_of(found, scenario):
    (row,) = [row for row in summarize_outcomes(found) if row.scenario == scenario]
    return row


# Playing


def test_each_task_is_played_in_the_scenarios_that_it_is_for():
    found = done("nothing")
    expected = [
        (one.id, scenario)
        for one in for_both()
        for scenario in (("single personal", "multi personal") if one.profile_id else ("single", "multi"))
    ]
    assert [(each.task_id, each.scenario) for each in found] == expected
    assert situation_of(for_both()).asked == len(found)


def test_only_the_scenarios_that_are_wanted_are_played():
    found = done("nothing", scenarios=("multi",))
    assert [each.scenario for each in found] == ["multi"] * 4
    assert situation_of(for_both(), ("multi",)).asked == 4


@pytest.mark.parametrize("player", ["solver", "asks-everything", "nothing"])
def test_an_outcome_is_what_the_episode_was(player):
    one = for_both()[0]
    (found,) = done(player, [one], ("multi",))
    episode = play_task(one, "multi", player)
    assert (found.id, found.typed, found.literal) == (episode.id, episode.typed, episode.literal)
    assert (found.bought_product, found.errors) == (episode.bought_product, episode.errors)
    assert found.actions == len(episode.steps)
    assert found.asked == sum(step.action.startswith("ask[") for step in episode.steps)
    assert found.idle == sum(step.fault != "" for step in episode.steps)
    categories = [shop().store.item(row).category for row in range(len(shop().store))]
    assert found.siblings == categories.count(one.category)


def test_players_are_called_with_dashes_or_without():
    assert [each.policy for each in done("first result", for_both()[:1])] == ["first-result"] * 2


def test_there_are_no_other_players():
    with pytest.raises(Problem, match=r"There is no player lazy\. There are: solver, first-result, copies-the-profile"):
        done("lazy")


def test_a_task_whose_profile_is_gone_is_a_problem():
    with pytest.raises(Problem, match="has no profile here"):
        evaluate_agent(ShoppingTasks(shop(), tasks(1, personal=True), {}), "nothing")


def test_a_model_is_asked_turn_by_turn_and_kept(tmp_path):
    def says(body):
        return {"content": "Thought: done\nAction: click[buy now]"}

    with Server(Plan(says=says)) as server:
        models = Models(model=f"openai:toy@{server.url}", at_once=4)
        first = done(Role("agent", models, tmp_path, "evaluate"), for_both()[:1], ("single",))
        again = done(Role("agent", models, tmp_path, "evaluate"), for_both()[:1], ("single",))
        assert len(server.bodies) == 30
    assert first == again
    assert [(each.policy, each.actions, each.idle) for each in first] == [("openai:toy", 30, 30)]


# Which tasks


def test_scenarios_come_in_the_papers_order():
    assert parse_scenario_names(None) == SCENARIOS
    assert parse_scenario_names("multi-personal, single") == ("single", "multi personal")
    with pytest.raises(Problem, match="There is no scenario 'both'"):
        parse_scenario_names("single,both")


def test_a_limit_takes_tasks_with_and_without_a_profile_in_turn():
    found = limit_evenly(for_both(), 4, evaluate.is_personal)
    assert [bool(one.profile_id) for one in found] == [False, False, True, True]
    assert [one for one in for_both() if one in found] == found


def test_a_larger_limit_holds_the_smaller_ones():
    taken = [
        {one.id for one in limit_evenly(for_both(), most, evaluate.is_personal)} for most in range(len(for_both()) + 2)
    ]
    assert [len(each) for each in taken] == [0, 1, 2, 3, 4, 5, 6, 6]
    assert all(some <= more for some, more in pairwise(taken))


# Figures


def test_shares_are_means_with_wilsons_intervals():
    found = [make_outcome(n, success=n < 3, same=n == 3, loose=1 if n < 3 else 0.5) for n in range(10)]
    row = row_of(found, "single")
    assert row.episodes == 10
    assert row.shares["success"] == Share(0.3, *compute_wilson_interval(3, 10), 10)
    assert row.shares["loose"] == Share(0.65, *compute_wilson_interval(6.5, 10), 10)
    assert row.shares["same product"].share == 0.4
    assert row.shares["bought"].share == 0.3
    assert (row.counts["actions"], row.counts["asked"], row.counts["idle"]) == (4, 1, 2)
    assert row.counts["chance"] == pytest.approx(0.02)


@pytest.mark.parametrize("part", ["type", "attributes", "options", "price", "strict"])
def test_each_part_has_its_own_share(part):
    row = row_of([make_outcome(0, **{part: 0.5}), make_outcome(1)], "single")
    assert {name for name, share in row.shares.items() if share.share} == {part, *row.shares} & {
        part,
        f"literal {part}",
    }
    assert row.shares[part].share == 0.25


def test_the_literal_scores_are_kept_apart():
    literal = Match(**NOTHING | {"loose": 0.5, "strict": 0.25}, success=True, same_product=False, fault="")
    row = row_of([make_outcome(literal=literal)], "single")
    assert [row.shares[f"literal {name}"].share for name in ("loose", "strict", "success")] == [0.5, 0.25, 1.0]
    assert [row.shares[name].share for name in ("loose", "strict", "success")] == [0.0, 0.0, 0.0]


def test_overall_is_the_mean_of_the_scenarios_as_in_the_paper():
    found = [make_outcome(n, success=True) for n in range(9)] + [make_outcome(0, "multi")]
    row = row_of(found, "overall")
    assert row.episodes == 10
    assert row.shares["success"].share == 0.5
    one, two = (row_of(found, scenario).shares["success"] for scenario in ("single", "multi"))
    assert row.shares["success"].margin == pytest.approx((one.margin**2 + two.margin**2) ** 0.5 / 2)


def test_agents_are_not_mixed():
    rows = summarize_outcomes([make_outcome(policy="a", success=True), make_outcome(policy="b")])
    assert [(row.policy, row.scenario, row.shares["success"].share) for row in rows] == [
        ("a", "single", 1.0),
        ("a", "overall", 1.0),
        ("b", "single", 0.0),
        ("b", "overall", 0.0),
    ]


def test_errors_are_shares_of_their_kind_of_all_and_of_what_failed():
    one, other, bought = (
        ("search", "ignored key attribute"),
        ("search", "repeated similar query"),
        ("buy", "no detail confirmation"),
    )
    found = [
        make_outcome(0, errors=[one, bought]),
        make_outcome(1, errors=[one, other]),
        make_outcome(2),
        make_outcome(3, success=True),
    ]
    rows = {(each.area, each.name): each for each in count_errors(found)}
    assert list(rows) == [one, other, bought]
    assert (rows[one].count, rows[one].of_area, rows[one].of_all, rows[one].of_failed) == (2, 2 / 3, 2 / 4, 2 / 3)
    assert (rows[bought].of_area, rows[bought].of_all, rows[bought].of_failed) == (1, 1 / 4, 1 / 3)


def test_who_makes_no_error_has_none():
    assert count_errors([make_outcome(success=True)]) == []


# Tables


def test_the_table_of_rewards_has_the_papers_figures_a_line_a_scenario():
    found = [make_outcome(success=True), make_outcome(0, "multi personal", loose=0.5)]
    table = evaluate.tabulate_shopping_rewards(summarize_outcomes(found))
    assert table.columns == ["agent", "scenario", "loose, %", "strict, %", "success, %"]
    assert [[cell.split()[0] for cell in line] for line in table.rows] == [
        ["toy", "single", "100.0", "100.0", "100.0"],
        ["toy", "multi", "50.0", "0.0", "0.0"],
        ["toy", "overall", "75.0", "50.0", "50.0"],
    ]


def test_a_scenario_that_an_agent_did_not_play_has_no_line():
    table = evaluate.tabulate_shopping_rewards(
        summarize_outcomes([make_outcome(policy="a"), make_outcome(0, "multi", policy="b")])
    )
    assert [line[:2] for line in table.rows] == [["a", "single"], ["a", "overall"], ["b", "multi"], ["b", "overall"]]


def test_every_line_of_a_table_has_a_cell_for_each_column():
    found = done("first-result") + done("solver")
    cells = audit([situation_of(for_both())], ["first-result", "solver"])
    shown = [*evaluate.tabulate_outcomes(found), tabulate_audit(cells, ShoppingTasks.audited)]
    assert len(shown) == 8
    empty = [table for table in shown if not table.rows]
    assert [table.columns[2] for table in empty] == ["tasks"], "only pass^k has no line, where each task was tried once"
    for table in shown:
        assert {len(line) for line in table.rows} <= {len(table.columns)}


def test_the_table_of_grades_has_a_share_for_each_number_of_needs():
    found = [make_outcome(n, success=n < 3, grade=1 if n < 4 else 3) for n in range(6)]
    (line,) = evaluate.tabulate_grades(found).rows
    assert line == ["toy", "single", "75.0 of 4", "", "0.0 of 2"]


# The audit


def cell(policy, right, count, scenario="single", same=0):
    """A cell of an audit in which any product of 50 may be the target."""
    parts = {"reward": right / count, "same_product": same / count, "chance": 1 / 50}
    return AuditCell({"scenario": scenario}, policy, measure_share(right, count), parts)


def judge_audit(*cells):
    return situation_of(for_both()).judge(cells)


def test_a_solver_that_fails_once_is_found():
    assert judge_audit(cell("solver", 399, 400)).unsolved == ["single: solved in 99.75% of 400 episodes"]
    assert judge_audit(cell("solver", 399, 400)).failed
    assert not judge_audit(cell("solver", 399, 399)).failed


@pytest.mark.parametrize(("right", "cheats"), [(10, False), (11, True)])
def test_a_cheap_policy_that_succeeds_in_more_than_a_tenth_is_found(right, cheats):
    found = judge_audit(cell("first-result", right, 100, "multi"))
    assert found.failed == cheats
    assert bool(found.cheated) == cheats


@pytest.mark.parametrize(
    ("policy", "right", "cheats"),
    [("lexical", 30, False), ("lexical", 31, True), ("phrase-book", 45, False), ("phrase-book", 46, True)],
)
def test_a_player_that_reads_by_rules_may_succeed_more_often_but_not_as_often_as_it_likes(policy, right, cheats):
    short = [one.model_copy(update={"wording": "short"}) for one in for_both()]
    assert situation_of(short).judge([cell(policy, right, 100)]).failed == cheats
    assert judge_audit(cell(policy, right, 100)).failed  # of descriptive words they make no more than the others


def test_what_is_bad_in_one_scenario_is_not_hidden_by_the_others():
    found = [cell("random", 5 * (scenario == "multi"), 5, scenario) for scenario in SCENARIOS]
    assert len(judge_audit(*found).cheated) == 1


@pytest.mark.parametrize(
    ("times", "count", "guesses"),
    [(3, 100, False), (4, 100, False), (5, 100, True), (12, 100, True), (1, 12, False), (2, 12, True)],
)
def test_a_profile_that_finds_its_target_more_often_than_chance_is_found(times, count, guesses):
    """By chance it would be one in 50; the tail of the binomial distribution says how likely that is (5 of 100: 5.1 %, 4: 14 %; 1 of 12: 22 %, 2: 2.3 %)."""
    assert bool(judge_audit(cell("copies-the-profile", 0, count, "single personal", times)).guessed) == guesses
    assert not judge_audit(cell("first-result", 0, count, "single personal", times)).guessed


def test_the_players_pass_the_audit():
    # One success by luck in a few tasks would be more than a cheap player may have.
    situation = situation_of([*tasks(120), *tasks(120, personal=True)])
    cells = audit([situation])
    assert {(cell.policy, cell.where, cell.episodes) for cell in cells} == {
        (player, scenario, 120) for player in PLAYERS for scenario in SCENARIOS
    }
    assert not situation.judge(cells).failed


def test_an_audit_counts_what_the_episodes_were():
    for found in audit([situation_of(for_both())], ["solver", "first-result"]):
        rows = [row for row in done(found.policy) if row.scenario == found.where]
        assert found.episodes == len(rows)
        assert found.success.share == sum(row.typed.success for row in rows) / len(rows)
        assert found.parts["loose"] == pytest.approx(sum(row.typed.loose for row in rows) / len(rows), abs=1e-6)
        assert found.parts["chance"] == pytest.approx(sum(1 / row.siblings for row in rows) / len(rows), abs=1e-6)


# Files


def test_a_player_has_its_name_with_dashes_and_nobody_shares_a_file(tmp_path):
    names = ["solver", "first-result", "openai:a/b", "openai:a-b", "questions"]
    files = [get_results_path(tmp_path, "shopping", name) for name in names]
    assert len(set(files)) == len(names)
    assert [file.name for file in files[:2]] == ["shopping-solver.parquet", "shopping-first-result.parquet"]


# The commands


def test_the_solver_is_evaluated_and_in_the_report(shopwright, copy):
    code, out, err = shopwright("evaluate", "shopping_tasks", "--run", copy.folder, "--split", "train", "--limit", 4)
    assert code == 0, err
    assert re.search(r"^solver .*100\.0", out, re.MULTILINE)
    found, facts = read_results(evaluate.Outcome, copy.folder / "evaluations" / "shopping-solver.parquet")
    assert facts == {"split": "train", "made": copy.read("shopping_tasks").manifest.fingerprint}
    assert all(each.typed.success for each in found)
    page = (copy.folder / "report.html").read_text()
    assert "How well agents do" in page
    assert "on earlier tasks" not in page


def test_a_player_for_scripts_and_for_another_file(shopwright, copy, tmp_path):
    options = ("--split", "train", "--limit", 2, "--agent", "first-result", "--json", "--to", tmp_path / "x.parquet")
    code, out, _ = shopwright("evaluate", "shopping_tasks", "--run", copy.folder, *options)
    told = json.loads(out)
    assert code == 0
    assert {row["policy"] for row in told["rows"]} == {"first-result"}
    assert told["rows"][0]["shares"]["success"].keys() == {"share", "low", "high", "count"}
    assert {"policy", "area", "name", "of_area", "of_all", "of_failed"} <= told["errors"][0].keys()
    assert len(pq.read_table(tmp_path / "x.parquet")) == 4
    assert not (copy.folder / "evaluations" / "shopping-first-result.parquet").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--agent", "lazy"), "There is no player lazy"),
        (("--scenarios", "both"), "There is no scenario 'both'"),
    ],
)
def test_what_there_is_not_is_said(shopwright, small, options, said):
    code, _, err = shopwright("evaluate", "shopping_tasks", "--run", small.folder, *options)
    assert code == 2
    assert said in err


def test_a_file_that_is_not_there_is_told(shopwright, small):
    code, _, err = shopwright("evaluate", "instructions", "--run", small.folder, "--human", "none.json")
    assert (code, "Cannot read none.json" in err) == (2, True)


def test_a_run_without_tasks_says_what_to_build(shopwright, tmp_path):
    code, _, err = shopwright("audit", "shopping_tasks", "--run", tmp_path)
    assert code == 2
    assert f"shopwright build shopping_tasks --run {tmp_path}" in err


def test_the_instructions_are_compared_with_peoples_and_nothing_is_played(shopwright, copy, tmp_path):
    (tmp_path / "people.json").write_text(json.dumps(["i need a red mug", "i want a lamp with a wooden base"]))
    code, out, _ = shopwright("evaluate", "instructions", "--run", copy.folder, "--human", tmp_path / "people.json")
    assert code == 0
    assert "constraints, mean" in out
    assert not list((copy.folder / "evaluations").glob("shopping-*"))
    assert "beside people's" in (copy.folder / "report.html").read_text().replace("&#39;", "'")


@pytest.mark.slow
def test_the_audit_of_a_shop_of_the_default_size_finds_nothing(shopwright, tmp_path):
    """Of a shop with as many products of a kind as the default one: where there are six, whoever takes the first is often right."""
    run = Run(tmp_path, seed=3, workers=1)
    run.build("shopping_tasks", count=30, personal=20, tokens="8k", **{"personas.count": 20})
    code, out, err = shopwright("audit", "shopping_tasks", "--run", tmp_path, "--split", "train", "--limit", 40)
    assert code == 0, out + err
    assert "\nnot solved: none\n" in out
    facts, cells = read_audit(tmp_path, "shopping")
    assert {cell.policy for cell in cells} == {*PLAYERS, EXPERT}
    assert sum(cell.episodes for cell in cells if cell.policy == "solver") == 80
    assert (facts["split"], facts["cheated"]) == ("train", [])


def test_an_audit_that_finds_something_says_so_with_its_exit_code_and_is_in_the_report(shopwright, copy, monkeypatch):
    monkeypatch.setitem(PLAYERS, "solver", PLAYERS["nothing"])
    code, out, _ = shopwright("audit", "shopping_tasks", "--run", copy.folder, "--split", "train", "--limit", 3)
    assert code == 1
    assert "not solved: single personal: solved in 0.00% of 1 episodes" in out
    facts, cells = read_audit(copy.folder, "shopping")
    assert {cell.policy for cell in cells} == {*PLAYERS, EXPERT}
    assert sum(cell.episodes for cell in cells if cell.policy == "solver") == 6
    assert facts["split"] == "train"
    write_report(copy)
    assert "can they be cheated?" in (copy.folder / "report.html").read_text()


def test_the_report_shows_tasks_with_what_comes_nearest(small):
    from shopwright.pipeline.publish import report_shopping

    facts = small.call(report_shopping.gather_shopping_facts)
    assert sum(rows for *_, rows, _, _, _, _ in facts["counts"]) == len(small.read("shopping_tasks"))
    assert sum(rows for _, rows in facts["overlaps"]) == len(small.read("shopping_tasks"))
    assert 0 < len(facts["some"]) <= 10
    assert all(one["title"] and one["title"] != one["miss"] for one in facts["some"])


def test_tasks_of_a_split_that_has_none_are_a_problem(small):
    with pytest.raises(Problem, match="There are no tasks of the split"):
        select_shopping_tasks(small.read("shopping_tasks"), "nowhere", SCENARIOS)


def test_what_a_split_holds_is_played_and_nothing_else(small):
    found = select_shopping_tasks(small.read("shopping_tasks"), "train", SCENARIOS)
    assert found
    assert {one.split for one in found} == {"train"}
    standard = select_shopping_tasks(small.read("shopping_tasks"), "train", ("single",))
    assert not [one for one in standard if one.profile_id]
