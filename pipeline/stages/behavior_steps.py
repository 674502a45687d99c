"""One row for each step of a session: what was seen and done before, and what the customer did next (Shop-R1, arXiv 2507.17842)."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from pipeline.behaviors.steps import Context, Told, chosen, counted, cutoffs, kind_of, next_action, weights
from pipeline.checks import behaviors as check
from pipeline.checks.unique import ids_are_unique
from pipeline.dataset import Dataset
from pipeline.problem import Problem
from pipeline.stage import Plan, Shard, stage
from schemas.behaviors import Behavior, NextAction


def a_mix(value: str) -> str:
    weights(value)
    return value


Mix = Annotated[
    str,
    AfterValidator(a_mix),
    Field(
        description="which steps: all of the log, as many of each action as in the paper or in OPeRA, or a share of each "
        "(type:click:terminate): log, paper, opera or 36:36:27"
    ),
]
Contexts = Annotated[
    Context, Field(description="what the prompt holds: every page of the session so far, or the latest")
]
Tellings = Annotated[
    Told, Field(description="what the prompt tells beside it: nothing, who it is, or what it came for too")
]


def plan_behavior_steps(behaviors: Dataset[Behavior], mix: str) -> Plan:
    steps = behaviors.once(counted)
    if not steps:
        raise Problem("There are no sessions, so there is no step of one. Look at why they were rejected.")
    found = cutoffs(steps, weights(mix))
    told = {f"{split} {kind}": float(count) for (split, kind), count in sorted(found.counts.items())}
    return Plan(len(behaviors), facts=found, rows=found.rows, told=told)


@stage(
    makes=NextAction,
    plan=plan_behavior_steps,
    checks=[
        check.step_is_the_sessions,
        check.prompt_shows_what_came_before,
        check.prompt_tokens_are_counted,
    ],
    across=[ids_are_unique, check.rl_mix_is_the_papers, check.splits_share_no_customer],
    per_shard=(50, 500),
)
def behavior_steps(
    behaviors: Dataset[Behavior],
    shard: Shard,
    plan: Plan,
    *,
    mix: Mix = "log",
    context: Contexts = "session",
    told: Tellings = "nothing",
) -> Iterator[NextAction]:
    """Each step of a session as a prompt and the true next action, with what both contexts cost in tokens."""
    for behavior in behaviors.rows(shard.of(plan.units)):
        for place, step in enumerate(behavior.steps):
            kept, in_rl = chosen(plan.facts, behavior.id, place, behavior.split, kind_of(step.action))
            if kept:
                yield next_action(behavior, place, context, told, in_rl=in_rl)
