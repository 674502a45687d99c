"""The run as one page that needs no network: what was made, how it looks, and what was turned away."""

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pipeline.dataset import Manifest
from pipeline.files import write_whole
from pipeline.models.role import Asked
from pipeline.problem import Problem
from pipeline.publish import behaviors, shopping
from pipeline.rollouts import scores
from pipeline.run import Run, all_stages
from pipeline.shop.visits import ACTIONS, QUOTA

LOOKED_AT = 1_000
"""Trajectories whose events the pictures are drawn from."""
LINES = 14
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PRICES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
PAGES.filters["sum_of_counts"] = lambda day: sum(day[1:])


def write_report(run: Run) -> Path:
    """Writes `report.html` into the run's folder and returns where it is."""
    manifests = [found for name in all_stages() if (found := run.read(name).manifest)]
    if not manifests:
        raise Problem(f"There is no finished dataset in {run.folder}. Build one first: shopwright build --help")
    page = PAGES.get_template("report.html.j2").render(
        folder=run.folder.name,
        manifests=manifests,
        models=[
            (made.dataset, prompt, Asked.model_validate(asked))
            for made in manifests
            for prompt, asked in made.asked.items()
        ],
        changed={made.dataset: changed_settings(made) for made in manifests},
        catalog=catalog_facts(run) if run.read("catalog").manifest else None,
        personas=[person.description for person in run.read("personas").head(4)],
        trajectories=trajectory_facts(run) if run.read("trajectories").manifest else None,
        questions=question_facts(run) if run.read("questions").manifest else None,
        envs=env_facts(run) if run.read("env_tasks").manifest else None,
        audit=audited(run.folder / "audit.json"),
        evaluations=evaluated(run),
        shopping=shopping_facts(run) if run.read("shopping_tasks").manifest else None,
        behaviors=behaviors.facts(run.folder),
        days=DAYS,
    )
    path = run.folder / "report.html"
    write_whole(path, page)
    return path


def changed_settings(manifest: Manifest) -> dict[str, Any]:
    """The settings that are not the stage's defaults."""
    known = all_stages()[manifest.dataset].settings
    return {
        name: value
        for name, value in manifest.recipe.settings.items()
        if name in known and known[name].parse(known[name].default) != value
    }


def catalog_facts(run: Run) -> dict[str, Any]:
    catalog = run.read("catalog")
    steps = ", ".join(map(str, PRICES))
    return {
        "groups": catalog.sql("select category_path[1], count(*) from rows group by 1 order by 2 desc, 1 limit 12"),
        "prices": catalog.sql(
            f"select up, count(*) from (select [up for up in [{steps}] if price < up][1] as up from rows) "
            "group by 1 order by 1 nulls last"
        ),
        "counts": catalog.sql(
            "select count(distinct category), count(distinct brand), count(*) filter (len(promotions) > 0), "
            "count(*) filter (price_is_simulated) from rows"
        )[0],
    }


def trajectory_facts(run: Run) -> dict[str, Any]:
    trajectories = run.read("trajectories")
    some = f"(select id, persona_id, budget, tokens, events from rows order by filename, file_row_number limit {LOOKED_AT})"
    events = f"(select unnest(events, recursive := true) from {some})"
    counts = dict(trajectories.sql(f"select action_type, count(*) from {events} group by 1"))
    total = sum(counts.values()) or 1
    hours = {
        (day, hour): found
        for day, hour, found in trajectories.sql(
            f"select isodow(timestamp) - 1, hour(timestamp), count(*) from {events} group by all"
        )
    }
    sizes = trajectories.sql(
        "select budget, count(*), min(tokens), median(tokens)::bigint, max(tokens), median(len(events))::bigint "
        "from rows group by 1 order by max(tokens)"
    )
    sample = trajectories.head(1)
    return {
        "mix": [
            (action, 100 * counts.get(action, 0) / total, wanted) for action, wanted in zip(ACTIONS, QUOTA, strict=True)
        ],
        "hours": hours,
        "busiest": max(hours.values(), default=1),
        "sizes": sizes,
        "sample": sample[0] if sample else None,
        "lines": [(color_of(line), line) for line in sample[0].text.split("\n")[:LINES]] if sample else [],
        "month": trajectories.sql(
            "select timestamp::date, count(*) filter (action_type = 'search'), count(*) filter (action_type = 'click'), "
            "count(*) filter (action_type in ('add to Cart', 'purchase')) from (select unnest(events, recursive := true) "
            "from (from rows order by tokens desc, filename, file_row_number limit 1)) group by 1 order by 1"
        ),
        "looked_at": min(LOOKED_AT, len(trajectories)),
    }


