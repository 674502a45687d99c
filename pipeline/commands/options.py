"""What the commands' options have in common: how they are parsed, what they may be, what help says."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from shopwright.pipeline.commands.overview import COMMANDS
from shopwright.pipeline.problem import Problem, suggest_name

RUN = "data/runs/demo"


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as everything else here does; and knows no abbreviations."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise Problem(f"{message}. See: {self.prog} -h")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """The error for an unknown command or dataset suggests the nearest name."""
        if action.nargs != argparse.PARSER or action.choices is None or value in action.choices:
            super()._check_value(action, value)
            return
        what = {"COMMAND": f"command {value}", "DATASET": f"dataset {value}"}
        said = what.get(str(action.metavar), f"{value} to {self.prog.split()[-1]}")
        raise Problem(f"There is no {said}. {suggest_name(value, action.choices)}")


def parse_positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def parse_amount(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return found


def add_tries(options: Any) -> None:
    options.add_argument(
        "--k",
        dest="tries",
        type=parse_positive,
        default=1,
        metavar="K",
        help="tries at each task, for pass@k and pass^k (default: 1)",
    )


def add_run(options: Any) -> None:
    options.add_argument("--run", default=RUN, metavar="FOLDER", help=f"the run's folder (default: {RUN})")


def add_command(commands: Any, name: str, about: str, parents: Sequence[Parser], *examples: str) -> Any:
    """A command, or a kind of one, with what can be typed."""
    title = "example" if len(examples) == 1 else "examples"
    return commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.".replace("%%", "%"),  # help is formatted, this is not
        epilog="\n".join([f"{title}:", *(f"  {example}" for example in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=parents,
    )


def add_listed_command(commands: Any, name: str, parents: Sequence[Parser]) -> Any:
    """A command of the overview, with what it says there."""
    return add_command(commands, name, COMMANDS[name].about, parents, *COMMANDS[name].examples)
