"""What buying something earns: by typed equality, which decides success, and by the published formulas beside it."""

from collections import Counter
from collections.abc import Sequence

from shopwright.pipeline.rewards.shopsimulator import (
    Form,
    ProductText,
    combine_match_parts,
    score_no_purchase,
    score_purchase,
)
from shopwright.pipeline.shop.store import Item, Store
from shopwright.pipeline.shopping.facts import NUMBERS, ProductVariant, find_variant_fact, is_need_met
from shopwright.schemas.shopping import Match, Need, ShoppingTask


def score_typed_match(needs: Sequence[Need], category: str, gold_product: str, bought: ProductVariant | None) -> Match:
    """How well what was bought fits: its leaf category, and each need met by the variant or not.

    A need is met or not, so the price is 1 or 0 (1 without a limit), and a share is lost only with a need. The price is the
    variant's. What is sold out cannot come here: the shop refuses to sell it.
    """
    if bought is None:
        return score_no_purchase()
    unmet = [need for need in needs if not is_need_met(need, bought.item, bought.option)]
    required = Counter(need.kind for need in needs)
    met = required - Counter(need.kind for need in unmet)
    right = bought.item.category == category
    faults = [] if right else [f"category is {bought.item.category}, not {category}"]
    faults += [describe_missed_need(need, bought) for need in unmet]
    return combine_match_parts(
        int(right),
        (met["attribute"], required["attribute"]),
        (met["option"], required["option"]),
        met["price"] == required["price"],
        same_product=bought.item.id == gold_product,
        fault=next(iter(faults), ""),
    )


def describe_missed_need(need: Need, bought: ProductVariant) -> str:
    """What it is instead of what was needed: `carafe is glass carafe, not double-wall carafe`."""
    relation = {
        "is": "not",
        "is not": "not anything but",
        "kind of": "not a kind of",
        "at most": "above",
        "at least": "below",
        "about": "not about",
    }
    return f"{need.fact} is {format_variant_fact(need.fact, bought)}, {relation[need.op]} {need.value}"


def format_variant_fact(fact: str, thing: ProductVariant) -> str:
    """What stands there for a fact, as text; `unknown` where nothing does."""
    if fact == "price":
        return f"{thing.cents / 100:.2f}"
    found = getattr(thing.item, NUMBERS[fact]) if fact in NUMBERS else find_variant_fact(fact, thing.item, thing.option)
    return "unknown" if found is None else str(found)


def list_product_variants(store: Store, product_id: str) -> list[ProductVariant]:
    """The variants of a product, or the product as it is where it has none; empty where there is no such product."""
    row = store.row(product_id)
    if row is None:
        return []
    item = store.item(row)
    return [ProductVariant(item, option) for option in store.options(row)] or [ProductVariant(item, None)]


def score_by_formula(
    task: ShoppingTask,
    gold: Item,
    bought: ProductVariant | None,
    *,
    bullets: Sequence[str] = (),
    form: Form = "shopsimulator",
) -> Match:
    """What the published formulas make of it; what is required in lower case, as WebShop's is.

    They know no bounds but the price's, so `rating at least 4.5` is left out. A leaf category stands for the search that its
    products' listings were collected with. `bullets` are those of the product that was bought; the store holds none.
    """
    return score_purchase(
        describe_item(bought.item, bullets) if bought else None,
        describe_item(gold),
        attributes=[each.value.lower() for each in task.needs if each.kind == "attribute" and each.op == "is"],
        options=[each.value.lower() for each in task.needs if each.kind == "option"],
        chosen=[each.value.lower() for each in bought.choices] if bought else (),
        price=bought.cents / 100 if bought else 0.0,
        price_limit=None if task.price_limit is None else float(task.price_limit),
        form=form,
    )


def describe_item(item: Item, bullets: Sequence[str] = ()) -> ProductText:
    own = [text for text in (item.brand, item.color) if text]
    return ProductText(
        id=item.id,
        title=item.title,
        query=item.category,
        category_path=item.path,
        attributes=(*own, *(each.value for each in item.attributes)),
        bullets=tuple(bullets),
        description=item.description,
    )
