"""Tasks played to their end: by the scripted solver, by a model, or by both (EcomRLVE-GYM)."""

import json
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from pipeline.checks import tasks as check
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.envs import env_of
from pipeline.envs.base import World, as_json
from pipeline.envs.conversation import by_itself, conversation, talks
from pipeline.envs.episode import Episode
from pipeline.envs.world import beside
from pipeline.models.play import Conversation
from pipeline.models.role import Role
from pipeline.problem import Problem
from pipeline.stage import Plan, Shard, stage
from schemas.samples import Trajectory
from schemas.shop import Order, Persona, Product, Variant
from schemas.tasks import EnvEpisode, Task

SOLVER = "solver"
PlayedBy = Annotated[Literal["solver", "model", "both"], Field(description="who plays: solver, model or both")]
NativeCalls = Annotated[bool, Field(description="tell the model's server of the tools, for native tool calls")]


def plan_env_episodes(env_tasks: Dataset[Task], played_by: str) -> Plan:
    return Plan(len(env_tasks), rows=len(env_tasks) * (2 if played_by == "both" else 1))


@stage(
    makes=EnvEpisode,
    plan=plan_env_episodes,
    checks=[check.task_is_there, check.actions_bring_it_about, check.solver_earns_everything],
    across=[ids_are_unique],
    per_shard=(50, 5_000),
)
def env_episodes(
    env_tasks: Dataset[Task],
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    trajectories: Dataset[Trajectory],
    orders: Dataset[Order],
    shard: Shard,
    plan: Plan,
    agent: Role,
    shopper: Role,
    *,
    played_by: PlayedBy = "solver",
    native_calls: NativeCalls = False,
) -> Iterator[EnvEpisode]:
    """Episodes of the tasks: every tool call, every word of the shopper's, the parts of the reward, and who played."""
    if played_by != SOLVER and not agent.asks:
        raise Problem(
            f"--played-by {played_by} needs a model for the agent. Say --agent openai:NAME@http://HOST:PORT/v1."
        )
    world = beside(catalog)
    tasks = list(env_tasks.rows(shard.of(plan.units)))
    sources: list[Iterator[EnvEpisode]] = []
    if played_by != "model":
        solved = (by_itself("agent", solution_of(task, world, words=shopper.asks)) for task in tasks)
        sources.append(iter(list(shopper.play(solved))))  # to the end: two at once would write into one file of replies
    if played_by != SOLVER:
        name = agent.spec.name
        asked = (
            conversation(Episode(env_of(task.env), world, task), name, words=shopper.asks, native=native_calls)
            for task in tasks
        )
        sources.append(talks(asked, agent, shopper))
    for each in zip(*sources, strict=True):
        yield from each


def solution_of(task: Task, world: World, *, words: bool) -> Conversation[EnvEpisode]:
    """The stored solution, said turn by turn."""
    actions = [as_json(action) for action in json.loads(task.solution)]
    return conversation(Episode(env_of(task.env), world, task), SOLVER, words=words, offline=actions)
