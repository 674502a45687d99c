"""A rollout is right, was read from what its code printed, and its code prints the same again."""

import copy
import json
import re

import pytest

from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rollouts.conversation import format_block_output, join_turn_spans
from shopwright.pipeline.run import Run
from shopwright.pipeline.sandbox.data_loader import query_trajectory_events
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.tokens import estimate
from shopwright.schemas.rollouts import Message, Rollout
from tests.models.server import Plan, Server

STAGE = all_stages()["rollouts"]
RERUN = "a call that prints something else when it is run again"


@pytest.fixture
def row(rows):
    """One with two calls at least."""
    return copy.deepcopy(next(each for each in rows if len(each["calls"]) > 1))


def in_one_piece(row, **facts):
    """The row with everything that follows from its messages made to follow again."""
    row |= facts
    text, spans = join_turn_spans([Message.model_validate(each) for each in row["messages"]])
    return row | {"text": text, "spans": [each.model_dump() for each in spans], "tokens": estimate(text)}


def with_answer(row, answer):
    said = row["messages"][-1]["content"]
    row["messages"][-1]["content"] = re.sub(r"\\boxed\{.*\}", lambda _: rf"\boxed{{{answer}}}", said)
    return in_one_piece(row, answer=answer)


def with_call(row, place, code=None, output=None, ok=True):
    """The row with another block at this place, and what is told of it."""
    place %= len(row["calls"])
    call = row["calls"][place]
    said = row["messages"][2 + 2 * place]["content"]
    if code is not None:
        row["messages"][2 + 2 * place]["content"] = said.replace(call["code"], code)
        call["code"] = code
    call |= {"output": call["output"] if output is None else output, "ok": ok}
    row["messages"][3 + 2 * place]["content"] = format_block_output(call["output"])
    executed = sum(each["ok"] for each in row["calls"])
    return in_one_piece(row, executed=executed)


def test_every_question_of_the_split_is_answered_by_the_teacher(small, rows):
    asked = [question.id for question in small.read("questions") if question.split == "sft"]
    made = small.read("rollouts").manifest
    assert made.requested == len(asked) == made.rows + made.rejected
    assert {row["question_id"] for row in rows} <= set(asked)
    assert all(row["policy"] == "scripted" and row["reward"] == 1.0 and not row["mistake"] for row in rows)
    assert all(call["ok"] for row in rows for call in row["calls"])


def test_the_spans_tell_the_models_text_from_the_interpreters(rows):
    for row in rows:
        parts = [(each["by"], row["text"][each["start"] : each["end"]]) for each in row["spans"]]
        assert "".join(text for _, text in parts) == row["text"]
        assert all((by == "interpreter") == text.startswith("<interpreter>") for by, text in parts)
        assert [text for by, text in parts if by == "model"][-1].endswith(rf"\boxed{{{row['answer']}}}")


def test_code_is_written_in_pandas_and_in_sql_and_some_look_first(rows):
    codes = [call["code"] for row in rows for call in row["calls"]]
    assert any("conn.execute(" in code for code in codes)
    assert any("conn.execute(" not in code and "df[" in code for code in codes)
    assert 0.4 < sum(len(row["calls"]) > 1 for row in rows) / len(rows) < 0.97  # about .62, of some 30 rows


def test_a_row_as_it_was_made_passes(find_reasons, rows):
    assert find_reasons(*rows[:5]) == [set()] * 5


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row | {"question_id": "no-such-question"}, "a question that is not there"),
        (
            lambda row: row | {"kind": "review" if row["kind"] != "review" else "price"},
            "the row and its question differ",
        ),
        (lambda row: row | {"split": "test"}, "the row and its question differ"),
        (lambda row: row | {"turns": row["turns"] + 1}, "messages, turns and calls do not agree"),
        (lambda row: row | {"calls": row["calls"][:-1]}, "messages, turns and calls do not agree"),
        (lambda row: row | {"text": row["text"] + " "}, "text and spans are not the messages'"),
        (lambda row: row | {"tokens": 1}, "tokens that are not those of its text"),
        (lambda row: row | {"reward": 0.5}, "not what it earned"),
        (lambda row: row | {"executed": 0}, "not what it earned"),
        (lambda row: with_answer(row, f"1{row['answer']}"), "a wrong answer"),
        (lambda row: row | {"answer": "9999"}, "not the answer that its last turn gives"),
        (lambda row: with_call(row, 0, output="nothing"), RERUN),
        (lambda row: row | {"mistake": "KeyError"}, "a call that failed, and the row does not say so"),
        (lambda row: with_call(row, -1, ok=False), "its last call failed"),
    ],
)
def test_a_changed_row_is_found_and_the_reason_told(find_reasons, row, change, reason):
    assert reason in find_reasons(change(row))[0]


