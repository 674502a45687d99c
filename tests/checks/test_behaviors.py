"""Every promise about a session and about its steps, broken once: its check says so, and has nothing against the row before."""

import copy
import json
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.behaviors.rows import count_session_tokens
from shopwright.pipeline.behaviors.sessions import CART, CLICK, PURCHASE
from shopwright.pipeline.behaviors.steps import build_next_action
from shopwright.pipeline.checks.behaviors import (
    actions_are_on_their_page,
    count_cart_pieces,
    rl_mix_is_the_papers,
    shop_matches_event,
    splits_share_no_customer,
)
from shopwright.pipeline.checks.behaviors import test_says_nothing_of_training as says_nothing_of_training
from shopwright.pipeline.dataset import Dataset
from shopwright.pipeline.stage import reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.stages.behaviors import sessions_differ
from shopwright.schemas.behaviors import Behavior, BehaviorStep, NextAction
from tests.behaviors.world import World, otherwise
from tests.rows import write_dataset

STAGE, STEPS = all_stages()["behaviors"], all_stages()["behavior_steps"]
EVENTS = "events that are not the log's"
LEADS = "a page that the actions before it do not lead to"
NOTHING = "an action that does nothing"
OTHER = "another product or variant than the log's and its order's"
PRICE = "a product at another price than the log's"
UNSEEN = "a rationale that names what no page has shown"
NUMBER = "a rationale with a number that no page shows"
FIRST = "a rationale that is not in the first person"
LINE = "a rationale that is not one line of text"
ELEMENT = "a rationale that names an element"
STRANGER = "a customer that is somebody else"
SPLIT = "a split that is not its customer's"
TOKENS = "tokens that are not those of its pages and answers"
HINT = "a prompt that tells what it asks for"
BEFORE = "a prompt without what was done before"
NO_SESSION = "a step of no session"
NOT_THERE = "not what its session has there"


@pytest.fixture(scope="module")
def rows(small):
    return small.read("behaviors").table().to_pylist()


@pytest.fixture(scope="module")
def world(small):
    return World(small)


@pytest.fixture(scope="module")
def find_reasons(small):
    """All that the checks have against a session."""
    have = {name: small.read(name) for name in STAGE.reads}
    return lambda row: set(reasons_against(STAGE, to_batch(Behavior, [row]), have)[0])


@pytest.fixture(scope="module")
def told_of_step(small):
    """All that the checks have against a step."""
    have = {name: small.read(name) for name in STEPS.reads}
    return lambda row: set(reasons_against(STEPS, to_batch(NextAction, [row]), have)[0])


def kinds(row):
    """What each step does, by the page's element."""
    actions = (json.loads(step["action"]) for step in row["steps"])
    return [action.get("name", action["type"]).rpartition(".")[2] for action in actions]


def has(*wanted):
    return lambda row: set(wanted) <= set(kinds(row))


@pytest.fixture
def bought(rows):
    """A session that ends with a purchase."""
    return copy.deepcopy(next(row for row in rows if kinds(row)[-1] == "buy"))


@pytest.fixture
def carted(rows, world):
    """A session in which something is opened and something put in the cart, at prices that its pages show as the log has them."""

    def shows(row, kind):
        cents = world.log(row["trajectory_id"]).acts[at(row, kind)["row"]].cents
        return f"${cents // 100}." in after(row, kind)["html"]

    both = (row for row in rows if has("view_product", "add_to_cart")(row))
    return copy.deepcopy(next(row for row in both if shows(row, "view_product") and shows(row, "add_to_cart")))


@pytest.fixture
def left(rows):
    """A session that ends without a purchase."""
    return copy.deepcopy(next(row for row in rows if has("terminate", "view_product", "previous")(row)))


def at(row, kind):
    """The first step that does this."""
    return row["steps"][kinds(row).index(kind)]


def after(row, kind):
    """The page after it."""
    return row["steps"][kinds(row).index(kind) + 1]


