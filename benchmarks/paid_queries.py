"""Whether reward for executed queries adds to what was taught: SFT, then RL on questions whose queries are not told (ShopTrajQA, RLVR).

    pip install -e '.[learn]'
    python -m benchmarks.paid_queries                        # five seeds
    python -m benchmarks.paid_queries --run data/runs/mine   # questions of a run that is there
    python -m benchmarks.paid_queries --quick                # whether it runs: no figures are kept

The linear learner of `benchmarks/query_forms.py` is taught some questions with their queries. Then it is asked others: it draws eight queries for each, they are run
in the customer's log, and those with the right answer are made likelier (GRPO). Beside it stand the same other questions with their queries taught. What scores
most is taken for the greedy answer, and one draw for the sampled one.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import mean
from typing import NamedTuple

import numpy as np

from benchmarks.learning_parts import Bench, Measured, Part, run_command
from benchmarks.marks import decode_query
from benchmarks.next_actions import count_signs
from benchmarks.query_forms import FormLearner
from benchmarks.taught_rows import SPLITS, Trial, choose_rows, hide_words
from benchmarks.wordings import Language, judge
from shopwright.schemas.questions import Question

SEEDS, ASKED = 5, 200
START = 300
"""Rows taught at the start."""
PAID = 300
"""Rows whose answers alone are known."""
GROUP, BATCH, EPOCHS, RATE, SHARP = 8, 32, 3, 0.2, 12.0
"""SHARP: what a score is multiplied by before the softmax, so that a draw is likelier right than not where the greedy answer is."""


class Drawn(NamedTuple):
    """Questions as numbers: features, and of each the forms that it can have."""

    rows: Sequence[Question]
    features: np.ndarray
    able: list[list[int]]
    queries: list[dict[int, str]]


class Payer:
    """Runs queries in their customers' logs, each once."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.known = trial, dict[tuple[str, str], bool]()

    def is_right(self, row: Question, query: str) -> bool:
        key = row.id, query
        if key not in self.known:
            self.known[key] = judge(row, query, self.trial.engines)
        return self.known[key]


def draw_from(learner: FormLearner, rows: Sequence[Question]) -> Drawn:
    shown, features = learner.read(rows)
    able = [learner.list_able(each) for each in shown]
    queries = [
        {place: decode_query(learner.forms[place], each.marks) for place in own}
        for each, own in zip(shown, able, strict=True)
    ]
    return Drawn(rows, features, able, queries)


def find_chances(learner: FormLearner, features: np.ndarray, able: list[int]) -> np.ndarray:
    scores = SHARP * (learner.model.coef_[able] @ features + learner.model.intercept_[able]).astype(float)
    chances = np.exp(scores - scores.max())
    return np.asarray(chances / chances.sum())


def practise(learner: FormLearner, asked: Drawn, payer: Payer, seed: int) -> None:
    """Rounds of GRPO over the questions; their queries are never looked at."""
    random = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        order = [place for place in random.permutation(len(asked.rows)).tolist() if asked.able[place]]
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            for place in batch:
                able, features = asked.able[place], asked.features[place]
                drawn = random.choice(len(able), GROUP, p=find_chances(learner, features, able))
                paid = np.array(
                    [payer.is_right(asked.rows[place], asked.queries[place][able[each]]) for each in drawn], float
                )
                scaled = (paid - paid.mean()) / (paid.std() + 1e-6)
                pull = np.bincount(drawn, scaled, minlength=len(able)) / GROUP
                # Only forms that were drawn move, by features that are hardly more than a few dozen.
                learner.model.coef_[able] += RATE * pull[:, None] * features


def measure(learner: FormLearner, asked: Drawn, payer: Payer, seed: int) -> tuple[float, float]:
    """The share that is right, greedily and by one draw."""
    random, greedy, sampled = np.random.default_rng(seed), list[bool](), list[bool]()
    for row, features, able, queries in zip(*asked, strict=True):
        chances = find_chances(learner, features, able) if able else np.ones(0)
        places = (int(chances.argmax()), int(random.choice(len(able), p=chances))) if able else ()
        right = [payer.is_right(row, queries[able[place]]) for place in places] or [False, False]
        greedy.append(right[0])
        sampled.append(right[1])
    return mean(greedy), mean(sampled)


class Result(NamedTuple):
    how: str
    seed: int
    right: dict[str, tuple[float, float]]
    """By split: greedily, and by a draw."""


def compare_ways(trial: Trial, seeds: int, start: int, paid: int, say: Callable[[str], None]) -> Iterator[Result]:
    payer = Payer(trial)
    tests = {split: choose_rows(trial.asked[split], ASKED, 0) for split in SPLITS if trial.asked[split]}
    for seed in range(seeds):
        rows = choose_rows(trial.taught, start + paid, seed)
        language = Language(rows, trial.values, seed, partial(hide_words, shown="all"))
        for how, taught in ((f"{start} rows taught (SFT)", start), (f"{start} + {paid} rows taught", None)):
            learner = FormLearner(language, taught)
            asked = {split: draw_from(learner, some) for split, some in tests.items()}

            def judge_all(
                how: str, learner: FormLearner = learner, asked: dict[str, Drawn] = asked, seed: int = seed
            ) -> Result:
                result = Result(
                    how, seed, {split: measure(learner, each, payer, seed) for split, each in asked.items()}
                )
                say(f"{how}, seed {seed}: {result.right}")
                return result

            yield judge_all(how)
            if taught is not None:
                practise(learner, draw_from(learner, language.rows[start:]), payer, seed)
                yield judge_all(f"{start} rows taught, then {paid} paid (SFT + RL)")


def tabulate(results: list[Result]) -> str:
    splits = list(results[0].right)
    lines = [
        "| how | " + " | ".join(f"`{split}` greedy, % | sampled, % | above SFT" for split in splits) + " |",
        "| --- |" + " --- |" * (3 * len(splits)),
    ]
    first = ""
    for how in dict.fromkeys(each.how for each in results):
        first = how if how.endswith("(SFT)") else first
        own, base = ([each for each in results if each.how == name] for name in (how, first))
        cells = []
        for split in splits:
            greedy, sampled = ([each.right[split][place] for each in own] for place in range(2))
            more, chance = count_signs(greedy, [each.right[split][0] for each in base])
            cells += [
                f"{100 * mean(greedy):.1f} ({100 * min(greedy):.1f} - {100 * max(greedy):.1f})",
                f"{100 * mean(sampled):.1f}",
            ]
            cells.append("" if how == first else f"{more} of {len(own)} (p {chance:.2f})")
        lines.append(f"| {how} | {' | '.join(cells)} |")
    return "\n".join(lines)


def measure_part(bench: Bench) -> Measured:
    trial = bench.read(Trial)
    seeds, start, paid = (1, 60, 40) if bench.quick else (SEEDS, START, PAID)
    results = list(compare_ways(trial, seeds, start, paid, bench.say))
    return Measured(tabulate(results), f": {len(trial.taught):,} questions to learn from; {seeds} seeds.")


PART = Part("paid_queries", "paid queries", ("questions",), measure_part)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