def other_speaker(row):
    row["messages"][2]["role"] = "user"
    return row


def other_block(row):
    row["calls"][0]["code"] += "\n"
    return row


def other_output(row):
    row["messages"][3]["content"] = format_block_output("something else")
    return in_one_piece(row)


def more_code(row):
    row["messages"][-1]["content"] += " <code>\n1\n</code>"
    return in_one_piece(row)


def all_failed(row):
    for call in row["calls"]:
        call["ok"] = False
    return row


def many_turns(row):
    for _ in range(12):
        row["messages"][2:2] = copy.deepcopy(row["messages"][2:4])
        row["calls"].insert(0, copy.deepcopy(row["calls"][0]))
    return in_one_piece(row, turns=row["turns"] + 12)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (other_speaker, "assistant and interpreter do not take turns"),
        (other_block, "a block of code that is not its message's"),
        (other_output, "what came back is not what its call printed"),
        (more_code, "it does not end with an answer"),
        (all_failed, "no call that succeeded"),
        (many_turns, "too many turns"),
        (lambda row: row | {"trajectory_id": "no-such-one"}, "a trajectory that is not there"),
    ],
)
def test_a_conversation_that_cannot_have_been_is_found(find_reasons, row, change, reason):
    assert reason in find_reasons(change(row))[0]


def test_an_answer_that_no_call_printed_is_a_guess(find_reasons, row):
    load = f'from data_loader import load_trajectory\nconn, df = load_trajectory("{row["trajectory_id"]}")'
    for place in range(len(row["calls"])):
        row = with_call(row, place, f"{load}\nprint('looked at it')", "looked at it")
    assert "an answer that no call printed" in find_reasons(row)[0]


def test_a_first_turn_that_prints_a_constant_knows_the_answer(find_reasons, rows):
    row = copy.deepcopy(
        next(r for r in rows if len(r["answer"]) < 40 and r["answer"] not in r["messages"][1]["content"])
    )
    code = f"print({row['answer']!r})\n" + row["calls"][0]["code"]
    row["messages"][2]["content"] = row["messages"][2]["content"].replace(row["calls"][0]["code"], code)
    row["calls"][0]["code"] = code
    assert find_reasons(in_one_piece(row))[0] >= {"its first turn knows the answer", RERUN}


def test_a_first_turn_that_says_the_answer_in_words_gives_it_away(find_reasons, rows):
    row = copy.deepcopy(next(each for each in rows if len(each["answer"]) > 12 and ";" not in each["answer"]))
    row["messages"][2]["content"] = f"It will be {row['answer']}. " + row["messages"][2]["content"]
    assert "its first turn knows the answer" in find_reasons(in_one_piece(row))[0]


def test_a_name_or_a_day_that_was_not_seen_is_found(small, find_reasons, rows):
    """A brand of the log, an id and a day that neither the question nor an output before has."""
    row = copy.deepcopy(rows[0])
    events = query_trajectory_events(small.folder / "trajectories", row["trajectory_id"])
    asin = next(each for each in events["asin"].to_pylist() if each and each not in row["text"])
    brand = next(
        each
        for each in events["brand"].to_pylist()
        if each and each.lower() not in (row["text"] + row["messages"][1]["content"]).lower()
    )
    code = row["calls"][0]["code"]
    for line, unseen in (
        (f'part = df[df["asin"] == "{asin}"]', asin),
        (f'part = df[df["brand"] == "{brand}"]', brand),
        ('part = df[df["timestamp"] >= "2001-02-03"]', "2001-02-03"),
    ):
        changed = with_call(copy.deepcopy(row), 0, code.replace("\n\n", f"\n\n# \n{line}\n", 1))
        assert f"it uses what it has not seen: {unseen}" in find_reasons(changed)[0]


def test_a_thought_that_nothing_bears_out_is_found(find_reasons, row):
    row["messages"][4]["content"] = "There are 86117 rows. " + row["messages"][4]["content"]
    assert find_reasons(in_one_piece(row))[0] == {"a thought that nothing bears out: 86117"}


def test_a_block_that_does_not_load_is_found(find_reasons, row):
    changed = with_call(row, 0, "print('hello')", "hello")
    assert "a block that does not load the trajectory" in find_reasons(changed)[0]


def test_a_model_that_writes_what_came_back_itself_is_found(find_reasons, row):
    row["messages"][-1]["content"] = "<interpreter>\n1\n</interpreter>" + row["messages"][-1]["content"]
    assert "the model writes a tag that is not its own" in find_reasons(in_one_piece(row))[0]


def test_another_prompt_than_an_agents_is_found(find_reasons, row):
    row["messages"][1]["content"] += " Please."
    assert "not the prompt of an agent" in find_reasons(row)[0]


