"""Sessions page by page as the stage makes them: shared among customers, the same on any shards, phrased by code or by a model."""

import csv
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from shopwright.pipeline.behaviors.rationales import LONGEST
from shopwright.pipeline.behaviors.sessions import CLICK, SEARCH, build_log, cut_sessions
from shopwright.pipeline.models.base import Reply
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.models.valid_replies import TRIES
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stage import Plan, Shard
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.behaviors import (
    FEWER,
    FinishedSession,
    describe_move_action,
    name_facts,
    phrase_rationales,
    plan_behaviors,
    replay_drawn_sessions,
)
from shopwright.pipeline.verify import verify_dataset
from shopwright.schemas.record import Rejected
from tests.behaviors.world import World
from tests.models.server import Plan as ServerPlan
from tests.models.server import Server
from tests.shop.test_any_catalog import HOSTILE, USUAL, lamp

STAGE = all_stages()["behaviors"]
REAL = Path(__file__).parents[3] / "shared" / "data" / "walmart_amazon_tableB_amazon.csv"
LINK = '<a name="{}">{}</a>'


@pytest.fixture(scope="module")
def rows(small):
    return list(small.read("behaviors"))


@pytest.fixture(scope="module")
def world(small):
    return World(small)


def make_shard_rows(run, index, shards, *, sessions, **settings):
    """What one shard makes, whoever is rejected included."""
    have = [run.read(name) for name in STAGE.needs[:5]]
    return list(STAGE.function(*have, Shard(index, shards, 3), Plan(sessions), None, sessions=sessions, **settings))


def list_failed_checks(run, name="behaviors"):
    return [(verdict.check, verdict.places[:2]) for verdict in verify_dataset(run, name) if verdict.failed]


# A build


def test_a_build_rejects_nothing(small):
    assert small.read("behaviors").manifest.rejected == 0


def test_sessions_are_shared_evenly_among_customers(small, rows):
    assert set(Counter(row.persona_id for row in rows).values()) == {3}
    few = make_shard_rows(small, 0, 1, sessions=7)
    assert len({row.persona_id for row in few}) == len(few) == 7


def test_a_customers_sessions_come_in_the_order_of_time_and_share_no_event(rows):
    for one, other in pairwise(rows):
        if one.persona_id == other.persona_id:
            assert one.end <= other.start
            assert one.rows[-1] < other.rows[0]


def test_steps_tell_the_logs_events(small, rows):
    """The same searches, opened products, carts, purchases and times, read from the pages' own HTML."""
    logs = {log["id"]: log["events"] for log in small.read("trajectories").table().to_pylist()}
    for row in rows:
        steps = [step for step in row.steps if step.row is not None]
        assert [step.row for step in steps] == row.rows
        for step in steps:
            event, action = logs[row.trajectory_id][step.row], json.loads(step.action)
            assert step.at == event["timestamp"]
            assert action.get("text") == event["search_query"]
            if event["action_type"] == CLICK:
                assert LINK.format(action["name"], event["asin"]) in step.html
            if event["action_type"] == "purchase":
                assert f"Buy {event['asin']}" in step.html
        moves = [json.loads(step.action)["name"] for step in row.steps if step.row is None and "name" in step.action]
        assert not any(name.endswith((".view_product", ".buy", "add_to_cart", "buy_now", "remove")) for name in moves)


def test_nothing_is_bought_that_was_not_in_the_cart_and_all_is_told_in_the_outcome(small, rows):
    logs = {log["id"]: log["events"] for log in small.read("trajectories").table().to_pylist()}
    for row in rows:
        kinds = {logs[row.trajectory_id][place]["action_type"] for place in row.rows}
        assert row.outcome == (
            "bought" if "purchase" in kinds else "left in the cart" if "add to Cart" in kinds else "gave up"
        )


def test_one_shard_or_several_make_the_same_of_visits(small):
    visits = make_shard_rows(small, 0, 1, sessions=8, cut="visit")
    assert visits == [row for index in range(3) for row in make_shard_rows(small, index, 3, sessions=8, cut="visit")]


@pytest.mark.slow
def test_one_worker_or_two_make_the_same(copy):
    found = []
    for workers in (1, 2):
        run = Run(copy.folder, workers=workers)
        run.build("behaviors", rebuild=True, sessions=300)
        found.append(run.read("behaviors").table())
    assert len(run.read("behaviors").files) > 1
    assert found[0].equals(found[1])


