"""A role that a model plays for a stage: the model, what it has replied already, and what it may cost."""

import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from shopwright.pipeline.models.base import (
    BudgetExceeded,
    Model,
    Price,
    Prompt,
    Reply,
    Sampling,
    Spec,
    UnansweredRequest,
    parse_spec,
    reply_key,
)
from shopwright.pipeline.models.limits import PATIENCE, Limits, share_limits
from shopwright.pipeline.models.play import Working, play_blocking
from shopwright.pipeline.models.replies import Replies
from shopwright.pipeline.models.scripted import Scripted
from shopwright.pipeline.problem import Ended, Problem
from shopwright.pipeline.stage import ROLES

T = TypeVar("T")
GO_ON = "What is done is kept: run the same command again to go on."
# Units of a shard at the least where a server is asked.
CONVERSATIONS = 256
# Between the seeds of a prompt and of the same asked anew.
APART = 1_000_003


@dataclass(frozen=True)
class Models:
    """Which model plays which role, how it is drawn from, and how much may be asked."""

    model: str = "scripted"
    """Of every role that has none of its own."""
    roles: Mapping[str, str] = field(default_factory=dict)
    sampling: Mapping[str, Sampling] = field(default_factory=dict)
    """Of each role that has its own."""
    at_once: int = 64
    """Requests at a time, in all processes, and conversations at a time in each."""
    max_tokens: int | None = None
    """Prompt and reply tokens of one command, after which it stops cleanly."""
    max_cost: float | None = None
    """Dollars, likewise; each model then needs its price."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By the model's name."""
    patience: float = 300.0
    """Seconds without any good answer after which a server counts as away; no request takes longer."""
    deadline: float = 300.0
    """Seconds after which a request that has no answer counts as lost."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    """Options of vLLM's engine, where it runs in this process."""
    fresh: bool = False
    """Ask again what was asked before."""
    limits: Limits = field(default_factory=Limits, compare=False)
    """What is spent, and on its way, in all processes of a build."""

    def spec(self, role: str) -> Spec:
        return parse_spec(self.roles.get(role, self.model))

    def sampling_of(self, role: str) -> Sampling:
        return self.sampling.get(role, Sampling())

    def describe(self, role: str) -> str:
        """The model and its sampling, as a recipe holds them."""
        spec = self.spec(role)
        return spec.name if spec.kind == "scripted" else f"{spec.name} ({self.sampling_of(role)})"

    def asks(self, roles: Iterable[str]) -> bool:
        """Whether a real model plays any of these."""
        return any(self.spec(role).kind != "scripted" for role in roles)

    def loads(self, roles: Iterable[str]) -> bool:
        """Whether one of these is played in the process itself, of which there is only one then."""
        return any(self.spec(role).kind == "vllm" for role in roles)

    def units_per_shard(self, roles: Iterable[str]) -> int:
        """Units of a shard at the least: enough that a server seldom waits for the last of them, and all where each shard would load the model."""
        return sys.maxsize if self.loads(roles) else CONVERSATIONS if self.asks(roles) else 1

    @contextmanager
    def share(self) -> Iterator["Models"]:
        """The same with limits that other processes can share."""
        with share_limits(self.limits) as limits:
            yield replace(self, limits=limits)

    def check_budget(self) -> None:
        """Raises BudgetExceeded, or Ended where another process has ended the work."""
        limits = self.limits
        if limits.is_stopped:
            raise Ended(f"Nothing more is asked. {GO_ON}")
        if self.max_tokens is not None and limits.spent_tokens >= self.max_tokens:
            raise BudgetExceeded(f"--max-tokens {self.max_tokens:,} are used up. {GO_ON}")
        if self.max_cost is not None and limits.spent_dollars >= self.max_cost:
            raise BudgetExceeded(f"--max-cost {self.max_cost:g} is used up. {GO_ON}")

    def pay(self, price: Price, reply: Reply) -> None:
        """Takes what a reply costs off the budget of all processes."""
        self.limits.spend(reply.prompt_tokens + reply.tokens, price.of(reply.prompt_tokens, reply.tokens))

    def price(self, role: str) -> Price:
        """Raises Problem where a cost is to be kept to and nobody said what the model costs."""
        spec = self.spec(role)
        found = self.prices.get(spec.model)
        if found is None and self.max_cost is not None and spec.kind != "scripted":
            raise Problem(
                f"--max-cost needs to know what {spec.model} costs. Say so in a --recipe file, in dollars for a million tokens: "
                f'[prices."{spec.model}"] prompt = 0.10, reply = 0.40'
            )
        return found or Price(0.0, 0.0)


