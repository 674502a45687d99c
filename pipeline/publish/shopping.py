"""What the report says of shopping tasks: how they are made, who was held against them, and how they compare with people's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.rollouts.scores import FOLDER
from pipeline.run import Run
from pipeline.shopping import evaluate, human
from pipeline.shopping.play import SCENARIOS
from pipeline.shopping.profile import told
from pipeline.shopping.wording import words_of
from schemas.shopping import Profile, ShoppingTask

SOME = 10
LOOKED_AT = 500
"""Tasks with a profile whose words are held against the target's title."""
GRAMS = (1, 2, 3)
BINS = 20
"""Of the share of a title's words."""


def task_facts(run: Run) -> dict[str, Any]:
    tasks = run.read("shopping_tasks")
    return {
        "counts": tasks.sql(
            "select split, profile_id != '' as personal, count(*), count(distinct product_id), count(distinct category), "
            "avg(len(needs)), avg(len([need for need in needs if need.known = 'profile'])) from rows group by all order by 1 desc, 2"
        ),
        "overlaps": tasks.sql(
            f"select floor(title_overlap * {BINS}) / {BINS} as share, count(*) from rows group by 1 order by 1"
        ),
        "overlap": tasks.sql("select avg(title_overlap), max(title_overlap) from rows")[0],
        "some": examples(run),
        "leaks": leaks(run),
    }


def examples(run: Run) -> list[dict[str, Any]]:
    """Tasks by chance, with what comes nearest to them without being it."""
    ids = [id for (id,) in run.read("shopping_tasks").sql(f"select id from rows order by hash(id), id limit {SOME}")]
    tasks = found(run, ids)
    misses = {task.id: json.loads(task.nearest_miss) for task in tasks}
    known = titles(run, {task.product_id for task in tasks} | {miss["product_id"] for miss in misses.values()})
    return [
        {
            "task": task,
            "title": known.get(task.product_id, ""),
            "miss": known.get(misses[task.id]["product_id"], ""),
            "breaks": misses[task.id]["breaks"],
        }
        for task in tasks
    ]


def found(run: Run, ids: list[str]) -> list[ShoppingTask]:
    wanted = set(ids)
    return [task for task in run.read("shopping_tasks") if task.id in wanted]


def titles(run: Run, ids: set[str]) -> dict[str, str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = run.read("catalog").table(["id", "title"])
    few = table.filter(pc.is_in(table["id"], value_set=pa.array(sorted(ids), pa.string())))
    return dict(zip(few["id"].to_pylist(), few["title"].to_pylist(), strict=True))


def leaks(run: Run) -> list[tuple[int, float, float]]:
    """For one, two and three words in a row: the share of the target's title that the customer's profile has too, on average, and of
    the nearest miss's. What a profile gives away, the first has and the second has not."""
    rows = run.read("shopping_tasks").sql(
        "select product_id, nearest_miss ->> 'product_id', profile_id from rows where profile_id != '' "
        f"order by hash(id), id limit {LOOKED_AT}"
    )
    known = titles(run, {id for target, miss, _ in rows for id in (target, miss)})
    people = {owner for _, _, owner in rows}
    texts = {
        one.id: words_of(told(one)) for one in run.read("profiles") if isinstance(one, Profile) and one.id in people
    }
    kept = [
        (known[target], known[miss], texts[owner]) for target, miss, owner in rows if miss in known and owner in texts
    ]
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
    for path in sorted((run.folder / FOLDER).glob("shopping-*.parquet")):
        if read := evaluate.read(path):
            outcomes, facts = read
            current = now is not None and facts.get("made") == now.fingerprint
            rows = {row.scenario: row for row in evaluate.figures(outcomes)}
            more = {"split": facts.get("split", ""), "current": current, "errors": evaluate.errors(outcomes)}
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
