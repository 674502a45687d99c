"""Queries of one template: what is found out once for all of them is what would be found out of each alone."""

import pytest

from shopwright.pipeline.questions.engines import transpile_to_sqlite
from shopwright.pipeline.questions.sql_effort import list_row_queries, unround_query
from shopwright.pipeline.sandbox.sql import explain_refusal
from shopwright.pipeline.sandbox.sql_templates import fill_values, split_values

TRICKY = [
    "SELECT COUNT(*) FROM events WHERE brand = 'O''Neill' AND color = ''''",
    "SELECT COUNT(*) FROM events WHERE brand = 'a = ''b''' AND search_query ILIKE '%= %'",
    "SELECT COUNT(*) FROM events WHERE CAST(timestamp AS DATE) BETWEEN '2024-05-01' AND '2024-05-31'",
    "SELECT DATE_DIFF('second', (SELECT MIN(timestamp) FROM events WHERE brand = 'x'), MAX(timestamp)) FROM events",
    "SELECT ROUND(AVG(price), 2) FROM events WHERE brand = 'a' AND product_name ILIKE '%-- b%'",
    "SELECT ROUND(AVG(price), 2) FROM events WHERE brand = 'a' /* ' */ AND color = 'red'",
    "SELECT COUNT(*) FROM events AS \"it's\" WHERE brand = 'x' AND \"it's\".color <> 'it''s'",
    "SELECT price AS \"= 'a\" FROM events WHERE brand = 'b' AND color = 'c'",
    "SELECT COUNT(*) FROM events /* = ' */ WHERE brand = 'b' AND color = 'c'",
    "SELECT DAYNAME(timestamp) = 'Friday' FROM events WHERE color > 'a' AND color < 'b\\'",
]


@pytest.mark.parametrize("sql", TRICKY)
def test_a_template_with_its_texts_is_the_query(sql):
    assert fill_values(*split_values(sql)) == sql


def test_texts_that_are_compared_leave_a_place_and_others_stay():
    template, values = split_values(TRICKY[3])
    assert values == ("x",)
    assert "'second'" in template


@pytest.mark.parametrize("sql", TRICKY)
@pytest.mark.parametrize("find", [transpile_to_sqlite, list_row_queries, unround_query, explain_refusal])
def test_what_is_found_of_a_template_is_what_is_found_of_the_query(sql, find):
    query = transpile_to_sqlite(sql) if find is unround_query else sql
    assert find(query) == find.__wrapped__(query) if hasattr(find, "__wrapped__") else find(query) is None


@pytest.mark.parametrize("value", ["Brooks", "events", "'); DROP TABLE events; --", "\ue0000\ue000", "$$", "a\\'"])
def test_no_text_changes_what_a_query_may_do(value):
    quoted = value.replace("'", "''")
    assert explain_refusal(f"SELECT COUNT(*) FROM events WHERE brand = '{quoted}'") is None
    assert explain_refusal(f"SELECT COUNT(*) FROM orders WHERE brand = '{quoted}'") == "reads orders, not events"
