"""Model servers that misbehave: what may pass costs no row and changes none, what does not pass is named, and later all is as if nothing had happened.

Elsewhere: what a client makes of each fault, and whole builds of personas by it (tests/models/test_openai.py, test_faults.py); kills at certain
numbers of requests, with all that is on its way (test_kills.py); files of replies that are torn or damaged (test_replies.py); budgets and
requeueing (test_builds.py). Here: every dataset that asks, every fault, and all of it together; the files are compared with an undisturbed build's.
"""

import json
import re
import shutil
import signal
import time
from dataclasses import replace
from random import Random

import pytest
from aiohttp import web

from shopwright.pipeline.models.replies import list_reply_places
from shopwright.pipeline.models.role import Models
from shopwright.pipeline.problem import Ended
from shopwright.pipeline.run import Run
from shopwright.pipeline.stages import all_stages, upstream
from tests.faults.builds import Case
from tests.faults.commands import Commands
from tests.faults.speakers import SETTINGS, speaker
from tests.models.server import ALWAYS, Plan, Server, constant

QUICK = ("personas", "shopping_episodes")
AT_ONCE, FEW = 16, 4
ODD = {
    "a page": {"body": b"<html>Log in</html>", "content_type": "text/html"},
    "bytes": {"body": bytes(range(256))},
    "no gzip": {"body": b"{}", "headers": {"Content-Encoding": "gzip"}},
    "sent elsewhere": {"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}},
    "sent to no address": {"status": 302, "headers": {"Location": f"http://{'a' * 300}.com/"}},
    "sent in a circle": {"status": 307, "headers": {"Location": "/v1/chat/completions"}},
}
"""Answers of what stands before a server, or in its place."""
PASSING = (
    *("408", "409", "425", "429", "500", "501", "502", "503", "504", "520", "524", "529"),
    *("cut", "torn", "malformed", "empty", "parts", "trickle", "hang"),
    *("302", "204"),
    *ODD,
)
"""Faults that the same request need not meet again."""
SELDOM = ("408", "409", "425", "429", "501", "502", "504", "520", "empty", "bytes", "a page", "sent elsewhere")
"""Much like others."""
REFUSED = ("400", "403", "413", "422")
BAD = ("length", "filtered", "short", "wrong")
"""Answers that are none, with the status of good ones: a conversation goes on from them, so that later replies are others."""
SHARE = 0.6
REFUSING = {("personas", "400"), ("personas", "short"), ("shopping_episodes", "length")}
STOPPING = {("personas", signal.SIGKILL), ("personas", signal.SIGTERM)}
SUM = re.compile(
    r"(\w+): (\d+) requested = (\d+) accepted \+ (\d+) rejected \+ (\d+) pending \((\d+) replies are kept\)"
)


class Built(Case):
    """A dataset that a good model has helped to make, and the same model on a server that misbehaves by plan."""

    def __init__(self, small, name, folder):
        self.says = speaker(small, name)
        plain = Case(small.folder, name)
        settings = {**plain.manifest.recipe.settings, **SETTINGS[name]}
        self.empty(plain.fresh(folder))
        for other in set(all_stages()) - set(upstream(name)):
            Run(folder).clear(other)
        with Server(Plan(says=self.says)) as server:
            self.run(folder, server).build(name, **{f"{name}.{key}": value for key, value in settings.items()})
        self.requests = {address(body) for body in server.bodies}
        super().__init__(folder, name)
        del self.settings["seed"]  # the folder's own
        assert self.manifest.rows > 0.9 * (self.manifest.rows + self.manifest.rejected)

    def empty(self, folder):
        shutil.rmtree(folder / "replies", ignore_errors=True)
        return folder

    def fresh(self, folder):
        return self.empty(super().fresh(folder))

    def plan(self, faults, times=1, **more):
        """`faults`: names, each met with its part of a share of the requests."""
        return Plan({fault: SHARE / len(faults) for fault in faults}, times, says=self.says, **more)

    def run(self, folder, server, **options):
        models = Models(model=f"openai:toy@{server.url}", **{"at_once": AT_ONCE, **options})
        return Run(folder, workers=1, models=models)

    def made(self, folder, server, *, rebuild=False, **options):
        return self.run(folder, server, **options).build(self.name, rebuild=rebuild, **self.settings)

    def words(self, folder, server, *more):
        """Of the command that builds it."""
        typed = [
            f"--{key.partition('.')[2].replace('_', '-')}={text_of(value)}" for key, value in self.settings.items()
        ]
        given = ("--model", f"openai:toy@{server.url}", "--workers", 1)
        return ("build", self.name, "--run", folder, *given, *typed, *more)


def text_of(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def address(body):
    return json.dumps(body, sort_keys=True)


class Watched(Server):
    """Knows which requests it has answered, and which it was asked again all the same."""

    def __init__(self, plan, port=0):
        super().__init__(plan, port)
        self.good, self.again = set(), set()

    async def asked(self, request):
        key = address(await request.json())
        if key in self.good:
            self.again.add(key)
        return await super().asked(request)

    async def answer(self, request, body, fault):
        if fault in ("", "trickle", *BAD, *REFUSED):
            self.good.add(address(body))
        if fault in ODD:
            return web.Response(**ODD[fault])
        return await super().answer(request, body, fault)


@pytest.fixture(scope="module")
def built(small, tmp_path_factory):
    """Each dataset as it is undisturbed, made once."""
    found = {}

    def of(name):
        if name not in found:
            found[name] = Built(small, name, tmp_path_factory.mktemp("undisturbed") / name)
        return found[name]

    return of


@pytest.fixture(scope="module")
def commands():
    with Commands() as found:
        yield found


def sums(told):
    """Of the line that says what was asked for: requested, accepted, rejected, pending and replies that are kept."""
    (found,) = SUM.findall(told.replace(",", ""))
    _, *numbers = found
    requested, accepted, rejected, pending, kept = map(int, numbers)
    assert requested == accepted + rejected + pending
    return requested, accepted, rejected, pending, kept


everywhere = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in SETTINGS]
)


