"""Cheap predictors of what shoppers do next, learnt from training sessions in seconds: what a model has to be better than.

`markov` knows the classes of the last two actions; `overlap` takes, of the class that they suggest, the element whose text shares most words with
what was typed last; `linear` is a softmax regression on features of everything that can be done on a page. The same sessions give the
same predictions.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import Any

import numpy as np

from shopwright.pipeline.rewards.hierarchical import Action, ActionType, parse_true_action
from shopwright.pipeline.words import content_words

# An element with a name, and what of a page belongs to it: the rest of its line, up to the next one.
ELEMENT = re.compile(r'<(?:a|button)\b[^<>]*?\sname="(?P<name>[^"]+)"[^<>]*>(?P<text>.*?)(?=</?li>|<(?:a|button|input)\b|</div>)', re.DOTALL)  # fmt: skip
TAG = re.compile(r"<[^<>]*>")
PRICE = re.compile(r"\$(\d+(?:\.\d\d)?)")
RATING = re.compile(r"Rating: (\d\.\d) \((\d+)")
PREDICTORS = ("markov", "overlap", "linear")
PRODUCT = ".view_product"
TYPING: ActionType = "type_and_submit"
LEAVING: ActionType = "terminate"
# Names of which each page has its own: only the first part says what they are.
OWN_NAMES = ("options", "refinements")
# Of the regression: rounds over all steps, the first step's size, and what keeps weights small.
ROUNDS, RATE, RIDGE = 150, 0.3, 1e-4
# Steps of a session that are told apart by number.
LONG = 8


@dataclass(frozen=True)
class Choice:
    """Something that can be done on a page."""

    action: Action
    text: str = ""
    """That stands beside it."""

    @cached_property
    def kind(self) -> str:
        """The class of the action: the same for all products, or all options."""
        name = self.action.name
        if self.action.type != "click":
            return self.action.type
        if name.endswith(PRODUCT):
            return PRODUCT
        first = name.partition(".")[0]
        return first if first in OWN_NAMES else re.sub(r"\d+", "#", name)


@dataclass(frozen=True)
class Moment:
    """What somebody has before their eyes who decides what to do next."""

    choices: tuple[Choice, ...]
    past: tuple[Choice, ...]
    """What was done before in this session."""
    query: str
    """What was typed last."""

    @property
    def last(self) -> tuple[str, str]:
        """The classes of the last two actions."""
        kinds = ["start", "start", *(each.kind for each in self.past)]
        return kinds[-2], kinds[-1]

    def first_of(self, kind: str) -> Choice | None:
        """The first of a class that was not done before, or else the first."""
        found = [each for each in self.choices if each.kind == kind]
        done = {each.action.name for each in self.past}
        return next((each for each in found if each.action.name not in done), found[0] if found else None)


def read_moments(session: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Moment, Action]]:
    """Of a session's steps but the first: what could be done, and what was done."""
    past: list[Choice] = []
    query = box = ""
    for each in session:
        action = parse_true_action(each["action"])
        choices = list_choices(each["html"], Action(TYPING, box or "search_input", query))
        if past:  # nobody is asked for the first move
            yield Moment(choices, tuple(past), query), action
        past.append(next((one for one in choices if one.action == action), Choice(action)))
        if action.type == TYPING:
            query, box = action.text, action.name


def list_choices(html: str, typing: Action) -> tuple[Choice, ...]:
    """All that can be done on a page; what is typed is as before.

    >>> page = '<ul><li><a name="oak.view_product">B01</a><span>Oak lamp</span><span>$20.00</span></li></ul>'
    >>> [(each.kind, each.text) for each in list_choices(page, Action("type_and_submit", "search_input", "lamp"))]
    [('.view_product', 'B01 Oak lamp $20.00'), ('type_and_submit', ''), ('terminate', '')]
    """
    found = [
        Choice(Action("click", unescape(each["name"])), " ".join(unescape(TAG.sub(" ", each["text"])).split()))
        for each in ELEMENT.finditer(html)
    ]
    return (*found, Choice(typing), Choice(Action(LEAVING)))


# Learning

Examples = Sequence[tuple[Moment, Action]]
Predictor = Callable[[Moment], Action]


def learn_predictors(examples: Examples) -> dict[str, Predictor]:
    """By name, from steps of training sessions."""
    markov = learn_markov(examples)
    return dict(zip(PREDICTORS, (markov, prefer_common_words(markov), learn_linear(examples)), strict=True))


def learn_markov(examples: Examples, order: int = 2) -> Predictor:
    """The class that most often follows the last ones, of those that are on the page, and its first element."""
    follows: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for moment, action in examples:
        for length in range(order + 1):
            follows[moment.last[2 - length :]][Choice(action).kind] += 1

    def predict(moment: Moment) -> Action:
        there = {each.kind for each in moment.choices}
        for length in range(order, -1, -1):
            counts = follows[moment.last[2 - length :]]
            for kind in sorted(counts, key=lambda kind: (-counts[kind], kind)):
                if kind in there and (found := moment.first_of(kind)):
                    return found.action
        return Action(LEAVING)

    return predict


