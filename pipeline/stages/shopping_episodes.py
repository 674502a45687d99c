"""Shopping tasks played to their end, by the expert or a model, with every error that a rule can name (ShopSimulator, section 3)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, Field

from shopwright.pipeline.checks import shopping as check
from shopwright.pipeline.checks.short_instructions import (
    expert_uses_what_it_saw,
    open_short_shop,
    shopper_makes_no_mistake,
)
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.situation import play_or_reject
from shopwright.pipeline.models.play import Working
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.shopping.expert import EXPERT, play_by_expert
from shopwright.pipeline.shopping.play import SCENARIOS, Play, build_episode_id, list_scenarios, make_episode
from shopwright.pipeline.stage import Plan, Shard, Views, stage
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Trajectory
from shopwright.schemas.shop import Order, Persona, Product, Variant
from shopwright.schemas.shopping import Profile, Scenario, ShoppingEpisode, ShoppingTask


def parse_scenario_list(value: object) -> object:
    """
    >>> parse_scenario_list("single, multi personal")
    ['single', 'multi personal']
    """
    return [each.strip() for each in value.split(",")] if isinstance(value, str) else value


Scenarios = Annotated[
    list[Scenario],
    BeforeValidator(parse_scenario_list),
    Field(description="of single, multi, single personal, multi personal"),
]


def plan_shopping_episodes(shopping_tasks: Dataset[ShoppingTask], scenarios: list[Scenario]) -> Plan:
    personal = [bool(id) for id in shopping_tasks.table(["profile_id"])["profile_id"].to_pylist()]
    with_profile = sum("personal" in each for each in scenarios)
    without = len(scenarios) - with_profile
    return Plan(len(personal), rows=sum(with_profile if each else without for each in personal))


VIEWS = Views(
    place=70,
    forms=("publish.exporters.sft:sft_shopping",),
    columns=("task_id", "scenario", "policy", "opening"),
)


@stage(
    makes=ShoppingEpisode,
    plan=plan_shopping_episodes,
    checks=[
        check.actions_bring_it_about,
        check.solver_buys_what_is_wanted,
        expert_uses_what_it_saw,
        shopper_makes_no_mistake,
        check.shared_nodes_are_one_type,
        check.strict_is_never_above_loose,
    ],
    across=[ids_are_unique],
    per_shard=(50, 2_000),
    views=VIEWS,
    languages=("en", "zh"),
)
def shopping_episodes(
    shopping_tasks: Dataset[ShoppingTask],
    catalog: Dataset[Product],
    variants: Dataset[Variant],
    personas: Dataset[Persona],
    trajectories: Dataset[Trajectory],
    orders: Dataset[Order],
    profiles: Dataset[Profile],
    shard: Shard,
    plan: Plan,
    agent: Role,
    *,
    scenarios: Scenarios = list(SCENARIOS),  # noqa: B006 - a setting's default, never changed
) -> Iterator[ShoppingEpisode | Rejected]:
    """Tasks played page by page: every action, what was seen, what was bought, both rewards by their parts, the errors made."""
    shop, known = catalog.once(check.shop_of), profiles.once(check.index_profile_records)
    expert = None if agent.asks else play_by_expert(open_short_shop(catalog, variants))
    policy = agent.spec.name if agent.asks else EXPERT

    def list_plays() -> Iterator[Working[ShoppingEpisode | Rejected]]:
        for task in shopping_tasks.rows(shard.of(plan.units)):
            for scenario in list_scenarios(task):
                if scenario in scenarios:
                    play = Play(shop, task, scenario, known.get(task.profile_id))
                    id, facts = build_episode_id(play, policy), {"task_id": task.id, "scenario": scenario}
                    yield play_or_reject(play, expert, policy, make_episode, id=id, facts=facts)

    yield from agent.play(list_plays())