def test_every_dataset_that_can_ask_a_model_does_so_here():
    assert {name for name, stage in all_stages().items() if stage.roles} == set(SETTINGS)


# --- what passes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=pytest.mark.slow if fault in SELDOM else []) for fault in PASSING]
)
def test_a_fault_that_passes_changes_nothing_of_what_is_built(built, fault, tmp_path):
    case = built("personas")
    folder = case.fresh(tmp_path / "run")
    with Watched(case.plan([fault])) as server:
        case.made(folder, server, deadline=0.5 if fault == "hang" else 60.0)
    assert server.struck[fault]
    case.same(folder)
    if fault != "hang":  # on a busy machine an answer, too, may come after so short a deadline
        assert not server.again
    assert server.good == case.requests


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_fault_that_passes_changes_no_dataset(built, name, fault, tmp_path):
    test_a_fault_that_passes_changes_nothing_of_what_is_built(lambda _: built(name), fault, tmp_path)


@everywhere
def test_a_server_at_its_worst_changes_nothing_of_what_is_built(built, name, tmp_path):
    case = built(name)
    folder = case.fresh(tmp_path / "run")
    with Watched(case.plan([each for each in PASSING if each != "hang"], most=12)) as server:
        case.made(folder, server)
    assert set(server.struck) > {""}
    case.same(folder)
    assert not server.again
    assert server.good == case.requests


# --- what does not pass ------------------------------------------------------------------------------------------------


@everywhere
def test_what_a_server_never_answers_is_no_row_and_is_asked_by_the_next_build_and_nothing_else_is(
    built, name, tmp_path
):
    case = built(name)
    folder = case.fresh(tmp_path / "run")
    with Watched(replace(case.plan(["500"], ALWAYS, retry_after="0"), faults={"500": 0.1})) as server:
        made = case.made(folder, server)
        assert made.requested in (None, made.rows + made.rejected)
        assert sum(each["faults"] for each in made.usage.values()) == server.struck["500"] / 8 > 0
        lost = {reason: count for reason, count in made.rejects.items() if "HTTP 500" in reason}
        assert lost
        assert all(reason.startswith("unanswered: ") for reason in lost)
        assert not [row for row in Run(folder).read(name).table().to_pylist() if "HTTP 500" in str(row)]
        server.plan = Plan(says=case.says)
        case.made(folder, server)  # the same command again
    case.same(folder)
    assert not server.again


