"""A model as judge: what it may reply, what becomes of other replies, and how logs are set side by side."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.models.valid_replies import InvalidReply
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.rollouts import scores
from shopwright.pipeline.rollouts.judge import (
    Opinion,
    draw_log_pairs,
    judge_attempts,
    parse_opinion,
    parse_verdict,
    read_real_logs,
    tally_opinions,
)
from tests.models.server import Plan, Server
from tests.rollouts.test_evaluate import tried

GOOD = 'The same amount.\n{"answer": "CORRECT"}'
BAD = 'Another day.\n{"answer": "INCORRECT"}\n\n'


def judging(server, folder):
    return Role("judge", Models(model=f"openai:toy@{server.url}"), folder)


def asked_for(body):
    return json.loads(body["messages"][1]["content"])


@pytest.mark.parametrize(
    ("text", "verdict"), [(GOOD, "CORRECT"), (BAD, "INCORRECT"), ('{"answer":"CORRECT"}', "CORRECT")]
)
def test_the_last_line_is_the_verdict(text, verdict):
    assert parse_verdict(Reply(text)) == verdict


@pytest.mark.parametrize(
    "text",
    [
        "",
        "CORRECT",
        '{"answer": "correct"}',
        '{"answer": "CORRECT"} I think.',
        '{"answer": "CORRECT"}\nOr is it?',
        '{"answer": "CORRECT", "why": "x"}',
        '{"answer": ["CORRECT"]}',
        '["CORRECT"]',
        "[" * 100_000,
    ],
)
def test_anything_else_is_no_verdict(text):
    with pytest.raises(InvalidReply):
        parse_verdict(Reply(text))


def test_a_judge_sees_question_and_both_answers_and_its_verdict_is_kept_beside_the_other_figure(tmp_path):
    found = [tried(0, said="three", answer="3", right=False), tried(1, said="4", right=False)]
    texts = {"q-0": "How many?", "q-1": "How many more?"}
    with Server(
        Plan(says=lambda body: {"content": GOOD if asked_for(body)["answer to judge"] == "three" else BAD})
    ) as server:
        rows = list(judge_attempts(found, texts, judging(server, tmp_path)))
        list(judge_attempts(found, texts, judging(server, tmp_path)))
        assert server.count == 2
        assert min(map(asked_for, server.bodies), key=str) == {
            "question": "How many more?",
            "right answer": "3",
            "answer to judge": "4",
        }
    assert [row.judged for row in rows] == ["CORRECT", "INCORRECT"]
    row = scores.score_attempts(rows)[0]
    assert (row.accuracy.share, row.judged.share) == (0.0, 0.5)
    assert [line[0] for line in scores.tabulate_accuracy(scores.score_attempts(rows)).rows] == [
        "toy (w/ tool)",
        "toy (w/ tool), judged",
    ]
    assert scores.score_attempts(found)[0].judged is None
    assert scores.score_attempts([rows[0], found[1]])[0].judged.share == 1.0  # of those that there is a verdict of


def test_a_judge_without_a_verdict_is_asked_once_more_and_then_it_is_incorrect(tmp_path):
    said = iter(["Hm.", GOOD])
    with Server(Plan(says=lambda _: {"content": next(said, "Hm.")})) as server:
        (mended,) = judge_attempts([tried(0)], {"q-0": "?"}, judging(server, tmp_path / "a"))
        (given_up,) = judge_attempts([tried(1)], {"q-1": "!"}, judging(server, tmp_path / "b"))
        assert server.count == 4
    assert (mended.judged, mended.fault) == ("CORRECT", "")
    assert given_up.judged == "INCORRECT"
    assert given_up.fault.startswith("no verdict: the last line is neither")


def test_a_judge_that_refuses_leaves_the_fault_that_there_was(tmp_path):
    with Server(Plan({"400": 1.0}, times=9)) as server:
        (found,) = judge_attempts([tried(0, fault="odd")], {"q-0": "?"}, judging(server, tmp_path))
    assert found.judged == "INCORRECT"
    assert found.fault.startswith("odd; no verdict: HTTP 400")


def test_nobody_is_asked_about_no_answer(tmp_path):
    with Server() as server:
        (found,) = judge_attempts([tried(0, said=" ")], {"q-0": "?"}, judging(server, tmp_path))
        assert server.count == 0
    assert (found.judged, found.fault) == ("INCORRECT", "")


@pytest.mark.parametrize(
    ("text", "ours_first", "wanted"),
    [
        ("FIRST\nwhy", True, Opinion("ours", "why")),
        ("FIRST\nwhy", False, Opinion("real", "why")),
        ("\n SECOND \n\nso\nit is", False, Opinion("ours", "so it is")),
        ("CANNOT_DISTINGUISH", True, Opinion("cannot", "")),
        ("SECOND\n" + "word " * 90, True, Opinion("real", " ".join(["word"] * 40))),
    ],
)
def test_the_first_line_chooses_and_the_reason_is_cut(text, ours_first, wanted):
    assert parse_opinion(Reply(text), ours_first=ours_first) == wanted


@pytest.mark.parametrize("text", ["", "first", "FIRST.", "I think\nFIRST", "FIRST SECOND"])
def test_another_first_line_is_no_choice(text):
    with pytest.raises(InvalidReply):
        parse_opinion(Reply(text), ours_first=True)


def test_pairs_differ_and_are_the_same_every_time_and_both_logs_are_as_long():
    ours = [f"o{n} a\no{n} b\no{n} c" for n in range(6)]
    real = [f"r{n} a\nr{n} b" for n in range(5)]
    found = draw_log_pairs(ours, real, 20)
    assert found == draw_log_pairs(ours, real, 20)
    assert len({(pair.ours, pair.real) for pair in found}) == 20
    assert {pair.ours.count("\n") for pair in found} == {pair.real.count("\n") for pair in found} == {1}
    assert {pair.ours_first for pair in found} == {True, False}
    assert len(draw_log_pairs(ours, real, 1_000)) == 30
    assert {pair.real.count("\n") for pair in draw_log_pairs(ours, real, 5, lines=1)} == {0}


def test_real_logs_are_read_from_each_form(tmp_path):
    logs = ["a 1\na 2", "b 1"]
    pq.write_table(pa.table({"text": [*logs, None], "n": [1, 2, 3]}), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps({"text": log}) for log in logs) + "\n\n")
    (tmp_path / "x.txt").write_text("\n\na 1\na 2\n \n\nb 1\n")
    for name in ("x.parquet", "x.jsonl", "x.txt"):
        assert read_real_logs(tmp_path / name) == logs


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.parquet", b"no"),
        ("x.jsonl", b'{"words": "a"}'),
        ("x.jsonl", b'{"text": 3}'),
        ("x.jsonl", b"text"),
        ("x.jsonl", b'["text"]'),
        ("x.txt", b"\xff\xfe"),
        ("x.txt", b"\n \n"),
    ],
)
def test_a_file_without_logs_is_told(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Problem, match="--real"):
        read_real_logs(tmp_path / name)
    with pytest.raises(Problem, match="there is no such file"):
        read_real_logs(tmp_path / f"other-{name}")


def test_a_tally_is_of_all_pairs():
    found = [Opinion("ours", ""), Opinion("ours", ""), Opinion("real", ""), Opinion("unreadable", "")]
    assert [(choice, pairs, share.share) for choice, (pairs, share) in tally_opinions(found).items()] == [
        ("real", 1, 0.25),
        ("ours", 2, 0.5),
        ("cannot", 0, 0.0),
        ("unreadable", 1, 0.25),
    ]
    assert all(share == measure_share(pairs, 4) for pairs, share in tally_opinions(found).values())
    with pytest.raises(Problem, match="no pairs"):
        tally_opinions([])


def test_the_command_tells_who_was_taken_for_real(shopwright, copy, tmp_path):
    real = tmp_path / "logs.txt"
    real.write_text("\n\n".join(f"real {n} one\nreal {n} two" for n in range(4)))

    def says(body):
        logs = asked_for(body)
        assert logs["FIRST"].count("\n") == logs["SECOND"].count("\n") == 1
        if "real 3" in body["messages"][1]["content"]:
            return {"content": "Both are nice."}
        return {"content": ("SECOND" if logs["FIRST"].startswith("real") else "FIRST") + "\nIt looks so."}

    with Server(Plan(says=says)) as server:
        options = ("--real", real, "--judge", f"openai:toy@{server.url}", "--pairs", 20, "--json")
        code, out, err = shopwright("evaluate", "realism", "--run", copy.folder, *options)
        asked = server.count
        assert shopwright("evaluate", "realism", "--run", copy.folder, *options[:-1])[0] == 0
        assert server.count == asked
    found = json.loads(out)
    counts = {each["choice"]: each["pairs"] for each in found["table"]}
    assert code == 0
    assert "realism: 20 of 20" in err
    assert counts["real"] == counts["cannot"] == 0
    assert counts["unreadable"] > 0
    assert counts["ours"] + counts["unreadable"] == 20
    assert asked == 20 + counts["unreadable"]


def test_realism_without_a_model_is_told(shopwright, small, tmp_path):
    code, _, err = shopwright("evaluate", "realism", "--run", small.folder, "--real", tmp_path / "x.txt")
    assert code == 2
    assert "Judging takes a model." in err
