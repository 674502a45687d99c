"""`shopwright publish`: a run's datasets and their training forms, on the Hub or in a folder."""

from typing import Any

from shopwright.pipeline.commands.options import RUN, Parser, add_listed_command


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "publish", [as_json])
    options.add_argument("folder", nargs="?", default=RUN, help=f"the run's folder (default: {RUN})")
    options.add_argument("--repo", metavar="USER/NAME", help="the dataset on the Hub; created if it does not exist")
    options.add_argument("--to", metavar="FOLDER", help="write what would be on the Hub into this folder")
    options.add_argument("--private", action="store_true", help="make it private; refused if it is public already")
    options.add_argument("--revision", default="main", metavar="B", help="the branch (default: main)")
    options.add_argument("--dry-run", action="store_true", help="only print what would change")
    options.add_argument("--only", metavar="A,B", help="only these configs (default: all)")
    options.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="FILE",
        help="a public test set that the data must not contain",
    )
    options.add_argument("--unverified", action="store_true", help="skip the checks of `shopwright verify`")
    options.add_argument(
        "--unaudited",
        action="store_true",
        help="publish environments whose audit failed (shopwright audit envs --run FOLDER); without a current one a small audit is made first",
    )


def run(**options: Any) -> int:
    from shopwright.pipeline.publish import command

    return command.publish_run(**options)
