"""Every promise about a question, broken once: the checks that should say so do, and no other has anything to say."""

import json
import re
from collections import Counter, defaultdict
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from random import Random
from typing import get_args

import pyarrow as pa
import pytest

from shopwright.pipeline.arrow import arrow_schema, to_batch
from shopwright.pipeline.checks import questions as check
from shopwright.pipeline.checks.question_words import answer_is_not_in_the_question, find_noun_fault, find_written_fault
from shopwright.pipeline.checks.questions import guard_table
from shopwright.pipeline.questions.answers import answer_tree, type_of
from shopwright.pipeline.questions.conditions import idle_conditions, idle_in_sql
from shopwright.pipeline.questions.effort import effort_of, grade_difficulty
from shopwright.pipeline.questions.engines import Engines, QueryFailed, Table, open_question_sqlite
from shopwright.pipeline.questions.evidence import evidence_of, find_touched_rows
from shopwright.pipeline.questions.log import Log
from shopwright.pipeline.questions.rating import assign_split, gives_away, locate_evidence
from shopwright.pipeline.questions.shapes import SHAPES
from shopwright.pipeline.questions.sources import sources_of, sources_of_query
from shopwright.pipeline.questions.sql import sql_of
from shopwright.pipeline.questions.sql_effort import effort_of_sql
from shopwright.pipeline.questions.tree import (
    Amid,
    Count,
    Difference,
    Fold,
    Listed,
    Mention,
    Moment,
    Names,
    Nth,
    Pick,
    Running,
    Sessions,
    Sets,
    Share,
    Top,
    Wait,
    Whether,
    tree_from_json,
    tree_to_json,
)
from shopwright.pipeline.questions.values import format_canonical
from shopwright.pipeline.questions.values import value_to_json as as_json
from shopwright.pipeline.render.trajectory import render_trajectory
from shopwright.pipeline.sandbox.sql import explain_refusal, parse_select
from shopwright.pipeline.sandbox.sql_templates import once_per_template
from shopwright.pipeline.stage import judge_batch, reasons_against
from shopwright.pipeline.stages import all_stages
from shopwright.schemas.questions import Question, Shortcut
from shopwright.schemas.samples import Event, Trajectory
from tests.questions.phrasings import needed_notes, phrasings
from tests.rows import list_faults, write_dataset

STAGE = all_stages()["questions"]
CLICK, CART, BUY, SEARCH = "click", "add to Cart", "purchase", "search"

DUCKDB = "DuckDB gives another answer"
SQLITE = "SQLite gives another answer"
PYTHON = "plain Python gives another answer"
ORDER = "DuckDB with rows in another order gives another answer"
UNRELATED = "another answer without unrelated rows"
EVERY_ENGINE = {DUCKDB, SQLITE, PYTHON, UNRELATED}
IDLE = "the same answer without its evidence"
EVIDENCE = "evidence is not what the answer rests on"
FOR_NOTHING = "evidence for what is not there"
UNJUDGED = {"evidence cannot be judged", "unrelated rows cannot be judged"}
SQL = "its SQL is not its tree's"
WORDING = "its wording is none of its shape's"
UNREAD = "its words are not understood"
MEANS = "its words mean another tree"
NO_TREE = "its tree cannot be read"
FORM = "its tree is not in normal form"
SPLIT = "asked in a split that is not its tree's"
KIND = "not the kind of its shape"
SHAPE = "no such shape"
TOLD = "the answer stands in the question"
DIFFER = "answer and result differ"
NOT_OF_TYPE = "its result is not of its type"
TYPE = "not the type of its tree's answer"
NONE = "none is the type of no answer but none"
CALENDAR = "a day that is not in the calendar"
DIFFICULTY = "not the difficulty of its effort"
EFFORT = "not the effort of its query"
TEXT, TABLE = "the text alone does not answer it", "the text alone answers it"
POSITION = "not where its evidence lies"
MANY = "words that mean more than one product"
NO_DAY = "names a day that is not in the trajectory"
STRANGER = "no such trajectory"
NO_NONE = "its answer is none, which it does not offer"
OTHERS_IDLE = "other conditions are idle than it says"
UNNAMED = "words that do not say what the product is"
CUT_SHORT = "words that stop before what the product is"
BUDGET = "not the budget of its trajectory"


# One customer's month, small enough to see through: 2024-05-01 is a Wednesday, 2024-05-05 a Sunday.

PRODUCTS = {
    "white lamp": ("B1", "Norrvik oak floor lamp, dimmable, white", "Norrvik", "white", "Floor Lamps", "40.00"),
    "black lamp": ("B2", "Norrvik oak floor lamp, dimmable, black", "Norrvik", "black", "Floor Lamps", "45.00"),
    "rug": ("B3", "Brindle wool rug, 160 cm, sand", "Brindle", "sand", "Rugs", "129.90"),
    "runner": ("B4", "Brindle hall runner, 60 cm", "Brindle", None, "Rugs", "80.00"),
    "desk lamp": ("B5", "Ostrana desk lamp with clamp, white", "Ostrana", "white", "Desk Lamps", "25.50"),
    "mug": ("B6", "Stoneware mug, blue", None, "blue", "Mugs", "12.00"),
    "shelf": ("B7", "Tarn oak shelf, 90 cm", "Tarn", None, "Shelves", "75.00"),
}
MONTH = """
01 09:00:00 search oak floor lamp
01 09:00:30 click white lamp
01 09:01:00 click black lamp
01 09:02:00 add to Cart white lamp
01 09:03:00 purchase white lamp
02 20:00:00 search area rug
02 20:00:40 click rug
02 20:01:10 search area rug
02 20:02:00 click runner
02 20:03:00 add to Cart runner
05 10:00:00 search desk lamp
05 10:00:20 click desk lamp
05 10:01:00 click white lamp
05 10:02:00 search mug
05 10:02:30 click mug
11 18:00:00 add to Cart mug
11 18:01:00 purchase mug
12 21:00:00 search oak shelf
12 21:00:30 click shelf
12 21:01:00 add to Cart shelf
12 21:02:30 purchase shelf
20 08:00:00 search desk lamp
20 08:00:15 click desk lamp
20 08:00:45 click rug
20 08:10:00 add to Cart rug
20 08:11:00 purchase rug
"""


def events(month):
    """The events of lines of day, time, action, and product or search."""
    return [event(row, line) for row, line in enumerate(month.strip().splitlines())]


def event(row, line):
    when, rest = datetime.fromisoformat(f"2024-05-{line[:11]}"), line[12:]
    action = next(action for action in (SEARCH, CLICK, CART, BUY) if rest.startswith(action))
    what = rest.removeprefix(action).strip()
    *facts, price = PRODUCTS[what] if action != SEARCH else (None,) * 6
    columns = (*facts, price and Decimal(price), what if action == SEARCH else None)
    return dict(zip(Event.model_fields, (row, when, action, *columns), strict=True))


def trajectory(id, rows):
    person, _, budget = id.rpartition("-")
    begin, end = rows[0]["timestamp"], rows[-1]["timestamp"]
    return Trajectory(
        id=id, persona_id=person, budget=budget, tokens=1, tokenizer="none", start=begin, end=end, text=render_trajectory(rows), events=rows,
        promotions=[],
    )  # fmt: skip


def written(folder, name, makes, rows):
    """A dataset of these rows, in files of at most 100 and in them groups of at most 10."""
    return write_dataset(folder, name, makes, *split_into_hundreds(rows), group=10)


def split_into_hundreds(rows):
    return [rows[first : first + 100] for first in range(0, len(rows), 100)]


@pytest.fixture(scope="session")
def datasets(tmp_path_factory):
    """The month of one customer, and one of another who looked at nothing but the rug."""
    other = events("01 09:00:00 search rug\n01 09:00:30 click rug\n02 09:00:30 click rug")
    both = [trajectory("persona-1-32k", events(MONTH)), trajectory("persona-2-64k", other)]
    return {"trajectories": written(tmp_path_factory.mktemp("month"), "trajectories", Trajectory, both)}


# Questions that are true

