"""`shopwright evaluate`: how well a model or a player does."""

from importlib import import_module
from typing import Any

from shopwright.pipeline.commands import envs, instructions, realism, words
from shopwright.pipeline.commands.options import Parser, add_listed_command
from shopwright.pipeline.commands.situations import add_evaluation, run_evaluation
from shopwright.pipeline.stages import views_in_place

# What is evaluated and is no situation.
OTHERS = {each.NAME: each for each in (realism, instructions, words)}


def list_situations() -> dict[str, Any]:
    """What can be evaluated: the environments, and the datasets whose views name a command."""
    named = {name: views.command for name, views in views_in_place().items() if views.command}
    return {"envs": envs, **{name: import_module(f"shopwright.pipeline.{module}") for name, module in named.items()}}


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    kinds = add_listed_command(commands, "evaluate", []).add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, kind in list_situations().items():
        add_evaluation(kind, kinds, name, as_json)
    for other in OTHERS.values():
        other.add(kinds, folder, as_json)


def run(what: str, **options: Any) -> int:
    if what in OTHERS:
        return OTHERS[what].run(**options)
    return run_evaluation(list_situations()[what], what, **options)
