"""A role that a model plays for a stage: the model, what it has replied already, and what it may cost."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pipeline.models.base import Model, Prompt, Reply, Sampling, Spec, Spent, key_of, spec_of
from pipeline.models.play import Conversation, played
from pipeline.models.replies import Replies
from pipeline.models.scripted import Scripted
from pipeline.problem import Problem
from pipeline.stage import ROLES

T = TypeVar("T")
PATIENCE = 15.0
"""Seconds that replies on their way are waited for at the end."""


@dataclass(frozen=True)
class Models:
    """Which model plays which role, and how much may be asked of them."""

    model: str = "scripted"
    """Of every role that has none of its own."""
    roles: dict[str, str] = field(default_factory=dict)
    sampling: Sampling = field(default_factory=Sampling)
    at_once: int = 64
    """Conversations at a time."""
    max_tokens: int | None = None
    """Prompt and reply tokens of one command, after which it stops cleanly."""
    fresh: bool = False
    """Ask again what was asked before."""

    def spec(self, role: str) -> Spec:
        return spec_of(self.roles.get(role, self.model))

    def asks(self, roles: Iterable[str]) -> bool:
        """Whether a real model plays any of these."""
        return any(self.spec(role).kind != "scripted" for role in roles)


class Role:
    """`play` is what a stage needs of it."""

    def __init__(self, name: str, models: Models, folder: Path, file: str = "replies") -> None:
        self.name, self.models, self.folder, self.file = name, models, folder, file
        self.spec = models.spec(name)

    def play(self, conversations: Iterable[Conversation[T]]) -> Iterator[T]:
        """What came of each conversation, in their order."""
        if self.spec.kind == "scripted":
            return (alone(conversation) for conversation in conversations)
        return played(conversations, partial(opened, self), at_once=self.models.at_once)


def alone(conversation: Conversation[T]) -> T:
    """A conversation that needs no model."""
    try:
        prompt = next(conversation)
        while True:
            prompt = conversation.send(Reply(prompt.offline))
    except StopIteration as end:
        result: T = end.value
        return result


def opened(role: Role) -> Model:
    """Called in the thread that asks."""
    replies = Replies(role.folder / "replies", role.file, fresh=role.models.fresh)
    return Kept(model_of(role.spec, role.models), replies, role.models)


def model_of(spec: Spec, models: Models) -> Model:
    if spec.kind == "openai":
        from pipeline.models.openai import OpenAI

        return OpenAI(spec, models.sampling, at_once=models.at_once)
    if spec.kind == "vllm":
        from pipeline.models.vllm import Vllm

        return Vllm(spec, models.sampling)
    return Scripted()


class Kept:
    """A model whose replies are kept: what was asked once is not asked again."""

    def __init__(self, model: Model, replies: Replies, models: Models) -> None:
        self.model, self.replies, self.models = model, replies, models
        self.spent = 0
        self.asked: dict[str, asyncio.Task[Reply]] = {}

    @property
    def name(self) -> str:
        return self.model.name

    async def reply(self, prompt: Prompt) -> Reply:
        """Raises Spent, Away."""
        key = key_of(prompt, self.name, self.models.sampling)
        if (found := self.replies.get(key)) is not None:
            return found
        if key not in self.asked:
            most = self.models.max_tokens
            if most is not None and self.spent >= most:
                raise Spent(
                    f"--max-tokens {most:,} are used up. What is done is kept: run the same command again to go on."
                )
            self.asked[key] = asyncio.create_task(self.ask(key, prompt))
        return await asyncio.shield(self.asked[key])  # what is on its way is paid for, whoever stops waiting

    async def ask(self, key: str, prompt: Prompt) -> Reply:
        try:
            found = await self.model.reply(prompt)
            self.spent += found.prompt_tokens + found.tokens
            self.replies.put(key, prompt.name, found)
        finally:
            del self.asked[key]
        return found

    async def close(self) -> None:
        """Waits a little for what is on its way."""
        if self.asked:
            _, late = await asyncio.wait(self.asked.values(), timeout=PATIENCE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.model.close()
        self.replies.close()


def models_of(options: dict[str, Any]) -> Models:
    """From the command line's options. Raises Problem for a model that there is not."""
    models = Models(**options)
    for role in ROLES:
        models.spec(role)
    if models.at_once < 1:
        raise Problem(f"--at-once {models.at_once} is not a whole number from 1 on.")
    return models
