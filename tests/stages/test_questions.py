"""Questions as the stage makes them: of which trajectories how many, in which split, and true when asked again."""

import json
import shutil
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import arrow_schema, to_batch
from shopwright.pipeline.checks.question_sets import Roster, questions_of_a_trajectory_differ, split_of_customer
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.render.trajectory import render_trajectory
from shopwright.pipeline.run import Run
from shopwright.pipeline.sandbox.data_loader import load_trajectory
from shopwright.pipeline.stage import Shard, reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.questions import PAPER, Mix, count_questions_per_trajectory, plan_questions
from shopwright.pipeline.verify import verify_dataset
from shopwright.schemas.questions import AnswerType, Difficulty, Kind, Question, Third
from shopwright.schemas.record import Rejected
from shopwright.schemas.samples import Event, Trajectory
from tests.folders import checksums
from tests.models.server import Plan as Doing
from tests.models.server import Server
from tests.questions.scribes import says
from tests.rows import write_dataset
from tests.test_verify import failed, rewrite

STAGE = all_stages()["questions"]
FACTS = ("asin", "product_name", "brand", "color", "product_types")


@pytest.fixture(scope="session")
def month(tmp_path_factory):
    """A run of trajectories of two budgets; tests look at it and change nothing."""
    run = Run(tmp_path_factory.mktemp("month"), seed=11, workers=2)
    run.build("trajectories", products=2_000, count=11, tokens="16k,32k")
    return run


@pytest.fixture(scope="session")
def asked(month, tmp_path_factory):
    """The same run with questions."""
    run = Run(shutil.copytree(month.folder, tmp_path_factory.mktemp("asked") / "run"), workers=2)
    run.build("questions", per_trajectory=12)
    return run


@pytest.fixture(scope="session")
def rows(asked):
    return asked.read("questions").table().to_pylist()


# What there is among many


@pytest.mark.slow
def test_hardly_a_question_is_held_back(asked):
    made = asked.read("questions").manifest
    guessable = made.rejects.get("the commonest answer of its shape: guessable", 0)
    # What names a product by its title's words may name another one too.
    assert made.rejected - guessable < 0.02 * made.rows
    assert made.rows + made.rejected == 11 * 2 * 12
    assert made.rejected < 0.1 * made.rows


def test_there_are_questions_of_every_kind_and_most_shapes(rows):
    assert {row["kind"] for row in rows} == set(get_args(Kind))
    assert len({row["shape"] for row in rows}) >= 40


@pytest.mark.parametrize("answer_type", get_args(AnswerType))
def test_there_are_answers_of_every_type(rows, answer_type):
    assert any(row["answer_type"] == answer_type for row in rows)


def test_some_answers_are_none_or_zero_but_not_many(rows):
    empty = [row for row in rows if row["answer"] in ("none", "0", "0.00", "0.0")]
    assert {"none", "0"} <= {row["answer"] for row in empty}
    assert 0.02 * len(rows) < len(empty) < 0.2 * len(rows)


def test_evidence_lies_in_every_third_of_a_trajectory(rows):
    counts = Counter(row["position"] for row in rows if row["evidence"])
    assert counts.keys() == set(get_args(Third))
    assert 2 * min(counts.values()) >= max(counts.values())


def test_there_are_easy_and_difficult_questions(rows):
    counts = Counter(row["difficulty"] for row in rows)
    assert counts.keys() == set(get_args(Difficulty))
    assert min(counts.values()) > 0.1 * len(rows)


def test_no_answer_is_right_for_more_than_a_fifth_of_a_shape(rows):
    answers = defaultdict(Counter)
    for row in rows:
        answers[row["shape"]][row["answer"]] += 1
    assert all(max(found.values()) <= max(1, 0.2 * found.total()) for found in answers.values())
    assert all(found.total() <= 0.06 * len(rows) for found in answers.values())


# As many as there are on a few trajectories


@pytest.fixture(scope="session")
def few(month, tmp_path_factory):
    long = [each for each in month.read("trajectories").head(4) if each.budget == "16k"]
    return written(tmp_path_factory.mktemp("few"), long)


