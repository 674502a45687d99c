"""What must be true of a question: its answer is proved by three engines, right, unique, resting on its evidence, not guessable.

A check gets the question and the trajectories, and asks the engines; they read the Parquet by a path of their own.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from pipeline.dataset import Dataset, row_groups
from pipeline.questions.answers import type_of
from pipeline.questions.engines import Engines, Failed, Table
from pipeline.questions.log import Log, names
from pipeline.questions.log import words_of as typed
from pipeline.questions.phrase import phrasings
from pipeline.questions.rating import alike, bag, difficulty, gives_away, position, split_of, words_of
from pipeline.questions.shapes import SHAPES
from pipeline.questions.sql import sql_of
from pipeline.questions.tree import Pick, from_json, picks_of, to_json
from pipeline.questions.values import Unfit, canonical
from pipeline.questions.values import from_json as value_of
from pipeline.questions.values import to_json as as_json
from pipeline.sandbox.sql import parsed, why_not
from pipeline.stage import Fault
from schemas.questions import Question
from schemas.samples import Trajectory

Trajectories = Dataset[Trajectory]
OF_A_SHAPE = 0.06
"""No shape is more of a release than this."""
GUESSED = 0.2
"""No answer is right for more than this share of a shape's questions."""
DAY = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d)|(?P<month>January|February|March|April|May|June|July|August|September|October|November|"
    r"December) (?P<day>\d{1,2}), (?P<year>\d{4})|(?P<day2>\d{1,2}) (?P<month2>January|February|March|April|May|June|July|"
    r"August|September|October|November|December) (?P<year2>\d{4})"
)
MONTHS = "January February March April May June July August September October November December".split()


def at_hand(question: Question, trajectories: Trajectories) -> Table | None:
    engines = trajectories.once(Engines)
    return engines.of(question.trajectory_id) if question.trajectory_id in engines else None


def meant(question: Question) -> Any:
    """The tree's answer type is the question's, but for an answer that is none. Raises ValueError where there is no tree."""
    return from_json(question.tree)


def sql_reads_only_events(question: Question) -> str | None:
    """It parses, is one query over `events` and calls nothing unknown."""
    return why_not(question.sql)


def trajectory_is_there(question: Question, trajectories: Trajectories) -> str | None:
    if question.trajectory_id not in trajectories.once(Engines):
        return "no such trajectory"
    return None if question.trajectory_id.endswith(f"-{question.budget}") else "not the budget of its trajectory"


def answer_is_duckdbs(question: Question, trajectories: Trajectories) -> str | None:
    return told_by(question, trajectories, "DuckDB", lambda table, kind: table.duckdb(question.sql, kind))


def answer_is_sqlites(question: Question, trajectories: Trajectories) -> str | None:
    """The same query, transpiled, in another engine."""
    return told_by(question, trajectories, "SQLite", lambda table, kind: table.sqlite_without(question.sql, kind))


def answer_is_plain_pythons(question: Question, trajectories: Trajectories) -> str | None:
    """The tree, evaluated without any SQL."""
    return told_by(question, trajectories, "plain Python", lambda table, _: table.told(question.tree).value)


def row_order_does_not_matter(question: Question, trajectories: Trajectories) -> str | None:
    """The same answer from the same rows in another order: no tie is left to chance.

    A query that neither cuts off nor looks at neighbours cannot tell one order from another, and is not run again. Where it
    is, DuckDB also plans it anew for speed, as it does for anyone else, while its first answer came from the query as written.
    """
    if why_not(question.sql) or not (question.answer_type == "ordered list" or minds_order(parsed(question.sql))):
        return None
    return told_by(
        question,
        trajectories,
        "DuckDB with rows in another order",
        lambda table, kind: table.duckdb(question.sql, kind, shuffled=True),
    )


def minds_order(expression: Any) -> bool:
    """Whether the answer of a query could depend on the order in which rows are read."""
    from sqlglot import exp

    free = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
    return any(
        isinstance(node, exp.Limit | exp.Fetch | exp.Offset | exp.Window | exp.Anonymous)
        or (isinstance(node, exp.Distinct) and node.args.get("on") is not None)
        or (isinstance(node, exp.AggFunc) and not isinstance(node, free))
        for node in expression.walk()
    )


def told_by(question: Question, trajectories: Trajectories, who: str, ask: Any) -> str | None:
    """Why this engine's answer is not the question's."""
    table = at_hand(question, trajectories)
    if table is None or why_not(question.sql):
        return None  # said by other checks
    try:
        kind = answer_type(question)
        found, expected = ask(table, kind), value_of(question.result, kind)
    except Failed as error:
        return str(error)
    except Unfit as error:
        return f"{who}: {re.sub(r'[0-9]+ rows', 'many rows', str(error))}"
    except ValueError as error:
        return f"{who} cannot answer: {type(error).__name__}"
    return None if found == expected else f"{who} gives another answer"