def prefer_common_words(classes: Predictor) -> Predictor:
    """Of the class of another's prediction the element that shares most words with what was typed last, and was not opened before."""

    def predict(moment: Moment) -> Action:
        kind = Choice(classes(moment)).kind
        wanted, done = set(content_words(moment.query)), {each.action.name for each in moment.past}
        like = [each for each in moment.choices if each.kind == kind]
        fresh = [each for each in like if each.action.name not in done] or like
        return max(fresh, key=lambda each: len(wanted & set(content_words(each.text)))).action

    return predict


def learn_linear(examples: Examples) -> Predictor:
    """Softmax regression over all that can be done, by gradient descent with a step of its own for each weight (Adagrad)."""
    places: dict[str, int] = {}
    of_choice, of_feature, owners, right = list[int](), list[int](), list[int](), list[int]()
    for step, (moment, action) in enumerate(examples):
        matching = [each.action == action or (each.kind == action.type == TYPING) for each in moment.choices]
        if not any(matching):
            continue  # what was clicked has no name that is read
        right.append(len(owners) + matching.index(True))
        for features in list_features(moment):
            of_feature += [places.setdefault(each, len(places)) for each in features]
            of_choice += [len(owners)] * len(features)
            owners.append(step)
    weights = fit_softmax(*map(np.array, (of_choice, of_feature, owners, right)), size=len(places))
    known = dict(zip(places, weights.tolist(), strict=True))

    def predict(moment: Moment) -> Action:
        scores = [sum(known.get(each, 0.0) for each in features) for features in list_features(moment)]
        return moment.choices[scores.index(max(scores))].action

    return predict


def fit_softmax(
    of_choice: np.ndarray, of_feature: np.ndarray, owners: np.ndarray, right: np.ndarray, *, size: int
) -> np.ndarray:
    """Weights of features. of_choice, of_feature: each feature of each choice; owners: the step of each choice; right: what was chosen."""
    weights, squares = np.zeros(size), np.full(size, 1e-8)
    if not len(right):
        return weights
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    lengths = np.diff(np.append(starts, len(owners)))
    chosen = np.zeros(len(owners))
    chosen[right] = 1
    for _ in range(ROUNDS):
        scores = np.bincount(of_choice, weights[of_feature], minlength=len(owners))
        scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), lengths))
        chances = scores / np.repeat(np.add.reduceat(scores, starts), lengths)
        slope = np.bincount(of_feature, (chances - chosen)[of_choice], minlength=size) / len(right) + RIDGE * weights
        squares += slope**2
        weights -= RATE * slope / np.sqrt(squares)
    return weights


def list_features(moment: Moment) -> Iterator[list[str]]:
    """Of each choice: its class beside what was done last and what else is there, and among its likes how it stands out."""
    kinds = Counter(each.kind for each in moment.choices)
    page = "product" if kinds["cart.add_to_cart"] else "results" if kinds[PRODUCT] else "other"
    before, last = moment.last
    done = Counter(each.action.name for each in moment.past)
    wanted = set(content_words(moment.query))
    number = min(len(moment.past), LONG)
    looks = sum(each.kind == PRODUCT for each in moment.past)
    axes = {each.action.name.rpartition(".")[0] for each in moment.past if each.kind == "options"}
    ranks = rank_by_numbers(moment.choices)
    seen: Counter[str] = Counter()
    fresh: Counter[str] = Counter()
    for place, each in enumerate(moment.choices):
        kind, name = each.kind, each.action.name
        found = [kind, f"{page} {kind}", f"{last} {kind}", f"{before} {last} {kind}", f"step {number} {kind}"]
        found += [f"{page} looks {min(looks, LONG)} {kind}", f"{kind} done {min(done[name], 2)}"]
        if kind in (PRODUCT, *OWN_NAMES):
            found.append(f"{kind} place {seen[kind]}")
            found.append(f"{kind} fresh {fresh[kind]}" if not done[name] else f"{kind} stale")
            found.append(f"{kind} words {len(wanted & set(content_words(each.text)))} of {min(len(wanted), 5)}")
            found += [f"{kind} {which} {rank}" for which, rank in ranks.get(place, ())]
        if kind == "options":
            found.append(f"options axis {name.rpartition('.')[0] in axes}")
        seen[kind] += 1
        fresh[kind] += not done[name]
        yield found


def rank_by_numbers(choices: Sequence[Choice]) -> dict[int, list[tuple[str, int]]]:
    """The places of each product among those of its page by price, rating and reviews, up to the third."""
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    numbers: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for place, each in enumerate(choices):
        price, rating = PRICE.search(each.text), RATING.search(each.text)
        if each.kind == PRODUCT and price:
            numbers["cheap"].append((float(price[1]), place))
        if each.kind == PRODUCT and rating:
            numbers["rating"].append((-float(rating[1]), place))
            numbers["reviews"].append((-float(rating[2]), place))
    for which, values in numbers.items():
        for rank, (_, place) in enumerate(sorted(values)[:3]):
            found[place].append((which, rank))
    return found
