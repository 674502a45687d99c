"""The conditions of a question, each left out in turn: one that can go and leave the answer as it is need not be read."""

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from shopwright.pipeline.questions import tree as t
from shopwright.pipeline.questions.answers import Undecided, answer_tree, list_distinct_event_values
from shopwright.pipeline.questions.engines import QueryFailed, Table
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.values import Unfit
from shopwright.pipeline.sandbox.sql import parse_select

# Fields of a pick that leave events out.
BESIDE_DAYS = (
    "brand", "color", "category", "product", "query", "word", "at_least", "at_most", "weekday", "hours", "ever", "never",
)  # fmt: skip
FLIPPED = {
    "cheapest": "dearest", "dearest": "cheapest", "smallest": "largest", "largest": "smallest", "longest": "shortest",
    "shortest": "longest",
}  # fmt: skip
# A figure between two roundings is no answer's.
UNDECIDED = object()
# The name of a condition, and the answer to the question that lacks it wherever it is said.
VariedAnswers = Iterator[tuple[str, Any]]


def idle_conditions(tree: Any, log: Log, value: Any) -> Iterator[str]:
    """The conditions without which the answer is the same value, each once."""
    seen: set[str] = set()
    for name, other in answers_without(tree, log, value):
        if other == value and name not in seen:
            seen.add(name)
            yield name


def answers_without(tree: Any, log: Log, value: Any) -> VariedAnswers:
    """Every condition left out, those first that are most often idle."""
    yield from vary_days(tree, log)
    yield from vary_words(tree, log)
    yield from vary_event_moments(tree, log)
    yield from vary_steps(tree, log)
    if isinstance(tree, t.Often) and value:  # of nothing there is not more either
        yield "strictness", answer_or_undecided(tree.model_copy(update={"n": tree.n + 1}), log)


def answer_or_undecided(tree: Any, log: Log) -> Any:
    try:
        return answer_tree(tree, log).value
    except Undecided:
        return UNDECIDED


def clear_pick_fields(*names: str) -> Callable[[t.Pick], t.Pick]:
    return lambda pick: pick.model_copy(update=dict.fromkeys(names))


def vary_days(tree: Any, log: Log) -> VariedAnswers:
    """Both bounds of the days together, and each alone; a single day is one condition."""
    picks = t.list_tree_picks(tree)
    bounds = []
    if any(pick.first_day is not None for pick in picks):
        bounds.append("first_day")
    if any(pick.last_day is not None for pick in picks):
        bounds.append("last_day")
    if len(bounds) == 2:
        yield "days", answer_or_undecided(t.map_tree_picks(tree, clear_pick_fields(*bounds)), log)
    if not any(pick.first_day is not None and pick.first_day == pick.last_day for pick in picks):
        for name in bounds:
            yield name, answer_or_undecided(t.map_tree_picks(tree, clear_pick_fields(name)), log)


def vary_words(tree: Any, log: Log) -> VariedAnswers:
    picks = t.list_tree_picks(tree)
    for name in BESIDE_DAYS:
        if any(getattr(pick, name) is not None for pick in picks):
            yield name, answer_or_undecided(t.map_tree_picks(tree, clear_pick_fields(name)), log)


def vary_event_moments(tree: Any, log: Log) -> VariedAnswers:
    """Another of the events that a moment could be, where there are several."""
    for name in ("start", "end", "moment"):
        moment = getattr(tree, name, None)
        if isinstance(moment, t.Moment) and (n := choose_other_event(moment.n, len(log.pick(moment.of)))):
            yield "n", answer_or_undecided(tree.model_copy(update={name: moment.model_copy(update={"n": n})}), log)


def choose_other_event(n: int, events: int) -> int | None:
    """Which event it is without the word: the first for the third, the last for the first; none where there is but one.

    >>> choose_other_event(3, 3), choose_other_event(-2, 2), choose_other_event(1, 2), choose_other_event(1, 1)
    (1, -1, -1, None)
    """
    if abs(n) > 1:
        return 1 if n > 0 else -1
    return -n if events > 1 else None


