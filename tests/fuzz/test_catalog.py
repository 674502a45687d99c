import csv
import gzip
import io
import json
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.catalog.exports.columns import guess_export
from shopwright.pipeline.catalog.exports.reader import Reader
from shopwright.pipeline.catalog.exports.systems import list_systems, resolve
from shopwright.pipeline.catalog.exports.values import says_nothing
from shopwright.pipeline.catalog.normalize import normalize
from shopwright.pipeline.catalog.queries import read_queries
from shopwright.pipeline.catalog.repair.lists import unpack_value
from shopwright.pipeline.catalog.repair.money import REASONS, convert_to_cents, read_price
from shopwright.pipeline.catalog.repair.text import DEEPEST, is_deep
from shopwright.pipeline.catalog.sources import (
    BadSource,
    describe_missing_source,
    file,
    locate_files,
    open_source,
    shopsimulator,
    webshop,
)
from shopwright.pipeline.problem import Problem
from shopwright.schemas.shop import Product
from tests.fuzz.hostile import DEEP, DIGITS, HALF, json_values, some, text, texts, tried, values

FIELDS = (
    "id title brand category category_path color price attributes options description bullets rating review_count"
    " shipping_days queries"
).split()
THEIRS = (
    "asin parent_asin main_category title name store brand details categories category product_category"
    " domain_zh features description price pricing average_rating rating_number author attribute attributes"
    " customization_options options product_information small_description full_description Attributes Title"
    " Price total_reviews"
).split()
rows = st.dictionaries(
    st.sampled_from(FIELDS), values | texts("4.5 out of 5", "$10 - $20", "['a', 'b']", "12 in"), min_size=1
)


def product_or_reasons(raw):
    found = normalize(raw, source="file", licence="unknown", number=7)
    if isinstance(found, list):
        assert found
        assert all(found)
    else:
        price = None if found["price"] is None else Decimal(found["price"]) / 100
        product = Product.model_validate(found | {"price": price or Decimal(1)})
        assert product.model_dump_json(), "and it can be written"


# One row


@some
@given(rows)
@example({"title": "Lamp", "bullets": DEEP, "attributes": "{" * 9_999, "price": "1e9999999999"})
@example({"title": "Lamp", "category": "[" * 950 + "]" * 950, "rating": DIGITS, "review_count": 10**5_000})
@example({"title": "Lamp", "options": '{"a": ' * 90 + "1" + "}" * 90, "id": HALF})
def test_any_row_is_a_product_that_can_be_written_or_reasons(raw):
    product_or_reasons({"title": "Oak lamp", **raw})


AMAZON = next(system for system in list_systems() if system.name == "amazon-2023")


def read_amazebay_product(raw):
    names = list(raw)
    return Reader(resolve(AMAZON, names), names).product(raw)


@some
@given(
    st.sampled_from([read_amazebay_product, shopsimulator.read_shopsimulator_product, webshop.read_webshop_product]),
    st.data(),
)
def test_any_row_of_a_known_source_is_a_product_or_reasons(product, data):
    raw = data.draw(
        st.dictionaries(st.sampled_from(THEIRS), json_values | st.builds(json.dumps, json_values), min_size=1)
    )
    product_or_reasons(product(raw))


@some
@given(json_values, st.integers(0, 30))
def test_deep_is_what_has_more_lists_in_each_other_than_are_read(value, times):
    for _ in range(times):
        value = [value]
    assert is_deep(value) or times <= DEEPEST
    assert not is_deep(value, most=times + 8)


def test_lists_in_a_text_are_read_to_the_same_depth_whoever_asks():
    deepest = "[" * DEEPEST + "]" * DEEPEST
    assert unpack_value(deepest) == json.loads(deepest)
    assert unpack_value(f"[{deepest}]") == f"[{deepest}]"


# Prices


def parse_price(value):
    return convert_to_cents(read_price(value), {})[0]


@some
@given(texts("$", "€", "USD ", "Rs.", " - ", " to ", "each", ".99", ",00") | values)
@example("1e9999999999")
@example("1e999999999999999999999999")
@example(DIGITS)
def test_a_price_is_in_cents_within_reason_or_missing_or_one_of_its_faults(value):
    cents, fault = tried(ValueError, parse_price, value)
    assert not fault or str(fault) in REASONS or str(fault).endswith("without a rate")
    assert cents is None or 1 <= cents <= 100_000_000


@some
@given(st.integers(1, 100_000_000))
def test_a_price_is_the_same_as_a_number_and_in_a_list(cents):
    price = Decimal(cents) / 100
    assert parse_price(price) == parse_price([price, None]) == parse_price(f"{price:.2f} each") == cents


def test_a_number_without_a_known_end_is_not_the_price_that_it_begins_with():
    with pytest.raises(ValueError, match="price unreadable"):
        parse_price("1e9999999999")


# Files

