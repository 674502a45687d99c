"""Whether a learner that writes SQL over the table knows more than one that reads the log's text, as the log grows (ShopTrajQA, Table 2).

    pip install -e '.[learn]'
    python -m benchmarks.tool_against_text            # logs of 8k, 32k and 128k tokens
    python -m benchmarks.tool_against_text --quick    # whether it runs: no figures are kept

Both are the transformer of `benchmarks/learner.py`, with the same layers, taught as many questions in as many steps: one is shown the question and writes its query, which is run in the
customer's log; the other is shown the question and lines of the log, and writes the answer. A log of 8k tokens is far beyond what half a million parameters
can be taught on one core, so the reader is given the lines that share most words with the question, as many as a window of fixed length holds, in their
order; how often all events that decide the answer are among them bounds it. Beside them stand the reader without lines, and the commonest answer of each shape.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.learning_parts import CUSTOMERS, SEED, Bench, Measured, Part, run_command
from benchmarks.marks import Values, decode_query, encode_query, list_values
from benchmarks.taught_rows import choose_rows, find_commonest, learn_forms, train_transformer
from benchmarks.wordings import Language, judge
from shopwright.pipeline.evaluate.statistics import Share, measure_share
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.run import Run
from shopwright.pipeline.words import content_words
from shopwright.schemas.questions import Question
from shopwright.schemas.samples import Event

BUDGETS = ("8k", "32k", "128k")
COUNT, EACH = 120, 25
TAUGHT, ASKED, UPDATES, SEEDS = 2_000, 300, 300, 1
LINES = 4
"""Of the log that the reader is shown: some 70 tokens, where the learner takes 256 with question and answer."""
TOOL, FORMS, READER, BLIND, COMMONEST = (
    "writes SQL over the table",
    "writes SQL, as the linear learner of forms",
    "reads lines of the text",
    "reads no line",
    "the commonest answer",
)


class Result(NamedTuple):
    budget: str
    how: str
    seed: int
    right: Share


def write_line(event: Event) -> str:
    """What was done, with what, and when."""
    thing = [event.brand, event.color, event.product_types, event.price and f"${event.price}"]
    words = event.search_query or " ".join(str(each) for each in thing if each)
    return f"{event.action_type} {words} {event.timestamp:%Y-%m-%d}."


def choose_lines(question: str, events: Sequence[Event], count: int) -> list[Event]:
    """Those that share most words with the question, in their order; of equals the first."""
    wanted = set(content_words(question))
    shared = [len(wanted & set(content_words(f"{write_line(each)} {each.product_name or ''}"))) for each in events]
    best = sorted(range(len(events)), key=lambda place: (-shared[place], place))[:count]
    return [events[place] for place in sorted(best)]


class Log(NamedTuple):
    """What a comparison shares: questions of one budget, and the logs that they are about."""

    questions: list[Question]
    events: dict[str, list[Event]]
    values: Values
    engines: Engines


def open_log(run: Run) -> Log:
    events = {row.id: list(row.events) for row in run.read("trajectories")}
    return Log(list(run.read("questions")), events, list_values(run), Engines(run.read("trajectories")))


def turn_into_reading(row: Question, log: Log, lines: int) -> Question:
    """The same question with lines of the log behind it, and its answer where its query was."""
    shown = " ".join(map(write_line, choose_lines(row.question, log.events[row.trajectory_id], lines)))
    quoted = row.answer.replace("'", "''")
    return row.model_copy(update={"question": f"{row.question} {shown}".strip(), "sql": f"'{quoted}'"})


def has_evidence(row: Question, log: Log) -> bool:
    """Whether all events that decide the answer are among the lines."""
    shown = {each.row_id for each in choose_lines(row.question, log.events[row.trajectory_id], LINES)}
    return shown.issuperset(row.evidence)


def is_answer(row: Question, written: str) -> bool:
    return written.casefold() == decode_query(encode_query(row.sql, {}), {}).casefold()


def compare_ways(log: Log, budget: str, taught: int, asked: int, updates: int, seeds: int) -> Iterator[Result]:
    train = [row for row in log.questions if row.split in ("sft", "rl")]
    tests = choose_rows([row for row in log.questions if row.split == "test"], asked, 0)
    for seed in range(seeds):
        rows = choose_rows(train, taught, seed)
        for how, lines in ((TOOL, None), (FORMS, None), (READER, LINES), (BLIND, 0)):
            turn: Callable[[Question], Question] = partial(turn_into_reading, log=log, lines=lines or 0)
            seen, asked_rows = (some if lines is None else [turn(row) for row in some] for some in (rows, tests))
            learn = learn_forms if how == FORMS else train_transformer
            answers = learn(Language(seen, log.values, seed), seed, updates)(asked_rows)
            judged = partial(judge, engines=log.engines) if lines is None else is_answer
            right = sum(judged(row, text) for row, text in zip(asked_rows, answers, strict=True))
            yield Result(budget, how, seed, measure_share(right, len(tests)))
    guesses = find_commonest(train, lambda row: row.shape)
    yield Result(
        budget, COMMONEST, 0, measure_share(sum(guesses.get(row.shape) == row.result for row in tests), len(tests))
    )
    there = sum(has_evidence(row, log) for row in tests)
    yield Result(budget, "all that decides the answer is in the lines", 0, measure_share(there, len(tests)))


def tabulate(results: Sequence[Result]) -> str:
    budgets = list(dict.fromkeys(each.budget for each in results))
    lines = [f"| how | {' | '.join(f'{budget}, %' for budget in budgets)} |", "| --- |" + " --- |" * len(budgets)]
    for how in dict.fromkeys(each.how for each in results):
        cells = []
        for budget in budgets:
            own = [each.right for each in results if (each.how, each.budget) == (how, budget)]
            share, count = mean(each.share for each in own), own[0].count
            whole = measure_share(share * count, count)
            spread = f"; {', '.join(f'{100 * each.share:.1f}' for each in own)}" if len(own) > 1 else ""
            cells.append(f"{100 * share:.1f} ({100 * whole.low:.1f} - {100 * whole.high:.1f}{spread})")
        lines.append(f"| {how} | {' | '.join(cells)} |")
    return "\n".join(lines)


def open_logs(bench: Bench) -> Iterator[tuple[str, Log]]:
    """By length; those of the run's own length are the run's."""
    for budget in BUDGETS[1:2] if bench.quick else BUDGETS:
        if budget == CUSTOMERS["trajectories.tokens"]:
            yield budget, open_log(bench.run)
            continue
        with TemporaryDirectory() as folder:
            run = Run(Path(folder), seed=SEED, workers=1)
            run.build("questions", count=COUNT, tokens=budget, per_trajectory=EACH)
            yield budget, open_log(run)


def measure(bench: Bench) -> Measured:
    taught, asked, updates, seeds = (100, 40, 10, 1) if bench.quick else (TAUGHT, ASKED, UPDATES, SEEDS)
    results = list[Result]()
    for budget, log in open_logs(bench):
        for result in compare_ways(log, budget, taught, asked, updates, seeds):
            bench.say(f"{budget}, {result.how}, seed {result.seed}: {result.right.share:.3f}")
            results.append(result)
    about = f": {taught:,} questions taught in {updates} steps, {asked} of `test` asked; {seeds} seed."
    return Measured(tabulate(results), about)


PART = Part("tool_against_text", "tool against text", ("questions",), measure)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
