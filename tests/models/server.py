"""A server of chat completions on 127.0.0.1 that does what goes wrong with such servers, always with the same requests."""

import asyncio
import hashlib
import json
import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from time import monotonic
from typing import Any, Self

from aiohttp import web

Body = dict[str, Any]
ALWAYS = 1_000_000


def last(body: Body) -> str:
    return body["messages"][-1]["content"]


def drawn(body: Body, salt: str = "") -> float:
    """A number from 0 to 1, always the same for a request."""
    text = salt + json.dumps(body, sort_keys=True)
    return int(hashlib.blake2b(text.encode(), digest_size=7).hexdigest(), 16) / 2**56


def constant(seconds: float) -> Callable[[Body], float]:
    return lambda _: seconds


AT_ONCE = constant(0)


def log_normal(median: float, spread: float) -> Callable[[Body], float]:
    return lambda body: median * math.exp(spread * NormalDist().inv_cdf(0.0005 + 0.999 * drawn(body, "wait")))


def fitting(schema: Mapping[str, Any], body: Body) -> Body:
    """A record with the fields of a flat schema."""
    values = {"integer": int(1_000 * drawn(body)), "string": f"word {drawn(body):.9f}"}
    return {name: values[of["type"]] for name, of in schema["properties"].items()}


def echo(body: Body) -> Body:
    """The message of a good answer: a record that fits, or what was asked and a number that hangs on all of the request."""
    if asked := body.get("response_format"):
        return {"content": json.dumps(fitting(asked["json_schema"]["schema"], body))}
    return {"content": f"{last(body)} {drawn(body):.9f}"}


@dataclass(frozen=True)
class Plan:
    """What goes wrong: `faults` says with which share of the requests, so many `times` each."""

    faults: Mapping[str, float] = field(default_factory=dict)
    """By name: a status such as 429, or one of cut, torn, malformed, empty, parts, short, length, filtered, wrong, hang, trickle."""
    times: int = 1
    retry_after: str | None = None
    latency: Callable[[Body], float] = AT_ONCE
    says: Callable[[Body], Body] = echo
    most: int | None = None
    """More than so many at once get 429."""

    def fault(self, body: Body, times: int) -> str:
        point = drawn(body, "fault")
        for name, share in self.faults.items():
            if point < share:
                return name if times <= self.times else ""
            point -= share
        return ""


class Server:
    """
    with Server(Plan({"429": 0.1})) as server: ...      # server.url, server.bodies, server.count, server.most

    Its plan may be changed while it is at work.
    """

    def __init__(self, plan: Plan = Plan(), port: int = 0) -> None:
        self.plan, self.port = plan, port
        self.bodies: list[Body] = []
        self.crowds: list[int] = []
        """How many were there when each request came, itself included."""
        self.came: dict[str, list[float]] = defaultdict(list)
        self.struck: Counter[str] = Counter()
        """How often each fault was given."""
        self.now = self.most = self.answered = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    @property
    def count(self) -> int:
        return len(self.bodies)

    def __enter__(self) -> Self:
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self.start(), self.loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.runner.cleanup(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    async def start(self) -> None:
        application = web.Application(client_max_size=2**24)
        application.router.add_post("/v1/chat/completions", self.asked)
        self.runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self.runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}/v1"

    async def asked(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        times = self.came[json.dumps(body, sort_keys=True)]
        times.append(monotonic())
        self.bodies.append(body)
        self.now += 1
        self.most = max(self.most, self.now)
        self.crowds.append(self.now)
        try:
            if self.plan.most is not None and self.now > self.plan.most:
                return self.refusal(429)
            if wait := self.plan.latency(body):
                await asyncio.sleep(wait)
            fault = self.plan.fault(body, len(times))
            self.struck[fault] += 1
            return await self.answer(request, body, fault)
        finally:
            self.now -= 1
            self.answered += 1

    async def answer(self, request: web.Request, body: Body, fault: str) -> web.StreamResponse:
        if fault.isdecimal():
            return self.refusal(int(fault))
        if fault == "hang":
            await asyncio.sleep(3_600)
        whole = json.dumps(completion(self.plan.says(body), fault), ensure_ascii="surrogate" in last(body)).encode()
        headers = {"Content-Type": "application/json", **self.asks_to_wait()}
        if fault == "malformed":
            return web.Response(body=whole[: len(whole) // 2], headers=headers)
        if fault not in ("cut", "torn", "trickle"):
            return web.Response(body=whole, headers=headers)
        stream = web.StreamResponse(headers={**headers, "Content-Length": str(len(whole))})
        if fault != "cut":
            await stream.prepare(request)
            for start in range(0, len(whole) if fault == "trickle" else len(whole) // 2, 16):
                await stream.write(whole[start : start + 16])
                await asyncio.sleep(0.005)
        if fault != "trickle":
            assert request.transport is not None
            request.transport.abort()
        return stream

    def refusal(self, status: int) -> web.Response:
        words = {"error": {"message": f"this is\nwhat {status} means here", "type": "error"}}
        return web.json_response(words, status=status, headers=self.asks_to_wait())

    def asks_to_wait(self) -> dict[str, str]:
        return {} if self.plan.retry_after is None else {"Retry-After": self.plan.retry_after}


def completion(message: Body, fault: str) -> Body:
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    if fault in ("length", "filtered"):
        finish = {"length": "length", "filtered": "content_filter"}[fault]
    if fault in ("short", "filtered"):
        message = {**message, "content": message["content"][:-3]}
    if fault == "wrong":
        message = {**message, "content": '{"surprise": true}'}
    if fault == "parts":
        message = {**message, "content": [{"type": "text", "text": "in parts"}]}
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", **message}}
    return {
        "object": "chat.completion",
        "choices": [] if fault == "empty" else [choice],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }
