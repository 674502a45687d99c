from collections import Counter
from datetime import date, timedelta
from fractions import Fraction
from json import loads
from random import Random

import pytest

from shopwright.pipeline.envs.base import GoalScore, World
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.order_tracking import OrderTracking
from shopwright.pipeline.envs.referring_expressions import (
    Clue,
    draw_referring_clues,
    find_fitting_memories,
    list_memories,
    list_time_spans,
    make_clue,
)
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.store import Store
from shopwright.schemas.certificates import parse_certificate, parse_miss
from shopwright.schemas.tasks import Action, Answer, Call
from tests.envs.past_orders import shop

ENV = OrderTracking()
LEVELS = range(13)
EACH = 36


@pytest.fixture(scope="module")
def world():
    return shop()


def started(world, task):
    episode = Episode(ENV, world, task)
    episode.reset()
    return episode


def judged(world, task, **answer):
    episode = started(world, task)
    return ENV.score(episode.goal, episode.shop, Answer(**answer))


def right(task):
    (end,) = parse_certificate(task.acceptable).ends
    return end.answer.model_dump(exclude_defaults=True)


def feasible(tasks, **goal):
    found = [task for task in tasks if task.feasible]
    return [task for task in found if all(loads(task.goal)[name] == value for name, value in goal.items())]


def test_the_solver_learns_what_was_left_out(world, tasks):
    for task in tasks[::3]:
        episode = Episode(ENV, world, task)
        assert play_episode(episode, play_solution).success
        assert "untold" not in episode.shopper.disclosure.values()


def test_exactly_one_order_shown_fits_all_clues_however_loosely_they_are_taken(world, tasks):
    for task in feasible(tasks):
        episode = started(world, task)
        shown = list_memories(episode.shop.visible(), episode.goal.now, world.store, lines=False)
        assert episode.axes.orders <= len(shown) <= episode.axes.orders_shown
        for loosely in (False, True):
            (it,) = find_fitting_memories(episode.goal.clues, shown, loosely=loosely)
            assert it.order.id == episode.goal.order_id


def test_where_no_order_is_meant_none_of_the_customer_fits_all_that_is_remembered(world, tasks):
    wrong = [task for task in tasks if not task.feasible]
    assert (
        len({loads(task.acceptable)["proof"]["fact"] for task in wrong}) >= 4
    )  # a total tells one alone, and is not said of many
    for task in wrong:
        episode, proof = started(world, task), loads(task.acceptable)["proof"]
        false = next(each for each in episode.goal.clues if (each.fact, each.value) == (proof["fact"], proof["value"]))
        assert any(slot.name == false.name for slot in task.slots)
        everything = list_memories(episode.shop.customer.orders, episode.goal.now, world.store, lines=False)
        assert not find_fitting_memories([false], everything, loosely=True)


def test_one_in_seven_or_so_asks_for_an_order_that_is_not_there(tasks):
    assert 0.10 <= sum(not task.feasible for task in tasks) / len(tasks) <= 0.20


def test_status_and_arrival_are_what_the_tools_say(world, tasks):
    met = Counter()
    for task in feasible(tasks):
        episode = started(world, task)
        told = episode.shop.order_get_status(episode.goal.order_id)
        assert told["status"] == episode.goal.status
        assert told.get("delivered", told.get("expected", "")) == episode.goal.arrival
        met[told["status"], bool(episode.goal.arrival)] += 1
    assert {status for status, _ in met} == {"processing", "shipped", "delivered", "cancelled"}
    assert met["shipped", False], "some are lost on their way"
    assert met["delivered", True] < 0.7 * sum(met.values())


def test_the_right_order_is_half_and_its_status_the_other_half(world, tasks):
    for task in feasible(tasks, asks_arrival=False)[:20]:
        answer = right(task)
        assert judged(world, task, **answer) == GoalScore(Fraction(1), True)
        wrong = judged(world, task, **answer | {"order_status": "returned"})
        assert (wrong.task, wrong.success) == (0, False)
        assert judged(world, task, **answer | {"selected_order_id": "O-none"}).task == -1
        assert judged(world, task, **answer | {"arrival_date": "2024-01-01"}).success


def test_the_arrival_belongs_to_the_status_where_it_was_asked_for(world, tasks):
    for task in feasible(tasks, asks_arrival=True)[:20]:
        answer = right(task)
        assert "arrival" in {slot.name for slot in task.slots if slot.known == "stated"}
        assert judged(world, task, **answer).success
        assert judged(world, task, **answer | {"arrival_date": "2031-01-01"}).task == 0
        assert judged(world, task, **answer | {"arrival_date": "", "order_status": "lost"}).task == 0


def test_only_the_right_reason_refuses_and_only_where_there_is_no_order(world, tasks):
    absent = next(task for task in tasks if not task.feasible)
    assert judged(world, absent, refusal="not_found") == GoalScore(Fraction(1), True)
    for answer in (
        {"refusal": "not_eligible"},
        {"selected_order_id": parse_miss(absent.nearest_miss).end.answer.selected_order_id},
        {},
    ):
        assert (judged(world, absent, **answer).task, judged(world, absent, **answer).success) == (-1, False)
    there = next(task for task in tasks if task.feasible)
    assert judged(world, there, **right(there), refusal="not_found").task == -1


