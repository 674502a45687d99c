"""Episodes of many clients at once, whatever protocol they come by: each has a place, is freed when it ends or is left, and says why it is gone.

    sessions = Sessions("data/runs/mine", most=4_096, idle=600)
    session = sessions.open()
    opened = await session.reset(split="envs", index=3)      # waits for a place while all are taken
    answer = await session.step("cart_view", {})             # answer.text, answer.reward, answer.done
    session.close()

A session is cheap while it has no episode. All of a process share one shop; tasks and texts of tools are made once. Calls that wait for the
sandbox run in threads, the others where they are: they take less time than a thread takes to be asked.
"""

import asyncio
import ctypes
import gc
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from uuid import uuid4
from zlib import crc32

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.curriculum_state import Training
from shopwright.pipeline.trainers.env import (
    ENVIRONMENTS,
    TaskEnvironment,
    call_env_tool,
    count_env_tasks,
    list_tool_schemas,
    read_env_task,
)
from shopwright.pipeline.trainers.metrics import Metrics

# Episodes at once, seconds without a call after which one is freed, and seconds that a reset waits for a place; clients of OpenEnv give up after 60.
SESSIONS = 4_096
IDLE = 600.0
PATIENCE = 50.0
# Clients of OpenEnv connect again by themselves where their connection has ended, and go on with a step.
NOT_BEGUN = "This session has no episode. Reset it first; an episode is lost with its connection, and with the worker that had it."
# Begins a training run of this name, or finds it as it was left.
Begin = Callable[[str], Training]


class Refused(Problem):
    """A session cannot do what was asked; `code` is the name of the reason, as OpenEnv has it."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True)
class Opened:
    """What a client is told at a reset."""

    id: str
    prompt: list[dict[str, str]]
    environment: str
    drawn: dict[str, Any] | None
    """The task of a curriculum: training, number, env, difficulty, seed."""

    @property
    def metadata(self) -> str:
        """As JSON: prompt, tools, and the curriculum's task."""
        more = f', "curriculum": {json.dumps(self.drawn)}' if self.drawn else ""
        prompt = dump_messages(*((message["role"], message["content"]) for message in self.prompt))
        return f'{{"prompt": {prompt}, "tools": {dump_tools(self.environment)}{more}}}'


@dataclass(frozen=True)
class Answer:
    """What a call comes to. The reward is 0 until the call that ends the episode."""

    text: str
    reward: float
    done: bool


@lru_cache(1_024)
def dump_messages(*messages: tuple[str, str]) -> str:
    return json.dumps([{"role": role, "content": content} for role, content in messages])


@cache
def dump_tools(environment: str) -> str:
    return json.dumps(list_tool_schemas(ENVIRONMENTS[environment]))


class Sessions:
    """All sessions of a process.

    begin: with a curriculum, what begins a training run. owner, owners: which of the server's workers this is, and how many there are.
    """

    def __init__(
        self,
        run: str,
        *,
        begin: Begin | None = None,
        most: int = SESSIONS,
        idle: float = IDLE,
        patience: float = PATIENCE,
        owner: int = 0,
        owners: int = 1,
        metrics: Metrics | None = None,
    ) -> None:
        self.run, self.begin, self.most, self.idle, self.patience = run, begin, most, idle, patience
        self.owner, self.owners = owner, owners
        self.metrics = metrics or Metrics()
        self.places = asyncio.Semaphore(most)
        self.live: dict[str, Session] = {}
        """Those that have a place, by their id."""
        self.left = False
        """Whether a session has left since memory was given back."""
        self.stopping = False
        self.sweeper: asyncio.Task[None] | None = None

    def open(self) -> "Session":
        return Session(self, make_key(self.owner, self.owners))

    @property
    def running(self) -> int:
        """Episodes that have not ended."""
        return sum(session.env is not None and not session.env._done for session in self.live.values())

    async def sweep(self) -> None:
        """Frees again and again what was idle for too long; and when all have left, what memory they had."""
        while True:
            await asyncio.sleep(min(self.idle / 4, 5.0))
            await self.free_idle()
            if self.left and not self.live:
                self.left = False
                give_back_memory()

    async def free_idle(self) -> None:
        now = time.monotonic()
        for session in list(self.live.values()):
            if not session.busy and now - session.used > self.idle:
                self.metrics.count_expired()
                session.close(f"This session was idle for {self.idle:g} seconds and has been freed. Reset it.")

    async def drain(self, grace: float) -> None:
        """Begins no episode any more, and waits so many seconds for those that are under way."""
        self.stopping = True
        end = time.monotonic() + grace
        while self.running and time.monotonic() < end:
            await asyncio.sleep(0.05)


