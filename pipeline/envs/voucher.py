"""A few things within a budget that only a voucher makes enough: the list has to meet its terms, which the cheapest products do not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from random import Random
from typing import Any, Literal

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
from shopwright.pipeline.envs.constraints import format_limit
from shopwright.pipeline.envs.customers import draw_customer
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.one_of_each import (
    COMPARING,
    MORE_DEMANDS,
    CategoryNeed,
    ListEnv,
    ThingsGoal,
    add_sell_out,
    choose_list,
    contrast_needs,
    count_covered,
    count_lists,
    draw_things,
    get_need_product_id,
    list_bundle_items,
    list_known_items,
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
from shopwright.pipeline.envs.substitution import is_product_in_stock
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated
from shopwright.pipeline.phrases.speaker import Speaker, spell_dollars
from shopwright.pipeline.shop.store import Store
from shopwright.pipeline.shop.tools import SELLER_THINGS, Shop, compute_discount
from shopwright.schemas.certificates import Infeasible, NoList, OneOfEach
from shopwright.schemas.shop import Voucher
from shopwright.schemas.tasks import Call, Slot

# Lists that are gone through for one task, at most; what is asked for is made narrower until there are no more.
MOST_LISTS = 60_000
# Vouchers that are tried on the same things.
TRIES = 12
# Of what a voucher asks for, what it takes off; as shops have them.
SHARES = (5, 10, 15, 20, 25, 30)
# Whole dollars that vouchers take off.
AMOUNTS = (5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)
KINDS: tuple[Literal["amount", "share", "seller"], ...] = ("amount", "share", "seller")
# Cents below which no shop gives a voucher: what an order comes to, and what a share takes off.
LEAST_ORDER, LEAST_OFF = 1_500, 300
# A budget that is too small is so by 1 to 10 percent.
TOO_SMALL = (0.9, 0.99)
# Of all lists those that are right, at most.
FEW_RIGHT = Fraction(1, 5)


class VoucherGoal(ThingsGoal):
    """A few things, the voucher, and the most that all may cost once it is taken off."""

    voucher: Voucher
    budget: int
    """Cents."""


@dataclass(frozen=True)
class Lists:
    """Every list of one product for each need, as an array with a dimension for each; a price is in cents."""

    places: list[np.ndarray]
    """Of each need the places of its products on its shelf."""
    total: np.ndarray
    sellers: list[np.ndarray]
    """Of each need the sellers of its products."""
    cents: list[np.ndarray]

    def of_seller(self, seller: int) -> tuple[np.ndarray, np.ndarray]:
        """Of each list how many things are of a seller, and what they cost."""
        mine = [sellers == seller for sellers in self.sellers]
        return add_outer(mine), add_outer([cents * own for cents, own in zip(self.cents, mine, strict=True)])


class VoucherShopping(ListEnv):
    """A success is one product for each thing and no other, which cost no more than the budget once the voucher is taken off."""

    name = "voucher"
    Goal = VoucherGoal
    refusals = ("over_budget",)
    impossible = "no list is within the budget"
    more_turns = COMPARING

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        store, impossible = world.store, random.random() < INFEASIBLE
        needs, lists, voucher, pays, budget = try_draws(
            partial(draw_terms_for_things, store, axes, random, impossible=impossible)
        )
        best, least = int(pays.min()), int(lists.total.min())
        goal = make_voucher_goal(store, needs, voucher, budget, axes, random)
        items = list_bundle_items(goal.needs, needs)
        near = name_list(store, needs, lists, np.unravel_index(int(pays.argmin()), pays.shape))
        cheapest = [get_need_product_id(store, each, each.cheapest[0]) for each in needs]
        if impossible:
            goal = goal.model_copy(update={"refusal": "over_budget", "right": near})
            proof = NoList(items=items, budget=budget, least=best, voucher=voucher)
            return DrawnTask(goal, {}, Infeasible(refusal="over_budget", proof=proof), make_list_miss(near, "budget"))
        fine = pays <= budget
        at = np.argwhere(fine)[random.randrange(int(fine.sum()))]
        goal = goal.model_copy(update={"right": name_list(store, needs, lists, at)})
        goal = draw_list_sell_out(goal, needs, lists, fine, at, store, axes, random)
        acceptable = OneOfEach(
            items=items,
            budget=budget,
            least=least,
            sells_out=name_sold_out_product(goal, store),
            voucher=voucher,
            lists=int(fine.sum()),
            right=goal.right,
        )
        return DrawnTask(goal, {}, acceptable, make_list_miss(cheapest, "budget"))

    def shop(self, world: World, goal: VoucherGoal, axes: Axes, seed: str) -> Shop:
        """The shop, in which the customer holds the voucher."""
        found = super().shop(world, goal, axes, seed)
        found.vouchers = (goal.voucher,)
        return found

    def solve(self, goal: VoucherGoal, shop: Shop, axes: Axes) -> Solution:
        told = any(slot.name == "voucher" and slot.known == "stated" for slot in goal.slots)
        yield from look_up_list(goal, shop, axes, [] if told else [Call(name="voucher_list")])
        yield self.hand_in(goal, choose_list(goal, shop))

    def open(self, goal: VoucherGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        listed, terms, budget = stated.pop("list").said, stated.pop("voucher", None), stated.pop("budget", None)
        wishes = list_said(stated.values(), speaker, random)
        said = {"list": listed, "terms": terms.said if terms else "", "budget": budget.said if budget else ""}
        return Opening(
            self.name,
            {**said, "wishes": wishes},
            {
                "with": "tells voucher" if terms else "has voucher",
                "spend": "spend so much" if budget else "",
                "each": "each wish" if wishes else "",
            },
        )

    def score_list(self, goal: VoucherGoal, shop: Shop, named: Sequence[str]) -> GoalScore:
        """2 F1 - 1 over the things; over the budget less a half, and less the share by which it is over; at least -1."""
        known = list_known_items(shop, named)
        covered = count_covered(goal.needs, [item for item in known if is_product_in_stock(shop, item.id)])
        things = [(item.cents, shop.store.seller_of(item.row)) for item in known]
        over = sum(cents for cents, _ in things) - compute_discount(goal.voucher, things) - goal.budget
        faults = []
        if covered < len(goal.needs):
            faults.append(f"{len(goal.needs) - covered} things are not covered")
        if len(named) > covered:
            faults.append(f"{len(named) - covered} products too many")
        if over > 0:
            faults.append(f"{format_limit(over)} over the budget, with the voucher")
        less = Fraction(1, 2) + Fraction(over, goal.budget) if over > 0 else Fraction(0)
        return GoalScore(
            max(Fraction(-1), score_cover(covered, len(named), len(goal.needs)) - less), not faults, "; ".join(faults)
        )


# What is wanted


def draw_terms_for_things(
    store: Store, axes: Axes, random: Random, *, impossible: bool
) -> tuple[list[CategoryNeed], Lists, Voucher, np.ndarray, int]:
    """Things, all lists of them, a voucher, what each list costs with it, and a budget."""
    needs = draw_things(store, axes, random)
    narrow_to_demands(needs, axes, random)
    random.shuffle(needs)
    lists = list_all(store, needs)
    voucher, pays = draw_voucher(store, lists, random)
    # Drawn for both, so that the same things, and budgets to the cent, are as frequent where the budget is too small.
    budget = draw_enough_budget(lists, pays, axes, random)
    if impossible:
        budget = draw_small_budget(int(pays.min()), random, whole=budget % 100 == 0)
    return needs, lists, voucher, pays, budget


def narrow_to_demands(needs: list[CategoryNeed], axes: Axes, random: Random) -> None:
    """Adds the demands of the level, and more where too many lists are left. Raises CannotDraw where these do not do."""
    for number in range(axes.constraints - 1):
        place = number % len(needs)
        needs[place] = narrow_need(needs[place], axes, random)
    for _ in range(MORE_DEMANDS):
        if count_lists(needs) <= MOST_LISTS:
            return
        place = max(range(len(needs)), key=lambda each: np.count_nonzero(needs[each].fits))
        needs[place] = narrow_need(needs[place], axes, random)
    if count_lists(needs) > MOST_LISTS:
        raise CannotDraw("too many lists can be made of what is asked for")


def make_voucher_goal(
    store: Store, needs: Sequence[CategoryNeed], voucher: Voucher, budget: int, axes: Axes, random: Random
) -> VoucherGoal:
    who = draw_customer(store, random)
    wanted = [
        make_list_slot(needs),
        slot_of_voucher(voucher),
        make_slot("budget", "voucher budget", spell_dollars(budget), "clause"),
        *list_wish_slots(needs),
    ]
    slots = draw_disclosure(wanted, axes, random, always=["list"])
    # What the shopper does not say of a voucher, the shop's own list of vouchers does.
    slots = [each.model_copy(update={"known": "inferable"}) if is_untold_voucher(each) else each for each in slots]
    needed = make_needed(store, needs)
    return VoucherGoal(
        persona_id=who.id,
        now=who.now,
        slots=slots,
        needs=needed,
        voucher=voucher,
        budget=budget,
        contrast=contrast_needs(needs, axes, random),
    )


def is_untold_voucher(slot: Slot) -> bool:
    return slot.name == "voucher" and slot.known == "asked"


def slot_of_voucher(voucher: Voucher) -> Slot:
    facts = {"off": format_limit(voucher.off), "percent": f"{voucher.percent}", "most": format_limit(voucher.most)}
    facts |= {"least": format_limit(voucher.least), "seller": voucher.seller}
    meaning = "voucher amount" if voucher.off else "voucher seller" if voucher.seller else "voucher share"
    said = {"voucher amount": ("off", "least"), "voucher seller": ("percent", "most", "seller")}
    names = said.get(meaning, ("percent", "most", "least"))
    slot = make_slot("voucher", meaning, {name: facts[name] for name in names}, "clause")
    return slot.model_copy(update={"topics": ["coupon", "discount", "code"]})


# Lists


def add_outer(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Each sum of one number of each column.

    >>> add_outer([np.array([1, 2]), np.array([10, 20, 30])]).tolist()
    [[11, 21, 31], [12, 22, 32]]
    """
    return reduce(np.add.outer, [column.astype(np.int64) for column in columns])


