"""What must be true of a question's answer: three engines prove it, it is unique, rests on its evidence and is as hard as said.

Its words are for `question_words`, and what all questions share for `question_sets`.

A check gets the question and the trajectories, and asks the engines; they read the Parquet by a path of their own. A question
that a model wrote has no tree: where code's questions are held against theirs it keeps to rules of its own, and the third
engine is a second answering.
"""

import re
from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any
from zlib import crc32

from shopwright.pipeline.checks.question_sets import map_trajectory_splits
from shopwright.pipeline.checks.text_reader import TextReader
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.questions.answers import type_of
from shopwright.pipeline.questions.effort import count_query_steps, grade_difficulty
from shopwright.pipeline.questions.engines import Engines, QueryFailed, Table, transpile_to_sqlite
from shopwright.pipeline.questions.evidence import evidence_of, find_touched_rows
from shopwright.pipeline.questions.rating import (
    assign_split,
    locate_evidence,
)
from shopwright.pipeline.questions.sql_effort import count_sql_steps, effort_of_sql, list_row_queries
from shopwright.pipeline.questions.tree import tree_from_json
from shopwright.pipeline.questions.values import Unfit, format_canonical
from shopwright.pipeline.questions.values import value_from_json as value_of
from shopwright.pipeline.questions.values import value_to_json as as_json
from shopwright.pipeline.rollouts.baselines import open_trajectory_sandbox
from shopwright.pipeline.sandbox.sql import explain_refusal, explain_template_refusal, parse_select
from shopwright.pipeline.sandbox.sql_templates import once_per_template
from shopwright.schemas.questions import WRITTEN, Question
from shopwright.schemas.samples import Trajectory

Trajectories = Dataset[Trajectory]
# How the sandbox says that a query was ended; any other fault the engines report themselves.
TOO_MUCH = re.compile(r"\[stopped: |out ?of ?memory|MemoryError|interrupted", re.IGNORECASE)


@once_per_template
def depends_on_row_order(sql: str) -> bool:
    """Whether the answer of a query could depend on the order in which rows are read."""
    from sqlglot import exp

    free = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
    return any(
        isinstance(node, exp.Limit | exp.Fetch | exp.Offset | exp.Window | exp.Anonymous)
        or (isinstance(node, exp.Distinct) and node.args.get("on") is not None)
        or (isinstance(node, exp.AggFunc) and not isinstance(node, free))
        for node in parse_select(sql).walk()
    )


# What is found of a query once for all of its template. The refusal comes first: the others want a query that parses.
PER_TEMPLATE = (
    explain_template_refusal,
    transpile_to_sqlite,
    list_row_queries,
    count_query_steps,
    count_sql_steps,
    depends_on_row_order,
)
# One query of so many is read alone too.
SAMPLE = 50


def is_written(question: Question) -> bool:
    """Whether a model wrote it: it claims neither a tree nor a shape that has one."""
    return question.shape == WRITTEN and not question.tree


def find_question_table(question: Question, trajectories: Trajectories) -> Table | None:
    if question.trajectory_id not in trajectories.once(Engines):
        return None
    if is_written(question):
        return guard_table(question.trajectory_id, trajectories)
    table = trajectories.once(Engines).of(question.trajectory_id)
    table.guard = None  # a written question of the same trajectory may have left its own
    return table


def guard_table(id: str, trajectories: Trajectories) -> Table:
    """A trajectory's events in engines that run a query only after it has run in the sandbox: a model wrote it, and what one
    function call takes is bounded there alone."""
    table = trajectories.once(Engines).of(id)
    sandbox = trajectories.once(open_trajectory_sandbox)

    def why(sql: str) -> str | None:
        output = sandbox.run(id, f"```sql\n{sql}\n```")
        return None if output.ok or not TOO_MUCH.search(output.text) else "it takes more than a query may"

    table.guard = why
    return table


def parse_question_tree(question: Question) -> Any:
    """Its answer type is the question's, unless the answer is empty. Raises ValueError for a text that is no tree."""
    return tree_from_json(question.tree)


