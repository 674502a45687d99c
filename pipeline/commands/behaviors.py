"""`shopwright evaluate behaviors` and `shopwright audit behaviors`: what shoppers do next."""

from typing import Any, get_args

from shopwright.pipeline.commands.options import add_run, parse_amount, parse_positive
from shopwright.pipeline.commands.output import open_finished_dataset
from shopwright.schemas.behaviors import Side

ABOUT = "measure how well an agent predicts shoppers' next steps: solver, linear, markov, overlap, terminate, frequent-click, echo, random-click or a model"
EXAMPLE = "shopwright evaluate behaviors --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1 --limit 1000"
AUDIT_ABOUT = "predict the same steps by the truth, by four that do not look and by three cheap predictors; exit 1 if one of them earns as much"
AUDIT = "shopwright audit behaviors --run data/runs/mine --limit 1000"
ROLES = ("agent",)
SAMPLING = {"agent": "behaviors.evaluate:ANSWER_SAMPLING"}


def add_selection(options: Any) -> None:
    add_run(options)
    options.add_argument("--split", choices=get_args(Side), default="test", help="which steps (default: test)")
    options.add_argument(
        "--limit", type=parse_positive, metavar="N", help="number of steps, drawn at random (default: all)"
    )
    options.add_argument(
        "--dars",
        type=parse_amount,
        default=1000.0,
        metavar="X",
        help="factor of the similarity reward, Shop-R1's DARS (default: 1000)",
    )
    options.add_argument("--gated", action="store_true", help="reward a field that is present only if it is right")
    options.add_argument(
        "--vocabulary",
        type=parse_positive,
        default=0,
        metavar="N",
        help="size of the model's vocabulary: measures its self-certainty about the rationale (default: not measured, pays 0)",
    )
    options.add_argument(
        "--likeliest",
        type=parse_positive,
        default=20,
        metavar="K",
        help="likeliest tokens from which self-certainty is measured (default: 20)",
    )


def open_situation(
    run: str,
    what: str,
    agent: Any,
    models: Any,
    *,
    split: str,
    limit: int | None,
    dars: float,
    gated: bool,
    vocabulary: int,
    likeliest: int,
) -> tuple[Any, Any]:
    from shopwright.pipeline.behaviors import evaluate
    from shopwright.pipeline.rewards.hierarchical import Rule

    plan = evaluate.Plan(split, limit, Rule(dars=dars, gated=gated), vocabulary, likeliest)
    steps = open_finished_dataset(run, "behavior_steps")
    chosen = evaluate.select_prediction_steps(steps, split, limit)
    behaviors = open_finished_dataset(run, what)
    contexts = evaluate.collect_page_contexts(behaviors, chosen)
    return evaluate.NextActions(steps, chosen, contexts, plan, behaviors), steps
