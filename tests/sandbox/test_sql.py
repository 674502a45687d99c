"""SQL that others wrote: what may run over `events`, what may not, and what a connection can reach by itself."""

import os
from datetime import datetime

import duckdb
import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.sandbox.data_loader import fill_events_table
from shopwright.pipeline.sandbox.sql import FUNCTIONS, LONGEST, connect_confined, explain_refusal, parse_select
from shopwright.schemas.samples import Event
from tests.folders import listing


def event(row, action, query=None, **product):
    empty = dict.fromkeys(("asin", "product_name", "brand", "color", "product_types", "price"))
    when = datetime(2024, 5, 1, 9, row)
    return {"row_id": row, "timestamp": when, "action_type": action, "search_query": query, **empty, **product}


ROWS = [
    event(0, "search", "desk lamp"),
    event(1, "click", asin="P1", product_name="Desk lamp", brand="Norrvik", price=20),
    event(2, "click", asin="P2", product_name="Oak lamp", brand="Halm", price=30),
    event(3, "add to Cart", asin="P2", product_name="Oak lamp", brand="Halm", price=30),
    event(4, "purchase", asin="P2", product_name="Oak lamp", brand="Halm", price=30),
]


@pytest.fixture(scope="module", params=[False, True], ids=["for speed", "as written"])
def connection(request):
    found = connect_confined(as_written=request.param)
    fill_events_table(found, pa.Table.from_pylist(ROWS, schema=arrow_schema(Event)))
    return found


# What may run

HONEST = [
    "SELECT COUNT(*) FROM events",
    "select count(*) from Events;",
    "-- how many\nSELECT COUNT(*) /* of all */ FROM events -- the end",
    "FROM events",
    "FROM events SELECT brand WHERE price > 25",
    "SELECT one.brand FROM events AS one JOIN events AS other ON one.asin = other.asin AND other.action_type = 'purchase'",
    "SELECT brand FROM events SEMI JOIN (SELECT asin FROM events WHERE action_type = 'purchase') AS bought USING (asin)",
    "SELECT row_id, LAG(timestamp) OVER (ORDER BY timestamp) AS before FROM events",
    "SELECT SUM(price) OVER (PARTITION BY brand ORDER BY row_id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM events",
    "SELECT brand FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY brand ORDER BY timestamp) = 1",
    "WITH clicks AS (SELECT * FROM events WHERE action_type = 'click'), dear AS (FROM clicks WHERE price > 25) FROM dear",
    "SELECT brand FROM events WHERE action_type = 'click' EXCEPT SELECT brand FROM events WHERE action_type = 'purchase'",
    "WITH a AS (FROM events), b AS (FROM a) FROM (WITH c AS (FROM b) SELECT * FROM c, a WHERE c.asin = a.asin)",
    "SELECT asin FROM events INTERSECT SELECT asin FROM events UNION ALL SELECT brand FROM events",
    "SELECT brand FROM events WHERE price = (SELECT MAX(price) FROM events) AND asin IN (SELECT asin FROM events)",
    "SELECT EXISTS (SELECT 1 FROM events WHERE brand ILIKE '%norr%'), EXISTS (SELECT 1 FROM events WHERE price > 99)",
    "SELECT brand, COUNT(*) FILTER (WHERE price > 25) FROM events GROUP BY ALL HAVING COUNT(*) > 1 ORDER BY ALL",
    "SELECT DISTINCT ON (brand) brand, price FROM events ORDER BY brand, timestamp",
    "SELECT * EXCLUDE (price) FROM (SELECT * FROM events WHERE price IS NOT NULL) AS priced LIMIT 2 OFFSET 1",
    "SELECT CASE WHEN price > 25 THEN 'dear' ELSE brand || ' is cheap' END FROM events",
    "SELECT price::DOUBLE, CAST(timestamp AS DATE), TRY_CAST(brand AS DATE) FROM events",
    "SELECT DAYNAME(timestamp), HOUR(timestamp), EXTRACT(month FROM timestamp) FROM events",
    "SELECT DATE_TRUNC('week', timestamp), STRFTIME(timestamp, '%H:%M'), timestamp + INTERVAL 30 MINUTE FROM events",
    "SELECT DATE_DIFF('second', MIN(timestamp), MAX(timestamp)), EPOCH(MAX(timestamp) - MIN(timestamp)) FROM events",
    "SELECT MEDIAN(price), STDDEV(price), QUANTILE_CONT(price, 0.9), MODE(brand), ROUND(AVG(price), 2) FROM events",
    "SELECT STRING_AGG(brand, '; ' ORDER BY row_id), LIST(DISTINCT brand), LENGTH(MAX(product_name)) FROM events",
    "SELECT REGEXP_MATCHES(product_name, 'lamp$'), LOWER(brand), SUBSTR(brand, 1, 3), TRIM(brand) FROM events",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i, brand FROM n, events",
    "(SELECT COUNT(*) FROM events)",
    "((SELECT brand FROM events ORDER BY timestamp LIMIT 1));",
    "(WITH lamps AS (FROM events WHERE product_name ILIKE '%lamp%') SELECT COUNT(*) FROM lamps)",
    "(SELECT brand FROM events) UNION (SELECT color FROM events)",
    "SELECT ARG_MAX(brand, price), ARG_MIN(brand, price), MAX_BY(brand, price), MIN_BY(brand, price) FROM events",
    "SELECT BOOL_OR(price > 25), BOOL_AND(price > 25), MEAN(price), STDDEV_POP(price), CORR(price, row_id) FROM events",
    "SELECT DATE_PART('hour', timestamp), DATEPART('hour', timestamp), DATE(timestamp), LAST_DAY(timestamp) FROM events",
    "SELECT STRPTIME('2024-05-01', '%Y-%m-%d'), MAKE_DATE(2024, 5, 1), DATE_ADD(timestamp, INTERVAL 1 DAY) FROM events",
    "SELECT ENDS_WITH(brand, 'k'), PREFIX(brand, 'N'), SUFFIX(brand, 'k'), REVERSE(brand), LTRIM(RTRIM(brand)) FROM events",
    "SELECT CONCAT_WS(' ', brand, color), CHAR_LENGTH(brand), CEILING(price), SIGN(price), MOD(row_id, 2) FROM events",
    "SELECT PERCENT_RANK() OVER (ORDER BY price), CUME_DIST() OVER (ORDER BY price) FROM events",
    "SELECT LEN(LIST(brand)), LIST_SORT(LIST(DISTINCT brand))[1], LIST_CONTAINS(LIST(brand), 'Halm') FROM events",
    "SELECT ARRAY_LENGTH(LIST(price)), LIST_DISTINCT(LIST(brand)) FROM events",
]


