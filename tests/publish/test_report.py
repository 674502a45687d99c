"""The report: what each picture says is what the rows say, of a bounded part of them, and what is missing is not there."""

import json
import os
import re
from datetime import datetime, timedelta
from html.parser import HTMLParser

import numpy as np
import pytest

from shopwright.pipeline.evaluate.audit import AuditCell
from shopwright.pipeline.evaluate.statistics import measure_share
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish import (
    report_behaviors,
    report_catalog,
    report_customers,
    report_envs,
    report_questions,
    report_rollouts,
    report_sample,
    report_search,
    report_shopping,
)
from shopwright.pipeline.publish.chart_shapes import LONG, MONTH, audits, histogram, time_line
from shopwright.pipeline.publish.report import PAGES, list_sections, rank_reasons, render_report, write_report
from shopwright.pipeline.publish.report_envs import arrange_audit
from shopwright.pipeline.publish.report_first import find_audit_faults, list_findings
from shopwright.pipeline.publish.report_sample import find_titles, sample, with_ids
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from shopwright.pipeline.world.actions import ACTIONS
from shopwright.schemas.shop import Query
from tests.publish.shops import hostile
from tests.rows import write_dataset

FREE = {"meta", "link", "br", "rect", "circle", "line", "polyline", "img"}
"""Elements that need no end."""


