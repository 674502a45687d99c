import json

from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.browse import sql as browsed
from shopwright.pipeline.sandbox.sql import FUNCTIONS, LONGEST, explain_refusal, parse_select
from tests.fuzz.hostile import PIECES, some, text

WORDS = (
    "select from where group by having order limit offset union all distinct with as on join lateral values"
    " case when then else end and or not in is null between like ilike exists over partition recursive insert"
    " into update delete drop create table copy attach pragma set call install load export summarize describe"
    " show pivot unpivot qualify tablesample using sample events rows brand price timestamp rowid * ( ) , . ;"
    " :: -> [ ] { } ? $1 @x 'x' \"x\" $$x$$ e'\\x' 1 1.5 1e999 -- /* */ + - % = count(*) sum(price)"
    " read_csv('/etc/passwd') getenv('HOME') read_text('x') duckdb_settings() glob('*') current_setting('x')"
    " 'x.csv' main.events system.events interval date struct"
).split()
query = st.lists(st.sampled_from(WORDS) | st.sampled_from(PIECES), max_size=14).map(" ".join)
likely = st.builds(
    "select {} from {} where {} {}".format,
    *(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join) for _ in range(4)),
)
part = st.sampled_from(
    [
        "brand",
        "price",
        "count(*)",
        "lower(brand)",
        "'it''s'",
        "'--'",
        '"a""b"',
        "1.5",
        "-1",
        "null",
        "cast(price as int)",
        "'/*'",
    ]
)
table = st.sampled_from(
    ["events", "events", "events", "main.events", "read_csv('x')", "'x.csv'", "(SELECT 1 FROM events)"]
)
fitting = st.builds(
    "SELECT {} FROM {} WHERE {} = {} GROUP BY {} ORDER BY {} LIMIT 9".format, part, table, part, part, part, part
)
NESTED = ["(" * 3_900, "select " + "(" * 1_900 + "1" + ")" * 1_900 + " from events",
    "select 1" + "+1" * 1_900 + " from events",
          "select " + "not " * 900 + "1 from events", "select " + "case when 1 then " * 200, "select " + "x." * 1_900,
          "/*" * 1_900,
          "with a as (" * 300, "select " + "[" * 3_000, "select {'a': " * 500,
          "select 0x" + "f" * 3_000 + " from events"]  # fmt: skip


def each_nested(function):
    for each in NESTED:
        function = example(each)(function)
    return function


@some
@given(query | likely | text)
@each_nested
@example("->")
@example("select x -> from events")
def test_any_text_may_run_or_there_is_a_reason_why_not(sql):
    for reason in (
        explain_refusal(sql),
        browsed.find_sql_violation(sql),
        browsed.find_sql_violation(browsed.as_query(sql, ["n", 'a"b'])),
    ):
        assert reason is None or (reason and "\n" not in reason.splitlines()[0])


@some
@given(query | likely | fitting)
@example("select 1 from main.events")
@example("with events as (select 1) select * from events")
def test_what_may_run_reads_events_alone_and_calls_what_is_known(sql):
    from sqlglot import exp

    if explain_refusal(sql) is None:
        found = parse_select(sql)
        known = {"events", *(each.alias_or_name.lower() for each in found.find_all(exp.CTE))}
        assert {each.name.lower() for each in found.find_all(exp.Table)} <= known
        assert not any(each.db for each in found.find_all(exp.Table))
        assert not list(found.find_all(exp.DDL, exp.Insert, exp.Command, exp.Into))
        for call in found.find_all(exp.Anonymous):
            assert call.name.lower() in FUNCTIONS


@some
@given(fitting)
@example("SELECT 'it''s', \"a\"\"b\", '--' FROM events")
def test_a_query_is_printed_so_that_it_is_read_the_same(sql):
    printed = parse_select(sql).sql(dialect="duckdb")
    assert parse_select(printed) == parse_select(sql)
    assert explain_refusal(printed) == explain_refusal(sql)


@some
@given(
    st.lists(
        text.filter(lambda each: "\0" not in each and "\ud800" not in each and each),
        min_size=1,
        max_size=3,
        unique=True,
    )
)
@example(['a"b', 'x" FROM events --', "';"])
def test_columns_stand_in_a_query_as_names_whatever_they_are_called(columns):
    from sqlglot import exp

    made = browsed.as_query("price > 1", columns)
    if len(made) <= LONGEST:
        found = parse_select(made)
        assert [each.name for each in found.selects] == columns
        assert all(isinstance(each, exp.Column) for each in found.selects)


@some
@given(text)
def test_an_error_of_the_engine_is_told_in_one_line(error):
    assert "\n" not in browsed.in_one_line(f"Binder Error: {error}")
    assert json.dumps(browsed.shorten_cell({error: [error] * 99}))
