"""Certificates judged by who shares no code with the envs: each with one thing changed is found; `tests/envs/test_contract.py` holds the true ones."""

import json
from collections import Counter
from datetime import datetime
from functools import cache
from types import SimpleNamespace

import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.checks import certificates
from shopwright.pipeline.checks import tasks as check
from shopwright.pipeline.checks.certificates import (
    JUDGES,
    check_no_order,
    list_orders_on_page,
    read_rules_on,
    status_of_order,
)
from shopwright.pipeline.checks.policy_texts import read_rule
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.shop.policies import load_policies
from shopwright.pipeline.shop.user_simulator import SimulatorReply
from shopwright.schemas.certificates import AnyOf, End, Infeasible, Lines, Malformed, describe, parse_certificate

LEVELS = (0, 3, 6, 9, 12)
SEEDS = range(6)
WORDS = ("reason", "policy_id", "kind", "env")
"""What tells nothing that decides, or which kind of a thing it is."""
every_env = pytest.mark.parametrize("name", all_envs())


@pytest.fixture(scope="module")
def world():
    return gym.world()


@pytest.fixture(scope="module")
def catalog(world):
    return SimpleNamespace(cache={load_world_beside: world})


@cache
def draw_tasks(name):
    return [draw_task(get_env(name), gym.world(), level, seed) for level in LEVELS for seed in SEEDS]


def find_fault(world, task, text):
    judge, orders = JUDGES[task.env], compute_axes(task.difficulty).orders_shown
    return next(judge(json.loads(task.goal), parse_certificate(text), world.store, orders), None)


def changes(value, under=""):
    """The same with one thing changed, everywhere in turn: an item of a list left out, another text, another number, a flag turned."""
    if isinstance(value, dict):
        for name, each in value.items():
            for other in changes(each, name) if name not in WORDS else ():
                yield value | {name: other}
    elif isinstance(value, list):
        for place, each in enumerate(value):
            if under != "words" or len(value) == 1:  # without one of its words a proof says less, and is as true
                yield value[:place] + value[place + 1 :]
            for other in changes(each, under):
                yield [*value[:place], other, *value[place + 1 :]]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str) and under in ("now", "until"):
        yield value.replace("2024", "2023").replace("2025", "2024") or "2024-05-05"
    elif isinstance(value, str):
        yield f"{value} or so"


@every_env
def test_a_certificate_of_which_one_thing_is_changed_is_found(world, catalog, name):
    """By the judge, or because it has another form, or names what there is not."""
    found = Counter()
    for task in draw_tasks(name):
        for change in list(changes(json.loads(task.acceptable)))[:30]:
            text = json.dumps(change)
            try:
                wrong = find_fault(world, task, text)
            except (Malformed, ValueError):
                wrong = "malformed"
            other = task.model_copy(update={"acceptable": text})
            wrong = wrong or check.everything_named_exists(other, catalog)
            assert wrong, (task.id, text[:800])
            found[wrong] += 1
    assert sum(found.values()) > 50


@every_env
def test_a_refusal_that_is_not_called_for_is_found_and_so_is_a_missing_one(world, name):
    more = (draw_task(get_env(name), world, level, seed) for seed in range(30) for level in LEVELS)
    refused = next(task for task in more if not task.feasible) if get_env(name).refusals else None
    done = next(task for task in draw_tasks(name) if task.feasible)
    assert describe(AnyOf(ends=[End()])) == "AnyOf with 1 end"
    if refused is not None:
        wrong = find_fault(world, refused, '{"kind": "AnyOf", "ends": [{}]}')
        assert wrong.startswith("its certificate: expected Infeasible")
        proof = json.dumps(json.loads(refused.acceptable))
        wrong = find_fault(world, done, proof)
        assert wrong.startswith("its certificate: expected")
        assert isinstance(parse_certificate(proof), Infeasible)


def test_a_list_says_how_many_slots_were_expected(world):
    task = next(task for task in draw_tasks("bundle_planning") if task.feasible)
    found = json.loads(task.acceptable)
    found["items"].pop()
    many = len(found["items"])
    wrong = find_fault(world, task, json.dumps(found))
    assert wrong == f"its certificate: expected OneOfEach with {many + 1} items, found OneOfEach with {many} items"


def judge_changed(world, task, goal, certificate=None):
    """All that the judge says to a goal, or a certificate, that was changed."""
    found, orders = (
        parse_certificate(json.dumps(certificate) if certificate else task.acceptable),
        compute_axes(task.difficulty).orders_shown,
    )
    return list(JUDGES[task.env](goal, found, world.store, orders))


