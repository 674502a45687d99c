"""What the report says of questions: their mix, and some with their SQL and their evidence in the trajectory."""

from collections.abc import Iterable, Sequence
from typing import Any

from pipeline.publish.report_sample import Sample, evaluations, sample, with_ids
from pipeline.publish.report_world import color_of
from pipeline.rollouts import scores
from pipeline.run import Run

COLUMNS = ["id", "trajectory_id", "budget", "question", "sql", "answer", "answer_type", "kind", "shape", "difficulty"]
COLUMNS += ["evidence", "position", "split"]
LEVELS = ("easy", "medium", "hard")
SHAPES = 30
MARKED = 10
"""Rows of evidence, at most, of a question that is shown."""
BESIDE = 1
"""Rows shown before and after each of them."""


def facts(run: Run) -> dict[str, Any] | None:
    questions = run.read("questions")
    some = sample(questions, COLUMNS) if questions.manifest else None
    if some is None or not len(some):
        return None

    def shares(column: str) -> list[tuple[str, int]]:
        return some.sql(f"select coalesce({column}, 'no evidence'), count(*) from rows group by 1 order by 2 desc, 1")

    return {
        "total": len(some),
        "said": some.said,
        "mixes": {
            "Kind": shares("kind"),
            "Type of answer": shares("answer_type"),
            "Difficulty": shares("difficulty"),
            "Where the evidence lies": shares("position"),
        },
        "splits": some.sql(
            "select split, budget, count(*), count(distinct trajectory_id), count(distinct shape), "
            "count(*) filter (answer in ('none', '0', '0.0', '0.00')) from rows group by all order by split, budget"
        ),
        "guessable": some.sql(
            "select shape, sum(n)::int, max(n)::int, arg_max(answer, (n, answer)) from (select shape, answer, count(*) as n "
            "from rows group by all) group by shape having sum(n) >= 10 order by max(n) / sum(n) desc, shape limit 8"
        ),
        "levels": LEVELS,
        "shapes": shapes(some),
        "of_shapes": some.sql("select count(distinct shape) from rows")[0][0],
        "some": shown(run, some),
    }


def shapes(some: Sample) -> list[tuple[str, list[int]]]:
    """The commonest, each with how many questions of it are easy, medium and hard."""
    counts = ", ".join(f"count(*) filter (difficulty = '{level}')" for level in LEVELS)
    rows = some.sql(f"select shape, {counts} from rows group by 1 order by count(*) desc, 1 limit {SHAPES}")
    return [(shape, list(found)) for shape, *found in rows]


def shown(run: Run, some: Sample) -> list[dict[str, Any]]:
    """One of each kind by chance, with evidence of a few rows if any has, and these rows in the trajectory."""
    ids = some.sql(
        "select id from (select id, kind, row_number() over (partition by kind order by "
        f"len(evidence) between 1 and {MARKED} desc, hash(id)) as place from rows) where place = 1"
    )
    found = some.of(id for (id,) in ids)
    texts = with_ids(run.read("trajectories"), {row["trajectory_id"] for row in found}, ["text"])
    return [
        row | {"lines": marked(texts[row["trajectory_id"]]["text"].split("\n"), row["evidence"])}
        if row["trajectory_id"] in texts
        else row | {"lines": []}
        for row in sorted(found, key=lambda row: row["kind"])
    ]


def marked(lines: Sequence[str], evidence: Iterable[int]) -> list[dict[str, Any]]:
    """Rows of evidence with what stands beside them, and in between how many rows are left out.

    >>> [line["left_out"] or (line["row"], line["is_evidence"]) for line in marked("abcdefgh", [1, 6])]
    [(0, False), (1, True), (2, False), 2, (5, False), (6, True), (7, False)]
    """
    known = [row for row in sorted(set(evidence)) if row < len(lines)][:MARKED]
    around = {row for one in known for row in range(one - BESIDE, one + BESIDE + 1) if 0 <= row < len(lines)}
    found: list[dict[str, Any]] = []
    before = -1
    for row in sorted(around):
        if row - before > 1:
            found.append({"left_out": row - before - 1})
        found.append(
            {"left_out": 0, "row": row, "text": lines[row], "is_evidence": row in known, "kind": color_of(lines[row])}
        )
        before = row
    left = len(lines) - 1 - before
    return [*found, {"left_out": left}] if found and left else found


def evaluated(run: Run) -> dict[str, Any] | None:
    """What `shopwright evaluate questions` found: a line for each agent and mode, and a cell for each budget."""
    now = run.read("questions").manifest
    agents: list[dict[str, Any]] = []
    for attempts, told in evaluations(run.folder / scores.FOLDER, "questions-*.parquet", scores.read_attempts):
        current = now is not None and told.get("questions") == now.fingerprint
        agents += [
            {"rows": rows, "split": told.get("split", ""), "current": current}
            for rows in by_mode(scores.figures(attempts))
        ]
    budgets = scores.in_order(budget for agent in agents for budget in agent["rows"] if budget != "all")
    judged = any(row.judged is not None for agent in agents for row in agent["rows"].values())
    return {"agents": agents, "budgets": budgets, "modes": scores.SAID, "judged": judged} if agents else None


def by_mode(rows: list[scores.Row]) -> list[dict[str, scores.Row]]:
    """For each mode its rows by budget, and the one of all."""
    modes = dict.fromkeys((row.policy, row.mode) for row in rows)
    return [
        {row.value: row for row in rows if (row.policy, row.mode) == mode and row.by in ("all", "budget")}
        for mode in modes
    ]