def sql_reads_only_events(question: Question) -> str | None:
    """It parses, is one query over `events` and calls nothing unknown; and so does a second one."""
    return explain_refusal(question.sql) or (explain_refusal(question.second_sql) if question.second_sql else None)


def trajectory_is_there(question: Question, trajectories: Trajectories) -> str | None:
    if question.trajectory_id not in trajectories.once(Engines):
        return "no such trajectory"
    return None if question.trajectory_id.endswith(f"-{question.budget}") else "not the budget of its trajectory"


def answer_is_duckdbs(question: Question, trajectories: Trajectories) -> str | None:
    return compare_engine_answer(question, trajectories, "DuckDB", lambda table, kind: table.duckdb(question.sql, kind))


def answer_is_sqlites(question: Question, trajectories: Trajectories) -> str | None:
    """The same query, transpiled, in another engine."""
    return compare_engine_answer(
        question, trajectories, "SQLite", lambda table, kind: table.sqlite_without(question.sql, kind)
    )


def answer_is_plain_pythons(question: Question, trajectories: Trajectories) -> str | None:
    """The tree, evaluated without any SQL."""
    if is_written(question):
        return None
    return compare_engine_answer(
        question, trajectories, "plain Python", lambda table, _: table.answer(question.tree).value
    )


def a_second_answering_agrees(question: Question, trajectories: Trajectories) -> str | None:
    """Who saw a written question alone, and not its query, came to the same answer, in DuckDB as in SQLite."""
    if not is_written(question):
        return "a second query beside a tree" if question.second_sql else None
    if not question.second_sql:
        return "no second answering"
    second = question.model_copy(update={"sql": question.second_sql})
    return (
        compare_engine_answer(
            second, trajectories, "the second answering", lambda table, kind: table.duckdb(second.sql, kind)
        )
        or compare_engine_answer(
            second,
            trajectories,
            "the second answering in SQLite",
            lambda table, kind: table.sqlite_without(second.sql, kind),
        )
        or compare_in_other_order(second, trajectories, "the second answering with rows in another order")
    )


def row_order_does_not_matter(question: Question, trajectories: Trajectories) -> str | None:
    """The same answer from the same rows in another order: no tie is left to chance.

    A query that neither cuts off nor looks at neighbours cannot tell one order from another, and is not run again. Where it
    is, DuckDB also plans it anew for speed, as it does for anyone else, while its first answer came from the query as written.
    """
    return compare_in_other_order(question, trajectories, "DuckDB with rows in another order")


def compare_in_other_order(question: Question, trajectories: Trajectories, who: str) -> str | None:
    if explain_refusal(question.sql) or not (
        question.answer_type == "ordered list" or depends_on_row_order(question.sql)
    ):
        return None
    return compare_engine_answer(
        question, trajectories, who, lambda table, kind: table.duckdb(question.sql, kind, shuffled=True)
    )


def a_sample_is_read_alone(question: Question) -> str | None:
    """Of one query in fifty what was found once for its template is found again of the query alone."""
    queries = [sql for sql in (question.sql, question.second_sql) if sql and crc32(sql.encode()) % SAMPLE == 0]
    return next((why for sql in queries if (why := find_template_fault(sql, PER_TEMPLATE))), None)


def find_template_fault(sql: str, functions: Sequence[Callable[[str], Any]]) -> str | None:
    try:
        same = all(function(sql) == unwrap(function)(sql) for function in functions)
    except ValueError:
        return None  # said by another check
    return None if same else "its template tells of it what the query alone does not"


def compare_engine_answer(question: Question, trajectories: Trajectories, who: str, ask: Any) -> str | None:
    """Why this engine's answer is not the question's."""
    table = find_question_table(question, trajectories)
    if table is None or explain_refusal(question.sql):
        return None  # said by other checks
    try:
        kind = expected_answer_type(question)
        found, expected = ask(table, kind), value_of(question.result, kind)
    except QueryFailed as error:
        return str(error)
    except Unfit as error:
        return f"{who}: {re.sub(r'[0-9]+ rows', 'many rows', str(error))}"
    except ValueError as error:
        return f"{who} cannot answer: {type(error).__name__}"
    return None if found == expected else f"{who} gives another answer"


