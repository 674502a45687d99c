"""Records a second from a model behind a server, what one costs this process, and how busy the server is kept.

    python -m benchmarks.models

The server is a process of its own on this machine that answers at once, or after a wait, with a record that fits. Beside
each figure stands the ideal (requests, over how many may be asked at once, times the wait) and what aiohttp alone needs to ask and
read the same, measured in the same run. Figures go into benchmarks/README.md.
"""

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import random
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Self

import aiohttp
from pydantic import BaseModel, ConfigDict

from benchmarks.trajectories import machine, write
from pipeline.arrow import to_batch
from pipeline.dataset import ShardWriter
from pipeline.models.base import Prompt, Reply, spec_of
from pipeline.models.openai import OpenAI
from pipeline.models.play import Conversation
from pipeline.models.role import Models, Role
from pipeline.models.written import Unwritten, as_json, schema_of, written
from schemas.record import Record

AT_ONCE = 64
REQUESTS = 2_000
WAIT = 0.05
TIMES = 5
TURNS = 3
MEDIAN, SPREAD = 0.1, 0.8
"""Of the log-normal wait, in seconds and as the deviation of its logarithm: one reply in a hundred takes six times the median."""
RULES = " ".join(["Write a short, plain description of the shopper below, in the first person, and nothing else."] * 6)


