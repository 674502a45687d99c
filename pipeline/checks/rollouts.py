"""What must be true of a rollout and of a prompt to learn on, found out by running its code again."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from pipeline.checks.nearby import Nearby
from pipeline.checks.questions import DAY, day_of
from pipeline.dataset import Dataset, row_groups
from pipeline.models.base import Reply
from pipeline.models.role import alone
from pipeline.problem import Problem
from pipeline.questions.rating import alike, bag
from pipeline.rewards.matching import boxed, right, shown
from pipeline.rewards.tool_use import final, reward
from pipeline.rollouts.conversation import (
    CALLS,
    PROMPT_TOKENS,
    RESPONSE_TOKENS,
    TAG,
    TURNS,
    conversation,
    prompt_of,
    returned,
    spans_of,
    turn_of,
)
from pipeline.rollouts.policies import POLICIES, policy_of, sandboxed
from pipeline.rollouts.rows import mistake_of
from pipeline.sandbox.block import as_python, as_sql
from pipeline.stage import Fault
from pipeline.tokens import estimate
from schemas.questions import Question
from schemas.rollouts import RlPrompt, Rollout
from schemas.samples import Trajectory

Questions = Dataset[Question]
Trajectories = Dataset[Trajectory]
GONE = "a question that is not there"
QUERY = re.compile(r"\s*(select|with|from)\b", re.IGNORECASE)


def question_of(row: Rollout | RlPrompt, questions: Questions) -> Question | None:
    return questions.once(Nearby).of(row.question_id)


def question_is_there(rollout: Rollout, questions: Questions) -> str | None:
    """And the row says of it what it says itself."""
    question = question_of(rollout, questions)
    if question is None:
        return GONE
    same = all(
        getattr(rollout, name) == getattr(question, name)
        for name in ("trajectory_id", "budget", "kind", "difficulty", "split")
    )
    return None if same else "the row and its question differ"


def prompt_is_the_agents(rollout: Rollout, questions: Questions) -> str | None:
    """What the model is told is what an agent is told when it is tried, to the letter."""
    question = question_of(rollout, questions)
    return None if question is None or rollout.messages[:2] == prompt_of(question) else "not the prompt of an agent"


def messages_and_calls_agree(rollout: Rollout) -> str | None:
    """Assistant and interpreter take turns; each block of code is a call, and what it printed is what came back."""
    told = rollout.messages[2:]
    if len(told) % 2 == 0 or rollout.turns != (len(told) + 1) // 2 or len(rollout.calls) != len(told) // 2:
        return "messages, turns and calls do not agree"
    for place, call in enumerate(rollout.calls):
        says, heard = told[2 * place : 2 * place + 2]
        if (says.role, heard.role) != ("assistant", "user"):
            return "assistant and interpreter do not take turns"
        if turn_of(Reply(says.content)) != (says.content, call.code):
            return "a block of code that is not its message's"
        if heard.content != returned(call.output):
            return "what came back is not what its call printed"
    last = told[-1]
    whole = last.role == "assistant" and turn_of(Reply(last.content))[1] is None
    return None if whole else "it does not end with an answer"


def spans_cover_the_text(rollout: Rollout) -> str | None:
    """`text` is the messages after the prompt, and each of its characters the model's or the interpreter's."""
    return (
        None if (rollout.text, rollout.spans) == spans_of(rollout.messages) else "text and spans are not the messages'"
    )


def only_the_interpreter_says_what_came_back(rollout: Rollout) -> str | None:
    """The model writes no output itself, nor a second block in a turn."""
    for message in rollout.messages[2:]:
        own = message.content.replace("<code>", "", 1).replace("</code>", "", 1)
        if message.role == "assistant" and TAG.search(own):
            return "the model writes a tag that is not its own"
    return None


def calls_run_again_the_same(rollout: Rollout, trajectories: Trajectories) -> str | None:
    """Each block, run once more, prints the same to the letter."""
    sandbox = trajectories.once(sandboxed)
    try:
        again = [sandbox.submit(rollout.trajectory_id, call.code) for call in rollout.calls]
        for call, found in zip(rollout.calls, again, strict=True):
            output = found.result()
            if (output.text, output.ok) != (call.output, call.ok):
                return "a call that prints something else when it is run again"
    except Problem:
        return "a trajectory that is not there"
    return None


def every_call_succeeded(rollout: Rollout) -> str | None:
    """Or the row says what went wrong, and it was mended: the last call succeeded."""
    if not rollout.calls or not any(call.ok for call in rollout.calls):
        return "no call that succeeded"
    if not rollout.calls[-1].ok:
        return "its last call failed"
    return None if rollout.mistake == mistake_of(rollout.calls) else "a call that failed, and the row does not say so"


def every_block_loads_again(rollout: Rollout) -> str | None:
    """Nothing is kept between blocks, so each that succeeded loads this trajectory itself."""
    for call in rollout.calls:
        if call.ok and as_sql(call.code) is None and not loads(as_python(call.code), rollout.trajectory_id):
            return "a block that does not load the trajectory"
    return None


def loads(code: str, id: str) -> bool:
    """
    >>> loads("conn, df = load_trajectory('a-32k')", "a-32k"), loads("load_trajectory", "a-32k")
    (True, False)
    """
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    calls = [node for node in nodes if isinstance(node, ast.Call) and named(node.func) == "load_trajectory"]
    return any(isinstance(node, ast.Constant) and node.value == id for node in nodes) and bool(calls)


def named(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def answer_is_right(rollout: Rollout, questions: Questions) -> str | None:
    question = question_of(rollout, questions)
    if question is None:
        return GONE
    if (boxed(rollout.messages[-1].content) or "") != rollout.answer or boxed(final(rollout.text)) != rollout.answer:
        return "not the answer that its last turn gives"
    return None if right(rollout.answer, question.answer, question.answer_type) else "a wrong answer"


def answer_was_seen(rollout: Rollout, questions: Questions) -> str | None:
    """It stands in what a call printed that succeeded: it is read, not guessed."""
    question = question_of(rollout, questions)
    if question is None:
        return GONE
    outputs = [call.output for call in rollout.calls if call.ok]
    seen = any(shown(output, question.answer, question.answer_type) for output in outputs)
    return None if seen else "an answer that no call printed"


def first_turn_gives_nothing_away(rollout: Rollout, questions: Questions) -> str | None:
    """Before anything was looked up the answer is not said, nor put into the code for it to be printed."""
    question = question_of(rollout, questions)
    if question is None or question.answer_type in ("none", "yes/no"):
        return None
    prose, _, code = rollout.messages[2].content.partition("<code>")
    if knows(prose, question) or any(knows(each, question) for each in handed(code.removesuffix("</code>"))):
        return "its first turn knows the answer"
    return None


def knows(text: str, question: Question) -> bool:
    """Whether it has the answer from elsewhere than the question."""
    days = [str(day_of(found)) for found in DAY.finditer(question.question)]
    told = " ".join([question.question, question.trajectory_id, *days])
    answer, kind = question.answer, question.answer_type
    return shown(text, answer, kind) and not shown(told, answer, kind)


def handed(code: str) -> Iterator[str]:
    """What a block prints or gives without looking at any data: its constants where they stand for a result."""
    try:
        tree = ast.parse(as_python(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call) and named(node.func) == "print":
            values = list(node.args)
        elif isinstance(node, ast.Expr | ast.Assign):
            values = [node.value]
        told = (str(value.value) for value in values if isinstance(value, ast.Constant))
        yield from (each for each in told if not QUERY.match(each))


def is_within_turns_and_tokens(rollout: Rollout) -> str | None:
    """The paper's limits: 16 turns, 10 of them with code, a prompt of 2,048 tokens and a response of 4,096."""
    prompt, tokens = sum(estimate(each.content) for each in rollout.messages[:2]), estimate(rollout.text)
    if (prompt, tokens) != (rollout.prompt_tokens, rollout.tokens):
        return "tokens that are not those of its text"
    if rollout.turns > TURNS or len(rollout.calls) > CALLS:
        return "too many turns"
    return None if prompt <= PROMPT_TOKENS and tokens <= RESPONSE_TOKENS else "too many tokens"


