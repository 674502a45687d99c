from collections import Counter
from datetime import date
from fractions import Fraction
from json import loads

import pytest

from shopwright.pipeline.envs.base import GoalScore
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.referring_expressions import find_fitting_memories, list_memories
from shopwright.pipeline.envs.return_replacement import ReturnReplacement
from shopwright.schemas.certificates import Constraint, parse_certificate, parse_miss
from shopwright.schemas.tasks import Action, Answer, Call
from tests.envs.past_orders import shop

ENV = ReturnReplacement()
LEVELS = range(13)
EACH = 36


@pytest.fixture(scope="module")
def world():
    return shop()


def started(world, task):
    episode = Episode(ENV, world, task)
    episode.reset()
    return episode


def of(tasks, wants):
    found = [task for task in tasks if task.feasible and loads(task.goal)["wants"] == wants]
    assert len(found) > 50
    return found


def end(task):
    """One of the acceptable end states."""
    found, goal = parse_certificate(task.acceptable).ends[0], loads(task.goal)
    return state_of(found) | {"recommended_product_ids": [goal["replacement"]] if found.some_of else []}


def write_refusal(task):
    """The right refusal."""
    goal = loads(task.goal)
    return {"selected_order_id": goal["order_id"], "selected_line_id": goal["line_id"], "refusal": "not_eligible"}


def state_of(end):
    """What was handed in and returned, by name."""
    given = end.answer.model_dump(exclude_defaults=True)
    returns = [each.model_dump() for each in end.returns]
    return given | {"returns": returns, "recommended_product_ids": end.some_of}


def judged(world, task, state, **changed):
    """The score where an episode ended like this."""
    state = state | changed
    episode = started(world, task)
    episode.shop.returns = state.get("returns", [])
    products = state.get("recommended_product_ids", [])
    return ENV.score(
        episode.goal,
        episode.shop,
        Answer(
            selected_order_id=state.get("selected_order_id", ""),
            selected_line_id=state.get("selected_line_id", ""),
            recommended_product_ids=products["any of"][:1] if isinstance(products, dict) else products,
            refusal=state.get("refusal", ""),
        ),
    )


def test_the_solver_learns_what_was_left_out(world, tasks):
    for task in tasks[::3]:
        episode = Episode(ENV, world, task)
        assert play_episode(episode, play_solution).success
        assert "untold" not in episode.shopper.disclosure.values()


def test_exactly_one_line_shown_fits_all_clues_however_loosely_they_are_taken(world, tasks):
    for task in tasks:
        episode = started(world, task)
        orders = episode.shop.visible()
        assert episode.axes.orders <= len(orders) <= episode.axes.orders_shown
        shown = list_memories(orders, episode.goal.now, world.store, lines=True)
        for loosely in (False, True):
            (it,) = find_fitting_memories(episode.goal.clues, shown, loosely=loosely)
            assert (it.order.id, it.line.line_id) == (episode.goal.order_id, episode.goal.line_id)


def test_what_must_be_refused_is_what_the_tools_refuse(world, tasks):
    for task in tasks:
        episode = started(world, task)
        goal, tools = episode.goal, episode.shop
        verdict = tools.return_check_eligibility(goal.order_id, goal.line_id)
        assert verdict["eligible"] == task.feasible
        assert tools.return_initiate(goal.order_id, goal.line_id).get("started", False) == task.feasible


def test_one_in_seven_or_so_cannot_be_returned_for_many_reasons(tasks):
    refused = [parse_certificate(task.acceptable).proof.reason for task in tasks if not task.feasible]
    assert 0.10 <= len(refused) / len(tasks) <= 0.20
    for reason in ("ended", "not been delivered", "cancelled", "cannot be returned"):
        assert any(reason in each for each in refused), reason


def test_the_harder_the_nearer_to_the_edge_of_the_window(world, tasks):
    def on_edge(level):
        days = [days_late(world, task) for task in tasks if task.difficulty == level]
        return sum(late is None or -1 <= late <= 2 for late in days) / len(days)

    assert on_edge(0) < 0.2
    assert on_edge(12) > 0.6


