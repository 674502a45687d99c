"""What tasks share that want one product for each of a few things: what is asked of each, what is looked up, what is covered."""

import tomllib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain
from math import prod
from pathlib import Path
from random import Random
from typing import Any, ClassVar, TypeVar

import numpy as np
from pydantic import Field

from shopwright.pipeline.envs.base import (
    CannotDraw,
    Env,
    Goal,
    GoalScore,
    Notice,
    Solution,
    is_needless_refusal,
    is_right_refusal,
)
from shopwright.pipeline.envs.constraints import (
    Requirement,
    contrast_products,
    draw_place,
    is_sayable,
    list_shared_requirements,
    match_requirements,
    require_compatibility,
    require_price_around,
    schedule_sell_out,
    slot_of_thing,
)
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.substitution import get_store_item, is_product_in_stock, list_newly_sold_out
from shopwright.pipeline.envs.wording import make_slot
from shopwright.pipeline.shop.store import Item, Shelf, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.certificates import BundleItem, Constraint, End, Miss
from shopwright.schemas.record import Part
from shopwright.schemas.tasks import Action, Answer, Call, Slot

PROJECTS = Path(__file__).parents[2] / "data" / "reference" / "projects.toml"
# Things that are wanted, at most.
MOST_THINGS = 4
# Turns for each thing, beside those of the level, of lists whose sellers or prices are compared: 8 calls, as at level 0, are too few for two things.
COMPARING = 6
# Demands beyond those of the level by which what fits is made less, at most.
MORE_DEMANDS = 8
# Things that are tried for a task of one kind; products of a category that are looked at for something more to ask for.
TRIES, LOOKED_AT = 20, 3
T = TypeVar("T")


class NeededCategory(Part):
    """One category of the list."""

    category: str
    constraints: list[Constraint]
    cheapest: list[str]
    """The cheapest products that do, the first two: one may be sold out on the way."""


@dataclass(frozen=True, eq=False)
class CategoryNeed:
    """A category of the list while a task is drawn, and what does there. Each is equal to itself alone: what is found of it can be kept."""

    category: str
    shelf: Shelf
    cents: np.ndarray
    stocked: np.ndarray
    demands: tuple[Requirement, ...]
    fits: np.ndarray
    """What meets all demands and is in stock."""

    @cached_property
    def cheapest(self) -> list[int]:
        """Places of the two cheapest products that do, the first among equals; one or none where there are no more."""
        places = np.flatnonzero(self.fits)
        if len(places) < 2:
            return [int(place) for place in places]
        first = int(np.argmin(self.cents[places]))
        rest = np.delete(places, first)
        return [int(places[first]), int(rest[np.argmin(self.cents[rest])])]

    def asking(self, *demands: Requirement) -> "CategoryNeed":
        """The same with these demands."""
        fits = match_requirements(self.shelf, demands).all(axis=0) & self.stocked
        return CategoryNeed(self.category, self.shelf, self.cents, self.stocked, demands, fits)


class ThingsGoal(Goal):
    """A few things, one product of each."""

    needs: list[NeededCategory]
    right: list[str] = Field(default_factory=list)
    """For each of them a product, which are right together; where it cannot be done, as near as it goes."""
    spare: list[str] = Field(default_factory=list)
    """Such ones for when the event has sold out one of the others."""


class ListEnv(Env):
    """A task whose answer is a list: one product for each need of its goal, and no other."""

    impossible: ClassVar[str]
    """The fault of a list where there is none."""
    more_turns: ClassVar[int] = 0
    """For each thing, beside those of the level."""

    def turns(self, goal: Any, axes: Axes) -> int:
        return axes.turns + self.more_turns * len(goal.needs)

    def score(self, goal: Any, shop: Shop, answer: Answer | None) -> GoalScore:
        """A refusal by its reason; a list by `score_list`."""
        named = answer.recommended_product_ids if answer else []
        if not goal.feasible:
            right = is_right_refusal(goal, answer) and not named
            return GoalScore(Fraction(1 if right else -1), right, "" if right else self.impossible)
        if not named or is_needless_refusal(goal, answer):
            return GoalScore(Fraction(-1), False, "no list where there is one")
        return self.score_list(goal, shop, named)

    @abstractmethod
    def score_list(self, goal: Any, shop: Shop, named: Sequence[str]) -> GoalScore:
        """2 F1 - 1 over the needs, and what else counts."""

    def hand_in(self, goal: Any, products: Sequence[str]) -> Action:
        """The answer of who knows the goal: the list, or why there is none."""
        if not goal.feasible:
            return Action(answer=Answer(env=self.name, refusal=goal.refusal))
        return Action(answer=Answer(env=self.name, recommended_product_ids=list(products)))

    def notices(self, goal: Any, shop: Shop) -> Iterator[Notice]:
        """That something is sold out by now, where the agent has come across it."""
        return list_newly_sold_out(goal, shop)

    def recommendations(self, goal: Any, axes: Axes) -> int:
        """One for each need, at least."""
        return max(axes.recommendations, len(goal.needs))


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


def list_wish_slots(needs: Iterable[CategoryNeed]) -> Iterator[Slot]:
    for each in needs:
        for one in each.demands:
            yield slot_of_thing(one.slot(each.shelf), each.category)


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
    need: CategoryNeed,
    axes: Axes,
    random: Random,
    *,
    among: np.ndarray | None = None,
    least: int = 2,
    span: bool = False,
) -> CategoryNeed:
    """The same with one demand more; as it is where fewer products than `least` would do, or none of `among` does. span: of a price, both ends."""
    if among is not None and not (need.fits & among).any():
        raise CannotDraw("nothing of a category is left to ask for")
    picked = add_constraint(need, axes, random, among=among, span=span)
    return picked if np.count_nonzero(picked.fits) >= least else need


