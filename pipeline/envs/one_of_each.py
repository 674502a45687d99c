"""What tasks share that want one product for each of a few things: what is asked of each, what is looked up, what is covered."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod
from random import Random
from typing import TypeVar

import numpy as np
from pydantic import Field

from shopwright.pipeline.envs.base import CannotDraw, Goal, Solution
from shopwright.pipeline.envs.bundle_planning import (
    CategoryNeed,
    NeededCategory,
    add_compatibility,
    add_constraint,
    draw_project_categories,
    get_need_product_id,
    is_needed_item,
    make_category_need,
    make_needed_category,
    slot_of_wish,
)
from shopwright.pipeline.envs.constraints import schedule_sell_out
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.substitution import is_product_in_stock
from shopwright.pipeline.envs.wording import make_slot
from shopwright.pipeline.shop.store import Item, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.tasks import Action, Call, Slot

# Things that are wanted, at most.
MOST_THINGS = 4
# Demands beyond those of the level by which what fits is made less, at most.
MORE_DEMANDS = 8
# Things that are tried for a task of one kind.
TRIES = 20
T = TypeVar("T")


class ThingsGoal(Goal):
    """A few things, one product of each."""

    needs: list[NeededCategory]
    right: list[str] = Field(default_factory=list)
    """For each of them a product, which are right together; where it cannot be done, as near as it goes."""
    spare: list[str] = Field(default_factory=list)
    """Such ones for when the event has sold out one of the others."""


def try_draws(make: Callable[[], T]) -> T:
    """What is made by one of some tries, so that whether a task can be done does not hang on which kind is easier to draw.

    Raises the CannotDraw of the last try.
    """
    for _ in range(TRIES - 1):
        try:
            return make()
        except CannotDraw:
            continue
    return make()


def draw_things(store: Store, axes: Axes, random: Random, *, among: Sequence[str] | None = None) -> list[CategoryNeed]:
    """Two to four categories that go together, of all or of some, without demands but for what they are made for."""
    _, categories = draw_project_categories(store, count_things(axes), random, among=among)
    return add_compatibility([make_category_need(store, store.place_of_leaf[each]) for each in categories], random)


def count_things(axes: Axes) -> int:
    """
    >>> from shopwright.pipeline.envs.difficulty import compute_axes
    >>> [count_things(compute_axes(level)) for level in (0, 4, 8, 40)]
    [2, 3, 4, 4]
    """
    return min(MOST_THINGS, 2 + axes.difficulty // 4)


def list_need_products(store: Store, need: CategoryNeed) -> list[str]:
    """What fits it, as ids."""
    return [get_need_product_id(store, need, at) for at in np.flatnonzero(need.fits).tolist()]


def list_wish_slots(needs: Iterable[CategoryNeed]) -> Iterator[Slot]:
    for each in needs:
        for one in each.demands:
            yield slot_of_wish(one, each)


def make_list_slot(needs: Iterable[CategoryNeed]) -> Slot:
    """The things themselves."""
    listed = {f"{number}": each.category for number, each in enumerate(needs, 1)}
    return make_slot("list", "things", listed, "thing").model_copy(update={"topics": ["category", "product", "item"]})


def make_needed(store: Store, needs: Iterable[CategoryNeed]) -> list[NeededCategory]:
    """As a goal holds them."""
    found = []
    for each in needs:
        found.append(make_needed_category(each, [get_need_product_id(store, each, at) for at in each.cheapest]))
    return found


def name_sold_out_product(goal: ThingsGoal, store: Store) -> str:
    """What the event sells out; empty where nothing is."""
    option = store.option_of(goal.event.variants[0]) if goal.event else None
    return option.product_id if option else ""


def add_sell_out(
    goal: ThingsGoal, spare: Sequence[str], gone: str, store: Store, axes: Axes, random: Random
) -> ThingsGoal:
    """The same with a product that is sold out on the way; without it where there would be no turns to look at both lists."""
    looked_at = len({*goal.right, *spare}) + 1
    if looked_at > axes.turns * axes.tool_calls:
        return goal
    row = store.row(gone)
    assert row is not None
    return goal.model_copy(update={"spare": list(spare), "event": schedule_sell_out(store, row, random)})


def look_up_list(goal: ThingsGoal, shop: Shop, axes: Axes, first: Sequence[Call] = ()) -> Solution:
    """Looks at every product of the list that can be had."""
    calls = list(first)
    while True:
        unseen = [id for id in choose_list(goal, shop) if id not in shop.seen]
        calls += [Call(name="catalog_get_product", args={"product_id": id}) for id in unseen]
        if not calls:
            return
        yield Action(tool_calls=calls[: axes.tool_calls])
        calls = [each for each in calls[axes.tool_calls :] if each in first]


def choose_list(goal: ThingsGoal, shop: Shop) -> list[str]:
    """The list that is right now."""
    return goal.right if all(is_product_in_stock(shop, id) for id in goal.right) or not goal.spare else goal.spare


def score_cover(covered: int, named: int, wanted: int) -> Fraction:
    """2 F1 - 1.

    >>> score_cover(2, 2, 2), score_cover(1, 2, 2)
    (Fraction(1, 1), Fraction(0, 1))
    """
    return 2 * Fraction(2 * covered, named + wanted) - 1


def count_covered(needs: Iterable[NeededCategory], items: Sequence[Item]) -> int:
    """Of so many needs one of the items is what is wanted."""
    return sum(any(is_needed_item(need, item) for item in items) for need in needs)


def count_lists(needs: Iterable[CategoryNeed]) -> int:
    return prod(int(np.count_nonzero(each.fits)) for each in needs)


def narrow_need(
    need: CategoryNeed, axes: Axes, random: Random, *, among: np.ndarray | None = None, least: int = 2
) -> CategoryNeed:
    """The same with one demand more; as it is where fewer products than `least` would do, or none of `among` does."""
    if among is not None and not (need.fits & among).any():
        raise CannotDraw("nothing of a category is left to ask for")
    picked = add_constraint(need, axes, random, among=among)
    return picked if np.count_nonzero(picked.fits) >= least else need
