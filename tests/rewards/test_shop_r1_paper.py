"""Our reward and one that was written from the paper's text alone agree on any pair of an answer and a true action."""

import json
from random import Random

import pytest

from shopwright.pipeline.rewards.hierarchical import DEEPEST, reward_prediction
from tests.rewards.shop_r1_paper import NOT_JSON, read_json, reward

NAMES = [
    "search_input",
    "cart.buy_now",
    "cart.add_to_cart",
    "results.oak_lamp.view",
    "refinements.price.up_to_25",
    "back",
]
TEXTS = ["red steel lamp", "red steel table lamp", "steel lamp under $20", "电饭煲 4L", "Café-table", "lamp"]
ODD = [
    None,
    "",
    " ",
    0,
    7,
    -1.5e300,
    True,
    False,
    [],
    {},
    ["cart.buy_now"],
    {"name": "back"},
    "\ud800",
    "\0",
    "x" * 500,
    "?!",
]


def a_truth(dice):
    kind = dice.choice(["terminate", "click", "type_and_submit"])
    fields = {"terminate": {}, "click": {"name": dice.choice(NAMES)}}
    return {"type": kind} | fields.get(kind, {"name": "search_input", "text": dice.choice(TEXTS)})


def a_value(dice, usual):
    return dice.choice(ODD) if dice.random() < 0.15 else dice.choice(usual)


def an_action(dice, truth):
    if dice.random() < 0.05:
        return dice.choice([*ODD, [truth], "terminate"])
    found = dict(truth)
    if dice.random() < 0.4:
        found["type"] = a_value(dice, ["terminate", "click", "type_and_submit", "scroll", "Click"])
    for name, usual in (("name", NAMES), ("text", TEXTS), ("sure", ODD)):
        if dice.random() < 0.35:
            found[name] = a_value(dice, usual)
        elif dice.random() < 0.1:
            found.pop(name, None)
    return found


def an_answer(dice, truth):
    found = {"rationale": a_value(dice, ["I want it.", 'I said "rationale": "x"']), "action": an_action(dice, truth)}
    if dice.random() < 0.1:
        found.pop(dice.choice(list(found)))
    if dice.random() < 0.15:
        found[dice.choice(["sure", "Rationale", ""])] = dice.choice(ODD)
    return json.dumps(found, ensure_ascii=dice.random() < 0.5, indent=dice.choice([None, 1]))


def spoilt(dice, text):
    """As a model can end, begin or tear it."""
    at = dice.randrange(len(text) + 1)
    deep = dice.choice([1, DEEPEST - 2, DEEPEST - 1, DEEPEST, 300, 3_000])
    twice = '{"rationale": "No.", "action": {"type": "terminate"}, '
    return dice.choice(
        [
            text[:at],
            text[:at] + dice.choice('"{}[],:\\ \0x7é') + text[at:],
            text[:at] + text[at + 1 :],
            f"```json\n{text}\n```",
            f"<think>Hm.</think>{text}",
            f" \t\r\n{text}\n ",
            f"\u00a0{text}",
            f"\ufeff{text}",
            text * 2,
            f"[{text}]",
            text.replace("{", twice, 1),
            text.replace("{", '{"\\u0061ction": {"type": "terminate"}, ', 1),
            text.replace("{", f'{{"n": {dice.choice(["NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "1e5", "9" * 5_000])}, ', 1),
            text.replace("{", f'{{"n": {"[" * deep}{"]" * deep}, ', 1),
            text.replace("{", f'{{"n": {"[" * deep}, ', 1),
            text.replace("{", '{"n": "[[[[' + "[{" * 200 + '", ', 1),
            text.replace('"', "'"),
            text.replace(",", ",,"),
            text.replace("}", ",}"),
        ]
    )  # fmt: skip


def pairs(count):
    for number in range(count):
        dice = Random(f"shop_r1/{number}")
        truth = a_truth(dice)
        text = an_answer(dice, truth)
        yield (spoilt(dice, text) if dice.random() < 0.4 else text), truth


def test_the_published_reward_is_the_papers_on_any_pair():
    formats = []
    for text, truth in pairs(12_000):
        got, asked = reward_prediction(text, truth), reward(text, truth, DEEPEST)
        assert (got.format, got.action) == pytest.approx(asked, abs=1e-9), (text, truth)
        formats.append(got.format)
    assert 1_500 < formats.count(0.0) < 10_000  # both kinds are tried


@pytest.mark.parametrize(
    ("action", "truth", "format", "paid"),
    [
        ({"type": "terminate", "name": "x"}, {"type": "terminate"}, 0.5, 0.3),
        ({"type": "click", "name": 7}, {"type": "click", "name": "back"}, 0.5, 0.5),
        ({"type": "click", "name": "back", "text": "x"}, {"type": "click", "name": "back"}, 0.5, 1000.5),
        ("terminate", {"type": "terminate"}, 0.5, 0.0),
    ],
)
def test_what_was_refused_once_is_valid_json(action, truth, format, paid):
    for answer in ({"rationale": "", "action": action}, {"rationale": "No.", "action": action, "sure": 1}):
        got = reward_prediction(json.dumps(answer), truth)
        assert (got.format, got.action) == (format, pytest.approx(paid))


@pytest.mark.parametrize(
    "text", ["{}", '{"a": [1, {"b": null}], "c": "\\u00e9\\ud83d\\ude00"}', "[]", "-0.5e+3", '"x"', " [ 1 , 2 ] "]
)
def test_the_second_reader_of_json_reads_it(text):
    assert read_json(text) == json.loads(text)


@pytest.mark.parametrize(
    "text", ["", "{", "[1,]", '{"a"}', "{'a': 1}", "01", "NaN", '"\t"', "[1 2]", '{"a": 1,}', "nul", "[] []", '"\\x"']
)
def test_the_second_reader_of_json_refuses_what_is_none(text):
    assert read_json(text) is NOT_JSON