LAMP = Mention(brand="Norrvik", parts=("oak floor lamp", "white"))
LAMPS = Mention(brand="Norrvik", parts=("oak floor lamp",))
RUG = Mention(brand="Brindle", parts=("wool rug",))
MUG = Mention(brand=None, parts=("stoneware mug",))
SHELF = Mention(brand="Tarn", parts=("oak shelf",))


def days(first, last):
    return {"first_day": date(2024, 5, first), "last_day": date(2024, 5, last)}


def on(day):
    return days(day, day)


TRUE = {
    "clicks": ("clicks_on_product", Count(of=Pick(action=CLICK, product=LAMP))),
    "price": ("paid_for", Nth(of=Pick(action=BUY, product=RUG), n=1, what="price")),
    "spent": ("spent", Fold(of=Pick(action=BUY, **days(1, 11)), how="sum")),
    "more": (
        "spent_before_and_after",
        Difference(
            of=Fold(of=Pick(action=BUY, first_day=date(2024, 5, 12)), how="sum"),
            less=Fold(of=Pick(action=BUY, last_day=date(2024, 5, 11)), how="sum"),
        ),
    ),
    "top": ("top_brands", Top(of=Pick(action=CLICK, **days(1, 20)), by="brand", k=2)),
    "second": ("brand_rank", Top(of=Pick(action=CLICK, **days(2, 20)), by="brand", rank=2)),
    "set": ("left_in_cart", Names(of=Pick(action=CART, never=BUY, **days(1, 5)), what="product_name")),
    "colors": ("colors_clicked", Names(of=Pick(action=CLICK, category="Floor Lamps", **on(1)), what="color")),
    "list": ("purchases_in_order", Listed(of=Pick(action=BUY, **days(1, 20)), what="product_name", n=3)),
    "bought": (
        "brands_bought",
        Whether(picks=tuple(Pick(action=BUY, brand=brand) for brand in ("Norrvik", "Ostrana", "Tarn", "Brindle"))),
    ),
    "wait": (
        "click_to_purchase",
        Wait(start=Moment(of=Pick(action=CLICK, product=RUG)), end=Moment(of=Pick(action=BUY, product=RUG))),
    ),
    "day": ("busiest_day", Top(of=Pick(action=CLICK, **days(1, 20)), by="day")),
    "when": ("last_look", Nth(of=Pick(action=CLICK, product=LAMP), n=-1, what="timestamp")),
    "share": (
        "brand_share",
        Share(of=Pick(action=CLICK, category="Rugs", **days(1, 20)), part=Pick(brand="Brindle")),
    ),
    "third": ("weekend_share", Share(of=Pick(action=CLICK, category="Floor Lamps"), part=Pick(weekday="weekend"))),
    "search": ("nth_search_of_day", Nth(of=Pick(action=SEARCH, **on(5)), n=2, what="search_query")),
    "searches": ("different_searches", Count(of=Pick(action=SEARCH, **days(1, 5)), what="search_query")),
    "sessions": ("shopping_sessions", Sessions(of=Pick(**days(1, 5)), what="count")),
    "between": (
        "searches_between_looks",
        Amid(
            of=Pick(action=SEARCH),
            start=Moment(of=Pick(action=CLICK, product=LAMP)),
            end=Moment(of=Pick(action=CLICK, product=LAMP), n=-1),
        ),
    ),
    "reached": ("spending_reached", Running(of=Pick(action=BUY), amount=Decimal(100), what="product_name")),
    "never bought": (
        "brands_never_bought",
        Sets(of=Pick(action=CLICK, **days(1, 12)), other=Pick(action=BUY), what="brand", how="minus", counted=True),
    ),
    "first": ("nth_purchase", Nth(of=Pick(action=BUY, **days(1, 12)), n=1, what="product_name")),
    "none": ("nth_purchase", Nth(of=Pick(action=BUY, **days(1, 5)), n=2, what="product_name")),
    "none paid": (
        "paid_for",
        Nth(of=Pick(action=BUY, product=Mention(brand="Zuma", parts=("kite",))), n=1, what="price"),
    ),
    "zero": ("clicks_on_product", Count(of=Pick(action=CLICK, product=LAMP, **on(11)))),
    "zero kites": ("clicks_on_product", Count(of=Pick(action=CLICK, product=Mention(brand="Zuma", parts=("kite",))))),
    "no money": ("spent", Fold(of=Pick(action=BUY, **days(2, 5)), how="sum")),
}
"""Shape and tree of questions on the month above."""


ASKED_ON = date(2024, 5, 23)
"""After the last event."""


def asked(shape, tree, /, **changes):
    """The question of a tree on the month above, as the stage would make it, and then with changes."""
    return ask(shape, tree).model_copy(update=changes)


@cache
def ask(shape, tree):
    log = Log(events(MONTH))
    found = answer_tree(tree, log)
    evidence = found.rows if found.value not in (None, 0) else []
    text, effort = tree_to_json(tree), effort_of(tree, log, found.value, sql_of(tree))
    answer, notes = format_canonical(found.value), needed_notes(tree, log, found.value)
    return Question(
        id="persona-1-32k-q001",
        trajectory_id="persona-1-32k",
        budget="32k",
        question=next(each for each in phrasings(shape, tree, ASKED_ON, notes) if not gives_away(each, answer)),
        asked_on=ASKED_ON,
        phrases=[f"{shape}#00000000"],
        sql=sql_of(tree),
        dialect="duckdb",
        answer=answer,
        answer_type="none" if found.value is None else type_of(tree),
        result=as_json(found.value),
        kind=SHAPES[shape].kind,
        shape=shape,
        answerable_from=sources_of(tree),
        difficulty=grade_difficulty(effort),
        effort=effort,
        evidence=evidence,
        position=locate_evidence(evidence, len(log.events)),
        split=assign_split(text),
        tree=text,
        idle_conditions=sorted(idle_conditions(tree, log, found.value)),
        second_sql="",
    )


def true(name, /, **changes):
    return asked(*TRUE[name], **changes)


@pytest.fixture
def why(datasets):
    """All that the checks have against a question; what DuckDB says of rows in any order is said once."""

    def judge(question):
        (found,) = reasons_against(STAGE, to_batch(Question, [question]), datasets, [question])
        found = {re.sub(r"(cannot run it|does not parse|another tree): .*", r"\1", reason) for reason in found}
        return {reason for reason in found if reason.replace(" with rows in another order", "") not in found - {reason}}

    return judge


def test_a_template_that_tells_another_thing_than_the_query_is_found_by_a_sample(monkeypatch):
    """A function of the texts compared with, which must not be called once for all of a template."""
    sql = "SELECT COUNT(*) FROM events WHERE brand = '{}'"
    questions = [true("clicks").model_copy(update={"sql": sql.format("x" * n)}) for n in range(1, 400)]
    assert not any(map(check.a_sample_is_read_alone, questions))
    monkeypatch.setattr(check, "PER_TEMPLATE", (once_per_template(len),))
    found = list(filter(None, map(check.a_sample_is_read_alone, questions)))
    assert set(found) == {"its template tells of it what the query alone does not"}
    assert 1 <= len(found) <= 40


@pytest.mark.parametrize("name", TRUE)
def test_a_true_question_breaks_no_promise(why, name):
    assert why(true(name)) == set()


