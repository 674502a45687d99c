"""A reply that fails is sent back with what failed; what never was right is told with all that was wrong."""

from datetime import date

import pytest
from pydantic import BaseModel, ConfigDict

from pipeline.models.base import Reply
from pipeline.models.written import TRIES, Unwritten, Wrong, as_json, schema_of, written
from tests.models.asking import prompt, role
from tests.models.server import Plan, Server


class Toy(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int
    word: str = "none"


class Dated(BaseModel):
    day: date
    pair: tuple[int, float]


def heard(conversation, *replies):
    """The prompts of a conversation that hears these replies, and what came of it."""
    waiting = list(replies)
    try:
        prompts = [next(conversation)]
        while True:
            prompts.append(conversation.send(waiting.pop(0)))
    except StopIteration as end:
        assert not waiting, "it did not hear all of them"
        return prompts, end.value


def short(reply):
    if len(reply.text) > 3:
        raise Wrong(f"{reply.text!r} is too long.")
    return reply.text.upper()


def test_a_reply_that_is_right_is_asked_for_once():
    prompts, found = heard(written(prompt(1), short), Reply("yes"))
    assert (prompts, found) == ([prompt(1)], "YES")


def test_a_reply_that_fails_is_sent_back_with_what_failed():
    prompts, found = heard(written(prompt(1), short), Reply("surely"), Reply("yes"))
    assert found == "YES"
    *before, reply, fault = prompts[1].messages
    assert tuple(before) == prompt(1).messages
    assert reply == {"role": "assistant", "content": "surely"}
    assert fault["role"] == "user"
    assert "'surely' is too long." in fault["content"]


def test_what_is_asked_again_is_the_same_otherwise():
    asked = prompt(1, seed=4, schema=schema_of(Toy), tools=({"name": "look"},))
    prompts, _ = heard(written(asked, short), Reply("surely"), Reply("yes"))
    assert {**vars(prompts[1]), "messages": ()} == {**vars(asked), "messages": (), "seed": 5, "sent_back": 1}


def test_who_errs_twice_the_same_is_not_asked_the_same():
    prompts, _ = heard(written(prompt(1), short), Reply("surely"), Reply("surely"), Reply("yes"))
    assert prompts[1].messages == prompts[2].messages
    assert len({asked.seed for asked in prompts}) == 3


def test_only_the_last_reply_is_sent_back():
    prompts, _ = heard(written(prompt(1), short), Reply("first"), Reply("second"), Reply("yes"))
    assert [message["content"] for message in prompts[2].messages[1:-1]] == ["second"]


def test_after_some_tries_all_reasons_and_replies_are_told():
    words = ["first", "second", "third"]
    prompts, found = heard(written(prompt(1), short), *map(Reply, words))
    assert len(prompts) == TRIES == 3
    assert found == Unwritten(tuple(f"{word!r} is too long." for word in words), tuple(words))


def test_a_reply_with_a_fault_is_not_read():
    def read(reply):
        raise AssertionError("it was read")

    prompts, found = heard(written(prompt(1), read, tries=2), *[Reply("y", fault="cut short", finish="length")] * 2)
    assert "cut short" in prompts[1].messages[-1]["content"]
    assert found == Unwritten(("cut short",) * 2, ("y", "y"))


@pytest.mark.parametrize("finish", ["refused", "unanswered"])
def test_what_was_refused_is_not_asked_again(finish):
    prompts, found = heard(written(prompt(1), short), Reply("", fault="HTTP 400: no", finish=finish))
    assert len(prompts) == 1
    assert found == Unwritten(("HTTP 400: no",), ("",))


def test_other_errors_come_out():
    with pytest.raises(ZeroDivisionError):
        heard(written(prompt(1), lambda _: 1 / 0), Reply("yes"))


def test_through_a_server_what_failed_is_mended(tmp_path):
    with Server(Plan({"wrong": 0.5})) as server:
        asked = [prompt(number, schema=schema_of(Toy)) for number in range(60)]
        conversations = (written(each, lambda reply: as_json(reply, Toy), tries=20) for each in asked)
        found = list(role(server.url, tmp_path).play(conversations))
    assert all(isinstance(each, Toy) for each in found)
    assert server.count == 60 + server.struck["wrong"] > 70
    again = [body["messages"][-1]["content"] for body in server.bodies if len(body["messages"]) > 1]
    assert all(text.startswith("That will not do: number: Field required.") for text in again)


def test_a_conversation_of_it_ends_when_it_is_dropped():
    closed = []

    def noted():
        try:
            yield from written(prompt(1), short)
        finally:
            closed.append(True)

    conversation = noted()
    next(conversation)
    conversation.close()
    assert closed


# As a record


def test_a_record_is_read_as_it_is():
    assert as_json(Reply(' {"number": 3, "word": "a\\u00e9\\n"} '), Toy) == Toy(number=3, word="aé\n")
    assert as_json(Reply('{"word": "over\ntwo lines", "number": 1}'), Toy).word == "over\ntwo lines"
    assert as_json(Reply('{"day": "2026-02-28", "pair": [1, 2]}'), Dated).day == date(2026, 2, 28)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "three",
        '{"number": 3',
        '{"number": 3,}',
        "{'number': 3}",
        '```json\n{"number": 3}\n```',
        'Here it is: {"number": 3}',
        '{"number": 3} {"number": 4}',
    ],
)
def test_what_is_no_json_is_not_mended(text):
    with pytest.raises(Wrong, match=r"^the reply is not JSON\.$"):
        as_json(Reply(text), Toy)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"number": "3"}', "number: Input should be a valid integer"),
        ('{"number": 3.0}', "number: Input should be a valid integer"),
        ('{"number": true}', "number: Input should be a valid integer"),
        ('{"number": null}', "number: Input should be a valid integer"),
        ('{"number": 3, "word": 4}', "word: Input should be a valid string"),
        ('{"number": 3, "more": 4}', "more: Extra inputs are not permitted"),
        ("{}", "number: Field required"),
        ("[]", "the reply: "),
        ("3", "the reply: "),
        ("null", "the reply: "),
    ],
)
def test_what_does_not_fit_is_not_guessed_and_told_by_its_field(text, said):
    with pytest.raises(Wrong) as raised:
        as_json(Reply(text), Toy)
    assert str(raised.value).startswith(said)
    assert str(raised.value).endswith(".")


def test_a_day_that_there_is_not_is_wrong():
    with pytest.raises(Wrong, match=r"^day: "):
        as_json(Reply('{"day": "2026-02-30", "pair": [1, 2]}'), Dated)


def test_the_schema_lets_no_other_fields_in():
    assert schema_of(Dated)["additionalProperties"] is False
    assert set(schema_of(Dated)["properties"]) == {"day", "pair"}
