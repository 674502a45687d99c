"""The scripted teacher is right, says nothing before it knows it, and knows it only from what its code printed."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random

import pyarrow as pa
import pytest

from shopwright.pipeline.phrases.bank import load_grammar_bank
from shopwright.pipeline.phrases.grammar import USES
from shopwright.pipeline.questions.answers import answer_tree, type_of
from shopwright.pipeline.questions.draw_values import Draw, NothingToAsk
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.rating import gives_away
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.tree import Nth, Pick, Top, list_tree_picks, tree_from_json, tree_to_json
from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.rewards.matching import extract_boxed_answer, is_right_answer
from shopwright.pipeline.rollouts.considerations import list_considerations, name_goal
from shopwright.pipeline.rollouts.expert import ExpertWork, play_expert
from shopwright.pipeline.rollouts.expert_output import UnreadableOutput, read_printed_answer
from shopwright.pipeline.rollouts.thoughts import FAMILY, Speaker, remark
from shopwright.pipeline.sandbox.data_loader import query_trajectory_events
from shopwright.schemas.questions import Question
from tests.rollouts.sandboxed import Blocks, Output, code_of, play_rollout
from tests.rollouts.trees import table, trees

COMPUTED = re.compile(r"head\(|dtypes|columns|value_counts|LIMIT 5|LIMIT 8|LIMIT 10")


def question(tree, **facts):
    """A question that tells nothing but its tree; else of nonsense."""
    told = {
        "id": "question-1", "trajectory_id": "persona-1-32k", "budget": "32k", "question": "What?", "sql": sql_of(tree) if tree else "",
        "dialect": "duckdb", "answer": "", "answer_type": "none", "result": "null", "kind": "search", "shape": "written",
        "answerable_from": ["table"], "effort": {"rows": 0, "near": 0, "steps": 0, "shortcuts": []}, "idle_conditions": [], "difficulty": "easy", "evidence": [], "position": None, "split": "sft", "tree": tree_to_json(tree) if tree else "", "second_sql": "", "asked_on": date(2024, 6, 1), "phrases": [],
    }  # fmt: skip
    return Question.model_validate(told | facts)


@dataclass(frozen=True)
class Posed:
    """A question with its sandbox."""

    question: Question
    blocks: Blocks

    def played(self, dice=0, **settings):
        return play_rollout(play_expert(self.question, Random(f"{dice} {self.question.id}"), **settings), self.blocks)


@pytest.fixture(scope="module")
def posed(small):
    """The small run's questions."""
    folder = small.folder / "trajectories"
    blocks = {
        id: Blocks(query_trajectory_events(folder, id))
        for id in sorted({each.trajectory_id for each in small.read("questions")})
    }
    return [Posed(each, blocks[each.trajectory_id]) for each in small.read("questions")]


@pytest.fixture(scope="module")
def rollouts(posed):
    """Each question with three rollouts."""
    return [(each.question, *each.played(dice)) for each in posed for dice in range(3)]


@pytest.fixture(scope="module")
def slips(posed):
    return [(each.question, *each.played(each.question.id, mistake=True)) for each in posed]


def of_every_shape(small, dice):
    """A tree of each shape with the answer to it, and the events."""
    drawn = [(Draw(Log(map(dict, table.to_pylist())), Random(0)), table) for table in tables(small)]
    for shape in SHAPES.values():
        random = Random(f"{dice} {shape.name}")
        for turn in range(2_000):
            draw, table = drawn[turn % len(drawn)]
            try:
                tree = shape.draw(draw.again(random))
                true = answer_tree(tree, draw.log).value
            except (NothingToAsk, ValueError):
                continue
            if true is not None:
                yield shape.name, tree, format_canonical(true), table
                break


def tables(small):
    """Some trajectories, each lived three times, so that there is something for every shape."""
    for id in sorted(each.id for each in small.read("trajectories"))[:8]:
        once = query_trajectory_events(small.folder / "trajectories", id)
        yield pa.Table.from_pylist(list(again(once.to_pylist(), 3)), schema=once.schema)


def again(rows, times):
    for turn in range(times):
        later = {"row_id": turn * len(rows), "timestamp": timedelta(days=20 * turn)}
        for row in rows:
            yield row | {name: row[name] + more for name, more in later.items()}


