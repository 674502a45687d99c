"""Exactly the asked products, variants and quantities into the cart."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
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
    SellOut,
    Solution,
    Undrawable,
    World,
    ledger,
)
from pipeline.envs.difficulty import Axes, sigma
from pipeline.envs.recall import asking
from pipeline.envs.visits import Comer, comer
from pipeline.shop.shopper import SOLD_OUT
from pipeline.shop.store import Item, Option, Store, moment
from pipeline.shop.tools import PAGE, Shop
from schemas.record import Part
from schemas.shop import Choice
from schemas.tasks import Action, Answer, Call, Wish

BY_TITLE = 0.25
"""Share of products that are named by their title; of the others the shopper says which of its visits it means."""
BRIEFLY = 0.5
"""Share of those that are told in the fewest words."""
PAGES = 2
"""Of the visit history on which a product may stand, where more than one tool call can be made in a turn."""
FOUND_AMONG = 5
"""First results of a search for its title, of which a product named by it is one."""
TRIES = 30
"""Products looked at for each that is asked for."""
NEIGHBORS = 12
"""Products of the same kind that are looked at for a value that a product does not come in."""
RULE = "leave out what is not to be had, and tell me why if nothing is left"


class Wanted(Part):
    """So many pieces of a product."""

    said: str
    """How the shopper names it."""
    product_id: str
    choices: list[Choice]
    """What a variant must be; empty where any will do."""
    variants: list[str]
    """All that are right; none where there is no such variant."""
    quantity: int
    page: int
    """Of the visit history on which it stands; 0: it is named by its title."""


class Asked(Goal):
    """The lines that the cart must hold."""

    lines: list[Wanted]


class Named(NamedTuple):
    row: int
    said: str
    page: int


class CartBuilding(Env):
    """The cart, and what was bought from it, must hold what was asked and nothing else.

    The task's part is 2 F1 - 1 over pieces (EcomRLVE-GYM, cart building); where no variant is asked for, any counts.
    What is sold out or does not exist is left out, and where nothing is left the right answer is to refuse with an
    empty cart: sold_out, or contradiction where no such variant was ever offered.
    """

    name = "cart_building"
    Goal = Asked

    def draw(self, world: World, axes: Axes, random: Random) -> Drawn:
        store, who = world.store, comer(world.store, random)
        refusal = random.choice(("sold_out", "contradiction")) if random.random() < INFEASIBLE else ""
        lines = asked_for(world, who, axes, refusal, random)
        miss = nearest_miss(store, lines, refusal)
        event = None
        if not refusal and random.random() < axes.sells_out:
            event = SellOut(after=random.randint(1, 2), variants=random.choice(lines).variants)
        goal = Asked(
            persona_id=who.id,
            now=who.now,
            wishes=wishes(lines, axes, random),
            refusal=refusal,
            sold_out=[id for line in lines for id in line.variants] if refusal == "sold_out" else [],
            event=event,
            lines=lines,
        )
        return Drawn(goal, {"items": openings(goal)}, acceptable(goal, store), miss)

    def solve(self, goal: Asked, shop: Shop, axes: Axes) -> Solution:
        looks = [Call(name="user_get_visit_history", args={"page": page}) for page in pages(goal)]
        looks += [Call(name="catalog_search", args={"query": line.said}) for line in goal.lines if not line.page]
        looks_at = [Call(name="catalog_get_variants", args={"product_id": line.product_id}) for line in goal.lines]
        question = asking(goal.wishes)
        for calls in (*batches(looks, axes.tool_calls), *batches(looks_at, axes.tool_calls)):
            yield Action(assistant_message=question, tool_calls=calls)
            question = ""
        adds = [added(line, pieces, shop) for line, pieces in due(goal, shop) if pieces]
        awaits = goal.event is not None and not shop.gone.issuperset(goal.event.variants)
        turns = batches(adds, axes.tool_calls)
        for place, batch in enumerate(turns, 1):
            last = place == len(turns) and not awaits
            yield Action(tool_calls=batch, answer=self.handed_in(goal, shop) if last else None)
        yield Action(answer=self.handed_in(goal, shop))

    def handed_in(self, goal: Asked, shop: Shop) -> Answer:
        return Answer(env=self.name, refusal=refusal_of(goal, shop))

    def score(self, goal: Asked, shop: Shop, answer: Answer | None) -> Score:
        if answer is None:
            return Score(Fraction(-1), False, "nothing was handed in")
        right = refusal_of(goal, shop)
        if answer.refusal != right:
            return Score(Fraction(-1), False, "a needless refusal" if not right else f"not refused as {right}")
        held = Counter(shop.cart) + Counter(shop.bought)
        pieces, asked = held.total(), due(goal, shop)
        if right:
            return Score(Fraction(-1 if pieces else 1), not pieces, "something is in the cart" if pieces else "")
        matched = sum(min(pieces, sum(held[id] for id in line.variants)) for line, pieces in asked)
        f1 = Fraction(2 * matched, pieces + sum(pieces for _, pieces in asked))
        return Score(2 * f1 - 1, f1 == 1, "" if f1 == 1 else "the cart is not what was asked for")

    def notices(self, goal: Asked, shop: Shop) -> Iterator[Notice]:
        numbers = {line.product_id: number for number, line in enumerate(goal.lines)}
        if goal.event is not None and shop.gone.issuperset(goal.event.variants):
            for line in goal.lines:
                if set(line.variants) <= set(goal.event.variants):
                    yield Notice(f"{SOLD_OUT} {line.product_id}", f"{named(line)} is sold out now")
        for id in shop.cart:
            option = shop.store.option_of(id)
            assert option is not None
            if option.product_id not in numbers:
                row = shop.store.row(option.product_id)
                assert row is not None
                yield Notice(f"not asked {option.product_id}", f"I did not ask for {shop.store.item(row).title}")
            elif wrong := wrong_choice(goal.lines[numbers[option.product_id]], option):
                is_now = next((said(each) for each in option.choices if each.name == wrong.name), option.said)
                key = f"{wrong.name} of item {numbers[option.product_id] + 1}"
                yield Notice(key, f"that is {is_now}, I need {said(wrong)}")
        for number, line in enumerate(goal.lines, 1):
            have = sum(shop.cart.get(id, 0) + shop.bought.get(id, 0) for id in line.variants)
            if have and have != line.quantity:
                key = f"quantity of item {number}"
                yield Notice(key, f"that is {have} of {line.said}, I need {line.quantity}")


# What is asked for


def asked_for(world: World, who: Comer, axes: Axes, refusal: str, random: Random) -> list[Wanted]:
    """As many lines as the level asks for, of different products, each named so that exactly one fits."""
    count = min(5, 1 + axes.difficulty // 3)
    reach = PAGE * (PAGES if axes.tool_calls > 1 else 1)
    found: dict[int, Wanted] = {}
    for _ in range(TRIES * count):
        by_title = not len(who.rows) or random.random() < BY_TITLE
        each = titled(world, random) if by_title else visited(world.store, who, reach, random)
        if each is None or each.row in found:
            continue
        line = wanted(world.store, each, axes, refusal, random)
        if line is not None:
            found[each.row] = line
        if len(found) == count:
            return list(found.values())
    raise Undrawable(
        f"no {count} products in stock that can be named so that no other is meant, with variants to choose"
    )


def titled(world: World, random: Random) -> Named | None:
    """Any product of the shop, by its title, where a search for that finds it and no other is called so."""
    row = random.randrange(len(world.store))
    title = " ".join(world.store.titles[row].as_py().split())
    found = world.finder.find(title, limit=FOUND_AMONG).tolist()
    same = [other for other in found if " ".join(world.store.titles[other].as_py().split()).lower() == title.lower()]
    return Named(row, title, 0) if same == [row] else None


def visited(store: Store, who: Comer, reach: int, random: Random) -> Named | None:
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
    return Named(item.row, recalled(item, way, who, day), (len(who.rows) - 1 - first) // PAGE + 1)


def recalled(item: Item, way: str, who: Comer, day: int) -> str:
    """A product as the shopper remembers it: `the one from Desk Lamps that I looked at on May 14`."""
    when = moment(day * 86_400)
    date = f"{when:%B} {when.day}" + (f", {when.year}" if when.year != who.now.year else "")
    brand = f"{item.brand} " if way == "brand" else ""
    price = f" for ${item.cents / 100:.2f}" if way == "price" else ""
    then = {"day": f" on {date}", "last": " last"}.get(way, "")
    return f"the {brand}one from {item.category}{price} that I looked at{then}"


def wanted(store: Store, each: Named, axes: Axes, refusal: str, random: Random) -> Wanted | None:
    """What is wanted of a product; None where it has no variant as the level asks for."""
    options = store.options(each.row)
    quantity = random.randint(2, 4) if random.random() < min(0.5, 0.1 * axes.difficulty) else 1
    enough = [option for option in options if option.stock >= quantity]
    if not enough:
        return None
    choices: list[Choice] | None = []
    variants = [option.id for option in options]
    if refusal == "contradiction":
        choices, variants = impossible(store, each.row, enough, random), []
    elif len(options) > 1 and random.random() < sigma((axes.difficulty - 2) / 1.5):
        option = random.choice(enough)
        choices, variants = telling(option, options), [option.id]
    if choices is None:
        return None
    return Wanted(
        said=each.said,
        product_id=options[0].product_id,
        choices=choices,
        variants=variants,
        quantity=quantity,
        page=each.page,
    )


def telling(option: Option, options: Sequence[Option]) -> list[Choice]:
    """The choices that not all variants share: together only this one has them."""
    return [each for each in option.choices if any(each not in other.choices for other in options)]


def impossible(store: Store, row: int, enough: Sequence[Option], random: Random) -> list[Choice] | None:
    """Choices that no variant has, all but one of them as one has them; None where there are none.

    First such whose values are all offered, but not together; else a value that only other products come in.
    """
    options = store.options(row)
    option = random.choice(enough)
    names = [choice.name for choice in telling(option, options)] or [option.choices[0].name]
    offered = {name: {each.value for other in options for each in other.choices if each.name == name} for name in names}
    have = {tuple(value_of(other, name) for name in names) for other in options}
    near = tuple(value_of(option, name) for name in names)
    pairs = [
        each
        for each in product(*(sorted(offered[name]) for name in names))
        if each not in have and sum(a != b for a, b in zip(each, near, strict=True)) == 1
    ]
    if pairs:
        return [Choice(name=name, value=value) for name, value in zip(names, random.choice(pairs), strict=True)]
    name, others = random.choice(names), store.rows_of(int(store.leaf_of[row]))
    known = {value.lower() for value in offered[name]}
    for _ in range(NEIGHBORS):
        for other in store.options(int(others[random.randrange(len(others))])):
            value = value_of(other, name)
            if value and value.lower() not in known:
                return [Choice(name=each, value=value if each == name else value_of(option, each)) for each in names]
    return None


def value_of(option: Option, name: str) -> str:
    return next((each.value for each in option.choices if each.name == name), "")


# In words


def said(choice: Choice) -> str:
    """
    >>> said(Choice(name="size", value="M")), said(Choice(name="players", value="2 to 6 players"))
    ('size M', '2 to 6 players')
    """
    return choice.value if choice.name in choice.value.lower() else f"{choice.name} {choice.value}"


def counted(pieces: int) -> str:
    """
    >>> counted(3)
    '3 of these'
    """
    return f"{pieces} of these"


def named(line: Wanted) -> str:
    return ", ".join([line.said, *map(said, line.choices)])


def wishes(lines: Sequence[Wanted], axes: Axes, random: Random) -> list[Wish]:
    """The ledger.

    One piece is what nobody needs to say: told when asked, and right where nothing is said. A title may say another
    variant than is wanted, so that with a title the choices are always stated.
    """
    pairs, always, unsaid = [("what is missing", RULE)], ["what is missing"], []
    for number, line in enumerate(lines, 1):
        pairs.append((f"item {number}", line.said))
        always.append(f"item {number}")
        choices = [(f"{choice.name} of item {number}", said(choice)) for choice in line.choices]
        pairs += choices
        always += [name for name, _ in choices if not line.page]
        quantity = f"quantity of item {number}", counted(line.quantity)
        if line.quantity > 1:
            pairs.append(quantity)
        else:
            unsaid.append(Wish(name=quantity[0], said=quantity[1], known="inferable"))
    return ledger(pairs, axes, random, always=always) + unsaid


def openings(goal: Asked) -> list[dict[str, Any]]:
    """Each line with what is stated of it."""
    stated = {wish.name: wish.said for wish in goal.wishes if wish.known == "stated"}
    return [
        {"said": line.said, "details": [text for name, text in stated.items() if name.endswith(f" of item {number}")]}
        for number, line in enumerate(goal.lines, 1)
    ]


# The certificate


def due(goal: Asked, shop: Shop) -> list[tuple[Wanted, int]]:
    """The pieces of each line that can be had: of what is sold out, those that were bought before."""
    return [
        (line, line.quantity)
        if not shop.gone.issuperset(line.variants)
        else (line, min(line.quantity, sum(shop.bought.get(id, 0) for id in line.variants)))
        for line in goal.lines
    ]


def refusal_of(goal: Asked, shop: Shop) -> str:
    """Why nothing of it can be had at this moment; empty where something can."""
    return "" if any(pieces for _, pieces in due(goal, shop)) else goal.refusal or "sold_out"


def wrong_choice(line: Wanted, option: Option) -> Choice | None:
    """The first choice in which a variant is not what is asked for."""
    return next((each for each in line.choices if each not in option.choices), None)


def acceptable(goal: Asked, store: Store) -> dict[str, Any]:
    """Every end state that earns everything: of each line its pieces, in any of the variants named."""
    if goal.refusal:
        offered = {line.product_id: offers(store, line.product_id) for line in goal.lines}
        proof = [{"asked": named(line), "offered": offered[line.product_id]} for line in goal.lines]
        return {"ends": [{"cart": [], "refusal": goal.refusal}], "sold_out": goal.sold_out, "proof": proof}
    ends = [{"cart": [end(line) for line in goal.lines], "refusal": ""}]
    if goal.event is not None:
        left = [line for line in goal.lines if not set(line.variants) <= set(goal.event.variants)]
        ends.append({"cart": [end(line) for line in left], "refusal": "" if left else "sold_out", "after": "sold out"})
    return {"ends": ends}


def end(line: Wanted) -> dict[str, Any]:
    return {"product_id": line.product_id, "variants": line.variants, "quantity": line.quantity}


def offers(store: Store, product_id: str) -> list[str]:
    row = store.row(product_id)
    return [] if row is None else [option.said for option in store.options(row)]


def nearest_miss(store: Store, lines: Sequence[Wanted], refusal: str) -> dict[str, Any]:
    """A cart, handed in, that breaks exactly one wish.

    Another variant of a line where one differs in a single choice, else a piece too many or too few, else a line left out.
    """
    for number, line in enumerate(lines, 1):
        row = store.row(line.product_id)
        assert row is not None
        for option in store.options(row):
            wrong = [each for each in line.choices if each not in option.choices]
            if len(wrong) == 1 and option.stock >= line.quantity and option.id not in line.variants:
                return miss(store, lines, refusal, number, f"{wrong[0].name} of item {number}", option, line.quantity)
    if refusal:
        return {"breaks": "what is missing", "cart": [], "answer": {"refusal": ""}}
    for number, line in enumerate(lines, 1):
        option = best(store, line)
        other = line.quantity + 1 if option.stock > line.quantity else line.quantity - 1
        if other:
            return miss(store, lines, refusal, number, f"quantity of item {number}", option, other)
    return miss(store, lines, refusal, 1, "item 1", best(store, lines[0]), 0)


def miss(
    store: Store, lines: Sequence[Wanted], refusal: str, number: int, breaks: str, option: Option, pieces: int
) -> dict[str, Any]:
    """The cart with this many pieces of this variant for one line, and the others as they are asked for."""
    cart = [] if refusal else [(best(store, line), line.quantity) for line in lines]
    cart[number - 1 : number] = [(option, pieces)] if pieces else []
    return {
        "breaks": breaks,
        "cart": [{"product_id": o.product_id, "variant_id": o.id, "quantity": count} for o, count in cart],
        "answer": {"refusal": ""},
    }


def best(store: Store, line: Wanted) -> Option:
    """The right variant of which there are the most pieces."""
    options = [option for id in line.variants if (option := store.option_of(id)) is not None]
    return max(options, key=lambda option: (option.stock, option.id))


# The way through


def batches(calls: list[Call], most: int) -> list[list[Call]]:
    """The calls of one turn after the other."""
    return [calls[first : first + most] for first in range(0, len(calls), most)]


def pages(goal: Asked) -> range:
    """Of the visit history, until everything on it was seen."""
    return range(1, max(line.page for line in goal.lines) + 1)


def added(line: Wanted, pieces: int, shop: Shop) -> Call:
    """The call that puts a line into the cart, in the first right variant that has enough."""
    for id in line.variants:
        option = shop.store.option_of(id)
        if option is not None and shop.stock(option) >= pieces:
            break
    return Call(name="cart_add", args={"product_id": line.product_id, "variant_id": id, "quantity": pieces})
