"""`shopwright evaluate words`: how varied the words of a run are with their facts masked, what questions copy, how people's differ."""

import json as json_text
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shopwright.pipeline.commands.options import Parser, add_command
from shopwright.pipeline.commands.output import print_json, print_tables
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.stage import Reference
from shopwright.pipeline.stages import views_in_place
from shopwright.schemas.behaviors import Behavior
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import Rollout
from shopwright.schemas.tasks import Task

NAME = "words"
EXAMPLE = "shopwright evaluate words --run data/runs/mine --against openings=people.txt"
# Keys of a question's tree whose values are names of the shop.
NAMED_BY = ("brand", "category", "color", "parts", "query", "word")
CODE = re.compile(r"```.*?```|<(?:code|output|interpreter)>.*?</\w+>|\\boxed\{.*?\}", re.DOTALL)
WORD = re.compile(r"[a-z0-9]+")
LONGEST_RUN = 3
NO_TEXTS = "No words to look at: the run has none of"


class Text(NamedTuple):
    """What somebody says in a row."""

    part: str
    """Of its family: a reason, an environment, a kind of question."""
    words: str
    facts: list[str]
    side: str


def add(kinds: Any, folder: Parser, as_json: Parser) -> None:
    about = (
        "count the frames of what is said, by family: texts with their facts masked, and which of the test's training has; "
        "how much of a question stands in its SQL; and how well a classifier tells a family from people's texts"
    )
    options = add_command(kinds, NAME, about, [folder, as_json], EXAMPLE)
    options.add_argument(
        "--against",
        metavar="FAMILY=FILE",
        action="append",
        help=f"texts of people, one a line, to compare a family with: {', '.join(list_families())}",
    )


def run(run: str, against: list[str] | None, json: bool) -> int:
    from shopwright.pipeline.evaluate.frames import Frames, count_frames, mask_facts
    from shopwright.pipeline.evaluate.table import Table
    from shopwright.pipeline.run import Run

    families, people = list_families(), dict(parse_people(each) for each in against or ())
    made, said = Run(run), {}
    for name, family in families.items():
        if made.read(family.dataset).manifest is not None:
            said[name] = list(made.call(family.texts))
    if not said:
        raise Problem(f"{NO_TEXTS} {', '.join(family.dataset for family in families.values())}.")
    missing = sorted(set(people) - set(said))
    if missing:
        raise Problem(f"--against {missing[0]}: the run has no dataset {families[missing[0]].dataset}.")
    every: list[Frames] = []
    for name, texts in said.items():
        masked = [(each.part, mask_facts(each.words, each.facts), each.side) for each in texts]
        every.append(count_frames(name, ((frame, side) for _, frame, side in masked)))
        for part in sorted({part for part, _, _ in masked}):
            of_part = ((frame, side) for other, frame, side in masked if other == part)
            every.append(count_frames(f"{name}: {part}", of_part))
    copied, told = made.call(measure_copied_runs), {}
    for name, file in people.items():
        told[name] = compare_with_people([each.words for each in said[name]], file)
    if json:
        print_json({"words": [each._asdict() for each in every], "copied": copied, "two_sample": told})
        return 0
    head = ["words", "texts", "frames", "of 95 %", "test frames", "unseen in training"]
    rows = []
    for frames in every:
        unseen = f"{100 * frames.unseen / frames.test:.1f} %" if frames.test else "-"
        rows.append([frames.name, *map("{:,}".format, frames[1:5]), unseen])
    copies = [[f"{length}", f"{100 * share:.1f} %"] for length, share in copied.items()]
    compared = [[name, each["auc"], each["interval"], each["texts"]] for name, each in told.items()]
    print_tables(
        [
            Table(head, rows),
            Table(["words in a row of a question", "that stand in its SQL"], copies),
            Table(["words", "told from people's (AUC, 0.5 is chance)", "95 %", "texts"], compared),
        ]
    )
    return 0


def parse_people(text: str) -> tuple[str, Path]:
    """Raises Problem for a family or a file that is not there."""
    name, _, file = text.partition("=")
    if name not in list_families() or not Path(file).is_file():
        raise Problem(
            f"--against {text}: give FAMILY=FILE with a file of texts, and one of {', '.join(list_families())}."
        )
    return name, Path(file)


