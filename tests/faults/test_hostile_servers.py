"""Builds and evaluations against the table of servers that send what no server should: each row that was requested is accepted, rejected or pending.

The table is in tests/models/test_hostile_servers.py, where single requests meet it. Here the server answers well for a while, and then as the table says.
"""

import json
import re
import socket
import threading
from collections import Counter
from contextlib import contextmanager, suppress

import pytest

from shopwright.pipeline.envs.evaluate import EnvTasks
from shopwright.pipeline.evaluate.situation import evaluate
from shopwright.pipeline.models.base import ServerUnreachable
from shopwright.pipeline.models.role import Models, Role
from shopwright.pipeline.problem import Ended
from tests.faults.test_model_server import built as built  # noqa: PLC0414  (a fixture)
from tests.faults.test_model_server import sums
from tests.models.server import completion
from tests.models.test_hostile_servers import AWAY, SERVERS, whole
from tests.models.test_unanswered import COUNT, ENV, LEVEL
from tests.models.test_unanswered import says as solving  # noqa: F401  (a fixture)
from tests.models.test_unanswered import shop as shop  # noqa: PLC0414  (a fixture)

DATASETS = ("env_episodes", "shopping_episodes")
FEW = {("env_episodes", "a million lists"), ("shopping_episodes", "silent within the body")}
"""For the quick tests."""
WELL = 10
"""Requests that are answered well at first."""


class TurningServer:
    """Answers the first requests well, then sends what no server should; `well` may be changed while it is at work."""

    def __init__(self, says, pieces, well):
        self.says, self.pieces, self.well = says, pieces, well
        self.asked, self.lock = Counter(), threading.Lock()

    def answer(self, connection):
        with connection, suppress(OSError):
            body = read_body(connection)
            with self.lock:
                good = self.asked["good"] < self.well
                self.asked["good" if good else "bad"] += 1
            if good:
                content = completion(self.says(body), "")
                connection.sendall(whole(json.dumps(content).encode(), b"Connection: close\r\n"))
            for piece in () if good else self.pieces():
                connection.sendall(piece)


def read_body(connection):
    head, _, rest = b"", b"", b""
    while not rest and b"\r\n\r\n" not in head:
        head += connection.recv(1 << 16)
    head, _, rest = head.partition(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    while len(rest) < length:
        rest += connection.recv(1 << 16)
    return json.loads(rest)


@contextmanager
def turn(says, pieces, well=WELL):
    found = TurningServer(says, pieces, well)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as server:

        def listen():
            with suppress(OSError):
                while True:
                    threading.Thread(target=found.answer, args=server.accept()[:1], daemon=True).start()

        threading.Thread(target=listen, daemon=True).start()
        found.url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        yield found


def mark(dataset, server):
    return pytest.param(dataset, server, marks=[] if (dataset, server) in FEW else pytest.mark.slow)


@pytest.mark.parametrize(("name", "server"), [mark(name, server) for name in DATASETS for server in SERVERS])
def test_each_row_is_accepted_rejected_or_pending(built, name, server, tmp_path):
    case = built(name)
    folder = case.fresh(tmp_path / "run")
    pieces, ends = SERVERS[server]
    with turn(case.says, pieces) as at:
        if ends == AWAY:
            with pytest.raises(Ended) as ended:
                case.made(folder, at, patience=1.0)
            *said, last = [*str(ended.value).splitlines(), *ended.value.__notes__]
            assert "gave no good answer" in said[0]
            _, _, _, pending, kept = sums(last)
            assert pending > 0
            assert kept == at.asked["good"] == WELL
        else:
            made = case.made(folder, at, patience=60)
            assert made.requested == made.rows + made.rejected
            assert made.rejected == sum(made.rejects.values()) > 0
            assert any(ends in reason for reason in made.rejects)
        at.well = 1 << 30
        case.made(folder, at, rebuild=ends != AWAY, fresh=ends != AWAY)
    case.same(folder)


@pytest.mark.parametrize(
    "server", [pytest.param(each, marks=[] if each == "a length in words" else pytest.mark.slow) for each in SERVERS]
)
def test_each_task_of_an_evaluation_is_answered_refused_or_pending(shop, solving, server, tmp_path):  # noqa: F811
    pieces, ends = SERVERS[server]
    tasks, lines = EnvTasks(shop, [ENV], [LEVEL], range(COUNT)), []
    with turn(solving, pieces) as at:
        agent = Role("agent", Models(model=f"openai:toy@{at.url}", patience=1.0 if ends == AWAY else 60), tmp_path)
        if ends == AWAY:
            with pytest.raises(ServerUnreachable, match="run the same command again"):
                evaluate(tasks, agent, lines.append)
            done, total = map(int, re.search(r": (\d+) of (\d+)", lines[-1]).groups())
            assert done < total == COUNT
            at.well = 1 << 30
        found = evaluate(tasks, agent, lines.append)
    (row,) = tasks.scores(found.rows)
    assert (row.asked, found.asked) == (COUNT, COUNT)
    refused = [each for each in found.rows if ends in str(each)]
    assert row.success == (1.0 if ends == AWAY else 1 - len(refused) / COUNT)
