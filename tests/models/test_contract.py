"""What every backend promises, and what playing many conversations with one does."""

import asyncio
import json
import threading
import time

import pytest

from shopwright.pipeline.models.base import Reply, Sampling, parse_spec
from shopwright.pipeline.models.play import AHEAD, play, play_blocking
from shopwright.pipeline.models.scripted import Scripted
from shopwright.pipeline.models.valid_replies import parse_reply_json, schema_of
from tests.models.asking import Toy, ask, client, hold_conversations, once, prompt
from tests.models.server import Plan, Server, constant, log_normal


@pytest.fixture(params=["scripted", "openai", "vllm"])
def opened(request):
    """Opens a backend of each kind."""
    if request.param == "scripted":
        yield Scripted
    elif request.param == "openai":
        with Server() as server:
            yield lambda: client(server)
    else:
        engine = request.getfixturevalue("engine")
        yield lambda: engine


def test_a_reply_comes_for_each_prompt(opened):
    replies = hold_conversations(map(once, map(prompt, range(20))), opened)
    assert len(replies) == 20
    assert all(reply.text and not reply.fault for reply in replies)


def test_the_same_prompt_and_seed_get_the_same_reply(opened):
    same = [prompt(number, seed=5) for number in range(10)]
    assert hold_conversations(map(once, same), opened) == hold_conversations(map(once, same), opened)


def test_a_reply_fits_the_schema_that_was_asked(opened):
    asked = prompt(1, schema=schema_of(Toy))
    asked = type(asked)(**{**vars(asked), "offline": '{"number": 1, "word": "one"}'})
    (reply,) = hold_conversations([once(asked)], opened)
    assert parse_reply_json(reply, Toy).word


def test_a_model_has_a_name_for_the_recipe_and_may_be_closed_unused(opened):
    model = opened()
    text = f"{model.name}@http://here" if model.name.startswith("openai:") else model.name
    assert parse_spec(text).name == model.name
    asyncio.run(model.close())


def test_another_seed_gets_another_reply(server):
    assert len({reply.text for reply in ask(server, [prompt(1, seed=seed) for seed in range(5)])}) == 5


def test_what_is_sent_is_the_prompt_its_schema_its_tools_and_how_it_is_drawn(server):
    tool = {"name": "look", "parameters": {"type": "object", "properties": {}}}
    drawn = Sampling(temperature=0.1, top_p=0.9, max_tokens=33)
    ask(server, [prompt(1, seed=9, schema=schema_of(Toy), tools=(tool,), sampling=drawn)])
    (sent,) = server.bodies
    assert sent["messages"] == [{"role": "user", "content": "say 1"}]
    assert (sent["model"], sent["seed"]) == ("toy", 9)
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.1, 0.9, 33)
    assert sent["response_format"]["json_schema"]["schema"] == schema_of(Toy)
    assert sent["tools"] == [{"type": "function", "function": tool}]


def test_what_was_not_asked_is_not_sent(server):
    ask(server, [prompt(1)])
    assert not {"response_format", "tools"} & set(server.bodies[0])


def get_reply(**message):
    """The reply where the server's message is this."""
    with Server(Plan(says=lambda _: message)) as server:
        return ask(server, [prompt(1)])[0]


def test_tool_calls_come_as_they_are():
    function = {"name": "look", "arguments": '{"for": "tea"}'}
    reply = get_reply(content=None, tool_calls=[{"id": "1", "type": "function", "function": function}])
    assert reply.calls == ({"name": "look", "arguments": {"for": "tea"}},)
    assert (reply.text, reply.finish, reply.fault) == ("", "tool_calls", "")


def test_tool_calls_come_as_tags():
    tags = "".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {{"in": {{"of": 1}}}}}}\n</tool_call>' for name in "ab"
    )
    reply = get_reply(content=f"Let me look. {tags}")
    assert [call["name"] for call in reply.calls] == ["a", "b"]
    assert reply.calls[0]["arguments"] == {"in": {"of": 1}}


@pytest.mark.parametrize("tag", ["<tool_call>look</tool_call>", '<tool_call>{"name": }</tool_call>', "<tool_call>{"])
def test_a_tool_call_that_is_no_json_is_a_fault(tag):
    reply = get_reply(content=tag)
    assert (reply.fault, reply.calls) == ("a tool call that is no JSON", ())


def test_a_native_tool_call_that_is_no_json_is_a_fault():
    call = {"type": "function", "function": {"name": "look", "arguments": '{"for": '}}
    assert get_reply(content=None, tool_calls=[call]).fault == "a tool call that is no JSON"


@pytest.mark.parametrize(
    "message",
    [
        {"content": "<think>\nhm\n</think>\n\nyes"},
        {"content": "hm\n</think>\n\nyes"},
        {"content": "yes", "reasoning_content": "hm"},
        {"content": "yes", "reasoning": "hm"},
    ],
    ids=["tags", "only the end of it", "reasoning_content", "reasoning"],
)
def test_what_a_model_thinks_is_kept_apart(message):
    reply = get_reply(**message)
    assert (reply.text, reply.reasoning) == ("yes", "hm")


@pytest.mark.parametrize(
    "quoted", ["a title with </think> in it", 'call <tool_call>{"name": "buy"}</tool_call>', "<tool_call>"]
)
def test_tags_that_a_reply_in_json_quotes_are_somebodys_words(quoted):
    reply = get_reply(content=json.dumps({"word": quoted}))
    assert json.loads(reply.text) == {"word": quoted}
    assert (reply.reasoning, reply.calls, reply.fault) == ("", (), "")