class PromptUsage(BaseModel):
    """What was asked with one template."""

    model_config = ConfigDict(extra="forbid")
    role: str
    model: str
    times: list[int] = []
    """Prompts that were asked for the first time, after one reply was sent back, after two, ..."""
    faults: int = 0
    """Replies that were cut short or refused."""
    prompt_tokens: int = 0
    tokens: int = 0
    """Of the replies."""
    dollars: float = 0.0
    """At the prices given."""

    def add(self, prompt: Prompt, reply: Reply, price: Price) -> None:
        self.times += [0] * (prompt.sent_back + 1 - len(self.times))
        self.times[prompt.sent_back] += 1
        self.faults += bool(reply.fault)
        self.prompt_tokens += reply.prompt_tokens
        self.tokens += reply.tokens
        # Of the sums: the same in whichever order replies come.
        self.dollars = price.of(self.prompt_tokens, self.tokens)

    def merge(self, other: "PromptUsage") -> "PromptUsage":
        """The two together."""
        size = max(len(self.times), len(other.times))
        pairs = zip(pad_counts(self.times, size), pad_counts(other.times, size), strict=True)
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("faults", "prompt_tokens", "tokens", "dollars")
        }
        return PromptUsage(role=self.role, model=self.model, times=[sum(pair) for pair in pairs], **sums)


def pad_counts(counts: list[int], size: int) -> list[int]:
    return counts + [0] * (size - len(counts))


class Role:
    """`play` is what a stage needs of it."""

    def __init__(self, name: str, models: Models, folder: Path, file: str = "replies") -> None:
        self.name, self.models, self.folder, self.file = name, models, folder, file
        self.spec = models.spec(name)
        self.asked: dict[str, PromptUsage] = {}
        """By template."""
        self.heard: list[list[tuple[Prompt, Reply]]] | None = None
        """Where this is a list, every conversation as it was led."""

    @property
    def asks(self) -> bool:
        """Whether a real model plays it."""
        return self.spec.kind != "scripted"

    def play(self, conversations: Iterable[Working[T]]) -> Iterator[T]:
        """What came of each conversation, in their order."""
        if self.heard is not None:
            conversations = record_conversations(conversations, self.heard)
        if not self.asks:
            return (run_offline(conversation) for conversation in conversations)
        return play_blocking(conversations, partial(open_model, self), at_once=self.models.at_once)


def record_conversations(
    conversations: Iterable[Working[T]], heard: list[list[tuple[Prompt, Reply]]]
) -> Iterator[Working[T]]:
    """The same, each written down as it goes."""
    for conversation in conversations:
        heard.append([])
        yield record_turns(conversation, heard[-1])


def record_turns(conversation: Working[T], said: list[tuple[Prompt, Reply]]) -> Working[T]:
    try:
        asked = next(conversation)
        while True:
            try:
                reply = yield asked
            except UnansweredRequest as lost:
                asked = conversation.throw(lost)
                continue
            if isinstance(asked, Prompt):
                said.append((asked, reply))
            asked = conversation.send(reply)
    except StopIteration as end:
        result: T = end.value
        return result


def run_offline(conversation: Working[T]) -> T:
    """A conversation that needs no model."""
    try:
        asked = next(conversation)
        while True:
            asked = conversation.send(Reply(asked.offline) if isinstance(asked, Prompt) else asked.result())
    except StopIteration as end:
        result: T = end.value
        return result


