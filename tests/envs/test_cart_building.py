from collections import Counter
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from itertools import product

import pytest

from shopwright.pipeline.envs.base import GoalScore, World
from shopwright.pipeline.envs.baselines import ENV_BASELINES
from shopwright.pipeline.envs.cart_building import CartBuilding, CartGoal, RequestedLine, count_available_pieces
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.journey import keep_one_customer
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.user_simulator import UserSimulator
from shopwright.schemas.certificates import End, parse_certificate, parse_miss
from shopwright.schemas.shop import Choice
from shopwright.schemas.tasks import Answer, Slot
from tests.envs.play import ask_all

ENV = CartBuilding()
LEVELS = range(13)
EACH = 24


def goal_of(task):
    return CartGoal.model_validate_json(task.goal)


def shop_of(world, task, cart=()):
    """The shop with this in the cart, put there by the tool."""
    shop = ENV.shop(world, goal_of(task), compute_axes(task.difficulty), task.id)
    for product_id, variant, pieces in cart:
        assert "error" not in shop.cart_add(product_id, variant, pieces)
    return shop


def score(world, task, cart, refusal="", *, gone=()):
    shop = shop_of(world, task, cart)
    shop.gone |= set(gone)
    return ENV.score(goal_of(task), shop, Answer(refusal=refusal))


def perfect(world, task):
    """A right cart: of each line its pieces in a variant that has enough."""
    options = {line.product_id: [world.store.option_of(id) for id in line.variants] for line in goal_of(task).lines}
    return [
        (line.product_id, next(o.id for o in options[line.product_id] if o.stock >= line.quantity), line.quantity)
        for line in goal_of(task).lines
    ]


def feasible(tasks):
    return [task for task in tasks if task.feasible]


def test_a_right_cart_earns_exactly_one_however_it_came_there(world, tasks):
    for task in feasible(tasks):
        found = score(world, task, perfect(world, task))
        assert (found.task, found.success) == (Fraction(1), True)
        shop = shop_of(world, task, reversed(perfect(world, task)))
        shop.order_checkout()
        assert ENV.score(goal_of(task), shop, Answer()).success


