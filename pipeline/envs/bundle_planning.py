"""A whole list for a project within a budget: one product of each category."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain
from itertools import product as cartesian
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from shopwright.pipeline.envs.base import (
    INFEASIBLE,
    CannotDraw,
    DrawnTask,
    Env,
    Goal,
    GoalScore,
    Notice,
    Solution,
    World,
    draw_disclosure,
    is_needless_refusal,
    is_right_refusal,
)
from shopwright.pipeline.envs.constraints import (
    Requirement,
    contrast_products,
    draw_limit_below,
    draw_place,
    format_limit,
    is_sayable,
    list_shared_requirements,
    match_requirements,
    require_compatibility,
    require_price,
    require_price_around,
    require_value,
    round_price_limit,
    schedule_sell_out,
    slot_of_thing,
)
from shopwright.pipeline.envs.customers import draw_customer
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.substitution import get_store_item, is_product_in_stock, list_newly_sold_out
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated
from shopwright.pipeline.phrases.speaker import Speaker, spell_dollars
from shopwright.pipeline.shop.store import Item, Shelf, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.certificates import BundleItem, Constraint, End, Infeasible, Miss, NoList, OneOfEach
from shopwright.schemas.record import Part
from shopwright.schemas.tasks import Action, Answer, Call, Slot

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "projects.toml"
# Categories of a list.
MOST = 12
# Of what the categories cost on average (EcomRLVE-GYM, bundle planning).
BUDGET = (0.8, 1.5)
REASONS = ("over_budget", "not_found")
# Products of a category that are looked at for something more to ask for.
TRIES = 3


class NeededCategory(Part):
    """One category of the list."""

    category: str
    constraints: list[Constraint]
    cheapest: list[str]
    """The cheapest products that do, the first two: one may be sold out on the way."""


class BundleGoal(Goal):
    """What is needed, and the most that it may cost."""

    needs: list[NeededCategory]
    budget: int
    """Cents."""


@dataclass(frozen=True)
class CategoryNeed:
    """A category of the list while a task is drawn, and what does there."""

    category: str
    shelf: Shelf
    cents: np.ndarray
    stocked: np.ndarray
    demands: tuple[Requirement, ...]
    fits: np.ndarray
    """What meets all demands and is in stock."""

    @property
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


class BundlePlanning(Env):
    """A success is one product for each category and no other, each in stock and as it is wanted, all within the budget."""

    name = "bundle_planning"
    Goal = BundleGoal
    refusals = REASONS

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        refusal = random.choice(REASONS) if random.random() < INFEASIBLE else ""
        project, needs = draw_project(world.store, axes, random)
        spoilt = random.randrange(len(needs)) if refusal == "not_found" else -1
        if spoilt >= 0:
            needs[spoilt] = needs[spoilt].asking()
        pairs = [each.cheapest for each in needs]
        prices = [each.cents[pair].tolist() for each, pair in zip(needs, pairs, strict=True)]
        least = sum(price[0] for price in prices)
        budget = (
            draw_limit_below(least, random) if refusal == "over_budget" else draw_budget(needs, least, axes, random)
        )
        if (
            not refusal
            and axes.difficulty > 2
            and all(each.asking().cheapest[:1] == each.cheapest[:1] for each in needs)
        ):
            raise CannotDraw("the cheapest of each category is right, whatever is asked for")
        if budget is None:
            raise CannotDraw("everything is so cheap that no budget is too small")
        if spoilt >= 0:
            needs[spoilt] = needs[spoilt].asking(make_need_infeasible(needs, spoilt, random))
        ids = []
        for each, pair in zip(needs, pairs, strict=True):
            ids.append([get_need_product_id(world.store, each, at) for at in pair])
        goal = make_bundle_goal(world, needs, ids, budget, refusal, axes, random)
        if refusal:
            wrong = f"{needs[spoilt].demands[0].name} of {needs[spoilt].category}" if spoilt >= 0 else "budget"
            miss = make_bundle_miss([pair[0] for pair in ids], wrong)
            proof = NoList(items=list_bundle_items(goal.needs, needs), budget=budget, least=0 if spoilt >= 0 else least)
            return DrawnTask(goal, {"project": project}, Infeasible(refusal=refusal, proof=proof), miss)
        spare = [
            place for place, price in enumerate(prices) if len(price) > 1 and least - price[0] + price[1] <= budget
        ]
        acceptable = OneOfEach(items=list_bundle_items(goal.needs, needs), budget=budget, least=least)
        if spare and random.random() < axes.sells_out:
            place = random.choice(spare)
            row = int(needs[place].shelf.rows[pairs[place][0]])
            goal = goal.model_copy(update={"event": schedule_sell_out(world.store, row, random)})
            acceptable = acceptable.model_copy(update={"sells_out": ids[place][0]})
        miss = find_nearest_bundle(world.store, needs, ids, prices, budget)
        return DrawnTask(goal, {"project": project}, acceptable, miss)

    def solve(self, goal: BundleGoal, shop: Shop, axes: Axes) -> Solution:
        """Looks in each category below the price of the cheapest that does; where calls are short, straight at it."""
        left, turns = list(goal.needs), self.turns(goal, axes)
        for turn in range(1, turns):
            unseen = [each for each in left if each.cheapest and each.cheapest[0] not in shop.seen]
            short = (turns - turn) * axes.tool_calls < len(unseen) + (goal.event is not None)
            calls = [
                make_lookup_call(each, shop, short=short)
                for each in (left if goal.refusal else unseen)[: axes.tool_calls]
            ]
            if not calls:
                break
            yield Action(tool_calls=calls)
            left = left[axes.tool_calls :] if goal.refusal else left
        if not goal.feasible:
            yield Action(answer=Answer(env=self.name, refusal=goal.refusal))
            return
        picks = []
        for each in goal.needs:
            picks.append(next(id for id in each.cheapest if is_product_in_stock(shop, id)))
        calls = [Call(name="catalog_get_product", args={"product_id": id}) for id in picks if id not in shop.seen]
        yield Action(tool_calls=calls, answer=Answer(env=self.name, recommended_product_ids=picks))

    def open(self, goal: BundleGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        listed, budget = stated.pop("list").said, stated.pop("budget", None)
        wishes = list_said(stated.values(), speaker, random)
        said = {**facts, "list": listed, "budget": budget.said if budget else "", "wishes": wishes}
        return Opening(
            self.name, said, {"spend": "spend so much" if budget else "", "each": "each wish" if wishes else ""}
        )

    def score(self, goal: BundleGoal, shop: Shop, answer: Answer | None) -> GoalScore:
        """2 F1 - 1 over the categories, minus the share by which all that is named is over the budget; at least -1."""
        named = answer.recommended_product_ids if answer else []
        if not goal.feasible:
            right = is_right_refusal(goal, answer) and not named
            return GoalScore(Fraction(1 if right else -1), right, "" if right else "the list cannot be had")
        if not named or is_needless_refusal(goal, answer):
            return GoalScore(Fraction(-1), False, "no list where there is one")
        known = [get_store_item(shop.store, id) for id in dict.fromkeys(named) if shop.store.row(id) is not None]
        stocked = [item for item in known if is_product_in_stock(shop, item.id)]
        pairs = cartesian(goal.needs, stocked)
        covered = {need.category for need, item in pairs if is_needed_item(need, item)}
        total = sum(item.cents for item in known)
        f1 = Fraction(2 * len(covered), len(named) + len(goal.needs))
        over = Fraction(max(0, total - goal.budget), goal.budget)
        faults = []
        if len(covered) < len(goal.needs):
            faults.append(f"{len(goal.needs) - len(covered)} categories are not covered")
        if len(named) > len(covered):
            faults.append(f"{len(named) - len(covered)} products too many")
        if over:
            faults.append(f"{format_limit(total - goal.budget)} over the budget")
        return GoalScore(max(Fraction(-1), 2 * f1 - 1 - over), not faults, "; ".join(faults))

    def notices(self, goal: BundleGoal, shop: Shop) -> Iterator[Notice]:
        """That something is sold out by now, where the agent has come across it."""
        return list_newly_sold_out(goal, shop)

    def recommendations(self, goal: BundleGoal, axes: Axes) -> int:
        """One for each category, at least."""
        return max(axes.recommendations, len(goal.needs))


def is_needed_item(need: NeededCategory, item: Item) -> bool:
    return item.category == need.category and all(item.meets(each) for each in need.constraints)


def make_lookup_call(need: NeededCategory, shop: Shop, *, short: bool) -> Call:
    """A search that finds what does, or else the product itself."""
    if short and need.cheapest:
        return Call(name="catalog_get_product", args={"product_id": need.cheapest[0]})
    words = " ".join(each.value for each in need.constraints if each.op == "is")
    args: dict[str, str | bool | int | float] = {"query": words or need.category.lower(), "category": need.category}
    if need.cheapest:
        args["max_price"] = get_store_item(shop.store, need.cheapest[0]).cents / 100
    return Call(name="catalog_search", args=args)


@cache
def load_projects() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


def draw_project(store: Store, axes: Axes, random: Random) -> tuple[str, list[CategoryNeed]]:
    """A project, and its categories with what is asked of some."""
    count = min(MOST, 3 + axes.difficulty // 2)
    project, categories = draw_project_categories(store, count, random)
    needs = add_compatibility([make_category_need(store, store.place_of_leaf[each]) for each in categories], random)
    for number in range(axes.constraints - 1):
        needs[number % count] = add_constraint(needs[number % count], axes, random)
    random.shuffle(needs)
    return project, needs


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


def add_constraint(need: CategoryNeed, axes: Axes, random: Random, *, among: np.ndarray | None = None) -> CategoryNeed:
    """The same with one demand more, which some product meets that did so far, and another does not; as it is where there is none.

    among: of these products one has to meet it; there is one that did so far.
    """
    named = {each.name for each in need.demands}
    for _ in range(TRIES):
        model = draw_place(need.fits if among is None else need.fits & among, random)
        assert model is not None
        price = require_price_around([int(need.cents[model])], axes, random)
        more = [
            each
            for each in [*list_shared_requirements(need.shelf, [model], axes, random), price]
            if each.name not in named
        ]
        picked = need.asking(*need.demands, random.choice(more)) if more else need
        if np.count_nonzero(picked.fits) < np.count_nonzero(need.fits):
            return picked
    return need


def draw_budget(needs: Sequence[CategoryNeed], least: int, axes: Axes, random: Random) -> int:
    """Average price x categories x U(.8, 1.5), and no less than what the cheapest list costs."""
    average = sum(float(each.cents[each.stocked].mean()) for each in needs)
    return round_price_limit(
        max(int(average * random.uniform(*BUDGET)), int(least * (1 + axes.slack * random.random()))), up=True
    )


def make_need_infeasible(needs: Sequence[CategoryNeed], place: int, random: Random) -> Requirement:
    """What nothing in this category is, in stock or not: a maker of other things, or a price below all."""
    own = needs[place]
    makers = {value.lower() for value in own.shelf.values["brand"]}
    brands = chain.from_iterable(each.shelf.values["brand"] for each in needs)
    others = [brand for brand in brands if brand.lower() not in makers]
    limit = draw_limit_below(int(own.cents.min()), random)
    if limit is not None and (not others or random.random() < 0.5):
        return require_price(limit)
    if not others:
        raise CannotDraw("everything of a category is so cheap that nobody could ask for less")
    return require_value("brand", random.choice(others))


def make_bundle_goal(
    world: World,
    needs: Sequence[CategoryNeed],
    ids: Sequence[list[str]],
    budget: int,
    refusal: str,
    axes: Axes,
    random: Random,
) -> BundleGoal:
    who = draw_customer(world.store, random)
    listed = {f"{number}": each.category for number, each in enumerate(needs, 1)}
    wanted = [
        make_slot("list", "things", listed, "thing"),
        make_slot("budget", "budget", spell_dollars(budget), "clause"),
    ]
    for each in needs:
        wanted += [slot_of_wish(one, each) for one in each.demands]
    slots = draw_disclosure(wanted, axes, random, always=["list"])
    return BundleGoal(
        persona_id=who.id,
        now=who.now,
        slots=[slots[0].model_copy(update={"topics": ["category", "product", "item"]}), *slots[1:]],
        refusal=refusal,
        needs=[make_needed_category(each, pair) for each, pair in zip(needs, ids, strict=True)],
        budget=budget,
        contrast=contrast_needs(needs, axes, random),
    )


def slot_of_wish(demand: Requirement, need: CategoryNeed) -> Slot:
    """What is wished of one thing of the list."""
    return slot_of_thing(demand.slot(need.shelf), need.category)


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


def make_bundle_miss(products: list[str], breaks: str) -> Miss:
    return Miss(breaks=[breaks], end=End(answer=Answer(recommended_product_ids=products)))


def get_need_product_id(store: Store, need: CategoryNeed, at: int) -> str:
    found: str = store.ids[int(need.shelf.rows[at])].as_py()
    return found


def find_nearest_bundle(
    store: Store, needs: Sequence[CategoryNeed], ids: Sequence[list[str]], prices: Sequence[list[int]], budget: int
) -> Miss:
    """The cheapest list but for one product, which breaks one demand; where there is none such, a category is left out."""
    best, least = [pair[0] for pair in ids], sum(price[0] for price in prices)
    for place, each in enumerate(needs):
        meets = match_requirements(each.shelf, each.demands)
        room = each.cents <= budget - least + prices[place][0]
        near = np.flatnonzero(each.stocked & room & (meets.sum(axis=0) == len(each.demands) - 1))
        if len(near):
            broken = next(one.name for one, row in zip(each.demands, meets, strict=True) if not row[near[0]])
            wrong = [*best[:place], get_need_product_id(store, each, int(near[0])), *best[place + 1 :]]
            return make_bundle_miss(wrong, f"{broken} of {each.category}")
    return make_bundle_miss(best[:-1], "list")
