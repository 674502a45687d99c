"""Faults of builds elsewhere: on object storage, on a cluster of Dask, and on both. Each comes out as a build here, byte by byte.

The storage is a server of this machine's memory, behind a door that can be shut or cut what passes; the cluster has two workers here.
"""

import contextlib
import os
import shutil
import signal
import socket
import time
from importlib.util import find_spec
from threading import Thread

from shopwright.pipeline.run import Run
from tests.faults import damage
from tests.faults.builds import Case
from tests.processes import Build
from tests.scale import servers

TRAJECTORIES = ("build", "trajectories", "--products", "1200", "--count", "20", "--tokens", "6k", "--seed", "3")
NAMES = ("catalog", "personas", "queries", "trajectories")
"""The datasets that this command makes."""
BUCKET = "soak"
WHERE = f"s3://{BUCKET}/run"


def list_missing():
    """The packages that faults of storage, and of a cluster, need and that are not installed."""
    needed = {"object storage": ("s3fs", "moto"), "Dask": ("distributed",)}
    return {
        kind: missing for kind, names in needed.items() if (missing := [each for each in names if not find_spec(each)])
    }


class Door:
    """Passes bytes on between builds and a server; `shut`, it ends each connection at once, and each that was open; else it ends one after `most` bytes."""

    def __init__(self, port):
        self.server, self.shut, self.most, self.open = port, False, None, set()
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listening.getsockname()[1]
        Thread(target=self.welcome, daemon=True).start()

    def welcome(self):
        while True:
            try:
                guest, _ = self.listening.accept()
            except OSError:
                return
            if self.shut:
                guest.close()
                continue
            with contextlib.suppress(OSError):
                host = socket.create_connection(("127.0.0.1", self.server))
                self.open |= {guest, host}
                for one, other in ((guest, host), (host, guest)):
                    Thread(target=self.pass_on, args=(one, other), daemon=True).start()

    def pass_on(self, one, other):
        left = self.most
        with contextlib.suppress(OSError):
            while (data := one.recv(1 << 16)) and left != 0:
                if left is not None:
                    data = data[:left]
                    left -= len(data)
                other.sendall(data)
        end(one, other)
        self.open -= {one, other}

    def close(self, *, for_good=True):
        """Everything that is open ends; and no one else is let in, unless it is opened again."""
        self.shut = True
        end(*list(self.open))
        if for_good:
            self.listening.close()


def end(*connections):
    for each in connections:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


class Storage:
    """Object storage with one run in it."""

    def __init__(self, folder):
        self.stack = contextlib.ExitStack()
        keys = self.stack.enter_context(servers.storage())
        self.door = Door(int(keys["AWS_ENDPOINT_URL"].rpartition(":")[2]))
        self.stack.callback(self.door.close)
        self.environment = {
            **keys,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.door.port}",
            "AWS_MAX_ATTEMPTS": "2",  # else a build asks for minutes what nobody answers
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        import boto3

        known = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
        self.client = boto3.client("s3", endpoint_url=keys["AWS_ENDPOINT_URL"], **known)
        self.client.create_bucket(Bucket=BUCKET)

    def names(self):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="run/")
        return [each["Key"].removeprefix("run/") for page in pages for each in page.get("Contents", [])]

    def put(self, folder):
        """All that is in a folder, instead of what was there."""
        self.open()
        for name in self.names():
            self.client.delete_object(Bucket=BUCKET, Key=f"run/{name}")
        for path in folder.rglob("*"):
            if path.is_file():
                self.write(str(path.relative_to(folder)), path.read_bytes())

    def write(self, name, content):
        self.client.put_object(Bucket=BUCKET, Key=f"run/{name}", Body=content)

    def read(self, name):
        return self.client.get_object(Bucket=BUCKET, Key=f"run/{name}")["Body"].read()

    def fetch(self, folder):
        """All that is there, in an empty folder."""
        shutil.rmtree(folder, ignore_errors=True)
        for name in self.names():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(self.read(name))

    def open(self):
        self.door.shut, self.door.most = False, None

    def close(self):
        self.stack.close()


# --- builds of one dataset on storage --------------------------------------------------------------------------------------


def begin_there(soak, case):
    return soak.forge.begin(WHERE, case.name, environment=soak.storage.environment, **case.settings)


def ends_well_there(soak, case):
    """The same build once more, undisturbed, which must end well and give what was made here; what it said."""
    soak.storage.open()
    begun = begin_there(soak, case)
    code = begun.ended()
    said = begun.said.read_text()
    assert code == 0, f"exit code {code}: {said[-2_000:]}"
    soak.storage.fetch(soak.folder / "run")
    soak.compared(case, soak.folder / "run")
    return said


def how_long(case, chance):
    """Some moment of a build there: it begins with a second of imports, and asks for each file."""
    return chance.uniform(0, 2 + case.manifest.seconds * 3)


def killed_on_storage(soak, case, chance):
    soak.storage.put(case.fresh(soak.folder / "run"))
    for _ in range(chance.randrange(1, 4)):
        code = begin_there(soak, case).ended(how_long(case, chance))
        if code == 0:
            break
        assert code == -signal.SIGKILL, code
        soak.counts["on object storage: kill -9"] += 1
    ends_well_there(soak, case)


