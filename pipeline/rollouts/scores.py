"""The figures of many attempts: Tables 1 and 3 of Customer-Agent (arXiv 2606.07995), and the files that hold them."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pipeline.arrow import to_batch
from pipeline.budgets import tokens_of
from pipeline.files import publish
from pipeline.problem import Problem
from pipeline.rewards.figures import mean, pass_at, wilson
from schemas.questions import Difficulty, Kind, Third
from schemas.record import Record
from schemas.rollouts import Attempt

RowT = TypeVar("RowT", bound=Record)

Mode = Literal["tool", "text"]
SAID: Mapping[Mode, str] = {"text": "w/o tool", "tool": "w/ tool"}
"""As the paper names the modes."""
TRIED = (1, 2, 4, 8)
"""The k of pass@k, as far as there are so many tries."""
GROUPS: Mapping[str, Callable[[Attempt], str]] = {
    "all": lambda each: "all",
    "budget": lambda each: each.budget,
    "kind": lambda each: each.kind,
    "difficulty": lambda each: each.difficulty,
    "position": lambda each: each.position or "none",
}
ORDER = ("all", *get_args(Kind), *get_args(Difficulty), *get_args(Third), "none")
REFUSED = re.compile(
    r"(HTTP 4(00|13|22)|vLLM)\b.*(context|too long|too large|longer than|exceed|maximum\D*length)", re.IGNORECASE
)
"""How servers say that a prompt is longer than what the model can read."""
CORRECT = "CORRECT"
Lines = list[list[str]]
"""A table, its header first."""


def too_long(each: Attempt) -> bool:
    """Whether the prompt was more than the model can read."""
    return REFUSED.match(each.fault) is not None


@dataclass(frozen=True)
class Row:
    """How an agent did on some of the questions in one mode; shares with Wilson's 95 % intervals, n being the questions."""

    policy: str
    mode: Mode
    by: str
    """`all`, `budget`, `kind`, `difficulty` or `position`."""
    value: str
    questions: int
    tries: int
    """Of each question."""
    accuracy: float
    """pass@1: the share of right tries, averaged over questions."""
    low: float
    high: float
    pass_at: dict[int, float]
    """By k: the share of questions of which one of k tries is right."""
    judged: float | None
    """pass@1 as the judge sees it; None without a judge."""
    judged_low: float | None
    judged_high: float | None
    tcr: float
    """Share of tries that attempt a call of the tool."""
    succ_tcr: float
    """Share with at least one call that ran without an error."""
    reward: float
    turns: float
    prompt_tokens: float
    tokens: float
    seconds: float
    faults: float
    """Share of tries with a fault."""
    too_long: float
    """Share of tries whose prompt the model could not read for its length."""


def figures(found: Iterable[Attempt]) -> list[Row]:
    """By mode, and in each by budget, kind, difficulty and position of the evidence."""
    groups: dict[tuple[str, Mode, str, str], list[Attempt]] = defaultdict(list)
    for each in found:
        for by, of in GROUPS.items():
            groups[each.policy, each.mode, by, of(each)].append(each)
    modes, kinds = list(SAID), list(GROUPS)

    def place(key: tuple[str, Mode, str, str]) -> tuple[Any, ...]:
        policy, mode, by, value = key
        return policy, modes.index(mode), kinds.index(by), tokens_of(value) if by == "budget" else ORDER.index(value)

    return [row(*key, groups[key]) for key in sorted(groups, key=place)]


def row(policy: str, mode: Mode, by: str, value: str, found: Sequence[Attempt]) -> Row:
    counts = by_question(found, lambda each: each.right)
    tries = min(tries for tries, _ in counts)
    accuracy, low, high = share(counts)
    judge = bool(found) and all(each.judged for each in found)
    judged = share(by_question(found, lambda each: each.judged == CORRECT)) if judge else (None, None, None)

    def average(of: Callable[[Attempt], float]) -> float:
        return mean([of(each) for each in found])[0]

    return Row(
        policy=policy,
        mode=mode,
        by=by,
        value=value,
        questions=len(counts),
        tries=tries,
        accuracy=accuracy,
        low=low,
        high=high,
        pass_at={k: mean([pass_at(k, *each) for each in counts])[0] for k in TRIED if k <= tries},
        judged=judged[0],
        judged_low=judged[1],
        judged_high=judged[2],
        tcr=average(lambda each: each.called > 0),
        succ_tcr=average(lambda each: each.executed > 0),
        reward=average(lambda each: each.reward),
        turns=average(lambda each: each.turns),
        prompt_tokens=average(lambda each: each.prompt_tokens),
        tokens=average(lambda each: each.tokens),
        seconds=average(lambda each: each.seconds),
        faults=average(lambda each: bool(each.fault)),
        too_long=average(too_long),
    )


def by_question(found: Iterable[Attempt], good: Callable[[Attempt], bool]) -> list[tuple[int, int]]:
    """For each question its tries, and how many of them were good."""
    counts: dict[str, list[bool]] = defaultdict(list)
    for each in found:
        counts[each.question_id].append(good(each))
    return [(len(each), sum(each)) for each in counts.values()]


def share(counts: Sequence[tuple[int, int]]) -> tuple[float, float, float]:
    """
    >>> [round(each, 3) for each in share([(2, 1), (2, 2)])]
    [0.75, 0.198, 0.973]
    """
    sum_of_shares = sum(good / tries for tries, good in counts)
    return sum_of_shares / len(counts), *wilson(sum_of_shares, len(counts))


def in_order(budgets: Iterable[str]) -> list[str]:
    """
    >>> in_order({"1m", "64k", "6k"})
    ['6k', '64k', '1m']
    """
    return sorted(set(budgets), key=tokens_of)


# Tables


