"""What must be true of a task and of an episode, found out from their rows by playing them in the run's own shop."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from typing import Any

from pipeline.checks.nearby import Nearby
from pipeline.dataset import Dataset
from pipeline.envs import all_envs, env_of
from pipeline.envs.base import Goal, Score
from pipeline.envs.episode import Episode, draw, played
from pipeline.envs.players import do_nothing, terminate_at_once
from pipeline.envs.policy_qa import VISITOR
from pipeline.envs.visits import NOBODY
from pipeline.envs.world import beside
from pipeline.problem import Problem
from pipeline.shop.phrased import why_not
from pipeline.shop.shopper import Heard, Shopper
from pipeline.shop.store import Item, Store
from pipeline.shop.tools import Shop
from schemas.shop import Product
from schemas.tasks import Answer, EnvEpisode, Reward, Task, Wish

UNREADABLE = "a row that cannot be read"
SOME = 12
"""Of many end states that are as good as one another, so many are tried."""
IDS = {"product_id", "product_ids", "recommended_product_ids", "any_of"}
VARIANTS = {"variant_id", "variants", "sold_out"}


def readable(check: Callable[..., str | None]) -> Callable[..., str | None]:
    """The same check, which says so of a row that it cannot make sense of."""

    @wraps(check)
    def tried(*given: Any) -> str | None:
        try:
            return check(*given)
        except (ValueError, LookupError, TypeError, AttributeError, Problem):
            return UNREADABLE

    return tried


def env_is_known(task: Task) -> str | None:
    return None if task.env in all_envs() else "an env that there is not"


@readable
def task_is_its_seeds(task: Task, catalog: Dataset[Product]) -> str | None:
    """Drawn again it is the same, the whole certificate included."""
    again = draw(env_of(task.env), beside(catalog), task.difficulty, task.seed)
    return None if again == task.model_copy(update={"solution": ""}) else "drawn again it is another task"


@readable
def goal_agrees_with_the_row(task: Task, catalog: Dataset[Product]) -> str | None:
    goal = episode_of(task, catalog).goal
    same = (goal.persona_id, goal.feasible, goal.wishes) == (task.persona_id, task.feasible, task.wishes)
    return None if same else "its goal says something else than the row"


@readable
def solution_earns_everything(task: Task, catalog: Dataset[Product]) -> str | None:
    """The stored actions, played through the tools."""
    episode = episode_of(task, catalog)
    episode.reset()
    for action in json.loads(task.solution):
        _, _, done, info = episode.step(action)
        if done:
            return None if earns_everything(info["reward"]) else "its solution does not earn everything"
    return "its solution never ends"


@readable
def silence_earns_nothing(task: Task, catalog: Dataset[Product]) -> str | None:
    """Nor does an empty answer, nor one with a product that there is not."""
    episode = episode_of(task, catalog)
    if played(episode, do_nothing).success or played(episode, terminate_at_once).success:
        return "silence is a success"
    episode.reset()
    made_up = Answer(env=task.env, recommended_product_ids=["no-such-product"])
    _, _, _, info = episode.step({"answer": made_up.model_dump(exclude_defaults=True)})
    return "a product that there is not is a success" if info["reward"].success else None


@readable
def acceptable_ends_are_successes(task: Task, catalog: Dataset[Product]) -> str | None:
    """Each end state of the certificate, set up directly and scored.

    Of a set of products any is a success; only the best of them, in their order, earn everything, as the solution does.
    """
    episode = episode_of(task, catalog)
    ends = list(ends_of(json.loads(task.acceptable)))
    if not ends:
        return "a certificate without an end state"
    for end in ends:
        score = reached(episode, end)
        if not score.success:
            return "an acceptable end state is no success"
    return None


@readable
def nearest_miss_fails(task: Task, catalog: Dataset[Product]) -> str | None:
    """It breaks one thing that it names, and so is no success and earns less than everything."""
    miss = json.loads(task.nearest_miss)
    score = reached(episode_of(task, catalog), miss)
    if score.success or score.task == 1:
        return "its nearest miss is a success"
    return None if breaks(miss) else "a nearest miss that does not say what it breaks"


@readable
def certificate_is_computed_twice(task: Task, catalog: Dataset[Product]) -> str | None:
    """Which products of a category do is exactly what plain Python finds, one product at a time."""
    store = beside(catalog).store
    for text, certificate in parts_of(task):
        goal = json.loads(text)
        sold_out = set(goal["sold_out"])
        for end in as_ends(certificate):
            if "any_of" in end and "constraints" in goal:
                gone = sold_out | (set(goal["event"]["variants"]) if "after" in end else set())
                found = fitting(store, goal["category"], goal["constraints"], gone)
                if {item.id for item in found} != set(end["any_of"]):
                    return "its acceptable products are not those that fit"
            for line in [*end.get("one of each", ()), *end.get("proof", {}).get("one of each", ())]:
                found = fitting(store, line["category"], line["constraints"], sold_out)
                least = min((item.cents for item in found), default=None)
                named = store.row(line["cheapest"])
                if len(found) != line["do"] or (named is not None and int(store.cents[named])) != (
                    least is not None and least
                ):
                    return "a line of its list does not have the products that fit"
    return None


def opening_has_no_open_place(task: Task) -> str | None:
    opening = task.opening
    for wish in task.wishes:
        opening = opening.replace(wish.said, "")
    wrong = "{{" in opening or "{%" in opening or "Undefined" in opening
    return "an opening with an open place" if wrong or not task.opening.strip() else None


@readable
def every_wish_can_be_learnt(task: Task, catalog: Dataset[Product]) -> str | None:
    """Stated in the opening as it is written, brought up later in a journey, or told when asked by its name.

    No two have one name.
    """
    names = [wish.name for wish in task.wishes]
    if len(set(names)) < len(names):
        return "two wishes of one name"
    heard = " ".join(task.opening.split()).lower()
    later = " ".join(json.loads(task.goal).get("later", "").split()).lower()
    for wish in task.wishes:
        said = " ".join(wish.said.split()).rstrip(".").lower()
        if not said:
            return "a wish without words"
        if wish.known == "stated" and said not in heard:
            return "a wish that is stated is not in the opening"
        if wish.known == "asked" and said not in later and said not in asked_for(task, wish):
            return "a wish that is not told when asked"
    return None


def asked_for(task: Task, wish: Wish) -> str:
    shopper = Shopper(task.wishes, seed=task.id)
    return " ".join(shopper.answer(f"What about the {wish.name}?").split()).lower()


@readable
def everything_named_exists(task: Task, catalog: Dataset[Product]) -> str | None:
    """Products, variants, orders and the customer of goal, certificate and nearest miss."""
    store = beside(catalog).store
    for text in (task.acceptable, task.nearest_miss, task.goal):
        for kind, id in ids_in(json.loads(text)):
            if kind == "product" and store.row(id) is None:
                return "a product that there is not"
            if kind == "variant" and store.option_of(id) is None:
                return "a variant that there is not"
    if task.persona_id not in store.place_of_customer and task.persona_id not in (VISITOR, NOBODY):
        return "a customer that there is not"
    return None


def earns_everything(reward: Reward) -> bool:
    """Success, the whole of the task's part, and nothing made up; turns it may take."""
    return reward.success and reward.task == 1 and reward.hallucination == 0


