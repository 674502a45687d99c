"""Questions that a model writes: what it is asked, how its reply becomes a question, and the second answering of it.

The writer sees a stretch of the trajectory and gives a question, SQL and answer; what is wrong with them is told by the same
checks that rows are shipped by. The judge sees the question alone and writes SQL of its own.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from random import Random
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from pipeline.models.base import Prompt, Reply
from pipeline.models.play import Conversation
from pipeline.models.written import Wrong, as_json, refused, schema_of, written
from pipeline.prompts import messages
from pipeline.questions.engines import Failed, Table
from pipeline.questions.evidence import evidence_of
from pipeline.questions.rating import THIRDS, alike, bag, difficulty, position
from pipeline.questions.values import Unfit, canonical
from pipeline.questions.values import to_json as as_result
from pipeline.sandbox.data_loader import schema
from pipeline.sandbox.sql import parsed, why_not
from schemas.questions import WRITTEN, Difficulty, Kind, Question, Split, Third
from schemas.record import Rejected

AnswerType = Literal[
    "integer", "decimal", "money", "date", "date-time", "duration", "text", "set", "ordered list"
]  # fmt: skip
"""What may be asked for. A question of yes or no alone is guessed right every other time."""
SHOWN = 60
"""Events of a trajectory that the writer sees for one question."""
LETTERS = 10_000
"""Characters of them as JSON, about 4,000 tokens."""
LONGEST_TEXT = 200
"""Characters of a title or a search as it is shown."""
SECOND_TRIES = 2
COLUMNS = (
    "row_id", "timestamp", "action_type", "asin", "product_name", "brand", "color", "product_types", "price", "search_query",
)  # fmt: skip
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
"""Columns and action types of which a query of each kind looks at one at least."""
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
class Story:
    """What of a trajectory its writer and its judge are told."""

    id: str
    budget: str
    split: Split
    first: datetime
    last: datetime
    actions: int
    stretches: dict[Third, list[list[str]]]
    """For each third some actions in a row, in `COLUMNS`."""


@dataclass(frozen=True)
class Wish:
    """What the next question should be like."""

    kind: Kind
    difficulty: Difficulty
    position: Third
    seed: int


@dataclass(frozen=True)
class Draft:
    """A question that waits for its second answering."""

    question: Question
    story: Story
    answer_type: AnswerType
    """As what a result is read, even where there is none."""
    seed: int


def story_of(id: str, budget: str, split: Split, events: Sequence[Row], random: Random) -> Story:
    """Its stretches begin anywhere in their third. `events` are in order of time, one at least."""
    stretches: dict[Third, list[list[str]]] = {}
    for place, third in enumerate(THIRDS):
        begin, end = len(events) * place // 3, max(len(events) * (place + 1) // 3, 1)
        start = begin + int(random.random() * max(0, end - begin - SHOWN))
        stretches[third] = list(shown(events[start : max(end, start + 1)]))
    return Story(id, budget, split, events[0]["timestamp"], events[-1]["timestamp"], len(events), stretches)


def shown(events: Sequence[Row]) -> Iterator[list[str]]:
    """As many as `SHOWN` and `LETTERS` let be."""
    letters = 0
    for event in islice(events, SHOWN):
        row = ["" if event[name] is None else str(event[name])[:LONGEST_TEXT] for name in COLUMNS]
        letters += len(json.dumps(row))
        if letters > LETTERS:
            return
        yield row


def wishes(random: Random, count: int) -> list[Wish]:
    """Each kind and third as often as the others, as nearly as it can be."""
    kinds, thirds = (sorted(values, key=lambda _: random.random()) for values in (KINDS, THIRDS))
    return [
        Wish(
            kinds[n % len(kinds)],
            random.choice(get_args(Difficulty)),
            thirds[n % len(thirds)],
            int(random.random() * 2**31),
        )
        for n in range(count)
    ]


def asked(
    story: Story, wanted: Sequence[Wish], table: Callable[[str], Table], why: Callable[[Question], list[str]]
) -> Conversation[list[Draft | Rejected]]:
    """The questions of one trajectory, one after the other, so that each knows those before it.

    `table(id)` gives a trajectory's events in the engines; `why(question)` all that the checks have against a question.
    """
    found: list[Draft | Rejected] = []
    for number, wish in enumerate(wanted, 1):
        id = f"{story.id}-q{number:03d}"
        before = [each.question.question for each in found if isinstance(each, Draft)]
        made = yield from written(prompt_for(story, wish, before), reader(id, story, wish, before, table, why))
        if isinstance(made, Draft):
            found.append(made)
        else:
            facts = {"trajectory_id": story.id, "kind": wish.kind, "difficulty": wish.difficulty}
            found.append(refused(id, "question", facts, made))
    return found


def prompt_for(story: Story, wish: Wish, before: list[str]) -> Prompt:
    said = messages("questions", schema=schema(), columns=COLUMNS, story=story, wish=wish, before=before)
    return Prompt("questions", tuple(said), schema=schema_of(Written), seed=wish.seed)


def reader(
    id: str,
    story: Story,
    wish: Wish,
    before: list[str],
    table: Callable[[str], Table],
    why: Callable[[Question], list[str]],
) -> Callable[[Reply], Draft]:
    """Makes a draft of a reply, or says what is wrong with it."""

    def read(reply: Reply) -> Draft:
        said = as_json(reply, Written)
        if said.kind != wish.kind:
            raise Wrong(f"kind: a question of the kind {wish.kind} was asked for.")
        question = proved(id, story, said, table(story.id))
        if any(alike(bag(question.question), bag(other)) for other in before):
            raise Wrong("nearly the same question was asked already.")
        if reasons := why(question):
            raise Wrong(f"{'; '.join(reasons)}.")
        return Draft(question, story, said.answer_type, wish.seed)

    return read


def proved(id: str, story: Story, said: Written, table: Table) -> Question:
    """The question with all that its query tells of it. Raises Wrong where the query does not answer as its writer says."""
    value = answer_of(table, said.sql, said.answer_type)
    if not same(said.answer, canonical(value), said.answer_type):
        raise Wrong(
            f"the answer stated is {said.answer!r}, and the SQL gives {canonical(value)!r}. One of them is wrong."
        )
    evidence = evidence_of(table, said.sql, said.answer_type) if value not in (None, 0) else []
    return Question(
        id=id,
        trajectory_id=story.id,
        budget=story.budget,
        question=" ".join(said.question.split()),
        sql=said.sql,
        dialect="duckdb",
        answer=canonical(value),
        answer_type="none" if value is None else said.answer_type,
        result=as_result(value),
        kind=said.kind,
        shape=WRITTEN,
        difficulty=difficulty(parsed(said.sql), len(evidence)),
        evidence=evidence,
        position=position(evidence, story.actions),
        split=story.split,
        tree="",
        second_sql="",
    )


def answer_of(table: Table, sql: str, answer_type: str) -> Any:
    """What a query gives in DuckDB, and it must run in SQLite too. Raises Wrong."""
    if reason := why_not(sql):
        raise Wrong(f"{reason}.")
    try:
        value = table.duckdb(sql, answer_type)
        other = table.sqlite_without(sql, answer_type)
    except (Failed, Unfit) as error:
        raise Wrong(f"{MANY.sub('many rows', str(error))}.") from None
    if value != other:
        raise Wrong(f"DuckDB gives {canonical(value)!r} and SQLite {canonical(other)!r}. Say it so that both agree.")
    return value


def same(stated: str, told: str, answer_type: str) -> bool:
    """Whether they are one answer; those of a set in any order.

    >>> same("b; a", "a; b", "set"), same("b; a", "a; b", "ordered list"), same("129.9", "129.90", "money")
    (True, False, False)
    """
    if answer_type == "set":
        return sorted(part.strip() for part in stated.split(";")) == sorted(part.strip() for part in told.split(";"))
    return stated.strip() == told


def answered_again(
    draft: Draft | Rejected, table: Callable[[str], Table], why: Callable[[Question], list[str]]
) -> Conversation[Question | Rejected]:
    """A draft with its second query, where that gives the same answer. What was rejected stays so."""
    if isinstance(draft, Rejected):
        return draft
    first = draft.question

    def read(reply: Reply) -> Question:
        sql = as_json(reply, Answered).sql
        told = canonical(answer_of(table(first.trajectory_id), sql, draft.answer_type))
        if told != first.answer:
            raise Wrong(f"it disagrees with the first answering: its SQL gives {told!r}.")
        made = first.model_copy(update={"second_sql": sql})
        if reasons := why(made):
            raise Wrong(f"{'; '.join(reasons)}.")
        return made

    said = messages("second/questions", schema=schema(), columns=COLUMNS, draft=draft, samples=samples(draft.story))
    prompt = Prompt("second/questions", tuple(said), schema=schema_of(Answered), seed=draft.seed)
    made = yield from written(prompt, read, tries=SECOND_TRIES)
    if isinstance(made, Question):
        return made
    return refused(first.id, "second answering", first.model_dump(), made)


def samples(story: Story) -> list[list[str]]:
    """The first action of each kind that is shown, so that one sees how values are written."""
    kind = COLUMNS.index("action_type")
    return list({row[kind]: row for rows in reversed(story.stretches.values()) for row in reversed(rows)}.values())
