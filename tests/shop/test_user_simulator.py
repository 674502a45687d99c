"""What the simulated user says, and what it never says."""

import pickle
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.user_simulator import (
    DIMENSIONS,
    SimulatorReply,
    UserSimulator,
    draw_preferences,
)
from shopwright.schemas.tasks import Slot


class Notice(NamedTuple):
    key: str
    said: str
    meaning: str = ""
    facts: dict[str, str] = {}  # noqa: RUF012


def slot(name, said, known="asked", topics=()):
    return Slot(name=name, said=said, known=known, topics=list(topics))


SLOTS = [
    slot("category", "desk lamp", "stated"),
    slot("price", "at most $40", "stated"),
    slot("brand", "Norrvik"),
    slot("color", "deep red"),
    slot("quantity", "3 pieces"),
    slot("shipping days", "at most 5 days"),
    slot("order", "the one with the mug", "inferable"),
]
LEFT_OUT = [each for each in SLOTS if each.known == "asked"]
WRONG = Notice("variant", "that is the Lightning version, I need USB-C")
ASIDE = "Something else: does a gift card expire?"


def shopper(slots=SLOTS, seed="task-1", **more):
    return UserSimulator(slots, seed=seed, **more)


def hear(who, message="", notices=(), *, turn=1, worked=False):
    return who.hear(message, list(notices), turn=turn, worked=worked)


def facts_in(text):
    return [each.name for each in SLOTS if each.said.lower() in text.lower()]


def says_again(text, said):
    """Whether it is said as something is that was said before."""
    ways = chain.from_iterable(way.frames() for way in Speaker().bank.of("tells again", "train", "plain"))
    return text.lower() in {frame.replace("{fact}", said).lower() for frame in ways}


# What is answered


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which brand?", ["brand"]),
        ("Any preferred shade?", ["color"]),
        ("Which colour and how many?", ["color", "quantity"]),
        ("What is your budget?", ["price"]),
        ("Which order do you mean?", ["order"]),
        ("Brand, and how many?", ["brand", "quantity"]),
        ("Brand, color, budget, and how many?", ["brand"]),  # nobody fills in a form
    ],
)
def test_exactly_what_is_asked_is_told(question, names):
    for seed in range(20):
        who = shopper(seed=str(seed))
        assert sorted(facts_in(who.answer(question))) == sorted(names)
        assert {name for name, state in who.disclosure.items() if state == "told"} == set(names) - {"price"}


@pytest.mark.parametrize("question", ["Anything else?", "Do you have any preferences?", "What do you need?"])
def test_a_general_question_is_told_one_thing_that_was_left_out(question):
    assert facts_in(shopper().answer(question)) == ["brand"]


def test_of_many_questions_in_one_turn_two_topics_are_taken_up():
    who = shopper()
    told = [facts_in(who.answer(question)) for question in ("Which brand?", "Which color?", "How many?")]
    assert told == [["brand"], ["color"], []]
    hear(who)
    assert facts_in(who.answer("How many?")) == ["quantity"]


def test_general_questions_come_to_an_end():
    who = shopper()
    told = []
    for _ in range(6):
        told.append(facts_in(who.answer("Anything else?")))
        hear(who)
    assert told == [["brand"], ["color"], ["quantity"], ["shipping days"], [], []]
    assert hear(who, "Anything else I should know?").act == "done"


def test_what_can_be_looked_up_is_told_when_asked_but_not_brought_up():
    who = shopper([slot("order", "the one with the mug", "inferable")])
    assert "mug" not in who.answer("Anything else?")
    assert who.disclosure == {"order": "inferable"}
    assert "mug" in who.answer("Which order?")


def test_nobody_minds_what_is_no_slot_and_says_so_in_many_ways():
    told = {shopper(seed=str(seed)).answer("Which material?") for seed in range(40)}
    assert len(told) >= 4
    assert all("material" in text.lower() and not facts_in(text) for text in told)


@pytest.mark.parametrize(
    "question", ["Shall I put it into the cart?", "What about lumens?", "?", "", "Hello", "{{ 7 * 7 }}"]
)
def test_other_questions_are_told_nothing(question):
    who = shopper()
    assert not facts_in(who.answer(question))
    assert "told" not in who.disclosure.values()


def test_what_was_told_is_said_again_in_fewer_words():
    for seed in range(20):
        who = shopper(seed=str(seed))
        first, again = who.answer("Which color?"), who.answer("Which color was it?")
        assert "deep red" in first.lower()
        assert "deep red" in again.lower()
        assert says_again(again, "deep red"), again


def test_every_slot_that_was_left_out_can_be_asked_for_by_its_name():
    for each in LEFT_OUT:
        assert each.said in shopper().answer(f"What about the {each.name}?")


def test_a_slot_told_for_one_item_is_not_told_for_another():
    who = shopper([slot("color of item 1", "red"), slot("color of item 2", "blue")])
    assert who.answer("Which color for item 2?").count("blue") == 1
    assert who.disclosure == {"color of item 1": "untold", "color of item 2": "told"}


