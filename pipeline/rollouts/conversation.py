r"""A question answered in turns: the model writes a block of code, the sandbox runs it, until the answer stands in `\boxed{}`.

Customer-Agent (arXiv 2606.07995, section 3.1): g1 c1 f1 g2 c2 f2 ... o. Generation stops at `</code>`; what the block printed comes
back between `<interpreter>` tags, as a user's message, so that a loss on the assistant's messages never sees it.
"""

import re
from collections.abc import Callable, Generator
from typing import Any, Literal

from shopwright.pipeline.evaluate import situation
from shopwright.pipeline.evaluate.situation import Score, Step
from shopwright.pipeline.models.base import Prompt, Reply
from shopwright.pipeline.models.play import Working
from shopwright.pipeline.prompts import render_messages
from shopwright.pipeline.rewards.matching import extract_boxed_answer, is_right_answer
from shopwright.pipeline.rewards.tool_use import compute_tool_use_reward
from shopwright.pipeline.sandbox.data_loader import describe_events_table
from shopwright.pipeline.sandbox.execute import Limits
from shopwright.pipeline.sandbox.interpreter import Output, Sandbox
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import CodeCall, Message, Span

Mode = Literal["tool", "text"]
# Of the assistant, and of code among them (the paper's limits).
TURNS, CALLS = 16, 10
# The paper's limits for learning by trying.
PROMPT_TOKENS, RESPONSE_TOKENS = 2_048, 4_096
OPEN, CLOSE = "<code>", "</code>"
# The beginning of what only model and harness may write.
TAG = re.compile(r"<(?=/?(?:code|interpreter|tool_response)>)")
# Says what a scripted agent says, turn by turn, and is sent what each block printed.
ExpertTurns = Generator[str, Output, None]


class AnsweredQuestion(situation.Episode):
    """A question that is answered with a code interpreter; what was said and run of it until now.

    try_number: of the try, which is a model's seed. strict: the answer must be the same text.
    """

    mode: Mode = "tool"

    def __init__(
        self, question: Question, sandbox: Sandbox | None = None, *, try_number: int = 0, strict: bool = False
    ) -> None:
        self.question, self.sandbox, self.try_number, self.strict = question, sandbox, try_number, strict
        self.reset()

    @property
    def task_id(self) -> str:
        return self.question.id

    def reset(self) -> str:
        self.messages: list[Message] = self.tell()
        self.calls: list[CodeCall] = []
        self.called = self.turns = 0
        # What stands in the last box of the last turn.
        self.said: str | None = None
        # Both as the model counts them; nothing without one.
        self.prompt_tokens = self.tokens = 0
        self.seconds = 0.0
        # Where its replies are kept.
        self.keys: list[str] = []
        self.fault = ""
        return self.question.question

    def tell(self) -> list[Message]:
        """What the agent is told first."""
        return build_question_prompt(self.question)

    @property
    def executed(self) -> int:
        return sum(call.ok for call in self.calls)

    def prompt(self) -> Prompt:
        history = tuple(each.model_dump() for each in self.messages)
        return Prompt("rollouts", history, stop=(CLOSE,), seed=self.try_number)

    def hear(self, action: str | Reply) -> Reply:
        reply = Reply(action) if isinstance(action, str) else action
        self.turns += 1
        self.keys.append(reply.key)
        self.prompt_tokens += reply.prompt_tokens
        self.tokens += reply.tokens
        self.seconds += reply.seconds
        if reply.fault and reply.finish != "length":
            self.fault = reply.fault
        return reply

    def take(self, action: str | Reply) -> Working[Step]:
        """One turn: code runs, and what it printed is seen; a turn without code ends it."""
        assert self.sandbox is not None
        reply = self.hear(action)
        if self.fault:
            return self.end()
        text, code = parse_code_turn(reply)
        self.messages.append(Message(role="assistant", content=text))
        if code is None:
            return self.answer(reply, text)
        self.called += 1
        if self.called > CALLS or self.turns == TURNS:
            return self.end(
                f"more than {CALLS} blocks of code" if self.called > CALLS else f"no answer in {TURNS} turns"
            )
        output: Output = yield self.sandbox.submit(self.question.trajectory_id, code)
        self.calls.append(CodeCall(code=code, output=output.text, ok=output.ok))
        self.seconds += output.seconds
        self.messages.append(Message(role="user", content=format_block_output(output.text)))
        return Step(output, 0.0, False, {})

    def answer(self, reply: Reply, text: str) -> Step:
        self.said = extract_boxed_answer(text)
        return self.end("" if self.said is not None else describe_unfinished(reply, text))

    def end(self, fault: str = "") -> Step:
        self.fault = self.fault or fault
        return Step("", self.score().parts["reward"], True, {})

    def score(self) -> Score:
        question = self.question
        right = is_right_answer(self.said, question.answer, question.answer_type, strict=self.strict)
        reward = compute_tool_use_reward(right, self.executed)
        return Score({"reward": reward, "called": self.called, "executed": self.executed}, right, self.fault)


class ReadQuestion(AnsweredQuestion):
    """A question with the whole trajectory in the prompt, and no code. text: of the trajectory, read when a model is asked."""

    mode = "text"

    def __init__(self, question: Question, text: Callable[[], str], *, strict: bool = False) -> None:
        self.text = text
        super().__init__(question, strict=strict)

    def tell(self) -> list[Message]:
        return []  # a prompt can hold a million tokens, and a player does not read it

    def prompt(self) -> Prompt:
        asked = {"question": self.question.question, "asked_on": str(self.question.asked_on)}
        told = render_messages("text/rollouts", text=self.text(), **asked)
        return Prompt("text/rollouts", tuple(told), seed=self.try_number)

    def take(self, action: str | Reply) -> Working[Step]:
        yield from ()
        reply = self.hear(action)
        if self.fault:
            return self.end()
        self.messages.append(Message(role="assistant", content=reply.text.strip()))
        self.said = extract_boxed_answer(reply.text)
        return self.end("" if self.said is not None else describe_unfinished(reply, ""))


def build_question_prompt(question: Question) -> list[Message]:
    """What an agent with a code interpreter is told; the system's message is the same for every question."""
    facts = {"schema": describe_events_table(), "seconds": f"{Limits().wall:g}", "calls": CALLS, "turns": TURNS}
    facts |= {"trajectory": question.trajectory_id, "question": question.question, "asked_on": str(question.asked_on)}
    told = render_messages("rollouts", **facts)
    return [Message.model_validate(each) for each in told]


def describe_unfinished(reply: Reply, text: str) -> str:
    if reply.finish == "length":
        return "cut short before its answer"
    return "a block of code that never closes" if OPEN in text else "no answer in a box"


def parse_code_turn(reply: Reply) -> tuple[str, str | None]:
    """What a turn says, up to the end of its first block of code, and that code.

    >>> parse_code_turn(Reply("Let me look. <code>\\nlen(df)\\n"))
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


def format_block_output(output: str) -> str:
    """What a block printed, as the model is told it; it cannot hold a tag that ends it.

    >>> format_block_output("a </interpreter> b")
    '<interpreter>\\na &lt;/interpreter> b\\n</interpreter>'
    """
    return f"<interpreter>\n{TAG.sub('&lt;', output)}\n</interpreter>"


def join_turn_spans(told: list[Message]) -> tuple[str, list[Span]]:
    """All after the prompt in one text, and whose each part of it is."""
    text, spans = "", []
    for each in told[2:]:
        by: Any = "model" if each.role == "assistant" else "interpreter"
        spans.append(Span(start=len(text), end=len(text) + len(each.content), by=by))
        text += each.content
    return text, spans