def list_all(store: Store, needs: Sequence[CategoryNeed]) -> Lists:
    places = [np.flatnonzero(each.fits) for each in needs]
    cents = [each.cents[at] for each, at in zip(needs, places, strict=True)]
    sellers = [store.sellers[each.shelf.rows[at]] for each, at in zip(needs, places, strict=True)]
    return Lists(places, add_outer(cents), sellers, cents)


def name_list(store: Store, needs: Sequence[CategoryNeed], lists: Lists, at: Sequence[Any]) -> list[str]:
    """The products of the list at this place."""
    found = []
    for need, places, one in zip(needs, lists.places, at, strict=True):
        found.append(get_need_product_id(store, need, int(places[int(one)])))
    return found


def compute_payments(voucher: Voucher, lists: Lists, seller: int) -> np.ndarray:
    """What each list costs once the voucher is taken off; `seller` is the place of the voucher's, if it has one."""
    met, counts = lists.total >= voucher.least, lists.total
    if voucher.seller:
        things, counts = lists.of_seller(seller)
        met &= things >= SELLER_THINGS
    share = np.minimum(voucher.most, counts * voucher.percent // 100)
    off = share if voucher.percent else np.minimum(voucher.off, counts)
    return lists.total - np.where(met, off, 0)


def draw_voucher(store: Store, lists: Lists, random: Random) -> tuple[Voucher, np.ndarray]:
    """A voucher that only other lists than the cheapest make the most of, and what each list costs with it."""
    kinds = [random.choice(KINDS) for _ in range(TRIES)]
    for kind in kinds:
        seller = draw_voucher_seller(lists, random) if kind == "seller" else -1
        voucher = draw_terms(kind, lists, seller, store, random)
        if voucher is None:
            continue
        pays = compute_payments(voucher, lists, seller)
        # Worth having: without meeting its terms nobody pays so little.
        if int(pays.min()) < int(lists.total.min()) == int(pays.flat[int(lists.total.argmin())]):
            return voucher, pays
    raise CannotDraw("no voucher is worth having for these things")


def draw_terms(
    kind: Literal["amount", "share", "seller"], lists: Lists, seller: int, store: Store, random: Random
) -> Voucher | None:
    """A voucher of this kind; None where these things are too cheap for one, or no seller has two of them."""
    least = int(lists.total.min())
    dear = lists.total[lists.total <= least * 2]
    share = random.choice(SHARES)
    if kind == "seller":
        if seller < 0:
            return None
        most = draw_most_off(least, share, random)
        return Voucher(percent=share, most=most, seller=store.seller_names[seller]) if most else None
    # A round number of dollars above what the cheapest list costs, and within reach of others.
    step = 500 if least >= 2_000 else 100
    reach = -(-(least + 1) // step) * step + step * random.randrange(3)
    if reach < LEAST_ORDER or not (dear >= reach).any():
        return None
    if kind == "amount":
        fine = [each * 100 for each in AMOUNTS if 20 * 100 * each >= reach and 4 * 100 * each <= reach]
        return Voucher(off=random.choice(fine), least=reach) if fine else None
    most = draw_most_off(reach, share, random)
    return Voucher(percent=share, most=most, least=reach) if most else None


def draw_most_off(cents: int, share: int, random: Random) -> int:
    """The most that a share of about so much may come to: whole dollars, from 20 on in fives; 0 where that is too little."""
    found = int(cents * share / 100 * random.uniform(0.7, 1.6))
    step = 500 if found >= 2_000 else 100
    return found // step * step if found >= LEAST_OFF else 0


def draw_voucher_seller(lists: Lists, random: Random) -> int:
    """A seller that has something for two things or more; -1 where there is none."""
    having = [set(sellers.tolist()) for sellers in lists.sellers]
    every = sorted(set.union(*having))
    fine = [each for each in every if sum(each in own for own in having) >= SELLER_THINGS]
    return random.choice(fine) if fine else -1


def draw_enough_budget(lists: Lists, pays: np.ndarray, axes: Axes, random: Random) -> int:
    """Whole dollars, if it can be: enough for a list with the voucher, and for none without it. The harder, the fewer lists do."""
    best, least = int(pays.min()), int(lists.total.min())
    budget = best + int((least - best) * axes.slack * random.random())
    rounded = -(-budget // 100) * 100
    budget = rounded if rounded < least else budget
    if Fraction(int(np.count_nonzero(pays <= budget)), pays.size) > FEW_RIGHT:
        raise CannotDraw("nearly every list is right")
    return budget


def draw_small_budget(best: int, random: Random, *, whole: bool) -> int:
    """Less than what the best list costs with the voucher. whole: in dollars."""
    found = int(best * random.uniform(*TOO_SMALL))
    return found // 100 * 100 or found if whole else found


def draw_list_sell_out(
    goal: VoucherGoal,
    needs: Sequence[CategoryNeed],
    lists: Lists,
    fine: np.ndarray,
    at: Sequence[Any],
    store: Store,
    axes: Axes,
    random: Random,
) -> VoucherGoal:
    """The same where one of the products is sold out on the way, by chance, and there is another list."""
    spares = []
    for place, one in enumerate(at):
        left = fine.copy()
        np.moveaxis(left, place, 0)[int(one)] = False
        if left.any():
            spares.append((goal.right[place], name_list(store, needs, lists, np.argwhere(left)[0])))
    if not spares or random.random() >= axes.sells_out:
        return goal
    gone, spare = random.choice(spares)
    changed = add_sell_out(goal, spare, gone, store, axes, random)
    assert isinstance(changed, VoucherGoal)
    return changed
