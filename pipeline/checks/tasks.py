"""What must be true of a task and of an episode, found out from their rows by playing them in the run's own shop."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import wraps
from itertools import chain
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

from pydantic import ValidationError

from shopwright.pipeline.checks.certificates import JUDGES
from shopwright.pipeline.checks.devices import is_for_another
from shopwright.pipeline.checks.openings import find_misread_words
from shopwright.pipeline.checks.product_facts import filter_items_by, has_unsold_variant, list_items_in
from shopwright.pipeline.checks.record_cache import RecordCache
from shopwright.pipeline.checks.titles import find_denied_choice
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.envs import all_envs, get_env
from shopwright.pipeline.envs.base import Goal, GoalScore, drop_said
from shopwright.pipeline.envs.baselines import do_nothing, terminate_at_once
from shopwright.pipeline.envs.customers import NOBODY, VISITOR
from shopwright.pipeline.envs.difficulty import compute_axes, scale_limits_to_calls
from shopwright.pipeline.envs.episode import Episode, draw_task, play_episode
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.envs.unseen import find_usage
from shopwright.pipeline.experts.player import EXPERT
from shopwright.pipeline.models.base import LONGEST, plain_reason
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.shop.rephrasing import find_rephrasing_fault
from shopwright.pipeline.shop.store import Item, Store
from shopwright.pipeline.shop.tools import Shop
from shopwright.pipeline.shop.user_simulator import SimulatorReply, UserSimulator
from shopwright.pipeline.words import split_words
from shopwright.schemas.certificates import (
    AnyOf,
    Certificate,
    End,
    Infeasible,
    Malformed,
    Miss,
    NotReturnable,
    OneOfEach,
    Parts,
    describe,
    parse_certificate,
    parse_miss,
)
from shopwright.schemas.shop import Product
from shopwright.schemas.tasks import Answer, EnvEpisode, Reward, Task

T = TypeVar("T")
# Of a row what is words, and the row's own account of them.
WORDED = {"opening", "slots", "goal", "bank"}
# Of many end states that are as good as one another, so many are tried.
SOME = 12


def report_unreadable(check: Callable[..., str | None]) -> Callable[..., str | None]:
    """The same check, which says of a row that it cannot make sense of what was expected, and what it found."""

    @wraps(check)
    def tried(row: Task | EnvEpisode, *given: Any) -> str | None:
        try:
            return check(row, *given)
        except (Malformed, Problem) as error:
            return str(error)[:LONGEST]
        except Exception as error:  # noqa: BLE001 - an env is anybody's code
            return raised_by(row.env, error)

    return tried


def raised_by(name: str, error: BaseException) -> str:
    """Which method of an env raised what, and where; of an error elsewhere the place alone.

    Words and ids of the row itself are left out.
    """
    frames = extract_tb(error.__traceback__)
    home = getattr(sys.modules.get(type(get_env(name)).__module__), "__file__", "")
    here = [frame for frame in frames if frame.filename == home]
    last = (here or frames)[-1]
    what = f"{name}.{here[0].name}" if here else f"{name}: {last.name}"
    why = plain_reason(str(error))
    return f"{what} raised {type(error).__name__}: {why} ({Path(last.filename).name}, line {last.lineno})"


def parse_task_goal(task: Task) -> Goal:
    """Raises Malformed for what is no goal of its env."""
    env = get_env(task.env)
    try:
        found: Goal = env.Goal.model_validate_json(task.goal)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"])) or "its top"
        raise Malformed(
            f"its goal: expected {env.Goal.__name__} of {task.env}; at {at}: {first['msg'].partition(' at line')[0]}"
        ) from None
    return found


def parse_task_certificate(task: Task) -> Certificate:
    return parse_task_column("certificate", parse_certificate, task.acceptable)


def parse_task_miss(task: Task) -> Miss:
    return parse_task_column("nearest miss", parse_miss, task.nearest_miss)


def parse_task_column(name: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except Malformed as error:
        raise Malformed(f"its {name}: {error}") from None


def parse_solution(task: Task) -> list[dict[str, Any]]:
    try:
        found = json.loads(task.solution)
    except ValueError:
        found = task.solution
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Malformed(f"its solution: expected a JSON list of actions, found {describe(found)}")
    return found


def env_is_known(task: Task) -> str | None:
    return None if task.env in all_envs() else "an unknown env"


@report_unreadable
def task_is_its_seeds(task: Task, catalog: Dataset[Product]) -> str | None:
    """Drawn again it is the same, the whole certificate included; the words of a bank of one's own are read back instead."""
    again = draw_task(get_env(task.env), load_world_beside(catalog), task.difficulty, task.seed)
    # The solution is added when a task is whole.
    row = task.model_copy(update={"solution": ""})
    same = drop_words(again) == drop_words(row) if task.bank else again == row
    return None if same else "drawn again it is another task"


