"""The envs of a run as a taskset of verifiers (0.4): a task for each row of `env_tasks`, and one server of tools for all rollouts.

    vf-eval shopwright-taskset -m MODEL --env.taskset.run data/runs/mine --env.agent.harness.id null

verifiers starts this module again, as that server. A rollout's episode is begun by its first call, and freed when it ends or was idle for long.
"""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import verifiers.v1 as vf
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent, Tool

from shopwright.pipeline.trainers.env import (
    OVER,
    RUN,
    ShopEnv,
    count_env_tasks,
    get_env_task,
    get_run_world,
    make_error_result,
    solve_env_task,
)
from shopwright.pipeline.trainers.mcp import make_mcp_tools
from shopwright.pipeline.trainers.sessions import Refused, Session, Sessions, dump_tools

__all__ = ["ShopTaskset"]


class ShopState(vf.State):
    """What a rollout and the server tell one another."""

    session: str = ""
    number: int = 0
    reward: float | None = None
    """None before the first call."""
    done: bool = False


class ShopToolsConfig(vf.SharedToolsetConfig):
    run: str = ""


class ShopTools(vf.Toolset[ShopToolsConfig, ShopState]):
    TOOL_PREFIX = None

    async def setup(self) -> None:
        get_run_world(self.config.run)
        self.sessions = Sessions(self.config.run)
        self.begun: set[str] = set()
        self.beginning = asyncio.Lock()

    def register(self, mcp: MCPServer) -> None:
        """The tools as they are told everywhere: made from functions, they would have other schemas."""
        mcp.list_tools = self.list_tools  # type: ignore[method-assign]
        mcp.call_tool = self._with_state(self.call_tool)  # type: ignore[method-assign]

    async def list_tools(self) -> list[Tool]:
        return make_mcp_tools(dump_tools("envs"))

    async def call_tool(self, name: str, arguments: dict, context: object = None) -> CallToolResult:
        state = self.state
        try:
            session = await self.find_session(state)
            said = (await session.step(name, arguments)).text
        except Refused:  # it has ended, or was idle for too long
            said, state.done = make_error_result(OVER), True
        else:
            state.reward, state.done = session.env.get_reward(), session.done
            if session.done:
                session.close()
        return CallToolResult(content=[TextContent(type="text", text=said)])

    async def find_session(self, state: ShopState) -> Session:
        """Raises Refused where the rollout's episode is not there any more."""
        async with self.beginning:
            if state.session not in self.begun:
                await Session(self.sessions, state.session).reset(environment="envs", index=state.number)
                self.begun.add(state.session)
        if state.session not in self.sessions.live:
            raise Refused("SESSION_ERROR", OVER)
        return self.sessions.live[state.session]


class ShopData(vf.TaskData):
    run: str
    number: int
    """Of the row."""


class ShopTask(vf.Task[ShopData, ShopState, vf.TaskConfig]):
    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        trace.state.session, trace.state.number = uuid4().hex, self.data.number

    @vf.stop
    async def over(self, trace: vf.Trace) -> bool:
        return trace.state.done

    @vf.reward
    async def score_episode(self, trace: vf.Trace) -> float:
        """What the episode earned; as it stands, where it was broken off, or never began."""
        if trace.state.reward is None:
            return await asyncio.to_thread(lambda: begin_env_task(self.data.run, self.data.number).get_reward())
        return trace.state.reward

    async def validate(self, runtime: vf.Runtime) -> bool:
        """Whether the env's own solver earns everything."""
        env = ShopEnv(self.data.run)
        return bool(await asyncio.to_thread(solve_env_task, env, get_env_task(self.data.run, "envs", self.data.number)))


def begin_env_task(run: str, number: int) -> ShopEnv:
    env = ShopEnv(run)
    env.reset(extra_info={"task": get_env_task(run, "envs", number)})
    return env


class ShopConfig(vf.TasksetConfig):
    run: str = os.environ.get(RUN, "")
    """The folder with the datasets."""
    tools: ShopToolsConfig = ShopToolsConfig()


class ShopTaskset(vf.Taskset[ShopTask, ShopConfig]):
    @classmethod
    def toolsets(cls, config: ShopConfig) -> list[vf.Toolset]:
        return [ShopTools(config.tools.model_copy(update={"run": find_run(config)}))]

    def load(self) -> Iterator[ShopTask]:
        run = find_run(self.config)
        for number in range(count_env_tasks(run, "envs")):
            task = get_env_task(run, "envs", number)
            system, user = begin_env_task(run, number)._prompt
            data = ShopData(
                id=task["id"],
                name=task["env"],
                system_prompt=system["content"],
                prompt=user["content"],
                run=run,
                number=number,
            )
            yield ShopTask(data, self.config.task)


def find_run(config: ShopConfig) -> str:
    """As a path that a server in another folder finds."""
    return str(Path(config.run).resolve()) if config.run else ""


if __name__ == "__main__":
    ShopTools.run()