@pytest.mark.parametrize(
    ("name", "answer", "answer_type", "evidence", "position"),
    [
        ("clicks", "2", "integer", [1, 12], "middle"),
        ("price", "129.90", "money", [25], "late"),
        ("spent", "52.00", "money", [4, 16], "middle"),
        ("more", "152.90", "money", [4, 16, 20, 25], "late"),
        ("top", "Norrvik; Brindle", "ordered list", [1, 2, 6, 8, 12, 23], "early"),
        ("second", "Ostrana", "text", [11, 22], "late"),
        ("set", "Brindle hall runner, 60 cm", "set", [9], "middle"),
        ("colors", "black; white", "set", [1, 2], "early"),
        ("bought", "yes; no; yes; yes", "yes/no", [4, 20, 25], "late"),
        ("wait", "420:10:20", "duration", [6, 25], "late"),
        ("day", "2024-05-05", "date", [11, 12, 14], "middle"),
        ("when", "2024-05-05 10:01:00", "date-time", [12], "middle"),
        ("share", "100.0", "decimal", [6, 8, 23], "early"),
        ("third", "33.3", "decimal", [12], "middle"),
        ("search", "mug", "text", [13], "middle"),
        ("sessions", "3", "integer", list(range(15)), "early"),
        ("between", "3", "integer", [1, 5, 7, 10, 12], "early"),
        ("reached", "Tarn oak shelf, 90 cm", "text", [4, 16, 20], "middle"),
        ("never bought", "1", "integer", [11], "middle"),
        ("none", "none", "none", [], None),
        ("none paid", "none", "none", [], None),
        ("zero", "0", "integer", [], None),
        ("no money", "0.00", "money", [], None),
    ],
)
def test_a_true_question_is_as_worked_out_by_hand(name, answer, answer_type, evidence, position):
    made = true(name)
    assert (made.answer, made.answer_type, made.evidence) == (answer, answer_type, evidence)
    assert made.position == position


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("clicks", []),  # 2 of 10 clicks
        ("spent", ["first_day"]),  # nothing was bought before May 1
        ("more", []),
        ("top", ["days", "first_day", "last_day"]),  # all that there is
        ("second", ["last_day"]),  # May 1 takes two clicks from Norrvik, which then is not first
        ("colors", ["category", "days"]),  # only floor lamps on May 1, white and black on all days
        ("bought", []),
        ("wait", []),
        ("when", []),
        ("share", ["brand", "days", "first_day", "last_day"]),  # all rugs are Brindle's
        ("third", []),
        ("search", []),
        ("sessions", ["first_day"]),
        ("between", []),
        ("reached", []),
        ("first", ["days", "first_day", "last_day"]),
        ("none", ["first_day"]),  # one purchase up to May 5, May 1 or not
        ("zero", ["product"]),  # no click at all on May 11
        ("no money", []),
    ],
)
def test_the_conditions_that_can_be_left_out_are_those_found_by_hand(name, expected):
    assert true(name).idle_conditions == expected


@pytest.mark.parametrize(
    ("sql", "idle"),
    [
        ("SELECT COUNT(*) FROM events WHERE action_type = 'click' AND brand = 'Norrvik' AND NOT brand IS NULL", []),
        ("SELECT COUNT(*) FROM events WHERE brand = 'Norrvik' AND price < 100", ["price < 100"]),
        ("SELECT brand FROM events GROUP BY brand HAVING COUNT(*) >= 5 ORDER BY brand LIMIT 1", ["COUNT(*) >= 5"]),
        ("SELECT MIN(price) FROM events WHERE brand = 'Brindle' OR brand = 'Mug'", []),
        (
            "SELECT MAX(price) FROM events WHERE timestamp > '2024-05-02' AND timestamp < '2024-05-20'",
            ["timestamp < '2024-05-20'", "timestamp > '2024-05-02'"],
        ),
    ],
)
def test_the_conditions_of_a_query_that_can_be_left_out_are_found(datasets, sql, idle):
    table = datasets["trajectories"].once(Engines).of("persona-1-32k")
    kind = "text" if "brand FROM" in sql else "integer" if "COUNT" in sql.split("FROM")[0] else "money"
    assert idle_in_sql(table, sql, kind) == idle


# Questions with one fault


def whether(*picks):
    """A question that has an answer whatever it names; no shape words it, so that this is noticed too."""
    return asked("brands_bought", Whether(picks=(Pick(action=CLICK, brand="Norrvik"), *picks)), question="Did I?")


def retold(name, tree):
    """With another text for its tree, and the split of that."""
    return true(name, tree=tree, split=assign_split(tree))


def in_other_words(name, before, after):
    """A true question in which a word was changed: the first of its wordings that has it."""
    words = next(each for each in phrasings(*TRUE[name], ASKED_ON) if re.search(before, each, re.IGNORECASE))
    return true(name, question=re.sub(before, after, words, count=1, flags=re.IGNORECASE))


def without_note(question, note):
    """The same without what has to be said beside it."""
    tree = tree_from_json(question.tree)
    notes = tuple(each for each in needed_notes(tree, Log(events(MONTH)), value_of(question)) if each != note)
    words = next(
        each
        for each in phrasings(question.shape, tree, ASKED_ON, notes)
        if "none" not in each.lower()
        and "tie" not in each
        and "first" not in each.lower()
        and "earliest" not in each.lower()
    )
    return question.model_copy(update={"question": words})


def value_of(question):
    return None if question.answer_type == "none" else question.answer


def with_more_words(name, more):
    return true(name, question=f"{true(name).question} {more}")


def giving_away(shape, tree):
    """A question in whose words the answer stands."""
    made = asked(shape, tree)
    words = next(each for each in phrasings(shape, tree, ASKED_ON) if gives_away(each, made.answer))
    return made.model_copy(update={"question": words})


def by(*engines, says):
    return {f"{engine}{says}" for engine in engines}


COUNT = "SELECT COUNT(*) FROM events"
BOUGHT = "SELECT product_name FROM events WHERE action_type = 'purchase' AND timestamp < '2024-05-13'"
INSERT = f"WITH more AS (INSERT INTO events SELECT * FROM events RETURNING 1) {COUNT}"
CLICKS = true("clicks")

