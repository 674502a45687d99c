"""`shopwright audit`: whether what can be played can be solved, and cannot be cheated."""

from typing import Any

from pipeline.commands import envs, shopping
from pipeline.commands.options import Parser, add_command

KINDS: dict[str, Any] = {"envs": envs, "shopping_tasks": shopping}


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    about = "whether what can be played can be solved, and cannot be cheated"
    kinds = add_command(commands, "audit", about, [], envs.AUDIT).add_subparsers(
        dest="what", required=True, metavar="WHAT"
    )
    for kind in KINDS.values():
        kind.add_audit(kinds, folder, as_json)


def run(what: str, **options: Any) -> int:
    return KINDS[what].run_audit(**options)
