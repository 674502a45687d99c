"""One hostile catalog through the whole pipeline: built, verified, printed, shown, published, asked about. (One file: it is built once.)"""

import ast
import json
import os
import shutil
import sys
from contextlib import closing
from pathlib import Path
from subprocess import run as ran

import pytest
import yaml
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markdown_it import MarkdownIt

from shopwright.pipeline.browse.visited import address
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.preview import preview
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.prompts import FOLDER
from shopwright.pipeline.publish.card import render_card
from shopwright.pipeline.publish.exporters.forms import configs
from shopwright.pipeline.publish.layout import lay
from shopwright.pipeline.publish.report import render_report
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages
from tests.browse.visitor import Read, serve_run
from tests.hostile import shops
from tests.hostile.test_texts import Shape
from tests.models.server import Plan, Server

OURS = set(
    "html head meta link title style body header nav main section article aside h1 h2 h3 p a b em bdi mark ol ul li dl dt dd div span table"
    " caption colgroup col thead tbody tfoot tr th td pre code details summary q small strong time footer figure figcaption svg g path line"
    " rect circle text polyline meter".split()
)
"""Elements that the report's templates write."""
SIMPLE = set("html body h1 ul li div p span input button a".split())
KINDS = ("catalog", "trajectories", "behaviors", "sft_rollouts", "sft_envs_text", "rl_envs")
"""Configs that are read back."""
ASKED = {
    "personas": {},
    "queries": {},
    "trajectories": {"written_by": "model"},
    "questions": {"written_by": "model"},
    "behaviors": {"written_by": "model"},
    "env_episodes": {"played_by": "model"},
    "shopping_episodes": {},
}
"""Datasets that a model writes or plays."""
CHROMIUM = Path(os.environ.get("SHOPWRIGHT_CHROMIUM", "/usr/bin/chromium"))
PATIENCE = 60_000
ROWS = 3
"""Of each dataset, or steps of each session, that are looked at."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Tests look at it and change nothing."""
    return shops.world(tmp_path_factory.mktemp("hostile"), 3, 150, "jsonl")


@pytest.fixture(scope="module")
def visitor(shop):
    with serve_run(shop.run) as found:
        yield found


@pytest.fixture(scope="module")
def laid(shop, tmp_path_factory):
    """The shop as it would be published, with its card."""
    folder = tmp_path_factory.mktemp("laid") / "laid"
    return lay(configs(shop.run), folder, finish=lambda whole: put(shop.run, whole))


def put(run, whole):
    (whole.folder / "README.md").write_text(render_card(run, whole), encoding="utf-8")


def plain(words):
    return " ".join(words.split())


# --- built -------------------------------------------------------------------------------------------------------------


def test_every_dataset_is_built_on_it(shop):
    assert shop.problems == {}
    assert shops.whole(shop) == list(all_stages())
    assert all(shop.run.read(name).manifest.rows for name in all_stages())


