"""Figures of what can be foreseen: the next type of action by Markov models, the next search by simple guesses."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from shopwright.pipeline.evaluate.realism.figures import Figure
from shopwright.pipeline.evaluate.realism.kinds import find_title_kind
from shopwright.pipeline.evaluate.realism.logs import ACTIONS, CLICK, SEARCH, Logs, split_customers
from shopwright.pipeline.evaluate.realism.searching import share_by_customer

FOLDS = 5
ORDERS = (1, 2, 3)
GUESSES = (
    "the last search again",
    "what others typed after it",
    "the customer's most frequent one",
    "what was clicked last",
)


def measure_predicting(logs: Logs) -> Iterator[Figure]:
    """Both. Where there are fewer customers than folds, each is left out once."""
    if len(logs.names) < 2:
        yield from (Figure(key=key, value=None, note="needs two customers") for key in ("next_type", "next_text"))
        return
    yield measure_types(logs)
    yield measure_texts(logs)


def measure_types(logs: Logs) -> Figure:
    owners = logs.owners
    found = {order: guess_types(logs, owners, order) for order in ORDERS}
    inside = np.diff(owners, prepend=-1) == 0
    rates = {order: float(right[inside].mean()) for order, right in found.items() if inside.any()}
    if not rates:
        return Figure(key="next_type", value=None, note="no customer has two actions")
    best = max(rates, key=lambda order: rates[order])
    figure = share_by_customer("next_type", logs, owners[inside], found[best][inside], "")
    usual = np.bincount(logs.actions[inside]).max() / inside.sum()
    said = ", ".join(f"order {order}: {100 * rate:.1f} %" for order, rate in rates.items())
    return figure.model_copy(update={"note": f"{said}; always the commonest: {100 * usual:.1f} %"})


def guess_types(logs: Logs, owners: np.ndarray, order: int) -> np.ndarray:
    """Which actions a model of this order guesses; what was before a log's first action counts as a type of its own."""
    kinds = len(ACTIONS)
    # The types before an action as one number, a digit for each.
    context = np.zeros(len(logs), dtype=np.int64)
    for back in range(1, order + 1):
        before = np.roll(logs.actions, back)
        before[np.roll(owners, back) != owners] = kinds
        before[:back] = kinds  # what was rolled round from the end
        context = context * (kinds + 1) + before
    fold = owners % min(FOLDS, len(logs.names))
    right = np.zeros(len(logs), dtype=bool)
    size = (kinds + 1) ** order
    for number in range(int(fold.max()) + 1):
        test = fold == number
        counts = np.bincount(context[~test] * kinds + logs.actions[~test], minlength=size * kinds).reshape(size, kinds)
        guess = np.where(counts.any(axis=1), counts.argmax(axis=1), counts.sum(axis=0).argmax())
        right[test] = guess[context[test]] == logs.actions[test]
    return right


def measure_texts(logs: Logs) -> Figure:
    """The best of the four guesses; each search but a customer's first is asked."""
    number: dict[str, int] = {}
    same = np.array(
        [number.setdefault(" ".join(text.lower().split()), len(number)) for text in logs.query_texts] + [-1]
    )
    # The last is for actions that are no search.
    asked = same[logs.queries]
    said = [number.get(find_title_kind(title), -1) for title in logs.titles]
    folds = min(FOLDS, len(logs.names))
    after = [find_usual_next(logs, asked, folds, fold) for fold in range(folds)]
    owners, right = list[int](), [list[bool]() for _ in GUESSES]
    for customer, rows in enumerate(split_customers(logs)):
        own: Counter[int] = Counter()
        last, usual, clicked = -1, -1, -1
        for action, query, product in zip(
            logs.actions[rows].tolist(), asked[rows].tolist(), logs.products[rows].tolist(), strict=True
        ):
            if action == CLICK:
                clicked = said[product]
            if action != SEARCH:
                continue
            if last >= 0:
                owners.append(customer)
                for hits, guess in zip(
                    right, (last, after[customer % folds].get(last, -1), usual, clicked), strict=True
                ):
                    hits.append(guess == query)
            own[query] += 1
            usual = query if own[query] >= own[usual] else usual
            last = query
    if not owners:
        return Figure(key="next_text", value=None, note="no customer typed twice")
    rates = [np.array(hits) for hits in right]
    best = max(range(len(GUESSES)), key=lambda place: rates[place].mean())
    figure = share_by_customer("next_text", logs, np.array(owners), rates[best], "")
    told = "; ".join(f"{name}: {100 * each.mean():.1f} %" for name, each in zip(GUESSES, rates, strict=True))
    return figure.model_copy(update={"note": told})


def find_usual_next(logs: Logs, asked: np.ndarray, folds: int, left_out: int) -> dict[int, int]:
    """After each search the one that customers outside a fold typed most often next."""
    searches = logs.find(SEARCH)
    owners = logs.owners[searches]
    texts = asked[searches]
    follow = (np.diff(owners) == 0) & (owners[1:] % folds != left_out)
    size = len(logs.query_texts) + 1
    pairs, counts = np.unique(texts[:-1][follow] * size + texts[1:][follow], return_counts=True)
    before, then = pairs // size, pairs % size
    best = np.lexsort((then, -counts, before))
    first = best[np.flatnonzero(np.diff(before[best], prepend=-1))]
    return dict(zip(before[first].tolist(), then[first].tolist(), strict=True))
