"""Weak answerers: each understands a question but reads carelessly in one way of its own. What they get right is easy.

They differ from the right answer in one thing alone, know no chance, and cost a tenth of a millisecond each. `picked`: the rows that
the question's conditions pick (`shopwright.pipeline.questions.effort.find_rows_to_read`).
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from shopwright.pipeline.questions.answers import Undecided, answer_tree
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.tree import Pick, map_tree_picks
from shopwright.schemas.questions import Shortcut

# Rows that fit, after which one stops reading.
FIRST = 5
# One row of so many is overlooked, and which.
EVERY, MISSED = 5, 3
OVERLOOKED = range(MISSED, 10**9, EVERY)
DAY = timedelta(days=1)


def ignores_dates(tree: Any, log: Log, picked: Sequence[int]) -> Any:
    """Takes no notice of days, weekdays and hours."""
    return answer_tree(map_tree_picks(tree, drop_pick_dates), log).value


def excludes_the_ends(tree: Any, log: Log, picked: Sequence[int]) -> Any:
    """Leaves out the first and the last day of a range."""
    return answer_tree(map_tree_picks(tree, drop_range_ends), log).value


def reads_the_first_matches(tree: Any, log: Log, picked: Sequence[int]) -> Any:
    """Stops reading when a few rows that fit are found."""
    return answer_tree(tree, log.without({*picked[FIRST:]})).value


def skims(tree: Any, log: Log, picked: Sequence[int]) -> Any:
    """Overlooks one row in five."""
    return answer_tree(tree, log.without(OVERLOOKED)).value


def reads_the_first_half(tree: Any, log: Log, picked: Sequence[int]) -> Any:
    events = len(log.events)
    return answer_tree(tree, log.without(range(events // 2, events))).value


def skips_the_middle(tree: Any, log: Log, picked: Sequence[int]) -> Any:
    """Reads the first and the last third alone."""
    return answer_tree(tree, log.without(range_of_middle_third(len(log.events)))).value


def reads_the_last_half(tree: Any, log: Log, picked: Sequence[int]) -> Any:
    return answer_tree(tree, log.without(range(len(log.events) // 2))).value


ANSWERERS: dict[Shortcut, Callable[[Any, Log, Sequence[int]], Any]] = {
    "ignores dates": ignores_dates,
    "excludes the ends": excludes_the_ends,
    "first matches": reads_the_first_matches,
    "skims": skims,
    "reads the first half": reads_the_first_half,
    "skips the middle": skips_the_middle,
    "reads the last half": reads_the_last_half,
}


def shortcuts_to(value: Any, tree: Any, log: Log, picked: Sequence[int]) -> list[Shortcut]:
    """Those that come to this value."""
    return [name for name, weak in ANSWERERS.items() if weak_gives_value(value, weak, tree, log, picked)]


def weak_gives_value(value: Any, weak: Callable[..., Any], tree: Any, log: Log, picked: Sequence[int]) -> bool:
    with suppress(Undecided):
        return bool(weak(tree, log, picked) == value)
    return False


def drop_pick_dates(pick: Pick) -> Pick:
    return pick.model_copy(update=dict.fromkeys(("first_day", "last_day", "weekday", "hours")))


def drop_range_ends(pick: Pick) -> Pick:
    """A range of days without its ends; a single day stays as it is."""
    first, last = pick.first_day, pick.last_day
    if first == last:
        return pick
    return pick.model_copy(update={"first_day": first and first + DAY, "last_day": last and last - DAY})


def range_of_middle_third(events: int) -> range:
    """
    >>> range_of_middle_third(9)
    range(3, 6)
    """
    return range(events // 3, events - events // 3)