@pytest.mark.parametrize("holds", shops.HOLD, ids=lambda holds: holds.__name__)
def test_what_must_hold_of_every_shop_holds_of_a_hostile_one(shop, holds):
    holds(shop)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_no_row_is_lost_in_other_forms_of_the_file(tmp_path, form):
    found = shops.world(tmp_path, 4, 120, form, ["catalog"])
    shops.no_row_is_lost(found)
    shops.no_text_ends_a_message(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_what_must_hold_of_every_shop_holds_of_twenty(tmp_path, seed):
    found = shops.world(tmp_path, 1_000 + seed, 100 + 50 * (seed % 4), ("csv", "jsonl", "parquet")[seed % 3])
    for holds in shops.HOLD:
        holds(found)


def test_code_of_rollouts_has_words_of_the_shop_as_data_only(shop):
    calls = [call for rollout in shop.run.read("rollouts") for call in rollout.calls]
    assert len(calls) > 5
    for call in calls:
        found = list(ast.walk(ast.parse(call.code)))
        named = {each.id for each in found if isinstance(each, ast.Name)}
        assert not named & {"open", "exec", "eval", "compile", "__import__", "getattr", "os", "system"}
        modules = {each.module for each in found if isinstance(each, ast.ImportFrom)}
        modules |= {name.name for each in found if isinstance(each, ast.Import) for name in each.names}
        assert modules <= {"data_loader", "pandas", "datetime", "decimal", "numpy"}


# --- printed -----------------------------------------------------------------------------------------------------------


def test_nothing_that_is_printed_of_it_commands_a_terminal(shop, shopwright):
    run = ("--run", shop.run.folder)
    said = [shopwright("list", *run), shopwright("list", *run, "--json")]
    for name in all_stages():
        said += [shopwright("show", name, *run, "-n", 40), shopwright("show", name, *run, "-n", 9, "--json")]
    said += [shopwright("show", "catalog", *run, "-n", 200, "--rejected", *more) for more in ([], ["--json"])]
    for code, out, err in said:
        assert code in (0, 1), err
        assert shops.commands_a_terminal(out + err) == []


def test_building_it_again_prints_nothing_that_commands_a_terminal(shop, shopwright, tmp_path):
    code, out, err = shopwright(
        "build", "catalog", "--run", tmp_path / "run", "--source", shop.source, "--invent-prices"
    )
    assert code == 0
    assert shops.commands_a_terminal(out + err) == []


def test_a_models_reply_commands_no_terminal_where_it_is_looked_at_first(shop, shopwright, tmp_path):
    run = shutil.copytree(shop.run.folder, tmp_path / "run")
    with Server(Plan(says=lambda body: {"content": "\x1b[2J\u202eno"})) as server:
        model = ("--model", f"openai:toy@{server.url}")
        _, out, err = shopwright("build", "queries", "--run", run, "--rebuild", "--preview", 1, *model)
    assert "[reply] \\u001b[2J\\u202eno" in out
    assert shops.commands_a_terminal(out + err) == []


# --- shown -------------------------------------------------------------------------------------------------------------


def test_the_report_holds_what_was_sold_as_text_only(shop):
    page = Read(render_report(shop.run))
    assert {tag for tag, _ in page.tags} <= OURS
    for tag, at in page.tags:
        assert not [name for name in at if name.startswith("on") or name in ("src", "srcdoc", "action", "style")]
        assert at.get("href", "#").startswith("#") or (tag, at["href"]) == ("link", "data:,")
    assert plain(shop.run.folder.name) in page.text


def test_every_list_and_every_kind_of_row_is_browsed_as_text_only(shop, visitor):
    visitor.page("/")
    for name in shops.whole(shop):
        visitor.page(f"/data/{name}")
        for number in range(min(ROWS, shop.run.read(name).manifest.rows)):
            visitor.page(f"/data/{name}/{number}")


def test_a_products_page_shows_its_title_to_the_letter(shop, visitor):
    rows = enumerate(shop.run.read("catalog"))
    hostile = [(number, row.title) for number, row in rows if any(sign in row.title for sign in "<'\"{&`|")][:12]
    assert len(hostile) == 12
    for number, title in hostile:
        assert title in plain(visitor.page(f"/data/catalog/{number}").text)


def test_what_was_turned_away_is_browsed_as_text_only(visitor):
    links = [link for link in visitor.page("/rejected/catalog").links if link.startswith("/rejected/catalog/")]
    assert links
    for link in links:
        visitor.follow(link)


def test_an_id_that_looks_like_a_path_or_a_query_is_found_by_its_link(shop, visitor):
    odd = [(n, row.id) for n, row in enumerate(shop.run.read("catalog")) if any(sign in row.id for sign in "/?#%&'\"")]
    assert len(odd) > 4
    for number, id in odd:
        found = visitor.page(address("data", "catalog", "id", **{"is": id}))
        assert visitor.at == f"/data/catalog/{number}"
        assert id in found.text


def test_the_pages_of_a_session_are_made_of_the_shops_own_elements(shop):
    for behavior in shop.run.read("behaviors"):
        for step in behavior.steps:
            found = Shape(step.html)
            assert {tag.strip("/") for tag, _ in found.tags} <= SIMPLE
            assert all(names in ([], ["name"]) for _, names in found.tags)
            opened = sorted(tag for tag, _ in found.tags if not tag.startswith("/") and tag != "input")
            assert opened == sorted(tag[1:] for tag, _ in found.tags if tag.startswith("/"))


# --- shown by a browser ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def window():
    """A window, and what it was made to do: dialogs, errors, requests to elsewhere."""
    playwright = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("there is no chromium here")
    options = {"args": ["--no-sandbox", "--disable-gpu"], "timeout": PATIENCE}
    with (
        playwright.sync_playwright() as started,
        closing(started.chromium.launch(executable_path=str(CHROMIUM), **options)) as browser,
    ):
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.done = []
        for what in ("console", "pageerror", "dialog", "popup", "download", "request"):
            page.on(what, lambda told, what=what: page.done.append((what, getattr(told, "url", "") or str(told))))
        yield page


def done_at(window, place, own):
    """Goes there, puts the mouse and the focus on everything, and says what happened that is not of its own."""
    window.done.clear()
    window.goto(place)
    window.evaluate(
        "for (const each of document.querySelectorAll('*')) { each.focus?.(); each.dispatchEvent(new Event('mouseover')) }"
    )
    assert window.evaluate("window.__pwned") is None
    return [(what, told) for what, told in window.done if not (what == "request" and told.startswith(own))]


@pytest.mark.browser
def test_the_report_does_nothing_in_a_browser(shop, window, tmp_path):
    (tmp_path / "report.html").write_text(render_report(shop.run), encoding="utf-8")
    place = (tmp_path / "report.html").as_uri()
    assert done_at(window, place, place) == []


@pytest.mark.slow
@pytest.mark.browser
def test_the_browse_pages_do_nothing_in_a_browser(shop, window, visitor):
    own = visitor.server.url
    for name in shops.whole(shop):
        assert [*done_at(window, f"{own}data/{name}", own), *done_at(window, f"{own}data/{name}/0", own)] == []
    assert done_at(window, f"{own}rejected/catalog", own) == []


@pytest.mark.browser
def test_a_page_that_a_customer_saw_does_nothing_even_where_nothing_forbids_it(shop, window, tmp_path):
    for behavior in shop.run.read("behaviors").head(ROWS):
        for step in behavior.steps[:ROWS]:
            (tmp_path / "page.html").write_text(step.html, encoding="utf-8")
            place = (tmp_path / "page.html").as_uri()
            assert done_at(window, place, place) == []


# --- published ---------------------------------------------------------------------------------------------------------


def test_the_head_of_the_card_is_plain_yaml_of_the_usual_keys(laid):
    _, head, body = (laid.folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    keys = "license language pretty_name size_categories task_categories tags configs dataset_info".split()
    assert [key for key in yaml.safe_load(head) if key != "license_name"] == keys
    assert yaml.safe_load(head)["license"] == "unknown"
    tokens = MarkdownIt("commonmark").enable("table").parse(body)
    inner = [child for token in tokens for child in token.children or []]
    assert not [token for token in [*tokens, *inner] if token.type in ("html_block", "html_inline")]
    links = [
        token.attrs.get("href") or token.attrs.get("src") for token in inner if token.type in ("link_open", "image")
    ]
    ours = ("#", "images/", "https://arxiv.org/", "https://github.com/", "https://huggingface.co/blog/ecom-rlve")
    assert all(link.startswith(ours) for link in links), links


def test_every_file_that_is_laid_has_a_name_of_ours(laid):
    names = {path.relative_to(laid.folder).as_posix() for path in laid.folder.rglob("*") if path.is_file()}
    assert all(all(each.isalnum() or each in "._-/" for each in name) for name in names)


def test_what_was_laid_is_loaded_as_it_was_sold(shop, laid, tmp_path):
    code = (
        "import json, sys\nfrom datasets import load_dataset\n"
        f"print(json.dumps([[row['title'] for row in load_dataset(sys.argv[1], 'catalog', split='train')],"
        f" [sum(map(len, load_dataset(sys.argv[1], name).values())) for name in {KINDS!r}]]))"
    )
    env = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    done = ran([sys.executable, "-c", code, str(laid.folder)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    titles, rows = json.loads(done.stdout)
    assert titles == [row.title for row in shop.run.read("catalog")]
    assert rows == [laid.configs[name].rows for name in KINDS]


class Generation(Extension):
    """The block in which a trainer's loss looks."""

    tags = frozenset({"generation"})

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.Scope(body, lineno=line)


def test_a_conversation_has_as_many_messages_as_turns_whatever_was_said_in_it(shop):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation])
    source = Path(shops.__file__).parents[2] / "pipeline" / "publish" / "code_tags.jinja"
    template = environment.from_string(source.read_text(encoding="utf-8"))
    checked = 0
    for config in configs(shop.run):
        column = next((name for name in ("messages", "prompt") if name in config.schema.names), None)
        for split in config.splits.values() if column and config.name.startswith(("sft_", "rl_")) else ():
            for row in (row for batch in split() for row in batch.to_pylist()):
                told = [json.loads(each) if isinstance(each, str) else each for each in row[column]]
                checked += 1
                assert {each["role"] for each in told} <= {"system", "user", "assistant", "tool"}
                written = template.render(messages=told, tools=[])
                assert written.count("<|im_start|>") == written.count("<|im_end|>") == len(told)
                assert not any(shops.CHAT.search(each["content"]) for each in told)
    assert checked > 100


def test_the_text_of_a_rollout_has_whose_each_part_is(shop):
    for rollout in shop.run.read("rollouts"):
        spoken = [message.content for message in rollout.messages[2:]]
        assert [rollout.text[span.start : span.end] for span in rollout.spans] == spoken
        assert [span.by for span in rollout.spans] == [("model", "interpreter")[n % 2] for n in range(len(spoken))]


# --- asked about -------------------------------------------------------------------------------------------------------


def test_a_model_is_asked_in_messages_that_no_word_of_the_shop_bends(shop, tmp_path):
    run = shutil.copytree(shop.run.folder, tmp_path / "run")
    ours = "".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.j2"))
    rows = list(shop.run.read("catalog"))
    theirs = {text for row in rows for text in (row.title, row.brand, row.category) if text and len(text) > 12}
    theirs = {text for text in theirs if text not in ours}
    with Server(Plan(says=lambda body: {"content": "I do not know."})) as server:
        for name, more in ASKED.items():
            before = server.count
            try:
                preview(
                    Run(run, workers=1, models=Models(model=f"openai:toy@{server.url}", at_once=4)), name, 2, **more
                )
            except Problem as problem:
                raise AssertionError(name) from problem
            assert server.count > before, name
        bodies = list(server.bodies)
    seen = 0
    for body in bodies:
        told = body["messages"]
        roles = [each["role"] for each in told]
        assert roles == ["system", *(("user", "assistant")[n % 2] for n in range(len(roles) - 1))]
        assert not [each for each in told if shops.CHAT.search(each["content"])]
        assert not [words for words in theirs if words in told[0]["content"]]
        seen += any(words in told[1]["content"] for words in theirs)
    assert seen > 2