@pytest.mark.slow
def test_every_shape_is_answered_right_in_pandas_and_in_sql(small):
    asked = {}
    for name, tree, true, events in of_every_shape(small, 1):
        blocks, ways = Blocks(events), Counter()
        for dice in range(20):
            if len(ways) < 2:
                messages, _ = play_rollout(play_expert(question(tree), Random(dice)), blocks)
                ways["sql" if "conn.execute" in messages[-2] else "pandas"] += 1
                assert is_right_answer(extract_boxed_answer(messages[-1]), true, type_of(tree), strict=True), (
                    name,
                    messages,
                )
        asked[name] = len(ways)
    assert asked == dict.fromkeys(SHAPES, 2)


def test_every_question_is_answered_right(rollouts):
    assert {extract_boxed_answer(messages[-1]) == question.answer for question, messages, _ in rollouts} == {True}


def test_without_a_mistake_no_block_fails(rollouts):
    assert all(each.ok for _, _, heard in rollouts for each in heard)


def test_every_block_loads_the_trajectory_again(rollouts):
    for question, messages, _ in rollouts:
        for message in messages[:-1]:
            assert message.count(f'load_trajectory("{question.trajectory_id}")') == 1
            assert "from data_loader import load_trajectory\n" in message


def test_a_rollout_has_one_to_eight_blocks_and_each_turn_says_something(rollouts, slips):
    for _, messages, heard in [*rollouts, *slips]:
        assert 1 <= len(heard) <= 8
        assert all(re.fullmatch(r"\S.*\n<code>\n.*\n</code>", each, re.DOTALL) for each in messages[:-1])
        assert re.fullmatch(r"\S.* \\boxed\{.+\}", messages[-1], re.DOTALL)


def test_the_shares_are_as_they_are_said(rollouts):
    looks = sum(bool(COMPUTED.search(messages[0])) and len(heard) > 1 for _, messages, heard in rollouts)
    both = sum(len({"conn.execute" in each for each in messages[:-1]}) > 1 for _, messages, _ in rollouts)
    sql = sum("conn.execute" in messages[-2] for _, messages, _ in rollouts)
    assert 0.25 < looks / len(rollouts) < 0.45
    assert 0.08 < both / len(rollouts) < 0.45
    assert 0.4 < sql / len(rollouts) < 0.6


def test_nothing_of_the_answer_is_looked_at(posed):
    for each in posed[:20]:
        hidden = {
            "answer": "?",
            "answer_type": "text",
            "result": '"?"',
            "evidence": [7],
            "position": "late",
            "kind": "brand",
        }
        other = each.question.model_copy(update=hidden)
        assert each.played()[0] == play_rollout(play_expert(other, Random(f"0 {other.id}")), each.blocks)[0]


def test_the_first_turn_gives_nothing_away(rollouts):
    for question, messages, _ in rollouts:
        assert not gives_away(messages[0].partition("<code>")[0], question.answer), messages[0]


def test_a_mistake_is_one_block_that_fails_and_the_answer_is_right_all_the_same(slips):
    for question, messages, heard in slips:
        assert [each.ok for each in heard].count(False) == 1
        assert heard[-1].ok
        assert extract_boxed_answer(messages[-1]) == question.answer


def test_mistakes_are_of_three_kinds_and_the_next_turn_names_them(slips):
    kinds = Counter()
    for _, messages, heard in slips:
        place = next(place for place, each in enumerate(heard) if not each.ok)
        error, after = heard[place].text, messages[place + 1].partition("<code>")[0]
        if "load_trajectory(" not in messages[place]:
            kinds["state"] += 1
            name = re.search(r"name '(\w+)' is not defined", error)[1]
            assert re.search(rf"`{name}`|block", after)
            assert "NameError" in after
        elif re.search("AttributeError|TypeError", error):
            kinds["type"] += 1
            assert re.search("AttributeError|TypeError", after)
        else:
            kinds["column"] += 1
            wrong = re.findall(r"`(\w+)`", after)
            assert any(name in error for name in wrong), (error, after)
            assert re.search(r"\w+(Error|Exception)", after)[0] in error
    assert min(kinds[kind] for kind in ("state", "type", "column")) >= len(slips) / 6