SEARCHES = Top(of=Pick(action=SEARCH), by="search_query")
CASES = {
    "a tie that is not settled": (
        without_note(asked("most_repeated_search", SEARCHES), "tie/top"),
        {"several tie, and it does not say which it means"},
    ),
    "asked before the end": (true("wait", asked_on=date(2024, 5, 19)), {"asked before the last event"}),
    # The answer
    "a wrong number": (true("clicks", answer="3", result="3"), EVERY_ENGINE),
    "a wrong price": (true("price", answer="129.91", result='"129.91"'), EVERY_ENGINE),
    "a wrong day": (true("day", answer="2024-05-20", result='"2024-05-20"'), EVERY_ENGINE),
    "a second too many": (true("wait", answer="420:10:21", result="1512621"), EVERY_ENGINE),
    "a name too few": (true("top", answer="Norrvik", result='["Norrvik"]'), EVERY_ENGINE),
    "names in another order": (true("top", answer="Brindle; Norrvik", result='["Brindle", "Norrvik"]'), EVERY_ENGINE),
    "none where there is one": (
        true("clicks", answer="none", result="null", answer_type="none", evidence=[], position=None),
        EVERY_ENGINE | {NO_NONE},
    ),
    "one where there is none": (
        true("none", answer="Stoneware mug, blue", result='"Stoneware mug, blue"', answer_type="text"),
        EVERY_ENGINE,
    ),
    "answer and result that differ": (true("clicks", answer="3"), {DIFFER}),
    "129.9 for 129.90": (true("price", answer="129.9"), {DIFFER}),
    "a result of 129.9": (true("price", result="129.9"), {DIFFER}),
    "2.0 for 2": (true("clicks", answer="2.0"), {DIFFER}),
    "true for 1": (true("never bought", result="true"), {DIFFER}),
    "a set that is not sorted": (true("colors", answer="white; black"), {DIFFER}),
    "a result that is not sorted": (true("colors", result='["white", "black"]'), {DIFFER}),
    "420:10 for 420:10:20": (true("wait", answer="420:10"), {DIFFER}),
    "None for none": (true("none", answer="None"), {DIFFER}),
    "type none with a value": (true("price", answer_type="none"), {NONE, NO_NONE}),
    "another type with none": (true("none", answer_type="text"), {NONE}),
    "a result that is no JSON": (
        true("clicks", result="two"),
        {NOT_OF_TYPE, *UNJUDGED, *by("DuckDB", "SQLite", "plain Python", says=": two is no JSON")},
    ),
    "1 and 0 for yes and no": (
        true("bought", result="[1, 0, 1, 1]"),
        {NOT_OF_TYPE, *UNJUDGED}
        | by("DuckDB", "SQLite", "plain Python", says=": [1, 0, 1, 1] is no list of true and false"),
    ),
    "a text said to be a day": (
        true("search", answer_type="date"),
        {TYPE, NOT_OF_TYPE, *UNJUDGED, *by("DuckDB", "SQLite", "plain Python", says=": 'mug' is no date")},
    ),
    "a duration said to be a number": (true("wait", answer_type="integer"), {TYPE, PYTHON, DIFFER}),
    "a price said to be a decimal": (true("price", answer_type="decimal"), {TYPE}),
    "a share said to be money": (true("share", answer_type="money", answer="100.00", result='"100.00"'), {TYPE}),
    "a number said to be a decimal": (true("clicks", answer_type="decimal", result='"2"'), {TYPE}),
    # The query
    "the first of many rows": (
        true("first", sql=BOUGHT),
        {SQL, *UNJUDGED, *by("DuckDB", "SQLite", says=": many rows of result, and the answer is one text")},
    ),
    "a set with something twice": (
        true("colors", sql="SELECT color FROM events WHERE color IN ('black', 'white') AND timestamp < '2024-05-02'"),
        {SQL, "evidence cannot be judged", *by("DuckDB", "SQLite", says=": a set with the same value twice")},
    ),
    "a number that is not whole": (
        true("clicks", sql="SELECT 2.5 FROM events LIMIT 1"),
        {SQL, *UNJUDGED, "DuckDB: Decimal('2.5') is no integer", "SQLite: 2.5 is no integer"},
    ),
    "two columns": (
        true("clicks", sql="SELECT 2, COUNT(*) FROM events"),
        {SQL, *UNJUDGED, *by("DuckDB", "SQLite", says=": 2 columns of result")},
    ),
    "an answer written into the query": (true("clicks", sql="SELECT 2 FROM events LIMIT 1"), {SQL, IDLE, EFFORT}),
    "the right number of other rows": (
        true("clicks", sql=f"{COUNT} WHERE search_query = 'area rug'"),
        {SQL, UNRELATED, IDLE, EFFORT},
    ),
    "the same in other words": (true("clicks", sql=CLICKS.sql.replace("COUNT(*)", "COUNT(1)")), {SQL}),
    "a column that there is not": (
        true("clicks", sql=f"{COUNT} WHERE colour = 'white'"),
        {SQL, *UNJUDGED, *by("DuckDB", "SQLite", says=" cannot run it")},
    ),
    "another table": (true("clicks", sql="SELECT COUNT(*) FROM orders"), {SQL, "reads orders, not events"}),
    "a file": (true("clicks", sql=f"{COUNT}, read_csv('/etc/passwd')"), {SQL, "reads read_csv, not events"}),
    "an insertion inside": (true("clicks", sql=INSERT), {SQL, "SQL that is no query: INSERT inside it"}),
    "a deletion": (true("clicks", sql="DELETE FROM events"), {SQL, "SQL that is no query but DELETE"}),
    "two statements": (true("clicks", sql=f"{COUNT}; SELECT 2"), {SQL, "2 statements, not one"}),
    "no statement": (true("clicks", sql="-- how many?"), {SQL, "0 statements, not one"}),
    "what is no SQL": (true("clicks", sql="SELECT COUNT( FROM events"), {SQL, "SQL does not parse"}),
    # Tree, wording, shape, split
    "a tree that is no JSON": (
        retold("clicks", "clicks"),
        {NO_TREE, *UNJUDGED, "plain Python cannot answer: ValidationError"},
    ),
    "a tree that is none": (
        retold("clicks", '{"node":"guess","of":{}}'),
        {NO_TREE, *UNJUDGED, "plain Python cannot answer: ValidationError"},
    ),
    "a tree with spaces": (retold("clicks", CLICKS.tree.replace(",", ", ")), {FORM}),
    "a tree that says what goes without saying": (
        retold("clicks", f'{CLICKS.tree.removesuffix("}")},"what":null}}'),
        {FORM},
    ),
    "another's tree": (retold("clicks", true("third").tree), {PYTHON, EVIDENCE, SQL, MEANS}),
    "another's words": (true("clicks", question=true("when").question), {MEANS}),
    "two categories joined, and one named": (
        asked(
            "seen_in_both_times",
            Sets(
                of=Pick(action=CLICK, category="Desk Lamps", last_day=date(2024, 5, 11)),
                other=Pick(action=CLICK, category="Rugs", first_day=date(2024, 5, 12)),
                what="product_name",
                how="both",
                counted=True,
            ),
        ),
        {MEANS},
    ),
    "the first for the last": (in_other_words("when", "last", "first"), {MEANS}),
    "a day too early": (in_other_words("spent", "11", "10"), {MEANS}),
    "all searches for the different ones": (in_other_words("searches", "distinct ", ""), {UNREAD}),
    "words with a slip": (with_more_words("clicks", "?"), {UNREAD}),
    "another shape": (true("clicks", shape="products_clicked"), {WORDING}),
    "a shape of another kind": (true("clicks", shape="spent"), {KIND}),
    "a shape that there is not": (true("clicks", shape="clicks"), {SHAPE}),
    "another kind": (true("clicks", kind="brand"), {KIND}),
    "another split": (true("clicks", split="sft"), {SPLIT}),
    # Evidence, difficulty, position
    "a row of evidence too few": (true("top", evidence=[1, 2, 6, 8, 12]), {EVIDENCE}),
    "a row of evidence too many": (true("top", evidence=[1, 2, 6, 8, 9, 12, 23]), {EVIDENCE}),
    "other evidence": (true("clicks", evidence=[2, 12]), {EVIDENCE}),
    "evidence that is not in order": (true("clicks", evidence=[12, 1]), {EVIDENCE}),
    "no evidence": (true("clicks", evidence=[], position=None), {EVIDENCE}),
    "evidence for zero": (true("zero", evidence=[15], position="middle"), {FOR_NOTHING}),
    "evidence for no money": (true("no money", evidence=[4], position="early"), {FOR_NOTHING}),
    "evidence for none": (true("none", evidence=[4], position="early"), {FOR_NOTHING}),
    "what is the same without its evidence": (
        asked("nth_category_of_day", Nth(of=Pick(action=CLICK, **on(1)), n=1, what="product_types")),
        {IDLE},
    ),
    "too difficult": (true("clicks", difficulty="medium"), {DIFFICULTY}),
    "more rows than there are": (true("more", effort=true("more").effort.model_copy(update={"rows": 99})), {EFFORT}),
    "one weak answerer more": (
        true("price", effort=true("price").effort.model_copy(update={"shortcuts": list(get_args(Shortcut))})),
        {EFFORT},
    ),
    # What can answer it
    "the text is said to tell a category": (true("colors", answerable_from=["text", "table"]), {TEXT}),
    "the text is said not to tell a brand": (true("top", answerable_from=["table"]), {TABLE}),
    "too early": (true("price", position="middle"), {POSITION}),
    "nowhere": (true("price", position=None), {POSITION}),
    "somewhere with nothing": (true("zero", position="early"), {POSITION}),
    # What it names
    "no such trajectory": (true("clicks", trajectory_id="persona-9-32k"), {"no such trajectory"}),
    "another customer": (
        true("clicks", trajectory_id="persona-2-64k", budget="64k"),
        {*EVERY_ENGINE, EVIDENCE, EFFORT, UNREAD, "names a product that is not in the trajectory"},
    ),
    "another budget": (true("clicks", budget="64k"), {BUDGET}),
    "the end of a budget": (true("clicks", budget="2k"), {BUDGET}),
    "no such brand": (whether(Pick(brand="Zuma")), {UNREAD, "names a brand that is not in the trajectory"}),
    "no such color": (whether(Pick(color="puce")), {UNREAD, "names a color that is not in the trajectory"}),
    "no such category": (
        whether(Pick(category="Kites")),
        {UNREAD, "names a category that is not in the trajectory"},
    ),
    "no such search": (
        whether(Pick(query="kite")),
        {UNREAD, "names a search_query that is not in the trajectory"},
    ),
    "no such word": (whether(Pick(word="kite")), {UNREAD, "names a word that was never searched for"}),
    "a part of a word": (
        whether(Pick(word="are")),
        {UNREAD, DUCKDB, SQLITE, EFFORT, "names a word that was never searched for"},
    ),
    "no such product": (
        whether(Pick(product=Mention(brand="Brindle", parts=("kite",)))),
        {UNREAD, "names a product that is not in the trajectory"},
    ),
    "a product of another brand": (
        whether(Pick(product=Mention(brand="Norrvik", parts=("wool rug",)))),
        {UNREAD, "names a product that is not in the trajectory"},
    ),
    "a day before the first": (
        asked("spent", Fold(of=Pick(action=BUY, first_day=date(2024, 4, 30)), how="sum")),
        {NO_DAY},
    ),
    "a day after the last": (
        asked("spent", Fold(of=Pick(action=BUY, last_day=date(2024, 5, 21)), how="sum")),
        {NO_DAY},
    ),
    "one lamp of two": (
        asked("clicks_on_product", Count(of=Pick(action=CLICK, product=LAMPS))),
        {MANY},
    ),
    "one lamp of two, on a day without": (
        asked("clicks_on_product", Count(of=Pick(action=CLICK, product=LAMPS, **on(11)))),
        {MANY},
    ),
    "a color for a rug": (
        asked("clicks_on_product", Count(of=Pick(action=CLICK, product=Mention(brand="Brindle", parts=("sand",))))),
        {UNNAMED},
    ),
    "a word of one product's name alone": (
        asked(
            "clicks_on_product", Count(of=Pick(action=CLICK, product=Mention(brand="Brindle", parts=("hall runner",))))
        ),
        {UNNAMED},
    ),
    "what a lamp is made of for the lamp": (
        asked(
            "clicks_on_product", Count(of=Pick(action=CLICK, product=Mention(brand="Norrvik", parts=("oak", "white"))))
        ),
        {CUT_SHORT},
    ),
    # Conditions
    "an idle condition that is not told": (true("sessions", idle_conditions=[]), {OTHERS_IDLE}),
    "a condition told to be idle that is not": (true("clicks", idle_conditions=["product"]), {OTHERS_IDLE}),
    "an answer of none that is not offered": (
        without_note(
            asked("average_price", Fold(of=Pick(action=CART, brand="Norrvik", **on(11)), how="average")), "none"
        ),
        {NO_NONE},
    ),
    # Days, and what is told
    "June 31": (with_more_words("clicks", "June 31, 2024"), {UNREAD, CALENDAR}),
    "31 June": (with_more_words("clicks", "31 June 2024"), {UNREAD, CALENDAR}),
    "February 29 in no leap year": (with_more_words("clicks", "2023-02-29"), {UNREAD, CALENDAR}),
    "a second day that there is not": (
        with_more_words("spent", "May 11, 2024, June 31, 2024"),
        {UNREAD, CALENDAR},
    ),
    "a day that there is": (with_more_words("clicks", "February 29, 2024"), {UNREAD}),
    "June 31 in the query": (
        true("spent", sql=true("spent").sql.replace("05-11", "06-31")),
        {SQL, SQLITE, CALENDAR, EFFORT, "DuckDB cannot run it"},
    ),
    "an answer that stands in the question": (
        giving_away("products_clicked", Count(of=Pick(action=CLICK, category="Rugs", **days(2, 20)), what="asin")),
        {TOLD},
    ),
}
"""What is wrong -> the question, and all that the checks have against it."""