@pytest.fixture(scope="session")
def plenty(few):
    """As many questions as there are on two trajectories."""
    plan = plan_questions(few, 120, False)
    made = [row.model_dump() for row in STAGE.function(few, Shard(0, 1, seed=11), plan, None, None, per_trajectory=120)]
    assert len(made) == 2 * 120
    return made


@pytest.mark.slow
def test_however_many_there_are_they_are_true_and_differ(few, plenty, tmp_path):
    made = [Question.model_validate(row) for row in plenty]
    against = reasons_against(STAGE, to_batch(Question, made), {"trajectories": few}, made)
    false = [reasons for reasons in against if reasons and "can also mean another tree" not in reasons[0]]
    assert false == []
    assert sum(map(bool, against)) < 0.02 * len(made)
    assert len({(row.trajectory_id, row.tree) for row in made}) == len(made)
    assert list(questions_of_a_trajectory_differ(written(tmp_path, made, Question))) == []


@pytest.mark.parametrize(("answer_type", "least"), [("set", 1), ("ordered list", 2)])
def test_sets_and_lists_are_short_enough_to_be_said(plenty, answer_type, least):
    lengths = {len(json.loads(row["result"])) for row in plenty if row["answer_type"] == answer_type}
    assert least <= min(lengths) < max(lengths) <= 8


def test_what_came_most_often_came_more_than_once(plenty):
    most = [row for row in plenty if row["evidence"] and json.loads(row["tree"])["node"] == "top"]
    assert len(most) > 10
    assert all(len(row["evidence"]) > 1 for row in most)


def test_as_many_are_named_as_were_asked_for(plenty):
    for row in plenty:
        tree = json.loads(row["tree"])
        if tree["node"] == "top" and "k" in tree:
            assert len(json.loads(row["result"])) == tree["k"]


def test_some_time_passes_where_it_is_asked_how_much(plenty):
    assert min(int(row["result"]) for row in plenty if row["answer_type"] == "duration") > 0


# Ids and splits


def test_ids_are_those_of_the_trajectory_with_a_number(asked, rows):
    assert len({row["id"] for row in rows}) == len(rows)
    budgets = {row["id"]: row["budget"] for row in asked.read("trajectories").table(["id", "budget"]).to_pylist()}
    for row in rows:
        assert row["id"].startswith(f"{row['trajectory_id']}-q")
        assert row["budget"] == budgets[row["trajectory_id"]]


def test_a_customer_is_in_one_split_with_all_budgets(asked, rows):
    person = {
        row["id"]: row["persona_id"] for row in asked.read("trajectories").table(["id", "persona_id"]).to_pylist()
    }
    splits, budgets = defaultdict(set), defaultdict(set)
    for row in rows:
        splits[person[row["trajectory_id"]]].add(row["split"])
        budgets[person[row["trajectory_id"]]].add(row["budget"])
    assert all(len(found) == 1 for found in splits.values())
    assert all(found == {"16k", "32k"} for found in budgets.values())
    assert {split for found in splits.values() for split in found} - {"test_wording"} == {"sft", "rl", "test"}


def test_splits_share_no_query_and_no_question(rows):
    for name in ("sql", "question", "tree"):
        owners = defaultdict(set)
        for row in rows:
            owners[row[name]].add(row["split"])
        assert all(len(found) == 1 for found in owners.values())


@pytest.mark.parametrize("begin", [0, 7, 1_000])
@pytest.mark.parametrize("customers", [10, 20, 60, 1_000])
def test_any_run_of_customers_is_divided_as_the_splits_are(begin, customers):
    counts = Counter(map(split_of_customer, range(begin, begin + customers)))
    for split, share in {"sft": 0.3, "rl": 0.55, "test_wording": 0.05, "test": 0.1}.items():
        assert abs(counts[split] - share * customers) <= 2


# True when asked again