def test_a_session_more_than_its_customer_has_is_held_back(small, world):
    trajectory = world.logs.largest[0][0]
    for cut in ("errand", "visit"):
        cuts = [each for each in cut_sessions(world.log(trajectory), cut) if any(act.product for act in each.acts)]
        have = len(cuts)
        found = make_shard_rows(small, 0, 20, sessions=20 * (have + 2), cut=cut)
        held = [row for row in found if isinstance(row, Rejected)]
        assert [row.reasons for row in held] == [[FEWER]] * 2
        assert json.loads(held[0].record)["sessions"] == have
        assert len({row.id for row in found}) == len(found) == have + 2
        kept = sorted(place for row in found if row not in held for place in row.rows)
        assert kept == sorted(
            act.row for each in cuts for act in each.acts
        )  # all but searches after which nothing is opened


def test_one_session_is_enough(small):
    (row,) = make_shard_rows(small, 0, 1, sessions=1)
    assert row.persona_id == "persona-0000019"


def test_a_session_without_a_way_is_held_back_with_the_reason(small, world):
    """A log that opens what no search has shown."""
    trajectory, person = world.logs.largest[0]
    acts = [act for act in world.log(trajectory).acts if act.kind == CLICK][:2]
    broken = build_log([act._replace(row=row) for row, act in enumerate(acts)], {}, world.shop.store)
    logs = SimpleNamespace(largest=[(trajectory, person)], of=lambda *_: broken)
    given = SimpleNamespace(once=lambda _: logs), small.read("catalog"), small.read("personas")
    found = list(replay_drawn_sessions(*given, Shard(0, 1, 3), range(1), 1, "visit"))
    assert [row.reasons for row in found] == [
        ["no way through the pages: a product opened that the search before it does not show"]
    ]
    assert json.loads(found[0].record)["rows"] == ([0, 1] if len(cut_sessions(broken, "visit")) == 1 else [0])


@pytest.mark.parametrize(
    "settings", [{"sessions": 0}, {"sessions": "many"}, {"cut": "week"}, {"written_by": "me"}, {"written_by": "model"}]
)
def test_settings_that_are_none_are_a_clear_problem(copy, settings):
    with pytest.raises(Problem):
        copy.build("behaviors", rebuild=True, **settings)


def test_without_any_log_there_is_no_session():
    nobody = SimpleNamespace(once=lambda _: SimpleNamespace(largest=[]))
    with pytest.raises(Problem, match="nobody has been to the shop"):
        plan_behaviors(nobody, 5)


# Written by a model


@pytest.fixture(scope="module")
def walked(world):
    """A session of some steps with a purchase, walked."""
    for name, session in world.sessions():
        kinds = {act.kind for act in session.acts}
        if len(kinds) == 4 and len(session.acts) < 9:
            walk = world.walk(name, session)
            return FinishedSession("behavior-x", name, walk, walk.go())
    raise AssertionError("nobody searched, looked and bought in one short errand")


def heard(walked, *replies):
    """What came of it, and the prompts; after these replies the last one is repeated."""
    conversation, prompts = phrase_rationales(walked), []
    try:
        prompt = next(conversation)
        while True:
            prompts.append(prompt)
            reply = replies[min(len(prompts), len(replies)) - 1]
            told = reply if isinstance(reply, Reply) else Reply(json.dumps({"rationales": reply}))
            prompt = conversation.send(told)
    except StopIteration as end:
        return end.value, prompts


def honest(walked):
    """A sentence for each step, with what is known of it."""
    return [honestly(number, name_facts(move, walked)["product"]) for number, move in enumerate(walked.walk.moves)]


