"""What outside readings make of the questions: a second program that answers them from their words, a reader of the text alone, and
careless answerers.

    python -m benchmarks.truth                            # 200 customers of the sample shop, 20,000 questions, about half an hour
    python -m benchmarks.truth --run data/runs/mine       # of a run that is there; nothing is written to the page

The program in `tests/outside/questions` reads English and events and knows neither our code nor the SQL of a question. Questions that
it does not understand are counted apart.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from benchmarks.trajectories import machine, write
from shopwright.pipeline.checks.questions import expected_answer_type
from shopwright.pipeline.checks.text_reader import TextReader
from shopwright.pipeline.questions.answers import Undecided, answer_tree
from shopwright.pipeline.questions.engines import Engines, QueryFailed
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.tree import tree_from_json
from shopwright.pipeline.questions.values import value_from_json as value_of
from shopwright.pipeline.run import Run
from shopwright.schemas.questions import Question
from tests.outside.questions.__main__ import compare
from tests.questions.test_conditions import without_days

LABELS = ("easy", "medium", "hard")
ONE_LABEL = 0.95
FEW = 20
"""Questions of a shape below which its labels are not judged."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="look at the questions of this run")
    parser.add_argument("--customers", type=int, default=200, help="default: 200")
    parser.add_argument("--source", help="a catalog instead of the sample shop")
    parser.add_argument("--seed", type=int, default=4242, help="default: 4242")
    args = parser.parse_args()
    if args.run:
        print("\n".join(findings(Run(args.run))))
        return
    with TemporaryDirectory() as folder:
        run = Run(Path(folder), seed=args.seed)
        source = {"source": args.source, "invent_prices": True} if args.source else {}
        run.build("questions", count=args.customers, per_trajectory=50, **source)
        lines = findings(run)
    print("\n".join(lines))
    if not args.source:
        write("truth", "\n".join(["`python -m benchmarks.truth`", "", *lines, "", machine()]))


def findings(run: Run) -> list[str]:
    rows = list(run.read("questions"))
    rejects = run.read("questions").manifest.rejects
    outside = compare(run.folder)
    text = [row for row in rows if "text" in row.answerable_from]
    dated = [row for row in rows if "_day" in row.tree]
    held_back = sum(count for reason, count in rejects.items() if reason.startswith("its words"))
    labels = labels_of_shapes(rows)
    table = {
        "questions": f"{len(rows):,}",
        "understood by the outside program": f"{outside.understood.total():,}",
        "answered otherwise by it": len(outside.disagreements),
        "held back because their words were not read back to their tree": held_back,
        "with dates": f"{len(dated):,}",
        "of those, the answer stays when all dates are ignored": f"{keeping(run, dated):.1%}",
        "with any condition that changes nothing": f"{sum(bool(row.idle_conditions) for row in rows) / len(rows):.1%}",
        "answerable from the text": f"{len(text):,}",
        "of those, answered right by a reader of the text alone": f"{read_right(run, text):.2%}",
        f"shapes with {FEW} questions or more": len(labels),
        f"of those, with over {ONE_LABEL:.0%} one label": sum(share > ONE_LABEL for share in labels.values()),
    }
    lines = ["| what | figure |", "| --- | --- |", *(f"| {what} | {figure} |" for what, figure in table.items())]
    return [*lines, "", *by_label(rows), *outside.disagreements]


def by_label(rows: Sequence[Question]) -> list[str]:
    """Of seven careless answerers, how many come to the answer."""
    right = defaultdict(list)
    for row in rows:
        right[row.difficulty].append(len(row.effort.shortcuts))
    head = ["| difficulty | questions | careless answerers that are right, of seven |", "| --- | --- | --- |"]
    return head + [
        f"| {label} | {len(right[label]):,} | {fmean(right[label]):.2f} |" for label in LABELS if right[label]
    ]


def labels_of_shapes(rows: Sequence[Question]) -> dict[str, float]:
    """Of each shape, the share of its commonest label."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row.shape][row.difficulty] += 1
    return {shape: max(found.values()) / found.total() for shape, found in counts.items() if found.total() >= FEW}


def keeping(run: Run, dated: Sequence[Question]) -> float:
    """The share whose answer stays the same when no date is read."""
    engines = Engines(run.read("trajectories"))
    same = 0
    for row in dated:
        log = Log(engines.of(row.trajectory_id).rows)
        blind = tree_from_json(json.dumps(without_days(json.loads(row.tree))))
        with suppress(Undecided):  # an average between two roundings is no answer
            same += answer_tree(blind, log).value == answer_tree(tree_from_json(row.tree), log).value
    return same / max(1, len(dated))


def read_right(run: Run, asked: Sequence[Question]) -> float:
    reader, right = TextReader(run.read("trajectories")), 0
    for row in asked:
        with suppress(QueryFailed):
            kind = expected_answer_type(row)
            right += reader.answer(row.trajectory_id, row.sql, kind) == value_of(row.result, kind)
    return right / max(1, len(asked))


if __name__ == "__main__":
    main()
