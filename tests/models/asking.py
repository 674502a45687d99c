"""Prompts, and ways to ask them; as a program, a process that asks and can be killed."""

import asyncio
import sys
from pathlib import Path

from pipeline.models.base import Prompt, Sampling, spec_of
from pipeline.models.openai import OpenAI
from pipeline.models.play import play
from pipeline.models.role import Models, Role


def prompt(number, seed=0, **more):
    return Prompt("toy", ({"role": "user", "content": f"say {number}"},), offline=f"said {number}", seed=seed, **more)


def once(asked):
    """A conversation of one turn."""
    return (yield asked)


def told(conversations, opened, *, at_once=8):
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
    return OpenAI(spec_of(f"openai:toy@{url}"), Sampling(), **options)


def ask(server, prompts, *, at_once=8, **options):
    """The replies to prompts."""
    return told(map(once, prompts), lambda: client(server, at_once=at_once, **options), at_once=at_once)


def role(url, folder, *, model="toy", at_once=8, **options):
    return Role("writer", Models(model=f"openai:{model}@{url}", at_once=at_once, **options), Path(folder))


if __name__ == "__main__":
    address, where, count, width = sys.argv[1:]
    for _ in role(address, where, at_once=int(width)).play(once(prompt(number)) for number in range(int(count))):
        pass
