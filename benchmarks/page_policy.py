"""A small policy of page actions: what it sees of a shopping episode, what it can do there, and how it is taught.

It chooses among all that can be done on a page, searches of the words that it was told, and in a conversation a question and a proposal to buy, by a softmax
over named features of each: how many of the wanted words a product lacks, whether a value was said, what was opened before. Wanted is what was said and stands on
some page. What is hidden of the input is neither a feature nor something to search for.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from random import Random
from typing import NamedTuple

import numpy as np

from benchmarks.levels import Features, Moment, Policy
from shopwright.pipeline.behaviors.predictors import fit_softmax
from shopwright.pipeline.commands.shopping import open_situation
from shopwright.pipeline.evaluate.situation import Score
from shopwright.pipeline.run import Run
from shopwright.pipeline.shopping.evaluate import ShoppingTasks
from shopwright.pipeline.shopping.expert import EXPERT
from shopwright.pipeline.shopping.lexical_baselines import (
    CHOSEN,
    LIMIT,
    LIMIT_AFTER,
    SEP,
    SHOP_CLICKS,
    PhraseBook,
    ResultLine,
    make_phrase_book,
    parse_option_axes,
    parse_results,
    read_words,
)
from shopwright.pipeline.shopping.play import Observation, Play, format_turn
from shopwright.pipeline.shopping.players import list_top_likes
from shopwright.pipeline.words import split_words
from shopwright.schemas.shopping import Scenario, ShoppingTask

ASK, PROPOSE = "ask[Is there anything else that matters?]", "ask[Shall I buy it?]"
FEATURES, TABS = "features", ("description", "features", "reviews")
MANY, COMMON = 4, 0.02
"""Where counts end, and the share of training tasks from which on a word is one of any task's."""
SIZE = 20_000
"""Features, at most."""
Task = tuple[ShoppingTask, Scenario]
Choose = Callable[[list[str], np.ndarray], int]
NO_TRUTH = np.zeros(0)
"""Of a moment in which nobody says what is right."""


# What it sees.


class Lore(NamedTuple):
    """What words are, as training tasks have it."""

    book: PhraseBook
    common: frozenset[str]
    """Those that many tasks have."""


def learn_words(tasks: Sequence[ShoppingTask]) -> Lore:
    counts = Counter(
        word for task in tasks for word in {*split_words(task.instruction), *split_words(task.simple_instruction)}
    )
    return Lore(
        make_phrase_book(tasks), frozenset(word for word, count in counts.items() if count > COMMON * len(tasks))
    )


class Memory:
    """What was said and seen in an episode so far. shown: `all`, or without `instruction`, `profile`, `page`, or with `nothing`."""

    def __init__(self, play: Play, lore: Lore, shown: str) -> None:
        self.multi, self.lore = play.multi, lore
        self.hears, self.reads = shown not in ("instruction", "nothing"), shown not in ("page", "nothing")
        known = shown not in ("profile", "nothing") and play.profile is not None
        self.likes = " ".join(list_top_likes(play.profile)).lower() if known else ""
        self.heard = [play.opening] if self.hears else []
        self.reply = ""
        self.asked, self.proposed, self.open, self.searched = 0, "", "", list[str]()
        self.opened, self.read, self.known = Counter[str](), set[tuple[str, str]](), dict[str, frozenset[str]]()
        self.seen = frozenset[str]()
        self.lines: dict[str, ResultLine] = {}

    def note(self, action: str, sight: Observation) -> None:
        """What came of an action."""
        if action.startswith("ask["):
            self.asked += 1
            self.reply = sight.text if self.hears else ""
            self.heard += [self.reply] if action == ASK and self.reply else []
            self.proposed = self.open if action == PROPOSE else self.proposed
            return
        thing = action[6:-1]
        if action.startswith("search["):
            self.searched.append(action[7:-1])
        elif thing in self.lines:
            self.open = thing
            self.opened[thing] += 1
        elif thing in TABS:
            self.read.add((self.open, thing))
        if not self.reads:
            return
        for line in parse_results(sight):
            self.lines[line.id] = line
            self.learn(line.id, line.title)
        if self.open and (thing == self.open or thing in TABS):
            self.learn(self.open, sight.text)

    def learn(self, id: str, text: str) -> None:
        words = read_words(text)
        self.known[id] = self.known.get(id, frozenset()) | words
        self.seen |= words

    def propose_searches(self) -> dict[str, str]:
        """By name, of the words that few training tasks have: others say nothing of a product."""
        said = [[word for word in split_words(text) if word not in self.lore.common] for text in self.heard]
        whole = " ".join(word for text in said for word in text)
        category = self.lore.book.guess_category(whole)
        found = {"nothing": ""}
        if whole:
            found |= {"kind, said": f"{category} {whole}", "said": whole, "opening": " ".join(said[0])}
        return found | ({"likes": self.likes} if self.likes else {})


