"""What the report says of sessions seen page by page: what is done in them and why, how long they are, and who predicts them how well."""

import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any

from shopwright.pipeline.behaviors import evaluate
from shopwright.pipeline.behaviors.steps import PAPER, TYPES, parse_action_type, places_to_predict
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.storage import is_current, read_all_results
from shopwright.pipeline.files import parquet
from shopwright.pipeline.publish.report_sample import Rows, sample
from shopwright.pipeline.rewards.hierarchical import Payoff, Rule, measure_policy_payoffs
from shopwright.pipeline.run import Run
from shopwright.schemas.behaviors import Behavior, NextAction

# Sessions by chance whose steps the pay-off table is of.
PAID = 100
# Steps of the session that is shown, where there is one of so many.
SHORTEST, LONGEST = 4, 12
SHARES = (0.5, 0.9, 0.99)
HEADING = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)


def gather_behavior_facts(
    run: Run, behaviors: Dataset[Behavior], behavior_steps: Dataset[NextAction]
) -> dict[str, Any] | None:
    """None where no sessions are finished."""
    some = sample(behaviors, list(Behavior.model_fields)) if behaviors.manifest else None
    if some is None or not len(some):
        return None
    steps = behavior_steps if behavior_steps.manifest and behavior_steps.manifest.rows else None
    done = count_steps(behaviors)
    return {
        "said": some.describe_size,
        "total": some.total,
        "counts": counts(behaviors, done),
        "mix": mix(done),
        "prompts": count_prompts(steps) if steps else [],
        "reasons": sorted(done.reasons.items(), key=lambda each: (-each[1], each[0])),
        "bytes": page_bytes(some),
        "tokens": count_prompt_tokens(steps) if steps else [],
        "payoffs": payoff_rows(some),
        "paid": min(PAID, len(some)),
        "one": pick_example_session(some),
        "agents": summarize_behavior_agents(run.folder, behavior_steps),
        "types": TYPES,
    }


@dataclass
class StepCounts:
    """Of all steps: how many of each split there are, why they were taken, and of those to be predicted what was done."""

    splits: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)


def count_steps(behaviors: Dataset[Behavior]) -> StepCounts:
    """Reads of the steps nothing but actions and reasons: their pages are hundreds of times as large."""
    found = StepCounts()
    for path in behaviors.files:
        parts = ["split", "steps.list.element.action", "steps.list.element.reason"]
        for batch in parquet(path).iter_batches(columns=parts):
            for row in batch.to_pylist():
                found.splits[row["split"]] += len(row["steps"])
                found.reasons.update(step["reason"] for step in row["steps"])
                found.types.update(
                    parse_action_type(row["steps"][place]["action"]) for place in places_to_predict(row["steps"])
                )
    return found


def counts(behaviors: Rows, done: StepCounts) -> list[tuple[Any, ...]]:
    """By split: sessions, customers, steps, and how many sessions end in each way."""
    rows = behaviors.sql(
        "select split, count(*), count(distinct persona_id), count(*) filter (outcome = 'bought'), "
        "count(*) filter (outcome = 'left in the cart'), count(*) filter (outcome = 'gave up') from rows group by 1 order by 1 desc"
    )
    return [(split, sessions, people, done.splits[split], *ends) for split, sessions, people, *ends in rows]


def mix(done: StepCounts) -> list[tuple[str, float, float]]:
    """Of the steps that are to be predicted: each type of action with its share in percent, and that of the paper's steps."""
    total = done.types.total() or 1
    return [(kind, 100 * done.types[kind] / total, wanted) for kind, wanted in zip(TYPES, PAPER, strict=True)]


def count_prompts(steps: Rows) -> list[tuple[Any, ...]]:
    """By split, and once more those to learn on by trying: how many, and of each type of action."""
    types = ", ".join(f"count(*) filter (action_type = '{kind}')" for kind in TYPES)
    return steps.sql(
        f"select * from (select split as part, count(*), {types} from rows group by 1 order by 1 desc) "
        f"union all select 'of train, for RL', count(*), {types} from rows where in_rl having count(*) > 0"
    )


def page_bytes(behaviors: Rows) -> tuple[float, ...]:
    """Of a page's HTML: on average, at the shares, and at most."""
    (found,) = behaviors.sql(
        f"select avg(size), {', '.join(f'quantile_cont(size, {share})' for share in SHARES)}, max(size) "
        "from (select unnest([strlen(step.html) for step in steps]) as size from rows)"
    )
    return found


def count_prompt_tokens(steps: Rows) -> list[tuple[int, int, int]]:
    """Up to so many tokens, twice as many in each line: prompts with the whole session, and with the latest page alone."""
    return steps.sql(
        "select up, count(*) filter (whole), count(*) filter (not whole) from ("
        "select (2 ** ceil(log2(greatest(session_tokens, 1))))::bigint as up, true as whole from rows union all "
        "select (2 ** ceil(log2(greatest(page_tokens, 1))))::bigint, false from rows) group by 1 order by 1"
    )


def payoff_rows(behaviors: Rows, sessions: int = PAID) -> list[Payoff]:
    """What policies earn that do not look, over the steps of so many sessions drawn by chance."""
    drawn = {id for (id,) in behaviors.sql(f"select id from rows order by md5(id), id limit {sessions}")}
    sessions_read = (evaluate.read_contexts_and_actions(row["steps"]) for row in read_sessions(behaviors, drawn))
    return measure_policy_payoffs(list(chain.from_iterable(sessions_read)))


def read_sessions(behaviors: Rows, ids: set[str]) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(sorted(ids), pa.string())
    chosen = (batch.filter(pc.is_in(batch["id"], value_set=known)) for batch in behaviors.batches())
    return list(chain.from_iterable(batch.to_pylist() for batch in chosen))


def pick_example_session(behaviors: Rows) -> dict[str, Any]:
    """A session by chance, one of a purchase and of no great length if there is any, page by page."""
    ((id,),) = behaviors.sql(
        f"select id from rows order by outcome = 'bought' and len(steps) between {SHORTEST} and {LONGEST} desc, md5(id), id limit 1"
    )
    session = read_sessions(behaviors, {id})[0]
    return session | {"steps": [step | {"title": parse_page_title(step["html"])} for step in session["steps"]]}


def parse_page_title(html: str) -> str:
    """
    >>> parse_page_title("<h1>Tea &amp; more</h1>"), parse_page_title("<p>x</p>")
    ('Tea & more', '')
    """
    heading = HEADING.search(html)
    return unescape(heading[1]) if heading else ""


def summarize_behavior_agents(folder: Path, steps: Dataset[NextAction]) -> list[dict[str, Any]]:
    """What `shopwright evaluate behaviors` found: a line for each agent."""
    lines = []
    for rows, facts in read_all_results(evaluate.StepPrediction, folder, evaluate.NextActions.name):
        current = is_current(facts, steps)
        more = {
            "split": facts.get("split", ""),
            "current": current,
            "rule": find_changed_rule_fields(facts.get("rule", "{}")),
        }
        lines += [
            {"got": got, "sure": evaluate.format_self_certainty(got), **more}
            for got in evaluate.summarize_predictions(rows)
        ]
    return lines


def find_changed_rule_fields(rule: str) -> dict[str, Any]:
    """What of a rule is not as the paper has it.

    >>> find_changed_rule_fields('{"gated": true, "dars": 1000.0}')
    {'gated': True}
    """
    usual = asdict(Rule())
    return {name: value for name, value in json.loads(rule).items() if usual.get(name) != value}
