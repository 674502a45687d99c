"""The environments for Gymnasium: an action is a call as JSON, or the model's last words; an observation is text."""
# mypy: disable-error-code="import-not-found"

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shopwright.pipeline.trainers.env import (
    ENVIRONMENTS,
    call_env_tool,
    count_env_tasks,
    get_env_task,
    list_tool_schemas,
)

# Steps, after which an episode is cut off; those of the envs have limits of their own.
LONGEST = 400


def __getattr__(name: str) -> Any:
    if name != "GymEnv":
        raise AttributeError(name)
    globals()["GymEnv"] = make_gym_env()
    return globals()["GymEnv"]


def make_gym_env() -> type:
    """`GymEnv(environment, run)`: `reset(options={"index": 3})` or `{"task": row}`, else any task by the seed; `info` has prompt and tools."""
    import gymnasium
    from gymnasium.spaces import Space

    class AnyText(Space):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__((), str)

        def contains(self, x: Any) -> bool:
            return isinstance(x, str)

        def sample(self, mask: Any = None, probability: Any = None) -> str:
            return ""

    class GymEnv(gymnasium.Env):  # type: ignore[misc]
        def __init__(self, environment: str = "envs", run: str | Path = "", *, longest: int = LONGEST) -> None:
            self.name, self.folder, self.longest = environment, str(run), longest
            self.env = ENVIRONMENTS[environment](self.folder)
            self.action_space = self.observation_space = AnyText()
            self.steps = 0

        def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Any:
            super().reset(seed=seed)
            task = (options or {}).get("task")
            if task is None:
                index = (options or {}).get("index")
                index = (
                    int(self.np_random.integers(count_env_tasks(self.folder, self.name))) if index is None else index
                )
                task = get_env_task(self.folder, self.name, index)
            self.env.reset(extra_info={"task": task})
            self.steps = 0
            messages = self.env._prompt
            return messages[-1]["content"], {"prompt": messages, "tools": list_tool_schemas(type(self.env))}

        def step(self, action: str | Mapping[str, Any]) -> Any:
            """Observation, reward (0 until the end), whether it is over, whether it is cut off, and nothing more."""
            self.steps += 1
            call = parse_gym_call(action)
            said = call_env_tool(self.env, *call) if call else ""
            if not call:
                self.env._hear(str(action))
            done = self.env._done or not call
            cut = not done and self.steps >= self.longest
            return said, self.env.get_reward() if done or cut else 0.0, done, cut, {}

    return GymEnv


def parse_gym_call(action: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The call that an action is, if it is one.

    >>> parse_gym_call('{"name": "cart_view"}'), parse_gym_call("I give up.")
    (('cart_view', {}), None)
    """
    try:
        found = json.loads(action) if isinstance(action, str) else action
        return str(found["name"]), dict(found.get("arguments") or {})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
