"""`shopwright serve`: the environments of a run for trainers and agents on other machines, by OpenEnv or MCP."""

import asyncio
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from shopwright.pipeline.browse.guard import App, BodyLimit, guard_app, is_loopback
from shopwright.pipeline.envs import select_collection
from shopwright.pipeline.envs.curriculum import AdaptiveDifficulty, make_ecomrlve_controller
from shopwright.pipeline.extras import require
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.curriculum_state import GROUP, begin_training
from shopwright.pipeline.trainers.env import ENVIRONMENTS, count_env_tasks, get_env_task, get_run_world
from shopwright.pipeline.trainers.front import Front, open_listener
from shopwright.pipeline.trainers.metrics import FOLDER, Metrics, can_measure
from shopwright.pipeline.trainers.sessions import IDLE, SESSIONS, Begin, Sessions, dump_tools
from shopwright.pipeline.trainers.worker import Forwarding, TokenGuard, answer_connections, place_of

ECOMRLVE = make_ecomrlve_controller()
# Holds the token for a server that others reach.
TOKEN = "SHOPWRIGHT_TOKEN"
GRACE = 30.0
# What each protocol needs. Their packages exclude one another, so an environment has one of them.
PACKAGES = {"openenv": "openenv", "mcp": "mcp_types", "stdio": "mcp_types"}
PROTOCOLS = tuple(PACKAGES)
# The heaviest that each of the served ones is made of; by name, as an import that nobody uses is taken for a mistake.
MADE_OF = {"openenv": "openenv.core.env_server.http_server", "mcp": "mcp.server.lowlevel"}


@dataclass(frozen=True)
class Service:
    """What the workers of a server have in common."""

    run: str
    protocol: str
    host: str
    workers: int
    sessions: int
    idle: float
    grace: float
    begin: Begin | None
    token: str
    folder: Path
    """Of the workers' sockets."""

    def work(self, index: int, control: socket.socket) -> None:
        asyncio.run(self.answer(index, control))

    async def answer(self, index: int, control: socket.socket) -> None:
        sessions = Sessions(
            self.run,
            begin=self.begin,
            most=-(-self.sessions // self.workers),
            idle=self.idle,
            owner=index,
            owners=self.workers,
        )
        forward, place = Forwarding(self.folder), place_of(self.folder, index)
        app = self.protect(self.make_app(sessions, forward))
        await answer_connections(app, control, place, partial(sessions.drain, self.grace))
        await forward.close()

    def make_app(self, sessions: Sessions, forward: Forwarding) -> App:
        if self.protocol == "mcp":
            from shopwright.pipeline.trainers.mcp import make_mcp_app

            return make_mcp_app(sessions, forward, self.host)
        from shopwright.pipeline.trainers.openenv import make_openenv_app

        return make_openenv_app(self.run, sessions, forward)

    def protect(self, app: App) -> App:
        return BodyLimit(TokenGuard(app, self.token) if self.token else guard_app(app, self.host))


def serve_environments(
    *,
    run: str,
    host: str,
    port: int,
    protocol: str = PROTOCOLS[0],
    environment: str = "envs",
    index: int = 0,
    sessions: int = SESSIONS,
    workers: int = 1,
    idle: float = IDLE,
    grace: float = GRACE,
    per_client: int = 0,
    curriculum: str = "",
    group: int = GROUP,
    window: int = ECOMRLVE.window,
    threshold: Fraction = ECOMRLVE.threshold,
    rollouts: int = ECOMRLVE.count,
) -> int:
    """Serves until it is stopped. Raises Problem where the protocol's package, or all that could be played, is missing.

    environment, index: the task of `stdio`, which serves one client and one episode.
    curriculum: a collection or env, of which each training run gets tasks at its own level; the settings behind it are the curriculum's.
    """
    counts = {name: number for name in ENVIRONMENTS if (number := count_env_tasks(run, name))}
    begin = None
    if curriculum:
        select_collection(curriculum)
        get_run_world(run)
        controller = AdaptiveDifficulty(window=window, threshold=threshold, count=rollouts)
        begin = partial(begin_training, run, collection=curriculum, group=group, controller=controller)
    elif not counts:
        raise Problem(f"{run} has no tasks to play. Build some: shopwright build env_tasks --run {run}")
    require(PACKAGES[protocol], f"shopwright serve --protocol {protocol}")
    if protocol == "stdio":
        if environment not in counts or not 0 <= index < counts[environment]:
            raise Problem(f"{run} has no task {index} of {environment}. It has: {describe_counts(counts)}.")
        from shopwright.pipeline.trainers.mcp import serve_stdio

        return serve_stdio(run, environment, index)
    listener = open_listener(host, port)
    open_shop(run, counts)
    import_server(protocol)
    with TemporaryDirectory(prefix="shopwright-serve-") as folder:
        token = "" if is_loopback(host) else os.environ.get(TOKEN) or secrets.token_urlsafe(24)
        service = Service(run, protocol, host, workers, sessions, idle, grace, begin, token, Path(folder))
        front = Front(
            listener, workers, service.work, grace=grace, per_client=per_client, metrics=open_metrics(Path(folder))
        )
        tasks = describe_counts(counts)
        levels = f"; levels of training runs: http://{host}:{port}/curriculum" if curriculum else ""
        served = ", ".join(filter(None, [tasks, curriculum and f"the curriculum {curriculum}"]))
        print(f"Serving {served} at http://{host}:{port}{levels}. Stop with Ctrl-C.", flush=True)
        if token and not os.environ.get(TOKEN):
            print(f"Others reach it, so it asks for a token, here a new one: Authorization: Bearer {token}", flush=True)
        return front.run()


def describe_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({number:,})" for name, number in counts.items())


def open_shop(run: str, counts: Mapping[str, int]) -> None:
    """Reads into memory what all workers share. What starts processes of its own each of them opens for itself."""
    for name, kind in ENVIRONMENTS.items():
        if name in counts:
            dump_tools(name)
            if not kind._waits:
                kind(run).reset(extra_info={"task": get_env_task(run, name, 0)})


def import_server(protocol: str) -> None:
    """What a server is made of, before the workers begin: it takes the time and the memory once."""
    for name in ("aiohttp", "uvicorn", MADE_OF[protocol]):
        import_module(name)


def open_metrics(folder: Path) -> Metrics:
    """Workers count into files of this folder, where Prometheus's client is there."""
    os.environ.pop(FOLDER, None)
    if can_measure():
        (folder / "metrics").mkdir()
        os.environ[FOLDER] = str(folder / "metrics")
    return Metrics()
