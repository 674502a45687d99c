"""The figures of many attempts: Tables 1 and 3 of Customer-Agent (arXiv 2606.07995)."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from shopwright.pipeline.budget_names import parse_budget
from shopwright.pipeline.evaluate.statistics import Share, estimate_mean, measure_share
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.evaluate.tries import Passes, average_by_task, group_by_task, measure_passes, tabulate_passes
from shopwright.pipeline.rollouts.conversation import Mode
from shopwright.schemas.questions import Difficulty, Kind, Third
from shopwright.schemas.rollouts import Attempt

# As the paper names the modes.
MODE_LABELS: Mapping[Mode, str] = {"text": "w/o tool", "tool": "w/ tool"}
# What a question can be answered from: in the first group both modes are asked the same.
TEXT, ALONE = "text and table", "table alone"
GROUPS: Mapping[str, Callable[[Attempt], str]] = {
    "all": lambda each: "all",
    "budget": lambda each: each.budget,
    "kind": lambda each: each.kind,
    "answerable from": lambda each: TEXT if "text" in each.answerable_from else ALONE,
    "difficulty": lambda each: each.difficulty,
    "position": lambda each: each.position or "none",
}
ORDER = ("all", *get_args(Kind), TEXT, ALONE, *get_args(Difficulty), *get_args(Third), "none")
# How servers say that a prompt is longer than what the model can read.
REFUSED = re.compile(
    r"(HTTP 4(00|13|22)|vLLM)\b.*(context|too long|too large|longer than|exceed|maximum\D*length)", re.IGNORECASE
)
CORRECT = "CORRECT"


def is_prompt_too_long(each: Attempt) -> bool:
    """Whether the prompt was more than the model can read."""
    return REFUSED.match(each.fault) is not None


@dataclass(frozen=True)
class QuestionScore:
    """How an agent did on some of the questions in one mode; the shares are of questions."""

    policy: str
    mode: Mode
    by: str
    """`all`, `budget`, `kind`, `answerable from`, `difficulty` or `position`."""
    value: str
    questions: int
    accuracy: Share
    """pass@1: the share of right tries, averaged over questions."""
    passes: Passes
    judged: Share | None
    """pass@1 as the judge sees it; None without a judge."""
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


def score_attempts(found: Iterable[Attempt]) -> list[QuestionScore]:
    """By mode, and in each by budget, kind, what can answer it, difficulty and position of the evidence."""
    groups: dict[tuple[str, Mode, str, str], list[Attempt]] = defaultdict(list)
    for each in found:
        for by, of in GROUPS.items():
            groups[each.policy, each.mode, by, of(each)].append(each)
    modes, kinds = list(MODE_LABELS), list(GROUPS)

    def place(key: tuple[str, Mode, str, str]) -> tuple[Any, ...]:
        policy, mode, by, value = key
        return policy, modes.index(mode), kinds.index(by), parse_budget(value) if by == "budget" else ORDER.index(value)

    return [make_question_score(*key, groups[key]) for key in sorted(groups, key=place)]


def make_question_score(policy: str, mode: Mode, by: str, value: str, found: Sequence[Attempt]) -> QuestionScore:
    questions = group_by_question(found)
    judged = group_by_question(each for each in found if each.judged)

    def average(of: Callable[[Attempt], float]) -> float:
        return estimate_mean([of(each) for each in found])[0]

    return QuestionScore(
        policy=policy,
        mode=mode,
        by=by,
        value=value,
        questions=len(questions),
        accuracy=estimate_accuracy(questions, is_right),
        passes=measure_passes(questions, is_right),
        judged=estimate_accuracy(judged, lambda each: each.judged == CORRECT) if judged else None,
        tcr=average(lambda each: each.called > 0),
        succ_tcr=average(lambda each: each.executed > 0),
        reward=average(lambda each: each.reward),
        turns=average(lambda each: each.turns),
        prompt_tokens=average(lambda each: each.prompt_tokens),
        tokens=average(lambda each: each.tokens),
        seconds=average(lambda each: each.seconds),
        faults=average(lambda each: bool(each.fault)),
        too_long=average(is_prompt_too_long),
    )


def group_by_question(found: Iterable[Attempt]) -> list[list[Attempt]]:
    return group_by_task(found, lambda each: each.question_id)


def is_right(attempt: Attempt) -> bool:
    return attempt.right


def estimate_accuracy(questions: Sequence[list[Attempt]], is_good: Callable[[Attempt], bool]) -> Share:
    return measure_share(sum(average_by_task(questions, is_good)), len(questions))


def sort_budgets(budgets: Iterable[str]) -> list[str]:
    """
    >>> sort_budgets({"1m", "64k", "6k"})
    ['6k', '64k', '1m']
    """
    return sorted(set(budgets), key=parse_budget)


# Tables


def tabulate_accuracy(rows: Iterable[QuestionScore]) -> Table:
    """Table 1: accuracy in percent with half the width of its interval, by budget; a dash where no prompt could be read."""
    cells = {(each.policy, each.mode, each.value): each for each in rows if each.by == "budget"}
    there = sort_budgets(value for _, _, value in cells)
    lines = []
    for policy, mode in dict.fromkeys((policy, mode) for policy, mode, _ in cells):
        mine = [cells.get((policy, mode, budget)) for budget in there]
        agent = f"{policy} ({MODE_LABELS[mode]})"
        read = [each if each and each.too_long < 1 else None for each in mine]
        lines.append([agent, *(format_accuracy(each.accuracy if each else None) for each in read)])
        if any(each and each.judged for each in mine):
            lines.append([f"{agent}, judged", *(format_accuracy(each.judged if each else None) for each in read)])
    return Table(["accuracy, %", *there], lines)


def format_accuracy(share: Share | None) -> str:
    return share.format_margin() if share else "–"


def tabulate_calls(rows: Iterable[QuestionScore]) -> Table:
    """Table 3: how often the tool was called, and with success."""
    found = sorted((each for each in rows if each.by == "budget"), key=lambda each: parse_budget(each.value))
    return Table(
        ["context", "agent", "TCR", "SuccTCR"],
        [
            [each.value, f"{each.policy} ({MODE_LABELS[each.mode]})", f"{each.tcr:.2f}", f"{each.succ_tcr:.2f}"]
            for each in found
        ],
    )


def tabulate_question_passes(rows: Iterable[QuestionScore]) -> Table:
    """pass@k and pass^k by budget and difficulty; no rows where each question was tried once."""
    found: dict[tuple[str, ...], Passes] = {
        (f"{each.policy} ({MODE_LABELS[each.mode]})", each.by, each.value): each.passes
        for each in rows
        if each.by in ("all", "budget", "difficulty")
    }
    return tabulate_passes(("agent", "by", "value"), found)


GROUP_COLUMNS = ["by", "value", "mode", "asked", "accuracy (95 %)"]
GROUP_COLUMNS += ["TCR", "SuccTCR", "reward", "turns", "tokens", "seconds"]


def tabulate_groups(rows: Iterable[QuestionScore]) -> Table:
    """All, then by kind, difficulty and position, with what it took."""
    lines = [
        [
            each.by,
            each.value,
            MODE_LABELS[each.mode],
            f"{each.questions:,}",
            each.accuracy.format_interval("%"),
            f"{each.tcr:.2f}",
            f"{each.succ_tcr:.2f}",
            f"{each.reward:+.2f}",
            f"{each.turns:.1f}",
            f"{each.prompt_tokens + each.tokens:,.0f}",
            f"{each.seconds:.2f}",
        ]
        for each in rows
        if each.by != "budget"
    ]
    return Table(GROUP_COLUMNS, lines)


def tabulate_faults(found: Iterable[Attempt]) -> Table:
    """Why there was no answer, the commonest first; no rows where there was always one."""
    counts = Counter(each.fault[:100] for each in found if each.fault)
    most = sorted(counts, key=lambda fault: (-counts[fault], fault))[:5]
    return Table(["tries", "fault"], [[f"{counts[fault]:,}", fault] for fault in most])