def act(step, **action):
    step["action"] = json.dumps(action, ensure_ascii=False)


def counted(row):
    return row | {"tokens": count_session_tokens([BehaviorStep.model_validate(step) for step in row["steps"]])}


def test_sessions_as_they_were_made_pass(find_reasons, rows):
    assert [find_reasons(row) for row in rows[:6]] == [set()] * 6


# Events


def test_an_event_at_another_time_is_found(find_reasons, left):
    left["steps"][-2]["at"] += timedelta(milliseconds=1)
    at(left, "view_product")["at"] += timedelta(milliseconds=1)
    assert "an event at another time" in find_reasons(left)


def test_steps_out_of_order_are_found(find_reasons, left):
    left["end"] = left["steps"][-1]["at"] = left["steps"][0]["at"] - timedelta(hours=1)
    assert find_reasons(left) == {"steps that are not in order of time"}


@pytest.mark.parametrize("end", ["start", "end"])
def test_a_start_and_an_end_are_the_first_and_the_last_steps(find_reasons, left, end):
    left[end] += timedelta(seconds=1)
    assert find_reasons(left) == {"steps that are not in order of time"}


def test_an_event_that_is_left_out_is_found(find_reasons, left):
    left["rows"].pop(0)
    assert EVENTS in find_reasons(left)
    left["steps"].pop(0)
    assert LEADS in find_reasons(left)


@pytest.mark.parametrize("places", [[], [10**6], [-1], [5, 4]])
def test_rows_of_no_log_are_found(find_reasons, left, places):
    assert EVENTS in find_reasons(left | {"rows": places})


def test_another_search_than_the_logs_is_found(find_reasons, left):
    step = at(left, "search_input")
    act(step, type="type_and_submit", name="search_input", text=json.loads(step["action"])["text"] + " red")
    assert "another search than the log's" in find_reasons(left)


def test_an_event_told_of_another_action_is_found(find_reasons, left):
    act(at(left, "view_product"), type="click", name="nav.home")
    assert "a click that is another action" in find_reasons(left)


@pytest.mark.parametrize(("kind", "event"), [("view_product", CLICK), ("add_to_cart", CART)])
def test_a_page_after_an_event_with_another_product_is_found(find_reasons, world, carted, kind, event):
    step, page = at(carted, kind), after(carted, kind)
    product = world.log(carted["trajectory_id"]).acts[step["row"]].product
    title = world.shop.store.item(world.shop.store.row(product)).title
    page["html"] = page["html"].replace(title.replace("&", "&amp;"), "Something else")
    assert f"a {event} after which the page shows another product" in find_reasons(carted)


@pytest.mark.parametrize("kind", ["view_product", "add_to_cart"])
def test_another_price_than_the_logs_is_found(find_reasons, world, carted, kind):
    step, page = at(carted, kind), after(carted, kind)
    cents = world.log(carted["trajectory_id"]).acts[step["row"]].cents
    assert f"${cents // 100}." in page["html"]
    page["html"] = page["html"].replace("$", "$9")
    assert find_reasons(counted(carted)) >= {PRICE, LEADS}


def test_two_visits_are_not_one_session(find_reasons, world):
    name, first = next((name, each) for name, each in world.sessions("visit") if each.until)
    second = next(each for log, each in world.sessions("visit") if log == name and each.acts[0].at == first.until)
    both = replace(first, errands=(*first.errands, *second.errands), until=second.until)
    assert find_reasons(world.row(name, both)) >= {"two visits in one session", "events that are no session"}


# Pages


def test_a_word_on_a_page_that_was_not_there_is_found(find_reasons, left):
    left["steps"][1]["html"] = left["steps"][1]["html"].replace("</h1>", " and more</h1>", 1)
    assert find_reasons(counted(left)) == {LEADS}


def test_an_action_that_the_page_does_not_know_is_found(find_reasons, left):
    act(at(left, "previous"), type="click", name="nav.next")
    assert find_reasons(counted(left)) == {NOTHING, "a click on what is not on the page"}


