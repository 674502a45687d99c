"""`shopwright audit envs` and `shopwright evaluate envs`: the situations in the shop."""

from contextlib import nullcontext
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Any

from pipeline.commands.models import add_players, models_given
from pipeline.commands.options import Parser, add_command, positive
from pipeline.commands.output import print_json
from pipeline.files import path_of, write_whole
from pipeline.models.role import Models
from pipeline.recipe import read_recipe

AUDIT = "shopwright audit envs --levels 0-12 --episodes 200"
EXAMPLE = "shopwright evaluate envs --agent openai:NAME@http://127.0.0.1:8000/v1 --envs C2 --levels 0,6,12"


def add_audit(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = "the solver and eight cheap policies, level by level; exit 1 if one of them should not get out"
    options = add_envs(kinds, about, as_json, AUDIT)
    options.add_argument("--workers", type=positive, metavar="N", help="processes (default: the cores)")


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    options = add_envs(kinds, "success, reward by its parts and turns, with 95 %% intervals", as_json, EXAMPLE)
    add_players(options, "agent")
    options.add_argument("--player", metavar="P", help="a scripted one instead: solver, do_nothing, first_result, ...")
    options.add_argument("--native", action="store_true", help="tell the server of the tools, for native calls")
    options.add_argument("--to", metavar="FILE", help="write the table as Parquet too")


def add_envs(kinds: Any, about: str, as_json: Parser, example: str) -> Any:
    """What an audit and an evaluation have in common."""
    options = add_command(kinds, "envs", about, [as_json], example)
    options.add_argument("--run", metavar="FOLDER", help="the shop of a run (default: a sample shop, made in memory)")
    options.add_argument("--vectors", action="store_true", help="search by the run's embeddings too")
    options.add_argument("--envs", default="C8", metavar="E", help="C1, C2, C4, C8 or names, with commas (default: C8)")
    options.add_argument("--levels", default="0-12", metavar="L", help="as 0-12 or 0,6,12 (default: 0-12)")
    options.add_argument(
        "--episodes", default=20, type=positive, metavar="N", help="of each env and level (default: 20)"
    )
    return options


def run_audit(
    run: str | None, vectors: bool, envs: str, levels: str, episodes: int, workers: int | None, json: bool
) -> int:
    from pipeline.envs import audit
    from pipeline.gym import world
    from pipeline.run import cores
    from pipeline.runners import pool

    names, wanted = audit.envs_of(envs), audit.levels_of(levels)
    found, count = world(run, vectors=vectors), workers or cores()
    with pool(count) if count > 1 else nullcontext() as executor:
        cells = audit.audit(found, names, wanted, episodes, executor=executor)
    verdict = audit.verdict(cells)
    if json:
        print_json(audit.audit_rows(cells))
    else:
        print(audit.table(cells))
        for title, said in (
            ("not solved", verdict.unsolved),
            ("cheated", verdict.cheated),
            ("a cheap policy earns more than nothing", verdict.paid),
            ("the shop is too small for", verdict.undrawn),
        ):
            print(f"\n{title}: {', '.join(said) or 'none'}")
    if run is not None:
        write_whole(path_of(run) / "audit.json", dumps(audit.audit_rows(cells)))
    return 1 if verdict.failed else 0


def run(
    run: str | None,
    vectors: bool,
    envs: str,
    levels: str,
    episodes: int,
    player: str | None,
    recipe: str | None,
    native: bool,
    to: str | None,
    json: bool,
    **given: Any,
) -> int:
    from pipeline.envs import audit, conversation
    from pipeline.gym import world
    from pipeline.models.role import Role

    models = models_given(given, read_recipe(recipe)) or Models()
    models.price("agent")
    role = Role("agent", models, path_of(run or "data/runs/evaluations"), "evaluate-envs")
    names, wanted = audit.envs_of(envs), audit.levels_of(levels)
    rows = conversation.evaluate(world(run, vectors=vectors), names, wanted, episodes, player or role, native=native)
    if to:
        conversation.write_rows(rows, Path(to))
    if json:
        print_json([asdict(row) for row in rows])
    else:
        print(conversation.evaluated(rows))
    return 0
