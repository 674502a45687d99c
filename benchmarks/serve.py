"""What a session of `shopwright serve` costs, beside an empty OpenEnv environment, or a tool of MCP's SDK, of the same version that is driven in the same way.

    python -m benchmarks.serve data/runs/mine                        # needs openenv; a minute or two
    python -m benchmarks.serve data/runs/mine --sessions 4000 --workers 2
    python -m benchmarks.serve data/runs/mine --endure               # memory over 100,000 episodes and 10,000 clients that vanish
    python -m benchmarks.serve data/runs/mine --batches              # what a second worker adds, by clients that cost next to nothing
    python -m benchmarks.serve data/runs/mine --protocol mcp         # needs mcp 2: what a call costs

Real clients, in processes of their own, open so many sessions at once, reset each, keep all of them, make calls, and leave. Processor time is the
servers' alone, of all their processes; so is memory (proportional set size: what workers share counts once). Both servers
run under uvicorn with the same settings, without compression. Figures go into benchmarks/README.md.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Self
from urllib.request import urlopen

from benchmarks.trajectories import machine, write

TICK = os.sysconf("SC_CLK_TCK")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (("cart_view", {}), ("datetime_now", {}))
SEARCH: tuple[tuple[str, dict[str, Any]], ...] = (("catalog_search", {"query": "desk lamp"}),)
"""Few enough that the limit of no task is reached."""
CLIENTS, TOOL_CALLS, TASKS, VANISHING, BATCH = 2, 500, 500, 1_000, 100
"""Processes; calls of MCP; different tasks at most, so that each was begun before it is measured; clients that vanish at once, of each process; episodes of a batch."""


@dataclass
class Played:
    """What clients of one process saw."""

    lost: list[str] = field(default_factory=list)
    resets: int = 0
    steps: int = 0
    searches: int = 0


@dataclass
class Measured:
    """A server's figures: milliseconds of processor time, kilobytes, seconds."""

    reset: float = 0.0
    step: float = 0.0
    search: float = 0.0
    opened_in: float = 0.0
    lost: int = 0
    why: str = ""
    session: float = 0.0
    before: float = 0.0
    after: float = 0.0
    steps_a_second: float = 0.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("run", nargs="?", help="a run with env_tasks")
    options.add_argument("--sessions", type=int, default=1_000, help="at once (default: 1,000)")
    options.add_argument("--rounds", type=int, default=5, help="resets of each session")
    options.add_argument(
        "--workers", type=int, nargs="*", default=[1, 2], help="of our server, one run for each number"
    )
    options.add_argument("--protocol", choices=("openenv", "mcp"), default="openenv")
    options.add_argument("--batches", action="store_true", help="steps a second, in batches")
    options.add_argument("--endure", action="store_true", help="look for what is not given back")
    options.add_argument("--empty", type=int, metavar="PORT", help="be the server of the empty environment or tool")
    options.add_argument("--keep", action="store_true", help="write the figures into benchmarks/README.md")
    given = options.parse_args()
    if given.empty:
        (serve_empty_tool if given.protocol == "mcp" else serve_empty)(given.empty)
        return
    if given.protocol == "mcp":
        compare_tools(given.run, given.keep)
        return
    from shopwright.pipeline.trainers.env import count_env_tasks

    tasks = min(TASKS, count_env_tasks(given.run, "envs"))
    if given.batches:
        compare_workers(given.run, given.workers, tasks, given.keep)
        return
    if given.endure:
        endure(given.run, given.workers[0], tasks, given.keep)
        return
    found: dict[str, Measured] = {}
    with run_server([sys.executable, "-m", "benchmarks.serve", "--empty"]) as (pid, port):
        found["an empty OpenEnv environment"] = measure(pid, port, {}, given.sessions, given.rounds)
    for workers in given.workers:
        ours = [sys.executable, "-m", "shopwright.pipeline", "serve", "--run", given.run, "--workers", str(workers)]
        with run_server([*ours, "--port"]) as (pid, port):
            name = f"`shopwright serve --workers {workers}`"
            found[name] = measure(pid, port, {"split": "envs"}, given.sessions, given.rounds, tasks)
    lines = render_table(given.sessions, given.rounds, found)
    print("\n".join(lines))
    if given.keep:
        write("serve", "\n".join(lines))


