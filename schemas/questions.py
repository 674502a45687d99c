"""What is asked about a customer's months in the shop, with the proof of its answer."""

from typing import Literal

from schemas.record import Record

Kind = Literal[
    "search", "product interaction", "purchase journey", "brand", "price", "temporal", "category", "review"
]  # fmt: skip
"""The eight kinds of the ShopTrajQA release. A table of events holds no written reviews: `review` is looking at a product
again."""
AnswerType = Literal[
    "integer", "decimal", "money", "date", "date-time", "duration", "text", "set", "ordered list", "yes/no", "none"
]
Split = Literal["sft", "rl", "test"]
Third = Literal["early", "middle", "late"]
Difficulty = Literal["easy", "medium", "hard"]
WRITTEN = "written"
"""The shape of a question that has no tree: question and query are a model's."""


class Question(Record):
    """A question over one trajectory, the SQL that answers it, and the answer."""

    trajectory_id: str
    budget: str
    """The trajectory's: questions for `32k` and `64k` are made separately."""
    question: str
    sql: str
    """Over the table `events` alone; see `pipeline.sandbox.data_loader.schema`."""
    dialect: Literal["duckdb"]
    answer: str
    """Canonical text: `129.90`, `2024-05-12 09:00:01`, `26:04:59`, `a; b; c`, `yes; no`, `none`."""
    answer_type: AnswerType
    result: str
    """The answer as JSON: a number, a text, a list, true and false, or null; exact decimals as text, durations in seconds."""
    kind: Kind
    shape: str
    """Which of the known questions this is, or `written`."""
    difficulty: Difficulty
    evidence: list[int]
    """`row_id` of the events that decide the answer; empty where the answer is none or zero. See `pipeline.questions.evidence`
    for those of a written question."""
    position: Third | None
    """Where the evidence lies in the trajectory (its median row); none without evidence."""
    split: Split
    tree: str
    """What is asked, as JSON (`pipeline.questions.tree`): SQL, answer and wording can each be made from it again. Empty for a
    written question."""
    second_sql: str
    """Of a written question: the query of a second answering, by one who saw the question and not the first query. Else empty."""