def as_told(values, answer_type):
    """The answer in words, from the rows of a result; written apart from the pipeline."""
    if answer_type == "yes/no":
        return "; ".join("yes" if value else "no" for value in values[0])
    texts = [row[0] for row in values if row[0] is not None]
    if answer_type == "none" or not texts:
        return "none" if not texts else "something"
    match answer_type:
        case "set":
            return "; ".join(sorted(texts))
        case "ordered list":
            return "; ".join(texts)
        case "money":
            return f"{Decimal(str(texts[0])):.2f}"
        case "duration":
            minutes, seconds = divmod(texts[0], 60)
            return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(texts[0])


def test_the_answer_is_what_an_agent_gets_from_the_loader(asked, rows):
    """Of every type of answer some."""
    by_type = defaultdict(list)
    for row in rows:
        by_type[row["answer_type"]].append(row)
    for row in (row for found in by_type.values() for row in found[:4]):
        connection, frame = load_trajectory(row["trajectory_id"], asked.folder / "trajectories")
        values = connection.execute(row["sql"]).fetchall()
        told = as_told(values, row["answer_type"])
        assert told == row["answer"] or (row["answer_type"] == "decimal" and Decimal(told) == Decimal(row["answer"]))
        assert set(row["evidence"]) <= set(frame["row_id"])


