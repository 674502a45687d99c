"""The environments as a task of Inspect, for evaluation:

    inspect eval shopwright/shop -T run=data/runs/mine -T environment=shopping_talk --model MODEL --limit 20

A sample is a task of the run. Its scores are the reward and the success of the episode, as it stands where the model stopped calling. The model is told
of the tools by their schemas; calls go to the episode itself, so that wrong ones cost what they cost in training.
"""
# mypy: disable-error-code="import-not-found, untyped-decorator"

import os
from typing import Any

from shopwright.pipeline.trainers.env import ENVIRONMENTS, RUN, count_env_tasks, list_tool_schemas
from shopwright.pipeline.trainers.gymnasium import LONGEST
from shopwright.pipeline.trainers.sessions import Session, Sessions


def __getattr__(name: str) -> Any:
    """`shop` is the task, made when Inspect asks for it by the package's entry point."""
    if name != "shop":
        raise AttributeError(name)
    globals()["shop"] = make_inspect_task()
    return globals()["shop"]


def make_inspect_task() -> Any:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample

    @task(name="shop")
    def shop(run: str = os.environ.get(RUN, ""), environment: str = "envs") -> Any:
        samples = [
            Sample(id=f"{environment}-{index}", input=f"Task {index} of {environment}.", metadata={"index": index})
            for index in range(count_env_tasks(run, environment))
        ]
        episodes: dict[str, Session] = {}
        sessions = Sessions(run, most=max(1, len(samples)), idle=float("inf"))
        return Task(
            dataset=MemoryDataset(samples, name=environment),
            solver=make_solver(sessions, environment, episodes),
            scorer=make_scorer(episodes),
            message_limit=2 * LONGEST,
        )

    return shop


def make_solver(sessions: Sessions, environment: str, episodes: dict[str, Session]) -> Any:
    """Plays a sample, and leaves its episode for the scorer."""
    from inspect_ai.model import ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.solver import solver

    @solver(name="play")
    def play() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            session = episodes[state.uuid] = sessions.open()
            opened = await session.reset(environment=environment, index=state.metadata["index"])
            assert session.env is not None
            system, user = opened.prompt
            state.messages = [ChatMessageSystem(content=system["content"]), ChatMessageUser(content=user["content"])]
            state.tools = make_inspect_tools(environment)
            while not session.done:
                state = await generate(state, tool_calls="none")
                calls = state.output.message.tool_calls or []
                if not calls:
                    session.env._hear(state.output.completion)
                    break
                for call in calls:
                    said = await session.step(call.function, call.arguments)
                    state.messages.append(
                        ChatMessageTool(content=said.text, tool_call_id=call.id, function=call.function)
                    )
            return state

        return solve

    return play()


def make_inspect_tools(environment: str) -> list[Any]:
    """What a model is told of; the solver makes the calls."""
    from inspect_ai.tool import ToolDef, ToolParams

    def make_tool(name: str, description: str, parameters: dict[str, Any]) -> Any:
        async def call(**kwargs: Any) -> str:  # one for each: Inspect knows tools by their functions
            raise RuntimeError(f"{name} is called by the episode.")

        return ToolDef(call, name=name, description=description, parameters=ToolParams(**parameters)).as_tool()

    return [make_tool(**each["function"]) for each in list_tool_schemas(ENVIRONMENTS[environment])]


def make_scorer(episodes: dict[str, Session]) -> Any:
    from inspect_ai.scorer import Score, mean, scorer, stderr

    @scorer(name="episode", metrics={"*": [mean(), stderr()]})
    def judge() -> Any:
        async def score(state: Any, target: Any) -> Any:
            session = episodes.pop(state.uuid)
            assert session.env is not None
            found = {"reward": session.env.get_reward(), "success": float(session.env._succeeds())}
            steps = session.steps
            session.close()
            return Score(value=found, metadata={"steps": steps})

        return score

    return judge()