def reward_is_earned(rollout: Rollout, questions: Questions) -> str | None:
    question = question_of(rollout, questions)
    if question is None:
        return GONE
    executed = sum(call.ok for call in rollout.calls)
    earned = reward(rollout.answer or None, question.answer, question.answer_type, executed)
    return None if (executed, earned) == (rollout.executed, rollout.reward) else "not what it earned"


def rollouts_differ(rollouts: Dataset[Rollout]) -> Iterable[Fault]:
    """No near-duplicates: of the words that the model wrote, more than nine in ten are the same, over one trajectory."""
    bags: dict[str, list[frozenset[str]]] = defaultdict(list)
    for path in rollouts.files:
        first = 0
        for batch in row_groups(path, ["trajectory_id", "messages"]):
            for row, found in enumerate(batch.to_pylist()):
                mine = bag(" ".join(each["content"] for each in found["messages"][2:] if each["role"] == "assistant"))
                others = bags[found["trajectory_id"]]
                if any(alike(mine, other) for other in others):
                    yield Fault(str(path), first + row, "near-duplicate of another rollout over the same trajectory")
                else:
                    others.append(mine)
            first += batch.num_rows


def prompt_asks_its_question(prompt: RlPrompt, questions: Questions) -> str | None:
    """It is the prompt of an agent, and its truth is the question's."""
    question = question_of(prompt, questions)
    if question is None:
        return GONE
    names = ("trajectory_id", "budget", "question", "answer_type", "kind", "difficulty", "split")
    same = all(getattr(prompt, name) == getattr(question, name) for name in names)
    if not same or prompt.ground_truth != question.answer:
        return "the row and its question differ"
    if prompt.prompt != prompt_of(question):
        return "not the prompt of an agent"
    tokens = sum(estimate(each.content) for each in prompt.prompt)
    return None if tokens <= PROMPT_TOKENS else "a prompt of too many tokens"


def pass_rates_are_measured(prompt: RlPrompt, questions: Questions, trajectories: Trajectories) -> str | None:
    """Those of scripted policies, tried again; what a model was right about cannot be asked again here."""
    question = question_of(prompt, questions)
    if question is None:
        return GONE
    names = [each.policy for each in prompt.pass_rates]
    if len(set(names)) < len(names) or any(not 0 <= each.right <= each.tries for each in prompt.pass_rates):
        return "pass rates that cannot be"
    for each in prompt.pass_rates:
        if each.policy in POLICIES:
            found = tried(question, each.policy, each.tries, questions, trajectories)
            if found != each.right:
                return f"tried again, {each.policy} is right another number of times"
    return None


def tried(question: Question, policy: str, tries: int, questions: Questions, trajectories: Trajectories) -> int:
    """How often a scripted policy is right."""
    sandbox, says = trajectories.once(sandboxed), policy_of(policy, questions)
    played = (
        alone(conversation(question, sandbox, policy, teacher=says(question, number), seed=number))
        for number in range(tries)
    )
    return sum(right(each.said, question.answer, question.answer_type) for each in played)