def answer_type(question: Question) -> str:
    """The type to read a result as: where the answer is none, the type that it would have had."""
    return type_of(meant(question)) if question.answer_type == "none" else question.answer_type


def evidence_decides(question: Question, trajectories: Trajectories) -> str | None:
    """The evidence is what the tree rests on; without these rows the answer is another."""
    table = at_hand(question, trajectories)
    if table is None or why_not(question.sql):
        return None
    try:
        kind = answer_type(question)
        found = table.told(question.tree)
        value = value_of(question.result, kind)
        if value in (None, 0):
            return "evidence for what is not there" if question.evidence else None
        if question.evidence != found.rows:
            return "evidence is not what the answer rests on"
        without = table.sqlite_without(question.sql, kind, question.evidence)
    except ValueError:
        return "evidence cannot be judged"
    return "the same answer without its evidence" if without == value else None


def unrelated_rows_do_not_matter(question: Question, trajectories: Trajectories) -> str | None:
    """Without all the rows that the question does not look at the answer is the same."""
    table = at_hand(question, trajectories)
    if table is None or why_not(question.sql):
        return None
    try:
        kind = answer_type(question)
        scope = table.told(question.tree).scope(table.log)
        if scope is None:
            return None  # it looks at all of them
        others = {each.row for each in table.log.events} - {each.row for each in scope}
        found = table.sqlite_without(question.sql, kind, others)
        return None if found == value_of(question.result, kind) else "another answer without unrelated rows"
    except ValueError:
        return "unrelated rows cannot be judged"


def question_says_its_tree(question: Question) -> str | None:
    """Shape, kind, wording and SQL are those of the tree."""
    shape = SHAPES.get(question.shape)
    if shape is None:
        return "no such shape"
    try:
        tree = meant(question)
    except ValueError:
        return "its tree cannot be read"
    if to_json(tree) != question.tree:
        return "its tree is not in normal form"
    if shape.kind != question.kind:
        return "not the kind of its shape"
    if question.sql != sql_of(tree):
        return "its SQL is not its tree's"
    if question.answer_type not in (type_of(tree), "none"):
        return "not the type of its tree's answer"
    return None if question.question in said(question.shape, tree) else "its wording is not its tree's"


def said(shape: str, tree: Any) -> list[str]:
    try:
        return phrasings(shape, tree)
    except Exception:  # noqa: BLE001 - a template fails in many ways on a tree that is not of its shape
        return []


def it_names_what_is_there(question: Question, trajectories: Trajectories) -> str | None:
    """Brands, colors, categories, searches and days are the trajectory's, a product's words mean exactly one of it.

    Unless the answer is none or zero: then it may name what is not there.
    """
    table = at_hand(question, trajectories)
    if table is None:
        return None
    try:
        tree = meant(question)
        if value_of(question.result, answer_type(question)) in (None, 0):
            return next((why for pick in picks_of(tree) if (why := ambiguous(pick, table.log))), None)
    except ValueError:
        return None  # said by other checks
    return next((why for pick in picks_of(tree) for why in not_there(pick, table.log)), None)


def ambiguous(pick: Pick, log: Log) -> str | None:
    if pick.product is None:
        return None
    count = len({each.asin for each in log.events if names(each, pick.product)})
    return "words that mean more than one product" if count > 1 else None


def not_there(pick: Pick, log: Log) -> Iterator[str]:
    columns = {"brand": pick.brand, "color": pick.color, "product_types": pick.category, "search_query": pick.query}
    for name, value in columns.items():
        if value is not None and not any(getattr(each, name) == value for each in log.events):
            yield f"names a {name.replace('product_types', 'category')} that is not in the trajectory"
    if pick.word is not None and not any(pick.word in typed(each.search_query) for each in log.events):
        yield "names a word that was never searched for"
    if pick.product is not None:
        if not any(names(each, pick.product) for each in log.events):
            yield "names a product that is not in the trajectory"
        elif why := ambiguous(pick, log):
            yield why
    first, last = log.events[0].day, log.events[-1].day
    if any(day is not None and not first <= day <= last for day in (pick.first_day, pick.last_day)):
        yield "names a day that is not in the trajectory"


def answer_is_not_in_the_question(question: Question) -> str | None:
    return "the answer stands in the question" if gives_away(question.question, question.answer) else None


