"""What is asked about a customer's months in the shop, with the proof of its answer."""

from datetime import date
from typing import Literal

from shopwright.schemas.record import Part, Record

# The eight kinds of the ShopTrajQA release. A table of events holds no written reviews: `review` is looking at a product
# again.
Kind = Literal[
    "search", "product interaction", "purchase journey", "brand", "price", "temporal", "category", "review"
]  # fmt: skip
AnswerType = Literal[
    "integer", "decimal", "money", "date", "date-time", "duration", "text", "set", "ordered list", "yes/no", "none"
]
Split = Literal["sft", "rl", "test", "test_wording"]
Third = Literal["early", "middle", "late"]
Difficulty = Literal["easy", "medium", "hard"]
Source = Literal["text", "table"]
# Ways to answer carelessly, each a small program (`shopwright.pipeline.questions.weak_answerers`).
Shortcut = Literal[
    "ignores dates", "excludes the ends", "first matches", "skims", "reads the first half", "skips the middle",
    "reads the last half",
]  # fmt: skip
# The shape of a question that has no tree: question and query are a model's.
WRITTEN = "written"


class Effort(Part):
    """What answering takes, as it was measured: all that the label of difficulty is made of (`shopwright.pipeline.questions.effort`)."""

    rows: int
    """Events that a scan of the query picks: those that a reader has to find and look at."""
    near: int
    """Events that miss one of several conditions, and are not picked: those easily taken for the others."""
    steps: int
    """Queries, joins and windows beyond the first query, groups, and comparisons beyond the first."""
    shortcuts: list[Shortcut]
    """Careless ways that give the right answer all the same."""


class Question(Record):
    """A question over one trajectory, the SQL that answers it, and the answer."""

    trajectory_id: str
    budget: str
    """The trajectory's: questions for `32k` and `64k` are made separately."""
    question: str
    asked_on: date
    """The day on which it is asked, after the last event: "last week" is the calendar week before this day's, "in May" the last May."""
    phrases: list[str]
    """The templates of the phrase bank that it is made of, the question's own first; none of training is in `test`, and those of
    `test_wording` are in no other split. Empty for a written question."""
    sql: str
    """Over the table `events` alone; see `shopwright.pipeline.sandbox.data_loader.describe_events_table`."""
    dialect: Literal["duckdb"]
    answer: str
    """Canonical text: `129.90`, `2024-05-12 09:00:01`, `26:04:59`, `a; b; c`, `yes; no`, `none`."""
    answer_type: AnswerType
    result: str
    """The answer as JSON: a number, a text, a list, true and false, or null; exact decimals as text, durations in seconds."""
    kind: Kind
    shape: str
    """Which of the known questions this is, or `written`."""
    answerable_from: list[Source]
    """`text` where all that it asks for stands in the lines of the trajectory's text; the table answers all. A product's
    category stands in the table alone."""
    difficulty: Difficulty
    """How much there is to read and to keep apart, and how few of the careless get it right; made of `effort` alone."""
    effort: Effort
    evidence: list[int]
    """`row_id` of the events that decide the answer; empty where the answer is none or zero. See `shopwright.pipeline.questions.evidence`
    for those of a written question."""
    position: Third | None
    """Where the evidence lies in the trajectory (its median row); none without evidence."""
    split: Split
    tree: str
    """What is asked, as JSON (`shopwright.pipeline.questions.tree`): SQL, answer and wording can each be made from it again. Empty for a
    written question."""
    idle_conditions: list[str]
    """Conditions that can each be left out without another answer; empty for at least nine questions in ten. `days` are both
    bounds of a range, `most` is which end of a ranking, `n` which one of several, `strictness` whether the ends count."""
    second_sql: str
    """Of a written question: the query of a second answering, by one who saw the question and not the first query. Else empty."""
