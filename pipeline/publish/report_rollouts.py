"""What the report says of rollouts, and of the questions to learn on by trying."""

from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.publish.report_questions import LEVELS
from shopwright.schemas.rollouts import RlPrompt, Rollout

MISTAKES = 12


def gather_rollout_facts(rollouts: Dataset[Rollout]) -> dict[str, Any] | None:
    """None where there are none, as with prompts."""
    if rollouts.manifest is None or not rollouts.manifest.rows:
        return None
    return {
        "total": rollouts.manifest.rows,
        "counts": rollouts.sql(
            "select policy, split, count(*), avg(reward), avg(turns), avg(len(calls)), avg(tokens) from rows "
            "group by 1, 2 order by 1, 2"
        ),
        "levels": by_level(rollouts.sql("select difficulty, count(*), avg(reward), avg(turns) from rows group by 1")),
        "mistakes": rollouts.sql(
            "select case mistake when '' then 'none' else mistake end, count(*) from rows group by 1 order by 2 desc, 1 "
            f"limit {MISTAKES}"
        ),
    }


def gather_prompt_facts(rl_prompts: Dataset[RlPrompt]) -> dict[str, Any] | None:
    if rl_prompts.manifest is None or not rl_prompts.manifest.rows:
        return None
    return {
        "total": rl_prompts.manifest.rows,
        "kinds": rl_prompts.sql("select kind, count(*) from rows group by 1 order by 2 desc, 1"),
        "levels": by_level(rl_prompts.sql("select difficulty, count(*) from rows group by 1")),
        "rates": rl_prompts.sql(
            "select rate.policy, count(*), sum(rate.tries)::bigint, sum(rate.right)::bigint from "
            "(select unnest(pass_rates) as rate from rows) group by 1 order by sum(rate.right) / sum(rate.tries) desc, 1"
        ),
    }


def by_level(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """
    >>> by_level([("hard", 1), ("easy", 3), ("medium", 2)])
    [('easy', 3), ('medium', 2), ('hard', 1)]
    """
    return sorted(rows, key=lambda row: LEVELS.index(row[0]))
