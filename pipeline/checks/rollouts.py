"""What must be true of a rollout and of a prompt to learn on, found out by running its code again."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import chain
from typing import Any

from shopwright.pipeline.checks.question_words import DAY, parse_day_match
from shopwright.pipeline.checks.record_cache import RecordCache
from shopwright.pipeline.checks.remarks import find_unread_remark
from shopwright.pipeline.checks.thoughts import SCHEMA, Known, find_moments, find_thought_fault, fold_spaces
from shopwright.pipeline.dataset import Dataset, read_row_groups
from shopwright.pipeline.evaluate.situation import SOLVER, play_offline
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.questions.engines import TrajectoryReader
from shopwright.pipeline.questions.rating import DistinctBags, collect_bag_of_words
from shopwright.pipeline.rewards.matching import extract_boxed_answer, is_answer_shown, is_right_answer
from shopwright.pipeline.rewards.tool_use import extract_final_text, reward_answer
from shopwright.pipeline.rollouts.baselines import (
    MAJORITY,
    RANDOM,
    SCRIPTED,
    list_question_players,
    open_trajectory_sandbox,
)
from shopwright.pipeline.rollouts.conversation import (
    CALLS,
    PROMPT_TOKENS,
    RESPONSE_TOKENS,
    TAG,
    TURNS,
    AnsweredQuestion,
    build_question_prompt,
    format_block_output,
    join_turn_spans,
    parse_code_turn,
)
from shopwright.pipeline.rollouts.rows import find_first_error
from shopwright.pipeline.sandbox.execute import extract_python, extract_sql
from shopwright.pipeline.stage import Fault
from shopwright.pipeline.tokens import estimate
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import RlPrompt, Rollout
from shopwright.schemas.samples import Trajectory

NAMED = ("asin", "product_name", "brand", "color", "product_types", "search_query")
# Calls whose arguments are texts to be looked for.
LOOKING = frozenset("contains isin eq startswith endswith match fullmatch query execute sql".split())
# Letters of a text that is no name: it may stand in others by chance.
SHORTEST = 2
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
ID = re.compile(r"[A-Z0-9]{8,}")
Questions = Dataset[Question]
Trajectories = Dataset[Trajectory]
UNKNOWN_QUESTION = "a question that is not there"
QUERY = re.compile(r"\s*(select|with|from)\b", re.IGNORECASE)


def question_of(row: Rollout | RlPrompt, questions: Questions) -> Question | None:
    return questions.once(RecordCache).of(row.question_id)


def question_is_there(rollout: Rollout, questions: Questions) -> str | None:
    """And the row says of it what it says itself."""
    question = question_of(rollout, questions)
    if question is None:
        return UNKNOWN_QUESTION
    same = all(
        getattr(rollout, name) == getattr(question, name)
        for name in ("trajectory_id", "budget", "kind", "difficulty", "split")
    )
    return None if same else "the row and its question differ"


def prompt_is_the_agents(rollout: Rollout, questions: Questions) -> str | None:
    """What the model is told is what an agent is told when it is tried, to the letter."""
    question = question_of(rollout, questions)
    return (
        None
        if question is None or rollout.messages[:2] == build_question_prompt(question)
        else "not the prompt of an agent"
    )


def messages_and_calls_agree(rollout: Rollout) -> str | None:
    """Assistant and interpreter take turns; each block of code is a call, and what it printed is what came back."""
    turns = rollout.messages[2:]
    calls, is_last_the_agents = divmod(len(turns), 2)
    if not is_last_the_agents or rollout.turns != calls + 1 or len(rollout.calls) != calls:
        return "messages, turns and calls do not agree"
    for place, call in enumerate(rollout.calls):
        says, heard = turns[2 * place : 2 * place + 2]
        if (says.role, heard.role) != ("assistant", "user"):
            return "assistant and interpreter do not take turns"
        # Nor may anything stand behind the block: an agent would have been cut there.
        if parse_code_turn(Reply(says.content)) != (says.content, call.code):
            return "a block of code that is not its message's"
        if heard.content != format_block_output(call.output):
            return "what came back is not what its call printed"
    last = turns[-1]
    whole = last.role == "assistant" and parse_code_turn(Reply(last.content))[1] is None
    return None if whole else "it does not end with an answer"


def spans_cover_the_text(rollout: Rollout) -> str | None:
    """`text` is the messages after the prompt, and each of its characters the model's or the interpreter's."""
    return (
        None
        if (rollout.text, rollout.spans) == join_turn_spans(rollout.messages)
        else "text and spans are not the messages'"
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
    sandbox = trajectories.once(open_trajectory_sandbox)
    try:
        # All at once: each waits for a process of its own.
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
    return (
        None
        if rollout.mistake == find_first_error(rollout.calls)
        else "a call that failed, and the row does not say so"
    )


def every_block_loads_again(rollout: Rollout) -> str | None:
    """Nothing is kept between blocks, so each that succeeded loads this trajectory itself."""
    for call in rollout.calls:
        if (
            call.ok
            and extract_sql(call.code) is None
            and not loads_trajectory(extract_python(call.code), rollout.trajectory_id)
        ):
            return "a block that does not load the trajectory"
    return None


def loads_trajectory(code: str, id: str) -> bool:
    """
    >>> loads_trajectory("conn, df = load_trajectory('a-32k')", "a-32k"), loads_trajectory("load_trajectory", "a-32k")
    (True, False)
    """
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    calls = [node for node in nodes if isinstance(node, ast.Call) and name_of_function(node.func) == "load_trajectory"]
    return any(isinstance(node, ast.Constant) and node.value == id for node in nodes) and bool(calls)


def name_of_function(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def answer_is_right(rollout: Rollout, questions: Questions) -> str | None:
    question = question_of(rollout, questions)
    if question is None:
        return UNKNOWN_QUESTION
    if (extract_boxed_answer(rollout.messages[-1].content) or "") != rollout.answer or extract_boxed_answer(
        extract_final_text(rollout.text)
    ) != rollout.answer:
        return "not the answer that its last turn gives"
    return None if is_right_answer(rollout.answer, question.answer, question.answer_type) else "a wrong answer"


def answer_was_seen(rollout: Rollout, questions: Questions) -> str | None:
    """It stands in what a call printed that succeeded: it is read, not guessed."""
    question = question_of(rollout, questions)
    if question is None:
        return UNKNOWN_QUESTION
    outputs = [call.output for call in rollout.calls if call.ok]
    seen = any(is_answer_shown(output, question.answer, question.answer_type) for output in outputs)
    return None if seen else "an answer that no call printed"


def first_turn_gives_nothing_away(rollout: Rollout, questions: Questions) -> str | None:
    """Before anything was looked up the answer is not said, nor put into the code for it to be printed."""
    question = question_of(rollout, questions)
    if question is None or question.answer_type in ("none", "yes/no"):  # words that stand in any text
        return None
    prose, _, code = rollout.messages[2].content.partition("<code>")
    if reveals_answer(prose, question) or any(
        reveals_answer(each, question) for each in list_constant_outputs(code.removesuffix("</code>"))
    ):
        return "its first turn knows the answer"
    return None


def reveals_answer(text: str, question: Question) -> bool:
    """Whether it has the answer from elsewhere than the question."""
    # A question says a day in words, and a query needs it as a date.
    days = [str(parse_day_match(found)) for found in DAY.finditer(question.question)]
    known = " ".join([question.question, question.trajectory_id, *days])
    answer, kind = question.answer, question.answer_type
    return is_answer_shown(text, answer, kind) and not is_answer_shown(known, answer, kind)


def walk_python(code: str) -> Iterator[ast.AST]:
    """All nodes of a block; none where it is no Python."""
    try:
        tree = ast.parse(extract_python(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from ast.walk(tree)


def list_constant_outputs(code: str) -> Iterator[str]:
    """What a block prints or gives without looking at any data: its constants where they stand for a result."""
    for node in walk_python(code):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call) and name_of_function(node.func) == "print":
            values = list(node.args)
        elif isinstance(node, ast.Expr | ast.Assign):
            values = [node.value]
        texts = (str(value.value) for value in values if isinstance(value, ast.Constant))
        # A query is a constant, too, and no result.
        yield from (each for each in texts if not QUERY.match(each))


def nothing_is_used_unseen(rollout: Rollout, questions: Questions, trajectories: Trajectories) -> str | None:
    """Names, ids and days in the code and in what is said stand in the question, or in an output before them.

    A text counts as a name where the trajectory holds it; the days of the question are those of its query, which other checks
    prove to be meant by its words.
    """
    question = question_of(rollout, questions)
    if question is None or rollout.trajectory_id not in trajectories.once(TrajectoryReader):
        return None  # said by other checks
    table = trajectories.once(TrajectoryReader).events(rollout.trajectory_id)
    values = trajectories.once(KnownValues).of(rollout.trajectory_id, table)
    seen = Known(question)
    for message in rollout.messages[2:]:
        if message.role == "user":
            seen.outputs.append(message.content)
            continue
        prose, _, code = message.content.partition("<code>")
        unseen = next(list_unseen_texts(prose, code.removesuffix("</code>"), seen, values), None)
        if unseen is not None:
            return f"it uses what it has not seen: {unseen}"
    return None


class KnownValues:
    """The texts of the trajectory that was looked at last."""

    def __init__(self, trajectories: Trajectories) -> None:
        self.id, self.values = "", frozenset[str]()

    def of(self, id: str, table: Any) -> frozenset[str]:
        if id != self.id:
            columns = (table[name].to_pylist() for name in NAMED)
            self.id, self.values = id, frozenset(filter(None, chain.from_iterable(columns)))
        return self.values


def list_unseen_texts(prose: str, code: str, seen: Known, values: frozenset[str]) -> Iterator[str]:
    """Of the trajectory's texts and of days those that a turn uses, and that were not to be seen before it."""
    shown = fold_spaces("\n".join([seen.question.question, SCHEMA, *seen.outputs]))
    whole = fold_spaces("\n".join(sorted(values)))
    for text in list_compared_texts(code):
        folded = fold_spaces(text)
        if len(folded) > SHORTEST and folded not in shown and folded in whole and folded not in WEEKDAYS:
            yield text
    for text in sorted(values):
        if (len(text.split()) > 1 or ID.fullmatch(text)) and text in prose and fold_spaces(text) not in shown:
            yield text
    days = seen.days
    for day in sorted(each.date() for each in find_moments(code)):
        if not {day, day - timedelta(days=1)} & days:
            yield str(day)


