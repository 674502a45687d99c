"""README and docs are read easily, and the measure names a text that is not."""

from docs.readability import EASE, WORDS, list_pages, measure_page

HARD = (
    "Notwithstanding considerable terminological heterogeneity, contemporary organizational implementations systematically necessitate "
    "comprehensive interoperability considerations regarding heterogeneous infrastructural configurations. "
)


def test_every_page_that_people_write_is_read_easily():
    missed = {path.name: found for path in list_pages() if not (found := measure_page(path.read_text())).is_easy}
    assert not missed


def test_a_page_of_long_words_or_of_long_sentences_is_named():
    assert measure_page(HARD * 6).ease < EASE
    assert not measure_page(HARD * 6).is_easy
    long = measure_page(("The cat and the dog " * 6 + "sat. ") * 6)
    assert long.words > WORDS
    assert not long.is_easy


def test_code_tables_and_headings_do_not_count():
    assert measure_page("# A Heading Here Now\n\n```sh\nmake it all now\n```\n\n| a b c | d e f |\n").sentences == 0
