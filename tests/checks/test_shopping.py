"""What a profile may not say of its task's target."""

import pytest

from shopwright.pipeline.checks.shopping import find_profile_leak
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
