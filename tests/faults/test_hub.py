"""A Hub that misbehaves at each request of a publication: who looks sees what was there before or all of the new, and publishing again ends as if nothing had happened.

Elsewhere (tests/publish/test_hub.py): what each refusal of a commit says, two pushes at once, kills and cuts amid a large file, how long is waited.
Here: every fault, at every request, once and from there on; the bytes go up by Git LFS, as where Xet cannot be had.
"""

import copy
import threading
import time
from random import Random

import pytest

from shopwright.pipeline.publish.exporters.forms import Config
from shopwright.pipeline.publish.layout import lay
from tests.faults.commands import Commands
from tests.publish.hub import TOKEN, Handler, LocalHub
from tests.publish.test_hub import CARD, CONFIG, REPO, ROWS, batches

STATUSES = (400, 401, 403, 404, 408, 409, 410, 412, 413, 422, 429, 500, 502, 503, 504, 524)
FAULTS = {
    **{str(status): {"status": status, "message": f"so\nit is, {TOKEN}"} for status in STATUSES},
    "asks to wait": {"status": 429, "headers": {"Retry-After": "3600"}},
    "is down for a day": {"status": 503, "headers": {"Retry-After": "86400"}},
    "cut at once": {"cut": 0},
    "cut": {"cut": 40},
    "answer lost": {"silent": True},
    "slow": {"delay": 0.6},
    "a page": {"says": b"<html>Log in</html>", "type": "text/html"},
    "nothing": {"says": b""},
    "no content": {"says": b"", "code": 204},
    "null": {"says": b"null"},
    "a number": {"says": b"7"},
    "a list": {"says": b"[]"},
    "a record": {"says": b"{}"},
    "torn": {"says": b'{"sha": '},
    "nested": {"says": b"[" * 100_000},
    "bytes": {"says": bytes(range(256))},
    "no gzip": {"says": b"{}", "headers": {"Content-Encoding": "gzip"}},
    "sent elsewhere": {"says": b"", "code": 302, "headers": {"Location": "http://127.0.0.1:9/"}},
    "sent to no address": {"says": b"", "code": 302, "headers": {"Location": f"http://{'a' * 300}.com/"}},
    "sent in a circle": {"says": b"", "code": 307, "headers": {"Location": f"/api/datasets/{REPO}"}},
}
SELDOM = (
    "404",
    "408",
    "410",
    "413",
    "422",
    "500",
    "502",
    "504",
    "cut at once",
    "no content",
    "torn",
    "bytes",
    "a number",
)
"""Much like others."""
ALWAYS = 1_000


LIES = ("forgets bytes", "forgets the commit", "takes some of the commit", "tells other checksums")
"""What a Hub does that says all is well; only what it then tells of its files shows it."""


FIRST, README = "commits for somebody else first", "README.md"


class Odd(Handler):
    """Does what was asked and says something else, or says what was asked for and does something else."""

    def lies(self, how):
        return self.hub.lie == how

    def lfs_put(self, digest):
        return self.answer({}) if self.lies("forgets bytes") else super().lfs_put(digest)

    def commit(self, repo, revision):
        if self.lies("forgets the commit"):
            head = self.hub.datasets[repo].at(revision)
            return self.answer({"success": True, "commitOid": head, "commitUrl": f"{self.hub.url}/commit/{head}"})
        if self.lies("takes some of the commit"):
            self.body = b"\n".join(line for line in self.body.splitlines() if b"/toys/" not in line)
        if self.lies(FIRST):
            self.hub.lie, found = "", self.hub.datasets[repo]
            head = found.branches[revision]
            theirs = {**found.trees[head], README: (self.hub.keep(b"theirs"), 6, False)}
            found.branches[revision] = found.add(theirs, head, "theirs")
        return super().commit(repo, revision)

    def item(self, found, commit, path):
        item = super().item(found, commit, path)
        if self.lies("tells other checksums") and "lfs" in item:
            item["lfs"]["oid"] = "0" * 64
        return item

    def answer(self, value, status=200, headers=None, data=None):
        fault = self.hub.now.fault
        if "says" in fault and status < 400:
            more = {"Content-Type": fault.get("type", "application/json"), **fault.get("headers", {})}
            return super().answer(None, fault.get("code", 200), more, fault["says"])
        return super().answer(value, status, headers, data)


class OddHub(LocalHub):
    """Misbehaves from one request on, so many times."""

    def __init__(self, folder):
        self.now, self.plan, self.seen, self.lie = threading.local(), (0, 0, {}), 0, ""
        super().__init__(folder)
        self.server.RequestHandlerClass = type("Bound", (Odd,), {"hub": self})

    def fault_of(self, method, path):
        with self.lock:
            self.seen += 1
            first, times, fault = self.plan
            self.now.fault = fault if first <= self.seen < first + times else {}
            return self.now.fault

    def state(self):
        """What one sees who reads the dataset."""
        return self.files(REPO) if REPO in self.datasets else None

    def at_rest(self, datasets, blobs):
        """As it was at another time, and well."""
        self.plan, self.seen, self.lie, self.datasets = (0, 0, {}), 0, "", copy.deepcopy(datasets)
        self.asked.clear()  # else what is still being answered is not waited for
        for path in self.blobs.iterdir():
            if path.name not in blobs:
                path.unlink()


