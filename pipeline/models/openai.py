"""A model behind an OpenAI-compatible server: chat completions over HTTP, with what goes wrong there.

aiohttp, because it costs a tenth of what other clients do. What may pass (429, 5xx, cut connections, time-outs) is tried again
after a pause that grows, or as long as the server says; what will not (other 4xx) becomes the reply's fault. Concurrency falls when the
server says it is too much, and comes back; a server that says so to one in twenty at random keeps it up.

Whatever a server sends, a request takes no longer than `patience`, and an answer no more memory than LARGEST: more is a refusal.
"""

import asyncio
import json
import os
import random
import re
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

from shopwright.pipeline.models.base import Chances, Prompt, Reply, Sampling, ServerUnreachable, Spec
from shopwright.pipeline.models.limits import GOOD, INSIDE, SWEPT, WAITING, WIDTHS, Limits
from shopwright.pipeline.stage import ROLES

# Seconds before a second try, at first and at most.
PAUSE = (0.25, 30.0)
# Seconds for one request, of which most pass before the first byte: a long reply is slow.
DEADLINE = 300.0
# Seconds to a connection, and from one piece of an answer to the next.
CONNECT, PAUSED = 30.0, 60.0
# Seconds until a request that waits for those of other processes looks again.
LOOKS = 0.005
# Of a request that gets a bad answer, or whose connection is cut.
TRIES = 8
# A time-out is half of what a request may try: each costs as long as the longest good answer.
TIME_OUT = TRIES // 2
# Seconds of nothing but bad answers after which the server counts as away.
PATIENCE = 300.0
# Bytes of an answer, packed or not; those beyond LARGE are read by so few at a time.
LARGEST, LARGE, LARGE_AT_ONCE = 16 << 20, 1 << 20, 4
# Lists and objects, and commas, of an answer: the chances of 4,096 tokens have a quarter of them. Parsed, each costs up to a hundred bytes.
BRACKETS, COMMAS = 400_000, 2_500_000
# Of the statuses from 400 on those that another try may not meet; below 400 and from 500 on every one may pass.
PASSES = {408, 409, 425, 429}
# Nothing that the request can help: it waits for as long as the server is not away.
BUSY = {429, 502, 503, 529}
AWAY, LATE, TOO_MUCH = -1, -2, -3
# No request is answered here: no key, no money, no such model.
NOBODY = {401, 402, 404}
# Templates that open the thought themselves leave only its end in the reply.
THOUGHT = re.compile(r"^\s*(?:<think>)?(.*?)</think>\s*", re.DOTALL)
CUT = {"length": "cut short at its limit of tokens", "content_filter": "cut short by the server's filter of content"}
# The logarithm of what cannot be, as vLLM's server writes it: JSON has no infinity.
LEAST = -9_999.0
CALL, CALLED = re.compile(r"<tool_call>\s*"), re.compile(r"\s*</tool_call>")
CALLS = json.JSONDecoder(strict=False)


