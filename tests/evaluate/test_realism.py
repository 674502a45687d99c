"""Realism: each figure on logs for which it is known by hand, on a month as people have them, and on one as nobody has it."""

import json
import re
import zlib
from datetime import datetime, timedelta
from decimal import Decimal
from html import unescape
from itertools import count
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docs.make import fill_figures
from shopwright.pipeline.evaluate.realism.figures import GOALS, tabulate_figures
from shopwright.pipeline.evaluate.realism.logs import COLUMNS, RawLog, join_logs, read_log_file
from shopwright.pipeline.evaluate.realism.measure import measure_logs
from shopwright.pipeline.evaluate.realism.searching import MOST_CLICKS
from shopwright.pipeline.evaluate.realism.two_sample import compare_searches, measure_area
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish.report import render_report
from shopwright.pipeline.publish.report_realism import KEPT
from shopwright.pipeline.render.trajectory import render_trajectory
from tests.evaluate.month import read_month

START = datetime(2024, 5, 1, 8)
HOME = Path(__file__).parents[2]
PEOPLE = HOME.parent / "shared" / "data" / "esci_us_judgments.json"
WORDS = {"?": "search", ">": "click", "+": "add to Cart", "$": "purchase"}
KINDS = {"k": "Electric Kettles", "l": "Table Lamps", "c": "Coffee Pods", "v": "Robot Vacuums", "t": "Tower Fans"}


def product(id):
    """`k2` is the second electric kettle, and so on; brands are One, Two, Three."""
    number = int(id[1:] or 1)
    kind = KINDS[id[0]]
    return {
        "asin": id,
        "product_name": f"{kind.lower().removesuffix('s')}, model {number}",
        "brand": ("One", "Two", "Three Oaks")[number % 3],
        "product_types": kind,
        "price": Decimal("9.99"),
    }


def event(hours, what):
    """`("? desk lamp")`, `("> k1")`, `("+ k1")` or `("$ k1")` at so many hours from the start."""
    mark, _, rest = what.partition(" ")
    facts = {"search_query": rest} if mark == "?" else product(rest)
    return {"timestamp": START + timedelta(hours=hours), "action_type": WORDS[mark], **facts}


def raw(name, *events, text=None):
    rows = [event(*each) if isinstance(each, tuple) else each for each in events]
    columns = {field.name: [row.get(field.name) for row in rows] for field in COLUMNS}
    full = [
        dict.fromkeys(("asin", "product_name", "brand", "color", "price", "product_types", "search_query")) | row
        for row in rows
    ]
    return RawLog(name, pa.table(columns, schema=COLUMNS), render_trajectory(full) if text is None else text)


def measure(*logs, **options):
    return measure_logs(join_logs(logs), **options)


def days(*events):
    return [(24 * day, what) for day, what in events]


def one_by_one(*whats):
    return [(hours, what) for hours, what in enumerate(whats)]


# --- what is bought and opened ------------------------------------------------------------------------------------------


def test_purchases_in_a_category_bought_before_leave_consumables_out():
    found = measure(raw("a", *one_by_one("$ k1", "$ k2", "$ l1", "$ v1", "$ t1", *["$ c1"] * 5)))
    assert found.find("repeat_purchases").value == 0.2
    assert found.find("repeat_purchases_all").value == 0.5
    assert measure(raw("a", *one_by_one("$ k1", "$ k2"))).find("repeat_purchases").value is None


def test_consumables_have_a_pace():
    found = measure(raw("a", *days((0, "$ c1"), (4, "$ c2"), (14, "$ c1"))), raw("b", *days((1, "$ c1"))))
    assert found.find("consumable_pace").value == 7


def test_most_of_a_durable_kind_is_within_thirty_days_and_of_one_customer():
    one = raw("a", *days((0, "$ k1"), (10, "$ k1"), (45, "$ k3"), (46, "$ l1")))
    other = raw("b", *days((0, "$ k1"), (1, "$ c1"), (1.5, "$ c1"), (2, "$ c1")))
    found = measure(one, other)
    assert (found.find("same_durable").value, found.find("same_durable").note) == (2, "Electric Kettles, a")
    assert found.find("same_durable_again").value == pytest.approx(1 / 3)
    assert measure(raw("a", *days((0, "$ k1"), (31, "$ k1")))).find("same_durable").value == 1


