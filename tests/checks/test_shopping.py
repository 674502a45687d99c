"""What a profile may not say of its task's target, and what a need must decide."""

import pytest

from shopwright.pipeline.arrow import to_batch
from shopwright.pipeline.checks.shopping import find_profile_leak, no_need_is_idle
from shopwright.schemas.shopping import ShoppingTask
from tests.shopping.kettles import need, task


@pytest.mark.parametrize(
    ("value", "profile", "told"),
    [
        ("red", "likes: red (high)", True),
        ("XL", "sizes: Socks (size: XL)", True),
        ("Semi-Gloss", "finish semi-gloss", True),
        ("red", "a hundred orders", False),
        ("8", "active at 8, 22 h", False),
    ],
)
def test_a_stated_need_of_any_length_is_not_in_the_profile(value, profile, told):
    found = find_profile_leak(task(need("finish", value)), profile, "")
    assert (found == "the profile tells what the instruction states") == told


def test_a_need_that_is_said_twice_is_idle(small):
    """Whatever breaks the one breaks the other, too: neither decides alone."""
    (first,) = small.read("shopping_tasks").head(1)
    for each in first.needs:
        doubled = first.model_copy(update={"needs": [*first.needs, each]})
        found = no_need_is_idle(to_batch(ShoppingTask, [first, doubled]), small.read("catalog"), small.read("variants"))
        assert list(found) == [None, "a need without which the same products satisfy it"]
