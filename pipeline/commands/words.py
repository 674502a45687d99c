"""`shopwright evaluate words`: how varied the words of a run are, with their facts masked."""

from collections.abc import Iterator
from typing import Any

from shopwright.pipeline.commands.options import Parser, add_command
from shopwright.pipeline.commands.output import open_finished_dataset, print_json, print_tables

NAME = "words"
EXAMPLE = "shopwright evaluate words --run data/runs/mine"


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = "count the frames of what shoppers say, by its reason: texts with their facts masked, and which of the test's training has"
    add_command(kinds, NAME, about, [folder, as_json], EXAMPLE)


def run(run: str, json: bool) -> int:
    from shopwright.pipeline.behaviors.frames import Frames, count_frames
    from shopwright.pipeline.evaluate.table import Table

    said = list(list_rationale_frames(run))
    reasons = sorted({reason for reason, _, _ in said})
    every = [count_frames("rationales", ((frame, side) for _, frame, side in said))]
    for name in reasons:
        every.append(count_frames(name, ((frame, side) for reason, frame, side in said if reason == name)))
    if json:
        print_json({"words": [each._asdict() for each in every]})
        return 0

    def format_unseen(each: Frames) -> str:
        return f"{100 * each.unseen / each.test:.1f} %" if each.test else "-"

    head = ["words", "texts", "frames", "of 95 %", "test frames", "unseen in training"]
    rows = [[each.name, *map("{:,}".format, each[1:5]), format_unseen(each)] for each in every]
    print_tables([Table(head, rows)])
    return 0


def list_rationale_frames(run: str) -> Iterator[tuple[str, str, str]]:
    """The reason, the frame and the split of each rationale of a run."""
    from shopwright.pipeline.behaviors.frames import mask_facts

    for behavior in open_finished_dataset(run, "behaviors"):
        for step in behavior.steps:
            yield step.reason, mask_facts(step.rationale, step.said), behavior.split