class Place:
    """Two publications, one after the other, of which a second is made again and again."""

    def __init__(self, hub, commands, folder, empty):
        self.hub, self.commands = hub, commands
        hub.at_rest({}, ())
        self.old, self.new = laid(folder / "old", toys=10, boxes=3), laid(folder / "new", toys=11, bags=5)
        if not empty:
            assert self.push(self.old)[0] == 0
        self.before = copy.deepcopy(self.hub.datasets), {path.name for path in self.hub.blobs.iterdir()}
        self.states = [self.hub.state()]
        self.reset()
        assert self.push() == (0, "")
        self.requests, self.end = self.hub.seen, self.hub.state()
        self.commits = len(self.hub.datasets[REPO].log())
        assert len(self.end) == 4

    def reset(self):
        self.hub.at_rest(*self.before)

    def push(self, folder=None):
        return self.commands.ended("push", folder or self.new, REPO)


def laid(folder, **rows):
    def finish(found):
        (found.folder / "README.md").write_text(CARD.format("".join(map(CONFIG.format, found.configs))))

    configs = [Config(name, "", ROWS, {"train": lambda n=n: batches(n, "once")}) for name, n in rows.items()]
    return lay(configs, folder, finish=finish).folder


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    with OddHub(tmp_path_factory.mktemp("hub") / "hub") as found:
        yield found


@pytest.fixture(scope="module")
def commands(hub):
    with Commands(**hub.environment(hub.folder.parent / "home", HF_HUB_DISABLE_XET="1")) as found:
        yield found


@pytest.fixture(scope="module", params=["one that is there", pytest.param("a new one", marks=pytest.mark.slow)])
def place(request, hub, commands, tmp_path_factory):
    return Place(hub, commands, tmp_path_factory.mktemp("place"), request.param == "a new one")


def survives(place, name, request, times):
    """A publication that meets a fault, and what is seen then; another one, and what is seen in the end."""
    place.reset()
    place.hub.plan = (request, times, FAULTS[name])
    code, said = place.push()
    if FAULTS[name].get("delay"):
        settled(place.hub)
    place.hub.plan = (0, 0, {})
    seen = place.hub.state()
    assert code in (0, 2), said
    assert seen == place.end or (code and seen in (None, {}, *place.states)), f"half of it is seen: {said}"
    assert TOKEN not in said
    assert len(said.splitlines()) == (code > 0), said
    assert place.push() == (0, "")
    assert place.hub.state() == place.end
    assert len(place.hub.datasets[REPO].log()) == place.commits, "it was published twice"
    return code


def settled(hub):
    """When all that was asked is answered."""
    while hub.seen > len(hub.asked):
        time.sleep(0.01)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SELDOM else []) for name in FAULTS]
)
def test_a_fault_at_any_request_is_survived(place, name):
    chance = Random(name)
    survives(place, name, chance.randrange(1, place.requests + 1), chance.choice((1, ALWAYS)))


@pytest.mark.parametrize(("name", "number"), [("a list", 2), ("a page", 3), ("null", 1), ("a record", 9)])
def test_what_is_not_what_the_hub_has_leaves_no_shard_behind(place, name, number):
    """Its list of files, the index of what was put there before; its commit, which was made all the same."""
    assert survives(place, name, number, 1) == 0


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2, ALWAYS])
@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_at_every_request_is_survived(place, name, times):
    for request in range(1, place.requests + 1):
        survives(place, name, request, times)


@pytest.mark.parametrize("lie", LIES)
def test_a_hub_that_says_all_is_well_and_has_not_got_it_is_found_out(place, lie):
    place.reset()
    place.hub.lie = lie
    code, said = place.push()
    assert (code, len(said.splitlines())) == (2, 1), said
    assert TOKEN not in said
    place.hub.lie = ""
    assert place.push() == (0, "")
    assert place.hub.state() == place.end


def test_what_somebody_else_puts_there_meanwhile_is_not_overwritten_unseen(place):
    place.reset()
    place.hub.lie = FIRST
    code, said = place.push()
    assert (code, "Somebody else pushed" in said) == (2, True), said
    assert place.hub.datasets[REPO].log()[-1] == "theirs"
    assert place.hub.data(place.hub.state()[README][0]) == b"theirs"
    assert place.push() == (0, "")
    assert place.hub.state() == place.end


@pytest.mark.parametrize("moments", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_killed_at_any_moment_a_publication_is_seen_whole_or_not_at_all(place, moments):
    chance = Random(moments)
    for _ in range(moments):
        place.reset()
        place.hub.plan = (chance.randrange(1, place.requests + 1), 1, {"delay": 0.3})
        begun = place.commands.begin("push", place.new, REPO)
        latest = time.monotonic() + 60
        while place.hub.seen < place.hub.plan[0] and time.monotonic() < latest:
            time.sleep(0.001)
        assert begun.ended(after=chance.uniform(0, 0.02)) == -9
        settled(place.hub)
        assert place.hub.state() in (None, {}, *place.states, place.end)
        assert place.push() == (0, "")
        assert place.hub.state() == place.end
        assert len(place.hub.datasets[REPO].log()) == place.commits
