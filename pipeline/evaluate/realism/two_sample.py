"""How well a classifier tells two sets of searches apart by the way they are put, not by what they are about.

Words outside a list of small and common ones are hidden, digits are 9. A logistic regression on runs of words and of letters is
trained on four fifths and asked about the rest; its area under the ROC curve is the figure (Lopez-Paz and Oquab 2017).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import sqrt
from random import Random

import numpy as np

from shopwright.pipeline.evaluate.realism.figures import Figure
from shopwright.pipeline.evaluate.realism.searching import SMALL
from shopwright.pipeline.evaluate.statistics import Z

COMMON = SMALL | frozenset(
    """want need looking look like buy find get show give please some any one two three pair pairs set sets pack packs piece count size
    sizes color colour inch inches ft feet oz ounce lb lbs pound cm mm ml men mens men's man women womens women's woman kid kids
    girl girls boy boys baby toddler adult adults dog dogs cat cats best cheap cheapest good great top new used sale deal deals gift
    gifts less more under over up price review reviews near online made small medium large big xl long short high low mini full extra wide easy
    free black white red blue green brown gray grey pink gold silver purple yellow orange""".split()
)
# Strings of each side.
MOST = 1_000
FEWEST = 20
FOLDS = 5
# Half the weight of the squared coefficients, for texts as vectors of length 1 in each of two groups of features.
PENALTY = 1 / 3
STEPS = 12
TOKEN = re.compile(r"[^\W\d_][\w']*|\d+(?:\.\d+)?|[^\s\w]")


def compare_searches(ours: Sequence[str], people: Sequence[str]) -> Figure:
    """The figure `two_sample`; of different strings, for one that returns would be learnt by heart."""
    mine, theirs = draw_different(ours), draw_different(people)
    size = min(len(mine), len(theirs))
    if size < FEWEST:
        return Figure(key="two_sample", value=None, note=f"needs {FEWEST} different searches on both sides")
    texts = [*mine[:size], *theirs[:size]]
    sides = np.repeat([1.0, 0.0], size)
    kernel = compare_texts([hide_subject(text) for text in texts])
    # Both sides have as many in each fold.
    fold = np.array(Random(1).sample([place % FOLDS for place in range(size)], size) * 2)
    scores = np.zeros(len(texts))
    for number in range(FOLDS):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        weights, height = fit_logistic(kernel[np.ix_(train, train)], sides[train])
        scores[test] = kernel[np.ix_(test, train)] @ weights + height
    area = measure_area(scores[sides == 1], scores[sides == 0])
    margin = Z * estimate_area_error(area, size, size)
    return Figure(
        key="two_sample", value=area, low=max(0.0, area - margin), high=min(1.0, area + margin), count=2 * size
    )


def draw_different(texts: Iterable[str]) -> list[str]:
    """At most so many different ones, in random order, the same every time."""
    different = sorted({" ".join(text.lower().split()) for text in texts} - {""})
    return Random(0).sample(different, min(MOST, len(different)))


def hide_subject(text: str) -> str:
    """
    >>> hide_subject("Norrvik desk lamp without 2 shades, under $40")
    'W W W without 9 W , under $ 9'
    """
    return " ".join(
        "9" if token[0].isdigit() else token if token in COMMON or not token[0].isalpha() else "W"
        for token in TOKEN.findall(text.lower())
    )


def list_features(shape: str) -> Iterator[tuple[int, str]]:
    """Runs of one to three words (group 0) and of two to four letters inside words (group 1)."""
    words = shape.split()
    for length in (1, 2, 3):
        for place in range(len(words) - length + 1):
            yield 0, " ".join(words[place : place + length])
    for word in words:
        padded = f" {word} "
        for length in (2, 3, 4):
            for place in range(len(padded) - length + 1):
                yield 1, padded[place : place + length]


def compare_texts(shapes: Sequence[str]) -> np.ndarray:
    """The similarity of each text with each: products of vectors of length 1 in either group, by tf-idf; float64 [texts, texts]."""
    counted = [Counter(list_features(shape)) for shape in shapes]
    spread = Counter(chain.from_iterable(counted))
    # A feature of one text alone makes no two texts alike.
    shared = sorted(feature for feature, count in spread.items() if count > 1)
    number = {feature: place for place, feature in enumerate(shared)}
    matrix = np.zeros((len(shapes), len(number)), np.float32)
    for row, each in enumerate(counted):
        for feature, count in each.items():
            if feature in number:
                # As scikit-learn smooths tf-idf, with the logarithm of counts.
                rare = 1 + np.log((1 + len(shapes)) / (1 + spread[feature]))
                matrix[row, number[feature]] = (1 + np.log(count)) * rare
    group = np.array([kind for kind, _ in number])
    for kind in (0, 1):
        part = matrix[:, group == kind]
        # A text may have no feature that another one has.
        matrix[:, group == kind] = part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9)
    return (matrix @ matrix.T).astype(np.float64)


def fit_logistic(kernel: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of the training texts and the constant, by Newton's method: kernel logistic regression.

    >>> weights, height = fit_logistic(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.0]))
    >>> bool(weights[0] > 0 > weights[1]), abs(round(height, 6))
    (True, 0.0)
    """
    weights, height, count = np.zeros(len(sides)), 0.0, len(sides)
    for _ in range(STEPS):
        scores = kernel @ weights + height
        chance = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))  # beyond 30 it is 0 or 1, and exp overflows
        slope = np.maximum(chance * (1 - chance), 1e-6)
        aim = scores + (sides - chance) / slope
        system = np.zeros((count + 1, count + 1))
        system[:count, :count] = kernel
        system[np.arange(count), np.arange(count)] += PENALTY / slope
        system[:count, count] = system[count, :count] = 1
        solved = np.linalg.solve(system, np.append(aim, 0))
        moved = float(np.abs(solved[:count] - weights).max())
        weights, height = solved[:count], float(solved[count])
        if moved < 1e-4:
            break
    return weights, height


def measure_area(high: np.ndarray, low: np.ndarray) -> float:
    """Under the ROC curve: how often one of the first stands above one of the others; ties count half.

    >>> measure_area(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    ordered = np.sort(low)
    below, upto = np.searchsorted(ordered, high), np.searchsorted(ordered, high, "right")
    return float((below + upto).sum() / 2 / (len(high) * len(low)))


def estimate_area_error(area: float, first: int, second: int) -> float:
    """The standard error of an area under the ROC curve (Hanley and McNeil 1982)."""
    one, other = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (first - 1) * (one - area**2) + (second - 1) * (other - area**2)
    return sqrt(max(spread, 0.0) / (first * second))
