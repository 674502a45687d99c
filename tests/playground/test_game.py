"""A visitor's episode without any browser: won by the solver's way, lost by others, and never broken by what is typed."""

import pytest

from shopwright.pipeline.checks.tasks import earns_everything
from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.playground.forms import SUBMIT, list_tool_forms
from shopwright.pipeline.playground.game import (
    NOT_BEGUN,
    OVER,
    Game,
    find_first_feasible_seed,
    is_feasible_task,
)
from shopwright.pipeline.playground.render import render_game
from shopwright.pipeline.trainers.env import ShopEnv, solve_env_task
from shopwright.schemas.certificates import parse_certificate


@pytest.fixture
def game(small):
    return Game(str(small.folder))


def form(name, **given):
    return [given.get(field.name) for field in list_tool_forms()[name].fields]


def follow(game):
    """Does what the solver does, through the forms."""
    task = {"env": game.task.env, "difficulty": game.task.difficulty, "seed": game.task.seed}
    for name, given in solve_env_task(ShopEnv(game.run), task):
        several = {key: value.split(",") for key, value in given.items() if key.endswith("product_ids")}
        assert game.call(name, form(name, **given | several)) == ""


@pytest.mark.parametrize("env", all_envs())
def test_the_solvers_way_through_the_forms_earns_everything(game, env):
    assert game.reset(env, 0, 1) == ""
    follow(game)
    assert game.over
    assert earns_everything(game.ending().reward)
    assert game.ending().way[-1].startswith(SUBMIT)


def test_the_shopper_speaks_first_and_answers(game):
    game.reset("cart_building", 3, 1)
    assert [line.who for line in game.lines] == ["shopper"]
    left = game.calls_left
    assert game.say("Which color do you want?") == ""
    assert [line.who for line in game.lines[:3]] == ["shopper", "you", "shopper"]
    assert game.lines[2].text
    assert game.calls_left == left - 1


def test_what_the_shop_refuses_costs_a_call_and_is_shown(game):
    game.reset("cart_building", 0, 1)
    left = game.calls_left
    assert game.call("cart_add", form("cart_add", product_id="B0NOSUCH", variant_id="B0NOSUCH-1")) == (
        "Product B0NOSUCH has no variant B0NOSUCH-1."
    )
    assert game.lines[-1].fault == game.fault != ""
    assert game.calls_left == left - 1


def test_what_is_missing_costs_nothing(game):
    game.reset("cart_building", 0, 1)
    left = game.calls_left
    assert game.call("cart_add", form("cart_add")).startswith("cart_add needs")
    assert (game.calls_left, len(game.lines)) == (left, 1)
    assert game.say("   ").startswith("ask_user needs")


def test_ids_that_were_shown_can_be_chosen(game):
    game.reset("cart_building", 0, 1)
    assert game.choices("product_id") == []
    game.call("user_get_visit_history", form("user_get_visit_history"))
    offered = game.choices("product_id")
    assert offered
    assert all(label.startswith(f"{id} · ") for label, id in offered)
    game.call("catalog_get_variants", form("catalog_get_variants", product_id=offered[0][1]))
    assert all(id.startswith(offered[0][1]) for _, id in game.choices("variant_id"))


def test_another_reset_forgets_everything(game):
    game.reset("cart_building", 0, 1)
    game.call("user_get_visit_history", form("user_get_visit_history"))
    game.reset("policy_qa", 0, 1)
    assert (len(game.lines), game.choices("product_id"), game.ending()) == (1, [], None)


def test_who_runs_out_of_calls_is_told_so(game):
    game.reset("policy_qa", 0, 1)
    while not game.over:
        game.call("datetime_now", [])
    assert "the shopper left" in game.ending().reward.fault
    assert game.call("datetime_now", []) == OVER


def test_nothing_can_be_done_before_it_begins(game):
    assert game.say("Hello?") == game.call("cart_view", []) == game.finish(form(SUBMIT)) == NOT_BEGUN
    assert game.ending() is None


def test_an_unknown_situation_is_said_and_the_episode_goes_on(game):
    game.reset("policy_qa", 0, 1)
    assert game.reset("chess", 0, 1).startswith("There is no env chess.")
    assert game.task.env == "policy_qa"


def test_parts_of_a_journey_are_handed_in_one_after_the_other(game):
    game.reset("journey", 0, 1)
    assert game.finish(form(SUBMIT, refusal="not_found", more=True)) == ""
    assert (game.over, game.lines[-1].result) == (False, {"noted": 1})
    game.finish(form(SUBMIT, refusal="not_found"))
    assert game.over


def test_two_visitors_do_not_see_one_anothers_episode(small):
    mine, yours = Game(str(small.folder)), Game(str(small.folder))
    mine.reset("cart_building", 0, 1)
    yours.reset("cart_building", 0, 1)
    mine.say("Which color?")
    mine.call("order_checkout", [])
    assert len(yours.lines) == 1
    assert yours.calls_left == mine.calls_left + 2


@pytest.mark.parametrize("env", all_envs())
def test_the_first_game_of_each_env_can_be_done(game, env):
    number = find_first_feasible_seed(game.run, env)
    assert game.reset(env, 0, number) == ""
    assert is_feasible_task(parse_certificate(game.task.acceptable))
    assert game.hint == "This first game can be done."
    game.reset(env, 0, number + 1)
    assert "hand in a refusal" in game.hint


@pytest.mark.parametrize("env", list(all_envs()))
def test_the_first_game_of_each_situation_is_won_by_following_the_hints(env):
    game = Game()
    game.reset(env, 0, find_first_feasible_seed("", env))
    while not game.over and len(game.done) < 15:
        words = game.suggest()
        name, given = game.next_call()
        assert name == "ask_user" or name in words or name == "submit"
        assert not game.call(name, [given.get(field.name) for field in list_tool_forms()[name].fields])
    assert game.reward.success
    assert game.ending().expert


def test_a_hint_goes_on_from_what_was_done_in_another_way():
    game = Game()
    game.reset("cart_building", 0, find_first_feasible_seed("", "cart_building"))
    assert "user_get_visit_history" in game.suggest()
    game.call("user_get_visit_history", [2])  # another page of it
    first = game.suggest()
    game.call("user_get_visit_history", [1])
    assert "user_get_visit_history" in first
    assert "catalog_get_variants" in game.suggest()


def test_a_link_names_the_game():
    game = Game()
    game.reset("policy_qa", 3, 5)
    assert game.link == "?env=policy_qa&level=3&seed=5"
    assert "Press Hint" in render_game(Game())
    assert game.link.replace("&", "&amp;") in render_game(game)
