"""`shopwright evaluate behaviors`: an agent on what shoppers do next."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from pipeline.commands.models import add_players, models_given
from pipeline.commands.options import Parser, add_command, amount, positive
from pipeline.commands.output import print_json, print_tables, say, whole
from pipeline.files import path_of
from pipeline.models.role import Models
from pipeline.recipe import read_recipe
from pipeline.run import Run
from schemas.behaviors import Side

EXAMPLE = "shopwright evaluate behaviors --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1 --limit 1000"


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = (
        "an agent (scripted, terminate, frequent-click, echo, random-click or a model) predicts shoppers' next steps"
    )
    options = add_command(kinds, "behaviors", about, [folder, as_json], EXAMPLE)
    add_players(options, "agent")
    options.add_argument("--split", choices=get_args(Side), default="test", help="which steps (default: test)")
    options.add_argument("--limit", type=positive, metavar="N", help="so many steps by chance (default: all)")
    options.add_argument(
        "--dars", type=amount, default=1000.0, metavar="X", help="what likeness is multiplied with (default: 1000)"
    )
    options.add_argument("--gated", action="store_true", help="that a field is there is paid only where it is right")
    options.add_argument(
        "--vocabulary",
        type=positive,
        default=0,
        metavar="N",
        help="so many tokens the model knows: measure how sure it is of its rationale (default: that pays 0)",
    )
    options.add_argument(
        "--likeliest", type=positive, default=20, metavar="K", help="tokens that is measured by (default: 20)"
    )
    options.add_argument(
        "--to", metavar="FILE", help="the predictions as Parquet (default: RUN/evaluations/behaviors-AGENT.parquet)"
    )


def run(
    run: str,
    split: str,
    limit: int | None,
    dars: float,
    gated: bool,
    vocabulary: int,
    likeliest: int,
    to: str | None,
    recipe: str | None,
    json: bool,
    **given: Any,
) -> int:
    from pipeline.behaviors import evaluate
    from pipeline.models.role import Role
    from pipeline.publish.report import write_report
    from pipeline.rewards.hierarchical import Rule, payoffs
    from pipeline.rollouts.evaluate import told

    policy = given.pop("agent") if given.get("agent") in evaluate.POLICIES else None
    models = models_given(given, read_recipe(recipe)) or Models()
    models = replace(models, sampling={"agent": evaluate.DRAWN, **models.sampling})
    role = Role("agent", models, path_of(run), "evaluate-behaviors")
    agent = policy or (role if role.asks else evaluate.TRUTH)
    if isinstance(agent, Role):
        models.price("agent")
    plan = evaluate.Plan(split, limit, Rule(dars=dars, gated=gated), vocabulary, likeliest)
    steps = whole(run, "behavior_steps")
    asked = evaluate.chosen(steps, split, limit)
    seen = evaluate.seen(whole(run, "behaviors"), asked)
    rows = told(evaluate.predictions(steps, asked, seen, agent, plan), len(asked), say, "behaviors")
    path = Path(to) if to else evaluate.file_of(path_of(run), rows[0].policy)
    evaluate.write(rows, path, plan, steps.manifest.fingerprint)
    write_report(Run(run))
    found, paid = evaluate.figures(rows), payoffs(list(seen.values()), rule=plan.rule)
    if json:
        print_json(evaluate.as_json(found, paid, plan))
        return 0
    print_tables(evaluate.tables(found, paid))
    print(f"\n{len(asked):,} steps of the split {split}\nself-certainty {evaluate.form_of(plan)}")
    print(f"predicted  {path}\nreport     {path_of(run) / 'report.html'}")
    return 0