def test_where_evidence_lies_is_where_its_middle_row_does(asked, rows):
    lengths = dict(asked.read("trajectories").sql("SELECT id, LEN(events) FROM rows"))
    for row in rows:
        if not row["evidence"]:
            assert row["position"] is None
            continue
        middle = row["evidence"][len(row["evidence"]) // 2] / lengths[row["trajectory_id"]]
        assert row["position"] == ("early" if middle < 1 / 3 else "middle" if middle < 2 / 3 else "late")


# The same, however the work is shared


def made_of(run, shards, per_trajectory=2):
    trajectories = run.read("trajectories")
    plan = plan_questions(trajectories, per_trajectory, False)
    work = [Shard(index, shards, seed=11) for index in range(shards)]
    return [
        row
        for shard in work
        for row in STAGE.function(trajectories, shard, plan, None, None, per_trajectory=per_trajectory)
    ]


def test_one_or_four_shards_make_the_same_questions(month):
    one, four = made_of(month, 1), made_of(month, 4)
    assert len(one) == 11 * 2 * 2
    assert one == four


def test_fewer_questions_are_the_first_of_more(month):
    few, more = ({row.id: row for row in made_of(month, 1, number)} for number in (1, 2))
    assert few.items() <= more.items()


# How many


def test_one_question_for_each_trajectory(month):
    counts = Counter(row.trajectory_id for row in made_of(month, 1, 1))
    assert len(counts) == counts.total() == 11 * 2


def customers(count, *budgets):
    """The roster of so many customers, each with a trajectory of each budget."""
    found = [(budget, split_of_customer(number)) for number in range(count) for budget in budgets]
    return Roster([], [budget for budget, _ in found], [split for _, split in found])


@pytest.mark.parametrize("count", [60, 61, 200])
def test_the_papers_sizes_are_planned_exactly(count):
    found = customers(count, "32k", "64k")
    planned = Counter()
    for split, budget, number in zip(
        found.splits, found.budgets, count_questions_per_trajectory(found, 5, True), strict=True
    ):
        planned[split, budget] += number
    assert +planned == {(split, budget): PAPER[split] for split in PAPER for budget in ("32k", "64k")}
    assert {split: 2 * number for split, number in PAPER.items()} == {"test": 200, "sft": 228, "rl": 1_100}


def test_without_the_papers_sizes_every_trajectory_gets_as_many():
    assert count_questions_per_trajectory(customers(3, "32k", "64k"), 7, False) == [7] * 6


def test_too_few_customers_for_the_papers_sizes_are_told():
    with pytest.raises(Problem, match=r"more customers.*--count 60"):
        count_questions_per_trajectory(customers(5, "32k", "64k"), 5, True)


@pytest.mark.parametrize(
    ("budgets", "said"), [(["32k"], "these have 32k"), (["2k", "32k", "64k"], "these have 2k, 32k, 64k"), ([], "none")]
)
def test_other_than_two_budgets_do_not_make_the_papers_sizes(budgets, said):
    with pytest.raises(Problem, match=said):
        count_questions_per_trajectory(customers(60, *budgets), 5, True)


def test_the_command_tells_what_to_do_and_leaves_all_as_it_was(shopwright, copy):
    before = checksums(copy.folder)
    code, out, err = shopwright("build", "questions", "--run", copy.folder, "--workers", 1, "--paper", "true")
    assert (code, out) == (2, "")
    assert err == "shopwright: error: --paper needs trajectories of two budgets, and these have 6k.\n"
    assert checksums(copy.folder) == before


def test_for_the_papers_sizes_no_answer_becomes_common_and_no_split_asks_what_another_asked(rows):
    made, mix = Question.model_validate(rows[0]), Mix()
    assert mix.fits("rl", "spent", "1.00", "How much?")
    for place, answer in enumerate("112345"):
        told = {"shape": "spent", "answer": answer, "question": f"How much on day {place}?", "split": "rl"}
        mix.add(made.model_copy(update=told))
    assert not mix.fits("rl", "spent", "1", "What?")
    assert mix.fits("rl", "paid_for", "1", "What?")
    assert mix.fits("rl", "spent", "6", "How much on day 3?")
    assert not mix.fits("test", "spent", "6", "How much on Day 3")
    assert mix.fits("test", "spent", "6", "How much on day 30")


@pytest.mark.slow
def test_the_papers_sizes_are_kept_exactly(tmp_path):
    run = Run(tmp_path / "paper", seed=11, workers=2)
    run.build("trajectories", products=2_000, count=60, tokens="32k,64k")
    run.build("questions", paper=True)
    kept = Counter((row.split, row.budget) for row in run.read("questions"))
    assert kept == {(split, budget): PAPER[split] for split in PAPER for budget in ("32k", "64k")}


# Written by a model


@pytest.fixture(scope="session")
def told(tmp_path_factory):
    """A small run whose questions models wrote."""
    with Server(Doing(says=says)) as server:
        models = Models(model=f"openai:toy@{server.url}", at_once=8)
        run = Run(tmp_path_factory.mktemp("told"), seed=3, workers=1, models=models)
        run.build("questions", products=1_200, count=6, tokens="6k", per_trajectory=2, written_by="model")
    return run


def test_a_run_written_by_models_is_verified_and_found_whole(told):
    made = told.read("questions").manifest
    assert made.rows > 0.8 * 6 * 2
    assert made.requested == made.rows + made.rejected == 6 * 2
    assert [verdict.check for verdict in verify_dataset(told, "questions") if verdict.failed] == []


def test_who_wrote_and_who_answered_again_is_in_the_manifest(told):
    made = told.read("questions").manifest
    assert set(made.recipe.models) == {"writer", "judge"}
    assert {name: asked["role"] for name, asked in made.usage.items()} == {
        "questions": "writer",
        "second/questions": "judge",
    }


def test_what_code_writes_asks_no_model(small):
    made = small.read("questions").manifest
    assert (made.recipe.models, made.usage) == ({}, {})
    assert {row.second_sql for row in small.read("questions")} == {""}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"second_sql": "SELECT COUNT(*) FROM events WHERE brand = 'Zuma'"}, "a second answering agrees"),
        pytest.param({"second_sql": ""}, "a second answering agrees", marks=pytest.mark.slow),
        ({"evidence": [0]}, "evidence decides"),
        ({"shape": "spent"}, "question is made of its tree"),
        pytest.param({"tree": '{"node":"count","of":{}}'}, "question is made of its tree", marks=pytest.mark.slow),
    ],
)
def test_a_written_question_that_was_changed_is_found(told, tmp_path, change, said):
    copied = Run(shutil.copytree(told.folder, tmp_path / "run"), workers=1)
    rewrite(copied, "questions/part-00000.parquet", lambda rows: other(rows, **change))
    assert f"questions: {said}" in failed(copied, "questions")


