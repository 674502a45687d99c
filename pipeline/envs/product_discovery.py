"""Find the products of a kind that satisfy everything the shopper asks for, the ones it would like best first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor, log2
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from shopwright.pipeline.envs.base import (
    INFEASIBLE,
    CannotDraw,
    DrawnTask,
    Env,
    Goal,
    GoalScore,
    SellOut,
    Solution,
    World,
    draw_disclosure,
)
from shopwright.pipeline.envs.constraints import contrast_products
from shopwright.pipeline.envs.customers import VisitingCustomer, draw_customer
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated, slot_of_constraint
from shopwright.pipeline.phrases.speaker import Speaker, drop_article
from shopwright.pipeline.shop.store import NUMBERS, Item, Shelf, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.pipeline.shop.user_simulator import WHOLE, draw_preferences
from shopwright.schemas.certificates import AnyOf, Constraint, End, Infeasible, Miss, NothingFits
from shopwright.schemas.tasks import Action, Answer, Call, Slot

# Weights of the order, of the constraints and of being in stock (EcomRLVE-GYM, product discovery).
RANK, FITS, STOCK = Fraction(55, 100), Fraction(35, 100), Fraction(10, 100)
# Of which what a shopper likes of a product is a whole number, for each thing that it weighs.
PARTS = 1_000
# Days from which shipping is as slow as it can be.
LONGEST_SHIPPING = 14
# Parts of which the discount of a place in the list is a whole number.
DISCOUNTS = 10**6
# Products looked at for a task.
TRIES = 12
# Ways to choose the constraints of a product.
CONSTRAINT_DRAWS = 8
# So many products for each right one have the words that the shopper says, so that a search for these is not enough.
DECOYS = 3
# Constraints, where there are so many, that each have as many products that meet all but them as there are right ones: to leave one out is to guess.
DECIDING = 3
# Right products; of more nobody needs help to find one.
MOST = 300
# Characters of a value that a shopper says.
LONGEST = 60


class DiscoveryGoal(Goal):
    """What a product must be, and what the shopper likes beside."""

    category: str
    constraints: list[Constraint]
    weights: dict[str, int]
    """How much the shopper weighs price, rating, shipping, brand and similarity, in parts of WHOLE."""
    limit: int
    """In cents: what costs so much is no longer cheap."""
    reference: str
    """The product of this category that the shopper looked at last; brand and similarity are its. Empty: none."""
    most: int
    """Products that may be recommended."""
    power: int
    """The higher, the less a product is worth that misses a constraint."""


@dataclass(frozen=True)
class RankedProducts:
    """The right products, the one that the shopper would like best first."""

    rows: np.ndarray
    gains: np.ndarray

    def ideal(self, most: int) -> list[int]:
        gains: list[int] = self.gains[:most].tolist()
        return gains


class ProductDiscovery(Env):
    """Every recommended product must satisfy all constraints and be in stock, and there must be one.

    That is success; to rank by what the shopper likes, which it tells when asked, and to use all places earns the rest
    of the reward: .55 (2 nDCG - 1) + .35 (2 s ** (4 + d // 4) - 1) + .10 stock, where only right products have a gain,
    nDCG counts by the share of the list that is right, s is the best share of constraints that a product of the list
    meets, and stock is 1 less twice the share that is sold out. So the perfect list earns exactly 1. All numbers are
    whole or fractions. Where no product satisfies all, the right answer is to refuse with not_found and name none.
    """

    name = "product_discovery"
    Goal = DiscoveryGoal
    refusals = ("not_found",)

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        store, who = world.store, draw_customer(world.store, random)
        infeasible = random.random() < INFEASIBLE
        sells_out = not infeasible and random.random() < axes.sells_out
        for _ in range(TRIES):
            row = random.randrange(len(store))
            shelf = store.shelf(int(store.leaf_of[row]))
            place = int(np.searchsorted(shelf.rows, row))
            for _ in range(CONSTRAINT_DRAWS):
                drawn = None
                found = draw_discovery_constraints(store, shelf, place, axes, random, together=sells_out)
                if found:
                    drawn = make_discovery_task(store, who, shelf, found, axes, random, sells_out=sells_out)
                if drawn is not None and infeasible:
                    # spoilt from a task that can be done, so that it looks like one
                    found = spoil_constraint(shelf, place, found or [], random)
                    drawn = make_discovery_task(store, who, shelf, found, axes, random) if found else None
                if drawn is not None:
                    return drawn
        raise CannotDraw(
            f"no product in stock with {axes.constraints} facts that a shopper could ask for and that few others meet"
        )

    def solve(self, goal: DiscoveryGoal, shop: Shop, axes: Axes) -> Solution:
        search = Call(name="catalog_search", args=make_search_args(goal))
        yield Action(tool_calls=[search])
        if not goal.feasible:
            yield Action(answer=Answer(env=self.name, refusal=goal.refusal))
            return
        while True:
            ids = get_product_ids(shop.store, rank_discoveries(goal, shop.store, shop.gone).rows[: goal.most])
            going = shop.store.option_of(goal.event.variants[0]) if goal.event else None
            unseen = [id for id in ids if id not in shop.seen]
            # What will be sold out is looked at last: it may be gone by then.
            unseen.sort(key=lambda id: bool(going and going.product_id == id))
            calls = [Call(name="catalog_get_product", args={"product_id": id}) for id in unseen[: axes.tool_calls]]
            answer = Answer(env=self.name, recommended_product_ids=ids) if len(unseen) <= axes.tool_calls else None
            yield Action(tool_calls=calls, answer=answer)

    def open(self, goal: DiscoveryGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        thing = stated.pop("category").said
        said = {"thing": thing, "bare": drop_article(thing), **facts}
        if not stated:
            return Opening("product_discovery open", said)
        return Opening("product_discovery", {**said, "list": list_said(stated.values(), speaker, random)})

    def score(self, goal: DiscoveryGoal, shop: Shop, answer: Answer | None) -> GoalScore:
        named = answer.recommended_product_ids if answer else []
        if answer is None or answer.refusal != goal.refusal:
            refused = answer is not None and bool(answer.refusal)
            return GoalScore(Fraction(-1), False, "a needless refusal" if refused else f"not refused as {goal.refusal}")
        if not goal.feasible:
            return GoalScore(Fraction(-1 if named else 1), not named, "refused and recommended" if named else "")
        if not named:
            return GoalScore(Fraction(-1), False, "nothing was recommended")
        best = rank_discoveries(goal, shop.store, shop.gone)
        gains = dict(zip(get_product_ids(shop.store, best.rows), best.gains.tolist(), strict=True))
        # A product that is named twice gains once.
        counted = [gains.get(id, 0) if id not in named[:place] else 0 for place, id in enumerate(named)]
        right = sum(gain > 0 for gain in counted)
        items = [shop.store.item(row) for id in named if (row := shop.store.row(id)) is not None]
        fits = max((measure_met_share(goal, item) for item in items), default=Fraction(0)) ** goal.power
        out = Fraction(len(named) - sum(shop.is_in_stock(item.row) for item in items), len(named))
        ndcg = Fraction(compute_dcg(counted), compute_dcg(best.ideal(goal.most)))
        rank = ndcg * Fraction(right, len(named))
        task = RANK * (2 * rank - 1) + FITS * (2 * fits - 1) + STOCK * (1 - 2 * out)
        success = right == len(named)
        return GoalScore(task, success, "" if success else "not every product is what was asked for")


# What is asked for


def make_discovery_task(
    store: Store,
    who: VisitingCustomer,
    shelf: Shelf,
    constraints: list[Constraint],
    axes: Axes,
    random: Random,
    *,
    sells_out: bool = False,
) -> DrawnTask | None:
    """The task of these constraints; None where it is too easy, has no nearest miss, or nothing that could be sold out."""
    category, stocked = store.leaves[int(store.leaf_of[shelf.rows[0]])], store.in_stock[shelf.rows]
    meets = np.array([shelf.meets(each) for each in constraints])
    feasible = bool(meets.all(axis=0).any())
    if feasible and not has_deciding_constraints(meets, stocked):
        return None
    wanted = [make_slot("category", "thing", {"category": category}, "thing", category)]
    for each in constraints:
        exact = each.fact != "price" or bool((shelf.numbers["price"] == each.number).any())
        wanted.append(slot_of_constraint(each, exact=exact))
    slots = draw_disclosure(wanted, axes, random, always=["category"])
    miss = find_nearest_product(store, shelf, constraints, meets)
    if miss is None:
        return None
    if feasible and not is_hard_search(meets, stocked, constraints, slots):
        return None
    goal = make_discovery_goal(store, who, shelf, category, constraints, slots, axes, random)
    goal = goal if feasible else goal.model_copy(update={"refusal": "not_found"})
    best = rank_discoveries(goal, store, set())
    if sells_out:
        if len(best.rows) < 2:  # another one must be right when the best is gone
            return None
        variants = [option.id for option in store.options(int(best.rows[0]))]
        goal = goal.model_copy(update={"event": SellOut(after=random.randint(1, 2), variants=variants)})
    return DrawnTask(goal, {"most": str(axes.recommendations)}, list_right_products(goal, store, best, shelf), miss)


def make_discovery_goal(
    store: Store,
    who: VisitingCustomer,
    shelf: Shelf,
    category: str,
    constraints: list[Constraint],
    slots: list[Slot],
    axes: Axes,
    random: Random,
) -> DiscoveryGoal:
    """The goal, with what the shopper likes."""
    reference = find_last_viewed(store, who, shelf)
    weights = {name: int(weight * WHOLE) for name, weight in draw_preferences(slots, random).items()}
    return DiscoveryGoal(
        persona_id=who.id,
        now=who.now,
        slots=[*slots, describe_preferences(weights, reference, constraints)],
        category=category,
        constraints=constraints,
        weights=weights,
        limit=round(next(each.number or 0 for each in constraints if each.fact == "price")),
        reference=reference.id if reference else "",
        most=axes.recommendations,
        power=4 + axes.difficulty // 4,
        contrast=contrast_products(shelf, constraints, axes, random),
    )


def draw_discovery_constraints(
    store: Store, shelf: Shelf, place: int, axes: Axes, random: Random, *, together: bool
) -> list[Constraint] | None:
    """As many constraints as the level asks for that a product meets, the price first; None where it has too few.

    together: that another one in stock meets as well, so that one of them can be sold out; as many as the two share.
    """
    stocked = store.in_stock[shelf.rows]
    if not stocked[place]:
        return None
    places, facts = [place], list_sayable_facts(shelf, place, axes.constraints)
    if together:
        same = np.array([match_fact_like(shelf, fact, place) for fact in facts])
        shared = np.where(stocked, np.minimum(same.sum(axis=0), axes.constraints), 0)
        shared[place] = 0
        others = np.flatnonzero(shared == shared.max())
        places.append(int(others[random.randrange(len(others))]))
        facts = [fact for fact, shared in zip(facts, same[:, places[1]].tolist(), strict=True) if shared]
    random.shuffle(facts)
    facts = ["price", *(fact for fact in facts if fact != "price")][: axes.constraints]
    return [make_shared_constraint(shelf, places, fact, axes, random) for fact in facts] if len(facts) > 1 else None


def match_fact_like(shelf: Shelf, fact: str, place: int) -> np.ndarray:
    """Which products a constraint can hold for that also holds for this one."""
    found: np.ndarray = (
        ~np.isnan(shelf.numbers[fact]) if fact in NUMBERS else shelf.codes[fact] == shelf.codes[fact][place]
    )
    return found


def list_sayable_facts(shelf: Shelf, place: int, count: int) -> list[str]:
    """The facts of a product that can be said in a few words: those that tell it from others, and more if they are too few."""
    known = [name for name in NUMBERS if not np.isnan(shelf.numbers[name][place])]
    common: list[str] = []
    for name, codes in shelf.codes.items():
        code = int(codes[place])
        if name in (*NUMBERS, "category") or code < 0:
            continue
        if not is_short_value(shelf.values[name][code]) or is_identifying_fact(shelf, name):
            continue
        # What all products of the shelf have says nothing, and is asked only where there is too little else.
        (common if (codes == code).all() else known).append(name)
    return known + common[: max(0, count - len(known))]


def is_identifying_fact(shelf: Shelf, fact: str) -> bool:
    """Whether it is the product's own, as a model number is: what nobody asks for who looks for a kind of thing."""
    known = int((shelf.codes[fact] >= 0).sum())
    return fact not in ("brand", "color") and 2 * len(shelf.values[fact]) > known


def is_short_value(value: str) -> bool:
    return 0 < len(value) <= LONGEST and value.isprintable() and value == value.strip(" .")


def make_shared_constraint(shelf: Shelf, places: list[int], fact: str, axes: Axes, random: Random) -> Constraint:
    """What these products meet: numbers are looser than the worst of theirs by chance, at most by the level's slack."""
    if fact not in NUMBERS:
        return Constraint(fact=fact, op="is", value=shelf.values[fact][int(shelf.codes[fact][places[0]])])
    numbers, loose = shelf.numbers[fact][places], 1 + axes.slack * random.random()
    if fact == "price":
        return make_price_limit(ceil(float(numbers.max()) * loose / 100))  # whole dollars
    if fact == "shipping days":
        days = floor(float(numbers.max()) * loose)
        return Constraint(fact=fact, op="at most", value=str(days), number=days)
    rating = float(numbers.min())
    # Ratings begin at 1, so the slack is a share of what lies above.
    tenths = floor(10 * (rating - (rating - 1) * (1 - 1 / loose)))
    return Constraint(fact=fact, op="at least", value=f"{tenths / 10}", number=tenths / 10)


def make_price_limit(dollars: int) -> Constraint:
    """
    >>> make_price_limit(40).value
    '$40'
    """
    return Constraint(fact="price", op="at most", value=f"${dollars}", number=100 * dollars)


def spoil_constraint(
    shelf: Shelf, place: int, constraints: list[Constraint], random: Random
) -> list[Constraint] | None:
    """The constraints with one changed so that no product of the kind meets all, in stock or not; None where that fails.

    Either the price is below every other that fits, or a value is one that nothing else goes with.
    """
    at = random.randrange(len(constraints))
    fact, others = constraints[at].fact, [*constraints[:at], *constraints[at + 1 :]]
    fitting = shelf.where(others)
    if constraints[at].op == "is":
        codes, values = shelf.codes[fact], shelf.values[fact]
        used = set(codes[fitting].tolist())
        free = [code for code in np.unique(codes).tolist() if code >= 0 and code not in used]
        said = [values[code] for code in free if is_short_value(values[code])]
        changed = Constraint(fact=fact, op="is", value=random.choice(said)) if said else None
    elif fact == "price":
        dollars = int(shelf.numbers["price"][fitting].min() * random.uniform(0.75, 0.99)) // 100
        changed = make_price_limit(dollars) if dollars else None
    else:
        return None
    return [*constraints[:at], changed, *constraints[at + 1 :]] if changed else None


def is_hard_search(
    meets: np.ndarray, stocked: np.ndarray, constraints: Sequence[Constraint], slots: Sequence[Slot]
) -> bool:
    """Whether a search for the words that are stated finds more wrong products than right ones, of which there are some."""
    stated = {slot.name for slot in slots if slot.known == "stated"}
    words = [at for at, each in enumerate(constraints) if each.op == "is" and each.fact in stated]
    worded = int((meets[words].all(axis=0) & stocked).sum())
    right = int((meets.all(axis=0) & stocked).sum())
    return 0 < right <= MOST and worded >= (1 + DECOYS) * right


def has_deciding_constraints(meets: np.ndarray, stocked: np.ndarray) -> bool:
    """Whether the constraints that matter most cannot be left out."""
    right = int((meets.all(axis=0) & stocked).sum())
    one_short = stocked & (meets.sum(axis=0) == len(meets) - 1)
    near = sorted((~meets & one_short).sum(axis=1).tolist())
    return all(count >= right for count in near[-DECIDING:])


def find_last_viewed(store: Store, who: VisitingCustomer, shelf: Shelf) -> Item | None:
    """The product of this kind that somebody looked at last."""
    leaf = store.leaf_of[shelf.rows[0]]
    there = who.rows[store.leaf_of[who.rows] == leaf]
    return store.item(int(there[-1])) if len(there) else None


# What the shopper likes


def describe_preferences(weights: dict[str, int], reference: Item | None, constraints: Iterable[Constraint]) -> Slot:
    """What the shopper says of its preferences when asked; brand and similarity only where they tell products apart."""
    brands = [each for each in constraints if each.fact == "brand"]
    likes, facts = ["price", "rating", "shipping"], {}
    if reference is not None:
        likes.append("similarity")
        facts["category"] = reference.category
        if reference.brand and not brands:
            likes.append("brand")
            facts["brand"] = reference.brand
    likes.sort(key=lambda name: (-weights[name], name))
    slot = make_slot("priority", "priority", {"likes": " ".join(likes), **facts}, "clause")
    return slot.model_copy(update={"topics": ["matters", "ranking"]})


def rank_discoveries(goal: DiscoveryGoal, store: Store, gone: set[str]) -> RankedProducts:
    """All products that meet every constraint and are in stock, but for those of which every variant is gone."""
    shelf = store.shelf(store.place_of_leaf[goal.category])
    fits = shelf.where(goal.constraints) & store.in_stock[shelf.rows]
    for row in find_product_rows(store, gone):
        if all(option.id in gone or not option.stock for option in store.options(row)):
            fits &= shelf.rows != row
    places = np.flatnonzero(fits)
    gains = score_preferences(goal, store, shelf, places)
    order = np.lexsort((shelf.rows[places], -gains))
    return RankedProducts(shelf.rows[places][order], gains[order])


def find_product_rows(store: Store, variants: Iterable[str]) -> list[int]:
    """The products of these variants."""
    products = {option.product_id for id in variants if (option := store.option_of(id)) is not None}
    return sorted(row for id in products if (row := store.row(id)) is not None)


def score_preferences(goal: DiscoveryGoal, store: Store, shelf: Shelf, places: np.ndarray) -> np.ndarray:
    """The gain of products: a whole number, of which half is for being right and the other half what the shopper weighs."""
    numbers = {name: column[places] for name, column in shelf.numbers.items() if name in NUMBERS}
    hundredths = np.rint(100 * np.nan_to_num(numbers["rating"], nan=1.0)).astype(np.int64)
    days = np.clip(np.nan_to_num(numbers["shipping days"], nan=LONGEST_SHIPPING), 0, LONGEST_SHIPPING).astype(np.int64)
    cheap = np.clip(goal.limit - numbers["price"].astype(np.int64), 0, None)
    parts = {
        "price": cheap * PARTS // max(1, goal.limit),
        "rating": (hundredths - 100) * PARTS // 400,
        "shipping": (LONGEST_SHIPPING - days) * PARTS // LONGEST_SHIPPING,
        "brand": np.zeros(len(places), np.int64),
        "similarity": np.zeros(len(places), np.int64),
    }
    row = store.row(goal.reference) if goal.reference else None
    if row is not None:
        at = int(np.searchsorted(shelf.rows, row))
        same = {name: codes[places] == codes[at] for name, codes in shelf.codes.items() if codes[at] >= 0}
        parts["brand"] = PARTS * same.get("brand", parts["brand"]).astype(np.int64)
        parts["similarity"] = PARTS * sum(same.values(), np.zeros(len(places), np.int64)) // max(1, len(same))
    gains: np.ndarray = PARTS * WHOLE + sum(goal.weights[name] * part for name, part in parts.items())
    return gains


@cache
def discount_gain(place: int) -> int:
    """Of a place in a list, the first is 0: 1 / log2(place + 2), as usual for nDCG, rounded to whole parts of DISCOUNTS.

    >>> discount_gain(0), discount_gain(1)
    (1000000, 630930)
    """
    return round(DISCOUNTS / log2(place + 2))


def compute_dcg(gains: Iterable[int]) -> int:
    return sum(discount_gain(place) * gain for place, gain in enumerate(gains))


def measure_met_share(goal: DiscoveryGoal, item: Item) -> Fraction:
    """How many of all constraints a product meets; the category is one of them."""
    met = sum(item.meets(each) for each in goal.constraints) + (item.category == goal.category)
    return Fraction(met, len(goal.constraints) + 1)


# The certificate and the way through


def get_product_ids(store: Store, rows: np.ndarray) -> list[str]:
    ids: list[str] = store.ids.take(pa.array(rows)).to_pylist()
    return ids


def list_right_products(goal: DiscoveryGoal, store: Store, best: RankedProducts, shelf: Shelf) -> AnyOf | Infeasible:
    """All right products, the best first: every list of some of them is a success. Or how many there are of the kind, all wrong."""
    if not goal.feasible:
        proof = NothingFits(category=goal.category, constraints=goal.constraints, products=len(shelf.rows))
        return Infeasible(refusal=goal.refusal, proof=proof)
    ends = [End(some_of=get_product_ids(store, best.rows))]
    if goal.event is not None:
        ends.append(End(some_of=get_product_ids(store, best.rows[1:]), after_sell_out=True))
    return AnyOf(ends=ends)


def find_nearest_product(
    store: Store, shelf: Shelf, constraints: Sequence[Constraint], meets: np.ndarray
) -> Miss | None:
    """To recommend a product in stock that misses exactly one constraint; None where there is none."""
    close = np.flatnonzero(store.in_stock[shelf.rows] & ((~meets).sum(axis=0) == 1))
    if not len(close):
        return None
    wrong = constraints[int(np.argmin(meets[:, close[0]]))].fact
    ids = get_product_ids(store, shelf.rows[close[:1]])
    return Miss(breaks=[wrong], end=End(some_of=ids))


def make_search_args(goal: DiscoveryGoal) -> dict[str, str | bool | int | float]:
    """The arguments of a search with all that can be filtered, and the rest as words."""
    found: dict[str, str | bool | int | float] = {"category": goal.category}
    words = [each.value for each in goal.constraints if each.op == "is" and each.fact != "brand"]
    found["query"] = " ".join(words) or goal.category
    for each in goal.constraints:
        if each.fact == "brand":
            found["brand"] = each.value
        elif each.fact == "price":
            found["max_price"] = (each.number or 0) / 100
        elif each.fact == "rating":
            found["min_rating"] = float(each.number or 0)
        elif each.fact == "shipping days":
            found["max_shipping_days"] = int(each.number or 0)
    return found
