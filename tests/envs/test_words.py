"""What the simulated users say: many ways, one voice a person, the test's words apart, and all of it read back."""

import ast
import json
import re
from pathlib import Path
from random import Random

import pytest

from shopwright.pipeline.checks.openings import find_misread_words, make_vocabulary
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.episode import Episode, draw_task
from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.phrases.grammar import REGISTERS
from shopwright.pipeline.phrases.speaker import Speaker, draw_speaker
from shopwright.pipeline.reading import wishes
from shopwright.pipeline.shop.user_simulator import UserSimulator
from shopwright.schemas.tasks import Slot

BANK = load_grammar_bank("envs")
OPENINGS = {
    "cart_building": ({"items": "A", "rule": "B"}, {}),
    "substitution": ({"original": "A", "list": "B"}, {}),
    "product_discovery": ({"thing": "A", "bare": "A", "list": "B", "most": "3"}, {}),
    "return_replacement": (
        {"thing": "A", "clues": "B", "instead": "C", "needs": "D"},
        {"more": "told more", "then": "instead of it", "needed": "that must be"},
    ),
    "order_tracking": ({"clues": "A", "wants arrival": "B"}, {"arrival": "arrival too"}),
    "policy_qa": ({"question": "A?", "case": "B"}, {"about": "the case"}),
    "bundle_planning": (
        {"project": "A", "list": "B", "budget": "C", "wishes": "D"},
        {"spend": "spend so much", "each": "each wish"},
    ),
    "one_seller": ({"list": "A", "seller": "B", "wishes": "C"}, {"each": "each wish"}),
    "voucher": (
        {"list": "A", "terms": "B", "budget": "C", "wishes": "D"},
        {"with": "tells voucher", "spend": "spend so much", "each": "each wish"},
    ),
    "journey 2": ({"r1": "A", "r2": "B"}, {"begins": "begins journey", "goes": "goes on with", "more": ""}),
}
ACTS = (
    *(
        "tells",
        "tells_again",
        "volunteers",
        "does_not_mind",
        "has_no_slot",
        "said_it_all",
        "confirms",
        "does_not_understand",
    ),
    *("goes_on", "corrects", "remarks", "switches", "is_dissatisfied", "gives_up"),
)
WRITER = ("shopwright.pipeline.phrases", "shopwright.pipeline.envs", "shopwright.pipeline.shop")


@pytest.fixture(scope="module")
def tasks(world):
    return [draw_task(get_env(name), world, seed % 13, 700 + seed) for name in all_envs() for seed in range(13)]


class Shop:
    """A catalog as the check knows it."""

    def __init__(self, world):
        self.vocabulary = make_vocabulary(world.store)

    def once(self, make):
        return self.vocabulary


@pytest.fixture(scope="module")
def shop(world):
    return Shop(world)


@pytest.mark.parametrize("meaning", OPENINGS)
def test_an_opening_has_five_hundred_frames_at_least(meaning):
    facts, parts = OPENINGS[meaning]
    random = Random(1)
    speakers = [Speaker(register) for register in REGISTERS]
    said = {speakers[n % len(speakers)].sentence(meaning, facts, random, parts=parts).text for n in range(1_500)}
    assert len(said) >= 500


@pytest.mark.parametrize("act", ACTS)
def test_an_act_has_sixty_frames_at_least(act):
    said = set()
    for n in range(1_200):
        user = UserSimulator([], seed=f"{n}", speaker=Speaker(REGISTERS[n % len(REGISTERS)]))
        said.add(user.word(act, ["\ue005"], ("trait", "thing", "clause")[n % 3]))
    assert len(said) >= 60


def test_each_register_and_use_has_words_for_every_act_and_opening():
    for use in ("train", "test"):
        for register in REGISTERS:
            for meaning in ("hi", "bye", "looking", "could", "gives up", "goes on", "tells trait", *OPENINGS):
                found = BANK.of(meaning, use, register)
                assert {each.register for each in found} in ({register}, {"plain"}), (meaning, use, register)