@pytest.mark.parametrize("sql", HONEST)
def test_an_honest_query_may_run_and_does(connection, sql):
    assert explain_refusal(sql) is None
    assert connection.execute(sql).fetchall()


@pytest.mark.parametrize("name", ["pow", "weekofyear"])
def test_what_the_list_allows_is_allowed_by_that_name(name):
    assert name in FUNCTIONS
    assert explain_refusal(f"SELECT {name}({'price, 2' if name == 'pow' else 'timestamp'}) FROM events") is None


@pytest.mark.parametrize("sql", ["(SELECT COUNT(*) FROM events)", "((SELECT COUNT(*) FROM events))"])
def test_brackets_around_a_query_make_no_difference(sql):
    assert parse_select(sql) == parse_select("SELECT COUNT(*) FROM events")


# What may not

HOSTILE = [
    # files
    ("SELECT * FROM read_csv('/etc/passwd')", "reads read_csv, not events"),
    ("SELECT * FROM events, read_text('/etc/passwd')", "not events"),
    ("SELECT * FROM read_parquet('*.parquet') AS events", "reads read_parquet, not events"),
    ("SELECT * FROM glob('*'), events", "not events"),
    ("SELECT * FROM 'shop.csv'", "reads shop.csv, not events"),
    ('SELECT * FROM "shop.csv" AS events', "reads shop.csv, not events"),
    ("SELECT COUNT(*) FROM events WHERE brand IN (SELECT brand FROM 'https://shop.example/brands.csv')", "not events"),
    ("WITH a AS (FROM events), b AS (FROM read_csv('x')) FROM a, b", "reads read_csv, not events"),
    ("WITH shop AS (FROM events) SELECT * FROM shop, shop('*')", "not events"),
    ("SELECT * FROM events, events('*')", "not events"),
    # other tables
    ("SELECT * FROM orders", "reads orders, not events"),
    ("SELECT * FROM events JOIN orders USING (asin)", "reads orders, not events"),
    ("SELECT * FROM main.events", "not events"),
    ("SELECT * FROM shop.main.events", "not events"),
    ("SELECT * FROM events, information_schema.tables", "reads tables, not events"),
    ("SELECT * FROM events, pg_catalog.pg_tables", "reads pg_tables, not events"),
    ("SELECT * FROM events, duckdb_tables", "reads duckdb_tables, not events"),
    ("SELECT * FROM events, sqlite_master", "reads sqlite_master, not events"),
    ("SELECT * FROM events, duckdb_settings()", "not events"),
    ("SELECT * FROM events AS e, e", "reads e, not events"),
    ("SELECT 1", "does not read events"),
    ("SELECT 1 AS events", "does not read events"),
    ("SELECT MAX(rowid) FROM events", "reads rowid"),
    ("SELECT brand FROM events AS e ORDER BY e.RowID LIMIT 1", "reads rowid"),
    # writing
    ("INSERT INTO events SELECT * FROM events", "no query but INSERT"),
    ("UPDATE events SET price = 0", "no query but UPDATE"),
    ("DELETE FROM events", "no query but DELETE"),
    ("MERGE INTO events USING events AS e ON e.row_id = events.row_id WHEN MATCHED THEN DELETE", "no query but MERGE"),
    ("TRUNCATE events", "no query"),
    ("DROP TABLE events", "no query but DROP"),
    ("ALTER TABLE events RENAME TO others", "no query but ALTER"),
    ("CREATE TABLE more AS SELECT * FROM events", "no query but CREATE"),
    ("SELECT * INTO more FROM events", "place left open"),
    ("WITH gone AS (DELETE FROM events RETURNING *) SELECT COUNT(*) FROM gone, events", "DELETE inside it"),
    ("WITH more AS (INSERT INTO events FROM events RETURNING *) SELECT COUNT(*) FROM more", "INSERT inside it"),
    ("WITH free AS (UPDATE events SET price = 0 RETURNING *) SELECT COUNT(*) FROM free", "UPDATE inside it"),
    # the database itself
    ("COPY events TO 'events.csv'", "no query but COPY"),
    ("COPY (SELECT * FROM events) TO 'events.csv'", "no query but COPY"),
    ("ATTACH 'other.db'", "no query but ATTACH"),
    ("PRAGMA database_list", "no query but PRAGMA"),
    ("SET threads = 8", "no query but SET"),
    ("RESET threads", "no query"),
    ("INSTALL httpfs", "no query but INSTALL"),
    ("LOAD httpfs", "no query"),
    ("EXPLAIN SELECT * FROM events", "no query"),
    ("DESCRIBE events", "no query but DESCRIBE"),
    ("CALL pragma_version()", "no query"),
    ("VALUES (1)", "no query but VALUES"),
    # brackets
    ("(VALUES (1))", "no query but VALUES"),
    ("(events)", "no query but PAREN"),
    ("(DELETE FROM events)", "does not parse"),
    ("(SELECT * FROM read_csv('/etc/passwd'))", "reads read_csv, not events"),
    ("((SELECT repeat('a', 1000000000) FROM events))", "calls repeat"),
    ("(SELECT 1)", "does not read events"),
    ("(SELECT 1 FROM events); (SELECT 2 FROM events)", "2 statements, not one"),
    ("(SELECT 1 FROM events) AS events", "no query but ALIAS"),
    # functions
    ("SELECT repeat('a', 1000000000) FROM events", "calls repeat"),
    ("SELECT lpad('a', 1000000000, 'b') FROM events", "calls pad"),
    ("SELECT format('{:1000000000}', price) FROM events", "calls format"),
    ("SELECT printf('%1000000000d', 1) FROM events", "calls printf"),
    ("SELECT range(1000000000) FROM events", "calls generate_series"),
    ("SELECT * FROM events, range(1000000000)", "not events"),
    ("SELECT UNNEST(generate_series(1, 1000000000)) FROM events", "calls"),
    ("SELECT getenv('HOME') FROM events", "calls getenv"),
    ("SELECT current_setting('threads') FROM events", "calls current_setting"),
    ("SELECT MAX(price) FROM events WHERE brand = getvariable('x')", "calls getvariable"),
    ("SELECT random() FROM events", "calls rand"),
    ("SELECT brand FROM events ORDER BY RANDOM() LIMIT 1", "calls rand"),
    ("SELECT COUNT(*) FROM events WHERE timestamp < now()", "calls"),
    ("SELECT COUNT(*) FROM events WHERE timestamp < current_date", "calls current_date"),
    ("SELECT query('SELECT 1') FROM events", "calls query"),
    ("SELECT * FROM query_table('events')", "not events"),
    ("SELECT LIST_AGGREGATE(LIST(brand), 'histogram') FROM events", "calls list_aggregate"),
    ("SELECT UNNEST(LIST(brand)) FROM events", "calls"),
    ("SELECT LIST_RESIZE(LIST(brand), 1000000000) FROM events", "calls list_resize"),
    ("SELECT APPROX_COUNT_DISTINCT(brand) FROM events", "calls approx_distinct"),
    ("SELECT AGE(timestamp) FROM events", "calls age"),
    ("SELECT TODAY() FROM events", "calls"),
    ("SELECT LEVENSHTEIN(product_name, brand) FROM events", "calls levenshtein"),
    ("SELECT RPAD(brand, 1000000000, 'a') FROM events", "calls pad"),
    # places left open
    ("SELECT * FROM events WHERE brand = ?", "place left open"),
    ("SELECT * FROM events WHERE brand = $brand", "place left open"),
    ("SELECT * FROM events WHERE brand = :brand", "place left open"),
    # no SQL, or more than one
    ("", "0 statements, not one"),
    (" \n\t", "0 statements, not one"),
    (";", "0 statements, not one"),
    ("-- SELECT * FROM events", "0 statements, not one"),
    ("/* SELECT * FROM events */", "0 statements, not one"),
    ("SELECT * FROM events; DROP TABLE events", "2 statements, not one"),
    ("SELECT * FROM events; SELECT * FROM events", "2 statements, not one"),
    ("SELECT COUNT(* FROM events", "does not parse"),
    ("How many clicks?", "does not parse"),
    ("SELECT 'it FROM events", "does not parse"),
    (f"SELECT {'(' * 1_500}1{')' * 1_500} FROM events", "does not parse"),
    (f"SELECT {'NOT ' * 950}true FROM events", "does not parse"),
]