def open_model(role: Role) -> Model:
    """Called in the thread that asks."""
    limits = role.models.limits
    known = limits.places if limits.path else None  # else others may have written there since
    replies = Replies(role.folder / "replies", role.file, fresh=role.models.fresh, known=known)
    return CachedModel(model_of(role.spec, role.name, role.models), replies, role)


def model_of(spec: Spec, role: str, models: Models) -> Model:
    pay = partial(models.pay, models.price(role))
    if spec.kind == "openai":
        from shopwright.pipeline.models.openai import OpenAI

        return OpenAI(
            spec,
            models.sampling_of(role),
            at_once=models.at_once,
            patience=models.patience,
            deadline=models.deadline,
            role=role,
            limits=models.limits,
            allow=models.check_budget,
            pay=pay,
        )
    if spec.kind == "vllm":
        from shopwright.pipeline.models.vllm import Vllm

        return Vllm(spec, models.sampling_of(role), pay, **models.engine)
    return Scripted()


class CachedModel:
    """A model whose replies are kept: what was asked once is not asked again."""

    def __init__(self, model: Model, replies: Replies, role: Role) -> None:
        self.model, self.replies, self.role, self.models = model, replies, role, role.models
        self.price = role.models.price(role.name)
        self.sampling = role.models.sampling_of(role.name)
        self.on_their_way: dict[str, asyncio.Task[Reply]] = {}

    @property
    def name(self) -> str:
        return self.model.name

    def resting(self, tell: Callable[[], None]) -> None:
        if found := getattr(self.model, "resting", None):
            found(tell)

    async def ready(self) -> None:
        """The model is started when something is asked that is not kept."""

    async def reply(self, prompt: Prompt) -> Reply:
        """Raises BudgetExceeded, ServerUnreachable."""
        key = reply_key(prompt, self.name, self.sampling)
        found = self.replies.get(key)
        if found is None:
            if key not in self.on_their_way:
                self.models.check_budget()
                self.on_their_way[key] = asyncio.create_task(self.ask(key, prompt))
                # Looked at here, else asyncio complains of an error that nobody waited for.
                self.on_their_way[key].add_done_callback(lambda task: task.cancelled() or task.exception())
            # what is on its way is paid for, whoever stops waiting
            found = await asyncio.shield(self.on_their_way[key])
        asked = self.role.asked.setdefault(prompt.name, PromptUsage(role=self.role.name, model=self.name))
        asked.add(prompt, found, self.price)
        return found

    async def ask(self, key: str, prompt: Prompt) -> Reply:
        try:
            # Not at the start: where all is kept, no server is needed.
            await self.model.ready()
            began = monotonic()
            again = self.replies.rounds.get(key, 0)
            # What was asked anew needs another seed, or a server would say the same.
            found = await self.model.reply(replace(prompt, seed=prompt.seed + APART * again) if again else prompt)
            found = replace(found, key=key, seconds=round(monotonic() - began, 4))
            self.replies.put(key, prompt.name, found)
        finally:
            del self.on_their_way[key]
        return found

    async def close(self) -> None:
        """Waits a little for what is on its way."""
        if self.on_their_way:
            _, late = await asyncio.wait(self.on_their_way.values(), timeout=PATIENCE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.model.close()
        self.replies.close()


def read_model_options(options: Mapping[str, Any]) -> Models:
    """From the command line's options and those of a recipe file. Raises Problem for what there is not."""
    models = Models(**options)
    for role in ROLES:
        models.spec(role)
    if strange := [role for role in (*models.roles, *models.sampling) if role not in ROLES]:
        raise Problem(f"There is no role {strange[0]}. There are: {', '.join(ROLES)}.")
    if models.at_once < 1:
        raise Problem(f"--at-once {models.at_once} is not a whole number from 1 on.")
    return models
