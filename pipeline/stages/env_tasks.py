"""Tasks for agents in the shop, each solved before it ships (EcomRLVE-GYM)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from pipeline.checks import tasks as check
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.envs import env_of
from pipeline.envs.audit import envs_of, levels_of
from pipeline.envs.base import World, as_json
from pipeline.envs.episode import Episode, draw, parsed, played, solver
from pipeline.envs.world import beside
from pipeline.problem import Problem
from pipeline.stage import Plan, Shard, stage
from schemas.record import Rejected
from schemas.samples import Trajectory
from schemas.shop import Order, Persona, Product, Variant
from schemas.tasks import Task

SEEDS = 1_000_000
"""Tasks of a cell that a run's seed has for itself."""


def known_envs(text: str) -> str:
    envs_of(text)
    return text


def known_levels(text: str) -> str:
    levels_of(text)
    return text


Envs = Annotated[
    str, AfterValidator(known_envs), Field(description="C1, C2, C4, C8, or names: cart_building,policy_qa")
]
Levels = Annotated[str, AfterValidator(known_levels), Field(description="difficulties: 0-12, or 0,3,6")]
Count = Annotated[int, Field(ge=1, le=SEEDS, description="tasks of each env at each level")]


def plan_env_tasks(catalog: Dataset[Product], envs: str, levels: str, count: int) -> Plan:
    if not len(catalog):
        raise Problem("The catalog has no products, so there is nothing to do. Look at why they were rejected.")
    tasks = len(envs_of(envs)) * len(levels_of(levels)) * count
    return Plan(tasks, rows=tasks)


@stage(
    makes=Task,
    plan=plan_env_tasks,
    checks=[
        check.env_is_known,
        check.task_is_its_seeds,
        check.goal_agrees_with_the_row,
        check.solution_earns_everything,
        check.silence_earns_nothing,
        check.acceptable_ends_are_successes,
        check.nearest_miss_fails,
        check.certificate_is_computed_twice,
        check.opening_has_no_open_place,
        check.every_wish_can_be_learnt,
        check.everything_named_exists,
    ],
    across=[ids_are_unique],
    per_shard=(50, 5_000),
)
def env_tasks(
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    trajectories: Dataset[Trajectory],
    orders: Dataset[Order],
    shard: Shard,
    plan: Plan,
    *,
    envs: Envs = "C8",
    levels: Levels = "0-12",
    count: Count = 4,
) -> Iterator[Task | Rejected]:
    """Tasks for agents in the shop: what the shopper wants, every end that is right, and a way that earns everything."""
    cells = [(env, level) for env in envs_of(envs) for level in levels_of(levels)]
    for number in shard.of(plan.units):
        env, level = cells[number // count]
        yield solved(beside(catalog), env, level, SEEDS * shard.seed + number % count)


def solved(world: World, name: str, level: int, seed: int) -> Task | Rejected:
    """A task with its solution; why not, where the shop has none or its solver does not earn everything."""
    env = env_of(name)
    try:
        task = draw(env, world, level, seed)
    except Problem as problem:
        return refused(
            name, level, seed, f"no such task in this shop: {str(problem).partition(': ')[2].partition('. ')[0]}"
        )
    episode = Episode(env, world, task)
    reward = played(episode, solver)
    if not check.earns_everything(reward):
        return refused(name, level, seed, "its solver does not earn everything")
    actions = [parsed(turn.action).model_dump(exclude_defaults=True) for turn in episode.turns]
    return task.model_copy(update={"solution": as_json(actions)})


def refused(name: str, level: int, seed: int, reason: str) -> Rejected:
    facts = {"env": name, "difficulty": level, "seed": seed}
    return Rejected(id=f"{name}-d{level:02d}-{seed:07d}", reasons=[reason], record=as_json(facts))
