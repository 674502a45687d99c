"""A reply that fails is sent back with what failed; what never was right is told with all that was wrong."""

from datetime import date

import pytest
from pydantic import BaseModel, ConfigDict

from shopwright.pipeline.models.base import Reply, UnansweredRequest
from shopwright.pipeline.models.valid_replies import (
    TRIES,
    InvalidReply,
    NoValidReply,
    ask_until_valid,
    make_rejected_row,
    parse_reply_json,
    schema_of,
)
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
        raise InvalidReply(f"{reply.text!r} is too long.")
    return reply.text.upper()


def test_a_reply_that_is_right_is_asked_for_once():
    prompts, found = heard(ask_until_valid(prompt(1), short), Reply("yes"))
    assert (prompts, found) == ([prompt(1)], "YES")


def test_a_reply_that_fails_is_sent_back_with_what_failed():
    prompts, found = heard(ask_until_valid(prompt(1), short), Reply("surely"), Reply("yes"))
    assert found == "YES"
    *before, reply, fault = prompts[1].messages
    assert tuple(before) == prompt(1).messages
    assert reply == {"role": "assistant", "content": "surely"}
    assert fault["role"] == "user"
    assert "'surely' is too long." in fault["content"]


def test_what_is_asked_again_is_the_same_otherwise():
    asked = prompt(1, seed=4, schema=schema_of(Toy), tools=({"name": "look"},))
    prompts, _ = heard(ask_until_valid(asked, short), Reply("surely"), Reply("yes"))
    assert {**vars(prompts[1]), "messages": ()} == {**vars(asked), "messages": (), "seed": 5, "sent_back": 1}


def test_who_errs_twice_the_same_is_not_asked_the_same():
    prompts, _ = heard(ask_until_valid(prompt(1), short), Reply("surely"), Reply("surely"), Reply("yes"))
    assert prompts[1].messages == prompts[2].messages
    assert len({asked.seed for asked in prompts}) == 3


def test_only_the_last_reply_is_sent_back():
    prompts, _ = heard(ask_until_valid(prompt(1), short), Reply("first"), Reply("second"), Reply("yes"))
    assert [message["content"] for message in prompts[2].messages[1:-1]] == ["second"]


def test_after_some_tries_all_reasons_and_replies_are_told():
    words = ["first", "second", "third"]
    prompts, found = heard(ask_until_valid(prompt(1), short), *map(Reply, words))
    assert len(prompts) == TRIES == 3
    assert found == NoValidReply(tuple(f"{word!r} is too long." for word in words), tuple(words))


def test_a_reply_with_a_fault_is_not_read():
    def read(reply):
        raise AssertionError("it was read")

    prompts, found = heard(
        ask_until_valid(prompt(1), read, tries=2), *[Reply("y", fault="cut short", finish="length")] * 2
    )
    assert "cut short" in prompts[1].messages[-1]["content"]
    assert found == NoValidReply(("cut short",) * 2, ("y", "y"))


def test_what_was_refused_is_not_asked_again():
    prompts, found = heard(ask_until_valid(prompt(1), short), Reply("", fault="HTTP 400: no", finish="refused"))
    assert len(prompts) == 1
    assert found == NoValidReply(("HTTP 400: no",), ("",))


def test_what_was_not_answered_is_told_apart_from_what_was_answered_badly():
    conversation = ask_until_valid(prompt(1), short)
    next(conversation)
    conversation.send(Reply("too long"))
    with pytest.raises(StopIteration) as end:
        conversation.throw(UnansweredRequest("HTTP 500, 8 times"))
    found = end.value.value
    assert found.reasons == ("'too long' is too long.", "HTTP 500, 8 times")
    row = make_rejected_row("toy-1", "words", {}, found)
    assert row.reasons == ["unanswered: words: HTTP 500, 8 times"]


def test_other_errors_come_out():
    with pytest.raises(ZeroDivisionError):
        heard(ask_until_valid(prompt(1), lambda _: 1 / 0), Reply("yes"))


def test_through_a_server_what_failed_is_mended(tmp_path):
    with Server(Plan({"wrong": 0.5})) as server:
        asked = [prompt(number, schema=schema_of(Toy)) for number in range(60)]
        conversations = (ask_until_valid(each, lambda reply: parse_reply_json(reply, Toy), tries=20) for each in asked)
        found = list(role(server.url, tmp_path).play(conversations))
    assert all(isinstance(each, Toy) for each in found)
    assert server.count == 60 + server.struck["wrong"] > 70
    again = [body["messages"][-1]["content"] for body in server.bodies if len(body["messages"]) > 1]
    assert all(text.startswith("That will not do: number: Field required.") for text in again)


def test_a_conversation_of_it_ends_when_it_is_dropped():
    closed = []

    def noted():
        try:
            yield from ask_until_valid(prompt(1), short)
        finally:
            closed.append(True)

    conversation = noted()
    next(conversation)
    conversation.close()
    assert closed


# As a record


def test_a_record_is_read_as_it_is():
    assert parse_reply_json(Reply(' {"number": 3, "word": "a\\u00e9\\n"} '), Toy) == Toy(number=3, word="aé\n")
    assert parse_reply_json(Reply('{"word": "over\ntwo lines", "number": 1}'), Toy).word == "over\ntwo lines"
    assert parse_reply_json(Reply('{"day": "2026-02-28", "pair": [1, 2]}'), Dated).day == date(2026, 2, 28)


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
    with pytest.raises(InvalidReply, match=r"^the reply is not JSON\.$"):
        parse_reply_json(Reply(text), Toy)


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
    with pytest.raises(InvalidReply) as raised:
        parse_reply_json(Reply(text), Toy)
    assert str(raised.value).startswith(said)
    assert str(raised.value).endswith(".")


def test_a_day_that_there_is_not_is_wrong():
    with pytest.raises(InvalidReply, match=r"^day: "):
        parse_reply_json(Reply('{"day": "2026-02-30", "pair": [1, 2]}'), Dated)


def test_the_schema_lets_no_other_fields_in():
    assert schema_of(Dated)["additionalProperties"] is False
    assert set(schema_of(Dated)["properties"]) == {"day", "pair"}
