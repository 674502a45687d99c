"""An agent on a run's questions: no reply stops it, no figure flatters, and nothing is asked twice."""

import json
import shutil
from collections import Counter
from dataclasses import asdict
from itertools import combinations
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiohttp import web

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.evaluate.audit import AuditCell, audit, read_audit
from shopwright.pipeline.evaluate.situation import evaluate
from shopwright.pipeline.evaluate.statistics import estimate_pass_at, measure_share
from shopwright.pipeline.evaluate.storage import read_results, write_results
from shopwright.pipeline.evaluate.table import Table
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.report import write_report
from shopwright.pipeline.questions.engines import TrajectoryReader
from shopwright.pipeline.rollouts import scores
from shopwright.pipeline.rollouts.conversation import CALLS
from shopwright.pipeline.rollouts.evaluate import (
    Plan,
    Questions,
    count_text_answerable,
    limit_by_kind,
    open_questions,
    select_questions,
)
from shopwright.pipeline.run import Run
from shopwright.pipeline.sandbox.execute import Limits
from shopwright.pipeline.sandbox.interpreter import Sandbox
from shopwright.pipeline.stages import all_stages, upstream
from shopwright.pipeline.verify import find_wrong_files
from shopwright.schemas.questions import Question
from shopwright.schemas.rollouts import Attempt
from tests.models.server import Plan as Trouble
from tests.models.server import Server
from tests.rows import write_dataset

ALL = Plan()
SHORT = Limits(cpu=1, wall=2.0)
LOAD = "from data_loader import load_trajectory\nconn, df = load_trajectory({id!r})\n"


class Refusing(Server):
    """One that can read no prompt of more than so many characters, and says so as vLLM does."""

    most = 0

    def refusal(self, status):
        words = "This model's maximum context length is 2048 tokens. However, you requested 9001 tokens."
        return web.json_response({"error": {"message": words}}, status=400)

    async def asked(self, request):
        body = await request.json()
        long = sum(len(each["content"]) for each in body["messages"]) > self.most
        return self.refusal(400) if long else await super().asked(request)


def tried(number=0, **more):
    """An attempt at a question, right and without a call unless said otherwise."""
    facts = {
        "question_id": f"q-{number}",
        "trajectory_id": "t",
        "budget": "32k",
        "kind": "brand",
        "answerable_from": ["text", "table"],
        "difficulty": "easy",
        "position": "early",
        "policy": "toy",
        "mode": "tool",
        "try_number": 0,
        "said": "3",
        "answer": "3",
        "answer_type": "integer",
        "right": True,
        "judged": "",
        "called": 0,
        "executed": 0,
        "reward": 1.0,
        "turns": 1,
        "prompt_tokens": 0,
        "tokens": 0,
        "seconds": 0.0,
        "fault": "",
    }
    facts |= more
    return Attempt(id=f"{facts['question_id']}-{facts['mode']}-{facts['try_number']}", **facts)


def whole(found):
    """The figures of all of one mode."""
    (row,) = [each for each in scores.score_attempts(found) if each.by == "all"]
    return row


def evaluate_questions(run, agent, plan=ALL):
    return evaluate(open_questions(run.read("questions"), run.read("trajectories"), plan), agent).rows


def asking(server, folder, **options):
    models = Models(model=f"openai:toy@{server.url}", at_once=4, **options)
    return Role("agent", models, folder, "evaluate-questions")


@pytest.fixture
def copy(copy):
    """With no more than questions are made from: each command writes the report, and that of all takes seconds."""
    for name in set(all_stages()) - set(upstream("questions")):
        copy.clear(name)
    return copy


@pytest.fixture(scope="session")
def known(small):
    """What stands in the prompt, and the question that it is."""
    found = {}
    for each in small.read("questions"):
        found[each.trajectory_id, each.question] = each
        found[each.question] = each
    return found


def facts_of(body):
    """What the prompt says of the question."""
    return json.loads(body["messages"][1]["content"].strip().splitlines()[-1])


