"""Tries to get through to this project's servers, each started as a user starts it: `python -m tests.security.probes`.

    python -m tests.security.probes                            # browse, play and Prefect's guard
    python -m tests.security.probes browse --short             # without what is slow or eats memory
    python -m tests.security.probes openenv --python .venv-trainers/bin/python
    python -m tests.security.probes mcp --python .venv-trainers-mcp/bin/python

A line for each probe that got through, then a table; exit code 1 if one did. `shopwright serve` needs the package of its protocol: --python names a
Python that has it.
"""

import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.hostile.shops import world
from tests.security.probes import browse, play, prefect, serve
from tests.security.probes.common import Lister, list_common_probes, list_slow_probes, run_at_once, try_probe
from tests.security.probes.servers import Probe, Server

SERVERS = {
    "browse": (browse.start_browse, browse.list_browse_probes, browse.list_heavy_probes),
    "play": (play.start_play, play.list_play_probes),
    "prefect": (prefect.start_prefect, prefect.list_prefect_probes),
}
# Their packages exclude one another, and are not installed beside the rest.
SERVED = {"openenv": serve.list_openenv_probes, "mcp": serve.list_mcp_probes}
DATASETS = ["catalog", "personas", "trajectories", "variants", "orders", "env_tasks"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = ArgumentParser("python -m tests.security.probes", description=__doc__)
    parser.add_argument("servers", nargs="*", choices=[[], *SERVERS, *SERVED], default=list(SERVERS), metavar="SERVER")
    parser.add_argument("--short", action="store_true", help="without probes that wait or eat memory")
    parser.add_argument("--python", default=sys.executable, help="a Python that has what `serve` needs")
    options = parser.parse_args(arguments)
    known = SERVERS | {name: (serve.start_serve(name, options.python), lister) for name, lister in SERVED.items()}
    known |= {
        f"{name}-token": (serve.start_token_serve(name, options.python), serve.list_token_probes) for name in SERVED
    }
    tried: Counter[tuple[str, str]] = Counter()
    through = 0
    with tempfile.TemporaryDirectory() as folder:
        run = build_hostile_run(Path(folder))
        for name in [one for each in options.servers for one in (each, *([f"{each}-token"] if each in SERVED else []))]:
            begin, *listers = known[name]
            with begin(run, Path(folder)) as server:
                for probe, why in run_probes(server, listers, short=options.short):
                    tried[name, probe.group] += 1
                    if why:
                        through += 1
                        print(f"{name}: {probe.group}: {probe.name}: {why}", flush=True)
    for (name, group), count in tried.items():
        print(f"{name:12} {group:12} {count:5}")
    print(f"{tried.total()} probes, {through} through")
    return int(through > 0)


def build_hostile_run(folder: Path, datasets: Sequence[str] = DATASETS) -> Path:
    """A run whose rows are markup, scripts and broken characters."""
    return world(folder, 5, 120, "csv", list(datasets)).run.folder


def run_probes(server: Server, listers: Sequence[Lister], *, short: bool) -> Iterator[tuple[Probe, str]]:
    """Each probe and what got through; the server has to be well before, and after all. Of several lists the last ones are no part of the short form."""
    yield well("before", server)
    common = (
        [] if server.name.endswith("-token") else [list_common_probes]
    )  # who listens to others has no guard but the token
    for lister in [*common, *(listers[:1] if short else listers)]:
        for probe in lister(server):
            yield probe, try_probe(probe)
    if not short:
        yield from run_at_once(list(list_slow_probes(server)))
    yield well("after", server)


def well(when: str, server: Server) -> tuple[Probe, str]:
    probe = Probe("honest", f"a request {when} the others", server.is_well)
    return probe, try_probe(probe)


if __name__ == "__main__":
    sys.exit(main())
