"""An env with a leak that was closed once is named by the audit: by who passes, and where."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shopwright.pipeline.envs import (
    all_envs,
    difficulty,
    evaluate,
    one_seller,
    order_tracking,
    readers,
    return_replacement,
    substitution,
)
from shopwright.pipeline.envs.base import GoalScore
from shopwright.pipeline.envs.bundle_planning import BundlePlanning
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.evaluate import EnvTasks
from shopwright.pipeline.envs.learnt_words import LearntWords, draw_training_tasks
from shopwright.pipeline.envs.order_tracking import OrderTracking
from shopwright.pipeline.envs.policy_qa import PolicyQA
from shopwright.pipeline.evaluate.audit import audit
from shopwright.pipeline.gym import world
from shopwright.pipeline.shop.user_simulator import UserSimulator

EPISODES, LEVEL = 40, 3


AUDITED = ("bundle_planning", "one_seller", "order_tracking", "policy_qa", "product_discovery", "substitution")


@pytest.fixture(scope="module")
def learnt():
    """Of the envs as they are, of no more than these tests audit, and of few tasks: drawing them takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shopwright.pipeline.envs.learnt_words.TASKS", 30)
        return LearntWords(list(draw_training_tasks(world(), AUDITED)))


@pytest.fixture
def shop(monkeypatch, learnt):
    for module in (evaluate, readers):
        monkeypatch.setattr(module, "learn_words", lambda world: learnt)
    return world()


def audit_env(shop, name, *players):
    tasks = EnvTasks(shop, [name], [LEVEL], range(EPISODES)).for_audit()
    return tasks.judge(audit([tasks], ["solver", *players]))


def plant(monkeypatch, env):
    monkeypatch.setitem(all_envs(), env.name, env)


class SaysTheNumber(OrderTracking):
    """Nothing is left out, and every order goes by its number."""

    def draw(self, world, axes, random):
        return super().draw(world, replace(axes, difficulty=0, omission=0.0), random)


def test_a_number_that_is_said_is_found_without_reading(shop, monkeypatch):
    plant(monkeypatch, SaysTheNumber())
    found = audit_env(shop, "order_tracking", "lexical")
    assert found.failed
    assert any("lexical succeeds in" in line for line in found.cheated)


def test_of_two_orders_one_is_guessed(shop, monkeypatch):
    monkeypatch.setattr(difficulty, "MOST_ORDERS", 0)
    found = audit_env(shop, "order_tracking", "lists-and-guesses")
    assert any("lists-and-guesses succeeds in" in line for line in found.cheated)


class PaysHedges(OrderTracking):
    """Half of what any order earns."""

    def score(self, goal, shop, answer):
        found = super().score(goal, shop, answer)
        named = answer is not None and answer.selected_order_id
        return GoalScore(Fraction(1, 2), True) if named and not found.success else found


def test_a_hedge_that_is_paid_is_named(shop, monkeypatch):
    plant(monkeypatch, PaysHedges())
    found = audit_env(shop, "order_tracking", "lists-and-guesses")
    assert any(line.startswith("order_tracking level 3: lists-and-guesses earns +") for line in found.cheated)


class CheapestIsRight(BundlePlanning):
    """What is asked of a thing counts for nothing."""

    def score(self, goal, shop, answer):
        plain = [need.model_copy(update={"constraints": []}) for need in goal.needs]
        return super().score(goal.model_copy(update={"needs": plain}), shop, answer)


def test_a_list_of_the_cheapest_that_is_right_is_named(shop, monkeypatch):
    plant(monkeypatch, CheapestIsRight())
    found = audit_env(shop, "bundle_planning", "asks-everything")
    assert any("asks-everything" in line for line in found.cheated)


def test_an_order_that_its_id_tells_is_named(shop, monkeypatch):
    """Ids count up, and the last one is meant."""
    monkeypatch.setattr(order_tracking, "pick_order", lambda orders, random: orders[0])
    found = audit_env(shop, "order_tracking", "last-id")
    assert any("last-id succeeds in" in line for line in found.cheated)