def drop_words(task: Task) -> dict[str, Any]:
    """All of a task but what is said of it, and when somebody says something else: that is drawn after the words."""
    return task.model_dump(exclude=WORDED) | {
        "slots": drop_said(task.model_dump()["slots"]),
        "goal": drop_said(task.goal),
    }


@report_unreadable
def goal_agrees_with_the_row(task: Task, catalog: Dataset[Product]) -> str | None:
    goal = episode_of(task, catalog).goal
    if (goal.persona_id, goal.feasible, goal.slots) != (task.persona_id, task.feasible, task.slots):
        return "its goal says something else than the row"
    goals = [json.loads(task.goal), *(each for each, _ in split_task_into_parts(task))]
    if not all(each["policies"].startswith(f"{task.split}-") for each in goals):
        return "its policies are of another split than its words"
    return None


@report_unreadable
def solution_earns_everything(task: Task, catalog: Dataset[Product]) -> str | None:
    """The stored actions, played through the tools."""
    episode = episode_of(task, catalog)
    episode.reset()
    for action in parse_solution(task):
        _, _, done, info = episode.step(action)
        if done:
            return None if earns_everything(info["reward"]) else "its solution does not earn everything"
    return "its solution never ends"


@report_unreadable
def silence_earns_nothing(task: Task, catalog: Dataset[Product]) -> str | None:
    """Nor does an empty answer, nor one with an unknown product."""
    episode = episode_of(task, catalog)
    if play_episode(episode, do_nothing).success or play_episode(episode, terminate_at_once).success:
        return "silence is a success"
    episode.reset()
    made_up = Answer(env=task.env, recommended_product_ids=["no-such-product"])  # no shop names a product so
    _, _, _, info = episode.step({"answer": made_up.model_dump(exclude_defaults=True)})
    return "an unknown product is a success" if info["reward"].success else None


@report_unreadable
def acceptable_ends_are_successes(task: Task, catalog: Dataset[Product]) -> str | None:
    """Each end state of the certificate, set up directly and scored.

    Of a set of products any is a success; only the best of them, in their order, earn everything, as the solution does.
    """
    episode = episode_of(task, catalog)
    found = parse_task_certificate(task)
    if isinstance(found, Infeasible) == task.feasible:
        return f"its certificate: expected {'what can be done' if task.feasible else 'Infeasible'}, found {describe(found)}"
    for ends in list_right_ends(found):
        if not score_ends(episode, ends).success:
            return "an acceptable end state is no success"
    return None


@report_unreadable
def nearest_miss_fails(task: Task, catalog: Dataset[Product]) -> str | None:
    """It breaks one thing that it names, and so is no success and earns less than everything."""
    miss, right = parse_task_miss(task), parse_task_certificate(task)
    if len(miss.breaks) != 1 or not miss.breaks[0]:
        return "a nearest miss that does not say the one thing that it breaks"
    ends = [miss.end]
    if isinstance(right, Parts):
        ends = next(list_right_ends(right))
        ends[miss.part - 1] = miss.end
    score = score_ends(episode_of(task, catalog), ends)
    return "its nearest miss is a success" if score.success or score.task == 1 else None


@report_unreadable
def certificate_is_computed_twice(task: Task, catalog: Dataset[Product]) -> str | None:
    """It is just what is found by who shares no code with the env; where nobody knows the env, nothing beside it is right.

    Then each other product of the categories of the right ones, and each other variant of what is to be in the cart, is tried.
    """
    found, store = parse_task_certificate(task), load_world_beside(catalog).store
    parse_task_goal(task)
    # A second judge was written for the envs here; for somebody's own env its score is asked.
    if task.env in JUDGES:
        judge = JUDGES[task.env]
        return next(judge(json.loads(task.goal), found, store, compute_axes(task.difficulty).orders_shown), None)
    episode = episode_of(task, catalog)
    for end in found.ends if isinstance(found, AnyOf) else ():
        if any(score_ends(episode, [other]).success for other in list_wrong_ends(store, end)):
            return f"its certificate lacks an end state that {task.env}.score calls a success"
    return None