def storage_refuses(soak, case, chance):
    """The server is gone from some moment on, for a while or until the build has ended."""
    soak.storage.put(case.fresh(soak.folder / "run"))
    begun = begin_there(soak, case)
    time.sleep(how_long(case, chance))
    soak.storage.door.close(for_good=False)
    if chance.random() < 0.3:
        time.sleep(chance.uniform(0, 1))
        soak.storage.open()
    soak.told_plainly(begun.ended(), begun.said.read_text())
    soak.counts["on object storage: connections refused"] += 1
    ends_well_there(soak, case)


def storage_cuts(soak, case, chance):
    """Each connection ends after so many bytes."""
    soak.storage.put(case.fresh(soak.folder / "run"))
    soak.storage.door.most = chance.randrange(300, 60_000)
    begun = begin_there(soak, case)
    soak.told_plainly(begun.ended(), begun.said.read_text())
    soak.counts["on object storage: connections cut"] += 1
    ends_well_there(soak, case)


def damaged_on_storage(soak, case, chance):
    folder, path = case.whole(soak.folder / "run"), chance.choice(case.files())
    soak.storage.put(folder)
    hurt = chance.choice([damage.cut, damage.longer, damage.swapped, damage.gone])  # elsewhere sizes are compared
    hurt(folder / path, chance)
    if (folder / path).exists():
        soak.storage.write(path, (folder / path).read_bytes())
    else:
        soak.storage.client.delete_object(Bucket=BUCKET, Key=f"run/{path}")
    said = ends_well_there(soak, case)
    assert f"{path} was damaged" in said, f"{hurt.__name__} {path}: {said[-2_000:]}"
    soak.counts["on object storage: file damaged"] += 1


# --- builds with a cluster -------------------------------------------------------------------------------------------------


def begin_with_dask(where, runner, **environment):
    build = Build("shopwright.pipeline", where, *TRAJECTORIES, "--runner", runner, **environment)
    build.until("trajectories:")
    return build


def ends_as_here(soak, folder, where, runner="local", **environment):
    code, said = Build("shopwright.pipeline", where, *TRAJECTORIES, "--runner", runner, **environment).ended()
    assert code == 0, said[-2_000:]
    if folder != where:
        soak.storage.fetch(folder)
    for name in NAMES:
        Case(soak.base, name).same_files(folder)
    assert not [path.name for path in folder.rglob("*") if path.suffix == ".tmp" or ".building" in path.name]
    soak.figures["datasets compared byte by byte"] += len(NAMES)
    soak.figures["rows compared"] += sum(Run(folder).read(name).manifest.rows for name in NAMES)


def dask_worker_killed(soak, chance):
    lose_a_worker(soak, chance, soak.folder / "commanded")
    soak.counts["on Dask: worker killed"] += 1


def dask_worker_killed_on_storage(soak, chance):
    soak.storage.put(soak.folder / "nothing")
    lose_a_worker(soak, chance, WHERE, **soak.storage.environment)
    soak.counts["on Dask and object storage: worker killed"] += 1


def lose_a_worker(soak, chance, where, **environment):
    with use_environment(environment), servers.dask() as (runner, workers):
        build = begin_with_dask(where, runner, **environment)
        time.sleep(chance.uniform(0, 1.5))
        servers.kill(chance.choice(workers))
        code, said = build.ended()
        assert code == 0, said[-2_000:]
        ends_as_here(soak, soak.folder / "commanded", where, runner, **environment)


def dask_build_killed(soak, chance):
    """What it had begun in the workers goes on for a while, beside the next build."""
    folder = soak.folder / "commanded"
    with servers.dask() as (runner, _):
        for _ in range(chance.randrange(1, 4)):
            build = begin_with_dask(folder, runner)
            time.sleep(chance.uniform(0, 1))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(build.process.pid, signal.SIGKILL)
            build.process.wait()
            soak.counts["on Dask: build killed"] += 1
            if Run(folder).read("trajectories").manifest:
                break
        ends_as_here(soak, folder, folder, runner)


def dask_cluster_gone(soak, chance):
    """The scheduler and both workers are killed: one line, and what is finished is kept for a build here."""
    folder = soak.folder / "commanded"
    with servers.dask() as (runner, _):
        build = begin_with_dask(folder, runner)
        time.sleep(chance.uniform(0, 1))
    code, said = build.ended()
    soak.told_plainly(code, said)
    soak.counts["on Dask: cluster gone"] += code != 0
    ends_as_here(soak, folder, folder)


@contextlib.contextmanager
def use_environment(more):
    """Workers reach the storage, too."""
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


ON_STORAGE = [killed_on_storage, storage_refuses, storage_cuts, damaged_on_storage]
ON_DASK = [dask_worker_killed, dask_build_killed, dask_cluster_gone]
ON_BOTH = [dask_worker_killed_on_storage]


def draw_from(missing):
    """The faults of one dataset, and those of whole commands, that can be made with what is installed."""
    single = [] if "object storage" in missing else ON_STORAGE
    commands = [] if "Dask" in missing else ON_DASK + (ON_BOTH if single else [])
    return single, commands