@pytest.mark.parametrize(("sql", "said"), HOSTILE, ids=[sql[:50] or "nothing" for sql, _ in HOSTILE])
def test_what_is_not_one_query_over_events_may_not_run(sql, said):
    assert said in (explain_refusal(sql) or "it may")
    assert explain_refusal(sql.lower())


def test_a_query_may_be_of_four_thousand_characters_and_no_more():
    sql = "SELECT COUNT(*) FROM events"
    assert explain_refusal(sql + " " * (LONGEST - len(sql))) is None
    assert explain_refusal(sql + " " * (LONGEST + 1 - len(sql))) == "SQL of more than 4,000 characters"


def test_what_does_not_parse_is_a_value_error():
    for sql in ("SELECT COUNT(* FROM events", "SELECT 'it FROM events", "", "SELECT 1; SELECT 2"):
        with pytest.raises(ValueError, match=r"statements|parse"):
            parse_select(sql)


def test_the_name_of_a_cte_opens_no_other_table():
    sql = "SELECT d.* FROM (WITH duckdb_tables AS (FROM events) FROM duckdb_tables) AS t, duckdb_tables AS d"
    assert explain_refusal(sql) == "reads duckdb_tables, not events"


@pytest.mark.parametrize(
    "ctes",
    [
        "duckdb_tables AS (FROM duckdb_tables)",
        "tables AS (FROM duckdb_tables), duckdb_tables AS (FROM events)",
    ],
)
def test_the_name_of_a_cte_opens_no_other_table_before_it(ctes):
    assert explain_refusal(f"WITH {ctes} SELECT * FROM events, {ctes.split()[0]}") == "reads duckdb_tables, not events"


