"""Whether a task of an environment is of a kind that stands in tests alone."""

import json
from collections.abc import Iterator
from typing import Any

from shopwright.pipeline.envs.base import Goal
from shopwright.pipeline.held_out import is_held_out
from shopwright.pipeline.shop.store import Store

# How goals call what can be looked up, and what is said of things that are not meant.
PRODUCT, ORDER, TOPIC, NOT_MEANT = "product_id", "order_id", "topic", "contrast"


def is_of_held_out_kind(goal: Goal, store: Store) -> bool:
    """Whether what a task is about, in any of its parts, is of a category tree, or a topic of policies, that is held out."""
    return any(is_part_held_out(part, goal.persona_id, store) for part in list_parts(goal.model_dump(mode="json")))


def list_parts(goal: dict[str, Any]) -> list[dict[str, Any]]:
    """The goals of a journey's parts, which are JSON in it, or the goal alone."""
    return [json.loads(part["goal"]) for part in goal["parts"]] if "parts" in goal else [goal]


def is_part_held_out(part: dict[str, Any], persona_id: str, store: Store) -> bool:
    subjects = dict.fromkeys(list_subjects(part))
    # What is sent back is one product, whatever else is in its order.
    orders = not any(name == PRODUCT for name, _ in subjects)
    return any(
        is_held_out("topics", [value])
        if name == TOPIC
        else not store.held_out_leaves.isdisjoint([value, *list_leaves(name, value, persona_id, store)])
        for name, value in subjects
        if name != ORDER or orders
    )


def list_subjects(found: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The name and the value of everything that a goal is about."""
    if isinstance(found, list):
        for each in found:
            yield from list_subjects(each, name)
    elif isinstance(found, dict):
        for key, value in found.items():
            if key != NOT_MEANT:
                yield from list_subjects(value, key)
    elif isinstance(found, str) and found:
        yield name, found


def list_leaves(name: str, value: str, persona_id: str, store: Store) -> Iterator[str]:
    """The categories of a product, or of what is in an order."""
    products = [value] if name == PRODUCT else []
    place = store.place_of_customer.get(persona_id)
    if name == ORDER and place is not None:
        lines = (order.lines for order in store.customers[place].orders if order.id == value)
        products = [line.product_id for each in lines for line in each]
    rows = (store.row(product) for product in products)
    yield from (store.leaves[store.leaf_of[row]] for row in rows if row is not None)