class Page(HTMLParser):
    """A page's elements, its text, and whether every element ends where it should."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.wrong = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in FREE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in FREE:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def all(self, tag):
        return [facts for name, facts in self.found if name == tag]


@pytest.fixture(scope="module")
def text(small):
    return render_report(small)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture
def report_command(shopwright):
    return lambda *arguments: shopwright("report", *arguments)


def without(run, *names):
    for name in names:
        run.read(name).manifest_path.unlink()
    return run


# The page


def test_the_page_is_whole_and_needs_nothing_else(text, page):
    assert (page.wrong, page.open) == ([], [])
    assert not page.all("script")
    places = [facts.get("href", facts.get("src", "")) for _, facts in page.found]
    assert {place[:1] for place in places if place and place != "data:,"} == {"#"}
    assert not re.search(r"url\(|@import", text)


def test_the_contents_name_each_section_in_order(page):
    keys = [facts["id"] for facts in page.all("section")]
    links = [facts["href"] for facts in page.all("a")]
    assert links[: len(keys)] == [f"#{key}" for key in keys]
    assert {link.removeprefix("#") for link in links} <= set(keys)
    assert keys == [key for key in list_sections() if key in keys]
    assert {"made", "catalog", "customers", "questions", "environments", "tasks", "sessions", "rejected"} <= {*keys}


def test_what_to_look_at_first_is_what_was_rejected_and_what_is_still_to_be_made(copy):
    path = copy.read("questions").manifest_path
    made = json.loads(path.read_text(encoding="utf-8"))
    made |= {"rejected": made["rows"], "rejects": {"too vague": made["rows"] - 1, "other": 1}}
    path.write_text(json.dumps({**made, "requested": 2 * made["rows"] + 7, "sum": None}), encoding="utf-8")
    found = list_findings(copy, copy.manifests(), {})
    assert any("7 of" in one.words and "questions are still to be made" in one.words for one in found)
    assert any("50.0% of questions were rejected" in one.words and "too vague" in one.words for one in found)
    assert found[0].section == "made"


def test_the_solver_that_fails_and_the_best_cheap_player_are_named_first():
    cells = [
        AuditCell({"env": "policy_qa", "level": 3}, policy, measure_share(good, 10), {"reward": 0.0})
        for policy, good in (("solver", 9), ("first-result", 2), ("echo-the-query", 0))
    ]
    found = [one.words for one in find_audit_faults(arrange_audit(cells))]
    assert found[0] == "The solver fails in policy_qa level 3."
    assert "first result succeeds most often: 20.0%" in found[1]
    assert list(find_audit_faults(None)) == []


def test_every_picture_has_words(page):
    pictures = page.all("svg")
    assert len([one for one in pictures if one.get("role") == "img"]) >= 4
    for one in pictures:
        assert one.get("aria-hidden") == "true" or len(one["aria-label"]) > 40


def test_what_scrolls_can_be_reached_by_keyboard(page):
    tables = [facts for tag, facts in page.found if facts.get("class") == "scroll"]
    assert len(tables) == len(page.all("table")) > 5
    assert all(facts["tabindex"] == "0" and facts["aria-label"] for facts in tables)


def test_what_is_missing_is_not_there(copy):
    names = [path.stem for path in (copy.folder / "manifests").iterdir() if path.stem not in ("catalog", "personas")]
    page = Page(render_report(without(copy, *names)))
    assert [facts["id"] for facts in page.all("section")] == ["made", "catalog"]
    page = Page(render_report(without(copy, "catalog")))
    assert [facts["id"] for facts in page.all("section")] == ["made"]
    with pytest.raises(Problem, match="no finished dataset"):
        render_report(without(copy, "personas"))


def test_a_dataset_without_rows_is_no_section(copy):
    for name in all_stages():
        found = copy.read(name)
        if not found.manifest:
            continue
        manifest = found.manifest.model_copy(update={"rows": 0})
        for path in found.files:
            path.unlink()
        found.manifest_path.write_text(manifest.model_dump_json())
    shown = {facts["id"] for facts in Page(render_report(copy)).all("section")} - {"first", "made", "rejected"}
    assert not shown, "the function of a section gives nothing where its dataset has no rows"


def test_hostile_texts_stay_texts(small, tmp_path):
    text = render_report(hostile(small, tmp_path))
    page = Page(text)
    assert (page.wrong, page.open) == ([], [])
    assert not page.all("script") + page.all("img")
    assert len(page.all("h1")) == 1
    assert not [facts for _, facts in page.found if any(name.startswith("on") for name in facts)]
    assert text.count("&lt;script&gt;") > 20
    assert "{{ 7 * 7 }}" in text
    assert "a" * 2_001 not in re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202e]", text)


# What it looks at


@pytest.fixture
def queries(tmp_path):
    """A dataset of 40 row groups of 50 rows, in four files."""
    rows = [query(number) for number in range(2_000)]
    return write_dataset(
        tmp_path, "queries", Query, *(rows[first : first + 500] for first in range(0, 2_000, 500)), group=50
    )


def query(number):
    return Query(id=f"q-{number:05d}", category="Lamps", group="Home", texts=["x" * 50], written_by="code")


def test_a_sample_is_spread_over_the_dataset_and_no_larger_than_asked(queries):
    some = sample(queries, ["id"], rows=400)
    groups = {int(id[2:]) // 50 for id in some.table["id"].to_pylist()}
    assert (len(some), some.total) == (400, 2_000)
    assert groups == {0, 5, 10, 15, 20, 25, 30, 35}
    assert some.describe_size == "400 of 2,000 rows, spread evenly"
    assert sample(queries, ["id"]).describe_size == "all 2,000 rows"
    assert some.sql("select count(*), count(distinct id) from rows") == [(400, 400)]


def test_a_sample_of_large_rows_holds_few(queries):
    whole = sum(group.bytes for path in queries.files for group in report_sample.groups_of(path, ["id", "texts"]))
    assert len(sample(queries, ["id", "texts"], bytes=whole // 4)) == 500
    assert len(sample(queries, ["id", "texts"], bytes=1)) == 50
    assert len(sample(queries, ["id"], rows=7)) == 7


def test_a_sample_of_many_files_reads_few_of_them(queries, monkeypatch):
    monkeypatch.setattr(report_sample, "FILES", 2)
    some = sample(queries, ["id"])
    assert {int(id[2:]) // 500 for id in some.table["id"].to_pylist()} == {0, 2}
    assert some.total == 2_000


def test_rows_are_found_by_their_ids_wherever_they_are(queries):
    found = with_ids(queries, ["q-00000", "q-01234", "q-01999", "q-x"], ["category"])
    assert sorted(found) == ["q-00000", "q-01234", "q-01999"]
    assert found["q-01234"]["category"] == "Lamps"


def test_titles_are_those_of_the_catalog(small):
    some = small.read("catalog").head(3)
    assert find_titles(small.read("catalog"), [one.id for one in some] + ["o'no"]) == {
        one.id: one.title for one in some
    }
    assert find_titles(small.read("catalog"), []) == {}


def few(monkeypatch):
    """Samples of three rows, whatever is asked for."""
    for module in (report_behaviors, report_envs, report_questions, report_customers, report_shopping):
        monkeypatch.setattr(
            module, "sample", lambda dataset, columns, rows=3: sample(dataset, columns, rows=min(rows, 3))
        )


@pytest.mark.slow
def test_every_count_is_of_all_rows_however_few_are_looked_at(small, monkeypatch):
    few(monkeypatch)
    page = render_report(small)
    catalog = small.read("catalog").table(["category", "brand"])
    leaves, brands = (len(set(catalog[name].to_pylist()) - {None}) for name in ("category", "brand"))
    assert report_catalog.gather_catalog_facts(small.read("catalog"))["counts"][:2] == (leaves, brands)
    assert f"{leaves} leaf categories" in page
    customers = report_customers.gather_customer_facts(small.read("trajectories"))
    assert sum(row[1] for row in customers["sizes"]) == len(small.read("trajectories"))
    assert sum(customers["hours"].values()) == sum(len(row.events) for row in small.read("trajectories"))
    questions = small.call(report_questions.gather_question_facts)
    assert all(sum(count for _, count in mix) == len(small.read("questions")) for mix in questions["mixes"].values())
    assert sum(row[2] for row in questions["splits"]) == len(small.read("questions"))
    assert sum(row[1] for row in small.call(report_envs.gather_env_facts)["counts"]) == len(small.read("env_tasks"))
    assert sum(row[2] for row in report_shopping.task_facts(small, small.read("shopping_tasks"))["counts"]) == len(
        small.read("shopping_tasks")
    )
    sessions = small.call(report_behaviors.gather_behavior_facts)
    steps = [len(row.steps) for row in small.read("behaviors")]
    assert sum(row[1] for row in sessions["counts"]) == len(steps)
    assert sum(row[3] for row in sessions["counts"]) == sum(count for _, count in sessions["reasons"]) == sum(steps)
    assert sum(row[1] for row in sessions["prompts"][:2]) == len(small.read("behavior_steps"))


def test_what_is_of_a_sample_says_so_beside_it(small, monkeypatch):
    few(monkeypatch)
    page = render_report(small)
    assert page.count(f"3 of {len(small.read('behaviors')):,} rows, spread evenly") == 2  # bytes and pay-offs


def test_difficulties_stand_from_easy_to_hard(small):
    levels = ["easy", "medium", "hard"]
    for rows in (
        small.call(report_questions.gather_question_facts)["mixes"]["Difficulty"],
        report_rollouts.gather_rollout_facts(small.read("rollouts"))["levels"],
        report_rollouts.gather_prompt_facts(small.read("rl_prompts"))["levels"],
    ):
        names = [row[0] for row in rows]
        assert names == [level for level in levels if level in names]


def test_rollouts_and_prompts_are_counted_whole(small, text):
    rollouts = list(small.read("rollouts"))
    found = report_rollouts.gather_rollout_facts(small.read("rollouts"))
    assert sum(row[2] for row in found["counts"]) == sum(count for _, count in found["mistakes"]) == len(rollouts)
    reward = sum(row[2] * row[3] for row in found["counts"])
    assert reward == pytest.approx(sum(one.reward for one in rollouts))
    prompts = list(small.read("rl_prompts"))
    rates = {
        policy: (questions, tries, right)
        for policy, questions, tries, right in report_rollouts.gather_prompt_facts(small.read("rl_prompts"))["rates"]
    }
    for policy, (questions, tries, right) in rates.items():
        own = [each for one in prompts for each in one.pass_rates if each.policy == policy]
        assert (questions, tries, right) == (len(own), sum(each.tries for each in own), sum(each.right for each in own))
    assert "<h2>Rollouts</h2>" in text
    assert "<h2>Questions to learn on by trying</h2>" in text


def test_numbers_from_a_hundred_up_are_small_enough_for_their_dots(small, monkeypatch):
    facts = report_customers.gather_customer_facts(small.read("trajectories"))
    line = time_line([event("purchase", minutes=number) for number in range(120)], ACTIONS)
    monkeypatch.setattr(
        report_customers, "gather_customer_facts", lambda run: facts | {"month": {"persona": "p", "line": line}}
    )
    marks = [
        one["class"] for one in Page(render_report(small)).all("text") if one.get("class", "").startswith("of-mark")
    ]
    assert marks == ["of-mark"] * 99 + ["of-mark small"] * 21


@pytest.mark.parametrize("low", [53_910, 153_910, 900])
def test_the_ends_of_an_axis_have_room(low):
    """A letter of 10.5 is some 6.2 wide."""
    drawn = report_customers.tokens_histogram({low + 10 * step: 1 for step in range(17)})
    page = PAGES.from_string('{% from "chart_shapes.j2" import histogram %}{{ histogram("x", drawn, "") }}').render(
        drawn=drawn
    )
    x, _, wide, _ = map(float, re.search(r'viewBox="([^"]*)"', page)[1].split())
    for tick in drawn.ticks:
        half = 6.2 * len(tick.text) / 2
        assert x <= tick.x - half
        assert tick.x + half <= x + wide


# The shop and its customers


def test_the_price_picture_is_of_all_prices(small):
    facts = report_catalog.gather_catalog_facts(small.read("catalog"))
    prices = [float(product.price) for product in small.read("catalog")]
    for low, up, count in re.findall(r"(\d[\d,]*) to (\d[\d,]*) dollars: (\d+)", facts["histogram"].said):
        low, up = (int(each.replace(",", "")) for each in (low, up))
        assert int(count) == sum(low <= price < up for price in prices)
    assert max(column.height for column in facts["histogram"].columns) == 120


def test_tokens_far_apart_stand_in_ever_larger_steps():
    near = report_customers.tokens_histogram({5_900: 1, 5_950: 1, 6_000: 1})
    far = report_customers.tokens_histogram({1: 1, 900: 1, 64_000: 1, 64_001: 1})
    assert "5,950" in near.said
    assert far.said == "1 to 2 tokens: 1; 500 to 1,000 tokens: 1; 50,000 to 100,000 tokens: 2"
    assert len(far.ticks) <= 8


def test_a_histogram_says_where_there_is_no_bound():
    drawn = histogram([1_000, 5_000, None], [0, 2], " dollars")
    assert drawn.said == "from 5,000 dollars: 2"
    assert [tick.text for tick in drawn.ticks] == ["1k", "5k"]
    assert [column.height for column in drawn.columns] == [0, 120]


BEGIN = datetime(2024, 5, 1, 10)


def event(kind, **later):
    at = BEGIN + timedelta(**later)
    return {"timestamp": at, "action_type": kind, "search_query": "tea", "product_name": "pot", "price": 1}


def test_a_time_line_has_a_line_for_each_day_and_numbers_what_was_carted_and_bought():
    search, click, cart, purchase = ACTIONS
    made = [event(search), event(click, minutes=1), event(cart, minutes=2), event(purchase, days=1)]
    drawn = time_line([*made, event(search, days=1, hours=2)], ACTIONS)
    assert [dot.number for dot in drawn.dots] == [0, 0, 1, 2, 0]
    assert [each["number"] for each in drawn.bought] == [1, 2]
    assert [day.text for day in drawn.days] == ["May 1", "May 2"]
    assert [hour.text for hour in drawn.hours] == ["10:00", "10:00", "12:00"]
    assert drawn.dots[0].y == drawn.dots[2].y < drawn.dots[3].y == drawn.dots[4].y
    assert drawn.counts == {search: 2, click: 1, cart: 1, purchase: 1}
    assert drawn.dots[0].said == "2024-05-01 10:00 search: tea"
    assert drawn.dots[1].said == "2024-05-01 10:01 click: pot"


def test_a_time_line_ends_after_a_month_and_never_leaves_its_room():
    many = [event("click", minutes=10 * number) for number in range(6 * 24 * 40)]
    drawn = time_line(many, ACTIONS)
    assert all(0 < dot.x < LONG for dot in drawn.dots)
    assert all(0 < dot.y < drawn.height for dot in drawn.dots)
    assert drawn.height < 1_000
    assert drawn.counts["click"] == len(drawn.dots)
    daily = time_line([event("click", days=day) for day in range(40)], ACTIONS)
    assert len(daily.days) == MONTH
    assert time_line([], ACTIONS) is None


def test_the_month_is_that_of_who_did_most(small):
    logs = list(small.read("trajectories"))
    month = report_customers.month(sample(small.read("trajectories"), ["id", "persona_id", "events"]))
    most = max(len(log.events) for log in logs)
    assert month["persona"] in {log.persona_id for log in logs if len(log.events) == most}
    assert sum(month["line"].counts.values()) == most


# Questions


def test_evidence_is_marked_in_its_trajectory(small):
    facts = small.call(report_questions.gather_question_facts)
    lines = {log.id: log.text.split("\n") for log in small.read("trajectories")}
    known = {one.id: one for one in small.read("questions")}
    assert {one["kind"] for one in facts["some"]} == {one.kind for one in known.values()}
    assert any(one["evidence"] for one in facts["some"])
    for one in facts["some"]:
        marked = [line for line in one["lines"] if not line["left_out"] and line["is_evidence"]]
        assert [line["row"] for line in marked] == sorted(known[one["id"]].evidence)[: report_questions.MARKED]
        told = [line for line in one["lines"] if not line["left_out"]]
        assert all(line["text"] == lines[one["trajectory_id"]][line["row"]] for line in told)
        if told:
            left = sum(line["left_out"] for line in one["lines"])
            assert left + len(told) == len(lines[one["trajectory_id"]])


def test_questions_without_their_trajectories_are_shown_without_rows(copy):
    facts = without(copy, "trajectories").call(report_questions.gather_question_facts)
    assert facts["some"]
    for path in copy.read("trajectories").files:
        path.unlink()
    assert all(one["lines"] == [] for one in copy.call(report_questions.gather_question_facts)["some"])
    assert "<section" in render_report(copy)


def test_shapes_are_counted_by_difficulty(small):
    facts = small.call(report_questions.gather_question_facts)
    questions = list(small.read("questions"))
    for shape, counts in facts["shapes"]:
        found = [one.difficulty for one in questions if one.shape == shape]
        assert counts == [found.count(level) for level in ("easy", "medium", "hard")]
    assert facts["of_shapes"] == len({one.shape for one in questions})


# Search


def test_search_is_measured_beside_every_vector(small):
    found = small.call(report_search.gather_search_facts)
    recall, hits = dict(found["recall"]), dict(found["hits"])
    assert recall["index of vectors"] > 0.95
    assert recall["words alone"] < recall["words and vectors"] <= 1
    assert min(hits.values()) > 0.3  # vectors of other products would find hardly any
    assert found["products"] == found["total"] == 1_200


def test_search_takes_some_of_a_large_catalog_with_their_own_vectors(small, monkeypatch):
    monkeypatch.setattr(report_search, "PRODUCTS", 160)
    store, vectors = report_search.load_sample_shop(small, 1_200)
    ids = {one.id: np.asarray(one.vector, np.float32) for one in small.read("embeddings")}
    assert len(store) == 160
    assert all((vectors[row] == ids[id]).all() for row, id in enumerate(store.ids.to_pylist()))
    assert small.call(report_search.gather_search_facts)["products"] == 160


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"settings": {"embedder": "model2vec:some"}}, "model2vec:some's, a model that a report does not load"),
        ({"inputs": {"catalog": "other"}}, "earlier catalog"),
    ],
)
def test_search_that_is_not_measured_says_why(copy, change, said):
    found = copy.read("embeddings")
    manifest = found.manifest
    recipe = manifest.recipe.model_copy(update=change)
    found.manifest_path.write_text(manifest.model_copy(update={"recipe": recipe}).model_dump_json())
    assert said in copy.call(report_search.gather_search_facts)["why"]
    assert said in render_report(copy).replace("&#39;", "'")
    assert without(copy, "embeddings").call(report_search.gather_search_facts) is None


# Audit and quarantine


def cell(env, level, policy, count, reward):
    return AuditCell({"env": env, "level": level}, policy, measure_share(0, count), {"reward": reward} if count else {})


def test_an_audit_is_drawn_by_level_and_told_in_words():
    rows = [("x", 0, "solver", 5, 1.0), ("x", 3, "solver", 5, 0.5), ("x", 0, "do-nothing", 5, -1.0)]
    rows += [("x", 3, "do-nothing", 0, None), ("x", 0, "b", 5, -0.5)]
    (one,) = audits(arrange_audit([cell(*row) for row in rows]))
    assert one.solver.points == [(0, 0), (150, 21)]
    assert [(line.policy, line.points) for line in one.others] == [("do-nothing", [(0, 84)]), ("b", [(0, 63)])]
    assert one.said == "level 0: solver +1.00, best other b -0.50; level 3: solver +0.50"


def test_reasons_come_by_how_often_they_are_and_the_rarest_together(small):
    manifest = small.read("catalog").manifest
    many = manifest.model_copy(update={"rejects": {f"reason {number:02d}": number for number in range(1, 31)}})
    rows = rank_reasons([many], "rejects")
    assert rows[0] == ("catalog", "reason 30", 30)
    assert [count for *_, count in rows[:-1]] == list(range(30, 10, -1))
    assert rows[-1] == ("others", "10 reasons", sum(range(1, 11)))


def test_a_line_of_words_is_short_and_a_block_keeps_its_lines():
    shown = PAGES.from_string("{{ text | line }}|{{ text | block }}").render(text="a\n\u202e<b>\x01" + "c" * 30_000)
    line, _, block = shown.partition("|")
    assert line.startswith("a &lt;b&gt;")
    assert line.endswith("c…")
    assert len(line) < 450
    assert block.startswith("a\n&lt;b&gt;ccc")
    assert len(block) < 21_000


# The command


def test_the_command_writes_the_page_and_prints_where_it_is(report_command, copy):
    code, out, err = report_command(copy.folder)
    path = copy.folder / "report.html"
    assert (code, out, err) == (0, f"{path}\n", "")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads(report_command(copy.folder, "--json")[1]) == {"report": str(path)}


def test_a_folder_without_a_run_is_a_problem(report_command, tmp_path):
    code, out, err = report_command(tmp_path / "none")
    assert (code, out) == (2, "")
    assert "no finished dataset" in err
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_run_that_cannot_be_written_to_is_a_problem(report_command, copy):
    copy.folder.chmod(0o500)
    try:
        assert "Cannot write" in report_command(copy.folder)[2]
    finally:
        copy.folder.chmod(0o700)


def test_a_run_elsewhere_has_its_report_there(small):
    pytest.importorskip("upath")
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(small.folder), "memory://reports/one", recursive=True)
    path = write_report(Run("memory://reports/one"))
    assert str(path) == "memory://reports/one/report.html"
    assert Page(path.read_text(encoding="utf-8")).all("section") == Page(render_report(small)).all("section")
    memory.rm("/reports", recursive=True)
