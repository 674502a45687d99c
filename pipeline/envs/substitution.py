"""Something is sold out: another product of its kind that does what the shopper needs, the more like it the better."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import log2
from random import Random
from typing import Any, NamedTuple

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
    exactly,
    met,
    priced,
    shared,
    sold_out_later,
    telling,
    variants_of,
)
from pipeline.envs.difficulty import Axes
from pipeline.envs.recall import asking
from pipeline.envs.visits import comer
from pipeline.shop.shopper import SOLD_OUT
from pipeline.shop.store import Constraint, Item, Shelf, Store
from pipeline.shop.tools import Shop
from pipeline.shop.variants import priorities
from schemas.record import Part
from schemas.tasks import Action, Answer, Call, Wish

RANK, STOCK = Fraction(4, 5), Fraction(1, 5)
"""Weights of how good the substitutes are and of their being in stock (EcomRLVE-GYM, substitution)."""
FEWEST = 3
"""Other products in stock, of which most must not do."""
LEAST = 2
"""Constraints."""
MOST_FIT = 6
"""At most one in so many of them does."""
SAMPLES = 6
"""Choices of demands until so few do."""
LOOKED_AT = 3
"""Products that are in stock and of which the one most like the original shows what can be asked for."""
MOST_RANKED = 11
"""One more than can be recommended: the best may be sold out on the way."""
MOST_SOLD_OUT = 40
"""Products that fit and are all sold out, where the right answer says so."""


class Likeness(Part):
    """A product that does, and how many facts it has in common with the original."""

    product_id: str
    alike: int


class Replaced(Goal):
    """What is sold out, what a substitute must be, and the best ones."""

    original: str
    category: str
    constraints: list[Constraint]
    facts: int
    """Of the original: brand, color and attributes."""
    weight: int
    """Of likeness, in twentieths; the rest is for doing at all."""
    best: list[Likeness]


class Place(NamedTuple):
    """The original on its shelf."""

    store: Store
    shelf: Shelf
    at: int
    stocked: np.ndarray
    """Which of the other products are in stock."""
    alike: np.ndarray
    """How many facts each has in common with the original."""

    @property
    def others(self) -> np.ndarray:
        return np.arange(len(self.shelf.rows)) != self.at


class Substitution(Env):
    """A substitute is of the same category, in stock, and meets every demand; the original never is one.

    All demands are such that the original and at least one other product meet them. A success is a list of substitutes only;
    that the best stand first earns reward beyond that.
    """

    name = "substitution"
    Goal = Replaced

    def draw(self, world: World, axes: Axes, random: Random) -> Drawn:
        refusal = random.choice(("sold_out", "not_found")) if random.random() < INFEASIBLE else ""
        here = place(world.store, random)
        demands = demanded(here, axes, random)
        fits = met(here.shelf, demands).all(axis=0) & here.others
        if refusal == "sold_out" and np.count_nonzero(fits) > MOST_SOLD_OUT:
            refusal = "not_found"
        if refusal == "not_found":
            return too_cheap(world, here, demands, axes, random)
        gone = [here.at, *np.flatnonzero(fits).tolist()] if refusal else [here.at]
        ends = np.flatnonzero(fits & here.stocked)
        ends = ends[np.lexsort((ends, -here.alike[ends]))]
        goal = goal_of(world, here, demands, axes, random, refusal=refusal, gone=gone, best=ends[:MOST_RANKED].tolist())
        ids = here.store.ids.take(here.shelf.rows[ends]).to_pylist()
        if refusal:
            end = {"refusal": refusal, "proof": {"fit and are sold out": ids}}
            return Drawn(goal, said(goal, here), end, {"recommended_product_ids": ids[:1], "breaks": "in stock"})
        acceptable: dict[str, Any] = {"recommended_product_ids": {"some of": ids}}
        if len(ends) > 1 and random.random() < axes.sells_out:
            event = sold_out_later(here.store, int(here.shelf.rows[ends[0]]), random)
            goal = goal.model_copy(update={"event": event})
            acceptable["sold out on the way"] = {"after": event.after, "product": ids[0]}
        return Drawn(goal, said(goal, here), acceptable, nearest_miss(here, demands))

    def solve(self, goal: Replaced, shop: Shop, axes: Axes) -> Solution:
        store, limits = shop.store, {each.fact: each for each in goal.constraints if each.op != "at least"}
        original = item_of(store, goal.original)
        yield Action(
            assistant_message=asking(goal.wishes),
            tool_calls=[Call(name="catalog_search", args={"query": original.title})],
        )
        words = " ".join(each.value for each in goal.constraints if each.op == "is")
        args: dict[str, str | bool | int | float] = {"query": words, "category": goal.category}
        if "price" in limits:
            args["max_price"] = (limits["price"].number or 0) / 100
        yield Action(tool_calls=[Call(name="catalog_search", args=args)])
        if not goal.feasible:
            yield Action(answer=Answer(env=self.name, refusal=goal.refusal))
            return
        best = next(each.product_id for each in goal.best if is_substitute(goal, shop, each.product_id))
        calls = [] if best in shop.seen else [Call(name="catalog_get_product", args={"product_id": best})]
        yield Action(tool_calls=calls, answer=Answer(env=self.name, recommended_product_ids=[best]))

    def score(self, goal: Replaced, shop: Shop, answer: Answer | None) -> Score:
        """.8 rank + .2 stock, each from -1 to 1.

        The rank is 2 nDCG - 1 at the length of the list: each place is held against the best substitute that could stand there,
        the least of all where there are no more. What is no substitute, or named twice, is worth nothing.
        """
        named = answer.recommended_product_ids if answer else []
        if not goal.feasible:
            right = right_refusal(goal, answer) and not named
            return Score(Fraction(1 if right else -1), right, "" if right else "no product in stock does")
        if not named or needless_refusal(goal, answer):
            return Score(Fraction(-1), False, "no substitute where there is one")
        fits = [
            is_substitute(goal, shop, product) and product not in named[:number] for number, product in enumerate(named)
        ]
        gains = [worth(goal, shop, product) if fit else Fraction(0) for product, fit in zip(named, fits, strict=True)]
        ideal = [relevance(goal, each.alike) for each in goal.best if is_substitute(goal, shop, each.product_id)] or [
            Fraction(1)
        ]
        padded = [ideal[min(number, len(ideal) - 1)] for number in range(len(named))]
        rank = 2 * discounted(gains) / discounted(padded) - 1
        stock = 2 * Fraction(sum(in_stock(shop, product) for product in named), len(named)) - 1
        return Score(RANK * rank + STOCK * stock, all(fits), "" if all(fits) else "something recommended does not do")

    def notices(self, goal: Replaced, shop: Shop) -> Iterator[Notice]:
        """That something is sold out by now, where the agent has come across it."""
        return sold_out_by_now(goal, shop)


def sold_out_by_now(goal: Goal, shop: Shop) -> Iterator[Notice]:
    """Products that were sold out on the way, of those that the agent has seen."""
    if goal.event is None or not shop.gone.issuperset(goal.event.variants):
        return
    for product in dict.fromkeys(
        option.product_id for each in goal.event.variants if (option := shop.store.option_of(each))
    ):
        if product in shop.seen:
            yield Notice(f"{SOLD_OUT} {product}", f"{item_of(shop.store, product).title} is sold out now")


def item_of(store: Store, product_id: str) -> Item:
    row = store.row(product_id)
    assert row is not None, f"a goal names {product_id}, which the store does not have"
    return store.item(row)


def in_stock(shop: Shop, product_id: str) -> bool:
    row = shop.store.row(product_id)
    return row is not None and shop.is_in_stock(row)


def is_substitute(goal: Replaced, shop: Shop, product_id: str) -> bool:
    """By the state of the shop at this moment."""
    if product_id == goal.original or not in_stock(shop, product_id):
        return False
    item = item_of(shop.store, product_id)
    return item.category == goal.category and all(item.meets(each) for each in goal.constraints)


def worth(goal: Replaced, shop: Shop, product_id: str) -> Fraction:
    one, other = (plain(item_of(shop.store, id)) for id in (product_id, goal.original))
    return relevance(goal, sum(one.get(fact) == value for fact, value in other.items()))


def plain(item: Item) -> dict[str, str]:
    """Brand, color and attributes, as the shop shows them."""
    found = item.facts
    return {fact: value for fact, value in found.items() if isinstance(value, str) and fact != "category"}


def relevance(goal: Replaced, alike: int) -> Fraction:
    """lam similarity + (1 - lam) of a product that meets all (EcomRLVE-GYM); similarity: share of facts in common."""
    likeness = Fraction(alike, goal.facts) if goal.facts else Fraction(0)
    weight = Fraction(goal.weight, 20)
    return weight * likeness + 1 - weight


def weight_of(difficulty: int) -> int:
    """lam = clip(.4 + .05 d, .4, .8), in twentieths.

    >>> weight_of(0), weight_of(6), weight_of(12)
    (8, 14, 16)
    """
    return min(16, 8 + difficulty)


def discounted(gains: Sequence[Fraction]) -> Fraction:
    """DCG, with discounts that are whole millionths."""
    return sum((gain * discount(number) for number, gain in enumerate(gains)), Fraction(0))


@cache
def discount(number: int) -> int:
    """
    >>> discount(0), discount(2)
    (1000000, 500000)
    """
    return round(10**6 / log2(number + 2))


def place(store: Store, random: Random) -> Place:
    """Something in the shop. Raises Undrawable where too few others of its kind are in stock."""
    if not len(store):
        raise Undrawable("there are no products")
    row = random.randrange(len(store))
    shelf = store.shelf(int(store.leaf_of[row]))
    at = int(np.searchsorted(shelf.rows, row))
    stocked = store.in_stock[shelf.rows].copy()
    stocked[at] = False
    if np.count_nonzero(stocked) < FEWEST:
        raise Undrawable(f"fewer than {FEWEST} other products of a category are in stock")
    alike = np.zeros(len(shelf.rows), np.int32)
    for codes in shelf.codes.values():
        if codes[at] >= 0:
            alike += codes == codes[at]
    return Place(store, shelf, at, stocked, alike)


def demanded(here: Place, axes: Axes, random: Random) -> list[Demand]:
    """As many constraints as the level has, if the original and another product have so much in common, such that few do.

    What tells whether a substitute can be used at all (connector, size, material) is always among them.
    """
    shelf, at = here.shelf, here.at
    decisive = decisive_of(here)
    usable = here.stocked & (shelf.codes[decisive] == shelf.codes[decisive][at]) if decisive else here.stocked
    models = [model for _ in range(LOOKED_AT) if (model := any_of(usable, random)) is not None]
    model = max(models, key=lambda each: int(here.alike[each]))
    cents = [int(shelf.numbers["price"][each]) for each in (at, model)]
    common = [each for each in shared(shelf, [at, model], axes, random) if each.name != decisive]
    span = len(common) + 1 + bool(decisive) < axes.constraints
    must = [exactly(decisive, shelf.values[decisive][int(shelf.codes[decisive][at])])] if decisive else []
    known, meets = telling(shelf, [*must, *common, around(cents, axes, random, span=span)])
    sure = [place for place, each in enumerate(known) if each.name == decisive]
    most = max(1, int(np.count_nonzero(here.stocked)) // MOST_FIT)
    for _ in range(SAMPLES):
        free = range(len(sure), len(known))
        taken = [*sure, *random.sample(free, min(len(free), axes.constraints - len(sure)))]
        found = [known[each] for each in taken]
        few = int(np.count_nonzero(meets[taken].all(axis=0) & here.stocked)) <= most
        if few and sum(len(each.constraints) for each in found) >= LEAST:
            return found
    raise Undrawable("the products of a category have too little in common, or too much")


def decisive_of(here: Place) -> str:
    """The attribute that a substitute must share to be of use; empty where none is known or nothing else has it."""
    leaf = int(here.store.leaf_of[here.shelf.rows[here.at]])
    for name in priorities((here.store.groups[leaf], here.store.leaves[leaf])):
        codes = here.shelf.codes.get(name)
        if name != "color" and codes is not None and codes[here.at] >= 0:
            return name if (here.stocked & (codes == codes[here.at])).any() else ""
    return ""


def goal_of(
    world: World,
    here: Place,
    demands: Sequence[Demand],
    axes: Axes,
    random: Random,
    *,
    refusal: str,
    gone: Sequence[int],
    best: Sequence[int],
) -> Replaced:
    store, rows = here.store, here.shelf.rows
    who = comer(store, random)
    original = store.item(int(rows[here.at]))
    return Replaced(
        persona_id=who.id,
        now=who.now,
        wishes=wishes(original, demands, axes, random),
        refusal=refusal,
        sold_out=variants_of(store, [int(rows[each]) for each in gone]),
        original=original.id,
        category=original.category,
        constraints=[constraint for each in demands for constraint in each.constraints],
        facts=int(here.alike[here.at]),
        weight=weight_of(axes.difficulty),
        best=[Likeness(product_id=store.ids[int(rows[each])].as_py(), alike=int(here.alike[each])) for each in best],
    )


def wishes(original: Item, demands: Sequence[Demand], axes: Axes, random: Random) -> list[Wish]:
    pairs = [("original", original.title), *((each.name, each.said) for each in demands)]
    found = ledger(pairs, axes, random, always=["original"])
    return [found[0].model_copy(update={"topics": ["product", "replace", "substitute"]}), *found[1:]]


def said(goal: Replaced, here: Place) -> dict[str, Any]:
    """What the opening is told."""
    stated = {wish.name: wish.said for wish in goal.wishes if wish.known == "stated"}
    return {"original": stated.pop("original"), "needs": list(stated.values())}


def too_cheap(world: World, here: Place, demands: Sequence[Demand], axes: Axes, random: Random) -> Drawn:
    """The same with a limit of price that is below all that fit otherwise, in stock or not."""
    rest = [each for each in demands if each.name != "price"][: max(1, axes.constraints - 1)]
    prices, fits = here.shelf.numbers["price"], met(here.shelf, rest).all(axis=0)
    cheapest = int(prices[fits].min())
    limit = beyond(cheapest, random)
    if limit is None:
        raise Undrawable("everything is so cheap that nobody could ask for less")
    others = np.flatnonzero(fits & here.stocked)
    miss = int(others[np.argmin(prices[others])])
    demands = [*rest, priced(limit)]
    goal = goal_of(world, here, demands, axes, random, refusal="not_found", gone=[here.at], best=[])
    proof = {"fit but for the price": int(np.count_nonzero(fits)), "cheapest": cheapest, "at most": limit}
    return Drawn(
        goal,
        said(goal, here),
        acceptable={"refusal": "not_found", "proof": proof},
        nearest_miss={"recommended_product_ids": [id_at(here, miss)], "breaks": "price"},
    )


def id_at(here: Place, at: int) -> str:
    found: str = here.store.ids[int(here.shelf.rows[at])].as_py()
    return found


def nearest_miss(here: Place, demands: Sequence[Demand]) -> dict[str, Any]:
    """What is in stock and breaks one demand, the most like the original; else the original itself, which is sold out."""
    meets = met(here.shelf, demands)
    near = np.flatnonzero(here.stocked & (meets.sum(axis=0) == len(demands) - 1))
    if not len(near):
        return {"recommended_product_ids": [id_at(here, here.at)], "breaks": "in stock"}
    best = int(near[np.argmax(here.alike[near])])
    broken = next(each.name for each, row in zip(demands, meets, strict=True) if not row[best])
    return {"recommended_product_ids": [id_at(here, best)], "breaks": broken}