@pytest.mark.parametrize(
    ("given", "missing"), [((), "writer"), (("--writer", "openai:toy@http://127.0.0.1:1/v1"), "judge")]
)
def test_the_command_tells_which_model_is_missing(shopwright, tmp_path, given, missing):
    options = ("--run", tmp_path / "run", "--workers", 1, "--products", 300, "--count", 1, "--tokens", "2k")
    assert shopwright("build", "trajectories", *options)[0] == 0
    code, out, err = shopwright("build", "questions", *options, "--written-by", "model", *given)
    assert (code, out) == (2, "")
    assert f"--written-by model needs a model: say --model, or --{missing}." in err
    assert not (tmp_path / "run" / "questions").exists()


# Trajectories that are odd


def event(row, action, **columns):
    """One event, a minute after the one before."""
    when = datetime(2024, 5, 1, 9) + timedelta(minutes=row)
    facts = dict.fromkeys((*FACTS, "price", "search_query"))
    return {"row_id": row, "timestamp": when, "action_type": action} | facts | columns


LAMP = dict(zip(FACTS, ("B1", "Norrvik oak lamp, white", "Norrvik", "white", "Lamps"), strict=True))
VISIT = [
    event(0, "search", search_query="oak lamp"),
    event(1, "click", **LAMP, price=Decimal("40.00")),
    event(2, "click", **LAMP, price=Decimal("40.00")),
]


def trajectory(id, events):
    person, _, budget = id.rpartition("-")
    begin = date(2024, 5, 1)
    ends = {"start": datetime.combine(begin, datetime.min.time()), "end": datetime(2024, 5, 31)}
    facts = {"tokens": 1, "tokenizer": "none", "text": render_trajectory(events), "promotions": []}
    return Trajectory(id=id, persona_id=person, budget=budget, events=events, **ends, **facts)


def written(folder, rows, makes=Trajectory):
    return write_dataset(folder, "trajectories" if makes is Trajectory else "questions", makes, rows)


def made_from(folder, *rows, per_trajectory=5):
    trajectories = written(folder, rows)
    plan = plan_questions(trajectories, per_trajectory, False)
    return list(STAGE.function(trajectories, Shard(0, 1, seed=0), plan, None, None, per_trajectory=per_trajectory))


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_a_trajectory_that_holds_too_little_is_named(tmp_path, length):
    made = made_from(tmp_path, trajectory("persona-1-6k", VISIT[:length]), per_trajectory=150)
    assert isinstance(made[-1], Rejected)
    assert made[-1].reasons == ["its trajectory holds too little for another question"]
    assert made[-1].id == f"persona-1-6k-q{len(made):03d}"


def without_actions(*actions):
    return lambda event: None if event.action_type in actions else event


@pytest.mark.parametrize(
    "change",
    [
        without_actions("purchase"),
        without_actions("search"),
        without_actions("search", "add to Cart"),
        without_actions("click"),
        lambda event: event.model_copy(update={"brand": None, "color": None}),
        lambda event: event.model_copy(update={"brand": "O'Neill; 50 % \\"} if event.brand else {}),
    ],
    ids=["no purchase", "no search", "no search or cart", "no click", "no brand or color", "a brand with signs"],
)
def test_a_trajectory_that_lacks_something_gets_true_questions_on_the_rest(month, tmp_path, change):
    found = month.read("trajectories").head(1)[0]
    events = [left for each in found.events if (left := change(each)) is not None]
    text = render_trajectory([event.model_dump() for event in events])
    made = made_from(tmp_path, found.model_copy(update={"events": events, "text": text}), per_trajectory=30)
    asked = [row for row in made if isinstance(row, Question)]
    assert len(asked) > 20
    datasets = {"trajectories": Dataset(tmp_path, "trajectories", Trajectory)}
    against = reasons_against(STAGE, to_batch(Question, asked), datasets, asked)
    untrue = [reasons for reasons in against if reasons and not reasons[0].startswith("its words can also mean")]
    assert untrue == []
    assert sum(map(bool, against)) <= 1  # two games of one name that lack a brand: the build holds such a question back


