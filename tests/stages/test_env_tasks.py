"""Each promise about a task, broken once; and what the tasks of a build are like."""

import json
from collections import Counter

import pytest

from shopwright.pipeline.checks.tasks import sellers_are_not_guessed
from shopwright.pipeline.envs import ENV_ORDER, get_env
from shopwright.pipeline.envs.base import dump_compact_json
from shopwright.pipeline.envs.episode import draw_task
from shopwright.pipeline.envs.load_world import load_world_beside
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Shard
from shopwright.pipeline.stages import all_stages
from shopwright.schemas.certificates import parse_certificate

STAGE = all_stages()["env_tasks"]
DRAWN = "drawn again it is another task"


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("tasks"), seed=5, workers=1)
    found.build(
        "env_tasks", products=2_400, tokens="64k", levels="0,5,12", **{"personas.count": 12, "env_tasks.count": 3}
    )
    return found


@pytest.fixture
def task(rows):
    """A cart to be filled, in which a brand or color is asked for."""
    return dict(
        next(row for row in rows if row["env"] == "cart_building" and row["feasible"] and row["difficulty"] == 5)
    )


def with_solution(row, change):
    actions = json.loads(row["solution"])
    return row | {"solution": dump_compact_json(change(actions))}


def with_goal(row, **facts):
    return row | {"goal": dump_compact_json(json.loads(row["goal"]) | facts)}


def test_a_build_rejects_nothing(run):
    manifest = run.read("env_tasks").manifest
    assert (manifest.rows, manifest.rejected) == (8 * 3 * 3, 0)
    assert manifest.requested == 8 * 3 * 3


def test_every_env_and_level_has_its_count(rows):
    found = Counter((row["env"], row["difficulty"]) for row in rows)
    assert found == {(env, level): 3 for env in ENV_ORDER for level in (0, 5, 12)}


def test_some_tasks_are_to_be_refused(rows):
    assert 0.05 < sum(not row["feasible"] for row in rows) / len(rows) < 0.25


def test_no_task_holds_its_goal_in_its_opening(rows):
    assert not [row["id"] for row in rows if row["goal"][:40] in row["opening"]]


def test_another_seed_gives_other_tasks_of_other_ids(run, rows):
    have = {name: run.read(name) for name in STAGE.needs if name not in ("shard", "plan")}
    settings = {"envs": "policy_qa", "levels": "0", "count": 6}
    plan = STAGE.plan(have, settings)
    other = list(STAGE.function(*have.values(), Shard(0, 1, 6), plan, **settings))
    assert not {task.id for task in other} & {row["id"] for row in rows}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row | {"env": "chess"}, "an unknown env"),
        (lambda row: row | {"opening": row["opening"] + " Please."}, DRAWN),
        (lambda row: row | {"seed": row["seed"] + 1}, DRAWN),
        (lambda row: row | {"difficulty": 6}, DRAWN),
        (lambda row: row | {"acceptable": row["acceptable"].replace('"variants":["', '"variants":["X')}, DRAWN),
        (
            lambda row: row | {"acceptable": '[["B01"],["B02"]]'},
            "its certificate: expected AnyOf, OneOfEach, Parts or Infeasible, found a list of 2 lists of str",
        ),
        (
            lambda row: row | {"acceptable": '{"kind":"AnyOf","ends":[{"cart":"B01"}]}'},
            "its certificate: expected AnyOf; at ends.0.cart: Input should be a valid list, found the text 'B01'",
        ),
        (lambda row: row | {"nearest_miss": "[]"}, "its nearest miss: expected Miss; at its top: "),
        (lambda row: row | {"feasible": False}, "its goal says something else than the row"),
        (lambda row: row | {"persona_id": "persona-9999999"}, "an unknown customer"),
        (
            lambda row: row | {"goal": "{}"},
            "its goal: expected CartGoal of cart_building; at persona_id: Field required",
        ),
        (lambda row: row | {"solution": "[]"}, "its solution never ends"),
        (
            lambda row: row | {"solution": "nothing"},
            "its solution: expected a JSON list of actions, found the text 'nothing'",
        ),
        (lambda row: with_solution(row, lambda found: found[:-1]), "its solution never ends"),
        (lambda row: with_solution(row, lambda found: found[-1:]), "its solution does not earn everything"),
        (lambda row: with_solution(row, lambda _: [{"answer": {}}]), "its solution does not earn everything"),
        (
            lambda row: row | {"acceptable": '{"kind":"AnyOf","ends":[{}]}'},
            "an acceptable end state is no success",
        ),
        (
            lambda row: row | {"acceptable": '{"kind":"AnyOf","ends":[]}'},
            "its certificate: expected AnyOf; at ends: List should have at least 1 item",
        ),
        (
            lambda row: row | {"nearest_miss": '{"breaks":[],"end":{}}'},
            "a nearest miss that does not say the one thing that it breaks",
        ),
        (lambda row: row | {"nearest_miss": nearly(row)}, "its nearest miss is a success"),
        (lambda row: row | {"opening": row["opening"] + " {{ item }}"}, "an opening with an open place"),
        (lambda row: row | {"opening": " "}, "an opening with an open place"),
        (lambda row: row | {"opening": "Hello there."}, "a slot that is stated is not in the opening"),
        (lambda row: row | {"slots": [*row["slots"], *row["slots"]]}, "two slots of one name"),
        (lambda row: row | {"slots": [{**row["slots"][0], "said": " "}]}, "a slot without words"),
        (lambda row: row | {"slots": unheard(row)}, "a slot that is not told when asked"),
        (lambda row: row | {"nearest_miss": row["nearest_miss"].replace("B0", "B1")}, "an unknown product"),
        (lambda row: with_goal(row, sold_out=["B0-1"]), "an unknown variant"),
    ],
)
def test_a_task_of_which_one_thing_is_wrong_is_rejected(find_reasons, task, change, reason):
    assert find_reasons(task) == [set()]
    assert any(each.startswith(reason) for each in find_reasons(change(task))[0])