def test_clicks_after_buying_are_on_others_of_the_kind_within_a_week():
    log = days(
        (0, "$ k1"), (0.1, "$ l1"), (0.2, "$ v1"), (2, "> l1"), (3, "> k2"), (9, "> v2"), (20, "$ t1"), (21, "> t2")
    )
    found = measure(raw("a", *log), raw("b", *days((1, "> v3"), (30, "> v4"))))
    figure = found.find("clicks_after_buying")
    assert (figure.value, figure.count) == (pytest.approx(1 / 3), 3)  # the fan was bought in the log's last week


def test_categories_are_counted_and_weighed():
    found = measure(
        raw("a", *one_by_one("> k1", "> l1", "> v1", "> t1")), raw("b", *one_by_one("> k1", "> k2", "> k1", "? lamp"))
    )
    assert found.find("categories_seen").value == 2.5
    assert found.find("categories_even").value == pytest.approx(2.5)


@pytest.mark.parametrize(("power", "slope"), [(0.0, 0.0), (0.7, -0.7), (1.0, -1.0)])
def test_the_slope_of_clicks_over_products_is_found(power, slope):
    chance = np.arange(1.0, 3_001) ** -power
    clicks = np.random.default_rng(1).choice(3_000, 40_000, p=chance / chance.sum())
    log = pa.table(
        {
            "timestamp": pa.array(np.arange(len(clicks)) * 1_000_000, pa.timestamp("us")),
            **{name: pa.nulls(len(clicks), pa.string()) for name in ("brand", "search_query")},
            "action_type": ["click"] * len(clicks),
            "asin": [str(each) for each in clicks],
            "product_name": ["lamp"] * len(clicks),
            "product_types": ["lamps"] * len(clicks),
        }
    ).select(COLUMNS.names)
    assert measure(RawLog("a", log.cast(COLUMNS), "x")).find("zipf_slope").value == pytest.approx(slope, abs=0.13)


# --- what is typed ------------------------------------------------------------------------------------------------------


def test_a_search_that_begins_with_a_brand_is_answered_by_the_click_right_after_it():
    log = ["? ONE kettle", "> k2", "? three oaks lamp", "> l2", "? one kettle", "? lamp", "> l2", "? onelamp", "> k2"]
    found = measure(raw("a", *one_by_one(*log, "? one lamp")), raw("b", *one_by_one("> l1", "> l3")))
    figure = found.find("brand_broken")
    assert (figure.value, figure.count) == (0.5, 2)  # k2 is of Three Oaks, as l2 is; the click of b does not answer a


def test_places_are_those_of_the_last_search_of_the_same_customer():
    shown = {"kettle": [f"k{number}" for number in range(1, 41)], "lamp": ["l1"]}
    asked = []

    def rank(query, most):
        asked.append((query, most))
        return shown[query]

    log = ["> k1", "? kettle", "> k1", "> k30", "+ k1", "> k3", "? lamp", "> k1", "? kettle", "> k20"]
    found = measure(raw("a", *one_by_one(*log)), raw("b", *one_by_one("> k1")), rank=rank)
    off, top, curve = found.find("off_page"), found.find("top_three"), found.find_curve("places")
    assert (off.value, off.count) == (0.2, 5)
    assert (top.value, top.count) == (pytest.approx(2 / 3), 3)
    assert [place for place, share in zip(curve.x, curve.y, strict=True) if share] == [1, 3, 20, 30]
    assert sorted(asked) == [("kettle", 40), ("lamp", 40)]
    assert found.find("off_page").verdict == "missed"


def test_without_an_engine_nothing_is_said_of_places():
    found = measure(raw("a", *one_by_one("? kettle", "> k1")))
    assert [found.find(key).value for key in ("off_page", "top_three")] == [None, None]
    assert found.find("off_page").note == "needs the shop's engine"
    assert MOST_CLICKS > 10_000


