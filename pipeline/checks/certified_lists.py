"""A second look at certificates of lists: bundles, lists of one seller, and lists that a voucher pays for."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from math import floor
from typing import Any

from shopwright.pipeline.checks.product_facts import (
    Goal,
    describe_mismatch,
    filter_items_by,
    has_unsold_variant,
    list_items_in,
    list_sell_outs,
)
from shopwright.pipeline.shop.store import Item, Store
from shopwright.schemas.certificates import BundleItem, Certificate, Infeasible, NoList, NoSeller, OneOfEach

# What a list costs, what its things of one seller cost, and how many these are.
Cost = tuple[int, int, int]


def judge_bundle(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    yield from check_list_form(goal, found, NoList)
    fine = list_fitting_items(goal, store)
    least = list_cheapest(fine, 0)
    yield from check_list_items(goal, found, fine)
    if isinstance(found, OneOfEach):
        if found.sellers or found.voucher or found.lists or found.right:
            yield "its certificate has what only lists of one seller or with a voucher have"
        yield from check_bundle_exists(goal, found, store, sum(least))
    elif isinstance(found, Infeasible) and isinstance(found.proof, NoList):
        empty, dear = not all(fine), sum(least) > goal["budget"]
        if found.refusal != ("not_found" if empty else "over_budget" if dear else ""):
            yield "its proof does not show that no list can be had"
        if (found.proof.budget, found.proof.least) != (goal["budget"], 0 if empty else sum(least)):
            yield "its proof has another budget, or another cheapest list"
        if found.proof.voucher:
            yield "its proof has a voucher, and its goal none"


def read_list_items(found: Certificate) -> list[BundleItem]:
    """The items of the certificate, or of its proof."""
    if isinstance(found, OneOfEach):
        return found.items
    return found.proof.items if isinstance(found, Infeasible) and isinstance(found.proof, NoList | NoSeller) else []


def check_list_form(goal: Goal, found: Certificate, proof: type[NoList] | type[NoSeller]) -> Iterator[str]:
    """Whether it is a list, or this proof that there is none, of as many items as are wanted."""
    many, refused = len(goal["needs"]), isinstance(found, Infeasible) and isinstance(found.proof, proof)
    right = refused if goal["refusal"] else isinstance(found, OneOfEach)
    if not right or len(read_list_items(found)) != many:
        kind = f"Infeasible as {goal['refusal']!r}" if goal["refusal"] else "OneOfEach"
        yield describe_mismatch(f"{kind} with {many} items", found)


def list_fitting_items(goal: Goal, store: Store, later: set[str] = frozenset()) -> list[list[Item]]:  # type: ignore[assignment]
    """Of each need the products that do and are in stock; `later`: variants that are sold out beside those of the beginning."""
    found = []
    for need in goal["needs"]:
        fine = filter_items_by(list_items_in(store, need["category"]), need["constraints"])
        found.append([item for item in fine if has_unsold_variant(store, item, set(goal["sold_out"]) | later)])
    return found


def check_list_items(goal: Goal, found: Certificate, fine: Sequence[list[Item]]) -> Iterator[str]:
    for need, part, had in zip(goal["needs"], read_list_items(found), fine, strict=False):
        least = min((item.cents for item in had), default=0)
        if (part.category, [each.model_dump() for each in part.constraints]) != (need["category"], need["constraints"]):
            yield "an item of its certificate is about something else than its goal"
        if part.count != len(had):
            yield "an item of its certificate does not count the products that fit"
        if part.cheapest not in {item.id for item in had if item.cents == least} | ({""} if not had else set()):
            yield "an item of its certificate does not name the cheapest product that fits"


def check_bundle_exists(goal: Goal, found: OneOfEach, store: Store, least: int) -> Iterator[str]:
    if (found.budget, found.least) != (goal["budget"], least) or least > found.budget:
        yield "its certificate has another budget, or another cheapest list"
    yield from check_sell_out(goal, found, store)
    later = list_sell_outs(goal)
    left = list_cheapest(list_fitting_items(goal, store, later), goal["budget"] + 1)
    if later and sum(left) > goal["budget"]:
        yield "no list can be had once something has sold out"


def list_cheapest(fine: Sequence[list[Item]], nothing: int) -> list[int]:
    """Of each need, what the cheapest that fits costs, in cents; `nothing` where nothing fits."""
    return [min((item.cents for item in had), default=nothing) for had in fine]


def check_sell_out(goal: Goal, found: OneOfEach, store: Store) -> Iterator[str]:
    later = list_sell_outs(goal)
    if {option.product_id for id in later if (option := store.option_of(id))} != ({found.sells_out} - {""}):
        yield "its certificate has something else sold out on the way"


# Of one seller


def judge_one_seller(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    yield from check_list_form(goal, found, NoSeller)
    fine = list_fitting_items(goal, store)
    yield from check_list_items(goal, found, fine)
    whole = collect_assortments(fine, store)
    if isinstance(found, OneOfEach):
        told = {each.seller: list(map(sorted, each.product_ids)) for each in found.sellers}
        if told != whole or len(told) != len(found.sellers) or not whole:
            yield "its certificate has other sellers, or other products of theirs, than those that have it all"
        if sum(list_cheapest(fine, 0)) != found.least:
            yield "its certificate has another cheapest list"
        if found.budget or found.voucher or found.lists:
            yield "its certificate has a budget, and its goal none"
        if not any(is_list_of(found.right, each) for each in whole.values()):
            yield "the list that its certificate calls right is of no one seller"
        yield from check_sell_out(goal, found, store)
        if not collect_assortments(list_fitting_items(goal, store, list_sell_outs(goal)), store):
            yield "no list can be had once something has sold out"
    elif isinstance(found, Infeasible) and isinstance(found.proof, NoSeller):
        having = [{store.seller_of(item.row) for item in had} for had in fine]
        if whole or found.refusal != "not_found":
            yield "it says that no one seller has it all, and one does"
        if [sorted(each) for each in found.proof.sellers] != [sorted(each) for each in having]:
            yield "its proof has other sellers of an item than there are"


def collect_assortments(fine: Sequence[list[Item]], store: Store) -> dict[str, list[list[str]]]:
    """By seller that has something for each need: what, as sorted ids."""
    found: dict[str, list[list[str]]] = {}
    for place, had in enumerate(fine):
        for item in had:
            found.setdefault(store.seller_of(item.row), [[] for _ in fine])[place].append(item.id)
    return {seller: list(map(sorted, lists)) for seller, lists in found.items() if all(lists)}


def is_list_of(ids: Sequence[str], lists: Sequence[Collection[str]]) -> bool:
    """Whether there is one id of each list, in their order."""
    return len(ids) == len(lists) and all(id in those for id, those in zip(ids, lists, strict=True))


# With a voucher


def judge_voucher(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    yield from check_list_form(goal, found, NoList)
    fine = list_fitting_items(goal, store)
    yield from check_list_items(goal, found, fine)
    voucher, budget = goal["voucher"], goal["budget"]
    paid = count_payments(fine, voucher, store)
    if isinstance(found, OneOfEach):
        right = sum(count for cents, count in paid.items() if cents <= budget)
        if found.lists != right or not right:
            yield "its certificate counts other lists than those that are within the budget"
        if (found.budget, found.voucher and found.voucher.model_dump()) != (budget, voucher) or found.sellers:
            yield "its certificate has another budget, or another voucher"
        least = sum(list_cheapest(fine, 0))
        if found.least != least or least <= budget:
            yield "its certificate has another cheapest list, or needs no voucher"
        if pay_for_list(found.right, fine, voucher, store) > budget:
            yield "the list that its certificate calls right is not"
        yield from check_sell_out(goal, found, store)
        left = count_payments(list_fitting_items(goal, store, list_sell_outs(goal)), voucher, store)
        if min(left, default=budget + 1) > budget:
            yield "no list can be had once something has sold out"
    elif isinstance(found, Infeasible) and isinstance(found.proof, NoList):
        proof = found.proof
        if min(paid, default=0) <= budget or found.refusal != "over_budget":
            yield "its proof does not show that no list can be had"
        if (proof.budget, proof.least) != (budget, min(paid, default=0)):
            yield "its proof has another budget, or another cheapest list"
        if (proof.voucher and proof.voucher.model_dump()) != voucher:
            yield "its proof has another voucher"


def count_payments(fine: Sequence[list[Item]], voucher: Goal, store: Store) -> Counter[int]:
    """What the lists cost with the voucher, and how many cost so much."""
    costs: Counter[Cost] = Counter({(0, 0, 0): 1})
    for had in fine:
        more: Counter[Cost] = Counter()
        for item in had:
            own = store.seller_of(item.row) == voucher["seller"]
            for (total, mine, things), count in costs.items():
                more[total + item.cents, mine + item.cents * own, things + own] += count
        costs = more
    found: Counter[int] = Counter()
    for cost, count in costs.items():
        found[pay_with_voucher(cost, voucher)] += count
    return found


def pay_with_voucher(cost: Cost, voucher: Goal) -> int:
    """
    >>> pay_with_voucher((6_100, 0, 0), {"off": 1_200, "percent": 0, "most": 0, "least": 6_000, "seller": ""})
    4900
    """
    total, mine, things = cost
    if total < voucher["least"] or (voucher["seller"] and things < 2):
        return total
    counted = mine if voucher["seller"] else total
    if not voucher["percent"]:
        return total - min(counted, voucher["off"])
    return total - floor(min(Fraction(voucher["percent"], 100) * counted, Fraction(voucher["most"])))


def pay_for_list(ids: Sequence[str], fine: Sequence[list[Item]], voucher: Goal, store: Store) -> Any:
    """What these cost with the voucher; endlessly much where they are no list."""
    by_id = [{item.id: item for item in had} for had in fine]
    if not is_list_of(ids, by_id):
        return float("inf")
    picked = [had[id] for id, had in zip(ids, by_id, strict=True)]
    mine = [item.cents for item in picked if store.seller_of(item.row) == voucher["seller"]]
    return pay_with_voucher((sum(item.cents for item in picked), sum(mine), len(mine)), voucher)
