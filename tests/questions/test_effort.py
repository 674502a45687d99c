"""How difficult a question is: what is counted, by two programs that share nothing, and that the careless get less of it right."""

import math
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import get_args

import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.questions.answers import Undecided, answer_tree, type_of
from shopwright.pipeline.questions.effort import ANSWERERS, drop_each_condition, effort_of, grade_difficulty
from shopwright.pipeline.questions.engines import Engines, Table, open_question_sqlite
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.sql_effort import CONDITION, effort_of_sql, narrow_time_range
from shopwright.pipeline.questions.tree import (
    Count,
    Difference,
    Fold,
    Mention,
    Nth,
    Often,
    Pick,
    Share,
    Top,
    map_tree_picks,
    tree_from_json,
)
from shopwright.schemas.questions import Difficulty, Effort, Shortcut
from shopwright.schemas.samples import Event

LEVELS = get_args(Difficulty)
LAMP = ("B1", "Norrvik oak lamp, white", "Norrvik", "white", "Lamps", Decimal("40.00"))
RUG = ("B2", "Brindle wool rug", "Brindle", "sand", "Rugs", Decimal("80.00"))


def events(*acts):
    """One event on each day of May 2024, from the first on; a text is a search."""
    begin = datetime(2024, 5, 1, 9)
    for row, act in enumerate(acts):
        facts = ("search", *[None] * 6, act) if isinstance(act, str) else (act[0], *act[1], None)
        yield dict(zip(Event.model_fields, (row, begin + timedelta(days=row), *facts), strict=True))


def click(thing):
    return "click", thing


def cart(thing):
    return "add to Cart", thing


MONTH = list(events("lamp", click(LAMP), click(RUG), cart(LAMP), click(LAMP), "rug", click(RUG), click(LAMP), click(LAMP), click(LAMP)))  # fmt: skip
"""Clicks on the lamp on the 2nd, 5th, 8th, 9th and 10th, on the rug on the 3rd and 7th; the lamp was put into the cart on the 4th."""


def both(tree, rows=MONTH):
    """The effort as plain Python measures it from the tree, and SQLite from its SQL, which must be the same."""
    log, sql = Log(rows), sql_of(tree)
    table = Table(pa.Table.from_pylist(rows, arrow_schema(Event)), (None, None), open_question_sqlite())
    found = effort_of(tree, log, answer_tree(tree, log).value, sql)
    assert effort_of_sql(sql, type_of(tree), table) == found
    return found


def between(first, last):
    return {"first_day": date(2024, 5, first), "last_day": date(2024, 5, last)}


@pytest.mark.parametrize(
    ("tree", "rows", "near", "steps", "shortcuts"),
    [
        # all clicks on the lamp: 1, 4, 7, 8, 9; near are the cart (3) and the clicks on the rug (2, 6)
        (Count(of=Pick(action="click", brand="Norrvik")), 5, 3, 1, {"ignores dates", "excludes the ends", "first matches"}),
        # from May 5 to 9: 4, 7, 8; near are 1 and 9 (other days) and 6 (the rug)
        (Count(of=Pick(action="click", brand="Norrvik", **between(5, 9))), 3, 3, 2, {"first matches", "reads the last half"} - {"reads the last half"}),
        # one day is no range; row 4 is in the first half and not in the middle third (3 to 6)
        (Count(of=Pick(action="click", **between(5, 5))), 1, 6 + 0, 1, {"excludes the ends", "first matches", "skims", "reads the first half"}),
        # the first click: row 1
        (Nth(of=Pick(action="click"), n=1, what="timestamp"), 7, 0, 0, {"ignores dates", "excludes the ends", "first matches", "skims", "reads the first half", "skips the middle"}),
    ],
)  # fmt: skip
def test_effort_is_as_counted_by_hand(tree, rows, near, steps, shortcuts):
    found = both(tree)
    assert (found.rows, found.near, found.steps) == (rows, near, steps)
    assert set(found.shortcuts) == shortcuts


@pytest.mark.parametrize(
    "tree",
    [
        Share(of=Pick(action="click"), part=Pick(weekday="weekend")),
        Share(of=Pick(action="click", brand="Norrvik"), part=Pick(ever="add to Cart"), what="asin"),
        Count(of=Pick(action="click", never="add to Cart", **between(2, 8)), what="asin"),
        Count(of=Pick(action="click", hours=(8, 10), product=Mention(brand="Norrvik", parts=("oak lamp", "white")))),
        Top(of=Pick(action="click", first_day=date(2024, 5, 3)), by="weekday"),
        Often(of=Pick(action="click", last_day=date(2024, 5, 9), at_least=Decimal(10), at_most=Decimal(50)), by="asin", n=2, days=True),
        Difference(of=Fold(of=Pick(action="click", first_day=date(2024, 5, 5)), how="sum"), less=Fold(of=Pick(action="click", last_day=date(2024, 5, 4)), how="sum")),
        Count(of=Pick(action="search", word="lamp"), what="search_query"),
    ],
    ids=lambda tree: tree.node,
)  # fmt: skip
def test_tree_and_sql_measure_the_same(tree):
    both(tree)


def test_points_grow_with_rows_near_ones_steps_and_wrong_answers():
    easy = Effort(rows=1, near=0, steps=0, shortcuts=list(get_args(Shortcut)))
    hard = Effort(rows=500, near=500, steps=9, shortcuts=[])
    assert (grade_difficulty(easy), grade_difficulty(hard)) == ("easy", "hard")
    for name, more in {"rows": 10**6, "near": 10**6, "steps": 40, "shortcuts": []}.items():
        assert LEVELS.index(grade_difficulty(easy.model_copy(update={name: more}))) >= LEVELS.index("easy")
    order = [
        grade_difficulty(easy.model_copy(update={"shortcuts": easy.shortcuts[:number], "near": 40}))
        for number in range(8)
    ]
    assert order == sorted(order, key=LEVELS.index, reverse=True)
    assert set(order) >= {"easy", "hard"}


