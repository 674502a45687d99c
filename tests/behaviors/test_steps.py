"""A session's steps: which are taken so that the actions are mixed as wished, and what the prompt of each holds."""

import json
from collections import Counter

import pytest

from shopwright.pipeline.behaviors.rows import format_step_answer, parse_page_html
from shopwright.pipeline.behaviors.steps import (
    OPERA,
    PAPER,
    TYPES,
    build_next_action,
    build_session_messages,
    build_step_prompt,
    compute_cutoffs,
    count_message_tokens,
    hash_step,
    is_step_selected,
    parse_action_type,
    parse_mix,
    places_to_predict,
    scale_to_shares,
)
from shopwright.pipeline.tokens import estimate
from tests.behaviors.by_hand import SESSIONS

STEPS = [
    ("test" if session % 10 == 0 else "train", kind, hash_step(f"s{session}", place))
    for session in range(200)
    for place, kind in enumerate(["type_and_submit", "click", "click", "click", "terminate"])
]
HAVE = Counter(kind for _, kind, _ in STEPS)


def taken(shares):
    """Kept and for RL, by split and type."""
    found = compute_cutoffs(STEPS, shares)
    kept, rl = Counter(), Counter()
    for session in range(200):
        split = "test" if session % 10 == 0 else "train"
        for place, kind in enumerate(["type_and_submit", "click", "click", "click", "terminate"]):
            is_kept, in_rl = is_step_selected(found, f"s{session}", place, split, kind)
            kept[split, kind] += is_kept
            rl[split, kind] += in_rl
    return found, kept, rl


def of(kept, kind):
    return kept["train", kind] + kept["test", kind]


@pytest.mark.parametrize(
    ("mix", "shares"),
    [("log", ()), ("paper", PAPER), ("opera", OPERA), ("36:36:27", (36, 36, 27)), ("0:1:0", (0, 1, 0))],
)
def test_a_mix_is_a_name_or_three_shares(mix, shares):
    assert parse_mix(mix) == shares


@pytest.mark.parametrize(
    "mix",
    ["", "Paper", "1:2", "1:2:3:4", "a:b:c", "-1:1:1", "0:0:0", "inf:1:1", "1:nan:1", "nan:1:1", "1e999:1:1", "::"],
)
def test_nonsense_is_no_mix(mix):
    with pytest.raises(ValueError, match="three shares such as 36:36:27"):
        parse_mix(mix)


@pytest.mark.parametrize("mix", ["paper", "opera", "36:36:27", "1:1:1", "5:1:0", "0:0:1"])
def test_steps_are_taken_in_the_mix_that_is_asked_for(mix):
    shares = dict(zip(TYPES, parse_mix(mix), strict=True))
    found, kept, _ = taken(parse_mix(mix))
    assert sum(kept.values()) == found.rows
    assert {key: count for key, count in kept.items() if count} == dict(found.counts)
    scale = found.rows / sum(shares.values())
    assert all(abs(of(kept, kind) - scale * share) <= 1 for kind, share in shares.items())
    assert any(of(kept, kind) == HAVE[kind] for kind in TYPES)  # not fewer than there could be


def test_of_the_log_everything_is_taken():
    found, kept, _ = taken(())
    assert found.rows == len(STEPS)
    assert all(of(kept, kind) == HAVE[kind] for kind in TYPES)


@pytest.mark.parametrize("mix", ["log", "paper", "opera"])
def test_to_learn_by_trying_searches_and_clicks_are_a_tenth_more_frequent_and_none_is_held_out(mix):
    _, kept, rl = taken(parse_mix(mix))
    ends = rl["train", "terminate"]
    assert ends
    assert all(rl["test", kind] == 0 for kind in TYPES)
    assert all(abs(rl["train", kind] - 1.1 * ends) <= 1 for kind in ("click", "type_and_submit"))
    assert any(rl["train", kind] == kept["train", kind] for kind in TYPES)


def test_without_any_end_nothing_is_for_rl():
    _, kept, rl = taken(parse_mix("1:1:0"))
    assert sum(rl.values()) == 0
    assert of(kept, "click") == of(kept, "type_and_submit") == HAVE["type_and_submit"]


def test_a_type_that_is_not_there_at_all_leaves_none_of_a_mix_and_all_of_the_log():
    steps = [each for each in STEPS if each[1] != "terminate"]
    assert compute_cutoffs(steps, parse_mix("paper")).rows == 0
    assert compute_cutoffs(steps, ()).rows == len(steps)
    assert scale_to_shares(dict.fromkeys(TYPES, 0), PAPER) == dict.fromkeys(TYPES, 0)


def test_which_steps_are_taken_depends_on_no_order():
    assert compute_cutoffs(STEPS, PAPER) == compute_cutoffs(STEPS[::-1], PAPER)


def test_the_first_move_is_not_predicted_and_all_others_are():
    assert list(places_to_predict(SESSIONS[0].steps)) == list(range(1, len(SESSIONS[0].steps)))


# Prompts

SESSION = SESSIONS[0]


