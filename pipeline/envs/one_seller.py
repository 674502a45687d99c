"""A few things, all from one seller of the marketplace: most have several sellers, and few sellers have something for each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from random import Random
from typing import Any

import numpy as np

from shopwright.pipeline.envs.base import (
    INFEASIBLE,
    CannotDraw,
    DrawnTask,
    GoalScore,
    Solution,
    World,
    draw_disclosure,
)
from shopwright.pipeline.envs.constraints import list_variant_ids
from shopwright.pipeline.envs.customers import draw_customer
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.one_of_each import (
    COMPARING,
    MORE_DEMANDS,
    MOST_THINGS,
    CategoryNeed,
    ListEnv,
    ThingsGoal,
    add_sell_out,
    choose_list,
    contrast_needs,
    count_covered,
    draw_things,
    get_need_product_id,
    list_bundle_items,
    list_wish_slots,
    look_up_list,
    make_list_miss,
    make_list_slot,
    make_needed,
    name_sold_out_product,
    narrow_need,
    score_cover,
    try_draws,
)
from shopwright.pipeline.envs.substitution import get_store_item
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.store import Item, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.certificates import Assortment, Infeasible, Miss, NoSeller, OneOfEach

# Sellers that have something for each thing, at most.
FEW_SELLERS = 3
# Demands of which the best is taken.
TRIES = 6


class OneSeller(ListEnv):
    """A success is one product for each thing and no other, each in stock and as it is wanted, all of the same seller."""

    name = "one_seller"
    Goal = ThingsGoal
    refusals = ("not_found",)
    impossible = "no one seller has it all"
    more_turns = COMPARING

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        store, impossible = world.store, random.random() < INFEASIBLE
        needs, gone = try_draws(partial(draw_things_for_sellers, store, axes, random, impossible=impossible))
        sellers = [list_sellers_of(store, each) for each in needs]
        goal = make_sellers_goal(store, needs, axes, random).model_copy(
            update={"sold_out": list_variant_ids(store, gone)}
        )
        items = list_bundle_items(goal.needs, needs)
        if impossible:
            near = pick_by_largest_part(store, needs)
            goal = goal.model_copy(update={"refusal": "not_found", "right": near})
            proof = NoSeller(items=items, sellers=[name_sellers(store, each) for each in sellers])
            return DrawnTask(goal, {}, Infeasible(refusal="not_found", proof=proof), make_list_miss(near, "seller"))
        complete = sorted(set.intersection(*sellers), key=store.seller_names.__getitem__)
        right = find_cheapest_of_one(store, needs, complete)
        goal = draw_seller_sell_out(goal.model_copy(update={"right": right}), needs, complete, store, axes, random)
        acceptable = OneOfEach(
            items=items,
            least=sum(int(each.cents[each.cheapest[0]]) for each in needs),
            sells_out=name_sold_out_product(goal, store),
            sellers=[list_assortment(store, needs, each) for each in complete],
            right=right,
        )
        return DrawnTask(goal, {}, acceptable, find_seller_miss(store, needs, right, random))

    def solve(self, goal: ThingsGoal, shop: Shop, axes: Axes) -> Solution:
        yield from look_up_list(goal, shop, axes)
        yield self.hand_in(goal, choose_list(goal, shop))

    def open(self, goal: ThingsGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        said = {"list": stated.pop("list").said, "seller": stated.pop("seller").said}
        wishes = list_said(stated.values(), speaker, random)
        return Opening(self.name, {**said, "wishes": wishes}, {"each": "each wish" if wishes else ""})

    def score_list(self, goal: ThingsGoal, shop: Shop, named: Sequence[str]) -> GoalScore:
        """2 F1 - 1 over the things, of which those count that one seller has: the one with the most of them."""
        by_seller: dict[str, list[Item]] = {}
        for id in dict.fromkeys(named):
            row = shop.store.row(id)
            if row is not None and shop.is_in_stock(row):
                by_seller.setdefault(shop.store.seller_of(row), []).append(shop.store.item(row))
        covered = max((count_covered(goal.needs, items) for items in by_seller.values()), default=0)
        faults = []
        if covered < len(goal.needs):
            faults.append(f"{len(goal.needs) - covered} things are not covered by one seller")
        if len(named) > covered:
            faults.append(f"{len(named) - covered} products too many, or of another seller")
        return GoalScore(score_cover(covered, len(named), len(goal.needs)), not faults, "; ".join(faults))


def make_sellers_goal(store: Store, needs: Sequence[CategoryNeed], axes: Axes, random: Random) -> ThingsGoal:
    who = draw_customer(store, random)
    seller = make_slot("seller", "one seller", {}, "clause").model_copy(
        update={"topics": ["parcel", "shop", "address"]}
    )
    wanted = [make_list_slot(needs), seller, *list_wish_slots(needs)]
    slots = draw_disclosure(wanted, axes, random, always=["list", "seller"])
    return ThingsGoal(
        persona_id=who.id,
        now=who.now,
        slots=slots,
        needs=make_needed(store, needs),
        contrast=contrast_needs(needs, axes, random),
    )


# Sellers


def find_sellers(store: Store, need: CategoryNeed) -> np.ndarray:
    """Of each product of the category the place of its seller."""
    return store.sellers[need.shelf.rows]


def list_sellers_of(store: Store, need: CategoryNeed) -> set[int]:
    """Who has something that fits."""
    return set(find_sellers(store, need)[need.fits].tolist())


def list_categories_of(store: Store, seller: int) -> list[str]:
    """The categories in which a seller has something in stock, by name; all where these are too few for a list."""
    own = np.unique(store.leaf_of[store.in_stock & (store.sellers == seller)])
    return sorted(store.leaves[leaf] for leaf in own.tolist()) if len(own) > MOST_THINGS else store.leaves


def list_complete_sellers(store: Store, needs: Sequence[CategoryNeed]) -> list[int]:
    """Who has something for each, in an order that hangs on nothing but them."""
    return sorted(set.intersection(*(list_sellers_of(store, each) for each in needs)))


def name_sellers(store: Store, places: set[int]) -> list[str]:
    return sorted(store.seller_names[each] for each in places)


def draw_things_for_sellers(
    store: Store, axes: Axes, random: Random, *, impossible: bool
) -> tuple[list[CategoryNeed], list[int]]:
    """Things that few sellers have all of, and each of which has two sellers or more; rows of what is sold out, lest one has all."""
    needs = draw_things(store, axes, random, among=list_categories_of(store, random.randrange(len(store.seller_names))))
    leave_few_sellers(store, needs, axes, random)
    random.shuffle(needs)
    if min(len(list_sellers_of(store, each)) for each in needs) < 2:
        raise CannotDraw("a thing has one seller only")
    # Of a task that can be done, too: what is asked for does not tell which is which.
    complete = list_complete_sellers(store, needs)
    places = [place for place, each in enumerate(needs) if len(list_sellers_of(store, each) - {*complete}) > 1]
    if not places:
        raise CannotDraw("no thing has two sellers beside those that have all")
    return needs, sell_out_at(store, needs, random.choice(places), complete) if impossible else []


def sell_out_at(store: Store, needs: list[CategoryNeed], place: int, sellers: list[int]) -> list[int]:
    """Sells out what fits of one of the things at these sellers; its rows."""
    need = needs[place]
    gone = need.fits & np.isin(find_sellers(store, need), sellers)
    needs[place] = replace(need, stocked=need.stocked & ~gone, fits=need.fits & ~gone)
    found: list[int] = need.shelf.rows[gone].tolist()
    return found


def leave_few_sellers(store: Store, needs: list[CategoryNeed], axes: Axes, random: Random) -> None:
    """Adds demands that one seller meets everywhere, until few others do and guessing finds none. Raises CannotDraw where that does not come about.

    Of some demands that by which a guess succeeds least: on a shop with few facts most demands leave everything right that seems so.
    """
    complete = list_complete_sellers(store, needs)
    if not complete:
        raise CannotDraw("no seller has something of each category")
    seller = random.choice(complete)
    for number in range(axes.constraints - 1 + MORE_DEMANDS):
        few = len(list_complete_sellers(store, needs)) <= FEW_SELLERS
        if number >= axes.constraints - 1 and few and is_hard_to_guess(store, needs, axes):
            return
        place = number % len(needs)
        tried: list[list[CategoryNeed]] = []
        for _ in range(TRIES):
            tried.append(needs.copy())
            narrow_for_sellers(store, tried[-1], place, axes, random, find_sellers(store, needs[place]) == seller)
        needs[:] = min(tried, key=lambda each: measure_guess(store, each))
    raise CannotDraw("too many sellers have something for each thing, or a guess finds one that does")


def narrow_for_sellers(
    store: Store, needs: list[CategoryNeed], place: int, axes: Axes, random: Random, among: np.ndarray
) -> None:
    """One demand more at a place that one of these products meets; none where it would have one seller only."""
    picked = narrow_need(needs[place], axes, random, among=among, span=True)
    if len(list_sellers_of(store, picked)) > 1:
        needs[place] = picked


def is_hard_to_guess(store: Store, needs: Sequence[CategoryNeed], axes: Axes) -> bool:
    """Whether a guess is right at most once for so many look-alikes as the level has, and the cheapest that seems right is not."""
    return measure_guess(store, needs) * (1 + axes.look_alikes) <= 1 and not is_cheapest_of_one(store, needs)


def measure_guess(store: Store, needs: Iterable[CategoryNeed]) -> float:
    """How often a guess is right that takes a seller who seems to have all, and for each thing something of it that seems right."""
    count = len(store.seller_names)
    seems, share = np.ones(count, dtype=bool), np.ones(count)
    for each in needs:
        sellers, near = find_sellers(store, each), find_seeming(each)
        of_seller = np.bincount(sellers[near], minlength=count)
        right = np.bincount(sellers[near & each.fits], minlength=count)
        seems &= of_seller > 0
        share *= right / np.maximum(of_seller, 1)
    return float(share[seems].mean()) if seems.any() else 1.0


@lru_cache(256)  # of some tries each differs from the others at one place
def find_seeming(need: CategoryNeed) -> np.ndarray:
    """What is in stock, not above the price asked for, of the brand, and has as many words of what is asked for in its title as what does."""
    asked = list(chain.from_iterable(each.constraints for each in need.demands))
    shown = [each for each in asked if each.fact == "brand" or (each.fact == "price" and each.op == "at most")]
    words = need.shelf.count_words_in_titles(" ".join(each.value for each in asked if each.op == "is"))
    near: np.ndarray = need.stocked & need.shelf.where(shown)
    return near & (words >= words[need.fits].max(initial=0))


def is_cheapest_of_one(store: Store, needs: Sequence[CategoryNeed]) -> bool:
    """Whether the cheapest product for each thing is of one seller, so that nobody had to look at sellers."""
    return len({int(find_sellers(store, each)[each.cheapest[0]]) for each in needs}) == 1


# Lists


def pick_of_seller(store: Store, need: CategoryNeed, seller: int, *, but: str = "") -> str:
    """The cheapest product of a seller that fits, or one of the cheapest; empty where there is none."""
    places = np.flatnonzero(need.fits & (find_sellers(store, need) == seller))
    for at in places[np.argsort(need.cents[places], kind="stable")].tolist():
        if (found := get_need_product_id(store, need, at)) != but:
            return found
    return ""


def find_cheapest_of_one(
    store: Store, needs: Sequence[CategoryNeed], sellers: Iterable[int], *, but: str = ""
) -> list[str]:
    """The cheapest list of one of these sellers without a certain product; empty where there is none."""
    lists = []
    for seller in sellers:
        found = [pick_of_seller(store, each, seller, but=but) for each in needs]
        if all(found):
            lists.append(found)
    return min(lists, key=lambda ids: sum(get_store_item(store, id).cents for id in ids), default=[])


def pick_by_largest_part(store: Store, needs: Sequence[CategoryNeed]) -> list[str]:
    """What the seller with the most of it has, and the cheapest of the rest."""
    counts = Counter(chain.from_iterable(list_sellers_of(store, each) for each in needs))
    seller = min(counts, key=lambda each: (-counts[each], each))
    found = []
    for each in needs:
        found.append(pick_of_seller(store, each, seller) or get_need_product_id(store, each, each.cheapest[0]))
    return found


def list_assortment(store: Store, needs: Sequence[CategoryNeed], seller: int) -> Assortment:
    found = []
    for each in needs:
        places = np.flatnonzero(each.fits & (find_sellers(store, each) == seller))
        found.append([get_need_product_id(store, each, at) for at in places.tolist()])
    return Assortment(seller=store.seller_names[seller], product_ids=found)


def draw_seller_sell_out(
    goal: ThingsGoal, needs: Sequence[CategoryNeed], complete: Sequence[int], store: Store, axes: Axes, random: Random
) -> ThingsGoal:
    """The same where one of the products is sold out on the way, by chance, and there is another list."""
    spares = [(id, find_cheapest_of_one(store, needs, complete, but=id)) for id in goal.right]
    spares = [(id, spare) for id, spare in spares if spare]
    if not spares or random.random() >= axes.sells_out:
        return goal
    gone, spare = random.choice(spares)
    return add_sell_out(goal, spare, gone, store, axes, random)


def find_seller_miss(store: Store, needs: Sequence[CategoryNeed], right: list[str], random: Random) -> Miss:
    """The list with one product of another seller."""
    place = random.randrange(len(needs))
    need = needs[place]
    mine = store.row(right[place])
    assert mine is not None
    others = np.flatnonzero(need.fits & (find_sellers(store, need) != int(store.sellers[mine])))
    at = int(others[np.argmin(need.cents[others])])
    return make_list_miss([*right[:place], get_need_product_id(store, need, at), *right[place + 1 :]], "seller")
