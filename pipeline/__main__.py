"""The command line, made from the stages. A command's own file is imported when that command is typed."""

import argparse
import atexit
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shopwright import __version__
from shopwright.pipeline.commands.options import Parser, add_listed_command, add_run
from shopwright.pipeline.commands.overview import COMMANDS
from shopwright.pipeline.problem import ASKING, LACKING, STOPS, Ended, Lacking, Problem, closest, harmless, stop
from shopwright.pipeline.rubbish import look_rarely

if TYPE_CHECKING:
    from shopwright.pipeline.dataset import Manifest
    from shopwright.pipeline.models.role import Models
    from shopwright.pipeline.progress import Progress


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0 done, 1 something failed its check, 2 bad input, 3 ended early (run it again to go on), 130 stopped.
    """
    return run_command(arguments, build_dataset)


def run_command(arguments: Sequence[str] | None, make: Callable[..., Any]) -> int:
    """`main`, with the function that builds: here, or as a flow."""
    STOPS.clear()
    look_rarely()
    end_forks_at_exit()
    for asks in ASKING:
        if signal.getsignal(asks) != signal.SIG_IGN:  # as `nohup` has made this deaf to it
            signal.signal(asks, stop)
    try:
        options = parse_arguments(arguments)
        command = options.pop("command")
        given = {"build": make} if command == "build" else {}
        code: int = import_command(command).run(**given, **options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # as in `shopwright show catalog | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - what it cannot explain is raised again
        code, said = explain_exit(error)
        print(said, file=sys.stderr)
        return code
    finally:
        STOPS.clear()  # heard: what this process builds next is not meant


@cache
def end_forks_at_exit() -> None:
    """What workers were forked from would end by itself, but not where it was stopped."""
    atexit.register(lambda: (runners := sys.modules.get("shopwright.pipeline.runners")) and runners.end_fork_server())


# 2 for every other problem: bad input.
EXIT_CODES = {Ended: 3, Lacking: LACKING}


def explain_exit(error: BaseException) -> tuple[int, str]:
    """The exit code and the words for what ended a command; what nobody can mend but us is raised again."""
    if STOPS or isinstance(error, KeyboardInterrupt):
        return 130, "Stopped. What is finished is kept: run the same command again to go on."
    if isinstance(error, Problem):
        notes = getattr(error, "__notes__", [])
        code = next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 2)
        return code, "\n".join([f"shopwright: error: {error}", *notes])
    try:
        from shopwright.pipeline.files import describe_machine_error, describe_remote_error
    except (ImportError, MemoryError) as again:  # no room even for these words
        if isinstance(again, ImportError) and "failed to map segment" not in str(again):
            raise error from None
        return 3, "shopwright: error: memory ran out before anything began."
    if why := describe_remote_error(error) or describe_machine_error(error):
        return 3, f"shopwright: error: {harmless(why)}. What is finished is kept: run the same command again."
    raise error


def parse_arguments(arguments: Sequence[str] | None) -> dict[str, Any]:
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    found, unknown = make_parser(words).parse_known_args(words)
    options = vars(found)
    if unknown:
        raise Problem(describe_unknown_options(options, unknown))
    return options


def describe_unknown_options(options: dict[str, Any], unknown: Sequence[str]) -> str:
    """What a command does not take, and what may have been meant."""
    from shopwright.pipeline.commands import completion
    from shopwright.pipeline.run import setting_names

    name, flag = options["command"], unknown[0].partition("=")[0]
    path = f" {name} {options.get('dataset') if name == 'build' else options.get('what', '')}".rstrip()
    known = next(
        (place.options for place in completion.list_completion_places(make_parser()) if place.path == path), {}
    )
    if near := closest(flag, known):
        hint = f"Did you mean {near}?"
    elif name == "build":
        typed = [f"--{each.replace('_', '-')}" for each in setting_names(options["dataset"])]
        hint = f"It has: {', '.join(typed)}."
    else:
        hint = f"See: shopwright{path} -h"
    what = f"{options['dataset']} has no setting" if name == "build" else f"{name} does not take"
    return f"{what} {' '.join(unknown)}. {hint}"


def build_dataset(
    dataset: str,
    folder: str,
    *,
    seed: int | None,
    workers: int | None,
    models: "Models | None",
    runner: str = "local",
    minutes: float | None = None,
    rebuild: bool,
    progress: "Progress",
    **settings: Any,
) -> "Manifest":
    from shopwright.pipeline.run import Run

    return Run(folder, seed=seed, workers=workers, models=models, runner=runner, minutes=minutes).build(
        dataset, rebuild=rebuild, progress=progress, **settings
    )


def make_parser(words: Sequence[str] = ()) -> Parser:
    """Of all commands with their options; where the words name one, of that one alone, and where they name what it builds, of that alone.
    Where they name none, what all are for: no file of a command is imported.
    """
    first = words[0] if words else "completion"  # which completes all the others
    if first not in COMMANDS:
        return make_overview()
    from shopwright.pipeline.stages import all_stages

    if first == "build" and len(words) > 1 and words[1] in all_stages():
        return parser_of(("build",), (words[1],))
    return parser_of(tuple(COMMANDS) if first == "completion" else (first,), tuple(all_stages()))


def import_command(name: str) -> Any:
    return import_module(f"shopwright.pipeline.commands.{COMMANDS[name].file}")


def make_overview() -> Parser:
    top, commands = begin_parser()
    for name in COMMANDS:
        add_listed_command(commands, name, [])
    return top


@lru_cache(16)
def parser_of(names: tuple[str, ...], datasets: tuple[str, ...]) -> Parser:
    """It takes a quarter of a second to make, and is the same for the same commands and datasets."""
    top, commands = begin_parser()
    folder = Parser(add_help=False)
    add_run(folder)
    as_json = Parser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="print JSON, for scripts")
    for name in names:
        given = {"datasets": datasets} if name == "build" else {}
        import_command(name).add(commands, folder, as_json, **given)
    return top


def begin_parser() -> tuple[Parser, Any]:
    """A parser, and where its commands are added."""
    examples = [example for command in COMMANDS.values() for example in command.examples]
    top = Parser(
        prog="shopwright",
        description="Verified synthetic data for shopping agents.",
        epilog="\n".join(["examples:", *(f"  {example}" for example in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"shopwright {__version__}")
    return top, top.add_subparsers(dest="command", required=True, metavar="COMMAND")


if __name__ == "__main__":
    sys.exit(main())
