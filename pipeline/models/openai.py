"""A model behind an OpenAI-compatible server: chat completions over HTTP, with what goes wrong there.

aiohttp, because it costs a tenth of what other clients do. What may pass (429, 5xx, cut connections, time-outs) is tried again
after a pause that grows, or as long as the server says; what will not (other 4xx) becomes the reply's fault. Concurrency falls when the
server says it is too much, and comes back.
"""

import asyncio
import json
import os
import random
import re
from time import monotonic
from typing import Any

from pipeline.models.base import Away, Prompt, Reply, Sampling, Spec

PAUSE = (0.25, 30.0)
"""Seconds before a second try, at first and at most."""
DEADLINE = 300.0
"""Seconds for one request: a long reply is slow."""
TRIES = 8
"""Of one request, when others are answered."""
PATIENCE = 120.0
"""Seconds without any good answer after which the server counts as away."""
PASSES = {408, 409, 425, 429, 500, 502, 503, 504, 529}
THOUGHT = re.compile(r"^\s*<think>(.*?)</think>\s*", re.DOTALL)
CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)


class OpenAI:
    """`patience`: seconds without any good answer after which it gives up."""

    def __init__(
        self,
        spec: Spec,
        sampling: Sampling,
        *,
        at_once: int = 64,
        patience: float = PATIENCE,
        deadline: float = DEADLINE,
    ) -> None:
        self.spec, self.sampling = spec, sampling
        self.lane = Lane(at_once)
        self.patience, self.deadline = patience, deadline
        self.good = monotonic()
        self.session: Any = None

    @property
    def name(self) -> str:
        return self.spec.name

    async def reply(self, prompt: Prompt) -> Reply:
        """Raises Away when the server has not answered well for long."""
        body = json.dumps(self.body(prompt), ensure_ascii=False, default=dict).encode()
        tries = 0
        while True:
            tries += 1
            async with self.lane:
                status, wait, text = await self.post(body)
            if status == 200 and (found := reply_of(text)) is not None:
                self.good = monotonic()
                self.lane.widen()
                return found
            if status not in PASSES and status not in (0, 200):
                self.good = monotonic()  # it answers; it only will not answer this
                return Reply("", fault=f"HTTP {status}: {said(text)}", finish="refused")
            if status in (429, 503):
                self.lane.narrow()
            why = text if status == 0 else "an answer that is no chat completion" if status == 200 else f"HTTP {status}"
            if monotonic() - self.good > self.patience:
                raise Away(
                    f"{self.spec.url} gave no good answer for {self.patience:.0f} seconds (last: {why}). What is done is "
                    "kept: run the same command again to go on."
                )
            if tries == TRIES:
                return Reply("", fault=f"{why}, {TRIES} times", finish="refused")
            await asyncio.sleep(wait if wait is not None else pause(tries))

    async def post(self, body: bytes) -> tuple[int, float | None, str]:
        """Status (0 where there was no answer), how long the server asks to wait, and the text."""
        import aiohttp

        if self.session is None:
            self.session = self.open()
        try:
            async with self.session.post(f"{self.spec.url}/chat/completions", data=body) as answer:
                text = await answer.text(encoding="utf-8", errors="replace")
                return answer.status, seconds(answer.headers.get("Retry-After")), text
        except TimeoutError:
            return 0, None, f"no answer in {self.deadline:.0f} seconds"
        except (aiohttp.ClientError, OSError) as error:
            return 0, None, f"{type(error).__name__}: {error}"

    def open(self) -> Any:
        import aiohttp

        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.deadline, sock_connect=30),
            headers=headers,
            auto_decompress=True,
        )

    def body(self, prompt: Prompt) -> dict[str, Any]:
        drawn = prompt.sampling or self.sampling
        found: dict[str, Any] = {
            "model": self.spec.model,
            "messages": prompt.messages,
            "temperature": drawn.temperature,
            "top_p": drawn.top_p,
            "max_tokens": drawn.max_tokens,
            "seed": prompt.seed,
        }
        if prompt.schema is not None:
            schema = {"name": prompt.name, "schema": prompt.schema, "strict": True}
            found["response_format"] = {"type": "json_schema", "json_schema": schema}
        if prompt.tools:
            found["tools"] = [{"type": "function", "function": tool} for tool in prompt.tools]
        return found

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
            self.session = None


