"""Whether the questions teach: what small learners know after so many rows, and what is left of it without the question.

    pip install -e '.[learn]'
    python -m benchmarks.taught_rows                         # most of the time goes into building the questions
    python -m benchmarks.taught_rows --quick                 # whether it runs: no figures are kept
    python -m benchmarks.taught_rows --run data/runs/mine    # questions of a run that is there

A linear learner chooses the form of a question's query among those that it was taught (`benchmarks/query_forms.py`); the transformer of
`benchmarks.wordings` writes it, and can put together what it never saw together. Either is taught 1,000 to 30,000 questions, each set within the next, and
asked about customers that it does not know: the split `test`, whose templates are taught to nobody, with three shapes that are not, either, and `test_wording`, whose
words are new as well. The transformer takes at least `UPDATES` steps, whatever the number of rows. An answer is right if the query gives it in the customer's log.

Beside them it is asked what people would type: `tests/outside/questions/by_hand.toml`, about customers of `test`.

Then the linear learner is taught the same rows with the question hidden, and with all of its words hidden but the times, brands and categories in it. Data that is
answered without its question teaches a shortcut: the command ends with 1 where more than `SHORTCUT` of the answers are right so.
"""

import random
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks.learning_parts import Bench, Measured, Part, run_command
from benchmarks.marks import MARK, Encoded, Values, list_values
from benchmarks.wordings import Language, judge, write_queries
from shopwright.pipeline.evaluate.statistics import compute_wilson_interval
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.questions.values import value_to_json
from shopwright.pipeline.run import Run
from shopwright.schemas.questions import Question
from shopwright.schemas.samples import Event

SIZES = {
    "linear": {100: 3, 300: 3, 1_000: 3, 3_000: 3, 10_000: 1, 30_000: 1},
    "transformer": {1_000: 1, 3_000: 1, 10_000: 1, 30_000: 1},
}
"""Of each learner rows that are taught, and with how many seeds."""
QUICK = {"linear": {100: 1}, "transformer": {100: 1}}
ROUNDS, UPDATES = 8, 500
QUICK_UPDATES, QUICK_ASKED = 60, 60
ASKED = 600
"""Questions of a split that a learner is asked at most."""
HIDDEN_ROWS = 3_000
"""Rows that are taught with their questions hidden."""
SHORTCUT = 0.1
WORST = 20
"""Shapes that are named as those answered worst."""
SPLITS = ("test", "test_wording")
HAND = "written by hand"
BY_HAND = Path(__file__).parents[1] / "tests" / "outside" / "questions" / "by_hand.toml"
CUSTOMERS = 3
"""Each of them is asked about so many customers."""
SHOWN = {"all": "the question", "marks": "its times, values and numbers alone", "none": "nothing of it"}


class Result(NamedTuple):
    """What one learner knew."""

    learner: str
    rows: int
    shown: str
    right: dict[str, tuple[int, int]]
    """By split: the right answers, and all."""
    answers: Mapping[str, Sequence[tuple[str, bool]]] = MappingProxyType({})
    """By split: of each question its shape, or how it was written by hand, and whether it was answered."""


def choose_rows(rows: Sequence[Question], count: int, seed: int) -> list[Question]:
    """So many of them; more of the same seed have all of fewer.

    >>> few, more = (choose_rows(list("abcdefgh"), count, 1) for count in (2, 5))  # type: ignore[arg-type]
    >>> more[:2] == few
    True
    """
    order = list(rows)
    random.Random(seed).shuffle(order)
    return order[:count]


def hide_words(asked: Encoded, shown: str) -> Encoded:
    """What is shown of a question; what is hidden cannot be copied.

    >>> asked = Encoded(["how", "c3"], {"c3": "Lamps"})
    >>> [hide_words(asked, shown).words for shown in ("all", "marks", "none")]
    [['how', 'c3'], ['c3'], []]
    """
    if shown == "all":
        return asked
    return Encoded(list(filter(MARK.fullmatch, asked.words)), asked.marks) if shown == "marks" else Encoded([], {})


Writer = Callable[[Sequence[Question]], list[str]]


def learn_forms(language: Language, seed: int, updates: int) -> Writer:
    from benchmarks.query_forms import FormLearner

    return FormLearner(language).write


