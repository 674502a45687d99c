"""`shopwright evaluate`: how well a model does, or a scripted player."""

from typing import Any

from pipeline.commands import behaviors, envs, questions, realism, shopping
from pipeline.commands.options import Parser, add_command

KINDS: dict[str, Any] = {
    "envs": envs,
    "questions": questions,
    "realism": realism,
    "shopping_tasks": shopping,
    "behaviors": behaviors,
}


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    about = "how well a model does, or a scripted player"
    kinds = add_command(commands, "evaluate", about, [], envs.EXAMPLE).add_subparsers(
        dest="what", required=True, metavar="WHAT"
    )
    for kind in KINDS.values():
        kind.add(kinds, folder, as_json)


def run(what: str, **options: Any) -> int:
    return KINDS[what].run(**options)