def question_facts(run: Run) -> dict[str, Any]:
    questions = run.read("questions")

    def shares(column: str) -> list[tuple[str, int]]:
        return questions.sql(
            f"select coalesce({column}, 'no evidence'), count(*) from rows group by 1 order by 2 desc, 1"
        )

    return {
        "total": len(questions),
        "mixes": {
            "Kind": shares("kind"),
            "Type of answer": shares("answer_type"),
            "Difficulty": shares("difficulty"),
            "Where the evidence lies": shares("position"),
        },
        "splits": questions.sql(
            "select split, budget, count(*), count(distinct trajectory_id), count(distinct shape), "
            "count(*) filter (answer in ('none', '0', '0.0', '0.00')) from rows group by all order by split, budget"
        ),
        "shapes": questions.sql(
            "select shape, sum(n)::int, max(n)::int, arg_max(answer, (n, answer)) from (select shape, answer, count(*) as n "
            "from rows group by all) group by shape having sum(n) >= 10 order by max(n) / sum(n) desc, shape limit 8"
        ),
        "some": [one for found in questions.sql(SOME) for one in [dict(zip(SHOWN, found, strict=True))]],
    }


def env_facts(run: Run) -> dict[str, Any]:
    tasks = run.read("env_tasks")
    counts = tasks.sql(
        "select env, count(*), min(difficulty), max(difficulty), count(*) filter (not feasible), "
        "avg(len(wishes)), avg(len([wish for wish in wishes if wish.known = 'asked'])) from rows group by 1 order by 1"
    )
    some = tasks.sql(
        "select env, difficulty, opening, feasible from (select *, row_number() over (partition by env order by hash(id)) as place "
        "from rows) where place = 1 order by env"
    )
    return {"counts": counts, "some": some}


def shopping_facts(run: Run) -> dict[str, Any]:
    facts = {"agents": shopping.agents(run), "audit": shopping.audited(run), "human": shopping.compared(run)}
    return shopping.task_facts(run) | facts


def audited(path: Path) -> dict[str, Any] | None:
    """What `shopwright audit envs --run` found last: for each env and policy its mean reward by level."""
    if not path.exists():
        return None
    cells = json.loads(path.read_text(encoding="utf-8"))
    levels = sorted({cell["level"] for cell in cells})
    found = {(cell["env"], cell["policy"], cell["level"]): cell for cell in cells}
    rows = [
        (env, policy, [found.get((env, policy, level)) for level in levels])
        for env, policy in dict.fromkeys((cell["env"], cell["policy"]) for cell in cells)
    ]
    return {"levels": levels, "rows": rows, "episodes": max((cell["episodes"] for cell in cells), default=0)}


def evaluated(run: Run) -> dict[str, Any] | None:
    """What `shopwright evaluate questions` found: a line for each agent and mode, and a cell for each budget."""
    now = run.read("questions").manifest
    agents: list[dict[str, Any]] = []
    for path in sorted((run.folder / scores.FOLDER).glob("questions-*.parquet")):
        if found := scores.read_attempts(path):
            attempts, facts = found
            current = now is not None and facts.get("questions") == now.fingerprint
            agents += [
                {"rows": rows, "split": facts.get("split", ""), "current": current}
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


SHOWN = ("kind", "difficulty", "question", "answer", "sql")
SOME = (
    f"select {', '.join(SHOWN)} from (select *, row_number() over (partition by kind order by hash(id)) as place from rows) "
    "where place = 1 order by kind"
)


def color_of(line: str) -> str:
    """
    >>> color_of("2024-05-01 19:30:25 add to Cart [A || b]")
    'cart'
    """
    return {"add": "cart"}.get(action := line[20:].partition(" ")[0], action)