def first_task(env, fits):
    for task in draw_tasks(env):
        goal, certificate = json.loads(task.goal), json.loads(task.acceptable)
        if task.feasible and fits(goal):
            return task, goal, certificate
    raise AssertionError(f"no task of {env} is so")


def test_a_question_about_policies_that_says_something_else_is_found(world):
    task, goal, _ = first_task("policy_qa", lambda goal: goal["topic"] != "warranty" and "group" in goal["facts"])
    assert judge_changed(world, task, goal) == []
    place = 1 + list(goal["facts"]).index("group")
    said = goal["slots"][place]["said"]
    goal["slots"][place]["said"] = "it is a thing"
    assert judge_changed(world, task, goal) == ["its customer says another group than its case has"]
    goal["slots"][place]["said"], goal["slots"][0]["said"] = said, "How long is the warranty?"
    assert judge_changed(world, task, goal) == ["its question is about something else than its topic"]


def test_rules_of_which_one_cannot_be_read_are_not_read(monkeypatch):
    name, shop = "train-000007", load_policies("train-000007")
    assert len(read_rules_on(name, "return window")) == len(shop.topic("return window").rules)
    last = shop.topic("return window").rules[-1].title
    monkeypatch.setattr(
        certificates, "read_rule", lambda title, text: None if title == last else read_rule(title, text)
    )
    assert read_rules_on(name, "return window") is None


def test_a_cart_may_have_as_many_pieces_as_there_are_and_no_more(world):
    task, goal, certificate = first_task("cart_building", lambda goal: not goal["sold_out"] and len(goal["lines"]) == 1)
    stock = {option.id: option.stock for option in world.store.options(world.store.row(goal["lines"][0]["product_id"]))}
    (line,) = certificate["ends"][0]["cart"]
    there = sum(stock[variant] for variant in line["variants"])
    for more, said in ((0, []), (1, ["a line of its certificate has not so many pieces in stock"])):
        goal["lines"][0]["quantity"] = line["quantity"] = there + more
        assert judge_changed(world, task, goal, certificate) == said


def test_who_wants_a_return_alone_is_given_no_products(world):
    task, goal, certificate = first_task("return_replacement", lambda goal: goal["wants"] not in ("product", "variant"))
    assert judge_changed(world, task, goal) == []
    certificate["ends"][0]["some_of"] = [goal["product_id"]]
    assert judge_changed(world, task, goal, certificate) == ["its certificate has products that nobody asked for"]
    goal["clues"] = []
    assert judge_changed(world, task, goal)[0].endswith(" lines are what the shopper remembers, or another one")


def test_who_wants_another_variant_is_given_one_that_is_there(world):
    task, goal, certificate = first_task("return_replacement", lambda goal: goal["wants"] == "variant")
    assert judge_changed(world, task, goal) == []
    rows = range(len(world.store.ids))
    row, gone = next((row, each.id) for row in rows for each in world.store.options(row) if not each.stock)
    goal |= {"product_id": world.store.ids[row].as_py(), "replacement": gone}
    certificate["ends"][0]["returns"][0]["instead"] = gone
    assert "its variant is sold out, or another one is called so" in judge_changed(world, task, goal, certificate)


def test_what_cannot_be_had_has_no_substitute_for_another_device(catalog):
    tasks = draw_tasks("substitution")
    assert {task.feasible for task in tasks} == {True, False}
    assert not any(check.substitutes_are_for_the_same_device(task, catalog) for task in tasks)


def test_beside_a_product_that_is_not_there_none_is_tried(world):
    assert list(check.list_wrong_ends(world.store, End(some_of=("no such product",)))) == []


def test_beside_a_cart_each_of_its_lines_is_tried_in_each_other_variant(world):
    rows = [row for row in range(200) if len(world.store.options(row)) > 1][:2]
    lines = [
        Lines(product_id=world.store.ids[row].as_py(), variants=[world.store.options(row)[0].id], quantity=1)
        for row in rows
    ]
    found = list(check.list_wrong_ends(world.store, End(cart=lines)))
    assert [[line.variants[0] for line in end.cart] for end in found] == [
        *([option.id, lines[1].variants[0]] for option in world.store.options(rows[0])[1:]),
        *([lines[0].variants[0], option.id] for option in world.store.options(rows[1])[1:]),
    ]


