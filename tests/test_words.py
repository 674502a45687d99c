import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.words import hashed_words, split_words

TEXT = (
    st.text()
    | st.from_regex(r"[A-Za-z ,0-9'-]{0,40}")
    | st.text(st.characters(min_codepoint=0x80, max_codepoint=0x2100))
)


@given(st.lists(TEXT, max_size=8))
def test_the_column_form_finds_the_words_of_the_plain_one(texts):
    text_of, hashes = hashed_words(pa.array(texts, pa.string()))
    plain = [(number, word) for number, text in enumerate(texts) for word in split_words(text)]
    assert text_of.tolist() == [number for number, _ in plain]
    pairs = set(zip(hashes.tolist(), [word for _, word in plain], strict=True))
    assert len(pairs) == len(set(hashes.tolist())) == len({word for _, word in plain})
