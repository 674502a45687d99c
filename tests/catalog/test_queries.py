"""Queries that people typed, led to the products that fulfil them."""

import json
from pathlib import Path

import pytest

from shopwright.pipeline.catalog.queries import grade_of, read_queries
from shopwright.pipeline.problem import Problem

DATA = Path(__file__).parents[3] / "shared" / "data"


def lamp(name="B1", title="Norrvik oak table lamp, 12 in", brand="Norrvik"):
    return {"id": name, "title": title, "brand": brand}


def written(tmp_path, content, name="queries.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_queries(path)


def make_judgments(*ratings):
    return {"judgmentRatings": [{"query": "oak lamp", "ratings": [{"docId": d, "rating": r} for d, r in ratings]}]}


def test_a_judged_query_goes_to_the_product_it_was_judged_for(tmp_path):
    found = written(tmp_path, make_judgments(("B1", "100.000"), ("B2", "1.000")))
    assert found.of(lamp("B1", title="something else")) == [{"text": "oak lamp", "grade": "E"}]
    assert found.of(lamp("B2")) == [{"text": "oak lamp", "grade": "C"}]


def test_a_query_that_nobody_judged_goes_to_products_that_have_all_its_words(tmp_path):
    found = written(tmp_path, ["oak table lamps", "oak desk lamp", "lamp", "norrvik lamp"])
    assert {query["text"] for query in found.of(lamp())} == {"oak table lamps", "norrvik lamp"}
    assert {query["grade"] for query in found.of(lamp())} == {None}


def test_a_query_of_one_word_is_too_vague_to_lead_anywhere(tmp_path):
    assert written(tmp_path, ["lamp", "best lamps"]).of(lamp()) == []


def test_small_words_do_not_keep_a_query_from_its_product(tmp_path):
    assert written(tmp_path, ["the best oak lamp for a table"]).of(lamp())[0]["text"] == "the best oak lamp for a table"


def test_a_product_without_a_brand_has_queries_too(tmp_path):
    assert written(tmp_path, ["oak lamp"]).of(lamp(brand=None)) == [{"text": "oak lamp", "grade": None}]


def test_a_product_gets_a_handful_of_queries_at_most(tmp_path):
    texts = [f"oak lamp {extra}" for extra in ("", "table", "12", "in", "norrvik", "12 table", "norrvik table")]
    assert 0 < len(written(tmp_path, texts).of(lamp())) <= 5


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", "query,product_id,esci_label\noak lamp,B1,E\n"),
        ("q.tsv", "product_id\tquery\tesci_label\nB1\toak lamp\tE\n"),
        ("q.csv", 'query,product_id,esci_label\n"oak\n  lamp",B1,Exact\n'),
        ("q.json", '{"judgmentRatings":[{"query":" oak  lamp","ratings":[{"docId":"B1","rating":"100"}]}]}'),
    ],
)
def test_every_form_is_read_and_tidied(tmp_path, name, content):
    assert written(tmp_path, content, name).of(lamp()) == [{"text": "oak lamp", "grade": "E"}]


@pytest.mark.parametrize("content", [["oak lamp"], [{"query": "oak lamp"}], {"some instruction": ["oak lamp"]}])
def test_lists_of_queries_are_read(tmp_path, content):
    assert written(tmp_path, content).of(lamp()) == [{"text": "oak lamp", "grade": None}]


def test_the_same_query_is_given_once(tmp_path):
    assert len(written(tmp_path, ["oak lamp", "oak  lamp", "oak lamp"]).of(lamp())) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.json", "{broken"),
        ("q.json", "[]"),
        ("q.json", "{}"),
        ("q.json", "3"),
        ("q.json", '[{"text": "oak lamp"}]'),
        ("q.json", "[3]"),
        ("q.json", '{"judgmentRatings": [{"query": "x"}]}'),
        ("q.json", '{"a": 3}'),
        ("q.csv", "text\noak lamp\n"),
        ("q.csv", ""),
        ("q.csv", "query\n"),
    ],
)
def test_a_file_without_queries_is_a_clear_problem(tmp_path, name, content):
    with pytest.raises(Problem, match="quer"):
        written(tmp_path, content, name)


def test_empty_queries_are_left_out(tmp_path):
    found = written(tmp_path, "query,product_id,esci_label\n  ,B1,E\noak lamp,B1,E\n", "q.csv")
    assert found.of(lamp()) == [{"text": "oak lamp", "grade": "E"}]


def test_bytes_that_are_no_text_are_a_clear_problem(tmp_path):
    (tmp_path / "q.csv").write_bytes(b"query\n\xff\xfe\x00\n")
    with pytest.raises(Problem, match="cannot be read as queries"):
        read_queries(tmp_path / "q.csv")


def test_a_file_that_is_not_there_is_a_clear_problem(tmp_path):
    with pytest.raises(Problem, match="no file of queries"):
        read_queries(tmp_path / "q.csv")
    with pytest.raises(Problem, match="no file of queries"):
        read_queries(tmp_path)


@pytest.mark.parametrize(
    ("grade", "forms"),
    [
        ("E", ["100", 100, "100.000", "Exact", "e"]),
        ("S", ["10", 10, "10.0", "Substitute"]),
        ("C", ["1.0", 1, "complement"]),
        ("I", ["0", "0.000", "irrelevant", 0]),
        (None, ["", "99", None, "ES"]),
    ],
)
def test_grades_are_understood_however_they_are_written(grade, forms):
    assert [grade_of(form) for form in forms] == [grade] * len(forms)


def test_the_real_judgements_are_read():
    path = DATA / "esci_us_judgments.json"
    if not path.exists():
        pytest.skip("the real judgements are not there")
    found = read_queries(path)
    grades = [grade for queries in found.judged.values() for _, grade in queries]
    assert len(grades) == 6_678
    assert set(grades) <= set("ESCI")
