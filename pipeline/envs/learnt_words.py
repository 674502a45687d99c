"""What can be learnt from the words of the training split alone: what numbers and phrases mean, how things are called, what is refused.

The cheap players that read have nothing else. A test split whose words are others is to be of no use to them.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, pairwise
from math import log
from typing import NamedTuple, TypeVar

import numpy as np

from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import World
from shopwright.pipeline.envs.difficulty import compute_axes
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.evaluate.situation import NothingToDraw
from shopwright.schemas.tasks import Slot, Task

# Tasks that nobody else is given: so many of each env at each of these levels, from this number on.
TASKS, LEVELS, FIRST = 60, (0, 3, 6, 9, 12), 1_000_000
WORD = re.compile(r"[a-z0']+|[^\sa-z0]")
NUMBER = re.compile(r"\$?\d+(?:[.,]\d+)*")
# Words beside a number that tell what it is.
BESIDE = 3
# Of naive Bayes: what is added to every count.
SMOOTH = 0.1
# Of ridge regression: how strongly weights are held near 0, and in how many texts a feature has to stand.
RIDGE, SEEN_IN = 10.0, 2
LONGEST_PHRASE = 12
T = TypeVar("T")


class Meant(NamedTuple):
    """Something that a text is taken to say: a meaning of a slot, and its value."""

    meaning: str
    value: str


def list_features(text: str) -> set[str]:
    """Words and pairs of words; digits count as one another.

    >>> sorted(list_features("For $40?"))
    ['$', '$ 00', '00', '00 ?', '?', 'for', 'for $']
    """
    words = WORD.findall(re.sub(r"\d", "0", text.lower()))
    return {*words, *(f"{one} {two}" for one, two in pairwise(words))}


class WordClassifier:
    """Naive Bayes of words and pairs of words."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """texts: with the label of each."""
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.totals = Counter[str]()
        for text, label in texts:
            self.counts[label].update(list_features(text))
            self.totals[label] += 1

    def rate(self, text: str) -> dict[str, float]:
        """Of each label how likely it is, as a logarithm."""
        # A word that no text had says nothing, and would count for the rarer labels.
        features = [each for each in sorted(list_features(text)) if any(each in seen for seen in self.counts.values())]
        every = sum(self.totals.values())
        found = {}
        for label, count in self.totals.items():
            seen = self.counts[label]
            found[label] = log(count / every) + sum(
                log((seen[each] + SMOOTH) / (count + 2 * SMOOTH)) for each in features
            )
        return found

    def name(self, text: str) -> str:
        """The likeliest label; empty where nothing was learnt."""
        rates = self.rate(text)
        return max(rates, key=rates.__getitem__, default="")


class RefusalReader:
    """Ridge regression on words and pairs of words: whether it is told by a text that what is asked cannot be done.

    Naive Bayes did not find a word that every such text had, and no other: with few of them the noise of the rest is louder.
    """

    def __init__(self, texts: Sequence[str], refused: Sequence[bool]) -> None:
        self.base, self.weights = 0.0, dict[str, float]()
        if not texts:
            return
        features = [list_features(text) for text in texts]
        counts = Counter(chain.from_iterable(features))
        known = sorted(each for each, count in counts.items() if count >= SEEN_IN)
        has = np.array([[each in mine for each in known] for mine in features], float).reshape(len(texts), len(known))
        wanted = np.where(refused, 1.0, -1.0)
        centered = has - has.mean(axis=0)
        gram = centered @ centered.T + RIDGE * np.eye(len(texts))
        weights = centered.T @ np.linalg.solve(gram, wanted - wanted.mean())
        self.weights = dict(zip(known, weights.tolist(), strict=True))
        self.base = float(wanted.mean() - has.mean(axis=0) @ weights)

    def rate(self, text: str) -> float:
        """Above 0 where it more likely cannot be done.

        >>> texts = ["sorry, a mug", "a red mug", "sorry, a big lamp", "a lamp", "a big mug", "the red lamp"]
        >>> reader = RefusalReader(texts, ["sorry" in text for text in texts])
        >>> reader.rate("sorry, the lamp") > reader.rate("the lamp")
        True
        """
        return self.base + sum(self.weights.get(each, 0.0) for each in sorted(list_features(text)))


def list_beside(text: str, start: int, end: int) -> str:
    """A number with the words beside it, each with the side on which it stands."""
    before = WORD.findall(re.sub(r"\d", "0", text[:start].lower()))[-BESIDE:]
    after = WORD.findall(re.sub(r"\d", "0", text[end:].lower()))[:BESIDE]
    number = re.sub(r"\d", "0", text[start:end])
    sides = [*(f"l{word}" for word in before), number, *(f"r{word}" for word in after)]
    return " ".join(sides)


class NumberReader:
    """What a number means, by the words beside it."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        for slot in slots:
            meaning = name_meaning(slot)
            for found in NUMBER.finditer(slot.said):
                self.counts[meaning].update(list_beside(slot.said, *found.span()).split())

    def read(self, text: str) -> list[Meant]:
        found = []
        for number in NUMBER.finditer(text):
            beside = list_beside(text, *number.span()).split()
            rates = {}
            for meaning, seen in self.counts.items():
                total = sum(seen.values())
                rates[meaning] = sum(log((seen[word] + SMOOTH) / (total + 50 * SMOOTH)) for word in beside) + log(total)
            if rates:
                meaning = max(rates, key=rates.__getitem__)
                found.append(Meant(meaning, number[0].strip("$").replace(",", "")))
        return found


