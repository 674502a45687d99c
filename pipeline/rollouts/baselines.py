"""Who answers without a model: the solver, and two that know nothing of the trajectory."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from random import Random

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.situation import SOLVER, Player
from shopwright.pipeline.phrases.bank import PhraseBank
from shopwright.pipeline.questions.engines import TrajectoryReader
from shopwright.pipeline.questions.rating import HELD_OUT, SPLITS
from shopwright.pipeline.rollouts.conversation import AnsweredQuestion, ExpertTurns
from shopwright.pipeline.rollouts.expert import play_expert
from shopwright.pipeline.rollouts.question_reading import read_question
from shopwright.pipeline.sandbox.interpreter import Sandbox
from shopwright.schemas.questions import WRITTEN, Question
from shopwright.schemas.samples import Trajectory

# As rows of `rollouts` and `rl_prompts` name them; the first is the solver.
SCRIPTED, RANDOM, MAJORITY = "scripted", "random", "majority"
# Without a box, so that no answer is right.
NOT_UNDERSTOOD = "I do not understand the question."
# How often each answer was right for a shape of question, where one learns: not in the test split.
Answers = dict[str, Counter[str]]


def open_trajectory_sandbox(trajectories: Dataset[Trajectory]) -> Sandbox:
    """A sandbox over these trajectories; for `trajectories.once`."""
    return Sandbox(TrajectoryReader(trajectories).events)


def count_answers(questions: Dataset[Question]) -> Answers:
    """For `questions.once`."""
    found: Answers = defaultdict(Counter)
    for batch in questions.batches(["shape", "kind", "answer", "split"]):
        for row in batch.to_pylist():
            if row["split"] not in HELD_OUT:
                found[get_answer_shape(row["shape"], row["kind"])][row["answer"]] += 1
    return dict(found)


def index_splits(questions: Dataset[Question]) -> dict[str, list[int]]:
    """The row numbers of each split; for `questions.once`."""
    splits = questions.table(["split"])["split"].to_pylist()
    return {name: [number for number, split in enumerate(splits) if split == name] for name in SPLITS}


def read_questions_at(questions: Dataset[Question], numbers: list[int]) -> Iterator[Question]:
    """The questions of these row numbers, which ascend."""
    wanted = set(numbers)
    if numbers:
        span = range(numbers[0], numbers[-1] + 1)
        yield from (one for number, one in zip(span, questions.rows(span), strict=True) if number in wanted)


def get_answer_shape(shape: str, kind: str) -> str:
    return kind if shape == WRITTEN else shape


def list_question_players(questions: Dataset[Question]) -> Mapping[str, Player]:
    """By name; each says the same to the same question and number of the try. For `questions.once`."""
    known = {shape: Guesses(answers) for shape, answers in count_answers(questions).items()}

    def find_guesses(question: Question) -> tuple[Guesses, str | None]:
        """Answers to questions of its shape, and its own where that is one of them."""
        own = question.answer if question.split not in HELD_OUT else None
        return known.get(get_answer_shape(question.shape, question.kind), NONE), own

    def guess_at_random(episode: AnsweredQuestion) -> ExpertTurns:
        guesses, own = find_guesses(episode.question)
        yield f"\\boxed{{{guesses.drawn(own, seed_baseline(RANDOM, episode))}}}"

    def guess_commonest(episode: AnsweredQuestion) -> ExpertTurns:
        guesses, own = find_guesses(episode.question)
        yield f"\\boxed{{{guesses.commonest(own)}}}"

    return {SOLVER: solve_question, RANDOM: guess_at_random, MAJORITY: guess_commonest}


def solve_question(episode: AnsweredQuestion) -> ExpertTurns:
    return play_reader(episode, seed_baseline(SCRIPTED, episode))


def play_reader(
    episode: AnsweredQuestion, random: Random, *, mistake: bool = False, bank: PhraseBank | None = None
) -> ExpertTurns:
    """The expert, who is told the words of the question and nothing else of it."""
    assert episode.sandbox
    read = read_question(episode.question, episode.sandbox.events(episode.question.trajectory_id))
    if read is None:
        yield NOT_UNDERSTOOD
    else:
        yield from play_expert(read, random, mistake=mistake, bank=bank)


def seed_baseline(name: str, episode: AnsweredQuestion) -> Random:
    return Random(f"{name}/{episode.question.id}/{episode.try_number}")


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
        # An answer that only this question has is not known to who guesses.
        gone = bisect_left(self.sorted, own) if own is not None and self.answers[own] == 1 else len(self.sorted)
        left = len(self.sorted) - (gone < len(self.sorted))
        if not left:
            return "none"
        place = int(random.random() * left)
        return self.sorted[place + (place >= gone)]


NONE = Guesses(Counter())
