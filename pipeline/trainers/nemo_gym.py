"""The environments for NeMo Gym: a resources server, whose folder is written by:

    python -m shopwright.pipeline.trainers.nemo_gym data/runs/mine build/nemo

with the settings and five tasks of each environment. A rollout is a session: `seed_session` begins its episode, each tool is a POST to its name, and
`verify` asks for the reward and frees it.
"""
# mypy: disable-error-code="import-not-found"

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.trainers.env import (
    ENVIRONMENTS,
    TaskEnvironment,
    count_env_tasks,
    get_env_task,
    list_tool_schemas,
)
from shopwright.pipeline.trainers.gymnasium import LONGEST
from shopwright.pipeline.trainers.sessions import Refused, Session, Sessions

EXAMPLES = 5
NAME = "shopwright"
# Where NeMo Gym looks for a server of this name.
PLACE = Path("resources_servers") / NAME
APP = """from shopwright.pipeline.trainers.nemo_gym import ShopServer

if __name__ == "__main__":
    ShopServer.run_webserver()
"""


def __getattr__(name: str) -> Any:
    if name != "ShopServer":
        raise AttributeError(name)
    globals()["ShopServer"] = make_shop_server()
    return globals()["ShopServer"]


def make_shop_server() -> type:
    from fastapi import FastAPI, HTTPException, Request
    from fastapi.responses import PlainTextResponse
    from nemo_gym.base_resources_server import (
        BaseResourcesServerConfig,
        BaseSeedSessionRequest,
        BaseSeedSessionResponse,
        BaseVerifyRequest,
        BaseVerifyResponse,
        SimpleResourcesServer,
    )
    from nemo_gym.server_utils import SESSION_ID_KEY
    from pydantic import ConfigDict, PrivateAttr

    class ShopConfig(BaseResourcesServerConfig):  # type: ignore[misc]
        run: str

    class Row(BaseSeedSessionRequest):  # type: ignore[misc]
        environment: str
        task: dict[str, Any]

    class Verified(BaseVerifyResponse):  # type: ignore[misc]
        model_config = ConfigDict(extra="allow")
        success: float

    class PlayedRow(BaseVerifyRequest):  # type: ignore[misc]
        model_config = ConfigDict(extra="allow")

    class ShopServer(SimpleResourcesServer):  # type: ignore[misc]
        config: ShopConfig
        _sessions: Sessions = PrivateAttr()

        def setup_webserver(self) -> FastAPI:
            self._sessions = Sessions(self.config.run)
            app = super().setup_webserver()
            app.post("/{name}")(self.call)
            return app

        def find(self, request: Request) -> Session:
            key = request.session[SESSION_ID_KEY]
            if key not in self._sessions.live:
                raise HTTPException(
                    410, f"The rollout {key} has no episode: it was never seeded, has ended, or was idle for too long."
                )
            return self._sessions.live[key]

        async def seed_session(self, request: Request, body: Row) -> BaseSeedSessionResponse:
            key = request.session[SESSION_ID_KEY]
            session = self._sessions.live.get(key) or Session(self._sessions, key)
            try:
                await session.reset(environment=body.environment, extra_info={"task": body.task})
            except Refused as error:
                raise HTTPException(503, str(error)) from None
            except Problem as error:
                session.close()
                raise HTTPException(422, str(error)) from None
            return BaseSeedSessionResponse()

        async def call(self, name: str, request: Request) -> PlainTextResponse:
            session, arguments = self.find(request), await request.json()
            answer = await session.step(name, arguments if isinstance(arguments, dict) else {"arguments": arguments})
            return PlainTextResponse(answer.text)

        async def verify(self, request: Request, body: PlayedRow) -> Verified:
            session = self.find(request)
            env = session.env
            assert env is not None
            hear_last_words(env, body.response.model_dump()["output"])
            earned, success = env.get_reward(), float(env._succeeds())
            session.close()
            return Verified(**body.model_dump(), reward=earned, success=success)

    return ShopServer


def hear_last_words(env: TaskEnvironment, output: list[dict[str, Any]]) -> None:
    """Tells an episode what the model said last, where that is no call."""
    if output and output[-1].get("type") == "message":
        env._hear("".join(part.get("text", "") for part in output[-1]["content"]))


# The folder


def write_nemo_gym(run: str, folder: Path) -> Path:
    """Raises Problem where the run has nothing to play."""
    played = [name for name in ENVIRONMENTS if count_env_tasks(run, name)]
    if not played:
        raise Problem(f"{run} has no tasks to play. Build some: shopwright build env_tasks --run {run}")
    home = folder / PLACE
    for name in ("configs", "data"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "app.py").write_text(APP, encoding="utf-8")
    (home / "requirements.txt").write_text("shopwright[nemo-gym]\n", encoding="utf-8")
    # JSON is YAML.
    (home / "configs" / f"{NAME}.yaml").write_text(
        json.dumps(make_settings(run, played), indent=2) + "\n", encoding="utf-8"
    )
    for environment in played:
        lines = [json.dumps(row) + "\n" for row in make_rows(run, environment)]
        (home / "data" / f"{environment}.jsonl").write_text("".join(lines), encoding="utf-8")
    return home


def make_settings(run: str, played: list[str]) -> dict[str, Any]:
    server: dict[str, Any] = {
        "entrypoint": "app.py",
        "domain": "agent",
        "verified": False,
        "description": "A simulated shop: help a shopper, find a product page by page, answer questions about a customer.",
        "run": str(Path(run).resolve()),
    }
    agent: dict[str, Any] = {
        "entrypoint": "app.py",
        "max_steps": LONGEST,
        "resources_server": {"type": "resources_servers", "name": f"{NAME}_resources_server"},
        "model_server": {"type": "responses_api_models", "name": "policy_model"},
        "datasets": [
            {"name": each, "type": "example", "jsonl_fpath": str(PLACE / "data" / f"{each}.jsonl")} for each in played
        ],
    }
    return {
        f"{NAME}_resources_server": {"resources_servers": {NAME: server}},
        f"{NAME}_simple_agent": {"responses_api_agents": {"simple_agent": agent}},
    }


def make_rows(run: str, environment: str, count: int = EXAMPLES) -> Iterator[Mapping[str, Any]]:
    """The first tasks of an environment, as NeMo Gym's simple agent takes them."""
    tools = [
        {"type": "function", "strict": False, **each["function"]}
        for each in list_tool_schemas(ENVIRONMENTS[environment])
    ]
    for index in range(min(count, count_env_tasks(run, environment))):
        task, env = get_env_task(run, environment, index), ENVIRONMENTS[environment](run)
        env.reset(extra_info={"task": task})
        yield {
            "responses_create_params": {"input": env._prompt, "tools": tools, "parallel_tool_calls": False},
            "environment": environment,
            "task": task,
            "agent_ref": {"type": "responses_api_agents", "name": f"{NAME}_simple_agent"},
        }


if __name__ == "__main__":
    print(f"Written: {write_nemo_gym(sys.argv[1], Path(sys.argv[2]))}")
