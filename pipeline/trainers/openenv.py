"""All environments behind one OpenEnv server: a session resets by a task's number or by a row, and calls tools.

    client.reset(split="envs", index=3)                                     # observation.metadata: prompt and tools
    client.step({"tool_name": "cart_view", "arguments": {}})                # observation.result; reward 0 until the end

Splits are the environments' names; what can be asked about a task is its id. `app` is for `uvicorn shopwright.pipeline.trainers.openenv:app`.
"""
# mypy: disable-error-code="import-not-found"

import os
from pathlib import Path
from typing import Any

from shopwright.pipeline.trainers.env import (
    ENVIRONMENTS,
    RUN,
    TaskEnvironment,
    call_env_tool,
    count_env_tasks,
    get_env_task,
    list_tool_schemas,
)

SESSIONS = 64


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    globals()["app"] = make_openenv_app(os.environ.get(RUN, ""))
    return globals()["app"]


def make_openenv_app(run: str | Path, *, sessions: int = SESSIONS) -> Any:
    """The server's application, over a run's datasets."""
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.mcp_types import (
        CallToolAction,
        CallToolObservation,
        ListToolsAction,
        ListToolsObservation,
        Tool,
    )
    from openenv.core.env_server.types import Observation, State

    folder = str(run)

    class Served(Environment):  # type: ignore[misc]
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self) -> None:
            super().__init__()
            self.env: TaskEnvironment | None = None
            self.now = State()

        def reset(
            self,
            seed: int | None = None,
            episode_id: str | None = None,
            split: str = "envs",
            index: int = 0,
            environment: str = "",
            extra_info: Any = None,
            **row: Any,
        ) -> Any:
            name = environment or split
            self.env = ENVIRONMENTS[name](folder)
            self.env.reset(extra_info=extra_info or {"task": get_env_task(folder, name, index)})
            self.now = State(episode_id=episode_id or f"{name}-{index}")
            return Observation(metadata={"prompt": self.env._prompt, "tools": list_tool_schemas(type(self.env))})

        def step(self, action: Any, timeout_s: float | None = None, **more: Any) -> Any:
            if isinstance(action, ListToolsAction):
                return ListToolsObservation(
                    tools=list(map(listed, list_tool_schemas(type(self.env)) if self.env else ()))
                )
            if self.env is None:
                raise RuntimeError("Reset it before the first step.")
            self.now.step_count += 1
            before = self.env._done
            said = call_env_tool(self.env, action.tool_name, action.arguments)
            reward = self.env.get_reward() if self.env._done and not before else 0.0
            return CallToolObservation(tool_name=action.tool_name, result=said, done=self.env._done, reward=reward)

        @property
        def state(self) -> Any:
            return self.now

        def list_splits(self) -> list[str]:
            return [name for name in ENVIRONMENTS if count_env_tasks(folder, name)]

        def num_tasks(self, split: str) -> int:
            return count_env_tasks(folder, split)

        def get_task(self, split: str, index: int) -> dict[str, Any]:
            return {"id": get_env_task(folder, split, index)["id"], "index": index}

        def list_tasks(self, split: str) -> list[dict[str, Any]]:
            return [{"index": index} for index in range(self.num_tasks(split))]

    def listed(schema: Any) -> Any:
        about = schema["function"]
        return Tool(name=about["name"], description=about["description"], input_schema=about["parameters"])

    return create_app(Served, CallToolAction, CallToolObservation, env_name="shopwright", max_concurrent_envs=sessions)
