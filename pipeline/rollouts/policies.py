"""Who answers without a model: the scripted teacher, and two that know nothing of the trajectory."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from random import Random

from pipeline.dataset import Dataset
from pipeline.problem import Problem
from pipeline.questions.engines import Shelf
from pipeline.questions.rating import SPLITS
from pipeline.rollouts.conversation import Teacher
from pipeline.rollouts.teacher import teacher
from pipeline.sandbox.interpreter import Sandbox
from schemas.questions import WRITTEN, Question
from schemas.samples import Trajectory

SCRIPTED, RANDOM, MAJORITY = "scripted", "random", "majority"
POLICIES = (SCRIPTED, RANDOM, MAJORITY)
Policy = Callable[[Question, int], Teacher]
"""What it says to a question, the n-th time that it is asked; the same for the same question and number."""
Answers = dict[str, Counter[str]]
"""How often each answer was right for a shape of question, where one learns: not in the test split."""


def sandboxed(trajectories: Dataset[Trajectory]) -> Sandbox:
    """A sandbox over these trajectories; for `trajectories.once`."""
    return Sandbox(Shelf(trajectories).events)


def answers_of(questions: Dataset[Question]) -> Answers:
    """For `questions.once`."""
    found: Answers = defaultdict(Counter)
    for batch in questions.batches(["shape", "kind", "answer", "split"]):
        for row in batch.to_pylist():
            if row["split"] != "test":
                found[shape_of(row["shape"], row["kind"])][row["answer"]] += 1
    return dict(found)


def numbers_of(questions: Dataset[Question]) -> dict[str, list[int]]:
    """The row numbers of each split; for `questions.once`."""
    splits = questions.table(["split"])["split"].to_pylist()
    return {name: [number for number, split in enumerate(splits) if split == name] for name in SPLITS}


def rows_of(questions: Dataset[Question], numbers: list[int]) -> Iterator[Question]:
    """The questions of these row numbers, which ascend."""
    wanted = set(numbers)
    if numbers:
        span = range(numbers[0], numbers[-1] + 1)
        yield from (one for number, one in zip(span, questions.rows(span), strict=True) if number in wanted)


def shape_of(shape: str, kind: str) -> str:
    return kind if shape == WRITTEN else shape


def policy_of(name: str, questions: Dataset[Question]) -> Policy:
    """Raises Problem for a name that there is not."""
    if name == SCRIPTED:
        return lambda question, number: teacher(question, dice(name, question, number))
    if name not in POLICIES:
        raise Problem(f"There is no policy {name}. There are: {', '.join(POLICIES)}.")
    known = questions.once(answers_of)

    def guess(question: Question, number: int) -> Teacher:
        answers = others(known, question)
        return guessed(drawn(answers, dice(name, question, number)) if name == RANDOM else commonest(answers))

    return guess


def others(known: Answers, question: Question) -> Counter[str]:
    """The answers to other questions of its shape."""
    found = Counter(known.get(shape_of(question.shape, question.kind), {}))
    if question.split != "test":
        found[question.answer] -= 1
    return +found


def dice(name: str, question: Question, number: int) -> Random:
    return Random(f"{name}/{question.id}/{number}")


def commonest(answers: Counter[str]) -> str:
    """Of equals the first in the alphabet; none where nothing is known.

    >>> commonest(Counter({"3": 2, "1": 2, "7": 1}))
    '1'
    """
    return min(answers, key=lambda answer: (-answers[answer], answer), default="none")


def drawn(answers: Counter[str], random: Random) -> str:
    """Any of the answers that were ever right for such a question, each as likely."""
    found = sorted(answers)
    return found[int(random.random() * len(found))] if found else "none"


def guessed(answer: str) -> Teacher:
    """Says it at once."""
    yield f"\\boxed{{{answer}}}"