def compare_tools(run: str, keep: bool) -> None:
    """Calls of one tool after the other, by the SDK's own client."""
    empty = [sys.executable, "-m", "benchmarks.serve", "--protocol", "mcp", "--empty"]
    ours = [sys.executable, "-m", "shopwright.pipeline", "serve", "--run", run, "--protocol", "mcp", "--port"]
    found = {}
    for name, command in (("an empty tool of the SDK", empty), ("`shopwright serve --protocol mcp`", ours)):
        with run_server(command) as (pid, port):
            asyncio.run(call_tools(port, name.startswith("`"), 100))
            before = read_cpu(pid)
            count = asyncio.run(call_tools(port, name.startswith("`"), TOOL_CALLS))
            found[name] = (read_cpu(pid) - before) * 1e3 / count
    first = next(iter(found.values()))
    lines = [f"`python -m benchmarks.serve RUN --protocol mcp`: {TOOL_CALLS} calls, each an episode's `cart_view`", ""]
    lines += ["| server | ms of the processor a call | of the empty |", "| --- | --- | --- |"]
    lines += [f"| {name} | {each:.2f} | {each / first:.2f} |" for name, each in found.items()]
    lines += ["", machine()]
    print("\n".join(lines))
    if keep:
        write("serve mcp", "\n".join(lines))


