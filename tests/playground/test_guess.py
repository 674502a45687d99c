"""A visitor's predictions without any browser."""

import json

import pytest

from shopwright.pipeline.playground.guess import NOT_BEGUN, OVER, Guess
from shopwright.pipeline.playground.shop import PlaygroundShop


@pytest.fixture
def guess(small):
    guess = Guess(PlaygroundShop(str(small.folder)))
    guess.reset(1)
    return guess


def truth(guess):
    return json.loads(guess.step.action)


def predict(guess, action):
    return guess.predict(action["type"], action.get("name", ""), action.get("text", ""))


def test_the_true_actions_are_all_right_and_lead_through_the_session(guess):
    steps = len(guess.playing.steps)
    assert guess.at == 1  # the first move is told
    for place in range(1, steps):
        assert predict(guess, truth(guess)) == ""
        assert guess.made[-1].earned.exact
        assert (guess.forward() == "") == (place < steps - 1)
    assert guess.over
    assert guess.right == steps - 1
    assert len(guess.before) == steps - 1
    assert guess.forward() == guess.predict("terminate") == OVER


def test_what_was_really_done_is_hidden_until_it_is_guessed(guess):
    assert not guess.is_solved
    assert guess.forward() == "Guess this step first."
    guess.predict("terminate")
    assert guess.is_solved
    assert guess.predict("terminate").startswith("This step is guessed")
    assert len(guess.made) == 1


def test_a_wrong_kind_earns_the_form_alone(guess):
    wrong = "terminate" if truth(guess)["type"] != "terminate" else "click"
    guess.predict(wrong, "anything")
    assert not guess.made[0].earned.exact
    assert guess.total == 0.5


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("click", "Say what was clicked."),
        ("type_and_submit", "Say what was typed."),
        ("dance", "Say what the customer did: a click, a search, or leaving."),
    ],
)
def test_an_unfinished_guess_is_said_and_is_none(guess, kind, why):
    assert guess.predict(kind) == why == guess.fault
    assert guess.made == []


def test_nothing_can_be_done_before_it_begins(small):
    guess = Guess(PlaygroundShop(str(small.folder)))
    assert guess.forward() == guess.predict("terminate") == NOT_BEGUN