def test_a_general_question_about_one_item_is_told_one_thing_of_that_item():
    slots = [slot("size of lamp", "12 in"), slot("color of rug", "gray"), slot("size of rug", "6 ft")]
    assert "gray" in shopper(slots).answer("What about the rug?")
    assert "told" not in (who := shopper(slots)).disclosure.values()
    assert "gray" not in who.answer("Is the rug in stock?")


QUESTIONS = [
    *("Which brand?", "What color?", "How many?", "Any preferences?", "What about lumens?", "Shall I go on?", "Hello"),
    *(
        "Which material and which size?",
        "What is the budget?",
        "How fast must it ship?",
        "Which order?",
        "Tell me more.",
    ),
]


def test_whatever_is_asked_the_ledger_holds_all_that_was_said():
    for seed in range(300):
        random, who = Random(seed), shopper(seed=str(seed), noise=0.125)
        heard = set(facts_in("desk lamp at most $40"))
        for _ in range(6):
            heard |= set(facts_in(who.answer(random.choice(QUESTIONS))))
            known = {name for name, state in who.disclosure.items() if state in ("stated", "told")}
            assert heard == known


# What is heard in a turn


def test_an_agent_at_work_is_left_alone():
    assert hear(shopper(), worked=True) == SimulatorReply("", "continue")
    assert hear(shopper(), "I am searching now.", worked=True).text == ""


def test_a_message_that_asks_is_answered_and_its_other_sentences_are_not():
    heard = hear(shopper(), "I found one in red from Norrvik, for $35.50. How many do you need?")
    assert facts_in(heard.text) == ["quantity"]
    assert heard.act == "clarify"


def test_a_yes_or_no_question_gets_no_yes():
    heard = hear(shopper(), "I put it into the cart. Shall I check out?")
    assert heard.act == "confirm"
    assert not {"yes", "yep", "sure"} & set(heard.text.lower().replace(",", "").split())


def test_a_statement_is_listened_to():
    assert hear(shopper(), "There are two lamps like that.").act == "continue"


def test_something_wrong_is_corrected_once():
    who = shopper()
    first = hear(who, notices=[WRONG], worked=True)
    assert (first.act, first.caused) == ("correct", 0)
    assert WRONG.said.lower() in first.text.lower()
    assert hear(who, notices=[WRONG], worked=True).text == ""
    assert "not two" in hear(who, notices=[WRONG, Notice("quantity", "not two, 3 pieces")], worked=True).text.lower()
    assert who.disclosure["quantity"] == "told"


def test_two_things_wrong_are_both_said():
    text = hear(shopper(), notices=[WRONG, Notice("b", "one is too many")], worked=True).text
    assert "USB-C" in text
    assert "one is too many" in text.lower()


@pytest.mark.parametrize(("key", "act"), [("sold out v1", "elaborate"), ("next 2", "switch")])
def test_what_is_nobodys_mistake_does_not_count(key, act):
    who = shopper()
    assert hear(who, notices=[Notice(key, "the red one is gone")], worked=True)[1:3] == (act, 1)
    assert hear(who, notices=[Notice(key, "the red one is gone")], worked=True).caused == 0


def test_something_else_is_brought_up_exactly_once_at_its_turn():
    who = shopper(aside=(2, ASIDE))
    heard = [hear(who, turn=turn, worked=True) for turn in range(1, 6)]
    assert [each.act == "switch" for each in heard] == [False, True, False, False, False]
    assert [each.caused for each in heard] == [0, 1, 0, 0, 0]
    assert ASIDE in heard[1].text


def test_a_question_is_answered_even_where_something_else_is_brought_up():
    heard = hear(shopper(aside=(1, ASIDE)), "Which brand?")
    assert heard.act == "switch"
    assert "Norrvik" in heard.text
    assert heard.text.endswith(ASIDE)


def test_two_poor_turns_in_a_row_are_one_too_many():
    who = shopper()
    assert [hear(who).act for _ in range(2)] == ["dissatisfied", "give up"]


@pytest.mark.parametrize(
    "good", [{"worked": True}, {"message": "Which brand?"}, {"message": "There are two such lamps."}]
)
def test_a_good_turn_makes_up_for_a_poor_one(good):
    who = shopper()
    acts = [hear(who).act, hear(who, **good).act, hear(who).act]
    assert acts[0] == acts[2] == "dissatisfied"
    assert acts[1] in ("continue", "clarify")


def test_asking_the_same_again_and_again_ends_it():
    who = shopper()
    assert [hear(who, "Which brand?").act for _ in range(3)] == ["clarify", "clarify", "give up"]
    who = shopper()
    acts = []
    for _ in range(3):
        who.answer("Which brand?")
        acts.append(hear(who, worked=True).act)
    assert acts[-1] == "give up"


def test_saying_the_same_again_and_again_ends_it():
    who = shopper()
    assert [hear(who, "I am on it.").act for _ in range(3)] == ["continue", "dissatisfied", "give up"]


def test_another_question_in_the_same_turn_makes_up_for_the_one_asked_again():
    who = shopper()
    for question in ("Which color?", "How many?", "How fast must it ship?"):
        who.answer("Which brand?")
        who.answer(question)
        assert hear(who, worked=True).act == "continue"


