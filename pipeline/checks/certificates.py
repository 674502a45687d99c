"""A second look at certificates: who is right is found out again from the goal and the store's rows, one product at a time.

Nothing here comes from the envs: facts are compared, orders recognised and rules gone through by code of its own, so that a
mistake in a draw is not repeated here. What an env of one's own certifies is tried out instead (`shopwright.pipeline.checks.tasks`).
"""

import json
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from shopwright.pipeline.checks.certified_lists import judge_bundle, judge_one_seller, judge_voucher
from shopwright.pipeline.checks.policy_texts import ReadRule, apply_read_rules, read_rule, read_topic
from shopwright.pipeline.checks.product_facts import (
    Goal,
    describe_mismatch,
    filter_items_by,
    has_unsold_variant,
    list_items_in,
    list_sell_outs,
)
from shopwright.pipeline.reading.wishes import read_case_fact
from shopwright.pipeline.shop.policies import load_policies
from shopwright.pipeline.shop.store import Customer, Option, Store
from shopwright.schemas.certificates import (
    AnyOf,
    Certificate,
    Infeasible,
    NoOrder,
    NoRule,
    NotForSale,
    NothingFits,
    NotReturnable,
    Parts,
)
from shopwright.schemas.shop import Line, Order

# Yields what is wrong with the certificate of a goal; the number is of the orders that the customer is shown.
Judge = Callable[[Goal, Certificate, Store, int], Iterator[str]]


def check_right_products(goal: Goal, certificate: AnyOf, store: Store, but: str = "") -> Iterator[str]:
    """The products of the goal's category that meet its constraints, before and after something has sold out."""
    fine = [
        item for item in filter_items_by(list_items_in(store, goal["category"]), goal["constraints"]) if item.id != but
    ]
    later = list_sell_outs(goal)
    if len(certificate.ends) != (2 if later else 1):
        yield describe_mismatch(f"AnyOf with {'2 ends' if later else '1 end'}", certificate)
        return
    for end in certificate.ends:
        gone = set(goal["sold_out"]) | (later if end.after_sell_out else set())
        right = {item.id for item in fine if has_unsold_variant(store, item, gone)}
        if missing := right - set(end.some_of):
            yield (
                f"its certificate lacks products that fit ({len(missing)})"
                if len(missing) > 9
                else "its certificate lacks a product that fits"
            )
        if set(end.some_of) - right:
            yield "its certificate has a product that does not fit"
        if len(set(end.some_of)) < len(end.some_of) or not end.some_of:
            yield "its certificate has a product twice, or none"


def check_nothing_fits(goal: Goal, found: Infeasible, store: Store, but: str = "") -> Iterator[str]:
    proof = found.proof
    if not isinstance(proof, NothingFits):
        yield describe_mismatch("Infeasible with NothingFits", found)
        return
    things = list_items_in(store, goal["category"])
    fine = [item for item in filter_items_by(things, goal["constraints"]) if item.id != but]
    if any(has_unsold_variant(store, item, set(goal["sold_out"])) for item in fine):
        yield "it says that nothing fits, and something does"
    if (proof.category, [each.model_dump() for each in proof.constraints]) != (goal["category"], goal["constraints"]):
        yield "its proof is about something else than its goal"
    if proof.products != len(things):
        yield "its proof counts another number of products"
    right = {item.id for item in fine if has_unsold_variant(store, item, set())}
    if right - set(proof.unsure) != set(proof.products_sold_out):
        yield "its proof has other products sold out than those that fit"
    rest = [each for each in goal["constraints"] if each["op"] != "fits"]
    if set(proof.unsure) - {item.id for item in filter_items_by(things, rest)}:
        yield "its proof has a product that may fit, and something else is wrong with it"
    if found.refusal != ("sold_out" if proof.products_sold_out else "not_found"):
        yield "its refusal is not what its proof shows"
    if proof.but_for_price:
        rest = filter_items_by(things, [each for each in goal["constraints"] if each["fact"] != "price"])
        if (len(rest), min((item.cents for item in rest), default=0)) != (proof.but_for_price, proof.cheapest):
            yield "its proof counts other products that are too dear"


