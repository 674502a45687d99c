"""Questions that a model writes: what it is asked, how its reply becomes a question, and the second answering of it.

The writer sees a stretch of the trajectory and gives a question, SQL and answer; what is wrong with them is told by the same
checks that rows are shipped by. The judge sees the question alone and writes SQL of its own.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain, islice
from random import Random
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.play import Conversation
from shopwright.pipeline.models.valid_replies import (
    InvalidReply,
    ask_until_valid,
    make_rejected_row,
    parse_reply_json,
    schema_of,
)
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.questions.conditions import idle_in_sql
from shopwright.pipeline.questions.effort import grade_difficulty
from shopwright.pipeline.questions.engines import QueryFailed, Table
from shopwright.pipeline.questions.evidence import evidence_of
from shopwright.pipeline.questions.rating import (
    THIRDS,
    are_near_duplicate_questions,
    collect_bag_of_words,
    locate_evidence,
)
from shopwright.pipeline.questions.sources import sources_of_query
from shopwright.pipeline.questions.sql_effort import effort_of_sql
from shopwright.pipeline.questions.times import DAY
from shopwright.pipeline.questions.values import Unfit, format_canonical
from shopwright.pipeline.questions.values import value_to_json as as_result
from shopwright.pipeline.sandbox.data_loader import describe_events_table
from shopwright.pipeline.sandbox.sql import explain_refusal, parse_select
from shopwright.schemas.questions import WRITTEN, Difficulty, Kind, Question, Split, Third
from shopwright.schemas.record import Rejected

# What may be asked for. A question of yes or no alone is guessed right every other time.
AnswerType = Literal[
    "integer", "decimal", "money", "date", "date-time", "duration", "text", "set", "ordered list"
]  # fmt: skip
# Events of a trajectory that the writer sees for one question.
SHOWN = 60
# Characters of them as JSON, about 4,000 tokens.
LETTERS = 10_000
# Characters of a title or a search as it is shown.
LONGEST_TEXT = 200
# Replies, at most, that are asked for again after one that cannot be read.
SECOND_TRIES = 2
TEMPLATE = "questions"
COLUMNS = (
    "row_id", "timestamp", "action_type", "asin", "product_name", "brand", "color", "product_types", "price", "search_query",
)  # fmt: skip
# Columns and action types of which a query of each kind looks at one at least.
ABOUT: dict[Kind, tuple[str, ...]] = {
    "search": ("search_query", "search"),
    "product interaction": ("asin", "product_name"),
    "purchase journey": ("purchase", "add to Cart"),
    "brand": ("brand",),
    "price": ("price",),
    "temporal": ("timestamp",),
    "category": ("product_types",),
    "review": ("asin", "product_name"),
}
KINDS = get_args(Kind)
MANY = re.compile(r"\d+ rows")
Row = dict[str, Any]


class Written(BaseModel):
    """What the writer replies."""

    model_config = ConfigDict(extra="forbid")
    question: str
    sql: str
    answer: str
    answer_type: AnswerType
    kind: Kind


class Answered(BaseModel):
    """What the judge replies."""

    model_config = ConfigDict(extra="forbid")
    sql: str


@dataclass(frozen=True)
class TrajectoryExcerpt:
    """What of a trajectory its writer and its judge are told."""

    id: str
    budget: str
    split: Split
    first: datetime
    last: datetime
    actions: int
    stretches: dict[Third, list[list[str]]]
    """For each third some actions in a row, in `COLUMNS`."""

    @property
    def asked_on(self) -> date:
        """The day after the last action."""
        return self.last.date() + DAY


@dataclass(frozen=True)
class QuestionSpec:
    """What the next question should be like."""

    kind: Kind
    difficulty: Difficulty
    position: Third
    seed: int


@dataclass(frozen=True)
class Draft:
    """A question that waits for its second answering."""

    question: Question
    story: TrajectoryExcerpt
    answer_type: AnswerType
    """The type to read a result as, an empty one included."""
    seed: int


def excerpt_trajectory(id: str, budget: str, split: Split, events: Sequence[Row], random: Random) -> TrajectoryExcerpt:
    """Its stretches begin anywhere in their third. `events` are in order of time, one at least."""
    stretches: dict[Third, list[list[str]]] = {}
    for place, third in enumerate(THIRDS):
        begin, end = len(events) * place // 3, max(len(events) * (place + 1) // 3, 1)
        start = begin + int(random.random() * max(0, end - begin - SHOWN))
        stretches[third] = list(clip_events(events[start : max(end, start + 1)]))
    return TrajectoryExcerpt(id, budget, split, events[0]["timestamp"], events[-1]["timestamp"], len(events), stretches)


def clip_events(events: Sequence[Row]) -> Iterator[list[str]]:
    """As many as `SHOWN` and `LETTERS` let be."""
    letters = 0
    for event in islice(events, SHOWN):
        row = ["" if event[name] is None else str(event[name])[:LONGEST_TEXT] for name in COLUMNS]
        letters += len(json.dumps(row))
        if letters > LETTERS:
            return
        yield row


def draw_question_specs(random: Random, count: int) -> list[QuestionSpec]:
    """Each kind and third as often as the others, as nearly as it can be."""
    kinds, thirds = (sorted(values, key=lambda _: random.random()) for values in (KINDS, THIRDS))
    return [
        QuestionSpec(
            kinds[n % len(kinds)],
            random.choice(get_args(Difficulty)),
            thirds[n % len(thirds)],
            int(random.random() * 2**31),
        )
        for n in range(count)
    ]


def write_trajectory_questions(
    story: TrajectoryExcerpt,
    wanted: Sequence[QuestionSpec],
    table: Callable[[str], Table],
    why: Callable[[Question], list[str]],
) -> Conversation[list[Draft | Rejected]]:
    """The questions of one trajectory, one after the other, so that each knows those before it.

    `table(id)` gives a trajectory's events in the engines; `why(question)` all that the checks have against a question.
    """
    found: list[Draft | Rejected] = []
    for number, spec in enumerate(wanted, 1):
        id = f"{story.id}-q{number:03d}"
        before = [each.question.question for each in found if isinstance(each, Draft)]
        made = yield from ask_until_valid(
            build_writer_prompt(story, spec, before), make_draft_reader(id, story, spec, before, table, why)
        )
        if isinstance(made, Draft):
            found.append(made)
        else:
            facts = {"trajectory_id": story.id, "kind": spec.kind, "difficulty": spec.difficulty}
            found.append(make_rejected_row(id, "question", facts, made))
    return found


def build_writer_prompt(story: TrajectoryExcerpt, spec: QuestionSpec, before: list[str]) -> Prompt:
    said = render_messages(
        TEMPLATE, schema=describe_events_table(), columns=COLUMNS, story=story, spec=spec, before=before
    )
    return Prompt(TEMPLATE, tuple(said), schema=schema_of(Written), seed=spec.seed)


def make_draft_reader(
    id: str,
    story: TrajectoryExcerpt,
    spec: QuestionSpec,
    before: list[str],
    table: Callable[[str], Table],
    why: Callable[[Question], list[str]],
) -> Callable[[Reply], Draft]:
    """Makes a draft of a reply, or says what is wrong with it."""

    def read(reply: Reply) -> Draft:
        said = parse_reply_json(reply, Written)
        if said.kind != spec.kind:
            raise InvalidReply(f"kind: a question of the kind {spec.kind} was asked for.")
        question = build_proved_question(id, story, said, table(story.id))
        if any(
            are_near_duplicate_questions(collect_bag_of_words(question.question), collect_bag_of_words(other))
            for other in before
        ):
            raise InvalidReply("nearly the same question was asked already.")
        if reasons := why(question):
            raise InvalidReply(f"{'; '.join(reasons)}.")
        return Draft(question, story, said.answer_type, spec.seed)

    return read


def build_proved_question(id: str, story: TrajectoryExcerpt, said: Written, table: Table) -> Question:
    """The question with all that its query tells of it. Raises InvalidReply where the query does not answer as its writer says."""
    value = run_in_both_engines(table, said.sql, said.answer_type)
    if not is_same_answer(said.answer, format_canonical(value), said.answer_type):
        raise InvalidReply(
            f"the answer stated is {said.answer!r}, and the SQL gives {format_canonical(value)!r}. One of them is wrong."
        )
    evidence = evidence_of(table, said.sql, said.answer_type) if value not in (None, 0) else []
    effort = effort_of_sql(said.sql, said.answer_type, table)
    return Question(
        id=id,
        trajectory_id=story.id,
        budget=story.budget,
        question=" ".join(said.question.split()),
        asked_on=story.asked_on,
        phrases=[],
        sql=said.sql,
        dialect="duckdb",
        answer=format_canonical(value),
        answer_type="none" if value is None else said.answer_type,
        result=as_result(value),
        kind=said.kind,
        shape=WRITTEN,
        answerable_from=sources_of_query(parse_select(said.sql)),
        difficulty=grade_difficulty(effort),
        effort=effort,
        evidence=evidence,
        position=locate_evidence(evidence, story.actions),
        split=story.split,
        tree="",
        idle_conditions=idle_in_sql(table, said.sql, said.answer_type),
        second_sql="",
    )


def run_in_both_engines(table: Table, sql: str, answer_type: str) -> Any:
    """What a query gives in DuckDB, and it must run in SQLite too. Raises InvalidReply."""
    if reason := explain_refusal(sql):
        raise InvalidReply(f"{reason}.")
    try:
        value = table.duckdb(sql, answer_type)
        other = table.sqlite_without(sql, answer_type)
    except (QueryFailed, Unfit) as error:
        raise InvalidReply(f"{MANY.sub('many rows', str(error))}.") from None
    if value != other:
        raise InvalidReply(
            f"DuckDB gives {format_canonical(value)!r} and SQLite {format_canonical(other)!r}. Say it so that both agree."
        )
    return value


def is_same_answer(stated: str, computed: str, answer_type: str) -> bool:
    """Whether they are one answer; those of a set in any order.

    >>> is_same_answer("b; a", "a; b", "set"), is_same_answer("b; a", "a; b", "ordered list"), is_same_answer("129.9", "129.90", "money")
    (True, False, False)
    """
    if answer_type == "set":
        return sorted(part.strip() for part in stated.split(";")) == sorted(
            part.strip() for part in computed.split(";")
        )
    return stated.strip() == computed


def answer_again(
    draft: Draft | Rejected, table: Callable[[str], Table], why: Callable[[Question], list[str]]
) -> Conversation[Question | Rejected]:
    """A draft with its second query, where that gives the same answer. What was rejected stays so."""
    if isinstance(draft, Rejected):
        return draft
    first = draft.question

    def read(reply: Reply) -> Question:
        sql = parse_reply_json(reply, Answered).sql
        computed = format_canonical(run_in_both_engines(table(first.trajectory_id), sql, draft.answer_type))
        if computed != first.answer:
            raise InvalidReply(f"it disagrees with the first answering: its SQL gives {computed!r}.")
        sources = [each for each in first.answerable_from if each in sources_of_query(parse_select(sql))]
        made = first.model_copy(update={"second_sql": sql, "answerable_from": sources})
        if reasons := why(made):
            raise InvalidReply(f"{'; '.join(reasons)}.")
        return made

    said = render_messages(
        "second/questions",
        schema=describe_events_table(),
        columns=COLUMNS,
        draft=draft,
        samples=sample_actions(draft.story),
    )
    prompt = Prompt("second/questions", tuple(said), schema=schema_of(Answered), seed=draft.seed)
    made = yield from ask_until_valid(prompt, read, tries=SECOND_TRIES)
    if isinstance(made, Question):
        return made
    return make_rejected_row(first.id, "second answering", first.model_dump(), made)


def sample_actions(story: TrajectoryExcerpt) -> list[list[str]]:
    """The first action of each kind that is shown, so that one sees how values are written."""
    kind = COLUMNS.index("action_type")
    shown = [*chain.from_iterable(story.stretches.values())]
    # from the last to the first, so that of each kind the first one stays
    return list({row[kind]: row for row in reversed(shown)}.values())
