"""What must be true of a question: its answer is proved by three engines, right, unique, resting on its evidence, not guessable.

A check gets the question and the trajectories, and asks the engines; they read the Parquet by a path of their own. A question
that a model wrote has no tree: where code's questions are held against theirs it keeps to rules of its own, and the third
engine is a second answering.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from pipeline.dataset import Dataset, row_groups
from pipeline.questions.answers import type_of
from pipeline.questions.asked import ABOUT, KINDS
from pipeline.questions.engines import Engines, Failed, Table
from pipeline.questions.evidence import evidence_of, touched
from pipeline.questions.log import Log, names
from pipeline.questions.log import words_of as typed
from pipeline.questions.phrase import phrasings
from pipeline.questions.rating import alike, bag, difficulty, gives_away, position, split_of, words_of
from pipeline.questions.shapes import SHAPES
from pipeline.questions.sql import sql_of
from pipeline.questions.tree import Pick, from_json, picks_of, to_json
from pipeline.questions.values import SETS, Unfit, canonical
from pipeline.questions.values import from_json as value_of
from pipeline.questions.values import to_json as as_json
from pipeline.rollouts.policies import sandboxed
from pipeline.sandbox.sql import parsed, why_not
from pipeline.stage import Fault
from schemas.questions import WRITTEN, Question, Split
from schemas.samples import Trajectory

Trajectories = Dataset[Trajectory]
BY_SPLIT: tuple[tuple[Split, float], ...] = (("sft", 0.3), ("rl", 0.9), ("test", 1.0))
"""Up to which part of the customers, as `place` spreads them."""
GOLDEN = 0.6180339887498949
OF_A_SHAPE = 0.06
"""No shape is more of a release than this."""
GUESSED = 0.2
"""No answer is right for more than this share of a shape's questions; of a kind's, where models wrote them."""
MOST_NAMES = 8
"""Values in a set or list that a model asks for, so that it can be said."""
LONGEST = 500
"""Characters of a question that a model wrote."""
TEXTS = ("asin", "product_name", "brand", "color", "product_types", "search_query")
DAY = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d)|(?P<month>January|February|March|April|May|June|July|August|September|October|November|"
    r"December) (?P<day>\d{1,2}), (?P<year>\d{4})|(?P<day2>\d{1,2}) (?P<month2>January|February|March|April|May|June|July|"
    r"August|September|October|November|December) (?P<year2>\d{4})"
)
MONTHS = "January February March April May June July August September October November December".split()


TOO_MUCH = re.compile(r"\[stopped: |out ?of ?memory|MemoryError|interrupted", re.IGNORECASE)
"""How the sandbox says that a query was ended; any other fault the engines tell themselves."""


@dataclass(frozen=True)
class Roster:
    """Which customer each trajectory is of, and so which split it is in."""

    ids: list[str]
    budgets: list[str]
    splits: list[Split]


def roster(trajectories: Trajectories) -> Roster:
    table = trajectories.table(["id", "persona_id", "budget"])
    people = table["persona_id"].to_pylist()
    numbers = {person: number for number, person in enumerate(dict.fromkeys(people))}
    splits = [split_of_customer(numbers[person]) for person in people]
    return Roster(table["id"].to_pylist(), table["budget"].to_pylist(), splits)


def splits(trajectories: Trajectories) -> dict[str, Split]:
    """The split of each trajectory."""
    found = trajectories.once(roster)
    return dict(zip(found.ids, found.splits, strict=True))


def split_of_customer(number: int) -> Split:
    """Any run of customers is divided 30 : 60 : 10, as nearly as it can be.

    >>> [split_of_customer(number) for number in range(5)]
    ['rl', 'sft', 'rl', 'rl', 'test']
    """
    place = (number * GOLDEN + 0.5) % 1
    return next(split for split, upto in BY_SPLIT if place < upto)


def is_written(question: Question) -> bool:
    """Whether a model wrote it: it claims neither a tree nor a shape that has one."""
    return question.shape == WRITTEN and not question.tree


def at_hand(question: Question, trajectories: Trajectories) -> Table | None:
    if question.trajectory_id not in trajectories.once(Engines):
        return None
    return guarded(question.trajectory_id, trajectories) if is_written(question) else engines_of(question, trajectories)


def engines_of(question: Question, trajectories: Trajectories) -> Table:
    table = trajectories.once(Engines).of(question.trajectory_id)
    table.guard = None
    return table


def guarded(id: str, trajectories: Trajectories) -> Table:
    """A trajectory's events in engines that run a query only after it has run in the sandbox: a model wrote it, and what one
    function call takes is bounded there alone."""
    table = trajectories.once(Engines).of(id)
    sandbox = trajectories.once(sandboxed)

    def why(sql: str) -> str | None:
        output = sandbox.run(id, f"```sql\n{sql}\n```")
        return None if output.ok or not TOO_MUCH.search(output.text) else "it takes more than a query may"

    table.guard = why
    return table


def meant(question: Question) -> Any:
    """The tree's answer type is the question's, but for an answer that is none. Raises ValueError where there is no tree."""
    return from_json(question.tree)


def sql_reads_only_events(question: Question) -> str | None:
    """It parses, is one query over `events` and calls nothing unknown; and so does a second one."""
    return why_not(question.sql) or (why_not(question.second_sql) if question.second_sql else None)


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
    if is_written(question):
        return None
    return told_by(question, trajectories, "plain Python", lambda table, _: table.told(question.tree).value)


def a_second_answering_agrees(question: Question, trajectories: Trajectories) -> str | None:
    """Who saw a written question alone, and not its query, came to the same answer, in DuckDB as in SQLite."""
    if not is_written(question):
        return "a second query beside a tree" if question.second_sql else None
    if not question.second_sql:
        return "no second answering"
    second = question.model_copy(update={"sql": question.second_sql})
    return (
        told_by(second, trajectories, "the second answering", lambda table, kind: table.duckdb(second.sql, kind))
        or told_by(
            second,
            trajectories,
            "the second answering in SQLite",
            lambda table, kind: table.sqlite_without(second.sql, kind),
        )
        or in_another_order(second, trajectories, "the second answering with rows in another order")
    )


def row_order_does_not_matter(question: Question, trajectories: Trajectories) -> str | None:
    """The same answer from the same rows in another order: no tie is left to chance.

    A query that neither cuts off nor looks at neighbours cannot tell one order from another, and is not run again. Where it
    is, DuckDB also plans it anew for speed, as it does for anyone else, while its first answer came from the query as written.
    """
    return in_another_order(question, trajectories, "DuckDB with rows in another order")


def in_another_order(question: Question, trajectories: Trajectories, who: str) -> str | None:
    if why_not(question.sql) or not (question.answer_type == "ordered list" or minds_order(parsed(question.sql))):
        return None
    return told_by(question, trajectories, who, lambda table, kind: table.duckdb(question.sql, kind, shuffled=True))


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
    """The type to read a result as: where the answer is none, the type that it would have had, or any if that is not told."""
    if question.answer_type != "none":
        return question.answer_type
    return "text" if is_written(question) else type_of(meant(question))


def evidence_decides(question: Question, trajectories: Trajectories) -> str | None:
    """The evidence is what the tree rests on, or a written query; without these rows the answer is another."""
    table = at_hand(question, trajectories)
    if table is None or why_not(question.sql):
        return None
    try:
        kind = answer_type(question)
        rows = None if is_written(question) else table.told(question.tree).rows
        value = value_of(question.result, kind)
        if value in (None, 0):
            return "evidence for what is not there" if question.evidence else None
        if question.evidence != (evidence_of(table, question.sql, kind) if rows is None else rows):
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
        scope = scope_of(question, table)
        if scope is None:
            return None  # it looks at all of them
        others = {each.row for each in table.log.events} - scope
        found = table.sqlite_without(question.sql, kind, others)
        return None if found == value_of(question.result, kind) else "another answer without unrelated rows"
    except ValueError:
        return "unrelated rows cannot be judged"


def scope_of(question: Question, table: Table) -> set[int] | None:
    if is_written(question):
        return {*touched(table, question.sql)}
    found = table.told(question.tree).scope(table.log)
    return None if found is None else {each.row for each in found}


def question_says_its_tree(question: Question) -> str | None:
    """Shape, kind, wording and SQL are those of the tree; one without a tree keeps to the rules for those."""
    if is_written(question):
        return wrongly_written(question)
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


def wrongly_written(question: Question) -> str | None:
    """What is wrong with a written question in itself: wording, kind, query, answer."""
    if not question.question or "\n" in question.question or len(question.question) > LONGEST:
        return f"a question that is not one line of at most {LONGEST} characters"
    if why_not(question.sql):
        return None  # said by another check
    query = parsed(question.sql)
    if not looks_at(query).intersection(ABOUT[question.kind]):
        return f"its query looks at none of {', '.join(ABOUT[question.kind])}: not of the kind {question.kind}"
    if not asks(query):
        return "its query tells the answer and does not ask"
    if question.answer_type == "yes/no":
        return "a question of yes or no: guessable"
    try:
        value = value_of(question.result, answer_type(question))
    except ValueError:
        return None  # said by another check
    if isinstance(value, Decimal) and not -2 <= int(value.as_tuple().exponent) <= 0:
        return "a figure that is not rounded to two decimals at most"
    if question.answer_type in SETS and value is not None:
        if len(value) > MOST_NAMES:
            return f"an answer of more than {MOST_NAMES} values"
        if "None" in value:
            return "an answer in which a value is NULL"
    return None


def looks_at(query: Any) -> set[str]:
    """The columns and texts that a query names."""
    from sqlglot import exp

    texts = {each.name for each in query.find_all(exp.Literal) if each.is_string}
    return texts | {each.name.lower() for each in query.find_all(exp.Column)}


def asks(query: Any) -> bool:
    """Whether what it selects comes from the events, and is not written into it."""
    from sqlglot import exp

    select = query.find(exp.Select)
    live = (exp.Column, exp.AggFunc, exp.Star, exp.Query)
    return select is not None and all(each.find(*live) for each in select.expressions)


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
        if is_written(question):
            return in_words_not_there(question, table.log)
        tree = meant(question)
        if value_of(question.result, answer_type(question)) in (None, 0):
            return next((why for pick in picks_of(tree) if (why := ambiguous(pick, table.log))), None)
    except ValueError:
        return None  # said by other checks
    return next((why for pick in picks_of(tree) for why in not_there(pick, table.log)), None)


def in_words_not_there(question: Question, log: Log) -> str | None:
    """What a written question or its query names, and the trajectory does not hold. Raises ValueError where that cannot be told."""
    if value_of(question.result, answer_type(question)) in (None, 0) or why_not(question.sql):
        return None
    for column, text, whole in texts_named(parsed(question.sql)):
        parts = [text] if whole else [part for part in re.split("[%_]", text) if part]
        values = ((getattr(each, column) or "").lower() for each in log.events)
        if not any(value == text if whole else all(part in value for part in parts) for value in values):
            return f"names a {column} that is not in the trajectory"
    first, last = log.events[0].day, log.events[-1].day
    days = (day_of(found) for found in DAY.finditer(question.question))
    return None if all(first <= day <= last for day in days) else "names a day that is not in the trajectory"


def texts_named(query: Any) -> Iterator[tuple[str, str, bool]]:
    """Column, text in lower case, and whether it is the whole value, wherever a query compares a column with a text."""
    from sqlglot import exp

    for node in query.find_all(exp.EQ, exp.In, exp.Like, exp.ILike):
        if isinstance(node.parent, exp.Not):
            continue  # what is left out need not be there
        columns = [each.name.lower() for each in node.this.find_all(exp.Column)]
        sides = node.expressions if isinstance(node, exp.In) else [node.expression]
        whole = isinstance(node, exp.EQ | exp.In)
        for text in (each.this for each in sides if isinstance(each, exp.Literal) and each.is_string):
            if len(columns) == 1 and columns[0] in TEXTS:
                yield columns[0], text.lower(), whole


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
    try:
        for found in DAY.finditer(f"{question.question} {question.sql} {question.second_sql}"):
            day_of(found)
    except ValueError:
        return "a day that is not in the calendar"
    return None


def day_of(found: re.Match[str]) -> date:
    """The day that `DAY` found. Raises ValueError for one that there is not."""
    parts = found.groupdict()
    if parts["iso"]:
        return date.fromisoformat(parts["iso"])
    month = MONTHS.index(parts["month"] or parts["month2"]) + 1
    return date(int(parts["year"] or parts["year2"]), month, int(parts["day"] or parts["day2"]))


def difficulty_and_position_are_measured(question: Question, trajectories: Trajectories) -> str | None:
    table = at_hand(question, trajectories)
    if table is None or why_not(question.sql):
        return None
    if question.difficulty != difficulty(parsed(question.sql), len(question.evidence)):
        return "not the difficulty of its query"
    return (
        None if question.position == position(question.evidence, len(table.events)) else "not where its evidence lies"
    )


def split_is_its_trees(question: Question, trajectories: Trajectories) -> str | None:
    """Each tree belongs to one split, so that no two splits can ask the same; what was written is in its customer's."""
    if is_written(question):
        known = trajectories.once(splits)
        its = known.get(question.trajectory_id, question.split)
        return None if question.split == its else "asked in a split that is not its customer's"
    return None if question.split == split_of(question.tree) else "asked in a split that is not its tree's"