class Lane:
    """How many requests may be on their way: fewer after the server said it was too much, then one more at a time."""

    def __init__(self, widest: int) -> None:
        self.widest, self.width = widest, float(widest)
        self.inside = 0
        self.waiting: list[asyncio.Future[None]] = []
        self.narrowed = 0.0

    async def __aenter__(self) -> None:
        while self.inside >= max(1, int(self.width)):
            turn = asyncio.get_running_loop().create_future()
            self.waiting.append(turn)
            await turn
        self.inside += 1

    async def __aexit__(self, *_: object) -> None:
        self.inside -= 1
        self.let_in()

    def let_in(self) -> None:
        free = max(1, int(self.width)) - self.inside
        while free > 0 and self.waiting:
            turn = self.waiting.pop(0)
            if not turn.done():
                turn.set_result(None)
                free -= 1

    def narrow(self) -> None:
        """Once for all that were on their way together."""
        if monotonic() - self.narrowed > 0.2:
            self.width, self.narrowed = max(1.0, self.width * 0.7), monotonic()

    def widen(self) -> None:
        if self.width < self.widest:
            self.width = min(float(self.widest), self.width + 1 / self.width + 0.05)
            self.let_in()


def pause(tries: int) -> float:
    """Twice as long each time, and by chance up to half of it shorter, so that not all come back together."""
    longest = min(PAUSE[1], PAUSE[0] * 2 ** (tries - 1))
    return longest * (0.5 + 0.5 * random.random())


def seconds(text: str | None) -> float | None:
    """What Retry-After says; None where it says nothing one can use.

    >>> seconds("2"), seconds("soon")
    (2.0, None)
    """
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None


def reply_of(text: str) -> Reply | None:
    """The reply in a server's answer; None where the answer is no whole one, which another try may mend."""
    try:
        found = json.loads(text, strict=False)
        choice = found["choices"][0]
        message = choice["message"]
        usage = found.get("usage") or {}
        content = message.get("content") or ""
        finish = choice.get("finish_reason") or "stop"
        native_calls = message.get("tool_calls") or ()
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    thought = THOUGHT.match(content)
    fault = "cut short at its limit of tokens" if finish == "length" else ""
    try:
        calls = [*map(native, native_calls), *tagged(content)]
    except (ValueError, LookupError, TypeError, AttributeError):
        calls, fault = [], fault or "a tool call that is no JSON"
    reasoning = message.get("reasoning_content") or message.get("reasoning") or (thought[1].strip() if thought else "")
    return Reply(
        text=content[thought.end() :] if thought else content,
        reasoning=reasoning,
        calls=tuple(calls),
        finish=finish,
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        tokens=int(usage.get("completion_tokens") or 0),
        fault=fault,
    )


def native(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return {"name": function["name"], "arguments": json.loads(function["arguments"] or "{}", strict=False)}


def tagged(content: str) -> list[dict[str, Any]]:
    """Tool calls written as text tags."""
    found = [json.loads(call, strict=False) for call in CALL.findall(content)] if "<tool_call>" in content else []
    return [{"name": str(call["name"]), "arguments": call.get("arguments") or {}} for call in found]


def said(text: str) -> str:
    """What a server says is wrong, in one line."""
    try:
        found = json.loads(text)
        text = found.get("error", found).get("message", text) if isinstance(found, dict) else text
    except (ValueError, AttributeError):
        pass
    return " ".join(str(text).split())[:300]
