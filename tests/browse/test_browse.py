"""`shopwright browse`: every page of a run over real HTTP, and what others may not do with it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shopwright.pipeline.arrow import arrow_schema
from shopwright.pipeline.browse.display import list_references_to, read_field_docs
from shopwright.pipeline.browse.evidence import EVENTS
from shopwright.pipeline.browse.pages import PAGE
from shopwright.pipeline.browse.rows import Shards, read_row_batches
from shopwright.pipeline.browse.server import Server
from shopwright.pipeline.browse.sql import query_files, shorten_cell
from shopwright.pipeline.browse.worker import Worker
from shopwright.pipeline.commands import browse
from shopwright.pipeline.dataset import ShardWriter, file_facts
from shopwright.pipeline.problem import Problem
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages, find_reference
from shopwright.schemas.questions import Question
from shopwright.schemas.record import Rejected
from tests.browse.visitor import Read, serve_run
from tests.folders import checksums

HOSTILE = "\"'><script data-evil>alert(1)</script><img src=x onerror=alert(1)></textarea></pre></iframe>{{ 7*7 }} \u202egnp.exe 🧨"


@pytest.fixture(scope="module")
def visitor(small):
    with serve_run(small) as found:
        yield found


# --- every page --------------------------------------------------------------------------------------------------------


def test_the_first_page_tells_of_every_dataset_its_rows_rejects_and_seconds(visitor, small):
    page = visitor.page("/")
    for name in all_stages():
        made = small.read(name).manifest
        assert f"/data/{name}" in page.links
        assert f"{made.rows:,}" in page.text
        assert made.about in page.text
        assert (f"/rejected/{name}" in page.links) == bool(made.rejected)
    assert "tokens 6k" in page.text


@pytest.mark.parametrize("name", list(all_stages()))
def test_every_kind_of_page_of_a_dataset_is_there_and_valid(visitor, small, name):
    rows = small.read(name).manifest.rows
    first = small.read(name).head(1)[0]
    assert first.id in visitor.page(f"/data/{name}").text
    assert visitor.page(f"/data/{name}?from={rows - 1}").links
    assert visitor.page(f"/data/{name}/{rows - 1}").links
    visitor.page(f"/rejected/{name}")
    page = visitor.page(f"/data/{name}/0")
    assert first.id in page.text
    told = json.loads(visitor.ask(f"/data/{name}/0?as=json")[2])
    assert all_stages()[name].makes.model_validate(told) == first
    for link in dict.fromkeys(page.links):
        if not link.startswith("#") and "as=json" not in link:
            visitor.page(f"/data/{name}/0")
            visitor.follow(link)


def test_the_pages_of_a_dataset_hold_each_row_once_and_in_order(visitor, small):
    found, link = [], "/data/questions"
    while link:
        page = visitor.follow(link)
        found += [link.rsplit("/", 1)[1] for link in page.links if link.startswith("/data/questions/")][::2]
        link = next((at["href"] for at in page.all("a") if at.get("rel") == "next"), None)
    assert found == [str(number) for number in range(len(small.read("questions")))]


def test_a_page_says_where_its_row_is_named_and_what_it_names(visitor, small):
    question = small.read("questions").head(1)[0]
    page = visitor.page("/data/questions/0")
    up = next(link for link in page.links if link.startswith("/data/trajectories/id?"))
    assert question.trajectory_id in visitor.follow(up).text
    asked = [one.id for one in small.read("questions") if one.trajectory_id == question.trajectory_id]
    down = next(link for link in visitor.page(up).links if link.startswith("/data/questions?sql="))
    page = visitor.follow(down)
    assert [id for id in asked if id not in page.text] == []
    assert sum(link.startswith("/data/questions/") for link in page.links) == 2 * len(asked)


def test_every_reference_is_a_field_of_its_dataset():
    for name in all_stages():
        for other, field in list_references_to(name):
            assert field in all_stages()[other].makes.model_fields
            assert find_reference(other, field) == name


def test_a_field_stands_with_what_its_schema_says_of_it(visitor):
    assert read_field_docs(Question)["sql"].startswith("Over the table `events` alone")
    assert read_field_docs(Question)["id"].startswith("Stable across runs")
    assert read_field_docs(Question)["shape"] in visitor.page("/data/questions/0").text


# --- questions, episodes, sessions -------------------------------------------------------------------------------------


def test_a_question_leads_to_its_trajectory_with_its_evidence_marked_and_scrolled_to(visitor, small):
    for number, question in enumerate(small.read("questions").head(12)):
        assert question.question in visitor.page(f"/data/questions/{number}").text
        status, headers, _ = visitor.ask(f"/data/questions/{number}/evidence")
        split = urlsplit(headers["Location"])
        page = visitor.page(f"{split.path}?{split.query}")
        marked = {at["id"] for tag, at in page.tags if tag == "tr" and at.get("class") == "marked"}
        assert status == 303
        assert marked == {f"event-{row}" for row in question.evidence}
        assert split.fragment == (f"event-{min(question.evidence)}" if question.evidence else "")
        assert question.question in page.text
        assert f"/data/questions/{number}" in page.links


def test_the_page_of_a_long_trajectory_is_the_one_with_the_evidence(copy):
    def longer(row):
        more = [event | {"row_id": number} for number, event in enumerate(row["events"] * 9)]
        return row | {"events": more[: 2 * EVENTS + 50], "text": "\n".join(f"line {n}" for n in range(2 * EVENTS + 50))}

    late = 2 * EVENTS + 31
    rewritten(copy, "trajectories", longer)
    rewritten(copy, "questions", lambda row: row | {"evidence": [3, late]})
    with serve_run(copy) as visitor:
        page = visitor.page("/data/questions/0/evidence")
        assert f"/data/trajectories/0?question=0&from={2 * EVENTS}#event-{late}" in page.links
        assert "event-3" in page.ids
        assert f"event-{late}" not in page.ids
        page = visitor.page(f"/data/trajectories/0?question=0&from={2 * EVENTS}")
        assert [at["id"] for at in page.all("tr") if at.get("class")] == [f"event-{late}"]
        assert len([id for id in page.ids if id.startswith("event-")]) == 50
        text = visitor.page(f"/data/trajectories/0?as=text&question=0&from={late}")
        assert f"line {late}" in text.text
        assert [at.get("class") for at in text.all("li")].count("marked") == 1
        assert "is not about this trajectory" in visitor.page("/data/trajectories/1?question=0", 404).text


def test_an_episode_stands_turn_by_turn_with_calls_words_and_rewards(visitor, small):
    for number, episode in enumerate(small.read("env_episodes").head(8)):
        page = visitor.page(f"/data/env_episodes/{number}")
        for turn in episode.turns:
            assert " ".join(turn.user.split()) in page.text
            for call in json.loads(turn.action).get("tool_calls", []):
                assert f"calls {call['name']}" in page.text
        parts = {at["aria-label"]: float(at["value"]) for at in page.all("meter")}
        assert parts == {
            name: getattr(episode.reward, name) for name in ("task", "efficiency", "hallucination", "total")
        }


def test_a_shopping_episode_and_a_rollout_show_their_steps(visitor, small):
    episode = small.read("shopping_episodes").head(1)[0]
    page = visitor.page("/data/shopping_episodes/0")
    assert all(" ".join(step.action.split()) in page.text for step in episode.steps)
    rollout = small.read("rollouts").head(1)[0]
    page = visitor.page("/data/rollouts/0")
    for call in rollout.calls:
        assert " ".join(call.code.split()) in page.text
        assert " ".join(call.output.split()) in page.text


def test_a_session_is_shown_page_by_page_in_a_frame_that_can_do_nothing(visitor, small):
    session = small.read("behaviors").head(1)[0]
    for number, step in enumerate(session.steps):
        page = visitor.page(f"/data/behaviors/0?step={number}")
        (frame,) = page.all("iframe")
        assert frame["sandbox"] is None
        assert frame["srcdoc"].replace(' class="acted"', "").endswith(step.html)
        name = json.loads(step.action).get("name")
        assert frame["srcdoc"].count('class="acted"') == (1 if name else 0)
        assert " ".join(step.rationale.split()) in page.text
        assert " ".join(step.html.split()) in page.text


def test_a_rejected_row_stands_with_its_reasons_and_tries(copy):
    tries = [{"prompt": "Describe it.", "reply": "Nice <b>one</b>", "faults": ["without taste"]}]
    record = json.dumps(small_row(copy, "personas") | {"tries": tries}, default=str)
    held_back(copy, "personas", [Rejected(id="p-1", reasons=["without taste", "too long"], record=record)])
    held_back(copy, "queries", [Rejected(id="", reasons=["unreadable"], record="not { JSON")])
    with serve_run(copy) as visitor:
        assert "/rejected/personas" in visitor.page("/").links
        assert "without taste; too long" in visitor.page("/rejected/personas").text
        page = visitor.page("/rejected/personas/0")
        assert all(
            words in page.text for words in ("too long", "Try 1", "Describe it.", "Nice <b>one</b>", "household")
        )
        assert "not { JSON" in visitor.page("/rejected/queries/0").text
        assert visitor.page("/rejected/personas/1", 404)


def small_row(run, name):
    return run.read(name).table().slice(0, 1).to_pylist()[0]


def held_back(run, name, rejected):
    """These rows in quarantine, as the manifest tells."""
    writer = ShardWriter(run.folder / "quarantine" / name / "part-00000.parquet", Rejected)
    writer.write(pa.RecordBatch.from_pylist([one.model_dump() for one in rejected], arrow_schema(Rejected)))
    writer.commit()
    dataset = run.read(name)
    path = f"quarantine/{name}/part-00000.parquet"
    files = dataset.manifest.files | {path: file_facts(run.folder / path)}
    told = dataset.manifest.model_copy(update={"files": files, "rejected": len(rejected), "rejects": {"a reason": 1}})
    dataset.manifest_path.write_text(told.model_dump_json(), encoding="utf-8")


def rewritten(run, name, change):
    """The first row of a dataset changed in its file."""
    path = run.read(name).files[0]
    first, *rest = pq.read_table(path).to_pylist()
    pq.write_table(pa.Table.from_pylist([change(first), *rest], arrow_schema(all_stages()[name].makes)), path)


# --- SQL ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["kind = 'price'", "where kind = 'price'", "  WHERE kind='price' -- so"])
def test_a_condition_keeps_the_rows_that_meet_it(visitor, small, words):
    wanted = [number for number, one in enumerate(small.read("questions")) if one.kind == "price"]
    page = visitor.filtered("questions", words)
    found = [link for link in page.links if link.startswith("/data/questions/")][::2]
    assert found == [f"/data/questions/{number}" for number in wanted][:PAGE]


def test_a_filtered_list_is_paged_with_its_filter_and_order(visitor, small):
    prices = [one.price for one in small.read("catalog")]
    wanted = sorted((number for number, price in enumerate(prices) if price > 50), key=lambda n: (-prices[n], n))
    page, found = visitor.filtered("catalog", "price > 50 order by price desc, n"), []
    for _ in range(3):
        found += [int(link.rsplit("/", 1)[1]) for link in page.links if link.startswith("/data/catalog/")][::2]
        link = next(at["href"] for at in page.all("a") if at.get("rel") == "next")
        assert dict(parse_qsl(urlsplit(link).query))["sql"].startswith("price > 50")
        page = visitor.follow(link)
    assert found == wanted[: 3 * PAGE]


def test_a_whole_select_gives_its_own_columns_and_links_what_has_an_id(visitor, small):
    page = visitor.filtered("catalog", "select category, count(*) as how_many from rows group by 1")
    assert "how_many" in page.text
    orders = small.read("orders").head(1)[0]
    page = visitor.filtered("orders", "select id, l.product_id from rows, unnest(lines) as t(l) order by n")
    assert f"/data/orders/id?is={orders.id}" in page.links
    assert f"/data/catalog/id?is={orders.lines[0].product_id}" in page.links
    assert "No row answers" in visitor.filtered("catalog", "price < 0").text


BAD = {
    "pric > 2": "pric",
    "price >": "does not parse",
    "price > 1; drop view rows": "not one",
    "select * from read_csv('/etc/passwd')": "reads read_csv",
    "select * from '/etc/passwd'": "reads /etc/passwd",
    "select * from duckdb_settings()": "reads duckdb_settings",
    "select * from information_schema.tables": "reads tables",
    "select getenv('HOME') from rows": "calls getenv",
    "select 'a'.repeat(1000000000) from rows": "calls repeat",
    "id = (select content from read_text('/etc/passwd'))": "reads read_text",
    "with a as (insert into rows values (1) returning *) select * from a": "",
    "with recursive a as (select 1 as x union all select x + 1 from a) select * from a": "recursive",
    "select * from rows where id = $1": "place open",
    "select * from rows using sample 3 rows; select 1": "",
    "copy (select 1) to '/tmp/x'": "",
    "from": "",
    "price > 2) union all (select 1": "does not parse",
    "id = 'x" + "y" * 5_000 + "'": "longer than",
    "select lpad('a', 2000000000, 'b') from rows": "calls",
    "price > 1 or " * 200 + "price > 2 and (" * 30: "does not parse",
    "install httpfs": "",
    "'" + HOSTILE: "",
}


@pytest.mark.parametrize("words", list(BAD), ids=[words[:40] for words in BAD])
def test_sql_that_must_not_run_is_answered_with_one_clear_line(visitor, words):
    page = visitor.filtered("catalog", words, status=400)
    (error,) = [at for _, at in page.tags if at.get("role") == "alert"]
    assert error["id"] == "error"
    _, _, body = visitor.ask(f"/data/catalog?sql={quote(words)}")
    said = Read(body.partition('role="alert">')[2].partition("</p>")[0]).text
    assert BAD[words] in said
    assert "class" not in said
    assert len(said) < 400
    assert said.endswith((".", '"', "!"))
    assert (page.all("textarea")[0] | {"x": 1})["aria-invalid"] == "true"


def test_even_without_the_guard_the_engine_reaches_no_file(small, monkeypatch):
    monkeypatch.setattr("shopwright.pipeline.browse.sql.find_sql_violation", lambda sql: None)
    files = [str(path) for path in small.read("catalog").files]
    other = small.read("personas").files[0]
    assert query_files(files, [0], "select id from rows", 0, 1)["rows"]
    for sql in ("from '/etc/passwd'", "from read_text('/etc/passwd')", f"from '{other}'", "from glob('/*')"):
        said = query_files(files, [0], sql, 0, 1)["error"]
        assert "disabled" in said or "does not exist" in said, sql


def test_a_query_that_takes_too_long_is_given_up(small):
    files = [str(path) for path in small.read("catalog").files]
    slow = "select count(*) from rows a, rows b, rows c where a.title < b.title and b.title < c.title"
    assert "takes longer" in query_files(files, [0], slow, 0, 1, seconds=0.1)["error"]


def test_a_process_that_does_not_answer_is_ended_and_the_next_query_has_another(small):
    files = [str(path) for path in small.read("catalog").files]
    worker = Worker(patience=0.01)
    assert "takes too long" in worker.ask(files, [0], "select id from rows", 0, 1)["error"]
    worker.patience = 60.0
    assert worker.ask(files, [0], "select id from rows", 0, 2)["columns"] == ["id"]
    worker.process.kill()
    worker.process.wait()
    assert "memory" in worker.ask(files, [0], "select id from rows", 0, 1)["error"]
    assert len(worker.ask(files, [0], "select id from rows", 0, 2)["rows"]) == 2
    worker.stop()


def test_large_values_are_shortened_before_they_travel():
    assert len(shorten_cell("x" * 10_000)) == 2_000
    assert shorten_cell([1] * 50) == [*[1] * 20, "…"]
    assert shorten_cell({"a": ["x" * 5_000]})["a"][0].endswith("…")


# --- rows by number ----------------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path):
    """Three files of 7 rows in row groups of 3, 3 and 1, whose values are their numbers."""
    for number in range(3):
        table = pa.table({"n": range(7 * number, 7 * number + 7), "text": ["x"] * 7})
        pq.write_table(table, tmp_path / f"part-{number}.parquet", row_group_size=3)
    return Shards([tmp_path / f"part-{number}.parquet" for number in range(3)], [0, 7, 14], 21)


def test_any_stretch_of_rows_is_read_as_it_stands(three):
    for start in range(22):
        for stop in range(start, 24):
            found = [
                each
                for batch in read_row_batches(three, range(start, stop), ["n"])
                for each in batch.column("n").to_pylist()
            ]
            assert found == list(range(start, min(stop, 21)))


def test_no_file_is_opened_that_holds_none_of_the_rows(three):
    three.paths[0].unlink()
    three.paths[2].unlink()
    assert sum(len(batch) for batch in read_row_batches(three, range(7, 14))) == 7
    with pytest.raises(FileNotFoundError):
        list(read_row_batches(three, range(7, 15)))


# --- what is not there, and who may not ask ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "/data", "/data/nothing", "/data/catalog/999999", "/data/catalog/-1", "/data/catalog/1.5", "/data/catalog/x",
        "/data/catalog/%D9%A3", "/data/catalog/" + "9" * 4_400, "/data/catalog/id", "/data/catalog/id?is=nobody",
        "/data/catalog/id?is=" + quote("' or true --"), "/data/questions/99999/evidence", "/data/catalog/0/evidence",
        "/rejected/catalog/7", "/rejected/nothing", "/rejected", "/manifests/catalog.json", "/report.html",
        "/../../../../etc/passwd", "/data/..%2F..%2Fetc%2Fpasswd", "/data/%2e%2e/manifests", "/server.py", "/home.html.j2",
        "/style.css/../server.py", "/data/catalog/part-00000.parquet", "/data/../manifests/catalog.json", "/data/.git",
        "/data/" + quote(HOSTILE, safe=""), "/data/catalog%00", "//example.com/data",
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_plainly(visitor, target):
    assert "Not here" in visitor.page(target, 404).text


@pytest.mark.parametrize("target", ["/%ff", "/?" + "&".join(f"a{n}=1" for n in range(40)), "HTTP://[/"])
def test_an_address_that_cannot_be_read_is_refused(visitor, target):
    assert visitor.ask(target)[0] == 400


@pytest.mark.parametrize("host", ["example.com", "example.com:80", "", "0.0.0.0", "127.0.0.1.nip.io"])
def test_a_request_in_another_name_is_refused(visitor, host):
    status, _, body = visitor.ask("/data/catalog", Host=host)
    assert status == 421
    assert "B0" not in body


def test_both_names_of_this_machine_are_answered(visitor):
    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert visitor.ask("/", Host=f"{name}:{visitor.server.server_port}")[0] == 200
    assert visitor.ask("/", Host="127.0.0.1:8080")[0] == 200, "a port that is forwarded has another number"


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)]
)
def test_a_page_of_another_site_gets_nothing(visitor, site, status):
    assert visitor.ask("/data/catalog?sql=price>1", Sec_Fetch_Site=site)[0] == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_only_get_is_answered(visitor, method):
    status, headers, _ = visitor.ask("/", method)
    assert (status, headers["Allow"]) == (405, "GET")


@pytest.mark.parametrize(
    "target", ["/", "/data/catalog/0", "/nothing", "/data/catalog?sql=x(", "/style.css", "/browse.js"]
)
def test_every_answer_forbids_foreign_scripts_frames_and_other_sites(visitor, target):
    _, headers, _ = visitor.ask(target)
    policy = headers["Content-Security-Policy"]
    assert policy.startswith(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self';"
    )
    assert "unsafe" not in policy
    assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert "Python" not in headers["Server"]


def hostile(value):
    """Every text in a value made to break out of its page."""
    if isinstance(value, str):
        return HOSTILE + "x" * 10_000
    if isinstance(value, dict):
        return {name: each if name == "role" else hostile(each) for name, each in value.items()}
    return [hostile(each) for each in value] if isinstance(value, list) else value


def test_hostile_text_never_breaks_out_of_a_page(copy):
    for name in all_stages():
        kept = {"id", "trajectory_id"}
        rewritten(copy, name, lambda row, kept=kept: row | hostile({key: row[key] for key in row if key not in kept}))
        held_back(
            copy,
            name,
            [Rejected(id=HOSTILE, reasons=[HOSTILE], record=json.dumps({"title": HOSTILE, "tries": [{"a": HOSTILE}]}))],
        )
    with serve_run(copy) as visitor:
        for name in all_stages():
            for target in (f"/data/{name}", f"/data/{name}/0", f"/rejected/{name}", f"/rejected/{name}/0"):
                page = visitor.page(target)
                assert not [at for _, at in page.tags if "data-evil" in at]
                assert "49" not in page.text.partition("{{")[0][-5:]
        assert "{{ 7*7 }}" in visitor.page("/data/catalog/0").text
        visitor.page("/data/trajectories/0?as=text")
        visitor.page("/data/questions/0/evidence")


def test_a_dataset_that_is_gone_since_is_told_as_that(copy):
    with serve_run(copy) as visitor:
        for path in copy.read("catalog").files:
            path.unlink()
        assert "just changed" in visitor.page("/data/catalog/0", 503).text
        copy.read("catalog").manifest_path.unlink()
        assert "shopwright build catalog" in visitor.page("/data/catalog/0", 404).text
        assert "catalog" in visitor.page("/").text


def test_looking_changes_nothing(copy):
    before = checksums(copy.folder)
    with serve_run(copy) as visitor:
        for target in (
            "/",
            "/data/catalog",
            "/data/questions/0",
            "/data/questions/0/evidence",
            "/data/catalog?sql=price>5",
        ):
            visitor.page(target)
    assert checksums(copy.folder) == before


# --- the command -------------------------------------------------------------------------------------------------------


def test_the_command_prints_its_address_and_ends_in_one_line(small):
    script = f"import sys; from shopwright.pipeline.commands import browse; sys.exit(browse.run({str(small.folder)!r}, 0, False))"
    words = [sys.executable, "-c", script]
    home = Path(__file__).parents[2]
    process = subprocess.Popen(
        words, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    line = process.stdout.readline()
    assert line.startswith(f"{small.folder} is at http://127.0.0.1:")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.strip(), err) == (0, "Ended.", "")


def test_the_command_says_what_is_wrong_in_one_line(small, tmp_path):
    with pytest.raises(Problem, match="There is no finished dataset in"):
        browse.run(str(tmp_path / "nothing"), 0, False)
    with Server(small) as server, pytest.raises(Problem, match=f"Port {server.server_port} cannot be used"):
        browse.run(str(small.folder), server.server_port, False)
    with pytest.raises(Problem, match="Port 99999"):
        browse.run(str(small.folder), 99_999, False)


@pytest.mark.slow
def test_a_run_on_storage_is_looked_at_as_one_here(small, monkeypatch, tmp_path):
    pytest.importorskip("s3fs")
    pytest.importorskip("moto.server")
    import s3fs

    from tests.scale import servers

    with servers.storage() as keys:
        for name, value in keys.items():
            monkeypatch.setenv(name, value)
        files = s3fs.S3FileSystem(use_listings_cache=False, skip_instance_cache=True)
        files.mkdir("looked-at")
        for name in ("manifests", "questions", "trajectories", "catalog"):
            files.put(str(small.folder / name), f"looked-at/run/{name}", recursive=True)
        with serve_run(Run("s3://looked-at/run")) as visitor:
            assert "/data/questions" in visitor.page("/").links
            assert visitor.filtered("questions", "kind = 'price'").links
            question = small.read("questions").head(1)[0]
            page = visitor.page("/data/questions/0/evidence")
            assert [at["id"] for at in page.all("tr") if at.get("class")] == [
                f"event-{row}" for row in question.evidence
            ]