def honestly(number, title):
    mark = "abcdefghijklmnopqrstuvwxyz"[number % 26] * (2 + number // 26)
    return f"I see {title or 'so'} ({mark})."


def test_what_code_says_is_an_answer_that_a_model_could_give(walked):
    plain, prompts = heard(walked, json.loads(next(phrase_rationales(walked)).offline)["rationales"])
    assert len(prompts) == 1
    assert plain.written_by == "model"


def test_an_honest_model_is_taken_at_its_word(walked):
    row, prompts = heard(walked, honest(walked))
    assert len(prompts) == 1
    assert [step.rationale for step in row.steps] == honest(walked)
    for step, move in zip(row.steps, walked.walk.moves, strict=True):
        assert name_facts(move, walked)["product"] in [*step.said, ""]
        assert all(each in step.rationale for each in step.said)
        assert (step.action, step.reason) == (json.dumps(move.action, ensure_ascii=False), move.reason)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda said: said[:-1], "steps, so write"),
        (lambda said: [*said, "I leave."], "steps, so write"),
        (lambda said: [*said[:-1], "I pay 7777 for it."], "a number that no page shows"),
        (lambda said: [*said[:-1], "I press search_button now."], "names an element"),
        (lambda said: [*said[:-1], "The shopper is happy."], "not in the first person"),
        (lambda said: ["The shopper looks.", *said[1:]], "step 1: a rationale that is not in the first person"),
        (lambda said: [*said[:-1], ""], "not one line of text"),
        (lambda said: [*said[:-1], "I" + " like it" * LONGEST], "too long"),
        (lambda said: [*said[:-1], 7], "rationales"),
        (lambda said: " ".join(said), "rationales"),
    ],
)
def test_what_a_model_gets_wrong_is_sent_back_and_then_held_back(walked, change, wrong):
    row, prompts = heard(walked, change(honest(walked)), honest(walked))
    assert row.written_by == "model"
    assert len(prompts) == 2
    assert wrong in prompts[1].messages[-1]["content"]
    held, prompts = heard(walked, change(honest(walked)))
    assert isinstance(held, Rejected)
    assert len(prompts) == TRIES
    assert held.id == "behavior-x"
    assert held.reasons[0].startswith("rationales: ")
    assert len(json.loads(held.record)["tries"]) == TRIES


def test_an_element_of_its_own_step_is_no_word_for_a_shopper(walked):
    moves = walked.walk.moves
    place = next(place for place, move in enumerate(moves) if move.action.get("name", "").endswith(".view_product"))
    said = honest(walked)
    said[place] = f"I open {moves[place].action['name']}."
    _, prompts = heard(walked, said, honest(walked))
    assert f"step {place + 1}: a rationale that names an element" in prompts[1].messages[-1]["content"]


@pytest.mark.parametrize(
    "reply", [Reply("I like it."), Reply('{"rationale": "I like it."}'), Reply("", fault="cut short")]
)
def test_what_is_no_reply_is_held_back_too(walked, reply):
    held, prompts = heard(walked, reply)
    assert (isinstance(held, Rejected), len(prompts)) == (True, TRIES)


def test_a_model_is_told_of_each_step_what_is_known_of_it_and_no_more(walked):
    (prompt,) = heard(walked, honest(walked))[1]
    told = json.loads(prompt.messages[1]["content"])
    assert [step["does"] for step in told["steps"]] == [describe_move_action(move) for move in walked.walk.moves]
    assert all(set(step) == {"page", "does", "reason", "facts"} for step in told["steps"])
    assert not re.search(r"[a-z]_[a-z]+\.|nav\.|cart\.", prompt.messages[1]["content"])
    assert all(
        value in name_facts(move, walked).values()
        for step, move in zip(told["steps"], walked.walk.moves, strict=True)
        for value in step["facts"].values()
    )
    assert prompt.messages[0] == heard(walked, honest(walked))[1][0].messages[0]


def says(body):
    """What a server answers: honest to every prompt."""
    steps = json.loads(body["messages"][1]["content"])["steps"]
    told = [honestly(number, step["facts"].get("product", "")) for number, step in enumerate(steps)]
    return {"content": json.dumps({"rationales": told})}


def by_model(copy, says, **settings):
    with Server(ServerPlan(says=says)) as server:
        run = Run(copy.folder, workers=1, models=Models(model=f"openai:toy@{server.url}", at_once=4))
        return run, run.build("behaviors", rebuild=True, written_by="model", **settings), server.bodies


def test_what_an_honest_model_writes_is_built_and_verified(copy):
    run, built, bodies = by_model(copy, says, sessions=8)
    assert (built.rows, built.rejected, len(bodies)) == (8, 0, 8)
    assert list_failed_checks(run) == []
    assert {row.written_by for row in run.read("behaviors")} == {"model"}
    code = {row.id: [step.action for step in row.steps] for row in make_shard_rows(run, 0, 1, sessions=8)}
    assert {row.id: [step.action for step in row.steps] for row in run.read("behaviors")} == code


