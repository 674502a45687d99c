"""An agent that answers from files, turn by turn, and what it is asked (Customer-Agent, arXiv 2606.07995)."""

from datetime import date
from typing import Literal

from shopwright.schemas.questions import AnswerType, Difficulty, Kind, Source, Split
from shopwright.schemas.record import Part, Record


class Message(Part):
    """One message of a conversation, as chat templates take it."""

    role: Literal["system", "user", "assistant"]
    """What the interpreter says is a user's message of its own, so that a loss on the assistant's alone never sees it."""
    content: str


class Span(Part):
    """A stretch of a rollout's `text` and who wrote it; those of the interpreter are masked in training."""

    start: int
    end: int
    """In characters; `text[start:end]`."""
    by: Literal["model", "interpreter"]


class CodeCall(Part):
    """A block of code that was run."""

    code: str
    output: str
    ok: bool
    """It ran to its end without an error."""


class Rollout(Record):
    """A question answered with a code interpreter over the trajectory's file: g1 c1 f1 g2 c2 f2 ... o (section 3.1)."""

    question_id: str
    trajectory_id: str
    budget: str
    kind: Kind
    difficulty: Difficulty
    split: Split
    policy: str
    """Who answered: `scripted`, or the model."""
    mistake: str
    """What went wrong on the way and was mended; empty where every call succeeded."""
    messages: list[Message]
    """System, user, then assistant and interpreter in turn, ending with the assistant's answer."""
    text: str
    """All after the prompt in one piece: the messages' contents, one after the other."""
    spans: list[Span]
    """Whose each part of `text` is, from its beginning to its end."""
    calls: list[CodeCall]
    answer: str
    r"""What stands in the last `\boxed{}`."""
    turns: int
    """Of the assistant."""
    executed: int
    """Calls that ran without an error."""
    reward: float
    """`shopwright.pipeline.rewards.tool_use`."""
    prompt_tokens: int
    """By `shopwright.pipeline.tokens.estimate`, as are those of `text`."""
    tokens: int


class PassRate(Part):
    """How often a policy was right when it was tried."""

    policy: str
    tries: int
    right: int


class RlPrompt(Record):
    """A question to learn on by trying: no rollout, only what a try is judged by."""

    question_id: str
    trajectory_id: str
    budget: str
    question: str
    asked_on: date
    prompt: list[Message]
    ground_truth: str
    answer_type: AnswerType
    kind: Kind
    answerable_from: list[Source]
    """As the question's: who is to learn without tools, with the text in the prompt, takes those with `text`."""
    difficulty: Difficulty
    split: Split
    pass_rates: list[PassRate]


class Attempt(Record):
    """One try of an agent at a question, and how it went."""

    question_id: str
    trajectory_id: str
    budget: str
    kind: Kind
    shape: str = ""
    answerable_from: list[Source]
    difficulty: Difficulty
    position: str
    """Where the evidence lies; empty without any."""
    policy: str
    mode: Literal["tool", "text"]
    """With code over the file, or with the text in the prompt: asked is then only what the text can answer."""
    try_number: int
    said: str
    """The answer; empty where none was given."""
    answer: str
    answer_type: AnswerType
    right: bool
    judged: str
    """CORRECT or INCORRECT, where a judge was asked."""
    called: int
    """Code blocks that were handed in."""
    executed: int
    """Those of them that ran without an error."""
    reward: float
    turns: int
    prompt_tokens: int
    tokens: int
    seconds: float
    """Of the model and of the code."""
    fault: str
    """Why there is no answer, or what ended it early."""
