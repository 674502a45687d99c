"""What can be said of many attempts: shares and means with their 95 % intervals, and pass@k."""

from collections.abc import Sequence
from math import comb, sqrt

Z = 1.959964
"""Of a 95 % interval."""


def wilson(successes: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; a success may be a part of one, where something was tried several times.

    >>> [round(end, 3) for end in wilson(50, 100)], [round(end, 3) for end in wilson(0, 20)]
    ([0.404, 0.596], [0.0, 0.161])
    """
    share, square = successes / count, Z * Z / count
    middle, half = share + square / 2, Z * sqrt(share * (1 - share) / count + square / (4 * count))
    return max(0.0, (middle - half) / (1 + square)), min(1.0, (middle + half) / (1 + square))


def mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the half width of its normal 95 % interval.

    >>> mean([1.0, 1.0, 1.0]), [round(each, 2) for each in mean([0.0, 1.0])]
    ((1.0, 0.0), [0.5, 0.98])
    """
    count = len(values)
    middle = sum(values) / count
    if count < 2:
        return middle, 0.0
    spread = sqrt(sum((value - middle) ** 2 for value in values) / (count - 1))
    return middle, Z * spread / sqrt(count)


def pass_at(k: int, tries: int, right: int) -> float:
    """The chance that of k tries at least one is right, without bias from more tries (Chen et al. 2021, arXiv 2107.03374).

    >>> pass_at(1, 4, 1), pass_at(2, 4, 1), pass_at(4, 4, 1)
    (0.25, 0.5, 1.0)
    """
    return 1 - comb(tries - right, k) / comb(tries, k)