COLUMNS = ["id", "trajectory_id", "question", "sql", "answer", "shape", "kind", "split"]


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
            "a query": normal(found["sql"]) if found["shape"] == WRITTEN else found["sql"],
            "a question": " ".join(words_of(found["question"])),
        }
        for what, key in keys.items():
            if owners.setdefault((what, key), found["split"]) != found["split"]:
                yield Fault(file, row, f"two splits share {what}")


def normal(sql: str) -> str:
    """The same text for queries that differ in case of keywords, spaces, brackets and comments alone."""
    try:
        return str(parsed(sql).sql(dialect="duckdb", normalize=True, comments=False))
    except ValueError:
        return sql


def no_shape_or_answer_is_too_common(questions: Dataset[Question]) -> Iterable[Fault]:
    """No shape is more than 6 % of all, and the commonest answer of a shape right for at most 20 % of its questions.

    One question of a shape, and one with an answer, is always allowed. What is over is taken from the end, until both hold.
    Written questions have no shapes, and their kind stands for one: each kind may be as common as it is.
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
        by_shape[shape_of(rows[number][2])].append(number)
    for shape, found in by_shape.items():
        for number in found[allowed(OF_A_SHAPE, len(kept) - len(found)) :] if shape not in KINDS else []:
            yield number, "its shape is more than 6 % of all"
        by_answer: dict[str, list[int]] = defaultdict(list)
        for number in found:
            by_answer[rows[number][2]["answer"]].append(number)
        for same in by_answer.values():
            for number in same[allowed(GUESSED, len(found) - len(same)) :]:
                yield number, "the commonest answer of its shape: guessable"


def shape_of(row: dict[str, str]) -> str:
    return row["kind"] if row["shape"] == WRITTEN else row["shape"]


def allowed(share: float, others: int) -> int:
    """So many may be alike beside so many others, so that they are at most this share of all; one always.

    >>> allowed(0.2, 8), allowed(0.2, 0)
    (2, 1)
    """
    return max(1, int(share * others / (1 - share) + 1e-9))