def days_late(world, task):
    """How long after the last day of its window the line goes back, negative before it; none where there is no window."""
    tools = started(world, task).shop
    tools.now, tools.orders_shown = tools.now.max, 1_000
    until = tools.return_check_eligibility(loads(task.goal)["order_id"], loads(task.goal)["line_id"])["until"]
    return (date.fromisoformat(loads(task.goal)["now"][:10]) - date.fromisoformat(until)).days if until else None


def test_half_want_something_in_its_place(tasks):
    wants = Counter(loads(task.goal)["wants"] for task in tasks)
    assert 0.4 < wants["nothing"] / len(tasks) < 0.6
    assert min(wants["product"], wants["variant"]) > 0.15 * len(tasks)


def test_selection_return_and_replacement_count_45_45_and_10(world, tasks):
    for wants in ("nothing", "product", "variant"):
        for task in of(tasks, wants)[:30]:
            state = end(task)
            assert judged(world, task, state) == GoalScore(Fraction(1), True)
            assert judged(world, task, state, selected_line_id="no line").task == Fraction(1, 10)
            assert not judged(world, task, state, selected_line_id="no line").success
            ended = judged(world, task, state, returns=[])
            assert ended.task == (Fraction(-1, 10) if wants == "variant" else Fraction(1, 10))
            other = judged(world, task, state, recommended_product_ids=["no product"])
            assert (other.task, other.success) == (Fraction(4, 5), False)


def test_a_second_or_another_return_is_no_right_return(world, tasks):
    for task in of(tasks, "nothing")[:30]:
        state = end(task)
        (right,) = state["returns"]
        wrong = right | {"line_id": "another"}
        for returns in ([right, wrong], [wrong], [right | {"order_id": "another"}]):
            assert judged(world, task, state, returns=returns).task == Fraction(1, 10)


def test_an_exchange_that_nobody_asked_for_is_wrong(world, tasks):
    for task in of(tasks, "nothing")[:30]:
        state = end(task)
        swapped = [state["returns"][0] | {"instead": f"{loads(task.goal)['product_id']}-S"}]
        assert judged(world, task, state, returns=swapped).task == Fraction(-1, 10)


def test_an_exchange_counts_for_the_variant_that_was_wanted(world, tasks):
    for task in of(tasks, "variant")[:30]:
        state, goal = end(task), loads(task.goal)
        assert state["returns"][0]["instead"] == goal["replacement"]
        others = [option.id for option in world.store.options(world.store.row(goal["product_id"]))]
        for other in set(others) - {goal["replacement"]}:
            swapped = [state["returns"][0] | {"instead": other}]
            assert judged(world, task, state, returns=swapped).task == Fraction(4, 5)
        assert judged(world, task, state, recommended_product_ids=[goal["product_id"]]).success


def test_a_product_may_also_come_by_exchange(world, tasks):
    task = of(tasks, "product")[0]
    state, goal = end(task), loads(task.goal)
    option = next(each for each in world.store.options(world.store.row(goal["replacement"])) if each.stock)
    swapped = [state["returns"][0] | {"instead": option.id}]
    assert judged(world, task, state, returns=swapped, recommended_product_ids=[]).success


def test_the_certificate_names_every_product_that_is_right_and_no_other(world, tasks):
    store = world.store
    for task in of(tasks, "product")[:80]:
        goal = loads(task.goal)
        wanted = [Constraint(**each) for each in goal["constraints"]]
        right = {
            item.id
            for item in map(store.item, range(len(store)))
            if item.category == goal["category"]
            and item.id != goal["product_id"]
            and store.in_stock[item.row]
            and all(item.meets(each) for each in wanted)
        }
        assert set(parse_certificate(task.acceptable).ends[0].some_of) == right
        assert judged(world, task, end(task), recommended_product_ids=sorted(right)).success


def test_products_count_by_the_share_that_is_right(world, tasks):
    task = of(tasks, "product")[0]
    product, same = loads(task.goal)["replacement"], loads(task.goal)["product_id"]
    half = judged(world, task, end(task), recommended_product_ids=[product, same])
    assert (half.task, half.success) == (Fraction(9, 10), False)
    assert judged(world, task, end(task), recommended_product_ids=[]).task == Fraction(4, 5)


