"""What the report says of the environments: their tasks, and whether cheap policies earn what the solver does."""

import json
from pathlib import Path
from typing import Any

from pipeline.problem import Problem
from pipeline.publish.report_sample import sample
from pipeline.run import Run

COLUMNS = ["id", "env", "difficulty", "opening", "wishes", "feasible"]


def facts(run: Run) -> dict[str, Any] | None:
    tasks = run.read("env_tasks")
    some = sample(tasks, COLUMNS) if tasks.manifest else None
    if some is None or not len(some):
        return None
    counts = some.sql(
        "select env, count(*), min(difficulty), max(difficulty), count(*) filter (not feasible), "
        "avg(len(wishes)), avg(len([wish for wish in wishes if wish.known = 'asked'])) from rows group by 1 order by 1"
    )
    shown = some.sql(
        "select env, difficulty, opening, feasible from (select *, row_number() over (partition by env order by hash(id)) "
        "as place from rows) where place = 1 order by env"
    )
    return {"counts": counts, "some": shown, "said": some.said}


def audited(path: Path) -> dict[str, Any] | None:
    """What `shopwright audit envs --run` found last: for each env and policy its mean reward by level."""
    if not path.exists():
        return None
    try:
        return drawn_from(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, LookupError, TypeError, RecursionError):
        raise Problem(
            f"{path} is no audit. Take it away, or make it again: shopwright audit envs --run FOLDER"
        ) from None


def drawn_from(cells: list[dict[str, Any]]) -> dict[str, Any]:
    levels = sorted({cell["level"] for cell in cells})
    found = {(cell["env"], cell["policy"], cell["level"]): cell for cell in cells}
    rows = [
        (env, policy, [found.get((env, policy, level)) for level in levels])
        for env, policy in dict.fromkeys((cell["env"], cell["policy"]) for cell in cells)
    ]
    return {"levels": levels, "rows": rows, "episodes": max((cell["episodes"] for cell in cells), default=0)}