def test_another_intent_is_found(find_reasons, left):
    assert find_reasons(left | {"intent": left["intent"] + " And more."}) == {"an intent that is not the session's"}


def test_a_log_that_is_not_there_is_found(find_reasons, left):
    assert find_reasons(left | {"trajectory_id": "nobody"}) >= {EVENTS, "a log that is not there", STRANGER}


def test_another_variant_than_the_orders_is_found(find_reasons, world):
    """All of the row is as it would be, but for what was chosen."""
    for name, session in world.sessions():
        done = {each.kind: each for each in session.acts}
        if {CART, PURCHASE} <= done.keys() and done[CART].product == done[PURCHASE].product:
            own = session.variants[done[PURCHASE].row]
            row = world.shop.store.row(done[PURCHASE].product)
            others = [each.id for each in world.shop.store.options(row) if each.id != own and each.stock]
            if others and not {each for each in session.cart if each[0] == done[PURCHASE].product}:
                changed = otherwise(otherwise(session, others[0], done[CART].row), others[0], done[PURCHASE].row)
                assert find_reasons(world.row(name, session)) == set()
                assert OTHER in find_reasons(world.row(name, changed))
                return
    raise AssertionError("nothing was bought that has other variants")


def test_another_product_than_the_logs_is_found(world):
    """A twin, say, whose title and price are the same."""
    name, session = world.sessions(most=1)[0]
    walk = world.walk(name, session)
    walk.act(session.acts[0], session.acts[1:])
    walk.browser.press(next(each for each in walk.browser.page.deeds if each.endswith(".view_product")))
    item = walk.store.item(walk.browser.view.row)
    click = session.acts[0]._replace(kind=CLICK, product=item.id)
    assert shop_matches_event(click, {}, walk.browser, count_cart_pieces(walk.browser))
    assert not shop_matches_event(click._replace(product="another"), {}, walk.browser, count_cart_pieces(walk.browser))


# Actions


@pytest.mark.parametrize(
    "action",
    [
        '{"type": "wait"}',
        '{"type": "click"}',
        '{"type": "click", "name": ""}',
        '{"type":"click","name":"nav.home"}',
        '{"name": "nav.home", "type": "click"}',
        '{"type": "click", "name": "nav.home", "why": "to begin again"}',
        '["click"]',
    ],
)
def test_an_action_that_is_none_is_found(action, left):
    left["steps"][0]["action"] = action
    assert actions_are_on_their_page(Behavior.model_validate(left)) == "a malformed action"


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"type": "click", "name": "search_input"}, "a click on what is not on the page"),
        ({"type": "click", "name": "no.such_thing"}, "a click on what is not on the page"),
        (
            {"type": "type_and_submit", "name": "search_button", "text": "x"},
            "a text typed into what is not on the page",
        ),
        ({"type": "type_and_submit", "name": "no.field", "text": "x"}, "a text typed into what is not on the page"),
    ],
)
def test_an_element_that_cannot_be_acted_on_so_is_found(find_reasons, left, action, reason):
    act(at(left, "previous"), **action)
    assert find_reasons(left) >= {reason, NOTHING}


def test_two_elements_of_one_name_are_found(find_reasons, left):
    page = at(left, "view_product")
    page["html"] = page["html"].replace("<ul>", '<button name="nav.home">x</button><ul>', 1)
    assert find_reasons(counted(left)) == {LEADS, "two elements of a page with one name"}


def test_a_search_for_something_else_is_found(find_reasons, left):
    act(at(left, "search_input"), type="type_and_submit", name="search_input", text="zebra xylophones")
    assert "a search that has nothing to do with the intent" in find_reasons(left)