def answer_is_canonical(question: Question) -> str | None:
    """`answer`, `answer_type` and `result` say the same, in the one form there is for it."""
    try:
        value = value_of(question.result, answer_type(question))
    except ValueError:
        return "its result is not of its type"
    if (value is None) != (question.answer_type == "none"):
        return "none is the type of no answer but none"
    same = canonical(value) == question.answer and as_json(value) == question.result
    return None if same else "answer and result differ"


def days_are_real(question: Question) -> str | None:
    """Every day that question and SQL name is in the calendar."""
    for found in DAY.finditer(f"{question.question} {question.sql}"):
        parts = found.groupdict()
        try:
            if parts["iso"]:
                date.fromisoformat(parts["iso"])
            else:
                month = MONTHS.index(parts["month"] or parts["month2"]) + 1
                date(int(parts["year"] or parts["year2"]), month, int(parts["day"] or parts["day2"]))
        except ValueError:
            return "a day that is not in the calendar"
    return None


def difficulty_and_position_are_measured(question: Question, trajectories: Trajectories) -> str | None:
    table = at_hand(question, trajectories)
    if table is None or why_not(question.sql):
        return None
    if question.difficulty != difficulty(parsed(question.sql), len(question.evidence)):
        return "not the difficulty of its query"
    return None if question.position == position(question.evidence, len(table.rows)) else "not where its evidence lies"


def split_is_its_trees(question: Question) -> str | None:
    """Each tree belongs to one split, so that no two splits can ask the same."""
    return None if question.split == split_of(question.tree) else "asked in a split that is not its tree's"


COLUMNS = ["id", "trajectory_id", "question", "sql", "answer", "shape", "split"]


def rows_of(questions: Dataset[Question]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Every row with the place where it stands."""
    for path in questions.files:
        first = 0
        for batch in row_groups(path, COLUMNS):
            for row, found in enumerate(batch.to_pylist()):
                yield str(path), first + row, found
            first += batch.num_rows


def questions_of_a_trajectory_differ(questions: Dataset[Question]) -> Iterable[Fault]:
    """No near-duplicates within a trajectory."""
    bags: dict[str, list[frozenset[str]]] = defaultdict(list)
    for file, row, found in rows_of(questions):
        mine = bag(found["question"])
        others = bags[found["trajectory_id"]]
        if any(alike(mine, other) for other in others):
            yield Fault(file, row, "near-duplicate of another question on the same trajectory")
        else:
            others.append(mine)


def splits_share_nothing(questions: Dataset[Question]) -> Iterable[Fault]:
    """No two splits share a customer, a query or a question; case, signs and little words make no difference."""
    owners: dict[tuple[str, Any], str] = {}
    for file, row, found in rows_of(questions):
        keys = {
            "a customer": found["trajectory_id"].rpartition("-")[0],
            "a query": found["sql"],
            "a question": " ".join(words_of(found["question"])),
        }
        for what, key in keys.items():
            if owners.setdefault((what, key), found["split"]) != found["split"]:
                yield Fault(file, row, f"two splits share {what}")


def no_shape_or_answer_is_too_common(questions: Dataset[Question]) -> Iterable[Fault]:
    """No shape is more than 6 % of all, and the commonest answer of a shape right for at most 20 % of its questions.

    One question of a shape, and one with an answer, is always allowed. What is over is taken from the end, until both hold.
    """
    rows = list(rows_of(questions))
    kept = list(range(len(rows)))
    while over := dict(too_many(kept, rows)):
        for number, reason in over.items():
            yield Fault(rows[number][0], rows[number][1], reason)
        kept = [number for number in kept if number not in over]


def too_many(kept: list[int], rows: list[tuple[str, int, dict[str, str]]]) -> Iterator[tuple[int, str]]:
    """The last rows of shapes, else of answers, that are too common among those kept."""
    by_shape: dict[str, list[int]] = defaultdict(list)
    for number in kept:
        by_shape[rows[number][2]["shape"]].append(number)
    for found in by_shape.values():
        for number in found[allowed(OF_A_SHAPE, len(kept) - len(found)) :]:
            yield number, "its shape is more than 6 % of all"
        by_answer: dict[str, list[int]] = defaultdict(list)
        for number in found:
            by_answer[rows[number][2]["answer"]].append(number)
        for same in by_answer.values():
            for number in same[allowed(GUESSED, len(found) - len(same)) :]:
                yield number, "the commonest answer of its shape: guessable"


def allowed(share: float, others: int) -> int:
    """So many may be alike beside so many others, so that they are at most this share of all; one always.

    >>> allowed(0.2, 8), allowed(0.2, 0)
    (2, 1)
    """
    return max(1, int(share * others / (1 - share) + 1e-9))
