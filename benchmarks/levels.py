"""Whether levels that rise with what a learner can do teach more than fixed ones (RLVE; EcomRLVE-GYM, adaptive difficulty).

    python -m benchmarks.levels            # three environments, five seeds
    python -m benchmarks.levels --quick    # whether it runs: no figures are kept

A small policy sees what an agent sees: the opening, two answers to questions, and a list of orders or of search results. It takes one of
the list or refuses, by a softmax over named features of each: words, numbers and days that it shares with what was said. It begins with
some solved tasks of levels 0 to 2 (SFT) and is paid by the environment for groups of eight answers to a task (GRPO).

Levels are fixed at 0, 3 or 6, mixed from 0 to 12, or those of the curriculum that `shopwright serve` hands out, with its gate of .9 and with lower
ones. All are played for as many tasks, and asked about other tasks of all levels, in words that training does not have; what scores most is taken.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from random import Random
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.learning_parts import Bench, Measured, Part, run_command
from benchmarks.next_actions import count_signs
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.curriculum import AdaptiveDifficulty, make_ecomrlve_controller
from shopwright.pipeline.envs.episode import Episode, draw_task
from shopwright.pipeline.gym import world
from shopwright.pipeline.words import content_words
from shopwright.schemas.tasks import Action, Answer, Call, Task

ENVS = ("order_tracking", "substitution", "product_discovery")
LEVELS = range(13)
TAUGHT, ASKED, SEEDS = 40, 20, 5
"""Tasks of a level that are there to learn from, those that are asked, and how often all is done."""
START, START_LEVELS = 10, range(3)
"""Solved tasks of a level that the policy begins with."""
GROUP, BATCH, BATCHES, RATE, ROUNDS = 8, 8, 120, 0.1, 60
QUESTIONS = ("Can you tell me more about it?", "Is there anything else that matters?")
PARTS, PAGES = 6, 10
"""Sentences that are searched for, and pages of results that are looked at."""
GATES = (Fraction(9, 10), Fraction(7, 10), Fraction(1, 2))
PRICE = re.compile(
    r"(?:below|under|less than|at most|up to|not over|cheaper than|max|within)\W+(\d+(?:\.\d+)?)(?! days?| stars?)|(\d+(?:\.\d+)?) (?:at most|max|or less)"
)
RATING = re.compile(r"(\d(?:\.\d)?)(?: stars)? or (?:better|more|higher)|rating of (?:at least )?(\d(?:\.\d)?)")
DAYS = re.compile(r"(?:within|in) (\d+) days?|(\d+) days? (?:or less|max|at most)")
AMOUNT = re.compile(r"(\d+\.\d\d)\b")
NAMES = (
    "title",
    "description",
    "category",
    "seller",
    "status",
    "product_id",
    "variant_id",
    "line_id",
    "order_id",
    "placed",
)
AGO = re.compile(r"(\d+) days ago")


class Moment(NamedTuple):
    """A task at its last step: features of each answer, in rows of equal length, and whether it is right."""

    features: np.ndarray
    right: np.ndarray


class Features(dict[str, int]):
    """Numbers of features; those that come up later than in training are 0, as those that fill up a row."""

    grows = True

    def number(self, name: str) -> int:
        return self.setdefault(name, len(self) + 1) if self.grows else self.get(name, 0)


# What the policy sees.


def list_answers(env: str, shop: Any, opening: str) -> list[tuple[dict[str, Any], Answer]]:
    """What it may take, as the tools show it, each as an answer."""
    if env == "order_tracking":
        found = []
        for order in shop.order_list()["orders"]:
            told = shop.order_get_status(order["order_id"])
            day = told.get("delivered") or told.get("expected") or ""
            found.append(
                (
                    order,
                    Answer(env=env, selected_order_id=order["order_id"], order_status=told["status"], arrival_date=day),
                )
            )
        return found
    shown = [shop.catalog_get_product(id) for id in search_products(shop, opening)]
    return [(each, Answer(env=env, recommended_product_ids=[each["product_id"]])) for each in shown]


def search_products(shop: Any, opening: str) -> list[str]:
    """Of the category that the words of the opening name most, what is like these words."""
    parts = [opening, *filter(str.strip, re.split(r"[.!?]", opening))]
    first = [each for part in parts[:PARTS] for each in shop.catalog_search(part).get("results", [])]
    said, counts = set(content_words(opening)), Counter(each["category"] for each in first)
    if not counts:
        return []
    category = max(counts, key=lambda name: (len(said & set(content_words(name))), counts[name], name))
    pages = [shop.catalog_search(opening, category=category, page=page) for page in range(1, PAGES + 1)]
    return list(dict.fromkeys(each["product_id"] for page in pages for each in page.get("results", [])))


def find_numbers(pattern: re.Pattern[str], text: str) -> list[float]:
    """
    >>> find_numbers(PRICE, "below $40, 12 max, within 3 days")
    [40.0, 12.0]
    """
    return [float(next(filter(None, each.groups()))) for each in pattern.finditer(text.replace("$", ""))]


def list_values(shown: Any) -> set[str]:
    """What a record tells in words: the texts in it, without those that name it.

    >>> sorted(list_values({"title": "Desk lamp", "color": "Gray", "attributes": {"base": "oak"}, "price": 3}))
    ['gray', 'oak']
    """
    if isinstance(shown, str):
        return {shown.lower()}
    if isinstance(shown, list):
        return set().union(*map(list_values, shown))
    if isinstance(shown, dict):
        return set().union(*(list_values(value) for name, value in shown.items() if name not in NAMES))
    return set()


def describe_answers(text: str, shown: Sequence[dict[str, Any]], today: date) -> Iterator[list[str]]:
    """Of each that may be taken, and then of a refusal: named features of it and what was said."""
    said, lower = set(content_words(text)), text.lower()
    texts = [json.dumps(each, ensure_ascii=False, default=str) for each in shown]
    words = [set(content_words(each)) for each in texts]
    common = set.intersection(*words) if len(words) > 1 else set()
    shared = [len(said & (each - common)) for each in words]
    most = max(shared, default=0)
    named = [sum(value in lower for value in list_values(each)) for each in shown]
    best = max(named, default=0)
    amounts = set(find_numbers(AMOUNT, lower))
    limits = {
        "price": find_numbers(PRICE, lower),
        "rating": find_numbers(RATING, lower),
        "days": find_numbers(DAYS, lower),
    }
    ago = {int(each) for each in AGO.findall(lower)}
    able = 0
    for place, each in enumerate(shown):
        price, rating, days = (each.get(name) for name in ("price", "rating", "shipping_days"))
        met = {
            "price": price is None or all(float(price) <= limit for limit in limits["price"]),
            "rating": rating is None or all(float(rating) >= limit for limit in limits["rating"]),
            "days": days is None or all(int(days) <= limit for limit in limits["days"]),
        }
        found = [
            f"shares {min(shared[place], 9)}",
            f"behind {min(most - shared[place], 5)}",
            f"place {min(place, 9)}",
            "taken",
        ]
        found += [f"{name} {'met' if fine else 'missed'}" for name, fine in met.items() if limits[name]]
        found += [f"all met {all(met.values())} behind {min(most - shared[place], 3)}", f"stock {each.get('in_stock')}"]
        found.append(f"named whole {str(each.get('title', '?')).lower() in lower}")
        behind = min(best - named[place], 4)
        found += [f"named {min(named[place], 6)}", f"named behind {behind}"]
        found.append(f"named behind {behind}, met {all(met.values())}, stock {each.get('in_stock')}")
        if "placed" in each:
            day = date.fromisoformat(each["placed"])
            told = [
                str(each["order_id"]).lower() in lower,
                f"{day:%B} {day.day}".lower() in lower,
                (today - day).days in ago,
            ]
            found += [
                f"total {float(each['total']) in amounts if amounts else '-'}",
                f"number {told[0]}",
                f"day {told[1]}",
                f"ago {told[2] if ago else '-'}",
                f"lines {len(each['lines'])}",
            ]
            met["day"] = any(told) or not ago
        able += all(met.values()) and each.get("in_stock") is not False
        yield found
    yield [
        "refused",
        f"refused, best shares {min(most, 9)}",
        f"refused, able {min(able, 3)}",
        f"refused of {min(len(shown), 5)}",
    ]


def look_at(shop: World, task: Task, features: Features) -> Moment:
    """Plays a task up to its answer, and tries each answer."""
    env = get_env(task.env)
    episode = Episode(env, shop, task)
    episode.reset()
    tools: Any = episode.shop
    said = [task.opening]
    for question in QUESTIONS:
        observation, *_ = episode.step(Action(tool_calls=[Call(name="ask_user", args={"question": question})]))
        said += [str(each.get("answer", "")) for each in observation["results"]]
    answers = list_answers(task.env, tools, task.opening)
    today = date.fromisoformat(tools.datetime_now()["now"][:10])
    rows = [
        list(map(features.number, row))
        for row in describe_answers(" ".join(said), [each for each, _ in answers], today)
    ]
    refusals = [Answer(env=task.env, refusal=reason) for reason in env.refusals]
    won = [env.score(episode.goal, tools, answer).success for _, answer in answers]
    refused = any(env.score(episode.goal, tools, answer).success for answer in refusals)
    width = max(map(len, rows))
    table = np.array([row + [0] * (width - len(row)) for row in rows])
    return Moment(table, np.array([*won, refused], float))


# Learning.


class Policy:
    """A softmax over answers; a step of its own for each weight (Adagrad)."""

    def __init__(self, size: int) -> None:
        self.weights, self.squares = np.zeros(size + 1), np.full(size + 1, 1e-8)

    def find_chances(self, moment: Moment) -> np.ndarray:
        scores = self.weights[moment.features].sum(1)
        chances = np.exp(scores - scores.max())
        return np.asarray(chances / chances.sum())

    def take(self, moment: Moment) -> int:
        return int(self.find_chances(moment).argmax())

    def step(self, pulls: Sequence[tuple[Moment, np.ndarray]]) -> None:
        """pulls: of each answer of a moment, how much its score should rise."""
        slope = np.zeros(len(self.weights))
        for moment, pull in pulls:
            np.add.at(slope, moment.features, pull[:, None] / len(pulls))
        slope[0] = 0
        self.squares += slope**2
        self.weights += RATE * slope / np.sqrt(self.squares)

    def learn(self, moments: Sequence[Moment]) -> None:
        """From solved ones: the first right answer of each; what nothing solves is left out."""
        solved = [each for each in moments if each.right.any()]
        for _ in range(ROUNDS):
            self.step(
                [(each, np.eye(len(each.right))[each.right.argmax()] - self.find_chances(each)) for each in solved]
            )

    def practise(
        self, draw: Callable[[], tuple[int, Moment]], record: Callable[[int, bool], Any], random: np.random.Generator
    ) -> None:
        for _ in range(BATCHES):
            pulls = []
            for level, moment in (draw() for _ in range(BATCH)):
                drawn = random.choice(len(moment.right), GROUP, p=self.find_chances(moment))
                paid = moment.right[drawn]
                scaled = (paid - paid.mean()) / (paid.std() + 1e-6)
                pulls.append((moment, np.bincount(drawn, scaled, minlength=len(moment.right)) / GROUP))
                for each in paid:
                    record(level, bool(each))
            self.step(pulls)


class Result(NamedTuple):
    env: str
    how: str
    seed: int
    shares: list[float]
    """Right answers by level."""
    hardest: int
    """Level that was reached; -1 where levels do not rise."""


def compare_levels(
    env: str, shop: World, seeds: int, taught: int, asked: int, say: Callable[[str], None]
) -> Iterator[Result]:
    features = Features()
    pool = {
        level: [
            look_at(shop, draw_task(get_env(env), shop, level, seed, side="train"), features) for seed in range(taught)
        ]
        for level in LEVELS
    }
    features.grows = False
    tests = {
        level: [
            look_at(shop, draw_task(get_env(env), shop, level, 10_000 + seed, side="test"), features)
            for seed in range(asked)
        ]
        for level in LEVELS
    }
    able = mean(float(each.right.any()) for group in tests.values() for each in group)
    say(f"{env}: of {len(LEVELS) * asked} tasks asked {able:.1%} can be answered from what is seen")
    yield Result(
        env,
        "can be answered from what is seen",
        0,
        [mean(float(each.right.any()) for each in tests[level]) for level in LEVELS],
        -1,
    )
    for seed in range(seeds):
        for how, choose in (("SFT alone", None), *list_ways()):
            order, numbers = Random(f"{how} {seed}"), np.random.default_rng(seed)
            policy = Policy(len(features))
            starts = [each for level in START_LEVELS for each in Random(seed).sample(pool[level], min(START, taught))]
            policy.learn(starts)
            controller: AdaptiveDifficulty | None = None
            if choose is not None:
                controller = choose() if callable(choose) else None
                levels = LEVELS if controller or choose == "mixed" else [int(str(choose))]

                def draw(
                    order: Random = order,
                    levels: Sequence[int] = levels,
                    controller: AdaptiveDifficulty | None = controller,
                ) -> tuple[int, Moment]:
                    level = controller.draw(order) if controller else order.choice(levels)
                    return level, order.choice(pool[min(level, LEVELS[-1])])

                policy.practise(draw, controller.record if controller else lambda level, success: None, numbers)
            shares = [mean(float(each.right[policy.take(each)]) for each in tests[level]) for level in LEVELS]
            hardest = controller.hardest if controller else -1
            say(f"{env}, {how}, seed {seed}: {mean(shares):.3f}" + (f", hardest level {hardest}" if controller else ""))
            yield Result(env, how, seed, shares, hardest)


def list_ways() -> list[tuple[str, Any]]:
    """How levels are chosen."""

    def begin(gate: Fraction) -> Callable[[], AdaptiveDifficulty]:
        return lambda: make_ecomrlve_controller().model_copy(update={"threshold": gate})

    fixed: list[tuple[str, Any]] = [(f"fixed at {level}", level) for level in (0, 3, 6)]
    return [*fixed, ("mixed", "mixed"), *((f"adaptive, gate {float(gate)}", begin(gate)) for gate in GATES)]


def tabulate(results: Sequence[Result]) -> str:
    """A line for each way; in each env the share of right answers over all levels, and in how many seeds it was more than fixed at 0."""
    envs = list(dict.fromkeys(each.env for each in results))
    lines = ["| levels | " + " | ".join(f"`{env}`" for env in envs) + " |", "| --- |" + " --- |" * len(envs)]
    for how in dict.fromkeys(each.how for each in results):
        cells = []
        for env in envs:
            own, base = (
                [each for each in results if (each.env, each.how) == (env, name)] for name in (how, "fixed at 0")
            )
            shares = [mean(each.shares) for each in own]
            cell = f"{100 * mean(shares):.1f}"
            if len(own) > 1:
                cell += f" ({100 * min(shares):.1f} - {100 * max(shares):.1f})"
            if len(own) == len(base) and how != "fixed at 0":
                more, chance = count_signs(shares, [mean(each.shares) for each in base])
                cell += f", above 0 in {more} of {len(own)} (p {chance:.2f})"
            if own[0].hardest >= 0:
                cell += f", reached {min(each.hardest for each in own)} to {max(each.hardest for each in own)}"
            cells.append(cell)
        lines.append(f"| {how} | {' | '.join(cells)} |")
    return "\n".join(lines)


def measure(bench: Bench) -> Measured:
    shop = world()
    envs, sizes = (ENVS[1:2], (1, 4, 3)) if bench.quick else (ENVS, (SEEDS, TAUGHT, ASKED))
    results = [each for env in envs for each in compare_levels(env, shop, *sizes, bench.say)]
    rollouts = BATCHES * BATCH * GROUP
    about = f": right answers in % over levels 0 to 12, {ASKED} tasks each, after {rollouts:,} rollouts; {SEEDS} seeds."
    return Measured(tabulate(results), about)


PART = Part("levels", "levels", (), measure)

if __name__ == "__main__":
    run_command(PART.name, __doc__, [PART])
