"""`shopwright browse`: search, values to choose from, columns, links, agents side by side, two runs, the report."""

import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html import unescape
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from shopwright.pipeline.browse.compare import find_tables
from shopwright.pipeline.browse.search import count_rows, read_filter, select_rows
from shopwright.pipeline.browse.visited import Browse
from shopwright.pipeline.evaluate.storage import FOLDER
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from tests.browse.test_browse import rewritten
from tests.browse.visitor import serve_run


@pytest.fixture(scope="module")
def visitor(small):
    with serve_run(small) as found:
        yield found


@pytest.fixture(scope="module")
def browse(small):
    found = Browse(small)
    yield found
    found.worker.stop()


def count(browse, name, **given):
    makes = all_stages()[name].makes
    return count_rows(browse.worker, browse.shards(name), select_rows(makes, read_filter(makes, given), ["id"]))


def test_words_are_found_in_every_text_of_a_row_in_any_order_and_case(browse, small, visitor):
    product = small.read("catalog").head(1)[0]
    word = product.title.split()[0]
    assert product.id in visitor.page(f"/data/catalog?find={quote(f'{product.category.upper()} {word.lower()}')}").text
    deep = product.attributes[0].value  # inside a list of parts
    expected = sum(deep.lower() in one.model_dump_json().lower() for one in small.read("catalog"))
    assert 0 < count(browse, "catalog", find=deep) <= expected
    assert product.id in visitor.page(f"/data/catalog?find={quote(f'{deep} {word}')}").text


@pytest.mark.parametrize("find", ["' OR 1=1 --", "%", "it's", '"', "\\", "a" * 5_000])
def test_words_are_only_words(browse, find):
    assert count(browse, "personas", find=find) == 0


def test_a_list_marks_the_words_and_says_how_many_rows_have_them(visitor, small):
    brand = small.read("catalog").head(1)[0].brand
    page = visitor.page(f"/data/catalog?find={quote(brand)}")
    number = sum(brand.lower() in one.model_dump_json().lower() for one in small.read("catalog"))
    assert f"of {number:,}" in page.text
    assert page.all("mark")


def test_values_narrow_a_list_and_each_says_how_many_rows_it_leaves(visitor, small):
    kinds = Counter(one.kind for one in small.read("questions"))
    page = visitor.page("/data/questions")
    links = {link for link in page.links if "is.kind=" in link}
    assert len(links) == len(kinds)
    for kind, number in kinds.items():
        link = next(link for link in links if link.endswith(f"is.kind={quote(kind).replace('%20', '+')}"))
        narrowed = visitor.page(link)
        assert f"of {number:,}" in narrowed.text
        assert "/data/questions" in narrowed.links  # takes the choice away
        assert [at for _, at in narrowed.tags if at.get("aria-current") == "true"]


def test_words_values_and_sql_hold_together_even_beside_or(browse, small):
    kind = small.read("questions").head(1)[0].kind
    number = sum(one.kind == kind for one in small.read("questions"))
    assert count(browse, "questions", **{"is.kind": kind, "sql": "n = 0 or n >= 0 order by n"}) == number
    assert count(browse, "questions", find="zzzz", sql="n = 0 or n >= 0") == 0


def test_an_unknown_column_is_no_choice(visitor, small):
    assert f"of {len(small.read('questions')):,}" in visitor.page("/data/questions?is.x%22=1").text


def test_a_search_over_all_datasets_leads_to_the_rows_of_each(visitor, small):
    persona = small.read("personas").head(1)[0].id
    page = visitor.page(f"/find?find={persona}")
    assert f"/data/orders?find={persona}" in page.links
    assert persona in visitor.follow(f"/data/trajectories?find={persona}").text
    assert visitor.page("/find").all("input")


@pytest.mark.parametrize("name", ["catalog", "questions", "trajectories", "env_episodes", "embeddings"])
def test_the_bars_of_each_column_hold_every_row_that_has_a_value(visitor, browse, small, name):
    from shopwright.pipeline.browse.columns import describe_columns

    makes, rows = all_stages()[name].makes, len(small.read(name))
    visitor.page(f"/columns/{name}")
    for column in describe_columns(browse.worker, browse.shards(name), makes):
        assert not column.error
        assert column.filled <= rows
        if column.bars:
            assert sum(bar.rows for bar in column.bars) == column.filled, column.name


def test_a_bar_leads_to_its_rows(visitor):
    page = visitor.page("/columns/catalog")
    for link, title in [(at["href"], at["title"]) for at in page.all("a") if "title" in at][:12]:
        number = title.rpartition(": ")[2].removesuffix(" rows")
        assert f"of {number} " in visitor.page(link).text + " "