def judge_discovery(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    yield from check_product_certificate(goal, found, store)


def judge_substitution(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    original = goal["original"]
    row = store.row(original)
    if row is None or has_unsold_variant(store, store.item(row), set(goal["sold_out"])):
        yield "what is to be replaced is not sold out"
    yield from check_product_certificate(goal, found, store, original)


def check_product_certificate(goal: Goal, found: Certificate, store: Store, but: str = "") -> Iterator[str]:
    if isinstance(found, Infeasible) and found.refusal == goal["refusal"]:
        yield from check_nothing_fits(goal, found, store, but)
    elif isinstance(found, AnyOf) and not goal["refusal"]:
        yield from check_right_products(goal, found, store, but)
    else:
        yield describe_wrong_refusal(goal, found)


def has_expected_refusal(found: Certificate, goal: Goal) -> bool:
    return isinstance(found, Infeasible) and found.refusal == goal["refusal"]


def describe_wrong_refusal(goal: Goal, found: Certificate) -> str:
    return describe_mismatch(f"Infeasible as {goal['refusal']!r}" if goal["refusal"] else "what can be done", found)


# Carts


def judge_cart(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    asked = [find_variants_with(store, line["product_id"], line["choices"]) for line in goal["lines"]]
    if goal["refusal"]:
        yield from (
            check_not_for_sale(goal, found, asked, store)
            if has_expected_refusal(found, goal)
            else [describe_wrong_refusal(goal, found)]
        )
        return
    later = list_sell_outs(goal)
    if not isinstance(found, AnyOf) or len(found.ends) != (2 if later else 1):
        yield describe_mismatch(f"AnyOf with {'2 ends' if later else '1 end'}", found)
        return
    for end in found.ends:
        gone = set(goal["sold_out"]) | (later if end.after_sell_out else set())
        want, refusal = [], "sold_out"
        for line, options in zip(goal["lines"], asked, strict=True):
            left = [option for option in options if option.id not in gone]
            if end.after_sell_out and not left:
                continue
            refusal = ""
            want.append((line["product_id"], {option.id for option in options}, line["quantity"]))
            if sum(option.stock for option in left) < line["quantity"]:
                yield "a line of its certificate has not so many pieces in stock"
        if want != [(line.product_id, set(line.variants), line.quantity) for line in end.cart]:
            yield "its certificate has not the variants that are asked for"
        if end.answer.refusal != refusal:
            yield "its certificate has another refusal than what is left calls for"


def find_variants_with(store: Store, product: str, choices: list[Goal]) -> list[Option]:
    """The variants of a product that have all these choices."""
    row = store.row(product)
    options = store.options(row) if row is not None else ()
    wanted = {(each["name"], each["value"]) for each in choices}

    def has_choices(option: Option) -> bool:
        return wanted <= {(each.name, each.value) for each in option.choices}

    return [option for option in options if has_choices(option)]


def check_not_for_sale(goal: Goal, found: Certificate, asked: list[list[Option]], store: Store) -> Iterator[str]:
    proof = found.proof if isinstance(found, Infeasible) else None
    if not isinstance(proof, NotForSale) or len(proof.lines) != len(goal["lines"]):
        yield describe_mismatch(f"Infeasible with NotForSale of {len(goal['lines'])} lines", found)
        return
    for line, options, shown in zip(goal["lines"], asked, proof.lines, strict=True):
        choices = {each["name"]: each["value"] for each in line["choices"]}
        if (shown.product_id, shown.choices) != (line["product_id"], choices):
            yield "its proof is about something else than its goal"
        if {option.id for option in options} != set(shown.sold_out):
            yield "its proof has other variants than those that are asked for"
        offered = find_variants_with(store, line["product_id"], [])
        described = []
        for option in offered:
            described.append(", ".join(f"{each.name} {each.value}" for each in option.choices))
        if shown.offered != described:
            yield "its proof offers something else than the shop"
        if any(option.stock and option.id not in goal["sold_out"] for option in options):
            yield "it says that nothing can be had, and something can"
    if goal["refusal"] != ("sold_out" if any(asked) else "contradiction"):
        yield "its refusal is not what its proof shows"


# Orders


def judge_tracking(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    customer, now = store.customers[store.place_of_customer[goal["persona_id"]]], datetime.fromisoformat(goal["now"])
    shown = list_orders_on_page(customer, now, orders)
    if goal["refusal"]:
        yield from (
            check_no_order(goal, found, store, shown)
            if has_expected_refusal(found, goal)
            else [describe_wrong_refusal(goal, found)]
        )
        return
    if not isinstance(found, AnyOf) or len(found.ends) != 1:
        yield describe_mismatch("AnyOf with 1 end", found)
        return
    fits = shown
    for clue in goal["clues"]:
        fits = [order for order in fits if order_matches_clue(clue, order, None, store, now)]
    if len(fits) != 1:
        yield f"{len(fits)} orders are what the shopper remembers"
        return
    answer, came = found.ends[0].answer, fits[0].delivered
    right = (fits[0].id, status_of_order(fits[0], now), f"{came:%Y-%m-%d}" if came and goal["asks_arrival"] else "")
    if (answer.selected_order_id, answer.order_status, answer.arrival_date) != right:
        yield "its certificate has another order, status or arrival"


def list_orders_on_page(customer: Customer, now: datetime, most: int) -> list[Order]:
    placed = sorted((order for order in customer.orders if order.placed <= now), key=lambda order: order.placed)
    return placed[-most:]


def status_of_order(order: Order, now: datetime) -> str:
    steps = (("cancelled", order.cancelled), ("delivered", order.delivered), ("shipped", order.shipped))
    return next((name for name, when in steps if when and when <= now), "processing")


def order_matches_clue(clue: Goal, order: Order, line: Line | None, store: Store, now: datetime) -> bool:
    """Whether something remembered is so of an order, or of a line of one."""
    fact, value = clue["fact"], clue["value"]
    about = [line] if line else order.lines
    if fact == "when":
        least, most = clue["days"]
        return bool(least <= (now.date() - order.placed.date()).days <= most)
    if fact in ("title", "price", "pieces", "category", "brand"):
        return any(value == read_line_fact(fact, each, store) for each in about)
    if fact == "beside":
        own = {read_line_fact("category", each, store) for each in about}
        rest = {read_line_fact("category", each, store) for each in order.lines if each is not line}
        return line is not None and value in rest - own
    of_order = {
        "number": order.id,
        "date": order.placed.date().isoformat(),
        "total": f"{order.total:.2f}",
        "products": str(len({each.product_id for each in order.lines})),
    }
    return bool(of_order[fact] == value)


def read_line_fact(fact: str, line: Line, store: Store) -> str:
    if fact in ("title", "price", "pieces"):
        return {"title": line.title, "price": f"{line.price:.2f}", "pieces": str(line.quantity)}[fact]
    row = store.row(line.product_id)
    item = None if row is None else store.item(row)
    found = "" if item is None else item.category if fact == "category" else item.brand
    return found or ""


def check_no_order(goal: Goal, found: Certificate, store: Store, shown: list[Order]) -> Iterator[str]:
    proof = found.proof if isinstance(found, Infeasible) else None
    if not isinstance(proof, NoOrder):
        yield describe_mismatch("Infeasible with NoOrder", found)
        return
    now = datetime.fromisoformat(goal["now"])
    clue = {"fact": proof.fact, "value": proof.value}
    if not any((each["fact"], each["value"]) == (proof.fact, proof.value) for each in goal["clues"]):
        yield "its proof is about something that the shopper does not remember"
    if any(order_matches_clue(clue, order, None, store, now) for order in shown):
        yield "it says that no order is so, and one is"
    if {order.id for order in shown} != set(proof.orders):
        yield "its proof has other orders than those that are shown"


# Returns


def judge_return(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    customer, now = store.customers[store.place_of_customer[goal["persona_id"]]], datetime.fromisoformat(goal["now"])
    fits = []
    for order in list_orders_on_page(customer, now, orders):
        for line in order.lines:
            if all(order_matches_clue(clue, order, line, store, now) for clue in goal["clues"]):
                fits.append((order, line))
    if [(order.id, line.line_id) for order, line in fits] != [(goal["order_id"], goal["line_id"])]:
        yield f"{len(fits)} lines are what the shopper remembers, or another one"
        return
    order, line = fits[0]
    until = find_last_day_to_return(goal["policies"], order, line, customer, store)
    allowed = status_of_order(order, now) == "delivered" and until is not None and now.date() <= until
    if allowed == bool(goal["refusal"]):
        yield "its line can be returned" if allowed else "its line cannot be returned"
    if goal["refusal"]:
        proof = found.proof if isinstance(found, Infeasible) else None
        if not has_expected_refusal(found, goal) or not isinstance(proof, NotReturnable):
            yield describe_mismatch("Infeasible with NotReturnable", found)
        elif (proof.order_id, proof.line_id, proof.now) != (order.id, line.line_id, now):
            yield "its proof is about another line or time"
        elif proof.until != (f"{until}" if until and status_of_order(order, now) == "delivered" else ""):
            yield "its proof has another last day"
        return
    yield from check_return_ends(goal, found, store)


def check_return_ends(goal: Goal, found: Certificate, store: Store) -> Iterator[str]:
    if not isinstance(found, AnyOf):
        yield describe_mismatch("AnyOf", found)
        return
    wants = goal["wants"]
    instead = goal["replacement"] if wants == "variant" else ""
    back = [(goal["order_id"], goal["line_id"], instead)]
    for end in found.ends:
        if [(each.order_id, each.line_id, each.instead) for each in end.returns] != back:
            yield "its certificate has another return"
        if (end.answer.selected_order_id, end.answer.selected_line_id) != back[0][:2]:
            yield "its certificate has another line"
    if wants == "product":
        yield from check_right_products(goal, found, store, goal["product_id"])
    elif len(found.ends) != 1 or found.ends[0].some_of:
        yield "its certificate has products that nobody asked for"
    row = store.row(goal["product_id"])
    if wants == "variant" and row is not None:
        same = [option for option in store.options(row) if option.id == instead]
        alike = [option for option in store.options(row) if same and option.choices == same[0].choices]
        if len(alike) != 1 or not alike[0].stock:
            yield "its variant is sold out, or another one is called so"


def find_last_day_to_return(policies: str, order: Order, line: Line, customer: Customer, store: Store) -> date | None:
    """On which it can be returned, by the texts of the rules; None where it never can."""
    row, rules = store.row(line.product_id), read_rules_on(policies, "return window")
    facts: dict[str, Any] = {
        "group": store.item(row).group if row is not None else "",
        "price": line.price,
        "member": "yes" if customer.member else "no",
        "holiday": "yes" if order.placed.month >= 11 else "no",
        "opened": "no",
        "clearance": "no",
    }
    days = apply_read_rules(rules or [], facts)
    if order.delivered is None or not isinstance(days, Fraction) or not days:
        return None
    return order.delivered.date() + timedelta(days=int(days))


# Policies


def read_rules_on(policies: str, topic: str) -> list[ReadRule] | None:
    """The rules of a topic as an agent reads them; None where one of them says nothing that can be read."""
    found = []
    for rule in load_policies(policies).rules:
        if rule.title.lower().startswith(f"{topic}, rule "):
            found.append(read_rule(rule.title, rule.text))
    read = [each for each in found if each is not None]
    numbers = sorted(each.number for each in read)
    return read if len(read) == len(found) and numbers == [*range(1, len(read) + 1)] else None


def judge_policy(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    yield from check_question_words(goal, store)
    rules = read_rules_on(goal["policies"], goal["topic"])
    if rules is None:
        yield "a rule on its topic cannot be read"
    elif not rules:
        yield from check_no_rule(goal, found)
    elif not isinstance(found, AnyOf) or len(found.ends) != 1:
        yield describe_mismatch("AnyOf with 1 end", found)
    else:
        right, said = apply_read_rules(rules, goal["facts"]), found.ends[0].answer.policy_answer
        if (Fraction(said) if isinstance(right, Fraction) else said) != right:
            yield "its answer is not what the rules say"


def check_question_words(goal: Goal, store: Store) -> Iterator[str]:
    """The customer's words ask about its topic, and say the facts of its case."""
    question, *case = goal["slots"]
    if read_topic(question["said"]) != goal["topic"]:
        yield "its question is about something else than its topic"
    for slot, (fact, value) in zip(case, goal["facts"].items(), strict=True):
        groups = {*store.groups, str(value)}
        if read_case_fact(slot["said"], fact, groups) != str(value):
            yield f"its customer says another {fact} than its case has"


def check_no_rule(goal: Goal, found: Certificate) -> Iterator[str]:
    proof = found.proof if isinstance(found, Infeasible) else None
    if not has_expected_refusal(found, goal) or not isinstance(proof, NoRule):
        yield describe_mismatch("Infeasible with NoRule", found)
    elif (proof.policies, proof.topic) != (goal["policies"], goal["topic"]):
        yield "its proof is about other policies or another topic"
    elif proof.rules != len(load_policies(goal["policies"]).rules):
        yield "its proof counts another number of rules"


# Several


def judge_journey(goal: Goal, found: Certificate, store: Store, orders: int) -> Iterator[str]:
    if not isinstance(found, Parts) or [each.env for each in found.parts] != [each["env"] for each in goal["parts"]]:
        yield describe_mismatch(f"Parts of {', '.join(each['env'] for each in goal['parts'])}", found)
        return
    for part, own in zip(goal["parts"], found.parts, strict=True):
        if part["env"] in JUDGES:
            yield from JUDGES[part["env"]](json.loads(part["goal"]), own.certificate, store, orders)


JUDGES: dict[str, Judge] = {
    "cart_building": judge_cart,
    "substitution": judge_substitution,
    "product_discovery": judge_discovery,
    "return_replacement": judge_return,
    "order_tracking": judge_tracking,
    "policy_qa": judge_policy,
    "bundle_planning": judge_bundle,
    "journey": judge_journey,
    "one_seller": judge_one_seller,
    "voucher": judge_voucher,
}
