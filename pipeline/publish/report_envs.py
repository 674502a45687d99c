"""What the report says of the environments: their tasks, and whether cheap policies earn what the solver does."""

from collections.abc import Sequence
from typing import Any

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs.evaluate import (
    EnvTasks,
    PlayedEpisode,
    score_episodes,
    tabulate_env_passes,
    tabulate_env_scores,
)
from shopwright.pipeline.evaluate.audit import AuditCell, arrange_by_level, read_audit
from shopwright.pipeline.evaluate.storage import read_all_results
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.publish.chart_shapes import audits
from shopwright.pipeline.publish.report_sample import sample
from shopwright.pipeline.run import Run
from shopwright.schemas.tasks import Task

COLUMNS = ["id", "env", "difficulty", "opening", "slots", "feasible"]


def gather_env_facts(run: Run, env_tasks: Dataset[Task]) -> dict[str, Any] | None:
    if env_tasks.manifest is None or not env_tasks.manifest.rows:
        return None
    counts = env_tasks.sql(
        "select env, count(*), min(difficulty), max(difficulty), count(*) filter (not feasible), "
        "avg(len(slots)), avg(len([slot for slot in slots if slot.known = 'asked'])) from rows group by 1 order by 1"
    )
    shown = sample(env_tasks, COLUMNS).sql(
        "select env, difficulty, opening, feasible from (select *, row_number() over (partition by env order by md5(id)) "
        "as place from rows) where place = 1 order by env"
    )
    return {"counts": counts, "some": shown, "total": env_tasks.manifest.rows, "agents": list_agent_tables(run)}


def list_agent_tables(run: Run) -> list[Table]:
    """What `shopwright evaluate envs --run` found: a table for each agent, and one of several tries where it had them."""
    tables = []
    for rows, facts in read_all_results(PlayedEpisode, run.folder, EnvTasks.name):
        cells = sorted({(row.env, row.difficulty) for row in rows})
        asked = int(facts.get("episodes", 0))
        tables += [tabulate_env_scores(score_episodes(rows, cells, asked)), tabulate_env_passes(rows)]
    return [table for table in tables if table.rows]


def gather_audit_facts(run: Run) -> dict[str, Any] | None:
    """The audit with its drawings; None where there is none."""
    audit = read_env_audit(run)
    return audit and audit | {"drawn": audits(audit)}


def read_env_audit(run: Run) -> dict[str, Any] | None:
    """What `shopwright audit envs --run` found last: for each env and policy its cells by level."""
    found = read_audit(run.folder, "envs")
    return found and arrange_audit(found[1])


def arrange_audit(cells: Sequence[AuditCell]) -> dict[str, Any]:
    levels, rows = arrange_by_level(cells)
    return {"levels": levels, "rows": rows, "episodes": max((cell.episodes for cell in cells), default=0)}
