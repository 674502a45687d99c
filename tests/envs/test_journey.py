"""A journey is several envs in one shop: one customer, one clock, and no part in another's way."""

from collections import Counter
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from random import Random

import pytest

from shopwright.pipeline.envs import ENV_ORDER, get_env
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.journey import (
    Journey,
    is_compatible_part,
    keep_one_customer,
    list_sold_out_products,
    load_parts,
)
from shopwright.pipeline.gym import world
from shopwright.schemas.certificates import AnyOf, End, certificate_to_text, parse_certificate
from shopwright.schemas.tasks import Action, Answer, Call
from tests.envs.play import parse_goal

ENV = get_env("journey")
LEVELS = range(13)


@pytest.fixture(scope="module")
def shop():
    return world()


@pytest.fixture(scope="module")
def tasks(shop):
    return [draw_task(ENV, shop, level, seed) for level in LEVELS for seed in range(8)]


@pytest.fixture(scope="module")
def episodes(shop, tasks):
    return [Episode(ENV, shop, task) for task in tasks]


def last_answer(episode):
    play_episode(episode, play_solution)
    return Action.model_validate_json(episode.turns[-1].action).answer


HAS_TWO_ORDERS = {"return_replacement", "order_tracking"}


def list_envs(task):
    return {part.env for part in parse_goal(ENV, task).parts}