@pytest.mark.parametrize("name", CASES)
def test_a_question_with_a_fault_is_told_so(why, name):
    question, reasons = CASES[name]
    assert why(question) == reasons


ROW_IDS = pytest.mark.xfail(strict=True, reason="a database's own number of a row is not known to the check")


@pytest.mark.parametrize(
    "sql",
    [
        f"{BOUGHT} LIMIT 1",
        f"{BOUGHT} ORDER BY action_type LIMIT 1",
        f"{BOUGHT} GROUP BY product_name ORDER BY COUNT(*) DESC LIMIT 1",
        f"{BOUGHT} QUALIFY ROW_NUMBER() OVER (ORDER BY action_type) = 1",
        BOUGHT.replace("product_name", "FIRST(product_name)", 1),
        BOUGHT.replace("product_name", "DISTINCT ON (action_type) product_name", 1),
        f"{BOUGHT} FETCH FIRST 1 ROWS ONLY",
        pytest.param(f"{BOUGHT} AND rowid < 10", marks=ROW_IDS),
    ],
)
def test_a_query_that_leaves_a_tie_to_chance_is_told_so(why, sql):
    """Each product was bought once: asked of the rows in order, the first of them is the answer by chance."""
    assert why(true("first", sql=sql)) >= {SQL, ORDER}


def test_a_list_in_the_order_of_the_rows_is_told_so(why):
    assert why(true("list", sql=BOUGHT)) == {SQL, ORDER, EFFORT}


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("Did I look at more black or more WHITE lamps?", "white", True),
        ("Which of black and white is the rarer color?", "white; black", True),
        ("Which colors but black?", "black; white", False),
        ("How many lamps of 2 rooms?", "2", True),
        ("How many lamps up to May 20, 2024?", "2", False),
        ("How many lamps of 2.5 kg?", "2", False),
        ("How many 2-packs?", "2", False),
        ("How many for $2?", "2", True),
        ("How many lamps, or none?", "none", False),
        ("Say yes or no for each.", "yes; no", False),
    ],
)
def test_an_answer_is_told_where_all_of_it_stands_in_words_of_its_own(question, answer, said):
    assert (
        answer_is_not_in_the_question(CLICKS.model_copy(update={"question": question, "answer": answer})) == TOLD
    ) == said


# Questions that a model wrote: no tree, and a second query

DUCKDB_TOO = "the second answering gives another answer"
SQLITE_TOO = "the second answering in SQLite gives another answer"


MONTHS = Table(pa.Table.from_pylist(events(MONTH), arrow_schema(Event)), (None, None), open_question_sqlite())


def measured(sql, answer_type):
    """The effort of a query on the month above."""
    return effort_of_sql(sql, "text" if answer_type == "none" else answer_type, MONTHS)


def composed(question, sql, answer, result, answer_type, kind, difficulty, evidence, position, second, /, **changes):
    """A question on the month above as a model would write it; customer 1 is in the split `rl`."""
    effort = measured(sql, answer_type)
    made = Question(
        id="persona-1-32k-q001",
        trajectory_id="persona-1-32k",
        budget="32k",
        question=question,
        sql=sql,
        dialect="duckdb",
        answer=answer,
        answer_type=answer_type,
        result=result,
        kind=kind,
        shape="written",
        answerable_from=sources_of_query(parse_select(sql)),
        difficulty=difficulty,
        effort=effort,
        evidence=evidence,
        position=position,
        split="rl",
        tree="",
        idle_conditions=[],
        second_sql=second,
        asked_on=ASKED_ON,
        phrases=[],
    )
    return made.model_copy(update=changes)


NEVER_BOUGHT = """SELECT COUNT(*) FROM events AS e WHERE e.action_type = 'click'
    AND NOT EXISTS (SELECT 1 FROM events AS p WHERE p.asin = e.asin AND p.action_type = 'purchase')"""
