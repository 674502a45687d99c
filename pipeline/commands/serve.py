"""`shopwright serve`: the environments of a run for trainers and agents on other machines, by OpenEnv or MCP."""

import argparse
from fractions import Fraction
from typing import Any

from shopwright.pipeline.commands.options import Parser, add_listed_command, parse_amount, parse_positive


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "serve", [folder])
    options.add_argument(
        "--protocol",
        choices=("openenv", "mcp", "stdio"),
        default="openenv",
        help="stdio: MCP for one client, which starts this command, and one episode (default: openenv)",
    )
    options.add_argument("--environment", default="envs", help="of stdio's episode (default: envs)")
    options.add_argument("--index", type=parse_index, default=0, help="the number of its task (default: 0)")
    options.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: this machine only)")
    options.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
    options.add_argument(
        "--workers", type=parse_positive, default=1, help="processes, which share the port and the shop (default: 1)"
    )
    options.add_argument(
        "--sessions",
        type=parse_positive,
        default=4096,
        help="most episodes at the same time; a reset waits for a place (default: 4096)",
    )
    options.add_argument(
        "--idle",
        type=parse_amount,
        default=600.0,
        metavar="SECONDS",
        help="without a call, after which a session is freed (default: 600)",
    )
    options.add_argument(
        "--grace",
        type=parse_amount,
        default=30.0,
        metavar="SECONDS",
        help="for episodes that are under way, when it is stopped (default: 30)",
    )
    options.add_argument(
        "--per-client",
        type=parse_positive,
        default=0,
        metavar="NUMBER",
        help="most connections of one address (default: any number)",
    )
    options.add_argument(
        "--space", metavar="FOLDER", help="write the files of an OpenEnv Space, with the run, instead of serving"
    )
    levels = options.add_argument_group(
        "a curriculum",
        'tasks at the level that a training run\'s results call for, for clients that reset(training="NAME"); the levels are shown at /curriculum',
    )
    levels.add_argument("--curriculum", default="", metavar="COLLECTION", help="C1, C2, C4, C8 or one environment")
    levels.add_argument("--group", type=parse_positive, default=8, help="rollouts of each task (default: 8)")
    levels.add_argument(
        "--window", type=parse_positive, default=5, help="levels that are played, the hardest included (default: 5)"
    )
    levels.add_argument(
        "--threshold",
        type=parse_share,
        default=Fraction(9, 10),
        help="success from which on the next level is the hardest (default: 0.9)",
    )
    levels.add_argument(
        "--rollouts",
        type=parse_positive,
        default=32,
        help="rollouts at the hardest level after which it is decided (default: 32)",
    )


def parse_index(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 0 on")
    return int(text)


def parse_share(text: str) -> Fraction:
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share above 0, at most 1")
    return found


def run(space: str | None, **options: Any) -> int:
    if space is not None:
        from shopwright.pipeline.playground.space import write_openenv_space

        print(f"A Space is in {write_openenv_space(space, options['run'])}. Try it: docker build {space}")
        return 0
    from shopwright.pipeline.trainers import serve

    return serve.serve_environments(**options)
