"""A small run of two datasets, and copies of it for those who spoil them."""

import shutil

import pytest

from shopwright.pipeline.run import Run


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """Looked at, and never changed."""
    run = Run(tmp_path_factory.mktemp("plain"), seed=1, workers=1)
    run.build("personas", products=300, count=12)
    return run


@pytest.fixture
def theirs(plain, tmp_path):
    """The folder of a run that somebody else made."""
    return shutil.copytree(plain.folder, tmp_path / "theirs")
