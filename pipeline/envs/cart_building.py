"""Exactly the asked products, variants and quantities into the cart."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, product
from random import Random
from typing import Any, NamedTuple

import numpy as np

from shopwright.pipeline.envs.base import (
    INFEASIBLE,
    CannotDraw,
    DrawnTask,
    Env,
    Goal,
    GoalScore,
    Notice,
    SellOut,
    Solution,
    World,
    draw_disclosure,
)
from shopwright.pipeline.envs.customers import VisitingCustomer, draw_customer
from shopwright.pipeline.envs.difficulty import Axes, compute_sigmoid
from shopwright.pipeline.envs.wording import Opening, make_plain_slot, make_slot, mean_value
from shopwright.pipeline.phrases.speaker import Speaker
from shopwright.pipeline.shop.store import Item, Option, Store, seconds_to_shop_time
from shopwright.pipeline.shop.tools import PAGE, Shop
from shopwright.pipeline.shop.user_simulator import SOLD_OUT
from shopwright.schemas.certificates import AnyOf, End, Infeasible, Lines, Miss, NotForSale, Unavailable
from shopwright.schemas.record import Part
from shopwright.schemas.shop import Choice
from shopwright.schemas.tasks import Action, Answer, Call, Slot

# Share of products that are named by their title; of the others the shopper says which of its visits it means.
BY_TITLE = 0.25
# Share of those that are told in the fewest words.
BRIEFLY = 0.5
# Of the share of products that a level asks for in a variant, so much is whole carts: of these alone a contradiction can be made.
WHOLE_CARTS = 0.4
# Of the visit history on which a product may stand, where more than one tool call can be made in a turn.
PAGES = 2
# First results of a search for its title, of which a product named by it is one.
FOUND_AMONG = 5
# Products looked at for each that is asked for.
TRIES = 30
# Products of the same kind that are looked at for a value that a product does not come in.
NEIGHBORS = 12


class RequestedLine(Part):
    """So many pieces of a product."""

    said: str
    """Its title, where the shopper names it so; else empty."""
    product_id: str
    choices: list[Choice]
    """What a variant must be; empty where any will do."""
    variants: list[str]
    """All that are right; none where there is no such variant."""
    quantity: int
    page: int
    """Of the visit history on which it stands; 0: it is named by its title."""


class CartGoal(Goal):
    """The lines that the cart must hold."""

    lines: list[RequestedLine]


class MentionedProduct(NamedTuple):
    """A product, and how the shopper means it: by its title, or by a visit."""

    row: int
    slot: Slot
    page: int


class DrawnLine(NamedTuple):
    """A line, the slot that names its product, and choices instead of its own that no variant has, where they were wanted."""

    line: RequestedLine
    slot: Slot
    impossible: list[Choice]


class CartBuilding(Env):
    """The cart, and what was bought from it, must hold what was asked and nothing else.

    The task's part is 2 F1 - 1 over pieces (EcomRLVE-GYM, cart building); where no variant is asked for, any counts.
    What is sold out or does not exist is left out, and where nothing is left the right answer is to refuse with an
    empty cart: sold_out, or contradiction where no such variant was ever offered.
    """

    name = "cart_building"
    Goal = CartGoal
    refusals = ("sold_out", "contradiction")

    def draw(self, world: World, axes: Axes, random: Random) -> DrawnTask:
        store, who = world.store, draw_customer(world.store, random)
        # What can be had is drawn like what cannot: else products with variants would tell a contradiction.
        whole = WHOLE_CARTS * compute_share_in_variants(axes)
        drawn = draw_cart_lines(world, who, axes, True, random) if random.random() < whole else []
        drawn = drawn or draw_cart_lines(world, who, axes, False, random)
        if not drawn:
            raise CannotDraw(
                "no products in stock that can be named so that no other is meant, with variants to choose"
            )
        refusal = ""
        if random.random() < INFEASIBLE:
            refusal = "contradiction" if drawn[0].impossible else "sold_out"
        if refusal == "contradiction":
            drawn = [make_impossible(each) for each in drawn]
        lines = [each.line for each in drawn]
        miss = find_nearest_cart(store, lines, refusal)
        event = None
        if not refusal and random.random() < axes.sells_out:
            event = SellOut(after=random.randint(1, 2), variants=random.choice(lines).variants)
        goal = CartGoal(
            persona_id=who.id,
            now=who.now,
            slots=list_cart_slots(drawn, axes, random),
            refusal=refusal,
            sold_out=list(chain.from_iterable(line.variants for line in lines)) if refusal == "sold_out" else [],
            event=event,
            lines=lines,
        )
        return DrawnTask(goal, {}, list_right_carts(goal, store), miss)

    def solve(self, goal: CartGoal, shop: Shop, axes: Axes) -> Solution:
        looks = [Call(name="user_get_visit_history", args={"page": page}) for page in make_history_calls(goal)]
        looks += [Call(name="catalog_search", args={"query": line.said}) for line in goal.lines if not line.page]
        looks_at = [Call(name="catalog_get_variants", args={"product_id": line.product_id}) for line in goal.lines]
        for calls in (*batch_turn_calls(looks, axes.tool_calls), *batch_turn_calls(looks_at, axes.tool_calls)):
            yield Action(tool_calls=calls)
        adds = [make_cart_add_call(line, pieces, shop) for line, pieces in count_available_pieces(goal, shop) if pieces]
        awaits = goal.event is not None and not shop.gone.issuperset(goal.event.variants)
        turns = batch_turn_calls(adds, axes.tool_calls)
        for place, batch in enumerate(turns, 1):
            last = place == len(turns) and not awaits
            yield Action(tool_calls=batch, answer=self.handed_in(goal, shop) if last else None)
        yield Action(answer=self.handed_in(goal, shop))

    def handed_in(self, goal: CartGoal, shop: Shop) -> Answer:
        return Answer(env=self.name, refusal=find_due_refusal(goal, shop))

    def score(self, goal: CartGoal, shop: Shop, answer: Answer | None) -> GoalScore:
        if answer is None:
            return GoalScore(Fraction(-1), False, "nothing was handed in")
        right = find_due_refusal(goal, shop)
        if answer.refusal != right:
            return GoalScore(Fraction(-1), False, "a needless refusal" if not right else f"not refused as {right}")
        held = Counter(shop.cart) + Counter(shop.bought)
        pieces, asked = held.total(), count_available_pieces(goal, shop)
        if right:
            return GoalScore(Fraction(-1 if pieces else 1), not pieces, "something is in the cart" if pieces else "")
        matched = 0
        for line, due in asked:
            matched += min(due, sum(held[id] for id in line.variants))
        f1 = Fraction(2 * matched, pieces + sum(pieces for _, pieces in asked))
        return GoalScore(2 * f1 - 1, f1 == 1, "" if f1 == 1 else "the cart is not what was asked for")

    def open(self, goal: CartGoal, facts: Mapping[str, Any], speaker: Speaker, random: Random) -> Opening:
        stated = {slot.name: slot.said for slot in goal.slots if slot.known == "stated"}
        items = [phrase_cart_line(number, stated, speaker, random) for number in range(1, len(goal.lines) + 1)]
        return Opening(self.name, {"rule": stated["what is missing"], "items": speaker.list(items, random)})

    def notices(self, goal: CartGoal, shop: Shop) -> Iterator[Notice]:
        numbers = {line.product_id: number for number, line in enumerate(goal.lines)}
        said = {slot.name: slot.said for slot in goal.slots}
        if goal.event is not None and shop.gone.issuperset(goal.event.variants):
            for number, line in enumerate(goal.lines, 1):
                if set(line.variants) <= set(goal.event.variants):
                    yield Notice(f"{SOLD_OUT} {line.product_id}", "is sold out", {"thing": said[f"item {number}"]})
        for id in shop.cart:
            option = shop.store.option_of(id)
            assert option is not None
            if option.product_id not in numbers:
                row = shop.store.row(option.product_id)
                assert row is not None
                title = " ".join(shop.store.item(row).title.split())
                yield Notice(f"not asked {option.product_id}", "was not asked for", {"thing": title})
            elif wrong := find_wrong_choice(goal.lines[numbers[option.product_id]], option):
                is_now = next((each.value for each in option.choices if each.name == wrong.name), option.label)
                key = f"{wrong.name} of item {numbers[option.product_id] + 1}"
                yield Notice(key, "is another variant", {"is": is_now, "wants": said[key]})
        for number, line in enumerate(goal.lines, 1):
            have = sum(shop.cart.get(id, 0) + shop.bought.get(id, 0) for id in line.variants)
            if have and have != line.quantity:
                key = f"quantity of item {number}"
                facts = {"have": f"{have}", "thing": said[f"item {number}"], "wants": f"{line.quantity}"}
                yield Notice(key, "is another number", facts)


# What is asked for


def draw_cart_lines(
    world: World, who: VisitingCustomer, axes: Axes, in_variants: bool, random: Random
) -> list[DrawnLine]:
    """As many lines as the level asks for, of different products, each named so that exactly one fits; else none.

    in_variants: each is asked for in one variant, of a product of which one could ask for a variant that there is not.
    """
    count = min(5, 1 + axes.difficulty // 3)
    reach = PAGE * (PAGES if axes.tool_calls > 1 else 1)
    found: dict[int, DrawnLine] = {}
    for _ in range(TRIES * count):
        by_title = not len(who.rows) or random.random() < BY_TITLE
        each = draw_titled_product(world, random) if by_title else draw_visited_product(world.store, who, reach, random)
        if each is None or each.row in found:
            continue
        line = draw_cart_line(world.store, each, axes, in_variants, random)
        if line is not None:
            found[each.row] = line
        if len(found) == count:
            return list(found.values())
    return []


def draw_titled_product(world: World, random: Random) -> MentionedProduct | None:
    """Any product of the shop, by its title, where a search for that finds it and no other is called so."""
    row = random.randrange(len(world.store))
    title = " ".join(world.store.titles[row].as_py().split())
    found = world.finder.find(title, limit=FOUND_AMONG).tolist()
    same = [other for other in found if " ".join(world.store.titles[other].as_py().split()).lower() == title.lower()]
    return MentionedProduct(row, make_plain_slot("item", title, "thing"), 0) if same == [row] else None


def draw_visited_product(store: Store, who: VisitingCustomer, reach: int, random: Random) -> MentionedProduct | None:
    """One of the latest visits, by what no other product fits that the customer ever looked at."""
    back = random.randrange(min(reach, len(who.rows)))
    place = len(who.rows) - 1 - back
    item = store.item(int(who.rows[place]))
    there = store.leaf_of[who.rows] == store.leaf_of[item.row]
    rows, days = who.rows[there], who.seconds[there] // 86_400
    day = int(who.seconds[place]) // 86_400
    others = [store.item(row) for row in np.unique(rows).tolist() if row != item.row]
    brand = (item.brand or "").lower()
    last = int(np.flatnonzero(there)[-1])
    unique = {
        "category": not others,
        "last": who.rows[last] == item.row,
        "brand": bool(brand) and all((other.brand or "").lower() != brand for other in others),
        "day": set(rows[days == day].tolist()) == {item.row},
        "price": all(other.cents != item.cents for other in others),
    }
    ways = [way for way, only in unique.items() if only]
    if not ways:
        return None
    first = int(np.flatnonzero(who.rows == item.row)[-1])
    way = ways[0] if random.random() < BRIEFLY else random.choice(ways)
    return MentionedProduct(item.row, describe_visit(item, way, who, day), (len(who.rows) - 1 - first) // PAGE + 1)


def describe_visit(item: Item, way: str, who: VisitingCustomer, day: int) -> Slot:
    """A product as the shopper remembers it: the desk lamp that it looked at on May 14."""
    facts = {
        "brand": {"brand": item.brand or ""},
        "price": {"price": f"${item.cents / 100:.2f}"},
        "day": {"day": f"{seconds_to_shop_time(day * 86_400):%Y-%m-%d}", "asked": f"{who.now:%Y-%m-%d}"},
    }
    return make_slot(
        "item", f"visited {way}", {"category": item.category, **facts.get(way, {})}, "thing", item.category
    )


def draw_cart_line(
    store: Store, each: MentionedProduct, axes: Axes, in_variant: bool, random: Random
) -> DrawnLine | None:
    """What is wanted of a product; None where it has no variant as the level asks for."""
    options = store.options(each.row)
    # What comes in one form only is asked for in pieces: else who finds the product would have done it all.
    chosen = compute_share_in_variants(axes)
    several = min(0.5, 0.1 * axes.difficulty) if len(options) > 1 else chosen
    quantity = random.randint(2, 4) if random.random() < several else 1
    enough = [option for option in options if option.stock >= quantity]
    if not enough:
        return None
    choices: list[Choice] = []
    impossible: list[Choice] = []
    variants = [option.id for option in options]
    alone = chosen * (1 - WHOLE_CARTS) / (1 - chosen * WHOLE_CARTS)
    if in_variant or (len(options) > 1 and random.random() < alone):
        option = random.choice(enough)
        choices, variants = find_telling_choices(option, options), [option.id]
    if in_variant:
        impossible = make_impossible_choices(store, each.row, option, choices, random)
        if not impossible:
            return None
    line = RequestedLine(
        said="" if each.slot.meaning else each.slot.said,
        product_id=options[0].product_id,
        choices=choices,
        variants=variants,
        quantity=quantity,
        page=each.page,
    )
    return DrawnLine(line, each.slot, impossible)


def compute_share_in_variants(axes: Axes) -> float:
    """Of the products that come in several variants, how many are asked for in one (EcomRLVE-GYM, cart building)."""
    return compute_sigmoid((axes.difficulty - 2) / 1.5)


def make_impossible(drawn: DrawnLine) -> DrawnLine:
    """The same product in a variant that there is not."""
    return drawn._replace(line=drawn.line.model_copy(update={"choices": drawn.impossible, "variants": []}))


def find_telling_choices(option: Option, options: Sequence[Option]) -> list[Choice]:
    """The choices that not all variants share: together only this one has them. Of a product in one form its first, if any."""
    shared = set(option.choices).intersection(*(other.choices for other in options))
    return [each for each in option.choices if each not in shared] or list(option.choices[:1])


def count_differences(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def make_impossible_choices(
    store: Store, row: int, option: Option, telling: Sequence[Choice], random: Random
) -> list[Choice]:
    """Choices that no variant has, all but one of them as this one has them; none where there are none.

    telling: the choices of this one that tell it from the others.

    First such whose values are all offered, but not together; else a value that only other products come in.
    """
    options = store.options(row)
    names = [choice.name for choice in telling]
    if not names:
        return []  # it comes in one form only

    def get_values(variant: Option) -> tuple[str, ...]:
        return tuple(get_choice_value(variant, name) for name in names)

    offered: dict[str, set[str]] = {name: set() for name in names}
    for choice in chain.from_iterable(other.choices for other in options):
        if choice.name in offered:
            offered[choice.name].add(choice.value)
    have, near = set(map(get_values, options)), get_values(option)
    combinations = product(*(sorted(values) for values in offered.values()))
    pairs = [each for each in combinations if each not in have and count_differences(each, near) == 1]
    if pairs:
        return [Choice(name=name, value=value) for name, value in zip(names, random.choice(pairs), strict=True)]
    name, others = random.choice(names), store.rows_of(int(store.leaf_of[row]))
    known = {value.lower() for value in offered[name]}
    for _ in range(NEIGHBORS):
        for other in store.options(int(others[random.randrange(len(others))])):
            value = get_choice_value(other, name)
            if value and value.lower() not in known:
                return [
                    Choice(name=each, value=value if each == name else get_choice_value(option, each)) for each in names
                ]
    return []


def get_choice_value(option: Option, name: str) -> str:
    return next((each.value for each in option.choices if each.name == name), "")


# In words


def phrase_cart_line(number: int, stated: Mapping[str, str], speaker: Speaker, random: Random) -> str:
    """One thing for the cart, with all that is stated of it."""
    said = stated[f"item {number}"]
    pieces = stated.get(f"quantity of item {number}", "")
    details = [text for name, text in stated.items() if name.endswith(f" of item {number}") and text != pieces]
    if details:
        said = speaker.phrase_around("cart item", {"item": said, "list": speaker.list(details, random)}, random)
    return speaker.phrase_around("cart pieces", {"item": said, "pieces": pieces}, random) if pieces else said


def list_cart_slots(lines: Sequence[DrawnLine], axes: Axes, random: Random) -> list[Slot]:
    """The disclosure.

    One piece is what nobody needs to say: told when asked, and right where nothing is said. A title may say another
    variant than is wanted, so that with a title the choices are always stated.
    """
    found, always, unsaid = [make_slot("what is missing", "cart rule", {}, "clause")], ["what is missing"], []
    for number, (line, item, _) in enumerate(lines, 1):
        found.append(item.model_copy(update={"name": f"item {number}"}))
        always.append(f"item {number}")
        choices = [slot_of_value(f"{each.name} of item {number}", each) for each in line.choices]
        found += choices
        always += [slot.name for slot in choices if not line.page]
        counted = {"number": f"{line.quantity}", "pieces": f"{line.quantity} piece{'s' if line.quantity > 1 else ''}"}
        pieces = make_slot(f"quantity of item {number}", "pieces", counted, "clause", f"{line.quantity}")
        if line.quantity > 1:
            found.append(pieces)
        else:
            unsaid.append(pieces.model_copy(update={"known": "inferable"}))
    return draw_disclosure(found, axes, random, always=always) + unsaid


def slot_of_value(name: str, choice: Choice) -> Slot:
    meaning, facts, value = mean_value(choice.name, choice.value)
    return make_slot(name, meaning, facts, "trait", value)


# The certificate


def count_available_pieces(goal: CartGoal, shop: Shop) -> list[tuple[RequestedLine, int]]:
    """The pieces of each line that can be had: of what is sold out, those that were bought before."""
    pieces = []
    for line in goal.lines:
        count = line.quantity
        if shop.gone.issuperset(line.variants):
            count = min(count, sum(shop.bought.get(id, 0) for id in line.variants))
        pieces.append((line, count))
    return pieces


def find_due_refusal(goal: CartGoal, shop: Shop) -> str:
    """Why nothing of it can be had at this moment; empty where something can."""
    return "" if any(pieces for _, pieces in count_available_pieces(goal, shop)) else goal.refusal or "sold_out"


def find_wrong_choice(line: RequestedLine, option: Option) -> Choice | None:
    """The first choice in which a variant is not what is asked for."""
    return next((each for each in line.choices if each not in option.choices), None)


def list_right_carts(goal: CartGoal, store: Store) -> AnyOf | Infeasible:
    """Every end state that earns everything: of each line its pieces, in any of the variants named."""
    if goal.refusal:
        return Infeasible(
            refusal=goal.refusal, proof=NotForSale(lines=[prove_unavailable(line, store) for line in goal.lines])
        )
    ends = [End(cart=[make_line_end_state(line) for line in goal.lines])]
    if goal.event is not None:
        left = [line for line in goal.lines if not set(line.variants) <= set(goal.event.variants)]
        answer = Answer(refusal="" if left else "sold_out")
        ends.append(End(cart=[make_line_end_state(line) for line in left], answer=answer, after_sell_out=True))
    return AnyOf(ends=ends)


def prove_unavailable(line: RequestedLine, store: Store) -> Unavailable:
    return Unavailable(
        product_id=line.product_id,
        choices={each.name: each.value for each in line.choices},
        sold_out=line.variants,
        offered=list_offered_options(store, line.product_id),
    )


def make_line_end_state(line: RequestedLine) -> Lines:
    return Lines(product_id=line.product_id, variants=line.variants, quantity=line.quantity)


def list_offered_options(store: Store, product_id: str) -> list[str]:
    row = store.row(product_id)
    return [] if row is None else [option.label for option in store.options(row)]


def find_nearest_cart(store: Store, lines: Sequence[RequestedLine], refusal: str) -> Miss:
    """A cart, handed in, that breaks exactly one slot.

    Another variant of a line where one differs in a single choice, else a piece too many or too few, else a line left out.
    """
    for number, line in enumerate(lines, 1):
        row = store.row(line.product_id)
        assert row is not None
        for option in store.options(row):
            wrong = [each for each in line.choices if each not in option.choices]
            if len(wrong) == 1 and option.stock >= line.quantity and option.id not in line.variants:
                return make_cart_miss(
                    store, lines, refusal, number, f"{wrong[0].name} of item {number}", option, line.quantity
                )
    if refusal:
        return Miss(breaks=["what is missing"], end=End())
    for number, line in enumerate(lines, 1):
        option = find_best_variant(store, line)
        other = line.quantity + 1 if option.stock > line.quantity else line.quantity - 1
        if other:
            return make_cart_miss(store, lines, refusal, number, f"quantity of item {number}", option, other)
    return make_cart_miss(store, lines, refusal, 1, "item 1", find_best_variant(store, lines[0]), 0)


def make_cart_miss(
    store: Store, lines: Sequence[RequestedLine], refusal: str, number: int, breaks: str, option: Option, pieces: int
) -> Miss:
    """The cart with this many pieces of this variant for one line, and the others as they are asked for."""
    cart = [] if refusal else [(find_best_variant(store, line), line.quantity) for line in lines]
    cart[number - 1 : number] = [(option, pieces)] if pieces else []
    held = [Lines(product_id=each.product_id, variants=[each.id], quantity=count) for each, count in cart]
    return Miss(breaks=[breaks], end=End(cart=held))


def find_best_variant(store: Store, line: RequestedLine) -> Option:
    """The right variant of which there are the most pieces."""
    options = [option for id in line.variants if (option := store.option_of(id)) is not None]
    return max(options, key=lambda option: (option.stock, option.id))


# The way through


def batch_turn_calls(calls: list[Call], most: int) -> list[list[Call]]:
    """The calls of one turn after the other."""
    return [calls[first : first + most] for first in range(0, len(calls), most)]


def make_history_calls(goal: CartGoal) -> range:
    """Of the visit history, until everything on it was seen."""
    return range(1, max(line.page for line in goal.lines) + 1)


def make_cart_add_call(line: RequestedLine, pieces: int, shop: Shop) -> Call:
    """The call that puts a line into the cart, in the first right variant that has enough."""
    for id in line.variants:
        option = shop.store.option_of(id)
        if option is not None and shop.stock(option) >= pieces:
            break
    return Call(name="cart_add", args={"product_id": line.product_id, "variant_id": id, "quantity": pieces})
