"""The audit plays every player on the same tasks, and says what must not be."""

import json

import pytest

from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.envs.baselines import ENV_BASELINES, PLAYERS
from shopwright.pipeline.envs.evaluate import EnvTasks, parse_env_names, parse_levels
from shopwright.pipeline.envs.readers import READERS
from shopwright.pipeline.evaluate.audit import AuditCell, audit, parse_audit_cell, tabulate_audit
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.gym import world
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.runners import open_process_pool


@pytest.fixture(scope="module")
def shop():
    return world()


def audit_envs(shop, envs, levels, episodes, players=(), executor=None):
    tasks = EnvTasks(shop, envs, levels, range(episodes))
    return audit(tasks.pieces() if executor else [tasks], players, executor=executor)


def judge_audit(cells):
    return EnvTasks(None, ["policy_qa"], [0], range(1)).judge(cells)


@pytest.fixture(scope="module")
def cells(shop):
    """Of the players that do not read: those that do, learn and play for minutes (`test_audit_mutants`, and slow here)."""
    return audit_envs(shop, list(all_envs()), (0, 1, 6, 12), 8, list(PLAYERS))


@pytest.mark.slow
def test_no_policy_that_reads_gets_through(shop):
    tasks = EnvTasks(shop, list(all_envs()), (3, 6, 12), range(20)).for_audit()
    assert not tasks.judge(audit([tasks], ["solver", *READERS])).failed


def test_every_env_is_solved_every_time(cells):
    assert not judge_audit(cells).unsolved
    assert not judge_audit(cells).undrawn
    assert {cell.group["env"] for cell in cells if cell.policy == "solver"} == set(all_envs())


def test_no_cheap_policy_earns_as_much_as_the_solver(cells):
    assert not judge_audit(cells).cheated


def test_no_cheap_policy_earns_anything_from_level_1_on(cells):
    assert not judge_audit(cells).paid


def test_there_is_a_cell_for_each_env_level_and_policy(cells):
    assert len(cells) == len(all_envs()) * 4 * len(PLAYERS)
    assert all(cell.episodes == 8 for cell in cells)


def test_its_cells_are_json_and_read_back(cells):
    rows = json.loads(json.dumps([cell.to_json() for cell in cells]))
    assert {tuple(row) for row in rows} == {("env", "level", "policy", "episodes", "success", "parts")}
    assert [parse_audit_cell(row) for row in rows] == cells


@pytest.mark.slow
def test_other_processes_give_the_same_cells(shop):
    wanted = (shop, ["policy_qa", "journey"], (1, 6), 60)
    players = ("solver", "random-legal-call")
    with open_process_pool(2) as executor:
        shared = audit_envs(*wanted, players=players, executor=executor)
    assert shared == audit_envs(*wanted, players=players)


def cell(policy, success, reward, level=3, episodes=10):
    parts = {} if reward is None else {"reward": reward}
    return AuditCell(
        {"env": "cart_building", "level": level}, policy, measure_share((success or 0) * episodes, episodes), parts
    )


def test_a_task_that_the_solver_misses_fails_the_audit():
    found = judge_audit([cell("solver", 0.9, 0.8)])
    assert found.failed
    assert found.unsolved == ["cart_building level 3: solved in 90.00% of 10 episodes"]


@pytest.mark.parametrize(("reward", "failed"), [(0.79, False), (0.8, True), (0.9, True)])
def test_a_cheap_policy_that_earns_as_much_fails_the_audit(reward, failed):
    assert judge_audit([cell("solver", 1.0, 0.8, 1), cell("first-result", 0.0, reward, 1)]).failed is failed


@pytest.mark.parametrize(
    ("level", "reward", "paid", "failed"),
    [(0, 0.1, 0, False), (1, 0.1, 1, False), (1, 0.0, 0, False), (3, 0.0, 0, True), (12, 0.001, 1, True)],
)
def test_a_cheap_policy_that_earns_anything_is_named_from_level_1_on_and_fails_from_level_3_on(
    level, reward, paid, failed
):
    found = judge_audit([cell("solver", 1.0, 0.8, level, 200), cell("echo-the-query", 0.0, reward, level, 200)])
    assert len(found.paid) == paid
    assert found.failed is failed


@pytest.mark.parametrize(("reward", "failed"), [(0.1, False), (0.7, True)])
def test_of_few_episodes_a_mean_counts_where_it_is_beyond_doubt(reward, failed):
    assert judge_audit([cell("solver", 1.0, 0.8), cell("first-result", 0.0, reward)]).failed is failed


@pytest.mark.parametrize(("successes", "failed"), [(20, False), (60, True)])
def test_a_cheap_policy_that_succeeds_too_often_fails_the_audit(successes, failed):
    found = judge_audit([cell("solver", 1.0, 1.0, episodes=200), cell("lexical", successes / 200, -0.5, episodes=200)])
    assert found.failed is failed


def test_a_level_that_nothing_could_be_drawn_for_is_named():
    found = judge_audit([cell("solver", None, None, episodes=0), cell("do-nothing", None, None, episodes=0)])
    assert found.undrawn == ["cart_building level 3"]
    assert not found.failed


def test_a_shop_that_is_too_small_gives_cells_without_episodes():
    few = audit_envs(world(products=240, customers=1), ["order_tracking"], (90,), 3, players=["solver"])
    assert few == [AuditCell({"env": "order_tracking", "level": 90}, "solver", measure_share(0, 0), {})]


def test_the_table_has_a_line_for_each_env_and_policy(cells):
    table = tabulate_audit(cells)
    assert len(table.rows) == len(all_envs()) * len(PLAYERS)
    assert table.columns == ["env", "policy", "0", "1", "6", "12"]
    assert all(len(line) == 6 and all(line) for line in table.rows)


@pytest.mark.parametrize("wrong", ["chess", "C3", "", "cart_building,chess"])
def test_an_unknown_env_is_named(wrong):
    with pytest.raises(Problem, match="There is no env"):
        parse_env_names(wrong)


@pytest.mark.parametrize("wrong", ["", "-1", "a", "3-1", "0-1000", "1.5", "0-", "1-2-3"])
def test_levels_that_there_are_not_are_named(wrong):
    with pytest.raises(Problem, match="Say 0-12"):
        parse_levels(wrong)


def test_collections_and_names_make_one_list():
    assert parse_env_names("C2,policy_qa, C1") == ["cart_building", "substitution", "policy_qa"]
    assert parse_levels("0-2, 1,12") == [0, 1, 2, 12]


def test_an_unknown_player_is_named(shop):
    with pytest.raises(Problem, match="first-result"):
        audit_envs(shop, ["policy_qa"], (0,), 1, players=["genius"])


def test_a_negative_level_is_refused(shop):
    with pytest.raises(Problem, match="no difficulty -1"):
        audit_envs(shop, ["policy_qa"], (-1,), 1, players=list(ENV_BASELINES)[:1])