def test_it_has_two_to_five_parts_of_different_envs(episodes):
    for episode in episodes:
        envs = [part.env for part in episode.goal.parts]
        assert len(envs) == min(5, 2 + episode.task.difficulty // 4)
        assert len(set(envs)) == len(envs)
        assert "journey" not in envs


def test_every_env_can_be_a_part(episodes):
    found = Counter(part.env for episode in episodes for part in episode.goal.parts)
    assert set(found) == set(ENV_ORDER) - {"journey"}
    assert min(found.values()) > 0.5 * max(found.values())


def test_its_parts_share_customer_and_clock(episodes):
    for episode in episodes:
        goals = [goal for _, goal in load_parts(episode.goal)]
        assert {(goal.persona_id, goal.now) for goal in goals} == {(episode.goal.persona_id, episode.goal.now)}


def test_no_part_sells_out_what_another_speaks_of(episodes):
    """In a shop of few products, where it could happen often."""
    few = world(products=240, customers=6)
    found = [Episode(ENV, few, draw_task(ENV, few, 4, seed)) for seed in range(80)]
    seen = 0
    for episode in [*found, *episodes]:
        certificates = parse_certificate(episode.task.acceptable).parts
        for place, (_, goal) in enumerate(load_parts(episode.goal)):
            for product in list_sold_out_products(goal, episode.world.store):
                seen += 1
                others = [certificate_to_text(each) for number, each in enumerate(certificates) if number != place]
                assert product not in "".join(others), episode.task.id
    assert seen > 50


def test_only_the_last_part_has_something_sold_out_on_the_way(episodes):
    events = 0
    for episode in episodes:
        goals = [goal for _, goal in load_parts(episode.goal)]
        assert not any(goal.event for goal in goals[:-1])
        assert episode.goal.event == goals[-1].event
        events += goals[-1].event is not None
    assert events


def test_the_solver_answers_every_part_in_its_order(episodes):
    for episode in episodes[::5]:
        answer = last_answer(episode)
        assert [part.env for part in answer.parts] == [part.env for part in episode.goal.parts]
        assert episode.reward.success


def test_its_score_is_the_mean_of_its_parts(episodes):
    for episode in episodes[::7]:
        answer = last_answer(episode)
        whole = ENV.score(episode.goal, episode.shop, answer)
        assert (whole.task, whole.success) == (1, True)
        for place, (env, goal) in enumerate(load_parts(episode.goal)):
            empty = answer.model_copy(update={"parts": [*answer.parts[:place], Answer(), *answer.parts[place + 1 :]]})
            score = ENV.score(episode.goal, episode.shop, empty)
            own = env.score(goal, episode.shop, Answer())
            count = len(answer.parts)
            assert score.task == (count - 1 + own.task) / Fraction(count)
            assert score.success is own.success  # a cart needs no more than to be handed in
            assert not score.fault if own.success else f"part {place + 1}: " in score.fault


def test_a_part_that_is_not_answered_loses_all_of_it(episodes):
    episode = episodes[-1]
    answer = last_answer(episode)
    fewer = answer.model_copy(update={"parts": answer.parts[:-1]})
    score = ENV.score(episode.goal, episode.shop, fewer)
    assert score.task == Fraction(3, 5)
    assert not score.success
    assert score.fault == "part 5: not answered"


def test_answers_in_another_order_or_too_many_are_no_success(episodes):
    episode = episodes[-1]
    answer = last_answer(episode)
    for parts in (list(reversed(answer.parts)), [*answer.parts, Answer()]):
        assert not ENV.score(episode.goal, episode.shop, answer.model_copy(update={"parts": parts})).success


def test_an_answer_without_parts_earns_nothing(episodes):
    for episode in episodes[::20]:
        play_episode(episode, play_solution)
        for answer in (Answer(), Answer(refusal="not_found"), None):
            assert ENV.score(episode.goal, episode.shop, answer).task == -1


def test_too_many_recommendations_in_a_part_are_none(episodes):
    for episode in episodes:
        place = next((n for n, part in enumerate(episode.goal.parts) if part.env == "product_discovery"), None)
        if place is None or not load_parts(episode.goal)[place][1].feasible:
            continue
        answer = last_answer(episode)
        many = answer.parts[place].model_copy(update={"recommended_product_ids": ["x"] * 99})
        parts = [*answer.parts[:place], many, *answer.parts[place + 1 :]]
        score = ENV.score(episode.goal, episode.shop, answer.model_copy(update={"parts": parts}))
        assert f"part {place + 1}: more than" in score.fault
        return
    raise AssertionError("no part of that kind")


def test_the_opening_says_every_part_but_one_that_comes_later(episodes):
    late = 0
    for episode in episodes:
        said = " ".join(episode.task.opening.split()).lower()
        stated = [slot for slot in episode.task.slots if slot.known == "stated"]
        assert all(" ".join((slot.typed or slot.said).split()).rstrip(".").lower() in said for slot in stated)
        late += bool(episode.goal.later)
    assert 0.15 < late / len(episodes) < 0.55


def test_what_comes_later_is_said_once_after_the_first_turn(shop, tasks, episodes):
    episode = next(each for each in episodes if each.goal.later and each.axes.difficulty == 6)
    episode.reset()
    acts, words = [], []
    for _ in range(3):
        observation, *_ = episode.step(Action(tool_calls=[Call(name="datetime_now")]))
        acts.append(observation["act"])
        words.append(observation["user"])
    assert acts == ["switch", "", ""] or acts == ["switch", "continue", "continue"]
    assert episode.goal.later in words[0]
    assert episode.goal.later not in "".join(words[1:])


def test_what_comes_later_is_not_in_the_opening(shop):
    late = 0
    for seed in range(20):
        task = draw_task(ENV, shop, 12, seed, at=replace(compute_axes(12), noise=0.0))
        goal = Episode(ENV, shop, task).goal
        late += bool(goal.later)
        assert not goal.later or goal.later not in task.opening
    assert late > 5


@pytest.fixture
def pair(shop):
    """A substitution, of which the original is sold out, and a search at the same time."""
    env, random = get_env("substitution"), Random(4)
    one = env.draw(shop, compute_axes(2), random)
    while not one.goal.sold_out:
        one = env.draw(shop, compute_axes(2), random)
    other = get_env("product_discovery").draw(shop, compute_axes(2), Random(5))
    same = {"persona_id": one.goal.persona_id, "now": one.goal.now, "sold_out": [], "event": None}
    return one, replace(other, goal=other.goal.model_copy(update=same))


def test_parts_that_have_nothing_to_do_with_one_another_go_together(pair, shop):
    assert is_compatible_part(*pair, shop.store)


@pytest.mark.parametrize("other", [{"now": datetime(2020, 1, 1)}, {"persona_id": "somebody"}])
def test_parts_of_another_time_or_customer_do_not_go_together(pair, shop, other):
    one, two = pair
    assert not is_compatible_part(one, replace(two, goal=two.goal.model_copy(update=other)), shop.store)


def test_a_part_does_not_go_with_one_that_sells_out_what_it_accepts(pair, shop):
    one, two = pair
    product = min(list_sold_out_products(one.goal, shop.store))
    two = replace(two, acceptable=AnyOf(ends=[End(some_of=[product])]))
    assert not is_compatible_part(one, two, shop.store)
    assert not is_compatible_part(two, one, shop.store)


def test_it_has_the_turns_of_all_its_parts(episodes):
    for episode in episodes:
        parts = load_parts(episode.goal)
        assert episode.most == sum(env.turns(goal, episode.axes) for env, goal in parts) >= 2 * episode.axes.turns


def test_cart_and_returns_are_shared_by_its_parts(episodes):
    wanted = {"cart_building", "return_replacement"}
    for episode in episodes:
        goals = {part.env: goal for part, (_, goal) in zip(episode.goal.parts, load_parts(episode.goal), strict=True)}
        if wanted <= set(goals) and all(goals[env].feasible for env in wanted) and not episode.goal.event:
            play_episode(episode, play_solution)
            assert episode.shop.cart
            assert episode.shop.returns
            return
    raise AssertionError("no journey with both")


def test_what_was_told_with_something_else_is_not_asked_for_again():
    """A shopper who is asked for the rating tells each; to ask for the next ones two turns in a row is too much for it."""
    task = draw_task(ENV, world(), 11, 11_116)
    assert play_episode(Episode(ENV, world(), task), play_solution).success


def test_an_empty_shop_of_customers_still_has_journeys(shop):
    nobody = replace(shop, store=keep_one_customer(shop.store, None))
    for level in (0, 4):
        task = draw_task(ENV, nobody, level, 1)
        assert play_episode(Episode(ENV, nobody, task), play_solution).success


def test_every_slot_of_a_return_beside_a_tracking_says_whose_it_is(tasks):
    """Nobody could tell which order had 2 different things."""
    names = [slot.name for task in tasks if list_envs(task) >= HAS_TWO_ORDERS for slot in task.slots]
    of_order = [
        name
        for name in names
        if name.partition(" of ")[0] in ("order size", "order date", "brand bought", "price paid")
    ]
    assert of_order
    assert all(name.endswith((" of return", " of tracking")) for name in of_order)


def test_slots_of_one_name_say_whose_they_are(tasks):
    for task in tasks:
        names = [slot.name for slot in task.slots]
        assert len(set(names)) == len(names)
    assert any(" of bundle" in slot.name or " of search" in slot.name for task in tasks for slot in task.slots)


def test_axes_of_its_own_reach_its_parts(shop):
    hard = draw_task(ENV, shop, 12, 1, at=compute_axes(12))
    assert hard == draw_task(ENV, shop, 12, 1)
    assert isinstance(ENV, Journey)
