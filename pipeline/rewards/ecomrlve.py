"""Task, efficiency and hallucination, as EcomRLVE-GYM adds them up."""

from fractions import Fraction

from shopwright.schemas.tasks import Reward

# Of task, efficiency, hallucination.
WEIGHTS = (Fraction(3, 4), Fraction(3, 20), Fraction(1, 10))


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
    task: Fraction, spent: Fraction, made_up: Fraction, *, success: bool, fault: str = ""
) -> Reward:
    """The reward of an episode that came to its end.

    The publication's two examples:

    >>> combine_reward_parts(Fraction(1), Fraction(1, 3), Fraction(0), success=True).total
    0.8
    >>> round(combine_reward_parts(Fraction(0), Fraction(-3, 7), Fraction(0), success=False).total, 2)
    -0.06
    """
    total = sum((w * part for w, part in zip(WEIGHTS, (task, spent, made_up), strict=True)), Fraction(0))
    total = max(Fraction(-1), min(Fraction(1), total))
    parts = (float(each) for each in (task, spent, made_up, total))
    return Reward(
        **dict(zip(("task", "efficiency", "hallucination", "total"), parts, strict=True)), success=success, fault=fault
    )


def penalize_illegal_action(fault: str) -> Reward:
    """Of an episode that an illegal call or malformed JSON ended: exactly -1."""
    return Reward(task=-1.0, efficiency=-1.0, hallucination=0.0, total=-1.0, success=False, fault=fault)
