"""Certificates judged by who shares no code with the envs: each with one thing changed is found; `tests/envs/test_contract.py` holds the true ones."""

import json
from collections import Counter
from functools import cache
from types import SimpleNamespace

import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.checks import tasks as check
from shopwright.pipeline.checks.certificates import JUDGES
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.schemas.certificates import AnyOf, End, Infeasible, Malformed, describe, parse_certificate

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
        for change in list(changes(json.loads(task.acceptable)))[:60]:
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


def test_lists_of_one_seller_and_substitutes_are_not_guessed_in_tasks_as_they_are_drawn(catalog):
    for task in draw_tasks("one_seller"):
        assert check.sellers_are_not_guessed(task, catalog) is None
    for task in draw_tasks("substitution"):
        assert check.titles_tell_no_substitute(task, catalog) is None


def test_every_env_of_the_project_has_a_judge():
    assert set(JUDGES) == set(all_envs())