def test_a_substitute_that_the_title_tells_is_named(shop, monkeypatch):
    """Of what does only that is left in stock which has most words of the title, however few look like it."""

    def find_all_but_the_likest(here, does, unfit, demands, axes):
        plain = does.copy()
        plain[np.argmax(np.where(does, here.title_words, -1))] = False
        return plain

    monkeypatch.setattr(substitution, "find_plain_substitutes", find_all_but_the_likest)
    found = audit_env(shop, "substitution", "lexical")
    assert any("lexical succeeds in" in line for line in found.cheated)


def test_a_seller_whose_things_all_do_is_named(shop, monkeypatch):
    """Nothing of a seller that has something of each kind looks right and is not."""
    monkeypatch.setattr(one_seller, "leave_few_sellers", lambda store, needs, axes, random: None)
    found = audit_env(shop, "one_seller", "asks-everything")
    assert any("asks-everything succeeds in" in line for line in found.cheated)


@pytest.mark.slow
def test_a_refusal_of_another_line_is_named(shop, monkeypatch):
    """Half of all returns are refused, and what is handed in beside a refusal counts for nothing."""
    learnt = LearntWords(list(draw_training_tasks(shop, ["return_replacement"])))
    monkeypatch.setattr(evaluate, "learn_words", lambda world: learnt)
    monkeypatch.setattr(return_replacement, "INFEASIBLE", 0.5)
    named = any("last-id succeeds in" in line for line in audit_env(shop, "return_replacement", "last-id").cheated)
    assert not named
    monkeypatch.setattr(return_replacement, "is_line_meant", lambda goal, answer: True)
    found = audit_env(shop, "return_replacement", "last-id")
    assert any("last-id succeeds in" in line for line in found.cheated)


class TellsTheNumberWhenAsked(OrderTracking):
    """One question is enough, and costs nothing."""

    def draw(self, world, axes, random):
        return super().draw(world, replace(axes, difficulty=0, omission=1.0), random)


def test_asking_that_is_free_is_named(shop, monkeypatch):
    plant(monkeypatch, TellsTheNumberWhenAsked())
    found = audit_env(shop, "order_tracking", "asks-everything")
    assert any("asks-everything succeeds in" in line for line in found.cheated)


def test_answers_that_leave_out_what_is_not_meant_are_named(shop, monkeypatch):
    """Who asks what it was told is told the wish alone."""
    monkeypatch.setattr(UserSimulator, "repeat_contrast", lambda self, reply, names: reply)
    found = audit_env(shop, "order_tracking", "asks-twice")
    assert any("asks-twice succeeds in" in line for line in found.cheated)


def test_a_shopper_who_says_nothing_of_what_is_not_meant_is_named(shop, monkeypatch):
    """Who finds what was said in an order has the right one."""
    monkeypatch.setattr(Axes, "contrast", 0.0)
    found = audit_env(shop, "order_tracking", "pattern-bot")
    assert any("pattern-bot succeeds in" in line for line in found.cheated)


class TellsInTheWords(PolicyQA):
    """Who asks what has no answer is sorry."""

    def open(self, goal, facts, speaker, random):
        found = super().open(goal, facts, speaker, random)
        sorry = "" if goal.feasible else "sorry, sorry: "
        return found._replace(facts={**found.facts, "question": sorry + found.facts["question"]})


def test_words_that_tell_what_cannot_be_done_are_named(shop, monkeypatch):
    plant(monkeypatch, TellsInTheWords())
    learnt = LearntWords(list(draw_training_tasks(shop, ["policy_qa"])))
    monkeypatch.setattr(evaluate, "learn_words", lambda world: learnt)
    found = audit_env(shop, "policy_qa", "do-nothing")
    assert found.failed
    assert any(line.startswith("policy_qa: AUC") for line in found.told)


def test_as_it_is_none_of_them_is_named(shop):
    for name, players in {
        "substitution": ["lexical"],
        "order_tracking": ["lists-and-guesses", "last-id", "asks-everything", "asks-twice"],
        "bundle_planning": ["lexical"],
        "one_seller": ["asks-everything"],
        "policy_qa": ["do-nothing"],
        "product_discovery": ["lexical"],
    }.items():
        found = audit_env(shop, name, *players)
        assert not found.failed, found