def test_every_shortcut_has_its_weak_answerer():
    assert tuple(ANSWERERS) == get_args(Shortcut)


@pytest.mark.parametrize(
    ("condition", "inwards"),
    [
        ("DATE(timestamp) BETWEEN '2024-05-01' AND '2024-05-31'", "DATE(timestamp) BETWEEN '2024-05-02' AND '2024-05-30'"),
        ("e.timestamp >= '2024-05-31 12:00:00'", "e.timestamp >= '2024-06-01 12:00:00'"),
        ("'2024-05-03' > timestamp", "'2024-05-02' > timestamp"),
        ("DATE(timestamp) = '2024-05-03'", "DATE(timestamp) = '2024-05-03'"),
        ("STRFTIME('%Y', timestamp) = '2024'", "STRFTIME('%Y', timestamp) = '2024'"),
        ("timestamp < '2024-02-30'", "timestamp < '2024-02-30'"),
    ],
)  # fmt: skip
def test_conditions_on_time_are_found_in_the_sql_and_moved_inwards(condition, inwards):
    query = f"SELECT COUNT(*) FILTER(WHERE {condition}) FROM events AS e WHERE ({condition}) AND price > 20"
    assert CONDITION.sub(narrow_time_range, query) == query.replace(condition, inwards)
    assert CONDITION.sub("TRUE", query) == query.replace(condition, "TRUE")


def test_what_is_no_condition_on_time_stays():
    query = "SELECT brand FROM events WHERE timestamp > (SELECT MAX(timestamp) FROM events) AND brand = 'DATE' ORDER BY timestamp LIMIT 1"
    assert CONDITION.sub("TRUE", query) == query


# On questions as they are made


@pytest.fixture(scope="session")
def made(untuned):
    """The questions, and the engines that hold their trajectories."""
    return list(untuned.read("questions")), Engines(untuned.read("trajectories"))


def shares(made, is_right):
    """The share of easy, medium and hard questions that are right."""
    found = defaultdict(list)
    for question in made[0]:
        found[question.difficulty].append(is_right(question))
    return [sum(found[level]) / len(found[level]) for level in LEVELS]


def test_each_weak_answerer_gets_less_right_the_harder_it_is(made):
    for name in get_args(Shortcut):
        easy, medium, hard = shares(made, lambda question, name=name: name in question.effort.shortcuts)
        assert easy > medium > hard, name


def test_together_they_get_most_easy_ones_right_and_hardly_a_hard_one(made):
    easy, medium, hard = shares(made, lambda question: len(question.effort.shortcuts) / len(ANSWERERS))
    assert easy > 1.5 * medium > 2 * hard


def repeats_count(tree, log):
    """Counts every line where different things are asked for."""
    match tree:
        case Count(what=str(what)):
            return sum(getattr(each, what) is not None for each in log.pick(tree.of))
        case Share(what="asin"):
            return answer_tree(tree.model_copy(update={"what": "events"}), log).value
        case Often(days=True):
            return answer_tree(tree.model_copy(update={"days": False}), log).value
    return answer_tree(tree, log).value


def any_action(tree, log):
    """Counts lines with the word, whatever was done there."""
    free = dict.fromkeys(("action", "ever", "never"))
    return answer_tree(map_tree_picks(tree, lambda pick: pick.model_copy(update=free)), log).value


def skips_every_third(tree, log):
    return answer_tree(tree, log.without({each.row for each in log.events if each.row % 3 == 1})).value


def reads_the_last_rows(tree, log):
    return answer_tree(tree, log.without(range(len(log.events) - 150))).value


def one_condition_less(tree, log):
    """Leaves the last condition of its first pick out."""

    def less(pick):
        found = list(drop_each_condition(pick))
        return found[-1] if found else pick

    return answer_tree(map_tree_picks(tree, less), log).value


@pytest.mark.parametrize(
    "weak", [repeats_count, any_action, skips_every_third, reads_the_last_rows], ids=lambda weak: weak.__name__
)
def test_weak_answerers_of_which_the_label_knows_nothing_get_less_right_too(made, weak):
    def is_right(question):
        tree, table = tree_from_json(question.tree), made[1].of(question.trajectory_id)
        try:
            return weak(tree, table.log) == table.answer(question.tree).value
        except Undecided:
            return False

    found = shares(made, is_right)
    labels = Counter(question.difficulty for question in made[0])
    errors = [
        math.sqrt(max(share * (1 - share), 0.01) / labels[level]) for share, level in zip(found, LEVELS, strict=True)
    ]
    # What is seldom wrong is told apart at the ends alone by so few questions.
    assert found[0] - found[2] > 2 * math.hypot(errors[0], errors[2])
    for place in (0, 1):
        assert found[place] - found[place + 1] > -2 * math.hypot(errors[place], errors[place + 1])


def test_no_label_is_rare_and_few_shapes_have_but_one(made):
    labels = Counter(question.difficulty for question in made[0])
    assert min(labels.values()) > 0.2 * len(made[0])
    shapes = defaultdict(Counter)
    for question in made[0]:
        shapes[question.shape][question.difficulty] += 1
    many = [found for found in shapes.values() if found.total() >= 5]
    assert len(many) > 30
    assert sum(max(found.values()) > 0.95 * found.total() for found in many) < 0.25 * len(many)
