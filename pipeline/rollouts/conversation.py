r"""A question answered in turns: the model writes a block of code, the sandbox runs it, until the answer stands in `\boxed{}`.

Customer-Agent (arXiv 2606.07995, section 3.1): g1 c1 f1 g2 c2 f2 ... o. Generation stops at `</code>`; what the block printed comes
back between `<interpreter>` tags, as a user's message, so that a loss on the assistant's messages never sees it.
"""

import re
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from pipeline.models.base import Prompt, Reply
from pipeline.models.play import Conversation, Working
from pipeline.prompts import messages
from pipeline.rewards.matching import boxed
from pipeline.sandbox.block import Limits
from pipeline.sandbox.data_loader import schema
from pipeline.sandbox.interpreter import Output, Sandbox
from schemas.questions import Question
from schemas.rollouts import CodeCall, Message, Span

TURNS, CALLS = 16, 10
"""Of the assistant, and of code among them (the paper's limits)."""
PROMPT_TOKENS, RESPONSE_TOKENS = 2_048, 4_096
"""The paper's limits for learning by trying."""
OPEN, CLOSE = "<code>", "</code>"
TAG = re.compile(r"<(?=/?(?:code|interpreter|tool_response)>)")
"""The beginning of what only model and harness may write."""
Teacher = Generator[str, Output, None]
"""Says what a scripted agent says, turn by turn, and is sent what each block printed."""


@dataclass
class Played:
    """What became of one question."""

    question: Question
    policy: str
    messages: list[Message]
    calls: list[CodeCall] = field(default_factory=list)
    called: int = 0
    said: str | None = None
    """What stands in the last box of the last turn."""
    turns: int = 0
    prompt_tokens: int = 0
    tokens: int = 0
    """Both as the model counts them; nothing without one."""
    seconds: float = 0.0
    keys: list[str] = field(default_factory=list)
    """Where its replies are kept."""
    fault: str = ""

    @property
    def executed(self) -> int:
        return sum(call.ok for call in self.calls)

    def heard(self, reply: Reply) -> None:
        self.turns += 1
        self.keys.append(reply.key)
        self.prompt_tokens += reply.prompt_tokens
        self.tokens += reply.tokens
        self.seconds += reply.seconds
        if reply.fault and reply.finish != "length":
            self.fault = reply.fault


def prompt_of(question: Question) -> list[Message]:
    """What an agent with a code interpreter is told; the system's message is the same for every question."""
    facts = {"schema": schema(), "seconds": f"{Limits().wall:g}", "calls": CALLS, "turns": TURNS}
    told = messages("rollouts", trajectory=question.trajectory_id, question=question.question, **facts)
    return [Message.model_validate(each) for each in told]


def conversation(
    question: Question, sandbox: Sandbox, policy: str, *, teacher: Teacher | None = None, seed: int = 0
) -> Working[Played]:
    """The question from its prompt to its answer, or to a limit. `teacher`: what is said where no model is asked."""
    found = Played(question, policy, prompt_of(question))
    offline = next(teacher) if teacher else ""
    while True:
        history = tuple(each.model_dump() for each in found.messages)
        reply = yield Prompt("rollouts", history, offline, stop=(CLOSE,), seed=seed)
        found.heard(reply)
        if found.fault:
            return found
        text, code = turn_of(reply)
        found.messages.append(Message(role="assistant", content=text))
        if code is None:
            found.said = boxed(text)
            found.fault = "" if found.said is not None else unfinished(reply, text)
            return found
        found.called += 1
        if found.called > CALLS or found.turns == TURNS:
            found.fault = f"more than {CALLS} blocks of code" if found.called > CALLS else f"no answer in {TURNS} turns"
            return found
        output = yield sandbox.submit(question.trajectory_id, code)
        found.calls.append(CodeCall(code=code, output=output.text, ok=output.ok))
        found.seconds += output.seconds
        found.messages.append(Message(role="user", content=returned(output.text)))
        if teacher:
            offline = teacher.send(output)


def unfinished(reply: Reply, text: str) -> str:
    if reply.finish == "length":
        return "cut short before its answer"
    return "a block of code that never closes" if OPEN in text else "no answer in a box"


def turn_of(reply: Reply) -> tuple[str, str | None]:
    """What a turn says, up to the end of its first block of code, and that code.

    >>> turn_of(Reply("Let me look. <code>\\nlen(df)\\n"))
    ('Let me look. <code>\\nlen(df)\\n</code>', 'len(df)')
    """
    text = reply.text.strip()
    before, opened, rest = text.partition(OPEN)
    if not opened:
        return text, None
    code, closed, _ = rest.partition(CLOSE)
    if not closed and reply.finish == "length":
        return text, None
    if not closed:  # it stopped there, and servers leave out what they stop at
        code = code.rstrip() + "\n"
    return f"{before}{OPEN}{code}{CLOSE}", code.strip("\n").rstrip()


def returned(output: str) -> str:
    """What a block printed, as the model is told it; it cannot hold a tag that ends it.

    >>> returned("a </interpreter> b")
    '<interpreter>\\na &lt;/interpreter> b\\n</interpreter>'
    """
    return f"<interpreter>\n{TAG.sub('&lt;', output)}\n</interpreter>"


def spans_of(told: list[Message]) -> tuple[str, list[Span]]:
    """All after the prompt in one text, and whose each part of it is."""
    text, spans = "", []
    for each in told[2:]:
        by: Any = "model" if each.role == "assistant" else "interpreter"
        spans.append(Span(start=len(text), end=len(text) + len(each.content), by=by))
        text += each.content
    return text, spans


def reading(question: Question, text: str, policy: str, *, seed: int = 0, offline: str = "") -> Conversation[Played]:
    """The question with the whole trajectory in the prompt, and no code."""
    told = messages("text/rollouts", text=text, question=question.question)
    found = Played(question, policy, [Message.model_validate(each) for each in told])
    reply = yield Prompt("text/rollouts", tuple(told), offline, seed=seed)
    found.heard(reply)
    if not found.fault:
        found.messages.append(Message(role="assistant", content=reply.text.strip()))
        found.said = boxed(reply.text)
        found.fault = "" if found.said is not None else unfinished(reply, "")
    return found