pieces = texts(
    "title,price\n", "Lamp,12.50\n", '"a\nb",1\n', '{"title": "Lamp", "price": 1}\n', "[", "]", ",\n", "PAR1", "\r"
)
WORST = [
    "\ufeff", "\ufeff\n", "\ufeff\r\n \n", DEEP, '[{"title": "a"}, ' + DEEP, '{"title": ' * 9_999,
    '[{"title":"a"},{"title":' + DIGITS,
    '{"title": "a", "price": "\\ud800"}', "title,price\n" + '"' * 999, "\x1c", "{" * 9 + "}" * 9,
    '[{"a":1} {"a":2} x {"a":3}]',
    '{"title": "a", "options": ' + "[" * 900 + "]" * 900 + "}",
    '[{"title": "a", "options": ' + "[" * 60 + "]" * 60 + "}]",
]  # fmt: skip


@some
@given(
    st.sampled_from(["csv", "tsv", "json", "jsonl", "csv.gz", "jsonl.gz", "parquet"]),
    pieces | st.sampled_from(WORST),
    st.binary(max_size=4),
)
@example("csv", "\ufeff\n", b"")
@example("json", WORST[-1], b"")
@example("jsonl", WORST[-2], b"")
def test_any_file_is_a_catalog_of_rows_or_a_bad_source(tmp_path_factory, kind, text, end):
    path = tmp_path_factory.getbasetemp() / f"any.{kind}"
    content = text.encode("utf-8", "surrogatepass") + end
    path.write_bytes(gzip.compress(content) if kind.endswith("gz") else content)
    found, bad = tried(BadSource, open_source, str(path))
    if bad:
        assert str(path) in str(bad) or "title" in str(bad)
        return
    rows = list(found.read(0, len(found)))
    assert len(rows) == len(found)
    for row in rows[:3]:
        assert json.dumps(row, default=str)
        product_or_reasons(row)


@pytest.mark.parametrize("text", WORST[-2:])
def test_a_row_nested_too_deep_is_unreadable_whoever_asks(tmp_path, text):
    path = tmp_path / "deep.json"
    path.write_text(text + ('\n{"title": "Lamp"}' if text[0] == "{" else ""))
    (row, *_) = open_source(str(path)).read(0, 1) if text[0] == "{" else deep_of(path, text)
    assert row["unreadable"] == "nested too deep"


def deep_of(path, text):
    path.write_text(text.removesuffix("]") + ', {"title": "Lamp"}]')
    return open_source(str(path)).read(0, 1)


@some
@given(
    st.lists(
        st.tuples(text.map(lambda each: each.replace(HALF, "").replace("\0", "")), st.integers(1, 99)),
        min_size=1,
        max_size=4,
    )
)
def test_a_csv_file_is_read_as_it_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    told = io.StringIO(newline="")
    csv.writer(told).writerows([("title", "price"), *rows])
    path.write_text(told.getvalue(), encoding="utf-8", newline="")
    plain = [{"title": None if says_nothing(title) else title, "price": str(price)} for title, price in rows]
    if any("\n" * 999 in title for title, _ in rows):
        return
    found = list(open_source(str(path)).read(0, len(plain)))
    assert [{name: row[name] for name in ("title", "price")} for row in found] == plain


@some
@given(st.dictionaries(st.sampled_from(FIELDS) | text, text, max_size=3), st.lists(text, min_size=1, max_size=6))
def test_columns_are_led_to_fields_or_a_bad_source_says_which_is_not(columns, names):
    found, bad = tried(BadSource, file.tell_columns, guess_export(names, []), columns, names)
    assert "--columns" in str(bad) if bad else columns.keys() <= found.columns.keys()
    assert bad or {name for each in found.columns.values() for name in each} <= set(names)


@some
@given(texts("~", "/", "esci:", "webshop:", "\0", "../").filter(lambda each: "esci" not in each))
def test_any_name_of_a_source_is_one_or_a_bad_source(name):
    tried(BadSource, locate_files, f"./none/{name}", (".x",), name="x", patterns=[])
    assert "Give" in describe_missing_source(name) or "give" in describe_missing_source(name)


# Files of queries


@some
@given(
    st.sampled_from(["json", "csv", "tsv"]),
    texts("query", "query,product_id\n", '["', '"]', '[{"query": "', '{"judgmentRatings": [{"query": "a", "ratings": [')
    | st.builds(json.dumps, json_values),
)
@example("json", DEEP)
@example("json", '{"judgmentRatings": [{"query": "red lamp", "ratings": [{"docId": ["a"], "rating": 1}]}]}')
@example("json", '["red \\ud800 lamp"]')
@example("csv", "query\n" + "\0\u2028red lamp\x85")
def test_any_file_of_queries_is_read_or_a_problem(tmp_path_factory, kind, text):
    path = tmp_path_factory.getbasetemp() / f"queries.{kind}"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    found, problem = tried(Problem, read_queries, path)
    if problem:
        assert "queries" in str(problem)
        return
    for told in [*found.judged.values(), *found.by_word.values()]:
        for query, _ in told:
            assert query.encode()
            assert "\0" not in query
            assert query == " ".join(query.split())[:200]