def expected_answer_type(question: Question) -> str:
    """The type to read a result as: of an empty answer the type that it would have had, or text where only SQL is known."""
    if question.answer_type != "none":
        return question.answer_type
    return "text" if is_written(question) else type_of(parse_question_tree(question))


def evidence_decides(question: Question, trajectories: Trajectories) -> str | None:
    """The evidence is what the tree rests on, or a written query; without these rows the answer is another."""
    table = find_question_table(question, trajectories)
    if table is None or explain_refusal(question.sql):
        return None
    try:
        kind = expected_answer_type(question)
        rows = None if is_written(question) else table.answer(question.tree).rows
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
    table = find_question_table(question, trajectories)
    if table is None or explain_refusal(question.sql):
        return None
    try:
        kind = expected_answer_type(question)
        if is_written(question):
            scope = {*find_touched_rows(table, question.sql)}
        elif (looked_at := table.answer(question.tree).scope(table.log)) is None:
            return None  # it looks at all of them
        else:
            scope = {each.row for each in looked_at}
        found = table.sqlite_among(question.sql, kind, scope)
        return None if found == value_of(question.result, kind) else "another answer without unrelated rows"
    except ValueError:
        return "unrelated rows cannot be judged"


def answer_is_canonical(question: Question) -> str | None:
    """`answer`, `answer_type` and `result` say the same, in the one form there is for it."""
    try:
        value = value_of(question.result, expected_answer_type(question))
    except ValueError:
        return "its result is not of its type"
    if (value is None) != (question.answer_type == "none"):
        return "none is the type of no answer but none"
    same = format_canonical(value) == question.answer and as_json(value) == question.result
    return None if same else "answer and result differ"


def difficulty_and_position_are_measured(question: Question, trajectories: Trajectories) -> str | None:
    """The effort is measured again from the SQL, in SQLite: that of a tree was measured in plain Python."""
    table = find_question_table(question, trajectories)
    if table is None or explain_refusal(question.sql):
        return None
    try:
        effort = effort_of_sql(question.sql, expected_answer_type(question), table)
    except ValueError:
        return None  # said by other checks
    if question.effort != effort:
        return "not the effort of its query"
    if question.difficulty != grade_difficulty(effort):
        return "not the difficulty of its effort"
    return (
        None
        if question.position == locate_evidence(question.evidence, len(table.events))
        else "not where its evidence lies"
    )


def text_answers_what_it_should(question: Question, trajectories: Trajectories) -> str | None:
    """Who has only the text finds what the table gives where the question says so, and does not find it elsewhere."""
    table, queries = (
        find_question_table(question, trajectories),
        [sql for sql in (question.sql, question.second_sql) if sql],
    )
    if table is None or any(map(explain_refusal, queries)):
        return None
    if question.answerable_from not in (["text", "table"], ["table"]):
        return "answerable from neither text and table nor the table alone"
    try:
        kind = expected_answer_type(question)
        text_suffices = all(text_tells(question.trajectory_id, sql, kind, table, trajectories) for sql in queries)
    except ValueError:
        return None  # said by other checks
    if "text" in question.answerable_from:
        return None if text_suffices else "the text alone does not answer it"
    return "the text alone answers it" if text_suffices else None


def text_tells(id: str, sql: str, kind: str, table: Table, trajectories: Trajectories) -> bool:
    """Whether a query gives over the lines of the text what it gives over the table. Raises QueryFailed, Unfit where that gives nothing."""
    value = table.sqlite_without(sql, kind)
    try:
        return bool(trajectories.once(TextReader).answer(id, sql, kind) == value)
    except ValueError:  # Unreadable, Failed, Unfit
        return False


def split_is_its_trees(question: Question, trajectories: Trajectories) -> str | None:
    """Each tree belongs to one split, so that no two splits can ask the same; what was written is in its customer's."""
    if is_written(question):
        known = trajectories.once(map_trajectory_splits)
        its = known.get(question.trajectory_id, question.split)
        return None if question.split == its else "asked in a split that is not its customer's"
    return None if question.split == assign_split(question.tree) else "asked in a split that is not its tree's"