@pytest.mark.parametrize("place", range(1, 4))
def test_the_context_of_a_session_is_every_page_and_every_answer(place):
    system, *told = build_step_prompt(SESSION, place, "session", "nothing")
    assert [message.role for message in told] == ["user", "assistant"] * (place - 1) + ["user"]
    pages = [step.html.strip() for step in SESSION.steps]
    first = f"{pages[0]}\n{format_step_answer(SESSION.steps[0])}\n{pages[1]}"  # the first move is told: nobody is asked for it
    assert [message.content for message in told[::2]] == [first, *pages[2 : place + 1]]
    assert [message.content for message in told[1::2]] == [format_step_answer(step) for step in SESSION.steps[1:place]]
    assert system.role == "system"


@pytest.mark.parametrize("place", range(1, 4))
def test_the_context_of_a_page_is_it_alone_and_every_answer_before(place):
    _, user = build_step_prompt(SESSION, place, "page", "nothing")
    assert user.content.endswith(SESSION.steps[place].html.strip())
    assert user.content.count("<html>") == 1
    assert [line for line in user.content.split("\n") if line.startswith("{")] == [
        format_step_answer(step) for step in SESSION.steps[:place]
    ]


@pytest.mark.parametrize("context", ["session", "page"])
@pytest.mark.parametrize(("known", "persona", "intent"), [("nothing", 0, 0), ("persona", 1, 0), ("intent", 1, 1)])
def test_a_prompt_tells_of_the_shopper_what_it_is_to_tell(context, known, persona, intent):
    whole = json.dumps([message.content for message in build_step_prompt(SESSION, 2, context, known)])
    assert whole.count(SESSION.persona) == persona
    assert whole.count(SESSION.intent) == intent


@pytest.mark.parametrize("context", ["session", "page"])
@pytest.mark.parametrize("known", ["nothing", "persona", "intent"])
def test_no_prompt_holds_the_truth_or_what_comes_after(small, context, known):
    for behavior in small.read("behaviors").head(4):
        for place, step in list(enumerate(behavior.steps))[1:]:
            prompt = build_step_prompt(behavior, place, context, known)
            words = "\n".join(message.content for message in prompt)
            answers = [format_step_answer(each) for each in behavior.steps]
            assert answers[place] not in words or answers[place] in answers[:place]
            later = {each.html.strip() for each in behavior.steps[place + 1 :]}
            seen = {each.html.strip() for each in behavior.steps[: place + 1]}
            assert not any(html in words for html in later - seen)
            assert step.html.strip() in prompt[-1].content


def test_the_systems_part_is_the_same_for_every_step():
    one, other = (build_step_prompt(SESSION, place, "session", "nothing")[0] for place in (1, 3))
    assert one == other == build_step_prompt(SESSIONS[1], 1, "session", "nothing")[0]


@pytest.mark.parametrize("context", ["session", "page"])
def test_both_contexts_are_counted_whichever_is_stored(context):
    row = build_next_action(SESSION, 2, context, "intent", in_rl=True)
    assert row.session_tokens == count_message_tokens(build_step_prompt(SESSION, 2, "session", "intent"))
    assert row.page_tokens == count_message_tokens(build_step_prompt(SESSION, 2, "page", "intent"))
    assert row.page_tokens < row.session_tokens
    own = {"session": row.session_tokens, "page": row.page_tokens}[context]
    assert own == sum(estimate(message.content) for message in row.prompt)


def test_a_step_is_its_sessions(small):
    behavior = small.read("behaviors").head(1)[0]
    row = build_next_action(behavior, 1, "page", "nothing", in_rl=False)
    true = behavior.steps[1]
    assert (row.action, row.rationale, row.split) == (true.action, true.rationale, behavior.split)
    assert (row.action_type, row.step, row.behavior_id) == (json.loads(true.action)["type"], 1, behavior.id)


def test_a_whole_session_is_a_conversation_that_ends_with_its_last_answer():
    told = build_session_messages(SESSION)
    assert [message.role for message in told] == ["system", *["user", "assistant"] * (len(SESSION.steps) - 1)]
    assert [json.loads(message.content)["rationale"] for message in told[2::2]] == [
        step.rationale for step in SESSION.steps[1:]
    ]


def test_an_answer_reads_back_whatever_was_said():
    for said in ('I like "it".', "I like \\ {{ it }}", "I like 茶 & <b>", "I like 🪑"):
        step = SESSION.steps[0].model_copy(update={"rationale": said})
        assert json.loads(format_step_answer(step)) == {"rationale": said, "action": json.loads(step.action)}
        assert step.action in format_step_answer(step)


@pytest.mark.parametrize("kind", TYPES)
def test_the_type_of_an_action_is_read_from_its_json(kind):
    assert parse_action_type(json.dumps({"type": kind, "name": 'a "type": "click"'})) == kind


# Pages


def test_the_text_of_a_page_is_what_can_be_read_on_it():
    html = '<h1>a &lt;b&gt; &amp; &amp;amp; "c"</h1>\n<div><button name="x.y">Go  on</button><input name="z"></div>'
    found = parse_page_html(html)
    assert found.text == 'a <b> & &amp; "c" Go on'
    assert found.names == (("button", "x.y"), ("input", "z"))