def test_a_customer_leads_to_months_questions_and_rollouts(visitor, small):
    rollout = small.read("rollouts").head(1)[0]
    month = next(one for one in small.read("trajectories") if one.id == rollout.trajectory_id)
    number = next(n for n, one in enumerate(small.read("personas")) if one.id == month.persona_id)
    text = visitor.page(f"/links/personas/{number}").text
    assert [each for each in (month.id, rollout.question_id) if each not in text] == []
    assert "rollouts" in text


def test_a_product_leads_to_who_bought_it(visitor, small):
    order = small.read("orders").head(1)[0]
    bought = order.lines[0].product_id
    number = next(n for n, one in enumerate(small.read("catalog")) if one.id == bought)
    page = visitor.page(f"/links/catalog/{number}")
    assert order.id in page.text
    assert f"/data/personas/id?is={order.persona_id}" in page.links


def test_two_agents_stand_side_by_side_on_one_task(copy):
    episodes = copy.folder / FOLDER
    episodes.mkdir()
    part = next(path for path in copy.read("env_episodes").files)
    (episodes / "envs-other.parquet").write_bytes(part.read_bytes())
    with serve_run(copy) as visitor:
        page = visitor.page("/agents?of=env_episodes")
        link = next(link for link in page.links if link.startswith("/beside/"))
        page = visitor.page(link)
        assert page.text.count("Episode") == 2
        assert "envs-other" in page.text
    assert {"env_episodes", "envs-other"} <= set(
        find_tables(copy, {"env_episodes": Browse(copy).shards("env_episodes")})
    )


def test_episodes_of_two_tasks_or_none_are_not_set_side_by_side(visitor, small):
    tasks = [one.task_id for one in small.read("env_episodes")]
    other = next(number for number, task in enumerate(tasks) if task != tasks[0])
    visitor.page(f"/beside/env_episodes/0/env_episodes/{other}", 404)
    visitor.page("/beside/env_episodes/0/catalog/0", 404)
    visitor.page("/beside/env_episodes/0/envs-none/0", 404)


def test_two_runs_differ_in_what_was_changed_and_nowhere_else(copy, small):
    changed = small.read("questions").head(1)[0].id
    rewritten(copy, "questions", lambda row: row | ({"answer": "else"} if row["id"] == changed else {}))
    with serve_run(copy, Run(small.folder)) as visitor:
        assert "/diff" in visitor.page("/").links
        page = visitor.page("/diff/questions")
        assert "changed 1" in page.text
        assert f"{changed} answer" in page.text
        assert "changed" not in visitor.page("/diff/catalog").text
        visitor.page("/diff")
        visitor.page("/diff/nothing", 404)


def test_one_run_has_nothing_to_differ_from(visitor):
    visitor.page("/diff", 404)


def test_the_report_is_shown_in_its_own_style_and_leads_back(visitor):
    status, headers, body = visitor.ask("/report")
    style = re.search(r"<style>(.*?)</style>", body, re.DOTALL)[1]
    policy = headers["Content-Security-Policy"]
    assert status == 200
    assert b64encode(sha256(style.encode()).digest()).decode() in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert 'href="/"' in body


def test_the_python_beside_a_list_gives_its_rows(small, visitor):
    pytest.importorskip("datasets")
    kind = small.read("questions").head(1)[0].kind
    number = sum(one.kind == kind for one in small.read("questions"))
    for target, name, expected in (
        ("/data/questions", "rows", len(small.read("questions"))),
        (f"/data/questions?is.kind={quote(kind)}&sql=len(question)%3E0", "found", number),
        ("/data/questions/3", "row", None),
    ):
        body = visitor.ask(target)[2]
        code = unescape(re.search(r"data-copy[^>]*>(.*?)</pre>", body, re.DOTALL)[1])
        given = {}
        exec(code, given)  # noqa: S102 - what the page offers to copy
        if expected is None:
            assert given[name] == small.read("questions").head(4)[3]
        else:
            assert len(given[name]) == expected


def test_what_took_too_long_or_found_nothing_is_tried_again(small):
    browse, made = Browse(small), small.read("catalog").manifest
    replies = [[SimpleNamespace(error="It takes too long.")], [], [SimpleNamespace(error="")], "not asked for"]
    found = [browse.keep("columns", made, lambda each=each: each) for each in replies]
    assert found == [*replies[:3], replies[2]]
