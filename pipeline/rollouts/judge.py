"""A model as judge: whether an answer is right, and which of two logs a real person left (arXiv 2606.07995)."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, get_args

from pipeline.dataset import Dataset
from pipeline.models.base import Prompt, Reply, Sampling
from pipeline.models.play import Conversation
from pipeline.models.role import Role
from pipeline.models.written import Unwritten, Wrong, written
from pipeline.problem import Problem
from pipeline.prompts import messages
from pipeline.rewards.figures import wilson
from schemas.rollouts import Attempt
from schemas.samples import Trajectory

DRAWN = Sampling(temperature=0.0)
"""A judge says the same of the same, as far as the server can."""
VERDICTS = ("CORRECT", "INCORRECT")
LONGEST = 4_000
"""Characters of an answer that the judge is shown."""
TRIES = 2
WORDS = 40
"""Of a reason."""
LINES = 100
"""Of a log that is shown."""


def judge_of(role: Role) -> Role:
    """The same. Raises Problem where no model plays it."""
    if not role.asks:
        raise Problem("Judging takes a model. Say --judge openai:NAME@http://HOST:PORT/v1 or vllm:NAME_OR_PATH.")
    return role


# Is the answer right?


def judged(found: Iterable[Attempt], questions: Mapping[str, str], judge: Role) -> Iterator[Attempt]:
    """The same attempts with the judge's verdicts; `questions`: their texts by their ids. Raises Problem, Spent, Away."""
    return judge_of(judge).play(judgement(each, questions[each.question_id]) for each in found)


def judgement(attempt: Attempt, question: str) -> Conversation[Attempt]:
    """Nobody is asked where there is no answer; without a verdict in two tries it is INCORRECT, with the fault noted."""
    if not attempt.said.strip():
        return attempt.model_copy(update={"judged": "INCORRECT"})
    asked = messages("judge/rollouts", question=question, answer=attempt.answer, said=attempt.said[:LONGEST])
    found = yield from written(Prompt("judge/rollouts", tuple(asked)), verdict_of, tries=TRIES)
    if isinstance(found, Unwritten):
        fault = "; ".join(filter(None, [attempt.fault, f"no verdict: {found.reasons[-1]}"]))
        return attempt.model_copy(update={"judged": "INCORRECT", "fault": fault})
    return attempt.model_copy(update={"judged": found})


def verdict_of(reply: Reply) -> str:
    """What the last line says. Raises Wrong.

    >>> verdict_of(Reply('The same amount.\\n{"answer": "CORRECT"}\\n'))
    'CORRECT'
    """
    try:
        last = json.loads(lines_of(reply.text)[-1])
    except (IndexError, ValueError, RecursionError):
        last = None
    if not isinstance(last, dict) or last.keys() != {"answer"} or last["answer"] not in VERDICTS:
        raise Wrong('the last line is neither {"answer": "CORRECT"} nor {"answer": "INCORRECT"}.')
    return str(last["answer"])


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


# Which log is a real person's?