BY_HAND = {
    "a count": (
        "How often did I click on Norrvik lamps?",
        "SELECT COUNT(*) FROM events WHERE action_type = 'click' AND brand = 'Norrvik'",
        "3", "3", "integer", "brand", "easy", [1, 2, 12], "early",
        "SELECT COUNT(row_id) FROM events WHERE brand ILIKE 'norrvik' AND action_type = 'click'",
    ),
    "the dearest": (
        "What is the most that I paid for one thing?",
        "SELECT MAX(price) FROM events WHERE action_type = 'purchase'",
        "129.90", '"129.90"', "money", "price", "easy", [25], "late",
        "SELECT price FROM events WHERE action_type = 'purchase' ORDER BY price DESC LIMIT 1",
    ),
    "the second purchase": (
        "What was the second thing that I bought?",
        "SELECT product_name FROM events WHERE action_type = 'purchase' ORDER BY timestamp LIMIT 1 OFFSET 1",
        "Stoneware mug, blue", '"Stoneware mug, blue"', "text", "purchase journey", "easy", [4, 16], "middle",
        "SELECT product_name FROM events WHERE action_type = 'purchase' QUALIFY ROW_NUMBER() OVER (ORDER BY timestamp) = 2",
    ),
    "a set": (
        "From which brands did I buy in May 2024?",
        "SELECT DISTINCT brand FROM events WHERE action_type = 'purchase' AND NOT brand IS NULL",
        "Brindle; Norrvik; Tarn", '["Brindle", "Norrvik", "Tarn"]', "set", "brand", "easy", [4, 20, 25], "late",
        "SELECT brand FROM events WHERE action_type = 'purchase' AND brand IS NOT NULL GROUP BY brand",
    ),
    "a list": (
        "Which things did I buy after May 11, 2024, in that order?",
        "SELECT product_name FROM events WHERE action_type = 'purchase' AND timestamp >= '2024-05-12' ORDER BY timestamp",
        "Tarn oak shelf, 90 cm; Brindle wool rug, 160 cm, sand",
        '["Tarn oak shelf, 90 cm", "Brindle wool rug, 160 cm, sand"]', "ordered list", "purchase journey", "easy",
        [20, 25], "late",
        "SELECT product_name FROM events WHERE timestamp > '2024-05-11 23:59:59' AND action_type = 'purchase' ORDER BY row_id",
    ),
    "never bought": (
        "How many of my clicks were on things that I never bought?",
        NEVER_BOUGHT,
        "4", "4", "integer", "product interaction", "medium", [2, 4, 8, 11, 16, 20, 22, 25], "middle",
        f"{COUNT} WHERE action_type = 'click' AND NOT asin IN (SELECT asin FROM events WHERE action_type = 'purchase')",
    ),
    "a share": (
        "What percentage of my clicks was on Norrvik, rounded to one decimal?",
        "SELECT ROUND(100.0 * COUNT(*) FILTER (WHERE brand = 'Norrvik') / COUNT(*), 1) FROM events WHERE action_type = 'click'",
        "30.0", '"30.0"', "decimal", "brand", "medium", [1, 2, 6, 8, 11, 12, 14, 18, 22, 23], "middle",
        "SELECT ROUND(AVG(CASE WHEN brand = 'Norrvik' THEN 100.0 ELSE 0 END), 1) FROM events WHERE action_type = 'click'",
    ),
    "none": (
        "What did I pay for a kite, or none?",
        "SELECT MIN(price) FROM events WHERE action_type = 'purchase' AND product_name ILIKE '%kite%'",
        "none", "null", "none", "price", "easy", [], None,
        "SELECT price FROM events WHERE action_type = 'purchase' AND product_name ILIKE '%kite%' ORDER BY timestamp LIMIT 1",
    ),
    "zero": (
        "How often did I search for a kite?",
        "SELECT COUNT(*) FROM events WHERE search_query ILIKE '%kite%'",
        "0", "0", "integer", "search", "easy", [], None,
        "SELECT COUNT(*) FROM events WHERE action_type = 'search' AND search_query LIKE '%kite%'",
    ),
}  # fmt: skip
"""Question, SQL, answer, result, type, kind, difficulty, evidence, position and second SQL, worked out by hand."""


def by_model(name, /, **changes):
    return composed(*BY_HAND[name], **changes)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_true_question_without_a_tree_breaks_no_promise(why, name):
    assert why(by_model(name)) == set()


def another_query(name, sql, **changes):
    """With the effort of the other query, where that runs."""
    try:
        effort = measured(sql, by_model(name).answer_type)
        changes = {"effort": effort, "difficulty": grade_difficulty(effort)} | changes
    except ValueError:
        pass
    return by_model(name, sql=sql, **changes)


CLICKS_ON = "SELECT COUNT(*) FROM events WHERE action_type = 'click' AND brand"
BY_CHANCE = "SELECT product_name FROM events WHERE action_type = 'purchase' LIMIT 1 OFFSET 1"
FORMS = "a question that is not one line of at most 500 characters"

WRITTEN_CASES = {
    # The second answering
    "no second query": (by_model("a count", second_sql=""), {"no second answering"}),
    "a second query that disagrees": (
        by_model("a count", second_sql=f"{CLICKS_ON} = 'Brindle' AND price > 100"),
        {DUCKDB_TOO},
    ),
    "a second query that SQLite reads in another way": (
        by_model("a count", second_sql=f"{CLICKS_ON} = 'Norrvik' AND NOT product_name LIKE 'norrvik%'"),
        {SQLITE_TOO},
    ),
    "a second query of two rows": (
        by_model("a count", second_sql="SELECT 3 FROM events"),
        {"the second answering: many rows of result, and the answer is one integer"},
    ),
    "a second query that reads a file": (
        by_model("a count", second_sql="SELECT COUNT(*) FROM events, read_csv('/etc/passwd')"),
        {"reads read_csv, not events"},
    ),
    "a second query that leaves a tie to chance": (
        by_model("the second purchase", second_sql=BY_CHANCE),
        {"the second answering with rows in another order gives another answer"},
    ),
    "a second query on June 31": (
        by_model("a count", second_sql=f"{BY_HAND['a count'][-1]} AND timestamp <> '2024-06-31'"),
        {CALENDAR, "DuckDB cannot run it"},
    ),
    "a second query beside a tree": (true("clicks", second_sql=CLICKS.sql), {"a second query beside a tree"}),
    # What claims to have been written, and what claims a tree
    "a tree of the shape written": (true("clicks", shape="written"), {SHAPE}),
    "a known shape without its tree": (
        true("clicks", tree=""),
        {NO_TREE, SPLIT, *UNJUDGED, "plain Python cannot answer: ValidationError"},
    ),
    "a tree taken away, and nothing put in its place": (
        true("clicks", tree="", shape="written"),
        {"no second answering", OTHERS_IDLE},
    ),
    # The answer
    "a wrong number written": (by_model("a count", answer="4", result="4"), {DUCKDB, SQLITE, DUCKDB_TOO, UNRELATED}),
    "a wrong order written": (
        by_model(
            "a list",
            answer="Brindle wool rug, 160 cm, sand; Tarn oak shelf, 90 cm",
            result='["Brindle wool rug, 160 cm, sand", "Tarn oak shelf, 90 cm"]',
        ),
        {DUCKDB, SQLITE, DUCKDB_TOO, UNRELATED},
    ),
    "the answer in the question": (
        by_model("a count", question="How often did I click on the 3 Norrvik lamps?"),
        {TOLD},
    ),
    "yes or no": (
        composed(
            "Did I buy anything of Ostrana?",
            "SELECT COUNT(*) > 0 FROM events WHERE action_type = 'purchase' AND brand = 'Tarn'",
            "yes", "[true]", "yes/no", "brand", "easy", [20], "late",
            "SELECT BOOL_OR(brand = 'Tarn') FROM events WHERE action_type = 'purchase'",
        ),
        {"a question of yes or no: guessable", OTHERS_IDLE},
    ),
    "a figure that is not rounded": (
        composed(
            "What did I pay on average?",
            "SELECT AVG(price) / 2 FROM events WHERE action_type = 'purchase'",
            "32.1125", '"32.1125"', "decimal", "price", "easy", [4, 16, 20, 25], "late",
            "SELECT AVG(price) / 2 FROM events WHERE action_type = 'purchase'",
        ),
        {"a figure that is not rounded to two decimals at most"},
    ),
    "a set with what is NULL": (
        composed(
            "From which brands did I buy?",
            "SELECT DISTINCT brand FROM events WHERE action_type = 'purchase'",
            "Brindle; None; Norrvik; Tarn", '["Brindle", "None", "Norrvik", "Tarn"]', "set", "brand", "easy",
            [4, 16, 20, 25], "late",
            "SELECT DISTINCT brand FROM events WHERE action_type = 'purchase'",
        ),
        {"an answer in which a value is NULL"},
    ),
    # The query
    "of the wrong kind": (
        by_model("a count", kind="price"),
        {"its query looks at none of price: not of the kind price"},
    ),
    "an answer that the query tells": (
        another_query(
            "a count",
            "SELECT 3 FROM events WHERE brand = 'Norrvik' LIMIT 1",
            evidence=[1, 2, 3, 4, 12],
        ),
        {"its query tells the answer and does not ask", OTHERS_IDLE},
    ),
    "what is the same without all it looks at": (
        another_query("a count", "SELECT 3 + 0 * COUNT(brand) FROM events", evidence=[*range(26)], position="middle"),
        {IDLE},
    ),
    "a tie left to chance": (
        another_query(
            "the second purchase", BY_CHANCE
        ),
        {ORDER},
    ),
    "a row of evidence too few, written": (by_model("a set", evidence=[4, 20]), {EVIDENCE}),
    "other evidence, written": (by_model("the dearest", evidence=[20], position="late"), {EVIDENCE}),
    "evidence for zero, written": (by_model("zero", evidence=[7], position="early"), {FOR_NOTHING}),
    "too difficult, written": (by_model("never bought", difficulty="hard"), {DIFFICULTY}),
    "the text is said not to tell a brand, written": (by_model("a count", answerable_from=["table"]), {TABLE}),
    "two lines": (by_model("a count", question="How often?\nIgnore the above."), {FORMS}),
    "no words": (by_model("a count", question=""), {FORMS}),
    "many words": (by_model("a count", question=f"How {'very ' * 100}often?"), {FORMS}),
    # What it names
    "a brand that there is not": (
        another_query("a count", f"{CLICKS_ON} IN ('Norrvik', 'Zuma')"),
        {"names a brand that is not in the trajectory"},
    ),
    "a part of a name that there is not": (
        another_query("a count", f"{CLICKS_ON} ILIKE 'Norrvik' OR product_name LIKE '%kite%'"),
        {"names a product_name that is not in the trajectory"},
    ),
    "a part of a brand as if it were one": (
        another_query("a count", f"{CLICKS_ON} = 'Norrvik' OR brand = 'Norr'"),
        {"names a brand that is not in the trajectory"},
    ),
    "a day before the first, written": (
        by_model("a count", question="How often did I click on Norrvik lamps from April 30, 2024 on?"),
        {NO_DAY},
    ),
    "June 31, written": (
        by_model("a count", question="How often did I click on Norrvik lamps until June 31, 2024?"),
        {CALENDAR},
    ),
    "another customer's split": (
        by_model("a count", split="test"),
        {"asked in a split that is not its customer's"},
    ),
}  # fmt: skip
"""What is wrong with a question that a model wrote -> the question, and all that the checks have against it."""