# Rationales


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", LINE),
        (" I like it.", LINE),
        ("I like\nit.", LINE),
        ("I like\u2028it.", LINE),
        ("I like it. " * 40 + "Well.", "a rationale that is too long"),
        ("The shopper likes it.", FIRST),
        ("I pay 7777 for it.", NUMBER),
        ("I pay $77.77 for it.", NUMBER),
        ("I press cart.add_to_cart.", ELEMENT),
        ("I press nav.previous.", ELEMENT),
        ("I type it into search_input.", ELEMENT),
    ],
)
def test_a_rationale_that_nobody_would_say_is_found(find_reasons, left, text, reason):
    at(left, "previous").update(rationale=text, said=[])
    assert beside_reading(find_reasons(counted(left))) == {reason}


def beside_reading(reasons):
    """Without what the reader says of words that no shopper's are: it has to say so of each of them."""
    return {
        each
        for each in reasons
        if each != "a rationale that claims nothing that could be said here"
        and not each.startswith("a rationale that is read as ")
        and not each.endswith("which is not understood")
    }


def test_a_rationale_that_names_its_next_element_is_found(find_reasons, left):
    step = at(left, "view_product")
    step.update(rationale=f"I open {json.loads(step['action'])['name']}.", said=[])
    assert beside_reading(find_reasons(counted(left))) == {ELEMENT}


def test_a_thing_that_no_page_has_shown_yet_is_found(find_reasons, left):
    """A product's page shows it, but later."""
    later = at(left, "view_product")
    said = later["said"][0]
    assert said not in left["steps"][0]["html"]
    left["steps"][0].update(rationale=f"I want {said}, which I do not know yet.", said=[said])
    assert beside_reading(find_reasons(counted(left))) in ({UNSEEN}, {NUMBER})


def test_words_that_the_rationale_does_not_say_are_found(find_reasons, left):
    left["steps"][0]["said"] = ["Shop"]
    assert find_reasons(left) == {"words of a rationale that it does not say"}


def test_a_brand_out_of_nowhere_is_found_in_what_a_model_wrote(find_reasons, small, world, left):
    pages = " ".join(step["html"] + step["action"] for step in left["steps"]).lower()
    own = " ".join(world.people[left["persona_id"]].brands).lower()
    brand = next(
        each.brand
        for each in small.read("catalog")
        if each.brand and not any(word in pages + own for word in each.brand.lower().split())
    )
    step = at(left, "previous")
    step.update(rationale=f"I would rather have one by {brand}.", said=[])
    assert beside_reading(find_reasons(counted(left))) == set()  # code's own words name none
    reasons = find_reasons(counted(left | {"written_by": "model"}))
    assert [each.partition(": ")[0] for each in beside_reading(reasons)] == [
        "a rationale with a brand that no page has shown"
    ]


# Ends and customers


def test_an_end_before_the_end_is_found(find_reasons, left):
    act(left["steps"][0], type="terminate")
    assert "a malformed end" in find_reasons(left)


def test_what_is_typed_needs_a_field_on_its_page(find_reasons, left):
    step = at(left, "search_input")
    step["html"] = "<div></div>"
    assert "a text typed into what is not on the page" in find_reasons(left)


def test_frames_of_training_in_the_test_are_found_where_they_stand(tmp_path, rows):
    trained, other = (row for row in [row for row in rows if row["written_by"] == "code"][:2])
    sides = [trained | {"split": "train"}, other | {"split": "train"}, trained | {"split": "test", "id": "again"}]
    for some, places in ((sides, [2]), (sides[1:2], []), (sides[:2], [])):
        found = write_dataset(tmp_path / f"{len(some)}", "behaviors", Behavior, some)
        assert [fault.row for fault in says_nothing_of_training(found)] == places


def test_an_end_shortly_before_the_end_is_found(find_reasons, left):
    act(left["steps"][-2], type="terminate")
    assert "a malformed end" in find_reasons(left)


def test_a_session_without_its_end_is_found(find_reasons, left):
    left["steps"].pop()
    assert find_reasons(counted(left | {"end": left["steps"][-1]["at"]})) == {"a malformed end"}


