"""`shopwright audit shopping_tasks` and `shopwright evaluate shopping_tasks`: finding the one product."""

from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Any

from pipeline.commands.models import add_players, models_given
from pipeline.commands.options import Parser, add_command, positive
from pipeline.commands.output import print_json, print_tables, say, whole
from pipeline.files import path_of, write_whole
from pipeline.models.role import Models
from pipeline.recipe import read_recipe
from pipeline.run import Run

AUDIT = "shopwright audit shopping_tasks --run data/runs/mine --limit 200"
EXAMPLE = "shopwright evaluate shopping_tasks --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1"


def add_audit(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = "the solver and five cheap policies on the same tasks; exit 1 if one of them should not get out"
    add_tasks(add_command(kinds, "shopping_tasks", about, [folder, as_json], AUDIT))


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = (
        "a model or a scripted player (solver, first-result, ...) on shopping tasks: the paper's Table 2 and Figure 3"
    )
    options = add_command(kinds, "shopping_tasks", about, [folder, as_json], EXAMPLE)
    add_tasks(options)
    add_players(options, "agent")
    options.add_argument(
        "--human",
        metavar="FILE",
        help="compare the instructions with people's: a JSON list; nothing is played where no agent is named",
    )
    options.add_argument(
        "--to",
        metavar="FILE",
        help="the episodes as Parquet (default: RUN/evaluations/shopping-AGENT.parquet, replaced)",
    )


def add_tasks(options: Any) -> None:
    """What an audit and an evaluation of shopping tasks have in common."""
    options.add_argument(
        "--scenarios", metavar="S", help="of single, single-personal, multi, multi-personal, with commas (default: all)"
    )
    options.add_argument("--split", choices=("train", "test"), default="test", help="which tasks (default: test)")
    options.add_argument(
        "--limit", type=positive, metavar="N", help="so many tasks, with and without a profile in turn (default: all)"
    )


def run_audit(run: str, scenarios: str | None, split: str, limit: int | None, json: bool) -> int:
    from pipeline.publish.report import write_report
    from pipeline.rollouts.evaluate import told
    from pipeline.shopping import evaluate
    from pipeline.shopping.players import PLAYERS

    wanted = evaluate.scenarios_named(scenarios)
    tasks = evaluate.chosen(whole(run, "shopping_tasks"), split, wanted, limit)
    shop, profiles = shop_in(run)
    total, found = evaluate.count(tasks, wanted), []
    for player in PLAYERS:
        found += told(evaluate.outcomes(shop, tasks, profiles, player, wanted), total, say, player)
    rows = evaluate.figures(found)
    verdict = evaluate.verdict(rows)
    facts = {"split": split, "tasks": len(tasks), "made": whole(run, "shopping_tasks").manifest.fingerprint}
    shown = facts | asdict(verdict) | evaluate.as_json(found)
    write_whole(path_of(run) / evaluate.AUDITED, dumps(shown))
    write_report(Run(run))
    if json:
        print_json(shown)
    else:
        print_tables([evaluate.audit_table(rows)])
        for title, said in (
            ("not solved", verdict.unsolved),
            ("cheated", verdict.cheated),
            ("guessed from the profile", verdict.guessed),
        ):
            print(f"\n{title}: {', '.join(said) or 'none'}")
    return 1 if verdict.failed else 0


def run(
    run: str,
    scenarios: str | None,
    split: str,
    limit: int | None,
    human: str | None,
    to: str | None,
    recipe: str | None,
    json: bool,
    **given: Any,
) -> int:
    from pipeline.publish.report import write_report

    named = bool(given.get("agent") or given.get("model"))
    compared = instructions_compared(run, human) if human else None
    played = None
    if named or not human:
        played = shopping_played(run, scenarios, split, limit, to, recipe, given)
    write_report(Run(run))
    if json:
        print_json((played[1] if played else {}) | ({"instructions": compared[1]} if compared else {}))
        return 0
    print_tables([*(compared[0] if compared else []), *(played[0] if played else [])])
    print(f"\nreport     {path_of(run) / 'report.html'}")
    return 0


def shopping_played(
    run: str,
    scenarios: str | None,
    split: str,
    limit: int | None,
    to: str | None,
    recipe: str | None,
    given: dict[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """The tables of an agent's episodes, and the same for scripts."""
    from pipeline.models.role import Role
    from pipeline.rollouts.evaluate import told
    from pipeline.shopping import evaluate

    player = evaluate.player_named(given.pop("agent")) if evaluate.is_no_model(given.get("agent")) else None
    models = models_given(given, read_recipe(recipe)) or Models()
    role = Role("agent", models, path_of(run), "evaluate-shopping_tasks")
    agent = player or (role if role.asks else evaluate.SOLVER)
    if isinstance(agent, Role):
        models.price("agent")
    wanted, tasks = evaluate.scenarios_named(scenarios), whole(run, "shopping_tasks")
    asked = evaluate.chosen(tasks, split, wanted, limit)
    shop, profiles = shop_in(run)
    played = evaluate.outcomes(shop, asked, profiles, agent, wanted)
    rows = told(played, evaluate.count(asked, wanted), say, "shopping tasks")
    path = Path(to) if to else evaluate.file_of(path_of(run), rows[0].policy)
    evaluate.write(rows, path, {"split": split, "made": tasks.manifest.fingerprint})
    say(f"{len(asked):,} tasks of the split {split}, {len(rows):,} episodes: {path}")
    return evaluate.tables(rows), evaluate.as_json(rows)


def shop_in(run: str) -> tuple[Any, dict[str, Any]]:
    """A run's shop, and its customers' profiles by their ids."""
    from pipeline.checks.shopping import by_id, shop_of

    return whole(run, "catalog").once(shop_of), whole(run, "profiles").once(by_id)


def instructions_compared(run: str, file: str) -> tuple[list[Any], list[dict[str, Any]]]:
    """Ours in English with those of a file, as tables and for scripts; kept for the report."""
    from pipeline.rollouts.scores import FOLDER
    from pipeline.shopping import human

    texts = whole(run, "shopping_tasks").sql("select instruction from rows where language = 'en' order by id")
    lines = human.compare([text for (text,) in texts], human.instructions_of(Path(file)))
    rows = [each._asdict() for each in lines]
    write_whole(path_of(run) / FOLDER / human.FILE, dumps(rows))
    return [human.table(lines)], rows
