from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.questions.rating import DistinctBags, are_near_duplicate_questions

WORDS = [f"{'a' * (number % 5)}{number}" for number in range(40)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(8, 34)), max_size=30))
def test_a_bag_is_added_where_comparing_it_with_each_finds_no_near_duplicate(cuts):
    kept, found = [], DistinctBags()
    for first, missing, last in cuts:
        bag = frozenset(word for place, word in enumerate(WORDS[first:last]) if not missing or place % 17 != missing)
        differs = not any(are_near_duplicate_questions(bag, other) for other in kept)
        assert found.add(bag) == differs
        if differs:
            kept.append(bag)


def test_one_more_word_of_twelve_is_a_near_duplicate_and_of_nine_is_not():
    found = DistinctBags()
    assert found.add(frozenset(WORDS[:12]))
    assert not found.add(frozenset(WORDS[:13]))
    assert found.add(frozenset(WORDS[20:29]))
    assert found.add(frozenset(WORDS[20:30]))
    assert not found.add(frozenset(WORDS[20:30]))
