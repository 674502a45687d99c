"""What could be learnt at all: the exact reader is right where its questions are read back, and who knows the rules foretells no less than chance."""

from datetime import date

import numpy as np
import pytest

from benchmarks import ceiling
from benchmarks.wordings import judge
from shopwright.pipeline.questions.engines import Engines
from shopwright.pipeline.world.lives import Life, open_shop


def test_the_exact_reader_answers_the_questions_that_were_proved_by_reading(small):
    rows = [row for row in small.read("questions") if row.split in ("test", "test_wording")][:40]
    logs, engines = ceiling.ExampleLogs(small.read("trajectories")), Engines(small.read("trajectories"))
    assert rows
    assert sum(judge(row, ceiling.read_exactly(row, logs), engines) for row in rows) == len(rows)
    unread = rows[0].model_copy(update={"question": "Zounds, what ho?"})
    assert ceiling.read_exactly(unread, logs) == ""
    assert not judge(unread, "", engines)


def numbers(*names):
    return np.random.default_rng([ord(letter) for letter in "/".join(map(str, names))])


@pytest.fixture(scope="module")
def lives(small):
    """One life as it is, and watched."""
    shop, person = open_shop(small.read("catalog"), small.read("queries")), next(iter(small.read("personas")))
    found = (
        Life(person, shop, numbers, date(2024, 5, 1), "paper"),
        ceiling.WatchedLife(person, shop, numbers, date(2024, 5, 1), "paper"),
    )
    for life in found:
        (life.watch() if isinstance(life, ceiling.WatchedLife) else life).go(12_000)
    return found


def test_a_life_that_is_watched_is_the_same_life(lives):
    plain, watched = lives
    assert (plain.kinds, plain.products, plain.texts) == (watched.kinds, watched.products, watched.texts)


def test_who_knows_the_rules_foretells_as_often_as_is_right(lives):
    _, watched = lives
    assert len(watched.results_foretold) == watched.kinds.count(ceiling.CLICK)
    assert all(0.25 <= each <= 1 for each in watched.kinds_foretold)
    assert all(0 < each <= 1 for each in watched.results_foretold)
    assert np.mean(watched.exact) < np.mean(watched.kinds_foretold)
