import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline import gym
from shopwright.pipeline.envs import get_env
from shopwright.pipeline.envs.episode import Episode, draw_task
from shopwright.pipeline.shop.tools import TOOLS, IllegalCall, call_tool, is_of_type, read_tool_signatures
from tests.fuzz.hostile import DEEP, DIGITS, json_values, some, text, texts, tried


@pytest.fixture(scope="module")
def episode():
    world = gym.world(products=400, customers=6)
    return Episode(get_env("cart_building"), world, draw_task(get_env("cart_building"), world, 0, 1))


ids = texts("product-0000001", "variant-0000001", "order-1", "lamp", "black")
by_kind = {str: ids, int: st.integers() | st.integers(-3, 30), float: st.floats(), bool: st.booleans()}


@st.composite
def calls(draw):
    """A tool that there is; arguments of its own names and kinds, or of others."""
    name = draw(st.sampled_from(TOOLS))
    wanted = read_tool_signatures()[name]
    chosen = [each for each, (_, needed) in wanted.items() if needed or draw(st.booleans())]
    kinds = {each: by_kind[wanted[each][0]] for each in chosen}
    told = {each: draw(kind | json_values if draw(st.integers(0, 3)) == 0 else kind) for each, kind in kinds.items()}
    return name, told | draw(st.just({}) | st.dictionaries(text, json_values, max_size=1))


@some
@given(st.lists(calls() | st.tuples(text, st.dictionaries(text, json_values, max_size=1)), min_size=1, max_size=3))
@example([("catalog_search", {"query": "lamp", "min_price": float("nan"), "max_price": float("inf"), "page": 2**62})])
@example([("cart_add", {"variant_id": "\ud800", "quantity": -(2**62)})])
def test_any_call_of_a_tool_is_answered_by_json_or_illegal(episode, told):
    episode.reset()
    for name, arguments in told:
        found, illegal = tried(IllegalCall, call_tool, episode.shop, name, arguments)
        assert 0 < len(str(illegal)) < 300 if illegal else isinstance(found, dict)
        assert json.loads(json.dumps(found, allow_nan=False)) == found


@some
@given(json_values, st.sampled_from([str, int, float, bool]))
def test_what_fits_a_kind_is_of_that_kind(value, kind):
    if is_of_type(value, kind):
        assert isinstance(value, kind | int if kind is float else kind)
        assert kind is bool or not isinstance(value, bool)


action = st.fixed_dictionaries(
    {},
    optional={
        "assistant_message": text,
        "tool_calls": st.lists(calls().map(lambda each: {"name": each[0], "args": each[1]}), max_size=3) | json_values,
        "answer": st.fixed_dictionaries({}, optional={"recommended_product_ids": st.lists(ids, max_size=2)})
        | json_values,
    },
)


@some
@given(st.lists(st.builds(json.dumps, action) | text, min_size=1, max_size=4))
@example([DEEP, '{"tool_calls": [{"name": "cart_view", "args": {"a": ' + DIGITS + "}}]}"])
def test_an_episode_goes_on_or_ends_whatever_the_agent_says(episode, said):
    episode.reset()
    for each in said:
        observation, reward, done, _ = episode.step(each)
        assert json.dumps(observation, allow_nan=False)
        assert -1 <= reward <= 1
        if done:
            break
