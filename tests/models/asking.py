"""Prompts, and ways to ask them; as a program, a process that asks and can be killed."""

import asyncio
import json
import sys
from pathlib import Path

from pydantic import BaseModel

from shopwright.pipeline.models.base import Prompt, Sampling, UnansweredRequest, parse_spec
from shopwright.pipeline.models.openai import OpenAI
from shopwright.pipeline.models.play import play
from shopwright.pipeline.models.role import Models, Role
from tests.models.server import drawn


class Toy(BaseModel):
    number: int
    word: str


def prompt(number, seed=0, **more):
    return Prompt("toy", ({"role": "user", "content": f"say {number}"},), offline=f"said {number}", seed=seed, **more)


def once(asked):
    """A conversation of one turn; where nobody answers it ends with why."""
    try:
        return (yield asked)
    except UnansweredRequest as lost:
        return lost


def turns(number, count):
    """A conversation of so many turns, and what was replied in the last one."""
    asked = prompt(number)
    for _ in range(count):
        reply = yield asked
        asked = asked.again(reply.text, f"go on with {number}")
    return reply.text


def described(body):
    """What a model would say of the shopper that a build asks it to describe, in words of which no other reply has the last."""
    facts = json.loads(body["messages"][1]["content"])
    budget = facts["pays at most for one thing, in dollars"]
    mark = "".join(chr(97 + int(digit)) for digit in f"{drawn(body):.12f}"[2:])
    return {
        "content": json.dumps({"description": f"Looks for {facts['looks for'][0]}, for ${budget} at most. Oh {mark}"})
    }


def hold_conversations(conversations, opened, *, at_once=8):
    """What came of them, from a model that is opened and closed here."""

    async def run():
        model = opened()
        try:
            return [found async for found in play(conversations, model, at_once=at_once)]
        finally:
            await model.close()

    return asyncio.run(run())


def client(server, **options):
    url = server if isinstance(server, str) else server.url
    return OpenAI(parse_spec(f"openai:toy@{url}"), Sampling(), **options)


def ask(server, prompts, *, at_once=8, **options):
    """The replies to prompts."""
    return hold_conversations(map(once, prompts), lambda: client(server, at_once=at_once, **options), at_once=at_once)


def role(url, folder, *, model="toy", at_once=8, **options):
    return Role("writer", Models(model=f"openai:{model}@{url}", at_once=at_once, **options), Path(folder))


if __name__ == "__main__":
    address, where, count, width, length = sys.argv[1:]
    for _ in role(address, where, at_once=int(width)).play(turns(number, int(length)) for number in range(int(count))):
        pass
