"""Openings with mistyped facts: what the row says of them, that they are read back, and rows that were made wrong on purpose."""

import json
from dataclasses import replace
from functools import cache
from itertools import islice

import pytest

from shopwright.pipeline import gym
from shopwright.pipeline.checks.openings import find_misread_words, make_vocabulary
from shopwright.pipeline.checks.tasks import every_slot_can_be_learnt
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import Episode, draw_task
from shopwright.pipeline.phrases.speaker import draw_speaker
from shopwright.pipeline.shop.tools import call_tool
from shopwright.pipeline.shop.user_simulator import UserSimulator


class Shop:
    """A catalog as the check knows it."""

    def once(self, make):
        return load_vocabulary()


@cache
def load_vocabulary():
    return make_vocabulary(gym.world().store)


@cache
def draw_many(level, count, **given):
    return list(iterate_tasks(level, count, **given))


def iterate_tasks(level, count, envs=(), **given):
    at = replace(compute_axes(level), **given)
    for seed in range(count):
        for name in envs or all_envs():
            yield draw_task(get_env(name), gym.world(), level, 4_000 + seed, at=at)


@pytest.fixture(scope="module")
def tasks():
    return draw_many(12, 14)


@pytest.fixture(scope="module")
def mistyped_facts(tasks):
    found = [(task, slot) for task in tasks for slot in task.slots if slot.typed]
    assert len(found) > 30
    return found


def change(task, slot, **update):
    """The task with one slot changed, and the opening with what it says then."""
    new = slot.model_copy(update=update)
    place = task.opening.lower().index((slot.typed or slot.said).rstrip(".").lower())
    end = place + len((slot.typed or slot.said).rstrip("."))
    opening = task.opening[:place] + (new.typed or new.said).rstrip(".") + task.opening[end:]
    return task.model_copy(update={"opening": opening, "slots": [new if each is slot else each for each in task.slots]})


def test_facts_are_mistyped_with_the_level():
    shares = []
    for level in (0, 6, 12):
        noised = [any(slot.typed for slot in task.slots) for task in draw_many(level, 14)]
        shares.append(sum(noised) / len(noised))
    assert shares[0] == 0
    assert 0.1 < shares[1] < shares[2]


def test_no_noise_types_no_fact_wrong():
    assert not any(slot.typed for task in draw_many(12, 3, noise=0.0) for slot in task.slots)


def test_mistyped_facts_are_read_back(tasks):
    noised = [task for task in tasks if any(slot.typed for slot in task.slots)]
    assert [
        (task.id, why) for task in noised if (why := find_misread_words(task, Shop())) and "answer" not in why
    ] == []


def test_the_row_says_what_was_meant_and_what_was_typed(mistyped_facts):
    for task, slot in mistyped_facts:
        assert slot.known == "stated"
        assert slot.typed != slot.said
        assert slot.typed.rstrip(".").lower() in task.opening.lower()
        assert json.loads(task.goal)["slots"] == [each.model_dump() for each in task.slots]
        assert every_slot_can_be_learnt(task, Shop()) is None


def test_a_question_recovers_what_was_mistyped(mistyped_facts):
    for task, slot in mistyped_facts:
        shopper = UserSimulator(task.slots, seed=task.id, speaker=draw_speaker(task.id, use=task.split))
        assert slot.said.rstrip(".").lower() in shopper.answer(f"What about the {slot.name}?").lower()


def test_the_shopper_makes_no_fact_out_of_another_word(tasks):
    for task in tasks[:20]:
        episode = Episode(get_env(task.env), gym.world(), task)
        episode.reset()
        assert episode.shopper.avoid("navy")


def test_what_a_refusal_hangs_on_is_clean(tasks):
    refused = [task for task in (*tasks, *draw_many(12, 14, noise=0.33)) if not task.feasible and task.env != "journey"]
    kept = [(slot, json.loads(task.nearest_miss)["breaks"]) for task in refused for slot in task.slots]
    assert refused
    assert not [slot for slot, breaks in kept if slot.typed and slot.name in breaks]


# Wrong on purpose


def list_values(task):
    return [each.value.lower() for slot in task.slots for each in slot.facts if each.name == "value"]


