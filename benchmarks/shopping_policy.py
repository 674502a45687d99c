"""What a small policy of page actions learns of shopping: taught, paid, and both (ShopSimulator, section 4, Table 3).

    python -m benchmarks.shopping_policy --run data/runs/mine            # a run with shopping_episodes
    python -m benchmarks.shopping_policy --run data/runs/mine --quick    # whether it runs: no figures are kept

The policy sees what an agent sees: what the shopper said, and the page. It chooses among all that can be done there: each thing to click, searches of
words that it was told, and in a conversation a question and a proposal to buy. It is a softmax over named features of each, as the words that a product
has of those that were said. It is taught the expert's successful episodes of training tasks (SFT), and paid at the end of an episode for groups of eight
of a task (GRPO without a bound on how far it goes): the loose reward, which adds what is met, or the strict one, which multiplies it. Asked are tasks of
the split `test`, whose products and words training does not have, once by what scores most and once by a draw.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import mean
from typing import NamedTuple

import numpy as np

from benchmarks.learning_parts import Bench, Measured, Part, run_command
from benchmarks.levels import Features, Moment, Policy
from benchmarks.next_actions import count_signs
from benchmarks.page_policy import (
    NO_TRUTH,
    SIZE,
    Shop,
    Task,
    copy_solved,
    draw_by,
    learn,
    learn_words,
    open_shop,
    play_task,
    read_solved,
)
from shopwright.pipeline.evaluate.situation import Score
from shopwright.schemas.shopping import Scenario

SCENARIOS: tuple[Scenario, ...] = ("single", "multi")
TAUGHT, ASKED, SEEDS = 300, 100, 5
"""Episodes of a scenario that it is taught, tasks that it is asked, and how often all is done."""
GROUP, BATCH, BATCHES = 8, 8, 24
REWARDS, SFT = ("loose", "strict"), "SFT"


def practise(shop: Shop, policy: Policy, tasks: Sequence[Task], reward: str, batches: int, seed: int) -> None:
    order, draw = Random(f"practise {seed}"), draw_by(policy, np.random.default_rng(seed))
    for _ in range(batches):
        pulls = []
        for task in order.sample(tasks, min(BATCH, len(tasks))):
            group = [play_task(shop, task, draw) for _ in range(GROUP)]
            paid = np.array([score.parts[reward] for _, score in group])
            gains = (paid - paid.mean()) / (paid.std() + 1e-6)
            for (taken, _), gain in zip(group, gains if paid.std() else (), strict=False):
                for table, place in taken:
                    moment = Moment(table, NO_TRUTH)
                    pulls.append((moment, gain * (np.eye(len(table))[place] - policy.find_chances(moment))))
        if pulls:
            policy.step(pulls)


class Result(NamedTuple):
    scenario: str
    how: str
    seed: int
    greedy: list[bool]
    """Success of each task, by what scores most."""
    drawn: list[Score]


def measure(shop: Shop, policy: Policy, tasks: Sequence[Task], how: str, seed: int) -> Result:
    greedy = [play_task(shop, task, lambda _, table: policy.take(Moment(table, NO_TRUTH)))[1].success for task in tasks]
    draw = draw_by(policy, np.random.default_rng(seed))
    return Result(tasks[0][1], how, seed, greedy, [play_task(shop, task, draw)[1] for task in tasks])


def compare_ways(
    shop: Shop,
    tests: Sequence[Task],
    solved: dict[str, list[str]],
    seeds: int,
    batches: int,
    say: Callable[[str], None],
) -> Iterator[Result]:
    """In the order of the paper's table; without SFT the policy begins with clicks at random."""
    tasks = list(shop.situation.tasks())
    for seed in range(seeds):
        moments = copy_solved(shop, tasks, solved, TAUGHT, seed)
        taught = learn(moments, SIZE)

        def judge(how: str, policy: Policy, seed: int = seed) -> Result:
            result = measure(shop, policy, tests, how, seed)
            say(
                f"{result.scenario}, {how}, seed {seed}: greedy {mean(result.greedy):.3f}, drawn {mean(each.success for each in result.drawn):.3f}"
            )
            return result

        yield judge("untaught", Policy(SIZE))
        yield judge(SFT, taught)
        for start, name in ((Policy(SIZE), "RL"), (taught, "SFT + RL")):
            for reward in REWARDS:
                policy = Policy(SIZE)
                policy.weights = start.weights.copy()
                practise(shop, policy, tasks, reward, batches, seed)
                yield judge(f"{name}, {reward}", policy)


def tabulate(results: Sequence[Result]) -> str:
    lines = [
        "| scenario | how | success, greedy, % | success, drawn, % | strict, % | loose, % | above SFT | strict above loose |",
        f"|{' --- |' * 8}",
    ]
    for scenario, how in dict.fromkeys((each.scenario, each.how) for each in results):
        own, base, other = (
            [each for each in results if (each.scenario, each.how) == (scenario, name)]
            for name in (how, SFT, how.replace("strict", "loose"))
        )
        cells = [scenario, how, write_shares([mean(each.greedy) for each in own]), write_shares(list_successes(own))]
        cells += [
            f"{100 * mean(score.parts[part] for each in own for score in each.drawn):.1f}"
            for part in ("strict", "loose")
        ]
        for rival in (base if how != SFT else [], other if how.endswith("strict") else []):
            more, chance = count_signs(list_successes(own), list_successes(rival)) if rival else (0, 0.0)
            cells.append(f"{more} of {len(own)} (p {chance:.2f})" if rival else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def list_successes(results: Sequence[Result]) -> list[float]:
    """Of draws, by seed."""
    return [mean(score.success for score in each.drawn) for each in results]


def write_shares(shares: Sequence[float]) -> str:
    """
    >>> write_shares([0.1, 0.2])
    '15.0 (10.0 - 20.0)'
    """
    return f"{100 * mean(shares):.1f} ({100 * min(shares):.1f} - {100 * max(shares):.1f})"


def measure_part(bench: Bench) -> Measured:
    seeds, asked, batches = (1, 10, 2) if bench.quick else (SEEDS, ASKED, BATCHES)
    folder, results = str(bench.run.folder), list[Result]()
    for scenario in SCENARIOS:
        train = open_shop(folder, "train", scenario, None)
        shop = Shop(train, learn_words([task for task, _ in train.tasks()]), Features())
        tests = list(open_shop(folder, "test", scenario, asked).tasks())
        results += compare_ways(shop, tests, read_solved(bench.run, scenario), seeds, batches, bench.say)
    about = f": {asked} tasks of each scenario asked at most, {TAUGHT} episodes taught, {batches * BATCH * GROUP:,} episodes paid; {seeds} seeds."
    return Measured(tabulate(results), about)


PART = Part("shopping_policy", "shopping policy", ("shopping_episodes",), measure_part)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
