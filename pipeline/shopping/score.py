"""What buying something earns: by typed equality, which decides success, and by the published formulas beside it."""

from collections.abc import Sequence

from pipeline.rewards.loose_strict import Described, Form, added_up, literal, nothing_bought
from pipeline.shop.store import Item, Store
from pipeline.shopping.facts import NUMBERS, Thing, fact_of, is_met
from schemas.shopping import Match, Need, ShoppingTask


def typed(needs: Sequence[Need], category: str, gold_product: str, bought: Thing | None) -> Match:
    """How well what was bought fits: its leaf category, and each need met by the variant or not.

    A need is met or not, so the price is 1 or 0 (1 without a limit), and a share is lost only with a need. The price is the
    variant's. What is sold out cannot come here: the shop refuses to sell it.
    """
    if bought is None:
        return nothing_bought()
    unmet = [need for need in needs if not is_met(need, bought.item, bought.option)]
    required = {kind: sum(need.kind == kind for need in needs) for kind in ("attribute", "option", "price")}
    met = {kind: count - sum(need.kind == kind for need in unmet) for kind, count in required.items()}
    right = bought.item.category == category
    faults = [] if right else [f"category is {bought.item.category}, not {category}"]
    faults += [missed(need, bought) for need in unmet]
    return added_up(
        int(right),
        (met["attribute"], required["attribute"]),
        (met["option"], required["option"]),
        met["price"] == required["price"],
        same_product=bought.item.id == gold_product,
        fault=next(iter(faults), ""),
    )


def missed(need: Need, bought: Thing) -> str:
    """What it is instead of what was needed: `carafe is glass carafe, not double-wall carafe`."""
    relation = {"is": "not", "at most": "above", "at least": "below"}[need.op]
    return f"{need.fact} is {said(need.fact, bought)}, {relation} {need.value}"


def said(fact: str, thing: Thing) -> str:
    """What stands there for a fact, as text; `unknown` where nothing does."""
    if fact == "price":
        return f"{thing.cents / 100:.2f}"
    found = getattr(thing.item, NUMBERS[fact]) if fact in NUMBERS else fact_of(fact, thing.item, thing.option)
    return "unknown" if found is None else str(found)


def things(store: Store, product_id: str) -> list[Thing]:
    """The variants of a product, or the product as it is where it has none; empty where there is no such product."""
    row = store.row(product_id)
    if row is None:
        return []
    item = store.item(row)
    return [Thing(item, option) for option in store.options(row)] or [Thing(item, None)]


def by_formula(
    task: ShoppingTask,
    gold: Item,
    bought: Thing | None,
    *,
    bullets: Sequence[str] = (),
    form: Form = "shopsimulator",
) -> Match:
    """What the published formulas make of it; what is required in lower case, as WebShop's is.

    They know no bounds but the price's, so `rating at least 4.5` is left out. A leaf category stands for the search that its
    products' listings were collected with. `bullets` are those of the product that was bought; the store holds none.
    """
    return literal(
        described(bought.item, bullets) if bought else None,
        described(gold),
        attributes=[each.value.lower() for each in task.needs if each.kind == "attribute" and each.op == "is"],
        options=[each.value.lower() for each in task.needs if each.kind == "option"],
        chosen=[each.value.lower() for each in bought.choices] if bought else (),
        price=bought.cents / 100 if bought else 0.0,
        price_limit=None if task.price_limit is None else float(task.price_limit),
        form=form,
    )


def described(item: Item, bullets: Sequence[str] = ()) -> Described:
    own = [text for text in (item.brand, item.color) if text]
    return Described(
        id=item.id,
        title=item.title,
        query=item.category,
        category_path=(item.group, item.category),
        attributes=(*own, *(each.value for each in item.attributes)),
        bullets=tuple(bullets),
        description=item.description,
    )