class OpenAI:
    """`patience`: seconds of nothing but bad answers after which it gives up; no request takes longer, nor than `deadline`.

    It shares `limits` with all that play its `role`, in other processes too; `allow` may raise before anything is asked, and `pay` is called with each
    good reply while its place is still held: another process that takes the place knows what is left.
    """

    def __init__(
        self,
        spec: Spec,
        sampling: Sampling,
        *,
        at_once: int = 64,
        patience: float = PATIENCE,
        deadline: float = DEADLINE,
        role: str = "writer",
        limits: Limits | None = None,
        allow: Callable[[], None] = lambda: None,
        pay: Callable[[Reply], None] = lambda reply: None,
    ) -> None:
        self.spec, self.sampling = spec, sampling
        self.lane, self.allow, self.pay = Lane(at_once, limits or Limits(), role), allow, pay
        self.patience, self.deadline = patience, min(patience, deadline)
        self.bad: float | None = None
        """Since when there have been only bad answers."""
        self.idle = monotonic()
        """When the last request ended."""
        self.large = asyncio.Semaphore(LARGE_AT_ONCE)
        self.under_way = 0
        self.session: Any = None
        self.tell: Callable[[], None] | None = None

    @property
    def name(self) -> str:
        return self.spec.name

    def resting(self, tell: Callable[[], None]) -> None:
        """`tell` is called whenever a request begins to wait until it is tried again."""
        self.tell = tell

    async def ready(self) -> None:
        if self.session is None:
            self.session = self.open()

    async def reply(self, prompt: Prompt) -> Reply:
        """Raises ServerUnreachable when the server has not answered well for long; time in which nothing is asked does not count."""
        if not self.under_way and self.bad is not None:
            self.bad += monotonic() - self.idle
        self.under_way += 1
        try:
            return await self.request(prompt)
        finally:
            self.under_way -= 1
            self.idle = monotonic()

    async def request(self, prompt: Prompt) -> Reply:
        body = json.dumps(self.body(prompt), ensure_ascii=False, default=dict).encode()
        tries = bad = 0
        while True:
            tries += 1
            async with self.lane:
                self.allow()  # also where it is tried again: others have paid meanwhile
                began = monotonic()
                status, wait, text = await self.post(body)
                found = parse_completion(text) if status == 200 else None
                if found is not None:
                    self.pay(found)
            if found is not None:
                self.bad = None
                self.lane.widen()
                return found
            if status == TOO_MUCH:
                return Reply("", fault=text, finish="refused")
            if status in NOBODY:
                raise ServerUnreachable(
                    f"{self.spec.url} answers no request for {self.spec.model}: HTTP {status}: {summarize_server_error(text)}. What is done is "
                    "kept: mend that (the key is OPENAI_API_KEY) and run the same command again to go on."
                )
            if 400 <= status < 500 and status not in PASSES:
                self.bad = None  # it answers; it only will not answer this
                return Reply("", fault=f"HTTP {status}: {summarize_server_error(text)}", finish="refused")
            if status in (429, 503):
                self.lane.narrow()
            bad += TIME_OUT if status == LATE else status not in BUSY and status != AWAY
            why = text if status <= 0 else "an answer that is no chat completion" if status == 200 else f"HTTP {status}"
            self.bad = max(self.bad or began, self.lane.good)
            if monotonic() - self.bad >= self.patience:
                raise ServerUnreachable(
                    f"{self.spec.url} gave no good answer for {self.patience:.0f} seconds (last: {why}). What is done is "
                    "kept: run the same command again to go on."
                )
            if bad >= TRIES:
                return Reply("", fault=f"{why}, {tries} times", finish="unanswered")
            if self.tell:
                self.tell()
            await asyncio.sleep(
                backoff_seconds(tries) if wait is None else min(wait, self.patience) + backoff_seconds(1)
            )

    async def post(self, body: bytes) -> tuple[int, float | None, str]:
        """Status (0 where there was no whole answer, or one of AWAY, LATE, TOO_MUCH), how long the server asks to wait, and the text."""
        import aiohttp

        await self.ready()
        try:
            async with self.session.post(f"{self.spec.url}/chat/completions", data=body) as answer:
                text = (await self.read(answer)).decode("utf-8", "replace")
                if text.count("[") + text.count("{") > BRACKETS or text.count(",") > COMMAS:
                    return TOO_MUCH, None, "an answer of far more parts than a chat completion has"
                # Some servers repeat the key that they were given, and what they say goes into replies, rows and errors.
                if key := api_key():
                    text = text.replace(key, "…")
                return answer.status, parse_retry_after(answer.headers.get("Retry-After")), text
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            return AWAY, None, summarize_server_error(str(error))
        except OverflowError:
            return TOO_MUCH, None, f"an answer of more than {LARGEST >> 20} MB"
        except TimeoutError:
            return LATE, None, f"no whole answer in {self.deadline:.0f} seconds"
        except (
            aiohttp.ClientError,
            OSError,
            ValueError,
            zlib.error,
        ) as error:  # ValueError: sent on to what is no address
            return 0, None, summarize_server_error(f"{type(error).__name__}: {error}")

    async def read(self, answer: Any) -> bytes:
        """The body of an answer. Raises OverflowError beyond LARGEST, TimeoutError where a piece is long in coming."""
        body = bytearray()
        pieces = unpack_body(answer, min(PAUSED, self.deadline))
        async for piece in pieces:
            body += piece
            if len(body) > LARGE:
                break
        else:
            return bytes(body)
        async with self.large:
            async for piece in pieces:
                body += piece
                if len(body) > LARGEST:
                    raise OverflowError
        return bytes(body)

    def open(self) -> Any:
        import aiohttp

        headers = {"Content-Type": "application/json"}
        if key := api_key():
            headers["Authorization"] = f"Bearer {key}"
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.deadline, sock_connect=min(CONNECT, self.deadline)),
            headers=headers,
            auto_decompress=False,
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
        if prompt.stop:
            found["stop"] = prompt.stop
        if prompt.likeliest:
            found |= {"logprobs": True, "top_logprobs": prompt.likeliest}
        if prompt.schema is not None:
            schema = {"name": prompt.name, "schema": prompt.schema, "strict": True}
            found["response_format"] = {"type": "json_schema", "json_schema": schema}
        if prompt.tools:
            found["tools"] = [{"type": "function", "function": tool} for tool in prompt.tools]
        return found

    async def close(self) -> None:
        self.lane.close()
        if self.session is not None:
            await self.session.close()
            self.session = None


