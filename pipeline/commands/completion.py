"""`shopwright completion`: a script that lets a shell complete commands, datasets and settings, made from the parser."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from jinja2 import Environment, FileSystemLoader

from shopwright.pipeline.commands.options import Parser, add_listed_command
from shopwright.pipeline.envs import all_envs
from shopwright.pipeline.runners import KINDS
from shopwright.pipeline.stages import all_stages

SHELLS = ("bash", "zsh", "fish")
TOP = {"-h": "what can be typed", "--help": "what can be typed", "--version": "which version this is"}


@dataclass
class Place:
    """What can be typed after some commands: `["build", "personas"]`."""

    path: str
    names: dict[str, str] = field(default_factory=dict)
    """Commands, or what an argument may be; with what help says."""
    files: bool = False
    """Whether an argument is a file or folder."""
    options: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    """Of options whose values are known."""
    anything: list[str] = field(default_factory=list)
    """Options that take a value, most often a file."""


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "completion", [])
    options.add_argument("shell", choices=SHELLS, help="the shell it is for")
    options.set_defaults(commands=commands)


def run(shell: str, commands: Any) -> int:
    """commands: what `add_subparsers` of the whole command line gave."""
    top = Place("", options=TOP)
    learn(top, commands)
    below = [place for name, parser in commands.choices.items() for place in list_completion_places(parser, f" {name}")]
    print(script(shell, [top, *below]))
    return 0


def script(shell: str, places: Sequence[Place]) -> str:
    """For one of SHELLS."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    found.filters |= {"quoted": quote_for_zsh, "described": quote_for_fish}
    return found.get_template(f"completion.{shell}.j2").render(places=places).rstrip("\n")


def list_completion_places(parser: argparse.ArgumentParser, path: str = "") -> Iterator[Place]:
    """This one, and those after each of its commands."""
    here = Place(path)
    for action in parser._actions:
        learn(here, action)
    yield here
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from list_completion_places(below, f"{path} {name}")


def learn(here: Place, action: argparse.Action) -> None:
    about = " ".join((action.help or "").replace("%%", "%").split())
    known = list_option_values(action)
    if isinstance(action, argparse._SubParsersAction):
        here.names.update({each.dest: each.help or "" for each in action._choices_actions})
    elif not action.option_strings:
        here.names.update(dict.fromkeys(known, ""))
        here.files = not known
    else:
        here.options.update(dict.fromkeys(action.option_strings, about))
        if known:
            here.values.update(dict.fromkeys(action.option_strings, known))
        elif action.nargs is None:
            here.anything.extend(action.option_strings)


def list_option_values(action: argparse.Action) -> list[str]:
    """What may be said, where that is a list."""
    dataset, _, setting = action.dest.rpartition(".")
    if dataset:
        return list(chain.from_iterable(find_literal_values(all_stages()[dataset].settings[setting].annotation)))
    by_name = {"runner": KINDS, "dataset": all_stages(), "envs": all_envs()}
    return list(map(str, action.choices or by_name.get(action.dest, ())))


def find_literal_values(annotation: Any) -> Iterator[list[str]]:
    """The values of each Literal in a type.

    >>> list(find_literal_values(Literal["a", "b"] | None))
    [['a', 'b']]
    """
    if get_origin(annotation) is Literal:
        yield list(map(str, get_args(annotation)))
    else:
        for part in get_args(annotation):
            yield from find_literal_values(part)


def quote_for_zsh(text: str) -> str:
    """As zsh reads it back.

    >>> print(quote_for_zsh("a shop's"))
    'a shop'\\''s'
    """
    return "'" + text.replace("'", "'\\''") + "'"


def quote_for_fish(text: str) -> str:
    """As fish reads it back.

    >>> print(quote_for_fish("a shop's"))
    'a shop\\'s'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
