"""What is asked of a model, what it replies, and how it is named."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from shopwright.pipeline.problem import Ended, Problem

# `{"role": "user", "content": "..."}`, as chat servers take it.
Message = Mapping[str, Any]
# A name and a password in an address, which no model takes: the key is in the environment.
PASSWORD = re.compile(r"(?<=//)[^/\s]*@")
KINDS = ("scripted", "openai", "vllm")
# As a model is named, of each kind that is one.
MODEL_FORMS = "openai:NAME@http://HOST:PORT/v1 or vllm:NAME_OR_PATH"


@dataclass(frozen=True)
class Sampling:
    """How a reply is drawn; the seed of each prompt is its own."""

    temperature: float = 0.7
    top_p: float = 1.0
    max_tokens: int = 1_024

    def __str__(self) -> str:
        """
        >>> str(Sampling())
        'temperature 0.7, top_p 1, max_tokens 1024'
        """
        return ", ".join(f"{name} {value:g}" for name, value in vars(self).items())


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens."""

    prompt: float
    reply: float

    def of(self, asked: int, replied: int) -> float:
        """
        >>> Price(prompt=0.5, reply=2.0).of(1_000_000, 500_000)
        1.5
        """
        return (asked * self.prompt + replied * self.reply) / 1e6


@dataclass(frozen=True)
class Prompt:
    """One question to a model. Constant text stands first, so that servers can keep what they have read of it."""

    name: str
    """The template that it was made from."""
    messages: tuple[Message, ...]
    offline: str = ""
    """What is said when there is no model."""
    schema: Mapping[str, Any] | None = None
    """JSON schema that the reply must fit."""
    tools: tuple[Mapping[str, Any], ...] = ()
    stop: tuple[str, ...] = ()
    """Texts at which the reply ends; they are not part of it."""
    seed: int = 0
    sampling: Sampling | None = None
    """None: the role's."""
    sent_back: int = 0
    """How often a reply to it was sent back before."""
    likeliest: int = 0
    """The reply says of each of its tokens how likely so many others were, the likeliest; 0 asks for none."""

    def again(self, reply: str, fault: str, *, sent_back: int = 1) -> "Prompt":
        """The same, with what was replied and what is wrong with it.

        Its seed is another: else who errs twice the same is asked the same, and errs so again.
        """
        more = ({"role": "assistant", "content": reply}, {"role": "user", "content": fault})
        return replace(self, messages=(*self.messages, *more), seed=self.seed + sent_back, sent_back=sent_back)


class Chances(NamedTuple):
    """How likely a token of a reply was, and those that could have stood there."""

    place: int
    """Where in the reply's text it begins, in characters."""
    top: int
    """So many of `logs` are the likeliest of all; one more may be the token itself."""
    logs: list[float]
    """Natural logarithms, before temperature and cuts, to four places."""


@dataclass(frozen=True)
class Reply:
    """What came back. With a `fault` there is no usable text: the request was refused, or cut short."""

    text: str
    reasoning: str = ""
    """What it thought, apart from what it says."""
    calls: tuple[Mapping[str, Any], ...] = ()
    """Tool calls: `{"name": ..., "arguments": {...}}`."""
    finish: str = "stop"
    prompt_tokens: int = 0
    tokens: int = 0
    fault: str = ""
    seconds: float = field(default=0.0, compare=False)
    """From the question to the whole reply."""
    key: str = field(default="", compare=False)
    """Where it is kept."""
    kept: bool = field(default=False, compare=False)
    """It was in the store: nothing was asked."""
    chances: Sequence[Chances] = field(default=(), compare=False)
    """Of each token of the text, where the prompt asked for them and all were told; those kept are read as lists."""


class Model(Protocol):
    """Turns a prompt into a reply."""

    @property
    def name(self) -> str:
        """Goes into the recipe of every dataset that it helped to make."""

    async def ready(self) -> None:
        """Starts what a reply needs; `reply` does so too, but then the first one takes as much longer."""

    async def reply(self, prompt: Prompt) -> Reply: ...

    async def close(self) -> None: ...


class ServerUnreachable(Ended):
    """The server cannot be reached, or has refused for a long time; what is done is kept."""


# How the reason of a row begins that is not there because a request of its was not answered: the next build asks again.
UNANSWERED = "unanswered: "
# And of one of which a request was refused, as too long for the model: it would be again.
REFUSED = "refused: "
# How the fault of an episode begins that ended because a request was refused.
UNHEARD = "no reply: "
# A row's own words and numbers in a reason: rows that fail alike are counted together.
OWN = re.compile(r"'[^']*'(?!\w)|\"[^\"]*\"|\d{4,}|\d+\.\d+")
# Characters of a reason.
LONGEST = 200


class UnansweredRequest(Ended):
    """A request that got no answer in all its tries. It is thrown into the conversation that asked, which has nothing to go on from.

    A conversation that does not catch it ends the work: nothing is ever made of a request that nobody answered.
    """

    def __init__(self, why: str) -> None:
        super().__init__(
            f"A request was not answered ({why}). What is done is kept: run the same command again to go on."
        )
        self.why = why

    @property
    def reason(self) -> str:
        """
        >>> UnansweredRequest("HTTP 500, 8 times").reason
        'unanswered: HTTP 500, 8 times'
        """
        return UNANSWERED + plain_reason(self.why)


def plain_reason(why: str) -> str:
    """Without what is the row's own.

    >>> plain_reason("nothing at 127.0.0.1, port 43127")
    'nothing at ….…, port …'
    """
    return OWN.sub("…", " ".join(why.split()))[:LONGEST]


class BudgetExceeded(Ended):
    """The budget of tokens or money is used up; what is done is kept."""


@dataclass(frozen=True)
class Spec:
    """`scripted`, `openai:NAME@URL` or `vllm:NAME_OR_PATH`."""

    kind: str
    model: str = ""
    url: str = ""

    @cached_property
    def name(self) -> str:
        """Without the address: the same model elsewhere gives the same replies."""
        return f"{self.kind}:{self.model}" if self.model else self.kind


def parse_spec(text: str) -> Spec:
    """
    >>> parse_spec("openai:Qwen/Qwen3-4B@http://127.0.0.1:8000/v1")
    Spec(kind='openai', model='Qwen/Qwen3-4B', url='http://127.0.0.1:8000/v1')

    Raises Problem for any other form.
    """
    kind, _, rest = text.partition(":")
    model, _, url = rest.rpartition("@") if kind == "openai" else (rest, "", "")
    wrong = {
        "scripted": bool(rest),
        "openai": not model or not url.startswith(("http://", "https://")),
        "vllm": not rest,
    }
    if kind not in KINDS or wrong[kind]:
        raise Problem(f"There is no model {PASSWORD.sub('…@', text)!r}. Say scripted, {MODEL_FORMS}.")
    return Spec(kind, model, url.rstrip("/"))


def reply_key(prompt: Prompt, model: str, sampling: Sampling) -> str:
    """The address of a reply: the same prompt, model and sampling have the same."""
    drawn = prompt.sampling or sampling
    content = [
        model,
        prompt.messages,
        prompt.schema,
        prompt.tools,
        prompt.seed,
        [drawn.temperature, drawn.top_p, drawn.max_tokens],
        *([prompt.stop] if prompt.stop else []),
        *([{"likeliest": prompt.likeliest}] if prompt.likeliest else []),
    ]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=dict)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
