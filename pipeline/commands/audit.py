"""`shopwright audit`: whether tasks can be solved, and whether simple baselines fail on them."""

from typing import Any

from shopwright.pipeline.commands.evaluate import list_situations
from shopwright.pipeline.commands.options import Parser, add_listed_command
from shopwright.pipeline.commands.situations import add_audit, run_audit


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    kinds = add_listed_command(commands, "audit", []).add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, kind in list_situations().items():
        add_audit(kind, kinds, name, as_json)


def run(what: str, **options: Any) -> int:
    return run_audit(list_situations()[what], what, **options)
