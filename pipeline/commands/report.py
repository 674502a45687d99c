"""`shopwright report`: the page that shows a run, written anew from its files."""

from typing import Any

from shopwright.pipeline.commands.options import RUN, Parser, add_listed_command
from shopwright.pipeline.commands.output import print_json
from shopwright.pipeline.run import Run


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    options = add_listed_command(commands, "report", [as_json])
    options.add_argument("folder", nargs="?", default=RUN, help=f"the run's folder, local or s3://... (default: {RUN})")


def run(folder: str, json: bool) -> int:
    from shopwright.pipeline.publish.report import write_report

    path = write_report(Run(folder))
    if json:
        print_json({"report": str(path)})
    else:
        print(path)
    return 0