async def unpack_body(answer: Any, longest: float) -> AsyncIterator[bytes]:
    """The pieces of a body, unpacked a little at a time: a packed one may be a thousand times as large. Raises ValueError for a strange encoding."""
    encoding = answer.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip", "deflate"):
        raise ValueError(f"an answer in the encoding {encoding}")
    unpacker = None if encoding == "identity" else zlib.decompressobj(wbits=47)
    while piece := await asyncio.wait_for(answer.content.readany(), longest):
        if unpacker is None:
            yield piece
            continue
        while piece:
            yield unpacker.decompress(piece, LARGE)
            piece = unpacker.unconsumed_tail
    if unpacker:
        yield unpacker.flush()


class Lane:
    """How many requests may be on their way, in all processes: one fewer for each that was too much, a little more for each good reply.

    At rest about one request in eight is too much, which shows what the server can do. Where fewer are, by chance
    and not because there are many, it stays as wide as it may be.
    """

    def __init__(self, widest: int, limits: Limits, role: str) -> None:
        self.widest, self.limits = widest, limits
        self.place = WIDTHS + ROLES.index(role)
        self.line = limits.take_line(ROLES.index(role))
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.looks: asyncio.TimerHandle | None = None

    @property
    def width(self) -> float:
        return min(self.limits.numbers[self.place] or self.widest, self.widest)

    @property
    def inside(self) -> int:
        return int(self.limits.numbers[self.line + INSIDE])

    @property
    def good(self) -> float:
        """When the last good answer came, to whichever process."""
        found = self.limits.numbers
        return max(found[line + GOOD] for line in (self.line, *self.limits.others(self.line)))

    async def __aenter__(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        self.let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was let in already
                await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.limits.numbers[self.line + INSIDE] -= 1
        self.let_in(leaving=True)

    def let_in(self, *, leaving: bool = False) -> None:
        """In the order in which they came."""
        if not self.waiting:
            return
        numbers = self.limits.numbers
        with self.limits as limits:
            if monotonic() - limits.swept > SWEPT:
                limits.sweep()
            room = limits.room(self.line, int(self.width), leaving=leaving)
            while self.waiting and room > 0:
                turn = self.waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
                    numbers[self.line + INSIDE] += 1
                    room -= 1
            numbers[self.line + WAITING] = monotonic() if self.waiting else 0
        # What ends here lets the next one in; what ends elsewhere is seen only by looking.
        if self.waiting and self.looks is None and limits.others(self.line):
            self.looks = asyncio.get_running_loop().call_later(LOOKS, self.look)

    def look(self) -> None:
        self.looks = None
        self.let_in()

    def narrow(self) -> None:
        with self.limits as limits:
            limits.numbers[self.place] = max(1.0, self.width - 1)

    def widen(self) -> None:
        self.limits.numbers[self.line + GOOD] = monotonic()
        if self.width < self.widest:
            with self.limits as limits:
                limits.numbers[self.place] = min(float(self.widest), self.width + 0.1 + 1 / self.width)
            self.let_in()

    def close(self) -> None:
        if self.looks:
            self.looks.cancel()
        self.limits.drop_line(self.line)


def backoff_seconds(tries: int) -> float:
    """Twice as long each time, and by chance up to half of it shorter, so that not all come back together."""
    longest = min(PAUSE[1], PAUSE[0] * 2 ** (tries - 1))
    return longest * (0.5 + 0.5 * random.random())


def parse_retry_after(text: str | None) -> float | None:
    """What Retry-After says; None where it says nothing one can use.

    >>> parse_retry_after("2"), parse_retry_after("soon"), parse_retry_after("nan")
    (2.0, None, None)
    """
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if found >= 0 else None


def parse_completion(text: str) -> Reply | None:
    """The reply in a server's answer; None where the answer is no whole one, which another try may mend."""
    try:
        found = json.loads(text, strict=False)
        if "\\ud" in text.lower():  # half of a character, written as an escape, is no text
            found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
        choice = found["choices"][0]
        message = choice["message"]
        usage = found.get("usage") or {}
        asked, replied = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
        content = message.get("content") or ""
        if not isinstance(content, str):
            return None
        reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
        finish = str(choice.get("finish_reason") or "stop")
        native_calls = message.get("tool_calls") or ()
        if finish in ("abort", "error"):
            return None
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    reply = build_reply(content, finish, asked, replied, reasoning=str(reasoning), calls=native_calls)
    return replace(reply, chances=parse_logprobs(choice.get("logprobs"), reply.text))


def parse_logprobs(logprobs: Any, text: str) -> tuple[Chances, ...]:
    """As chat completions tell them; none where that is not whole."""
    try:
        tokens = logprobs["content"] or ()
        pieces = [bytes([*(each.get("bytes") or each["token"].encode(errors="replace"))]) for each in tokens]
        return chances(pieces, [collect_logprobs(each, each.get("top_logprobs") or ()) for each in tokens], text)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return ()


def collect_logprobs(token: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> tuple[int, list[float]]:
    """How many are the likeliest, and the logarithms of those and of the token itself.

    vLLM leaves the least likely out for a token that is less likely still: a token at the end may stand there for that.

    >>> red, blue = {"token": "red", "logprob": -0.1}, {"token": "blue", "logprob": -3.0}
    >>> collect_logprobs(red, [red, blue]), collect_logprobs(blue, [red, blue]), collect_logprobs(blue, [red])
    ((2, [-0.1, -3.0]), (1, [-0.1, -3.0]), (1, [-0.1, -3.0]))
    """
    logs = [float(each["logprob"]) for each in others]
    own = float(token["logprob"])
    if token["token"] not in [each["token"] for each in others]:
        return len(logs), [*logs, own]
    return len(logs) - (own <= min(logs)), logs


def chances(pieces: Sequence[bytes], rows: Sequence[tuple[int, list[float]]], text: str) -> tuple[Chances, ...]:
    """Of the tokens that a text is made of; none where they do not spell it.

    Thoughts may stand before it and marks of the end after it.

    >>> chances([b"Hm.", b"a ", b"b", b"<end>"], [(1, [-0.2])] * 4, "a b")
    (Chances(place=0, top=1, logs=[-0.2]), Chances(place=2, top=1, logs=[-0.2]))
    """
    whole, content = b"".join(pieces), text.encode(errors="replace")
    start = whole.rfind(content)
    found, place = [], -start
    for piece, (top, logs) in zip(pieces, rows, strict=True):
        if start >= 0 and place < len(content) and place + len(piece) > 0:
            before = len(content[: max(place, 0)].decode(errors="ignore"))
            found.append(Chances(before, top, [round(max(each, LEAST), 4) for each in logs]))
        place += len(piece)
    return tuple(found)


def build_reply(content: str, finish: str, asked: int, replied: int, *, reasoning: str = "", calls: Any = ()) -> Reply:
    """What a model said, its thoughts and tool calls apart; it has a fault where it was cut short or holds a malformed call.

    In a reply that begins as JSON nothing is looked for: tags in it are somebody's words.
    """
    thought = THOUGHT.match(content) if "</think>" in content and not looks_like_json(content) else None
    words = content[thought.end() :] if thought else content
    reasoning = reasoning or (thought[1] if thought else "")
    fault = CUT.get(finish, "")
    try:
        found = [*map(parse_native_call, calls), *([] if looks_like_json(words) else parse_tagged_calls(words))]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        found, fault = [], fault or "a tool call that is no JSON"
    return Reply(words, reasoning.strip(), tuple(found), finish, asked, replied, fault)


def looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def parse_native_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"]
    return {"name": str(function["name"]), "arguments": json.loads(function["arguments"] or "{}", strict=False)}


def parse_tagged_calls(content: str) -> list[dict[str, Any]]:
    """Tool calls written as text tags: each tag holds one JSON object, which may speak of tags itself.

    >>> parse_tagged_calls('<tool_call>{"name": "say", "arguments": {"text": "a </tool_call>"}}</tool_call>')
    [{'name': 'say', 'arguments': {'text': 'a </tool_call>'}}]
    """
    found, place = [], 0
    while opened := CALL.search(content, place):
        call, place = CALLS.raw_decode(content, opened.end())
        closed = CALLED.match(content, place)
        if not closed:
            raise ValueError("a tool call that does not end")
        place = closed.end()
        found.append({"name": str(call["name"]), "arguments": call.get("arguments") or {}})
    return found


def api_key() -> str:
    return os.environ.get("OPENAI_API_KEY", "").strip()


def summarize_server_error(text: str) -> str:
    """What a server says is wrong, in one line."""
    try:
        found = json.loads(text)
        text = found.get("error", found).get("message", text) if isinstance(found, dict) else text
    except (ValueError, AttributeError, RecursionError):
        pass
    return " ".join(str(text).split())[:300]
