"""An agent on a run's questions: no reply stops it, no figure flatters, and nothing is asked twice."""

import json
from collections import Counter
from itertools import combinations
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiohttp import web

from pipeline.arrow import arrow_schema
from pipeline.models.role import Models, Role
from pipeline.problem import Problem
from pipeline.publish.report import write_report
from pipeline.rewards.figures import pass_at, wilson
from pipeline.rollouts import scores
from pipeline.rollouts.conversation import CALLS
from pipeline.rollouts.evaluate import Plan, attempts, chosen, spread, told
from pipeline.sandbox.block import Limits
from pipeline.verify import damaged
from schemas.rollouts import Attempt
from tests.models.server import Plan as Trouble
from tests.models.server import Server

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
    (row,) = [each for each in scores.figures(found) if each.by == "all"]
    return row


def played(run, agent, plan=ALL, **more):
    questions, trajectories = run.read("questions"), run.read("trajectories")
    return list(attempts(chosen(questions, plan), questions, trajectories, agent, plan, **more))


def asking(server, folder, **options):
    models = Models(model=f"openai:toy@{server.url}", at_once=4, **options)
    return Role("agent", models, folder, "evaluate-questions")


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


def test_the_scripted_agent_is_always_right(small):
    for split in ("test", "sft"):
        row = whole(played(small, "scripted", Plan(split=split, limit=24)))
        assert (row.accuracy, row.tcr, row.succ_tcr, row.reward) == (1.0, 1.0, 1.0, 1.0)
        assert row.turns >= 2


@pytest.mark.parametrize("policy", ["majority", "random"])
def test_who_knows_nothing_of_the_trajectory_is_hardly_ever_right(small, policy):
    found = played(small, policy, Plan(modes=("text", "tool")))
    for mode in ("text", "tool"):
        row = whole([each for each in found if each.mode == mode])
        assert row.accuracy <= 0.2
        assert (row.tcr, row.succ_tcr, row.turns) == (0.0, 0.0, 1.0)
        assert all(each.said for each in found)


def test_a_model_that_looks_everything_up_is_right(small, known, tmp_path):
    with Server(Trouble(says=by_code(known))) as server:
        found = played(small, asking(server, tmp_path))
    row = whole(found)
    assert (row.accuracy, row.tcr, row.succ_tcr, row.turns, row.reward) == (1.0, 1.0, 1.0, 2.0, 1.0)
    assert all(each.said == each.answer and each.tokens == 6 and not each.fault for each in found)
    assert {each.policy for each in found} == {"openai:toy"}