def test_a_model_with_a_brand_out_of_nowhere_is_held_back(copy):
    brands = sorted({each.brand for each in copy.read("catalog") if each.brand and " " not in each.brand})

    def boasts(body):
        facts = body["messages"][1]["content"].lower()
        brand = next(each for each in brands if each.lower() not in facts)
        told = json.loads(says(body)["content"])["rationales"]
        return {"content": json.dumps({"rationales": [f"{told[0]} Maybe one by {brand}.", *told[1:]]})}

    _, built, _ = by_model(copy, boasts, sessions=4)
    assert built.rejected >= 3
    boasted = sum(
        count
        for reason, count in built.rejects.items()
        if reason.startswith("a rationale with a brand that no page has shown")
    )
    assert boasted >= 3


# Other shops


@pytest.fixture
def shop(tmp_path):
    """A run with logs from these products, given as a CSV."""

    def build(products, *, count=6, tokens="6k"):
        with open(tmp_path / "shop.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(products[0]))
            writer.writeheader()
            writer.writerows(products)
        run = Run(tmp_path / "run", seed=5, workers=1)
        run.build("trajectories", source=str(tmp_path / "shop.csv"), count=count, tokens=tokens)
        return run

    return build


def built(run, **settings):
    """What was rejected, but for sessions more than there are."""
    run.build("behaviors", rebuild=True, **settings)
    assert list_failed_checks(run) == []
    assert len(run.read("behaviors"))
    return {reason: count for reason, count in run.read("behaviors").manifest.rejects.items() if reason != FEWER}


@pytest.mark.slow
def test_hostile_titles_are_walked_and_said(shop):
    run = shop([lamp(number, title) for number, title in enumerate(HOSTILE + USUAL)])
    assert built(run, sessions=200) == {}
    seen = "".join(step.rationale for row in run.read("behaviors") for step in row.steps)
    assert "🪑" in seen
    assert "x" * 100 in seen


@pytest.mark.parametrize(
    "title",
    [
        lambda n: f"cart.add_to_cart search_input nav.previous {n}",
        lambda n: f'[SEP] lamp <b> {n} [SEP] "quoted" {{{{ 7 }}}}',
        lambda n: f"石头智能洗地机{n}型",
        lambda n: f"{'very long words ' * 30}{n}",
        lambda n: f"Norrvik {['Red', 'Blue', 'Green', 'Black'][n % 4]} table lamp number {n}",
    ],
    ids=["elements", "marks", "chinese", "long", "colors"],
)
@pytest.mark.slow
def test_titles_of_every_kind_are_walked_and_said(shop, title):
    colors = ["Red", "Blue", "Green", "Black"]
    run = shop([{"id": f"P{n}", "title": title(n), "price": str(5 + n), "color": colors[n % 4]} for n in range(40)])
    assert built(run, sessions=120) == {}
    assert built(run, sessions=40, cut="visit") == {}
    assert "Red" not in title(0) or "other color" in {
        step.reason for row in run.read("behaviors") for step in row.steps
    }


@pytest.mark.slow
def test_a_catalog_without_ratings_descriptions_and_options_is_walked(tmp_path):
    if not REAL.exists():
        pytest.skip("the real catalog is not there")
    run = Run(tmp_path / "run", seed=7, workers=1)
    run.build("trajectories", source=str(REAL), invent_prices=True, count=8, tokens="16k")
    assert built(run, sessions=200) == {}
    assert not any("No description" in step.html for row in run.read("behaviors") for step in row.steps)
    assert built(run, sessions=40, cut="visit") == {}


@pytest.mark.slow
def test_a_run_of_one_customer_is_walked_whole(tmp_path):
    run = Run(tmp_path / "run", seed=5, workers=1)
    run.build("trajectories", products=1_200, count=1, tokens="24k")
    assert built(run, sessions=200) == {}
    events = run.read("trajectories").head(1)[0].events
    assert sorted(place for row in run.read("behaviors") for place in row.rows) == list(range(len(events)))
    assert SEARCH in {event.action_type for event in events}
