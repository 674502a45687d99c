"""All environments behind one OpenEnv server: a session resets by a task's number or by a row, and calls tools.

    client.reset(split="envs", index=3)                                     # observation.metadata: prompt and tools
    client.step({"tool_name": "cart_view", "arguments": {}})                # observation.result; reward 0 until the end
    client.reset(training="first")                                          # with a curriculum: the next task of this training run

Splits are the environments' names; what can be asked about a task is its id. `app` is for `uvicorn shopwright.pipeline.trainers.openenv:app`.
"""
# mypy: disable-error-code="import-not-found"

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.curriculum_page import render_curriculum_page
from shopwright.pipeline.trainers.curriculum_state import Training, list_trainings, summarize_group, summarize_training
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
# Begins a training run of this name, or finds it as it was left.
Begin = Callable[[str], Training]


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    globals()["app"] = make_openenv_app(os.environ.get(RUN, ""))
    return globals()["app"]


def make_openenv_app(run: str | Path, *, sessions: int = SESSIONS, begin: Begin | None = None) -> Any:
    """The server's application, over a run's datasets; with `begin`, a session can ask for tasks of a curriculum."""
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
            split: str = "",
            index: int | None = None,
            environment: str = "",
            extra_info: Any = None,
            training: str = "",
            number: int | None = None,
            **row: Any,
        ) -> Any:
            if self.env and self.env._rollout and not self.env._done:
                self.env.get_reward()  # a task that a training run leaves as it stands is not done
            if not (begin is None or training or split or environment or extra_info or index is not None):
                raise Problem('This server has a curriculum. Name the training run: reset(training="NAME"), or a task.')
            name, index = environment or split or "envs", index or 0
            if training:
                extra_info = {"task": {"training": begin_training(training).name, "number": number}}
            self.env = ENVIRONMENTS[name](folder)
            self.env.reset(extra_info=extra_info or {"task": get_env_task(folder, name, index)})
            drawn = self.env._rollout
            self.now = State(episode_id=episode_id or f"{training or name}-{drawn.number if drawn else index}")
            known = {"prompt": self.env._prompt, "tools": list_tool_schemas(type(self.env))}
            asked = {"training": drawn.training.name, "number": drawn.number, **drawn.task} if drawn else {}
            return Observation(metadata={**known, **({"curriculum": asked} if asked else {})})

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

    def begin_training(name: str) -> Training:
        if begin is None:
            raise Problem("This server has no curriculum. Start it with one: shopwright serve --curriculum C4")
        return begin(name)

    def listed(schema: Any) -> Any:
        about = schema["function"]
        return Tool(name=about["name"], description=about["description"], input_schema=about["parameters"])

    app = create_app(Served, CallToolAction, CallToolObservation, env_name="shopwright", max_concurrent_envs=sessions)
    if begin is not None:
        add_curriculum_pages(app, folder)
    return app


def add_curriculum_pages(app: Any, folder: str) -> None:
    """The training runs of a run: their levels as JSON and as a page, and the results of a group."""
    from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

    def answer(look: Callable[[], Any], kind: Any = JSONResponse) -> Any:
        try:
            return kind(look())
        except Problem as problem:
            return PlainTextResponse(str(problem), 404)

    def trainings() -> Any:
        return answer(lambda: {"trainings": list_trainings(folder)})

    def levels(training: str) -> Any:
        return answer(lambda: summarize_training(Training(folder, training)))

    def group(training: str, number: int) -> Any:
        return answer(lambda: summarize_group(Training(folder, training), number))

    def page(training: str) -> Any:
        return answer(lambda: render_curriculum_page(summarize_training(Training(folder, training))), HTMLResponse)

    for path, look in {
        "/curriculum": trainings,
        "/curriculum/{training}": levels,
        "/curriculum/{training}/page": page,
        "/curriculum/{training}/groups/{number}": group,
    }.items():
        app.add_api_route(path, look, response_class=Response)