async def call_tools(port: int, ours: bool, count: int) -> int:
    """Five calls of each episode of twenty tasks, so that none comes to its end; how many were made."""
    import aiohttp
    from mcp import Client  # type: ignore[import-not-found, unused-ignore]

    address, made = f"http://127.0.0.1:{port}", 0
    while made < count:
        path = "/mcp"
        if ours:
            async with (
                aiohttp.ClientSession() as http,
                http.post(f"{address}/episodes", json={"index": made // 5 % 20}) as reply,
            ):
                path = (await reply.json())["path"]
        async with Client(address + path) as client:
            for _ in range(5):
                await client.call_tool("cart_view", {})
                made += 1
    return made


def render_table(sessions: int, rounds: int, found: dict[str, Measured]) -> list[str]:
    empty = next(iter(found.values()))
    head = "| server | lost | opened in s | reset ms | of the empty | step ms | of the empty | search ms | kB a session | MB before | after closing | steps a second |"
    lines = [
        f"`python -m benchmarks.serve RUN --sessions {sessions}`: {sessions:,} sessions at once, {rounds} resets and four calls of each (`cart_view`, `datetime_now`), then a search",
        "",
        head,
        "|" + " --- |" * 12,
    ]
    for name, each in found.items():
        ratio = [f"{each.reset / empty.reset:.2f}", f"{each.step / empty.step:.2f}"] if empty.reset else ["–", "–"]
        lines.append(
            f"| {name} | {each.lost}{f' ({each.why})' if each.why else ''} | {each.opened_in:.1f} | {each.reset:.2f} | {ratio[0]} | {each.step:.2f} | {ratio[1]} | {each.search:.2f} | "
            f"{each.session:.0f} | {each.before:.0f} | {each.after:.0f} | {each.steps_a_second:,.0f} |"
        )
    return [*lines, "", machine()]


def measure(pid: int, port: int, asked: dict[str, Any], sessions: int, rounds: int, tasks: int = 1) -> Measured:
    """Warm first, so that what is made once is not counted for anybody."""
    index = [place % tasks for place in range(sessions)] if asked else None
    with ProcessPoolExecutor(CLIENTS, get_context("spawn")) as clients:
        pace = Pace(clients, port, asked, index)
        pace.drive(min(sessions, 500), 1)
        settle(pid)
        found = Measured(before=read_memory(pid))
        shares = list(pace.share(sessions))
        with Barriers(len(shares)) as stages:
            jobs = [
                clients.submit(run_clients, port, asked, index, first, count, rounds, stages.names)
                for first, count in shares
            ]
            begun = time.perf_counter()
            stages.meet("open")
            found.opened_in = time.perf_counter() - begun
            found.session = (read_memory(pid) - found.before) * 1e3 / sessions
            before = read_cpu(pid)
            stages.go()
            stages.meet("reset")
            resets = read_cpu(pid) - before
            before, begun = read_cpu(pid), time.perf_counter()
            stages.go()
            stages.meet("step")
            steps, took = read_cpu(pid) - before, time.perf_counter() - begun
            before = read_cpu(pid)
            stages.go()
            stages.meet("search")
            searches = read_cpu(pid) - before
            stages.go()
            played = [job.result() for job in jobs]
        lost = [why for each in played for why in each.lost]
        found.lost, found.why = len(lost), lost[0][:60] if lost else ""
        found.reset = resets * 1e3 / max(1, sum(each.resets for each in played))
        count = sum(each.steps for each in played)
        found.search = searches * 1e3 / max(1, sum(each.searches for each in played))
        found.step, found.steps_a_second = steps * 1e3 / max(1, count), count / took
        settle(pid)
        found.after = read_memory(pid)
    return found


class Barriers:
    """Stages that the clients' processes reach together: a file for each, as they share nothing else."""

    def __init__(self, count: int) -> None:
        self.count, self.stage = count, 0
        self.folder = Path(mkdtemp(prefix="shopwright-bench-"))

    @property
    def names(self) -> str:
        return str(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()

    def meet(self, name: str) -> None:
        while len(list(self.folder.glob(f"{name}-*"))) < self.count:
            time.sleep(0.02)

    def go(self) -> None:
        self.stage += 1
        (self.folder / f"go{self.stage}").touch()


class Pace:
    """Warms a server."""

    def __init__(self, clients: ProcessPoolExecutor, port: int, asked: dict[str, Any], index: Sequence[int] | None):
        self.clients, self.port, self.asked, self.index = clients, port, asked, index

    def share(self, sessions: int) -> Iterator[tuple[int, int]]:
        each = -(-sessions // CLIENTS)
        return ((first, min(each, sessions - first)) for first in range(0, sessions, each))

    def drive(self, sessions: int, rounds: int) -> None:
        jobs = [
            self.clients.submit(run_clients, self.port, self.asked, self.index, first, count, rounds, "")
            for first, count in self.share(sessions)
        ]
        for job in jobs:
            job.result()


def run_clients(
    port: int, asked: dict[str, Any], index: Sequence[int] | None, first: int, count: int, rounds: int, stages: str
) -> Played:
    return asyncio.run(play_together(port, asked, index, range(first, first + count), rounds, stages))


async def play_together(
    port: int, asked: dict[str, Any], index: Sequence[int] | None, places: range, rounds: int, stages: str
) -> Played:
    from openenv import GenericEnvClient

    found, live = Played(), dict[int, GenericEnvClient]()

    async def attempt(place: int, act: Callable[[GenericEnvClient], Awaitable[Any]]) -> bool:
        client = live.get(place)
        if client is None:
            return False
        try:
            await act(client)
        except Exception as error:  # noqa: BLE001 - whatever it is, the session is lost
            found.lost.append(f"{type(error).__name__}: {error}")
            live.pop(place)
        return client is live.get(place)

    async def open_one(place: int) -> None:
        live[place] = GenericEnvClient(base_url=f"http://127.0.0.1:{port}")
        await attempt(place, lambda client: client.connect())
        await reset(place)

    async def reset(place: int) -> bool:
        task = {"index": index[place]} if index else {}
        return await attempt(place, lambda client: client.reset(**asked, **task))

    async def call(place: int, calls: Sequence[tuple[str, dict[str, Any]]]) -> int:
        return sum([await call_one(place, {"tool_name": name, "arguments": given}) for name, given in calls])

    async def call_one(place: int, action: dict[str, Any]) -> bool:
        return await attempt(place, lambda client: client.step(action))

    await asyncio.gather(*map(open_one, places))
    await reach(stages, "open", places.start, 1)
    for _ in range(rounds):
        found.resets += sum(await asyncio.gather(*map(reset, places)))
    await reach(stages, "reset", places.start, 2)
    found.steps = sum(await asyncio.gather(*(call(place, CALLS * 2) for place in places)))
    await reach(stages, "step", places.start, 3)
    found.searches = sum(await asyncio.gather(*(call(place, SEARCH) for place in places)))
    await reach(stages, "search", places.start, 4)
    await asyncio.gather(*(client.close() for client in live.values()))
    return found


def compare_workers(run: str, counts: Sequence[int], tasks: int, keep: bool) -> None:
    """Steps a second in batches: the client sends the same text again and again, so that the cores are left to the workers."""
    lines = ["| workers | steps a second | of one worker | ms of the processor a step |", "| --- | --- | --- | --- |"]
    first = 0.0
    for workers in counts:
        ours = [sys.executable, "-m", "shopwright.pipeline", "serve", "--run", run, "--workers", str(workers), "--port"]
        with run_server(ours) as (pid, port):
            asyncio.run(step_in_batches(port, workers, tasks, 5))
            before, begun = read_cpu(pid), time.perf_counter()
            steps = asyncio.run(step_in_batches(port, workers, tasks, 40))
            speed = steps / (time.perf_counter() - begun)
            first = first or speed
            cost = (read_cpu(pid) - before) * 1e3 / steps
            lines.append(f"| {workers} | {speed:,.0f} | {speed / first:.2f} | {cost:.3f} |")
    table = [
        f"`python -m benchmarks.serve RUN --batches`: each worker has two lines of {BATCH} episodes, begun anew after eight steps; the time of the resets is in it",
        "",
        *lines,
        "",
        machine(),
    ]
    print("\n".join(table))
    if keep:
        write("serve batches", "\n".join(table))


async def step_in_batches(port: int, workers: int, tasks: int, rounds: int) -> int:
    import aiohttp

    reset = json.dumps(
        {"type": "reset_many", "data": {str(n): {"split": "envs", "index": n % tasks} for n in range(BATCH)}}
    )
    step = json.dumps(
        {"type": "step_many", "data": {str(n): {"tool_name": "cart_view", "arguments": {}} for n in range(BATCH)}}
    )

    async def play(line: aiohttp.ClientWebSocketResponse) -> None:
        for _ in range(rounds):
            for text in (reset, *[step] * 8):
                await line.send_str(text)
                if '"error": {' in await line.receive_str():
                    raise RuntimeError("An episode did not go on.")

    async with aiohttp.ClientSession() as http:
        lines = [await http.ws_connect(f"http://127.0.0.1:{port}/ws", max_msg_size=0) for _ in range(2 * workers)]
        await asyncio.gather(*map(play, lines))
    return 2 * workers * rounds * 8 * BATCH


def endure(run: str, workers: int, tasks: int, keep: bool) -> None:
    """Memory after each fifth of 100,000 episodes, and then of 10,000 clients whose lines are cut in the middle of an episode."""
    asked, index = {"split": "envs"}, [place % tasks for place in range(VANISHING)]
    ours = [sys.executable, "-m", "shopwright.pipeline", "serve", "--run", run, "--workers", str(workers), "--port"]
    lines = ["| after | MB | sessions that the server counts |", "| --- | --- | --- |"]

    def look(what: str) -> None:
        settle(pid)
        lines.append(f"| {what} | {read_memory(pid):.0f} | {count_sessions(port)} |")
        print(lines[-1], flush=True)

    with run_server(ours) as (pid, port), ProcessPoolExecutor(CLIENTS, get_context("spawn")) as clients:
        pace = Pace(clients, port, asked, index)
        pace.drive(1_000, 1)
        look("1,000 episodes, to warm it")
        for part in range(1, 6):
            pace.drive(1_000, 19)  # and the first of each, as it opens
            look(f"{part * 20_000:,} episodes of 1,000 sessions at once")
        for part in range(1, 6):
            crowd = [get_context("spawn").Process(target=vanish, args=(port, asked, index)) for _ in range(CLIENTS)]
            for each in crowd:
                each.start()
            for each in crowd:
                each.join()
            if any(each.exitcode for each in crowd):
                raise RuntimeError("Not all clients began an episode.")
            look(f"{part * CLIENTS * VANISHING:,} clients that vanished, {CLIENTS * VANISHING:,} at once")
    table = [f"`python -m benchmarks.serve RUN --endure --workers {workers}`", "", *lines, "", machine()]
    print("\n".join(table))
    if keep:
        write("serve endurance", "\n".join(table))


def vanish(port: int, asked: dict[str, Any], index: Sequence[int]) -> None:
    """Begins an episode over each of so many lines, makes a call, and is gone without a word, as a process that is killed."""
    asyncio.run(begin_many(port, asked, index))


async def begin_many(port: int, asked: dict[str, Any], index: Sequence[int]) -> None:
    import aiohttp

    async def begin(http: aiohttp.ClientSession, number: int) -> None:
        line = await http.ws_connect(f"http://127.0.0.1:{port}/ws")
        for kind, data in (
            ("reset", {**asked, "index": number}),
            ("step", {"tool_name": "cart_view", "arguments": {}}),
        ):
            await line.send_json({"type": kind, "data": data})
            if (await line.receive_json())["type"] != "observation":
                raise RuntimeError("An episode did not begin.")

    http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    await asyncio.gather(*(begin(http, number) for number in index))
    os._exit(0)


def count_sessions(port: int) -> int:
    with urlopen(f"http://127.0.0.1:{port}/ready") as reply:
        return int(json.load(reply)["sessions"])


async def reach(stages: str, name: str, first: int, number: int) -> None:
    if stages:
        (Path(stages) / f"{name}-{first}").touch()
        while not (Path(stages) / f"go{number}").exists():
            await asyncio.sleep(0.02)


# The servers


def serve_empty(port: int) -> None:
    """An environment that does nothing, by OpenEnv's own server."""
    import uvicorn
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
    from openenv.core.env_server.types import Observation, State

    class Empty(Environment):  # type: ignore[misc, unused-ignore]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def reset(self, seed: int | None = None, episode_id: str | None = None, **asked: Any) -> Any:
            return Observation()

        def step(self, action: Any, timeout_s: float | None = None, **more: Any) -> Any:
            return CallToolObservation(tool_name=action.tool_name, result="", done=False, reward=0.0)

        @property
        def state(self) -> Any:
            return State()

    app = create_app(Empty, CallToolAction, CallToolObservation, env_name="empty", max_concurrent_envs=100_000)
    uvicorn.run(app, port=port, log_level="warning", ws_per_message_deflate=False)


def serve_empty_tool(port: int) -> None:
    """A tool that does nothing, by MCP's own server, with the settings that ours has."""
    import uvicorn
    from mcp.server import MCPServer  # type: ignore[attr-defined, unused-ignore]

    server = MCPServer("empty")

    @server.tool()  # type: ignore[misc, unused-ignore]
    def cart_view() -> str:
        return ""

    app = server.streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(app, port=port, log_level="warning")


@contextmanager
def run_server(command: list[str]) -> Iterator[tuple[int, int]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([*command, str(port)], stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end and server.poll() is None:
            with socket.socket() as knocks:
                if not knocks.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        time.sleep(1)
        yield server.pid, port
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def list_processes(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in list_processes(int(child)))]


def read_cpu(pid: int) -> float:
    """Seconds of the processor, of all processes of a server."""
    found = 0
    for each in list_processes(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        found += int(fields[11]) + int(fields[12])
    return found / TICK


def read_memory(pid: int) -> float:
    """Megabytes; what processes share counts once."""
    found = 0
    for each in list_processes(pid):
        lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
        found += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return found / 1e3


def settle(pid: int) -> None:
    """Waits until the server does nothing any more: what all have left it looks through every five seconds."""
    time.sleep(5)
    before = read_cpu(pid)
    for _ in range(60):
        time.sleep(1)
        now = read_cpu(pid)
        if now - before < 0.02:
            return
        before = now


if __name__ == "__main__":
    main()
