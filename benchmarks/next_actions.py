"""What a small policy learns of next actions: taught them, paid for them, and both (Shop-R1, sections 3 and 4).

    python -m benchmarks.next_actions                        # 1,500 sessions, five seeds
    python -m benchmarks.next_actions --run data/runs/mine   # sessions of a run that is there
    python -m benchmarks.next_actions --quick                # whether it runs: no figures are kept

The policy chooses among all that can be done on a page: each element, leaving, and searches that it writes of the page's and the session's
words. It is a softmax over named features of each choice. It is taught by likelihood (SFT), and paid by groups of eight draws a step whose
rewards are scaled to mean 0 and deviation 1 (GRPO) without a bound on how far it goes. What is paid: 1 for the exact action, the paper's
hierarchical reward, or that with the rare fields paid a thousand times (DARS). Asked are sessions of the split `test`.

Then it is taught with the page hidden, the session before hidden, and both; and with the last two actions alone, which is what a Markov chain knows: the chain itself
foretells searches that nobody can write word by word, and is right less often.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb
from statistics import mean
from typing import NamedTuple

import numpy as np

from benchmarks.learning_parts import Bench, Measured, Part, run_command
from shopwright.pipeline.behaviors.predictors import (
    LONG,
    OWN_NAMES,
    TYPING,
    Choice,
    Moment,
    fit_softmax,
    learn_markov,
    list_features,
    read_moments,
)
from shopwright.pipeline.rewards.hierarchical import (
    Action,
    Rule,
    Scores,
    is_exact_action,
    reward_action_parts,
    score_predictions,
)
from shopwright.pipeline.run import Run
from shopwright.pipeline.words import content_words

Steps = Sequence[tuple[Moment, Action]]
SEEDS = 5
FEW = 0.1
"""Of the steps a weak start is taught so many."""
GROUP, ROUNDS, RATE = 8, 150, 0.1
SEARCHES = 24
"""Searches that the policy writes on a page, about."""
OFTEN = 2
"""It remembers the searches of so many training sessions, so that in training it knows none that only this session has."""
CHAIN = "last two actions alone"
SHOWN = ("all", "no page", CHAIN, "no session", "neither")
Pay = Callable[[Action, Action], float]


def pay_exact(said: Action, truth: Action) -> float:
    return float(is_exact_action(said, truth))


def pay_parts(rule: Rule) -> Pay:
    """
    >>> pay_parts(Rule(dars=1))(Action("click", "a"), Action("click", "b"))
    0.5
    """
    return lambda said, truth: sum(reward_action_parts(said, truth, rule))


PAYS: dict[str, Pay] = {
    "exact or nothing": pay_exact,
    "hierarchical": pay_parts(Rule(dars=1)),
    "hierarchical, DARS": pay_parts(Rule()),
}


# What the policy chooses from.


def propose_searches(moment: Moment, common: Sequence[str]) -> list[str]:
    """Searches of the words that are there: typed before, with or without a word, with a choice of the page, and what others typed that shares a word.

    >>> options = (Choice(Action("click", "options.color.1"), "Gray"),)
    >>> propose_searches(Moment(options, (), "oak lamp"), ["oak table", "tin mug"])
    ['oak lamp', 'oak', 'lamp', 'oak lamp gray', 'gray oak lamp', 'oak table']
    """
    words = moment.query.split()
    typed = [each.action.text for each in reversed(moment.past) if each.action.type == TYPING]
    shorter = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words) - 1, -1, -1)]
    page = [each.text.lower() for each in moment.choices if each.kind in OWN_NAMES and each.text]
    longer = [text for each in page for text in (f"{moment.query} {each}", f"{each} {moment.query}")]
    known = set(content_words(moment.query))
    remembered = [text for text in common if known & set(content_words(text))]
    part = SEARCHES // 4
    found = dict.fromkeys((moment.query, *typed[:part], *shorter[:part], *longer[:part], *remembered[:part]))
    return [text for text in found if text]


def add_searches(moment: Moment, common: Sequence[str]) -> Moment:
    """The same page with a choice for each search that the policy writes."""
    box = next(each.action.name for each in moment.choices if each.action.type == TYPING)
    others = [each for each in moment.choices if each.action.type != TYPING]
    typing = [Choice(Action(TYPING, box, text), text) for text in propose_searches(moment, common)]
    return Moment((*others, *typing), moment.past, moment.query)


def describe_choices(moment: Moment, shown: str) -> Iterator[list[str]]:
    """Of each choice its features, of what is shown."""
    kinds = [each.kind for each in moment.past]
    before, last = ["start", "start", *kinds][-2:]
    typed = [each.action.text for each in moment.past if each.action.type == TYPING]
    if shown in ("no page", CHAIN, "neither"):
        for each in moment.choices:
            found = [each.kind]
            if shown != "neither":
                found += [f"{last} {each.kind}", f"{before} {last} {each.kind}"]
            if shown == "no page":
                found.append(f"step {min(len(kinds), LONG)} {each.kind}")
            yield found
        return
    seen = Moment(moment.choices, (), "") if shown == "no session" else moment
    for each, features in zip(moment.choices, list_features(seen), strict=True):
        if each.kind == TYPING and shown == "all":
            shared = len(set(content_words(each.text)) & set(content_words(moment.query)))
            features.append(
                f"typed {typed.count(each.text)} times, shares {min(shared, 3)}, longer {len(each.text) > len(moment.query)}"
            )
        yield features


class Data:
    """Steps as numbers: of each choice its features, and what it earns by each reward."""

    def __init__(self, steps: Steps, shown: str, places: dict[str, int], *, grow: bool) -> None:
        """places: of features; those of taught steps are added to it (grow), others are left out."""
        self.steps = steps
        of_choice, of_feature, owners = list[int](), list[int](), list[int]()
        for number, (moment, _) in enumerate(steps):
            for features in describe_choices(moment, shown):
                known = [places.setdefault(each, len(places)) for each in features if grow or each in places]
                of_feature += known
                of_choice += [len(owners)] * len(known)
                owners.append(number)
        self.of_choice, self.of_feature, self.owners = map(np.array, (of_choice, of_feature, owners))
        self.starts = np.flatnonzero(np.diff(self.owners, prepend=-1))
        self.lengths = np.diff(np.append(self.starts, len(owners)))
        self.earned = {
            name: np.array([pay(each.action, truth) for moment, truth in steps for each in moment.choices])
            for name, pay in PAYS.items()
        }

    def score(self, weights: np.ndarray) -> np.ndarray:
        return np.bincount(self.of_choice, weights[self.of_feature], minlength=len(self.owners))

    def find_chances(self, weights: np.ndarray) -> np.ndarray:
        scores = self.score(weights)
        scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, self.starts), self.lengths))
        return scores / np.repeat(np.add.reduceat(scores, self.starts), self.lengths)

    def find_best(self, scores: np.ndarray) -> np.ndarray:
        """Of each step the place of the choice that scores most; the first of equals."""
        highest = np.repeat(np.maximum.reduceat(scores, self.starts), self.lengths)
        places = np.where(scores == highest, np.arange(len(scores)), len(scores))
        return np.minimum.reduceat(places, self.starts)

    def act(self, weights: np.ndarray) -> list[Action]:
        best = self.find_best(self.score(weights)) - self.starts
        return [moment.choices[place].action for (moment, _), place in zip(self.steps, best.tolist(), strict=True)]


# Learning.


def teach(data: Data, size: int, rows: np.ndarray) -> np.ndarray:
    """The likeliest weights, of these steps. Of a step whose action is no choice nothing is learnt."""
    exact = data.earned["exact or nothing"]
    first = data.find_best(exact)
    able = np.zeros(len(data.steps), bool)
    able[rows] = True
    able &= exact[first] > 0
    kept = able[data.owners]
    renumbered = np.cumsum(kept) - 1
    features = kept[data.of_choice]
    return fit_softmax(
        renumbered[data.of_choice[features]],
        data.of_feature[features],
        data.owners[kept],
        renumbered[first[able]],
        size=size,
    )


def pay_policy(data: Data, weights: np.ndarray, reward: str, seed: int) -> np.ndarray:
    """The weights after rounds of GRPO over all steps, each with a group of draws."""
    random, earned = np.random.default_rng(seed), data.earned[reward]
    weights, squares = weights.copy(), np.full(len(weights), 1e-8)
    for _ in range(ROUNDS):
        chances = data.find_chances(weights)
        logs = np.log(np.maximum(chances, 1e-300))
        drawn = np.array([data.find_best(logs + random.gumbel(size=len(logs))) for _ in range(GROUP)])
        paid = earned[drawn]
        scaled = (paid - paid.mean(0)) / (paid.std(0) + 1e-6)
        pull = np.bincount(drawn.ravel(), scaled.ravel(), minlength=len(chances)) / GROUP
        # The advantages of a group sum to 0, so that nothing of the chances themselves is left in the slope.
        slope = np.bincount(data.of_feature, pull[data.of_choice], minlength=len(weights)) / len(data.steps)
        squares += slope**2
        weights += RATE * slope / np.sqrt(squares)
    return weights


class Result(NamedTuple):
    how: str
    seed: int
    scores: Scores


def compare_ways(taught: Steps, asked: Steps, seeds: int, say: Callable[[str], None]) -> Iterator[Result]:
    truth = [action for _, action in asked]
    for shown in SHOWN:
        places: dict[str, int] = {}
        data = Data(taught, shown, places, grow=True)
        tested = Data(asked, shown, places, grow=False)
        size, nothing = len(places), np.zeros(len(places))

        def judge(how: str, seed: int, weights: np.ndarray, tested: Data = tested) -> Result:
            result = Result(how, seed, score_predictions(tested.act(weights), truth))
            say(f"{how}, seed {seed}: exact {result.scores.exact.share:.3f}, macro F1 {result.scores.macro_f1:.3f}")
            return result

        everything = np.arange(len(taught))
        name = "all rows taught" + (
            "" if shown == "all" else f", {shown} shown" if shown == "neither" else f", {shown}"
        )
        yield judge(name, 0, teach(data, size, everything))
        if shown != "all":
            continue
        yield judge("untaught", 0, nothing)
        for seed in range(seeds):
            few = np.random.default_rng(seed).permutation(len(taught))[: int(FEW * len(taught))]
            weak = teach(data, size, few)
            yield judge(f"{FEW:.0%} of the rows taught (SFT)", seed, weak)
            yield judge("paid alone: exact or nothing", seed, pay_policy(data, nothing, "exact or nothing", seed))
            for reward in PAYS:
                yield judge(f"SFT, then paid: {reward}", seed, pay_policy(data, weak, reward, seed))
    markov = learn_markov(taught)
    yield Result("Markov", 0, score_predictions([markov(moment) for moment, _ in asked], truth))


# The table.


def count_signs(one: Sequence[float], other: Sequence[float]) -> tuple[int, float]:
    """How often the first is more, and how likely at least so often is by chance.

    >>> count_signs([2, 2, 2, 2, 2], [1, 1, 1, 1, 1])
    (5, 0.03125)
    """
    more = sum(a > b for a, b in zip(one, other, strict=True))
    return more, sum(comb(len(one), count) for count in range(more, len(one) + 1)) / 2 ** len(one)


def tabulate(results: Iterable[Result]) -> str:
    found: dict[str, list[Scores]] = {}
    for result in results:
        found.setdefault(result.how, []).append(result.scores)
    start = next(scores for how, scores in found.items() if how.endswith("(SFT)"))
    lines = [
        "| how | seeds | exact, % | type, macro F1, % | exact above SFT | F1 above SFT |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for how, scores in found.items():
        signs = ["", ""]
        if len(scores) == len(start) and scores is not start:
            exactly = [[each.exact.share for each in some] for some in (scores, start)]
            by_type = [[each.macro_f1 for each in some] for some in (scores, start)]
            counted = (count_signs(*exactly), count_signs(*by_type))
            signs = [f"{more} of {len(scores)} (p {chance:.2f})" for more, chance in counted]
        exact, f1 = mean(each.exact.share for each in scores), mean(each.macro_f1 for each in scores)
        one = scores[0].exact
        bounds = f" ({100 * one.low:.1f} - {100 * one.high:.1f})" if len(scores) == 1 else ""
        lines.append(
            f"| {how} | {len(scores)} | {100 * exact:.1f}{bounds} | {100 * f1:.1f} | {signs[0]} | {signs[1]} |"
        )
    return "\n".join(lines)


def read_steps(run: Run) -> tuple[Steps, Steps]:
    """Steps of the splits `train` and `test`, on each page with the searches that a policy could write which knows the training sessions."""
    steps: dict[str, list[tuple[Moment, Action]]] = {"train": [], "test": []}
    typed: Counter[str] = Counter()
    for row in run.read("behaviors"):
        found = list(read_moments([step.model_dump() for step in row.steps]))
        steps[row.split] += found
        if row.split == "train":
            typed.update([*dict.fromkeys(action.text for _, action in found if action.type == TYPING)])
    common = [text for text, count in typed.most_common() if count >= OFTEN]
    train, test = ([(add_searches(moment, common), action) for moment, action in rows] for rows in steps.values())
    return train, test


def count_written(steps: Steps) -> str:
    """How many of the searches are among those that the policy writes."""
    searched = [(moment, action) for moment, action in steps if action.type == TYPING]
    there = sum(any(is_exact_action(each.action, action) for each in moment.choices) for moment, action in searched)
    return f"{there} of {len(searched)}"


def measure(bench: Bench) -> Measured:
    taught, asked = bench.read(read_steps)
    text = tabulate(compare_ways(taught, asked, 1 if bench.quick else SEEDS, bench.say))
    about = f": {len(taught):,} steps to learn from, {len(asked):,} asked, of whose searches the policy can write {count_written(asked)}."
    return Measured(text, about)


PART = Part("next_actions", "next actions", ("behaviors",), measure)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
