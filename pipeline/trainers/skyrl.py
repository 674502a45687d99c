"""The environments for SkyRL, whose models write text and are answered by text: calls stand in tags, as in `sft_*_text`.

    skyrl_gym.register(id="shopwright", entry_point="shopwright.pipeline.trainers.skyrl:SkyEnv")

A row of an `rl_*` dataset is reset by its columns `environment` and `extra_info`; `env_config` may name the run.
"""
# mypy: disable-error-code="import-not-found"

from collections.abc import Mapping
from typing import Any

from shopwright.pipeline.models.openai import parse_tagged_calls
from shopwright.pipeline.publish.exporters.rows import dump_exact_json, render_tool_manual
from shopwright.pipeline.trainers.env import ENVIRONMENTS, call_env_tool, list_tool_schemas
from shopwright.pipeline.trainers.gymnasium import LONGEST


def __getattr__(name: str) -> Any:
    if name != "SkyEnv":
        raise AttributeError(name)
    globals()["SkyEnv"] = make_sky_env()
    return globals()["SkyEnv"]


def make_sky_env() -> type:
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

    class SkyEnv(BaseTextEnv):  # type: ignore[misc]
        def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            row = extras or {}
            self.max_turns = row.get("max_turns", LONGEST)
            self.extra_info = row["extra_info"]
            self.env = ENVIRONMENTS[row.get("environment") or "envs"]((env_config or {}).get("run"))

        def init(self, prompt: Any) -> Any:
            """The row's prompt has no tools: here they follow what the system says."""
            self.turns = 0
            self.env.reset(extra_info=self.extra_info)
            tools = render_tool_manual(tuple(map(dump_exact_json, list_tool_schemas(type(self.env)))))
            system, user = self.env._prompt
            return [{**system, "content": f"{system['content']}\n\n{tools}"}, user], {}

        def step(self, action: str) -> Any:
            """The reward is 0 until the end: words without a call, too, end it."""
            self.turns += 1
            calls = read_text_calls(action)
            answers = [call_env_tool(self.env, call["name"], call["arguments"]) for call in calls]
            if not calls:
                self.env._hear(action)
            done = self.env._done or not calls or self.turns >= self.max_turns
            said = "\n".join(f"<tool_response>\n{each}\n</tool_response>" for each in answers)
            return BaseTextEnvStepOutput(
                observations=[{"role": "user", "content": said}] if said and not done else [],
                reward=self.env.get_reward() if done else 0.0,
                done=done,
                metadata={"success": self.env._succeeds()} if done else {},
            )

        def get_metrics(self) -> dict[str, Any]:
            return {"success": float(self.env._succeeds())}

    return SkyEnv


def read_text_calls(text: str) -> list[dict[str, Any]]:
    """The calls in a turn; none where one is malformed.

    >>> read_text_calls('I look. <tool_call>{"name": "cart_view"}</tool_call>'), read_text_calls("<tool_call>{")
    ([{'name': 'cart_view', 'arguments': {}}], [])
    """
    try:
        found = parse_tagged_calls(text)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []
    return [call for call in found if isinstance(call["arguments"], dict)]