def test_a_fact_that_became_another_value_is_not_read_as_its_own(mistyped_facts):
    colors = [(task, slot) for task, slot in mistyped_facts if slot.meaning == "value color"]
    assert colors
    for task, slot in colors:
        value = next(each.value for each in slot.facts if each.name == "value")
        # A color that is said of nothing else: that it is said of another thing is not looked at.
        other = next(each for each in ("burgundy", "terracotta", "lavender") if each not in list_values(task))
        for wrong in (other, f"{other[0]}{other[2]}{other[1]}{other[3:]}"):
            typed = slot.said.replace(value, wrong)
            assert find_misread_words(change(task, slot, typed=typed), Shop())


def test_a_fact_with_two_slips_is_not_read(mistyped_facts):
    caught = 0
    for task, slot in mistyped_facts:
        if slot.meaning in ("value color", "value material", "value brand"):
            value = next(each.value for each in slot.facts if each.name == "value")
            typed = slot.said.replace(value, f"{value[0]}zq{value[1:]}")
            if list_values(task).count(value.lower()) > 1:
                continue  # the same is said of another thing
            assert find_misread_words(change(task, slot, typed=typed), Shop()), typed
            caught += 1
    assert caught


def test_a_mistyped_number_is_found(tasks):
    caught = 0
    for task in tasks:
        for slot in task.slots:
            if slot.known == "stated" and slot.meaning in ("price under", "price at most") and "$" in slot.said:
                typed = slot.said.replace("$", "$1")
                wrong = find_misread_words(change(task, slot, typed=typed), Shop())
                assert wrong, typed
                assert "number" in wrong or "refusal" in wrong
                caught += 1
    assert caught


def test_a_mistyped_key_of_a_refusal_is_found():
    refusing = [name for name, env in all_envs().items() if env.refusals]
    found = (
        (task, slot, value)
        for task in iterate_tasks(12, 40, refusing, noise=0.0)
        if not task.feasible
        for slot in task.slots
        if slot.known == "stated" and slot.name in json.loads(task.nearest_miss).get("breaks", [])
        if (value := next((each.value for each in slot.facts if each.name == "value"), "")).isalpha()
        if value in slot.said
    )
    some = list(islice(found, 3))
    assert len(some) == 3
    for task, slot, value in some:
        wrong = find_misread_words(change(task, slot, typed=slot.said.replace(value, value.upper())), Shop())
        assert wrong
        assert "refusal" in wrong


def test_words_that_were_not_typed_are_found(mistyped_facts):
    for task, slot in mistyped_facts:
        clean = task.model_copy(update={"opening": change(task, slot, typed="").opening})
        if slot.typed.lower() != slot.said.lower() and slot.typed.lower() not in clean.opening.lower():
            assert find_misread_words(clean, Shop())
            assert every_slot_can_be_learnt(clean, Shop()) == "a slot that is stated is not in the opening"


def test_a_mistyped_fact_that_no_slot_tells_of_is_found(mistyped_facts):
    for task, slot in mistyped_facts:
        if slot.typed.lower() != slot.said.lower() and slot.said.lower() not in task.opening.lower():
            hidden = [each.model_copy(update={"typed": ""}) if each is slot else each for each in task.slots]
            assert "no slot says how" in find_misread_words(task.model_copy(update={"slots": hidden}), Shop())
    task, slot = next((task, slot) for task, slot in mistyped_facts if slot.meaning == "value color")
    longer = change(task, slot, typed="", said=slot.said)  # "in navyy" has "in navy" in it
    longer = longer.model_copy(update={"opening": longer.opening.replace(slot.said, f"{slot.said}{slot.said[-1]}")})
    assert "no slot says how" in find_misread_words(longer, Shop())


def test_a_title_cut_to_what_two_have_is_not_read(mistyped_facts):
    titles = [(task, slot) for task, slot in mistyped_facts if slot.form == "thing" and not slot.meaning]
    assert titles
    for task, slot in titles:
        short = " ".join(slot.said.split()[:2]).rstrip(",")
        assert find_misread_words(change(task, slot, typed=short), Shop())


# The shop's search


def test_the_search_of_the_shop_corrects_a_word():
    episode = Episode(
        get_env("product_discovery"), gym.world(), draw_task(get_env("product_discovery"), gym.world(), 0, 1)
    )
    episode.reset()
    found, meant = (
        call_tool(episode.shop, "catalog_search", {"query": text}) for text in ("electric ketle", "electric kettle")
    )
    assert found["searched_for"] == "electric kettle"
    assert found["results"] == meant["results"]
    assert "searched_for" not in meant