def test_the_shape_of_searches():
    typed = ["kettle", "kettle", "lamp without a shade", "quiet kettle for a very small kitchen", "electric kettle"]
    found = measure(raw("a", *one_by_one(*(f"? {text}" for text in typed))))
    shares = {key: found.find(key).value for key in ("one_word", "six_words", "small_words")}
    assert shares == {"one_word": 0.4, "six_words": 0.2, "small_words": 0.4}
    assert found.find_curve("lengths").y == [0.4, 0.2, 0, 0.2, 0, 0, 0.2]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("electirc fan", True),
        ("elctric kettle", True),
        ("kettel", True),
        ("electtric kettle", True),
        ("blue elec", True),
        ("elec kettle", False),  # only the last word can be cut
        ("kettles", False),
        ("kettle's lid", False),
        ("settle", False),  # people seldom miss the first letter
        ("cattle", False),  # two letters away
        ("xk-200 kettle", False),
        ("table lamps", False),
        ("robotics", False),
        ("fun", False),
        ("water flask", False),
    ],
)
def test_misspelt_and_cut_words(text, wrong):
    titles = [(number, f"> {kind}{number + 1}") for number, kind in enumerate("kkkkltvltvltv")]
    found = measure(raw("a", *titles, (50, f"? {text}")))
    assert found.find("misspelt").value == wrong


def test_a_word_that_many_type_is_no_error():
    titles = [(number, f"> k{number + 1}") for number in range(4)]
    logs = [raw(str(number), *titles, (9, "? kettlo")) for number in range(3)]
    assert measure(*logs).find("misspelt").value == 0


def test_searches_from_one_source_cannot_be_told_apart_and_others_can():
    random = Random(4)
    plain = [
        " ".join(random.choices(["red", "lamp", "for", "kids", "desk", "2", "oak"], k=random.randint(1, 6)))
        for _ in range(600)
    ]
    asked = [f"where can i find a {text}?" for text in plain[:300]]
    same = compare_searches(plain[:300], plain[300:])
    assert 0.4 < same.value < 0.6
    assert compare_searches(plain[300:], asked).value > 0.98
    assert compare_searches(plain[:300], plain[300:]) == same
    assert compare_searches(["lamp"] * 900, plain).value is None  # one search, many times


def test_an_area_under_the_curve_counts_ties_half():
    assert measure_area(np.array([1.0, 2.0]), np.array([1.0, 0.0])) == 0.875


def test_peoples_strings_stand_beside_the_log():
    typed = [f"lamp number {number}" for number in range(40)]
    found = measure(raw("a", *one_by_one("? red lamp")), people=[*typed, "lamp"])
    assert {figure.key for figure in found.people} == {"one_word", "six_words", "small_words", "misspelt"}
    assert next(figure for figure in found.people if figure.key == "one_word").value == pytest.approx(1 / 41)
    table = tabulate_figures(found)
    assert table.columns[4] == "people's"
    assert next(row for row in table.rows if row[0] == "searches of one word")[4] == "2.4 %"


@pytest.mark.skipif(not PEOPLE.exists(), reason="people's searches are not there")
def test_real_searches_have_the_shape_that_the_goals_ask_for():
    typed = [each["query"] for each in json.loads(PEOPLE.read_text(encoding="utf-8"))["judgmentRatings"]]
    found = measure(raw("a", *one_by_one(*(f"? {text}" for text in typed))))
    assert {found.find(key).verdict for key in ("one_word", "six_words")} == {"reached"}
    assert found.find("small_words").verdict == "reached"
    halves = compare_searches(typed[::2], typed[1::2])
    assert halves.low < 0.6


# --- time, form, and what can be foreseen ---------------------------------------------------------------------------------


def test_gaps_and_days():
    minutes = [0, 1, 21, 22, 22 + 5 * 24 * 60]
    found = measure(raw("a", *((each / 60, "? lamp") for each in minutes)), raw("b", (3, "? fan")))
    assert (found.find("middle_gaps").value, found.find("middle_gaps").count) == (0.25, 4)
    assert sum(found.find_curve("gaps").y) == pytest.approx(1)
    regular = measure(raw("a", *((24 * day, "? lamp") for day in range(20))))
    assert (regular.find("quiet_days").value, regular.find("uneven_days").value) == (0, 0)
    assert regular.find("burstiness").value == -1
    every_other = measure(raw("a", *((48 * day, "? lamp") for day in range(11))))
    assert every_other.find("quiet_days").value == pytest.approx(10 / 21)