def by_code(known):
    """A model that always looks it up first, in the question's own SQL."""

    def says(body):
        facts = facts_of(body)
        question = known[facts["trajectory"], facts["question"]]
        if len(body["messages"]) > 2:
            return {"content": f"So it is \\boxed{{{question.answer}}}."}
        code = f"{LOAD.format(id=facts['trajectory'])}conn.execute({question.sql!r}).fetchall()"
        return {"content": f"Let me look.\n<code>\n{code}\n"}  # without its end, at which servers stop

    return says


def by_heart(known):
    return lambda body: {"content": f"\\boxed{{{known[facts_of(body)['question']].answer}}}"}


# Who plays


def test_the_solver_is_always_right(small):
    for split in ("test", "sft"):
        row = whole(evaluate_questions(small, "solver", Plan(split=split, limit=10)))
        assert (row.accuracy.share, row.tcr, row.succ_tcr, row.reward) == (1.0, 1.0, 1.0, 1.0)
        assert row.turns >= 2


@pytest.mark.parametrize("policy", ["majority", "random"])
def test_who_knows_nothing_of_the_trajectory_is_hardly_ever_right(untuned, policy):
    found = evaluate_questions(untuned, policy, Plan(modes=("text", "tool")))
    for mode in ("text", "tool"):
        row = whole([each for each in found if each.mode == mode])
        assert row.accuracy.share <= 0.2
        assert (row.tcr, row.succ_tcr, row.turns) == (0.0, 0.0, 1.0)
        assert all(each.said for each in found)


def test_a_model_that_looks_everything_up_is_right(small, known, tmp_path):
    with Server(Trouble(says=by_code(known))) as server:
        found = evaluate_questions(small, asking(server, tmp_path))
    row = whole(found)
    assert (row.accuracy.share, row.tcr, row.succ_tcr, row.turns, row.reward) == (1.0, 1.0, 1.0, 2.0, 1.0)
    assert all(each.said == each.answer and each.tokens == 6 and not each.fault for each in found)
    assert {each.policy for each in found} == {"openai:toy"}


