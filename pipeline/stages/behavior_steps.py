"""One row for each step of a session but its first: what was seen and done before, and what the customer did next (Shop-R1, arXiv 2507.17842)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from shopwright.pipeline.behaviors.steps import (
    Context,
    CustomerFacts,
    build_next_action,
    compute_cutoffs,
    is_step_selected,
    list_step_types,
    parse_action_type,
    parse_mix,
    places_to_predict,
)
from shopwright.pipeline.checks import behaviors as check
from shopwright.pipeline.checks.unique import ids_are_unique
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.problem import Lacking
from shopwright.pipeline.stage import Plan, Shard, Views, stage
from shopwright.schemas.behaviors import Behavior, NextAction


def validate_mix(value: str) -> str:
    parse_mix(value)
    return value


Mix = Annotated[
    str,
    AfterValidator(validate_mix),
    Field(
        description="which steps: all of the log, as many of each action as in the paper or in OPeRA, or a share of each "
        "(type:click:terminate): log, paper, opera or 36:36:27"
    ),
]
Contexts = Annotated[
    Context, Field(description="what the prompt holds: every page of the session so far, or the latest")
]
Known = Annotated[
    CustomerFacts,
    Field(description="what the prompt says of the customer: nothing, who it is, or what it came for too"),
]


def plan_behavior_steps(behaviors: Dataset[Behavior], mix: str) -> Plan:
    steps = behaviors.once(list_step_types)
    if not steps:
        raise Lacking("There is no session of two steps, so there is none to predict. Look at why they were rejected.")
    found = compute_cutoffs(steps, parse_mix(mix))
    counts = {f"{split} {kind}": float(count) for (split, kind), count in sorted(found.counts.items())}
    return Plan(len(behaviors), facts=found, rows=found.rows, stats=counts)


VIEWS = Views(
    place=80,
    forms=("publish.exporters.rl:rl_behaviors",),
    columns=("behavior_id", "step", "action", "rationale"),
    card={"payoffs": "publish.card:measure_step_payoffs"},
)


@stage(
    makes=NextAction,
    plan=plan_behavior_steps,
    checks=[
        check.step_is_the_sessions,
        check.something_was_seen_before,
        check.prompt_shows_what_came_before,
        check.prompt_tokens_are_counted,
    ],
    across=[ids_are_unique, check.rl_mix_is_the_papers, check.splits_share_no_customer],
    per_shard=(50, 500),
    views=VIEWS,
)
def behavior_steps(
    behaviors: Dataset[Behavior],
    shard: Shard,
    plan: Plan,
    *,
    mix: Mix = "log",
    context: Contexts = "session",
    customer_facts: Known = "nothing",
) -> Iterator[NextAction]:
    """Each step of a session but its first move as a prompt and the true next action, with what both contexts cost in tokens."""
    for behavior in behaviors.rows(shard.of(plan.units)):
        for place in places_to_predict(behavior.steps):
            kind = parse_action_type(behavior.steps[place].action)
            kept, in_rl = is_step_selected(plan.facts, behavior.id, place, behavior.split, kind)
            if kept:
                yield build_next_action(behavior, place, context, customer_facts, in_rl=in_rl)