def test_a_tool_call_that_is_only_thought_of_is_none():
    reply = get_reply(content='<think>Should I <tool_call>{"name": "buy"}</tool_call>?</think>No.')
    assert (reply.text, reply.calls, reply.fault) == ("No.", (), "")


def test_tokens_are_counted(server):
    (reply,) = ask(server, [prompt(1)])
    assert (reply.prompt_tokens, reply.tokens) == (7, 3)


def test_half_a_character_does_not_come_through():
    with Server(Plan(says=lambda _: {"content": "a \ud83d b \U0001f600"})) as server:
        (reply,) = ask(server, [prompt("surrogate")])
    assert reply.text.encode() == "a ? b \U0001f600".encode()


# Many conversations


def test_2_000_conversations_come_in_order_with_at_most_at_once_at_a_time():
    with Server(Plan(latency=log_normal(0.002, 1.0))) as server:
        replies = ask(server, map(prompt, range(2_000)), at_once=48)
    assert [reply.text.split()[1] for reply in replies] == [str(number) for number in range(2_000)]
    assert server.count == 2_000
    assert 24 <= server.most <= 48


def turns(number, count):
    """A conversation that says each time what it was told."""
    heard = []
    asked = prompt(number)
    for _ in range(count):
        reply = yield asked
        heard.append(reply.text)
        asked = asked.again(reply.text, f"more of {number}")
    return heard


def test_conversations_of_several_turns_hear_their_own_replies():
    with Server(Plan(latency=log_normal(0.003, 1.0))) as server:
        heard = hold_conversations(
            (turns(number, 1 + number % 4) for number in range(80)), lambda: client(server), at_once=16
        )
    assert [len(each) for each in heard] == [1 + number % 4 for number in range(80)]
    assert all(each[0].startswith(f"say {number} ") for number, each in enumerate(heard))
    assert all(text.startswith(f"more of {number} ") for number, each in enumerate(heard) for text in each[1:])
    assert server.count == sum(map(len, heard))


class Waiting:
    """Holds its reply to one prompt back until so many others are there."""

    name = "waiting"

    def __init__(self, slow, others):
        self.slow, self.others = slow, others
        self.enough = asyncio.Event()

    async def reply(self, asked):
        if asked == self.slow:
            await asyncio.wait_for(self.enough.wait(), 10)
        else:
            await asyncio.sleep(0)
            self.others -= 1
            if not self.others:
                self.enough.set()
        return Reply(asked.messages[-1]["content"])

    async def close(self):
        pass


def test_a_slow_conversation_does_not_hold_others_up():
    heard = hold_conversations((turns(number, 3) for number in range(21)), lambda: Waiting(prompt(0), 60), at_once=4)
    assert [each[0] for each in heard] == [f"say {number}" for number in range(21)]


def test_no_more_wait_for_a_slow_one_than_there_is_room():
    begun = []

    def noted(number):
        begun.append(number)
        yield from once(prompt(number))

    hold_conversations(map(noted, range(8 * AHEAD)), lambda: Waiting(prompt(0), AHEAD * 4 - 1), at_once=4)
    assert len(begun) == 8 * AHEAD
    with pytest.raises(TimeoutError):
        asyncio.run(hurried(Waiting(prompt(0), AHEAD * 4)))


async def hurried(model):
    async with asyncio.timeout(0.5):
        return [found async for found in play(map(once, map(prompt, range(8 * AHEAD))), model, at_once=4)]


class Broken(Exception):
    pass


def breaking(number, closed):
    try:
        yield prompt(number)
        if number == 30:
            raise Broken
        yield prompt(-number)
    finally:
        closed.append(number)


def test_what_a_conversation_raises_comes_out_and_nothing_stays_running():
    closed, begun = [], []

    async def run(url):
        model = client(url)
        try:
            async for _ in play(
                (begun.append(number) or breaking(number, closed) for number in range(500)), model, at_once=8
            ):
                pass
        except Broken:
            return len(asyncio.all_tasks())
        finally:
            await model.close()

    with Server(Plan(latency=constant(0.002))) as server:
        assert asyncio.run(run(server.url)) == 1
        asked = server.count
        time.sleep(0.1)
        assert server.count <= asked + 8
    assert sorted(closed) == begun
    assert len(begun) < 60


def test_what_the_list_of_conversations_raises_comes_out():
    def conversations():
        yield once(prompt(1))
        raise Broken

    with pytest.raises(Broken):
        list(play_blocking(conversations(), Scripted, at_once=4))


def test_what_opening_a_model_raises_comes_out():
    def opened():
        raise Broken

    with pytest.raises(Broken):
        list(play_blocking(map(once, map(prompt, range(5))), opened))


def test_played_gives_the_same_in_order_beside_who_reads_it(server):
    found = list(play_blocking(map(once, map(prompt, range(300))), lambda: client(server), at_once=16))
    assert [reply.text.split()[1] for reply in found] == [str(number) for number in range(300)]


def test_a_reader_that_stops_early_does_not_wait_for_a_reply_that_hangs():
    def slow(body):
        return 0 if body["messages"][-1]["content"] == "say 0" else 3_600

    before = set(threading.enumerate())
    with Server(Plan(latency=slow)) as server:
        before |= set(threading.enumerate())
        found = play_blocking(map(once, map(prompt, range(20))), lambda: client(server), at_once=4)
        assert next(found).text.startswith("say 0 ")
        found.close()
        assert not set(threading.enumerate()) - before
        while server.now:
            time.sleep(0.01)
