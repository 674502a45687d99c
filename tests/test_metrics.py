"""Names and density of the code stay as good as they are; and the figures see what they count."""

import pytest

from tests.metrics import (
    HOME,
    ROOTS,
    homonym_share,
    is_nested,
    list_called_once,
    list_homonyms,
    measure,
    names_dataset,
    participle_share,
    read_sources,
)


@pytest.fixture(scope="module")
def code():
    return read_sources(*ROOTS)


def test_a_function_has_a_name_of_its_own(code):
    assert homonym_share(code) <= 10, list_homonyms(code)


def test_few_functions_are_named_by_a_participle(code):
    assert participle_share(code) <= 3


@pytest.mark.parametrize(
    ("roots", "tests"),
    [
        ([HOME / "pipeline" / "world"], HOME / "tests" / "world"),
        pytest.param(ROOTS, HOME / "tests", marks=pytest.mark.slow),
    ],
)
def test_the_table_has_every_row(roots, tests):
    rows = {what: figure for what, figure, _ in measure(roots, tests)}
    assert len(rows) == 12
    assert all(float(figure.rstrip(" %").replace(",", "")) >= 0 for figure in rows.values())


# --- what is planted is found ------------------------------------------------------------------------------------------

ONE = '''
"""A file."""
def add(): ...
def load_rows(path):
    return tidy(path)  # where the reason would stand
def tidy(path):
    return [[cell for cell in row] for row in path]
'''
OTHER = '''
"""Another file."""
def add(): ...
def load_rows(path):
    tables = {"questions": load_rows}
    return tables
def kept(rows):
    return rows
'''


@pytest.fixture
def planted(tmp_path):
    (tmp_path / "one.py").write_text(ONE)
    (tmp_path / "other.py").write_text(OTHER)
    return read_sources(tmp_path)


def test_a_planted_homonym_is_found_and_a_hook_is_none(planted):
    assert list_homonyms(planted) == {"load_rows": 2}
    assert list_homonyms(planted, frozenset()) == {"add": 2, "load_rows": 2}
    assert homonym_share(planted) == pytest.approx(100 * 2 / 6)


def test_a_planted_participle_is_found(planted):
    assert participle_share(planted) == pytest.approx(100 * 1 / 6)


def test_a_short_function_that_is_called_in_one_place_is_found(planted):
    assert [line.rpartition(" ")[2] for line in list_called_once(planted)] == ["tidy"]


def test_a_comprehension_in_another_and_the_name_of_a_dataset_are_found(planted):
    assert sum(is_nested(node) for source in planted for node in source.nodes) == 1
    assert [names_dataset(source, "questions") for source in planted] == [False, True]


def test_lines_of_comments_and_of_code_are_told_apart(planted):
    assert [source.count_lines_of(comments=True) for source in planted] == [1, 0]
    assert [source.count_lines_of(comments=False) for source in planted] == [6, 7]
