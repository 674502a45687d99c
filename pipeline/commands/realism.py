"""`shopwright evaluate realism`: whether a judge takes a run's logs for real ones."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pipeline.commands.models import add_players, models_given
from pipeline.commands.options import Parser, add_command, positive
from pipeline.commands.output import print_json, print_tables, say, whole
from pipeline.files import path_of
from pipeline.models.role import Models
from pipeline.recipe import read_recipe

EXAMPLE = (
    "shopwright evaluate realism --run data/runs/mine --real logs.txt --judge openai:NAME@http://127.0.0.1:8000/v1"
)


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = "which log a judge takes for a real person's, one of a run's or a real one: as the paper's Table 8"
    options = add_command(kinds, "realism", about, [folder, as_json], EXAMPLE)
    add_players(options, "judge")
    options.add_argument(
        "--real",
        required=True,
        metavar="FILE",
        help="real logs: Parquet or JSON Lines with a column text, or a text in which an empty line ends each log",
    )
    options.add_argument("--pairs", type=positive, default=100, metavar="N", help="how many (default: 100)")
    options.add_argument(
        "--lines", type=positive, default=100, metavar="N", help="of each log, at most, that are shown (default: 100)"
    )


def run(run: str, real: str, pairs: int, lines: int, recipe: str | None, json: bool, **given: Any) -> int:
    from pipeline.models.role import Role
    from pipeline.rollouts import evaluate, judge

    models = models_given(given, read_recipe(recipe)) or Models()
    models = replace(models, sampling={"judge": judge.DRAWN, **models.sampling})
    critic = judge.judge_of(Role("judge", models, path_of(run), "evaluate-realism"))
    models.price("judge")
    ours = judge.logs_here(whole(run, "trajectories"), lines=lines)
    compared = judge.pairs(ours, judge.logs_of(Path(real)), pairs, lines=lines)
    found = evaluate.told(judge.opinions(compared, critic), len(compared), say, "realism")
    if json:
        print_json(
            {"table": [asdict(each) for each in judge.tally(found)], "opinions": [asdict(each) for each in found]}
        )
        return 0
    print_tables([judge.tally_table(found)])
    return 0
