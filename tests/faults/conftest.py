import pytest

from tests.faults.builds import Forge


@pytest.fixture(scope="session")
def forge():
    found = Forge()
    yield found
    found.close()