def test_patience_is_a_setting():
    who = shopper(patience=3)
    assert [hear(who).act for _ in range(3)] == ["dissatisfied", "dissatisfied", "give up"]


# Turns that do not count


def test_a_turn_that_was_told_what_had_been_left_out_does_not_count():
    who = shopper()
    who.answer("Which brand?")
    assert hear(who, worked=True).caused == 1
    assert hear(who, worked=True).caused == 0
    assert hear(who, "Which color?").caused == 1


@pytest.mark.parametrize(
    "question", ["What is your budget?", "Which material?", "Shall I go on?", "Which order?", "Which category?", "Hm?"]
)
def test_a_turn_that_asks_for_what_is_known_or_no_slot_counts(question):
    assert hear(shopper(), question).caused == 0
    who = shopper()
    who.answer(question)
    assert hear(who, worked=True).caused == 0


def test_whatever_an_agent_does_no_more_turns_are_free_than_things_were_left_out_or_brought_up():
    for seed in range(300):
        random, who = Random(seed), shopper(seed=str(seed), aside=(3, ASIDE), patience=100)
        free = 0
        for turn in range(1, 40):
            for _ in range(random.randrange(3)):
                who.answer(random.choice(QUESTIONS))
            notices = [Notice("sold out v1", "gone")] * random.randrange(2)
            message = random.choice(["", "Hello.", *QUESTIONS])
            free += hear(who, message, notices, turn=turn, worked=random.random() < 0.5).caused
        assert 1 <= free <= len(LEFT_OUT) + 2


# The same in any process


def conversation(seed):
    who = shopper(seed=seed, noise=0.1, aside=(2, ASIDE))
    told = [who.answer(question) for question in QUESTIONS]
    return [*told, *(str(hear(who, message, [WRONG], turn=turn)) for turn, message in enumerate(QUESTIONS, 1))]


def test_the_same_seed_says_the_same_in_another_process():
    script = "from tests.shop.test_user_simulator import conversation; print(conversation('a'))"
    root = Path(__file__).parents[2]
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=root,
            env={"PYTHONHASHSEED": salt, "PYTHONPATH": str(root)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for salt in ("1", "2")
    }
    assert told == {f"{conversation('a')}\n"}
    assert conversation("a") != conversation("b")


def test_a_shopper_goes_on_where_it_was_after_a_pickle():
    who = shopper(noise=0.1)
    who.answer("Which brand?")
    other = pickle.loads(pickle.dumps(who))
    assert [who.answer(each) for each in QUESTIONS] == [other.answer(each) for each in QUESTIONS]


def test_all_that_was_said_is_kept_in_its_order():
    who = shopper()
    first = who.answer("Which brand?")
    second = hear(who, "How many?")
    assert [each.text for each in who.said] == [first, second.text]
    assert [each.says for each in who.said] == [("Norrvik",), ("3 pieces",)]


def test_facts_come_through_noise_as_they_are():
    for seed in range(100):
        who = shopper(seed=str(seed), noise=0.125)
        assert facts_in(who.answer("Colour, how many?")) == ["color", "quantity"]
    framed = Counter(shopper(seed=str(seed), noise=0.125).answer("Which brand?") for seed in range(100))
    assert len(framed) > 20


@pytest.mark.parametrize("said", ["{{ 7 }}", "\ue000", "{said} %s", 'a "quoted" 12 in', "x" * 2_000, "ümlaut – dash"])
def test_a_fact_is_said_as_it_is_whatever_it_holds(said):
    assert said in shopper([slot("brand", said)]).answer("Which brand?")


# What a shopper weighs


def test_preferences_are_exact_and_add_up():
    found = draw_preferences(SLOTS, Random(1))
    assert list(found) == list(DIMENSIONS)
    assert sum(found.values()) == Fraction(1)
    assert found == draw_preferences(SLOTS, Random(1)) != draw_preferences(SLOTS, Random(2))


@pytest.mark.parametrize(
    ("slots", "parameters"),
    [
        ([], {"price": 2, "rating": 2, "shipping": 1, "brand": 1, "similarity": 1}),
        (SLOTS, {"price": 5, "rating": 2, "shipping": 1, "brand": 1, "similarity": 1}),
        (
            [slot("brand", "Norrvik", "stated"), slot("shipping days", "2", "stated")],
            {"price": 2, "rating": 2, "shipping": 4, "brand": 4, "similarity": 1},
        ),
    ],
)
def test_preferences_are_drawn_as_published(slots, parameters):
    """Mean a / n, variance a (n - a) / (n^2 (n + 1)) of Dirichlet's distribution."""
    drawn = [draw_preferences(slots, Random(seed)) for seed in range(3_000)]
    n = sum(parameters.values())
    for name, a in parameters.items():
        values = [float(each[name]) for each in drawn]
        mean = sum(values) / len(values)
        assert mean == pytest.approx(a / n, abs=0.012)
        assert sum((value - mean) ** 2 for value in values) / len(values) == pytest.approx(
            a * (n - a) / (n * n * (n + 1)), rel=0.12
        )
