import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from shopwright.pipeline.problem import Problem
from shopwright.pipeline.publish import hub as hubs
from shopwright.pipeline.publish.exporters.forms import Config
from shopwright.pipeline.publish.hub import check, push
from shopwright.pipeline.publish.layout import INDEX, lay
from shopwright.pipeline.run import Run
from tests.publish.hub import TOKEN, LocalHub

HOME = Path(__file__).parents[2]
REPO = "user/shop"
CARD = "---\nlicense: cc-by-4.0\nconfigs:\n{}---\n# Shop\n"
CONFIG = "- config_name: {0}\n  data_files:\n  - split: train\n    path: data/{0}/train-*\n"
ROWS = pa.schema([("id", pa.string()), ("said", pa.json_()), ("n", pa.int64())])


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with LocalHub(tmp_path / "hub") as found:
        yield found


@pytest.fixture
def laid(tmp_path):
    """Lays configs of so many rows, with a card: `laid(toys=10)` gives the folder."""

    def made(said="once", **rows):
        def finish(found):
            (found.folder / "README.md").write_text(CARD.format("".join(map(CONFIG.format, found.configs))))

        configs = [
            Config(name, "", ROWS, {"train": lambda count=count: batches(count, said)}) for name, count in rows.items()
        ]
        return lay(configs, tmp_path / "laid", finish=finish).folder

    return made


def batches(count, said):
    columns = {
        "id": [f"row-{n}" for n in range(count)],
        "said": [f'{{"{said}": {n}}}' for n in range(count)],
        "n": range(count),
    }
    yield pa.table(columns).cast(ROWS).to_batches()[0]


def shard(config):
    return f"data/{config}/train-00000-of-00001.parquet"


def as_it_was(hub):
    return hub.datasets[REPO].log() if REPO in hub.datasets else None


def script(text, hub, folder, **more):
    """A process of its own that knows no other Hub, and no Xet where it is told."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", text],
        env=hub.environment(folder, PYTHONPATH=str(HOME), **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_was_published_loads_with_datasets_row_by_row(hub, laid, tmp_path):
    push(laid(toys=1_200, boxes=3), REPO, endpoint=hub.url)
    text = f"""
from datasets import load_dataset
toys = load_dataset({REPO!r}, "toys", split="train")
assert toys.num_rows == 1_200
assert all(row == {{"id": f"row-{{n}}", "said": {{"once": n}}, "n": n}} for n, row in enumerate(toys))
assert load_dataset({REPO!r}, "boxes")["train"]["n"][:] == [0, 1, 2]
"""
    done = script(text, hub, tmp_path / "home")
    assert done.wait() == 0, done.stderr.read()


def test_a_dataset_is_made_again_by_the_recipe_that_lies_on_the_hub(hub, laid, tmp_path):
    folder = laid(personas=1)
    (folder / "recipe.toml").write_text('seed = 5\n\n[settings]\n"personas.count" = 4\n"catalog.products" = 300\n')
    push(folder, REPO, endpoint=hub.url)
    text = f"""