def test_a_cte_that_is_called_events_is_not_the_table():
    assert explain_refusal("WITH events AS (SELECT 1 AS price) SELECT SUM(price) FROM events") is not None


@pytest.mark.parametrize("sample", ["TABLESAMPLE 10 PERCENT", "USING SAMPLE 3"])
def test_a_sample_is_no_answer(sample):
    assert explain_refusal(f"SELECT SUM(price) FROM events {sample}") is not None


@pytest.mark.parametrize("call", ["REPLACE({}, 'A', 'AAAAAAAAAA')", "REGEXP_REPLACE({}, 'A', 'AAAAAAAAAA', 'g')"])
def test_no_function_makes_long_texts_of_short_ones(call):
    text = "'A'"
    for _ in range(9):
        text = call.format(text)
    assert explain_refusal(f"SELECT MAX(LENGTH({text})) FROM events") is not None


# What a connection can reach by itself


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM sniff_csv('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY events FROM '{file}'",
        "COPY events TO '{folder}/out.csv'",
        "EXPORT DATABASE '{folder}/all'",
        "ATTACH '{folder}/other.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM 'https://shop.example/shop.csv'",
        "SELECT * FROM lying_about",
        "SELECT getenv('HOME')",
        "SET enable_external_access = true",
        "SET max_execution_time = 0",
        "SET memory_limit = '20GB'",
        "RESET max_execution_time",
        "PRAGMA threads = 4",
        "SET lock_configuration = false",
    ],
)
def test_a_connection_reaches_no_file_no_network_and_no_setting(connection, tmp_path, sql):
    lying_about = pa.table({"secret": [1]})  # a variable that DuckDB would find by its name
    file = tmp_path / "shop.csv"
    file.write_text("title,price\nLamp,3\n")
    before = listing(tmp_path)
    with pytest.raises(duckdb.Error):
        connection.execute(sql.format(file=file, folder=tmp_path)).fetchall()
    assert listing(tmp_path) == before
    assert lying_about.num_rows == 1