def test_a_trajectory_of_an_unknown_budget_is_named(tmp_path):
    (found,) = made_from(tmp_path, trajectory("persona-1-many", VISIT))
    assert (found.id, found.reasons) == ("persona-1-many", ["a trajectory of an unknown budget"])


def with_schema(folder, schema):
    """An empty file of these columns instead of trajectories."""
    (folder / "trajectories").mkdir()
    pq.write_table(schema.empty_table(), folder / "trajectories" / "part-00000.parquet")
    return Dataset(folder, "trajectories", Trajectory)


def events_of(fields):
    """The columns of a trajectory whose events have other columns."""
    schema = arrow_schema(Trajectory)
    return schema.set(schema.get_field_index("events"), pa.field("events", pa.list_(pa.struct(fields))))


EVENT = arrow_schema(Event)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (events_of([field for field in EVENT if field.name != "price"]), "its events have no column price"),
        (events_of([field for field in EVENT if field.name != "row_id"]), "its events have no column row_id"),
        (
            events_of([field if field.name != "price" else pa.field("price", pa.float64()) for field in EVENT]),
            "its events' price is double, not decimal128",
        ),
        (
            events_of([field if field.name != "timestamp" else pa.field("timestamp", pa.string()) for field in EVENT]),
            "its events' timestamp is string, not timestamp",
        ),
        (pa.schema([("id", pa.string()), ("text", pa.string())]), "holds no trajectories: it has the columns id, text"),
    ],
)
def test_a_file_that_holds_no_trajectories_is_told_with_its_column(tmp_path, schema, said):
    with pytest.raises(Problem, match=said) as told:
        plan_questions(with_schema(tmp_path, schema), 5, False)
    assert "part-00000.parquet" in str(told.value)


# Verify


def other(rows, **change):
    return [{**rows[0], **change}, *rows[1:]]


@pytest.mark.parametrize(
    ("change", "checks"),
    [
        (lambda rows: other(rows, answer="never"), {"answer is canonical"}),
        (
            lambda rows: other(rows, question=rows[1]["question"]),
            {"question says its tree"},
        ),
        (lambda rows: other(rows, sql=rows[1]["sql"]), {"question is made of its tree"}),
        (lambda rows: other(rows, evidence=[0]), {"evidence decides"}),
        (lambda rows: other(rows, split="test" if rows[0]["split"] != "test" else "rl"), {"split is its trees"}),
        (lambda rows: other(rows, id=rows[1]["id"]), {"ids are unique"}),
        (lambda rows: [*rows, {**rows[0], "id": "again"}], {"questions of a trajectory differ"}),
    ],
)
def test_a_changed_question_fails_its_check_and_is_named(copy, change, checks):
    path = "questions/part-00000.parquet"
    rewrite(copy, path, change)
    found = failed(copy, "questions")
    assert {f"questions: {check}" for check in checks} <= found.keys()
    assert all("part-00000.parquet" in places[0] for places in found.values())


def test_a_changed_answer_is_found_by_every_engine(copy):
    def wrong(rows):
        place = next(n for n, row in enumerate(rows) if row["answer_type"] == "integer")
        answer = str(int(rows[place]["answer"]) + 1)
        return [*rows[:place], {**rows[place], "answer": answer, "result": answer}, *rows[place + 1 :]]

    rewrite(copy, "questions/part-00000.parquet", wrong)
    found = failed(copy, "questions")
    engines = {"answer is duckdbs", "answer is sqlites", "answer is plain pythons"}
    assert {f"questions: {engine}" for engine in engines} <= found.keys()


def test_questions_on_trajectories_that_changed_are_found(copy):
    def renamed(rows):
        return [{**row, "events": [{**one, "brand": one["brand"] and "Zuma"} for one in row["events"]]} for row in rows]

    rewrite(copy, "trajectories/part-00000.parquet", renamed)
    found = failed(copy, "questions")
    assert "questions: answer is duckdbs" in found
    assert "questions: manifest tells what the files hold" in found