@report_unreadable
def substitutes_are_for_the_same_device(task: Task, catalog: Dataset[Product]) -> str | None:
    """Read from the titles alone, by another reader than that of the catalog."""
    store = load_world_beside(catalog).store
    for goal, certificate in split_task_into_parts(task):
        original = goal["product_id"] if goal.get("wants") == "product" else goal.get("original")
        ends = certificate.ends if original and isinstance(certificate, AnyOf) else ()
        for other in sorted(set(chain.from_iterable(end.some_of for end in ends))):
            if is_for_another(find_title_in_store(store, str(original)), find_title_in_store(store, other)):
                return "a substitute for another device"
    return None


@report_unreadable
def titles_tell_no_substitute(task: Task, catalog: Dataset[Product]) -> str | None:
    """Within the price that is asked for, for each as many products as the level has do not do, and share as much of the original's title."""
    store = load_world_beside(catalog).store
    for goal, certificate in split_task_into_parts(task):
        if goal.get("original") and isinstance(certificate, AnyOf):
            right = set(certificate.ends[0].some_of)
            title = set(split_words(find_title_in_store(store, goal["original"])))
            limits = [each for each in goal["constraints"] if each["fact"] == "price"]
            near = filter_items_by(list_items_in(store, goal["category"]), limits)
            stocked = [item for item in near if has_unsold_variant(store, item, set(goal["sold_out"]))]
            shared = {item.id: len(title.intersection(split_words(item.title))) for item in stocked}
            wrong = [count for id, count in shared.items() if id not in right]
            for number, words in enumerate(sorted((shared[id] for id in right), reverse=True), 1):
                if sum(count >= words for count in wrong) < compute_axes(task.difficulty).look_alikes * number:
                    return "a substitute that the title of the original tells"
    return None


@report_unreadable
def sellers_are_not_guessed(task: Task, catalog: Dataset[Product]) -> str | None:
    """Who takes a seller that seems to have all, and of it what seems right, is right at most once for as many look-alikes as the level has."""
    store = load_world_beside(catalog).store
    for goal, certificate in split_task_into_parts(task):
        if isinstance(certificate, OneOfEach) and certificate.sellers:
            right = Counter[str]()
            seeming = Counter[str]()
            for number, need in enumerate(goal["needs"]):
                items = find_seeming_items(store, need, set(goal["sold_out"]))
                own = Counter(store.seller_of(item.row) for item in items)
                fine = {id for each in certificate.sellers for id in each.product_ids[number]}
                does = Counter(store.seller_of(item.row) for item in items if item.id in fine)
                for seller in own if not number else [*seeming]:
                    right[seller] = does[seller] * (right[seller] if number else 1)
                    seeming[seller] = own[seller] * (seeming[seller] if number else 1)
            shares = [Fraction(right[each], count) for each, count in seeming.items() if count]
            if shares and sum(shares) * (1 + compute_axes(task.difficulty).look_alikes) > len(shares):
                return "a list that is guessed too easily"
    return None


def find_seeming_items(store: Store, need: dict[str, Any], gone: set[str]) -> list[Item]:
    """What is in stock, not above the price, of the brand, and has as many words of what is asked for in its title as what does."""
    asked = need["constraints"]
    shown = [each for each in asked if each["fact"] == "brand" or (each["fact"] == "price" and each["op"] == "at most")]
    words = set(split_words(" ".join(each["value"] for each in asked if each["op"] == "is")))
    stocked = [item for item in list_items_in(store, need["category"]) if has_unsold_variant(store, item, gone)]
    shared = {item.id: len(words.intersection(split_words(item.title))) for item in stocked}
    most = max((shared[item.id] for item in filter_items_by(stocked, asked)), default=0)
    return [item for item in filter_items_by(stocked, shown) if shared[item.id] >= most]


@report_unreadable
def titles_agree_with_what_is_asked(task: Task, catalog: Dataset[Product]) -> str | None:
    """No product is wanted in a variant that its title denies."""
    store = load_world_beside(catalog).store
    for goal, _ in split_task_into_parts(task):
        for line in goal.get("lines", ()):
            row = store.row(line["product_id"])
            if row is None:
                return "an unknown product"
            item = store.item(row)
            # A brand may be called after a color.
            title = item.title.replace(item.brand, "", 1) if item.brand else item.title
            if find_denied_choice(title, [(each["name"], each["value"]) for each in line["choices"]]):
                return "a variant that the product's title denies"
    return None


