"""`shopwright report`: the page that shows a run, written anew from its files."""

from typing import Any

from pipeline.commands.options import RUN, Parser, add_command
from pipeline.commands.output import print_json
from pipeline.run import Run

EXAMPLE = "shopwright report data/runs/demo"


def add(commands: Any, folder: Parser, as_json: Parser) -> None:
    about = "write a run's report.html, one page that needs no network, and print where it is"
    options = add_command(commands, "report", about, [as_json], EXAMPLE)
    options.add_argument(
        "folder", nargs="?", default=RUN, help=f"the run's folder, here or as s3://... (default: {RUN})"
    )


def run(folder: str, json: bool) -> int:
    from pipeline.publish.report import write_report

    path = write_report(Run(folder))
    if json:
        print_json({"report": str(path)})
    else:
        print(path)
    return 0
