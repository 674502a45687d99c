"""One hostile shop, built once for all tests here; they look at it and change nothing."""

import pytest

from tests.hostile.shops import world


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    return world(tmp_path_factory.mktemp("hostile"), 3, 150, "jsonl")
