"""Records a second from a model behind a server, what one costs this process, and how busy the server is kept; and what
faults, a server that takes fewer at once, and a kill cost.

    python -m benchmarks.models
    python -m benchmarks.models --faults

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
import signal
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from time import monotonic, perf_counter, process_time, sleep
from typing import Any, Self

import aiohttp
from pydantic import BaseModel, ConfigDict

from benchmarks.trajectories import machine, write
from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.dataset import ShardWriter
from shopwright.pipeline.models.base import Prompt, Reply, Sampling, parse_spec
from shopwright.pipeline.models.openai import OpenAI
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.models.valid_replies import NoValidReply, ask_until_valid, parse_reply_json, schema_of
from shopwright.pipeline.run import Run
from shopwright.schemas.record import Record

AT_ONCE = 64
REQUESTS = 2_000
WAIT = 0.05
TIMES = 5
TURNS = 3
MEDIAN, SPREAD = 0.1, 0.8
"""Of the log-normal wait, in seconds and as the deviation of its logarithm: one reply in a hundred takes six times the median."""
SHARE = 0.05
"""Of the requests that get a fault, each time anew."""
FEW, PHASE, SLOW = 16, 15, 0.2
"""So many at once does a server take that is too small for all, for so many seconds; then all. Its replies take so long."""
KILLS = (800, 1_500)
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
        self.closes = False

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
            self.closes = b"connection: close" in head
            if size:
                self.server.asked(body, self.answer)
            else:
                self.answer(self.server.seen() if b"/seen" in head[: head.find(b"\r")] else self.server.told())

    def answer(self, body: bytes, status: int = 200, more: bytes = b"") -> None:
        if self.transport.is_closing():
            return
        if not status:
            self.transport.abort()
            return
        self.transport.write(b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n%b" % (status, more))
        self.transport.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        if self.closes:
            self.transport.close()


@dataclass(frozen=True)
class Trouble:
    """What goes wrong at a server."""

    share: float = 0.0
    status: int = 500
    """0: the connection is cut."""
    retry_after: str = ""
    most: int | None = None
    """More at once get 429,"""
    until: float = math.inf
    """for so many seconds from the first request on."""


class Server:
    """Counts what is on its way to it and, since `told` was last asked, for how long how much of it was there."""

    def __init__(self, median: float, spread: float, trouble: Trouble) -> None:
        self.median, self.spread, self.trouble = median, spread, trouble
        self.random = random.Random(1)
        self.came: list[float] = []
        self.bodies: set[int] = set()
        self.good: list[float] = []
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

    def seen(self) -> bytes:
        """When requests came and when good answers were given, as one clock for all processes says; and how many differ."""
        return json.dumps({"came": self.came, "good": self.good, "differ": len(self.bodies)}).encode()

    def count(self, change: int) -> None:
        now = perf_counter()
        self.first = self.first or now
        self.held += self.inside * (now - (self.last or now))
        self.last = now
        self.inside += change

    def asked(self, body: bytes, answer: Callable[..., None]) -> None:
        self.requests += 1
        self.came.append(monotonic())
        self.bodies.add(hash(body))
        trouble = self.trouble
        if trouble.most is not None and self.inside >= trouble.most and self.came[-1] - self.came[0] < trouble.until:
            return answer(b"{}", 429)
        if trouble.share and self.random.random() < trouble.share:
            asks = f"Retry-After: {trouble.retry_after}\r\n" if trouble.retry_after else ""
            return answer(b"{}", trouble.status, asks.encode())
        self.count(1)
        if b'"assistant"' not in body:
            self.begun = self.held, self.last
        if self.median == 0:
            self.give(body, answer)
        else:
            wait = self.median * math.exp(self.random.gauss(0, self.spread))
            asyncio.get_running_loop().call_later(wait, self.give, body, answer)
        return None

    def give(self, body: bytes, answer: Callable[..., None]) -> None:
        number = zlib.crc32(body)
        content = json.dumps({"number": number, "description": f"I look for things by the dozen, {number}. " * 10})
        if b'"name": "personas"' in body:
            content = shopper(body)
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 200, "completion_tokens": 100, "total_tokens": 300}
        found = {"id": f"x{number}", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
        self.count(-1)
        self.good.append(monotonic())
        answer(json.dumps(found).encode())


def shopper(body: bytes) -> str:
    """The description that a build of personas asks for."""
    facts = json.loads(json.loads(body)["messages"][1]["content"])
    most = facts["pays at most for one thing, in dollars"]
    return json.dumps({"description": f"Looks for {facts['looks for'][0]} and pays at most ${most} for one thing."})


def serve(said: Any, median: float, spread: float, trouble: Trouble) -> None:
    async def run() -> None:
        server = Server(median, spread, trouble)
        opened = await asyncio.get_running_loop().create_server(lambda: Desk(server), "127.0.0.1", 0, backlog=1_024)
        said.send(opened.sockets[0].getsockname()[1])
        await opened.serve_forever()

    asyncio.run(run())


class Served:
    """A server in a process of its own, as long as this is entered."""

    def __init__(self, median: float, spread: float = 0.0, trouble: Trouble = Trouble()) -> None:
        context = multiprocessing.get_context("spawn")
        self.heard, said = context.Pipe(duplex=False)
        self.process = context.Process(target=serve, args=(said, median, spread, trouble), daemon=True)

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

    def told(self, what: str = "") -> dict[str, Any]:
        async def ask() -> dict[str, Any]:
            async with aiohttp.ClientSession() as session, session.get(f"{self.url}{what}") as answer:
                found: dict[str, Any] = await answer.json()
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


def described(number: int) -> Conversation[Note | NoValidReply]:
    def read(reply: Reply) -> Note:
        found = parse_reply_json(reply, Described)
        return Note(id=f"note-{number:07d}", number=found.number, description=found.description)

    return ask_until_valid(prompt(number), read)


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
    model = OpenAI(parse_spec(f"openai:some/model@{url}"), Sampling())
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
        asks = OpenAI(parse_spec(model), Sampling(), at_once=AT_ONCE)
        for first in range(0, count, AT_ONCE):
            asked = [prompt(number) for number in range(first, min(count, first + AT_ONCE))]
            for _ in range(TURNS):
                replies = await asyncio.gather(*map(asks.reply, asked))
                asked = [each.again(reply.text, "Go on.") for each, reply in zip(asked, replies, strict=True)]
        await asks.close()

    asyncio.run(run())


def ours_for(model: str, seconds: float, at_once: int) -> None:
    """Asks for so many seconds, and keeps what was replied."""
    with tempfile.TemporaryDirectory() as place:
        role = Role("writer", Models(model, at_once=at_once), Path(place))
        end = monotonic() + seconds
        for found in role.play(described(number) for number in numbers()):
            assert isinstance(found, Note)
            if monotonic() > end:
                return


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


# The figures with faults


def with_faults() -> list[tuple[str, float]]:
    """Seconds for all requests, without faults and with each: the best of three runs, taken in turn."""
    troubles = {
        "no fault": Trouble(),
        "HTTP 500": Trouble(SHARE, 500),
        "HTTP 429": Trouble(SHARE, 429),
        "HTTP 429 with Retry-After: 1": Trouble(SHARE, 429, "1"),
        "the connection is cut": Trouble(SHARE, 0),
    }
    found: dict[str, float] = {}
    for _ in range(3):
        for name, trouble in troubles.items():
            with Served(WAIT, trouble=trouble) as server:
                took = timed(lambda model=server.model: ours(model)).wall  # type: ignore[misc]
                found[name] = min(took, found.get(name, took))
    return list(found.items())


def streamed(seconds: float, wait: float, at_once: int = AT_ONCE, trouble: Trouble = Trouble()) -> list[int]:
    """Good answers in each second."""
    with Served(wait, trouble=trouble) as server:
        ours_for(server.model, seconds, at_once)
        seen = server.told("/seen")
    found = [0] * int(seconds)
    for moment in seen["good"]:
        if (second := int(moment - seen["came"][0])) < len(found):
            found[second] += 1
    return found


def rate(each: list[int], after: int = 0) -> float:
    return sum(each[after:]) / len(each[after:])


def resumed() -> dict[str, list[float]]:
    """A build of personas that is killed twice: requests that were asked again, and seconds from a start to its first request."""
    again, first = [], []
    with tempfile.TemporaryDirectory() as place, Served(WAIT) as server:
        Run(f"{place}/run", seed=1).build("catalog")
        words = [
            "-m",
            "pipeline",
            "build",
            "personas",
            "--run",
            f"{place}/run",
            "--count",
            str(REQUESTS),
            "--seed",
            "1",
        ]
        words += ["--model", server.model, "--at-once", str(AT_ONCE)]
        usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        usual["PYTHONPYCACHEPREFIX"] = f"{place}/code"
        subprocess.run([sys.executable, "-m", "pipeline", "list"], env=usual, stdout=subprocess.DEVNULL, check=True)
        for kill in (*KILLS, None):
            before = len(server.told("/seen")["came"])
            started = monotonic()
            process = subprocess.Popen([sys.executable, *words], env=usual, stdout=subprocess.DEVNULL)
            while kill and len(server.told("/seen")["came"]) < kill:
                sleep(0.01)
            if kill:
                process.send_signal(signal.SIGKILL)
            code = process.wait()
            assert code == (-signal.SIGKILL if kill else 0), code
            sleep(2 * WAIT)
            seen = server.told("/seen")
            first.append(seen["came"][before] - started)
            again.append(len(seen["came"]) - seen["differ"])
        rows = [row["id"] for row in Run(f"{place}/run").read("personas").table(["id"]).to_pylist()]
        assert len(rows) == len(set(rows)) == REQUESTS
    return {"again": [after - before for before, after in zip([0, *again], again, strict=False)], "first": first}


def faults_table() -> str:
    took = with_faults()
    quiet, refusing = (rate(streamed(PHASE, WAIT, trouble=each), 2) for each in (Trouble(), Trouble(SHARE, 429)))
    small = Trouble(most=FEW)
    best_few = rate(streamed(PHASE / 2, SLOW, FEW, small), 2)
    best_all = rate(streamed(PHASE / 2, SLOW), 2)
    each = streamed(2 * PHASE, SLOW, trouble=Trouble(most=FEW, until=PHASE))
    few, many = each[:PHASE], each[PHASE:]
    killed = resumed()
    least = took[0][1]
    lines = [
        f"`python -m benchmarks.models --faults`: {REQUESTS:,} requests of {1000 * WAIT:.0f} ms, {AT_ONCE} at once, the best of 3 runs.",
        f"{100 * SHARE:.0f} % of all requests, drawn anew each time, get the fault; every record is made.",
        "",
        "| fault | seconds | ratio to none |",
        "| --- | --- | --- |",
        *(f"| {name} | {seconds:.2f} | {seconds / least:.2f} |" for name, seconds in took),
        "",
        "| as much at once as the server can bear | figure |",
        "| --- | --- |",
        f"| good answers a second, {1000 * WAIT:.0f} ms each, without faults | {quiet:,.0f} |",
        f"| with {100 * SHARE:.0f} % HTTP 429 at random | {refusing:,.0f} |",
        f"| cost | {1 - refusing / quiet:.0%} |",
        f"| a server that takes {FEW} at once, {1000 * SLOW:.0f} ms each: {FEW} at once, good answers a second | {best_few:.0f} |",
        f"| ours, {AT_ONCE} conversations, after 5 seconds | {rate(few, 5):.0f} ({rate(few, 5) / best_few:.0%}) |",
        f"| from then on it takes all: {AT_ONCE} at once | {best_all:.0f} |",
        f"| ours, after 5 seconds | {rate(many, 5):.0f} ({rate(many, 5) / best_all:.0%}) |",
        f"| seconds until ours is at nine tenths of it | {reached(few, 0.9 * best_few)} and {reached(many, 0.9 * best_all)} |",
        "",
        f"`shopwright build personas --count {REQUESTS}`, killed by `kill -9` after {KILLS[0]:,} and {KILLS[1]:,} requests. No row",
        "was lost or there twice. Python keeps its byte code between the starts, as it usually does.",
        "",
        "| what | first start | after the first kill | after the second |",
        "| --- | --- | --- | --- |",
        "| requests that were asked again | " + " | ".join(f"{each:.0f}" for each in killed["again"]) + " |",
        "| seconds from the start to the first request | "
        + " | ".join(f"{each:.2f}" for each in killed["first"])
        + " |",
        "",
        f"{machine()} aiohttp {aiohttp.__version__}; load average {os.getloadavg()[0]:.1f}, this benchmark included.",
    ]
    return "\n".join(lines)


def reached(each: list[int], wanted: float) -> str:
    """The end of the first second with so many."""
    return next((str(second + 1) for second, found in enumerate(each) if found >= wanted), "never")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=512, help="of three turns (default: 512)")
    parser.add_argument("--faults", action="store_true", help="what faults, a small server and kills cost")
    options = parser.parse_args()
    text = faults_table() if options.faults else table(options.conversations)
    print(text)
    write("models --faults" if options.faults else "models", text)


if __name__ == "__main__":
    main()