class Described(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int
    description: str


class Note(Record):
    number: int
    description: str


# The server


class Desk(asyncio.Protocol):
    """One connection. Requests on it are answered one after the other."""

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.held = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            head = self.held[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r", 1)[0]) if at >= 0 else 0
            if len(self.held) < end + 4 + size:
                return
            body, self.held = self.held[end + 4 : end + 4 + size], self.held[end + 4 + size :]
            self.server.asked(body, self.answer) if size else self.answer(self.server.told())

    def answer(self, body: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
            self.transport.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


class Server:
    """Counts what is on its way to it and, since `told` was last asked, for how long how much of it was there."""

    def __init__(self, median: float, spread: float) -> None:
        self.median, self.spread = median, spread
        self.random = random.Random(1)
        self.clean()

    def clean(self) -> None:
        self.requests = self.inside = 0
        self.first = self.last = self.held = 0.0
        self.begun = (0.0, 0.0)

    def told(self) -> bytes:
        """How many requests, and how many were on their way on average until the last conversation was begun, and until the end."""
        (held, last), first = self.begun, self.first
        found = {
            "requests": self.requests,
            "busy": held / (last - first) if last > first else 0,
            "whole": self.held / (self.last - first) if self.last > first else 0,
        }
        self.clean()
        return json.dumps(found).encode()

    def count(self, change: int) -> None:
        now = perf_counter()
        self.first = self.first or now
        self.held += self.inside * (now - (self.last or now))
        self.last = now
        self.inside += change

    def asked(self, body: bytes, answer: Callable[[bytes], None]) -> None:
        self.requests += 1
        self.count(1)
        if b'"assistant"' not in body:
            self.begun = self.held, self.last
        if self.median == 0:
            self.give(body, answer)
        else:
            wait = self.median * math.exp(self.random.gauss(0, self.spread))
            asyncio.get_running_loop().call_later(wait, self.give, body, answer)

    def give(self, body: bytes, answer: Callable[[bytes], None]) -> None:
        number = zlib.crc32(body)
        content = json.dumps({"number": number, "description": f"I look for things by the dozen, {number}. " * 10})
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 200, "completion_tokens": 100, "total_tokens": 300}
        found = {"id": f"x{number}", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
        self.count(-1)
        answer(json.dumps(found).encode())


def serve(said: Any, median: float, spread: float) -> None:
    async def run() -> None:
        server = Server(median, spread)
        opened = await asyncio.get_running_loop().create_server(lambda: Desk(server), "127.0.0.1", 0, backlog=1_024)
        said.send(opened.sockets[0].getsockname()[1])
        await opened.serve_forever()

    asyncio.run(run())


class Served:
    """A server in a process of its own, as long as this is entered."""

    def __init__(self, median: float, spread: float = 0.0) -> None:
        context = multiprocessing.get_context("spawn")
        self.heard, said = context.Pipe(duplex=False)
        self.process = context.Process(target=serve, args=(said, median, spread), daemon=True)

    def __enter__(self) -> Self:
        self.process.start()
        self.url = f"http://127.0.0.1:{self.heard.recv()}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.join()

    @property
    def model(self) -> str:
        return f"openai:some/model@{self.url}"

    def told(self) -> dict[str, float]:
        async def ask() -> dict[str, float]:
            async with aiohttp.ClientSession() as session, session.get(self.url) as answer:
                found: dict[str, float] = await answer.json()
                return found

        return asyncio.run(ask())


# The clients


@dataclass(frozen=True)
class Took:
    wall: float
    cpu: float

    def each(self) -> float:
        return 1000 * self.cpu / REQUESTS


def timed(work: Callable[[], object]) -> Took:
    wall, cpu = perf_counter(), process_time()
    work()
    return Took(perf_counter() - wall, process_time() - cpu)


def prompt(number: int) -> Prompt:
    asked = (
        f"Shopper {number}: 35 to 44 years, a couple with children, pays up to {number % 900} dollars, buys on Sundays."
    )
    messages = ({"role": "system", "content": RULES}, {"role": "user", "content": asked})
    return Prompt("describe", messages, schema=SCHEMA, seed=number)


SCHEMA = schema_of(Described)


def described(number: int) -> Conversation[Note | Unwritten]:
    def read(reply: Reply) -> Note:
        found = as_json(reply, Described)
        return Note(id=f"note-{number:07d}", number=found.number, description=found.description)

    return written(prompt(number), read)


def ours(model: str) -> None:
    """Ask, check, keep each reply, and write the records."""
    with tempfile.TemporaryDirectory() as place:
        role = Role("writer", Models(model, at_once=AT_ONCE), Path(place))
        made = list(role.play(described(number) for number in range(REQUESTS)))
        writer = ShardWriter(Path(place) / "part-00000.parquet", Note)
        writer.write(to_batch(Note, [note for note in made if isinstance(note, Note)]))
        writer.commit()
        kept = sum(path.read_bytes().count(b"\n") for path in (Path(place) / "replies").iterdir())
        assert writer.rows == kept == REQUESTS, (writer.rows, kept)


def bare(url: str) -> None:
    """aiohttp alone: the same bodies, sent and read, and nothing made of the answers."""
    model = OpenAI(spec_of(f"openai:some/model@{url}"), Models().sampling)
    bodies = iter([json.dumps(model.body(prompt(number))).encode() for number in range(REQUESTS)])

    async def run() -> None:
        headers = {"Content-Type": "application/json"}
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

            async def work() -> None:
                for body in bodies:
                    async with session.post(f"{url}/chat/completions", data=body) as answer:
                        await answer.read()

            await asyncio.gather(*(work() for _ in range(AT_ONCE)))

    asyncio.run(run())


def turns(number: int) -> Conversation[int]:
    asked = prompt(number)
    for _ in range(TURNS):
        reply = yield asked
        asked = asked.again(reply.text, "Go on.")
    return number


def flowing(model: str, count: int) -> None:
    """Each conversation goes on as soon as its own reply is there."""
    with tempfile.TemporaryDirectory() as place:
        role = Role("writer", Models(model, at_once=AT_ONCE), Path(place))
        assert list(role.play(turns(number) for number in range(count))) == list(range(count))


def by_rounds(model: str, count: int) -> None:
    """As most tools do it: as many conversations as may be, a turn of all of them, then the next turn of all."""

    async def run() -> None:
        asks = OpenAI(spec_of(model), Models().sampling, at_once=AT_ONCE)
        for first in range(0, count, AT_ONCE):
            asked = [prompt(number) for number in range(first, min(count, first + AT_ONCE))]
            for _ in range(TURNS):
                replies = await asyncio.gather(*map(asks.reply, asked))
                asked = [each.again(reply.text, "Go on.") for each, reply in zip(asked, replies, strict=True)]
        await asks.close()

    asyncio.run(run())


# The figures


def requests(wait: float) -> tuple[Took, Took]:
    """Ours and aiohttp alone, in turn: the best of each."""
    with Served(wait) as server:
        found = [(timed(lambda: ours(server.model)), timed(lambda: bare(server.url))) for _ in range(TIMES)]
        asked = server.told()["requests"]
    assert asked == 2 * TIMES * REQUESTS, asked
    return best([each for each, _ in found]), best([each for _, each in found])


def best(found: list[Took]) -> Took:
    return Took(min(each.wall for each in found), min(each.cpu for each in found))


def busy(count: int) -> tuple[dict[str, float], dict[str, float]]:
    """What the server says of conversations as ours go, and round by round."""
    return told(flowing, count), told(by_rounds, count)


def told(work: Callable[[str, int], object], count: int) -> dict[str, float]:
    with Served(MEDIAN, SPREAD) as server:
        took = timed(lambda: work(server.model, count))
        found = server.told()
    assert found["requests"] == count * TURNS
    return {"busy": found["busy"] / AT_ONCE, "whole": found["whole"] / AT_ONCE, "wall": took.wall}


def table(count: int) -> str:
    slow, slow_bare = requests(WAIT)
    fast, fast_bare = requests(0)
    flow, rounds = busy(count)
    ideal = REQUESTS / AT_ONCE * WAIT
    load = os.getloadavg()[0]
    lines = [
        f"`python -m benchmarks.models`: {REQUESTS:,} requests, {AT_ONCE} at once, each figure the best of {TIMES} runs",
        "",
        f"| what | {1000 * WAIT:.0f} ms a reply | 0 ms a reply |",
        "| --- | --- | --- |",
        f"| ideal | {ideal:.2f} s | |",
        f"| aiohttp alone: ask and read | {slow_bare.wall:.2f} s | {fast_bare.wall:.2f} s |",
        f"| ours: ask, check, keep the reply, write Parquet | {slow.wall:.2f} s | {fast.wall:.2f} s |",
        f"| ratio to the ideal | {slow.wall / ideal:.2f} | |",
        f"| ratio to aiohttp alone | {slow.wall / slow_bare.wall:.2f} | {fast.wall / fast_bare.wall:.2f} |",
        f"| records a second | {REQUESTS / slow.wall:,.0f} | {REQUESTS / fast.wall:,.0f} |",
        f"| CPU of this process a record | {slow.each():.2f} ms | {fast.each():.2f} ms |",
        f"| of it, aiohttp alone | {slow_bare.each():.2f} ms | {fast_bare.each():.2f} ms |",
        "",
        f"{count} conversations of {TURNS} turns, {AT_ONCE} at once, log-normal waits with a median of {1000 * MEDIAN:.0f} ms:",
        "",
        "| what | each goes on by itself | round by round |",
        "| --- | --- | --- |",
        f"| slots of the server in use, until the last conversation has begun | {flow['busy']:.0%} | {rounds['busy']:.0%} |",
        f"| the same, until the last one has ended | {flow['whole']:.0%} | {rounds['whole']:.0%} |",
        f"| seconds in all | {flow['wall']:.1f} | {rounds['wall']:.1f} |",
        "",
        f"{machine()} aiohttp {aiohttp.__version__}; load average {load:.1f}, this benchmark included.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=512, help="of three turns (default: 512)")
    options = parser.parse_args()
    text = table(options.conversations)
    print(text)
    write("models", text)


if __name__ == "__main__":
    main()
