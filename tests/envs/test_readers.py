"""Cheap players do the same in every process."""

from shopwright.pipeline.envs.readers import Candidate, find_seller


def shelve(sellers):
    return [Candidate((seller,), "", {"seller": seller}, place) for place, seller in enumerate(sellers)]


def test_of_sellers_that_have_as_much_the_one_shown_first_is_chosen():
    names = [f"seller {number}" for number in range(40)]
    assert find_seller([shelve(names), shelve(reversed(names))]) == names[0]
    assert find_seller([shelve(names), shelve(names[7:8])]) == names[7]
    assert find_seller([]) is None