@cache
def load_projects() -> dict[str, Any]:
    return tomllib.loads(PROJECTS.read_text(encoding="utf-8"))


def draw_project_categories(
    store: Store, count: int, random: Random, *, among: Sequence[str] | None = None
) -> tuple[str, list[str]]:
    """So many categories of a project, of a group, or of all that there are, or of some. Raises CannotDraw where there are fewer."""
    known, every = load_projects(), store.leaves if among is None else among
    projects, here = [], set(every)
    for each in known["projects"]:
        sold = [leaf for leaf in each["categories"] if leaf in here]
        projects.append((each["name"], sold))
    fine = [each for each in projects if len(each[1]) >= count]
    if not fine:
        groups: dict[str, list[str]] = {}
        for leaf, group in zip(store.leaves, store.groups, strict=True):
            if leaf in here:
                groups.setdefault(group, []).append(leaf)
        fine = [
            (known["from_group"].format(group=group), leaves)
            for group, leaves in groups.items()
            if len(leaves) >= count
        ]
    if not fine and len(every) >= count:
        fine = [(known["mixed"], list(every))]
    if not fine:
        raise CannotDraw(f"there are {len(every)} categories, and a list needs {count}")
    project, leaves = random.choice(fine)
    return project, random.sample(leaves, count)


def make_category_need(store: Store, leaf: int) -> CategoryNeed:
    shelf = store.shelf(leaf)
    stocked = store.in_stock[shelf.rows]
    if not stocked.any():
        raise CannotDraw("everything of a category is sold out")
    return CategoryNeed(store.leaves[leaf], shelf, store.cents[shelf.rows], stocked, (), stocked)


def add_compatibility(needs: Sequence[CategoryNeed], random: Random) -> list[CategoryNeed]:
    """Where a category has things that are made for something, it is said for what: if it can be, for what the list names already."""
    found: list[CategoryNeed] = []
    named: list[Requirement] = []
    for each in needs:
        made_for = np.array([bool(fits) and is_sayable(fits) for fits in each.shelf.fits]) & each.stocked
        if not any(each.shelf.fits):
            found.append(each)
            continue
        wanted = [one for one in named if each.asking(one).fits.any()][:1]
        if not wanted:
            model = draw_place(made_for, random)
            if model is None:
                raise CannotDraw("what a category has is made for more than a shopper would say")
            wanted = require_compatibility(each.shelf.fits[model])
            named += wanted
        found.append(each.asking(*wanted))
    return found


def add_constraint(
    need: CategoryNeed, axes: Axes, random: Random, *, among: np.ndarray | None = None, span: bool = False
) -> CategoryNeed:
    """The same with one demand more, which some product meets that did so far, and another does not; as it is where there is none.

    among: of these products one has to meet it; there is one that did so far.
    """
    named = {each.name for each in need.demands}
    for _ in range(LOOKED_AT):
        model = draw_place(need.fits if among is None else need.fits & among, random)
        assert model is not None
        price = require_price_around([int(need.cents[model])], axes, random, span=span)
        more = [
            each
            for each in [*list_shared_requirements(need.shelf, [model], axes, random), price]
            if each.name not in named
        ]
        picked = need.asking(*need.demands, random.choice(more)) if more else need
        if np.count_nonzero(picked.fits) < np.count_nonzero(need.fits):
            return picked
    return need


def contrast_needs(needs: Sequence[CategoryNeed], axes: Axes, random: Random) -> list[Slot]:
    """By chance what something else was like, of one of the things of which most is asked."""
    need = max(needs, key=lambda each: len(each.demands))
    constraints = chain.from_iterable(one.constraints for one in need.demands)
    return contrast_products(need.shelf, constraints, axes, random, category=need.category)


def make_needed_category(need: CategoryNeed, cheapest: list[str]) -> NeededCategory:
    return NeededCategory(
        category=need.category,
        constraints=list(chain.from_iterable(one.constraints for one in need.demands)),
        cheapest=cheapest if need.fits.any() else [],
    )


def list_bundle_items(wanted: Sequence[NeededCategory], needs: Sequence[CategoryNeed]) -> list[BundleItem]:
    """What every right list has: for each category one of those that do, counted here."""
    return [
        BundleItem(
            category=one.category,
            constraints=goal_need.constraints,
            count=int(np.count_nonzero(one.fits)),
            cheapest=goal_need.cheapest[0] if goal_need.cheapest else "",
        )
        for one, goal_need in zip(needs, wanted, strict=True)
    ]


def get_need_product_id(store: Store, need: CategoryNeed, at: int) -> str:
    found: str = store.ids[int(need.shelf.rows[at])].as_py()
    return found


def is_needed_item(need: NeededCategory, item: Item) -> bool:
    return item.category == need.category and all(item.meets(each) for each in need.constraints)


def make_list_miss(products: list[str], breaks: str) -> Miss:
    return Miss(breaks=[breaks], end=End(answer=Answer(recommended_product_ids=products)))


def list_known_items(shop: Shop, named: Sequence[str]) -> list[Item]:
    """The products of a list that there are, each once."""
    return [get_store_item(shop.store, id) for id in dict.fromkeys(named) if shop.store.row(id) is not None]
