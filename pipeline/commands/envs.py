"""`shopwright audit envs` and `shopwright evaluate envs`: the environments."""

from dataclasses import replace
from typing import Any

from shopwright.pipeline.commands.options import add_tries, parse_positive
from shopwright.pipeline.commands.situations import NO_RUN
from shopwright.pipeline.rewards.ecomrlve import JOB, RULES

ABOUT = (
    "measure a model or a player (solver, first-result, ...): success, reward by its parts, turns, with 95 %% intervals"
)
EXAMPLE = "shopwright evaluate envs --agent openai:NAME@http://127.0.0.1:8000/v1 --envs C2 --levels 0,6,12"
AUDIT_ABOUT = (
    "play the solver, eight baselines and nine players that read, in the words of the test split; exit 1 if the solver fails, or another"
    " earns 0 or more, or succeeds in over 15 %% of an env's tasks, from level 3 on"
)
AUDIT = "shopwright audit envs --levels 0-12 --episodes 200"
ROLES = ("agent", "shopper")
SAMPLING: dict[str, str] = {}


def add_selection(options: Any) -> None:
    options.add_argument(
        "--run", metavar="FOLDER", help="use the shop of this run (default: a sample shop, made in memory)"
    )
    options.add_argument("--vectors", action="store_true", help="search with the run's embeddings as well")
    options.add_argument(
        "--envs", default="all", metavar="E", help="all, C1, C2, C4, C8 or names, separated by commas (default: all)"
    )
    options.add_argument(
        "--levels", default="0-12", metavar="L", help="difficulties, as 0-12 or 0,6,12 (default: 0-12)"
    )
    options.add_argument(
        "--reward", default=JOB, choices=RULES, help="pay for jobs that are done alone, or as published (default: job)"
    )
    options.add_argument(
        "--episodes", default=20, type=parse_positive, metavar="N", help="episodes for each env and level (default: 20)"
    )


def add_options(options: Any) -> None:
    add_tries(options)
    options.add_argument(
        "--split",
        choices=("train", "test", "held-out"),
        help="play tasks of this split alone, or of the kinds that are held out of training (default: as customers are)",
    )
    options.add_argument(
        "--native", action="store_true", help="send the tool schemas to the server, for native tool calls"
    )


def open_situation(
    run: str | None,
    what: str,
    agent: Any,
    models: Any,
    *,
    vectors: bool,
    envs: str,
    levels: str,
    episodes: int,
    reward: str = JOB,
    native: bool = False,
    tries: int = 1,
    split: str | None = None,
) -> tuple[Any, Any]:
    from shopwright.pipeline.checks.shopper_replies import list_shopper_errors
    from shopwright.pipeline.envs.evaluate import EnvTasks, parse_env_names, parse_levels
    from shopwright.pipeline.gym import world
    from shopwright.pipeline.run import Run

    names, wanted = parse_env_names(envs), parse_levels(levels)
    shopper = open_shopper(models, run or NO_RUN)
    shop = world(run, vectors=vectors)
    tasks = EnvTasks(
        shop,
        names,
        wanted,
        range(episodes),
        native,
        side="train" if split == "train" else "test" if split else None,
        rule=reward,
        shopper=shopper,
        listen=list_shopper_errors,
        tries=tries,
        held_out=split == "held-out",
    )
    return tasks, Run(run).read("orders") if run is not None else None


def open_shopper(models: Any, folder: str) -> Any:
    """The model that was named for the shopper itself: `--model` is the agent that is measured. None where there is none."""
    from shopwright.pipeline.files import path_of
    from shopwright.pipeline.models.role import Role

    role = Role("shopper", replace(models, model="scripted"), path_of(folder), "evaluate-shopper")
    return role if role.asks else None