def test_a_list_may_cost_all_of_its_budget_and_not_a_cent_more(world):
    task, goal, certificate = first_task("bundle_planning", lambda goal: not goal.get("event"))
    goal["budget"] = certificate["budget"] = certificate["least"]
    wrong = "its certificate has another budget, or another cheapest list"
    assert wrong not in judge_changed(world, task, goal, certificate)
    goal["budget"] = certificate["budget"] = certificate["least"] - 1
    assert wrong in judge_changed(world, task, goal, certificate)


def test_an_order_is_what_was_last_done_to_it_up_to_now():
    now, before, later = (datetime(2024, 5, 12, 9, minute) for minute in (30, 29, 31))
    for shipped, delivered, cancelled, status in (
        (now, None, None, "shipped"),
        (later, None, None, "processing"),
        (before, now, None, "delivered"),
        (before, later, None, "shipped"),
        (None, None, now, "cancelled"),
        (None, None, later, "processing"),
    ):
        order = SimpleNamespace(shipped=shipped, delivered=delivered, cancelled=cancelled)
        assert status_of_order(order, now) == status


def test_an_order_that_is_there_is_not_proved_away(world):
    _, goal, _ = first_task("order_tracking", lambda goal: goal["clues"][0]["fact"] == "number")
    customer = world.store.customers[world.store.place_of_customer[goal["persona_id"]]]
    shown = list_orders_on_page(customer, datetime.fromisoformat(goal["now"]), 50)
    proof = {"kind": "NoOrder", "fact": "number", "value": goal["order_id"], "orders": [order.id for order in shown]}
    found = parse_certificate(json.dumps({"kind": "Infeasible", "refusal": "no_order", "proof": proof}))
    assert list(check_no_order(goal, found, world.store, shown)) == ["it says that no order is so, and one is"]
    others = [order for order in shown if order.id != goal["order_id"]]
    assert list(check_no_order(goal, found, world.store, others)) == [
        "its proof has other orders than those that are shown"
    ]


def test_lists_of_one_seller_and_substitutes_are_not_guessed_in_tasks_as_they_are_drawn(catalog):
    for task in draw_tasks("one_seller"):
        assert check.sellers_are_not_guessed(task, catalog) is None
    for task in draw_tasks("substitution"):
        assert check.titles_tell_no_substitute(task, catalog) is None


@pytest.mark.parametrize(("right", "guessed"), [("a third", False), ("more", True)])
def test_a_list_is_guessed_where_more_sellers_are_right_than_look_alikes_allow(catalog, world, right, guessed):
    """At level 0, of two look-alikes, a third of those who seem to have all may be right."""
    tried = 0
    for task in draw_tasks("one_seller"):
        goal, certificate = json.loads(task.goal), json.loads(task.acceptable)
        if task.difficulty or not certificate.get("sellers"):
            continue
        seeming = [check.find_seeming_items(world.store, need, set(goal["sold_out"])) for need in goal["needs"]]
        of_each = [[world.store.seller_of(item.row) for item in items] for items in seeming]
        sellers = sorted(set.intersection(*map(set, of_each)))
        chosen = sellers[: len(sellers) // 3 + (right == "more")]
        certificate["sellers"] = [
            {
                "seller": seller,
                "product_ids": [
                    [item.id for item in items if world.store.seller_of(item.row) == seller] for items in seeming
                ],
            }
            for seller in chosen
        ]
        changed = task.model_copy(update={"acceptable": json.dumps(certificate)})
        fault = check.sellers_are_not_guessed(changed, catalog)
        assert fault == ("a list that is guessed too easily" if guessed else None)
        tried += 1
    assert tried


def test_a_list_that_may_be_of_any_seller_has_nothing_of_sellers_or_vouchers(world):
    task, goal, certificate = first_task("bundle_planning", lambda goal: not goal.get("event"))
    wrong = "its certificate has what only lists of one seller or with a voucher have"
    assert wrong not in judge_changed(world, task, goal, certificate)
    assert wrong in judge_changed(world, task, goal, certificate | {"lists": 1})


def test_words_that_put_it_otherwise_may_say_what_was_told_and_nothing_that_is_hidden():
    heard = SimulatorReply("I like it in red.", "answer")
    slots = [SimpleNamespace(said="in red, if you please"), SimpleNamespace(said="of walnut wood")]
    shopper = SimpleNamespace(said=[heard], slots=slots, told={0})
    assert check.says_the_same("I like it in red, please.", heard.text, shopper)
    assert not check.says_the_same("I like it in red walnut.", heard.text, shopper)
    assert not check.says_the_same("I like it in red, please.", "Something else.", shopper)


def test_every_env_of_the_project_has_a_judge():
    assert set(JUDGES) == set(all_envs())
