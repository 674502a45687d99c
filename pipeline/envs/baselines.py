"""Cheap ways to play that must not pay: none of them works out what is wanted. They see what an agent sees, and no goal.

Beside what tools return they know what anybody knows of the gym: its tools, the fields of an answer, how many parts a journey has,
and (`recommend_without_searching` alone) which products the shop has, as a model that remembers a catalog would.
"""

import json
import re
from collections.abc import Generator, Mapping
from itertools import chain
from random import Random
from typing import Any

from shopwright.pipeline.envs.base import REFUSALS
from shopwright.pipeline.envs.difficulty import Axes
from shopwright.pipeline.envs.episode import Episode, Player, play_solution
from shopwright.pipeline.evaluate.situation import SOLVER, add_try_number
from shopwright.pipeline.shop.tools import build_tool_schemas
from shopwright.schemas.tasks import Action, Answer, Call

Play = Generator[Action, dict[str, Any], None]
NAMED = re.compile(r"[A-Za-z0-9][\w.-]*\d[\w-]*")
"""A word with a digit in it, which may be an id."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")
STATUSES = ("processing", "shipped", "delivered", "cancelled")
HUGE_NUMBER = 10**6


def do_nothing(episode: Episode) -> Play:
    """Says nothing, and hands nothing in."""
    while True:
        yield Action()


def terminate_at_once(episode: Episode) -> Play:
    """Hands in an empty answer in its first turn."""
    yield wrap_answer(episode, Answer())


def random_legal_call(episode: Episode) -> Play:
    """Calls tools at random with arguments that it has seen, then hands in whatever it has seen."""
    random, seen = seed_player(episode, "random"), SeenValues()
    seen.text(episode.task.opening)
    turns = episode.most
    for left in range(turns - 1, 0, -1):
        action = Action(
            tool_calls=[draw_tool_call(random, seen) for _ in range(random.randint(1, episode.axes.tool_calls))]
        )
        seen.results((yield action)["results"])
        if random.random() < 1 / left:
            break
    yield wrap_answer(
        episode,
        Answer(
            recommended_product_ids=seen.some("product_id", random, 1),
            selected_order_id=seen.one("order_id", random),
            selected_line_id=seen.one("line_id", random),
            order_status=random.choice(STATUSES),
            policy_answer=random.choice(["yes", "no", *seen.values.get("number", ["30"])]),
            refusal=random.choice(["", "", "", *REFUSALS]),
        ),
    )


def first_result(episode: Episode) -> Play:
    """Takes the first of everything: product, variant, order, line, number in a policy."""
    seen = SeenValues()
    words = episode.task.opening[:400]
    calls = [("catalog_search", {"query": words}), ("order_list", {}), ("policy_search", {"query": words})]
    yield from call_tools(episode, calls, seen)
    if product := seen.first("product_id"):
        yield from call_tools(episode, [("catalog_get_variants", {"product_id": product})], seen)
    calls = []
    if variant := seen.first("variant_id", after="variants"):
        calls.append(("cart_add", {"product_id": product, "variant_id": variant}))
    order, line = seen.first("order_id"), seen.first("line_id")
    if line:
        calls.append(("return_initiate", {"order_id": order, "line_id": line}))
    yield from call_tools(episode, calls, seen)
    yield wrap_answer(episode, add_seen_orders(seen, Answer(recommended_product_ids=[product] if product else [])))


def everything_into_the_cart(episode: Episode) -> Play:
    """Puts all that a search finds into the cart, and recommends it."""
    seen, calls = SeenValues(), []
    yield from call_tools(episode, [("catalog_search", {"query": episode.task.opening[:400]})], seen)
    found = seen.values.get("product_id", [])[: count_affordable_products(episode)]
    yield from call_tools(episode, [("catalog_get_variants", {"product_id": product}) for product in found], seen)
    for product in found:
        variants = seen.variants.get(product, [])
        calls += [("cart_add", {"product_id": product, "variant_id": variant}) for variant in variants]
    yield from call_tools(episode, calls, seen, keep=1)
    yield wrap_answer(episode, Answer(recommended_product_ids=found[: episode.axes.recommendations]))


def copy_the_profile(episode: Episode) -> Play:
    """Gives the customer what it has looked at before, and its last order."""
    seen = SeenValues()
    yield from call_tools(episode, [("user_get_visit_history", {}), ("order_list", {})], seen)
    visited = list(dict.fromkeys(seen.values.get("product_id", [])))
    if visited:
        yield from call_tools(episode, [("catalog_get_variants", {"product_id": visited[0]})], seen)
        if variant := seen.first("variant_id", after="variants"):
            yield from call_tools(episode, [("cart_add", {"product_id": visited[0], "variant_id": variant})], seen)
    answer = Answer(recommended_product_ids=visited[: episode.axes.recommendations])
    yield wrap_answer(episode, add_seen_orders(seen, answer))


def echo_the_query(episode: Episode) -> Play:
    """Gives the shopper's own words back: the ids, the numbers and the sentence."""
    words = episode.task.opening
    named, numbers = NAMED.findall(words), NUMBER.findall(words)
    ids = [id for id in named if not NUMBER.fullmatch(id)]
    yield wrap_answer(
        episode,
        Answer(
            recommended_product_ids=ids[: episode.axes.recommendations],
            selected_order_id=ids[0] if ids else "",
            selected_line_id=ids[-1] if ids else "",
            order_status=next((status for status in STATUSES if status in words.lower()), words[:200]),
            policy_answer=numbers[0] if numbers else words[:200],
        ),
        words,
    )


