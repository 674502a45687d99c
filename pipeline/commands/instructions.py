"""`shopwright evaluate instructions`: the instructions of shopping tasks beside people's."""

from json import dumps
from pathlib import Path
from typing import Any

from shopwright.pipeline.commands.options import Parser, add_command
from shopwright.pipeline.commands.output import open_finished_dataset, print_json, print_tables
from shopwright.pipeline.commands.situations import write_report_again
from shopwright.pipeline.evaluate.storage import FOLDER
from shopwright.pipeline.files import path_of, write_whole

NAME = "instructions"
EXAMPLE = "shopwright evaluate instructions --run data/runs/mine --human instructions.json"


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = "compare the English instructions of shopping tasks with those of people"
    options = add_command(kinds, NAME, about, [folder, as_json], EXAMPLE)
    options.add_argument("--human", required=True, metavar="FILE", help="what people wrote, a JSON list")


def run(run: str, human: str, json: bool) -> int:
    from shopwright.pipeline.shopping import instruction_comparison as comparison

    texts = open_finished_dataset(run, "shopping_tasks").sql(
        "select instruction from rows where language = 'en' order by id"
    )
    lines = comparison.compare_instructions([text for (text,) in texts], comparison.read_instructions(Path(human)))
    rows = [each._asdict() for each in lines]
    write_whole(path_of(run) / FOLDER / comparison.FILE, dumps(rows))
    path = write_report_again(run)
    if json:
        print_json({"instructions": rows})
    else:
        print_tables([comparison.tabulate_comparison(lines)])
        print(f"\nreport     {path}")
    return 0