def test_who_bought_at_last_does_not_leave(find_reasons, bought):
    last = bought["steps"][-1]
    bought["steps"].append(
        {**last, "action": '{"type": "terminate"}', "rationale": "I leave.", "said": [], "row": None}
    )
    assert "a malformed end" in find_reasons(counted(bought))


@pytest.mark.parametrize("outcome", ["bought", "left in the cart", "gave up"])
def test_only_the_logs_outcome_is_one(find_reasons, left, outcome):
    found = find_reasons(left | {"outcome": outcome})
    assert found == (set() if outcome == left["outcome"] else {"another outcome than the log's"})


def test_somebody_elses_customer_is_found(find_reasons, rows, left):
    other = next(row for row in rows if row["persona_id"] != left["persona_id"])
    assert find_reasons(left | {"persona": other["persona"]}) == {STRANGER}
    assert STRANGER in find_reasons(left | {"persona_id": other["persona_id"]})
    assert STRANGER in find_reasons(left | {"persona_id": "nobody"})


def test_a_split_that_is_not_its_customers_is_found(find_reasons, left):
    assert find_reasons(left | {"split": "test" if left["split"] == "train" else "train"}) == {SPLIT}


def test_tokens_that_nobody_counted_are_found(find_reasons, left):
    assert find_reasons(left | {"tokens": left["tokens"] + 1}) == {TOKENS}


def written(folder, name, makes, rows):
    schema = Dataset(folder, name, makes).table().schema
    (folder / name).mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / name / "part-00000.parquet")
    return Dataset(folder, name, makes)


def test_a_session_told_twice_and_a_customer_in_both_splits_are_found(tmp_path, rows, small):
    again = {**rows[0], "id": "again", "split": "test" if rows[0]["split"] == "train" else "train"}
    found = written(tmp_path, "behaviors", Behavior, [*rows[:4], again])
    assert [fault.row for fault in sessions_differ(found)] == [4]
    places = {fault.row for fault in splits_share_no_customer(found)}
    assert places == {
        number
        for number, row in enumerate([*rows[:4], again])
        if row["persona_id"] == rows[0]["persona_id"] and row["split"] == "train"
    }
    whole = small.read("behaviors")
    assert [*sessions_differ(whole), *splits_share_no_customer(whole)] == []


# Steps


@pytest.fixture(scope="module")
def behaviors(small):
    return list(small.read("behaviors"))


@pytest.fixture(params=["session", "page"])
def step(request, behaviors):
    """The third step of a session, in either context."""
    behavior = next(each for each in behaviors if len(each.steps) > 4)
    return build_next_action(behavior, 3, request.param, "persona", in_rl=False).model_dump()


def prompted(step, place, change):
    """The step with other words in one of its messages."""
    prompt = copy.deepcopy(step["prompt"])
    prompt[place]["content"] = change(prompt[place]["content"])
    return step | {"prompt": prompt}


def test_steps_as_they_were_made_pass(told_of_step, small, step):
    assert told_of_step(step) == set()
    assert [told_of_step(each.model_dump()) for each in small.read("behavior_steps").head(6)] == [set()] * 6


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"behavior_id": "nobody"}, NO_SESSION),
        ({"step": 10**6}, NO_SESSION),
        ({"step": -1}, NO_SESSION),
        ({"step": 2}, NOT_THERE),
        ({"action": '{"type": "terminate"}'}, NOT_THERE),
        ({"rationale": "I leave."}, NOT_THERE),
        ({"persona_id": "nobody"}, NOT_THERE),
        ({"action_type": "terminate"}, NOT_THERE),
    ],
)
def test_a_step_that_is_not_its_sessions_is_found(told_of_step, step, change, reason):
    assert reason in told_of_step(step | change)


def test_a_test_step_is_not_learned_on(told_of_step, behaviors):
    behavior = next(each for each in behaviors if each.split == "test")
    step = build_next_action(behavior, 1, "page", "nothing", in_rl=True).model_dump()
    assert told_of_step(step) == {"a test step to learn on"}
    assert told_of_step(step | {"split": "train"}) == {NOT_THERE}


