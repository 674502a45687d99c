"""Shopping tasks played to their end, by the solver or a model, with every error that a rule can name (ShopSimulator, section 3)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator, Field

from pipeline.checks import shopping as check
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.models.role import Role
from pipeline.shopping.play import SCENARIOS, Play, conversation, scenarios_of
from pipeline.shopping.players import solver
from pipeline.stage import Plan, Shard, stage
from schemas.samples import Trajectory
from schemas.shop import Order, Persona, Product, Variant
from schemas.shopping import Profile, Scenario, ShoppingEpisode, ShoppingTask

SOLVER = "solver"


def scenarios(value: object) -> object:
    """
    >>> scenarios("single, multi personal")
    ['single', 'multi personal']
    """
    return [each.strip() for each in value.split(",")] if isinstance(value, str) else value


Scenarios = Annotated[
    list[Scenario], BeforeValidator(scenarios), Field(description="of single, multi, single personal, multi personal")
]


def plan_shopping_episodes(shopping_tasks: Dataset[ShoppingTask], scenarios: list[Scenario]) -> Plan:
    personal = [bool(id) for id in shopping_tasks.table(["profile_id"])["profile_id"].to_pylist()]
    wanted = {sort: sum(("personal" in each) == sort for each in scenarios) for sort in (False, True)}
    return Plan(len(personal), rows=sum(wanted[each] for each in personal))


@stage(
    makes=ShoppingEpisode,
    plan=plan_shopping_episodes,
    checks=[check.actions_bring_it_about, check.solver_buys_what_is_wanted, check.strict_is_never_above_loose],
    across=[ids_are_unique],
    per_shard=(50, 2_000),
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
) -> Iterator[ShoppingEpisode]:
    """Tasks played page by page: every action, what was seen, what was bought, both rewards by their parts, the errors made."""
    shop, known = catalog.once(check.shop_of), profiles.once(check.by_id)
    plays = (
        Play(shop, task, scenario, known.get(task.profile_id))
        for task in shopping_tasks.rows(shard.of(plan.units))
        for scenario in scenarios_of(task)
        if scenario in scenarios
    )
    if agent.asks:
        yield from agent.play(conversation(play, agent.spec.name) for play in plays)
    else:
        yield from agent.play(conversation(play, SOLVER, player=solver(play)) for play in plays)