def test_somebody_speaks_in_one_voice_from_the_opening_on(world, tasks):
    for task in tasks:
        episode = Episode(get_env(task.env), world, task)
        episode.reset()
        assert episode.shopper.speaker == draw_speaker(task.id, use=task.split)
        assert episode.shopper.speaker.register == task.voice
        assert episode.shopper.patience == find_patience(episode.shopper.speaker)
    assert {task.voice for task in tasks} == set(REGISTERS)


def find_patience(speaker):
    return UserSimulator([], seed="0", speaker=speaker).patience


def test_voice_and_patience_are_drawn_apart():
    speakers = [draw_speaker(str(n)) for n in range(600)]
    found = {(each.register, find_patience(each)) for each in speakers}
    assert len(found) == len(REGISTERS) * 3


def test_what_ships_is_read_back(tasks, shop):
    assert [(task.id, why) for task in tasks if (why := find_misread_words(task, shop))] == []


def test_an_opening_that_says_another_fact_is_not_read_as_its_own(tasks, shop):
    caught = 0
    for task in tasks:
        number = re.search(r"\$(\d+)(?![\d.])|(?<![\d.])(\d+)(?= (?:dollars|bucks))", task.opening)
        # What is said of another product is no fact of this task.
        if task.env != "product_discovery" or number is None or json.loads(task.goal)["contrast"]:
            continue
        amount = number[1] or number[2]
        other = task.opening.replace(number[0], number[0].replace(amount, f"{int(amount) + 7}"))
        assert find_misread_words(task.model_copy(update={"opening": other}), shop)
        more = task.model_copy(update={"opening": f"{task.opening} And at most 9 days of delivery."})
        assert find_misread_words(more, shop)
        caught += 1
    assert caught >= 2


def test_what_is_left_out_is_missed(tasks, shop):
    for task in tasks:
        for slot in task.slots:
            if slot.known == "stated" and slot.form == "trait" and task.env == "substitution":
                place = task.opening.lower().index((slot.typed or slot.said).lower())
                less = task.opening[:place] + task.opening[place + len(slot.typed or slot.said) :]
                assert find_misread_words(task.model_copy(update={"opening": less}), shop), (task.opening, slot.said)


def test_the_reader_shares_nothing_with_the_writer():
    source = Path(wishes.__file__).read_text(encoding="utf-8")
    names = [node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.startswith(WRITER)]
    assert "data/reference" not in source


def test_nobody_says_what_no_person_would(tasks):
    for task in tasks:
        said = f"{task.opening} {' '.join(slot.said for slot in task.slots)}"
        contrast = [Slot.model_validate(each) for each in json.loads(task.goal).get("contrast", [])]
        for slot in [*task.slots, *contrast]:
            if "brand" in slot.name:  # a maker may have two names, a category not
                said = said.replace(slot.value, "it")
        assert not re.search(
            r"drone fly|something from [A-Z][a-z]+ [A-Z][a-z]|\b1 pieces|\ba [aeio]\w+ (?:lamp|headset)", said
        ), said


def test_what_is_not_meant_comes_last(tasks):
    """There is no other one before the first, and nobody greets in the middle."""
    found = 0
    for task in tasks:
        for slot in json.loads(task.goal)["contrast"]:
            said = slot["said"].rstrip(".").lower()
            assert said in task.opening.lower()
            behind = task.opening.lower().rpartition(said)[2]
            assert not any(
                (each.typed or each.said).rstrip(".").lower() in behind for each in task.slots if each.known == "stated"
            )
            found += 1
    assert found >= 4


def test_a_side_is_the_customers(tasks):
    for task in tasks:
        same = {
            other.split
            for other in tasks
            if other.persona_id == task.persona_id and task.persona_id.startswith("persona")
        }
        assert len(same) <= 1
        assert json.loads(task.goal)["persona_id"] == task.persona_id
