"""What a call uses stands in a text before it, or follows by a sum that it names."""

import json

from shopwright.pipeline.envs.unseen import find_usage
from shopwright.schemas.tasks import Turn

OPENING = "A desk lamp, please, for $60 at most."
FOUND = json.dumps([{"results": [{"product_id": "B01", "category": "Table Lamps", "price": 42.5}]}])


def list_unseen(name, thought="", **arguments):
    """Of a call after a first search."""
    first = Turn(action='{"tool_calls":[{"name":"datetime_now"}]}', results=FOUND, user="", user_act="")
    action = json.dumps({"thoughts": [thought], "tool_calls": [{"name": name, "args": arguments}]})
    return list(find_usage(OPENING, [first, Turn(action=action, results="[]", user="", user_act="")]).unseen)


def test_what_was_said_or_shown_may_be_used():
    assert list_unseen("catalog_search", query="desk lamp", category="Table Lamps", max_price=60.0) == []
    assert list_unseen("cart_add", product_id="B01", variant_id="B01", quantity=1) == []


def test_what_stands_nowhere_is_invented():
    assert list_unseen("catalog_search", query="oak lamp") == ["turn 2: word 'oak'"]
    assert list_unseen("catalog_search", query="", category="Table Lamp") == ["turn 2: text 'Table Lamp'"]
    assert list_unseen("catalog_get_product", product_id="B0") == ["turn 2: id 'B0'"]
    assert list_unseen("catalog_search", query="", max_price=59.0) == ["turn 2: number '59.0'"]
    assert list_unseen("ask_user", question="Is $77 fine?") == ["turn 2: number '77.0'"]


def test_a_sum_has_to_be_named_to_be_right_and_to_begin_with_what_was_seen():
    wants = {"query": "", "max_price": 17.5}
    assert list_unseen("catalog_search", "$60.00 - $42.50 = $17.50", **wants) == []
    assert list_unseen("catalog_search", "$60.00 - $42.00 = $18.00", **wants) == ["turn 2: number '17.5'"]
    assert list_unseen("catalog_search", "$60.00 - $40.00 = $17.50", **wants) == ["turn 2: number '17.5'"]
    assert list_unseen("catalog_search", "$59.00 - $41.50 = $17.50", **wants) == ["turn 2: number '17.5'"]
    assert list_unseen("catalog_search", "It should be cheap.", **wants) == ["turn 2: number '17.5'"]


def test_an_answer_is_looked_at_too():
    turn = Turn(
        action='{"answer":{"recommended_product_ids":["B09"],"policy_answer":"yes"}}',
        results="[]",
        user="",
        user_act="",
    )
    assert find_usage(OPENING, [turn]).unseen == ("turn 1: id 'B09'",)
