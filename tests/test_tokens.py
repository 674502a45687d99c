import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from shopwright.pipeline.tokens import estimate, estimates


@given(st.lists(st.text() | st.from_regex(r"[A-Za-z ,0-9\n]{0,40}"), max_size=8))
def test_the_column_form_counts_as_the_plain_one(texts):
    assert estimates(pa.array(texts, pa.string())).tolist() == [estimate(text) for text in texts]


def test_a_slice_counts_only_its_own_texts():
    texts = pa.array(["alpha ", "beta gamma ", "12", None, "sphinxes"])
    assert estimates(texts[1:]).tolist() == [2, 2, 0, 2]
