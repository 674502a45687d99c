"""`shopwright publish`: a run's datasets and their training forms, on the Hub or in a folder."""

from typing import Any

from pipeline.commands.options import RUN, Parser, add_command

EXAMPLES = (
    "shopwright publish data/runs/mine --to build/hub",
    "shopwright publish data/runs/mine --repo user/name --private --dry-run",
)


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    about = "put a run's datasets and their training forms on the Hub, or into a folder as they are there"
    options = add_command(commands, "publish", about, [as_json], *EXAMPLES)
    options.add_argument("folder", nargs="?", default=RUN, help=f"the run's folder (default: {RUN})")
    options.add_argument("--repo", metavar="USER/NAME", help="the dataset on the Hub, made where it is missing")
    options.add_argument("--to", metavar="FOLDER", help="a folder that holds what would be on the Hub")
    options.add_argument(
        "--private", action="store_true", help="only you may see it; refused for what is public already"
    )
    options.add_argument("--revision", default="main", metavar="B", help="the branch (default: main)")
    options.add_argument("--dry-run", action="store_true", help="only tell what would change")
    options.add_argument("--only", metavar="A,B", help="these configs alone (default: all)")
    options.add_argument(
        "--against", action="append", default=[], metavar="FILE", help="a public test set that must not be in it"
    )
    options.add_argument("--unverified", action="store_true", help="without the checks of `shopwright verify`")


def run(**options: Any) -> int:
    from pipeline.publish import command

    return command.run(**options)