def list_wrong_ends(store: Store, end: End) -> Iterator[End]:
    """End states that an end state leaves out: another product, or a line of the cart in another variant."""
    leaves = {int(store.leaf_of[row]) for id in end.some_of if (row := store.row(id)) is not None}
    rows = list(chain.from_iterable(store.rows_of(leaf).tolist() for leaf in sorted(leaves)))
    for id in store.ids.take(rows).to_pylist() if rows else ():
        if id not in end.some_of:
            yield end.model_copy(update={"some_of": [id]})
    for place, line in enumerate(end.cart):
        row = store.row(line.product_id)
        for option in store.options(row) if row is not None else ():
            if option.id not in line.variants:
                other = line.model_copy(update={"variants": [option.id]})
                yield end.model_copy(update={"cart": [*end.cart[:place], other, *end.cart[place + 1 :]]})


def split_task_into_parts(task: Task) -> Iterator[tuple[dict[str, Any], Certificate]]:
    """Goal and certificate of the task, or of each part of one that has several."""
    goal, certificate = json.loads(task.goal), parse_task_certificate(task)
    if not isinstance(certificate, Parts):
        yield goal, certificate
        return
    for part, own in zip(goal["parts"], certificate.parts, strict=True):
        yield json.loads(part["goal"]), own.certificate


def find_title_in_store(store: Store, product_id: str) -> str:
    row = store.row(product_id)
    return "" if row is None else str(store.titles[row])


def opening_has_no_open_place(task: Task) -> str | None:
    opening = task.opening
    for slot in task.slots:
        opening = opening.replace(slot.typed or slot.said, "")
    wrong = "{{" in opening or "{%" in opening or "Undefined" in opening
    return "an opening with an open place" if wrong or not task.opening.strip() else None


@report_unreadable
def every_slot_can_be_learnt(task: Task, catalog: Dataset[Product]) -> str | None:
    """Stated in the opening as it is written, or typed, brought up later in a journey, or told when asked by its name.

    No two have one name.
    """
    goal = parse_task_goal(task)
    names = [slot.name for slot in task.slots]
    if len(set(names)) < len(names):
        return "two slots of one name"
    heard = " ".join(task.opening.split()).lower()
    later = " ".join(getattr(goal, "later", "").split()).lower()
    for slot in task.slots:
        said = " ".join(slot.said.split()).rstrip(".").lower()
        if not said:
            return "a slot without words"
        typed = " ".join(slot.typed.split()).rstrip(".").lower()
        if slot.known == "stated" and (typed or said) not in heard:
            return "a slot that is stated is not in the opening"
        if slot.known == "asked" and said not in later:
            answer = UserSimulator(task.slots, seed=task.id).answer(f"What about the {slot.name}?")
            if said not in " ".join(answer.split()).lower():
                return "a slot that is not told when asked"
    return None


@report_unreadable
def words_are_read_back(task: Task, catalog: Dataset[Product]) -> str | None:
    """By a reader that shares nothing with the writer: the opening says what is stated and nothing else, an answer what is asked for."""
    return find_misread_words(task, catalog)


@report_unreadable
def everything_named_exists(task: Task, catalog: Dataset[Product]) -> str | None:
    """Products, variants, orders and the customer of goal, certificate and nearest miss."""
    store = load_world_beside(catalog).store
    goal = json.loads(parse_task_goal(task).model_dump_json())
    for text in (parse_task_certificate(task).model_dump(), parse_task_miss(task).model_dump(), goal):
        for kind, id in find_ids(text):
            if kind == "product" and store.row(id) is None:
                return "an unknown product"
            if kind == "variant" and store.option_of(id) is None:
                return "an unknown variant"
    if task.persona_id not in store.place_of_customer and task.persona_id not in (VISITOR, NOBODY):
        return "an unknown customer"
    return None


def earns_everything(reward: Reward) -> bool:
    """Success, the whole of the task's part, and nothing made up; turns it may take."""
    return reward.success and reward.task == 1 and reward.hallucination == 0


# Of an episode


def task_is_there(episode: EnvEpisode, env_tasks: Dataset[Task]) -> str | None:
    task = env_tasks.once(RecordCache).of(episode.task_id)
    if task is None:
        return "an unknown task"
    same = (task.env, task.difficulty, task.opening) == (episode.env, episode.difficulty, episode.opening)
    return None if same else "its task is another one"


@report_unreadable
def actions_bring_it_about(episode: EnvEpisode, env_tasks: Dataset[Task], catalog: Dataset[Product]) -> str | None:
    """Played again from its actions alone: the same results, words, acts and reward.

    Where a model put the shopper's words, they may be others that say the same.
    """
    task = env_tasks.once(RecordCache).of(episode.task_id)
    if task is None:
        return None  # said by another check
    again = episode_of(task, catalog, calls=episode.policy == EXPERT)
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


