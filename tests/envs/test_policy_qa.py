"""Questions about the policies: one answer each, learnable, spread, and found by the tools."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.checks.policy_texts import read_topic
from shopwright.pipeline.envs.base import World, dump_compact_json
from shopwright.pipeline.envs.customers import VISITOR, assign_task_split
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode, play_solution
from shopwright.pipeline.envs.policy_qa import DEEPEST, OPENS, PolicyQA, PolicyQuestion
from shopwright.pipeline.reading.wishes import read_case_fact
from shopwright.pipeline.shop.policies import format_policy_answer, load_policies
from shopwright.pipeline.shop.policy_families import load_families, load_policy_facts
from shopwright.pipeline.shop.policy_questions import list_other_settings
from shopwright.pipeline.shop.store import Customer, Store
from shopwright.pipeline.shop.user_simulator import UserSimulator
from shopwright.schemas.certificates import parse_miss
from shopwright.schemas.tasks import Action, Answer, Call

ENV = PolicyQA()
LEVELS = range(13)
A_LEVEL = 100


def customer(number, member):
    return Customer(f"c{number}", np.zeros(1, np.int64), np.array([1_700_000_000 + number]), (), member)


@cache
def world(customers=()):
    """All that this env needs of a shop: the names of its groups, and who shops there."""
    places = {each.id: place for place, each in enumerate(customers)}
    store = object.__new__(Store)  # the words of a shop, and customers of our own
    store.__dict__.update(gym.world().store.__dict__)
    store.groups, store.customers, store.place_of_customer = ["Digital", "Fountains"], customers, places
    return World(store, finder=None)


@pytest.fixture(scope="module")
def tasks():
    """By level, each with its goal."""
    found = {level: [draw_task(ENV, world(), level, seed) for seed in range(A_LEVEL)] for level in LEVELS}
    return {
        level: [(task, PolicyQuestion.model_validate_json(task.goal)) for task in some] for level, some in found.items()
    }


def everything(tasks):
    return [pair for some in tasks.values() for pair in some]


def answering(**answer):
    def play(episode):
        yield Action(answer=Answer(**answer))

    return play


def test_the_solver_asks_for_all_that_was_left_out(tasks):
    for task, goal in everything(tasks)[::29]:
        episode = Episode(ENV, world(), task)
        play_episode(episode, play_solution)
        assert "untold" not in episode.shopper.disclosure.values(), (task.opening, goal.slots)


def test_an_opening_with_what_is_told_has_one_answer(tasks):
    answers, stated = {}, {}
    for task, goal in everything(tasks):
        told = (goal.policies, goal.topic, tuple(sorted(goal.facts.items())))
        assert answers.setdefault(told, (goal.answer, goal.refusal)) == (goal.answer, goal.refusal)
        if all(slot.known == "stated" for slot in goal.slots):
            whole = goal.policies, task.opening
            assert stated.setdefault(whole, (goal.answer, goal.refusal)) == (goal.answer, goal.refusal)
    assert len(everything(tasks)) > 1_000
    assert len(stated) > 150


def test_the_case_has_every_fact_that_the_answer_depends_on(tasks):
    for task, goal in everything(tasks):
        assert task.slots[0].name == "question"
        assert task.slots[0].known == "stated"
        assert read_topic(task.slots[0].said) == goal.topic
        for slot, (name, value) in zip(task.slots[1:], goal.facts.items(), strict=True):
            assert slot.name == load_policy_facts()[name].words[0]
            assert read_case_fact(slot.said, name, [str(value)]) == str(value), slot.said
        assert load_policies(goal.policies).topic(goal.topic).facts == tuple(goal.facts)


def test_an_opening_says_what_is_stated_and_nothing_that_is_not(tasks):
    for task, _ in everything(tasks):
        for slot in task.slots:
            assert (slot.said.lower() in task.opening.lower()) == (slot.known == "stated"), task.opening


def test_more_is_left_out_the_harder_it_is(tasks):
    share = {
        level: np.mean([slot.known == "asked" for _, goal in tasks[level] for slot in goal.slots[1:]])
        for level in (0, 6, 12)
    }
    assert share[0] < 0.12 < share[6] < share[12] + 0.12


def test_each_fact_is_told_when_it_is_asked_for(tasks):
    for task, _ in everything(tasks)[::11]:
        for slot in task.slots[1:]:
            shopper = UserSimulator(task.slots, seed="s", noise=0.0)
            assert slot.said.lower() in shopper.answer(f"What about the {slot.name}?").lower()


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("member", "Are you a member?"),
        ("opened", "Has the box been opened?"),
        ("group", "Which category is it from?"),
        ("price", "How much did it cost?"),
        ("holiday", "In which month did you order it?"),
        ("region", "Where do you live?"),
        ("seller", "Who sold it to you?"),
        ("paid", "How did you pay?"),
    ],
)
def test_facts_are_told_to_a_natural_question(tasks, name, question):
    asked = [
        (task, slot.said)
        for task, goal in everything(tasks)
        if name in goal.facts
        for slot in goal.slots
        if slot.name == load_policy_facts()[name].words[0]
    ]
    for task, said in asked[:20]:
        assert said.lower() in UserSimulator(task.slots, seed="s").answer(question).lower()


def outcome_of(goal):
    return load_policies(goal.policies).topic(goal.topic).outcome(goal.facts)


def test_a_question_goes_through_as_many_rules_as_its_level_says(tasks):
    for level in LEVELS:
        for _, goal in tasks[level]:
            outcome = outcome_of(goal)
            assert outcome.every_step_counts
            assert goal.chain == ([rule.id for rule in outcome.chain] if goal.feasible else [])
            alone = level < 3 and len(outcome.chain) == 2 and outcome.chain[-1].change == "is"
            assert len(outcome.chain) == compute_axes(level).clauses or alone


def test_beyond_the_deepest_rules_questions_are_as_deep_as_they_go():
    goals = [PolicyQuestion.model_validate_json(draw_task(ENV, world(), 60, seed).goal) for seed in range(40)]
    assert {len(outcome_of(goal).chain) for goal in goals} == {DEEPEST}


def test_nearly_every_task_is_in_a_shop_of_its_own(tasks):
    assert len({goal.policies for _, goal in everything(tasks)}) > 0.99 * len(everything(tasks))


def test_the_same_question_has_other_answers_in_other_shops(tasks):
    answers = {}
    for _, goal in everything(tasks):
        if (
            goal.feasible and goal.topic == "return window" and goal.answer != "0"
        ):  # where no days are left, shops agree
            answers.setdefault(len(goal.chain), []).append(goal.answer)
    assert len(answers) > 2
    for some in answers.values():
        assert len({*some}) > min(8, len(some) / 2)


@pytest.mark.parametrize("level", LEVELS)
def test_no_constant_answer_pays(tasks, level):
    feasible = [goal for _, goal in tasks[level] if goal.feasible]
    answers = Counter(goal.answer for goal in feasible)
    assert answers.most_common(1)[0][1] <= 0.12 * A_LEVEL
    assert answers["yes"] + answers["no"] <= 0.15 * A_LEVEL
    assert 0.07 * A_LEVEL <= A_LEVEL - len(feasible) <= 0.22 * A_LEVEL
    for answer, _ in answers.most_common(6):
        scores = [ENV.score(goal, None, Answer(policy_answer=answer)).task for _, goal in tasks[level]]
        assert sum(scores) / len(scores) < Fraction(-1, 3)


def find_ids(goal, query):
    return {rule.id for rule in load_policies(goal.policies).search(query)}


@pytest.mark.parametrize("level", LEVELS[::3])
def test_the_policies_are_found(tasks, level):
    feasible = [(task, goal) for task, goal in tasks[level][:60] if goal.feasible]
    whole = [set(goal.chain) <= find_ids(goal, goal.query) for _, goal in feasible]
    first = [goal.chain[0] in find_ids(goal, task.slots[0].said) for task, goal in feasible]
    assert np.mean(whole) >= 0.95
    assert np.mean(first) >= 0.95


def test_what_the_policies_do_not_cover_is_refused(tasks):
    none = [(task, goal) for task, goal in everything(tasks) if not goal.feasible]
    for task, goal in none:
        assert goal.refusal == "not_covered"
        assert not task.feasible
        assert '"kind":"NoRule"' in task.acceptable
        assert ENV.score(goal, None, Answer(refusal="not_covered")).success
        for wrong in (Answer(refusal="not_found"), Answer(policy_answer="14"), Answer(), None):
            score = ENV.score(goal, None, wrong)
            assert score.task == -1
            assert not score.success


def test_ten_to_twenty_of_a_hundred_are_not_covered(tasks):
    assert 0.1 < np.mean([not goal.feasible for _, goal in everything(tasks)]) < 0.2


def test_a_needless_refusal_earns_nothing_even_beside_the_right_answer(tasks):
    goal = next(goal for _, goal in everything(tasks) if goal.feasible)
    score = ENV.score(goal, None, Answer(policy_answer=goal.answer, refusal="not_covered"))
    assert (score.task, score.success) == (-1, False)
    assert ENV.score(goal, None, Answer(policy_answer=goal.answer)).success


def test_the_nearest_miss_is_the_answer_to_a_case_with_another_fact_and_fails(tasks):
    for task, goal in everything(tasks)[::3]:
        miss = parse_miss(task.nearest_miss)
        score = ENV.score(goal, None, miss.end.answer)
        assert not score.success
        assert score.task < 1
        if goal.feasible:
            topic = load_policies(goal.policies).topic(goal.topic)
            name = next(name for name in topic.facts if load_policy_facts()[name].words[0] == miss.breaks[0])
            values = list_other_settings(topic, name, goal.facts[name])
            said = {format_policy_answer(topic.outcome({**goal.facts, name: value}).value) for value in values}
            assert miss.end.answer.policy_answer in said


def goal_of(topic, answer):
    assert topic in load_families()
    return PolicyQuestion(
        persona_id="c",
        now=datetime(2024, 5, 1),
        slots=[],
        topic=topic,
        facts={},
        answer=answer,
        chain=[],
        query="",
    )


@pytest.mark.parametrize(
    ("said", "task"),
    [
        ("36", Fraction(1)),
        ("36 months", Fraction(1)),
        ("18", 2 * Fraction(1, 16) - 1),
        ("72", 2 * Fraction(1, 16) - 1),
        ("35", 2 * Fraction(35, 36) ** 4 - 1),
        ("0", Fraction(-1)),
        ("36 days", Fraction(-1)),
        ("it is 36", Fraction(-1)),
        ("", Fraction(-1)),
    ],
)
def test_a_number_is_scored_by_the_fourth_power_of_how_near_it_is(said, task):
    goal = goal_of("gift card life", "36")
    score = ENV.score(goal, None, Answer(policy_answer=said))
    assert score.task == task
    assert score.success == (task == 1)


def test_nothing_is_only_near_nothing():
    goal = goal_of("return label fee", "0")
    assert ENV.score(goal, None, Answer(policy_answer="0.01")).task == -1
    assert ENV.score(goal, None, Answer(policy_answer="$0")).success


@pytest.mark.parametrize(("said", "task"), [("neighbor", 1), ("The neighbor.", 1), ("locker", -1), ("12", -1)])
def test_a_category_is_right_or_wrong(said, task):
    assert ENV.score(goal_of("parcel drop", "neighbor"), None, Answer(policy_answer=said)).task == task


def first_number(episode):
    """Looks the question up and hands in the first number of the first text."""
    query = episode.task.opening[:400]
    observation = yield Action(tool_calls=[Call(name="policy_search", args={"query": query})])
    found = observation["results"][0]["policies"]
    text = found[0]["text"] if found else ""
    number = next((word.strip("$.%") for word in text.split() if word.strip("$.%").isdigit()), "no")
    yield Action(answer=Answer(policy_answer=number))


def echo(episode):
    yield Action(answer=Answer(policy_answer=episode.task.opening[:100]))


def silent(episode):
    return iter(())
    yield


@pytest.mark.parametrize(
    "policy",
    [answering(), answering(refusal="not_covered"), answering(policy_answer="yes"), echo, silent, first_number],
    ids=["at once", "refuse", "yes", "echo", "nothing", "first number"],
)
@pytest.mark.parametrize("level", [1, 2, 3, 6, 12])
def test_cheap_policies_earn_nothing(tasks, level, policy):
    totals = [play_episode(Episode(ENV, world(), task), policy).total for task, _ in tasks[level][:40]]
    assert np.mean(totals) <= 0


def test_an_episode_has_no_question_in_between(tasks):
    assert not ENV.takes_asides
    assert all(goal.aside is None for _, goal in everything(tasks))


def test_who_asks_is_a_member_if_the_question_says_so_and_meets_policies_of_the_own_split():
    customers = tuple(customer(number, number % 3 == 0) for number in range(60))
    met, sides = set(), set()
    found = world.__wrapped__(customers)
    for seed in range(120):
        task = draw_task(ENV, found, 6, seed)
        goal = PolicyQuestion.model_validate_json(task.goal)
        met.add(goal.persona_id)
        if "member" in goal.facts:
            assert customers[int(goal.persona_id[1:])].member == (goal.facts["member"] == "yes")
        assert task.split == assign_task_split(goal.persona_id, task.id)
        assert goal.policies.startswith(f"{task.split}-")
        sides.add(task.split)
    assert len(met) > 40
    assert sides == {"train", "test"}
    assert goal.now > datetime(2023, 11, 1)


def test_a_visitor_is_of_either_split_and_meets_policies_of_the_same(tasks):
    assert {(task.split, goal.policies.partition("-")[0]) for task, goal in everything(tasks)} == {
        ("train", "train"),
        ("test", "test"),
    }


def test_a_shop_without_customers_has_visitors(tasks):
    assert {goal.persona_id for _, goal in everything(tasks)} == {VISITOR}
    assert {goal.now for _, goal in everything(tasks)} == {OPENS}


def digest():
    """Of some tasks, whole."""
    tasks = [draw_task(ENV, world(), level, seed) for level in (0, 5, 9, 12) for seed in range(25)]
    return hashlib.sha256("".join(dump_compact_json(task.model_dump()) for task in tasks).encode()).hexdigest()


def test_another_process_draws_the_same_tasks():
    folder = Path(__file__).parents[2]
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_policy_qa as t; print(t.digest())"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.strip() == digest()


def test_typing_gets_worse_and_the_question_stays_readable():
    task = draw_task(ENV, world(), 12, 4, at=replace(compute_axes(12), noise=0.9))
    assert task.slots[0].said.lower() in task.opening.lower()
    assert task.opening != draw_task(ENV, world(), 12, 4, at=replace(compute_axes(12), noise=0.0)).opening
