"""A model as judge: whether an answer is right, and which of two logs a real person left (arXiv 2606.07995)."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.evaluate.realism.logs import read_log_texts
from shopwright.pipeline.evaluate.statistics import Share, measure_share
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.models.base import MODEL_FORMS, Prompt, Reply, Sampling, UnansweredRequest
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.role import Role
from shopwright.pipeline.models.valid_replies import InvalidReply, NoValidReply, ask_until_valid, catch_unanswered
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import render_messages
from shopwright.schemas.rollouts import Attempt
from shopwright.schemas.samples import Trajectory

# A judge says the same of the same, as far as the server can.
JUDGE_SAMPLING = Sampling(temperature=0.0)
VERDICTS = ("CORRECT", "INCORRECT")
# Characters of an answer that the judge is shown.
LONGEST = 4_000
TRIES = 2
# Of a reason.
WORDS = 40
# Of a log that is shown.
LINES = 100


def get_judge(role: Role) -> Role:
    """The same. Raises Problem where no model plays it."""
    if not role.asks:
        raise Problem(f"Judging takes a model. Say --judge {MODEL_FORMS}.")
    return role


# Is the answer right?


def judge_attempts(found: Iterable[Attempt], questions: Mapping[str, str], judge: Role) -> Iterator[Attempt]:
    """The same attempts with the judge's verdicts; `questions`: their texts by their ids. Raises Problem, Spent, Away."""
    return get_judge(judge).play(judge_answer(each, questions[each.question_id]) for each in found)


def judge_answer(attempt: Attempt, question: str) -> Conversation[Attempt]:
    """Nobody is asked where there is no answer; without a verdict in two tries it is INCORRECT, with the fault noted.

    Where the judge's server does not answer there is no verdict.
    """
    if not attempt.said.strip():
        return attempt.model_copy(update={"judged": "INCORRECT"})
    asked = render_messages("judge/rollouts", question=question, answer=attempt.answer, said=attempt.said[:LONGEST])
    found = yield from ask_until_valid(Prompt("judge/rollouts", tuple(asked)), parse_verdict, tries=TRIES)
    if isinstance(found, NoValidReply) and not found.answered:
        return attempt
    if isinstance(found, NoValidReply):
        fault = "; ".join(filter(None, [attempt.fault, f"no verdict: {found.reasons[-1]}"]))
        return attempt.model_copy(update={"judged": "INCORRECT", "fault": fault})
    return attempt.model_copy(update={"judged": found})


def parse_verdict(reply: Reply) -> str:
    """What the last line says. Raises InvalidReply.

    >>> parse_verdict(Reply('The same amount.\\n{"answer": "CORRECT"}\\n'))
    'CORRECT'
    """
    try:
        last = json.loads(split_log_lines(reply.text)[-1])
    except (IndexError, ValueError, RecursionError):
        last = None
    if not isinstance(last, dict) or last.keys() != {"answer"} or last["answer"] not in VERDICTS:
        raise InvalidReply('the last line is neither {"answer": "CORRECT"} nor {"answer": "INCORRECT"}.')
    return str(last["answer"])


def split_log_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


# Which log is a real person's?

Choice = Literal["real", "ours", "cannot", "unreadable"]
CHOICE_LABELS: Mapping[Choice, str] = {
    "real": "the real one",
    "ours": "this run's",
    "cannot": "cannot distinguish",
    "unreadable": "no readable reply",
}


@dataclass(frozen=True)
class Pair:
    """Two logs, of the same number of lines."""

    ours: str
    real: str
    ours_first: bool


@dataclass(frozen=True)
class Opinion:
    """Which log was taken for a real person's, and why."""

    choice: Choice
    reason: str


def compare_pairs(pairs: Iterable[Pair], judge: Role) -> Iterator[Opinion | UnansweredRequest]:
    """What the judge says of each pair. Raises Problem, Spent, Away."""
    return get_judge(judge).play(catch_unanswered(compare_pair(pair)) for pair in pairs)


def compare_pair(pair: Pair) -> Conversation[Opinion]:
    first, second = (pair.ours, pair.real) if pair.ours_first else (pair.real, pair.ours)
    asked = Prompt("judge/trajectories", tuple(render_messages("judge/trajectories", first=first, second=second)))
    found = yield from ask_until_valid(
        asked, lambda reply: parse_opinion(reply, ours_first=pair.ours_first), tries=TRIES
    )
    if isinstance(found, NoValidReply) and not found.answered:
        raise UnansweredRequest(found.reasons[-1])
    return Opinion("unreadable", found.reasons[-1]) if isinstance(found, NoValidReply) else found