def test_the_nearest_miss_fails(world, tasks):
    for task in tasks:
        miss = parse_miss(task.nearest_miss)
        assert not judged(world, task, **miss.end.answer.model_dump()).success
    broken = {parse_miss(task.nearest_miss).breaks[0] for task in tasks}
    assert {"status", "order number", "order date", "item bought"} <= broken


def test_the_harder_the_more_orders_and_the_less_their_numbers_are_named(tasks):
    def exact(level):
        found = [loads(task.goal)["clues"] for task in tasks if task.difficulty == level]
        return sum(clues[0]["fact"] in ("number", "date") for clues in found) / len(found)

    assert exact(0) > 0.6
    assert exact(4) < 0.3
    assert exact(12) < 0.05


def test_guessing_does_not_pay_from_level_1_on(world, tasks):
    def first_order(episode):
        seen = yield Action(tool_calls=[Call(name="order_list")])
        first = seen["results"][0]["orders"][0]
        yield Action(answer=Answer(selected_order_id=first["order_id"], order_status=first["status"]))

    def no_order(episode):
        yield Action(answer=Answer(refusal="not_found"))

    for player in (first_order, no_order):
        for level in LEVELS[1:]:
            totals = [
                play_episode(Episode(ENV, world, task), player).total for task in tasks if task.difficulty == level
            ]
            assert sum(totals) / len(totals) < 0.1
        assert sum(play_episode(Episode(ENV, world, task), player).total for task in tasks if task.difficulty) < 0


def test_the_same_task_comes_from_the_same_shop_made_again(tasks):
    again = shop()
    assert [draw_task(ENV, again, task.difficulty, task.seed) for task in tasks[::40]] == tasks[::40]


def test_orders_shuffled_among_the_catalogs_rows_change_nothing(world, tasks):
    turned = shop(backwards=True)
    for task in tasks[::20]:
        assert play_episode(Episode(ENV, turned, task), play_solution) == play_episode(
            Episode(ENV, world, task), play_solution
        )


def test_a_shop_without_orders_says_what_it_lacks(world):
    store = world.store
    bare = World(store_without_customers(store), world.finder)
    with pytest.raises(Problem, match=r"no customer has 4 orders.*with customers and orders"):
        draw_task(ENV, bare, 6, 0)


def store_without_customers(store):
    bare = object.__new__(Store)
    bare.__dict__ |= store.__dict__ | {"customers": (), "place_of_customer": {}}
    return bare


def test_words_for_a_day_mean_it_and_are_not_stricter_when_taken_loosely():
    met = set()
    for ago in range(120):
        for start in range(40):
            today = date(2024, 3, 15) + timedelta(days=start)
            ways = list_time_spans(today - timedelta(days=ago), today)
            assert ways
            for kind, _, (least, most), (fewest, longest) in ways:
                assert fewest <= least <= ago <= most <= longest, kind
                met.add(kind)
    assert met == {"today", "yesterday", "days", "week", "weeks", "month"}


def test_last_week_is_the_calendars_and_no_other():
    monday = date(2024, 5, 20)
    said = {ago: [each.kind for each in list_time_spans(monday - timedelta(days=ago), monday)] for ago in range(1, 12)}
    assert [ago for ago, ways in said.items() if "week" in ways] == [2, 3, 4, 5, 6, 7]


def test_clues_are_added_until_they_tell_an_order_apart_or_given_up(world):
    customer = world.store.customers[0]
    now = customer.orders[-1].placed + timedelta(days=1)
    shown = list_memories(customer.orders, now, world.store, lines=False)
    assert draw_referring_clues(shown[0], shown, "products", (), Random(1), count=1, alone=True) is None
    found = draw_referring_clues(shown[0], shown, "number", ("total", "when"), Random(1), count=3, alone=True)
    assert {each.fact for each in found} == {"number", "total", "when"}
    assert make_clue(shown[0], "beside", Random(1)) is None, "an order has nothing beside it"


def test_a_clue_taken_loosely_still_excludes_what_is_far(world):
    order = world.store.customers[0].orders[0]
    weeks = Clue(name="order date", fact="when", value="weeks 3", days=(20, 22), loosely=(14, 28))
    fits = {
        ago: [
            it.fits(weeks, loosely=loosely)
            for loosely in (False, True)
            for it in list_memories([order], order.placed + timedelta(days=ago), world.store, lines=False)
        ]
        for ago in (13, 14, 21, 29)
    }
    assert fits == {13: [False, False], 14: [False, True], 21: [True, True], 29: [False, False]}


def test_levels_use_their_axes(tasks):
    for level in (0, 6, 12):
        vague = [
            loads(task.goal)["clues"]
            for task in feasible(tasks)
            if task.difficulty == level and loads(task.goal)["clues"][0]["fact"] not in ("number", "date")
        ]
        assert max(map(len, vague)) == min(compute_axes(level).constraints, 4)  # beside a total
