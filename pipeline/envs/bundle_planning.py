"""A whole list for a project within a budget: one product of each category."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from pipeline.envs.base import (
    INFEASIBLE,
    Drawn,
    Env,
    Goal,
    Notice,
    Score,
    Solution,
    Undrawable,
    World,
    ledger,
    needless_refusal,
    right_refusal,
)
from pipeline.envs.demands import (
    Demand,
    any_of,
    around,
    beyond,
    dollars,
    exactly,
    met,
    priced,
    rounded,
    shared,
    sold_out_later,
)
from pipeline.envs.difficulty import Axes
from pipeline.envs.recall import asking
from pipeline.envs.substitution import in_stock, item_of, sold_out_by_now
from pipeline.envs.visits import comer
from pipeline.shop.store import Constraint, Item, Shelf, Store
from pipeline.shop.tools import Shop
from schemas.record import Part
from schemas.tasks import Action, Answer, Call

REFERENCE = Path(__file__).parents[2] / "data" / "reference" / "projects.toml"
MOST = 12
"""Categories of a list."""
BUDGET = (0.8, 1.5)
"""Of what the categories cost on average (EcomRLVE-GYM, bundle planning)."""
REASONS = ("over_budget", "not_found")
TRIES = 3
"""Products of a category that are looked at for something more to ask for."""


class Needed(Part):
    """One category of the list."""

    category: str
    constraints: list[Constraint]
    cheapest: list[str]
    """The cheapest products that do, the first two: one may be sold out on the way."""


class Bundle(Goal):
    """What is needed, and the most that it may cost."""

    needs: list[Needed]
    budget: int
    """Cents."""


@dataclass(frozen=True)
class Need:
    """A category of the list while a task is drawn, and what does there."""

    category: str
    shelf: Shelf
    cents: np.ndarray
    stocked: np.ndarray
    demands: tuple[Demand, ...]
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

    def asking(self, *demands: Demand) -> "Need":
        """The same with these demands."""
        fits = met(self.shelf, demands).all(axis=0) & self.stocked
        return Need(self.category, self.shelf, self.cents, self.stocked, demands, fits)


class BundlePlanning(Env):
    """A success is one product for each category and no other, each in stock and as it is wanted, all within the budget."""

    name = "bundle_planning"
    Goal = Bundle

    def draw(self, world: World, axes: Axes, random: Random) -> Drawn:
        refusal = random.choice(REASONS) if random.random() < INFEASIBLE else ""
        project, needs = wanted(world.store, axes, random)
        spoilt = random.randrange(len(needs)) if refusal == "not_found" else -1
        if spoilt >= 0:
            needs[spoilt] = needs[spoilt].asking()
        pairs = [each.cheapest for each in needs]
        prices = [[int(each.cents[at]) for at in pair] for each, pair in zip(needs, pairs, strict=True)]
        least = sum(price[0] for price in prices)
        budget = beyond(least, random) if refusal == "over_budget" else affordable(needs, least, axes, random)
        if budget is None:
            raise Undrawable("everything is so cheap that no budget is too small")
        if spoilt >= 0:
            needs[spoilt] = needs[spoilt].asking(impossible(needs, spoilt, random))
        ids = [[id_at(world.store, each, at) for at in pair] for each, pair in zip(needs, pairs, strict=True)]
        goal = goal_of(world, needs, ids, budget, refusal, axes, random)
        if refusal:
            wrong = f"{needs[spoilt].demands[0].name} of {needs[spoilt].category}" if spoilt >= 0 else "budget"
            miss = {"recommended_product_ids": [pair[0] for pair in ids], "breaks": wrong}
            return Drawn(goal, told(goal, project), {"refusal": refusal, "proof": ends(goal, needs, least)}, miss)
        spare = [
            place for place, price in enumerate(prices) if len(price) > 1 and least - price[0] + price[1] <= budget
        ]
        acceptable = ends(goal, needs, least)
        if spare and random.random() < axes.sells_out:
            place = random.choice(spare)
            row = int(needs[place].shelf.rows[pairs[place][0]])
            goal = goal.model_copy(update={"event": sold_out_later(world.store, row, random)})
            acceptable["sold out on the way"] = ids[place][0]
        miss = nearest_miss(world.store, needs, ids, prices, budget)
        return Drawn(goal, told(goal, project), acceptable, miss)

    def solve(self, goal: Bundle, shop: Shop, axes: Axes) -> Solution:
        """Looks in each category below the price of the cheapest that does; where calls are short, straight at it."""
        left, turns = list(goal.needs), self.turns(goal, axes)
        question = asking(goal.wishes)
        for turn in range(1, turns):
            unseen = [each for each in left if each.cheapest and each.cheapest[0] not in shop.seen]
            short = (turns - turn) * axes.tool_calls < len(unseen) + (goal.event is not None)
            calls = [look(each, shop, short=short) for each in (left if goal.refusal else unseen)[: axes.tool_calls]]
            if not calls:
                break
            yield Action(assistant_message=question, tool_calls=calls)
            question = ""
            left = left[axes.tool_calls :] if goal.refusal else left
        if not goal.feasible:
            yield Action(answer=Answer(env=self.name, refusal=goal.refusal))
            return
        picks = [next(id for id in each.cheapest if in_stock(shop, id)) for each in goal.needs]
        calls = [Call(name="catalog_get_product", args={"product_id": id}) for id in picks if id not in shop.seen]
        yield Action(tool_calls=calls, answer=Answer(env=self.name, recommended_product_ids=picks))

    def score(self, goal: Bundle, shop: Shop, answer: Answer | None) -> Score:
        """2 F1 - 1 over the categories, minus the share by which all that is named is over the budget; at least -1."""
        named = answer.recommended_product_ids if answer else []
        if not goal.feasible:
            right = right_refusal(goal, answer) and not named
            return Score(Fraction(1 if right else -1), right, "" if right else "the list cannot be had")
        if not named or needless_refusal(goal, answer):
            return Score(Fraction(-1), False, "no list where there is one")
        known = [item_of(shop.store, id) for id in dict.fromkeys(named) if shop.store.row(id) is not None]
        covered = {
            each.category for each in goal.needs for item in known if in_stock(shop, item.id) and does(each, item)
        }
        total = sum(item.cents for item in known)
        f1 = Fraction(2 * len(covered), len(named) + len(goal.needs))
        over = Fraction(max(0, total - goal.budget), goal.budget)
        faults = []
        if len(covered) < len(goal.needs):
            faults.append(f"{len(goal.needs) - len(covered)} categories are not covered")
        if len(named) > len(covered):
            faults.append(f"{len(named) - len(covered)} products too many")
        if over:
            faults.append(f"{dollars(total - goal.budget)} over the budget")
        return Score(max(Fraction(-1), 2 * f1 - 1 - over), not faults, "; ".join(faults))

    def notices(self, goal: Bundle, shop: Shop) -> Iterator[Notice]:
        """That something is sold out by now, where the agent has come across it."""
        return sold_out_by_now(goal, shop)

    def recommendations(self, goal: Bundle, axes: Axes) -> int:
        """One for each category, at least."""
        return max(axes.recommendations, len(goal.needs))


def does(need: Needed, item: Item) -> bool:
    return item.category == need.category and all(item.meets(each) for each in need.constraints)


def look(need: Needed, shop: Shop, *, short: bool) -> Call:
    """A search that finds what does, or else the product itself."""
    if short and need.cheapest:
        return Call(name="catalog_get_product", args={"product_id": need.cheapest[0]})
    words = " ".join(each.value for each in need.constraints if each.op == "is")
    args: dict[str, str | bool | int | float] = {"query": words or need.category.lower(), "category": need.category}
    if need.cheapest:
        args["max_price"] = item_of(shop.store, need.cheapest[0]).cents / 100
    return Call(name="catalog_search", args=args)


@cache
def reference() -> dict[str, Any]:
    return tomllib.loads(REFERENCE.read_text(encoding="utf-8"))


def wanted(store: Store, axes: Axes, random: Random) -> tuple[str, list[Need]]:
    """A project, and its categories with what is asked of some."""
    count = min(MOST, 3 + axes.difficulty // 2)
    project, categories = listed(store, count, random)
    needs = [need(store, store.place_of_leaf[each]) for each in categories]
    for number in range(axes.constraints - 1):
        needs[number % count] = pickier(needs[number % count], axes, random)
    random.shuffle(needs)
    return project, needs


def listed(store: Store, count: int, random: Random) -> tuple[str, list[str]]:
    """So many categories of a project, of a group, or of all that there are. Raises Undrawable where the shop has fewer."""
    known = reference()
    projects = [
        (each["name"], [leaf for leaf in each["categories"] if leaf in store.place_of_leaf])
        for each in known["projects"]
    ]
    fine = [each for each in projects if len(each[1]) >= count]
    if not fine:
        groups: dict[str, list[str]] = {}
        for leaf, group in zip(store.leaves, store.groups, strict=True):
            groups.setdefault(group, []).append(leaf)
        fine = [
            (known["from_group"].format(group=group), leaves)
            for group, leaves in groups.items()
            if len(leaves) >= count
        ]
    if not fine and len(store.leaves) >= count:
        fine = [(known["mixed"], store.leaves)]
    if not fine:
        raise Undrawable(f"there are {len(store.leaves)} categories, and a list needs {count}")
    project, leaves = random.choice(fine)
    return project, random.sample(leaves, count)


def need(store: Store, leaf: int) -> Need:
    shelf = store.shelf(leaf)
    stocked = store.in_stock[shelf.rows]
    if not stocked.any():
        raise Undrawable("everything of a category is sold out")
    return Need(store.leaves[leaf], shelf, store.cents[shelf.rows], stocked, (), stocked)


def pickier(need: Need, axes: Axes, random: Random) -> Need:
    """The same with one demand more, which some product meets that did so far, and another does not; as it is where there is none."""
    named = {each.name for each in need.demands}
    for _ in range(TRIES):
        model = any_of(need.fits, random)
        assert model is not None
        price = around([int(need.cents[model])], axes, random)
        more = [each for each in [*shared(need.shelf, [model], axes, random), price] if each.name not in named]
        picked = need.asking(*need.demands, random.choice(more)) if more else need
        if np.count_nonzero(picked.fits) < np.count_nonzero(need.fits):
            return picked
    return need


def affordable(needs: Sequence[Need], least: int, axes: Axes, random: Random) -> int:
    """Average price x categories x U(.8, 1.5), and no less than what the cheapest list costs."""
    average = sum(float(each.cents[each.stocked].mean()) for each in needs)
    return rounded(
        max(int(average * random.uniform(*BUDGET)), int(least * (1 + axes.slack * random.random()))), up=True
    )


def impossible(needs: Sequence[Need], place: int, random: Random) -> Demand:
    """What nothing in this category is, in stock or not: a maker of other things, or a price below all."""
    own = needs[place]
    makers = {value.lower() for value in own.shelf.values["brand"]}
    others = [brand for each in needs for brand in each.shelf.values["brand"] if brand.lower() not in makers]
    limit = beyond(int(own.cents.min()), random)
    if limit is not None and (not others or random.random() < 0.5):
        return priced(limit)
    if not others:
        raise Undrawable("everything of a category is so cheap that nobody could ask for less")
    return exactly("brand", random.choice(others))


def goal_of(
    world: World,
    needs: Sequence[Need],
    ids: Sequence[list[str]],
    budget: int,
    refusal: str,
    axes: Axes,
    random: Random,
) -> Bundle:
    who = comer(world.store, random)
    pairs = [("list", "; ".join(each.category for each in needs)), ("budget", f"{dollars(budget)} in all")]
    pairs += [
        (f"{one.name} of {each.category}", f"{one.said} for the {each.category}")
        for each in needs
        for one in each.demands
    ]
    wishes = ledger(pairs, axes, random, always=["list"])
    return Bundle(
        persona_id=who.id,
        now=who.now,
        wishes=[wishes[0].model_copy(update={"topics": ["category", "product", "item"]}), *wishes[1:]],
        refusal=refusal,
        needs=[
            Needed(
                category=each.category,
                constraints=[constraint for one in each.demands for constraint in one.constraints],
                cheapest=pair if each.fits.any() else [],
            )
            for each, pair in zip(needs, ids, strict=True)
        ],
        budget=budget,
    )


def told(goal: Bundle, project: str) -> dict[str, Any]:
    """What the opening is told."""
    stated = {wish.name: wish.said for wish in goal.wishes if wish.known == "stated"}
    budget = stated.pop("budget", "")
    return {"project": project, "list": stated.pop("list"), "budget": budget, "needs": list(stated.values())}


def ends(goal: Bundle, needs: Sequence[Need], least: int) -> dict[str, Any]:
    """What every right list is: for each category one of those that do, counted here, all together within the budget."""
    each = [
        {
            "category": one.category,
            "constraints": [constraint.model_dump(exclude_none=True) for constraint in goal_need.constraints],
            "do": int(np.count_nonzero(one.fits)),
            "cheapest": goal_need.cheapest[0] if goal_need.cheapest else "",
        }
        for one, goal_need in zip(needs, goal.needs, strict=True)
    ]
    return {"one of each": each, "at most": goal.budget, "cheapest list": least}


def id_at(store: Store, need: Need, at: int) -> str:
    found: str = store.ids[int(need.shelf.rows[at])].as_py()
    return found


def nearest_miss(
    store: Store, needs: Sequence[Need], ids: Sequence[list[str]], prices: Sequence[list[int]], budget: int
) -> dict[str, Any]:
    """The cheapest list but for one product, which breaks one demand; where there is none such, a category is left out."""
    best, least = [pair[0] for pair in ids], sum(price[0] for price in prices)
    for place, each in enumerate(needs):
        meets = met(each.shelf, each.demands)
        room = each.cents <= budget - least + prices[place][0]
        near = np.flatnonzero(each.stocked & room & (meets.sum(axis=0) == len(each.demands) - 1))
        if len(near):
            broken = next(one.name for one, row in zip(each.demands, meets, strict=True) if not row[near[0]])
            wrong = [*best[:place], id_at(store, each, int(near[0])), *best[place + 1 :]]
            return {"recommended_product_ids": wrong, "breaks": f"{broken} of {each.category}"}
    return {"recommended_product_ids": best[:-1], "breaks": "list"}
