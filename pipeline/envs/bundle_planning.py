"""A whole list for a project within a budget: one product of each category."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain
from random import Random
from typing import Any

import numpy as np

from shopwright.pipeline.envs.base import (
    INFEASIBLE,
    CannotDraw,
    DrawnTask,
    Goal,
    GoalScore,
    Solution,
    World,
    draw_disclosure,
)
from shopwright.pipeline.envs.constraints import (
    Requirement,
    draw_limit_below,
    format_limit,
    match_requirements,
    require_price,
    require_value,
    round_price_limit,
    schedule_sell_out,
)
from shopwright.pipeline.envs.customers import draw_customer
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.one_of_each import (
    CategoryNeed,
    ListEnv,
    NeededCategory,
    add_compatibility,
    add_constraint,
    contrast_needs,
    count_covered,
    draw_project_categories,
    get_need_product_id,
    list_bundle_items,
    list_known_items,
    list_wish_slots,
    make_category_need,
    make_list_miss,
    make_list_slot,
    make_needed_category,
    score_cover,
)
from shopwright.pipeline.envs.substitution import get_store_item, is_product_in_stock
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated
from shopwright.pipeline.phrases.speaker import Speaker, spell_dollars
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.certificates import Infeasible, Miss, NoList, OneOfEach
from shopwright.schemas.tasks import Action, Call

# Categories of a list.
MOST = 12
# Of what the categories cost on average (EcomRLVE-GYM, bundle planning).
BUDGET = (0.8, 1.5)
REASONS = ("over_budget", "not_found")


class BundleGoal(Goal):
    """What is needed, and the most that it may cost."""

    needs: list[NeededCategory]
    budget: int
    """Cents."""


class BundlePlanning(ListEnv):
    """A success is one product for each category and no other, each in stock and as it is wanted, all within the budget."""

    name = "bundle_planning"
    Goal = BundleGoal
    refusals = REASONS
    impossible = "the list cannot be had"

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
            miss = make_list_miss([pair[0] for pair in ids], wrong)
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
            yield self.hand_in(goal, [])
            return
        picks = []
        for each in goal.needs:
            picks.append(next(id for id in each.cheapest if is_product_in_stock(shop, id)))
        calls = [Call(name="catalog_get_product", args={"product_id": id}) for id in picks if id not in shop.seen]
        yield self.hand_in(goal, picks).model_copy(update={"tool_calls": calls})

    def open(self, goal: BundleGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        listed, budget = stated.pop("list").said, stated.pop("budget", None)
        wishes = list_said(stated.values(), speaker, random)
        said = {**facts, "list": listed, "budget": budget.said if budget else "", "wishes": wishes}
        return Opening(
            self.name, said, {"spend": "spend so much" if budget else "", "each": "each wish" if wishes else ""}
        )

    def score_list(self, goal: BundleGoal, shop: Shop, named: Sequence[str]) -> GoalScore:
        """2 F1 - 1 over the categories, minus the share by which all that is named is over the budget; at least -1."""
        known = list_known_items(shop, named)
        covered = count_covered(goal.needs, [item for item in known if is_product_in_stock(shop, item.id)])
        total = sum(item.cents for item in known)
        over = Fraction(max(0, total - goal.budget), goal.budget)
        faults = []
        if covered < len(goal.needs):
            faults.append(f"{len(goal.needs) - covered} categories are not covered")
        if len(named) > covered:
            faults.append(f"{len(named) - covered} products too many")
        if over:
            faults.append(f"{format_limit(total - goal.budget)} over the budget")
        score = score_cover(covered, len(named), len(goal.needs)) - over
        return GoalScore(max(Fraction(-1), score), not faults, "; ".join(faults))


def make_lookup_call(need: NeededCategory, shop: Shop, *, short: bool) -> Call:
    """A search that finds what does, or else the product itself."""
    if short and need.cheapest:
        return Call(name="catalog_get_product", args={"product_id": need.cheapest[0]})
    words = " ".join(each.value for each in need.constraints if each.op == "is")
    args: dict[str, str | bool | int | float] = {"query": words or need.category.lower(), "category": need.category}
    if need.cheapest:
        args["max_price"] = get_store_item(shop.store, need.cheapest[0]).cents / 100
    return Call(name="catalog_search", args=args)


def draw_project(store: Store, axes: Axes, random: Random) -> tuple[str, list[CategoryNeed]]:
    """A project, and its categories with what is asked of some."""
    count = min(MOST, 3 + axes.difficulty // 2)
    project, categories = draw_project_categories(store, count, random)
    needs = add_compatibility([make_category_need(store, store.place_of_leaf[each]) for each in categories], random)
    for number in range(axes.constraints - 1):
        needs[number % count] = add_constraint(needs[number % count], axes, random)
    random.shuffle(needs)
    return project, needs


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
    budgeted = make_slot("budget", "budget", spell_dollars(budget), "clause")
    wanted = [make_list_slot(needs), budgeted, *list_wish_slots(needs)]
    return BundleGoal(
        persona_id=who.id,
        now=who.now,
        slots=draw_disclosure(wanted, axes, random, always=["list"]),
        refusal=refusal,
        needs=[make_needed_category(each, pair) for each, pair in zip(needs, ids, strict=True)],
        budget=budget,
        contrast=contrast_needs(needs, axes, random),
    )


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
            return make_list_miss(wrong, f"{broken} of {each.category}")
    return make_list_miss(best[:-1], "list")
