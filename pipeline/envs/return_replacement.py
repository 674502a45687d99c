"""One line of an order goes back, perhaps with something else in its place; or it cannot be returned."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from itertools import chain
from random import Random
from typing import Any, Literal

import numpy as np
from pydantic import Field

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
    is_needless_refusal,
    is_right_refusal,
)
from shopwright.pipeline.envs.constraints import find_doubtful_fits, is_sayable, require_compatibility
from shopwright.pipeline.envs.constraints import match_requirements as met_by
from shopwright.pipeline.envs.difficulty import Axes, compute_sigmoid
from shopwright.pipeline.envs.referring_expressions import (
    Clue,
    Memory,
    Span,
    compute_indirect_chance,
    draw_contrast,
    draw_moment,
    draw_order_history,
    draw_referring_clues,
    find_near_memory,
    intersect_spans,
    list_memories,
    slot_of_clue,
)
from shopwright.pipeline.envs.wording import Opening, list_said, make_slot, pick_stated, slot_of_constraint
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.policies import ShopPolicies
from shopwright.pipeline.shop.store import Customer, Item, Option, Shelf, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.schemas.certificates import AnyOf, Certificate, Constraint, End, Infeasible, Miss, NotReturnable, Return
from shopwright.schemas.shop import Line, Order
from shopwright.schemas.tasks import Action, Answer, Call, Slot

# Weights of the right line, the right return and the right replacement (EcomRLVE-GYM, return + replacement).
SELECTED, RETURNED, REPLACED = Fraction(9, 20), Fraction(9, 20), Fraction(1, 10)
# Lines that are looked at until one is as the task wants it.
TRIES = 200
# Chance to take a line where no other is shown: whoever returns the first there is would be right.
ALONE = 0.1
# What is remembered of a line beside its title or category.
MORE = ("when", "brand", "price", "pieces", "products", "beside")
DAY = timedelta(days=1)
# So many days after the last one a return is late beyond doubt.
LATE = 8
# Of refusals the share that is looked for among cancelled orders and what is never taken back: of all lines these are one in eighty.
RARE = 0.25
# Half of the tasks want something in its place.
WANTS = ("nothing", "nothing", "product", "variant")


class ReturnGoal(Goal):
    """Which line is meant, by which clues, and what is wanted in its place."""

    clues: list[Clue]
    order_id: str
    line_id: str
    product_id: str
    wants: Literal["nothing", "product", "variant"]
    category: str = ""
    constraints: list[Constraint] = Field(default_factory=list)
    """Of another product from this category."""
    replacement: str = ""
    """One product that is right, or the only variant."""
    query: str = ""
    """A search that finds the product."""


@dataclass(frozen=True)
class ReplacementWanted:
    """What is wanted in place of a line."""

    wants: Literal["nothing", "product", "variant"]
    slots: list[Slot]
    """What is said of it."""
    goal: dict[str, Any]
    """Its fields of the goal."""
    variant: str = ""
    """Of an exchange."""
    some_of: list[str] = field(default_factory=list)
    """The products that are right."""
    miss: Miss | None = None
    """The same so that it breaks exactly one constraint; without the line."""
    spare: str = ""
    """A right product beside the one of the goal: what may sell out on the way."""


class ReturnReplacement(Env):
    """The agent finds the line that is meant, starts its return if the policies allow it, and finds the replacement."""

    name = "return_replacement"
    Goal = ReturnGoal
    refusals = ("not_eligible",)

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        refuses = random.random() < INFEASIBLE
        tricky = random.random() < 0.7 * compute_sigmoid((axes.difficulty - 4) / 1.5)
        wants = random.choice(WANTS)
        indirect = random.random() < compute_indirect_chance(axes.difficulty)
        rare = refuses and random.random() < RARE
        for turn in range(TRIES):
            found = draw_return_task(
                world,
                axes,
                random,
                refuses=refuses,
                tricky=tricky,
                wants=wants,
                indirect=indirect,
                rare=rare and turn < TRIES // 2,
            )
            if found is not None:
                return found
        raise CannotDraw(
            f"no customer has {axes.orders} orders with a line that can{'not' if refuses else ''} be returned"
            f"{' on the edge of the rules' if tricky else ''} and is told from the others"
        )

    def solve(self, goal: ReturnGoal, shop: Shop, axes: Axes) -> Solution:
        line = {"order_id": goal.order_id, "line_id": goal.line_id}
        calls = [Call(name="order_list")]
        if not goal.feasible:
            calls.append(Call(name="return_check_eligibility", args=dict(line)))
        if goal.feasible and goal.wants == "product":
            calls.append(Call(name="catalog_search", args={"query": goal.query, "category": goal.category}))
        if goal.feasible and goal.wants == "variant":
            calls.append(Call(name="catalog_get_variants", args={"product_id": goal.product_id}))
        for first in range(0, len(calls), axes.tool_calls):
            yield Action(tool_calls=calls[first : first + axes.tool_calls])
        answer = Answer(env=self.name, selected_order_id=goal.order_id, selected_line_id=goal.line_id)
        if not goal.feasible:
            yield Action(answer=answer.model_copy(update={"refusal": goal.refusal}))
            return
        if goal.wants == "product" and goal.replacement not in shop.seen:
            yield Action(tool_calls=[Call(name="catalog_get_product", args={"product_id": goal.replacement})])
        back = Call(name="return_initiate", args=dict(line))
        if goal.wants == "variant":
            back = Call(name="return_exchange", args={**line, "variant_id": goal.replacement})
        if goal.wants == "product":
            answer = answer.model_copy(update={"recommended_product_ids": [goal.replacement]})
        yield Action(tool_calls=[back], answer=answer)

    def open(self, goal: ReturnGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = pick_stated(goal.slots)
        thing, instead = stated.pop(goal.clues[0].name), stated.pop("replacement", None)
        names = {each.name for each in goal.clues}
        clues = [slot for name, slot in stated.items() if name in names]
        needs = [slot for name, slot in stated.items() if name not in names]
        said = {
            "thing": thing.said,
            "clues": list_said(clues, speaker, random),
            "instead": instead.said if instead else "",
            "needs": list_said(needs, speaker, random),
        }
        parts = {"more": "told more" if clues else "", "then": "instead of it" if instead else ""}
        return Opening(self.name, said, {**parts, "needed": "that must be" if needs else ""})

    def score(self, goal: ReturnGoal, shop: Shop, answer: Answer | None) -> GoalScore:
        """.45 selection + .45 return + .10 replacement, each from -1 to 1. A refusal names the line that was meant: any other may be refused, too."""
        if not goal.feasible:
            refused = is_right_refusal(goal, answer) and not shop.returns
            right = refused and is_line_meant(goal, answer)
            fault = "another line was meant" if refused else "this line cannot be returned"
            return GoalScore(score_right(right), right, "" if right else fault)
        if answer is None or is_needless_refusal(goal, answer):
            return GoalScore(Fraction(-1), False, "no return where one is possible")
        parts = {
            "another line was meant": (
                SELECTED,
                score_right(is_line_meant(goal, answer)),
            ),
            "the return that was wanted is not the only one started": (
                RETURNED,
                score_right(is_only_return(goal, shop)),
            ),
            "the replacement is not what was wanted": (REPLACED, score_replacement(goal, shop, answer)),
        }
        faults = [fault for fault, (_, part) in parts.items() if part < 1]
        return GoalScore(
            sum((weight * part for weight, part in parts.values()), Fraction(0)), not faults, "; ".join(faults)
        )


def score_right(right: bool) -> Fraction:
    return Fraction(1 if right else -1)


def is_line_meant(goal: ReturnGoal, answer: Answer | None) -> bool:
    return answer is not None and (answer.selected_order_id, answer.selected_line_id) == (goal.order_id, goal.line_id)


def is_only_return(goal: ReturnGoal, shop: Shop) -> bool:
    """Whether what was asked to go back goes back, and nothing else; an exchange that nobody asked for is none."""
    if [(each["order_id"], each["line_id"]) for each in shop.returns] != [(goal.order_id, goal.line_id)]:
        return False
    return goal.wants != "nothing" or not shop.returns[0]["instead"]


def score_replacement(goal: ReturnGoal, shop: Shop, answer: Answer) -> Fraction:
    """Of other products the share that meets all constraints and is in stock at the end, from -1 to 1; of the rest all or nothing."""
    exchanged = [each["instead"] for each in shop.returns if each["instead"]]
    named = set(answer.recommended_product_ids)
    if goal.wants == "nothing":
        return score_right(not named and not exchanged)
    if goal.wants == "variant":
        return score_right(exchanged == [goal.replacement] and named <= {goal.product_id})
    named |= {option.product_id for each in exchanged if (option := shop.store.option_of(each)) is not None}
    right = sum(is_right_replacement(goal, shop, product) for product in named)
    return 2 * Fraction(right, len(named)) - 1 if named else Fraction(-1)


def is_right_replacement(goal: ReturnGoal, shop: Shop, product_id: str) -> bool:
    row = shop.store.row(product_id)
    if row is None or product_id == goal.product_id or not shop.is_in_stock(row):
        return False
    item = shop.store.item(row)
    return item.category == goal.category and all(item.meets(each) for each in goal.constraints)


def draw_return_task(
    world: World, axes: Axes, random: Random, *, refuses: bool, tricky: bool, wants: str, indirect: bool, rare: bool
) -> DrawnTask | None:
    """A task about one line; None where that line is not as the task wants it. rare: it is refused for a reason that few lines have."""
    store = world.store
    customer, orders, shown = draw_order_history(store, axes, random)
    policies = world.policies_for(customer.id)
    order = orders[random.randrange(len(orders))]
    line = order.lines[random.randrange(len(order.lines))]
    row = store.row(line.product_id)
    if row is None:
        return None
    item = store.item(row)
    if rare and not is_refused_for_a_rare_reason(policies, order, line, item, customer, tricky=tricky):
        return None
    spans = [
        span
        for each in list_return_times(policies, order, line, item, customer, refuses, tricky)
        if (span := intersect_spans(each, shown))
    ]
    if not spans:
        return None
    now = draw_moment(random.choice(spans), random)
    verdict = policies.return_verdict(order, line, item, customer, now)
    if verdict["eligible"] == refuses:
        return None
    memories = list_memories(orders, now, store, lines=True)
    if len(memories) == 1 and random.random() >= ALONE:
        return None
    it = next(each for each in memories if each.line is line)
    first = "category" if indirect else "title"
    clues = draw_referring_clues(it, memories, first, MORE, random, count=2, alone=not indirect)
    instead = draw_replacement(store, item, line, wants, axes, random) if clues else None
    if clues is None or instead is None:
        return None
    event = schedule_replacement_sell_out(store, instead.spare, axes, random)
    contrasts = random.random() < axes.contrast
    goal = ReturnGoal(
        persona_id=customer.id,
        now=now,
        policies=policies.id,
        slots=list_return_slots(clues, instead, now, axes, random),
        refusal="not_eligible" if refuses else "",
        event=event,
        clues=clues,
        order_id=order.id,
        line_id=line.line_id,
        product_id=line.product_id,
        wants=instead.wants,
        contrast=draw_contrast(it, memories, clues, ("category", *MORE), random, lines=True) if contrasts else [],
        **instead.goal,
    )
    end = make_return_end_state(order.id, line.line_id, instead.variant, instead.some_of)
    if refuses:
        facts = {name: verdict[name] for name in ("reason", "policy_id", "until")}
        proof = NotReturnable(order_id=order.id, line_id=line.line_id, now=now, **facts)
        right: Certificate = Infeasible(refusal=goal.refusal, proof=proof)
        miss = Miss(breaks=["eligibility"], end=end)
    else:
        right = AnyOf(ends=[end, *([exclude_sold_out(end, instead.spare)] if event is not None else [])])
        miss = find_nearest_return(order, line, clues, memories, instead)
    return DrawnTask(goal, {}, right, miss)


def make_return_end_state(order_id: str, line_id: str, variant: str, some_of: list[str]) -> End:
    """What was handed in, and what was returned."""
    return End(
        answer=Answer(selected_order_id=order_id, selected_line_id=line_id),
        returns=[Return(order_id=order_id, line_id=line_id, instead=variant)],
        some_of=some_of,
    )


def exclude_sold_out(end: End, product: str) -> End:
    """The same once a product has sold out."""
    left = [each for each in end.some_of if each != product]
    return end.model_copy(update={"some_of": left, "after_sell_out": True})


def is_refused_for_a_rare_reason(
    policies: ShopPolicies, order: Order, line: Line, item: Item, customer: Customer, *, tricky: bool
) -> bool:
    """Whether its order was cancelled or, on the edge of the rules, it is never taken back."""
    if not tricky or order.cancelled or not order.delivered:
        return not tricky and order.cancelled is not None
    return not policies.return_verdict(order, line, item, customer, order.delivered)["until"]


def list_return_times(
    policies: ShopPolicies, order: Order, line: Line, item: Item, customer: Customer, refuses: bool, tricky: bool
) -> Iterator[Span]:
    """When a line can, or cannot, be returned: on the edge of the rules, or clearly.

    On the edge are the last day and the one before, the two days after it, and what is never taken back.
    """
    came = order.delivered
    if order.cancelled or not came:
        if refuses and not tricky:
            yield order.placed, order.placed + 30 * DAY
        return
    until = policies.return_verdict(order, line, item, customer, came)["until"]
    if not until:
        if refuses and tricky:
            yield came, came + 14 * DAY
        return
    last = datetime.combine(date.fromisoformat(until), time())
    if refuses and tricky:
        yield last + DAY, last + 3 * DAY
    elif refuses:
        yield order.placed, came
        yield last + LATE * DAY, last + 40 * DAY
    elif tricky:
        yield max(came, last - DAY), last + DAY
    else:
        yield came, last - DAY


def draw_replacement(
    store: Store, item: Item, line: Line, wants: str, axes: Axes, random: Random
) -> ReplacementWanted | None:
    """What is wanted in place of a product; None where the shop has nothing of the kind."""
    if wants == "product":
        return draw_other_product(store, item, axes, random)
    if wants == "variant":
        return draw_other_variant(store, item, line, random)
    slots = [make_slot("replacement", "wants nothing", {}, "clause")]
    return ReplacementWanted("nothing", slots, {}, miss=Miss(breaks=["replacement"], end=End(some_of=[item.id])))


def draw_other_variant(store: Store, item: Item, line: Line, random: Random) -> ReplacementWanted | None:
    """Another variant of the same product that is in stock and is told from all others by its options."""
    options = store.options(item.row)
    said = [option.label for option in options]
    fine = [
        option for option in options if option.stock and option.id != line.variant_id and said.count(option.label) == 1
    ]
    if not fine or not said[0]:
        return None
    it = random.choice(fine)
    miss = next((each for each in options if each.id not in (it.id, line.variant_id) and each.stock), None)
    return ReplacementWanted(
        "variant",
        [make_slot("replacement", "wants variant", {}, "clause"), slot_of_variant(it)],
        {"replacement": it.id},
        variant=it.id,
        miss=Miss(breaks=["variant"], end=End(returns=[Return(order_id="", line_id="", instead=miss.id)]))
        if miss
        else None,
    )


def draw_other_product(store: Store, item: Item, axes: Axes, random: Random) -> ReplacementWanted | None:
    """Another product of the same category that meets one constraint less than the level has; the line is the one more."""
    shelf = store.shelf(int(store.leaf_of[item.row]))
    stocked = store.in_stock[shelf.rows] & (shelf.rows != item.row)
    must = require_compatibility(item.fits)
    fine = stocked & (met_by(shelf, must).all(axis=0) if must else ~find_doubtful_fits(shelf, item.fits))
    places = np.flatnonzero(fine)
    if not len(places) or not is_sayable(item.fits):
        return None
    model = store.item(int(shelf.rows[places[random.randrange(len(places))]]))
    constraints = list(chain.from_iterable(each.constraints for each in must))
    constraints += [
        each for each in draw_replacement_constraints(model, shelf, axes, random) if each.fact not in item.fits
    ]
    masks = [shelf.meets(each) for each in constraints]
    met = np.sum(masks, axis=0)
    right = shelf.rows[stocked & (met == len(masks))]
    if not must and (stocked & ~fine & (met == len(masks))).any():
        return None  # it is made for something of which the returned one says nothing: nobody knows whether it does
    others = right[right != model.row]
    spare = store.ids[int(others[random.randrange(len(others))])].as_py() if len(others) else ""
    wrong = np.flatnonzero(stocked & (met == len(masks) - 1))
    miss = None
    if len(wrong):
        place = int(wrong[random.randrange(len(wrong))])
        broken = next(each for each, mask in zip(constraints, masks, strict=True) if not mask[place])
        miss = Miss(
            breaks=[name_replacement_slot(broken)], end=End(some_of=[store.ids[int(shelf.rows[place])].as_py()])
        )
    return ReplacementWanted(
        "product",
        [
            make_slot("replacement", "wants product", {"category": item.category}, "clause", item.category),
            *(slot_of_constraint(each, name_replacement_slot(each)) for each in constraints),
        ],
        {"category": item.category, "constraints": constraints, "replacement": model.id, "query": model.title},
        some_of=store.ids.take(right).to_pylist(),
        miss=miss,
        spare=spare,
    )


def slot_of_variant(option: Option) -> Slot:
    """All its choices, as one trait."""
    slot = make_slot("variant", "choices", {each.name: each.value for each in option.choices}, "trait", option.label)
    return slot.model_copy(update={"topics": [choice.name for choice in option.choices]})


def name_replacement_slot(constraint: Constraint) -> str:
    """
    >>> name_replacement_slot(Constraint(fact="price", op="at most", value="$40", number=4000))
    'price of replacement'
    """
    return f"{constraint.fact} of replacement"


def draw_replacement_constraints(model: Item, shelf: Shelf, axes: Axes, random: Random) -> list[Constraint]:
    """What a product meets: as much as the level asks for beside the line, or as the product has; no fact is its alone."""
    dear = model.cents + int(model.cents * axes.slack * random.random())
    found = [Constraint(fact="price", op="at most", value=f"${dear / 100:.2f}", number=dear)]
    if model.rating is not None:
        least = max(1.0, int(10 * model.rating * (1 - axes.slack * random.random() / 2)) / 10)
        found.append(Constraint(fact="rating", op="at least", value=f"{least:.1f}", number=least))
    if model.shipping_days is not None:
        most = model.shipping_days + int(model.shipping_days * axes.slack * random.random())
        found.append(Constraint(fact="shipping days", op="at most", value=str(most), number=most))
    same = [
        Constraint(fact=fact, op="is", value=value)
        for fact, value in model.facts.items()
        if isinstance(value, str) and fact != "category"
    ]
    # A model number would name the product.
    found += [each for each in same if np.count_nonzero(shelf.meets(each)) > 1]
    return random.sample(found, min(len(found), max(1, axes.constraints - 1)))


def schedule_replacement_sell_out(store: Store, spare: str, axes: Axes, random: Random) -> SellOut | None:
    """Another right product that sells out while the agent is at work."""
    row = store.row(spare) if spare else None
    if row is None or random.random() >= axes.sells_out:
        return None
    return SellOut(after=random.randint(1, 2), variants=[each.id for each in store.options(row) if each.stock])


def list_return_slots(
    clues: list[Clue], instead: ReplacementWanted, now: datetime, axes: Axes, random: Random
) -> list[Slot]:
    """The disclosure; what the line is and that something is wanted in its place is stated always."""
    found = [slot_of_clue(each, now.date(), lines=True) for each in clues] + instead.slots
    always = [clues[0].name, *(["replacement"] if instead.wants != "nothing" else [])]
    return draw_disclosure(found, axes, random, always=always)


def find_nearest_return(
    order: Order, line: Line, clues: list[Clue], shown: list[Memory], instead: ReplacementWanted
) -> Miss:
    """Another line that all clues but one fit; else a replacement that misses one constraint; else no return."""
    found = find_near_memory(clues, shown)
    if found is not None and found[0].line is not None:
        other = make_return_end_state(found[0].order.id, found[0].line.line_id, instead.variant, instead.some_of)
        return Miss(breaks=[found[1]], end=other)
    if instead.miss is not None:
        wrong = instead.miss.end
        variant = wrong.returns[0].instead if wrong.returns else ""
        return Miss(
            breaks=instead.miss.breaks, end=make_return_end_state(order.id, line.line_id, variant, wrong.some_of)
        )
    right = make_return_end_state(order.id, line.line_id, instead.variant, instead.some_of)
    return Miss(breaks=["return"], end=right.model_copy(update={"returns": []}))