def vary_steps(tree: Any, log: Log) -> VariedAnswers:
    """What a question says beside its picks: different ones, which of them, how many at least, between what."""

    def changed(**fields: Any) -> Any:
        return answer_or_undecided(tree.model_copy(update=fields), log)

    match tree:
        case t.Count(what=str(what)):
            yield "distinct", sum(getattr(each, what) is not None for each in log.pick(tree.of))
        case t.Amid():
            yield from vary_between_moments(tree, log)
        case t.Beside():
            yield (
                "moment",
                answer_or_undecided(t.Nth(of=tree.of, n=1 if tree.side == "after" else -1, what=tree.what), log),
            )
        case t.Nth():
            if n := choose_other_event(tree.n, len(log.pick(tree.of))):
                yield "n", changed(n=n)
        case t.Listed():
            yield "n", changed(n=len(log.events))
        case t.SumOf():
            yield "n", answer_or_undecided(t.Fold(of=tree.of, how="sum"), log)
        case t.Top():
            groups = changed(rank=1, k=len(log.events) + 1) or []
            yield "most", groups if tree.k > 1 else groups[0] if len(groups) == 1 else UNDECIDED
            if tree.rank > 1:
                yield "rank", changed(rank=1)
        case t.Extreme() | t.Fold() | t.Journey():
            if tree.how in FLIPPED:
                yield "most", changed(how=FLIPPED[tree.how])
        case t.Share(what="asin"):
            yield "distinct", changed(what="events")
        case t.Often():
            yield "n", changed(n=1)
            if tree.days:
                yield "different days", changed(days=False)
        case t.Sets(how="minus"):
            one = t.Count(of=tree.of, what=tree.what) if tree.counted else t.Names(of=tree.of, what=tree.what)
            yield "never", answer_or_undecided(one, log)
        case t.Directly():
            yield "directly", answer_or_undecided(t.Count(of=tree.of), log)
        case t.Running():
            yield "amount", changed(amount=Decimal(0))


def vary_between_moments(tree: t.Amid, log: Log) -> VariedAnswers:
    """Without the one moment, without the other, with both moments themselves, and with every event instead of different ones."""
    start, end = log.moment(tree.start), log.moment(tree.end)
    if start is None or end is None:
        return
    events = log.pick(tree.of)

    def between(first: datetime, last: datetime) -> int:
        inside = [each for each in events if first <= each.timestamp <= last]
        return len(list_distinct_event_values(inside, tree.what)) if tree.what else len(inside)

    yield "start", between(events[0].timestamp, end.timestamp) if events else 0
    yield "end", between(start.timestamp, events[-1].timestamp) if events else 0
    if tree.what:
        yield "strictness", between(start.timestamp, end.timestamp)
        yield "distinct", answer_or_undecided(tree.model_copy(update={"what": None}), log)


def idle_in_sql(table: Table, sql: str, answer_type: str) -> list[str]:
    """The conditions of a query, as SQL, that can each be left out: for a question that has no tree. Raises QueryFailed, Unfit.

    What says which events are meant (`action_type`) or that something is there (`brand IS NOT NULL`) is no condition here.
    """
    value = table.sqlite_without(sql, answer_type)
    return sorted(
        {part for part, other in queries_without(sql) if query_still_answers(table, other, answer_type, value)}
    )


def queries_without(sql: str) -> Iterator[tuple[str, str]]:
    """Each condition of every WHERE and HAVING, and the query in which it is true of all."""
    from sqlglot import exp

    query = parse_select(sql).copy()
    for clause in list(query.find_all(exp.Where, exp.Having)):
        parts = list(clause.this.flatten()) if isinstance(clause.this, exp.And) else [clause.this]
        for part in parts:
            inner = part.this if isinstance(part, exp.Not) else part
            names = {column.name.lower() for column in part.find_all(exp.Column)}
            if isinstance(inner, exp.Is) or "action_type" in names:
                continue
            true = exp.true()
            part.replace(true)
            yield part.sql(dialect="duckdb"), query.sql(dialect="duckdb")
            true.replace(part)


def query_still_answers(table: Table, sql: str, answer_type: str, value: Any) -> bool:
    try:
        return bool(table.sqlite_without(sql, answer_type) == value)
    except (QueryFailed, Unfit):
        return False
