"""What a learner of queries is shown of a question, and what it can copy into a query."""

from collections import Counter
from types import SimpleNamespace

import pytest

from benchmarks import marks
from benchmarks.marks import Values


def encode(row, values):
    marked = marks.mark_question(row, values)
    shown = marks.encode_question(marked, frozenset(word.lower() for word in marked.words))
    return shown, marks.encode_query(row.sql, shown.marks)


def squeeze(text):
    return text.replace(" ", "").lower()


def test_a_query_is_whole_when_its_marks_are_put_back(small):
    values, copied = marks.list_values(small), Counter()
    for row in small.read("questions"):
        shown, query = encode(row, values)
        plain = marks.decode_query(marks.encode_query(row.sql, {}), {})
        assert squeeze(marks.decode_query(query, shown.marks)) == squeeze(plain)
        copied.update(token[0] for token in query if marks.MARK.fullmatch(token))
    assert {"b", "c", "d", "n", "p", "q"} <= set(copied)


def test_what_is_quoted_is_one_thing_and_numbers_keep_their_order():
    sql = "SELECT 1 WHERE search_query ILIKE '%oak desk%' AND price BETWEEN 20 AND 35 LIMIT 1 OFFSET 2"
    text, quoted = Values({"c": ["Nightstands"]}).mark('Search "oak desk" for $20 to $35, my third?')
    text, numbers = marks.mark_numbers(text)
    query = marks.encode_query(sql, quoted | numbers)
    assert [token for token in query if marks.MARK.fullmatch(token)] == ["q0", "n0", "n1", "n2:less"]


def ask(count, text, category):
    return [SimpleNamespace(question=text, sql=f"product_types = '{category}'")] * count


@pytest.mark.parametrize(("others", "known"), [(0, True), (1, False)])
def test_another_name_of_a_category_is_learnt_where_nearly_no_question_means_anything_else(others, known):
    rows = [
        *ask(4, "Bedside table clicks?", "Nightstands"),
        *ask(400, "How many clicks on desk lamps?", "Desk Lamps"),
        *ask(others, "Bedside table clicks?", "Desk Lamps"),
    ]
    values = Values({"c": ["Nightstands", "Desk Lamps"]}).learn_names(rows)
    assert ("bedside table" in values.known) == known
    assert not any("clicks" in name for name in values.known)


def test_a_part_of_a_product_name_is_copied_whole_and_small_words_are_none():
    values = Values({}, {"one": "steam iron, 9 ft cord, for the home"})
    assert values.mark_parts("Of the iron (9 ft cord) for the", "one")[1] == {"p0": "9 ft cord"}
    assert values.mark_parts("the iron (9 ft cord)", "another")[1] == {}
