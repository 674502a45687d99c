"""vLLM in this process: run where it is installed and SHOPWRIGHT_TEST_VLLM names a small model."""

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from shopwright.pipeline.models.base import Prompt, Sampling, ServerUnreachable, parse_spec
from shopwright.pipeline.models.play import play
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.models.valid_replies import parse_reply_json, schema_of
from shopwright.pipeline.models.vllm import Vllm
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from tests.models.asking import hold_conversations, once, prompt
from tests.models.conftest import FOLDER, OPTIONS, vllm


class Toy(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int
    word: str = Field(pattern="^[a-z ]{1,40}$")


class Bounded(BaseModel):
    word: str = Field(min_length=3, max_length=12)


def ask(engine, prompts, at_once=64):
    return hold_conversations(map(once, prompts), lambda: engine, at_once=at_once)


def test_where_vllm_is_not_installed_it_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(Problem, match=r"vLLM is not installed here\. Install the extra shopwright\[vllm\]"):
        hold_conversations([once(prompt(1))], lambda: Vllm(parse_spec("vllm:here"), Sampling()))


# Asked and told


def test_a_prompt_goes_through_the_models_chat_template(engine):
    tool = {"name": "look", "description": "Looks around.", "parameters": {"type": "object", "properties": {}}}
    more = replace(prompt(1), messages=({"role": "system", "content": "Be brief."}, *prompt(1).messages))
    plain, system, tools = ask(engine, [prompt(1), more, prompt(1, tools=(tool,))])
    tokenizer = engine.model.engine.get_tokenizer()
    text = "<|begin|>system\nBe brief.<|end|>\n<|begin|>user\nsay 1<|end|>\n<|begin|>assistant\n"
    assert system.prompt_tokens == len(tokenizer.encode(text)) > plain.prompt_tokens
    described = json.dumps({"type": "function", "function": tool})
    assert tools.prompt_tokens == plain.prompt_tokens + len(tokenizer.encode(f"<|begin|>tools\n{described}\n<|end|>\n"))


def test_each_prompt_is_drawn_with_its_own_seed(engine):
    asked = [prompt(1, seed=seed) for seed in range(100)]
    replies = ask(engine, asked)
    assert len({reply.text for reply in replies}) > 80
    assert ask(engine, asked[::-1], at_once=7)[::-1] == replies


def test_what_is_not_said_of_how_to_draw_is_as_the_model_has_it(engine):
    ask(engine, [prompt(1)])
    params = engine.model.params(prompt(1, seed=3, sampling=Sampling(temperature=0.1, top_p=0.9, max_tokens=33)))
    assert params.top_k == 200
    assert (params.temperature, params.top_p, params.max_tokens, params.seed) == (0.1, 0.9, 33, 3)


def test_what_prompts_begin_with_is_kept(engine):
    ask(engine, [prompt(1)])
    assert engine.model.engine.vllm_config.cache_config.enable_prefix_caching


def test_200_replies_fit_their_schema_or_were_cut_short(engine):
    replies = ask(engine, [prompt(number, seed=number, schema=schema_of(Toy)) for number in range(200)])
    whole = [reply for reply in replies if not reply.fault]
    assert len(whole) > 150
    assert all(parse_reply_json(reply, Toy).word for reply in whole)
    assert {reply.fault for reply in replies} <= {"", "cut short at its limit of tokens"}


def test_a_bounded_string_can_be_read_with_control_characters_in_it(engine):
    replies = ask(engine, [prompt(number, seed=number, schema=schema_of(Bounded)) for number in range(100)])
    whole = [reply for reply in replies if not reply.fault]
    assert len(whole) > 80
    assert all(3 <= len(parse_reply_json(reply, Bounded).word) <= 12 for reply in whole)


def test_a_reply_that_reaches_its_limit_is_cut_short_and_counted(engine):
    (reply,) = ask(engine, [prompt(1, sampling=Sampling(max_tokens=3))])
    assert (reply.fault, reply.finish, reply.tokens) == ("cut short at its limit of tokens", "length", 3)


def test_a_prompt_that_leaves_little_room_is_cut_short(engine):
    (reply,) = ask(engine, [prompt("x" * 2_028)])
    assert (reply.finish, reply.prompt_tokens + reply.tokens) == ("length", 2_048)


# What it refuses

REFUSED = {
    "too long": (prompt("x" * 5_000), "maximum context length is 2048 tokens"),
    "no such type": (prompt(1, schema={"type": "nonsense"}), "nonsense"),
    "no such format": (prompt(1, schema={"type": "string", "format": "nonsense"}), "nonsense"),
    "a pattern that looks ahead": (prompt(1, schema={"type": "string", "pattern": "(?<=a)b"}), "look-around"),
    "no messages": (Prompt("toy", ()), "empty conversation"),
    "no room": (prompt(1, sampling=Sampling(max_tokens=0)), "max_tokens must be at least 1"),
}


def test_what_is_refused_is_the_fault_of_that_prompt_alone(engine):
    good = [prompt(number, seed=number) for number in range(20)]
    alone = ask(engine, good)
    mixed = ask(engine, [*good[:10], *(asked for asked, _ in REFUSED.values()), *good[10:]])
    assert [*mixed[:10], *mixed[-10:]] == alone
    for (_, words), reply in zip(REFUSED.values(), mixed[10:-10], strict=True):
        assert reply.fault.startswith("vLLM: ")
        assert words in reply.fault
        assert (reply.text, reply.finish) == ("", "refused")


# Many at once, and not at all


def test_thousands_at_once_come_in_order_and_hear_their_own_replies(engine):
    def twice(number):
        asked = prompt(number, seed=number, sampling=Sampling(max_tokens=8))
        first = yield asked
        second = yield asked.again(first.text, "again")
        return number, first.prompt_tokens, second.prompt_tokens

    found = hold_conversations(map(twice, range(1_500)), lambda: engine, at_once=1_500)
    assert [number for number, _, _ in found] == list(range(1_500))
    assert all(first < second for _, first, second in found)


def test_conversations_that_are_let_go_do_not_stay_with_the_engine(engine):
    async def run():
        endless = replace(prompt(1), sampling=Sampling(max_tokens=2_000))
        async with asyncio.timeout(0.5):
            asked = (once(replace(endless, seed=number)) for number in range(500))
            return [found async for found in play(asked, engine, at_once=500)]

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    until = time.monotonic() + 10
    while engine.model.engine.get_num_unfinished_requests() and time.monotonic() < until:
        time.sleep(0.05)
    assert not engine.model.engine.get_num_unfinished_requests()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("options", [{"nonsense": 1}, {"max_model_len": 999_999}, {"dtype": "float7"}])
def test_options_that_it_does_not_take_are_a_problem(options):
    with pytest.raises(Problem, match=f"vLLM does not start with {FOLDER}: .*{next(iter(options))}"):
        hold_conversations(
            [once(prompt(1))], lambda: Vllm(parse_spec(f"vllm:{FOLDER}"), Sampling(), **{**OPTIONS, **options})
        )


@pytest.mark.usefixtures("tiny")
def test_a_model_that_is_not_there_is_a_problem():
    with pytest.raises(Problem, match="vLLM does not start with /no/such/model: "):
        hold_conversations([once(prompt(1))], lambda: Vllm(parse_spec("vllm:/no/such/model"), Sampling()))


# Engines of their own


def talker(number):
    heard = yield prompt(number, seed=number)
    while True:
        heard = yield prompt(number, seed=heard.tokens)


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_an_engine_that_ends_ends_the_work_with_what_to_do():
    async def run(model):
        before = multiprocessing.active_children()
        await model.reply(prompt(1))
        (core,) = set(multiprocessing.active_children()) - set(before)
        asyncio.get_running_loop().call_later(0.3, os.kill, core.pid, signal.SIGKILL)
        try:
            async for _ in play(map(talker, range(20)), model, at_once=20):
                pass
        finally:
            await model.close()

    with pytest.raises(ServerUnreachable, match="run the same command again to go on"):
        asyncio.run(run(vllm()))


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_a_model_that_thinks_first_is_held_to_the_schema_after_that():
    model = vllm(reasoning_parser="qwen3", chat_template_kwargs={"enable_thinking": True})
    asked = [prompt(number, seed=number, schema=schema_of(Toy)) for number in range(300)]
    replies = hold_conversations(map(once, asked), lambda: model, at_once=300)
    thought = [reply for reply in replies if reply.reasoning and not reply.fault]
    assert len(thought) >= 5
    assert all(parse_reply_json(reply, Toy).word for reply in thought)


KILLED = """
import os, sys
from tests.models.asking import once, prompt
from tests.models.conftest import vllm
import asyncio, multiprocessing

async def run():
    await vllm().reply(prompt(1))
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    os.kill(os.getpid(), 9)

if __name__ == "__main__":
    asyncio.run(run())
"""


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
def test_an_engine_does_not_outlive_a_process_that_is_killed(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(tmp_path / "killed.py")]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=environment, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = set(map(int, done.stdout.split()))
    assert left
    until = time.monotonic() + 60
    while any(map(alive, left)) and time.monotonic() < until:
        time.sleep(0.2)
    assert not any(map(alive, left))


def alive(process):
    """Whether it is there and not only waits to be fetched."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# Through a server of the same model

SERVED = os.environ.get("SHOPWRIGHT_TEST_TINY", "")
"""NAME@URL of a server of the model, and `constrained:` before it where that server holds replies to their schema."""


@pytest.mark.skipif(not SERVED, reason="SHOPWRIGHT_TEST_TINY names no server")
def test_of_random_words_nothing_is_accepted_and_nothing_is_lost(tmp_path):
    name, count = SERVED.removeprefix("constrained:"), 5
    models = Models(model=f"openai:{name}", at_once=4)
    made = Run(tmp_path, workers=1, models=models).build("personas", count=count, products=1_200)
    assert (made.rows, made.rejected, sum(made.rejects.values())) == (0, count, count)
    rejected = list(Run(tmp_path).read("personas").quarantine)
    assert len({row.id for row in rejected}) == count
    tries = [json.loads(row.record)["tries"] for row in rejected]
    assert all(row.reasons and each["wrong"] for row, found in zip(rejected, tries, strict=True) for each in found)
    replies = [json.loads(line) for path in (tmp_path / "replies").glob("*.jsonl") for line in path.open()]
    assert len(replies) == sum(made.usage["personas"]["times"]) == sum(map(len, tries)) > count
    if SERVED.startswith("constrained:"):
        whole = [each["text"] for each in replies if not each.get("fault")]
        assert whole
        assert all(list(json.loads(text, strict=False)) == ["description"] for text in whole)