from shopwright.pipeline.__main__ import main
raise SystemExit(main(["build", "personas", "--recipe", "hf://{REPO}", "--run", {str(tmp_path / "run")!r}, "--workers", "1"]))
"""
    done = script(text, hub, tmp_path / "home")
    _, told = done.communicate()
    assert done.returncode == 0, told
    made = Run(tmp_path / "run").read("personas")
    assert (len(made), made.manifest.recipe.seed) == (4, 5)
    assert hub.count("GET", f"/datasets/{REPO}/resolve/main/recipe.toml")


def test_all_of_it_is_one_commit(hub, laid):
    done = push(laid(toys=10, boxes=3), REPO, endpoint=hub.url, message="two configs")
    assert hub.datasets[REPO].log() == ["initial commit", "two configs"]
    assert set(hub.files(REPO)) == {"README.md", INDEX, shard("toys"), shard("boxes")}
    assert done.commit == hub.datasets[REPO].branches["main"]
    assert done.url == f"{hub.url}/datasets/{REPO}"


def test_publishing_the_same_again_does_nothing(hub, laid):
    push(laid(toys=10), REPO, endpoint=hub.url)
    before = len(hub.asked)
    done = push(laid(toys=10), REPO, endpoint=hub.url)
    assert not done.changes
    assert (len(done.changes.unchanged), done.commit) == (3, "")
    assert {method for method, *_ in hub.asked[before:]} == {"GET"}


def test_only_what_changed_is_sent(hub, laid):
    push(laid(toys=10, boxes=3), REPO, endpoint=hub.url)
    done = push(laid(toys=10, boxes=4), REPO, endpoint=hub.url)
    assert done.changes.changed == [shard("boxes"), INDEX]
    assert done.changes.unchanged == ["README.md", shard("toys")]
    assert done.changes.uploads == sorted([shard("boxes"), INDEX])


def test_shards_that_were_put_there_go_when_they_are_no_longer_made_and_other_files_stay(hub, laid):
    from huggingface_hub import HfApi

    push(laid(toys=10, boxes=3), REPO, endpoint=hub.url)
    more = [
        "notes.txt",
        "data/toys/notes.txt",
        "data/mine/train-00000-of-00001.parquet",
        "data/toys/train-00000-of-00002.parquet",
    ]
    for path in more:
        HfApi(hub.url).upload_file(path_or_fileobj=b"x", path_in_repo=path, repo_id=REPO, repo_type="dataset")
    done = push(laid(toys=10), REPO, endpoint=hub.url)
    assert sorted(done.changes.removed) == [shard("boxes"), more[-1]]
    assert set(hub.files(REPO)) == {"README.md", INDEX, shard("toys"), *more[:3]}


def test_a_part_is_refused_where_it_would_take_others_away(hub, laid):
    push(laid(toys=10, boxes=3), REPO, endpoint=hub.url)
    before = as_it_was(hub)
    with pytest.raises(Problem, match="has boxes too, which --only would take away"):
        push(laid(toys=10), REPO, endpoint=hub.url, part=True)
    assert as_it_was(hub) == before
    push(laid(toys=11, boxes=3), REPO, endpoint=hub.url, part=True)


def test_a_dry_run_tells_what_would_change_and_changes_nothing(hub, laid):
    done = push(laid(toys=10, boxes=3), REPO, endpoint=hub.url, dry_run=True)
    assert len(done.changes.added) == 4
    assert REPO not in hub.datasets
    push(laid(toys=10, boxes=3), REPO, endpoint=hub.url)
    before = len(hub.asked)
    told = push(laid(toys=11), REPO, endpoint=hub.url, dry_run=True, revision="next").changes
    assert (told.changed, told.removed) == (["README.md", shard("toys"), INDEX], [shard("boxes")])
    assert {method for method, *_ in hub.asked[before:]} == {"GET"}


def test_another_branch_is_made_and_main_left_alone(hub, laid):
    push(laid(toys=10), REPO, endpoint=hub.url)
    push(laid(toys=11), REPO, endpoint=hub.url, revision="next")
    assert as_it_was(hub) == ["initial commit", "Publish with shopwright"]
    assert len(hub.datasets[REPO].log("next")) == 3
    push(laid(toys=12), "user/new", endpoint=hub.url, revision="next")
    assert hub.files("user/new") == {}
    assert len(hub.files("user/new", "next")) == 3


def test_a_private_one_is_private(hub, laid):
    push(laid(toys=10), REPO, endpoint=hub.url, private=True)
    push(laid(toys=11), REPO, endpoint=hub.url, private=True)
    push(laid(toys=12), "user/open", endpoint=hub.url)
    assert (hub.datasets[REPO].private, hub.datasets["user/open"].private) == (True, False)


def test_what_should_be_private_does_not_go_where_all_can_see_it(hub, laid):
    push(laid(toys=10), REPO, endpoint=hub.url)
    for ask in (
        lambda: push(laid(toys=11), REPO, endpoint=hub.url, private=True),
        lambda: check(REPO, endpoint=hub.url, private=True),
    ):
        with pytest.raises(Problem, match="is public"):
            ask()
    assert len(as_it_was(hub)) == 2


@pytest.mark.parametrize("name", ["shop", "user/shop/more", "user/", "../shop x"])
def test_a_name_that_is_none_is_refused_before_anything_is_asked(hub, name):
    with pytest.raises(Problem, match="--repo is user/name"):
        check(name, endpoint=hub.url)
    assert not hub.asked


# What goes wrong.


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "refused it"),
        (401, "Set HF_TOKEN to another"),
        (403, "may not write"),
        (404, "There is no user/shop"),
        (409, "busy with another push"),
        (412, "Somebody else pushed to user/shop at the same time"),
        (429, "too many requests"),
        (500, "has a fault"),
        (503, "has a fault"),
    ],
)
def test_every_refusal_is_one_sentence_that_says_what_to_do(hub, laid, status, said):
    push(laid(toys=10), REPO, endpoint=hub.url)
    hub.fault("POST", "/commit/", status=status, times=hubs.TRIES, message=f"so\nit is, {TOKEN}")
    with pytest.raises(Problem, match=said) as found:
        push(laid(toys=11), REPO, endpoint=hub.url, wait=lambda seconds: None)
    assert "\n" not in str(found.value)
    assert TOKEN not in str(found.value)
    assert len(as_it_was(hub)) == 2
    hub.faults.clear()
    push(laid(toys=11), REPO, endpoint=hub.url)
    assert len(as_it_was(hub)) == 3


@pytest.mark.parametrize(("status", "tries"), [(400, 1), (401, 1), (429, hubs.TRIES), (503, hubs.TRIES)])
def test_what_may_pass_is_asked_again_and_nothing_else(hub, status, tries):
    hub.fault("GET", "/revision/main", status=status, times=99)
    with pytest.raises(Problem, match=str(status)):
        push(hub.folder, REPO, endpoint=hub.url, wait=lambda seconds: None)
    for _ in range(100):  # a request is written down when its answer is out
        if len(hub.asked) >= tries:
            break
        time.sleep(0.02)
    assert len(hub.asked) == tries


@pytest.mark.parametrize(
    ("fault", "waits"),
    [
        ({"status": 503}, [1.0]),
        ({"status": 409, "times": 3}, [1.0, 2.0, 4.0]),
        ({"status": 429, "headers": {"Retry-After": "7"}}, [7.0]),
        ({"status": 429, "headers": {"RateLimit": '"api";r=0;t=3', "Retry-After": "7"}}, [3.0]),
        ({"cut": 40}, [1.0]),
    ],
    ids=["503", "409", "429", "429 with a limit", "cut"],
)
def test_what_passes_is_waited_for(hub, laid, fault, waits):
    hub.fault("POST", "/commit/", **fault)
    waited = []
    done = push(laid(toys=10), REPO, endpoint=hub.url, wait=waited.append)
    assert waited == waits
    assert as_it_was(hub) == ["initial commit", "Publish with shopwright"]
    assert done.commit == hub.datasets[REPO].branches["main"]


@pytest.mark.parametrize("status", [400, 401, 403, 412])
def test_a_commit_that_is_refused_for_good_is_sent_once(hub, laid, status):
    hub.fault("POST", "/commit/", status=status)
    with pytest.raises(Problem):
        push(laid(toys=10), REPO, endpoint=hub.url, wait=pytest.fail)
    assert as_it_was(hub) == ["initial commit"]


def test_a_commit_whose_answer_takes_too_long_is_found_when_it_is_there_in_the_end(hub, laid):
    hub.fault("POST", "/commit/", delay=1.0)
    waited = []

    def wait(seconds):
        waited.append(seconds)
        time.sleep(1.5)

    done = push(laid(toys=10), REPO, endpoint=hub.url, wait=wait, patience=0.4)
    assert waited == [1.0]
    assert as_it_was(hub) == ["initial commit", "Publish with shopwright"]
    assert done.commit == hub.datasets[REPO].branches["main"]


def test_of_errors_around_errors_the_one_that_says_most_is_told():
    within = OSError("the connection")
    within.__cause__ = Problem("The Hub asks to wait")
    around = RuntimeError("Error while uploading")
    around.__cause__ = within
    assert hubs.first_cause(around) is within.__cause__
    assert hubs.first_cause(plain := ValueError("x")) is plain


def test_an_answer_that_is_lost_makes_no_second_commit(hub, laid):
    hub.fault("POST", "/commit/", silent=True)
    waited = []
    done = push(laid(toys=10), REPO, endpoint=hub.url, wait=waited.append)
    assert as_it_was(hub) == ["initial commit", "Publish with shopwright"]
    assert done.commit == hub.datasets[REPO].branches["main"]
    assert not waited


def test_an_answer_of_making_the_dataset_that_is_lost_does_no_harm(hub, laid):
    hub.fault("POST", "/repos/create", silent=True)
    push(laid(toys=10), REPO, endpoint=hub.url, wait=lambda seconds: None)
    assert len(as_it_was(hub)) == 2


@pytest.mark.parametrize("where", ["/preupload/", "/commit/"])
def test_it_does_not_sleep_for_as_long_as_a_server_likes(hub, laid, where):
    hub.fault("POST", where, status=429, headers={"Retry-After": "3600"})
    with pytest.raises(Problem, match="asks to wait 3,600 s"):
        push(laid(toys=10), REPO, endpoint=hub.url, wait=pytest.fail)
    assert as_it_was(hub) == ["initial commit"]


def test_a_hub_that_is_away_is_told(hub, laid):
    waited = []
    with pytest.raises(Problem, match=r"connection to http://127\.0\.0\.1:9 failed"):
        push(laid(toys=10), REPO, endpoint="http://127.0.0.1:9", wait=waited.append)
    assert waited == [1.0, 2.0, 4.0, 8.0]


def test_a_token_that_the_storage_does_not_know_is_told_as_such(hub, laid):
    hub.fault("GET", "/xet-write-token/", status=401, times=99)
    with pytest.raises(Problem, match="does not know this token"):
        push(laid(toys=10), REPO, endpoint=hub.url)


def test_a_place_where_one_may_not_write_is_told(hub, laid):
    with pytest.raises(Problem, match="may not write to others/shop"):
        push(laid(toys=10), "others/shop", endpoint=hub.url)


def test_a_dataset_that_one_may_not_see_is_told(hub, laid):
    push(laid(toys=10), REPO, endpoint=hub.url)
    hub.fault("GET", "/revision/main", status=404, times=99, headers={"X-Error-Code": "RepoNotFound"})
    with pytest.raises(Problem, match="this token may not see it"):
        push(laid(toys=11), REPO, endpoint=hub.url)


@pytest.mark.parametrize(("status", "said"), [(401, "does not know this token"), (403, "may not write")])
def test_a_dataset_that_is_hidden_is_not_taken_for_a_missing_one(hub, status, said):
    hub.fault("GET", "/revision/main", status=status, headers={"X-Error-Code": "RepoNotFound"})
    with pytest.raises(Problem, match=said):
        check(REPO, endpoint=hub.url)


def test_a_wrong_token_is_told_before_anything_is_laid(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_another")
    with pytest.raises(Problem, match="does not know this token") as found:
        check(REPO, endpoint=hub.url)
    assert "hf_another" not in str(found.value)


def test_without_a_token_it_says_where_one_is_looked_for(hub, tmp_path):
    text = f"from shopwright.pipeline.publish.hub import check; check({REPO!r})"
    done = script(text, hub, tmp_path / "home", HF_TOKEN="")
    assert "There is no token for the Hub. Set HF_TOKEN" in done.communicate()[1]
    assert not hub.asked


def test_a_dry_run_needs_no_token_and_changes_nothing(hub, laid, tmp_path):
    text = (
        "from pathlib import Path; from shopwright.pipeline.publish.hub import check, push; "
        f"check({REPO!r}, dry_run=True); print(len(push(Path({str(laid(toys=10))!r}), {REPO!r}, dry_run=True).changes.uploads))"
    )
    out, error = script(text, hub, tmp_path / "home", HF_TOKEN="").communicate()
    assert error == ""
    assert int(out) > 0
    assert {method for method, *_ in hub.asked} <= {"GET", "HEAD"}


def test_a_token_is_found_where_logging_in_leaves_it(hub, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "token").write_text(f"{TOKEN}\n")
    done = script(
        f"from shopwright.pipeline.publish.hub import check; check({REPO!r})", hub, tmp_path / "home", HF_TOKEN=""
    )
    assert (done.communicate(), done.returncode) == (("", ""), 0)


def test_what_the_dataset_ignores_is_missed(hub, laid):
    from huggingface_hub import HfApi

    push(laid(toys=10), REPO, endpoint=hub.url)
    ignore = f"{shard('boxes')}\n".encode()
    HfApi(hub.url).upload_file(path_or_fileobj=ignore, path_in_repo=".gitignore", repo_id=REPO, repo_type="dataset")
    with pytest.raises(Problem, match=f"not {shard('boxes')}: look into its .gitignore"):
        push(laid(toys=10, boxes=3), REPO, endpoint=hub.url)


def test_of_two_pushes_at_once_one_is_told_that_it_was_late(hub, laid, tmp_path):
    push(laid(toys=10), REPO, endpoint=hub.url)
    late, first = laid(toys=11).rename(tmp_path / "late"), laid(toys=12).rename(tmp_path / "first")
    hub.fault("POST", "/commit/", delay=1.0)
    told = []

    def be_late():
        try:
            push(late, REPO, endpoint=hub.url, message="late")
        except Problem as problem:
            told.append(str(problem))

    other = threading.Thread(target=be_late)
    other.start()
    while hub.faults[0]["times"]:
        time.sleep(0.01)
    push(first, REPO, endpoint=hub.url, message="first")
    other.join()
    assert as_it_was(hub)[2:] == ["first"]
    assert "Somebody else pushed to user/shop" in told[0]
    assert "nothing of this push is visible" in told[0]
    assert "run the same command again" in told[0]
    push(late, REPO, endpoint=hub.url, message="late")
    assert as_it_was(hub)[2:] == ["first", "late"]


def test_of_two_pushes_of_the_same_at_once_both_are_done(hub, laid):
    push(laid(toys=10), REPO, endpoint=hub.url)
    folder = laid(toys=11)
    hub.fault("POST", "/commit/", delay=0.5)
    done = []
    other = threading.Thread(target=lambda: done.append(push(folder, REPO, endpoint=hub.url)))
    other.start()
    while hub.faults[0]["times"]:
        time.sleep(0.01)
    done.append(push(folder, REPO, endpoint=hub.url))
    other.join()
    assert done[0].commit == done[1].commit == hub.datasets[REPO].branches["main"]
    assert len(as_it_was(hub)) == 3


def pushing(hub, folder, home):
    text = f"from pathlib import Path; from shopwright.pipeline.publish.hub import push; push(Path({str(folder)!r}), {REPO!r})"
    return script(text, hub, home, HF_HUB_DISABLE_XET="1")


def test_a_push_that_was_killed_goes_on_where_it_was(hub, laid, tmp_path):
    folder = laid(toys=2_000, boxes=1_000, bags=500)
    hub.fault("PUT", "/lfs/put/", delay=30)
    push_one = pushing(hub, folder, tmp_path / "home")
    while hub.count("PUT", "/lfs/") < 2:
        assert push_one.poll() is None, push_one.stderr.read()
        time.sleep(0.02)
    push_one.send_signal(signal.SIGKILL)
    push_one.communicate()
    assert as_it_was(hub) == ["initial commit"]
    again = pushing(hub, folder, tmp_path / "home")
    assert again.communicate()[1] == ""
    assert len(hub.files(REPO)) == 5
    assert hub.count("PUT", "/lfs/") == 3


def test_a_connection_that_breaks_in_the_middle_of_a_file_is_made_again(hub, laid, tmp_path):
    folder = laid(toys=20_000)
    hub.fault("PUT", "/lfs/put/", cut=1_000)
    done = pushing(hub, folder, tmp_path / "home")
    assert done.communicate()[1] == ""
    assert hub.faults[0]["times"] == 0
    assert shard("toys") in hub.files(REPO)


def test_a_large_push_says_how_far_it_is(hub, laid, monkeypatch):
    said = []
    push(laid(toys=10), REPO, endpoint=hub.url, say=said.append)
    assert not said
    push(laid(toys=300_000), REPO, endpoint=hub.url, say=said.append)
    assert said
    assert "MB are there" in said[-1]


def test_files_go_up_some_at_a_time():
    class File:
        def __init__(self, size):
            self.upload_info = type("Info", (), {"size": size})

    sizes = [hubs.BYTES_AT_A_TIME - 1, 1, 1, hubs.BYTES_AT_A_TIME * 2, *[1] * 150]
    found = [[each.upload_info.size for each in batch] for batch in hubs.split_additions(list(map(File, sizes)))]
    assert [size for batch in found for size in batch] == sizes
    assert [len(batch) for batch in found] == [2, 1, 1, 100, 50]


def test_the_client_is_left_as_it_was(hub, laid):
    from huggingface_hub.utils import are_progress_bars_disabled, logging

    before = are_progress_bars_disabled(), logging.get_verbosity()
    push(laid(toys=10), REPO, endpoint=hub.url)
    assert (are_progress_bars_disabled(), logging.get_verbosity()) == before