def test_without_a_model_what_was_not_answered_stays_as_it_is(built, tmp_path):
    case = built("personas")
    folder = case.fresh(tmp_path / "run")
    with Watched(replace(case.plan(["500"], ALWAYS, retry_after="0"), faults={"500": 0.1})) as server:
        made = case.made(folder, server)
    assert Run(folder, workers=1).build("personas") == made


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(name, fault, marks=[] if (name, fault) in REFUSING else pytest.mark.slow)
        for name in SETTINGS
        for fault in (*REFUSED, *BAD)
    ],
)
def test_what_a_server_refuses_or_answers_badly_is_told_and_is_mended_by_asking_afresh(built, name, fault, tmp_path):
    case = built(name)
    folder = case.fresh(tmp_path / "run")
    with Watched(replace(case.plan([fault], ALWAYS), faults={fault: 0.1})) as server:
        made = case.made(folder, server)
        assert made.requested in (None, made.rows + made.rejected)
        assert not server.again
        before = server.count
        case.made(folder, server, rebuild=True)
        assert server.count == before
        server.plan = Plan(says=case.says)
        case.made(folder, server, rebuild=True, fresh=True)
        case.same(folder)
        before = server.count
        case.made(folder, server, rebuild=True)
        assert server.count == before
    case.same(folder)


# --- what ends it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        *("401", "503", "hang", "no gzip"),
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("402", "404", "429", "malformed", *ODD)),
    ],
)
def test_a_server_that_answers_nothing_any_more_ends_the_build_and_another_goes_on_from_there(built, fault, tmp_path):
    case = built("personas")
    folder, first = case.fresh(tmp_path / "run"), 10

    class Ends(Plan):
        def fault(self, body, times):
            return fault if server.count > first else ""

    with Watched(Ends(says=case.says)) as server:
        with pytest.raises(Ended) as ended:
            case.made(folder, server, patience=0.2, deadline=0.3)
        said = "\n".join([str(ended.value), *ended.value.__notes__])
        requested, *_, pending, kept = sums(said)
        assert (requested, pending) == (case.manifest.requested, requested)
        assert kept == len(server.good) == first
        assert len(said.splitlines()) == 2
        server.plan = Plan(says=case.says)
        case.made(folder, server)
    case.same(folder)
    assert not server.again


# --- killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "how"),
    [
        pytest.param(name, how, marks=[] if (name, how) in STOPPING else pytest.mark.slow)
        for name in SETTINGS
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    ],
)
def test_stopped_while_a_server_misbehaves_it_goes_on_later(built, name, how, commands, tmp_path):
    case = built(name)
    chance = Random(f"{name} {how}")
    folder = case.fresh(tmp_path / "run")
    mixed = dict.fromkeys([each for each in PASSING if each != "hang"], 0.01) | {"trickle": 0.5}
    with Watched(Plan(mixed, says=case.says, latency=constant(0.02))) as server:
        begun = commands.begin(*case.words(folder, server, "--at-once", FEW))
        until = chance.randrange(len(case.requests) // 2, len(case.requests))
        while server.count < until:
            time.sleep(0.001)
        begun.send(how)
        code, said = begun.ended(), begun.said.read_text()
        while server.now:
            time.sleep(0.001)
        assert code in (0, -how if how == signal.SIGKILL else 130), said
        assert "Traceback" not in said
        kept = {key for key, _ in list_reply_places(folder / "replies")}
        assert len(server.good) - FEW <= len(kept) <= len(server.good)
        if how != signal.SIGKILL:
            assert len(kept) == len(server.good)
        server.plan = Plan(says=case.says)
        case.made(folder, server)
    case.same(folder)
    assert len(server.again) <= (FEW if how == signal.SIGKILL else 0)