def compare_with_people(ours: list[str], file: Path) -> dict[str, str]:
    from shopwright.pipeline.evaluate.realism.two_sample import compare_searches

    found = compare_searches(ours, file.read_text(encoding="utf-8", errors="replace").splitlines())
    if found.value is None:
        return {"auc": "-", "interval": found.note, "texts": "-"}
    return {
        "auc": f"{found.value:.3f}",
        "interval": f"{found.low:.2f} to {found.high:.2f}",
        "texts": f"{found.count:,}",
    }


def measure_copied_runs(questions: Iterable[Question]) -> dict[int, float]:
    """Of all runs of so many words of the questions, the share that stands in their SQL, letters' size and signs aside."""
    held, every = dict.fromkeys(range(1, LONGEST_RUN + 1), 0), dict.fromkeys(range(1, LONGEST_RUN + 1), 0)
    for row in questions:
        asked, query = WORD.findall(row.question.lower()), WORD.findall(row.sql.lower())
        for length in held:
            there = set(zip(*(query[place:] for place in range(length)), strict=False))
            runs = list(zip(*(asked[place:] for place in range(length)), strict=False))
            held[length] += sum(each in there for each in runs)
            every[length] += len(runs)
    return {length: count / every[length] for length, count in held.items() if every[length]}


# What is said, by family


class Family(NamedTuple):
    """Texts of one purpose, and the dataset whose rows hold them."""

    dataset: str
    texts: Reference


def list_families() -> dict[str, Family]:
    """By the names that stages give them."""
    found = {}
    for dataset, views in views_in_place().items():
        for name, texts in views.words.items():
            found[name] = Family(dataset, texts)
    return found


def read_rationales(behaviors: Iterable[Behavior]) -> Iterator[Text]:
    for behavior in behaviors:
        for step in behavior.steps:
            yield Text(step.reason, step.rationale, step.said, behavior.split)


def read_openings(env_tasks: Iterable[Task]) -> Iterator[Text]:
    for task in env_tasks:
        facts = [slot.said for slot in task.slots]
        for slot in task.slots:
            facts += [each.value for each in slot.facts]
        yield Text(task.env, task.opening, facts, task.split)


def read_questions(questions: Iterable[Question]) -> Iterator[Text]:
    for row in questions:
        yield Text(row.kind, row.question, list_question_facts(row.tree), name_side(row.split))


def read_thoughts(questions: Iterable[Question], rollouts: Iterable[Rollout]) -> Iterator[Text]:
    """What stands beside the code of each turn."""
    trees = {row.id: row.tree for row in questions}
    for row in rollouts:
        facts = list_question_facts(trees[row.question_id])
        for message in row.messages:
            words = " ".join(CODE.sub(" ", message.content).split())
            if message.role == "assistant" and words:
                quoted = re.findall(r'"([^"]+)"|`([^`]+)`', words)
                yield Text(row.kind, words, [*facts, *(a or b for a, b in quoted), row.answer], name_side(row.split))


def name_side(split: str) -> str:
    return "train" if split in ("sft", "rl") else "test"


def list_question_facts(tree: str) -> list[str]:
    """The names of the shop in a question's tree, as they may be said, and the names of days and months."""
    from shopwright.pipeline.questions.nouns import lower_title, make_plural, make_singular
    from shopwright.pipeline.reading.calendar import MONTHS, WEEKDAYS
    from shopwright.pipeline.reading.kinds import load_known_names

    named = list(list_named_values(json_text.loads(tree))) if tree else []
    nouns = []
    for category in [value for key, value in named if key == "category"]:
        nouns += [*load_known_names().get(category, ()), make_singular(lower_title(category))]
    return [*(value for _, value in named), *nouns, *map(make_plural, nouns), *MONTHS, *WEEKDAYS]


def list_named_values(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, Mapping):
        for name, value in tree.items():
            yield from list_named_values(value, name)
    elif isinstance(tree, list):
        for value in tree:
            yield from list_named_values(value, key)
    elif isinstance(tree, str) and key in NAMED_BY:
        yield key, tree
