"""What the report says of sessions seen page by page: what is done in them and why, how long they are, and who predicts them how well."""

import json
import re
from dataclasses import asdict
from html import unescape
from pathlib import Path
from typing import Any

from pipeline.behaviors import evaluate
from pipeline.behaviors.steps import PAPER, TYPES
from pipeline.dataset import Dataset
from pipeline.publish.report_sample import Rows, evaluations, sample
from pipeline.rewards.hierarchical import Payoff, Rule, payoffs
from pipeline.rollouts.scores import FOLDER
from schemas.behaviors import Behavior, NextAction

PAID = 100
"""Sessions by chance whose steps the pay-off table is of."""
SHORTEST, LONGEST = 4, 12
"""Steps of the session that is shown, where there is one of so many."""
SHARES = (0.5, 0.9, 0.99)
HEADING = re.compile(r"<h1[^>]*>(.*?)</h1>", re.DOTALL)
COUNTED = ["action_type", "in_rl", "page_tokens", "session_tokens", "split"]


def facts(folder: Path) -> dict[str, Any] | None:
    """Of the run in this folder; None where no sessions are finished."""
    made, predicted = Dataset(folder, "behaviors", Behavior), Dataset(folder, "behavior_steps", NextAction)
    behaviors = sample(made, list(Behavior.model_fields)) if made.manifest else None
    if behaviors is None or not len(behaviors):
        return None
    steps = sample(predicted, COUNTED) if predicted.manifest else None
    return {
        "said": behaviors.said,
        "steps_said": steps.said if steps else "",
        "counts": counts(behaviors),
        "mix": mix(behaviors),
        "prompts": prompts(steps) if steps else [],
        "reasons": reasons(behaviors),
        "bytes": page_bytes(behaviors),
        "tokens": tokens(steps) if steps else [],
        "payoffs": payoff_rows(behaviors),
        "paid": min(PAID, len(behaviors)),
        "one": one(behaviors),
        "agents": agents(folder, predicted),
        "types": TYPES,
    }


def counts(behaviors: Rows) -> list[tuple[Any, ...]]:
    """By split: sessions, customers, steps, and how many sessions end in each way."""
    return behaviors.sql(
        "select split, count(*), count(distinct persona_id), sum(len(steps))::int, count(*) filter (outcome = 'bought'), "
        "count(*) filter (outcome = 'left in the cart'), count(*) filter (outcome = 'gave up') from rows group by 1 order by 1 desc"
    )


def mix(behaviors: Rows) -> list[tuple[str, float, float]]:
    """Each type of action with its share in percent, and that of the paper's steps."""
    found = dict(
        behaviors.sql(
            "select action ->> '$.type', count(*) from (select unnest([step.action for step in steps]) as action from rows) group by 1"
        )
    )
    total = sum(found.values())
    return [(kind, 100 * found.get(kind, 0) / total, wanted) for kind, wanted in zip(TYPES, PAPER, strict=True)]


def prompts(steps: Rows) -> list[tuple[Any, ...]]:
    """By split, and once more those to learn on by trying: how many, and of each type of action."""
    types = ", ".join(f"count(*) filter (action_type = '{kind}')" for kind in TYPES)
    return steps.sql(
        f"select * from (select split as part, count(*), {types} from rows group by 1 order by 1 desc) "
        f"union all select 'of train, for RL', count(*), {types} from rows where in_rl having count(*) > 0"
    )


def reasons(behaviors: Rows) -> list[tuple[str, int]]:
    """The commonest first."""
    return behaviors.sql(
        "select reason, count(*) from (select unnest([step.reason for step in steps]) as reason from rows) "
        "group by 1 order by 2 desc, 1"
    )


def page_bytes(behaviors: Rows) -> tuple[float, ...]:
    """Of a page's HTML: on average, at the shares, and at most."""
    (found,) = behaviors.sql(
        f"select avg(size), {', '.join(f'quantile_cont(size, {share})' for share in SHARES)}, max(size) "
        "from (select unnest([strlen(step.html) for step in steps]) as size from rows)"
    )
    return found


def tokens(steps: Rows) -> list[tuple[int, int, int]]:
    """Up to so many tokens, twice as many in each line: prompts with the whole session, and with the latest page alone."""
    return steps.sql(
        "select up, count(*) filter (whole), count(*) filter (not whole) from ("
        "select (2 ** ceil(log2(greatest(session_tokens, 1))))::bigint as up, true as whole from rows union all "
        "select (2 ** ceil(log2(greatest(page_tokens, 1))))::bigint, false from rows) group by 1 order by 1"
    )


def payoff_rows(behaviors: Rows, sessions: int = PAID) -> list[Payoff]:
    """What policies earn that do not look, over the steps of so many sessions drawn by chance."""
    drawn = {id for (id,) in behaviors.sql(f"select id from rows order by hash(id), id limit {sessions}")}
    return payoffs([step for row in found(behaviors, drawn) for step in evaluate.steps_of(row["steps"])])


def found(behaviors: Rows, ids: set[str]) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(sorted(ids), pa.string())
    return [
        row for batch in behaviors.batches() for row in batch.filter(pc.is_in(batch["id"], value_set=known)).to_pylist()
    ]


def one(behaviors: Rows) -> dict[str, Any]:
    """A session by chance, one of a purchase and of no great length if there is any, page by page."""
    ((id,),) = behaviors.sql(
        f"select id from rows order by outcome = 'bought' and len(steps) between {SHORTEST} and {LONGEST} desc, hash(id), id limit 1"
    )
    session = found(behaviors, {id})[0]
    return session | {"steps": [step | {"title": title_of(step["html"])} for step in session["steps"]]}


def title_of(html: str) -> str:
    """
    >>> title_of("<h1>Tea &amp; more</h1>"), title_of("<p>x</p>")
    ('Tea & more', '')
    """
    heading = HEADING.search(html)
    return unescape(heading[1]) if heading else ""


def agents(folder: Path, steps: Dataset[NextAction]) -> list[dict[str, Any]]:
    """What `shopwright evaluate behaviors` found: a line for each agent."""
    now = steps.manifest
    lines = []
    for rows, told in evaluations(folder / FOLDER, "behaviors-*.parquet", evaluate.read):
        current = now is not None and told.get("made") == now.fingerprint
        more = {"split": told.get("split", ""), "current": current, "rule": changed(told.get("rule", "{}"))}
        lines += [{"got": got, "sure": evaluate.sure_shown(got), **more} for got in evaluate.figures(rows)]
    return lines


def changed(rule: str) -> dict[str, Any]:
    """What of a rule is not as the paper has it.

    >>> changed('{"gated": true, "dars": 1000.0}')
    {'gated': True}
    """
    usual = asdict(Rule())
    return {name: value for name, value in json.loads(rule).items() if usual.get(name) != value}