def parse_opinion(reply: Reply, *, ours_first: bool) -> Opinion:
    """What the first line says, and of the reason as many words as it may have. Raises InvalidReply.

    >>> parse_opinion(Reply("SECOND\\nIt wanders as people do."), ours_first=True)
    Opinion(choice='real', reason='It wanders as people do.')
    """
    said, *reason = split_log_lines(reply.text) or [""]
    choices: dict[str, Choice] = {
        "FIRST": "ours" if ours_first else "real",
        "SECOND": "real" if ours_first else "ours",
        "CANNOT_DISTINGUISH": "cannot",
    }
    if said not in choices:
        raise InvalidReply("the first line is none of FIRST, SECOND, CANNOT_DISTINGUISH.")
    return Opinion(choices[said], " ".join(" ".join(reason).split()[:WORDS]))


def draw_log_pairs(
    ours: Sequence[str], real: Sequence[str], count: int, *, lines: int = LINES, seed: int = 0
) -> list[Pair]:
    """So many different pairs, or all that there are, in random order; both logs of a pair have the same number of lines.

    >>> [(pair.ours, pair.real) for pair in draw_log_pairs(["a\\nb\\nc"], ["x\\ny"], 5)]
    [('a\\nb', 'x\\ny')]
    """
    random = Random(seed)
    every = len(ours) * len(real)
    found = []
    for number in random.sample(range(every), min(count, every)):
        one, other = (
            split_log_lines(logs[place]) for logs, place in zip((ours, real), divmod(number, len(real)), strict=True)
        )
        most = min(len(one), len(other), lines)
        found.append(Pair("\n".join(one[:most]), "\n".join(other[:most]), random.random() < 0.5))
    return found


def read_run_logs(trajectories: Dataset[Trajectory], *, lines: int = LINES) -> list[str]:
    """The beginnings of the run's trajectories."""
    texts = chain.from_iterable(batch["text"].to_pylist() for batch in trajectories.batches(["text"]))
    return ["\n".join(text.split("\n", lines)[:lines]) for text in texts]


def read_real_logs(path: Path) -> list[str]:
    """Real logs: the column `text` of a Parquet or JSON Lines file, or a text in which an empty line ends each log.

    Raises Problem for a file that holds none.
    """
    if not path.is_file():
        raise Problem(f"--real {path}: there is no such file.")
    try:
        found = read_parquet_logs(path) if path.suffix == ".parquet" else read_log_texts(path)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # Arrow's own errors are some of these
        raise Problem(f"--real {path} is no {path.suffix[1:] or 'text'} with a column `text` of UTF-8 texts.") from None
    found = [text for text in found if text.strip()]
    if not found:
        raise Problem(f"--real {path} holds no log.")
    return found


def read_parquet_logs(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    texts = pq.read_table(path, columns=["text"])["text"].to_pylist()
    return [text.strip() for text in texts if text is not None]


def tally_opinions(found: Sequence[Opinion]) -> dict[Choice, tuple[int, Share]]:
    """How often each was taken for real, and of all pairs. Raises Problem where there are none."""
    if not found:
        raise Problem("There are no pairs to compare: the run has no trajectories.")
    counts = Counter(each.choice for each in found)
    return {choice: (counts[choice], measure_share(counts[choice], len(found))) for choice in get_args(Choice)}


def tabulate_opinions(found: Sequence[Opinion]) -> Table:
    """Table 8."""
    rows = [
        [CHOICE_LABELS[choice], f"{pairs:,}", share.format_interval("%")]
        for choice, (pairs, share) in tally_opinions(found).items()
    ]
    return Table(["taken for real", "pairs", "share (95 %)"], rows)


def opinions_to_json(found: Sequence[Opinion]) -> dict[str, Any]:
    """The figures for scripts."""
    return {
        "table": [
            {"choice": choice, "pairs": pairs} | asdict(share)
            for choice, (pairs, share) in tally_opinions(found).items()
        ],
        "opinions": [asdict(each) for each in found],
    }
