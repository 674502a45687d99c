"""A thought that says more than was asked, printed or done is found, whatever it is about."""

import re
from collections import Counter
from datetime import date, timedelta

import pytest

from shopwright.pipeline.checks.rollouts import extract_literals, list_compared_texts
from shopwright.pipeline.checks.thoughts import (
    NUMBER,
    Known,
    find_false_counts,
    find_repeated_sentence,
    find_thought_fault,
    find_unknown_numbers,
    split_thoughts,
)
from shopwright.pipeline.sandbox.data_loader import query_trajectory_events
from shopwright.schemas.rollouts import Message, Rollout


@pytest.fixture(scope="module")
def visible_rollouts(small):
    """Each rollout with its question and its events."""
    questions = {each.id: each for each in small.read("questions")}
    folder, events = small.folder / "trajectories", {}
    rows = list(small.read("rollouts"))
    for row in rows:
        if row.trajectory_id not in events:
            events[row.trajectory_id] = query_trajectory_events(folder, row.trajectory_id)
    return [(row, questions[row.question_id], events[row.trajectory_id]) for row in rows]


def saying(row: Rollout, place: int, change):
    """The row with its thought at this turn changed."""
    messages, at = list(row.messages), 2 + 2 * place
    thought = split_thoughts(row)[place]
    content = messages[at].content.replace(thought, change(thought), 1)
    messages[at] = Message(role="assistant", content=content)
    return row.model_copy(update={"messages": messages})


def faults(visible_rollouts, change, *, wanted=lambda thought: True, last=False):
    """Of the rollouts in which a thought can be changed so: how many there are, and in how many it is found."""
    tried = found = 0
    for row, question, events in visible_rollouts:
        thoughts = split_thoughts(row)
        for place in range(len(thoughts) - 1 if last else 0, len(thoughts)):
            if wanted(thoughts[place]) and change(thoughts[place]) != thoughts[place]:
                tried += 1
                found += find_thought_fault(saying(row, place, change), question, events) is not None
                break
    return tried, found


def test_what_the_teacher_says_is_borne_out(visible_rollouts):
    for row, question, events in visible_rollouts:
        assert find_thought_fault(row, question, events) is None, row.text


def later(found):
    return str(date.fromisoformat(found[0]) + timedelta(days=400))


@pytest.mark.parametrize(
    "change",
    [
        lambda thought: NUMBER.sub(lambda found: f"{int(float(found[0].replace(',', ''))) + 7_919}", thought, count=1),
        lambda thought: re.sub(r"\d{4}-\d\d-\d\d", later, thought, count=1),
        lambda thought: re.sub(r"`(\w+)`", r"`\1_of_it`", thought, count=1),
        lambda thought: re.sub(r'"([^"]+)"', r'"\1 of Zanzibar"', thought, count=1),
        lambda thought: f"{thought} Then it must be Zanzibarian.",
        lambda thought: f"{thought} That is 86,117 rows.",
        lambda thought: f"{thought} There are eleven of these.",
        lambda thought: f"{thought} That was a SyntaxError.",
        lambda thought: f"{thought} It was at 2019-01-01 10:00:00.",
    ],
)
def test_a_fact_from_nowhere_is_found(visible_rollouts, change):
    tried, found = faults(visible_rollouts, change)
    assert tried
    assert found >= 0.9 * tried


def test_a_claim_that_the_outputs_do_not_bear_out_is_found(visible_rollouts):
    whole = [each for each in visible_rollouts if len(each[0].calls) == 1]
    tried, found = faults(whole, lambda thought: f"{thought} Both ways agree.", last=True)
    assert tried == found > 0
    full = [
        each
        for each in visible_rollouts
        if not re.search(r"\b0\b|\[\]|NaT|None|nan|Empty", each[0].calls[-1].output + each[0].calls[-2:][0].output)
    ]
    tried, found = faults(full, lambda thought: f"{thought} Nothing at all.", last=True)
    assert tried == found > 0
    tried, found = faults(
        visible_rollouts,
        lambda thought: f"{thought} The whole log has 3 purchases, 86117.".replace("3 purchases, ", "purchases: "),
    )
    assert tried == found > 0


@pytest.mark.parametrize(
    ("said", "unknown"),
    [
        ("There are eleven.", []),
        ("There are seven.", ["seven"]),
        ("Four, or 11 of 19.", ["19", "Four"]),
        ("Three.", []),
    ],
)
def test_a_number_in_digits_or_words_stands_in_what_was_printed(visible_rollouts, said, unknown):
    question = visible_rollouts[0][1].model_copy(
        update={"question": "How many are there?", "sql": "SELECT brand FROM events"}
    )
    printed = "11 rows, of them 3"
    assert list(find_unknown_numbers(said, Known(question, [printed]), printed)) == unknown


@pytest.mark.parametrize(
    ("said", "unknown"), [("Those are 17 days.", []), ("Those are 19 days.", ["19"]), ("Those are 17.", ["17"])]
)
def test_a_number_of_days_is_that_of_the_window(visible_rollouts, said, unknown):
    sql = "SELECT brand FROM events WHERE DATE(timestamp) BETWEEN '2024-05-04' AND '2024-05-20'"
    question = visible_rollouts[0][1].model_copy(update={"question": "Which are there?", "sql": sql})
    assert list(find_unknown_numbers(said, Known(question, [""]), "")) == unknown


@pytest.mark.parametrize(
    ("thought", "wrong"),
    [
        ("The whole log has 3 purchases.", False),
        ("The whole log has 4 purchases.", True),
        ("The whole log has 4 purchases of 9 rows.", False),  # one of the two may be meant
        ("The whole log has 4 purchases and clicks.", False),
        ("The whole log has purchases.", False),
        ("If the whole log has 4 purchases, it is over.", False),
        ("There are 4 purchases.", False),
    ],
)
def test_a_total_of_an_action_is_that_of_the_log(thought, wrong):
    found = list(find_false_counts(thought, Counter({"purchase": 3, "click": 9})))
    assert bool(found) == wrong


def test_a_thought_that_comes_twice_is_found(visible_rollouts):
    def once_more(thought):
        return f"{thought}. I look at this once more with care."

    several = [each for each in visible_rollouts if len(each[0].calls) > 1]
    for row, question, events in several[:20]:
        twice = saying(saying(row, 0, once_more), 1, once_more)
        assert "a thought twice" in (find_thought_fault(twice, question, events) or "")


def test_a_short_sentence_may_come_twice():
    assert find_repeated_sentence(["I look again. It is there.", "I look again. It is here."]) is None
    assert (
        find_repeated_sentence(["I look there again.", "No. I look there again."])
        == "a thought twice: I look there again."
    )


def test_what_a_block_compares_with_is_read_from_it():
    code = 'part = df[(df["brand"] == "Nike") & df["product_name"].str.contains("oak lamp")]\nconn.execute("SELECT 1 FROM events WHERE color = \'red\'")'
    assert {"Nike", "oak lamp", "red"} <= set(list_compared_texts(code))
    assert "red" not in set(list_compared_texts('print("red")'))
    assert list(extract_literals("brand == \"Nike\" and color == 'red'")) == ["Nike", "red"]
