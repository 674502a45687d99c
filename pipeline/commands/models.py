"""The options that name the models which play the roles, and what they may cost."""

import socket
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from shopwright.pipeline.commands.options import parse_amount, parse_positive
from shopwright.pipeline.evaluate.situation import SOLVER
from shopwright.pipeline.files import path_of
from shopwright.pipeline.models.base import MODEL_FORMS, Sampling, parse_spec
from shopwright.pipeline.models.role import Models, Role, read_model_options
from shopwright.pipeline.recipe import RecipeFile, read_recipe
from shopwright.pipeline.stage import ROLES

# Seconds in which a server takes a connection.
KNOCK = 2.0
NO_SAMPLING: Mapping[str, Sampling] = {}


def add_models(options: Any, roles: list[str], *, plans: bool = True) -> None:
    """The models that play the roles of these stages, and what they may cost."""
    if not roles:
        return
    group = options.add_argument_group("models (default: scripted, that is, no model)")
    group.add_argument("--model", metavar="M", help=f"model for every role: scripted, {MODEL_FORMS}")
    for role in dict.fromkeys(roles):
        group.add_argument(f"--{role}", metavar="M", help=f"model for the {role} only")
    group.add_argument(
        "--at-once",
        type=parse_positive,
        metavar="N",
        help="number of requests at a time, in all processes together (default: 64)",
    )
    group.add_argument(
        "--max-tokens",
        type=parse_positive,
        metavar="N",
        help="stop cleanly after N tokens; the same command then goes on",
    )
    group.add_argument(
        "--max-cost", type=parse_amount, metavar="D", help="stop cleanly after D dollars, at the recipe's prices"
    )
    group.add_argument(
        "--patience",
        type=parse_amount,
        metavar="S",
        help="seconds without a valid reply after which a server counts as unreachable, and that one request may take (default: 300)",
    )
    group.add_argument("--fresh", action="store_true", help="send every request again; use no stored replies")
    if not plans:
        return
    group.add_argument(
        "--preview",
        type=parse_positive,
        metavar="N",
        help="print N rows with prompts and replies, and the projected cost of the whole",
    )
    group.add_argument(
        "--requeue", metavar="REASON", help="try the rows in quarantine again whose reason contains these words"
    )


def add_players(options: Any, *roles: str) -> None:
    """The models of an evaluation, and the file that may name them."""
    add_models(options, list(roles), plans=False)
    options.add_argument("--recipe", metavar="FILE", help="TOML file with models, sampling and prices")


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
    if not (said or roles or recipe.model_options()):
        return None
    models = read_model_options(options)
    # What cannot begin is told alone, not behind a server that may come up yet.
    for role in ROLES:
        models.price(role)
    for url in find_dead_servers(models):
        print(
            f"No server listens at {url} now. Requests wait for it for {models.patience:g} seconds (--patience).",
            file=sys.stderr,
        )
    return models


def find_dead_servers(models: Models) -> list[str]:
    """The addresses at which no connection is taken: said before anything is built, not after minutes of trying."""
    urls = {parse_spec(spec).url for spec in (models.model, *models.roles.values())}
    dead = []
    for url in sorted(urls - {""}):
        split = urlsplit(url)
        try:
            socket.create_connection(
                (split.hostname, split.port or (443 if split.scheme == "https" else 80)), KNOCK
            ).close()
        except (OSError, ValueError):
            dead.append(url)
    return dead


def choose_agent(
    settings: dict[str, Any], recipe: str | None, run: str, what: str, sampling: Mapping[str, Sampling] = NO_SAMPLING
) -> tuple[Role | str, Models]:
    """Takes who is evaluated out of the settings: the agent's model, or the name of a player; the solver where there is neither.

    sampling: of each role, unless a recipe says otherwise. Raises Problem for a model without the prices that a limit needs.
    """
    named = settings.get("agent") or ""
    is_player = bool(named) and named != "scripted" and ":" not in named
    player = settings.pop("agent") if is_player else SOLVER
    models = models_given(settings, read_recipe(recipe)) or Models()
    models = replace(models, sampling={**sampling, **models.sampling})
    role = Role("agent", models, path_of(run), f"evaluate-{what}")
    if is_player or not role.asks:
        return player, models
    models.price("agent")
    return role, models
