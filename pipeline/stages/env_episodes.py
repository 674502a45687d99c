"""Tasks played to their end: by the expert, who does not know the goal, by a model, or by both (EcomRLVE-GYM)."""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from shopwright.pipeline.checks import tasks as check
from shopwright.pipeline.checks.shopper_replies import shopper_makes_no_mistake
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import dump_compact_json
from shopwright.pipeline.envs.conversation import run_env_conversations
from shopwright.pipeline.envs.difficulty import compute_axes, scale_limits_to_calls
from shopwright.pipeline.envs.episode import Episode
from shopwright.pipeline.envs.evaluate import make_episode_record
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.evaluate.situation import Player, play_or_reject
from shopwright.pipeline.experts.play import CONFUSED
from shopwright.pipeline.experts.player import EXPERT, load_lexicon, play_by_expert
from shopwright.pipeline.models.base import plain_reason
from shopwright.pipeline.models.play import Working
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.stage import Plan, Shard, Views, stage
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Order, Persona, Product, Variant
from shopwright.schemas.tasks import EnvEpisode, Task

PlayedBy = Annotated[Literal["expert", "model", "both"], Field(description="who plays: expert, model or both")]
NativeCalls = Annotated[bool, Field(description="tell the model's server of the tools, for native tool calls")]


def plan_env_episodes(env_tasks: Dataset[Task], played_by: str) -> Plan:
    return Plan(len(env_tasks), rows=len(env_tasks) * (2 if played_by == "both" else 1))


VIEWS = Views(
    place=60,
    forms=("publish.exporters.sft:sft_envs",),
    columns=("env", "difficulty", "policy", "opening"),
)


@stage(
    makes=EnvEpisode,
    plan=plan_env_episodes,
    checks=[
        check.task_is_there,
        check.actions_bring_it_about,
        check.expert_uses_what_it_saw,
        shopper_makes_no_mistake,
    ],
    across=[ids_are_unique],
    per_shard=(50, 5_000),
    views=VIEWS,
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
    played_by: PlayedBy = "expert",
    native_calls: NativeCalls = False,
) -> Iterator[EnvEpisode | Rejected]:
    """Episodes of the tasks: every tool call, every word of the shopper's, the parts of the reward, and who played."""
    if played_by != EXPERT and not agent.asks:
        raise Problem(
            f"--played-by {played_by} needs a model for the agent. Say --agent openai:NAME@http://HOST:PORT/v1."
        )
    world = load_world_beside(catalog)
    tasks = list(env_tasks.rows(shard.of(plan.units)))
    episodes = partial(Episode, world=world, words=shopper.asks, native=native_calls)
    sources: list[Iterator[EnvEpisode | Rejected]] = []
    if played_by != "model":
        expert = partial(play_by_expert, lexicon=load_lexicon(world.store))
        played = (
            play_env_task(
                episodes(get_env(task.env), task=task, at=scale_limits_to_calls(compute_axes(task.difficulty))),
                EXPERT,
                expert,
            )
            for task in tasks
        )
        sources.append(iter(list(shopper.play(played))))  # to the end: two at once would write into one file of replies
    if played_by != EXPERT:
        asked = (play_env_task(episodes(get_env(task.env), task=task), agent.spec.name) for task in tasks)
        sources.append(run_env_conversations(asked, agent, shopper))
    for each in zip(*sources, strict=True):
        yield from each


def play_env_task(episode: Episode, policy: str, player: Player | None = None) -> Working[EnvEpisode | Rejected]:
    task = episode.task
    facts = {"task_id": task.id, "env": task.env, "difficulty": task.difficulty}
    id = f"{task.id}-{policy}"
    try:
        return (yield from play_or_reject(episode, player, policy, make_episode_record, id=id, facts=facts))
    except CONFUSED as error:
        if player is None:
            raise
        reason = f"{policy} raised {type(error).__name__}: {plain_reason(str(error))}"
        return Rejected(id=id, reasons=[reason], record=dump_compact_json({**facts, "policy": policy}))
