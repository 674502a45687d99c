"""Pay for executed queries moves a learner to those with the right answers, and it never looks at their truth."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn")  # the learner of queries is of the extra `learn`

from benchmarks import paid_queries
from benchmarks.taught_rows import Trial

FORMS = 3


class Payer:
    """Pays the form that a question's first feature names."""

    def __init__(self):
        self.asked = []

    def is_right(self, row, query):
        self.asked.append(query)
        return query == f"form {row}"


@pytest.fixture
def questions():
    """Questions of three kinds, each with the words of its kind."""
    kinds = [number % FORMS for number in range(30)]
    queries = [{place: f"form {place}" for place in range(FORMS)} for _ in kinds]
    return paid_queries.Drawn(kinds, np.eye(FORMS)[kinds], [[0, 1, 2]] * len(kinds), queries)


def make_learner():
    """It leans to the first form, whatever is asked."""
    return SimpleNamespace(model=SimpleNamespace(coef_=np.zeros((FORMS, FORMS)), intercept_=np.array([0.05, 0.0, 0.0])))


def test_queries_that_are_paid_are_written_and_those_that_are_not_are_not(questions):
    learner, payer = make_learner(), Payer()
    before = paid_queries.measure(learner, questions, payer, 0)
    paid_queries.practise(learner, questions, payer, 0)
    after = paid_queries.measure(learner, questions, payer, 0)
    assert before[0] == pytest.approx(1 / FORMS)
    assert after[0] == 1
    assert after[1] > before[1]


def test_a_question_of_no_form_is_neither_paid_nor_right(questions):
    nothing = questions._replace(able=[[]] * len(questions.rows))
    learner, payer = make_learner(), Payer()
    paid_queries.practise(learner, nothing, payer, 0)
    assert not payer.asked
    assert not learner.model.coef_.any()
    assert paid_queries.measure(learner, nothing, payer, 0) == (0, 0)


def test_the_same_seed_gives_the_same_weights_of_paid_queries(questions):
    weights = []
    for _ in range(2):
        learner = make_learner()
        paid_queries.practise(learner, questions, Payer(), 3)
        weights.append(learner.model.coef_)
    assert np.array_equal(*weights)


def test_the_table_of_paid_queries_counts_the_seeds_above_what_was_taught():
    results = [
        paid_queries.Result(how, seed, dict.fromkeys(paid_queries.SPLITS, (right, right / 2)))
        for how, right in (("300 rows taught (SFT)", 0.2), ("300 rows taught, then 300 paid (SFT + RL)", 0.3))
        for seed in range(5)
    ]
    lines = paid_queries.tabulate(results).splitlines()[2:]
    assert [line.count("5 of 5 (p 0.03)") for line in lines] == [0, 2]


def test_a_split_without_questions_has_no_column(small):
    pytest.importorskip("torch")  # the tokens of questions are those of the transformer
    trial = Trial(small)
    trial.asked["test_wording"] = []
    table = paid_queries.tabulate(list(paid_queries.compare_ways(trial, 1, 20, 5, lambda line: None)))
    assert "`test` greedy" in table
    assert "test_wording" not in table