def test_a_substitute_that_the_title_of_the_original_tells_is_rejected(find_reasons, run, rows):
    """Everything else is sold out, so that nothing looks as like what is to be replaced."""
    row = next(row for row in rows if row["env"] == "substitution" and row["feasible"] and row["difficulty"] == 5)
    right = set(json.loads(row["acceptable"])["ends"][0]["some_of"])
    variants = run.read("variants").table(["id", "product_id"]).to_pylist()
    others = sorted(each["id"] for each in variants if each["product_id"] not in right)
    reason = "a substitute that the title of the original tells"
    assert reason not in find_reasons(row)[0]
    assert reason in find_reasons(with_goal(row, sold_out=others))[0]


def test_a_list_that_is_guessed_is_rejected(find_reasons, run):
    """Everything else is sold out, so that all that is left of a seller who has all is right."""
    task = draw_task(get_env("one_seller"), load_world_beside(run.read("env_tasks")), 5, 3)
    right = {id for each in parse_certificate(task.acceptable).sellers for ids in each.product_ids for id in ids}
    variants = run.read("variants").table(["id", "product_id"]).to_pylist()
    others = sorted(each["id"] for each in variants if each["product_id"] not in right)
    assert sellers_are_not_guessed(task, run.read("catalog")) is None
    changed = task.model_copy(update=with_goal(task.model_dump(), sold_out=others))
    assert sellers_are_not_guessed(changed, run.read("catalog")) == "a list that is guessed too easily"


def nearly(row):
    """What is right, said to break something."""
    (end, *_) = json.loads(row["acceptable"])["ends"]
    return dump_compact_json({"breaks": ["quantity of item 1"], "end": end})


def unheard(row):
    """A slot that is left out, under a name that no question is understood by."""
    bare = {"name": "??", "said": "hollow voice", "known": "asked", "topics": []}
    return [bare | {"form": "plain", "meaning": "", "facts": [], "value": "", "typed": ""}]


def test_words_that_say_another_fact_are_rejected(find_row_reasons, rows):
    row = next(row for row in rows if row["env"] == "product_discovery")
    reasons = find_row_reasons(row | {"opening": row["opening"] + " It has to be here within 97 days."})
    assert "its opening: shipping days '97' was read and is not stated" in reasons


def test_acceptable_products_are_recomputed(find_reasons, rows):
    row = next(row for row in rows if row["env"] == "product_discovery" and row["feasible"])
    certificate = json.loads(row["acceptable"])
    certificate["ends"][0]["some_of"] = certificate["ends"][0]["some_of"][1:] or ["none"]
    assert (
        "its certificate lacks a product that fits"
        in find_reasons(row | {"acceptable": dump_compact_json(certificate)})[0]
    )


def test_a_shopping_list_is_recomputed(find_reasons, rows):
    row = next(row for row in rows if row["env"] == "bundle_planning" and row["feasible"])
    certificate = json.loads(row["acceptable"])
    certificate["items"][0]["count"] += 1
    reason = "an item of its certificate does not count the products that fit"
    assert reason in find_reasons(row | {"acceptable": dump_compact_json(certificate)})[0]


def test_a_shop_that_is_too_small_for_a_level_says_so_in_quarantine(tmp_path):
    run = Run(tmp_path, seed=1, workers=1)
    few = {"personas.count": 2, "env_tasks.count": 2}
    manifest = run.build("env_tasks", products=240, tokens="8k", envs="order_tracking", levels="0,60", **few)
    assert manifest.rejected >= 2
    assert any(reason.startswith("no such task in this shop: no customer has 31 orders") for reason in manifest.rejects)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"envs": "chess"}, "There is no env chess"),
        ({"levels": "0-"}, "Say 0-12"),
        ({"levels": "-3"}, "Say 0-12"),
        ({"env_tasks.count": 0}, "greater than or equal to 1"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(tmp_path, settings, message):
    with pytest.raises(Problem, match=message):
        Run(tmp_path).build("env_tasks", **settings)