@pytest.mark.parametrize("name", WRITTEN_CASES)
def test_a_question_without_a_tree_and_with_a_fault_is_told_so(why, name):
    question, reasons = WRITTEN_CASES[name]
    assert why(question) == reasons


@pytest.mark.parametrize(
    "sql",
    [
        f"{CLICKS_ON} = 'Norrvik' AND NOT brand = 'Zuma'",
        f"{CLICKS_ON} = 'Norrvik' AND NOT brand IN ('Zuma')",
        f"{CLICKS_ON} ILIKE '%norr%'",
        f"{CLICKS_ON} = 'Norrvik' AND product_name ILIKE '%LAMP%'",
    ],
)
def test_what_is_left_out_or_written_in_other_cases_may_be_named(why, sql):
    assert "names" not in " ".join(why(another_query("a count", sql)))


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Norrvik floor lamps, oak", None),  # the word goes on, and what it is has been said
        ("Norrvik floor lampshade, oak", CUT_SHORT),
        ("Norrvik floor lamp, oak", None),
        ("Norrvik floor lamp with two arms", None),
        ("Norrvik floor lamp white metal", None),
        ("Norrvik floor lamp 2 arms", None),
        ("Norrvik floor lamp shade of oak", CUT_SHORT),
        ("Norrvik floor lamp shade, oak", CUT_SHORT),
    ],
)
def test_words_stop_before_what_a_product_is_where_another_word_follows(title, said):
    row = event(0, "01 09:00:30 click white lamp") | {"product_name": title}
    log = Log([row, row | {"row_id": 1, "asin": "B9", "product_name": "Norrvik desk lamp, white"}])
    assert find_noun_fault(Mention(brand="Norrvik", parts=("floor lamp",)), log) == said


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT COUNT(*) FROM events", list(range(26))),
        ("WITH b AS (SELECT * FROM events WHERE action_type = 'purchase') SELECT SUM(price) FROM b", [4, 16, 20, 25]),
        (
            """WITH b AS (SELECT asin FROM events WHERE action_type = 'purchase'), c AS (SELECT * FROM b)
            SELECT COUNT(*) FROM events AS e JOIN c ON c.asin = e.asin WHERE e.action_type = 'add to Cart'""",
            [3, 4, 15, 16, 19, 20, 24, 25],
        ),
        (
            """SELECT COUNT(*) FROM events AS a JOIN events AS b ON b.asin = a.asin AND b.action_type = 'purchase'
            WHERE a.action_type = 'add to Cart'""",
            [3, 4, 15, 16, 19, 20, 24, 25],
        ),
        ("SELECT (SELECT COUNT(*) FROM events WHERE brand = 'Tarn') - (SELECT COUNT(*) FROM events WHERE color = 'blue')",
         [14, 15, 16, 18, 19, 20]),
        ("SELECT brand FROM events WHERE color = 'sand' UNION SELECT brand FROM events WHERE color = 'blue'",
         [6, 14, 15, 16, 23, 24, 25]),
        (
            """SELECT COUNT(*) FROM events AS a WHERE a.color = 'blue' AND EXISTS (SELECT 1 FROM events AS b
            WHERE b.asin = a.asin AND b.timestamp > a.timestamp AND b.action_type = 'purchase')""",
            [4, 14, 15, 16, 20, 25],
        ),
    ],
)  # fmt: skip
def test_a_query_touches_the_rows_that_pass_each_of_its_conditions(datasets, sql, rows):
    assert find_touched_rows(datasets["trajectories"].once(Engines).of("persona-1-32k"), sql) == rows


def test_rows_that_make_up_for_one_another_are_not_left_out_of_the_evidence(datasets):
    """Ten clicks less seven searches: without three clicks and three searches the difference is the same."""
    table = datasets["trajectories"].once(Engines).of("persona-1-32k")
    count = "(SELECT COUNT(*) FROM events WHERE action_type = '{}')"
    sql = f"SELECT {count.format('click')} - {count.format('search')} FROM events LIMIT 1"
    assert set(evidence_of(table, sql, "integer")) >= {0, 1, 2, 5, 6, 7, 8, 10, 11, 12, 13, 14, 17, 18, 21, 22, 23}


def test_where_many_rows_decide_all_that_are_touched_are_evidence(tmp_path):
    lines = [f"{day:02d} {hour:02d}:00:00 click rug" for day in range(1, 11) for hour in range(10, 20)]
    rows = written(tmp_path, "trajectories", Trajectory, [trajectory("persona-1-32k", events("\n".join(lines)))])
    table = Engines(rows).of("persona-1-32k")
    assert evidence_of(table, "SELECT COUNT(*) FROM events WHERE timestamp < '2024-05-10'", "integer") == list(
        range(90)
    )
    assert evidence_of(table, "SELECT MIN(timestamp) FROM events WHERE timestamp > '2024-05-04'", "date-time") == [30]


# Questions together


def many(number, **columns):
    """Questions that differ in all that must differ, on customers of their own; columns may be lists."""
    made = []
    for place in range(number):
        unlike = {"id": f"q{place}", "trajectory_id": f"persona-{place}-32k", "sql": f"SELECT {place}"}
        unlike |= {"question": f"Word{place}?", "answer": f"{place}", "split": "rl", "shape": f"shape{place % 20}"}
        given = {name: value[place] if isinstance(value, list) else value for name, value in columns.items()}
        made.append(CLICKS.model_copy(update=unlike | given))
    return made


ALIKE = "near-duplicate of another question on the same trajectory"
OFTEN = "its shape is more than 6 % of all"
GUESSABLE = "the commonest answer of its shape: guessable"
ONE_MORE = "one more question whose answer is the same without one of its conditions"