class Session:
    """A client's place, with at most one episode."""

    __slots__ = ("busy", "env", "episode", "gone", "id", "labels", "lock", "sessions", "steps", "used")

    def __init__(self, sessions: Sessions, id: str) -> None:
        self.sessions, self.id = sessions, id
        self.env: TaskEnvironment | None = None
        self.episode, self.steps, self.used = "", 0, time.monotonic()
        self.labels = ("", "")
        self.busy, self.lock = False, asyncio.Lock()
        self.gone = NOT_BEGUN

    @property
    def done(self) -> bool:
        return self.env is not None and self.env._done

    @property
    def reward(self) -> float:
        """What an episode that has ended earned, 0 before."""
        return self.env.get_reward() if self.env is not None and self.env._done else 0.0

    async def take_place(self) -> None:
        """Waits while all places are taken, at most so long as `patience` says. Raises Refused."""
        sessions = self.sessions
        if sessions.stopping:
            raise Refused("SESSION_ERROR", "The server is being stopped and begins no episode any more.")
        if self.id in sessions.live:
            return
        try:
            await asyncio.wait_for(sessions.places.acquire(), sessions.patience)
        except TimeoutError:
            raise Refused(
                "CAPACITY_REACHED", f"All {sessions.most} places were taken for {sessions.patience:g} seconds."
            ) from None
        sessions.live[self.id] = self
        sessions.metrics.set_sessions(len(sessions.live))
        if sessions.sweeper is None:
            sessions.sweeper = asyncio.create_task(sessions.sweep())

    async def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str = "",
        index: int | None = None,
        environment: str = "",
        extra_info: Any = None,
        training: str = "",
        number: int | None = None,
        **row: Any,
    ) -> Opened:
        """Begins an episode: a task of this number, that of a row, or the next of a training run. Raises Refused and Problem."""
        begun = time.perf_counter()
        await self.take_place()
        async with self.lock:
            left, self.env, self.gone = self.env, None, "Its reset failed. Reset it again."
            self.busy = True
            try:
                if left and left._rollout and not left._done:
                    await asyncio.to_thread(
                        left.get_reward
                    )  # a task that a training run leaves as it stands is not done
                name, row_task = self.choose_task(environment or split, index, training, number, extra_info)
                env = ENVIRONMENTS[name](self.sessions.run)
                # A curriculum draws, solves and writes; a sandbox is another process.
                if training or env._waits:
                    await asyncio.to_thread(env.reset, extra_info=row_task)
                else:
                    env.reset(extra_info=row_task)
            finally:
                self.busy, self.used = False, time.monotonic()
            if self.id not in self.sessions.live:
                raise Refused("SESSION_ERROR", "This session was closed.")
            self.env, self.steps, self.labels = env, 0, env._labels(name)
        drawn = env._rollout
        self.episode = episode_id or f"{training or name}-{drawn.number if drawn else index or 0}"
        self.sessions.metrics.count_reset(self.labels, time.perf_counter() - begun)
        asked = {"training": drawn.training.name, "number": drawn.number, **drawn.task} if drawn else None
        return Opened(self.episode, env._prompt, name, asked)

    def choose_task(
        self, named: str, index: int | None, training: str, number: int | None, extra_info: Any
    ) -> tuple[str, Any]:
        """The environment, and what it is reset by."""
        name = named or "envs"
        if name not in ENVIRONMENTS:
            raise Problem(f"There is no environment {str(name)[:60]!r}. There are: {', '.join(ENVIRONMENTS)}.")
        if training:
            if self.sessions.begin is None:
                raise Problem("This server has no curriculum. Start it with one: shopwright serve --curriculum C4")
            return name, {"task": {"training": self.sessions.begin(training).name, "number": number}}
        if extra_info:
            return name, extra_info
        if self.sessions.begin is not None and not named and index is None:
            raise Problem('This server has a curriculum. Name the training run: reset(training="NAME"), or a task.')
        if index is not None and not isinstance(index, int):
            raise Problem("The number of a task is a whole number: reset(split=..., index=3).")
        return name, {"task": read_env_task(self.sessions.run, name, index or 0)}

    async def step(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Calls a tool. Raises Refused where there is no episode."""
        async with self.lock:
            env = self.env
            if env is None:
                raise Refused("SESSION_ERROR", self.gone)
            begun, before = time.perf_counter(), env._done
            self.steps += 1
            self.busy = True
            try:
                if env._waits or env._rollout:
                    text, reward = await asyncio.to_thread(call_and_judge, env, name, arguments)
                else:
                    text, reward = call_and_judge(env, name, arguments)
            finally:
                self.busy, self.used = False, time.monotonic()
        self.sessions.metrics.count_step(self.labels, time.perf_counter() - begun)
        if env._done and not before:
            self.sessions.metrics.count_reward(self.labels, reward)
        return Answer(text, reward, env._done)

    def close(self, why: str = "This session was closed.") -> None:
        """Frees the episode and the place; what is asked of it afterwards is answered by `why`."""
        self.env, self.gone = None, why
        if self.sessions.live.pop(self.id, None):
            self.sessions.left = True
            self.sessions.places.release()
            self.sessions.metrics.set_sessions(len(self.sessions.live))


def give_back_memory() -> None:
    """To the system, as far as Python's allocator has let go of it; only glibc is asked."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


def call_and_judge(env: TaskEnvironment, name: str, arguments: Mapping[str, Any]) -> tuple[str, float]:
    before = env._done
    said = call_env_tool(env, name, arguments)
    return said, env.get_reward() if env._done and not before else 0.0


@cache
def list_default_tools(run: str) -> str:
    """The tools before a reset, as JSON: those of the environment that a reset without a name plays, or of the first that has tasks."""
    having = [name for name in ENVIRONMENTS if count_env_tasks(run, name)]
    return dump_tools("envs" if "envs" in having or not having else having[0])


def make_key(owner: int, owners: int) -> str:
    """A new key of which this worker is the owner."""
    while find_owner(key := uuid4().hex, owners) != owner:
        pass
    return key


def find_owner(key: str, owners: int) -> int:
    """Which worker has the session of a key; all of them agree.

    >>> find_owner("a", 1), find_owner("episode-7", 4)
    (0, 3)
    """
    return crc32(key.encode()) % owners