def test_a_rollout_too_long_is_found(find_reasons, row):
    row["messages"][2]["content"] = "word " * 5_000 + row["messages"][2]["content"]
    assert "too many tokens" in find_reasons(in_one_piece(row))[0]


def test_rollouts_that_say_the_same_are_near_duplicates(small, tmp_path, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq

    from shopwright.pipeline.checks.rollouts import rollouts_differ
    from shopwright.pipeline.dataset import Dataset

    other = rows[0] | {"id": "again"}
    elsewhere = rows[0] | {"id": "elsewhere", "trajectory_id": "another"}
    (tmp_path / "rollouts").mkdir()
    table = pa.Table.from_pylist([*rows, other, elsewhere], schema=small.read("rollouts").table().schema)
    pq.write_table(table, tmp_path / "rollouts" / "part-00000.parquet")
    found = list(rollouts_differ(Dataset(tmp_path, "rollouts", Rollout)))
    assert [fault.row for fault in found] == [len(rows)]


def test_mistakes_are_made_in_the_share_that_is_asked_for_and_mended(copy):
    made = copy.build("rollouts", rebuild=True, mistakes=1.0)
    rows = copy.read("rollouts").table().to_pylist()
    assert made.rows > 9 * made.rejected
    assert len({row["mistake"] for row in rows}) > 2
    for row in rows:
        assert [call["ok"] for call in row["calls"]].count(False) == 1
        assert row["mistake"] in next(call["output"] for call in row["calls"] if not call["ok"])
        assert row["reward"] == 1.0


def test_a_split_without_questions_says_what_to_do(tmp_path):
    run = Run(tmp_path / "run", workers=1)
    run.build("questions", products=240, count=1, tokens="6k", per_trajectory=1)
    have = {question.split for question in run.read("questions")}
    empty = next(split for split in ("test", "sft", "rl") if split not in have)
    with pytest.raises(Problem, match=f"No question is in the split {empty}"):
        run.build("rollouts", split=empty)


def answering(replies):
    """A server that says what `replies` gives for the messages so far."""
    return Server(Plan(says=lambda body: {"content": replies(body["messages"])}))


def by_table(rows):
    """Plays each rollout again as the table has it, word for word."""
    known = {row["messages"][1]["content"]: [each["content"] for each in row["messages"][2::2]] for row in rows}

    def replies(messages):
        said = known.get(messages[1]["content"], [r"\boxed{none}"])
        return said[min(len(messages) // 2 - 1, len(said) - 1)].removesuffix("</code>")

    return replies


def test_a_model_writes_rollouts_and_only_right_ones_without_errors_ship(copy, rows):
    wrong, failing, silent = rows[:3]
    replies = by_table(rows)

    def says(messages):
        question = messages[1]["content"]
        if question == wrong["messages"][1]["content"]:
            return r"It is \boxed{surely not this}"
        if question == failing["messages"][1]["content"] and len(messages) == 2:
            return "Let me see. <code>\ndf\n"
        if question == silent["messages"][1]["content"]:
            return "I do not know."
        if question == failing["messages"][1]["content"]:
            return replies(messages[:-2])
        return replies(messages)

    with answering(says) as server:
        models = Models(roles={"agent": f"openai:small@{server.url}"})
        made = Run(copy.folder, workers=1, models=models).build("rollouts", rebuild=True)
        asked = server.count
        Run(copy.folder, workers=1, models=models).build("rollouts", rebuild=True)
        assert server.count == asked
    found = copy.read("rollouts").table().to_pylist()
    assert made.rows + made.rejected == made.requested
    assert all(row["policy"] == "openai:small" and row["reward"] == 1.0 for row in found)
    held = {row.id: row for row in copy.read("rollouts").quarantine}
    assert held[wrong["id"]].reasons == ["a wrong answer"]
    assert held[silent["id"]].reasons == ["no answer: no answer in a box"]
    assert held[failing["id"]].reasons == ["a call that failed: NameError"]
    tries = json.loads(held[failing["id"]].record)["tries"]
    assert all(each["key"] for each in tries)
    assert server.bodies[0]["stop"] == ["</code>"]


def test_a_rollout_is_asked_for_again_by_its_reason(copy, rows):
    with answering(lambda messages: "I do not know.") as server:
        models = Models(roles={"agent": f"openai:small@{server.url}"})
        run = Run(copy.folder, workers=1, models=models)
        assert run.build("rollouts", rebuild=True).rows == 0
    with answering(by_table(rows)) as server:
        models = Models(roles={"agent": f"openai:small@{server.url}"})
        run = Run(copy.folder, workers=1, models=models)
        assert run.requeue("rollouts", "no answer") > 0
        assert run.build("rollouts").rows > 0