def recommend_without_searching(episode: Episode) -> Play:
    """Names products that the shop has, without having looked anything up."""
    random, ids = seed_player(episode, "memory"), episode.world.store.ids
    count = min(episode.axes.recommendations, len(ids))
    found = [ids[random.randrange(len(ids))].as_py() for _ in range(count)]
    yield wrap_answer(episode, Answer(recommended_product_ids=list(dict.fromkeys(found))))


ENV_BASELINES: dict[str, Player] = {
    player.__name__.replace("_", "-"): player
    for player in (
        *(do_nothing, random_legal_call, first_result, everything_into_the_cart),
        *(terminate_at_once, copy_the_profile, echo_the_query, recommend_without_searching),
    )
}
PLAYERS: dict[str, Player] = {SOLVER: play_solution, **ENV_BASELINES}
"""By the name that a table has them under."""


class SeenValues:
    """Values that tools have returned, by field, in their order."""

    def __init__(self) -> None:
        self.values: dict[str, list[str]] = {}
        self.variants: dict[str, list[str]] = {}
        """Of each product whose variants were looked at, those in stock."""

    def results(self, found: Any) -> None:
        if isinstance(found, list):
            for each in found:
                self.results(each)
        elif isinstance(found, Mapping):
            for name, value in found.items():
                if isinstance(value, Mapping | list):
                    self.results(value)
                elif value is not None:
                    self.add(name, str(value))
            if "variants" in found:
                offers = found["variants"]
                self.variants[found["product_id"]] = [each["variant_id"] for each in offers if each["stock"]]

    def add(self, name: str, value: str) -> None:
        held = self.values.setdefault(name, [])
        if value not in held[-50:]:
            held.append(value)
        if name in ("text", "answer"):
            self.text(value)

    def text(self, said: str) -> None:
        for number in NUMBER.findall(said):
            self.values.setdefault("number", []).append(number)
        self.values.setdefault("words", []).extend(said.split()[:40])

    def first(self, name: str, *, after: str = "") -> str:
        """The first value of a field; `after` variants: of those in stock."""
        if after:
            return next(chain.from_iterable(self.variants.values()), "")
        return next(iter(self.values.get(name, [])), "")

    def one(self, name: str, random: Random) -> str:
        found = self.values.get(name, [])
        return random.choice(found) if found else ""

    def some(self, name: str, random: Random, count: int) -> list[str]:
        found = self.values.get(name, [])
        return random.sample(found, min(count, len(found)))


def call_tools(episode: Episode, calls: list[tuple[str, dict[str, Any]]], seen: SeenValues, *, keep: int = 1) -> Play:
    """Makes these calls, as many in a turn as may be, while more turns than `keep` are left."""
    most = episode.axes.tool_calls
    for begin in range(0, len(calls), most):
        if episode.most - len(episode.turns) <= keep:
            return
        batch = [Call(name=name, args=args) for name, args in calls[begin : begin + most]]
        seen.results((yield Action(tool_calls=batch))["results"])


def count_affordable_products(episode: Episode) -> int:
    """How many products can be looked at and put into the cart in the turns that are left."""
    return max(1, (episode.most - len(episode.turns) - 1) * episode.axes.tool_calls // 2)


def add_seen_orders(seen: SeenValues, answer: Answer) -> Answer:
    """The answer with the first order, line, status and number seen."""
    return answer.model_copy(
        update={
            "selected_order_id": seen.first("order_id"),
            "selected_line_id": seen.first("line_id"),
            "order_status": seen.first("status"),
            "policy_answer": seen.first("number") or "yes",
        }
    )


def wrap_answer(episode: Episode, answer: Answer, words: str = "") -> Action:
    """The answer; in a journey to each of its parts."""
    whole = answer.model_copy(update={"env": episode.task.env})
    if episode.task.env == "journey":
        whole = whole.model_copy(update={"parts": [answer] * count_journey_parts(episode.axes)})
    return Action(assistant_message=words, answer=whole)


def count_journey_parts(axes: Axes) -> int:
    """As published.

    >>> from shopwright.pipeline.envs.difficulty import compute_axes
    >>> [count_journey_parts(compute_axes(level)) for level in (0, 4, 12, 40)]
    [2, 3, 5, 5]
    """
    return min(5, 2 + axes.difficulty // 4)


def draw_tool_call(random: Random, seen: SeenValues) -> Call:
    """A call that some tool takes; its ids are seen ones where there are any."""
    tool = random.choice(build_tool_schemas())
    needed = set(tool["parameters"]["required"])
    arguments = tool["parameters"]["properties"].items()
    args = {
        name: draw_argument(name, kind["type"], random, seen)
        for name, kind in arguments
        if name in needed or random.random() < 0.3
    }
    return Call(name=tool["name"], args=args)


def draw_argument(name: str, kind: str, random: Random, seen: SeenValues) -> str | int | float:
    if kind == "integer":
        return random.choice((1, 1, 2, 3, 0, -1, HUGE_NUMBER))
    if kind == "number":
        return round(random.choice((0.0, random.uniform(0, 5), random.uniform(0, 500))), 2)
    if name in ("query", "question", "reason"):
        words = seen.values.get("words", ["anything"])
        return " ".join(random.choices(words, k=random.randint(1, 5)))
    field = {"product_ids": "product_id"}.get(name, name)
    return seen.one(field, random) or f"{name}-{random.randrange(HUGE_NUMBER)}"


def seed_player(episode: Episode, name: str) -> Random:
    """Of a player in a try at a task, the same in any process."""
    return Random(json.dumps([name, add_try_number(episode.task.id, episode.try_number)]))
