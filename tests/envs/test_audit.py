"""The audit plays every player on the same tasks, and says what must not be."""

import json

import pytest

from pipeline.envs import all_envs
from pipeline.envs.audit import Cell, audit, audit_rows, envs_of, levels_of, table, verdict
from pipeline.envs.players import CHEAP, PLAYERS
from pipeline.gym import world
from pipeline.problem import Problem
from pipeline.runners import pool


@pytest.fixture(scope="module")
def shop():
    return world()


@pytest.fixture(scope="module")
def cells(shop):
    return audit(shop, list(all_envs()), (0, 1, 4, 8, 12), 25)


def test_every_env_is_solved_every_time(cells):
    assert not verdict(cells).unsolved
    assert not verdict(cells).undrawn
    assert {cell.env for cell in cells if cell.policy == "solver"} == set(all_envs())


def test_no_cheap_policy_earns_as_much_as_the_solver(cells):
    assert not verdict(cells).cheated


def test_no_cheap_policy_earns_anything_from_level_1_on(cells):
    assert not verdict(cells).paid


def test_there_is_a_cell_for_each_env_level_and_policy(cells):
    assert len(cells) == len(all_envs()) * 5 * len(PLAYERS)
    assert all(cell.episodes == 25 for cell in cells)


def test_its_rows_are_json_with_the_published_fields(cells):
    rows = json.loads(json.dumps(audit_rows(cells)))
    assert {tuple(row) for row in rows} == {("env", "level", "policy", "episodes", "success", "reward")}


@pytest.mark.slow
def test_other_processes_give_the_same_cells(shop):
    wanted = (shop, ["policy_qa", "journey"], (1, 6), 60)
    players = ("solver", "random_legal_call")
    with pool(2) as executor:
        shared = audit(*wanted, players=players, executor=executor)
    assert shared == audit(*wanted, players=players)


def cell(policy, success, reward, level=3, episodes=10):
    return Cell("cart_building", level, policy, episodes, success, reward)


def test_a_task_that_the_solver_misses_fails_the_audit():
    found = verdict([cell("solver", 0.9, 0.8)])
    assert found.failed
    assert found.unsolved == ["cart_building level 3: solved in 90.00% of 10 episodes"]


@pytest.mark.parametrize(("reward", "failed"), [(0.79, False), (0.8, True), (0.9, True)])
def test_a_cheap_policy_that_earns_as_much_fails_the_audit(reward, failed):
    assert verdict([cell("solver", 1.0, 0.8), cell("first_result", 0.0, reward)]).failed is failed


@pytest.mark.parametrize(("level", "reward", "paid"), [(0, 0.1, 0), (1, 0.1, 1), (1, 0.0, 0), (12, 0.001, 1)])
def test_a_cheap_policy_that_earns_anything_is_named_from_level_1_on(level, reward, paid):
    found = verdict([cell("solver", 1.0, 0.8, level), cell("echo_the_query", 0.0, reward, level)])
    assert len(found.paid) == paid
    assert not found.failed


def test_a_level_that_nothing_could_be_drawn_for_is_named():
    found = verdict([cell("solver", None, None, episodes=0), cell("do_nothing", None, None, episodes=0)])
    assert found.undrawn == ["cart_building level 3"]
    assert not found.failed


def test_a_shop_that_is_too_small_gives_cells_without_episodes():
    few = audit(world(products=240, customers=1), ["order_tracking"], (90,), 3, players=["solver"])
    assert few == [Cell("order_tracking", 90, "solver", 0, None, None)]


def test_the_table_has_a_line_for_each_env_and_policy(cells):
    lines = table(cells).splitlines()
    assert len(lines) == 2 + len(all_envs()) * len(PLAYERS)
    assert lines[0].split() == ["env", "policy", "0", "1", "4", "8", "12"]
    assert all(len(line.split()) >= 7 for line in lines[2:])


@pytest.mark.parametrize("wrong", ["chess", "C3", "", "cart_building,chess"])
def test_an_unknown_env_is_named(wrong):
    with pytest.raises(Problem, match="There is no env"):
        envs_of(wrong)


@pytest.mark.parametrize("wrong", ["", "-1", "a", "3-1", "0-1000", "1.5", "0-", "1-2-3"])
def test_levels_that_there_are_not_are_named(wrong):
    with pytest.raises(Problem, match="Say 0-12"):
        levels_of(wrong)


def test_collections_and_names_make_one_list():
    assert envs_of("C2,policy_qa, C1") == ["cart_building", "substitution", "policy_qa"]
    assert levels_of("0-2, 1,12") == [0, 1, 2, 12]


def test_an_unknown_player_is_named(shop):
    with pytest.raises(Problem, match="first_result"):
        audit(shop, ["policy_qa"], (0,), 1, players=["genius"])


def test_a_negative_level_is_refused(shop):
    with pytest.raises(Problem, match="no difficulty -1"):
        audit(shop, ["policy_qa"], (-1,), 1, players=list(CHEAP)[:1])