def tables(rows: Sequence[Row]) -> list[Lines]:
    """All of them, to be printed."""
    return [accuracy_table(rows), call_table(rows), pass_table(rows), group_table(rows)]


def accuracy_table(rows: Iterable[Row]) -> Lines:
    """Table 1: accuracy in percent with half the width of its interval, by budget; a dash where no prompt could be read."""
    cells = {(each.policy, each.mode, each.value): each for each in rows if each.by == "budget"}
    there = in_order(value for _, _, value in cells)
    lines = [["accuracy, %", *there]]
    for policy, mode in dict.fromkeys((policy, mode) for policy, mode, _ in cells):
        mine = [cells.get((policy, mode, budget)) for budget in there]
        lines.append([f"{policy} ({SAID[mode]})", *map(shown, mine)])
        if any(each and each.judged is not None for each in mine):
            lines.append([f"{policy} ({SAID[mode]}), judged", *map(shown_judged, mine)])
    return lines


def shown(cell: Row | None) -> str:
    if cell is None or cell.too_long == 1:
        return "–"
    return f"{100 * cell.accuracy:.1f} ±{50 * (cell.high - cell.low):.1f}"


def shown_judged(cell: Row | None) -> str:
    if cell is None or cell.too_long == 1 or cell.judged is None or cell.judged_low is None or cell.judged_high is None:
        return "–"
    return f"{100 * cell.judged:.1f} ±{50 * (cell.judged_high - cell.judged_low):.1f}"


def call_table(rows: Iterable[Row]) -> Lines:
    """Table 3: how often the tool was called, and with success."""
    found = [each for each in rows if each.by == "budget"]
    found.sort(key=lambda each: tokens_of(each.value))
    return [
        ["context", "agent", "TCR", "SuccTCR"],
        *(
            [f"{each.value}", f"{each.policy} ({SAID[each.mode]})", f"{each.tcr:.2f}", f"{each.succ_tcr:.2f}"]
            for each in found
        ),
    ]


def pass_table(rows: Iterable[Row]) -> Lines:
    """pass@k in percent; only its header where each question was tried once."""
    found = [each for each in rows if each.by == "budget" and each.tries > 1]
    most = max((k for each in found for k in each.pass_at), default=1)
    lines = [["context", "agent", *(f"pass@{k}" for k in TRIED if k <= most)]]
    for each in found:
        parts = [f"{100 * each.pass_at[k]:.1f}" if k in each.pass_at else "–" for k in TRIED if k <= most]
        lines.append([each.value, f"{each.policy} ({SAID[each.mode]})", *parts])
    return lines


def group_table(rows: Iterable[Row]) -> Lines:
    """All, then by kind, difficulty and position, with what it took."""
    lines = [
        [
            "by",
            "value",
            "mode",
            "questions",
            "accuracy (95 %)",
            "TCR",
            "SuccTCR",
            "reward",
            "turns",
            "tokens",
            "seconds",
        ]
    ]
    for each in rows:
        if each.by == "budget":
            continue
        lines.append(
            [
                each.by,
                each.value,
                SAID[each.mode],
                f"{each.questions:,}",
                f"{each.accuracy:.1%} ({each.low:.1%} - {each.high:.1%})",
                f"{each.tcr:.2f}",
                f"{each.succ_tcr:.2f}",
                f"{each.reward:+.2f}",
                f"{each.turns:.1f}",
                f"{each.prompt_tokens + each.tokens:,.0f}",
                f"{each.seconds:.2f}",
            ]
        )
    return lines


def fault_table(found: Iterable[Attempt]) -> Lines:
    """Why there was no answer, the commonest first; only its header where there was always one."""
    counts: dict[str, int] = defaultdict(int)
    for each in found:
        if each.fault:
            counts[each.fault[:100]] += 1
    most = sorted(counts, key=lambda fault: (-counts[fault], fault))[:5]
    return [["tries", "fault"], *([f"{counts[fault]:,}", fault] for fault in most)]


# Files


FOLDER = "evaluations"
"""In a run, beside its datasets."""


def file_of(run: Path, policy: str, *, what: str = "questions") -> Path:
    """
    >>> file_of(Path("run"), "scripted").as_posix(), file_of(Path("run"), "openai:a/b").name
    ('run/evaluations/questions-scripted.parquet', 'questions-openai-a-b-f510dc.parquet')
    """
    plain = re.sub(r"[^\w.-]+", "-", policy)[:80]
    own = plain if plain == policy else f"{plain}-{hashed(policy).hex()[:6]}"  # two names may look alike now
    return run / FOLDER / f"{what}-{own}.parquet"


def write_attempts(found: Iterable[Attempt], path: Path, facts: Mapping[str, str]) -> None:
    write_rows(Attempt, found, path, facts)


def read_attempts(path: Path) -> tuple[list[Attempt], dict[str, str]] | None:
    return read_rows(Attempt, path)


def write_rows(makes: type[RowT], found: Iterable[RowT], path: Path, facts: Mapping[str, str]) -> None:
    """What an evaluation found as Parquet, with these facts about it. Raises Problem where the file cannot be written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_batches([to_batch(makes, found)]).replace_schema_metadata(dict(facts))
    beside = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, beside, compression="zstd")
        publish(beside, path)
    except OSError as error:
        raise Problem(f"Cannot write {path}: {error.strerror or error}. Choose another file.") from None


def read_rows(makes: type[RowT], path: Path) -> tuple[list[RowT], dict[str, str]] | None:
    """The rows and the facts; None where the file holds something else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        rows = [makes.model_validate(row) for row in table.to_pylist()]
    except (pa.ArrowException, OSError, ValueError):
        return None
    facts = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    return (rows, facts) if rows else None


def hashed(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