def name_meaning(slot: Slot) -> str:
    """What a slot says; of a wish for one thing of a list, the wish. A span of days goes by its kind."""
    facts = {each.name: each.value for each in slot.facts}
    return facts.get("wish") or " ".join(filter(None, [slot.meaning, facts.get("span", "")]))


class LearntWords:
    """What was learnt from some training tasks."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        slots = [slot for task in tasks for slot in task.slots if slot.meaning]
        by_env: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            by_env[task.env].append(task)
        self.numbers = {
            env: NumberReader(slot for task in mine for slot in task.slots if slot.meaning)
            for env, mine in by_env.items()
        }
        phrases: dict[str, Counter[Meant]] = defaultdict(Counter)
        values: dict[str, Counter[Meant]] = defaultdict(Counter)
        things: dict[str, Counter[str]] = defaultdict(Counter)
        for slot in slots:
            meant = Meant(name_meaning(slot), slot.value or " ".join(each.value for each in slot.facts))
            phrases[slot.said.lower().strip(" .")][meant] += 1
            for fact in slot.facts:
                if fact.name in ("value", "brand") and not fact.value[0].isdigit():
                    values[fact.value.lower()][Meant("value", fact.value.lower())] += 1
            for noun, category in list_nouns(slot):
                things[noun][category] += 1
        self.phrases = take_commonest(phrases)
        self.values = take_commonest(values)
        self.things = take_commonest(things)
        self.refusals = {
            env: WordClassifier((task.opening, read_refusal(task)) for task in mine) for env, mine in by_env.items()
        }
        self.feasible = {
            env: RefusalReader([task.opening for task in mine], [not task.feasible for task in mine])
            for env, mine in by_env.items()
        }
        self.answers = WordClassifier(
            (task.opening, answer) for task in by_env["policy_qa"] if (answer := read_policy_answer(task))
        )
        self.wants = WordClassifier(
            (slot.said, slot.meaning) for slot in slots if slot.name == "replacement" and slot.meaning
        )

    def read_values(self, text: str) -> list[Meant]:
        return [found for _, found in find_longest(text, self.values)]

    def read_phrases(self, text: str) -> list[Meant]:
        return [found for _, found in find_longest(text, self.phrases)]

    def read_things(self, text: str) -> list[tuple[str, str]]:
        """Nouns with the categories that they mean, in the order in which they stand."""
        found = find_longest(text, self.things)
        return sorted(found, key=lambda each: text.lower().find(each[0]))


def take_commonest(counts: Mapping[str, Counter[T]]) -> dict[str, T]:
    return {text: found.most_common(1)[0][0] for text, found in counts.items()}


def list_nouns(slot: Slot) -> Iterable[tuple[str, str]]:
    """The nouns of a slot that lists things, or is one."""
    facts = {each.name: each.value for each in slot.facts}
    if slot.meaning == "thing":
        yield strip_article(slot.said), facts["category"]
    if slot.meaning == "things":
        parts = re.split(r", and |, | and | & | plus ", slot.said)
        if len(parts) == len(facts):
            yield from ((strip_article(part), category) for part, category in zip(parts, facts.values(), strict=True))


def strip_article(noun: str) -> str:
    return re.sub(r"^(?:a|an|the|some|one) ", "", noun.lower().strip(" ."))


def find_longest(text: str, known: Mapping[str, T]) -> list[tuple[str, T]]:
    """What stands in a text as words of its own, the longest first; none inside another."""
    words = re.findall(r"[\w$.'%-]*[\w%]|[^\w\s]", text.lower())
    plain, starts, ends = "", list[int](), list[int]()
    for word in words:
        plain += " " if plain and word[0] not in ",.;:!?" else ""
        starts.append(len(plain))
        plain += word
        ends.append(len(plain))
    found: list[tuple[str, T]] = []
    taken = [False] * len(words)
    for size in range(min(LONGEST_PHRASE, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            phrase = plain[starts[start] : ends[start + size - 1]]
            if phrase in known and not any(taken[start : start + size]):
                taken[start : start + size] = [True] * size
                found.append((phrase, known[phrase]))
    return found


def read_refusal(task: Task) -> str:
    return "" if task.feasible else str(json.loads(task.goal)["refusal"])


def read_policy_answer(task: Task) -> str:
    return str(json.loads(task.goal)["answer"])


def draw_training_tasks(world: World, envs: Iterable[str] = ()) -> Iterable[Task]:
    """Of these envs, or of all; without what is asked in between, which no opening says."""
    for env in map(get_env, envs or all_envs()):
        for level in LEVELS:
            axes = compute_axes(level)
            if env.takes_asides:
                axes = replace(axes, switch=0.0)
            for seed in range(FIRST, FIRST + TASKS):
                try:
                    task = draw_task(env, world, level, seed, at=axes)
                except NothingToDraw:
                    break
                if task.split == "train":
                    yield task


@lru_cache(2)
def learn_words(world: World) -> LearntWords:
    """From training tasks of this shop."""
    return LearntWords(list(draw_training_tasks(world)))