def list_compared_texts(code: str) -> Iterator[str]:
    """The texts with which a block compares: in comparisons, in calls that look for a text, in lists, and in SQL."""
    for node in walk_python(code):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Compare) and "action_type" not in ast.dump(node):  # whose few names the prompt says
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and name_of_function(node.func) in LOOKING:
            parts = list(node.args)
        elif isinstance(node, ast.Assign):
            parts = node.value.elts if isinstance(node.value, ast.List | ast.Set | ast.Tuple) else [node.value]
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield from extract_literals(part.value)


def extract_literals(text: str) -> Iterator[str]:
    """The text itself, or the quoted texts of a query without their wildcards.

    >>> list(extract_literals("SELECT 1 FROM events WHERE brand = 'O''Neill' AND product_name LIKE '%oak lamp%'"))
    ["O'Neill", 'oak lamp']
    """
    if QUERY.match(text):
        yield from (each.replace("''", "'").strip("%") for each in re.findall(r"'((?:[^']|'')*)'", text))
    elif re.search(r"==\s*[\"']", text):
        yield from (one or other for one, other in re.findall(r"\"([^\"]*)\"|'([^']*)'", text))
    else:
        yield text


def thoughts_are_true(rollout: Rollout, questions: Questions, trajectories: Trajectories) -> str | None:
    """What the scripted teacher says of its question and of outputs is so, and each remark is read as one on this question; a model's reckoning in its head is its own affair."""
    question = question_of(rollout, questions)
    if question is None or rollout.policy != SCRIPTED:
        return None
    if rollout.trajectory_id not in trajectories.once(TrajectoryReader):
        return None  # said by another check
    events = trajectories.once(TrajectoryReader).events(rollout.trajectory_id)
    return find_thought_fault(rollout, question, events) or find_unread_remark(rollout, question, events)


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
        return UNKNOWN_QUESTION
    executed = sum(call.ok for call in rollout.calls)
    earned = reward_answer(rollout.answer or None, question.answer, question.answer_type, executed)
    return None if (executed, earned) == (rollout.executed, rollout.reward) else "not what it earned"