Choice = Literal["real", "ours", "cannot", "unreadable"]
SHOWN: Mapping[Choice, str] = {
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


def opinions(pairs: Iterable[Pair], judge: Role) -> Iterator[Opinion]:
    """What the judge says of each pair. Raises Problem, Spent, Away."""
    return judge_of(judge).play(map(comparison, pairs))


def comparison(pair: Pair) -> Conversation[Opinion]:
    first, second = (pair.ours, pair.real) if pair.ours_first else (pair.real, pair.ours)
    asked = Prompt("judge/trajectories", tuple(messages("judge/trajectories", first=first, second=second)))
    found = yield from written(asked, lambda reply: opinion(reply, ours_first=pair.ours_first), tries=TRIES)
    return Opinion("unreadable", found.reasons[-1]) if isinstance(found, Unwritten) else found


def opinion(reply: Reply, *, ours_first: bool) -> Opinion:
    """What the first line says, and of the reason as many words as it may have. Raises Wrong.

    >>> opinion(Reply("SECOND\\nIt wanders as people do."), ours_first=True)
    Opinion(choice='real', reason='It wanders as people do.')
    """
    said, *reason = lines_of(reply.text) or [""]
    choices: dict[str, Choice] = {
        "FIRST": "ours" if ours_first else "real",
        "SECOND": "real" if ours_first else "ours",
        "CANNOT_DISTINGUISH": "cannot",
    }
    if said not in choices:
        raise Wrong("the first line is none of FIRST, SECOND, CANNOT_DISTINGUISH.")
    return Opinion(choices[said], " ".join(" ".join(reason).split()[:WORDS]))


def pairs(ours: Sequence[str], real: Sequence[str], count: int, *, lines: int = LINES, seed: int = 0) -> list[Pair]:
    """So many different pairs, or all that there are, in random order; both logs of a pair have the same number of lines.

    >>> [(pair.ours, pair.real) for pair in pairs(["a\\nb\\nc"], ["x\\ny"], 5)]
    [('a\\nb', 'x\\ny')]
    """
    random = Random(seed)
    every = len(ours) * len(real)
    found = []
    for number in random.sample(range(every), min(count, every)):
        one, other = (
            lines_of(logs[place]) for logs, place in zip((ours, real), divmod(number, len(real)), strict=True)
        )
        most = min(len(one), len(other), lines)
        found.append(Pair("\n".join(one[:most]), "\n".join(other[:most]), random.random() < 0.5))
    return found


def logs_here(trajectories: Dataset[Trajectory], *, lines: int = LINES) -> list[str]:
    """The beginnings of the run's trajectories."""
    texts = (text for batch in trajectories.batches(["text"]) for text in batch["text"].to_pylist())
    return ["\n".join(text.split("\n", lines)[:lines]) for text in texts]


def logs_of(path: Path) -> list[str]:
    """Real logs: the column `text` of a Parquet or JSON Lines file, or a text in which an empty line ends each log.

    Raises Problem for a file that holds none.
    """
    if not path.is_file():
        raise Problem(f"--real {path}: there is no such file.")
    try:
        found = {".parquet": in_parquet, ".jsonl": in_json_lines}.get(path.suffix, in_text)(path)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # Arrow's own errors are some of these
        raise Problem(f"--real {path} is no {path.suffix[1:] or 'text'} with a column `text` of UTF-8 texts.") from None
    found = [text for text in found if text.strip()]
    if not found:
        raise Problem(f"--real {path} holds no log.")
    return found


def in_parquet(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    texts = pq.read_table(path, columns=["text"])["text"].to_pylist()
    return [text.strip() for text in texts if text is not None]


def in_json_lines(path: Path) -> list[str]:
    texts = [json.loads(line)["text"] for line in lines_of(path.read_text(encoding="utf-8"))]
    return [str.strip(text) for text in texts]


def in_text(path: Path) -> list[str]:
    logs: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            logs[-1].append(line.strip())
        elif logs[-1]:
            logs.append([])
    return ["\n".join(log) for log in logs if log]


@dataclass(frozen=True)
class Share:
    """How often something was chosen, with the 95 % interval of its share."""

    choice: Choice
    pairs: int
    share: float
    low: float
    high: float


def tally(found: Sequence[Opinion]) -> list[Share]:
    """How often each was taken for real, of all pairs. Raises Problem where there are none."""
    if not found:
        raise Problem("There are no pairs to compare: the run has no trajectories.")
    counts = Counter(each.choice for each in found)
    total = len(found)
    return [
        Share(choice, counts[choice], counts[choice] / total, *wilson(counts[choice], total))
        for choice in get_args(Choice)
    ]


def tally_table(found: Sequence[Opinion]) -> list[list[str]]:
    """Table 8, its header first."""
    rows = [
        [SHOWN[each.choice], f"{each.pairs:,}", f"{each.share:.1%} ({each.low:.1%} - {each.high:.1%})"]
        for each in tally(found)
    ]
    return [["taken for real", "pairs", "share (95 %)"], *rows]