def test_a_log_is_packed_as_zlib_packs_it():
    log = raw("a", *one_by_one(*["? lamp"] * 50))
    text = log.text.encode()
    assert measure(log).find("zlib").value == len(text) / len(zlib.compress(text, 9))


def test_a_purchase_may_have_been_looked_at_days_before():
    log = days((0, "> k1"), (3, "> k1"), (3.1, "$ k1"), (3.2, "> l1"), (3.3, "$ l1"), (4.5, "$ v1"))
    assert measure(raw("a", *log)).find("carried_on").value == pytest.approx(1 / 3)


def test_what_always_follows_is_foreseen_and_what_is_drawn_is_not():
    turns = [raw(str(customer), *one_by_one(*["? lamp", "> l1", "> l2"] * 20)) for customer in range(5)]
    found = measure(*turns).find("next_type")
    assert found.value == pytest.approx(59 / 59, abs=0.02)
    assert "order 1: 67." in found.note or "order 1: 66." in found.note
    random = Random(2)
    drawn = [raw(str(customer), *one_by_one(*random.choices(["? lamp", "> l1"], k=200))) for customer in range(5)]
    assert measure(*drawn).find("next_type").value == pytest.approx(0.5, abs=0.06)
    assert measure(drawn[0]).find("next_type").note == "needs two customers"


def test_the_next_search_is_guessed_by_the_best_of_four():
    again = [raw(str(customer), *one_by_one(*[f"? text {customer}"] * 5)) for customer in range(3)]
    assert measure(*again).find("next_text").value == 1
    chain = [raw(str(customer), *one_by_one("? a", "? b", "? c", "? a", "? b", "? c")) for customer in range(3)]
    assert measure(*chain).find("next_text").value == 1
    new = count()
    never = [raw(str(customer), *one_by_one(*(f"? text {next(new)}" for _ in range(5)))) for customer in range(3)]
    assert measure(*never).find("next_text").value == 0
    by_click = [raw(str(customer), *one_by_one(f"? text {next(new)}", "> l1", "? Table Lamp")) for customer in range(3)]
    assert "what was clicked last: 100.0 %" in measure(*by_click).find("next_text").note


def test_customers_that_differ_make_an_interval_wide():
    alike = [raw(str(n), *one_by_one(*["? lamp", "? red lamp"] * 50)) for n in range(20)]
    split = [raw(str(n), *one_by_one(*["? lamp" if n % 2 else "? red lamp"] * 100)) for n in range(20)]
    narrow, wide = (measure(*logs).find("one_word") for logs in (alike, split))
    assert narrow.value == wide.value == 0.5
    assert narrow.high - narrow.low < 0.05
    assert wide.high - wide.low > 0.3


# --- files and bad rows -----------------------------------------------------------------------------------------------------


LINES = render_trajectory(
    [
        dict.fromkeys(("asin", "product_name", "brand", "color", "price", "product_types", "search_query"))
        | event(*each)
        for each in one_by_one("? lamp", "> l1", "$ l1")
    ]
)


def test_a_log_in_the_text_form_gives_the_figures_of_its_rows(tmp_path):
    customers = [
        one_by_one("? one lamp", "> l1", "> k2", "+ k2", "$ k2", "? kettle for tea", "> k1", "$ v1") for _ in range(3)
    ]
    logs = [raw(f"log {n + 1}", *each) for n, each in enumerate(customers)]
    (tmp_path / "logs.txt").write_text("\n\n".join(log.text for log in logs) + "\n")
    (tmp_path / "logs.jsonl").write_text("\n".join(json.dumps({"text": log.text}) for log in logs))
    pq.write_table(pa.table({"text": [log.text for log in logs]}), tmp_path / "text.parquet")
    rows = [log.events.to_pylist() for log in logs]
    pq.write_table(pa.table({"persona_id": ["a", "b", "c"], "events": rows}), tmp_path / "events.parquet")
    wanted = measure(*logs)
    for name in ("logs.txt", "logs.jsonl", "text.parquet", "events.parquet"):
        found = measure(*read_log_file(tmp_path / name, 10))
        assert [(each.key, each.value) for each in found.figures if each.key != "zlib"] == [
            (each.key, each.value) for each in wanted.figures if each.key != "zlib"
        ], name
    assert found.kinds_from_titles == 0
    assert measure(*read_log_file(tmp_path / "logs.txt", 10)).kinds_from_titles == 1
    assert len(read_log_file(tmp_path / "logs.txt", 2)) == 2


