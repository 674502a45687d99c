"""`shopwright audit shopping_tasks` and `shopwright evaluate shopping_tasks`: finding the one product."""

from typing import Any

from shopwright.pipeline.commands.options import add_run, add_tries, parse_positive
from shopwright.pipeline.commands.output import open_finished_dataset

ABOUT = "measure a model or a player (expert, solver, first-result, ...) on shopping tasks: the paper's Table 2 and Figure 3"
EXAMPLE = "shopwright evaluate shopping_tasks --run data/runs/mine --agent openai:NAME@http://127.0.0.1:8000/v1"
AUDIT_ABOUT = (
    "play the solver, the expert and seven baselines on the same tasks; exit 1 if the solver fails or a baseline wins"
)
AUDIT = "shopwright audit shopping_tasks --run data/runs/mine --limit 200"
ROLES = ("agent",)
SAMPLING: dict[str, str] = {}


def add_selection(options: Any) -> None:
    add_run(options)
    options.add_argument(
        "--scenarios",
        metavar="S",
        help="any of single, single-personal, multi, multi-personal, separated by commas (default: all)",
    )
    options.add_argument("--split", choices=("train", "test"), default="test", help="which tasks (default: test)")
    options.add_argument(
        "--limit",
        type=parse_positive,
        metavar="N",
        help="number of tasks, alternately with and without a profile (default: all)",
    )


add_options = add_tries


def open_situation(
    run: str,
    what: str,
    agent: Any,
    models: Any,
    *,
    scenarios: str | None,
    split: str,
    limit: int | None,
    tries: int = 1,
) -> tuple[Any, Any]:
    from shopwright.pipeline.checks.shopping import index_profile_records, shop_of
    from shopwright.pipeline.checks.short_instructions import open_short_shop
    from shopwright.pipeline.shopping import evaluate
    from shopwright.pipeline.shopping.expert import copy_vocabulary
    from shopwright.pipeline.shopping.lexical_baselines import make_phrase_book

    wanted, tasks = evaluate.parse_scenario_names(scenarios), open_finished_dataset(run, what)
    chosen = evaluate.select_shopping_tasks(tasks, split, wanted, limit)
    catalog = open_finished_dataset(run, "catalog")
    shop, words = catalog.once(shop_of), open_short_shop(catalog, open_finished_dataset(run, "variants"))
    profiles = open_finished_dataset(run, "profiles").once(index_profile_records)
    # Of the training tasks the book knows every phrase, which says nothing.
    book = make_phrase_book(tasks) if split == "test" else None
    return evaluate.ShoppingTasks(shop, chosen, profiles, wanted, book, copy_vocabulary(words), tries), tasks