def rollouts_differ(rollouts: Dataset[Rollout]) -> Iterable[Fault]:
    """No near-duplicates: of the words that the model wrote, more than nine in ten are the same, over one trajectory."""
    bags: dict[str, DistinctBags] = defaultdict(DistinctBags)
    for path in rollouts.files:
        first = 0
        for batch in read_row_groups(path, ["trajectory_id", "messages"]):
            for row, found in enumerate(batch.to_pylist()):
                mine = collect_bag_of_words(
                    " ".join(each["content"] for each in found["messages"][2:] if each["role"] == "assistant")
                )
                if not bags[found["trajectory_id"]].add(mine):
                    yield Fault(str(path), first + row, "near-duplicate of another rollout over the same trajectory")
            first += batch.num_rows


def prompt_asks_its_question(prompt: RlPrompt, questions: Questions) -> str | None:
    """It is the prompt of an agent, and its truth is the question's."""
    question = question_of(prompt, questions)
    if question is None:
        return UNKNOWN_QUESTION
    names = (
        "trajectory_id",
        "budget",
        "question",
        "asked_on",
        "answer_type",
        "kind",
        "answerable_from",
        "difficulty",
        "split",
    )
    same = all(getattr(prompt, name) == getattr(question, name) for name in names)
    if not same or prompt.ground_truth != question.answer:
        return "the row and its question differ"
    if prompt.prompt != build_question_prompt(question):
        return "not the prompt of an agent"
    tokens = sum(estimate(each.content) for each in prompt.prompt)
    return None if tokens <= PROMPT_TOKENS else "a prompt of too many tokens"


def pass_rates_are_measured(prompt: RlPrompt, questions: Questions, trajectories: Trajectories) -> str | None:
    """Those of scripted policies, tried again; what a model was right about cannot be asked again here."""
    question = question_of(prompt, questions)
    if question is None:
        return UNKNOWN_QUESTION
    names = [each.policy for each in prompt.pass_rates]
    if len(set(names)) < len(names) or any(not 0 <= each.right <= each.tries for each in prompt.pass_rates):
        return "pass rates that cannot be"
    for each in prompt.pass_rates:
        if each.policy in (SCRIPTED, RANDOM, MAJORITY):
            found = count_right_tries(question, each.policy, each.tries, questions, trajectories)
            if found != each.right:
                return f"tried again, {each.policy} is right another number of times"
    return None


def count_right_tries(
    question: Question, policy: str, tries: int, questions: Questions, trajectories: Trajectories
) -> int:
    """How often a player is right."""
    sandbox, players = trajectories.once(open_trajectory_sandbox), questions.once(list_question_players)
    player = players[SOLVER if policy == SCRIPTED else policy]
    played = (play_offline(AnsweredQuestion(question, sandbox, try_number=number), player) for number in range(tries))
    return sum(trace.score.success for trace in played)