def test_a_query_that_wants_much_memory_fails_and_leaves_nothing_on_the_disk(connection, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for sql in (
        "SELECT STRING_AGG(REPEAT('x', 1_000_000), '') FROM RANGE(1_000)",
        "SELECT REPEAT('x', 20_000) || range AS long FROM RANGE(50_000) ORDER BY long",
    ):
        with pytest.raises(duckdb.OutOfMemoryException):
            connection.execute(sql).fetchmany(1)
        assert list(tmp_path.iterdir()) == []
    assert connection.execute("SELECT COUNT(*) FROM events").fetchone() == (5,)


def test_a_query_takes_one_core(connection):
    assert connection.execute("SELECT CURRENT_SETTING('threads')").fetchone() == (1,)


def test_it_begins_no_thread():
    """Each trajectory that is asked about has two of them in each worker, and a machine may allow few threads."""
    before = len(os.listdir("/proc/self/task"))
    found = connect_confined()
    found.execute("SELECT 1").fetchall()
    assert len(os.listdir("/proc/self/task")) == before


def test_as_written_a_query_is_not_rewritten():
    def plan(connection):
        connection.execute("CREATE TABLE events (price INTEGER)")
        return connection.execute("EXPLAIN SELECT price FROM events WHERE 1 = 2").fetchall()[0][1]

    assert "Filter" in plan(connect_confined(as_written=True))
    assert "Filter" not in plan(connect_confined())


@pytest.mark.slow
@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n",
        "SELECT COUNT(*) FROM RANGE(1_000_000) AS a (x), RANGE(1_000_000) AS b (y) WHERE x * x > y",
    ],
)
def test_an_endless_query_is_given_up_and_the_next_one_runs(connection, sql):
    with pytest.raises(duckdb.InterruptException):
        connection.execute(sql).fetchall()
    assert connection.execute("SELECT COUNT(*) FROM events").fetchone() == (5,)