def test_the_same_dice_give_the_same_rollout_in_any_process(posed):
    code = (
        "from random import Random\nfrom tests.rollouts.test_teacher import *\n"
        "for place, tree in enumerate(trees(Random(8))):\n"
        "    work = play_expert(question(tree), Random(place), mistake=place % 2 == 0)\n"
        "    print(next(work), work.send(Output('nothing', False)))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]
    assert said[0].stdout == said[1].stdout
    assert said[0].stdout.count("<code>") > 60


def test_the_bank_has_frames_for_each_situation_in_training_and_in_the_test():
    bank = load_grammar_bank(FAMILY)
    vocabulary = re.compile(r"(rows|row|things|thing|condition) ")
    situations = {name: each for name, each in bank.templates.items() if not vocabulary.match(name)}
    assert sum(len(each) for each in situations.values()) >= 1_500
    for name, templates in situations.items():
        frames = {use: {frame for each in templates if each.use == use for frame in each.frames()} for use in USES}
        assert all(frames.values()), name
        assert not frames["train"] & (frames["test"] | frames["test_wording"]), name


def test_frames_of_test_questions_are_in_no_training_episode(posed):
    used = {split: Counter() for split in ("sft", "test")}
    vocabulary = re.compile(r"(rows|row|things|thing|condition) ")
    for each in posed[:60]:
        for split, found in used.items():
            asked = each.question.model_copy(update={"split": split})
            work = ExpertWork(asked, Random(each.question.id))
            remarks = [work.mind(), [remark("open look"), remark("say number", goal=work.goal, said="3")]]
            for one in [said for part in remarks for said in part]:
                work.speaker.say(one)
            found.update(id for id in work.speaker.used if not vocabulary.match(id))
    assert len(used["sft"]) > 60
    assert len(used["test"]) > 30
    assert not used["sft"].keys() & used["test"].keys()


def test_no_phrasing_comes_twice_in_an_episode(rollouts):
    for _, messages, _ in rollouts:
        said = [each.partition("<code>")[0].partition("\\boxed")[0].strip() for each in messages]
        sentences = [one for each in said for one in re.split(r"(?<=[.?!;])\s+", each) if len(one.split()) > 3]
        assert len(set(sentences)) == len(sentences), said


def test_registers_differ_from_episode_to_episode(posed):
    registers = Counter(
        ExpertWork(each.question, Random(f"{dice}")).speaker.register for dice, each in enumerate(posed)
    )
    assert set(registers) == {"plain", "terse", "chatty"}


def test_a_part_of_the_rollouts_begins_too_narrow_or_too_broad_and_mends_it(posed):
    """The odd output is spoken of in the turn after it, and the answer is right all the same."""
    odd = re.compile(
        r"cut|midnight|nothing|narrow|broad|zero|no rows|not one|no title|only|missing|none|capitals|case|0 of|inside"
        r"|no match|other spelling|in no search"
    )
    first = re.compile(r"^\(len\((part|those|product|exact)\), ", re.MULTILINE)
    begun = noticed = 0
    for each in posed:
        for dice in range(3):
            messages, heard = each.played(f"slip {dice}")
            empty = re.compile(r"\((0|np\.int64\(0\)), .*\)\s*")
            tried = (n for n, out in enumerate(heard) if first.search(messages[n]) and empty.fullmatch(out.text))
            place = next(tried, None)
            if place is None:
                continue
            begun += 1
            noticed += bool(odd.search(messages[place + 1].partition("<code>")[0].lower()))
            assert extract_boxed_answer(messages[-1]) == each.question.answer
    assert begun >= len(posed) / 20
    assert noticed >= 0.9 * begun


def test_a_name_that_the_question_does_not_say_is_looked_up_before_it_is_used(posed):
    found = 0
    for each in posed:
        tree = tree_from_json(each.question.tree)
        names = [pick.category for pick in list_tree_picks(tree) if pick.category]
        if not names:
            continue
        asked = each.question.model_copy(update={"question": "What about those things that I mean?"})
        for dice in range(3):
            messages, heard = play_rollout(play_expert(asked, Random(dice)), each.blocks)
            first = next(place for place, text in enumerate(messages) if names[0] in text)
            assert any(names[0] in output.text for output in heard[:first]), messages
            found += 1
    assert found


def test_openings_differ_from_rollout_to_rollout(rollouts):
    openings = Counter(messages[0][:12] for _, messages, _ in rollouts)
    assert len(openings) >= 15
    assert openings.most_common(1)[0][1] < len(rollouts) / 5


def test_thoughts_read_as_prose_for_any_tree():
    for seed in range(6):
        for place, tree in enumerate(trees(Random(f"prose {seed}"))):
            tree = tree_from_json(tree_to_json(tree))
            speaker = Speaker("sft", Random(f"{seed} {place}"))
            for one in [*list_considerations(tree, speaker, first=False), remark("open sql", goal=name_goal(tree))]:
                said = speaker.say(one)
                bare = said.replace("Lamps {new}", "Lamps").replace('Say "Hi"', "Say")
                assert not re.search(r"None|[{}\[\]]|  | [,.;]|\bthe the\b|[\ue000-\uf8ff]", bare), said


def test_when_a_block_fails_unexpectedly_the_other_way_is_tried():
    for dice in range(6):
        tree = next(trees(Random(dice)))
        work = play_expert(question(tree), Random(dice))
        messages = [next(work)]
        while "\\boxed{" not in messages[-1]:
            messages.append(work.send(Output("3", False)))
        assert extract_boxed_answer(messages[-1]) == "unknown"
        assert {"conn.execute" in code_of(each) for each in messages[-3:-1]} == {True, False}


def test_what_cannot_be_read_is_no_answer():
    for dice in range(6):
        work = play_expert(question(next(trees(Random(dice)))), Random(dice))
        message = next(work)
        while "\\boxed{" not in message:
            message = work.send(Output("some text (cut)", True))
        assert extract_boxed_answer(message) == "unknown"


def test_where_two_ways_differ_the_second_holds():
    differed = 0
    for dice in range(200):
        work = play_expert(question(next(trees(Random(0)))), Random(dice))
        message, heard = next(work), []
        while "\\boxed{" not in message:
            computed = not COMPUTED.search(message)
            heard += [str(len(heard) + 1)] if computed else []
            form = "({},)" if "fetchone()" in message and "[0]" not in message else "{}"
            form = "  n\n0  {}" if ".df()" in message else form
            message = work.send(Output(form.format(len(heard)), True))
        assert extract_boxed_answer(message) == str(len(heard))
        differed += len(heard) == 2
    assert 8 <= differed <= 40


@pytest.mark.parametrize(
    ("sql", "output", "said"),
    [
        ("SELECT COUNT(*) FROM events", "[(3,)]", "3"),
        ("SELECT SUM(price) FROM events", "[(Decimal('3.5'),)]", "3.50"),
        ("SELECT ROUND(100.0 * COUNT(price) / 7, 1) FROM events", "[(66.7,)]", "66.7"),
        ("SELECT brand FROM events LIMIT 1", '[("O\'Neill",)]', "O'Neill"),
        ("SELECT DISTINCT brand FROM events", "[('b',), ('a',)]", "a; b"),
        ("SELECT brand FROM events ORDER BY timestamp", "[('b',), ('a',)]", "b; a"),
        ("SELECT brand FROM events WHERE FALSE", "[]", "none"),
        ("SELECT MAX(price) FROM events WHERE FALSE", "[(None,)]", "none"),
        ("SELECT 1 = 1, 1 = 2", "[(True, False)]", "yes; no"),
        ("SELECT MIN(timestamp) FROM events", "[(datetime.datetime(2024, 5, 1, 9, 0),)]", "2024-05-01 09:00:00"),
        ("SELECT CAST(MIN(timestamp) AS DATE) FROM events", "[(datetime.date(2024, 5, 1),)]", "2024-05-01"),
        ("SELECT DATE_DIFF('second', MIN(timestamp), MAX(timestamp)) FROM events", "[(3605,)]", "1:00:05"),
    ],
)
def test_of_a_written_question_the_query_is_run(sql, output, said):
    for mistake in (False, True):
        work = play_expert(question(None, sql=sql), Random(1), mistake=mistake)
        message = next(work)
        while "\\boxed{" not in message:
            fails = "load_trajectory(" not in message
            shown = output if sql in message.replace('\\"', '"') else "       n\n0  1"
            message = work.send(Output("name 'conn' is not defined" if fails else shown, not fails))
        assert extract_boxed_answer(message) == said


def test_a_written_question_says_whether_it_wants_a_span_of_time():
    work = play_expert(question(None, sql="SELECT x FROM events", question="How long? Answer as h:mm:ss."), Random(3))
    message = next(work)
    while "\\boxed{" not in message:
        message = work.send(Output("[(65,)]", True))
    assert extract_boxed_answer(message) == "0:01:05"


@pytest.mark.parametrize(
    ("text", "form", "kind", "value"),
    [
        ("3\n", "plain", "integer", "3"),
        ("3.0", "plain", "integer", "3"),
        ("np.int64(3)", "literal", "integer", "3"),
        ("25.1", "plain", "money", "25.10"),
        ("(Decimal('2.5'),)", "literal", "money", "2.50"),
        ("33.0", "plain", "decimal", "33.0"),
        ("0 days 00:05:09", "plain", "duration", "0:05:09"),
        ("2 days 00:05:09", "plain", "duration", "48:05:09"),
        ("-1 days +23:59:50", "plain", "duration", "-0:00:10"),
        ("309.0", "plain", "duration", "0:05:09"),
        ("[Timestamp('2024-05-01 09:00:00')]", "literal", "date-time", "2024-05-01 09:00:00"),
        ("[datetime.date(2024, 5, 1)]", "literal", "date", "2024-05-01"),
        ("7    A  b, c\nName: product_name, dtype: str", "series", "text", "A  b, c"),
        ("Series([], Name: product_name, dtype: str)", "series", "text", "none"),
        ("   brand\n0      b\n1  a b c", "table", "set", "a b c; b"),
        ("Empty DataFrame\nColumns: [brand]\nIndex: []", "table", "set", "none"),
        ("x\n['b', 'a']", "literal", "ordered list", "b; a"),
        ("[True, False]", "literal", "yes/no", "yes; no"),
        ("(True, False)", "literal", "yes/no", "yes; no"),
        ("[nan]", "literal", "text", "none"),
        ("[<NA>]", "literal", "money", "none"),
        ("NaT", "plain", "duration", "none"),
        ("None", "plain", "text", "none"),
    ],
)  # fmt: skip
def test_what_is_printed_is_read_by_its_form_and_type(text, form, kind, value):
    assert format_canonical(read_printed_answer(text, form, kind, 1)) == value


@pytest.mark.parametrize(
    ("text", "form", "kind"),
    [
        ("", "literal", "set"),
        ("several words", "plain", "integer"),
        ("inf", "plain", "money"),
        ("3.5", "plain", "integer"),
        ("[1, 2]", "literal", "integer"),
        ("open('x')", "literal", "text"),
        ("__import__('os')", "literal", "set"),
        ("n\n...", "table", "set"),
        ("", "series", "text"),
        ("(" * 5_000, "literal", "set"),
    ],
)
def test_what_is_no_answer_is_not_read_as_one(text, form, kind):
    with pytest.raises(UnreadableOutput):
        read_printed_answer(text, form, kind)


def test_a_name_with_half_a_brace_or_dollars_is_the_same_in_its_box():
    for name in ("mug {red", "mug } $5", "$5 mug$", "a {b} c"):
        work = play_expert(question(None, sql="SELECT brand FROM events"), Random(1))
        message = next(work)
        while "\\boxed{" not in message:
            message = work.send(Output(str([(name,)]), True))
        assert extract_boxed_answer(message) == name


def test_a_wrong_column_fails_where_there_is_nothing_to_show_too():
    events = table(Random(3), 20)
    nobody = Nth(of=Pick(action="click", brand="Nobody"), n=1, what="color")
    for dice in range(80):
        _, heard = play_rollout(play_expert(question(nobody), Random(dice), mistake=True), Blocks(events))
        assert [each.ok for each in heard].count(False) == 1


def test_no_day_is_said_where_a_day_is_asked():
    may = Pick(action="click", first_day=date(2024, 5, 1), last_day=date(2024, 5, 9))
    for dice in range(60):
        assert "2024" not in next(play_expert(question(Top(of=may, by="day")), Random(dice))).partition("<code>")[0]


def test_a_name_with_braces_is_the_same_in_its_box():
    events = table(Random(3), 60)
    log, blocks = Log(events.to_pylist()), Blocks(events)
    seen = 0
    for seed in range(40):
        for tree in trees(Random(f"braces {seed}")):
            if tree.node in ("names", "top") and "product_types" in tree_to_json(tree):
                true = format_canonical(answer_tree(tree, log).value)
                messages, _ = play_rollout(play_expert(question(tree), Random(seed)), blocks)
                assert extract_boxed_answer(messages[-1]) == true
                seen += "{" in true
    assert seen
