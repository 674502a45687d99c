"""What the report says of questions: their mix, and some with their SQL and their evidence in the trajectory."""

from collections.abc import Iterable, Sequence
from itertools import chain, product
from typing import Any, get_args

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.audit import read_audit, tabulate_audit
from shopwright.pipeline.evaluate.storage import is_current, read_all_results
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.publish.report_customers import choose_line_color
from shopwright.pipeline.publish.report_sample import Rows, Sample, sample, with_ids
from shopwright.pipeline.rollouts import scores
from shopwright.pipeline.run import Run
from shopwright.schemas.questions import Question, Shortcut
from shopwright.schemas.rollouts import Attempt
from shopwright.schemas.samples import Trajectory

COLUMNS = ["id", "trajectory_id", "budget", "question", "sql", "answer", "answer_type", "kind", "shape", "difficulty"]
COLUMNS += ["evidence", "position", "split", "answerable_from", "effort"]
LEVELS = ("easy", "medium", "hard")
SHAPES = 30
# Rows of evidence, at most, of a question that is shown.
MARKED = 10
# Rows shown before and after each of them.
BESIDE = 1


def gather_question_facts(questions: Dataset[Question], trajectories: Dataset[Trajectory]) -> dict[str, Any] | None:
    if questions.manifest is None or not questions.manifest.rows:
        return None

    def shares(column: str) -> list[tuple[str, int]]:
        return questions.sql(
            f"select coalesce({column}, 'no evidence'), count(*) from rows group by 1 order by 2 desc, 1"
        )

    return {
        "total": questions.manifest.rows,
        "mixes": {
            "Kind": shares("kind"),
            "Type of answer": shares("answer_type"),
            "What can answer it": questions.sql(
                f"select case when list_contains(answerable_from, 'text') then '{scores.TEXT}' else '{scores.ALONE}' end, "
                "count(*) from rows group by 1 order by 2 desc, 1"
            ),
            "Difficulty": sorted(shares("difficulty"), key=lambda each: LEVELS.index(each[0])),
            "Where the evidence lies": shares("position"),
        },
        "splits": questions.sql(
            "select split, budget, count(*), count(distinct trajectory_id), count(distinct shape), "
            "count(*) filter (answer in ('none', '0', '0.0', '0.00')) from rows group by all order by split, budget"
        ),
        "guessable": questions.sql(
            "select shape, sum(n)::int, max(n)::int, arg_max(answer, (n, answer)) from (select shape, answer, count(*) as n "
            "from rows group by all) group by shape having sum(n) >= 10 order by max(n) / sum(n) desc, shape limit 8"
        ),
        "levels": LEVELS,
        "shapes": shapes(questions),
        "of_shapes": questions.sql("select count(distinct shape) from rows")[0][0],
        "weak": weak(questions),
        "some": pick_example_questions(trajectories, sample(questions, COLUMNS)),
    }


def shapes(rows: Rows) -> list[tuple[str, list[int]]]:
    """The commonest, each with how many questions of it are easy, medium and hard."""
    counts = ", ".join(f"count(*) filter (difficulty = '{level}')" for level in LEVELS)
    found = rows.sql(f"select shape, {counts} from rows group by 1 order by count(*) desc, 1 limit {SHAPES}")
    return [(shape, list(numbers)) for shape, *numbers in found]


def weak(rows: Rows) -> list[tuple[str, list[float]]]:
    """For each weak answerer the share of easy, medium and hard questions that it gets right, and for all together."""
    right = [(name, f"list_contains(effort.shortcuts, '{name}')") for name in get_args(Shortcut)]
    right.append(("together", f"len(effort.shortcuts) / {len(right)}"))
    pairs = product((value for _, value in right), LEVELS)
    shares = ", ".join(f"coalesce(avg(({value})::double) filter (difficulty = '{level}'), 0)" for value, level in pairs)
    found = list(rows.sql(f"select {shares} from rows")[0])
    return [(name, found[3 * place : 3 * place + 3]) for place, (name, _) in enumerate(right)]


def pick_example_questions(trajectories: Dataset[Trajectory], some: Sample) -> list[dict[str, Any]]:
    """One of each kind by chance, with evidence of a few rows if any has, and these rows in the trajectory."""
    ids = some.sql(
        "select id from (select id, kind, row_number() over (partition by kind order by "
        f"len(evidence) between 1 and {MARKED} desc, md5(id)) as place from rows) where place = 1"
    )
    found = some.of(id for (id,) in ids)
    texts = with_ids(trajectories, {row["trajectory_id"] for row in found}, ["text"])
    return [
        row | {"lines": mark_evidence(texts[row["trajectory_id"]]["text"].split("\n"), row["evidence"])}
        if row["trajectory_id"] in texts
        else row | {"lines": []}
        for row in sorted(found, key=lambda row: row["kind"])
    ]


def mark_evidence(lines: Sequence[str], evidence: Iterable[int]) -> list[dict[str, Any]]:
    """Rows of evidence with what stands beside them, and in between how many rows are left out.

    >>> [line["left_out"] or (line["row"], line["is_evidence"]) for line in mark_evidence("abcdefgh", [1, 6])]
    [(0, False), (1, True), (2, False), 2, (5, False), (6, True), (7, False)]
    """
    known = [row for row in sorted(set(evidence)) if row < len(lines)][:MARKED]
    around: set[int] = set()
    for one in known:
        around |= set(range(max(0, one - BESIDE), min(len(lines), one + BESIDE + 1)))
    found: list[dict[str, Any]] = []
    before = -1
    for row in sorted(around):
        if row - before > 1:
            found.append({"left_out": row - before - 1})
        found.append(
            {
                "left_out": 0,
                "row": row,
                "text": lines[row],
                "is_evidence": row in known,
                "kind": choose_line_color(lines[row]),
            }
        )
        before = row
    left = len(lines) - 1 - before
    return [*found, {"left_out": left}] if found and left else found


def summarize_question_agents(run: Run, questions: Dataset[Question]) -> dict[str, Any] | None:
    """What `shopwright evaluate questions` and the audit found: a line for each agent and mode, and a cell for each budget."""
    agents: list[dict[str, Any]] = []
    passes: list[Table] = []
    for attempts, facts in read_all_results(Attempt, run.folder, questions.name):
        current = is_current(facts, questions)
        agents += [
            {
                "rows": rows,
                "split": facts.get("split", ""),
                "current": current,
                "text_answers": facts.get("text_answers", ""),
            }
            for rows in by_mode(scores.score_attempts(attempts))
        ]
        passes.append(scores.tabulate_question_passes(scores.score_attempts(attempts)))
    budgets = scores.sort_budgets(set(chain.from_iterable(agent["rows"] for agent in agents)) - {"all"})
    rows = chain.from_iterable(agent["rows"].values() for agent in agents)
    judged = any(row.judged is not None for row in rows)
    found = read_audit(run.folder, questions.name)
    if not agents and found is None:
        return None
    audit = found and {"table": tabulate_audit(found[1]), "current": is_current(found[0], questions)}
    return {"agents": agents, "budgets": budgets, "modes": scores.MODE_LABELS, "judged": judged, "audit": audit} | {
        "passes": [each for each in passes if each.rows]
    }


def by_mode(rows: list[scores.QuestionScore]) -> list[dict[str, scores.QuestionScore]]:
    """For each mode its rows by budget, and the one of all."""
    modes: dict[tuple[str, str], dict[str, scores.QuestionScore]] = {}
    for row in rows:
        by_budget = modes.setdefault((row.policy, row.mode), {})
        if row.by in ("all", "budget"):
            by_budget[row.value] = row
    return list(modes.values())