def test_a_model_that_knows_it_without_a_tool_is_right_in_both_modes_and_calls_nothing(small, known, tmp_path):
    with Server(Trouble(says=by_heart(known))) as server:
        found = played(small, asking(server, tmp_path), Plan(modes=("text", "tool")))
        texts = {each.id: each.text for each in small.read("trajectories")}
        read_out = [body["messages"][1]["content"] for body in server.bodies if "stop" not in body]
    assert Counter(each.mode for each in found) == {"text": len(found) // 2, "tool": len(found) // 2}
    assert all(each.right and not each.called for each in found)
    wanted = Counter(texts[each.trajectory_id] for each in found if each.mode == "text")
    assert wanted == Counter(text.rsplit("\n\n", 1)[0] for text in read_out)


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
    few = chosen(small.read("questions"), Plan())[:2]
    with Server(Trouble(says=nonsense)) as server:
        plan = Plan(tries=len(NONSENSE))
        stages = small.read("questions"), small.read("trajectories")
        found = list(attempts(few, *stages, asking(server, tmp_path), plan, limits=SHORT))
    assert len(found) == 2 * len(NONSENSE)
    assert not any(each.right for each in found)
    assert all(each.fault or each.said for each in found)
    assert max(len(each.said) for each in found) < 20_000
    assert {(each.called, each.executed) for each in found if each.try_number == NONSENSE.index(ENDLESS)} == {(1, 0)}
    stubborn = NONSENSE.index("<code>x</code>" * 300)
    assert {(each.called, each.executed) for each in found if each.try_number == stubborn} == {(CALLS + 1, 0)}
    scores.write_attempts(found, tmp_path / "found.parquet", {})
    assert scores.read_attempts(tmp_path / "found.parquet")[0] == found


@pytest.mark.parametrize(
    ("trouble", "fault"),
    [("length", "cut short before its answer"), ("filtered", "filter"), ("400", "HTTP 400"), ("wrong", "no answer")],
)
def test_replies_that_are_cut_or_refused_are_wrong_and_say_why(small, tmp_path, trouble, fault):
    says = {"content": "I think that it is three"}
    with Server(Trouble({trouble: 1.0}, times=10**6, says=lambda _: says)) as server:
        found = played(small, asking(server, tmp_path))
    assert not any(each.right for each in found)
    assert all(fault in each.fault for each in found)


def test_where_every_prompt_is_too_long_the_cell_is_a_dash(small, known, tmp_path):
    with Refusing(Trouble(says=by_heart(known))) as server:
        server.most = 5_000
        found = played(small, asking(server, tmp_path), Plan(modes=("text", "tool")))
    rows = scores.figures(found)
    (_, text, tool) = scores.accuracy_table(rows)
    assert text == ["openai:toy (w/o tool)", "–"]
    assert tool[1].startswith("100.0 ±")
    assert all("maximum context length" in each.fault for each in found if each.mode == "text")


def test_a_wrong_answer_is_not_a_prompt_that_was_too_long():
    (_, line) = scores.accuracy_table(scores.figures([tried(right=False, fault="HTTP 400: no such thing")]))
    assert line[1].startswith("0.0 ±")


def test_each_try_has_a_seed_of_its_own_and_nothing_is_asked_twice(small, known, tmp_path):
    with Server(Trouble(says=by_code(known))) as server:
        first = played(small, asking(server, tmp_path), Plan(tries=3))
        asked = server.count
        again = played(small, asking(server, tmp_path), Plan(tries=3))
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
        lenient, strict = (whole(played(small, role, Plan(split="sft", strict=strict))) for strict in (False, True))
    assert lenient.accuracy == 1.0
    assert strict.accuracy < 1.0


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
    assert set(Counter((one.kind, one.budget) for one in spread(MANY, most)).values()) == {each}


def test_few_questions_have_every_kind_and_every_budget():
    taken = spread(MANY, 3)
    assert {one.kind for one in taken} == {"brand", "price", "search"}
    assert {one.budget for one in taken} == {"32k", "64k"}


def test_a_larger_limit_holds_the_smaller_ones_questions_in_their_order():
    taken = [spread(MANY, most) for most in (5, 17, 1_000)]
    assert {one.id for one in taken[0]} < {one.id for one in taken[1]}
    assert taken[2] == MANY
    assert taken[1] == sorted(taken[1], key=MANY.index)
    assert taken[1] == spread(MANY[::-1], 17)[::-1]
    assert [one.id for one in taken[1]] != [one.id for one in MANY[:17]]


def test_a_limit_does_not_take_the_first_questions_of_a_kind():
    """Those are of the first few customers."""
    taken = {one.id for one in spread(MANY, 30)}
    first = {one.id for one in MANY if MANY.index(one) % 20 < 5}
    assert len(taken & first) < 20


def test_questions_are_those_of_the_split_and_budget(small):
    questions = small.read("questions")
    assert [each.id for each in chosen(questions, Plan(split="rl", budgets=("6k",)))] == [
        each.id for each in questions if each.split == "rl"
    ]
    with pytest.raises(Problem, match=r"has no questions of 32k\. It has: 6k"):
        chosen(questions, Plan(budgets=("6k", "32k")))


# Figures


@pytest.mark.parametrize("tries", range(1, 7))
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(tries):
    for right in range(tries + 1):
        for k in range(1, tries + 1):
            draws = list(combinations([True] * right + [False] * (tries - right), k))
            assert pass_at(k, tries, right) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_figures_of_several_tries_are_means_over_questions():
    found = [tried(0, try_number=n, right=n == 0) for n in range(4)]
    found += [tried(1, try_number=n, right=False, reward=-1.0) for n in range(4)]
    row = whole(found)
    assert (row.questions, row.tries, row.accuracy) == (2, 4, 0.125)
    assert row.pass_at == {1: 0.125, 2: 0.25, 4: 0.5}
    assert (row.low, row.high) == wilson(0.25, 2)
    (header, line) = scores.pass_table(scores.figures(found))
    assert header[2:] == ["pass@1", "pass@2", "pass@4"]
    assert line == ["32k", "toy (w/ tool)", "12.5", "25.0", "50.0"]


def test_a_call_that_was_tried_counts_for_tcr_and_one_that_ran_for_succ_tcr():
    calls = [(0, 0), (3, 0), (2, 1), (1, 1)]
    row = whole([tried(number, called=called, executed=ran) for number, (called, ran) in enumerate(calls)])
    assert (row.tcr, row.succ_tcr) == (0.75, 0.5)


def test_groups_are_of_one_mode_and_in_their_natural_order():
    found = [
        tried(0, budget="64k", position="", difficulty="hard", kind="search"),
        tried(1, budget="1m", position="late", difficulty="easy", right=False),
        tried(2, budget="64k", position="early", difficulty="medium", mode="text", right=False),
    ]
    rows = scores.figures(found)
    assert [(each.mode, each.by, each.value) for each in rows] == [
        *[("text", by, value) for by, value in [("all", "all"), ("budget", "64k"), ("kind", "brand")]],
        *[("text", "difficulty", "medium"), ("text", "position", "early")],
        *[("tool", by, value) for by, value in [("all", "all"), ("budget", "64k"), ("budget", "1m")]],
        *[("tool", "kind", "search"), ("tool", "kind", "brand"), ("tool", "difficulty", "easy")],
        *[("tool", "difficulty", "hard"), ("tool", "position", "late"), ("tool", "position", "none")],
    ]
    assert scores.accuracy_table(rows) == [
        ["accuracy, %", "64k", "1m"],
        ["toy (w/o tool)", "0.0 ±39.7", "–"],
        ["toy (w/ tool)", "100.0 ±39.7", "0.0 ±39.7"],
    ]
    assert [line[:2] for line in scores.call_table(rows)[1:]] == [
        ["64k", "toy (w/o tool)"],
        ["64k", "toy (w/ tool)"],
        ["1m", "toy (w/ tool)"],
    ]


def test_how_far_it_is_is_said_also_while_nothing_comes():
    said = []

    def slow():
        yield tried(0)
        while len(said) < 2:
            pass
        yield tried(1)

    assert len(told(slow(), 2, said.append, "questions", every=0.01)) == 2
    assert "questions: 1 of 2" in said[0]
    assert "s left" in said[0]
    assert said[-1].startswith("questions: 2 of 2, ")


# The command


def test_the_command_prints_both_tables_and_writes_every_try(shopwright, copy):
    options = ("evaluate", "questions", "--run", copy.folder)
    code, out, err = shopwright(*options, "--limit", 6)
    assert code == 0
    assert "scripted (w/ tool)  100.0 ±" in out
    assert "TCR   SuccTCR" in out
    assert "questions: 6 of 6" in err
    path = copy.folder / "evaluations" / "questions-scripted.parquet"
    assert str(path) in out
    assert pq.read_schema(path).equals(arrow_schema(Attempt))
    assert not [each for name in ("questions", "trajectories") for each in damaged_of(copy, name)]
    page = (copy.folder / "report.html").read_text()
    assert "How well the questions are answered" in page
    assert "scripted (w/ tool)" in page
    assert "on earlier questions" not in page


def damaged_of(run, name):
    dataset = run.read(name)
    return damaged(dataset, dataset.manifest)


def test_what_is_printed_for_scripts_is_what_the_file_holds(shopwright, copy, tmp_path):
    from datasets import Dataset

    options = ("--agent", "random", "--mode", "both", "--tries", 2, "--to", tmp_path / "tries.parquet", "--json")
    code, out, _ = shopwright("evaluate", "questions", "--run", copy.folder, *options)
    assert code == 0
    rows = [Attempt.model_validate(row) for row in Dataset.from_parquet(str(tmp_path / "tries.parquet"))]
    assert json.loads(out) == json.loads(json.dumps([vars(each) for each in scores.figures(rows)]))
    assert not (copy.folder / "evaluations").exists()


def test_a_command_that_is_spent_goes_on_where_it_stopped(shopwright, copy, known):
    with Server(Trouble(says=by_code(known))) as server:
        options = ("evaluate", "questions", "--run", copy.folder, "--agent", f"openai:toy@{server.url}", "--at-once", 2)
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
    made = {"split": "test", "questions": copy.read("questions").manifest.fingerprint}
    scores.write_attempts([tried(0, policy="<one>")], folder / "questions-one.parquet", made)
    two = [
        tried(0, policy="two", budget="64k", judged="CORRECT"),
        tried(1, policy="two", budget="64k", judged="INCORRECT"),
    ]
    scores.write_attempts(two, folder / "questions-two.parquet", made | {"questions": "else"})
    (folder / "questions-three.parquet").write_bytes(b"no parquet")
    pq.write_table(pa.table({"id": ["x"]}), folder / "questions-four.parquet")
    page = write_report(copy).read_text()
    assert "&lt;one&gt; (w/ tool)" in page
    assert "two (w/ tool) <small>on earlier questions</small>" in page
    assert page.count("on earlier questions") == 1
    assert "50.0 <small>" in page
    assert "http" not in page.partition("How well")[2].partition("<h2>")[0]
    assert "three" not in page.partition("How well")[2].partition("<h2>")[0]


def test_two_agents_never_share_a_file(tmp_path):
    names = ["openai:a/b", "openai:a-b", "openai-a-b", "vllm:" + "x" * 300, "vllm:" + "x" * 301]
    assert len({scores.file_of(tmp_path, name) for name in names}) == len(names)
    assert max(len(scores.file_of(tmp_path, name).name) for name in names) < 120


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Problem, match="Cannot write"):
        scores.write_attempts([tried()], tmp_path / "file" / "x.parquet", {})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--mode", "text"), "The scripted agent answers with code only."),
        (("--agent", "gpt"), "There is no model 'gpt'."),
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
        chosen(other, Plan())


def replace_columns(questions, run):
    table = questions.table().drop_columns(["tree"])
    return SimpleNamespace(batches=lambda: table.to_batches())
