"""What the report says of shopping tasks: how they are made, who was held against them, and how they compare with people's."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.audit import read_audit, tabulate_audit
from shopwright.pipeline.evaluate.situation import SOLVER
from shopwright.pipeline.evaluate.storage import FOLDER, is_current, read_all_results
from shopwright.pipeline.publish.report_sample import Sample, find_titles, sample
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping import evaluate, instruction_comparison
from shopwright.pipeline.shopping.play import SCENARIOS
from shopwright.pipeline.shopping.profile import describe_profile
from shopwright.pipeline.shopping.wording import split_lowercase_words
from shopwright.schemas.certificates import parse_miss
from shopwright.schemas.shopping import Profile, ShoppingTask

SOME = 6
# Tasks with a profile whose words are held against the target's title.
LOOKED_AT = 200
GRAMS = (1, 2, 3)
# Of the share of a title's words.
BINS = 20


def gather_shopping_facts(run: Run, shopping_tasks: Dataset[ShoppingTask]) -> dict[str, Any] | None:
    """None where there are no tasks."""
    manifest = shopping_tasks.manifest
    if manifest is None or not manifest.rows:
        return None
    return task_facts(run, shopping_tasks) | {
        "episodes": count_exported_episodes(run),
        "agents": summarize_shopping_agents(run, shopping_tasks),
        "audit": read_shopping_audit(run, shopping_tasks),
        "human": read_instruction_comparison(run),
    }


def count_exported_episodes(run: Run) -> list[tuple[str, str, int, int]]:
    """By who played and scenario: episodes, and those that are exported to train on, which are the successes; the solver's are not."""
    episodes = run.read("shopping_episodes")
    if episodes.manifest is None:
        return []
    return episodes.sql(
        f"select policy, scenario, count(*), sum((typed.success and policy != '{SOLVER}')::int)::int from rows group by all order by all"
    )


def task_facts(run: Run, tasks: Dataset[ShoppingTask]) -> dict[str, Any]:
    some = sample(tasks, list(ShoppingTask.model_fields))
    return {
        "total": some.total,
        "counts": tasks.sql(
            "select split, profile_id != '' as personal, count(*), count(distinct product_id), count(distinct category), "
            "avg(len(needs)), avg(len([need for need in needs if need.known = 'profile'])) from rows group by all order by 1 desc, 2"
        ),
        "overlaps": tasks.sql(
            f"select floor(title_overlap * {BINS}) / {BINS} as share, count(*) from rows group by 1 order by 1"
        ),
        "overlap": tasks.sql("select avg(title_overlap), max(title_overlap) from rows")[0],
        "some": examples(run, some),
        "leaks": measure_profile_leaks(run, some),
        "leaks_of": LOOKED_AT,
    }


def examples(run: Run, some: Sample) -> list[dict[str, Any]]:
    """Tasks by chance, with what comes nearest to them without being it."""
    ids = [id for (id,) in some.sql(f"select id from rows order by md5(id), id limit {SOME}")]
    tasks = [ShoppingTask.model_validate(row) for row in some.of(ids)]
    misses = {task.id: parse_miss(task.nearest_miss) for task in tasks}
    near = {}
    for id, miss in misses.items():
        near[id] = "".join(line.product_id for line in miss.end.bought)
    known = find_titles(run.read("catalog"), [*(task.product_id for task in tasks), *near.values()])
    return [
        {
            "task": task,
            "title": known.get(task.product_id, ""),
            "miss": known.get(near[task.id], ""),
            "breaks": misses[task.id].breaks,
        }
        for task in tasks
    ]


def measure_profile_leaks(run: Run, some: Sample) -> list[tuple[int, float, float]]:
    """For one, two and three words in a row: the share of the target's title that the customer's profile has too, on average, and of
    the nearest miss's. What a profile gives away, the first has and the second has not."""
    profiles = run.read("profiles")
    people = sample(profiles, list(Profile.model_fields)) if profiles.manifest else None
    known = set(people.table["id"].to_pylist()) if people else set()
    rows = some.sql(
        "select product_id, coalesce(nearest_miss ->> '$.end.bought[0].product_id', ''), profile_id from rows where profile_id != '' order by md5(id), id"
    )
    rows = [row for row in rows if row[2] in known][:LOOKED_AT]
    if people is None or not rows:
        return []
    owners = people.of(owner for _, _, owner in rows)
    texts = {row["id"]: split_lowercase_words(describe_profile(Profile.model_validate(row))) for row in owners}
    ids = {target for target, _, _ in rows} | {miss for _, miss, _ in rows}
    named = find_titles(run.read("catalog"), ids - {""})
    kept = [(named[target], named[miss], texts[who]) for target, miss, who in rows if target in named and miss in named]
    if not kept:
        return []
    found = []
    for size in GRAMS:
        of_target = sum(measure_ngram_overlap(target, text, size) for target, _, text in kept)
        of_miss = sum(measure_ngram_overlap(miss, text, size) for _, miss, text in kept)
        found.append((size, of_target / len(kept), of_miss / len(kept)))
    return found


def measure_ngram_overlap(title: str, text: list[str], size: int) -> float:
    """Share of the title's runs of so many words that a text has.

    >>> measure_ngram_overlap("Norrvik tote bag", ["a", "tote", "bag"], 2)
    0.5
    """
    runs = set(list_ngrams(split_lowercase_words(title), size))
    return len(runs & set(list_ngrams(text, size))) / len(runs) if runs else 0.0


def list_ngrams(words: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[place : place + size]) for place in range(len(words) - size + 1))


def summarize_shopping_agents(run: Run, tasks: Dataset[ShoppingTask]) -> dict[str, Any] | None:
    """What `shopwright evaluate shopping_tasks` found: a line for each agent, with a row for each scenario."""
    lines: list[dict[str, Any]] = []
    for outcomes, about in read_all_results(evaluate.Outcome, run.folder, evaluate.ShoppingTasks.name):
        current = is_current(about, tasks)
        rows = {row.scenario: row for row in evaluate.summarize_outcomes(outcomes)}
        more = {"split": about.get("split", ""), "current": current, "errors": evaluate.count_errors(outcomes)}
        passes = evaluate.tabulate_shopping_passes(rows.values())
        lines.append({"rows": rows, "all": rows[evaluate.OVERALL], "passes": passes, **more})
    played = set(chain.from_iterable(line["rows"] for line in lines))
    scenarios = [each for each in SCENARIOS if each in played]
    return {"lines": lines, "scenarios": [*scenarios, evaluate.OVERALL], "parts": evaluate.PARTS} if lines else None


def read_shopping_audit(run: Run, shopping_tasks: Dataset[ShoppingTask]) -> dict[str, Any] | None:
    """What `shopwright audit shopping_tasks` found last."""
    found = read_audit(run.folder, evaluate.ShoppingTasks.name)
    if found is None:
        return None
    facts, cells = found
    table = tabulate_audit(cells, evaluate.ShoppingTasks.audited)
    return {"cells": cells, "table": table, "current": is_current(facts, shopping_tasks)}


def read_instruction_comparison(run: Run) -> list[tuple[str, str, str]]:
    """Our instructions beside people's, as `--human` found last."""
    path = run.folder / FOLDER / instruction_comparison.FILE
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    lines = [instruction_comparison.FigurePair(**row) for row in rows]
    return [(line.what, *instruction_comparison.format_figure_pair(line)) for line in lines]
