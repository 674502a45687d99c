"""Steps of sessions as the stage makes them: mixed as wished, told as wished, split by customer, and no truth in a prompt."""

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from shopwright.pipeline.behaviors.rows import format_step_answer
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.stage import Shard
from shopwright.pipeline.stages import all_stages

STAGE = all_stages()["behavior_steps"]


@pytest.fixture(scope="module")
def rows(small):
    return list(small.read("behavior_steps"))


@pytest.fixture(scope="module")
def sessions(small):
    return {row.id: row for row in small.read("behaviors")}


def make_steps(run, mix="log", shards=1, **settings):
    have = run.read("behaviors")
    plan = STAGE.plan({"behaviors": have}, {"mix": mix})
    found = [row for index in range(shards) for row in STAGE.function(have, Shard(index, shards, 3), plan, **settings)]
    return plan, found


def test_a_build_rejects_nothing(small):
    manifest = small.read("behavior_steps").manifest
    assert (manifest.rejected, manifest.rows) == (0, manifest.requested)


def test_each_step_of_each_session_but_its_first_is_there_once(rows, sessions):
    wanted = [(id, place) for id, row in sessions.items() for place in range(1, len(row.steps))]
    assert [(row.behavior_id, row.step) for row in rows] == wanted
    for row in rows:
        assert row.split == sessions[row.behavior_id].split
        assert (row.action, row.rationale) == (
            sessions[row.behavior_id].steps[row.step].action,
            sessions[row.behavior_id].steps[row.step].rationale,
        )


def test_customers_are_in_one_split(rows):
    splits = {(row.persona_id, row.split) for row in rows}
    assert len(splits) == len({person for person, _ in splits})


def test_what_is_for_rl_is_mixed_as_the_papers_and_only_of_the_train_split(rows):
    counts = Counter(row.action_type for row in rows if row.in_rl)
    ends = counts["terminate"]
    assert ends > 20
    assert all(abs(counts[kind] - 1.1 * ends) <= 0.5 for kind in ("click", "type_and_submit"))
    assert {row.split for row in rows if row.in_rl} == {"train"}
    assert ends == sum(row.action_type == "terminate" and row.split == "train" for row in rows)


@pytest.mark.parametrize(
    ("mix", "shares"), [("paper", (36.2, 36.6, 27.2)), ("opera", (8, 83, 9)), ("36:36:27", (36, 36, 27))]
)
def test_a_mix_is_kept_and_told(small, mix, shares):
    plan, found = make_steps(small, mix)
    counts = Counter(row.action_type for row in found)
    scale = len(found) / sum(shares)
    named = zip(("type_and_submit", "click", "terminate"), shares, strict=True)
    assert all(abs(counts[kind] - scale * share) <= 1 for kind, share in named)
    assert plan.rows == len(found) == sum(plan.stats.values())
    assert Counter(f"{row.split} {row.action_type}" for row in found) == plan.stats


def test_a_smaller_mix_is_a_part_of_the_log(small, rows):
    _, found = make_steps(small, "opera")
    assert {row.id for row in found} < {row.id for row in rows}


@pytest.mark.parametrize("mix", ["", "mostly clicks", "1:2", "0:0:0", "1:nan:1", "-1:1:1"])
def test_nonsense_is_no_mix(copy, mix):
    with pytest.raises(Problem, match="mix"):
        copy.build("behavior_steps", rebuild=True, mix=mix)


def test_one_shard_or_three_make_the_same_of_a_mix(small):
    assert make_steps(small, "paper", shards=3)[1] == make_steps(small, "paper")[1]


@pytest.mark.parametrize("context", ["session", "page"])
@pytest.mark.parametrize("known", ["nothing", "persona", "intent"])
def test_a_prompt_holds_what_it_is_to_tell_and_no_truth(small, sessions, context, known):
    _, found = make_steps(small, "0:0:1", context=context, customer_facts=known)
    assert found
    for row in found:
        session = sessions[row.behavior_id]
        system, words = row.prompt[0].content, "\n".join(message.content for message in row.prompt)
        assert (session.persona in system) == (known != "nothing")
        assert (session.intent in system) == (known == "intent")
        assert format_step_answer(session.steps[row.step]) not in words
        assert all(format_step_answer(step) in words for step in session.steps[: row.step])
        assert len(row.prompt) == (2 if context == "page" else 2 * row.step)


def test_both_counts_of_tokens_are_there_whichever_context_is_stored(small):
    _, whole = make_steps(small, "0:0:1", context="session")
    _, page = make_steps(small, "0:0:1", context="page")
    assert [(row.session_tokens, row.page_tokens) for row in whole] == [
        (row.session_tokens, row.page_tokens) for row in page
    ]
    assert all(row.page_tokens < row.session_tokens for row in whole)


def test_every_action_reads_as_the_papers_json(rows):
    for row in rows:
        action = json.loads(row.action)
        assert action["type"] == row.action_type
        parts = {"terminate": ["type"], "click": ["type", "name"], "type_and_submit": ["type", "name", "text"]}
        assert list(action) == parts[row.action_type]


def test_without_any_session_there_is_no_step():
    nobody = SimpleNamespace(once=lambda _: [])
    with pytest.raises(Problem, match="no session of two steps"):
        STAGE.plan({"behaviors": nobody}, {"mix": "log"})
