import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shopwright.pipeline.render.trajectory import parse_trajectory, render_trajectory
from tests.fuzz.hostile import HALF, some, texts, tried

BEGINNING = "2024-05-01 19:30:25 "
pieces = texts(
    BEGINNING,
    "click [B01 || ",
    "purchase [",
    "search [Search Amazon || ",
    "12.50)",
    "0.00)",
    "\\ ",
    "]\\ (brand: ",
    "\n",
)
end = st.builds("] (brand: {}, color: {}, price: 12.50)".format, pieces, pieces)
line = st.tuples(
    st.sampled_from([BEGINNING] * 5 + ["2024-02-30 19:30:25 ", "2024-05-01 25:00:00 ", ""]),
    st.sampled_from(["click [B01 || ", "add to Cart [B01 || ", "search [Search Amazon || ", ""]),
    pieces,
    end | st.sampled_from(["] (brand: , color: , price: 1.00)", "]", ""]),
).map("".join)
GOOD = "2024-05-01 19:30:25 click [A || Lamp] (brand: , color: , price: 1.00)"


@some
@given(st.lists(line, max_size=3).map("\n".join) | pieces)
@example(GOOD + "\n")
@example(f"{GOOD}\n0000-01-01 00:00:00 search [Search Amazon || x]")
def test_any_text_gives_events_or_names_the_line_that_is_none(text):
    _, fault = tried(ValueError, parse_trajectory, text)
    if fault:
        number = int(re.match(r"line (\d+) ", str(fault))[1])
        assert parse_trajectory("\n".join(text.split("\n")[:number])) is not None, "the lines before it can be read"
        with pytest.raises(ValueError, match="line 1 "):
            parse_trajectory("\n".join([GOOD, text.split("\n")[number]]))


@some
@given(st.lists(line.map(lambda each: each.replace("\n", "")), max_size=3).map("\n".join))
@example(f"{BEGINNING}click [A || a\rb] (brand: ]\\ (brand: , color: ,\\ price: ,\\ color: , price: 1.00)")
def test_events_that_were_read_are_written_so_that_they_read_the_same(text):
    events, _ = tried(ValueError, parse_trajectory, text.replace(HALF, ""))
    if events:
        written = render_trajectory(events)
        assert parse_trajectory(written) == events
        assert written.count("\n") == len(events) - 1
        assert "\r" not in written


@some
@given(st.lists(line.filter(lambda each: "\n" not in each), min_size=1, max_size=4))
def test_each_line_is_read_as_if_it_stood_alone(lines):
    each = [tried(ValueError, parse_trajectory, line)[0] for line in lines]
    if all(each):
        assert parse_trajectory("\n".join(lines)) == [event | {"row_id": row} for row, (event,) in enumerate(each)]
