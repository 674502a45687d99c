"""What the report says of shopping tasks: how they are made, who was held against them, and how they compare with people's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.publish.report_sample import Sample, evaluations, sample, titles
from pipeline.rollouts.scores import FOLDER
from pipeline.run import Run
from pipeline.shopping import evaluate, human
from pipeline.shopping.play import SCENARIOS
from pipeline.shopping.profile import told
from pipeline.shopping.wording import words_of
from schemas.shopping import Profile, ShoppingTask

SOME = 6
LOOKED_AT = 200
"""Tasks with a profile whose words are held against the target's title."""
GRAMS = (1, 2, 3)
BINS = 20
"""Of the share of a title's words."""


def facts(run: Run) -> dict[str, Any] | None:
    """None where there are no tasks."""
    manifest = run.read("shopping_tasks").manifest
    if manifest is None or not manifest.rows:
        return None
    return task_facts(run) | {"agents": agents(run), "audit": audited(run), "human": compared(run)}


def task_facts(run: Run) -> dict[str, Any]:
    some = sample(run.read("shopping_tasks"), list(ShoppingTask.model_fields))
    return {
        "said": some.said,
        "counts": some.sql(
            "select split, profile_id != '' as personal, count(*), count(distinct product_id), count(distinct category), "
            "avg(len(needs)), avg(len([need for need in needs if need.known = 'profile'])) from rows group by all order by 1 desc, 2"
        ),
        "overlaps": some.sql(
            f"select floor(title_overlap * {BINS}) / {BINS} as share, count(*) from rows group by 1 order by 1"
        ),
        "overlap": some.sql("select avg(title_overlap), max(title_overlap) from rows")[0],
        "some": examples(run, some),
        "leaks": leaks(run, some),
    }


def examples(run: Run, some: Sample) -> list[dict[str, Any]]:
    """Tasks by chance, with what comes nearest to them without being it."""
    ids = [id for (id,) in some.sql(f"select id from rows order by hash(id), id limit {SOME}")]
    tasks = [ShoppingTask.model_validate(row) for row in some.of(ids)]
    misses = {task.id: json.loads(task.nearest_miss) for task in tasks}
    known = titles(
        run.read("catalog"), [id for task in tasks for id in (task.product_id, misses[task.id]["product_id"])]
    )
    return [
        {
            "task": task,
            "title": known.get(task.product_id, ""),
            "miss": known.get(misses[task.id]["product_id"], ""),
            "breaks": misses[task.id]["breaks"],
        }
        for task in tasks
    ]


def leaks(run: Run, some: Sample) -> list[tuple[int, float, float]]:
    """For one, two and three words in a row: the share of the target's title that the customer's profile has too, on average, and of
    the nearest miss's. What a profile gives away, the first has and the second has not."""
    profiles = run.read("profiles")
    people = sample(profiles, list(Profile.model_fields)) if profiles.manifest else None
    known = set(people.table["id"].to_pylist()) if people else set()
    rows = some.sql(
        "select product_id, nearest_miss ->> 'product_id', profile_id from rows where profile_id != '' order by hash(id), id"
    )
    rows = [row for row in rows if row[2] in known][:LOOKED_AT]
    if people is None or not rows:
        return []
    owners = people.of(owner for _, _, owner in rows)
    texts = {row["id"]: words_of(told(Profile.model_validate(row))) for row in owners}
    named = titles(run.read("catalog"), {id for target, miss, _ in rows for id in (target, miss) if id})
    kept = [(named[target], named[miss], texts[who]) for target, miss, who in rows if target in named and miss in named]
    if not kept:
        return []
    return [
        (
            size,
            sum(held(target, text, size) for target, _, text in kept) / len(kept),
            sum(held(miss, text, size) for _, miss, text in kept) / len(kept),
        )
        for size in GRAMS
    ]


def held(title: str, text: list[str], size: int) -> float:
    """Share of the title's runs of so many words that a text has.

    >>> held("Norrvik tote bag", ["a", "tote", "bag"], 2)
    0.5
    """
    runs = set(grams(words_of(title), size))
    return len(runs & set(grams(text, size))) / len(runs) if runs else 0.0


def grams(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[place : place + size]) for place in range(len(words) - size + 1))


def agents(run: Run) -> dict[str, Any] | None:
    """What `shopwright evaluate shopping_tasks` found: a line for each agent, with a row for each scenario."""
    now = run.read("shopping_tasks").manifest
    lines: list[dict[str, Any]] = []
    for outcomes, about in evaluations(run.folder / FOLDER, "shopping-*.parquet", evaluate.read):
        current = now is not None and about.get("made") == now.fingerprint
        rows = {row.scenario: row for row in evaluate.figures(outcomes)}
        more = {"split": about.get("split", ""), "current": current, "errors": evaluate.errors(outcomes)}
        lines.append({"rows": rows, "all": rows[evaluate.OVERALL], **more})
    scenarios = [each for each in SCENARIOS if any(each in line["rows"] for line in lines)]
    return {"lines": lines, "scenarios": [*scenarios, evaluate.OVERALL], "parts": evaluate.PARTS} if lines else None


def audited(run: Run) -> dict[str, Any] | None:
    """What `shopwright audit shopping_tasks` found last."""
    facts = read_json(run.folder / evaluate.AUDITED)
    if facts is None:
        return None
    rows = [row for row in facts["rows"] if row["scenario"] != evaluate.OVERALL]
    now = run.read("shopping_tasks").manifest
    return facts | {"rows": rows, "current": now is not None and facts["made"] == now.fingerprint}


def compared(run: Run) -> list[tuple[str, str, str]]:
    """Our instructions beside people's, as `--human` found last."""
    rows = read_json(run.folder / FOLDER / human.FILE) or []
    lines = [human.Line(**row) for row in rows]
    return [(line.what, *human.shown(line)) for line in lines]


def read_json(path: Path) -> Any:
    """None where it is not there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
