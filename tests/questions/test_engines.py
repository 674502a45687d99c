"""Three engines that say the same of the same events, the values they say it in, and the words that mean one product."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shopwright.pipeline.arrow import arrow_schema, to_batch
from shopwright.pipeline.dataset import Dataset, ShardWriter
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.questions.engines import Engines, QueryFailed, Table, open_question_sqlite, transpile_to_sqlite
from shopwright.pipeline.questions.log import is_mentioned
from shopwright.pipeline.questions.mention import collect_product_nouns, mention_product
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.tree import Mention, Names, Pick
from shopwright.pipeline.questions.values import (
    Unfit,
    format_canonical,
    value_from_json,
    value_from_rows,
    value_to_json,
)
from shopwright.pipeline.sandbox.sql import connect_confined, parse_select
from shopwright.schemas.samples import Event, Trajectory

DUCKDBS = (connect_confined(), connect_confined(as_written=True))
SQLITE = open_question_sqlite()
NO_PRODUCT = dict.fromkeys(("asin", "product_name", "brand", "color", "product_types", "price"))
TITLES = ["Oak LAMP 12 in", "oak Lamp, Café", "ÉCLAIR lamp", "50% wool_rug", 'O\'Neill "big" vase', "日本 bowl", None]


def search(when, query):
    return {"timestamp": when, "action_type": "search", "search_query": query, **NO_PRODUCT}


def click(when, asin, name, brand, price="3.00"):
    product = {"asin": asin, "product_name": name, "brand": brand, "color": "white", "product_types": "Floor Lamps"}
    return {"timestamp": when, "action_type": "click", "search_query": None, "price": Decimal(price), **product}


def numbered(events):
    return [event | {"row_id": number} for number, event in enumerate(events)]


def table_of(events):
    return Table(pa.Table.from_pylist(numbered(events), schema=arrow_schema(Event)), DUCKDBS, SQLITE)


def random_events(seed, count):
    """Clicks with seconds to days between them, over the turn of a year and a leap day."""
    dice = Random(seed)
    when = datetime(2023, 12, 30, 23, 59, 58)
    for number in range(count):
        brand = dice.choice(["Norrvik", "NORRVIK", "O'Neill", None])
        yield click(when, f"P{number}", dice.choice(TITLES), brand, f"{dice.randrange(1, 99_999) / 100:.2f}")
        when += timedelta(seconds=dice.choice([1, 7, 59, 1_799, 1_800, 1_801, 3_600, 86_399, 86_400, 86_401, 172_803]))


@pytest.fixture(scope="module")
def many():
    """In engines of its own, so that other tables do not take its place."""
    events = pa.Table.from_pylist(numbered(random_events(7, 400)), schema=arrow_schema(Event))
    return Table(events, (connect_confined(), connect_confined(as_written=True)), open_question_sqlite())


def everywhere(table, sql, answer_type):
    """What each engine says."""
    return [
        table.duckdb(sql, answer_type),
        table.duckdb(sql, answer_type, shuffled=True),
        table.sqlite_without(sql, answer_type),
    ]


# Engines


BESIDE = "(SELECT *, LAG(timestamp) OVER (ORDER BY timestamp) AS before FROM events) AS steps"
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def listed(table, sql):
    """What every engine says, where they agree."""
    one, *others = everywhere(table, sql, "ordered list")
    assert others == [one] * 2
    return one


@pytest.mark.parametrize(
    ("shown", "true"),
    [
        ("HOUR(timestamp)", lambda when: when.hour),
        ("DAYNAME(timestamp)", lambda when: WEEKDAYS[when.weekday()]),
        ("CAST(timestamp AS DATE)", lambda when: when.date()),
        ("timestamp", lambda when: when),
        ("DATE_DIFF('second', CAST(timestamp AS DATE), timestamp)", lambda when: (when - midnight(when)).seconds),
        ("24 - HOUR(timestamp) * 2", lambda when: 24 - when.hour * 2),
    ],
)
def test_each_engine_reads_a_time_as_python_does(many, shown, true):
    found = listed(many, f"SELECT {shown} FROM events ORDER BY timestamp")
    assert found == [str(true(row["timestamp"])) for row in many.rows]
    assert len(set(found)) > 5


def midnight(when):
    return datetime(when.year, when.month, when.day)


@pytest.mark.parametrize(
    ("shown", "true"),
    [
        ("DATE_DIFF('second', before, timestamp)", lambda one, other: int((other - one).total_seconds())),
        ("DATE_DIFF('second', timestamp, before) * 2", lambda one, other: int((one - other).total_seconds()) * 2),
        (
            "DATE_DIFF('day', CAST(before AS DATE), CAST(timestamp AS DATE))",
            lambda one, other: (other.date() - one.date()).days,
        ),
    ],
)
def test_each_engine_counts_the_time_between_as_python_does(many, shown, true):
    found = listed(many, f"SELECT {shown} FROM {BESIDE} WHERE NOT before IS NULL ORDER BY timestamp")
    assert found == [str(true(one["timestamp"], other["timestamp"])) for one, other in pairwise(many.rows)]
    assert len(set(found)) > 2


def title(row):
    return (row["product_name"] or "").lower()


@pytest.mark.parametrize(
    ("condition", "fits"),
    [
        (
            "CAST(timestamp AS DATE) BETWEEN '2024-02-28' AND '2024-02-29'",
            lambda row: row["timestamp"].date() in (date(2024, 2, 28), date(2024, 2, 29)),
        ),
        ("CAST(timestamp AS DATE) >= '2024-02-29'", lambda row: row["timestamp"].date() >= date(2024, 2, 29)),
        ("HOUR(timestamp) BETWEEN 0 AND 11", lambda row: row["timestamp"].hour < 12),
        ("DAYNAME(timestamp) IN ('Sunday', 'Wednesday')", lambda row: row["timestamp"].weekday() in (2, 6)),
        ("product_name ILIKE '%oak lamp%'", lambda row: "oak lamp" in title(row)),
        ("product_name ILIKE '%LAMP'", lambda row: title(row).endswith("lamp")),
        ("product_name ILIKE '%caf%'", lambda row: "caf" in title(row)),
        ("product_name ILIKE '%o''neill%'", lambda row: "o'neill" in title(row)),
        ("NOT product_name ILIKE '%a%'", lambda row: title(row) and "a" not in title(row)),
        ("brand = 'Norrvik'", lambda row: row["brand"] == "Norrvik"),
        ("NOT brand = 'Norrvik'", lambda row: row["brand"] not in ("Norrvik", None)),
        ("price BETWEEN 99.99 AND 500.01", lambda row: Decimal("99.99") <= row["price"] <= Decimal("500.01")),
    ],
)
def test_each_engine_picks_the_rows_that_python_picks(many, condition, fits):
    found = listed(many, f"SELECT asin FROM events WHERE {condition} ORDER BY timestamp")
    assert found == [row["asin"] for row in many.rows if fits(row)]
    assert 0 < len(found) < 400


def test_each_engine_gives_each_type_as_the_same_value(many):
    first, last = many.rows[0], many.rows[-1]
    prices = [row["price"] for row in many.rows]
    for sql, answer_type, value in [
        ("SELECT COUNT(*) FROM events", "integer", 400),
        ("SELECT SUM(price) FROM events", "money", sum(prices)),
        ("SELECT MAX(price) - MIN(price) FROM events", "money", max(prices) - min(prices)),
        ("SELECT ROUND(100.0 * 1 / COUNT(*), 1) FROM events WHERE row_id < 3", "decimal", Decimal("33.3")),
        ("SELECT CAST(MIN(timestamp) AS DATE) FROM events", "date", first["timestamp"].date()),
        ("SELECT MAX(timestamp) FROM events", "date-time", last["timestamp"]),
        (
            "SELECT DATE_DIFF('second', MIN(timestamp), MAX(timestamp)) FROM events",
            "duration",
            last["timestamp"] - first["timestamp"],
        ),
        ("SELECT asin FROM events WHERE row_id = 3", "text", "P3"),
        (
            "SELECT DISTINCT brand FROM events WHERE NOT brand IS NULL",
            "set",
            frozenset(["Norrvik", "NORRVIK", "O'Neill"]),
        ),
        ("SELECT asin FROM events WHERE row_id < 3 ORDER BY timestamp DESC", "ordered list", ["P2", "P1", "P0"]),
        (
            "SELECT EXISTS (SELECT 1 FROM events), EXISTS (SELECT 1 FROM events WHERE price < 0)",
            "yes/no",
            [True, False],
        ),
        ("SELECT MAX(price) FROM events WHERE row_id < 0", "money", None),
        ("SELECT asin FROM events WHERE row_id < 0", "text", None),
        ("SELECT asin FROM events WHERE row_id < 0", "set", None),
    ]:
        assert everywhere(many, sql, answer_type) == [value] * 3


def test_a_price_of_whole_dollars_is_no_integer():
    table = table_of([click(datetime(2024, 5, 1), "P0", "Lamp", None, "3.00")])
    assert everywhere(table, "SELECT price / 2 FROM events", "money") == [Decimal("1.50")] * 3


def test_shuffled_the_same_rows_come_in_another_order(many):
    one, other = (
        many.duckdb("SELECT asin FROM events", "ordered list", shuffled=shuffled) for shuffled in (False, True)
    )
    assert one == [row["asin"] for row in many.rows]
    assert sorted(one) == sorted(other)
    assert one != other


@pytest.mark.parametrize("sql", ["SELECT wattage FROM events", "SELECT COUNT(*) FROM orders"])
def test_what_an_engine_cannot_run_has_failed(many, sql):
    with pytest.raises(QueryFailed, match="DuckDB cannot run it: "):
        many.duckdb(sql, "integer")
    with pytest.raises(QueryFailed, match="SQLite cannot run it: "):
        many.sqlite_without(sql, "integer")


def test_more_rows_or_columns_than_the_answer_has_are_unfit(many):
    for sql, said in [
        ("SELECT row_id FROM events WHERE row_id < 2", "2 rows of result, and the answer is one integer"),
        ("SELECT a.row_id FROM events AS a, events AS b", "1001 rows of result, and the answer is one integer"),
        ("SELECT row_id, price FROM events", "2 columns of result"),
    ]:
        for ask in (many.duckdb, many.sqlite_without):
            with pytest.raises(Unfit, match=said):
                ask(sql, "integer")


def test_an_endless_query_is_given_up_by_sqlite_and_the_next_one_runs(many):
    endless = (
        "SELECT COUNT(*) FROM events AS a, events AS b, events AS c, events AS d WHERE a.row_id < b.row_id + c.row_id"
    )
    with pytest.raises(QueryFailed, match="SQLite cannot run it: interrupted"):
        many.sqlite_without(endless, "integer")
    assert many.sqlite_without("SELECT COUNT(*) FROM events", "integer") == 400


def test_an_honest_query_of_some_million_steps_is_answered_by_sqlite(many):
    pairs = "SELECT COUNT(*) FROM events AS a, events AS b, events AS c WHERE a.row_id < 9 AND b.row_id <= c.row_id"
    assert many.sqlite_without(pairs, "integer") == 9 * 401 * 200


def test_a_query_is_transpiled_and_stays_as_it_was_given():
    sql = "SELECT HOUR(timestamp), DAYNAME(timestamp) FROM events WHERE brand ILIKE '%a%'"
    found = transpile_to_sqlite(sql)
    assert not any(word in found for word in ("HOUR", "DAYNAME", "ILIKE"))
    assert parse_select(sql).sql(dialect="duckdb") == sql


def test_what_sqlite_lacks_may_stand_in_what_sqlite_lacks(many):
    def first(hours):
        return f"(SELECT MIN(timestamp) FROM events WHERE HOUR(timestamp) {hours} AND DAYNAME(timestamp) = 'Friday')"

    fridays = [row["timestamp"] for row in many.rows if row["timestamp"].weekday() == 4]
    early, late = (next(when for when in fridays if fits(when.hour)) for fits in (range(6).count, range(19, 24).count))
    wait = f"SELECT DATE_DIFF('second', {first('< 6')}, {first('> 18')})"
    assert everywhere(many, wait, "duration") == [late - early] * 3
    assert (
        everywhere(many, f"SELECT HOUR({first('> 18')}), DAYNAME({first('< 6')}) = 'Friday'", "yes/no")
        == [[True] * 2] * 3
    )


# Rows left out

ROWS_LEFT = "SELECT row_id FROM events ORDER BY row_id"


@given(gone=st.sets(st.integers(0, 399)), then=st.sets(st.integers(0, 399), max_size=5))
def test_rows_left_out_are_left_out_and_back_in_the_next_query(many, gone, then):
    for without in (gone, then, (), gone):
        left = [str(row) for row in range(400) if row not in without]
        assert many.sqlite_without(ROWS_LEFT, "ordered list", without) == (left or None)
    assert many.duckdb("SELECT COUNT(*) FROM events", "integer") == 400


def test_a_row_left_out_is_left_out_of_every_part_of_a_query(many):
    sql = (
        "SELECT COUNT(*) FROM events AS a JOIN events AS b USING (row_id) WHERE a.row_id IN (SELECT row_id FROM events)"
    )
    assert many.sqlite_without(sql, "integer", range(100)) == 300
    assert (
        many.sqlite_without("SELECT MIN(row_id) FROM (SELECT * FROM events) AS all_of_them", "integer", [0, 1, 3]) == 2
    )


# One trajectory after the other


@pytest.fixture(scope="module")
def trajectories(small):
    return small.read("trajectories")


@pytest.fixture(scope="module")
def events_by_id(trajectories):
    return {row["id"]: row["events"] for row in trajectories.table(["id", "events"]).to_pylist()}


FACTS = "SELECT row_id || asin || price FROM events WHERE NOT asin IS NULL ORDER BY row_id"


def facts(events, without=()):
    return [
        f"{event['row_id']}{event['asin']}{event['price']}"
        for event in events
        if event["asin"] and event["row_id"] not in without
    ]


def test_every_trajectory_of_every_file_is_at_hand_as_it_is_in_the_dataset(trajectories, events_by_id):
    assert len(trajectories.files) > 1
    engines = Engines(trajectories)
    for id in sorted(events_by_id, reverse=True):
        assert id in engines
        assert engines.of(id).rows == events_by_id[id]
    assert "persona-9999999-6k" not in engines


def test_two_trajectories_in_turn_do_not_mix(trajectories, events_by_id):
    engines = Engines(trajectories)
    ids = sorted(events_by_id)
    for id in (ids[0], ids[1], ids[0], ids[-1], ids[1], ids[1]):
        events = events_by_id[id]
        assert engines.of(id).duckdb(FACTS, "ordered list") == facts(events)
        assert engines.of(id).duckdb(FACTS, "ordered list", shuffled=True) == facts(events)
        assert len(engines.of(id).sqlite_without(FACTS, "ordered list")) == len(facts(events))
        counted = "SELECT COUNT(*) FROM events WHERE row_id < 10"
        assert engines.of(id).sqlite_without(counted, "integer", [1, 2, 3]) == 7
        assert [event.row for event in engines.of(id).log.events] == [event["row_id"] for event in events]


def test_the_rows_left_out_of_one_trajectory_are_there_in_the_next(trajectories, events_by_id):
    engines = Engines(trajectories)
    one, other = sorted(events_by_id)[:2]
    assert engines.of(one).sqlite_without("SELECT COUNT(*) FROM events WHERE row_id < 10", "integer", range(10)) == 0
    assert engines.of(other).sqlite_without("SELECT COUNT(*) FROM events WHERE row_id < 10", "integer") == 10
    assert engines.of(one).sqlite_without("SELECT COUNT(*) FROM events WHERE row_id < 10", "integer") == 10


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_query_with_more_rows_than_are_read_lets_the_next_trajectory_in(trajectories, events_by_id, shuffled):
    engines = Engines(trajectories)
    one, other = sorted(events_by_id)[:2]
    with pytest.raises(Unfit, match="1001 rows of result"):
        engines.of(one).duckdb("SELECT a.row_id FROM events AS a, events AS b", "integer", shuffled=shuffled)
    assert engines.of(other).duckdb(FACTS, "ordered list", shuffled=shuffled) == facts(events_by_id[other])


def tiny(number, length):
    """A trajectory of so many clicks, each on a product with its number in the id."""
    start = datetime(2024, 5, 1)
    events = numbered(
        click(start + timedelta(minutes=n), f"P{number}-{n}", "Lamp", None, f"{number + 1}.00") for n in range(length)
    )
    end = events[-1]["timestamp"] if events else start
    ends = {"start": start, "end": end, "text": "", "tokens": 0, "tokenizer": "", "promotions": []}
    return {"id": f"persona-{number}-1k", "persona_id": f"persona-{number}", "budget": "1k", "events": events, **ends}


def written(folder, *files):
    """A dataset of trajectories, in row groups of 40."""
    for shard, rows in enumerate(files):
        writer = ShardWriter(folder / "trajectories" / f"part-{shard:05d}.parquet", Trajectory)
        for first in range(0, len(rows), 40):
            writer.write(to_batch(Trajectory, rows[first : first + 40]))
        writer.commit()
    return Dataset(folder, "trajectories", Trajectory)


def test_many_trajectories_in_a_file_are_told_apart_also_empty_ones(tmp_path):
    made = [tiny(number, length=number % 7) for number in range(200)]
    engines = Engines(written(tmp_path, made[:150], made[150:]))
    for row in [*made, *reversed(made)]:
        found = engines.of(row["id"])
        assert found.rows == row["events"]
        assert found.sqlite_without("SELECT COUNT(*) FROM events", "integer") == len(row["events"])


def test_a_wildcard_in_a_runs_name_means_no_other_run(tmp_path):
    here, there = [tiny(0, 3), tiny(1, 4)], [tiny(1, 5), tiny(0, 6)]
    written(tmp_path / "run-1", there)
    engines = Engines(written(tmp_path / "run-?", here))
    assert [engines.of(row["id"]).rows for row in here] == [row["events"] for row in here]


def test_engines_on_what_is_no_trajectories_are_a_problem(tmp_path):
    (tmp_path / "trajectories").mkdir()
    table = pa.table({"id": ["a"], "budget": ["1k"]})
    pq.write_table(table, tmp_path / "trajectories" / "part-00000.parquet")
    with pytest.raises(Problem, match="holds no trajectories"):
        Engines(Dataset(tmp_path, "trajectories", Trajectory))


# Values

WHOLE_SECONDS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(lambda when: when.replace(microsecond=0))
NAME = st.text(st.characters(exclude_characters=";", codec="utf-8"), max_size=8)
VALUES = {
    "integer": st.integers(-(10**9), 10**9),
    "decimal": st.decimals(-999, 999, places=1),
    "money": st.decimals(-(10**6), 10**6, places=2),
    "date": st.dates(),
    "date-time": WHOLE_SECONDS,
    "duration": st.integers(-(10**8), 10**8).map(lambda seconds: timedelta(seconds=seconds)),
    "text": NAME,
    "set": st.frozensets(NAME, min_size=1, max_size=5),
    "ordered list": st.lists(NAME, min_size=1, max_size=5),
    "yes/no": st.lists(st.booleans(), min_size=1, max_size=5),
}


@pytest.mark.parametrize("answer_type", VALUES)
@given(data=st.data())
@settings(max_examples=100)
def test_a_value_comes_back_from_its_json(answer_type, data):
    value = data.draw(VALUES[answer_type])
    text = value_to_json(value)
    found = value_from_json(text, answer_type)
    assert found == value
    assert type(found) is type(value)
    assert value_to_json(found) == text
    assert format_canonical(found) == format_canonical(value)
    assert value_from_json("null", answer_type) is None


@pytest.mark.parametrize("answer_type", VALUES)
@given(data=st.data())
@settings(max_examples=100)
def test_different_values_have_different_texts(answer_type, data):
    one, other = data.draw(VALUES[answer_type]), data.draw(VALUES[answer_type])
    assert (format_canonical(one) == format_canonical(other)) == (one == other)
    assert (value_to_json(one) == value_to_json(other)) == (one == other)


@pytest.mark.parametrize(
    ("value", "text", "json"),
    [
        (3, "3", "3"),
        (Decimal("66.7"), "66.7", '"66.7"'),
        (Decimal("70.0"), "70.0", '"70.0"'),
        (Decimal("129.90"), "129.90", '"129.90"'),
        (date(2024, 5, 2), "2024-05-02", '"2024-05-02"'),
        (datetime(2024, 5, 12, 9, 0, 1), "2024-05-12 09:00:01", '"2024-05-12 09:00:01"'),
        (datetime(2024, 5, 12), "2024-05-12 00:00:00", '"2024-05-12 00:00:00"'),
        (timedelta(days=1, hours=2, minutes=4, seconds=59), "26:04:59", "93899"),
        (timedelta(seconds=59), "0:00:59", "59"),
        (timedelta(seconds=-61), "-0:01:01", "-61"),
        ('Café "O\'Neill"', 'Café "O\'Neill"', '"Café \\"O\'Neill\\""'),
        (frozenset(["b", "a", "C"]), "C; a; b", '["C", "a", "b"]'),
        (["b", "a"], "b; a", '["b", "a"]'),
        ([True, False, True], "yes; no; yes", "[true, false, true]"),
        (None, "none", "null"),
    ],
)
def test_a_value_is_written_in_one_way(value, text, json):
    assert format_canonical(value) == text
    assert value_to_json(value) == json


NOON = datetime(2024, 5, 1, 12)


@pytest.mark.parametrize(
    ("rows", "answer_type", "value"),
    [
        ([(3,)], "integer", 3),
        ([(3.0,)], "integer", 3),
        ([(True,)], "integer", 1),
        ([(Decimal("12.50"),)], "money", Decimal("12.50")),
        ([(12.5,)], "money", Decimal("12.50")),
        ([(0,)], "money", Decimal("0.00")),
        ([(0.1 + 0.2,)], "money", Decimal("0.30")),
        ([(2.675,)], "money", Decimal("2.68")),
        ([(66.7,)], "decimal", Decimal("66.7")),
        ([(70.0,)], "decimal", Decimal("70.0")),
        ([(NOON.date(),)], "date", NOON.date()),
        ([("2024-05-01",)], "date", NOON.date()),
        ([(NOON,)], "date-time", NOON),
        ([("2024-05-01 12:00:00",)], "date-time", NOON),
        ([(61,)], "duration", timedelta(minutes=1, seconds=1)),
        ([("lamp",)], "text", "lamp"),
        ([("b",), ("a",)], "set", frozenset("ab")),
        ([("b",), ("a",), ("b",)], "ordered list", ["b", "a", "b"]),
        ([(1, 0, True)], "yes/no", [True, False, True]),
        ([], "integer", None),
        ([], "set", None),
        ([], "ordered list", None),
        ([(None,)], "money", None),
        ([(None,)], "duration", None),
    ],
)
def test_the_rows_of_either_database_become_the_value(rows, answer_type, value):
    found = value_from_rows(rows, answer_type)
    assert found == value
    assert type(found) is type(value)
    assert format_canonical(found) == format_canonical(value)


@pytest.mark.parametrize(
    ("rows", "answer_type", "said"),
    [
        ([(1,), (2,)], "integer", "2 rows of result, and the answer is one integer"),
        ([("a",), ("b",)], "text", "2 rows of result, and the answer is one text"),
        ([(None,), (None,)], "money", "2 rows of result"),
        ([("a", "b")], "text", "2 columns of result"),
        ([("a", 1), ("b", 2)], "set", "2 columns of result"),
        ([("a",), ("a",)], "set", "a set with the same value twice"),
        ([], "yes/no", "0 rows of result, and the answer is one row of yes and no"),
        ([(1,), (0,)], "yes/no", "2 rows of result"),
        ([(2.5,)], "integer", "2.5 is no integer"),
        ([("lamp",)], "integer", "'lamp' is no integer"),
        ([(float("nan"),)], "integer", "nan is no integer"),
        ([("lamp",)], "money", "'lamp' is no money"),
        ([("lamp",)], "decimal", "'lamp' is no decimal"),
        ([(NOON,)], "date", "is no date"),
        ([("2024-06-31",)], "date", "is no date"),
        ([("noon",)], "date-time", "is no date-time"),
        ([("an hour",)], "duration", "is no duration"),
        ([(timedelta(hours=1),)], "duration", "is no duration"),
        ([(3,)], "none", "the answer is none"),
    ],
)
def test_rows_that_are_no_answer_of_the_type_are_unfit(rows, answer_type, said):
    with pytest.raises(Unfit, match=said):
        value_from_rows(rows, answer_type)


@pytest.mark.parametrize(
    ("text", "answer_type"),
    [
        ("", "integer"),
        ("three", "integer"),
        ("[3]", "integer"),
        ("2.5", "integer"),
        ('"12,50"', "money"),
        ('"2024-06-31"', "date"),
        ('"2024-05-01 25:00:00"', "date-time"),
        ('"1:00"', "duration"),
        ('"a; b"', "set"),
        ('["a", "a"]', "set"),
        ('{"a": 1}', "ordered list"),
        ("3", "none"),
    ],
)
def test_json_that_is_no_answer_of_the_type_is_unfit(text, answer_type):
    with pytest.raises(Unfit):
        value_from_json(text, answer_type)


@pytest.mark.parametrize("text", ["[1, 0]", "1", '"yes"', "{}", "[null]", "[]"])
def test_what_is_no_list_of_yes_and_no_is_unfit(text):
    with pytest.raises(Unfit):
        value_from_json(text, "yes/no")


@pytest.mark.parametrize("text", ['"sNaN"', '"NaN"', '"Infinity"', "NaN"])
def test_what_is_no_finite_number_is_unfit(text):
    with pytest.raises(Unfit):
        value_from_json(text, "decimal")


# Mentions


def shopped(*products):
    """A trajectory of a search and a click for each (title, brand, search)."""
    events = []
    for number, (title, brand, query) in enumerate(products):
        when = datetime(2024, 5, 1, 9) + timedelta(minutes=number)
        asin = f"P{number}"
        events += [search(when, query), click(when + timedelta(seconds=9), asin, title, brand)]
    return table_of(events)


def said_of(table, asin):
    found = mention_product(table.log, collect_product_nouns(table.log), asin)
    return found and (found.brand, *found.parts)


def meant(table, found):
    """The products that each engine takes these words for."""
    sql = sql_of(Names(of=Pick(product=found), what="asin"))
    return [{event.asin for event in table.log.events if is_mentioned(event, found)}, *everywhere(table, sql, "set")]


@pytest.mark.slow
def test_the_words_of_every_product_of_a_build_mean_it_alone_in_every_engine(trajectories):
    engines = Engines(trajectories)
    clicked = told = 0
    for id in sorted(engines.places):
        table = engines.of(id)
        things = collect_product_nouns(table.log)
        for asin in {event.asin for event in table.log.by_action["click"]}:
            clicked += 1
            if found := mention_product(table.log, things, asin):
                told += 1
                assert meant(table, found) == [{asin}] * 4
    assert told > clicked / 2


WORDS = (
    'oak lamp Lamp LAMP lamps desk 12 12in 12in. 50% 5_pack it\'s "big" Café CAFÉ café İstanbul ıstanbul straße STRASSE '
    "ſoft ﬁber Å Σας ΣΑΣ µm Ⅷ x² 日本 - , | (a) [b] & % _ \\ ' ; -- /* %a% lampİ \u212aelvin"
).split()
TITLE = st.lists(st.sampled_from(["", *WORDS]), min_size=1, max_size=7).map(" ".join)
BRAND = st.sampled_from(["Norrvik", "NORRVIK", "O'Neill", "50%", "a_b", "Ünïc", "İn", "-- lamp", None])


@settings(max_examples=400)
@given(products=st.lists(st.tuples(TITLE, BRAND, TITLE), min_size=1, max_size=6), joined=st.booleans())
def test_whatever_the_titles_the_words_mean_one_product_in_every_engine(products, joined):
    if joined:  # each goes on where the one before ended, so that they are hard to tell apart
        products = [(f"{products[0][0]}, {title}", brand, title) for title, brand, _ in products]
    table = shopped(*products)
    for number in range(len(products)):
        if found := mention_product(table.log, collect_product_nouns(table.log), f"P{number}"):
            assert meant(table, found) == [{f"P{number}"}] * 4


@pytest.mark.parametrize(
    "title", ["\u212aelvin lamp", "lampİ", "Oak  Lamp", "Oak\u00a0Lamp", "oak lamp\n", "Straße", "ſoft"]
)
def test_words_that_do_not_read_the_same_everywhere_are_not_used(title):
    table = shopped((title, None, "kelvin oak lamp soft strasse"))
    found = mention_product(table.log, collect_product_nouns(table.log), "P0")
    assert found is None or meant(table, found) == [{"P0"}] * 4


def test_what_the_shopper_typed_comes_first_without_the_maker():
    lamp = ("Norrvik Oak Floor Lamp, White, 150 cm", "Norrvik", "norrvik floor lamp")
    assert said_of(shopped(lamp), "P0") == ("Norrvik", "floor lamp")
    assert said_of(shopped(("Halm Rug", "Halm", "vase"), lamp), "P1") == ("Norrvik", "floor lamp")


@pytest.mark.parametrize(
    ("title", "query", "head"),
    [
        ("Norrvik Lamp", "norrvik lamp", "lamp"),
        ("Norrvik Lamp", "something else", "lamp"),
        ("Lamp for Desk", "lamp for desk", "lamp"),
        ("Rondo Floor Lamp", "rondo floor lamp", "floor lamp"),
        ("Big Floor Lamp White, 150 cm", "big lamp", "floor lamp"),
        ("Metal Base, Floor Lamp", "metal base", "floor lamp"),
        ("Floor Lamps 3 pack", "lamps", "floor lamps"),
    ],
)
def test_a_product_is_called_by_what_its_category_sells(title, query, head):
    assert said_of(shopped((title, "Norrvik", query)), "P0") == ("Norrvik", head)


@pytest.mark.parametrize(
    "title",
    [
        "Floor",
        "Floor Lamp Shade",
        "Lampshade",
        "Stool for a lamp",
        "Norrvik Rondo",
        "Bright White",
        "20 sheets",
        "Soft Gloss",
    ],
)
def test_a_title_that_does_not_tell_what_the_product_is_gives_no_words(title):
    assert said_of(shopped((title, "Norrvik", title)), "P0") is None


def test_what_the_titles_of_several_makers_end_with_is_a_thing_too():
    """Three earphones in a category that is called otherwise; of one maker alone it could be the name of a model."""

    def told(*brands):
        return said_of(shopped(*((f"{brand} Zunto earphone, red", brand, "x") for brand in brands)), "P0")

    assert told("Halm", "Norrvik", "Brindle") == ("Halm", "zunto earphone")
    assert told("Halm", "Norrvik") is None
    assert told("Halm", "Halm", "Halm") is None


def test_the_words_of_one_maker_alone_are_no_part_of_what_it_is():
    table = shopped(("Rondo Oak Floor Lamp", "Norrvik", "oak floor lamp"), ("Oak Floor Lamp", "Halm", "lamp"))
    assert said_of(table, "P0") == ("Norrvik", "oak floor lamp")
    table = shopped(("Rondo Oak Floor Lamp", "Norrvik", "oak floor lamp"))
    assert said_of(table, "P0") == ("Norrvik", "floor lamp")


def test_the_search_is_the_last_one_before_the_first_click():
    def said(*queries):
        when = datetime(2024, 5, 1, 9)
        events = [search(when + timedelta(minutes=n), query) for n, query in enumerate(queries[:-1])]
        events.append(click(when + timedelta(minutes=8), "P0", "Oak Floor Lamp", "Norrvik"))
        events.append(click(when + timedelta(minutes=8), "P1", "Oak Floor Lamp, White", "Halm"))
        events.append(search(when + timedelta(minutes=9), queries[-1]))
        events.append(click(when + timedelta(minutes=10), "P0", "Oak Floor Lamp", "Norrvik"))
        return said_of(table_of(events), "P0")

    assert said("oak lamp", "oak floor lamp", "lamp") == ("Norrvik", "oak floor lamp")
    assert said("oak floor lamp", "lamp", "oak floor lamp") == ("Norrvik", "floor lamp")


def test_a_detail_tells_siblings_apart():
    white = ("Norrvik Floor Lamp, White", "Norrvik", "floor lamp")
    black = ("Norrvik Floor Lamp, Black", "Norrvik", "floor lamp")
    table = shopped(white, black)
    assert said_of(table, "P0") == ("Norrvik", "floor lamp", "white")
    assert said_of(table, "P1") == ("Norrvik", "floor lamp", "black")


@pytest.mark.parametrize(
    ("title", "detail"),
    [
        ("Floor Lamp with linen shade of raw", "raw"),
        ("Floor Lamp, very tall for rooms with high ceilings", "rooms"),
        ("Floor Lamp, which we sell in this shop with 150 cm stand", "150 cm stand"),
        ("Floor Lamp, which has got a bulb e27x included", "e27x"),
        ("Floor Lamp, which comes in this shop white always", "white"),
        ("Floor Lamp, some say it has about 12 kg", "12 kg"),
    ],
)
def test_a_detail_is_a_whole_piece_or_stands_for_itself(title, detail):
    table = shopped((title, "Norrvik", "floor lamp"), ("Floor Lamp", "Norrvik", "floor lamp"))
    assert said_of(table, "P0") == ("Norrvik", "floor lamp", detail)


def test_three_details_are_given_and_no_more():
    """Each of the siblings lacks another one of the details, so that all of them are needed."""

    def told(*details):
        siblings = [", ".join(["Floor Lamp", *(each for each in details if each != one)]) for one in details]
        titles = [", ".join(["Floor Lamp", *details]), *siblings]
        return said_of(shopped(*((title, "Norrvik", "floor lamp") for title in titles)), "P0")

    assert set(told("white", "large", "linen")) == {"Norrvik", "floor lamp", "white", "large", "linen"}
    assert told("white", "large", "linen", "dimmable") is None


def test_the_brand_tells_the_same_title_apart_where_there_is_one():
    table = shopped(
        ("Floor Lamp", "Norrvik", "floor lamp"), ("Floor Lamp", "Halm", "floor lamp"), ("Floor Lamp", None, "x")
    )
    assert said_of(table, "P0") == ("Norrvik", "floor lamp")
    assert said_of(table, "P1") == ("Halm", "floor lamp")
    assert said_of(table, "P2") is None


@pytest.mark.parametrize(
    ("title", "other"),
    [
        ("Norrvik Floor Lamp, White", "Norrvik Floor Lamp, White"),
        ("Norrvik Floor Lamp, White", "NORRVIK FLOOR LAMP, WHITE"),
        ("Norrvik Floor Lamp, White", "Norrvik Floor Lamp, White, Large"),
        ("Norrvik Floor Lamp", "Norrvik Floor Lamps"),
        ("Norrvik Floor Lamp, Café", "Norrvik Floor Lamp, Bar"),
        ("Norrvik Floor Lamp, 50%", "Norrvik Floor Lamp, 60%"),
        ("Norrvik Floor Lamp, New", "Norrvik Floor Lamp"),
        ("Oak Floor Lamp, White", "Elm Floor Lamp, White"),
    ],
)
def test_a_product_that_no_words_tell_from_its_sibling_has_none(title, other):
    assert said_of(shopped((title, "Norrvik", "floor lamp"), (other, "Norrvik", "floor lamp")), "P0") is None


@pytest.mark.parametrize(
    "title",
    ["50%", "_ %", "日本", "Café", "12 in", "12 inch", "Extra XL", "Big Oak", "B07-XK", "'", "", "-- , |"],
)
def test_a_title_without_a_plain_noun_has_no_words(title):
    assert said_of(shopped((title, None, "x")), "P0") is None


def test_a_product_that_was_never_clicked_has_no_words():
    table = shopped(("Norrvik Floor Lamp", "Norrvik", "floor lamp"))
    assert said_of(table, "P9") is None
    bought = click(datetime(2024, 5, 1), "P0", "Norrvik Floor Lamp", "Norrvik") | {"action_type": "purchase"}
    assert said_of(table_of([bought]), "P0") is None


def test_words_mean_a_product_whose_name_has_all_of_them_and_whose_brand_is_the_one():
    table = shopped(("Norrvik Oak Floor Lamp, White", "Norrvik", "lamp"), ("Oak Stool", "Norrvik", "stool"))
    lamp = next(event for event in table.log.events if event.asin == "P0")
    found = {
        Mention(brand="Norrvik", parts=("floor lamp", "white")): True,
        Mention(brand=None, parts=("floor lamp",)): True,
        Mention(brand="Halm", parts=("floor lamp",)): False,
        Mention(brand="norrvik", parts=("floor lamp",)): False,
        Mention(brand="Norrvik", parts=("floor lamp", "black")): False,
    }
    for each_of, means in found.items():
        assert is_mentioned(lamp, each_of) == means
        expected = frozenset({"P0"}) if means else None
        sql = sql_of(Names(of=Pick(product=each_of), what="asin"))
        assert everywhere(table, sql, "set") == [expected] * 3