def test_what_goes_back_is_no_replacement_though_it_met_all_constraints(world, tasks):
    def meets(goal):
        item = world.store.item(world.store.row(goal["product_id"]))
        return all(item.meets(Constraint(**each)) for each in goal["constraints"]) and world.store.in_stock[item.row]

    same = [task for task in of(tasks, "product") if meets(loads(task.goal))]
    assert same
    for task in same:
        product = loads(task.goal)["product_id"]
        assert judged(world, task, end(task), recommended_product_ids=[product]).task == Fraction(4, 5)


def test_no_constraint_names_a_product_by_what_it_alone_has(tasks):
    facts = Counter(each["fact"] for task in of(tasks, "product") for each in loads(task.goal)["constraints"])
    assert {"price", "rating", "shipping days", "brand", "color", "series"} == set(facts)


def test_what_sold_out_on_the_way_is_no_replacement_any_more(world, tasks):
    moved = [task for task in of(tasks, "product") if loads(task.goal)["event"]]
    assert moved
    for task in moved:
        before, after = parse_certificate(task.acceptable).ends
        [gone] = set(before.some_of) - set(after.some_of)
        event = loads(task.goal)["event"]
        episode = started(world, task)
        episode.shop.returns = end(task)["returns"]
        selected = {"selected_order_id": episode.goal.order_id, "selected_line_id": episode.goal.line_id}
        answer = Answer(**selected, recommended_product_ids=[gone])
        assert ENV.score(episode.goal, episode.shop, answer).success
        episode.happen(event["after"])
        assert ENV.score(episode.goal, episode.shop, answer).task == Fraction(4, 5)


def test_only_the_right_reason_refuses_and_only_what_cannot_be_returned(world, tasks):
    for task in [task for task in tasks if not task.feasible]:
        assert judged(world, task, write_refusal(task)) == GoalScore(Fraction(1), True)
        where = {"order_id": "another", "line_id": "another", "instead": ""}
        for wrong in (
            {"refusal": "not_found"},
            {"refusal": ""},
            {"returns": [where]},
            {"selected_line_id": "another"},
            {"selected_order_id": ""},
        ):
            found = judged(world, task, write_refusal(task), **wrong)
            assert (found.task, found.success) == (-1, False)
    task = next(task for task in tasks if task.feasible)
    assert judged(world, task, end(task), refusal="not_eligible").task == -1


def test_the_nearest_miss_fails(world, tasks):
    broken = Counter()
    for task in tasks:
        miss = parse_miss(task.nearest_miss)
        broken[miss.breaks[0]] += 1
        assert not judged(world, task, state_of(miss.end)).success
    assert {"eligibility", "item bought", "order date", "replacement", "variant", "price of replacement"} <= set(broken)


def test_a_replacement_meets_as_many_constraints_as_the_level_leaves_beside_the_line(tasks):
    for level in (0, 6, 12):
        counts = {len(loads(task.goal)["constraints"]) for task in of(tasks, "product") if task.difficulty == level}
        assert max(counts) == min(compute_axes(level).constraints - 1, 6)


def test_guessing_does_not_pay_from_level_1_on(world, tasks):
    def first_line(episode):
        seen = yield Action(tool_calls=[Call(name="order_list")])
        order = seen["results"][0]["orders"][0]
        where = {"order_id": order["order_id"], "line_id": order["lines"][0]["line_id"]}
        answer = Answer(selected_order_id=where["order_id"], selected_line_id=where["line_id"])
        yield Action(tool_calls=[Call(name="return_initiate", args=where)], answer=answer)

    def refuses(episode):
        yield Action(answer=Answer(refusal="not_eligible"))

    for player in (first_line, refuses):
        totals = [play_episode(Episode(ENV, world, task), player).total for task in tasks if task.difficulty]
        assert sum(totals) / len(totals) < -0.1


def test_the_same_task_comes_from_the_same_shop_made_again(tasks):
    again = shop()
    assert [draw_task(ENV, again, task.difficulty, task.seed) for task in tasks[::40]] == tasks[::40]


def test_the_order_of_the_catalogs_rows_changes_no_reward(world, tasks):
    turned = shop(backwards=True)
    for task in tasks[::20]:
        state = end(task) if task.feasible else write_refusal(task)
        assert judged(turned, task, state) == judged(world, task, state) == GoalScore(Fraction(1), True)