class Scene:
    """A page before the eyes of one who remembers."""

    def __init__(self, sight: Observation, memory: Memory) -> None:
        self.sight, self.memory = sight, memory
        self.said = " ".join(memory.heard).lower()
        self.wanted = read_words(self.said) & memory.seen
        self.lines = [each for each in parse_results(sight) if memory.reads]
        self.places = {line.id: place for place, line in enumerate(self.lines)}
        self.axes = parse_option_axes(sight) if "buy now" in sight.clickables else {}
        self.chosen = {CHOSEN.sub("", part).lower() for part in sight.text.split(SEP) if CHOSEN.search(part)}
        self.late = f"left {min(sight.left // 3, 3)}"
        self.picked = all(self.is_picked(name) for name in self.axes)

    @cached_property
    def kind(self) -> str:
        if self.sight.can_search:
            return "home"
        return "product" if "buy now" in self.sight.clickables else "results" if self.lines else "tab"

    @cached_property
    def limit(self) -> float:
        price = LIMIT.search(self.said) or LIMIT_AFTER.search(self.said)
        return float(price[1]) if price else float("inf")

    @cached_property
    def least(self) -> int:
        """Of the products on the page that were not opened, the fewest wanted words that one lacks."""
        return min((self.count_lacks(line.id) for line in self.lines if not self.memory.opened[line.id]), default=9)

    @cached_property
    def lacks(self) -> int:
        """Of the product that is open."""
        return self.count_lacks(self.memory.open)

    @cached_property
    def behind(self) -> int:
        """How many more it lacks than the best that is known."""
        return self.lacks - min(map(self.count_lacks, self.memory.known), default=self.lacks)

    def count_lacks(self, id: str) -> int:
        return len(self.wanted - self.memory.known.get(id, frozenset()))

    def is_picked(self, axis: str) -> bool:
        return any(value in self.chosen for value in self.axes[axis])

    def share(self, value: str) -> float:
        """How many of a value's words were said."""
        words = read_words(value)
        return len(words & read_words(self.said)) / len(words) if words and self.memory.reads else 0.0

    def find_best(self, axis: str) -> float:
        return max(map(self.share, self.axes[axis]))


def list_actions(sight: Observation, memory: Memory) -> Iterator[tuple[str, list[str]]]:
    """All that can be done, each with its features."""
    scene = Scene(sight, memory)
    asked = min(memory.asked, MANY)
    if memory.multi:
        heard = [f"ask {scene.kind} heard {word}" for word in sorted(set(split_words(memory.reply)))]
        yield ASK, [f"ask {scene.kind}", f"ask {scene.kind} {asked}", *heard]
        again = memory.proposed == memory.open
        yield PROPOSE, [f"propose {scene.kind}", f"propose {scene.kind} again {again}", scene.late]
    if sight.can_search:
        for name, text in memory.propose_searches().items():
            times = min(memory.searched.count(text), 2)
            yield f"search[{text}]", [f"search {name}", f"search {name} {times}", f"search asked {asked}"]
    for thing in sight.clickables:
        yield f"click[{thing}]", [f"{scene.kind} click", *describe_click(thing, scene)]


def describe_click(thing: str, scene: Scene) -> list[str]:
    memory = scene.memory
    if thing in scene.places:
        return describe_product(scene.lines[scene.places[thing]], scene)
    if axis := next((name for name, values in scene.axes.items() if thing in values), ""):
        return describe_option(thing, axis, scene)
    lacks, read = f"lacks {min(scene.lacks, MANY)}", (memory.open, FEATURES) in memory.read
    if thing == "buy now":
        unmet = sum(scene.find_best(name) > 0 and not scene.is_picked(name) for name in scene.axes)
        behind = f"behind {min(scene.behind, MANY)}"
        found = [lacks, behind, f"{lacks} {scene.late}", f"{behind} {scene.late}", f"unmet {unmet}", f"read {read}"]
        found += [f"all picked {scene.picked}", f"proposed {memory.proposed == memory.open}"]
    elif thing in TABS:
        found = ["", lacks, f"read {(memory.open, thing) in memory.read}"]
    elif thing in SHOP_CLICKS:
        found = [
            "",
            scene.late,
            f"opened {min(len(memory.opened), MANY)}",
            f"searched {min(len(memory.searched), MANY)}",
        ]
        found += [
            f"read {read} picked {scene.picked}",
            lacks if scene.kind == "product" else f"least {min(scene.least, MANY)}",
        ]
    else:
        return []
    return [f"{scene.kind} {thing} {each}" for each in found]


def describe_product(line: ResultLine, scene: Scene) -> list[str]:
    lacks, likes = scene.count_lacks(line.id), scene.memory.likes.split()
    found = [
        "",
        f"lacks {min(lacks, MANY)}",
        f"over the least {min(lacks - scene.least, MANY)}",
        f"within price {line.low <= scene.limit}",
    ]
    opened = f"product opened {min(scene.memory.opened[line.id], 2)}"
    liked = any(word in likes for word in line.title.lower().split())
    return [
        "product",
        f"product place {scene.places[line.id]}",
        f"product liked {liked}",
        *(f"{opened} {each}" for each in found),
    ]


