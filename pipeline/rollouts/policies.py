"""Who answers without a model: the scripted teacher, and two that know nothing of the trajectory."""

from bisect import bisect_left
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
    known = questions.once(guesses_of)

    def guess(question: Question, number: int) -> Teacher:
        guesses = known.get(shape_of(question.shape, question.kind), NONE)
        own = question.answer if question.split != "test" else None
        said = guesses.drawn(own, dice(name, question, number)) if name == RANDOM else guesses.commonest(own)
        return guessed(said)

    return guess


def dice(name: str, question: Question, number: int) -> Random:
    return Random(f"{name}/{question.id}/{number}")


class Guesses:
    """Answers that were right for a shape of question, in an order from which each guess is taken at once.

    A question's own answer counts once less: who guesses knows those to the others.
    """

    def __init__(self, answers: Counter[str]) -> None:
        self.answers = answers
        self.sorted = sorted(answers)
        self.by_frequency = sorted(answers, key=self.rank)

    def rank(self, answer: str) -> tuple[int, str]:
        return -self.answers[answer], answer

    def commonest(self, own: str | None = None) -> str:
        """Of equals the first in the alphabet; none where nothing is known.

        >>> Guesses(Counter({"3": 2, "1": 2, "7": 1})).commonest(), Guesses(Counter({"3": 2, "7": 1})).commonest("3")
        ('1', '3')
        """
        first = next((answer for answer in self.by_frequency if answer != own), None)
        left = self.answers[own] - 1 if own is not None else 0
        if own is not None and left > 0 and (first is None or (-left, own) < self.rank(first)):
            return own
        return first or "none"

    def drawn(self, own: str | None, random: Random) -> str:
        """Any of the answers that were ever right for such a question, each as likely."""
        gone = bisect_left(self.sorted, own) if own is not None and self.answers[own] == 1 else len(self.sorted)
        left = len(self.sorted) - (gone < len(self.sorted))
        if not left:
            return "none"
        place = int(random.random() * left)
        return self.sorted[place + (place >= gone)]


NONE = Guesses(Counter())


def guesses_of(questions: Dataset[Question]) -> dict[str, Guesses]:
    """For `questions.once`."""
    return {shape: Guesses(answers) for shape, answers in answers_of(questions).items()}


def guessed(answer: str) -> Teacher:
    """Says it at once."""
    yield f"\\boxed{{{answer}}}"
