"""What products are, read from the store's rows one at a time, for who judges certificates: nothing here comes from the envs."""

from collections.abc import Iterable, Mapping
from typing import Any

from shopwright.pipeline.shop.store import Item, Store
from shopwright.schemas.certificates import Certificate, describe

# An env's goal as its row has it.
Goal = Mapping[str, Any]


def describe_mismatch(what: str, found: Certificate) -> str:
    return f"its certificate: expected {what}, found {describe(found)}"


def read_item_fact(item: Item, fact: str) -> str | float | None:
    """What a product is: of attributes of one name the last counts, and `height (in)` is the number in inches.

    A fact with a column of its own is never an attribute.
    """
    own = {
        "price": item.cents,
        "rating": item.rating,
        "shipping days": item.shipping_days,
        "brand": item.brand,
        "color": item.color,
        "category": item.category,
    }
    if fact in own:
        return own[fact]
    found: str | float | None = None
    for each in item.attributes:
        name = each.name.replace("_", " ")
        if fact == name:
            found = each.value
        elif each.number is not None and fact == f"{name} ({each.unit})":
            found = each.number
    return found


# Kinds of what a product fits: of several names for one thing, of which one is enough, and from a value to a value.
ANY_NAME, SPAN = ("cartridge", "battery"), ("screen", "year")


def is_made_for(item: Item, constraint: Goal) -> bool:
    """Whether it fits all that is wanted: `iphone 7 and iphone 8`, or every screen of `32-55`."""
    kind, wanted, have = constraint["fact"], constraint["value"].split(" and "), item.fits.get(constraint["fact"], ())
    if kind in ANY_NAME:
        return any(each in have for each in wanted)
    if kind not in SPAN:
        return all(each in have for each in wanted)
    spans = [tuple(map(float, each.split("-"))) for each in have]
    for first, last in (map(float, each.split("-")) for each in wanted):
        if not any(low <= first and last <= high for low, high in spans):
            return False
    return True


def item_meets_constraint(item: Item, constraint: Goal) -> bool:
    if constraint["op"] == "fits":
        return is_made_for(item, constraint)
    value = read_item_fact(item, constraint["fact"])
    if value is None:
        return False
    if constraint["op"] == "is":
        return str(value).casefold() == constraint["value"].casefold()
    limit = constraint["number"]
    if isinstance(value, str) or limit is None:
        return False
    return value <= limit if constraint["op"] == "at most" else value >= limit


def list_items_in(store: Store, category: str) -> list[Item]:
    place = store.place_of_leaf.get(category)
    return [] if place is None else [store.item(row) for row in store.rows_of(place).tolist()]


def filter_items_by(items: Iterable[Item], constraints: Iterable[Goal]) -> list[Item]:
    found = list(items)
    for constraint in constraints:
        found = [item for item in found if item_meets_constraint(item, constraint)]
    return found


def has_unsold_variant(store: Store, item: Item, gone: set[str]) -> bool:
    return any(option.stock and option.id not in gone for option in store.options(item.row))


def list_sell_outs(goal: Goal) -> set[str]:
    return set(goal["event"]["variants"]) if goal["event"] else set()