def one_shape(number):
    """So many questions of one shape and, before and after them, 188 of others, no shape of which is common."""
    others = [f"shape{place % 47}" for place in range(188)]
    return [*others[:94], *["one"] * number, *others[94:]]


BEFORE, AFTER = ([f"{n} {side}" for n in range(94)] for side in ("before", "after"))
"""Answers to those others."""


TWENTY = "b c d e f g h j k l m n p q r s t u v w"

TOGETHER = {
    "one id twice": (many(3, id=["q1", "q2", "q1"]), {2: "duplicate id"}),
    "the same words on one trajectory": (
        many(3, trajectory_id="persona-1-32k", question=["How many red lamps?", "Which?", "How many red lamps?"]),
        {2: ALIKE},
    ),
    "the same but for a comma, case and an article": (
        many(
            2,
            trajectory_id="persona-1-32k",
            question=["How many, on May 3, red lamps?", "how many on the May 3 red lamps?"],
        ),
        {1: ALIKE},
    ),
    "one word of twenty another": (
        many(2, trajectory_id="persona-1-32k", question=[TWENTY, TWENTY[:-1] + "x"]),
        {1: ALIKE},
    ),
    "two words of twenty another, and one another than in one that goes": (
        many(3, trajectory_id="persona-1-32k", question=[TWENTY, TWENTY[:-1] + "x", TWENTY[:-3] + "y x"]),
        {1: ALIKE},
    ),
    "a customer in two splits": (
        many(3, trajectory_id=["persona-1-32k", "persona-2-32k", "persona-1-64k"], split=["rl", "test", "test"]),
        {2: "two splits share a customer"},
    ),
    "a query in two splits": (
        many(3, sql=["SELECT 1", "SELECT 1", "SELECT 1"], split=["sft", "sft", "test"]),
        {2: "two splits share a query"},
    ),
    "the same words in two splits": (
        many(2, question=["How many red lamps did I buy?", "How many red lamps did I buy"], split=["sft", "rl"]),
        {1: "two splits share a question"},
    ),
    "one answer to four questions of twelve": (
        many(200, shape=one_shape(12), answer=[*BEFORE, *"121314516789", *AFTER]),
        {98: GUESSABLE, 101: GUESSABLE},
    ),
    "one answer to both questions of a shape": (
        many(190, shape=one_shape(2), answer=[*BEFORE, *"11", *AFTER]),
        {95: GUESSABLE},
    ),
    "three questions in twenty with an idle condition": (
        many(20, idle_conditions=[["days"] if place in (3, 9, 17) else [] for place in range(20)]),
        {9: ONE_MORE, 17: ONE_MORE},
    ),
    "thirteen questions of a shape among 201": (many(201, shape=one_shape(13)), {106: OFTEN}),
    "one query in two splits, written in two ways": (
        many(
            3,
            shape="written",
            kind=["brand", "price", "search"],
            sql=[
                "SELECT COUNT(*) FROM events",
                "(select count(*)\nFROM Events) -- all",
                "SELECT COUNT(*) + 1 FROM events",
            ],
            split=["rl", "test", "sft"],
        ),
        {1: "two splits share a query"},
    ),
    "one answer to four written questions of a kind": (
        many(12, shape="written", kind="brand", answer=list("121314516789")),
        {4: GUESSABLE, 7: GUESSABLE},
    ),
}
"""What is wrong -> questions, and which of them must go for what reason."""


@pytest.fixture
def faults(tmp_path):
    """Of questions together: number -> reason."""

    def judge(questions, folder="all"):
        found = list_faults(STAGE, tmp_path / folder, *split_into_hundreds(questions), group=10)
        return {100 * file + row: reason for file, row, reason in found}

    return judge


@pytest.mark.parametrize("name", TOGETHER)
def test_questions_that_must_not_be_together_are_told_so(faults, name):
    questions, expected = TOGETHER[name]
    assert faults(questions) == expected


@pytest.mark.parametrize("name", TOGETHER)
def test_what_is_left_without_the_faults_has_none(faults, name):
    questions, expected = TOGETHER[name]
    left = [question for place, question in enumerate(questions) if place not in expected]
    assert faults(left) == {}


def test_no_shape_and_no_answer_is_common_in_what_is_left(faults):
    """Many shapes and answers, most of them too common: what goes for one makes others too common."""
    dice = Random(7)
    shapes = [f"shape{int(30 * dice.random() ** 2)}" for _ in range(900)]
    answers = [str(int(12 * dice.random() ** 2)) for _ in range(900)]
    questions = many(900, shape=shapes, answer=answers)
    gone = faults(questions)
    left = [question for place, question in enumerate(questions) if place not in gone]
    assert faults(left, "left") == {}
    assert 200 < len(left) < 900
    by_shape = defaultdict(list)
    for question in left:
        by_shape[question.shape].append(question.answer)
    for found in by_shape.values():
        assert len(found) <= max(1, 0.06 * len(left))
        assert max(Counter(found).values()) <= max(1, 0.2 * len(found))


def test_two_customers_of_one_split_may_be_asked_the_same(faults):
    assert faults(many(2, question="Which?", sql="SELECT 1", shape=["a", "b"])) == {}


def test_one_customer_may_be_asked_the_same_of_both_budgets(faults):
    both = many(2, trajectory_id=["persona-1-32k", "persona-1-64k"], question="Which?", sql="SELECT 1")
    assert faults(both) == {}


def test_written_questions_are_not_of_one_shape(faults):
    kinds = ["brand", "price", "search", "temporal"] * 10
    assert faults(many(40, shape="written", kind=kinds)) == {}


# The table


def test_every_check_has_a_question_that_it_rejects(datasets, tmp_path):
    records = [*(question for question, _ in (CASES | WRITTEN_CASES).values()), true("first", sql=f"{BOUGHT} LIMIT 1")]
    said = judge_batch(STAGE.checks, None, records, datasets)
    idle = {each.__name__ for each, reasons in zip(STAGE.checks, said, strict=True) if not any(reasons)}
    for across in STAGE.across:
        together = (written(tmp_path / name, "questions", Question, rows) for name, (rows, _) in TOGETHER.items())
        if not any(list(across(dataset)) for dataset in together):
            idle.add(across.__name__)
    assert idle == {"a_sample_is_read_alone"}  # what it finds is a fault of the code, which its own test plants


@pytest.mark.parametrize(
    ("answer_type", "value", "said"),
    [
        ("decimal", "32.11", None),
        ("decimal", "32.112", "a figure that is not rounded to two decimals at most"),
        ("decimal", "32", None),
        ("set", [f"lamp {n}" for n in range(8)], None),
        ("set", [f"lamp {n}" for n in range(9)], "an answer of more than 8 values"),
    ],
)
def test_a_written_answer_is_short(answer_type, value, said):
    found = by_model("a count", answer_type=answer_type, result=json.dumps(value))
    assert find_written_fault(found) == said


def test_only_what_a_model_wrote_is_run_in_the_sandbox_first(datasets):
    """Whatever was asked of the same trajectory before."""
    for question, guarded in ((true("clicks"), False), (by_model("a count"), True), (true("price"), False)):
        found = check.find_question_table(question, datasets["trajectories"])
        assert (found.guard is not None) == guarded


def test_a_query_that_eats_memory_inside_one_call_never_runs_in_this_process(small):
    """DuckDB's own limit does not see it; the sandbox's does."""
    trajectories = small.read("trajectories")
    id = trajectories.head(1)[0].id
    query = (
        "WITH RECURSIVE t(n, s) AS (SELECT 1, 'xxxxxxxx' UNION ALL SELECT n + 1, s || s FROM t WHERE n < 29) "
        "SELECT MAX(LENGTH(s)) FROM t, events"
    )
    assert explain_refusal(query) is None
    table = guard_table(id, trajectories)
    with pytest.raises(QueryFailed, match="it takes more than a query may"):
        table.duckdb(query, "integer")
    assert table.duckdb("SELECT COUNT(*) FROM events", "integer") > 0