def expert_uses_what_it_saw(episode: EnvEpisode) -> str | None:
    """Whether it succeeded or not: every id, name, day, limit and word of a search stands in a text before it, or follows by a sum that it names."""
    if episode.policy != EXPERT:
        return None
    unseen = find_usage(episode.opening, episode.turns).unseen
    return f"it uses what it has not seen: {unseen[0]}"[:LONGEST] if unseen else None


def says_the_same(words: str, plain: str, shopper: UserSimulator) -> bool:
    if words == plain:
        return True
    heard: SimulatorReply | None = shopper.said[-1] if shopper.said else None
    hidden = [slot.said for place, slot in enumerate(shopper.slots) if place not in shopper.told]
    return heard is not None and heard.text == plain and find_rephrasing_fault(words, heard, hidden) is None


# Certificates


def episode_of(task: Task, catalog: Dataset[Product], *, calls: bool = False) -> Episode:
    """calls: with one call a turn, as the expert plays."""
    at = scale_limits_to_calls(compute_axes(task.difficulty)) if calls else None
    return Episode(get_env(task.env), load_world_beside(catalog), task, at=at)


def list_right_ends(certificate: Certificate) -> Iterator[list[End]]:
    """Right end states, each a list: one for each part of a task with parts, else one alone. Of many that are alike some."""
    if isinstance(certificate, Parts):
        parts = [list(list_right_ends(each.certificate)) for each in certificate.parts]
        # Each right end of each part once, not each with each.
        for number in range(max(map(len, parts))):
            yield list(chain.from_iterable(own[number % len(own)] for own in parts))
    elif isinstance(certificate, Infeasible):
        proof = certificate.proof
        line = (proof.order_id, proof.line_id) if isinstance(proof, NotReturnable) else ("", "")
        answer = Answer(selected_order_id=line[0], selected_line_id=line[1], refusal=certificate.refusal)
        yield [End(answer=answer)]
    elif isinstance(certificate, OneOfEach):
        picked = certificate.right or [item.cheapest for item in certificate.items]
        yield [End(answer=Answer(recommended_product_ids=picked))]
        for each in certificate.sellers:
            for place in (0, -1):  # the first and the last product of each item
                yield [End(answer=Answer(recommended_product_ids=[ids[place] for ids in each.product_ids]))]
    else:
        for end in certificate.ends:
            yield from ([one] for one in pick_single_products(end))


def pick_single_products(end: End) -> Iterator[End]:
    """The end state with one product of those that are right: some of them, spread over all."""
    some = min(SOME, len(end.some_of))
    for number in range(some):
        yield end.model_copy(update={"some_of": [end.some_of[number * len(end.some_of) // some]]})
    if not some:
        yield end


def score_ends(episode: Episode, ends: list[End]) -> GoalScore:
    """What it earns to end so, set up without any tool."""
    shop = episode.env.shop(episode.world, episode.goal, episode.axes, episode.task.id)
    answers = []
    for end in ends:
        set_up_end(shop, end, episode.goal)
        some = {"recommended_product_ids": end.some_of} if end.some_of else {}
        answers.append(end.answer.model_copy(update=some))
    given = Answer(parts=answers) if isinstance(parse_task_certificate(episode.task), Parts) else answers[0]
    return episode.env.score(episode.goal, shop, given)


def set_up_end(shop: Shop, end: End, goal: Goal) -> None:
    """Cart, purchases, returns and what was sold out as the end state has them."""
    if end.after_sell_out and goal.event:
        shop.gone |= set(goal.event.variants)
    for held, lines in ((shop.cart, end.cart), (shop.bought, end.bought)):
        for line in lines:
            options = [option for id in line.variants if (option := shop.store.option_of(id))]
            stocked = [option for option in options if shop.stock(option) >= line.quantity]
            # Any of the variants is right: the first that can be had.
            for option in (stocked or options)[:1]:
                held[option.id] = line.quantity
    shop.returns += [each.model_dump() for each in end.returns]


def find_ids(value: Any, under: str = "") -> Iterable[tuple[str, str]]:
    """Every id in a JSON value, with what it is of; a goal within it is looked into."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from find_ids(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from find_ids(each, under)
    elif isinstance(value, str) and value:
        if under == "goal":
            yield from find_ids(json.loads(value))
        elif under in IDS:
            yield "product", value
        elif under in VARIANTS:
            yield "variant", value


IDS = {"product_id", "product_ids", "recommended_product_ids", "some_of", "cheapest", "sells_out", "products_sold_out"}
IDS |= {"right", "spare"}
VARIANTS = {"variant_id", "variants", "sold_out"}