# Of an episode


def task_is_there(episode: EnvEpisode, env_tasks: Dataset[Task]) -> str | None:
    task = env_tasks.once(Nearby).of(episode.task_id)
    if task is None:
        return "a task that there is not"
    same = (task.env, task.difficulty, task.opening) == (episode.env, episode.difficulty, episode.opening)
    return None if same else "its task is another one"


@readable
def actions_bring_it_about(episode: EnvEpisode, env_tasks: Dataset[Task], catalog: Dataset[Product]) -> str | None:
    """Played again from its actions alone: the same results, words, acts and reward.

    Where a model put the shopper's words, they may be others that say the same.
    """
    task = env_tasks.once(Nearby).of(episode.task_id)
    if task is None:
        return None  # said by another check
    again = episode_of(task, catalog)
    again.reset()
    for number, turn in enumerate(episode.turns, 1):
        _, _, done, info = again.step(turn.action)
        now = again.turns[-1]
        if now.results != turn.results:
            return "other results when played again"
        if now.user_act != turn.user_act or not says_the_same(turn.user, now.user, again.shopper):
            return "the shopper says something else when played again"
        if done != (number == len(episode.turns)):
            return "it ends elsewhere when played again"
    if not episode.turns:
        return "an episode without a turn"
    return None if info["reward"] == episode.reward else "another reward when played again"


def solver_earns_everything(episode: EnvEpisode) -> str | None:
    if episode.policy != "solver":
        return None
    return None if earns_everything(episode.reward) else "the solver does not earn everything"


def says_the_same(words: str, plain: str, shopper: Shopper) -> bool:
    if words == plain:
        return True
    heard: Heard | None = shopper.said[-1] if shopper.said else None
    hidden = [wish.said for place, wish in enumerate(shopper.wishes) if place not in shopper.told]
    return heard is not None and heard.text == plain and why_not(words, heard, hidden) is None


# Certificates


def episode_of(task: Task, catalog: Dataset[Product]) -> Episode:
    return Episode(env_of(task.env), beside(catalog), task)


def parts_of(task: Task) -> Iterator[tuple[str, Any]]:
    """Goal and certificate of the task, or of each part of a journey."""
    certificate, goal = json.loads(task.acceptable), json.loads(task.goal)
    if task.env != "journey":
        yield task.goal, certificate
        return
    for part, own in zip(goal["parts"], certificate, strict=True):
        yield part["goal"], own["acceptable"]


