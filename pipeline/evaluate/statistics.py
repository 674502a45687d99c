"""What can be said of many attempts: shares and means with their 95 % intervals, pass@k and pass^k."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, exp, lgamma, log, log1p, sqrt

# Of a 95 % interval.
Z = 1.959964


def compute_wilson_interval(successes: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; a success may be a part of one, where something was tried several times.

    >>> [round(end, 3) for end in compute_wilson_interval(50, 100)], [round(end, 3) for end in compute_wilson_interval(0, 20)]
    ([0.404, 0.596], [0.0, 0.161])
    """
    share, square = successes / count, Z * Z / count
    middle, whole = share + square / 2, 1 + square
    half = Z * sqrt(share * (1 - share) / count + square / (4 * count))
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of so many, with its 95 % interval; everything is possible where nothing was counted."""

    share: float
    low: float
    high: float
    count: int

    @property
    def margin(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def format_margin(self) -> str:
        """In percent, for a column that says so.

        >>> Share(0.5, 0.4, 0.6, 10).format_margin()
        '50.0 ±10.0'
        """
        return f"{100 * self.share:.1f} ±{100 * self.margin:.1f}"

    def format_interval(self, sign: str = "") -> str:
        """
        >>> Share(0.5, 0.4, 0.6, 10).format_interval(), Share(0.5, 0.4, 0.6, 10).format_interval("%")
        ('50.0 (40.0 - 60.0)', '50.0% (40.0% - 60.0%)')
        """
        share, low, high = (f"{100 * each:.1f}{sign}" for each in (self.share, self.low, self.high))
        return f"{share} ({low} - {high})"


def chance_of_at_least(successes: int, count: int, chance: float) -> float:
    """How likely so many successes or more are, where each of so many tries succeeds by chance (the tail of the binomial distribution).

    Wilson's interval says too much of one success in a few tries.

    >>> round(chance_of_at_least(1, 12, 0.01), 3), round(chance_of_at_least(0, 12, 0.01), 3)
    (0.114, 1.0)
    """
    if not 0.0 < chance < 1.0:
        return float(successes == 0 or chance >= 1.0)

    def exactly(k: int) -> float:  # by logarithms: of many tries the numbers of ways are beyond floats
        ways = lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1)
        return exp(ways + k * log(chance) + (count - k) * log1p(-chance))

    return sum(map(exactly, range(successes, count + 1)))


def measure_share(successes: float, count: int) -> Share:
    """With Wilson's interval."""
    if not count:
        return Share(0.0, 0.0, 1.0, 0)
    return Share(successes / count, *compute_wilson_interval(successes, count), count)


def average_shares(shares: Sequence[Share]) -> Share:
    """The mean of some that have nothing to do with one another, whatever their counts.

    >>> found = average_shares([Share(0.5, 0.4, 0.6, 10), Share(0.7, 0.6, 0.8, 30)])
    >>> round(found.share, 3), round(found.low, 3), round(found.high, 3), found.count
    (0.6, 0.529, 0.671, 40)
    """
    mean = sum(each.share for each in shares) / len(shares)
    margin = sqrt(sum(each.margin**2 for each in shares)) / len(shares)
    return Share(mean, max(0.0, mean - margin), min(1.0, mean + margin), sum(each.count for each in shares))


def estimate_mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the half width of its normal 95 % interval.

    >>> estimate_mean([1.0, 1.0, 1.0]), [round(each, 2) for each in estimate_mean([0.0, 1.0])]
    ((1.0, 0.0), [0.5, 0.98])
    """
    count = len(values)
    middle = sum(values) / count
    if count < 2:
        return middle, 0.0
    spread = sqrt(sum((value - middle) ** 2 for value in values) / (count - 1))
    return middle, Z * spread / sqrt(count)


def estimate_pass_at(k: int, tries: int, right: int) -> float:
    """The chance that of k tries at least one is right, without bias from more tries (Chen et al. 2021, arXiv 2107.03374).

    >>> estimate_pass_at(1, 4, 1), estimate_pass_at(2, 4, 1), estimate_pass_at(4, 4, 1)
    (0.25, 0.5, 1.0)
    """
    return 1 - comb(tries - right, k) / comb(tries, k)


def estimate_pass_all(k: int, tries: int, right: int) -> float:
    """The chance that all of k tries are right, without bias from more tries (pass^k, Yao et al. 2024, arXiv 2406.12045).

    >>> estimate_pass_all(1, 4, 3), estimate_pass_all(2, 4, 3), estimate_pass_all(4, 4, 3)
    (0.75, 0.5, 0.0)
    """
    return comb(right, k) / comb(tries, k)


def measure_clustered_share(successes: Sequence[float], counts: Sequence[float]) -> Share:
    """The share of all, where what belongs to one customer is alike: each customer's successes and count.

    Wilson's interval at as many independent ones as have the same variance (Kish 1965, the design effect), never more than there are.

    >>> found = measure_clustered_share([10, 0, 10, 0], [10, 10, 10, 10])
    >>> found.share, found.count, found.margin > measure_share(20, 40).margin
    (0.5, 40, True)
    """
    total, right = sum(counts), sum(successes)
    if not total:
        return Share(0.0, 0.0, 1.0, 0)
    share, customers = right / total, sum(count > 0 for count in counts)
    squares = sum((one - share * count) ** 2 for one, count in zip(successes, counts, strict=True))
    variance = squares / total**2 * customers / max(customers - 1, 1)
    alone = min(total, share * (1 - share) / variance) if variance and customers > 1 else total
    low, high = compute_wilson_interval(share * alone, alone) if alone >= 1 else (0.0, 1.0)
    return Share(share, low, high, int(total))


def measure_auc(scores: Sequence[float], wanted: Sequence[bool]) -> Share:
    """The chance that a wanted one has more than another, a tie being half, with the interval of Hanley and McNeil (1982).

    >>> found = measure_auc([3, 1, 1, 0], [True, True, False, False])
    >>> found.share, found.count, found.low < 0.875 < found.high
    (0.875, 4, True)
    """
    ordered = sorted(zip(scores, wanted, strict=True))
    many = sum(wanted)
    few, below, pairs, place = len(ordered) - many, 0, 0.0, 0
    while place < len(ordered):
        end = place
        while end < len(ordered) and ordered[end][0] == ordered[place][0]:
            end += 1
        right = sum(each for _, each in ordered[place:end])
        pairs += right * (below + (end - place - right) / 2)
        below += end - place - right
        place = end
    area = pairs / (many * few)
    more, both = area / (2 - area), 2 * area * area / (1 + area)
    spread = area * (1 - area) + (many - 1) * (more - area * area) + (few - 1) * (both - area * area)
    margin = Z * sqrt(max(0.0, spread) / (many * few))
    return Share(area, max(0.0, area - margin), min(1.0, area + margin), len(ordered))


def estimate_median(values: Sequence[float]) -> tuple[float, float, float]:
    """The median with its 95 % interval by ranks, which asks nothing of the distribution.

    >>> estimate_median([3, 1, 2]), estimate_median(range(101))
    ((2, 1, 3), (50, 40, 60))
    """
    ordered = sorted(values)
    count = len(ordered)
    half = Z * sqrt(count) / 2
    low = max(0, int(count / 2 - half))
    middle = ordered[count // 2] if count % 2 else (ordered[count // 2 - 1] + ordered[count // 2]) / 2
    return middle, ordered[low], ordered[count - 1 - low]
