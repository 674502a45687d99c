"""Task, efficiency and hallucination: as EcomRLVE-GYM adds them up, and so that only a job that is done is paid.

The published sum pays half a job, and an easy one that is done perfectly less than a hard one, whose turns are more. By default a success
earns what its task's part says, whatever the turns, and all else from -1 to 0, in the order of the published sum.
"""

from fractions import Fraction

from shopwright.schemas.tasks import Reward

# Of task, efficiency, hallucination.
WEIGHTS = (Fraction(3, 4), Fraction(3, 20), Fraction(1, 10))
JOB, PUBLISHED = "job", "published"
# Which reward an episode is given.
RULES = (JOB, PUBLISHED)


def score_efficiency(turns: int, most: int) -> Fraction:
    """1 for one turn, -1 for all of them; `turns` leaves out those that the shopper caused.

    >>> score_efficiency(1, 4), score_efficiency(2, 4), score_efficiency(4, 4)
    (Fraction(1, 1), Fraction(1, 3), Fraction(-1, 1))
    """
    return max(Fraction(-1), min(Fraction(1), 1 - Fraction(2 * (turns - 1), max(1, most - 1))))


def score_hallucination(named: set[str], seen: set[str]) -> Fraction:
    """Minus the share of products recommended or put into the cart that no tool ever returned.

    >>> score_hallucination({"a", "b"}, {"a"}), score_hallucination(set(), set())
    (Fraction(-1, 2), Fraction(0, 1))
    """
    return -Fraction(len(named - seen), len(named)) if named else Fraction(0)


def combine_reward_parts(
    task: Fraction, spent: Fraction, made_up: Fraction, *, success: bool, fault: str = "", rule: str = JOB
) -> Reward:
    """The reward of an episode that came to its end.

    The publication's two examples, and the same by default:

    >>> combine_reward_parts(Fraction(1), Fraction(1, 3), Fraction(0), success=True, rule=PUBLISHED).total
    0.8
    >>> round(combine_reward_parts(Fraction(0), Fraction(-3, 7), Fraction(0), success=False, rule=PUBLISHED).total, 2)
    -0.06
    >>> combine_reward_parts(Fraction(1), Fraction(1, 3), Fraction(0), success=True).total
    1.0
    >>> round(combine_reward_parts(Fraction(0), Fraction(-3, 7), Fraction(0), success=False).total, 2)
    -0.53
    """
    total = sum((w * part for w, part in zip(WEIGHTS, (task, spent, made_up), strict=True)), Fraction(0))
    total = max(Fraction(-1), min(Fraction(1), total))
    if rule == JOB:
        total = max(Fraction(0), task + WEIGHTS[2] * made_up) if success else (total - 1) / 2
    parts = (float(each) for each in (task, spent, made_up, total))
    return Reward(
        **dict(zip(("task", "efficiency", "hallucination", "total"), parts, strict=True)), success=success, fault=fault
    )


def penalize_illegal_action(fault: str) -> Reward:
    """Of an episode that an illegal call or malformed JSON ended: exactly -1."""
    return Reward(task=-1.0, efficiency=-1.0, hallucination=0.0, total=-1.0, success=False, fault=fault)