def test_a_model_that_knows_it_without_a_tool_is_right_in_both_modes_and_calls_nothing(small, known, tmp_path):
    with Server(Trouble(says=by_heart(known))) as server:
        found = evaluate_questions(small, asking(server, tmp_path), Plan(modes=("text", "tool")))
        texts = {each.id: each.text for each in small.read("trajectories")}
        read_out = [body["messages"][1]["content"] for body in server.bodies if "stop" not in body]
    told = [each for each in found if "text" in each.answerable_from]
    assert Counter(each.mode for each in told) == {"text": len(told) // 2, "tool": len(told) // 2}
    assert {each.mode for each in found if each not in told} == {"tool"}
    assert all(each.right and not each.called for each in found)
    wanted = Counter(texts[each.trajectory_id] for each in found if each.mode == "text")
    assert wanted == Counter(text.rsplit("\n\n", 1)[0] for text in read_out)


def test_without_tools_only_what_the_text_can_answer_is_asked(small):
    questions = small.read("questions")
    of_split = [each for each in questions if each.split == "sft"]
    told = [each for each in of_split if "text" in each.answerable_from]
    assert 0 < len(told) < len(of_split)
    assert select_questions(questions, Plan(modes=("text",), split="sft")) == told
    assert select_questions(questions, Plan(modes=("text", "tool"), split="sft")) == of_split
    few = select_questions(questions, Plan(modes=("text",), split="sft", limit=5))
    assert len(few) == 5
    assert all("text" in each.answerable_from for each in few)
    assert count_text_answerable(questions, Plan(split="sft")) == f"{len(told)} of {len(of_split)}"


def test_where_the_text_answers_nothing_it_is_said(small, tmp_path):
    questions = [each for each in small.read("questions") if each.answerable_from == ["table"]]
    found, split = write_dataset(tmp_path, "questions", Question, questions), questions[0].split
    with pytest.raises(Problem, match=f"answers no question of the split {split}. Say --mode tool."):
        select_questions(found, Plan(modes=("text",), split=split))


ENDLESS = "<code>\nwhile True: pass\n</code>"
NONSENSE = (
    "",
    " \n",
    "word " * 20_000,
    "<code>",
    "</code> and so on",
    "<code></code>",
    "<code>x</code>" * 300,
    "<code>" + "x = 1\n" * 20_000,
    "<interpreter>3</interpreter>",
    "\\boxed{" * 5_000,
    "\\boxed{" + "9" * 100_000 + "}",
    ENDLESS,
    "<code>\nimport os; os._exit(3)\n</code>",
    '<tool_call>{"name"</tool_call>',
)


def nonsense(body):
    text = NONSENSE[body["seed"]]
    return {"content": "I give up." if text == ENDLESS and len(body["messages"]) > 2 else text}


def test_nonsense_of_any_kind_is_wrong_and_stops_nothing(small, tmp_path):
    questions, trajectories = small.read("questions"), small.read("trajectories")
    plan = Plan(tries=len(NONSENSE), limit=1)
    with (
        Server(Trouble(says=nonsense)) as server,
        Sandbox(TrajectoryReader(trajectories).events, limits=SHORT) as sandbox,
    ):
        found = evaluate(Questions(questions, trajectories, plan, sandbox), asking(server, tmp_path)).rows
    assert len(found) == len(NONSENSE)
    assert not any(each.right for each in found)
    assert all(each.fault or each.said for each in found)
    assert max(len(each.said) for each in found) < 20_000
    assert {(each.called, each.executed) for each in found if each.try_number == NONSENSE.index(ENDLESS)} == {(1, 0)}
    stubborn = NONSENSE.index("<code>x</code>" * 300)
    assert {(each.called, each.executed) for each in found if each.try_number == stubborn} == {(CALLS + 1, 0)}
    write_results(Attempt, found, tmp_path / "found.parquet", {})
    assert read_results(Attempt, tmp_path / "found.parquet")[0] == found


@pytest.mark.parametrize(
    ("trouble", "fault"),
    [("length", "cut short before its answer"), ("filtered", "filter"), ("400", "HTTP 400"), ("wrong", "no answer")],
)
def test_replies_that_are_cut_or_refused_are_wrong_and_say_why(small, tmp_path, trouble, fault):
    says = {"content": "I think that it is three"}
    with Server(Trouble({trouble: 1.0}, times=10**6, says=lambda _: says)) as server:
        found = evaluate_questions(small, asking(server, tmp_path))
    assert not any(each.right for each in found)
    assert all(fault in each.fault for each in found)


def test_where_every_prompt_is_too_long_the_cell_is_a_dash(small, known, tmp_path):
    with Refusing(Trouble(says=by_heart(known))) as server:
        server.most = 5_000
        found = evaluate_questions(small, asking(server, tmp_path), Plan(modes=("text", "tool")))
    rows = scores.score_attempts(found)
    text, tool = scores.tabulate_accuracy(rows).rows
    assert text == ["openai:toy (w/o tool)", "–"]
    assert tool[1].startswith("100.0 ±")
    assert all("maximum context length" in each.fault for each in found if each.mode == "text")


def test_a_wrong_answer_is_not_a_prompt_that_was_too_long():
    table = scores.tabulate_accuracy(scores.score_attempts([tried(right=False, fault="HTTP 400: no such thing")]))
    (line,) = table.rows
    assert line[1].startswith("0.0 ±")


def test_each_try_has_a_seed_of_its_own_and_nothing_is_asked_twice(small, known, tmp_path):
    with Server(Trouble(says=by_code(known))) as server:
        first = evaluate_questions(small, asking(server, tmp_path), Plan(tries=3))
        asked = server.count
        again = evaluate_questions(small, asking(server, tmp_path), Plan(tries=3))
        assert server.count == asked
        assert {body["seed"] for body in server.bodies} == {0, 1, 2}
    assert asked == 2 * len(first)
    assert len({each.id for each in first}) == len(first)
    assert [timeless(each) for each in again] == [timeless(each) for each in first]


def timeless(attempt):
    """Code that runs again takes another time."""
    return attempt.model_copy(update={"seconds": 0.0})


def test_strict_takes_the_same_text_only(small, known, tmp_path):
    with Server(
        Trouble(
            says=lambda body: {
                "content": by_heart(known)(body)["content"].replace("{", "{ ").upper().replace("BOXED", "boxed")
            }
        )
    ) as server:
        role = asking(server, tmp_path)
        lenient, strict = (
            whole(evaluate_questions(small, role, Plan(split="sft", strict=strict))) for strict in (False, True)
        )
    assert lenient.accuracy.share == 1.0
    assert strict.accuracy.share < 1.0


# The audit


def test_the_questions_pass_the_audit(small):
    situation = open_questions(small.read("questions"), small.read("trajectories"), Plan(split="sft", limit=12))
    cells = audit([situation])
    assert {cell.policy for cell in cells} == {"solver", "random", "majority"}
    assert all(cell.success.share == 1 for cell in cells if cell.policy == "solver")
    assert not situation.judge(cells).failed


def test_a_question_that_a_guess_answers_fails_the_audit(small):
    """As where every question of a kind has the same answer."""
    situation = open_questions(small.read("questions"), small.read("trajectories"), Plan(limit=1))
    paid = AuditCell({"kind": "brand"}, "majority", measure_share(6, 10), {"reward": 0.2})
    assert situation.judge([paid]).cheated == ["brand: majority earns +0.200"]
    unpaid = AuditCell({"kind": "brand"}, "majority", measure_share(1, 10), {"reward": -0.8})
    assert not situation.judge([unpaid]).failed


def test_the_audit_is_printed_and_kept(shopwright, untuned, tmp_path):
    copy = Run(shutil.copytree(untuned.folder, tmp_path / "copy"), workers=1)
    code, out, _ = shopwright("audit", "questions", "--run", copy.folder, "--limit", 60)
    assert code == 0, out
    assert "\nnot solved: none\n" in out
    facts, cells = read_audit(copy.folder, "questions")
    assert (facts["split"], facts["made"]) == ("test", copy.read("questions").manifest.fingerprint)
    assert sum(cell.episodes for cell in cells if cell.policy == "random") == 60
    assert "can they be guessed?" in (copy.folder / "report.html").read_text()


# Which questions


def question(number, kind, budget):
    return SimpleNamespace(id=f"q-{number:04}", kind=kind, budget=budget)


MANY = [
    question(number, kind, budget)
    for number, (kind, budget) in enumerate(
        (kind, budget) for kind in ("brand", "price", "search") for budget in ("32k", "64k") for _ in range(20)
    )
]


@pytest.mark.parametrize(("most", "each"), [(6, 1), (12, 2), (60, 10)])
def test_a_limit_takes_from_each_kind_and_budget_alike(most, each):
    assert set(Counter((one.kind, one.budget) for one in limit_by_kind(MANY, most)).values()) == {each}


def test_few_questions_have_every_kind_and_every_budget():
    taken = limit_by_kind(MANY, 3)
    assert {one.kind for one in taken} == {"brand", "price", "search"}
    assert {one.budget for one in taken} == {"32k", "64k"}


def test_a_larger_limit_holds_the_smaller_ones_questions_in_their_order():
    taken = [limit_by_kind(MANY, most) for most in (5, 17, 1_000)]
    assert {one.id for one in taken[0]} < {one.id for one in taken[1]}
    assert taken[2] == MANY
    assert taken[1] == sorted(taken[1], key=MANY.index)
    assert taken[1] == limit_by_kind(MANY[::-1], 17)[::-1]
    assert [one.id for one in taken[1]] != [one.id for one in MANY[:17]]


def test_a_limit_does_not_take_the_first_questions_of_a_kind():
    """Those are of the first few customers."""
    taken = {one.id for one in limit_by_kind(MANY, 30)}
    first = {one.id for one in MANY if MANY.index(one) % 20 < 5}
    assert len(taken & first) < 20


def test_questions_are_those_of_the_split_and_budget(small):
    questions = small.read("questions")
    assert [each.id for each in select_questions(questions, Plan(split="rl", budgets=("6k",)))] == [
        each.id for each in questions if each.split == "rl"
    ]
    with pytest.raises(Problem, match=r"has no questions of 32k\. It has: 6k"):
        select_questions(questions, Plan(budgets=("6k", "32k")))


# Figures


@pytest.mark.parametrize("tries", range(1, 7))
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(tries):
    for right in range(tries + 1):
        for k in range(1, tries + 1):
            draws = list(combinations([True] * right + [False] * (tries - right), k))
            assert estimate_pass_at(k, tries, right) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_figures_of_several_tries_are_means_over_questions():
    found = [tried(0, try_number=n, right=n == 0) for n in range(4)]
    found += [tried(1, try_number=n, right=False, reward=-1.0) for n in range(4)]
    row = whole(found)
    assert (row.questions, row.passes.tries, row.accuracy) == (2, 4, measure_share(0.25, 2))
    assert {k: each.share for k, each in row.passes.pass_at.items()} == {1: 0.125, 2: 0.25, 4: 0.5}
    assert {k: each.share for k, each in row.passes.pass_all.items()} == {1: 0.125, 2: 0.0, 4: 0.0}
    assert row.accuracy.share == 0.125
    table = scores.tabulate_question_passes(scores.score_attempts(found))
    assert table.columns[3:] == ["tasks", "pass@1, %", "pass@2, %", "pass@4, %", "pass^2, %", "pass^4, %"]
    whole_line, budget, difficulty = table.rows
    assert whole_line[:3] == ["toy (w/ tool)", "all", "all"]
    assert [cell.split()[0] for cell in whole_line[3:]] == ["2", "12.5", "25.0", "50.0", "0.0", "0.0"]
    assert budget[1:] == ["budget", "32k", *whole_line[3:]]
    assert difficulty[1] == "difficulty"


def test_a_call_that_was_tried_counts_for_tcr_and_one_that_ran_for_succ_tcr():
    calls = [(0, 0), (3, 0), (2, 1), (1, 1)]
    row = whole([tried(number, called=called, executed=ran) for number, (called, ran) in enumerate(calls)])
    assert (row.tcr, row.succ_tcr) == (0.75, 0.5)


def test_groups_are_of_one_mode_and_in_their_natural_order():
    found = [
        tried(0, budget="64k", position="", difficulty="hard", kind="search"),
        tried(1, budget="1m", position="late", difficulty="easy", right=False),
        tried(2, budget="64k", position="early", difficulty="medium", mode="text", right=False),
        tried(3, answerable_from=["table"], budget="1m", position="late", difficulty="easy", right=False),
    ]
    rows = scores.score_attempts(found)
    assert [(each.mode, each.by, each.value) for each in rows] == [
        *[("text", by, value) for by, value in [("all", "all"), ("budget", "64k"), ("kind", "brand")]],
        *[
            ("text", "answerable from", "text and table"),
            ("text", "difficulty", "medium"),
            ("text", "position", "early"),
        ],
        *[("tool", by, value) for by, value in [("all", "all"), ("budget", "64k"), ("budget", "1m")]],
        *[("tool", "kind", "search"), ("tool", "kind", "brand")],
        *[("tool", "answerable from", value) for value in ("text and table", "table alone")],
        *[("tool", "difficulty", "easy")],
        *[("tool", "difficulty", "hard"), ("tool", "position", "late"), ("tool", "position", "none")],
    ]
    assert scores.tabulate_accuracy(rows) == Table(
        ["accuracy, %", "64k", "1m"],
        [["toy (w/o tool)", "0.0 ±39.7", "–"], ["toy (w/ tool)", "100.0 ±39.7", "0.0 ±32.9"]],
    )
    assert [line[:2] for line in scores.tabulate_calls(rows).rows] == [
        ["64k", "toy (w/o tool)"],
        ["64k", "toy (w/ tool)"],
        ["1m", "toy (w/ tool)"],
    ]


# The command


def test_the_command_says_of_how_many_questions_the_figures_without_a_tool_are(shopwright, copy):
    options = ("evaluate", "questions", "--run", copy.folder, "--agent", "majority", "--mode", "both", "--split", "sft")
    code, out, _ = shopwright(*options)
    assert code == 0
    questions = [each for each in copy.read("questions") if each.split == "sft"]
    mine = sum("text" in each.answerable_from for each in questions)
    assert f"w/o tool   {mine} questions: the text can answer {mine} of {len(questions)} of the split" in out
    assert f"(of the split {mine} of {len(questions)})" in (copy.folder / "report.html").read_text()


def test_the_command_prints_both_tables_and_writes_every_try(shopwright, copy):
    options = ("evaluate", "questions", "--run", copy.folder)
    code, out, err = shopwright(*options, "--limit", 6)
    assert code == 0
    assert "solver (w/ tool)  100.0 ±" in out
    assert "TCR   SuccTCR" in out
    assert "questions: 6 of 6" in err
    path = copy.folder / "evaluations" / "questions-solver.parquet"
    assert str(path) in out
    assert pq.read_schema(path).equals(arrow_schema(Attempt))
    assert not [each for name in ("questions", "trajectories") for each in damaged_of(copy, name)]
    page = (copy.folder / "report.html").read_text()
    assert "How well the questions are answered" in page
    assert "solver (w/ tool)" in page
    assert "on earlier questions" not in page


def damaged_of(run, name):
    dataset = run.read(name)
    return find_wrong_files(dataset, dataset.manifest)


def test_what_is_printed_for_scripts_is_what_the_file_holds(shopwright, copy, tmp_path):
    from datasets import Dataset

    options = ("--agent", "random", "--mode", "both", "--k", 2, "--to", tmp_path / "tries.parquet", "--json")
    code, out, _ = shopwright("evaluate", "questions", "--run", copy.folder, *options)
    assert code == 0
    rows = [Attempt.model_validate(row) for row in Dataset.from_parquet(str(tmp_path / "tries.parquet"))]
    told = json.loads(out)
    assert told["rows"] == json.loads(json.dumps([asdict(each) for each in scores.score_attempts(rows)]))
    assert told["answered"] == told["asked"] == len(rows)
    assert not (copy.folder / "evaluations").exists()


def test_a_command_that_is_spent_goes_on_where_it_stopped(shopwright, copy, known):
    with Server(Trouble(says=by_code(known))) as server:
        options = ("evaluate", "questions", "--run", copy.folder, "--agent", f"openai:toy@{server.url}")
        options = (*options, "--at-once", 2, "--limit", 4)
        code, out, err = shopwright(*options, "--max-tokens", 30)
        assert (code, out) == (3, "")
        assert "--max-tokens 30 are used up" in err
        before = server.count
        assert 0 < before < 6
        assert shopwright(*options)[0] == 0
        asked = server.count
        code, out, _ = shopwright(*options)
        assert (code, server.count) == (0, asked)
        assert len({json.dumps(body) for body in server.bodies}) == asked
    assert "openai:toy (w/ tool)  100.0 ±" in out


def test_a_judge_is_asked_where_one_is_named_and_its_figure_stands_below(shopwright, copy, known):
    def says(body):
        asked = json.loads(body["messages"][1]["content"].splitlines()[-1])
        return {"content": '{"answer": "INCORRECT"}'} if "answer to judge" in asked else by_heart(known)(body)

    with Server(Trouble(says=says)) as server:
        options = ("evaluate", "questions", "--run", copy.folder, "--limit", 3, "--model", f"openai:toy@{server.url}")
        assert "judged" not in shopwright(*options)[1]
        assert server.count == 3
        code, out, err = shopwright(*options, "--judge", f"openai:toy@{server.url}")
        assert (code, server.count) == (0, 6)
        assert [body["temperature"] for body in server.bodies[3:]] == [0.0] * 3
    assert "openai:toy (w/ tool)          100.0 ±" in out
    assert "openai:toy (w/ tool), judged  0.0 ±" in out
    assert "judge: 3 of 3" in err


def test_replies_are_drawn_as_in_the_paper_unless_a_recipe_says_otherwise(shopwright, copy, known, tmp_path):
    (tmp_path / "recipe.toml").write_text("[sampling.agent]\ntemperature = 0.1\nmax_tokens = 77\n")
    with Server(Trouble(says=by_heart(known))) as server:
        options = ("evaluate", "questions", "--run", copy.folder, "--agent", f"openai:toy@{server.url}", "--limit", 1)
        shopwright(*options)
        shopwright(*options, "--recipe", tmp_path / "recipe.toml")
    drawn = [(body["temperature"], body["top_p"], body["max_tokens"]) for body in server.bodies]
    assert drawn == [(1.0, 0.6, 4_096), (0.1, 1.0, 77)]


def test_the_report_compares_agents_and_passes_over_other_files(copy):
    folder = copy.folder / "evaluations"
    made = {"split": "test", "made": copy.read("questions").manifest.fingerprint}
    write_results(Attempt, [tried(0, policy="<one>")], folder / "questions-one.parquet", made)
    two = [
        tried(0, policy="two", budget="64k", judged="CORRECT"),
        tried(1, policy="two", budget="64k", judged="INCORRECT"),
    ]
    write_results(Attempt, two, folder / "questions-two.parquet", made | {"made": "else"})
    (folder / "questions-three.parquet").write_bytes(b"no parquet")
    pq.write_table(pa.table({"id": ["x"]}), folder / "questions-four.parquet")
    page = write_report(copy).read_text()
    assert "&lt;one&gt; (w/ tool)" in page
    assert "two (w/ tool) <small>on earlier questions</small>" in page
    assert page.count("on earlier questions") == 1
    assert "50.0 <small>" in page
    assert "http" not in page.partition("How well")[2].partition("<h2>")[0]
    assert "three" not in page.partition("How well")[2].partition("<h2>")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mode", "text"), "The solver answers with code only."),
        (
            ("--agent", "gpt"),
            "There is no player gpt. There are: solver, random, majority, and models (openai:NAME@URL).",
        ),
        (("--judge", "scripted"), "Judging takes a model."),
        (("--budgets", "much"), "--budgets: 'much' is not a number of tokens"),
        (("--budgets", "2m"), "The split test has no questions of 2m. It has: 6k."),
        (("--split", "dev"), "invalid choice: 'dev'"),
        (("--limit", "0"), "0 is not a whole number from 1 on"),
        (("--agent", "openai:toy@http://127.0.0.1:9/v1", "--max-cost", "1"), "--max-cost needs to know what toy costs"),
    ],
)
def test_bad_input_is_told_in_one_line(shopwright, small, words, said):
    code, out, err = shopwright("evaluate", "questions", "--run", small.folder, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_without_questions_it_says_how_to_build_them(shopwright, tmp_path):
    for what in (("questions",), ("realism", "--real", "x", "--judge", "openai:toy@http://127.0.0.1:9/v1")):
        code, _, err = shopwright("evaluate", *what, "--run", tmp_path)
        assert code == 2
        assert "dataset in" in err
        assert "Build it: shopwright build" in err


def test_questions_of_another_version_are_told(small):
    other = replace_columns(small.read("questions"), small)
    with pytest.raises(Problem, match="of another version"):
        select_questions(other, Plan())


def replace_columns(questions, run):
    table = questions.table().drop_columns(["tree"])
    return SimpleNamespace(batches=lambda columns: table.to_batches())
