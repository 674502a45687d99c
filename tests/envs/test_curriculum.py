"""The level rises with what an agent can do, never falls, and goes on where it was saved."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from pydantic import ValidationError

from shopwright.pipeline.envs.curriculum import (
    AdaptiveDifficulty,
    Curriculum,
    find_informative_groups,
    make_ecomrlve_controller,
)
from shopwright.pipeline.problem import Problem


def play(controller, successes, failures=0):
    """So many rollouts at the hardest level."""
    return [controller.record(controller.hardest, success) for success in [True] * successes + [False] * failures]


def test_rlve_decides_after_eight_prompts_of_sixteen_samples():
    controller = AdaptiveDifficulty()
    assert not any(play(controller, 127))
    assert controller.hardest == 0
    assert play(controller, 1) == [True]
    assert (controller.hardest, controller.rollouts, controller.successes) == (1, 0, 0)


@pytest.mark.parametrize(("successes", "level"), [(115, 0), (116, 1)])
def test_nine_tenths_of_128_are_116(successes, level):
    controller = AdaptiveDifficulty()
    play(controller, successes, 128 - successes)
    assert controller.hardest == level


def test_an_accuracy_of_exactly_the_threshold_is_enough():
    controller = AdaptiveDifficulty(count=10, threshold=Fraction(7, 10))
    play(controller, 7, 3)
    assert controller.hardest == 1


def test_counting_begins_anew_after_a_decision_either_way():
    controller = AdaptiveDifficulty(count=10)
    play(controller, 8, 2)
    assert (controller.hardest, controller.rollouts, controller.successes) == (0, 0, 0)
    play(controller, 10)
    assert controller.hardest == 1


def test_the_level_never_falls():
    controller = AdaptiveDifficulty(hardest=5, count=4)
    play(controller, 0, 40)
    assert controller.hardest == 5


def test_only_the_hardest_level_counts():
    controller = AdaptiveDifficulty(hardest=3, count=4)
    for level in (0, 1, 2, 4):
        assert not controller.record(level, True)
    assert controller.rollouts == 0


@pytest.mark.parametrize(
    ("controller", "levels"), [(AdaptiveDifficulty(hardest=9), {6, 7, 8, 9}), (make_ecomrlve_controller(), {0})]
)
def test_levels_are_drawn_from_the_window(controller, levels):
    random = Random(1)
    assert {controller.draw(random) for _ in range(200)} == levels


def test_levels_are_drawn_evenly():
    random, controller = Random(1), make_ecomrlve_controller().model_copy(update={"hardest": 8})
    found = Counter(controller.draw(random) for _ in range(5_000))
    assert sorted(found) == [4, 5, 6, 7, 8]
    assert all(900 < times < 1_100 for times in found.values())


def test_ecomrlve_decides_after_32_rollouts():
    controller = make_ecomrlve_controller()
    play(controller, 29, 3)
    assert controller.hardest == 1
    play(controller, 28, 4)
    assert controller.hardest == 1


@pytest.mark.parametrize("wrong", [{"window": 0}, {"threshold": 0}, {"threshold": 2}, {"count": 0}, {"hardest": -1}])
def test_a_controller_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError):
        AdaptiveDifficulty(**wrong)


@pytest.mark.parametrize(("name", "size"), [("C1", 1), ("C2", 2), ("C4", 4), ("C8", 8)])
def test_a_collection_has_a_controller_for_each_env(name, size):
    assert len(Curriculum.of(name).envs) == size


def test_c1_is_cart_building():
    assert list(Curriculum.of("C1").envs) == ["cart_building"]


def test_an_unknown_collection_says_which_envs_there_are():
    with pytest.raises(Problem, match="order_tracking"):
        Curriculum.of("C3")


def test_envs_rise_on_their_own():
    curriculum = Curriculum.of("C2", AdaptiveDifficulty(count=2))
    for _ in range(2):
        curriculum.record("substitution", 0, True)
    assert {name: each.hardest for name, each in curriculum.envs.items()} == {"cart_building": 0, "substitution": 1}


def test_every_env_of_a_collection_is_drawn():
    random, curriculum = Random(3), Curriculum.of("C4")
    assert {env for env, _ in (curriculum.draw(random) for _ in range(200))} == set(curriculum.envs)


def test_a_saved_curriculum_goes_on_as_if_it_had_not_stopped():
    random, curriculum = Random(5), Curriculum.of("C8", AdaptiveDifficulty(count=7, threshold=Fraction(1, 3)))
    kept = None
    for step in range(300):
        if step == 150:
            kept, dice = Curriculum.model_validate_json(curriculum.model_dump_json()), Random()
            dice.setstate(random.getstate())
        env, level = curriculum.draw(random)
        curriculum.record(env, level, step % 3 > 0)
        if kept is not None:
            assert kept.draw(dice) == (env, level)
            kept.record(env, level, step % 3 > 0)
    assert kept == curriculum
    assert max(each.hardest for each in curriculum.envs.values()) > 2


def test_groups_whose_rewards_are_all_alike_teach_nothing():
    assert find_informative_groups([[0.8] * 8, [0.8] * 7 + [0.5], [-1.0], [], [-1.0, 1.0]]) == [1, 4]
