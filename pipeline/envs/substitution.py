"""Something is sold out: another product of its kind that does what the shopper needs, the more like it the better."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain
from math import log2
from random import Random
from typing import Any, NamedTuple

import numpy as np

from shopwright.pipeline.catalog.fits import Fits
from shopwright.pipeline.catalog.variants import list_varying_options
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
    find_doubtful_fits,
    is_sayable,
    list_shared_requirements,
    list_variant_ids,
    match_requirements,
    require_compatibility,
    require_price,
    require_price_around,
    require_value,
    schedule_sell_out,
    select_telling_requirements,
)
from shopwright.pipeline.envs.customers import draw_customer
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.wording import Opening, list_said, make_plain_slot, pick_stated
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.store import NO_FITS, Item, Shelf, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.pipeline.shop.user_simulator import SOLD_OUT
from shopwright.schemas.certificates import AnyOf, Constraint, End, Infeasible, Miss, NothingFits
from shopwright.schemas.record import Part
from shopwright.schemas.tasks import Action, Answer, Call, Slot

# Weights of how good the substitutes are and of their being in stock (EcomRLVE-GYM, substitution).
RANK, STOCK = Fraction(4, 5), Fraction(1, 5)
# Other products in stock, of which most must not do.
FEWEST = 3
# Constraints.
LEAST = 2
# At most one in so many of them does.
MOST_FIT = 6
# Of the products in stock that have most facts of the original, at most one in so many does: likeness alone finds no substitute.
LOOK_ALIKES, MOST_OF_THEM = 8, 8
# Choices of demands until so few do.
SAMPLES = 6
# Products that are in stock and of which the one most like the original shows what can be asked for.
LOOKED_AT = 3
# One more than can be recommended: the best may be sold out on the way.
MOST_RANKED = 11
# Products that fit and are sold out: all, where the right answer says so, or those that the original's title finds.
MOST_SOLD_OUT = 40


class RankedSubstitute(Part):
    """A product that does, and how many facts it has in common with the original."""

    product_id: str
    alike: int


class SubstitutionGoal(Goal):
    """What is sold out, what a substitute must be, and the best ones."""

    original: str
    category: str
    constraints: list[Constraint]
    facts: int
    """Of the original: brand, color and attributes."""
    weight: int
    """Of likeness, in twentieths; the rest is for doing at all."""
    best: list[RankedSubstitute]


class OriginalOnShelf(NamedTuple):
    """The original on its shelf."""

    store: Store
    shelf: Shelf
    at: int
    stocked: np.ndarray
    """Which of the other products are in stock."""
    alike: np.ndarray
    """How many facts each has in common with the original."""
    title_words: np.ndarray
    """How many words of its title."""
    fits: Fits
    """What the original is made for; a substitute must be, too."""
    doubtful: np.ndarray
    """Which others nobody knows to fit what the original does."""

    @property
    def others(self) -> np.ndarray:
        return np.arange(len(self.shelf.rows)) != self.at


class Substitution(Env):
    """A substitute is of the same category, in stock, and meets every demand; the original never is one.

    What the original is made for (a device, a cartridge) is demanded always. All demands are such that the original and at least one other product meet them. A success is a list of substitutes only;
    that the best stand first earns reward beyond that.
    """

    name = "substitution"
    Goal = SubstitutionGoal
    refusals = ("not_found", "sold_out")

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        refusal = random.choice(("sold_out", "not_found")) if random.random() < INFEASIBLE else ""
        here = draw_original(world.store, random)
        demands, plain = draw_substitute_requirements(here, axes, random)
        doubts = find_doubtful_substitutes(here, demands)
        fits = match_requirements(here.shelf, demands).all(axis=0) & here.others & (~doubts if not here.fits else True)
        if refusal == "sold_out" and np.count_nonzero(fits | doubts) > MOST_SOLD_OUT:
            refusal = "not_found"
        if refusal == "not_found":
            return make_price_infeasible(world, here, demands, plain, axes, random)
        unfit = fits | doubts if refusal else plain | (doubts & (not here.fits))
        gone = [here.at, *np.flatnonzero(unfit).tolist()]
        if len(gone) > 1 + MOST_SOLD_OUT:
            raise CannotDraw("too many products are made for something that the original says nothing of")
        ends = np.flatnonzero(fits & here.stocked & (True if refusal else ~plain))
        here.stocked[gone] = False
        ends = ends[np.lexsort((ends, -here.alike[ends]))]
        goal = make_substitution_goal(
            world, here, demands, axes, random, refusal=refusal, gone=gone, best=ends[:MOST_RANKED].tolist()
        )
        ids = here.store.ids.take(here.shelf.rows[ends]).to_pylist()
        if refusal:
            unsure = here.store.ids.take(here.shelf.rows[doubts & ~fits]).to_pylist()
            miss = Miss(breaks=["in stock"], end=End(some_of=ids[:1]))
            return DrawnTask(
                goal,
                {},
                prove_nothing_fits(goal, here, products_sold_out=ids, unsure=unsure),
                miss,
            )
        right = [End(some_of=ids)]
        if len(ends) > 1 and random.random() < axes.sells_out:
            event = schedule_sell_out(here.store, int(here.shelf.rows[ends[0]]), random)
            goal = goal.model_copy(update={"event": event})
            right.append(End(some_of=ids[1:], after_sell_out=True))
        return DrawnTask(goal, {}, AnyOf(ends=right), find_nearest_substitute(here, demands))

    def solve(self, goal: SubstitutionGoal, shop: Shop, axes: Axes) -> Solution:
        store, limits = shop.store, {each.fact: each for each in goal.constraints if each.op != "at least"}
        original = get_store_item(store, goal.original)
        yield Action(tool_calls=[Call(name="catalog_search", args={"query": original.title})])
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

    def score(self, goal: SubstitutionGoal, shop: Shop, answer: Answer | None) -> GoalScore:
        """.8 rank + .2 stock, each from -1 to 1.

        The rank is 2 nDCG - 1 at the length of the list: each place is held against the best substitute that could stand there,
        the least of all where there are no more. What is no substitute, or named twice, is worth nothing.
        """
        named = answer.recommended_product_ids if answer else []
        if not goal.feasible:
            right = is_right_refusal(goal, answer) and not named
            return GoalScore(Fraction(1 if right else -1), right, "" if right else "no product in stock does")
        if not named or is_needless_refusal(goal, answer):
            return GoalScore(Fraction(-1), False, "no substitute where there is one")
        fits = [
            is_substitute(goal, shop, product) and product not in named[:number] for number, product in enumerate(named)
        ]
        gains = [
            score_substitute(goal, shop, product) if fit else Fraction(0)
            for product, fit in zip(named, fits, strict=True)
        ]
        ideal = [
            compute_relevance(goal, each.alike) for each in goal.best if is_substitute(goal, shop, each.product_id)
        ] or [Fraction(1)]
        padded = [ideal[min(number, len(ideal) - 1)] for number in range(len(named))]
        rank = 2 * sum_discounted(gains) / sum_discounted(padded) - 1
        stock = 2 * Fraction(sum(is_product_in_stock(shop, product) for product in named), len(named)) - 1
        return GoalScore(
            RANK * rank + STOCK * stock, all(fits), "" if all(fits) else "something recommended does not do"
        )

    def open(self, goal: SubstitutionGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        original = {"original": stated.pop("original").said}
        if not stated:
            return Opening("substitution bare", original)
        return Opening("substitution", {**original, "list": list_said(stated.values(), speaker, random)})

    def notices(self, goal: SubstitutionGoal, shop: Shop) -> Iterator[Notice]:
        """That something is sold out by now, where the agent has come across it."""
        return list_newly_sold_out(goal, shop)


def list_newly_sold_out(goal: Goal, shop: Shop) -> Iterator[Notice]:
    """Products that were sold out on the way, of those that the agent has seen."""
    if goal.event is None or not shop.gone.issuperset(goal.event.variants):
        return
    for product in dict.fromkeys(
        option.product_id for each in goal.event.variants if (option := shop.store.option_of(each))
    ):
        if product in shop.seen:
            title = " ".join(get_store_item(shop.store, product).title.split())
            yield Notice(f"{SOLD_OUT} {product}", "is sold out", {"thing": title})


def get_store_item(store: Store, product_id: str) -> Item:
    row = store.row(product_id)
    assert row is not None, f"a goal names {product_id}, which the store does not have"
    return store.item(row)


def is_product_in_stock(shop: Shop, product_id: str) -> bool:
    row = shop.store.row(product_id)
    return row is not None and shop.is_in_stock(row)


def is_substitute(goal: SubstitutionGoal, shop: Shop, product_id: str) -> bool:
    """By the state of the shop at this moment."""
    if product_id == goal.original or not is_product_in_stock(shop, product_id):
        return False
    item = get_store_item(shop.store, product_id)
    return item.category == goal.category and all(item.meets(each) for each in goal.constraints)


def score_substitute(goal: SubstitutionGoal, shop: Shop, product_id: str) -> Fraction:
    one, other = (list_plain_facts(get_store_item(shop.store, id)) for id in (product_id, goal.original))
    return compute_relevance(goal, sum(one.get(fact) == value for fact, value in other.items()))


def list_plain_facts(item: Item) -> dict[str, str]:
    """Brand, color and attributes, as the shop shows them."""
    found = item.facts
    return {fact: value for fact, value in found.items() if isinstance(value, str) and fact != "category"}


def compute_relevance(goal: SubstitutionGoal, alike: int) -> Fraction:
    """lam similarity + (1 - lam) of a product that meets all (EcomRLVE-GYM); similarity: share of facts in common."""
    likeness = Fraction(alike, goal.facts) if goal.facts else Fraction(0)
    weight = Fraction(goal.weight, 20)
    return weight * likeness + 1 - weight


def compute_similarity_weight(difficulty: int) -> int:
    """lam = clip(.4 + .05 d, .4, .8), in twentieths.

    >>> compute_similarity_weight(0), compute_similarity_weight(6), compute_similarity_weight(12)
    (8, 14, 16)
    """
    return min(16, 8 + difficulty)


def sum_discounted(gains: Sequence[Fraction]) -> Fraction:
    """DCG, with discounts that are whole millionths."""
    return sum((gain * compute_rank_discount(number) for number, gain in enumerate(gains)), Fraction(0))


@cache
def compute_rank_discount(number: int) -> int:
    """
    >>> compute_rank_discount(0), compute_rank_discount(2)
    (1000000, 500000)
    """
    return round(10**6 / log2(number + 2))


def draw_original(store: Store, random: Random) -> OriginalOnShelf:
    """Something in the shop. Raises CannotDraw where too few others of its kind are in stock."""
    if not len(store):
        raise CannotDraw("there are no products")
    row = random.randrange(len(store))
    shelf = store.shelf(int(store.leaf_of[row]))
    at = int(np.searchsorted(shelf.rows, row))
    stocked = store.in_stock[shelf.rows].copy()
    stocked[at] = False
    if np.count_nonzero(stocked) < FEWEST:
        raise CannotDraw(f"fewer than {FEWEST} other products of a category are in stock")
    alike = np.zeros(len(shelf.rows), np.int32)
    for codes in shelf.codes.values():
        if codes[at] >= 0:
            alike += codes == codes[at]
    fits = store.fits.get(row, NO_FITS)
    if not is_sayable(fits):
        raise CannotDraw("the original is made for more than a shopper would say")
    words, doubtful = shelf.count_shared_title_words(at), find_doubtful_fits(shelf, fits)
    return OriginalOnShelf(store, shelf, at, stocked, alike, words, fits, doubtful)


def find_doubtful_substitutes(here: OriginalOnShelf, demands: Sequence[Requirement]) -> np.ndarray:
    """What meets all else, and nobody knows whether it fits what the original does.

    Where the original is made for nothing that it names, such products are sold out; else they are not what is asked for, and are sold
    out too, or too dear, where the right answer is that there is none.
    """
    rest = [each for each in demands if each.constraints[0].op != "fits"]
    found: np.ndarray = match_requirements(here.shelf, rest).all(axis=0) & here.others & here.doubtful
    return found


def draw_substitute_requirements(
    here: OriginalOnShelf, axes: Axes, random: Random
) -> tuple[list[Requirement], np.ndarray]:
    """As many constraints as the level has, if the original and another product have so much in common, such that few do.

    What tells whether a substitute can be used at all (connector, size, material) is always among them. Beside them what does and is
    found by the words of the original's title: it has to be sold out, too.
    """
    decisive = find_decisive_attribute(here)
    must = require_compatibility(here.fits)
    models = draw_models(here, decisive, must, random)
    if decisive and decisive not in here.fits:
        shelf = here.shelf
        must.append(require_value(decisive, shelf.values[decisive][int(shelf.codes[decisive][here.at])]))
    for model in models:
        known, meets = list_requirements_met(here, model, decisive, must, axes, random)
        sure = [place for place, each in enumerate(known) if each in must]
        free = range(len(sure), len(known))
        for _ in range(SAMPLES):
            taken = [*sure, *random.sample(free, min(len(free), max(0, axes.constraints - len(sure))))]
            found = [known[each] for each in taken]
            met = np.asarray(meets[taken].all(axis=0)) & here.stocked
            does = met if here.fits else met & ~here.doubtful
            plain = find_plain_substitutes(here, does, ~met, found, axes)
            if does[~plain].any() and is_hard_to_meet(here, does, plain, found):
                return found, plain
    raise CannotDraw("the products of a category have too little in common, or too much, or are found by their titles")


def draw_models(here: OriginalOnShelf, decisive: str, must: Sequence[Requirement], random: Random) -> list[int]:
    """Products in stock that do for what the original does, and show what can be asked for: those most like it first."""
    shelf = here.shelf
    usable = here.stocked & (shelf.codes[decisive] == shelf.codes[decisive][here.at]) if decisive else here.stocked
    usable = usable & (match_requirements(shelf, must).all(axis=0) if must else ~here.doubtful)
    models = {model for _ in range(LOOKED_AT) if (model := draw_place(usable, random)) is not None}
    if not models:
        raise CannotDraw("nothing else in stock fits what the original does")
    return sorted(models, key=lambda each: (-int(here.alike[each]), each))


def list_requirements_met(
    here: OriginalOnShelf, model: int, decisive: str, must: Sequence[Requirement], axes: Axes, random: Random
) -> tuple[list[Requirement], np.ndarray]:
    """What the original and this product meet and another does not, and for each a row: which products do."""
    shelf, pair = here.shelf, [here.at, model]
    cents = [int(shelf.numbers["price"][each]) for each in pair]
    known = (decisive, *here.fits)
    common = [each for each in list_shared_requirements(shelf, pair, axes, random) if each.name not in known]
    span = len(common) + 1 + len(must) < axes.constraints
    return select_telling_requirements(shelf, [*must, *common, require_price_around(cents, axes, random, span=span)])


def find_plain_substitutes(
    here: OriginalOnShelf, does: np.ndarray, unfit: np.ndarray, demands: Sequence[Requirement], axes: Axes
) -> np.ndarray:
    """Of what does, what the words of the original's title find: it has more of them than enough others within the price asked for.

    For each that does and is not found so there are as many more that do not, and have no fewer of these words.
    """
    near = here.stocked & here.shelf.where(list_price_limits(demands))
    wrong: np.ndarray = np.sort(here.title_words[near & unfit])
    plain, kept = np.zeros_like(does), 0
    for place in sorted(np.flatnonzero(does).tolist(), key=lambda each: -int(here.title_words[each])):
        as_like = len(wrong) - int(np.searchsorted(wrong, here.title_words[place]))
        plain[place] = as_like < axes.look_alikes * (kept + 1)
        kept += not plain[place]
    return plain


def list_price_limits(demands: Sequence[Requirement]) -> list[Constraint]:
    return [one for one in chain.from_iterable(each.constraints for each in demands) if one.fact == "price"]


def is_hard_to_meet(here: OriginalOnShelf, does: np.ndarray, plain: np.ndarray, demands: Sequence[Requirement]) -> bool:
    """Whether few do, once what is plain is sold out, and few of those most like the original by its facts; and enough is asked."""
    left, right = here.stocked & ~plain, does & ~plain
    most = max(1, int(np.count_nonzero(here.stocked)) // MOST_FIT)
    if int(np.count_nonzero(right)) > most or int(np.count_nonzero(plain)) > MOST_SOLD_OUT:
        return False
    others = np.flatnonzero(left)
    alike = others[np.argsort(-here.alike[others], kind="stable")[:LOOK_ALIKES]]
    by_likeness = int(np.count_nonzero(right[alike]))
    return by_likeness <= max(1, len(alike) // MOST_OF_THEM) and sum(len(each.constraints) for each in demands) >= LEAST


def find_decisive_attribute(here: OriginalOnShelf) -> str:
    """The attribute that a substitute must share to be of use; empty where none is known or nothing else has it."""
    leaf = int(here.store.leaf_of[here.shelf.rows[here.at]])
    for name in list_varying_options((here.store.groups[leaf], here.store.leaves[leaf])):
        codes = here.shelf.codes.get(name)
        if name != "color" and codes is not None and codes[here.at] >= 0:
            return name if (here.stocked & (codes == codes[here.at])).any() else ""
    return ""


def make_substitution_goal(
    world: World,
    here: OriginalOnShelf,
    demands: Sequence[Requirement],
    axes: Axes,
    random: Random,
    *,
    refusal: str,
    gone: Sequence[int],
    best: Sequence[int],
) -> SubstitutionGoal:
    store, rows = here.store, here.shelf.rows
    who = draw_customer(store, random)
    original = store.item(int(rows[here.at]))
    constraints = list(chain.from_iterable(each.constraints for each in demands))
    return SubstitutionGoal(
        persona_id=who.id,
        now=who.now,
        slots=list_substitution_slots(original, demands, here.shelf, axes, random),
        refusal=refusal,
        sold_out=list_variant_ids(store, [int(rows[each]) for each in gone]),
        original=original.id,
        category=original.category,
        constraints=constraints,
        contrast=contrast_products(here.shelf, constraints, axes, random),
        facts=int(here.alike[here.at]),
        weight=compute_similarity_weight(axes.difficulty),
        best=[
            RankedSubstitute(product_id=store.ids[int(rows[each])].as_py(), alike=int(here.alike[each]))
            for each in best
        ],
    )


def list_substitution_slots(
    original: Item, demands: Sequence[Requirement], shelf: Shelf, axes: Axes, random: Random
) -> list[Slot]:
    slots = [make_plain_slot("original", original.title, "thing"), *(each.slot(shelf) for each in demands)]
    found = draw_disclosure(slots, axes, random, always=["original"])
    return [found[0].model_copy(update={"topics": ["product", "replace", "substitute"]}), *found[1:]]


def make_price_infeasible(
    world: World,
    here: OriginalOnShelf,
    demands: Sequence[Requirement],
    plain: np.ndarray,
    axes: Axes,
    random: Random,
) -> DrawnTask:
    """The same with a limit of price that is below all that fit otherwise, in stock or not."""
    rest = [each for each in demands if each.name != "price"]
    rest = rest[: max(len(here.fits), 1, axes.constraints - 1)]
    prices, fits = here.shelf.numbers["price"], match_requirements(here.shelf, rest).all(axis=0)
    limit = draw_limit_below(int(prices[fits | find_doubtful_substitutes(here, rest)].min()), random)
    if limit is None:
        raise CannotDraw("everything is so cheap that nobody could ask for less")
    others = np.flatnonzero(fits & here.stocked & ~plain)
    miss = int(others[np.argmin(prices[others])])
    demands = [*rest, require_price(limit)]
    goal = make_substitution_goal(
        world,
        here,
        demands,
        axes,
        random,
        refusal="not_found",
        gone=[here.at, *np.flatnonzero(plain).tolist()],
        best=[],
    )
    proof = prove_nothing_fits(goal, here, but_for_price=int(np.count_nonzero(fits)), cheapest=int(prices[fits].min()))
    return DrawnTask(
        goal,
        {},
        proof,
        Miss(breaks=["price"], end=End(some_of=[get_shelf_product_id(here, miss)])),
    )


def prove_nothing_fits(goal: SubstitutionGoal, here: OriginalOnShelf, **more: Any) -> Infeasible:
    proof = NothingFits(category=goal.category, constraints=goal.constraints, products=len(here.shelf.rows), **more)
    return Infeasible(refusal=goal.refusal, proof=proof)


def get_shelf_product_id(here: OriginalOnShelf, at: int) -> str:
    found: str = here.store.ids[int(here.shelf.rows[at])].as_py()
    return found


def find_nearest_substitute(here: OriginalOnShelf, demands: Sequence[Requirement]) -> Miss:
    """What is in stock and breaks one demand, the most like the original; else the original itself, which is sold out."""
    meets = match_requirements(here.shelf, demands)
    near = np.flatnonzero(here.stocked & (meets.sum(axis=0) == len(demands) - 1))
    if not len(near):
        return Miss(breaks=["in stock"], end=End(some_of=[get_shelf_product_id(here, here.at)]))
    best = int(near[np.argmax(here.alike[near])])
    broken = next(each.name for each, row in zip(demands, meets, strict=True) if not row[best])
    return Miss(breaks=[broken], end=End(some_of=[get_shelf_product_id(here, best)]))
