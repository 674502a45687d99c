"""The options that name the models which play the roles, and what they may cost."""

from typing import Any

from pipeline.commands.options import amount, positive
from pipeline.models.role import Models, models_of
from pipeline.recipe import RecipeFile
from pipeline.stage import ROLES


def add_models(options: Any, roles: list[str], *, plans: bool = True) -> None:
    """The models that play the roles of these stages, and what they may cost."""
    if not roles:
        return
    group = options.add_argument_group("models (default: scripted, which is none at all)")
    about = "scripted, openai:NAME@http://HOST:PORT/v1 or vllm:NAME_OR_PATH"
    group.add_argument("--model", metavar="M", help=f"of every role: {about}")
    for role in dict.fromkeys(roles):
        group.add_argument(f"--{role}", metavar="M", help=f"of the {role} alone")
    group.add_argument("--at-once", type=positive, metavar="N", help="conversations at a time (default: 64)")
    group.add_argument(
        "--max-tokens", type=positive, metavar="N", help="stop cleanly after so many; the next command goes on"
    )
    group.add_argument(
        "--max-cost", type=amount, metavar="D", help="stop cleanly after so many dollars, at the recipe's prices"
    )
    group.add_argument(
        "--patience",
        type=amount,
        metavar="S",
        help="seconds without a good answer until a server is away (default: 120)",
    )
    group.add_argument("--fresh", action="store_true", help="ask again what was asked before")
    if not plans:
        return
    group.add_argument(
        "--preview", type=positive, metavar="N", help="print N rows with prompts and replies, and what all would cost"
    )
    group.add_argument(
        "--requeue", metavar="REASON", help="ask again for the rows in quarantine whose reason holds these words"
    )


def add_players(options: Any, *roles: str) -> None:
    """The models of an evaluation, and the file that may name them."""
    add_models(options, list(roles), plans=False)
    options.add_argument("--recipe", metavar="FILE", help="models, sampling and prices, as TOML")


def models_given(settings: dict[str, Any], recipe: RecipeFile) -> Models | None:
    """Takes the models' options out of the settings and adds the recipe's; None where none was given."""
    plain = {
        name: settings.pop(name, None) for name in ("model", "at_once", "max_tokens", "max_cost", "patience", "fresh")
    }
    said = {name: value for name, value in plain.items() if value}
    roles = {role: spec for role in ROLES if (spec := settings.pop(role, None))}
    options = recipe.model_options()
    before = {} if "model" in said else options.get("roles", {})  # --model is of every role, whatever the file says
    options |= {**said, "roles": {**before, **roles}}
    return models_of(options) if said or roles or recipe.model_options() else None