def test_what_is_meant_by_a_visit_is_one_product_of_the_whole_history(world, tasks):
    ways = Counter()
    for task in tasks:
        goal, shop = goal_of(task), shop_of(world, task)
        count = shop.user_get_visit_history()["found"]
        visits = [v for page in range(1, count // 10 + 2) for v in shop.user_get_visit_history(page)["visits"]]
        slots = {slot.name: slot for slot in task.slots}
        for number, line in enumerate(goal.lines, 1):
            if not line.page:
                continue
            way = slots[f"item {number}"].meaning.removeprefix("visited ")
            ways[way] += 1
            fits = [visit for visit in visits if is_meant(visit, slots[f"item {number}"])]
            assert way == "last" or len({visit["product_id"] for visit in fits}) == 1
            assert fits[0]["product_id"] == line.product_id
            page = shop.user_get_visit_history(line.page)["visits"]
            assert line.product_id in {visit["product_id"] for visit in page}
    assert set(ways) >= {"brand", "price", "day", "last"}


def is_meant(visit, slot):
    means = {each.name: each.value for each in slot.facts}
    assert all(means[name].lower() in slot.said.lower() for name in ("brand", "price") if name in means)
    return (
        visit["category"] == means["category"]
        and ("brand" not in means or visit["brand"].lower() == means["brand"].lower())
        and ("price" not in means or f"${visit['price']:.2f}" == means["price"])
        and ("day" not in means or visit["visited"][:10] == means["day"])
    )


def test_what_is_named_by_its_title_is_found_by_it(world, tasks):
    lines = [(task, line) for task in tasks for line in goal_of(task).lines if not line.page]
    assert len(lines) > EACH
    for task, line in lines:
        shop = shop_of(world, task)
        shop.distractors = 0.0
        found = [each for each in shop.catalog_search(line.said)["results"][:5] if each["title"] == line.said]
        assert [each["product_id"] for each in found] == [line.product_id]


def test_everything_that_was_left_out_is_told_when_asked(tasks):
    for task in tasks:
        shopper = UserSimulator(task.slots, seed=task.id)
        left = [slot for slot in task.slots if slot.known == "asked"]
        said = ask_all(shopper, task)
        assert all(slot.said.lower() in said.lower() for slot in left), (left, said)


def test_the_ledger_has_all_that_is_demanded(tasks):
    for task in tasks:
        said = {slot.name: slot.said for slot in task.slots}
        assert said["what is missing"].lower() in task.opening.lower()
        for number, line in enumerate(goal_of(task).lines, 1):
            assert line.page or said[f"item {number}"] == line.said
            assert f"{line.quantity}" in said[f"quantity of item {number}"]
            assert all(choice.value in said[f"{choice.name} of item {number}"] for choice in line.choices)


def test_a_title_never_hides_another_variant_than_is_wanted(tasks):
    for task in tasks:
        known = {slot.name: slot.known for slot in task.slots}
        for number, line in enumerate(goal_of(task).lines, 1):
            if not line.page:
                assert all(known[f"{choice.name} of item {number}"] == "stated" for choice in line.choices)


def test_choices_tell_exactly_one_variant(world, tasks):
    for task in tasks:
        for line in goal_of(task).lines:
            offered = world.store.options(world.store.row(line.product_id))
            fits = [o.id for o in offered if all(choice in o.choices for choice in line.choices)]
            assert fits == line.variants


def test_breaking_one_thing_lowers_the_reward(world, tasks):
    for task in feasible(tasks):
        cart = perfect(world, task)
        known = {line[0] for line in cart}
        stranger = next(
            (o.product_id, o.id, 1)
            for row in range(50)
            for o in world.store.options(row)
            if o.stock and o.product_id not in known
        )
        for wrong in ([*cart, stranger], cart[1:]):
            found = score(world, task, wrong)
            assert found.task < 1
            assert not found.success
        assert not ENV.score(goal_of(task), shop_of(world, task, cart), Answer(refusal="sold_out")).success


def test_the_nearest_miss_breaks_one_slot_and_fails(world, tasks):
    for task in tasks:
        miss = parse_miss(task.nearest_miss)
        cart = [(each.product_id, each.variants[0], each.quantity) for each in miss.end.cart]
        found = score(world, task, cart, miss.end.answer.refusal)
        assert found.task < 1
        assert not found.success
        assert set(miss.breaks) <= {slot.name for slot in task.slots}
    assert len({parse_miss(task.nearest_miss).breaks[0].partition(" of ")[0] for task in tasks}) > 3


def test_every_acceptable_end_is_a_success(world, tasks):
    for task in tasks:
        goal, right = goal_of(task), parse_certificate(task.acceptable)
        refused = End(answer=Answer(refusal=goal.refusal))
        for end in right.ends if task.feasible else [refused]:
            gone = goal.event.variants if end.after_sell_out else []
            enough = [[o for id in line.variants if (o := world.store.option_of(id)).stock] for line in end.cart]
            for options in list(product(*enough))[:20]:
                pairs = list(zip(end.cart, options, strict=True))
                if all(option.stock >= line.quantity for line, option in pairs):
                    cart = [(line.product_id, option.id, line.quantity) for line, option in pairs]
                    found = score(world, task, cart, end.answer.refusal, gone=gone)
                    assert (found.task, found.success) == (1, True)


def test_what_is_sold_out_on_the_way_is_due_no_more_unless_it_was_bought(world, tasks):
    told = 0
    for task in feasible(tasks):
        goal = goal_of(task)
        if goal.event is None:
            continue
        shop = shop_of(world, task, perfect(world, task))
        before = ENV.score(goal, shop, Answer())
        shop.order_checkout()
        shop.gone |= set(goal.event.variants)
        assert before.success
        assert ENV.score(goal, shop, Answer()).success
        left = [cart for cart in perfect(world, task) if cart[1] not in goal.event.variants]
        assert score(world, task, left, "" if left else "sold_out", gone=goal.event.variants).success
        assert not score(world, task, left, "sold_out" if left else "", gone=goal.event.variants).success
        shop = shop_of(world, task, left)
        shop.gone |= set(goal.event.variants)
        told += any(notice.key.startswith("sold out") for notice in ENV.notices(goal, shop))
    assert told > EACH


def test_a_refusal_is_right_with_its_reason_and_an_empty_cart(world, tasks):
    refused = Counter()
    for task in tasks:
        goal = goal_of(task)
        if task.feasible:
            assert score(world, task, [], "sold_out").task == -1
            continue
        refused[goal.refusal] += 1
        other = {"sold_out": "contradiction", "contradiction": "sold_out"}[goal.refusal]
        assert score(world, task, [], goal.refusal) == GoalScore(Fraction(1), True)
        assert score(world, task, [], other).task == score(world, task, []).task == -1
        for line in goal.lines:
            stocks = [each["stock"] for each in shop_of(world, task).catalog_get_variants(line.product_id)["variants"]]
            option = next(o for o in world.store.options(world.store.row(line.product_id)) if o.stock)
            if option.id not in goal.sold_out:
                assert score(world, task, [(line.product_id, option.id, 1)], goal.refusal).task == -1
            else:
                assert 0 in stocks
    assert min(refused.values()) > 5


def test_products_in_variants_do_not_tell_that_a_cart_cannot_be_had(world, monkeypatch):
    """Of a shop most of whose products come in one form: of the others alone a variant can be asked for that there is not."""
    real = world.store.options

    def list_few(row):
        return real(row) if row % 4 == 0 else (replace(real(row)[0], choices=()),)

    monkeypatch.setattr(world.store, "options", list_few)
    refused = {True: [], False: []}
    for level, seed in product((0, 3), range(110)):
        goal = goal_of(draw_task(ENV, world, level, seed))
        several = all(len(list_few(world.store.row(line.product_id))) > 1 for line in goal.lines)
        refused[several].append(goal.refusal)
    shares = {several: sum(map(bool, found)) / len(found) for several, found in refused.items()}
    assert min(map(len, refused.values())) > 40
    assert refused[True].count("contradiction") > 2
    assert shares[True] < 2 * shares[False]


def hand_made(world, count=2):
    """Three pieces in one variant, and two in any."""
    rows = [row for row in range(200) if all(o.stock > 9 for o in world.store.options(row))][:count]
    first, second = (world.store.options(row) for row in rows)
    lines = [
        RequestedLine(said="one", product_id=first[0].product_id, choices=[Choice(name="size", value="M")],
               variants=[first[0].id], quantity=3, page=1),
        RequestedLine(said="two", product_id=second[0].product_id, choices=[], variants=[o.id for o in second], quantity=2, page=1),
    ]  # fmt: skip
    said = {"item 1": "one", "item 2": "two", **{f"{name} of item 1": f"in {name}" for name in ("size", "color")}}
    slots = [Slot(name=name, said=text, known="stated") for name, text in said.items()]
    return CartGoal(persona_id="nobody", now=datetime(2024, 5, 1), slots=slots, lines=lines), first, second


def test_pieces_are_counted_as_f1(world):
    goal, first, second = hand_made(world)
    for cart, f1 in [
        ({first[0].id: 3, second[0].id: 2}, Fraction(1)),
        ({first[0].id: 3, second[0].id: 1, second[1].id: 1}, Fraction(1)),
        ({first[1].id: 3, second[0].id: 2}, Fraction(4, 10)),
        ({first[0].id: 2, second[0].id: 2}, Fraction(8, 9)),
        ({first[0].id: 4, second[0].id: 2}, Fraction(10, 11)),
        ({second[0].id: 9}, Fraction(4, 14)),
        ({}, Fraction(0)),
    ]:
        shop = ENV.shop(world, goal, compute_axes(3), "x")
        shop.cart = dict(cart)
        found = ENV.score(goal, shop, Answer())
        assert (found.task, found.success) == (2 * f1 - 1, f1 == 1)
    assert ENV.score(goal, ENV.shop(world, goal, compute_axes(3), "x"), None).task == -1


def test_a_shopper_corrects_variant_quantity_and_what_it_did_not_ask_for(world):
    goal, first, second = hand_made(world)
    goal.lines[0].choices[0] = first[0].choices[-1]
    goal.slots.append(
        Slot(name=f"{first[0].choices[-1].name} of item 1", said=f"in {first[0].choices[-1].name}", known="stated")
    )
    stranger = next(o for row in range(300, 400) for o in world.store.options(row))
    shop = ENV.shop(world, goal, compute_axes(3), "x")
    shop.cart = {first[0].id: 3, second[0].id: 2}
    assert list(ENV.notices(goal, shop)) == []
    wrong = next(o for o in first if goal.lines[0].choices[0] not in o.choices)
    shop.cart = {wrong.id: 3, second[0].id: 1, stranger.id: 1}
    said = {notice.key: (notice.meaning, notice.facts) for notice in ENV.notices(goal, shop)}
    name = goal.lines[0].choices[0].name
    title = world.store.item(world.store.row(stranger.product_id)).title
    is_now = next(each.value for each in wrong.choices if each.name == name)
    assert said[f"{name} of item 1"] == ("is another variant", {"is": is_now, "wants": f"in {name}"})
    assert said["quantity of item 2"] == ("is another number", {"have": "1", "thing": "two", "wants": "2"})
    assert said[f"not asked {stranger.product_id}"] == ("was not asked for", {"thing": title})
    assert len(said) == 3


def test_the_level_sets_how_many_and_how_exactly(world):
    shares = {}
    for level in (0, 3, 6, 9, 12):
        goals = [goal_of(draw_task(ENV, world, level, seed)) for seed in range(150)]
        lines = [line for goal in goals for line in goal.lines if goal.refusal != "contradiction"]
        assert {len(goal.lines) for goal in goals} == {min(5, 1 + level // 3)}
        shares[level] = tuple(
            sum(found) / len(found)
            for found in ([bool(line.choices) for line in lines], [line.quantity > 1 for line in lines])
        )
        assert all(1 <= line.quantity <= 4 for line in lines)
        assert 0.07 < sum(not goal.feasible for goal in goals) / len(goals) < 0.24
        assert (level == 0) == (not any(goal.event for goal in goals))
    assert [abs(shares[level][0] - want) < 0.12 for level, want in {0: 0.21, 3: 0.66, 6: 0.93, 12: 0.99}.items()] == [
        True
    ] * 4
    assert [abs(shares[level][1] - want) < 0.12 for level, want in {0: 0.0, 3: 0.3, 6: 0.5, 12: 0.5}.items()] == [
        True
    ] * 4


def test_a_task_is_its_number(world, tasks):
    assert [draw_task(ENV, world, level, 3) for level in LEVELS] == [task for task in tasks if task.seed == 3]
    assert len({task.opening for task in tasks}) > 0.95 * len(tasks)


def test_where_nobody_has_visited_products_are_named_by_title(world):
    empty = World(keep_one_customer(world.store, None), world.finder)
    task = draw_task(ENV, empty, 6, 1)
    assert all(line.page == 0 for line in goal_of(task).lines)
    assert play_episode(Episode(ENV, empty, task), play_solution).success


def test_a_shop_without_stock_says_what_it_lacks(world):
    class Nothing:
        def find(self, text, **given):
            return world.store.rows_of(0)[:0]

    with pytest.raises(Problem, match=r"can be named so that no other is meant.*It supports none"):
        draw_task(ENV, World(keep_one_customer(world.store, None), Nothing()), 3, 0)


@pytest.mark.parametrize("level", [1, 3])
def test_cheap_policies_earn_nothing(world, level):
    some = [draw_task(ENV, world, level, seed) for seed in range(40)]
    for name in ("first-result", "everything-into-the-cart", "copy-the-profile", "terminate-at-once"):
        totals = [play_episode(Episode(ENV, world, task), ENV_BASELINES[name]).total for task in some]
        assert sum(totals) / len(totals) < -0.2, name


def test_due_counts_what_can_be_had(world):
    goal, first, second = hand_made(world)
    shop = ENV.shop(world, goal, compute_axes(3), "x")
    assert [pieces for _, pieces in count_available_pieces(goal, shop)] == [3, 2]
    shop.gone = {first[0].id}
    assert [pieces for _, pieces in count_available_pieces(goal, shop)] == [0, 2]
    shop.gone = {option.id for option in second[1:]}
    assert [pieces for _, pieces in count_available_pieces(goal, shop)] == [3, 2]
    shop.gone, shop.bought = {first[0].id}, {first[0].id: 1}
    assert [pieces for _, pieces in count_available_pieces(goal, shop)] == [1, 2]
