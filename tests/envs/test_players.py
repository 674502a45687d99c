"""Cheap players see what an agent sees, call tools only as they may be called, and end every episode."""

from itertools import islice
from random import Random
from types import SimpleNamespace

import pytest

from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.baselines import ENV_BASELINES, PLAYERS, SeenValues, count_journey_parts, draw_tool_call
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode
from shopwright.pipeline.gym import world
from shopwright.pipeline.shop.tools import call_tool
from shopwright.schemas.tasks import Action


@pytest.fixture(scope="module")
def shop():
    return world()


def episode(shop, name, level, seed):
    env = get_env(name)
    return Episode(env, shop, draw_task(env, shop, level, seed))


def window(found):
    """All of an episode that a player may look at."""
    ids = SimpleNamespace(store=SimpleNamespace(ids=found.world.store.ids))
    shown = {"opening": found.task.opening, "id": found.task.id, "env": found.task.env}
    return SimpleNamespace(
        task=SimpleNamespace(**shown), axes=found.axes, most=found.most, turns=found.turns, world=ids, try_number=0
    )


def played_blind(found, player):
    """The reward of a player who is shown nothing but the window."""
    found.reset()
    agent = player(window(found))
    action = next(agent)
    while True:
        observation, _, done, info = found.step(action)
        if done:
            return info["reward"]
        agent.gi_frame.f_locals["episode"].turns[:] = found.turns
        action = agent.send(observation)


@pytest.mark.parametrize("env", list(all_envs()))
@pytest.mark.parametrize("name", list(ENV_BASELINES))
def test_a_cheap_player_needs_no_more_than_an_agent_sees(shop, env, name):
    for seed, level in enumerate((0, 5, 12)):
        found = episode(shop, env, level, seed)
        assert played_blind(found, ENV_BASELINES[name]) == play_episode(found, ENV_BASELINES[name])


@pytest.mark.parametrize("name", list(ENV_BASELINES))
def test_a_cheap_player_makes_no_illegal_call(shop, name):
    for env in all_envs():
        for level in (0, 4, 12):
            reward = play_episode(episode(shop, env, level, 1), ENV_BASELINES[name])
            assert reward.total > -1 or reward.hallucination < 0, reward.fault


def test_the_solver_is_among_the_players():
    assert list(PLAYERS) == ["solver", *ENV_BASELINES]
    assert len(ENV_BASELINES) == 8


def test_a_random_call_is_one_that_a_tool_takes(shop):
    random, seen = Random(1), SeenValues()
    found = episode(shop, "order_tracking", 3, 2)
    found.reset()
    names = set()
    for _ in range(1_500):
        each = draw_tool_call(random, seen)
        seen.results(call_tool(found.shop, each.name, each.args))  # raises Illegal where it is none
        names.add(each.name)
    assert len(names) == 19


def test_an_answer_to_a_journey_has_a_part_for_each_of_its_parts(shop):
    for level in (0, 4, 8, 12):
        found = episode(shop, "journey", level, 3)
        assert len(found.goal.parts) == count_journey_parts(compute_axes(level))
        found.reset()
        action = next(ENV_BASELINES["terminate-at-once"](found))
        assert len(action.answer.parts) == len(found.goal.parts)


def test_first_result_takes_the_first_of_everything(shop):
    found = episode(shop, "product_discovery", 6, 1)
    play_episode(found, ENV_BASELINES["first-result"])
    last = Action.model_validate_json(found.turns[-1].action)
    first = found.shop.catalog_search(found.task.opening[:400])["results"]
    assert last.answer.recommended_product_ids == [first[0]["product_id"]]
    assert list(found.shop.cart) or not any(each["in_stock"] for each in first[:1])
    assert last.answer.selected_order_id == found.shop.order_list()["orders"][0]["order_id"]


@pytest.mark.parametrize("level", [0, 6])
def test_calls_that_do_not_go_into_one_turn_go_into_the_next(shop, level):
    found = episode(shop, "order_tracking", level, 1)
    play_episode(found, ENV_BASELINES["first-result"])
    made = [call.name for turn in found.turns for call in Action.model_validate_json(turn.action).tool_calls]
    assert made[:3] == ["catalog_search", "order_list", "policy_search"]


def test_everything_into_the_cart_fills_it(shop):
    found = episode(shop, "product_discovery", 9, 1)
    play_episode(found, ENV_BASELINES["everything-into-the-cart"])
    assert len(found.shop.cart) > 3


def test_who_does_nothing_is_left_by_the_shopper(shop):
    found = episode(shop, "cart_building", 6, 1)
    reward = play_episode(found, ENV_BASELINES["do-nothing"])
    assert reward.fault == "the shopper gave up"
    assert len(found.turns) < found.most


def test_recommending_without_searching_counts_as_made_up(shop):
    reward = play_episode(episode(shop, "product_discovery", 6, 1), ENV_BASELINES["recommend-without-searching"])
    assert reward.hallucination == -1


def test_echo_gives_back_an_order_number_that_is_in_the_opening(shop):
    answers = []
    for seed in range(60):
        found = episode(shop, "order_tracking", 0, seed)
        found.reset()
        (action,) = islice(ENV_BASELINES["echo-the-query"](found), 1)
        answers.append((action.answer.selected_order_id, found.task.opening))
    named = [(id, opening) for id, opening in answers if id.startswith("order-")]
    assert named
    assert all(id in opening for id, opening in named)
