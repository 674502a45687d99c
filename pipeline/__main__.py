"""The command line, made from the stages."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pipeline.commands import (
    audit,
    behaviors,
    browse,
    build,
    completion,
    doctor,
    envs,
    evaluate,
    init,
    listing,
    play,
    publish,
    questions,
    realism,
    report,
    serve,
    shopping,
    show,
    verify,
)
from pipeline.commands.options import RUN, Parser
from pipeline.dataset import Manifest, package_version
from pipeline.files import refused, unanswered
from pipeline.models.role import Models
from pipeline.problem import STOPS, Ended, Problem, closest, harmless, stop
from pipeline.progress import Progress
from pipeline.run import Run, setting_names
from pipeline.stages import all_stages

COMMANDS: dict[str, Any] = {
    "list": listing,
    "build": build,
    "show": show,
    "browse": browse,
    "report": report,
    "verify": verify,
    "audit": audit,
    "evaluate": evaluate,
    "publish": publish,
    "serve": serve,
    "play": play,
    "init": init,
    "doctor": doctor,
    "completion": completion,
}
EXAMPLES = (
    listing.EXAMPLE,
    build.EXAMPLE,
    show.EXAMPLE,
    browse.EXAMPLE,
    report.EXAMPLE,
    verify.EXAMPLE,
    envs.AUDIT,
    envs.EXAMPLE,
    questions.EXAMPLE,
    shopping.AUDIT,
    shopping.EXAMPLE,
    behaviors.EXAMPLE,
    realism.EXAMPLE,
    *publish.EXAMPLES,
    serve.EXAMPLE,
    *play.EXAMPLES,
    init.EXAMPLE,
    doctor.EXAMPLE,
    completion.EXAMPLE,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0 done, 1 something failed its check, 2 bad input, 3 ended early (run it again to go on), 130 stopped.
    """
    return run_command(arguments, build_dataset)


def run_command(arguments: Sequence[str] | None, make: Callable[..., Any]) -> int:
    """`main`, with the function that builds: here, or as a flow."""
    STOPS.clear()
    for asks in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(asks) != signal.SIG_IGN:  # as `nohup` has made this deaf to it
            signal.signal(asks, stop)
    try:
        options = parsed(arguments)
        command = options.pop("command")
        code = build.run(make, **options) if command == "build" else COMMANDS[command].run(**options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # as in `shopwright show catalog | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - what is none of those it tells is raised again
        code, said = ending(error)
        print(said, file=sys.stderr)
        return code


def ending(error: BaseException) -> tuple[int, str]:
    """The exit code and the words for what ended a command; what nobody can mend but us is raised again."""
    if STOPS or isinstance(error, KeyboardInterrupt):
        return 130, "Stopped. What is finished is kept: run the same command again to go on."
    if isinstance(error, Problem):
        notes = getattr(error, "__notes__", [])
        return 3 if isinstance(error, Ended) else 2, "\n".join([f"shopwright: error: {error}", *notes])
    if why := unanswered(error) or refused(error):
        return 3, f"shopwright: error: {harmless(why)}. What is finished is kept: run the same command again."
    raise error


def parsed(arguments: Sequence[str] | None) -> dict[str, Any]:
    found, unknown = parser().parse_known_args(arguments)
    options = vars(found)
    if unknown:
        raise Problem(not_taken(options, unknown))
    return options


def not_taken(options: dict[str, Any], unknown: Sequence[str]) -> str:
    """What a command does not take, and what may have been meant."""
    name, flag = options["command"], unknown[0].partition("=")[0]
    path = f" {name} {options.get('dataset') if name == 'build' else options.get('what', '')}".rstrip()
    known = next((place.options for place in completion.places(parser()) if place.path == path), {})
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
    models: Models | None,
    runner: str = "local",
    minutes: float | None = None,
    rebuild: bool,
    progress: Progress,
    **settings: Any,
) -> Manifest:
    return Run(folder, seed=seed, workers=workers, models=models, runner=runner, minutes=minutes).build(
        dataset, rebuild=rebuild, progress=progress, **settings
    )


def parser() -> Parser:
    return parser_of(tuple(all_stages()))


@lru_cache(1)
def parser_of(datasets: tuple[str, ...]) -> Parser:
    """It takes a quarter of a second to make, and is the same for the same datasets."""
    top = Parser(
        prog="shopwright",
        description="Verified synthetic data for shopping agents.",
        epilog="\n".join(["examples:", *(f"  {example}" for example in EXAMPLES)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"shopwright {package_version()}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    folder = Parser(add_help=False)
    folder.add_argument("--run", default=RUN, metavar="FOLDER", help=f"the run's folder (default: {RUN})")
    as_json = Parser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="print JSON, for scripts")
    for command in COMMANDS.values():
        command.add(commands, folder, as_json)
    return top


if __name__ == "__main__":
    sys.exit(main())
