"""Tasks for agents in the shop, each solved before it ships (EcomRLVE-GYM)."""

from collections.abc import Iterator
from itertools import product as cartesian
from typing import Annotated

from pydantic import AfterValidator, Field

from shopwright.pipeline.checks import tasks as check
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import InvalidDraw, World, dump_compact_json
from shopwright.pipeline.envs.episode import Episode, draw_task, parse_action, play_episode, play_solution
from shopwright.pipeline.envs.evaluate import parse_env_names, parse_levels
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.phrases.given import Bank, GivenBank, list_bank_files, load_bank
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.stage import Key, Plan, Section, Shard, Views, stage
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Order, Persona, Product, Variant
from shopwright.schemas.tasks import Task

# Tasks of a cell that a run's seed has for itself.
SEEDS = 1_000_000


def validate_envs(text: str) -> str:
    parse_env_names(text)
    return text


def validate_levels(text: str) -> str:
    parse_levels(text)
    return text


Envs = Annotated[
    str, AfterValidator(validate_envs), Field(description="C1, C2, C4, C8, or names: cart_building,policy_qa")
]
Levels = Annotated[str, AfterValidator(validate_levels), Field(description="difficulties: 0-12, or 0,3,6")]
Count = Annotated[int, Field(ge=1, le=SEEDS, description="tasks of each env at each level")]


def plan_env_tasks(catalog: Dataset[Product], envs: str, levels: str, count: int, bank: str = "") -> Plan:
    if not len(catalog):
        raise Problem("The catalog has no products, so there is nothing to do. Look at why they were rejected.")
    tasks = len(parse_env_names(envs)) * len(parse_levels(levels)) * count
    return Plan(tasks, files=list_bank_files(bank), rows=tasks)


VIEWS = Views(
    place=60,
    apart={"customer": Key("persona_id"), "task": Key("task_id"), "goal": Key("goal")},
    named_by=("task_id",),
    environments={"envs": "trainers.env:ShopEnv"},
    forms=("publish.exporters.rl:rl_envs",),
    words={"openings": "commands.words:read_openings"},
    purposes=("reinforcement-learning",),
    columns=("env", "difficulty", "opening", "feasible"),
    report=(
        Section("environments", "Environments", "publish.report_envs:gather_env_facts"),
        Section("audit", "Audit", "publish.report_envs:gather_audit_facts"),
    ),
    sample=("opening",),
    card={"audit": "publish.card:average_audit"},
    pictures={"levels": "publish.pictures:draw_levels"},
)


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
        check.substitutes_are_for_the_same_device,
        check.titles_tell_no_substitute,
        check.sellers_are_not_guessed,
        check.titles_agree_with_what_is_asked,
        check.opening_has_no_open_place,
        check.every_slot_can_be_learnt,
        check.words_are_read_back,
        check.everything_named_exists,
    ],
    across=[ids_are_unique],
    per_shard=(50, 5_000),
    views=VIEWS,
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
    bank: Bank = "",
) -> Iterator[Task | Rejected]:
    """Tasks for agents in the shop: what the shopper wants, every end that is right, and a way that earns everything."""
    spoken, cells = load_bank(plan.files, "envs"), list(cartesian(parse_env_names(envs), parse_levels(levels)))
    for number in shard.of(plan.units):
        env, level = cells[number // count]
        yield draw_solved_task(load_world_beside(catalog), env, level, SEEDS * shard.seed + number % count, spoken)


def draw_solved_task(world: World, name: str, level: int, seed: int, bank: GivenBank | None = None) -> Task | Rejected:
    """A task with its solution; why not, where the shop has none or its solver does not earn everything."""
    env = get_env(name)
    try:
        task = draw_task(env, world, level, seed, bank=bank)
        episode = Episode(env, world, task)
        reward = play_episode(episode, play_solution)
    except InvalidDraw as error:
        return reject_env_task(name, level, seed, str(error))
    except Problem as problem:
        return reject_env_task(
            name, level, seed, f"no such task in this shop: {str(problem).partition(': ')[2].partition('. ')[0]}"
        )
    except Exception as error:  # noqa: BLE001 - an env is anybody's code
        return reject_env_task(name, level, seed, check.raised_by(name, error))
    if not check.earns_everything(reward):
        return reject_env_task(
            name, level, seed, f"{name}.solve does not earn everything: {reward.fault or 'less than 1'}"
        )
    actions = [parse_action(turn.action).model_dump(exclude_defaults=True) for turn in episode.turns]
    return task.model_copy(update={"solution": dump_compact_json(actions)})


def reject_env_task(name: str, level: int, seed: int, reason: str) -> Rejected:
    facts = {"env": name, "difficulty": level, "seed": seed}
    return Rejected(id=f"{name}-d{level:02d}-{seed:07d}", reasons=[reason], record=dump_compact_json(facts))
