"""`shopwright audit`: whether tasks can be solved, and whether simple baselines fail on them."""

from typing import Any

from shopwright.pipeline.commands import envs
from shopwright.pipeline.commands.evaluate import list_situations
from shopwright.pipeline.commands.options import Parser, add_command
from shopwright.pipeline.commands.situations import add_audit, run_audit


def list_examples() -> list[str]:
    return [kind.AUDIT for kind in list_situations().values()]


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    about = "check that the solver solves every task and that simple baselines do not"
    kinds = add_command(commands, "audit", about, [], envs.AUDIT).add_subparsers(
        dest="what", required=True, metavar="WHAT"
    )
    for name, kind in list_situations().items():
        add_audit(kind, kinds, name, as_json)


def run(what: str, **options: Any) -> int:
    return run_audit(list_situations()[what], what, **options)