def describe_option(value: str, axis: str, scene: Scene) -> list[str]:
    best, chosen = scene.find_best(axis), value in scene.chosen
    found = [
        "",
        f"chosen {chosen}",
        f"place {min(scene.axes[axis].index(value), 5)}",
        f"axis picked {scene.is_picked(axis)}",
    ]
    found += [
        f"best {best > 0 and scene.share(value) == best} of some {best > 0}, chosen {chosen}",
        f"liked {value in scene.memory.likes}",
    ]
    return [f"option {each}" for each in found]


# Playing and learning.


class Shop(NamedTuple):
    """What all policies of a comparison share."""

    situation: ShoppingTasks
    lore: Lore
    features: Features
    shown: str = "all"


def look(sight: Observation, memory: Memory, features: Features) -> tuple[list[str], np.ndarray]:
    """The actions, and their features in rows of equal length."""
    actions, named = zip(*list_actions(sight, memory), strict=True)
    rows = [[features.number(each) for each in row] for row in named]
    width = max(map(len, rows))
    return list(actions), np.array([row + [0] * (width - len(row)) for row in rows])


def play_task(shop: Shop, task: Task, choose: Choose) -> tuple[list[tuple[np.ndarray, int]], Score]:
    """What was to be chosen from and what was, until the end, and what that earned."""
    play = shop.situation.begin(task)
    memory, sight, taken = Memory(play, shop.lore, shop.shown), play.first, list[tuple[np.ndarray, int]]()
    while not play.done:
        actions, table = look(sight, memory, shop.features)
        place = choose(actions, table)
        taken.append((table, place))
        sight = play.act(format_turn("", actions[place], play.multi))
        memory.note(actions[place], sight)
    return taken, play.score()


def copy_episode(shop: Shop, task: Task, said: Sequence[str]) -> Iterator[Moment]:
    """What the policy would have to choose from on the way of a solved episode, and what is most like what was chosen there."""
    play = shop.situation.begin(task)
    memory, sight = Memory(play, shop.lore, shop.shown), play.first
    for action in said:
        actions, table = look(sight, memory, shop.features)
        nearest = find_nearest(action, actions)
        if nearest is None:
            return
        yield Moment(table, np.eye(len(actions))[nearest])
        sight = play.act(format_turn("", action, play.multi))
        memory.note(actions[nearest] if action.startswith("ask[") else action, sight)


def find_nearest(action: str, actions: Sequence[str]) -> int | None:
    """
    >>> find_nearest("search[red oak lamp]", ["click[x]", "search[lamp]", "search[red lamp]"]), find_nearest("click[y]", ["click[x]"])
    (2, None)
    """
    if action.startswith("ask["):
        wanted = PROPOSE if "buy" in action.lower() else ASK
        return actions.index(wanted) if wanted in actions else None
    if action in actions:
        return actions.index(action)
    if not action.startswith("search["):
        return None
    words = read_words(action[7:-1])
    found = [
        (len(words & own) / max(len(words | own), 1), -place)
        for place, own in enumerate(map(read_words, (each[7:-1] for each in actions)))
        if actions[place].startswith("search[")
    ]
    return -max(found)[1] if found else None


def draw_by(policy: Policy, random: np.random.Generator) -> Choose:
    return lambda actions, table: int(random.choice(len(actions), p=policy.find_chances(Moment(table, NO_TRUTH))))


def learn(moments: Sequence[Moment], size: int) -> Policy:
    """A policy that was taught them."""
    policy, lengths = Policy(size), [len(each.right) for each in moments]
    starts = np.cumsum([0, *lengths[:-1]])
    of_choice = np.concatenate(
        [
            np.repeat(np.arange(len(each.right)) + start, each.features.shape[1])
            for each, start in zip(moments, starts, strict=True)
        ]
    )
    of_feature = np.concatenate([each.features.ravel() for each in moments])
    right = np.array([start + each.right.argmax() for each, start in zip(moments, starts, strict=True)])
    there = of_feature > 0
    policy.weights = fit_softmax(
        of_choice[there], of_feature[there], np.repeat(np.arange(len(moments)), lengths), right, size=size + 1
    )
    return policy


def open_shop(run: str, split: str, scenario: Scenario, limit: int | None) -> ShoppingTasks:
    name = scenario.replace(" ", "-")
    found, _ = open_situation(run, "shopping_tasks", None, None, scenarios=name, split=split, limit=limit)
    return found


def read_solved(run: Run, scenario: Scenario) -> dict[str, list[str]]:
    """Of each task that the expert solved, what it did."""
    return {
        row.task_id: [step.action for step in row.steps]
        for row in run.read("shopping_episodes")
        if (row.scenario, row.policy) == (scenario, EXPERT) and row.typed.success
    }


def copy_solved(shop: Shop, tasks: Sequence[Task], solved: dict[str, list[str]], count: int, seed: int) -> list[Moment]:
    """Moments of so many solved episodes."""
    there = [task for task in tasks if task[0].id in solved]
    some = Random(seed).sample(there, min(count, len(there)))
    return [moment for task in some for moment in copy_episode(shop, task, solved[task[0].id])]
