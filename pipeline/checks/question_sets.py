"""What must be true of all questions of a dataset together: the split of each customer, no near-duplicates, no shape or answer too common."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shopwright.pipeline.dataset import Dataset, read_row_groups
from shopwright.pipeline.questions.model_written import KINDS
from shopwright.pipeline.questions.rating import DistinctBags, collect_bag_of_words, extract_question_words
from shopwright.pipeline.sandbox.sql import parse_select
from shopwright.pipeline.stage import Fault, compares_rows
from shopwright.schemas.questions import WRITTEN, Question, Split
from shopwright.schemas.samples import Trajectory

# Up to which part of the customers, as `place` spreads them.
BY_SPLIT: tuple[tuple[Split, float], ...] = (
    ("sft", 0.3),
    ("rl", 0.85),
    ("test_wording", 0.9),
    ("test", 1.0),
)
# Multiples of the golden ratio spread any number of places evenly, without a draw.
GOLDEN = 0.6180339887498949
# No shape is more of a release than this.
OF_A_SHAPE = 0.06
# No answer is right for more than this share of a shape's questions; of a kind's, where models wrote them.
GUESSED = 0.2
# At most this share of the questions may have a condition without which the answer is the same.
IDLE = 0.1


@dataclass(frozen=True)
class Roster:
    """Which customer each trajectory is of, and so which split it is in."""

    ids: list[str]
    budgets: list[str]
    splits: list[Split]


def load_roster(trajectories: Dataset[Trajectory]) -> Roster:
    table = trajectories.table(["id", "persona_id", "budget"])
    people = table["persona_id"].to_pylist()
    numbers = {person: number for number, person in enumerate(dict.fromkeys(people))}
    splits = [split_of_customer(numbers[person]) for person in people]
    return Roster(table["id"].to_pylist(), table["budget"].to_pylist(), splits)


def map_trajectory_splits(trajectories: Dataset[Trajectory]) -> dict[str, Split]:
    """The split of each trajectory."""
    found = trajectories.once(load_roster)
    return dict(zip(found.ids, found.splits, strict=True))


def split_of_customer(number: int) -> Split:
    """Any run of customers is divided 30 : 55 : 5 : 10, as nearly as it can be.

    >>> [split_of_customer(number) for number in range(5)]
    ['rl', 'sft', 'rl', 'rl', 'test']
    """
    place = (number * GOLDEN + 0.5) % 1
    return next(split for split, upto in BY_SPLIT if place < upto)


def iterate_question_rows(questions: Dataset[Question], *columns: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Some columns of every row, with the place where it stands."""
    for path in questions.files:
        first = 0
        for batch in read_row_groups(path, list(columns)):
            for row, found in enumerate(batch.to_pylist()):
                yield str(path), first + row, found
            first += batch.num_rows


@compares_rows
def questions_of_a_trajectory_differ(questions: Dataset[Question]) -> Iterable[Fault]:
    """No near-duplicates within a trajectory."""
    bags: dict[str, DistinctBags] = defaultdict(DistinctBags)
    for file, row, found in iterate_question_rows(questions, "trajectory_id", "question"):
        if not bags[found["trajectory_id"]].add(collect_bag_of_words(found["question"])):
            yield Fault(file, row, "near-duplicate of another question on the same trajectory")


@compares_rows
def splits_share_nothing(questions: Dataset[Question]) -> Iterable[Fault]:
    """No two splits share a customer, a query or a question; case, signs and little words make no difference."""
    owners: dict[tuple[str, Any], str] = {}
    for file, row, found in iterate_question_rows(questions, "trajectory_id", "question", "sql", "shape", "split"):
        keys = {
            "a customer": found["trajectory_id"].rpartition("-")[0],
            "a query": normalize_query_text(found["sql"]) if found["shape"] == WRITTEN else found["sql"],
            "a question": " ".join(extract_question_words(found["question"])),
        }
        for what, key in keys.items():
            if owners.setdefault((what, key), found["split"]) != found["split"]:
                yield Fault(file, row, f"two splits share {what}")


def normalize_query_text(sql: str) -> str:
    """The same text for queries that differ in case of keywords, spaces, brackets and comments alone."""
    try:
        return str(parse_select(sql).sql(dialect="duckdb", normalize=True, comments=False))
    except ValueError:
        return sql


def few_conditions_are_idle(questions: Dataset[Question]) -> Iterable[Fault]:
    """Questions with a condition that does nothing are at most a tenth of all; what is over is taken from the end.

    Questions that a model wrote carry the figure and are not limited: they are not drawn again.
    """
    every = iterate_question_rows(questions, "shape", "idle_conditions")
    rows = [each for each in every if each[2]["shape"] != WRITTEN]
    idle = [(file, row) for file, row, found in rows if found["idle_conditions"]]
    for file, row in idle[max_alike(IDLE, len(rows) - len(idle)) :]:
        yield Fault(file, row, "one more question whose answer is the same without one of its conditions")


def no_shape_or_answer_is_too_common(questions: Dataset[Question]) -> Iterable[Fault]:
    """No shape is more than 6 % of all, and the commonest answer of a shape right for at most 20 % of its questions.

    One question of a shape, and one with an answer, is always allowed. The excess is taken from the end, until both hold.
    Written questions have no shapes, and their kind stands for one: each kind may be as common as it is.
    """
    rows = list(iterate_question_rows(questions, "shape", "kind", "answer"))
    kept = list(range(len(rows)))
    while over := dict(list_too_common(kept, rows)):
        for number, reason in over.items():
            yield Fault(rows[number][0], rows[number][1], reason)
        kept = [number for number in kept if number not in over]


def list_too_common(kept: list[int], rows: list[tuple[str, int, dict[str, Any]]]) -> Iterator[tuple[int, str]]:
    """The last rows of shapes, else of answers, that are too common among those kept."""
    by_shape: dict[str, list[int]] = defaultdict(list)
    for number in kept:
        row = rows[number][2]
        by_shape[row["kind"] if row["shape"] == WRITTEN else row["shape"]].append(number)
    for shape, found in by_shape.items():
        for number in found[max_alike(OF_A_SHAPE, len(kept) - len(found)) :] if shape not in KINDS else []:
            yield number, "its shape is more than 6 % of all"
        by_answer: dict[str, list[int]] = defaultdict(list)
        for number in found:
            by_answer[rows[number][2]["answer"]].append(number)
        for same in by_answer.values():
            for number in same[max_alike(GUESSED, len(found) - len(same)) :]:
                yield number, "the commonest answer of its shape: guessable"


def max_alike(share: float, others: int) -> int:
    """So many may be alike beside so many others, so that they are at most this share of all; one always.

    >>> max_alike(0.2, 8), max_alike(0.2, 0)
    (2, 1)
    """
    return max(1, int(share * others / (1 - share) + 1e-9))