def test_a_first_move_is_no_step_to_be_predicted(told_of_step, step):
    assert "a first move, before which nothing was seen" in told_of_step(step | {"step": 0})


@pytest.mark.parametrize("change", [lambda text: text + " more", lambda text: text[:-20]], ids=["more", "less"])
def test_a_prompt_that_shows_another_page_is_found(told_of_step, step, change):
    assert "a prompt that does not end with the page" in told_of_step(prompted(step, -1, change))


def test_a_page_before_that_was_another_is_found(told_of_step, behaviors):
    behavior = next(each for each in behaviors if len(each.steps) > 4)
    step = build_next_action(behavior, 3, "session", "nothing", in_rl=False).model_dump()
    assert BEFORE in told_of_step(prompted(step, 3, lambda text: text.replace("<h1>", "<h1>Not ")))


def test_a_prompt_with_its_own_answer_is_found(told_of_step, step):
    hints = (step["action"], step["rationale"], '{"rationale": "I want it."}')
    assert all(
        told_of_step(prompted(step, -1, lambda text, hint=hint: f"{hint}\n{text}"))
        & {HINT, BEFORE, "a prompt that is no conversation"}
        for hint in hints
    )
    assert HINT in told_of_step(prompted(step, 0, lambda text: f"{text} {step['rationale']}"))


def test_an_answer_before_that_was_another_is_found(told_of_step, step):
    begins = '"rationale": "'
    assert told_of_step(prompted(step, 1, lambda text: text.replace(begins, f"{begins}Well, ", 1))) & {BEFORE, HINT}
    first = '"name": "search_input"'  # the answer's; the page has `name="search_input"`
    assert BEFORE in told_of_step(prompted(step, 1, lambda text: text.replace(first, '"name": "search"', 1)))


def test_a_conversation_with_a_turn_less_is_found(told_of_step, behaviors):
    behavior = next(each for each in behaviors if len(each.steps) > 4)
    step = build_next_action(behavior, 3, "session", "nothing", in_rl=False).model_dump()
    assert "a prompt that is no conversation" in told_of_step(
        step | {"prompt": [*step["prompt"][:1], *step["prompt"][3:]]}
    )
    turned = [*step["prompt"][:-1], {**step["prompt"][-1], "role": "assistant"}]
    assert "a prompt that is no conversation" in told_of_step(step | {"prompt": turned})


def test_prompt_tokens_that_nobody_counted_are_found(told_of_step, step):
    own = "page_tokens" if len(step["prompt"]) == 2 else "session_tokens"
    assert told_of_step(step | {own: step[own] + 1}) == {"tokens that are not those of its prompt"}


def test_a_mix_that_is_not_the_papers_is_found(tmp_path, small):
    have = small.read("behavior_steps")
    assert list(rl_mix_is_the_papers(have)) == []
    rows = have.table().to_pylist()
    more = [row | {"in_rl": row["in_rl"] or row["action_type"] == "click"} for row in rows]
    found = list(rl_mix_is_the_papers(written(tmp_path, "behavior_steps", NextAction, more)))
    assert {more[fault.row]["action_type"] for fault in found} == {"click"}
    assert len(found) == sum(row["action_type"] == "click" for row in rows)


@pytest.mark.parametrize(("clicks", "right"), [(9, False), (10, True), (12, True), (13, False)])
def test_a_mix_may_be_one_step_off(tmp_path, small, clicks, right):
    rows = {row["action_type"]: row | {"in_rl": True} for row in small.read("behavior_steps").table().to_pylist()}
    mix = [rows["terminate"]] * 10 + [rows["type_and_submit"]] * 11 + [rows["click"]] * clicks
    assert (list(rl_mix_is_the_papers(written(tmp_path, "behavior_steps", NextAction, mix))) == []) == right
