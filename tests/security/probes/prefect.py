"""Probes of the guard before Prefect's server (`make serve`)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.security.probes.common import UP, refuse
from tests.security.probes.servers import Probe, Server, find_free_port, start
from tests.security.probes.wire import ask


@contextmanager
def start_prefect(run: Path, folder: Path) -> Iterator[Server]:
    words = [sys.executable, "-m", "shopwright.flows.serve", "--port", str(find_free_port())]
    facts = {
        "page": "/api/health",
        "post": "/api/flows/filter",
        "sockets": ("/api/events/in", "/api/events/out", "/api/logs/out", "/api/task_runs/subscriptions/scheduled"),
    }
    with start("prefect", words, run, folder, **facts) as server:
        yield server


def list_prefect_probes(server: Server) -> Iterator[Probe]:
    file = str(server.secret)
    for under in ("/", "/assets/", "/api/", "/ico/", "/v2/"):
        for up in UP:
            target = f"{under}{f'{up}/' * 12}{file.lstrip('/')}"
            yield Probe(
                "traversal",
                f"{under}{up}",
                lambda target=target: refuse(ask(server.port, target), 200, *range(300, 500)),
            )
        target = f"{under}{quote(file, safe='')}"
        yield Probe(
            "traversal",
            f"{under} a whole path",
            lambda target=target: refuse(ask(server.port, target), 200, *range(300, 500)),
        )
    for body in (
        b"null",
        b"[" * 50_000,
        b'{"limit": 1e99}',
        b'{"flows": {"name": {"like_": "' + b"%" * 10_000 + b'"}}}',
        b'{"sort": "1; drop table flow"}',
    ):
        yield Probe(
            "call",
            body[:40].decode(),
            lambda body=body: refuse(
                ask(server.port, "/api/flows/filter", "POST", body, **{"Content-Type": "application/json"}),
                200,
                *range(400, 501),
            ),
        )
    for path in (
        "/api/deployments/",
        "/api/flow_runs/",
        "/api/work_pools/",
        "/api/block_documents/",
        "/api/admin/database/clear",
        "/api/admin/settings",
    ):
        for more in (
            {"Origin": "https://shop.example"},
            {"Host": "shop.example"},
            {"Origin": "null", "Content-Type": "text/plain"},
        ):
            yield Probe(
                "command",
                f"{path} {more}",
                lambda path=path, more=more: refuse(ask(server.port, path, "POST", b"{}", **more), 403, 421),
            )