def train_transformer(language: Language, seed: int, updates: int) -> Writer:
    from benchmarks.learner import train_learner

    rounds = max(ROUNDS, -(-updates * 64 // len(language.rows)))
    learner = train_learner(language.draw_pairs, language.needs, rounds, seed, lambda _: None)
    return partial(write_queries, learner, language)


def write_day(event: Event) -> str:
    return f"{event.timestamp:%B} {event.timestamp.day}"


def fill_by_hand(run: Run, engines: Engines, like: Sequence[Question]) -> Iterator[Question]:
    """The questions written by hand, about customers of these ones, each with brands, categories, days and words of that customer's log."""
    asked, order = {row.trajectory_id: row for row in like}, random.Random(0)
    written = tomllib.loads(BY_HAND.read_text(encoding="utf-8"))["questions"]
    # Of what was bought there is most to answer.
    logs = {row.id: row for row in run.read("trajectories") if row.id in asked}
    bought_in = {
        id: [event for event in row.events if event.action_type == "purchase" and event.brand]
        for id, row in sorted(logs.items())
    }
    able = [id for id, bought in bought_in.items() if len(bought) > 1]
    for id in order.sample(able, min(CUSTOMERS, len(able))):
        row, bought = logs[id], bought_in[id]
        for each in written:
            one, other = order.sample(bought, 2)
            first, last = sorted(order.sample(row.events, 2), key=lambda event: event.timestamp)
            names = {
                "brand": one.brand,
                "other_brand": other.brand,
                "category": one.product_types,
                "other_category": other.product_types,
                "things": one.product_types.lower(),
                "other_things": other.product_types.lower(),
                "color": one.color or order.choice([event.color for event in row.events if event.color]),
                "word": order.choice([event for event in row.events if event.search_query]).search_query.split()[0],
                "date": write_day(first),
                "later_date": write_day(last),
                "day": first.timestamp.date().isoformat(),
                "later_day": last.timestamp.date().isoformat(),
            }
            quoted = {name: text.replace("'", "''") for name, text in names.items()}
            sql, answer_type = each["sql"].format_map(quoted), each["type"]
            value = engines.of(row.id).duckdb(sql, answer_type)
            yield asked[row.id].model_copy(
                update={
                    "shape": each["text"],
                    "question": each["text"].format_map(names),
                    "sql": sql,
                    "answer_type": answer_type,
                    "result": value_to_json(value),
                }
            )


LEARNERS: dict[str, Callable[[Language, int, int], Writer]] = {"linear": learn_forms, "transformer": train_transformer}


class Trial:
    """A run's questions, those that are taught and those that are asked."""

    def __init__(self, run: Run) -> None:
        rows = list(run.read("questions"))
        self.values: Values = list_values(run)
        self.taught = [row for row in rows if row.split in ("sft", "rl")]
        self.asked = {split: [row for row in rows if row.split == split] for split in SPLITS}
        self.engines = Engines(run.read("trajectories"))
        self.asked[HAND] = list(fill_by_hand(run, self.engines, self.asked["test"]))

    def choose_asked(self, split: str, most: int) -> list[Question]:
        """At most so many of a split, customer by customer."""
        return sorted(choose_rows(self.asked[split], most, 0), key=lambda row: row.trajectory_id)

    def teach(
        self,
        learner: str,
        count: int,
        seed: int,
        shown: str = "all",
        *,
        most: int = ASKED,
        updates: int = UPDATES,
        say: Callable[[str], None] = print,
    ) -> Result:
        """most: questions of a split that it is asked. updates: that a transformer makes at least."""
        language = Language(choose_rows(self.taught, count, seed), self.values, seed, partial(hide_words, shown=shown))
        write_sql = LEARNERS[learner](language, seed, updates)
        answers = {}
        for split in self.asked:
            asked = self.choose_asked(split, most)
            queries = write_sql(asked) if asked else []
            answers[split] = [
                (row.shape, judge(row, sql, self.engines)) for row, sql in zip(asked, queries, strict=True)
            ]
        right = {split: (sum(mark for _, mark in found), len(found)) for split, found in answers.items()}
        result = Result(learner, len(language.rows), shown, right, answers)
        say(f"{learner}, {result.rows:,} rows, seed {seed}, shown {shown}: {right}")
        return result


def run_trials(trial: Trial, sizes: dict[str, dict[int, int]], **settings: Any) -> Iterator[Result]:
    """All learners, the small ones first; no set is larger than there are rows."""
    most = len(trial.taught)
    for learner, counts in sizes.items():
        for count, seeds in counts.items():
            if count < 2 * most:
                yield from (trial.teach(learner, count, seed, **settings) for seed in range(seeds))
    for shown in ("marks", "none"):
        yield trial.teach("linear", min(HIDDEN_ROWS, max(sizes["linear"])), 0, shown, **settings)


def write_share(results: Sequence[Result], split: str) -> str:
    """The mean over seeds, with the interval of all answers together."""
    right, asked = (sum(result.right[split][place] for result in results) for place in range(2))
    if not asked:
        return "-"
    low, high = compute_wilson_interval(right, asked)
    each = [result.right[split][0] / result.right[split][1] for result in results]
    spread = f"; {min(each):.1%} to {max(each):.1%} by seed" if len(each) > 1 else ""
    return f"{mean(each):.1%} ({low:.1%} to {high:.1%}{spread})"


def tabulate(results: Sequence[Result]) -> str:
    lines = [
        "| learner | shown | rows taught | seeds | right on `test` | on `test_wording` | written by hand |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    groups: dict[tuple[str, str, int], list[Result]] = {}
    for result in results:
        groups.setdefault((result.learner, SHOWN[result.shown], result.rows), []).append(result)
    for (learner, shown, count), own in groups.items():
        shares = " | ".join(write_share(own, split) for split in (*SPLITS, HAND))
        lines.append(f"| {learner} | {shown} | {count:,} | {len(own)} | {shares} |")
    return "\n".join(lines)


def list_worst(results: Sequence[Result]) -> str:
    """What the learner that knows most answers worst: shapes in other words, and questions written by hand that it answers of no customer."""
    best = max((each for each in results if each.shown == "all"), key=lambda each: (each.rows, each.right["test"][0]))

    def count(split: str) -> list[tuple[str, int, int]]:
        found: dict[str, list[bool]] = {}
        for name, mark in best.answers[split]:
            found.setdefault(name, []).append(mark)
        rows = [(name, sum(marks), len(marks)) for name, marks in found.items()]
        return sorted(rows, key=lambda row: (row[1] / row[2], -row[2], row[0]))

    shapes = [f"{name} {right}/{asked}" for name, right, asked in count("test_wording")][:WORST]
    never = [f'"{name}"' for name, right, _ in count(HAND) if not right]
    return "\n".join(
        (
            f"Taught {best.rows:,} rows, the {best.learner} learner answers worst in other words (right/asked): {', '.join(shapes)}.",
            "",
            f"Of {len(count(HAND))} questions written by hand it answers {len(never)} of no customer: {'; '.join(never)}.",
        )
    )


def find_commonest(rows: Sequence[Question], key: Callable[[Question], str]) -> dict[str, str]:
    """Of each shape, or type, the answer that most questions have."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[key(row)][row.result] += 1
    return {name: counts.most_common(1)[0][0] for name, counts in found.items()}


def find_shortcuts(results: Sequence[Result]) -> list[str]:
    """Splits that are answered without the question."""
    return [
        f"{split}: {right / asked:.1%} of the answers are right without the question"
        for result in results
        if result.shown == "none"
        for split, (right, asked) in result.right.items()
        if right > SHORTCUT * asked
    ]


def measure(bench: Bench) -> Measured:
    trial = bench.read(Trial)
    updates, most = (QUICK_UPDATES, QUICK_ASKED) if bench.quick else (UPDATES, ASKED)
    sizes = QUICK if bench.quick else SIZES
    results = list(run_trials(trial, sizes, most=most, updates=updates, say=bench.say))
    about = f": {len(trial.taught):,} questions to learn from\n\n{list_worst(results)}"
    return Measured(tabulate(results), about, find_shortcuts(results))


PART = Part("taught_rows", "questions", ("questions",), measure)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