def cheapest(end: dict[str, Any]) -> dict[str, Any]:
    """A shopping list as an end state: the cheapest product of each category."""
    return {"recommended_product_ids": [line["cheapest"] for line in end["one of each"]]}


def as_ends(certificate: Any) -> list[dict[str, Any]]:
    """The end states of a certificate: one, a list of them, or under `ends`."""
    if isinstance(certificate, list):
        return certificate
    found = certificate.get("ends", [certificate])
    return list(found)


def ends_of(certificate: Any) -> Iterator[dict[str, Any]]:
    """Single end states: of a set in which any is right some, spread over it; of a journey's parts each in its turn."""
    found = as_ends(certificate)
    if found and "acceptable" in found[0]:
        parts = [list(ends_of(each["acceptable"])) for each in found]
        if all(parts):
            for number in range(max(map(len, parts))):
                yield {"parts": [own[number % len(own)] for own in parts]}
        return
    for end in found:
        any_of = choices(end)
        if any_of is None:
            yield cheapest(end) if "one of each" in end else end
            continue
        for number in range(min(SOME, len(any_of))):
            yield chosen(end, any_of[number * len(any_of) // min(SOME, len(any_of))])


def choices(end: dict[str, Any]) -> list[str] | None:
    """The products of which any one is right; None where there is no choice."""
    if "any_of" in end:
        return list(end["any_of"])
    named = end.get("recommended_product_ids")
    return list(next(iter(named.values()))) if isinstance(named, dict) else None


def chosen(end: dict[str, Any], product: str) -> dict[str, Any]:
    return {key: value for key, value in end.items() if key != "any_of"} | {"recommended_product_ids": [product]}


def breaks(miss: dict[str, Any]) -> str:
    return str(miss["nearest_miss"].get("breaks", "") if "nearest_miss" in miss else miss.get("breaks", ""))


def reached(episode: Episode, end: dict[str, Any]) -> Score:
    """What an end state earns that is set up without any tool."""
    shop = episode.env.shop(episode.world, episode.goal, episode.axes, episode.task.id)
    if "nearest_miss" in end:
        right = next(ends_of(json.loads(episode.task.acceptable)))["parts"]
        right[end["part"] - 1] = next(ends_of(end["nearest_miss"]))
        end = {"parts": right}
    for each in end.get("parts", [end]):
        furnish(shop, each, episode.goal)
    parts = [answer_of(each) for each in end.get("parts", ())]
    return episode.env.score(episode.goal, shop, Answer(parts=parts) if parts else answer_of(end))


def furnish(shop: Shop, end: dict[str, Any], goal: Goal) -> None:
    """Cart, returns and what was sold out as the end state has them."""
    if "after" in end and goal.event:
        shop.gone |= set(goal.event.variants)
    for line in end.get("cart", ()):
        options = [shop.store.option_of(id) for id in line.get("variants", [line.get("variant_id")])]
        enough = [option for option in options if option and shop.stock(option) >= line["quantity"]]
        for option in (enough or options)[:1]:
            if option:
                shop.cart[option.id] = line["quantity"]
    shop.returns += end.get("returns", [])


def answer_of(end: dict[str, Any]) -> Answer:
    """The fields of an answer that an end state has, its own or under `answer`."""
    found = {**end, **end.get("answer", {})}
    if (products := choices(end)) is not None:
        found["recommended_product_ids"] = products[:1]
    return Answer(**{name: found[name] for name in Answer.model_fields if name in found and name != "parts"})


def fitting(store: Store, leaf: str, constraints: list[dict[str, Any]], sold_out: set[str]) -> list[Item]:
    """The products of a category that meet constraints and are in stock, one product at a time."""
    place = store.place_of_leaf.get(leaf)
    rows = store.rows_of(place).tolist() if place is not None else []
    items = [store.item(row) for row in rows if any(o.stock and o.id not in sold_out for o in store.options(row))]
    return [item for item in items if all(fits(item, constraint) for constraint in constraints)]


def fits(item: Item, constraint: dict[str, Any]) -> bool:
    value = item.facts.get(constraint["fact"])
    if value is None:
        return False
    if constraint["op"] == "is":
        return str(value).casefold() == constraint["value"].casefold()
    number = constraint["number"]
    return not isinstance(value, str) and (value <= number if constraint["op"] == "at most" else value >= number)


def ids_in(value: Any, under: str = "") -> Iterator[tuple[str, str]]:
    """Every id in a JSON value, with what it is of; a goal within it is looked into."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from ids_in(each, under if name in ("any of", "some of") else name)
    elif isinstance(value, list):
        for each in value:
            yield from ids_in(each, under)
    elif isinstance(value, str) and value:
        if under == "goal":
            with suppress(ValueError):
                yield from ids_in(json.loads(value))
        elif under in IDS:
            yield "product", value
        elif under in VARIANTS:
            yield "variant", value