def test_of_a_customer_with_several_budgets_the_longest_log_counts(tmp_path):
    short, long = (raw("a", *one_by_one(*["? lamp"] * size)).events.to_pylist() for size in (2, 5))
    pq.write_table(pa.table({"persona_id": ["a", "a", "b"], "events": [short, long, short]}), tmp_path / "x.parquet")
    assert [len(log.events) for log in read_log_file(tmp_path / "x.parquet", 10)] == [5, 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"timestamp": None}, "a, row 1: it has no time."),
        (
            {"action_type": "buy"},
            "a, row 1: it has an action type that is none of search, click, add to Cart, purchase.",
        ),
        ({"action_type": None}, "a, row 1: it has an action type"),
        ({"asin": None}, "a, row 1: it has no product id."),
        ({"asin": " "}, "a, row 1: it has no product id."),
        ({"product_name": ""}, "a, row 1: it has no title."),
        ({"action_type": "search"}, "a, row 1: it is a search without a text."),
        (
            {"timestamp": START - timedelta(days=1)},
            "a, row 1: it is earlier than the row before it; put the rows in order of time.",
        ),
    ],
)
def test_a_bad_row_is_told_in_one_line(change, said):
    good = raw("first", *one_by_one("? lamp", "> l1"))
    with pytest.raises(Problem, match=re.escape(said)):
        measure(good, raw("a", (0, "? lamp"), event(1, "> l1") | change, (2, "? lamp"), text="x"))


def test_several_bad_rows_are_counted():
    bad = event(1, "> l1") | {"asin": None}
    with pytest.raises(Problem, match=r"row 1: it has no product id\. 1 more rows are wrong\."):
        measure(raw("a", (0, "? lamp"), bad, bad, text="x"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.txt", b"2024-05-01 10:00:00 look [Search Amazon || lamp]", "log 1, line 0 is not an action"),
        ("x.txt", LINES.encode() + b"\n\nhello", "log 2, line 0 does not begin with a time"),
        ("x.txt", b" \n", "holds no log"),
        ("x.txt", b"\xff", "cannot be read as logs"),
        ("x.jsonl", b'{"words": 1}', "cannot be read as logs"),
        ("x.jsonl", b"no", "x.jsonl: "),
        ("x.parquet", b"no", "cannot be read as logs|x.parquet: "),
    ],
)
def test_a_file_without_logs_is_told(shopwright, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    code, out, err = shopwright("evaluate", "realism", "--log", tmp_path / name)
    assert (code, out) == (2, "")
    assert re.search(said, err)
    assert err.count("\n") == 1


def test_parquet_without_events_or_with_other_ones_is_told(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(Problem, match="neither a column `events` nor a column `text`"):
        read_log_file(tmp_path / "x.parquet", 9)
    pq.write_table(pa.table({"events": [[{"when": 1}]]}), tmp_path / "x.parquet")
    with pytest.raises(Problem, match="its events have no action_type and no timestamp"):
        read_log_file(tmp_path / "x.parquet", 9)
    with pytest.raises(Problem, match="there is no such file"):
        read_log_file(tmp_path / "y.parquet", 9)


# --- a life, and none ---------------------------------------------------------------------------------------------------------

LIFE = """repeat_purchases consumable_pace same_durable same_durable_again clicks_after_buying categories_seen categories_even
    brand_broken off_page top_three one_word six_words small_words misspelt zlib middle_gaps burstiness quiet_days uneven_days""".split()


def test_a_month_as_people_have_it_is_taken_for_a_life():
    month, rank = read_month()
    found = measure_logs(join_logs([month]), rank=rank)
    missed = {key: found.find(key).format_value() for key in LIFE if found.find(key).verdict != "reached"}
    assert missed == {}


def test_a_log_of_obsessions_is_not():
    """Sixteen kettles in a month, the same visit every morning, and clicks that no search explains."""
    random = Random(3)
    searches = ["one electric kettle", "two red electric kettle deals", "one electric kettle reviews cheap"]
    visit = ["? " + searches[0], "> k2", "? " + searches[1], "> k1", "? " + searches[2], "> k3", "+ k3", "$ k3"]
    logs = []
    for customer in range(4):
        log = [(24 * day + step / 60, what) for day in range(30) for step, what in enumerate(visit)]
        logs.append(raw(str(customer), *log))
    people = [f"lamp for the {random.choice(['desk', 'hall'])} {number}" for number in range(200)]
    found = measure(*logs, rank=lambda query, most: ["k9"], people=people)
    missed = {figure.key for figure in found.figures if figure.verdict == "missed"}
    bad = {
        "repeat_purchases",
        "same_durable",
        "same_durable_again",
        "clicks_after_buying",
        "categories_seen",
        "categories_even",
        "brand_broken",
        "off_page",
    }
    bad |= {"one_word", "small_words", "misspelt", "zlib", "middle_gaps", "quiet_days", "uneven_days", "next_type"}
    assert bad <= missed


# --- the command, the report, the page and the docs ----------------------------------------------------------------------------


def test_the_command_measures_a_run_and_its_report_shows_it(shopwright, copy, tmp_path):
    people = tmp_path / "people.txt"
    people.write_text("\n".join(f"lamp for room {number}" for number in range(60)))
    code, out, _ = shopwright("evaluate", "realism", "--run", copy.folder, "--against", people, "--json")
    found = json.loads(out)
    assert code == 0
    assert [figure["key"] for figure in found["figures"]] == list(GOALS)
    assert all(figure["definition"] and figure["verdict"] in ("", "reached", "missed") for figure in found["figures"])
    assert found["customers"] == 20
    assert next(each for each in found["figures"] if each["key"] == "off_page")["count"] > 50
    assert next(each for each in found["figures"] if each["key"] == "two_sample")["value"] > 0.5
    page = (copy.folder / "report.html").read_text()
    assert '<section id="realism">' in page
    assert all(goal.name.strip() in unescape(page) for goal in GOALS.values())
    code, out, _ = shopwright("evaluate", "realism", "--run", copy.folder, "--customers", 3)
    assert code == 0
    assert ": 3 customers," in out
    assert "searches of one word" in out


def test_figures_of_other_trajectories_are_not_shown(shopwright, copy):
    shopwright("evaluate", "realism", "--run", copy.folder)
    path = copy.folder / "evaluations" / KEPT
    assert 'id="realism"' in render_report(copy)
    path.write_text(path.read_text().replace('"made": "', '"made": "x'))
    assert 'id="realism"' not in render_report(copy)
    path.write_text("[]")
    with pytest.raises(Problem, match="holds no figures"):
        render_report(copy)


def test_a_foreign_log_gets_a_page_of_its_own(shopwright, small, tmp_path):
    (tmp_path / "<i>.txt").write_text(LINES)
    options = ("--log", tmp_path / "<i>.txt", "--html", tmp_path / "page.html")
    code, out, _ = shopwright("evaluate", "realism", *options)
    assert code == 0
    assert "needs the shop's engine" in out
    assert "100 % of the products have no category" in out
    page = (tmp_path / "page.html").read_text()
    assert "&lt;i&gt;.txt" in page
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|url\(|@import", page)
    assert page.count('role="img"') == page.count("<figure")
    code, out, _ = shopwright("evaluate", "realism", *options, "--shop", small.folder)
    assert code == 0
    assert "opened beyond two pages of the search              100.0 %" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--judge", "openai:toy@http://127.0.0.1:9/v1"), "Say --real FILE."),
        (("--shop", "x"), "--shop belongs to --log."),
        (("--log", "x", "--real", "y"), "Leave --log out."),
        (("--against", "nowhere.txt"), "--against nowhere.txt cannot be read"),
    ],
)
def test_options_that_do_not_go_together_are_told(shopwright, small, words, said):
    code, out, err = shopwright("evaluate", "realism", "--run", small.folder, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_docs_say_what_each_figure_means():
    page = (HOME / "docs" / "realism.md").read_text(encoding="utf-8")
    assert fill_figures(page) == page, "make it again: python -m docs.make"
    assert all(goal.definition in page for goal in GOALS.values())
